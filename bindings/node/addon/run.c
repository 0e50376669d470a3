/* SPDX-License-Identifier: MIT */
/* Runs, whose tasks may be functions of JavaScript.
 *
 * cairn_run blocks until the run has ended, so it has a thread of its own (libuv's pool
 * has four for the whole process), and a handle of its own of the store. What it calls
 * goes to the main thread as messages of a thread-safe function; the call returns LATER,
 * and the main thread finishes the attempt once the promise is settled.
 *
 * The lock guards the list of attempts that are not finished. When Node ends, or a worker
 * does, `ending` is set under it, all of them are finished as cancelled, and the run is
 * stopped and waited for: so it can be resumed. */
#include "addon.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* An attempt that a function of JavaScript carries out. */
struct attempt {
    struct cairn_attempt *attempt; /* NULL: finished */
    struct run *run;
    struct attempt *next, **at; /* in the run's list */
};

struct run {
    atomic_uint holders; /* the external, the thread, and each attempt */
    pthread_mutex_t lock;
    struct attempt *unfinished;
    bool ending;
    bool joined;
    pthread_t thread;
    struct cairn_stop *stop;
    napi_threadsafe_function to_main;
    napi_deferred deferred;
    struct function *functions;
    size_t n_functions;
    struct cairn_run_result result;
    int rc; /* of the library; not 0: `error` says why it did not run */
    struct cairn_error error;
    size_t n_input;
    uint8_t input[];
};

/* The context of a callback of the registry. */
struct function {
    struct run *run;
    size_t number;
};

/* From the run to the main thread. */
struct message {
    struct attempt *attempt; /* to be carried out, by the function of this number; */
    size_t number;
    bool ended;                 /* or the run has ended; */
    struct field_writer fields; /* or an event */
};

static void let_go(struct run *run)
{
    if (atomic_fetch_sub(&run->holders, 1) > 1)
        return;
    cairn_stop_free(run->stop);
    pthread_mutex_destroy(&run->lock);
    free(run->functions);
    free(run);
}

/* ---- Attempts ---- */

/* Once; a second call does nothing. Any thread. */
static void finish(struct attempt *attempt, enum cairn_outcome outcome,
                   const char *text)
{
    struct run *run = attempt->run;
    pthread_mutex_lock(&run->lock);
    struct cairn_attempt *inner = attempt->attempt;
    attempt->attempt = NULL;
    if (inner) {
        *attempt->at = attempt->next;
        if (attempt->next)
            attempt->next->at = attempt->at;
    }
    pthread_mutex_unlock(&run->lock);
    if (inner)
        cairn_attempt_finish(inner, outcome, text);
}

static void free_attempt(struct attempt *attempt)
{
    struct run *run = attempt->run;
    free(attempt);
    let_go(run);
}

/* A promise that nothing can settle any more is collected, and its attempt with it. */
static void attempt_dropped(napi_env env, void *data, void *hint)
{
    struct attempt *attempt = data;
    (void)env;
    (void)hint;
    finish(attempt, CAIRN_FAILED,
           "its promise can never be settled: nothing holds it any more");
    free_attempt(attempt);
}

/* On a thread of the run. */
static enum cairn_outcome call_function(void *context, struct cairn_attempt *inner)
{
    const struct function *function = context;
    struct run *run = function->run;
    struct attempt *attempt = calloc(1, sizeof *attempt);
    struct message *message = calloc(1, sizeof *message);
    if (!attempt || !message) {
        free(attempt);
        free(message);
        cairn_attempt_message(inner, "out of memory", NULL);
        return CAIRN_FAILED;
    }
    *attempt = (struct attempt){.attempt = inner, .run = run};
    *message = (struct message){.attempt = attempt, .number = function->number};
    pthread_mutex_lock(&run->lock);
    bool queued =
        !run->ending && napi_call_threadsafe_function(run->to_main, message,
                                                      napi_tsfn_nonblocking) == napi_ok;
    if (queued) {
        atomic_fetch_add(&run->holders, 1);
        attempt->next = run->unfinished;
        attempt->at = &run->unfinished;
        if (attempt->next)
            attempt->next->at = &attempt->next;
        run->unfinished = attempt;
    }
    pthread_mutex_unlock(&run->lock);
    if (queued)
        return CAIRN_LATER;
    free(attempt);
    free(message);
    return CAIRN_CANCELLED;
}

/* ---- Events ---- */

static void observe(void *context, const struct cairn_event *event)
{
    struct run *run = context;
    struct message *message;
    if (event->kind == CAIRN_EVENT_TICK || !(message = calloc(1, sizeof *message)))
        return;
    struct field_writer *out = &message->fields;
    field_put_number(out, event->kind);
    field_put_number(out, (int64_t)event->run);
    field_put_number(out, event->time_ns);
    field_put_text(out, event->task);
    field_put_number(out, event->attempt);
    field_put_text(out, event->outcome ? cairn_outcome_name(event->outcome) : NULL);
    field_put_number(out, event->exit_code);
    field_put_number(out, event->signal);
    field_put_number(out, event->duration_ms);
    field_put_number(out, (int64_t)event->checkpoint);
    field_put_number(out, event->done);
    field_put_number(out, event->total);
    field_put_text(out, event->text);
    for (int i = 0; i < 2; i++)
        field_put_bytes(out, event->output[i].n ? event->output[i].bytes : NULL,
                        event->output[i].n);
    if (out->failed || napi_call_threadsafe_function(
                           run->to_main, message, napi_tsfn_nonblocking) != napi_ok) {
        field_writer_release(out);
        free(message);
    }
}

/* ---- The run's thread ---- */

static int make_registry(struct run *run, struct field_reader *reader,
                         struct cairn_registry **registry)
{
    size_t n = (size_t)field_number(reader);
    int rc = cairn_registry_new(registry, &run->error);
    if (rc == 0 && n > run->n_input) /* each takes more than a byte */
        reader->bad = true;
    else if (rc == 0) {
        run->functions = calloc(n + 1, sizeof *run->functions);
        if (!run->functions)
            return set_error(&run->error, CAIRN_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < n && rc == 0 && !reader->bad; i++) {
        run->functions[i] = (struct function){run, i};
        struct cairn_callback callback = {.size = sizeof callback,
                                          .call = call_function,
                                          .context = &run->functions[i],
                                          .parallel = true};
        callback.name = field_text(reader);
        callback.version = field_text(reader);
        callback.description = field_text(reader);
        if (!reader->bad)
            rc = cairn_registry_add(*registry, &callback, &run->error);
    }
    return rc;
}

static struct cairn_param *read_params(struct run *run, struct field_reader *reader,
                                       size_t *n)
{
    *n = (size_t)field_number(reader);
    struct cairn_param *params =
        *n <= run->n_input ? calloc(*n + 1, sizeof *params) : NULL;
    if (!params) {
        reader->bad = true;
        return NULL;
    }
    for (size_t i = 0; i < *n; i++) {
        params[i].name = field_text(reader);
        params[i].value = field_text(reader);
    }
    return params;
}

/* What was opened for a run, and is closed in any case. */
struct opened {
    struct cairn_store *store;
    struct cairn_registry *registry;
    struct cairn_workflow *workflow;
    struct cairn_param *params, *secrets;
};

static int open_and_run(struct run *run, struct opened *opened)
{
    struct field_reader reader = {.at = run->input, .end = run->input + run->n_input};
    struct cairn_store_options where = read_store_options(&reader);
    struct cairn_source source = {.size = sizeof source};
    struct cairn_run_options options = {
        .size = sizeof options, .stop = run->stop, .observe_context = run};
    size_t length = 0;
    int rc = make_registry(run, &reader, &opened->registry);
    if (rc)
        return rc;
    source.registry = opened->registry;
    source.path = field_text(&reader);
    source.text = field_bytes(&reader, &length);
    source.length = length;
    source.name = field_text(&reader);
    source.params = opened->params = read_params(run, &reader, &source.n_params);
    options.secrets = opened->secrets = read_params(run, &reader, &options.n_secrets);
    options.start = (enum cairn_start)field_number(&reader);
    options.run = (uint64_t)field_number(&reader);
    options.from = field_text(&reader);
    options.jobs = (uint32_t)field_number(&reader);
    options.no_wait = field_number(&reader) != 0;
    options.stream_output = field_number(&reader) != 0;
    options.observe = field_number(&reader) != 0 ? observe : NULL;
    if (reader.bad || reader.at != reader.end)
        return set_error(&run->error, CAIRN_EUSAGE,
                         "a text with a NUL byte, or an option of a wrong kind");
    rc = cairn_store_open(&opened->store, &where, &run->error);
    if (rc)
        return rc;
    if (source.path || source.text)
        rc = cairn_workflow_open(&opened->workflow, &source, &run->error);
    else {
        rc = cairn_workflow_of_run_with(&opened->workflow, opened->store, options.run,
                                        opened->registry, NULL, &run->error);
        options.start = CAIRN_START_RESUME;
    }
    return rc ? rc
              : cairn_run(opened->workflow, opened->store, &options, &run->result,
                          &run->error);
}

static void *run_thread(void *context)
{
    struct run *run = context;
    struct opened opened = {0};
    struct message *message = calloc(1, sizeof *message);
    run->rc = open_and_run(run, &opened);
    cairn_workflow_free(opened.workflow);
    cairn_registry_free(opened.registry);
    cairn_store_close(opened.store);
    free(opened.params);
    free(opened.secrets);
    /* Without memory for the last message the promise stays open, as the process can do
     * nothing more either. */
    if (message) {
        message->ended = true;
        if (napi_call_threadsafe_function(run->to_main, message,
                                          napi_tsfn_nonblocking) != napi_ok)
            free(message);
    }
    napi_release_threadsafe_function(run->to_main, napi_tsfn_release);
    return NULL;
}

/* ---- The main thread ---- */

static void join(struct run *run)
{
    if (!run->joined)
        pthread_join(run->thread, NULL);
    run->joined = true;
}

/* Node or the worker ends while the run is live. */
static void end_run(void *data)
{
    struct run *run = data;
    pthread_mutex_lock(&run->lock);
    run->ending = true;
    struct attempt *attempt = run->unfinished;
    pthread_mutex_unlock(&run->lock);
    /* First: the run must not end by what its last function's end makes of it. */
    cairn_stop_request(run->stop);
    cairn_stop_request(run->stop);
    while (attempt) {
        finish(attempt, CAIRN_CANCELLED, "Node has ended");
        pthread_mutex_lock(&run->lock);
        attempt = run->unfinished;
        pthread_mutex_unlock(&run->lock);
    }
    join(run);
    let_go(run);
}

static napi_value result_value(napi_env env, const struct cairn_run_result *result)
{
    struct field_writer out = {0};
    napi_value value = NULL;
    const int64_t numbers[] = {
        (int64_t)result->run, result->exit_status, result->nothing_to_do,
        result->total,        result->completed,   result->failed,
        result->skipped,      result->cancelled,   result->pending,
        result->waiting,      result->attempts,    result->unsaved,
        result->left_behind};
    field_put_text(&out, cairn_run_state_name(result->state));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        field_put_number(&out, numbers[i]);
    if (!out.failed)
        napi_create_buffer_copy(env, out.length, out.bytes, NULL, &value);
    field_writer_release(&out);
    return value;
}

static void settle(napi_env env, struct run *run)
{
    napi_value value;
    join(run);
    napi_remove_env_cleanup_hook(env, end_run, run);
    if (run->rc) {
        value = error_value(env, &run->error);
        if (value)
            napi_reject_deferred(env, run->deferred, value);
    } else {
        value = result_value(env, &run->result);
        if (value)
            napi_resolve_deferred(env, run->deferred, value);
    }
    let_go(run);
}

/* Calls JavaScript for a message. env NULL: Node is ending. */
static void deliver(napi_env env, napi_value function, void *context, void *data)
{
    struct run *run = context;
    struct message *message = data;
    struct attempt *attempt = message->attempt;
    napi_value arguments[3], unused, undefined;
    bool ready = env && napi_get_undefined(env, &undefined) == napi_ok;
    if (message->ended) {
        free(message);
        if (ready)
            settle(env, run);
        return;
    }
    if (attempt)
        ready = ready &&
                napi_create_external(env, attempt, attempt_dropped, NULL,
                                     &arguments[0]) == napi_ok &&
                napi_create_uint32(env, (uint32_t)message->number, &arguments[1]) ==
                    napi_ok;
    else
        ready =
            ready &&
            napi_create_buffer_copy(env, message->fields.length, message->fields.bytes,
                                    NULL, &arguments[0]) == napi_ok &&
            napi_get_undefined(env, &arguments[1]) == napi_ok;
    if (ready)
        napi_call_function(env, undefined, function, 2, arguments, &unused);
    else if (attempt) {
        finish(attempt, CAIRN_CANCELLED, "Node has ended");
        free_attempt(attempt);
    }
    field_writer_release(&message->fields);
    free(message);
}

static void external_dropped(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    let_go(data);
}

static void free_unstarted(napi_env env, struct run *run)
{
    if (run->to_main)
        napi_release_threadsafe_function(run->to_main, napi_tsfn_abort);
    cairn_stop_free(run->stop);
    pthread_mutex_destroy(&run->lock);
    free(run);
    napi_throw_error(env, "CAIRN_EIO", "a run cannot be started: no memory or thread");
}

napi_value run_start(napi_env env, napi_callback_info info)
{
    size_t n = 2, length;
    napi_value arguments[2], name, external, promise, both = NULL;
    void *bytes;
    if (napi_get_cb_info(env, info, &n, arguments, NULL, NULL) != napi_ok || n < 2 ||
        napi_get_buffer_info(env, arguments[0], &bytes, &length) != napi_ok) {
        napi_throw_type_error(env, "CAIRN_EUSAGE", "run(fields, deliver)");
        return NULL;
    }
    struct run *run = calloc(1, sizeof *run + length + 1);
    if (!run || pthread_mutex_init(&run->lock, NULL)) {
        free(run);
        napi_throw_error(env, "CAIRN_ENOMEM", "out of memory");
        return NULL;
    }
    run->n_input = length;
    memcpy(run->input, bytes, length);
    run->holders = 2;
    if (cairn_stop_new(&run->stop, NULL) ||
        napi_create_string_utf8(env, "cairn run", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_threadsafe_function(env, arguments[1], NULL, name, 0, 1, NULL, NULL,
                                        run, deliver, &run->to_main) != napi_ok ||
        napi_create_promise(env, &run->deferred, &promise) != napi_ok ||
        napi_create_array_with_length(env, 2, &both) != napi_ok) {
        free_unstarted(env, run);
        return NULL;
    }
    if (pthread_create(&run->thread, NULL, run_thread, run)) {
        free_unstarted(env, run);
        return NULL;
    }
    napi_add_env_cleanup_hook(env, end_run, run);
    if (napi_create_external(env, run, external_dropped, NULL, &external) != napi_ok)
        return NULL;
    napi_set_element(env, both, 0, external);
    napi_set_element(env, both, 1, promise);
    return both;
}

/* The external at an argument; NULL: something else was thrown. */
static void *external_at(napi_env env, napi_callback_info info, napi_value *arguments,
                         size_t n)
{
    void *data = NULL;
    size_t given = n;
    if (napi_get_cb_info(env, info, &given, arguments, NULL, NULL) != napi_ok ||
        given < n || napi_get_value_external(env, arguments[0], &data) != napi_ok)
        napi_throw_type_error(env, "CAIRN_EUSAGE", "too few arguments");
    return data;
}

napi_value run_stop(napi_env env, napi_callback_info info)
{
    napi_value arguments[1];
    struct run *run = external_at(env, info, arguments, 1);
    if (run)
        cairn_stop_request(run->stop);
    return NULL;
}

/* The attempt that JavaScript asks about, and the fields that it has given. */
static struct cairn_attempt *attempt_at(napi_env env, napi_callback_info info,
                                        struct field_reader *reader)
{
    napi_value arguments[2];
    void *bytes;
    size_t length;
    struct attempt *attempt = external_at(env, info, arguments, 2);
    if (!attempt)
        return NULL;
    if (!attempt->attempt)
        napi_throw_error(env, "CAIRN_EUSAGE", "the attempt has been finished");
    else if (napi_get_buffer_info(env, arguments[1], &bytes, &length) != napi_ok)
        napi_throw_type_error(env, "CAIRN_EUSAGE", "no fields");
    else {
        *reader = (struct field_reader){.at = bytes, .end = (uint8_t *)bytes + length};
        return attempt->attempt;
    }
    return NULL;
}

static void throw_error(napi_env env, const struct cairn_error *error)
{
    napi_value value = error_value(env, error);
    if (value)
        napi_throw(env, value);
}

/* ask(attempt, fields): with nothing its task, number, and whether it should stop; with a
 * name that argument; with a task and a name the value. */
napi_value attempt_ask(napi_env env, napi_callback_info info)
{
    struct field_reader reader;
    struct cairn_attempt *attempt = attempt_at(env, info, &reader);
    struct cairn_error error = {0};
    struct field_writer out = {0};
    napi_value value = NULL;
    int rc = 0;
    if (!attempt)
        return NULL;
    if (reader.at == reader.end) {
        field_put_text(&out, cairn_attempt_task(attempt));
        field_put_number(&out, cairn_attempt_number(attempt));
        field_put_number(&out, cairn_attempt_stopped(attempt));
    } else {
        const char *task = field_text(&reader), *name = field_text(&reader),
                   *text = NULL;
        if (reader.bad || !name)
            rc = set_error(&error, CAIRN_EUSAGE, "not a name");
        else if (!task)
            text = cairn_attempt_argument(attempt, name);
        else
            rc = cairn_attempt_get(attempt, task, name, &text, &error);
        field_put_text(&out, text);
    }
    if (rc)
        throw_error(env, &error);
    else if (!out.failed)
        napi_create_buffer_copy(env, out.length, out.bytes, NULL, &value);
    field_writer_release(&out);
    return value;
}

napi_value attempt_set(napi_env env, napi_callback_info info)
{
    struct field_reader reader;
    struct cairn_attempt *attempt = attempt_at(env, info, &reader);
    struct cairn_error error = {0};
    if (!attempt)
        return NULL;
    const char *name = field_text(&reader), *text = field_text(&reader);
    int rc =
        reader.bad || !name || !text
            ? set_error(&error, CAIRN_EUSAGE, "a value is a text without NUL bytes")
            : cairn_attempt_set(attempt, name, text, &error);
    if (rc)
        throw_error(env, &error);
    return NULL;
}

/* finish(attempt, fields): an outcome, and a message or none. */
napi_value attempt_finish(napi_env env, napi_callback_info info)
{
    napi_value arguments[2];
    void *bytes;
    size_t length;
    struct attempt *attempt = external_at(env, info, arguments, 2);
    if (!attempt || napi_get_buffer_info(env, arguments[1], &bytes, &length) != napi_ok)
        return NULL;
    struct field_reader reader = {.at = bytes, .end = (uint8_t *)bytes + length};
    enum cairn_outcome outcome = (enum cairn_outcome)field_number(&reader);
    finish(attempt, outcome, field_text(&reader));
    return NULL;
}
