/* SPDX-License-Identifier: MIT */
/* What a handle holds and has done. Which ranges of the lock file it holds: Open file
 * description locks never conflict with themselves, so the lock file cannot tell us
 * that we hold a range. And what is to be reported behind a commit. */
#include "base/memory.h"
#include "storage/store_int.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

/* ---- What it has to report ---- */

void store_add_notice(struct cairn_store *store, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t size = strlen(text) + 1;
    const struct buf *all = &store->notices;
    if (n > 0 && !(all->size && memmem(all->data, all->size, text, size)))
        buf_add(&store->notices, text, size);
}

void store_say(struct cairn_store *store, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    if (!store->notice)
        return;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (n < 0)
        return;
    store->notice(store->notice_context, text);
    free(text);
}

void cairn_store_on_notice(struct cairn_store *store,
                           void (*notice)(void *context, const char *text),
                           void *context)
{
    store->notice = notice;
    store->notice_context = context;
}

void store_end_notices(struct cairn_store *store, bool committed)
{
    struct buf notices = store->notices;
    store->notices = BUF_INIT;
    bool heard = committed && store->notice && !notices.failed;
    for (size_t at = 0; heard && at < notices.size; at += strlen(notices.data + at) + 1)
        store->notice(store->notice_context, notices.data + at);
    buf_release(&notices);
}
