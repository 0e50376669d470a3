/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* The files of keepers: what is believed of them, and what goes with them. */
#include "tests/support/keeper.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

static void write_file(const char *name, const struct keep_start *start,
                       const struct keep_end *end)
{
    char bytes[KEEP_BYTES] = {0};
    memcpy(bytes, start, sizeof *start);
    if (end)
        memcpy(bytes + KEEP_HALF, end, sizeof *end);
    int fd = open(help_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, bytes, sizeof bytes), KEEP_BYTES);
    close(fd);
}

static const char keep_name[] = "run-7.2.0.1.keep";

static struct keep_start read_start(struct keep_end *end)
{
    struct keep_start start;
    int fd = open(help_path(keep_name), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, &start, sizeof start, 0), sizeof start);
    if (end)
        ck_assert_int_eq(pread(fd, end, sizeof *end, KEEP_HALF), sizeof *end);
    close(fd);
    return start;
}

static int note_fate(void *context, struct keeper *keeper)
{
    *(struct keeper *)context = *keeper;
    return 0;
}

/* What the only file says; nobody is ended for it. */
static enum keeper_fate fate_of_file(void)
{
    struct keeper seen = {.fate = 77};
    ck_assert_int_eq(keepers_each(help_dir, store_id, RUN, note_fate, &seen, &failure),
                     0);
    return seen.fate;
}

/* A file that names the right process, but not as it is: then it is not that one. */
START_TEST(test_identity)
{
    struct keeper keeper = start_up();
    struct keep_start good = read_start(NULL), bad;
    ck_assert_int_eq(fate_of_file(), KEEPER_LIVE);
    for (int way = 0; way < 4; way++) {
        bad = good;
        if (way == 0)
            bad.start++;
        if (way == 1)
            bad.start--;
        if (way == 2)
            bad.boot_id[0] = bad.boot_id[0] == '0' ? '1' : '0';
        if (way == 3)
            bad.token[strlen(run_token) + 4] ^= 1; /* in its random part */
        bad.crc = keep_start_crc(&bad);
        write_file(keep_name, &bad, NULL);
        ck_assert_msg(fate_of_file() == KEEPER_LOST, "way %d", way);
        ck_assert(help_alive(keeper.pid));
    }
    write_file(keep_name, &good, NULL);
    ck_assert_int_eq(fate_of_file(), KEEPER_LIVE);
    stop_up(&keeper);
}
END_TEST

static pid_t spawn_session(const char *token)
{
    static const char *const argv[] = {"/bin/sleep", "100", NULL};
    const char *const env[] = {token, NULL};
    posix_spawnattr_t attr;
    pid_t pid;
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    ck_assert_int_eq(
        posix_spawn(&pid, argv[0], NULL, &attr, strings(argv), strings(env)), 0);
    posix_spawnattr_destroy(&attr);
    return pid;
}

/* The number was given out again, to a process of other people. Nobody waits for it,
 * and nobody signals it: neither for the file nor for the slot. */
START_TEST(test_recycled_number)
{
    struct keeper keeper = start_up(), seen;
    struct leftovers left;
    struct keep_start start = read_start(NULL);
    struct proc_entry process;
    kill(keeper.pid, SIGKILL);
    reap(&keeper, NULL);
    pid_t innocent = spawn_session("CAIRN_TOKEN=another.7.0123456789abcdef.0.1");
    ck_assert(proc_stat(innocent, &process));
    for (int way = 0; way < 2; way++) {
        start.pid = innocent;
        start.start = process.start - (uint64_t)way * 10000;
        start.crc = keep_start_crc(&start);
        write_file(keep_name, &start, NULL);
        ck_assert_int_eq(keeper_look(&seen, &up_work.order.id, store_id, &failure), 0);
        ck_assert_int_eq(seen.fate, KEEPER_LOST);
        ck_assert_int_eq(seen.pidfd, -1);
        ck_assert(help_alive(innocent));
    }
    for (int way = -1; way <= 1; way += 2) {
        keeper_to_slot(&seen, &map.slots->slot[0]);
        ck_assert_int_eq(map.slots->slot[0].pid, innocent);
        map.slots->slot[0].spawn_boot_ns =
            clock_boot_ns() + way * 60 * (int64_t)1000000000;
        ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 0, &left, &failure), 0);
        ck_assert_uint_eq(left.found, 0);
        struct guard guard;
        ck_assert_int_eq(guard_start(&guard, &map, &failure), 0);
        shutdown(guard.life_fd, SHUT_WR); /* as if the engine had died */
        ck_assert(help_readable(guard.pidfd, PATIENCE_MS));
        guard_stop(&guard);
        ck_assert(help_alive(innocent));
    }
    help_end(innocent);
}
END_TEST

/* Every byte, flipped one bit: refused, or the very same outcome (padding). */
START_TEST(test_flipped)
{
    struct work work;
    struct keeper seen;
    prepare(&work, help_dir, 0, ARGV("sh", "-c", "exit 7"));
    struct keeper keeper = start(&work);
    reap(&keeper, work.request.slot);
    int refused = 0, fd = open(help_path(keep_name), O_RDWR | O_CLOEXEC);
    for (off_t at = 0; at < KEEP_BYTES; at++) {
        char byte;
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= (char)(1 << (at % 8));
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        memset(&seen, 0, sizeof seen);
        ck_assert_int_eq(
            keepers_each(help_dir, store_id, RUN, note_fate, &seen, &failure), 0);
        byte ^= (char)(1 << (at % 8));
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        if (seen.fate == KEEPER_LOST) {
            ck_assert(seen.damaged);
            refused++;
        } else {
            ck_assert_int_eq(seen.fate, KEEPER_ENDED);
            expect_same(&seen.record, &keeper.record);
        }
    }
    close(fd);
    ck_assert_int_ge(refused,
                     (int)(sizeof(struct keep_start) + sizeof(struct keep_end)));
    ck_assert_int_eq(fate_of_file(), KEEPER_ENDED);
}
END_TEST

/* Cut anywhere; or a record under the start of another attempt. */
START_TEST(test_cut_and_mixed)
{
    struct work work;
    struct keep_end first_end, end;
    struct keeper seen;
    for (int i = 0; i < 2; i++) {
        prepare(&work, help_dir, 0, ARGV("true"));
        struct keeper keeper = start(&work);
        reap(&keeper, work.request.slot);
        ck_assert_int_eq(fate_of_file(), KEEPER_ENDED);
        if (i == 0) {
            (void)read_start(&first_end);
            keeper_forget(&work.order.id);
        }
    }
    struct keep_start start = read_start(&end);
    write_file(keep_name, &start, &first_end);
    ck_assert_int_eq(fate_of_file(), KEEPER_LOST);
    start.gen++; /* the file of another attempt, renamed */
    start.crc = keep_start_crc(&start);
    end.start_crc = start.crc;
    end.crc = keep_end_crc(&end);
    write_file(keep_name, &start, &end);
    ck_assert_int_eq(fate_of_file(), KEEPER_LOST);
    for (off_t size = KEEP_BYTES - 1; size >= 0; size -= 73) {
        ck_assert_int_eq(truncate(help_path(keep_name), size), 0);
        ck_assert_int_eq(keeper_look(&seen, &work.order.id, store_id, &failure), 0);
        ck_assert_int_eq(seen.fate, KEEPER_LOST);
        ck_assert(seen.damaged);
    }
}
END_TEST

/* With a file that cannot be believed a keeper that lives is ended with its task. */
START_TEST(test_damaged_while_it_lives)
{
    struct keeper keeper = start_up(), seen;
    ck_assert_int_eq(truncate(help_path(keep_name), 100), 0);
    ck_assert_int_eq(keeper_look(&seen, &up_work.order.id, store_id, &failure), 0);
    ck_assert_int_eq(seen.fate, KEEPER_LOST);
    ck_assert(seen.damaged);
    ck_assert_int_eq(help_count(run_token), 0);
    reap(&keeper, up_work.request.slot);
    ck_assert_int_eq(keeper.fate, KEEPER_LOST);
}
END_TEST

START_TEST(test_forget)
{
    struct work work;
    struct attempt_id id = id_of(help_dir, 4);
    struct capture capture;
    ck_assert_int_eq(capture_attempt_create(&capture, &id, false, &failure), 0);
    capture_close(&capture);
    prepare(&work, help_dir, 4, ARGV("true"));
    struct keeper keeper = start(&work);
    reap(&keeper, work.request.slot);
    keeper_forget(&id);
    ck_assert_int_eq(access(help_path("run-7.2.4.1.keep"), F_OK), -1);
    ck_assert_int_eq(access(help_path("run-7.2.4.1.out"), F_OK), -1);
}
END_TEST

/* The room of an owner, and what a killed closer left of one, go with all they have. */
START_TEST(test_rooms_are_closed)
{
    static const char *const ours[] = {"run-7.00000000000000a1.room",
                                       "run-7.00000000000000a2.room.gone"};
    static const char *const others[] = {"run-71.00000000000000a1.room",
                                         "run-7.00000000000000a1.room.gone.d",
                                         "run-7.roomy"};
    char path[64];
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(mkdir(help_path(ours[i]), 0700), 0);
        snprintf(path, sizeof path, "%s/claim", ours[i]);
        help_write(path, "x", 0600);
    }
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(mkdir(help_path(others[i]), 0700), 0);
    ck_assert_int_eq(keepers_close_epochs(help_dir, RUN, &failure), 0);
    for (size_t i = 0; i < 2; i++)
        ck_assert_msg(access(help_path(ours[i]), F_OK) != 0, "%s", ours[i]);
    ck_assert_int_ne(access(help_path("run-7.00000000000000a1.room.gone"), F_OK), 0);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(rmdir(help_path(others[i])) == 0, "%s", others[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keeper files");
    TCase *tests = tcase_create("keeper files");
    tcase_add_checked_fixture(tests, setup_own, teardown_own);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_identity);
    tcase_add_test(tests, test_recycled_number);
    tcase_add_test(tests, test_flipped);
    tcase_add_test(tests, test_cut_and_mixed);
    tcase_add_test(tests, test_damaged_while_it_lives);
    tcase_add_test(tests, test_forget);
    tcase_add_test(tests, test_rooms_are_closed);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
