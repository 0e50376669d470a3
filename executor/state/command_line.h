/* SPDX-License-Identifier: MIT */
/* Command line and environment of an attempt. command_line.c is the only writer of
 * `environments`. */
#ifndef EXECUTOR_STATE_COMMAND_LINE_H
#define EXECUTOR_STATE_COMMAND_LINE_H

#include "graph/definition.h"
#include "runs/result.h"

struct engine;

struct job;

struct environment { /* of one task_def: inherited entries that it does not replace */
    char **entries;
    uint32_t n;
    bool made;
    bool direct; /* plain words need no shell */
};

struct environments {
    char **inherited; /* copy of the caller's, without CAIRN_* */
    uint32_t n;
    bool direct;                /* sh only starts the command of plain words */
    struct environment *of_def; /* [n_defs] */
};

int environments_open(struct engine *e, struct cairn_error *error);
/* Fills in the slot's request. On failure the reason is in `why`. */
int command_line_make(struct engine *e, struct job *job, struct buf *why);
int command_line_make_action(struct engine *e, struct job *job,
                             const struct undo_action *action, struct buf *why);

#endif
