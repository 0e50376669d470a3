/* SPDX-License-Identifier: MIT */
/* Finding processes of a graph by their environment, which all that its tasks start
 * inherit, and its guards and keepers by the files that they hold. */
#include "crash.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 256 * 1024 };

static ssize_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t n = 0;
    ssize_t got;
    while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = '\0';
    return (ssize_t)n;
}

static const char *variable(const char *text, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; at < text + size; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* Has it a file below `dir` open? */
static bool holds_file(pid_t pid, const char *dir)
{
    enum { FILES = 10 };
    char path[64], link[1024];
    size_t length = strlen(dir);
    for (int fd = 0; fd < FILES; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n > 0 && (size_t)n > length && strncmp(link, dir, length) == 0 &&
            link[length] == '/')
            return true;
    }
    return false;
}

static bool is_helper(pid_t pid, const char *name, const char *dir)
{
    char is[64];
    if (read_proc(pid, "comm", is, sizeof is) <= 0)
        return false;
    is[strcspn(is, "\n")] = '\0';
    return strcmp(is, name) == 0 && holds_file(pid, dir);
}

bool is_guard(pid_t pid, const char *dir)
{
    return is_helper(pid, "cairn-guard", dir);
}

bool is_keeper(pid_t pid, const char *dir)
{
    return is_helper(pid, "cairn-keeper", dir);
}

struct search {
    const char *dir;
    uint32_t below;
    bool in_session; /* those that left our session count, too */
    bool describe;
    char *text;
};

static bool is_ours(struct search *search, pid_t pid)
{
    if (is_guard(pid, search->dir) || is_keeper(pid, search->dir))
        return true;
    ssize_t n = read_proc(pid, "environ", search->text, ENVIRONMENT_MAX);
    if (n <= 0)
        return false;
    const char *dir = variable(search->text, (size_t)n, "CRASH_DIR");
    const char *session = variable(search->text, (size_t)n, "CRASH_SESSION");
    if (!dir || !session || strcmp(dir, search->dir) != 0 ||
        strtoul(session, NULL, 10) >= search->below)
        return false;
    return search->in_session || getsid(pid) == getsid(0);
}

/* For the reader of a failure. */
static void describe(pid_t pid)
{
    char text[512], name[64] = "";
    ssize_t n = read_proc(pid, "stat", text, sizeof text);
    read_proc(pid, "comm", name, sizeof name);
    name[strcspn(name, "\n")] = '\0';
    text[n > 0 ? strcspn(text, "\n") : 0] = '\0';
    printf("# left: %d %s: %.120s\n", (int)pid, name, text);
}

static uint32_t each_ours(struct search *search, int signal)
{
    uint32_t found = 0;
    search->text = malloc(ENVIRONMENT_MAX);
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (search->text && proc && (entry = readdir(proc))) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (*end || pid <= 1 || pid == getpid() || !is_ours(search, (pid_t)pid))
            continue;
        found++;
        if (search->describe)
            describe((pid_t)pid);
        if (signal)
            kill((pid_t)pid, signal);
    }
    if (proc)
        closedir(proc);
    free(search->text);
    return found;
}

uint32_t left_over(const char *dir, uint32_t below, bool in_session)
{
    struct search search = {.dir = dir, .below = below, .in_session = in_session};
    return each_ours(&search, 0);
}

bool left_none(const char *dir, uint32_t below, bool in_session)
{
    int64_t until = now_ms() + GONE_MS;
    while (left_over(dir, below, in_session) > 0) {
        if (now_ms() > until) {
            struct search search = {dir, below, in_session, true, NULL};
            each_ours(&search, 0);
            return false;
        }
        pause_us(5000);
    }
    return true;
}

void left_end(const char *dir)
{
    struct search search = {.dir = dir, .below = UINT32_MAX, .in_session = true};
    for (int round = 0; round < 100 && each_ours(&search, SIGKILL) > 0; round++)
        pause_us(5000);
}
