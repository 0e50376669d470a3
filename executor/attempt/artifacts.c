/* SPDX-License-Identifier: MIT */
#include "executor/attempt/artifacts.h"

#include "executor/attempt/attempt_result.h"
#include "executor/state/commit.h"
#include "executor/state/report.h"

#include "base/utf8.h"
#include "runs/artifacts.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

/* Patterns that nothing matches: a mistake in the file more often than not, but what
 * the task has done is done. */
static int tell_missing(struct engine *e, uint32_t task,
                        const struct artifact_names *names, struct cairn_error *error)
{
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

static int check_whole(const struct artifact_names *names, const bool *taken,
                       const struct left_out *left, struct cairn_error *error)
{
    if (left->why)
        return error_set(error, CAIRN_EIO, "%s %s", left->path,
                         tree_left_out_text(left->why));
    for (size_t i = 0; i < names->n; i++)
        if (!taken[i])
            return error_set(error, CAIRN_EIO,
                             "%.*s lies behind a symbolic link, is gone, or has a name "
                             "that is never stored",
                             (int)utf8_fit(names->names[i], 500), names->names[i].ptr);
    return 0;
}

static int put_names(struct engine *e, const struct artifact_names *names,
                     struct ending *ending, struct cairn_error *error)
{
    struct left_out left = {.why = 0};
    struct snapshot snapshot;
    bool *taken = calloc(names->n, sizeof *taken);
    const struct snapshot_request request = {.store = e->request.store,
                                             .root = names->directory.ptr,
                                             .only = names->names,
                                             .n_only = names->n,
                                             .taken = taken,
                                             .stop = e->progress.lookup.stop,
                                             .left_out = note_left_out,
                                             .context = &left};
    if (!taken)
        return error_nomem(error);
    int rc = snapshot_take(&request, &snapshot, error)
                 ?: check_whole(names, taken, &left, error);
    if (!rc)
        ending->artifacts = snapshot.digest;
    saving_hold_content(e, &snapshot.stage.locked);
    snapshot_end(&snapshot);
    free(taken);
    return rc;
}

static int store_all(struct engine *e, struct ending *ending, struct cairn_error *error)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = ending->row.task,
                          .attempt = ending->row.number};
    struct scope scope = lookup_scope(&asker);
    struct artifact_names names;
    int rc = artifacts_find(&scope, &names, error)
                 ?: tell_missing(e, asker.task, &names, error);
    if (!rc && names.n)
        rc = put_names(e, &names, ending, error);
    artifact_names_release(&names);
    return rc;
}

void artifacts_store(struct engine *e, struct ending *ending)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    if (ending->row.outcome != CAIRN_COMPLETED || !def->n_artifacts ||
        !e->request.store)
        return;
    struct cairn_error why = {0};
    int rc = store_all(e, ending, &why);
    ending->has_artifacts = rc == 0;
    if (!rc)
        return;
    if (rc == CAIRN_ENOMEM)
        engine_break(e);
    ending_drop_result(ending);
    if (rc == CAIRN_ESTOPPED) {
        ending_stop_look(e, ending, why.text);
        return;
    }
    ending->row.outcome = CAIRN_FAILED;
    buf_format(&ending->text, "%sit ended well, but its artifacts are not stored: %s",
               ending->text.size ? "; " : "", why.text);
}
