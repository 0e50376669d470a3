/* SPDX-License-Identifier: MIT */
/* What is known of each task beyond its recorded outcome: marks of its attempts
 * (situation_marks.c), evidence of what it made, its condition. Then the decision, and
 * the notices about it. */
#include "plan/situation_int.h"

#include "base/os.h"
#include "cairn/plan.h"
#include "graph/lists.h"
#include "graph/match.h"
#include "graph/text_expand.h"
#include "plan/choice.h"
#include "plan/stop.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Evidence ---- */

static int map_states(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    const struct cairn_stop *stop = l->options->stop;
    int rc = states_init(&s->present.states, g->n_tasks, l->error);
    for (uint32_t task = 0; s->recorded.exists && task < g->n_tasks && !rc; task++) {
        uint32_t old = s->present.old_task[task];
        if (old == NODE_NONE)
            continue;
        struct change change = {.task = task,
                                .outcome = s->recorded.states.outcome[old],
                                .attempts = s->recorded.states.attempts[old]};
        if (s->recorded.states.outputs)
            change.outputs = s->recorded.states.outputs[old];
        rc = states_apply(&s->present.states, &change, l->error);
    }
    s->present.lookup = (struct lookup){.graph = g,
                                        .states = &s->present.states,
                                        .store = l->store,
                                        .run = s->recorded.row.run,
                                        .digests = FILE_DIGESTS_INIT,
                                        .stop = stop ? &stop->count : NULL};
    return rc;
}

/* One that failed, or said that there was nothing to do: whether what it read is still
 * the same. Older releases did not record that. */
static bool has_evidence(const struct loader *l, uint32_t task)
{
    const struct task_def *def = graph_def(&l->w->graph, task);
    const struct states *states = &l->s->present.states;
    bool reads = task_def_has_inputs(def) || def->n_secrets;
    if (states->outcome[task] == CAIRN_FAILED || state_skipped_itself(states, task))
        return reads && states->outputs && !digest_is_none(&states->outputs[task]);
    return states->outcome[task] == CAIRN_COMPLETED &&
           (reads || (def->n_outputs && !l->options->ignore_outputs));
}

static int look_at_task(struct loader *l, struct evidence_source *source, uint32_t task,
                        struct buf *which, struct changed_outputs *changed)
{
    struct situation *s = l->s;
    struct cairn_error why = {0};
    int rc = evidence_look(source, task, &s->present.evidence[task], which, &why);
    if (rc == CAIRN_EDAMAGED) {
        situation_lose_result(l, task, why.text);
        return 0;
    }
    if (rc)
        return error_set(l->error, rc, "task %s: %s", l->w->graph.id[task], why.text);
    if (s->present.evidence[task] != EVIDENCE_GOOD)
        s->present.which[task] = arena_text(&s->arena, buf_view(which));
    if (s->present.evidence[task] == OUTPUT_DIFFERS)
        changed_outputs_add(changed, task, &source->differs);
    return 0;
}

/* Once it is known which run goes on. */
static void open_index(struct loader *l, struct evidence_source *source)
{
    struct present *p = &l->s->present;
    if (!source->outputs || source->check != CAIRN_OUTPUTS_CHANGED)
        return;
    p->index_path = output_index_path(l->store, l->s->recorded.row.workflow);
    if (!p->index_path)
        return;
    output_index_load(&p->index, p->index_path);
    source->index = &p->index;
}

static int look_at_evidence(struct loader *l)
{
    struct situation *s = l->s;
    uint32_t n = l->w->graph.n_tasks;
    struct buf which = BUF_INIT;
    const char *root = l->w->definition.root.ptr;
    struct evidence_source source = {.lookup = &s->present.lookup,
                                     .secrets = &s->secrets,
                                     .root_fd = -1,
                                     .outputs = !l->options->ignore_outputs,
                                     .check = l->options->check_outputs};
    struct changed_outputs changed = {0};
    int rc = 0;
    s->present.evidence = calloc(n, 1);
    s->present.which = calloc(n, sizeof *s->present.which);
    if (!s->present.evidence || !s->present.which)
        return error_nomem(l->error);
    open_index(l, &source);
    source.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool gone = source.root_fd < 0 && os_is_missing(errno) && *root;
    for (uint32_t task = 0; task < n && !rc; task++)
        if (has_evidence(l, task)) {
            rc = look_at_task(l, &source, task, &which, &changed);
            s->present.root_gone |= gone && s->present.evidence[task] != EVIDENCE_GOOD;
        }
    if (source.root_fd >= 0)
        close(source.root_fd);
    buf_release(&which);
    if (!rc)
        rc = situation_find_writers(l, &changed);
    changed_outputs_release(&changed);
    if (!rc && source.unknown_secret)
        situation_add_notice(
            s, "a secret is not given here, so it is not known whether it changed");
    if (!rc)
        rc = situation_find_makers(l);
    return rc ? rc : s->arena.failed ? error_nomem(l->error) : 0;
}

/* ---- Conditions ---- */

/* The recorded outcome of a task that does not run now. */
struct put_aside {
    uint32_t task;
    uint8_t outcome;
};

/* To the condition it is skipped. False: it is not settled how the task ends. */
static bool settle_status(struct loader *l, uint32_t task, uint16_t fate,
                          struct buf *aside)
{
    uint8_t *outcome = &l->s->present.states.outcome[task];
    uint8_t ends = fate & FATE_EXCLUDED ? CAIRN_EXCLUDED : CAIRN_SKIPPED;
    if (fate & FATE_BAD && *outcome != ends) {
        struct put_aside was = {task, *outcome};
        buf_add(aside, &was, sizeof was);
        *outcome = ends;
    }
    return !(fate & FATE_UNSETTLED);
}

/* Whether all that the condition refers to has ended, as it would end now. */
static bool is_condition_settled(struct loader *l, uint32_t task, const uint16_t *fate,
                                 struct buf *aside)
{
    const struct task_def *def = graph_def(&l->w->graph, task);
    struct arena scratch = ARENA_INIT;
    uint32_t *defs = NULL;
    int n = condition_referred(&l->w->definition, def, &scratch, &defs);
    bool yes = n >= 0;
    for (int i = 0; i < n && yes; i++) {
        struct node_range range = graph_referred(&l->w->graph, task, defs[i]);
        for (uint32_t k = 0; k < range.n && yes; k++)
            yes = settle_status(l, node_at(range, k), fate[node_at(range, k)], aside);
    }
    l->no_memory |= n < 0 || aside->failed;
    arena_release(&scratch);
    return yes && !aside->failed;
}

static void put_back(struct loader *l, const struct buf *aside)
{
    for (size_t at = 0; at < aside->size; at += sizeof(struct put_aside)) {
        struct put_aside was;
        memcpy(&was, aside->data + at, sizeof was);
        l->s->present.states.outcome[was.task] = was.outcome;
    }
}

/* A condition that cannot be evaluated makes the task fail: the run will report
 * that. One of `finally` can ask how the run ended. */
static enum condition look_at_condition(void *context, uint32_t task,
                                        const uint16_t *fate)
{
    struct loader *l = context;
    struct asker asker = {.lookup = &l->s->present.lookup, .task = task};
    struct scope scope = lookup_scope(&asker);
    struct buf aside = BUF_INIT;
    bool holds = false;
    if (scope.def->finally)
        return CONDITION_OPEN;
    bool settled = is_condition_settled(l, task, fate, &aside);
    int rc = settled ? condition_holds(&scope, scope.def->condition, &holds, NULL) : 0;
    put_back(l, &aside);
    buf_release(&aside);
    l->no_memory |= rc == CAIRN_ENOMEM;
    if (rc || !settled)
        return CONDITION_OPEN;
    return holds ? CONDITION_YES : CONDITION_NO;
}

int situation_show_condition(struct situation *s, const struct cairn_workflow *w,
                             uint32_t task, struct buf *out, struct cairn_error *error)
{
    struct loader l = {.s = s, .w = (struct cairn_workflow *)(uintptr_t)w};
    struct asker asker = {.lookup = &s->present.lookup, .task = task};
    struct scope scope = lookup_scope(&asker);
    struct buf aside = BUF_INIT, values = BUF_INIT;
    struct str condition = scope.def->condition;
    if (!condition.len)
        return 0;
    if (!scope.def->finally)
        (void)is_condition_settled(&l, task, s->decisions.fate, &aside);
    int rc = condition_values(&scope, condition, &values, error);
    put_back(&l, &aside);
    buf_release(&aside);
    buf_format(out, values.size ? "%.*s (%.*s)" : "%.*s", (int)condition.len,
               condition.ptr, (int)values.size, values.data ? values.data : "");
    buf_release(&values);
    if (!rc && l.no_memory)
        rc = error_nomem(error);
    return rc ? rc : buf_check(out, error);
}

/* ---- The decision ---- */

static int refuse_change(struct loader *l)
{
    const struct decisions *d = &l->s->decisions;
    if (l->options->on_change != CAIRN_REFUSE || !l->s->recorded.exists ||
        l->w->going_on || /* with a list, or added tasks */
        !(d->changed + d->added + d->removed))
        return 0;
    return error_set(
        l->error, CAIRN_ECHANGED,
        "the workflow was edited since it was recorded: %u changed, %u new, "
        "%u removed tasks\nsee `cairn plan`; continue with --on-change=rerun "
        "or --on-change=keep",
        d->changed, d->added, d->removed);
}

static const char *plural_s(uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* What was edited since. */
static void notice_changes(struct loader *l)
{
    struct situation *s = l->s;
    const struct decisions *d = &s->decisions;
    struct str file = l->w->definition.file;
    if (s->recorded.row.run && file.len && s->recorded.row.file.len &&
        !str_equal(file, s->recorded.row.file))
        situation_add_notice(
            s, "run %llu was started from %.*s and continues with %.*s",
            (unsigned long long)s->recorded.row.run, (int)s->recorded.row.file.len,
            s->recorded.row.file.ptr, (int)file.len, file.ptr);
    for (uint32_t i = 0; i < l->w->definition.n_notes; i++)
        situation_add_notice(s, "%s", l->w->definition.notes[i].ptr);
    if (l->w->going_on) /* what is another one is so by the list */
        return;
    uint32_t changed = d->changed - d->kept;
    if (changed)
        situation_add_notice(s, "%u task%s changed since the last record", changed,
                             plural_s(changed));
    if (d->kept)
        situation_add_notice(
            s,
            "%u finished task%s changed since, and %s kept; the new definition counts "
            "as done from now on",
            d->kept, plural_s(d->kept), d->kept == 1 ? "is" : "are");
    if (d->added)
        situation_add_notice(s, "%u task%s new in the workflow", d->added,
                             d->added == 1 ? " is" : "s are");
    if (d->removed)
        situation_add_notice(
            s, "%u recorded task%s not in the workflow any more and dropped",
            d->removed, d->removed == 1 ? " is" : "s are");
}

static int decide_as_is(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    struct decisions d = {.n = g->n_tasks,
                          .fate = calloc(g->n_nodes, sizeof *d.fate),
                          .ask = calloc(g->n_tasks, 1),
                          .reset = calloc(g->n_tasks, 1),
                          .reason = calloc(g->n_tasks, 1),
                          .cause = calloc(g->n_tasks, sizeof *d.cause)};
    s->decisions = d;
    if (!d.fate || !d.ask || !d.reset || !d.reason || !d.cause)
        return error_nomem(l->error);
    for (uint32_t task = 0; task < g->n_tasks; task++)
        if (!outcome_is_skipped(s->present.states.outcome[task]) &&
            !state_is_put_back(&s->present.states, task) &&
            task_is_unknown(graph_def(g, task), s->present.states.outcome[task],
                            situation_mark(s, task)))
            d.reason[task] = CAIRN_REASON_UNKNOWN;
    return 0;
}

/* It has completed; or it had, and is to run again since. */
static const char *why_again(const struct situation *s, uint32_t task)
{
    uint32_t old = s->present.old_task[task];
    bool reset = situation_is_reset(s, task) && s->recorded.kept[old].completed;
    return s->present.states.outcome[task] == CAIRN_COMPLETED
               ? cairn_reason_name(s->decisions.reason[task])
           : reset ? "upstream"
                   : NULL;
}

/* A completed task that must not run twice is started again only with a notice. */
static void notice_repeats(struct loader *l)
{
    enum { SHOWN = 3 };
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    uint32_t n = 0;
    for (uint32_t task = 0; s->recorded.exists && task < g->n_tasks; task++) {
        bool runs = graph_def(g, task)->once &&
                    s->decisions.fate[task] & (FATE_WILL | FATE_MAY);
        const char *why = runs && !s->decisions.ask[task] ? why_again(s, task) : NULL;
        if (why && n++ < SHOWN)
            situation_add_notice(
                s,
                "%s must not run twice if interrupted; it has "
                "completed, and runs again now (%s; `cairn explain %s`)",
                g->id[task], why, g->id[task]);
    }
    if (n > SHOWN)
        situation_add_notice(s, "and %u more such tasks", n - SHOWN);
}

static bool reads_unseen(const struct task_def *def)
{
    return (def->kind == TASK_RUN || def->kind == TASK_EXEC) &&
           !task_def_has_inputs(def);
}

/* Who tries a failed task again may have mended what a task before it reads, which
 * stays finished: nothing shows that it has changed. */
static void notice_unseen(struct loader *l)
{
    enum { SHOWN = 3 };
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    const struct decisions *d = &s->decisions;
    uint32_t found[SHOWN], n = 0;
    for (uint32_t task = 0; s->recorded.recovered && task < g->n_tasks; task++) {
        if (d->reason[task] != CAIRN_REASON_FAILED || !(d->fate[task] & FATE_WILL))
            continue;
        for (uint32_t i = g->need_start[task]; i < g->need_start[task + 1]; i++) {
            uint32_t need = g->needs[i], def = g->def_of[need], k = 0;
            bool stays = d->fate[need] & FATE_COMPLETED &&
                         !(d->fate[need] & (FATE_WILL | FATE_MAY));
            if (!stays || !reads_unseen(graph_def(g, need)))
                continue;
            while (k < n && found[k] != def)
                k++;
            if (k == n && n < SHOWN)
                found[n++] = def;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        struct str id = g->definition->defs[found[k]].id;
        situation_add_notice(
            s,
            "%.*s declares no `inputs`: a change of what it reads does "
            "not run it again, `cairn rerun --run %llu %.*s` does",
            (int)id.len, id.ptr, (unsigned long long)s->recorded.row.run, (int)id.len,
            id.ptr);
    }
}

/* ---- What is done already ---- */

/* It has not run before: if it does now, its dependent sees another end of it. One that
 * is sure to run does, unless that had been said before the last owner was killed. */
static bool may_stay_skipped(const struct loader *l, uint32_t task, uint16_t fate,
                             bool sure)
{
    return !(fate & FATE_UNSETTLED) ||
           (fate & (sure ? FATE_WILL | FATE_MAY : FATE_MAY) &&
            (outcome_is_skipped(l->s->present.states.outcome[task]) ||
             !situation_attempts(l->s, task)));
}

/* All of a group. It is looked through once for all tasks that need it. */
static bool group_may_stay(const struct loader *l, uint32_t group, const uint16_t *fate,
                           bool sure)
{
    enum { STAYS = 1, ANOTHER = 2 };
    const struct graph *g = &l->w->graph;
    uint8_t *known = &l->groups_stay[2 * (size_t)(group - g->n_tasks) + sure];
    uint32_t e = g->need_start[group], end = g->need_start[group + 1];
    if (*known)
        return *known == STAYS;
    while (e < end && may_stay_skipped(l, g->needs[e], fate[g->needs[e]], sure))
        e++;
    *known = e == end ? STAYS : ANOTHER;
    return *known == STAYS;
}

/* `need`: a task, or a group. */
static bool may_come_out_the_same(const struct loader *l, uint32_t task, uint32_t need,
                                  const uint16_t *fate)
{
    bool sure = l->s->present.states.outcome[task] == CAIRN_PENDING;
    if (!situation_attempts(l->s, task))
        return false;
    return graph_is_barrier(&l->w->graph, need)
               ? group_may_stay(l, need, fate, sure)
               : may_stay_skipped(l, need, fate[need], sure);
}

/* All of what it needs that runs is `cutoff`, or may turn out to be done itself; or was
 * skipped, and may be so again. */
static bool is_cut_off(const struct loader *l, uint32_t task, const uint16_t *fate)
{
    const struct graph *g = &l->w->graph;
    bool all = true;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && all; e++)
        all = graph_need_is_order(g, task, e) ||
              !(fate[g->needs[e]] & FATE_UNSETTLED) ||
              graph_def(g, g->needs[e])->cutoff || fate[g->needs[e]] & FATE_SPARED ||
              (graph_need_is_soft(g, task, e) &&
               may_come_out_the_same(l, task, g->needs[e], fate));
    return all;
}

/* Of a new run: an earlier decision says why a task of this one runs. */
static int explain_miss(struct loader *l, uint32_t task, const struct reused *found)
{
    struct situation *s = l->s;
    struct buf text = BUF_INIT;
    if (s->recorded.exists || !l->nearest->run || s->present.nearest[task])
        return 0;
    int rc = nearest_describe(l->nearest, l->reuse, task, found, &text, l->error);
    if (!rc && text.size)
        s->present.nearest[task] = arena_text(&s->arena, buf_view(&text));
    buf_release(&text);
    return rc ? rc : s->arena.failed ? error_nomem(l->error) : 0;
}

/* ---- What is to be put back ---- */

static bool reads_files(const struct task_def *def)
{
    return def->n_inputs || def->depfile.len;
}

static void forget_put_back(struct put_back_paths *p)
{
    map_release(&p->paths);
    map_release(&p->above);
    arena_release(&p->arena);
    *p = (struct put_back_paths){0};
}

static int add_put_back(struct put_back_paths *p, struct str path,
                        struct cairn_error *error)
{
    struct str copy = arena_str(&p->arena, path);
    int added = copy.ptr ? map_add(&p->paths, copy, 0, NULL) : CAIRN_ENOMEM;
    for (size_t i = copy.len; i-- > 1 && added > 0;) /* above a known one all are */
        if (copy.ptr[i] == '/')
            added = map_add(&p->above, (struct str){copy.ptr, i}, 0, NULL);
    return added < 0 ? error_nomem(error) : 0;
}

/* Its outputs will be what they were: what reads them is decided then. */
static int note_put_back(struct loader *l, uint32_t task)
{
    struct asker asker = {.lookup = &l->s->present.lookup, .task = task};
    struct scope scope = lookup_scope(&asker);
    struct files f;
    int rc = files_begin(&f, &scope, false, l->error), more = 0;
    while (!rc && (more = files_step(&f, l->error)) > 0) {
        path_tidy(&f.path, true);
        rc = add_put_back(&l->put_back, buf_view(&f.path), l->error);
    }
    files_release(&f);
    return rc ? rc : more;
}

/* One of the paths is that one, or lies below it or above it. */
static bool is_put_back(const struct put_back_paths *p, struct str path)
{
    bool is = map_get(&p->above, path) != MAP_NONE;
    for (size_t i = 1; i <= path.len && !is; i++)
        if (i == path.len || path.ptr[i] == '/')
            is = map_get(&p->paths, (struct str){path.ptr, i}) != MAP_NONE;
    return is;
}

static int reads_put_back(struct loader *l, const struct scope *scope,
                          const struct result *result)
{
    struct files f;
    struct buf directory = BUF_INIT;
    int more = 0, found = 0;
    int rc = files_begin(&f, scope, true, l->error);
    while (!rc && !found && (more = files_step(&f, l->error)) > 0) {
        path_tidy(&f.path, true);
        found = is_put_back(&l->put_back, buf_view(&f.path));
    }
    files_release(&f);
    rc = rc ?: more < 0 ? more : task_directory(scope, &directory, l->error);
    for (uint32_t i = 0; i < result->n_inputs && !found && !rc; i++) {
        struct buf path = BUF_INIT;
        buf_str(&path, buf_view(&directory));
        buf_path(&path, result->inputs[i].name);
        rc = buf_check(&path, l->error);
        if (!rc) {
            path_tidy(&path, true);
            found = is_put_back(&l->put_back, buf_view(&path));
        }
        buf_release(&path);
    }
    buf_release(&directory);
    return rc ? rc : found;
}

/* 1: it reads what is to be put back, or may. */
static int waits_for_put_back(struct loader *l, uint32_t task)
{
    struct asker asker = {.lookup = &l->s->present.lookup, .task = task};
    struct scope scope = lookup_scope(&asker);
    static const struct result nothing;
    const struct result *result = &nothing;
    struct cairn_error why = {0};
    bool completed = l->s->present.states.outcome[task] == CAIRN_COMPLETED;
    if (!l->put_back.paths.count || !reads_files(scope.def))
        return 0;
    if (inputs_have_glob(scope.def) || (scope.def->depfile.len && !completed))
        return 1;
    if (completed && lookup_result(asker.lookup, task, &result, &why) == CAIRN_ENOMEM)
        return error_nomem(l->error);
    int rc = reads_put_back(l, &scope, result);
    return rc == CAIRN_ENOMEM || rc >= 0 ? rc : 1;
}

/* The task counts as done: 0; or that is open, and it has the state of before: 1. */
static int take_unless_open(struct loader *l, uint32_t task, struct reused *found,
                            const struct change *before)
{
    if (found->own)
        return 0;
    int rc = found->put_back ? reuse_take(l->reuse, task, found, l->error) : 0;
    rc = rc ?: waits_for_put_back(l, task);
    if (rc)
        return rc < 0 ? rc : reuse_set_state(l->reuse, before, l->error) ?: 1;
    found->open = l->put_back.paths.count > 0;
    return found->put_back ? note_put_back(l, task) : 0;
}

static enum spared look_for_attempt(void *context, uint32_t task, const uint16_t *fate,
                                    bool settled)
{
    struct loader *l = context;
    struct reuse *r = l->reuse;
    struct present *p = &l->s->present;
    struct reused found = {.newest = situation_attempts(l->s, task)};
    bool lost = p->evidence && p->evidence[task] == RESULT_LOST;
    if (!r->any || !reuse_has_key(r, task) || lost || l->reuse_rc)
        return SPARED_NO;
    bool reusable = !r->none && graph_def(r->graph, task)->reuse;
    if (!settled)
        return reusable || (found.newest && is_cut_off(l, task, fate)) ? SPARED_OPEN
                                                                       : SPARED_NO;
    if (!reusable && !l->s->recorded.recovered)
        return SPARED_NO;
    r->fate = fate;
    struct change before = reuse_state(r, task);
    int rc = reuse_key(r, task, found.newest + 1, &found.row.key, l->error);
    if (rc > 0)
        rc = reuse_find(r, task, &found, l->error);
    bool is = rc > 0;
    int open = rc < 0 ? rc
               : is   ? take_unless_open(l, task, &found, &before)
                      : waits_for_put_back(l, task); /* what it read comes back, too */
    if (!is && open == 0)
        open = explain_miss(l, task, &found);
    l->reuse_rc = open < 0 ? open : 0;
    if (open || !is)
        return open > 0 ? SPARED_OPEN : SPARED_NO;
    struct reused *copy = arena_take(&l->s->arena, 1, sizeof *copy);
    if (!copy) {
        l->reuse_rc = error_nomem(l->error);
        return SPARED_NO;
    }
    *copy = found;
    copy->result = lookup_known(&p->lookup, task);
    p->reused[task] = copy;
    return found.own ? SPARED_STAYS : SPARED_YES;
}

static int open_reuse(struct loader *l, struct reuse *reuse, struct nearest *nearest)
{
    struct situation *s = l->s;
    struct reuse_options o = {.graph = &l->w->graph,
                              .store = l->store,
                              .workflow = s->recorded.row.workflow,
                              .lookup = &s->present.lookup,
                              .secrets = &s->secrets,
                              .options = l->options};
    struct cairn_error why = {0};
    l->nearest = nearest;
    int rc = o.workflow ? 0
                        : store_workflow_id(l->store, l->w->definition.name, false,
                                            &o.workflow, &why);
    if (rc && rc != CAIRN_ENOTFOUND)
        return error_set(l->error, rc, "%s", why.text);
    rc = reuse_open(reuse, &o, l->error);
    s->present.reused = calloc(o.graph->n_tasks, sizeof(void *));
    s->present.nearest = calloc(o.graph->n_tasks, sizeof *s->present.nearest);
    l->groups_stay = calloc(o.graph->n_nodes - o.graph->n_tasks + 1, 2);
    if (!rc && (!s->present.reused || !s->present.nearest || !l->groups_stay))
        rc = error_nomem(l->error);
    l->reuse = reuse;
    return rc;
}

/* What is found lost makes more run, which may need more; a list that another run has
 * made may be no good here. */
static int decide_with_results(struct loader *l, const struct decide_input *input)
{
    int lost, rc;
    do {
        decisions_release(&l->s->decisions);
        if (l->reuse) {
            const struct graph *g = &l->w->graph;
            reuse_forget(l->reuse);
            forget_put_back(&l->put_back);
            memset(l->groups_stay, 0, 2 * (size_t)(g->n_nodes - g->n_tasks));
        }
        rc = decide(input, &l->s->decisions, l->error);
        if (!rc)
            rc = l->reuse_rc;
        lost = rc ? rc : situation_check_results(l);
        if (!lost && l->reuse && definition_has_lists(&l->w->definition))
            lost = situation_find_bad_lists(l);
    } while (lost > 0);
    return lost;
}

/* What a run removes before anything starts is not there for what is decided here. */
static int find_gone(struct loader *l)
{
    struct present *p = &l->s->present;
    const struct stale_scene scene = {
        .workflow = l->w, .store = l->store, .situation = l->s, .lookup = &p->lookup};
    struct cairn_error why = {0};
    int rc = stale_find_gone(&p->gone, &scene, &why);
    if (rc == CAIRN_EDAMAGED) { /* `cairn clean` reports the damage */
        stale_gone_release(&p->gone);
        p->gone = (struct stale_gone){0};
        return 0;
    }
    if (!rc && p->gone.paths.count)
        p->lookup.removed = &p->gone.paths;
    return rc == CAIRN_ENOMEM ? error_nomem(l->error)
           : rc               ? error_set(l->error, rc, "%s", why.text)
                              : 0;
}

static int decide_anew(struct loader *l, const struct graph *old)
{
    struct situation *s = l->s;
    struct decide_input input = {.graph = &l->w->graph,
                                 .old = old,
                                 .old_task = s->present.old_task,
                                 .states = &s->recorded.states,
                                 .marks = s->recorded.marks,
                                 .new_marks = s->present.new_marks,
                                 .rounds = s->present.rounds,
                                 .reweighed =
                                     s->recorded.latest_run &&
                                     s->recorded.latest_run != s->recorded.row.run,
                                 .on_failure = l->options->on_failure,
                                 .on_change = l->options->on_change,
                                 .condition = look_at_condition,
                                 .context = l};
    struct choice choice;
    struct reuse reuse = {0};
    struct nearest nearest = {.run = l->explains ? s->recorded.latest_run : 0};
    int rc = choice_make(&choice, &l->w->graph, l->options, l->error);
    if (!rc && l->store)
        rc = find_gone(l);
    if (!rc && s->recorded.exists)
        rc = look_at_evidence(l);
    input.evidence = s->present.evidence;
    input.first_maker = s->present.first_maker;
    input.makers = (const uint32_t *)(const void *)s->present.makers.data;
    input.chosen = choice.chosen;
    input.again = l->w->going_on ? NULL : choice.again; /* they have */
    /* Who wants tasks to run again wants that of what comes after them, too. */
    if (!rc && l->store && !l->options->again && reuse_is_wanted(&l->w->definition)) {
        rc = open_reuse(l, &reuse, &nearest);
        input.spared = look_for_attempt;
    }
    if (!rc)
        rc = decide_with_results(l, &input);
    choice_release(&choice);
    reuse_release(&reuse);
    nearest_release(&nearest);
    forget_put_back(&l->put_back);
    free(l->groups_stay);
    l->groups_stay = NULL;
    l->reuse = NULL;
    l->nearest = NULL;
    if (!rc && l->no_memory)
        rc = error_nomem(l->error);
    if (!rc) {
        notice_changes(l);
        notice_repeats(l);
        notice_unseen(l);
    }
    if (!rc && l->store)
        rc = situation_notice_stale(l);
    return rc ? rc : refuse_change(l);
}

static int load_earlier(struct loader *l)
{
    int rc = l->s->earlier.run ? situation_allocate_marks(l) : 0;
    return rc || !l->s->earlier.run ? rc : situation_load_earlier(l);
}

int situation_decide(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    const struct graph *old = s->recorded.exists ? situation_old(s, l->w) : NULL;
    s->present.old_task = malloc(g->n_tasks * sizeof *s->present.old_task);
    if (!s->present.old_task)
        return error_nomem(l->error);
    if (old && old->n_tasks != s->recorded.states.n)
        return error_set(l->error, CAIRN_EDAMAGED,
                         "the checkpoint is of %u tasks, the recorded definition of %u",
                         s->recorded.states.n, old->n_tasks);
    map_tasks(g, old, s->present.old_task);
    int rc = s->recorded.exists ? situation_load_marks(l) : load_earlier(l);
    if (!rc)
        rc = situation_load_rounds(l)
             ?: map_states(l)
             ?: secrets_load(&s->secrets, &l->w->definition, l->options, l->error)
             ?: secrets_key(&s->secrets, l->store, false, l->error);
    if (!rc && s->recorded.exists)
        rc = situation_find_end_notes(l);
    if (rc)
        return rc;
    return l->as_is ? decide_as_is(l) : decide_anew(l, old);
}
