/* SPDX-License-Identifier: MIT */
/* Between the files of the alcove. */
#ifndef SESSION_TRANSFER_TRANSFER_INT_H
#define SESSION_TRANSFER_TRANSFER_INT_H

#include "cairn/transfer.h"
#include "session/session_int.h"
#include "session/transfer/line.h"
#include "storage/sessions/merges.h"

enum { TRANSFER_VERSION = 2 }; /* 1: without messages */

/* A record of this store, or the one in a file that it was imported from. */
struct known_record {
    char id[CAIRN_ID_MAX];
    uint64_t seq; /* here */
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
    bool open;               /* its transaction */
    bool made;               /* it is in the store, as far as this transaction goes */
    bool known;              /* it has checkpoints that are here already */
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
    struct session_import session;
    const struct cairn_transfer_calls *calls;
    struct cairn_transfer result;
    uint64_t line; /* number */
    struct cairn_error *error;
};

/* ---- export_messages.c ---- */

struct message_export {
    struct cairn_store *store;
    struct buf *line; /* which `write` writes, and empties */
    int (*write)(void *);
    /* One cannot be read: 0 goes on. It empties the line. */
    int (*left_out)(void *, int rc, const struct cairn_error *why);
    void *context;
};
/* Writes a line for each message of a session. */
int export_messages(const struct message_export *out, uint64_t session,
                    struct cairn_error *error);

/* ---- refusals.c ---- */

/* That a line lacks something, or has what cannot be. Returns 0. */
int import_incomplete(struct importing *im, const char *type);
/* Counts and names what is left out. */
void import_refuse(struct importing *im, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 0 after damage was named; anything else is the end of the import. */
int import_left_out(struct importing *im, int rc, const char *what,
                    const struct cairn_error *why);

/* ---- make_session.c ---- */

/* With the first part of it that is new. */
int import_make_session(struct importing *im);

/* ---- import_session.c ---- */

int import_session_begin(struct importing *im, const struct line *line);
int import_branch(struct importing *im, const struct line *line);
int import_object(struct importing *im, const struct line *line);
int import_checkpoint(struct importing *im, const struct line *line);
int import_present(struct importing *im, const struct line *line);
/* ---- import_messages.c ---- */

int import_message(struct importing *im, const struct line *line);
/* Puts what stands for messages that were refused. */
int import_mend_messages(struct importing *im);

/* ---- import_session.c again ---- */

/* Commits what was made; rc: of what came before, then nothing is. */
int import_session_end(struct importing *im, int rc);

/* ---- import_merge.c ---- */

int import_merge(struct importing *im, const struct line *line);
/* Once the branches are made. */
int import_put_merges(struct importing *im);

#endif
