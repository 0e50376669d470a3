/* SPDX-License-Identifier: MIT */
/* Where runs and branches of sessions come from, as trees: a fork is below the run that
 * it starts from, a branch below its branch; the newest of several come first. `order`
 * is that in which they are shown, each before what is below it. */
#ifndef CLI_LINEAGE_H
#define CLI_LINEAGE_H

#include "cairn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINEAGE_NONE SIZE_MAX

struct lineage {
    struct lineage_link {
        size_t parent, child, sibling; /* first child; next child of the same parent */
        unsigned depth;                /* 0: it is below nothing */
    } * links;                         /* [n], heap */
    size_t *order;                     /* [n], heap */
    size_t n;
};

/* What the tree needs of a run; thousands of cairn_run_info would be too large. */
struct run_lineage {
    struct run_start {
        uint64_t run, from_run, from_seq;
    } * runs; /* [tree.n], newest first */
    size_t capacity;
    struct lineage tree;
    bool failed; /* out of memory */
};

/* The runs of a workflow (NULL: of all). A code of the library; released in any case. */
int run_lineage_read(struct run_lineage *lineage, struct cairn_store *store,
                     const char *workflow, struct cairn_error *error);
void run_lineage_release(struct run_lineage *lineage);

struct branch_lineage {
    struct branch_start {
        struct cairn_branch_info info;
        uint64_t from_branch; /* 0: it begins by itself, or where is not known */
        bool lost;            /* the checkpoint that it starts from is gone */
        char of[CAIRN_SESSION_NAME_MAX]; /* the session of that, where it is another */
        uint64_t of_session;
    } * branches; /* [tree.n], in the order in which they were begun */
    size_t capacity;
    struct lineage tree;
    bool failed; /* out of memory */
};

/* The branches of a session, by its number. CAIRN_EDAMAGED: the row of one, maybe of
 * another session, is damaged; the others are there. */
int branch_lineage_read(struct branch_lineage *lineage, struct cairn_store *store,
                        uint64_t session, struct cairn_error *error);
void branch_lineage_release(struct branch_lineage *lineage);

/* Sessions that begin at checkpoints of others. */
struct session_starts {
    struct session_start {
        char from[CAIRN_ID_MAX];
        uint64_t session;
        char name[CAIRN_SESSION_NAME_MAX];
    } * at; /* [n], heap */
    size_t n, capacity;
    struct cairn_session_info
        *sessions; /* [n_sessions] that were asked, newest first */
    size_t n_sessions, sessions_capacity;
    bool failed; /* out of memory */
};

/* Of the sessions of a page, which are listed, too. `total` may be NULL. */
int session_starts_read(struct session_starts *starts, struct cairn_store *store,
                        const struct cairn_page *page, uint64_t *total,
                        struct cairn_error *error);
void session_starts_release(struct session_starts *starts);

#endif
