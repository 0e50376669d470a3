/* SPDX-License-Identifier: MIT */
/* The texts of statements about logs, annotations and messages of sessions. */
#include "storage/sqlite/sql_int.h"

#include <stddef.h>

#define SESSION_LOG_COLUMNS \
    "SELECT " SESSION_LOG_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM session_log "
#define ANNOTATION_COLUMNS \
    "SELECT " ANNOTATION_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM annotation "

#define MESSAGE_COLUMNS \
    "SELECT " MESSAGE_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM message "

/* Of checkpoints that are still there. */
#define OF_CHECKPOINTS                                                                 \
    "WHERE seq BETWEEN ?3 AND ?4 AND EXISTS(SELECT 1 FROM checkpoint c WHERE c.seq = " \
    "annotation.seq AND c.namespace = ?1 AND c.stream = ?2)"

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): each has its name */
const char *const sql_session_texts[SQL_COUNT] = {
    [SQL_PUT_SESSION_LOG] =
        "INSERT INTO session_log(session, turn, n, time_ns, verb, kind, number, "
        "before, after, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SQL_EACH_SESSION_LOG_ASC] =
        SESSION_LOG_COLUMNS "WHERE session = ?1 AND turn > ?2 ORDER BY turn, n",
    [SQL_EACH_SESSION_LOG_DESC] =
        SESSION_LOG_COLUMNS "WHERE session = ?1 AND turn <= ?2 ORDER BY turn DESC, n",
    [SQL_SESSION_LOG_BELOW] = SESSION_LOG_COLUMNS
    "WHERE session = ?1 AND turn <= ?2 ORDER BY turn DESC, n DESC LIMIT 1",
    [SQL_SESSION_LOG_ABOVE] =
        SESSION_LOG_COLUMNS "WHERE session = ?1 AND turn > ?2 ORDER BY turn, n LIMIT 1",
    [SQL_LAST_SESSION_LOG] =
        SESSION_LOG_COLUMNS "WHERE session <= ?1 "
                            "ORDER BY session DESC, turn DESC, n DESC LIMIT 1",
    [SQL_FIRST_SESSION_LOG] =
        SESSION_LOG_COLUMNS "WHERE session >= ?1 ORDER BY session, turn, n LIMIT 1",
    [SQL_SESSION_LOG_SUMS] = "SELECT sum FROM session_log WHERE session = ?1",
    [SQL_DELETE_SESSION_LOG] = "DELETE FROM session_log WHERE session = ?1",
    [SQL_DELETE_MESSAGES] = "DELETE FROM message WHERE session = ?1",
    [SQL_PUT_ANNOTATION] = "INSERT INTO annotation(seq, n, time_ns, kind, severity, "
                           "text, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_DROP_ANNOTATION] = "DELETE FROM annotation WHERE seq = ?1 AND n = ?2",
    [SQL_DROP_ANNOTATIONS] = "DELETE FROM annotation " OF_CHECKPOINTS,
    /* It goes on with the next checkpoint: see rows_checked_int.h. */
    [SQL_EACH_ANNOTATION] = ANNOTATION_COLUMNS "WHERE seq >= ?1 ORDER BY seq, n",
    [SQL_ANNOTATION_BEFORE] =
        ANNOTATION_COLUMNS "WHERE seq < ?1 ORDER BY seq DESC, n DESC LIMIT 1",

    [SQL_ANNOTATION_SUM] = "SELECT sum FROM annotation WHERE seq = ?1 AND n = ?2",
    [SQL_ANNOTATION_SUMS] = "SELECT sum FROM annotation",
    [SQL_DROPPED_ANNOTATION_SUMS] = "SELECT sum FROM annotation " OF_CHECKPOINTS,
    /* Sessions that rows have, or settings about rows (rows_lost.h). */
    [SQL_EACH_TALLIED] =
        "WITH RECURSIVE " SESSIONS_SEEN " "
        "SELECT session FROM (SELECT session FROM i UNION SELECT session FROM l "
        "UNION SELECT session FROM m UNION SELECT session FROM session "
        "UNION SELECT CAST(substr(key, 11) AS INTEGER) FROM meta "
        "WHERE key GLOB 'rows item *' "
        "UNION SELECT CAST(substr(key, 18) AS INTEGER) FROM meta "
        "WHERE key GLOB 'rows session_log *' "
        "UNION SELECT CAST(substr(key, 14) AS INTEGER) FROM meta "
        "WHERE key GLOB 'rows message *') WHERE session IS NOT NULL ORDER BY 1",

    [SQL_PUT_MESSAGE] =
        "INSERT INTO message(session, n, parent, position, time_ns, role, form, "
        "tokens_in, tokens_out, total_in, total_out, prompt, reply, size, model, file, "
        "origin, object, body, chain, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
    [SQL_GET_MESSAGE] = MESSAGE_COLUMNS "WHERE session = ?1 AND n = ?2",
    [SQL_EACH_MESSAGE] =
        MESSAGE_COLUMNS "WHERE session = ?1 AND n > ?2 ORDER BY n LIMIT ?3",
    [SQL_FIND_MESSAGE] = "SELECT n FROM message WHERE session = ?1 AND origin = ?2 "
                         "AND length(origin) > 0 LIMIT 1",
    [SQL_LAST_MESSAGE] = "SELECT ifnull(max(n), 0) FROM message WHERE session = ?1",
    [SQL_MESSAGE_SUMS] = "SELECT sum FROM message WHERE session = ?1",
    [SQL_EACH_MESSAGE_SESSION] = "WITH RECURSIVE " SESSIONS_SEEN " "
                                 "SELECT session FROM m WHERE session IS NOT NULL",
    [SQL_EACH_MESSAGE_USED] = "SELECT session, n, object FROM message "
                              "WHERE length(object) > 0 AND form <> 4",

    [SQL_ALL_SESSION_LOG] = SESSION_LOG_COLUMNS,
    [SQL_ALL_ANNOTATION] = ANNOTATION_COLUMNS,
    [SQL_ALL_MESSAGE] = MESSAGE_COLUMNS,

    [SQL_KEEP_SESSION_LOG] =
        "INSERT OR IGNORE INTO session_log SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
        "?9, ?10 WHERE true RETURNING 1",
    [SQL_KEEP_ANNOTATION] =
        "INSERT OR IGNORE INTO annotation SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 "
        "WHERE true RETURNING 1",
    [SQL_KEEP_MESSAGE] =
        "INSERT OR IGNORE INTO message SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21 WHERE true "
        "RETURNING 1",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */
