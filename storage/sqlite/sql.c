/* SPDX-License-Identifier: MIT */
/* The texts. A filter is a statement of its own where it needs an index, and else
 * `(?n = 0 OR column = ?n)`, where the query reads in the order of row ids anyway. A
 * limit of -1 is not a limit. */
#include "storage/sqlite/sql.h"

#include <assert.h>
#include <stddef.h>

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

/* secure_delete: what is deleted is overwritten, in pages that become free, too. That
 * writes each such page once more, and is what a person means who deletes. */
#define SETTINGS                   \
    "PRAGMA cell_size_check = ON;" \
    "PRAGMA temp_store = MEMORY;"  \
    "PRAGMA cache_size = -8000;"

const char sql_settings[] = SETTINGS;
const char sql_settings_writer[] = SETTINGS "PRAGMA secure_delete = ON;";
const char sql_sync_full[] = "PRAGMA synchronous = FULL";
const char sql_sync_normal[] = "PRAGMA synchronous = NORMAL";
const char sql_sync_off[] = "PRAGMA synchronous = OFF";
const char sql_unsafe[] = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF";
const char sql_sync_extra[] = "PRAGMA synchronous = EXTRA";
const char sql_defer_references[] = "PRAGMA defer_foreign_keys = ON";

#define CHECKPOINT_COLUMNS \
    "SELECT " CHECKPOINT_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM checkpoint "

/* namespace, stream (or workflow), first, last, limit, offset. Of a workflow, whose
 * streams interleave with others, only the numbers are sorted. */
#define EACH_CHECKPOINT                               \
    CHECKPOINT_COLUMNS "WHERE seq BETWEEN ?3 AND ?4 " \
                       "AND (?1 = 0 OR namespace = ?1) AND (?2 = 0 OR stream = ?2) "

#define EACH_STREAM                                                                   \
    CHECKPOINT_COLUMNS "WHERE namespace = ?1 AND stream = ?2 AND seq BETWEEN ?3 AND " \
                       "?4 "

#define EACH_WORKFLOW                                                \
    CHECKPOINT_COLUMNS                                               \
    "WHERE seq IN (SELECT seq FROM checkpoint WHERE namespace = ?1 " \
    "AND stream IN (SELECT run FROM run WHERE workflow = ?2) "       \
    "AND seq BETWEEN ?3 AND ?4 "
/* Those of a namespace, or of a session, wherever they are among the others: of each
 * stream, which is found by one seek in the index, only as many as are wanted. */
#define LAST_SEQ "9223372036854775807"
#define NEXT_STREAM "(SELECT min(stream) FROM checkpoint WHERE namespace = ?1 "

#define STREAMS                                                      \
    "WITH RECURSIVE streams(stream) AS (SELECT " NEXT_STREAM         \
    ") UNION ALL SELECT " NEXT_STREAM "AND stream > s.stream) FROM " \
    "streams s WHERE s.stream IS NOT NULL) "

#define EACH_SESSION_CHECKPOINT(ORDER)                                            \
    CHECKPOINT_COLUMNS                                                            \
    "WHERE seq IN (" STREAMS                                                      \
    "SELECT c.seq FROM streams s CROSS JOIN checkpoint c WHERE "                  \
    "s.stream IS NOT NULL AND (?2 = 0 OR s.stream IN (SELECT branch FROM branch " \
    "WHERE session = ?2)) AND c.seq IN (SELECT seq FROM checkpoint WHERE "        \
    "namespace = ?1 AND stream = s.stream AND seq BETWEEN ?3 AND ?4 ORDER BY "    \
    "seq" ORDER " LIMIT CASE WHEN ?5 < 0 OR ?6 > " LAST_SEQ                       \
    " - ?5 THEN -1 ELSE ?5 + ?6 END) "                                            \
    "ORDER BY c.seq" ORDER " LIMIT ?5 OFFSET ?6) ORDER BY seq" ORDER

#define RUN_COLUMNS     \
    "SELECT " RUN_READ( \
        FIRST_COLUMN,   \
        NEXT_COLUMN) " FROM run r LEFT JOIN workflow w ON w.id = r.workflow "
#define EACH_RUN RUN_COLUMNS "WHERE (?1 IS NULL OR r.params = ?1) "

#define EACH_WORKFLOW_RUN \
    RUN_COLUMNS "WHERE r.workflow = ?1 AND (?2 IS NULL OR r.params = ?2) "

#define ATTEMPT_COLUMNS \
    "SELECT " ATTEMPT_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM attempt "

#define TOMBSTONE_COLUMNS \
    "SELECT " TOMBSTONE_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM tombstone "

#define COMMAND_COLUMNS \
    "SELECT " COMMAND_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM command "
#define CLAIM_COLUMNS "SELECT " CLAIM_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM claim "
#define OBJECT_COLUMNS "SELECT id, digest, size, codec, data, base FROM object "
#define EVENT_COLUMNS "SELECT " EVENT_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM event "

#define SESSION_COLUMNS \
    "SELECT " SESSION_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM session "
#define BRANCH_COLUMNS "SELECT " BRANCH_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM branch "
#define ITEM_COLUMNS "SELECT " ITEM_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM item "
/* By the indexes, as their conditions are written. */
#define ITEM_ABOUT \
    "INDEXED BY item_about WHERE session = ?1 AND about = ?2 AND about IS NOT 0"
#define ITEM_ALSO "INDEXED BY item_also WHERE session = ?1 AND also = ?2 AND also <> 0"

/* a: the runs that have attempts, e: those that have events. Each is found by one seek
 * in the index from the one before, however many rows they have. */
#define RUNS_SEEN                                                     \
    "a(run) AS (SELECT min(run) FROM attempt UNION ALL "              \
    "SELECT (SELECT min(run) FROM attempt WHERE run > a.run) FROM a " \
    "WHERE a.run IS NOT NULL), "                                      \
    "e(run) AS (SELECT min(run) FROM event UNION ALL "                \
    "SELECT (SELECT min(run) FROM event WHERE run > e.run) FROM e "   \
    "WHERE e.run IS NOT NULL)"

#define SESSION_LOG_COLUMNS \
    "SELECT " SESSION_LOG_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM session_log "

#define ANNOTATION_COLUMNS \
    "SELECT " ANNOTATION_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM annotation "

#define MESSAGE_COLUMNS \
    "SELECT " MESSAGE_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM message "

#define THREAD_STATE_COLUMNS \
    "SELECT " THREAD_STATE_READ(FIRST_COLUMN, NEXT_COLUMN) " FROM thread_state "
/* Pending writes alone make no state. */
#define OF_SPACE "WHERE branch = ?1 AND space = ?2 AND seq > 0 "

#define BELOW "AND (?4 IS NULL OR (id, branch, space) < (?4, ?5, ?6)) "

/* Of checkpoints that are still there. */
#define OF_CHECKPOINTS                                                                 \
    "WHERE seq BETWEEN ?3 AND ?4 AND EXISTS(SELECT 1 FROM checkpoint c WHERE c.seq = " \
    "annotation.seq AND c.namespace = ?1 AND c.stream = ?2)"

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
static const char *const texts[SQL_COUNT] = {
    [SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [SQL_BEGIN_READ] = "BEGIN",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_JOURNAL_WAL] = "PRAGMA journal_mode = WAL",
    [SQL_JOURNAL_DELETE] = "PRAGMA journal_mode = DELETE",
    [SQL_GET_APPLICATION_ID] = "PRAGMA application_id",
    [SQL_GET_USER_VERSION] = "PRAGMA user_version",
    [SQL_GET_DATA_VERSION] = "PRAGMA data_version",
    [SQL_PAGE_SIZE] = "PRAGMA page_size",
    [SQL_PAGE_COUNT] = "PRAGMA page_count",
    [SQL_FREE_PAGES] = "PRAGMA freelist_count",
    [SQL_CHECK_PAGES] = "PRAGMA integrity_check",
    [SQL_COUNT_TABLES] = "SELECT count(*) FROM sqlite_schema",
    [SQL_PUT_META] = "INSERT INTO meta(key, value, sum) VALUES(?1, ?2, ?3)",
    [SQL_GET_META] = "SELECT value FROM meta WHERE key = ?1",
    [SQL_META_BESIDE] =
        "SELECT * FROM (SELECT key, value, sum FROM meta WHERE key < ?1 "
        "ORDER BY key DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT key, value, sum "
        "FROM meta WHERE key >= ?1 ORDER BY key LIMIT 1)",
    [SQL_SET_META] = "INSERT OR REPLACE INTO meta(key, value, sum) VALUES(?1, ?2, ?3)",
    [SQL_DELETE_META] = "DELETE FROM meta WHERE key = ?1",
    [SQL_DELETE_META_RANGE] = "DELETE FROM meta WHERE key >= ?1 AND key < ?2",
    [SQL_EACH_META_RANGE] =
        "SELECT key, value FROM meta WHERE key >= ?1 AND key < ?2 ORDER BY key",
    [SQL_EACH_SCHEMA] = "SELECT type || ' ' || name, ifnull(sql, '') "
                        "FROM main.sqlite_schema ORDER BY type, name",

    [SQL_NEXT_SEQ] = "SELECT 1 + max(ifnull((SELECT max(seq) FROM checkpoint), 0), "
                     "ifnull((SELECT max(last) FROM tombstone), 0), "
                     "ifnull((SELECT max(seq) FROM quarantine), 0))",
    [SQL_PUT_CHECKPOINT] =
        "INSERT INTO checkpoint(seq, namespace, stream, parent, time_ns, kind, record, "
        "digest) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [SQL_GET_CHECKPOINT] = CHECKPOINT_COLUMNS "WHERE seq = ?1",
    [SQL_EACH_CHECKPOINT_ASC] = EACH_CHECKPOINT "ORDER BY seq LIMIT ?5 OFFSET ?6",
    [SQL_EACH_CHECKPOINT_DESC] = EACH_CHECKPOINT "ORDER BY seq DESC LIMIT ?5 OFFSET ?6",
    [SQL_EACH_STREAM_ASC] = EACH_STREAM "ORDER BY seq LIMIT ?5 OFFSET ?6",
    [SQL_EACH_STREAM_DESC] = EACH_STREAM "ORDER BY seq DESC LIMIT ?5 OFFSET ?6",
    [SQL_EACH_WORKFLOW_ASC] =
        EACH_WORKFLOW "ORDER BY seq LIMIT ?5 OFFSET ?6) ORDER BY seq",
    [SQL_EACH_WORKFLOW_DESC] =
        EACH_WORKFLOW "ORDER BY seq DESC LIMIT ?5 OFFSET ?6) ORDER BY seq DESC",
    [SQL_COUNT_CHECKPOINTS] =
        "SELECT count(*) FROM checkpoint WHERE seq BETWEEN ?3 AND ?4 "
        "AND (?1 = 0 OR namespace = ?1) AND (?2 = 0 OR stream = ?2)",
    [SQL_COUNT_STREAM] = "SELECT count(*) FROM checkpoint "
                         "WHERE namespace = ?1 AND stream = ?2 "
                         "AND seq BETWEEN ?3 AND ?4",
    [SQL_COUNT_WORKFLOW] = "SELECT count(*) FROM checkpoint "
                           "WHERE namespace = ?1 AND seq BETWEEN ?3 AND ?4 "
                           "AND stream IN (SELECT run FROM run WHERE workflow = ?2)",
    [SQL_EACH_SESSION_CHECKPOINT_ASC] = EACH_SESSION_CHECKPOINT(""),
    [SQL_EACH_SESSION_CHECKPOINT_DESC] = EACH_SESSION_CHECKPOINT(" DESC"),
    /* Counting a whole table reads no entries, only how many each page has. */
    [SQL_CHECKPOINT_EXTENT] = "SELECT ifnull((SELECT min(seq) FROM checkpoint), 1), "
                              "ifnull((SELECT max(seq) FROM checkpoint), 0), "
                              "(SELECT count(*) FROM checkpoint)",
    [SQL_COUNT_BY_INDEX] =
        "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_stream WHERE "
        "seq BETWEEN ?3 AND ?4 AND ?1 = 0 AND ?2 = 0",
    [SQL_COUNT_NAMESPACE] =
        "SELECT count(*) FROM checkpoint INDEXED BY checkpoint_stream "
        "WHERE namespace = ?1 AND (?2 = 0 OR stream = ?2) AND seq BETWEEN ?3 AND ?4",
    [SQL_COUNT_OF_STREAMS] =
        STREAMS "SELECT ifnull(sum((SELECT count(*) FROM checkpoint WHERE "
                "namespace = ?1 AND stream = s.stream AND seq BETWEEN ?3 AND ?4)), 0) "
                "FROM streams s WHERE s.stream IS NOT NULL",
    [SQL_COUNT_OF_SESSION] = "SELECT count(*) FROM checkpoint WHERE namespace = ?1 "
                             "AND stream IN (SELECT branch FROM branch WHERE "
                             "session = ?2) AND seq BETWEEN ?3 AND ?4",
    [SQL_FIND_DIGEST] = "SELECT seq FROM checkpoint WHERE digest BETWEEN ?1 AND ?2 "
                        "ORDER BY seq LIMIT ?3",
    [SQL_LAST_SEQ] = "SELECT seq FROM checkpoint WHERE namespace = ?1 AND stream = ?2 "
                     "ORDER BY seq DESC LIMIT 1",
    [SQL_SIZE_CHECKPOINTS] =
        "SELECT count(*), ifnull(sum(length(record)), 0) FROM checkpoint "
        "WHERE namespace = ?1 AND stream = ?2 AND seq BETWEEN ?3 AND ?4",
    [SQL_DELETE_CHECKPOINTS] = "DELETE FROM checkpoint WHERE namespace = ?1 "
                               "AND stream = ?2 AND seq BETWEEN ?3 AND ?4",
    [SQL_SET_PARENT] = "UPDATE checkpoint SET parent = ?2 WHERE seq = ?1",
    [SQL_PUT_TOMBSTONE] =
        "INSERT INTO tombstone(namespace, stream, first, last, count, before, after, "
        "time_ns, sum, change) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SQL_DELETE_TOMBSTONE] = "DELETE FROM tombstone WHERE id = ?1",
    [SQL_EACH_TOMBSTONE] = TOMBSTONE_COLUMNS
    "WHERE (?1 = 0 OR namespace = ?1) AND (?2 = 0 OR stream = ?2) "
    "ORDER BY first, id",
    [SQL_EACH_TOMBSTONE_OF] =
        TOMBSTONE_COLUMNS "WHERE namespace = ?1 AND stream = ?2 ORDER BY first, id",
    [SQL_EACH_TOMBSTONE_WITHIN] =
        TOMBSTONE_COLUMNS "WHERE namespace = ?1 AND stream = ?2 "
                          "AND first BETWEEN ?3 AND ?4 ORDER BY first, id",
    [SQL_GET_TOMBSTONE] =
        "SELECT namespace, stream, first, last, count, before, after, time_ns, "
        "change, sum FROM tombstone WHERE id = ?1",
    [SQL_HAS_TOMBSTONE_BEHIND] =
        "SELECT EXISTS(SELECT 1 FROM tombstone WHERE last > ?3 "
        "AND namespace = ?1 AND stream = ?2)",
    [SQL_PUT_QUARANTINE] = "INSERT INTO quarantine(seq, time_ns, reason) "
                           "VALUES(?1, ?2, ?3) ON CONFLICT DO NOTHING",

    [SQL_GET_WORKFLOW_ID] = "SELECT id FROM workflow WHERE name = ?1",
    [SQL_GET_WORKFLOW_NAME] = "SELECT name FROM workflow WHERE id = ?1",
    [SQL_ADD_WORKFLOW] = "INSERT INTO workflow(name) VALUES(?1)",
    /* Also above runs of which only other rows are left. */
    [SQL_NEXT_RUN] =
        "SELECT 1 + max(ifnull((SELECT max(run) FROM run), 0), "
        "ifnull((SELECT max(stream) FROM checkpoint WHERE namespace = 1), 0), "
        "ifnull((SELECT max(stream) FROM tombstone WHERE namespace = 1), 0), "
        "ifnull((SELECT max(run) FROM attempt), 0), "
        "ifnull((SELECT max(run) FROM event), 0), "
        "ifnull((SELECT max(run) FROM run_graph), 0))",
    /* Bounded, since it runs at the start of each run. */
    [SQL_NAMED_SEQ] =
        "SELECT ifnull(max(checkpoint), 0) FROM (SELECT checkpoint FROM attempt "
        "WHERE run = (SELECT max(run) FROM attempt) ORDER BY gen DESC, task DESC, "
        "n DESC LIMIT 10000)",
    [SQL_GET_RUN_WORKFLOW] = "SELECT workflow FROM run WHERE run = ?1",
    [SQL_ADD_RUN] =
        "INSERT INTO run(run, workflow, params, params_text, file, gen, graph, tasks, "
        "state, started_ns, ended_ns, from_run, from_seq, owner_pid, owner_start, "
        "owner_host, owner_boot, owner_since_ns, unsaved, sum) VALUES(?1, ?2, ?3, ?4, "
        "?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    [SQL_SET_RUN] =
        "UPDATE run SET workflow = ?2, params = ?3, params_text = ?4, file = ?5, "
        "gen = ?6, graph = ?7, tasks = ?8, state = ?9, started_ns = ?10, "
        "ended_ns = ?11, from_run = ?12, from_seq = ?13, owner_pid = ?14, "
        "owner_start = ?15, owner_host = ?16, owner_boot = ?17, owner_since_ns = ?18, "
        "unsaved = ?19, sum = ?20 WHERE run = ?1 RETURNING run",
    [SQL_GET_RUN] = RUN_COLUMNS "WHERE r.run = ?1",
    [SQL_GET_NEWEST_RUN] = RUN_COLUMNS "ORDER BY r.run DESC LIMIT 1",
    [SQL_GET_RUN_SUM_SIZE] = "SELECT length(sum) FROM run WHERE run = ?1",
    [SQL_EACH_RUN_ASC] = EACH_RUN "ORDER BY r.run LIMIT ?2 OFFSET ?3",
    [SQL_EACH_RUN_DESC] = EACH_RUN "ORDER BY r.run DESC LIMIT ?2 OFFSET ?3",
    [SQL_EACH_WORKFLOW_RUN_ASC] = EACH_WORKFLOW_RUN "ORDER BY r.run LIMIT ?3 OFFSET ?4",
    [SQL_EACH_WORKFLOW_RUN_DESC] =
        EACH_WORKFLOW_RUN "ORDER BY r.run DESC LIMIT ?3 OFFSET ?4",
    [SQL_COUNT_RUNS] = "SELECT count(*) FROM run WHERE ?1 IS NULL OR params = ?1",
    [SQL_COUNT_WORKFLOW_RUNS] = "SELECT count(*) FROM run WHERE workflow = ?1 "
                                "AND (?2 IS NULL OR params = ?2)",
    [SQL_EACH_INSIDE] =
        "SELECT r.run, m.value FROM run r JOIN meta m ON m.key = 'parent.' || r.run "
        "WHERE r.workflow = ?1 AND r.params = ?2 ORDER BY r.run DESC",
    [SQL_EACH_RUN_PARENT] =
        "SELECT r.run, m.value, "
        "EXISTS(SELECT 1 FROM run p WHERE p.run = CAST(m.value AS INTEGER)) "
        "FROM run r LEFT JOIN meta m ON m.key = 'parent.' || r.run "
        "ORDER BY r.run DESC",
    /* Where max() is the only aggregate, `state` is that of the row that has it. */
    [SQL_EACH_UNFINISHED] =
        "SELECT run FROM (SELECT max(run) AS run, state FROM run "
        "GROUP BY workflow, params) WHERE state NOT IN (1, 4) ORDER BY run DESC",
    [SQL_PUT_RUN_GRAPH] = "INSERT OR REPLACE INTO run_graph(run, gen, graph, sum) "
                          "VALUES(?1, ?2, ?3, ?4)",
    [SQL_GET_RUN_GRAPH] = "SELECT graph FROM run_graph WHERE run = ?1 AND gen = ?2",

    [SQL_PUT_INTENT] =
        "INSERT INTO attempt(run, gen, task, n, intent_ns, flags, start_turn, sum) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [SQL_PUT_ATTEMPT] =
        "INSERT OR REPLACE INTO attempt(run, gen, task, n, intent_ns, wait_ns, "
        "duration_ns, outcome, flags, exit_code, signal, cpu_us, peak_kib, out_bytes, "
        "err_bytes, out_head, err_head, out, err, outputs, text, start_turn, end_turn, "
        "checkpoint, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
        "?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
    [SQL_EACH_ATTEMPT] =
        ATTEMPT_COLUMNS "WHERE run = ?1 AND gen = ?2 AND task = ?3 ORDER BY n",
    [SQL_EACH_RUN_ATTEMPT] =
        ATTEMPT_COLUMNS "WHERE run = ?1 AND gen = ?2 ORDER BY task, n",
    [SQL_EACH_OPEN_ATTEMPT] = ATTEMPT_COLUMNS
    "WHERE run = ?1 AND gen = ?2 AND duration_ns IS NULL ORDER BY task, n",
    [SQL_EACH_NEW_ATTEMPT] =
        ATTEMPT_COLUMNS "WHERE run = ?1 AND (start_turn > ?2 OR end_turn > ?2) "
                        "ORDER BY gen, task, n",
    [SQL_GET_ATTEMPT] =
        ATTEMPT_COLUMNS "WHERE run = ?1 AND gen = ?2 AND task = ?3 AND n = ?4",
    [SQL_ATTEMPT_TURN] =
        "SELECT ifnull(max(max(ifnull(start_turn, 0), ifnull(end_turn, 0))), 0) "
        "FROM attempt WHERE run = ?1",

    [SQL_NEXT_COMMAND_ID] = "SELECT ifnull(max(id), 0) + 1 FROM command",
    [SQL_PUT_COMMAND] =
        "INSERT INTO command(id, run, verb, time_ns, taken, argument, gen, task, data, "
        "sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SQL_NEXT_COMMAND] =
        COMMAND_COLUMNS "WHERE run = ?1 AND taken = 0 AND id > ?2 ORDER BY id LIMIT 1",
    [SQL_GET_COMMAND] = COMMAND_COLUMNS "WHERE run = ?1 AND id = ?2",
    [SQL_EACH_ADDITION] =
        COMMAND_COLUMNS "WHERE run = ?1 AND verb IN (?2, ?3) ORDER BY id",
    [SQL_EACH_WORKFLOW_ADDITION] =
        COMMAND_COLUMNS "WHERE verb IN (?2, ?3) AND run IN (SELECT run FROM run WHERE "
                        "workflow = ?1) ORDER BY id",
    [SQL_TAKE_COMMAND] =
        "UPDATE command SET taken = 1, sum = ifnull(?2, sum) WHERE id = ?1",
    [SQL_ANSWER_COMMAND] = "UPDATE command SET verb = ?2, taken = 1, argument = ?3, "
                           "data = ?4, sum = ?5 WHERE id = ?1",
    [SQL_WAITING_COMMAND] =
        "SELECT verb FROM command WHERE run = ?1 AND taken = 0 ORDER BY id LIMIT 1",
    [SQL_COMMAND_TAKEN] = "SELECT taken FROM command WHERE id = ?1",

    [SQL_PUT_CLAIM] =
        "INSERT OR REPLACE INTO claim(run, gen, task, token, holder, boot, "
        "until_boot_ns, time_ns, spent, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
        "?9, ?10)",
    [SQL_DROP_CLAIM] = "DELETE FROM claim WHERE run = ?1 AND gen = ?2 AND task = ?3",
    [SQL_EACH_CLAIM] = CLAIM_COLUMNS "WHERE run = ?1 AND gen = ?2 ORDER BY task",

    [SQL_NEXT_EVENT] =
        "SELECT ifnull(max(n), 0) + 1 FROM event WHERE run = ?1 AND turn = ?2",
    [SQL_PUT_EVENT] =
        "INSERT INTO event(run, turn, n, time_ns, kind, argument, gen, task, data, "
        "sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SQL_EACH_EVENT] = EVENT_COLUMNS "WHERE run = ?1 AND turn > ?2 ORDER BY turn, n",
    [SQL_GET_EVENT] = EVENT_COLUMNS "WHERE run = ?1 AND turn = ?2 AND n = ?3",
    [SQL_EVENT_TURN] = "SELECT ifnull(max(turn), 0) FROM event WHERE run = ?1",

    /* A run: its row goes first, and its checkpoints are noted as deleted. */
    [SQL_WAS_REMOVED] =
        "SELECT NOT EXISTS(SELECT 1 FROM run WHERE run = ?1) AND EXISTS(SELECT 1 "
        "FROM tombstone WHERE namespace = 1 AND stream = ?1)",

    /* Every place that names one: a number is never used again. */
    [SQL_LAST_SESSION] = "SELECT max(ifnull((SELECT max(session) FROM session), 0), "
                         "ifnull((SELECT max(session) FROM branch), 0), "
                         "ifnull((SELECT max(session) FROM item), 0), "
                         "ifnull((SELECT max(session) FROM session_log), 0), "
                         "ifnull((SELECT max(session) FROM message), 0), "
                         "ifnull((SELECT CAST(value AS INTEGER) FROM meta "
                         "WHERE key = 'sessions'), 0))",
    [SQL_ADD_SESSION] =
        "INSERT INTO session(session, name, started_ns, started_boot_ns, boot, "
        "ended_ns, branch, numbers, settings, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, "
        "?8, ?9, ?10) RETURNING 1",
    [SQL_SET_SESSION] =
        "UPDATE session SET name = ?2, started_ns = ?3, started_boot_ns = ?4, "
        "boot = ?5, ended_ns = ?6, branch = ?7, numbers = ?8, settings = ?9, "
        "sum = ?10 WHERE session = ?1 RETURNING 1",
    [SQL_GET_SESSION] = SESSION_COLUMNS "WHERE session = ?1",
    [SQL_FIND_SESSION] = "SELECT session FROM session WHERE name = ?1",
    [SQL_EACH_SESSION_ASC] = SESSION_COLUMNS "ORDER BY session LIMIT ?1 OFFSET ?2",
    [SQL_EACH_SESSION_DESC] =
        SESSION_COLUMNS "ORDER BY session DESC LIMIT ?1 OFFSET ?2",
    [SQL_COUNT_SESSIONS] = "SELECT count(*) FROM session",
    /* The sessions of large tables are found by seeking through their keys. */
    [SQL_EACH_LOST_SESSION] =
        "WITH RECURSIVE " SESSIONS_SEEN " "
        "SELECT session FROM (SELECT session FROM i UNION SELECT session FROM l "
        "UNION SELECT session FROM m UNION SELECT session FROM branch) n WHERE session "
        "IS NOT NULL "
        "AND NOT EXISTS(SELECT 1 FROM session s WHERE s.session = n.session) "
        "ORDER BY 1",
    [SQL_LAST_BRANCH] =
        "SELECT max(ifnull((SELECT max(branch) FROM branch), 0), "
        "ifnull((SELECT max(branch) FROM session), 0), "
        "ifnull((SELECT max(stream) FROM checkpoint WHERE namespace = 2), 0), "
        "ifnull((SELECT max(stream) FROM tombstone WHERE namespace = 2), 0))",
    [SQL_ADD_BRANCH] =
        "INSERT INTO branch(branch, session, name, status, from_seq, started_ns, "
        "reason, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING 1",
    [SQL_SET_BRANCH] =
        "UPDATE branch SET session = ?2, name = ?3, status = ?4, from_seq = ?5, "
        "started_ns = ?6, reason = ?7, sum = ?8 WHERE branch = ?1 RETURNING 1",
    [SQL_GET_BRANCH] = BRANCH_COLUMNS "WHERE branch = ?1",
    [SQL_FIND_BRANCH] = "SELECT branch FROM branch WHERE session = ?1 AND name = ?2",
    [SQL_EACH_BRANCH] = BRANCH_COLUMNS "ORDER BY branch",
    [SQL_EACH_LOST_BRANCH] =
        "SELECT branch, session FROM session s WHERE branch > 0 "
        "AND NOT EXISTS(SELECT 1 FROM branch b WHERE b.branch = s.branch) ORDER BY 1",
    [SQL_BRANCH_SUM] = "SELECT sum FROM branch WHERE branch = ?1",
    [SQL_BRANCH_SUMS_OF] = "SELECT sum FROM branch WHERE session = ?1",
    [SQL_DELETE_BRANCHES] = "DELETE FROM branch WHERE session = ?1",
    [SQL_DELETE_SESSION] = "DELETE FROM session WHERE session = ?1",
    [SQL_DELETE_ITEMS] = "DELETE FROM item WHERE session = ?1",
    [SQL_BRANCH_SUMS] = "SELECT sum FROM branch",
    [SQL_PUT_ITEM] =
        "INSERT INTO item(session, kind, n, body, sum, about, also, named) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, iif(?6 IS NULL, NULL, 0)) "
        "ON CONFLICT(session, kind, n) DO UPDATE SET body = ?4, sum = ?5, about = ?6, "
        "also = ?7, named = iif(?6 IS NULL, NULL, named)",
    [SQL_DROP_ITEM] = "DELETE FROM item WHERE session = ?1 AND kind = ?2 AND n = ?3",
    /* It goes on with the next session: see rows_checked_int.h. */
    [SQL_EACH_ITEM] = ITEM_COLUMNS "WHERE session >= ?1 ORDER BY session, kind, n",
    [SQL_GET_ITEM] = ITEM_COLUMNS "WHERE session = ?1 AND kind = ?2 AND n = ?3",
    [SQL_LAST_ITEM] = ITEM_COLUMNS "WHERE session = ?1 AND kind = ?2 ORDER BY n DESC "
                                   "LIMIT 1",
    [SQL_EACH_ITEM_OF_KIND] =
        ITEM_COLUMNS "WHERE session = ?1 AND kind = ?2 ORDER BY n",
    /* Unless it is told, SQLite takes the primary key, which has the order, too. */
    [SQL_EACH_ITEM_ABOUT] = ITEM_COLUMNS ITEM_ABOUT " ORDER BY kind, n",
    [SQL_EACH_ITEM_ALSO] = ITEM_COLUMNS ITEM_ALSO " ORDER BY kind, n",
    [SQL_HAS_UNLINKED_ITEM] =
        "SELECT EXISTS(SELECT 1 FROM item INDEXED BY item_about "
        "WHERE session = ?1 AND about IS NULL AND about IS NOT 0)",
    [SQL_ITEM_LINKS] =
        "SELECT about, also, sum FROM item WHERE session = ?1 AND kind = ?2 "
        "AND n = ?3",
    [SQL_UNNAME_ITEMS] =
        "UPDATE item SET about = NULL, also = NULL, named = 0 WHERE session = ?1",
    [SQL_LINK_ITEM] = "UPDATE item SET about = ?4, also = ?5 "
                      "WHERE session = ?1 AND kind = ?2 AND n = ?3",
    /* The exclusive or. */
    [SQL_NAME_ITEM] = "UPDATE item SET named = (named | ?4) & ~(named & ?4) "
                      "WHERE session = ?1 AND kind = ?2 AND n = ?3",
    [SQL_ITEM_NAMED] = "SELECT ifnull(named, 0) FROM item WHERE session = ?1 "
                       "AND kind = ?2 AND n = ?3",
    [SQL_EACH_LINKED_ITEM] =
        "SELECT session, kind, n FROM item WHERE about IS NOT NULL "
        "ORDER BY session, kind, n",
    [SQL_EACH_NAMING_SUM] =
        "SELECT sum FROM item " ITEM_ABOUT " UNION ALL SELECT sum FROM item " ITEM_ALSO,
    [SQL_ITEM_BEFORE] =
        ITEM_COLUMNS "WHERE session < ?1 ORDER BY session DESC, kind DESC, n DESC "
                     "LIMIT 1",
    [SQL_ITEM_SUM] = "SELECT sum FROM item WHERE session = ?1 AND kind = ?2 AND n = ?3",
    [SQL_ITEM_SUMS] = "SELECT sum FROM item WHERE session = ?1",

    [SQL_PUT_OBJECT] = "INSERT INTO object(digest, size, codec, data, base) "
                       "VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_MEND_OBJECT] = "UPDATE object SET size = ?2, codec = ?3, data = ?4, base = ?5 "
                        "WHERE digest = ?1",
    [SQL_GET_OBJECT] = OBJECT_COLUMNS "WHERE digest = ?1",
    [SQL_SEEK_OBJECT] =
        "SELECT id, digest, size, codec, CASE WHEN length(data) < ?2 THEN data END, "
        "base, length(data) FROM object WHERE digest = ?1",
    [SQL_OBJECT_TREE] = "SELECT rootpage FROM sqlite_schema WHERE name = 'object'",
    [SQL_NTH_OBJECT] = OBJECT_COLUMNS "WHERE id = ?1",
    [SQL_EACH_OBJECT] = OBJECT_COLUMNS "ORDER BY id",
    [SQL_BASE_OF_OBJECT] = "SELECT codec, base FROM object WHERE id = ?1",
    [SQL_EACH_SIBLING] = "SELECT digest FROM object WHERE base = ?1 AND id < ?2 "
                         "ORDER BY id LIMIT 16",
    /* of objects so many levels above it; 0: of itself */
    [SQL_IS_BASE_OF] = "WITH RECURSIVE above(id, level) AS (SELECT ?1, 0 UNION ALL "
                       "SELECT o.id, level + 1 FROM above a CROSS JOIN object o "
                       "WHERE o.base = a.id AND level < ?2) "
                       "SELECT EXISTS(SELECT 1 FROM above WHERE level = ?2)",
    [SQL_OBJECT_ROOM] = "SELECT o.size, length(o.data), b.digest FROM object o "
                        "LEFT JOIN object b ON b.id = o.base WHERE o.digest = ?1",

    [SQL_ALL_META] = "SELECT key, value, sum FROM meta",
    [SQL_ALL_RUN_GRAPH] = "SELECT run, gen, graph, sum FROM run_graph",
    [SQL_ALL_TOMBSTONE] =
        "SELECT namespace, stream, first, last, count, before, after, time_ns, "
        "change, sum FROM tombstone",
    [SQL_ALL_ATTEMPT] =
        "SELECT run, gen, task, n, intent_ns, wait_ns, duration_ns, outcome, flags, "
        "exit_code, signal, cpu_us, peak_kib, out_bytes, err_bytes, out_head, "
        "err_head, out, err, outputs, text, start_turn, end_turn, checkpoint, sum "
        "FROM attempt",
    [SQL_ALL_EVENT] =
        "SELECT run, turn, n, time_ns, kind, argument, gen, task, data, sum FROM event",
    [SQL_ALL_COMMAND] = COMMAND_COLUMNS,
    [SQL_ALL_CLAIM] = CLAIM_COLUMNS,
    [SQL_ALL_SESSION] = SESSION_COLUMNS,
    [SQL_ALL_BRANCH] = BRANCH_COLUMNS,
    [SQL_ALL_ITEM] = ITEM_COLUMNS,

    [SQL_KEEP_META] =
        "INSERT OR IGNORE INTO meta SELECT ?1, ?2, ?3 WHERE true RETURNING 1",
    [SQL_KEEP_WORKFLOW] =
        "INSERT OR IGNORE INTO workflow SELECT ?1, ?2 WHERE true RETURNING 1",
    [SQL_KEEP_RUN] =
        "INSERT OR IGNORE INTO run SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20 WHERE "
        "EXISTS(SELECT 1 FROM workflow WHERE id = ?2) RETURNING 1",
    [SQL_KEEP_RUN_GRAPH] =
        "INSERT OR IGNORE INTO run_graph SELECT ?1, ?2, ?3, ?4 WHERE true "
        "RETURNING 1",
    [SQL_KEEP_OBJECT] =
        "INSERT OR IGNORE INTO object SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE true "
        "RETURNING 1",
    [SQL_KEEP_CHECKPOINT] =
        "INSERT OR IGNORE INTO checkpoint SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 "
        "WHERE true RETURNING 1",
    [SQL_KEEP_TOMBSTONE] =
        "INSERT OR IGNORE INTO tombstone SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
        "?9, ?10, ?11 WHERE NOT EXISTS(SELECT 1 FROM tombstone WHERE namespace = ?2 "
        "AND stream = ?3 AND first <= ?5 AND last >= ?4) RETURNING 1",
    [SQL_KEEP_QUARANTINE] =
        "INSERT OR IGNORE INTO quarantine SELECT ?1, ?2, ?3 WHERE true RETURNING "
        "1",
    [SQL_KEEP_ATTEMPT] =
        "INSERT OR IGNORE INTO attempt SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, "
        "?24, ?25 WHERE true RETURNING 1",
    [SQL_KEEP_COMMAND] =
        "INSERT OR IGNORE INTO command SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10 WHERE true RETURNING 1",
    [SQL_KEEP_CLAIM] =
        "INSERT OR IGNORE INTO claim SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10 WHERE true RETURNING 1",
    [SQL_KEEP_EVENT] =
        "INSERT OR IGNORE INTO event SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10 WHERE true RETURNING 1",
    [SQL_KEEP_SESSION] =
        "INSERT OR IGNORE INTO session SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10 WHERE true RETURNING 1",
    [SQL_KEEP_BRANCH] =
        "INSERT OR IGNORE INTO branch SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 "
        "WHERE true RETURNING 1",
    [SQL_KEEP_ITEM] = "INSERT OR IGNORE INTO item(session, kind, n, body, sum) "
                      "SELECT ?1, ?2, ?3, ?4, ?5 WHERE true RETURNING 1",
    [SQL_DROP_RUN] = "DELETE FROM run WHERE run = ?1",
    [SQL_DROP_STRAY_GRAPHS] =
        "DELETE FROM run_graph WHERE run NOT IN (SELECT run FROM run)",
    [SQL_OBJECT_ID] = "SELECT ifnull((SELECT id FROM object WHERE digest = ?1), 0)",
    [SQL_LAST_GEN] =
        "SELECT max(1, ifnull((SELECT max(gen) FROM attempt WHERE run = ?1), 0), "
        "ifnull((SELECT max(gen) FROM run_graph WHERE run = ?1), 0))",
    /* The runs of large tables are found by seeking through their keys. */
    [SQL_EACH_ORPHAN] =
        "WITH RECURSIVE " RUNS_SEEN ", "
        "c(run) AS (SELECT min(stream) FROM checkpoint WHERE namespace = 1 UNION ALL "
        "SELECT (SELECT min(stream) FROM checkpoint WHERE namespace = 1 "
        "AND stream > c.run) FROM c WHERE c.run IS NOT NULL) "
        "SELECT run FROM (SELECT run FROM a UNION SELECT run FROM e "
        "UNION SELECT run FROM claim UNION SELECT run FROM run_graph) l "
        "WHERE run > 0 " /* not EVENTS_OF_STORE */
        "AND NOT EXISTS(SELECT 1 FROM run r WHERE r.run = l.run) "
        "AND NOT EXISTS(SELECT 1 FROM tombstone t WHERE t.namespace = 1 "
        "AND t.stream = l.run) "
        "UNION SELECT run FROM c WHERE run IS NOT NULL "
        "AND NOT EXISTS(SELECT 1 FROM run r WHERE r.run = c.run) ORDER BY 1",
    [SQL_EACH_BARE_RUN] =
        "SELECT run FROM run r WHERE NOT EXISTS(SELECT 1 FROM checkpoint c "
        "WHERE c.namespace = 1 AND c.stream = r.run) "
        "AND NOT EXISTS(SELECT 1 FROM tombstone t WHERE t.namespace = 1 "
        "AND t.stream = r.run) "
        "AND (EXISTS(SELECT 1 FROM attempt a WHERE a.run = r.run) "
        "OR EXISTS(SELECT 1 FROM event e WHERE e.run = r.run)) ORDER BY run",
    /* Of each run the first one; only runs that were edited have earlier ones. */
    [SQL_EACH_LOST_GEN] =
        "SELECT run, g FROM (SELECT run, gen, CASE "
        "WHEN NOT EXISTS(SELECT 1 FROM run_graph x WHERE x.run = r.run AND x.gen = 1) "
        "THEN 1 ELSE (SELECT min(x.gen) + 1 FROM run_graph x WHERE x.run = r.run "
        "AND NOT EXISTS(SELECT 1 FROM run_graph y WHERE y.run = r.run "
        "AND y.gen = x.gen + 1)) END AS g FROM run r WHERE gen > 1) "
        "WHERE g < gen ORDER BY run",
    /* What a repair could not save is noted in quarantine. */
    [SQL_EACH_LOST_CHECKPOINT] =
        "SELECT DISTINCT a.run, a.checkpoint FROM attempt a "
        "WHERE a.checkpoint IS NOT NULL "
        "AND NOT EXISTS(SELECT 1 FROM checkpoint c WHERE c.seq = a.checkpoint "
        "AND c.namespace = 1 AND c.stream = a.run) "
        "AND NOT EXISTS(SELECT 1 FROM quarantine q WHERE q.seq = a.checkpoint) "
        "AND NOT EXISTS(SELECT 1 FROM tombstone t WHERE t.last >= a.checkpoint "
        "AND t.first <= a.checkpoint AND t.namespace = 1 AND t.stream = a.run) "
        "ORDER BY 2",
    [SQL_EACH_TAKEN_SEQ] =
        "SELECT seq, seq FROM checkpoint UNION ALL SELECT seq, seq FROM quarantine "
        "WHERE seq > 0 UNION ALL SELECT first, last FROM tombstone ORDER BY 1",
    [SQL_EACH_LOST_OBJECT] =
        "SELECT lower(hex(d)) FROM (SELECT out AS d FROM attempt "
        "UNION SELECT err FROM attempt UNION SELECT outputs FROM attempt "
        "UNION SELECT graph FROM run UNION SELECT graph FROM run_graph "
        "UNION SELECT object FROM message WHERE length(object) > 0 AND form <> 4) "
        "WHERE d IS NOT NULL "
        "AND NOT EXISTS(SELECT 1 FROM object o WHERE o.digest = d) "
        "AND NOT EXISTS(SELECT 1 FROM quarantine q WHERE q.seq < 0 "
        "AND q.reason = lower(hex(d)))",
    [SQL_EACH_LOG_LIST] = "SELECT run, flags, out, err FROM attempt WHERE flags & ?1",
    [SQL_PUT_KNOWN_LOSS] =
        "INSERT INTO quarantine(seq, time_ns, reason) "
        "SELECT min(0, (SELECT ifnull(min(seq), 0) FROM quarantine)) - 1, 0, ?1 "
        "WHERE NOT EXISTS(SELECT 1 FROM quarantine WHERE seq < 0 AND reason = ?1)",
    [SQL_IS_KNOWN_LOSS] =
        "SELECT EXISTS(SELECT 1 FROM quarantine WHERE seq < 0 AND reason = ?1)",
    [SQL_EACH_KNOWN_LOSS] = "SELECT reason FROM quarantine WHERE seq < 0",
    [SQL_WAS_QUARANTINED] = "SELECT EXISTS(SELECT 1 FROM quarantine WHERE seq = ?1)",

    [SQL_LAST_OBJECT] = "SELECT ifnull(max(id), 0) FROM object",
    [SQL_SPARE_OBJECT] = "INSERT OR IGNORE INTO spared(object) VALUES(?1)",
    [SQL_FORGET_SPARED] = "DELETE FROM spared",
    [SQL_EACH_OBJECT_SIZE] =
        "SELECT o.id, o.digest, length(o.data), ifnull(o.base, 0), b.digest "
        "FROM object o LEFT JOIN object b ON b.id = o.base "
        "WHERE o.id <= ?1 ORDER BY o.id DESC LIMIT ?2",
    [SQL_DELETE_OBJECT] =
        "DELETE FROM object WHERE id = ?1 AND digest = ?2 "
        "AND NOT EXISTS(SELECT 1 FROM spared WHERE object = ?1) "
        "AND NOT EXISTS(SELECT 1 FROM object WHERE base = ?1) RETURNING id",
    [SQL_EACH_GRAPH_USED] =
        "SELECT run, graph FROM run UNION ALL SELECT run, graph FROM run_graph",
    [SQL_EACH_ATTEMPT_USED] =
        "SELECT run, gen, task, n, out, err, outputs, ifnull(flags, 0) FROM attempt "
        "WHERE (run, gen, task, n) > (?1, ?2, ?3, ?4) "
        "ORDER BY run, gen, task, n LIMIT ?5",
    [SQL_HAS_NEW_FORK] =
        "SELECT EXISTS(SELECT 1 FROM run WHERE run > ?2 AND from_run = ?1)",
    [SQL_DELETE_RUN_GRAPHS] = "DELETE FROM run_graph WHERE run = ?1",
    [SQL_COUNT_RUN_ATTEMPTS] = "SELECT count(*) FROM attempt WHERE run = ?1",
    /* Rows of runs that were removed: whose checkpoints are deleted, and noted as such.
     * The runs of large tables are found by seeking through their keys. */
    [SQL_EACH_LEFTOVER] =
        "WITH RECURSIVE " RUNS_SEEN " "
        "SELECT run FROM (SELECT run FROM a UNION SELECT run FROM e "
        "UNION SELECT run FROM claim UNION SELECT run FROM command) l "
        "WHERE run IS NOT NULL "
        "AND NOT EXISTS(SELECT 1 FROM run r WHERE r.run = l.run) "
        "AND NOT EXISTS(SELECT 1 FROM checkpoint c WHERE c.namespace = 1 "
        "AND c.stream = l.run) "
        "AND EXISTS(SELECT 1 FROM tombstone t WHERE t.namespace = 1 "
        "AND t.stream = l.run)",
    [SQL_DELETE_ATTEMPTS] =
        "DELETE FROM attempt WHERE (run, gen, task, n) IN (SELECT run, gen, task, n "
        "FROM attempt WHERE run = ?1 ORDER BY gen, task, n LIMIT ?2) RETURNING 1",
    [SQL_DELETE_EVENTS] =
        "DELETE FROM event WHERE (run, turn, n) IN (SELECT run, turn, n "
        "FROM event WHERE run = ?1 ORDER BY turn, n LIMIT ?2) RETURNING 1",
    [SQL_DELETE_CLAIMS] =
        "DELETE FROM claim WHERE (run, gen, task) IN (SELECT run, gen, task "
        "FROM claim WHERE run = ?1 ORDER BY gen, task LIMIT ?2) RETURNING 1",
    [SQL_DELETE_COMMANDS] =
        "DELETE FROM command WHERE id IN (SELECT id FROM command WHERE run = ?1 "
        "ORDER BY id LIMIT ?2) RETURNING 1",

    /* ---- Logs, annotations and messages of sessions ---- */

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
    [SQL_SESSION_LOG_SUMS_SINCE] =
        "SELECT sum FROM session_log WHERE session = ?1 AND turn > ?2",
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
    [SQL_EACH_MESSAGE_USED] = "SELECT session, n, object FROM message "
                              "WHERE length(object) > 0 AND form <> 4",

    [SQL_GET_THREAD_STATE] =
        THREAD_STATE_COLUMNS "WHERE branch = ?1 AND space = ?2 AND id = ?3",
    [SQL_LAST_THREAD_STATE] = THREAD_STATE_COLUMNS OF_SPACE "ORDER BY id DESC LIMIT 1",
    [SQL_PUT_THREAD_STATE] = "INSERT OR REPLACE INTO thread_state(branch, space, id, "
                             "seq, writes) VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_DROP_THREAD_STATE] =
        "DELETE FROM thread_state WHERE branch = ?1 AND space = ?2 AND id = ?3",
    [SQL_DELETE_THREAD_STATES] = "DELETE FROM thread_state WHERE branch = ?1",
    [SQL_COUNT_THREAD_STATES] =
        "SELECT count(*) FROM thread_state WHERE branch = ?1 AND seq > 0",
    [SQL_EACH_THREAD_BRANCH] =
        "SELECT branch FROM thread_state UNION SELECT stream FROM checkpoint "
        "WHERE namespace = ?1 ORDER BY 1",
    [SQL_EACH_SPACE_STATE] = THREAD_STATE_COLUMNS OF_SPACE "ORDER BY id DESC LIMIT ?3",
    [SQL_EACH_SPACE_STATE_BELOW] =
        THREAD_STATE_COLUMNS OF_SPACE "AND id < ?4 ORDER BY id DESC LIMIT ?3",
    /* Of each space, which is found by one seek, only as many as are wanted. */
    [SQL_EACH_THREAD_STATE] =
        "WITH RECURSIVE spaces(space) AS (SELECT min(space) FROM thread_state WHERE "
        "branch = ?1 UNION ALL SELECT (SELECT min(space) FROM thread_state WHERE "
        "branch = ?1 AND space > s.space) FROM spaces s WHERE s.space IS NOT NULL) "
        "SELECT t.branch, t.space, t.id, t.seq, t.writes FROM spaces s "
        "CROSS JOIN thread_state t WHERE t.branch = ?1 AND t.space = s.space AND "
        "t.id IN (SELECT id FROM thread_state WHERE branch = ?1 AND space = s.space "
        "AND seq > 0 AND id <= ifnull(?4, (SELECT max(id) FROM thread_state WHERE "
        "branch = ?1 AND space = s.space)) " BELOW "ORDER BY id DESC LIMIT ?3) "
        "ORDER BY t.id DESC, t.space DESC LIMIT ?3",
    [SQL_EACH_STATE] =
        THREAD_STATE_COLUMNS "WHERE (?2 IS NULL OR space = ?2) AND seq > 0 " BELOW
                             "ORDER BY id DESC, branch DESC, space DESC LIMIT ?3",
    [SQL_ALL_THREAD_STATE] =
        THREAD_STATE_COLUMNS "WHERE branch = ?1 ORDER BY space, id",

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

    /* ---- The index of a search ---- */

    [SQL_INDEX_GET_META] = "SELECT value FROM meta WHERE key = ?1",
    [SQL_INDEX_PUT_META] = "INSERT OR REPLACE INTO meta(key, value) VALUES(?1, ?2)",
    [SQL_INDEX_ADD_PROJECT] = "INSERT OR IGNORE INTO project(path) VALUES(?1)",
    [SQL_INDEX_GET_PROJECT] = "SELECT id FROM project WHERE path = ?1",
    [SQL_INDEX_EACH_PROJECT] = "SELECT id, path FROM project ORDER BY id",
    [SQL_INDEX_GET_UNIT] = "SELECT id, stamp, open FROM unit WHERE name = ?1",
    [SQL_INDEX_ADD_UNIT] = "INSERT OR IGNORE INTO unit(name, stamp, open) "
                           "VALUES(?1, x'', 1)",
    [SQL_INDEX_SET_UNIT] = "UPDATE unit SET stamp = ?2, open = ?3 WHERE id = ?1",
    [SQL_INDEX_DROP_UNIT] = "DELETE FROM unit WHERE id = ?1",
    [SQL_INDEX_EACH_UNIT] = "SELECT id, name, stamp, open FROM unit ORDER BY name",
    [SQL_INDEX_EACH_KEY] = "SELECT id, key, hash FROM doc WHERE unit = ?1",
    [SQL_INDEX_GET_DOC] = "SELECT key, section, project, time_ns, hash, title, body "
                          "FROM doc WHERE id = ?1",
    [SQL_INDEX_PUT_DOC] =
        "INSERT INTO doc(unit, key, section, project, time_ns, hash, title, body) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
    [SQL_INDEX_DROP_DOC] = "DELETE FROM doc WHERE id = ?1",
    [SQL_INDEX_COUNT_DOCS] = "SELECT count(*) FROM doc",
    [SQL_INDEX_PUT_TAG] = "INSERT OR IGNORE INTO tag(tag, doc) VALUES(?1, ?2)",
    [SQL_INDEX_DROP_TAGS] = "DELETE FROM tag WHERE doc = ?1",
    [SQL_INDEX_EACH_TAGGED] = "SELECT doc FROM tag WHERE tag = ?1",
    [SQL_INDEX_PUT_WORDS] = "INSERT INTO words(rowid, title, body) VALUES(?1, ?2, ?3)",
    [SQL_INDEX_DROP_WORDS] = "INSERT INTO words(words, rowid, title, body) "
                             "VALUES('delete', ?1, ?2, ?3)",
    [SQL_INDEX_FIND_WORDS] = "SELECT cairn_phrases(words) FROM words "
                             "WHERE words MATCH ?1 LIMIT 1",
    [SQL_INDEX_MERGE_WORDS] = "INSERT INTO words(words) VALUES('optimize')",
    [SQL_INDEX_PUT_GRAMS] = "INSERT INTO grams(rowid, text) VALUES(?1, ?2)",
    [SQL_INDEX_DROP_GRAMS] =
        "INSERT INTO grams(grams, rowid, text) VALUES('delete', ?1, ?2)",
    [SQL_INDEX_FIND_GRAMS] = "SELECT cairn_phrases(grams) FROM grams "
                             "WHERE grams MATCH ?1 LIMIT 1",
    [SQL_INDEX_MERGE_GRAMS] = "INSERT INTO grams(grams) VALUES('optimize')",
    [SQL_INDEX_GET_VECTORS] = "SELECT data FROM vectors WHERE block = ?1",
    [SQL_INDEX_PUT_VECTORS] =
        "INSERT OR REPLACE INTO vectors(block, data) VALUES(?1, ?2)",
    [SQL_INDEX_EACH_VECTORS] = "SELECT block, data FROM vectors ORDER BY block",
    [SQL_INDEX_CLEAR_EMBEDDED] = "DELETE FROM embedded",
    [SQL_INDEX_CLEAR_EMBEDDINGS] = "DELETE FROM embedding",
    [SQL_INDEX_HAS_EMBEDDING] =
        "SELECT EXISTS(SELECT 1 FROM embedding WHERE text = ?1)",
    [SQL_INDEX_PUT_EMBEDDING] =
        "INSERT OR REPLACE INTO embedding(text, data) VALUES(?1, ?2)",
    [SQL_INDEX_PUT_EMBEDDED] =
        "INSERT OR REPLACE INTO embedded(doc, text) VALUES(?1, ?2)",
    [SQL_INDEX_EACH_EMBEDDED] = "SELECT e.doc, v.data FROM embedded e CROSS JOIN "
                                "embedding v WHERE v.text = e.text ORDER BY e.doc",
    [SQL_INDEX_DROP_EMBEDDING] =
        "DELETE FROM embedding WHERE text = (SELECT text FROM embedded WHERE doc = ?1) "
        "AND (SELECT count(*) FROM embedded e WHERE e.text = embedding.text) = 1",
    [SQL_INDEX_DROP_EMBEDDED] = "DELETE FROM embedded WHERE doc = ?1",

    /* ---- Rows, counted: a text, a key, and numbers (storage/rows_stats.h) ----
     */

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
        "WHEN a.outcome = 1 AND a.wait_ns IS NULL AND a.text GLOB 'reused from run *' "
        "THEN -4 "
        "WHEN a.outcome = 1 AND a.wait_ns IS NULL AND a.text GLOB 'put back from run "
        "*' "
        "THEN -5 ELSE ifnull(a.outcome, 0) END, " TIME_SUMS("a.duration_ns") ", " TOTAL(
            "a.cpu_us") ", " TOTAL("CASE WHEN a.wait_ns IS NULL AND a.text GLOB 'put "
                                   "back from run *' THEN CAST(substr(a.text, "
                                   "instr(a.text, '(') + 1) AS INTEGER) ELSE "
                                   "ifnull(a.out_bytes, 0) + ifnull(a.err_bytes, 0) "
                                   "END") " FROM attempt a JOIN run r ON r.run = "
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

const char *sql_text(enum sql_id id)
{
    assert((unsigned)id < SQL_COUNT && texts[id]);
    return texts[id];
}
