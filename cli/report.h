/* SPDX-License-Identifier: MIT */
/* Errors of a command. Each function prints the error, with --json also as a document,
 * and returns the exit status. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cairn.h"

/* An error of the library. */
int report_error(const struct cairn_error *error);
int report_nomem(void);
/* The same if `rc`, the code that the call returned, is not 0; else 0. */
int report_code(int rc, const struct cairn_error *error);
/* Whether the plan could answer all that was asked. */
int report_plan_check(const struct cairn_plan *plan);
/* The error of a workflow file that could not be loaded, and all others in it. */
int report_mistakes(const char *file, const struct cairn_param *params, size_t n_params,
                    const struct cairn_error *first);
/* An error of the command's own; `name` is its code in the document. */
int report_failure(int status, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Wrong usage of a command ("run"); NULL: of no command in particular. */
int report_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
