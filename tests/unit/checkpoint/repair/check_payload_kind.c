/* SPDX-License-Identifier: MIT */
/* The seam between chains and payloads: a second kind, which only exists here, writes a
 * `debug:` stream into the store of a run. Each stream is verified, thinned out,
 * damaged, repaired and collected beside the other, and the other stays as it was, byte
 * for byte. Both have the number 1, so that whoever forgets the namespace is noticed.
 *
 *   full   u8 count, count digests of notes (objects)
 *   delta  u64 seq of the full record, u8 index, digest of the note that is there now
 */
#include "tests/support/checkpoint.h"

#include "checkpoint/find.h"
#include "checkpoint/gc.h"
#include "checkpoint/repair/repair.h"
#include "checkpoint/retain.h"
#include "checkpoint/tombstones_int.h"
#include "checkpoint/verify.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- The kind ---- */

enum { NOTES = 4, SESSION = 1 };

struct notes {
    uint8_t n;
    struct digest at[NOTES];
    uint32_t changes;
};

static int read_full(struct str payload, struct notes *notes, struct cairn_error *error)
{
    struct reader in = reader_of(payload.ptr, payload.len);
    *notes = (struct notes){.n = read_byte(&in)};
    for (uint8_t i = 0; i < notes->n && i < NOTES; i++) {
        struct str bytes = read_bytes(&in, DIGEST_SIZE);
        if (bytes.len == DIGEST_SIZE)
            memcpy(notes->at[i].bytes, bytes.ptr, DIGEST_SIZE);
    }
    return reader_done(&in) && notes->n <= NOTES
               ? 0
               : error_set(error, CAIRN_EDAMAGED, "its notes do not fill it");
}

struct note_change {
    uint64_t base;
    uint8_t index;
    struct digest note;
};

static int read_delta(struct str payload, struct note_change *change,
                      struct cairn_error *error)
{
    struct reader in = reader_of(payload.ptr, payload.len);
    change->base = read_u64(&in);
    change->index = read_byte(&in);
    struct str bytes = read_bytes(&in, DIGEST_SIZE);
    if (!reader_done(&in) || change->base == 0)
        return error_set(error, CAIRN_EDAMAGED, "its change of a note is too short");
    memcpy(change->note.bytes, bytes.ptr, DIGEST_SIZE);
    return 0;
}

static int check_full(const struct sound_record *record, struct payload_check *check,
                      struct cairn_error *error)
{
    struct notes notes;
    int rc = read_full(record->payload, &notes, error);
    if (rc)
        return rc;
    check->base = record->header.seq;
    if (check->frame)
        *check->frame = (struct payload_frame){.base = check->base, .size = notes.n};
    for (uint8_t i = 0; i < notes.n && check->roots != ROOTS_NONE && !rc; i++)
        rc = check->root(check->context, &notes.at[i]);
    return rc;
}

static int check_notes(const struct sound_record *record, struct payload_check *check,
                       struct cairn_error *error)
{
    struct note_change change;
    check->base = 0;
    if (record->header.kind == RECORD_FULL)
        return check_full(record, check, error);
    int rc = read_delta(record->payload, &change, error);
    if (rc)
        return rc;
    check->base = change.base;
    if (check->frame && check->frame->base == change.base &&
        change.index >= check->frame->size)
        return error_set(error, CAIRN_EDAMAGED, "it changes note %u of %u",
                         change.index, check->frame->size);
    return check->roots == ROOTS_NONE ? 0 : check->root(check->context, &change.note);
}

static int apply_notes(void *state, const struct sound_record *record,
                       struct payload_check *check, struct cairn_error *error)
{
    struct notes *notes = state;
    struct note_change change;
    struct payload_check frame = {.frame = check->frame};
    if (record->header.kind == RECORD_FULL) {
        int rc = check_full(record, &frame, error);
        check->base = frame.base;
        return rc ? rc : read_full(record->payload, notes, error);
    }
    int rc = read_delta(record->payload, &change, error);
    if (rc)
        return rc;
    check->base = change.base;
    if (change.index >= notes->n)
        return error_set(error, CAIRN_EDAMAGED, "it changes note %u of %u",
                         change.index, notes->n);
    notes->at[change.index] = change.note;
    notes->changes = 1;
    return 0;
}

static void release_notes(void *state)
{
    memset(state, 0, sizeof(struct notes));
}

static int describe_notes(const struct sound_record *record,
                          struct cairn_checkpoint_info *info, struct cairn_error *error)
{
    (void)error;
    info->changes = record->header.kind == RECORD_DELTA;
    return 0;
}

static void summarize_notes(const void *state, struct cairn_checkpoint_info *info)
{
    const struct notes *notes = state;
    info->total = notes->n;
    info->changes = notes->changes;
}

static const struct payload_kind notes_kind = {
    .namespace_id = NAMESPACE_DEBUG,
    .stream_noun = "session",
    .loss_text = "What was noted there is lost",
    .restart = "begin another session",
    .root_noun = "note",
    .root_loss = "it cannot be read",
    .check = check_notes,
    .describe = describe_notes,
    .state_bytes = sizeof(struct notes),
    .apply = apply_notes,
    .state_release = release_notes,
    .summarize = summarize_notes,
};

static const struct payload_kinds both = {
    .at = {[NAMESPACE_WORKFLOW] = &outcomes_kind, [NAMESPACE_DEBUG] = &notes_kind}};

/* ---- Writing it ---- */

static struct chains debug_of(struct lab *lab)
{
    return (struct chains){lab->store, lab->sha, &notes_kind};
}

/* The session's chain as it stands, which may have no record yet. */
static struct chain open_session(struct lab *lab, struct notes *notes)
{
    struct chains in = debug_of(lab);
    struct chain_recovery recovery;
    struct cairn_error error = {0};
    *notes = (struct notes){0};
    int rc = chain_recover(&in, SESSION, notes, &recovery, &error);
    if (rc == CAIRN_ENOTFOUND)
        return (struct chain){.in = in, .id = SESSION};
    ck_assert_msg(rc == 0, "%s", error.text);
    struct chain head = recovery.head;
    chain_recovery_release(&recovery);
    return head;
}

/* One record in a transaction of its own, with a new note; its seq. */
static uint64_t put_note(struct lab *lab, bool full, const char *text)
{
    struct notes notes;
    struct chain chain = open_session(lab, &notes);
    struct buf payload = BUF_INIT;
    struct digest note;
    struct checkpoint_ref ref;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_object(lab->store, str_of(text), &note, &lab->error));
    if (full) {
        buf_byte(&payload, NOTES);
        for (int i = 0; i < NOTES; i++)
            buf_add(&payload, i == 0 || !notes.n ? note.bytes : notes.at[i].bytes,
                    DIGEST_SIZE);
    } else {
        buf_u64(&payload, chain.base);
        buf_byte(&payload, (uint8_t)(chain.position % NOTES));
        buf_add(&payload, note.bytes, DIGEST_SIZE);
    }
    struct chain_payload body = {
        .bytes = buf_view(&payload), .size = NOTES, .full = full, .time_ns = 9};
    MUST(lab, chain_append(&chain, &body, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    buf_release(&payload);
    return ref.seq;
}

/* ---- Both streams ---- */

struct written {
    struct lab *lab;
    uint64_t notes[8]; /* seqs of the session: F D D F D F D D */
};

/* Other processes are the program itself, started with the name of a part to play. */
static void in_new_process(struct lab *lab, const char *part)
{
    char self[] = "/proc/self/exe", name[16];
    char *argv[] = {self, name, lab->path, NULL};
    pid_t pid;
    int status;
    snprintf(name, sizeof name, "%s", part);
    cairn_store_close(lab->store);
    lab->store = NULL;
    ck_assert_int_eq(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    lab_store(lab);
}

/* A delta of the run by a process that knows nothing but the store. */
static void resume_run(struct lab *lab)
{
    struct recovery recovery;
    struct checkpoint_ref ref;
    const struct change change = {.task = 3, .outcome = CAIRN_COMPLETED, .attempts = 1};
    MUST(lab, outcomes_recover(lab->store, lab->sha, 1, &recovery, &lab->error));
    ck_assert(!recovery.gap);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_delta(&recovery.head, &change, 1, 5, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    recovery_release(&recovery);
}

static void note_twice(struct lab *lab)
{
    put_note(lab, false, "noted by another process");
    put_note(lab, true, "and once more");
}

static const char *part_played, *store_played;

START_TEST(play_part)
{
    struct lab lab = {.sha = sha256_new()};
    snprintf(lab.path, sizeof lab.path, "%s", store_played);
    ck_assert_ptr_nonnull(lab.sha);
    lab_store(&lab);
    if (strcmp(part_played, "note") == 0)
        note_twice(&lab);
    else
        resume_run(&lab);
    cairn_store_close(lab.store);
    sha256_free(lab.sha);
}
END_TEST

/* In a runner of its own, since only within a test assertions work. */
static int play(const char *part, const char *path)
{
    part_played = part;
    store_played = path;
    unsetenv("CK_TAP_LOG_FILE_NAME");
    Suite *suite = suite_create(part);
    TCase *tests = tcase_create(part);
    tcase_add_test(tests, play_part);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

static struct written write_both(uint64_t seed)
{
    struct lab *lab = lab_open(seed);
    struct written w = {.lab = lab};
    lab_put(lab, "FD");
    w.notes[0] = put_note(lab, true, "first");
    lab_put(lab, "D");
    w.notes[1] = put_note(lab, false, "second");
    w.notes[2] = put_note(lab, false, "third");
    lab_put(lab, "FDD");
    in_new_process(lab, "note");
    w.notes[3] = w.notes[2] + 5;
    w.notes[4] = put_note(lab, false, "fourth");
    in_new_process(lab, "resume");
    w.notes[5] = put_note(lab, true, "fifth");
    w.notes[6] = put_note(lab, false, "sixth");
    w.notes[7] = put_note(lab, false, "seventh");
    return w;
}

/* ---- A namespace as bytes ---- */

static int add_row(void *context, const struct checkpoint_row *row)
{
    struct buf *bytes = context;
    buf_u64(bytes, row->seq);
    buf_u64(bytes, row->stream);
    buf_u64(bytes, row->parent);
    buf_u64(bytes, (uint64_t)row->time_ns);
    buf_byte(bytes, row->kind);
    buf_str(bytes, row->record);
    buf_str(bytes, row->digest);
    return 0;
}

static int add_tombstone(void *context, const struct tombstone_row *row)
{
    struct buf *bytes = context;
    const uint64_t numbers[] = {row->stream, row->first, row->last, row->count};
    buf_add(bytes, numbers, sizeof numbers);
    buf_add(bytes, row->before.bytes, DIGEST_SIZE);
    buf_add(bytes, row->after.bytes, DIGEST_SIZE);
    buf_u64(bytes, (uint64_t)row->time_ns);
    return 0;
}

/* All rows and tombstones of a namespace, to be released. */
static struct buf bytes_of(struct lab *lab, uint8_t namespace_id)
{
    struct buf bytes = BUF_INIT;
    struct checkpoint_range all = {.namespace_id = namespace_id};
    MUST(lab, store_each_checkpoint(lab->store, &all, add_row, &bytes, &lab->error));
    MUST(lab, store_each_tombstone(lab->store, namespace_id, 0, add_tombstone, &bytes,
                                   &lab->error));
    ck_assert(!bytes.failed && bytes.size > 0);
    return bytes;
}

static void expect_untouched(struct lab *lab, uint8_t namespace_id, struct buf *before)
{
    struct buf now = bytes_of(lab, namespace_id);
    ck_assert(str_equal(buf_view(&now), buf_view(before)));
    buf_release(&now);
    buf_release(before);
}

/* ---- Verifying ---- */

static struct {
    int n;
    struct cairn_problem at[8];
    char text[8][400];
} found;

static int note_problem(void *context, const struct cairn_problem *problem)
{
    (void)context;
    ck_assert_int_lt(found.n, 8);
    snprintf(found.text[found.n], 400, "%s: %s", problem->id, problem->text);
    found.at[found.n++] = *problem;
    return 0;
}

static int verify(struct lab *lab, const struct payload_kinds *kinds, const char *id)
{
    struct verify_reader reader = {note_problem, NULL};
    memset(&found, 0, sizeof found);
    return checkpoint_verify(lab->store, kinds, id, &reader, NULL, &lab->error);
}

static void expect_sound(struct lab *lab)
{
    int rc = verify(lab, &both, NULL);
    ck_assert_msg(rc == 0 && found.n == 0, "%d %s; %s", rc, lab->error.text,
                  found.text[0]);
}

/* One problem, of `seq` in that namespace, whose text has `part` in it. */
static void expect_named(struct lab *lab, const struct payload_kinds *kinds,
                         const char *prefix, uint64_t seq, const char *part)
{
    char id[CAIRN_ID_MAX];
    int rc = verify(lab, kinds, NULL);
    snprintf(id, sizeof id, "%s:%llu", prefix, (unsigned long long)seq);
    ck_assert_msg(rc == CAIRN_EDAMAGED && found.n >= 1, "%d", rc);
    ck_assert_msg(found.at[0].seq == seq && !strncmp(found.at[0].id, id, strlen(id)),
                  "%s", found.text[0]);
    ck_assert_msg(strstr(found.text[0], part) != NULL, "%s", found.text[0]);
    if (kinds == &both)
        ck_assert_msg(found.n == 1, "%s", found.text[1]);
}

START_TEST(both_verify)
{
    struct written w = write_both(1);
    char id[40];
    expect_sound(w.lab);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[7]);
    MUST(w.lab, verify(w.lab, &both, id));
    /* A release that does not know the kind says so, once, and finds no damage. */
    MUST(w.lab, verify(w.lab, &payload_kinds, NULL));
    ck_assert_int_eq(found.n, 1);
    ck_assert_int_eq(found.at[0].kind, CAIRN_PROBLEM_UNREAD);
    ck_assert_msg(strstr(found.text[0], "namespace debug") != NULL, "%s",
                  found.text[0]);
    ck_assert_int_eq(verify(w.lab, &payload_kinds, id), CAIRN_ENOTFOUND);
    lab_close(w.lab);
}
END_TEST

static int count_info(void *context, const struct cairn_checkpoint_info *info)
{
    int *n = context;
    ck_assert(!info->damaged);
    ck_assert_uint_eq(info->run, 1);
    ++*n;
    return 0;
}

START_TEST(each_lists_its_own)
{
    struct written w = write_both(2);
    struct chains in = debug_of(w.lab);
    struct cairn_checkpoint_filter all = {.page = {.all = true}};
    struct cairn_checkpoint_info info;
    struct cairn_head head;
    uint64_t total, seq;
    char id[40];
    int n = 0;
    struct checkpoint_reader reader = {count_info, &n};
    MUST(w.lab, cairn_checkpoint_list(w.lab->store, &all, count_info, &n, &total,
                                      &w.lab->error));
    ck_assert_int_eq(n, w.lab->n + 1);
    n = 0;
    MUST(w.lab, chain_list(&in, &all, &reader, &total, &w.lab->error));
    ck_assert_int_eq(n, 9);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[7]);
    MUST(w.lab, chain_get(&in, id, &info, &w.lab->error));
    ck_assert_uint_eq(info.total, NOTES);
    ck_assert_int_eq(strncmp(info.id, id, strlen(id)), 0);
    MUST(w.lab, chain_head(&in, SESSION, &head, &w.lab->error));
    ck_assert_str_eq(head.id, info.id);
    ck_assert_uint_eq(head.position, 9);
    ck_assert_int_eq(checkpoint_find(w.lab->store, id, &seq, &w.lab->error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(chain_get(&in, "workflow:1", &info, &w.lab->error),
                     CAIRN_ENOTFOUND);
    lab_close(w.lab);
}
END_TEST

START_TEST(damage_is_named)
{
    struct written w = write_both(3);
    struct buf before = bytes_of(w.lab, NAMESPACE_WORKFLOW);
    struct chains in = debug_of(w.lab);
    char id[40];
    ck_assert(lab_flip(w.lab, w.notes[4], "record", -1, 2));
    expect_named(w.lab, &both, "debug", w.notes[4], "What was noted there is lost");
    expect_named(w.lab, &payload_kinds, "debug", w.notes[4], "SHA-256 does not match");
    resume_run(w.lab);
    buf_release(&before);
    before = bytes_of(w.lab, NAMESPACE_WORKFLOW);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[4]);
    ck_assert_int_eq(cairn_checkpoint_delete(w.lab->store, id, &w.lab->error),
                     CAIRN_ENOTFOUND);
    in = debug_of(w.lab);
    MUST(w.lab, chain_delete(&in, id, &w.lab->error));
    expect_sound(w.lab);
    expect_untouched(w.lab, NAMESPACE_WORKFLOW, &before);
    lab_close(w.lab);
}
END_TEST

/* Bytes that are sound and mean nothing: only who knows the kind can tell. */
START_TEST(payloads_are_checked_by_their_kind)
{
    struct written w = write_both(4);
    struct lab *lab = w.lab;
    struct notes notes;
    struct chain chain = open_session(lab, &notes);
    char bytes[8 + 1 + DIGEST_SIZE] = {0};
    struct checkpoint_ref ref;
    memcpy(bytes, &chain.base, sizeof chain.base);
    bytes[8] = NOTES;
    struct chain_payload body = {.bytes = {bytes, sizeof bytes}};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, chain_append(&chain, &body, &ref, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    expect_named(lab, &both, "debug", ref.seq, "it changes note 4 of 4");
    MUST(lab, verify(lab, &payload_kinds, NULL));
    lab_close(lab);
}
END_TEST

/* ---- Thinning out ---- */

START_TEST(pruning_stays_in_its_stream)
{
    struct written w = write_both(5);
    struct lab *lab = w.lab;
    struct chains in = debug_of(lab);
    struct retention wanted = {.stream = SESSION, .keep = 2};
    struct cairn_prune_options options = {.run = 1, .keep = 2};
    struct cairn_prune_result pruned;
    struct buf run = bytes_of(lab, NAMESPACE_WORKFLOW);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, chain_prune(&in, &wanted, &pruned, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    ck_assert_uint_eq(pruned.total, 9);
    ck_assert_uint_eq(pruned.kept, 3); /* a whole segment */
    expect_sound(lab);
    expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
    struct buf session = bytes_of(lab, NAMESPACE_DEBUG);
    MUST(lab, cairn_checkpoint_prune(lab->store, &options, &pruned, &lab->error));
    ck_assert_uint_gt(pruned.deleted, 0);
    expect_sound(lab);
    expect_untouched(lab, NAMESPACE_DEBUG, &session);
    in_new_process(lab, "note");
    in_new_process(lab, "resume");
    expect_sound(lab);
    lab_close(lab);
}
END_TEST

START_TEST(deleting_asks_the_kind)
{
    struct written w = write_both(6);
    struct lab *lab = w.lab;
    struct chains in = debug_of(lab);
    struct buf run = bytes_of(lab, NAMESPACE_WORKFLOW);
    char id[40];
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[6]);
    ck_assert_int_eq(chain_delete(&in, id, &lab->error), CAIRN_EUSAGE);
    ck_assert_msg(strstr(lab->error.text, id) != NULL, "%s", lab->error.text);
    for (int i = 7; i >= 5; i--) { /* newest first; nothing keeps the newest here */
        snprintf(id, sizeof id, "debug:%llu", (unsigned long long)w.notes[i]);
        MUST(lab, chain_delete(&in, id, &lab->error));
    }
    expect_sound(lab);
    expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
    lab_close(lab);
}
END_TEST

/* A tombstone of the session says nothing about the run of the same number. */
START_TEST(tombstones_cover_their_own)
{
    struct written w = write_both(7);
    struct lab *lab = w.lab;
    struct chains in = debug_of(lab);
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
    expect_sound(lab);
    lab_sql(lab, "DELETE FROM checkpoint WHERE namespace = 1 AND seq >= %llu",
            lab->seqs[5]);
    expect_named(lab, &both, "workflow", lab->seqs[5], "an attempt of run 1 names it");
    lab_close(lab);
}
END_TEST

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
    MUST(lab, verify(lab, kinds, NULL));
}

/* Also by a release that does not know the kind: nothing else of it is lost. */
START_TEST(repairing_a_session)
{
    static const struct payload_kinds *const kinds[] = {&both, &payload_kinds};
    for (int i = 0; i < 2; i++) {
        struct written w = write_both(8);
        struct lab *lab = w.lab;
        struct buf run = bytes_of(lab, NAMESPACE_WORKFLOW);
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
        expect_sound(lab);
        expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
        put_note(lab, true, "after the repair");
        in_new_process(lab, "resume");
        expect_sound(lab);
        lab_close(lab);
    }
}
END_TEST

START_TEST(repairing_a_run)
{
    struct written w = write_both(9);
    struct lab *lab = w.lab;
    struct buf session = bytes_of(lab, NAMESPACE_DEBUG);
    char text[80];
    lab_damage(lab, 4);
    repair(lab, &payload_kinds);
    snprintf(text, sizeof text, "checkpoint workflow:%llu of run 1",
             (unsigned long long)lab->seqs[4]);
    ck_assert_str_eq(losses[0], text);
    expect_sound(lab);
    expect_untouched(lab, NAMESPACE_DEBUG, &session);
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
    struct written w = write_both(10);
    struct lab *lab = w.lab;
    struct chains in = debug_of(lab);
    struct retention wanted = {.stream = SESSION, .keep = 1};
    struct cairn_prune_result pruned;
    struct cairn_gc_result result;
    struct digest unused;
    struct buf run = bytes_of(lab, NAMESPACE_WORKFLOW);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_object(lab->store, STR("garbage"), &unused, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    struct buf session = bytes_of(lab, NAMESPACE_DEBUG);
    /* Who does not know the kind deletes nothing. */
    ck_assert_int_eq(cairn_gc(lab->store, NULL, &result, &lab->error), CAIRN_ENEWER);
    ck_assert_msg(strstr(lab->error.text, "checkpoint debug:") != NULL, "%s",
                  lab->error.text);
    ck_assert_uint_eq(result.objects, 0);
    ck_assert(has_note(lab, "garbage"));
    MUST(lab, checkpoint_gc(lab->store, &both, NULL, &result, &lab->error));
    ck_assert_uint_eq(result.objects, 1);
    ck_assert(!has_note(lab, "garbage"));
    ck_assert(has_note(lab, "first") && has_note(lab, "second"));
    expect_sound(lab);
    expect_untouched(lab, NAMESPACE_DEBUG, &session);
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, chain_prune(&in, &wanted, &pruned, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    MUST(lab, checkpoint_gc(lab->store, &both, NULL, &result, &lab->error));
    ck_assert(!has_note(lab, "first") && !has_note(lab, "second"));
    ck_assert(has_note(lab, "fourth") && has_note(lab, "seventh"));
    expect_sound(lab);
    expect_untouched(lab, NAMESPACE_WORKFLOW, &run);
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

/* The run goes, with its stream; the session of the same number stays. */
START_TEST(removing_a_run_leaves_the_session)
{
    struct written w = write_both(11);
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
    struct buf session = bytes_of(lab, NAMESPACE_DEBUG);
    MUST(lab, checkpoint_gc(lab->store, &both, &options, &result, &lab->error));
    ck_assert_uint_eq(result.runs, 1);
    ck_assert(has_note(lab, "first"));
    expect_sound(lab);
    expect_untouched(lab, NAMESPACE_DEBUG, &session);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, both_verify);
    tcase_add_test(tests, each_lists_its_own);
    tcase_add_test(tests, damage_is_named);
    tcase_add_test(tests, payloads_are_checked_by_their_kind);
    tcase_add_test(tests, pruning_stays_in_its_stream);
    tcase_add_test(tests, deleting_asks_the_kind);
    tcase_add_test(tests, tombstones_cover_their_own);
    tcase_add_test(tests, repairing_a_session);
    tcase_add_test(tests, repairing_a_run);
    tcase_add_test(tests, notes_are_kept_while_named);
    tcase_add_test(tests, removing_a_run_leaves_the_session);
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return play(argv[1], argv[2]);
    return lab_run_suite("payload_kind", add);
}
