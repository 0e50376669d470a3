/* SPDX-License-Identifier: MIT */
/* Whether the row of a run may be relied on: its checksum and HMAC match, and its
 * records have HMACs if and only if it has one. */
#include "checkpoint/trust.h"
#include "checkpoint/record.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

/* Of a damaged record as well: only the flag is used. */
static int see_flags(void *context, const struct checkpoint_row *row)
{
    bool *keyed = context;
    *keyed = record_peek(row->record).flags & RECORD_KEYED;
    return 1;
}

int run_stripped(struct cairn_store *store, const struct run_row *row, bool *stripped,
                 struct cairn_error *error)
{
    struct checkpoint_range newest = {.namespace_id = NAMESPACE_WORKFLOW,
                                      .stream = row->run,
                                      .descending = true,
                                      .limit = 1};
    *stripped = false;
    int rc = row->keyed
                 ? 0
                 : store_each_checkpoint(store, &newest, see_flags, stripped, error);
    return rc < 0 ? rc : 0;
}

int run_check_forged(struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error)
{
    int rc = store_key(store) ? run_trust(store, row, error) : 0;
    return rc == CAIRN_EUSAGE ? 0 : rc;
}

static int check_stripped(struct cairn_store *store, const struct run_row *row,
                          struct cairn_error *error)
{
    bool stripped;
    int rc = run_stripped(store, row, &stripped, error);
    if (rc || !stripped)
        return rc;
    return error_set(
        error, CAIRN_EDAMAGED,
        "the row of run %llu has no HMAC, but its checkpoints have: it was "
        "changed or forged; put back a copy of the store, or start again "
        "with `cairn run FILE --fresh`",
        (unsigned long long)row->run);
}

int run_trust(struct cairn_store *store, const struct run_row *row,
              struct cairn_error *error)
{
    unsigned long long run = row->run;
    int rc = check_stripped(store, row, error);
    if (!rc && store_key(store))
        rc = store_check_keyed(store, row->run, row->keyed, error);
    if (rc || row->sum_ok)
        return rc;
    if (store_key(store))
        return error_set(
            error, CAIRN_EDAMAGED,
            "the HMAC of run %llu is not of this key: its row was changed "
            "or forged, or the key is another one; start again with `cairn "
            "run FILE --fresh`",
            run);
    return error_set(error, CAIRN_EDAMAGED,
                     "the row of run %llu is damaged (its checksum does not match), so "
                     "what it says of the file, the params and the state is not to be "
                     "believed: `cairn doctor --repair` makes it again from the run's "
                     "checkpoints",
                     run);
}
