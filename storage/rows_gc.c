/* SPDX-License-Identifier: MIT */
/* The rows that garbage collection reads and deletes.
 *
 * An object may be deleted if no row and no record refers to it. A writer that refers
 * to one puts it in the same transaction (store_put_object), or copies the reference
 * from a row or record that stays until the copy is committed. So the collector
 *
 *   1. begins: under the write lock it writes the newest object's id into the setting
 *      `gc`. From this commit on, a transaction that puts content which is already
 *      stored under an id up to that one notes the id in `spared`; new objects get
 *      larger ids.
 *   2. reads all rows and records, in as many transactions as it likes: what they refer
 *      to stays. Tombstones come after the records, all in one: what a record that is
 *      deleted meanwhile refers to is then in one of them, or was read.
 *   3. goes through the objects with ids up to that of 1., by descending id, so that a
 *      base comes after what was made from it, in transactions of its own: what stays
 *      and has a base that does not gets another one (store_rebase_object); the others
 *      are deleted which are not in `spared` and are not the base of any object that is
 *      still there.
 *
 * A reference that is in the store at 3. was either there before 1. and was read in 2.
 * (or its copy was: records are read by ascending number, and a copy has a larger one
 * than its original), or it came after 1. with a put, so that the object is spared or
 * new. The bases of an object stay as long as the row of the object names them, whoever
 * put it: the statement that deletes looks for that itself. An object that gets another
 * base is read, checked and written in one transaction, and has the same content after
 * it. One that was put meanwhile may have a base that is garbage, which then waits for
 * the next collection.
 *
 * Ids are not used twice within a collection, because the newest object of 1. is the
 * last one to be deleted, together with its bases. These may get their ids used again,
 * but only after they are gone, and what to delete is not looked up any more then.
 *
 * Content that is put before anything refers to it (a checkpoint of many files) keeps
 * collectors away with a shared LOCK_GC until something does.
 *
 * Collectors exclude each other by LOCK_GC. If one is killed, the setting stays, which
 * costs a few rows in `spared` until the next collector clears it.
 *
 * A process of an older cairn that has had the store open since before its migration
 * knows nothing of this. A store made by this version has the setting from its first
 * transaction on. In an older one the migration makes it, or the first collector, if it
 * is then the only writer: an older cairn cannot open the store after that. */
#include "storage/rows_gc.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/words.h"
#include "storage/rows_attempt.h"
#include "storage/rows_int.h"
#include "storage/rows_meta.h"
#include "storage/rows_parent.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* ---- Slices of long work ---- */

enum { SLICE_NS = 40000000, PAUSE_NS = 25000000 };

int store_slice_begin(struct store_slice *slice, struct cairn_error *error)
{
    assert(!slice->open);
    int rc = store_begin(slice->store, -1, error);
    slice->open = rc == 0;
    slice->start_ns = clock_mono_ns();
    return rc;
}

bool store_slice_full(const struct store_slice *slice)
{
    assert(slice->open);
    return clock_mono_ns() - slice->start_ns > SLICE_NS;
}

/* A process that waits for the write lock tries again every 20 ms. The pause is longer
 * than that, and at least as long as we held the lock: else a run beside us would never
 * get it. */
static void yield_write_lock(struct cairn_store *store, int64_t held_ns)
{
    assert(!store->writing && held_ns >= 0);
    if (lock_held(&store->lock, LOCK_WRITERS, NULL) == 0)
        return;
    int64_t pause = held_ns > PAUSE_NS ? held_ns : PAUSE_NS;
    struct timespec left = {pause / 1000000000, pause % 1000000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

int store_slice_end(struct store_slice *slice, int rc, struct cairn_error *error)
{
    assert(slice->open);
    rc = store_end(slice->store, rc, error);
    int64_t held_ns = clock_mono_ns() - slice->start_ns;
    slice->open = false;
    slice->ended++;
    if (held_ns / 1000 > slice->longest_us)
        slice->longest_us = held_ns / 1000;
    yield_write_lock(slice->store, held_ns);
    return rc;
}

/* ---- The setting ---- */

/* Settings with the id of an object; `gc` has the number of collections behind it. */
#define GC_BOUND "gc"
#define GC_HELD "gc held"

enum { GC_TEXT = 48 };

/* *there is false if the store has none. */
static int get_setting(struct cairn_store *store, const char *key, bool *there,
                       uint64_t *up_to, struct cairn_error *error)
{
    unsigned long long id = 0;
    char text[GC_TEXT];
    int rc = store_setting(store, key, text, sizeof text, error);
    *there = rc > 0;
    /* If it cannot be read, assume all objects. */
    if (rc > 0 && sscanf(text, "%llu", &id) != 1)
        id = INT64_MAX;
    *up_to = id;
    return rc < 0 ? rc : 0;
}

static int put_setting(struct cairn_store *store, const char *key, uint64_t up_to,
                       struct cairn_error *error)
{
    char text[24];
    store_assert_writing(store);
    u64_text(up_to, text);
    store->knows_collecting = false;
    return store_set_setting(store, key, text, error);
}

/* *n: how many there have been; UINT64_MAX: that is not known, since the store is of an
 * earlier cairn or one has collected. */
static int count_collections(struct cairn_store *store, uint64_t *up_to, uint64_t *n,
                             struct cairn_error *error)
{
    unsigned long long id = 0, count = 0;
    char text[GC_TEXT];
    int rc = store_setting(store, GC_BOUND, text, sizeof text, error);
    *n = rc > 0 && sscanf(text, "%llu %llu", &id, &count) == 2 ? count : UINT64_MAX;
    *up_to = id;
    return rc < 0 ? rc : 0;
}

/* Where the number is not known: one that no collection has had. */
static uint64_t first_count(void)
{
    return (uint64_t)clock_utc_ns();
}

int store_collections(struct cairn_store *store, uint64_t *n, struct cairn_error *error)
{
    uint64_t up_to, count;
    int rc = count_collections(store, &up_to, &count, error);
    *n = rc || up_to || count == UINT64_MAX ? 0 : count + 1;
    return rc;
}

static int put_bound(struct cairn_store *store, uint64_t up_to, uint64_t n,
                     struct cairn_error *error)
{
    char text[GC_TEXT];
    store_assert_writing(store);
    snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, up_to, n);
    store->knows_collecting = false;
    return store_set_setting(store, GC_BOUND, text, error);
}

int store_spare_object(struct cairn_store *store, uint64_t id,
                       struct cairn_error *error)
{
    store_assert_writing(store);
    assert(id);
    if (!store->knows_collecting) {
        bool there;
        int rc = get_setting(store, GC_BOUND, &there, &store->collecting, error);
        if (rc)
            return rc;
        store->knows_collecting = true;
    }
    if (id > store->collecting)
        return 0;
    return store_write(store, SQL_SPARE_OBJECT, VALUES(value_u64(id)), error);
}

/* ---- The collector ---- */

int store_gc_lock(struct cairn_store *store, struct cairn_error *error)
{
    int got = lock_try(&store->lock, LOCK_GC, LOCK_EXCLUSIVE, error);
    if (got)
        return got < 0 ? got : 0;
    return error_set(error, CAIRN_EBUSY,
                     "another `cairn gc`, or a checkpoint of files, is at work in the "
                     "store %s: try again",
                     store->paths.dir);
}

int store_gc_hold_off(struct cairn_store *store, int wait_ms, struct cairn_error *error)
{
    if (store->read_only)
        return error_set(error, CAIRN_EUSAGE, "the store %s was opened read-only",
                         store->paths.dir);
    int rc = lock_wait(&store->lock, LOCK_GC, LOCK_SHARED, wait_ms, error);
    return rc != CAIRN_EBUSY ? rc
                             : error_set(error, rc,
                                         "`cairn gc` is at work in the store %s: try "
                                         "again",
                                         store->paths.dir);
}

void store_gc_unlock(struct cairn_store *store)
{
    lock_drop(&store->lock, LOCK_GC);
}

/* Under the write lock, without which nobody can open the store for writing. */
static int check_alone(struct cairn_store *store, struct cairn_error *error)
{
    assert(store->writing);
    int others = lock_held(&store->lock, LOCK_WRITERS, error);
    if (others <= 0)
        return others;
    return error_set(error, CAIRN_EBUSY,
                     "a process that has the store %s open may be of an older cairn, "
                     "beside which no content can be collected: try again when it has "
                     "ended (only the first `cairn gc` of a store asks for that)",
                     store->paths.dir);
}

int store_gc_begin(struct cairn_store *store, uint64_t *up_to,
                   struct cairn_error *error)
{
    bool there;
    uint64_t earlier, n = 0;
    store_assert_writing(store);
    int rc = get_setting(store, GC_BOUND, &there, &earlier, error)
                 ?: count_collections(store, &earlier, &n, error);
    if (!rc && !there)
        rc = check_alone(store, error);
    return rc
           ?: store_write(store, SQL_FORGET_SPARED, NO_VALUES, error)
           ?: store_last_object(store, up_to, error)
           ?: put_bound(store, *up_to, n == UINT64_MAX ? first_count() : n + 1, error);
}

int store_gc_end(struct cairn_store *store, struct cairn_error *error)
{
    uint64_t up_to, n = 0;
    store_assert_writing(store);
    return store_write(store, SQL_FORGET_SPARED, NO_VALUES, error)
               ?: count_collections(store, &up_to, &n, error)
               ?: put_bound(store, 0, n == UINT64_MAX ? first_count() : n, error);
}

int store_gc_hold(struct cairn_store *store, struct cairn_error *error)
{
    uint64_t last;
    return store_last_object(store, &last, error)
               ?: put_setting(store, GC_HELD, last, error);
}

int store_gc_let_go(struct cairn_store *store, struct cairn_error *error)
{
    return store_drop_setting(store, GC_HELD, error);
}

int store_gc_held(struct cairn_store *store, uint64_t *up_to, struct cairn_error *error)
{
    bool there;
    return get_setting(store, GC_HELD, &there, up_to, error);
}

/* ---- Objects ---- */

int store_last_object(struct cairn_store *store, uint64_t *id,
                      struct cairn_error *error)
{
    int64_t last;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_LAST_OBJECT, NO_VALUES, &last, error);
    if (!rc)
        *id = (uint64_t)last;
    return rc;
}

int store_each_object(struct cairn_store *store, uint64_t up_to, uint32_t limit,
                      int (*each)(void *, const struct object_size *), void *context,
                      struct cairn_error *error)
{
    struct query query;
    assert(limit && each);
    store_assert_open(store);
    query_start(&query, store->db, SQL_EACH_OBJECT_SIZE,
                VALUES(value_u64(up_to), value_int(limit)), error);
    while (query_step(&query)) {
        struct object_size object = {.id = query_u64(&query, 0),
                                     .bytes = query_u64(&query, 2),
                                     .base = query_u64(&query, 3)};
        object.sound = digest_from(query_blob(&query, 1), &object.digest);
        object.based = digest_from(query_blob(&query, 4), &object.base_digest);
        query.rc = each(context, &object);
    }
    return query_end(&query);
}

int store_delete_object(struct cairn_store *store, const struct object_size *object,
                        bool *deleted, struct cairn_error *error)
{
    int64_t id;
    store_assert_writing(store);
    int rc = db_get_int(
        store->db, SQL_DELETE_OBJECT,
        VALUES(value_u64(object->id), value_blob(digest_view(&object->digest))), &id,
        error);
    *deleted = rc == 0;
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

/* ---- References ---- */

static int damaged_reference(uint64_t run, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "a row of run %llu is damaged (a digest that is none)",
                     (unsigned long long)run);
}

int store_each_used_graph(struct cairn_store *store, used_object_fn *each,
                          void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    query_start(&query, store->db, SQL_EACH_GRAPH_USED, NO_VALUES, error);
    while (query_step(&query)) {
        struct digest digest;
        uint64_t run = query_u64(&query, 0);
        query.rc = digest_from(query_blob(&query, 1), &digest)
                       ? each(context, run, &digest, false)
                       : damaged_reference(run, error);
    }
    return query_end(&query);
}

static int each_object_of(const struct query *query, used_object_fn *each,
                          void *context, struct cairn_error *error)
{
    enum { FIRST = 4, LAST = 6, FLAGS = 7 };
    static const uint16_t lists[] = {ATTEMPT_OUT_LIST, ATTEMPT_ERR_LIST, 0};
    uint64_t run = query_u64(query, 0);
    uint16_t flags = query_u16(query, FLAGS);
    int rc = 0;
    for (int i = FIRST; i <= LAST && !rc; i++) {
        struct digest digest;
        struct str bytes = query_blob(query, i);
        if (query_null(query, i))
            continue;
        rc = digest_from(bytes, &digest)
                 ? each(context, run, &digest, flags & lists[i - FIRST])
                 : damaged_reference(run, error);
    }
    return rc;
}

int store_each_used_object(struct cairn_store *store, struct attempt_key *from,
                           uint32_t limit, used_object_fn *each, void *context,
                           uint32_t *rows, struct cairn_error *error)
{
    struct query query;
    assert(limit && each);
    store_assert_open(store);
    uint32_t n = 0;
    query_start(&query, store->db, SQL_EACH_ATTEMPT_USED,
                VALUES(value_u64(from->run), value_u64(from->gen),
                       value_u64(from->task), value_u64(from->n), value_int(limit)),
                error);
    while (query_step(&query)) {
        *from = (struct attempt_key){query_u64(&query, 0), query_u64(&query, 1),
                                     query_u64(&query, 2), query_u64(&query, 3)};
        n++;
        query.rc = each_object_of(&query, each, context, error);
    }
    *rows = n;
    return query_end(&query);
}

/* ---- Runs ---- */

int store_has_new_fork(struct cairn_store *store, uint64_t run, uint64_t after,
                       bool *has, struct cairn_error *error)
{
    store_assert_open(store);
    return db_is(store->db, SQL_HAS_NEW_FORK, VALUES(value_u64(run), value_u64(after)),
                 has, error);
}

int store_remove_run(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    assert(run);
    const struct sql_value key = value_u64(run);
    return store_write(store, SQL_DELETE_RUN_GRAPHS, &key, 1, error)
           ?: store_drop_run_settings(store, run, error)
           ?: store_write(store, SQL_DROP_RUN, &key, 1, error);
}

int store_count_attempts(struct cairn_store *store, uint64_t run, uint64_t *count,
                         struct cairn_error *error)
{
    int64_t n;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_COUNT_RUN_ATTEMPTS, VALUES(value_u64(run)), &n,
                        error);
    if (!rc)
        *count = (uint64_t)n;
    return rc;
}

int store_each_leftover(struct cairn_store *store, int (*each)(void *, uint64_t run),
                        void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_number(store->db, SQL_EACH_LEFTOVER, each, context, error);
}

static int delete_some(struct cairn_store *store, enum sql_id id, uint64_t run,
                       uint32_t limit, uint32_t *rows, struct cairn_error *error)
{
    struct query query;
    assert(limit);
    query_start(&query, store->db, id, VALUES(value_u64(run), value_int(limit)), error);
    while (query_step(&query))
        ++*rows;
    return query_end(&query);
}

int store_delete_leftovers(struct cairn_store *store, uint64_t run, uint32_t limit,
                           uint32_t *rows, uint32_t *attempts,
                           struct cairn_error *error)
{
    static const enum sql_id others[] = {SQL_DELETE_EVENTS, SQL_DELETE_CLAIMS,
                                         SQL_DELETE_COMMANDS};
    store_assert_writing(store);
    *rows = *attempts = 0;
    int rc = delete_some(store, SQL_DELETE_ATTEMPTS, run, limit, attempts, error);
    *rows = *attempts;
    for (size_t i = 0; i < COUNT_OF(others) && !rc && *rows == 0; i++)
        rc = delete_some(store, others[i], run, limit, rows, error);
    return rc;
}
