/* SPDX-License-Identifier: MIT */
/* cairn: what the process of an attempt was given, to do the same again by hand. */
#ifndef CAIRN_SHELL_H
#define CAIRN_SHELL_H

#include "error.h"
#include "store.h"
#include "workflow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_shell_options {           /* zero is the default everywhere */
    uint32_t attempt;                  /* 0: the newest that ran the task */
    const struct cairn_param *secrets; /* values of the task's secrets; those not */
    size_t n_secrets;                  /* listed come from the environment */
    const char *output; /* path for CAIRN_OUTPUT; NULL: the variable is not set */
    bool shown;         /* it is to be shown, not executed: see below */
    const char *const *command; /* for `script`: NULL-terminated words in place of the
                                   task's own command; NULL: that one */
};

/* Lists are NULL-terminated. */
struct cairn_shell {
    uint64_t run;
    uint32_t attempt;
    uint32_t generation; /* of the run's definition, from 1 */
    const char *workflow, *task;
    const char *directory;   /* absolute; "": that of the caller */
    const char *text;        /* of a `run:` task, or NULL */
    const char *const *argv; /* its command line: shell options and text, or `exec:` */
    /* NAME=value: the task's own variables, n_own of them, then what it inherits of the
     * environment of this process. CAIRN_TOKEN is a new one each time, and of no
     * attempt. With `shown` only the own ones, without CAIRN_TOKEN and secrets, and
     * what is found of the values of secrets is [REDACTED], in all texts. */
    const char *const *env;
    size_t n_own;
    const char *const *secrets;  /* names of those that the task is given */
    const char *const *missing;  /* of these, the ones that were not given */
    const char *const *withheld; /* variables that it does not inherit: other secrets */
    const char *script;          /* with `shown`: a text for sh that does the same */
};

/* What an attempt of a task of a run (0: as for cairn_run_get) was given, and would be
 * again: command line, environment and directory, made by the same code as for the
 * attempt itself, of the definition that it had, with the values that the tasks it
 * needs had then. Reads only, also beside a live run. What is inherited comes from the
 * environment of this process, as for cairn_run. A missing secret is no error: it is
 * in `missing` and not in `env`.
 * ENOTFOUND (run, task or attempt), EUSAGE (the task is external or a callback, the
 * attempt ran the undo, a secret is too short, the run needs a key), EWORKFLOW (a text
 * cannot be evaluated, as when the attempt failed before its process started),
 * EDAMAGED. */
CAIRN_API int cairn_shell(struct cairn_shell **out, struct cairn_store *store,
                          uint64_t run, const char *task,
                          const struct cairn_shell_options *options,
                          struct cairn_error *error);
/* Overwrites what it has of secrets. */
CAIRN_API void cairn_shell_free(struct cairn_shell *shell);

#ifdef __cplusplus
}
#endif
#endif
