/* SPDX-License-Identifier: MIT */
#include "tests/sim/scene.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum { MAX_JOBS = 9, SLOWEST_START_MS = 2 };

static const struct task_def *def_of(const struct scene *s, uint32_t task)
{
    return graph_def(&s->world.graph, task);
}

/* Not ck_assert, which writes to a pipe each time. */
static void expect(const struct scene *s, bool condition, const char *what,
                   uint32_t task)
{
    if (!condition)
        ck_abort_msg("seed %llu: %s: %s", (unsigned long long)s->seed,
                     s->world.graph.id[task], what);
}

/* Calls visit for everything that a task needs, members of groups one by one. */
static void each_need(struct scene *s, uint32_t task,
                      void (*visit)(struct scene *, uint32_t task, uint32_t need))
{
    const struct graph *g = &s->world.graph;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        if (!graph_is_barrier(g, need)) {
            visit(s, task, need);
            continue;
        }
        for (uint32_t f = g->need_start[need]; f < g->need_start[need + 1]; f++)
            visit(s, task, g->needs[f]);
    }
}

/* ---- What attempts do ---- */

static struct fake_task failing_task(const struct scene *s, uint32_t task,
                                     uint64_t luck)
{
    bool limited = def_of(s, task)->timeout_ms;
    switch (luck % (limited ? 5 : 4)) {
    case 0:
        return (struct fake_task){.signal = SIGSEGV};
    case 1:
        return (struct fake_task){.start_error = ENOENT, .exit_code = 127};
    case 2:
        return (struct fake_task){.start_error = EAGAIN, .exit_code = -1};
    case 3:
        return (struct fake_task){.exit_code = 1 + (int)((luck >> 8) % 255)};
    default:
        return (struct fake_task){.run_ns = FAKE_FOREVER};
    }
}

static struct fake_task script(void *context, const struct spawn_request *request)
{
    struct scene *s = context;
    const struct job *job = request->context;
    uint32_t task = job->intent.task, attempt = job->intent.attempt;
    uint64_t luck = mix(&s->world, task, attempt + 100 * (1 + (uint32_t)job->role));
    struct fake_task does = {0};
    if (job->role == ROLE_TASK &&
        attempt_outcome(&s->world, task, attempt) == CAIRN_FAILED)
        does = failing_task(s, task, luck);
    if (!does.run_ns)
        does.run_ns = attempt_duration(&s->world, task, attempt) * MS;
    does.term_ns = luck & 1 << 20 ? FAKE_FOREVER : (int64_t)(luck >> 40) % 3000 * MS;
    return does;
}

/* ---- What must be true when a task starts ---- */

/* What is skipped before the first turn is not reported; it never starts. */
static void expect_need_is_settled(struct scene *s, uint32_t task, uint32_t need)
{
    enum cairn_outcome outcome = s->seen[need].outcome;
    s->seen[need].user_started = true;
    expect(s, outcome != CAIRN_PENDING || !s->seen[need].attempts,
           "started before what it needs was reported", task);
    expect(s, def_of(s, task)->when != WHEN_SUCCESS || outcome == CAIRN_COMPLETED,
           "started though what it needs did not complete", task);
    expect(s, !s->seen[need].alive, "started while what it needs is alive", task);
}

static void expect_delay(struct scene *s, uint32_t task)
{
    const struct retry_policy *retry = &def_of(s, task)->retry;
    int64_t delay_ns = retry->delay_ms * MS;
    uint32_t failures = s->seen[task].attempts;
    for (uint32_t i = 1; i < failures; i++)
        delay_ns = delay_ns / 1000 * retry->factor_permille;
    expect(s, !failures || s->fake.now_ns >= s->seen[task].ended_ns + delay_ns,
           "tried again before its delay", task);
}

/* Of the jobs: all, if it wants more. */
static uint32_t slots_of(const struct scene *s, uint32_t task)
{
    uint32_t slots = task_def_slots(def_of(s, task));
    return slots < s->jobs ? slots : s->jobs;
}

static void expect_room(struct scene *s, uint32_t task)
{
    const struct task_def *def = def_of(s, task);
    s->alive += slots_of(s, task);
    expect(s, s->alive <= s->jobs, "started beyond the limit of jobs", task);
    for (uint32_t i = 0; i < def->n_pools; i++) {
        uint32_t *alive = &s->pool_alive[def->pools[i].pool];
        *alive += def->pools[i].places;
        expect(s, *alive <= s->world.definition.pools[def->pools[i].pool].limit,
               "started beyond the limit of its pool", task);
    }
}

/* What the spawner had begun may still come. */
static bool is_before(const struct scene *s, int64_t ns)
{
    return !ns || s->fake.now_ns <= ns + SLOWEST_START_MS * MS;
}

static void task_starts(struct scene *s, uint32_t task, uint32_t attempt)
{
    struct seen_task *seen = &s->seen[task];
    s->late |= def_of(s, task)->finally;
    expect(s, !seen->alive, "started while it is alive", task);
    expect(s, !seen->user_started, "started after what needs it", task);
    expect(s, seen->outcome == CAIRN_PENDING, "started after its end", task);
    expect(s, attempt > seen->number, "started under an old number", task);
    expect(s, seen->attempts <= def_of(s, task)->retry.max, "tried too often", task);
    seen->number = attempt;
    expect(s, s->late || is_before(s, s->stop_ns), "started after a stop", task);
    expect(s, is_before(s, s->kill_ns), "started after a second wish to stop", task);
    expect(s,
           s->late || s->world.definition.on_failure == ON_FAILURE_CONTINUE ||
               def_of(s, task)->when != WHEN_SUCCESS || is_before(s, s->failed_ns),
           "started after a failure", task);
    expect_delay(s, task);
    each_need(s, task, expect_need_is_settled);
}

static void expect_need_is_done(struct scene *s, uint32_t task, uint32_t need)
{
    expect(s, !s->seen[need].undone, "undone after what it needs", task);
}

static void undo_starts(struct scene *s, uint32_t task)
{
    s->late = true;
    expect(s, s->seen[task].attempts, "undone, but never done", task);
    expect(s, !s->seen[task].undone, "undone twice", task);
    each_need(s, task, expect_need_is_done);
    s->seen[task].undone = true;
}

static bool has_handler(const struct scene *s, uint32_t failed)
{
    for (uint32_t i = 0; i < s->world.definition.n_defs; i++) {
        const struct task_def *def = &s->world.definition.defs[i];
        for (uint32_t n = 0; n < def->n_needs && def->when == WHEN_FAILED; n++)
            if (def->needs[n].target == s->world.graph.def_of[failed])
                return true;
    }
    return false;
}

/* So that the run stops, if its policy says so. */
static bool fails_for_good(const struct scene *s, const struct job *job)
{
    uint32_t task = job->intent.task;
    return job->role == ROLE_TASK && !def_of(s, task)->finally &&
           s->seen[task].attempts > def_of(s, task)->retry.max &&
           attempt_outcome(&s->world, task, job->intent.attempt) == CAIRN_FAILED &&
           !has_handler(s, task);
}

static void job_ends(struct scene *s, const struct job *job, bool started)
{
    uint32_t task = job->intent.task;
    const struct task_def *def = def_of(s, task);
    s->seen[task].attempts += job->role == ROLE_TASK && !started;
    s->seen[task].alive = false;
    s->seen[task].ended_ns = s->last_end_ns = s->fake.now_ns;
    if (!s->failed_ns && fails_for_good(s, job))
        s->failed_ns = s->fake.now_ns;
    if (!started)
        return;
    s->alive -= slots_of(s, task);
    for (uint32_t i = 0; i < def->n_pools; i++)
        s->pool_alive[def->pools[i].pool] -= def->pools[i].places;
}

static void watch(void *context, enum fake_event event,
                  const struct spawn_request *request)
{
    struct scene *s = context;
    const struct job *job = request->context;
    uint32_t task = job->intent.task;
    if (event == FAKE_ENDED || event == FAKE_NOT_STARTED) {
        job_ends(s, job, event == FAKE_ENDED);
        if (s->dies_at_end && --s->dies_at_end == 0)
            _exit(0);
    } else if (event == FAKE_STARTED) {
        if (job->role == ROLE_TASK)
            task_starts(s, task, job->intent.attempt);
        else
            undo_starts(s, task);
        expect_room(s, task);
        s->seen[task].attempts += job->role == ROLE_TASK;
        s->seen[task].alive = true;
    }
}

static void observe(void *context, const struct cairn_event *event)
{
    struct scene *s = context;
    if (event->kind != CAIRN_EVENT_TASK_FINISHED)
        return;
    expect(s, s->seen[event->node].outcome == CAIRN_PENDING, "ended twice",
           event->node);
    s->seen[event->node].outcome = event->outcome;
    if (event->outcome == CAIRN_COMPLETED && !s->seen[event->node].attempts)
        s->adopted++;
}

/* ---- Making a scene ---- */

static void wish_to_stop(void *context)
{
    struct scene *s = context;
    cairn_stop_request(s->stop);
    if (!s->stop_ns) {
        s->stop_ns = s->fake.now_ns;
        s->fake.act_ns = s->next_act_ns;
    } else
        s->kill_ns = s->fake.now_ns;
}

static void shape_task(struct scene *s, struct task_def *def, uint64_t *seed)
{
    static struct str argv[] = {{"task", 4}}, shell[] = {{"sh", 2}, {"-c", 2}};
    def->kind = TASK_EXEC;
    def->argv = argv;
    def->n_argv = 1;
    def->side_shell = shell;
    def->n_side_shell = 2;
    def->grace_ms = 1 + help_below(seed, 2000);
    def->timeout_ms = help_below(seed, 2) ? 1000 + help_below(seed, 100000) : 0;
    def->retry.delay_ms = help_below(seed, 3) * 3600 * INT64_C(1000);
    def->retry.factor_permille = 1000 + 500 * help_below(seed, 3);
    if (help_below(seed, 3) && !def->finally)
        def->undo = STR("undo");
    (void)s;
}

static void choose_stops(struct scene *s, uint64_t *seed)
{
    int64_t first_ns = s->fake.now_ns;
    if (help_below(seed, 4) == 0)
        s->world.definition.deadline_ms = 1 + help_below(seed, 4000);
    if (help_below(seed, 3))
        return;
    s->fake.act_ns = first_ns + (int64_t)help_below(seed, 4000) * MS;
    s->next_act_ns =
        help_below(seed, 2) ? s->fake.act_ns + help_below(seed, 1000) * MS : 0;
}

void scene_make(struct scene *s, uint64_t seed, bool whole)
{
    static const struct flow_taste taste = {
        .tasks = 20, .when = 5, .finally = 3, .retry = 3};
    struct definition *d = &s->world.definition;
    memset(s, 0, sizeof *s);
    s->seed = seed;
    world_make_of(&s->world, &taste, help_next(&seed));
    s->world.cancelling = 0;
    fake_runner_init(&s->fake, help_next(&seed));
    s->fake.script = script;
    s->fake.watch = watch;
    s->fake.act = wish_to_stop;
    s->fake.context = s;
    s->jobs = 1 + help_below(&seed, MAX_JOBS);
    d->file = d->root = STR("");
    d->deadline_ms = 0;
    for (uint32_t i = 0; i < d->n_defs; i++)
        shape_task(s, &d->defs[i], &seed);
    d->on_failure = ON_FAILURE_CONTINUE;
    if (!whole) {
        d->on_failure = (uint8_t)help_below(&seed, 3);
        d->undo_scope = (uint8_t)help_below(&seed, 3);
        choose_stops(s, &seed);
    }
    s->workflow = workflow_make();
    ck_assert_ptr_nonnull(s->workflow);
    s->workflow->definition = *d;
    s->seen = calloc(s->world.graph.n_tasks, sizeof *s->seen);
    ck_assert_int_eq(cairn_stop_new(&s->stop, NULL), 0);
}

void scene_release(struct scene *s)
{
    graph_release(&s->world.graph); /* the workflow has the definition */
    cairn_workflow_free(s->workflow);
    cairn_stop_free(s->stop);
    fake_runner_release(&s->fake);
    free(s->seen);
}

struct cairn_run_result scene_run(struct scene *s, struct cairn_store *store)
{
    struct cairn_error error = {0};
    struct cairn_run_result result = {0};
    struct cairn_run_options options = {
        .jobs = s->jobs, .stop = s->stop, .observe = observe, .observe_context = s};
    int rc = engine_run(s->workflow, store, &options, &s->fake.runner, &result, &error);
    ck_assert_msg(rc == 0, "seed %llu: %s", (unsigned long long)s->seed, error.text);
    ck_assert_uint_eq(fake_runner_living(&s->fake), 0);
    ck_assert_uint_eq(s->alive, 0);
    return result;
}
