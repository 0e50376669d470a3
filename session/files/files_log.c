/* SPDX-License-Identifier: MIT */
/* The versions of one path. */
#include "session/files/history_int.h"
#include "snapshot/snapshot.h"

struct logging {
    struct history h;
    struct trail trail;
    int (*each)(void *, const struct cairn_file_version *);
    void *context;
    uint64_t left; /* that may be told */
    uint64_t told, damaged;
    bool stopped;
};

/* What a path was in one state. */
struct look {
    bool damaged;
    const struct tree_entry *entry; /* NULL: it was not there */
};

static int look_at(struct logging *l, uint32_t step, struct look *look)
{
    *look = (struct look){.damaged = false};
    if (step == STEP_NONE)
        return 0;
    int rc = history_read(&l->h, step);
    const struct step *at = &l->h.steps[step];
    look->damaged = at->state == STEP_DAMAGED;
    if (rc || at->state != STEP_FILES)
        return rc;
    rc = trail_look(&l->trail, l->h.live.store, &at->root, &look->entry, l->h.error);
    look->damaged = rc == CAIRN_EDAMAGED;
    return look->damaged ? 0 : rc;
}

static const char *change_name(const struct look *before, const struct look *after)
{
    const struct tree_entry *a = before->entry, *b = after->entry;
    if (after->damaged)
        return "damaged";
    if (!a || !b)
        return b ? "added" : a ? "removed" : NULL;
    if (tree_same(a, b))
        return NULL;
    struct tree_entry with_mode = *b;
    with_mode.mode = a->mode;
    return tree_same(a, &with_mode) ? "mode" : "changed";
}

static int tell(struct logging *l, uint32_t step, const char *change,
                const struct look *look)
{
    struct arena arena = ARENA_INIT;
    struct step_told told;
    struct cairn_file file;
    const char *path = arena_text(&arena, l->trail.path);
    struct cairn_file_version version = {.change = change,
                                         .seq = l->h.steps[step].seq,
                                         .time_ns = l->h.steps[step].time_ns};
    int rc = path ? history_tell(&l->h, step, &arena, &told) : error_nomem(l->h.error);
    if (!rc && look->entry && !files_tell(&arena, path, look->entry, &file))
        rc = error_nomem(l->h.error);
    if (!rc) {
        memcpy(version.id, told.id, sizeof version.id);
        version.message = told.message;
        version.branch = told.branch;
        version.file = look->entry ? &file : NULL;
        l->told += !look->damaged;
        l->stopped = l->each(l->context, &version) || --l->left == 0;
    }
    arena_release(&arena);
    return rc;
}

/* A state that is damaged is passed over by what is compared with it. */
static int look_before(struct logging *l, uint32_t step, struct look *look)
{
    uint32_t before = step;
    int rc;
    do {
        rc = history_before(&l->h, before, &before);
        if (!rc)
            rc = look_at(l, before, look);
    } while (!rc && look->damaged);
    return rc;
}

static int log_step(struct logging *l, uint32_t step)
{
    struct look after, before = {.damaged = false};
    int rc = look_at(l, step, &after);
    if (rc || (l->h.steps[step].state == STEP_EMPTY))
        return rc;
    l->damaged += after.damaged;
    if (!after.damaged)
        rc = look_before(l, step, &before);
    const char *change = rc ? NULL : change_name(&before, &after);
    return change ? tell(l, step, change, &after) : rc;
}

static int log_all(struct logging *l)
{
    int rc = 0;
    for (size_t i = l->h.n; i-- > 0 && !rc && !l->stopped;)
        rc = log_step(l, (uint32_t)i);
    if (rc || l->stopped)
        return rc;
    if (l->damaged)
        return error_set(l->h.error, CAIRN_EDAMAGED,
                         "%llu of the checkpoints cannot be read: `cairn checkpoint "
                         "verify` says why",
                         (unsigned long long)l->damaged);
    if (!l->told)
        return error_set(l->h.error, CAIRN_ENOTFOUND,
                         "none of %llu checkpoints holds %.200s: `cairn checkpoint "
                         "files` shows what there is",
                         (unsigned long long)l->h.n, l->trail.path.ptr);
    return 0;
}

int cairn_files_log(struct cairn_store *store, const char *session, const char *path,
                    bool all, uint64_t most,
                    int (*each)(void *, const struct cairn_file_version *),
                    void *context, struct cairn_error *error)
{
    struct logging l = {.trail = trail_begin(str_of(path)),
                        .each = each,
                        .context = context,
                        .left = most ? most : UINT64_MAX};
    int rc = history_open(&l.h, store, session, NULL, all, error);
    if (!rc)
        rc = log_all(&l);
    trail_end(&l.trail);
    return history_close(&l.h, rc);
}
