/* SPDX-License-Identifier: MIT */
/* Checkpoints of sessions in the store of a lab (tests/support/checkpoint.h). */
#ifndef TESTS_SUPPORT_SESSIONS_SECTIONS_H
#define TESTS_SUPPORT_SESSIONS_SECTIONS_H

#include "checkpoint/sections.h"
#include "tests/support/checkpoint.h"

/* A session in a transaction of its own; its number. */
uint64_t sections_session(struct lab *lab, const char *name);
/* A branch in a transaction of its own; its number. */
uint64_t sections_branch(struct lab *lab, uint64_t session, const char *name,
                         uint64_t from_seq);
/* One with random content of every part, whose texts live in the arena. */
struct sections sections_random(struct lab *lab, struct arena *arena);
/* Appends in a transaction of its own; its seq. Sections are not in the pool. */
uint64_t sections_put(struct lab *lab, uint64_t branch, const struct sections *what);
/* Appends one with this message and two sections that are in the pool: one of this text
 * and one that is always the same. */
uint64_t sections_note(struct lab *lab, uint64_t branch, const char *text);
bool sections_same(const struct sections *a, const struct sections *b);
/* Reads it, which must work, and compares. */
void sections_expect(struct lab *lab, uint64_t seq, const struct sections *what);

#endif
