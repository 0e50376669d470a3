/* SPDX-License-Identifier: MIT */
/* What finished tasks have made: whether it is there as it was, who has
 * written it since, and whether what needs it can read it. */
#include "plan/evidence.h"

#include "plan/choice.h"
#include "plan/situation_int.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/os.h"
#include "graph/lists.h"
#include "graph/text_expand.h"
#include "runs/outputs.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct evidence_search {
    struct evidence_source *source;
    uint32_t task;
    struct scope scope;
    const struct result *result;
    struct buf directory;
    uint8_t *found;
    struct buf *which;
};

static void note_difference(struct evidence_search *k, uint8_t found, struct str name)
{
    *k->found = found;
    buf_clear(k->which);
    buf_str(k->which, name);
}

/* What was only touched is the same as long as nobody touches it again. */
static bool is_settled(const struct result_file *now)
{
    return clock_settled(now->changed_ns, clock_utc_ns());
}

/* The outputs are as they were recorded. */
static void note_outputs(struct evidence_search *k, const struct result_file *now)
{
    const struct states *states = k->source->lookup->states;
    if (k->source->index && states->outputs)
        output_index_add(k->source->index, &states->outputs[k->task], now,
                         k->result->n_outputs);
}

static bool same_sign(const struct result_file *a, const struct result_file *b)
{
    struct file_sign x = output_sign(a), y = output_sign(b);
    return a->kind == 'f' && memcmp(&x, &y, sizeof x) == 0;
}

/* 0: it is the same; 1: it is not, which is noted; or an error. */
static int compare_output(struct evidence_search *k, const struct result_file *file,
                          struct result_file *now, struct cairn_error *error)
{
    const struct file_view view = {.directory = buf_view(&k->directory),
                                   .content = k->source->check != CAIRN_OUTPUTS_EXIST,
                                   .trust_times =
                                       k->source->check == CAIRN_OUTPUTS_CHANGED,
                                   .digests = &k->source->lookup->digests,
                                   .stop = k->source->lookup->stop};
    enum file_state state;
    int rc = file_compare(&view, file, &state, now, error);
    if (rc || state == FILE_SAME)
        return rc;
    note_difference(k, state == FILE_MISSING ? OUTPUT_MISSING : OUTPUT_DIFFERS,
                    file->name);
    k->source->differs = *now;
    return 1;
}

static int compare_outputs(struct evidence_search *k, struct result_file *now,
                           struct cairn_error *error)
{
    bool settled = true;
    for (uint32_t i = 0; i < k->result->n_outputs; i++) {
        const struct result_file *file = &k->result->outputs[i];
        int rc = compare_output(k, file, &now[i], error);
        if (rc)
            return rc < 0 ? rc : 0;
        settled = settled && (same_sign(file, &now[i]) || is_settled(&now[i]));
    }
    if (settled)
        note_outputs(k, now);
    return 0;
}

static int look_at_recorded_outputs(struct evidence_search *k,
                                    struct cairn_error *error)
{
    size_t room = k->result->n_outputs ? k->result->n_outputs : 1;
    struct result_file *now = calloc(room, sizeof *now);
    int rc = now ? compare_outputs(k, now, error) : error_nomem(error);
    free(now);
    return rc;
}

/* Relative to the open root, so that its path is not resolved for every file: the rest
 * of the path, and in *from the directory that it starts in. */
static const char *shorten(const struct evidence_search *k, const char *path, int *from)
{
    struct str root = k->scope.definition->root;
    bool below = k->source->root_fd >= 0 && strncmp(path, root.ptr, root.len) == 0 &&
                 path[root.len] == '/' && path[root.len + 1] != '/' &&
                 path[root.len + 1];
    *from = below ? k->source->root_fd : AT_FDCWD;
    return below ? path + root.len + 1 : path;
}

/* 0: it is there. */
static int look_for(const struct evidence_search *k, const char *path)
{
    int from;
    const char *rest = shorten(k, path, &from);
    return faccessat(from, rest, F_OK, AT_EACCESS);
}

static bool has_sign(const struct evidence_search *k, const char *path,
                     const struct file_sign *sign)
{
    int from;
    const char *rest = shorten(k, path, &from);
    struct file_sign now;
    return file_sign_at(from, rest, path, &now) && now.kind == sign->kind &&
           memcmp(now.bytes, sign->bytes, sizeof now.bytes) == 0;
}

static bool has_fixed_outputs(const struct evidence_search *k)
{
    const struct task_def *def = k->scope.def;
    struct evidence_source *source = k->source;
    if (source->fixed_of == def)
        return source->fixed;
    source->fixed_of = def;
    source->fixed = true;
    for (uint32_t i = 0; i < def->n_outputs && source->fixed; i++)
        source->fixed = text_is_fixed(k->scope.definition, def->outputs[i]);
    return source->fixed;
}

/* Whether all outputs are as the index has them: then their result need not be read. */
static int look_at_index(struct evidence_search *k, bool *same,
                         struct cairn_error *error)
{
    const struct states *states = k->source->lookup->states;
    struct file_sign sign;
    struct files f;
    *same = false;
    if (!k->source->index || !states->outputs || !has_fixed_outputs(k))
        return 0;
    const struct digest *result = &states->outputs[k->task];
    int rc = files_begin(&f, &k->scope, false, error), more = 0;
    for (uint32_t i = 0; !rc && (more = files_step(&f, error)) > 0; i++)
        if (!output_index_find(k->source->index, result, f.n, i, &sign) ||
            !has_sign(k, f.path.data, &sign))
            break;
    *same = !rc && more == 0;
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

/* The file of that name as it was recorded, or NULL. */
static const struct result_file *recorded_output(const struct evidence_search *k,
                                                 struct str name)
{
    for (uint32_t i = 0; i < k->result->n_outputs; i++)
        if (str_equal(k->result->outputs[i].name, name))
            return &k->result->outputs[i];
    return NULL;
}

/* *same: the declared names are those that were recorded, which they are unless an edit
 * was kept. Names that depend on other tasks' values are taken for them: what they
 * stand for cannot have changed unless those tasks run again. */
static int match_names(struct evidence_search *k, bool *same, struct cairn_error *error)
{
    struct files f;
    int more = 0;
    *same = k->result->n_outputs == k->scope.def->n_outputs;
    if (!*same || !has_fixed_outputs(k))
        return 0;
    int rc = files_begin(&f, &k->scope, false, error);
    for (uint32_t i = 0; !rc && *same && (more = files_step(&f, error)) > 0; i++)
        *same = str_equal(k->result->outputs[i].name, buf_view(&f.name));
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

/* That it is there is enough. */
static int look_for_output(struct evidence_search *k, const struct files *f,
                           struct cairn_error *error)
{
    if (look_for(k, f->path.data) == 0)
        return 0;
    if (!os_is_missing(errno))
        return error_sys(error, errno, "cannot look at %s", f->path.data);
    note_difference(k, OUTPUT_MISSING, buf_view(&f->name));
    return 0;
}

/* Of what was not recorded, no more is known than that it must be there. */
static int look_for_outputs(struct evidence_search *k, struct cairn_error *error)
{
    struct files f;
    struct result_file now;
    int rc = files_begin(&f, &k->scope, false, error), more = 0;
    while (!rc && *k->found == EVIDENCE_GOOD && (more = files_step(&f, error)) > 0) {
        const struct result_file *file = recorded_output(k, buf_view(&f.name));
        rc =
            file ? compare_output(k, file, &now, error) : look_for_output(k, &f, error);
        rc = rc < 0 ? rc : 0;
    }
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

static int look_at_inputs(struct evidence_search *k, struct cairn_error *error)
{
    const struct file_view view = {.directory = buf_view(&k->directory),
                                   .content = true,
                                   .trust_times = true,
                                   .digests = &k->source->lookup->digests,
                                   .stop = k->source->lookup->stop};
    struct result_file now;
    enum file_state state;
    int rc = 0;
    for (uint32_t i = 0; i < k->result->n_inputs && !rc; i++) {
        const struct result_file *file = &k->result->inputs[i];
        rc = file_compare(&view, file, &state, &now, error);
        int removed =
            rc || state != FILE_SAME
                ? 0
                : lookup_removes(k->source->lookup, view.directory, file->name);
        if (removed < 0)
            rc = error_nomem(error);
        else if (removed)
            state = FILE_MISSING;
        if (rc || state == FILE_SAME)
            continue;
        note_difference(k, state == FILE_MISSING ? INPUT_MISSING : INPUT_DIFFERS,
                        file->name);
        break;
    }
    return rc;
}

/* Of an attempt that failed because of an input only that one is recorded, and nothing
 * where it failed before. */
static bool knows_all_inputs(const struct evidence_search *k)
{
    const struct result *r = k->result;
    return k->source->lookup->states->outcome[k->task] == CAIRN_COMPLETED ||
           (r->n_inputs && !file_was_unreadable(&r->inputs[0]));
}

/* A file that matches a pattern now and was not there then. The names come in the same
 * order. */
static int look_for_more_inputs(struct evidence_search *k, struct cairn_error *error)
{
    struct files f;
    int more = 0;
    uint32_t i = 0;
    if (!inputs_have_glob(k->scope.def) || !knows_all_inputs(k))
        return 0;
    int rc = files_begin(&f, &k->scope, true, error);
    while (!rc && (more = files_step(&f, error)) > 0 && i < k->result->n_inputs &&
           str_equal(k->result->inputs[i].name, buf_view(&f.name)))
        i++;
    if (!rc && more > 0)
        note_difference(k, INPUT_NEW, buf_view(&f.name));
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

static int look_at_secrets(struct evidence_search *k, struct cairn_error *error)
{
    const struct secrets *secrets = k->source->secrets;
    for (uint32_t i = 0; i < k->result->n_secrets; i++) {
        const struct secret_mark *mark = &k->result->secrets[i];
        struct digest now;
        if (!secrets->has_key || !secrets_value(secrets, mark->name).ptr) {
            k->source->unknown_secret = true;
            continue;
        }
        int rc = secrets_mark(secrets, mark->name, &now, error);
        if (rc)
            return rc;
        if (digest_equal(&now, &mark->mac))
            continue;
        note_difference(k, SECRET_DIFFERS, mark->name);
        break;
    }
    return 0;
}

/* `outputs`: they are to be looked at. */
static bool wants_result(const struct evidence_search *k, bool outputs)
{
    const struct task_def *def = k->scope.def;
    return task_def_has_inputs(def) || def->n_secrets ||
           (outputs &&
            (k->source->check != CAIRN_OUTPUTS_EXIST || !has_fixed_outputs(k)));
}

static int look_at_all(struct evidence_search *k, bool outputs,
                       struct cairn_error *error)
{
    bool recorded = k->result->n_inputs || k->result->n_outputs;
    int rc = recorded ? task_directory(&k->scope, &k->directory, error) : 0;
    bool recorded_so = false;
    if (!rc && outputs)
        rc = match_names(k, &recorded_so, error);
    if (!rc && outputs)
        rc = recorded_so ? look_at_recorded_outputs(k, error)
                         : look_for_outputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_at_inputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_for_more_inputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_at_secrets(k, error);
    return rc;
}

static int search(struct evidence_search *k, struct cairn_error *error)
{
    bool completed = k->source->lookup->states->outcome[k->task] == CAIRN_COMPLETED;
    bool outputs = completed && k->source->outputs && k->scope.def->n_outputs;
    bool same = false;
    int rc = outputs && k->source->check == CAIRN_OUTPUTS_CHANGED
                 ? look_at_index(k, &same, error)
                 : 0;
    outputs = outputs && !same;
    if (!rc && wants_result(k, outputs))
        rc = lookup_result(k->source->lookup, k->task, &k->result, error);
    return rc ? rc : look_at_all(k, outputs, error);
}

int evidence_look(struct evidence_source *source, uint32_t task, uint8_t *found,
                  struct buf *which, struct cairn_error *error)
{
    static const struct result nothing;
    struct asker asker = {.lookup = source->lookup, .task = task};
    struct evidence_search k = {.source = source,
                                .task = task,
                                .scope = lookup_scope(&asker),
                                .result = &nothing,
                                .found = found,
                                .which = which};
    *found = EVIDENCE_GOOD;
    int rc = search(&k, error);
    buf_release(&k.directory);
    return rc;
}

/* Who has written an output of a finished task since? An attempt that completed and
 * recorded the file as it is now: of another run that shares the directory, or of a
 * later task. What nobody declared as an output is nobody's. */

struct changed_output {
    uint32_t task;
    struct result_file now;
};

enum {
    CHANGED_MOST = 4096,
    RUNS_MOST = 50,      /* the newest ones are looked through */
    RESULTS_MOST = 20000 /* in all */
};

void changed_outputs_add(struct changed_outputs *changed, uint32_t task,
                         const struct result_file *now)
{
    if (changed->n == CHANGED_MOST)
        return;
    struct changed_output *at =
        array_room(changed->at, changed->n, &changed->capacity, sizeof *at);
    if (!at)
        return;
    changed->at = at;
    at[changed->n++] = (struct changed_output){task, *now};
}

void changed_outputs_release(struct changed_outputs *changed)
{
    free(changed->at);
}

struct writer_search {
    struct loader *l;
    struct changed_outputs *changed;
    struct run_row row; /* whose attempts are looked at; its texts are not ours */
    struct definition definition;
    struct graph graph;
    int loaded; /* 1: these are of the run; -1: they cannot be had */
    uint32_t results;
    struct others_search *others; /* only these runs; NULL: all */
};

static int by_inode(const void *a, const void *b)
{
    uint64_t x = ((const struct changed_output *)a)->now.inode;
    uint64_t y = ((const struct changed_output *)b)->now.inode;
    return (x > y) - (x < y);
}

/* The times of a directory do not tell what is in it. */
static bool is_it(const struct result_file *now, const struct result_file *recorded,
                  bool by_times)
{
    bool same_time = now->kind == 'f' && now->mtime_ns == recorded->mtime_ns;
    bool may_be_touched = !by_times || now->kind != 'f';
    return now->kind == recorded->kind && now->inode == recorded->inode &&
           now->size == recorded->size &&
           (same_time ||
            (may_be_touched && digest_equal(&now->digest, &recorded->digest)));
}

/* The name of a task of the run that is looked at; NULL: not to be had. */
static const char *task_name(struct writer_search *w, uint32_t task)
{
    struct cairn_error ignored;
    if (!w->loaded)
        w->loaded = generation_load(w->l->store, &w->row, w->row.gen, &w->definition,
                                    &w->graph, &ignored)
                        ? -1
                        : 1;
    return w->loaded > 0 && task < w->graph.n_tasks ? w->graph.id[task] : NULL;
}

static void forget_run(struct writer_search *w)
{
    if (w->loaded > 0) {
        graph_release(&w->graph);
        definition_release(&w->definition);
    }
    w->loaded = 0;
}

static int name_writer(struct writer_search *w, const struct changed_output *output,
                       uint32_t task)
{
    struct situation *s = w->l->s;
    struct present *p = &s->present;
    const char *name = task_name(w, task);
    struct buf text = BUF_INIT;
    if (!p->writer)
        p->writer = calloc(w->l->w->graph.n_tasks, sizeof *p->writer);
    if (!p->writer)
        return error_nomem(w->l->error);
    if (p->writer[output->task])
        return 0;
    buf_text(&text, name ? name : "a task");
    if (w->row.run != s->recorded.row.run)
        buf_format(&text, " of run %llu", (unsigned long long)w->row.run);
    p->writer[output->task] = arena_text(&s->arena, buf_view(&text));
    buf_release(&text);
    return 0;
}

static int match_file(struct writer_search *w, uint32_t task,
                      const struct result_file *file)
{
    struct changed_outputs *c = w->changed;
    uint32_t low = 0, high = c->n;
    int rc = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->at[middle].now.inode < file->inode)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->n && c->at[low].now.inode == file->inode && !rc; low++)
        if (is_it(&c->at[low].now, file, w->others != NULL))
            rc = name_writer(w, &c->at[low], task);
    return rc;
}

/* A result that cannot be read tells nothing. */
static int look_at_attempt(void *context, const struct attempt_row *row)
{
    struct writer_search *w = context;
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    struct digest digest;
    struct cairn_error ignored;
    int rc = 0;
    if (w->others && w->others->rows_left == 0)
        return 1;
    if (w->others)
        w->others->rows_left--;
    if (row->outputs.len != DIGEST_SIZE ||
        (w->others && row->ended_ns <= w->others->after_ns &&
         row->checkpoint <= w->others->since))
        return 0;
    if (!w->others && w->results++ == RESULTS_MOST)
        return 1;
    memcpy(digest.bytes, row->outputs.ptr, DIGEST_SIZE);
    if (result_load(w->l->store, &digest, &arena, &result, &ignored) == 0)
        for (uint32_t i = 0; i < result.n_outputs && !rc; i++)
            rc = match_file(w, row->task, &result.outputs[i]);
    arena_release(&arena);
    return rc;
}

/* 1: `run` was begun inside `outer`, however deep; 0: it was not; or an error. */
static int is_inside(struct cairn_store *store, uint64_t run, uint64_t outer,
                     struct cairn_error *error)
{
    enum { DEPTH_MOST = 100 };
    for (int depth = 0; depth < DEPTH_MOST; depth++) {
        struct run_parent parent;
        int rc = store_get_parent(store, run, &parent, error);
        if (rc < 0)
            return rc;
        if (!parent.run)
            return 0;
        if (parent.run == outer)
            return 1;
        run = parent.run;
    }
    return 0;
}

/* What a run does that was begun inside this one is this one's doing. One that is older
 * than this one, and had ended before, has written nothing since. */
static int is_other(const struct writer_search *w, const struct run_row *row)
{
    const struct others_search *o = w->others;
    bool over = row->run < o->run && row->ended_ns && row->ended_ns <= o->after_ns;
    if (row->run == o->run || over)
        return 0;
    int rc = is_inside(w->l->store, row->run, o->run, w->l->error)
                 ?: is_inside(w->l->store, o->run, row->run, w->l->error);
    return rc < 0 ? rc : !rc;
}

static int look_at_run(void *context, const struct run_row *row)
{
    struct writer_search *w = context;
    if (w->others && w->others->rows_left == 0)
        return 1;
    if (w->others)
        w->others->rows_left--;
    int other = w->others ? is_other(w, row) : 1;
    if (other <= 0)
        return other;
    int rc = 0;
    w->row = *row;
    for (; w->row.gen > 0 && rc == 0; w->row.gen--) {
        rc = store_each_run_attempt(w->l->store, row->run, w->row.gen, false,
                                    look_at_attempt, w, w->l->error);
        forget_run(w);
    }
    return rc < 0 ? rc : w->results > RESULTS_MOST;
}

static int find_writers(struct loader *l, struct changed_outputs *changed,
                        struct others_search *others)
{
    struct writer_search w = {.l = l, .changed = changed, .others = others};
    struct run_filter newest = {.limit = others ? 0 : RUNS_MOST};
    if (!changed->n || !l->store)
        return 0;
    qsort(changed->at, changed->n, sizeof *changed->at, by_inode);
    int rc = store_each_run(l->store, &newest, look_at_run, &w, l->error);
    return rc < 0 ? rc : 0;
}

int situation_find_writers(struct loader *l, struct changed_outputs *changed)
{
    return find_writers(l, changed, NULL);
}

int situation_find_other_writer(struct cairn_workflow *workflow,
                                struct cairn_store *store, struct others_search *others,
                                const struct result_file *now, struct buf *name,
                                struct cairn_error *error)
{
    struct situation s = {.recorded.row.run = others->run};
    struct loader l = {.s = &s, .w = workflow, .store = store, .error = error};
    struct changed_outputs changed = {0};
    changed_outputs_add(&changed, 0, now);
    int rc = find_writers(&l, &changed, others);
    if (!rc && s.present.writer && s.present.writer[0])
        buf_text(name, s.present.writer[0]);
    changed_outputs_release(&changed);
    free(s.present.writer);
    arena_release(&s.arena);
    return rc;
}

/* What a task that runs needs of finished ones: their values where its texts ask for
 * them, and where failures are undone, the undo commands that were stored. A finished
 * task whose result cannot be read does not stay finished if it is needed. */

/* The definitions whose values each definition asks for, found once. */
struct value_sources {
    struct arena arena;
    uint32_t **defs; /* [n_defs] */
    uint32_t *n;     /* [n_defs] */
    bool any;
};

static int find_sources(const struct definition *d, struct value_sources *sources,
                        struct cairn_error *error)
{
    sources->defs = arena_take(&sources->arena, d->n_defs, sizeof *sources->defs);
    sources->n = arena_take(&sources->arena, d->n_defs, sizeof *sources->n);
    if (!sources->defs || !sources->n)
        return error_nomem(error);
    for (uint32_t i = 0; i < d->n_defs; i++) {
        if (!may_ask_for_values(d, &d->defs[i]))
            continue;
        int n =
            definition_values_of(d, &d->defs[i], &sources->arena, &sources->defs[i]);
        if (n < 0)
            return error_nomem(error);
        sources->n[i] = (uint32_t)n;
        sources->any |= n > 0;
    }
    return 0;
}

void situation_lose_result(struct loader *l, uint32_t task, const char *why)
{
    struct situation *s = l->s;
    bool once = graph_def(&l->w->graph, task)->once;
    situation_add_notice(
        s, "the result of task %s cannot be read, so %s: %s", l->w->graph.id[task],
        once ? "whether it runs again must be decided" : "it runs again", why);
    s->present.evidence[task] = RESULT_LOST;
}

static bool stays_completed(const struct situation *s, uint32_t task)
{
    return s->present.states.outcome[task] == CAIRN_COMPLETED &&
           s->present.evidence[task] == EVIDENCE_GOOD &&
           s->decisions.fate[task] & FATE_COMPLETED;
}

/* 1: it cannot be read. */
static int check_result(struct loader *l, uint32_t task)
{
    const struct result *result;
    struct cairn_error why = {0};
    if (!stays_completed(l->s, task))
        return 0;
    int rc = lookup_result(&l->s->present.lookup, task, &result, &why);
    if (rc == CAIRN_EDAMAGED) {
        situation_lose_result(l, task, why.text);
        return 1;
    }
    return rc ? error_set(l->error, rc, "task %s: %s", l->w->graph.id[task], why.text)
              : 0;
}

static int check_values_for(struct loader *l, const struct value_sources *sources,
                            uint32_t task)
{
    const struct graph *g = &l->w->graph;
    uint32_t def = g->def_of[task];
    int lost = 0;
    for (uint32_t i = 0; i < sources->n[def]; i++) {
        struct node_range range = graph_referred(g, task, sources->defs[def][i]);
        for (uint32_t k = 0; k < range.n; k++) {
            int rc = check_result(l, node_at(range, k));
            if (rc < 0)
                return rc;
            lost |= rc;
        }
    }
    return lost;
}

/* From the last to the first, so that what is found lost counts as running itself. */
static int check_values(struct loader *l, const struct value_sources *sources)
{
    const struct situation *s = l->s;
    const struct graph *g = &l->w->graph;
    int lost = 0;
    for (uint32_t i = g->n_nodes; sources->any && i-- > 0;) {
        uint32_t node = g->order[i];
        if (graph_is_barrier(g, node) ||
            !(s->decisions.fate[node] & (FATE_WILL | FATE_MAY) ||
              s->present.evidence[node] == RESULT_LOST))
            continue;
        int rc = check_values_for(l, sources, node);
        if (rc < 0)
            return rc;
        lost |= rc;
    }
    return lost;
}

/* A failure may ask for any of them. */
static int check_undos(struct loader *l)
{
    const struct graph *g = &l->w->graph;
    int lost = 0;
    if (choice_on_failure(g->definition, l->options->on_failure) != ON_FAILURE_UNDO ||
        g->definition->undo_scope == UNDO_FAILED)
        return 0;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        int rc = graph_def(g, task)->undo.len ? check_result(l, task) : 0;
        if (rc < 0)
            return rc;
        lost |= rc;
    }
    return lost;
}

int situation_check_results(struct loader *l)
{
    const struct situation *s = l->s;
    struct value_sources sources = {0};
    if (!s->present.evidence || !(s->decisions.will + s->decisions.may))
        return 0;
    int rc = find_sources(&l->w->definition, &sources, l->error);
    int values = rc ? rc : check_values(l, &sources);
    int undos = values < 0 ? values : check_undos(l);
    arena_release(&sources.arena);
    return undos < 0 ? undos : values || undos;
}

/* ---- What is read of a task that is needed only for the order ---- */

struct maker_search {
    struct lookup *lookup;
    struct map by_path; /* outputs: the task that made them */
    struct arena arena; /* its keys */
    struct buf path;
};

static int add_outputs(struct maker_search *m, uint32_t task, struct cairn_error *error)
{
    struct asker asker = {.lookup = m->lookup, .task = task};
    struct scope scope = lookup_scope(&asker);
    struct files f;
    int more = files_begin(&f, &scope, false, NULL);
    while (more >= 0 && (more = files_step(&f, NULL)) > 0) {
        path_tidy(&f.path, true);
        struct str key = arena_str(&m->arena, buf_view(&f.path));
        if (m->arena.failed || map_add(&m->by_path, key, task, NULL) < 0)
            more = CAIRN_ENOMEM;
    }
    files_release(&f);
    return more == CAIRN_ENOMEM ? error_nomem(error) : 0; /* no name: no file */
}

static uint32_t find_maker(const struct maker_search *m)
{
    struct str path = buf_view(&m->path);
    uint32_t task = map_get(&m->by_path, path);
    while (task == MAP_NONE && path.len) {
        while (path.len && path.ptr[--path.len] != '/')
            continue;
        task = map_get(&m->by_path, path);
    }
    return task;
}

/* A member of a list that the other task makes is decided again when that list is
 * there, by the content of what it reads. */
static int add_makers(struct maker_search *m, uint32_t task, struct buf *makers,
                      struct cairn_error *error)
{
    struct asker asker = {.lookup = m->lookup, .task = task};
    struct scope scope = lookup_scope(&asker);
    const struct result *result;
    struct buf directory = BUF_INIT;
    size_t from = makers->size;
    int rc = lookup_result(m->lookup, task, &result, error);
    if (rc == CAIRN_EDAMAGED) /* it runs again */
        return 0;
    if (!rc)
        rc = task_directory(&scope, &directory, error);
    for (uint32_t i = 0; !rc && i < result->n_inputs; i++) {
        buf_clear(&m->path);
        buf_str(&m->path, buf_view(&directory));
        buf_path(&m->path, result->inputs[i].name);
        rc = buf_check(&m->path, error);
        if (rc)
            break;
        path_tidy(&m->path, true);
        uint32_t maker = find_maker(m);
        bool last =
            makers->size > from && memcmp(makers->data + makers->size - sizeof maker,
                                          &maker, sizeof maker) == 0;
        if (maker != MAP_NONE && maker != task && !last &&
            !task_def_takes_list(scope.def, graph_def(m->lookup->graph, maker)->id))
            buf_add(makers, &maker, sizeof maker);
    }
    buf_release(&directory);
    return rc ? rc : buf_check(makers, error);
}

static bool has_order_need(const struct task_def *def)
{
    bool has = false;
    for (uint32_t i = 0; i < def->n_needs && !has; i++)
        has = def->needs[i].order;
    return has;
}

static int fill_makers(struct loader *l, struct maker_search *m, const bool *reads)
{
    const struct graph *g = &l->w->graph;
    struct present *p = &l->s->present;
    uint32_t n = 0;
    int rc = 0;
    for (uint32_t task = 0; task < g->n_tasks; task++)
        n += graph_def(g, task)->n_outputs;
    p->first_maker = calloc((size_t)g->n_tasks + 1, sizeof *p->first_maker);
    if (!p->first_maker || map_reserve(&m->by_path, n) < 0)
        return error_nomem(l->error);
    for (uint32_t task = 0; task < g->n_tasks && !rc; task++)
        rc = graph_def(g, task)->n_outputs ? add_outputs(m, task, l->error) : 0;
    for (uint32_t task = 0; task < g->n_tasks && !rc; task++) {
        if (reads[g->def_of[task]] && p->states.outcome[task] == CAIRN_COMPLETED)
            rc = add_makers(m, task, &p->makers, l->error);
        p->first_maker[task + 1] = (uint32_t)(p->makers.size / sizeof(uint32_t));
    }
    return rc;
}

int situation_find_makers(struct loader *l)
{
    const struct definition *d = &l->w->definition;
    struct maker_search m = {.lookup = &l->s->present.lookup, .by_path = MAP_INIT};
    bool *reads = calloc(d->n_defs + 1, sizeof *reads), any = false;
    if (!reads)
        return error_nomem(l->error);
    for (uint32_t i = 0; i < d->n_defs; i++) {
        reads[i] = has_order_need(&d->defs[i]) && task_def_has_inputs(&d->defs[i]);
        any |= reads[i];
    }
    int rc = any ? fill_makers(l, &m, reads) : 0;
    map_release(&m.by_path);
    arena_release(&m.arena);
    buf_release(&m.path);
    free(reads);
    return rc;
}
