/* SPDX-License-Identifier: MIT */
#include "runs/noted_ends.h"

#include "process/live.h"
#include "storage/store.h"

#include <sys/stat.h>

static bool has_size(const char *path, uint64_t bytes)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == bytes;
}

/* In the file of its slot, or moved to one of its own. */
static bool has_values(struct cairn_store *store, uint64_t run,
                       const struct end_note *note)
{
    char path[LIVE_PATH];
    struct attempt_id id = {
        store_live_dir(store),      run, note->gen, note->task, note->attempt,
        live_store(store_id(store))};
    live_path(path, sizeof path, id.live_dir, live_of_attempt(LIVE_VALUES, &id));
    if (has_size(path, note->values_bytes))
        return true;
    live_path(path, sizeof path, id.live_dir,
              live_of_values(run, note->slot, id.store));
    return has_size(path, note->values_bytes);
}

bool noted_end_counts(struct cairn_store *store, uint64_t run,
                      const struct end_note *note)
{
    return !(note->flags & NOTE_STOPPED) &&
           (!note->values_bytes || has_values(store, run, note));
}
