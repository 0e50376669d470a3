/* SPDX-License-Identifier: MIT */
/* Rounds, files and counts. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t below(struct world *w, uint32_t n)
{
    return help_below(&w->seed, n);
}

bool one_in(struct world *w, uint32_t n)
{
    return below(w, n) == 0;
}

unsigned failures(const struct world *w)
{
    return w->lost + w->repeated + w->undetected + w->other;
}

void wrong(struct world *w, unsigned *count, const char *format, ...)
{
    va_list list;
    ++*count;
    printf("# round %u: ", w->round);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

void say(const struct world *w, const char *format, ...)
{
    va_list list;
    if (!w->trace)
        return;
    printf("  %lld ", (long long)now_ms());
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

/* ---- Files ---- */

void in_base(const struct world *w, char *path, const char *format, ...)
{
    va_list list;
    int n = snprintf(path, PATH_SIZE, "%s/", w->base);
    va_start(list, format);
    vsnprintf(path + n, 160, format, list);
    va_end(list);
}

void put_file(const char *path, const char *format, ...)
{
    va_list list;
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    va_start(list, format);
    vfprintf(file, format, list);
    va_end(list);
    fclose(file);
}

bool make_project(struct world *w, const char *name)
{
    char path[PATH_SIZE + 160];
    in_base(w, path, "%s", name);
    bool good = mkdir(path, 0777) == 0;
    in_base(w, path, "%s/.cairn", name);
    return mkdir(path, 0777) == 0 && good;
}

/* ---- Rounds ---- */

bool round_begin(struct world *w)
{
    w->round++;
    snprintf(w->base, sizeof w->base, "%s/%u", w->top, w->round);
    snprintf(w->log, sizeof w->log, "%s/log", w->base);
    if (mkdir(w->base, 0777)) {
        wrong(w, &w->other, "cannot make %s", w->base);
        return false;
    }
    say(w, "round %u", w->round);
    return setenv("PROVER_OUTSIDE", w->base, 1) == 0;
}

/* Has it the variable of this round? Not ourselves: ours is set after the start. */
static bool is_ours(const struct world *w, const char *pid)
{
    char path[64], mark[PATH_SIZE + 40], text[32768];
    snprintf(mark, sizeof mark, "PROVER_OUTSIDE=%s", w->base);
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    return n > 0 && memmem(text, (size_t)n, mark, strlen(mark) + 1);
}

/* The pids of what still runs; how many. */
static size_t find_ours(const struct world *w, pid_t *pids, size_t most)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    size_t n = 0;
    while (proc && n < most && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) && is_ours(w, entry->d_name))
            pids[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
    if (proc)
        closedir(proc);
    return n;
}

void round_end(struct world *w, unsigned failures_before)
{
    enum { MOST = 20, GONE_MS = 10000 };
    pid_t pids[MOST];
    size_t n;
    int64_t until = now_ms() + GONE_MS;
    while ((n = find_ours(w, pids, MOST)) > 0 && now_ms() < until)
        pause_us(5000);
    for (size_t i = 0; i < n; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/comm", (int)pids[i]);
        char *name = file_text(path);
        wrong(w, &w->other, "process %d is left over: %s", (int)pids[i],
              name ? name : "?");
        free(name);
        kill(pids[i], SIGKILL);
    }
    if (failures(w) == failures_before)
        remove_tree(w->base);
}
