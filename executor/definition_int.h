/* What the files that make definitions share. */
#ifndef EXECUTOR_DEFINITION_INT_H
#define EXECUTOR_DEFINITION_INT_H

#include "executor/definition.h"

/* The start of the binary form. */
#define DEFINITION_MAGIC "CAIRNDEF"
enum { DEFINITION_MAGIC_BYTES = 8, DEFINITION_VERSION = 1 };

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

/* The next ${{ NAME }} of a reference text. */
struct reference {
    size_t start, end; /* of the whole, in the text */
    struct str name;   /* without blanks */
    bool open;         /* there is no }}; end is the text's */
};
/* Finds the first one at or after `from`; false if there is none. */
bool reference_next(struct str text, size_t from, struct reference *out);
/* The NAME of params.NAME; ptr is NULL for any other reference. */
struct str reference_param(struct str name);

#endif
