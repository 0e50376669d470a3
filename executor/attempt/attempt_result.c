/* SPDX-License-Identifier: MIT */
/* What a completed attempt leaves for later decisions: values, outputs, and what was
 * known of it before it started, as one object. */
#include "executor/attempt/attempt_result.h"

#include "executor/parts/report.h"
#include "executor/parts/values_file.h"

#include "runs/outputs.h"
#include "runs/values.h"

/* What others ask for; and what an undo needs that cannot be read back. */
static bool remembers(const struct engine *e, uint32_t task)
{
    bool unstored = !e->request.store || e->saving.degraded;
    return (e->progress.referred &&
            e->progress.referred[e->request.graph->def_of[task]]) ||
           (unstored && graph_def(e->request.graph, task)->undo.len);
}

int ending_keep_result(struct engine *e, struct ending *ending,
                       const struct result *result, struct cairn_error *error)
{
    uint32_t task = ending->row.task;
    buf_clear(&ending->result);
    int rc = result_encode(result, &ending->result, error);
    if (!rc && ending->result.size)
        rc = sha256_of(ending->result.data, ending->result.size,
                       &ending->change.outputs, error);
    if (!rc && remembers(e, task))
        rc = lookup_put(&e->progress.lookup, task, buf_view(&ending->result), error);
    return rc;
}

static void redact_values(struct engine *e, struct job *job)
{
    struct result *r = &job->result;
    for (uint32_t i = 0; e->tenure.situation.secrets.redactor && i < r->n_values; i++) {
        struct buf clean = BUF_INIT;
        buf_str(&clean, r->values[i].value);
        redact_buf(e, &clean);
        job->arena.failed |= clean.failed;
        r->values[i].value = arena_str(&job->arena, buf_view(&clean));
        buf_release(&clean);
    }
}

static int read_values(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    struct cairn_error why = {0};
    int rc = values_take(e, job, &text, &why);
    if (!rc && text.size)
        rc = values_parse(&job->arena, buf_view(&text), &job->result.values,
                          &job->result.n_values, &why);
    buf_release(&text);
    if (rc)
        return error_set(error, rc, "what it wrote to $CAIRN_OUTPUT is no good: %s",
                         why.text);
    redact_values(e, job);
    return job->arena.failed ? error_nomem(error) : 0;
}

/* A completed attempt must have made what it declared. */
static int complete_result(struct engine *e, struct job *job, struct ending *ending,
                           struct cairn_error *error)
{
    struct asker asker = {&e->progress.lookup, job->intent.task, job->intent.attempt};
    struct scope scope = lookup_scope(&asker);
    int rc = 0;
    if (scope.def->n_outputs)
        rc = files_look(&asker, false, &job->arena, &job->result.outputs,
                        &job->result.n_outputs, error);
    if (!rc && scope.def->kind != TASK_CALL)
        rc = read_values(e, job, error);
    return rc ? rc : ending_keep_result(e, ending, &job->result, error);
}

void engine_check_result(struct engine *e, struct job *job, struct ending *ending)
{
    struct cairn_error why = {0};
    if (ending->row.outcome != CAIRN_COMPLETED) {
        struct buf ignored = BUF_INIT; /* what a failed attempt wanted to pass on */
        if (graph_def(e->request.graph, job->intent.task)->kind != TASK_CALL)
            values_take(e, job, &ignored, NULL);
        buf_release(&ignored);
        return;
    }
    if (!complete_result(e, job, ending, &why))
        return;
    buf_clear(&ending->result);
    ending->change.outputs = (struct digest){{0}};
    ending->row.outcome = CAIRN_FAILED;
    buf_format(&ending->text, "it ended well, but %s", why.text);
}
