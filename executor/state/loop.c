/* SPDX-License-Identifier: MIT */
/* A heap ordered by time; equal times keep no particular order. */
#include "executor/state/loop.h"

#include "executor/state/engine.h"

#include "base/memory.h"
#include "plan/stop.h"
#include "process/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

static inline bool is_earlier(struct timer a, struct timer b)
{
    return a.when_ns < b.when_ns;
}

HEAP_OF(times, struct timer, is_earlier)

int timers_add(struct timers *timers, struct timer timer, struct cairn_error *error)
{
    struct timer *at = array_room(timers->at, timers->n, &timers->capacity, sizeof *at);
    if (!at)
        return error_nomem(error);
    timers->at = at;
    times_push(timers->at, &timers->n, timer);
    return 0;
}

bool timers_take_due(struct timers *timers, int64_t now_ns, struct timer *out)
{
    if (timers->n == 0 || timers->at[0].when_ns > now_ns)
        return false;
    *out = times_pop(timers->at, &timers->n);
    return true;
}

int64_t timers_first_ns(const struct timers *timers)
{
    return timers->n ? timers->at[0].when_ns : INT64_MAX;
}

void timers_release(struct timers *timers)
{
    free(timers->at);
    *timers = (struct timers){0};
}

/* What the loop waits for: its descriptors and its timers. */

/* ---- Time ---- */

int64_t loop_now_ns(const struct engine *e)
{
    const struct runner *runner = e->request.runner;
    return runner->ops->mono_ns(runner);
}

int64_t loop_utc_ns(const struct engine *e)
{
    const struct runner *runner = e->request.runner;
    return runner->ops->utc_ns(runner);
}

void loop_set_timer(struct engine *e, enum timer_kind kind, int64_t delay_ns,
                    uint32_t index, uint64_t stamp)
{
    struct timer timer = {loop_now_ns(e) + delay_ns, kind, index, stamp};
    if (kind == TIMER_TICK)
        e->loop.tick = timer;
    else if (timers_add(&e->loop.timers, timer, NULL))
        engine_break(e);
    else
        e->loop.trimming |= kind == TIMER_TRIM;
}

bool loop_take_due(struct engine *e, int64_t now_ns, struct timer *out)
{
    struct timer *tick = &e->loop.tick;
    if (tick->when_ns && tick->when_ns <= now_ns) {
        *out = *tick;
        tick->when_ns = 0;
        return true;
    }
    if (!timers_take_due(&e->loop.timers, now_ns, out))
        return false;
    if (out->kind == TIMER_TRIM)
        e->loop.trimming = false;
    return true;
}

/* ---- Waiting ---- */

int loop_wait(struct engine *e, int64_t longest_ns, enum spawner_rest rest,
              struct epoll_event *events, int most)
{
    struct runner *runner = e->request.runner;
    struct runner_wait wait = {.epoll_fd = e->loop.epoll_fd, .rest = rest};
    if (longest_ns > 0) {
        wait.now_ns = loop_now_ns(e);
        wait.tick_ns = e->loop.tick.when_ns ? e->loop.tick.when_ns : INT64_MAX;
        wait.until_ns = wait.now_ns + longest_ns;
        int64_t due_ns = timers_first_ns(&e->loop.timers);
        if (due_ns < wait.until_ns)
            wait.until_ns = due_ns;
    }
    if (rest == REST_ENDS)
        wait.low = (e->saving.ahead + 1) / 2;
    return runner->ops->wait(runner, &wait, events, most);
}

void loop_pause(struct engine *e, int64_t pause_ns)
{
    struct runner *runner = e->request.runner;
    struct runner_wait wait = {
        .epoll_fd = -1, .now_ns = loop_now_ns(e), .tick_ns = INT64_MAX};
    wait.until_ns = wait.now_ns + pause_ns;
    (void)runner->ops->wait(runner, &wait, NULL, 0);
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

/* Other processes write to this fifo after they have stored a command. */
static int open_wake(struct engine *e, struct cairn_error *error)
{
    live_path(e->loop.wake_path, sizeof e->loop.wake_path, e->run.live_dir,
              live_of_run(LIVE_WAKE, e->run.row.run));
    if (unlink(e->loop.wake_path) < 0 && errno != ENOENT)
        return error_sys(error, errno, "cannot remove %s", e->loop.wake_path);
    if (mkfifo(e->loop.wake_path, 0600) < 0)
        return error_sys(error, errno, "cannot make %s", e->loop.wake_path);
    /* Read and write: so it never reads as ended when a writer has gone. */
    e->loop.wake_fd =
        open(e->loop.wake_path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
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
    if (e->loop.wake_path[0] && !e->run.lost)
        unlink(e->loop.wake_path);
    timers_release(&e->loop.timers);
}
