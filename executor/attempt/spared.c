/* SPDX-License-Identifier: MIT */
#include "executor/attempt/spared.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/ending.h"
#include "executor/state/report.h"
#include "plan/reuse.h"
#include "runs/marks.h"
#include "storage/rows_event.h"

#include <stdlib.h>

int spared_open(struct engine *e, struct cairn_error *error)
{
    const struct reuse_options o = {.graph = e->request.graph,
                                    .store = e->request.store,
                                    .workflow = e->run.row.workflow,
                                    .lookup = &e->progress.lookup,
                                    .secrets = &e->run.situation.secrets,
                                    .options = e->request.options};
    if (e->request.mode != MODE_RUN || !o.store ||
        !reuse_is_wanted(o.graph->definition))
        return 0;
    e->spared = calloc(1, sizeof *e->spared);
    e->keys = calloc(o.graph->n_tasks, sizeof *e->keys);
    if (!e->spared || !e->keys)
        return error_nomem(error);
    int rc = reuse_open(e->spared, &o, error);
    e->spared->evidence.index = &e->progress.seen;
    return rc;
}

void spared_close(struct engine *e)
{
    if (e->spared)
        reuse_release(e->spared);
    free(e->spared);
    free(e->keys);
    e->spared = NULL;
    e->keys = NULL;
}

/* A row of its own, with what the other attempt left. */
static struct ending *draft_reused(struct engine *e, uint32_t task,
                                   const struct reused *found,
                                   struct cairn_error *error)
{
    const struct intent intent = {.task = task,
                                  .attempt = turn_next_attempt(e, task),
                                  .intent_ns = loop_utc_ns(e)};
    struct ending *ending = turn_draft_ending(e, &intent, error);
    if (!ending)
        return NULL;
    ending->row.flags = found->flags;
    ending->row.exit_code = found->exit_code;
    ending->row.out_bytes = found->out_bytes;
    ending->row.err_bytes = found->err_bytes;
    ending->row.out_head = found->out_head;
    ending->row.err_head = found->err_head;
    ending->stored[0] = found->out;
    ending->stored[1] = found->err;
    ending->spared_run = found->row.run;
    ending->spared_attempt = found->row.attempt;
    attempt_describe_reused(found->origin, &ending->text);
    return ending;
}

/* Behind a cut-off: the state has the attempt again that it had. */
static struct ending *draft_staying(struct engine *e, uint32_t task,
                                    const struct reused *found,
                                    struct cairn_error *error)
{
    const struct intent none = {.task = task};
    struct ending *ending = turn_draft_ending(e, &none, error);
    if (!ending)
        return NULL;
    ending->change.attempts = found->row.attempt;
    audit_event(e, EVENT_SPARED, 0, task, STR(""));
    buf_text(&ending->text, "what it needs came out the same");
    return ending;
}

/* The state is that of a completed task. */
static int settle_found(struct engine *e, uint32_t task, const struct reused *found,
                        struct cairn_error *error)
{
    const struct result *result;
    int rc = lookup_result(&e->progress.lookup, task, &result, error);
    if (rc && rc != CAIRN_ENOMEM) { /* it is gone since it was looked at: run it */
        rc = reuse_take_back(e->spared, task, error);
        return rc ? rc : 1;
    }
    struct ending *ending = rc           ? NULL
                            : found->own ? draft_staying(e, task, found, error)
                                         : draft_reused(e, task, found, error);
    if (!ending)
        return CAIRN_ENOMEM;
    ending->spared = true;
    ending->row.outcome = CAIRN_COMPLETED;
    rc = ending_keep_spared(e, ending, result, error);
    if (rc) {
        ending_release(ending);
        return rc;
    }
    settle_ending(e, ending);
    return 0;
}

/* The plan has looked it up with states of its own. */
static int settle_as_planned(struct engine *e, uint32_t task,
                             const struct reused *found, struct cairn_error *error)
{
    e->keys[task] = found->row.key;
    int rc = reuse_take(e->spared, task, found, error);
    return rc ? rc : settle_found(e, task, found, error);
}

int spared_settle(struct engine *e, uint32_t task, struct cairn_error *error)
{
    const struct reused *planned = situation_reused(&e->run.situation, task);
    struct reused found = {.newest = e->turn.attempts[task]};
    if (!e->spared || !reuse_has_key(e->spared, task))
        return 1;
    if (planned)
        return settle_as_planned(e, task, planned, error);
    e->keys[task] = (struct digest){{0}};
    int rc = reuse_key(e->spared, task, found.newest + 1, &e->keys[task], error);
    found.row.key = e->keys[task];
    if (rc > 0 && e->run.situation.decisions.fate[task] & FATE_SPARED &&
        !e->progress.failures[task])
        rc = reuse_find(e->spared, task, &found, error);
    else
        rc = rc < 0 ? rc : 0;
    if (rc <= 0) /* what cannot be looked at is run */
        return rc == CAIRN_ENOMEM ? rc : 1;
    return settle_found(e, task, &found, error);
}
