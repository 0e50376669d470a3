/* SPDX-License-Identifier: MIT */
/* make: above wrap=store_commit */
/* cairn_gc and objects that are made from others: a base that nothing else refers to
 * goes, and what is made from it gets another one. */
#include "checkpoint/gc/gc.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_gc.h"
#include "storage/rows_run.h"
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/gc.h"

/* So many commits go well, all later ones are refused; below 0: none is. */
static int commits_left = -1;

static void (*meanwhile)(void); /* called after each of them */

int __real_store_commit(struct cairn_store *store, struct cairn_error *error);
int __wrap_store_commit(struct cairn_store *store, struct cairn_error *error);
int __wrap_store_commit(struct cairn_store *store, struct cairn_error *error)
{
    if (commits_left == 0) {
        store_abort(store);
        return error_set(error, CAIRN_EIO, "cut off");
    }
    commits_left -= commits_left > 0;
    int rc = __real_store_commit(store, error);
    void (*now)(void) = meanwhile;
    meanwhile = NULL; /* it commits, too */
    if (now)
        now();
    meanwhile = now;
    return rc;
}

/* Version `n` of noise: of each line that differs from the others. */
enum { SIZE = 600 };
static struct str version(uint32_t n)
{
    static char content[SIZE];
    uint64_t seed = 42;
    for (size_t i = 0; i < SIZE; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        content[i] = (char)seed;
    }
    memcpy(content + 20 * (n % 20), &n, sizeof n);
    return (struct str){content, SIZE};
}

static struct digest put_after(struct lab *lab, struct str content,
                               const struct digest *before)
{
    struct digest digest;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, before ? store_put_object_after(lab->store, content, before, &digest,
                                              &lab->error)
                     : store_put_object(lab->store, content, &digest, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return digest;
}

/* Versions 0 to n, each after the one before it. */
static void put_versions(struct lab *lab, struct digest *digests, int n)
{
    for (int i = 0; i <= n; i++)
        digests[i] = put_after(lab, version((uint32_t)i), i ? &digests[i - 1] : NULL);
}

/* An attempt refers to it. */
static void use(struct lab *lab, uint64_t run, uint64_t task,
                const struct digest *digest)
{
    struct attempt_row attempt = {.run = run,
                                  .gen = 1,
                                  .task = (uint32_t)task,
                                  .number = 1,
                                  .intent_ns = 5,
                                  .ended_ns = 6,
                                  .outcome = CAIRN_COMPLETED,
                                  .out = {(const char *)digest->bytes, DIGEST_SIZE}};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_attempt(lab->store, &attempt, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

static void unuse(struct lab *lab)
{
    lab_ask_closed(lab, "DELETE FROM attempt WHERE out IS NOT NULL");
}

static void expect_there(struct lab *lab, const struct digest *digests, int n,
                         int kept_up_to)
{
    for (int i = 0; i <= n; i++)
        ck_assert_msg(lab_has_object(lab, &digests[i]) == (i <= kept_up_to), "%d", i);
    lab_must_verify(lab);
}

static struct cairn_gc_result would_collect(struct lab *lab)
{
    struct cairn_gc_options dry = {.dry_run = true};
    struct cairn_gc_result would;
    MUST(lab, checkpoint_gc(lab->store, &payload_kinds, &dry, &would, &lab->error));
    return would;
}

/* ---- Tests ---- */

START_TEST(garbage_is_no_base)
{
    struct lab *lab = lab_open(1);
    struct digest digests[31];
    uint64_t run = lab_ended_run(lab, "w", "FD", "something");
    uint64_t kept = lab_collect(lab, 0).kept_objects;
    put_versions(lab, digests, 30); /* 0 and 17 stand by themselves */
    use(lab, run, 5, &digests[20]);
    use(lab, run, 6, &digests[3]);
    struct cairn_gc_result would = would_collect(lab), did = lab_collect(lab, 0);
    ck_assert_uint_eq(did.objects, 29);
    ck_assert_uint_eq(did.kept_objects, kept + 2);
    ck_assert_uint_eq(would.objects, did.objects);
    ck_assert_uint_eq(would.kept_objects, did.kept_objects);
    ck_assert_uint_eq(would.freed_bytes, did.freed_bytes);
    for (int i = 0; i <= 30; i++)
        ck_assert_int_eq(lab_has_object(lab, &digests[i]), i == 3 || i == 20);
    lab_must_verify(lab);
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 0);
    unuse(lab);
    would = would_collect(lab);
    did = lab_collect(lab, 0);
    ck_assert_uint_eq(did.objects, 2 + 1); /* and what the run had put out */
    ck_assert_uint_eq(would.objects, did.objects);
    ck_assert_uint_eq(did.kept_objects, kept - 1);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM object WHERE codec = 2"),
                     0);
    lab_must_verify(lab);
    lab_close(lab);
}
END_TEST

static struct object_size objects[64];
static uint32_t n_objects;

static int note_size(void *context, const struct object_size *object)
{
    (void)context;
    ck_assert(n_objects < 64 && object->sound);
    ck_assert(n_objects == 0 || object->id < objects[n_objects - 1].id);
    ck_assert_int_eq(object->based, object->base != 0);
    objects[n_objects++] = *object;
    return 0;
}

static int64_t base_of(struct lab *lab, const struct digest *digest)
{
    struct object_room room;
    MUST(lab, store_object_room(lab->store, digest, &room, &lab->error));
    ck_assert(room.there);
    int64_t id = 0;
    for (uint32_t i = 0; room.based && i < n_objects; i++)
        if (digest_equal(&objects[i].digest, &room.base))
            id = (int64_t)objects[i].id;
    return id;
}

/* Of 0 to 5 the ones in the middle go: the others are as they were, made from what is
 * left. */
START_TEST(another_base)
{
    struct lab *lab = lab_open(10);
    struct digest digests[6];
    uint64_t run = lab_ended_run(lab, "w", "FD", "something");
    put_versions(lab, digests, 5);
    use(lab, run, 5, &digests[1]);
    use(lab, run, 6, &digests[4]);
    use(lab, run, 7, &digests[5]);
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 3);
    n_objects = 0;
    MUST(lab,
         store_each_object(lab->store, INT64_MAX, 64, note_size, NULL, &lab->error));
    ck_assert_int_eq(base_of(lab, &digests[1]), 0);
    ck_assert_int_gt(base_of(lab, &digests[4]), 0);
    ck_assert_int_lt(base_of(lab, &digests[4]), base_of(lab, &digests[5]));
    for (int i = 0; i < 6; i++) {
        struct buf content = BUF_INIT;
        if (i == 1 || i > 3) {
            MUST(lab, store_get_object(lab->store, &digests[i], &content, &lab->error));
            ck_assert(str_equal(buf_view(&content), version((uint32_t)i)));
        }
        ck_assert_int_eq(lab_has_object(lab, &digests[i]), i == 1 || i > 3);
        buf_release(&content);
    }
    lab_must_verify(lab);
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 0);
    lab_close(lab);
}
END_TEST

/* All are made from one that goes: the first of them becomes whole, and the base of the
 * others. */
START_TEST(siblings)
{
    enum { MANY = 40 };
    struct lab *lab = lab_open(11);
    struct digest digests[MANY];
    uint64_t run = lab_ended_run(lab, "w", "FD", "something");
    digests[0] = put_after(lab, version(0), NULL);
    for (uint32_t i = 1; i < MANY; i++) {
        digests[i] = put_after(lab, version(i), &digests[0]);
        use(lab, run, 5 + i, &digests[i]);
    }
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 1);
    ck_assert(!lab_has_object(lab, &digests[0]));
    lab_must_verify(lab);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM object WHERE base > 0 "
                                         "AND length(data) < 100"),
                     MANY - 2);
    lab_close(lab);
}
END_TEST

/* One after the other, as many as there are: nothing waits for the next collection. */
START_TEST(many_at_once)
{
    enum { MANY = 2600 };
    struct lab *lab = lab_open(2);
    struct digest *digests = calloc(MANY, sizeof *digests);
    ck_assert_ptr_nonnull(digests);
    uint64_t run = lab_ended_run(lab, "w", "FD", "something");
    uint64_t kept = lab_collect(lab, 0).kept_objects;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    for (uint32_t i = 0; i < MANY; i++)
        MUST(lab,
             i ? store_put_object_after(lab->store, version(i), &digests[i - 1],
                                        &digests[i], &lab->error)
               : store_put_object(lab->store, version(i), &digests[i], &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    use(lab, run, 5, &digests[2000]); /* 1989 stands by itself */
    struct cairn_gc_result would = would_collect(lab), did = lab_collect(lab, 0);
    ck_assert_uint_eq(did.objects, MANY - 1);
    ck_assert_uint_eq(would.objects, MANY - 1);
    ck_assert_uint_eq(did.kept_objects, kept + 1);
    lab_must_verify(lab);
    unuse(lab);
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 1 + 1);
    lab_must_verify(lab);
    free(digests);
    lab_close(lab);
}
END_TEST

/* The steps of a collection one by one, and what another handle puts in between. */
static void begin_collecting(struct lab *lab, uint64_t *up_to)
{
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_begin(lab->store, up_to, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

static int delete_one(void *context, const struct object_size *object)
{
    struct lab *lab = context;
    bool deleted;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_delete_object(lab->store, object, &deleted, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return 0;
}

/* As if nothing were referred to. */
static void delete_all(struct lab *lab, uint64_t up_to)
{
    n_objects = 0;
    MUST(lab, store_each_object(lab->store, up_to, 64, note_size, NULL, &lab->error));
    for (uint32_t i = 0; i < n_objects; i++)
        delete_one(lab, &objects[i]);
}

static void end_collecting(struct lab *lab)
{
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_gc_end(lab->store, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

START_TEST(used_again_meanwhile)
{
    struct lab *lab = lab_open(3), other = *lab;
    struct digest digests[10];
    uint64_t up_to;
    lab_store(&other);
    put_versions(lab, digests, 9);
    begin_collecting(lab, &up_to);
    put_after(&other, version(4), NULL); /* which is there, made from 3 */
    delete_all(lab, up_to);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(lab_has_object(lab, &digests[i]), i <= 4);
    end_collecting(lab);
    cairn_store_close(other.store);
    ck_assert_int_eq(lab_ask_closed(lab, "PRAGMA foreign_key_check"), 0);
    lab_close(lab);
}
END_TEST

START_TEST(made_from_garbage_meanwhile)
{
    struct lab *lab = lab_open(4), other = *lab;
    struct digest digests[10], new;
    uint64_t up_to;
    lab_store(&other);
    put_versions(lab, digests, 9);
    begin_collecting(lab, &up_to);
    new = put_after(&other, version(77), &digests[6]);
    delete_all(lab, up_to);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(lab_has_object(lab, &digests[i]), i <= 6);
    ck_assert(lab_has_object(lab, &new));
    /* What is gone is not a base any more. */
    new = put_after(&other, version(78), &digests[8]);
    end_collecting(lab);
    cairn_store_close(other.store);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT max(id) > 10 AND base IS NULL "
                                         "FROM object"),
                     1);
    ck_assert(lab_has_object(lab, &new));
    lab_close(lab);
}
END_TEST

/* A collector of before format 5 asks only for `spared`. */
START_TEST(collector_of_an_older_cairn)
{
    static const char delete[] =
        "DELETE FROM object WHERE id = 1 AND digest = (SELECT digest FROM object WHERE "
        "id = 1) AND NOT EXISTS(SELECT 1 FROM spared WHERE object = 1) RETURNING id";
    struct lab *lab = lab_open(5);
    struct digest digests[3];
    char file[400];
    sqlite3 *db;
    lab_ask_closed(lab, "DELETE FROM object");
    put_versions(lab, digests, 2);
    cairn_store_close(lab->store);
    snprintf(file, sizeof file, "%s/cairn.db", lab->path);
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, delete, NULL, NULL, NULL), SQLITE_CONSTRAINT);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    lab_store(lab);
    for (int i = 0; i < 3; i++)
        ck_assert(lab_has_object(lab, &digests[i]));
    lab_close(lab);
}
END_TEST

/* Ended after any of its transactions, as if it had been killed: what is kept can be
 * read, and the next collection finishes. */
START_TEST(cut_off_after_each_transaction)
{
    for (int stop = 0;; stop++) {
        struct lab *lab = lab_open(6);
        struct digest digests[31];
        uint64_t run = lab_ended_run(lab, "w", "FD", "something");
        put_versions(lab, digests, 30);
        use(lab, run, 5, &digests[3]);
        struct cairn_gc_options options = {0};
        struct cairn_gc_result result;
        commits_left = stop;
        int rc =
            checkpoint_gc(lab->store, &payload_kinds, &options, &result, &lab->error);
        commits_left = -1;
        ck_assert(rc == 0 || rc == CAIRN_EIO);
        lab_must_verify(lab);
        cairn_store_close(lab->store);
        lab_store(lab);
        /* The setting of the collection that was cut off is still there. */
        struct digest again = put_after(lab, version(12), &digests[3]);
        use(lab, run, 6, &again);
        lab_collect(lab, 0);
        lab_must_verify(lab);
        ck_assert(lab_has_object(lab, &again));
        ck_assert(lab_has_object(lab, &digests[3]));
        for (int i = 13; i <= 30; i++)
            ck_assert(!lab_has_object(lab, &digests[i]));
        lab_close(lab);
        if (rc == 0) {
            ck_assert_int_ge(stop, 4);
            break;
        }
    }
}
END_TEST

/* Wherever a slice of one object each ends, all that is there can be read. */
START_TEST(readable_between_slices)
{
    struct lab *lab = lab_open(7);
    struct digest digests[18];
    uint64_t up_to;
    put_versions(lab, digests, 17);
    begin_collecting(lab, &up_to);
    n_objects = 0;
    MUST(lab, store_each_object(lab->store, up_to, 18, note_size, NULL, &lab->error));
    ck_assert_uint_eq(n_objects, 18);
    for (uint32_t i = 0; i < n_objects; i++) {
        delete_one(lab, &objects[i]);
        expect_there(lab, digests, 17, 16 - (int)i);
    }
    end_collecting(lab);
    lab_close(lab);
}
END_TEST

static struct lab *beside;
static struct digest put_meanwhile;
static int n_meanwhile;

static int count_large(void *context, const struct object_size *object)
{
    *(int *)context += object->id > 100000;
    return 0;
}

static void put_once(void)
{
    int large = 0;
    MUST(beside, store_each_object(beside->store, INT64_MAX, 2, count_large, &large,
                                   &beside->error));
    if (large > 1 || n_meanwhile++)
        return;
    put_meanwhile = lab_put_object(beside, "put meanwhile");
}

/* All that has the large numbers goes, and what is put meanwhile must not get one of
 * those that are still to be looked at. */
START_TEST(numbers_are_not_used_twice)
{
    enum { MANY = 1100 };
    struct lab *lab = lab_open(9), other = *lab;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    for (uint32_t i = 0; i < MANY; i++) {
        struct digest digest;
        MUST(lab, store_put_object(lab->store, version(i), &digest, &lab->error));
    }
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_ask_closed(lab, "UPDATE object SET id = id + 100000 "
                        "WHERE id > (SELECT max(id) - 1024 FROM object)");
    lab_store(&other);
    beside = &other;
    n_meanwhile = 0;
    meanwhile = put_once;
    struct cairn_gc_result did = lab_collect(lab, 0);
    meanwhile = NULL;
    ck_assert_uint_eq(did.objects, MANY);
    ck_assert_int_gt(n_meanwhile, 1);
    ck_assert(lab_has_object(lab, &put_meanwhile));
    cairn_store_close(other.store);
    lab_close(lab);
}
END_TEST

START_TEST(damaged_chains_stay)
{
    struct lab *lab = lab_open(8);
    struct digest digests[6];
    uint64_t run = lab_ended_run(lab, "w", "FD", "something");
    put_versions(lab, digests, 5);
    use(lab, run, 5, &digests[5]);
    /* In a circle, which no writer makes: nothing of it can be told to be garbage. */
    lab_ask_closed(lab, "UPDATE object SET base = (SELECT max(id) FROM object) "
                        "WHERE id = (SELECT max(id) - 3 FROM object)");
    struct cairn_gc_result did = lab_collect(lab, 0);
    ck_assert_uint_eq(did.objects, 2);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM object WHERE base > 0"),
                     4);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, garbage_is_no_base);
    tcase_add_test(tests, another_base);
    tcase_add_test(tests, siblings);
    tcase_add_test(tests, many_at_once);
    tcase_add_test(tests, used_again_meanwhile);
    tcase_add_test(tests, made_from_garbage_meanwhile);
    tcase_add_test(tests, collector_of_an_older_cairn);
    tcase_add_test(tests, cut_off_after_each_transaction);
    tcase_add_test(tests, readable_between_slices);
    tcase_add_test(tests, numbers_are_not_used_twice);
    tcase_add_test(tests, damaged_chains_stay);
}

int main(void)
{
    return lab_run_suite("gc_bases", add);
}
