/* SPDX-License-Identifier: MIT */
/* A random life of a session: its store, and every state that can be gone back to, told
 * as text when it was there. */
#ifndef TESTS_SUPPORT_SESSIONS_LIFE_H
#define TESTS_SUPPORT_SESSIONS_LIFE_H

#include "cairn/restore.h"
#include "cairn/session.h"
#include "tests/support/suite.h"

enum { LIFE_STATES_MOST = 400, LIFE_ITEMS_MOST = 64 };

extern struct cairn_error life_error;

#define MUST(call)                                                      \
    do {                                                                \
        int rc_ = (call);                                               \
        ck_assert_msg(rc_ == 0, #call ": %d %s", rc_, life_error.text); \
    } while (0)

struct life {
    char dir[200], path[256];
    uint64_t seed;
    struct cairn_store *store;
    struct {
        char id[CAIRN_ID_MAX];
        char *text;
    } states[LIFE_STATES_MOST];
    int n;
    char ids[LIFE_ITEMS_MOST][CAIRN_ITEM_ID_MAX]; /* on the board */
    int n_ids;
    unsigned long *killed; /* counts processes that were killed at work */
};

/* A store in a new directory, with the current session "model". */
void life_begin(struct life *life, uint64_t seed);
/* Removes all of it. */
void life_end(struct life *life);
void life_open(struct life *life);
void life_reopen(struct life *life);
/* Another store beside it, made if it is not there; the caller closes it. */
struct cairn_store *life_open_other(struct life *life, const char *name);

/* The board as text, as it is now or (checkpoint not NULL) was. The caller frees it. */
char *life_tell(struct life *life, const char *checkpoint);
/* Is that the board now? */
void life_expect(struct life *life, const char *text);
/* Takes the text over. */
void life_note_state(struct life *life, const char *id, char *text);
void life_forget_state(struct life *life, int at);
/* A session as the bytes of a file; the caller releases them. */
struct buf life_export(struct life *life, struct cairn_transfer *result);
int life_import(struct cairn_store *to, const struct buf *file,
                struct cairn_transfer *result);

/* All states are as they were, and everything verifies. */
void life_look_back(struct life *life);
/* Each state in a store of its own, and all in one that reads the session's file. */
void life_copy_states(struct life *life);
void life_move_session(struct life *life);

/* ---- life_crash.c ---- */

/* A process restores, makes a checkpoint, prunes, imports or changes the board, and is
 * killed meanwhile: all is as before it or as after it. */
void life_crash(struct life *life);
/* What the test's main calls where its first argument is this word. */
#define LIFE_CRASH_WORD "be-killed"
int life_crash_main(int argc, char **argv);

#endif
