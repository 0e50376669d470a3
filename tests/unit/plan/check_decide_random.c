/* SPDX-License-Identifier: MIT */
/* What runs, in random workflows with random records: against an oracle that asks its
 * way through by recursion, and against what really happens when the scheduler runs
 * what was decided: all that will, if nothing goes wrong, and never anything that was
 * not to. */
#include "plan/sched.h"

#include "tests/support/decide.h"
#include "tests/support/flow.h"

static uint64_t round_seed; /* for messages, and all luck that has no other place */

/* ---- Conditions ---- */

static uint64_t luck_of(uint32_t task, uint32_t what)
{
    uint64_t seed = round_seed ^ ((uint64_t)task << 32 | what);
    return help_next(&seed);
}

/* The first task that it needs decides, or nothing does. */
static uint32_t asked_of(const struct graph *g, uint32_t task)
{
    uint32_t at = g->need_start[task];
    uint32_t need = at == g->need_start[task + 1] ? NODE_NONE : g->needs[at];
    return need == NODE_NONE || graph_is_barrier(g, need) ? NODE_NONE : need;
}

static bool holds(uint32_t task, uint8_t outcome)
{
    return luck_of(task, 1000 + outcome) % 4 != 0;
}

static enum condition ask(void *context, uint32_t task, const uint16_t *fate)
{
    uint32_t need = asked_of(&graph, task);
    (void)context;
    if (graph_def(&graph, task)->finally)
        return CONDITION_OPEN; /* it can ask how the run ended */
    if (need == NODE_NONE)
        return holds(task, 0) ? CONDITION_YES : CONDITION_NO;
    if (fate[need] & FATE_UNSETTLED)
        return CONDITION_OPEN;
    return holds(task, fate[need] & (uint8_t)~FATE_TURNED) ? CONDITION_YES
                                                           : CONDITION_NO;
}

/* ---- The oracle ---- */

/* What is to become of a task, in the words of the documentation. */
enum verdict { UNASKED, STAYS_DONE, STAYS_FAILED, STAYS_OUT, WAITS, MAY_RUN, WILL_RUN };

struct oracle {
    uint8_t *verdict; /* [n_tasks] */
    bool *risk;
    bool *waits;    /* cannot end before somebody decides, or does, something */
    bool *turned;   /* does not run, though it had ended otherwise */
    bool *excluded; /* does not run because of its own condition */
};

static uint8_t consult(struct oracle *o, uint32_t task);

struct needs_seen {
    bool done, failed, out, waits, may, will, risk, turned;
    bool excluded, left; /* of a group: some are, some are not */
};

static void see(struct oracle *o, uint32_t task, struct needs_seen *seen)
{
    uint8_t v = consult(o, task);
    seen->done |= v == STAYS_DONE;
    seen->failed |= v == STAYS_FAILED;
    seen->out |= v == STAYS_OUT && !o->excluded[task];
    seen->excluded |= o->excluded[task];
    seen->left |= !o->excluded[task];
    seen->waits |= o->waits[task];
    seen->may |= v == MAY_RUN;
    seen->will |= v == WILL_RUN;
    seen->risk |= o->risk[task];
    seen->turned |= o->turned[task];
}

/* Of a group those that are excluded are left out, unless nobody is left or the task
 * wants all of it. */
static void see_group(struct oracle *o, uint32_t barrier, bool all,
                      struct needs_seen *seen)
{
    seen->excluded = seen->left = false;
    for (uint32_t f = graph.need_start[barrier]; f < graph.need_start[barrier + 1]; f++)
        see(o, graph.needs[f], seen);
    seen->out |= seen->excluded && (all || !seen->left);
}

/* Everything that a task needs, members of groups one by one. */
static struct needs_seen see_needs(struct oracle *o, uint32_t task)
{
    struct needs_seen seen = {0};
    const struct graph *g = &graph;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        if (graph_is_barrier(g, need)) {
            see_group(o, need, graph_def(g, task)->needs_all, &seen);
            continue;
        }
        see(o, need, &seen);
        seen.out |= o->excluded[need];
    }
    return seen;
}

static bool wants_failure_of(uint32_t task, uint32_t failed)
{
    if (graph_def(&graph, task)->when != WHEN_FAILED)
        return false;
    for (uint32_t e = graph.need_start[task]; e < graph.need_start[task + 1]; e++)
        if (flow_edge_has(&graph, e, failed))
            return true;
    return false;
}

static bool handled(const uint8_t *outcome, uint32_t task)
{
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        if (outcome[t] == CAIRN_COMPLETED && wants_failure_of(t, task))
            return true;
    return false;
}

static bool others_run(struct oracle *o)
{
    bool any = false;
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        any |= !graph_def(&graph, t)->finally && consult(o, t) >= MAY_RUN;
    return any;
}

static bool others_turn(struct oracle *o)
{
    bool any = false;
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        if (!graph_def(&graph, t)->finally) {
            consult(o, t);
            any |= o->turned[t];
        }
    return any;
}

static bool others_wait(struct oracle *o)
{
    bool any = false;
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        if (!graph_def(&graph, t)->finally) {
            consult(o, t);
            any |= o->waits[t];
        }
    return any;
}

/* One of `finally` that has begun waits for all of them, as if it needed them. */
static void see_others(struct oracle *o, uint32_t task, struct needs_seen *needs)
{
    bool begun =
        states.outcome[task] == CAIRN_COMPLETED || marks[task] & MARK_OUTLIVED ||
        (states.outcome[task] == CAIRN_FAILED && handled(states.outcome, task));
    bool sure = false;
    if (!graph_def(&graph, task)->finally || !begun)
        return;
    if (!others_run(o)) {
        needs->turned |= others_turn(o);
        return;
    }
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        sure |= !graph_def(&graph, t)->finally && consult(o, t) == WILL_RUN;
    needs->will |= sure;
    needs->may |= !sure;
}

/* Does what is recorded still hold? */
static uint8_t stands(struct oracle *o, uint32_t task, const struct needs_seen *needs)
{
    const struct task_def *def = graph_def(&graph, task);
    bool moving = needs->waits || needs->may || needs->will || needs->turned;
    bool after = def->finally && (others_run(o) || others_turn(o));
    switch (states.outcome[task]) {
    case CAIRN_COMPLETED:
        return marks[task] & MARK_UNDOING || evidence[task] != EVIDENCE_GOOD ||
                       moving || after
                   ? UNASKED
                   : STAYS_DONE;
    case CAIRN_FAILED:
        return !moving && evidence[task] == EVIDENCE_GOOD &&
                       (handled(states.outcome, task) || marks[task] & MARK_REPORTED)
                   ? STAYS_FAILED
                   : UNASKED;
    case CAIRN_SKIPPED:
    case CAIRN_EXCLUDED:
        return def->finally && !moving && !after ? STAYS_OUT : UNASKED;
    default:
        return UNASKED;
    }
}

/* It waited to be asked about, which it does until it can start. */
static bool waited_to_be_asked(uint32_t task)
{
    return states.outcome[task] == CAIRN_PENDING && states.attempts[task];
}

static bool was_skipped(uint32_t task)
{
    return states.outcome[task] == CAIRN_SKIPPED ||
           states.outcome[task] == CAIRN_EXCLUDED || waited_to_be_asked(task);
}

/* One that was skipped since it ran last is unknown only if it would run now. */
static bool is_unknown_again(uint32_t task)
{
    return graph_def(&graph, task)->once &&
           marks[task] & (MARK_INTERRUPTED | MARK_DAMAGED | MARK_UNDOING);
}

static bool is_unknown(uint32_t task, const struct needs_seen *needs)
{
    bool moving = needs->waits || needs->may || needs->will || needs->turned;
    if (was_skipped(task))
        return false;
    if (states.outcome[task] == CAIRN_UNKNOWN)
        return true;
    if (!graph_def(&graph, task)->once)
        return false;
    /* It may have gone on under its keeper, for what is not true any more. */
    return marks[task] & (MARK_INTERRUPTED | MARK_DAMAGED | MARK_UNDOING) ||
           (marks[task] & MARK_OUTLIVED && moving);
}

static uint16_t fate_of(uint8_t verdict)
{
    static const uint16_t fates[] = {
        [STAYS_DONE] = FATE_COMPLETED, [STAYS_FAILED] = FATE_FAILED,
        [STAYS_OUT] = FATE_BAD,        [WAITS] = FATE_OPEN,
        [MAY_RUN] = FATE_MAY,          [WILL_RUN] = FATE_WILL};
    return fates[verdict];
}

/* -1 no, 0 nobody knows yet, 1 yes. */
static int condition_says(struct oracle *o, uint32_t task)
{
    uint32_t need = asked_of(&graph, task);
    if (!graph_def(&graph, task)->condition.len)
        return 1;
    if (graph_def(&graph, task)->finally)
        return 0;
    if (need == NODE_NONE)
        return holds(task, 0) ? 1 : -1;
    uint8_t v = consult(o, need);
    if (v >= WAITS || o->waits[need])
        return 0;
    return holds(task, (uint8_t)fate_of(v)) ? 1 : -1;
}

static int needs_say(uint8_t when, const struct needs_seen *n)
{
    bool moving = n->waits || n->may || n->will;
    if (when == WHEN_SUCCESS)
        return n->failed || n->out ? -1 : n->waits || n->may || n->risk ? 0 : 1;
    if (when == WHEN_FAILED)
        return n->failed ? (n->waits ? 0 : 1) : moving ? 0 : -1;
    return n->waits ? 0 : 1;
}

/* It does not run now: is it recorded in another way, or does it come after something
 * that ends anew? */
static bool turns(uint32_t task, const struct needs_seen *needs)
{
    return needs->waits || needs->may || needs->will || needs->turned ||
           !was_skipped(task) || waited_to_be_asked(task);
}

static uint8_t consult(struct oracle *o, uint32_t task)
{
    if (o->verdict[task])
        return o->verdict[task];
    struct needs_seen needs = see_needs(o, task);
    uint8_t *v = &o->verdict[task];
    see_others(o, task, &needs);
    if (is_unknown(task, &needs)) {
        o->waits[task] = true;
        return *v = WAITS;
    }
    *v = stands(o, task, &needs);
    if (*v == STAYS_OUT)
        o->excluded[task] = states.outcome[task] == CAIRN_EXCLUDED;
    if (*v)
        return *v;
    const struct task_def *def = graph_def(&graph, task);
    int go = needs_say(def->when, &needs), holds_now = condition_says(o, task);
    o->waits[task] = needs.waits;
    if (go < 0 || holds_now < 0) {
        o->turned[task] = turns(task, &needs);
        o->excluded[task] = go >= 0 || def->when != WHEN_SUCCESS;
        return *v = STAYS_OUT;
    }
    o->waits[task] |= def->kind == TASK_EXTERNAL;
    bool sure = go && holds_now && def->kind != TASK_EXTERNAL;
    *v = sure && !(def->finally && others_wait(o)) ? WILL_RUN : MAY_RUN;
    bool moving = needs.waits || needs.may || needs.will || needs.turned;
    if (was_skipped(task) && is_unknown_again(task)) {
        o->waits[task] = true;
        return *v = *v == WILL_RUN && !moving ? WAITS : MAY_RUN;
    }
    /* It has done its work, and what it needs is another: somebody is asked. */
    if (states.outcome[task] == CAIRN_COMPLETED && def->once && !def->finally &&
        moving && !(marks[task] & MARK_UNDOING)) {
        o->waits[task] = true;
        return *v = MAY_RUN;
    }
    /* What it reads may be made anew, and be as it was after all. */
    o->risk[task] = states.outcome[task] == CAIRN_FAILED &&
                    (evidence[task] == EVIDENCE_GOOD || moving);
    return *v;
}

static void compare_with_oracle(void)
{
    struct oracle o = {calloc(graph.n_tasks, 1), calloc(graph.n_tasks, sizeof(bool)),
                       calloc(graph.n_tasks, sizeof(bool)),
                       calloc(graph.n_tasks, sizeof(bool)),
                       calloc(graph.n_tasks, sizeof(bool))};
    uint32_t will = 0, may = 0;
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        uint8_t v = consult(&o, t);
        uint16_t expected =
            (uint16_t)(fate_of(v) | (o.risk[t] ? FATE_RISK : 0) |
                       (o.waits[t] ? FATE_OPEN : 0) | (o.turned[t] ? FATE_TURNED : 0) |
                       (o.excluded[t] ? FATE_EXCLUDED : 0));
        if (decisions.fate[t] != expected)
            ck_abort_msg("seed %llu: %s (recorded %s) has fate %d (%s), not %d",
                         (unsigned long long)round_seed, graph.id[t],
                         cairn_outcome_name(states.outcome[t]), decisions.fate[t],
                         cairn_reason_name(decisions.reason[t]), expected);
        will += v == WILL_RUN;
        may += v == MAY_RUN;
        /* What keeps its outcome is not reset, and the other way round. */
        bool kept = v == STAYS_DONE || v == STAYS_FAILED;
        if (kept ? decisions.reset[t] : v >= MAY_RUN && !decisions.reset[t])
            ck_abort_msg("seed %llu: reset of %s is %d", (unsigned long long)round_seed,
                         graph.id[t], decisions.reset[t]);
    }
    ck_assert_uint_eq(decisions.will, will);
    ck_assert_uint_eq(decisions.may, may);
    free(o.verdict);
    free(o.risk);
    free(o.waits);
    free(o.turned);
    free(o.excluded);
}

/* ---- What really happens ---- */

/* Who fails: nobody; some of those that failed last time; anybody. */
enum luck { GOOD_LUCK, KNOWN_LUCK, BAD_LUCK };

struct play {
    struct sched sched;
    uint8_t *outcome; /* [n_tasks] */
    bool *ran;        /* [n_tasks] an attempt was started, or somebody was asked */
    enum luck luck;
    bool away; /* nobody does what is external */
    uint64_t seed;
};

static void note_skip(void *context, uint32_t task, enum cairn_outcome outcome)
{
    struct play *p = context;
    p->outcome[task] = (uint8_t)outcome;
}

/* What the run begins with: as the engine does. */
static void play_begin(struct play *p, uint64_t seed, enum luck luck)
{
    *p = (struct play){.seed = seed, .luck = luck};
    p->outcome = calloc(graph.n_tasks, 1);
    p->ran = calloc(graph.n_tasks, sizeof *p->ran);
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        if (decisions.reason[t] == CAIRN_REASON_UNKNOWN)
            p->outcome[t] = CAIRN_UNKNOWN;
        else if (!decisions.reset[t])
            p->outcome[t] = states.outcome[t];
    ck_assert_int_eq(sched_init(&p->sched, &graph, p->outcome, note_skip, p, NULL), 0);
}

static uint8_t fate_now(const struct play *p, uint32_t task)
{
    enum sched_end_class end = sched_class(p->outcome[task]);
    return end == END_MET ? FATE_COMPLETED : end == END_FAILED ? FATE_FAILED : FATE_BAD;
}

static uint8_t outcome_of(struct play *p, uint32_t task)
{
    const struct task_def *def = graph_def(&graph, task);
    uint32_t need = asked_of(&graph, task);
    bool yes = def->finally        ? help_below(&p->seed, 2)
               : need == NODE_NONE ? holds(task, 0)
                                   : holds(task, fate_now(p, need));
    if (def->condition.len && !yes)
        return CAIRN_EXCLUDED;
    p->ran[task] = true;
    bool risky = p->luck == BAD_LUCK ||
                 (p->luck == KNOWN_LUCK && decisions.fate[task] & FATE_RISK);
    return risky && help_below(&p->seed, 3) == 0 ? CAIRN_FAILED : CAIRN_COMPLETED;
}

/* A failure that nobody took care of, or will. */
static bool must_stop(const struct play *p)
{
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        bool open = p->outcome[t] != CAIRN_FAILED || graph_def(&graph, t)->finally;
        for (uint32_t u = 0; !open && u < graph.n_tasks; u++)
            open = wants_failure_of(u, t) &&
                   (p->outcome[u] == CAIRN_COMPLETED || p->sched.state[u] != ENDED);
        if (!open)
            return true;
    }
    return false;
}

static uint32_t next_task(struct play *p)
{
    if (definition.on_failure != ON_FAILURE_CONTINUE &&
        p->sched.allowed & SCHED_ORDINARY && must_stop(p))
        sched_allow(&p->sched, SCHED_HANDLERS);
    return sched_take(&p->sched);
}

static void play_phase(struct play *p, uint8_t kinds)
{
    uint32_t task;
    sched_allow(&p->sched, kinds);
    while ((task = next_task(p)) != NODE_NONE) {
        uint8_t outcome = outcome_of(p, task);
        if (p->ran[task] && p->away && graph_def(&graph, task)->kind == TASK_EXTERNAL) {
            sched_offer(&p->sched, task);
            continue;
        }
        p->outcome[task] = outcome;
        sched_end(&p->sched, task, outcome, note_skip, p);
    }
}

/* What is taken over runs before anything is started. */
static void play_adopted(struct play *p)
{
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        if (decisions.reason[t] != CAIRN_REASON_ADOPTED ||
            !(decisions.fate[t] & FATE_WILL))
            continue;
        ck_assert_int_eq(p->sched.state[t], READY);
        sched_take_tasks(&p->sched, &t, 1);
        p->ran[t] = true;
        p->outcome[t] = CAIRN_COMPLETED;
        sched_end(&p->sched, t, CAIRN_COMPLETED, note_skip, p);
    }
}

static void play_end(struct play *p)
{
    sched_release(&p->sched);
    free(p->outcome);
    free(p->ran);
}

static void expect_between(const struct play *p)
{
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        bool will = decisions.fate[t] & FATE_WILL, may = decisions.fate[t] & FATE_MAY;
        if (p->ran[t] && !will && !may)
            ck_abort_msg("seed %llu: %s has run, though it was not to (%s)",
                         (unsigned long long)round_seed, graph.id[t],
                         cairn_reason_name(decisions.reason[t]));
        if (will && p->luck != BAD_LUCK && !p->ran[t])
            ck_abort_msg("seed %llu: %s has not run, though it was to (%s): %s",
                         (unsigned long long)round_seed, graph.id[t],
                         cairn_reason_name(decisions.reason[t]),
                         cairn_outcome_name(p->outcome[t]));
    }
}

/* Nothing waits any more, and no failure is left that nobody took care of. */
static bool is_complete(const struct play *p)
{
    bool complete = true;
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        complete &= sched_class(p->outcome[t]) != END_OPEN;
        complete &= p->outcome[t] != CAIRN_FAILED || handled(p->outcome, t);
    }
    return complete;
}

/* After a run that completed there is nothing to do. */
static void expect_rest(const struct play *p)
{
    memcpy(states.outcome, p->outcome, graph.n_tasks);
    memset(marks, 0, graph.n_tasks);
    memset(evidence, EVIDENCE_GOOD, graph.n_tasks);
    judge(CAIRN_RERUN);
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        if (decisions.reset[t] || decisions.fate[t] & FATE_UNSETTLED)
            ck_abort_msg("seed %llu: %s, which is %s, does not stay so: %s",
                         (unsigned long long)round_seed, graph.id[t],
                         cairn_outcome_name(states.outcome[t]),
                         cairn_reason_name(decisions.reason[t]));
    ck_assert_uint_eq(decisions.will + decisions.may, 0);
}

static bool play_once(uint64_t seed, enum luck luck)
{
    struct play p;
    play_begin(&p, seed, luck);
    p.away = help_below(&p.seed, 2);
    play_adopted(&p);
    play_phase(&p, SCHED_ORDINARY | SCHED_HANDLERS);
    bool waits = p.sched.offered > 0; /* then it does not come to `finally` */
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        waits |= p.outcome[t] == CAIRN_UNKNOWN && !graph_def(&graph, t)->finally;
    if (!waits)
        play_phase(&p, SCHED_FINALLY);
    expect_between(&p);
    bool complete = is_complete(&p);
    if (complete)
        expect_rest(&p);
    play_end(&p);
    return complete;
}

/* ---- Random records ---- */

static uint8_t random_outcome(uint64_t *seed)
{
    static const uint8_t some[] = {CAIRN_PENDING, CAIRN_FAILED,    CAIRN_FAILED,
                                   CAIRN_SKIPPED, CAIRN_CANCELLED, CAIRN_UNDONE,
                                   CAIRN_UNKNOWN, CAIRN_EXCLUDED};
    return help_below(seed, 3) ? CAIRN_COMPLETED : some[help_below(seed, sizeof some)];
}

static void random_record(uint64_t *seed)
{
    static const uint8_t some[] = {MARK_INTERRUPTED, MARK_DAMAGED,  MARK_RESET,
                                   MARK_UNDOING,     MARK_OUTLIVED, MARK_REPORTED};
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        states.outcome[t] = random_outcome(seed);
        bool once = graph_def(&graph, t)->once;
        if (states.outcome[t] == CAIRN_UNKNOWN && !once)
            states.outcome[t] = CAIRN_PENDING;
        if (help_below(seed, 10) == 0)
            marks[t] = some[help_below(seed, sizeof some)];
        if (help_below(seed, 20) == 0)
            evidence[t] = (uint8_t)(1 + help_below(seed, SECRET_DIFFERS));
        if (once && states.outcome[t] == CAIRN_PENDING && help_below(seed, 2)) {
            states.attempts[t] = 1;
            marks[t] = MARK_DAMAGED;
        }
    }
}

static void random_round(uint64_t *seed, enum on_failure on_failure)
{
    static const struct flow_taste taste = {.tasks = 12,
                                            .when = 3,
                                            .condition = 4,
                                            .finally = 2,
                                            .external = 12,
                                            .once = 6};
    round_seed = *seed;
    uint64_t again = *seed;
    flow_build(&graph, &definition, &taste, seed);
    flow_build(&old, &old_definition, &taste, &again);
    definition.on_failure = old_definition.on_failure = (uint8_t)on_failure;
    begin_nothing();
    random_record(seed);
    condition = ask;
    judge(CAIRN_RERUN);
}

START_TEST(test_oracle)
{
    uint64_t seed = 20260311;
    int n = help_in_full() ? 10000 : 1500;
    uint32_t fates[512] = {0}, reasons[CAIRN_REASON_LAST + 1] = {0};
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < n; i++) {
        random_round(&seed, ON_FAILURE_CONTINUE);
        compare_with_oracle();
        for (uint32_t t = 0; t < graph.n_tasks; t++) {
            fates[decisions.fate[t]]++;
            reasons[decisions.reason[t]]++;
        }
        end();
    }
    /* Worth something only if all of it happens. */
    for (int reason = 0; reason <= CAIRN_REASON_LAST; reason++)
        if (reason != CAIRN_REASON_CHANGED && reason != CAIRN_REASON_KEPT &&
            reason != CAIRN_REASON_ASKED && reason != CAIRN_REASON_NOT_CHOSEN &&
            reason != CAIRN_REASON_REUSED && reason != CAIRN_REASON_SERVICE)
            ck_assert_msg(reasons[reason] > 5, "%s: %u",
                          cairn_reason_name((enum cairn_reason)reason),
                          reasons[reason]);
    for (uint32_t fate = FATE_WILL; fate <= FATE_OPEN; fate <<= 1)
        ck_assert(fate == FATE_RISK || fates[fate] > 20);
    ck_assert_uint_gt(fates[FATE_BAD | FATE_EXCLUDED], 20);
    ck_assert_uint_gt(fates[FATE_WILL | FATE_RISK], 20);
    ck_assert_uint_gt(fates[FATE_MAY | FATE_RISK], 20);
}
END_TEST

START_TEST(test_what_really_happens)
{
    uint64_t seed = 20260312 + (uint64_t)_i;
    int n = help_in_full() ? 10000 : 1500;
    uint32_t complete = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < n; i++) {
        random_round(&seed, _i < 3 ? ON_FAILURE_CONTINUE : ON_FAILURE_STOP);
        complete += play_once(help_next(&seed), (enum luck)(_i % 3));
        end();
    }
    ck_assert_uint_gt(complete, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_random");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_oracle);
    tcase_add_loop_test(c, test_what_really_happens, 0, 6);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
