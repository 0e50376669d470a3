/* SPDX-License-Identifier: MIT */
/* What the store and the command say, read with a fresh handle each time. Damage is
 * done through SQLite, which must not transfer the log when it closes: cairn would
 * rightly miss it. */
#include "crash.h"

#include <jansson.h>
#include <sqlite3.h>

static int open_store(struct scenario *s, const char *dir, struct cairn_store **store)
{
    char path[DIR_SIZE + 16];
    struct cairn_error error = {0};
    struct cairn_store_options options = {.path = path, .read_only = true};
    snprintf(path, sizeof path, "%s/.cairn", dir);
    int code = cairn_store_open(store, &options, &error);
    check(s, code == 0 || code == CAIRN_ENOTFOUND, "the store cannot be opened: %s",
          error.text);
    return code;
}

struct reading {
    struct scenario *s;
    struct snapshot *snapshot;
    enum cairn_outcome *outcomes;
    uint64_t *seqs;
    uint32_t n;
};

static int note_task(void *context, const struct cairn_task_info *info)
{
    struct reading *reading = context;
    uint32_t task = workflow_find(&reading->s->w, info->id);
    if (!check(reading->s, task != UINT32_MAX, "unknown task %s", info->id))
        return 1;
    reading->snapshot->outcome[task] = info->outcome;
    reading->snapshot->attempts[task] = info->attempt;
    reading->snapshot->interrupted[task] = info->interrupted || info->running;
    return 0;
}

bool snapshot_take(struct scenario *s, const char *dir, struct snapshot *snapshot)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_run_info info;
    struct reading reading = {.s = s, .snapshot = snapshot};
    memset(snapshot, 0, sizeof *snapshot);
    int code = open_store(s, dir, &store);
    if (code)
        return code == CAIRN_ENOTFOUND;
    code = cairn_run_get(store, 0, &info, &error);
    snapshot->exists = code == 0;
    snapshot->run = code ? 0 : info.run;
    snapshot->state = code ? CAIRN_RUN_UNFINISHED : info.state;
    if (code == 0)
        code = cairn_run_tasks(store, info.run, note_task, &reading, &error);
    cairn_store_close(store);
    return check(s, code == 0 || code == CAIRN_ENOTFOUND, "cannot read the run: %s",
                 error.text);
}

static int note_outcome(void *context, const char *id, enum cairn_outcome outcome,
                        uint32_t attempts)
{
    struct reading *reading = context;
    uint32_t task = workflow_find(&reading->s->w, id);
    (void)attempts;
    if (!check(reading->s, task != UINT32_MAX, "unknown task %s", id))
        return 1;
    reading->outcomes[task] = outcome;
    return 0;
}

bool checkpoint_outcomes(struct scenario *s, const char *dir, uint64_t seq,
                         enum cairn_outcome *outcomes)
{
    char id[32];
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct reading reading = {.s = s, .outcomes = outcomes};
    if (open_store(s, dir, &store))
        return false;
    snprintf(id, sizeof id, "%llu", (unsigned long long)seq);
    int code = cairn_checkpoint_tasks(store, id, note_outcome, &reading, &error);
    cairn_store_close(store);
    return check(s, code == 0, "checkpoint %s: %s", id, error.text);
}

static int note_seq(void *context, const struct cairn_checkpoint_info *info)
{
    struct reading *reading = context;
    if (reading->n < SEQS_MAX)
        reading->seqs[reading->n++] = info->seq;
    return 0;
}

uint32_t checkpoint_seqs(struct scenario *s, const char *dir, uint64_t *seqs)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct reading reading = {.s = s, .seqs = seqs};
    struct cairn_checkpoint_filter filter = {.page = {.all = true}};
    if (open_store(s, dir, &store))
        return 0;
    int code = cairn_checkpoint_list(store, &filter, note_seq, &reading, NULL, &error);
    cairn_store_close(store);
    check(s, code == 0, "cannot list checkpoints: %s", error.text);
    return reading.n;
}

static bool flip(struct scenario *s, sqlite3 *db, uint64_t seq)
{
    sqlite3_blob *blob = NULL;
    uint8_t byte = 0;
    if (sqlite3_blob_open(db, "main", "checkpoint", "record", (sqlite3_int64)seq, 1,
                          &blob) != SQLITE_OK)
        return false;
    int at = (int)rng_below(&s->rng, (uint32_t)sqlite3_blob_bytes(blob));
    bool good = sqlite3_blob_read(blob, &byte, 1, at) == SQLITE_OK;
    byte ^= (uint8_t)(1 + rng_below(&s->rng, 255));
    good = good && sqlite3_blob_write(blob, &byte, 1, at) == SQLITE_OK;
    return sqlite3_blob_close(blob) == SQLITE_OK && good;
}

bool damage_record(struct scenario *s, const char *dir, uint64_t seq)
{
    char path[DIR_SIZE + 32];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", dir);
    bool good =
        sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK &&
        flip(s, db, seq);
    check(s, good, "cannot damage record %llu: %s", (unsigned long long)seq,
          sqlite3_errmsg(db));
    sqlite3_close(db);
    return good;
}

/* ---- JSON that the command printed ---- */

bool plan_read(struct scenario *s, const char *dir, const char *tag, uint8_t *planned,
               uint32_t *n)
{
    char *text = printed(dir, "out", tag);
    json_error_t error;
    json_t *root = text ? json_loads(text, 0, &error) : NULL;
    json_t *decisions = json_object_get(root, "decisions");
    bool good =
        check(s, json_is_array(decisions), "plan printed no plan (out.%s)", tag);
    memset(planned, 0, TASKS_MAX * sizeof *planned);
    *n = 0;
    for (size_t i = 0; good && i < json_array_size(decisions); i++) {
        json_t *one = json_array_get(decisions, i);
        const char *id = json_string_value(json_object_get(one, "task"));
        const char *will = json_string_value(json_object_get(one, "will"));
        uint32_t task = id ? workflow_find(&s->w, id) : UINT32_MAX;
        good = check(s, task != UINT32_MAX && will, "plan names an unknown task");
        if (good && strcmp(will, "will") == 0) {
            const char *reason = json_string_value(json_object_get(one, "reason"));
            planned[task] = reason && !strcmp(reason, "adopted") ? TAKEN_OVER : PLANNED;
            ++*n;
        } else if (good && strcmp(will, "may") == 0) {
            planned[task] = MAY_RUN;
        }
    }
    json_decref(root);
    free(text);
    return good;
}

static void note_event(struct scenario *s, const char *line, bool *reported)
{
    json_t *event = json_loads(line, 0, NULL);
    const char *type = json_string_value(json_object_get(event, "type"));
    const char *outcome = json_string_value(json_object_get(event, "outcome"));
    const char *id = json_string_value(json_object_get(event, "task"));
    if (type && outcome && id && strcmp(type, "task_finished") == 0 &&
        strcmp(outcome, "completed") == 0) {
        uint32_t task = workflow_find(&s->w, id);
        if (check(s, task != UINT32_MAX, "an event names an unknown task %s", id))
            reported[task] = true;
    }
    json_decref(event);
}

/* The last line may be cut by the kill: it is no report then. */
bool reported_read(struct scenario *s, const char *dir, const char *tag, bool *reported)
{
    char *text = printed(dir, "out", tag);
    memset(reported, 0, TASKS_MAX * sizeof *reported);
    char *line = text;
    for (char *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        note_event(s, line, reported);
    }
    free(text);
    return text != NULL;
}
