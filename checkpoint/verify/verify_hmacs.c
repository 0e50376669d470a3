/* SPDX-License-Identifier: MIT */
/* HMACs in a verification: which runs have them, and which records lack that of the key
 * although they are sound. If no HMAC in the store is of the key, it is the wrong key,
 * and says nothing about the records. */
#include "checkpoint/verify/verify_int.h"

#include "checkpoint/trust.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>

/* ---- Whether it is the right key ---- */

struct key_search {
    struct verifier *v;
    bool any, found; /* HMACs; one of the key */
};

static int see_run(void *context, const struct run_row *row)
{
    struct key_search *search = context;
    search->any = search->any || row->keyed;
    search->found = row->keyed && row->sum_ok;
    return search->found;
}

static int see_record(void *context, const struct checkpoint_row *row)
{
    struct key_search *search = context;
    struct sound_record checked;
    assert(row->key); /* every row has that of its store */
    if (!(record_peek(row->record).flags & RECORD_KEYED))
        return 0;
    search->any = true;
    search->found = row_check(row, search->v->sha, &checked, NULL) == 0;
    return search->found;
}

int verify_other_key(struct verifier *v, bool *other)
{
    struct key_search search = {.v = v};
    struct run_filter every = {.ascending = true};
    struct checkpoint_range all = {0};
    assert(store_key(v->store));
    int rc = store_each_run(v->store, &every, see_run, &search, v->error);
    if (rc >= 0 && !search.found)
        rc = store_each_checkpoint(v->store, &all, see_record, &search, v->error);
    *other = search.any && !search.found;
    return rc < 0 ? rc : 0;
}

bool verify_only_hmac_fails(struct verifier *v, const struct checkpoint_row *row)
{
    struct sound_record checked;
    return row->key && row_check_bytes(row, v->sha, &checked, NULL) == 0;
}

/* ---- Which runs have HMACs ---- */

static int note_run(void *context, const struct run_row *row)
{
    struct verifier *v = context;
    bool unkeyed = store_key(v->store) && !row->keyed, stripped = false;
    int rc = run_stripped(v->store, row, &stripped, v->error);
    if (rc)
        return rc;
    v->result.unkeyed_runs += unkeyed;
    if ((unkeyed && seqs_add(&v->unkeyed, row->run)) ||
        ((stripped || !row->sum_ok) && seqs_add(&v->refused, row->run)))
        return error_nomem(v->error);
    return 0;
}

int verify_note_runs(struct verifier *v)
{
    struct run_filter every = {.ascending = true};
    assert(v->unkeyed.n == 0 && v->refused.n == 0);
    int rc = store_each_run(v->store, &every, note_run, v, v->error);
    seqs_sort(&v->unkeyed); /* a damaged index may have another order */
    seqs_sort(&v->refused);
    return rc;
}

bool verify_is_unkeyed(const struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    return namespace_id == NAMESPACE_WORKFLOW && seqs_has(&v->unkeyed, stream);
}

bool verify_is_refused(const struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    return namespace_id == NAMESPACE_WORKFLOW && seqs_has(&v->refused, stream);
}
