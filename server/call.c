/* SPDX-License-Identifier: MIT */
/* Calls that wait, run and end. One that is to end gets SIGTERM, and SIGKILL after a
 * grace. */
#include "server/call_int.h"
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 5000
#define LOOK_MS 1000

/* Calls that run, and all with those that wait for a place; of one of several clients.
 */
static const struct {
    size_t running, all, running_of_one, all_of_one;
} limits[LANES] = {
    [LANE_QUICK] = {CALLS_RUNNING, CALLS_RUNNING + 256, 6, 70},
    [LANE_LONG] = {CALLS_RUNNING, CALLS_RUNNING + 256, 6, 70},
    /* One without a place would wait for those that wait: it is refused. */
    [LANE_AWAIT] = {CALLS_AWAITING, CALLS_AWAITING, CALLS_AWAITING / 2,
                    CALLS_AWAITING / 2},
};

int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void calls_init(struct calls *calls, struct server *server)
{
    *calls = (struct calls){.server = server};
    calls->waiting_end = &calls->waiting;
}

struct call *call_new(void)
{
    struct call *call = calloc(1, sizeof *call);
    if (call)
        call->child = CHILD_NONE;
    return call;
}

void call_free(struct call *call)
{
    if (!call)
        return;
    free(call->reply.id);
    free(call->subject);
    free(call->progress);
    arguments_release(&call->arguments);
    text_release(&call->out);
    text_release(&call->err);
    free(call);
}

static size_t call_bytes(const struct call *call)
{
    size_t n = call->arguments.input_bytes;
    for (size_t i = 0; i < call->arguments.n; i++)
        n += strlen(call->arguments.argv[i]);
    return n;
}

/* Those of a lane; client: only its own, NULL: of all. */
static size_t count_of(const struct call *list, enum call_lane lane,
                       const struct client *client)
{
    size_t n = 0;
    for (; list; list = list->next)
        n += list->lane == lane && (!client || list->reply.client == client);
    return n;
}

static bool is_full(const struct calls *calls, const struct call *call)
{
    enum call_lane lane = call->lane;
    const struct client *client = call->reply.client;
    size_t all =
        count_of(calls->running, lane, NULL) + count_of(calls->waiting, lane, NULL);
    size_t of_one =
        count_of(calls->running, lane, client) + count_of(calls->waiting, lane, client);
    return all >= limits[lane].all ||
           (calls->shared && of_one >= limits[lane].all_of_one);
}

bool calls_add(struct calls *calls, struct call *call)
{
    size_t bytes = call_bytes(call);
    if (is_full(calls, call) ||
        bytes > CALLS_WAITING_BYTES - calls->waiting_bytes[call->lane])
        return false;
    call->next = NULL;
    call->began_ms = call->told_ms = clock_ms();
    *calls->waiting_end = call;
    calls->waiting_end = &call->next;
    calls->waiting_bytes[call->lane] += bytes;
    return true;
}

static struct call *take_waiting(struct calls *calls, struct call **at)
{
    struct call *call = *at;
    *at = call->next;
    if (!*at)
        calls->waiting_end = at;
    calls->waiting_bytes[call->lane] -= call_bytes(call);
    call->next = NULL;
    return call;
}

static bool fits(const struct call *call, const struct whose *whose)
{
    return !call->cancelled &&
           (!whose->client || whose->client == call->reply.client) &&
           (!whose->outlet || whose->outlet == call->reply.outlet) &&
           (!whose->id || strcmp(whose->id, call->reply.id) == 0);
}

static bool has(const struct call *list, const struct whose *whose)
{
    while (list && !fits(list, whose))
        list = list->next;
    return list != NULL;
}

bool calls_has(const struct calls *calls, const struct whose *whose)
{
    return has(calls->running, whose) || has(calls->waiting, whose);
}

bool calls_idle(const struct calls *calls)
{
    return !calls->running && !calls->waiting;
}

/* ---- Ending ---- */

static void end_child(struct call *call)
{
    if (call->signalled)
        return;
    call->signalled = true;
    call->deadline_ms = clock_ms() + GRACE_MS;
    child_signal(&call->child, SIGTERM);
}

void calls_cancel(struct calls *calls, const struct whose *whose)
{
    for (struct call *call = calls->running; call; call = call->next) {
        if (!fits(call, whose))
            continue;
        call->cancelled = true;
        end_child(call);
    }
    for (struct call **at = &calls->waiting; *at;) {
        struct call *call = *at;
        if (!fits(call, whose)) {
            at = &call->next;
            continue;
        }
        take_waiting(calls, at);
        server_drop(calls->server, &call->reply);
        call_free(call);
    }
}

/* All of them run: there is no queue in this lane. One that was asked for last has had
 * the time to look once for what it waits for. */
void calls_hang_up(struct calls *calls, int64_t *until_ms)
{
    int64_t now = clock_ms();
    for (struct call *call = calls->running; call; call = call->next) {
        int64_t due = call->began_ms + LOOK_MS;
        if (call->lane != LANE_AWAIT || call->left)
            continue;
        if (now >= due) {
            call->left = true;
            end_child(call);
            due = call->deadline_ms;
        }
        if (due < *until_ms)
            *until_ms = due;
    }
}

static void check_time(struct call *call, int64_t now)
{
    if (call->deadline_ms == 0 || now < call->deadline_ms)
        return;
    if (!call->signalled) {
        call->timed_out = true;
        end_child(call);
    } else if (!call->killed) {
        call->killed = true;
        child_signal(&call->child, SIGKILL);
    }
}

/* A call that nobody waits for any more is answered by nothing. */
static void finish(struct calls *calls, struct call *call)
{
    if (call->cancelled)
        server_drop(calls->server, &call->reply);
    else
        call->finish(calls->server, call);
}

static void remove_running(struct call **at)
{
    struct call *call = *at;
    *at = call->next;
    call_free(call);
}

/* ---- The loop's two halves ---- */

static void start_call(struct calls *calls, struct call *call)
{
    struct child_start start = {.argv = call->arguments.argv,
                                .directory = call->arguments.directory,
                                .detached = call->starts,
                                .has_input = call->arguments.input != NULL};
    int error = child_start(&call->child, &start);
    if (error) {
        call->status = 126;
        text_format(&call->err, "cannot carry it out%s%s: %s",
                    start.directory ? " in " : "",
                    start.directory ? start.directory : "", strerror(error));
        call->finish(calls->server, call);
        call_free(call);
        return;
    }
    call->deadline_ms = call->time_limit_ms ? clock_ms() + call->time_limit_ms : 0;
    call->next = calls->running;
    calls->running = call;
}

static size_t count_starting(const struct call *list)
{
    size_t n = 0;
    for (; list; list = list->next)
        n += list->starts;
    return n;
}

/* What a client changes is carried out one after the other, as it came. */
static bool can_start(const struct calls *calls, const struct call *call)
{
    enum call_lane lane = call->lane;
    if (count_of(calls->running, lane, NULL) >= limits[lane].running ||
        (call->starts &&
         calls->n_detached + count_starting(calls->running) >= CALLS_DETACHED) ||
        (calls->shared && count_of(calls->running, lane, call->reply.client) >=
                              limits[lane].running_of_one))
        return false;
    for (const struct call *other = calls->running; call->ordered && other;
         other = other->next)
        if (other->ordered && other->reply.client == call->reply.client)
            return false;
    return true;
}

/* The first that can be started, or NULL. */
static struct call *next_call(struct calls *calls)
{
    for (struct call **at = &calls->waiting; *at; at = &(*at)->next)
        if (can_start(calls, *at))
            return take_waiting(calls, at);
    return NULL;
}

static size_t add_fd(struct pollfd *fds, size_t n, int fd, short events)
{
    if (fd < 0)
        return n;
    fds[n] = (struct pollfd){fd, events, 0};
    return n + 1;
}

size_t calls_poll(struct calls *calls, struct pollfd *fds, int64_t *until_ms)
{
    size_t n = 0;
    struct call *next;
    while ((next = next_call(calls)))
        start_call(calls, next);
    for (const struct call *call = calls->running; call; call = call->next) {
        n = add_fd(fds, n, call->child.in, POLLOUT);
        n = add_fd(fds, n, call->child.out, POLLIN);
        n = add_fd(fds, n, call->child.err, POLLIN);
        n = add_fd(fds, n, call->child.pidfd, POLLIN);
        if (call->deadline_ms != 0 && !call->killed && call->deadline_ms < *until_ms)
            *until_ms = call->deadline_ms;
    }
    for (size_t i = 0; i < calls->n_detached; i++)
        n = add_fd(fds, n, calls->detached[i], POLLIN);
    if (calls_tell_due(calls) < *until_ms)
        *until_ms = calls_tell_due(calls);
    return n;
}

static bool has_ended(const struct call *call)
{
    struct pollfd fd = {call->child.pidfd, POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
}

/* A run that has its number is answered, and goes on by itself. */
static bool let_go(struct calls *calls, struct call **at)
{
    struct call *call = *at;
    if (!call_goes_on(call))
        return false;
    call->status = -1;
    finish(calls, call);
    calls_detach(calls, call);
    remove_running(at);
    return true;
}

/* What it left in its pipes is read after its end; who else holds them is not waited
 * for. False: it is answered, and gone. */
static bool serve_call(struct calls *calls, struct call **at)
{
    struct call *call = *at;
    bool ended = has_ended(call);
    call_move_bytes(call);
    if (!ended) {
        check_time(call, clock_ms());
        return !let_go(calls, at);
    }
    call->status = child_reap(&call->child);
    finish(calls, call);
    remove_running(at);
    return false;
}

void calls_serve(struct calls *calls)
{
    for (struct call **at = &calls->running; *at;)
        if (serve_call(calls, at))
            at = &(*at)->next;
    calls_tell(calls);
    calls_reap_detached(calls);
}

void calls_end(struct calls *calls)
{
    while (calls->waiting) {
        struct call *call = take_waiting(calls, &calls->waiting);
        server_drop(calls->server, &call->reply);
        call_free(call);
    }
    for (struct call *call = calls->running; call; call = call->next) {
        call->cancelled = true;
        end_child(call);
    }
    while (calls->running) {
        struct pollfd fds[CALLS_FDS];
        int64_t until = clock_ms() + GRACE_MS, now;
        size_t n = calls_poll(calls, fds, &until);
        now = clock_ms();
        (void)poll(fds, (nfds_t)n, until > now ? (int)(until - now) : 0);
        calls_serve(calls);
    }
    calls_leave_detached(calls);
}
