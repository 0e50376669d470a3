/* SPDX-License-Identifier: MIT */
/* Whether the store is whole: its log, its tables, its pages, and the checksums of its
 * rows. (Objects: store_verify_objects. Checkpoints: checkpoint/verify.h.) */
#ifndef STORAGE_HEALTH_H
#define STORAGE_HEALTH_H

#include "base/error.h"
#include "cairn/store.h"

/* What the write-ahead log tells, as far as nobody is writing it. */
enum log_health {
    LOG_WHOLE,
    LOG_ENDS_EARLY, /* its last transaction is cut off, or so may be the log itself */
    LOG_LOST        /* what was committed cannot be read any more */
};
enum log_health store_log_health(struct cairn_store *store);

/* Checks the checksums of all rows that are neither checkpoints, objects nor runs. */
struct bad_row {
    const char *what;
    uint64_t run; /* of a command or claim */
    bool hmac;    /* only its HMAC is not of the handle's key */
};
int store_verify_rows(struct cairn_store *store,
                      int (*bad)(void *, const struct bad_row *), void *context,
                      struct cairn_error *error);
/* Compares the tables with those that a store of its version has. */
int store_check_schema(struct cairn_store *store, int (*each)(void *, const char *line),
                       void *context, struct cairn_error *error);
/* The pages, and whether the indexes fit the tables; each line that is not "ok". */
int store_check_pages(struct cairn_store *store, int (*each)(void *, const char *line),
                      void *context, struct cairn_error *error);

#endif
