/* SPDX-License-Identifier: MIT */
/* Retention and copies of threads. */
#include "session/thread/thread_int.h"

#include "checkpoint/retain/retain.h"
#include "checkpoint/thread_index.h"
#include "storage/store.h"

#include <stdlib.h>

/* A row of the index, in an arena. */
struct row {
    struct str space, id, writes;
    uint64_t seq;
};

struct rows {
    struct row *at;
    size_t n, capacity;
    struct arena arena;
};

static int add_row(void *context, const struct thread_state_row *row)
{
    struct rows *rows = context;
    struct row *at = array_room(rows->at, rows->n, &rows->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    rows->at = at;
    at[rows->n++] = (struct row){arena_str(&rows->arena, row->space),
                                 arena_str(&rows->arena, row->id),
                                 arena_str(&rows->arena, row->writes), row->seq};
    return rows->arena.failed ? CAIRN_ENOMEM : 0;
}

static int load_rows(struct cairn_store *store, uint64_t branch, struct rows *rows,
                     struct cairn_error *error)
{
    int rc = store_all_thread_states(store, branch, add_row, rows, error);
    return rc == CAIRN_ENOMEM ? error_nomem(error) : rc;
}

static void release_rows(struct rows *rows)
{
    free(rows->at);
    arena_release(&rows->arena);
}

/* ---- Retention ---- */

struct pruned {
    struct live live;
    struct thread_writer to;
    struct rows rows;
    bool *gone; /* of rows */
    struct seq_set kept;
    uint64_t states;
    struct cairn_error *error;
};

/* Rows of a space stand together, by id. Writes without a state go with the states around
 * them. */
static void choose_gone(struct pruned *p, uint64_t keep)
{
    uint64_t left = keep;
    for (size_t i = p->rows.n; i-- > 0;) {
        const struct row *row = &p->rows.at[i];
        if (i + 1 == p->rows.n || !str_equal(row->space, row[1].space))
            left = keep;
        p->gone[i] = !left;
        p->states += p->gone[i] && row->seq;
        left -= left && row->seq;
    }
}

/* Of one row: all records that it leads to. Non-zero stops. */
static int each_seq(const struct row *row, int (*each)(void *, uint64_t seq),
                    void *context)
{
    struct reader in = reader_of(row->writes.ptr, row->writes.len);
    int rc = row->seq ? each(context, row->seq) : 0;
    for (uint64_t seq = next_writes(&in, 0); seq && !rc; seq = next_writes(&in, seq))
        rc = each(context, seq);
    return rc;
}

static int keep_seq(void *context, uint64_t seq)
{
    return seqs_add(context, seq);
}

/* A record that says what is gone stays, since it must outlive what it speaks of. */
static int keep_notes(void *context, const struct checkpoint_row *row)
{
    struct pruned *p = context;
    struct sound_record record;
    struct thread_payload payload;
    if (row_check(row, p->live.sha, &record, NULL) ||
        thread_payload_parse(record.payload, &payload, NULL) || payload.states ||
        payload.writes)
        return 0;
    return seqs_add(&p->kept, row->seq);
}

static int choose_kept(struct pruned *p, uint64_t branch)
{
    const struct checkpoint_range all = {.namespace_id = NAMESPACE_DEBUG,
                                         .stream = branch};
    int rc = store_each_checkpoint(p->live.store, &all, keep_notes, p, p->error);
    for (size_t i = 0; i < p->rows.n && !rc; i++)
        if (!p->gone[i])
            rc = each_seq(&p->rows.at[i], keep_seq, &p->kept);
    seqs_sort(&p->kept);
    return rc == CAIRN_ENOMEM ? error_nomem(p->error) : rc;
}

static const struct row *find_row(const struct pruned *p, struct str space,
                                  struct str id)
{
    size_t low = 0, high = p->rows.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct row *row = &p->rows.at[middle];
        int order = str_compare(row->space, space);
        order = order ? order : str_compare(row->id, id);
        if (!order)
            return row;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* What the records that stay would say again, should the index be made anew, is noted as
 * gone: also a state that was replaced since, by one whose record went. */
static int note_gone(void *context, const struct thread_state_row *said)
{
    struct pruned *p = context;
    const struct row *row = find_row(p, said->space, said->id);
    if (row && !p->gone[row - p->rows.at])
        return 0;
    struct thread_entry entry = {.kind = THREAD_GONE,
                                 .space = arena_str(&p->rows.arena, said->space),
                                 .id = arena_str(&p->rows.arena, said->id)};
    int rc = p->rows.arena.failed ? error_nomem(p->error) : thread_writer_room(&p->to);
    if (!rc)
        thread_writer_add(&p->to, &entry);
    return rc;
}

static int prune(struct pruned *p, struct str thread, uint64_t branch)
{
    const struct chains in = {p->live.store, p->live.sha, &sections_kind};
    const struct kept_seqs kept = {p->kept.at, p->kept.n};
    struct cairn_prune_result result = {0};
    bool damaged;
    int rc = chain_prune_except(&in, branch, &kept, false, &result, p->error)
                 ?: thread_writer_open(&p->to, &p->live, thread, branch, p->error);
    for (size_t i = 0; i < p->rows.n && !rc; i++)
        if (p->gone[i])
            rc = store_drop_thread_state(p->live.store, branch, p->rows.at[i].space,
                                         p->rows.at[i].id, p->error);
    rc = rc
             ?: thread_index_of(p->live.store, p->live.sha, branch, note_gone, p,
                                &damaged, p->error);
    return thread_writer_close(&p->to, rc);
}

static int prune_thread(struct pruned *p, struct str thread, uint64_t keep)
{
    struct thread_place place = {0};
    int rc = thread_find(p->live.store, p->live.sha, thread, &place, p->error)
                 ?: load_rows(p->live.store, place.branch, &p->rows, p->error);
    if (rc)
        return rc;
    p->gone = calloc(p->rows.n + 1, sizeof *p->gone);
    if (!p->gone)
        return error_nomem(p->error);
    choose_gone(p, keep);
    return choose_kept(p, place.branch) ?: prune(p, thread, place.branch);
}

int cairn_thread_prune(struct cairn_store *store, struct cairn_bytes thread,
                       uint64_t keep, uint64_t *states, struct cairn_error *error)
{
    if (!keep)
        return error_set(error, CAIRN_EUSAGE,
                         "at least one state of each space must be kept");
    struct pruned *p = calloc(1, sizeof *p);
    if (!p)
        return error_nomem(error);
    p->error = error;
    int rc = live_begin(&p->live, store, true, error)
                 ?: prune_thread(p, str_of_bytes(thread), keep);
    rc = live_close(&p->live, rc, error);
    uint64_t gone = p->states;
    release_rows(&p->rows);
    seqs_release(&p->kept);
    free(p->gone);
    free(p);
    if (rc)
        return rc;
    store_empty_log(store);
    if (states)
        *states = gone;
    return 0;
}

/* ---- Copies ---- */

struct copied {
    struct live live;
    struct thread_writer to;
    struct rows rows;
    struct thread_base base;
    struct arena arena; /* of records whose entries wait */
    struct thread_record last;
    uint64_t states;
    struct cairn_error *error;
};

static int use_values(struct copied *c, const struct thread_entry *entry)
{
    struct cairn_store *store = c->live.store;
    int rc =
        thread_value_use(store, &entry->state, STR("(state)"), c->error)
            ?: thread_value_use(store, &entry->metadata, STR("(metadata)"), c->error);
    for (uint32_t i = 0; i < entry->n_channels && !rc; i++)
        rc = thread_value_use(store, &entry->channels[i].value, entry->channels[i].name,
                              c->error);
    for (uint32_t i = 0; i < entry->n_writes && !rc; i++)
        rc = thread_value_use(store, &entry->writes[i].value, entry->writes[i].channel,
                              c->error);
    return rc;
}

static int read_record(struct copied *c, uint64_t seq)
{
    if (c->last.seq == seq)
        return 0;
    c->last.seq = 0;
    return thread_read(c->live.store, c->live.sha, seq, &c->base, &c->arena, &c->last,
                       c->error);
}

/* The memory of entries that were written goes with them. */
static int make_room(struct copied *c)
{
    int rc = thread_writer_room(&c->to);
    if (!rc && !c->to.record.n) {
        arena_release(&c->arena);
        c->last.seq = 0;
    }
    return rc;
}

struct copying_row {
    struct copied *c;
    const struct row *row;
};

/* All that the record says of the key: its state where it is the one that counts, and
 * its writes. */
static int copy_record(void *context, uint64_t seq)
{
    const struct copying_row *copying = context;
    struct copied *c = copying->c;
    const struct row *row = copying->row;
    int rc = 0;
    const struct thread_entry *state = NULL;
    for (uint32_t i = 0, n = 1; i < n && !rc; i++) {
        rc = make_room(c) ?: read_record(c, seq);
        if (rc)
            break;
        n = c->last.n;
        const struct thread_entry *entry = &c->last.entries[i];
        if (!str_equal(entry->id, row->id) || !str_equal(entry->space, row->space))
            continue;
        if (entry->kind == THREAD_STATE)
            state = thread_entry_of(&c->last, THREAD_STATE, row->space, row->id);
        if (entry->kind != THREAD_WRITES &&
            !(entry->kind == THREAD_STATE && entry == state && seq == row->seq))
            continue;
        rc = use_values(c, entry);
        if (!rc)
            thread_writer_add(&c->to, entry);
        c->states += !rc && entry->kind == THREAD_STATE;
    }
    return rc;
}

/* In the order in which they were put, of all the row's records: one may have both. */
static int copy_row(struct copied *c, const struct row *row)
{
    struct copying_row copying = {c, row};
    struct reader in = reader_of(row->writes.ptr, row->writes.len);
    bool had = !row->seq;
    int rc = 0;
    for (uint64_t seq = next_writes(&in, 0); seq && !rc; seq = next_writes(&in, seq)) {
        had |= seq == row->seq;
        rc = copy_record(&copying, seq);
    }
    return rc ?: had ? 0 : copy_record(&copying, row->seq);
}

static int copy_thread(struct copied *c, struct str from, struct str to)
{
    struct thread_place source = {0}, target = {0};
    int rc = thread_find(c->live.store, c->live.sha, from, &source, c->error);
    if (!rc)
        rc = thread_find(c->live.store, c->live.sha, to, &target, c->error);
    if (!target.branch && rc != CAIRN_ENOTFOUND)
        return rc;
    if (!source.branch)
        return rc;
    if (target.branch)
        return error_set(c->error, CAIRN_EEXISTS,
                         "there is a thread already that the copy was to become");
    rc = thread_find_or_make(&c->live, to, &target, c->error)
             ?: load_rows(c->live.store, source.branch, &c->rows, c->error)
             ?: thread_writer_open(&c->to, &c->live, to, target.branch, c->error);
    for (size_t i = 0; i < c->rows.n && !rc; i++)
        rc = copy_row(c, &c->rows.at[i]);
    return thread_writer_close(&c->to, rc);
}

int cairn_thread_copy(struct cairn_store *store, struct cairn_bytes from,
                      struct cairn_bytes to, uint64_t *states,
                      struct cairn_error *error)
{
    struct copied *c = calloc(1, sizeof *c);
    if (!c)
        return error_nomem(error);
    c->error = error;
    int rc = live_begin(&c->live, store, true, error)
                 ?: copy_thread(c, str_of_bytes(from), str_of_bytes(to));
    rc = live_close(&c->live, rc, error);
    if (!rc && states)
        *states = c->states;
    release_rows(&c->rows);
    arena_release(&c->arena);
    thread_base_release(&c->base);
    free(c);
    return rc;
}
