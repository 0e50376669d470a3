/* SPDX-License-Identifier: MIT */
#include "runs/live_values.h"

#include "base/os.h"
#include "process/live.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "storage/store.h"

#include <dirent.h>
#include <unistd.h>

static bool has_values(const char *name, struct live_name *parsed)
{
    return live_parse(parsed, name) &&
           (parsed->kind == LIVE_SLOT_VALUES || parsed->kind == LIVE_VALUES);
}

/* Does an attempt under a keeper have them, or has it had them? As long as its claim is
 * there, its task may live, and its end is to be taken over, with these. */
static bool is_claimed(DIR *live, const struct live_name *values)
{
    char name[LIVE_NAME];
    struct live_name claim = *values;
    claim.kind = LIVE_CLAIM;
    claim.salt = 0;
    live_format(name, &claim);
    return values->kind == LIVE_VALUES && os_is_there(dirfd(live), name);
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

/* `all`: nobody will ever take anything of the run over. */
static void remove_of_run(struct cairn_store *store, uint64_t wanted, bool all)
{
    DIR *live = opendir(store_live_dir(store));
    const struct dirent *entry;
    struct live_name name;
    while (live && (entry = readdir(live)))
        if (has_values(entry->d_name, &name) && name.run == wanted &&
            (all || !is_claimed(live, &name)))
            (void)unlinkat(dirfd(live), entry->d_name, 0);
    if (live)
        closedir(live);
}

void live_values_remove(struct cairn_store *store, const struct run_row *row)
{
    if (may_hold_secrets(store, row))
        remove_of_run(store, row->run, false);
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
        remove_of_run(store, run, true);
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
    struct live_name name;
    uint64_t last = 0;
    while (live && (entry = readdir(live))) {
        if (!has_values(entry->d_name, &name) || name.run == last)
            continue;
        remove_if_dead(store, name.run);
        last = name.run;
    }
    if (live)
        closedir(live);
}
