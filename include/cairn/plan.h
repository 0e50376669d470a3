/* SPDX-License-Identifier: MIT */
/* cairn: what a run would do, and why. */
#ifndef CAIRN_PLAN_H
#define CAIRN_PLAN_H

#include "error.h"
#include "run.h"
#include "store.h"
#include "workflow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run with given options would do. The workflow must outlive it. */
struct cairn_plan;

enum cairn_will { CAIRN_WILL_NOT, CAIRN_WILL, CAIRN_MAY };
enum cairn_reason {
    CAIRN_REASON_DONE, /* completed and unchanged */
    CAIRN_REASON_NEVER_RAN,
    CAIRN_REASON_FAILED, /* last time */
    CAIRN_REASON_CANCELLED,
    CAIRN_REASON_SKIPPED,      /* last time, because a need failed */
    CAIRN_REASON_INTERRUPTED,  /* started, no end recorded */
    CAIRN_REASON_DAMAGED,      /* the record of its end, or its result, is damaged */
    CAIRN_REASON_CHANGED,      /* its definition; detail names the fields */
    CAIRN_REASON_OUTPUT,       /* a declared output is missing or differs */
    CAIRN_REASON_UPSTREAM,     /* `cause` runs again */
    CAIRN_REASON_KEPT,         /* completed, changed since, kept by CAIRN_KEEP */
    CAIRN_REASON_INPUT,        /* the content of a declared input differs */
    CAIRN_REASON_SECRET,       /* the value of a secret that it uses differs */
    CAIRN_REASON_UNDONE,       /* it was undone */
    CAIRN_REASON_UNKNOWN,      /* its outcome must be decided (cairn_resolve) */
    CAIRN_REASON_EXCLUDED,     /* its condition is not met, or it had nothing to do */
    CAIRN_REASON_NEED_SKIPPED, /* `cause`, which it needs, does not complete */
    CAIRN_REASON_HANDLED,    /* it failed, and a task with `when: failed` handled it, or
                                it may fail */
    CAIRN_REASON_ADOPTED,    /* its process outlived the run, and is adopted */
    CAIRN_REASON_ASKED,      /* it was named as one that runs again */
    CAIRN_REASON_NOT_CHOSEN, /* it would run, but was not chosen, nor does a chosen one
                                need it */
    CAIRN_REASON_REUSED, /* it is done: another run, or this one before, was given the
                            same, and what it made is there */
    CAIRN_REASON_SERVICE, /* of a service: `cause`, which needs it, runs; or nothing that needs it
                             does */
    CAIRN_REASON_LAST = CAIRN_REASON_SERVICE
};

/* WILL: it runs, unless something fails first or the run is stopped. MAY: whether it
 * runs depends on a condition, on a task that failed last time, on a decision or on an
 * external task, or on whether it can be reused once what it needs has ended; `detail`
 * names it. */
struct cairn_decision {
    const char *task;
    uint32_t node;
    enum cairn_will will;
    enum cairn_reason reason;
    const char *cause;  /* task id for UPSTREAM, or NULL */
    const char *detail; /* a sentence for people; never NULL */
};

/* The reason in lower case, "never-ran": the word that JSON uses. */
CAIRN_API const char *cairn_reason_name(enum cairn_reason reason);
/* Decides what cairn_run would do with these options, and does nothing. Needs no write
 * access. `store` may be NULL: everything runs. */
CAIRN_API int cairn_plan(struct cairn_plan **out, struct cairn_workflow *workflow,
                         struct cairn_store *store,
                         const struct cairn_run_options *options,
                         struct cairn_error *error);
CAIRN_API void cairn_plan_free(struct cairn_plan *plan);
/* The run that would be resumed, or 0 for a new one. */
CAIRN_API uint64_t cairn_plan_run(const struct cairn_plan *plan);
/* How many tasks the plan covers. */
CAIRN_API uint32_t cairn_plan_tasks(const struct cairn_plan *plan);
/* How many will run, and how many may. */
CAIRN_API uint32_t cairn_plan_will(const struct cairn_plan *plan);
CAIRN_API uint32_t cairn_plan_may(const struct cairn_plan *plan);
/* What changed in the definition of a task, or in what it reads: field ("command", "env
 * LC_ALL", "needs", "input a.csv", ...) with its old and new value, NULL for a value
 * that was or is not there. Values of secrets are never passed on. */
CAIRN_API int cairn_plan_changes(const struct cairn_plan *plan, uint32_t node,
                                 int (*each)(void *, const char *field, const char *old,
                                             const char *now),
                                 void *context, struct cairn_error *error);
/* The condition (`if`) of a task with what its names are now: "params.a == 'x'
 * (params.a is 'y')". NULL: it has none, or out of memory. Valid as long as the plan.
 */
CAIRN_API const char *cairn_plan_condition(const struct cairn_plan *plan,
                                           uint32_t node);
/* What a task would run: the text of `run`, the words of `exec` quoted for a shell,
 * what somebody is to do for an external task. `${{ }}` whose value is not known yet
 * stays as it is; values of secrets are [REDACTED]. NULL: a callback, or out of memory.
 * Valid as long as the plan. */
CAIRN_API const char *cairn_plan_command(const struct cairn_plan *plan, uint32_t node);
/* The decision for one task. Its strings live as long as the plan. Past the last task
 * decision->task is NULL. */
CAIRN_API void cairn_plan_get(const struct cairn_plan *plan, uint32_t node,
                              struct cairn_decision *decision);
/* CAIRN_ENOMEM if there was no memory for the text of a decision, a condition or a
 * command that was asked for. */
CAIRN_API int cairn_plan_check(const struct cairn_plan *plan,
                               struct cairn_error *error);
/* The i-th notice (skipped damaged checkpoints, vanished tasks), NULL past the end. */
CAIRN_API const char *cairn_plan_notice(const struct cairn_plan *plan, size_t i);

/* ---- Files of tasks that are gone or skipped ---- */

enum cairn_stale {
    CAIRN_STALE_SAME,      /* it has the content that was recorded: it can be removed */
    CAIRN_STALE_CHANGED,   /* it has another content, or is a link: it stays */
    CAIRN_STALE_USED,      /* a task makes it, or reads it: it stays */
    CAIRN_STALE_DIRECTORY, /* it is one, and may hold what was there before: it stays.
                              With `remove` it is forgotten: not called again */
    CAIRN_STALE_REMOVED,   /* it was removed now */
    CAIRN_STALE_FAILED,    /* it could not be removed, because of `problem` */
    CAIRN_STALE_IN_PLACE /* a file that may have been there before the task wrote it: as
                              of a directory */
};
/* A declared output that a task made which the definition does not have any more, or
 * that the run made of a task which is skipped now. Its strings live until the callback
 * returns. */
struct cairn_stale_file {
    const char *path; /* from the workflow's directory on, or absolute */
    const char *task; /* that made it */
    enum cairn_stale state;
    const char *user; /* of USED: the task ... */
    bool made;        /* ... and whether it makes the file; else it reads it */
    uint64_t size_bytes;
    const char *problem; /* of FAILED, else NULL */
};
/* Calls `each` (may be NULL) with every stale file of the workflow that is there, in
 * all its runs. With `remove`, those with the recorded content that no task makes, or
 * reads by name or as the source of a foreach, are removed first. A pattern among
 * `inputs` keeps no file: to join what is left over is what goes wrong. `options`
 * choose the run as for cairn_plan (may be NULL). A non-zero return of `each` ends it;
 * a negative one is returned. CAIRN_EOWNED: a run of the workflow is at work. */
CAIRN_API int cairn_clean_stale(struct cairn_workflow *workflow,
                                struct cairn_store *store,
                                const struct cairn_run_options *options, bool remove,
                                int (*each)(void *context,
                                            const struct cairn_stale_file *file),
                                void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
