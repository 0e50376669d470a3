/* SPDX-License-Identifier: MIT */
/* The keeper of one task (process/keeper.h): takes the attempt, runs the task, ends it
 * when its time is over or when asked to, writes down how it ended, and ends likewise.
 *
 *   claim -> start -> [ running -> asked to end (TERM, grace) -> killed ] -> record
 *
 * Its files are the KEEP_*_FD. All signals are blocked from its first moment: SIGTERM
 * means end the task politely, SIGUSR1 at once, SIGCHLD that it may have ended; others
 * mean nothing. Whether the maker lives does not matter.
 *
 * Exit: as the task did; KEEP_NOT_STARTED if the attempt was not to be had. */
#include "process/become.h"
#include "process/file_io.h"
#include "process/helper/roles.h"
#include "process/keeper_file.h"
#include "process/pidfd.h"
#include "process/proc_scan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FOREVER_MS = 1000000000 /* some days: then it looks at the clock again */ };

struct task {
    char **argv, **envp;
    const char *path, *cwd;
    pid_t parent;
    /* what its child says */
    int error, exit_code;
    const char *stage;
};

struct keeper_state {
    struct keep_spec *spec;
    struct task task;
    int fd;           /* the attempt's file */
    struct stat live; /* the directory that it is in */
    pid_t pid;
    struct keep_end end;
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t mono_ms(void)
{
    return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* ---- What to do ---- */

static bool read_all(char *to, uint64_t n)
{
    while (n > 0) {
        ssize_t got = read(KEEP_SPEC_FD, to, (size_t)n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        n -= (uint64_t)got;
    }
    return true;
}

static struct keep_spec *read_spec(void)
{
    struct keep_spec head;
    if (!read_all((char *)&head, sizeof head) || head.magic != KEEP_SPEC_MAGIC ||
        head.version != KEEP_VERSION || head.bytes < sizeof head)
        return NULL;
    struct keep_spec *spec = malloc((size_t)head.bytes);
    if (!spec)
        return NULL;
    memcpy(spec, &head, sizeof head);
    if (read_all((char *)(spec + 1), head.bytes - sizeof head))
        return spec;
    free(spec);
    return NULL;
}

/* The next string; NULL if there is none. */
static char *take_string(char **at, const char *end)
{
    char *text = *at, *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (nul)
        *at = nul + 1;
    return nul ? text : NULL;
}

static char **take_vector(char **at, const char *end, uint32_t n)
{
    char **vector = calloc((size_t)n + 1, sizeof *vector);
    if (!vector)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!(vector[i] = take_string(at, end)))
            return NULL;
    return vector;
}

/* Nothing is freed: the process ends with its task. */
static bool find_strings(struct keep_spec *spec, struct task *task)
{
    char *at = (char *)(spec + 1), *end = (char *)spec + spec->bytes;
    task->argv = take_vector(&at, end, spec->n_argv);
    task->envp = take_vector(&at, end, spec->n_envp);
    task->path = spec->has_path ? take_string(&at, end) : NULL;
    task->cwd = spec->has_cwd ? take_string(&at, end) : NULL;
    return task->argv && task->envp && (task->path || !spec->has_path) &&
           (task->cwd || !spec->has_cwd) && at == end;
}

static bool claim_attempt(struct keeper_state *keeper)
{
    struct keep_start *start = &keeper->spec->start;
    struct proc_entry self;
    if (!proc_stat(getpid(), &self))
        return false;
    start->pid = getpid();
    start->start = self.start;
    start->claimed_ns = clock_ns(CLOCK_REALTIME);
    return keep_claim(KEEP_DIR_FD, keeper->spec->epoch, keeper->spec->name, start,
                      &keeper->fd) == 0;
}

/* ---- Starting ---- */

__attribute__((noreturn)) IN_CHILD static void fail_task(struct task *task,
                                                         const char *stage, int sys,
                                                         int exit_code)
{
    task->stage = stage;
    task->error = sys;
    task->exit_code = exit_code;
    _exit(126);
}

/* Shares our memory; in the order that child.c explains. */
IN_CHILD static int become_task(void *arg)
{
    struct task *task = arg;
    if (setpgid(0, 0))
        fail_task(task, "setpgid", errno, -1);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
        fail_task(task, "prctl", errno, -1);
    if (getppid() != task->parent)
        _exit(126);
    if (dup2(KEEP_NULL_FD, 0) < 0)
        fail_task(task, "dup", errno, -1);
    close_from(3);
    if (task->cwd && chdir(task->cwd))
        fail_task(task, "chdir", errno, -1);
    if (unblock_signals())
        fail_task(task, "sigprocmask", errno, -1);
    int sys = exec_program(task->path, task->argv, task->envp);
    fail_task(task, "exec", sys, exec_exit_code(sys));
}

static void start_task(struct keeper_state *keeper)
{
    static char stack[CHILD_STACK_BYTES] __attribute__((aligned(64)));
    struct task *task = &keeper->task;
    task->parent = getpid();
    keeper->end.started_ns = clock_ns(CLOCK_REALTIME);
    keeper->pid = clone(become_task, stack + sizeof stack,
                        CLONE_VM | CLONE_VFORK | SIGCHLD, task);
    if (keeper->pid < 0) {
        task->error = errno;
        task->exit_code = -1;
        task->stage = "clone";
    }
}

/* Neither the output (somebody may wait for its end) nor a directory is held. */
static void release_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        (void)dup2(KEEP_NULL_FD, fd);
    close(KEEP_DIR_FD);
    close(KEEP_NULL_FD);
    if (chdir("/"))
        return; /* then a file system stays busy until we end */
}

/* ---- Running ---- */

static void signal_group(const struct keeper_state *keeper, int signal)
{
    assert(keeper->pid > 1);
    /* Unreaped, so the number means our task and its group. It may have left that. */
    if (kill(-keeper->pid, signal))
        (void)kill(keeper->pid, signal);
}

static bool has_ended(const struct keeper_state *keeper)
{
    siginfo_t info = {.si_pid = 0};
    struct proc_entry entry;
    if (waitid(P_PID, (id_t)keeper->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        return info.si_pid == keeper->pid;
    /* Where that call is refused. */
    return errno != EINTR && !(proc_stat(keeper->pid, &entry) && entry.alive);
}

/* One of ours, or 0 when the time is over or something interrupted. */
static int wait_signal(int64_t until_ms)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGUSR1);
    int64_t left_ms = until_ms - mono_ms();
    left_ms = left_ms < 0 ? 0 : left_ms < FOREVER_MS ? left_ms : FOREVER_MS;
    struct timespec left = {left_ms / 1000, left_ms % 1000 * 1000000};
    int signal = sigtimedwait(&ours, NULL, &left);
    return signal < 0 ? 0 : signal;
}

static void ask_to_end(const struct keeper_state *keeper)
{
    /* A stopped process cannot act on TERM before it is continued. */
    signal_group(keeper, SIGTERM);
    signal_group(keeper, SIGCONT);
}

static int64_t after_ms(int64_t delay_ms)
{
    return mono_ms() + (delay_ms < INT64_MAX / 2 ? delay_ms : INT64_MAX / 2);
}

/* Until the task has ended. What had ended by itself was neither stopped nor timed out,
 * so that is looked at before anything is done. */
static void supervise_task(struct keeper_state *keeper)
{
    enum { RUNNING, ASKED, KILLED } state = RUNNING;
    enum { AGAIN_MS = 100 };
    const struct keep_spec *spec = keeper->spec;
    int64_t until_ms = spec->timeout_ms > 0 ? after_ms(spec->timeout_ms) : INT64_MAX;
    for (;;) {
        int signal = wait_signal(until_ms);
        if (has_ended(keeper))
            return;
        bool late = mono_ms() >= until_ms;
        if (signal == SIGUSR1 || (late && state != RUNNING)) {
            if (state == RUNNING)
                keeper->end.flags |= KEEP_STOPPED;
            state = KILLED;
            signal_group(keeper, SIGKILL);
            until_ms = after_ms(AGAIN_MS);
        } else if (state == RUNNING && (signal == SIGTERM || late)) {
            keeper->end.flags |= signal == SIGTERM ? KEEP_STOPPED : KEEP_TIMED_OUT;
            state = ASKED;
            ask_to_end(keeper);
            until_ms = after_ms(spec->grace_ms);
        }
    }
}

/* Ends what is left of the group while its number still means it. */
static void reap_task(struct keeper_state *keeper)
{
    struct rusage usage = {0}, own = {0};
    int status = 0;
    (void)kill(-keeper->pid, SIGKILL);
    while (wait4(keeper->pid, &status, __WALL, &usage) < 0 && errno == EINTR)
        ;
    keeper->end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    keeper->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    keeper->end.cpu_us = usage_cpu_us(&usage);
    /* Until its exec it counted as large as we are: see spawner.c. */
    if (getrusage(RUSAGE_SELF, &own) == 0 && usage.ru_maxrss > own.ru_maxrss)
        keeper->end.peak_kib = usage.ru_maxrss;
}

/* ---- The end ---- */

static const char *values_path(const struct task *task)
{
    static const char name[] = "CAIRN_OUTPUT=";
    for (char **at = task->envp; *at; at++)
        if (strncmp(*at, name, sizeof name - 1) == 0)
            return *at + sizeof name - 1;
    return "";
}

/* Tasks write values by path. Where the store was moved while the task ran, and another
 * one is in its place, they are there: nobody may take the task for completed. */
static bool values_are_elsewhere(const struct keeper_state *keeper)
{
    const char *path = values_path(&keeper->task), *slash = strrchr(path, '/');
    char dir[4096];
    struct stat file, now;
    if (!slash || lstat(path, &file) || file.st_size == 0)
        return false;
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    return stat(dir, &now) == 0 &&
           (now.st_dev != keeper->live.st_dev || now.st_ino != keeper->live.st_ino);
}

/* Space was taken with the claim. If the disk fails all the same, a live engine still
 * learns the outcome from how we exit. */
static void write_record(struct keeper_state *keeper)
{
    enum { TRIES = 5, PAUSE_NS = 200000000 };
    struct keep_end *end = &keeper->end;
    end->magic = KEEP_END_MAGIC;
    end->version = KEEP_VERSION;
    end->start_crc = keeper->spec->start.crc;
    end->ended_ns = clock_ns(CLOCK_REALTIME);
    end->crc = keep_end_crc(end);
    for (int i = 0; i < TRIES; i++) {
        if (!file_write_at(keeper->fd, end, sizeof *end, KEEP_HALF) &&
            !file_sync(keeper->fd))
            return;
        struct timespec pause = {0, PAUSE_NS};
        nanosleep(&pause, NULL);
    }
}

/* By the same signal, but a core would be ours, not the task's. */
static int end_as(const struct keep_end *end)
{
    static const struct rlimit none = {0, 0};
    enum { BITS = 8 * sizeof(unsigned long) };
    if (!end->signal)
        return end->exit_code < 0 ? 126 : end->exit_code;
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Only this one: others may have come meanwhile. */
    unsigned long mask[8] = {0};
    mask[(unsigned)(end->signal - 1) / BITS] |= 1UL
                                                << (unsigned)(end->signal - 1) % BITS;
    (void)kill(getpid(), end->signal);
    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, mask, NULL, (long)KERNEL_MASK_BYTES);
    return 128 + end->signal;
}

static void close_on_exec(int fd)
{
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int keeper_main(void)
{
    static struct keeper_state keeper;
    static const struct keep_end not_started = {.signal = KEEP_NOT_STARTED};
    prctl(PR_SET_NAME, KEEP_PROGRAM, 0, 0, 0);
    close_on_exec(KEEP_DIR_FD); /* for kernels without close_range */
    close_on_exec(KEEP_NULL_FD);
    close_on_exec(KEEP_HOLD_FD);
    keeper.spec = read_spec();
    if (!keeper.spec || !find_strings(keeper.spec, &keeper.task) ||
        !claim_attempt(&keeper))
        return end_as(&not_started);
    (void)fstat(KEEP_DIR_FD, &keeper.live);
    start_task(&keeper);
    release_files();
    struct keep_end *end = &keeper.end;
    if (keeper.pid > 0 && !keeper.task.error)
        supervise_task(&keeper);
    if (keeper.pid > 0)
        reap_task(&keeper);
    if (keeper.task.error) {
        end->error = keeper.task.error;
        end->exit_code = keeper.task.exit_code;
        end->signal = 0;
        snprintf(end->stage, sizeof end->stage, "%s", keeper.task.stage);
    } else {
        end->pid = keeper.pid;
    }
    if (!values_are_elsewhere(&keeper))
        write_record(&keeper);
    return end_as(end);
}
