/* SPDX-License-Identifier: MIT */
/* The texts of a definition with ${{ }} in them and its conditions, each parsed once.
 *
 *
 * Putting values into reference text, and evaluating conditions. */
#ifndef GRAPH_TEXT_EXPAND_H
#define GRAPH_TEXT_EXPAND_H

#include "graph/definition.h"

/* The text with ${{ }} in it, or the condition (a bare expression: one piece), parsed;
 * once for each distinct text. *out lives as long as the definition. 0, CAIRN_EWORKFLOW
 * with *error (may be NULL), CAIRN_ENOMEM. */
int definition_text(struct definition *definition, struct str text, bool condition,
                    const struct text_template **out, struct expression_error *error);
/* The same for every text and condition of the tasks from index `first` on, so that later
 * nothing needs to be parsed again. What cannot be parsed is left out: see
 * text_expand.c. Only memory fails. */
int definition_prepare(struct definition *definition, uint32_t first,
                       struct cairn_error *error);
/* The text as it was parsed, or NULL. */
const struct text_template *definition_kept_text(const struct definition *definition,
                                                 struct str text, bool condition);
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

/* Where names of an expression get their values: of a member of `def`. `lookup`
 * resolves the names of other tasks and of the run; NULL: there are none (before a run
 * has begun), and a text that has them is an error. */
struct scope {
    const struct definition *definition;
    const struct task_def *def;
    uint32_t member;
    name_lookup *lookup;
    void *context;
    struct str *split;  /* NULL, or where the first name of ${{ tasks.X.files }} is put
                          that a shell would make other words of where it splits */
    struct str *joined; /* NULL, or where the X of the first of these names is put */
};

/* Puts values into reference text. CAIRN_EWORKFLOW if a value is missing or of the
 * wrong kind. */
int text_expand(const struct scope *scope, struct str text, struct buf *out,
                struct cairn_error *error);
/* Whether it is wholly ${{ tasks.X.files }}: as an argument it stands for as many as
 * there are files. */
bool text_is_files(struct str text);
/* The same for texts that the parser has checked to hold only foreach keys and params:
 * only memory can fail, and that sets out->failed. */
void text_expand_fixed(const struct definition *definition, const struct task_def *def,
                       uint32_t member, struct str text, struct buf *out);
/* True if the text can be expanded without `lookup`. */
bool text_is_fixed(const struct definition *definition, struct str text);
/* Evaluates a condition (`if`, `until`) of scope->def; an empty one holds. */
int condition_holds(const struct scope *scope, struct str condition, bool *holds,
                    struct cairn_error *error);
/* Appends, for people, the names in such a condition with what they are now:
 * "tasks.review.outputs.verdict is 'no', params.env is 'test'"; nothing if it has none.
 * Only memory can fail. */
int condition_values(const struct scope *scope, struct str condition, struct buf *out,
                     struct cairn_error *error);
/* The scope's task's working directory: root / cwd. "" where neither is set (the
 * caller's). */
int task_directory(const struct scope *scope, struct buf *out,
                   struct cairn_error *error);
/* Where a declared file lies, from the workflow's directory on (absolute where it is
 * declared so): its name behind the task's `cwd`, without "." and doubled slashes. */
int task_file_place(const struct scope *scope, struct str name, struct buf *out,
                    struct cairn_error *error);
/* Takes "." and empty parts out of a path; with `parents` also "..", with the part before
 * it, which is not that place where this one is a link. */
void path_tidy(struct buf *path, bool parents);

#endif
