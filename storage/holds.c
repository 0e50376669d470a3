/* SPDX-License-Identifier: MIT */
/* What a handle holds and has done. Which ranges of the lock file it holds: Open file
 * description locks never conflict with themselves, so the lock file cannot tell us
 * that we hold a range. */
#include "base/array.h"
#include "storage/store_int.h"

#include <assert.h>

bool store_holds(const struct cairn_store *store, int64_t offset)
{
    assert(store->n_holds <= sizeof store->holds / sizeof store->holds[0]);
    for (unsigned i = 0; i < store->n_holds; i++)
        if (store->holds[i] == offset)
            return true;
    return false;
}

int store_hold(struct cairn_store *store, int64_t offset, struct cairn_error *error)
{
    assert(!store_holds(store, offset));
    if (store->n_holds == sizeof store->holds / sizeof store->holds[0])
        return error_set(error, CAIRN_ELIMIT,
                         "one store handle can own at most %u workflows at a time",
                         store->n_holds);
    store->holds[store->n_holds++] = offset;
    return 0;
}

void store_unhold(struct cairn_store *store, int64_t offset)
{
    assert(store_holds(store, offset));
    for (unsigned i = 0; i < store->n_holds; i++)
        if (store->holds[i] == offset)
            store->holds[i] = store->holds[--store->n_holds];
    if (store->turns.owner == offset)
        store->turns.owner = 0; /* others may write its attempts from now on */
}

/* ---- What it has done ---- */

void store_note_done(struct cairn_store *store, uint64_t session, uint64_t turn)
{
    if (store->n_done == STORE_DONE_MOST)
        return;
    struct store_done *done =
        array_room(store->done, store->n_done, &store->done_capacity, sizeof *done);
    if (!done)
        return;
    store->done = done;
    done[store->n_done++] = (struct store_done){session, turn};
}

const struct store_done *store_done(const struct cairn_store *store, size_t *n)
{
    *n = store->n_done;
    return store->done;
}

struct store_done *store_take_done(struct cairn_store *store, size_t *n)
{
    struct store_done *done = store->done;
    *n = store->n_done;
    store->done = NULL;
    store->n_done = store->done_capacity = 0;
    return done;
}
