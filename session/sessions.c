/* SPDX-License-Identifier: MIT */
/* Sessions: starting, listing, switching and ending them. */
#include "session/session_int.h"

#include "base/decimal.h"
#include "base/shell_word.h"
#include "base/utf8.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

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
            return refuse_name(what, name, "it has characters that are no text", error);
    }
    return 0;
}

/* ---- What is told of one ---- */

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

int session_tell(struct live *live, struct cairn_session_info *info,
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
    if (!rc)
        rc = store_each_item(live->store, row->session, count_item, &items, error);
    if (!rc)
        rc = store_each_branch(live->store, row->session, count_branch, &branches,
                               error);
    if (!rc)
        rc = message_end(live, &end, error);
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
    return 0;
}

int cairn_session_get(struct cairn_store *store, const char *session,
                      struct cairn_session_info *info, struct cairn_error *error)
{
    struct live live;
    struct cairn_session_info told = {0};
    int rc = live_read(&live, store, session, error);
    if (!rc)
        rc = session_tell(&live, &told, error);
    rc = live_close(&live, rc, error);
    if (!rc)
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
};

static int list_page(struct cairn_store *store, const struct session_numbers *numbers,
                     const struct session_list *list, int *stopped,
                     struct cairn_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < numbers->n && !rc && !*stopped; i++) {
        struct cairn_session_info info;
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)numbers->at[i]);
        rc = cairn_session_get(store, text, &info, error);
        if (!rc)
            *stopped = list->each(list->context, &info);
    }
    return rc;
}

/* The callback runs outside of a transaction, so it may use the store. */
int cairn_session_list(struct cairn_store *store, const struct cairn_page *page,
                       int (*each)(void *, const struct cairn_session_info *),
                       void *context, uint64_t *total, struct cairn_error *error)
{
    struct session_list list = {each, context};
    struct cairn_page part = *page;
    uint64_t left = page->all ? UINT64_MAX : page->limit ? page->limit : 10;
    int rc = 0, stopped = 0;
    part.all = false;
    do {
        struct session_numbers numbers = {.n = 0};
        part.limit = left < 100 ? (uint32_t)left : 100;
        rc = store_each_session(store, &part, add_number, &numbers, total, error);
        if (!rc)
            rc = list_page(store, &numbers, &list, &stopped, error);
        part.offset += numbers.n;
        left -= numbers.n;
        stopped |= numbers.n < part.limit;
    } while (!rc && !stopped && left);
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
    if (!rc)
        rc = live_put_row(live, error);
    return rc ? rc : live_log(live, &entry, error);
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
    int rc =
        name ? session_check_new_name("the name of a session", str_of(name), error) : 0;
    if (!rc && name)
        rc = check_against_current(store, name, error);
    if (rc)
        return rc;
    rc = live_begin(&live, store, true, error);
    if (!rc)
        rc = session_begin(&live, name, &live.now, current, error);
    if (!rc)
        rc = session_tell(&live, &told, error);
    rc = live_close(&live, rc, error);
    if (!rc && info)
        *info = told;
    return rc;
}

/* ---- Switching and ending ---- */

int session_go_on(struct live *live, struct cairn_error *error)
{
    struct log_entry entry = {.verb = VERB_CONTINUED};
    if (!live->row.ended_ns)
        return 0;
    live->row.ended_ns = 0;
    int rc = live_put_row(live, error);
    return rc ? rc : live_log(live, &entry, error);
}

static int end(struct live *live, struct cairn_error *error)
{
    struct log_entry entry = {.verb = VERB_ENDED};
    if (live->row.ended_ns)
        return 0;
    live->row.ended_ns = live->now.utc_ns;
    int rc = live_put_row(live, error);
    return rc ? rc : live_log(live, &entry, error);
}

static int go_on_as_current(struct live *live, struct cairn_error *error)
{
    int rc = session_go_on(live, error);
    return rc ? rc : make_current(live, error);
}

static int change(struct cairn_store *store, const char *session,
                  int (*make)(struct live *, struct cairn_error *),
                  struct cairn_session_info *info, struct cairn_error *error)
{
    struct live live;
    struct cairn_session_info told = {0};
    int rc = live_write(&live, store, session, error);
    if (!rc)
        rc = make(&live, error);
    if (!rc)
        rc = session_tell(&live, &told, error);
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
