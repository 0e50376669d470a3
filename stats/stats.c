/* SPDX-License-Identifier: MIT */
/* Figures of a store, from rows that are counted by what they have in common. */
#include "cairn/maintenance.h"

#include "base/error.h"
#include "base/memory.h"
#include "cairn/checkpoint.h"
#include "cairn/outcome.h"
#include "session/board/item.h"
#include "session/names.h"
#include "snapshot/snapshot.h"
#include "stats/stats_int.h"
#include "storage/object.h"
#include "storage/rows_event.h"
#include "storage/rows_files.h"
#include "storage/store.h"

#include <stdlib.h>
#include <sys/stat.h>

/* What the key of a row is called. NULL: this family does not tell such a row. */
typedef const char *name_fn(const struct stat_row *row);

/* A family of figures: of which rows, how they are labelled, and which number of them
 * it is. */
struct family {
    const char *family, *help;
    enum store_stat rows;
    const char *text_label; /* NULL: the text is not a label */
    const char *key_label;  /* NULL: none */
    name_fn *name;
    const double *bounds; /* of a histogram; NULL: a value */
    uint32_t n_bounds;
    uint8_t number;
    double divisor; /* of the number, and of a histogram's sum; 0: 1 */
};

static const char *run_state(const struct stat_row *row)
{
    return cairn_run_state_name((enum cairn_run_state)row->key);
}

static const char *attempt_end(const struct stat_row *row)
{
    switch (row->key) {
    case END_OPEN:
    case END_REUSED:
    case END_PUT_BACK:
        return NULL;
    case END_TIMED_OUT:
        return "timed-out";
    case END_INTERRUPTED:
        return "interrupted";
    }
    return cairn_outcome_name((enum cairn_outcome)row->key);
}

/* When an interrupted one ended is not known. */
static const char *attempt_known_end(const struct stat_row *row)
{
    return row->key == END_INTERRUPTED ? NULL : attempt_end(row);
}

static const char *attempt_interrupted(const struct stat_row *row)
{
    return row->key == END_INTERRUPTED ? "interrupted" : NULL;
}

static const char *attempt_reused(const struct stat_row *row)
{
    return row->key == END_REUSED ? "reused" : NULL;
}

static const char *attempt_put_back(const struct stat_row *row)
{
    return row->key == END_PUT_BACK ? "put-back" : NULL;
}

static const char *attempt_open(const struct stat_row *row)
{
    return row->key == END_OPEN ? "open" : NULL;
}

static const char *start(const struct stat_row *row)
{
    return str_equal(row->text, STR("new"))     ? "new"
           : str_equal(row->text, STR("goes"))  ? "resumed"
           : str_equal(row->text, STR("forks")) ? "forked"
                                                : "unknown";
}

static const char *namespace_name(const struct stat_row *row)
{
    return row->key == CAIRN_NAMESPACE_WORKFLOW ? "workflow"
           : row->key == CAIRN_NAMESPACE_DEBUG  ? "debug"
                                                : "unknown";
}

static const char *maintenance(const struct stat_row *row)
{
    switch (row->key) {
    case EVENT_DELETED:
        return "delete";
    case EVENT_PRUNED:
        return "prune";
    case EVENT_COLLECTED:
        return "gc";
    case EVENT_REPAIRED:
        return "repair";
    }
    return NULL;
}

static const char *trouble(const struct stat_row *row)
{
    return row->key == EVENT_DEGRADED    ? "degraded"
           : row->key == EVENT_RECOVERED ? "recovered"
                                         : NULL;
}

static const char *session_state(const struct stat_row *row)
{
    return row->key ? "ended" : "open";
}

static const char *item_kind(const struct stat_row *row)
{
    const struct item_kind_info *info = item_kind_info((uint8_t)row->key);
    return info ? info->name : "unknown";
}

static const char *role(const struct stat_row *row)
{
    return message_role_name((uint8_t)row->key);
}

/* The text of a checkpoint's row is its trigger. */
static const char *checkpoint_made(const struct stat_row *row)
{
    return row->text.len ? "checkpoint" : NULL;
}

static const char *verb(const struct stat_row *row)
{
    return row->text.len ? NULL : session_verb_name((uint8_t)row->key, true);
}

static const char *anything(const struct stat_row *row)
{
    (void)row;
    return "";
}

#define TIMES .bounds = stat_times, .n_bounds = STAT_TIMES, .divisor = 1e9
#define SIZES .bounds = stat_sizes, .n_bounds = STAT_SIZES
enum { AFTER_TIMES = 2 + STAT_TIMES };

/* In the order in which they are told. */
static const struct family families[] = {
    {.family = "contents",
     .help = "contents in the pool, each once",
     .rows = STAT_CONTENTS,
     .name = anything},
    {.family = "content_bytes",
     .help = "bytes of these contents",
     .rows = STAT_CONTENTS,
     .name = anything,
     .number = 1},
    {.family = "content_stored_bytes",
     .help = "bytes that these contents take, compressed",
     .rows = STAT_CONTENTS,
     .name = anything,
     .number = 2},
    {.family = "runs",
     .help = "runs, by workflow and state; unfinished ones are running or interrupted",
     .rows = STAT_RUNS,
     .text_label = "workflow",
     .key_label = "state",
     .name = run_state},
    {.family = "run_starts",
     .help = "how often a run was begun, resumed or forked",
     .rows = STAT_RUN_STARTS,
     .key_label = "how",
     .name = start},
    {.family = "run_seconds",
     .help = "runs that have ended, by the time since they began",
     .rows = STAT_RUN_TIMES,
     .text_label = "workflow",
     .name = anything,
     TIMES},
    {.family = "attempts_open",
     .help = "attempts of tasks that have not ended",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .name = attempt_open},
    {.family = "attempts_interrupted",
     .help = "attempts of tasks that were interrupted: how long they took is not known",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .name = attempt_interrupted},
    {.family = "tasks_reused",
     .help = "tasks that were done by an earlier run",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .name = attempt_reused},
    {.family = "tasks_put_back",
     .help = "tasks that an earlier run had done, and whose outputs were put back",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .name = attempt_put_back},
    {.family = "put_back_bytes",
     .help = "bytes of these outputs",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .name = attempt_put_back,
     .number = AFTER_TIMES + 1},
    {.family = "attempt_seconds",
     .help = "attempts of tasks that have ended, by how long they took",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .key_label = "end",
     .name = attempt_known_end,
     TIMES},
    {.family = "attempt_cpu_seconds",
     .help = "processor time of attempts of tasks",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .key_label = "end",
     .name = attempt_end,
     .number = AFTER_TIMES,
     .divisor = 1e6},
    {.family = "attempt_output_bytes",
     .help = "what attempts of tasks wrote, kept or not",
     .rows = STAT_ATTEMPTS,
     .text_label = "workflow",
     .key_label = "end",
     .name = attempt_end,
     .number = AFTER_TIMES + 1},
    {.family = "attempt_wait_seconds",
     .help = "attempts of tasks that have begun, by how long that took since it was "
             "decided",
     .rows = STAT_WAITS,
     .text_label = "workflow",
     .name = anything,
     TIMES},
    {.family = "save_troubles",
     .help = "how often checkpoints could not be saved, and could again",
     .rows = STAT_EVENTS,
     .key_label = "what",
     .name = trouble},
    {.family = "maintenance",
     .help = "how often somebody deleted, pruned, collected or repaired",
     .rows = STAT_EVENTS,
     .key_label = "what",
     .name = maintenance},
    {.family = "checkpoint_bytes",
     .help = "records of checkpoints, by their size",
     .rows = STAT_CHECKPOINTS,
     .key_label = "namespace",
     .name = namespace_name,
     SIZES},
    {.family = "checkpoints_deleted",
     .help = "checkpoints that were deleted or pruned",
     .rows = STAT_DELETED,
     .key_label = "namespace",
     .name = namespace_name},
    {.family = "checkpoints_quarantined",
     .help = "checkpoints that a repair found damaged",
     .rows = STAT_QUARANTINED,
     .name = anything},
    {.family = "sessions",
     .help = "debugging sessions",
     .rows = STAT_SESSIONS,
     .key_label = "state",
     .name = session_state},
    {.family = "session_seconds",
     .help = "sessions that have ended, by the time since they began",
     .rows = STAT_SESSION_TIMES,
     .name = anything,
     TIMES},
    {.family = "session_checkpoints_made",
     .help = "checkpoints that sessions made, by what made them; deleted ones count",
     .rows = STAT_SESSION_LOG,
     .text_label = "trigger",
     .name = checkpoint_made},
    {.family = "session_actions",
     .help = "what was done in sessions, but for checkpoints and messages",
     .rows = STAT_SESSION_LOG,
     .key_label = "what",
     .name = verb},
    {.family = "board_items",
     .help = "items on the boards of sessions",
     .rows = STAT_ITEMS,
     .key_label = "kind",
     .name = item_kind},
    {.family = "messages",
     .help = "messages of sessions",
     .rows = STAT_MESSAGES,
     .key_label = "role",
     .name = role},
    {.family = "message_tokens_in",
     .help = "tokens that these messages say they took",
     .rows = STAT_MESSAGES,
     .key_label = "role",
     .name = role,
     .number = 1},
    {.family = "message_tokens_out",
     .help = "tokens that these messages say they made",
     .rows = STAT_MESSAGES,
     .key_label = "role",
     .name = role,
     .number = 2},
    {.family = "message_bytes",
     .help = "bytes of these messages",
     .rows = STAT_MESSAGES,
     .key_label = "role",
     .name = role,
     .number = 3},
};

static double scaled(const struct family *family, uint64_t number)
{
    return family->divisor > 0 ? (double)number / family->divisor : (double)number;
}

static int tell_row(struct counting *c, const struct stat_row *row, const char *name)
{
    const struct family *family = c->family;
    struct cairn_stat_buckets buckets = {.bounds = family->bounds,
                                         .counts = row->numbers + 2,
                                         .n = family->n_bounds,
                                         .count = row->numbers[0],
                                         .sum = scaled(family, row->numbers[1])};
    struct cairn_stat stat = {.family = family->family, .help = family->help};
    if (family->text_label)
        stat.labels[stat.n_labels++] =
            (struct cairn_stat_label){family->text_label, row->text.ptr};
    if (family->key_label)
        stat.labels[stat.n_labels++] =
            (struct cairn_stat_label){family->key_label, name};
    if (family->bounds)
        stat.buckets = &buckets;
    else
        stat.value = scaled(family, row->numbers[family->number]);
    return stats_tell(c, &stat);
}

static int add_row(void *context, const struct stat_row *row)
{
    struct counting *c = context;
    struct stat_row *rows = array_room(c->rows, c->n, &c->room, sizeof *rows);
    if (!rows)
        return error_nomem(c->error);
    c->rows = rows;
    rows[c->n] = *row;
    rows[c->n++].text = arena_str(&c->texts, row->text);
    return c->texts.failed ? error_nomem(c->error) : 0;
}

/* Families of the same rows stand side by side, so that these are read once. */
static int tell_family(struct counting *c, const struct family *family)
{
    int rc = 0;
    if (c->rows_of != family->rows) {
        c->n = 0;
        c->rows_of = family->rows;
        rc = store_each_stat(c->store, family->rows, add_row, c, c->error);
    }
    c->family = family;
    for (size_t i = 0; i < c->n && !rc; i++) {
        const char *name = family->name(&c->rows[i]);
        rc = name ? tell_row(c, &c->rows[i], name) : 0;
    }
    return rc;
}

static int tell_bytes(struct counting *c)
{
    uint64_t bytes, free_bytes;
    struct cairn_stat stat = {.family = "store_bytes",
                              .help = "size of the database, in use and free",
                              .labels = {{"part", "used"}},
                              .n_labels = 1};
    int rc = store_room(c->store, &bytes, &free_bytes, c->error);
    stat.value = rc ? 0 : (double)(bytes - free_bytes);
    if (!rc)
        rc = stats_tell(c, &stat);
    stat.labels[0].value = "free";
    stat.value = rc ? 0 : (double)free_bytes;
    return rc ?: stats_tell(c, &stat);
}

struct files_sum {
    struct counting *c;
    double value[FILES_KINDS][2]; /* tasks, bytes */
    struct arena arena;
};

/* The same content in several of them counts in each. What cannot be read has no size. */
static int add_files(void *context, const struct files_row *row)
{
    struct files_sum *sum = context;
    struct snapshot_head head;
    struct cairn_error why = {0};
    sum->value[row->kind][0]++;
    if (digest_is_none(&row->files))
        return 0;
    int rc = snapshot_read(sum->c->store, &row->files, &sum->arena, &head, &why);
    sum->value[row->kind][1] += rc ? 0 : (double)head.counts.bytes;
    arena_release(&sum->arena);
    return rc == CAIRN_ENOMEM ? error_nomem(sum->c->error) : 0;
}

static int tell_files(struct counting *c)
{
    static const struct cairn_stat of_kind[FILES_KINDS][2] = {
        {{.family = "artifact_tasks",
          .help = "tasks of runs whose artifacts are stored"},
         {.family = "artifact_bytes", .help = "bytes of their artifacts"}},
        {{.family = "kept_output_tasks",
          .help = "tasks of runs copies of whose outputs are kept"},
         {.family = "kept_output_bytes", .help = "bytes of these copies"}}};
    struct files_sum sum = {.c = c, .arena = ARENA_INIT};
    struct files_search search = {.each = add_files, .context = &sum};
    int rc = 0;
    for (; search.kind < FILES_KINDS && !rc; search.kind++) {
        rc = store_each_files(c->store, &search, c->error);
        for (int i = 0; i < 2 && !rc; i++) {
            struct cairn_stat stat = of_kind[search.kind][i];
            stat.value = sum.value[search.kind][i];
            rc = stats_tell(c, &stat);
        }
    }
    return rc;
}

/* It can be removed at any time, so 0 is as good a size as any. */
static int tell_index(struct counting *c)
{
    struct cairn_stat stat = {.family = "search_index_bytes",
                              .help =
                                  "size of the index of searches, 0: there is none"};
    struct buf path = BUF_INIT;
    struct stat st;
    buf_format(&path, "%s/search.db", cairn_store_path(c->store));
    int rc = buf_check(&path, c->error);
    if (!rc && lstat(path.data, &st) == 0 && S_ISREG(st.st_mode))
        stat.value = (double)st.st_size;
    buf_release(&path);
    return rc ?: stats_tell(c, &stat);
}

int cairn_stats(struct cairn_store *store,
                int (*each)(void *context, const struct cairn_stat *stat),
                void *context, struct cairn_error *error)
{
    struct counting c = {.store = store,
                         .each = each,
                         .context = context,
                         .rows_of = STORE_STATS,
                         .texts = ARENA_INIT,
                         .error = error};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = tell_bytes(&c) ?: tell_index(&c) ?: tell_files(&c);
    for (size_t i = 0; i < sizeof families / sizeof *families && !rc; i++)
        rc = tell_family(&c, &families[i]);
    if (!rc)
        rc = stats_tell_commands(&c);
    store_end_read(store);
    arena_release(&c.texts);
    free(c.rows);
    return rc < 0 ? rc : 0;
}
