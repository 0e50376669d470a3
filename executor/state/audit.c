/* SPDX-License-Identifier: MIT */
/* Events of the audit log that no other row records: gathered while a turn is decided,
 * stored with it. */
#include "executor/state/report.h"

#include "base/array.h"
#include "storage/rows_event.h"

#include <stdlib.h>

void audit_event(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t task, struct str data)
{
    struct event_list *list = &e->events;
    if (!e->request.store)
        return;
    struct pending_event *at =
        array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at) {
        engine_break(e);
        return;
    }
    list->at = at;
    struct pending_event *event = &list->at[list->n++];
    *event = (struct pending_event){.row = {.time_ns = loop_utc_ns(e),
                                            .kind = (uint8_t)kind,
                                            .argument = argument,
                                            .task = task},
                                    .at = list->data.size,
                                    .length = data.len};
    struct buf clean = BUF_INIT;
    buf_str(&clean, data);
    redact_buf(e, &clean);
    event->length = clean.size;
    buf_str(&list->data, buf_view(&clean));
    if (clean.failed || list->data.failed) {
        list->n--; /* its text is not there */
        engine_break(e);
    }
    buf_release(&clean);
}

void audit_tasks(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t cause, const uint32_t *tasks, uint32_t n)
{
    struct event_list *list = &e->events;
    struct buf packed = BUF_INIT;
    if (!e->request.store || !n)
        return;
    tasks_pack(tasks, n, &packed);
    audit_event(e, kind, argument, cause, STR(""));
    if (list->n && !e->broken) {
        struct pending_event *event = &list->at[list->n - 1];
        event->length = packed.size;
        buf_str(&list->data, buf_view(&packed));
        if (packed.failed || list->data.failed)
            list->n--;
    }
    if (packed.failed || list->data.failed)
        engine_break(e);
    buf_release(&packed);
}

static int by_cause(const void *a, const void *b)
{
    const struct skip *x = a, *y = b;
    if (x->outcome != y->outcome)
        return x->outcome < y->outcome ? -1 : 1;
    if (x->cause != y->cause)
        return x->cause < y->cause ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

void audit_skips(struct engine *e, struct skip_list *skipped)
{
    struct skip *skips = skipped->at;
    uint32_t n = skipped->n;
    uint32_t *tasks = n ? malloc(n * sizeof *tasks) : NULL;
    if (!tasks) {
        if (n)
            engine_break(e);
        return;
    }
    qsort(skips, n, sizeof *skips, by_cause);
    for (uint32_t i = 0, from = 0; i < n; i++) {
        tasks[i - from] = skips[i].task;
        bool last = i + 1 == n || skips[i + 1].cause != skips[i].cause ||
                    skips[i + 1].outcome != skips[i].outcome;
        if (!last)
            continue;
        audit_tasks(e, EVENT_SKIPPED, skips[i].outcome == CAIRN_EXCLUDED,
                    skips[i].cause, tasks, i + 1 - from);
        from = i + 1;
    }
    free(tasks);
}

static int put_row(struct engine *e, uint64_t turn, struct event_row row,
                   struct cairn_error *error)
{
    row.run = e->run.row.run;
    row.gen = e->run.row.gen;
    row.turn = turn;
    return store_put_event(e->request.store, &row, error);
}

int audit_put(struct engine *e, uint64_t turn, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < e->events.n && !rc; i++) {
        const struct pending_event *event = &e->events.at[i];
        struct event_row row = event->row;
        row.data = (struct str){e->events.data.data + event->at, event->length};
        rc = put_row(e, turn, row, error);
    }
    return rc;
}

int audit_put_now(struct engine *e, uint64_t turn, enum event_kind kind,
                  struct cairn_error *error)
{
    return put_row(e, turn,
                   (struct event_row){.time_ns = loop_utc_ns(e),
                                      .kind = (uint8_t)kind,
                                      .task = UINT32_MAX},
                   error);
}

void audit_forget(struct engine *e)
{
    e->events.n = 0;
    buf_clear(&e->events.data);
}

void audit_release(struct engine *e)
{
    free(e->events.at);
    buf_release(&e->events.data);
}
