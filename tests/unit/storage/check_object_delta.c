/* SPDX-License-Identifier: MIT */
/* Objects that are stored as what makes them differ from others: storage/object.c,
 * pool/. */
#include "base/limits.h"
#include "storage/object.h"
#include "storage/rows_gc.h"
#include "storage/rows_int.h"
#include "tests/support/store.h"

#include <sqlite3.h>
#include <zstd.h>

static struct cairn_store *store;

static void open_it(void)
{
    store = open_store();
}

static void close_it(void)
{
    cairn_store_close(store);
    store = NULL;
}

/* Behind the store's back; the answer to a query. The store is closed meanwhile. */
static int64_t ask(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    bool open = store != NULL;
    close_it();
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    int rc = sqlite3_step(statement);
    int64_t n = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    ck_assert_msg(rc == SQLITE_ROW || rc == SQLITE_DONE, "%s: %s", sql,
                  sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    if (open)
        open_it();
    return n;
}

static struct digest put_after(struct str content, const struct digest *before)
{
    struct digest digest;
    good(store_begin(store, -1, &error));
    good(before ? store_put_object_after(store, content, before, &digest, &error)
                : store_put_object(store, content, &digest, &error));
    good(store_commit(store, &error));
    return digest;
}

static void expect(const struct digest *digest, struct str content)
{
    struct buf out = BUF_INIT;
    buf_text(&out, "kept");
    good(store_get_object(store, digest, &out, &error));
    ck_assert_uint_eq(out.size, 4 + content.len);
    ck_assert_mem_eq(out.data, "kept", 4);
    if (content.len)
        ck_assert_mem_eq(out.data + 4, content.ptr, content.len);
    buf_release(&out);
}

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

/* Bytes that do not compress by themselves. */
static void add_noise(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_byte(out, (uint8_t)below(256));
}

/* Version `n` of a text: the same noise, but for a few bytes. */
enum { SIZE = 600 };
static struct str version(struct buf *out, uint8_t n)
{
    seed = 42;
    buf_clear(out);
    add_noise(out, SIZE);
    memset(out->data + 20 * (n % 20), n, 4);
    return buf_view(out);
}

/* Versions 0 to n, each after the one before it. */
static void put_versions(struct digest *digests, int n)
{
    struct buf content = BUF_INIT;
    for (int i = 0; i <= n; i++)
        digests[i] =
            put_after(version(&content, (uint8_t)i), i ? &digests[i - 1] : NULL);
    buf_release(&content);
}

static void expect_versions(const struct digest *digests, int first, int last)
{
    struct buf content = BUF_INIT;
    for (int i = first; i <= last; i++)
        expect(&digests[i], version(&content, (uint8_t)i));
    buf_release(&content);
}

/* ---- What is wrong ---- */

struct findings {
    struct buf text; /* "N: why;" for each, N its place among `digests` */
    const struct digest *digests;
    int n;
};

static int note_bad(void *context, const char *hex, const char *why)
{
    struct findings *findings = context;
    char one[DIGEST_HEX_SIZE];
    for (int i = 0; i <= findings->n; i++) {
        digest_hex(&findings->digests[i], one);
        if (strcmp(one, hex) == 0)
            buf_format(&findings->text, "%d: %s;", i, why);
    }
    return 0;
}

/* What verify says; it and the reading of each must agree. */
static void expect_findings(const struct digest *digests, int n, const char *want)
{
    struct findings findings = {BUF_INIT, digests, n};
    struct buf out = BUF_INIT;
    uint64_t checked;
    char start[16];
    buf_text(&findings.text, "");
    good(store_verify_objects(store, &checked, note_bad, &findings, &error));
    ck_assert_str_eq(findings.text.data, want);
    for (int i = 0; i <= n; i++) {
        int rc = store_get_object(store, &digests[i], &out, &error);
        snprintf(start, sizeof start, "%d: ", i);
        char *at = strstr(findings.text.data, start);
        while (at && at != findings.text.data && at[-1] != ';')
            at = strstr(at + 1, start);
        if (rc == CAIRN_ENOTFOUND)
            continue;
        ck_assert_int_eq(rc, at ? CAIRN_EDAMAGED : 0);
        ck_assert(rc == 0 || out.size == 0);
        buf_clear(&out);
    }
    buf_release(&out);
    buf_release(&findings.text);
}

/* ---- Tests ---- */

START_TEST(sixteen_bases_and_no_more)
{
    struct digest digests[41];
    open_it();
    put_versions(digests, 40);
    expect_versions(digests, 0, 40);
    expect_findings(digests, 40, "");
    ck_assert_int_eq(ask("SELECT group_concat(id) = '1,18,35' FROM object "
                         "WHERE base IS NULL AND codec = 0"),
                     1);
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE codec = 2 AND "
                         "base = id - 1 AND length(data) < 60"),
                     38);
    expect_versions(digests, 0, 40);
    /* One more base than are allowed. */
    ask("UPDATE object SET codec = 2, base = 17, data = (SELECT data FROM object "
        "WHERE id = 19) WHERE id = 18");
    struct findings findings = {BUF_INIT, digests, 40};
    uint64_t checked;
    good(store_verify_objects(store, &checked, note_bad, &findings, &error));
    ck_assert_ptr_nonnull(strstr(findings.text.data, "17: it has too many bases;"));
    ck_assert_ptr_nonnull(strstr(findings.text.data, ";18: it has too many bases;"));
    ck_assert_ptr_null(strstr(findings.text.data, "16: "));
    buf_release(&findings.text);
    close_it();
}
END_TEST

/* What does not differ in a way that helps is stored by itself. */
START_TEST(by_itself_where_that_is_smaller)
{
    struct buf content = BUF_INIT, text = BUF_INIT;
    struct digest none = {{1, 2, 3}};
    open_it();
    struct digest first = put_after(version(&content, 0), NULL);
    put_after(STR("short"), &first);
    for (int i = 0; i < 300; i++)
        buf_text(&text, "again ");
    put_after(buf_view(&text), &first);
    buf_clear(&text);
    seed = 77;
    add_noise(&text, 500);
    put_after(buf_view(&text), &first);
    put_after(version(&content, 1), &none); /* there is no such object */
    struct digest empty = put_after(STR(""), &first);
    put_after(version(&content, 2), &empty);
    ck_assert_int_eq(ask("SELECT count(*) FROM object"), 7);
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE base IS NOT NULL"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE codec = 2"), 0);
    expect(&empty, STR(""));
    buf_release(&content);
    buf_release(&text);
    close_it();
}
END_TEST

START_TEST(same_content_once)
{
    struct digest digests[4], again;
    struct buf content = BUF_INIT;
    open_it();
    put_versions(digests, 3);
    again = put_after(version(&content, 2), &digests[3]);
    ck_assert(digest_equal(&again, &digests[2]));
    again = put_after(version(&content, 2), NULL);
    ck_assert(digest_equal(&again, &digests[2]));
    again = put_after(version(&content, 0), &digests[0]);
    ck_assert(digest_equal(&again, &digests[0]));
    ck_assert_int_eq(ask("SELECT count(*) FROM object"), 4);
    ck_assert_int_eq(ask("SELECT base FROM object WHERE id = 3"), 2);
    ck_assert_int_eq(ask("SELECT count(*) FROM spared"), 0);
    buf_release(&content);
    close_it();
}
END_TEST

/* A thousand items of a hundred bytes, of which each version changes ten. */
START_TEST(five_hundred_versions)
{
    enum { ITEMS = 1000, ITEM = 100, CHANGED = 10, VERSIONS = 500 };
    struct digest *digests = calloc(VERSIONS, sizeof *digests);
    struct buf content = BUF_INIT, random = BUF_INIT, out = BUF_INIT;
    struct digest now;
    ck_assert_ptr_nonnull(digests);
    open_it();
    seed = 4711;
    add_noise(&content, (size_t)ITEMS * ITEM);
    good(store_begin(store, -1, &error));
    for (int i = 0; i < VERSIONS; i++) {
        for (int k = 0; k < CHANGED && i > 0; k++) {
            buf_clear(&random);
            add_noise(&random, ITEM);
            memcpy(content.data + (size_t)below(ITEMS) * ITEM, random.data, ITEM);
        }
        good(i ? store_put_object_after(store, buf_view(&content), &digests[i - 1],
                                        &digests[i], &error)
               : store_put_object(store, buf_view(&content), &digests[i], &error));
    }
    good(store_commit(store, &error));
    for (int i = 0; i < VERSIONS; i++) {
        buf_clear(&out);
        good(store_get_object(store, &digests[i], &out, &error));
        ck_assert_uint_eq(out.size, (size_t)ITEMS * ITEM);
        good(sha256_of(out.data, out.size, &now, &error));
        ck_assert(digest_equal(&now, &digests[i]));
    }
    ck_assert(str_equal(buf_view(&out), buf_view(&content)));
    int64_t bytes = ask("SELECT sum(length(data)) FROM object");
    ck_assert_msg(bytes < (int64_t)VERSIONS * ITEMS * ITEM / 10, "%lld bytes",
                  (long long)bytes);
    printf("# 500 versions of 100000 bytes in %lld bytes\n", (long long)bytes);
    buf_release(&content);
    buf_release(&random);
    buf_release(&out);
    free(digests);
    close_it();
}
END_TEST

/* Inserted, removed and moved pieces, of sizes up to the window of a small frame. */
START_TEST(edits_of_any_kind)
{
    struct buf content = BUF_INIT, next = BUF_INIT;
    struct digest before;
    open_it();
    seed = 99;
    add_noise(&content, 300000);
    before = put_after(buf_view(&content), NULL);
    for (int i = 0; i < 40; i++) {
        uint32_t size = (uint32_t)content.size, a = below(size), b = below(size);
        uint32_t from = a < b ? a : b, to = a < b ? b : a;
        buf_clear(&next);
        if (i % 4 == 0) /* the end first */
            buf_add(&next, content.data + to, size - to);
        buf_add(&next, content.data, from);
        if (i % 3 == 0)
            add_noise(&next, below(2000));
        if (i % 2 == 0)
            buf_add(&next, content.data + from, to - from);
        if (i % 4 != 0)
            buf_add(&next, content.data + to, size - to);
        if (next.size < 2000)
            add_noise(&next, 100000);
        before = put_after(buf_view(&next), &before);
        expect(&before, buf_view(&next));
        buf_clear(&content);
        buf_str(&content, buf_view(&next));
    }
    ck_assert_int_gt(ask("SELECT count(*) FROM object WHERE codec = 2"), 20);
    ck_assert_int_eq(ask("PRAGMA foreign_key_check"), 0);
    expect_findings(&before, 0, "");
    buf_release(&content);
    buf_release(&next);
    close_it();
}
END_TEST

/* More than a window of zstd's usual size, and than what is kept of scratch memory. */
START_TEST(large_content)
{
    struct buf content = BUF_INIT, last = BUF_INIT;
    open_it();
    seed = 5;
    add_noise(&content, 24 << 20);
    struct digest before = put_after(buf_view(&content), NULL);
    for (int i = 0; i < 3; i++) {
        buf_clear(&last);
        buf_text(&last, "moved by some bytes");
        buf_str(&last, buf_view(&content));
        last.data[i + 5000000] ^= 1;
        before = put_after(buf_view(&last), &before);
    }
    expect(&before, buf_view(&last));
    ck_assert_uint_eq(store->codec->bases[0].capacity, 0);
    ck_assert_uint_eq(store->codec->bases[1].capacity, 0);
    ck_assert_uint_eq(store->codec->content.capacity, 0);
    ck_assert_uint_lt(ZSTD_sizeof_CCtx(store->codec->compress), 4 << 20);
    ck_assert_int_eq(
        ask("SELECT count(*) FROM object WHERE codec = 2 AND length(data) < 20000"), 3);
    buf_release(&content);
    buf_release(&last);
    close_it();
}
END_TEST

/* Sets a column of the object `id`, behind the store's back. */
static void set_column(const char *column, int id, const struct sql_value *value)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char sql[100];
    close_it();
    snprintf(sql, sizeof sql, "UPDATE object SET %s = ?1 WHERE id = %d", column, id);
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    if (value->kind == SQL_VALUE_INT)
        sqlite3_bind_int64(statement, 1, value->integer);
    else
        sqlite3_bind_blob64(statement, 1, value->bytes.ptr, value->bytes.len,
                            SQLITE_TRANSIENT);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_DONE);
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    open_it();
}

/* Object 2 of three is changed: no wrong content is ever returned of it nor of what is
 * made from it, and verify names both unless both can be read. */
static int expect_found(const struct digest *digests)
{
    struct buf content = BUF_INIT, out = BUF_INIT;
    struct findings findings = {BUF_INIT, digests, 2};
    uint64_t checked;
    int bad = 0;
    buf_text(&findings.text, "");
    good(store_verify_objects(store, &checked, note_bad, &findings, &error));
    for (int i = 1; i <= 2; i++) {
        buf_clear(&out);
        int rc = store_get_object(store, &digests[i], &out, &error);
        ck_assert(rc == 0 || rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND);
        ck_assert(rc ? out.size == 0
                     : str_equal(buf_view(&out), version(&content, (uint8_t)i)));
        bad += rc != 0;
        if (i == 2)
            ck_assert_int_eq(rc != 0, strstr(findings.text.data, "2: ") != NULL);
    }
    ck_assert(bad == 0 || bad == 2);
    ck_assert_ptr_null(strstr(findings.text.data, "0: "));
    expect(&digests[0], version(&content, 0));
    buf_release(&content);
    buf_release(&out);
    buf_release(&findings.text);
    return bad;
}

/* Any bit of the row of a delta: found, or without any effect. */
START_TEST(any_bit_of_a_delta)
{
    struct digest digests[3];
    struct buf frame = BUF_INIT;
    struct query query;
    int found = 0, bits = 0;
    open_it();
    put_versions(digests, 2);
    query_start(&query, store->db, SQL_NTH_OBJECT, VALUES(value_int(2)), &error);
    ck_assert(query_step(&query));
    buf_str(&frame, query_blob(&query, 4));
    query_end(&query);
    ck_assert_uint_lt(frame.size, 60);
    for (size_t at = 0; at < frame.size; at++)
        for (int bit = 0; bit < 8; bit++) {
            frame.data[at] ^= (char)(1 << bit);
            struct sql_value value = value_blob(buf_view(&frame));
            set_column("data", 2, &value);
            found += expect_found(digests) > 0;
            frame.data[at] ^= (char)(1 << bit);
            bits++;
        }
    struct sql_value whole = value_blob(buf_view(&frame));
    set_column("data", 2, &whole);
    ck_assert_int_eq(expect_found(digests), 0);
    struct digest wrong = digests[1];
    for (size_t at = 0; at < DIGEST_SIZE; at++) {
        wrong.bytes[at] ^= 0x10;
        struct sql_value value = value_blob(digest_view(&wrong));
        set_column("digest", 2, &value);
        ck_assert_int_eq(expect_found(digests), 2);
        wrong.bytes[at] ^= 0x10;
    }
    struct sql_value right = value_blob(digest_view(&digests[1]));
    set_column("digest", 2, &right);
    static const struct {
        const char *column;
        int64_t right;
    } numbers[] = {{"size", SIZE}, {"codec", 2}, {"base", 1}};
    for (size_t i = 0; i < 3; i++) {
        for (int bit = 0; bit < 63; bit += bit < 8 ? 1 : 11) {
            struct sql_value value = value_int(numbers[i].right ^ (int64_t)1 << bit);
            set_column(numbers[i].column, 2, &value);
            ck_assert_int_eq(expect_found(digests), 2);
        }
        struct sql_value value = value_int(numbers[i].right);
        set_column(numbers[i].column, 2, &value);
        ck_assert_int_eq(expect_found(digests), 0);
    }
    printf("# of %d flipped bits of a frame %d were damage\n", bits, found);
    ck_assert_int_gt(found, bits / 2);
    buf_release(&frame);
    close_it();
}
END_TEST

/* All that is made from what is damaged is damaged, and each is named; also where the
 * bytes that are wrong are used by nothing. */
START_TEST(a_base_is_damaged)
{
    struct digest digests[5];
    struct buf content = BUF_INIT, bytes = BUF_INIT;
    open_it();
    put_versions(digests, 3);
    buf_str(&bytes, version(&content, 0));
    bytes.data[1] ^= 1; /* which version 0 alone has: 1 to 3 are written over others */
    struct sql_value value = value_blob(buf_view(&bytes));
    digests[4] = put_after(STR("another"), NULL);
    set_column("data", 1, &value);
    expect_findings(digests, 4,
                    "0: its content does not match its digest;1: its base is damaged;"
                    "2: its base is damaged;3: its base is damaged;");
    /* Nothing new is made from it. */
    put_after(version(&content, 5), &digests[3]);
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE base IS NOT NULL"), 3);
    /* Whoever has the content mends it, and with it all of them. */
    struct digest again = put_after(version(&content, 0), &digests[4]);
    ck_assert(digest_equal(&again, &digests[0]));
    expect_findings(digests, 4, "");
    expect_versions(digests, 0, 3);
    buf_release(&content);
    buf_release(&bytes);
    close_it();
}
END_TEST

/* A version of which nothing but the first bytes of its base are not used. */
START_TEST(unused_bytes_of_a_base)
{
    struct digest digests[2];
    struct buf content = BUF_INIT, bytes = BUF_INIT;
    open_it();
    digests[0] = put_after(version(&content, 0), NULL);
    buf_add(&bytes, content.data + 100, SIZE - 100);
    digests[1] = put_after(buf_view(&bytes), &digests[0]);
    ck_assert_int_eq(ask("SELECT base FROM object WHERE id = 2"), 1);
    content.data[50] ^= 1;
    struct sql_value value = value_blob(buf_view(&content));
    set_column("data", 1, &value);
    expect_findings(digests, 1,
                    "0: its content does not match its digest;1: its base is damaged;");
    buf_release(&content);
    buf_release(&bytes);
    close_it();
}
END_TEST

/* A delta in the middle is mended: it stands by itself then. */
START_TEST(a_delta_is_mended)
{
    struct digest digests[5];
    struct buf content = BUF_INIT;
    open_it();
    put_versions(digests, 4);
    ask("UPDATE object SET data = zeroblob(20) WHERE id = 3");
    expect_findings(digests, 4,
                    "2: its compressed data is damaged;3: its base is damaged;"
                    "4: its base is damaged;");
    put_after(version(&content, 3), NULL);
    expect_findings(digests, 4, "2: its compressed data is damaged;");
    put_after(version(&content, 2), &digests[4]);
    expect_findings(digests, 4, "");
    expect_versions(digests, 0, 4);
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE base IS NULL"), 3);
    ck_assert_int_eq(ask("SELECT count(*) FROM object"), 5);
    buf_release(&content);
    close_it();
}
END_TEST

/* An older cairn mends without a thought of bases. */
START_TEST(mended_by_an_older_cairn)
{
    struct digest digests[4];
    struct buf content = BUF_INIT;
    open_it();
    put_versions(digests, 3);
    struct sql_value value = value_blob(version(&content, 2));
    struct sql_value raw = value_int(CODEC_RAW);
    set_column("codec", 3, &raw);
    set_column("data", 3, &value);
    expect_findings(digests, 3, "");
    expect_versions(digests, 0, 3);
    buf_release(&content);
    close_it();
}
END_TEST

START_TEST(bases_that_are_none)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        {"DELETE FROM object WHERE id = 1",
         "1: its base is missing;2: its base is missing;3: its base is missing;"},
        {"DELETE FROM object WHERE id = 3", "3: its base is missing;"},
        {"UPDATE object SET base = 4 WHERE id = 2",
         "1: its base is not older than it is;2: its base is not older than it is;"
         "3: its base is not older than it is;"},
        {"UPDATE object SET base = 3 WHERE id = 3",
         "2: its base is not older than it is;3: its base is not older than it is;"},
        {"UPDATE object SET base = NULL WHERE id = 3",
         "2: its base is missing;3: its base is missing;"},
        {"UPDATE object SET base = -1 WHERE id = 3",
         "2: its base is not older than it is;3: its base is not older than it is;"},
        {"UPDATE object SET base = 1 WHERE id = 4",
         "3: its content does not match its digest;"},
    };
    struct digest digests[4];
    struct buf content = BUF_INIT;
    open_it();
    put_versions(digests, 3);
    ask(cases[_i].sql);
    expect_findings(digests, 3, cases[_i].want);
    /* Each is mended by its content alone. */
    for (int i = 3; i >= 0; i--)
        put_after(version(&content, (uint8_t)i), NULL);
    expect_findings(digests, 3, "");
    expect_versions(digests, 0, 3);
    ck_assert_int_eq(ask("PRAGMA foreign_key_check"), 0);
    buf_release(&content);
    close_it();
}
END_TEST

/* The sizes of a base are bounded before there is room for it. */
START_TEST(impossible_sizes)
{
    static const char *const changes[] = {
        "UPDATE object SET size = 1 << 40 WHERE id = 1",
        "UPDATE object SET size = -1 WHERE id = 1",
        "UPDATE object SET size = size + 1 WHERE id = 1",
        "UPDATE object SET codec = 1 WHERE id = 1",
        "UPDATE object SET codec = 4 WHERE id = 1",
    };
    static const char *const whys[] = {
        "its size is impossible", "its size is impossible",
        "its length is not what is recorded", "its compressed data is damaged",
        "its codec is unknown"};
    struct digest digests[2];
    char want[200];
    open_it();
    put_versions(digests, 1);
    ask(changes[_i]);
    snprintf(want, sizeof want, "0: %s;1: its base is damaged;", whys[_i]);
    expect_findings(digests, 1, want);
    close_it();
}
END_TEST

/* ---- Behind another one ---- */

enum { STEP = 50 };

/* The first (n + 1) * STEP bytes of the same noise. */
static struct str longer(struct buf *out, int n)
{
    seed = 7;
    buf_clear(out);
    add_noise(out, (size_t)STEP * (size_t)(n + 1));
    return buf_view(out);
}

/* Numbers 0 to n, each behind the one before it. */
static void put_longer(struct digest *digests, int n)
{
    struct buf content = BUF_INIT;
    digests[0] = put_after(longer(&content, 0), NULL);
    struct shorter_object before, put = {digests[0], longer(&content, 0).len, 0, 0};
    for (int i = 1; i <= n; i++) {
        struct str bytes = longer(&content, i);
        good(sha256_of(bytes.ptr, bytes.len, &digests[i], &error));
        good(store_begin(store, -1, &error));
        before = put;
        good(store_put_object_longer(store, bytes, &digests[i], &before, &put, &error));
        good(store_commit(store, &error));
    }
    buf_release(&content);
}

static void expect_longer(const struct digest *digests, int first, int last)
{
    struct buf content = BUF_INIT;
    for (int i = first; i <= last; i++)
        expect(&digests[i], longer(&content, i));
    buf_release(&content);
}

static bool only_the_first(void *context, const struct digest *digest)
{
    return digest_equal(context, digest);
}

START_TEST(behind_another_one)
{
    struct digest digests[41];
    struct buf content = BUF_INIT;
    bool done = false;
    open_it();
    put_longer(digests, 40);
    expect_longer(digests, 0, 40);
    expect_findings(digests, 40, "");
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE codec = 3 AND "
                         "length(data) = 50 AND base = id - 1"),
                     38);
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE base IS NULL"), 3);
    put_longer(digests, 40); /* it is there */
    ck_assert_int_eq(ask("SELECT count(*) FROM object"), 41);
    /* Its base is to go. */
    good(store_begin(store, -1, &error));
    good(store_rebase_object(store, &digests[2], only_the_first, &digests[0], &done,
                             &error));
    good(store_commit(store, &error));
    ck_assert(done);
    ck_assert_int_eq(ask("SELECT base FROM object WHERE id = 3"), 1);
    expect_findings(digests, 40, "");
    /* What is gone, or of another size, is no base. */
    struct shorter_object put;
    struct str bytes = longer(&content, 41);
    good(store_begin(store, -1, &error));
    for (int i = 0; i < 2; i++) {
        struct digest digest;
        bytes.len -= (size_t)i;
        good(sha256_of(bytes.ptr, bytes.len, &digest, &error));
        const struct shorter_object before = {i ? digest : digests[40], STEP, 0, 0};
        good(store_put_object_longer(store, bytes, &digest, &before, &put, &error));
        expect(&digest, bytes);
    }
    good(store_commit(store, &error));
    buf_release(&content);
    close_it();
}
END_TEST

/* What is known of an object holds until something is collected. */
START_TEST(known_bases)
{
    struct digest digests[3], more[2];
    struct buf content = BUF_INIT;
    struct shorter_object put;
    uint64_t known, up_to, after;
    open_it();
    put_longer(digests, 2);
    good(store_begin(store, -1, &error));
    good(store_collections(store, &known, &error));
    ck_assert_uint_ne(known, 0);
    struct str bytes = longer(&content, 2);
    const struct shorter_object full = {digests[2], bytes.len, LIMIT_OBJECT_BASES,
                                        known};
    for (int i = 0; i < 2; i++) {
        bytes = longer(&content, 3 + i);
        good(sha256_of(bytes.ptr, bytes.len, &more[i], &error));
        good(store_put_object_longer(store, bytes, &more[i], &full, &put, &error));
        ck_assert_uint_eq(put.known, i ? after : 0);
        ck_assert_uint_eq(i ? put.bases : 3, 3); /* counted: 1 and 0 are below it */
        expect(&more[i], bytes);
        good(store_gc_begin(store, &up_to, &error));
        good(store_collections(store, &after, &error));
        ck_assert_uint_eq(after, 0);
        good(store_gc_end(store, &error));
        good(store_collections(store, &after, &error));
        ck_assert_uint_ne(after, known);
    }
    good(store_commit(store, &error));
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE id > 3 AND base = 3"), 1);
    buf_release(&content);
    close_it();
}
END_TEST

static void rebase(const struct digest *digest, struct digest *stays)
{
    bool done = false;
    good(store_begin(store, -1, &error));
    good(store_rebase_object(store, digest, only_the_first, stays, &done, &error));
    good(store_commit(store, &error));
    ck_assert(done);
}

/* Of two behind one that goes, the newer one gets the older one as base, which is still
 * behind that; `_i` + 14 more are behind the newer one, one by one. None of them may
 * have too many bases then. */
START_TEST(one_more_base_below)
{
    struct digest whole, older, digests[16];
    struct buf content = BUF_INIT;
    int n = 14 + _i;
    open_it();
    whole = put_after(version(&content, 100), NULL);
    older = put_after(version(&content, 99), &whole);
    for (int i = 0; i <= n; i++)
        digests[i] =
            put_after(version(&content, (uint8_t)i), i ? &digests[i - 1] : &whole);
    ck_assert_int_eq(ask("SELECT count(*) FROM object WHERE base IS NULL"), 1);
    rebase(&digests[0], &older);
    expect_versions(digests, 0, n);
    expect_findings(digests, n, "");
    ck_assert_int_eq(ask("SELECT base FROM object WHERE id = 3"), _i ? 0 : 2);
    buf_release(&content);
    close_it();
}
END_TEST

START_TEST(behind_a_damaged_one)
{
    struct digest digests[4];
    struct buf content = BUF_INIT;
    static const char *const changes[] = {
        "UPDATE object SET data = zeroblob(50) WHERE id = 2",
        "UPDATE object SET data = zeroblob(51) WHERE id = 2",
        "UPDATE object SET data = x'00' WHERE id = 2",
        "UPDATE object SET size = size + 1 WHERE id = 2",
        "UPDATE object SET base = NULL WHERE id = 2"};
    static const char *const whys[] = {
        "its content does not match its digest", "its length is not what is recorded",
        "its length is not what is recorded", "its length is not what is recorded",
        "its base is missing"};
    char want[200];
    open_it();
    put_longer(digests, 3);
    ask(changes[_i]);
    const char *below_it = _i == 4 ? "its base is missing" : "its base is damaged";
    snprintf(want, sizeof want, "1: %s;2: %s;3: %s;", whys[_i], below_it, below_it);
    expect_findings(digests, 3, want);
    /* Putting the content again mends it, and those that are made from it. */
    good(store_begin(store, -1, &error));
    const struct shorter_object before = {digests[0], STEP, 0, 0};
    struct shorter_object put;
    good(store_put_object_longer(store, longer(&content, 1), &digests[1], &before, &put,
                                 &error));
    good(store_commit(store, &error));
    expect_longer(digests, 0, 3);
    expect_findings(digests, 3, "");
    buf_release(&content);
    close_it();
}
END_TEST

/* One whose base is refused does not take the transaction with it. */
START_TEST(aborted)
{
    struct digest digests[3];
    struct buf content = BUF_INIT, out = BUF_INIT;
    open_it();
    put_versions(digests, 1);
    good(store_begin(store, -1, &error));
    good(store_put_object_after(store, version(&content, 2), &digests[1], &digests[2],
                                &error));
    store_abort(store);
    ck_assert_int_eq(store_get_object(store, &digests[2], &out, &error),
                     CAIRN_ENOTFOUND);
    struct str huge = {"x", (size_t)LIMIT_OBJECT_BYTES + 1};
    good(store_begin(store, -1, &error));
    ck_assert_int_eq(
        store_put_object_after(store, huge, &digests[1], &digests[2], &error),
        CAIRN_ELIMIT);
    /* More behind its base than a row can have. */
    huge.len = SIZE + (size_t)1000000001;
    const struct shorter_object before = {digests[1], SIZE, 0, 0};
    struct shorter_object put;
    ck_assert_int_eq(
        store_put_object_longer(store, huge, &digests[2], &before, &put, &error),
        CAIRN_ELIMIT);
    good(store_put_object_after(store, version(&content, 2), &digests[1], &digests[2],
                                &error));
    good(store_commit(store, &error));
    expect_versions(digests, 0, 2);
    buf_release(&content);
    buf_release(&out);
    close_it();
}
END_TEST

int main(int argc, char **argv)
{
    int status;
    if (played(argc, argv, &status))
        return status;
    Suite *suite = suite_create("object_delta");
    TCase *tests = tcase_create("object_delta");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, sixteen_bases_and_no_more);
    tcase_add_test(tests, by_itself_where_that_is_smaller);
    tcase_add_test(tests, same_content_once);
    tcase_add_test(tests, five_hundred_versions);
    tcase_add_test(tests, edits_of_any_kind);
    tcase_add_test(tests, large_content);
    tcase_add_test(tests, any_bit_of_a_delta);
    tcase_add_test(tests, a_base_is_damaged);
    tcase_add_test(tests, unused_bytes_of_a_base);
    tcase_add_test(tests, a_delta_is_mended);
    tcase_add_test(tests, mended_by_an_older_cairn);
    tcase_add_loop_test(tests, bases_that_are_none, 0, 7);
    tcase_add_loop_test(tests, impossible_sizes, 0, 5);
    tcase_add_test(tests, behind_another_one);
    tcase_add_loop_test(tests, one_more_base_below, 0, 2);
    tcase_add_loop_test(tests, behind_a_damaged_one, 0, 5);
    tcase_add_test(tests, aborted);
    tcase_add_test(tests, known_bases);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
