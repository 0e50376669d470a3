/* SPDX-License-Identifier: MIT */
/* What a scalar of a workflow file means. Pure. */
#ifndef WORKFLOW_SCALAR_H
#define WORKFLOW_SCALAR_H

#include "base/str.h"

/* What a plain (unquoted) scalar is. TRAP: something that YAML 1.1 reads as another
 * value than is written there. */
enum scalar_type {
    SCALAR_TEXT,
    SCALAR_NULL,
    SCALAR_BOOL,
    SCALAR_INTEGER, /* -?(0|[1-9][0-9]*) */
    SCALAR_DECIMAL, /* the same with .[0-9]+ after it */
    SCALAR_TRAP
};
/* `*reads_as` (a static text such as "an octal number") for all but SCALAR_TEXT. */
enum scalar_type scalar_type(struct str plain, const char **reads_as);

/* A SCALAR_INTEGER that fits. */
bool scalar_to_i64(struct str text, int64_t *out);
/* A SCALAR_INTEGER or SCALAR_DECIMAL with at most three decimals, times 1000. */
bool scalar_to_permille(struct str text, int64_t *out);

#endif
