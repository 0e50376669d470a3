/* SPDX-License-Identifier: MIT */
/* A task of the crash tests: task FLAGS SLEEP_MS [END]. FLAGS are letters:
 *   c  starts a process in the background of its group
 *   s  starts one in a session of its own
 *   t  it and they ignore TERM
 *   f  fails
 *   y  fails the first time
 *   o  writes out/TASK
 *   p  prints on both streams, and gives the value v=TASK.ATTEMPT
 *   e  ends as END says: an exit code, or SIGNAL + 1000
 *   w  does not end by itself
 *   k  is a check of the task: logs `check` and `checked`
 *   u  is an undo of the task: logs `undo` and `undone`
 *   -  none
 * Every event is one line in $CRASH_DIR/log, written at once:
 *   start|end|fail|overlap|check|checked|undo|undone TASK ATTEMPT SESSION TIME_NS PID
 *   GOT
 * GOT is $GOT, a value that another task gave; `-` without one.
 * A lock held from start to end, by the background processes too, tells whether
 * anything of an earlier attempt still lives. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SLEEPER_S = 120, PATH_SIZE = 1024 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    if (!value) {
        fprintf(stderr, "%s is not set\n", name);
        exit(90);
    }
    return value;
}

static void make_path(char *path, const char *folder)
{
    int n = snprintf(path, PATH_SIZE, "%s/%s%s%s", variable("CRASH_DIR"), folder,
                     *folder ? "/" : "", variable("CAIRN_TASK"));
    if (n < 0 || n >= PATH_SIZE)
        exit(91);
}

static void note(const char *event)
{
    char line[512], path[PATH_SIZE];
    const char *got = getenv("GOT");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(path, sizeof path, "%s/log", variable("CRASH_DIR"));
    int n = snprintf(line, sizeof line, "%s %s %s %s %lld %d %s\n", event,
                     variable("CAIRN_TASK"), variable("CAIRN_ATTEMPT"),
                     variable("CRASH_SESSION"),
                     (long long)now.tv_sec * 1000000000 + now.tv_nsec, (int)getpid(),
                     got && *got ? got : "-");
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (n < 0 || fd < 0 || write(fd, line, (size_t)n) != n)
        exit(92);
    close(fd);
}

static void take_lock(int inherited)
{
    char path[PATH_SIZE];
    make_path(path, "locks");
    int fd = open(path, O_RDWR | O_CREAT | (inherited ? 0 : O_CLOEXEC), 0600);
    if (fd < 0)
        exit(93);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        note("overlap");
}

static void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void start_sleeper(int session, int stubborn)
{
    char path[] = "/proc/self/exe", name[] = "sleeper", flag[] = "t";
    char *argv[] = {name, stubborn ? flag : NULL, NULL};
    posix_spawnattr_t attributes;
    pid_t pid;
    if (posix_spawnattr_init(&attributes) ||
        posix_spawnattr_setflags(&attributes, session ? POSIX_SPAWN_SETSID : 0) ||
        posix_spawn(&pid, path, NULL, &attributes, argv, environ))
        exit(94);
    posix_spawnattr_destroy(&attributes);
}

static int first_time(void)
{
    char path[PATH_SIZE];
    make_path(path, "flaky");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    close(fd);
    return 1;
}

static void write_output(void)
{
    char path[PATH_SIZE];
    make_path(path, "out");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "made\n", 5) != 5)
        exit(95);
    close(fd);
}

/* One line on each stream at the start, another at the end. */
static void print(const char *when)
{
    const char *task = variable("CAIRN_TASK"), *attempt = variable("CAIRN_ATTEMPT");
    fprintf(stdout, "%s %s %s\n", when, task, attempt);
    if (fflush(stdout) || fprintf(stderr, "%s of %s %s\n", when, task, attempt) < 0 ||
        fflush(stderr))
        exit(96);
}

static void give_value(void)
{
    FILE *file = fopen(variable("CAIRN_OUTPUT"), "ae");
    if (!file ||
        fprintf(file, "v=%s.%s\n", variable("CAIRN_TASK"), variable("CAIRN_ATTEMPT")) <
            0 ||
        fclose(file))
        exit(97);
}

static int end_as(long how)
{
    enum { SIGNALS = 1000 };
    if (how < SIGNALS)
        return (int)how;
    signal((int)how - SIGNALS, SIG_DFL);
    raise((int)how - SIGNALS);
    return 98;
}

/* Of a check or an undo: what it runs beside holds no lock any more. */
static int follow_up(const char *before, const char *after, long ms)
{
    take_lock(0);
    note(before);
    sleep_ms(ms);
    note(after);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "sleeper") == 0) {
        if (argc > 1)
            signal(SIGTERM, SIG_IGN);
        sleep_ms(SLEEPER_S * 1000L);
        return 0;
    }
    if (argc < 3)
        return 89;
    const char *flags = argv[1];
    long ms = strtol(argv[2], NULL, 10);
    if (strchr(flags, 'k'))
        return follow_up("check", "checked", ms);
    if (strchr(flags, 'u'))
        return follow_up("undo", "undone", ms);
    int flaky = strchr(flags, 'y') != NULL, stubborn = strchr(flags, 't') != NULL;
    if (stubborn)
        signal(SIGTERM, SIG_IGN);
    take_lock(!flaky);
    note("start");
    if (strchr(flags, 'c'))
        start_sleeper(0, stubborn);
    if (strchr(flags, 's'))
        start_sleeper(1, stubborn);
    if (strchr(flags, 'p'))
        print("begin");
    sleep_ms(strchr(flags, 'w') ? SLEEPER_S * 1000L : ms);
    if (strchr(flags, 'f') || (flaky && first_time())) {
        note("fail");
        return 3;
    }
    if (strchr(flags, 'o'))
        write_output();
    if (strchr(flags, 'p')) {
        print("end");
        give_value();
    }
    note("end");
    return strchr(flags, 'e') && argc > 3 ? end_as(strtol(argv[3], NULL, 10)) : 0;
}
