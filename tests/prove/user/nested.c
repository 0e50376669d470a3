/* SPDX-License-Identifier: MIT */
/* The run inside another: which one it is, and what it has to do (guide-flow.md, "A
 * workflow inside another"). */
#include "tests/prove/user/user.h"

#include <stdlib.h>
#include <unistd.h>

enum { INNER_FLOW = 1, MIDDLE = 1 };

/* The newest that the middle task of this run has begun. */
static uint32_t begun_inside(const struct world *w, uint32_t outer)
{
    uint32_t found = NO_RUN;
    for (uint32_t i = 0; i < w->n_runs && outer != NO_RUN; i++)
        if (w->run[i].inside == outer &&
            (found == NO_RUN || w->run[i].number > w->run[found].number))
            found = i;
    return found;
}

bool nested_prepare(struct world *w, struct session *s, struct session *inner)
{
    const struct flow *outer = &w->flow[s->flow];
    unsigned planned = s->plan.fates.will | s->plan.fates.may;
    char path[PATH_SIZE + 96];
    if (outer->kind != OUTER || !(planned & 1u << MIDDLE))
        return false;
    file_path(w, "out.inner", path, sizeof path);
    unlink(path);
    file_path(w, "veto", path, sizeof path);
    w->veto = one_in(w, 3);
    if (w->veto)
        file_put(path, "no\n");
    else
        unlink(path);
    *inner = (struct session){.flow = INNER_FLOW,
                              .param = s->param,
                              .run = begun_inside(w, s->run),
                              .how = s->how,
                              .tag = "inner",
                              .log_at = s->log_at};
    world_look(w, &inner->before);
    /* Then the inner one starts anew, too. */
    inner->middle_done = s->run != NO_RUN && w->run[s->run].state[MIDDLE] == DONE;
    inner->middle_failed = s->run != NO_RUN && w->run[s->run].state[MIDDLE] == FAILED;
    return inner->run == NO_RUN || session_plan(w, inner) == 0;
}

/* Has what its task needs run again since it was begun there, or was the task edited?
 */
static bool is_outdated(struct world *w, const struct session *s, struct run *run)
{
    struct logged outer;
    const struct task *middle = &w->flow[s->flow].task[MIDDLE];
    log_read(w, s->flow, s->log_at, &outer);
    run->outdated |= (outer.started & middle->needs) != 0;
    return run->outdated || run->outer_salt != middle->salt;
}

/* Which run it went on with. */
static void choose_inner(struct world *w, const struct session *s,
                         struct session *inner, uint32_t number)
{
    struct run *was = inner->run != NO_RUN ? &w->run[inner->run] : NULL;
    bool same = was && was->number == number, outdated = was && is_outdated(w, s, was);
    bool unfinished = was && was->finished == NO;
    bool behind = was && was->finished == YES && inner->middle_failed;
    if ((unfinished || behind) && !same && !outdated)
        wrong(w, &w->repeated, "the %s inner run %u does not go on, but %u",
              behind ? "completed" : "unfinished", was->number, number);
    if (same && outdated && !s->loose)
        wrong(w, &w->undetected,
              "the inner run %u continues, though what it was given is not as it was",
              number);
    if (same && was->finished == YES && inner->middle_done)
        wrong(w, &w->undetected, "the inner run %u continues, though it had completed",
              number);
    if (same)
        return;
    inner->run = NO_RUN;
    inner->plan = (struct planned){.fates = {(1u << w->flow[INNER_FLOW].n) - 1, 0}};
}

void nested_settle(struct world *w, struct session *s, struct session *inner)
{
    struct said said;
    struct logged log;
    said_read(w, INNER_FLOW, "out.inner", &said);
    log_read(w, INNER_FLOW, s->log_at, &log);
    uint32_t number = said.run ? said.run : log.run;
    inner->status = said.finished ? said.exit_status : 137;
    if (!number) {
        if (s->status == 0 && s->plan.fates.will & 1u << MIDDLE)
            wrong(w, &w->lost, "the outer run completed without the inner one");
        w->ghosts_inside = true;
        if (inner->run != NO_RUN) { /* it may have begun to continue */
            struct run *run = &w->run[inner->run];
            forget(&w->flow[INNER_FLOW], run,
                   inner->plan.fates.will | inner->plan.fates.may);
            run->finished = run->finished == YES ? UNSURE : run->finished;
            (void)is_outdated(w, s, run);
        }
        return;
    }
    if (said.exit_status == 7 && inner->how == TO_ITS_END)
        wrong(w, &w->other, "the inner run %u was stopped", number);
    choose_inner(w, s, inner, number);
    inner->how = said.finished ? inner->how : KILLED;
    session_settle(w, inner);
    if (inner->run == NO_RUN)
        return;
    struct run *run = &w->run[inner->run];
    run->inside = s->run;
    run->outer_salt = w->flow[s->flow].task[MIDDLE].salt;
    run->outdated = false;
}

/* Without a number, the newest run that no task began is meant. */
void nested_look(struct world *w)
{
    static const char *const status[] = {"status", "--json", NULL};
    uint32_t newest = 0;
    for (uint32_t i = 0; i < w->n_runs; i++)
        if (w->run[i].inside == NO_RUN && w->run[i].number > newest)
            newest = w->run[i].number;
    if (!newest || w->ghosts)
        return;
    int code = cairn_do(w, "status", status);
    uint32_t shown = number_read(w, "status", "run");
    if (code || shown != newest)
        wrong(w, &w->other, "status: exit %d, run %u, not %u", code, shown, newest);
}
