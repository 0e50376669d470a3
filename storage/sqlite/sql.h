/* SPDX-License-Identifier: MIT */
/* Every statement of the store by name; the texts are in sql.c, the tables in
 * storage/schema.c. Parameters are numbered in the order in which the row functions
 * bind them. */
#ifndef STORAGE_SQLITE_SQL_H
#define STORAGE_SQLITE_SQL_H

enum sql_id {
    SQL_BEGIN_WRITE,
    SQL_BEGIN_READ,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_JOURNAL_WAL,
    SQL_JOURNAL_DELETE,
    SQL_GET_APPLICATION_ID,
    SQL_GET_USER_VERSION,
    SQL_GET_DATA_VERSION,
    SQL_CHECK_PAGES,
    SQL_PAGE_SIZE,
    SQL_PAGE_COUNT,
    SQL_FREE_PAGES,
    SQL_COUNT_TABLES,
    SQL_PUT_META,
    SQL_GET_META,
    SQL_META_BESIDE,
    SQL_SET_META,
    SQL_DELETE_META,
    SQL_DELETE_META_RANGE,
    SQL_EACH_SCHEMA,

    SQL_NEXT_SEQ,
    SQL_PUT_CHECKPOINT,
    SQL_GET_CHECKPOINT,
    SQL_EACH_CHECKPOINT_ASC,
    SQL_EACH_CHECKPOINT_DESC,
    SQL_EACH_STREAM_ASC,
    SQL_EACH_STREAM_DESC,
    SQL_EACH_WORKFLOW_ASC,
    SQL_EACH_WORKFLOW_DESC,
    SQL_COUNT_CHECKPOINTS,
    SQL_COUNT_STREAM,
    SQL_COUNT_WORKFLOW,
    SQL_EACH_SESSION_CHECKPOINT_ASC,
    SQL_EACH_SESSION_CHECKPOINT_DESC,
    SQL_COUNT_SESSION_CHECKPOINTS,
    SQL_FIND_DIGEST,
    SQL_LAST_SEQ,
    SQL_SIZE_CHECKPOINTS,
    SQL_DELETE_CHECKPOINTS,
    SQL_SET_PARENT,
    SQL_PUT_TOMBSTONE,
    SQL_DELETE_TOMBSTONE,
    SQL_EACH_TOMBSTONE,
    SQL_EACH_TOMBSTONE_OF,
    SQL_EACH_TOMBSTONE_WITHIN,
    SQL_GET_TOMBSTONE,
    SQL_HAS_TOMBSTONE_BEHIND,
    SQL_PUT_QUARANTINE,

    SQL_GET_WORKFLOW_ID,
    SQL_GET_WORKFLOW_NAME,
    SQL_ADD_WORKFLOW,
    SQL_NEXT_RUN,
    SQL_NAMED_SEQ,
    SQL_GET_RUN_WORKFLOW,
    SQL_ADD_RUN,
    SQL_SET_RUN,
    SQL_GET_RUN,
    SQL_GET_NEWEST_RUN,
    SQL_GET_RUN_SUM_SIZE,
    SQL_EACH_RUN_ASC,
    SQL_EACH_RUN_DESC,
    SQL_EACH_WORKFLOW_RUN_ASC,
    SQL_EACH_WORKFLOW_RUN_DESC,
    SQL_COUNT_RUNS,
    SQL_COUNT_WORKFLOW_RUNS,
    SQL_EACH_INSIDE,
    SQL_EACH_RUN_PARENT,
    SQL_EACH_UNFINISHED,
    SQL_PUT_RUN_GRAPH,
    SQL_GET_RUN_GRAPH,

    SQL_PUT_INTENT,
    SQL_PUT_ATTEMPT,
    SQL_EACH_ATTEMPT,
    SQL_EACH_RUN_ATTEMPT,
    SQL_EACH_OPEN_ATTEMPT,
    SQL_EACH_NEW_ATTEMPT,
    SQL_GET_ATTEMPT,
    SQL_ATTEMPT_TURN,

    SQL_NEXT_COMMAND_ID,
    SQL_PUT_COMMAND,
    SQL_NEXT_COMMAND,
    SQL_TAKE_COMMAND,
    SQL_WAITING_COMMAND,
    SQL_COMMAND_TAKEN,

    SQL_PUT_CLAIM,
    SQL_DROP_CLAIM,
    SQL_EACH_CLAIM,

    SQL_NEXT_EVENT,
    SQL_PUT_EVENT,
    SQL_EACH_EVENT,
    SQL_GET_EVENT,
    SQL_EVENT_TURN,

    /* storage/sessions/ */
    SQL_WAS_REMOVED,
    SQL_LAST_SESSION,
    SQL_ADD_SESSION,
    SQL_SET_SESSION,
    SQL_GET_SESSION,
    SQL_FIND_SESSION,
    SQL_EACH_SESSION_ASC,
    SQL_EACH_SESSION_DESC,
    SQL_COUNT_SESSIONS,
    SQL_EACH_LOST_SESSION,
    SQL_LAST_BRANCH,
    SQL_ADD_BRANCH,
    SQL_SET_BRANCH,
    SQL_GET_BRANCH,
    SQL_FIND_BRANCH,
    SQL_EACH_BRANCH,
    SQL_EACH_LOST_BRANCH,
    SQL_BRANCH_SUM,
    SQL_BRANCH_SUMS,
    SQL_PUT_ITEM,
    SQL_DROP_ITEM,
    SQL_EACH_ITEM,
    SQL_ITEM_BEFORE,
    SQL_ITEM_SUM,
    SQL_ITEM_SUMS,
    SQL_PUT_SESSION_LOG,
    SQL_EACH_SESSION_LOG_ASC,
    SQL_EACH_SESSION_LOG_DESC,
    SQL_SESSION_LOG_BELOW,
    SQL_SESSION_LOG_ABOVE,
    SQL_LAST_SESSION_LOG,
    SQL_FIRST_SESSION_LOG,
    SQL_SESSION_LOG_SUMS,
    SQL_PUT_ANNOTATION,
    SQL_DROP_ANNOTATION,
    SQL_DROP_ANNOTATIONS,
    SQL_EACH_ANNOTATION,
    SQL_ANNOTATION_BEFORE,
    SQL_ANNOTATION_SUM,
    SQL_ANNOTATION_SUMS,
    SQL_DROPPED_ANNOTATION_SUMS,
    SQL_EACH_TALLIED,
    SQL_PUT_MESSAGE,
    SQL_GET_MESSAGE,
    SQL_EACH_MESSAGE,
    SQL_FIND_MESSAGE,
    SQL_LAST_MESSAGE,
    SQL_MESSAGE_AT,
    SQL_MESSAGE_SUMS,
    SQL_EACH_MESSAGE_SESSION,
    SQL_EACH_MESSAGE_USED,

    SQL_PUT_OBJECT,
    SQL_MEND_OBJECT,
    SQL_GET_OBJECT,
    SQL_NTH_OBJECT,
    SQL_EACH_OBJECT,
    SQL_BASE_OF_OBJECT,
    SQL_OBJECT_ROOM,

    /* row_checksum.c: every row, in all of its columns */
    SQL_ALL_META,
    SQL_ALL_RUN_GRAPH,
    SQL_ALL_TOMBSTONE,
    SQL_ALL_ATTEMPT,
    SQL_ALL_EVENT,
    SQL_ALL_COMMAND,
    SQL_ALL_CLAIM,
    SQL_ALL_SESSION,
    SQL_ALL_BRANCH,
    SQL_ALL_ITEM,
    SQL_ALL_SESSION_LOG,
    SQL_ALL_ANNOTATION,
    SQL_ALL_MESSAGE,

    /* rescue.c, in the order of enum salvage_table: keep a row unless there is one */
    SQL_KEEP_META,
    SQL_KEEP_WORKFLOW,
    SQL_KEEP_RUN,
    SQL_KEEP_RUN_GRAPH,
    SQL_KEEP_OBJECT,
    SQL_KEEP_CHECKPOINT,
    SQL_KEEP_TOMBSTONE,
    SQL_KEEP_QUARANTINE,
    SQL_KEEP_ATTEMPT,
    SQL_KEEP_COMMAND,
    SQL_KEEP_CLAIM,
    SQL_KEEP_EVENT,
    SQL_KEEP_SESSION,
    SQL_KEEP_BRANCH,
    SQL_KEEP_ITEM,
    SQL_KEEP_SESSION_LOG,
    SQL_KEEP_ANNOTATION,
    SQL_KEEP_MESSAGE,
    SQL_DROP_RUN,
    SQL_DROP_STRAY_GRAPHS,
    SQL_HAS_OBJECT,
    SQL_LAST_GEN,
    SQL_EACH_ORPHAN,
    SQL_EACH_BARE_RUN,
    SQL_EACH_LOST_GEN,
    SQL_EACH_LOST_CHECKPOINT,
    SQL_EACH_LOST_OBJECT,
    SQL_EACH_TAKEN_SEQ,
    SQL_PUT_KNOWN_LOSS,
    SQL_IS_KNOWN_LOSS,
    SQL_WAS_QUARANTINED,

    /* rows_gc.c */
    SQL_LAST_OBJECT,
    SQL_SPARE_OBJECT,
    SQL_FORGET_SPARED,
    SQL_EACH_OBJECT_SIZE,
    SQL_DELETE_OBJECT,
    SQL_EACH_GRAPH_USED,
    SQL_EACH_ATTEMPT_USED,
    SQL_HAS_NEW_FORK,
    SQL_DELETE_RUN_GRAPHS,
    SQL_COUNT_RUN_ATTEMPTS,
    SQL_EACH_LEFTOVER,
    SQL_DELETE_ATTEMPTS,
    SQL_DELETE_EVENTS,
    SQL_DELETE_CLAIMS,
    SQL_DELETE_COMMANDS,
    SQL_STAT_CONTENTS,
    SQL_STAT_RUNS,
    SQL_STAT_RUN_STARTS,
    SQL_STAT_RUN_TIMES,
    SQL_STAT_ATTEMPTS,
    SQL_STAT_CHECKPOINTS,
    SQL_STAT_DELETED,
    SQL_STAT_QUARANTINED,
    SQL_STAT_EVENTS,
    SQL_STAT_SESSIONS,
    SQL_STAT_ITEMS,
    SQL_STAT_SESSION_LOG,
    SQL_STAT_MESSAGES,
    SQL_COUNT
};

/* The columns that a statement reads, in their order: sql.c makes its text from them,
 * and the rows their indexes, so that the two always agree. */
/* clang-format off */
#define ATTEMPT_READ(FIRST, NEXT) \
    FIRST(RUN, run) NEXT(GEN, gen) NEXT(TASK, task) NEXT(N, n) \
    NEXT(INTENT_NS, intent_ns) NEXT(WAIT_NS, wait_ns) \
    NEXT(DURATION_NS, duration_ns) NEXT(OUTCOME, outcome) NEXT(FLAGS, flags) \
    NEXT(EXIT_CODE, exit_code) NEXT(SIGNAL, signal) NEXT(CPU_US, cpu_us) \
    NEXT(PEAK_KIB, peak_kib) NEXT(OUT_BYTES, out_bytes) \
    NEXT(ERR_BYTES, err_bytes) NEXT(OUT_HEAD, out_head) \
    NEXT(ERR_HEAD, err_head) NEXT(OUT, out) NEXT(ERR, err) \
    NEXT(OUTPUTS, outputs) NEXT(TEXT, text) NEXT(START_TURN, start_turn) \
    NEXT(END_TURN, end_turn) NEXT(CHECKPOINT, checkpoint)
#define RUN_READ(FIRST, NEXT) \
    FIRST(RUN, r.run) NEXT(WORKFLOW, r.workflow) NEXT(NAME, w.name) \
    NEXT(PARAMS, r.params) NEXT(PARAMS_TEXT, r.params_text) NEXT(FILE, r.file) \
    NEXT(GEN, r.gen) NEXT(GRAPH, r.graph) NEXT(TASKS, r.tasks) \
    NEXT(STATE, r.state) NEXT(STARTED_NS, r.started_ns) \
    NEXT(ENDED_NS, r.ended_ns) NEXT(FROM_RUN, r.from_run) \
    NEXT(FROM_SEQ, r.from_seq) NEXT(OWNER_PID, r.owner_pid) \
    NEXT(OWNER_START, r.owner_start) NEXT(OWNER_HOST, r.owner_host) \
    NEXT(OWNER_BOOT, r.owner_boot) NEXT(OWNER_SINCE_NS, r.owner_since_ns) \
    NEXT(UNSAVED, r.unsaved) NEXT(SUM, r.sum)
#define CHECKPOINT_READ(FIRST, NEXT) \
    FIRST(SEQ, seq) NEXT(NAMESPACE, namespace) NEXT(STREAM, stream) \
    NEXT(PARENT, parent) NEXT(TIME_NS, time_ns) NEXT(KIND, kind) \
    NEXT(RECORD, record) NEXT(DIGEST, digest)
#define TOMBSTONE_READ(FIRST, NEXT) \
    FIRST(ID, id) NEXT(NAMESPACE, namespace) NEXT(STREAM, stream) \
    NEXT(FIRST_SEQ, first) NEXT(LAST_SEQ, last) NEXT(COUNT, count) NEXT(BEFORE, before) \
    NEXT(AFTER, after) NEXT(TIME_NS, time_ns) \
    NEXT(CHANGE_BYTES, ifnull(length(change), 0))
#define COMMAND_READ(FIRST, NEXT) \
    FIRST(ID, id) NEXT(RUN, run) NEXT(VERB, verb) NEXT(TIME_NS, time_ns) \
    NEXT(TAKEN, taken) NEXT(ARGUMENT, argument) NEXT(GEN, gen) NEXT(TASK, task) \
    NEXT(DATA, data) NEXT(SUM, sum)
#define CLAIM_READ(FIRST, NEXT) \
    FIRST(RUN, run) NEXT(GEN, gen) NEXT(TASK, task) NEXT(TOKEN, token) \
    NEXT(HOLDER, holder) NEXT(BOOT, boot) NEXT(UNTIL_BOOT_NS, until_boot_ns) \
    NEXT(TIME_NS, time_ns) NEXT(SPENT, spent) NEXT(SUM, sum)
#define EVENT_READ(FIRST, NEXT) \
    FIRST(RUN, run) NEXT(TURN, turn) NEXT(N, n) NEXT(TIME_NS, time_ns) \
    NEXT(KIND, kind) NEXT(ARGUMENT, argument) NEXT(GEN, gen) NEXT(TASK, task) \
    NEXT(DATA, data)
#define SESSION_READ(FIRST, NEXT) \
    FIRST(SESSION, session) NEXT(NAME, name) NEXT(STARTED_NS, started_ns) \
    NEXT(STARTED_BOOT_NS, started_boot_ns) NEXT(BOOT, boot) \
    NEXT(ENDED_NS, ended_ns) NEXT(BRANCH, branch) NEXT(NUMBERS, numbers) \
    NEXT(SETTINGS, settings) NEXT(SUM, sum)
#define BRANCH_READ(FIRST, NEXT) \
    FIRST(BRANCH, branch) NEXT(SESSION, session) NEXT(NAME, name) \
    NEXT(STATUS, status) NEXT(FROM_SEQ, from_seq) NEXT(STARTED_NS, started_ns) \
    NEXT(REASON, reason) NEXT(SUM, sum)
#define ITEM_READ(FIRST, NEXT) \
    FIRST(SESSION, session) NEXT(KIND, kind) NEXT(N, n) NEXT(BODY, body) NEXT(SUM, sum)
#define SESSION_LOG_READ(FIRST, NEXT) \
    FIRST(SESSION, session) NEXT(TURN, turn) NEXT(N, n) NEXT(TIME_NS, time_ns) \
    NEXT(VERB, verb) NEXT(KIND, kind) NEXT(NUMBER, number) NEXT(BEFORE, before) \
    NEXT(AFTER, after) NEXT(SUM, sum)
#define ANNOTATION_READ(FIRST, NEXT) \
    FIRST(SEQ, seq) NEXT(N, n) NEXT(TIME_NS, time_ns) NEXT(KIND, kind) \
    NEXT(SEVERITY, severity) NEXT(TEXT, text) NEXT(SUM, sum)
#define MESSAGE_READ(FIRST, NEXT) \
    FIRST(SESSION, session) NEXT(N, n) NEXT(PARENT, parent) NEXT(POSITION, position) \
    NEXT(TIME_NS, time_ns) NEXT(ROLE, role) NEXT(FORM, form) \
    NEXT(TOKENS_IN, tokens_in) NEXT(TOKENS_OUT, tokens_out) \
    NEXT(TOTAL_IN, total_in) NEXT(TOTAL_OUT, total_out) NEXT(PROMPT, prompt) \
    NEXT(REPLY, reply) NEXT(SIZE, size) NEXT(MODEL, model) NEXT(FILE, file) \
    NEXT(ORIGIN, origin) NEXT(OBJECT, object) NEXT(BODY, body) NEXT(CHAIN, chain) \
    NEXT(SUM, sum)
/* clang-format on */
#define ATTEMPT_INDEX(name, column) ATTEMPT_##name##_AT,
#define RUN_INDEX(name, column) RUN_##name##_AT,
#define CHECKPOINT_INDEX(name, column) CHECKPOINT_##name##_AT,
#define TOMBSTONE_INDEX(name, column) TOMBSTONE_##name##_AT,
#define COMMAND_INDEX(name, column) COMMAND_##name##_AT,
#define CLAIM_INDEX(name, column) CLAIM_##name##_AT,
#define EVENT_INDEX(name, column) EVENT_##name##_AT,
#define SESSION_INDEX(name, column) SESSION_##name##_AT,
#define BRANCH_INDEX(name, column) BRANCH_##name##_AT,
#define ITEM_INDEX(name, column) ITEM_##name##_AT,
#define SESSION_LOG_INDEX(name, column) SESSION_LOG_##name##_AT,
#define ANNOTATION_INDEX(name, column) ANNOTATION_##name##_AT,
#define MESSAGE_INDEX(name, column) MESSAGE_##name##_AT,
enum attempt_column { ATTEMPT_READ(ATTEMPT_INDEX, ATTEMPT_INDEX) ATTEMPT_COLUMNS_READ };
enum run_column { RUN_READ(RUN_INDEX, RUN_INDEX) RUN_COLUMNS_READ };
enum checkpoint_column {
    CHECKPOINT_READ(CHECKPOINT_INDEX, CHECKPOINT_INDEX) CHECKPOINT_COLUMNS_READ
};
enum tombstone_column {
    TOMBSTONE_READ(TOMBSTONE_INDEX, TOMBSTONE_INDEX) TOMBSTONE_COLUMNS_READ
};
enum command_column { COMMAND_READ(COMMAND_INDEX, COMMAND_INDEX) COMMAND_COLUMNS_READ };
enum claim_column { CLAIM_READ(CLAIM_INDEX, CLAIM_INDEX) CLAIM_COLUMNS_READ };
enum event_column { EVENT_READ(EVENT_INDEX, EVENT_INDEX) EVENT_COLUMNS_READ };
enum session_column { SESSION_READ(SESSION_INDEX, SESSION_INDEX) SESSION_COLUMNS_READ };
enum branch_column { BRANCH_READ(BRANCH_INDEX, BRANCH_INDEX) BRANCH_COLUMNS_READ };
enum item_column { ITEM_READ(ITEM_INDEX, ITEM_INDEX) ITEM_COLUMNS_READ };
enum session_log_column {
    SESSION_LOG_READ(SESSION_LOG_INDEX, SESSION_LOG_INDEX) SESSION_LOG_COLUMNS_READ
};
enum annotation_column {
    ANNOTATION_READ(ANNOTATION_INDEX, ANNOTATION_INDEX) ANNOTATION_COLUMNS_READ
};
enum message_column { MESSAGE_READ(MESSAGE_INDEX, MESSAGE_INDEX) MESSAGE_COLUMNS_READ };

const char *sql_text(enum sql_id id);

/* Settings of a connection, for db_script. */
extern const char sql_settings[];
extern const char sql_settings_writer[];
extern const char sql_sync_full[], sql_sync_normal[], sql_sync_off[], sql_sync_extra[];
extern const char sql_defer_references[]; /* until the transaction ends */

#endif
