/* SPDX-License-Identifier: MIT */
/* Runs and objects to be collected as garbage. */
#ifndef TESTS_SUPPORT_GC_H
#define TESTS_SUPPORT_GC_H

#include "tests/support/checkpoint.h"

struct digest lab_put_object(struct lab *lab, const char *text);
bool lab_has_object(struct lab *lab, const struct digest *digest);
struct cairn_gc_result lab_collect(struct lab *lab, uint32_t keep_runs);
/* A callback of cairn_checkpoint_verify. */
int lab_print_problem(void *context, const struct cairn_problem *problem);
void lab_must_verify(struct lab *lab);
void lab_end_run(struct lab *lab, uint64_t run, uint8_t state, int64_t ended_ns);
/* A run that has ended, with some records and one attempt that wrote `output`. */
uint64_t lab_ended_run(struct lab *lab, const char *workflow, const char *kinds,
                       const char *output);
bool lab_has_run(struct lab *lab, uint64_t run);
/* The number that a query returns. */
int64_t lab_ask(struct lab *lab, const char *sql);
/* With the store closed: nothing but SQLite may open its files beside it. */
int64_t lab_ask_closed(struct lab *lab, const char *sql);

#endif
