/* SPDX-License-Identifier: MIT */
/* Where two branches were last the same. The line of a branch are the branches that it
 * comes from, and those that were merged into one of its line, each up to a checkpoint:
 * what these had up to there, it has, too. */
#include "session/moves/merge_base.h"

#include "base/array.h"
#include "base/reader.h"
#include "session/board/status.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/merges.h"

#include <stdio.h>
#include <stdlib.h>

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
    int rc = add_place(s, line, (struct place){merge->branch, merge->head});
    if (!rc)
        rc = find_branch_of(s, merge->head, &at.branch);
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

void merge_base_release(struct merge_base *base)
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

const struct item *merge_base_item(const struct merge_base *base, struct item_ref id,
                                   bool *unclear)
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

int merge_find_base(struct live *live, uint64_t ours, uint64_t theirs,
                    struct merge_base *out, struct cairn_error *error)
{
    struct base_search s = {.live = live, .out = out, .error = error};
    uint64_t session = live->row.session;
    int rc = store_load_merges(live->store, session, &s.merges, error);
    if (!rc)
        rc = find_line(&s, (struct place){ours, UINT64_MAX}, &s.ours);
    if (!rc)
        rc = find_line(&s, (struct place){theirs, UINT64_MAX}, &s.theirs);
    if (!rc)
        rc = find_common(&s, &s.ours, &s.theirs, &s.common);
    if (!rc)
        rc = choose_states(&s);
    if (!rc)
        rc = store_each_branch(live->store, session, look_for_merge, &s, error);
    session_merges_release(&s.merges);
    free(s.ours.at);
    free(s.theirs.at);
    free(s.common.at);
    return rc < 0 ? rc : 0;
}
