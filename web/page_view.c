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
    memset(view->task_of, 255, cairn_workflow_nodes(view->workflow) * sizeof(uint32_t));
    for (size_t i = 0; i < view->n; i++) {
        struct view_task *task = &view->tasks[i];
        /* Mostly the workflow is what the run has recorded: no name is searched for. */
        task->node = task->info.node;
        if (cairn_workflow_node(view->workflow, task->node, &info) != 0 ||
            strcmp(info.id, task->info.id) != 0)
            task->node = cairn_workflow_find(view->workflow, task->info.id);
        if (cairn_workflow_node(view->workflow, task->node, &info) == 0) {
            task->group = info.group;
            view->task_of[task->node] = (uint32_t)i;
        } else {
            view->strangers++;
        }
    }
}

struct edges {
    struct layout_edge *at;
    size_t n, capacity, most;
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
    return edges->n > edges->most;
}

static bool is_all(const struct graph_wanted *wanted)
{
    return wanted->open && strcmp(wanted->open, GRAPH_ALL) == 0;
}

static int draw(struct page_view *view, const struct graph_wanted *wanted,
                struct cairn_error *error)
{
    uint32_t most = is_all(wanted) ? VIEW_NODES_ASKED : VIEW_NODES;
    struct edges edges = {.most = is_all(wanted) ? VIEW_EDGES_ASKED : VIEW_EDGES};
    if (view->picture.n <= most)
        picture_each_edge(&view->picture, add_edge, &edges);
    if (edges.failed) {
        free(edges.at);
        return error_nomem(error);
    }
    if (view->picture.n > most || edges.n > edges.most) {
        view->too_large = true;
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

/* How large a group that is folded is depends on the graph alone, not on what is open. */
static int make_picture(struct page_view *view, const struct graph_wanted *wanted,
                        struct cairn_error *error)
{
    bool none = wanted->open && strcmp(wanted->open, GRAPH_NONE) == 0;
    uint32_t least = is_all(wanted) ? 0 : none ? 2 : VIEW_MEMBERS;
    int rc = picture_make(&view->picture, view->workflow, least, NULL, true, error);
    if (rc == 0 && least == VIEW_MEMBERS && view->picture.n > VIEW_NODES_UNFOLDED)
        least = 2;
    if (rc == 0 && !none && least > 0 && (least == 2 || wanted->open)) {
        picture_release(&view->picture);
        rc = picture_make(&view->picture, view->workflow, least, wanted->open, true,
                          error);
    }
    for (size_t i = 0; rc == 0 && i < view->n; i++)
        if (view->tasks[i].node != UINT32_MAX)
            picture_note(&view->picture, view->tasks[i].node, view->tasks[i].state);
    return rc;
}

static int64_t ended_at(const void *context, uint32_t node)
{
    const struct page_view *view = context;
    uint32_t task =
        node < cairn_workflow_tasks(view->workflow) ? view->task_of[node] : UINT32_MAX;
    return task != UINT32_MAX && view->tasks[task].info.attempt > 0
               ? view->tasks[task].info.ended_ns
               : 0;
}

/* Between two steps stands the barrier of a group, if the one needs all of it. */
static void note_barrier(struct page_view *view, uint32_t from, uint32_t to,
                         uint32_t step)
{
    const uint32_t *node_of = view->picture.node_of;
    struct cairn_node_info info = {0}, group = {0};
    (void)cairn_workflow_node(view->workflow, to, &info);
    for (uint32_t i = 0; i < info.needs; i++) {
        uint32_t need = cairn_workflow_need(view->workflow, to, i);
        if (need < cairn_workflow_tasks(view->workflow) ||
            node_of[need] == UINT32_MAX || view->step[node_of[need]] != 0 ||
            cairn_workflow_node(view->workflow, need, &group) != 0)
            continue;
        for (uint32_t k = 0; k < group.needs; k++)
            if (cairn_workflow_need(view->workflow, need, k) == from)
                view->step[node_of[need]] = step;
    }
}

static void find_path(struct page_view *view)
{
    view->n_path = task_ends_path(&view->ends, view->path);
    for (uint32_t i = 0; i < view->n_path; i++) {
        uint32_t node = view->path[view->n_path - 1 - i];
        view->step[view->picture.node_of[node]] = 2 * i + 2;
        if (i > 0 && !view->run.live)
            note_barrier(view, view->path[view->n_path - i], node, 2 * i + 1);
    }
}

static void find_names(struct page_view *view, const char *text)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->tasks[i].node != UINT32_MAX &&
            strcasestr(view->tasks[i].info.id, text)) {
            view->found[view->picture.node_of[view->tasks[i].node]] = true;
            view->n_found++;
        }
}

static int mark(struct page_view *view, const struct graph_wanted *wanted,
                struct cairn_error *error)
{
    view->path = calloc(view->n + 1, sizeof *view->path);
    view->step = calloc((size_t)view->picture.n + 1, sizeof *view->step);
    view->found = calloc((size_t)view->picture.n + 1, sizeof *view->found);
    if (!view->path || !view->step || !view->found)
        return error_nomem(error);
    find_path(view);
    if (wanted->find)
        find_names(view, wanted->find);
    return 0;
}

/* A run whose file cannot be read any more has its other parts. */
static int read_graph(struct page_view *view, struct cairn_store *store,
                      const struct graph_wanted *wanted, struct cairn_error *error)
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
    view->ends = (struct task_ends){view->workflow, ended_at, view, NULL};
    view->task_of =
        calloc((size_t)cairn_workflow_nodes(view->workflow) + 1, sizeof *view->task_of);
    if (!view->task_of)
        return error_nomem(error);
    find_nodes(view);
    return task_ends_begin(&view->ends, error) ?: make_picture(view, wanted, error)
           ?: draw(view, wanted, error) ?: mark(view, wanted, error);
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

/* The bars are sorted by their start. */
static int find_waits(struct page_view *view, struct cairn_error *error)
{
    int64_t *ends = calloc(view->n + 1, sizeof *ends);
    if (!ends)
        return error_nomem(error);
    for (size_t i = 0; i < view->n_bars; i++) {
        struct view_bar *bar = &view->bars[i];
        uint32_t need, node = view->tasks[bar->task].node;
        bar->ready_ns = ends[bar->task];
        ends[bar->task] = bar->end_ns;
        if (bar->ready_ns != 0 || !view->ends.last || node == UINT32_MAX || bar->undo)
            continue;
        need = task_ends_last_need(&view->ends, node);
        bar->ready_ns =
            need == UINT32_MAX ? view->run.started_ns : ended_at(view, need);
    }
    free(ends);
    return 0;
}

/* When work began after the last pause, such as the night before a resume. */
static int64_t work_since(const struct page_view *view)
{
    enum { PAUSE_S = 60 };
    int64_t since = view->run.started_ns, busy = since;
    for (size_t i = 0; i < view->n_bars; i++) {
        const struct view_bar *bar = &view->bars[i];
        if (bar->start_ns > busy + PAUSE_S * 1000000000ll)
            since = bar->start_ns;
        busy = bar->end_ns > busy ? bar->end_ns : busy;
    }
    return since;
}

/* By the rate at which the last ones ended, as `cairn run` says it. */
static void find_time_left(struct page_view *view)
{
    enum { FEW = 3 };
    int64_t ends[VIEW_RATE_ENDS], since = work_since(view);
    size_t n = 0;
    uint32_t left = view->counts[PICTURE_PENDING] + view->counts[PICTURE_RUNNING];
    view->left_ms = -1;
    for (size_t i = 0; view->run.live && i < view->n_bars; i++) {
        int64_t end = view->bars[i].end_ns;
        if (view->bars[i].state == PICTURE_RUNNING || end < since ||
            (n == VIEW_RATE_ENDS && end <= ends[n - 1]))
            continue;
        size_t at = n < VIEW_RATE_ENDS ? n++ : n - 1;
        for (; at > 0 && ends[at - 1] < end; at--)
            ends[at] = ends[at - 1];
        ends[at] = end;
    }
    if (n < FEW || left == 0)
        return;
    since = n == VIEW_RATE_ENDS ? ends[n - 1] : since;
    view->left_ms = (view->now_ns - since) / 1000000 * left / (int64_t)n;
}

/* Each into the first lane that is free then, as into a job slot. */
static void find_lanes(struct page_view *view)
{
    int64_t ends[VIEW_LANES] = {0};
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
        bar->free_ns = ends[lane];
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
    find_time_left(view);
    if (view->n_bars > VIEW_BARS)
        return 0;
    find_lanes(view);
    return find_waits(view, error);
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
                   const struct graph_wanted *wanted, struct cairn_error *error)
{
    *view = (struct page_view){.now_ns = wall_ns()};
    int rc = cairn_run_get(store, run, &view->run, error);
    if (rc == 0)
        rc = read_tasks(view, store, error);
    if (rc == 0)
        rc = read_graph(view, store, wanted, error);
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
    task_ends_release(&view->ends);
    free(view->task_of);
    free(view->path);
    free(view->step);
    free(view->found);
    free(view->tasks);
    free(view->bars);
    free(view->values);
    map_release(&view->by_id);
    arena_release(&view->arena);
}
