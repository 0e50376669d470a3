/* SPDX-License-Identifier: MIT */
/* Attempts of a task. */
#include "runs/attempts.h"
#include "runs/marks.h"

#include "cairn/runs.h"

/* ---- Finding a task in every definition that its run has had ---- */

/* Calls `each` for every generation of the run that has the task, oldest first. */
int attempts_each_generation(struct cairn_store *store, const struct stored_run *v,
                             const char *task,
                             int (*each)(void *, const struct task_place *),
                             void *context, struct cairn_error *error)
{
    int rc = 0;
    uint32_t found = 0;
    for (uint32_t gen = 1; gen <= v->row.gen && !rc; gen++) {
        struct task_place place = {.gen = gen};
        rc = generation_find_task(store, &v->row, gen, task, &place.task, error);
        if (rc == CAIRN_ENOTFOUND && gen < v->row.gen)
            rc = 0; /* an earlier definition that is lost has nothing to say */
        else if (!rc && place.task != NODE_NONE) {
            found++;
            rc = each(context, &place);
        }
    }
    if (!rc && !found)
        return run_no_task(v->row.run, task, error);
    return rc;
}

/* ---- Attempts ---- */

struct attempt_lister {
    struct cairn_store *store;
    uint64_t run;
    int (*each)(void *, const struct cairn_attempt_info *);
    void *context;
    bool stopped;
    struct cairn_error *error;
};

static int show_attempt(void *context, const struct attempt_row *row)
{
    struct attempt_lister *l = context;
    struct buf text = BUF_INIT;
    if (attempt_never_started(row))
        return 0;
    buf_str(&text, row->text);
    struct cairn_attempt_info info = {.attempt = row->number,
                                      .open = attempt_is_open(row),
                                      .outcome = row->outcome,
                                      .exit_code = row->exit_code,
                                      .signal = row->signal,
                                      .timed_out = row->flags & ATTEMPT_TIMED_OUT,
                                      .started_ns = row->started_ns ? row->started_ns
                                                                    : row->intent_ns,
                                      .ended_ns = row->ended_ns,
                                      .cpu_ms = row->cpu_us / 1000,
                                      .peak_kib = row->peak_kib,
                                      .stdout_bytes = row->out_bytes,
                                      .stderr_bytes = row->err_bytes,
                                      .text = text.size ? text.data : NULL,
                                      .merged = row->flags & ATTEMPT_MERGED,
                                      .undo = row->flags & ATTEMPT_UNDO,
                                      .check = row->flags & ATTEMPT_CHECK,
                                      .external = row->flags & ATTEMPT_EXTERNAL};
    l->stopped = l->each(l->context, &info) != 0;
    buf_release(&text);
    return l->stopped;
}

static int show_generation(void *context, const struct task_place *place)
{
    struct attempt_lister *l = context;
    if (l->stopped)
        return 0;
    return store_each_attempt(l->store, l->run, place->gen, place->task, show_attempt,
                              l, l->error);
}

int cairn_attempts(struct cairn_store *store, uint64_t run, const char *task,
                   int (*each)(void *, const struct cairn_attempt_info *),
                   void *context, struct cairn_error *error)
{
    struct stored_run v;
    int rc = stored_run_open(&v, store, run, false, error);
    if (rc)
        return rc;
    struct attempt_lister l = {store, v.row.run, each, context, false, error};
    rc = attempts_each_generation(store, &v, task, show_generation, &l, error);
    stored_run_release(&v);
    return rc < 0 ? rc : 0;
}

/* ---- How long they took ---- */

void attempt_times_add(struct attempt_times *t, const struct attempt_row *row)
{
    bool undo = row->flags & ATTEMPT_UNDO;
    int64_t started_ns = row->started_ns ? row->started_ns : row->intent_ns;
    if (t->over) {
        t->latest = 0;
        t->latest_ns = 0;
        t->parted = true;
    }
    t->over = undo || (!attempt_is_open(row) && row->outcome == CAIRN_COMPLETED);
    t->rows++;
    if (undo || !started_ns || !row->ended_ns)
        return;
    t->ended++;
    t->all_ns += row->ended_ns - started_ns;
    if (t->latest++ == 0)
        t->latest_started_ns = started_ns;
    t->latest_ns += row->ended_ns - started_ns;
}

void attempt_times_prepend(struct attempt_times *t, const struct attempt_times *before)
{
    if (!before->rows)
        return;
    if (!t->rows) {
        *t = *before;
        return;
    }
    t->rows += before->rows;
    t->ended += before->ended;
    t->all_ns += before->all_ns;
    if (!t->parted && !before->over && before->latest) {
        t->latest += before->latest;
        t->latest_ns += before->latest_ns;
        t->latest_started_ns = before->latest_started_ns;
    }
    t->parted |= before->over || before->parted;
}
