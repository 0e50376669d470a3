/* SPDX-License-Identifier: MIT */
/* Those that a group's end has reached are seen in /proc until their new parent has
 * collected them, which is soon: numbers right behind that of the leader, which they
 * mostly have, are looked at first. */
#include "process/proc_scan.h"
#include "process/reap.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NAMED = 5, NEAR = 64, NAME_BYTES = 16 };

struct found {
    char names[NAMED][NAME_BYTES];
    unsigned n;
};

/* The name, in brackets, and the last field, which is the status of a zombie (0 where
 * it may not be read). */
static bool read_name(pid_t pid, char name[NAME_BYTES], int *status)
{
    char text[1024];
    int fd = proc_open(pid, "stat");
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    const char *last = strrchr(text, ' ');
    if (!begin || !end || !last || end <= begin)
        return false;
    snprintf(name, NAME_BYTES, "%.*s", (int)(end - begin - 1), begin + 1);
    *status = (int)strtol(last + 1, NULL, 10);
    return true;
}

static void look_at(pid_t pid, pid_t group, struct found *found)
{
    struct proc_entry entry;
    char name[NAME_BYTES];
    int status;
    if (!proc_stat(pid, &entry) || entry.group != group ||
        !read_name(pid, name, &status) || (!entry.alive && status != SIGKILL))
        return;
    if (found->n < NAMED)
        memcpy(found->names[found->n], name, sizeof name);
    found->n++;
}

static void look_at_all(pid_t group, struct found *found)
{
    const struct dirent *entry;
    DIR *dir = opendir("/proc");
    while (dir && (entry = readdir(dir))) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 1 && (pid <= group || pid > group + NEAR))
            look_at((pid_t)pid, group, found);
    }
    if (dir)
        closedir(dir);
}

void left_behind_names(pid_t group, struct buf *names)
{
    struct found found = {.n = 0};
    for (pid_t pid = group + 1; pid <= group + NEAR; pid++)
        look_at(pid, group, &found);
    look_at_all(group, &found);
    for (unsigned i = 0; i < found.n && i < NAMED; i++)
        buf_format(names, "%s%s", i ? ", " : "", found.names[i]);
    if (found.n > NAMED)
        buf_format(names, " and %u more", found.n - NAMED);
}
