/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Streams of sessions: appended, read back, begun at another one's checkpoint, written
 * by two processes, and gone on with after damage. */
#include "tests/support/sessions/sections.h"

#include "storage/rows_checkpoint.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Of the lab's session, which is made first. */
static uint64_t branch_of(struct lab *lab, const char *name, uint64_t from_seq)
{
    uint64_t session = 1;
    if (strcmp(name, "main") == 0)
        session = sections_session(lab, "cache");
    ck_assert_uint_eq(session, 1);
    return sections_branch(lab, session, name, from_seq);
}

static struct chain open_branch(struct lab *lab, uint64_t branch, struct arena *arena,
                                struct sections *last)
{
    struct chain head;
    MUST(lab,
         sections_open(lab->store, lab->sha, branch, &head, arena, last, &lab->error));
    return head;
}

static void expect_sound(struct lab *lab)
{
    int rc = cairn_checkpoint_verify(lab->store, NULL, NULL, NULL, NULL, &lab->error);
    ck_assert_msg(rc == 0, "%s", lab->error.text);
}

static struct sections_at read_at(struct lab *lab, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections found;
    struct sections_at at;
    MUST(lab,
         sections_read(lab->store, lab->sha, seq, &arena, &found, &at, &lab->error));
    arena_release(&arena);
    return at;
}

START_TEST(written_and_read)
{
    enum { N = 40 };
    struct lab *lab = lab_open(21);
    struct arena arena = ARENA_INIT;
    uint64_t branch = branch_of(lab, "main", 0), seqs[N];
    struct sections what[N], last;
    for (int i = 0; i < N; i++) {
        what[i] = sections_random(lab, &arena);
        seqs[i] = sections_put(lab, branch, &what[i]);
        if (i % 5 == 0)
            lab_put(lab, "F"); /* both namespaces count on */
    }
    cairn_store_close(lab->store);
    lab_store(lab);
    for (int i = 0; i < N; i++) {
        sections_expect(lab, seqs[i], &what[i]);
        struct sections_at at = read_at(lab, seqs[i]);
        ck_assert_uint_eq(at.branch, branch);
        ck_assert_uint_eq(at.session, 1);
        ck_assert_uint_eq(at.parent, i ? seqs[i - 1] : 0);
        ck_assert_int_eq(at.time_ns, 1000);
    }
    struct chain head = open_branch(lab, branch, &arena, &last);
    ck_assert(sections_same(&last, &what[N - 1]));
    ck_assert_uint_eq(head.position, N);
    ck_assert_uint_eq(head.parent, seqs[N - 1]);
    arena_release(&arena);
    lab_close(lab);
}
END_TEST

START_TEST(what_is_not_there)
{
    struct lab *lab = lab_open(22);
    struct arena arena = ARENA_INIT;
    struct sections found;
    struct chain head;
    uint64_t branch = branch_of(lab, "main", 0);
    lab_put(lab, "F");
    ck_assert_int_eq(sections_read(lab->store, lab->sha, lab->seqs[0], &arena, &found,
                                   NULL, &lab->error),
                     CAIRN_ENOTFOUND); /* that is a run's */
    ck_assert_int_eq(
        sections_read(lab->store, lab->sha, 99, &arena, &found, NULL, &lab->error),
        CAIRN_ENOTFOUND);
    ck_assert_int_eq(sections_open(lab->store, lab->sha, branch + 50, &head, &arena,
                                   NULL, &lab->error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(
        sections_open(lab->store, lab->sha, 0, &head, &arena, NULL, &lab->error),
        CAIRN_ENOTFOUND);
    head = open_branch(lab, branch, &arena, &found);
    ck_assert_uint_eq(head.position, 0);
    ck_assert_uint_eq(head.parent, 0);
    arena_release(&arena);
    lab_close(lab);
}
END_TEST

/* The first parent of a branch is where it left, also after others were appended there.
 */
START_TEST(branches_begin_at_checkpoints)
{
    struct lab *lab = lab_open(23);
    struct arena arena = ARENA_INIT;
    uint64_t main = branch_of(lab, "main", 0), seqs[3];
    for (int i = 0; i < 3; i++)
        seqs[i] = sections_note(lab, main, "on main");
    uint64_t side = branch_of(lab, "side", seqs[1]);
    struct chain head = open_branch(lab, side, &arena, NULL);
    ck_assert_uint_eq(head.position, 0);
    ck_assert_uint_eq(head.parent, seqs[1]);
    struct digest digest = read_at(lab, seqs[1]).ref.digest;
    ck_assert(digest_equal(&head.parent_digest, &digest));
    uint64_t first = sections_note(lab, side, "on the side");
    ck_assert_uint_eq(read_at(lab, first).parent, seqs[1]);
    ck_assert_uint_eq(read_at(lab, sections_note(lab, side, "more")).parent, first);
    ck_assert_uint_eq(read_at(lab, sections_note(lab, main, "more")).parent, seqs[2]);
    expect_sound(lab);
    arena_release(&arena);
    lab_close(lab);
}
END_TEST

/* The record before the damaged ones is the parent of the next one. */
START_TEST(damaged_records_are_passed_over)
{
    struct lab *lab = lab_open(24);
    struct arena arena = ARENA_INIT;
    struct sections last;
    struct cairn_verify_result result;
    uint64_t main = branch_of(lab, "main", 0), seqs[4];
    for (int i = 0; i < 4; i++)
        seqs[i] = sections_note(lab, main, i == 1 ? "the second" : "another");
    ck_assert(lab_flip(lab, seqs[2], "record", -1, 1));
    ck_assert(lab_flip(lab, seqs[3], "digest", 0, 1));
    struct chain head = open_branch(lab, main, &arena, &last);
    ck_assert_uint_eq(head.parent, seqs[1]);
    ck_assert(str_equal(last.message, STR("the second")));
    ck_assert_uint_eq(read_at(lab, sections_note(lab, main, "after")).parent, seqs[1]);
    ck_assert_int_eq(
        sections_read(lab->store, lab->sha, seqs[3], &arena, &last, NULL, &lab->error),
        CAIRN_EDAMAGED);
    ck_assert_int_eq(
        cairn_checkpoint_verify(lab->store, NULL, NULL, NULL, &result, &lab->error),
        CAIRN_EDAMAGED);
    ck_assert_uint_eq(result.damaged, 2); /* the new record is not among them */
    arena_release(&arena);
    lab_close(lab);
}
END_TEST

/* No record is left: a branch begins again where it began, or by itself. */
START_TEST(nothing_sound_is_left)
{
    struct lab *lab = lab_open(25);
    struct cairn_verify_result result;
    uint64_t main = branch_of(lab, "main", 0);
    uint64_t from = sections_note(lab, main, "where it leaves");
    uint64_t side = branch_of(lab, "side", from);
    ck_assert(lab_flip(lab, sections_note(lab, side, "damaged"), "record", 50, 1));
    uint64_t again = sections_note(lab, side, "again");
    ck_assert_uint_eq(read_at(lab, again).parent, from);
    ck_assert(lab_flip(lab, again, "record", 50, 1));
    ck_assert(lab_flip(lab, from, "record", 50, 1));
    ck_assert_uint_eq(read_at(lab, sections_note(lab, side, "alone")).parent, 0);
    ck_assert_int_eq(
        cairn_checkpoint_verify(lab->store, NULL, NULL, NULL, &result, &lab->error),
        CAIRN_EDAMAGED);
    ck_assert_uint_eq(result.damaged, 3);
    lab_close(lab);
}
END_TEST

/* ---- Two processes, one stream ---- */

enum { EACH = 30 };
static const char *store_path, *branch_text;

static void note_many(struct lab *lab, uint64_t branch)
{
    for (int i = 0; i < EACH; i++)
        sections_note(lab, branch, i % 2 ? "odd" : "even");
}

START_TEST(play_writer)
{
    struct lab lab = {.sha = sha256_new()};
    snprintf(lab.path, sizeof lab.path, "%s", store_path);
    lab_store(&lab);
    note_many(&lab, strtoull(branch_text, NULL, 10));
    cairn_store_close(lab.store);
    sha256_free(lab.sha);
}
END_TEST

static pid_t start_writer(struct lab *lab, uint64_t branch)
{
    char self[] = "/proc/self/exe", number[24];
    char *argv[] = {self, lab->path, number, NULL};
    pid_t pid;
    snprintf(number, sizeof number, "%llu", (unsigned long long)branch);
    ck_assert_int_eq(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
    return pid;
}

START_TEST(two_processes_append)
{
    struct lab *lab = lab_open(26);
    struct arena arena = ARENA_INIT;
    uint64_t branch = branch_of(lab, "main", 0);
    pid_t pids[2];
    sections_note(lab, branch, "the first");
    for (int i = 0; i < 2; i++)
        pids[i] = start_writer(lab, branch);
    note_many(lab, branch);
    for (int i = 0; i < 2; i++) {
        int status;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct chain head = open_branch(lab, branch, &arena, NULL);
    ck_assert_uint_eq(head.position, 1 + 3 * EACH);
    expect_sound(lab); /* also that each names the one before it */
    arena_release(&arena);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, written_and_read);
    tcase_add_test(tests, what_is_not_there);
    tcase_add_test(tests, branches_begin_at_checkpoints);
    tcase_add_test(tests, damaged_records_are_passed_over);
    tcase_add_test(tests, nothing_sound_is_left);
    tcase_add_test(tests, two_processes_append);
}

/* In a runner of its own, since only within a test assertions work. */
static int play(const char *path, const char *branch)
{
    store_path = path;
    branch_text = branch;
    unsetenv("CK_TAP_LOG_FILE_NAME");
    Suite *suite = suite_create("writer");
    TCase *tests = tcase_create("writer");
    tcase_add_test(tests, play_writer);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

int main(int argc, char **argv)
{
    return argc == 3 ? play(argv[1], argv[2]) : lab_run_suite("branches", add);
}
