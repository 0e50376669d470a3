/* SPDX-License-Identifier: MIT */
/* What was merged into what in a session. The log says it; the setting `merges.S` of
 * session S repeats what the log says up to a turn, so that nobody has to read all of a
 * log for it, and that it is known where rows of the log were lost. */
#ifndef STORAGE_SESSIONS_MERGES_H
#define STORAGE_SESSIONS_MERGES_H

#include "storage/sessions/rows_session.h"

struct session_merge {
    uint64_t branch; /* that was merged */
    uint64_t head;   /* seq of its state that was */
    uint64_t into;   /* the branch that took it over */
    uint64_t made;   /* seq of what came of it: from there on, `into` has it */
};
/* In the order in which they were done. */
struct session_merges {
    struct session_merge *at; /* heap */
    size_t n, capacity;
    uint64_t turn; /* of the log, up to which the setting has them */
};
/* session_merges_release in any case. A damaged setting is passed over; CAIRN_EDAMAGED:
 * the log is damaged where the setting does not have it. */
int store_load_merges(struct cairn_store *store, uint64_t session,
                      struct session_merges *out, struct cairn_error *error);
void session_merges_release(struct session_merges *merges);

/* The text `after` of the row of a merge in the log, whose number is `branch`. */
void session_merge_encode(const struct session_merge *merge, struct buf *after);

/* These need a write transaction; `turn` is the last one of the log. */
/* Writes the setting: whenever something was merged. */
int store_note_merges(struct cairn_store *store, uint64_t session, uint64_t turn,
                      struct cairn_error *error);
/* The same where the setting is far behind: so who asks often never reads much. */
int store_tend_merges(struct cairn_store *store, uint64_t session, uint64_t turn,
                      struct cairn_error *error);

#endif
