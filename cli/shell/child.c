/* SPDX-License-Identifier: MIT */
#include "cli/shell/child.h"

#include "cairn.h"
#include "cli/exit_status.h"
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

enum { SIGNALLED = 128 };

static int refused(int status, const char *what, const char *name, int sys)
{
    return report_failure(
        status, cairn_code_name(status == EXIT_NOT_FOUND ? CAIRN_ENOTFOUND : CAIRN_EIO),
        "%s %s: %s", what, name, strerror(sys));
}

/* ---- The terminal ---- */

/* A shell makes a process group of its own the one in the foreground. Where it is
 * killed it does not give that back. */
struct foreground {
    int fd; /* -1: we are not in the foreground of a terminal */
};

static struct foreground foreground_note(void)
{
    struct foreground f = {open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    if (f.fd >= 0 && tcgetpgrp(f.fd) != getpgrp()) {
        close(f.fd);
        f.fd = -1;
    }
    return f;
}

static void foreground_restore(struct foreground *f)
{
    if (f->fd < 0)
        return;
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(f->fd, getpgrp());
    signal(SIGTTOU, SIG_DFL);
    close(f->fd);
}

/* ---- Starting it, and waiting ---- */

/* Signals that we wait for; the terminal's are the child's alone. */
static void take_signals(sigset_t *waited)
{
    sigemptyset(waited);
    sigaddset(waited, SIGCHLD);
    sigaddset(waited, SIGTERM);
    sigaddset(waited, SIGHUP);
    sigprocmask(SIG_BLOCK, waited, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

static int start(pid_t *child, const char *const *argv)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int sys = posix_spawnattr_init(&attributes);
    if (sys != 0)
        return sys;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    sys = posix_spawnp(child, argv[0], NULL, &attributes,
                       (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
    return sys;
}

static int wait_for(pid_t child, const sigset_t *waited)
{
    int status;
    for (;;) {
        int signal_number = sigwaitinfo(waited, NULL);
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status)
                                       : WEXITSTATUS(status);
        if (ended < 0 && errno != EINTR)
            return refused(EXIT_SYSTEM, "waiting for", "the command", errno);
        if (signal_number == SIGTERM || signal_number == SIGHUP)
            kill(child, signal_number);
    }
}

int child_run(const char *directory, const char *const *argv, const char *const *env)
{
    struct foreground foreground;
    sigset_t waited;
    char **own = environ;
    pid_t child;
    int sys, status;
    if (directory[0] != '\0' && chdir(directory) != 0)
        return refused(errno == ENOENT || errno == ENOTDIR ? EXIT_NOT_FOUND
                                                           : EXIT_SYSTEM,
                       "cannot change to the directory", directory, errno);
    foreground = foreground_note();
    take_signals(&waited);
    environ = (char **)(uintptr_t)env;
    sys = start(&child, argv);
    environ = own;
    if (sys == ENOENT || sys == ENOTDIR)
        status = refused(EXIT_NO_PROGRAM, "cannot execute", argv[0], sys);
    else if (sys == EAGAIN || sys == ENOMEM)
        status = refused(EXIT_SYSTEM, "cannot start", argv[0], sys);
    else if (sys != 0)
        status = refused(EXIT_NOT_EXECUTABLE, "cannot execute", argv[0], sys);
    else
        status = wait_for(child, &waited);
    foreground_restore(&foreground);
    return status;
}
