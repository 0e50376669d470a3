/* SPDX-License-Identifier: MIT */
/* The parts of the tool `schema`: yaml.c reads a file, supported.c looks over the
 * schema, judge.c holds the one against the other. */
#ifndef TESTS_TOOLS_SCHEMA_H
#define TESTS_TOOLS_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { DEPTH = 64, TEXT = 512 };

struct judge {
    const json_t *schema;
    char path[TEXT]; /* in the file, or in the schema while that is looked over */
    char why[TEXT];
};

/* Whether an extended regular expression is found in a text. */
bool text_matches(const char *pattern, const char *text);
/* The file as JSON, or NULL with the reason in `why`. */
json_t *read_yaml(FILE *in, char why[TEXT]);

/* Writes the path and the text into `why`; returns false. */
bool complain(struct judge *j, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends a step to the path; the length before it, to cut it off again. */
size_t path_enter(struct judge *j, const char *step);
/* What $ref names, or NULL after complaining. */
const json_t *schema_referred(struct judge *j, const char *ref);
/* Whether every keyword, type and pattern of the schema is known. */
bool check_supported(struct judge *j, const json_t *schema, int depth);
bool judge_value(struct judge *j, const json_t *schema, const json_t *value, int depth);

#endif
