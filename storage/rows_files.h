/* SPDX-License-Identifier: MIT */
/* Which files of an attempt are in the content pool: its artifacts, or copies of its
 * outputs. They are a snapshot (snapshot/snapshot.h), of which a row has the digest. Of a
 * task of a run there is one row of either kind, of the newest attempt that left some. It
 * is a setting, and goes with the run. */
#ifndef STORAGE_ROWS_FILES_H
#define STORAGE_ROWS_FILES_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

enum files_kind {
    FILES_ARTIFACTS,
    FILES_KEPT, /* outputs, below the directory of the workflow (runs/kept.h) */
    FILES_KINDS
};
struct files_row {
    enum files_kind kind;
    uint64_t run;
    struct str id; /* of the task */
    uint32_t gen, task, attempt;
    int64_t until_ns;    /* since 1970; 0: as long as the run */
    struct digest files; /* the snapshot */
};

/* In place of the row of an earlier attempt. Needs a write transaction, in which the
 * snapshot is there. */
int store_put_files(struct cairn_store *store, const struct files_row *row,
                    struct cairn_error *error);
/* Of row->kind, run and id: fills in the rest. 1 there is one, 0 there is none that
 * holds, <0 error. */
int store_get_files(struct cairn_store *store, struct files_row *row,
                    struct cairn_error *error);
struct files_search {
    enum files_kind kind;
    uint64_t run; /* 0: of every run */
    /* Texts are views. Non-zero stops, and is returned. */
    int (*each)(void *context, const struct files_row *row);
    void *context;
    /* A row that cannot be read is CAIRN_EDAMAGED, and of those that can the HMAC is not
     * looked at; else what does not hold is passed over. */
    bool all;
};
/* Removes the row unless it names other files by now. 1: it is gone, 0: it stays, or was
 * gone. Needs a write transaction. */
int store_drop_files(struct cairn_store *store, const struct files_row *row,
                     struct cairn_error *error);
/* By the bytes of their runs' numbers and their ids. */
int store_each_files(struct cairn_store *store, const struct files_search *search,
                     struct cairn_error *error);
/* Looks at at most `limit` rows behind `from`, which is set to the last one ("" is the
 * first), and removes those whose time is over. *left: there may be more. Needs a write
 * transaction. CAIRN_EDAMAGED: a row that cannot be read. */
struct files_expiry {
    enum files_kind kind;
    int64_t now_ns;
    uint32_t limit;
    struct buf from;  /* to be released */
    uint32_t dropped; /* in all */
    bool left;
};
int store_drop_expired_files(struct cairn_store *store, struct files_expiry *expiry,
                             struct cairn_error *error);

#endif
