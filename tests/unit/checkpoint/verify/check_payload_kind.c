/* SPDX-License-Identifier: MIT */
/* make: above not-valgrind */
/* The seam between chains and payloads: a session (tests/support/session.h) beside a
 * run. Each stream is verified, listed, pruned, damaged and collected beside the other,
 * and the other stays as it was, byte for byte. */
#include "tests/support/session.h"

#include "checkpoint/find.h"
#include "checkpoint/gc/gc.h"
#include "checkpoint/retain/retain.h"
#include "checkpoint/tombstones_int.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

START_TEST(both_verify)
{
    struct written w = session_write_both(1);
    char id[40];
    session_expect_sound(w.lab);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[7]);
    MUST(w.lab, session_verify(w.lab, &session_kinds, id));
    /* A release that does not know the kind says so, once, and finds no damage. */
    MUST(w.lab, session_verify(w.lab, &old_kinds, NULL));
    ck_assert_int_eq(session_found.n, 1);
    ck_assert_int_eq(session_found.at[0].kind, CAIRN_PROBLEM_UNREAD);
    ck_assert_msg(strstr(session_found.text[0], "namespace debug") != NULL, "%s",
                  session_found.text[0]);
    lab_close(w.lab);
}
END_TEST

/* By a release that does not know the kind: one record by its bytes and its parent. */
START_TEST(unknown_kinds_are_verified_one_by_one)
{
    struct written w = session_write_both(12);
    struct lab *lab = w.lab;
    char id[40];
    for (int i = 0; i < 8; i++) {
        snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[i]);
        MUST(lab, session_verify(lab, &old_kinds, id));
        ck_assert_int_eq(session_found.n, 1);
        ck_assert_int_eq(session_found.at[0].kind, CAIRN_PROBLEM_UNREAD);
    }
    ck_assert(lab_flip(lab, w.notes[4], "record", -1, 2));
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[4]);
    ck_assert_int_eq(session_verify(lab, &old_kinds, id), CAIRN_EDAMAGED);
    ck_assert_int_eq(session_found.n, 1);
    ck_assert_int_eq(session_found.at[0].kind, CAIRN_PROBLEM_DAMAGE);
    ck_assert_uint_eq(session_found.at[0].seq, w.notes[4]);
    lab_sql(lab, "DELETE FROM checkpoint WHERE seq = %llu", w.notes[6]);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[7]);
    ck_assert_int_eq(session_verify(lab, &old_kinds, id), CAIRN_EDAMAGED);
    ck_assert_msg(strstr(session_found.text[0], "the record is missing") != NULL, "%s",
                  session_found.text[0]);
    ck_assert_int_eq(session_verify(lab, &old_kinds, "debug:99999"), CAIRN_ENOTFOUND);
    lab_close(lab);
}
END_TEST

static struct catalog catalog_of(struct lab *lab, const struct payload_kinds *kinds,
                                 uint8_t namespace_id)
{
    return (struct catalog){lab->store, lab->sha, kinds, namespace_id};
}

static int count_info(void *context, const struct cairn_checkpoint_info *info)
{
    int *n = context;
    ck_assert(!info->damaged);
    ck_assert_uint_eq(info->run + info->branch, 1);
    ck_assert_uint_eq(info->branch, info->namespace_id == CAIRN_NAMESPACE_DEBUG);
    ++*n;
    return 0;
}

START_TEST(each_lists_its_own)
{
    struct written w = session_write_both(2);
    struct chains in = session_chains(w.lab);
    struct catalog debug = catalog_of(w.lab, &session_kinds, NAMESPACE_DEBUG);
    struct catalog both = catalog_of(w.lab, &session_kinds, 0);
    struct cairn_checkpoint_filter all = {.page = {.all = true}};
    struct cairn_checkpoint_filter runs = {.namespace_id = CAIRN_NAMESPACE_WORKFLOW,
                                           .page = {.all = true}};
    struct cairn_checkpoint_info info;
    struct cairn_head head;
    uint64_t total, seq;
    char id[40];
    int n = 0;
    struct checkpoint_reader reader = {count_info, &n};
    MUST(w.lab, cairn_checkpoint_list(w.lab->store, &runs, count_info, &n, &total,
                                      &w.lab->error));
    ck_assert_int_eq(n, w.lab->n + 1);
    n = 0;
    MUST(w.lab, catalog_list(&debug, &all, &reader, &total, &w.lab->error));
    ck_assert_int_eq(n, 9);
    n = 0;
    MUST(w.lab, catalog_list(&both, &all, &reader, &total, &w.lab->error));
    ck_assert_int_eq(n, w.lab->n + 10);
    ck_assert_uint_eq(total, (uint64_t)n);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[7]);
    MUST(w.lab, catalog_get(&debug, id, &info, &w.lab->error));
    ck_assert_uint_eq(info.total, NOTES);
    ck_assert_int_eq(strncmp(info.id, id, strlen(id)), 0);
    MUST(w.lab, chain_head(&in, SESSION, &head, &w.lab->error));
    ck_assert_str_eq(head.id, info.id);
    ck_assert_uint_eq(head.position, 9);
    ck_assert_int_eq(checkpoint_find(w.lab->store, id, &seq, &w.lab->error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(catalog_get(&debug, "workflow:1", &info, &w.lab->error),
                     CAIRN_ENOTFOUND);
    lab_close(w.lab);
}
END_TEST

struct listed {
    int n, damaged;
    uint64_t damaged_seq;
};

static int note_listed(void *context, const struct cairn_checkpoint_info *info)
{
    struct listed *listed = context;
    ck_assert_int_eq(strncmp(info->id, "debug:", 6), 0);
    ck_assert_uint_eq(strlen(info->digest), 64);
    ck_assert_uint_ge(info->bytes, RECORD_HEADER_BYTES);
    ck_assert(!info->counted);
    ck_assert_uint_eq(info->position == 0, info->damaged);
    listed->n++;
    listed->damaged += info->damaged;
    if (info->damaged)
        listed->damaged_seq = info->seq;
    return 0;
}

/* By a release that does not know the kind: with all that rows and headers say. */
START_TEST(unknown_kinds_are_listed)
{
    struct written w = session_write_both(13);
    struct lab *lab = w.lab;
    struct catalog old = catalog_of(lab, &old_kinds, NAMESPACE_DEBUG);
    struct cairn_checkpoint_filter all = {.page = {.all = true}};
    struct cairn_checkpoint_info info;
    struct listed listed = {0};
    struct checkpoint_reader reader = {note_listed, &listed};
    char id[40];
    ck_assert_ptr_eq(debug_kind_of(&session_kinds), &session_kind);
    MUST(lab, catalog_list(&old, &all, &reader, NULL, &lab->error));
    ck_assert_int_eq(listed.n, 9);
    ck_assert_int_eq(listed.damaged, 0);
    for (int i = 0; i < 8; i++) {
        snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[i]);
        ck_assert_int_eq(catalog_get(&old, id, &info, &lab->error), CAIRN_ENEWER);
        ck_assert_msg(strstr(lab->error.text, "does not know") != NULL, "%s",
                      lab->error.text);
    }
    ck_assert(lab_flip(lab, w.notes[4], "record", -1, 2));
    listed = (struct listed){0};
    MUST(lab, catalog_list(&old, &all, &reader, NULL, &lab->error));
    ck_assert_int_eq(listed.n, 9);
    ck_assert_int_eq(listed.damaged, 1);
    ck_assert_uint_eq(listed.damaged_seq, w.notes[4]);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[4]);
    ck_assert_int_eq(catalog_get(&old, id, &info, &lab->error), CAIRN_EDAMAGED);
    lab_close(lab);
}
END_TEST

START_TEST(damage_is_named)
{
    struct written w = session_write_both(3);
    struct buf before = session_bytes(w.lab, NAMESPACE_WORKFLOW);
    struct catalog runs = catalog_of(w.lab, &session_kinds, NAMESPACE_WORKFLOW);
    char id[40];
    ck_assert(lab_flip(w.lab, w.notes[4], "record", -1, 2));
    session_expect_named(w.lab, &session_kinds, "debug", w.notes[4],
                         "What was noted there is lost");
    session_expect_named(w.lab, &old_kinds, "debug", w.notes[4],
                         "SHA-256 does not match");
    session_resume_run(w.lab);
    buf_release(&before);
    before = session_bytes(w.lab, NAMESPACE_WORKFLOW);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[4]);
    ck_assert_int_eq(catalog_delete(&runs, id, &w.lab->error), CAIRN_ENOTFOUND);
    struct catalog both = catalog_of(w.lab, &session_kinds, 0);
    MUST(w.lab, catalog_delete(&both, id, &w.lab->error));
    session_expect_sound(w.lab);
    session_expect_untouched(w.lab, NAMESPACE_WORKFLOW, &before);
    lab_close(w.lab);
}
END_TEST

/* Sound bytes without a meaning: only a program that knows the kind finds them. */
START_TEST(payloads_are_checked_by_their_kind)
{
    struct written w = session_write_both(4);
    struct lab *lab = w.lab;
    struct notes notes;
    struct chain chain = session_open(lab, &notes);
    char bytes[8 + 1 + DIGEST_SIZE] = {0};
    struct checkpoint_ref ref;
    memcpy(bytes, &chain.base, sizeof chain.base);
    bytes[8] = NOTES;
    struct chain_payload body = {.bytes = {bytes, sizeof bytes}};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, chain_append(&chain, &body, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    session_expect_named(lab, &session_kinds, "debug", ref.seq,
                         "it changes note 4 of 4");
    MUST(lab, session_verify(lab, &old_kinds, NULL));
    lab_close(lab);
}
END_TEST

/* ---- Pruning and deleting ---- */

START_TEST(pruning_stays_in_its_stream)
{
    struct written w = session_write_both(5);
    struct lab *lab = w.lab;
    struct chains in = session_chains(lab);
    struct retention wanted = {.stream = SESSION, .keep = 2};
    struct cairn_prune_options options = {.run = 1, .keep = 2};
    struct cairn_prune_result pruned;
    struct buf run = session_bytes(lab, NAMESPACE_WORKFLOW);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, chain_prune(&in, &wanted, &pruned, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    ck_assert_uint_eq(pruned.total, 9);
    ck_assert_uint_eq(pruned.kept, 3); /* a whole segment */
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
    struct buf session = session_bytes(lab, NAMESPACE_DEBUG);
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
    ck_assert_uint_gt(pruned.deleted, 0);
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_DEBUG, &session);
    session_in_new_process(lab, "note");
    session_in_new_process(lab, "resume");
    session_expect_sound(lab);
    lab_close(lab);
}
END_TEST

START_TEST(deleting_asks_the_kind)
{
    struct written w = session_write_both(6);
    struct lab *lab = w.lab;
    struct catalog both = catalog_of(lab, &session_kinds, 0);
    struct buf run = session_bytes(lab, NAMESPACE_WORKFLOW);
    char id[40];
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[6]);
    ck_assert_int_eq(catalog_delete(&both, id, &lab->error), CAIRN_EUSAGE);
    ck_assert_msg(strstr(lab->error.text, id) != NULL, "%s", lab->error.text);
    for (int i = 7; i >= 5; i--) { /* newest first; nothing keeps the newest here */
        snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[i]);
        MUST(lab, catalog_delete(&both, id, &lab->error));
    }
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
    lab_close(lab);
}
END_TEST

/* A tombstone of the session says nothing about the run of the same number. */
START_TEST(tombstones_cover_their_own)
{
    struct written w = session_write_both(7);
    struct lab *lab = w.lab;
    struct chains in = session_chains(lab);
    struct retention wanted = {.stream = SESSION, .keep = 1};
    struct cairn_prune_result pruned;
    struct attempt_row attempt = {.run = 1,
                                  .gen = 1,
                                  .number = 1,
                                  .intent_ns = 1,
                                  .ended_ns = 2,
                                  .outcome = CAIRN_COMPLETED,
                                  .exit_code = 0,
                                  .checkpoint = lab->seqs[5]};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_attempt(lab->store, &attempt, &lab->error));
    MUST(lab, chain_prune(&in, &wanted, &pruned, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    session_expect_sound(lab);
    lab_sql(lab, "DELETE FROM checkpoint WHERE namespace = 1 AND seq >= %llu",
            lab->seqs[5]);
    session_expect_named(lab, &session_kinds, "workflow", lab->seqs[5],
                         "an attempt of run 1 names it");
    lab_close(lab);
}
END_TEST

/* ---- Collecting ---- */

static bool has_note(struct lab *lab, const char *text)
{
    struct buf content = BUF_INIT;
    struct digest digest;
    sha256_begin(lab->sha);
    sha256_add(lab->sha, text, strlen(text));
    sha256_end(lab->sha, &digest);
    int rc = store_get_object(lab->store, &digest, &content, NULL);
    buf_release(&content);
    ck_assert(rc == 0 || rc == CAIRN_ENOTFOUND);
    return rc == 0;
}

START_TEST(notes_are_kept_while_named)
{
    struct written w = session_write_both(10);
    struct lab *lab = w.lab;
    struct chains in = session_chains(lab);
    struct retention wanted = {.stream = SESSION, .keep = 1};
    struct cairn_prune_result pruned;
    struct cairn_gc_result result;
    struct digest unused;
    struct buf run = session_bytes(lab, NAMESPACE_WORKFLOW);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_object(lab->store, STR("garbage"), &unused, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    struct buf session = session_bytes(lab, NAMESPACE_DEBUG);
    /* Where the kind is not known nothing is deleted. */
    ck_assert_int_eq(checkpoint_gc(lab->store, &old_kinds, NULL, &result, &lab->error),
                     CAIRN_ENEWER);
    ck_assert_msg(strstr(lab->error.text, "checkpoint debug:") != NULL, "%s",
                  lab->error.text);
    ck_assert_uint_eq(result.objects, 0);
    ck_assert(has_note(lab, "garbage"));
    MUST(lab, checkpoint_gc(lab->store, &session_kinds, NULL, &result, &lab->error));
    ck_assert_uint_eq(result.objects, 1);
    ck_assert(!has_note(lab, "garbage"));
    ck_assert(has_note(lab, "first") && has_note(lab, "second"));
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_DEBUG, &session);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, chain_prune(&in, &wanted, &pruned, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    MUST(lab, checkpoint_gc(lab->store, &session_kinds, NULL, &result, &lab->error));
    ck_assert(!has_note(lab, "first") && !has_note(lab, "second"));
    ck_assert(has_note(lab, "fourth") && has_note(lab, "seventh"));
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
    lab_close(lab);
}
END_TEST

static int end_row(void *context, const struct run_row *row)
{
    struct lab *lab = context;
    struct run_row changed = *row;
    changed.state = CAIRN_RUN_COMPLETED;
    changed.ended_ns = 5;
    return store_set_run(lab->store, &changed, &lab->error);
}

/* The run is removed with its stream; the session of the same number is kept. */
START_TEST(removing_a_run_leaves_the_session)
{
    struct written w = session_write_both(11);
    struct lab *lab = w.lab;
    struct cairn_gc_options options = {.keep_runs = 1};
    struct cairn_gc_result result;
    struct digest graph;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_get_run(lab->store, 1, end_row, lab, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    uint64_t run = lab_run(lab, "nightly", 0, 0, &graph);
    lab->stream = run_stream_of(lab->store, lab->sha, run, &graph);
    lab_put(lab, "F");
    struct buf session = session_bytes(lab, NAMESPACE_DEBUG);
    MUST(lab,
         checkpoint_gc(lab->store, &session_kinds, &options, &result, &lab->error));
    ck_assert_uint_eq(result.runs, 1);
    ck_assert(has_note(lab, "first"));
    session_expect_sound(lab);
    session_expect_untouched(lab, NAMESPACE_DEBUG, &session);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, both_verify);
    tcase_add_test(tests, unknown_kinds_are_verified_one_by_one);
    tcase_add_test(tests, each_lists_its_own);
    tcase_add_test(tests, unknown_kinds_are_listed);
    tcase_add_test(tests, damage_is_named);
    tcase_add_test(tests, payloads_are_checked_by_their_kind);
    tcase_add_test(tests, pruning_stays_in_its_stream);
    tcase_add_test(tests, deleting_asks_the_kind);
    tcase_add_test(tests, tombstones_cover_their_own);
    tcase_add_test(tests, notes_are_kept_while_named);
    tcase_add_test(tests, removing_a_run_leaves_the_session);
}

int main(int argc, char **argv)
{
    return session_main(argc, argv, "payload_kind", add);
}
