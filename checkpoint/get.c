/* SPDX-License-Identifier: MIT */
/* One checkpoint, rebuilt: by its id, or the newest that can be. */
#include "checkpoint/find_int.h"

#include "base/error.h"
#include "checkpoint/recover.h"
#include "checkpoint/row_int.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Get ---- */

static void info_of_rebuilt(const struct chains *in, const struct rebuilt *built,
                            struct cairn_checkpoint_info *info)
{
    *info = (struct cairn_checkpoint_info){.seq = built->ref.seq,
                                           .parent = built->parent,
                                           .time_ns = built->header.time_ns,
                                           .full = built->header.kind == RECORD_FULL,
                                           .position = built->header.position,
                                           .bytes = built->bytes};
    info_stream(info, in->kind->namespace_id, built->header.stream);
    checkpoint_id(in->kind->namespace_id, info->seq, &built->ref.digest, info->id);
    digest_hex(&built->ref.digest, info->digest);
}

struct lack_of_row {
    const struct chains *in;
    struct losses losses;
    bool *lost;
    struct cairn_error *error;
};

static int look_at_row(void *context, const struct checkpoint_row *row)
{
    struct lack_of_row *lack = context;
    struct sound_record record;
    int rc = row_check(row, lack->in->sha, &record, lack->error);
    return rc ? rc
              : record_lacks(&record, lack->in->kind, &lack->losses, lack->lost,
                             lack->error);
}

static int info_lacks(const struct chains *in, struct cairn_checkpoint_info *info,
                      struct cairn_error *error)
{
    struct lack_of_row lack = {.in = in, .lost = &info->part_lost, .error = error};
    int rc = losses_load(&lack.losses, in->store, error);
    if (!rc && losses_any(&lack.losses))
        rc = store_get_checkpoint(in->store, info->seq, look_at_row, &lack, error);
    losses_release(&lack.losses);
    return rc;
}

static int info_rebuilt(const struct catalog *catalog, const struct chains *in,
                        uint64_t seq, struct cairn_checkpoint_info *out, uint64_t *bad,
                        struct cairn_error *error)
{
    struct rebuilt built;
    struct cairn_checkpoint_info info;
    void *state = calloc(1, in->kind->state_bytes);
    *bad = 0;
    if (!state)
        return error_nomem(error);
    int rc = chain_rebuild(in, seq, state, &built, error);
    *bad = built.bad;
    if (rc == 0) {
        assert(built.ref.seq == seq);
        info_of_rebuilt(in, &built, &info);
        in->kind->summarize(state, &info);
        in->kind->state_release(state);
        rc = info_finish(catalog, &info, error);
        if (rc == 0)
            rc = info_lacks(in, &info, error);
    }
    free(state);
    if (rc == 0)
        *out = info;
    return rc;
}

static int get_found(const struct catalog *catalog, const char *id,
                     struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    struct found_checkpoint found;
    uint64_t bad;
    int rc = catalog_find(catalog, id, &found, error);
    if (rc || !found.sound)
        return rc ? rc : CAIRN_EDAMAGED; /* catalog_find filled the error */
    assert(found.seq > 0);
    return info_rebuilt(catalog, &found.in, found.seq, out, &bad, error);
}

int catalog_get(const struct catalog *catalog, const char *id,
                struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    int rc = store_begin_read(catalog->store, error);
    if (rc)
        return rc;
    rc = get_found(catalog, id, out, error);
    store_end_read(catalog->store);
    return rc;
}

int cairn_checkpoint_get(struct cairn_store *store, const char *id,
                         struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    struct catalog all = {store, sha256_new(), &payload_kinds, 0};
    if (!all.sha)
        return error_nomem(error);
    int rc = catalog_get(&all, id, out, error);
    sha256_free(all.sha);
    return rc;
}

/* ---- Latest ---- */

struct latest_search {
    uint64_t seq, stream;
    uint8_t namespace_id;
    bool found;
};

static int note_newest(void *context, const struct checkpoint_row *row)
{
    struct latest_search *search = context;
    *search = (struct latest_search){row->seq, row->stream, row->namespace_id, true};
    return 1;
}

static int no_latest(uint32_t passed, bool damaged, struct cairn_error *error)
{
    if (passed == 0)
        return error_set(error, CAIRN_ENOTFOUND, "it has no checkpoint");
    if (!damaged)
        return error_set(error, CAIRN_ENOTFOUND,
                         "none of its %u checkpoints can be rebuilt: ones before them "
                         "were deleted",
                         passed);
    return error_set(error, CAIRN_EDAMAGED,
                     "all %u checkpoints are damaged; `cairn checkpoint verify` names "
                     "them",
                     passed);
}

static int try_latest(const struct catalog *catalog, const struct latest_search *next,
                      struct cairn_checkpoint_info *out, uint64_t *bad,
                      struct cairn_error *error)
{
    const struct payload_kind *kind = catalog_kind(catalog, next->namespace_id);
    struct chains in = {catalog->store, catalog->sha, kind};
    if (kind)
        return info_rebuilt(catalog, &in, next->seq, out, bad, error);
    *bad = next->seq;
    return error_set(error, CAIRN_EDAMAGED, "it is of no known namespace");
}

/* Newest first until one can be rebuilt. When record `bad` stands in the way, or one
 * was deleted before it, all records of its stream from there up to the failed one are
 * skipped without another try: damage at the start of a long segment must not cost a
 * walk per record. */
static int find_latest(const struct catalog *catalog, struct checkpoint_range range,
                       struct cairn_checkpoint_info *out, uint32_t *skipped,
                       struct cairn_error *error)
{
    struct latest_search next, stuck = {0};
    uint64_t bad = 0;
    uint32_t passed = 0;
    bool damaged = false;
    assert(range.limit == 1 && range.descending);
    for (;;) {
        next = (struct latest_search){0};
        int rc =
            store_each_checkpoint(catalog->store, &range, note_newest, &next, error);
        if (rc < 0)
            return rc;
        if (!next.found)
            break;
        if (next.namespace_id != stuck.namespace_id || next.stream != stuck.stream ||
            next.seq < bad) {
            stuck = next;
            rc = try_latest(catalog, &next, out, &bad, error);
            if (rc == 0 && skipped)
                *skipped = passed;
            if (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND)
                return rc;
            damaged |= rc == CAIRN_EDAMAGED;
        }
        passed++;
        if (next.seq <= 1) /* 0: damaged */
            break;
        range.last = next.seq - 1;
    }
    return no_latest(passed, damaged, error);
}

/* Puts in front what has no such checkpoint. */
static int name_wanted(const struct cairn_checkpoint_filter *filter, int rc,
                       struct cairn_error *error)
{
    if (rc != CAIRN_ENOTFOUND && rc != CAIRN_EDAMAGED)
        return rc;
    if (filter->run)
        error_context(error, "run %llu", (unsigned long long)filter->run);
    else if (filter->workflow)
        error_context(error, "workflow %.200s", filter->workflow);
    else if (filter->branch)
        error_context(error, "branch %llu", (unsigned long long)filter->branch);
    else if (filter->session)
        error_context(error, "session %llu", (unsigned long long)filter->session);
    else
        error_context(error, "the store");
    return rc;
}

static int find_wanted(const struct catalog *catalog,
                       const struct cairn_checkpoint_filter *filter,
                       struct cairn_checkpoint_info *out, uint32_t *skipped,
                       struct cairn_error *error)
{
    struct cairn_checkpoint_filter newest = *filter;
    struct checkpoint_range range;
    newest.page = (struct cairn_page){0};
    int rc = range_of_filter(catalog, &newest, &range, error);
    range.limit = 1;
    return rc ? rc
              : name_wanted(filter, find_latest(catalog, range, out, skipped, error),
                            error);
}

int cairn_checkpoint_newest(struct cairn_store *store,
                            const struct cairn_checkpoint_filter *filter,
                            struct cairn_checkpoint_info *out, uint32_t *skipped,
                            struct cairn_error *error)
{
    SIZE_CHECK_IF("cairn_checkpoint_filter", filter, error);
    struct catalog all = {store, sha256_new(), &payload_kinds, 0};
    if (!all.sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (rc == 0) {
        rc = find_wanted(&all, filter, out, skipped, error);
        store_end_read(store);
    }
    sha256_free(all.sha);
    return rc;
}
