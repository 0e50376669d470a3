/* SPDX-License-Identifier: MIT */
/* Streams: writing, rebuilding every checkpoint, recovering from damage, finding, and
 * listing, on a real store. */
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/checkpoint.h"

static void put_random(struct lab *lab, int n)
{
    lab_full(lab);
    for (int i = 1; i < n; i++)
        lab_put(lab, lab_below(lab, 6) ? lab_below(lab, 6) ? "D" : "G" : "F");
}

/* ---- Writing and rebuilding ---- */

START_TEST(rebuild_equals_the_model)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct lab *lab = lab_open(seed);
        put_random(lab, 60);
        for (int i = 0; i < lab->n; i++)
            MUST(lab, lab_rebuild(lab, i));
        lab_close(lab);
    }
}
END_TEST

static int see_row(void *context, const struct checkpoint_row *row)
{
    struct lab *lab = context;
    struct record_header header;
    struct str payload;
    struct digest parent = {{0}};
    ck_assert_int_eq(
        record_decode(row->record, row->digest, lab->sha, &header, &payload, NULL), 0);
    ck_assert_uint_eq(header.seq, row->seq);
    ck_assert_uint_eq(header.position, row->seq); /* one stream only */
    ck_assert_uint_eq(row->parent, row->seq - 1);
    ck_assert(row->seq == 1 ? digest_equal(&header.parent, &parent)
                            : !digest_equal(&header.parent, &parent));
    return 0;
}

START_TEST(numbers_and_links)
{
    struct lab *lab = lab_open(5);
    struct checkpoint_range all = {0};
    lab_put(lab, "FDDFD");
    for (int i = 0; i < lab->n; i++)
        ck_assert_uint_eq(lab->seqs[i], (uint64_t)i + 1);
    MUST(lab, store_each_checkpoint(lab->store, &all, see_row, lab, &lab->error));
    ck_assert_uint_eq(lab->stream.chain.base, 4);
    ck_assert_uint_eq(lab->stream.chain.position, 5);
    lab_close(lab);
}
END_TEST

START_TEST(failed_append_changes_nothing)
{
    struct lab *lab = lab_open(6);
    struct change change = {.task = 1, .outcome = 9, .attempts = 1};
    lab_put(lab, "FD");
    struct run_stream before = lab->stream;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    ck_assert_int_eq(run_stream_delta(&lab->stream, &change, 1, 1, NULL, &lab->error),
                     CAIRN_EUSAGE);
    store_abort(lab->store);
    ck_assert_int_eq(memcmp(&before, &lab->stream, sizeof before), 0);
    lab_close(lab);
}
END_TEST

START_TEST(delta_needs_a_full_record)
{
    struct lab *lab = lab_open(6);
    struct change change = {.task = 1, .outcome = 1, .attempts = 1};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    ck_assert_int_eq(run_stream_delta(&lab->stream, &change, 1, 1, NULL, &lab->error),
                     CAIRN_EUSAGE);
    store_abort(lab->store);
    lab_close(lab);
}
END_TEST

START_TEST(when_a_full_record_is_due)
{
    struct chain chain = {.base_bytes = 100, .tail_bytes = 4095};
    ck_assert(!chain_wants_full(&chain));
    chain.tail_bytes = 4096;
    ck_assert(chain_wants_full(&chain));
    chain.base_bytes = 10000;
    ck_assert(!chain_wants_full(&chain));
    chain.tail_bytes = 10000;
    ck_assert(chain_wants_full(&chain));
}
END_TEST

START_TEST(rebuild_refuses_damage)
{
    struct lab *lab = lab_open(7);
    lab_put(lab, "FDDDFDD"); /* the third is damaged */
    lab_damage(lab, 2);
    for (int i = 0; i < lab->n; i++)
        ck_assert_int_eq(lab_rebuild(lab, i), i == 2 || i == 3 ? CAIRN_EDAMAGED : 0);
    ck_assert_int_eq(lab_rebuild(lab, 3), CAIRN_EDAMAGED);
    ck_assert(strstr(lab->error.text, "workflow:3-") != NULL);
    lab_damage(lab, 4); /* a full one */
    ck_assert_int_eq(lab_rebuild(lab, 6), CAIRN_EDAMAGED);
    ck_assert(strstr(lab->error.text, "workflow:5-") != NULL);
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 2);
    ck_assert_int_eq(lab_rebuild(lab, 1), CAIRN_ENOTFOUND);
    lab_close(lab);
}
END_TEST

START_TEST(rebuild_notices_a_missing_record)
{
    struct lab *lab = lab_open(8);
    lab_put(lab, "FDDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 3);
    ck_assert_int_eq(lab_rebuild(lab, 3), CAIRN_EDAMAGED);
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 1);
    ck_assert_int_eq(lab_rebuild(lab, 1), CAIRN_EDAMAGED);
    ck_assert(strstr(lab->error.text, "workflow:1") != NULL);
    lab_close(lab);
}
END_TEST

/* ---- Recovering ---- */

static void recover(struct lab *lab, struct recovery *recovery)
{
    MUST(lab, outcomes_recover(lab->store, lab->sha, lab->stream.chain.id, recovery,
                               &lab->error));
}

START_TEST(recover_undamaged)
{
    struct lab *lab = lab_open(9);
    struct recovery r;
    lab_put(lab, "FDDFDDD");
    recover(lab, &r);
    ck_assert(lab_same(&r.states, &lab->model[6]));
    ck_assert_uint_eq(r.n_damaged, 0);
    ck_assert(!r.gap);
    ck_assert_uint_eq(r.newest.seq, 7);
    ck_assert_int_eq(memcmp(&r.head, &lab->stream, sizeof r.head), 0);
    recovery_release(&r);
    lab_close(lab);
}
END_TEST

static void expect_recovered(struct lab *lab, const struct states *states, size_t bad)
{
    struct recovery r;
    recover(lab, &r);
    ck_assert(lab_same(&r.states, states));
    ck_assert_uint_eq(r.n_damaged, bad);
    ck_assert(r.gap == (bad > 0));
    ck_assert(digest_equal(&r.graph, &lab->stream.graph));
    ck_assert(bad || memcmp(&r.head, &lab->stream, sizeof r.head) == 0);
    recovery_release(&r);
}

/* The records after it say themselves how many tasks there are: whichever is damaged,
 * only what it held is lost. */
START_TEST(recover_grown)
{
    struct lab *lab = lab_open(31);
    lab_put(lab, "FDGDGD");
    expect_recovered(lab, &lab->model[5], 0);
    lab_damage(lab, 2);
    expect_recovered(lab, &lab->model[5], 1);
    lab_damage(lab, 4);
    expect_recovered(lab, &lab->model[5], 2);
    ck_assert_int_eq(lab_rebuild(lab, 5), CAIRN_EDAMAGED);
    /* A full one of the longer graph, and what follows it. */
    lab_put(lab, "FDGDGD");
    expect_recovered(lab, &lab->model[11], 0);
    lab_damage(lab, 6);
    expect_recovered(lab, &lab->model[11], 3);
    lab_damage(lab, 8);
    expect_recovered(lab, &lab->model[11], 4);
    lab_close(lab);
}
END_TEST

START_TEST(recover_newest_damaged)
{
    for (int bad = 1; bad <= 3; bad++) {
        struct lab *lab = lab_open(10 + (uint64_t)bad);
        struct recovery r;
        lab_put(lab, "FDDFDDDD");
        for (int i = 0; i < bad; i++)
            lab_damage(lab, lab->n - 1 - i);
        recover(lab, &r);
        ck_assert(lab_same(&r.states, &lab->model[7 - bad]));
        ck_assert_uint_eq(r.n_damaged, (size_t)bad);
        ck_assert_uint_eq(r.damaged[0], (uint64_t)(9 - bad));
        ck_assert(r.gap);
        ck_assert_uint_eq(r.newest.seq, (uint64_t)(8 - bad));
        ck_assert_uint_eq(r.head.chain.parent, r.newest.seq);
        ck_assert(strstr(r.reasons[0], "SHA-256") != NULL);

        /* What follows chains from there and can be rebuilt. */
        lab->stream = r.head;
        states_release(&lab->now);
        MUST(lab, states_copy(&lab->now, &r.states, &lab->error));
        recovery_release(&r);
        lab_put(lab, "FDD");
        for (int i = 8; i < lab->n; i++)
            MUST(lab, lab_rebuild(lab, i));
        recover(lab, &r);
        ck_assert(!r.gap);
        ck_assert_uint_eq(r.n_damaged, 0);
        ck_assert(lab_same(&r.states, &lab->now));
        recovery_release(&r);
        lab_close(lab);
    }
}
END_TEST

START_TEST(recover_middle_damaged)
{
    struct lab *lab = lab_open(20);
    struct recovery r;
    struct states expected;
    struct change change = {.attempts = 1};
    lab_full(lab);
    for (uint32_t i = 0; i < 5; i++) { /* one task each */
        change.task = i;
        change.outcome = CAIRN_COMPLETED;
        MUST(lab, states_apply(&lab->now, &change, &lab->error));
        MUST(lab, store_begin(lab->store, -1, &lab->error));
        MUST(lab, run_stream_delta(&lab->stream, &change, 1, 1, NULL, &lab->error));
        MUST(lab, store_commit(lab->store, &lab->error));
    }
    ck_assert(lab_flip(lab, 4, "record", 60, 0));
    recover(lab, &r);
    MUST(lab, states_copy(&expected, &lab->now, &lab->error));
    expected.outcome[2] = CAIRN_PENDING; /* its end stood only in the damaged one */
    expected.attempts[2] = 0;
    ck_assert(lab_same(&r.states, &expected));
    ck_assert(r.gap);
    ck_assert_uint_eq(r.n_damaged, 1);
    ck_assert_uint_eq(r.damaged[0], 4);
    ck_assert_uint_eq(r.newest.seq, 6);
    recovery_release(&r);
    states_release(&expected);
    lab_close(lab);
}
END_TEST

START_TEST(recover_full_damaged)
{
    struct lab *lab = lab_open(21);
    struct recovery r;
    lab_put(lab, "FDDFDFD"); /* 4 and 6 are full */
    lab_damage(lab, 5);
    recover(lab, &r);
    ck_assert_uint_eq(r.head.chain.base, 4);
    ck_assert(lab_same(&r.states, &lab->model[6]));
    ck_assert_uint_eq(r.n_damaged, 1);
    ck_assert(r.gap);
    recovery_release(&r);
    lab_damage(lab, 3);
    recover(lab, &r);
    ck_assert_uint_eq(r.head.chain.base, 1);
    ck_assert(lab_same(&r.states, &lab->model[6]));
    ck_assert_uint_eq(r.n_damaged, 2);
    ck_assert_uint_eq(r.damaged[0], 4);
    ck_assert_uint_eq(r.damaged[1], 6);
    recovery_release(&r);
    lab_damage(lab, 0); /* no full record is left: the deltas count from the start */
    recover(lab, &r);
    ck_assert_uint_eq(r.head.chain.base, 0);
    ck_assert(lab_same(&r.states, &lab->model[6]));
    ck_assert_uint_eq(r.n_damaged, 3);
    ck_assert(r.gap);
    recovery_release(&r);
    lab_damage(lab, 1); /* and now no delta either */
    lab_damage(lab, 2);
    lab_damage(lab, 4);
    lab_damage(lab, 6);
    ck_assert_int_eq(
        outcomes_recover(lab->store, lab->sha, lab->stream.chain.id, &r, &lab->error),
        CAIRN_EDAMAGED);
    lab_close(lab);
}
END_TEST

START_TEST(recover_wrong_column)
{
    static const char *const wrong[] = {
        "UPDATE checkpoint SET time_ns = time_ns + 1 WHERE seq = %llu",
        "UPDATE checkpoint SET kind = 1 WHERE seq = %llu",
        "UPDATE checkpoint SET parent = NULL WHERE seq = %llu",
        "UPDATE checkpoint SET digest = x'00' WHERE seq = %llu",
        "UPDATE checkpoint SET record = x'' WHERE seq = %llu",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct lab *lab = lab_open(22);
        struct recovery r;
        lab_put(lab, "FDD");
        lab_sql(lab, wrong[i], 3);
        recover(lab, &r);
        ck_assert(r.gap);
        ck_assert_uint_eq(r.n_damaged, 1);
        ck_assert_uint_eq(r.newest.seq, 2);
        ck_assert(lab_same(&r.states, &lab->model[1]));
        recovery_release(&r);
        lab_close(lab);
    }
}
END_TEST

START_TEST(recover_missing_record)
{
    struct lab *lab = lab_open(23);
    struct recovery r;
    lab_put(lab, "FDDD");
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", 2);
    recover(lab, &r);
    ck_assert(r.gap);
    ck_assert_uint_eq(r.n_damaged, 0);
    ck_assert_uint_eq(r.newest.seq, 4);
    recovery_release(&r);
    ck_assert_int_eq(outcomes_recover(lab->store, lab->sha, 99, &r, &lab->error),
                     CAIRN_ENOTFOUND);
    lab_close(lab);
}
END_TEST

/* Deltas of another graph are sound, but cannot be applied. */
START_TEST(recover_other_graph)
{
    struct lab *lab = lab_open(24);
    struct recovery r;
    lab_put(lab, "FD");
    lab->stream.graph.bytes[0] ^= 1;
    lab_put(lab, "FD");
    lab_damage(lab, 2);
    recover(lab, &r);
    ck_assert(lab_same(&r.states, &lab->model[1]));
    ck_assert(r.gap);
    ck_assert_uint_eq(r.newest.seq, 4);
    recovery_release(&r);
    lab_close(lab);
}
END_TEST

/* ---- Ids ---- */

static int find(struct lab *lab, const char *id, uint64_t *seq)
{
    *seq = 0;
    return checkpoint_find(lab->store, id, seq, &lab->error);
}

START_TEST(ids)
{
    struct lab *lab = lab_open(30);
    struct cairn_checkpoint_info info;
    char text[200];
    uint64_t seq;
    lab_put(lab, "FDDDDDDDDDDDD");
    MUST(lab, cairn_checkpoint_get(lab->store, "12", &info, &lab->error));
    ck_assert_uint_eq(strlen(info.id), strlen("workflow:12-9f3ac1d20b7e"));
    MUST(lab, find(lab, info.id, &seq));
    ck_assert_uint_eq(seq, 12);
    for (size_t i = strlen("workflow:12-"); info.id[i]; i++)
        if (info.id[i] >= 'a' && info.id[i] <= 'f')
            info.id[i] = (char)(info.id[i] - 'a' + 'A');
    MUST(lab, find(lab, info.id, &seq));
    ck_assert_uint_eq(seq, 12);
    MUST(lab, find(lab, "workflow:12", &seq));
    ck_assert_uint_eq(seq, 12);
    snprintf(text, sizeof text, "workflow:12-%s", info.digest);
    MUST(lab, find(lab, text, &seq));
    snprintf(text, sizeof text, "11-%.12s", info.digest);
    ck_assert_int_eq(find(lab, text, &seq), CAIRN_ENOTFOUND);
    ck_assert(strstr(lab->error.text, "names another checkpoint") != NULL);
    static const char *const absent[] = {"99", "workflow:99", "debug:1-00aa00aa00aa",
                                         "1234", "00000000000099"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        ck_assert_msg(find(lab, absent[i], &seq) == CAIRN_ENOTFOUND, "%s", absent[i]);
    static const char *const wrong[] = {"",
                                        "0",
                                        "workflow:",
                                        "-1",
                                        "1-",
                                        "1-xyz",
                                        "abc",
                                        "workflow:x",
                                        "a b",
                                        "1-2-3",
                                        "run:1",
                                        "1 ",
                                        "+1",
                                        "0x1",
                                        "zzzz",
                                        "12-" /* and 65 digits */
                                        "00000000000000000000000000000000"
                                        "000000000000000000000000000000000",
                                        "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(find(lab, wrong[i], &seq) == CAIRN_EUSAGE ||
                          find(lab, wrong[i], &seq) == CAIRN_ENOTFOUND,
                      "%s", wrong[i]);
    ck_assert_int_eq(find(lab, NULL, &seq), CAIRN_EUSAGE);
    ck_assert_int_eq(find(lab, "abc", &seq), CAIRN_EUSAGE);
    lab_close(lab);
}
END_TEST

START_TEST(short_hex_ids)
{
    struct lab *lab = lab_open(31);
    uint64_t seq;
    lab_put(lab, "FD");
    lab_sql(
        lab,
        "UPDATE checkpoint SET digest = CAST(x'abcdef' || substr(digest, 4) AS BLOB)"
        " WHERE seq >= %llu",
        1);
    ck_assert_int_eq(find(lab, "ABCDE", &seq), CAIRN_EAMBIGUOUS);
    ck_assert_int_eq(find(lab, "abcdee", &seq), CAIRN_ENOTFOUND);
    lab_sql(lab, "UPDATE checkpoint SET digest = x'77' WHERE seq = %llu", 1);
    ck_assert_int_eq(find(lab, "abcd", &seq), CAIRN_EDAMAGED);
    lab_close(lab);
    lab = lab_open(32);
    struct cairn_checkpoint_info info;
    lab_put(lab, "FDDD");
    MUST(lab, cairn_checkpoint_get(lab->store, "3", &info, &lab->error));
    info.digest[30] = 0;
    MUST(lab, find(lab, info.digest, &seq));
    ck_assert_uint_eq(seq, 3);
    lab_close(lab);
}
END_TEST

/* ---- Lists ---- */

struct listed {
    uint64_t seqs[LAB_MAX];
    struct cairn_checkpoint_info infos[LAB_MAX];
    int n, stop_at;
};

static int note_info(void *context, const struct cairn_checkpoint_info *info)
{
    struct listed *listed = context;
    listed->infos[listed->n] = *info;
    listed->seqs[listed->n++] = info->seq;
    return listed->n == listed->stop_at;
}

static struct listed *list(struct lab *lab, struct cairn_checkpoint_filter filter,
                           uint64_t *total)
{
    static struct listed listed;
    memset(&listed, 0, sizeof listed);
    MUST(lab, cairn_checkpoint_list(lab->store, &filter, note_info, &listed, total,
                                    &lab->error));
    return &listed;
}

START_TEST(lists)
{
    struct lab *lab = lab_open(40);
    struct digest graph;
    uint64_t total;
    lab_put(lab, "F");
    for (int i = 0; i < 249; i++)
        lab_put(lab, i % 20 == 19 ? "F" : "D");
    struct listed *l = list(lab, (struct cairn_checkpoint_filter){0}, &total);
    ck_assert_int_eq(l->n, 10);
    ck_assert_uint_eq(total, 250);
    ck_assert_uint_eq(l->seqs[0], 250);
    ck_assert(l->infos[0].head && !l->infos[1].head);
    ck_assert_str_eq(l->infos[0].workflow, "nightly");
    ck_assert_uint_eq(l->infos[0].parent, 249);
    ck_assert_uint_eq(l->infos[0].position, 250);
    l = list(lab, (struct cairn_checkpoint_filter){.page.limit = 1000}, NULL);
    ck_assert_int_eq(l->n, 100);
    for (int oldest = 0; oldest < 2; oldest++) {
        struct cairn_checkpoint_filter every = {
            .workflow = "nightly",
            .run = 1,
            .page = {.all = true, .oldest_first = oldest, .offset = 3}};
        l = list(lab, every, &total);
        ck_assert_int_eq(l->n, 247);
        ck_assert_uint_eq(total, 250);
        for (int i = 0; i < l->n; i++)
            ck_assert_uint_eq(l->seqs[i], (uint64_t)(oldest ? i + 4 : 247 - i));
    }
    l = list(lab, (struct cairn_checkpoint_filter){.page = {.all = true}}, NULL);
    for (int i = 0; i < l->n; i++) {
        const struct cairn_checkpoint_info *info = &l->infos[i];
        ck_assert(info->full == lab->full[info->seq - 1]);
        ck_assert(info->counted == info->full);
        ck_assert(info->full ? info->total == LAB_TASKS : info->changes > 0);
        ck_assert(!info->damaged);
    }
    ck_assert_int_eq(
        cairn_checkpoint_list(lab->store,
                              &(struct cairn_checkpoint_filter){.workflow = "nix"},
                              note_info, l, NULL, &lab->error),
        CAIRN_ENOTFOUND);
    lab_run(lab, "empty", 0, 0, &graph);
    struct cairn_checkpoint_filter other = {.workflow = "empty", .run = 1};
    ck_assert_int_eq(
        cairn_checkpoint_list(lab->store, &other, note_info, l, NULL, &lab->error),
        CAIRN_ENOTFOUND);
    ck_assert_str_eq(lab->error.text, "run 1 is not one of workflow empty");
    l = list(lab, (struct cairn_checkpoint_filter){.workflow = "empty"}, &total);
    ck_assert_int_eq(l->n, 0);
    ck_assert_uint_eq(total, 0);
    lab_close(lab);
}
END_TEST

START_TEST(lists_show_damage)
{
    struct lab *lab = lab_open(41);
    lab_put(lab, "FDD");
    lab_damage(lab, 1);
    struct listed *l = list(lab, (struct cairn_checkpoint_filter){0}, NULL);
    ck_assert_int_eq(l->n, 3);
    ck_assert(!l->infos[0].damaged && l->infos[1].damaged && !l->infos[2].damaged);
    ck_assert_uint_eq(l->infos[1].seq, 2);
    ck_assert_uint_eq(l->infos[1].run, 1);
    lab_close(lab);
}
END_TEST

START_TEST(get_counts)
{
    struct lab *lab = lab_open(42);
    struct cairn_checkpoint_info info;
    char id[CAIRN_ID_MAX];
    lab_put(lab, "FDDDDFDDD");
    for (int i = 0; i < lab->n; i++) {
        struct tally tally = states_tally(&lab->model[i]);
        snprintf(id, sizeof id, "%llu", (unsigned long long)lab->seqs[i]);
        MUST(lab, cairn_checkpoint_get(lab->store, id, &info, &lab->error));
        ck_assert(info.counted && info.full == lab->full[i]);
        ck_assert_uint_eq(info.total, LAB_TASKS);
        ck_assert_uint_eq(info.completed, tally.completed);
        ck_assert_uint_eq(info.failed, tally.failed);
        ck_assert_uint_eq(info.skipped, tally.skipped);
        ck_assert_uint_eq(info.cancelled, tally.cancelled);
        ck_assert(info.full ? info.changes == 0 : info.changes > 0);
        ck_assert_uint_eq(info.parent, lab->seqs[i] - 1);
        ck_assert_uint_gt(info.bytes, RECORD_HEADER_BYTES);
    }
    lab_damage(lab, 7);
    ck_assert_int_eq(cairn_checkpoint_get(lab->store, "8", &info, &lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_int_eq(cairn_checkpoint_get(lab->store, "9", &info, &lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_int_eq(cairn_checkpoint_get(lab->store, "10", &info, &lab->error),
                     CAIRN_ENOTFOUND);
    lab_close(lab);
}
END_TEST

START_TEST(latest)
{
    struct lab *lab = lab_open(43);
    struct cairn_checkpoint_info info;
    uint32_t skipped = 99;
    ck_assert_int_eq(cairn_checkpoint_newest(
                         lab->store,
                         &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                         &info, &skipped, &lab->error),
                     CAIRN_ENOTFOUND);
    lab_put(lab, "FDDDFDDD");
    MUST(lab, cairn_checkpoint_newest(
                  lab->store, &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                  &info, &skipped, &lab->error));
    ck_assert_uint_eq(info.seq, 8);
    ck_assert_uint_eq(skipped, 0);
    ck_assert_str_eq(info.workflow, "nightly");
    for (int i = 7; i >= 5; i--)
        lab_damage(lab, i);
    MUST(lab, cairn_checkpoint_newest(
                  lab->store, &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                  &info, &skipped, &lab->error));
    ck_assert_uint_eq(info.seq, 5);
    ck_assert_uint_eq(skipped, 3);
    lab_damage(lab, 4); /* the full one: nothing of its segment is of use */
    MUST(lab, cairn_checkpoint_newest(
                  lab->store, &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                  &info, &skipped, &lab->error));
    ck_assert_uint_eq(info.seq, 4);
    ck_assert_uint_eq(skipped, 4);
    for (int i = 0; i < 4; i++)
        lab_damage(lab, i);
    ck_assert_int_eq(cairn_checkpoint_newest(
                         lab->store,
                         &(struct cairn_checkpoint_filter){.workflow = "nightly"},
                         &info, &skipped, &lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_int_eq(
        cairn_checkpoint_newest(lab->store,
                                &(struct cairn_checkpoint_filter){.workflow = "nix"},
                                &info, NULL, &lab->error),
        CAIRN_ENOTFOUND);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, rebuild_equals_the_model);
    tcase_add_test(tests, numbers_and_links);
    tcase_add_test(tests, failed_append_changes_nothing);
    tcase_add_test(tests, delta_needs_a_full_record);
    tcase_add_test(tests, when_a_full_record_is_due);
    tcase_add_test(tests, rebuild_refuses_damage);
    tcase_add_test(tests, rebuild_notices_a_missing_record);
    tcase_add_test(tests, recover_undamaged);
    tcase_add_test(tests, recover_grown);
    tcase_add_test(tests, recover_newest_damaged);
    tcase_add_test(tests, recover_middle_damaged);
    tcase_add_test(tests, recover_full_damaged);
    tcase_add_test(tests, recover_wrong_column);
    tcase_add_test(tests, recover_missing_record);
    tcase_add_test(tests, recover_other_graph);
    tcase_add_test(tests, ids);
    tcase_add_test(tests, short_hex_ids);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, lists_show_damage);
    tcase_add_test(tests, get_counts);
    tcase_add_test(tests, latest);
}

int main(void)
{
    return lab_run_suite("stream", add);
}
