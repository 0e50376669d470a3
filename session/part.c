/* SPDX-License-Identifier: MIT */
/* The part of a board that a change concerns, loaded from the store item by item.
 *
 * The rules of board/ then work on that part as on the whole board. For that it has,
 * with each of its items, those that the item names; of a hypothesis all that names it;
 * of a belief its dependencies both ways and the beliefs of its subject; and where a
 * dependency could close a circle, or a belief's confidence is carried on, whatever is
 * reached from there. Nothing else of the board is read, so that a change costs as much
 * on a large board as on a small one.
 *
 * An item that is not found may have been lost: only then all items are read, which
 * names what is damaged or missing. */
#include "session/board/beliefs.h"
#include "session/session_int.h"

#include "base/memory.h"

#include <stdlib.h>

static int take_row(void *context, const struct item_row *row)
{
    struct live *live = context;
    struct item item;
    if (board_find(&live->board, (struct item_ref){row->kind, row->n}))
        return 0;
    return live_decode_item(live, row, &item)
               ?: board_add(&live->board, &item, live->item_error);
}

/* ---- One item ---- */

int live_get_item(struct live *live, struct item_ref ref, struct cairn_error *error)
{
    if (live->board.whole || board_find(&live->board, ref))
        return 0;
    live->item_error = error;
    return store_get_item(live->store, live->row.session, ref.kind, ref.n, take_row,
                          live, error);
}

int live_load_item(struct live *live, struct item_ref ref, struct cairn_error *error)
{
    int rc = live_get_item(live, ref, error);
    return rc || board_find(&live->board, ref) ? rc : live_check_items(live, error);
}

/* ---- What names it ---- */

static int load_about(struct live *live, int64_t link, struct cairn_error *error)
{
    live->item_error = error;
    return store_each_item_about(live->store, live->row.session, link, take_row, live,
                                 error);
}

static int load_also(struct live *live, int64_t link, struct cairn_error *error)
{
    live->item_error = error;
    return store_each_item_also(live->store, live->row.session, link, take_row, live,
                                error);
}

/* What the items name that are there; what that names is there, too, or nothing, since
 * hypotheses and beliefs name no others. */
static int load_named(struct live *live, struct cairn_error *error)
{
    int rc = 0;
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END && !rc; kind++) {
        const struct item_kind_info *info = item_kind_info(kind);
        for (uint32_t i = 0; i < live->board.lists[kind].n && !rc; i++)
            for (uint32_t f = 1; f <= info->n_fields && !rc; f++) {
                const struct item_value *value =
                    &live->board.lists[kind].items[i].values[f];
                if (value->present && info->fields[f - 1].type == FIELD_REF)
                    rc = live_load_item(live, value->ref, error);
            }
    }
    return rc;
}

static int load_subject(struct live *live, const struct item *belief,
                        struct cairn_error *error)
{
    const struct item_value *subject = &belief->values[BELIEF_SUBJECT];
    return subject->present
               ? load_about(live, item_link_of_subject(subject->text), error)
               : 0;
}

/* What names it, all of it. */
static int load_naming(struct live *live, struct item_ref ref,
                       struct cairn_error *error)
{
    return load_about(live, item_link(ref), error)
           ?: load_also(live, item_link(ref), error)
           ?: store_check_naming(live->store, live->row.session, ref.kind, ref.n,
                                 error);
}

/* Its dependencies, and what may contradict it. */
static int load_belief(struct live *live, uint32_t n, struct cairn_error *error)
{
    struct item_ref ref = {ITEM_BELIEF, n};
    int rc = live_load_item(live, ref, error);
    const struct item *belief = board_find(&live->board, ref);
    if (rc || !belief)
        return rc;
    return load_subject(live, belief, error) ?: load_naming(live, ref, error);
}

/* ---- What is reached ---- */

/* Beliefs to be looked at, in the order in which they were met, and the dependencies
 * between them. The board gets both at the end, by number, since one that comes before
 * others moves them. */
struct walk {
    struct live *live;
    enum belief_direction direction;
    uint32_t *met;
    size_t n, capacity;
    struct item *edges;
    size_t n_edges, edge_capacity;
    struct map known;
    struct cairn_error *error;
};

static int meet(struct walk *w, uint32_t n)
{
    uint32_t *key = arena_take(&w->live->arena, 1, sizeof *key);
    uint32_t *met = array_room(w->met, w->n, &w->capacity, sizeof *met);
    if (met)
        w->met = met;
    if (!key || !met)
        return error_nomem(w->error);
    *key = n;
    int added = map_add(&w->known, (struct str){(const char *)key, sizeof *key},
                        (uint32_t)w->n, NULL);
    if (added > 0)
        met[w->n++] = n;
    return added < 0 ? error_nomem(w->error) : 0;
}

/* Nothing but a dependency names a belief. */
static int see_edge(void *context, const struct item_row *row)
{
    struct walk *w = context;
    struct item *edges =
        array_room(w->edges, w->n_edges, &w->edge_capacity, sizeof *edges);
    if (!edges)
        return error_nomem(w->error);
    w->edges = edges;
    struct item *edge = &edges[w->n_edges];
    int rc = live_decode_item(w->live, row, edge);
    if (rc || row->kind != ITEM_DEPENDENCY)
        return rc;
    w->n_edges++;
    if (edge->values[DEPENDENCY_KIND].count == DEPENDENCY_CONTRADICTS)
        return 0;
    return meet(w, w->direction == BELIEF_NEEDS ? edge->values[DEPENDENCY_TO].ref.n
                                                : edge->values[DEPENDENCY_FROM].ref.n);
}

static int by_item_number(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->id.n > y->id.n) - (x->id.n < y->id.n);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int take_walk(struct walk *w)
{
    int rc = 0;
    if (w->n_edges)
        qsort(w->edges, w->n_edges, sizeof *w->edges, by_item_number);
    qsort(w->met, w->n, sizeof *w->met, by_number);
    for (size_t i = 0; i < w->n_edges && !rc; i++)
        if (!board_find(&w->live->board, w->edges[i].id))
            rc = board_add(&w->live->board, &w->edges[i], w->error);
    for (size_t i = 0; i < w->n && !rc; i++)
        rc = live_load_item(w->live, (struct item_ref){ITEM_BELIEF, w->met[i]},
                            w->error);
    return rc;
}

static int walk_from(struct walk *w, uint32_t first)
{
    struct live *live = w->live;
    int rc = meet(w, first);
    live->item_error = w->error;
    for (size_t i = 0; i < w->n && !rc; i++) {
        int64_t link = item_link((struct item_ref){ITEM_BELIEF, w->met[i]});
        rc = w->direction == BELIEF_NEEDS
                 ? store_each_item_about(live->store, live->row.session, link, see_edge,
                                         w, w->error)
                 : store_each_item_also(live->store, live->row.session, link, see_edge,
                                        w, w->error);
        if (!rc)
            rc = store_check_naming(live->store, live->row.session, ITEM_BELIEF,
                                    w->met[i], w->error);
    }
    rc = rc ?: take_walk(w);
    free(w->met);
    free(w->edges);
    map_release(&w->known);
    return rc;
}

int live_load_reach(struct live *live, uint32_t belief, enum belief_direction direction,
                    struct cairn_error *error)
{
    struct walk w = {.live = live, .direction = direction, .error = error};
    if (live->board.whole)
        return 0;
    return walk_from(&w, belief) ?: load_named(live, error);
}

/* ---- A change ---- */

/* A new one must not close a circle. */
static int load_dependency(struct live *live, const struct item *item,
                           struct cairn_error *error)
{
    const struct item_value *values = item->values;
    bool closes = !item->id.n && values[DEPENDENCY_TO].present &&
                  values[DEPENDENCY_KIND].count != DEPENDENCY_CONTRADICTS;
    int rc = load_belief(live, values[DEPENDENCY_FROM].ref.n, error);
    return rc || !closes ? rc
                         : live_load_reach(live, values[DEPENDENCY_TO].ref.n,
                                           BELIEF_NEEDS, error);
}

static int load_arithmetic(struct live *live, const struct item *item,
                           struct cairn_error *error)
{
    int rc;
    switch ((enum item_kind)item->id.kind) {
    case ITEM_HYPOTHESIS:
        return item->id.n ? load_naming(live, item->id, error) : 0;
    case ITEM_EVIDENCE:
        if (!item->values[EVIDENCE_HYPOTHESIS].present)
            return 0;
        return load_naming(live, item->values[EVIDENCE_HYPOTHESIS].ref, error);
    case ITEM_BELIEF:
        rc = item->id.n ? load_belief(live, item->id.n, error) : 0;
        return rc ?: load_subject(live, item, error);
    case ITEM_DEPENDENCY:
        return item->values[DEPENDENCY_FROM].present
                   ? load_dependency(live, item, error)
                   : 0;
    case ITEM_GAP:
    case ITEM_NOTE:
    case ITEM_COMMAND:
    case ITEM_CHECK:
        break;
    }
    return 0;
}

/* What it names. Notes may be about what was removed: they are looked for where the
 * item that is there does not name them already. */
static int load_refs(struct live *live, const struct item *item,
                     struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    int rc = 0;
    for (uint32_t i = 1; i <= info->n_fields && !rc; i++) {
        const struct item_value *value = &item->values[i];
        if (value->present && info->fields[i - 1].type == FIELD_REF)
            rc = live_load_item(live, value->ref, error);
        for (uint32_t r = 0; value->present && value->refs && r < value->n && !rc; r++)
            rc = live_get_item(live, value->refs[r], error);
    }
    return rc;
}

int live_load_concerned(struct live *live, const struct item *item,
                        struct cairn_error *error)
{
    if (live->board.whole)
        return 0;
    return load_refs(live, item, error)
           ?: load_arithmetic(live, item, error)
           ?: load_named(live, error);
}

int live_load_referrers(struct live *live, struct item_ref ref,
                        struct cairn_error *error)
{
    if (live->board.whole)
        return 0;
    return load_naming(live, ref, error) ?: load_named(live, error);
}

/* ---- Beginning ---- */

static int note_last(void *context, const struct item_row *row)
{
    struct board_list *list = context;
    if (row->n > list->last)
        list->last = row->n;
    return 0;
}

int live_load_part(struct live *live, uint8_t kind, struct cairn_error *error)
{
    bool linked = false;
    int rc = store_items_linked(live->store, live->row.session, &linked, error);
    if (rc || live->board.whole)
        return rc;
    if (!linked)
        return live_load_board(live, error);
    for (unsigned k = 1; k < ITEM_KINDS_END; k++)
        live->board.lists[k].last = live->numbers[k];
    return kind ? store_last_item(live->store, live->row.session, kind, note_last,
                                  &live->board.lists[kind], error)
                : 0;
}
