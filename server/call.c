/* SPDX-License-Identifier: MIT */
/* The vfork-style clone gives a descriptor of the child and lets it arm its
 * parent-death signal before it execs, which posix_spawn cannot. Until then the child
 * shares all memory with us: it allocates nothing and runs no signal handler. */
#include "server/call.h"

#include "server/arguments.h"
#include "server/server.h"
#include "server/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS_WAITING_BYTES ((size_t)16 << 20)

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

#define STACK_BYTES ((size_t)64 * 1024)
#define PROGRAM "/proc/self/exe"

struct job {
    const struct child_start *start;
    char **environment;
    pid_t parent;
    int fds[3];
    sigset_t mask;
    int error;
};

static void child_close(struct child *child);

static int enter(void *context)
{
    static const int defaults[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD};
    struct job *job = context;
    sigset_t mask;
    if (job->start->detached) {
        if (setsid() < 0)
            goto failed;
    } else {
        pid_t parent;
        if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
            goto failed;
        /* 0: the parent is in another pid namespace. */
        parent = getppid();
        if (parent != job->parent && parent != 0)
            _exit(126);
    }
    for (int i = 0; i < 3; i++)
        if (dup2(job->fds[i], i) < 0)
            goto failed;
    if (job->start->directory && chdir(job->start->directory))
        goto failed;
    mask = job->mask;
    for (size_t i = 0; i < COUNT_OF(defaults); i++) {
        (void)signal(defaults[i], SIG_DFL);
        sigdelset(&mask, defaults[i]);
    }
    if (sigprocmask(SIG_SETMASK, &mask, NULL))
        goto failed;
    execve(PROGRAM, job->start->argv, job->environment);
failed:
    job->error = errno;
    _exit(126);
}

/* Ends that no child inherits, above the three that a child puts in place. */
static int move_up(int ends[2])
{
    for (int i = 0; i < 2; i++) {
        int higher = ends[i] < 3 ? fcntl(ends[i], F_DUPFD_CLOEXEC, 3) : ends[i];
        int error = errno;
        if (higher < 0) {
            close(ends[0]);
            close(ends[1]);
            return error;
        }
        if (higher != ends[i])
            close(ends[i]);
        ends[i] = higher;
    }
    return 0;
}

static int make_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC) ? errno : move_up(ends);
}

static int make_socket(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? errno
                                                                       : move_up(ends);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int make_pipes(struct child *child, int theirs[3],
                      const struct child_start *start)
{
    int ends[2];
    int error = 0;
    if (start->worker) {
        error = make_socket(ends);
        theirs[0] = error ? -1 : ends[0];
        child->control = error ? -1 : ends[1];
    } else if (start->has_input) {
        error = make_pipe(ends);
        theirs[0] = error ? -1 : ends[0];
        child->in = error ? -1 : ends[1];
    } else {
        theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        error = theirs[0] < 0 ? errno : 0;
    }
    for (int i = 1; i < 3 && !error; i++) {
        error = make_pipe(ends);
        theirs[i] = error ? -1 : ends[1];
        *(i == 1 ? &child->out : &child->err) = error ? -1 : ends[0];
    }
    if (!error && (fcntl(child->out, F_SETFL, O_NONBLOCK) ||
                   fcntl(child->err, F_SETFL, O_NONBLOCK) ||
                   (child->in >= 0 && fcntl(child->in, F_SETFL, O_NONBLOCK))))
        error = errno;
    return error;
}

static int clone_child(struct child *child, struct job *job)
{
    sigset_t all;
    char *stack = malloc(STACK_BYTES);
    pid_t pid;
    int error = 0;
    if (!stack)
        return ENOMEM;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &job->mask);
    pid = clone(enter, stack + STACK_BYTES,
                CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, job, &child->pidfd);
    if (pid < 0) {
        error = errno;
        child->pidfd = -1;
    }
    sigprocmask(SIG_SETMASK, &job->mask, NULL);
    free(stack);
    return error;
}

/* The first of a name counts. NULL: out of memory. */
static char **environment_with(char *variable)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **environment = malloc((n + 2) * sizeof *environment);
    if (environment) {
        environment[0] = variable;
        memcpy(environment + 1, environ, (n + 1) * sizeof *environment);
    }
    return environment;
}

int child_start(struct child *child, const struct child_start *start)
{
    struct job job = {.start = start, .parent = getpid(), .fds = {-1, -1, -1}};
    char **own = start->variable ? environment_with(start->variable) : NULL;
    int error;
    *child = CHILD_NONE;
    job.environment = own ? own : environ;
    error = start->variable && !own
                ? ENOMEM
                : make_pipes(child, job.fds, start)
                      ?: clone_child(child, &job);
    free(own);
    for (int i = 0; i < 3; i++)
        close_end(&job.fds[i]);
    if (!error && job.error) {
        error = job.error;
        child_reap(child);
    }
    if (error)
        child_close(child);
    return error;
}

void child_signal(const struct child *child, int number)
{
    if (child->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, number, NULL, 0);
}

int child_reap(struct child *child)
{
    siginfo_t info = {.si_code = 0};
    int rc;
    do
        rc = waitid((idtype_t)3 /* P_PIDFD */, (id_t)child->pidfd, &info, WEXITED);
    while (rc && errno == EINTR);
    close_end(&child->pidfd);
    child_close(child);
    if (rc)
        return 126;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

/* Closes our ends of the pipes. */
static void child_close(struct child *child)
{
    close_end(&child->in);
    close_end(&child->out);
    close_end(&child->err);
    close_end(&child->control);
}

/* What the command of a call is given and prints. What it prints beyond the limit is
 * read and dropped: it must not stop in the middle of its work because nobody reads. Of
 * stderr the last is kept: how it ended is said there. */

/* What is too much is dropped at the end, and said; without `too_large` it is the
 * oldest that is dropped. */
static void read_pipe(int *fd, struct buf *text, size_t limit, bool *too_large)
{
    char bytes[16384];
    ssize_t n;
    /* Not for ever: others are to be served, too. */
    for (int round = 0; round < 64 && *fd >= 0; round++) {
        n = read(*fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(*fd);
            *fd = -1;
            return;
        }
        if (too_large && (size_t)n > limit - text->size) {
            *too_large = true;
            continue;
        }
        buf_add(text, bytes, (size_t)n);
        if (text->size > limit)
            text_cut(text, text->size - limit);
    }
}

static void write_input(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    while (call->child.in >= 0) {
        size_t left = arguments->input_bytes - call->input_done;
        ssize_t n =
            left > 0 ? write(call->child.in, arguments->input + call->input_done, left)
                     : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) { /* all of it, or it does not want the rest */
            close(call->child.in);
            call->child.in = -1;
            return;
        }
        call->input_done += (size_t)n;
    }
}

/* Gives and takes as much as there is, but not for ever. */
static void call_move_bytes(struct call *call)
{
    write_input(call);
    read_pipe(&call->child.out, &call->out, CALL_OUTPUT_BYTES, &call->too_large);
    read_pipe(&call->child.err, &call->err, CALL_ERRORS_BYTES, NULL);
}

/* Runs that go on after their call was answered: their processes are only reaped. */

/* A line of what it printed says which run it is. */
static bool has_run(const struct buf *out)
{
    for (const char *line = text_get(out), *end; (end = strchr(line, '\n'));
         line = end + 1) {
        char why[160];
        struct value *value = value_parse(line, (size_t)(end - line), why);
        int64_t run;
        bool found = value_integer(value_member(value, "run"), &run);
        value_free(value);
        if (found)
            return true;
    }
    return false;
}

/* Whether it has said which run it is, and is to go on without its call. */
static bool call_goes_on(const struct call *call)
{
    return call->starts && !call->signalled && !call->cancelled && has_run(&call->out);
}

/* With its pipes closed its lines go nowhere; that does not stop it. */
static void calls_detach(struct calls *calls, struct call *call)
{
    calls->detached[calls->n_detached++] = call->child.pidfd;
    child_close(&call->child);
}

static void calls_reap_detached(struct calls *calls)
{
    for (size_t i = calls->n_detached; i-- > 0;) {
        struct pollfd fd = {calls->detached[i], POLLIN, 0};
        struct child child = CHILD_NONE;
        if (poll(&fd, 1, 0) != 1)
            continue;
        child.pidfd = calls->detached[i];
        child_reap(&child);
        calls->detached[i] = calls->detached[--calls->n_detached];
    }
}

static void calls_leave_detached(struct calls *calls)
{
    for (size_t i = 0; i < calls->n_detached; i++)
        close(calls->detached[i]);
}

/* Workers. One that was told to end never gets another call, and after some hundred
 * calls there is a new one, so that what a command may leave behind does not add up. */

#define WORKER_CALLS 500
#define WORKER_IDLE_MS 60000

/* The words as a packet; 0: they do not fit. */
static size_t pack_words(char *const *argv, char packet[WORKER_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; argv[i]; i++) {
        size_t bytes = strlen(argv[i]) + 1;
        if (i == WORKER_WORDS || bytes > WORKER_BYTES - n)
            return 0;
        memcpy(packet + n, argv[i], bytes);
        n += bytes;
    }
    return n;
}

static void end_worker(struct child *worker)
{
    child_signal(worker, SIGKILL);
    child_reap(worker);
}

static void end_workers(struct calls *calls)
{
    while (calls->n_idle > 0)
        end_worker(&calls->idle[--calls->n_idle]);
}

/* Gives the call to a worker: the one that was busy last, or a new one. False: it needs
 * a process of its own, which will say what is wrong. */
static bool give_to_worker(struct calls *calls, struct call *call)
{
    static char name[] = WORKER_NAME;
    static char *const words[] = {name, NULL};
    const struct child_start start = {.argv = words, .worker = true};
    char packet[WORKER_BYTES];
    size_t n = !call->reads || call->starts || call->arguments.input ||
                       call->arguments.directory || call->variable
                   ? 0
                   : pack_words(call->arguments.argv, packet);
    while (n > 0) {
        bool fresh = calls->n_idle == 0;
        if (fresh && child_start(&call->child, &start) != 0)
            return false;
        if (!fresh)
            call->child = calls->idle[--calls->n_idle];
        if (send(call->child.control, packet, n, MSG_DONTWAIT | MSG_NOSIGNAL) ==
            (ssize_t)n) {
            call->child.calls++;
            return true;
        }
        end_worker(&call->child); /* it had ended already */
        if (fresh)
            return false;
    }
    return false;
}

/* Whether the worker has answered: then all that it printed is in the pipes. */
static bool has_answered(struct call *call)
{
    return call->child.control >= 0 && !call->signalled &&
           recv(call->child.control, &call->status, sizeof call->status,
                MSG_DONTWAIT) == (ssize_t)sizeof call->status;
}

static void keep_worker(struct calls *calls, struct call *call)
{
    if (call->child.calls >= WORKER_CALLS || calls->n_idle == COUNT_OF(calls->idle)) {
        end_worker(&call->child);
        return;
    }
    calls->idle[calls->n_idle++] = call->child;
    calls->idle_until_ms = clock_ms() + WORKER_IDLE_MS;
    call->child = CHILD_NONE;
}

/* Those that have ended by themselves, or have had nothing to do for long. */
static void look_after_workers(struct calls *calls)
{
    if (calls->n_idle > 0 && clock_ms() >= calls->idle_until_ms)
        end_workers(calls);
    for (size_t i = calls->n_idle; i-- > 0;) {
        struct pollfd fd = {calls->idle[i].pidfd, POLLIN, 0};
        if (poll(&fd, 1, 0) != 1)
            continue;
        child_reap(&calls->idle[i]);
        calls->idle[i] = calls->idle[--calls->n_idle];
    }
}

/* Calls that wait, run and end. One that is to end gets SIGTERM, and SIGKILL after a
 * grace. */

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
    buf_release(&call->out);
    buf_release(&call->err);
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

static void check_late(struct calls *calls, struct call *call, int64_t now)
{
    if (call->late_at_ms == 0 || now < call->late_at_ms)
        return;
    call->late_at_ms = 0;
    call->late(calls->server, call);
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
                                .has_input = call->arguments.input != NULL,
                                .variable = call->variable};
    int error = give_to_worker(calls, call) ? 0 : child_start(&call->child, &start);
    if (error) {
        call->status = 126;
        buf_format(&call->err, "cannot carry it out%s%s: %s",
                   start.directory ? " in " : "",
                   start.directory ? start.directory : "", strerror(error));
        call->finish(calls->server, call);
        call_free(call);
        return;
    }
    call->deadline_ms = call->time_limit_ms ? clock_ms() + call->time_limit_ms : 0;
    call->late_at_ms = call->late ? clock_ms() + call->late_ms : 0;
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
        n = add_fd(fds, n, call->child.control, POLLIN);
        n = add_fd(fds, n, call->child.pidfd, POLLIN);
        if (call->deadline_ms != 0 && !call->killed && call->deadline_ms < *until_ms)
            *until_ms = call->deadline_ms;
        if (call->late_at_ms != 0 && call->late_at_ms < *until_ms)
            *until_ms = call->late_at_ms;
    }
    for (size_t i = 0; i < calls->n_detached; i++)
        n = add_fd(fds, n, calls->detached[i], POLLIN);
    for (size_t i = 0; i < calls->n_idle; i++)
        n = add_fd(fds, n, calls->idle[i].pidfd, POLLIN);
    if (calls->n_idle > 0 && calls->idle_until_ms < *until_ms)
        *until_ms = calls->idle_until_ms;
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
    bool answered = has_answered(call), ended = !answered && has_ended(call);
    call_move_bytes(call);
    if (!ended && !answered) {
        check_time(call, clock_ms());
        check_late(calls, call, clock_ms());
        return !let_go(calls, at);
    }
    if (answered)
        keep_worker(calls, call);
    else
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
    look_after_workers(calls);
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
    end_workers(calls);
    calls_leave_detached(calls);
}
