/* SPDX-License-Identifier: MIT */
/* Where the items of the board stand. The numbers are stored: never renumbered. Names
 * are what people write and JSON has; NULL for a number that is none.
 *
 *     proposed ---> testing ---> confirmed
 *         |            |
 *         +------------+-------> rejected
 */
#ifndef SESSION_BOARD_STATUS_H
#define SESSION_BOARD_STATUS_H

#include "base/str.h"

enum hypothesis_status {
    HYPOTHESIS_PROPOSED = 1,
    HYPOTHESIS_TESTING = 2,
    HYPOTHESIS_CONFIRMED = 3,
    HYPOTHESIS_REJECTED = 4,
};
enum gap_status {
    GAP_OPEN = 1,
    GAP_FILLED = 2, /* somebody found out */
    GAP_CLOSED = 3, /* by itself: its hypothesis is certain */
};
enum check_status {
    CHECK_PENDING = 1, /* never ran */
    CHECK_RUNNING = 2,
    CHECK_PASSED = 3,
    CHECK_FAILED = 4,  /* it ran, and said no */
    CHECK_TIMEOUT = 5, /* its limit ended it */
    CHECK_ERROR = 6,   /* it could not be run */
};
enum branch_status {
    BRANCH_ACTIVE = 1,
    BRANCH_MERGED = 2,
    BRANCH_ABANDONED = 3,
    BRANCH_ARCHIVED = 4,
};

const char *hypothesis_status_name(enum hypothesis_status status);
const char *gap_status_name(enum gap_status status);
const char *check_status_name(enum check_status status);
const char *branch_status_name(enum branch_status status);

/* The number of a name. CAIRN_EUSAGE lists the names that there are. */
int hypothesis_status_parse(struct str name, enum hypothesis_status *status,
                            struct cairn_error *error);
int gap_status_parse(struct str name, enum gap_status *status,
                     struct cairn_error *error);
int check_status_parse(struct str name, enum check_status *status,
                       struct cairn_error *error);
int branch_status_parse(struct str name, enum branch_status *status,
                        struct cairn_error *error);

/* May a hypothesis go from one to the other? CAIRN_EUSAGE says what it may become. */
int hypothesis_move(enum hypothesis_status from, enum hypothesis_status to,
                    struct cairn_error *error);

#endif
