/* SPDX-License-Identifier: MIT */
/* The keys of the top level, one function each. */
#ifndef WORKFLOW_PARSE_TOP_INT_H
#define WORKFLOW_PARSE_TOP_INT_H

#include "workflow/expect_int.h"

/* parse_params.c. `map` NULL: there are none, but values may be given for them. */
int read_params(struct parser *p, const struct node *map);
/* parse_names.c */
int read_secrets(struct parser *p, const struct node *node);

/* ---- parse_policy.c ---- */

int use_default_shell(struct parser *p);
int read_defaults(struct parser *p, const struct node *map);
int read_jobs(struct parser *p, const struct node *node);
int read_pools(struct parser *p, const struct node *map);
void warn_of_unused_pools(struct parser *p, const struct node *map);
int read_on_failure(struct parser *p, const struct node *node);
int read_on_crash(struct parser *p, const struct node *node);

/* parse_tasks.c. `finally` may be NULL. */
int read_tasks(struct parser *p, const struct node *map, const struct node *finally);
/* Those of the list of `secrets`, when all tasks are there. */
void warn_of_unlisted_secrets(struct parser *p, const struct node *list);

#endif
