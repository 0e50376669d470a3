/* SPDX-License-Identifier: MIT */
/* Merging a branch into the current one: three states, item by item. */
#include "session/moves/merge_base.h"

#include "base/array.h"
#include "session/board/beliefs.h"
#include "session/board/status.h"
#include "storage/sessions/merges.h"

#include <stdio.h>
#include <stdlib.h>

struct merging {
    struct move m; /* m.state: theirs */
    struct merge_base base;
    enum cairn_merge how;
    struct board merged;          /* what becomes of them; views into the others */
    struct contradiction opposed; /* two beliefs that are since; zeros: none */
    struct item_ref *conflicts;
    uint32_t n_conflicts;
    size_t capacity;
};

/* ---- One item ---- */

struct differing {
    uint32_t fields; /* bits, by their place in the kind's table */
    const struct item_kind_info *info;
};

static int mark_field(void *context, const struct item_field *field,
                      const struct item_value *before, const struct item_value *after)
{
    struct differing *d = context;
    (void)before;
    (void)after;
    d->fields |= 1u << (field - d->info->fields);
    return 0;
}

/* Which fields differ; all of them where one is not there. */
static uint32_t differences(const struct item *a, const struct item *b)
{
    if (!a || !b)
        return a == b ? 0 : UINT32_MAX;
    struct differing d = {0, item_kind_info(a->id.kind)};
    item_changes(a, b, mark_field, &d);
    return d.fields;
}

static int note_conflict(struct merging *g, struct item_ref id)
{
    struct item_ref *refs =
        array_room(g->conflicts, g->n_conflicts, &g->capacity, sizeof *refs);
    if (!refs)
        return error_nomem(g->m.error);
    g->conflicts = refs;
    refs[g->n_conflicts++] = id;
    return 0;
}

/* Of one that both have changed. */
static void unite(const struct item *base, const struct item *ours,
                  const struct item *theirs, struct item *out)
{
    uint32_t by_us = differences(base, ours);
    *out = *ours;
    for (uint32_t i = 0; i < ITEM_FIELDS_MOST; i++)
        if (!(by_us >> i & 1))
            out->values[i + 1] = theirs->values[i + 1];
}

/* What becomes of one; *there: it stays. */
static int merge_item(struct merging *g, struct item_ref id, const struct item *ours,
                      const struct item *theirs, struct item *out, bool *there)
{
    bool unclear;
    const struct item *base = merge_base_item(&g->base, id, &unclear), *chosen = ours;
    if (!differences(ours, theirs))
        chosen = ours;
    else if (!unclear && !differences(base, ours))
        chosen = theirs;
    else if (unclear || differences(base, theirs)) {
        int rc = note_conflict(g, id);
        if (rc)
            return rc;
        if (g->how == CAIRN_MERGE_UNION && ours && theirs) {
            unite(unclear ? NULL : base, ours, theirs, out);
            *there = true;
            return 0;
        }
        bool take =
            g->how == CAIRN_MERGE_THEIRS || (g->how == CAIRN_MERGE_UNION && !ours);
        chosen = take ? theirs : ours;
    }
    *there = chosen;
    if (chosen)
        *out = *chosen;
    return 0;
}

/* ---- All of a kind ---- */

struct numbers {
    uint32_t *at;
    size_t n;
};

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The numbers that one of the three has, each once. */
static int all_numbers(struct merging *g, uint8_t kind, struct numbers *out)
{
    const struct board *boards[] = {&g->base.at[0].state.board, &g->m.live.board,
                                    &g->m.state.board};
    size_t n = 0;
    for (int b = 0; b < 3; b++)
        out->n += board_section(boards[b], kind).n;
    out->at = calloc(out->n + 1, sizeof *out->at);
    if (!out->at)
        return error_nomem(g->m.error);
    for (int b = 0; b < 3; b++) {
        struct section section = board_section(boards[b], kind);
        for (uint32_t i = 0; i < section.n; i++)
            out->at[n++] = section.items[i].id.n;
    }
    qsort(out->at, n, sizeof *out->at, by_number);
    for (size_t i = out->n = 0; i < n; i++)
        if (i == 0 || out->at[i] != out->at[i - 1])
            out->at[out->n++] = out->at[i];
    return 0;
}

static bool is_named(const struct board *board, struct item_ref id)
{
    static const struct {
        uint8_t kind, field;
    } refs[] = {{ITEM_EVIDENCE, EVIDENCE_HYPOTHESIS},
                {ITEM_GAP, GAP_HYPOTHESIS},
                {ITEM_CHECK, CHECK_HYPOTHESIS},
                {ITEM_DEPENDENCY, DEPENDENCY_FROM},
                {ITEM_DEPENDENCY, DEPENDENCY_TO}};
    for (size_t r = 0; r < sizeof refs / sizeof refs[0]; r++) {
        struct section section = board_section(board, refs[r].kind);
        for (uint32_t i = 0; i < section.n; i++) {
            const struct item_value *value = &section.items[i].values[refs[r].field];
            if (value->present && value->ref.kind == id.kind && value->ref.n == id.n)
                return true;
        }
    }
    return false;
}

static int merge_kind(struct merging *g, uint8_t kind)
{
    struct numbers numbers = {0};
    int rc = all_numbers(g, kind, &numbers);
    struct item *items = rc ? NULL : calloc(numbers.n + 1, sizeof *items);
    uint32_t n = 0;
    if (!rc && !items)
        rc = error_nomem(g->m.error);
    for (size_t i = 0; i < numbers.n && !rc; i++) {
        struct item_ref id = {kind, numbers.at[i]};
        const struct item *ours = board_find(&g->m.live.board, id),
                          *theirs = board_find(&g->m.state.board, id);
        bool there = false;
        rc = merge_item(g, id, ours, theirs, &items[n], &there);
        if (!rc && !there && (ours || theirs) && is_named(&g->merged, id)) {
            items[n] = ours ? *ours : *theirs;
            there = true;
        }
        n += there;
    }
    struct section section = {items, n};
    if (!rc)
        rc =
            board_load(&g->merged, kind, &section, g->m.live.numbers[kind], g->m.error);
    free(items);
    free(numbers.at);
    return rc;
}

/* ---- Dependencies, which must close no circle ---- */

/* Ours first, then theirs, each that closes no circle and is not there already. */
struct joining {
    struct merging *g;
    struct section beliefs;
    struct str *ids;
    struct dependency *edges;
    uint32_t n;
};

static int try_edge(struct joining *j, const struct item *item, bool *fits)
{
    const struct item_value *values = item->values;
    struct dependency edge = {section_place(&j->beliefs, values[DEPENDENCY_FROM].ref.n),
                              section_place(&j->beliefs, values[DEPENDENCY_TO].ref.n),
                              (enum dependency_kind)values[DEPENDENCY_KIND].count};
    struct belief_graph graph = {0};
    struct belief_list cycle = {0};
    for (uint32_t i = 0; i < j->n; i++)
        if (j->edges[i].from == edge.from && j->edges[i].to == edge.to &&
            j->edges[i].kind == edge.kind)
            return 0;
    int rc = belief_graph_init(&graph, j->beliefs.n, j->edges, j->n, j->g->m.error);
    if (!rc)
        rc = belief_cycle(&graph, j->ids, edge, &cycle, j->g->m.error);
    *fits = rc == 0;
    if (!rc)
        j->edges[j->n++] = edge;
    free(cycle.at);
    belief_graph_release(&graph);
    return rc == CAIRN_EUSAGE ? 0 : rc;
}

static int join_edges(struct joining *j, bool ours, struct item *kept, uint32_t *n)
{
    struct section all = board_section(&j->g->merged, ITEM_DEPENDENCY);
    int rc = 0;
    for (uint32_t i = 0; i < all.n && !rc; i++) {
        bool fits = false;
        if (!board_find(&j->g->m.live.board, all.items[i].id) == ours)
            continue;
        rc = try_edge(j, &all.items[i], &fits);
        if (!rc && fits)
            kept[(*n)++] = all.items[i];
        else if (!rc)
            rc = note_conflict(j->g, all.items[i].id);
    }
    return rc;
}

static int by_item_number(const void *a, const void *b)
{
    uint32_t x = ((const struct item *)a)->id.n, y = ((const struct item *)b)->id.n;
    return (x > y) - (x < y);
}

static int keep_edges(struct merging *g, struct item *kept, uint32_t n)
{
    struct board_list *list = &g->merged.lists[ITEM_DEPENDENCY];
    qsort(kept, n, sizeof *kept, by_item_number);
    if (n)
        memcpy(list->items, kept, n * sizeof *kept);
    list->n = n;
    return 0;
}

static int join_dependencies(struct merging *g)
{
    struct joining j = {.g = g, .beliefs = board_section(&g->merged, ITEM_BELIEF)};
    uint32_t most = board_section(&g->merged, ITEM_DEPENDENCY).n, n = 0;
    struct item *kept = calloc((size_t)most + 1, sizeof *kept);
    j.ids = calloc((size_t)j.beliefs.n + 1, sizeof *j.ids);
    j.edges = calloc((size_t)most + 1, sizeof *j.edges);
    int rc = kept && j.ids && j.edges ? 0 : error_nomem(g->m.error);
    for (uint32_t i = 0; i < j.beliefs.n && !rc; i++)
        j.ids[i] = STR("a belief"); /* the text of a circle is not told */
    if (!rc)
        rc = join_edges(&j, true, kept, &n);
    if (!rc)
        rc = join_edges(&j, false, kept, &n);
    if (!rc)
        rc = keep_edges(g, kept, n);
    free(kept);
    free(j.ids);
    free(j.edges);
    return rc;
}

/* ---- All of it ---- */

/* What refers to others comes before these, so that those stay. */
static const uint8_t order[] = {ITEM_COMMAND, ITEM_CHECK,     ITEM_NOTE,
                                ITEM_GAP,     ITEM_EVIDENCE,  ITEM_DEPENDENCY,
                                ITEM_BELIEF,  ITEM_HYPOTHESIS};
_Static_assert(sizeof order == ITEM_KINDS_END - 1, "every kind has its place");

static int merge_boards(struct merging *g)
{
    int rc = 0;
    board_init(&g->merged);
    for (size_t i = 0; i < sizeof order && !rc; i++)
        rc = merge_kind(g, order[i]);
    return rc ? rc : join_dependencies(g);
}

static int read_states(struct merging *g, const char *name)
{
    struct live *live = &g->m.live;
    int rc = branch_must_find(live, name, &g->m.to, g->m.error);
    if (!rc && (g->m.to.branch == g->m.from.branch || g->m.to.status != BRANCH_ACTIVE))
        rc = error_set(g->m.error, CAIRN_EUSAGE,
                       "branch %.128s is %s: only another active one can be merged",
                       name,
                       g->m.to.branch == g->m.from.branch
                           ? "the current one"
                           : branch_status_name((enum branch_status)g->m.to.status));
    if (!rc)
        rc = branch_state(live, &g->m.to, &g->m.seq, g->m.error);
    if (rc)
        return rc;
    rc = move_read_target(&g->m);
    return rc ? rc
              : merge_find_base(live, g->m.from.branch, g->m.to.branch, &g->base,
                                g->m.error);
}

/* What follows from the merge by itself. */
static int follow_up(struct merging *g, struct cairn_merged *report)
{
    struct contradictions before = {0}, after = {0};
    const struct board *ours = &g->m.live.board;
    int rc = board_close_gaps(&g->merged, ours, &g->m.state.board, g->m.live.now.utc_ns,
                              &report->gaps_closed, g->m.error);
    if (!rc)
        rc = board_contradictions(ours, 0, &before, g->m.error);
    if (!rc)
        rc = board_contradictions(&g->merged, 0, &after, g->m.error);
    const struct contradiction *found = rc ? NULL : new_contradiction(&before, &after);
    if (found) {
        g->opposed = *found;
        item_id((struct item_ref){ITEM_BELIEF, found->a}, report->contradicts[0]);
        item_id((struct item_ref){ITEM_BELIEF, found->b}, report->contradicts[1]);
    }
    free(before.at);
    free(after.at);
    return rc;
}

static int put_merged(struct merging *g, const char *name, struct cairn_merged *report,
                      uint64_t *seq)
{
    struct live *live = &g->m.live;
    struct board_changes changes = {0};
    struct captured made = {0};
    int rc = boards_compare(&live->board, &g->merged, &changes, g->m.error);
    if (!rc)
        rc = live_put_changes(live, &changes, false, g->m.error);
    for (uint32_t i = 0; i < changes.n && !rc; i++) {
        report->added += !changes.at[i].had;
        report->removed += !changes.at[i].has;
        report->changed += changes.at[i].had && changes.at[i].has;
    }
    free(changes.at);
    struct board before = live->board;
    live->board = g->merged; /* which is captured */
    if (!rc)
        rc = capture_before(live, TRIGGER_BRANCH_MERGED, name, &made, g->m.error);
    live->board = before;
    *seq = made.ref.seq;
    if (!rc)
        checkpoint_id(NAMESPACE_DEBUG, made.ref.seq, &made.ref.digest,
                      report->checkpoint);
    return rc;
}

static void report_states(const struct merging *g, struct cairn_merged *report)
{
    const struct merge_base *base = &g->base;
    checkpoint_id(NAMESPACE_DEBUG, base->at[0].seq, &base->at[0].state.at.ref.digest,
                  report->base);
    checkpoint_id(NAMESPACE_DEBUG, g->m.before.ref.seq, &g->m.before.ref.digest,
                  report->ours);
    checkpoint_id(NAMESPACE_DEBUG, g->m.seq, &g->m.state.at.ref.digest, report->theirs);
    if (base->lost)
        checkpoint_number(NAMESPACE_DEBUG, base->lost, report->base_lost);
    snprintf(report->merge_lost, sizeof report->merge_lost, "%s", base->unknown);
}

static int merge(struct merging *g, const char *name, struct cairn_merged *report)
{
    uint64_t made = 0;
    int rc = read_states(g, name);
    if (!rc)
        rc = capture_before(&g->m.live, TRIGGER_BRANCH_SWITCH, name, &g->m.before,
                            g->m.error);
    if (!rc)
        rc = merge_boards(g);
    if (!rc)
        rc = follow_up(g, report);
    if (!rc)
        rc = put_merged(g, name, report, &made);
    if (rc)
        return rc;
    report->conflicts = g->n_conflicts;
    report_states(g, report);
    g->m.to.status = BRANCH_MERGED;
    rc = store_put_branch(g->m.live.store, &g->m.to, g->m.error);
    const struct session_merge done = {g->m.to.branch, g->m.seq, g->m.from.branch,
                                       made};
    if (!rc)
        rc = live_log_merge(&g->m.live, &done, g->m.error);
    if (!rc)
        rc = store_note_merges(g->m.live.store, g->m.live.row.session, g->m.live.turn,
                               g->m.error);
    if (!rc && g->opposed.a)
        rc = live_log_contradiction(&g->m.live, g->opposed.a, g->opposed.b, g->m.error);
    return rc;
}

static void tell_conflicts(const struct merging *g, int (*each)(void *, const char *),
                           void *context)
{
    int stopped = 0;
    for (uint32_t i = 0; each && i < g->n_conflicts && !stopped; i++) {
        char id[ITEM_ID_MAX];
        item_id(g->conflicts[i], id);
        stopped = each(context, id);
    }
}

static int merge_with(struct files_taken *files, struct cairn_store *store,
                      const char *session, const char *name, struct merging *g,
                      struct cairn_merged *told, struct cairn_error *error)
{
    int rc = move_begin(&g->m, files, store, session, error);
    if (!rc)
        rc = merge(g, name, told);
    board_release(&g->merged);
    merge_base_release(&g->base);
    return move_end(&g->m, rc);
}

int cairn_branch_merge(struct cairn_store *store, const char *session, const char *name,
                       enum cairn_merge how, int (*each)(void *, const char *id),
                       void *context, struct cairn_merged *report,
                       struct cairn_error *error)
{
    struct files_taken files = {0};
    struct merging g = {.how = how};
    struct cairn_merged told = {.added = 0};
    int rc;
    do {
        free(g.conflicts);
        g = (struct merging){.how = how};
        told = (struct cairn_merged){.added = 0};
        rc = merge_with(&files, store, session, name, &g, &told, error);
    } while (files_wanted(&files, &rc, store, session, error));
    rc = files_end(&files, rc, store, error);
    if (!rc)
        tell_conflicts(&g, each, context);
    if (!rc && report)
        *report = told;
    free(g.conflicts);
    return rc;
}
