/* SPDX-License-Identifier: MIT */
/* Between the files that have the texts of statements. */
#ifndef STORAGE_SQLITE_SQL_INT_H
#define STORAGE_SQLITE_SQL_INT_H

#include "storage/sqlite/sql.h"

/* The lists of columns in sql.h, as text. */
#define FIRST_COLUMN(name, column) #column
#define NEXT_COLUMN(name, column) ", " #column

/* i: the sessions that have items, l: those that have a log, m: those with messages.
 * Each is found by one seek in the index from the one before. */
#define SESSIONS_SEEN                                                          \
    "i(session) AS (SELECT min(session) FROM item UNION ALL "                  \
    "SELECT (SELECT min(session) FROM item WHERE session > i.session) FROM i " \
    "WHERE i.session IS NOT NULL), "                                           \
    "l(session) AS (SELECT min(session) FROM session_log UNION ALL "           \
    "SELECT (SELECT min(session) FROM session_log WHERE session > l.session) " \
    "FROM l WHERE l.session IS NOT NULL), "                                    \
    "m(session) AS (SELECT min(session) FROM message UNION ALL "               \
    "SELECT (SELECT min(session) FROM message WHERE session > m.session) "     \
    "FROM m WHERE m.session IS NOT NULL)"

/* By enum sql_id: of the logs, annotations and messages of sessions, and of what counts
 * rows; else NULL. */
extern const char *const sql_session_texts[SQL_COUNT];
extern const char *const sql_stats_texts[SQL_COUNT];
/* Likewise: of search.db. */
extern const char *const sql_index_texts[SQL_COUNT];

#endif
