/* SPDX-License-Identifier: MIT */
/* A workflow as it was recorded and as it is now, and what is decided: for tests. */
#ifndef TESTS_SUPPORT_DECIDE_H
#define TESTS_SUPPORT_DECIDE_H

#include "plan/decide.h"

#include "cairn/plan.h"
#include "graph/match.h"
#include "tests/support/graph.h"

extern struct definition definition, old_definition;
extern struct graph graph, old;
extern struct states states;
extern uint32_t *old_task;
extern uint8_t *marks, *evidence;
extern struct decisions decisions;
extern struct cairn_error failure;
extern condition_fn *condition;

void begin_nothing(void);
/* The workflow as it was recorded, and as it is now (NULL: the same). All completed. */
void begin(const char *before, const char *now);
void end(void);
void judge(enum cairn_on_change on_change);
uint32_t now(const char *id);
void set(const char *id, enum cairn_outcome outcome);
void mark(const char *id, int what);
const char *fate_name(uint16_t fate);
/* Without what only goes with a fate: that it is a risk, waits for somebody, or is
 * excluded (which its reason says). */
uint16_t plain_fate(uint16_t fate);
/* Reason and plain fate. */
void expect(const char *id, enum cairn_reason reason, uint16_t fate);
void expect_cause(const char *id, const char *cause);
void expect_counts(uint32_t will, uint32_t may);
void expect_edits(uint32_t changed, uint32_t added, uint32_t removed);
/* "b=failed c=always f=finally d=if e=once x=external", in both definitions. */
void give(const char *what);
#endif
