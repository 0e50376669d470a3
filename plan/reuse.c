/* SPDX-License-Identifier: MIT */
#include "plan/reuse.h"

#include "base/clock.h"
#include "base/memory.h"
#include "graph/fingerprint.h"
#include "graph/lists.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"
#include "runs/kept.h"
#include "runs/marks.h"
#include "runs/stored.h"
#include "runs/values.h"
#include "storage/rows_attempt.h"
#include "storage/rows_files.h"

#include <stdio.h>
#include <stdlib.h>

enum trace { TRACE_NOT_SOUGHT, TRACE_KNOWN, TRACE_NONE };

/* ---- Opening ---- */

bool task_wants_reuse(const struct task_def *def)
{
    bool wants = def->reuse || def->cutoff;
    for (uint32_t j = 0; j < def->n_needs && !wants; j++)
        wants = def->needs[j].soft;
    return wants;
}

bool reuse_is_wanted(const struct definition *d)
{
    bool any = false;
    for (uint32_t i = 0; i < d->n_defs && !any; i++)
        any = task_wants_reuse(&d->defs[i]);
    return any;
}

/* A project that was moved with its store is where it was. */
static void set_place(struct reuse *r)
{
    struct str root = r->graph->definition->root;
    struct str home = str_of(cairn_store_path(r->store));
    while (home.len && home.ptr[home.len - 1] == '/')
        home.len--;
    while (home.len && home.ptr[home.len - 1] != '/')
        home.len--;
    /* The root has no slash at its end. */
    bool below = home.len && root.len + 1 >= home.len && *home.ptr == '/' &&
                 memcmp(root.ptr, home.ptr, home.len - 1) == 0 &&
                 (root.len + 1 == home.len || root.ptr[home.len - 1] == '/');
    size_t skip = below ? home.len - 1 : 0;
    sha256_begin(r->sha);
    sha256_add(r->sha, below ? "." : "", below);
    sha256_add(r->sha, root.ptr + skip, root.len - skip);
    sha256_end(r->sha, &r->place);
}

/* Of what is needed for the order alone, as services are, it does not matter what it
 * does. */
static bool is_followed(const struct graph *g, uint32_t node, uint32_t edge)
{
    return !graph_need_is_order(g, node, edge) &&
           !task_def_is_service(graph_def(g, g->needs[edge]));
}

/* In the order of the nodes, so that what a task needs is known before it. */
static void find_behind_cutoff(struct reuse *r)
{
    const struct graph *g = r->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        bool *behind = &r->behind_cutoff[g->def_of[node]];
        for (uint32_t e = g->need_start[node];
             !*behind && !graph_is_barrier(g, node) && e < g->need_start[node + 1]; e++)
            *behind =
                is_followed(g, node, e) &&
                (graph_need_is_soft(g, node, e) || graph_def(g, g->needs[e])->cutoff ||
                 r->behind_cutoff[g->def_of[g->needs[e]]]);
    }
}

int reuse_open(struct reuse *r, const struct reuse_options *o,
               struct cairn_error *error)
{
    const struct graph *g = o->graph;
    bool content = o->options->check_outputs == CAIRN_OUTPUTS_CONTENT;
    *r = (struct reuse){
        .graph = g,
        .store = o->store,
        .workflow = o->workflow,
        .none = o->options->no_reuse,
        .evidence = {.lookup = o->lookup,
                     .secrets = o->secrets,
                     .root_fd = -1,
                     .outputs = true,
                     .check = content ? CAIRN_OUTPUTS_CONTENT : CAIRN_OUTPUTS_CHANGED},
        .sha = sha256_new(),
        .fingerprints = malloc(g->n_tasks * sizeof *r->fingerprints),
        .traces = malloc(g->n_nodes * sizeof *r->traces),
        .known = calloc(g->n_nodes, 1),
        .behind_cutoff = calloc(g->definition->n_defs, sizeof *r->behind_cutoff),
        .leaves_list = calloc(g->definition->n_defs, sizeof *r->leaves_list)};
    if (!r->sha || !r->fingerprints || !r->traces || !r->known || !r->behind_cutoff ||
        !r->leaves_list)
        return error_nomem(error);
    definition_mark_makers(g->definition, NULL, r->leaves_list);
    find_behind_cutoff(r);
    set_place(r);
    int rc = graph_fingerprints(g, r->fingerprints, error);
    if (!rc && r->workflow)
        rc = store_has_reuse(r->store, r->workflow, &r->any, error);
    return rc;
}

void reuse_release(struct reuse *r)
{
    sha256_free(r->sha);
    buf_release(&r->scratch);
    free(r->fingerprints);
    free(r->traces);
    free(r->known);
    free(r->behind_cutoff);
    free(r->leaves_list);
    free(r->ran);
    *r = (struct reuse){0};
}

void reuse_forget(struct reuse *r)
{
    memset(r->known, TRACE_NOT_SOUGHT, r->graph->n_nodes);
    r->last = (struct node_range){0};
}

/* ---- Traces ---- */

static void put_files(struct buf *out, const struct result_file *files, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        buf_lstr(out, files[i].name);
        buf_byte(out, files[i].kind);
        buf_add(out, files[i].digest.bytes, DIGEST_SIZE);
    }
}

static void hash_bytes(struct reuse *r, const struct buf *bytes, struct digest *out)
{
    sha256_begin(r->sha);
    sha256_add(r->sha, bytes->data, bytes->size);
    sha256_end(r->sha, out);
}

/* As it ends where it does not run. */
static uint8_t outcome_of(const struct reuse *r, uint32_t task)
{
    uint16_t fate = r->fate ? r->fate[task] : 0;
    return fate & FATE_EXCLUDED ? CAIRN_EXCLUDED
           : fate & FATE_BAD    ? CAIRN_SKIPPED
                                : r->evidence.lookup->states->outcome[task];
}

/* The result of a completed task; NULL: it cannot be read. */
static int result_of(struct reuse *r, uint32_t task, const struct result **result,
                     struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = lookup_result(r->evidence.lookup, task, result, &why);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND) {
        *result = NULL;
        return 0;
    }
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

static bool has_content(const struct result *result)
{
    return result->n_outputs || result->n_values;
}

/* Whether the trace has those of its needs in it. */
static int follows_needs(struct reuse *r, uint32_t node, bool *follows,
                         struct cairn_error *error)
{
    const struct result *result;
    *follows = graph_is_barrier(r->graph, node);
    if (*follows || outcome_of(r, node) != CAIRN_COMPLETED)
        return 0;
    int rc = result_of(r, node, &result, error);
    *follows =
        !rc && result && has_content(result) && !graph_def(r->graph, node)->cutoff;
    return rc;
}

/* Adds those of the needs, which are known. False: one has none. */
static bool add_needs(struct reuse *r, uint32_t node)
{
    const struct graph *g = r->graph;
    for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++) {
        if (!is_followed(g, node, e))
            continue;
        if (r->known[g->needs[e]] != TRACE_KNOWN)
            return false;
        sha256_add(r->sha, r->traces[g->needs[e]].bytes, DIGEST_SIZE);
    }
    return true;
}

static void add_attempt(struct reuse *r, uint32_t task)
{
    const struct lookup *l = r->evidence.lookup;
    char text[64];
    int n = snprintf(text, sizeof text, "attempt %llu %u", (unsigned long long)l->run,
                     l->states->attempts[task]);
    sha256_add(r->sha, text, (size_t)n + 1);
}

static bool hash_result(struct reuse *r, uint32_t task, const struct result *result,
                        bool follows)
{
    const char *id = r->graph->id[task];
    sha256_add(r->sha, id, strlen(id) + 1);
    if (!has_content(result)) {
        add_attempt(r, task);
        return true;
    }
    struct buf *all = &r->scratch;
    buf_clear(all);
    put_files(all, result->outputs, result->n_outputs);
    put_pairs(all, result->values, result->n_values);
    if (follows) {
        buf_add(all, r->fingerprints[task].bytes, DIGEST_SIZE);
        put_files(all, result->inputs, result->n_inputs);
    }
    sha256_add(r->sha, all->data, all->size);
    return !follows || add_needs(r, task);
}

/* Of a node whose needs are known where that matters. `result`: NULL: as it is stored.
 */
static int make_trace(struct reuse *r, uint32_t node, bool follows,
                      const struct result *result, struct cairn_error *error)
{
    bool barrier = graph_is_barrier(r->graph, node);
    uint8_t outcome = barrier ? CAIRN_PENDING : outcome_of(r, node);
    bool own = !barrier && r->evidence.lookup->states->attempts[node];
    if (outcome == CAIRN_COMPLETED && !result) {
        int rc = result_of(r, node, &result, error);
        if (rc)
            return rc;
    }
    /* Not by its own attempt, which may say something else next time. */
    bool excluded = outcome == CAIRN_EXCLUDED && !own;
    bool known = excluded || outcome == CAIRN_SKIPPED || outcome == CAIRN_FAILED;
    sha256_begin(r->sha);
    sha256_add(r->sha,
               barrier                    ? "b"
               : excluded                 ? "x"
               : outcome == CAIRN_SKIPPED ? "s"
               : outcome == CAIRN_FAILED  ? "f"
                                          : "t",
               1);
    if (barrier)
        known = add_needs(r, node);
    else if (outcome == CAIRN_FAILED)
        add_attempt(r, node);
    else if (result)
        known = hash_result(r, node, result, follows);
    sha256_end(r->sha, &r->traces[node]);
    r->known[node] = known ? TRACE_KNOWN : TRACE_NONE;
    return buf_check(&r->scratch, error);
}

struct visit {
    uint32_t node, next; /* edge */
    bool follows;
};

/* The next need of a node whose trace is not known yet, or NODE_NONE. */
static uint32_t next_unknown(const struct reuse *r, struct visit *v)
{
    const struct graph *g = r->graph;
    for (; v->follows && v->next < g->need_start[v->node + 1]; v->next++)
        if (is_followed(g, v->node, v->next) &&
            r->known[g->needs[v->next]] == TRACE_NOT_SOUGHT)
            return g->needs[v->next];
    return NODE_NONE;
}

static int find_trace(struct reuse *r, uint32_t wanted, struct cairn_error *error)
{
    struct visit *stack = NULL;
    size_t n = 0, room = 0;
    uint32_t node = wanted;
    int rc = 0;
    while (!rc && (node != NODE_NONE || n)) {
        if (node != NODE_NONE) {
            struct visit *grown = array_room(stack, n, &room, sizeof *grown);
            if (!grown) {
                rc = error_nomem(error);
                break;
            }
            stack = grown;
            stack[n] = (struct visit){.node = node, .next = r->graph->need_start[node]};
            rc = follows_needs(r, node, &stack[n].follows, error);
            n++;
        }
        struct visit *top = &stack[n - 1];
        node = rc ? NODE_NONE : next_unknown(r, top);
        if (!rc && node == NODE_NONE) {
            rc = make_trace(r, top->node, top->follows, NULL, error);
            n--;
        }
    }
    free(stack);
    return rc;
}

/* 1: *trace; 0: it has none; or an error. */
static int trace_of(struct reuse *r, uint32_t node, struct digest *trace,
                    struct cairn_error *error)
{
    int rc = r->known[node] == TRACE_NOT_SOUGHT ? find_trace(r, node, error) : 0;
    if (rc || r->known[node] != TRACE_KNOWN)
        return rc;
    *trace = r->traces[node];
    return 1;
}

int reuse_saw_result(struct reuse *r, uint32_t task, const struct result *result,
                     struct cairn_error *error)
{
    const struct graph *g = r->graph;
    bool follows = has_content(result) && !graph_def(g, task)->cutoff;
    int rc = 0;
    for (uint32_t e = g->need_start[task];
         follows && e < g->need_start[task + 1] && !rc; e++)
        if (is_followed(g, task, e) && r->known[g->needs[e]] == TRACE_NOT_SOUGHT)
            rc = find_trace(r, g->needs[e], error);
    return rc ?: make_trace(r, task, follows, result, error);
}

int reuse_saw(struct reuse *r, uint32_t task, struct str encoded,
              struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    int rc = encoded.len ? result_decode(&arena, encoded, &result, error) : 0;
    if (!rc)
        rc = reuse_saw_result(r, task, &result, error);
    arena_release(&arena);
    return rc;
}

/* ---- Keys ---- */

static bool may_reuse(const struct reuse *r, uint32_t task)
{
    const struct task_def *def = graph_def(r->graph, task);
    return def->reuse && task_def_may_reuse(def) && !task_def_is_unlisted(def);
}

bool reuse_has_key(const struct reuse *r, uint32_t task)
{
    const struct task_def *def = graph_def(r->graph, task);
    bool stays = task_def_may_stay(def) && !task_def_is_unlisted(def) &&
                 r->behind_cutoff[r->graph->def_of[task]];
    return stays || may_reuse(r, task);
}

/* 1: added; 0: something has no value; or an error. */
static int add_text(struct reuse *r, const struct scope *scope, struct str text,
                    struct buf *key, struct cairn_error *error)
{
    struct cairn_error why = {0};
    buf_clear(&r->scratch);
    int rc = text_expand(scope, text, &r->scratch, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    buf_lstr(key, buf_view(&r->scratch));
    return rc == 0;
}

/* Its texts with their values: the fingerprint has them as they are written. */
static int add_texts(struct reuse *r, const struct scope *scope, struct buf *key,
                     struct cairn_error *error)
{
    const struct task_def *def = scope->def;
    int rc = 1;
    for (const struct task_field *const *field = reference_fields; *field && rc > 0;
         field++) {
        uint32_t n = reference_texts(*field, def);
        buf_varint(key, n);
        for (uint32_t i = 0; i < n && rc > 0; i++)
            rc = add_text(r, scope, reference_text(*field, def, i), key, error);
    }
    return rc;
}

/* The content of declared inputs, as it is now. */
static int add_inputs(struct reuse *r, const struct asker *asker, struct buf *key,
                      struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct result read = {0};
    struct cairn_error why = {0};
    if (!graph_def(r->graph, asker->task)->n_inputs)
        return 1;
    int rc = files_look(asker, true, &arena, &read, &why);
    put_files(key, read.inputs, read.n_inputs);
    arena_release(&arena);
    if (rc == CAIRN_ENOMEM || rc == CAIRN_ESTOPPED)
        return error_set(error, rc, "%s", why.text);
    return rc == 0; /* what is missing is said when it is started */
}

/* That of a group is made once for all of its tasks. */
static int trace_of_range(struct reuse *r, struct node_range range,
                          struct digest *trace, struct cairn_error *error)
{
    int rc = 1;
    if (range.n == r->last.n && range.at == r->last.at &&
        range.first == r->last.first) {
        *trace = r->last_trace;
        return 1;
    }
    struct buf all = BUF_INIT;
    for (uint32_t i = 0; i < range.n && rc > 0; i++) {
        rc = trace_of(r, node_at(range, i), trace, error);
        buf_add(&all, trace->bytes, DIGEST_SIZE);
    }
    if (rc > 0 && buf_check(&all, error))
        rc = CAIRN_ENOMEM;
    if (rc > 0) {
        hash_bytes(r, &all, trace);
        r->last = range;
        r->last_trace = *trace;
    }
    buf_release(&all);
    return rc;
}

/* Those whose values or files it asks for, which need not be among its needs. */
static int add_referred(struct reuse *r, uint32_t task, struct buf *key,
                        struct cairn_error *error)
{
    const struct task_def *def = graph_def(r->graph, task);
    struct arena arena = ARENA_INIT;
    uint32_t *defs = NULL;
    int rc = 1;
    if (!may_ask_for_values(r->graph->definition, def))
        return 1;
    int n = definition_values_of(r->graph->definition, def, &arena, &defs);
    if (n < 0)
        rc = error_nomem(error);
    for (int i = 0; i < n && rc > 0; i++) {
        struct digest trace = {{0}};
        struct node_range range = graph_referred(r->graph, task, defs[i]);
        rc = range.n ? trace_of_range(r, range, &trace, error) : 1;
        buf_add(key, trace.bytes, DIGEST_SIZE);
    }
    arena_release(&arena);
    return rc;
}

static int add_traces(struct reuse *r, uint32_t task, struct buf *key,
                      struct cairn_error *error)
{
    const struct graph *g = r->graph;
    int rc = 1;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && rc > 0; e++) {
        struct digest trace;
        if (!is_followed(g, task, e))
            continue;
        rc = trace_of(r, g->needs[e], &trace, error);
        buf_add(key, trace.bytes, DIGEST_SIZE);
    }
    return rc > 0 ? add_referred(r, task, key, error) : rc;
}

int reuse_key(struct reuse *r, uint32_t task, uint32_t attempt, struct digest *key,
              struct cairn_error *error)
{
    struct asker asker = {
        .lookup = r->evidence.lookup, .task = task, .attempt = attempt};
    struct scope scope = lookup_scope(&asker);
    struct buf all = BUF_INIT;
    buf_lstr(&all, STR("cairn-reuse 1"));
    buf_add(&all, r->place.bytes, DIGEST_SIZE);
    buf_lstr(&all, str_of(r->graph->id[task]));
    buf_add(&all, r->fingerprints[task].bytes, DIGEST_SIZE);
    int rc = add_traces(r, task, &all, error);
    if (rc > 0)
        rc = add_texts(r, &scope, &all, error);
    if (rc > 0)
        rc = add_inputs(r, &asker, &all, error);
    if (rc > 0 && (buf_check(&all, error) || buf_check(&r->scratch, error)))
        rc = CAIRN_ENOMEM;
    if (rc > 0)
        hash_bytes(r, &all, key);
    buf_release(&all);
    return rc;
}

/* ---- Finding ---- */

static void take_digest(struct str from, struct digest *to)
{
    *to = (struct digest){{0}};
    if (from.len == DIGEST_SIZE)
        memcpy(to->bytes, from.ptr, DIGEST_SIZE);
}

/* 1: it is not the one that completed with the result of the row. */
static int take_attempt(void *context, const struct attempt_row *row)
{
    struct reused *found = context;
    struct digest result;
    uint64_t origin = attempt_reused_from(row);
    take_digest(row->outputs, &result);
    if (row->outcome != CAIRN_COMPLETED || row->flags & ATTEMPT_UNDO ||
        !digest_equal(&result, &found->row.result))
        return 1;
    found->origin = origin ? origin : row->run;
    found->flags = row->flags & (ATTEMPT_MERGED | ATTEMPT_OUT_LIST | ATTEMPT_ERR_LIST);
    found->exit_code = row->exit_code;
    found->out_bytes = row->out_bytes;
    found->err_bytes = row->err_bytes;
    found->out_head = row->out_head;
    found->turn = row->start_turn;
    found->err_head = row->err_head;
    take_digest(row->out, &found->out);
    take_digest(row->err, &found->err);
    return 0;
}

/* ---- What has run since ---- */

struct ran_reader {
    struct reuse *r;
    struct run_row row;
    struct past_definition past;
    struct cairn_error *error;
};

static int note_ran(void *context, const struct attempt_row *row)
{
    struct ran_reader *reader = context;
    struct reuse *r = reader->r;
    uint32_t task;
    if (attempt_reused_from(row) || row->flags & ATTEMPT_UNDO)
        return 0;
    int rc = past_task(&reader->past, r->store, &reader->row, row->gen, row->task,
                       r->graph, &task, reader->error);
    if (!rc && task != NODE_NONE && row->start_turn > r->ran[task])
        r->ran[task] = row->start_turn;
    return rc;
}

/* Once, for all tasks: a look for each would cost as much as the run has attempts. */
static int find_ran(struct reuse *r, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct ran_reader reader = {.r = r, .error = error};
    uint64_t run = r->evidence.lookup->run;
    if (r->ran)
        return 0;
    r->ran = calloc(r->graph->n_nodes, sizeof *r->ran);
    int rc = r->ran ? run_row_get(&reader.row, r->store, run, &arena, error)
                    : error_nomem(error);
    if (!rc)
        rc = store_each_new_attempt(r->store, run, 0, note_ran, &reader, error);
    past_definition_release(&reader.past);
    arena_release(&arena);
    return rc;
}

void reuse_ran(struct reuse *r, uint32_t task)
{
    if (r->ran)
        r->ran[task] = UINT64_MAX;
}

/* All of a group have ended: what is found is so for good. */
static uint64_t ran_of(struct reuse *r, uint32_t node)
{
    const struct graph *g = r->graph;
    uint64_t *ran = &r->ran[node];
    if (graph_is_barrier(g, node) && !*ran)
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
            *ran = r->ran[g->needs[e]] > *ran ? r->ran[g->needs[e]] : *ran;
    return *ran;
}

/* 1: something that it needs has run since that attempt of this run. Whatever came out,
 * the task runs again, unless it is cut off from that; 0; or an error. */
static int has_run_since(struct reuse *r, uint32_t task, const struct reused *found,
                         struct cairn_error *error)
{
    const struct graph *g = r->graph;
    int rc = find_ran(r, error);
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1] && !rc; e++) {
        uint32_t need = g->needs[e];
        rc = is_followed(g, task, e) && !graph_def(g, need)->cutoff &&
             ran_of(r, need) > found->turn;
    }
    return rc;
}

/* The nominated attempt. 1: found; 0: none that may be used; or an error. */
static int find_attempt(struct reuse *r, uint32_t task, struct reused *found,
                        struct cairn_error *error)
{
    struct cairn_error why = {0};
    found->row.workflow = r->workflow;
    int rc = store_get_reuse(r->store, &found->row, error);
    if (rc <= 0)
        return rc;
    found->own = found->row.run == r->evidence.lookup->run &&
                 found->row.attempt == found->newest;
    if (!found->own && (r->none || !may_reuse(r, task)))
        return 0;
    const struct attempt_row row = {.run = found->row.run,
                                    .gen = found->row.gen,
                                    .task = found->row.task,
                                    .number = found->row.attempt};
    rc = store_get_attempt(r->store, &row, take_attempt, found, &why);
    if (rc < 0 && rc != CAIRN_ENOTFOUND)
        return error_set(error, rc, "%s", why.text);
    if (!rc && found->own && (r->none || !may_reuse(r, task)))
        rc = has_run_since(r, task, found, error);
    return rc < 0 && rc != CAIRN_ENOTFOUND ? rc : rc == 0;
}

int reuse_has_artifacts(struct reuse *r, uint32_t task, const struct reused *found,
                        struct cairn_error *error)
{
    struct files_row row = {.run = found->row.run, .id = str_of(r->graph->id[task])};
    const struct task_def *def = graph_def(r->graph, task);
    if (found->own || !def->n_artifacts || def->artifacts_when == ARTIFACTS_FAILURE)
        return 1;
    int rc = store_get_files(r->store, &row, error);
    return rc > 0 ? row.attempt == found->row.attempt : rc;
}

/* Has it recorded all lists that others take from its files? 1, 0, CAIRN_ENOMEM. */
static int has_lists(const struct reuse *r, uint32_t task, const struct result *result)
{
    const struct definition *d = r->graph->definition;
    uint32_t maker = r->graph->def_of[task];
    struct list_spec spec;
    struct buf name = BUF_INIT;
    bool has = true;
    for (uint32_t i = 0; i < d->n_defs && has && r->leaves_list[maker]; i++)
        for (uint32_t k = 0; k < d->defs[i].n_foreach && has; k++) {
            if (!list_spec_of(&d->defs[i].foreach[k], &spec) ||
                spec.form == LIST_VALUE || !str_equal(spec.task, d->defs[maker].id))
                continue;
            buf_clear(&name);
            list_spec_key(&spec, &name);
            has = !name.failed &&
                  values_find(result->values, result->n_values, buf_view(&name));
        }
    bool failed = name.failed;
    buf_release(&name);
    return failed ? CAIRN_ENOMEM : has;
}

/* Has it left what can be used in its place: all of its outputs, or values, and lists?
 * 1, 0, CAIRN_ENOMEM. */
static int is_whole(const struct reuse *r, uint32_t task, const struct reused *found,
                    const struct result *result)
{
    if (result->n_outputs != graph_def(r->graph, task)->n_outputs ||
        (!found->own && (!has_content(result) || result->undo.text.len)))
        return 0;
    return found->own ? 1 : has_lists(r, task, result);
}

/* Copies of its outputs are in the store: 1, and which; else 0. */
static int has_copies(struct reuse *r, uint32_t task, struct reused *found,
                      struct cairn_error *error)
{
    struct files_row row = {
        .kind = FILES_KEPT, .run = found->row.run, .id = str_of(r->graph->id[task])};
    if (found->own || r->none || !graph_def(r->graph, task)->reuse_ms)
        return 0;
    int rc = store_get_files(r->store, &row, error);
    if (rc <= 0 || row.attempt != found->row.attempt || row.gen != found->row.gen ||
        row.until_ns <= clock_utc_ns())
        return rc < 0 ? rc : 0;
    found->kept = row.files;
    return kept_is_there(r->store, &row.files, &found->kept_bytes, error);
}

/* `outputs`: also at these. */
static int look(struct reuse *r, uint32_t task, bool outputs, uint8_t *evidence,
                struct cairn_error *error)
{
    struct buf which = BUF_INIT;
    r->evidence.unknown_secret = false;
    r->evidence.outputs = outputs;
    int rc = evidence_look(&r->evidence, task, evidence, &which, error);
    r->evidence.outputs = true;
    buf_release(&which);
    return rc;
}

/* 1: what it read and made is as it was, or can be put back. */
static int is_good(struct reuse *r, uint32_t task, struct reused *found,
                   struct cairn_error *error)
{
    const struct result *result;
    struct cairn_error why = {0};
    uint8_t evidence = EVIDENCE_GOOD;
    int rc = result_of(r, task, &result, error);
    if (rc || !result)
        return rc;
    rc = is_whole(r, task, found, result);
    if (rc <= 0)
        return rc ? error_nomem(error) : 0;
    rc = reuse_has_artifacts(r, task, found, error);
    if (rc <= 0)
        return rc;
    rc = look(r, task, true, &evidence, &why);
    if (!rc && (evidence == OUTPUT_MISSING || evidence == OUTPUT_DIFFERS)) {
        int kept = has_copies(r, task, found, error);
        if (kept <= 0)
            return kept;
        found->put_back = true;
        rc = look(r, task, false, &evidence, &why);
    }
    if (rc == CAIRN_ENOMEM || rc == CAIRN_ESTOPPED)
        return error_set(error, rc, "%s", why.text);
    return !rc && evidence == EVIDENCE_GOOD && !r->evidence.unknown_secret;
}

int reuse_set_state(struct reuse *r, const struct change *change,
                    struct cairn_error *error)
{
    struct lookup *l = r->evidence.lookup;
    lookup_forget(l, change->task);
    /* The lookup's states are the caller's, who has lent them for this. */
    return states_apply((struct states *)(uintptr_t)l->states, change, error);
}

struct change reuse_state(const struct reuse *r, uint32_t task)
{
    const struct states *states = r->evidence.lookup->states;
    struct change change = {.task = task,
                            .outcome = states->outcome[task],
                            .attempts = states->attempts[task]};
    if (states->outputs)
        change.outputs = states->outputs[task];
    return change;
}

int reuse_take(struct reuse *r, uint32_t task, const struct reused *found,
               struct cairn_error *error)
{
    const struct change completed = {.task = task,
                                     .outcome = CAIRN_COMPLETED,
                                     .attempts = found->row.attempt,
                                     .outputs = found->row.result};
    return reuse_set_state(r, &completed, error);
}

int reuse_take_back(struct reuse *r, uint32_t task, struct cairn_error *error)
{
    const struct change pending = {.task = task};
    return reuse_set_state(r, &pending, error);
}

int reuse_find(struct reuse *r, uint32_t task, struct reused *found,
               struct cairn_error *error)
{
    struct change before = reuse_state(r, task);
    int rc = find_attempt(r, task, found, error);
    if (rc <= 0)
        return rc;
    rc = reuse_take(r, task, found, error) ?: is_good(r, task, found, error);
    if (rc <= 0 || found->put_back) {
        int failed = reuse_set_state(r, &before, error);
        rc = failed ? failed : rc;
    }
    found->put_back = found->put_back && rc > 0;
    return rc;
}
