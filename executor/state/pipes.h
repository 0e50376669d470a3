/* SPDX-License-Identifier: MIT */
/* Output of tasks with secrets. */
#ifndef EXECUTOR_STATE_PIPES_H
#define EXECUTOR_STATE_PIPES_H

#include "executor/state/engine.h"

int job_pipes_open(struct engine *e, struct job *job, struct cairn_error *error);
void job_pipes_spawned(struct job *job);
int job_pipes_watch(struct engine *e, struct job *job, struct cairn_error *error);
void job_pipe_read(struct engine *e, struct job *job, int stream);
void job_pipes_finish(struct engine *e, struct job *job);
void job_pipes_close(struct job *job);

#endif
