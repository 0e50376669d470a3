/* SPDX-License-Identifier: MIT */
/* Preloaded into cairn: it pauses before the N-th of the steps by which it looks for,
 * ends or removes what another owner left, or takes a lock. PAUSE_AT is N (0: it only
 * counts), PAUSE_ONLY a text that such a step has in its name (none: all
 * of them), PAUSE_FILE a path: FILE.at is made at the pause and says before what, and
 * the pause lasts until there is FILE.go, or for 20 seconds; FILE.count gets the number
 * of steps when the process exits.
 *
 * The variables and LD_PRELOAD are taken out of the environment before cairn copies it.
 * Children that share our memory are not counted. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long wanted;
static char prefix[1024], only[128];
static pid_t self;
static atomic_long steps;

int renameat(int from_dir, const char *from, int to_dir, const char *to);
long syscall(long number, ...);

static DIR *(*real_opendir)(const char *);
static int (*real_open)(const char *, int, ...);
static int (*real_fcntl)(int, int, ...);
static int (*real_renameat)(int, const char *, int, const char *);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_kill)(pid_t, int);
static long (*real_syscall)(long, ...);

/* A function pointer through memory: ISO C has no cast for it. */
static void look_up(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    memcpy(function, &found, sizeof found);
}

__attribute__((constructor)) static void prepare(void)
{
    look_up(&real_opendir, "opendir");
    look_up(&real_open, "open");
    look_up(&real_fcntl, "fcntl");
    look_up(&real_renameat, "renameat");
    look_up(&real_unlinkat, "unlinkat");
    look_up(&real_kill, "kill");
    look_up(&real_syscall, "syscall");
    const char *at = getenv("PAUSE_AT"), *file = getenv("PAUSE_FILE"),
               *name = getenv("PAUSE_ONLY");
    wanted = at ? strtol(at, NULL, 10) : 0;
    snprintf(prefix, sizeof prefix, "%s", file ? file : "");
    snprintf(only, sizeof only, "%s", name ? name : "");
    self = getpid();
    unsetenv("PAUSE_ONLY");
    unsetenv("PAUSE_AT");
    unsetenv("PAUSE_FILE");
    unsetenv("LD_PRELOAD");
}

static void say(const char *ending, const char *what, long number)
{
    char path[1100];
    snprintf(path, sizeof path, "%s.%s", prefix, ending);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(file, "%ld %s\n", number, what);
    fclose(file);
}

__attribute__((destructor)) static void end(void)
{
    if (getpid() == self && prefix[0])
        say("count", "", atomic_load(&steps));
}

static void step(const char *what)
{
    char go[1100];
    if (getpid() != self || !prefix[0] || !strstr(what, only) ||
        atomic_fetch_add(&steps, 1) + 1 != wanted)
        return;
    snprintf(go, sizeof go, "%s.go", prefix);
    say("at", what, wanted);
    for (int i = 0; i < 1000 && access(go, F_OK) != 0; i++) {
        struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
}

static bool ends_with(const char *text, const char *end_of_it)
{
    size_t size = strlen(text), n = strlen(end_of_it);
    return size >= n && strcmp(text + size - n, end_of_it) == 0;
}

DIR *opendir(const char *path)
{
    if (strcmp(path, "/proc") == 0 || ends_with(path, "/live"))
        step(path);
    return real_opendir(path);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (strstr(path, "/live/"))
        step(path);
    return real_open(path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (command == F_OFD_SETLK)
        step("lock");
    return real_fcntl(fd, command, argument);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    step(from);
    return real_renameat(from_dir, from, to_dir, to);
}

int unlinkat(int dir, const char *path, int flags)
{
    step(path);
    return real_unlinkat(dir, path, flags);
}

int kill(pid_t pid, int signal)
{
    step("kill");
    return real_kill(pid, signal);
}

long syscall(long number, ...)
{
    va_list rest;
    long a[6];
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
#ifdef SYS_pidfd_send_signal
    if (number == SYS_pidfd_send_signal)
        step("pidfd_send_signal");
#endif
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
