/* SPDX-License-Identifier: MIT */
/* What the files of the room share: a session as one call sees it, from the store and
 * back. */
#ifndef SESSION_SESSION_INT_H
#define SESSION_SESSION_INT_H

#include "base/sha256.h"
#include "cairn/session.h"
#include "checkpoint/messages/line.h"
#include "checkpoint/sections.h"
#include "session/board/beliefs.h"
#include "session/board/board.h"
#include "session/board/confidence.h"
#include "session/files.h"
#include "session/keep.h"
#include "session/outside.h"
#include "session/settings.h"
#include "storage/sessions/rows_session.h"

/* ---- live.c: loading a session ---- */

/* Stored in the log of a session: never renumbered. `number` and the two texts of a row
 * are, by verb:
 *
 *   - put: the item, its body before (none: it was added) and after
 *   - removed: the item, its body before
 *   - checkpoint, restored: seq of the checkpoint; checkpoint, after: its trigger by
 * name, or none
 *   - contradiction: a belief; after: the id of another that cannot be true, too
 *   - branched, switched, abandoned, back, forward: the branch that is current then, or
 *     was
 *   - restored, back and forward, after: varint branch before, varint seq that it was
 *     at; back and forward: then varint seq of the state that was taken up, varint 1 if
 *     what there was was not what the last back or forward had taken up, else 0. (Of a
 *     back that is older, nothing.)
 *   - merged: the other branch; after: varint branch that it was merged into, varint
 * seq of the state that was merged, varint seq of what came of it
 *   - undone: the turn that was undone
 *   - messages: the last one that was added; after: varint how many were
 *   - configured, after: name and value; pruned: how many, after: for people */
enum session_verb {
    VERB_STARTED = 1,
    VERB_PUT = 2,
    VERB_REMOVED = 3,
    VERB_CHECKPOINT = 4,
    VERB_RESTORED = 5,
    VERB_BRANCHED = 6,
    VERB_SWITCHED = 7,
    VERB_ABANDONED = 8,
    VERB_ENDED = 9,
    VERB_CONTINUED = 10,
    VERB_CONFIGURED = 11,
    VERB_UNDONE = 12,
    VERB_BACK = 13,   /* a restore was undone */
    VERB_MERGED = 14, /* into the current branch */
    VERB_PRUNED = 15, /* number: how many checkpoints; after: for people */
    VERB_CONTRADICTION = 16,
    VERB_MESSAGES = 17, /* were added */
    VERB_FORWARD = 18,  /* what was undone was done again */
};

_Static_assert((int)VERB_PUT == SESSION_LOG_PUT &&
                   (int)VERB_REMOVED == SESSION_LOG_REMOVED &&
                   (int)VERB_CHECKPOINT == SESSION_LOG_CHECKPOINT &&
                   (int)VERB_RESTORED == SESSION_LOG_RESTORED &&
                   (int)VERB_MERGED == SESSION_LOG_MERGED &&
                   (int)VERB_MESSAGES == SESSION_LOG_MESSAGES,
               "items, merges and numbers of messages are known by these");

/* How often what was done since the session began. */
struct session_counters {
    uint64_t checkpoints, hypotheses_tested, gaps_filled;
    uint64_t commands, verifications; /* that were run */
};

struct live {
    struct cairn_store *store;
    struct sha256 *sha;
    struct arena arena; /* of what rows hold */
    struct session_row row;
    uint32_t numbers[ITEM_KINDS_END]; /* highest ever given */
    uint64_t last_message;            /* likewise */
    uint64_t message; /* where the present line of messages ends, 0: it is empty */
    struct session_counters counters;
    struct session_settings settings;
    struct board board;
    struct moment now;
    char boot[37];
    bool open, writing;
    const struct secret *given; /* secrets of a run, to be hidden */
    size_t n_given;
    uint64_t pruned;           /* checkpoints that were deleted by `settings.keep` */
    struct files_taken *files; /* of the caller, or NULL: see files.h */
    uint64_t turn;             /* of what this call logs; 0: nothing yet */
    uint32_t logged;
    struct cairn_error *item_error; /* of the items that are being read */
    bool checked; /* all items were read: none is damaged or missing */
};

/* Begins a transaction, to read or to write, and loads the row of the session (as
 * cairn/session.h says it is given) without its board. live_close is called in any
 * case. */
int live_read(struct live *live, struct cairn_store *store, const char *session,
              struct cairn_error *error);
int live_write(struct live *live, struct cairn_store *store, const char *session,
               struct cairn_error *error);
/* For what concerns no session that there is: the transaction and the moment alone. */
int live_begin(struct live *live, struct cairn_store *store, bool writing,
               struct cairn_error *error);
int live_find(struct live *live, const char *session, struct cairn_error *error);
/* Whoever deletes checkpoints asks for merges, and must not read all of the log for
 * that: once in a while, live_close calls this. */
int live_tend_merges(struct live *live, struct cairn_error *error);
/* Ends the transaction: rc 0 commits, anything else aborts and is returned. */
int live_close(struct live *live, int rc, struct cairn_error *error);

/* In a write transaction it also makes items findable, where nobody has yet: before one
 * of them is written. */
int live_load_board(struct live *live, struct cairn_error *error);
/* To look at one item, at those of a kind (n 0), or at all (kind 0): decodes only those
 * and what is shown of them comes from. All rows are checked as by live_load_board. In a
 * read transaction. */
int live_load_shown(struct live *live, struct item_ref shown,
                    struct cairn_error *error);
/* All items of the session, as they are stored. CAIRN_EDAMAGED says what is damaged or
 * missing. */
int live_each_item(struct live *live, item_row_fn *each, void *context,
                   struct cairn_error *error);
/* Reads all items, once, and says what is damaged or missing: CAIRN_EDAMAGED. */
int live_check_items(struct live *live, struct cairn_error *error);
int live_refuse_kind(struct cairn_error *error);
/* From a row; live->item_error tells what is wrong. */
int live_decode_item(struct live *live, const struct item_row *row, struct item *out);
/* A session that is a thread has no board: CAIRN_EUSAGE, and `what` follows from that. */
int live_check_board(const struct live *live, const char *what,
                     struct cairn_error *error);
/* A session that has ended is not changed, nor one that is a thread: CAIRN_EUSAGE. */
int live_check_open(const struct live *live, struct cairn_error *error);

/* The current session of the store: 1 there is one, 0 none. */
int current_session(struct cairn_store *store, uint64_t *session,
                    struct cairn_error *error);
/* A copy in the arena of `live`; CAIRN_ENOTFOUND. */
int live_branch(struct live *live, uint64_t branch, struct branch_row *out,
                struct cairn_error *error);

/* Values that are not stored of the outside world: those that the settings list, that
 * workflows of the store declare, and that were given. The names are in the arena. */
int live_hidden(struct live *live, struct hidden_values *out,
                struct cairn_error *error);
/* As redactor_of_values. */
int live_redactor(struct live *live, struct redactor **out, struct cairn_error *error);
/* The same, but values that the settings list and that are too short are passed over.
 */
int live_redactor_lenient(struct live *live, struct redactor **out,
                          struct cairn_error *error);
/* Those that the workflows of the store declare alone. */
int redactor_of_workflows(struct cairn_store *store, struct redactor **out,
                          struct cairn_error *error);
/* Those that a session (as for live_read) and the workflows declare, by one of the
 * functions above; of the workflows alone where there is no session, or none that can
 * be read. */
typedef int live_redactor_fn(struct live *live, struct redactor **out,
                             struct cairn_error *error);
int redactor_of_session(struct cairn_store *store, const char *session,
                        live_redactor_fn *make, struct redactor **out,
                        struct cairn_error *error);
/* outside_take by that, and by looks. The text is in the arena. */
int live_take(struct live *live, const struct outside_text *text, struct clean *out,
              struct cairn_error *error);

/* Writes the row, from the members of `live`. */
int live_put_row(struct live *live, struct cairn_error *error);
struct log_entry {
    enum session_verb verb;
    uint8_t kind; /* of the item */
    uint64_t number;
    struct str before, after; /* ptr NULL: none */
};
int live_log(struct live *live, const struct log_entry *entry,
             struct cairn_error *error);
/* Only logs it: store_note_merges comes after the last of them. */
struct session_merge;
int live_log_merge(struct live *live, const struct session_merge *merge,
                   struct cairn_error *error);
/* Writes the items that have changed. `logged`: and a row of the log for each, and what
 * is counted. */
int live_put_changes(struct live *live, const struct board_changes *changes,
                     bool logged, struct cairn_error *error);

struct state_at;

/* ---- part.c: instead of the whole board, what a change concerns ---- */

/* Comes first, in place of live_load_board. `kind`: one of that kind will be added,
 * 0: none. An old store, and one that was repaired, is read whole once. */
int live_load_part(struct live *live, uint8_t kind, struct cairn_error *error);
/* If it is there. */
int live_get_item(struct live *live, struct item_ref ref, struct cairn_error *error);
/* The same. CAIRN_EDAMAGED: it is not, and items are damaged or missing. */
int live_load_item(struct live *live, struct item_ref ref, struct cairn_error *error);
/* What board_put and what is told of it need of an item as it will be; one that is
 * there was loaded before. */
int live_load_concerned(struct live *live, const struct item *item,
                        struct cairn_error *error);
/* Those for whose sake it cannot be removed. */
int live_load_referrers(struct live *live, struct item_ref ref,
                        struct cairn_error *error);
/* What a belief rests on, or what rests on it, however far away. */
int live_load_reach(struct live *live, uint32_t belief, enum belief_direction direction,
                    struct cairn_error *error);

/* ---- sessions.c ---- */

/* May it be the name of a session or branch (`what`)? CAIRN_EUSAGE says why not. */
int session_check_name(const char *what, struct str name, struct cairn_error *error);

/* Makes the session that `live` has from then on: its row, its branch main and the log
 * of its start. name NULL: the first free one. */
int session_begin(struct live *live, const char *name, const struct moment *started,
                  bool current, struct cairn_error *error);
/* One that has ended goes on. */
int session_go_on(struct live *live, struct cairn_error *error);

/* Makes a state the present one of a session that has an empty board. Numbers of items
 * are never lower than those that the session has given. The state must outlive it. */
int live_take_state(struct live *live, const struct state_at *state,
                    struct cairn_error *error);
/* "slow" stays where no session has that name, else it becomes "slow-2". */
int session_free_name(struct cairn_store *store, char name[CAIRN_SESSION_NAME_MAX],
                      struct cairn_error *error);

/* Until session_unhold nobody deletes the session. *held false: the handle may not hold
 * it, or does already. CAIRN_EBUSY: it is being deleted. */
int session_hold(struct cairn_store *store, uint64_t session, bool *held,
                 struct cairn_error *error);
void session_unhold(struct cairn_store *store, uint64_t session);

/* The setting of the store by which sessions of agents go: days, 0: off. Setting it
 * needs a write transaction. */
#define KEEP_SESSIONS "keep-sessions"
#define AGENT_SESSION_START "agent-" /* of the names of sessions that hooks make */

/* ---- checkpoint_name.c ---- */

/* May somebody give this name, as `what` ("a label", "the name of a branch")?
 * CAIRN_EUSAGE: it reads as an id, the head, steps back or a time. What has such a name
 * from before, or in a file, keeps it. */
int session_check_new_name(const char *what, struct str name,
                           struct cairn_error *error);

/* ---- capture.c: the state as a checkpoint ---- */

struct capture {
    enum trigger trigger;
    struct str message;     /* of a manual one */
    const struct str *tags; /* besides those of the trigger */
    uint32_t n_tags;
    const struct task_link *link;  /* or NULL */
    bool always;                   /* also where the settings say no */
    const struct context *context; /* given, without secrets and git; or NULL */
    bool copied; /* of another checkpoint: with git as it was then, not as it is now */
};
struct captured {
    enum trigger_answer answer;
    struct checkpoint_ref ref; /* of the one that has the state: made, or the last; seq
                                  0: there is none */
};
/* Makes a checkpoint of the board on the current branch, if trigger_decide says so, and
 * logs it. A context that was given is never `unchanged`, and one with a threshold
 * counts as having crossed it. Needs a write transaction; the items are read from the
 * store, so what has changed must be there. */
int capture_state(struct live *live, const struct capture *capture,
                  struct captured *captured, struct cairn_error *error);
/* Whether it would make one: for a transaction that reads, with files. */
int capture_look(struct live *live, const struct capture *capture,
                 struct captured *captured, struct cairn_error *error);
/* Ends the call that has made one, or not, with its transaction and files. *out (may be
 * NULL) is as for programs. */
int capture_end(struct live *live, int rc, const struct captured *made,
                struct cairn_captured *out, struct cairn_error *error);
/* Before the board is replaced: unless the last checkpoint has this state. */
/* `what` (may be NULL) goes behind the usual message: ": to main". */
int capture_before(struct live *live, enum trigger trigger, const char *what,
                   struct captured *captured, struct cairn_error *error);
/* How long it is until a scheduled one and one for significant time are due: 0: now,
 * INT64_MAX: never. */
int capture_due(struct live *live, int64_t *scheduled_ns, int64_t *significant_ns,
                struct cairn_error *error);
/* What follows from changes of items by itself, and what is due. *ref is the one that
 * was made last, seq 0: none. `opposed`: two beliefs that are since, or NULL. */
int capture_automatic(struct live *live, const struct board_changes *changes,
                      const struct contradiction *opposed, struct checkpoint_ref *ref,
                      struct cairn_error *error);

/* ---- log.c ---- */

/* "h1 confirmed: The cache is stale", in one line of at most so many characters, with
 * "..." where it was cut. */
enum { LINE_COLUMNS = 80 };
int cause_line(struct buf *out, const char *start, const struct item *item,
               const char *what, struct cairn_error *error);

/* ---- keep.c ---- */

struct keeping {
    struct keep_rules rules;
    const struct str *tags;
    size_t n_tags;
    bool manual_too; /* manual ones stay by the rules only */
};

/* Deletes checkpoints that the settings let go: of the current branch, and in turn of
 * another one. A bounded number is looked at and deleted, the oldest first; the next
 * call goes on from there. Needs a write transaction; it is called when the transaction
 * has done all else. Damage keeps nothing else from being done. */
int keep_by_settings(struct live *live, struct cairn_error *error);

/* ---- state_at.c: checkpoints back to boards ---- */

struct state_at {
    struct arena arena;
    struct sections sections;
    struct sections_at at;
    struct board board;
    struct message_line messages; /* where its line ended; n 0: it was empty */
    bool has_files;               /* a snapshot of them: `files` */
    struct digest files;
    bool has_environment; /* one was stored */
    struct environment environment;
    struct context context; /* all empty: none was stored */
};
/* Verified and read whole. state_release in any case. CAIRN_EUSAGE: it is of a thread. */
int state_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
               struct state_at *out, struct cairn_error *error);
/* To be shown only: one of a thread, too, whose board is empty. */
int state_read_any(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                   struct state_at *out, struct cairn_error *error);
/* Of two, as far as they may differ: a section that both have is not read, of others
 * the boards have only what is not the same in both. All hypotheses and all evidence
 * are there, or what is known of hypotheses is the same. */
int state_read_apart(struct cairn_store *store, struct sha256 *sha,
                     const uint64_t seq[2], struct state_at *const out[2],
                     struct cairn_error *error);
void state_release(struct state_at *state);
/* The seq that a printed id of a session's checkpoint means. */
int debug_seq(struct cairn_store *store, const char *id, uint64_t *seq,
              struct cairn_error *error);

/* ---- item_list.c: fields as text, and for the public header ---- */

int fields_set(struct arena *arena, struct item *item, const struct cairn_set *sets,
               size_t n, int64_t now_ns, struct cairn_error *error);
/* Everything is in the arena. */
int item_show(struct arena *arena, const struct board *board, const struct item *item,
              int64_t now_ns, struct cairn_item *out, struct cairn_error *error);
uint8_t item_kind_parse(const char *name); /* 0: none */

/* The same of sections that are at hand: out->sections, with the arena and an empty
 * board. */
int state_load(struct cairn_store *store, struct state_at *out,
               struct cairn_error *error);

/* As belief_contradictions, with the numbers of beliefs: of one, or of all (0). */
int board_contradictions(const struct board *board, uint32_t belief,
                         struct contradictions *out, struct cairn_error *error);
/* The first that is in the second list alone; NULL: none. */
const struct contradiction *new_contradiction(const struct contradictions *before,
                                              const struct contradictions *after);
int live_log_contradiction(struct live *live, uint32_t belief, uint32_t other,
                           struct cairn_error *error);

/* ---- messages.c ---- */

/* The end of the present line of messages as the section of a checkpoint. *n: how many
 * messages the line has, as far as 32 bits tell. */
int messages_encode(struct live *live, struct buf *out, uint32_t *n,
                    struct cairn_error *error);
/* The one where the present line ends; n 0: it is empty. */
int message_end(struct live *live, struct message_seen *end, struct cairn_error *error);

struct new_message {
    uint8_t role, form;
    int64_t time_ns;
    uint64_t tokens_in, tokens_out;
    bool prompt, reply; /* it is one: cairn/message.h */
    struct clean model, file;
    struct str origin, body;
    uint64_t size; /* of one that was left out */
    const struct digest *digest;
};
/* Puts one behind `end`, which it becomes. The caller then puts the row of the session.
 */
int message_append(struct live *live, const struct new_message *message,
                   struct message_seen *end, struct cairn_error *error);
/* Logs that so many were added, up to the end of the line. */
int message_log(struct live *live, uint64_t n, struct cairn_error *error);

/* ---- diff.c: what differs between two boards ---- */

/* Items that are in one, or differ; nothing of the boards is changed. The views are
 * those of the boards. The caller frees changes->at. */
int boards_compare(const struct board *before, const struct board *after,
                   struct board_changes *changes, struct cairn_error *error);

#endif
