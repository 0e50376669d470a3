/* SPDX-License-Identifier: MIT */
/* The fields of a task_def, each described once, in task_fields.c. What has to treat
 * all of them walks one of the lists here: the binary form (definition_codec.c),
 * fingerprints and the texts of differences (fingerprint.c), and the search for ${{ }}
 * (text_expand.c). */
#ifndef GRAPH_TASK_FIELDS_H
#define GRAPH_TASK_FIELDS_H

#include "graph/definition.h"

/* How a field is held in a task_def. It also decides how it is written, read, hashed
 * and compared. */
enum field_shape {
    FIELD_END = 0,  /* behind the last row */
    FIELD_TEXT,     /* struct str */
    FIELD_TEXTS,    /* struct str *, and how many */
    FIELD_SHELL,    /* the same: the shell of `run` */
    FIELD_SECRETS,  /* the same: sorted names of secrets of the workflow */
    FIELD_PARAMS,   /* the same: sorted names of params of the workflow */
    FIELD_PAIRS,    /* struct key_value *, and how many; sorted by key */
    FIELD_BYTE,     /* uint8_t */
    FIELD_BOOL,     /* bool, in a byte of its own */
    FIELD_FLAGS,    /* no member: all of task_flags */
    FIELD_NUMBER,   /* uint32_t */
    FIELD_PERMILLE, /* uint32_t; of a confidence, which without a check means nothing */
    FIELD_TIME,     /* int64_t, milliseconds, not negative */
    FIELD_CODES,    /* uint16_t *, and how many: exit codes */
    FIELD_POOL,     /* the only pool of a task that takes one place of it */
    FIELD_POOLS,    /* struct pool_use *, and how many: in all other cases */
    FIELD_SIGNED,   /* int32_t */
    FIELD_FOREACH,  /* struct foreach_key *, and how many */
    FIELD_NEEDS,    /* struct need *, and how many */
    FIELD_PICKED,   /* uint64_t *, and how many: picked members, ascending */
    FIELD_ORDER,
    FIELD_OPEN_KEYS, /* of the needs, of which there are as many: `open` */
    FIELD_COLUMNS /* of the foreach keys, of which there are as many: their columns */
};

/* Fields that make up one difference for people: if any of them differs, all do. */
enum field_group { GROUP_NONE = 0, GROUP_COMMAND, GROUP_CHECK };

struct task_field {
    uint8_t shape;     /* enum field_shape */
    uint8_t since;     /* the version of the binary form that brought it */
    uint8_t kinds;     /* tasks whose binary form has it: bits 1 << enum task_kind */
    uint8_t group;     /* enum field_group */
    uint16_t at, n_at; /* offsets in task_def of the member, and of its count */
    uint32_t most;     /* the largest value of a byte or number */
    const char *name;  /* the field in the text of a difference, or NULL */
    const struct str *words; /* of a byte: what people call its values, else NULL */
};

/* In the order of the binary form; the last one is FIELD_END. */
extern const struct task_field task_fields[];
/* These end with NULL. In the order in which they are hashed, ... */
extern const struct task_field *const fingerprint_fields[];
/* ... in the order of the differences that people see (one row of a group), ... */
extern const struct task_field *const difference_fields[];
/* ... those whose texts may have ${{ }} in them. */
extern const struct task_field *const reference_fields[];
/* How many texts one of reference_fields has in a task, and which. */
uint32_t reference_texts(const struct task_field *field, const struct task_def *def);
struct str reference_text(const struct task_field *field, const struct task_def *def,
                          uint32_t i);

/* Truth values that share one byte of the binary form; the last one has no bit. */
struct task_flag {
    uint8_t bit;
    uint8_t since; /* as above */
    uint16_t at;
};
extern const struct task_flag task_flags[];

/* FIELD_TEXT: a text that the task does not have is empty, not NULL. */
void task_def_empty_texts(struct task_def *def);

static inline const void *field_at(const struct task_field *field,
                                   const struct task_def *def)
{
    return (const char *)def + field->at;
}
/* Of a list. */
static inline uint32_t field_n(const struct task_field *field,
                               const struct task_def *def)
{
    return *(const uint32_t *)(const void *)((const char *)def + field->n_at);
}
/* FIELD_TEXT */
static inline struct str field_text(const struct task_field *field,
                                    const struct task_def *def)
{
    return *(const struct str *)field_at(field, def);
}
/* FIELD_TEXTS and its like */
static inline const struct str *field_texts(const struct task_field *field,
                                            const struct task_def *def)
{
    return *(const struct str *const *)field_at(field, def);
}
/* FIELD_PAIRS */
static inline const struct key_value *field_pairs(const struct task_field *field,
                                                  const struct task_def *def)
{
    return *(const struct key_value *const *)field_at(field, def);
}
/* FIELD_BYTE */
static inline uint8_t field_byte(const struct task_field *field,
                                 const struct task_def *def)
{
    return *(const uint8_t *)field_at(field, def);
}
/* FIELD_NUMBER, FIELD_PERMILLE */
static inline uint32_t field_number(const struct task_field *field,
                                    const struct task_def *def)
{
    return *(const uint32_t *)field_at(field, def);
}
/* FIELD_PERMILLE, as it counts */
static inline uint32_t field_confidence(const struct task_field *field,
                                        const struct task_def *def)
{
    return def->check.len ? field_number(field, def) : 0;
}
/* FIELD_TIME */
static inline int64_t field_time(const struct task_field *field,
                                 const struct task_def *def)
{
    return *(const int64_t *)field_at(field, def);
}
/* Whether a definition without the field says the same of the task. Of a shape that is
 * about the needs, keys or pools this is not asked: true. */
bool field_is_empty(const struct task_field *field, const struct task_def *def);
/* How lists are written, whether to be stored or to be hashed. */
void put_texts(struct buf *out, const struct str *texts, uint32_t n);
void put_pairs(struct buf *out, const struct key_value *pairs, uint32_t n);

#endif
