/* The real scheduler under a fake clock and a fake runner, over random graphs with
 * pools, priorities, retries, failures and cancelled tasks. After every step the
 * scheduler must be consistent; in the end the outcomes must be those of a naive model,
 * however many run at a time and wherever the run was cut off and begun again.
 *
 * What an attempt ends with is a function of (graph, task, attempt), so that every way
 * of running one graph has one right answer. */
#include "executor/sched.h"
#include "executor/timers.h"

#include "tests/unit/graph_help.h"

enum { GRAPHS = 2400, MAX_JOBS = 8, SECOND = 1000 };

/* ---- Random workflows ---- */

static void random_need(struct definition *d, struct task_def *def, uint32_t target,
                        uint64_t *seed)
{
    struct need *need = help_need(d, def, target, "need");
    const struct task_def *to = &d->defs[target];
    if (!to->n_foreach || help_below(seed, 2))
        return;
    bool own = def->n_foreach && to->foreach[0].n >= def->foreach[0].n;
    need->bindings = arena_take(&d->arena, 1, sizeof *need->bindings);
    need->bindings[0] = (struct key_value){STR("x"), own ? STR("${{x}}") : STR("0")};
    need->n_bindings = 1;
}

static void random_pools(struct definition *d, uint64_t *seed)
{
    for (uint32_t p = help_below(seed, 4); p > 0; p--) {
        char name[16];
        snprintf(name, sizeof name, "p%u", p);
        uint32_t pool = help_pool(d, name);
        d->pools[pool].limit = 1 + help_below(seed, 3);
    }
}

static void random_workflow(struct definition *d, uint64_t *seed)
{
    uint32_t n = 1 + help_below(seed, 40), dense = 1 + help_below(seed, 4);
    uint32_t alike = help_below(seed, 3);
    help_begin(d);
    random_pools(d, seed);
    for (uint32_t i = 0; i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%u", i);
        struct task_def *def = help_task(d, text);
        if (help_below(seed, 3) == 0) {
            uint32_t members = help_below(seed, 7); /* none at all is possible too */
            help_value(d, def, "x", NULL);
            for (uint32_t m = 0; m < members; m++) {
                snprintf(text, sizeof text, "%u", m);
                help_value(d, def, "x", text);
            }
        }
        def->retry.max = help_below(seed, 3) ? 0 : 1 + help_below(seed, 3);
        def->priority = alike ? 0 : (int32_t)help_below(seed, 5) - 2;
        if (d->n_pools && help_below(seed, 2))
            def->pool = help_below(seed, d->n_pools);
        for (uint32_t j = i ? help_below(seed, dense + 1) : 0; j > 0; j--) {
            uint32_t target = help_below(seed, i);
            if (d->defs[target].n_foreach && d->defs[target].foreach[0].n == 0)
                help_need(d, def, target, "need"); /* has no member to bind to */
            else
                random_need(d, def, target, seed);
        }
    }
    help_finish(d);
}

/* ---- What tasks do ---- */

struct world { /* one random graph, and how likely its attempts fail */
    struct definition definition;
    struct graph graph;
    uint64_t seed;
    uint32_t failing, cancelling; /* per thousand */
};

static uint64_t mix(const struct world *w, uint32_t task, uint32_t attempt)
{
    uint64_t seed = w->seed ^ ((uint64_t)task << 32 | attempt);
    return help_next(&seed);
}

static enum cairn_outcome attempt_outcome(const struct world *w, uint32_t task,
                                          uint32_t attempt)
{
    uint64_t luck = mix(w, task, attempt) % 1000;
    return luck < w->failing                   ? CAIRN_FAILED
           : luck < w->failing + w->cancelling ? CAIRN_CANCELLED
                                               : CAIRN_COMPLETED;
}

static int64_t attempt_duration(const struct world *w, uint32_t task, uint32_t attempt)
{
    return (int64_t)(mix(w, task, attempt) >> 40) % SECOND; /* 0 happens */
}

/* The outcome of a task that is let run: that of its last attempt. */
static enum cairn_outcome task_outcome(const struct world *w, uint32_t task)
{
    uint32_t attempt = 1, max = graph_def(&w->graph, task)->retry.max;
    while (attempt <= max && attempt_outcome(w, task, attempt) == CAIRN_FAILED)
        attempt++;
    return attempt_outcome(w, task, attempt);
}

static bool world_make(struct world *w, uint64_t seed)
{
    struct cairn_error error;
    w->seed = seed;
    uint64_t numbers = seed;
    random_workflow(&w->definition, &numbers);
    w->failing = help_below(&numbers, 3) ? help_below(&numbers, 300) : 0;
    w->cancelling = help_below(&numbers, 4) ? 0 : help_below(&numbers, 100);
    if (graph_build(&w->graph, &w->definition, &error) == 0)
        return true;
    definition_release(&w->definition); /* every group was empty */
    ck_assert_int_eq(error.code, CAIRN_EWORKFLOW);
    return false;
}

static void world_release(struct world *w)
{
    help_drop(&w->graph, &w->definition);
}

/* ---- The naive model ---- */

/* Settles tasks until nothing changes, asking each one's needs; PENDING is what waits
 * for a cancelled task. */
static void model_outcomes(const struct world *w, uint8_t *outcome)
{
    const struct graph *g = &w->graph;
    uint8_t *all = calloc(g->n_nodes, 1);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            bool ready = true, lost = false;
            for (uint32_t e = g->need_start[i]; e < g->need_start[i + 1]; e++) {
                uint8_t need = all[g->needs[e]];
                ready &= need == CAIRN_COMPLETED;
                lost |= need == CAIRN_FAILED || need == CAIRN_SKIPPED;
            }
            if (all[i] != CAIRN_PENDING || !(ready || lost))
                continue;
            all[i] = lost                     ? CAIRN_SKIPPED
                     : graph_is_barrier(g, i) ? CAIRN_COMPLETED
                                              : (uint8_t)task_outcome(w, i);
            moved = true;
        }
    }
    memcpy(outcome, all, g->n_tasks);
    free(all);
}

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
    uint32_t *pool_used;
    uint32_t steps_left; /* then it is cut off */
};

static void sim_begin(struct sim *s, const struct world *w, uint32_t jobs,
                      uint64_t dice)
{
    *s = (struct sim){.w = w, .jobs = jobs, .dice = dice, .steps_left = UINT32_MAX};
    s->attempts = calloc(w->graph.n_tasks, sizeof *s->attempts);
    s->outcome = calloc(w->graph.n_tasks, 1);
    s->active = calloc(w->graph.n_tasks, sizeof *s->active);
    s->held = calloc(w->graph.n_tasks, sizeof *s->held);
    s->pool_used = calloc((size_t)w->definition.n_pools + 1, sizeof *s->pool_used);
    ck_assert_int_eq(sched_init(&s->sched, &w->graph, s->outcome, NULL), 0);
}

static void sim_end(struct sim *s)
{
    sched_release(&s->sched);
    timers_release(&s->timers);
    free(s->attempts);
    free(s->outcome);
    free(s->active);
    free(s->held);
    free(s->pool_used);
}

static uint32_t pool_of(const struct sim *s, uint32_t task)
{
    return graph_def(&s->w->graph, task)->pool;
}

static bool is_met(const struct sim *s, uint32_t need)
{
    const struct graph *g = &s->w->graph;
    if (!graph_is_barrier(g, need))
        return s->outcome[need] == CAIRN_COMPLETED;
    for (uint32_t e = g->need_start[need]; e < g->need_start[need + 1]; e++)
        if (s->outcome[g->needs[e]] != CAIRN_COMPLETED)
            return false;
    return true;
}

/* From the world's side, not the scheduler's: may the task start now? */
static bool may_start(const struct sim *s, uint32_t task)
{
    const struct graph *g = &s->w->graph;
    uint32_t pool = pool_of(s, task);
    if (s->outcome[task] != CAIRN_PENDING || s->active[task] || s->held[task])
        return false;
    if (pool != UINT32_MAX && s->pool_used[pool] >= s->w->definition.pools[pool].limit)
        return false;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++)
        if (!is_met(s, g->needs[e]))
            return false;
    return true;
}

static bool is_better(const struct sim *s, uint32_t a, uint32_t b)
{
    const struct graph *g = &s->w->graph;
    int32_t x = graph_def(g, a)->priority, y = graph_def(g, b)->priority;
    if (x != y)
        return x > y;
    return g->height[a] != g->height[b] ? g->height[a] > g->height[b] : a < b;
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
    ck_assert(sched_consistent(&s->sched));
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
    uint32_t pool = pool_of(s, task);
    s->active[task] = true;
    s->running++;
    s->attempts[task]++;
    if (pool != UINT32_MAX)
        s->pool_used[pool]++;
    add_timer(s, TIMER_TIMEOUT, task, attempt_duration(s->w, task, s->attempts[task]));
}

static void start_ready(struct sim *s)
{
    while (s->running < s->jobs) {
        uint32_t best = best_task(s);
        uint32_t task = sched_take(&s->sched);
        if (task != best)
            ck_abort_msg("took %u, the best is %u", task, best);
        check(s);
        if (task == NODE_NONE)
            break;
        if (help_below(&s->dice, 16) == 0) { /* could not be started after all */
            sched_return(&s->sched, task);
            check(s);
            continue;
        }
        start(s, task);
        check(s);
    }
}

static void note_skip(void *context, uint32_t task)
{
    struct sim *s = context;
    if (s->outcome[task] != CAIRN_PENDING || s->active[task] || s->held[task] ||
        s->attempts[task])
        ck_abort_msg("%u was skipped, though it was run", task);
    s->outcome[task] = CAIRN_SKIPPED;
}

static void leave(struct sim *s, uint32_t task)
{
    uint32_t pool = pool_of(s, task);
    s->active[task] = false;
    s->running--;
    if (pool != UINT32_MAX)
        s->pool_used[pool]--;
}

static void finish(struct sim *s, uint32_t task, enum cairn_outcome outcome)
{
    ck_assert_int_eq(s->outcome[task], CAIRN_PENDING);
    s->outcome[task] = (uint8_t)outcome;
    sched_end(&s->sched, task, outcome, note_skip, s);
}

static void attempt_ended(struct sim *s, uint32_t task)
{
    uint32_t attempt = s->attempts[task];
    enum cairn_outcome outcome = attempt_outcome(s->w, task, attempt);
    leave(s, task);
    if (outcome != CAIRN_FAILED || attempt > graph_def(&s->w->graph, task)->retry.max) {
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
    ck_assert(timers_due(&s->timers, INT64_MAX, &timer));
    ck_assert_int_ge(timer.when_ns, s->now);
    s->now = timer.when_ns;
    if (timer.kind == TIMER_RETRY) {
        s->held[timer.index] = false;
        sched_again(&s->sched, timer.index);
    } else
        attempt_ended(s, timer.index);
    check(s);
    return true;
}

static void sim_run(struct sim *s)
{
    check(s);
    do
        start_ready(s);
    while (step(s));
}

/* The crash: what ran or waited is lost, outcomes and attempt numbers are not. */
static void sim_resume(struct sim *s)
{
    const struct graph *g = &s->w->graph;
    sched_release(&s->sched);
    timers_release(&s->timers);
    for (uint32_t t = 0; t < g->n_tasks; t++) {
        if (s->active[t])
            s->attempts[t]--; /* that attempt is made again, with the same luck */
        s->active[t] = s->held[t] = false;
    }
    memset(s->pool_used, 0, s->w->definition.n_pools * sizeof *s->pool_used);
    s->running = 0;
    s->steps_left = UINT32_MAX;
    ck_assert_int_eq(sched_init(&s->sched, g, s->outcome, NULL), 0);
    for (uint32_t t = 0; t < g->n_tasks; t++)
        if (s->outcome[t] != CAIRN_PENDING)
            ck_assert_int_eq(s->sched.state[t], ENDED);
}

/* ---- The comparison ---- */

static void expect_outcomes(const struct sim *s, const uint8_t *expected,
                            const char *how)
{
    const struct graph *g = &s->w->graph;
    for (uint32_t t = 0; t < g->n_tasks; t++)
        ck_assert_msg(s->outcome[t] == expected[t], "%s, seed %llu: %s is %s, not %s",
                      how, (unsigned long long)s->w->seed, g->id[t],
                      cairn_outcome_name(s->outcome[t]),
                      cairn_outcome_name(expected[t]));
    ck_assert_uint_eq(s->sched.taken + s->sched.held + s->sched.ready.n, 0);
    for (uint32_t t = 0; t < g->n_tasks; t++) {
        uint32_t attempts = 0;
        if (expected[t] != CAIRN_SKIPPED && expected[t] != CAIRN_PENDING)
            for (attempts = 1; attempts <= graph_def(g, t)->retry.max &&
                               attempt_outcome(s->w, t, attempts) == CAIRN_FAILED;)
                attempts++;
        if (s->attempts[t] != attempts)
            ck_abort_msg("%s: %s was tried %u times, not %u", how, g->id[t],
                         s->attempts[t], attempts);
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

START_TEST(test_random_graphs)
{
    uint64_t seed = 20260105;
    uint32_t counts[CAIRN_CANCELLED + 1] = {0};
    int graphs = 0;
    printf("seeds from %llu\n", (unsigned long long)seed);
    while (graphs < GRAPHS) {
        struct world w;
        if (!world_make(&w, help_next(&seed)))
            continue;
        uint8_t *expected = calloc(w.graph.n_tasks, 1);
        model_outcomes(&w, expected);
        for (uint32_t t = 0; t < w.graph.n_tasks; t++)
            counts[expected[t]]++;
        run_whole(&w, expected, 1, "serial");
        run_whole(&w, expected, 2 + help_below(&seed, MAX_JOBS - 1), "parallel");
        run_in_pieces(&w, expected, &seed);
        free(expected);
        world_release(&w);
        graphs++;
    }
    /* The graphs are worth something only if all of this happens in them. */
    for (int outcome = CAIRN_PENDING; outcome <= CAIRN_CANCELLED; outcome++)
        ck_assert_uint_gt(counts[outcome], 100);
}
END_TEST

/* ---- Small ones, by hand ---- */

static struct definition definition;
static struct graph graph;
static struct sched sched;

static void begin(const char *text)
{
    static uint8_t none[64];
    help_build(&graph, &definition, text);
    ck_assert_uint_le(graph.n_tasks, sizeof none);
    ck_assert_int_eq(sched_init(&sched, &graph, none, NULL), 0);
    ck_assert(sched_consistent(&sched));
}

static void end(void)
{
    sched_release(&sched);
    help_drop(&graph, &definition);
}

static void take(const char *id)
{
    uint32_t task = sched_take(&sched);
    ck_assert(sched_consistent(&sched));
    if (!id)
        ck_assert_uint_eq(task, NODE_NONE);
    else
        ck_assert_msg(task != NODE_NONE && strcmp(graph.id[task], id) == 0,
                      "%s was taken, not %s", task == NODE_NONE ? "-" : graph.id[task],
                      id);
}

static void complete(const char *id)
{
    sched_end(&sched, graph_find(&graph, str_of(id)), CAIRN_COMPLETED, NULL, NULL);
    ck_assert(sched_consistent(&sched));
}

START_TEST(test_order)
{
    begin("low @priority=-1\n"
          "short\n"
          "long\n"
          "after : long\n"
          "first @priority=1\n"
          "short2\n");
    take("first");
    take("long"); /* critical path before file order */
    take("short");
    take("short2");
    take("low");
    take(NULL);
    complete("long");
    take("after");
    end();
}
END_TEST

/* A task that finds its pool full is passed by, and comes back in its order. */
START_TEST(test_pools)
{
    begin("a @pool=db @priority=9\n"
          "b @pool=db @priority=1\n"
          "c @pool=db @priority=5\n"
          "free\n");
    take("a");
    take("free");
    take(NULL);
    ck_assert_int_eq(sched.state[1], PARKED);
    complete("a");
    take("c");
    take(NULL);
    sched_hold(&sched, 2); /* waiting for its retry it holds no place */
    ck_assert(sched_consistent(&sched));
    take("b");
    sched_again(&sched, 2);
    take(NULL);
    sched_return(&sched, 1);
    ck_assert(sched_consistent(&sched));
    take("c"); /* the better one */
    complete("c");
    take("b");
    complete("b");
    complete("free");
    ck_assert_uint_eq(sched.open, 0);
    end();
}
END_TEST

static void collect_skip(void *context, uint32_t task)
{
    buf_format(context, "%s ", graph.id[task]);
}

START_TEST(test_skips)
{
    struct buf skipped = BUF_INIT;
    begin("a\n"
          "g x=1,2\n"
          "each x=1,2 : g[x=${{x}}]\n"
          "all : g\n"
          "last : all a\n"
          "apart : a\n");
    take("g[x=1]");
    sched_end(&sched, graph_find(&graph, STR("g[x=1]")), CAIRN_FAILED, collect_skip,
              &skipped);
    ck_assert(sched_consistent(&sched));
    ck_assert_str_eq(skipped.data, "each[x=1] all last ");
    take("g[x=2]"); /* fails too: what is skipped is not skipped twice */
    buf_clear(&skipped);
    sched_end(&sched, graph_find(&graph, STR("g[x=2]")), CAIRN_FAILED, collect_skip,
              &skipped);
    ck_assert_str_eq(skipped.data, "each[x=2] ");
    take("a");
    complete("a");
    take("apart");
    complete("apart");
    take(NULL);
    ck_assert_uint_eq(sched.open, 0);
    buf_release(&skipped);
    end();
}
END_TEST

/* A task that waits for its retry can end too: it holds nothing that must be given
 * back. */
START_TEST(test_end_of_held)
{
    struct buf skipped = BUF_INIT;
    begin("a @pool=db\nb : a\nc @pool=db\n");
    take("a");
    sched_hold(&sched, 0);
    take("c");
    sched_end(&sched, 0, CAIRN_FAILED, collect_skip, &skipped);
    ck_assert(sched_consistent(&sched));
    ck_assert_str_eq(skipped.data, "b ");
    ck_assert_uint_eq(sched.pool_used[0], 1);
    complete("c");
    ck_assert_uint_eq(sched.open, 0);
    buf_release(&skipped);
    end();
}
END_TEST

/* sched_consistent itself must be able to say no. */
START_TEST(test_inconsistent)
{
    begin("a @pool=db\nb @pool=db\nc : a\n");
    take("a");
    take(NULL);
    sched.open--;
    ck_assert(!sched_consistent(&sched));
    sched.open++;
    sched.pool_used[0] = 0; /* a taken task without its place */
    ck_assert(!sched_consistent(&sched));
    sched.pool_used[0] = 1;
    sched.state[2] = READY; /* with an unmet need, and in no queue */
    ck_assert(!sched_consistent(&sched));
    sched.state[2] = WAITING;
    sched.waiting[2] = 0; /* forgotten */
    ck_assert(!sched_consistent(&sched));
    sched.waiting[2] = 1;
    ck_assert(sched_consistent(&sched));
    sched.pool_used[0] = 0; /* parked, though the pool has room */
    sched.state[0] = HELD;
    sched.taken--;
    sched.held++;
    ck_assert(!sched_consistent(&sched));
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_order);
    tcase_add_test(c, test_pools);
    tcase_add_test(c, test_skips);
    tcase_add_test(c, test_end_of_held);
    tcase_add_test(c, test_inconsistent);
    tcase_add_test(c, test_random_graphs);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
