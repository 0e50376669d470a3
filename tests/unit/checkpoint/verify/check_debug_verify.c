/* SPDX-License-Identifier: MIT */
/* make: above */
/* Damage to checkpoints of sessions: every byte of a record and of the objects of its
 * sections is named before it is used; what is sound is kept by a repair and by the
 * collection of garbage; and a key changes nothing about them. */
#include "checkpoint/gc/gc.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/key_file.h"
#include "tests/support/random.h"
#include "tests/support/sessions/sections.h"
#include "tests/support/verify.h"

struct scene {
    struct lab *lab;
    uint64_t branch, side, seqs[4], aside;
};

/* A run beside a branch of four records, and another branch that starts at the second
 * of them. */
static struct scene make_scene(uint64_t seed)
{
    static const char *const texts[] = {"the first note", "the second note",
                                        "the third note", "the fourth note"};
    struct scene s = {.lab = lab_open(seed)};
    uint64_t session = sections_session(s.lab, "cache");
    lab_put(s.lab, "F");
    s.branch = sections_branch(s.lab, session, "main", 0);
    for (int i = 0; i < 4; i++)
        s.seqs[i] = sections_note(s.lab, s.branch, texts[i]);
    s.side = sections_branch(s.lab, session, "side", s.seqs[1]);
    s.aside = sections_note(s.lab, s.side, "a note aside");
    lab_put(s.lab, "D");
    return s;
}

static void debug_id(uint64_t seq, char id[40])
{
    snprintf(id, 40, "debug:%llu", (unsigned long long)seq);
}

static int read_seq(struct lab *lab, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections found;
    int rc =
        sections_read(lab->store, lab->sha, seq, &arena, &found, NULL, &lab->error);
    arena_release(&arena);
    return rc;
}

/* ---- Records ---- */

static void expect_damaged(struct lab *lab, uint64_t seq, const char *what)
{
    char id[40];
    debug_id(seq, id);
    ck_assert_msg(lab_verify(lab, NULL) == CAIRN_EDAMAGED, "%s", what);
    ck_assert_msg(lab_found.n == 1 && lab_found.at[0].seq == seq, "%s: %d %s", what,
                  lab_found.n, lab_found.text[0]);
    ck_assert_msg(strncmp(lab_found.at[0].id, id, strlen(id)) == 0, "%s: %s", what,
                  lab_found.text[0]);
    ck_assert_msg(read_seq(lab, seq) == CAIRN_EDAMAGED, "%s", what);
}

/* Of a record that another branch starts from, and of the newest one. */
START_TEST(every_byte_of_a_record)
{
    static const char *const columns[] = {"record", "digest"};
    struct scene s = make_scene(51);
    for (int c = 0; c < 2; c++)
        for (int i = 1; i < 4; i += 2)
            for (int at = 0;; at += help_stride()) {
                char what[80];
                int bit = (int)lab_below(s.lab, 8);
                if (!lab_flip(s.lab, s.seqs[i], columns[c], at, bit))
                    break;
                snprintf(what, sizeof what, "%s %d, byte %d", columns[c], i, at);
                expect_damaged(s.lab, s.seqs[i], what);
                ck_assert(lab_flip(s.lab, s.seqs[i], columns[c], at, bit));
            }
    lab_expect_sound(s.lab);
    lab_close(s.lab);
}
END_TEST

START_TEST(every_column)
{
    static const char *const changes[] = {"stream = stream + 7", "kind = 2",
                                          "time_ns = time_ns + 1", "namespace = 1",
                                          "parent = NULL"};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct scene s = make_scene(52);
        char sql[120];
        snprintf(sql, sizeof sql, "UPDATE checkpoint SET %s WHERE seq = %%llu",
                 changes[i]);
        lab_sql(s.lab, sql, s.seqs[2]);
        ck_assert_int_eq(lab_verify(s.lab, NULL), CAIRN_EDAMAGED);
        ck_assert_msg(lab_found.at[0].seq == s.seqs[2], "%s: %s", changes[i],
                      lab_found.text[0]);
        ck_assert_int_ne(read_seq(s.lab, s.seqs[2]), 0);
        lab_close(s.lab);
    }
}
END_TEST

START_TEST(missing_records)
{
    struct scene s = make_scene(53);
    lab_sql(s.lab, "DELETE FROM checkpoint WHERE seq = %llu", s.seqs[1]);
    ck_assert_int_eq(lab_verify(s.lab, NULL), CAIRN_EDAMAGED);
    ck_assert_uint_eq(lab_found.at[0].seq, s.seqs[1]);
    lab_close(s.lab);
}
END_TEST

/* ---- Sections ---- */

static sqlite3 *open_database(struct lab *lab)
{
    char path[400];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

/* The row of the object with this content. */
static sqlite3_int64 object_of(struct lab *lab, const char *content)
{
    sqlite3 *db = open_database(lab);
    sqlite3_stmt *query;
    struct digest digest;
    ck_assert_int_eq(sha256_of(content, strlen(content), &digest, NULL), 0);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT id FROM object WHERE digest = ?1",
                                        -1, &query, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_bind_blob(query, 1, digest.bytes, DIGEST_SIZE, SQLITE_STATIC),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(query), SQLITE_ROW);
    sqlite3_int64 id = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return id;
}

static bool flip_data(struct lab *lab, sqlite3_int64 id, int at)
{
    sqlite3 *db = open_database(lab);
    sqlite3_blob *blob = NULL;
    ck_assert_int_eq(sqlite3_blob_open(db, "main", "object", "data", id, 1, &blob),
                     SQLITE_OK);
    bool there = at < sqlite3_blob_bytes(blob);
    char byte;
    if (there) {
        ck_assert_int_eq(sqlite3_blob_read(blob, &byte, 1, at), SQLITE_OK);
        byte = (char)(byte ^ 4);
        ck_assert_int_eq(sqlite3_blob_write(blob, &byte, 1, at), SQLITE_OK);
    }
    ck_assert_int_eq(sqlite3_blob_close(blob), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return there;
}

/* A column with an index cannot be opened as a blob. */
static void put_digest(struct lab *lab, sqlite3_int64 id, const struct digest *digest)
{
    char sql[200], hex[DIGEST_HEX_SIZE];
    digest_hex(digest, hex);
    snprintf(sql, sizeof sql, "UPDATE object SET digest = x'%s' WHERE id = %%llu", hex);
    lab_sql(lab, sql, (uint64_t)id);
}

/* A problem that says which checkpoints need it. */
static bool names(const char *use)
{
    for (int i = 0; i < lab_found.n; i++)
        if (strstr(lab_found.text[i], use))
            return true;
    return false;
}

static void expect_object_named(struct lab *lab, uint64_t seq, const char *others,
                                const char *what)
{
    char use[80], id[40];
    debug_id(seq, id);
    snprintf(use, sizeof use, "checkpoint %s%s", id, others);
    ck_assert_msg(lab_verify(lab, NULL) == CAIRN_EDAMAGED, "%s", what);
    ck_assert_msg(names(use), "%s: %s; %s", what, lab_found.text[0], lab_found.text[1]);
    ck_assert_uint_eq(lab_found.result.damaged, 0); /* the records are sound */
    ck_assert_msg(lab_verify(lab, id) == CAIRN_EDAMAGED, "%s", what);
    ck_assert_msg(names(id), "%s: %s", what, lab_found.text[0]);
}

START_TEST(every_byte_of_a_section)
{
    static const char text[] = "the third note";
    struct scene s = make_scene(54);
    sqlite3_int64 own = object_of(s.lab, text);
    sqlite3_int64 common = object_of(s.lab, "always the same");
    char what[40];
    for (int at = 0; flip_data(s.lab, own, at); at += help_stride()) {
        snprintf(what, sizeof what, "data, byte %d", at);
        expect_object_named(s.lab, s.seqs[2], "; they cannot be restored", what);
        flip_data(s.lab, own, at);
    }
    for (int at = 0; at < DIGEST_SIZE; at += help_stride()) {
        struct digest digest;
        ck_assert_int_eq(sha256_of(text, strlen(text), &digest, NULL), 0);
        digest.bytes[at] ^= 16;
        put_digest(s.lab, own, &digest);
        snprintf(what, sizeof what, "digest, byte %d", at);
        expect_object_named(s.lab, s.seqs[2], " is missing", what);
        digest.bytes[at] ^= 16;
        put_digest(s.lab, own, &digest);
    }
    flip_data(s.lab, common, 3);
    expect_object_named(s.lab, s.seqs[0], " and 4 others", "what all have");
    flip_data(s.lab, common, 3);
    lab_expect_sound(s.lab);
    lab_close(s.lab);
}
END_TEST

START_TEST(missing_sections)
{
    struct scene s = make_scene(55);
    char id[40];
    lab_sql(s.lab, "DELETE FROM object WHERE id = %llu",
            (uint64_t)object_of(s.lab, "the second note"));
    expect_object_named(s.lab, s.seqs[1], " is missing", "missing");
    debug_id(s.seqs[0], id); /* which needs other ones */
    MUST(s.lab, lab_verify(s.lab, id));
    lab_close(s.lab);
}
END_TEST

/* ---- A repair ---- */

static char losses[8][200];
static int n_losses;

static int note_loss(void *context, const struct cairn_loss *loss)
{
    (void)context;
    ck_assert_int_lt(n_losses, 8);
    snprintf(losses[n_losses++], 200, "%s", loss->text);
    return 0;
}

static bool is_lost(const char *what)
{
    for (int i = 0; i < n_losses; i++)
        if (strstr(losses[i], what))
            return true;
    return false;
}

static void repair(struct lab *lab)
{
    struct cairn_repair_result result = {0};
    n_losses = 0;
    cairn_store_close(lab->store);
    lab->store = NULL;
    MUST(lab, cairn_store_repair(lab->path, note_loss, NULL, &result, &lab->error));
    ck_assert(result.repaired);
    lab_store(lab);
    lab_expect_sound(lab);
}

START_TEST(repair_keeps_what_is_sound)
{
    for (int i = 0; i < 4; i++) {
        struct scene s = make_scene(56);
        char text[80];
        ck_assert(lab_flip(s.lab, s.seqs[i], "record", 95, 1));
        repair(s.lab);
        snprintf(text, sizeof text, "checkpoint debug:%llu of branch %llu",
                 (unsigned long long)s.seqs[i], (unsigned long long)s.branch);
        ck_assert_msg(is_lost(text), "%s", losses[0]);
        for (int j = 0; j < 4; j++)
            ck_assert_int_eq(read_seq(s.lab, s.seqs[j]), j == i ? CAIRN_ENOTFOUND : 0);
        MUST(s.lab, read_seq(s.lab, s.aside));
        sections_note(s.lab, s.branch, "after the repair");
        sections_note(s.lab, s.side, "after the repair");
        lab_expect_sound(s.lab);
        lab_close(s.lab);
    }
}
END_TEST

/* The record stays, and that its section is lost is known from then on. */
START_TEST(repair_names_lost_sections)
{
    struct scene s = make_scene(57);
    char text[80];
    flip_data(s.lab, object_of(s.lab, "the second note"), 2);
    repair(s.lab);
    ck_assert_int_eq(n_losses, 1);
    snprintf(text, sizeof text, "the section of checkpoint debug:%llu",
             (unsigned long long)s.seqs[1]);
    ck_assert_msg(is_lost(text), "%s", losses[0]);
    for (int i = 0; i < 4; i++)
        MUST(s.lab, read_seq(s.lab, s.seqs[i]));
    lab_expect_sound(s.lab);
    ck_assert_int_eq(lab_found.n, 1);
    ck_assert_uint_eq(lab_found.at[0].seq, s.seqs[1]);
    lab_close(s.lab);
}
END_TEST

/* Nothing is left of a branch but its row. */
START_TEST(repair_of_all_records)
{
    struct scene s = make_scene(58);
    for (int i = 0; i < 4; i++)
        ck_assert(lab_flip(s.lab, s.seqs[i], "record", 20, 1));
    repair(s.lab);
    ck_assert_int_eq(n_losses, 4);
    MUST(s.lab, read_seq(s.lab, s.aside));
    MUST(s.lab, read_seq(s.lab, sections_note(s.lab, s.branch, "begun again")));
    lab_expect_sound(s.lab);
    lab_close(s.lab);
}
END_TEST

/* ---- Garbage ---- */

static bool has_object(struct lab *lab, const char *content)
{
    struct buf out = BUF_INIT;
    struct digest digest;
    ck_assert_int_eq(sha256_of(content, strlen(content), &digest, NULL), 0);
    int rc = store_get_object(lab->store, &digest, &out, NULL);
    buf_release(&out);
    return rc == 0;
}

START_TEST(garbage_is_what_no_record_names)
{
    struct scene s = make_scene(59);
    struct cairn_gc_result result;
    struct digest unused;
    char id[40];
    MUST(s.lab, store_begin(s.lab->store, -1, &s.lab->error));
    MUST(s.lab, store_put_object(s.lab->store, STR("garbage"), &unused, &s.lab->error));
    MUST(s.lab, store_commit(s.lab->store, &s.lab->error));
    MUST(s.lab,
         checkpoint_gc(s.lab->store, &payload_kinds, NULL, &result, &s.lab->error));
    ck_assert_uint_eq(result.objects, 1);
    lab_expect_sound(s.lab);
    debug_id(s.seqs[2], id);
    MUST(s.lab, cairn_checkpoint_delete(s.lab->store, id, &s.lab->error));
    MUST(s.lab,
         checkpoint_gc(s.lab->store, &payload_kinds, NULL, &result, &s.lab->error));
    ck_assert_uint_eq(result.objects, 1);
    ck_assert(!has_object(s.lab, "the third note"));
    ck_assert(has_object(s.lab, "the first note"));
    ck_assert(has_object(s.lab, "always the same"));
    lab_expect_sound(s.lab);
    ck_assert(lab_flip(s.lab, s.seqs[0], "record", 99, 1));
    ck_assert_int_eq(
        checkpoint_gc(s.lab->store, &payload_kinds, NULL, &result, &s.lab->error),
        CAIRN_EDAMAGED);
    ck_assert_uint_eq(result.objects, 0);
    lab_close(s.lab);
}
END_TEST

/* ---- A key ---- */

static void open_keyed(struct lab *lab, char byte)
{
    char bytes[32];
    memset(bytes, byte, sizeof bytes);
    put_key(bytes, sizeof bytes, 0600);
    struct cairn_store_options options = {
        .path = lab->path, .sync = CAIRN_SYNC_OFF, .key_file = key_path};
    cairn_store_close(lab->store);
    MUST(lab, cairn_store_open(&lab->store, &options, &lab->error));
    lab->stream.chain.in.store = lab->store;
}

START_TEST(sessions_have_no_key)
{
    struct scene s = make_scene(60);
    struct lab *lab = s.lab;
    struct arena arena = ARENA_INIT;
    struct cairn_checkpoint_info info;
    struct chain head;
    struct sections what;
    char id[40];
    open_keyed(lab, 'k');
    MUST(lab, sections_open(lab->store, lab->sha, s.branch, &head, &arena, &what,
                            &lab->error));
    ck_assert_uint_eq(head.parent, s.seqs[3]);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    ck_assert_int_eq(sections_append(&head, &what, 5, NULL, &lab->error), CAIRN_EUSAGE);
    ck_assert_msg(strstr(lab->error.text, "sessions are not keyed"), "%s",
                  lab->error.text);
    store_abort(lab->store);
    for (int i = 0; i < 4; i++)
        MUST(lab, read_seq(lab, s.seqs[i]));
    debug_id(s.seqs[0], id);
    MUST(lab, cairn_checkpoint_get(lab->store, id, &info, &lab->error));
    MUST(lab, lab_verify(lab, id));
    lab_expect_sound(lab);
    ck_assert_uint_eq(lab_found.result.unkeyed_runs, 3); /* the lab's run, too */
    ck_assert_uint_eq(lab_found.result.unkeyed_branches, 2);
    ck_assert_uint_eq(lab_found.result.bad_hmacs, 0);
    arena_release(&arena);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_checked_fixture(tests, make_key_dir, remove_key_dir);
    tcase_add_test(tests, every_byte_of_a_record);
    tcase_add_test(tests, every_column);
    tcase_add_test(tests, missing_records);
    tcase_add_test(tests, every_byte_of_a_section);
    tcase_add_test(tests, missing_sections);
    tcase_add_test(tests, repair_keeps_what_is_sound);
    tcase_add_test(tests, repair_names_lost_sections);
    tcase_add_test(tests, repair_of_all_records);
    tcase_add_test(tests, garbage_is_what_no_record_names);
    tcase_add_test(tests, sessions_have_no_key);
}

int main(void)
{
    return lab_run_suite("debug_verify", add);
}
