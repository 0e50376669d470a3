/* SPDX-License-Identifier: MIT */
#include "cli/shell/pager.h"

#include "cli/exit_status.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    const char *command;
    pid_t pid; /* 0: none */
    int saved; /* stdout as it was */
} pager;

static bool is_in_path(const char *program)
{
    const char *path = getenv("PATH");
    char name[4096];
    while (path && *path != '\0') {
        int n = (int)strcspn(path, ":");
        int length = snprintf(name, sizeof name, "%.*s/%s", n, path, program);
        if (length < (int)sizeof name && access(name, X_OK) == 0)
            return true;
        path += n;
        path += *path == ':';
    }
    return false;
}

static const char *find_command(void)
{
    const char *command = getenv("CAIRN_PAGER");
    if (!command)
        command = getenv("PAGER");
    if (!command)
        command = is_in_path("less") ? "less -FRX" : "";
    return command[0] == '\0' || strcmp(command, "cat") == 0 ? NULL : command;
}

/* `less` alone shows colors and ends by itself, too, unless it is told otherwise. */
static int spawn(int input)
{
    const char *const argv[] = {"/bin/sh", "-c", pager.command, NULL};
    bool told = getenv("LESS") != NULL;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t all;
    int sys = posix_spawnattr_init(&attributes);
    if (sys != 0)
        return sys;
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &all);
    sys = posix_spawn_file_actions_init(&files);
    if (sys == 0) {
        sys = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        if (!told)
            setenv("LESS", "FRX", 0);
        if (sys == 0)
            sys = posix_spawn(&pager.pid, argv[0], &files, &attributes,
                              (char *const *)(uintptr_t)argv, environ);
        if (!told)
            unsetenv("LESS");
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return sys;
}

void pager_start(void)
{
    int ends[2];
    pager.command = ui_out_for_people() ? find_command() : NULL;
    if (!pager.command || pipe2(ends, O_CLOEXEC) != 0)
        return;
    pager.saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int sys = pager.saved < 0 ? errno : spawn(ends[0]);
    if (sys == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        out_flush();
        dup2(ends[1], STDOUT_FILENO);
    } else {
        pager.pid = 0;
        if (pager.saved >= 0)
            close(pager.saved);
    }
    close(ends[0]);
    close(ends[1]);
}

int pager_end(int status)
{
    int ended = 0;
    if (pager.pid == 0)
        return status;
    out_flush();
    dup2(pager.saved, STDOUT_FILENO);
    close(pager.saved);
    while (waitpid(pager.pid, &ended, 0) < 0 && errno == EINTR)
        continue;
    pager.pid = 0;
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (!WIFEXITED(ended) || (WEXITSTATUS(ended) != EXIT_NOT_EXECUTABLE &&
                              WEXITSTATUS(ended) != EXIT_NO_PROGRAM))
        return status;
    ui_warn("the pager could not be executed: %s ($CAIRN_PAGER, $PAGER; cat: none)",
            pager.command);
    return status == 0 ? EXIT_SYSTEM : status;
}
