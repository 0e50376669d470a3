/* SPDX-License-Identifier: MIT */
#include "web/page_view.h"

#include "cli/describe.h"
#include "cli/format.h"

#include <stdio.h>
#include <stdlib.h>

static const char *copy(struct page_view *view, const char *text)
{
    return text ? arena_text(&view->arena, str_of(text)) : NULL;
}

/* ---- Tasks ---- */

static int add_task(void *context, const struct cairn_task_info *info)
{
    struct page_view *view = context;
    struct view_task *tasks =
        array_room(view->tasks, view->n, &view->capacity, sizeof *tasks);
    if (!tasks)
        return CAIRN_ENOMEM;
    view->tasks = tasks;
    struct view_task *task = &tasks[view->n++];
    *task = (struct view_task){.info = *info,
                               .node = UINT32_MAX,
                               .state = picture_state(task_state_word(info))};
    task->info.id = copy(view, info->id);
    task->info.text = copy(view, info->text);
    task->info.cause = copy(view, info->cause);
    view->counts[task->state]++;
    return view->arena.failed ? CAIRN_ENOMEM : 0;
}

static int read_tasks(struct page_view *view, struct cairn_store *store,
                      struct cairn_error *error)
{
    int rc = cairn_run_tasks(store, view->run.run, add_task, view, error);
    if (rc == CAIRN_ENOMEM || (rc == 0 && map_reserve(&view->by_id, view->n) != 0))
        return error_nomem(error);
    for (size_t i = 0; rc == 0 && i < view->n; i++)
        (void)map_add(&view->by_id, str_of(view->tasks[i].info.id), (uint32_t)i, NULL);
    return rc;
}

int64_t view_task_ms(const struct page_view *view, const struct view_task *task)
{
    return task_has_own_times(&task->info) ? task_spent_ms(&task->info, view->now_ns)
                                           : -1;
}

/* ---- The graph ---- */

static void find_nodes(struct page_view *view)
{
    struct cairn_node_info info = {0};
    for (size_t i = 0; i < view->n; i++) {
        struct view_task *task = &view->tasks[i];
        /* Mostly the workflow is what the run has recorded: no name is searched for. */
        task->node = task->info.node;
        if (cairn_workflow_node(view->workflow, task->node, &info) != 0 ||
            strcmp(info.id, task->info.id) != 0)
            task->node = cairn_workflow_find(view->workflow, task->info.id);
        if (cairn_workflow_node(view->workflow, task->node, &info) == 0)
            task->group = info.group;
        else
            view->strangers++;
    }
}

struct edges {
    struct layout_edge *at;
    size_t n, capacity;
    bool failed;
};

static int add_edge(void *context, uint32_t from, uint32_t to)
{
    struct edges *edges = context;
    struct layout_edge *at =
        array_room(edges->at, edges->n, &edges->capacity, sizeof *at);
    edges->failed = !at;
    if (!at)
        return 1;
    edges->at = at;
    at[edges->n++] = (struct layout_edge){.from = from, .to = to};
    return edges->n > VIEW_EDGES;
}

static int draw(struct page_view *view, struct cairn_error *error)
{
    struct edges edges = {0};
    if (view->picture.n <= VIEW_NODES)
        picture_each_edge(&view->picture, add_edge, &edges);
    if (edges.failed) {
        free(edges.at);
        return error_nomem(error);
    }
    if (view->picture.n > VIEW_NODES || edges.n > VIEW_EDGES) {
        snprintf(view->no_graph, sizeof view->no_graph,
                 "The graph has %u nodes, more than a page can show: the table has "
                 "every task.",
                 view->picture.n);
        free(edges.at);
        return 0;
    }
    return layout_make(&view->layout, view->picture.n, edges.at, (uint32_t)edges.n,
                       error);
}

static int make_picture(struct page_view *view, struct cairn_error *error)
{
    int rc = picture_make(&view->picture, view->workflow, VIEW_MEMBERS, true, error);
    if (rc == 0 && view->picture.n > VIEW_NODES_UNFOLDED) {
        picture_release(&view->picture);
        rc = picture_make(&view->picture, view->workflow, 2, true, error);
    }
    for (size_t i = 0; rc == 0 && i < view->n; i++)
        if (view->tasks[i].node != UINT32_MAX)
            picture_note(&view->picture, view->tasks[i].node, view->tasks[i].state);
    return rc;
}

/* A run whose file cannot be read any more has its other parts. */
static int read_graph(struct page_view *view, struct cairn_store *store,
                      struct cairn_error *error)
{
    struct cairn_error why = {0};
    bool from_file = false;
    int rc =
        cairn_workflow_of_run(&view->workflow, store, view->run.run, &from_file, &why);
    if (rc == 0)
        rc = cairn_workflow_compile(view->workflow, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc != 0) {
        cairn_workflow_free(view->workflow);
        view->workflow = NULL;
        snprintf(view->no_graph, sizeof view->no_graph,
                 "The workflow of this run cannot be loaded as it is now, so there is "
                 "no graph: cairn validate says why.");
        return 0;
    }
    find_nodes(view);
    rc = make_picture(view, error);
    return rc == 0 ? draw(view, error) : rc;
}

/* ---- Attempts ---- */

static bool add_bar(struct page_view *view, const struct view_bar *bar)
{
    struct view_bar *bars =
        array_room(view->bars, view->n_bars, &view->bars_capacity, sizeof *bars);
    if (!bars)
        return false;
    view->bars = bars;
    bars[view->n_bars++] = *bar;
    return true;
}

/* One that ran once is in its row already; the attempts of others are read. */
static bool is_in_row(const struct view_task *task)
{
    return task->info.attempt == 1 && task_has_own_times(&task->info) &&
           task->info.outcome != CAIRN_UNDONE;
}

struct bar_reading {
    struct page_view *view;
    bool failed; /* out of memory */
};

static int add_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    struct bar_reading *reading = context;
    struct page_view *view = reading->view;
    uint32_t i = map_get(&view->by_id, str_of(attempt->task));
    const struct view_task *task = i != MAP_NONE ? &view->tasks[i] : NULL;
    struct view_bar bar = {.task = i,
                           .attempt = attempt->attempt,
                           .start_ns = attempt->started_ns,
                           .end_ns = attempt->ended_ns,
                           .undo = attempt->undo};
    if (!task || is_in_row(task) || attempt->started_ns == 0)
        return 0;
    if (attempt->open)
        bar.end_ns = task->info.running ? view->now_ns : attempt->started_ns;
    bar.state = picture_state(!attempt->open ? cairn_outcome_name(attempt->outcome)
                              : task->info.running ? "running"
                                                   : "interrupted");
    reading->failed = !add_bar(view, &bar);
    return reading->failed;
}

static bool add_row_bar(struct page_view *view, uint32_t i)
{
    const struct view_task *task = &view->tasks[i];
    const struct cairn_task_info *info = &task->info;
    struct view_bar bar = {.task = i,
                           .attempt = info->attempt,
                           .start_ns = info->started_ns,
                           .end_ns = info->ended_ns,
                           .state = task->state};
    if (bar.start_ns == 0)
        return true;
    if (bar.end_ns == 0)
        bar.end_ns = info->running ? view->now_ns : bar.start_ns;
    return add_bar(view, &bar);
}

static int by_start(const void *x, const void *y)
{
    const struct view_bar *a = x, *b = y;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->task != b->task ? (a->task > b->task) - (a->task < b->task)
                              : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* Each into the first lane that is free then, as into a job slot. */
static void find_lanes(struct page_view *view)
{
    int64_t ends[VIEW_LANES];
    uint32_t lanes = 0;
    for (size_t i = 0; i < view->n_bars; i++) {
        struct view_bar *bar = &view->bars[i];
        uint32_t lane = 0;
        while (lane < lanes && ends[lane] > bar->start_ns)
            lane++;
        if (lane == VIEW_LANES)
            return;
        if (lane == lanes)
            lanes++;
        bar->lane = lane;
        ends[lane] = bar->end_ns;
    }
    view->lanes = lanes;
}

static int read_bars(struct page_view *view, struct cairn_store *store,
                     struct cairn_error *error)
{
    struct bar_reading reading = {.view = view};
    bool all = true;
    int rc = 0;
    for (uint32_t i = 0; i < view->n && !reading.failed; i++) {
        if (is_in_row(&view->tasks[i]))
            reading.failed = !add_row_bar(view, i);
        else
            all &= view->tasks[i].info.attempt == 0;
    }
    if (!all && !reading.failed)
        rc = cairn_attempts(store, view->run.run, NULL, add_attempt, &reading, error);
    if (rc != 0 || reading.failed)
        return rc ? rc : error_nomem(error);
    if (view->n_bars > 0)
        qsort(view->bars, view->n_bars, sizeof *view->bars, by_start);
    if (view->n_bars <= VIEW_BARS)
        find_lanes(view);
    return 0;
}

/* ---- Values, and what waits ---- */

static int add_value(void *context, const struct cairn_value_info *info)
{
    struct page_view *view = context;
    size_t bytes = strlen(info->name) + strlen(info->value) + 64;
    uint32_t task = map_get(&view->by_id, str_of(info->task));
    struct view_value *values;
    if (task == MAP_NONE)
        return 0;
    if (view->value_bytes + bytes > VIEW_VALUES_BYTES) {
        view->more_values++;
        return 0;
    }
    values = array_room(view->values, view->n_values, &view->values_capacity,
                        sizeof *values);
    if (!values)
        return CAIRN_ENOMEM;
    view->values = values;
    view->value_bytes += bytes;
    if (view->tasks[task].n_values++ == 0)
        view->tasks[task].first_value = (uint32_t)view->n_values;
    values[view->n_values++] =
        (struct view_value){copy(view, info->name), copy(view, info->value)};
    return view->arena.failed ? CAIRN_ENOMEM : 0;
}

static int read_values(struct page_view *view, struct cairn_store *store,
                       struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = cairn_values(store, view->run.run, NULL, add_value, view, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc != 0)
        snprintf(view->no_values, sizeof view->no_values, "%.280s", why.text);
    return 0;
}

static int add_waiting(void *context, const struct cairn_waiting_info *info)
{
    struct page_view *view = context;
    if (info->waits_for != CAIRN_WAITS_EXTERNAL &&
        info->waits_for != CAIRN_WAITS_DECISION)
        return 0;
    if (view->n_waiting == VIEW_WAITING) {
        view->more_waiting++;
        return 0;
    }
    struct cairn_waiting_info *waiting = &view->waiting[view->n_waiting++];
    *waiting = *info;
    waiting->task = copy(view, info->task);
    waiting->text = copy(view, info->text);
    waiting->holder = copy(view, info->holder);
    return view->arena.failed ? CAIRN_ENOMEM : 0;
}

/* ---- The view ---- */

int page_view_read(struct page_view *view, struct cairn_store *store, uint64_t run,
                   struct cairn_error *error)
{
    *view = (struct page_view){.now_ns = wall_ns()};
    int rc = cairn_run_get(store, run, &view->run, error);
    if (rc == 0)
        rc = read_tasks(view, store, error);
    if (rc == 0)
        rc = read_graph(view, store, error);
    if (rc == 0)
        rc = read_bars(view, store, error);
    if (rc == 0)
        rc = read_values(view, store, error);
    if (rc == 0 && view->run.state != CAIRN_RUN_COMPLETED) {
        rc = cairn_waiting(store, view->run.run, add_waiting, view, error);
        if (rc == CAIRN_ENOMEM)
            return error_nomem(error);
    }
    return rc;
}

void page_view_release(struct page_view *view)
{
    layout_release(&view->layout);
    picture_release(&view->picture);
    cairn_workflow_free(view->workflow);
    free(view->tasks);
    free(view->bars);
    free(view->values);
    map_release(&view->by_id);
    arena_release(&view->arena);
}
