/* SPDX-License-Identifier: MIT */
/* Threads (cairn/thread.h). Puts that wait share one transaction; if the library refuses
 * it, each of them is put alone, so that only the one at fault fails. */
#include "addon.h"

#include <stdlib.h>
#include <string.h>

static struct cairn_bytes given_bytes(struct field_reader *reader)
{
    struct cairn_bytes bytes;
    bytes.bytes = field_bytes(reader, &bytes.length);
    return bytes;
}

static void put_bytes(struct field_writer *out, const struct cairn_bytes *bytes)
{
    field_put_bytes(out, bytes->bytes, bytes->length);
}

/* ---- Puts ---- */

/* How many of each there are, which the fields of a put begin with. */
struct counts {
    size_t states, channels, writes_of, writes;
};

struct batch {
    struct counts n, room;
    struct cairn_thread_state *states;
    struct cairn_thread_channel *channels;
    struct cairn_thread_writes *writes_of;
    struct cairn_thread_write *writes;
};

/* Each of what is counted takes at least eight bytes of the input. */
static size_t read_count(struct field_reader *reader, const struct call *call)
{
    int64_t n = field_number(reader);
    if (n < 0 || (uint64_t)n > call->n_input / 8) {
        reader->bad = true;
        return 0;
    }
    return (size_t)n;
}

static struct counts read_counts(struct field_reader *reader, const struct call *call)
{
    struct counts n;
    n.states = read_count(reader, call);
    n.channels = read_count(reader, call);
    n.writes_of = read_count(reader, call);
    n.writes = read_count(reader, call);
    if (reader->bad)
        n = (struct counts){0};
    return n;
}

static void batch_release(struct batch *batch)
{
    free(batch->states);
    free(batch->channels);
    free(batch->writes_of);
    free(batch->writes);
}

static bool batch_make(struct batch *batch, const struct counts *room)
{
    *batch = (struct batch){.room = *room};
    batch->states = calloc(room->states + 1, sizeof *batch->states);
    batch->channels = calloc(room->channels + 1, sizeof *batch->channels);
    batch->writes_of = calloc(room->writes_of + 1, sizeof *batch->writes_of);
    batch->writes = calloc(room->writes + 1, sizeof *batch->writes);
    return batch->states && batch->channels && batch->writes_of && batch->writes;
}

/* `n` places of those left; 0: there are not so many. */
static size_t take(struct field_reader *reader, size_t n, size_t *used, size_t room)
{
    reader->bad |= n > room - *used;
    if (reader->bad)
        return 0;
    *used += n;
    return n;
}

static void read_state(struct field_reader *reader, const struct call *call,
                       struct batch *batch, struct cairn_thread_state *state)
{
    struct cairn_thread_channel *channels = batch->channels + batch->n.channels;
    state->size = sizeof *state;
    state->thread = given_bytes(reader);
    state->space = given_bytes(reader);
    state->id = given_bytes(reader);
    state->parent = given_bytes(reader);
    state->kind = given_bytes(reader);
    state->state = given_bytes(reader);
    state->metadata_kind = given_bytes(reader);
    state->metadata = given_bytes(reader);
    state->keep_secrets = field_number(reader) != 0;
    state->only_new = field_number(reader) != 0;
    state->channels = channels;
    state->n_channels = take(reader, read_count(reader, call), &batch->n.channels,
                             batch->room.channels);
    for (size_t i = 0; i < state->n_channels; i++) {
        channels[i].name = given_bytes(reader);
        channels[i].unchanged = field_number(reader) != 0;
        channels[i].kind = given_bytes(reader);
        channels[i].value = given_bytes(reader);
    }
}

static void read_writes(struct field_reader *reader, const struct call *call,
                        struct batch *batch, struct cairn_thread_writes *of)
{
    struct cairn_thread_write *writes = batch->writes + batch->n.writes;
    of->size = sizeof *of;
    of->thread = given_bytes(reader);
    of->space = given_bytes(reader);
    of->id = given_bytes(reader);
    of->keep_secrets = field_number(reader) != 0;
    of->writes = writes;
    of->n_writes =
        take(reader, read_count(reader, call), &batch->n.writes, batch->room.writes);
    for (size_t i = 0; i < of->n_writes; i++) {
        writes[i].task = given_bytes(reader);
        writes[i].path = given_bytes(reader);
        writes[i].channel = given_bytes(reader);
        writes[i].kind = given_bytes(reader);
        writes[i].value = given_bytes(reader);
        writes[i].index = (int32_t)field_number(reader);
    }
}

/* Of one call; what is refused is not in the batch. */
static void read_put(struct batch *batch, struct call *call)
{
    struct counts before = batch->n;
    struct field_reader reader = call_reader(call);
    struct counts n = read_counts(&reader, call);
    size_t first = take(&reader, n.states, &batch->n.states, batch->room.states);
    for (size_t i = 0; i < first; i++)
        read_state(&reader, call, batch, &batch->states[before.states + i]);
    first = take(&reader, n.writes_of, &batch->n.writes_of, batch->room.writes_of);
    for (size_t i = 0; i < first; i++)
        read_writes(&reader, call, batch, &batch->writes_of[before.writes_of + i]);
    if (call_refused(call, &reader))
        batch->n = before;
}

/* The calls up to `end`, in one transaction. Returns what the library did. */
static int put_together(struct handle *handle, struct call *calls,
                        const struct call *end)
{
    struct counts room = {0};
    struct cairn_error error = {0};
    struct batch batch;
    for (struct call *call = calls; call != end; call = call->next) {
        struct field_reader reader = call_reader(call);
        struct counts n = read_counts(&reader, call);
        room.states += n.states;
        room.channels += n.channels;
        room.writes_of += n.writes_of;
        room.writes += n.writes;
    }
    int rc = 0;
    if (batch_make(&batch, &room)) {
        for (struct call *call = calls; call != end; call = call->next)
            read_put(&batch, call);
        if (batch.n.states || batch.n.writes_of)
            rc = cairn_thread_put(handle_store(handle), batch.states, batch.n.states,
                                  batch.writes_of, batch.n.writes_of, &error);
    } else
        rc = set_error(&error, CAIRN_ENOMEM, "out of memory");
    batch_release(&batch);
    for (struct call *call = calls; rc && call != end; call = call->next)
        if (!call->rc) {
            call->rc = rc;
            call->error = error;
        }
    return rc;
}

static void work_put(struct handle *handle, struct call *calls)
{
    int rc = put_together(handle, calls, NULL);
    /* Of a busy or broken store each would only wait for the same again. */
    if (!calls->next || !rc || rc == CAIRN_EBUSY || rc == CAIRN_EIO)
        return;
    for (struct call *call = calls; call; call = call->next) {
        call->rc = 0;
        put_together(handle, call, call->next);
    }
}

/* ---- Reads ---- */

static int write_found(void *context, const struct cairn_thread_found *found)
{
    struct field_writer *out = context;
    const struct cairn_thread_state *state = found->state;
    put_bytes(out, &state->thread);
    put_bytes(out, &state->space);
    put_bytes(out, &state->id);
    put_bytes(out, &state->parent);
    put_bytes(out, &state->kind);
    put_bytes(out, &state->state);
    put_bytes(out, &state->metadata_kind);
    put_bytes(out, &state->metadata);
    field_put_number(out, found->made_ns);
    field_put_text(out, found->checkpoint);
    field_put_number(out, (int64_t)state->n_channels);
    for (size_t i = 0; i < state->n_channels; i++) {
        put_bytes(out, &state->channels[i].name);
        put_bytes(out, &state->channels[i].kind);
        put_bytes(out, &state->channels[i].value);
    }
    field_put_number(out, (int64_t)found->n_writes);
    for (size_t i = 0; i < found->n_writes; i++) {
        put_bytes(out, &found->writes[i].task);
        put_bytes(out, &found->writes[i].path);
        put_bytes(out, &found->writes[i].channel);
        put_bytes(out, &found->writes[i].kind);
        put_bytes(out, &found->writes[i].value);
        field_put_number(out, found->writes[i].index);
    }
    return out->failed;
}

/* One that is not there is an empty answer. */
static void work_get(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    struct cairn_bytes thread = given_bytes(&reader), space = given_bytes(&reader),
                       id = given_bytes(&reader);
    if (call_refused(call, &reader))
        return;
    call->rc =
        cairn_thread_get(handle_store(handle), thread, space, id.bytes ? &id : NULL,
                         write_found, &call->answer, &call->error);
    if (call->rc == CAIRN_ENOTFOUND)
        call->rc = 0;
}

/* A page of a list: it ends behind `page_bytes`, but never between equal ids, so that the
 * next one is all before the last id. */
struct page {
    struct field_writer *out;
    size_t page_bytes, last_at;
    size_t n_last;
    bool more;
};

static int write_page(void *context, const struct cairn_thread_found *found)
{
    struct page *page = context;
    struct field_writer *out = page->out;
    const struct cairn_bytes *id = &found->state->id;
    if (out->length >= page->page_bytes &&
        (page->n_last != id->length ||
         (id->length &&
          memcmp(out->bytes + page->last_at, id->bytes, id->length) != 0))) {
        page->more = true;
        return 1;
    }
    field_put_number(out, 1);
    put_bytes(out, id);
    page->n_last = id->length;
    page->last_at = out->length - id->length - 1;
    return write_found(out, found);
}

static void work_list(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    struct page page = {.out = &call->answer};
    struct cairn_thread_filter filter = {.size = sizeof filter};
    struct cairn_bytes thread = given_bytes(&reader), space = given_bytes(&reader),
                       before = given_bytes(&reader);
    filter.thread = thread.bytes ? &thread : NULL;
    filter.space = space.bytes ? &space : NULL;
    filter.before = before.bytes ? &before : NULL;
    filter.limit = (uint64_t)field_number(&reader);
    filter.metadata = field_text(&reader);
    page.page_bytes = (size_t)field_number(&reader);
    if (call_refused(call, &reader))
        return;
    call->rc = cairn_thread_list(handle_store(handle), &filter, write_page, &page,
                                 &call->error);
    field_put_number(&call->answer, page.more ? 2 : 0);
}

static int write_thread(void *context, const struct cairn_thread_info *info)
{
    struct field_writer *out = context;
    put_bytes(out, &info->thread);
    field_put_number(out, (int64_t)info->states);
    field_put_number(out, (int64_t)info->session);
    field_put_number(out, info->started_ns);
    return out->failed;
}

static void work_threads(struct handle *handle, struct call *call)
{
    call->rc = cairn_thread_threads(handle_store(handle), write_thread, &call->answer,
                                    &call->error);
}

/* ---- Whole threads ---- */

static void work_delete(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    struct cairn_bytes thread = given_bytes(&reader);
    uint64_t states = 0;
    if (call_refused(call, &reader))
        return;
    call->rc = cairn_thread_delete(handle_store(handle), thread, &states, &call->error);
    field_put_number(&call->answer, (int64_t)states);
}

static void work_copy(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    struct cairn_bytes from = given_bytes(&reader), to = given_bytes(&reader);
    uint64_t states = 0;
    if (call_refused(call, &reader))
        return;
    call->rc = cairn_thread_copy(handle_store(handle), from, to, &states, &call->error);
    field_put_number(&call->answer, (int64_t)states);
}

static void work_prune(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    struct cairn_bytes thread = given_bytes(&reader);
    int64_t keep = field_number(&reader);
    uint64_t states = 0;
    if (call_refused(call, &reader))
        return;
    call->rc = cairn_thread_prune(handle_store(handle), thread,
                                  keep > 0 ? (uint64_t)keep : 0, &states, &call->error);
    field_put_number(&call->answer, (int64_t)states);
}

const struct operation operations_of_threads[] = {
    {"thread_put", PUTS, work_put},          {"thread_get", READS, work_get},
    {"thread_list", READS, work_list},       {"thread_threads", READS, work_threads},
    {"thread_delete", CHANGES, work_delete}, {"thread_copy", CHANGES, work_copy},
    {"thread_prune", CHANGES, work_prune},   {0}};
