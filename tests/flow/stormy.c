/* SPDX-License-Identifier: MIT */
/* Random workflows of test B, in which things go wrong.
 *
 * After a failure that stops the run, what has been started by then is a matter of
 * order. So with `stop` and `undo` one task at most fails, everything before it is
 * needed by it, and everything after it needs it; and either a `when: failed` task
 * without further conditions handles the failure, or there are no such tasks. With
 * `continue` there are no such limits. */
#include "flow.h"

enum { BEFORE_MAX = NEEDS_MAX };

static void make_storm(struct workflow *w, uint32_t index, struct rng *rng)
{
    struct def *def = &w->defs[index];
    def_decorate(w, index, rng);
    def->sleep_ms = rng_one_in(rng, 3) ? 0 : rng_below(rng, 25);
    def->undo = rng_one_in(rng, 2);
    def->rounds = 0; /* below */
    def->undo_fails = def->undo && rng_one_in(rng, 5);
    if (rng_one_in(rng, 4)) {
        def->rounds = 1 + rng_below(rng, 3);
        def->rounds_more = rng_below(rng, 3);
        def->fallback = 0;
    }
    def->cutoff = rng_one_in(rng, 6) && !def->undo && def->when == WHEN_SUCCESS;
    if (rng_one_in(rng, 4)) {
        def->flaky = 1 + rng_below(rng, 2);
        def->retries = def->flaky + rng_below(rng, 2);
    }
}

/* One that only ends by itself a few times first, or, where a failure stops nothing, one
 * that never gets ready. */
static void make_stormy_service(struct workflow *w, uint32_t index, struct rng *rng)
{
    struct def *def = &w->defs[index];
    def_make_service(w, index, rng);
    def->sleep_ms = rng_one_in(rng, 3) ? 0 : rng_below(rng, 25);
    def->false_starts = def->restart ? rng_below(rng, def->restart + 1) : 0;
    def->fails = w->policy == ON_CONTINUE && rng_one_in(rng, 5);
}

/* Some tasks are added by one of the run's own, while it lives. */
static void make_added(struct workflow *w, struct rng *rng)
{
    uint32_t more = 1 + rng_below(rng, 3), adder = rng_below(rng, w->n_defs);
    struct def *by = &w->defs[adder];
    if (by->service || by->n_members || by->finally)
        return;
    by->adds = true;
    by->secrets = 3;
    while (more-- > 0 && w->n_defs < DEFS_MAX) {
        struct workflow before = *w;
        struct def *def = workflow_add(w, rng);
        if (def->made) { /* the maker of the list is in the file */
            *w = before;
            continue;
        }
        def->added = true;
        def_make_needs(w, w->n_defs - 1, rng);
        if (!def_needs(def, adder) && rng_one_in(rng, 2) && def->n_needs < NEEDS_MAX) {
            def->needs[def->n_needs] = adder;
            def->element[def->n_needs] = def->order[def->n_needs] = false;
            def->soft[def->n_needs++] = rng_one_in(rng, 2);
        }
        make_storm(w, w->n_defs - 1, rng);
    }
}

static void calm(struct def *def)
{
    def->skips &= def->skip_exit;
    def->fails &= def->may_fail;
    def->fallback = 0;
    def->when = WHEN_SUCCESS;
    if (def->gate == GATE_BAD && !def->may_fail)
        def->gate = GATE_WARN;
}

/* Everything before it is needed by the one that fails. */
static void make_failing(struct workflow *w, struct rng *rng)
{
    uint32_t index = w->n_defs;
    struct def *def = workflow_add(w, rng);
    def->n_members = 0;
    def->sided = def->made = false;
    for (uint32_t i = 0; i < index; i++) {
        def->soft[def->n_needs] = rng_one_in(rng, 4) && !w->defs[i].service;
        def->needs[def->n_needs++] = i;
    }
    make_storm(w, index, rng);
    calm(def);
    def->condition = COND_NONE;
    if (rng_one_in(rng, 3))
        def->gate = GATE_BAD;
    else
        def->fails = true;
}

/* It runs though what it needs has failed, and must not fail for want of a file of that:
 * it would be a second failure, and what has been started by then a matter of order. */
static void run_in_any_case(struct def *def, enum when when)
{
    def->when = when;
    def->args_of = NONE;
    def->input &= def->input_of == NONE;
    def->input_of = NONE;
}

static void make_behind(struct workflow *w, uint32_t failing, bool handled,
                        struct rng *rng)
{
    uint32_t index = w->n_defs;
    struct def *def = workflow_add(w, rng);
    bool handler = handled && index == failing + 1;
    uint32_t near = failing + rng_below(rng, index - failing);
    def->soft[def->n_needs] = !handler && rng_one_in(rng, 3);
    def->needs[def->n_needs++] = handler ? failing : near;
    uint32_t other = failing > 0 ? rng_below(rng, failing) : 0;
    if (!handler && failing > 0 && rng_one_in(rng, 3))
        def->needs[def->n_needs++] = other;
    if (handler) {
        def->n_members = 0;
        def->sided = def->made = false;
    }
    make_storm(w, index, rng);
    calm(def);
    if (handler) {
        def->condition = COND_NONE;
        def->skips = false;
        run_in_any_case(def, WHEN_FAILED);
    } else if (!def->made && !def_needs_service(w, def) && def->args_of == NONE &&
               rng_one_in(rng, 2))
        run_in_any_case(def, WHEN_ALWAYS);
}

static void make_stopping(struct workflow *w, struct rng *rng)
{
    uint32_t before = rng_below(rng, BEFORE_MAX + 1), behind = rng_below(rng, 6);
    bool handled = rng_one_in(rng, 3);
    while (w->n_defs < before) {
        workflow_add(w, rng);
        def_make_needs(w, w->n_defs - 1, rng);
        if (rng_one_in(rng, 6)) {
            make_stormy_service(w, w->n_defs - 1, rng);
            continue;
        }
        make_storm(w, w->n_defs - 1, rng);
        calm(&w->defs[w->n_defs - 1]);
        w->defs[w->n_defs - 1].condition = COND_NONE;
    }
    make_failing(w, rng);
    for (uint32_t i = 0; i < behind; i++)
        make_behind(w, before, handled, rng);
}

void workflow_make_stormy(struct workflow *w, struct rng *rng)
{
    static const enum policy policies[] = {
        ON_CONTINUE, ON_CONTINUE,    ON_CONTINUE,       ON_STOP,
        ON_CANCEL,   ON_UNDO_FAILED, ON_UNDO_ANCESTORS, ON_UNDO_ALL};
    uint32_t defs = 4 + rng_below(rng, 12);
    memset(w, 0, sizeof *w);
    w->report = true;
    w->adopt = rng_one_in(rng, 3);
    w->reuse = rng_one_in(rng, 3);
    w->keep = rng_one_in(rng, 2);
    w->policy = policies[rng_below(rng, sizeof policies / sizeof policies[0])];
    workflow_make_top(w, rng);
    w->again_never = false; /* unless there was a run before: test_same.c */
    if (w->policy != ON_CONTINUE) {
        make_stopping(w, rng);
        return;
    }
    while (w->n_defs < defs) {
        workflow_add(w, rng);
        def_make_needs(w, w->n_defs - 1, rng);
        if (rng_one_in(rng, 7))
            make_stormy_service(w, w->n_defs - 1, rng);
        else
            make_storm(w, w->n_defs - 1, rng);
    }
    if (rng_one_in(rng, 3))
        make_added(w, rng);
}

/* What was there before: more members, and more tasks, which are gone in `w`. Members
 * that others need one by one are in both. */
void workflow_make_before(const struct workflow *w, struct workflow *before,
                          struct rng *rng)
{
    *before = *w;
    for (uint32_t i = 0; i < w->n_defs; i++) {
        struct def *def = &before->defs[i];
        bool element = def->n_members == MEMBERS_MAX || !def->n_members || def->made;
        for (uint32_t k = 0; k < def->n_needs; k++)
            element |= def->element[k];
        if (!element && !def->service && rng_one_in(rng, 2))
            def->member[def->n_members++] = 50;
        if (!def->n_members && !def->service && rng_one_in(rng, 6))
            def->version++;
    }
}
