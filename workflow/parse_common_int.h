/* SPDX-License-Identifier: MIT */
/* What is read in the same way at the top level, in `defaults` and in tasks. */
#ifndef WORKFLOW_PARSE_COMMON_INT_H
#define WORKFLOW_PARSE_COMMON_INT_H

#include "workflow/expect_int.h"

/* ---- parse_common.c ---- */

/* Env of the workflow (def NULL) or a task. */
int read_env(struct parser *p, const struct node *map, const struct task_def *def,
             struct key_value **out, uint32_t *n);
int read_shell(const struct parser *p, const struct node *node,
               struct command_shell *out);
int read_timeout(const struct parser *p, const struct node *node, int64_t *timeout_ms,
                 int64_t *grace_ms);
int read_retries(const struct parser *p, const struct node *node,
                 struct retry_policy *out);
/* Keys, values or NULL. A threshold that is not given keeps its value, but `warn` is
 * never below a given `min`. */
int read_thresholds(const struct parser *p, const struct node *min,
                    const struct node *warn, struct thresholds *out);

/* ---- parse_names.c ---- */

bool is_secret(const struct parser *p, struct str name);

#endif
