/* SPDX-License-Identifier: MIT */
/* Why a process could not be started, in words. */
#include "process/spawner.h"

#include "process/child_int.h"
#include "process/keeper_int.h"
#include "process/pidfd.h"

#include "base/clock.h"
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Missing interpreters ---- */

struct script {
    char file[PATH_MAX];
    char interpreter[PATH_MAX]; /* that its first line names */
    char argument[256];         /* the first word behind that */
};

/* False: it has no such line. */
static bool read_first_line(int dir, struct script *script)
{
    char head[PATH_MAX];
    struct stat st;
    int fd = openat(dir, script->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = regular ? pread(fd, head, sizeof head - 1, 0) : -1;
    close(fd);
    if (n < 3 || memcmp(head, "#!", 2) != 0)
        return false;
    head[n] = 0;
    char *name = head + 2 + strspn(head + 2, " \t");
    size_t len = strcspn(name, " \t\n");
    const char *rest = name + len + strspn(name + len, " \t");
    snprintf(script->argument, sizeof script->argument, "%.*s",
             (int)strcspn(rest, " \t\n"), rest);
    name[len] = 0;
    snprintf(script->interpreter, sizeof script->interpreter, "%s", name);
    return *name != 0;
}

/* Interpreters may be scripts themselves: the kernel follows five. */
static bool lacks_interpreter(int dir, struct script *script)
{
    for (int i = 0; i < 5 && read_first_line(dir, script); i++) {
        if (!os_is_there(dir, script->interpreter))
            return true;
        memcpy(script->file, script->interpreter, sizeof script->file);
    }
    return false;
}

/* The file that a command without a slash is, as exec looks for it. */
static bool find_in_path(int dir, const char *path, const char *name, char *out)
{
    for (const char *at = path; at && *name; at = *at ? at + 1 : NULL) {
        size_t len = strcspn(at, ":");
        int n = snprintf(out, PATH_MAX, "%.*s%s%s", (int)len, at, len ? "/" : "", name);
        if (n < PATH_MAX && faccessat(dir, out, X_OK, AT_EACCESS) == 0)
            return true;
        at += len;
    }
    return false;
}

static void describe_interpreter(const char *name, const struct script *script,
                                 struct buf *text)
{
    size_t len = strlen(script->interpreter);
    bool ends_in_return = len && script->interpreter[len - 1] == '\r';
    if (ends_in_return)
        buf_format(text,
                   "cannot execute %s: the first line of %s ends with a carriage "
                   "return; save the file with the line ends of Unix (LF)",
                   name, script->file);
    else
        buf_format(text,
                   "cannot execute %s: the interpreter %s that the first line of %s "
                   "names is missing; install it, or correct that line",
                   name, script->interpreter, script->file);
}

/* Exec tells of a missing interpreter in the same words as of a missing command. */
static void describe_not_found(const struct spawn_request *request, const char *name,
                               struct buf *text)
{
    struct script script;
    int dir =
        request->cwd ? open(request->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    snprintf(script.file, sizeof script.file, "%s", name);
    bool found = strchr(name, '/')
                     ? os_is_there(dir, name)
                     : find_in_path(dir, request->path, name, script.file);
    if (!found)
        buf_format(text,
                   "command not found: %s; install it, or correct the name or PATH",
                   name);
    else if (lacks_interpreter(dir, &script))
        describe_interpreter(name, &script, text);
    else
        buf_format(text,
                   "cannot execute %s: it is there, but the interpreter or loader that "
                   "it asks for is missing",
                   name);
    if (dir >= 0)
        close(dir);
}

/* ---- Scripts that a shell, or env, could not start ---- */

static bool ends_with_env(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash && strcmp(slash, "/env") == 0;
}

/* `#!/usr/bin/env NAME`: env looks for it in PATH, and the kernel knows nothing of it.
 */
static bool env_lacks_program(int dir, const char *path, struct script *script)
{
    char file[PATH_MAX];
    if (!path || !ends_with_env(script->interpreter) || script->argument[0] == 0 ||
        script->argument[0] == '-' || strchr(script->argument, '=') ||
        find_in_path(dir, path, script->argument, file))
        return false;
    snprintf(script->interpreter, sizeof script->interpreter, "%s", script->argument);
    return true;
}

/* False: it is not a script, or nothing is wrong with its first line. */
static bool describe_script(int dir, const char *path, struct str word,
                            struct buf *text)
{
    char name[PATH_MAX];
    struct script script, first;
    if (word.len == 0 || word.len >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)word.len, word.ptr);
    memcpy(script.file, name, word.len + 1);
    if (!strchr(name, '/') && !find_in_path(dir, path, name, script.file))
        return false;
    first = script;
    if (lacks_interpreter(dir, &script)) {
        describe_interpreter(name, &script, text);
        return true;
    }
    if (!read_first_line(dir, &first) || !env_lacks_program(dir, path, &first))
        return false;
    describe_interpreter(name, &first, text);
    return true;
}

/* Words that may be commands: the first, and all with a slash. */
static bool describe_words(int dir, const char *path, const char *line,
                           struct buf *text)
{
    static const char ends[] = " \t\n;&|()<>`'\"";
    enum { WORDS = 64 };
    const char *at = line + strspn(line, ends);
    bool found = false;
    for (int i = 0; i < WORDS && *at && !found; i++) {
        struct str word = {at, strcspn(at, ends)};
        if (i == 0 || memchr(word.ptr, '/', word.len))
            found = describe_script(dir, path, word, text);
        at += word.len;
        at += strspn(at, ends);
    }
    return found;
}

void spawn_describe_not_found(const struct spawn_request *request, struct buf *text)
{
    int dir =
        request->cwd ? open(request->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    bool found = false;
    char *const *argv = request->otherwise ? request->otherwise : request->argv;
    for (char *const *argument = argv; argument && *argument && !found; argument++)
        found = describe_words(dir, request->path, *argument, text);
    if (dir >= 0)
        close(dir);
}

void spawn_describe_failure(const struct spawn_request *request, struct buf *text)
{
    const char *name = (request->other ? request->otherwise : request->argv)[0];
    if (request->exit_code == 127)
        describe_not_found(request, name, text);
    else if (request->error == E2BIG)
        buf_format(
            text,
            "cannot execute %s: its arguments and environment together are longer "
            "than the kernel takes (getconf ARG_MAX); names of many files can be read "
            "from the file \"$CAIRN_INPUTS\", if they are declared as `inputs`",
            name);
    else if (request->exit_code == 126)
        buf_format(text, "cannot execute %s: %s; is it executable (chmod +x)?", name,
                   strerrordesc_np(request->error));
    else if (request->stage && strcmp(request->stage, "chdir") == 0)
        buf_format(text, "cannot change to its directory %s: %s",
                   request->cwd ? request->cwd : ".", strerrordesc_np(request->error));
    else
        buf_format(text, "cannot start a process (%s): %s",
                   request->stage ? request->stage : "spawn",
                   strerrordesc_np(request->error));
}

/* What the end of a child means, before the caller has looked at it: may the next one
 * start in its place, and what is noted of it. */

/* What is no file has no bytes for anybody. */
static void look_at_values(struct spawn_end *end, const char *path)
{
    struct stat st;
    if (!path) {
        end->values = VALUES_NONE;
    } else if (lstat(path, &st)) {
        end->values = errno == ENOENT ? VALUES_MISSING : VALUES_UNKNOWN;
    } else if (!S_ISREG(st.st_mode)) {
        end->values = VALUES_NO_FILE;
    } else {
        end->values = st.st_size ? VALUES_SOME : VALUES_NONE;
        end->values_bytes = (uint64_t)st.st_size;
    }
}

static struct spawn_end spawn_end_look(const struct spawn_request *request)
{
    struct spawn_end end = {0};
    end.known = !pidfd_wait(request->pidfd, WNOHANG | WNOWAIT, &end.info, &end.usage) &&
                end.info.si_pid != 0;
    if (end.known)
        look_at_values(&end, request->quiet_file);
    return end;
}

static bool can_be_read(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool can = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
    if (fd >= 0)
        close(fd);
    return can;
}

static bool left_outputs(const char *outputs)
{
    for (; outputs && *outputs; outputs += strlen(outputs) + 1)
        if (!can_be_read(outputs))
            return false;
    return true;
}

/* May the next one start although the caller has not yet looked at this end? */
static bool spawn_end_lets_next_start(const struct spawn_end *end,
                                      const struct spawn_request *request)
{
    if (request->ahead != SPAWN_AHEAD_IF_GOOD)
        return request->ahead == SPAWN_AHEAD;
    return end->known && end->info.si_code == CLD_EXITED && end->info.si_status == 0 &&
           end->values == VALUES_NONE && left_outputs(request->outputs);
}

/* NULL, or an end of which too little is known: nothing is noted. Without its note the
 * attempt is started again if the owner dies before its commit; nothing else depends on
 * it. */
static void spawn_end_note(const struct spawn_end *end,
                           const struct spawn_request *request,
                           const struct end_notes *notes)
{
    const struct slot *slot = request->slot;
    /* The file was there before the start. Where it is gone, the store may have been
     * moved, and what the task wrote by path is nowhere. */
    if (!notes || request->note == NOTE_NONE || !end->known ||
        end->values == VALUES_UNKNOWN || end->values == VALUES_MISSING)
        return;
    bool exited = end->info.si_code == CLD_EXITED;
    struct end_note note = {
        .gen = slot->gen,
        .task = slot->task,
        .attempt = slot->attempt,
        .slot = (uint32_t)(slot - request->slots->slots->slot),
        .flags = atomic_load(&request->note_flags) |
                 (request->otherwise && !request->other ? NOTE_AS_SHELL : 0),
        .exit_code = exited ? end->info.si_status : -1,
        .signal = exited ? 0 : end->info.si_status,
        .started_ns = request->started_ns,
        .ended_ns = request->ended_ns,
        .cpu_us = usage_cpu_us(&end->usage),
        .values_bytes = end->values_bytes,
        .basis = request->basis,
        .inputs = request->inputs};
    (void)end_notes_write(notes, request->note, &note);
}

/* The end of a process. The leader of a group is a zombie until it is reaped here, and
 * as long as it is one its number means nobody else: the group is ended and the slot
 * cleared before that, so the guard never holds a number that may have been given out
 * again. */

static void group_signal(pid_t pid, int signal)
{
    if (pid > 1) /* 0 and 1 would mean everybody */
        (void)kill(-pid, signal);
}

void process_signal(pid_t pid, int signal)
{
    group_signal(pid, signal);
}

/* Until its exec a child counts as using the engine's memory, and the kernel keeps that
 * as its peak. So a figure that is not above the engine's own says nothing: 0. */
static int64_t peak_of(const struct rusage *usage)
{
    struct rusage own;
    if (getrusage(RUSAGE_SELF, &own) || usage->ru_maxrss <= own.ru_maxrss)
        return 0;
    return usage->ru_maxrss;
}

int process_reap(pid_t pid, int pidfd, struct slot *slot, struct process_end *end,
                 struct cairn_error *error)
{
    siginfo_t info;
    struct rusage usage;
    assert(pid > 1);
    int sys = pidfd_wait(pidfd, WNOHANG | WNOWAIT, &info, NULL);
    if (!sys && info.si_pid == 0)
        return error_set(error, CAIRN_EIO, "process %d has not ended yet", (int)pid);
    if (!sys)
        group_signal(pid, SIGKILL);
    if (slot)
        atomic_store(&slot->pid, 0);
    if (!sys)
        sys = pidfd_wait(pidfd, 0, &info, &usage);
    close(pidfd);
    /* What the signal has reached is there until somebody has collected it. */
    bool left_behind = !sys && (kill(-pid, 0) == 0 || errno == EPERM);
    if (sys)
        return error_sys(error, sys,
                         "the end of process %d was collected by somebody else (does "
                         "this program ignore SIGCHLD or wait for any child?)",
                         (int)pid);
    end->left_behind = left_behind;
    end->exit_code = info.si_code == CLD_EXITED ? info.si_status : -1;
    end->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    end->cpu_us = usage_cpu_us(&usage);
    end->peak_kib = peak_of(&usage);
    return 0;
}

/* The spawner: threads that start every process of an engine.
 *
 * They are threads of their own for two reasons: the parent-death signal fires when the
 * *thread* that made the child ends, so that thread must outlive all children; and the
 * engine's loop must not stand still while the kernel loads a program.
 *
 *   spawner_submit -> waiting -> (a worker: clone, exec) -> news -> spawner_collect
 *                                            (its end) -> news -> spawner_collect
 *
 * With a limit a worker also watches for the ends of its children, so that the seat
 * of one that ended well is filled at once, while the caller still records that end.
 * The seat of one whose end the caller must look at first stays taken until then.
 * There are several workers, so that none has to wait until another's child has loaded
 * its program, and each fills its own seats, so that the kernel mostly wakes it on the
 * processor that its child has just left.
 * The caller has other work: while enough is waiting here, it may ask not to be woken
 * (spawner_rest) and hears of many starts and ends at once. */

#define WAKE UINT64_MAX /* marks wake_fd among the watched */

struct queue {
    struct spawn_request *first, **end;
};

/* The states of a seat; a worker that is starting a process has counted it in `alive`
 * before it has a seat.
 *
 *   free -> running (taken, request) -> ended (taken, no request) -> free
 *             the child ended well, or spawner_go_on ------------->
 *
 * The seat of a child: until its end, or until spawner_go_on. The request may be
 * another one's by then. */
struct seat {
    bool taken;
    uint64_t ticket;
    struct spawn_request *request; /* until it has ended */
};

struct worker {
    struct spawner *spawner;
    pthread_t thread;
    struct seat *seats;       /* [limit] */
    uint32_t limit, alive;    /* its share; under the mutex, as its seats */
    bool spawning;            /* stands still in it, and looks for more behind it */
    int wake_fd;              /* something is waiting, or stopping */
    int watch_fd;             /* epoll: wake_fd, and the pidfds of all in seats */
    struct child_stack stack; /* each child is done with it at its exec */
};

struct spawner {
    pthread_mutex_t mutex; /* guards all from here ... */
    struct queue waiting, news;
    uint32_t n_waiting, low;
    enum spawner_rest rest;  /* of the caller, while at least `low` are waiting */
    bool stopping, woken;    /* ... to here */
    pthread_mutex_t keeping; /* guards keepers */
    struct keeper_maker keepers;
    int event_fd; /* to the caller: there is news */
    int null_fd;
    const struct end_notes *notes; /* NULL: none */
    uint32_t n_workers;            /* those that run */
    struct worker *workers;
};

static void assert_seats(const struct worker *worker)
{
    assert(!worker->limit || worker->alive <= worker->limit);
    assert(worker->limit || !worker->alive);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void queue_init(struct queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

static void queue_add(struct queue *queue, struct spawn_request *request)
{
    request->link = NULL;
    *queue->end = request;
    queue->end = &request->link;
}

static struct spawn_request *queue_take(struct queue *queue)
{
    struct spawn_request *request = queue->first;
    if (request) {
        queue->first = request->link;
        if (!queue->first)
            queue->end = &queue->first;
        request->link = NULL;
    }
    return request;
}

/* Under the mutex. The caller is woken unless it rests deeply enough. */
static void report_to_caller(struct spawner *spawner, struct spawn_request *request,
                             enum spawner_rest waits_for)
{
    if (!request->listed) {
        request->listed = true;
        queue_add(&spawner->news, request);
    }
    if (spawner->woken ||
        (waits_for && spawner->rest >= waits_for && spawner->n_waiting >= spawner->low))
        return;
    spawner->woken = true;
    /* It can only fail when the counter is full, and then it is readable. */
    (void)eventfd_write(spawner->event_fd, 1);
}

/* The child said why it could not exec; nobody else has heard of it yet. */
static void forget_child(struct spawn_request *request, pid_t pid)
{
    if (request->slot)
        atomic_store(&request->slot->pid, 0);
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    close(request->pidfd);
    request->pidfd = -1;
}

/* They share an epoch and an image, which the first one makes. */
static pid_t clone_keeper(struct worker *worker, struct spawn_request *request)
{
    struct spawner *spawner = worker->spawner;
    pthread_mutex_lock(&spawner->keeping);
    pid_t pid =
        keeper_clone(&spawner->keepers, &worker->stack, request, spawner->null_fd);
    pthread_mutex_unlock(&spawner->keeping);
    return pid;
}

static void start_process(struct worker *worker, struct spawn_request *request)
{
    struct task_job job = {request, worker->spawner->null_fd, getpid()};
    request->pid = 0;
    request->pidfd = -1;
    request->error = 0;
    request->exit_code = 0;
    request->stage = NULL;
    request->other = false;
    request->started_ns = clock_utc_ns();
    if (request->slot) {
        request->slot->spawn_boot_ns = clock_boot_ns();
        request->slot->flags = request->keep ? SLOT_KEPT : 0;
        request->slot->started_ns = request->started_ns;
        request->slot->used = 1;
    }
    pid_t pid = request->keep
                    ? clone_keeper(worker, request)
                    : child_clone(&worker->stack, child_task, &job, &request->pidfd);
    if (pid < 0) {
        request->error = -pid;
        request->exit_code = -1;
        request->stage = "clone";
        request->pidfd = -1;
    } else if (request->error) {
        if (pid)
            forget_child(request, pid);
    } else {
        request->pid = pid;
        if (request->slots)
            slots_tell(request->slots, request->slot);
    }
}

/* A child that could not be made keeps its seat, too, until the caller has heard of
 * it, unless the next one may start whatever comes. One that cannot be watched does so
 * until the caller has seen its end. */
static void take_seat(struct worker *worker, struct spawn_request *request)
{
    uint32_t i = 0;
    bool made = request->pidfd >= 0;
    if (!worker->limit)
        return;
    if (!made && request->ahead == SPAWN_AHEAD) {
        worker->alive--;
        return;
    }
    while (worker->seats[i].taken) { /* one is free: alive counts this child */
        i++;
        assert(i < worker->limit);
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = i};
    request->watched =
        made && !epoll_ctl(worker->watch_fd, EPOLL_CTL_ADD, request->pidfd, &event);
    worker->seats[i] = (struct seat){true, request->ticket, request};
}

static void finish_start(struct worker *worker, struct spawn_request *request)
{
    pthread_mutex_lock(&worker->spawner->mutex);
    take_seat(worker, request);
    worker->spawning = false;
    report_to_caller(worker->spawner, request,
                     request->watched ? REST_STARTS : REST_NOT);
    pthread_mutex_unlock(&worker->spawner->mutex);
}

static void free_seat(struct worker *worker, struct seat *seat)
{
    assert(seat->taken && worker->alive > 0);
    seat->taken = false;
    worker->alive--;
    assert_seats(worker);
}

static void child_ended(struct worker *worker, struct seat *seat)
{
    struct spawn_request *request = seat->request;
    struct spawn_end end = spawn_end_look(request);
    bool well = spawn_end_lets_next_start(&end, request);
    request->ended_ns = clock_utc_ns();
    spawn_end_note(&end, request, worker->spawner->notes);
    pthread_mutex_lock(&worker->spawner->mutex);
    seat->request = NULL;
    request->over = true;
    if (well)
        free_seat(worker, seat);
    report_to_caller(worker->spawner, request, well ? REST_ENDS : REST_NOT);
    pthread_mutex_unlock(&worker->spawner->mutex);
}

static void wait_for_change(struct worker *worker)
{
    struct epoll_event events[16];
    int n = epoll_wait(worker->watch_fd, events, 16, -1);
    for (int i = 0; i < n; i++) {
        eventfd_t count;
        if (events[i].data.u64 == WAKE)
            (void)eventfd_read(worker->wake_fd, &count);
        else
            child_ended(worker, &worker->seats[events[i].data.u64]);
    }
}

static bool has_room(const struct worker *worker)
{
    return !worker->limit || worker->alive < worker->limit;
}

/* Under the mutex: who is to be woken for what is waiting; NULL: nobody. The first one
 * that can, so that the same is used again while there is little to do. */
static struct worker *find_idle(struct spawner *spawner)
{
    for (uint32_t i = 0; i < spawner->n_workers; i++) {
        struct worker *worker = &spawner->workers[i];
        if (!worker->spawning && has_room(worker))
            return worker;
    }
    return NULL;
}

static void wake_worker(struct worker *worker)
{
    if (worker)
        (void)eventfd_write(worker->wake_fd, 1);
}

/* Waits for a request that may be started now; NULL: stop. While anything is waiting
 * and anyone has a free seat, one of those who have is awake: so who takes wakes the
 * next. */
static struct spawn_request *next_request(struct worker *worker)
{
    struct spawner *spawner = worker->spawner;
    for (;;) {
        struct spawn_request *request = NULL;
        struct worker *idle = NULL;
        pthread_mutex_lock(&spawner->mutex);
        bool stopping = spawner->stopping;
        if (!stopping && has_room(worker))
            request = queue_take(&spawner->waiting);
        if (request) {
            assert(spawner->n_waiting > 0 && !worker->spawning);
            spawner->n_waiting--;
            worker->alive += worker->limit > 0;
            assert_seats(worker);
            worker->spawning = true;
            idle = spawner->waiting.first ? find_idle(spawner) : NULL;
        }
        pthread_mutex_unlock(&spawner->mutex);
        wake_worker(idle);
        if (request || stopping)
            return request;
        wait_for_change(worker);
    }
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct spawn_request *request;
    (void)pthread_setname_np(pthread_self(), "cairn-spawner");
    while ((request = next_request(worker))) {
        start_process(worker, request);
        finish_start(worker, request);
    }
    return NULL;
}

static void worker_release(struct worker *worker)
{
    free(worker->seats);
    close_fd(worker->wake_fd);
    close_fd(worker->watch_fd);
    child_stack_release(&worker->stack);
}

/* A thread inherits the mask of its maker. */
static int start_thread(struct worker *worker)
{
    sigset_t all, old;
    sigfillset(&all);
    int sys = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (sys)
        return sys;
    sys = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return sys;
}

static int worker_open(struct worker *worker, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE};
    worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    worker->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (worker->wake_fd < 0 || worker->watch_fd < 0 ||
        epoll_ctl(worker->watch_fd, EPOLL_CTL_ADD, worker->wake_fd, &event))
        return error_sys(error, errno, "descriptors for starting processes");
    worker->seats = calloc((size_t)worker->limit + 1, sizeof *worker->seats);
    if (!worker->seats)
        return error_nomem(error);
    return child_stack_init(&worker->stack, error);
}

static int worker_start(struct spawner *spawner, uint32_t share,
                        struct cairn_error *error)
{
    struct worker *worker = &spawner->workers[spawner->n_workers];
    *worker = (struct worker){
        .spawner = spawner, .limit = share, .wake_fd = -1, .watch_fd = -1};
    int rc = worker_open(worker, error), sys = rc ? 0 : start_thread(worker);
    if (sys)
        rc = error_sys(error, sys, "a thread that starts processes");
    if (rc)
        worker_release(worker);
    else
        spawner->n_workers++;
    return rc;
}

/* Each has two descriptors, of which a process may have few. */
static uint32_t count_workers(uint32_t limit)
{
    enum { WORKERS_MOST = 8 };
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n > WORKERS_MOST)
        n = WORKERS_MOST;
    if (n > (long)limit)
        n = (long)limit;
    return n < 1 ? 1 : (uint32_t)n;
}

static int start_with(struct spawner **out, uint32_t limit, uint32_t n,
                      const struct end_notes *notes, struct cairn_error *error)
{
    struct spawner *spawner = calloc(1, sizeof *spawner);
    if (!spawner)
        return error_nomem(error);
    pthread_mutex_init(&spawner->mutex, NULL); /* cannot fail on Linux */
    pthread_mutex_init(&spawner->keeping, NULL);
    queue_init(&spawner->waiting);
    queue_init(&spawner->news);
    spawner->keepers.image_fd = -1;
    spawner->notes = notes;
    spawner->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    spawner->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    spawner->workers = calloc(n, sizeof *spawner->workers);
    int rc = spawner->event_fd < 0  ? error_sys(error, errno, "an eventfd")
             : spawner->null_fd < 0 ? error_sys(error, errno, "/dev/null")
             : !spawner->workers    ? error_nomem(error)
                                    : 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = worker_start(spawner, limit / n + (i < limit % n), error);
    if (rc) {
        spawner_stop(spawner);
        return rc;
    }
    *out = spawner;
    return 0;
}

/* One worker does as well, only later. */
int spawner_start(struct spawner **out, uint32_t limit, const struct end_notes *notes,
                  struct cairn_error *error)
{
    uint32_t n = count_workers(limit);
    int rc = start_with(out, limit, n, notes, error);
    return rc && n > 1 ? start_with(out, limit, 1, notes, error) : rc;
}

void spawner_stop(struct spawner *spawner)
{
    if (!spawner)
        return;
    pthread_mutex_lock(&spawner->mutex);
    spawner->stopping = true;
    pthread_mutex_unlock(&spawner->mutex);
    for (uint32_t i = 0; i < spawner->n_workers; i++)
        wake_worker(&spawner->workers[i]);
    for (uint32_t i = 0; i < spawner->n_workers; i++) {
        pthread_join(spawner->workers[i].thread, NULL);
        worker_release(&spawner->workers[i]);
    }
    free(spawner->workers);
    close_fd(spawner->event_fd);
    close_fd(spawner->null_fd);
    close_fd(spawner->keepers.image_fd);
    pthread_mutex_destroy(&spawner->keeping);
    pthread_mutex_destroy(&spawner->mutex);
    free(spawner);
}

int spawner_fd(const struct spawner *spawner)
{
    return spawner->event_fd;
}

void spawner_rest(struct spawner *spawner, enum spawner_rest rest, uint32_t low)
{
    pthread_mutex_lock(&spawner->mutex);
    spawner->rest = rest;
    spawner->low = low;
    pthread_mutex_unlock(&spawner->mutex);
}

static bool free_seat_of(struct worker *worker, uint64_t ticket)
{
    for (uint32_t i = 0; i < worker->limit; i++) {
        struct seat *seat = &worker->seats[i];
        if (seat->taken && seat->ticket == ticket) {
            free_seat(worker, seat);
            return true;
        }
    }
    return false;
}

void spawner_go_on(struct spawner *spawner, uint64_t ticket)
{
    uint32_t i = 0;
    pthread_mutex_lock(&spawner->mutex);
    while (i < spawner->n_workers && !free_seat_of(&spawner->workers[i], ticket))
        i++;
    bool more = i < spawner->n_workers && spawner->waiting.first;
    pthread_mutex_unlock(&spawner->mutex);
    if (more)
        wake_worker(&spawner->workers[i]);
}

void spawner_recall(struct spawner *spawner)
{
    struct spawn_request *request;
    struct queue stay;
    queue_init(&stay);
    pthread_mutex_lock(&spawner->mutex);
    while ((request = queue_take(&spawner->waiting))) {
        if (!request->may_recall) {
            queue_add(&stay, request);
            continue;
        }
        request->pid = 0;
        request->pidfd = -1;
        request->error = ECANCELED;
        request->exit_code = -1;
        request->stage = "recall";
        spawner->n_waiting--;
        report_to_caller(spawner, request, REST_NOT);
    }
    spawner->waiting = stay;
    if (!stay.first)
        queue_init(&spawner->waiting);
    pthread_mutex_unlock(&spawner->mutex);
}

void spawner_submit(struct spawner *spawner, struct spawn_request *request)
{
    request->watched = request->ended = request->listed = request->over = false;
    pthread_mutex_lock(&spawner->mutex);
    queue_add(&spawner->waiting, request);
    spawner->n_waiting++;
    struct worker *worker = find_idle(spawner);
    pthread_mutex_unlock(&spawner->mutex);
    wake_worker(worker);
}

struct spawn_request *spawner_collect(struct spawner *spawner)
{
    /* First the counter, then the list: what is added in between is taken, too. */
    eventfd_t count;
    (void)eventfd_read(spawner->event_fd, &count); /* EAGAIN: there is no news */
    pthread_mutex_lock(&spawner->mutex);
    struct spawn_request *news = spawner->news.first;
    for (struct spawn_request *at = news; at; at = at->link) {
        at->next = at->link; /* which the thread may need again at once */
        at->listed = false;
        at->ended = at->over;
    }
    queue_init(&spawner->news);
    spawner->rest = REST_NOT;
    spawner->woken = false;
    pthread_mutex_unlock(&spawner->mutex);
    return news;
}
