/* SPDX-License-Identifier: MIT */
/* From bytes to rows: shared by salvage.c (trees), salvage_rows.c (rows and cells) and
 * salvage_blobs.c. */
#ifndef STORAGE_RESCUE_SALVAGE_INT_H
#define STORAGE_RESCUE_SALVAGE_INT_H

#include "storage/rescue/salvage.h"

enum { SCHEMA_TABLE = SALVAGE_TABLES }; /* the table of tables, beside the others */

/* Kinds of columns: i integer, b blob, t text; capitals may be NULL. `least` is the
 * number of columns before later versions added some. The row id stands in the first
 * column, and in the row itself there is NULL, where `rowid` is set. */
struct salvage_shape {
    const char *name, *columns;
    int least;
    bool rowid;
};
extern const struct salvage_shape salvage_shapes[SALVAGE_TABLES + 1];

struct salvage_cell {
    uint64_t rowid;
    struct str payload; /* on the page, or in the scratch of the salvage */
};
/* The cell at `at` with its whole payload; false if there is none. `table`: of a tree
 * with row ids. */
bool salvage_read_cell(struct salvage *s, const uint8_t *page, size_t at, bool table,
                       struct salvage_cell *cell);
/* Fills the values; false if the cell holds no row of that shape. */
bool salvage_read_row(const struct salvage_shape *shape,
                      const struct salvage_cell *cell, struct salvage_row *row);

/* How many bytes of a payload of `size` are on the page itself. */
size_t salvage_local(size_t usable, bool table, size_t size);
/* Joins `start` and `left` bytes more, from the chain of pages that begins with `page`,
 * in the scratch. False if the chain ends early, and always once memory has run out. */
bool salvage_join(struct salvage *s, struct str start, uint32_t page, size_t left);

#endif
