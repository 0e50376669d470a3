/* SPDX-License-Identifier: MIT */
/* The scheduler in random scenarios, against a model that keeps nothing but what was
 * done to it and works out everything else again after every step. */
#include "plan/sched.h"

#include "tests/support/flow.h"

enum { SCENARIOS = 2000, STEPS = 120 };

/* What was done with a task; NOTHING: it is the scheduler's turn. */
enum fact { NOTHING, IS_TAKEN, IS_HELD, IS_OFFERED, IS_ENDED };

struct model {
    struct definition definition;
    struct graph graph;
    struct sched sched;
    uint64_t seed, first_seed;
    uint8_t *fact;    /* [n_tasks] */
    uint8_t *outcome; /* [n_tasks] of those that have ended */
    uint8_t *told;    /* [n_tasks] what the scheduler said of it: skipped, excluded */
    uint8_t *derived; /* [n_nodes] enum cairn_outcome; of barriers: enum sched_end_class
                         + 1, 0: has not ended */
    uint8_t allowed;
    uint32_t n_defs; /* as many as there will be: the graph grows to that */
    uint64_t order;  /* hash of the skips, in order */
};

static void note_skip(void *context, uint32_t task, enum cairn_outcome outcome)
{
    struct model *m = context;
    ck_assert_msg(m->told[task] == 0, "%s was skipped twice", m->graph.id[task]);
    ck_assert_int_eq(m->fact[task], NOTHING);
    m->told[task] = (uint8_t)outcome;
    m->order = m->order * 31 + task * 2 + (outcome == CAIRN_SKIPPED);
}

/* ---- Working it out ---- */

static bool is_barrier(const struct model *m, uint32_t i)
{
    return graph_is_barrier(&m->graph, i);
}

/* How a node that needs this one sees it. */
static enum sched_end_class end_of(const struct model *m, uint32_t i)
{
    if (is_barrier(m, i))
        return m->derived[i] ? (enum sched_end_class)(m->derived[i] - 1) : END_OPEN;
    return sched_class(m->derived[i]);
}

struct counts { /* excluded, met: of a barrier */
    uint32_t open, failed, bad, excluded, met;
};

static struct counts count_needs(const struct model *m, uint32_t i);

/* It has ended while something that it needs had not. */
static bool is_early_skip(const struct model *m, uint32_t i)
{
    return !is_barrier(m, i) && end_of(m, i) != END_OPEN && count_needs(m, i).open;
}

static struct counts count_needs(const struct model *m, uint32_t i)
{
    const struct graph *g = &m->graph;
    struct counts c = {0};
    for (uint32_t e = g->need_start[i]; e < g->need_start[i + 1]; e++) {
        enum sched_end_class end = end_of(m, g->needs[e]);
        c.open += end == END_OPEN || is_early_skip(m, g->needs[e]);
        c.failed += end == END_FAILED;
        c.met += end == END_MET;
        c.excluded += end == END_EXCLUDED;
        c.bad += end == END_BAD;
    }
    return c;
}

/* It counts an excluded member as a skipped one. */
static bool wants_all(const struct model *m, uint32_t task)
{
    return graph_def(&m->graph, task)->needs_all;
}

/* Is anything needed, at first hand or as a member of a group, lost? */
static bool any_lost(const struct model *m, uint32_t i)
{
    const struct graph *g = &m->graph;
    bool lost = false;
    for (uint32_t e = g->need_start[i]; e < g->need_start[i + 1]; e++) {
        uint32_t need = g->needs[e];
        enum sched_end_class end = end_of(m, need);
        lost |= end == END_FAILED || end == END_BAD || end == END_EXCLUDED;
        if (is_barrier(m, need)) {
            struct counts c = count_needs(m, need);
            lost |= c.failed || c.bad || (c.excluded && wants_all(m, i));
        }
    }
    return lost;
}

/* The outcome that a task has without having been started, if it has. */
static uint8_t derive_task(const struct model *m, uint32_t i)
{
    struct counts c = count_needs(m, i);
    switch ((enum task_when)graph_def(&m->graph, i)->when) {
    case WHEN_SUCCESS:
        return any_lost(m, i) ? CAIRN_SKIPPED : CAIRN_PENDING;
    case WHEN_FAILED:
        return !c.open && !c.failed ? CAIRN_EXCLUDED : CAIRN_PENDING;
    case WHEN_ALWAYS:
        break;
    }
    return CAIRN_PENDING;
}

static uint8_t derive_barrier(const struct model *m, uint32_t i)
{
    struct counts c = count_needs(m, i);
    enum sched_end_class end = c.failed      ? END_FAILED
                               : c.bad       ? END_BAD
                               : !c.excluded ? END_MET
                               : c.met       ? END_PARTLY
                                             : END_EXCLUDED;
    return c.open ? 0 : (uint8_t)(1 + end);
}

static void derive(struct model *m)
{
    const struct graph *g = &m->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        m->derived[i] = !is_barrier(m, i) && m->fact[i] == IS_ENDED ? m->outcome[i] : 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            if (m->derived[i] || (!is_barrier(m, i) && m->fact[i] != NOTHING))
                continue;
            m->derived[i] = is_barrier(m, i) ? derive_barrier(m, i) : derive_task(m, i);
            moved |= m->derived[i] != 0;
        }
    }
}

/* Could be started, but for its kind and its pool. */
static bool is_ready(const struct model *m, uint32_t task)
{
    return m->fact[task] == NOTHING && !m->derived[task] &&
           count_needs(m, task).open == 0;
}

static bool is_allowed(const struct model *m, uint32_t task)
{
    return m->allowed & sched_kind_of(graph_def(&m->graph, task));
}

static bool is_better(const struct graph *g, uint32_t a, uint32_t b)
{
    int32_t x = graph_def(g, a)->priority, y = graph_def(g, b)->priority;
    if (x != y)
        return x > y;
    return g->height[a] != g->height[b] ? g->height[a] > g->height[b] : a < b;
}

static uint32_t places_of(const struct model *m, uint32_t task, uint32_t pool)
{
    const struct task_def *def = graph_def(&m->graph, task);
    for (uint32_t i = 0; i < def->n_pools; i++)
        if (def->pools[i].pool == pool)
            return def->pools[i].places;
    return 0;
}

/* There is room in all its pools, and nobody who is better waits for one of them. */
static bool has_place(const struct model *m, uint32_t task)
{
    for (uint32_t p = 0; p < m->definition.n_pools; p++) {
        uint32_t used = places_of(m, task, p);
        for (uint32_t t = 0; t < m->graph.n_tasks && places_of(m, task, p); t++) {
            bool waits = t != task && is_ready(m, t) && is_allowed(m, t);
            used += m->fact[t] == IS_TAKEN ? places_of(m, t, p) : 0;
            if (waits && places_of(m, t, p) && is_better(&m->graph, t, task))
                return false;
        }
        if (places_of(m, task, p) && used > m->definition.pools[p].limit)
            return false;
    }
    return true;
}

static uint32_t best_task(const struct model *m)
{
    uint32_t best = NODE_NONE;
    for (uint32_t t = 0; t < m->graph.n_tasks; t++)
        if (is_ready(m, t) && is_allowed(m, t) && has_place(m, t) &&
            (best == NODE_NONE || is_better(&m->graph, t, best)))
            best = t;
    return best;
}

/* ---- The comparison ---- */

static void compare_task(const struct model *m, uint32_t t)
{
    static const uint8_t states[] = {[IS_TAKEN] = TAKEN,
                                     [IS_HELD] = HELD,
                                     [IS_OFFERED] = OFFERED,
                                     [IS_ENDED] = ENDED};
    const char *id = m->graph.id[t];
    uint8_t state = m->sched.state[t], expected;
    if (m->fact[t] != NOTHING)
        expected = states[m->fact[t]];
    else if (m->derived[t])
        expected = ENDED;
    else if (!is_ready(m, t))
        expected = WAITING;
    else
        expected = !is_allowed(m, t) ? SHELVED : state == PARKED ? PARKED : READY;
    if (state != expected) /* ck_assert is slow even when it holds */
        ck_abort_msg("seed %llu: %s is in state %d, not %d",
                     (unsigned long long)m->first_seed, id, state, expected);
    uint8_t told = m->fact[t] == NOTHING ? m->derived[t] : 0;
    if (m->told[t] != told)
        ck_abort_msg("seed %llu: %s was told to be %s, not %s",
                     (unsigned long long)m->first_seed, id,
                     cairn_outcome_name(m->told[t]), cairn_outcome_name(told));
}

static void compare(struct model *m)
{
    uint32_t open = 0;
    derive(m);
    ck_assert_msg(sched_consistent(&m->sched), "seed %llu",
                  (unsigned long long)m->first_seed);
    for (uint32_t t = 0; t < m->graph.n_tasks; t++) {
        compare_task(m, t);
        open += m->sched.state[t] != ENDED;
    }
    for (uint32_t i = 0; i < m->graph.n_nodes; i++)
        if ((m->sched.state[i] == ENDED || is_barrier(m, i)) &&
            (m->sched.state[i] == ENDED ? m->sched.end[i] : END_OPEN) != end_of(m, i))
            ck_abort_msg("seed %llu: node %u ended as %d, not as %d",
                         (unsigned long long)m->first_seed, i, m->sched.end[i],
                         end_of(m, i));
    ck_assert_uint_eq(m->sched.open, open);
}

/* ---- Steps ---- */

static uint32_t any_with(struct model *m,
                         bool (*wanted)(const struct model *, uint32_t))
{
    uint32_t n = m->graph.n_tasks, start = help_below(&m->seed, n);
    for (uint32_t i = 0; i < n; i++)
        if (wanted(m, (start + i) % n))
            return (start + i) % n;
    return NODE_NONE;
}

static bool is_taken(const struct model *m, uint32_t t)
{
    return m->fact[t] == IS_TAKEN;
}

static bool is_held(const struct model *m, uint32_t t)
{
    return m->fact[t] == IS_HELD;
}

/* Something that can get an outcome. */
static bool can_end(const struct model *m, uint32_t t)
{
    return m->fact[t] == IS_TAKEN || m->fact[t] == IS_HELD ||
           m->fact[t] == IS_OFFERED ||
           (m->fact[t] == IS_ENDED && sched_class(m->outcome[t]) == END_OPEN);
}

static bool can_rerun(const struct model *m, uint32_t t)
{
    return m->fact[t] == IS_ENDED && sched_class(m->outcome[t]) == END_OPEN &&
           count_needs(m, t).open == 0 && !derive_task(m, t);
}

static bool can_be_taken(const struct model *m, uint32_t t)
{
    return m->sched.state[t] == READY;
}

static uint8_t random_outcome(struct model *m)
{
    static const uint8_t often[] = {CAIRN_COMPLETED, CAIRN_COMPLETED, CAIRN_COMPLETED,
                                    CAIRN_FAILED,    CAIRN_FAILED,    CAIRN_EXCLUDED,
                                    CAIRN_CANCELLED, CAIRN_UNKNOWN};
    return often[help_below(&m->seed, sizeof often)];
}

static void step_take(struct model *m)
{
    uint32_t best = best_task(m), task = sched_take(&m->sched);
    ck_assert_msg(task == best, "seed %llu: took %d, the best is %d",
                  (unsigned long long)m->first_seed, (int)task, (int)best);
    if (task != NODE_NONE)
        m->fact[task] = IS_TAKEN;
}

static void step_end(struct model *m)
{
    uint32_t t = any_with(m, can_end);
    if (t == NODE_NONE)
        return;
    m->outcome[t] = random_outcome(m);
    m->fact[t] = IS_ENDED;
    sched_end(&m->sched, t, m->outcome[t], note_skip, m);
}

static void take_this(struct sched *sched, uint32_t task)
{
    sched_take_tasks(sched, &task, 1);
}

/* One function of the scheduler on one task that it may be called for. */
static void step_other(struct model *m)
{
    static const struct {
        bool (*wanted)(const struct model *, uint32_t);
        void (*call)(struct sched *, uint32_t);
        uint8_t fact;
    } calls[] = {
        {is_taken, sched_hold, IS_HELD},   {is_held, sched_again, NOTHING},
        {is_taken, sched_return, NOTHING}, {is_taken, sched_offer, IS_OFFERED},
        {can_rerun, sched_rerun, NOTHING}, {can_be_taken, take_this, IS_TAKEN}};
    uint32_t which = help_below(&m->seed, sizeof calls / sizeof calls[0]);
    uint32_t t = any_with(m, calls[which].wanted);
    if (t == NODE_NONE)
        return;
    m->fact[t] = calls[which].fact;
    calls[which].call(&m->sched, t);
}

/* What waits for a retry that is not allowed any more has none. */
static void step_allow(struct model *m, uint8_t kinds)
{
    m->allowed = kinds;
    for (uint32_t t = 0; t < m->graph.n_tasks; t++)
        if (m->fact[t] == IS_HELD && !is_allowed(m, t))
            m->fact[t] = NOTHING;
    sched_allow(&m->sched, m->allowed);
}

static void step(struct model *m)
{
    uint32_t dice = help_below(&m->seed, 20);
    if (dice < 8)
        step_take(m);
    else if (dice < 15)
        step_end(m);
    else if (dice < 19)
        step_other(m);
    else
        step_allow(m, (uint8_t)help_below(&m->seed, 8));
    compare(m);
}

/* ---- Scenarios ---- */

/* Only its first tasks are there at first. */
static void cut_graph(struct model *m)
{
    struct graph shorter;
    uint32_t n = 1 + help_below(&m->seed, m->n_defs);
    m->definition.n_defs = n;
    if (graph_build(&shorter, &m->definition, NULL)) { /* they have no members */
        m->definition.n_defs = m->n_defs;
        return;
    }
    graph_release(&m->graph);
    m->graph = shorter;
}

static void grow(struct model *m)
{
    uint32_t from = m->definition.n_defs;
    m->definition.n_defs += 1 + help_below(&m->seed, m->n_defs - from);
    ck_assert_int_eq(graph_extend(&m->graph, from, NULL), 0);
    ck_assert_int_eq(sched_extend(&m->sched, m->outcome, note_skip, m, NULL), 0);
    compare(m);
}

static void begin(struct model *m, uint64_t seed)
{
    static const struct flow_taste taste = {
        .tasks = 14, .when = 3, .finally = 2, .external = 8};
    *m = (struct model){.seed = seed, .first_seed = seed};
    flow_build(&m->graph, &m->definition, &taste, &m->seed);
    m->fact = calloc(m->graph.n_tasks, 1);
    m->outcome = calloc(m->graph.n_tasks, 1);
    m->told = calloc(m->graph.n_tasks, 1);
    m->derived = calloc(m->graph.n_nodes, 1);
    m->allowed = SCHED_ORDINARY | SCHED_HANDLERS;
    m->n_defs = m->definition.n_defs;
    if (help_below(&m->seed, 2))
        cut_graph(m);
    bool before = help_below(&m->seed, 2);
    for (uint32_t t = 0; before && t < m->graph.n_tasks; t++) {
        if (help_below(&m->seed, 3))
            continue;
        m->outcome[t] = random_outcome(m);
        m->fact[t] = IS_ENDED;
    }
    ck_assert_int_eq(sched_init(&m->sched, &m->graph, m->outcome, note_skip, m, NULL),
                     0);
    compare(m);
}

static void end(struct model *m)
{
    sched_release(&m->sched);
    help_drop(&m->graph, &m->definition);
    free(m->fact);
    free(m->outcome);
    free(m->told);
    free(m->derived);
}

/* Everything is let run: nothing may be left that could. */
static void run_out(struct model *m)
{
    step_allow(m, SCHED_ORDINARY | SCHED_HANDLERS | SCHED_FINALLY);
    compare(m);
    for (;;) {
        uint32_t t = any_with(m, can_end);
        if (t == NODE_NONE) {
            step_take(m);
            compare(m);
            t = any_with(m, can_end);
        }
        if (t == NODE_NONE)
            break;
        m->outcome[t] = help_below(&m->seed, 4) ? CAIRN_COMPLETED : CAIRN_FAILED;
        m->fact[t] = IS_ENDED;
        sched_end(&m->sched, t, m->outcome[t], note_skip, m);
        compare(m);
    }
    ck_assert_msg(m->sched.open == 0, "seed %llu: %u are left",
                  (unsigned long long)m->first_seed, m->sched.open);
}

static uint64_t play(uint64_t seed)
{
    struct model m;
    begin(&m, seed);
    for (uint32_t steps = help_below(&m.seed, STEPS); steps > 0; steps--)
        if (m.definition.n_defs < m.n_defs && help_below(&m.seed, 8) == 0)
            grow(&m);
        else
            step(&m);
    while (m.definition.n_defs < m.n_defs)
        grow(&m);
    run_out(&m);
    end(&m);
    return m.order;
}

START_TEST(test_scenarios)
{
    uint64_t seed = 20260301 + (uint64_t)_i;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < SCENARIOS / 2; i++) {
        uint64_t one = help_next(&seed), order = play(one);
        if (i % 10 == 0) /* the order of skips is always the same */
            ck_assert_uint_eq(play(one), order);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched_model");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, test_scenarios, 0, 2);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
