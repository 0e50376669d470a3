/* SPDX-License-Identifier: MIT */
/* cairn_clean_stale: files of tasks that are gone or skipped now, removed. Nothing else
 * in cairn removes a file of the user's, so each is looked at right before: it has the
 * recorded content, and the definition has no use for it. While that goes on the
 * workflow is owned, so that no run makes the file anew. */
#include "executor/engine.h"

#include "base/error.h"
#include "base/os.h"
#include "base/struct_take.h"
#include "cairn/plan.h"
#include "executor/state/commit.h"
#include "executor/state/report.h"
#include "plan/stale.h"
#include "runs/owner.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cleaning {
    struct cairn_store *store;
    struct stale_list list;
    bool *removed; /* [list.n] */
    int (*each)(void *, const struct cairn_stale_file *);
    void *context;
    struct cairn_error *error;
};

/* A file that comes back with a crash of the machine must still be known. */
static int sync_places(const struct stale_list *list, const bool *removed,
                       struct cairn_error *error)
{
    struct str last = STR("");
    int rc = 0;
    for (uint32_t i = 0; i < list->n && !rc; i++) {
        const char *path = list->at[i].path, *slash = strrchr(path, '/');
        struct str place = {path, slash ? (size_t)(slash - path) + 1 : 0};
        if (!removed[i] || (i && str_equal(place, last)))
            continue;
        struct buf dir = BUF_INIT;
        buf_str(&dir, place.len ? place : STR("."));
        rc = buf_check(&dir, error) ?: os_sync_dir(dir.data, error);
        buf_release(&dir);
        last = place;
    }
    return rc;
}

/* 0 or an errno; ESTALE: it is not what it was any more. */
static int remove_file(const struct stale_file *file)
{
    struct file_sign seen, now;
    if (!stale_is_same(file->path, &file->row, NULL, &seen) ||
        !file_sign_at(AT_FDCWD, file->path, file->path, &now) ||
        memcmp(seen.bytes, now.bytes, sizeof now.bytes) != 0)
        return ESTALE;
    return unlink(file->path) ? errno : 0;
}

static enum cairn_stale state_of(const struct stale_file *file)
{
    switch ((enum stale_state)file->state) {
    case STALE_SAME:
        return CAIRN_STALE_SAME;
    case STALE_DIRECTORY:
        return CAIRN_STALE_DIRECTORY;
    case STALE_IN_PLACE:
        return CAIRN_STALE_IN_PLACE;
    case STALE_USED:
        return CAIRN_STALE_USED;
    case STALE_CHANGED:
        break;
    }
    return CAIRN_STALE_CHANGED;
}

static int clean_file(struct cleaning *c, uint32_t i, bool remove)
{
    const struct stale_file *file = &c->list.at[i];
    struct cairn_stale_file told = {.path = file->row.path.ptr,
                                    .task = file->row.task.ptr,
                                    .state = state_of(file),
                                    .user = file->user,
                                    .made = file->made,
                                    .size_bytes = file->row.size};
    if (told.state == CAIRN_STALE_SAME && remove) {
        int sys = remove_file(file);
        told.state = !sys            ? CAIRN_STALE_REMOVED
                     : sys == ESTALE ? CAIRN_STALE_CHANGED
                                     : CAIRN_STALE_FAILED;
        told.problem = told.state == CAIRN_STALE_FAILED ? strerror(sys) : NULL;
        c->removed[i] = !sys;
    }
    return c->each ? c->each(c->context, &told) : 0;
}

static int clean_all(struct cleaning *c, bool remove)
{
    int rc = 0;
    c->removed = calloc(c->list.n + 1, sizeof *c->removed);
    if (!c->removed)
        return error_nomem(c->error);
    for (uint32_t i = 0; i < c->list.n && !rc; i++)
        rc = clean_file(c, i, remove);
    return rc < 0 ? rc : 0;
}

/* What is not there any more is nobody's. A directory that stays was shown, and is the
 * user's from now on, as is a file that was there before: it is not named again. */
static int forget_removed(struct cleaning *c)
{
    int rc = sync_places(&c->list, c->removed, c->error)
                 ?: store_begin(c->store, -1, c->error);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < c->list.n && !rc; i++)
        if (c->removed[i] || c->list.at[i].state == STALE_DIRECTORY ||
            c->list.at[i].state == STALE_IN_PLACE)
            rc = store_drop_made(c->store, &c->list.at[i].row, c->error);
    for (uint32_t i = 0; i < c->list.n_missing && !rc; i++)
        rc = store_drop_made(c->store, &c->list.missing[i], c->error);
    return store_end(c->store, rc, c->error);
}

static int clean(struct cleaning *c, struct cairn_workflow *workflow,
                 const struct cairn_run_options *options, bool remove)
{
    struct situation s;
    int rc = situation_load(&s, workflow, c->store, options, c->error);
    if (rc)
        return rc;
    bool *skipped = stale_decided_skips(&s);
    const struct stale_scene scene = {.workflow = workflow,
                                      .store = c->store,
                                      .situation = &s,
                                      .lookup = &s.present.lookup,
                                      .skipped = skipped};
    rc = skipped ? stale_find(&c->list, &scene, (struct stale_limits){0}, c->error)
                 : error_nomem(c->error);
    if (!rc)
        rc = clean_all(c, remove);
    if (!rc && remove && !s.present.root_gone)
        rc = forget_removed(c);
    free(skipped);
    free(c->removed);
    stale_release(&c->list);
    situation_release(&s);
    return rc;
}

/* ---- Before a run ---- */

static int forget_gone(struct engine *e, struct cairn_error *error)
{
    const struct stale_list *list = &e->run.situation.present.gone.list;
    int rc = 0;
    for (uint32_t i = 0; i < list->n && !rc; i++)
        if (stale_goes(&list->at[i]))
            rc = store_drop_made(e->request.store, &list->at[i].row, error);
    return rc;
}

/* What was changed meanwhile is somebody's, and stays; what cannot be removed would be
 * joined. Killed anywhere in between, the next run finds what is left of them. */
int engine_remove_stale(struct engine *e, struct cairn_error *error)
{
    struct stale_list *list = &e->run.situation.present.gone.list;
    if (!e->run.situation.present.gone.paths.count || e->request.mode != MODE_RUN)
        return 0;
    bool *removed = calloc(list->n + 1, sizeof *removed);
    int rc = removed ? 0 : error_nomem(error);
    for (uint32_t i = 0; i < list->n && !rc; i++) {
        struct stale_file *file = &list->at[i];
        int sys = stale_goes(file) ? remove_file(file) : 0;
        removed[i] = stale_goes(file) && !sys;
        if (sys == ESTALE) {
            char text[400];
            snprintf(text, sizeof text, "%.*s stays: it was changed at this moment",
                     file->row.path.len < 300 ? (int)file->row.path.len : 300,
                     file->row.path.ptr);
            report(e, CAIRN_EVENT_NOTICE, text);
            file->state = STALE_CHANGED;
        } else if (sys)
            rc =
                error_sys(error, sys,
                          "cannot remove %.*s of %.*s, which is gone (`stale: remove`)",
                          (int)file->row.path.len, file->row.path.ptr,
                          (int)file->row.task.len, file->row.task.ptr);
    }
    if (!rc)
        rc = sync_places(list, removed, error)
                 ?: engine_transact(e, -1, forget_gone, error);
    free(removed);
    return rc;
}

int cairn_clean_stale(struct cairn_workflow *workflow, struct cairn_store *store,
                      const struct cairn_run_options *options, bool remove,
                      int (*each)(void *, const struct cairn_stale_file *),
                      void *context, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_run_options, options, error);
    struct cleaning c = {
        .store = store, .each = each, .context = context, .error = error};
    uint64_t id;
    int64_t offset;
    int rc = cairn_workflow_compile(workflow, error);
    if (rc || !remove)
        return rc ? rc : clean(&c, workflow, options, false);
    rc = owner_acquire(store, workflow->definition.name, &id, &offset, error);
    if (rc)
        return rc;
    rc = clean(&c, workflow, options, true);
    owner_release(store, offset);
    return rc;
}
