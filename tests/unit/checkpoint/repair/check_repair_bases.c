/* SPDX-License-Identifier: MIT */
/* Repairing a store with objects that are made from others: they keep their bases,
 * wherever these are found, and those whose base is lost are lost content. */
#include "base/os.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_lost.h"
#include "tests/support/checkpoint.h"
#include "tests/support/gc.h"

enum { SIZE = 600, MOST = 120 };

/* Version `n` of noise: each differs from the others in a few bytes. */
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

static struct digest digests[MOST];
static uint64_t first; /* number of version 0 */

static void put_versions(struct lab *lab, uint32_t n)
{
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    for (uint32_t i = 0; i < n; i++)
        MUST(lab,
             i ? store_put_object_after(lab->store, version(i), &digests[i - 1],
                                        &digests[i], &lab->error)
               : store_put_object(lab->store, version(i), &digests[i], &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    first = (uint64_t)lab_ask_closed(lab, "SELECT max(id) + 1 FROM object") - n;
}

static int64_t deltas(struct lab *lab)
{
    return lab_ask_closed(lab, "SELECT count(*) FROM object WHERE codec = 2 AND base "
                               "IN (SELECT id FROM object)");
}

/* Attempts refer to them. */
static void use_versions(struct lab *lab, uint64_t run, uint32_t n)
{
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    for (uint32_t i = 0; i < n; i++) {
        struct attempt_row attempt = {
            .run = run,
            .gen = 1,
            .task = 5,
            .number = i + 1,
            .intent_ns = 5,
            .ended_ns = 6,
            .outcome = CAIRN_COMPLETED,
            .out = {(const char *)digests[i].bytes, DIGEST_SIZE}};
        MUST(lab, store_put_attempt(lab->store, &attempt, &lab->error));
    }
    MUST(lab, store_commit(lab->store, &lab->error));
}

/* ---- Repairing ---- */

static struct buf losses;
static struct cairn_repair_result result;

static int note_loss(void *context, const struct cairn_loss *loss)
{
    (void)context;
    ck_assert_int_eq(loss->kind, CAIRN_LOSS_OBJECT);
    buf_format(&losses, "%s;", loss->text);
    return 0;
}

static void repair(struct lab *lab)
{
    buf_clear(&losses);
    buf_text(&losses, "");
    memset(&result, 0, sizeof result);
    cairn_store_close(lab->store);
    lab->store = NULL;
    MUST(lab, cairn_store_repair(lab->path, note_loss, NULL, &result, &lab->error));
    ck_assert(result.repaired);
    lab_store(lab);
    lab_must_verify(lab);
}

static void expect_saved(struct lab *lab, uint32_t from, uint32_t to)
{
    struct buf out = BUF_INIT;
    for (uint32_t i = from; i < to; i++) {
        buf_clear(&out);
        MUST(lab, store_get_object(lab->store, &digests[i], &out, &lab->error));
        ck_assert(str_equal(buf_view(&out), version(i)));
    }
    buf_release(&out);
}

static void expect_lost(struct lab *lab, uint32_t from, uint32_t to)
{
    char hex[DIGEST_HEX_SIZE], text[80];
    bool known;
    for (uint32_t i = from; i < to; i++) {
        digest_hex(&digests[i], hex);
        snprintf(text, sizeof text, "the stored content %.12s", hex);
        ck_assert_msg(strstr(losses.data, text) != NULL, "%s: %s", text, losses.data);
        ck_assert(!lab_has_object(lab, &digests[i]));
        MUST(lab, store_is_known_loss(lab->store, hex, &known, &lab->error));
        ck_assert(known);
    }
    ck_assert_uint_eq(result.lost, to - from);
}

static struct lab *lab_with(uint64_t seed, uint32_t n)
{
    struct lab *lab = lab_open(seed);
    uint64_t run = lab_ended_run(lab, "w", "FD", "something");
    put_versions(lab, n);
    use_versions(lab, run, n);
    lab_must_verify(lab);
    return lab;
}

/* Something else is damaged, so that there is a new store. */
static void damage_an_index(struct lab *lab)
{
    lab_ask_closed(lab, "DROP INDEX run_workflow");
}

/* ---- Tests ---- */

START_TEST(all_is_saved)
{
    struct lab *lab = lab_with(1, 40);
    int64_t before = deltas(lab);
    ck_assert_int_eq(before, 37);
    damage_an_index(lab);
    repair(lab);
    expect_saved(lab, 0, 40);
    ck_assert_int_eq(deltas(lab), before);
    ck_assert_uint_eq(result.lost, 0);
    lab_close(lab);
}
END_TEST

static const char *const removals[] = {
    "DELETE FROM object WHERE id = %llu",
    "UPDATE object SET data = zeroblob(length(data)) WHERE id = %llu",
    "UPDATE object SET base = id WHERE id = %llu",
    "UPDATE object SET base = NULL WHERE id = %llu",
    "UPDATE object SET base = 1000 WHERE id = %llu",
};

/* Version 5 cannot be read any more, and so neither can those to 16. */
START_TEST(a_base_is_lost)
{
    struct lab *lab = lab_with(2, 40);
    lab_sql(lab, removals[_i], first + 5);
    repair(lab);
    expect_saved(lab, 0, 5);
    expect_lost(lab, 5, 17);
    expect_saved(lab, 17, 40);
    ck_assert_int_eq(deltas(lab), 37 - 12);
    /* They are put again by whoever has them, and the next repair has nothing to do. */
    put_versions(lab, 40);
    expect_saved(lab, 0, 40);
    lab_must_verify(lab);
    lab_close(lab);
}
END_TEST

/* What stands by itself needs no base, though an older cairn has left one there. */
START_TEST(left_over_base)
{
    struct lab *lab = lab_with(3, 20);
    lab_sql(lab, "UPDATE object SET base = %llu WHERE codec < 2", 999);
    damage_an_index(lab);
    repair(lab);
    expect_saved(lab, 0, 20);
    ck_assert_uint_eq(result.lost, 0);
    ck_assert_int_eq(
        lab_ask_closed(lab, "SELECT count(*) FROM object WHERE base = 999"), 0);
    lab_close(lab);
}
END_TEST

/* A page says that it has no rows: those on it are found by their shape, deltas and
 * others, though they have no checksum but their digests. */
START_TEST(rows_found_by_their_shape)
{
    struct lab *lab = lab_with(5, 20);
    struct buf file = BUF_INIT;
    char path[400];
    int64_t before = deltas(lab);
    int64_t size = lab_ask_closed(lab, "PRAGMA page_size");
    cairn_store_close(lab->store);
    lab->store = NULL;
    lab_ask(lab, "PRAGMA wal_checkpoint(TRUNCATE)");
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    MUST(lab, os_read_file(path, 1 << 24, &file, &lab->error));
    struct str content = version(0);
    char *at = memmem(file.data, file.size, content.ptr, content.len);
    ck_assert_ptr_nonnull(at);
    char *page = file.data + (at - file.data) / size * size;
    ck_assert_int_eq(page[0], 13); /* a leaf of a table */
    page[3] = page[4] = 0;
    MUST(lab, os_write_file(path, 0600, buf_view(&file), &lab->error));
    buf_release(&file);
    MUST(lab, cairn_store_repair(lab->path, NULL, NULL, &result, &lab->error));
    lab_store(lab);
    expect_saved(lab, 0, 20);
    ck_assert_int_eq(deltas(lab), before);
    lab_must_verify(lab);
    lab_close(lab);
}
END_TEST

/* The tree of the objects has lost its root, and the pages with the larger numbers come
 * first in the file: bases are found after what is made from them. */
START_TEST(found_in_any_order)
{
    static const char *const turned[] = {
        "CREATE TABLE copy AS SELECT * FROM object WHERE %llu",
        "DELETE FROM object WHERE %llu",
        "INSERT INTO object SELECT * FROM copy WHERE %llu ORDER BY id DESC",
        "DROP TABLE copy; SELECT %llu",
    };
    struct lab *lab = lab_with(4, MOST);
    struct buf file = BUF_INIT;
    char path[400];
    int64_t before = deltas(lab);
    for (int i = 0; i < 4; i++)
        lab_sql(lab, turned[i], 1);
    int64_t root =
        lab_ask_closed(lab, "SELECT rootpage FROM sqlite_schema WHERE name = 'object'");
    int64_t size = lab_ask_closed(lab, "PRAGMA page_size");
    lab_must_verify(lab);
    lab_ask_closed(lab, "PRAGMA wal_checkpoint(TRUNCATE)");
    cairn_store_close(lab->store);
    lab->store = NULL;
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    MUST(lab, os_read_file(path, 1 << 24, &file, &lab->error));
    ck_assert_int_eq(file.data[(root - 1) * size], 5); /* it has children */
    memset(file.data + (root - 1) * size, 0, (size_t)size);
    MUST(lab, os_write_file(path, 0600, buf_view(&file), &lab->error));
    buf_release(&file);
    lab->store = NULL;
    MUST(lab, cairn_store_repair(lab->path, NULL, NULL, &result, &lab->error));
    lab_store(lab);
    expect_saved(lab, 0, MOST);
    ck_assert_int_eq(deltas(lab), before);
    lab_must_verify(lab);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, all_is_saved);
    tcase_add_loop_test(tests, a_base_is_lost, 0, 5);
    tcase_add_test(tests, left_over_base);
    tcase_add_test(tests, rows_found_by_their_shape);
    tcase_add_test(tests, found_in_any_order);
}

int main(void)
{
    return lab_run_suite("repair_bases", add);
}
