/* Finding out where a workflow stands. Order: which run, its states, its definition,
 * marks of unfinished tasks, outputs, the decision. */
#include "executor/situation.h"

#include "checkpoint/verify.h"
#include "executor/outputs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct loader {
    struct situation *s;
    struct cairn_workflow *w;
    struct cairn_store *store;
    const struct cairn_run_options *options;
    struct cairn_error *error;
};

static void notice(struct situation *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void notice(struct situation *s, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_add(&s->notices, text, strlen(text) + 1);
}

const char *situation_notice(const struct situation *s, size_t i)
{
    const char *at = s->notices.data, *end = at + s->notices.size;
    while (at < end && i-- > 0)
        at += strlen(at) + 1;
    return at < end ? at : NULL;
}

/* ---- Which run ---- */

int run_row_copy(struct run_row *to, const struct run_row *from, struct arena *arena,
                 struct cairn_error *error)
{
    *to = *from;
    to->workflow_name = arena_str(arena, from->workflow_name);
    to->params_text = arena_str(arena, from->params_text);
    to->file = arena_str(arena, from->file);
    to->owner_host = arena_str(arena, from->owner_host);
    to->owner_boot = arena_str(arena, from->owner_boot);
    return arena->failed ? error_nomem(error) : 0;
}

static int keep_row(void *context, const struct run_row *row)
{
    struct loader *l = context;
    return run_row_copy(&l->s->row, row, &l->s->arena, l->error);
}

static int newest_run(struct loader *l, const struct digest *params)
{
    uint64_t id = 0;
    struct cairn_error local = {0};
    l->s->row = (struct run_row){0};
    int result = store_workflow_id(l->store, l->w->definition.name, false, &id, &local);
    if (result == CAIRN_ENOTFOUND)
        return 0; /* it has no runs */
    if (result)
        return error_set(l->error, result, "%s", local.text);
    struct run_filter filter = {.workflow = id, .params = params, .limit = 1};
    return store_each_run(l->store, &filter, keep_row, l, l->error);
}

static int check_owner(struct loader *l, struct str name, const char *what, uint64_t id)
{
    struct str own = l->w->definition.name;
    if (str_equal(name, own))
        return 0;
    return error_set(
        l->error, CAIRN_EUSAGE, "%s %llu belongs to workflow `%.*s`, not to `%.*s`",
        what, (unsigned long long)id, (int)name.len, name.ptr, (int)own.len, own.ptr);
}

static int find_given_run(struct loader *l)
{
    uint64_t run = l->options->run;
    int result =
        run ? store_get_run(l->store, run, keep_row, l, l->error) : newest_run(l, NULL);
    if (result)
        return result;
    if (!l->s->row.run)
        return error_set(l->error, CAIRN_ENOTFOUND,
                         "workflow `%.*s` has no run to resume; start one with `cairn "
                         "run`",
                         (int)l->w->definition.name.len, l->w->definition.name.ptr);
    return check_owner(l, l->s->row.workflow_name, "run", l->s->row.run);
}

static int find_auto_run(struct loader *l)
{
    struct buf text = BUF_INIT;
    struct digest params;
    int result = workflow_params(l->w, &text, &params, l->error);
    buf_release(&text);
    if (!result)
        result = newest_run(l, &params);
    if (!result && l->s->row.state == CAIRN_RUN_COMPLETED)
        l->s->row = (struct run_row){0};
    return result;
}

/* ---- Its states ---- */

static int load_recovery(struct loader *l)
{
    struct situation *s = l->s;
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(l->error);
    int result = checkpoint_recover(l->store, sha, s->row.run, &s->recovery, l->error);
    sha256_free(sha);
    s->recovery.head.sha = NULL; /* the engine brings its own */
    if (result == CAIRN_ENOTFOUND)
        return error_set(l->error, CAIRN_EDAMAGED,
                         "run %llu has no checkpoint left; start again with `cairn run "
                         "--fresh`",
                         (unsigned long long)s->row.run);
    if (result)
        return result;
    s->recovered = s->recorded = true;
    for (size_t i = 0; i < s->recovery.n_damaged; i++)
        notice(s, "checkpoint workflow:%llu is damaged and was skipped: %s",
               (unsigned long long)s->recovery.damaged[i], s->recovery.reasons[i]);
    if (s->recovery.n_damaged) {
        char id[CAIRN_ID_MAX];
        checkpoint_id(NAMESPACE_WORKFLOW, s->recovery.newest.seq,
                      &s->recovery.newest.digest, id);
        notice(s, "going on from %s, the last valid checkpoint", id);
    }
    return states_copy(&s->before, &s->recovery.states, l->error);
}

static int load_fork(struct loader *l, struct digest *graph)
{
    struct situation *s = l->s;
    struct record_header header;
    struct checkpoint_ref ref;
    int result = checkpoint_find(l->store, l->options->from, &s->from_seq, l->error);
    if (!result)
        result = checkpoint_rebuild(l->store, s->from_seq, &s->before, graph, &header,
                                    &ref, l->error);
    if (!result)
        result = store_get_run(l->store, header.stream, keep_row, l, l->error);
    if (!result)
        result = check_owner(l, s->row.workflow_name, "checkpoint", s->from_seq);
    if (result)
        return result;
    s->recorded = true;
    s->from_run = header.stream;
    s->from_digest = ref.digest;
    s->row = (struct run_row){0};
    return 0;
}

/* ---- Its definition ---- */

int graph_load(struct cairn_store *store, const struct digest *digest,
               struct definition *definition, struct graph *graph,
               struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    int result = store_get_object(store, digest, &bytes, error);
    if (!result)
        result = definition_decode(buf_view(&bytes), definition, error);
    buf_release(&bytes);
    if (result) {
        error_context(error, "the stored definition of the run");
        return result;
    }
    result = graph_build(graph, definition, error);
    if (result)
        definition_release(definition);
    return result;
}

static int encode_definition(struct loader *l)
{
    struct situation *s = l->s;
    buf_clear(&s->encoded);
    int result = definition_encode(&l->w->definition, &s->encoded, l->error);
    return result ? result
                  : sha256_of(s->encoded.data, s->encoded.size, &s->graph, l->error);
}

/* Loads the recorded definition if it is not the present one; foreach members found on
 * disk are taken as they were recorded, which may make the two the same after all. */
static int load_old_graph(struct loader *l, const struct digest *recorded)
{
    struct situation *s = l->s;
    s->same_graph = digest_equal(recorded, &s->graph);
    if (s->same_graph)
        return 0;
    int result =
        graph_load(l->store, recorded, &s->old_definition, &s->old_graph, l->error);
    if (result)
        return result;
    s->old_loaded = true;
    result = workflow_reparse(l->w, &s->old_definition, l->error);
    if (!result)
        result = encode_definition(l);
    s->same_graph = digest_equal(recorded, &s->graph);
    return result;
}

/* ---- Marks ---- */

static int mark_attempt(void *context, const struct attempt_row *row)
{
    struct situation *s = context;
    if (row->task >= s->before.n)
        return 0; /* not of this graph: a damaged row; it decides nothing */
    if (row->number > s->last_attempt[row->task])
        s->last_attempt[row->task] = row->number;
    if (s->before.outcome[row->task] != CAIRN_PENDING)
        return 0;
    /* The newest attempt decides. One that completed although the task is pending means
     * a lost record only where records are damaged: otherwise the task was reset. */
    bool open = !row->ended_ns || row->flags & ATTEMPT_INTERRUPTED;
    bool lost =
        row->outcome == CAIRN_COMPLETED && (s->recovery.gap || s->recovery.n_damaged);
    s->marks[row->task] = open              ? MARK_INTERRUPTED
                          : lost            ? MARK_DAMAGED
                          : row->started_ns ? MARK_RESET
                                            : 0;
    return 0;
}

/* The generation of the run's graph that has this digest; 0: none. It is not the newest
 * when the record that began the newest is damaged. */
static int generation_of(struct loader *l, const struct digest *graph, uint32_t *gen)
{
    const struct run_row *row = &l->s->row;
    int result = 0;
    *gen = digest_equal(graph, &row->graph) ? row->gen : 0;
    for (uint32_t g = row->gen; !*gen && g > 1 && !result; g--) {
        struct digest earlier;
        result = store_get_run_graph(l->store, row->run, g - 1, &earlier, l->error);
        if (result == CAIRN_ENOTFOUND)
            result = 0;
        else if (!result && digest_equal(graph, &earlier))
            *gen = g - 1;
    }
    return result;
}

static int load_marks(struct loader *l)
{
    struct situation *s = l->s;
    s->marks = calloc((size_t)s->before.n + 1, 1);
    s->last_attempt = calloc((size_t)s->before.n + 1, sizeof *s->last_attempt);
    if (!s->marks || !s->last_attempt)
        return error_nomem(l->error);
    for (uint32_t i = 0; i < s->before.n; i++)
        if (s->before.outcome[i] != CAIRN_PENDING)
            s->last_attempt[i] = s->before.attempts[i];
    uint32_t gen = 0;
    int result = s->recovered ? generation_of(l, &s->recovery.graph, &gen) : 0;
    /* A completed run has nothing unfinished, unless records of it are lost. */
    bool whole = s->row.state == CAIRN_RUN_COMPLETED && !s->recovery.gap;
    if (result || !gen || whole)
        return result;
    return store_each_run_attempt(l->store, s->row.run, gen, false, mark_attempt, s,
                                  l->error);
}

/* ---- Outputs ---- */

static int look_at_output(struct loader *l, uint32_t task, uint32_t old,
                          struct buf *list)
{
    static const struct digest none;
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    struct digest digest;
    struct cairn_error why = {0};
    bool content = l->options->check_outputs == CAIRN_OUTPUTS_CONTENT &&
                   s->before.outputs && !digest_equal(&s->before.outputs[old], &none);
    int result = content ? outputs_list(g, task, list, &digest, &why)
                         : outputs_exist(g, task, &why);
    if (result == CAIRN_ENOTFOUND)
        s->outputs[task] = OUTPUT_MISSING;
    else if (result)
        return error_set(l->error, result, "task %s: %s", g->id[task], why.text);
    else if (content && !digest_equal(&digest, &s->before.outputs[old]))
        s->outputs[task] = OUTPUT_DIFFERS;
    return 0;
}

static int look_at_outputs(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    struct buf list = BUF_INIT;
    int result = 0;
    s->outputs = calloc(g->n_tasks, 1);
    if (!s->outputs)
        return error_nomem(l->error);
    for (uint32_t task = 0; task < g->n_tasks && !result; task++) {
        uint32_t old = s->old_task[task];
        if (graph_def(g, task)->n_outputs && old != NODE_NONE &&
            s->before.outcome[old] == CAIRN_COMPLETED)
            result = look_at_output(l, task, old, &list);
    }
    buf_release(&list);
    return result;
}

/* ---- The decision ---- */

static int refuse_change(struct loader *l)
{
    const struct decisions *d = &l->s->decisions;
    if (l->options->on_change != CAIRN_REFUSE || !l->s->recorded ||
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
    if (s->row.run && file.len && s->row.file.len && !str_equal(file, s->row.file))
        notice(s, "run %llu was started from %.*s and goes on with %.*s",
               (unsigned long long)s->row.run, (int)s->row.file.len, s->row.file.ptr,
               (int)file.len, file.ptr);
    uint32_t changed = d->changed - d->kept;
    if (changed)
        notice(
            s,
            "%u task%s changed since the last record; `cairn plan` tells what and why",
            changed, plural(changed));
    if (d->kept)
        notice(
            s,
            "%u finished task%s changed since, and %s kept; the new definition counts "
            "as done from now on",
            d->kept, plural(d->kept), d->kept == 1 ? "is" : "are");
    if (d->added)
        notice(s, "%u task%s new in the workflow", d->added,
               d->added == 1 ? " is" : "s are");
    if (d->removed)
        notice(s, "%u recorded task%s not in the workflow any more and dropped",
               d->removed, d->removed == 1 ? " is" : "s are");
}

static int make_decision(struct loader *l)
{
    struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    const struct graph *old = s->recorded ? situation_old(s, l->w) : NULL;
    s->old_task = malloc(g->n_tasks * sizeof *s->old_task);
    if (!s->old_task)
        return error_nomem(l->error);
    if (old && old->n_tasks != s->before.n)
        return error_set(l->error, CAIRN_EDAMAGED,
                         "the checkpoint is of %u tasks, the recorded definition of %u",
                         s->before.n, old->n_tasks);
    map_tasks(g, old, s->old_task);
    int result = s->recorded ? load_marks(l) : 0;
    if (!result && s->recorded && !l->options->ignore_outputs)
        result = look_at_outputs(l);
    if (result)
        return result;
    struct decide_input input = {.graph = g,
                                 .old = old,
                                 .old_task = s->old_task,
                                 .states = &s->before,
                                 .marks = s->marks,
                                 .outputs = s->outputs,
                                 .on_change = l->options->on_change};
    result = decide(&input, &s->decisions, l->error);
    if (!result)
        notice_changes(l);
    return result ? result : refuse_change(l);
}

static int load_all(struct loader *l)
{
    struct situation *s = l->s;
    struct digest graph;
    int result = encode_definition(l);
    if (result || !l->store)
        return result ? result : make_decision(l);
    if (l->options->start != CAIRN_START_RESUME)
        result = newest_run(l, NULL);
    s->latest_run = s->row.run;
    s->row = (struct run_row){0};
    if (!result && l->options->start == CAIRN_START_RESUME)
        result = find_given_run(l);
    else if (!result && l->options->start == CAIRN_START_AUTO)
        result = find_auto_run(l);
    else if (!result && l->options->start == CAIRN_START_FROM)
        result = load_fork(l, &graph);
    if (!result && s->row.run) {
        result = load_recovery(l);
        graph = s->recovery.graph;
    }
    if (!result && s->recorded)
        result = load_old_graph(l, &graph);
    return result ? result : make_decision(l);
}

int situation_load(struct situation *s, struct cairn_workflow *w,
                   struct cairn_store *store, const struct cairn_run_options *options,
                   struct cairn_error *error)
{
    static const struct cairn_run_options defaults;
    struct loader l = {s, w, store, options ? options : &defaults, error};
    *s = (struct situation){0};
    int result = cairn_workflow_compile(w, error);
    if (!result && store)
        result = store_begin_read(store, error);
    if (result)
        return result;
    result = load_all(&l);
    if (store)
        store_end_read(store);
    if (!result && s->notices.failed)
        result = error_nomem(error);
    if (result)
        situation_release(s);
    return result;
}

int situation_states(const struct situation *s, const struct cairn_workflow *w,
                     struct states *states, struct cairn_error *error)
{
    int result = states_init(states, w->graph.n_tasks, error);
    for (uint32_t task = 0; task < w->graph.n_tasks && !result; task++) {
        uint32_t old = s->old_task[task];
        if (s->decisions.runs[task] || old == NODE_NONE)
            continue;
        struct change change = {.task = task,
                                .outcome = s->before.outcome[old],
                                .attempts = s->before.attempts[old]};
        if (s->before.outputs)
            change.outputs = s->before.outputs[old];
        result = states_apply(states, &change, error);
    }
    if (result)
        states_release(states);
    return result;
}

void situation_release(struct situation *s)
{
    if (s->recovered)
        recovery_release(&s->recovery);
    states_release(&s->before);
    if (s->old_loaded) {
        graph_release(&s->old_graph);
        definition_release(&s->old_definition);
    }
    free(s->old_task);
    free(s->marks);
    free(s->last_attempt);
    free(s->outputs);
    decisions_release(&s->decisions);
    buf_release(&s->notices);
    buf_release(&s->encoded);
    arena_release(&s->arena);
    *s = (struct situation){0};
}
