/* SPDX-License-Identifier: MIT */
/* A payload kind that only exists in tests: sessions of notes, with deltas. It writes a
 * `debug:` stream into the store of a run. Both streams have the number 1, so that code
 * that forgets the namespace is noticed. */
#ifndef TESTS_SUPPORT_SESSION_H
#define TESTS_SUPPORT_SESSION_H

#include "checkpoint/chain.h"
#include "tests/support/checkpoint.h"

enum { NOTES = 4, SESSION = 1 };

struct notes {
    uint8_t n;
    struct digest at[NOTES];
    uint32_t changes;
};

extern const struct payload_kind session_kind;
extern const struct payload_kinds session_kinds; /* with that of runs */
extern const struct payload_kinds old_kinds;     /* runs only, as in a first release */

struct chains session_chains(struct lab *lab);
/* The session's chain as it is; it may have no record yet. */
struct chain session_open(struct lab *lab, struct notes *notes);
/* One record in a transaction of its own, with a new note; its seq. */
uint64_t session_put_note(struct lab *lab, bool full, const char *text);
/* A delta of the run by a process that knows nothing but the store. */
void session_resume_run(struct lab *lab);
/* "note" (a delta and a full record of the session) or "resume" (a delta of the run).
 */
void session_in_new_process(struct lab *lab, const char *part);

struct written {
    struct lab *lab;
    uint64_t notes[8]; /* seqs of the session: F D D F D F D D */
};
struct written session_write_both(uint64_t seed);

/* All rows and tombstones of a namespace, to be released. */
struct buf session_bytes(struct lab *lab, uint8_t namespace_id);
/* Releases `before`. */
void session_expect_untouched(struct lab *lab, uint8_t namespace_id,
                              struct buf *before);

/* What the last session_verify reported. */
struct session_found {
    int n;
    struct cairn_problem at[8];
    char text[8][400];
};
extern struct session_found session_found;
int session_verify(struct lab *lab, const struct payload_kinds *kinds, const char *id);
void session_expect_sound(struct lab *lab);
/* One problem, of `seq` in that namespace, whose text has `part` in it. */
void session_expect_named(struct lab *lab, const struct payload_kinds *kinds,
                          const char *prefix, uint64_t seq, const char *part);

/* The test programs start themselves as other processes: their main is this. */
int session_main(int argc, char **argv, const char *name, void (*add)(TCase *));

#endif
