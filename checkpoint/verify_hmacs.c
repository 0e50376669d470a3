/* SPDX-License-Identifier: MIT */
/* With a key: what is sound, but not of it. If nothing at all is of it, it is another
 * one, and tells nothing of anything. */
#include "checkpoint/verify_int.h"

#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"

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
    int rc = store_each_run(v->store, &every, see_run, &search, v->error);
    if (rc >= 0 && !search.found)
        rc = store_each_checkpoint(v->store, &all, see_record, &search, v->error);
    *other = search.any && !search.found;
    return rc < 0 ? rc : 0;
}

bool verify_lacks_hmac(struct verifier *v, const struct checkpoint_row *row)
{
    struct sound_record checked;
    return row->key && row_check_bytes(row, v->sha, &checked, NULL) == 0;
}
