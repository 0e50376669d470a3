/* SPDX-License-Identifier: MIT */
/* For clang-tidy only, which looks at one file at a time: tells it that the functions
 * that report an error never return 0, so that "an error was set, and the output was
 * not" is not followed as if all was well. */
#ifndef LINT_ANALYZER_H
#define LINT_ANALYZER_H

#include "base/error.h"
#include "workflow/diagnostic.h"

static inline int lint_code(int result, int code)
{
    (void)result;
    return code;
}

#ifndef LINT_ERROR_ITSELF
#define error_set(error, code, ...) \
    lint_code(error_set(error, code, __VA_ARGS__), CAIRN_EIO)
#define error_sys(error, ...) lint_code(error_sys(error, __VA_ARGS__), CAIRN_EIO)
#define diagnose(d, at, ...) lint_code(diagnose(d, at, __VA_ARGS__), CAIRN_EWORKFLOW)
#define diagnose_as(d, code, at, ...) \
    lint_code(diagnose_as(d, code, at, __VA_ARGS__), CAIRN_ELIMIT)
#define error_nomem(error) lint_code(error_nomem(error), CAIRN_ENOMEM)
#endif

#endif
