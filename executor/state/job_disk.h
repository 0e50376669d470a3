/* SPDX-License-Identifier: MIT */
/* Where attempts write their output, also through the redactor, and what is said when a
 * disk is full. */
#ifndef EXECUTOR_STATE_JOB_DISK_H
#define EXECUTOR_STATE_JOB_DISK_H

#include "executor/state/engine.h"

/* That much can be written below the directory, as far as can be known. */
bool disk_has_room(const char *directory, uint64_t bytes);
/* Files for what the job's attempt writes, where there is room for them. Without any it
 * runs all the same, and its output is lost. */
void job_open_capture(struct engine *e, struct job *job);
/* Says that what an attempt of the task wrote is lost, which is no failure of its own.
 */
void job_lose_output(struct engine *e, uint32_t task, const char *why);
/* A process has failed: says if the disk that it works on is full, or the one of the
 * store that it wrote its output to. To be asked before its files are given back. */
void job_check_disk(struct engine *e, const struct job *job);
/* Says once if what a running task writes takes ever more room, because the file system
 * cannot give back its middle. */
void job_check_growth(struct engine *e, const struct job *job);

int job_pipes_open(struct engine *e, struct job *job, struct cairn_error *error);
void job_pipes_spawned(struct job *job);
int job_pipes_watch(struct engine *e, struct job *job, struct cairn_error *error);
void job_pipe_read(struct engine *e, struct job *job, int stream);
void job_pipes_finish(struct engine *e, struct job *job);
void job_pipes_close(struct job *job);

#endif
