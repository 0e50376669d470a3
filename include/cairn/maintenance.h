/* SPDX-License-Identifier: MIT */
/* cairn: deletes what is no longer wanted, examines and repairs stores, and measures
 * them. */
#ifndef CAIRN_MAINTENANCE_H
#define CAIRN_MAINTENANCE_H

#include "checkpoint.h"
#include "error.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Deletes one checkpoint; the others can be rebuilt as before. Refused: the newest of
 * an unfinished run, and the parent of a fork; without its key, one of a keyed run that
 * others build on. */
CAIRN_API int cairn_checkpoint_delete(struct cairn_store *store, const char *id,
                                      struct cairn_error *error);

struct cairn_prune_options {
    size_t size;   /* of this struct, or 0 */
    uint64_t run;  /* 0: every run */
    uint32_t keep; /* newest per run, at least 1 */
    bool dry_run;
};

struct cairn_prune_result {
    uint64_t total, kept, deleted, freed_bytes;
    uint64_t surplus;   /* of those kept: beyond what `keep` asks for */
    uint64_t first[20]; /* numbers of the first that are deleted, ... */
    uint32_t named;     /* ... so many of them */
};

/* Deletes what is older than the newest `keep` checkpoints of each run, except those
 * that a run forked from. So more than `keep` can stay: `surplus`. (And of a keyed run,
 * without the key, only whole segments go: a full record with its deltas.) The next
 * cairn_gc deletes content that nothing refers to any more. */
CAIRN_API int cairn_checkpoint_prune(struct cairn_store *store,
                                     const struct cairn_prune_options *options,
                                     struct cairn_prune_result *result,
                                     struct cairn_error *error);

/* Which checkpoints of a session stay: the union of the rules. Without any: by the
 * settings "keep-..." of the session (cairn/session.h); without these, too: the newest
 * 100, those of the last 7 days, and the newest of each hour. */
struct cairn_keep_rules {
    size_t size;   /* of this struct, or 0 */
    uint32_t last; /* the newest N of each branch */
    uint32_t days; /* those that are not older */
    bool hourly;   /* the newest of each hour of UTC */
    const char *const *tags;
    size_t n_tags;   /* those with one of these tags */
    bool manual_too; /* manual ones are kept by these rules only, not always */
};
/* Deletes the others, of every branch. Manual ones (unless manual_too), those of
 * significant triggers, the newest valid one of each branch, damaged ones and those
 * where a branch begins always stay. A second call with the same rules at the same time
 * deletes nothing. `session`: as in cairn/session.h. */
CAIRN_API int cairn_session_prune(struct cairn_store *store, const char *session,
                                  const struct cairn_keep_rules *rules, bool dry_run,
                                  struct cairn_prune_result *result,
                                  struct cairn_error *error);
/* Each rule is also a setting of the session: "keep-last" (1 to 10000), "keep-days" (1
 * to 36500), "keep-hourly" ("on") and "keep-tag" (tags, with commas), all "off" at
 * first. With at least one of them, each call that makes a checkpoint of the present
 * state deletes, in the same transaction, what no rule keeps: up to 50 checkpoints of
 * the current branch and up to 50 of another one, the oldest first; the next call goes
 * on with it. What restores, branches, merges and imports make waits for the next call.
 * What was kept by a label or a tag is not looked at again when that is taken away:
 * cairn_session_prune does. */

/* Garbage collection of whole runs, and of content that nothing refers to any more.
 * Runs are deleted only if at least one of the two limits is set, and then only those
 * that have ended (completed, failed, cancelled or undone), that are beyond each limit
 * set, that are not the newest of their workflow and params, and that no remaining run
 * forks from. any_params: the newest with its params stays only if it has not
 * completed, since the next run with these goes on with it; and the newest run of the
 * store. */
struct cairn_gc_options {
    size_t size;           /* of this struct, or 0 */
    uint32_t keep_runs;    /* 0: no limit; the newest N of each workflow stay */
    int64_t older_than_ms; /* 0: no limit; runs that ended more recently stay */
    bool dry_run;
    bool any_params; /* limits count the runs of a workflow, whatever their params: the
                        newest with its params goes, too, if it has completed */
    bool
        forget_lost; /* content is deleted that stayed because of a repair: held_objects
                      */
    uint64_t
        keep_outputs; /* 0: no limit; bytes that copies of outputs (`reuse: {keep}`)
                              may take together in the store, each content once: those
                              whose last run is the oldest go first */
};

struct cairn_gc_result {
    uint64_t runs, kept_runs; /* deleted; remaining */
    uint64_t checkpoints, attempts;
    uint64_t objects, kept_objects;
    uint64_t freed_bytes;  /* of checkpoints and content; the file does not shrink,
                              its free pages are used again */
    uint64_t damaged_runs; /* due for deletion, but kept because they are damaged */
    uint32_t slices;       /* write transactions */
    int64_t longest_us; /* the longest of them: the most that a run beside it waited */
    /* After a repair that lost checkpoints of sessions, or lists of files: content from
     * before that nothing refers to, and which they may have named. It stays (and is in
     * kept_objects) until a call with forget_lost. */
    uint64_t held_objects, held_bytes;
    uint64_t newest_runs; /* that stay only since each is the newest with its params */
    uint64_t expired_artifacts; /* tasks whose artifacts were kept for their time */
    uint64_t expired_outputs;   /* ... copies of whose outputs were (`reuse: {keep}`) */
    uint64_t dropped_outputs;   /* ... that went because of keep_outputs */
};

/* Works beside live runs, in many short transactions, and may be interrupted at any
 * moment: the store stays valid, and the next call finishes the work. If the store has
 * damaged checkpoints no content is deleted (CAIRN_EDAMAGED, with `result` set), since
 * it is unknown what they refer to. CAIRN_EBUSY: another call is collecting. */
CAIRN_API int cairn_gc(struct cairn_store *store,
                       const struct cairn_gc_options *options,
                       struct cairn_gc_result *result, struct cairn_error *error);

/* ---- Examine a store, and repair a damaged one ---- */

enum cairn_health { CAIRN_HEALTH_OK, CAIRN_HEALTH_WARN, CAIRN_HEALTH_BAD };

struct cairn_finding {
    enum cairn_health health;
    const char *what;   /* a short name: file-system, schema, records, ... */
    const char *text;   /* what was found */
    const char *remedy; /* what to do, or NULL */
    const char *object; /* as in struct cairn_problem, or NULL */
};

/* Examines the store and its surroundings; changes nothing. Returns CAIRN_EDAMAGED if
 * something is bad; CAIRN_ENOMEM, CAIRN_EBUSY or CAIRN_EIO if not everything could be
 * examined. Works on a store that cairn_store_open refuses. `key_file` is as in struct
 * cairn_store_options. */
CAIRN_API int cairn_doctor(const char *path, const char *key_file,
                           int (*each)(void *, const struct cairn_finding *),
                           void *context, struct cairn_error *error);

/* What could not be saved out of a damaged store. */
enum cairn_loss_kind {
    CAIRN_LOSS_CHECKPOINT, /* seq, id, run if it is known */
    CAIRN_LOSS_TASK,    /* its end was recorded only in lost records: it runs again */
    CAIRN_LOSS_RUN,     /* its row; text: whether it was rebuilt */
    CAIRN_LOSS_ATTEMPT, /* the details of one attempt */
    CAIRN_LOSS_OBJECT,  /* stored content: output, a result, or a graph */
    CAIRN_LOSS_ROW,     /* another row: of a session, or only for display */
    CAIRN_LOSS_FILE     /* part of a file: its content is unknown */
};

struct cairn_loss {
    enum cairn_loss_kind kind;
    uint64_t seq; /* checkpoint, or 0 */
    char id[CAIRN_ID_MAX];
    uint64_t run;  /* or 0 */
    uint32_t task; /* index in the run's graph, as cairn_run_tasks counts */
    const char *text;
};

struct cairn_repair_result {
    bool repaired; /* false: nothing was damaged, nothing was changed */
    char kept[64]; /* name of the directory with the damaged files */
    uint64_t checkpoints, objects, runs, attempts, events, others; /* saved */
    uint64_t lost;
    /* New names, in the store's directory, of what was found in place of the lock file
     * or of `live/` and was moved aside: at most two, separated by a space. Set even if
     * the repair failed after that; not counted as damage. */
    char aside[128];
};

/* Saves every valid record, and all other rows whose checksums match, out of a damaged
 * store into a new one with the same id, which replaces it; the damaged files are kept
 * in `damaged-TIME/` inside it. Nothing is changed if nothing is damaged. If the repair
 * is interrupted, either the old or the new store is there, or none can be opened until
 * the next repair has finished the replacement. CAIRN_EOWNED while a run is live
 * (named), CAIRN_EBUSY while someone writes, CAIRN_ENEWER for a store of a newer
 * release. The calling process must have no handle of the store open. `each` gets every
 * loss once: after the repair the store verifies. */
CAIRN_API int cairn_store_repair(const char *path,
                                 int (*each)(void *, const struct cairn_loss *),
                                 void *context, struct cairn_repair_result *result,
                                 struct cairn_error *error);

/* ---- What takes room in the store, of one session (cairn/session.h) ---- */

/* Bytes. What the database itself needs around rows and contents is not in them. */
struct cairn_size {
    uint64_t logical; /* uncompressed, if each checkpoint had a copy of its own */
    uint64_t stored;  /* as stored: compressed, each content once */
    uint64_t shared;  /* of `stored`: what other sessions refer to as well */
    uint64_t parts;   /* contents and rows */
};
struct cairn_session_size {
    uint64_t session; /* its number */
    struct cairn_size files, board, messages;
    struct cairn_size log;     /* of what was done: `cairn session log` */
    struct cairn_size records; /* of checkpoints; what they hold is above */
    struct cairn_size all;
    uint64_t checkpoints;
    uint64_t damaged;     /* checkpoints and contents that cannot be read: what they
                             refer to is not counted */
    uint64_t paths;       /* of files that ever had content */
    uint64_t store_bytes; /* of the database, with everything else that is in it */
    uint64_t free_bytes;  /* of these: free, and used again */
    uint64_t budget;      /* the setting "size-budget"; 0: off */
};
/* One checkpoint; views during the callback. */
struct cairn_checkpoint_size {
    char id[CAIRN_ID_MAX];
    uint64_t seq;
    int64_t time_ns;
    const char *message;
    uint64_t logical; /* of what it holds */
    uint64_t added;   /* stored for it that no older one of the session refers to */
    uint64_t alone;   /* stored for it that nothing else refers to: what `cairn gc` can
                         free once it was deleted */
};
/* All contents that one path has had. What several paths have had counts for the one in
 * the oldest checkpoint. */
struct cairn_file_size {
    const char *path;
    uint64_t contents, logical, stored;
};
struct cairn_size_request {
    size_t size; /* of this struct, or 0 */
    /* What all of it takes; called first. */
    int (*total)(void *context, const struct cairn_session_size *size);
    uint32_t checkpoints, files; /* at most so many of each are told; 0: none */
    /* The newest first. Non-zero stops. */
    int (*checkpoint)(void *context, const struct cairn_checkpoint_size *size);
    /* Those first for which most is stored. Non-zero stops. */
    int (*file)(void *context, const struct cairn_file_size *size);
    void *context;
};
/* Reads what is referred to of all sessions, and changes nothing. Callbacks may be
 * NULL, and may use the store. */
CAIRN_API int cairn_session_size(struct cairn_store *store, const char *session,
                                 const struct cairn_size_request *request,
                                 struct cairn_error *error);

/* A session for which more is stored than its setting "size-budget" says (2G where it
 * was never set; cairn/session.h). Nothing is deleted because of that. */
struct cairn_budget {
    uint64_t session; /* its number */
    char name[CAIRN_SESSION_NAME_MAX];
    uint64_t stored, budget; /* bytes; `stored` is that of all */
};
/* Of the sessions that were changed through this handle and that cairn_hooks_run has
 * not asked for yet: tells each that has grown beyond its budget, once until it was
 * below it again. As long as the database has less than the budget, that is all that is
 * looked at; else what is stored is counted whenever the database has grown or shrunk
 * by a twentieth of the budget, and when the session has made more than twice as many
 * checkpoints. Does nothing through a handle that only reads. The callback must not use
 * the store. */
CAIRN_API int cairn_session_budgets(struct cairn_store *store,
                                    void (*over)(void *context,
                                                 const struct cairn_budget *budget),
                                    void *context, struct cairn_error *error);

/* ---- Counts, sizes and durations of what a store holds ---- */

struct cairn_stat_label {
    const char *name, *value;
};
/* A histogram counts what is at most as much as each bound; `count` is of all. */
struct cairn_stat_buckets {
    const double *bounds;   /* ascending */
    const uint64_t *counts; /* cumulative: what is counted for one bound is for the next
                               ones, too */
    uint32_t n;
    uint64_t count;
    double sum;
};
/* One figure: a value, or a histogram. Views during the callback. */
struct cairn_stat {
    const char *family; /* snake case, with its unit: "attempt_seconds" */
    const char *help;   /* what it counts, in a line */
    struct cairn_stat_label labels[2];
    uint32_t n_labels;
    double value;                             /* if it is no histogram */
    const struct cairn_stat_buckets *buckets; /* NULL: a value */
};

/* Calls `each` with every figure, family by family, all of one moment. They are counted
 * from the rows of the store, so they are the same in every process and right after a
 * restart, and fall when `cairn gc`, deleting or pruning removes what they count. Takes
 * as long as it takes to read the rows of attempts, checkpoints and events once. Rows
 * are not verified (cairn_verify does that). A non-zero return of `each` stops; the
 * callback must not use the store. */
CAIRN_API int cairn_stats(struct cairn_store *store,
                          int (*each)(void *context, const struct cairn_stat *stat),
                          void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
