/* SPDX-License-Identifier: MIT */
/* What becomes of a snapshot that was taken. */
#include "snapshot/index.h"
#include "snapshot/snapshot.h"

int snapshot_put(struct snapshot *snapshot, struct cairn_error *error)
{
    return stage_put_waiting(&snapshot->stage, error);
}

int snapshot_save_index(const struct snapshot *snapshot, const char *path,
                        struct str anchor, struct cairn_error *error)
{
    struct index index = {.anchor = anchor,
                          .began_ns = snapshot->began_ns,
                          .snapshot = snapshot->digest,
                          .root = snapshot->root,
                          .block = buf_view(&snapshot->index)};
    return index_save(path, &index, error);
}

void snapshot_end(struct snapshot *snapshot)
{
    stage_end(&snapshot->stage);
    buf_release(&snapshot->index);
}
