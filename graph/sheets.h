/* SPDX-License-Identifier: MIT */
/* Sample sheets: tables of which each row is a member of a group. One column has the
 * values of the foreach key, the others are values of each member. While a sheet is read
 * its key has all columns; in the end only those that a text of the task names, so that
 * no other one is in its environment, its fingerprint or what a run stores.
 *
 *   sheet_read, sheet_columns, sheet_rows, sheet_release; then sheet_usage, sheet_sort_used. */
#ifndef GRAPH_SHEETS_H
#define GRAPH_SHEETS_H

#include "base/table.h"
#include "graph/definition.h"

/* What an error is about. */
enum sheet_part { SHEET_FILE, SHEET_KEY, SHEET_COLUMNS, SHEET_WHERE };

struct sheet {
    struct table table;
    struct str *names; /* [n_columns] of the columns, as texts have them */
    uint32_t key;      /* the column with the values of the key; if there are rows */
    struct str shown;  /* how the sheet is called in messages */
    struct arena *arena;
    enum sheet_part wrong; /* what the last error is about */
};

/* The name of a column as texts can have it: in lower case, _ for all that is no part of
 * a name; column_N, from 1, where nothing is left. No `ptr`: out of memory. */
struct str sheet_column_name(struct arena *arena, struct str column, uint32_t index);

/* `key`: the column of the key, as the sheet or as texts have it. Texts of the table are
 * in `source` or the arena. CAIRN_EWORKFLOW, CAIRN_ELIMIT, CAIRN_ENOMEM, then there is
 * nothing to release. */
int sheet_read(const struct table_source *source, struct str key, struct sheet *out,
               struct cairn_error *error);
void sheet_release(struct sheet *sheet);
/* Why a column cannot be one, as an error: "%s" is `why`. */
int sheet_refuse(struct sheet *sheet, uint32_t column, const char *why,
                 struct cairn_error *error);

/* Whether a name that `who` has is that of the key, or of a column but its own. */
int sheet_check_name(struct sheet *sheet, struct str name, struct str key,
                     const char *who, struct cairn_error *error);
/* That it has no column of that name, as an error; `who` has it. */
int sheet_no_column(struct sheet *sheet, struct str name, const char *who,
                    struct cairn_error *error);

/* Gives the key all columns but its own, and room for all rows, in the sheet's arena.
 * There is a row. */
int sheet_columns(struct sheet *sheet, struct foreach_key *key,
                  struct cairn_error *error);
/* Then the rows for which `where` holds (NULL: all; it may name the key, its columns and
 * params): values and cells of def->foreach[key], and the line of each ([n_rows]). */
int sheet_rows(struct sheet *sheet, const struct definition *definition,
               const struct task_def *def, uint32_t key, const struct expression *where,
               uint32_t *lines, struct cairn_error *error);
/* Whether the condition holds for the values with these indices, one of each key. */
int sheet_where(const struct definition *definition, const struct task_def *def,
                const struct expression *where, const uint32_t *at, bool *holds,
                struct cairn_error *error);

/* Which of these names ([n], none twice) the texts of the task have: in those that a
 * shell or program may read as a word, in all others in ${{ }}. used[n]. Only memory
 * fails. */
int sheet_usage(struct definition *definition, const struct task_def *def,
                const struct str *names, uint32_t n, bool *used);
/* The names in ${{ }} of its texts that are none of its foreach keys, nor columns of any
 * but key `except`: sorted, none twice, in the definition's arena. Only memory fails. */
int sheet_named(struct definition *definition, const struct task_def *def,
                uint32_t except, struct str **names, uint32_t *n);
/* Indices of the names that are used, in the order of the names: where a column stands
 * in the sheet says nothing, so that it may move without an edit of any task. How many. */
uint32_t sheet_sort_used(const struct str *names, uint32_t n, const bool *used,
                         uint32_t *order);

#endif
