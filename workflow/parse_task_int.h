/* SPDX-License-Identifier: MIT */
/* The keys of a task, in the files that read them. */
#ifndef WORKFLOW_PARSE_TASK_INT_H
#define WORKFLOW_PARSE_TASK_INT_H

#include "workflow/expect_int.h"

/* parse_task.c: all but the needs of task `index`. */
int read_task(struct parser *p, uint32_t index, const struct node *node);
/* parse_needs.c: when all tasks have been read. */
int read_needs(struct parser *p, uint32_t index, const struct node *node);
/* When all needs have been read; `key`: where the task has `needs_all`. */
int check_needs_all(struct parser *p, const struct task_def *def,
                    const struct node *key);
/* foreach.c */
int read_foreach(struct parser *p, struct task_def *def, const struct node *node);

/* ---- parse_command.c ---- */

int read_run(struct parser *p, struct task_def *def, const struct node *node);
int read_exec(struct parser *p, struct task_def *def, const struct node *node);
int read_external(struct parser *p, struct task_def *def, const struct node *node);
int read_check(struct parser *p, struct task_def *def, const struct node *node);
int read_undo(struct parser *p, struct task_def *def, const struct node *node);

/* ---- parse_names.c: the names that a task takes ---- */

int read_task_secrets(struct parser *p, struct task_def *def, const struct node *node);
int read_task_params(struct parser *p, struct task_def *def, const struct node *node);

#endif
