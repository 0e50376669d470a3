/* SPDX-License-Identifier: MIT */
/* The real engine with the fake runner: random workflows, whose tasks fail, hang, never
 * start or ignore TERM, under wishes to stop, deadlines and every policy. No process,
 * no sleeping; hours of retries take no time. Every start is held against what must be
 * true of it, and every run that nobody stops against the naive model of world.h. */
#include "tests/sim/scene.h"
#include "tests/support/remove_tree.h"

#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Tests ---- */

static uint64_t scenes(void)
{
    return (uint64_t)help_rounds(400, 4000);
}

static void expect_outcomes(const struct scene *s)
{
    uint8_t *expected = calloc(s->world.graph.n_tasks, 1);
    ck_assert_ptr_nonnull(expected);
    model_outcomes(&s->world, expected);
    for (uint32_t t = 0; t < s->world.graph.n_tasks; t++) {
        bool early = s->seen[t].outcome == CAIRN_PENDING && !s->seen[t].attempts &&
                     (expected[t] == CAIRN_SKIPPED || expected[t] == CAIRN_EXCLUDED);
        ck_assert_msg(early || s->seen[t].outcome == expected[t],
                      "seed %llu: %s is %s, not %s", (unsigned long long)s->seed,
                      s->world.graph.id[t], cairn_outcome_name(s->seen[t].outcome),
                      cairn_outcome_name(expected[t]));
    }
    free(expected);
}

static uint32_t longest_grace_ms(const struct scene *s)
{
    int64_t longest_ms = 0;
    for (uint32_t i = 0; i < s->world.definition.n_defs; i++)
        if (s->world.definition.defs[i].grace_ms > longest_ms)
            longest_ms = s->world.definition.defs[i].grace_ms;
    return (uint32_t)longest_ms;
}

/* Nobody outlives its grace, or a second wish at all. */
static void expect_stopped(const struct scene *s)
{
    int64_t limit_ns = s->stop_ns + (longest_grace_ms(s) + SLACK_MS) * MS;
    if (s->stop_ns && !s->late)
        ck_assert_msg(s->last_end_ns <= limit_ns,
                      "seed %llu: a task outlived its grace",
                      (unsigned long long)s->seed);
    if (s->kill_ns)
        ck_assert_msg(s->last_end_ns <= s->kill_ns + SLACK_MS * MS,
                      "seed %llu: a task outlived a second wish",
                      (unsigned long long)s->seed);
}

struct total {
    uint64_t schedules, started, hours;
    uint32_t stopped, killed, undone, late;
    int64_t began_ns;
};

static void total_add(struct total *total, const struct scene *s)
{
    total->schedules++;
    total->started += s->fake.started;
    total->hours += (uint64_t)(s->fake.now_ns / (3600 * 1000 * MS));
    total->stopped += s->stop_ns > 0;
    total->killed += s->kill_ns > 0;
    total->late += s->late;
    for (uint32_t t = 0; t < s->world.graph.n_tasks; t++)
        total->undone += s->seen[t].undone;
}

static void total_print(const struct total *total, const char *name)
{
    double seconds = (double)(clock_mono_ns() - total->began_ns) / 1e9;
    printf("%s: %llu schedules, %.0f a second; %llu processes, %llu hours\n", name,
           (unsigned long long)total->schedules, (double)total->schedules / seconds,
           (unsigned long long)total->started, (unsigned long long)total->hours);
}

START_TEST(whole_runs)
{
    uint64_t first = 20261122 + (uint64_t)_i * scenes();
    struct total total = {.began_ns = clock_mono_ns()};
    printf("seeds from %llu\n", (unsigned long long)first);
    for (uint64_t seed = first; seed < first + scenes(); seed++) {
        struct scene s;
        scene_make(&s, seed, true);
        scene_run(&s, NULL);
        expect_outcomes(&s);
        total_add(&total, &s);
        scene_release(&s);
    }
    total_print(&total, "whole runs");
    ck_assert_uint_gt(total.hours, scenes() / 10);
}
END_TEST

START_TEST(stopped_runs)
{
    uint64_t first = 30261122 + (uint64_t)_i * scenes();
    struct total total = {.began_ns = clock_mono_ns()};
    printf("seeds from %llu\n", (unsigned long long)first);
    for (uint64_t seed = first; seed < first + scenes(); seed++) {
        struct scene s;
        scene_make(&s, seed, false);
        scene_run(&s, NULL);
        expect_stopped(&s);
        total_add(&total, &s);
        scene_release(&s);
    }
    total_print(&total, "runs under policies and stops");
    /* They are worth something only if all of this happens in them. */
    ck_assert_uint_gt(total.stopped, scenes() * 3 / 40);
    ck_assert_uint_gt(total.killed, scenes() / 50);
    ck_assert_uint_gt(total.undone, scenes() * 3 / 40);
    ck_assert_uint_gt(total.late, scenes() * 3 / 40);
}
END_TEST

/* ---- Runs that are killed, and resumed ---- */

static struct cairn_store *open_store(const char *path)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    ck_assert_msg(cairn_store_open(&store, &options, &error) == 0, "%s", error.text);
    return store;
}

static void die(void *context)
{
    (void)context;
    _exit(0);
}

/* What was seen, in memory that outlives a killed process. */
enum { TASKS_MOST = 400 };
struct history {
    bool over; /* the run has ended */
    struct seen_task seen[TASKS_MOST];
};

static void resumed_scene(struct scene *s, uint64_t seed, struct history *history)
{
    scene_make(s, seed, true);
    free(s->seen);
    s->seen = history->seen;
    ck_assert_uint_le(s->world.graph.n_tasks, TASKS_MOST);
    s->world.failing = 0;
    s->workflow->definition.on_crash = seed % 2 ? ON_CRASH_ADOPT : ON_CRASH_KILL;
}

static void run_killed(uint64_t seed, const char *path, struct history *history,
                       uint64_t *numbers)
{
    int64_t after_ns = (int64_t)(1 + help_below(numbers, 2500)) * MS;
    uint32_t ends = help_below(numbers, 8);
    pid_t child = check_fork();
    ck_assert_int_ge(child, 0);
    if (child) {
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(status == 0, "seed %llu: it failed", (unsigned long long)seed);
        return;
    }
    struct scene s;
    resumed_scene(&s, seed, history);
    s.fake.act = die;
    s.fake.act_ns = s.fake.now_ns + after_ns;
    s.dies_at_end = ends;
    scene_run(&s, open_store(path));
    history->over = true;
    _exit(0);
}

/* What ran has ended with its cairn, and counts for nothing: unless its keeper wrote
 * down how it ended. */
static uint32_t forget_interrupted(struct seen_task *seen)
{
    uint32_t interrupted = 0;
    for (uint32_t t = 0; t < TASKS_MOST; t++) {
        bool open = seen[t].outcome == CAIRN_PENDING && seen[t].attempts;
        interrupted += open;
        seen[t].attempts = open ? 0 : seen[t].attempts;
        seen[t].alive = false;
    }
    return interrupted;
}

static uint32_t run_resumed(uint64_t seed, const char *path, uint32_t *adopted)
{
    enum { KILLS = 3 };
    struct history *history = mmap(NULL, sizeof *history, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t numbers = seed;
    uint32_t interrupted = 0;
    struct scene s;
    ck_assert_ptr_ne(history, MAP_FAILED);
    for (int kill = 0; kill < KILLS && !history->over; kill++) {
        run_killed(seed, path, history, &numbers);
        interrupted += forget_interrupted(history->seen);
    }
    resumed_scene(&s, seed, history);
    struct cairn_store *store = open_store(path);
    if (!history->over)
        scene_run(&s, store);
    cairn_store_close(store);
    expect_outcomes(&s);
    ck_assert(s.workflow->definition.on_crash == ON_CRASH_ADOPT || !s.adopted);
    *adopted += s.adopted;
    s.seen = NULL;
    scene_release(&s);
    munmap(history, sizeof *history);
    return interrupted;
}

/* What was reported before cairn was killed does not start again, and the rest
 * continues as if nothing had happened. */
START_TEST(resumed_runs)
{
    enum { SCENES = 40 };
    uint64_t first = 40261122 + (uint64_t)_i * SCENES;
    uint32_t interrupted = 0, adopted = 0;
    int64_t began_ns = clock_mono_ns();
    char dir[64];
    printf("seeds from %llu\n", (unsigned long long)first);
    for (uint64_t seed = first; seed < first + SCENES; seed++) {
        snprintf(dir, sizeof dir, "%s/check_runs.XXXXXX", getenv("TMPDIR"));
        ck_assert_ptr_nonnull(mkdtemp(dir));
        interrupted += run_resumed(seed, dir, &adopted);
        remove_tree(dir);
    }
    printf("killed and resumed: %d runs, %.0f a second; %u attempts interrupted, %u "
           "adopted\n",
           SCENES, SCENES * 1e9 / (double)(clock_mono_ns() - began_ns), interrupted,
           adopted);
    ck_assert_uint_gt(adopted, 3);
    ck_assert_uint_gt(interrupted, SCENES / 2);
}
END_TEST

int main(void)
{
    if (access("/dev/shm", W_OK) == 0) /* every run makes a directory */
        setenv("TMPDIR", "/dev/shm", 1);
    else
        setenv("TMPDIR", "/tmp", 0);
    Suite *suite = suite_create("runs");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, whole_runs, 0, 2);
    tcase_add_loop_test(c, stopped_runs, 0, 2);
    suite_add_tcase(suite, c);
    TCase *killed = tcase_create("killed");
    tcase_set_timeout(killed, 120);
    tcase_add_loop_test(killed, resumed_runs, 0, 2);
    suite_add_tcase(suite, killed);
    return help_run(suite);
}
