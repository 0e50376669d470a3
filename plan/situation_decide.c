/* SPDX-License-Identifier: MIT */
/* What is known of each task beyond its recorded outcome: marks of unfinished attempts,
 * evidence of finished ones, conditions. Then the decision. */
#include "plan/situation_int.h"

#include "base/os.h"
#include "cairn/plan.h"
#include "process/keeper.h"
#include "process/live.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Marks ---- */

/* It was tried again since, and only lost records knew. */
static bool is_later(const struct situation *s, const struct attempt_row *row)
{
    uint8_t outcome = s->recorded.states.outcome[row->task];
    bool again = outcome == CAIRN_FAILED || outcome == CAIRN_CANCELLED ||
                 outcome == CAIRN_SKIPPED || outcome == CAIRN_EXCLUDED;
    return again && row->number > s->recorded.states.attempts[row->task] &&
           recovery_may_lack(&s->recorded.recovery, row->checkpoint);
}

/* The newest attempt decides. One that completed although the task is pending means a
 * lost record only where records are gone: otherwise the task was reset. */
static uint8_t mark_of(const struct situation *s, const struct attempt_row *row)
{
    uint8_t outcome = s->recorded.states.outcome[row->task];
    bool open = !row->ended_ns || row->flags & ATTEMPT_INTERRUPTED;
    if (row->flags & ATTEMPT_UNDO)
        return open && outcome != CAIRN_UNDONE ? MARK_UNDOING : 0;
    if (outcome == CAIRN_FAILED && row->flags & ATTEMPT_EXTERNAL &&
        s->recorded.row.state == CAIRN_RUN_UNFINISHED)
        return MARK_REPORTED;
    if (outcome != CAIRN_PENDING && !is_later(s, row))
        return 0;
    if (open)
        return MARK_INTERRUPTED;
    if (row->outcome == CAIRN_COMPLETED &&
        recovery_may_lack(&s->recorded.recovery, row->checkpoint))
        return MARK_DAMAGED;
    return row->started_ns ? MARK_RESET : 0;
}

static int mark_attempt(void *context, const struct attempt_row *row)
{
    struct situation *s = context;
    if (row->task >= s->recorded.states.n)
        return 0; /* not of this graph: a damaged row; it decides nothing */
    if (row->number > s->recorded.last_attempt[row->task])
        s->recorded.last_attempt[row->task] = row->number;
    if (row->checkpoint > s->recorded.last_named)
        s->recorded.last_named = row->checkpoint;
    s->recorded.marks[row->task] = mark_of(s, row);
    return 0;
}

/* The generation of the run's graph that has this digest; 0: none. It is not the newest
 * when the record that began the newest is damaged. */
static int generation_of(struct loader *l, const struct digest *graph, uint32_t *gen)
{
    const struct run_row *row = &l->s->recorded.row;
    int rc = 0;
    *gen = digest_equal(graph, &row->graph) ? row->gen : 0;
    for (uint32_t g = row->gen; !*gen && g > 1 && !rc; g--) {
        struct digest earlier;
        rc = store_get_run_graph(l->store, row->run, g - 1, &earlier, l->error);
        if (rc == CAIRN_ENOTFOUND)
            rc = 0;
        else if (!rc && digest_equal(graph, &earlier))
            *gen = g - 1;
    }
    return rc;
}

/* Attempts whose keeper lives, or has recorded their end, were not interrupted. */
static int note_keeper(void *context, struct keeper *keeper)
{
    struct situation *s = context;
    uint32_t task = keeper->id.task;
    bool kept = keeper->fate == KEEPER_LIVE ||
                (keeper->fate == KEEPER_ENDED && !keeper->record.stopped);
    if (!kept || keeper->id.gen != s->recorded.row.gen ||
        task >= s->recorded.states.n ||
        keeper->id.attempt != s->recorded.last_attempt[task] ||
        !(s->recorded.marks[task] & MARK_INTERRUPTED))
        return 0;
    s->recorded.marks[task] = MARK_OUTLIVED;
    s->recorded.n_outlived++;
    return 0;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

static bool has_slots(const struct loader *l)
{
    char path[LIVE_PATH];
    live_path(path, sizeof path, store_live_dir(l->store),
              live_of_run(LIVE_SLOTS, l->s->recorded.row.run));
    return exists(path);
}

static bool has_claim(const struct loader *l, uint32_t task)
{
    char path[LIVE_PATH];
    const struct recorded *r = &l->s->recorded;
    struct attempt_id id = {store_live_dir(l->store), r->row.run, r->row.gen, task,
                            r->last_attempt[task]};
    live_path(path, sizeof path, id.live_dir, live_of_attempt(LIVE_CLAIM, &id));
    return exists(path);
}

/* One that a keeper never took has not started, whatever its intent says. That holds as
 * long as nobody has emptied the live directory: the dead owner's slot file is there.
 */
static void note_untaken(struct loader *l, const struct graph *old)
{
    struct situation *s = l->s;
    if (!has_slots(l))
        return;
    for (uint32_t task = 0; task < s->recorded.states.n; task++)
        if (s->recorded.marks[task] == MARK_INTERRUPTED &&
            !graph_def(old, task)->n_secrets && !has_claim(l, task))
            s->recorded.marks[task] = MARK_RESET;
}

static int look_at_keepers(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *old = situation_old(s, l->w);
    if (!s->recorded.recovered || old->definition->on_crash != ON_CRASH_ADOPT)
        return 0;
    int rc = keepers_each(store_live_dir(l->store), store_id(l->store),
                          s->recorded.row.run, note_keeper, s, l->error);
    if (!rc)
        note_untaken(l, old);
    return rc;
}

/* The graph of a generation of the run. */
static int graph_of(struct loader *l, uint32_t gen, struct definition *definition,
                    struct graph *graph)
{
    struct digest digest;
    int rc = run_graph(l->store, &l->s->recorded.row, gen, &digest, l->error);
    return rc ? rc : graph_load(l->store, &digest, definition, graph, l->error);
}

/* A generation all of whose records are gone: its tasks in the recovered graph, and in
 * the workflow as it is now. */
struct later {
    struct situation *s;
    uint32_t n, *old, *now;
};

static int mark_later(void *context, const struct attempt_row *row)
{
    struct later *later = context;
    struct situation *s = later->s;
    if (row->task >= later->n)
        return 0;
    struct attempt_row as_old = *row;
    as_old.task = later->old[row->task];
    if (as_old.task != NODE_NONE) {
        uint8_t mark = mark_of(s, &as_old);
        s->recorded.marks[as_old.task] = mark ? mark : s->recorded.marks[as_old.task];
    } else if (later->now[row->task] != NODE_NONE && !(row->flags & ATTEMPT_UNDO)) {
        bool open = !row->ended_ns || row->flags & ATTEMPT_INTERRUPTED;
        s->present.new_marks[later->now[row->task]] = open ? MARK_INTERRUPTED
                                                      : row->outcome == CAIRN_COMPLETED
                                                          ? MARK_DAMAGED
                                                          : 0;
    }
    return 0;
}

static int mark_by(struct loader *l, uint32_t gen, const struct graph *graph)
{
    struct later later = {l->s, graph->n_tasks, NULL, NULL};
    size_t size = ((size_t)graph->n_tasks + 1) * sizeof *later.old;
    later.old = malloc(size);
    later.now = malloc(size);
    int rc = later.old && later.now ? 0 : error_nomem(l->error);
    if (!rc) {
        map_tasks(graph, situation_old(l->s, l->w), later.old);
        map_tasks(graph, &l->w->graph, later.now);
        rc = store_each_run_attempt(l->store, l->s->recorded.row.run, gen, false,
                                    mark_later, &later, l->error);
    }
    free(later.old);
    free(later.now);
    return rc;
}

static int load_later_marks(struct loader *l, uint32_t gen)
{
    struct definition definition;
    struct graph graph;
    int rc = graph_of(l, gen, &definition, &graph);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED) {
        situation_note(l->s,
                       "how run %llu was defined for a while is lost: tasks that must "
                       "not run twice may have run then, and none of them counts",
                       (unsigned long long)l->s->recorded.row.run);
        return 0;
    }
    if (rc)
        return rc;
    rc = mark_by(l, gen, &graph);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

static bool any_pending(const struct states *states)
{
    for (uint32_t task = 0; task < states->n; task++)
        if (states->outcome[task] == CAIRN_PENDING)
            return true;
    return false;
}

/* Nothing is pending when a run completes: where something is, a record is lost. */
static void mark_pending(struct situation *s)
{
    for (uint32_t task = 0; task < s->recorded.states.n; task++)
        if (s->recorded.states.outcome[task] == CAIRN_PENDING &&
            !(s->recorded.marks[task] & ~(uint8_t)MARK_RESET))
            s->recorded.marks[task] = MARK_DAMAGED;
}

static int load_marks(struct loader *l)
{
    struct situation *s = l->s;
    s->recorded.marks = calloc((size_t)s->recorded.states.n + 1, 1);
    s->recorded.last_attempt =
        calloc((size_t)s->recorded.states.n + 1, sizeof *s->recorded.last_attempt);
    s->present.new_marks = calloc((size_t)l->w->graph.n_tasks + 1, 1);
    if (!s->recorded.marks || !s->recorded.last_attempt || !s->present.new_marks)
        return error_nomem(l->error);
    for (uint32_t i = 0; i < s->recorded.states.n; i++)
        if (s->recorded.states.outcome[i] != CAIRN_PENDING)
            s->recorded.last_attempt[i] = s->recorded.states.attempts[i];
    uint32_t gen = 0;
    int rc =
        s->recorded.recovered ? generation_of(l, &s->recorded.recovery.graph, &gen) : 0;
    /* A completed run has nothing unfinished, unless records of it are lost. */
    bool completed =
        s->recorded.recovered && s->recorded.row.state == CAIRN_RUN_COMPLETED;
    bool whole = completed && !s->recorded.recovery.gap && !l->as_is &&
                 !any_pending(&s->recorded.states);
    if (rc || whole)
        return rc;
    if (completed)
        mark_pending(s);
    if (!gen)
        return 0;
    rc = store_each_run_attempt(l->store, s->recorded.row.run, gen, false, mark_attempt,
                                s, l->error);
    for (uint32_t later = gen + 1; later <= s->recorded.row.gen && !rc; later++)
        rc = load_later_marks(l, later);
    if (completed)
        mark_pending(s);
    return rc ? rc : look_at_keepers(l);
}

/* ---- Evidence ---- */

static int map_states(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
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
                                        .run = s->recorded.row.run};
    return rc;
}

static bool has_evidence(const struct loader *l, uint32_t task)
{
    const struct task_def *def = graph_def(&l->w->graph, task);
    return l->s->present.states.outcome[task] == CAIRN_COMPLETED &&
           (def->n_inputs || def->n_secrets ||
            (def->n_outputs && !l->options->ignore_outputs));
}

static int look_at_task(struct loader *l, struct evidence_source *source, uint32_t task,
                        struct buf *which)
{
    struct situation *s = l->s;
    struct cairn_error why = {0};
    int rc = evidence_look(source, task, &s->present.evidence[task], which, &why);
    if (rc == CAIRN_EDAMAGED) {
        /* Its result cannot be read: what it made cannot be vouched for. */
        situation_note(s, "the result of task %s is damaged, so it runs again: %s",
                       l->w->graph.id[task], why.text);
        s->present.evidence[task] = OUTPUT_DIFFERS;
        return 0;
    }
    if (rc)
        return error_set(l->error, rc, "task %s: %s", l->w->graph.id[task], why.text);
    if (s->present.evidence[task] != EVIDENCE_GOOD)
        s->present.which[task] = arena_text(&s->arena, buf_view(which));
    return 0;
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
                                     .content = l->options->check_outputs ==
                                                CAIRN_OUTPUTS_CONTENT};
    int rc = 0;
    s->present.evidence = calloc(n, 1);
    s->present.which = calloc(n, sizeof *s->present.which);
    if (!s->present.evidence || !s->present.which)
        return error_nomem(l->error);
    source.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool gone = source.root_fd < 0 && os_is_missing(errno) && *root;
    for (uint32_t task = 0; task < n && !rc; task++)
        if (has_evidence(l, task)) {
            rc = look_at_task(l, &source, task, &which);
            s->present.root_gone |= gone && s->present.evidence[task] != EVIDENCE_GOOD;
        }
    if (source.root_fd >= 0)
        close(source.root_fd);
    buf_release(&which);
    if (!rc && source.unknown_secret)
        situation_note(
            s, "a secret is not given here, so whether it changed cannot be told");
    return rc ? rc : s->arena.failed ? error_nomem(l->error) : 0;
}

/* ---- Conditions ---- */

static bool settled(struct loader *l, uint32_t task, const uint8_t *fate)
{
    const struct task_def *def = graph_def(&l->w->graph, task);
    struct arena scratch = ARENA_INIT;
    uint32_t *defs = NULL;
    int n = condition_referred(&l->w->definition, def, &scratch, &defs);
    bool yes = n >= 0;
    l->no_memory |= n < 0;
    for (int i = 0; i < n && yes; i++) {
        struct node_range range = lookup_referred(&l->w->graph, task, defs[i]);
        for (uint32_t k = 0; k < range.n && yes; k++)
            yes = !(fate[range.first + k] & FATE_UNSETTLED);
    }
    arena_release(&scratch);
    return yes;
}

/* A condition that cannot be evaluated makes the task fail: it is left to the run to
 * say so. One of `finally` can ask how the run ended. */
static enum condition look_at_condition(void *context, uint32_t task,
                                        const uint8_t *fate)
{
    struct loader *l = context;
    struct asker asker = {.lookup = &l->s->present.lookup, .task = task};
    struct scope scope = lookup_scope(&asker);
    bool holds = false;
    if (scope.def->finally || !settled(l, task, fate))
        return CONDITION_OPEN;
    int rc = condition_holds(&scope, &holds, NULL);
    l->no_memory |= rc == CAIRN_ENOMEM;
    if (rc)
        return CONDITION_OPEN;
    return holds ? CONDITION_YES : CONDITION_NO;
}

/* ---- The decision ---- */

static int refuse_change(struct loader *l)
{
    const struct decisions *d = &l->s->decisions;
    if (l->options->on_change != CAIRN_REFUSE || !l->s->recorded.exists ||
        !(d->changed + d->added + d->removed))
        return 0;
    return error_set(
        l->error, CAIRN_ECHANGED,
        "the workflow was edited since it was recorded: %u changed, %u new, "
        "%u removed tasks\nsee `cairn plan`; go on with --on-change=rerun "
        "or --on-change=keep",
        d->changed, d->added, d->removed);
}

static const char *plural(uint32_t n)
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
        situation_note(s, "run %llu was started from %.*s and goes on with %.*s",
                       (unsigned long long)s->recorded.row.run,
                       (int)s->recorded.row.file.len, s->recorded.row.file.ptr,
                       (int)file.len, file.ptr);
    for (uint32_t i = 0; i < l->w->definition.n_notes; i++)
        situation_note(s, "%s", l->w->definition.notes[i].ptr);
    uint32_t changed = d->changed - d->kept;
    if (changed)
        situation_note(s, "%u task%s changed since the last record", changed,
                       plural(changed));
    if (d->kept)
        situation_note(
            s,
            "%u finished task%s changed since, and %s kept; the new definition counts "
            "as done from now on",
            d->kept, plural(d->kept), d->kept == 1 ? "is" : "are");
    if (d->added)
        situation_note(s, "%u task%s new in the workflow", d->added,
                       d->added == 1 ? " is" : "s are");
    if (d->removed)
        situation_note(s, "%u recorded task%s not in the workflow any more and dropped",
                       d->removed, d->removed == 1 ? " is" : "s are");
}

static bool is_unknown(const struct situation *s, const struct graph *g, uint32_t task)
{
    return s->present.states.outcome[task] == CAIRN_UNKNOWN ||
           (graph_def(g, task)->once &&
            situation_mark(s, task) & (MARK_INTERRUPTED | MARK_DAMAGED | MARK_UNDOING));
}

static int decide_as_is(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    struct decisions d = {.n = g->n_tasks,
                          .fate = calloc(g->n_nodes, 1),
                          .reset = calloc(g->n_tasks, 1),
                          .reason = calloc(g->n_tasks, 1),
                          .cause = calloc(g->n_tasks, sizeof *d.cause)};
    s->decisions = d;
    if (!d.fate || !d.reset || !d.reason || !d.cause)
        return error_nomem(l->error);
    for (uint32_t task = 0; task < g->n_tasks; task++)
        if (is_unknown(s, g, task))
            d.reason[task] = CAIRN_REASON_UNKNOWN;
    return 0;
}

/* What must not run twice and has completed is not started again without a word. */
static void notice_repeats(struct loader *l)
{
    enum { SHOWN = 3 };
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    uint32_t n = 0;
    for (uint32_t task = 0; s->recorded.exists && task < g->n_tasks; task++) {
        bool again = graph_def(g, task)->once &&
                     s->present.states.outcome[task] == CAIRN_COMPLETED &&
                     s->decisions.fate[task] & (FATE_WILL | FATE_MAY);
        if (again && n++ < SHOWN)
            situation_note(
                s,
                "%s must not run twice if interrupted; it has completed, and "
                "runs again now (%s; `cairn explain %s`)",
                g->id[task], cairn_reason_name(s->decisions.reason[task]), g->id[task]);
    }
    if (n > SHOWN)
        situation_note(s, "and %u more such tasks", n - SHOWN);
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
                                 .evidence = s->present.evidence,
                                 .on_change = l->options->on_change,
                                 .condition = look_at_condition,
                                 .context = l};
    int rc = s->recorded.exists ? look_at_evidence(l) : 0;
    input.evidence = s->present.evidence;
    if (!rc)
        rc = decide(&input, &s->decisions, l->error);
    if (!rc && l->no_memory)
        rc = error_nomem(l->error);
    if (!rc) {
        notice_changes(l);
        notice_repeats(l);
    }
    return rc ? rc : refuse_change(l);
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
    int rc = s->recorded.exists ? load_marks(l) : 0;
    if (!rc)
        rc = map_states(l);
    if (!rc)
        rc = secrets_load(&s->secrets, &l->w->definition, l->options, l->error);
    if (!rc)
        rc = secrets_key(&s->secrets, l->store, false, l->error);
    if (rc)
        return rc;
    return l->as_is ? decide_as_is(l) : decide_anew(l, old);
}
