/* SPDX-License-Identifier: MIT */
/* Calls the observer, for what is durable. */
#ifndef EXECUTOR_STATE_REPORT_H
#define EXECUTOR_STATE_REPORT_H

#include "executor/state/engine.h"

/* Replaces the text of a buffer by what may be stored. */
void redact_buf(const struct engine *e, struct buf *text);
/* What a process wrote to a file of its own, without a pipe through the redactor. */
void redact_captured(const struct engine *e, struct captured *captured);
/* What is recorded counts as reported. report.c is the only writer of `reported`. */
void report_open(struct engine *e);
void report(struct engine *e, enum cairn_event_kind kind, const char *text);
/* Declared files are read on a thread, `name` first. */
void report_reading(struct engine *e, const struct job *job, const char *name);
void report_start(struct engine *e, const struct job *job);
/* What a running task has written to a stream (0 or 1). */
void report_output(struct engine *e, const struct job *job, int stream,
                   const struct cairn_event_output *output);
/* How it ends now: the last bytes of it, for CAIRN_EVENT_TASK_LINE. */
void report_line(struct engine *e, const struct job *job, int stream,
                 const struct cairn_event_output *output);
void report_ending(struct engine *e, const struct ending *ending);
void report_waiting(struct engine *e, uint32_t task, const char *text);

#endif
