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

struct place {
    uint64_t branch, seq; /* up to this one */
};
struct places {
    struct place *at;
    size_t n, capacity;
};

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
static int find_line(struct base_search *s, uint64_t branch, struct places *line)
{
    int rc = add_place(s, line, (struct place){branch, UINT64_MAX});
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

static int find_common(struct base_search *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->ours.n && !rc; i++)
        for (size_t k = 0; k < s->theirs.n && !rc; k++) {
            const struct place *a = &s->ours.at[i], *b = &s->theirs.at[k];
            struct place both = {a->branch, a->seq < b->seq ? a->seq : b->seq};
            if (a->branch == b->branch)
                rc = add_place(s, &s->common, both);
        }
    if (s->common.n)
        qsort(s->common.at, s->common.n, sizeof *s->common.at, newest_first);
    return rc;
}

/* ---- A state that can be read ---- */

/* Takes it if it can be read. */
static int try_state(struct base_search *s, uint64_t seq, bool *taken)
{
    struct live *live = s->live;
    struct state_at state;
    struct cairn_error why = {0};
    int rc = state_read(live->store, live->sha, seq, &state, &why);
    *taken = rc == 0;
    if (rc) {
        state_release(&state);
        return unless_lost(s, rc, &why);
    }
    if (s->out->read)
        state_release(&s->out->state);
    s->out->state = state;
    s->out->read = true;
    s->out->seq = seq;
    return 0;
}

static int note_seq(void *context, const struct checkpoint_row *row)
{
    *(uint64_t *)context = row->seq;
    return 1;
}

/* The newest one up to a place, as long as it is newer than what was found before. */
static int try_place(struct base_search *s, const struct place *place)
{
    bool taken = false;
    uint64_t seq = place->seq;
    int rc = 0;
    while (!rc && !taken && seq > s->out->seq) {
        rc = try_state(s, seq, &taken);
        if (rc || taken || seq == 1)
            break;
        struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                         .stream = place->branch,
                                         .last = seq - 1,
                                         .descending = true,
                                         .limit = 1};
        seq = 0;
        rc = store_each_checkpoint(s->live->store, &range, note_seq, &seq, s->error);
        rc = rc < 0 ? rc : 0;
    }
    return rc;
}

static int choose_state(struct base_search *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->common.n && !rc; i++)
        rc = try_place(s, &s->common.at[i]);
    if (!rc && !s->out->read)
        return error_set(s->error, CAIRN_EDAMAGED,
                         "it is not known where the two branches parted: run `cairn "
                         "doctor`");
    if (!rc && s->out->seq != s->common.at[0].seq)
        s->out->lost = s->common.at[0].seq;
    return rc;
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
        rc = find_line(&s, ours, &s.ours);
    if (!rc)
        rc = find_line(&s, theirs, &s.theirs);
    if (!rc)
        rc = find_common(&s);
    if (!rc)
        rc = choose_state(&s);
    if (!rc)
        rc = store_each_branch(live->store, session, look_for_merge, &s, error);
    session_merges_release(&s.merges);
    free(s.ours.at);
    free(s.theirs.at);
    free(s.common.at);
    return rc < 0 ? rc : 0;
}
