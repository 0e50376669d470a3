/* SPDX-License-Identifier: MIT */
/* The queue of durable intents: what is to be started, and what is not any more. */
#include "executor/engine.h"

#include "base/array.h"

int starts_add(struct engine *e, const struct intent *intent)
{
    struct intent *starts =
        array_room(e->starts, e->n_starts, &e->starts_capacity, sizeof *starts);
    if (!starts)
        return CAIRN_ENOMEM;
    e->starts = starts;
    e->starts[e->n_starts++] = *intent;
    return 0;
}

/* It is not started any more: its row is closed at the end. */
int starts_drop(struct engine *e, const struct intent *intent)
{
    struct intent *dropped =
        array_room(e->dropped, e->n_dropped, &e->dropped_capacity, sizeof *dropped);
    if (!dropped)
        return CAIRN_ENOMEM;
    e->dropped = dropped;
    e->dropped[e->n_dropped++] = *intent;
    return 0;
}

void starts_shift(struct engine *e)
{
    if (!e->starts_head || (e->starts_head <= e->n_starts - e->starts_head + 64 &&
                            e->starts_head != e->n_starts))
        return;
    e->n_starts -= e->starts_head;
    memmove(e->starts, e->starts + e->starts_head, e->n_starts * sizeof *e->starts);
    e->starts_head = 0;
}
