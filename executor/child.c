/* The vfork-style clone and the code that runs in its child.
 *
 * Invariants
 *  1. Between clone and exec the child shares all memory with a program that we do not
 *     know, so it allocates nothing, takes no lock and runs no signal handler: all
 *     signals stay blocked until every disposition is the default one.
 *  2. Order matters: own group, then parent-death signal, then a look whether the
 *     parent still lives (it may have died before the signal was armed), then the pid
 *     into the slot. Whoever finds a pid in a slot finds a group of that number.
 *  3. It leaves by exec or _exit only. */
#include "executor/spawn_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

/* Sanitizers keep notes about stack frames; these frames are never left. */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined")))

enum {
    STACK_BYTES = 64 * 1024, /* holds one PATH_MAX buffer with much to spare */
    KERNEL_SIGNALS = _NSIG - 1,
    KERNEL_MASK_BYTES = _NSIG / 8, /* the C library's sigset_t is longer */
    FIRST_FREE_FD = 10             /* above all the numbers we hand out */
};

/* As execvp without PATH in the environment. */
static const char default_path[] = "/bin:/usr/bin";

int child_stack_init(struct child_stack *stack, struct cairn_error *error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = STACK_BYTES + page;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
        return error_sys(error, errno, "a stack for new processes");
    if (mprotect(base, page, PROT_NONE)) {
        int sys = errno;
        munmap(base, size);
        return error_sys(error, sys, "a stack for new processes");
    }
    stack->base = base;
    stack->size = size;
    return 0;
}

void child_stack_release(struct child_stack *stack)
{
    if (stack->base)
        munmap(stack->base, stack->size);
    stack->base = NULL;
}

pid_t child_clone(const struct child_stack *stack, int (*entry)(void *), void *job,
                  int *pidfd)
{
    /* By the bare call: the C library's keeps back two signals of its own, whose
     * handlers must not run in the child either. */
    sigset_t all, old;
    memset(&all, 0xff, sizeof all);
    sigemptyset(&old);
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, (long)KERNEL_MASK_BYTES))
        return -errno;
    pid_t pid = clone(entry, stack->base + stack->size,
                      CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, job, pidfd);
    int sys = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, (long)KERNEL_MASK_BYTES);
    return pid < 0 ? -sys : pid;
}

/* Everything to its default, ignored signals too: exec would keep those. */
IN_CHILD static void default_signals(void)
{
    static const unsigned long default_action[8]; /* all zero on every Linux */
    for (long signal = 1; signal <= KERNEL_SIGNALS; signal++)
        syscall(SYS_rt_sigaction, signal, default_action, NULL,
                (long)KERNEL_MASK_BYTES);
}

IN_CHILD static int unblock_signals(void)
{
    static const unsigned long none[8];
    return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL,
                        (long)KERNEL_MASK_BYTES);
}

/* dup2 of each source to its index. Sources are lifted out of the way first: a host
 * that runs with 0 to 2 closed gets such numbers for our files. */
IN_CHILD static int place_fds(int *sources, int n)
{
    for (int i = 0; i < n; i++)
        if (sources[i] < FIRST_FREE_FD) {
            sources[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
            if (sources[i] < 0)
                return -1;
        }
    for (int i = 0; i < n; i++)
        if (dup2(sources[i], i) < 0)
            return -1;
    return 0;
}

/* The host's own files must not leak into tasks, close-on-exec or not. Before Linux 5.9
 * there is no such call, and what the host left inheritable is inherited. */
IN_CHILD static void close_from(unsigned first)
{
    syscall(SYS_close_range, first, ~0U, 0);
}

/* execve of DIR/file for every DIR of the path, as execvp does it. Returns an errno. */
IN_CHILD static int exec_search(const char *file, const struct spawn_request *request)
{
    const char *path = request->path ? request->path : default_path;
    size_t file_len = strlen(file);
    int seen = ENOENT;
    char candidate[PATH_MAX];
    for (const char *at = path;; at++) {
        size_t len = strcspn(at, ":");
        if (len + 1 + file_len < sizeof candidate) {
            size_t used = len;
            memcpy(candidate, at, len);
            if (len)
                candidate[used++] = '/';
            memcpy(candidate + used, file, file_len + 1);
            execve(candidate, request->argv, request->envp);
            if (errno == EACCES)
                seen = EACCES;
            else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE &&
                     errno != ENODEV && errno != ETIMEDOUT)
                return errno;
        }
        at += len;
        if (!*at)
            return seen;
    }
}

IN_CHILD static int exec_request(const struct spawn_request *request)
{
    const char *file = request->argv[0];
    if (!file || !*file)
        return ENOENT;
    if (!strchr(file, '/'))
        return exec_search(file, request);
    execve(file, request->argv, request->envp);
    return errno;
}

__attribute__((noreturn)) IN_CHILD static void task_failed(
    struct spawn_request *request, const char *stage, int sys, int exit_code)
{
    request->stage = stage;
    request->exit_code = exit_code;
    request->error = sys;
    _exit(exit_code < 0 ? 126 : exit_code);
}

IN_CHILD int child_task(void *arg)
{
    const struct task_job *job = arg;
    struct spawn_request *request = job->request;
    if (setpgid(0, 0))
        task_failed(request, "setpgid", errno, -1);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
        task_failed(request, "prctl", errno, -1);
    /* 0: the parent is in another pid namespace and cannot be told from a dead one. */
    pid_t parent = getppid();
    if (parent != job->parent && parent != 0)
        _exit(126);
    if (request->slot)
        atomic_store(&request->slot->pid, getpid());

    int out = request->stdout_fd, err = request->stderr_fd;
    int fds[3] = {job->null_fd, out < 0 ? job->null_fd : out,
                  err < 0 ? job->null_fd : err};
    if (place_fds(fds, 3))
        task_failed(request, "dup", errno, -1);
    close_from(3);
    if (request->cwd && chdir(request->cwd))
        task_failed(request, "chdir", errno, -1);
    default_signals();
    if (unblock_signals())
        task_failed(request, "sigprocmask", errno, -1);
    int sys = exec_request(request);
    task_failed(request, "exec", sys, sys == ENOENT || sys == ENOTDIR ? 127 : 126);
}

__attribute__((noreturn)) IN_CHILD static void guard_failed(struct guard_job *job,
                                                            const char *stage)
{
    job->error = errno;
    job->stage = stage;
    _exit(126);
}

IN_CHILD int child_guard(void *arg)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    static const char name[] = "cairn-guard";
    struct guard_job *job = arg;
    int fds[5] = {job->life_fd, job->null_fd, job->null_fd, job->slots_fd,
                  job->image_fd};
    if (setsid() < 0)
        guard_failed(job, "setsid");
    if (place_fds(fds, 5) || fcntl(4, F_SETFD, FD_CLOEXEC))
        guard_failed(job, "dup");
    close_from(5);
    if (chdir("/")) /* not to keep a file system busy */
        guard_failed(job, "chdir");
    default_signals();
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)signal(ignored[i], SIG_IGN);
    if (unblock_signals())
        guard_failed(job, "sigprocmask");
    /* Nothing of the environment: a token of an outer run must not point at the guard
     * of an inner one. */
    const char *argv[] = {name, NULL}, *envp[] = {NULL};
    syscall(SYS_execveat, 4, "", argv, envp, AT_EMPTY_PATH);
    guard_failed(job, "exec");
}
