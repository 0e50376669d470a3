/* SPDX-License-Identifier: MIT */
/* Copies records of the damaged store into the new one. A record is kept if its bytes
 * match the SHA-256 in its row; the columns that repeat its header are made from it. */
#include "checkpoint/repair/repair_int.h"

#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

/* Sets the columns that repeat the header. The parent's seq is only in its column;
 * where that cannot be right, any will do until repair_parents.c. */
static void correct_columns(struct checkpoint_row *row, const struct record_header *h,
                            bool root)
{
    bool moved = row->seq != h->seq;
    assert(h->seq > 0 && h->position > 0);
    row->seq = h->seq;
    row->namespace_id = h->namespace_id;
    row->stream = h->stream;
    row->kind = h->kind;
    row->time_ns = h->time_ns;
    if (root)
        row->parent = 0;
    else if (moved || row->parent == 0 || row->parent >= h->seq)
        row->parent = h->seq - 1;
}

struct record_source {
    struct repair *repair;
    bool stray; /* not in the tables: from pages out of use, or bytes without a row */
};

/* Of an unknown kind only the bytes can be checked. */
static int check_payload(const struct repair *r, const struct sound_record *record)
{
    const struct payload_kind *kind =
        kind_of(r->options->kinds, record->header.namespace_id);
    struct payload_check check = {0};
    return kind ? kind->check(record, &check, NULL) : 0;
}

/* Deleted on purpose, but still on a page that is out of use, or that was until pages
 * changed places. */
static bool is_deleted(const struct repair *r, const struct checkpoint_row *row)
{
    return tombstones_in(&r->deleted, row->namespace_id, row->stream, row->seq) != NULL;
}

static bool is_namespace(uint8_t id)
{
    return id == NAMESPACE_WORKFLOW || id == NAMESPACE_DEBUG;
}

/* Either its namespace column or its header may be damaged; repair_find_losses decides
 * between them. */
static int note_bad(struct repair *r, const struct checkpoint_row *row)
{
    uint8_t column = row->namespace_id;
    uint8_t header = record_peek(row->record).namespace_id;
    if (!is_namespace(header))
        header = is_namespace(column) ? column : (uint8_t)NAMESPACE_WORKFLOW;
    if (!is_namespace(column))
        column = header;
    struct known_record lost = {.seq = row->seq,
                                .namespace_id = column,
                                .other_namespace = header == column ? 0 : header,
                                .stream = row->stream};
    if (row->digest.len == DIGEST_SIZE)
        memcpy(lost.digest.bytes, row->digest.ptr, DIGEST_SIZE);
    return repair_add_lost(r, &lost);
}

static int take_record(void *context, const struct checkpoint_row *found)
{
    struct record_source *t = context;
    struct repair *r = t->repair;
    struct checkpoint_row row = *found;
    struct sound_record record = {.bytes = row.record.len};
    int rc = record_decode(row.record, row.digest, r->sha, &record.header,
                           &record.payload, NULL);
    if (!rc) {
        memcpy(record.digest.bytes, row.digest.ptr, DIGEST_SIZE);
        rc = check_payload(r, &record);
    }
    if (rc == CAIRN_ENOMEM)
        return error_nomem(r->error);
    if (rc)
        return t->stray ? 0 : note_bad(r, found);
    bool root = digest_is_none(&record.header.parent);
    correct_columns(&row, &record.header, root);
    if (!root && !row.parent) /* seq 1 has no older one */
        return note_bad(r, &row);
    if (is_deleted(r, &row))
        return 0;
    assert(row.parent < row.seq);
    rc = rescue_put_checkpoint(r->rescue, &row, r->error);
    r->result.checkpoints += rc > 0;
    return rc < 0 ? rc : 0;
}

/* The size of a record that begins at `head`, by its header. 0 for those that are saved
 * already: most are. */
static size_t size_of_record(void *context, const char *head)
{
    const struct record_source *t = context;
    struct record_header header = record_peek((struct str){head, RECORD_HEADER_BYTES});
    if (store_get_checkpoint(t->repair->store, header.seq, NULL, NULL, NULL) == 0)
        return 0;
    return (size_t)RECORD_HEADER_BYTES + header.payload_bytes +
           (header.flags & RECORD_KEYED ? RECORD_HMAC_BYTES : 0);
}

int repair_take_records(struct repair *r)
{
    static const char mark[] = {'C', 'R', 'N', 1};
    struct record_source t = {.repair = r};
    assert(r->n_links == 0 && r->deleted.n == 0);
    int rc = tombstones_load_all(r->store, &r->deleted, r->error);
    if (!rc)
        rc = rescue_each_checkpoint(r->rescue, false, take_record, &t, r->error);
    t.stray = true;
    if (!rc)
        rc = rescue_each_checkpoint(r->rescue, true, take_record, &t, r->error);
    if (!rc)
        rc = rescue_each_record(r->rescue, (struct str){mark, sizeof mark},
                                RECORD_HEADER_BYTES, size_of_record, take_record, &t,
                                r->error);
    return rc;
}

/* Of those with the same seq, one whose SHA-256 is known comes first. */
static int by_seq(const void *a, const void *b)
{
    const struct known_record *x = a, *y = b;
    int order = (x->seq > y->seq) - (x->seq < y->seq);
    return order ? order : memcmp(y->digest.bytes, x->digest.bytes, DIGEST_SIZE);
}

static int see_stream(void *context, const struct checkpoint_row *row)
{
    const struct known_record *lost = context;
    return lost->stream && lost->stream != row->stream ? CAIRN_EAMBIGUOUS : 0;
}

/* A record that was found elsewhere (rows that had changed places) is not lost, unless
 * the one with its seq is of another stream: then the seq was used again. */
int repair_forget_found(struct repair *r)
{
    size_t kept = 0;
    assert(r->lost_seqs.n == 0);
    if (r->n_lost)
        qsort(r->lost, r->n_lost, sizeof *r->lost, by_seq);
    for (size_t i = 0; i < r->n_lost; i++) {
        uint64_t seq = r->lost[i].seq;
        if (kept && r->lost[kept - 1].seq == seq)
            continue;
        int rc = store_get_checkpoint(r->store, seq, see_stream, &r->lost[i], r->error);
        if (rc && rc != CAIRN_ENOTFOUND && rc != CAIRN_EAMBIGUOUS)
            return rc;
        if (!rc)
            continue;
        r->lost[kept++] = r->lost[i];
        if (seqs_add(&r->lost_seqs, seq))
            return error_nomem(r->error);
    }
    assert(kept == r->lost_seqs.n && kept <= r->n_lost);
    r->n_lost = kept;
    return 0;
}
