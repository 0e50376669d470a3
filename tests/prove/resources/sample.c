/* SPDX-License-Identifier: MIT */
/* What a process uses, read from /proc. */
#include "tests/prove/resources/resources.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>

static long count_entries(const char *path)
{
    long n = 0;
    const struct dirent *entry;
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static long count_children(pid_t pid)
{
    char path[300], text[512];
    long n = 0;
    const struct dirent *entry;
    DIR *dir = opendir("/proc");
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            fclose(file);
        text[got] = 0;
        const char *after = strrchr(text, ')');
        long parent;
        char state;
        n += after && sscanf(after + 1, " %c %ld", &state, &parent) == 2 &&
             parent == pid;
    }
    if (dir)
        closedir(dir);
    return n;
}

/* The number after `name` in /proc/PID/`file`; -1: not there. */
static int64_t value_of(pid_t pid, const char *file, const char *name)
{
    char path[64], line[256];
    int64_t value = -1;
    size_t n = strlen(name);
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, file);
    FILE *in = fopen(path, "r");
    while (in && value < 0 && fgets(line, sizeof line, in))
        if (strncmp(line, name, n) == 0)
            value = strtoll(line + n, NULL, 10);
    if (in)
        fclose(in);
    return value;
}

bool take_sample(pid_t pid, const char *live, struct sample *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    *out = (struct sample){.descriptors = count_entries(path),
                           .threads = (long)value_of(pid, "status", "Threads:"),
                           .children = count_children(pid),
                           .live_files = live ? count_entries(live) : 0,
                           .rss_kib = (long)value_of(pid, "status", "VmRSS:"),
                           .peak_kib = (long)value_of(pid, "status", "VmHWM:"),
                           .written = value_of(pid, "io", "wchar:"),
                           .writes = value_of(pid, "io", "syscw:"),
                           .reads = value_of(pid, "io", "syscr:")};
    return out->rss_kib > 0 && out->written >= 0;
}

static unsigned grew(const char *what, double first, double second, double allowed)
{
    if (second <= allowed)
        return 0;
    printf("# %s: %.1f near the beginning, %.1f near the end\n", what, first, second);
    return 1;
}

unsigned judge_growth(const struct growth *g)
{
    /* Slots come and go, and a transfer of the log may fall into one span and not into
     * the other: it writes each page of the store once at most. */
    enum {
        CACHE_KIB = 8000 + 1500, /* SQLite's, which fills with the pages of the store */
        LATE_KIB = 768,          /* in the last tenth, when it is full */
        AHEAD = 32 /* slots for what is asked for before others have ended, and for
                      what has ended before the loop looks, some milliseconds later */
    };
    const struct sample *first = &g->end[0], *second = &g->end[1];
    double slack = (double)g->jobs + (g->jobs > 1 ? AHEAD : 0);
    double bytes[2], calls[2];
    unsigned bad = 0;
    for (int i = 0; i < 2; i++) {
        bytes[i] = (double)(g->end[i].written - g->begin[i].written) / g->steps;
        calls[i] = (double)(g->end[i].writes + g->end[i].reads - g->begin[i].writes -
                            g->begin[i].reads) /
                   g->steps;
    }
    printf("# a step near the beginning and near the end: %.0f and %.0f bytes written, "
           "%.2f and %.2f reads and writes\n",
           bytes[0], bytes[1], calls[0], calls[1]);
    printf(
        "# memory %ld and %ld KiB (peak %ld), descriptors %ld and %ld, threads %ld and "
        "%ld, children %ld and %ld, files in live/ %ld and %ld\n",
        first->rss_kib, second->rss_kib, second->peak_kib, first->descriptors,
        second->descriptors, first->threads, second->threads, first->children,
        second->children, first->live_files, second->live_files);
    bad += grew("bytes written a step", bytes[0], bytes[1],
                bytes[0] * g->factor + g->store / g->steps);
    bad += grew("reads and writes a step", calls[0], calls[1], calls[0] * g->factor);
    bad += grew("memory in KiB", (double)first->rss_kib, (double)second->rss_kib,
                (double)(first->rss_kib + CACHE_KIB));
    bad += grew("memory in KiB, late", (double)g->begin[1].rss_kib,
                (double)second->rss_kib, (double)(g->begin[1].rss_kib + LATE_KIB));
    bad += grew("descriptors", (double)first->descriptors, (double)second->descriptors,
                (double)first->descriptors + slack);
    bad += grew("threads", (double)first->threads, (double)second->threads,
                (double)first->threads);
    bad +=
        grew("children", (double)first->children, (double)second->children, slack + 2);
    bad += grew("files in live/", (double)first->live_files, (double)second->live_files,
                4 * ((double)g->jobs + AHEAD) + 8);
    return bad;
}
