/* SPDX-License-Identifier: MIT */
/* What a verification of the lab's store finds. */
#ifndef TESTS_SUPPORT_VERIFY_H
#define TESTS_SUPPORT_VERIFY_H

#include "tests/support/checkpoint.h"

struct problems {
    struct cairn_problem at[LAB_MAX];
    char text[LAB_MAX][200];
    int n;
    struct cairn_verify_result result;
};
/* Of the last lab_verify. */
extern struct problems lab_found;

/* `id` NULL: everything. */
int lab_verify(struct lab *lab, const char *id);
void lab_expect_sound(struct lab *lab);
/* Exactly one problem, and it names `seq`. */
void lab_expect_named(struct lab *lab, uint64_t seq, const char *what);
/* A run that forks from the i-th checkpoint, with a full record. */
struct run_stream lab_fork_at(struct lab *lab, int i, struct run_stream *main_stream);

#endif
