/* SPDX-License-Identifier: MIT */
/* The texts of a definition with ${{ }} in them and its conditions, each parsed once.
 */
#ifndef GRAPH_DEFINITION_TEXT_H
#define GRAPH_DEFINITION_TEXT_H

#include "graph/definition.h"

/* The text with ${{ }} in it, or the condition (a bare expression: one piece), parsed;
 * once for each distinct text. *out lives as long as the definition. 0, CAIRN_EWORKFLOW
 * with *error (may be NULL), CAIRN_ENOMEM. */
int definition_text(struct definition *definition, struct str text, bool condition,
                    const struct text_template **out, struct expression_error *error);
/* The same for every text and condition of the tasks, so that later nothing needs to be
 * parsed again. What cannot be parsed is left out: see text_expand.c. Only memory
 * fails. */
int definition_prepare(struct definition *definition, struct cairn_error *error);
/* What definition_text has kept, or NULL. */
const struct text_template *definition_kept_text(const struct definition *definition,
                                                 struct str text, bool condition);
/* The same, else parsed into `spare`. 0, CAIRN_EWORKFLOW, CAIRN_ENOMEM. */
int definition_parsed_text(const struct definition *definition, struct str text,
                           bool condition, struct arena *spare,
                           struct text_template *out, struct expression_error *error);

/* The tasks whose values the texts and the condition of `def` ask for
 * (tasks.X.outputs.K, tasks.X.files), or its callback may: indexes of task_defs, each
 * once. -1 out of memory (then `failed` of the arena), else how many. */
int definition_values_of(const struct definition *definition,
                         const struct task_def *def, struct arena *arena,
                         uint32_t **defs);
/* Whether it can ask for any. No text refers to anything and no task is a callback in
 * most very large workflows. */
static inline bool may_ask_for_values(const struct definition *definition,
                                      const struct task_def *def)
{
    return definition->by_text.count || def->kind == TASK_CALL;
}
/* The tasks that the condition alone refers to by tasks.X, in any way. */
int condition_referred(const struct definition *definition, const struct task_def *def,
                       struct arena *arena, uint32_t **defs);

#endif
