/* SPDX-License-Identifier: MIT */
/* What the records of a branch say, in their order, gives the rows of its index: a state
 * replaces the one before, writes are added, and what is gone takes both away. */
#include "checkpoint/thread_index.h"

#include "checkpoint/threads.h"

#include "base/memory.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_thread.h"
#include "storage/store.h"

#include <stdlib.h>

struct key {
    struct str space, id;
    uint64_t seq;      /* of the record with the state, 0: none */
    uint64_t last;     /* of the records with writes, 0: none */
    struct buf writes; /* as in a row */
    bool seen;         /* the index has it */
};

struct keys {
    struct cairn_store *store;
    uint64_t branch;
    struct key *at;
    size_t n, capacity;
    struct map places;
    struct arena arena;
    struct thread_index_difference found;
    struct cairn_error *error;
};

static void release_keys(struct keys *k)
{
    for (size_t i = 0; i < k->n; i++)
        buf_release(&k->at[i].writes);
    free(k->at);
    map_release(&k->places);
    arena_release(&k->arena);
}

/* The length of the space keeps (a, bc) apart from (ab, c). */
static int find_key(struct keys *k, struct str space, struct str id, bool add,
                    struct key **out)
{
    struct buf text = BUF_INIT;
    uint32_t place = (uint32_t)k->n;
    *out = NULL;
    buf_lstr(&text, space);
    buf_str(&text, id);
    int rc = buf_check(&text, k->error);
    if (!rc && !add)
        place = map_get(&k->places, buf_view(&text));
    struct str name = rc || !add ? STR("") : arena_str(&k->arena, buf_view(&text));
    buf_release(&text);
    if (rc || !add) {
        *out = rc || place == MAP_NONE ? NULL : &k->at[place];
        return rc;
    }
    int added =
        k->arena.failed ? CAIRN_ENOMEM : map_add(&k->places, name, place, &place);
    struct key *at =
        added > 0 ? array_room(k->at, k->n, &k->capacity, sizeof *at) : k->at;
    if (added < 0 || !at)
        return error_nomem(k->error);
    k->at = at;
    if (added)
        at[k->n++] = (struct key){.space = arena_str(&k->arena, space),
                                  .id = {name.ptr + name.len - id.len, id.len}};
    *out = &at[place];
    return k->arena.failed ? error_nomem(k->error) : 0;
}

static int take_entry(struct keys *k, const struct thread_entry *entry, uint64_t seq)
{
    struct key *key;
    int rc = find_key(k, entry->space, entry->id, true, &key);
    if (rc)
        return rc;
    if (entry->kind == THREAD_GONE) {
        key->seq = key->last = 0;
        buf_clear(&key->writes);
    } else if (entry->kind == THREAD_STATE) {
        key->seq = seq;
    } else if (key->last != seq) {
        buf_varint(&key->writes, seq - key->last);
        key->last = seq;
    }
    return buf_check(&key->writes, k->error);
}

static int note_seq(void *context, const struct checkpoint_row *row)
{
    return seqs_add(context, row->seq);
}

/* A branch that is none of a thread has no keys. */
static int take_records(struct keys *k, struct sha256 *sha, bool *damaged)
{
    const struct checkpoint_range all = {.namespace_id = NAMESPACE_DEBUG,
                                         .stream = k->branch};
    struct seq_set seqs = {0};
    struct thread_base base = {0};
    int rc = store_each_checkpoint(k->store, &all, note_seq, &seqs, k->error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(k->error);
    *damaged = false;
    for (size_t i = 0; i < seqs.n && !rc; i++) {
        struct thread_record record = {0};
        struct arena arena = ARENA_INIT;
        struct cairn_error why = {0};
        rc = thread_read(k->store, sha, seqs.at[i], &base, &arena, &record, &why);
        for (uint32_t e = 0; e < record.n && !rc; e++)
            rc = take_entry(k, &record.entries[e], seqs.at[i]);
        arena_release(&arena);
        if (rc == CAIRN_ENOTFOUND && i == 0) {
            rc = 0;
            break;
        }
        if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND) {
            rc = 0;
            *damaged = true;
        } else if (rc && why.code == rc) {
            error_set(k->error, rc, "%s", why.text);
        }
    }
    thread_base_release(&base);
    seqs_release(&seqs);
    return rc;
}

static void note_difference(struct keys *k, struct str space, struct str id,
                            bool in_index, bool in_records)
{
    if (!k->found.keys++) {
        k->found.space = arena_str(&k->arena, space);
        k->found.id = arena_str(&k->arena, id);
        k->found.in_index = in_index;
        k->found.in_records = in_records;
    }
}

static int see_row(void *context, const struct thread_state_row *row)
{
    struct keys *k = context;
    struct key *key;
    int rc = find_key(k, row->space, row->id, false, &key);
    if (rc)
        return rc;
    bool there = key && (key->seq || key->last);
    if (key)
        key->seen = true;
    if (!there || key->seq != row->seq ||
        !str_equal(buf_view(&key->writes), row->writes))
        note_difference(k, row->space, row->id, true, there);
    return 0;
}

static int compare(struct keys *k)
{
    int rc = store_all_thread_states(k->store, k->branch, see_row, k, k->error);
    for (size_t i = 0; i < k->n && !rc; i++)
        if (!k->at[i].seen && (k->at[i].seq || k->at[i].last))
            note_difference(k, k->at[i].space, k->at[i].id, false, true);
    k->found.branch = k->branch;
    return !rc && k->arena.failed ? error_nomem(k->error) : rc;
}

static int each_row(struct keys *k, thread_state_fn *each, void *context)
{
    int rc = 0;
    for (size_t i = 0; i < k->n && !rc; i++) {
        const struct key *key = &k->at[i];
        const struct thread_state_row row = {.branch = k->branch,
                                             .space = key->space,
                                             .id = key->id,
                                             .seq = key->seq,
                                             .writes = buf_view(&key->writes)};
        if (key->seq || key->last)
            rc = each(context, &row);
    }
    return rc;
}

int thread_index_of(struct cairn_store *store, struct sha256 *sha, uint64_t branch,
                    thread_state_fn *each, void *context, bool *damaged,
                    struct cairn_error *error)
{
    struct keys k = {.store = store, .branch = branch, .error = error};
    int rc = take_records(&k, sha, damaged) ?: each_row(&k, each, context);
    release_keys(&k);
    return rc;
}

static int put_row(void *context, const struct thread_state_row *row)
{
    struct keys *k = context;
    return store_put_thread_state(k->store, row, k->error);
}

static int put(struct keys *k)
{
    return store_delete_thread_states(k->store, k->branch, k->error)
               ?: each_row(k, put_row, k);
}

static int note_branch(void *context, uint64_t branch)
{
    return seqs_add(context, branch);
}

/* `each` NULL: made anew. */
static int go(struct cairn_store *store, struct sha256 *sha, thread_index_fn *each,
              void *context, struct cairn_error *error)
{
    struct seq_set branches = {0};
    int rc = store_each_thread_branch(store, note_branch, &branches, error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(error);
    for (size_t i = 0; i < branches.n && !rc; i++) {
        struct keys k = {.store = store, .branch = branches.at[i], .error = error};
        bool damaged;
        rc = take_records(&k, sha, &damaged);
        if (!rc && !each)
            rc = put(&k);
        else if (!rc && !damaged)
            rc = compare(&k);
        if (!rc && k.found.keys)
            rc = each(context, &k.found);
        release_keys(&k);
    }
    seqs_release(&branches);
    return rc;
}

int thread_index_compare(struct cairn_store *store, struct sha256 *sha,
                         thread_index_fn *each, void *context,
                         struct cairn_error *error)
{
    int rc = go(store, sha, each, context, error);
    return rc > 0 ? 0 : rc;
}

int thread_index_make(struct cairn_store *store, struct sha256 *sha,
                      struct cairn_error *error)
{
    return go(store, sha, NULL, NULL, error);
}
