/* SPDX-License-Identifier: MIT */
#include "cli/sessions/bisect_command.h"

#include "cli/exit_status.h"
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

enum { GRACE_SECONDS = 5 }; /* from SIGTERM to SIGKILL */

static int refuse(int status, int code, const char *what, const char *name, int sys)
{
    return report_failure(status, cairn_code_name(code), "%s %s: %s", what, name,
                          strerror(sys));
}

/* ---- Getting ready ---- */

/* Those that were ignored when we were started (nohup) stay ignored. */
static void expect_signals(struct bisect_command *command)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old;
    sigemptyset(&command->expected);
    sigaddset(&command->expected, SIGCHLD);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&command->expected, signals[i]);
    sigprocmask(SIG_BLOCK, &command->expected, &command->before);
}

int bisect_command_prepare(struct bisect_command *command, char *const *argv)
{
    char *here = NULL;
    bool relative = argv[0][0] != '/' && strchr(argv[0], '/');
    *command = (struct bisect_command){.argv = argv, .relative = relative};
    if (relative && !(here = getcwd(NULL, 0)))
        return refuse(EXIT_SYSTEM, CAIRN_EIO, "cannot look for", argv[0], errno);
    if (!relative)
        command->program = strdup(argv[0]);
    else if (asprintf(&command->program, "%s/%s", here, argv[0]) < 0)
        command->program = NULL;
    free(here);
    if (!command->program)
        return refuse(EXIT_SYSTEM, CAIRN_ENOMEM, "cannot execute", argv[0], ENOMEM);
    expect_signals(command);
    return 0;
}

void bisect_command_release(struct bisect_command *command)
{
    if (command->program)
        sigprocmask(SIG_SETMASK, &command->before, NULL);
    free(command->program);
    command->program = NULL;
}

/* ---- Starting ---- */

static int set_files(posix_spawn_file_actions_t *files, const char *directory, int held)
{
    int sys = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (sys == 0)
        sys = posix_spawn_file_actions_adddup2(files, 2, 1);
    if (sys == 0) /* onto itself: it stays open */
        sys = posix_spawn_file_actions_adddup2(files, held, held);
    if (sys == 0)
        sys = posix_spawn_file_actions_addchdir_np(files, directory);
    return sys;
}

static int set_attributes(posix_spawnattr_t *attributes, const sigset_t *mask)
{
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    int sys = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID |
                                                       POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF);
    if (sys == 0)
        sys = posix_spawnattr_setsigmask(attributes, mask);
    if (sys == 0)
        sys = posix_spawnattr_setsigdefault(attributes, &defaults);
    return sys;
}

/* One with a slash in its name is that of the directory in which it is to run, where
 * there is one, else that from where we are. */
static const char *find_program(const struct bisect_command *command,
                                const char *directory)
{
    bool own = false;
    int fd = command->relative
                 ? open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    if (fd >= 0) {
        own = faccessat(fd, command->argv[0], X_OK, AT_EACCESS) == 0;
        close(fd);
    }
    return own ? command->argv[0] : command->program;
}

static int start(const struct bisect_command *command, const char *directory, int held,
                 pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int sys = posix_spawn_file_actions_init(&files);
    if (sys != 0)
        return sys;
    sys = posix_spawnattr_init(&attributes);
    if (sys != 0) {
        posix_spawn_file_actions_destroy(&files);
        return sys;
    }
    sys = set_files(&files, directory, held);
    if (sys == 0)
        sys = set_attributes(&attributes, &command->before);
    if (sys == 0)
        sys = posix_spawnp(child, find_program(command, directory), &files, &attributes,
                           command->argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return sys;
}

/* ---- Waiting ---- */

static bool has_ended(pid_t child)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == child;
}

/* Its process group is ended at the first signal that asks us to stop, and without
 * mercy at the second one or after the grace. */
static void wait_for(const struct bisect_command *command, pid_t child,
                     struct command_end *end)
{
    const struct timespec grace = {.tv_sec = GRACE_SECONDS};
    while (!has_ended(child)) {
        int got = end->asked ? sigtimedwait(&command->expected, NULL, &grace)
                             : sigwaitinfo(&command->expected, NULL);
        if (got == SIGCHLD || (got < 0 && errno == EINTR))
            continue;
        kill(-child, end->asked ? SIGKILL : SIGTERM);
        end->asked = got > 0 ? got : end->asked;
    }
    kill(-child, SIGKILL); /* what it has left behind; not reaped, so it is its group */
}

int bisect_command_run(const struct bisect_command *command, const char *directory,
                       int held, struct command_end *end)
{
    pid_t child;
    int status;
    int sys = start(command, directory, held, &child);
    *end = (struct command_end){.code = -1};
    if (sys != 0)
        return refuse(sys == ENOENT || sys == ENOTDIR ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                      sys == ENOENT || sys == ENOTDIR ? CAIRN_ENOTFOUND : CAIRN_EIO,
                      "cannot execute", command->argv[0], sys);
    wait_for(command, child, end);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return refuse(EXIT_SYSTEM, CAIRN_EIO, "waiting for", command->argv[0],
                          errno);
    if (WIFEXITED(status))
        end->code = WEXITSTATUS(status);
    else
        end->signal = WTERMSIG(status);
    return 0;
}
