/* SPDX-License-Identifier: MIT */
/*   full   u8 count, count digests of notes (objects)
 *   delta  u64 seq of the full record, u8 index, digest of the note that is there now
 */
#include "tests/support/session.h"

#include "base/str.h"
#include "checkpoint/verify/verify.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- The kind ---- */

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
        rc = check->root(check->context, &notes.at[i], false);
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
    return check->roots == ROOTS_NONE
               ? 0
               : check->root(check->context, &change.note, false);
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

const struct payload_kind session_kind = {
    .namespace_id = NAMESPACE_DEBUG,
    .stream_noun = "session",
    .loss_text = "What was noted there is lost",
    .restart = "begin another session",
    .root_noun = "note",
    .root_loss = "it cannot be read",
    .part_lost = "a repair could not save it",
    .check = check_notes,
    .describe = describe_notes,
    .state_bytes = sizeof(struct notes),
    .apply = apply_notes,
    .state_release = release_notes,
    .summarize = summarize_notes,
};

const struct payload_kinds session_kinds = {
    .at = {[NAMESPACE_WORKFLOW] = &outcomes_kind, [NAMESPACE_DEBUG] = &session_kind}};
const struct payload_kinds old_kinds = {.at = {[NAMESPACE_WORKFLOW] = &outcomes_kind}};

/* ---- Writing it ---- */

struct chains session_chains(struct lab *lab)
{
    return (struct chains){lab->store, lab->sha, &session_kind};
}

/* The session's chain as it stands, which may have no record yet. */
struct chain session_open(struct lab *lab, struct notes *notes)
{
    struct chains in = session_chains(lab);
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
uint64_t session_put_note(struct lab *lab, bool full, const char *text)
{
    struct notes notes;
    struct chain chain = session_open(lab, &notes);
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

/* Other processes are the program itself, started with the name of a part to play. */
void session_in_new_process(struct lab *lab, const char *part)
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
void session_resume_run(struct lab *lab)
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
    session_put_note(lab, false, "noted by another process");
    session_put_note(lab, true, "and once more");
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
        session_resume_run(&lab);
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

struct written session_write_both(uint64_t seed)
{
    struct lab *lab = lab_open(seed);
    struct written w = {.lab = lab};
    lab_put(lab, "FD");
    w.notes[0] = session_put_note(lab, true, "first");
    lab_put(lab, "D");
    w.notes[1] = session_put_note(lab, false, "second");
    w.notes[2] = session_put_note(lab, false, "third");
    lab_put(lab, "FDD");
    session_in_new_process(lab, "note");
    w.notes[3] = w.notes[2] + 5;
    w.notes[4] = session_put_note(lab, false, "fourth");
    session_in_new_process(lab, "resume");
    w.notes[5] = session_put_note(lab, true, "fifth");
    w.notes[6] = session_put_note(lab, false, "sixth");
    w.notes[7] = session_put_note(lab, false, "seventh");
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
struct buf session_bytes(struct lab *lab, uint8_t namespace_id)
{
    struct buf bytes = BUF_INIT;
    struct checkpoint_range all = {.namespace_id = namespace_id};
    MUST(lab, store_each_checkpoint(lab->store, &all, add_row, &bytes, &lab->error));
    MUST(lab, store_each_tombstone(lab->store, namespace_id, 0, add_tombstone, &bytes,
                                   &lab->error));
    ck_assert(!bytes.failed && bytes.size > 0);
    return bytes;
}

void session_expect_untouched(struct lab *lab, uint8_t namespace_id, struct buf *before)
{
    struct buf now = session_bytes(lab, namespace_id);
    ck_assert(str_equal(buf_view(&now), buf_view(before)));
    buf_release(&now);
    buf_release(before);
}

/* ---- Verifying ---- */

struct session_found session_found;

static int note_problem(void *context, const struct cairn_problem *problem)
{
    (void)context;
    ck_assert_int_lt(session_found.n, 8);
    snprintf(session_found.text[session_found.n], 400, "%s: %s", problem->id,
             problem->text);
    session_found.at[session_found.n++] = *problem;
    return 0;
}

int session_verify(struct lab *lab, const struct payload_kinds *kinds, const char *id)
{
    struct verify_reader reader = {note_problem, NULL};
    memset(&session_found, 0, sizeof session_found);
    return checkpoint_verify(lab->store, kinds, id, &reader, NULL, &lab->error);
}

void session_expect_sound(struct lab *lab)
{
    int rc = session_verify(lab, &session_kinds, NULL);
    ck_assert_msg(rc == 0 && session_found.n == 0, "%d %s; %s", rc, lab->error.text,
                  session_found.text[0]);
}

/* One problem, of `seq` in that namespace, whose text has `part` in it. */
void session_expect_named(struct lab *lab, const struct payload_kinds *kinds,
                          const char *prefix, uint64_t seq, const char *part)
{
    char id[CAIRN_ID_MAX];
    int rc = session_verify(lab, kinds, NULL);
    snprintf(id, sizeof id, "%s:%llu", prefix, (unsigned long long)seq);
    ck_assert_msg(rc == CAIRN_EDAMAGED && session_found.n >= 1, "%d", rc);
    ck_assert_msg(session_found.at[0].seq == seq &&
                      !strncmp(session_found.at[0].id, id, strlen(id)),
                  "%s", session_found.text[0]);
    ck_assert_msg(strstr(session_found.text[0], part) != NULL, "%s",
                  session_found.text[0]);
    if (kinds == &session_kinds)
        ck_assert_msg(session_found.n == 1, "%s", session_found.text[1]);
}

int session_main(int argc, char **argv, const char *name, void (*add)(TCase *))
{
    return argc == 3 ? play(argv[1], argv[2]) : lab_run_suite(name, add);
}
