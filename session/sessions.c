/* SPDX-License-Identifier: MIT */
/* Sessions: begun, listed, switched, set, copied and deleted. */
#include "session/files_pending.h"
#include "session/session_int.h"

#include "base/lock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cairn/restore.h"
#include "checkpoint/retain/retain.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_meta.h"
#include "storage/sessions/rows_thread.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ==== Deleting ==== */

/* Deleting a session: its rows, branches, checkpoints, messages and settings, in one
 * transaction. Content that nothing else refers to is then garbage (checkpoint/gc/).
 * What stays is a tombstone for each branch that had checkpoints, so that no number is
 * given a second time, and one event of the store.
 *
 * Who needs a session for longer than one call (a watch, a command that is recorded)
 * holds a byte of the lock file shared. */

/* ---- Held ---- */

static int end(struct live *live, struct cairn_error *error);

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

static int note_branch_session(void *context, const struct branch_row *row)
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
            rc = store_get_branch(live->store, stream, note_branch_session, &session,
                                  error);
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
        rc = chain_delete_all(&in, list.at[i], &deleted, error)
                 ?: store_delete_thread_states(live->store, list.at[i], error);
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
    int rc = drop_setting(store, "size", session, error)
             ?: drop_setting(store, "merges", session, error)
             ?: drop_setting(store, "from", session, error);
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
    return pending_forget(live->store, live->row.session,
                          live->settings.later[SETTING_FILES], restoring, error)
           ?: delete_branches(live, checkpoints, error)
           ?: delete_settings(live, error)
           ?: store_delete_session(live->store, live->row.session, error)
           ?: note_deletion(live, error);
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
        rc = check_unused(&live, &locked, error) ?: check_unforked(&live, error);
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
static int keep_sessions_days(struct cairn_store *store, uint32_t *days,
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

static int keep_sessions_set(struct cairn_store *store, const char *value,
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
                         "'%.80s' is not a value of " KEEP_SESSIONS
                         ": give days, such as "
                         "30d (1d to %dd), or off",
                         value, KEEP_DAYS_MOST);
    u64_text(days, text);
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
    u64_text(number, session);
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

/* ==== Beginning and listing ==== */

/* Sessions: starting, listing, switching and ending them. */

/* ---- Names ---- */

static int refuse_name(const char *what, struct str name, const char *why,
                       struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE, "'%.*s' cannot be the name of a %s: %s",
                     (int)utf8_fit(name, 80), name.ptr, what, why);
}

int session_check_name(const char *what, struct str name, struct cairn_error *error)
{
    const char *at = name.ptr, *end = name.ptr + name.len;
    uint64_t number;
    uint32_t code;
    if (!name.len || name.len >= CAIRN_SESSION_NAME_MAX)
        return refuse_name(what, name, "it is empty or longer than 127 bytes", error);
    if (str_to_u64(name, &number))
        return refuse_name(what, name, "it is a number", error);
    if (name.ptr[0] == ' ' || end[-1] == ' ' || name.ptr[0] == '-')
        return refuse_name(what, name,
                           "it begins or ends with a space, or is an option", error);
    for (size_t n = 1; at < end && n; at += n) {
        n = utf8_next(at, end, &code);
        if (!n || code < 0x20 || (code >= 0x7f && code < 0xa0))
            return refuse_name(what, name, "it has characters that are not text",
                               error);
    }
    return 0;
}

/* ---- What is reported of a session ---- */

static void copy_name(char out[CAIRN_SESSION_NAME_MAX], struct str name)
{
    size_t n = utf8_fit(name, CAIRN_SESSION_NAME_MAX - 1);
    memcpy(out, name.ptr, n);
    out[n] = '\0';
}

static int count_item(void *context, const struct item_row *row)
{
    (void)row;
    ++*(uint64_t *)context;
    return 0;
}

static int count_branch(void *context, const struct branch_row *row)
{
    (void)row;
    ++*(uint64_t *)context;
    return 0;
}

/* Damaged rows are told at the end, and the others are counted. */
static int past_damage(int rc, bool *damaged)
{
    *damaged |= rc == CAIRN_EDAMAGED;
    return rc == CAIRN_EDAMAGED ? 0 : rc;
}

/* What is reported of the session that `live` has loaded or begun. CAIRN_EDAMAGED with
 * info->session set: some rows are not counted. */
static int session_tell(struct live *live, struct cairn_session_info *info,
                        struct cairn_error *error)
{
    const struct session_row *row = &live->row;
    struct branch_row branch = {.name = CLEAN("")};
    struct message_seen end;
    uint64_t current = 0, items = 0, branches = 0;
    int64_t end_ns = row->ended_ns ? row->ended_ns : live->now.utc_ns;
    int rc = current_session(live->store, &current, error);
    if (rc >= 0 || rc == CAIRN_EDAMAGED) /* doctor tells of it; here none is current */
        rc = row->branch ? live_branch(live, row->branch, &branch, error) : 0;
    bool damaged = false;
    if (!rc)
        rc = past_damage(
                 store_each_item(live->store, row->session, count_item, &items, error),
                 &damaged)
                 ?: past_damage(store_each_branch(live->store, row->session,
                                                  count_branch, &branches, error),
                                &damaged)
                 ?: message_end(live, &end, error);
    if (rc)
        return rc;
    *info = (struct cairn_session_info){
        .session = row->session,
        .current = current == row->session,
        .started_ns = row->started_ns,
        .ended_ns = row->ended_ns,
        .spent_ms = end_ns > row->started_ns ? (end_ns - row->started_ns) / 1000000 : 0,
        .items = items,
        .branches = branches,
        .checkpoints = live->counters.checkpoints,
        .hypotheses_tested = live->counters.hypotheses_tested,
        .gaps_filled = live->counters.gaps_filled,
        .commands = live->counters.commands,
        .verifications = live->counters.verifications,
        .messages = end.position,
        .tokens_in = end.total_in,
        .tokens_out = end.total_out,
        .messages_stored = live->last_message};
    copy_name(info->name, clean_str(row->name));
    copy_name(info->branch, clean_str(branch.name));
    return damaged ? CAIRN_EDAMAGED : 0;
}

/* told->session 0: nothing can be told. */
static int tell_session(struct cairn_store *store, const char *session,
                        struct cairn_session_info *told, struct cairn_error *error)
{
    struct live live;
    *told = (struct cairn_session_info){0};
    int rc =
        live_read(&live, store, session, error) ?: session_tell(&live, told, error);
    return live_close(&live, rc, error);
}

int cairn_session_get(struct cairn_store *store, const char *session,
                      struct cairn_session_info *info, struct cairn_error *error)
{
    struct cairn_session_info told;
    int rc = tell_session(store, session, &told, error);
    if (!rc || (rc == CAIRN_EDAMAGED && told.session))
        *info = told;
    return rc;
}

/* ---- List ---- */

struct session_numbers {
    uint64_t at[100];
    size_t n;
};

static int add_number(void *context, const struct session_row *row)
{
    struct session_numbers *numbers = context;
    numbers->at[numbers->n++] = row->session;
    return numbers->n == sizeof numbers->at / sizeof numbers->at[0];
}

struct session_list {
    int (*each)(void *, const struct cairn_session_info *);
    void *context;
    struct cairn_error damaged; /* of the first one that cannot be read */
};

/* Damage is told at the end, and what can be read is listed. */
static int list_page(struct cairn_store *store, const struct session_numbers *numbers,
                     struct session_list *list, int *stopped, struct cairn_error *error)
{
    for (size_t i = 0; i < numbers->n && !*stopped; i++) {
        struct cairn_session_info info;
        struct cairn_error why = {0};
        char text[24];
        int rc = tell_session(store, u64_text(numbers->at[i], text), &info, &why);
        if (rc && rc != CAIRN_EDAMAGED)
            return error_set(error, rc, "%s", why.text);
        if (rc && !list->damaged.code)
            list->damaged = why;
        if (info.session)
            *stopped = list->each(list->context, &info);
    }
    return 0;
}

/* The callback runs outside of a transaction, so it may use the store. */
int cairn_session_list(struct cairn_store *store, const struct cairn_page *page,
                       int (*each)(void *, const struct cairn_session_info *),
                       void *context, uint64_t *total, struct cairn_error *error)
{
    struct session_list list = {.each = each, .context = context};
    struct cairn_page part = *page;
    uint64_t left = page->all ? UINT64_MAX : page->limit ? page->limit : 10, all = 0;
    int rc = 0, stopped = 0;
    part.all = false;
    do {
        struct session_numbers numbers = {.n = 0};
        struct cairn_error why = {0};
        part.limit = left < 100 ? (uint32_t)left : 100;
        rc = store_each_session(store, &part, add_number, &numbers, &all, &why);
        if (rc && !list.damaged.code)
            list.damaged = why;
        rc = rc && rc != CAIRN_EDAMAGED
                 ? error_set(error, rc, "%s", why.text)
                 : list_page(store, &numbers, &list, &stopped, error);
        part.offset += part.limit; /* damaged ones have places, too */
        left -= part.limit;
    } while (!rc && !stopped && left && part.offset < all);
    if (total)
        *total = all;
    if (!rc && list.damaged.code)
        rc = error_set(error, CAIRN_EDAMAGED, "%s", list.damaged.text);
    return rc;
}

/* ---- Starting ---- */

/* Not where the directory says which one that is. */
static int make_current(struct live *live, struct cairn_error *error)
{
    const char *dir;
    if (store_fork(live->store, &dir))
        return error_set(error, CAIRN_EUSAGE,
                         "%s has the files of one session, which is always the current "
                         "one there: give --store %s to switch that of the store",
                         dir, cairn_store_path(live->store));
    return store_set_current_session(live->store, live->row.session, error);
}

static int check_free(struct live *live, struct str name, struct cairn_error *error)
{
    uint64_t session;
    int rc = session_check_name("session", name, error);
    if (rc)
        return rc;
    rc = store_find_session(live->store, name, &session, error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc)
        return rc;
    char word[SHELL_WORD_ROOM(CAIRN_SESSION_NAME_MAX)];
    return error_set(
        error, CAIRN_EUSAGE,
        "there is a session '%.*s' already: `cairn session switch %s` goes "
        "on with it",
        (int)name.len, name.ptr, shell_word_in(word, sizeof word, name));
}

/* The row twice: its number and that of its branch name each other. */
static int put_new(struct live *live, struct cairn_error *error)
{
    struct branch_row branch = {.name = CLEAN("main"),
                                .status = BRANCH_ACTIVE,
                                .started_ns = live->now.utc_ns,
                                .reason = CLEAN("")};
    struct log_entry entry = {.verb = VERB_STARTED};
    live->row.branch = 1; /* until it is known */
    int rc = live_put_row(live, error);
    branch.session = live->row.session;
    if (!rc)
        rc = store_put_branch(live->store, &branch, error);
    live->row.branch = branch.branch;
    return rc ?: live_put_row(live, error) ?: live_log(live, &entry, error);
}

/* The first free name. */
static int name_new(struct live *live, char out[CAIRN_SESSION_NAME_MAX],
                    struct cairn_error *error)
{
    int rc = 0;
    uint64_t taken = 0;
    struct cairn_page none = {.limit = 1};
    struct session_numbers first = {.n = 0};
    rc = store_each_session(live->store, &none, add_number, &first, &taken, error);
    for (uint64_t n = taken + 1; !rc; n++) {
        uint64_t session;
        snprintf(out, CAIRN_SESSION_NAME_MAX, "session-%llu", (unsigned long long)n);
        rc = store_find_session(live->store, str_of(out), &session, error);
    }
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

int session_begin(struct live *live, const char *name, const struct moment *started,
                  bool current, struct cairn_error *error)
{
    char own[CAIRN_SESSION_NAME_MAX];
    struct clean taken;
    int rc = name ? check_free(live, str_of(name), error) : name_new(live, own, error);
    struct outside_text text = {OUTSIDE_NAME, "the name of the session",
                                str_of(name ? name : own), NULL};
    if (!rc)
        rc = live_take(live, &text, &taken, error);
    if (rc)
        return rc;
    live->row = (struct session_row){.name = taken,
                                     .started_ns = started->utc_ns,
                                     .started_boot_ns = started->boot_ns,
                                     .boot = started->boot_id};
    live->settings = session_settings_default();
    live->settings.scheduled = live->now;
    rc = live->arena.failed ? error_nomem(error) : put_new(live, error);
    return rc || !current ? rc : make_current(live, error);
}

/* A new session has no settings of its own: a secret of the current one is none of its
 * names either. Where there is no current one, or it cannot be read, nothing is known.
 */
static int check_against_current(struct cairn_store *store, const char *name,
                                 struct cairn_error *error)
{
    struct live live;
    struct clean taken;
    struct outside_text text = {OUTSIDE_NAME, "the name of the session", str_of(name),
                                NULL};
    int rc = live_read(&live, store, NULL, NULL);
    bool known = !rc;
    if (known)
        rc = live_take(&live, &text, &taken, error);
    rc = live_close(&live, rc, error);
    return known ? rc : 0;
}

int cairn_session_start(struct cairn_store *store, const char *name, bool current,
                        struct cairn_session_info *info, struct cairn_error *error)
{
    struct live live;
    struct cairn_session_info told = {0};
    int rc = name ? check_against_current(store, name, error) : 0;
    if (rc)
        return rc;
    rc = live_begin(&live, store, true, error)
         ?: session_begin(&live, name, &live.now, current, error)
         ?: session_tell(&live, &told, error);
    rc = live_close(&live, rc, error);
    if (!rc && info)
        *info = told;
    return rc;
}

/* ---- Switching and ending ---- */

int session_go_on(struct live *live, struct cairn_error *error)
{
    struct log_entry entry = {.verb = VERB_CONTINUED};
    bool ended = live->row.ended_ns;
    live->row.ended_ns = 0;
    int rc = live_check_open(live, error);
    if (rc || !ended)
        return rc;
    return live_put_row(live, error) ?: live_log(live, &entry, error);
}

static int end(struct live *live, struct cairn_error *error)
{
    struct log_entry entry = {.verb = VERB_ENDED};
    if (live->row.ended_ns)
        return 0;
    int rc = live_check_open(live, error);
    if (rc)
        return rc;
    live->row.ended_ns = live->now.utc_ns;
    return live_put_row(live, error) ?: live_log(live, &entry, error);
}

static int go_on_as_current(struct live *live, struct cairn_error *error)
{
    return session_go_on(live, error) ?: make_current(live, error);
}

static int change(struct cairn_store *store, const char *session,
                  int (*make)(struct live *, struct cairn_error *),
                  struct cairn_session_info *info, struct cairn_error *error)
{
    struct live live;
    struct cairn_session_info told = {0};
    int rc = live_write(&live, store, session, error)
             ?: make(&live, error)
             ?: session_tell(&live, &told, error);
    rc = live_close(&live, rc, error);
    if (!rc && info)
        *info = told;
    return rc;
}

int cairn_session_switch(struct cairn_store *store, const char *session,
                         struct cairn_session_info *info, struct cairn_error *error)
{
    return change(store, session, go_on_as_current, info, error);
}

int cairn_session_end(struct cairn_store *store, const char *session,
                      struct cairn_session_info *info, struct cairn_error *error)
{
    return change(store, session, end, info, error);
}

/* ==== Settings ==== */

/* The settings of a session for people and programs. */

struct setting_sink {
    int (*each)(void *, const char *, const char *, bool);
    void *context;
    int stopped;
};

static void tell_time(struct setting_sink *sink, const char *name, int64_t ns,
                      int64_t usual)
{
    char text[32] = "off";
    if (ns > 0)
        settings_time(ns, text);
    if (!sink->stopped)
        sink->stopped = sink->each(sink->context, name, text, ns == usual);
}

/* A list of names, or a command; the text ends with a NUL. */
static void tell_text(struct setting_sink *sink, const char *name, struct str value)
{
    if (!sink->stopped)
        sink->stopped = sink->each(sink->context, name, value.len ? value.ptr : "off",
                                   value.len == 0);
}

static void tell_later(struct setting_sink *sink, unsigned n, struct str value)
{
    const char *usual = later_usual(n), *text = value.len ? value.ptr : usual;
    if (!sink->stopped)
        sink->stopped =
            sink->each(sink->context, later_name(n), text, strcmp(text, usual) == 0);
}

static void tell_number(struct setting_sink *sink, const char *name, uint32_t number)
{
    char text[16] = "";
    if (number)
        snprintf(text, sizeof text, "%u", number);
    tell_text(sink, name, str_of(text));
}

static void tell_settings(struct setting_sink *sink,
                          const struct session_settings *settings, uint32_t days)
{
    char sessions[16] = "";
    const struct trigger_settings *is = &settings->triggers;
    struct trigger_settings usual = trigger_settings_default();
    tell_time(sink, "interval", is->interval_ns, usual.interval_ns);
    tell_time(sink, "schedule", is->schedule_ns, usual.schedule_ns);
    tell_text(sink, "redact", settings->redact);
    tell_text(sink, "environment", settings->environment);
    for (unsigned n = 1; n < SETTINGS_LATER_END; n++)
        if (later_name(n))
            tell_later(sink, n, settings->later[n]);
    tell_number(sink, "keep-last", settings->keep.last);
    tell_number(sink, "keep-days", settings->keep.days);
    tell_text(sink, "keep-hourly", settings->keep.hourly ? STR("on") : STR(""));
    tell_text(sink, "keep-tag", settings->keep.tags);
    if (days)
        snprintf(sessions, sizeof sessions, "%ud", days);
    tell_text(sink, KEEP_SESSIONS, str_of(sessions));
    tell_time(sink, "hook-timeout", settings->hook_limit_ns,
              session_settings_default().hook_limit_ns);
    for (unsigned kind = 0; kind < HOOK_KINDS; kind++) {
        char name[32];
        snprintf(name, sizeof name, "hook.%s", hook_kind_name(kind));
        tell_text(sink, name, settings->hooks[kind]);
    }
    for (unsigned t = 1; t < TRIGGERS_END && !sink->stopped; t++) {
        uint32_t bit = 1u << t;
        if (settings_has_switch((enum trigger)t))
            sink->stopped = sink->each(sink->context, trigger_name((enum trigger)t),
                                       is->off & bit ? "off" : "on",
                                       (is->off & bit) == (usual.off & bit));
    }
}

/* A copy whose texts are in the arena, and end with a NUL. */
static struct session_settings copy_settings(const struct session_settings *settings,
                                             struct arena *arena)
{
    struct session_settings copy = *settings;
    copy.redact = arena_str(arena, settings->redact);
    copy.environment = arena_str(arena, settings->environment);
    for (unsigned n = 1; n < SETTINGS_LATER_END; n++)
        copy.later[n] = arena_str(arena, settings->later[n]);
    copy.keep.tags = arena_str(arena, settings->keep.tags);
    for (unsigned kind = 0; kind < HOOK_KINDS; kind++)
        copy.hooks[kind] = arena_str(arena, settings->hooks[kind]);
    return copy;
}

/* The callback may use the store. */
int cairn_session_config(struct cairn_store *store, const char *session,
                         int (*each)(void *, const char *name, const char *value,
                                     bool is_default),
                         void *context, struct cairn_error *error)
{
    struct live live;
    struct setting_sink sink = {each, context, 0};
    struct session_settings settings = {0};
    struct arena arena = ARENA_INIT;
    uint32_t days = 0;
    int rc = live_read(&live, store, session, error)
                 ?: keep_sessions_days(store, &days, error);
    if (!rc)
        settings = copy_settings(&live.settings, &arena);
    if (!rc && arena.failed)
        rc = error_nomem(error);
    rc = live_close(&live, rc, error);
    if (!rc)
        tell_settings(&sink, &settings, days);
    arena_release(&arena);
    return rc;
}

static int64_t to_ms(int64_t ns)
{
    return ns == INT64_MAX ? -1 : ns / 1000000 + (ns % 1000000 > 0);
}

int cairn_session_due(struct cairn_store *store, const char *session,
                      int64_t *scheduled_ms, int64_t *significant_ms, bool *ended,
                      struct cairn_error *error)
{
    struct live live;
    int64_t scheduled = INT64_MAX, significant = INT64_MAX;
    int rc = live_read(&live, store, session, error);
    bool over = !rc && live.row.ended_ns;
    if (!rc && !over)
        rc = capture_due(&live, &scheduled, &significant, error);
    rc = live_close(&live, rc, error);
    if (rc)
        return rc;
    *ended = over;
    *scheduled_ms = to_ms(scheduled);
    *significant_ms = to_ms(significant);
    return 0;
}

/* A directory of the user becomes a name from the store's. */
static int stored_value(struct cairn_store *store, const char *name, const char *value,
                        struct buf *out, struct cairn_error *error)
{
    bool is_files = strcmp(name, "files") == 0;
    if (is_files && strcmp(value, "off") != 0)
        return files_root_name(store, value, out, error);
    buf_text(out, is_files ? "" : value);
    return buf_check(out, error);
}

int cairn_session_configure(struct cairn_store *store, const char *session,
                            const char *name, const char *value,
                            struct cairn_error *error)
{
    struct live live;
    struct buf said = BUF_INIT, stored = BUF_INIT;
    bool locked = false;
    struct clean taken;
    struct outside_text text = {OUTSIDE_DATA, "the value of the setting", str_of(value),
                                "take it from a variable of the environment"};
    int rc = live_write(&live, store, session, error)
             ?: stored_value(store, name, value, &stored, error)
             ?: live_check_open(&live, error)
             ?: live_take(&live, &text, &taken, error);
    if (!rc && strcmp(name, "files") == 0)
        rc = pending_forget(store, live.row.session, live.settings.later[SETTING_FILES],
                            &locked, error);
    if (!rc && strcmp(name, KEEP_SESSIONS) == 0)
        rc = keep_sessions_set(store, value, error);
    else if (!rc)
        rc = settings_set(&live.settings, str_of(name), buf_view(&stored), error);
    if (!rc) {
        buf_format(&said, "%s=%s", name, value);
        rc = buf_check(&said, error);
    }
    struct log_entry entry = {.verb = VERB_CONFIGURED, .after = buf_view(&said)};
    if (!rc)
        rc = live_log(&live, &entry, error) ?: live_put_row(&live, error);
    buf_release(&said);
    rc = live_close(&live, rc, error);
    if (locked)
        pending_unlock(store);
    buf_release(&stored);
    return rc;
}

/* ==== A state in another store ==== */

/* The state of a checkpoint as a session of its own, in the same store or another. */

struct copying {
    struct state_at state;
    bool read;
    bool same_store;                   /* where its runs are, too */
    char name[CAIRN_SESSION_NAME_MAX]; /* of the session that it is from, or "" */
    int64_t started_ns;
    struct cairn_error *error;
};

/* ---- Reading ---- */

static int note_session(void *context, const struct session_row *row)
{
    struct copying *c = context;
    snprintf(c->name, sizeof c->name, "%.*s",
             (int)utf8_fit(clean_str(row->name), sizeof c->name - 1), row->name.ptr);
    c->started_ns = row->started_ns;
    return 0;
}

/* The state counts, not what the row of its session says. */
static int read_session(struct copying *c, struct live *live)
{
    struct cairn_error why = {0};
    c->started_ns = c->state.at.time_ns;
    int rc = store_get_session(live->store, c->state.at.session, note_session, c, &why);
    if (!rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    return error_set(c->error, rc, "%s", why.text);
}

static int read_source(struct copying *c, struct cairn_store *store, const char *id)
{
    struct live live;
    uint64_t seq = 0;
    int rc = live_begin(&live, store, false, c->error)
                 ?: debug_seq(store, id, &seq, c->error);
    c->read = rc == 0;
    if (!rc)
        rc = state_read(store, live.sha, seq, &c->state, c->error)
                 ?: read_session(c, &live);
    return live_close(&live, rc, c->error);
}

/* ---- Writing ---- */

int session_free_name(struct cairn_store *store, char name[CAIRN_SESSION_NAME_MAX],
                      struct cairn_error *error)
{
    char base[104];
    int rc = 0;
    snprintf(base, sizeof base, "%.*s", (int)utf8_fit(str_of(name), sizeof base - 1),
             name);
    for (unsigned n = 2; !rc; n++) {
        uint64_t taken;
        rc = store_find_session(store, str_of(name), &taken, error);
        if (!rc)
            snprintf(name, CAIRN_SESSION_NAME_MAX, "%s-%u", base, n);
    }
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

int live_take_state(struct live *live, const struct state_at *state,
                    struct cairn_error *error)
{
    struct board_changes changes = {0};
    struct board none;
    int rc = 0;
    board_init(&none);
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++) {
        struct section section = board_section(&state->board, kind);
        if (live->numbers[kind] < state->board.lists[kind].last)
            live->numbers[kind] = state->board.lists[kind].last;
        rc = board_load(&live->board, kind, &section, live->numbers[kind], error);
    }
    if (live->last_message) /* they were put there before */
        live->message = state->messages.n <= live->last_message ? state->messages.n : 0;
    if (!rc)
        rc = boards_compare(&none, &live->board, &changes, error)
                 ?: live_put_changes(live, &changes, false, error);
    free(changes.at);
    board_release(&none);
    return rc ?: live_put_row(live, error);
}

/* What it said of itself, and when: only the settings of the session are new. */
static int put_checkpoint(struct copying *c, struct live *live)
{
    const struct sections *said = &c->state.sections;
    struct session_settings settings = live->settings;
    struct captured captured;
    struct capture capture = {
        .trigger = (enum trigger)said->trigger,
        .message = said->message,
        .tags = said->tags,
        .n_tags = said->n_tags,
        .link = c->same_store && said->linked ? &said->link : NULL,
        .always = true,
        .context = context_has_any(&c->state.context) ? &c->state.context : NULL,
        .copied = true};
    live->now = (struct moment){c->state.at.time_ns, said->boot_ns, said->boot};
    live->settings.triggers.interval_ns = 0;
    int rc = capture_state(live, &capture, &captured, c->error);
    live->settings = settings;
    return rc ?: live_put_row(live, c->error);
}

static int write_copy(struct copying *c, struct live *live, const char *name)
{
    struct moment started = {.utc_ns = c->started_ns, .boot_id = STR("")};
    int rc =
        name || !c->name[0] ? 0 : session_free_name(live->store, c->name, c->error);
    if (!name && c->name[0])
        name = c->name;
    return rc
           ?: session_begin(live, name, &started, true, c->error)
           ?: live_take_state(live, &c->state, c->error)
           ?: put_checkpoint(c, live);
}

static int put_copy(struct copying *c, struct cairn_store *to, const char *name,
                    struct cairn_session_info *told)
{
    struct live live;
    int rc = live_begin(&live, to, true, c->error)
             ?: write_copy(c, &live, name)
             ?: session_tell(&live, told, c->error);
    return live_close(&live, rc, c->error);
}

int cairn_session_copy(struct cairn_store *from, const char *checkpoint,
                       struct cairn_store *to, const char *name,
                       struct cairn_session_info *info, struct cairn_error *error)
{
    struct copying c = {.same_store = from == to, .error = error};
    struct cairn_session_info told = {0};
    int rc = read_source(&c, from, checkpoint) ?: put_copy(&c, to, name, &told);
    if (c.read)
        state_release(&c.state);
    if (!rc && info)
        *info = told;
    return rc;
}
