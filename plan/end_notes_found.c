/* SPDX-License-Identifier: MIT */
/* Attempts whose end was noted before its owner was killed (process/end_notes.h): they
 * were not interrupted. What their task is started for is there already; only the
 * outcome is not stored yet. */
#include "plan/situation_int.h"

#include "base/array.h"
#include "process/end_notes.h"
#include "process/keeper.h"
#include "runs/noted_ends.h"
#include "runs/outputs.h"
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

/* An output that was there before its task started: it was moved there since, or the
 * clock was set back. Times of files lag a little behind the clock, and may be those of
 * a clock of seconds. */
static bool is_older(int64_t changed_ns, int64_t started_ns)
{
    enum { LAG_NS = 20000000, SECOND_NS = 1000000000 };
    int64_t lag = changed_ns % SECOND_NS ? LAG_NS : LAG_NS + SECOND_NS;
    return changed_ns < started_ns - lag;
}

/* Names the first file that has changed since, if one has. CAIRN_ENOTFOUND: one is
 * gone. */
static int find_touched(struct loader *l, const struct end_note *note, bool inputs,
                        struct buf *which, struct cairn_error *error)
{
    struct asker asker = {&l->s->present.lookup, note->task, note->attempt};
    struct scope scope = lookup_scope(&asker);
    struct files f;
    int64_t changed_ns;
    int rc = files_begin(&f, &scope, inputs, error), more = 0;
    while (!rc && !which->size && (more = files_step(&f, error)) > 0) {
        rc = file_changed(f.path.data, &changed_ns, error);
        bool later =
            inputs ? changed_ns >= note->started_ns : changed_ns > note->ended_ns;
        if (rc || later || (!inputs && is_older(changed_ns, note->started_ns)))
            buf_str(which, buf_view(&f.name));
    }
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

/* Times tell nothing of what was moved there, or of a clock that was set. */
static int compare_inputs(struct loader *l, const struct end_note *note,
                          struct buf *which, struct cairn_error *error)
{
    struct asker asker = {&l->s->present.lookup, note->task, note->attempt};
    uint64_t now;
    int rc = inputs_sign_now(&asker, &now, error);
    if (!rc && now != note->inputs)
        buf_text(which, "what it read");
    return rc;
}

static void notice_touched(struct collecting *c, uint32_t task, struct str which,
                           bool gone)
{
    enum { SHOWN = 3 };
    if (c->n_touched++ < SHOWN)
        situation_add_notice(c->l->s,
                             "%s had ended when the run was killed, but %.*s %s: that "
                             "end does not count",
                             c->l->w->graph.id[task], (int)which.len, which.ptr,
                             gone ? "is gone" : "has changed since");
}

/* What it read and made was not recorded yet. If that has changed since it began or
 * ended, by another run or by hand, nobody knows what it was. */
static int check_files(struct collecting *c, const struct end_note *note, bool *count)
{
    struct cairn_error why = {0};
    struct buf which = BUF_INIT;
    const struct task_def *def = graph_def(&c->l->w->graph, note->task);
    int rc = def->n_inputs ? find_touched(c->l, note, true, &which, &why) : 0;
    if (!rc && !which.size && def->n_inputs)
        rc = compare_inputs(c->l, note, &which, &why);
    if (!rc && !which.size && def->n_outputs && !note->exit_code)
        rc = find_touched(c->l, note, false, &which, &why);
    bool nomem = rc == CAIRN_ENOMEM || which.failed;
    *count = !rc && !which.size;
    if (!*count && !nomem)
        notice_touched(c, note->task, buf_view(&which), rc == CAIRN_ENOTFOUND);
    buf_release(&which);
    return nomem ? error_nomem(c->l->error) : 0;
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
    bool counts = is_wanted(c, note);
    int rc = counts ? check_files(c, note, &counts) : 0;
    if (rc || !counts)
        return rc;
    struct end_note *at = array_room(r->noted, r->n_noted, &c->capacity, sizeof *at);
    if (!at)
        return error_nomem(c->l->error);
    r->noted = at;
    r->noted[r->n_noted++] = *note;
    r->marks[note->task] = MARK_OUTLIVED;
    r->n_outlived++;
    return 0;
}

/* The same of one whose end its keeper has recorded. */
static int check_keeper(void *context, struct keeper *keeper)
{
    struct collecting *c = context;
    struct recorded *r = &c->l->s->recorded;
    const struct keeper_record *end = &keeper->record;
    uint32_t task = situation_kept_task(c->l->s, &keeper->id);
    if (keeper->fate != KEEPER_ENDED || task == NODE_NONE ||
        !(r->marks[task] & MARK_OUTLIVED))
        return 0;
    struct end_note note = {.task = task,
                            .attempt = keeper->id.attempt,
                            .exit_code = end->exit_code,
                            .inputs = keeper->inputs,
                            .started_ns = end->started_ns,
                            .ended_ns = end->ended_ns};
    bool counts;
    int rc = check_files(c, &note, &counts);
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
    /* In an edited workflow the numbers of tasks and generations are others. */
    if (!r->recovered || !r->same_graph)
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
