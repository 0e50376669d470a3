/* SPDX-License-Identifier: MIT */
/* Bringing the index up to date. The events of the store name every run and session
 * that was written to, and whatever was deleted; so what was read is the turn of these
 * events up to which the index is made. Runs that a process owns note that only once:
 * their units stay open, and are looked at each time.
 *
 *     session/S      the session and its board; stamp: none
 *     messages/S     stamp: u64 number of the last one
 *     checkpoints/S  what they say
 *     files/S        stamp: u64 seq, 32 bytes root of the newest one that was read
 *     notes          labels and notes of all checkpoints; stamp: their tally
 *     run/R          the run, its tasks and logs
 *
 * meta: "store", whose index it is; "turn", u64. */
#include "search/search_int.h"

#include "base/array.h"
#include "base/error.h"
#include "base/reader.h"
#include "runs/owner.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_meta.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <stdio.h>
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
        due->all = true;
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

static uint64_t number_behind(struct str name, const char *start)
{
    size_t n = strlen(start);
    char text[24];
    if (name.len <= n || name.len - n >= sizeof text || memcmp(name.ptr, start, n) != 0)
        return 0;
    memcpy(text, name.ptr + n, name.len - n);
    text[name.len - n] = 0;
    return strtoull(text, NULL, 10);
}

static int note_unit(void *context, const struct searchdb_unit *unit)
{
    struct due *due = context;
    struct cairn_error *error = due->c->error;
    uint64_t run = number_behind(unit->name, "run/");
    uint64_t session = number_behind(unit->name, "session/");
    int rc = 0;
    if (run && unit->open)
        rc = add(&due->open, run, error);
    if (run && !rc)
        rc = add(&due->known_runs, run, error);
    if (session && !rc)
        rc = add(&due->known_sessions, session, error);
    return rc;
}

static int read_turn(struct catching *c, uint64_t *turn, bool *same)
{
    struct buf store = BUF_INIT, text = BUF_INIT;
    int rc = searchdb_meta(c->index, "store", &store, c->error);
    if (!rc)
        rc = searchdb_meta(c->index, "turn", &text, c->error);
    struct reader in = reader_of(text.data, text.size);
    *turn = text.size == 8 ? read_u64(&in) : 0;
    *same =
        store.size && str_equal(buf_view(&store), str_of(store_id(c->source.store)));
    buf_release(&store);
    buf_release(&text);
    return rc;
}

static int find_due(struct due *due)
{
    struct catching *c = due->c;
    struct cairn_store *store = c->source.store;
    bool same = false;
    int rc = store_event_turn(store, EVENTS_OF_STORE, &due->newest, c->error);
    if (!rc)
        rc = read_turn(c, &due->turn, &same);
    if (!rc && (!same || due->turn > due->newest))
        due->all = due->deleted = true; /* another store, or an older state of it */
    if (!rc && !due->all)
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

int catch_up_is_current(struct catching *c, bool *current)
{
    struct due due = {.c = c};
    int rc = find_due(&due);
    *current = !rc && !due.all && !due.deleted && due.turn == due.newest &&
               due.sessions.n == 0 && due.runs.n == 0;
    free(due.sessions.at);
    free(due.runs.at);
    free(due.open.at);
    free(due.known_runs.at);
    free(due.known_sessions.at);
    return rc;
}

/* ---- Units ---- */

static int put_entry(void *context, const struct entry *entry)
{
    return unit_put(context, entry);
}

static bool keep_entry(void *context, struct str key)
{
    return unit_keep(context, key) || unit_only_gone(context);
}

static int begin_bare(struct catching *c, const char *format, uint64_t number,
                      struct unit **unit)
{
    char name[64];
    snprintf(name, sizeof name, format, (unsigned long long)number);
    int rc = unit_begin(c, name, unit);
    c->source.each = put_entry;
    c->source.is_known = keep_entry;
    c->source.context = *unit;
    c->source.stopped = 0;
    return rc;
}

static int begin_unit(struct catching *c, const char *format, uint64_t number,
                      struct unit **unit)
{
    int rc = begin_bare(c, format, number, unit);
    return rc ? rc : unit_load(*unit);
}

/* Damage of the store keeps what was indexed before: other commands name it. That of
 * the index comes from unit_put, which stops the source. */
static int end_unit(struct unit *unit, int rc, bool sweep, struct str stamp, bool open)
{
    bool stopped = unit && unit_stopped(unit);
    if (!stopped && rc == CAIRN_ENOTFOUND)
        rc = unit_drop(unit);
    else if (!stopped && rc == CAIRN_EDAMAGED)
        rc = unit_end(unit, false, unit_stamp(unit), true);
    else if (!rc)
        rc = unit_end(unit, sweep, stamp, open);
    unit_free(unit);
    return rc;
}

static int do_session(struct catching *c, uint64_t session)
{
    struct unit *unit = NULL;
    int rc = begin_unit(c, "session/%llu", session, &unit);
    if (!rc)
        rc = source_session(&c->source, session);
    return end_unit(unit, rc, true, STR(""), false);
}

static int do_messages(struct catching *c, uint64_t session, bool again)
{
    struct unit *unit = NULL;
    struct buf stamp = BUF_INIT;
    uint64_t last = 0;
    int rc = begin_bare(c, "messages/%llu", session, &unit);
    if (!rc && (again || unit_is_open(unit)))
        rc = unit_load(unit);
    if (!rc)
        rc = unit_mark_open(unit);
    if (!rc) {
        struct str old = unit_stamp(unit);
        struct reader in = reader_of(old.ptr, old.len);
        uint64_t after = old.len == 8 && !again ? read_u64(&in) : 0;
        rc = source_messages(&c->source, session, after, &last);
        buf_u64(&stamp, last);
    }
    rc = end_unit(unit, rc, again, buf_view(&stamp), false);
    buf_release(&stamp);
    return rc;
}

struct checkpoint_list {
    struct catching *c;
    struct unit *unit;
};

static int do_checkpoint(void *context, const struct checkpoint_row *row)
{
    struct checkpoint_list *list = context;
    char key[48];
    snprintf(key, sizeof key, "checkpoint/%llu", (unsigned long long)row->seq);
    if (unit_keep(list->unit, str_of(key)))
        return 0;
    if (list->c->only_gone)
        return 0;
    int rc = source_checkpoint(&list->c->source, row->seq);
    return (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND) && !list->c->source.stopped
               ? 0
               : rc;
}

static int do_checkpoints(struct catching *c, uint64_t session)
{
    struct unit *unit = NULL;
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .session = session};
    int rc = begin_unit(c, "checkpoints/%llu", session, &unit);
    struct checkpoint_list list = {c, unit};
    if (!rc)
        rc = store_each_checkpoint(c->source.store, &range, do_checkpoint, &list,
                                   c->error);
    return end_unit(unit, rc, true, STR(""), false);
}

struct file_keys {
    struct catching *c;
    uint64_t seq; /* that was looked at last */
    bool gone;    /* a checkpoint is */
};

static int look_at_file(void *context, struct str key)
{
    struct file_keys *keys = context;
    const char *slash = memchr(key.ptr + 5, '/', key.len - 5);
    struct str front = {key.ptr, slash ? (size_t)(slash - key.ptr) : key.len};
    uint64_t seq = number_behind(front, "file/");
    if (seq == keys->seq)
        return 0;
    keys->seq = seq;
    int rc = store_get_checkpoint(keys->c->source.store, seq, NULL, NULL, NULL);
    keys->gone = rc == CAIRN_ENOTFOUND;
    return keys->gone;
}

static bool read_place(const struct unit *unit, struct file_place *place)
{
    struct str old = unit_stamp(unit);
    struct reader in = reader_of(old.ptr, old.len);
    if (old.len != 8 + DIGEST_SIZE)
        return false;
    place->seq = read_u64(&in);
    memcpy(place->root.bytes, old.ptr + 8, DIGEST_SIZE);
    return true;
}

/* After a checkpoint was deleted all that are left are read again, since another one
 * may have what that had. Where nothing new is put that is left to the next time. */
static int do_files(struct catching *c, uint64_t session, bool again)
{
    struct unit *unit = NULL;
    struct buf stamp = BUF_INIT;
    struct file_place place = {.seq = 0};
    struct file_keys keys = {.c = c};
    int rc = begin_unit(c, "files/%llu", session, &unit);
    if (!rc)
        unit_each_key(unit, look_at_file, &keys);
    if (!rc && (keys.gone || !read_place(unit, &place)))
        again = true;
    if (again)
        place = (struct file_place){.seq = 0};
    if (!rc)
        rc = source_files(&c->source, session, &place);
    if (!rc && again && c->only_gone)
        rc = unit_forget_stamp(unit);
    buf_u64(&stamp, place.seq);
    buf_str(&stamp, digest_view(&place.root));
    rc = end_unit(unit, rc, again, buf_view(&stamp), false);
    buf_release(&stamp);
    return rc;
}

static int do_all_of_session(struct catching *c, uint64_t session, bool again)
{
    int rc = do_session(c, session);
    if (!rc)
        rc = do_messages(c, session, again);
    if (!rc)
        rc = do_checkpoints(c, session);
    return rc ? rc : do_files(c, session, again);
}

static int do_notes(struct catching *c)
{
    char tally[128] = "";
    struct unit *unit = NULL;
    int rc = store_setting(c->source.store, "rows annotation", tally, sizeof tally,
                           c->error);
    if (rc < 0)
        return rc;
    rc = begin_unit(c, "notes", 0, &unit);
    if (!rc && tally[0] && str_equal(unit_stamp(unit), str_of(tally))) {
        unit_free(unit);
        return 0;
    }
    if (!rc)
        rc = source_notes(&c->source);
    return end_unit(unit, rc, true, str_of(tally), false);
}

static int copy_workflow(void *context, const struct run_row *row)
{
    uint64_t *workflow = context;
    *workflow = row->workflow;
    return 0;
}

/* Whether a process owns it is looked at before it is read. */
static int do_run(struct catching *c, uint64_t run)
{
    struct unit *unit = NULL;
    uint64_t workflow = 0;
    int owned = 0;
    int rc = begin_unit(c, "run/%llu", run, &unit);
    if (!rc)
        rc = store_get_run(c->source.store, run, copy_workflow, &workflow, c->error);
    if (!rc)
        owned = owner_live(c->source.store, workflow, c->error);
    if (!rc && owned < 0)
        rc = owned;
    if (!rc)
        rc = source_run(&c->source, run);
    return end_unit(unit, rc, true, STR(""), owned > 0);
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
    struct buf turn = BUF_INIT;
    buf_u64(&turn, due->newest);
    int rc = buf_check(&turn, c->error);
    if (!rc)
        rc = searchdb_set_meta(c->index, "turn", buf_view(&turn), c->error);
    if (!rc)
        rc = searchdb_set_meta(c->index, "store", str_of(store_id(c->source.store)),
                               c->error);
    buf_release(&turn);
    return rc;
}

static int do_due(struct due *due)
{
    struct catching *c = due->c;
    int rc = 0;
    c->told.of = due->sessions.n + due->runs.n;
    for (size_t i = 0; i < due->sessions.n && !rc; i++) {
        rc = do_all_of_session(c, due->sessions.at[i], due->all);
        if (!rc)
            rc = tell(c);
    }
    for (size_t i = 0; i < due->runs.n && !rc; i++) {
        rc = do_run(c, due->runs.at[i]);
        if (!rc)
            rc = tell(c);
    }
    if (!rc)
        rc = do_notes(c);
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

int catch_up(struct catching *c)
{
    struct due due = {.c = c};
    int rc = searchdb_begin(c->index, c->error);
    if (rc)
        return rc;
    rc = find_due(&due);
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
    free(due.sessions.at);
    free(due.runs.at);
    free(due.open.at);
    free(due.known_runs.at);
    free(due.known_sessions.at);
    return rc;
}
