/* SPDX-License-Identifier: MIT */
/* A merge of two branches: what both had, what each has changed since, and the files
 * that stay different. */
#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "session/moves/moves_int.h"

#include "base/memory.h"
#include "base/str.h"
#include "snapshot/snapshot.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/merges.h"

#include <stdio.h>
#include <stdlib.h>

/* Where two branches were last the same. */

/* Of the branch and what it has in it, up to the checkpoint `seq`. */
struct place {
    uint64_t branch, seq;
};

struct places {
    struct place *at; /* heap */
    size_t n, capacity;
};

/* A state that both have in them, and that no newer one of these has in it. */
struct common_state {
    uint64_t seq;
    struct state_at state;
    struct places line;
    bool parted; /* there is an older one, which it has in it as well as ... */
    struct state_at before; /* ... one of those before it in the list */
};

struct merge_base {
    struct common_state *at; /* heap; the newest first */
    size_t n, capacity;
    uint64_t lost; /* seq of the newest one that cannot be read; 0: there is none */
    /* The name of a branch on one of the two lines that was merged into something,
     * nobody knows when; or "". */
    char unknown[CAIRN_SESSION_NAME_MAX];
};

/* ==== The states that both have ==== */

/* Where two branches were last the same. The line of a branch are the branches that it
 * comes from, and those that were merged into one of its line, each up to a checkpoint:
 * what these had up to there, it has, too. */

struct base_search {
    struct live *live;
    struct session_merges merges;
    struct places ours, theirs, common;
    struct merge_base *out;
    struct cairn_error *error;
};

static int add_place(struct base_search *s, struct places *places, struct place place)
{
    for (size_t i = 0; i < places->n; i++)
        if (places->at[i].branch == place.branch && places->at[i].seq >= place.seq)
            return 0;
    struct place *at = array_room(places->at, places->n, &places->capacity, sizeof *at);
    if (!at)
        return error_nomem(s->error);
    places->at = at;
    at[places->n++] = place;
    return 0;
}

/* Anything but damage, and rows that are not there, is an error. */
static int unless_lost(struct base_search *s, int rc, const struct cairn_error *why)
{
    bool lost = rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED;
    return rc && !lost ? error_set(s->error, rc, "%s", why->text) : 0;
}

/* ---- The branch of a checkpoint ---- */

/* Of a damaged record as well, where its column and its header agree. */
static int note_stream(void *context, const struct checkpoint_row *row)
{
    enum { STREAM_AT = 16 };
    struct reader in = reader_of(row->record.ptr, row->record.len);
    read_bytes(&in, STREAM_AT);
    uint64_t stream = read_u64(&in);
    if (!in.failed && stream == row->stream && row->namespace_id == NAMESPACE_DEBUG)
        *(uint64_t *)context = stream;
    return 0;
}

struct deleted_search {
    uint64_t seq, branch;
    bool several;
};

static int note_deleted(void *context, const struct tombstone_row *row)
{
    struct deleted_search *search = context;
    if (row->first > search->seq || row->last < search->seq)
        return 0;
    search->several = search->branch && search->branch != row->stream;
    search->branch = row->stream;
    return search->several;
}

/* 0: it is not known. Ranges that were deleted of several branches may overlap. */
static int find_branch_of(struct base_search *s, uint64_t seq, uint64_t *branch)
{
    struct cairn_store *store = s->live->store;
    struct deleted_search search = {.seq = seq};
    struct cairn_error why = {0};
    *branch = 0;
    int rc = store_get_checkpoint(store, seq, note_stream, branch, &why);
    if (rc != CAIRN_ENOTFOUND)
        return unless_lost(s, rc, &why);
    rc = store_each_tombstone(store, NAMESPACE_DEBUG, 0, note_deleted, &search,
                              s->error);
    if (!search.several)
        *branch = search.branch;
    return rc < 0 ? rc : 0;
}

/* ---- Lines ---- */

static int add_start(struct base_search *s, struct places *line, uint64_t branch)
{
    struct branch_row row = {0};
    struct cairn_error why = {0};
    struct place start = {0};
    int rc = live_branch(s->live, branch, &row, &why);
    if (rc == CAIRN_ENOTFOUND) /* lost */
        return 0;
    if (rc)
        return error_set(s->error, rc, "%s", why.text);
    start.seq = row.from_seq;
    rc = start.seq ? find_branch_of(s, start.seq, &start.branch) : 0;
    return rc || !start.branch ? rc : add_place(s, line, start);
}

/* Its state may be one of another branch: where that begins. */
static int add_merged(struct base_search *s, struct places *line,
                      const struct session_merge *merge)
{
    struct place at = {0, merge->head};
    int rc = add_place(s, line, (struct place){merge->branch, merge->head})
                 ?: find_branch_of(s, merge->head, &at.branch);
    return rc || !at.branch ? rc : add_place(s, line, at);
}

/* No place is added twice, so this ends whatever the rows say. */
static int find_line(struct base_search *s, struct place from, struct places *line)
{
    int rc = add_place(s, line, from);
    for (size_t i = 0; i < line->n && !rc; i++) {
        struct place at = line->at[i];
        rc = add_start(s, line, at.branch);
        for (size_t k = 0; k < s->merges.n && !rc; k++) {
            const struct session_merge *m = &s->merges.at[k];
            if (m->into == at.branch && m->made <= at.seq)
                rc = add_merged(s, line, m);
        }
    }
    return rc;
}

static int newest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct place *)a)->seq, y = ((const struct place *)b)->seq;
    return (x < y) - (x > y);
}

/* What both lines have, the newest first. */
static int find_common(struct base_search *s, const struct places *line,
                       const struct places *other, struct places *common)
{
    int rc = 0;
    for (size_t i = 0; i < line->n && !rc; i++)
        for (size_t k = 0; k < other->n && !rc; k++) {
            const struct place *a = &line->at[i], *b = &other->at[k];
            struct place both = {a->branch, a->seq < b->seq ? a->seq : b->seq};
            if (a->branch == b->branch)
                rc = add_place(s, common, both);
        }
    if (common->n)
        qsort(common->at, common->n, sizeof *common->at, newest_first);
    return rc;
}

static bool has_place(const struct places *line, const struct place *place)
{
    for (size_t i = 0; i < line->n; i++)
        if (line->at[i].branch == place->branch && line->at[i].seq >= place->seq)
            return true;
    return false;
}

/* ---- States that can be read ---- */

static int note_seq(void *context, const struct checkpoint_row *row)
{
    *(uint64_t *)context = row->seq;
    return 1;
}

/* The newest one up to a place; *seq 0: there is none. */
static int read_place(struct base_search *s, const struct place *place, uint64_t *seq,
                      struct state_at *state)
{
    struct live *live = s->live;
    struct cairn_error why = {0};
    *seq = place->seq;
    while (*seq) {
        int rc = state_read(live->store, live->sha, *seq, state, &why);
        if (!rc)
            return 0;
        state_release(state);
        rc = unless_lost(s, rc, &why);
        struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                         .stream = place->branch,
                                         .last = *seq - 1,
                                         .descending = true,
                                         .limit = 1};
        *seq = 0;
        if (!rc && range.last)
            rc = store_each_checkpoint(live->store, &range, note_seq, seq, s->error);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The newest state that it has in common with one of those before it. */
static int find_before(struct base_search *s, struct common_state *of)
{
    struct places common = {0};
    uint64_t seq = 0;
    int rc = 0;
    for (struct common_state *at = s->out->at; at < of && !rc; at++)
        rc = find_common(s, &at->line, &of->line, &common);
    for (size_t i = 0; i < common.n && !rc && !seq; i++)
        rc = read_place(s, &common.at[i], &seq, &of->before);
    of->parted = seq != 0;
    free(common.at);
    return rc;
}

static bool is_covered(const struct merge_base *base, const struct place *place)
{
    for (size_t i = 0; i < base->n; i++)
        if (has_place(&base->at[i].line, place))
            return true;
    return false;
}

/* Unless one that was taken has it already. */
static int take_place(struct base_search *s, const struct place *place)
{
    struct merge_base *out = s->out;
    struct common_state taken = {.seq = 0};
    if (is_covered(out, place))
        return 0;
    int rc = read_place(s, place, &taken.seq, &taken.state);
    if (!rc && taken.seq != place->seq && !out->lost)
        out->lost = place->seq;
    if (rc || !taken.seq)
        return rc;
    struct place found = {place->branch, taken.seq};
    struct common_state *at = NULL;
    if (!is_covered(out, &found))
        at = array_room(out->at, out->n, &out->capacity, sizeof *at);
    else
        rc = 1;
    if (!at) {
        state_release(&taken.state);
        return rc ? 0 : error_nomem(s->error);
    }
    out->at = at;
    at[out->n] = taken;
    rc = find_line(s, found, &at[out->n].line);
    if (!rc && out->n)
        rc = find_before(s, &at[out->n]);
    out->n++;
    return rc;
}

static int choose_states(struct base_search *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->common.n && !rc; i++)
        rc = take_place(s, &s->common.at[i]);
    if (rc || s->out->n)
        return rc;
    return error_set(s->error, CAIRN_EDAMAGED,
                     "it is not known where the two branches parted: run `cairn "
                     "doctor`");
}

static void merge_base_release(struct merge_base *base)
{
    for (size_t i = 0; i < base->n; i++) {
        state_release(&base->at[i].state);
        if (base->at[i].parted)
            state_release(&base->at[i].before);
        free(base->at[i].line.at);
    }
    free(base->at);
    *base = (struct merge_base){.n = 0};
}

/* ---- One item ---- */

static int note_field(void *context, const struct item_field *field,
                      const struct item_value *before, const struct item_value *after)
{
    (void)field;
    (void)before;
    (void)after;
    *(bool *)context = true;
    return 1;
}

static bool same_item(const struct item *a, const struct item *b)
{
    bool differ = false;
    if (!a || !b)
        return a == b;
    item_changes(a, b, note_field, &differ);
    return !differ;
}

/* What an item was where the branches were last the same; NULL: it was not there. Where
 * several common states have it differently, as that of them which had changed it
 * since these parted. *unclear: more than one had. */
static const struct item *merge_base_item(const struct merge_base *base,
                                          struct item_ref id, bool *unclear)
{
    const struct item *item = board_find(&base->at[0].state.board, id);
    *unclear = false;
    for (size_t i = 1; i < base->n; i++) {
        const struct common_state *other = &base->at[i];
        const struct item *there = board_find(&other->state.board, id);
        const struct item *before =
            other->parted ? board_find(&other->before.board, id) : NULL;
        if (same_item(item, there) || (other->parted && same_item(before, there)))
            continue;
        *unclear = *unclear || !other->parted || !same_item(before, item);
        item = there;
    }
    return item;
}

/* ---- Merges of which nothing is known ---- */

static bool is_on(const struct places *line, uint64_t branch)
{
    for (size_t i = 0; i < line->n; i++)
        if (line->at[i].branch == branch)
            return true;
    return false;
}

static int look_for_merge(void *context, const struct branch_row *row)
{
    struct base_search *s = context;
    if (row->status != BRANCH_MERGED ||
        (!is_on(&s->ours, row->branch) && !is_on(&s->theirs, row->branch)))
        return 0;
    for (size_t i = 0; i < s->merges.n; i++)
        if (s->merges.at[i].branch == row->branch)
            return 0;
    snprintf(s->out->unknown, sizeof s->out->unknown, "%.*s", (int)row->name.len,
             row->name.ptr);
    return 1;
}

/* ---- All of it ---- */

/* The merge base of two branches. CAIRN_EDAMAGED: they have no common state left.
 * *out is zeroed before the call, and released by merge_base_release in any case. */
static int merge_find_base(struct live *live, uint64_t ours, uint64_t theirs,
                           struct merge_base *out, struct cairn_error *error)
{
    struct base_search s = {.live = live, .out = out, .error = error};
    uint64_t session = live->row.session;
    int rc = store_load_merges(live->store, session, &s.merges, error)
             ?: find_line(&s, (struct place){ours, UINT64_MAX}, &s.ours)
             ?: find_line(&s, (struct place){theirs, UINT64_MAX}, &s.theirs)
             ?: find_common(&s, &s.ours, &s.theirs, &s.common)
             ?: choose_states(&s)
             ?: store_each_branch(live->store, session, look_for_merge, &s, error);
    session_merges_release(&s.merges);
    free(s.ours.at);
    free(s.theirs.at);
    free(s.common.at);
    return rc < 0 ? rc : 0;
}

/* ==== Files ==== */

/* The files of two branches that were merged: what the merge has left as it was. */

struct merged_files {
    struct live live;
    struct digest roots[3]; /* trees: where they were the same, ours, theirs */
    bool has[3];
    struct buf paths; /* each with what it is in front, and a NUL */
    struct cairn_error *error;
};

static int read_root(struct merged_files *f, const char *id, int side)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct snapshot_head head;
    uint64_t seq;
    int rc = debug_seq(f->live.store, id, &seq, f->error)
                 ?: sections_read(f->live.store, f->live.sha, seq, &arena, &sections,
                                  NULL, f->error);
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    if (files)
        rc = snapshot_read(f->live.store, &files->digest, &arena, &head, f->error);
    f->has[side] = files && !rc;
    if (f->has[side])
        f->roots[side] = head.root;
    arena_release(&arena);
    return rc;
}

static bool is_file(const struct tree_entry *entry)
{
    return entry && (tree_is_file(entry) || entry->kind == TREE_LINK);
}

static bool same_content(const struct tree_entry *a, const struct tree_entry *b)
{
    if (!a || !b || a->kind != b->kind)
        return a == b;
    if (tree_is_file(a))
        return a->mode == b->mode && digest_equal(&a->digest, &b->digest);
    return a->kind != TREE_LINK || str_equal(a->target, b->target);
}

static int see_difference(void *context, struct str path, const struct tree_entry *ours,
                          const struct tree_entry *theirs)
{
    struct merged_files *f = context;
    struct arena arena = ARENA_INIT;
    struct tree_entry entry;
    if (!is_file(ours) && !is_file(theirs))
        return 0;
    int there = f->has[0] ? snapshot_find(f->live.store, &f->roots[0], path, &arena,
                                          &entry, f->error)
                          : 0;
    const struct tree_entry *base = there > 0 ? &entry : NULL;
    if (there >= 0 && !same_content(base, theirs)) {
        buf_byte(&f->paths, same_content(base, ours) ? '-' : '+');
        buf_str(&f->paths, path);
        buf_byte(&f->paths, '\0');
    }
    arena_release(&arena);
    return there < 0 ? there : buf_check(&f->paths, f->error);
}

static int compare(struct merged_files *f, const struct cairn_merged *merged)
{
    const char *const ids[] = {merged->base, merged->ours, merged->theirs};
    int rc = 0;
    for (int i = 0; i < 3 && !rc; i++)
        rc = read_root(f, ids[i], i);
    if (rc || !f->has[1] || !f->has[2])
        return rc;
    return snapshot_compare(f->live.store, &f->roots[1], &f->roots[2], false,
                            see_difference, f, f->error);
}

int cairn_branch_merged_files(struct cairn_store *store,
                              const struct cairn_merged *merged,
                              int (*each)(void *, const char *path, bool both),
                              void *context, struct cairn_error *error)
{
    struct merged_files f = {.error = error};
    int rc = live_begin(&f.live, store, false, error) ?: compare(&f, merged);
    rc = live_close(&f.live, rc, error);
    for (size_t at = 0; at < f.paths.size && !rc; at += strlen(f.paths.data + at) + 1)
        rc = each(context, f.paths.data + at + 1, f.paths.data[at] == '+');
    buf_release(&f.paths);
    return rc;
}

/* ==== The merge ==== */

/* Merging a branch into the current one: three states, item by item. */

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
    for (size_t r = 0; r < COUNT_OF(refs); r++) {
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
    int rc = belief_graph_init(&graph, j->beliefs.n, j->edges, j->n, j->g->m.error)
                 ?: belief_cycle(&graph, j->ids, edge, &cycle, j->g->m.error);
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
        rc = join_edges(&j, true, kept, &n)
             ?: join_edges(&j, false, kept, &n)
             ?: keep_edges(g, kept, n);
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
    return rc ?: join_dependencies(g);
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
    return move_read_target(&g->m)
               ?: merge_find_base(live, g->m.from.branch, g->m.to.branch, &g->base,
                                  g->m.error);
}

/* What follows from the merge by itself. */
static int follow_up(struct merging *g, struct cairn_merged *report)
{
    struct contradictions before = {0}, after = {0};
    const struct board *ours = &g->m.live.board;
    int rc = board_close_gaps(&g->merged, ours, &g->m.state.board, g->m.live.now.utc_ns,
                              &report->gaps_closed, g->m.error)
             ?: board_contradictions(ours, 0, &before, g->m.error)
             ?: board_contradictions(&g->merged, 0, &after, g->m.error);
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
    int rc = boards_compare(&live->board, &g->merged, &changes, g->m.error)
                 ?: live_put_changes(live, &changes, false, g->m.error);
    for (uint32_t i = 0; i < changes.n && !rc; i++) {
        report->added += !changes.at[i].had;
        report->removed += !changes.at[i].has;
        report->changed += changes.at[i].had && changes.at[i].has;
    }
    free(changes.at);
    if (!rc)
        rc = capture_before(live, TRIGGER_BRANCH_MERGED, name, &made, g->m.error);
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
    int rc = read_states(g, name)
             ?: capture_before(&g->m.live, TRIGGER_BRANCH_SWITCH, name, &g->m.before,
                               g->m.error)
             ?: merge_boards(g)
             ?: follow_up(g, report)
             ?: put_merged(g, name, report, &made);
    if (rc)
        return rc;
    report->conflicts = g->n_conflicts;
    report_states(g, report);
    g->m.to.status = BRANCH_MERGED;
    rc = store_put_branch(g->m.live.store, &g->m.to, g->m.error);
    const struct session_merge done = {g->m.to.branch, g->m.seq, g->m.from.branch,
                                       made};
    if (!rc)
        rc = live_log_merge(&g->m.live, &done, g->m.error)
                 ?: store_note_merges(g->m.live.store, g->m.live.row.session,
                                      g->m.live.turn, g->m.error);
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
    int rc = move_begin(&g->m, files, store, session, error) ?: merge(g, name, told);
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
