/* SPDX-License-Identifier: MIT */
/* Tables of texts, read from bytes of which nothing is known: comma or tab separated
 * (RFC 4180), a JSON list, JSON lines. Pure, and without recursion.
 *
 *   CSV, TSV    a record a line; a field that begins with " ends with ", and may have
 *               line breaks and "" for " in it. Ends of lines are LF or CR LF, empty
 *               lines are left out, a byte order mark at the beginning, too.
 *   JSON        a list of flat objects, of which all have the keys of the first one in
 *               any order, or a list of values: then there is one column without a name.
 *   JSONL       the same, one a line.
 *
 * Everything stays text: a number has the digits that it is written with, true and
 * false are words, null is the empty text. No text has a NUL byte. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/memory.h"

enum table_form { TABLE_CSV = 1, TABLE_TSV, TABLE_JSON, TABLE_JSONL };

struct table {
    uint32_t n_columns, n_rows;
    struct str *columns; /* [n_columns] as they are written, in the order of the text */
    struct str *cells;   /* [n_rows * n_columns] */
    uint32_t *lines;     /* [n_rows] where each row begins, from 1 */
    uint32_t header;     /* the line of the columns */
    struct arena arena;  /* of texts that had to be made */
    struct buf cell_list, line_list;
};

/* `columns` ([n_columns]): their names, of a text that does not begin with them; NULL:
 * it does; not for JSON. Cells point into `text`, which must live as long, and into the
 * table or `texts`. At most `most` rows. CAIRN_EWORKFLOW with "line 7: ...", CAIRN_ELIMIT,
 * CAIRN_ENOMEM; then there is nothing to release. */
struct table_source {
    struct str text;
    enum table_form form;
    const struct str *columns;
    uint32_t n_columns;
    uint32_t most;
    struct arena *texts; /* NULL, or where texts are made that outlive the table */
};
int table_read(const struct table_source *source, struct table *out,
               struct cairn_error *error);
void table_release(struct table *table);
static inline struct str table_cell(const struct table *table, uint32_t row,
                                    uint32_t column)
{
    return table->cells[(size_t)row * table->n_columns + column];
}

#endif
