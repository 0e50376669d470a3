/* SPDX-License-Identifier: MIT */
/* cairn: deletes checkpoints, runs and content that are no longer wanted. */
#ifndef CAIRN_GC_H
#define CAIRN_GC_H

#include "error.h"
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
    uint32_t keep_runs;    /* 0: no limit; the newest N of each workflow stay */
    int64_t older_than_ms; /* 0: no limit; runs that ended more recently stay */
    bool dry_run;
    bool any_params; /* limits count the runs of a workflow, whatever their params: the
                        newest with its params goes, too, if it has completed */
    bool
        forget_lost; /* content is deleted that stayed because of a repair: held_objects
                      */
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
};

/* Works beside live runs, in many short transactions, and may be interrupted at any
 * moment: the store stays valid, and the next call finishes the work. If the store has
 * damaged checkpoints no content is deleted (CAIRN_EDAMAGED, with `result` set), since
 * it is unknown what they refer to. CAIRN_EBUSY: another call is collecting. */
CAIRN_API int cairn_gc(struct cairn_store *store,
                       const struct cairn_gc_options *options,
                       struct cairn_gc_result *result, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
