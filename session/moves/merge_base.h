/* SPDX-License-Identifier: MIT */
/* Where two branches were last the same. */
#ifndef SESSION_MOVES_MERGE_BASE_H
#define SESSION_MOVES_MERGE_BASE_H

#include "session/moves/moves_int.h"

struct merge_base {
    uint64_t seq; /* of the newest state that both have in them and that can be read */
    struct state_at state;
    bool read;     /* `state` is to be released */
    uint64_t lost; /* seq of a newer one, which cannot be read; 0: there is none */
    /* The name of a branch on one of the two lines that was merged into something,
     * nobody knows when; or "". */
    char unknown[CAIRN_SESSION_NAME_MAX];
};
/* Of two branches. CAIRN_EDAMAGED: no common state is left. */
int merge_find_base(struct live *live, uint64_t ours, uint64_t theirs,
                    struct merge_base *out, struct cairn_error *error);

#endif
