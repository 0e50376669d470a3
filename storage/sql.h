/* Every statement of the store by name; the texts are in sql.c, the tables in schema.c.
 * Parameters are numbered in the order in which the row functions bind them. */
#ifndef STORAGE_SQL_H
#define STORAGE_SQL_H

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
    SQL_QUICK_CHECK,
    SQL_COUNT_TABLES,
    SQL_PUT_META,
    SQL_GET_META,

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
    SQL_FIND_DIGEST,
    SQL_LAST_SEQ,
    SQL_SIZE_CHECKPOINTS,
    SQL_DELETE_CHECKPOINTS,
    SQL_PUT_TOMBSTONE,
    SQL_DELETE_TOMBSTONE,
    SQL_EACH_TOMBSTONE,
    SQL_PUT_QUARANTINE,

    SQL_GET_WORKFLOW_ID,
    SQL_GET_WORKFLOW_NAME,
    SQL_ADD_WORKFLOW,
    SQL_NEXT_RUN,
    SQL_ADD_RUN,
    SQL_SET_RUN,
    SQL_GET_RUN,
    SQL_GET_NEWEST_RUN,
    SQL_EACH_RUN_ASC,
    SQL_EACH_RUN_DESC,
    SQL_EACH_WORKFLOW_RUN_ASC,
    SQL_EACH_WORKFLOW_RUN_DESC,
    SQL_COUNT_RUNS,
    SQL_COUNT_WORKFLOW_RUNS,
    SQL_PUT_RUN_GRAPH,
    SQL_GET_RUN_GRAPH,

    SQL_PUT_INTENT,
    SQL_PUT_ATTEMPT,
    SQL_EACH_ATTEMPT,
    SQL_EACH_RUN_ATTEMPT,
    SQL_EACH_OPEN_ATTEMPT,

    SQL_PUT_COMMAND,
    SQL_NEXT_COMMAND,
    SQL_TAKE_COMMAND,
    SQL_HAS_COMMAND,

    SQL_HAS_OBJECT,
    SQL_PUT_OBJECT,
    SQL_GET_OBJECT,
    SQL_EACH_OBJECT,
    SQL_COUNT
};

const char *sql_text(enum sql_id id);

/* Settings of a connection, for db_script. */
extern const char sql_settings[];
extern const char sql_settings_writer[];
extern const char sql_sync_full[], sql_sync_normal[], sql_sync_off[], sql_sync_extra[];

#endif
