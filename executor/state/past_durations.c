/* SPDX-License-Identifier: MIT */
/* Durations of tasks in the newest run, for the critical path. */
#include "executor/state/past_durations.h"

#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

struct durations {
    uint32_t n, *ms;
};

/* Measured times vary from run to run. In steps of four times, tasks that take about as
 * long as each other stay in the order of the file. */
static uint32_t round_duration(int64_t ms)
{
    enum { LEAST_MS = 32, STEP = 4, LARGEST_MS = 1 << 29 };
    uint32_t rounded = LEAST_MS;
    while (rounded < LARGEST_MS && ms >= (int64_t)rounded * STEP)
        rounded *= STEP;
    return rounded;
}

static int note_duration(void *context, const struct attempt_row *row)
{
    struct durations *d = context;
    int64_t ms = (row->ended_ns - row->started_ns) / 1000000;
    if (row->task < d->n && row->outcome == CAIRN_COMPLETED && row->started_ns)
        d->ms[row->task] = round_duration(ms);
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

int use_past_durations(struct engine *e, struct cairn_error *error)
{
    struct predecessor p = {0};
    int rc = e->run.situation.recorded.latest_run &&
                     e->run.situation.recorded.latest_run != e->run.row.run
                 ? store_get_run(e->request.store, e->run.situation.recorded.latest_run,
                                 note_predecessor, &p, error)
                 : 0;
    if (rc || !p.run || !digest_equal(&p.graph, &e->run.situation.present.digest) ||
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
