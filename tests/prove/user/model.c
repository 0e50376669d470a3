/* SPDX-License-Identifier: MIT */
/* What has to run, from what the documents say. Pure.
 *
 * 1. A task that has not completed runs (guide-resuming.md, "A task failed", "cairn was
 *    killed").
 * 2. One that completed runs again if its definition is not the one that it completed
 *    with ("You edited the workflow"), if a declared output is gone or has other
 * content than it made, or a declared input has other content than it read
 * (workflow-file.md, "Outputs", `inputs`). What was touched, or is back, changes
 * nothing ("An output was deleted or changed").
 * 3. What needs a task that runs, directly or not, runs ("everything downstream").
 * 4. One that failed last time may fail again, unless it has been edited or an input
 * has other content than then: what needs it may run (commands.md, "Words").
 * 5. What is found by 1 to 4 when a resume begins has lost its outcome, also if that
 *    resume is killed (events, `task_reset`). Whether one that was killed early had
 *    begun is not known here: both are allowed, for all of its tasks alike; what had
 * not completed may keep that it failed or was skipped.
 * 6. A task that had ended when cairn was killed has completed (guarantees.md, G2), if
 *    its files are as they were, whatever was edited, and wherever the project was
 * moved (guide-resuming.md). Where our look was too late to say that its process had
 * been collected, both are allowed.
 * 7. A task whose input is missing fails; with on_failure: continue what does not need
 *    it still runs, the rest is skipped, and the exit status is 1.
 *
 * Contents follow from rule 2: a task makes a digest of its name, param, definition and
 * inputs. */
#include "tests/prove/user/user.h"

#include <string.h>

void run_init(struct run *run, uint32_t number, uint32_t flow, uint32_t param)
{
    *run =
        (struct run){.number = number, .flow = flow, .param = param, .inside = NO_RUN};
}

void model_inputs(const struct task *task, const uint64_t *content, uint64_t *in)
{
    for (uint32_t i = 0; i < FILES_EACH; i++)
        in[i] = i < task->n_in ? content[task->in[i]] : 0;
}

uint64_t model_makes(const struct flow *flow, uint32_t task, uint32_t param,
                     uint32_t salt, uint32_t out, const uint64_t *in)
{
    char name[16], p[16], s[16], text[TEXT_SIZE];
    const struct task *t = &flow->task[task];
    for (uint32_t i = 0; i < t->n_in; i++)
        if (!in[i])
            return 0;
    snprintf(name, sizeof name, "t%u", task);
    snprintf(p, sizeof p, "%u", param);
    snprintf(s, sizeof s, "%u", salt);
    made_text(made_key(flow->name, name, p, s, out, in, t->n_in), text, sizeof text);
    return text_digest(text, strlen(text));
}

static bool reads_the_same(const struct task *task, const struct record *record,
                           const struct files *files)
{
    bool same = true;
    for (uint32_t i = 0; i < task->n_in; i++)
        same = same && files->of[task->in[i]] == record->in[i];
    return same;
}

/* Rule 4. Of one that failed for want of an input, the first such input is recorded. */
static bool fails_alike(const struct task *task, const struct record *record,
                        const struct files *files)
{
    for (uint32_t i = 0; i < task->n_in; i++)
        if (!record->in[i])
            return !files->of[task->in[i]];
    return reads_the_same(task, record, files);
}

/* Rule 2. */
static bool as_recorded(const struct task *task, const struct record *record,
                        const struct files *files)
{
    bool same = record->salt == task->salt && reads_the_same(task, record, files);
    for (uint32_t i = 0; i < task->n_out; i++)
        same = same && files->of[task->out[i]] == record->out[i];
    return same;
}

/* Rule 6. */
static bool is_touched(const struct task *task, const struct run *run,
                       const struct files *files)
{
    bool touched = false;
    for (uint32_t i = 0; i < task->n_out; i++)
        touched |= files->changed_ns[task->out[i]] != run->left_ns[task->out[i]];
    for (uint32_t i = 0; i < task->n_in; i++)
        touched |= files->changed_ns[task->in[i]] != run->left_ns[task->in[i]];
    return touched;
}

struct fates model_fates(const struct flow *flow, const struct run *run,
                         const struct files *files)
{
    struct fates fates = {0};
    unsigned risk = 0;
    for (uint32_t t = 0; t < flow->n; t++) {
        const struct task *task = &flow->task[t];
        unsigned bit = 1u << t, again = task->needs & (fates.will | fates.may);
        if (run->state[t] == DONE && !again &&
            as_recorded(task, &run->record[t], files))
            continue;
        if (task->needs & (fates.may | risk))
            fates.may |= bit;
        else
            fates.will |= bit;
        if (run->state[t] == FAILED && task->salt == run->salt[t] &&
            fails_alike(task, &run->record[t], files))
            risk |= bit;
    }
    return fates;
}

enum resets { NONE_RESET, ALL_RESET, DONE_RESET, RESETS };

/* One of the states that are possible. */
static struct run variant(const struct run *run, unsigned open, unsigned failed,
                          enum resets resets)
{
    struct run v = *run;
    for (uint32_t t = 0; t < TASKS; t++) {
        bool reset = resets != NONE_RESET && run->reset & 1u << t &&
                     (resets == ALL_RESET || run->state[t] == DONE);
        if (open & 1u << t || reset)
            v.state[t] = OPEN;
        else if (failed & 1u << t)
            v.state[t] = FAILED;
        if (resets != NONE_RESET && run->reset)
            v.salt[t] = run->reset_salt[t];
    }
    v.maybe = v.unclear = v.reset = 0;
    v.noted &= ~open;
    return v;
}

/* What was only noted does not count if its files have changed. But a kill between a
 * commit and its report hides that it is stored. */
static unsigned doubtful(const struct flow *flow, const struct run *run,
                         const struct files *files)
{
    unsigned bits = run->maybe;
    for (uint32_t t = 0; t < flow->n; t++)
        if (run->noted & 1u << t && is_touched(&flow->task[t], run, files))
            bits |= 1u << t;
    return bits;
}

static bool same_state(const struct run *a, const struct run *b)
{
    return memcmp(a->state, b->state, sizeof a->state) == 0 &&
           memcmp(a->salt, b->salt, sizeof a->salt) == 0;
}

bool model_accepts(const struct flow *flow, struct run *run, const struct files *files,
                   struct fates fates)
{
    unsigned doubts = doubtful(flow, run, files), both = doubts | run->unclear;
    struct run first;
    bool found = false, alone = true;
    if (run->loose)
        return true;
    for (unsigned resets = 0; resets < RESETS; resets++)
        for (unsigned bits = both;; bits = (bits - 1) & both) {
            struct run v =
                variant(run, bits & doubts, bits & run->unclear, (enum resets)resets);
            struct fates f = model_fates(flow, &v, files);
            if (f.will == fates.will && f.may == fates.may) {
                alone = alone && (!found || same_state(&v, &first));
                first = found ? first : v;
                found = true;
            }
            if (!bits)
                break;
        }
    if (found && alone)
        *run = first;
    return found;
}

/* How a task ends that is to run: rule 7. */
static enum state ends(const struct flow *flow, const struct outcome *end,
                       uint32_t task)
{
    const struct task *t = &flow->task[task];
    for (uint32_t n = 0; n < task; n++)
        if (t->needs & 1u << n && end->state[n] != DONE)
            return SKIPPED;
    for (uint32_t i = 0; i < t->n_in; i++)
        if (!end->content[t->in[i]])
            return FAILED;
    return t->nested && end->nested_fails ? FAILED : DONE;
}

void model_simulate(const struct flow *flow, const struct run *run,
                    const struct files *files, struct fates fates, struct outcome *end)
{
    uint64_t in[FILES_EACH];
    end->started = 0;
    memcpy(end->content, files->of, sizeof end->content);
    for (uint32_t t = 0; t < flow->n; t++) {
        const struct task *task = &flow->task[t];
        end->state[t] = run->state[t];
        if (!((fates.will | fates.may) & 1u << t))
            continue;
        end->state[t] = (uint8_t)ends(flow, end, t);
        if (end->state[t] != DONE && !(task->nested && end->state[t] == FAILED))
            continue;
        end->started |= 1u << t;
        model_inputs(task, end->content, in);
        for (uint32_t i = 0; i < task->n_out; i++)
            end->content[task->out[i]] =
                model_makes(flow, t, run->param, task->salt, i, in);
    }
}
