/* SPDX-License-Identifier: MIT */
/* Content on its way into the pool before anything refers to it: it is collected, and
 * put in transactions that are short, so that others can write in between. No collector
 * runs meanwhile (storage/rows_gc.h); where the process ends before something refers to
 * the content, the next collection deletes it. */
#ifndef SNAPSHOT_CONTENT_H
#define SNAPSHOT_CONTENT_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"
#include "snapshot/tree.h"

#include <stdatomic.h>

#include <sys/stat.h>

struct staged_content {
    size_t at, len; /* in `bytes` */
    bool has_before;
    struct digest before; /* of similar content */
};

struct stage {
    struct cairn_store *store;
    struct sha256 *sha;
    struct staged_content *waiting;
    size_t n, room;
    struct buf bytes;
    uint64_t objects, stored_bytes; /* put so far; bytes before compression */
    bool locked;
    const _Atomic uint32_t *stop; /* not 0 ends stage_put with CAIRN_ESTOPPED; NULL:
                                     never */
};

/* How long it waits for a collector: GC_WAIT_MS, not at all, or until it is stopped. */
enum stage_wait { STAGE_WAITS, STAGE_WAITS_NOT, STAGE_WAITS_LONG };
/* stage->stop is set to `stop`. CAIRN_EBUSY: garbage is collected for longer than this
 * waits. stage_end is called in any case. */
int stage_begin(struct stage *stage, struct cairn_store *store, enum stage_wait wait,
                const _Atomic uint32_t *stop, struct cairn_error *error);
/* Takes a copy of the content, and says its digest. `before` may be NULL. */
int stage_put(struct stage *stage, struct str content, const struct digest *before,
              struct digest *digest, struct cairn_error *error);
/* Puts what waits. */
int stage_flush(struct stage *stage, struct cairn_error *error);
/* The same in a transaction of the caller, for what is little. */
bool stage_is_little(const struct stage *stage);
int stage_put_waiting(struct stage *stage, struct cairn_error *error);
/* When what was put is referred to, or is not wanted any more. */
void stage_end(struct stage *stage);

/* The content of one file on its way into the pool. */

struct content_reader {
    struct stage *stage;
    char *room; /* TREE_CHUNK_MOST + 1 bytes */
};

/* Reads the file `name` of the directory, which fstatat has just described by *st, puts
 * it into the pool, and sets kind, mode, time, size and digest of *entry; *st is then
 * what it was when it was read. The bytes are those of one moment, or entry->kind is
 * TREE_LEFT_OUT: it was changed again and again, cannot be read, or is not a file any
 * more (it is looked at again by the next snapshot). 1: it is gone. `before` (may be
 * NULL) has similar content. */
int content_put(struct content_reader *reader, int directory, const char *name,
                const struct digest *before, struct stat *st, struct tree_entry *entry,
                struct cairn_error *error);

/* Where large content is cut, so that a change of it changes few chunks: at places that
 * the content itself decides by the last 64 bytes before them (FastCDC: Xia et al.,
 * "FastCDC: a Fast and Efficient Content-Defined Chunking Approach", USENIX ATC 2016,
 * with normalized chunking). */

enum { CHUNK_LEAST = 256 << 10, CHUNK_USUAL = 1 << 20, CHUNK_MOST = 4 << 20 };

/* The bytes of the first chunk of `content`, of which all up to CHUNK_MOST is there or
 * else all that is left. Never 0 but for no content. Stored lists of chunks depend on
 * it: what it returns never changes. */
size_t chunk_cut(struct str content);

#endif
