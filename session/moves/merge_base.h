/* SPDX-License-Identifier: MIT */
/* Where two branches were last the same. */
#ifndef SESSION_MOVES_MERGE_BASE_H
#define SESSION_MOVES_MERGE_BASE_H

#include "session/moves/moves_int.h"

/* Of the branch and what it has in it, up to the checkpoint `seq`. */
struct place {
    uint64_t branch, seq;
};
struct places {
    struct place *at; /* heap */
    size_t n, capacity;
};

/* A state that both have in them, and that no newer one of these has in it. */
struct common_state {
    uint64_t seq;
    struct state_at state;
    struct places line;
    bool parted; /* there is an older one, which it has in it as well as ... */
    struct state_at before; /* ... one of those before it in the list */
};
struct merge_base {
    struct common_state *at; /* heap; the newest first */
    size_t n, capacity;
    uint64_t lost; /* seq of the newest one that cannot be read; 0: there is none */
    /* The name of a branch on one of the two lines that was merged into something,
     * nobody knows when; or "". */
    char unknown[CAIRN_SESSION_NAME_MAX];
};
/* Of two branches. CAIRN_EDAMAGED: no common state is left. merge_base_release in any
 * case, of one that was zeros before. */
int merge_find_base(struct live *live, uint64_t ours, uint64_t theirs,
                    struct merge_base *out, struct cairn_error *error);
void merge_base_release(struct merge_base *base);
/* What an item was where the branches were last the same; NULL: it was not there. Where
 * several common states have it differently, as that of them which had changed it
 * since these parted. *unclear: more than one had. */
const struct item *merge_base_item(const struct merge_base *base, struct item_ref id,
                                   bool *unclear);

#endif
