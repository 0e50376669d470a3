/* SPDX-License-Identifier: MIT */
/* Telling when a session has grown beyond its budget.
 *
 * What is stored for it is not known without counting, which takes as long as the store
 * is large. It is never more than what the database has in use: so it is counted where
 * that is above the budget, and has changed by a part of it since the last time, or the
 * session has made more than twice as many checkpoints, whose content may have been
 * there already. The setting `size.SESSION` of the store has what that was, whether the
 * session was above its budget, and the budget: "USED 1 BUDGET CHECKPOINTS". */
#include "session/size/size_int.h"

#include "storage/object.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS_OF_BUDGET = 20, NOTE_BYTES = 100, KEY_BYTES = 32 };

struct note {
    uint64_t used, budget, checkpoints;
    unsigned over;
};
struct checking {
    struct cairn_store *store;
    struct note then, now;
    bool noted; /* `then` is set */
    struct cairn_budget told;
    struct cairn_error *error;
};

static void name_key(const struct checking *c, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "size.%" PRIu64, c->told.session);
}

static int read_note(struct checking *c)
{
    char key[KEY_BYTES], text[NOTE_BYTES] = "";
    name_key(c, key);
    int rc = store_setting(c->store, key, text, sizeof text, c->error);
    c->noted =
        rc > 0 && sscanf(text, "%" SCNu64 " %u %" SCNu64 " %" SCNu64, &c->then.used,
                         &c->then.over, &c->then.budget, &c->then.checkpoints) == 4;
    return rc < 0 ? rc : 0;
}

/* In a transaction of its own. Two processes may both count, and both tell it. */
static int write_note(struct checking *c, bool keep)
{
    char key[KEY_BYTES], text[NOTE_BYTES];
    name_key(c, key);
    snprintf(text, sizeof text, "%" PRIu64 " %u %" PRIu64 " %" PRIu64, c->now.used,
             c->now.over, c->now.budget, c->now.checkpoints);
    int rc = store_begin(c->store, -1, c->error);
    if (rc)
        return rc;
    rc = keep ? store_set_setting(c->store, key, text, c->error)
              : store_drop_setting(c->store, key, c->error);
    return store_end(c->store, rc, c->error);
}

/* What can be told without counting. */
static int look(struct checking *c, uint64_t session)
{
    struct live live;
    uint64_t bytes = 0, free_bytes = 0;
    int rc = live_begin(&live, c->store, false, c->error);
    if (!rc) {
        char number[24];
        snprintf(number, sizeof number, "%" PRIu64, session);
        rc = live_find(&live, number, c->error);
    }
    if (!rc) {
        c->told = (struct cairn_budget){.session = session,
                                        .budget = settings_budget(&live.settings)};
        snprintf(c->told.name, sizeof c->told.name, "%.*s", (int)live.row.name.len,
                 live.row.name.ptr);
        rc = store_room(c->store, &bytes, &free_bytes, c->error);
    }
    if (!rc)
        rc = read_note(c);
    c->now = (struct note){.used = bytes - free_bytes,
                           .budget = c->told.budget,
                           .checkpoints = live.counters.checkpoints};
    return live_close(&live, rc, c->error);
}

static bool is_new(const struct checking *c)
{
    uint64_t then = c->then.used, now = c->now.used;
    uint64_t changed = then < now ? now - then : then - now;
    return !c->noted || c->then.budget != c->now.budget ||
           changed >= c->now.budget / PARTS_OF_BUDGET ||
           c->now.checkpoints > 2 * c->then.checkpoints;
}

static int take_total(void *context, const struct cairn_session_size *size)
{
    struct checking *c = context;
    c->told.stored = size->all.stored;
    return 1;
}

/* 1: it has grown beyond its budget since it was asked last. */
static int check(struct checking *c, uint64_t session)
{
    const struct cairn_size_request request = {.total = take_total, .context = c};
    char number[24];
    int rc = look(c, session);
    if (rc)
        return rc;
    if (!c->now.budget || c->now.used <= c->now.budget)
        return c->noted ? write_note(c, false) : 0;
    if (!is_new(c))
        return 0;
    snprintf(number, sizeof number, "%" PRIu64, session);
    rc = cairn_session_size(c->store, number, &request, c->error);
    c->now.over = c->told.stored > c->now.budget;
    if (!rc)
        rc = write_note(c, true);
    return rc ? rc : c->now.over && !(c->noted && c->then.over);
}

/* The sessions, each once. */
static uint64_t *list_changed(struct cairn_store *store, size_t *n)
{
    size_t n_done;
    const struct store_done *done = store_done(store, &n_done);
    uint64_t *sessions = calloc(n_done + 1, sizeof *sessions);
    *n = 0;
    for (size_t i = 0; i < n_done && sessions; i++) {
        size_t k = 0;
        while (k < *n && sessions[k] != done[i].session)
            k++;
        sessions[k] = done[i].session;
        *n += k == *n;
    }
    return sessions;
}

int cairn_session_budgets(struct cairn_store *store,
                          void (*over)(void *context,
                                       const struct cairn_budget *budget),
                          void *context, struct cairn_error *error)
{
    size_t n;
    int rc = 0;
    uint64_t *sessions = list_changed(store, &n);
    if (!sessions)
        return error_nomem(error);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct checking c = {.store = store, .error = error};
        rc = check(&c, sessions[i]);
        if (rc > 0)
            over(context, &c.told);
    }
    free(sessions);
    return rc < 0 ? rc : 0;
}
