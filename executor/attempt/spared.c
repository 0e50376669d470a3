/* SPDX-License-Identifier: MIT */
#include "executor/attempt/spared.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/ending.h"
#include "executor/state/report.h"
#include "plan/reuse.h"
#include "runs/kept.h"
#include "runs/marks.h"
#include "storage/rows_event.h"

#include <stdlib.h>

/* Of a task whose outputs are to be put back. */
struct spared_files {
    struct reused *found; /* NULL: none is */
    bool failed;          /* it could not be: the task is run */
};

bool task_is_put_back(const struct engine *e, uint32_t task)
{
    return e->put_back && e->put_back[task].found;
}

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
    for (uint32_t i = 0; i < o.graph->definition->n_defs && !e->put_back; i++)
        if (o.graph->definition->defs[i].reuse_ms) {
            e->put_back = calloc(o.graph->n_tasks, sizeof *e->put_back);
            if (!e->put_back)
                return error_nomem(error);
            kept_clear(o.store, o.graph->definition->root.ptr);
        }
    return rc;
}

void spared_close(struct engine *e)
{
    if (e->spared)
        reuse_release(e->spared);
    for (uint32_t i = 0; e->put_back && i < e->request.graph->n_tasks; i++)
        free(e->put_back[i].found);
    free(e->put_back);
    free(e->spared);
    free(e->keys);
    e->put_back = NULL;
    e->spared = NULL;
    e->keys = NULL;
}

/* A row of its own, with what the other attempt left. */
static struct ending *draft_reused(struct engine *e, const struct intent *intent,
                                   const struct reused *found,
                                   struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, intent, error);
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
    if (found->put_back)
        attempt_describe_put_back(found->origin, found->kept_bytes, &ending->text);
    else
        attempt_describe_reused(found->origin, &ending->text);
    ending->put_back = found->put_back;
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

/* With the result that it has left: of this digest, if it is as it was stored. */
static int settle_spared(struct engine *e, struct ending *ending,
                         const struct result *result, const struct digest *stored,
                         struct cairn_error *error)
{
    ending->spared = true;
    ending->row.outcome = CAIRN_COMPLETED;
    int rc = ending_keep_spared(e, ending, result, stored, error);
    if (rc) {
        ending_release(ending);
        return rc;
    }
    settle_ending(e, ending);
    return 0;
}

/* The state is that of a completed task. */
static int settle_found(struct engine *e, uint32_t task, const struct reused *found,
                        struct cairn_error *error)
{
    const struct result *result = found->result;
    int rc = result ? 0 : lookup_result(&e->progress.lookup, task, &result, error);
    if (rc && rc != CAIRN_ENOMEM) { /* it is gone since it was looked at: run it */
        rc = reuse_take_back(e->spared, task, error);
        return rc ? rc : 1;
    }
    if (rc)
        return rc;
    const struct intent intent = {.task = task,
                                  .attempt =
                                      found->own ? 0 : turn_next_attempt(e, task),
                                  .intent_ns = loop_utc_ns(e)};
    struct ending *ending = found->own ? draft_staying(e, task, found, error)
                                       : draft_reused(e, &intent, found, error);
    return ending ? settle_spared(e, ending, result, &found->row.result, error)
                  : CAIRN_ENOMEM;
}

/* ---- Putting its outputs back ---- */

/* It is done once they are there: it gets an intent, and a slot, as one that runs. */
static int want_put_back(struct engine *e, uint32_t task, const struct reused *found,
                         struct cairn_error *error)
{
    struct spared_files *put = &e->put_back[task];
    if (put->failed)
        return 1;
    if (!put->found)
        put->found = malloc(sizeof *put->found);
    if (!put->found)
        return error_nomem(error);
    *put->found = *found;
    return 1;
}

struct putting {          /* of one task */
    struct errand errand; /* first: it is one */
    struct reused found;
    uint64_t run;
    uint32_t task;
    struct kept_files files;
    struct arena arena;
    struct result result; /* in it: what the other attempt has left */
};

static void release_putting(struct errand *errand)
{
    struct putting *p = (struct putting *)errand;
    kept_files_release(&p->files);
    arena_release(&p->arena);
    free(p);
}

static int put_outputs(struct errand *errand, struct cairn_store *store,
                       const _Atomic uint32_t *stop, struct cairn_error *error)
{
    struct putting *p = (struct putting *)errand;
    return kept_put_back(&p->files, store, &p->found.kept, p->run, p->task, stop,
                         error);
}

static void forget_put_back(struct engine *e, uint32_t task, bool failed)
{
    free(e->put_back[task].found);
    e->put_back[task] = (struct spared_files){.failed = failed};
}

static void tell_failed(struct engine *e, uint32_t task, const struct reused *found,
                        const char *why)
{
    char notice[1400];
    snprintf(notice, sizeof notice,
             "the outputs that run %llu has made of %s cannot be put back, so it runs: "
             "%.1000s",
             (unsigned long long)found->origin, e->request.graph->id[task], why);
    report(e, CAIRN_EVENT_NOTICE, notice);
}

static int outputs_are_back(struct engine *e, struct job *job, struct errand *errand,
                            int rc, struct cairn_error *why, struct cairn_error *error)
{
    struct putting *p = (struct putting *)errand;
    struct intent intent = job->intent;
    bool stopped = rc == CAIRN_ESTOPPED;
    forget_put_back(e, p->task, rc && !stopped);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc && !stopped)
        tell_failed(e, p->task, &p->found, why->text);
    if (rc)
        return stopped ? ERRAND_DROP : ERRAND_START;
    jobs_free(e, job);
    struct ending *ending = draft_reused(e, &intent, &p->found, error);
    if (!ending)
        return CAIRN_ENOMEM;
    p->result.outputs = p->files.outputs;
    rc = reuse_take(e->spared, p->task, &p->found, error);
    if (rc) {
        ending_release(ending);
        return rc;
    }
    return settle_spared(e, ending, &p->result, NULL, error);
}

static int prepare_putting(struct engine *e, const struct job *job, struct putting *p,
                           struct cairn_error *error)
{
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    p->task = job->intent.task;
    p->run = e->run.row.run;
    p->found = *e->put_back[p->task].found;
    p->errand = (struct errand){
        .work = put_outputs, .done = outputs_are_back, .release = release_putting};
    int rc = result_load(e->request.store, &p->found.row.result, &p->arena, &p->result,
                         error);
    return rc
               ?: kept_files_find(&scope, p->result.outputs, p->result.n_outputs,
                                  &p->files, error);
}

int spared_put_back(struct engine *e, struct job *job)
{
    struct putting *p = calloc(1, sizeof *p);
    struct cairn_error why = {0};
    int rc = p ? prepare_putting(e, job, p, &why) : error_nomem(&why);
    if (!rc)
        rc = looks_send(e, job, &p->errand, true);
    if (rc == LOOK_WAITS)
        return rc;
    if (!why.code)
        error_set(&why, rc, "no thread can be started");
    tell_failed(e, job->intent.task, e->put_back[job->intent.task].found, why.text);
    forget_put_back(e, job->intent.task, true);
    if (p)
        release_putting(&p->errand);
    return 0;
}

/* ---- Instead of running it ---- */

/* The plan has looked it up with states of its own. */
static int settle_as_planned(struct engine *e, uint32_t task,
                             const struct reused *found, struct cairn_error *error)
{
    e->keys[task] = found->row.key;
    if (found->put_back)
        return want_put_back(e, task, found, error);
    int rc = reuse_take(e->spared, task, found, error);
    return rc ? rc : settle_found(e, task, found, error);
}

/* What waited for outputs that were to be put back is looked for again: a task whose
 * could not be has run. */
static bool may_be_found(const struct engine *e, uint32_t task,
                         const struct reused *planned)
{
    return (planned || e->run.situation.decisions.fate[task] & FATE_SPARED) &&
           !e->progress.failures[task];
}

int spared_settle(struct engine *e, uint32_t task, struct cairn_error *error)
{
    const struct reused *planned = situation_reused(&e->run.situation, task);
    struct reused found = {.newest = e->turn.attempts[task]};
    if (!e->spared || !reuse_has_key(e->spared, task))
        return 1;
    if (planned && !planned->open && !(e->put_back && e->put_back[task].failed))
        return settle_as_planned(e, task, planned, error);
    e->keys[task] = (struct digest){{0}};
    int rc = reuse_key(e->spared, task, found.newest + 1, &e->keys[task], error);
    found.row.key = e->keys[task];
    if (rc > 0 && may_be_found(e, task, planned))
        rc = reuse_find(e->spared, task, &found, error);
    else
        rc = rc < 0 ? rc : 0;
    if (rc <= 0) /* what cannot be looked at is run */
        return rc == CAIRN_ENOMEM ? rc : 1;
    return found.put_back ? want_put_back(e, task, &found, error)
                          : settle_found(e, task, &found, error);
}
