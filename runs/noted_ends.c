/* SPDX-License-Identifier: MIT */
#include "runs/noted_ends.h"

#include "process/live.h"

#include <sys/stat.h>

static bool has_size(const char *path, uint64_t bytes)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == bytes;
}

/* In the file of its slot, or moved to one of its own. */
static bool has_values(const char *live_dir, uint64_t run, const struct end_note *note)
{
    char path[LIVE_PATH];
    struct attempt_id id = {live_dir, run, note->gen, note->task, note->attempt};
    live_path(path, sizeof path, live_dir, live_of_attempt(LIVE_VALUES, &id));
    if (has_size(path, note->values_bytes))
        return true;
    live_path(path, sizeof path, live_dir,
              live_of_slot(LIVE_SLOT_VALUES, run, note->slot));
    return has_size(path, note->values_bytes);
}

bool noted_end_counts(const char *live_dir, uint64_t run, const struct end_note *note)
{
    return !(note->flags & NOTE_STOPPED) &&
           (!note->values_bytes || has_values(live_dir, run, note));
}
