/* SPDX-License-Identifier: MIT */
/* Which attempts made a file: by where it is, and by what is in it, wherever it is now.
 * Every result that the store has is looked at, the newest runs first. */
#include "base/memory.h"
#include "base/os.h"
#include "base/words.h"
#include "cairn/runs.h"
#include "runs/lookup.h"
#include "runs/marks.h"
#include "runs/outputs.h"
#include "runs/stored.h"
#include "storage/rows_attempt.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An output of one attempt that is, or was, the file. */
struct made_output {
    struct digest result;
    uint32_t gen, task, attempt, output;
    int64_t started_ns, ended_ns;
    uint64_t reused_from;
    bool same, here;
};

struct whence {
    struct cairn_store *store;
    struct buf place;       /* where the file is: absolute, no links above it */
    struct result_file now; /* kind 0: there is none */
    struct run_row row;     /* the run that is looked at, its texts views */
    uint32_t gen;
    struct past_definition past; /* its root is where that is now */
    struct states none;          /* of its tasks: none has ended */
    struct lookup lookup;        /* of both */
    struct made_output *at;      /* of that run */
    size_t n, capacity;
    bool all;                /* each is reported, else ... */
    struct made_output best; /* ... the one with the highest rank, ... */
    uint64_t best_run;       /* ... of this run; 0: none was found */
    bool found;
    int (*each)(void *context, const struct cairn_maker *maker);
    void *context;
    struct cairn_error *error;
};

/* ---- Places ---- */

static struct str last_part(struct str path)
{
    size_t at = path.len;
    while (at && path.ptr[at - 1] != '/')
        at--;
    return (struct str){path.ptr + at, path.len - at};
}

/* *end: so much of the path leads to a directory that is there, which is `real`. */
static int find_directory(struct str path, size_t *end, char real[PATH_MAX],
                          struct cairn_error *error)
{
    struct buf above = BUF_INIT;
    bool there = false;
    int rc = 0;
    *end = path.len;
    while (!there && !rc && *end) {
        *end -= last_part((struct str){path.ptr, *end}).len;
        buf_clear(&above);
        buf_str(&above, (struct str){path.ptr, *end});
        buf_text(&above, ".");
        rc = buf_check(&above, error);
        there = !rc && realpath(above.data, real);
        while (!there && *end && path.ptr[*end - 1] == '/')
            --*end;
    }
    if (!there)
        real[0] = '\0';
    buf_release(&above);
    return rc;
}

/* Absolute, and without links above the file, as far as its directories are there; the
 * rest as it is written, but for dots. */
static int find_place(struct str path, struct buf *out, struct cairn_error *error)
{
    char real[PATH_MAX];
    size_t at;
    int rc = find_directory(path, &at, real, error);
    if (rc)
        return rc;
    buf_clear(out);
    buf_text(out, real);
    while (at < path.len) {
        const char *part = path.ptr + at, *end = memchr(part, '/', path.len - at);
        size_t n = end ? (size_t)(end - part) : path.len - at;
        if (n != 1 || part[0] != '.')
            buf_path(out, (struct str){part, n});
        at += n + 1;
    }
    return buf_check(out, error);
}

static void forget_generation(struct whence *w)
{
    lookup_release(&w->lookup);
    states_release(&w->none);
    past_definition_release(&w->past);
}

static int load_generation(struct whence *w, uint32_t gen)
{
    struct buf root = BUF_INIT;
    if (w->past.gen == gen)
        return 0;
    forget_generation(w);
    int rc = past_definition_load(&w->past, w->store, &w->row, gen, w->error);
    struct definition *d = &w->past.definition;
    if (!rc)
        rc = moved_store_directory(w->store, &w->row, d->root, &root, w->error)
                 ?: states_init(&w->none, w->past.graph.n_tasks, w->error);
    if (!rc) {
        d->root = arena_str(&d->arena, buf_view(&root));
        rc = d->arena.failed ? error_nomem(w->error) : 0;
    }
    buf_release(&root);
    if (rc)
        forget_generation(w);
    else
        w->lookup = (struct lookup){.graph = &w->past.graph, .states = &w->none};
    return rc;
}

/* Where the output lies, from the directory of the workflow as it is now. */
static int place_output(struct whence *w, const struct scope *scope, struct str name,
                        struct buf *place)
{
    struct buf inside = BUF_INIT, path = BUF_INIT;
    int rc = task_file_place(scope, name, &inside, w->error);
    if (!rc) {
        buf_str(&path, w->past.definition.root);
        buf_path(&path, buf_view(&inside));
        rc = buf_check(&path, w->error);
    }
    if (!rc)
        rc = find_place(buf_view(&path), place, w->error);
    buf_release(&inside);
    buf_release(&path);
    return rc;
}

/* ---- Looking ---- */

/* Where the definition is gone, or the place depends on a value, an output is found by
 * its content alone. */
static int is_here(struct whence *w, uint32_t task, struct str name, bool *here)
{
    struct buf place = BUF_INIT;
    *here = false;
    if (!str_equal(last_part(name), last_part(buf_view(&w->place))))
        return 0;
    int rc = load_generation(w, w->gen);
    if (!rc && task < w->past.graph.n_tasks) {
        struct asker asker = {.lookup = &w->lookup, .task = task};
        struct scope scope = lookup_scope(&asker);
        rc = place_output(w, &scope, name, &place);
        *here = !rc && str_equal(buf_view(&place), buf_view(&w->place));
    }
    buf_release(&place);
    return rc == CAIRN_ENOMEM ? rc : 0;
}

/* An empty file tells nothing of who made it. */
static bool is_same(const struct result_file *now, const struct result_file *made)
{
    return now->kind && now->kind == made->kind && now->size == made->size &&
           !digest_is_none(&made->digest) && digest_equal(&now->digest, &made->digest);
}

static int look_at_output(struct whence *w, const struct attempt_row *row,
                          const struct digest *result, const struct result_file *made,
                          uint32_t output)
{
    struct made_output found = {.result = *result,
                                .gen = w->gen,
                                .task = row->task,
                                .attempt = row->number,
                                .output = output,
                                .started_ns = row->started_ns,
                                .ended_ns = row->ended_ns,
                                .reused_from = attempt_reused_from(row),
                                .same = is_same(&w->now, made)};
    int rc = is_here(w, row->task, made->name, &found.here);
    if (rc || (!found.here && !(found.same && (made->size || made->kind == 'd'))))
        return rc;
    struct made_output *at = array_room(w->at, w->n, &w->capacity, sizeof *at);
    if (!at)
        return error_nomem(w->error);
    w->at = at;
    at[w->n++] = found;
    return 0;
}

static int look_at_attempt(void *context, const struct attempt_row *row)
{
    struct whence *w = context;
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    struct digest digest;
    struct cairn_error unreadable = {0};
    if (row->outputs.len != DIGEST_SIZE || row->outcome != CAIRN_COMPLETED ||
        row->flags & ATTEMPT_UNDO)
        return 0;
    memcpy(digest.bytes, row->outputs.ptr, DIGEST_SIZE);
    int rc = result_load(w->store, &digest, &arena, &result, &unreadable);
    if (rc == CAIRN_ENOMEM)
        error_nomem(w->error);
    else
        rc = 0;
    for (uint32_t i = 0; i < result.n_outputs && !rc; i++)
        rc = look_at_output(w, row, &digest, &result.outputs[i], i);
    arena_release(&arena);
    return rc;
}

static int newest_first(const void *a, const void *b)
{
    const struct made_output *x = a, *y = b;
    return (x->ended_ns < y->ended_ns) - (x->ended_ns > y->ended_ns);
}

/* ---- Telling ---- */

static int list_inputs(struct whence *w, const struct scope *scope,
                       const struct result *result, struct arena *arena,
                       struct cairn_maker *maker)
{
    static const enum cairn_input_now words[] = {[FILE_SAME] = CAIRN_INPUT_SAME,
                                                 [FILE_MISSING] = CAIRN_INPUT_GONE,
                                                 [FILE_DIFFERS] = CAIRN_INPUT_DIFFERS};
    struct buf directory = BUF_INIT;
    int rc = task_directory(scope, &directory, w->error);
    bool placed = !rc; /* else it depends on a value */
    struct file_view view = {
        .directory = buf_view(&directory), .content = true, .trust_times = true};
    struct cairn_maker_input *inputs =
        arena_take(arena, result->n_inputs, sizeof *inputs);
    rc = rc == CAIRN_ENOMEM ? rc : 0;
    for (uint32_t i = 0; i < result->n_inputs && !rc && inputs; i++) {
        const struct result_file *file = &result->inputs[i];
        struct result_file now;
        enum file_state state = FILE_DIFFERS;
        bool known = placed || file->name.ptr[0] == '/';
        char hex[DIGEST_HEX_SIZE];
        if (known)
            rc = file_compare(&view, file, &state, &now, w->error);
        digest_hex(&file->digest, hex);
        inputs[i] = (struct cairn_maker_input){
            .name = arena_text(arena, file->name),
            .sha256 =
                digest_is_none(&file->digest) ? NULL : arena_text(arena, str_of(hex)),
            .size = file->size,
            .directory = file->kind == 'd',
            .now = known ? words[state] : CAIRN_INPUT_UNKNOWN};
    }
    maker->inputs = inputs;
    maker->n_inputs = result->n_inputs;
    buf_release(&directory);
    return rc ? rc : arena->failed ? error_nomem(w->error) : 0;
}

static const char *command_text(const struct task_def *def, struct arena *arena)
{
    struct buf text = BUF_INIT;
    buf_str(&text, def->run);
    for (uint32_t i = 0; i < def->n_argv; i++) {
        if (i)
            buf_byte(&text, ' ');
        buf_shell_word(&text, def->argv[i]);
    }
    const char *copy = text.size ? arena_text(arena, buf_view(&text)) : NULL;
    arena->failed |= text.failed;
    buf_release(&text);
    return copy;
}

/* What the task was, as far as that is still known. */
static int describe_task(struct whence *w, const struct made_output *made,
                         const struct result *result, struct arena *arena,
                         struct cairn_maker *maker)
{
    const struct graph *g = &w->past.graph;
    struct asker asker = {.lookup = &w->lookup, .task = made->task};
    struct buf place = BUF_INIT;
    struct digest graph;
    char hex[DIGEST_HEX_SIZE];
    int rc = load_generation(w, made->gen);
    if (rc || made->task >= g->n_tasks)
        return rc == CAIRN_ENOMEM ? rc : 0;
    struct scope scope = lookup_scope(&asker);
    maker->task = arena_text(arena, str_of(g->id[made->task]));
    maker->command = command_text(scope.def, arena);
    if (run_graph(w->store, &w->row, made->gen, &graph, w->error) == 0) {
        digest_hex(&graph, hex);
        maker->definition = arena_text(arena, str_of(hex));
    }
    if (place_output(w, &scope, result->outputs[made->output].name, &place) == 0)
        maker->path = arena_text(arena, buf_view(&place));
    buf_release(&place);
    return list_inputs(w, &scope, result, arena, maker);
}

static int report(struct whence *w, const struct made_output *made)
{
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    struct buf file = BUF_INIT;
    char hex[DIGEST_HEX_SIZE];
    int rc = result_load(w->store, &made->result, &arena, &result, w->error);
    if (!rc && made->output < result.n_outputs) {
        const struct result_file *output = &result.outputs[made->output];
        int there = moved_store_find(w->store, &w->row, &file, NULL);
        digest_hex(&output->digest, hex);
        struct cairn_maker maker = {
            .run = w->row.run,
            .workflow = arena_text(&arena, w->row.workflow_name),
            .file = there >= 0 ? arena_text(&arena, buf_view(&file)) : NULL,
            .attempt = made->attempt,
            .started_ns = made->started_ns,
            .ended_ns = made->ended_ns,
            .reused_from = made->reused_from,
            .output = arena_text(&arena, output->name),
            .sha256 = hex,
            .size = output->size,
            .directory = output->kind == 'd',
            .same = made->same,
            .here = made->here};
        rc = describe_task(w, made, &result, &arena, &maker);
        if (!rc && arena.failed)
            rc = error_nomem(w->error);
        if (!rc) {
            w->found = true;
            rc = w->each(w->context, &maker) ? 1 : 0;
        }
    }
    buf_release(&file);
    arena_release(&arena);
    return rc;
}

/* With this content in this place, with this content elsewhere, or in this place. */
static int rank_of(const struct made_output *made)
{
    return 2 * made->same + made->here;
}

enum { RANK_BEST = 3 };

/* Keeps the newest of the best; 1: there can be no better one. */
static int keep_best(struct whence *w, const struct made_output *made)
{
    if (!w->best_run || rank_of(made) > rank_of(&w->best)) {
        w->best = *made;
        w->best_run = w->row.run;
    }
    return rank_of(&w->best) == RANK_BEST;
}

static void begin_run(struct whence *w, const struct run_row *row)
{
    w->row = *row;
    w->n = 0;
    forget_generation(w);
}

static int look_at_run(void *context, const struct run_row *row)
{
    struct whence *w = context;
    int rc = 0;
    begin_run(w, row);
    for (w->gen = row->gen; w->gen > 0 && rc == 0; w->gen--)
        rc = store_each_run_attempt(w->store, row->run, w->gen, false, look_at_attempt,
                                    w, w->error);
    if (w->n)
        qsort(w->at, w->n, sizeof *w->at, newest_first);
    for (size_t i = 0; i < w->n && !rc; i++)
        rc = w->all ? report(w, &w->at[i]) : keep_best(w, &w->at[i]);
    return rc;
}

static int report_best(void *context, const struct run_row *row)
{
    struct whence *w = context;
    begin_run(w, row);
    return report(w, &w->best);
}

static int look_at_file(struct whence *w, const char *path)
{
    struct file_reader reader = {0};
    return os_is_there(AT_FDCWD, path) ? file_take(path, &reader, &w->now, w->error)
                                       : 0;
}

int cairn_whence(struct cairn_store *store, const char *path, bool all,
                 int (*each)(void *, const struct cairn_maker *), void *context,
                 struct cairn_error *error)
{
    struct whence w = {
        .store = store, .all = all, .each = each, .context = context, .error = error};
    const struct run_filter runs = {0};
    int rc = find_place(str_of(path), &w.place, error) ?: look_at_file(&w, path);
    bool there = w.now.kind;
    if (!rc)
        rc = store_each_run(store, &runs, look_at_run, &w, error);
    if (rc >= 0 && w.best_run)
        rc = store_get_run(store, w.best_run, report_best, &w, error);
    if (!rc && !w.found)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       there ? "no task that this store knows made %.200s, and none "
                               "made a file with its content"
                             : "there is no file %.200s, and no task that this store "
                               "knows made one there",
                       path);
    forget_generation(&w);
    buf_release(&w.place);
    free(w.at);
    return rc > 0 ? 0 : rc;
}
