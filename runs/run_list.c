/* SPDX-License-Identifier: MIT */
/* The runs of a store, one by one or in pages: their rows, the counts of their recorded
 * outcomes and, of one that is running right now, what its slot file says. */
#include "base/memory.h"
#include "base/str.h"
#include "cairn/run.h"
#include "cairn/runs.h"
#include "process/slot_map.h"
#include "runs/additions.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

static void copy_text(char *out, size_t size, struct str text)
{
    snprintf(out, size, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
}

static void show_params(char *out, size_t size, struct str canonical)
{
    struct reader r = reader_of(canonical.ptr, canonical.len);
    size_t used = 0;
    out[0] = 0;
    while (reader_left(&r) && !r.failed && used < size - 1) {
        struct str name = read_lstr(&r), value = read_lstr(&r);
        int n = snprintf(out + used, size - used, "%s%.*s=%.*s", used ? " " : "",
                         (int)name.len, name.ptr, (int)value.len, value.ptr);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* What the slot file of a live run says: running tasks, unsaved outcomes. */
static void look_at_slots(struct cairn_store *store, struct cairn_run_info *info)
{
    struct slot_map map;
    if (!info->live || slots_open(&map, store_live_dir(store), info->run, NULL))
        return;
    for (uint32_t i = 0; i < map.slots->n; i++)
        info->running += map.slots->slot[i].used != 0;
    info->unsaved = map.slots->unsaved;
    slots_close(&map, false);
}

static int note_state(void *context, const struct run_row *row)
{
    *(uint8_t *)context = row->state;
    return 0;
}

/* It is stored, and has not completed. */
static bool is_open(struct cairn_store *store, uint64_t run)
{
    uint8_t state = CAIRN_RUN_COMPLETED;
    return store_get_run(store, run, note_state, &state, NULL) == 0 &&
           state != CAIRN_RUN_COMPLETED;
}

/* Where it is now; as it was recorded if it is nowhere. */
static void show_file(struct cairn_store *store, const struct run_row *row, char *out,
                      size_t size)
{
    struct buf path = BUF_INIT;
    bool there = moved_store_find(store, row, &path, NULL) == 1;
    copy_text(out, size, there ? buf_view(&path) : row->file);
    buf_release(&path);
}

struct beginnings {
    uint32_t begun, ended;
    bool completed; /* it has ended so */
    bool other;     /* something was begun after that, or to undo tasks */
};

/* An undo may have failed, or been cut off. */
static int see_beginning(void *context, const struct event_row *row)
{
    struct beginnings *found = context;
    if (row->kind == EVENT_BEGUN) {
        found->begun++;
        found->other |= row->argument == EVENT_BEGUN_UNDO || found->completed;
    } else if (row->kind == EVENT_ENDED) {
        found->ended++;
        found->completed |= row->argument == CAIRN_RUN_COMPLETED;
    } else if (row->kind == EVENT_PHASE) {
        found->other |= row->argument == EVENT_PHASE_UNDO;
    }
    return found->other;
}

/* Whether its record says all, without a look at its attempts. Of runs of format 1 there
 * are no events. An undo of a completed run is one more beginning and one more end:
 * damage of either does not hide the other. */
static bool is_settled(struct cairn_store *store, const struct cairn_run_info *info)
{
    struct beginnings found = {0};
    return info->state == CAIRN_RUN_COMPLETED && !info->live && !info->damaged &&
           info->total && info->completed == info->total &&
           store_each_event(store, info->run, 0, see_beginning, &found, NULL) >= 0 &&
           found.completed && !found.other && found.ended <= found.begun;
}

static int fill_info(struct cairn_store *store, const struct run_row *row,
                     const struct recovery *recovery, struct cairn_run_info *info,
                     struct cairn_error *error)
{
    *info = (struct cairn_run_info){.run = row->run,
                                    .state = row->state,
                                    .owner_pid = row->owner_pid,
                                    .started_ns = row->started_ns,
                                    .ended_ns = row->ended_ns,
                                    .from_run = row->from_run,
                                    .from_seq = row->from_seq,
                                    .total = row->tasks,
                                    .unsaved = row->unsaved,
                                    .keyed = row->keyed};
    struct run_parent parent;
    int rc = store_get_parent(store, row->run, &parent, error);
    if (rc)
        return rc;
    info->parent_run = parent.run;
    info->parent_open = parent.run && is_open(store, parent.run);
    copy_text(info->parent_task, sizeof info->parent_task, str_of(parent.id));
    copy_text(info->workflow, sizeof info->workflow, row->workflow_name);
    show_file(store, row, info->file, sizeof info->file);
    copy_text(info->owner_host, sizeof info->owner_host, row->owner_host);
    show_params(info->params, sizeof info->params, row->params_text);
    if (recovery) {
        struct tally tally = states_tally(&recovery->states);
        info->checkpoint = recovery->newest.seq;
        info->damaged = (uint32_t)recovery->n_damaged;
        TALLY_COPY(info, tally);
    }
    int live = run_live(store, row, error);
    if (live < 0)
        return live;
    info->live = live;
    look_at_slots(store, info);
    info->settled = is_settled(store, info);
    return 0;
}

struct lister {
    struct cairn_store *store;
    uint64_t *runs;
    size_t n, capacity;
    struct cairn_error *error;
};

static int collect_run(void *context, const struct run_row *row)
{
    struct lister *l = context;
    uint64_t *runs = array_room(l->runs, l->n, &l->capacity, sizeof *runs);
    if (!runs)
        return error_nomem(l->error);
    l->runs = runs;
    l->runs[l->n++] = row->run;
    return 0;
}

static int get_run(struct cairn_store *store, uint64_t run, struct cairn_run_info *out,
                   struct cairn_error *error)
{
    struct stored_run stored;
    int rc = stored_run_open(&stored, store, run, false, error);
    if (rc)
        return rc;
    rc = fill_info(store, &stored.row, &stored.recovery, out, error);
    stored_run_release(&stored);
    return rc;
}

/* Its owner may have ended it between the look at its row and that at the lock. */
static bool ended_meanwhile(struct cairn_store *store,
                            const struct cairn_run_info *info)
{
    struct run_row row;
    struct arena arena = ARENA_INIT;
    bool ended = !info->live && info->state == CAIRN_RUN_UNFINISHED &&
                 run_row_get(&row, store, info->run, &arena, NULL) == 0 &&
                 row.state != CAIRN_RUN_UNFINISHED;
    arena_release(&arena);
    return ended;
}

int cairn_run_get(struct cairn_store *store, uint64_t run, struct cairn_run_info *out,
                  struct cairn_error *error)
{
    int rc = get_run(store, run, out, error);
    if (!rc && ended_meanwhile(store, out))
        rc = get_run(store, run, out, error);
    return rc;
}

/* A run whose checkpoints are all damaged or gone is listed all the same, without
 * counts; so is one without a key, if there is one now. */
int cairn_run_look(struct cairn_store *store, uint64_t run, struct cairn_run_info *info,
                   struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct run_row row;
    int rc = cairn_run_get(store, run, info, error);
    if ((rc != CAIRN_EDAMAGED && rc != CAIRN_EUSAGE) || store_malformed(store))
        return rc;
    rc = run_row_get(&row, store, run, &arena, error)
             ?: fill_info(store, &row, NULL, info, error);
    arena_release(&arena);
    return rc;
}

static int add_run(void *context, uint64_t run)
{
    const struct run_row row = {.run = run};
    return collect_run(context, &row);
}

int cairn_unfinished(struct cairn_store *store,
                     int (*each)(void *, const struct cairn_run_info *), void *context,
                     uint64_t *total, struct cairn_error *error)
{
    struct lister lister = {.store = store, .error = error};
    struct cairn_run_info info;
    int rc = store_each_unfinished(store, add_run, &lister, error);
    if (!rc && total)
        *total = lister.n;
    for (size_t i = 0; i < lister.n && !rc; i++) {
        rc = cairn_run_look(store, lister.runs[i], &info, error);
        if (!rc && each(context, &info))
            break;
    }
    free(lister.runs);
    return rc;
}

static int find_workflow(struct cairn_store *store, const char *workflow,
                         struct run_filter *filter, struct cairn_error *error)
{
    if (!workflow)
        return 0;
    int rc =
        store_workflow_id(store, str_of(workflow), false, &filter->workflow, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(
            error, CAIRN_ENOTFOUND,
            "no run of a workflow `%s` is in this store; `cairn runs` lists "
            "what there is",
            workflow);
    return rc;
}

int cairn_runs(struct cairn_store *store, const char *workflow,
               const struct cairn_page *page,
               int (*each)(void *, const struct cairn_run_info *), void *context,
               uint64_t *total, struct cairn_error *error)
{
    enum { DEFAULT_LIMIT = 10, LARGEST_LIMIT = 100 };
    struct lister lister = {.store = store, .error = error};
    struct run_filter filter = {.ascending = page && page->oldest_first,
                                .offset = page ? page->offset : 0,
                                .limit =
                                    page && page->limit ? page->limit : DEFAULT_LIMIT};
    struct cairn_run_info info;
    if (filter.limit > LARGEST_LIMIT)
        filter.limit = LARGEST_LIMIT;
    if (page && page->all)
        filter.limit = 0;
    int rc = find_workflow(store, workflow, &filter, error)
                 ?: store_each_run(store, &filter, collect_run, &lister, error);
    if (!rc && total)
        rc = store_count_runs(store, &filter, total, error);
    for (size_t i = 0; i < lister.n && !rc; i++) {
        rc = cairn_run_look(store, lister.runs[i], &info, error);
        if (!rc && each(context, &info))
            break;
    }
    free(lister.runs);
    return rc;
}

int cairn_can_resume(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    struct cairn_run_info info;
    int rc = cairn_run_get(store, run, &info, error);
    if (!rc && info.live)
        return error_set(
            error, CAIRN_EOWNED, "run %llu is running: process %lld on %s owns it",
            (unsigned long long)info.run, (long long)info.owner_pid, info.owner_host);
    return rc ? rc : store_check_keyed(store, info.run, info.keyed, error);
}

/* ---- Added tasks that wait ---- */

/* Not taken: an owner may have had another task of that name. Taken, and not in the
 * graph: the run was ending when they were added. */
static int count_waiting(struct cairn_store *store, const struct addition *one,
                         const struct definition *definition, uint32_t *n,
                         struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct name_list names;
    bool taken = false;
    int rc = store_command_taken(store, one->id, &taken, error)
                 ?: addition_tasks(one, &arena, &names, error);
    for (size_t i = 0; !rc && i < names.n; i++)
        *n += !taken || map_get(&definition->by_id, names.at[i]) == MAP_NONE;
    arena_release(&arena);
    return rc;
}

static int count_each(struct cairn_store *store, const struct run_row *row, uint32_t *n,
                      struct cairn_error *error)
{
    struct addition *all = NULL;
    struct definition definition;
    struct graph graph;
    size_t n_all = 0;
    int rc = graph_load(store, &row->graph, &definition, &graph, error);
    if (rc)
        return rc;
    rc = additions_load(store, row->run, &all, &n_all, error);
    for (size_t i = 0; i < n_all && !rc; i++)
        rc = count_waiting(store, &all[i], &definition, n, error);
    additions_free(all, n_all);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

int additions_waiting(struct cairn_store *store, uint64_t run, uint32_t *n,
                      struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct added_sum sum;
    struct run_row row;
    *n = 0;
    int rc = added_sum_get(store, run, &sum, error);
    if (rc <= 0)
        return rc;
    rc = run_row_get(&row, store, run, &arena, error)
             ?: count_each(store, &row, n, error);
    arena_release(&arena);
    return rc;
}

int cairn_added_waiting(struct cairn_store *store, uint64_t run, uint32_t *n,
                        struct cairn_error *error)
{
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = additions_waiting(store, run, n, error);
    store_end_read(store);
    return rc;
}
