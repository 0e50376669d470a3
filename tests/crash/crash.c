/* SPDX-License-Identifier: MIT */
/* The crash tests' command line: see usage below and docs/crash-tests.md. */
#include "crash.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

static const char usage[] =
    "usage: crash [options]\n"
    "  --random N     random graphs, killed and resumed\n"
    "  --storm N      N kills while many short tasks end, with 1 to 64 jobs\n"
    "  --windows N    kills in each window\n"
    "  --damage N     graphs whose newest checkpoints are damaged\n"
    "  --from N       new runs from a checkpoint in the middle\n"
    "  --adopt N      N kills with on_crash: adopt, and some of keepers\n"
    "  --once N       N kills with on_crash: kill, and once tasks\n"
    "  --cases N      other runs, edits and undoing after such kills\n"
    "  --bytes        change every byte of a small store\n"
    "  --short, --full   all of it: a few of each, or as many as promised\n"
    "  --seed N       default: from the clock\n"
    "  --cairn PATH   default: `cairn` in the directory above this program's\n";

struct amounts {
    uint32_t random, storm, windows, damage, from, adopt, once, cases;
    bool bytes;
};

enum {
    RANDOM = 256,
    STORM,
    WINDOWS,
    DAMAGE,
    FROM,
    ADOPT,
    ONCE,
    CASES,
    BYTES,
    SHORT,
    FULL,
    SEED,
    CAIRN
};
static const struct option options[] = {
    {"random", 1, NULL, RANDOM},   {"storm", 1, NULL, STORM},
    {"windows", 1, NULL, WINDOWS}, {"damage", 1, NULL, DAMAGE},
    {"from", 1, NULL, FROM},       {"adopt", 1, NULL, ADOPT},
    {"once", 1, NULL, ONCE},       {"cases", 1, NULL, CASES},
    {"bytes", 0, NULL, BYTES},     {"short", 0, NULL, SHORT},
    {"full", 0, NULL, FULL},       {"seed", 1, NULL, SEED},
    {"cairn", 1, NULL, CAIRN},     {NULL, 0, NULL, 0}};

static bool take_option(int option, struct amounts *amounts, uint64_t *seed)
{
    uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
    switch (option) {
    case RANDOM:
        amounts->random = (uint32_t)number;
        return true;
    case STORM:
        amounts->storm = (uint32_t)number;
        return true;
    case WINDOWS:
        amounts->windows = (uint32_t)number;
        return true;
    case DAMAGE:
        amounts->damage = (uint32_t)number;
        return true;
    case FROM:
        amounts->from = (uint32_t)number;
        return true;
    case ADOPT:
        amounts->adopt = (uint32_t)number;
        return true;
    case ONCE:
        amounts->once = (uint32_t)number;
        return true;
    case CASES:
        amounts->cases = (uint32_t)number;
        return true;
    case BYTES:
        amounts->bytes = true;
        return true;
    case SHORT:
        *amounts = (struct amounts){8, 24, 3, 6, 2, 12, 6, 1, true};
        return true;
    case FULL:
        *amounts = (struct amounts){300, 1000, 30, 60, 20, 1000, 300, 10, true};
        return true;
    case SEED:
        *seed = number;
        return true;
    default:
        return false;
    }
}

struct paths {
    char cairn[PATH_MAX], task[PATH_MAX], killer[PATH_MAX], work[PATH_MAX];
};

/* The other parts of the tests stand beside this program. */
static bool find_paths(struct paths *paths, const char *cairn)
{
    char self[PATH_MAX], text[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    const char *dir = dirname(self);
    snprintf(text, sizeof text, "%s/../../cairn", dir);
    if (!realpath(cairn ? cairn : text, paths->cairn))
        return false;
    snprintf(text, sizeof text, "%s/task", dir);
    if (!realpath(text, paths->task))
        return false;
    snprintf(text, sizeof text, "%s/killer.so", dir);
    return realpath(text, paths->killer) != NULL;
}

static bool make_work(struct paths *paths)
{
    char text[PATH_MAX];
    const char *temporary = getenv("TMPDIR");
    snprintf(text, sizeof text, "%s/cairn-crash.XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    return mkdtemp(text) && realpath(text, paths->work);
}

int main(int argc, char **argv)
{
    static struct paths paths;
    struct amounts amounts = {0};
    uint64_t seed = (uint64_t)now_ms() % 1000000000;
    const char *cairn = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == CAIRN)
            cairn = optarg;
        else if (!take_option(option, &amounts, &seed)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (!find_paths(&paths, cairn) || !make_work(&paths)) {
        fprintf(stderr, "crash: cannot find its parts or make a directory: %s\n",
                strerror(errno));
        return 2;
    }
    struct setup setup = {paths.cairn, paths.task, paths.killer, paths.work, seed};
    printf("# seed %llu, in %s\n", (unsigned long long)seed, paths.work);
    if (amounts.bytes)
        test_bytes(&setup);
    test_from(&setup, amounts.from);
    test_damage(&setup, amounts.damage);
    test_windows(&setup, amounts.windows);
    test_random(&setup, amounts.random);
    test_storm(&setup, amounts.storm);
    test_adopt(&setup, amounts.adopt);
    test_once(&setup, amounts.once);
    test_adopt_cases(&setup, amounts.cases);
    rmdir(paths.work); /* stays if something failed */
    return scenario_totals();
}
