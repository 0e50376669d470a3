/* SPDX-License-Identifier: MIT */
#include "runs/live_values.h"

#include "process/live.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "storage/store.h"

#include <dirent.h>
#include <unistd.h>

static bool has_values(const char *name, uint64_t *run)
{
    struct live_name parsed;
    if (!live_parse(&parsed, name) ||
        (parsed.kind != LIVE_SLOT_VALUES && parsed.kind != LIVE_VALUES))
        return false;
    *run = parsed.run;
    return true;
}

/* If that cannot be told, they may. */
static bool may_hold_secrets(struct cairn_store *store, const struct run_row *row)
{
    struct definition definition;
    struct graph graph;
    struct cairn_error ignored;
    if (generation_load(store, row, row->gen, &definition, &graph, &ignored))
        return true;
    bool has = definition.n_secrets > 0;
    graph_release(&graph);
    definition_release(&definition);
    return has;
}

static void remove_of_run(struct cairn_store *store, uint64_t wanted)
{
    DIR *live = opendir(store_live_dir(store));
    const struct dirent *entry;
    uint64_t run;
    while (live && (entry = readdir(live)))
        if (has_values(entry->d_name, &run) && run == wanted)
            (void)unlinkat(dirfd(live), entry->d_name, 0);
    if (live)
        closedir(live);
}

void live_values_remove(struct cairn_store *store, const struct run_row *row)
{
    if (may_hold_secrets(store, row))
        remove_of_run(store, row->run);
}

/* Only who owns the workflow knows that no attempt of it writes there now. */
static void remove_if_dead(struct cairn_store *store, uint64_t run)
{
    struct arena arena = ARENA_INIT;
    struct run_row row;
    struct cairn_error ignored;
    uint64_t workflow;
    int64_t offset;
    int rc = run_row_get(&row, store, run, &arena, &ignored);
    if (rc == CAIRN_ENOTFOUND)
        remove_of_run(store, run);
    else if (!rc && owner_acquire(store, row.workflow_name, &workflow, &offset,
                                  &ignored) == 0) {
        live_values_remove(store, &row);
        owner_release(store, offset);
    }
    arena_release(&arena);
}

/* Those of one run stand together often, but need not. */
void live_values_sweep(struct cairn_store *store)
{
    DIR *live = opendir(store_live_dir(store));
    const struct dirent *entry;
    uint64_t run, last = 0;
    while (live && (entry = readdir(live))) {
        if (!has_values(entry->d_name, &run) || run == last)
            continue;
        remove_if_dead(store, run);
        last = run;
    }
    if (live)
        closedir(live);
}
