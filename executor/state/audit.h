/* SPDX-License-Identifier: MIT */
/* Events of the audit log: gathered while a turn is decided, stored with it. report.c
 * is the only writer of `events`. */
#ifndef EXECUTOR_STATE_AUDIT_H
#define EXECUTOR_STATE_AUDIT_H

#include "base/str.h"
#include "storage/rows_event.h"

struct engine;

struct skip_list;

struct pending_event {
    struct event_row row; /* data is in `data` */
    size_t at, length;
};
struct event_list {
    struct pending_event *at;
    uint32_t n;
    size_t capacity;
    struct buf data;
};

void audit_event(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t task, struct str data);
/* One event for each cause. Sorts the list. */
void audit_skips(struct engine *e, struct skip_list *skipped);
void audit_tasks(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t cause, const uint32_t *tasks, uint32_t n);
/* Inside a transaction. They stay in the list until audit_forget. */
int audit_put(struct engine *e, uint64_t turn, struct cairn_error *error);
/* At once, beside the list: what is true only if this transaction is committed. */
int audit_put_now(struct engine *e, uint64_t turn, enum event_kind kind,
                  struct cairn_error *error);
void audit_forget(struct engine *e);
void audit_release(struct engine *e);

#endif
