/* SPDX-License-Identifier: MIT */
/* One record: as it stands with its SHA-256 (the gate), and with the SHA-256 computed
 * anew, so that header, image check, libtpl and the packed states see the bytes. What
 * is taken must be written back as the very same bytes. */
#include "checkpoint/chain.h"
#include "checkpoint/payload.h"
#include "tests/fuzz/fuzz.h"

static struct sha256 *sha;

static struct str sha_of(struct str bytes, struct digest *out)
{
    sha256_begin(sha);
    sha256_add(sha, bytes.ptr, bytes.len);
    sha256_end(sha, out);
    return (struct str){(const char *)out->bytes, DIGEST_SIZE};
}

/* No record is believed by its own hash unless the hash is right. */
static void behind_the_hash(struct str bytes)
{
    struct record_header header;
    struct digest computed;
    struct str payload;
    struct cairn_error error = {0};
    size_t n = bytes.len < DIGEST_SIZE ? 0 : bytes.len - DIGEST_SIZE;
    struct str record = {bytes.ptr, n}, digest = {bytes.ptr + n, bytes.len - n};
    int code = record_decode(record, digest, sha, &header, &payload, &error);
    if (code)
        EXPLAINED(code, error);
    else
        HOLDS(str_equal(sha_of(record, &computed), digest));
}

static void full(struct str payload)
{
    struct states states;
    struct digest graph;
    struct buf again = BUF_INIT;
    struct cairn_error error = {0};
    uint64_t tag;
    int code = payload_parse_full_for(payload, &states, &graph, &tag, &error);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EDAMAGED);
        return;
    }
    struct tally tally = states_tally(&states);
    HOLDS(tally.total == states.n && tally_done(&tally) <= tally.total);
    HOLDS(payload_full_for(&states, &graph, tag, &again, &error) == 0);
    HOLDS(str_equal(buf_view(&again), payload));
    buf_release(&again);
    states_release(&states);
}

static int keep(void *context, const struct change *change)
{
    buf_add(context, change, sizeof *change);
    return 0;
}

static void delta(struct str payload)
{
    struct delta delta;
    struct buf changes = BUF_INIT, again = BUF_INIT;
    struct cairn_error error = {0};
    int code = payload_parse_delta(payload, &delta, &error);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EDAMAGED);
        return;
    }
    HOLDS(delta_each(&delta, UINT32_MAX, keep, &changes, &error) == 0);
    const struct change *all = (struct change *)changes.data;
    HOLDS(changes.size == delta.n * sizeof *all && (delta.n || delta.grown.tasks));
    HOLDS((delta.grown.tasks ? payload_grown(delta.base, delta.graph_tag, &delta.grown,
                                             all, delta.n, &again, &error)
                             : payload_delta(delta.base, delta.graph_tag, all, delta.n,
                                             &again, &error)) == 0);
    HOLDS(str_equal(buf_view(&again), payload));
    /* In a graph that is too small for one of them. */
    struct change last = {0};
    if (delta.n)
        last = all[delta.n - 1];
    HOLDS(last.task == 0 ||
          delta_each(&delta, last.task, keep, &changes, &error) == CAIRN_EDAMAGED);
    buf_release(&changes);
    buf_release(&again);
    delta_release(&delta);
}

/* What was taken is written again; a key makes an HMAC that only it can have made. */
static void write_again(struct str record, struct record_header header,
                        struct str payload)
{
    struct hmac_key key, other;
    struct digest digest;
    struct buf plain = BUF_INIT, keyed = BUF_INIT;
    struct record_header read;
    struct cairn_error error = {0};
    size_t covered = RECORD_HEADER_BYTES + payload.len;
    bool had_hmac = header.flags & RECORD_KEYED;
    HOLDS(record.len == covered + (had_hmac ? RECORD_HMAC_BYTES : 0));
    hmac_key_init(&key, "one key", 7, sha);
    hmac_key_init(&other, "one kez", 7, sha);
    HOLDS(record_authentic(record, &header, &key, sha, &error) == CAIRN_EDAMAGED);
    header.flags = 0;
    HOLDS(record_encode(&header, payload, sha, &plain, &digest, &error) == 0);
    HOLDS(had_hmac || str_equal(buf_view(&plain), record));
    HOLDS(record_encode_keyed(&header, payload, &key, sha, &keyed, &digest, &error) ==
          0);
    HOLDS(!had_hmac || memcmp(keyed.data, record.ptr, covered) == 0);
    struct str trailer = {(const char *)digest.bytes, DIGEST_SIZE};
    HOLDS(record_decode(buf_view(&keyed), trailer, sha, &read, &payload, &error) == 0);
    HOLDS(record_authentic(buf_view(&keyed), &read, &key, sha, &error) == 0);
    HOLDS(record_authentic(buf_view(&keyed), &read, &other, sha, &error) ==
          CAIRN_EDAMAGED);
    buf_release(&plain);
    buf_release(&keyed);
}

static void with_its_hash(struct str record)
{
    struct record_header header;
    struct digest digest;
    struct str payload;
    struct cairn_error error = {0};
    int code =
        record_decode(record, sha_of(record, &digest), sha, &header, &payload, &error);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EDAMAGED);
        return;
    }
    write_again(record, header, payload);
    full(payload);
    delta(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!sha)
        sha = sha256_new();
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str bytes = {copy.ptr, size};
    behind_the_hash(bytes);
    with_its_hash(bytes);
    /* The header is a wall of its own: the payload alone, too. */
    full(bytes);
    delta(bytes);
    unfence(&copy);
    return 0;
}
