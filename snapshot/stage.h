/* SPDX-License-Identifier: MIT */
/* Content on its way into the pool before anything refers to it: it is collected, and
 * put in transactions that are short, so that others can write in between. No collector
 * runs meanwhile (storage/rows_gc.h); where the process ends before something refers to
 * the content, the next collection deletes it. */
#ifndef SNAPSHOT_STAGE_H
#define SNAPSHOT_STAGE_H

#include "base/sha256.h"
#include "cairn/store.h"

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
};

/* CAIRN_EBUSY: garbage is collected for longer than this waits. stage_end is called in
 * any case. */
int stage_begin(struct stage *stage, struct cairn_store *store,
                struct cairn_error *error);
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

#endif
