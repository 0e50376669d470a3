/* SPDX-License-Identifier: MIT */
/* Attempts whose end was noted before its owner was killed (process/end_notes.h): they
 * were not interrupted. What their task is started for is there already; only the
 * outcome is not stored yet. */
#include "plan/situation_int.h"

#include "base/array.h"
#include "graph/match.h"
#include "plan/ended_files.h"
#include "runs/run_tasks.h"
#include "storage/store.h"

#include <stdlib.h>

struct collecting {
    struct loader *l;
    size_t capacity;
    uint32_t n_touched; /* notes that do not count, since files have changed */
};

/* Are the secrets of the workflow as they were? What it wrote cannot be searched for
 * others. Who only looks may not have them all. */
static bool had_these_secrets(const struct loader *l, const struct end_note *note)
{
    const struct definition *d = &l->w->definition;
    uint64_t basis = 0;
    return l->as_is || secrets_missing(&l->s->secrets).len ||
           (!secrets_basis(&l->s->secrets, d->secrets, d->n_secrets, &basis) &&
            basis == note->basis);
}

/* Of a recorded task. One that is not in the workflow any more has no files, and its
 * end counts for nothing either way. */
static int check_files(struct collecting *c, uint32_t task, const struct end_note *note,
                       bool *count)
{
    enum { SHOWN = 3 };
    struct loader *l = c->l;
    struct buf why = BUF_INIT;
    uint32_t now = map_task(situation_old(l->s, l->w), task, &l->w->graph);
    struct asker asker = {&l->s->present.lookup, now, note->attempt};
    *count = true;
    if (now == NODE_NONE)
        return 0;
    int rc = ended_files_check(&asker, note, &why, l->error);
    *count = !why.size;
    if (!rc && why.size && c->n_touched++ < SHOWN)
        situation_add_notice(
            l->s,
            "%s had ended when the run was killed, but %.*s: that end does not count",
            l->w->graph.id[now], (int)why.size, why.data);
    buf_release(&why);
    return rc;
}

/* Of the newest attempt of a task, whose end nobody has stored? */
static bool is_wanted(const struct collecting *c, uint32_t task,
                      const struct end_note *note)
{
    const struct recorded *r = &c->l->s->recorded;
    return task != NODE_NONE && r->marks[task] == MARK_INTERRUPTED &&
           had_these_secrets(c->l, note) &&
           noted_end_counts(c->l->store, r->row.run, note);
}

static int take_note(void *context, const struct end_note *note)
{
    struct collecting *c = context;
    struct recorded *r = &c->l->s->recorded;
    const struct attempt_numbers of = {note->gen, note->task, note->attempt};
    uint32_t task;
    int rc = situation_find_open(c->l, &of, &task);
    bool counts = !rc && is_wanted(c, task, note);
    if (counts)
        rc = check_files(c, task, note, &counts);
    if (rc || !counts)
        return rc;
    struct end_note *at = array_room(r->noted, r->n_noted, &c->capacity, sizeof *at);
    if (!at)
        return error_nomem(c->l->error);
    r->noted = at;
    at += r->n_noted++;
    *at = *note;
    at->task = task;
    situation_note_outlived(c->l, task, &of);
    return 0;
}

/* The same of one whose end its keeper has recorded. */
static int check_keeper(void *context, struct keeper *keeper)
{
    struct collecting *c = context;
    struct recorded *r = &c->l->s->recorded;
    uint32_t task = situation_kept_task(c->l->s, &keeper->id);
    if (keeper->fate != KEEPER_ENDED || task == NODE_NONE ||
        !(r->marks[task] & MARK_OUTLIVED))
        return 0;
    struct end_note note = ended_note_of(keeper, task);
    bool counts;
    int rc = check_files(c, task, &note, &counts);
    if (!rc && !counts) {
        r->marks[task] = MARK_INTERRUPTED;
        r->n_outlived--;
    }
    return rc;
}

static int by_task(const void *a, const void *b)
{
    const struct end_note *x = a, *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

static bool any_interrupted(const struct recorded *r)
{
    for (uint32_t task = 0; task < r->states.n; task++)
        if (r->marks[task] == MARK_INTERRUPTED)
            return true;
    return false;
}

int situation_find_end_notes(struct loader *l)
{
    struct recorded *r = &l->s->recorded;
    struct end_notes_damage damage = {0};
    struct collecting c = {.l = l};
    if (!r->recovered)
        return 0;
    int rc = r->n_outlived ? keepers_each(store_live_dir(l->store), store_id(l->store),
                                          r->row.run, check_keeper, &c, l->error)
                           : 0;
    if (rc || !any_interrupted(r))
        return rc;
    rc = end_notes_each(store_live_dir(l->store), store_id(l->store), r->row.run,
                        take_note, &c, &damage, l->error);
    if (!rc && r->n_noted)
        qsort(r->noted, r->n_noted, sizeof *r->noted, by_task);
    if (!rc && (damage.files || damage.notes))
        situation_add_notice(
            l->s,
            "%u notes of ended processes of run %llu cannot be read: what "
            "they were about runs again",
            damage.files + damage.notes, (unsigned long long)r->row.run);
    return rc;
}

const struct end_note *situation_noted_end(const struct situation *s, uint32_t old_task)
{
    struct end_note key = {.task = old_task};
    const struct recorded *r = &s->recorded;
    return r->n_noted ? bsearch(&key, r->noted, r->n_noted, sizeof key, by_task) : NULL;
}
