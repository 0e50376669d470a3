/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* What a dead run left behind is found by token or by slot, and nobody else is hurt. */
#include "process/leftovers.h"
#include "process/slot_map.h"

#include "base/os.h"

#include "tests/support/process.h"
#include "tests/support/suite.h"

enum { RUN = 1, GRACE_MS = 60 };

static char store_id[40];
static struct leftovers left;
static struct cairn_error failure;

static void setup(void)
{
    help_make_dir();
    snprintf(store_id, sizeof store_id, "%016llx%016llx",
             (unsigned long long)random_u64(), (unsigned long long)random_u64());
}

static void teardown(void)
{
    help_remove_dir();
}

/* A shell that runs `text` after it has said "up", and then sleeps. Its environment is
 * PAD and CAIRN_TOKEN, each if not NULL. Returns when it is up. */
static pid_t shell(const char *text, const char *pad, const char *token)
{
    static int number;
    char script[1024], variable[256];
    char name[32];
    snprintf(name, sizeof name, "up.%d", number++);
    snprintf(script, sizeof script, "%s\necho up >'%s'; /bin/sleep 1000; :", text,
             help_path(name));
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    const char *env[3] = {NULL, NULL, NULL};
    int n = 0;
    if (pad)
        env[n++] = pad;
    if (token) {
        snprintf(variable, sizeof variable, "CAIRN_TOKEN=%s", token);
        env[n++] = variable;
    }
    pid_t pid = help_spawn(argv, env);
    help_until(access(help_path(name), F_OK) == 0);
    return pid;
}

static const char *token_of(const char *id, unsigned run)
{
    static char token[4][128];
    static int next;
    next = (next + 1) % 4;
    snprintf(token[next], sizeof token[0], "%s.%u.0123456789abcdef.4.1", id, run);
    return token[next];
}

static void end_all(void)
{
    left = (struct leftovers){77, 77, 77};
    ck_assert_msg(!leftovers_end(help_dir, store_id, RUN, GRACE_MS, &left, &failure),
                  "%s", failure.text);
    ck_assert_uint_eq(left.ended + left.survived, left.found);
}

/* Also ends what the shell itself started. */
static void clean(pid_t pid)
{
    kill(-pid, SIGKILL);
    help_end(pid);
}

START_TEST(test_nothing_there)
{
    end_all();
    ck_assert_uint_eq(left.found, 0);
}
END_TEST

START_TEST(test_found_by_token)
{
    pid_t polite = shell("true", NULL, token_of(store_id, RUN));
    pid_t stubborn = shell("trap '' TERM INT HUP", NULL, token_of(store_id, RUN));
    end_all();
    ck_assert_int_ge(left.found, 4); /* two shells, two sleeps */
    ck_assert_uint_eq(left.survived, 0);
    ck_assert(!help_alive(polite));
    ck_assert(!help_alive(stubborn));
    ck_assert_int_eq(WTERMSIG(help_end(polite)), SIGTERM);
    ck_assert_int_eq(WTERMSIG(help_end(stubborn)), SIGKILL);
}
END_TEST

/* TERM comes once, and there is time to act on it. */
START_TEST(test_grace)
{
    const char *text =
        "exec 2>/dev/null; trap 'exit 3' TERM; while :; do /bin/sleep 0.01; done";
    char script[512];
    snprintf(script, sizeof script, "echo up >'%s'; %s", help_path("looping"), text);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    char variable[200];
    snprintf(variable, sizeof variable, "CAIRN_TOKEN=%s", token_of(store_id, RUN));
    const char *env[] = {variable, NULL};
    pid_t tidy = help_spawn(argv, env);
    help_until(access(help_path("looping"), F_OK) == 0);
    ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 10000, &left, &failure), 0);
    int status = help_end(tidy);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 3);
}
END_TEST

START_TEST(test_no_grace)
{
    pid_t pid = shell("true", NULL, token_of(store_id, RUN));
    ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 0, &left, &failure), 0);
    ck_assert_int_eq(WTERMSIG(help_end(pid)), SIGKILL);
}
END_TEST

START_TEST(test_others_are_left_alone)
{
    char look_alike[200];
    snprintf(look_alike, sizeof look_alike, "X=CAIRN_TOKEN=%s",
             token_of(store_id, RUN));
    pid_t others[] = {shell("true", NULL, token_of(store_id, 11)),
                      shell("true", NULL, token_of("0123456789abcdef", RUN)),
                      shell("true", look_alike, NULL), shell("true", NULL, store_id),
                      shell("true", NULL, NULL)};
    end_all();
    ck_assert_uint_eq(left.found, 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(help_alive(others[i]), "process %zu", i);
        clean(others[i]);
    }
}
END_TEST

/* The token at every place around the end of the buffer that environments are read
 * into, and at the very start. */
START_TEST(test_token_anywhere)
{
    static char pad[SCAN_TEXT + 64];
    for (int shift = -80; shift <= 8; shift += 8) {
        memset(pad, 'x', sizeof pad);
        memcpy(pad, "PAD=", 4);
        pad[SCAN_TEXT + shift] = 0;
        pid_t pid = shell("true", pad, token_of(store_id, RUN));
        end_all();
        ck_assert_msg(left.found >= 1, "shift %d", shift);
        ck_assert(!help_alive(pid));
        clean(pid);
    }
}
END_TEST

/* A slot file of a dead engine with one group in it, whose leader was to be started at
 * `spawn_boot_ns`. */
static void record(pid_t pid, int64_t spawn_boot_ns, const char *boot_id)
{
    struct slot_map map;
    ck_assert_int_eq(slots_create(&map, help_dir, store_id, RUN, 4, &failure), 0);
    map.slots->slot[2].spawn_boot_ns = spawn_boot_ns;
    map.slots->slot[2].pid = pid;
    if (boot_id)
        snprintf(map.slots->boot_id, sizeof map.slots->boot_id, "%s", boot_id);
    slots_tell_head(&map);
    slots_tell(&map, &map.slots->slot[2]);
    slots_close(&map, false);
}

START_TEST(test_recorded_group)
{
    int64_t before = clock_boot_ns();
    pid_t pid = shell("/bin/sleep 1000 &", NULL, NULL);
    record(pid, before, NULL);
    end_all();
    ck_assert_int_ge(left.found, 2); /* its last sleep may not be there yet */
    ck_assert_uint_eq(left.survived, 0);
    ck_assert(!help_alive(pid));
    clean(pid);
}
END_TEST

/* The leader is gone; a member with the token vouches for one without. */
START_TEST(test_group_without_leader)
{
    char text[300];
    snprintf(text, sizeof text,
             "(CAIRN_TOKEN=%s /bin/sleep 1000 & /bin/sleep 1000 & echo $! >'%s')",
             token_of(store_id, RUN), help_path("bare"));
    pid_t pid = shell(text, NULL, NULL);
    int bare = 0;
    ck_assert_int_eq(sscanf(help_read("bare"), "%d", &bare), 1);
    char token[128];
    snprintf(token, sizeof token, "%s.%d", store_id, RUN);
    help_until(help_count(token) == 1); /* it shows after the exec only */
    record(pid, clock_boot_ns() - 3600 * (int64_t)1000000000, NULL);
    help_end(pid); /* the leader only */
    ck_assert(help_alive(bare));
    end_all();
    ck_assert_int_ge(left.found, 2);
    ck_assert(!help_alive(bare));
}
END_TEST

static void expect_innocent(int64_t age_ns, const char *boot_id)
{
    int64_t before = clock_boot_ns();
    pid_t pid = shell("true", NULL, NULL);
    record(pid, before - age_ns, boot_id);
    end_all();
    ck_assert_uint_eq(left.found, 0);
    ck_assert(help_alive(pid));
    clean(pid);
}

START_TEST(test_number_given_out_again)
{
    expect_innocent(60 * (int64_t)1000000000, NULL);
    expect_innocent(-60 * (int64_t)1000000000, NULL);
}
END_TEST

START_TEST(test_earlier_boot)
{
    expect_innocent(0, "00000000-0000-0000-0000-000000000000");
    expect_innocent(0, "");
}
END_TEST

START_TEST(test_damaged_slot_file)
{
    static const size_t sizes[] = {0, 1, sizeof(struct slots), 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct slot_map map;
        help_write("run-1.slots", "", 0600);
        ck_assert_int_eq(truncate(help_path("run-1.slots"), (off_t)sizes[i]), 0);
        ck_assert_int_eq(slots_open(&map, help_dir, RUN, &failure), CAIRN_EDAMAGED);
        pid_t pid = shell("true", NULL, token_of(store_id, RUN));
        end_all();
        ck_assert_int_ge(left.found, 1);
        clean(pid);
    }
}
END_TEST

START_TEST(test_slot_file)
{
    struct slot_map made, seen;
    int fds = help_open_fds();
    ck_assert_int_eq(slots_open(&seen, help_dir, RUN, &failure), CAIRN_ENOTFOUND);
    ck_assert_int_eq(slots_create(&made, help_dir, store_id, RUN, 3, &failure), 0);
    ck_assert_int_eq(slots_open(&seen, help_dir, RUN, &failure), 0);
    ck_assert_int_eq(seen.slots->n, 3);
    ck_assert_int_eq(seen.slots->owner_pid, getpid());
    ck_assert(seen.slots->owner_start > 0);
    ck_assert_uint_eq(seen.slots->pid_ns, os_pid_namespace());
    ck_assert_int_eq(strncmp(seen.slots->token, store_id, strlen(store_id)), 0);
    ck_assert_uint_eq(strlen(seen.slots->token), strlen(store_id) + 3 + 16);
    made.slots->slot[2].pid = 99;
    slots_tell(&made, &made.slots->slot[2]);
    slots_close(&seen, false);
    ck_assert_int_eq(slots_open(&seen, help_dir, RUN, &failure), 0);
    ck_assert_int_eq(seen.slots->slot[2].pid, 99);
    /* What others do to the file harms nobody. */
    ck_assert_int_eq(truncate(made.path, 0), 0);
    ck_assert_int_eq(made.slots->slot[2].pid, 99);
    ck_assert_int_eq(seen.slots->slot[2].pid, 99);
    ck_assert_int_ne(ftruncate(made.fd, 0), 0);
    /* A new one leaves the old mapping alone, and has another token. */
    struct slot_map again;
    ck_assert_int_eq(slots_create(&again, help_dir, store_id, RUN, 1, &failure), 0);
    ck_assert_str_ne(again.slots->token, made.slots->token);
    ck_assert_int_eq(again.slots->slot[0].pid, 0);
    ck_assert_int_eq(seen.slots->slot[2].pid, 99);
    slots_close(&made, false);
    slots_close(&seen, false);
    slots_close(&again, true);
    ck_assert_int_eq(slots_open(&seen, help_dir, RUN, &failure), CAIRN_ENOTFOUND);
    ck_assert_int_eq(slots_create(&made, help_dir, store_id, RUN, 0, &failure),
                     CAIRN_ELIMIT);
    ck_assert_int_eq(slots_create(&made, help_path("no"), store_id, RUN, 1, &failure),
                     CAIRN_EIO);
    ck_assert_int_eq(help_open_fds(), fds);
}
END_TEST

/* `inside DIR STORE`: a resume that runs within a left-over of the run it resumes. It
 * ends the others of its group, but neither itself nor its ancestors. */
static int inside(char **argv)
{
    if (leftovers_end(argv[0], argv[1], RUN, GRACE_MS, &left, NULL))
        return 20;
    printf("%u %u %u\n", left.found, left.ended, left.survived);
    return 0;
}

START_TEST(test_own_ancestors)
{
    char self[256], script[1024], variable[256];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(n, 0);
    self[n] = 0;
    snprintf(script, sizeof script,
             "while ! [ -e '%s' ]; do /bin/sleep 0.01; done; "
             "/bin/sleep 1000 & '%s' inside '%s' %s >'%s'; exit 5",
             help_path("go"), self, help_dir, store_id, help_path("report"));
    snprintf(variable, sizeof variable, "CAIRN_TOKEN=%s", token_of(store_id, RUN));
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    const char *env[] = {variable, NULL};
    int64_t before = clock_boot_ns();
    pid_t pid = help_spawn(argv, env);
    record(pid, before, NULL);
    help_write("go", "", 0600);
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 5);
    ck_assert_str_eq(help_read("report"), "1 1 0\n");
}
END_TEST

/* Somebody continues the run (makes its slot file) while we wait for what is left of
 * it to end: from then on nothing is ended. */
START_TEST(test_owner_in_between)
{
    char text[512];
    snprintf(text, sizeof text,
             "trap ': >%s/run-%d.slots; while :; do /bin/sleep 0.02; done' TERM",
             help_dir, RUN);
    pid_t stubborn = shell(text, NULL, token_of(store_id, RUN));
    ck_assert_int_eq(leftovers_end(help_dir, store_id, RUN, 1500, &left, &failure),
                     CAIRN_EOWNED);
    ck_assert(help_alive(stubborn));
    clean(stubborn);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "inside") == 0)
        return inside(argv + 2);
    Suite *suite = suite_create("leftovers");
    TCase *tests = tcase_create("leftovers");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_nothing_there);
    tcase_add_test(tests, test_found_by_token);
    tcase_add_test(tests, test_grace);
    tcase_add_test(tests, test_no_grace);
    tcase_add_test(tests, test_others_are_left_alone);
    tcase_add_test(tests, test_token_anywhere);
    tcase_add_test(tests, test_recorded_group);
    tcase_add_test(tests, test_group_without_leader);
    tcase_add_test(tests, test_number_given_out_again);
    tcase_add_test(tests, test_earlier_boot);
    tcase_add_test(tests, test_damaged_slot_file);
    tcase_add_test(tests, test_slot_file);
    tcase_add_test(tests, test_own_ancestors);
    tcase_add_test(tests, test_owner_in_between);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
