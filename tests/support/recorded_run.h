/* SPDX-License-Identifier: MIT */
/* A store with runs that nobody ran: rows, definitions, checkpoints and attempts are
 * put there by hand, so that any state of a run can be looked at. */
#ifndef TESTS_SUPPORT_RECORDED_RUN_H
#define TESTS_SUPPORT_RECORDED_RUN_H

#include "cairn/store.h"
#include "storage/rows_attempt.h"
#include "tests/support/suite.h"
#include "workflow/workflow.h"

extern struct cairn_store *run_store; /* in a directory of its own */
extern struct cairn_error run_error;

void setup_store(void);
void teardown_store(void);
/* Fails the test with the text of run_error. */
void must(int rc);
struct cairn_workflow *workflow_of(const char *text);
uint32_t task_of(const struct cairn_workflow *w, const char *id);
/* A run whose generations had these workflows, with the outcomes of the newest in a
 * single checkpoint. Returns its number. */
uint64_t record_run(struct cairn_workflow *const *generations, uint32_t n,
                    const uint8_t *outcome, enum cairn_run_state state);
void put_attempt(const struct attempt_row *attempt);

#endif
