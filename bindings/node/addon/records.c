/* SPDX-License-Identifier: MIT */
/* What a store holds about runs, what happens in it, and external tasks. */
#include "addon.h"

#include <stdlib.h>

/* ---- Runs ---- */

static void work_run(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    uint64_t run = (uint64_t)field_number(&reader);
    struct cairn_run_info info;
    struct field_writer *out = &call->answer;
    if (call_refused(call, &reader))
        return;
    call->rc = cairn_run_get(handle_store(handle), run, &info, &call->error);
    if (call->rc)
        return;
    field_put_number(out, (int64_t)info.run);
    field_put_text(out, info.workflow);
    field_put_text(out, cairn_run_state_name(info.state));
    field_put_number(out, info.live);
    field_put_number(out, info.total);
    field_put_number(out, info.completed);
    field_put_number(out, info.failed);
    field_put_number(out, info.skipped);
    field_put_number(out, info.cancelled);
}

static int write_task(void *context, const struct cairn_task_info *task)
{
    struct field_writer *out = context;
    field_put_text(out, task->id);
    field_put_text(out, cairn_outcome_name(task->outcome));
    field_put_number(out, task->attempts);
    field_put_number(out, task->running);
    field_put_number(out, task->interrupted);
    field_put_text(out, task->text);
    return out->failed;
}

static void work_tasks(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    uint64_t run = (uint64_t)field_number(&reader);
    if (!call_refused(call, &reader))
        call->rc = cairn_run_tasks(handle_store(handle), run, write_task, &call->answer,
                                   &call->error);
}

static int write_value(void *context, const struct cairn_value_info *value)
{
    struct field_writer *out = context;
    field_put_text(out, value->task);
    field_put_text(out, value->name);
    field_put_text(out, value->value);
    return out->failed;
}

static void work_values(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    uint64_t run = (uint64_t)field_number(&reader);
    const char *task = field_text(&reader);
    if (!call_refused(call, &reader))
        call->rc = cairn_values(handle_store(handle), run, task, write_value,
                                &call->answer, &call->error);
}

/* ---- External tasks ---- */

static void work_complete(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    uint64_t run = (uint64_t)field_number(&reader);
    const char *task = field_text(&reader);
    size_t n = (size_t)field_number(&reader);
    /* Each takes at least eight bytes of the input, so the number is bounded. */
    struct cairn_param *values =
        n <= call->n_input ? calloc(n + 1, sizeof *values) : NULL;
    for (size_t i = 0; values && i < n; i++) {
        values[i].name = field_text(&reader);
        values[i].value = field_text(&reader);
    }
    if (!call_refused(call, &reader) && values)
        call->rc = cairn_complete(handle_store(handle), run, task, NULL, values, n,
                                  &call->error);
    else if (!call->rc)
        call->answer.failed = true;
    free(values);
}

static void work_fail(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    uint64_t run = (uint64_t)field_number(&reader);
    const char *task = field_text(&reader), *message = field_text(&reader);
    if (!call_refused(call, &reader))
        call->rc =
            cairn_fail(handle_store(handle), run, task, NULL, message, &call->error);
}

/* ---- What happens ---- */

static void work_feed(struct handle *handle, struct call *call)
{
    struct field_reader reader = call_reader(call);
    const char *position = field_text(&reader), *session = field_text(&reader);
    if (!call_refused(call, &reader))
        call->rc = cairn_feed_open(handle_feed(handle), handle_store(handle), position,
                                   session, &call->error);
}

static int write_event(void *context, const struct cairn_feed_event *event)
{
    struct field_writer *out = context;
    const struct cairn_log_event *log = event->log;
    const struct cairn_session_event *done = event->done;
    field_put_number(out, log != NULL);
    if (log) {
        field_put_number(out, (int64_t)log->run);
        field_put_number(out, (int64_t)log->turn);
        field_put_number(out, log->time_ns);
        field_put_text(out, log->kind);
        field_put_text(out, log->task);
        field_put_number(out, log->attempt);
        field_put_text(out, log->outcome ? cairn_outcome_name(log->outcome) : NULL);
        field_put_text(out, log->reason);
        field_put_text(out, log->text);
    } else {
        field_put_number(out, (int64_t)event->session);
        field_put_text(out, event->session_name);
        field_put_number(out, (int64_t)done->turn);
        field_put_number(out, done->time_ns);
        field_put_text(out, done->kind);
        field_put_text(out, done->verb);
        field_put_text(out, done->id);
        field_put_text(out, done->text);
    }
    return out->failed;
}

/* The position behind the events comes first: a number tells whether there are any. */
static void work_next(struct handle *handle, struct call *call)
{
    struct cairn_feed *feed = *handle_feed(handle);
    struct field_writer events = {0};
    bool asked = call->n_input != 0; /* whatever has changed */
    if (!feed || (!asked && !cairn_feed_changed(feed)))
        return;
    call->rc = cairn_feed_next(feed, write_event, &events, NULL, &call->error);
    field_put_text(&call->answer, cairn_feed_position(feed));
    field_put_bytes(&call->answer, events.bytes, events.length);
    call->answer.failed |= events.failed;
    field_writer_release(&events);
}

const struct operation operations_of_records[] = {
    {"run", READS, work_run},       {"tasks", READS, work_tasks},
    {"values", READS, work_values}, {"complete", CHANGES, work_complete},
    {"fail", CHANGES, work_fail},   {"feed", READS, work_feed},
    {"next", READS, work_next},     {0}};
