/* SPDX-License-Identifier: MIT */
/* What the files that make definitions share. */
#ifndef GRAPH_BUILD_H
#define GRAPH_BUILD_H

#include "graph/definition.h"

/* The start of the binary form. */
#define DEFINITION_MAGIC "CAIRNDEF"
enum { DEFINITION_MAGIC_BYTES = 8, DEFINITION_VERSION = 2 };

/* Index of a param, UINT32_MAX if there is none. */
uint32_t definition_param(const struct definition *definition, struct str name);
/* Index into def->foreach, UINT32_MAX if there is none. */
uint32_t task_def_key(const struct task_def *def, struct str name);
/* Index of a value, raw or as shown; UINT32_MAX if there is none. */
uint32_t foreach_key_find(const struct foreach_key *key, struct str value);
/* Inclusive bounds of a RANGE's spec; false if it is not "a..b". */
bool foreach_range(struct str spec, int64_t *from, int64_t *to);

/* Why a foreach key cannot be finished: values `first` and `second` are the same, or
 * stand for the same text in ids. */
struct clash {
    uint32_t first, second;
    bool same; /* else: only their ids are */
};
/* Fills shown and by_value. 0, CAIRN_ENOMEM, or CAIRN_EWORKFLOW with *clash. Does
 * nothing if it was done before. */
int foreach_key_finish(struct arena *arena, struct foreach_key *key,
                       struct clash *clash);

/* The text with ${{ }} in it, or the condition (a bare expression: one piece), parsed;
 * once for each distinct text. *out lives as long as the definition. 0, CAIRN_EWORKFLOW
 * with *error (may be NULL), CAIRN_ENOMEM. */
int definition_text(struct definition *definition, struct str text, bool condition,
                    const struct text_template **out, struct expression_error *error);
/* The same for every text and condition of the tasks, so that later nothing needs to be
 * parsed again. What cannot be parsed is left out: see reference.c. Only memory fails.
 */
int definition_prepare(struct definition *definition, struct cairn_error *error);
/* What definition_text has kept, or NULL. */
const struct text_template *definition_kept_text(const struct definition *definition,
                                                 struct str text, bool condition);
/* The same, else parsed into `spare`. 0, CAIRN_EWORKFLOW, CAIRN_ENOMEM. */
int definition_parsed_text(const struct definition *definition, struct str text,
                           bool condition, struct arena *spare,
                           struct text_template *out, struct expression_error *error);

#endif
