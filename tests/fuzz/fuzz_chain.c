/* SPDX-License-Identifier: MIT */
/* make: wrap=store_check_pages */
/* Several records of one run in a store, with hashes, seqs and parent digests put right
 * (but where the input says otherwise), so that rebuilding, recovering, verifying and
 * listing work on records that are sound to all appearance.
 *
 * All of it happens in one transaction, which is taken back at the end.
 *
 * The input: for each record a byte of flags, a byte of length and so many bytes. They
 * are the packed field of an image that is made here, or the whole payload (RAW). */
#include "base/str.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/fuzz/store.h"

enum { TASKS = 6, MOST = 8 };
enum { FULL = 1, RAW = 2, LOOSE = 4, OTHER_GRAPH = 8, OLD_BASE = 16, TWISTED = 32 };

/* In place of store_check_pages (the linker sees to that), which would look at all of
 * the database each time: it takes longer than everything else together. */
int __wrap_store_check_pages(struct cairn_store *store,
                             int (*each)(void *, const char *line), void *context,
                             struct cairn_error *error);
int __wrap_store_check_pages(struct cairn_store *store,
                             int (*each)(void *, const char *line), void *context,
                             struct cairn_error *error)
{
    (void)store;
    (void)each;
    (void)context;
    (void)error;
    return 0;
}

struct made_chain {
    uint64_t first, seq, base, old_base;
    uint64_t position;
    struct digest parent;
    uint32_t n;
    bool loose; /* a link behind the newest full record does not hold */
};

static void add_u32(struct buf *out, size_t n)
{
    uint32_t value = (uint32_t)n;
    buf_add(out, &value, sizeof value);
}

/* An image of tpl around the packed bytes: sound, whatever is in them. */
static void make_image(const struct made_chain *chain, uint8_t flags, struct str packed,
                       struct buf *out)
{
    struct digest graph = fuzz_graph;
    uint64_t base = flags & OLD_BASE ? chain->old_base : chain->base;
    if (flags & OTHER_GRAPH)
        graph.bytes[0] ^= 1;
    uint64_t tag = graph_tag(&graph);
    buf_add(out, "tpl", 4);
    add_u32(out, packed.len + (flags & FULL ? 24u + DIGEST_SIZE : 32u));
    buf_add(out, flags & FULL ? "uBB" : "UUB", 4);
    if (flags & FULL) {
        add_u32(out, flags & TWISTED ? TASKS + 1 : TASKS);
        add_u32(out, DIGEST_SIZE);
        buf_add(out, graph.bytes, DIGEST_SIZE);
    } else {
        buf_add(out, &base, sizeof base);
        buf_add(out, &tag, sizeof tag);
    }
    add_u32(out, packed.len);
    buf_str(out, packed);
}

static void put(struct made_chain *chain, uint8_t flags, struct str bytes)
{
    struct buf payload = BUF_INIT, record = BUF_INIT;
    struct digest digest;
    struct cairn_error error = {0};
    struct record_header header = {.namespace_id = NAMESPACE_WORKFLOW,
                                   .kind = flags & FULL ? RECORD_FULL : RECORD_DELTA,
                                   .stream = fuzz_run,
                                   .seq = chain->seq,
                                   .position = ++chain->position,
                                   .time_ns = (int64_t)chain->seq * 1000,
                                   .parent = chain->parent};
    if (flags & LOOSE && chain->n)
        header.parent.bytes[3] ^= 1;
    chain->loose = !(flags & FULL) && (chain->loose || flags & LOOSE);
    if (flags & FULL) {
        chain->old_base = chain->base;
        chain->base = chain->seq;
    }
    if (flags & RAW)
        buf_str(&payload, bytes);
    else
        make_image(chain, flags, bytes, &payload);
    HOLDS(record_encode(&header, buf_view(&payload), fuzz_sha, &record, &digest,
                        &error) == 0);
    struct checkpoint_row row = {.seq = chain->seq,
                                 .namespace_id = NAMESPACE_WORKFLOW,
                                 .kind = header.kind,
                                 .stream = fuzz_run,
                                 .parent = chain->n ? chain->seq - 1 : 0,
                                 .time_ns = header.time_ns,
                                 .record = buf_view(&record),
                                 .digest = {(const char *)digest.bytes, DIGEST_SIZE}};
    HOLDS(store_put_checkpoint(fuzz_store, &row, &error) == 0);
    chain->parent = digest;
    chain->seq++;
    chain->n++;
    buf_release(&payload);
    buf_release(&record);
}

static void put_all(struct made_chain *chain, struct str input)
{
    struct reader in = reader_of(input.ptr, input.len);
    while (chain->n < MOST && reader_left(&in) >= 2) {
        uint8_t flags = read_byte(&in);
        size_t n = read_byte(&in);
        put(chain, flags, read_bytes(&in, n > reader_left(&in) ? reader_left(&in) : n));
    }
}

/* ---- What is asked of them ---- */

static bool same(const struct states *a, const struct states *b)
{
    static const struct digest none;
    for (uint32_t i = 0; i < a->n && a->n == b->n; i++)
        if (a->outcome[i] != b->outcome[i] || a->attempts[i] != b->attempts[i] ||
            !digest_equal(a->outputs ? &a->outputs[i] : &none,
                          b->outputs ? &b->outputs[i] : &none))
            return false;
    return a->n == b->n;
}

/* 1: *states are those at the newest record. */
static bool rebuild(const struct made_chain *chain, struct states *newest)
{
    bool there = false;
    for (uint64_t seq = chain->first; seq < chain->seq; seq++) {
        struct cairn_error error = {0};
        struct outcomes at;
        int code = outcomes_rebuild(fuzz_store, seq, &at, NULL, &error);
        if (code) {
            EXPLAINED(code, error);
            HOLDS(code == CAIRN_EDAMAGED || code == CAIRN_ENOTFOUND);
        } else if (seq + 1 == chain->seq) {
            *newest = at.states;
            there = true;
        } else
            outcomes_release(&at);
    }
    return there;
}

/* Returns whether nothing had to be stepped over. */
static bool recover(const struct states *newest)
{
    struct recovery recovery;
    struct cairn_error error = {0};
    int code = outcomes_recover(fuzz_store, fuzz_sha, fuzz_run, &recovery, &error);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(!newest);
        return false;
    }
    bool whole = !recovery.gap && recovery.n_damaged == 0;
    for (size_t i = 0; i < recovery.n_damaged; i++)
        HOLDS(recovery.reasons[i][0]);
    HOLDS(!newest || !whole || same(newest, &recovery.states));
    recovery_release(&recovery);
    return whole;
}

static int note(void *context, const struct cairn_problem *problem)
{
    uint64_t *n = context;
    HOLDS(problem->text[0]);
    ++*n;
    return 0;
}

static int see(void *context, const struct cairn_checkpoint_info *info)
{
    uint64_t *n = context;
    HOLDS(info->id[0]);
    ++*n;
    return 0;
}

/* What verify calls sound can be rebuilt and recovered. */
static void verify(const struct made_chain *chain, bool rebuilt, bool whole)
{
    struct cairn_error error = {0};
    struct cairn_verify_result result;
    uint64_t problems = 0, listed = 0;
    struct cairn_checkpoint_filter filter = {.run = fuzz_run};
    int code =
        cairn_checkpoint_verify(fuzz_store, NULL, note, &problems, &result, &error);
    HOLDS(code == 0 || code == CAIRN_EDAMAGED);
    HOLDS((code == 0) == (problems == 0));
    if (code == 0)
        HOLDS(chain->n == 0 || (rebuilt && whole));
    HOLDS(cairn_checkpoint_list(fuzz_store, &filter, see, &listed, NULL, &error) == 0);
    HOLDS(listed == chain->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_error error = {0};
    struct made_chain chain = {.first = 1, .seq = 1};
    struct states newest = {0};
    if (!fuzz_store)
        fuzz_store_make(TASKS);
    HOLDS(store_begin(fuzz_store, -1, &error) == 0);
    HOLDS(store_next_seq(fuzz_store, &chain.seq, &error) == 0);
    chain.first = chain.seq;
    put_all(&chain, (struct str){(const char *)data, size});
    bool rebuilt = rebuild(&chain, &newest);
    HOLDS(!rebuilt || !chain.loose);
    bool whole = recover(rebuilt ? &newest : NULL);
    verify(&chain, rebuilt, whole);
    states_release(&newest);
    store_abort(fuzz_store);
    return 0;
}
