/* SPDX-License-Identifier: MIT */
/* make: tsan */
/* The real scheduler under a fake clock and a fake runner, over random workflows with
 * groups, pools, priorities, `when`, conditions, external tasks, `finally`, retries,
 * failures and cancelled tasks. After every step the scheduler must be consistent; in
 * the end the outcomes must be those of a naive model, however many run at a time, and
 * wherever the run was cut off and gone on with: from the outcomes alone, or by what
 * decide says, for which the failed ones are run again.
 *
 * What an attempt ends with is a function of (workflow, task, attempt), and whether a
 * condition holds one of what it asks for, so that every way of running one workflow
 * has one right answer. on_failure is continue: nothing is left out. */
#include "executor/state/loop.h"
#include "graph/match.h"
#include "plan/decide.h"

#include "tests/sim/world.h"

enum { GRAPHS = 6000, MAX_JOBS = 8 };

/* ---- The runner ---- */

struct sim {
    const struct world *w;
    struct sched sched;
    struct timers timers;
    uint32_t jobs, running;
    int64_t now;
    uint64_t dice;      /* what only this way of running decides */
    uint32_t *attempts; /* [n_tasks] begun so far; like the store's */
    uint8_t *outcome;   /* [n_tasks] */
    bool *active;       /* [n_tasks] an attempt runs */
    bool *held;         /* [n_tasks] waits for its retry */
    bool *offered;      /* [n_tasks] somebody outside does it */
    uint32_t *pool_used;
    uint8_t kinds; /* that may start now */
    bool run_failed;
    uint32_t steps_left; /* then it is cut off */
};

static void note_skip(void *context, uint32_t task, enum cairn_outcome outcome)
{
    struct sim *s = context;
    if (s->outcome[task] != CAIRN_PENDING || s->active[task] || s->held[task])
        ck_abort_msg("%u was skipped, though it was run", task);
    s->outcome[task] = (uint8_t)outcome;
}

static void sim_init_sched(struct sim *s)
{
    s->kinds = SCHED_ORDINARY | SCHED_HANDLERS;
    ck_assert_int_eq(
        sched_init(&s->sched, &s->w->graph, s->outcome, note_skip, s, NULL), 0);
}

static void sim_begin(struct sim *s, const struct world *w, uint32_t jobs,
                      uint64_t dice)
{
    uint32_t n = w->graph.n_tasks;
    *s = (struct sim){.w = w, .jobs = jobs, .dice = dice, .steps_left = UINT32_MAX};
    s->attempts = calloc(n, sizeof *s->attempts);
    s->outcome = calloc(n, 1);
    s->active = calloc(n, sizeof *s->active);
    s->held = calloc(n, sizeof *s->held);
    s->offered = calloc(n, sizeof *s->offered);
    s->pool_used = calloc((size_t)w->definition.n_pools + 1, sizeof *s->pool_used);
    sim_init_sched(s);
}

static void sim_end(struct sim *s)
{
    sched_release(&s->sched);
    timers_release(&s->timers);
    free(s->attempts);
    free(s->outcome);
    free(s->active);
    free(s->held);
    free(s->offered);
    free(s->pool_used);
}

static bool is_better(const struct sim *s, uint32_t a, uint32_t b)
{
    const struct graph *g = &s->w->graph;
    int32_t x = graph_def(g, a)->priority, y = graph_def(g, b)->priority;
    if (x != y)
        return x > y;
    return g->height[a] != g->height[b] ? g->height[a] > g->height[b] : a < b;
}

/* From the world's side, not the scheduler's: may the task start now, but for its
 * pools? */
static bool is_ready(const struct sim *s, uint32_t task)
{
    const struct task_def *def = graph_def(&s->w->graph, task);
    if (s->outcome[task] != CAIRN_PENDING || s->active[task] || s->held[task] ||
        s->offered[task] || !(s->kinds & sched_kind_of(def)))
        return false;
    struct needs_seen needs = see_needs(&s->w->graph, s->outcome, task);
    return !needs.open && outcome_by_needs(def->when, needs) == CAIRN_PENDING;
}

static bool shares_pool(const struct sim *s, uint32_t a, uint32_t b)
{
    const struct task_def *x = graph_def(&s->w->graph, a);
    const struct task_def *y = graph_def(&s->w->graph, b);
    for (uint32_t i = 0; i < x->n_pools; i++)
        for (uint32_t k = 0; k < y->n_pools; k++)
            if (x->pools[i].pool == y->pools[k].pool)
                return true;
    return false;
}

/* It has room in all its pools, and overtakes nobody in any. */
static bool may_start(const struct sim *s, uint32_t task)
{
    const struct task_def *def = graph_def(&s->w->graph, task);
    if (!is_ready(s, task))
        return false;
    for (uint32_t i = 0; i < def->n_pools; i++)
        if (s->pool_used[def->pools[i].pool] + def->pools[i].places >
            s->w->definition.pools[def->pools[i].pool].limit)
            return false;
    for (uint32_t t = 0; t < s->w->graph.n_tasks; t++)
        if (t != task && shares_pool(s, task, t) && is_better(s, t, task) &&
            is_ready(s, t))
            return false;
    return true;
}

static uint32_t best_task(const struct sim *s)
{
    uint32_t best = NODE_NONE;
    for (uint32_t t = 0; t < s->w->graph.n_tasks; t++)
        if (may_start(s, t) && (best == NODE_NONE || is_better(s, t, best)))
            best = t;
    return best;
}

static void check(const struct sim *s)
{
    uint32_t pending = 0;
    if (!sched_consistent(&s->sched))
        ck_abort_msg("seed %llu", (unsigned long long)s->w->seed);
    for (uint32_t t = 0; t < s->w->graph.n_tasks; t++)
        pending += s->outcome[t] == CAIRN_PENDING;
    if (s->sched.open != pending)
        ck_abort_msg("%u tasks are open, not %u", s->sched.open, pending);
}

static void add_timer(struct sim *s, uint32_t kind, uint32_t task, int64_t after)
{
    struct timer timer = {s->now + after, kind, task, s->attempts[task]};
    ck_assert_int_eq(timers_add(&s->timers, timer, NULL), 0);
}

static void start(struct sim *s, uint32_t task)
{
    const struct task_def *def = graph_def(&s->w->graph, task);
    s->active[task] = true;
    s->running++;
    s->attempts[task]++;
    for (uint32_t i = 0; i < def->n_pools; i++)
        s->pool_used[def->pools[i].pool] += def->pools[i].places;
    add_timer(s, TIMER_TIMEOUT, task, attempt_duration(s->w, task, s->attempts[task]));
}

static void finish(struct sim *s, uint32_t task, enum cairn_outcome outcome)
{
    s->outcome[task] = (uint8_t)outcome;
    sched_end(&s->sched, task, outcome, note_skip, s);
}

static void offer(struct sim *s, uint32_t task)
{
    sched_offer(&s->sched, task);
    s->offered[task] = true;
    s->attempts[task]++;
    add_timer(s, TIMER_TIMEOUT, task, attempt_duration(s->w, task, 1));
}

static void begin_task(struct sim *s, uint32_t task)
{
    if (help_below(&s->dice, 16) == 0) /* could not be started after all */
        sched_return(&s->sched, task);
    else if (!condition_is_met(s->w, s->outcome, task, s->run_failed))
        finish(s, task, CAIRN_EXCLUDED);
    else if (graph_def(&s->w->graph, task)->kind == TASK_EXTERNAL)
        offer(s, task);
    else
        start(s, task);
}

static void start_ready(struct sim *s)
{
    while (s->running < s->jobs) {
        uint32_t best = best_task(s);
        uint32_t task = sched_take(&s->sched);
        if (task != best)
            ck_abort_msg("took %d, the best is %d", (int)task, (int)best);
        if (task == NODE_NONE)
            break;
        begin_task(s, task);
        check(s);
    }
}

static void leave(struct sim *s, uint32_t task)
{
    const struct task_def *def = graph_def(&s->w->graph, task);
    s->active[task] = false;
    s->running--;
    for (uint32_t i = 0; i < def->n_pools; i++)
        s->pool_used[def->pools[i].pool] -= def->pools[i].places;
}

static void attempt_ended(struct sim *s, uint32_t task)
{
    uint32_t attempt = s->attempts[task];
    enum cairn_outcome outcome = attempt_outcome(s->w, task, attempt);
    if (s->offered[task])
        s->offered[task] = false;
    else
        leave(s, task);
    if (outcome != CAIRN_FAILED || attempt > retries_of(s->w, task)) {
        finish(s, task, outcome);
        return;
    }
    sched_hold(&s->sched, task);
    s->held[task] = true;
    add_timer(s, TIMER_RETRY, task, help_below(&s->dice, SECOND));
}

/* One event. False when nothing is left that could happen. */
static bool step(struct sim *s)
{
    struct timer timer;
    if (!s->timers.n || s->steps_left-- == 0)
        return false;
    if (!timers_take_due(&s->timers, INT64_MAX, &timer) || timer.when_ns < s->now)
        ck_abort_msg("time goes backwards");
    s->now = timer.when_ns;
    if (timer.kind == TIMER_RETRY) {
        s->held[timer.index] = false;
        sched_again(&s->sched, timer.index);
    } else
        attempt_ended(s, timer.index);
    check(s);
    return true;
}

static void sim_phase(struct sim *s)
{
    check(s);
    do
        start_ready(s);
    while (step(s));
}

static void sim_run(struct sim *s)
{
    sim_phase(s);
    if (s->timers.n) /* cut off */
        return;
    s->kinds = SCHED_FINALLY;
    s->run_failed = has_failed_before(&s->w->graph, s->outcome);
    sched_allow(&s->sched, s->kinds);
    sim_phase(s);
}

/* ---- Cut off, and gone on with ---- */

/* The crash: what ran or waited is lost, outcomes and attempt numbers are not. */
static void sim_crash(struct sim *s)
{
    sched_release(&s->sched);
    timers_release(&s->timers);
    for (uint32_t t = 0; t < s->w->graph.n_tasks; t++) {
        if (s->active[t] || s->offered[t])
            s->attempts[t]--; /* that attempt is made again, with the same luck */
        s->active[t] = s->held[t] = s->offered[t] = false;
    }
    memset(s->pool_used, 0, s->w->definition.n_pools * sizeof *s->pool_used);
    s->running = 0;
    s->steps_left = UINT32_MAX;
}

/* What was skipped early is skipped again, as decide has it. */
static void sim_resume(struct sim *s)
{
    const struct graph *g = &s->w->graph;
    sim_crash(s);
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t t = g->order[i];
        if (!graph_is_barrier(g, t) && s->outcome[t] == CAIRN_SKIPPED &&
            is_open(g, s->outcome, t))
            s->outcome[t] = CAIRN_PENDING;
    }
    sim_init_sched(s);
    for (uint32_t t = 0; t < s->w->graph.n_tasks; t++)
        if (s->outcome[t] != CAIRN_PENDING)
            ck_assert_int_eq(s->sched.state[t], ENDED);
}

static enum condition ask(void *context, uint32_t task, const uint16_t *fate)
{
    const struct sim *s = context;
    const struct graph *g = &s->w->graph;
    uint32_t need = asked_of(g, task);
    uint8_t was = need == NODE_NONE ? 0 : s->outcome[need];
    if (graph_def(g, task)->finally)
        return CONDITION_OPEN;
    if (need != NODE_NONE && fate[need] & FATE_UNSETTLED)
        return CONDITION_OPEN;
    /* One that does not run is asked as it ends now. */
    if (need != NODE_NONE && fate[need] & FATE_BAD)
        s->outcome[need] = CAIRN_SKIPPED;
    bool met = condition_is_met(s->w, s->outcome, task, false);
    if (need != NODE_NONE)
        s->outcome[need] = was;
    return met ? CONDITION_YES : CONDITION_NO;
}

/* As cairn does: decide says whose outcome counts. Attempts are counted anew, so that
 * what failed fails again. */
static uint32_t sim_resume_as_decided(struct sim *s, struct decisions *decisions)
{
    const struct graph *g = &s->w->graph;
    uint32_t *same = malloc(g->n_tasks * sizeof *same), runs;
    uint8_t *marks = calloc(g->n_tasks, 1);
    struct states states = {.n = g->n_tasks,
                            .outcome = s->outcome,
                            .attempts = calloc(g->n_tasks, sizeof *states.attempts)};
    for (uint32_t t = 0; t < g->n_tasks; t++)
        if (s->active[t] || s->offered[t])
            marks[t] = MARK_INTERRUPTED;
    map_tasks(g, g, same);
    struct decide_input input = {.graph = g,
                                 .old = g,
                                 .old_task = same,
                                 .states = &states,
                                 .marks = marks,
                                 .condition = ask,
                                 .context = s};
    ck_assert_int_eq(decide(&input, decisions, NULL), 0);
    sim_crash(s);
    for (uint32_t t = 0; t < g->n_tasks; t++)
        if (decisions->reset[t]) {
            s->outcome[t] = CAIRN_PENDING;
            s->attempts[t] = 0;
        }
    sim_init_sched(s);
    runs = decisions->will + decisions->may;
    free(same);
    free(marks);
    free(states.attempts);
    return runs;
}

/* ---- The comparison ---- */

static void expect_outcomes(const struct sim *s, const uint8_t *expected,
                            const char *how)
{
    const struct graph *g = &s->w->graph;
    for (uint32_t t = 0; t < g->n_tasks; t++)
        if (s->outcome[t] != expected[t])
            ck_abort_msg("%s, seed %llu: %s is %s, not %s", how,
                         (unsigned long long)s->w->seed, g->id[t],
                         cairn_outcome_name(s->outcome[t]),
                         cairn_outcome_name(expected[t]));
    ck_assert_uint_eq(s->sched.taken + s->sched.held + s->sched.ready.n, 0);
    for (uint32_t t = 0; t < g->n_tasks; t++) {
        enum sched_end_class end = sched_class(expected[t]);
        bool ran =
            end == END_MET || end == END_FAILED || expected[t] == CAIRN_CANCELLED;
        uint32_t attempts = ran ? last_attempt(s->w, t) : 0;
        if (s->attempts[t] != attempts)
            ck_abort_msg("%s, seed %llu: %s was tried %u times, not %u", how,
                         (unsigned long long)s->w->seed, g->id[t], s->attempts[t],
                         attempts);
    }
}

static void run_whole(const struct world *w, const uint8_t *expected, uint32_t jobs,
                      const char *how)
{
    struct sim s;
    sim_begin(&s, w, jobs, w->seed + jobs);
    sim_run(&s);
    expect_outcomes(&s, expected, how);
    sim_end(&s);
}

static void run_in_pieces(const struct world *w, const uint8_t *expected,
                          uint64_t *seed)
{
    struct sim s;
    sim_begin(&s, w, 1 + help_below(seed, MAX_JOBS), *seed);
    for (uint32_t cuts = 1 + help_below(seed, 4); cuts > 0; cuts--) {
        s.steps_left = help_below(seed, w->graph.n_tasks + 1);
        sim_run(&s);
        sim_resume(&s);
    }
    sim_run(&s);
    expect_outcomes(&s, expected, "in pieces");
    sim_end(&s);
}

/* What has run lies within what was decided; what was to run has, unless something did
 * not complete. */
static void expect_decided(const struct sim *s, const struct decisions *d)
{
    const struct graph *g = &s->w->graph;
    bool smooth = true;
    for (uint32_t t = 0; t < g->n_tasks; t++)
        smooth &= s->outcome[t] != CAIRN_FAILED && s->outcome[t] != CAIRN_CANCELLED;
    for (uint32_t t = 0; t < g->n_tasks; t++) {
        bool ran = d->reset[t] && s->attempts[t];
        bool will = d->fate[t] & FATE_WILL, may = d->fate[t] & FATE_MAY;
        if ((ran && !will && !may) || (will && smooth && !ran))
            ck_abort_msg("seed %llu: %s %s, and is %s", (unsigned long long)s->w->seed,
                         g->id[t], ran ? "has run" : "has not run",
                         cairn_outcome_name(s->outcome[t]));
    }
}

static void run_as_decided(const struct world *w, const uint8_t *expected,
                           uint64_t *seed)
{
    struct sim s;
    bool complete = !has_failed(&w->graph, expected);
    for (uint32_t t = 0; t < w->graph.n_tasks; t++)
        complete &= sched_class(expected[t]) != END_OPEN;
    sim_begin(&s, w, 1 + help_below(seed, MAX_JOBS), *seed);
    for (uint32_t cuts = 1 + help_below(seed, 3); cuts > 0; cuts--) {
        struct decisions decisions;
        s.steps_left = help_below(seed, w->graph.n_tasks + 1);
        sim_run(&s);
        sim_resume_as_decided(&s, &decisions);
        if (cuts == 1) {
            sim_run(&s);
            expect_decided(&s, &decisions);
        }
        decisions_release(&decisions);
    }
    expect_outcomes(&s, expected, "as decided");
    struct decisions decisions;
    uint32_t runs = sim_resume_as_decided(&s, &decisions);
    if (complete ? runs != 0 : runs == 0)
        ck_abort_msg("seed %llu: %u are to run after the end",
                     (unsigned long long)w->seed, runs);
    decisions_release(&decisions);
    sim_end(&s);
}

START_TEST(test_random_workflows)
{
    uint64_t seed = 20260105 + (uint64_t)_i;
    uint32_t counts[CAIRN_EXCLUDED + 1] = {0};
    printf("seeds from %llu\n", (unsigned long long)seed);
    for (int graphs = 0; graphs < GRAPHS / 2 / help_stride(); graphs++) {
        struct world w;
        world_make(&w, help_next(&seed));
        uint8_t *expected = calloc(w.graph.n_tasks, 1);
        model_outcomes(&w, expected);
        for (uint32_t t = 0; t < w.graph.n_tasks; t++)
            counts[expected[t]]++;
        run_whole(&w, expected, 1, "serial");
        run_whole(&w, expected, 3, "three at a time");
        run_whole(&w, expected, 4 + help_below(&seed, MAX_JOBS - 3), "parallel");
        run_in_pieces(&w, expected, &seed);
        run_as_decided(&w, expected, &seed);
        free(expected);
        world_release(&w);
    }
    /* The workflows are worth something only if all of this happens in them. */
    for (int outcome = CAIRN_PENDING; outcome <= CAIRN_EXCLUDED; outcome++)
        if (outcome != CAIRN_UNDONE && outcome != CAIRN_UNKNOWN)
            ck_assert_uint_gt(counts[outcome], 100 / (uint32_t)help_stride());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, test_random_workflows, 0, 2);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
