/* SPDX-License-Identifier: MIT */
/* The changes of tombstones as records. */
#include "checkpoint/change_int.h"

#include "base/limits.h"
#include "base/reader.h"

#include <assert.h>

enum { CHANGE_HEAD_BYTES = 17 };

int change_encode(const struct folded *folded, uint64_t position, struct str payload,
                  struct buf *out, struct cairn_error *error)
{
    assert(folded->base > 0 && position > 0 && payload.len > 0);
    buf_clear(out);
    buf_byte(out, folded->full ? RECORD_FULL : RECORD_DELTA);
    buf_u64(out, position);
    buf_u64(out, folded->base);
    buf_str(out, payload);
    return buf_check(out, error);
}

int change_blame(const struct tombstone_row *tombstone, struct cairn_error *error)
{
    error_context(
        error, "the note about the deleted checkpoints %llu to %llu is damaged",
        (unsigned long long)tombstone->first, (unsigned long long)tombstone->last);
    return CAIRN_EDAMAGED;
}

/* false: it cannot be one. */
static bool decode(const struct tombstone_row *row, struct sound_record *out)
{
    struct str bytes = row->change;
    if (row->namespace_id < NAMESPACE_WORKFLOW || row->namespace_id > NAMESPACE_DEBUG ||
        bytes.len <= CHANGE_HEAD_BYTES ||
        bytes.len > (size_t)CHANGE_HEAD_BYTES + LIMIT_PAYLOAD_BYTES)
        return false;
    struct reader in = reader_of(bytes.ptr, bytes.len);
    uint8_t kind = read_byte(&in);
    uint64_t position = read_u64(&in), base = read_u64(&in);
    struct str payload = {bytes.ptr + CHANGE_HEAD_BYTES, bytes.len - CHANGE_HEAD_BYTES};
    bool full = kind == RECORD_FULL;
    if ((!full && kind != RECORD_DELTA) || position == 0 || base == 0 ||
        base > row->last || full != (base >= row->first))
        return false;
    *out = (struct sound_record){.header = {.namespace_id = row->namespace_id,
                                            .kind = kind,
                                            .stream = row->stream,
                                            .seq = full ? base : row->last,
                                            .position = position,
                                            .time_ns = row->time_ns,
                                            .parent = row->before,
                                            .payload_bytes = (uint32_t)payload.len},
                                 .digest = row->after,
                                 .payload = payload,
                                 .bytes = RECORD_HEADER_BYTES + payload.len};
    return true;
}

struct change_reading {
    change_fn *each;
    void *context;
    struct cairn_error *error;
};

static int read_change(void *context, const struct tombstone_row *row)
{
    struct change_reading *reading = context;
    struct sound_record record;
    if (!decode(row, &record)) {
        error_set(reading->error, CAIRN_EDAMAGED, "its change cannot be read");
        return change_blame(row, reading->error);
    }
    assert_sound(&record);
    return reading->each(reading->context, row, &record);
}

int change_read(struct cairn_store *store, const struct tombstone_row *tombstone,
                change_fn *each, void *context, struct cairn_error *error)
{
    struct change_reading reading = {each, context, error};
    assert(tombstone->change_bytes > 0);
    return store_get_tombstone(store, tombstone->id, read_change, &reading, error);
}
