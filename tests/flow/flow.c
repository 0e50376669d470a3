/* SPDX-License-Identifier: MIT */
/* The flow tests' command line, and verdicts as TAP lines. */
#include "flow.h"
#include "tests/support/remove_tree.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: flow [options]\n"
    "  --test A|B     one of them: A plan = explain = run, B same answer\n"
    "  --count N      how many workflows (default: 1)\n"
    "  --short, --full   both, a few or as many as promised\n"
    "  --seed N       of the first workflow; default: from the clock\n"
    "  --cairn PATH   default: `cairn` in the directory above this program's\n";

static struct {
    uint32_t n, passed, failed;
} totals;

/* ---- Verdicts ---- */

bool check(struct test *t, bool good, const char *format, ...)
{
    enum { SHOWN = 12 };
    va_list arguments;
    if (good)
        return true;
    if (++t->failures <= SHOWN) {
        printf("# %s, %s: ", t->name, t->where);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
    }
    return false;
}

bool test_begin(struct test *t, const struct setup *setup, const char *name,
                uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->setup = setup;
    t->rng.state = seed;
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->where, sizeof t->where, "setting up");
    snprintf(t->dir, sizeof t->dir, "%.400s/%u", setup->work, totals.n);
    return check(t, make_dir(t->dir), "cannot make %s: %s", t->dir, strerror(errno));
}

void test_end(struct test *t, const char *detail)
{
    totals.n++;
    printf("%s %u - %s: %s\n", t->failures ? "not ok" : "ok", totals.n, t->name,
           detail);
    if (t->failures) {
        totals.failed++;
        printf("# kept: %s\n", t->dir);
    } else {
        totals.passed++;
        remove_tree(t->dir);
    }
    fflush(stdout);
}

/* ---- The command line ---- */

enum { TEST = 256, COUNT, SHORT, FULL, SEED, CAIRN };
static const struct option options[] = {
    {"test", 1, NULL, TEST}, {"count", 1, NULL, COUNT}, {"short", 0, NULL, SHORT},
    {"full", 0, NULL, FULL}, {"seed", 1, NULL, SEED},   {"cairn", 1, NULL, CAIRN},
    {NULL, 0, NULL, 0}};

struct wanted {
    uint32_t plan, same, count;
    const char *test, *cairn;
    uint64_t seed;
    bool full;
};

static bool take_option(int option, struct wanted *wanted)
{
    switch (option) {
    case TEST:
        wanted->test = optarg;
        return strcmp(optarg, "A") == 0 || strcmp(optarg, "B") == 0;
    case COUNT:
        wanted->count = (uint32_t)strtoul(optarg, NULL, 10);
        return wanted->count > 0;
    case SHORT:
        wanted->plan = 4;
        wanted->same = 10;
        return true;
    case FULL:
        wanted->plan = 200;
        wanted->same = 500;
        wanted->full = true;
        return true;
    case SEED:
        wanted->seed = strtoull(optarg, NULL, 10);
        return true;
    case CAIRN:
        wanted->cairn = optarg;
        return true;
    default:
        return false;
    }
}

static bool read_options(int argc, char **argv, struct wanted *wanted)
{
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take_option(option, wanted))
            return false;
    if (wanted->test) {
        bool plan = strcmp(wanted->test, "A") == 0;
        uint32_t n = wanted->count   ? wanted->count
                     : !wanted->plan ? 1
                     : plan          ? wanted->plan
                                     : wanted->same;
        wanted->plan = plan ? n : 0;
        wanted->same = plan ? 0 : n;
    }
    return optind == argc && (wanted->plan || wanted->same);
}

/* The command stands in the directory above. */
static bool find_cairn(char cairn[PATH_MAX], const char *given)
{
    char self[PATH_MAX], text[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    snprintf(text, sizeof text, "%s/../../cairn", dirname(self));
    return realpath(given ? given : text, cairn) != NULL;
}

static bool make_work(char work[PATH_MAX])
{
    char text[PATH_MAX];
    const char *temporary = getenv("TMPDIR");
    snprintf(text, sizeof text, "%s/cairn-flow.XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    return mkdtemp(text) && realpath(text, work);
}

int main(int argc, char **argv)
{
    static char cairn[PATH_MAX], work[PATH_MAX];
    struct wanted wanted = {.seed = (uint64_t)now_ms() % 1000000000};
    if (!read_options(argc, argv, &wanted)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!find_cairn(cairn, wanted.cairn) || !make_work(work)) {
        fprintf(stderr, "flow: cannot find cairn or make a directory: %s\n",
                strerror(errno));
        return 2;
    }
    struct setup setup = {cairn, work, wanted.seed, wanted.full};
    printf("# seed %llu, in %s\n", (unsigned long long)wanted.seed, work);
    test_plan(&setup, wanted.plan);
    test_same(&setup, wanted.same);
    rmdir(work); /* stays if something failed */
    printf("1..%u\n%u passed, %u failed\n", totals.n, totals.passed, totals.failed);
    return totals.failed > 0 || totals.passed == 0;
}
