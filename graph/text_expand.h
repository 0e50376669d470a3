/* SPDX-License-Identifier: MIT */
/* Putting values into reference text, and evaluating conditions. */
#ifndef GRAPH_TEXT_EXPAND_H
#define GRAPH_TEXT_EXPAND_H

#include "graph/definition.h"

/* Where names of an expression get their values: of a member of `def`. `lookup`
 * resolves the names of other tasks and of the run; NULL: there are none (before a run
 * has begun), and a text that has them is an error. */
struct scope {
    const struct definition *definition;
    const struct task_def *def;
    uint32_t member;
    name_lookup *lookup;
    void *context;
    struct str *split; /* NULL, or where the first name of ${{ tasks.X.files }} is put
                          that a shell would make other words of where it splits */
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
/* Evaluates the condition of scope->def: *holds. */
int condition_holds(const struct scope *scope, bool *holds, struct cairn_error *error);
/* Appends, for people, the names in the condition of scope->def with what they are now:
 * "tasks.review.outputs.verdict is 'no', params.env is 'test'"; nothing if it has none.
 * Only memory can fail. */
int condition_values(const struct scope *scope, struct buf *out,
                     struct cairn_error *error);

/* The scope's task's working directory: root / cwd. "" where neither is set (the
 * caller's). */
int task_directory(const struct scope *scope, struct buf *out,
                   struct cairn_error *error);

/* Where a declared file lies, from the workflow's directory on (absolute where it is
 * declared so): its name behind the task's `cwd`, without "." and doubled slashes. */
int task_file_place(const struct scope *scope, struct str name, struct buf *out,
                    struct cairn_error *error);

#endif
