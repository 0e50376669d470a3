/* SPDX-License-Identifier: MIT */
/* Bringing the index up to date. The events of the store name every run and session
 * that was written to, and whatever was deleted; so what was read is the turn of these
 * events up to which the index is made. Runs that a process owns note that only once:
 * their units stay open, and are looked at each time.
 *
 * meta: "store", id and path of the store; "turn", u64. */
#include "search/search_int.h"

#include "base/array.h"
#include "base/error.h"
#include "base/reader.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <stdlib.h>

/* ---- What is due ---- */

struct numbers {
    uint64_t *at;
    size_t n, room;
};
struct due {
    struct catching *c;
    uint64_t turn, newest; /* of the store: indexed up to, and there */
    bool all;              /* whatever the events say */
    bool anew;             /* the index is of another store, or of what it was before */
    bool deleted;          /* something was, so that units may be gone */
    struct numbers sessions, runs;
    struct numbers open;                       /* runs whose units are open */
    struct numbers known_runs, known_sessions; /* that have units */
};

static int add(struct numbers *list, uint64_t number, struct cairn_error *error)
{
    uint64_t *at = array_room(list->at, list->n, &list->room, sizeof *at);
    if (!at)
        return error_nomem(error);
    list->at = at;
    at[list->n++] = number;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Each once, in order. */
static void settle(struct numbers *list)
{
    size_t n = 0;
    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_number);
    for (size_t i = 0; i < list->n; i++)
        if (n == 0 || list->at[n - 1] != list->at[i])
            list->at[n++] = list->at[i];
    list->n = n;
}

static int note_event(void *context, const struct event_row *row)
{
    struct due *due = context;
    struct cairn_error *error = due->c->error;
    struct reader in = reader_of(row->data.ptr, row->data.len);
    if (row->kind == EVENT_RUN_ACTIVE)
        return add(&due->runs, read_varint(&in), error);
    if (row->kind == EVENT_SESSION_TURN)
        return add(&due->sessions, read_varint(&in), error);
    if (row->kind == EVENT_REPAIRED)
        due->anew = true;
    due->deleted = true;
    return 0;
}

static int note_run(void *context, const struct run_row *row)
{
    struct due *due = context;
    return add(&due->runs, row->run, due->c->error);
}

static int note_session(void *context, const struct session_row *row)
{
    struct due *due = context;
    return add(&due->sessions, row->session, due->c->error);
}

static int list_all(struct due *due)
{
    struct cairn_store *store = due->c->source.store;
    struct cairn_error *error = due->c->error;
    struct run_filter runs = {.ascending = true};
    struct cairn_page page = {.all = true, .oldest_first = true};
    int rc = store_each_run(store, &runs, note_run, due, error);
    if (!rc) {
        rc = store_each_session(store, &page, note_session, due, NULL, error);
        if (rc == CAIRN_EDAMAGED)
            rc = 0;
    }
    return rc;
}

static int note_unit(void *context, const struct searchdb_unit *unit)
{
    struct due *due = context;
    struct cairn_error *error = due->c->error;
    uint64_t run = unit_number(unit->name, "run/");
    uint64_t session = unit_number(unit->name, "session/");
    int rc = 0;
    if (run && unit->open)
        rc = add(&due->open, run, error);
    if (run && !rc)
        rc = add(&due->known_runs, run, error);
    if (session && !rc)
        rc = add(&due->known_sessions, session, error);
    return rc;
}

/* Whose index it is: entries also have directories that follow from where it lies. */
static void name_store(const struct catching *c, struct buf *out)
{
    buf_format(out, "%s %s", store_id(c->source.store),
               cairn_store_path(c->source.store));
}

static int read_turn(struct due *due)
{
    struct catching *c = due->c;
    struct buf store = BUF_INIT, text = BUF_INIT, here = BUF_INIT;
    int rc = searchdb_meta(c->index, "store", &store, c->error);
    if (!rc)
        rc = searchdb_meta(c->index, "turn", &text, c->error);
    name_store(c, &here);
    if (!rc)
        rc = buf_check(&here, c->error);
    struct reader in = reader_of(text.data, text.size);
    due->turn = text.size == 8 ? read_u64(&in) : 0;
    due->all = !store.size;
    due->anew = store.size && (!str_equal(buf_view(&store), buf_view(&here)) ||
                               due->turn > due->newest);
    buf_release(&store);
    buf_release(&text);
    buf_release(&here);
    return rc;
}

static int find_due(struct due *due)
{
    struct catching *c = due->c;
    struct cairn_store *store = c->source.store;
    int rc = store_event_turn(store, EVENTS_OF_STORE, &due->newest, c->error);
    if (!rc)
        rc = read_turn(due);
    if (!rc && !due->all && !due->anew)
        rc = store_each_event(store, EVENTS_OF_STORE, due->turn, note_event, due,
                              c->error);
    if (rc == CAIRN_EDAMAGED) { /* of the store: some event may be missing */
        due->all = due->deleted = true;
        rc = 0;
    }
    if (!rc && due->all) {
        due->sessions.n = due->runs.n = 0;
        rc = list_all(due);
    }
    if (!rc)
        rc = searchdb_each_unit(c->index, note_unit, due, c->error);
    for (size_t i = 0; !rc && i < due->open.n; i++)
        rc = add(&due->runs, due->open.at[i], c->error);
    settle(&due->sessions);
    settle(&due->runs);
    return rc;
}

static void release_due(struct due *due)
{
    free(due->sessions.at);
    free(due->runs.at);
    free(due->open.at);
    free(due->known_runs.at);
    free(due->known_sessions.at);
    *due = (struct due){.c = due->c};
}

int catch_up_is_current(struct catching *c, bool *current)
{
    struct due due = {.c = c};
    int rc = find_due(&due);
    *current = !rc && !due.all && !due.anew && !due.deleted && due.turn == due.newest &&
               due.sessions.n == 0 && due.runs.n == 0;
    release_due(&due);
    return rc;
}

/* ---- What is gone ---- */

static bool has(const struct numbers *list, uint64_t number)
{
    return list->n &&
           bsearch(&number, list->at, list->n, sizeof *list->at, by_number) != NULL;
}

/* Runs and sessions that have units and no rows any more. Those that are due are looked
 * at anyway. */
static int add_gone(struct due *due)
{
    struct cairn_store *store = due->c->source.store;
    struct cairn_error *error = due->c->error;
    int rc = 0;
    for (size_t i = 0; i < due->known_runs.n && !rc; i++) {
        uint64_t run = due->known_runs.at[i];
        if (has(&due->runs, run))
            continue;
        rc = store_get_run(store, run, NULL, NULL, error);
        if (rc == CAIRN_ENOTFOUND)
            rc = add(&due->open, run, error);
    }
    for (size_t i = 0; i < due->open.n && !rc; i++)
        rc = add(&due->runs, due->open.at[i], error);
    for (size_t i = 0; i < due->known_sessions.n && !rc; i++)
        rc = add(&due->sessions, due->known_sessions.at[i], error);
    settle(&due->runs);
    settle(&due->sessions);
    return rc;
}

/* ---- All of it ---- */

static int tell(struct catching *c)
{
    c->told.done++;
    return c->progress && c->progress(c->context, &c->told);
}

static int set_turn(struct due *due)
{
    struct catching *c = due->c;
    struct buf turn = BUF_INIT, store = BUF_INIT;
    buf_u64(&turn, due->newest);
    name_store(c, &store);
    int rc = buf_check(&turn, c->error);
    if (!rc)
        rc = buf_check(&store, c->error);
    if (!rc)
        rc = searchdb_set_meta(c->index, "turn", buf_view(&turn), c->error);
    if (!rc)
        rc = searchdb_set_meta(c->index, "store", buf_view(&store), c->error);
    buf_release(&turn);
    buf_release(&store);
    return rc;
}

static int do_due(struct due *due)
{
    struct catching *c = due->c;
    int rc = 0;
    c->told.of = due->sessions.n + due->runs.n;
    for (size_t i = 0; i < due->sessions.n && !rc; i++) {
        rc = catch_session(c, due->sessions.at[i], due->all);
        if (!rc)
            rc = tell(c);
    }
    for (size_t i = 0; i < due->runs.n && !rc; i++) {
        rc = catch_run(c, due->runs.at[i]);
        if (!rc)
            rc = tell(c);
    }
    if (!rc)
        rc = catch_notes(c);
    return rc || c->only_gone ? rc : set_turn(due);
}

/* What was dropped stays in the lists of words until these are written anew: noted with
 * it, so that it is done even if this process ends before. */
static int merge(struct catching *c)
{
    struct buf pending = BUF_INIT;
    int rc = searchdb_meta(c->index, SEARCHDB_PENDING, &pending, c->error);
    if (!rc && pending.size)
        rc = searchdb_merge(c->index, c->error);
    if (!rc && pending.size)
        rc = searchdb_set_meta(c->index, SEARCHDB_PENDING, STR(""), c->error);
    buf_release(&pending);
    return rc;
}

static int begin_due(struct due *due)
{
    int rc = searchdb_begin(due->c->index, due->c->error);
    return rc ? rc : find_due(due);
}

int catch_up(struct catching *c)
{
    struct due due = {.c = c};
    int rc = begin_due(&due);
    if (!rc && due.anew) {
        searchdb_abort(c->index);
        release_due(&due);
        rc = searchdb_renew(c->index, c->error);
        if (!rc)
            rc = begin_due(&due);
    }
    if (!rc && due.deleted)
        rc = add_gone(&due);
    if (!rc)
        rc = do_due(&due);
    if (!rc)
        rc = merge(c);
    if (rc >= 0) {
        int end = searchdb_commit(c->index, c->error);
        rc = end ? end : rc;
    } else {
        searchdb_abort(c->index);
    }
    release_due(&due);
    return rc;
}
