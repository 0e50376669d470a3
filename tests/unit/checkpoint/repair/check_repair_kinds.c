/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Repairing a store with two namespaces: a session (tests/support/session.h) beside a
 * run. What is lost of one leaves the other as it was, byte for byte. */
#include "tests/support/session.h"

#include "checkpoint/repair/repair.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

/* ---- Repairing ---- */

static char losses[4][200];
static int n_losses;

static int note_loss(void *context, const struct cairn_loss *loss)
{
    (void)context;
    ck_assert_int_lt(n_losses, 4);
    snprintf(losses[n_losses++], 200, "%s", loss->text);
    return 0;
}

static int no_definition(struct cairn_store *store, const struct digest *graph,
                         struct run_row *row, struct arena *arena,
                         struct cairn_error *error)
{
    (void)store, (void)graph, (void)row, (void)arena;
    return error_set(error, CAIRN_ENOTFOUND, "there are no definitions here");
}

static void repair(struct lab *lab, const struct payload_kinds *kinds)
{
    struct cairn_repair_result result = {0};
    struct repair_options options = {.path = lab->path,
                                     .describe = no_definition,
                                     .kinds = kinds,
                                     .each = note_loss};
    n_losses = 0;
    cairn_store_close(lab->store);
    lab->store = NULL;
    MUST(lab, checkpoint_repair(&options, &result, &lab->error));
    ck_assert(result.repaired);
    lab_store(lab);
    MUST(lab, session_verify(lab, kinds, NULL));
}

/* By a release that does not know the kind as well: nothing else of it is lost. */
START_TEST(repairing_a_session)
{
    static const struct payload_kinds *const kinds[] = {&session_kinds, &old_kinds};
    for (int i = 0; i < 2; i++) {
        struct written w = session_write_both(8);
        struct lab *lab = w.lab;
        struct buf run = session_bytes(lab, NAMESPACE_WORKFLOW);
        struct checkpoint_range all = {.namespace_id = NAMESPACE_DEBUG};
        uint64_t n = 0;
        char text[80];
        ck_assert(lab_flip(lab, w.notes[6], "record", -1, 2));
        repair(lab, kinds[i]);
        snprintf(text, sizeof text, "checkpoint debug:%llu of %s 1",
                 (unsigned long long)w.notes[6], i ? "stream" : "session");
        ck_assert_int_eq(n_losses, 1);
        ck_assert_str_eq(losses[0], text);
        MUST(lab, store_count_checkpoints(lab->store, &all, &n, &lab->error));
        ck_assert_uint_eq(n, 8);
        session_expect_sound(lab);
        session_expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
        session_put_note(lab, true, "after the repair");
        session_in_new_process(lab, "resume");
        session_expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

START_TEST(repairing_a_run)
{
    struct written w = session_write_both(9);
    struct lab *lab = w.lab;
    struct buf session = session_bytes(lab, NAMESPACE_DEBUG);
    char text[80];
    lab_damage(lab, 4);
    repair(lab, &old_kinds);
    snprintf(text, sizeof text, "checkpoint workflow:%llu of run 1",
             (unsigned long long)lab->seqs[4]);
    ck_assert_str_eq(losses[0], text);
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_DEBUG, &session);
    lab_close(lab);
}
END_TEST

/* The lost record was of the run, although its damaged column says `debug:`: the record
 * that names it as its parent says so, or, of the newest, the others of its stream. */
START_TEST(a_damaged_namespace_column)
{
    struct written w = session_write_both(14);
    struct lab *lab = w.lab;
    struct buf session = session_bytes(lab, NAMESPACE_DEBUG);
    char text[80];
    lab_damage(lab, 4);
    lab_sql(lab, "UPDATE checkpoint SET namespace = 2 WHERE seq = %llu", lab->seqs[4]);
    repair(lab, &session_kinds);
    snprintf(text, sizeof text, "checkpoint workflow:%llu of run 1",
             (unsigned long long)lab->seqs[4]);
    ck_assert_str_eq(losses[0], text);
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_DEBUG, &session);
    lab_close(lab);

    lab = lab_open(15);
    lab_put(lab, "FDD");
    lab_damage(lab, 2);
    lab_sql(lab, "UPDATE checkpoint SET namespace = 2 WHERE seq = %llu", lab->seqs[2]);
    repair(lab, &session_kinds);
    snprintf(text, sizeof text, "checkpoint workflow:%llu of run 1",
             (unsigned long long)lab->seqs[2]);
    ck_assert_str_eq(losses[0], text);
    struct recovery recovery;
    MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &recovery, &lab->error));
    ck_assert(recovery.gap); /* the run knows that its newest record is lost */
    recovery_release(&recovery);
    lab_close(lab);
}
END_TEST

/* Where only the header is damaged the column is right, also without any witness. */
START_TEST(a_damaged_namespace_in_the_header)
{
    enum { NAMESPACE_AT = 6 };
    struct written w = session_write_both(16);
    struct lab *lab = w.lab;
    struct buf run = session_bytes(lab, NAMESPACE_WORKFLOW);
    char text[80];
    ck_assert(lab_flip(lab, w.notes[7], "record", NAMESPACE_AT, 0));
    ck_assert(lab_flip(lab, w.notes[7], "record", NAMESPACE_AT, 1));
    repair(lab, &session_kinds);
    snprintf(text, sizeof text, "checkpoint debug:%llu of session 1",
             (unsigned long long)w.notes[7]);
    ck_assert_str_eq(losses[0], text);
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, repairing_a_session);
    tcase_add_test(tests, repairing_a_run);
    tcase_add_test(tests, a_damaged_namespace_column);
    tcase_add_test(tests, a_damaged_namespace_in_the_header);
}

int main(int argc, char **argv)
{
    return session_main(argc, argv, "repair_kinds", add);
}
