/* SPDX-License-Identifier: MIT */
/* Texts with ${{ }} and conditions: what may be referred to where. Names of other tasks
 * are collected, and checked when all needs are known (parse_reach.c). */
#ifndef WORKFLOW_PARSE_REFS_INT_H
#define WORKFLOW_PARSE_REFS_INT_H

#include "workflow/expect_int.h"

/* The key that a text belongs to decides what it may refer to. */
enum place {
    IN_WORKFLOW, /* env of the workflow: params */
    IN_FOREACH,  /* the same */
    IN_NEED,     /* brackets: params, foreach keys */
    IN_ENV,      /* of a task: everything but env */
    IN_TASK,     /* everything */
    IN_CONDITION /* everything but the number of the attempt */
};
/* Checks the ${{ }} of a text of task `def` (NULL: of the workflow). *size (may be
 * NULL): its length with what is known already put in. */
int check_text(struct parser *p, const struct node *node, struct str text,
               const struct task_def *def, enum place place, size_t *size);
/* The same, and checks that "KEY=text" is no longer than the kernel takes (key may be
 * empty, then there is no "="). */
int check_string(struct parser *p, const struct node *node, struct str key,
                 struct str text, const struct task_def *def, enum place place);
/* Warns where a text has an expression in the form of another tool, which is kept as it
 * is; `instead` is what to write. */
void warn_of_other_form(struct parser *p, const struct node *node, struct str text,
                        const char *instead);
/* Warn of what only a shell would do (parse_habits.c): in a path of `key`, a value of
 * env or params, the items of exec, and `[[` in a text for a shell without it. */
void warn_of_path(struct parser *p, const struct node *node, const char *key,
                  struct str text);
void warn_of_env(struct parser *p, const struct node *node, struct str name,
                 struct str text);
void warn_of_param(struct parser *p, const struct node *node, struct str name,
                   struct str text);
void warn_of_exec(struct parser *p, const struct node *list, struct str program);
void warn_of_bash(struct parser *p, const struct node *node, struct str text,
                  struct str shell);
/* Text of a foreach key with params put in. */
int read_expanded(struct parser *p, const struct node *node, const char *what,
                  const struct task_def *def, struct str *out);
/* Does a text of the workflow's env only need params that the task takes? `node` is
 * the task's list. */
int check_inherited(struct parser *p, const struct node *node,
                    const struct task_def *def, struct str text);
int read_condition(struct parser *p, struct task_def *def, const struct node *node);

/* Checks every collected name: such a task must exist and have ended before. */
int check_pending(struct parser *p);

#endif
