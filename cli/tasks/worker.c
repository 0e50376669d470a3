/* SPDX-License-Identifier: MIT */
#include "cli/tasks/worker.h"

#include "cli/format.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 5000 };

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void worker_release(struct worker *w)
{
    close_one(&w->out);
    close_one(&w->in);
    close_one(&w->pidfd);
    close_one(&w->signals);
    free(w->output);
    *w = (struct worker){.out = -1, .in = -1, .pidfd = -1, .signals = -1};
}

/* ---- Starting ---- */

/* They are read from a descriptor, so that none is missed between two waits. A reader
 * of stdin that goes away is not our end. */
static int take_signals(struct worker *w)
{
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGHUP);
    sigaddset(&taken, SIGQUIT);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    signal(SIGPIPE, SIG_IGN);
    w->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return w->signals < 0 ? errno : 0;
}

static int spawn(struct worker *w, const char *command, int in, int out)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int sys = posix_spawn_file_actions_init(&files);
    if (sys != 0)
        return sys;
    sys = posix_spawnattr_init(&attributes);
    if (sys == 0) {
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setpgroup(&attributes, 0);
        sys = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
        if (sys == 0)
            sys = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
        if (sys == 0)
            sys = posix_spawn(&w->pid, "/bin/sh", &files, &attributes,
                              (char *const *)(uintptr_t)argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return sys;
}

static int start_between(struct worker *w, const char *command, int in[2], int out[2])
{
    int sys = spawn(w, command, in[0], out[1]);
    if (sys != 0)
        return sys;
    w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
    sys = errno;
    if (w->pidfd < 0) {
        kill(-w->pid, SIGKILL);
        waitpid(w->pid, NULL, 0);
        return sys;
    }
    w->in = in[1];
    w->out = out[0];
    in[1] = out[0] = -1;
    fcntl(w->in, F_SETFL, O_NONBLOCK);
    fcntl(w->out, F_SETFL, O_NONBLOCK);
    return 0;
}

int worker_start(struct worker *w, const char *command, const char *input)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    *w = (struct worker){.out = -1,
                         .in = -1,
                         .pidfd = -1,
                         .signals = -1,
                         .input = input,
                         .input_left = strlen(input)};
    int sys = take_signals(w);
    if (sys == 0 && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0))
        sys = errno;
    if (sys == 0)
        sys = start_between(w, command, in, out);
    for (int i = 0; i < 2; i++) {
        close_one(&in[i]);
        close_one(&out[i]);
    }
    if (sys != 0)
        worker_release(w);
    return sys;
}

/* ---- While it runs ---- */

static bool make_room(struct worker *w)
{
    size_t capacity = w->capacity ? w->capacity * 2 : 4096;
    char *output;
    if (w->used + 1 < w->capacity)
        return true;
    output = realloc(w->output, capacity);
    if (!output) {
        w->failed = true;
        return false;
    }
    w->output = output;
    w->capacity = capacity;
    return true;
}

/* All that is there. */
static void read_output(struct worker *w)
{
    char dropped[4096];
    while (w->out >= 0) {
        bool keeps = !w->too_much && make_room(w);
        ssize_t n = keeps ? read(w->out, w->output + w->used, w->capacity - w->used - 1)
                          : read(w->out, dropped, sizeof dropped);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close_one(&w->out);
            return;
        }
        if (keeps) {
            w->used += (size_t)n;
            w->output[w->used] = '\0';
            w->too_much = w->used > WORKER_OUTPUT_MAX;
        }
    }
}

static void write_input(struct worker *w)
{
    while (w->in >= 0 && w->input_left > 0) {
        ssize_t n = write(w->in, w->input, w->input_left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            break; /* it does not want it */
        w->input += n;
        w->input_left -= (size_t)n;
    }
    close_one(&w->in);
}

static bool read_signal(struct worker *w)
{
    struct signalfd_siginfo info;
    return read(w->signals, &info, sizeof info) == (ssize_t)sizeof info;
}

enum worker_event worker_wait(struct worker *w, int64_t timeout_ms)
{
    int64_t until = now_ms() + timeout_ms;
    for (;;) {
        struct pollfd watched[] = {{.fd = w->pidfd, .events = POLLIN},
                                   {.fd = w->signals, .events = POLLIN},
                                   {.fd = w->out, .events = POLLIN},
                                   {.fd = w->in, .events = POLLOUT}};
        int64_t left = until - now_ms();
        if (left <= 0)
            return WORKER_TIME;
        if (poll(watched, 4, left < 60000 ? (int)left : 60000) < 0 && errno != EINTR)
            return WORKER_TIME;
        if (watched[3].revents)
            write_input(w);
        if (watched[2].revents || watched[0].revents)
            read_output(w);
        if (watched[0].revents)
            return WORKER_ENDED;
        if (watched[1].revents && read_signal(w))
            return WORKER_SIGNAL;
    }
}

void worker_stop(struct worker *w)
{
    int64_t until = now_ms() + GRACE_MS;
    kill(-w->pid, SIGTERM);
    while (now_ms() < until && worker_wait(w, until - now_ms()) != WORKER_ENDED)
        ;
    kill(-w->pid, SIGKILL);
}

int worker_reap(struct worker *w)
{
    int status = 0;
    siginfo_t info;
    /* The group keeps its number until its leader is reaped. */
    while (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    kill(-w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}
