/* SPDX-License-Identifier: MIT */
#include "executor/attempt/artifacts.h"

#include "executor/attempt/attempt_result.h"
#include "executor/state/commit.h"
#include "executor/state/report.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "runs/artifacts.h"
#include "runs/kept.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <sys/stat.h>

/* ---- Which there are ---- */

/* Patterns that nothing matches: a mistake in the file more often than not, but what
 * the task has done is done. */
static int tell_missing(struct engine *e, const struct ending *ending,
                        const struct artifact_names *names, struct cairn_error *error)
{
    uint32_t task = ending->row.task;
    const struct task_def *def = graph_def(e->request.graph, task);
    for (uint32_t i = 0; i < names->n_missing; i++) {
        char notice[1400];
        snprintf(notice, sizeof notice,
                 "no file matches the artifact %.*s of %s, in %.*s",
                 (int)utf8_fit(names->missing[i], 400), names->missing[i].ptr,
                 e->request.graph->id[task], (int)utf8_fit(names->directory, 600),
                 names->directory.ptr);
        if (def->artifacts_wanted)
            return error_set(error, CAIRN_ENOTFOUND, "%s", notice);
        report(e, CAIRN_EVENT_NOTICE, notice);
    }
    return 0;
}

/* What has a name and cannot be stored. */
struct left_out {
    char path[512];
    uint8_t why; /* 0: nothing was */
};

static void note_left_out(void *context, struct str path, uint8_t why)
{
    struct left_out *left = context;
    if (left->why)
        return;
    left->why = why;
    snprintf(left->path, sizeof left->path, "%.*s", (int)utf8_fit(path, 500), path.ptr);
}

static int check_whole(const struct str *names, size_t n, const bool *taken,
                       const struct left_out *left, struct cairn_error *error)
{
    if (left->why)
        return error_set(error, CAIRN_EIO, "%s %s", left->path,
                         tree_left_out_text(left->why));
    for (size_t i = 0; i < n; i++)
        if (!taken[i])
            return error_set(error, CAIRN_EIO,
                             "%.*s lies behind a symbolic link, is gone, or has a name "
                             "that is never stored",
                             (int)utf8_fit(names[i], 500), names[i].ptr);
    return 0;
}

/* ---- Into the pool ---- */

struct storing {          /* of one attempt */
    struct errand errand; /* first: it is one */
    after_artifacts_fn *after;
    struct artifact_names names;
    struct snapshot snapshot; /* ended: its digest counts */
    bool wanted;              /* there are `names` */
    struct kept_files kept;   /* outputs of which copies are kept; n 0: none are */
    struct snapshot copies;   /* as `snapshot` */
    int kept_rc;
    struct cairn_error kept_why;
};

static void release_storing(struct errand *errand)
{
    struct storing *s = (struct storing *)errand;
    artifact_names_release(&s->names);
    kept_files_release(&s->kept);
    free(s);
}

struct place { /* where things are put */
    struct cairn_store *store;
    const _Atomic uint32_t *stop;
    enum stage_wait wait;
};

/* Collectors stay held off until the content is referred to. */
static int put_names(struct storing *s, const struct place *place, const char *root,
                     const struct str *names, size_t n, struct snapshot *snapshot,
                     struct cairn_error *error)
{
    struct left_out left = {.why = 0};
    bool *taken = calloc(n + 1, sizeof *taken);
    const struct snapshot_request request = {.store = place->store,
                                             .root = root,
                                             .only = names,
                                             .n_only = n,
                                             .taken = taken,
                                             .stop = place->stop,
                                             .wait = place->wait,
                                             .left_out = note_left_out,
                                             .context = &left};
    if (!taken)
        return error_nomem(error);
    int rc = snapshot_take(&request, snapshot, error)
                 ?: check_whole(names, n, taken, &left, error);
    s->errand.holds |= snapshot->stage.locked;
    snapshot->stage.locked = false;
    snapshot_end(snapshot);
    free(taken);
    return rc;
}

/* Only what is what the result says is worth keeping. */
static int keep_outputs(struct storing *s, const struct place *place)
{
    const struct kept_files *k = &s->kept;
    return put_names(s, place, k->root.ptr, k->names, k->n_names, &s->copies,
                     &s->kept_why)
               ?: kept_files_compare(k, place->store, &s->copies.digest, place->stop,
                                     &s->kept_why);
}

/* That of the artifacts; that of the copies is in kept_rc. */
static int put_all(struct storing *s, const struct place *place,
                   struct cairn_error *error)
{
    int rc = s->names.n ? put_names(s, place, s->names.directory.ptr, s->names.names,
                                    s->names.n, &s->snapshot, error)
                        : 0;
    if (!rc && s->kept.n && (!s->kept_rc || s->kept_rc == CAIRN_EBUSY))
        s->kept_rc = keep_outputs(s, place);
    return rc;
}

static int store_elsewhere(struct errand *errand, struct cairn_store *store,
                           const _Atomic uint32_t *stop, struct cairn_error *error)
{
    const struct place place = {store, stop, STAGE_WAITS_LONG};
    return put_all((struct storing *)errand, &place, error);
}

/* A few small files, of which together *left bytes may be. */
static bool are_little(struct str directory, const struct str *names, size_t n,
                       uint64_t *left)
{
    enum { FILES_MOST = 16 };
    struct buf path = BUF_INIT;
    bool little = n <= FILES_MOST;
    for (size_t i = 0; i < n && little; i++) {
        struct stat st;
        buf_clear(&path);
        buf_str(&path, directory);
        buf_path(&path, names[i]);
        little = !buf_check(&path, NULL) && lstat(path.data, &st) == 0 &&
                 !S_ISDIR(st.st_mode) && (uint64_t)st.st_size <= *left;
        *left -= little ? (uint64_t)st.st_size : 0;
    }
    buf_release(&path);
    return little;
}

static bool is_little(const struct storing *s)
{
    enum { BYTES_MOST = 1 << 20 };
    uint64_t left = BYTES_MOST;
    return are_little(s->names.directory, s->names.names, s->names.n, &left) &&
           are_little(s->kept.root, s->kept.names, s->kept.n_names, &left);
}

/* Those that end as the draft leave some. */
static bool leaves_some(const struct engine *e, const struct ending *ending)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    bool good = ending->row.outcome == CAIRN_COMPLETED;
    bool bad = ending->row.outcome == CAIRN_FAILED;
    return e->request.store && def->n_artifacts &&
           ((good && def->artifacts_when != ARTIFACTS_FAILURE) ||
            (bad && def->artifacts_when != ARTIFACTS_SUCCESS));
}

/* What its fallback made is not reused. */
static bool keeps_outputs(const struct engine *e, const struct ending *ending)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    return e->keys && def->reuse_ms && ending->row.outcome == CAIRN_COMPLETED &&
           !(ending->row.flags & ATTEMPT_FALLBACK);
}

/* `outputs`: NULL: none are kept. */
static int find_names(struct engine *e, const struct ending *ending,
                      const struct result *outputs, struct storing **s,
                      struct cairn_error *error)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = ending->row.task,
                          .attempt = ending->row.number};
    struct scope scope = lookup_scope(&asker);
    *s = calloc(1, sizeof **s);
    if (!*s)
        return error_nomem(error);
    (*s)->errand.work = store_elsewhere;
    (*s)->errand.release = release_storing;
    if (outputs)
        (*s)->kept_rc = kept_files_find(&scope, outputs->outputs, outputs->n_outputs,
                                        &(*s)->kept, &(*s)->kept_why);
    (*s)->wanted = leaves_some(e, ending);
    if (!(*s)->wanted)
        return 0;
    int rc = artifacts_find(&scope, &(*s)->names, error);
    return rc ? rc : tell_missing(e, ending, &(*s)->names, error);
}

/* What it wanted to keep of a failure must not hide that. */
static void tell_unstored(struct engine *e, const struct ending *ending,
                          const char *why)
{
    char notice[1400];
    snprintf(notice, sizeof notice,
             "the artifacts of %s, which failed, are not stored: "
             "%.1000s",
             e->request.graph->id[ending->row.task], why);
    report(e, CAIRN_EVENT_NOTICE, notice);
}

/* That is no fault of the task, which has done its work. */
static void take_kept(struct engine *e, struct ending *ending, const struct storing *s)
{
    char notice[1400];
    ending->has_copies = s->kept.n && !s->kept_rc;
    ending->copies = s->copies.digest;
    if (s->kept_rc == CAIRN_ENOMEM)
        engine_break(e);
    if (!s->kept_rc || s->kept_rc == CAIRN_ESTOPPED)
        return;
    snprintf(notice, sizeof notice, "no copies of the outputs of %s are kept: %.1000s",
             e->request.graph->id[ending->row.task], s->kept_why.text);
    report(e, CAIRN_EVENT_NOTICE, notice);
}

/* `rc`: what storing came to. */
static void take_stored(struct engine *e, struct ending *ending, struct storing *s,
                        int rc, const struct cairn_error *why)
{
    if (rc && s && !s->wanted) { /* there are only copies */
        s->kept_rc = rc;
        s->kept_why = *why;
        rc = 0;
    }
    if (!rc) {
        ending->has_artifacts = s->wanted;
        ending->artifacts = s->snapshot.digest;
        take_kept(e, ending, s);
        return;
    }
    if (rc == CAIRN_ENOMEM)
        engine_break(e);
    if (ending->row.outcome != CAIRN_COMPLETED) {
        tell_unstored(e, ending, why->text);
        return;
    }
    ending_drop_result(ending);
    if (rc == CAIRN_ESTOPPED) {
        ending_stop_look(e, ending, why->text);
        return;
    }
    ending->row.outcome = CAIRN_FAILED;
    ending->row.flags &= (uint16_t)~ATTEMPT_CHECK; /* it is not what it failed by */
    buf_format(&ending->text, "%sit ended well, but its artifacts are not stored: %s",
               ending->text.size ? "; " : "", why->text);
}

static int store_here(struct engine *e, struct storing *s, enum stage_wait wait,
                      struct cairn_error *error)
{
    const struct place place = {e->request.store, e->progress.lookup.stop, wait};
    int rc = put_all(s, &place, error);
    saving_hold_content(e, &s->errand.holds);
    return rc;
}

void artifacts_store(struct engine *e, struct ending *ending)
{
    struct storing *s = NULL;
    struct cairn_error why = {0};
    if (!leaves_some(e, ending))
        return;
    int rc =
        find_names(e, ending, NULL, &s, &why) ?: store_here(e, s, STAGE_WAITS, &why);
    take_stored(e, ending, s, rc, &why);
    if (s)
        release_storing(&s->errand);
}

static int stored(struct engine *e, struct job *job, struct errand *errand, int rc,
                  struct cairn_error *why, struct cairn_error *error)
{
    struct storing *s = (struct storing *)errand;
    struct ending *ending = turn_draft_ending(e, &job->intent, error);
    if (!ending)
        return CAIRN_ENOMEM;
    *ending = job->held;
    job->has_held = false;
    take_stored(e, ending, s, rc, why);
    s->after(e, job, ending);
    return 0;
}

/* LOOK_WAITS; or it is stored, or cannot be. */
static int store_or_send(struct engine *e, struct job *job, struct storing *s,
                         struct cairn_error *why)
{
    int rc = CAIRN_EBUSY;
    if (is_little(s))
        rc = store_here(e, s, STAGE_WAITS_NOT, why);
    if (rc != CAIRN_EBUSY && s->kept_rc != CAIRN_EBUSY)
        return rc;
    return looks_send(e, job, &s->errand, false) == LOOK_WAITS
               ? LOOK_WAITS
               : store_here(e, s, STAGE_WAITS, why); /* there is no thread */
}

void artifacts_then(struct engine *e, struct job *job, struct ending *ending,
                    after_artifacts_fn *after)
{
    struct storing *s = NULL;
    struct cairn_error why = {0};
    bool keeps = keeps_outputs(e, ending);
    if (!leaves_some(e, ending) && !keeps) {
        after(e, job, ending);
        return;
    }
    int rc = find_names(e, ending, keeps ? &job->result : NULL, &s, &why);
    if (s) {
        s->errand.done = stored;
        s->after = after;
    }
    if (!rc)
        rc = store_or_send(e, job, s, &why);
    if (rc == LOOK_WAITS) {
        ending_hold(e, job, ending);
        return;
    }
    take_stored(e, ending, s, rc, &why);
    if (s)
        release_storing(&s->errand);
    after(e, job, ending);
}
