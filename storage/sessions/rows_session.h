/* SPDX-License-Identifier: MIT */
/* Rows of debugging sessions: sessions, their branches, the items of their boards, and
 * the log of what was done. What a body, numbers or settings mean is the business of
 * session/; here they are bytes under a checksum. Sessions have no HMAC key.
 *
 * No field of a row whose checksum does not hold is handed out. Whoever asks for that
 * row, or for a list with it, gets CAIRN_EDAMAGED with a text that names it; the other
 * rows of a list are handed out before. A row whose number is damaged may be any: where
 * it could be the one that is missing, the answer is CAIRN_EDAMAGED, too.
 *
 * A store of an older version that is only read has none of these rows.
 *
 * Numbers have 63 bits, times are nanoseconds (UTC) unless said otherwise. What is put
 * needs a write transaction. A failed check (CAIRN_EUSAGE, CAIRN_ENOTFOUND) leaves the
 * transaction usable. */
#ifndef STORAGE_SESSIONS_ROWS_SESSION_H
#define STORAGE_SESSIONS_ROWS_SESSION_H

#include "base/clean.h"
#include "cairn/store.h"

/* Callbacks get views that are valid during the call. A non-zero return stops, and is
 * returned if negative. */

/* ---- rows_session.c ---- */

struct session_row {
    uint64_t session;                    /* from 1, never used again */
    struct clean name;                   /* unique, not empty */
    int64_t started_ns, started_boot_ns; /* UTC; CLOCK_BOOTTIME of `boot` */
    struct str boot;                     /* boot id */
    int64_t ended_ns;                    /* 0: not ended */
    uint64_t branch;                     /* the current one */
    struct str numbers, settings; /* both empty where a repair made the row again */
};
/* Replaces the row of its number (CAIRN_ENOTFOUND if there is none); number 0: a new
 * session, whose number is put there. CAIRN_EUSAGE if another has its name. */
int store_put_session(struct cairn_store *store, struct session_row *row,
                      struct cairn_error *error);
typedef int session_row_fn(void *context, const struct session_row *row);
/* CAIRN_ENOTFOUND */
int store_get_session(struct cairn_store *store, uint64_t session, session_row_fn *got,
                      void *context, struct cairn_error *error);
/* CAIRN_ENOTFOUND */
int store_find_session(struct cairn_store *store, struct str name, uint64_t *session,
                       struct cairn_error *error);
/* By number, the highest first unless page->oldest_first; limit 0: all. `total` (may be
 * NULL): how many there are. */
int store_each_session(struct cairn_store *store, const struct cairn_page *page,
                       session_row_fn *each, void *context, uint64_t *total,
                       struct cairn_error *error);

/* Deletes the row, its branches, items, log and messages, with what is noted of how
 * many there are. Its number is not given again. */
int store_delete_session(struct cairn_store *store, uint64_t session,
                         struct cairn_error *error);

/* Sessions that other rows name and that have no row, by number. */
int store_each_lost_session(struct cairn_store *store,
                            int (*each)(void *, uint64_t session), void *context,
                            struct cairn_error *error);
/* Gives such a session a row again. CAIRN_EUSAGE if another has its name. */
int store_restore_session(struct cairn_store *store, const struct session_row *row,
                          struct cairn_error *error);

/* The current session of the store, 0: none. It is the setting `session`, a number; its
 * row may be gone. CAIRN_EDAMAGED if the setting is damaged, or may be. */
int store_current_session(struct cairn_store *store, uint64_t *session,
                          struct cairn_error *error);
int store_set_current_session(struct cairn_store *store, uint64_t session,
                              struct cairn_error *error);

/* ---- rows_session.c ---- */

enum { BRANCH_ROW_ACTIVE = 1 };
enum { BRANCH_GOES_ON = 1 }; /* a status; what others mean is of session/ */
/* A branch is a stream of the namespace debug, and has the number of the stream. */
struct branch_row {
    uint64_t branch; /* from 1, never used again */
    uint64_t session;
    struct clean name; /* unique in its session, not empty */
    uint8_t status;    /* of session/, or this where a repair made the row again */
    uint64_t from_seq; /* the checkpoint it starts from; 0: the session's first */
    int64_t started_ns;
    struct clean reason; /* why it was abandoned, or "" */
};
int store_put_branch(struct cairn_store *store, struct branch_row *row,
                     struct cairn_error *error); /* as store_put_session */
typedef int branch_row_fn(void *context, const struct branch_row *row);
/* CAIRN_ENOTFOUND */
int store_get_branch(struct cairn_store *store, uint64_t branch, branch_row_fn *got,
                     void *context, struct cairn_error *error);
/* By number; session 0: of all. Reads all branches of the store. */
int store_each_branch(struct cairn_store *store, uint64_t session, branch_row_fn *each,
                      void *context, struct cairn_error *error);

/* Branches that sessions name as their current and that have no row. */
int store_each_lost_branch(struct cairn_store *store,
                           int (*each)(void *, uint64_t branch, uint64_t session),
                           void *context, struct cairn_error *error);
/* As store_restore_session. */
int store_restore_branch(struct cairn_store *store, const struct branch_row *row,
                         struct cairn_error *error);

/* ---- rows_session.c ---- */

struct item_row {
    uint64_t session;
    uint8_t kind;
    uint32_t n;
    struct str body;
    /* What the body names (of session/), by which the item is found: another item, as
     * its kind * 2^32 + its number, or any number from ITEM_LINK_OTHER on; 0: nothing.
     * A row that was put without them has to get them before anybody looks for items by
     * them. */
    bool linked;
    int64_t about, also;
};
#define ITEM_LINK_OTHER (1ll << 62)
/* Inserts or replaces. */
int store_put_item(struct cairn_store *store, const struct item_row *row,
                   struct cairn_error *error);
/* 0, too, if there is none. */
int store_drop_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                    uint32_t n, struct cairn_error *error);
typedef int item_row_fn(void *context, const struct item_row *row);
/* By kind and number. */
int store_each_item(struct cairn_store *store, uint64_t session, item_row_fn *each,
                    void *context, struct cairn_error *error);

/* This handle has had all of them from store_each_item, and nobody has changed the
 * database since: none is lost. Asked in a transaction that has read. */
bool store_items_fit(const struct cairn_store *store, uint64_t session);

/* These read what they hand out, and no other item, so they do not miss one that was
 * lost: who finds less than he must asks store_each_item. */
int store_get_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                   uint32_t n, item_row_fn *got, void *context,
                   struct cairn_error *error);
int store_each_item_of_kind(struct cairn_store *store, uint64_t session, uint8_t kind,
                            item_row_fn *each, void *context,
                            struct cairn_error *error);
/* The one of that kind with the highest number. */
int store_last_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                    item_row_fn *got, void *context, struct cairn_error *error);
/* Those with that number in `about`, or in `also`. */
int store_each_item_about(struct cairn_store *store, uint64_t session, int64_t about,
                          item_row_fn *each, void *context, struct cairn_error *error);
int store_each_item_also(struct cairn_store *store, uint64_t session, int64_t also,
                         item_row_fn *each, void *context, struct cairn_error *error);
/* Whether all that name the item are found, by the exclusive or of their checksums that
 * its row has: CAIRN_EDAMAGED. */
int store_check_naming(struct cairn_store *store, uint64_t session, uint8_t kind,
                       uint32_t n, struct cairn_error *error);
/* The same of every item. A non-zero return stops, and is returned if negative. */
int store_verify_naming(struct cairn_store *store,
                        int (*bad)(void *context, const char *text), void *context,
                        struct cairn_error *error);
/* Whether all items of the session can be found so. */
int store_items_linked(struct cairn_store *store, uint64_t session, bool *linked,
                       struct cairn_error *error);
/* Makes them so: the first call for the session, then one for each of its items. */
int store_unlink_items(struct cairn_store *store, uint64_t session,
                       struct cairn_error *error);
int store_link_item(struct cairn_store *store, const struct item_row *row,
                    struct cairn_error *error);

/* Notes that the checkpoint `seq` has the items as they are; and whether it was noted and
 * they are still those, by their tally: so nobody has to read them for it. */
int store_note_captured(struct cairn_store *store, uint64_t session, uint64_t seq,
                        struct cairn_error *error);
int store_is_captured(struct cairn_store *store, uint64_t session, uint64_t seq,
                      bool *captured, struct cairn_error *error);

/* The tally that the items had when that was noted of the checkpoint. *noted false: of
 * this one it was not, or the note is damaged. */
struct row_tally;
int store_captured(struct cairn_store *store, uint64_t session, uint64_t seq,
                   struct row_tally *tally, bool *noted, struct cairn_error *error);

/* Adds the row, as if it were there, to a tally. */
void store_item_tally(struct cairn_store *store, const struct item_row *row,
                      struct row_tally *tally);

/* ---- rows_session.c ---- */

/* Verbs (of session/, which has all) that say what became of items, by which they are
 * made again: put and removed, of the item `number`; a checkpoint of that number was
 * made or restored; messages were added, the last of
 * them with that number; the branch of that number was merged (merges.h). */
enum {
    SESSION_LOG_PUT = 2,
    SESSION_LOG_REMOVED = 3,
    SESSION_LOG_CHECKPOINT = 4,
    SESSION_LOG_RESTORED = 5,
    SESSION_LOG_MERGED = 14,
    SESSION_LOG_MESSAGES = 17
};

/* What was done in a session. Turns count its transactions; n counts within a turn. */
struct session_log_row {
    uint64_t session, turn; /* both from 1 */
    uint32_t n;
    int64_t time_ns;
    uint8_t verb;             /* of session/ */
    uint8_t kind;             /* of the item, or 0 */
    uint64_t number;          /* of the item, a checkpoint or a branch, by verb */
    struct str before, after; /* of session/; empty (on reading ptr NULL): none */
};
/* There must be no row with its session, turn and n. */
int store_put_session_log(struct cairn_store *store, const struct session_log_row *row,
                          struct cairn_error *error);
typedef int session_log_row_fn(void *context, const struct session_log_row *row);
/* Those with turn > after, by turn and n; `newest_first`: with turn <= after, by
 * descending turn and ascending n within it. */
int store_each_session_log(struct cairn_store *store, uint64_t session, uint64_t after,
                           bool newest_first, session_log_row_fn *each, void *context,
                           struct cairn_error *error);
/* The highest turn, 0: none. */
int store_last_session_turn(struct cairn_store *store, uint64_t session, uint64_t *turn,
                            struct cairn_error *error);

#endif
