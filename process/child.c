/* SPDX-License-Identifier: MIT */
/* The vfork-style clone and the code that runs in its child.
 *
 * Invariants
 *  1. Between clone and exec the child shares all memory with a program that we do not
 *     know, so it allocates nothing, takes no lock and runs no signal handler: all
 *     signals stay blocked until every disposition is the default one.
 *  2. Order matters: own group (unless it is attached), then parent-death signal, then
 * a look whether the parent still lives (it may have died before the signal was armed),
 * then the pid into the slot. Whoever finds a pid in a slot finds a group of that
 * number, or none: what is attached is told by its token alone.
 *  3. It leaves by exec or _exit only. */
#include "process/become.h"
#include "process/child_int.h"
#include "process/keeper.h"
#include "process/keeper_file.h"
#include "process/spawner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

/* ThreadSanitizer puts itself before clone, takes every one for a fork and then forgets
 * what it knows of the other threads: here it must not see it. */
#ifdef __SANITIZE_THREAD__
int __clone(int (*entry)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

int child_stack_init(struct child_stack *stack, struct cairn_error *error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = CHILD_STACK_BYTES + page;
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
    assert(stack->base); /* child_stack_init */
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

__attribute__((noreturn)) IN_CHILD static void task_failed(
    struct spawn_request *request, const char *stage, int sys, int exit_code)
{
    request->stage = stage;
    request->exit_code = exit_code;
    request->error = sys;
    _exit(exit_code < 0 ? 126 : exit_code);
}

/* A task that read the terminal would be stopped for ever, since its group is not the
 * one in the foreground. Without a terminal it is told so instead. A session of its own
 * would do that, too, but the kernel shares the processors among sessions: each task
 * would then count as much as all else of the user, whatever its niceness. */
IN_CHILD static void leave_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return; /* there is none, and for the task neither */
    (void)ioctl(fd, TIOCNOTTY);
    close(fd);
}

static const int job_signals[] = {SIGINT, SIGQUIT, SIGHUP};
enum { JOB_SIGNALS = COUNT_OF(job_signals) };

/* Those of a job that are ignored (nohup, a shell's background job), as bits. */
IN_CHILD static unsigned long ignored_signals(void)
{
    unsigned long found = 0;
    for (unsigned i = 0; i < JOB_SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(job_signals[i], NULL, &action) == 0 &&
            action.sa_handler == SIG_IGN)
            found |= 1ul << i;
    }
    return found;
}

IN_CHILD static void ignore_signals(unsigned long which)
{
    for (unsigned i = 0; i < JOB_SIGNALS; i++)
        if (which & 1ul << i)
            (void)signal(job_signals[i], SIG_IGN);
}

/* More of it needs no permission. */
IN_CHILD static void be_nice(uint8_t more)
{
    if (more)
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + more);
}

IN_CHILD int child_task(void *arg)
{
    const struct task_job *job = arg;
    struct spawn_request *request = job->request;
    if (!request->attached) {
        if (setpgid(0, 0))
            task_failed(request, "setpgid", errno, -1);
        forget_signals(); /* before its pid stands anywhere: no one means it yet */
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
        task_failed(request, "prctl", errno, -1);
    /* 0: the parent is in another pid namespace: it looks like a dead one. */
    pid_t parent = getppid();
    if (parent != job->parent && parent != 0)
        _exit(126);
    if (request->slot)
        atomic_store(&request->slot->pid, getpid());

    int out = request->stdout_fd, err = request->stderr_fd;
    bool has_stdin = request->attached && fcntl(0, F_GETFD) >= 0;
    int in = request->stdin_fd > 0 ? request->stdin_fd : has_stdin ? 0 : job->null_fd;
    int fds[3] = {in, out < 0 ? job->null_fd : out, err < 0 ? job->null_fd : err};
    if (place_fds(fds, 3))
        task_failed(request, "dup", errno, -1);
    close_from(3);
    if (!request->attached)
        leave_terminal();
    be_nice(request->nice);
    limit_files(request->files);
    if (request->cwd && chdir(request->cwd))
        task_failed(request, "chdir", errno, -1);
    unsigned long kept = request->attached ? ignored_signals() : 0;
    default_signals();
    ignore_signals(kept);
    if (unblock_signals())
        task_failed(request, "sigprocmask", errno, -1);
    int sys = exec_program(request->path, request->argv, request->envp);
    if (request->otherwise) {
        request->other = true;
        sys = exec_program(request->path, request->otherwise, request->envp);
    }
    task_failed(request, "exec", sys, exec_exit_code(sys));
}

/* No parent-death signal: it is to survive us. Its session tells what belongs to its
 * task, and keeps the end of a terminal away. All signals stay blocked: it is ready for
 * none before it has looked around. */
IN_CHILD int child_keeper(void *arg)
{
    static const char name[] = KEEP_PROGRAM;
    struct keeper_job *job = arg;
    struct spawn_request *request = job->request;
    int out = request->stdout_fd, err = request->stderr_fd;
    int fds[] = {[KEEP_SPEC_FD] = job->spec_fd,
                 [KEEP_OUT_FD] = out < 0 ? job->null_fd : out,
                 [KEEP_ERR_FD] = err < 0 ? job->null_fd : err,
                 [KEEP_DIR_FD] = job->dir_fd,
                 [KEEP_NULL_FD] = job->null_fd,
                 [KEEP_IMAGE_FD] = job->image_fd,
                 [KEEP_HOLD_FD] =
                     request->hold_fd > 0 ? request->hold_fd : job->null_fd};
    if (setsid() < 0)
        task_failed(request, "setsid", errno, -1);
    forget_signals();
    if (request->slot)
        atomic_store(&request->slot->pid, getpid());
    if (place_fds(fds, KEEP_FDS) || fcntl(KEEP_IMAGE_FD, F_SETFD, FD_CLOEXEC))
        task_failed(request, "dup", errno, -1);
    close_from(KEEP_FDS);
    be_nice(request->nice);
    limit_files(request->files); /* its task inherits that */
    default_signals();
    const char *const argv[] = {name, request->keep->token, NULL};
    const char *const envp[] = {job->variable, NULL};
    task_failed(request, "keeper", exec_descriptor(KEEP_IMAGE_FD, argv, envp), -1);
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
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    if (unblock_signals())
        guard_failed(job, "sigprocmask");
    /* Nothing of the environment: a token of an outer run must not point at the guard
     * of an inner one. */
    const char *const argv[] = {name, NULL}, *const envp[] = {NULL};
    errno = exec_descriptor(4, argv, envp);
    guard_failed(job, "exec");
}
