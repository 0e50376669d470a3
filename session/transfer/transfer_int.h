/* SPDX-License-Identifier: MIT */
/* Between the files of the alcove. */
#ifndef SESSION_TRANSFER_TRANSFER_INT_H
#define SESSION_TRANSFER_TRANSFER_INT_H

#include "cairn/session.h"
#include "session/session_int.h"
#include "session/transfer/line.h"
#include "storage/sessions/merges.h"

enum { TRANSFER_VERSION = 2 }; /* 1: without messages */

/* A record of this store, or the one in a file that it was imported from. */
struct known_record {
    char id[CAIRN_ID_MAX];
    uint64_t seq, session; /* here; session 0: not known */
};
/* Which session of which store one of this store was imported from, and how far both
 * had come then: the last turns of their logs. The setting `from.S` of session S. */
struct origin {
    char store[64];
    uint64_t number, turn; /* there */
    int64_t turn_ns;       /* when that turn was */
    uint64_t session, here;
    uint64_t seq; /* there: of the newest checkpoint that was seen */
};
struct file_branch {
    uint64_t number, from; /* in the file */
    uint64_t here;         /* 0: not made yet */
    char name[CAIRN_SESSION_NAME_MAX];
    uint8_t status;
    int64_t started_ns;
    char *reason; /* heap */
};
struct seq_pair {
    uint64_t file, here;
    uint64_t branch; /* in the file */
};

/* One session of the file. */
struct session_import {
    struct live live;
    bool open;           /* its transaction */
    bool made;           /* it is in the store, as far as this transaction goes */
    bool known;          /* it has checkpoints that are here already, or all of it
                            is: no session is made unless something is new */
    bool continued;      /* `live` is an earlier import, which goes on */
    bool recognized;     /* by its origin: it is known what is new */
    bool same;           /* else: what is here was compared, and is the same */
    bool lacks_messages; /* else: some are not here */
    uint64_t seen;       /* seq there, up to which all was imported */
    uint64_t known_session, known_seq;    /* of the newest known checkpoint, or 0 */
    uint64_t refused;                     /* parts of the file before it */
    char changed[CAIRN_SESSION_NAME_MAX]; /* an earlier import was changed here since */
    uint64_t turn;                        /* last one of its log there; 0: not known */
    int64_t turn_ns;
    uint64_t number, branch; /* in the file */
    char file_name[CAIRN_SESSION_NAME_MAX], name[CAIRN_SESSION_NAME_MAX];
    int64_t started_ns, ended_ns;
    struct file_branch *branches;
    size_t n_branches, branches_capacity;
    struct seq_pair *seqs; /* ascending */
    size_t n_seqs, seqs_capacity;
    struct session_merge *merges; /* as the file numbers them */
    size_t n_merges, merges_capacity;
    uint32_t numbers[ITEM_KINDS_END]; /* highest of any state */
    uint64_t newest, newest_there;    /* seq here: of all, of the current branch */
    uint64_t n_made;                  /* checkpoints */
    uint64_t message;                 /* number of the one that was taken last */
    uint64_t last_message;            /* highest that anything names */
    uint64_t n_messages;              /* lines of the file */
    uint64_t n_added;                 /* messages, to one that goes on */
    struct state_at present;
    bool has_present;
    struct snapshot_checked checked; /* of its files */
};

/* By its number in the file, or NULL. */
static inline struct file_branch *import_branch_of(struct session_import *s,
                                                   uint64_t number)
{
    for (size_t i = 0; i < s->n_branches; i++)
        if (s->branches[i].number == number)
            return &s->branches[i];
    return NULL;
}

struct importing {
    struct cairn_store *store;
    struct redactor *redactor;  /* secrets that the workflows of the store declare */
    struct sha256 *sha;         /* of one thing; that of the file is in import.c */
    struct known_record *known; /* by id */
    size_t n_known;
    char origin[64]; /* the store of the file */
    struct origin *origins;
    size_t n_origins;
    uint32_t version; /* of the store, when these and the known ones were read */
    uint64_t *noted;  /* sessions whose origin this import has noted */
    size_t n_noted, noted_capacity;
    struct session_import session;
    const struct cairn_transfer_calls *calls;
    struct cairn_transfer result;
    uint64_t line; /* number */
    struct cairn_error *error;
};

/* ---- export.c ---- */

struct message_export {
    struct cairn_store *store;
    struct buf *line; /* which `write` writes, and empties */
    int (*write)(void *);
    /* One cannot be read: 0 goes on. It empties the line. */
    int (*left_out)(void *, int rc, const struct cairn_error *why);
    void *context;
};

/* ---- import_again.c ---- */

/* That a line lacks something, or has what cannot be. Returns 0. */
int import_incomplete(struct importing *im, const char *type);
/* Counts and names what is left out. */
void import_refuse(struct importing *im, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 0 after damage was named; anything else is the end of the import. */
int import_left_out(struct importing *im, int rc, const char *what,
                    const struct cairn_error *why);

/* With the first part of it that is new. */
int import_make_session(struct importing *im);

/* A turn of the log of a session (0: the last one), and when it was. turn 0: there is
 * none. */
struct session_turn {
    uint64_t turn;
    int64_t time_ns;
};
int session_turn_find(struct cairn_store *store, uint64_t session, uint64_t turn,
                      struct session_turn *out, struct cairn_error *error);

/* Reads which checkpoints are here, and what sessions were imported before, and from
 * where; within a transaction. */
int import_load_known(struct importing *im);
/* What is here of the session that begins: whether nothing is new (`known`), whether
 * what is new goes to an earlier import (`continued`) or to a new session (`made`,
 * `changed`). Of one that was not noted, its checkpoints say it. */
int import_recognize(struct importing *im);
/* At the end of one of which only checkpoints are known: refuses it if it has more than
 * is here. */
int import_compare(struct importing *im);
/* Is this message here? Of such a session. */
int import_look_at_message(struct importing *im, const struct line *line);
/* How far it has been imported: the last thing that is done. */
int import_note_origin(struct importing *im);
/* Takes back what this import has noted. */
int import_forget_origins(struct importing *im);

#endif
