/* SPDX-License-Identifier: MIT */
/* Who has written an output of a finished task since? An attempt that completed and
 * recorded the file as it is now: of another run that shares the directory, or of a
 * later task. What nobody declared as an output is nobody's. */
#include "plan/situation_int.h"

#include "base/array.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_parent.h"

#include <stdio.h>
#include <stdlib.h>

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
    int rc = is_inside(w->l->store, row->run, o->run, w->l->error);
    if (!rc)
        rc = is_inside(w->l->store, o->run, row->run, w->l->error);
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
