/* SPDX-License-Identifier: MIT */
/* Attempts whose end was noted before its owner was killed (process/end_notes.h): they
 * were not interrupted. What their task is started for is there already; only the
 * outcome is not stored yet. */
#include "plan/situation_int.h"

#include "base/array.h"
#include "process/end_notes.h"
#include "runs/noted_ends.h"
#include "storage/store.h"

#include <stdlib.h>

struct collecting {
    struct loader *l;
    size_t capacity;
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

/* Of the newest attempt of a task, whose end nobody has stored. */
static bool is_wanted(const struct collecting *c, const struct end_note *note)
{
    const struct recorded *r = &c->l->s->recorded;
    return note->gen == r->row.gen && note->task < r->states.n &&
           note->attempt == r->last_attempt[note->task] &&
           r->marks[note->task] == MARK_INTERRUPTED && had_these_secrets(c->l, note) &&
           noted_end_counts(c->l->store, r->row.run, note);
}

static int take_note(void *context, const struct end_note *note)
{
    struct collecting *c = context;
    struct recorded *r = &c->l->s->recorded;
    if (!is_wanted(c, note))
        return 0;
    struct end_note *at = array_room(r->noted, r->n_noted, &c->capacity, sizeof *at);
    if (!at)
        return error_nomem(c->l->error);
    r->noted = at;
    r->noted[r->n_noted++] = *note;
    r->marks[note->task] = MARK_OUTLIVED;
    r->n_outlived++;
    return 0;
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
    /* In an edited workflow the numbers of tasks and generations are others. */
    if (!r->recovered || !r->same_graph || !any_interrupted(r))
        return 0;
    int rc = end_notes_each(store_live_dir(l->store), store_id(l->store), r->row.run,
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
