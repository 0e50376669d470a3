/* SPDX-License-Identifier: MIT */
#include "executor/attempt/made.h"

#include "base/memory.h"
#include "runs/outputs.h"

#include <stdlib.h>

enum { OTHERS_ROWS_MOST = 1000000 };

struct made_file {
    uint32_t task, output; /* which of its outputs */
    uint32_t order;        /* of several the later one counts */
    bool known;            /* what it made: the task completed in this process */
    bool filled; /* changed by design: a directory in which a later task has an
                    output, or a file that no other run has written */
    struct digest digest;
    int64_t changed_ns; /* with it: as recorded; 0: not known */
};

struct made_files {
    struct arena arena; /* of the keys */
    struct map by_path;
    struct made_file *at;
    uint32_t n, next_order;
    size_t capacity;
    bool wanted; /* some task has inputs */
    bool filled; /* with what had completed before */
    struct others_search others;
};

void made_release(struct made_files *made)
{
    if (!made)
        return;
    map_release(&made->by_path);
    arena_release(&made->arena);
    free(made->at);
    free(made);
}

/* Whoever asks only whether outputs exist wants nothing compared. */
static bool is_wanted(const struct engine *e)
{
    const struct definition *d = e->request.graph->definition;
    const struct cairn_run_options *options = e->request.options;
    bool inputs = false;
    for (uint32_t i = 0; i < d->n_defs && !inputs; i++)
        inputs = d->defs[i].n_inputs > 0;
    return inputs && !options->ignore_outputs &&
           options->check_outputs != CAIRN_OUTPUTS_EXIST;
}

void made_extend(struct engine *e)
{
    if (!e->made || e->made->wanted || !is_wanted(e))
        return;
    made_release(e->made);
    e->made = NULL;
}

/* NULL: out of memory. */
static struct made_files *open_made(struct engine *e)
{
    if (e->made)
        return e->made;
    e->made = calloc(1, sizeof *e->made);
    if (!e->made) {
        engine_break(e);
        return NULL;
    }
    e->made->wanted = is_wanted(e);
    e->made->others = (struct others_search){
        .run = e->run.row.run, .since = e->saving.since, .rows_left = OTHERS_ROWS_MOST};
    return e->made;
}

static struct made_file *get_file(const struct made_files *made, struct str path)
{
    uint32_t at = map_get(&made->by_path, path);
    return at == MAP_NONE || !made->at ? NULL : &made->at[at];
}

/* The next directory that it lies in. False: that was the last. */
static bool go_up(struct str *path)
{
    while (path->len && path->ptr[path->len - 1] != '/')
        path->len--;
    path->len -= path->len > 0;
    return path->len > 0;
}

static void describe_file(struct made_file *file, const struct result_file *result)
{
    file->known = true;
    file->digest = result->digest;
    file->changed_ns = result->ctime_ns;
}

/* False: out of memory. */
static bool put_file(struct made_files *made, struct str path,
                     const struct made_file *file)
{
    for (struct str up = path; go_up(&up);) {
        struct made_file *directory = get_file(made, up);
        if (directory && directory->task != file->task)
            directory->filled = true;
    }
    struct made_file *there = get_file(made, path);
    if (there) {
        *there = *file;
        return true;
    }
    struct made_file *room =
        array_room(made->at, made->n, &made->capacity, sizeof *made->at);
    if (!room)
        return false;
    made->at = room;
    struct str key = arena_str(&made->arena, path);
    if (made->arena.failed || map_add(&made->by_path, key, made->n, NULL) < 0)
        return false;
    made->at[made->n++] = *file;
    return true;
}

/* `result`: NULL: it is in the store. A name that cannot be made now stands for no file
 * that anybody uses. */
static void put_outputs(struct engine *e, struct made_files *made, uint32_t task,
                        uint32_t attempt, const struct result *result)
{
    struct asker asker = {
        .lookup = &e->progress.lookup, .task = task, .attempt = attempt};
    struct scope scope = lookup_scope(&asker);
    struct files f;
    int more = files_begin(&f, &scope, false, NULL);
    for (uint32_t i = 0; more >= 0 && (more = files_step(&f, NULL)) > 0; i++) {
        struct made_file file = {
            .task = task, .output = i, .order = made->next_order++};
        if (result && i < result->n_outputs)
            describe_file(&file, &result->outputs[i]);
        if (!put_file(made, buf_view(&f.path), &file))
            engine_break(e);
    }
    files_release(&f);
    if (more == CAIRN_ENOMEM)
        engine_break(e);
}

/* Once, in the order in which they ran. */
static void put_completed_before(struct engine *e, struct made_files *made)
{
    const struct graph *g = e->request.graph;
    made->filled = true;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t task = g->order[i];
        if (!graph_is_barrier(g, task) && graph_def(g, task)->n_outputs &&
            e->progress.states.outcome[task] == CAIRN_COMPLETED)
            put_outputs(e, made, task, e->progress.states.attempts[task], NULL);
    }
}

void made_note(struct engine *e, const struct ending *ending,
               const struct result *result)
{
    struct made_files *made = result->n_outputs ? open_made(e) : NULL;
    if (!made || !made->wanted)
        return;
    if (!made->filled)
        put_completed_before(e, made);
    put_outputs(e, made, ending->row.task, ending->row.number, result);
}

/* ---- Inputs ---- */

/* A retry begins with what an earlier attempt has done to a file in place. */
static bool changes_it(const struct engine *e, const struct scope *scope, uint32_t task,
                       const char *path)
{
    struct files f;
    bool own = false;
    if (!e->progress.failures[task])
        return false;
    int more = files_begin(&f, scope, false, NULL);
    while (more >= 0 && !own && (more = files_step(&f, NULL)) > 0)
        own = strcmp(f.path.data, path) == 0;
    files_release(&f);
    return own;
}

/* Of a result that cannot be read, nothing is known. */
static bool find_digest(struct engine *e, struct made_file *file)
{
    const struct result *result;
    if (file->known)
        return true;
    int rc = lookup_result(&e->progress.lookup, file->task, &result, NULL);
    if (rc == CAIRN_ENOMEM)
        engine_break(e);
    if (!rc && file->output < result->n_outputs)
        describe_file(file, &result->outputs[file->output]);
    return file->known;
}

/* A later task has a directory for its output that the file lies in. */
static bool was_made_with_directory(const struct made_files *made, struct str path,
                                    const struct made_file *file)
{
    while (go_up(&path)) {
        const struct made_file *directory = get_file(made, path);
        if (directory && directory->task != file->task &&
            directory->order > file->order)
            return true;
    }
    return false;
}

static bool is_as_made(struct engine *e, const struct scope *scope, uint32_t task,
                       const char *path, const struct result_file *input)
{
    struct made_file *file = get_file(e->made, str_of(path));
    if (!file || file->task == task || file->filled ||
        e->progress.states.outcome[file->task] != CAIRN_COMPLETED ||
        was_made_with_directory(e->made, str_of(path), file) || !find_digest(e, file) ||
        digest_equal(&file->digest, &input->digest))
        return true;
    return changes_it(e, scope, task, path);
}

/* Whether a task of another run has written it since, and what to say then. What
 * somebody else has written may be meant to be used, such as by a task of this run that
 * changes the file in place and does not declare it. */
static bool was_taken(struct engine *e, const char *name, const struct made_file *made,
                      const struct result_file *now, struct buf *why)
{
    struct buf writer = BUF_INIT;
    struct others_search *others = &e->made->others;
    others->after_ns = made->changed_ns;
    int rc = situation_find_other_writer(e->request.workflow, e->request.store, others,
                                         now, &writer, NULL);
    if (rc == CAIRN_ENOMEM)
        engine_break(e);
    bool taken = writer.size > 0;
    if (taken)
        buf_format(why,
                   "its input %s is not what %s made: %s has written it since; "
                   "`cairn resume` makes it again",
                   name, e->request.graph->id[made->task], writer.data);
    buf_release(&writer);
    return taken;
}

int made_check_inputs(struct engine *e, const struct job *job, struct buf *why)
{
    uint32_t task = job->intent.task;
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    struct made_files *made = job->result.n_inputs ? open_made(e) : NULL;
    struct files f;
    bool taken = false;
    if (!made || !made->wanted)
        return 0;
    if (!made->filled)
        put_completed_before(e, made);
    int more = files_begin(&f, &scope, true, NULL);
    for (uint32_t i = 0; more >= 0 && !taken && i < job->result.n_inputs &&
                         (more = files_step(&f, NULL)) > 0;
         i++) {
        const struct result_file *input = &job->result.inputs[i];
        if (!str_equal(input->name, buf_view(&f.name))) /* of a pattern: a new one */
            break;
        if (is_as_made(e, &scope, task, f.path.data, input))
            continue;
        struct made_file *file = get_file(made, str_of(f.path.data));
        taken = was_taken(e, f.name.data, file, input, why);
        file->filled |= !taken; /* nor is it searched for again */
    }
    files_release(&f);
    if (taken)
        progress_no_retry(e, task);
    if (more == CAIRN_ENOMEM)
        engine_break(e);
    return taken ? CAIRN_ECHANGED : 0;
}
