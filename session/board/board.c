/* SPDX-License-Identifier: MIT */
/* The items of a session in memory: held, weighed, and changed by the rules. */
#include "session/board/board.h"

#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "session/board/item.h"

#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CHECK_TIMEOUT_MOST = 7 * 86400000, /* ms */
    CHECK_RETRIES_MOST = 100
};

/* ==== The items ==== */

/* The items of a board, by kind and number. */

void board_init(struct board *board)
{
    *board = (struct board){.arena = ARENA_INIT};
}

void board_release(struct board *board)
{
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        free(board->lists[kind].items);
    arena_release(&board->arena);
    board_init(board);
}

/* ---- Lists ---- */

/* Where it is, or would be. */
static uint32_t board_place(const struct board_list *list, uint32_t n)
{
    struct section section = {list->items, list->n};
    return section_place(&section, n);
}

static struct item *item_at(const struct board *board, struct item_ref id)
{
    assert(item_kind_info(id.kind));
    const struct board_list *list = &board->lists[id.kind];
    uint32_t at = board_place(list, id.n);
    return at < list->n && list->items[at].id.n == id.n ? &list->items[at] : NULL;
}

const struct item *board_find(const struct board *board, struct item_ref id)
{
    return item_kind_info(id.kind) ? item_at(board, id) : NULL;
}

struct section board_section(const struct board *board, uint8_t kind)
{
    assert(item_kind_info(kind));
    return (struct section){board->lists[kind].items, board->lists[kind].n};
}

/* For one more item. */
static int board_make_room(struct board_list *list, struct cairn_error *error)
{
    struct item *items =
        array_room(list->items, list->n, &list->capacity, sizeof *items);
    if (!items)
        return error_nomem(error);
    list->items = items;
    return 0;
}

/* Or puts it in the place of the one of its number. Needs room. */
static void board_insert(struct board_list *list, const struct item *item)
{
    uint32_t at = board_place(list, item->id.n);
    bool there = at < list->n && list->items[at].id.n == item->id.n;
    assert(there || list->n < list->capacity);
    if (!there) {
        memmove(&list->items[at + 1], &list->items[at],
                (list->n - at) * sizeof *list->items);
        list->n++;
    }
    list->items[at] = *item;
    if (item->id.n > list->last)
        list->last = item->id.n;
}

/* It must be there. */
static void board_take_out(struct board_list *list, uint32_t n)
{
    uint32_t at = board_place(list, n);
    assert(at < list->n && list->items[at].id.n == n);
    list->n--;
    memmove(&list->items[at], &list->items[at + 1],
            (list->n - at) * sizeof *list->items);
}

int board_load(struct board *board, uint8_t kind, const struct section *section,
               uint32_t last, struct cairn_error *error)
{
    assert(item_kind_info(kind) && board->lists[kind].n == 0);
    struct board_list *list = &board->lists[kind];
    for (uint32_t i = 0; i < section->n; i++) {
        int rc = board_make_room(list, error);
        if (rc)
            return rc;
        board_insert(list, &section->items[i]);
    }
    if (last > list->last)
        list->last = last;
    return 0;
}

int board_add(struct board *board, const struct item *item, struct cairn_error *error)
{
    struct board_list *list = &board->lists[item->id.kind];
    assert(!board_find(board, item->id));
    int rc = board_make_room(list, error);
    if (!rc)
        board_insert(list, item);
    return rc;
}

/* ---- Changes ---- */

/* NULL: there is no memory. */
static struct board_change *board_add_change(struct board_changes *changes,
                                             struct item_ref id)
{
    struct board_change *at =
        array_room(changes->at, changes->n, &changes->capacity, sizeof *at);
    if (!at)
        return NULL;
    changes->at = at;
    at[changes->n] = (struct board_change){.id = id};
    return &at[changes->n++];
}

/* ---- Lost items ---- */

/* CAIRN_EDAMAGED: a row was removed by something else, or lost. */
static int board_refuse_lost(struct item_ref id, struct cairn_error *error)
{
    char text[ITEM_ID_MAX];
    item_id(id, text);
    return error_set(error, CAIRN_EDAMAGED,
                     "%s is missing, though other items name it: remove those, or go "
                     "back to a checkpoint (`cairn checkpoint recover`)",
                     text);
}

int board_check(const struct board *board, struct cairn_error *error)
{
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END; kind++) {
        const struct item_kind_info *info = item_kind_info(kind);
        struct section section = board_section(board, kind);
        for (uint32_t i = 0; i < section.n; i++)
            for (uint32_t f = 1; f <= info->n_fields; f++) {
                const struct item_value *value = &section.items[i].values[f];
                if (value->present && info->fields[f - 1].type == FIELD_REF &&
                    !board_find(board, value->ref))
                    return board_refuse_lost(value->ref, error);
            }
    }
    return 0;
}

/* ==== How certain a board is ==== */

/* How certain a board is of its hypotheses, and the gaps that close because of it. */

static bool is_about(const struct item *evidence, struct item_ref hypothesis)
{
    return evidence->values[EVIDENCE_HYPOTHESIS].ref.n == hypothesis.n;
}

int board_confidence(const struct board *board, struct item_ref hypothesis,
                     double *confidence, struct cairn_error *error)
{
    const struct item *item = board_find(board, hypothesis);
    const struct board_list *all = &board->lists[ITEM_EVIDENCE];
    assert(hypothesis.kind == ITEM_HYPOTHESIS);
    if (!item)
        return board_refuse_lost(hypothesis, error);
    struct evidence *list = calloc((size_t)all->n + 1, sizeof *list);
    size_t n = 0;
    if (!list)
        return error_nomem(error);
    for (uint32_t i = 0; i < all->n; i++) {
        const struct item_value *values = all->items[i].values;
        if (is_about(&all->items[i], hypothesis))
            list[n++] =
                (struct evidence){(enum evidence_kind)values[EVIDENCE_KIND].count,
                                  values[EVIDENCE_STRENGTH].number};
    }
    int rc = confidence_of(item->values[HYPOTHESIS_PRIOR].number, list, n, confidence,
                           error);
    free(list);
    return rc;
}

/* ---- Gaps that it closes ---- */

static int close_gap(struct board_list *gaps, uint32_t at, int64_t now_ns,
                     struct board_changes *changes, struct cairn_error *error)
{
    struct item *gap = &gaps->items[at];
    struct board_change *change = board_add_change(changes, gap->id);
    if (!change)
        return error_nomem(error);
    change->had = change->has = true;
    change->before = *gap;
    gap->values[GAP_STATUS].count = GAP_CLOSED;
    gap->values[GAP_ENDED] = (struct item_value){.present = true, .time_ns = now_ns};
    change->after = *gap;
    return 0;
}

/* After it: closes the open gaps of the hypothesis, if it is certain now. */
static int board_close_gaps_of(struct board *board, struct item_ref hypothesis,
                               int64_t now_ns, struct board_changes *changes,
                               struct cairn_error *error)
{
    struct board_list *gaps = &board->lists[ITEM_GAP];
    double confidence;
    int rc = board_confidence(board, hypothesis, &confidence, error);
    for (uint32_t i = 0; i < gaps->n && !rc; i++) {
        const struct item_value *values = gaps->items[i].values;
        struct gap gap = {.status = (enum gap_status)values[GAP_STATUS].count,
                          .has_hypothesis = values[GAP_HYPOTHESIS].present,
                          .confidence = confidence};
        if (values[GAP_HYPOTHESIS].ref.n == hypothesis.n && gap_closes(&gap))
            rc = close_gap(gaps, i, now_ns, changes, error);
    }
    return rc;
}

static int is_certain(const struct board *board, struct item_ref hypothesis,
                      bool *certain, struct cairn_error *error)
{
    double confidence = 0;
    int rc = board_find(board, hypothesis)
                 ? board_confidence(board, hypothesis, &confidence, error)
                 : 0;
    *certain = confidence_above(confidence, CONFIDENCE_CERTAIN);
    return rc;
}

/* Before an item is put: the hypothesis that it concerns and that may become certain by
 * it, n 0: none. A gap that is put on one that is certain already is still a question.
 */
static int board_find_uncertain(const struct board *board, const struct item *item,
                                struct item_ref *hypothesis, struct cairn_error *error)
{
    struct item_ref id = item->id;
    bool certain;
    *hypothesis = (struct item_ref){0};
    if (id.kind == ITEM_EVIDENCE)
        id = item->values[EVIDENCE_HYPOTHESIS].ref;
    if (id.kind != ITEM_HYPOTHESIS || !board_find(board, id))
        return 0;
    int rc = is_certain(board, id, &certain, error);
    if (!rc && !certain)
        *hypothesis = id;
    return rc;
}

/* Whether a board has the gap and is certain of the hypothesis already. */
static int was_certain(const struct board *board, struct item_ref gap,
                       struct item_ref hypothesis, bool *certain,
                       struct cairn_error *error)
{
    *certain = false;
    return board_find(board, gap) ? is_certain(board, hypothesis, certain, error) : 0;
}

int board_close_gaps(struct board *merged, const struct board *ours,
                     const struct board *theirs, int64_t now_ns, uint32_t *closed,
                     struct cairn_error *error)
{
    struct board_list *gaps = &merged->lists[ITEM_GAP];
    struct board_changes changes = {0};
    int rc = 0;
    for (uint32_t i = 0; i < gaps->n && !rc; i++) {
        const struct item_value *values = gaps->items[i].values;
        struct item_ref gap = gaps->items[i].id, about = values[GAP_HYPOTHESIS].ref;
        bool now = false, before[2] = {false};
        if (values[GAP_STATUS].count != GAP_OPEN || !values[GAP_HYPOTHESIS].present)
            continue;
        rc = is_certain(merged, about, &now, error);
        if (!rc && now)
            rc = was_certain(ours, gap, about, &before[0], error);
        if (!rc && now)
            rc = was_certain(theirs, gap, about, &before[1], error);
        if (!rc && now && !before[0] && !before[1])
            rc = close_gap(gaps, i, now_ns, &changes, error);
    }
    *closed = changes.n;
    free(changes.at);
    return rc;
}

/* ==== One change, with what follows from it ==== */

/* A change is made in three steps: check, apply, follow up. Only the last two can still
 * fail, for lack of memory, and then the board is not used any more. */

/* ---- Checks ---- */

static int refuse_missing(struct item_ref id, struct cairn_error *error)
{
    char text[ITEM_ID_MAX];
    item_id(id, text);
    return error_set(error, CAIRN_ENOTFOUND, "there is no %s", text);
}

static int check_ref(const struct board *board, struct item_ref ref,
                     struct cairn_error *error)
{
    return board_find(board, ref) ? 0 : refuse_missing(ref, error);
}

/* What a note is about may be removed, and the note be changed after that. */
static bool had_ref(const struct item *before, uint32_t field, struct item_ref ref)
{
    const struct item_value *value = before ? &before->values[field] : NULL;
    for (uint32_t i = 0; value && value->present && i < value->n; i++)
        if (value->refs[i].kind == ref.kind && value->refs[i].n == ref.n)
            return true;
    return false;
}

static int check_refs(const struct board *board, const struct item *before,
                      const struct item *item, struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    int rc = 0;
    for (uint32_t i = 1; i <= info->n_fields && !rc; i++) {
        const struct item_value *value = &item->values[i];
        if (value->present && info->fields[i - 1].type == FIELD_REF)
            rc = check_ref(board, value->ref, error);
        for (uint32_t r = 0; value->present && value->refs && r < value->n && !rc; r++)
            if (!had_ref(before, i, value->refs[r]))
                rc = check_ref(board, value->refs[r], error);
    }
    return rc;
}

static enum hypothesis_status status_of(const struct item *hypothesis)
{
    return (enum hypothesis_status)hypothesis->values[HYPOTHESIS_STATUS].count;
}

static int check_hypothesis(const struct item *before, const struct item *item,
                            struct cairn_error *error)
{
    enum hypothesis_status now = status_of(item);
    int rc = confidence_check("prior", item->values[HYPOTHESIS_PRIOR].number, error);
    if (rc || (before && status_of(before) == now))
        return rc;
    if (before)
        return hypothesis_move(status_of(before), now, error);
    return now == HYPOTHESIS_PROPOSED
               ? 0
               : error_set(error, CAIRN_EUSAGE, "a new hypothesis is proposed, not %s",
                           hypothesis_status_name(now));
}

static int check_evidence(const struct item *before, const struct item *item,
                          struct cairn_error *error)
{
    const struct item_value *values = item->values;
    enum evidence_kind kind = (enum evidence_kind)values[EVIDENCE_KIND].count;
    double strength = values[EVIDENCE_STRENGTH].number, cap = evidence_cap(kind);
    if (before &&
        before->values[EVIDENCE_HYPOTHESIS].ref.n != values[EVIDENCE_HYPOTHESIS].ref.n)
        return error_set(error, CAIRN_EUSAGE,
                         "evidence stays with its hypothesis: remove it, and add it to "
                         "the other one");
    if (strength <= cap && strength >= -cap)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "a strength of the kind %s is from %g to %g, not %g",
                     evidence_kind_name(kind), -cap, cap, strength);
}

/* Dependencies name beliefs by number, the graph by place. */
static struct dependency as_edge(const struct board_list *beliefs,
                                 const struct item *item)
{
    const struct item_value *values = item->values;
    return (struct dependency){board_place(beliefs, values[DEPENDENCY_FROM].ref.n),
                               board_place(beliefs, values[DEPENDENCY_TO].ref.n),
                               (enum dependency_kind)values[DEPENDENCY_KIND].count};
}

struct belief_names {
    struct str *ids;
    char (*texts)[ITEM_ID_MAX];
};

static bool name_beliefs(const struct board_list *beliefs, struct belief_names *names)
{
    names->ids = calloc((size_t)beliefs->n + 1, sizeof *names->ids);
    names->texts = calloc((size_t)beliefs->n + 1, sizeof *names->texts);
    for (uint32_t i = 0; names->ids && names->texts && i < beliefs->n; i++) {
        item_id(beliefs->items[i].id, names->texts[i]);
        names->ids[i] = str_of(names->texts[i]);
    }
    return names->ids && names->texts;
}

static int check_circle(const struct board_list *beliefs,
                        const struct dependency *edges, uint32_t n,
                        struct dependency edge, struct cairn_error *error)
{
    struct belief_names names = {0};
    struct belief_graph graph = {0};
    struct belief_list cycle = {0};
    int rc = name_beliefs(beliefs, &names) ? 0 : error_nomem(error);
    if (!rc)
        rc = belief_graph_init(&graph, beliefs->n, edges, n, error)
                 ?: belief_cycle(&graph, names.ids, edge, &cycle, error);
    free(cycle.at);
    belief_graph_release(&graph);
    free(names.ids);
    free(names.texts);
    return rc;
}

static int check_dependency(const struct board *board, const struct item *before,
                            const struct item *item, struct cairn_error *error)
{
    const struct board_list *beliefs = &board->lists[ITEM_BELIEF],
                            *all = &board->lists[ITEM_DEPENDENCY];
    struct dependency edge = as_edge(beliefs, item);
    char id[ITEM_ID_MAX];
    uint32_t n = 0;
    if (before) {
        struct dependency was = as_edge(beliefs, before);
        if (was.from != edge.from || was.to != edge.to || was.kind != edge.kind)
            return error_set(error, CAIRN_EUSAGE,
                             "a dependency is not changed: remove it, and add another");
        return 0;
    }
    struct dependency *edges = calloc((size_t)all->n + 1, sizeof *edges);
    if (!edges)
        return error_nomem(error);
    int rc = 0;
    for (uint32_t i = 0; i < all->n && !rc; i++) {
        edges[n++] = as_edge(beliefs, &all->items[i]);
        if (edges[i].from == edge.from && edges[i].to == edge.to &&
            edges[i].kind == edge.kind) {
            item_id(all->items[i].id, id);
            rc = error_set(error, CAIRN_EUSAGE, "%s says that already", id);
        }
    }
    if (!rc)
        rc = check_circle(beliefs, edges, n, edge, error);
    free(edges);
    return rc;
}

static int check_check(const struct item *item, struct cairn_error *error)
{
    const struct item_value *values = item->values;
    if (values[CHECK_LIMIT].count < 1 || values[CHECK_LIMIT].count > CHECK_TIMEOUT_MOST)
        return error_set(error, CAIRN_EUSAGE,
                         "the time limit of a check is from 1 ms to %d days, not %llu "
                         "ms",
                         CHECK_TIMEOUT_MOST / 86400000,
                         (unsigned long long)values[CHECK_LIMIT].count);
    return values[CHECK_RETRIES].count <= CHECK_RETRIES_MOST
               ? 0
               : error_set(error, CAIRN_EUSAGE,
                           "a check is tried again at most %d times, not %llu",
                           CHECK_RETRIES_MOST,
                           (unsigned long long)values[CHECK_RETRIES].count);
}

static int check_item(const struct board *board, const struct item *before,
                      const struct item *item, struct cairn_error *error)
{
    struct buf body = BUF_INIT;
    int rc = item_encode(item, &body, error); /* every field is there, and possible */
    buf_release(&body);
    if (!rc)
        rc = check_refs(board, before, item, error);
    if (rc)
        return rc;
    switch ((enum item_kind)item->id.kind) {
    case ITEM_HYPOTHESIS:
        return check_hypothesis(before, item, error);
    case ITEM_EVIDENCE:
        return check_evidence(before, item, error);
    case ITEM_BELIEF:
        return confidence_check("confidence", item->values[BELIEF_CONFIDENCE].number,
                                error);
    case ITEM_DEPENDENCY:
        return check_dependency(board, before, item, error);
    case ITEM_CHECK:
        return check_check(item, error);
    case ITEM_GAP:
    case ITEM_NOTE:
    case ITEM_COMMAND:
        break;
    }
    return 0;
}

/* ---- Changes ---- */

/* So that what the caller's item points to may go. */
static bool copy_item(struct arena *arena, const struct item *from, struct item *to)
{
    *to = *from;
    for (int i = 1; i <= ITEM_FIELDS_MOST; i++) {
        struct item_value *value = &to->values[i];
        const struct item_value *given = &from->values[i];
        if (!given->present)
            continue;
        if (given->text.len)
            value->text = arena_str(arena, given->text);
        if (given->texts)
            value->texts = arena_take(arena, given->n, sizeof *value->texts);
        for (uint32_t t = 0; given->texts && value->texts && t < given->n; t++)
            value->texts[t] = arena_str(arena, given->texts[t]);
        if (given->refs)
            value->refs = arena_take(arena, given->n, sizeof *value->refs);
        for (uint32_t r = 0; given->refs && value->refs && r < given->n; r++)
            value->refs[r] = given->refs[r];
    }
    return !arena->failed;
}

static int number_item(const struct board_list *list, struct item *item,
                       struct cairn_error *error)
{
    if (list->last == UINT32_MAX)
        return error_set(error, CAIRN_ELIMIT, "there are no numbers left for a %s",
                         item_kind_info(item->id.kind)->name);
    item->id.n = list->last + 1;
    return 0;
}

int board_put(struct board *board, struct item *item, int64_t now_ns,
              struct board_changes *changes, struct cairn_error *error)
{
    assert(item_kind_info(item->id.kind));
    struct board_list *list = &board->lists[item->id.kind];
    bool is_new = item->id.n == 0;
    const struct item *before = is_new ? NULL : board_find(board, item->id);
    if (!is_new && !before)
        return refuse_missing(item->id, error);
    struct item made = *item;
    struct item_ref uncertain = {0};
    int rc = is_new ? number_item(list, &made, error) : 0;
    if (!rc)
        rc = check_item(board, before, &made, error)
             ?: board_find_uncertain(board, &made, &uncertain, error)
             ?: board_make_room(list, error);
    if (rc)
        return rc;
    struct board_change *change = board_add_change(changes, made.id);
    if (!change || !copy_item(&board->arena, item, &made))
        return error_nomem(error);
    made.id = change->id;
    before = is_new ? NULL : board_find(board, made.id); /* the list may have moved */
    change->had = before != NULL;
    change->has = true;
    if (before)
        change->before = *before;
    change->after = made;
    board_insert(list, &made);
    item->id = made.id;
    return uncertain.n ? board_close_gaps_of(board, uncertain, now_ns, changes, error)
                       : 0;
}

static bool refers_to(const struct item *item, struct item_ref id)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    for (uint32_t i = 1; i <= info->n_fields; i++) {
        const struct item_value *value = &item->values[i];
        if (value->present && info->fields[i - 1].type == FIELD_REF &&
            value->ref.kind == id.kind && value->ref.n == id.n)
            return true;
    }
    return false;
}

/* Some of those that refer to it, as text; their number. */
static uint32_t list_referrers(const struct board *board, struct item_ref id, char *out,
                               size_t size)
{
    enum { NAMED = 5 };
    char name[ITEM_ID_MAX];
    uint32_t n = 0;
    size_t used = 0;
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        for (uint32_t i = 0; i < board->lists[kind].n; i++) {
            const struct item *item = &board->lists[kind].items[i];
            if (!refers_to(item, id) || n++ >= NAMED)
                continue;
            item_id(item->id, name);
            used += (size_t)snprintf(out + used, size - used, "%s%s", n > 1 ? ", " : "",
                                     name);
        }
    if (n > NAMED)
        snprintf(out + used, size - used, " and %u more", n - NAMED);
    return n;
}

int board_remove(struct board *board, struct item_ref id, struct board_changes *changes,
                 struct cairn_error *error)
{
    const struct item *item = board_find(board, id);
    char name[ITEM_ID_MAX], referrers[200];
    item_id(id, name);
    if (!item)
        return error_set(error, CAIRN_ENOTFOUND, "there is no %s", name);
    if (list_referrers(board, id, referrers, sizeof referrers))
        return error_set(error, CAIRN_EUSAGE, "%s is needed by %s: remove that first",
                         name, referrers);
    struct board_change *change = board_add_change(changes, id);
    if (!change)
        return error_nomem(error);
    change->had = true;
    change->before = *item;
    board_take_out(&board->lists[id.kind], id.n);
    return 0;
}

bool board_change_is_verification(const struct board_change *change)
{
    if (change->id.kind != ITEM_CHECK || !change->had || !change->has)
        return false;
    const struct item_value *before = &change->before.values[CHECK_RAN],
                            *after = &change->after.values[CHECK_RAN];
    return after->present && (!before->present || before->time_ns < after->time_ns);
}
