/* SPDX-License-Identifier: MIT */
/* What the process of an attempt is given: its command line and its environment. The
 * engine makes it before it starts an attempt (command_line.c), `cairn shell` for an
 * attempt that was made before (executor/given/shell.c), with the same functions. */
#ifndef EXECUTOR_GIVEN_INVOCATION_H
#define EXECUTOR_GIVEN_INVOCATION_H

#include "graph/text_expand.h"
#include "runs/result.h"
#include "secrets/secrets.h"

/* ---- What is inherited ---- */

struct environment { /* of one task_def: inherited entries that it does not replace */
    char **entries;
    uint32_t n;
    bool made;
    bool direct; /* plain words need no shell */
    bool lists;  /* it gets CAIRN_INPUTS: has inputs, and a text that names it. A file
                    for each attempt costs 8 % of the smallest tasks */
};

struct environments {
    const struct definition *definition;
    struct arena *arena;
    char **inherited; /* copy of the caller's, without CAIRN_* */
    uint32_t n;
    bool direct;                /* sh only starts the command of plain words */
    struct environment *of_def; /* [n_defs] */
    uint32_t room;              /* of it */
};

/* Copies the environment of this process. Definition and arena must outlive it. */
int environments_read(struct environments *environments,
                      const struct definition *definition, struct arena *arena,
                      struct cairn_error *error);
/* The definition has more task_defs than the `before`. CAIRN_ENOMEM. */
int environments_extend(struct environments *environments, uint32_t before);
/* Made once for each task_def. NULL: out of memory. */
struct environment *environment_of(struct environments *environments,
                                   const struct task_def *def);

/* ---- One attempt ---- */

/* What cairn tells it of itself, each in a variable; NULL: that one is not set. */
struct told {
    const char *task;
    uint64_t run;
    uint32_t attempt, round;       /* round 0: it is none of a `repeat` */
    const char *token;             /* CAIRN_TOKEN */
    const char *output;            /* CAIRN_OUTPUT */
    const char *inputs;            /* CAIRN_INPUTS */
    const char *run_status;        /* CAIRN_RUN_STATUS */
    const struct key_value *ports; /* [n_ports] CAIRN_PORT..., of services */
    uint32_t n_ports;
};

struct invocation_of { /* all borrowed */
    const struct scope *scope;
    const struct environment *inherited;
    const struct secrets *secrets;
    struct told told;
    const char *cwd;    /* its working directory */
    bool fallback;      /* its command is the task's `fallback` */
    bool may_be_direct; /* a command that needs no shell gets none */
    bool own_directory; /* PWD is set as its shell would set it */
};

/* All strings stand in `text`, each with its NUL. The vectors are valid until it is
 * made again. Zero is an empty one. */
struct invocation {
    struct buf text;
    char **vector; /* argv, NULL, envp, NULL, otherwise, NULL */
    size_t vector_size;
    char **envp;      /* the attempt's own variables, then the inherited ones */
    char **otherwise; /* the command line with its shell; NULL: argv is that */
    const char *path; /* PATH in envp, or NULL */
    size_t n_own;
};
/* Of the task. On failure the reason is in `why`: CAIRN_EWORKFLOW, CAIRN_ELIMIT, ... */
int invocation_make(struct invocation *invocation, const struct invocation_of *of,
                    struct buf *why);
/* Of its check or undo; of->scope is not used. */
int invocation_make_action(struct invocation *invocation,
                           const struct invocation_of *of,
                           const struct undo_action *action, struct buf *why);
void invocation_release(struct invocation *invocation);

#endif
