/* SPDX-License-Identifier: MIT */
/* Which task made which declared output, for every workflow of the store: what a task
 * left that is gone from the definition is found here. A setting for each task and
 * path; the newest content counts. */
#ifndef STORAGE_ROWS_MADE_H
#define STORAGE_ROWS_MADE_H

#include "base/sha256.h"
#include "cairn/store.h"

enum made_kind {
    MADE_FILE = 'f',
    MADE_DIRECTORY = 'd',
    MADE_IN_PLACE = 'p' /* a file that may hold what was there before the task */
};
struct made_row {
    uint64_t workflow;
    struct str task; /* its id */
    struct str path; /* from the workflow's directory on, or absolute */
    uint8_t kind;    /* enum made_kind */
    uint64_t size, inode;
    int64_t mtime_ns, ctime_ns;
    struct digest digest; /* of the content; none: the attempt failed, nobody read it */
};
/* Both need a write transaction. */
int store_put_made(struct cairn_store *store, const struct made_row *row,
                   struct cairn_error *error);
int store_drop_made(struct cairn_store *store, const struct made_row *row,
                    struct cairn_error *error);

struct made_search {
    uint64_t workflow; /* 0: every one, and all tasks are wanted */
    /* Whether the files of this task are wanted. Those of one that is not wanted are
     * passed over without being read, however many there are. */
    bool (*wanted)(void *context, struct str task);
    /* A row that is sound, its texts views. A non-zero return stops; a negative one is
     * returned. */
    int (*each)(void *context, const struct made_row *row);
    void *context;
};
/* By task and path. A row whose checksum does not hold is left out: all that follows
 * from it is that its file is not found. */
int store_each_made(struct cairn_store *store, const struct made_search *search,
                    struct cairn_error *error);

#endif
