/* SPDX-License-Identifier: MIT */
/* A change is made in three steps: check, apply, follow up. Only the last two can still
 * fail, for lack of memory, and then the board is not used any more. */
#include "session/board/board_int.h"

#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "session/board/status.h"

#include <assert.h>
#include <stdio.h>

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
        rc = belief_graph_init(&graph, beliefs->n, edges, n, error);
    if (!rc)
        rc = belief_cycle(&graph, names.ids, edge, &cycle, error);
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
        rc = check_item(board, before, &made, error);
    if (!rc)
        rc = board_find_uncertain(board, &made, &uncertain, error);
    if (!rc)
        rc = board_make_room(list, error);
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
