/* SPDX-License-Identifier: MIT */
/* Starting and awaiting processes. Every descendant that loses its parent becomes our
 * child, so that waiting for children is waiting for all that was left behind. */
#include "nth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarm_rang;

int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void ring(int signal)
{
    (void)signal;
    alarm_rang = 1;
}

void set_alarm(int timeout_ms)
{
    /* It rings again and again: one that comes just before a wait would be lost. */
    struct itimerval timer = {.it_value = {timeout_ms / 1000, timeout_ms % 1000 * 1000},
                              .it_interval = {0, timeout_ms ? 50000 : 0}};
    struct sigaction action = {.sa_handler = ring};
    sigemptyset(&action.sa_mask);
    alarm_rang = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

bool alarmed(void)
{
    return alarm_rang != 0;
}

void become_reaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void place(int fd, const char *path)
{
    int opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (opened < 0 || dup2(opened, fd) < 0)
        _exit(126);
}

/* Between vfork and exec: nothing of the parent's memory is changed. */
static void become(const struct start *start)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0)
        _exit(126);
    if (start->out)
        place(STDOUT_FILENO, start->out);
    if (start->err)
        place(STDERR_FILENO, start->err);
    if (start->session && setsid() < 0)
        _exit(126);
    if (start->dir && chdir(start->dir) < 0)
        _exit(126);
    if (start->traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(126);
    execvpe(start->argv[0], (char *const *)(uintptr_t)start->argv, start->environment);
    _exit(127);
}

pid_t start(const struct start *start)
{
    pid_t pid = vfork();
    if (pid == 0)
        become(start);
    return pid;
}

int await(pid_t pid, int timeout_ms, bool *hung)
{
    int status = 0;
    *hung = false;
    set_alarm(timeout_ms);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        if (alarmed() && !*hung) {
            *hung = true;
            kill(pid, SIGKILL);
        }
    set_alarm(0);
    return status;
}

/* ---- What is left ---- */

static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static bool is_child(pid_t pid)
{
    char text[512];
    int parent = 0;
    read_proc(pid, "stat", text, sizeof text);
    const char *after = strrchr(text, ')');
    return after && sscanf(after, ") %*c %d", &parent) == 1 && parent == getpid();
}

static void describe(pid_t pid, char *left, size_t size)
{
    char text[160];
    size_t used = strlen(left), n = read_proc(pid, "cmdline", text, sizeof text);
    if (n == 0) {
        n = read_proc(pid, "comm", text, sizeof text);
        text[strcspn(text, "\n")] = '\0';
    }
    for (size_t i = 0; i + 1 < n; i++)
        if (text[i] == '\0' || text[i] == '\n')
            text[i] = ' ';
    snprintf(left + used, size - used, "%s%d (%.60s)", used ? ", " : "", (int)pid,
             text);
}

/* Of our children; their own children become ours in turn. */
static void end_children(char *left, size_t size)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (*end || pid <= 1 || !is_child((pid_t)pid))
            continue;
        if (left)
            describe((pid_t)pid, left, size);
        kill((pid_t)pid, SIGKILL);
    }
    if (proc)
        closedir(proc);
}

bool none_left(int timeout_ms, char *left, size_t size)
{
    bool none = true;
    if (left)
        left[0] = '\0';
    set_alarm(timeout_ms);
    for (;;) {
        if (waitpid(-1, NULL, __WALL) >= 0)
            continue;
        if (errno != EINTR)
            break;
        if (alarmed()) {
            end_children(none ? left : NULL, size);
            none = false;
        }
    }
    set_alarm(0);
    return none;
}
