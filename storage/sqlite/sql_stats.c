/* SPDX-License-Identifier: MIT */
/* The texts of statements that count rows: a text, a key, and numbers
 * (storage/counts/rows_stats.h). */
#include "storage/sqlite/sql_int.h"

#include <stddef.h>

/* A clock that was set back makes no negative time. */
#define TIME_SUMS(x)                                                \
    "count(*), CAST(total(max(" x ", 0)) AS INTEGER), "             \
    "total(" x " <= 1000000), total(" x " <= 10000000), "           \
    "total(" x " <= 100000000), total(" x " <= 1000000000), "       \
    "total(" x " <= 10000000000), total(" x " <= 60000000000), "    \
    "total(" x " <= 600000000000), total(" x " <= 3600000000000), " \
    "total(" x " <= 21600000000000), total(" x " <= 86400000000000)"
#define SIZE_SUMS(x)                                                       \
    "count(*), CAST(total(" x ") AS INTEGER), total(" x " <= 1024), "      \
    "total(" x " <= 4096), total(" x " <= 16384), total(" x " <= 65536), " \
    "total(" x " <= 262144), total(" x " <= 1048576), total(" x " <= 4194304)"
#define TOTAL(x) "CAST(total(" x ") AS INTEGER)"

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): each has its name */
const char *const sql_stats_texts[SQL_COUNT] = {
    [SQL_STAT_CONTENTS] = "SELECT '', 0, count(*), " TOTAL("size") ", " TOTAL(
        "length(data)") " FROM object",
    [SQL_STAT_RUNS] =
        "SELECT w.name, r.state, count(*) FROM run r "
        "JOIN workflow w ON w.id = r.workflow GROUP BY 1, 2 ORDER BY 1, 2",
    /* event_kind 1: a word says how the run began. */
    [SQL_STAT_RUN_STARTS] =
        "SELECT substr(CAST(data AS TEXT), 1, "
        "instr(CAST(data AS TEXT) || ' ', ' ') - 1), 0, count(*) FROM event "
        "WHERE kind = 1 GROUP BY 1 ORDER BY 1",
    [SQL_STAT_RUN_TIMES] = "SELECT w.name, 0, " TIME_SUMS(
        "r.ended_ns - r.started_ns") " FROM run r JOIN workflow w ON w.id = "
                                     "r.workflow WHERE r.ended_ns > 0 "
                                     "GROUP BY 1 ORDER BY 1",
    [SQL_STAT_ATTEMPTS] =
        "SELECT w.name, CASE WHEN a.duration_ns IS NULL THEN -1 "
        "WHEN a.flags & 1 THEN -2 WHEN a.flags & 2 THEN -3 "
        "ELSE ifnull(a.outcome, 0) END, " TIME_SUMS("a.duration_ns") ", " TOTAL(
            "a.cpu_us") ", " TOTAL("ifnull(a.out_bytes, 0) + ifnull(a.err_bytes, "
                                   "0)") " FROM attempt a JOIN run r ON r.run = "
                                         "a.run "
                                         "JOIN workflow w ON w.id = r.workflow "
                                         "GROUP BY 1, 2 ORDER BY 1, 2",
    [SQL_STAT_WAITS] = "SELECT w.name, 0, " TIME_SUMS(
        "a.wait_ns") " FROM attempt a JOIN run r ON r.run = a.run JOIN workflow w ON "
                     "w.id = r.workflow WHERE a.wait_ns IS NOT NULL "
                     "GROUP BY 1 ORDER BY 1",
    [SQL_STAT_CHECKPOINTS] = "SELECT '', namespace, " SIZE_SUMS(
        "length(record)") " FROM checkpoint GROUP BY 2 ORDER BY 2",
    [SQL_STAT_DELETED] =
        "SELECT '', namespace, " TOTAL("count") " FROM tombstone GROUP BY 2 ORDER BY 2",
    [SQL_STAT_QUARANTINED] = "SELECT '', 0, count(*) FROM quarantine WHERE seq > 0",
    [SQL_STAT_EVENTS] = "SELECT '', kind, count(*) FROM event GROUP BY 2 ORDER BY 2",
    [SQL_STAT_SESSIONS] =
        "SELECT '', ended_ns > 0, count(*) FROM session GROUP BY 2 ORDER BY 2",
    [SQL_STAT_SESSION_TIMES] =
        "SELECT '', 0, " TIME_SUMS("ended_ns - started_ns") " FROM session "
                                                            "WHERE ended_ns > 0 "
                                                            "HAVING count(*) > 0",
    /* item_kind 7 and 8: commands and checks. */
    [SQL_STAT_COMMANDS] = "SELECT body, kind, n FROM item WHERE kind IN (7, 8)",
    [SQL_STAT_ITEMS] = "SELECT '', kind, count(*) FROM item GROUP BY 2 ORDER BY 2",
    /* session_verb 4: `after` is the trigger of a checkpoint. 17: messages. */
    [SQL_STAT_SESSION_LOG] =
        "SELECT CASE verb WHEN 4 THEN CAST(after AS TEXT) "
        "ELSE '' END, verb, count(*) "
        "FROM session_log WHERE verb <> 17 GROUP BY 1, 2 ORDER BY 1, 2",
    [SQL_STAT_MESSAGES] = "SELECT '', role, count(*), " TOTAL("tokens_in") ", " TOTAL(
        "tokens_out") ", " TOTAL("size") " FROM message GROUP BY 2 ORDER BY 2",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */
