/* SPDX-License-Identifier: MIT */
#include "runs/marks.h"

#include <stdlib.h>

bool attempt_is_open(const struct attempt_row *row)
{
    return !row->ended_ns || row->flags & ATTEMPT_INTERRUPTED;
}

int64_t attempt_end_ns(const struct attempt_row *row)
{
    return attempt_is_open(row) ? 0 : row->ended_ns;
}

bool attempt_never_started(const struct attempt_row *row)
{
    return !attempt_is_open(row) && !row->started_ns && row->outcome != CAIRN_COMPLETED;
}

static const char *const done_by[] = {"reused from run ", "put back from run "};

static uint64_t done_by_run(const struct attempt_row *row, const char *words)
{
    size_t n = strlen(words);
    char number[64]; /* of what follows: "3", or "3 (512 bytes)" */
    if (row->outcome != CAIRN_COMPLETED || row->started_ns || row->text.len <= n ||
        memcmp(row->text.ptr, words, n) != 0 || row->text.len - n >= sizeof number)
        return 0;
    memcpy(number, row->text.ptr + n, row->text.len - n);
    number[row->text.len - n] = '\0';
    return strtoull(number, NULL, 10);
}

uint64_t attempt_reused_from(const struct attempt_row *row)
{
    uint64_t run = done_by_run(row, done_by[0]);
    return run ? run : done_by_run(row, done_by[1]);
}

void attempt_describe_reused(uint64_t run, struct buf *out)
{
    buf_format(out, "%s%llu", done_by[0], (unsigned long long)run);
}

void attempt_describe_put_back(uint64_t run, uint64_t bytes, struct buf *out)
{
    buf_format(out, "%s%llu (%llu bytes)", done_by[1], (unsigned long long)run,
               (unsigned long long)bytes);
}

uint8_t attempt_mark(const struct attempt_row *row, const struct recovery *recovery)
{
    if (attempt_is_open(row))
        return MARK_INTERRUPTED;
    if (row->flags & ATTEMPT_RETRY) /* another was to follow: it decided nothing */
        return row->started_ns ? MARK_RESET : 0;
    if (row->outcome == CAIRN_COMPLETED && recovery_may_lack(recovery, row->checkpoint))
        return MARK_DAMAGED;
    return row->started_ns || row->outcome == CAIRN_COMPLETED ? MARK_RESET : 0;
}

/* A signal counts as a shell reports it, whether or not one stood in between; the signal
 * that ends a task at its time limit is ours. */
bool retry_is_for(const struct retry_policy *retry, const struct failure *failure)
{
    enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127, SIGNALS = 128, LAST_SIGNAL = 192 };
    bool timed_out = failure->timed_out;
    int status =
        failure->signal && !timed_out ? SIGNALS + failure->signal : failure->exit_code;
    bool no_end = failure->exit_code < 0 && !timed_out;
    bool spawn = !failure->checked && !failure->unseen && !failure->signal &&
                 (no_end || status == NOT_EXECUTABLE || status == NOT_FOUND);
    uint8_t kind = timed_out                                   ? RETRY_TIMEOUT
                   : failure->checked                          ? RETRY_CHECK
                   : status > SIGNALS && status <= LAST_SIGNAL ? RETRY_SIGNAL
                   : spawn                                     ? RETRY_SPAWN
                                                               : 0;
    bool listed = retry->on & kind || (!retry->n_on_exit && !retry->on);
    for (uint32_t i = 0; i < retry->n_on_exit && !listed; i++)
        listed = status == retry->on_exit[i];
    return listed;
}

bool task_is_unknown(const struct task_def *def, uint8_t outcome, uint8_t marks)
{
    return outcome == CAIRN_UNKNOWN || (def->once && marks & MARK_UNCERTAIN);
}
