/* SPDX-License-Identifier: MIT */
/* The rounds of a task with `repeat`. An attempt that ended well is one; `until` is asked
 * about what it has passed on. Where that does not hold, the attempt decides nothing:
 * another round follows, or the task has failed for good with the last one. */
#include "executor/attempt/round.h"

#include "executor/attempt/artifacts.h"
#include "executor/attempt/attempt_result.h"

/* With the values that decided. */
static void describe_unmet(const struct scope *scope, uint32_t round,
                           struct ending *ending)
{
    const struct repeat_policy *repeat = &scope->def->repeat;
    struct buf *text = &ending->text, values = BUF_INIT;
    if (condition_values(scope, repeat->until, &values, NULL))
        values.failed = true;
    buf_text(text, text->size ? "; " : "");
    if (round < repeat->max)
        buf_format(text, "round %u of at most %u: `until` is not met", round,
                   repeat->max);
    else
        buf_format(text, "`until` is not met after %u round%s", round,
                   round == 1 ? "" : "s");
    buf_format(text, ": %.*s", (int)repeat->until.len, repeat->until.ptr);
    if (values.size)
        buf_format(text, " (%.*s)", (int)values.size, values.data);
    text->failed |= values.failed;
    buf_release(&values);
}

static void fail_round(struct ending *ending)
{
    ending_drop_result(ending);
    ending->row.outcome = CAIRN_FAILED;
}

/* Does another round follow? Else the ending is that of the task, or of an attempt that
 * failed. */
static bool judge_round(struct engine *e, const struct job *job, struct ending *ending)
{
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    struct cairn_error why = {0};
    bool holds = false;
    asker.own = &job->result;
    int rc = condition_holds(&scope, scope.def->repeat.until, &holds, &why);
    if (rc == CAIRN_ENOMEM) {
        engine_break(e);
        return false;
    }
    if (rc) {
        buf_format(&ending->text,
                   "%sit ended well, but `until` cannot be evaluated: %s",
                   ending->text.size ? "; " : "", why.text);
        fail_round(ending);
        return false;
    }
    if (holds)
        return false;
    describe_unmet(&scope, job->result.round, ending);
    if (job->result.round < scope.def->repeat.max)
        return true;
    fail_round(ending);
    progress_no_more_tries(e, ending->row.task);
    return false;
}

static void end_attempt(struct engine *e, struct job *job, struct ending *ending)
{
    if (ending->row.outcome == CAIRN_FAILED || ending->row.outcome == CAIRN_EXCLUDED)
        ending_keep_inputs(e, &job->result, ending);
    jobs_free(e, job);
    settle_ending(e, ending);
}

void end_or_repeat(struct engine *e, struct job *job, struct ending *ending)
{
    bool again = ending->row.outcome == CAIRN_COMPLETED && job->result.round &&
                 judge_round(e, job, ending);
    if (!again) {
        artifacts_then(e, job, ending, end_attempt);
        return;
    }
    jobs_free(e, job);
    settle_round(e, ending);
}
