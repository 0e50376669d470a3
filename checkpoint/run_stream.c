/* SPDX-License-Identifier: MIT */
/* Writing the checkpoints of a run, and reading them back. */
#include "checkpoint/outcomes.h"

#include <assert.h>

/* ---- Writing ---- */

struct run_stream run_stream_of(struct cairn_store *store, struct sha256 *sha,
                                uint64_t run, const struct digest *graph)
{
    assert(run > 0);
    return (struct run_stream){
        .chain = {.in = {.store = store, .sha = sha, .kind = &outcomes_kind},
                  .id = run},
        .graph = *graph};
}

int run_stream_full(struct run_stream *stream, const struct states *states,
                    int64_t time_ns, struct checkpoint_ref *ref,
                    struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    assert_states(states);
    assert(stream->chain.in.kind == &outcomes_kind);
    int rc = payload_full(states, &stream->graph, &bytes, error);
    if (rc == 0) {
        struct chain_payload payload = {.bytes = buf_view(&bytes),
                                        .size = states->n,
                                        .full = true,
                                        .time_ns = time_ns};
        rc = chain_append(&stream->chain, &payload, ref, error);
    }
    buf_release(&bytes);
    return rc;
}

int run_stream_delta(struct run_stream *stream, const struct change *changes, size_t n,
                     int64_t time_ns, struct checkpoint_ref *ref,
                     struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    assert(stream->chain.in.kind == &outcomes_kind);
    int rc = payload_delta(stream->chain.base, graph_tag(&stream->graph), changes, n,
                           &bytes, error);
    if (rc == 0) {
        struct chain_payload payload = {.bytes = buf_view(&bytes), .time_ns = time_ns};
        rc = chain_append(&stream->chain, &payload, ref, error);
    }
    buf_release(&bytes);
    return rc;
}

/* ---- Reading ---- */

int outcomes_rebuild(struct cairn_store *store, uint64_t seq, struct outcomes *out,
                     struct rebuilt *at, struct cairn_error *error)
{
    struct outcomes made = {0};
    struct rebuilt built;
    struct chains in = {.store = store, .sha = sha256_new(), .kind = &outcomes_kind};
    if (!in.sha)
        return error_nomem(error);
    int rc = chain_rebuild(&in, seq, &made, &built, error);
    sha256_free(in.sha);
    if (rc)
        return rc;
    assert(built.ref.seq == seq);
    if (at)
        *at = built;
    if (out)
        *out = made;
    else
        outcomes_release(&made);
    return 0;
}

int outcomes_recover(struct cairn_store *store, struct sha256 *sha, uint64_t run,
                     struct recovery *recovery, struct cairn_error *error)
{
    struct chains in = {.store = store, .sha = sha, .kind = &outcomes_kind};
    struct outcomes found = {0};
    struct chain_recovery chain;
    int rc = chain_recover(&in, run, &found, &chain, error);
    if (rc)
        return rc;
    assert(chain.head.parent == chain.newest.seq && chain.head.id == run);
    *recovery = (struct recovery){.states = found.states,
                                  .graph = found.graph,
                                  .head = {.chain = chain.head, .graph = found.graph},
                                  .newest = chain.newest,
                                  .damaged = chain.damaged,
                                  .reasons = chain.reasons,
                                  .n_damaged = chain.n_damaged,
                                  .gap = chain.gap};
    return 0;
}

void recovery_release(struct recovery *recovery)
{
    struct chain_recovery chain = {.damaged = recovery->damaged,
                                   .reasons = recovery->reasons,
                                   .n_damaged = recovery->n_damaged};
    chain_recovery_release(&chain);
    states_release(&recovery->states);
    *recovery = (struct recovery){0};
}
