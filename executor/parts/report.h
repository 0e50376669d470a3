/* SPDX-License-Identifier: MIT */
/* Calling the observer, after what it is told is durable. */
#ifndef EXECUTOR_PARTS_REPORT_H
#define EXECUTOR_PARTS_REPORT_H

#include "executor/parts/engine.h"

/* Replaces the text of a buffer by what may be stored. */
void redact_buf(const struct engine *e, struct buf *text);
/* What is recorded counts as reported. report.c is the only writer of `reported`. */
void report_open(struct engine *e);
void report(struct engine *e, enum cairn_event_kind kind, const char *text);
void report_start(struct engine *e, const struct job *job);
void report_ending(struct engine *e, const struct ending *ending);
void report_waiting(struct engine *e, uint32_t task, const char *text);

#endif
