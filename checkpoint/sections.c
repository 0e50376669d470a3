/* SPDX-License-Identifier: MIT */
/* Writing the checkpoints of sessions, and reading them back. Every record is a full
 * one, so that none is needed to read another. */
#include "checkpoint/sections_int.h"

#include "checkpoint/row_int.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <assert.h>

/* ---- The end of a stream ---- */

struct opening {
    struct chain *head;
    struct arena *arena;
    struct sections *last; /* may be NULL */
    struct cairn_error *error;
};

/* Damage is passed over; `last` is changed only by a record that is taken. */
static int read_newest(const struct opening *o, const struct checkpoint_row *row,
                       struct sound_record *record)
{
    struct sections unused;
    struct cairn_error why = {0};
    int rc = row_check(row, o->head->in.sha, record, &why);
    if (rc == 0)
        rc = sections_of_record(o->arena, record, o->last ? o->last : &unused, &why);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(o->error, rc, "%s", why.text);
    return rc;
}

static int take_newest(void *context, const struct checkpoint_row *row)
{
    const struct opening *o = context;
    struct chain *head = o->head;
    struct sound_record record;
    if (row->stream != head->id || row->namespace_id != NAMESPACE_DEBUG)
        return error_set(o->error, CAIRN_EDAMAGED,
                         "the index of checkpoints leads to a wrong row: run `cairn "
                         "doctor`");
    int rc = read_newest(o, row, &record);
    if (rc)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    head->parent = head->base = row->seq;
    head->parent_digest = record.digest;
    head->position = record.header.position;
    head->base_bytes = chain_base_bytes(record.bytes, 0);
    return 1;
}

static int note_start(void *context, const struct branch_row *row)
{
    *(uint64_t *)context = row->from_seq;
    return 0;
}

static int take_start(void *context, const struct checkpoint_row *row)
{
    const struct opening *o = context;
    struct chain *head = o->head;
    struct sound_record record;
    struct cairn_error why = {0};
    if (row->namespace_id != NAMESPACE_DEBUG)
        return 0;
    int rc = row_check(row, head->in.sha, &record, &why);
    if (rc)
        return rc == CAIRN_EDAMAGED ? 0 : error_set(o->error, rc, "%s", why.text);
    head->parent = row->seq;
    head->parent_digest = record.digest;
    return 0;
}

/* A branch without a sound record begins at the checkpoint that it starts from. Where
 * that one is damaged or lost, it begins a tree of its own. */
static int begin_branch(struct opening *o)
{
    struct cairn_store *store = o->head->in.store;
    uint64_t from = 0;
    assert(o->head->position == 0);
    int rc = store_get_branch(store, o->head->id, note_start, &from, o->error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(o->error, rc, "there is no branch %llu",
                         (unsigned long long)o->head->id);
    if (rc == 0 && from)
        rc = store_get_checkpoint(store, from, take_start, o, o->error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

int sections_open(struct cairn_store *store, struct sha256 *sha, uint64_t branch,
                  struct chain *head, struct arena *arena, struct sections *last,
                  struct cairn_error *error)
{
    struct chain made = {.in = {store, sha, &sections_kind}, .id = branch};
    struct opening o = {&made, arena, last, error};
    struct checkpoint_range newest = {
        .namespace_id = NAMESPACE_DEBUG, .stream = branch, .descending = true};
    if (branch == 0) /* it would mean the streams of all branches */
        return error_set(error, CAIRN_ENOTFOUND, "there is no branch 0");
    int rc = store_each_checkpoint(store, &newest, take_newest, &o, error);
    if (rc == 0 && made.position == 0)
        rc = begin_branch(&o);
    if (rc < 0)
        return rc;
    assert_chain(&made);
    *head = made;
    return 0;
}

/* ---- Appending ---- */

int sections_append(struct chain *head, const struct sections *sections,
                    int64_t time_ns, struct checkpoint_ref *ref,
                    struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    assert(head->in.kind == &sections_kind);
    if (store_key(head->in.store))
        return error_set(error, CAIRN_EUSAGE,
                         "sessions are not keyed: their checkpoints are made without "
                         "--key and CAIRN_KEY");
    int rc = sections_encode(sections, &bytes, error);
    if (rc == 0) {
        struct chain_payload payload = {
            .bytes = buf_view(&bytes), .full = true, .time_ns = time_ns};
        rc = chain_append(head, &payload, ref, error);
    }
    buf_release(&bytes);
    return rc;
}

/* ---- Reading ---- */

struct reading {
    struct sha256 *sha;
    struct arena *arena;
    struct sections *out;
    struct sections_at at;
    bool ours;
    struct cairn_error *error;
};

static int read_row(void *context, const struct checkpoint_row *row)
{
    struct reading *reading = context;
    struct sound_record record;
    if (row->namespace_id != NAMESPACE_DEBUG)
        return 0;
    reading->ours = true;
    int rc = row_verify(row, reading->sha, &record, reading->error);
    if (rc)
        return rc;
    rc = sections_of_record(reading->arena, &record, reading->out, reading->error);
    if (rc)
        return rc == CAIRN_EDAMAGED ? row_blame(row, reading->error) : rc;
    reading->at = (struct sections_at){.ref = {row->seq, record.digest},
                                       .branch = row->stream,
                                       .parent = row->parent,
                                       .time_ns = row->time_ns};
    return 0;
}

static int note_session(void *context, const struct branch_row *row)
{
    *(uint64_t *)context = row->session;
    return 0;
}

static int find_session(struct cairn_store *store, struct sections_at *at,
                        struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = store_get_branch(store, at->branch, note_session, &at->session, &why);
    if (rc == 0 || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    return error_set(error, rc, "%s", why.text);
}

int sections_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                  struct arena *arena, struct sections *out, struct sections_at *at,
                  struct cairn_error *error)
{
    struct sections made;
    struct reading reading = {.sha = sha, .arena = arena, .out = &made, .error = error};
    int rc = store_get_checkpoint(store, seq, read_row, &reading, error);
    if (rc == CAIRN_ENOTFOUND || (rc == 0 && !reading.ours))
        return error_set(error, CAIRN_ENOTFOUND, "there is no checkpoint debug:%llu",
                         (unsigned long long)seq);
    if (rc == 0 && at)
        rc = find_session(store, &reading.at, error);
    if (rc)
        return rc;
    *out = made;
    if (at)
        *at = reading.at;
    return 0;
}
