/* SPDX-License-Identifier: MIT */
/* What the files that read foreach share. */
#ifndef WORKFLOW_FOREACH_INT_H
#define WORKFLOW_FOREACH_INT_H

#include "workflow/expect_int.h"

/* One key being read. */
struct foreach_reading {
    struct parser *p;
    const struct task_def *def;
    struct foreach_key *key;
    const struct node *node; /* the value of the key in the file */
    bool allow_empty;
    uint32_t *lines; /* [n] of LINES: line number of each value */
};

/* ---- foreach_values.c ---- */

int foreach_check_name(const struct parser *p, const struct node *node);
int foreach_take_key(struct parser *p, struct task_def *def, const struct node *node);

/* That there are n more; CAIRN_ELIMIT if there are too many in the whole file. */
int foreach_count_values(const struct foreach_reading *r, uint64_t n);
/* The same, and room for them. */
int foreach_take_values(struct foreach_reading *r, uint64_t n);
/* "KEY=value" must be no longer than the kernel takes. */
int foreach_check_size(const struct foreach_reading *r, struct str value,
                       struct position at);

/* A file's next line that begins at `from`, without its end. */
struct str foreach_next_line(struct str content, size_t from, size_t *next);
/* The file of r->key->spec. CAIRN_ENOTFOUND, ... with *error. */
int foreach_load_lines(const struct foreach_reading *r, struct buf *content,
                       struct cairn_error *error);

/* ---- foreach_notes.c ---- */

/* r->key has recorded values; what is new or gone by now becomes
 * notes. Only memory fails. */
int foreach_note_changes(const struct foreach_reading *r);

/* ---- foreach_picked.c ---- */

/* Keys that stand for a list of tuples of values: rows of indices into their values. */
struct tuples {
    uint32_t first, n_keys, n_rows; /* keys first..first + n_keys - 1 of the def */
    uint32_t *rows;                 /* [n_rows][n_keys] */
};
bool foreach_is_tuples(const struct node *value);
/* Adds the keys that the tuples of the list have to the def. */
int foreach_read_tuples(struct parser *p, struct task_def *def, const struct node *list,
                        struct tuples *out);

/* Which members of the product there are, by tuples, p->exclude and p->include. Before
 * task_def_finish. */
int foreach_pick(struct parser *p, struct task_def *def, const struct node *node,
                 const struct tuples *tuples, uint32_t n_tuples);

/* ---- foreach_files.c ---- */

int foreach_read_glob(struct foreach_reading *r, const struct node *node);
int foreach_read_lines(struct foreach_reading *r, const struct node *node);

#endif
