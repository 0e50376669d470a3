/* SPDX-License-Identifier: MIT */
/* What a full text table (FTS5) has in its lists, phrase by phrase. Its own ranking
 * reads each list twice, and a row of sizes for each entry; this reads the lists once,
 * and leaves the counting to whoever asks. */
#ifndef STORAGE_SQLITE_PHRASES_H
#define STORAGE_SQLITE_PHRASES_H

#include "base/str.h"
#include "storage/sqlite/statement.h"

enum { PHRASE_COLUMNS = 2 };
struct phrase_row {
    int phrase; /* of the expression, from 0 */
    int64_t row;
    uint32_t often[PHRASE_COLUMNS]; /* in each column */
};
/* For each phrase, in turn, the rows that have it, by number. `id`: a statement that
 * calls the function cairn_phrases for one row that fits ?1. A positive return of
 * `each` skips the rest of the phrase; a negative one stops, and is returned. */
int db_each_phrase(struct db *db, enum sql_id id, struct str expression,
                   int (*each)(void *, const struct phrase_row *), void *context,
                   struct cairn_error *error);

#endif
