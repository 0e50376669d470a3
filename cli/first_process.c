/* SPDX-License-Identifier: MIT */
#include "cli/first_process.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Names the first process to the second one; tasks never see it, as all CAIRN_*. */
static const char first_variable[] = "CAIRN_FIRST_PROCESS";

static bool inherits_orphans(void)
{
    int subreaper = 0;
    return getpid() == 1 ||
           (prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper);
}

/* The second process ends with the first one, as the run would if there was one only.
 */
static void follow_first(void)
{
    const char *first = getenv(first_variable);
    char parent[24];
    if (!first)
        return;
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
    if (strcmp(first, parent) == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsetenv(first_variable);
}

static bool start_second(char **argv, const sigset_t *mask, pid_t *second)
{
    posix_spawnattr_t attributes;
    char first[24];
    snprintf(first, sizeof first, "%ld", (long)getpid());
    if (setenv(first_variable, first, 1) < 0 || posix_spawnattr_init(&attributes) != 0)
        return false;
    (void)posix_spawnattr_setsigmask(&attributes, mask);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int sys = posix_spawn(second, "/proc/self/exe", NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return sys == 0;
}

/* True: the second process is among those that have ended. */
static bool collect_ended(pid_t second, int *status)
{
    bool ended = false;
    int how;
    pid_t pid;
    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(how)) {
            if (pid == second) /* the shell must see its job stop */
                (void)raise(SIGSTOP);
        } else if (pid == second) {
            *status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
            ended = true;
        }
    }
    return ended;
}

/* What a terminal sends it sends to both: a second SIGINT would mean something else. */
static void pass_on(pid_t second, const siginfo_t *info)
{
    if (info->si_code != SI_KERNEL && info->si_signo != SIGCONT)
        (void)kill(second, info->si_signo);
}

bool first_process(char **argv, int *status)
{
    sigset_t all, before;
    siginfo_t info;
    pid_t second;
    follow_first();
    if (!inherits_orphans())
        return false;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (!start_second(argv, &before,
                      &second)) { /* no /proc: alone, as well as it goes */
        unsetenv(first_variable);
        sigprocmask(SIG_SETMASK, &before, NULL);
        return false;
    }
    for (;;) {
        if (sigwaitinfo(&all, &info) < 0)
            continue;
        if (info.si_signo != SIGCHLD)
            pass_on(second, &info);
        else if (collect_ended(second, status))
            return true;
    }
}
