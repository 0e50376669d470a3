/* SPDX-License-Identifier: MIT */
/* The pass over all rows by seq. It keeps one small state per stream, so memory grows
 * with the number of runs, not of checkpoints.
 *
 * A record that follows a damaged one is not damaged itself: links are compared only
 * between sound records, and a link to any other record becomes a question for later.
 */
#include "checkpoint/verify/verify_int.h"

#include "checkpoint/change_int.h"

#include "base/array.h"
#include "base/limits.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

struct stream_state {
    uint8_t namespace_id;
    uint64_t stream;
    uint64_t seq; /* of the newest sound record, 0: none yet */
    struct digest digest;
    uint64_t position;
    uint64_t skipped;           /* damaged and deleted ones since */
    uint64_t damaged;           /* of these the damaged ones */
    struct payload_frame frame; /* of the newest sound full record */
    uint64_t asked;             /* base already asked about */
    size_t tombstone;           /* the next one, index into verifier.tombstones */
    const struct tombstone_row *passed; /* newest one since the sound record */
};

/* ---- States of streams ---- */

static int add_stream(struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    struct stream_state *streams =
        array_room(v->streams, v->n_streams, &v->stream_room, sizeof *streams);
    if (!streams)
        return CAIRN_ENOMEM;
    v->streams = streams;
    /* Sessions have no key. */
    if (store_key(v->store) && namespace_id == NAMESPACE_DEBUG) {
        v->result.unkeyed_runs++;
        v->result.unkeyed_branches++;
    }
    v->streams[v->n_streams++] = (struct stream_state){
        .namespace_id = namespace_id,
        .stream = stream,
        .tombstone = tombstones_of(&v->tombstones, namespace_id, stream)};
    return 0;
}

static int find_stream(struct verifier *v, uint8_t namespace_id, uint64_t stream,
                       struct stream_state **out)
{
    char bytes[sizeof stream + 1];
    memcpy(bytes, &stream, sizeof stream);
    bytes[sizeof stream] = (char)namespace_id;
    struct str key = {bytes, sizeof bytes};
    uint32_t index = map_get(&v->stream_index, key);
    if (index == MAP_NONE) {
        index = (uint32_t)v->n_streams;
        key = arena_str(&v->keys, key);
        if (!key.ptr || map_add(&v->stream_index, key, index, NULL) < 0 ||
            add_stream(v, namespace_id, stream) < 0) {
            error_nomem(v->error);
            return CAIRN_ENOMEM;
        }
    }
    assert(index < v->n_streams);
    *out = &v->streams[index];
    assert((*out)->stream == stream && (*out)->namespace_id == namespace_id);
    return 0;
}

void verify_rows_release(struct verifier *v)
{
    free(v->streams);
    map_release(&v->stream_index);
    arena_release(&v->keys);
}

/* ---- Damaged rows ---- */

static int note_damaged(struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    struct stream_state *seen;
    int rc = find_stream(v, namespace_id, stream, &seen);
    if (rc)
        return rc;
    seen->skipped++;
    seen->damaged++;
    assert(seen->damaged <= seen->skipped);
    return 0;
}

static int report_row(struct verifier *v, const struct checkpoint_row *row,
                      const char *reason)
{
    struct record_header header;
    struct str payload;
    int rc = note_damaged(v, row->namespace_id, row->stream);
    /* A wrong column: the header says which stream the record belongs to. */
    if (rc == 0 &&
        record_decode(row->record, row->digest, v->sha, &header, &payload, NULL) == 0) {
        if (header.stream != row->stream || header.namespace_id != row->namespace_id)
            rc = note_damaged(v, header.namespace_id, header.stream);
        if (rc == 0 && header.seq != row->seq && seqs_add(&v->damaged, header.seq))
            rc = error_nomem(v->error);
    }
    if (rc)
        return rc;
    bool unkeyed = verify_is_unkeyed(v, row->namespace_id, row->stream);
    bool forged = !unkeyed && verify_only_hmac_fails(v, row);
    return verify_damaged(v, forged ? CAIRN_PROBLEM_HMAC : CAIRN_PROBLEM_DAMAGE, row,
                          reason);
}

/* ---- Payloads ---- */

struct root_context {
    struct verifier *v;
    uint8_t namespace_id;
    uint64_t seq;
};

static int note_root(void *context, const struct digest *digest, bool is_node)
{
    const struct root_context *note = context;
    return verify_note_root(note->v, note->namespace_id, note->seq, digest, is_node);
}

/* Its full record is not the newest one of the stream. */
static int question_base(struct verifier *v, struct stream_state *seen,
                         const struct sound_record *record, uint64_t base)
{
    struct question question = {.namespace_id = record->header.namespace_id,
                                .stream = record->header.stream,
                                .seq = record->header.seq,
                                .target = base,
                                .base = true};
    assert(base > seen->frame.base);
    checkpoint_id(question.namespace_id, question.seq, &record->digest, question.id);
    seen->asked = base;
    return verify_add_question(v, &question);
}

static int check_payload(struct verifier *v, struct stream_state *seen,
                         const struct sound_record *record, struct cairn_error *reason)
{
    uint8_t namespace_id = record->header.namespace_id;
    const struct payload_kind *kind = kind_of(v->kinds, namespace_id);
    struct root_context note = {v, namespace_id, record->header.seq};
    assert(namespace_id <= NAMESPACE_DEBUG);
    struct payload_check check = {.frame = &seen->frame,
                                  .roots = ROOTS_NEEDED,
                                  .root = note_root,
                                  .context = &note};
    if (!kind) {
        v->unread[namespace_id]++;
        return 0;
    }
    int rc = kind->check(record, &check, reason);
    if (rc)
        return rc == CAIRN_ENOMEM ? error_nomem(reason) : rc;
    assert(record->header.kind != RECORD_FULL || check.base == record->header.seq);
    if (check.base < seen->frame.base)
        return error_set(reason, CAIRN_EDAMAGED,
                         "it belongs to full record %llu, but %llu is a newer one",
                         (unsigned long long)check.base,
                         (unsigned long long)seen->frame.base);
    if (check.base == seen->frame.base || check.base == seen->asked)
        return 0;
    return question_base(v, seen, record, check.base) ? error_nomem(reason) : 0;
}

/* ---- Deleted ranges ---- */

/* The record before the range, if it is still there, must be the one it names. */
static bool before_matches(const struct stream_state *seen,
                           const struct tombstone_row *t)
{
    if (seen->passed)
        return digest_equal(&t->before, &seen->passed->after);
    return seen->seq == 0 || digest_equal(&t->before, &seen->digest);
}

struct change_check {
    struct verifier *v;
    struct stream_state *seen;
    struct cairn_error reason;
};

/* Its checksum held: what is wrong with the rest is damage that only shows here. */
static int check_change_record(void *context, const struct tombstone_row *t,
                               const struct sound_record *record)
{
    struct change_check *check = context;
    char number[CAIRN_ID_MAX];
    int rc = check_payload(check->v, check->seen, record, &check->reason);
    if (rc != CAIRN_EDAMAGED)
        return rc;
    checkpoint_number(t->namespace_id, t->last, number);
    return verify_report(check->v, t->last, number,
                         "the note about the deleted checkpoints %llu to %llu is "
                         "damaged: %s",
                         (unsigned long long)t->first, (unsigned long long)t->last,
                         check->reason.text);
}

static int check_change(struct verifier *v, struct stream_state *seen,
                        const struct tombstone_row *t)
{
    struct change_check check = {v, seen, {0}};
    if (!t->change_bytes)
        return 0;
    int rc = change_read(v->store, t, check_change_record, &check, &check.reason);
    if (rc == CAIRN_EDAMAGED) /* verify_run_rows reports it */
        return 0;
    return rc < 0 ? error_set(v->error, rc, "%s", check.reason.text) : rc;
}

static int pass_tombstones(struct verifier *v, struct stream_state *seen, uint64_t seq)
{
    const struct tombstones *all = &v->tombstones;
    char number[CAIRN_ID_MAX];
    assert(seen->tombstone <= all->n && seen->damaged <= seen->skipped);
    for (; seen->tombstone < all->n; seen->tombstone++) {
        const struct tombstone_row *t = &all->at[seen->tombstone];
        unsigned long long first = t->first, last = t->last;
        if (t->namespace_id != seen->namespace_id || t->stream != seen->stream ||
            t->first > seq)
            return 0;
        if (t->last >= seq) {
            checkpoint_number(seen->namespace_id, seq, number);
            return verify_report(v, seq, number,
                                 "it lies in the range %llu to %llu, which is recorded "
                                 "as deleted",
                                 first, last);
        }
        int rc = 0;
        checkpoint_number(seen->namespace_id, last, number);
        if (seen->damaged == 0 && !before_matches(seen, t))
            rc = verify_report(v, last, number,
                               "the note about the deleted checkpoints %llu to %llu "
                               "does not fit the record before them",
                               first, last);
        if (rc)
            return rc;
        seen->skipped += t->count;
        seen->passed = t;
        rc = check_change(v, seen, t);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- Links ---- */

static int check_link(struct verifier *v, struct stream_state *seen,
                      const struct checkpoint_row *row,
                      const struct sound_record *checked)
{
    const struct record_header *h = &checked->header;
    struct question question = {.namespace_id = row->namespace_id,
                                .stream = row->stream,
                                .seq = row->seq,
                                .target = row->parent,
                                .digest = h->parent};
    assert(h->seq == row->seq && h->stream == row->stream);
    row_id(row, question.id);
    if (h->position <= seen->position)
        return verify_report(v, row->seq, question.id,
                             "its position in the stream, %llu, does not follow %llu",
                             (unsigned long long)h->position,
                             (unsigned long long)seen->position);
    uint64_t missing = h->position - seen->position - 1;
    question.gap = missing > seen->skipped ? missing - seen->skipped : 0;
    if (row->parent == 0 && question.gap == 0)
        return 0;
    if (row->parent != seen->seq || row->parent == 0)
        return verify_add_question(v, &question);
    if (!digest_equal(&h->parent, &seen->digest))
        return verify_report(v, row->seq, question.id,
                             "its parent digest is not that of checkpoint %llu",
                             (unsigned long long)row->parent);
    return question.gap ? verify_add_question(v, &question) : 0;
}

/* ---- The pass ---- */

/* A run that was recorded without a key is not damaged because of that; but then none
 * of its records has an HMAC. */
static int check_record(struct verifier *v, const struct checkpoint_row *row,
                        struct sound_record *checked, struct cairn_error *reason)
{
    bool unkeyed = row->key && verify_is_unkeyed(v, row->namespace_id, row->stream);
    int rc = unkeyed ? row_check_bytes(row, v->sha, checked, reason)
                     : row_check(row, v->sha, checked, reason);
    if (rc)
        return rc;
    bool keyed = checked->header.flags & RECORD_KEYED;
    assert(!row->key || unkeyed || keyed || row->namespace_id == NAMESPACE_DEBUG);
    if (unkeyed && keyed)
        return error_set(reason, CAIRN_EDAMAGED,
                         "it has an HMAC, but the row of its run has none any more");
    v->result.hmacs += keyed;
    v->result.unchecked_hmacs += keyed && !row->key;
    return 0;
}

static int check_row(void *context, const struct checkpoint_row *row)
{
    struct verifier *v = context;
    struct stream_state *seen;
    struct sound_record checked;
    struct cairn_error reason = {0};
    v->result.checked++;
    int rc = check_record(v, row, &checked, &reason);
    if (rc)
        return rc == CAIRN_EDAMAGED ? report_row(v, row, reason.text) : rc;
    rc = find_stream(v, row->namespace_id, row->stream, &seen);
    if (rc)
        return rc;
    rc = pass_tombstones(v, seen, row->seq);
    if (rc)
        return rc;
    rc = check_payload(v, seen, &checked, &reason);
    if (rc == CAIRN_EDAMAGED)
        return report_row(v, row, reason.text);
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    rc = check_link(v, seen, row, &checked);
    seen->seq = row->seq;
    seen->digest = checked.digest;
    seen->position = checked.header.position;
    seen->skipped = seen->damaged = 0;
    seen->passed = NULL;
    return rc;
}

int verify_rows(struct verifier *v)
{
    /* Below 0, too: such a row is not ours, and nobody else reads it. */
    struct checkpoint_range all = {.first = (uint64_t)INT64_MIN};
    assert(v->n_streams == 0);
    int rc = store_each_checkpoint(v->store, &all, check_row, v, v->error);
    return rc < 0 ? rc : 0;
}
