/* SPDX-License-Identifier: MIT */
/* Handles: a store that one thread at a time uses, and promises.
 *
 * Calls wait in a list, which only the main thread changes. One of them, or all puts that
 * wait, is carried out on libuv's pool; when it is back, the next one starts. So a handle
 * never is used twice at once, and puts of one turn of the event loop, or that come while
 * another is synced, share a sync. A put may pass a call that only reads (which then reads
 * newer things), none that changes something.
 *
 * Its external and each call hold a handle; the last one closes it. */
#include "addon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct handle {
    struct cairn_store *store; /* NULL: not open yet, or closed */
    struct cairn_feed *feed;   /* of it, or NULL */
    unsigned holders;
    struct call *first, **end; /* that wait */
    struct call *current;      /* on the pool: nobody else uses the store */
    napi_async_work work;
};

/* ---- Errors ---- */

napi_value error_value(napi_env env, const struct cairn_error *error)
{
    static const char *const names[] = {
        "CAIRN_OK",         "CAIRN_EUSAGE",   "CAIRN_EWORKFLOW", "CAIRN_ECHANGED",
        "CAIRN_EDAMAGED",   "CAIRN_EOWNED",   "CAIRN_ENOTFOUND", "CAIRN_EBUSY",
        "CAIRN_EIO",        "CAIRN_ENOMEM",   "CAIRN_ENEWER",    "CAIRN_ELIMIT",
        "CAIRN_EAMBIGUOUS", "CAIRN_ESTOPPED", "CAIRN_EEXISTS"};
    size_t at = (size_t)-error->code;
    napi_value code, text, value, number;
    if (napi_create_string_utf8(
            env, at < sizeof names / sizeof names[0] ? names[at] : "CAIRN_ERROR",
            NAPI_AUTO_LENGTH, &code) != napi_ok ||
        napi_create_string_utf8(env, error->text, NAPI_AUTO_LENGTH, &text) != napi_ok ||
        napi_create_error(env, code, text, &value) != napi_ok)
        return NULL;
    if (error->sys && napi_create_int32(env, error->sys, &number) == napi_ok)
        napi_set_named_property(env, value, "errno", number);
    return value;
}

int set_error(struct cairn_error *error, int code, const char *text)
{
    *error = (struct cairn_error){.code = code};
    snprintf(error->text, sizeof error->text, "%s", text);
    return code;
}

/* ---- What operations use ---- */

struct cairn_store *handle_store(struct handle *handle)
{
    return handle->store;
}

struct cairn_feed **handle_feed(struct handle *handle)
{
    return &handle->feed;
}

struct field_reader call_reader(const struct call *call)
{
    return (struct field_reader){.at = call->input, .end = call->input + call->n_input};
}

bool call_refused(struct call *call, const struct field_reader *reader)
{
    if (reader->bad || reader->at != reader->end)
        call->rc = set_error(&call->error, CAIRN_EUSAGE,
                             "a text with a NUL byte, or a value that "
                             "does not belong there");
    return call->rc != 0;
}

struct cairn_store_options read_store_options(struct field_reader *reader)
{
    struct cairn_store_options options = {.size = sizeof options};
    options.path = field_text(reader);
    options.key_file = field_text(reader);
    options.create = field_number(reader) != 0;
    options.read_only = field_number(reader) != 0;
    options.sync = (enum cairn_sync)field_number(reader);
    options.lock_wait_ms = (int)field_number(reader);
    return options;
}

static void work_open(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    struct cairn_store_options options = read_store_options(&reader);
    if (call_refused(call, &reader))
        return;
    if (handle->store)
        call->rc = set_error(&call->error, CAIRN_EUSAGE, "the store is open already");
    else
        call->rc = cairn_store_open(&handle->store, &options, &call->error);
    if (!call->rc)
        field_put_text(&call->answer, cairn_store_path(handle->store));
}

static void close_store(struct handle *handle)
{
    if (handle->feed)
        cairn_feed_close(handle->feed);
    if (handle->store)
        cairn_store_close(handle->store);
    handle->feed = NULL;
    handle->store = NULL;
}

static void work_close(struct handle *handle, struct call *call)
{
    (void)call;
    close_store(handle);
}

static const struct operation operations_of_store[] = {
    {"open", CHANGES, work_open}, {"close", CHANGES, work_close}, {0}};

static const struct operation *find_operation(const char *name)
{
    const struct operation *const tables[] = {
        operations_of_store, operations_of_records, operations_of_threads};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const struct operation *at = tables[i]; at->name; at++)
            if (strcmp(at->name, name) == 0)
                return at;
    return NULL;
}

/* ---- The queue, main ---- */

static void let_go(struct handle *handle)
{
    if (--handle->holders)
        return;
    close_store(handle);
    free(handle);
}

static void settle(napi_env env, struct call *call)
{
    napi_value value = NULL;
    if (!call->rc && call->answer.failed)
        call->rc = set_error(&call->error, CAIRN_ENOMEM, "out of memory");
    if (call->rc) {
        value = error_value(env, &call->error);
        if (value)
            napi_reject_deferred(env, call->deferred, value);
    } else if (napi_create_buffer_copy(env, call->answer.length,
                                       call->answer.bytes ? (void *)call->answer.bytes
                                                          : (void *)call->input,
                                       NULL, &value) == napi_ok)
        napi_resolve_deferred(env, call->deferred, value);
    field_writer_release(&call->answer);
    free(call);
}

/* The next call off the list; of a put all puts up to the next call that changes
 * something else. */
static struct call *take_next(struct handle *handle)
{
    struct call *taken = handle->first, **taken_end;
    if (!taken)
        return NULL;
    handle->first = taken->next;
    taken->next = NULL;
    taken_end = &taken->next;
    struct call **at = &handle->first;
    while (taken->operation->order == PUTS && *at &&
           (*at)->operation->order != CHANGES) {
        struct call *call = *at;
        if (call->operation->order != PUTS) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        call->next = NULL;
        *taken_end = call;
        taken_end = &call->next;
    }
    for (at = &handle->first; *at; at = &(*at)->next)
        ;
    handle->end = at;
    return taken;
}

/* On the pool. */
static void carry_out(napi_env env, void *data)
{
    struct handle *handle = data;
    struct call *call = handle->current;
    (void)env;
    if (handle->store || call->operation->work == work_open) {
        call->operation->work(handle, call);
        return;
    }
    for (; call; call = call->next)
        if (call->operation->work != work_close)
            call->rc = set_error(&call->error, CAIRN_EUSAGE, "the store is closed");
}

static void carried_out(napi_env env, napi_status status, void *data);

/* Starts the next call. */
static void start_next(napi_env env, struct handle *handle)
{
    napi_value name;
    struct call *calls;
    while (!handle->current && (calls = take_next(handle))) {
        handle->current = calls;
        if (napi_create_string_utf8(env, "cairn", NAPI_AUTO_LENGTH, &name) == napi_ok &&
            napi_create_async_work(env, NULL, name, carry_out, carried_out, handle,
                                   &handle->work) == napi_ok) {
            if (napi_queue_async_work(env, handle->work) == napi_ok)
                return;
            napi_delete_async_work(env, handle->work);
        }
        handle->current = NULL;
        while (calls) {
            struct call *call = calls;
            calls = call->next;
            call->rc = set_error(&call->error, CAIRN_ENOMEM,
                                 "Node cannot queue any more work");
            settle(env, call);
            let_go(handle);
        }
    }
}

static void carried_out(napi_env env, napi_status status, void *data)
{
    struct handle *handle = data;
    struct call *call = handle->current;
    napi_handle_scope scope;
    handle->current = NULL;
    napi_delete_async_work(env, handle->work);
    /* Before JavaScript goes on: what it asks for next comes behind what waits. */
    start_next(env, handle);
    bool scoped = napi_open_handle_scope(env, &scope) == napi_ok;
    while (call) {
        struct call *next = call->next;
        if (status != napi_ok && !call->rc)
            call->rc = set_error(&call->error, CAIRN_ESTOPPED, "Node is ending");
        settle(env, call);
        let_go(handle);
        call = next;
    }
    if (scoped)
        napi_close_handle_scope(env, scope);
}

/* ---- For JavaScript ---- */

static void handle_dropped(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    let_go(data);
}

napi_value handle_new(napi_env env, napi_callback_info info)
{
    napi_value external = NULL;
    struct handle *handle = calloc(1, sizeof *handle);
    (void)info;
    if (!handle) {
        napi_throw_error(env, "CAIRN_ENOMEM", "out of memory");
        return NULL;
    }
    handle->holders = 1;
    handle->end = &handle->first;
    if (napi_create_external(env, handle, handle_dropped, NULL, &external) != napi_ok)
        free(handle);
    return external;
}

napi_value handle_call(napi_env env, napi_callback_info info)
{
    size_t n = 3, length;
    napi_value arguments[3], promise = NULL;
    void *data, *bytes;
    char name[32];
    const struct operation *operation;
    if (napi_get_cb_info(env, info, &n, arguments, NULL, NULL) != napi_ok || n < 3 ||
        napi_get_value_external(env, arguments[0], &data) != napi_ok ||
        napi_get_value_string_utf8(env, arguments[1], name, sizeof name, NULL) !=
            napi_ok ||
        napi_get_buffer_info(env, arguments[2], &bytes, &length) != napi_ok ||
        !(operation = find_operation(name))) {
        napi_throw_type_error(env, "CAIRN_EUSAGE", "not a call that the addon knows");
        return NULL;
    }
    struct handle *handle = data;
    struct call *call = calloc(1, sizeof *call + length + 1);
    if (!call || napi_create_promise(env, &call->deferred, &promise) != napi_ok) {
        free(call);
        napi_throw_error(env, "CAIRN_ENOMEM", "out of memory");
        return NULL;
    }
    call->operation = operation;
    call->n_input = length;
    if (length)
        memcpy(call->input, bytes, length);
    *handle->end = call;
    handle->end = &call->next;
    handle->holders += 2; /* one for as long as the handle is used here */
    if (operation->order != PUTS)
        start_next(env, handle);
    let_go(handle);
    return promise;
}

napi_value handle_start(napi_env env, napi_callback_info info)
{
    size_t n = 1;
    napi_value argument;
    void *data;
    if (napi_get_cb_info(env, info, &n, &argument, NULL, NULL) == napi_ok && n &&
        napi_get_value_external(env, argument, &data) == napi_ok) {
        struct handle *handle = data;
        handle->holders++;
        start_next(env, handle);
        let_go(handle);
    }
    return NULL;
}
