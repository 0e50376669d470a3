/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* The spawner notes how a child ended before the next one starts in its place. */
#include "process/spawner.h"

#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { N = 4 };

static struct cairn_error failure;
static struct slot_map map;
static struct end_notes notes;
static struct spawner *spawner;
static struct spawn_request requests[N];
static char *const no_env[] = {NULL};
static char sh_path[] = "/bin/sh", dash_c[] = "-c", true_path[] = "/bin/true";
static char sleep_path[] = "/bin/sleep", long_time[] = "1000";

static void set_up(void)
{
    help_make_dir();
    ck_assert_int_eq(slots_create(&map, help_dir, "abc", 7, N, &failure), 0);
    ck_assert_int_eq(end_notes_create(&notes, help_dir, map.slots, N, &failure), 0);
    ck_assert_int_eq(spawner_start(&spawner, 1, &notes, &failure), 0);
}

static void tear_down(void)
{
    spawner_stop(spawner);
    end_notes_close(&notes);
    slots_close(&map, true);
    help_remove_dir();
}

static void submit(uint32_t i, char *const *argv, enum spawn_ahead ahead)
{
    struct slot *slot = &map.slots->slot[i];
    slot->gen = 1;
    slot->task = 10 + i;
    slot->attempt = 1 + i;
    requests[i] = (struct spawn_request){.argv = argv,
                                         .envp = no_env,
                                         .stdout_fd = -1,
                                         .stderr_fd = -1,
                                         .slot = slot,
                                         .slots = &map,
                                         .ahead = ahead,
                                         .ticket = i + 1,
                                         .note = i + 1,
                                         .basis = 100 + i};
    spawner_submit(spawner, &requests[i]);
}

struct seen {
    uint32_t n;
    struct end_note of[N];
    bool has[N];
};

static int note_seen(void *context, const struct end_note *note)
{
    struct seen *seen = context;
    uint32_t i = note->task - 10;
    ck_assert_uint_lt(i, N);
    seen->of[i] = *note;
    seen->has[i] = true;
    seen->n++;
    return 0;
}

static struct seen read_notes(void)
{
    struct seen seen = {0};
    struct end_notes_damage damage = {0};
    ck_assert_int_eq(
        end_notes_each(help_dir, "abc", 7, note_seen, &seen, &damage, &failure), 0);
    ck_assert_uint_eq(damage.files + damage.notes, 0);
    return seen;
}

static bool is_there(const char *name)
{
    return access(help_path(name), F_OK) == 0;
}

static void reap(uint32_t i)
{
    struct process_end end;
    help_until(help_readable(requests[i].pidfd, 10));
    ck_assert_int_eq(process_reap(requests[i].pid, requests[i].pidfd, requests[i].slot,
                                  &end, &failure),
                     0);
}

static char *sh(char *out, size_t size, const char *format, const char *name)
{
    snprintf(out, size, format, help_path(name));
    return out;
}

/* Each says that it runs; then the note of the one before it is there, although nobody
 * has collected anything. */
START_TEST(test_before_the_next)
{
    static char text[N][400];
    static char *argv[N][4];
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "began%u", i);
        sh(text[i], sizeof text[i], i == 1 ? "echo >%s; exit 7" : "echo >%s", name);
        if (i == N - 1)
            snprintf(text[i] + strlen(text[i]), 20, "; exec sleep 1000");
        argv[i][0] = sh_path;
        argv[i][1] = dash_c;
        argv[i][2] = text[i];
        submit(i, argv[i], SPAWN_AHEAD);
    }
    help_until(is_there("began3"));
    struct seen seen = read_notes();
    ck_assert_uint_eq(seen.n, N - 1);
    for (uint32_t i = 0; i < N - 1; i++) {
        ck_assert(seen.has[i]);
        ck_assert_uint_eq(seen.of[i].gen, 1);
        ck_assert_uint_eq(seen.of[i].attempt, 1 + i);
        ck_assert_uint_eq(seen.of[i].slot, i);
        ck_assert_uint_eq(seen.of[i].basis, 100 + i);
        ck_assert_int_eq(seen.of[i].exit_code, i == 1 ? 7 : 0);
        ck_assert_int_eq(seen.of[i].signal, 0);
        ck_assert_uint_eq(seen.of[i].flags, 0);
        ck_assert_int_ge(seen.of[i].ended_ns, seen.of[i].started_ns);
    }
    for (uint32_t i = 0; i < N - 1; i++)
        reap(i);
    process_signal(map.slots->slot[N - 1].pid, SIGKILL);
    help_until(read_notes().n == N);
    (void)spawner_collect(spawner);
    reap(N - 1);
    ck_assert_int_eq(read_notes().of[N - 1].signal, SIGKILL);
    ck_assert_int_eq(read_notes().of[N - 1].exit_code, -1);
}
END_TEST

/* What we asked for is not mistaken for what the child did by itself. */
START_TEST(test_asked)
{
    char *argv[] = {sleep_path, long_time, NULL};
    submit(0, argv, SPAWN_AFTER_CALLER);
    help_until(help_readable(spawner_fd(spawner), 10));
    ck_assert_ptr_eq(spawner_collect(spawner), &requests[0]);
    ck_assert_int_gt(requests[0].pid, 1);
    atomic_store(&requests[0].note_flags, NOTE_TIMED_OUT);
    process_signal(requests[0].pid, SIGTERM);
    help_until(read_notes().n == 1);
    ck_assert_uint_eq(read_notes().of[0].flags, NOTE_TIMED_OUT);
    ck_assert_int_eq(read_notes().of[0].signal, SIGTERM);
    reap(0);
}
END_TEST

START_TEST(test_values)
{
    static char text[400], path[300];
    char *argv[] = {sh_path, dash_c, text, NULL};
    snprintf(path, sizeof path, "%s", help_path("values"));
    help_write("values", "", 0600);
    sh(text, sizeof text, "echo a=12345 >%s", "values");
    struct slot *slot = &map.slots->slot[0];
    slot->task = 10;
    requests[0] = (struct spawn_request){.argv = argv,
                                         .envp = no_env,
                                         .stdout_fd = -1,
                                         .stderr_fd = -1,
                                         .slot = slot,
                                         .slots = &map,
                                         .quiet_file = path,
                                         .note = 2};
    spawner_submit(spawner, &requests[0]);
    help_until(read_notes().n == 1);
    ck_assert_uint_eq(read_notes().of[0].values_bytes, 8);
    (void)spawner_collect(spawner);
    reap(0);
}
END_TEST

START_TEST(test_none_wanted)
{
    char *argv[] = {true_path, NULL};
    submit(0, argv, SPAWN_AFTER_CALLER);
    help_until(read_notes().n == 1);
    (void)spawner_collect(spawner);
    reap(0);
    spawner_go_on(spawner, 1);
    requests[2] = (struct spawn_request){.argv = argv,
                                         .envp = no_env,
                                         .stdout_fd = -1,
                                         .stderr_fd = -1,
                                         .slot = &map.slots->slot[2],
                                         .slots = &map,
                                         .note = NOTE_NONE};
    spawner_submit(spawner, &requests[2]);
    do {
        help_until(help_readable(spawner_fd(spawner), 10));
        (void)spawner_collect(spawner);
    } while (!requests[2].ended);
    reap(2);
    ck_assert_uint_eq(read_notes().n, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spawner's notes");
    TCase *tests = tcase_create("spawner's notes");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_before_the_next);
    tcase_add_test(tests, test_asked);
    tcase_add_test(tests, test_values);
    tcase_add_test(tests, test_none_wanted);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
