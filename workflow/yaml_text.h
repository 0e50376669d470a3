/* SPDX-License-Identifier: MIT */
/* What happens to the text of a workflow file before libyaml reads it. */
#ifndef WORKFLOW_YAML_TEXT_H
#define WORKFLOW_YAML_TEXT_H

#include "workflow/diagnostic.h"

/* UTF-8, and only characters that YAML allows; also refused are the line separators
 * U+0085, U+2028 and U+2029, which YAML 1.1 reads as line breaks and nobody sees. */
int yaml_text_check(const struct diagnostic *diagnostic);

/* JSON that libyaml would not take, rewritten for it: surrogate pairs (\ud83d\ude00)
 * become one \U escape, which is two characters shorter, and tabs around the document
 * become blanks. Text that is not JSON in its shape is left alone. */
struct yaml_text {
    struct str text; /* the source's, or a copy in the arena */
    uint32_t *pairs; /* [n_pairs] character index just past each rewritten pair */
    uint32_t n_pairs;
};
int yaml_text_prepare(struct yaml_text *out, struct str text, struct arena *arena,
                      struct cairn_error *error);
/* The column in the source of a character of the rewritten text, counted from 0. */
uint32_t yaml_text_column(const struct yaml_text *text, size_t index, size_t column);

#endif
