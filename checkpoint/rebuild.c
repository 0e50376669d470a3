/* SPDX-License-Identifier: MIT */
/* The exact state at one checkpoint: its full record, then each delta up to it. Bounded
 * by the length of one segment; every record and every link on the way is verified.
 *
 * A damaged record on the way is CAIRN_EDAMAGED. One that was deleted is no damage but
 * CAIRN_ENOTFOUND: the records after it are sound, and resume can still apply them. */
#include "checkpoint/row_int.h"

#include "storage/rows_checkpoint.h"

#include <stdlib.h>

struct builder {
    struct cairn_store *store;
    struct sha256 *sha;
    struct rebuilt *out;
    uint64_t base, target;
    struct digest before; /* digest of the record before */
    bool begun, reached;
    struct cairn_error *error;
};

/* ---- First look: is it there, which full record does it need? ---- */

struct look {
    struct sha256 *sha;
    uint64_t stream, base;
    uint8_t namespace_id;
    struct cairn_error *error;
};

static int look_at(void *context, const struct checkpoint_row *row)
{
    struct look *look = context;
    struct checked checked;
    int rc = row_verify(row, look->sha, &checked, look->error);
    if (rc)
        return rc;
    look->stream = row->stream;
    look->namespace_id = row->namespace_id;
    look->base = row->seq;
    if (row->namespace_id != NAMESPACE_WORKFLOW || row->kind == RECORD_FULL)
        return 0;
    struct delta delta;
    rc = payload_parse_delta(checked.payload, &delta, look->error);
    if (rc == CAIRN_EDAMAGED)
        return row_blame(row, look->error);
    if (rc)
        return rc;
    look->base = delta.base;
    delta_release(&delta);
    if (look->base >= row->seq) {
        error_set(look->error, CAIRN_EDAMAGED, "its full record is not an older one");
        return row_blame(row, look->error);
    }
    return 0;
}

/* ---- Records that were deleted ---- */

struct grave {
    uint64_t seq;
    const struct digest *digest; /* that it must have had as the last of its range */
    bool found;
};

static int see_tombstone(void *context, const struct tombstone_row *t)
{
    struct grave *grave = context;
    grave->found = grave->digest
                       ? t->last == grave->seq && digest_equal(&t->after, grave->digest)
                       : t->first <= grave->seq && t->last >= grave->seq;
    return grave->found;
}

/* CAIRN_ENOTFOUND if what the target needs was deleted; 0 if it was not. */
static int check_grave(const struct builder *builder, uint64_t stream,
                       struct grave *grave)
{
    int rc = store_each_tombstone(builder->store, NAMESPACE_WORKFLOW, stream,
                                  see_tombstone, grave, builder->error);
    if (rc < 0 || !grave->found)
        return rc < 0 ? rc : 0;
    return error_set(builder->error, CAIRN_ENOTFOUND,
                     "checkpoint workflow:%llu cannot be rebuilt: checkpoint "
                     "workflow:%llu before it was deleted",
                     (unsigned long long)builder->target,
                     (unsigned long long)grave->seq);
}

/* ---- The walk from the full record to the target ---- */

static int apply_one(void *context, const struct change *change)
{
    struct builder *builder = context;
    return states_apply(&builder->out->states, change, builder->error);
}

static int add_delta(struct builder *builder, struct str payload)
{
    struct delta delta;
    struct rebuilt *out = builder->out;
    int rc = payload_parse_delta(payload, &delta, builder->error);
    if (rc)
        return rc;
    if (delta.base != builder->base)
        rc = error_set(
            builder->error, CAIRN_EDAMAGED, "it belongs to full record %llu, not %llu",
            (unsigned long long)delta.base, (unsigned long long)builder->base);
    else if (delta.graph_tag != graph_tag(&out->graph))
        rc = error_set(builder->error, CAIRN_EDAMAGED,
                       "it belongs to another graph than its full record");
    else
        rc = delta_each(&delta, out->states.n, apply_one, builder, builder->error);
    out->changes = delta.n;
    delta_release(&delta);
    return rc;
}

static int add_payload(struct builder *builder, const struct checked *checked)
{
    bool first = !builder->begun;
    bool full = checked->header.kind == RECORD_FULL;
    builder->begun = true;
    if (first && full) {
        builder->out->changes = 0;
        return payload_parse_full(checked->payload, &builder->out->states,
                                  &builder->out->graph, builder->error);
    }
    if (first || full)
        return error_set(builder->error, CAIRN_EDAMAGED, "it is %sa full record",
                         full ? "" : "not ");
    if (!digest_equal(&checked->header.parent, &builder->before))
        return error_set(builder->error, CAIRN_EDAMAGED,
                         "it does not follow the record before it; one between them "
                         "is missing");
    return add_delta(builder, checked->payload);
}

static int build_step(void *context, const struct checkpoint_row *row)
{
    struct builder *builder = context;
    struct rebuilt *out = builder->out;
    struct checked checked;
    if (!builder->begun && row->seq != builder->base)
        return 1; /* the full record is not there */
    out->bad = row->seq;
    int rc = row_verify(row, builder->sha, &checked, builder->error);
    if (rc)
        return rc;
    if (builder->begun && !digest_equal(&checked.header.parent, &builder->before)) {
        struct grave grave = {row->parent, &checked.header.parent, false};
        rc = check_grave(builder, row->stream, &grave);
        if (rc)
            return rc;
    }
    rc = add_payload(builder, &checked);
    if (rc == CAIRN_EDAMAGED)
        return row_blame(row, builder->error);
    if (rc)
        return rc;
    builder->before = checked.digest;
    out->header = checked.header;
    out->ref = (struct checkpoint_ref){row->seq, checked.digest};
    out->bytes = (uint32_t)checked.bytes;
    out->parent = row->parent;
    builder->reached = row->seq == builder->target;
    return 0;
}

static int walk(struct cairn_store *store, struct builder *builder,
                const struct look *look)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_WORKFLOW,
                                     .stream = look->stream,
                                     .first = look->base,
                                     .last = builder->target};
    unsigned long long target = builder->target, base = builder->base;
    int rc = store_each_checkpoint(store, &range, build_step, builder, builder->error);
    if (rc < 0 || builder->reached)
        return rc < 0 ? rc : 0;
    if (!builder->begun) {
        struct grave grave = {base, NULL, false};
        rc = check_grave(builder, look->stream, &grave);
        return rc ? rc
                  : error_set(builder->error, CAIRN_EDAMAGED,
                              "checkpoint workflow:%llu cannot be rebuilt: its full "
                              "record workflow:%llu is missing",
                              target, base);
    }
    return error_set(builder->error, CAIRN_EDAMAGED,
                     "checkpoint workflow:%llu cannot be rebuilt", target);
}

int rebuild_at(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
               struct rebuilt *out, struct cairn_error *error)
{
    struct look look = {.sha = sha, .error = error};
    *out = (struct rebuilt){.bad = seq};
    int rc = store_get_checkpoint(store, seq, look_at, &look, error);
    if (rc == CAIRN_ENOTFOUND || (rc == 0 && look.namespace_id != NAMESPACE_WORKFLOW))
        return error_set(error, CAIRN_ENOTFOUND, "there is no checkpoint workflow:%llu",
                         (unsigned long long)seq);
    if (rc)
        return rc;
    struct builder builder = {.store = store,
                              .sha = sha,
                              .out = out,
                              .base = look.base,
                              .target = seq,
                              .error = error};
    out->bad = look.base;
    rc = walk(store, &builder, &look);
    if (rc)
        states_release(&out->states);
    return rc;
}

int checkpoint_rebuild(struct cairn_store *store, uint64_t seq, struct states *states,
                       struct digest *graph, struct record_header *header,
                       struct checkpoint_ref *ref, struct cairn_error *error)
{
    struct rebuilt built;
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    int rc = rebuild_at(store, sha, seq, &built, error);
    sha256_free(sha);
    if (rc)
        return rc;
    if (graph)
        *graph = built.graph;
    if (header)
        *header = built.header;
    if (ref)
        *ref = built.ref;
    if (states)
        *states = built.states;
    else
        states_release(&built.states);
    return 0;
}
