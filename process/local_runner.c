/* SPDX-License-Identifier: MIT */
/* The runner whose tasks are processes of this machine: the spawner starts them and
 * watches them, the guard ends them when the engine dies. What the spawner does not
 * watch is watched here: adopted keepers, children that it could not watch, and the
 * guard itself. */
#include "process/runner.h"

#include "base/clock.h"
#include "process/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct local_runner {
    struct runner runner; /* tend_fd: epoll, of what is watched here */
    const struct slot_map *slots;
    struct spawner *spawner;
    struct guard guard;
    bool guarded;
    struct spawn_request *ended; /* of those watched here, by `next` */
};

static struct local_runner *local_of(struct runner *runner)
{
    return (struct local_runner *)runner;
}

/* ---- The clock ---- */

static int64_t read_mono_clock(const struct runner *runner)
{
    (void)runner;
    return clock_mono_ns();
}

static int64_t read_utc_clock(const struct runner *runner)
{
    (void)runner;
    return clock_utc_ns();
}

/* Rounded up: nothing is due before its time. */
static int wait_ms(const struct runner_wait *wait)
{
    enum { MS_NS = 1000000 };
    int64_t until_ns = wait->until_ns < wait->tick_ns ? wait->until_ns : wait->tick_ns;
    int64_t left_ns = until_ns - wait->now_ns;
    return left_ns <= 0 ? 0 : (int)(left_ns / MS_NS + (left_ns % MS_NS != 0));
}

/* Every end of a child is also a SIGCHLD, which wakes us even where it is ignored: not
 * while we rest. */
static int wait_for_events(struct runner *runner, const struct runner_wait *wait,
                           struct epoll_event *events, int most)
{
    sigset_t mask;
    if (wait->epoll_fd < 0)
        return poll(NULL, 0, wait_ms(wait));
    if (!wait->rest)
        return epoll_wait(wait->epoll_fd, events, most, wait_ms(wait));
    spawner_rest(local_of(runner)->spawner, wait->rest, wait->low);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigaddset(&mask, SIGCHLD);
    return epoll_pwait(wait->epoll_fd, events, most, wait_ms(wait), &mask);
}

/* ---- What is watched here ---- */

/* `request`: whose end it is; NULL: the guard's. */
static int watch_end(struct local_runner *local, int pidfd,
                     struct spawn_request *request, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = request};
    if (epoll_ctl(local->runner.tend_fd, EPOLL_CTL_ADD, pidfd, &event) < 0)
        return error_sys(error, errno, "cannot watch a descriptor");
    return 0;
}

/* Closing would not end the watch while a child that is just being made holds a copy.
 */
static void unwatch_end(struct local_runner *local, int pidfd)
{
    (void)epoll_ctl(local->runner.tend_fd, EPOLL_CTL_DEL, pidfd, NULL);
}

static int start_guard(struct local_runner *local, struct cairn_error *error)
{
    int rc = guard_start(&local->guard, local->slots, error);
    local->guarded = !rc;
    return rc ?: watch_end(local, local->guard.pidfd, NULL, error);
}

static void queue_end(struct local_runner *local, struct spawn_request *request)
{
    unwatch_end(local, request->pidfd);
    request->ended = true;
    request->ended_ns = 0;
    request->next = local->ended;
    local->ended = request;
}

/* Without a guard a crash of ours could leave orphans. */
static int replace_guard(struct local_runner *local, struct cairn_error *error)
{
    unwatch_end(local, local->guard.pidfd);
    guard_stop(&local->guard);
    return start_guard(local, error);
}

static int tend_watched(struct runner *runner, const char **notice,
                        struct cairn_error *error)
{
    enum { AT_ONCE = 16 };
    struct local_runner *local = local_of(runner);
    struct epoll_event events[AT_ONCE];
    int rc = 0, n = epoll_wait(runner->tend_fd, events, AT_ONCE, 0);
    *notice = NULL;
    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr) {
            queue_end(local, events[i].data.ptr);
            continue;
        }
        *notice = "the guard process has died; starting another one";
        rc = replace_guard(local, error);
    }
    return rc;
}

/* ---- Its life ---- */

static int open_local(struct runner *runner, const struct slot_map *slots,
                      const struct end_notes *notes, uint32_t limit,
                      struct cairn_error *error)
{
    struct local_runner *local = local_of(runner);
    local->slots = slots;
    runner->tend_fd = epoll_create1(EPOLL_CLOEXEC);
    if (runner->tend_fd < 0)
        return error_sys(error, errno, "cannot make a descriptor");
    int rc = start_guard(local, error)
                 ?: spawner_start(&local->spawner, limit, notes, error);
    if (!rc)
        runner->news_fd = spawner_fd(local->spawner);
    return rc;
}

static void close_local(struct runner *runner)
{
    struct local_runner *local = local_of(runner);
    spawner_stop(local->spawner);
    local->spawner = NULL;
    if (local->guarded)
        guard_stop(&local->guard);
    local->guarded = false;
    if (runner->tend_fd >= 0)
        close(runner->tend_fd);
    runner->news_fd = runner->tend_fd = -1;
}

static void free_local(struct runner *runner)
{
    free(local_of(runner));
}

/* ---- Tasks, by their requests ---- */

static void submit_request(struct runner *runner, struct spawn_request *request)
{
    spawner_submit(local_of(runner)->spawner, request);
}

static int watch_unwatched(struct local_runner *local, struct spawn_request *news,
                           struct cairn_error *error)
{
    int first = 0;
    for (; news; news = news->next) {
        if (news->error || news->watched)
            continue;
        int rc = watch_end(local, news->pidfd, news, first ? NULL : error);
        first = first ? first : rc;
    }
    return first;
}

static int collect_requests(struct runner *runner, struct spawn_request **news,
                            struct cairn_error *error)
{
    struct local_runner *local = local_of(runner);
    *news = spawner_collect(local->spawner);
    int rc = watch_unwatched(local, *news, error);
    while (*news)
        news = &(*news)->next;
    *news = local->ended;
    local->ended = NULL;
    return rc;
}

static void let_next_start(struct runner *runner, uint64_t ticket)
{
    spawner_go_on(local_of(runner)->spawner, ticket);
}

static void recall_requests(struct runner *runner)
{
    spawner_recall(local_of(runner)->spawner);
}

/* ---- Tasks, by their processes ---- */

struct runner_process runner_process_of(const struct spawn_request *request)
{
    struct runner_process process = {.pid = request->pid,
                                     .pidfd = request->pidfd,
                                     .slot = request->slot,
                                     .kept = request->keep != NULL};
    if (process.kept)
        process.keeper = keeper_of(request);
    return process;
}

static bool process_has_ended(struct runner *runner,
                              const struct runner_process *process)
{
    struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
    (void)runner;
    return poll(&end, 1, 0) > 0;
}

static void stop_process(struct runner *runner, const struct runner_process *process,
                         enum runner_stop how)
{
    (void)runner;
    if (process->kept) {
        keeper_signal(&process->keeper, how == RUNNER_KILL ? KEEPER_KILL : KEEPER_STOP);
    } else if (how == RUNNER_KILL) {
        process_signal(process->pid, SIGKILL);
    } else {
        /* A stopped process cannot act on TERM before it is continued. */
        process_signal(process->pid, SIGTERM);
        process_signal(process->pid, SIGCONT);
    }
}

static int reap_child(struct runner *runner, struct runner_process *process,
                      struct process_end *end, struct cairn_error *error)
{
    (void)runner;
    int rc = process->kept ? keeper_reap(&process->keeper, process->slot, error)
                           : process_reap(process->pid, process->pidfd, process->slot,
                                          end, error);
    if (!process->kept || process->keeper.pidfd < 0) {
        process->pid = 0;
        process->pidfd = -1;
    }
    return rc;
}

/* ---- What an earlier process has started under keepers ---- */

static int look_at_keeper(struct runner *runner, struct keeper *out,
                          const struct attempt_id *id, const char *store_id,
                          struct cairn_error *error)
{
    (void)runner;
    return keeper_look(out, id, store_id, error);
}

static int adopt_keeper(struct runner *runner, const struct runner_process *process,
                        struct spawn_request *request, struct cairn_error *error)
{
    request->pid = process->pid;
    request->pidfd = process->pidfd;
    request->error = 0;
    request->ended = false;
    return watch_end(local_of(runner), process->pidfd, request, error);
}

static bool wait_for_end(int pidfd)
{
    const int64_t patience_ns = 5000000000, until = clock_mono_ns() + patience_ns;
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    int64_t left;
    int n = 0;
    while (n <= 0 && (left = until - clock_mono_ns()) > 0) {
        n = poll(&end, 1, (int)(left / 1000000) + 1);
        if (n < 0 && errno != EINTR)
            return false;
    }
    return n > 0;
}

static int discard_keeper(struct runner *runner, struct keeper *keeper,
                          struct cairn_error *error)
{
    int rc = 0;
    (void)runner;
    if (keeper->fate == KEEPER_LIVE) {
        keeper_signal(keeper, KEEPER_KILL);
        rc = wait_for_end(keeper->pidfd)
                 ? keeper_reap(keeper, NULL, error)
                 : error_set(error, CAIRN_EBUSY,
                             "process %d, the keeper of a task that is not wanted any "
                             "more, does not end; end it and resume again",
                             (int)keeper->pid);
    }
    if (keeper->pidfd >= 0)
        close(keeper->pidfd);
    keeper->pidfd = -1;
    return rc;
}

struct runner *local_runner_new(void)
{
    static const struct runner_ops ops = {
        .mono_ns = read_mono_clock,
        .utc_ns = read_utc_clock,
        .wait = wait_for_events,
        .open = open_local,
        .tend = tend_watched,
        .close = close_local,
        .free = free_local,
        .submit = submit_request,
        .collect = collect_requests,
        .go_on = let_next_start,
        .recall = recall_requests,
        .has_ended = process_has_ended,
        .stop = stop_process,
        .reap = reap_child,
        .look = look_at_keeper,
        .adopt = adopt_keeper,
        .discard = discard_keeper,
    };
    struct local_runner *local = calloc(1, sizeof *local);
    if (!local)
        return NULL;
    local->runner = (struct runner){.ops = &ops, .news_fd = -1, .tend_fd = -1};
    return &local->runner;
}
