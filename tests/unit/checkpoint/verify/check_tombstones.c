/* SPDX-License-Identifier: MIT */
/* make: above */
/* What deleted ranges leave behind: any checkpoint may go, and those that stay can be
 * rebuilt across the gap as before. */
#include "checkpoint/gc/gc.h"
#include "checkpoint/tombstones_int.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/gc.h"
#include "tests/support/key_file.h"
#include "tests/support/random.h"
#include "tests/support/verify.h"

static int try_delete(struct lab *lab, int i)
{
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)lab->seqs[i]);
    return cairn_checkpoint_delete(lab->store, id, &lab->error);
}

static struct cairn_prune_result prune(struct lab *lab, uint32_t keep)
{
    struct cairn_prune_options options = {.keep = keep, .dry_run = true};
    struct cairn_prune_result would, result;
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &would, &lab->error));
    options.dry_run = false;
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &result, &lab->error));
    ck_assert_int_eq(memcmp(&would, &result, sizeof would), 0);
    return result;
}

static bool has(struct lab *lab, int i)
{
    return store_get_checkpoint(lab->store, lab->seqs[i], NULL, NULL, NULL) == 0;
}

static void expect_kept_rebuild(struct lab *lab)
{
    for (int i = 0; i < lab->n; i++)
        if (has(lab, i))
            MUST(lab, lab_rebuild(lab, i));
        else
            ck_assert_int_eq(lab_rebuild(lab, i), CAIRN_ENOTFOUND);
    lab_expect_sound(lab);
}

/* A new writer finds the state of the newest record, and nothing amiss. */
static void resume(struct lab *lab)
{
    struct recovery r;
    MUST(lab,
         outcomes_recover(lab->store, lab->sha, lab->stream.chain.id, &r, &lab->error));
    ck_assert(lab_same(&r.states, &lab->model[lab->n - 1]));
    ck_assert_uint_eq(r.newest.seq, lab->seqs[lab->n - 1]);
    ck_assert(!r.gap && r.n_damaged == 0);
    ck_assert_uint_eq(r.head.chain.position, lab->stream.chain.position);
    ck_assert_uint_eq(r.head.chain.base, lab->stream.chain.base);
    lab->stream = r.head;
    recovery_release(&r);
}

/* ---- Any of them ---- */

START_TEST(each_one_may_go)
{
    for (int i = 0; i < 8; i++) {
        struct lab *lab = lab_open(50 + (uint64_t)i);
        lab_put(lab, "FDDDFDDFDD");
        MUST(lab, try_delete(lab, i));
        expect_kept_rebuild(lab);
        resume(lab);
        lab_put(lab, "DD");
        expect_kept_rebuild(lab);
        lab_close(lab);
    }
}
END_TEST

START_TEST(all_but_the_newest_may_go)
{
    for (int down = 0; down < 2; down++) {
        struct lab *lab = lab_open(60);
        lab_put(lab, "FDDDFDD");
        for (int i = 0; i < 6; i++) {
            MUST(lab, try_delete(lab, down ? 5 - i : i));
            expect_kept_rebuild(lab);
            resume(lab);
        }
        ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM tombstone"), 1);
        lab_put(lab, "DFD");
        expect_kept_rebuild(lab);
        lab_close(lab);
    }
}
END_TEST

START_TEST(pruning_is_exact)
{
    struct lab *lab = lab_open(61);
    lab_put(lab, "F");
    for (int i = 1; i < 60; i++)
        lab_put(lab, "D");
    struct cairn_prune_result result = prune(lab, 50);
    ck_assert_uint_eq(result.kept, 50);
    ck_assert_uint_eq(result.surplus, 0);
    for (int i = 0; i < 60; i++)
        ck_assert(has(lab, i) == (i >= 10));
    expect_kept_rebuild(lab);
    ck_assert_uint_eq(prune(lab, 50).deleted, 0);
    ck_assert_uint_eq(prune(lab, 1).kept, 1);
    expect_kept_rebuild(lab);
    resume(lab);
    lab_put(lab, "DFD");
    expect_kept_rebuild(lab);
    lab_close(lab);
}
END_TEST

/* What a damaged page says of a row's number: nothing of it is believed, and nothing
 * is lost. */
START_TEST(any_number_is_one)
{
    static const char *const numbers[] = {"0", "-1", "9223372036854775807"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char sql[80];
        struct lab *lab = lab_open(63);
        lab_put(lab, "FDDFDD");
        MUST(lab, try_delete(lab, 0));
        snprintf(sql, sizeof sql, "UPDATE tombstone SET id = %s WHERE %%llu",
                 numbers[i]);
        lab_sql(lab, sql, 1);
        expect_kept_rebuild(lab);
        resume(lab);
        MUST(lab, try_delete(lab, 1));
        expect_kept_rebuild(lab);
        ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM tombstone"), 1);
        MUST(lab, try_delete(lab, 2));
        ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM tombstone"), 1);
        lab_sql(lab, sql, 1);
        prune(lab, 1);
        expect_kept_rebuild(lab);
        lab_close(lab);
    }
}
END_TEST

/* A change that nothing needs any more is gone. */
START_TEST(changes_go_with_their_readers)
{
    struct lab *lab = lab_open(62);
    lab_put(lab, "FDDFD");
    MUST(lab, try_delete(lab, 0));
    ck_assert_int_eq(
        lab_ask_closed(lab, "SELECT count(*) FROM tombstone WHERE change NOT NULL"), 1);
    MUST(lab, try_delete(lab, 2));
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM tombstone"), 2);
    ck_assert_int_eq(
        lab_ask_closed(lab, "SELECT count(*) FROM tombstone WHERE change NOT NULL"), 1);
    MUST(lab, try_delete(lab, 1));
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT count(*) FROM tombstone"), 1);
    ck_assert_int_eq(
        lab_ask_closed(lab, "SELECT count(*) FROM tombstone WHERE change NOT NULL"), 0);
    expect_kept_rebuild(lab);
    lab_close(lab);
}
END_TEST

/* ---- In any order ---- */

struct heads {
    struct cairn_head at[16];
    size_t n;
    struct cairn_head_store of;
};

static int note_head(void *context, const struct cairn_head *head)
{
    struct heads *heads = context;
    ck_assert_uint_lt(heads->n, 16);
    heads->at[heads->n++] = *head;
    return 0;
}

static void do_something(struct lab *lab, bool forked[LAB_MAX])
{
    int i = (int)lab_below(lab, (uint32_t)lab->n);
    switch (lab_below(lab, 8)) {
    case 0:
        resume(lab);
        break;
    case 1:
        ck_assert_uint_ge(prune(lab, 1 + lab_below(lab, 20)).kept, 1);
        break;
    case 2:
        if (has(lab, i) && lab_below(lab, 3) == 0) {
            lab_fork_at(lab, i, &lab->stream);
            forked[i] = true;
        }
        break;
    case 3:
    case 4:
    case 5:
        if (!has(lab, i))
            ck_assert_int_eq(try_delete(lab, i), CAIRN_ENOTFOUND);
        else if (i == lab->n - 1 || forked[i])
            ck_assert_int_eq(try_delete(lab, i), CAIRN_EUSAGE);
        else
            MUST(lab, try_delete(lab, i));
        break;
    default:
        for (uint32_t n = lab_below(lab, 5); n > 0; n--)
            lab_put(lab, lab_below(lab, 6) ? lab_below(lab, 5) ? "D" : "G" : "F");
    }
}

START_TEST(in_random_order)
{
    for (uint64_t seed = 1; seed <= (uint64_t)help_rounds(30, 30); seed++) {
        struct lab *lab = lab_open(700 + seed);
        bool forked[LAB_MAX] = {false};
        struct heads heads = {.n = 0};
        lab_put(lab, "F");
        for (int step = 0; step < 60; step++) {
            do_something(lab, forked);
            if (step % 5 == 0)
                expect_kept_rebuild(lab);
            if (step == 30)
                MUST(lab, cairn_checkpoint_head(lab->store, 1, note_head, &heads,
                                                &heads.of, &lab->error));
        }
        expect_kept_rebuild(lab);
        resume(lab);
        MUST(lab, cairn_checkpoint_compare(lab->store, &heads.of, heads.at, heads.n,
                                           NULL, NULL, &lab->error));
        /* Exactly N, and what forks need. */
        int kept = 0, forks = 0;
        uint32_t keep = 1 + lab_below(lab, 6);
        prune(lab, keep);
        for (int i = lab->n - 1; i >= 0; i--) {
            forks += kept >= (int)keep && forked[i];
            kept += has(lab, i);
        }
        ck_assert_int_le(kept, (int)keep + forks);
        expect_kept_rebuild(lab);
        lab_close(lab);
    }
}
END_TEST

/* ---- Damage ---- */

/* Resume finds as much in a stream of which some are damaged, or were and are deleted,
 * whatever else goes. */
START_TEST(what_is_left_of_damage)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct lab *lab = lab_open(900 + seed);
        struct recovery before, after;
        lab_put(lab, "FDDDDDFDDDDDD");
        int bad = 1 + (int)lab_below(lab, 11);
        lab_damage(lab, bad);
        MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &before, &lab->error));
        for (int n = 0; n < 8; n++) {
            int i = (int)lab_below(lab, 12);
            if (has(lab, i))
                MUST(lab, try_delete(lab, i));
            else if (lab_below(lab, 4) == 0)
                prune(lab, 1 + lab_below(lab, 12));
            MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &after, &lab->error));
            ck_assert(lab_same(&before.states, &after.states));
            ck_assert(before.newest.seq == after.newest.seq);
            recovery_release(&after);
        }
        if (has(lab, bad))
            MUST(lab, try_delete(lab, bad));
        lab_expect_sound(lab);
        MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &after, &lab->error));
        ck_assert(lab_same(&before.states, &after.states));
        for (int i = 0; i < lab->n; i++) {
            int rc = has(lab, i) ? lab_rebuild(lab, i) : 0;
            ck_assert(rc == 0 || rc == CAIRN_ENOTFOUND);
            ck_assert(rc == 0 || strstr(lab->error.text, "was deleted"));
        }
        lab->stream = after.head;
        recovery_release(&before);
        recovery_release(&after);
        lab_put(lab, "FD");
        lab_expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

/* Flips a bit of a column of the only tombstone: false if there is no such byte. */
static bool flip(struct lab *lab, const char *column, int at, int bit)
{
    char path[400];
    sqlite3 *db = NULL;
    sqlite3_blob *blob = NULL;
    uint8_t byte;
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_blob_open(db, "main", "tombstone", column, 1, 1, &blob),
                     SQLITE_OK);
    bool there = at < sqlite3_blob_bytes(blob);
    if (there) {
        ck_assert_int_eq(sqlite3_blob_read(blob, &byte, 1, at), SQLITE_OK);
        byte = (uint8_t)(byte ^ (1 << bit));
        ck_assert_int_eq(sqlite3_blob_write(blob, &byte, 1, at), SQLITE_OK);
    }
    ck_assert_int_eq(sqlite3_blob_close(blob), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return there;
}

static void expect_damage(struct lab *lab, const char *what, int at)
{
    struct recovery r;
    ck_assert_msg(lab_verify(lab, NULL) == CAIRN_EDAMAGED, "%s %d", what, at);
    ck_assert_msg(lab_rebuild(lab, 4) != 0, "%s %d", what, at);
    ck_assert_msg(lab_verify(lab, "5") != 0, "%s %d", what, at);
    int rc = outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error);
    if (rc == 0) {
        ck_assert_msg(r.gap, "%s %d", what, at);
        recovery_release(&r);
    }
    ck_assert(rc == 0 || rc == CAIRN_EDAMAGED);
}

START_TEST(no_byte_is_believed_unseen)
{
    static const char *const blobs[] = {"before", "after", "sum", "change"};
    static const char *const numbers[] = {"namespace", "stream", "first",
                                          "last",      "count",  "time_ns"};
    for (int first = 0; first < 3; first += 2) { /* a full record goes, or a delta */
        struct lab *lab = lab_open(70);
        lab_put(lab, "FDDDD");
        MUST(lab, try_delete(lab, first));
        expect_kept_rebuild(lab);
        for (size_t b = first ? 0 : 1; b < 4; b++)
            for (int at = 0; flip(lab, blobs[b], at, at % 8); at += help_stride()) {
                expect_damage(lab, blobs[b], at);
                flip(lab, blobs[b], at, at % 8);
            }
        for (size_t n = 0; n < 6; n++) {
            char sql[100];
            snprintf(sql, sizeof sql, "UPDATE tombstone SET %s = %s + %%llu",
                     numbers[n], numbers[n]);
            lab_sql(lab, sql, 1);
            ck_assert_msg(lab_verify(lab, NULL) == CAIRN_EDAMAGED, "%s", numbers[n]);
            ck_assert_msg(lab_rebuild(lab, 4) != 0, "%s", numbers[n]);
            snprintf(sql, sizeof sql, "UPDATE tombstone SET %s = %s - %%llu",
                     numbers[n], numbers[n]);
            lab_sql(lab, sql, 1);
        }
        expect_kept_rebuild(lab);
        lab_sql(lab, "UPDATE tombstone SET sum = NULL WHERE %llu", 1);
        lab_sql(lab, "DELETE FROM meta WHERE key = 'sums' AND %llu", 1);
        expect_damage(lab, "no sum", 0);
        lab_close(lab);
    }
}
END_TEST

/* Recovering names a note that it cannot use, and content is not collected. */
START_TEST(damage_is_named_where_it_is_needed)
{
    struct lab *lab = lab_open(71);
    struct recovery r;
    struct cairn_gc_result result;
    lab_put(lab, "FDDDD");
    MUST(lab, try_delete(lab, 2));
    flip(lab, "change", 20, 1);
    ck_assert_int_eq(lab_rebuild(lab, 4), CAIRN_EDAMAGED);
    ck_assert_msg(strstr(lab->error.text, "the note about the deleted checkpoints 3 to "
                                          "3 is damaged"),
                  "%s", lab->error.text);
    MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error));
    ck_assert_uint_eq(r.n_damaged, 1);
    ck_assert_uint_eq(r.damaged[0], 3);
    ck_assert(strstr(r.reasons[0], "checksum"));
    recovery_release(&r);
    ck_assert_int_eq(
        checkpoint_gc(lab->store, &payload_kinds, NULL, &result, &lab->error),
        CAIRN_EDAMAGED);
    ck_assert_msg(strstr(lab->error.text, "no content was deleted"), "%s",
                  lab->error.text);
    lab_close(lab);
}
END_TEST

/* ---- Content ---- */

START_TEST(content_stays_while_a_change_names_it)
{
    struct lab *lab = lab_open(72);
    struct digest result = lab_put_object(lab, "what a deleted one names");
    struct change change = {.task = 2, .outcome = 1, .attempts = 1, .outputs = result};
    lab_put(lab, "F");
    MUST(lab, states_apply(&lab->now, &change, &lab->error));
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_delta(&lab->stream, &change, 1, 5, NULL, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_note(lab, lab->stream.chain.parent, false);
    change.outputs = (struct digest){{9}};
    change.task = 3;
    MUST(lab, states_apply(&lab->now, &change, &lab->error));
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_delta(&lab->stream, &change, 1, 5, NULL, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    lab_note(lab, lab->stream.chain.parent, false);
    MUST(lab, try_delete(lab, 1));
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 0);
    ck_assert(lab_has_object(lab, &result));
    MUST(lab, try_delete(lab, 0));
    ck_assert_uint_eq(lab_collect(lab, 0).objects, 0);
    ck_assert(lab_has_object(lab, &result) && lab_has_object(lab, &lab->stream.graph));
    expect_kept_rebuild(lab);
    lab_close(lab);
}
END_TEST

/* Also the newest one of a run that has ended; and such a run can be removed. */
START_TEST(what_follows_nothing)
{
    struct lab *lab = lab_open(73);
    struct recovery r;
    lab_put(lab, "FDDDD");
    MUST(lab, try_delete(lab, 0));
    MUST(lab, try_delete(lab, 3));
    lab_finish(lab, 1);
    MUST(lab, try_delete(lab, 4));
    expect_kept_rebuild(lab);
    MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &r, &lab->error));
    ck_assert(r.gap && r.newest.seq == 3 && lab_same(&r.states, &lab->model[2]));
    recovery_release(&r);
    uint64_t run = lab_ended_run(lab, "odd", "FDDFDD", "text");
    MUST(lab, try_delete(lab, lab->n - 3));
    MUST(lab, try_delete(lab, lab->n - 5));
    lab_expect_sound(lab);
    lab_ended_run(lab, "odd", "FDD", "text");
    ck_assert_uint_eq(lab_collect(lab, 1).runs, 1);
    ck_assert(!lab_has_run(lab, run));
    lab_expect_sound(lab);
    lab_close(lab);
}
END_TEST

/* ---- Keys ---- */

static void open_with(struct lab *lab, char byte)
{
    char bytes[32];
    memset(bytes, byte, sizeof bytes);
    if (byte)
        put_key(bytes, sizeof bytes, 0600);
    struct cairn_store_options options = {
        .path = lab->path, .sync = CAIRN_SYNC_OFF, .key_file = byte ? key_path : NULL};
    cairn_store_close(lab->store);
    MUST(lab, cairn_store_open(&lab->store, &options, &lab->error));
    lab->stream.chain.in.store = lab->store;
}

static struct lab *open_keyed(uint64_t seed, const char *kinds)
{
    struct lab *lab = lab_open(seed);
    struct digest graph;
    open_with(lab, 'k');
    uint64_t run = lab_run(lab, "keyed", 0, 0, &graph);
    lab->stream = run_stream_of(lab->store, lab->sha, run, &graph);
    lab_put(lab, kinds);
    return lab;
}

START_TEST(keyed_changes)
{
    struct lab *lab = open_keyed(80, "FDDFDDD");
    open_with(lab, 0);
    ck_assert_int_eq(try_delete(lab, 4), CAIRN_EUSAGE);
    ck_assert_msg(strstr(lab->error.text, "--key"), "%s", lab->error.text);
    struct cairn_prune_result result = prune(lab, 2); /* whole segments */
    ck_assert_uint_eq(result.kept, 4);
    ck_assert_uint_eq(result.surplus, 2);
    open_with(lab, 'k');
    expect_kept_rebuild(lab);
    MUST(lab, try_delete(lab, 3));
    MUST(lab, try_delete(lab, 4));
    expect_kept_rebuild(lab);
    resume(lab);
    ck_assert_int_eq(lab_ask_closed(lab, "SELECT length(sum) FROM tombstone "
                                         "WHERE change NOT NULL"),
                     40);
    open_with(lab, 0); /* as records: the SHA-256 alone */
    expect_kept_rebuild(lab);
    ck_assert_int_eq(try_delete(lab, 5), CAIRN_EUSAGE);
    open_with(lab, 'k');
    expect_kept_rebuild(lab);
    lab_close(lab);
}
END_TEST

/* With another key, or with one for a run without, nothing is known to be damaged. */
START_TEST(pruning_with_another_key)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        struct lab *lab = keyed ? open_keyed(83, "FDDDFDDD") : lab_open(83);
        if (!keyed)
            lab_put(lab, "FDDDFDDD");
        open_with(lab, 'x');
        ck_assert_uint_eq(prune(lab, 2).deleted, 0);
        open_with(lab, keyed ? 'k' : 0);
        expect_kept_rebuild(lab);
        ck_assert_uint_eq(prune(lab, 2).kept, 2);
        expect_kept_rebuild(lab);
        lab_close(lab);
    }
}
END_TEST

/* A change that somebody without the key has made, with a checksum that holds. */
START_TEST(forged_changes)
{
    struct lab *lab = open_keyed(81, "FDDD");
    struct recovery r;
    MUST(lab, try_delete(lab, 0));
    expect_kept_rebuild(lab);
    /* 8 bytes of checksum are what a row without an HMAC has. */
    lab_sql(lab, "UPDATE tombstone SET sum = substr(sum, 1, 8) WHERE %llu", 1);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(lab_found.n, 1);
    ck_assert_int_eq(lab_found.at[0].kind, CAIRN_PROBLEM_HMAC);
    ck_assert_int_eq(lab_rebuild(lab, 2), CAIRN_EDAMAGED);
    ck_assert_msg(strstr(lab->error.text, "HMAC"), "%s", lab->error.text);
    MUST(lab, outcomes_recover(lab->store, lab->sha, 2, &r, &lab->error));
    ck_assert(r.gap && r.n_damaged == 1); /* it begins with nothing done */
    recovery_release(&r);
    open_with(lab, 0);
    expect_kept_rebuild(lab);
    lab_close(lab);
    /* One of another key. */
    lab = open_keyed(82, "FDDD");
    MUST(lab, try_delete(lab, 2));
    flip(lab, "sum", 30, 0);
    ck_assert_int_eq(lab_rebuild(lab, 3), CAIRN_EDAMAGED);
    ck_assert_int_eq(lab_verify(lab, NULL), CAIRN_EDAMAGED);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_checked_fixture(tests, make_key_dir, remove_key_dir);
    tcase_add_test(tests, each_one_may_go);
    tcase_add_test(tests, all_but_the_newest_may_go);
    tcase_add_test(tests, pruning_is_exact);
    tcase_add_test(tests, any_number_is_one);
    tcase_add_test(tests, changes_go_with_their_readers);
    tcase_add_test(tests, in_random_order);
    tcase_add_test(tests, what_is_left_of_damage);
    tcase_add_test(tests, no_byte_is_believed_unseen);
    tcase_add_test(tests, damage_is_named_where_it_is_needed);
    tcase_add_test(tests, content_stays_while_a_change_names_it);
    tcase_add_test(tests, what_follows_nothing);
    tcase_add_test(tests, keyed_changes);
    tcase_add_test(tests, pruning_with_another_key);
    tcase_add_test(tests, forged_changes);
}

int main(void)
{
    return lab_run_suite("tombstones", add);
}
