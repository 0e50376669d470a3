/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the program `resources`; see resources.c for what it does. */
#ifndef TESTS_PROVE_RESOURCES_RESOURCES_H
#define TESTS_PROVE_RESOURCES_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a process has and has done so far. */
struct sample {
    long descriptors, threads, children, live_files;
    long rss_kib, peak_kib;
    int64_t written, writes, reads; /* bytes and calls, from /proc/PID/io */
    int64_t user_us;
};
/* `live` (may be NULL): the directory whose files are counted. False: it is gone. */
bool take_sample(pid_t pid, const char *live, struct sample *out);

/* Compares a span of steps near the beginning with one near the end, and what was there
 * at the end of each. Prints what grew in lines with '#'; the number of them. */
struct growth {
    struct sample begin[2], end[2];
    double steps;  /* in each span */
    double factor; /* allowed from one to the other */
    double store;  /* bytes of it: what one transfer of the log writes at most */
    long jobs;
};
unsigned judge_growth(const struct growth *growth);

int calls_main(char **args);
int tasks_main(char **args);

#endif
