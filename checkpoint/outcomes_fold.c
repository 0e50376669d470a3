/* SPDX-License-Identifier: MIT */
/* What several records of a run add up to, as one: from a full record on the state of
 * all tasks, before one the last change of each task. Invariant: all changes are about
 * the full record `base`. */
#include "checkpoint/outcomes_int.h"

#include "base/array.h"
#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>

struct folded_change {
    struct change change;
    size_t order;
};

void outcome_fold_release(void *fold)
{
    struct outcome_fold *f = fold;
    states_release(&f->whole);
    free(f->at);
    *f = (struct outcome_fold){0};
}

/* ---- Adding ---- */

static int begin_whole(struct outcome_fold *f, const struct sound_record *record,
                       struct cairn_error *error)
{
    struct outcome_fold made = {.base = record->header.seq, .full = true};
    int rc = payload_parse_full(record->payload, &made.whole, &made.graph, error);
    if (rc)
        return rc;
    outcome_fold_release(f);
    *f = made;
    return 0;
}

struct adding {
    struct outcome_fold *fold;
    struct cairn_error *error;
};

static int apply_change(void *context, const struct change *change)
{
    struct adding *adding = context;
    return states_apply(&adding->fold->whole, change, adding->error);
}

static int append_change(void *context, const struct change *change)
{
    struct adding *adding = context;
    struct outcome_fold *f = adding->fold;
    struct folded_change *at = array_room(f->at, f->n, &f->room, sizeof *at);
    if (!at)
        return error_nomem(adding->error);
    f->at = at;
    f->at[f->n] = (struct folded_change){*change, f->n};
    f->n++;
    return 0;
}

static int fit_fold(const struct outcome_fold *f, const struct delta *delta,
                    struct cairn_error *error)
{
    if (f->base && f->base != delta->base)
        return error_set(error, CAIRN_EDAMAGED, "it belongs to another full record");
    if (!f->full)
        return f->n && f->tag != delta->graph_tag
                   ? error_set(error, CAIRN_EDAMAGED, "it belongs to another graph")
                   : 0;
    int rc = delta_fit_graph(delta, &f->graph, error);
    return rc ? rc : delta_fit_tasks(delta, f->whole.n, error);
}

int outcome_fold(void *fold, const struct sound_record *record,
                 struct cairn_error *error)
{
    struct outcome_fold *f = fold;
    struct adding adding = {f, error};
    struct delta delta;
    assert_sound(record);
    if (record->header.kind == RECORD_FULL)
        return begin_whole(f, record, error);
    int rc = payload_parse_delta(record->payload, &delta, error);
    if (rc)
        return rc;
    size_t before = f->n;
    rc = fit_fold(f, &delta, error);
    if (!rc)
        rc = delta_each(&delta, LIMIT_TASKS, f->full ? apply_change : append_change,
                        &adding, error);
    if (!rc && !f->full) {
        assert(f->n == before + delta.n);
        f->base = delta.base;
        f->tag = delta.graph_tag;
    } else if (rc) {
        f->n = before;
    }
    delta_release(&delta);
    return rc;
}

/* ---- The result ---- */

static int by_task(const void *a, const void *b)
{
    const struct folded_change *x = a, *y = b;
    if (x->change.task != y->change.task)
        return x->change.task < y->change.task ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int put_changes(const struct outcome_fold *f, struct buf *payload,
                       struct cairn_error *error)
{
    struct folded_change *sorted = malloc(f->n * sizeof *sorted);
    struct change *last = malloc(f->n * sizeof *last);
    int rc = 0;
    if (sorted && last) {
        size_t n = 0;
        memcpy(sorted, f->at, f->n * sizeof *sorted);
        qsort(sorted, f->n, sizeof *sorted, by_task);
        for (size_t i = 0; i < f->n; i++)
            if (i + 1 == f->n || sorted[i + 1].change.task != sorted[i].change.task)
                last[n++] = sorted[i].change;
        assert(n > 0 && n <= f->n);
        rc = payload_delta(f->base, f->tag, last, n, payload, error);
    } else {
        rc = error_nomem(error);
    }
    free(sorted);
    free(last);
    return rc;
}

int outcome_fold_put(const void *fold, struct folded *folded, struct buf *payload,
                     struct cairn_error *error)
{
    const struct outcome_fold *f = fold;
    assert(f->base > 0 && (f->full || f->n > 0));
    *folded = (struct folded){f->full, f->base};
    return f->full ? payload_full(&f->whole, &f->graph, payload, error)
                   : put_changes(f, payload, error);
}
