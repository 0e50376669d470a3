/* SPDX-License-Identifier: MIT */
/* The audit log: everything that was decided in a run, in one order that never changes.
 *
 * By turn first: the rows of a turn became durable in one transaction. Within a turn:
 *
 *   0  what came from outside or from before: run_started, command, task_reset,
 *      task_unknown, task_claimed, notice (as they were written)
 *   1  ends of attempts, by generation, task and number; an attempt whose intent is of
 *      this turn, too, is shown as intended just before its end
 *   2  what follows from them: task_skipped, task_condition, run_halted, phase,
 *      degraded, recovered (as they were written)
 *   3  other intents to start attempts, by generation, task and number
 *   4  run_finished
 *
 * An attempt's intent is of an earlier turn than its end, or shown just before it, so
 * no end comes before its intent. What is shown of an intent uses only what it held, so
 * that it reads the same after the attempt has ended.
 *
 * Memory is bounded: keys of at most WINDOW rows are collected and sorted, in whole
 * turns; then those that follow. Keys come from one moment of the store; the rows are
 * read again one by one when they are shown, when nothing in them can change any more.
 */
#include "runs/events_int.h"
#include "runs/stored.h"

#include "base/array.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

enum { WINDOW = 1 << 20 };

enum rank { RANK_CAUSE, RANK_END, RANK_EFFECT, RANK_START, RANK_LAST };
enum what { WHAT_EVENT, WHAT_START, WHAT_END };

struct key {
    uint64_t turn;
    uint32_t gen, task, number; /* of an event: number is its id */
    uint8_t rank, what;
};

struct collector {
    uint64_t after;
    uint64_t ceiling; /* later turns are for the next window */
    bool more;        /* ... and there are some */
    struct key *keys;
    size_t n, capacity;
    size_t window, limit; /* narrow at `limit`: the window, or more for a huge turn */
    struct cairn_error *error;
};

/* ---- Order ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int by[] = {
        compare_numbers(a->turn, b->turn),     compare_numbers(a->rank, b->rank),
        compare_numbers(a->gen, b->gen),       compare_numbers(a->task, b->task),
        compare_numbers(a->number, b->number), compare_numbers(a->what, b->what)};
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++)
        if (by[i])
            return by[i];
    return 0;
}

static uint8_t rank_of(uint8_t kind)
{
    switch (kind) {
    case EVENT_SKIPPED:
    case EVENT_CONDITION:
    case EVENT_HALTED:
    case EVENT_PHASE:
    case EVENT_DEGRADED:
    case EVENT_RECOVERED:
        return RANK_EFFECT;
    case EVENT_ENDED:
        return RANK_LAST;
    default:
        return RANK_CAUSE;
    }
}

/* ---- Collecting ---- */

/* Leaves the later half for the next window, but at least one whole turn for this. */
static void narrow_window(struct collector *c)
{
    qsort(c->keys, c->n, sizeof *c->keys, compare_keys);
    uint64_t middle = c->keys[c->n / 2].turn, first = c->keys[0].turn;
    c->ceiling = middle > first ? middle - 1 : first;
    size_t n = c->n;
    while (n > 0 && c->keys[n - 1].turn > c->ceiling)
        n--;
    c->more |= n < c->n;
    c->n = n;
    c->limit = n + c->window;
}

static int add_key(struct collector *c, const struct key *key)
{
    if (key->turn <= c->after)
        return 0;
    if (c->n >= c->limit && key->turn <= c->ceiling)
        narrow_window(c);
    if (key->turn > c->ceiling) {
        c->more = true;
        return 0;
    }
    struct key *keys = array_room(c->keys, c->n, &c->capacity, sizeof *keys);
    if (!keys)
        return error_nomem(c->error);
    c->keys = keys;
    c->keys[c->n++] = *key;
    return 0;
}

static int add_event(void *context, const struct event_row *row)
{
    if (row->kind == EVENT_RUN_ACTIVE || row->kind == EVENT_SESSION_TURN)
        return 0; /* for feed/ */
    struct key key = {.turn = row->turn,
                      .number = (uint32_t)row->id,
                      .rank = rank_of(row->kind),
                      .what = WHAT_EVENT};
    return add_key(context, &key);
}

/* An external task has no start of its own unless somebody saw it: completing it is one
 * act. */
static bool shows_start(const struct attempt_row *row)
{
    bool at_once = row->start_turn == row->end_turn;
    return row->start_turn && !(at_once && row->flags & ATTEMPT_EXTERNAL);
}

static int add_attempt(void *context, const struct attempt_row *row)
{
    bool at_once = row->start_turn == row->end_turn;
    struct key key = {.turn = row->start_turn,
                      .gen = row->gen,
                      .task = row->task,
                      .number = row->number,
                      .rank = at_once ? RANK_END : RANK_START,
                      .what = WHAT_START};
    int rc = shows_start(row) ? add_key(context, &key) : 0;
    key.turn = row->end_turn;
    key.rank = RANK_END;
    key.what = WHAT_END;
    return rc || !row->end_turn ? rc : add_key(context, &key);
}

static int keep_newest(void *context, const struct run_row *row)
{
    struct task_names *names = context;
    names->run = row->run;
    names->gen = row->gen;
    names->graph = row->graph;
    return 0;
}

/* The keys of the next window, all of one moment. */
static int collect_keys(struct collector *c, struct event_display *t)
{
    c->n = 0;
    c->limit = c->window;
    c->ceiling = UINT64_MAX;
    c->more = false;
    bool of_run = t->names.run != EVENTS_OF_STORE;
    int rc = store_begin_read(t->store, c->error);
    if (rc)
        return rc;
    if (of_run)
        rc = store_get_run(t->store, t->names.run, keep_newest, &t->names, c->error);
    if (!rc)
        rc = store_each_event(t->store, t->names.run, c->after, add_event, c, c->error);
    if (!rc && of_run)
        rc = store_each_new_attempt(t->store, t->names.run, c->after, add_attempt, c,
                                    c->error);
    store_end_read(t->store);
    if (!rc && c->n)
        qsort(c->keys, c->n, sizeof *c->keys, compare_keys);
    return rc;
}

/* ---- Telling ---- */

struct copied {
    struct attempt_row attempt;
    struct event_row event;
    struct buf bytes;
};

static int copy_attempt(void *context, const struct attempt_row *row)
{
    struct copied *copied = context;
    copied->attempt = *row;
    buf_str(&copied->bytes, row->text);
    return 0;
}

static int copy_event(void *context, const struct event_row *row)
{
    struct copied *copied = context;
    copied->event = *row;
    buf_str(&copied->bytes, row->data);
    return 0;
}

static int read_row(struct event_display *t, const struct key *key,
                    struct copied *copied)
{
    struct attempt_row wanted = {
        .run = t->names.run, .gen = key->gen, .task = key->task, .number = key->number};
    int rc = key->what == WHAT_EVENT
                 ? store_get_event(t->store, t->names.run, key->turn, key->number,
                                   copy_event, copied, t->error)
                 : store_get_attempt(t->store, &wanted, copy_attempt, copied, t->error);
    if (!rc)
        rc = buf_check(&copied->bytes, t->error);
    copied->attempt.text = copied->event.data = buf_view(&copied->bytes);
    return rc;
}

static int tell_key(struct event_display *t, const struct key *key,
                    struct copied *copied)
{
    buf_clear(&copied->bytes);
    int rc = read_row(t, key, copied);
    if (rc)
        return rc;
    t->event = (struct cairn_log_event){
        .run = t->names.run, .turn = key->turn, .exit_code = -1};
    if (key->what == WHAT_START)
        return show_start(t, &copied->attempt);
    if (key->what == WHAT_END)
        return show_end(t, &copied->attempt);
    return show_event(t, &copied->event);
}

/* `after` becomes the last turn of which everything was shown. */
static int tell_window(struct collector *c, struct event_display *t,
                       struct copied *copied)
{
    int rc = 0;
    for (size_t i = 0; i < c->n && !rc && !t->stopped; i++) {
        rc = tell_key(t, &c->keys[i], copied);
        bool last = i + 1 == c->n || c->keys[i + 1].turn > c->keys[i].turn;
        if (!rc && last && !t->cut)
            c->after = c->keys[i].turn;
    }
    return rc;
}

static int tell_all(struct collector *c, struct event_display *t)
{
    struct copied copied = {.bytes = BUF_INIT};
    int rc;
    do {
        rc = collect_keys(c, t);
        if (!rc)
            rc = tell_window(c, t, &copied);
    } while (!rc && c->more && !t->stopped);
    buf_release(&copied.bytes);
    return rc;
}

static int find_run(struct cairn_store *store, uint64_t run, struct task_names *names,
                    struct cairn_error *error)
{
    uint64_t chosen = run;
    int rc = run ? 0 : run_choose(store, &chosen, error);
    if (!rc)
        rc = store_get_run(store, chosen, keep_newest, names, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    if (run)
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no run %llu; `cairn runs` lists them",
                         (unsigned long long)run);
    return error_set(error, CAIRN_ENOTFOUND,
                     "the store has no runs yet; start one with `cairn run FILE`");
}

/* Of t->names.run. */
static int tell_after(uint64_t after, struct event_display *t, size_t window)
{
    struct collector c = {.after = after, .window = window, .error = t->error};
    int rc = tell_all(&c, t);
    t->event.turn = c.after;
    free(c.keys);
    task_names_release(&t->names);
    buf_release(&t->text);
    return rc;
}

int events_in_windows(struct cairn_store *store, uint64_t run, uint64_t after,
                      struct event_display *t, size_t window)
{
    t->store = t->names.store = store;
    int rc = find_run(store, run, &t->names, t->error);
    return rc ? rc : tell_after(after, t, window);
}

int cairn_events(struct cairn_store *store, uint64_t run, uint64_t after,
                 int (*each)(void *, const struct cairn_log_event *), void *context,
                 uint64_t *last, struct cairn_error *error)
{
    struct event_display display = {
        .text = BUF_INIT, .each = each, .context = context, .error = error};
    int rc = events_in_windows(store, run, after, &display, WINDOW);
    if (!rc && last)
        *last = display.event.turn;
    return rc;
}

int cairn_store_events(struct cairn_store *store, uint64_t after,
                       int (*each)(void *, const struct cairn_log_event *),
                       void *context, uint64_t *last, struct cairn_error *error)
{
    struct event_display display = {
        .text = BUF_INIT, .each = each, .context = context, .error = error};
    display.store = display.names.store = store;
    int rc = tell_after(after, &display, WINDOW);
    if (!rc && last)
        *last = display.event.turn;
    return rc;
}
