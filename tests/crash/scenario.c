/* SPDX-License-Identifier: MIT */
/* A test's directories and its verdict, as a TAP line. */
#include "crash.h"
#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    uint32_t n, passed, failed, skipped;
} totals;

static bool make_dirs(const char *dir)
{
    static const char *const inside[] = {"", "/locks", "/out", "/flaky"};
    char path[DIR_SIZE + 16];
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        snprintf(path, sizeof path, "%s%s", dir, inside[i]);
        if (mkdir(path, 0700) < 0)
            return false;
    }
    return true;
}

bool scenario_begin(struct scenario *s, const struct setup *setup, const char *name,
                    uint64_t seed, const struct shape *shape)
{
    memset(s, 0, sizeof *s);
    s->setup = setup;
    s->rng.state = seed;
    s->settled = UINT32_MAX;
    snprintf(s->name, sizeof s->name, "%s", name);
    workflow_make(&s->w, &s->rng, shape);
    s->jobs = 1 + rng_below(&s->rng, 8);
    snprintf(s->dir, sizeof s->dir, "%s/%u", setup->work, totals.n);
    snprintf(s->whole, sizeof s->whole, "%s/%u-whole", setup->work, totals.n);
    return check(s,
                 make_dirs(s->dir) && make_dirs(s->whole) &&
                     workflow_write(&s->w, s->dir, setup->task) &&
                     workflow_write(&s->w, s->whole, setup->task),
                 "cannot make %s: %s", s->dir, strerror(errno));
}

void scenario_discard(struct scenario *s)
{
    left_end(s->dir);
    left_end(s->whole);
    remove_tree(s->dir);
    remove_tree(s->whole);
}

void scenario_end(struct scenario *s, const char *detail)
{
    totals.n++;
    if (s->failures) {
        totals.failed++;
        printf("not ok %u - %s: %s\n# kept: %s\n", totals.n, s->name, detail, s->dir);
        left_end(s->dir);
        left_end(s->whole);
    } else {
        totals.passed++;
        printf("ok %u - %s: %s\n", totals.n, s->name, detail);
        scenario_discard(s);
    }
    fflush(stdout);
}

void scenario_skip(const char *name, const char *why)
{
    totals.n++;
    totals.skipped++;
    printf("ok %u - %s # skip %s\n", totals.n, name, why);
}

bool check(struct scenario *s, bool good, const char *format, ...)
{
    enum { SHOWN = 10 };
    va_list arguments;
    if (good)
        return true;
    if (++s->failures <= SHOWN) {
        printf("# %s: ", s->name);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
    }
    return false;
}

int scenario_totals(void)
{
    printf("1..%u\n%u passed, %u failed, %u skipped\n", totals.n, totals.passed,
           totals.failed, totals.skipped);
    return totals.failed > 0 || totals.passed == 0;
}
