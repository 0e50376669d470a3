/* SPDX-License-Identifier: MIT */
/* Whether the store is whole: its log, its tables, its pages, and the checksums of its
 * rows. (Objects: store_verify_objects. Checkpoints: checkpoint/verify/verify.h.) */
#ifndef STORAGE_HEALTH_H
#define STORAGE_HEALTH_H

#include "base/error.h"
#include "cairn/store.h"

/* The state of the write-ahead log, as far as it can be judged: while somebody writes
 * to it, it counts as whole. */
enum log_health {
    LOG_WHOLE,
    LOG_ENDS_EARLY, /* its last transaction is cut off, or perhaps the log itself */
    LOG_LOST        /* committed transactions can no longer be read */
};

enum log_health store_log_health(struct cairn_store *store);

/* Checks the checksums of all rows that are neither checkpoints, objects nor runs. */
struct bad_row {
    const char *what;
    uint64_t run; /* of a command or claim */
    bool hmac;    /* only its HMAC is wrong: it was made with another key */
};

int store_verify_rows(struct cairn_store *store,
                      int (*bad)(void *, const struct bad_row *), void *context,
                      struct cairn_error *error);
/* Compares the tables with those of a new store of the same version. */
int store_check_schema(struct cairn_store *store, int (*each)(void *, const char *line),
                       void *context, struct cairn_error *error);
/* Checks the pages, and that the indexes fit the tables; a call for each finding. */
int store_check_pages(struct cairn_store *store, int (*each)(void *, const char *line),
                      void *context, struct cairn_error *error);

#endif
