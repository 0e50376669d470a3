/* SPDX-License-Identifier: MIT */
/* Deleting a session: its rows, branches, checkpoints, messages and settings, in one
 * transaction. Content that nothing else refers to is then garbage (checkpoint/gc/).
 * What stays is a tombstone for each branch that had checkpoints, so that no number is
 * given a second time, and one event of the store.
 *
 * Who needs a session for longer than one call (a watch, a command that is recorded)
 * holds a byte of the lock file shared. */
#include "session/files_pending.h"
#include "session/session_int.h"

#include "base/array.h"
#include "base/decimal.h"
#include "base/lock.h"
#include "checkpoint/retain/retain.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Held ---- */

static int64_t place_of(uint64_t session)
{
    return LOCK_SESSION + (int64_t)(session % LOCK_SESSIONS);
}

int session_hold(struct cairn_store *store, uint64_t session, bool *held,
                 struct cairn_error *error)
{
    int64_t place = place_of(session);
    *held = false;
    if (store_lock_file(store)->fd < 0 || store_holds(store, place))
        return 0;
    int rc = lock_try(store_lock_file(store), place, LOCK_SHARED, error);
    if (rc == 0)
        return error_set(error, CAIRN_EBUSY, "session %llu is being deleted",
                         (unsigned long long)session);
    if (rc > 0)
        rc = store_hold(store, place, error);
    if (rc)
        lock_drop(store_lock_file(store), place);
    *held = rc == 0;
    return rc;
}

void session_unhold(struct cairn_store *store, uint64_t session)
{
    store_unhold(store, place_of(session));
    lock_drop(store_lock_file(store), place_of(session));
}

static int check_unused(struct live *live, bool *locked, struct cairn_error *error)
{
    int64_t place = place_of(live->row.session);
    bool ours = store_holds(live->store, place);
    int rc =
        ours ? 0 : lock_try(store_lock_file(live->store), place, LOCK_EXCLUSIVE, error);
    *locked = rc > 0;
    if (rc)
        return rc < 0 ? rc : 0;
    return error_set(error, CAIRN_EBUSY,
                     "session %.*s is in use: %s `cairn session watch`, or a command "
                     "that is recorded; end that first",
                     (int)live->row.name.len, live->row.name.ptr,
                     ours ? "by this process, in a" : "by another process, in a");
}

/* ---- Needed ---- */

/* The branches of other sessions, and the checkpoints that they begin with. */
struct forked {
    uint64_t session, seq;
};
struct forks {
    struct forked *at;
    size_t n, capacity;
    uint64_t own; /* the session that is to go */
};

static int list_fork(void *context, const struct branch_row *row)
{
    struct forks *forks = context;
    if (!row->from_seq || row->session == forks->own)
        return 0;
    struct forked *at = array_room(forks->at, forks->n, &forks->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    forks->at = at;
    at[forks->n++] = (struct forked){row->session, row->from_seq};
    return 0;
}

static int note_stream(void *context, const struct checkpoint_row *row)
{
    *(uint64_t *)context = row->namespace_id == NAMESPACE_DEBUG ? row->stream : 0;
    return 0;
}

static int note_session(void *context, const struct branch_row *row)
{
    *(uint64_t *)context = row->session;
    return 0;
}

static int note_name(void *context, const struct session_row *row)
{
    snprintf(context, CAIRN_SESSION_NAME_MAX, "%.*s", (int)row->name.len,
             row->name.ptr);
    return 0;
}

static int refuse_needed(struct live *live, const struct forked *from,
                         struct cairn_error *error)
{
    char name[CAIRN_SESSION_NAME_MAX] = "?";
    (void)store_get_session(live->store, from->session, note_name, name, NULL);
    return error_set(error, CAIRN_EUSAGE,
                     "session %.*s is kept: session %s was forked from its checkpoint "
                     "debug:%" PRIu64 "; delete that one first",
                     (int)live->row.name.len, live->row.name.ptr, name, from->seq);
}

/* A fork's own line begins in this session: without that record it could not be read.
 */
static int check_unforked(struct live *live, struct cairn_error *error)
{
    struct forks forks = {.own = live->row.session};
    int rc = store_each_branch(live->store, 0, list_fork, &forks, error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(error);
    for (size_t i = 0; i < forks.n && !rc; i++) {
        uint64_t stream = 0, session = 0;
        rc = store_get_checkpoint(live->store, forks.at[i].seq, note_stream, &stream,
                                  error);
        if (!rc && stream)
            rc = store_get_branch(live->store, stream, note_session, &session, error);
        if (rc == CAIRN_ENOTFOUND)
            rc = 0;
        if (!rc && session == forks.own)
            rc = refuse_needed(live, &forks.at[i], error);
    }
    free(forks.at);
    return rc < 0 ? rc : 0;
}

/* ---- Deleted ---- */

struct branch_numbers {
    uint64_t *at;
    size_t n, capacity;
};

static int list_branch(void *context, const struct branch_row *row)
{
    struct branch_numbers *list = context;
    uint64_t *at = array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    list->at = at;
    at[list->n++] = row->branch;
    return 0;
}

static int drop_setting(struct cairn_store *store, const char *name, uint64_t number,
                        struct cairn_error *error)
{
    char key[48];
    snprintf(key, sizeof key, "%s.%" PRIu64, name, number);
    return store_drop_setting(store, key, error);
}

static int delete_branches(struct live *live, uint64_t *checkpoints,
                           struct cairn_error *error)
{
    struct chains in = {live->store, live->sha, &sections_kind};
    struct branch_numbers list = {0};
    int rc =
        store_each_branch(live->store, live->row.session, list_branch, &list, error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(error);
    for (size_t i = 0; i < list.n && !rc; i++) {
        uint64_t deleted;
        rc = chain_delete_all(&in, list.at[i], &deleted, error);
        *checkpoints += deleted;
        if (!rc)
            rc = drop_setting(live->store, "kept", list.at[i], error);
    }
    free(list.at);
    return rc;
}

static int delete_settings(struct live *live, struct cairn_error *error)
{
    struct cairn_store *store = live->store;
    uint64_t session = live->row.session, current = 0;
    int rc = drop_setting(store, "size", session, error);
    if (!rc)
        rc = drop_setting(store, "merges", session, error);
    if (!rc)
        rc = drop_setting(store, "from", session, error);
    if (!rc && store_current_session(store, &current, NULL) == 0 && current == session)
        rc = store_set_current_session(store, 0, error);
    return rc;
}

static int note_deletion(struct live *live, struct cairn_error *error)
{
    char text[40];
    snprintf(text, sizeof text, "session %" PRIu64, live->row.session);
    return store_note_event(live->store, EVENTS_OF_STORE, EVENT_DELETED, str_of(text),
                            error);
}

static int delete_all(struct live *live, uint64_t *checkpoints, bool *restoring,
                      struct cairn_error *error)
{
    int rc = pending_forget(live->store, live->row.session,
                            live->settings.later[SETTING_FILES], restoring, error);
    if (!rc)
        rc = delete_branches(live, checkpoints, error);
    if (!rc)
        rc = delete_settings(live, error);
    if (!rc)
        rc = store_delete_session(live->store, live->row.session, error);
    return rc ? rc : note_deletion(live, error);
}

/* It is made anew by the next snapshot of a session, and believed by none without its
 * checkpoints. */
static void remove_index(struct cairn_store *store, uint64_t session)
{
    char *path = files_index_path(store, session);
    if (path)
        unlink(path);
    free(path);
}

/* What was done last, and when; or when it began, if the log does not say. */
static int note_time(void *context, const struct session_log_row *row)
{
    *(int64_t *)context = row->time_ns;
    return 1;
}

static int last_change(struct live *live, int64_t *at, struct cairn_error *error)
{
    *at = live->row.started_ns;
    int rc = store_each_session_log(live->store, live->row.session, INT64_MAX, true,
                                    note_time, at, error);
    return rc < 0 ? rc : 0;
}

/* Where somebody has come back to it meanwhile, it stays. */
static int check_age(struct live *live, int64_t before_ns, struct cairn_error *error)
{
    int64_t at = 0;
    int rc = last_change(live, &at, error);
    return rc || at < before_ns
               ? rc
               : error_set(error, CAIRN_EBUSY, "something was done in it just now");
}

/* before_ns: only if nothing was done in it since; INT64_MAX: in any case. */
static int delete_session(struct cairn_store *store, const char *session,
                          int64_t before_ns, struct cairn_session_deleted *done,
                          struct cairn_error *error)
{
    struct live live;
    bool locked = false, restoring = false;
    int rc = live_write(&live, store, session, error);
    uint64_t number = live.row.session;
    if (!rc)
        rc = check_unused(&live, &locked, error);
    if (!rc)
        rc = check_unforked(&live, error);
    if (!rc && before_ns != INT64_MAX)
        rc = check_age(&live, before_ns, error);
    if (!rc)
        rc = delete_all(&live, &done->checkpoints, &restoring, error);
    rc = live_close(&live, rc, error);
    if (!rc)
        remove_index(store, number);
    if (locked)
        lock_drop(store_lock_file(store), place_of(number));
    if (restoring)
        pending_unlock(store);
    done->session = number;
    return rc;
}

int cairn_session_delete(struct cairn_store *store, const char *session,
                         struct cairn_session_deleted *result,
                         struct cairn_error *error)
{
    struct cairn_session_deleted done = {0};
    if (!session)
        return error_set(error, CAIRN_EUSAGE, "name the session that is to be deleted");
    int rc = delete_session(store, session, INT64_MAX, &done, error);
    if (rc)
        return rc;
    store_empty_log(store);
    if (result)
        *result = done;
    return 0;
}

/* ---- Sessions of agents, by age ---- */

/* The setting of the store: a number of days. */
int keep_sessions_days(struct cairn_store *store, uint32_t *days,
                       struct cairn_error *error)
{
    char text[24] = "";
    uint64_t number = 0;
    int rc = store_setting(store, KEEP_SESSIONS, text, sizeof text, error);
    *days = 0;
    if (rc > 0 && str_to_u64(str_of(text), &number) && number <= KEEP_DAYS_MOST)
        *days = (uint32_t)number;
    return rc < 0 ? rc : 0;
}

int keep_sessions_set(struct cairn_store *store, const char *value,
                      struct cairn_error *error)
{
    char text[24];
    size_t n = strlen(value);
    uint64_t days = 0;
    if (strcmp(value, "off") == 0)
        return store_drop_setting(store, KEEP_SESSIONS, error);
    if (n < 2 || value[n - 1] != 'd' ||
        !str_to_u64((struct str){value, n - 1}, &days) || days < 1 ||
        days > KEEP_DAYS_MOST)
        return error_set(error, CAIRN_EUSAGE,
                         "'%.80s' is no value of " KEEP_SESSIONS ": give days, such as "
                         "30d (1d to %dd), or off",
                         value, KEEP_DAYS_MOST);
    snprintf(text, sizeof text, "%" PRIu64, days);
    return store_set_setting(store, KEEP_SESSIONS, text, error);
}

struct expiring {
    struct branch_numbers agents; /* sessions, not branches */
    uint64_t current;
};

static int list_agent(void *context, const struct session_row *row)
{
    static const char start[] = AGENT_SESSION_START;
    struct expiring *e = context;
    size_t n = sizeof start - 1;
    if (row->session == e->current || row->name.len < n ||
        memcmp(row->name.ptr, start, n) != 0)
        return 0;
    const struct branch_row number = {.branch = row->session};
    return list_branch(&e->agents, &number);
}

/* *made: it is one that a hook has made, for which a person's has no strategy, whatever
 * its name. */
static int look_at(struct cairn_store *store, const char *session, int64_t *at,
                   int64_t *now, bool *made, struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, session, error);
    *made = !rc && live.settings.later[SETTING_STRATEGY].len > 0;
    if (!rc)
        rc = last_change(&live, at, error);
    *now = live.now.utc_ns;
    return live_close(&live, rc, error);
}

/* One that is damaged, or in use, stays, and hinders no other. */
static int expire_one(struct cairn_store *store, uint64_t number, int64_t keep_ns,
                      bool dry_run, struct cairn_session_expired *out,
                      struct cairn_error *error)
{
    struct cairn_session_deleted done = {0};
    char session[24];
    int64_t at = 0, now = 0;
    snprintf(session, sizeof session, "%" PRIu64, number);
    bool made = false;
    int rc = look_at(store, session, &at, &now, &made, error);
    bool due = !rc && made && at < now - keep_ns;
    out->due += due;
    if (due && !dry_run)
        rc = delete_session(store, session, now - keep_ns, &done, error);
    out->deleted += due && !dry_run && !rc;
    return rc == CAIRN_ENOMEM || rc == CAIRN_EIO ? rc : 0;
}

int cairn_session_expire(struct cairn_store *store, uint32_t most, bool dry_run,
                         struct cairn_session_expired *result,
                         struct cairn_error *error)
{
    struct cairn_session_expired out = {0};
    struct expiring e = {.current = 0};
    const struct cairn_page all = {.all = true, .oldest_first = true};
    int64_t keep_ns = 0;
    int rc = keep_sessions_days(store, &out.days, error);
    if (!rc && out.days)
        rc = keep_days(out.days, &keep_ns, error);
    if (!rc && out.days) {
        (void)current_session(store, &e.current, NULL);
        rc = store_each_session(store, &all, list_agent, &e, NULL, error);
        rc = rc == CAIRN_ENOMEM ? error_nomem(error) : rc == CAIRN_EDAMAGED ? 0 : rc;
    }
    out.agents = e.agents.n;
    for (size_t i = 0; i < e.agents.n && !rc && (!most || out.deleted < most); i++)
        rc = expire_one(store, e.agents.at[i], keep_ns, dry_run, &out, error);
    free(e.agents.at);
    if (out.deleted)
        store_empty_log(store);
    if (result)
        *result = out;
    return rc;
}
