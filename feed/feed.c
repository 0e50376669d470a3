/* SPDX-License-Identifier: MIT */
/* Which runs and sessions have something new, and telling it: see README.md. */
#include "feed/feed_int.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/words.h"
#include "cairn/session.h"
#include "runs/owner.h"
#include "session/when.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS_AT_ONCE = 1000 };

struct cairn_feed {
    struct cairn_store *store;
    struct feed_place place; /* session 0: all, and runs and the store */
    struct told_list runs, sessions;
    uint32_t version; /* of the database when it was read last */
    bool read;        /* at all */
    struct buf position;
};

/* One call of cairn_feed_next. */
struct telling {
    struct cairn_feed *feed;
    int (*each)(void *, const struct cairn_feed_event *);
    void *context;
    uint64_t count;
    bool stopped;
    struct told *told; /* of the session that is being told, */
    uint64_t turn;     /* its turn, */
    const char *name;  /* and its name */
    struct cairn_error *error;
};

static int give(struct telling *t, const struct cairn_feed_event *event)
{
    t->count++;
    t->stopped = t->each(t->context, event) != 0;
    return t->stopped;
}

/* ---- The list of the store ---- */

struct activity {
    uint64_t turn;          /* of the store */
    uint8_t kind;           /* enum event_kind */
    uint64_t number, first; /* of the run or session, and its first turn */
};
struct activities {
    struct activity *at;
    size_t n, capacity;
    struct cairn_error *error;
};

static int note_activity(void *context, const struct event_row *row)
{
    struct activities *list = context;
    struct activity *at = array_room(list->at, list->n, &list->capacity, sizeof *at);
    struct reader in = reader_of(row->data.ptr, row->data.len);
    bool noted = row->kind == EVENT_RUN_ACTIVE || row->kind == EVENT_SESSION_TURN;
    if (!at)
        return error_nomem(list->error);
    list->at = at;
    at[list->n] = (struct activity){.turn = row->turn, .kind = row->kind};
    if (noted) {
        at[list->n].number = read_varint(&in);
        at[list->n].first = read_varint(&in);
    }
    if (noted && (!reader_done(&in) || !at[list->n].number || !at[list->n].first))
        return error_set(list->error, CAIRN_EDAMAGED,
                         "an event of the store is damaged (turn %llu): run `cairn "
                         "doctor`",
                         (unsigned long long)row->turn);
    return ++list->n >= ROWS_AT_ONCE;
}

static int give_store_event(void *context, const struct cairn_log_event *event)
{
    struct telling *t = context;
    struct cairn_feed_event told = {.log = event};
    if (event->turn > t->turn)
        return 1;
    return give(t, &told);
}

/* A run or session whose turn `first` there is may have been told further already. */
static int mark_due(struct told_list *list, const struct activity *activity,
                    struct cairn_error *error)
{
    struct told *told = told_get(list, activity->number, activity->first - 1);
    if (!told)
        return error_nomem(error);
    told->due = true;
    return 0;
}

static int take_activity(struct telling *t, const struct activity *activity)
{
    struct cairn_feed *feed = t->feed;
    int rc = 0;
    if (activity->kind == EVENT_SESSION_TURN) {
        if (!feed->place.session || feed->place.session == activity->number)
            rc = mark_due(&feed->sessions, activity, t->error);
    } else if (feed->place.session) {
        rc = 0;
    } else if (activity->kind == EVENT_RUN_ACTIVE) {
        rc = mark_due(&feed->runs, activity, t->error);
    } else {
        t->turn = activity->turn;
        rc = cairn_store_events(feed->store, feed->place.turn, give_store_event, t,
                                NULL, t->error);
    }
    if (!rc && !t->stopped)
        feed->place.turn = activity->turn;
    return rc;
}

/* *any: there was something in it. */
static int read_activities(struct telling *t, bool *any)
{
    struct activities list = {.error = t->error};
    struct cairn_feed *feed = t->feed;
    int rc = 0;
    *any = false;
    do {
        list.n = 0;
        rc = store_each_event(feed->store, EVENTS_OF_STORE, feed->place.turn,
                              note_activity, &list, t->error);
        for (size_t i = 0; i < list.n && !rc && !t->stopped; i++)
            rc = take_activity(t, &list.at[i]);
        *any = *any || list.n > 0;
    } while (!rc && !t->stopped && list.n >= ROWS_AT_ONCE);
    free(list.at);
    return rc;
}

/* ---- Runs ---- */

static int copy_run(void *context, const struct run_row *row)
{
    struct run_row *copy = context;
    copy->run = row->run;
    copy->workflow = row->workflow;
    return 0;
}

/* 1: a process owns it; 0: none does, or there is no such run. */
static int is_owned(struct cairn_feed *feed, uint64_t run, bool *gone,
                    struct cairn_error *error)
{
    struct run_row row = {0};
    int rc = store_get_run(feed->store, run, copy_run, &row, error);
    *gone = rc == CAIRN_ENOTFOUND;
    if (rc)
        return *gone ? 0 : rc;
    return owner_live(feed->store, row.workflow, error);
}

static int give_log_event(void *context, const struct cairn_log_event *event)
{
    struct cairn_feed_event told = {.log = event};
    return give(context, &told);
}

/* Whether a process owns it is looked at before its events are: the last ones are then
 * among them. */
static int tell_run(struct telling *t, struct told *run)
{
    bool gone = false;
    int owned = is_owned(t->feed, run->number, &gone, t->error);
    if (owned < 0)
        return owned;
    int rc = gone ? 0
                  : cairn_events(t->feed->store, run->number, run->turn, give_log_event,
                                 t, &run->turn, t->error);
    if (rc == CAIRN_ENOTFOUND) /* removed just now */
        rc = 0;
    run->due = rc || t->stopped || owned > 0;
    return rc;
}

/* ---- Sessions ---- */

static int give_done(void *context, const struct cairn_session_event *event)
{
    struct telling *t = context;
    struct cairn_feed_event told = {
        .done = event, .session = t->told->number, .session_name = t->name};
    if (event->turn != t->turn)
        t->told->turn = t->turn; /* that one was told as a whole */
    t->turn = event->turn;
    return give(t, &told);
}

static int tell_session(struct telling *t, struct told *session)
{
    struct cairn_session_info info;
    char number[24];
    u64_text(session->number, number);
    int rc = cairn_session_get(t->feed->store, number, &info, t->error);
    if (rc == CAIRN_ENOTFOUND)
        rc = 0;
    else if (!rc) {
        t->told = session;
        t->turn = session->turn;
        t->name = info.name;
        rc = cairn_session_events(t->feed->store, number, session->turn, give_done, t,
                                  t->error);
        if (!rc && !t->stopped)
            session->turn = t->turn;
    }
    session->due = rc || t->stopped;
    return rc;
}

/* ---- The beginning ---- */

static int add_run(void *context, const struct run_row *row)
{
    struct telling *t = context;
    struct told *told = told_get(&t->feed->runs, row->run, 0);
    if (!told)
        return error_nomem(t->error);
    return told->due = true, 0;
}

static int add_session(void *context, const struct session_row *row)
{
    struct telling *t = context;
    struct told *told = told_get(&t->feed->sessions, row->session, 0);
    if (!told)
        return error_nomem(t->error);
    return told->due = true, 0;
}

static int list_all(struct telling *t)
{
    struct cairn_feed *feed = t->feed;
    struct run_filter runs = {.ascending = true};
    struct cairn_page page = {.all = true, .oldest_first = true};
    int rc = 0;
    if (feed->place.session) {
        struct session_row row = {.session = feed->place.session};
        return add_session(t, &row);
    }
    rc = store_each_run(feed->store, &runs, add_run, t, t->error)
             ?: store_each_session(feed->store, &page, add_session, t, NULL, t->error);
    return rc < 0 ? rc : 0;
}

static int ignore_event(void *context, const struct cairn_log_event *event)
{
    (void)context;
    (void)event;
    return 0;
}

/* The runs that have an owner; of all others the list of the store tells when they are
 * written to again. */
static int skip_all(struct telling *t)
{
    struct cairn_feed *feed = t->feed;
    struct run_filter runs = {.ascending = true};
    int rc =
        store_event_turn(feed->store, EVENTS_OF_STORE, &feed->place.turn, t->error);
    if (!rc && !feed->place.session)
        rc = store_each_run(feed->store, &runs, add_run, t, t->error);
    for (size_t i = 0; i < feed->runs.n && !rc; i++) {
        struct told *run = &feed->runs.at[i];
        bool gone;
        int owned = is_owned(feed, run->number, &gone, t->error);
        run->due = owned > 0;
        rc = owned > 0 ? cairn_events(feed->store, run->number, 0, ignore_event, t,
                                      &run->turn, t->error)
                       : owned;
    }
    size_t n = 0;
    for (size_t i = 0; i < feed->runs.n; i++)
        if (feed->runs.at[i].due)
            feed->runs.at[n++] = feed->runs.at[i];
    feed->runs.n = n;
    return rc;
}

/* Nothing before the position is told: what it does not name was told up to there. */
static int go_to(struct telling *t, const char *position)
{
    struct cairn_feed *feed = t->feed;
    uint64_t newest = 0, session = feed->place.session;
    int rc = 0;
    bool good =
        position_read(position, store_id(feed->store), &feed->place, &feed->runs, &rc);
    if (rc)
        return error_nomem(t->error);
    if (good && feed->place.session && feed->place.session != session)
        return error_set(t->error, CAIRN_EUSAGE,
                         "the position '%.80s' is one in the events of session %llu "
                         "alone: others were passed over up to there",
                         position, (unsigned long long)feed->place.session);
    feed->place.session = session;
    if (good)
        rc = store_event_turn(feed->store, EVENTS_OF_STORE, &newest, t->error);
    if (rc || (good && feed->place.turn <= newest))
        return rc;
    return error_set(t->error, CAIRN_EUSAGE,
                     good ? "the store has lost events since the position '%.80s': "
                            "begin again without it"
                          : "'%.80s' is not a position in this store",
                     position);
}

static int find_session(struct telling *t, const char *session)
{
    struct cairn_session_info info;
    int rc = cairn_session_get(t->feed->store, session, &info, t->error);
    if (!rc)
        t->feed->place.session = info.session;
    return rc;
}

/* ---- Public ---- */

int cairn_feed_open(struct cairn_feed **out, struct cairn_store *store,
                    const char *position, const char *session,
                    struct cairn_error *error)
{
    struct cairn_feed *feed = calloc(1, sizeof *feed);
    struct telling t = {.feed = feed, .error = error};
    if (!feed)
        return error_nomem(error);
    feed->store = store;
    int rc = session ? find_session(&t, session) : 0;
    if (!rc && !position)
        rc = list_all(&t);
    else if (!rc)
        rc = strcmp(position, "now") == 0 ? skip_all(&t) : go_to(&t, position);
    if (rc)
        cairn_feed_close(feed);
    else
        *out = feed;
    return rc;
}

static int tell_due(struct telling *t)
{
    struct cairn_feed *feed = t->feed;
    int rc = 0;
    for (size_t i = 0; i < feed->runs.n && !rc && !t->stopped; i++)
        if (feed->runs.at[i].due && !feed->place.session)
            rc = tell_run(t, &feed->runs.at[i]);
    for (size_t i = 0; i < feed->sessions.n && !rc && !t->stopped; i++)
        if (feed->sessions.at[i].due)
            rc = tell_session(t, &feed->sessions.at[i]);
    return rc;
}

int cairn_feed_next(struct cairn_feed *feed,
                    int (*each)(void *, const struct cairn_feed_event *), void *context,
                    uint64_t *told, struct cairn_error *error)
{
    struct telling t = {.feed = feed, .each = each, .context = context, .error = error};
    bool more = false;
    feed->version = store_data_version(feed->store);
    feed->read = true;
    int rc = read_activities(&t, &more);
    do {
        if (!rc && !t.stopped)
            rc = tell_due(&t);
        if (!rc && !t.stopped)
            rc = read_activities(&t, &more);
    } while (!rc && !t.stopped && more);
    if (told)
        *told = t.count;
    if (rc || t.stopped || store_in_place(feed->store))
        return rc;
    return error_set(
        error, CAIRN_EDAMAGED,
        "the store %s was removed, replaced or repaired: what is done from "
        "now on is not seen; begin again from the last position",
        cairn_store_path(feed->store));
}

bool cairn_feed_changed(struct cairn_feed *feed)
{
    return !feed->read || store_data_version(feed->store) != feed->version ||
           !store_in_place(feed->store);
}

const char *cairn_feed_position(struct cairn_feed *feed)
{
    buf_clear(&feed->position);
    position_write(&feed->position, store_id(feed->store), &feed->place, &feed->runs);
    return feed->position.failed ? NULL : feed->position.data;
}

int cairn_time_parse(const char *text, int64_t *utc_ns, struct cairn_error *error)
{
    return when_parse(str_of(text), clock_utc_ns(), &zone_local, utc_ns, error);
}

void cairn_feed_close(struct cairn_feed *feed)
{
    if (!feed)
        return;
    buf_release(&feed->position);
    free(feed->runs.at);
    free(feed->sessions.at);
    free(feed);
}
