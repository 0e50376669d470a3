/* SPDX-License-Identifier: MIT */
/* Restores whose process ended before their files were in place: which there are, and
 * finishing them when somebody asks for it. */
#include "base/array.h"
#include "session/files_pending.h"
#include "session/moves/moves_int.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/* The number of a session, and its setting `files`. */
static int find_session(struct cairn_store *store, const char *session,
                        uint64_t *number, struct buf *files, struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, session, error);
    *number = rc ? 0 : live.row.session;
    if (!rc)
        buf_str(files, live.settings.later[SETTING_FILES]);
    rc = live_close(&live, rc, error);
    return rc ? rc : buf_check(files, error);
}

struct unfinished_list {
    struct cairn_unfinished_restore *at; /* heap */
    size_t n, room;
    uint64_t current;
    struct cairn_error *error;
};

static int add_unfinished(void *context, const struct pending_told *told)
{
    struct unfinished_list *list = context;
    struct cairn_unfinished_restore *at =
        array_room(list->at, list->n, &list->room, sizeof *at);
    if (!at)
        return error_nomem(list->error);
    list->at = at;
    at += list->n++;
    *at = (struct cairn_unfinished_restore){.session = told->session,
                                            .current = told->session == list->current,
                                            .files = told->files,
                                            .placed = told->placed,
                                            .lost = told->lost};
    snprintf(at->name, sizeof at->name, "%s", told->name);
    if (told->seq)
        checkpoint_number(NAMESPACE_DEBUG, told->seq, at->id);
    return 0;
}

int cairn_restore_unfinished(struct cairn_store *store, const char *session, bool all,
                             int (*each)(void *,
                                         const struct cairn_unfinished_restore *),
                             void *context, struct cairn_error *error)
{
    struct unfinished_list list = {.error = error};
    struct buf files = BUF_INIT;
    uint64_t number = 0;
    int rc = all ? 0 : find_session(store, session, &number, &files, error);
    if (!rc)
        rc = current_session(store, &list.current, error);
    if (rc >= 0)
        rc = pending_each(store, false, number, buf_view(&files), add_unfinished, &list,
                          error);
    for (size_t i = 0; i < list.n && !rc; i++)
        rc = each(context, &list.at[i]);
    free(list.at);
    buf_release(&files);
    return rc;
}

int cairn_restore_finish(struct cairn_store *store, const char *session,
                         struct cairn_error *error)
{
    struct buf files = BUF_INIT;
    uint64_t number;
    if (store_read_only(store) || store_key(store))
        return error_set(error, CAIRN_EUSAGE,
                         "a restore is finished in a store that is open for writing, "
                         "and without a key");
    int rc = find_session(store, session, &number, &files, error);
    if (!rc)
        rc = pending_lock(store, error);
    if (!rc) {
        rc = pending_finish(store, true, number, buf_view(&files), error);
        pending_unlock(store);
    }
    buf_release(&files);
    return rc;
}
