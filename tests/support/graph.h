/* SPDX-License-Identifier: MIT */
/* Definitions made by hand, for tests of what is built on them. A workflow is written
 * as lines, one task each:
 *
 *   fetch
 *   convert part=1,2,3 @pool=db @priority=5 : fetch
 *   index part=1,2,3 : convert[part=${{part}}]
 *   publish : index
 *
 * Needs may name tasks of later lines, so cycles can be written too. Pools are made by
 * their first mention, with room for one. */
#ifndef TESTS_SUPPORT_GRAPH_H
#define TESTS_SUPPORT_GRAPH_H

#include "graph/graph.h"
#include "graph/members.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Building ---- */

void help_begin(struct definition *d);
struct str help_str(struct definition *d, const char *text);
/* Good until the next task is added. */
struct task_def *help_task(struct definition *d, const char *id);
/* One more value of a foreach key, which is made when it is new. */
void help_value(struct definition *d, struct task_def *def, const char *name,
                const char *value);
struct need *help_need(struct definition *d, struct task_def *def, uint32_t target,
                       const char *text);
void help_finish(struct definition *d);
/* ---- Lines ---- */

uint32_t help_pool(struct definition *d, const char *name);
/* The task has so many places of the pool, unless it has some. */
void help_use(struct definition *d, struct task_def *def, uint32_t pool,
              uint32_t places);
/* The parts between commas, one at a time; `text` is cut up. */
char *help_part(char **text, const char *separators);
void help_property(struct definition *d, struct task_def *def, char *word);
void help_bind(struct definition *d, struct need *need, char *text);
void help_read_need(struct definition *d, struct task_def *def, char *word);
/* The whole of it; twice over the lines, since needs may point ahead. */
void help_define(struct definition *d, const char *text);
void help_build(struct graph *g, struct definition *d, const char *text);
void help_drop(struct graph *g, struct definition *d);
#endif
