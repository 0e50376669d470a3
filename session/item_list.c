/* SPDX-License-Identifier: MIT */
/* Items for people and programs: one, or a list, as they are now or were at a
 * checkpoint. */
#include "session/session_int.h"

#include "base/error.h"
#include "session/board/gaps.h"
#include "storage/store.h"

#include <stdlib.h>

/* A board to be looked at: the present one, or that of a checkpoint. */
struct view {
    struct live live;
    struct state_at state;
    const struct board *board;
    bool past;
};

/* Of another session than the one that is named it would be a wrong answer. */
static int check_session(struct view *view, const char *session,
                         struct cairn_error *error)
{
    uint64_t of = view->state.at.session;
    int rc = session ? live_find(&view->live, session, error) : 0;
    if (rc || !session || !of || of == view->live.row.session)
        return rc;
    return error_set(error, CAIRN_EUSAGE,
                     "that checkpoint is of session %llu, not of %.*s: give --session "
                     "%llu",
                     (unsigned long long)of, (int)view->live.row.name.len,
                     view->live.row.name.ptr, (unsigned long long)of);
}

static int open_view(struct view *view, struct cairn_store *store, const char *session,
                     const char *checkpoint, struct cairn_error *error)
{
    uint64_t seq;
    *view = (struct view){.past = false};
    if (!checkpoint) {
        int rc = live_read(&view->live, store, session, error);
        view->board = &view->live.board;
        if (!rc)
            rc = live_load_board(&view->live, error);
        return rc ? rc : board_check(view->board, error);
    }
    int rc = live_begin(&view->live, store, false, error);
    if (!rc)
        rc = debug_seq(store, checkpoint, &seq, error);
    if (rc)
        return rc;
    view->past = true;
    view->board = &view->state.board;
    rc = state_read(store, view->live.sha, seq, &view->state, error);
    return rc ? rc : check_session(view, session, error);
}

/* The transaction ends before the callbacks, which may use the store. */
static void close_transaction(struct view *view)
{
    if (view->live.open)
        store_end_read(view->live.store);
    view->live.open = false;
}

static void close_view(struct view *view)
{
    if (view->past)
        state_release(&view->state);
    live_close(&view->live, 0, NULL);
}

/* ---- One ---- */

int cairn_item_get(struct cairn_store *store, const char *session, const char *id,
                   const char *checkpoint,
                   int (*got)(void *, const struct cairn_item *), void *context,
                   struct cairn_error *error)
{
    struct view view;
    struct item_ref ref;
    struct cairn_item shown;
    int rc = open_view(&view, store, session, checkpoint, error);
    if (!rc)
        rc = item_id_parse(str_of(id), &ref, error);
    const struct item *item = rc ? NULL : board_find(view.board, ref);
    if (!rc && !item)
        rc = error_set(error, CAIRN_ENOTFOUND, "there is no %.80s %s", id,
                       checkpoint ? "at that checkpoint" : "on the board");
    if (!rc)
        rc = item_show(&view.live.arena, view.board, item, view.live.now.utc_ns, &shown,
                       error);
    close_transaction(&view);
    if (!rc)
        got(context, &shown);
    close_view(&view);
    return rc;
}

/* ---- Many ---- */

struct chosen {
    const struct item **items;
    size_t n;
};

static bool matches_field(const struct cairn_field *field, const char *value)
{
    if (field->type == CAIRN_FIELD_TEXT)
        return strcmp(field->text, value) == 0;
    for (size_t i = 0; i < field->n; i++)
        if (strcmp(field->texts[i], value) == 0)
            return true;
    return field->type == CAIRN_FIELD_FLAG && strcmp(value, "yes") == 0;
}

static int matches(struct view *view, const struct cairn_item_filter *filter,
                   const struct item *item, struct cairn_error *error)
{
    struct cairn_item shown;
    if (!filter->field)
        return 1;
    int rc = item_show(&view->live.arena, view->board, item, view->live.now.utc_ns,
                       &shown, error);
    if (rc)
        return rc;
    for (size_t i = 0; i < shown.n_fields; i++)
        if (strcmp(shown.fields[i].name, filter->field) == 0)
            return matches_field(&shown.fields[i], filter->value);
    return 0;
}

static int choose_kind(struct view *view, const struct cairn_item_filter *filter,
                       uint8_t kind, struct chosen *chosen, struct cairn_error *error)
{
    struct section section = board_section(view->board, kind);
    const struct item **items = realloc(chosen->items, (chosen->n + section.n + 1) *
                                                           sizeof(const struct item *));
    if (!items)
        return error_nomem(error);
    chosen->items = items;
    int rc = 0;
    for (uint32_t i = 0; i < section.n && rc >= 0; i++) {
        rc = matches(view, filter, &section.items[i], error);
        if (rc > 0)
            items[chosen->n++] = &section.items[i];
    }
    return rc < 0 ? rc : 0;
}

/* Puts the open ones in the order of their score. */
static int rank_gaps(struct view *view, struct chosen *chosen,
                     struct cairn_error *error)
{
    struct gap *gaps = calloc(chosen->n + 1, sizeof *gaps);
    struct gap_rank *ranked = calloc(chosen->n + 1, sizeof *ranked);
    const struct item **items = calloc(chosen->n + 1, sizeof(const struct item *));
    uint32_t n = 0;
    int rc = gaps && ranked && items ? 0 : error_nomem(error);
    for (size_t i = 0; i < chosen->n && !rc; i++)
        rc = gap_of(view->board, chosen->items[i], &gaps[i], error);
    if (!rc)
        rc = gap_order(gaps, (uint32_t)chosen->n, view->live.now.utc_ns, ranked, &n,
                       error);
    for (uint32_t i = 0; i < n && !rc; i++)
        items[i] = chosen->items[ranked[i].gap];
    for (uint32_t i = 0; i < n && !rc; i++)
        chosen->items[i] = items[i];
    chosen->n = rc ? chosen->n : n;
    free(gaps);
    free(ranked);
    free(items);
    return rc;
}

struct likely {
    double confidence;
    const struct item *item;
};

/* The most likely first, then by number. */
static int by_confidence(const void *a, const void *b)
{
    const struct likely *x = a, *y = b;
    if (x->confidence < y->confidence || x->confidence > y->confidence)
        return x->confidence < y->confidence ? 1 : -1;
    return (x->item->id.n > y->item->id.n) - (x->item->id.n < y->item->id.n);
}

static int rank_hypotheses(struct view *view, struct chosen *chosen,
                           struct cairn_error *error)
{
    struct likely *ranked = calloc(chosen->n + 1, sizeof *ranked);
    int rc = ranked ? 0 : error_nomem(error);
    for (size_t i = 0; i < chosen->n && !rc; i++) {
        ranked[i].item = chosen->items[i];
        rc = board_confidence(view->board, ranked[i].item->id, &ranked[i].confidence,
                              error);
    }
    if (!rc && chosen->n)
        qsort(ranked, chosen->n, sizeof *ranked, by_confidence);
    for (size_t i = 0; i < chosen->n && !rc; i++)
        chosen->items[i] = ranked[i].item;
    free(ranked);
    return rc;
}

static int rank(struct view *view, uint8_t kind, struct chosen *chosen,
                struct cairn_error *error)
{
    return kind == ITEM_GAP ? rank_gaps(view, chosen, error)
                            : rank_hypotheses(view, chosen, error);
}

static int choose(struct view *view, const struct cairn_item_filter *filter,
                  struct chosen *chosen, struct cairn_error *error)
{
    uint8_t only = filter->kind ? item_kind_parse(filter->kind) : 0;
    int rc = 0;
    if (filter->kind && !only)
        return error_set(error, CAIRN_EUSAGE, "'%.80s' is no kind of item",
                         filter->kind);
    if (filter->by_score && only != ITEM_GAP && only != ITEM_HYPOTHESIS)
        return error_set(error, CAIRN_EUSAGE, "only gaps and hypotheses have a score");
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++)
        if (!only || only == kind)
            rc = choose_kind(view, filter, kind, chosen, error);
    if (!rc && filter->by_score)
        rc = rank(view, only, chosen, error);
    return rc;
}

static int tell_page(struct view *view, const struct cairn_item_filter *filter,
                     const struct chosen *chosen,
                     int (*each)(void *, const struct cairn_item *), void *context,
                     struct cairn_error *error)
{
    const struct cairn_page *page = &filter->page;
    bool forward = page->oldest_first || filter->by_score;
    uint64_t limit = page->all ? UINT64_MAX : page->limit ? page->limit : 10;
    int rc = 0, stopped = 0;
    for (uint64_t i = page->offset; i < chosen->n && i - page->offset < limit; i++) {
        struct cairn_item shown;
        size_t at = forward ? (size_t)i : chosen->n - 1 - (size_t)i;
        rc = item_show(&view->live.arena, view->board, chosen->items[at],
                       view->live.now.utc_ns, &shown, error);
        if (!rc)
            stopped = each(context, &shown);
        if (rc || stopped)
            break;
    }
    return rc;
}

int cairn_item_list(struct cairn_store *store, const char *session,
                    const struct cairn_item_filter *filter,
                    int (*each)(void *, const struct cairn_item *), void *context,
                    uint64_t *total, struct cairn_error *error)
{
    SIZE_CHECK("cairn_item_filter", filter, error);
    struct view view;
    struct chosen chosen = {0};
    int rc = open_view(&view, store, session, filter->checkpoint, error);
    close_transaction(&view);
    if (!rc)
        rc = choose(&view, filter, &chosen, error);
    if (!rc)
        rc = tell_page(&view, filter, &chosen, each, context, error);
    if (!rc && total)
        *total = chosen.n;
    free(chosen.items);
    close_view(&view);
    return rc;
}

/* ---- Beliefs of which at most one is true ---- */

int cairn_belief_contradictions(struct cairn_store *store, const char *session,
                                const char *belief, const char *checkpoint,
                                int (*each)(void *, const char *a, const char *b),
                                void *context, uint64_t *total,
                                struct cairn_error *error)
{
    struct view view;
    struct item_ref id = {0};
    struct contradictions found = {0};
    int rc = open_view(&view, store, session, checkpoint, error);
    close_transaction(&view);
    if (!rc && belief)
        rc = item_id_parse(str_of(belief), &id, error);
    if (!rc && belief && (id.kind != ITEM_BELIEF || !board_find(view.board, id)))
        rc = error_set(error, CAIRN_ENOTFOUND, "there is no belief %.80s", belief);
    if (!rc)
        rc = board_contradictions(view.board, id.n, &found, error);
    for (uint32_t i = 0, stopped = 0; i < found.n && !rc && !stopped; i++) {
        char a[ITEM_ID_MAX], b[ITEM_ID_MAX];
        item_id((struct item_ref){ITEM_BELIEF, found.at[i].a}, a);
        item_id((struct item_ref){ITEM_BELIEF, found.at[i].b}, b);
        stopped = each(context, a, b) != 0;
    }
    if (!rc && total)
        *total = found.total;
    free(found.at);
    close_view(&view);
    return rc;
}
