/* SPDX-License-Identifier: MIT */
/* Starting and stopping the guard. Its program is part of the library, see
 * helper_program.c. */
#include "process/guard.h"
#include "process/child_int.h"
#include "process/helper_program_int.h"
#include "process/live.h"
#include "process/pidfd.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_PATIENCE_MS = 10000 };

/* Returns an errno. */
static int clone_guard(struct guard *guard, struct guard_job *job,
                       const struct child_stack *stack)
{
    job->error = 0;
    pid_t pid = child_clone(stack, child_guard, job, &guard->pidfd);
    if (pid < 0) {
        job->stage = "clone";
        return -pid;
    }
    if (job->error) {
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
        close(guard->pidfd);
        guard->pidfd = -1;
        return job->error;
    }
    guard->pid = pid;
    return 0;
}

/* Beside the slot file. */
static void image_path(char *out, size_t size, const struct slot_map *map)
{
    char dir[sizeof map->path];
    snprintf(dir, sizeof dir, "%s", map->path);
    *strrchr(dir, '/') = 0;
    if (map->slots->run)
        live_path(out, size, dir, live_of_run(LIVE_SLOTS_IMAGE, map->slots->run));
    else
        live_keeper_image(out, size, dir, getpid());
}

static int clone_from_file(struct guard *guard, struct guard_job *job,
                           const struct child_stack *stack, const struct slot_map *map,
                           struct cairn_error *error)
{
    char path[LIVE_PATH];
    image_path(path, sizeof path, map);
    job->image_fd = image_in_file(path, error);
    if (job->image_fd < 0)
        return job->image_fd;
    int sys = clone_guard(guard, job, stack);
    for (int tries = 0; sys == ETXTBSY && tries < IMAGE_TRIES; tries++) {
        image_pause();
        sys = clone_guard(guard, job, stack);
    }
    close(job->image_fd);
    if (sys)
        return error_sys(error, sys, "starting the guard process (%s)", job->stage);
    return 0;
}

static int start_any(struct guard *guard, struct guard_job *job,
                     const struct slot_map *map, struct cairn_error *error)
{
    struct child_stack stack = {NULL, 0};
    int rc = child_stack_init(&stack, error);
    if (rc)
        return rc;
    int sys = EACCES;
    job->image_fd = image_in_memory();
    if (job->image_fd >= 0) {
        sys = clone_guard(guard, job, &stack);
        close(job->image_fd);
    }
    if (sys)
        rc = clone_from_file(guard, job, &stack, map, error);
    child_stack_release(&stack);
    return rc;
}

int guard_start(struct guard *guard, const struct slot_map *map,
                struct cairn_error *error)
{
    struct guard made = {0, -1, -1};
    assert(map->slots && map->fd >= 0);
    struct guard_job job = {.slots_fd = map->fd};
    int pair[2];
    job.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (job.null_fd < 0)
        return error_sys(error, errno, "/dev/null");
    /* Not a pipe: shutdown() reaches the guard even if a copy of our end survives
     * somewhere, and writing to a dead guard raises no SIGPIPE. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        int sys = errno;
        close(job.null_fd);
        return error_sys(error, sys, "socketpair");
    }
    made.life_fd = pair[0];
    job.life_fd = pair[1];
    int rc = start_any(&made, &job, map, error);
    close(job.life_fd);
    close(job.null_fd);
    if (rc) {
        close(made.life_fd);
        return rc;
    }
    map->slots->guard_pid = made.pid;
    slots_tell_head(map);
    *guard = made;
    return 0;
}

/* True when it has ended. */
static bool await_end(int pidfd, int64_t patience_ms)
{
    int64_t until = clock_mono_ns() + patience_ms * 1000000;
    struct pollfd watched = {.fd = pidfd, .events = POLLIN};
    for (;;) {
        int64_t left_ms = (until - clock_mono_ns()) / 1000000;
        int n = poll(&watched, 1, left_ms > 0 ? (int)left_ms : 0);
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

void guard_stop(struct guard *guard)
{
    if (guard->pid <= 0)
        return;
    /* Both fail when the guard is dead already; then there is nobody to tell. */
    (void)send(guard->life_fd, "q", 1, MSG_NOSIGNAL);
    (void)shutdown(guard->life_fd, SHUT_WR);
    close(guard->life_fd);
    if (!await_end(guard->pidfd, STOP_PATIENCE_MS))
        (void)pidfd_signal(guard->pidfd, SIGKILL);
    siginfo_t info;
    (void)pidfd_wait(guard->pidfd, 0, &info, NULL);
    close(guard->pidfd);
    *guard = (struct guard){0, -1, -1};
}
