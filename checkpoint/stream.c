/* SPDX-License-Identifier: MIT */
/* The writing end of a stream. Invariant: `struct stream` changes only after the row
 * was put, so a failed call leaves it as it was. */
#include "checkpoint/stream.h"

#include "storage/rows_checkpoint.h"
#include "storage/store.h"

enum { TAIL_MIN_BYTES = 4096, TASKS_PER_BYTE = 4 };

uint64_t stream_base_bytes(size_t record_bytes, uint32_t tasks)
{
    uint64_t effort = tasks / TASKS_PER_BYTE;
    return record_bytes > effort ? record_bytes : effort;
}

/* Numbers, hashes and stores one record; `*bytes` is its size. */
static int append(struct stream *stream, struct record_header *header,
                  struct str payload, struct checkpoint_ref *ref, uint64_t *bytes,
                  struct cairn_error *error)
{
    struct buf record = BUF_INIT;
    header->namespace_id = NAMESPACE_WORKFLOW;
    header->stream = stream->id;
    header->position = stream->position + 1;
    header->parent = stream->parent_digest;
    int rc = store_next_seq(stream->store, &header->seq, error);
    if (rc == 0)
        rc = record_encode_keyed(header, payload, store_key(stream->store), stream->sha,
                                 &record, &ref->digest, error);
    if (rc == 0) {
        struct checkpoint_row row = {.seq = header->seq,
                                     .namespace_id = header->namespace_id,
                                     .kind = header->kind,
                                     .stream = header->stream,
                                     .parent = stream->parent,
                                     .time_ns = header->time_ns,
                                     .record = buf_view(&record)};
        row.digest = (struct str){(const char *)ref->digest.bytes, DIGEST_SIZE};
        rc = store_put_checkpoint(stream->store, &row, error);
    }
    ref->seq = header->seq;
    *bytes = record.size;
    buf_release(&record);
    return rc;
}

static void advance(struct stream *stream, const struct checkpoint_ref *ref)
{
    stream->parent = ref->seq;
    stream->parent_digest = ref->digest;
    stream->position++;
}

int stream_full(struct stream *stream, const struct states *states, int64_t time_ns,
                struct checkpoint_ref *ref, struct cairn_error *error)
{
    struct buf payload = BUF_INIT;
    struct checkpoint_ref made;
    uint64_t bytes = 0;
    int rc = payload_full(states, &stream->graph, &payload, error);
    if (rc == 0) {
        struct record_header header = {.kind = RECORD_FULL, .time_ns = time_ns};
        rc = append(stream, &header, buf_view(&payload), &made, &bytes, error);
    }
    buf_release(&payload);
    if (rc)
        return rc;
    advance(stream, &made);
    stream->base = made.seq;
    stream->base_bytes = stream_base_bytes(bytes, states->n);
    stream->tail_bytes = 0;
    if (ref)
        *ref = made;
    return 0;
}

int stream_delta(struct stream *stream, const struct change *changes, size_t n,
                 int64_t time_ns, struct checkpoint_ref *ref, struct cairn_error *error)
{
    struct buf payload = BUF_INIT;
    struct checkpoint_ref made;
    uint64_t bytes = 0;
    int rc = payload_delta(stream->base, graph_tag(&stream->graph), changes, n,
                           &payload, error);
    if (rc == 0) {
        struct record_header header = {.kind = RECORD_DELTA, .time_ns = time_ns};
        rc = append(stream, &header, buf_view(&payload), &made, &bytes, error);
    }
    buf_release(&payload);
    if (rc)
        return rc;
    advance(stream, &made);
    stream->tail_bytes += bytes;
    if (ref)
        *ref = made;
    return 0;
}

bool stream_wants_full(const struct stream *stream)
{
    uint64_t limit = stream->base_bytes;
    if (limit < TAIL_MIN_BYTES)
        limit = TAIL_MIN_BYTES;
    return stream->tail_bytes >= limit;
}
