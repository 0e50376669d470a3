/* SPDX-License-Identifier: MIT */
/* The content of one file on its way into the pool. */
#ifndef SNAPSHOT_CONTENT_H
#define SNAPSHOT_CONTENT_H

#include "snapshot/stage.h"
#include "snapshot/tree.h"

#include <sys/stat.h>

struct content_reader {
    struct stage *stage;
    char *room; /* TREE_CHUNK_MOST + 1 bytes */
};
/* Reads the file `name` of the directory, which fstatat has just described by *st, puts
 * it into the pool, and sets kind, mode, time, size and digest of *entry; *st is then
 * what it was when it was read. The bytes are those of one moment, or entry->kind is
 * TREE_LEFT_OUT: it was changed again and again, cannot be read, or is no file any more
 * (it is looked at again by the next snapshot). 1: it is gone. `before` (may be NULL)
 * has similar content. */
int content_put(struct content_reader *reader, int directory, const char *name,
                const struct digest *before, struct stat *st, struct tree_entry *entry,
                struct cairn_error *error);

#endif
