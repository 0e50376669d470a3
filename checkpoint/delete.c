/* SPDX-License-Identifier: MIT */
/* cairn_checkpoint_delete: one record, where nothing that is kept needs it. A damaged
 * record may always go. */
#include "checkpoint/row_int.h"
#include "checkpoint/tombstones_int.h"
#include "checkpoint/verify.h"

#include "base/clock.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

struct deletion {
    struct cairn_store *store;
    struct sha256 *sha;
    uint64_t seq, stream;
    bool sound;
    struct digest digest, before; /* of the record; of its parent */
    struct cairn_error *error;
};

/* A neighbour in the stream. */
struct neighbour {
    struct deletion *deletion;
    uint64_t seq; /* 0: none */
    bool full;
    bool sound;
    struct digest digest, parent;
    uint64_t parent_seq;
};

static int see_neighbour(void *context, const struct checkpoint_row *row)
{
    struct neighbour *n = context;
    struct checked checked;
    if (row->seq == n->deletion->seq)
        return 0;
    n->seq = row->seq;
    n->full = row->kind == RECORD_FULL;
    n->sound = row_check(row, n->deletion->sha, &checked, NULL) == 0;
    n->digest = row_digest(row, n->deletion->sha);
    n->parent_seq = row->parent;
    if (n->sound)
        n->parent = checked.header.parent;
    return 1;
}

static int next_of(struct deletion *d, struct neighbour *next)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_WORKFLOW,
                                     .stream = d->stream,
                                     .first = d->seq,
                                     .limit = 2};
    *next = (struct neighbour){.deletion = d};
    int rc = store_each_checkpoint(d->store, &range, see_neighbour, next, d->error);
    return rc < 0 ? rc : 0;
}

static int before_of(struct deletion *d, struct neighbour *before)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_WORKFLOW,
                                     .stream = d->stream,
                                     .last = d->seq,
                                     .descending = true,
                                     .limit = 2};
    *before = (struct neighbour){.deletion = d};
    int rc = store_each_checkpoint(d->store, &range, see_neighbour, before, d->error);
    return rc < 0 ? rc : 0;
}

static int see_record(void *context, const struct checkpoint_row *row)
{
    struct deletion *d = context;
    struct checked checked;
    d->stream = row->stream;
    d->digest = row_digest(row, d->sha);
    if (d->sound && row_check(row, d->sha, &checked, NULL) == 0)
        d->before = checked.header.parent;
    return 0;
}

/* ---- May it go? ---- */

struct fork_search {
    uint64_t seq, run;
};

static int find_fork(void *context, const struct run_row *row)
{
    struct fork_search *search = context;
    if (row->from_seq != search->seq)
        return 0;
    search->run = row->run;
    return 1;
}

static int see_state(void *context, const struct run_row *row)
{
    *(uint8_t *)context = row->state;
    return 0;
}

static int refuse_fork(struct deletion *d)
{
    struct fork_search search = {d->seq, 0};
    struct run_filter every = {.ascending = false};
    int rc = store_each_run(d->store, &every, find_fork, &search, d->error);
    if (rc < 0 || search.run == 0)
        return rc < 0 ? rc : 0;
    return error_set(d->error, CAIRN_EUSAGE,
                     "checkpoint workflow:%llu is kept: run %llu forks from it",
                     (unsigned long long)d->seq, (unsigned long long)search.run);
}

static int refuse_newest(struct deletion *d)
{
    uint8_t state = CAIRN_RUN_COMPLETED;
    unsigned long long run = d->stream;
    int rc = store_get_run(d->store, d->stream, see_state, &state, d->error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc || state != CAIRN_RUN_UNFINISHED)
        return rc;
    return error_set(d->error, CAIRN_EUSAGE,
                     "checkpoint workflow:%llu is kept: it is the newest of run %llu, "
                     "which is unfinished and goes on from it; finish the run (`cairn "
                     "resume %llu`) or give it up (`cairn cancel %llu`) first",
                     (unsigned long long)d->seq, run, run, run);
}

static int may_delete(struct deletion *d, const struct neighbour *next)
{
    if (!d->sound)
        return 0;
    int rc = refuse_fork(d);
    if (rc)
        return rc;
    if (next->seq == 0)
        return refuse_newest(d);
    if (next->full)
        return 0;
    return error_set(d->error, CAIRN_EUSAGE,
                     "checkpoint workflow:%llu is kept: the ones after it, from "
                     "workflow:%llu to the next full one, could not be rebuilt "
                     "without it; delete those first, newest first, or thin out whole "
                     "segments with `cairn checkpoint prune`",
                     (unsigned long long)d->seq, (unsigned long long)next->seq);
}

/* ---- The note that it leaves ---- */

/* The digest that what comes after it knows it by: of a damaged record its own may be
 * wrong. */
static struct digest after_of(const struct deletion *d, const struct neighbour *next,
                              const struct tombstones *tombstones)
{
    for (size_t i = 0; i < tombstones->n; i++) {
        const struct tombstone_row *t = &tombstones->at[i];
        if (t->first > d->seq && (next->seq == 0 || t->last < next->seq))
            return t->before;
    }
    if (next->sound && next->parent_seq == d->seq)
        return next->parent;
    return d->digest;
}

static int bury(struct deletion *d, const struct neighbour *next)
{
    struct neighbour before;
    struct tombstones tombstones = {0};
    struct tombstone_row row = {.namespace_id = NAMESPACE_WORKFLOW,
                                .stream = d->stream,
                                .first = d->seq,
                                .last = d->seq,
                                .before = d->before,
                                .time_ns = clock_utc_ns()};
    uint64_t bytes;
    int rc = before_of(d, &before);
    if (rc == 0)
        rc = tombstones_load(d->store, d->stream, &tombstones, d->error);
    if (rc)
        return rc;
    if (!d->sound)
        row.before = before.digest;
    for (size_t i = 0; !d->sound && i < tombstones.n; i++)
        if (tombstones.at[i].last < d->seq && tombstones.at[i].first > before.seq)
            row.before = tombstones.at[i].after;
    row.after = after_of(d, next, &tombstones);
    tombstones_release(&tombstones);
    rc = store_delete_checkpoints(d->store, NAMESPACE_WORKFLOW, d->stream, d->seq,
                                  d->seq, &row.count, &bytes, d->error);
    return rc ? rc : store_put_tombstone(d->store, &row, d->error);
}

static int delete_in(struct deletion *d, const char *id)
{
    struct neighbour next;
    struct cairn_error reason; /* of the damage, which is no error here */
    int rc = find_any(d->store, d->sha, id, &d->seq, &d->sound, &reason);
    if (rc)
        return error_set(d->error, rc, "%s", reason.text);
    rc = store_get_checkpoint(d->store, d->seq, see_record, d, d->error);
    if (rc == 0)
        rc = next_of(d, &next);
    if (rc == 0)
        rc = may_delete(d, &next);
    return rc ? rc : bury(d, &next);
}

int cairn_checkpoint_delete(struct cairn_store *store, const char *id,
                            struct cairn_error *error)
{
    struct deletion d = {.store = store, .sha = sha256_new(), .error = error};
    if (!d.sha)
        return error_nomem(error);
    int rc = store_begin(store, -1, error);
    if (rc == 0)
        rc = store_end(store, delete_in(&d, id), error);
    sha256_free(d.sha);
    return rc;
}
