/* SPDX-License-Identifier: MIT */
/* Lists that a task makes: foreach: {part: {from: split, value: parts}}. A key has the
 * source FOREACH_FROM, and one value, the placeholder, until what `split` has passed on
 * is known; then FOREACH_GIVEN, and the values of the list. The one member that a
 * placeholder stands for is never started. Where a list is made again and cannot be
 * used, the key is FOREACH_FROM again, with the former values behind the placeholder
 * (version 6). */
#ifndef GRAPH_LISTS_H
#define GRAPH_LISTS_H

#include "graph/definition.h"

enum { LIST_MOST = 10000 }; /* values, unless `max` says another number */

/* Where the list is when the task has completed: a value of it; the lines of a file, the
 * names of files, or the rows of a sheet, that it has left. Sheets are in the order of
 * enum table_form. */
enum list_form {
    LIST_VALUE,
    LIST_LINES,
    LIST_GLOB,
    LIST_CSV,
    LIST_TSV,
    LIST_JSON,
    LIST_JSONL,
    LIST_FORMS
};
/* What the spec of such a key says: "split parts 10000", and " empty" if it may be; of
 * the other forms (version 6) "split @lines 10000 - parts.txt", "empty" in place of "-";
 * of sheets (version 7) "split @csv 10000 - 2:id,0:,5:n > 1,parts.csv" with the column of
 * the key, the names of the columns, `where`, and the file: LENGTH:TEXT, and each name
 * the same in the text of all. The task may be a group: then the lists of its members,
 * in order; files (version 7) then are reference text with its keys. */
struct list_spec {
    struct str task, value; /* value: its name; the file or pattern, from the root */
    enum list_form form;
    uint32_t max;
    bool allow_empty;
    struct str column, columns, where; /* of a sheet; columns: list_spec_columns */
};

static inline bool list_is_sheet(const struct list_spec *spec)
{
    return spec->form >= LIST_CSV;
}
/* Its file is another one for each member of the task. */
static inline bool list_is_of_members(const struct list_spec *spec)
{
    return spec->form != LIST_VALUE && template_has(spec->value);
}

static inline bool foreach_is_made(const struct foreach_key *key)
{
    return key->source == FOREACH_FROM || key->source == FOREACH_GIVEN;
}
/* The first key of the def whose values a task makes, or NULL. */
const struct foreach_key *task_def_made_key(const struct task_def *def);
/* A list of it is not known yet. */
bool task_def_is_unlisted(const struct task_def *def);
/* Marks ([n_defs], or NULL) what makes the list of another one, and does it in files. */
void definition_mark_makers(const struct definition *definition, bool *makes,
                            bool *in_files);
/* Does any task have such a key? */
bool definition_has_lists(const struct definition *definition);
/* Adds the needs that a task has because of lists: what makes its own is needed for the
 * order; who needs a group needs what makes the group's list, unless that makes its own,
 * too. All of these tasks exist. CAIRN_ENOMEM. */
int definition_need_makers(struct definition *definition, struct task_def *def);

void list_spec_write(const struct list_spec *spec, struct buf *out);
/* False: it is none. */
bool list_spec_read(struct str text, struct list_spec *out);
/* Adds a name to those of the columns. */
void list_spec_add_column(struct buf *columns, struct str name);
/* The names, [n]; NULL: it has none, or no memory (arena->failed). */
struct str *list_spec_columns(const struct list_spec *spec, struct arena *arena,
                              uint32_t *n);
/* The same list, whatever its `max`, and whether it may be empty. */
bool list_spec_same(const struct list_spec *a, const struct list_spec *b);
/* That of a key; false: it has no list that is made. */
bool list_spec_of(const struct foreach_key *key, struct list_spec *out);
/* Does that task make a list of the def? */
bool task_def_takes_list(const struct task_def *def, struct str maker);

/* The name under which the result of the task has the list: no other form's can be that
 * of a value. */
void list_spec_key(const struct list_spec *spec, struct buf *out);

/* The values of a list: a JSON list of texts or numbers if it begins with [, else its
 * lines that are not empty; a file has lines; of a sheet the rows. list_read once for
 * each task that has a part of it, then list_end; in the arena, of a sheet in that of
 * the definition, too. CAIRN_EWORKFLOW with what is wrong. */
struct list_values {
    const struct str *at; /* [n]; NULL: no list */
    uint32_t n;
    /* Of a sheet: those that the texts of the task name, sorted. */
    const struct str *columns; /* [n_columns] */
    uint32_t n_columns;
    const struct str *cells;     /* [n * n_columns] */
    const struct list_row *rows; /* [n] where they stand; NULL: not known */
};
struct list_reader {
    const struct list_spec *spec;
    struct arena *arena;
    struct buf values; /* of struct str */
    uint32_t n;
    struct str maker;
    struct cairn_error *error;
    /* Of a sheet. */
    struct definition *definition;
    const struct task_def *def;
    uint32_t key; /* of the def */
    const struct expression *where;
    struct str *names; /* [n_names] of all columns but the key, from the first part */
    uint32_t n_names;
    struct str *columns; /* [n_columns] that are used */
    uint32_t n_columns;
    struct buf cells; /* of struct str */
    struct buf rows;  /* of struct list_row */
};
int list_read(struct list_reader *reader, struct str maker, struct str text);
/* Releases the reader, whatever it returns. rc: of list_read. */
int list_end(struct list_reader *reader, int rc, struct list_values *values);
/* A new key gets the placeholder. Before foreach_key_finish. */
int definition_put_placeholder(struct definition *definition, struct foreach_key *key,
                               struct cairn_error *error);
/* Then, when all texts of the task are there: of a sheet the placeholder has all columns
 * that are named in ${{ }}. Only memory fails. */
int task_def_name_columns(struct definition *definition, struct task_def *def);
/* Gives the key of a def other values. No list: the placeholder, because of `why` (may
 * be empty), and behind it the former values, whose members stay what they are until
 * there is a list again. Graphs of the definition have to be built anew. */
int definition_put_list(struct definition *definition, struct task_def *def,
                        struct foreach_key *key, struct list_values list,
                        struct list_values former, struct str why,
                        struct cairn_error *error);
/* Those that the key has beside the placeholder. */
struct list_values list_values_of(const struct foreach_key *key);

#endif
