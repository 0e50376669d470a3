/* SPDX-License-Identifier: MIT */
/* What can be saved of a stream. Two passes, each linear: newest to oldest for the
 * newest sound full record, then forward over everything after it.
 *
 *   row after the full record          applied   listed   gap
 *   sound delta, linked                yes       no       no
 *   sound delta, link broken           yes       no       yes
 *   sound delta of another graph       no        no       yes
 *   damaged (record, column, payload)  no        yes      yes
 *   deleted, or lost at a repair       no        no       yes                        */
#include "checkpoint/row_int.h"

#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"

#include <stdlib.h>

struct rescue {
    struct cairn_store *store;
    struct sha256 *sha;
    struct recovery *out;
    bool any;                  /* a row was seen */
    uint64_t full;             /* seq of the full record, 0: not found */
    size_t room;               /* in the lists of damaged ones */
    struct cairn_error reason; /* what is wrong with the row at hand */
    struct cairn_error *error;
};

/* ---- Backward: the newest sound full record ---- */

static int parse_base(struct rescue *rescue, const struct checkpoint_row *row)
{
    struct recovery *out = rescue->out;
    struct cairn_error *reason = &rescue->reason;
    struct checked checked;
    int rc = row_check(row, rescue->sha, &checked, reason);
    if (rc == 0)
        rc = payload_parse_full(checked.payload, &out->states, &out->graph, reason);
    if (rc)
        return rc;
    out->newest = (struct checkpoint_ref){row->seq, checked.digest};
    out->head =
        (struct stream){.store = rescue->store,
                        .sha = rescue->sha,
                        .id = row->stream,
                        .position = checked.header.position,
                        .base = row->seq,
                        .base_bytes = stream_base_bytes(checked.bytes, out->states.n),
                        .graph = out->graph};
    rescue->full = row->seq;
    return 0;
}

static int look_back(void *context, const struct checkpoint_row *row)
{
    struct rescue *rescue = context;
    rescue->any = true;
    if (row->kind != RECORD_FULL)
        return 0;
    int rc = parse_base(rescue, row);
    if (rc == CAIRN_EDAMAGED)
        return 0; /* the forward pass lists it */
    if (rc)
        return error_set(rescue->error, rc, "%s", rescue->reason.text);
    return 1;
}

/* ---- Forward: everything after it ---- */

static int note_damaged(struct rescue *rescue, uint64_t seq)
{
    struct recovery *out = rescue->out;
    out->gap = true;
    if (out->n_damaged == rescue->room) {
        size_t room = rescue->room ? 2 * rescue->room : 8;
        uint64_t *seqs = realloc(out->damaged, room * sizeof *seqs);
        if (!seqs)
            return error_nomem(rescue->error);
        out->damaged = seqs;
        char **reasons = realloc(out->reasons, room * sizeof *reasons);
        if (!reasons)
            return error_nomem(rescue->error);
        out->reasons = reasons;
        rescue->room = room;
    }
    char *text = strdup(rescue->reason.text);
    if (!text)
        return error_nomem(rescue->error);
    out->damaged[out->n_damaged] = seq;
    out->reasons[out->n_damaged++] = text;
    return 0;
}

static int apply_one(void *context, const struct change *change)
{
    struct rescue *rescue = context;
    return states_apply(&rescue->out->states, change, &rescue->reason);
}

static int in_range(void *context, const struct change *change)
{
    (void)context;
    (void)change;
    return 0;
}

/* A full record that the backward pass did not take: says why. */
static int refuse_full(struct rescue *rescue, struct str payload)
{
    struct states states = {0};
    struct digest graph;
    int rc = payload_parse_full(payload, &states, &graph, &rescue->reason);
    states_release(&states);
    if (rc)
        return rc;
    return error_set(&rescue->reason, CAIRN_EDAMAGED, "it is out of place");
}

/* Applies the delta whole or not at all. */
static int apply_delta(struct rescue *rescue, const struct checked *checked)
{
    struct recovery *out = rescue->out;
    struct cairn_error *reason = &rescue->reason;
    struct delta delta;
    if (checked->header.kind != RECORD_DELTA)
        return refuse_full(rescue, checked->payload);
    int rc = payload_parse_delta(checked->payload, &delta, reason);
    if (rc)
        return rc;
    if (delta.graph_tag != graph_tag(&out->graph)) {
        out->gap = true;
    } else {
        rc = delta_each(&delta, out->states.n, in_range, NULL, reason);
        if (rc == 0)
            rc = delta_each(&delta, out->states.n, apply_one, rescue, reason);
    }
    delta_release(&delta);
    return rc;
}

static int go_on(void *context, const struct checkpoint_row *row)
{
    struct rescue *rescue = context;
    struct recovery *out = rescue->out;
    struct checked checked;
    int rc = row_check(row, rescue->sha, &checked, &rescue->reason);
    if (rc == 0)
        rc = apply_delta(rescue, &checked);
    if (rc == CAIRN_EDAMAGED)
        return note_damaged(rescue, row->seq);
    if (rc)
        return error_set(rescue->error, rc, "%s", rescue->reason.text);
    if (!digest_equal(&checked.header.parent, &out->newest.digest))
        out->gap = true;
    out->newest = (struct checkpoint_ref){row->seq, checked.digest};
    out->head.position = checked.header.position;
    out->head.tail_bytes += checked.bytes;
    return 0;
}

/* ---- No full record is left ---- */

static int no_base(struct rescue *rescue, uint64_t stream)
{
    return error_set(rescue->error, CAIRN_EDAMAGED,
                     "run %llu has no undamaged checkpoint to go on from; `cairn "
                     "checkpoint verify` names the damaged ones, `cairn run --fresh` "
                     "starts again",
                     (unsigned long long)stream);
}

struct origin {
    bool known;
    uint32_t tasks;
    struct digest graph;
};

static int note_origin(void *context, const struct run_row *row)
{
    struct origin *origin = context;
    origin->known = row->sum_ok && row->from_seq == 0 && row->gen == 1;
    origin->tasks = row->tasks;
    origin->graph = row->graph;
    return 0;
}

/* A run that is no fork and whose definition never changed began with nothing done, so
 * its sound deltas can be applied to that. */
static int start_empty(struct rescue *rescue, uint64_t stream)
{
    struct recovery *out = rescue->out;
    struct origin origin = {0};
    int rc = store_get_run(rescue->store, stream, note_origin, &origin, rescue->error);
    if (rc < 0 && rc != CAIRN_ENOTFOUND)
        return rc;
    if (!origin.known)
        return no_base(rescue, stream);
    out->graph = origin.graph;
    out->gap = true;
    out->head = (struct stream){.store = rescue->store,
                                .sha = rescue->sha,
                                .id = stream,
                                .graph = origin.graph};
    return states_init(&out->states, origin.tasks, rescue->error);
}

/* What deleted records told is not known any more, and the next one needs no base. */
static int look_for_notes(struct rescue *rescue, uint64_t stream)
{
    bool cut = false;
    int rc = store_has_tombstone_behind(rescue->store, NAMESPACE_WORKFLOW, stream,
                                        rescue->full, &cut, rescue->error);
    rescue->out->gap = rescue->out->gap || cut;
    return rc;
}

static int rescue_stream(struct rescue *rescue, uint64_t stream)
{
    struct cairn_store *store = rescue->store;
    struct cairn_error *error = rescue->error;
    struct checkpoint_range range = {
        .namespace_id = NAMESPACE_WORKFLOW, .stream = stream, .descending = true};
    unsigned long long run = stream;
    int rc = store_each_checkpoint(store, &range, look_back, rescue, error);
    if (rc < 0)
        return rc;
    if (!rescue->any)
        return error_set(error, CAIRN_ENOTFOUND, "run %llu has no checkpoint", run);
    if (rescue->full == 0) {
        rc = start_empty(rescue, stream);
        if (rc)
            return rc;
    }
    range.descending = false;
    range.first = rescue->full + 1;
    rc = store_each_checkpoint(store, &range, go_on, rescue, error);
    if (rc >= 0 && rescue->out->newest.seq == 0)
        return no_base(rescue, stream);
    return rc < 0 ? rc : look_for_notes(rescue, stream);
}

int checkpoint_recover(struct cairn_store *store, struct sha256 *sha, uint64_t stream,
                       struct recovery *recovery, struct cairn_error *error)
{
    struct recovery made = {0};
    struct rescue rescue = {.store = store, .sha = sha, .out = &made, .error = error};
    int rc = rescue_stream(&rescue, stream);
    if (rc) {
        recovery_release(&made);
        return rc;
    }
    made.head.parent = made.newest.seq;
    made.head.parent_digest = made.newest.digest;
    *recovery = made;
    return 0;
}

void recovery_release(struct recovery *recovery)
{
    states_release(&recovery->states);
    for (size_t i = 0; i < recovery->n_damaged; i++)
        free(recovery->reasons[i]);
    free(recovery->reasons);
    free(recovery->damaged);
    *recovery = (struct recovery){0};
}
