/* SPDX-License-Identifier: MIT */
/* The order of ready tasks by what the newest run measured. */
#include "executor/parts/weigh.h"

#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

/* Durations that the newest run of this very definition measured, for the critical
 * path. */
struct durations {
    uint32_t n, *ms;
};

static int note_duration(void *context, const struct attempt_row *row)
{
    struct durations *d = context;
    int64_t ms = (row->ended_ns - row->started_ns) / 1000000;
    if (row->task < d->n && row->outcome == CAIRN_COMPLETED && row->started_ns &&
        ms > 0)
        d->ms[row->task] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
    return 0;
}

struct predecessor {
    uint64_t run;
    uint32_t gen, tasks;
    struct digest graph;
};

static int note_predecessor(void *context, const struct run_row *row)
{
    struct predecessor *p = context;
    *p = (struct predecessor){row->run, row->gen, row->tasks, row->graph};
    return 0;
}

int weigh_tasks(struct engine *e, struct cairn_error *error)
{
    struct predecessor p = {0};
    int rc =
        e->tenure.situation.recorded.latest_run &&
                e->tenure.situation.recorded.latest_run != e->tenure.row.run
            ? store_get_run(e->request.store, e->tenure.situation.recorded.latest_run,
                            note_predecessor, &p, error)
            : 0;
    if (rc || !p.run || !digest_equal(&p.graph, &e->tenure.situation.present.digest) ||
        p.tasks != e->request.graph->n_tasks)
        return rc;
    struct durations d = {p.tasks, calloc(p.tasks, sizeof *d.ms)};
    if (!d.ms)
        return error_nomem(error);
    rc = store_each_run_attempt(e->request.store, p.run, p.gen, false, note_duration,
                                &d, error);
    if (!rc)
        rc = graph_weigh(&e->request.workflow->graph, d.ms, error);
    free(d.ms);
    return rc;
}
