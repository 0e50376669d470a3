/* SPDX-License-Identifier: MIT */
#include "executor/given/attempt_view.h"

#include "graph/match.h"
#include "runs/marks.h"
#include "runs/run_tasks.h"
#include "runs/stored.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/store.h"

/* ---- Which attempt ---- */

struct attempt_finder {
    struct attempt_view *view;
    struct task_place place;
    uint32_t wanted; /* 0: the newest */
    bool found, undo;
    uint64_t checkpoint;
    struct cairn_error *error;
};

static int note_attempt(void *context, const struct attempt_row *row)
{
    struct attempt_finder *f = context;
    bool undo = row->flags & ATTEMPT_UNDO;
    if (attempt_never_started(row) || (f->wanted ? row->number != f->wanted : undo))
        return 0;
    f->found = true;
    f->undo = undo;
    f->view->gen = f->place.gen;
    f->view->task = f->place.task;
    f->view->attempt = row->number;
    f->view->start_turn = row->start_turn;
    f->checkpoint = row->checkpoint;
    return 0;
}

static int note_generation(void *context, const struct task_place *place)
{
    struct attempt_finder *f = context;
    f->place = *place;
    return store_each_attempt(f->view->store, f->view->run.row.run, place->gen,
                              place->task, note_attempt, f, f->error);
}

static int find_attempt(struct attempt_finder *f, const char *task)
{
    unsigned long long run = f->view->run.row.run;
    int rc = attempts_each_generation(f->view->store, &f->view->run, task,
                                      note_generation, f, f->error);
    if (rc)
        return rc;
    if (!f->found && f->wanted)
        return error_set(f->error, CAIRN_ENOTFOUND,
                         "task `%s` has no attempt %u in run %llu", task, f->wanted,
                         run);
    if (!f->found) {
        f->view->gen = f->place.gen;
        f->view->task = f->place.task;
    }
    return f->undo ? error_set(f->error, CAIRN_EUSAGE,
                               "attempt %u of task `%s` ran its undo, not the task",
                               f->wanted, task)
                   : 0;
}

/* ---- How the run stood then ---- */

/* The states at the attempt's own checkpoint, which has what it needed as it was. 1:
 * there are none. */
static int take_checkpoint(struct attempt_view *v, uint64_t checkpoint,
                           const struct digest *graph, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct outcomes at;
    struct rebuilt rebuilt;
    int rc = checkpoint ? outcomes_rebuild(v->store, checkpoint, &at, &rebuilt, &why)
                        : CAIRN_ENOTFOUND;
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 1;
    if (rc)
        return error_set(error, rc, "%s", why.text);
    if (rebuilt.header.stream != v->run.row.run || !digest_equal(&at.graph, graph)) {
        outcomes_release(&at);
        return 1;
    }
    v->states = at.states;
    at.states = (struct states){0};
    outcomes_release(&at);
    v->exact = true;
    return 0;
}

/* The newest states, which may be of another generation. */
static int map_newest(struct attempt_view *v, struct cairn_error *error)
{
    const struct states *newest = &v->run.recovery.states;
    struct definition definition;
    struct graph graph;
    int rc = graph_load(v->store, &v->run.recovery.graph, &definition, &graph, error);
    if (rc)
        return rc;
    rc = states_init(&v->states, v->graph.n_tasks, error);
    for (uint32_t task = 0; task < v->graph.n_tasks && !rc; task++) {
        uint32_t now = map_task(&v->graph, task, &graph);
        if (now == NODE_NONE || now >= newest->n)
            continue;
        struct change change = {.task = task,
                                .outcome = newest->outcome[now],
                                .attempts = newest->attempts[now]};
        if (newest->outputs)
            change.outputs = newest->outputs[now];
        rc = states_apply(&v->states, &change, error);
    }
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

/* With a key only what has its HMAC counts: the rows of attempts and of earlier
 * generations have none. */
static int refuse_unkeyed(const struct attempt_view *v, const char *what,
                          struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOTFOUND,
                     "%s is known only by rows without an HMAC of the key, since the "
                     "checkpoint of attempt %u is gone",
                     what, v->attempt);
}

static int take_newest(struct attempt_view *v, const struct digest *graph,
                       struct cairn_error *error)
{
    const struct recovery *recovery = &v->run.recovery;
    if (digest_equal(&recovery->graph, graph))
        return states_copy(&v->states, &recovery->states, error);
    if (v->run.row.keyed)
        return refuse_unkeyed(v, "its definition", error);
    return map_newest(v, error);
}

static int load_states(struct attempt_view *v, uint64_t checkpoint,
                       const struct digest *graph, struct cairn_error *error)
{
    int rc = take_checkpoint(v, checkpoint, graph, error);
    if (rc == 1)
        rc = take_newest(v, graph, error);
    if (!rc && v->states.n != v->graph.n_tasks)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "the checkpoint is of %u tasks, its definition of %u",
                       v->states.n, v->graph.n_tasks);
    return rc;
}

/* The status with which `finally` began, before or in the turn of the attempt. */
static int note_status(void *context, const struct event_row *row)
{
    struct attempt_view *v = context;
    if (v->start_turn && row->turn > v->start_turn)
        return 1;
    if (row->kind == EVENT_PHASE && row->data.len && row->data.ptr &&
        row->data.len < sizeof v->run_status) {
        memcpy(v->run_status, row->data.ptr, row->data.len);
        v->run_status[row->data.len] = 0;
    }
    return 0;
}

static int load_status(struct attempt_view *v, struct cairn_error *error)
{
    if (!graph_def(&v->graph, v->task)->finally)
        return 0;
    int rc = store_each_event(v->store, v->run.row.run, 0, note_status, v, error);
    return rc < 0 ? rc : 0;
}

/* ---- Where it is now ---- */

/* A project that was moved with its store is where its file is now. */
static int follow_root(struct attempt_view *v, struct cairn_error *error)
{
    struct definition *d = &v->definition;
    struct buf path = BUF_INIT;
    if (!d->file.len || !str_equal(d->file, v->run.row.file))
        return 0;
    int found = moved_store_find(v->store, &v->run.row, &path, error);
    size_t len = path.size;
    while (len > 1 && path.data[len - 1] != '/')
        len--;
    if (found > 0 && !str_equal(buf_view(&path), d->file)) {
        d->root =
            arena_str(&d->arena, (struct str){path.data, len > 1 ? len - 1 : len});
        found = d->arena.failed ? error_nomem(error) : found;
    }
    buf_release(&path);
    return found < 0 ? found : 0;
}

static int load_view(struct attempt_view *v, const char *task, uint32_t attempt,
                     struct cairn_error *error)
{
    struct attempt_finder finder = {.view = v, .wanted = attempt, .error = error};
    struct digest graph;
    /* What it says is going to be executed. */
    int rc = store_check_keyed(v->store, v->run.row.run, v->run.row.keyed, error);
    if (!rc)
        rc = find_attempt(&finder, task);
    if (!rc)
        rc = run_graph(v->store, &v->run.row, v->gen, &graph, error);
    if (!rc)
        rc = graph_load(v->store, &graph, &v->definition, &v->graph, error);
    if (rc)
        return rc;
    v->lookup = (struct lookup){.graph = &v->graph,
                                .states = &v->states,
                                .store = v->store,
                                .run = v->run.row.run,
                                .digests = FILE_DIGESTS_INIT};
    if (v->task >= v->graph.n_tasks)
        return error_set(error, CAIRN_EDAMAGED,
                         "the definition of the attempt has no such task");
    rc = load_states(v, finder.checkpoint, &graph, error);
    if (!rc)
        rc = load_status(v, error);
    v->lookup.run_status = v->run_status[0] ? v->run_status : NULL;
    v->asker = (struct asker){&v->lookup, v->task, v->attempt};
    return rc ? rc : follow_root(v, error);
}

int attempt_view_open(struct attempt_view *v, struct cairn_store *store, uint64_t run,
                      const char *task, uint32_t attempt, struct cairn_error *error)
{
    *v = (struct attempt_view){.store = store};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = stored_run_open(&v->run, store, run, false, error);
    if (!rc) {
        rc = load_view(v, task, attempt, error);
        if (rc)
            attempt_view_release(v);
    }
    store_end_read(store);
    return rc;
}

void attempt_view_release(struct attempt_view *v)
{
    if (v->lookup.graph) {
        lookup_release(&v->lookup);
        graph_release(&v->graph);
        definition_release(&v->definition);
    }
    states_release(&v->states);
    stored_run_release(&v->run);
    *v = (struct attempt_view){0};
}

/* ---- What its texts ask for ---- */

struct earlier { /* a task's last attempt that had ended when ours started */
    struct attempt_view *view;
    struct task_place place;
    bool again; /* it has ended again since */
    bool known;
    struct change change;
    struct cairn_error *error;
};

static int note_earlier(void *context, const struct attempt_row *row)
{
    struct earlier *e = context;
    if (!row->end_turn || attempt_never_started(row))
        return 0;
    if (row->end_turn > e->view->start_turn) {
        e->again = true;
        return 0;
    }
    e->known = true;
    e->change.outcome = row->outcome;
    e->change.attempts = row->number;
    e->change.outputs = (struct digest){{0}};
    if (row->outputs.len == DIGEST_SIZE)
        memcpy(e->change.outputs.bytes, row->outputs.ptr, DIGEST_SIZE);
    return 0;
}

static int note_earlier_generation(void *context, const struct task_place *place)
{
    struct earlier *e = context;
    e->place = *place;
    return store_each_attempt(e->view->store, e->view->run.row.run, place->gen,
                              place->task, note_earlier, e, e->error);
}

/* A task that our attempt's texts ask for stands as it did then. */
static int put_back(struct attempt_view *v, uint32_t task, struct cairn_error *error)
{
    struct earlier earlier = {.view = v, .change = {.task = task}, .error = error};
    const char *id = v->graph.id[task];
    int rc = attempts_each_generation(v->store, &v->run, id, note_earlier_generation,
                                      &earlier, error);
    if (rc || !earlier.again)
        return rc;
    if (v->run.row.keyed)
        return refuse_unkeyed(v, id, error);
    if (!earlier.known)
        return error_set(error, CAIRN_ENOTFOUND,
                         "task `%s` has run again since attempt %u started, and how it "
                         "stood then is not stored any more",
                         id, v->attempt);
    return states_apply(&v->states, &earlier.change, error);
}

static int ask(void *context, const struct name *name, struct value *out,
               struct cairn_error *error)
{
    struct attempt_view *v = context;
    bool of_task = name->kind == NAME_TASK_OUTPUT || name->kind == NAME_TASK_STATUS ||
                   name->kind == NAME_TASK_FILES;
    uint32_t def = of_task && !v->exact && v->start_turn
                       ? map_get(&v->definition.by_id, name->first)
                       : MAP_NONE;
    int rc = 0;
    if (def != MAP_NONE) {
        struct node_range range = graph_referred(&v->graph, v->task, def);
        for (uint32_t i = 0; i < range.n && !rc; i++)
            rc = put_back(v, node_at(range, i), error);
    }
    return rc ? rc : lookup_name(&v->asker, name, out, error);
}

struct scope attempt_view_scope(struct attempt_view *v)
{
    struct scope scope = lookup_scope(&v->asker);
    scope.lookup = ask;
    scope.context = v;
    return scope;
}
