/* SPDX-License-Identifier: MIT */
/* The vfork-style clone gives a descriptor of the child and lets it arm its
 * parent-death signal before it execs, which posix_spawn cannot. Until then the child
 * shares all memory with us: it allocates nothing and runs no signal handler. */
#include "server/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif
#define STACK_BYTES ((size_t)64 * 1024)
#define PROGRAM "/proc/self/exe"

struct job {
    const struct child_start *start;
    pid_t parent;
    int fds[3];
    sigset_t mask;
    int error;
};

static int enter(void *context)
{
    static const int defaults[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD};
    struct job *job = context;
    sigset_t mask;
    if (job->start->detached) {
        if (setsid() < 0)
            goto failed;
    } else {
        pid_t parent;
        if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
            goto failed;
        /* 0: the parent is in another pid namespace. */
        parent = getppid();
        if (parent != job->parent && parent != 0)
            _exit(126);
    }
    for (int i = 0; i < 3; i++)
        if (dup2(job->fds[i], i) < 0)
            goto failed;
    if (job->start->directory && chdir(job->start->directory))
        goto failed;
    mask = job->mask;
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        (void)signal(defaults[i], SIG_DFL);
        sigdelset(&mask, defaults[i]);
    }
    if (sigprocmask(SIG_SETMASK, &mask, NULL))
        goto failed;
    execv(PROGRAM, job->start->argv);
failed:
    job->error = errno;
    _exit(126);
}

/* A pipe whose ends no child inherits, above the three that a child puts in place. */
static int make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC))
        return errno;
    for (int i = 0; i < 2; i++) {
        int higher = ends[i] < 3 ? fcntl(ends[i], F_DUPFD_CLOEXEC, 3) : ends[i];
        int error = errno;
        if (higher < 0) {
            close(ends[0]);
            close(ends[1]);
            return error;
        }
        if (higher != ends[i])
            close(ends[i]);
        ends[i] = higher;
    }
    return 0;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int make_pipes(struct child *child, int theirs[3], bool has_input)
{
    int ends[2];
    int error = 0;
    if (has_input) {
        error = make_pipe(ends);
        theirs[0] = error ? -1 : ends[0];
        child->in = error ? -1 : ends[1];
    } else {
        theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        error = theirs[0] < 0 ? errno : 0;
    }
    for (int i = 1; i < 3 && !error; i++) {
        error = make_pipe(ends);
        theirs[i] = error ? -1 : ends[1];
        *(i == 1 ? &child->out : &child->err) = error ? -1 : ends[0];
    }
    if (!error && (fcntl(child->out, F_SETFL, O_NONBLOCK) ||
                   fcntl(child->err, F_SETFL, O_NONBLOCK) ||
                   (child->in >= 0 && fcntl(child->in, F_SETFL, O_NONBLOCK))))
        error = errno;
    return error;
}

static int clone_child(struct child *child, struct job *job)
{
    sigset_t all;
    char *stack = malloc(STACK_BYTES);
    pid_t pid;
    int error = 0;
    if (!stack)
        return ENOMEM;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &job->mask);
    pid = clone(enter, stack + STACK_BYTES,
                CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, job, &child->pidfd);
    if (pid < 0) {
        error = errno;
        child->pidfd = -1;
    }
    sigprocmask(SIG_SETMASK, &job->mask, NULL);
    free(stack);
    return error;
}

int child_start(struct child *child, const struct child_start *start)
{
    struct job job = {.start = start, .parent = getpid(), .fds = {-1, -1, -1}};
    int error;
    *child = CHILD_NONE;
    error = make_pipes(child, job.fds, start->has_input);
    if (!error)
        error = clone_child(child, &job);
    for (int i = 0; i < 3; i++)
        close_end(&job.fds[i]);
    if (!error && job.error) {
        error = job.error;
        child_reap(child);
    }
    if (error)
        child_close(child);
    return error;
}

void child_signal(const struct child *child, int number)
{
    if (child->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, number, NULL, 0);
}

int child_reap(struct child *child)
{
    siginfo_t info = {.si_code = 0};
    int rc;
    do
        rc = waitid((idtype_t)3 /* P_PIDFD */, (id_t)child->pidfd, &info, WEXITED);
    while (rc && errno == EINTR);
    close_end(&child->pidfd);
    child_close(child);
    if (rc)
        return 126;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

void child_close(struct child *child)
{
    close_end(&child->in);
    close_end(&child->out);
    close_end(&child->err);
}
