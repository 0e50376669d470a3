/* SPDX-License-Identifier: MIT */
/* A: plan = explain = run. After each kind of change:
 *
 *   P1  what will run, ran: unless something that it needs failed for the first time,
 *       or failed again although it had changed, which no plan can know; with
 *       `on_failure: stop` such a failure excuses everything. An attempt that failed
 *       before its command could start, because an input is missing, counts as run.
 *   P2  what ran, was to run or might: by the tasks' own log, and by the events.
 *   P3  `explain` says of every task what `plan` says.
 *   P4  a task that was completed and whose definition changed is named as changed,
 * with the field; one whose file or secret changed, for that reason; any other
 * completed one only because something that it needs runs. P5  without conditions,
 * gates and failures, just what changed and all that needs it runs, and what `finally`
 * has; that is the plan, and nothing may run. P6  tuning changes no verdict. P7  what
 * has no condition on other tasks and needs only what will run or is done, and did not
 * fail last time, does not only perhaps run. */
#include "compare.h"

#include <unistd.h>

enum { KINDS_MAX = 80, EXPLAINED_MAX = 6 };

struct graph_test {
    struct test t;
    struct workflow w, old;
    struct tasks tasks;
    struct difference difference[TASKS_MAX];
    struct change change;
    struct plan plan, before;   /* before: the same without the change */
    struct status status, last; /* after the session, and before it */
    enum seen seen[TASKS_MAX];  /* by the events */
    bool logged[TASKS_MAX], direct[TASKS_MAX];
    bool open[TASKS_MAX];    /* see find_open */
    bool unlucky[TASKS_MAX]; /* needs something that failed against the plan */
    uint32_t left[DEFS_MAX]; /* set: see note_left */
    uint32_t run_param[PARAMS_MAX], n_run_params; /* those that the run began with */
    uint32_t removed, kept; /* files of members that are gone: see check_stale */
    long log_end;
    uint32_t made, explained, lists;    /* lists: members that a list brought or took */
    uint32_t ran, may, may_ran, failed; /* over all sessions */
    uint32_t services, added, withdrawn;
};

/* ---- Sessions ---- */

/* Is it about the file, not about the newest run? With `again: never` both are one, while
 * the params are those of the run. */
static bool names_file(const struct graph_test *g)
{
    return g->change.effect == EFFECT_NEW_RUN ||
           (g->w.again_never && g->w.n_params == g->n_run_params &&
            g->w.param[0] == g->run_param[0]);
}

static bool make_plan(struct graph_test *g, struct plan *plan)
{
    const char *arguments[] = {"plan", "--all", "--json", NULL, NULL, NULL};
    size_t n = 3;
    if (names_file(g))
        arguments[n++] = "flow.yaml";
    if (g->change.option)
        arguments[n] = g->change.option;
    int status = cairn_do(g->t.setup, &g->w, g->t.dir, "plan", arguments);
    return check(&g->t, status == 0, "plan ends with %d", status) &&
           check(&g->t, plan_read(g->t.dir, "plan", plan), "no plan");
}

/* What changed for each task. */
static void find_direct(struct graph_test *g)
{
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        struct difference *d = &g->difference[i];
        compare_task(&g->old, &g->w, &g->tasks.task[i], d);
        g->direct[i] = (d->any || g->change.hit[g->tasks.task[i].def] ||
                        g->change.effect == EFFECT_NEW_RUN) &&
                       !g->w.defs[g->tasks.task[i].def].service;
    }
}

/* ---- Lists ---- */

static const char *id_of_verdict(const void *of, uint32_t i)
{
    return ((const struct plan *)of)->verdict[i].task;
}

static const char *id_of_state(const void *of, uint32_t i)
{
    return ((const struct status *)of)->state[i].task;
}

/* A group that was not there before, or had no members because the run was stopped, has
 * the list of a task that has completed. */
static void learn_new_groups(struct graph_test *g)
{
    for (uint32_t i = 0; i < g->w.n_defs; i++) {
        struct def *def = &g->w.defs[i];
        bool known = i < g->old.n_defs && strcmp(g->old.defs[i].id, def->id) == 0 &&
                     g->change.effect != EFFECT_NEW_RUN && def->member[0] != UNLISTED;
        if (def->made && !known)
            def_learn(def, &g->plan, g->plan.n, id_of_verdict);
    }
}

/* Behind a run: those that were planned stay until it is judged. */
static void learn_members(struct graph_test *g, bool keep)
{
    for (uint32_t i = 0; i < g->w.n_defs; i++) {
        struct def *def = &g->w.defs[i], before = *def;
        if (!def->made)
            continue;
        def_learn(def, &g->status, g->status.n, id_of_state);
        for (uint32_t k = 0; keep && k < before.n_members; k++) {
            uint32_t m = 0;
            while (m < def->n_members && def->member[m] != before.member[k])
                m++;
            if (m == def->n_members && m < MEMBERS_MAX) {
                def->member[def->n_members++] = before.member[k];
                g->lists++;
            }
        }
    }
}

/* A failure that ends the run keeps a list that was made in it from being taken up: the
 * group has the members of that list from the next session on. Then they are known by
 * what the maker tells. */
static void take_up_lists(struct graph_test *g)
{
    for (uint32_t i = 0; i < g->w.n_defs; i++) {
        struct def *def = &g->w.defs[i];
        const struct def *maker = &g->w.defs[def->made ? def->list_of : i];
        const struct state *state =
            def->made ? status_find(&g->status, maker->id) : NULL;
        /* By its fallback, one that fails has completed without a list. */
        if (!state || strcmp(state->state, "completed") != 0 || maker->fails ||
            maker->skips)
            continue;
        def->n_members = maker->n_list;
        memcpy(def->member, maker->list, sizeof def->member);
    }
}

static bool is_service(const struct graph_test *g, uint32_t at)
{
    return g->w.defs[g->tasks.task[at].def].service;
}

/* Is it open which members its group has by the time that it would start? */
static bool is_open(const struct graph_test *g, const struct task *task)
{
    const struct def *def = &g->w.defs[task->def];
    const struct verdict *v =
        def->made ? plan_find(&g->plan, g->w.defs[def->list_of].id) : NULL;
    return task->member == UNLISTED || (v && v->will != WILL_NOT);
}

/* Those, and what comes behind them: decided again when the list is there. */
static void find_open(struct graph_test *g)
{
    memset(g->open, 0, sizeof g->open);
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        const struct task *task = &g->tasks.task[i];
        g->open[i] = is_open(g, task);
        for (uint32_t k = 0; k < i && !g->open[i]; k++)
            g->open[i] = g->open[k] && task_needs(&g->w, task, &g->tasks.task[k], true);
    }
    for (uint32_t i = g->tasks.n;
         i-- > 0;) /* a service runs as those that need it do */
        for (uint32_t k = i + 1; k < g->tasks.n && is_service(g, i); k++)
            g->open[i] |= g->open[k] &&
                          task_needs(&g->w, &g->tasks.task[k], &g->tasks.task[i], true);
}

static void run_session(struct graph_test *g)
{
    const char *run[] = {"run", "flow.yaml", "--json", NULL, NULL};
    const char *resume[] = {"resume", "--json", g->change.option, NULL};
    const char *tasks[] = {"status", "--tasks", "--json", NULL};
    if (names_file(g))
        run[3] = g->change.option;
    int status =
        cairn_do(g->t.setup, &g->w, g->t.dir, "run", names_file(g) ? run : resume);
    if (g->change.effect == EFFECT_NEW_RUN)
        g->n_run_params = g->w.n_params;
    if (g->change.effect == EFFECT_NEW_RUN)
        memcpy(g->run_param, g->w.param, sizeof g->run_param);
    check(&g->t, status == 0 || (status == 1 && !g->w.plain), "the run ends with %d",
          status);
    status = cairn_do(g->t.setup, &g->w, g->t.dir, "status", tasks);
    g->last = g->status;
    check(&g->t, status == 0 && status_read(g->t.dir, "status", &g->status),
          "no status");
    learn_members(g, true);
    workflow_tasks(&g->w, &g->tasks);
    find_direct(g);
    find_open(g);
    check(&g->t, started_read(g->t.dir, "run", &g->tasks, g->seen),
          "the events name unknown tasks");
    check(&g->t, log_read(g->t.dir, &g->tasks, &g->log_end, g->logged),
          "the log names unknown tasks");
}

/* ---- P1, P7 ---- */

/* Then what it reads may be made anew. */
static bool needs_run(const struct graph_test *g, uint32_t at)
{
    bool any = false;
    for (uint32_t k = 0; k < at; k++) {
        const struct verdict *v = plan_find(&g->plan, g->tasks.task[k].id);
        any |= v && v->will != WILL_NOT &&
               task_needs(&g->w, &g->tasks.task[at], &g->tasks.task[k], false);
    }
    return any;
}

/* Its attempt ended before there was a process that could have written to the log. */
static bool could_not_start(const struct state *state)
{
    return state && strcmp(state->state, "failed") == 0 && state->exit_code == -1 &&
           (strncmp(state->text, "its input ", 10) == 0 ||
            strncmp(state->text, "its list is not known", 21) == 0);
}

/* A plan expects that what failed fails again, unless it is not what it was: another
 * definition, or an input or a secret that it has read, which it has not if it could
 * not start. */
static bool is_risk(const struct graph_test *g, uint32_t at,
                    const struct status *before)
{
    const struct task *task = &g->tasks.task[at];
    const struct state *state = status_find(before, task->id);
    /* What a depfile names is known of one whose check failed. */
    bool knows = !g->w.defs[task->def].depfile || (state && state->exit_code == 0);
    bool reads_other = g->change.hit[task->def] &&
                       strcmp(g->change.reason, "output") != 0 && !needs_run(g, at) &&
                       !could_not_start(state) &&
                       (knows || strcmp(g->change.reason, "input") != 0);
    return state && strcmp(state->state, "failed") == 0 && !reads_other &&
           !g->difference[at].any && g->change.effect != EFFECT_NEW_RUN;
}

/* ---- P3 ---- */

static void explain_one(struct graph_test *g, const struct verdict *v)
{
    const char *arguments[] = {"explain", v->task, "--json", NULL, NULL, NULL};
    struct verdict e;
    size_t n = 3;
    if (names_file(g))
        arguments[n++] = "flow.yaml";
    if (g->change.option)
        arguments[n] = g->change.option;
    int status = cairn_do(g->t.setup, &g->w, g->t.dir, "explain", arguments);
    if (!check(&g->t, status == 0 && explain_read(g->t.dir, "explain", &e),
               "explain %s ends with %d", v->task, status))
        return;
    g->explained++;
    check(&g->t, e.will == v->will, "explain %s: %d, plan: %d", v->task, (int)e.will,
          (int)v->will);
    check(&g->t, strcmp(e.reason, v->reason) == 0 && strcmp(e.detail, v->detail) == 0,
          "explain %s: %s (%s), plan: %s (%s)", v->task, e.reason, e.detail, v->reason,
          v->detail);
}

/* All of them; the short form leaves out most of those that do not run. */
static void explain_all(struct graph_test *g)
{
    uint32_t least = g->t.setup->full ? g->plan.n : EXPLAINED_MAX;
    uint32_t left = least;
    for (uint32_t i = 0; i < g->plan.n; i++) {
        const struct verdict *v = &g->plan.verdict[i];
        uint32_t at = tasks_find(&g->tasks, v->task);
        bool kept = v->will == WILL_NOT;
        if (!check(&g->t, at != NONE, "the plan has an unknown task %s", v->task))
            continue;
        if (left == 0 && !(g->direct[at] && g->t.setup->full))
            continue;
        if (kept && !g->t.setup->full && rng_below(&g->t.rng, 3))
            continue;
        left--;
        explain_one(g, v);
    }
}

/* ---- P4, P6 ---- */

static const char *state_before(const struct graph_test *g, const char *id)
{
    const struct state *s = status_find(&g->status, id);
    return s ? s->state : "";
}

static void check_field_names(struct graph_test *g, const struct verdict *v,
                              const struct difference *d)
{
    for (uint32_t i = 0; i < FIELDS; i++) {
        const char *name = field_name((enum field)i);
        check(&g->t, !d->field[i] || strstr(v->detail, name) != NULL,
              "%s: the changed field %s is not named: %s", v->task, name, v->detail);
    }
    check(&g->t, !d->column || strstr(v->detail, "column told") != NULL,
          "%s: the changed column is not named: %s", v->task, v->detail);
    check(&g->t, !d->members || strstr(v->detail, "members") != NULL,
          "%s: the members of a group changed, not: %s", v->task, v->detail);
}

/* What happened to a task that could not run then, because of another one: it is still a
 * reason for it to run when it can. */
static const char *const lasting[] = {"changed", "output", "input", "secret"};
enum { LASTING = sizeof lasting / sizeof lasting[0] };

static void note_left(struct graph_test *g)
{
    bool rests[DEFS_MAX] = {false};
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        uint32_t def = g->tasks.task[i].def;
        const char *reason = g->difference[i].any ? "changed" : g->change.reason;
        rests[def] |= !g->logged[i];
        for (uint32_t k = 0; k < LASTING && reason; k++)
            if (g->direct[i] && !g->logged[i] && strcmp(reason, lasting[k]) == 0)
                g->left[def] |= 1u << k;
    }
    for (uint32_t i = 0; i < DEFS_MAX; i++)
        g->left[i] = rests[i] ? g->left[i] : 0;
}

static bool was_left(const struct graph_test *g, uint32_t def, const char *reason)
{
    for (uint32_t k = 0; k < LASTING; k++)
        if (g->left[def] >> k & 1 && strcmp(reason, lasting[k]) == 0)
            return true;
    return false;
}

/* Adds what needs it, in that way at least: definitions stand after what they need. */
static void add_behind(const struct graph_test *g, enum need least, bool order,
                       bool *set)
{
    bool any = false;
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        const struct task *task = &g->tasks.task[i];
        for (uint32_t k = 0; k < i && !set[i]; k++)
            set[i] =
                set[k] && task_needs(&g->w, task, &g->tasks.task[k], order) >= least;
        any |= set[i] && !g->w.defs[task->def].finally;
    }
    for (uint32_t i = 0; i < g->tasks.n; i++)
        set[i] |= any && g->w.defs[g->tasks.task[i].def].finally;
}

/* What it needs was skipped, or left out by its condition, though it had completed before
 * that: a plan that is not sure of what it needs says that it may be skipped, too. */
static bool is_behind_skipped(const struct graph_test *g, uint32_t at)
{
    bool set[TASKS_MAX] = {false};
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        const char *state = state_before(g, g->tasks.task[i].id);
        set[i] = strcmp(state, "skipped") == 0 || strcmp(state, "excluded") == 0;
    }
    add_behind(g, NEED_HARD, false, set);
    return set[at];
}

static void check_reason(struct graph_test *g, uint32_t at)
{
    const struct task *task = &g->tasks.task[at];
    const struct difference *d = &g->difference[at];
    const struct verdict *v = plan_find(&g->plan, task->id);
    bool hit = g->change.hit[task->def];
    if (!check(&g->t, v != NULL, "%s is not in the plan", task->id) ||
        is_service(g, at))
        return;
    const char *state = state_before(g, task->id);
    if (v->will == WILL_NOT || strcmp(state, "completed") != 0) {
        check(&g->t, !g->w.plain || v->will == WILL_NOT || d->added,
              "%s was %s, and runs: %s", v->task, state, v->reason);
        return;
    }
    /* Decided again with the list: until then it is done, or its condition is not met. */
    bool excluded = strcmp(v->reason, "excluded") == 0 &&
                    g->w.defs[task->def].condition != COND_NONE;
    if (g->open[at] && v->will == WILL_MAY &&
        (excluded || strcmp(v->reason, "done") == 0))
        return;
    if (v->will == WILL_MAY && strcmp(v->reason, "need-skipped") == 0 &&
        is_behind_skipped(g, at))
        return;
    const char *reason = d->any && !d->added ? "changed"
                         : hit               ? g->change.reason
                                             : "upstream";
    bool by_input = g->w.defs[task->def].input_of != NONE &&
                    strcmp(v->reason, "input") == 0 && strcmp(reason, "upstream") == 0;
    check(&g->t,
          by_input || strcmp(v->reason, reason) == 0 ||
              was_left(g, task->def, v->reason),
          "%s: %s (%s), not %s", v->task, v->reason, v->detail, reason);
    if (d->any && !d->added)
        check_field_names(g, v, d);
}

static void check_tuning(struct graph_test *g)
{
    for (uint32_t i = 0; i < g->before.n; i++) {
        const struct verdict *a = &g->before.verdict[i];
        const struct verdict *b = plan_find(&g->plan, a->task);
        uint32_t at = tasks_find(&g->tasks, a->task);
        /* An edited service that does not run is judged anew. */
        bool same = b && (strcmp(b->reason, a->reason) == 0 ||
                          (at != NONE && is_service(g, at)));
        check(&g->t, b && b->will == a->will && same, "%s: %d %s, before: %d %s",
              a->task, b ? (int)b->will : -1, b ? b->reason : "", (int)a->will,
              a->reason);
    }
    check(&g->t, g->before.n == g->plan.n, "%u tasks, before %u", g->plan.n,
          g->before.n);
    check(&g->t, !g->w.plain || g->plan.will + g->plan.may == 0, "%u will run",
          g->plan.will);
}

/* ---- P7 ---- */

/* Does nothing that it needs make it uncertain? `certain` tells it of those. */
static bool needs_are_certain(const struct graph_test *g, uint32_t at,
                              const bool *certain)
{
    for (uint32_t k = 0; k < at; k++) {
        const struct verdict *v = plan_find(&g->plan, g->tasks.task[k].id);
        enum need need =
            v ? task_needs(&g->w, &g->tasks.task[at], &g->tasks.task[k], true)
              : NEED_NOT;
        if (need != NEED_NOT && g->open[k])
            return false;
        if (need != NEED_NOT && is_service(g, k)) {
            if (!needs_are_certain(g, k, certain))
                return false;
            continue;
        }
        /* Skipped again, it changes nothing for who has completed without it. */
        if (need == NEED_SOFT && v->will != WILL_NOT &&
            (strcmp(state_before(g, v->task), "skipped") == 0 ||
             strcmp(state_before(g, v->task), "excluded") == 0))
            return false;
        if (need == NEED_SOFT && v->will == WILL_MAY && !certain[k])
            return false;
        if (need != NEED_HARD)
            continue;
        if (v->will != WILL_NOT && g->w.defs[g->tasks.task[k].def].skip_exit)
            return false;
        if (v->will == WILL_NOT ? strcmp(state_before(g, v->task), "completed") != 0
                                : !certain[k] || is_risk(g, k, &g->status))
            return false;
    }
    return true;
}

/* Can something that failed before end the run again? */
static bool may_stop(const struct graph_test *g)
{
    bool risk = false;
    for (uint32_t i = 0; i < g->tasks.n; i++)
        risk |= is_risk(g, i, &g->status) && !g->w.defs[g->tasks.task[i].def].may_fail;
    return risk && g->w.policy != ON_CONTINUE;
}

static void check_certain(struct graph_test *g)
{
    bool certain[TASKS_MAX] = {false};
    if (may_stop(g))
        return;
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        const struct def *def = &g->w.defs[g->tasks.task[i].def];
        const struct verdict *v = plan_find(&g->plan, g->tasks.task[i].id);
        /* The condition is taken to depend on whatever the task refers to. */
        certain[i] = (def->condition == COND_NONE ||
                      (def->condition == COND_PARAM && def->passed == NONE)) &&
                     def->when == WHEN_SUCCESS && !def->finally && !g->open[i] &&
                     !def->service && needs_are_certain(g, i, certain);
        check(&g->t, !v || !certain[i] || v->will != WILL_MAY,
              "%s may run, though nothing is uncertain: %s", v ? v->task : "",
              v ? v->detail : "");
    }
}

/* ---- P5 ---- */

/* As a member, not as what stood for all of them. */
static bool is_there(const struct graph_test *g, const struct task *task)
{
    return task->member != UNLISTED && status_find(&g->status, task->id);
}

static void check_plain(struct graph_test *g)
{
    bool expected[TASKS_MAX];
    uint32_t may = 0;
    memcpy(expected, g->direct, sizeof expected);
    add_behind(g, NEED_SOFT, false, expected);
    for (uint32_t i = g->tasks.n; i-- > 0;)
        expected[i] &= !is_service(g, i);
    for (uint32_t i = g->tasks.n; i-- > 0;)
        for (uint32_t k = i + 1; k < g->tasks.n && is_service(g, i); k++)
            expected[i] |= expected[k] && task_needs(&g->w, &g->tasks.task[k],
                                                     &g->tasks.task[i], true);
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        const struct verdict *v = plan_find(&g->plan, g->tasks.task[i].id);
        bool will = v && v->will == WILL;
        expected[i] &= !is_open(g, &g->tasks.task[i]) || is_there(g, &g->tasks.task[i]);
        will = g->open[i] ? expected[i] : will;
        may += g->open[i] && v && v->will == WILL_MAY;
        check(&g->t, will == expected[i] && g->logged[i] == expected[i],
              "%s: %s, planned %s, ran %s", g->tasks.task[i].id,
              expected[i] ? "has to run" : "has not to run", will ? "yes" : "no",
              g->logged[i] ? "yes" : "no");
    }
    check(&g->t, g->plan.may == may, "%u may run, not %u", g->plan.may, may);
}

/* ---- P1, P2 ---- */

/* Tasks behind a failure that was not known before. */
static void find_unlucky(struct graph_test *g)
{
    bool any = false;
    memset(g->unlucky, 0, sizeof g->unlucky);
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        const char *id = g->tasks.task[i].id;
        const struct state *now = status_find(&g->status, id);
        bool failed = now && strcmp(now->state, "failed") == 0;
        g->unlucky[i] = failed && !is_risk(g, i, &g->last);
        any |= g->unlucky[i] && !g->w.defs[g->tasks.task[i].def].may_fail;
        g->failed += failed;
    }
    for (uint32_t i = 0; i < g->tasks.n && g->w.policy != ON_CONTINUE; i++)
        g->unlucky[i] |= any;
    add_behind(g, NEED_HARD, true, g->unlucky);
}

/* The task, or what it stood for: a member that its list has by now. */
static bool has_run(const struct graph_test *g, uint32_t i)
{
    const struct task *task = &g->tasks.task[i];
    bool ran = g->logged[i];
    for (uint32_t k = 0; k < g->tasks.n && task->member == UNLISTED; k++)
        ran |= g->tasks.task[k].def == task->def && g->logged[k];
    return ran;
}

/* A service runs if, and only if, a task that needs it does; a group of them, of which
 * only some are needed, by member. */
static void check_services(struct graph_test *g)
{
    bool stopped = false;
    for (uint32_t i = 0; i < g->tasks.n && g->w.policy != ON_CONTINUE; i++) {
        const struct state *now = status_find(&g->status, g->tasks.task[i].id);
        stopped |= now && strcmp(now->state, "failed") == 0 &&
                   !g->w.defs[g->tasks.task[i].def].may_fail;
    }
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        bool used = false, tried = false;
        for (uint32_t k = i + 1; k < g->tasks.n && is_service(g, i); k++) {
            bool needs = task_needs(&g->w, &g->tasks.task[k], &g->tasks.task[i], true);
            used |= needs && g->logged[k];
            tried |= needs &&
                     (stopped ||
                      could_not_start(status_find(&g->status, g->tasks.task[k].id)));
        }
        check(&g->t, !is_service(g, i) || g->logged[i] || !used,
              "a task that needs the service %s ran without it", g->tasks.task[i].id);
        check(&g->t, !is_service(g, i) || !g->logged[i] || used || tried,
              "the service %s ran, and no task that needs it", g->tasks.task[i].id);
        g->services += is_service(g, i) && g->logged[i];
    }
}

static void check_run(struct graph_test *g)
{
    find_unlucky(g);
    check_services(g);
    for (uint32_t i = 0; i < g->tasks.n; i++) {
        const char *id = g->tasks.task[i].id;
        const struct verdict *v = plan_find(&g->plan, id);
        bool started = g->seen[i] != SEEN_NOT;
        bool silent = is_service(g, i) && g->seen[i] == SEEN_ENDED_EARLY;
        check(&g->t, started == g->logged[i] || silent,
              "%s: by the events it %s, by its log %s", id,
              started ? "ran" : "did not run", g->logged[i] ? "it did" : "not");
        if (!v)
            continue;
        g->ran += g->logged[i];
        g->may += v->will == WILL_MAY;
        g->may_ran += v->will == WILL_MAY && g->logged[i];
        /* A service runs as its users do, which check_services holds it to. */
        check(&g->t,
              v->will != WILL || has_run(g, i) || g->unlucky[i] || is_service(g, i) ||
                  could_not_start(status_find(&g->status, id)),
              "%s was to run (%s), and did not: %s", id, v->detail,
              state_before(g, id));
        check(&g->t, v->will != WILL_NOT || !g->logged[i],
              "%s ran, and was not to: %s (%s)", id, v->reason, v->detail);
    }
}

/* ---- Files of members that are gone ---- */

static bool is_made(const struct graph_test *g, uint32_t def, uint32_t value)
{
    const struct def *now = &g->w.defs[def];
    bool made = false;
    for (uint32_t i = 0; i < now->n_members; i++)
        made |= now->member[i] == value;
    return made && !now->removed;
}

/* Whether the plan has a notice that the file, maybe beside others, was made by members
 * that are gone. */
static bool is_named_as_stale(const struct graph_test *g, const char *path)
{
    char *said = file_read(g->t.dir, "out.plan");
    size_t length = strlen(path);
    bool named = false;
    for (char *at = said; at && (at = strstr(at, path)) && !named; at += length) {
        char *made = strstr(at, " made by ");
        char next = at[length];
        named = (next == ' ' || next == ',') && made &&
                !memchr(at, '"', (size_t)(made - at));
    }
    free(said);
    return named;
}

/* Of a member of before the change, which had completed and was done, so that its output
 * is as it was recorded: `stale: remove` removes that, and nothing else does. */
static void check_stale_file(struct graph_test *g, uint32_t at, uint32_t value)
{
    const struct def *old = &g->old.defs[at];
    char path[DIR_SIZE + 32], id[ID_SIZE];
    snprintf(path, sizeof path, "%s/out/%u-%u", g->t.dir, at, value);
    snprintf(id, sizeof id, "%s[part=%u%s]", old->id, value,
             old->sided ? ",side=x" : "");
    const struct verdict *v = plan_find(&g->before, id);
    if (!v || v->will != WILL_NOT || strcmp(v->reason, "done") != 0)
        return;
    enum stale stale = def_stale(&g->w, &g->w.defs[at]);
    bool there = access(path, F_OK) == 0;
    check(&g->t, there == (stale != STALE_REMOVE),
          "out/%u-%u of %s is %s, `stale` is %u", at, value, id,
          there ? "there" : "gone", (unsigned)stale);
    snprintf(path, sizeof path, "out/%u-%u", at, value);
    bool named = is_named_as_stale(g, path);
    /* Of a list, the members that go are known when it is made. */
    check(&g->t, g->w.defs[at].made || named == (stale != STALE_KEEP),
          "out/%u-%u: the plan %s it, `stale` is %u", at, value,
          named ? "names" : "does not name", (unsigned)stale);
    g->removed += stale == STALE_REMOVE;
    g->kept += stale != STALE_REMOVE;
}

static void check_stale(struct graph_test *g)
{
    for (uint32_t i = 0; i < g->old.n_defs; i++) {
        const struct def *old = &g->old.defs[i];
        bool same = !old->removed && !g->w.defs[i].removed &&
                    strcmp(old->id, g->w.defs[i].id) == 0 && old->output &&
                    !old->disturbed;
        for (uint32_t k = 0; k < old->n_members && same; k++)
            if (old->member[k] != UNLISTED && !is_made(g, i, old->member[k]))
                check_stale_file(g, i, old->member[k]);
    }
}

/* ---- One graph ---- */

/* `cairn add`, where that is the change. */
static bool add_or_withdraw(struct graph_test *g)
{
    char run[16];
    const char *id = g->w.defs[g->change.which].id;
    const char *add[] = {"add", run, "added.yaml", NULL};
    const char *withdraw[] = {"add", "--withdraw", run, id, NULL};
    bool adds = g->change.effect == EFFECT_ADDED;
    if (!adds && g->change.effect != EFFECT_WITHDRAWN)
        return true;
    snprintf(run, sizeof run, "%u", g->status.run);
    if (!check(&g->t, !adds || workflow_write_added(&g->w, g->change.which, g->t.dir),
               "cannot write what is added"))
        return false;
    int status = cairn_do(g->t.setup, &g->w, g->t.dir, "add", adds ? add : withdraw);
    g->added += adds;
    g->withdrawn += !adds;
    return check(&g->t, status == 0, "add ends with %d", status);
}

static void check_change(struct graph_test *g)
{
    if (!check(&g->t, workflow_write(&g->w, g->t.dir), "cannot write the workflow") ||
        !add_or_withdraw(g) || !make_plan(g, &g->plan))
        return;
    learn_new_groups(g);
    workflow_tasks(&g->w, &g->tasks);
    find_direct(g);
    find_open(g);
    if (g->change.effect != EFFECT_NEW_RUN)
        for (uint32_t i = 0; i < g->tasks.n; i++)
            check_reason(g, i);
    if (g->change.effect == EFFECT_TUNING)
        check_tuning(g);
    check_certain(g);
    explain_all(g);
    run_session(g);
    check_run(g);
    note_left(g);
    if (g->w.plain)
        check_plain(g);
    learn_members(g, false);
    if (g->change.effect == EFFECT_DEFINITION)
        check_stale(g);
}

static void one_kind(struct graph_test *g, uint32_t kind)
{
    struct change none = {.effect = EFFECT_TUNING};
    g->old = g->w;
    take_up_lists(g);
    change_make(&g->change, kind, &g->w, &g->t.rng, g->t.dir);
    snprintf(g->t.where, sizeof g->t.where, "change %u (%s)", g->made, g->change.name);
    if (!g->change.made) {
        g->w = g->old;
        return;
    }
    g->made++;
    if (g->change.effect == EFFECT_TUNING || g->change.effect == EFFECT_DEFINITION) {
        struct change change = g->change;
        struct workflow now = g->w;
        g->change = none;
        g->w = g->old; /* as the file still is */
        make_plan(g, &g->before);
        g->w = now;
        g->change = change;
    }
    check_change(g);
}

static void shuffle(struct rng *rng, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = rng_below(rng, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
}

static void one_graph(const struct setup *setup, uint32_t index)
{
    static struct graph_test g;
    char name[64], detail[400];
    uint32_t order[KINDS_MAX], n = change_kinds();
    uint64_t seed = setup->seed + index;
    bool plain = seed % 2 == 0;
    memset(&g, 0, sizeof g);
    snprintf(name, sizeof name, "plan = explain = run %u", index);
    if (test_begin(&g.t, setup, name, seed)) {
        workflow_make(&g.w, &g.t.rng, plain);
        shuffle(&g.t.rng, order, n);
        g.change = (struct change){.name = "first run", .effect = EFFECT_NEW_RUN};
        snprintf(g.t.where, sizeof g.t.where, "first run");
        check_change(&g);
    }
    for (uint32_t i = 0; i < n && !g.t.failures; i++)
        one_kind(&g, order[i]);
    snprintf(detail, sizeof detail,
             "seed %llu, %u tasks%s, %u changes, %u explanations, %u started, %u of %u "
             "that might, %u failures, %u members of lists came or went, %u services, "
             "%u added, %u withdrawn, %u stale removed, %u left",
             (unsigned long long)seed, g.tasks.n, plain ? ", plain" : "", g.made,
             g.explained, g.ran, g.may_ran, g.may, g.failed, g.lists, g.services,
             g.added, g.withdrawn, g.removed, g.kept);
    test_end(&g.t, detail);
}

void test_plan(const struct setup *setup, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        one_graph(setup, i);
}
