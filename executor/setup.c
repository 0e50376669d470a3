/* SPDX-License-Identifier: MIT */
/* Opens everything that the loop needs, in order, and closes it. What was never opened
 * is NULL, 0 or -1, so engine_close works after a failure anywhere in engine_open. */
#include "executor/setup.h"

#include "executor/attempt/adopt.h"
#include "executor/attempt/made.h"
#include "executor/attempt/undo.h"
#include "executor/open_run.h"
#include "executor/state/report.h"

#include "storage/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int check_store(const struct engine *e, struct cairn_error *error)
{
    const struct definition *d = e->request.graph->definition;
    const struct recorded *r = &e->run.situation.recorded;
    if (e->request.store && r->recovered) {
        int rc = store_check_keyed(e->request.store, r->row.run, r->row.keyed, error);
        return e->request.mode == MODE_RUN
                   ? situation_advise_fresh(rc, e->request.workflow, error)
                   : rc;
    }
    for (uint32_t i = 0; !e->request.store && i < d->n_defs; i++)
        if (d->defs[i].kind == TASK_EXTERNAL)
            return error_set(error, CAIRN_EUSAGE,
                             "task %.*s is external: without a store nobody could ever "
                             "complete it",
                             (int)d->defs[i].id.len, d->defs[i].id.ptr);
    return 0;
}

/* Not for MODE_SETTLE, which starts nothing. */
static int check_secrets(const struct engine *e, struct cairn_error *error)
{
    struct str name = secrets_missing(&e->run.situation.secrets);
    if (!name.len || e->request.mode == MODE_SETTLE)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "the secret %.*s is not given: set it in the environment, or pass "
                     "it with --secrets-fd",
                     (int)name.len, name.ptr);
}

static void start_deadline(struct engine *e)
{
    int64_t deadline_ms = e->request.graph->definition->deadline_ms;
    if (deadline_ms && e->request.mode == MODE_RUN)
        loop_set_timer(e, TIMER_DEADLINE, deadline_ms * 1000000, 0, 0);
}

static int check_functions(const struct engine *e, struct cairn_error *error)
{
    if (e->request.mode != MODE_RUN ||
        !cairn_workflow_lacks_functions(e->request.workflow))
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "run %llu has functions of a program: start that program, which "
                     "goes on with it",
                     (unsigned long long)e->run.situation.recorded.row.run);
}

/* Before anything of the run is changed. */
static int open_parts(struct engine *e, struct skip_list *early,
                      struct cairn_error *error)
{
    enum { AHEAD_OF_CALLS = 64 };
    int rc = check_store(e, error);
    if (!rc)
        rc = check_functions(e, error);
    if (!rc)
        rc = check_secrets(e, error);
    if (!rc)
        rc = jobs_open(e, error);
    if (!rc)
        rc = saving_open(e, jobs_need_processes(e) ? e->jobs.limit : AHEAD_OF_CALLS,
                         error);
    if (!rc)
        rc = turn_open(e, error);
    if (!rc)
        rc = progress_open(e, early, error);
    if (!rc)
        report_open(e);
    return rc;
}

static int open_processes(struct engine *e, struct cairn_error *error)
{
    if (e->request.mode == MODE_SETTLE)
        return 0;
    int rc = jobs_open_runner(e, error);
    if (!rc && jobs_need_processes(e))
        rc = environments_open(e, error);
    return rc;
}

static int open_rest(struct engine *e, struct cairn_error *error)
{
    int rc = loop_open(e, error);
    if (!rc)
        rc = calls_open(e, error);
    if (!rc)
        rc = open_processes(e, error);
    if (!rc && e->request.mode == MODE_RUN)
        rc = adopt_all(e, error);
    /* The run is recorded, and nobody knows its number yet. */
    if (rc == CAIRN_EIO && error && (error->sys == ENOSPC || error->sys == EDQUOT) &&
        e->request.store && e->request.mode == MODE_RUN) {
        int sys = error->sys;
        char text[sizeof error->text];
        memcpy(text, error->text, sizeof text);
        error_set(error, rc, "%.800s: free some space there, then: cairn resume %llu",
                  text, (unsigned long long)e->run.row.run);
        error->sys = sys;
    }
    return rc;
}

int engine_open(struct engine *e, struct cairn_error *error)
{
    struct skip_list early = {0};
    int rc = open_parts(e, &early, error);
    if (!rc)
        rc = e->request.store ? engine_open_run(e, &early, error)
                              : owned_run_make_temporary(e, error);
    free(early.at);
    if (rc)
        return rc;
    progress_set_run(e, e->run.row.run);
    rc = open_rest(e, error);
    if (!rc)
        start_deadline(e);
    return rc;
}

void engine_close(struct engine *e)
{
    looks_close(e);
    jobs_close_runner(e);
    jobs_close(e);
    noting_close(e);
    loop_close(e);
    calls_close(e);
    if (e->run.orderly)
        engine_clean_live(e, e->run.row.run);
    turn_release(e);
    starts_release(&e->starts);
    undo_release(e);
    audit_release(e);
    made_release(e->made);
    progress_release(e);
    saving_release(e);
    owned_run_release(e);
}
