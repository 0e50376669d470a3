/* SPDX-License-Identifier: MIT */
/* From a stored row to a verified record, and the name of a row in messages. */
#include "checkpoint/row_int.h"

#include "base/array.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"

#include <assert.h>
#include <stdlib.h>

void row_id(const struct checkpoint_row *row, char out[CAIRN_ID_MAX])
{
    struct digest start = {{0}};
    size_t known = row->digest.len < DIGEST_SIZE ? row->digest.len : DIGEST_SIZE;
    if (known)
        memcpy(start.bytes, row->digest.ptr, known);
    checkpoint_id(row->namespace_id, row->seq, &start, out);
    if (known < 6)
        out[strcspn(out, "-")] = 0;
}

static int refuse_column(struct cairn_error *error, const char *name)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "its column `%s` differs from the record's header", name);
}

/* Sessions have no key. A record of one that has an HMAC all the same must have that of
 * the key. */
static bool wants_hmac(const struct record_header *header)
{
    return header->namespace_id != NAMESPACE_DEBUG || (header->flags & RECORD_KEYED);
}

int row_check(const struct checkpoint_row *row, struct sha256 *sha,
              struct sound_record *out, struct cairn_error *error)
{
    struct sound_record found = {.bytes = row->record.len};
    int rc = record_decode(row->record, row->digest, sha, &found.header, &found.payload,
                           error);
    if (rc == 0 && row->key && wants_hmac(&found.header))
        rc = record_authentic(row->record, &found.header, row->key, sha, error);
    if (rc)
        return rc;
    const struct record_header *h = &found.header;
    if (h->seq != row->seq)
        return refuse_column(error, "seq");
    if (h->namespace_id != row->namespace_id)
        return refuse_column(error, "namespace");
    if (h->stream != row->stream)
        return refuse_column(error, "stream");
    if (h->kind != row->kind)
        return refuse_column(error, "kind");
    if (h->time_ns != row->time_ns)
        return refuse_column(error, "time_ns");
    if ((row->parent == 0) != digest_is_none(&h->parent) || row->parent >= row->seq)
        return refuse_column(error, "parent");
    memcpy(found.digest.bytes, row->digest.ptr, DIGEST_SIZE);
    assert_sound(&found);
    *out = found;
    return 0;
}

int row_check_bytes(const struct checkpoint_row *row, struct sha256 *sha,
                    struct sound_record *out, struct cairn_error *error)
{
    struct checkpoint_row bare = *row;
    bare.key = NULL;
    return row_check(&bare, sha, out, error);
}

int row_blame(const struct checkpoint_row *row, struct cairn_error *error)
{
    char id[CAIRN_ID_MAX];
    assert(!error || error->code == CAIRN_EDAMAGED);
    row_id(row, id);
    error_context(error, "checkpoint %s is damaged", id);
    return CAIRN_EDAMAGED;
}

int row_verify(const struct checkpoint_row *row, struct sha256 *sha,
               struct sound_record *out, struct cairn_error *error)
{
    int rc = row_check(row, sha, out, error);
    if (rc == CAIRN_EDAMAGED)
        row_blame(row, error);
    return rc;
}

struct digest row_digest(const struct checkpoint_row *row, struct sha256 *sha)
{
    struct digest computed, stored = {{0}};
    struct record_header header;
    struct str payload;
    sha256_begin(sha);
    sha256_add(sha, row->record.ptr, row->record.len);
    sha256_end(sha, &computed);
    struct str view = {(const char *)computed.bytes, DIGEST_SIZE};
    if (record_decode(row->record, view, sha, &header, &payload, NULL) == 0 &&
        header.seq == row->seq && header.stream == row->stream)
        return computed;
    if (row->digest.len == DIGEST_SIZE)
        memcpy(stored.bytes, row->digest.ptr, DIGEST_SIZE);
    return stored;
}

/* ---- Lists of seqs ---- */

int seqs_add(struct seqs *seqs, uint64_t seq)
{
    uint64_t *at = array_room(seqs->at, seqs->n, &seqs->capacity, sizeof *at);
    assert(seqs->n <= seqs->capacity);
    if (!at)
        return CAIRN_ENOMEM;
    seqs->at = at;
    seqs->unsorted = seqs->unsorted || (seqs->n && at[seqs->n - 1] > seq);
    seqs->at[seqs->n++] = seq;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void seqs_sort(struct seqs *seqs)
{
    if (seqs->unsorted)
        qsort(seqs->at, seqs->n, sizeof *seqs->at, by_value);
    seqs->unsorted = false;
}

bool seqs_has(const struct seqs *seqs, uint64_t seq)
{
    assert(!seqs->unsorted);
    return seqs->n && bsearch(&seq, seqs->at, seqs->n, sizeof seq, by_value);
}

void seqs_release(struct seqs *seqs)
{
    free(seqs->at);
    *seqs = (struct seqs){0};
}

static int note_fork(void *context, const struct payload_fork *branch)
{
    return seqs_add(context, branch->seq);
}

int fork_points(const struct chains *in, uint64_t stream, struct seqs *out,
                struct cairn_error *error)
{
    assert_chains(in);
    if (!in->kind->find_forks)
        return 0;
    int rc = in->kind->find_forks(in->store, stream, note_fork, out, error);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    seqs_sort(out);
    return rc;
}

/* ---- What it lacks ---- */

struct lack {
    struct losses *losses;
    bool lost;
    struct cairn_error why; /* of looking, apart from that of the payload */
};

static int look_at_root(void *context, const struct digest *object, bool is_node)
{
    struct lack *lack = context;
    return losses_look(lack->losses, object, is_node, &lack->lost, &lack->why);
}

int record_lacks(const struct sound_record *record, const struct payload_kind *kind,
                 struct losses *losses, bool *lost, struct cairn_error *error)
{
    struct lack lack = {.losses = losses};
    struct payload_check check = {
        .roots = ROOTS_NEEDED, .root = look_at_root, .context = &lack};
    if (!losses_any(losses))
        return 0;
    int rc = kind->check(record, &check, error);
    if (lack.why.code)
        return error_set(error, lack.why.code, "%s", lack.why.text);
    *lost = *lost || (!rc && lack.lost);
    return rc == CAIRN_ENEWER ? 0 : rc; /* what it needs is not known */
}
