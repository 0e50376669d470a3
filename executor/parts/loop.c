/* SPDX-License-Identifier: MIT */
/* What the loop waits for: its descriptors and its timers. */
#include "executor/parts/engine.h"
#include "executor/parts/stop.h"

#include "base/clock.h"
#include "process/live.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Time ---- */

int64_t loop_now_ns(const struct engine *e)
{
    (void)e;
    return clock_mono_ns();
}

void loop_set_timer(struct engine *e, enum timer_kind kind, int64_t delay_ns,
                    uint32_t index, uint64_t stamp)
{
    struct timer timer = {loop_now_ns(e) + delay_ns, kind, index, stamp};
    if (timers_add(&e->loop.timers, timer, NULL))
        engine_break(e);
    else
        e->loop.trimming |= kind == TIMER_TRIM;
}

bool loop_take_due(struct engine *e, int64_t now_ns, struct timer *out)
{
    if (!timers_due(&e->loop.timers, now_ns, out))
        return false;
    if (out->kind == TIMER_TRIM)
        e->loop.trimming = false;
    return true;
}

/* ---- Descriptors ---- */

int loop_watch(struct engine *e, int fd, uint64_t what, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
    if (epoll_ctl(e->loop.epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_sys(error, errno, "cannot watch a descriptor");
    return 0;
}

void loop_unwatch(struct engine *e, int fd)
{
    (void)epoll_ctl(e->loop.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

uint64_t job_watch(const struct engine *e, const struct job *job)
{
    return job->stamp << 16 | (WATCH_JOB + (uint64_t)job_index(&e->jobs, job));
}

int loop_watch_job(struct engine *e, struct job *job, struct cairn_error *error)
{
    int rc = loop_watch(e, job->pidfd, job_watch(e, job), error);
    job->watching = !rc;
    return rc;
}

/* Other processes write to this fifo after they have stored a command. */
static int open_wake(struct engine *e, struct cairn_error *error)
{
    live_path(e->loop.wake_path, sizeof e->loop.wake_path, e->tenure.live_dir,
              live_of_run(LIVE_WAKE, e->tenure.row.run));
    if (unlink(e->loop.wake_path) < 0 && errno != ENOENT)
        return error_sys(error, errno, "cannot remove %s", e->loop.wake_path);
    if (mkfifo(e->loop.wake_path, 0600) < 0)
        return error_sys(error, errno, "cannot make %s", e->loop.wake_path);
    /* Read and write: so it never reads as ended when a writer has gone. */
    e->loop.wake_fd = open(e->loop.wake_path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return e->loop.wake_fd < 0
               ? error_sys(error, errno, "cannot open %s", e->loop.wake_path)
               : 0;
}

void loop_init(struct engine *e)
{
    e->loop.epoll_fd = e->loop.wake_fd = -1;
}

int loop_open(struct engine *e, struct cairn_error *error)
{
    e->loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (e->loop.epoll_fd < 0)
        return error_sys(error, errno, "cannot make a descriptor");
    int rc = e->request.store ? open_wake(e, error) : 0;
    if (!rc && e->request.store)
        rc = loop_watch(e, e->loop.wake_fd, WATCH_WAKE, error);
    if (!rc && e->request.options->stop)
        rc = loop_watch(e, e->request.options->stop->fd, WATCH_STOP, error);
    return rc;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void loop_close(struct engine *e)
{
    close_fd(e->loop.epoll_fd);
    close_fd(e->loop.wake_fd);
    if (e->loop.wake_path[0])
        unlink(e->loop.wake_path);
    timers_release(&e->loop.timers);
}
