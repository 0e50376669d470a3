/* SPDX-License-Identifier: MIT */
/* A store with run 1, whose rows of the audit log are made by hand; a test has its own
 * in a directory of its own. */
#ifndef TESTS_SUPPORT_RUNS_EVENTS_H
#define TESTS_SUPPORT_RUNS_EVENTS_H

#include "runs/events_int.h"

#include "base/clock.h"
#include "cairn/plan.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <check.h>

extern struct cairn_error error;
extern struct cairn_store *store;
extern char store_path[300];

void good(int rc);
void open_store(bool read_only);
/* Run 1 has a first graph (a, b, c), then as generation 2 a second one (new, a). */
void put_run(void);
/* What is not given is made up; of run 1. */
void put_attempt(struct attempt_row row);
void put_event(uint64_t turn, uint8_t kind, uint8_t argument, uint32_t task,
               struct str data);
void put_list(uint64_t turn, uint8_t kind, uint8_t argument, uint32_t cause);
/* For cairn_events: they write what they see into a struct buf. */
int add_short(void *context, const struct cairn_log_event *event);
/* Everything that there is to see. */
int add_long(void *context, const struct cairn_log_event *event);
void expect_log(uint64_t after, int (*each)(void *, const struct cairn_log_event *),
                const char *want);
void put_checkpoint(uint64_t seq);

/* The end of main: the exit status. */
int run_events(const char *name, const TTest *const *tests, size_t n);

#endif
