/* The spawner: one thread that starts every process of an engine, one after the other.
 *
 * It is a thread of its own for two reasons: the parent-death signal fires when the
 * *thread* that made the child ends, so that thread must outlive all children; and the
 * engine's loop must not stand still while the kernel loads a program.
 *
 *   spawner_submit -> waiting -> (thread: clone, exec) -> news -> spawner_collect
 *                                         (its end) -> news -> spawner_collect
 *
 * With a limit the thread also watches for the ends of its children, so that the place
 * of one that ended well is filled at once, while the caller still records that end.
 * The place of one whose end the caller must look at first stays taken until then.
 * The caller has a good many other things to do: while enough is waiting here, it may
 * ask not to be woken (spawner_rest) and hears of many starts and ends at once. */
#include "executor/spawn_int.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define WAKE UINT64_MAX /* marks wake_fd among the watched */

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

struct queue {
    struct spawn_request *first, **end;
};

/* The place of a child: until its end, or until spawner_go_on. The request may be
 * another one's by then. */
struct place {
    bool taken;
    uint64_t ticket;
    struct spawn_request *request; /* until it has ended */
};

struct spawner {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all from here ... */
    struct queue waiting, news;
    uint32_t n_waiting, low;
    enum spawner_rest rest; /* of the caller, while at least `low` are waiting */
    bool stopping, told;
    struct place *places;  /* [limit] */
    uint32_t limit, alive; /* ... to here */
    int event_fd;          /* to the caller: there is news */
    int wake_fd;           /* to the thread: something is waiting, or stopping */
    int watch_fd;          /* epoll: wake_fd, and the pidfds of all in places */
    int null_fd;
    struct keeper_maker keepers;
    struct child_stack stack; /* the thread's; each child is done with it at its exec */
};

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
static void tell(struct spawner *spawner, struct spawn_request *request,
                 enum spawner_rest waits_for)
{
    if (!request->listed) {
        request->listed = true;
        queue_add(&spawner->news, request);
    }
    if (spawner->told ||
        (waits_for && spawner->rest >= waits_for && spawner->n_waiting >= spawner->low))
        return;
    spawner->told = true;
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

static void spawn(struct spawner *spawner, struct spawn_request *request)
{
    struct task_job job = {request, spawner->null_fd, getpid()};
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
                    ? keeper_clone(&spawner->keepers, &spawner->stack, request,
                                   spawner->null_fd)
                    : child_clone(&spawner->stack, child_task, &job, &request->pidfd);
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

/* A child that could not be made keeps its place, too, until the caller has heard of
 * it, unless the next one may start whatever comes. One that cannot be watched does so
 * until the caller has seen its end. */
static void take_place(struct spawner *spawner, struct spawn_request *request)
{
    uint32_t i = 0;
    bool made = request->pidfd >= 0;
    if (!spawner->limit || (!made && request->ahead == SPAWN_AHEAD))
        return;
    while (spawner->places[i].taken) /* there is one: alive < limit */
        i++;
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = i};
    request->watched =
        made && !epoll_ctl(spawner->watch_fd, EPOLL_CTL_ADD, request->pidfd, &event);
    spawner->places[i] = (struct place){true, request->ticket, request};
    spawner->alive++;
}

static void spawned(struct spawner *spawner, struct spawn_request *request)
{
    pthread_mutex_lock(&spawner->mutex);
    take_place(spawner, request);
    tell(spawner, request, request->watched ? REST_STARTS : REST_NOT);
    pthread_mutex_unlock(&spawner->mutex);
}

static void free_place(struct spawner *spawner, struct place *place)
{
    place->taken = false;
    spawner->alive--;
}

static bool can_be_read(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool can = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
    close_fd(fd);
    return can;
}

static bool left_files(const struct spawn_request *request)
{
    struct stat st;
    const char *quiet = request->quiet_file, *output = request->outputs;
    if (quiet && (lstat(quiet, &st) || st.st_size || !S_ISREG(st.st_mode)))
        return false;
    while (output && *output) {
        if (!can_be_read(output))
            return false;
        output += strlen(output) + 1;
    }
    return true;
}

/* May the next one start although the caller has not yet looked at this end? */
static bool ended_well(const struct spawn_request *request)
{
    siginfo_t info = {0};
    if (request->ahead != SPAWN_AHEAD_IF_GOOD)
        return request->ahead == SPAWN_AHEAD;
    if (waitid(P_PIDFD, (id_t)request->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) ||
        info.si_pid == 0 || info.si_code != CLD_EXITED || info.si_status != 0)
        return false;
    return left_files(request);
}

static void child_ended(struct spawner *spawner, struct place *place)
{
    struct spawn_request *request = place->request;
    bool well = ended_well(request);
    request->ended_ns = clock_utc_ns();
    pthread_mutex_lock(&spawner->mutex);
    place->request = NULL;
    request->over = true;
    if (well)
        free_place(spawner, place);
    tell(spawner, request, well ? REST_ENDS : REST_NOT);
    pthread_mutex_unlock(&spawner->mutex);
}

static void wait_for_change(struct spawner *spawner)
{
    struct epoll_event events[16];
    int n = epoll_wait(spawner->watch_fd, events, 16, -1);
    for (int i = 0; i < n; i++) {
        eventfd_t count;
        if (events[i].data.u64 == WAKE)
            (void)eventfd_read(spawner->wake_fd, &count);
        else
            child_ended(spawner, &spawner->places[events[i].data.u64]);
    }
}

/* Waits for a request that may be started now; NULL: stop. */
static struct spawn_request *next_request(struct spawner *spawner)
{
    for (;;) {
        struct spawn_request *request = NULL;
        pthread_mutex_lock(&spawner->mutex);
        bool stopping = spawner->stopping;
        if (!stopping && (!spawner->limit || spawner->alive < spawner->limit))
            request = queue_take(&spawner->waiting);
        spawner->n_waiting -= request != NULL;
        pthread_mutex_unlock(&spawner->mutex);
        if (request || stopping)
            return request;
        wait_for_change(spawner);
    }
}

static void *spawner_main(void *arg)
{
    struct spawner *spawner = arg;
    struct spawn_request *request;
    (void)pthread_setname_np(pthread_self(), "cairn-spawner");
    while ((request = next_request(spawner))) {
        spawn(spawner, request);
        spawned(spawner, request);
    }
    return NULL;
}

static void spawner_free(struct spawner *spawner)
{
    free(spawner->places);
    close_fd(spawner->event_fd);
    close_fd(spawner->wake_fd);
    close_fd(spawner->watch_fd);
    close_fd(spawner->null_fd);
    close_fd(spawner->keepers.image_fd);
    child_stack_release(&spawner->stack);
    pthread_mutex_destroy(&spawner->mutex);
    free(spawner);
}

static int open_all(struct spawner *spawner, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE};
    spawner->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    spawner->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    spawner->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (spawner->event_fd < 0 || spawner->wake_fd < 0 || spawner->watch_fd < 0 ||
        epoll_ctl(spawner->watch_fd, EPOLL_CTL_ADD, spawner->wake_fd, &event))
        return error_sys(error, errno, "descriptors for starting processes");
    spawner->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (spawner->null_fd < 0)
        return error_sys(error, errno, "/dev/null");
    return child_stack_init(&spawner->stack, error);
}

/* A thread inherits the mask of its maker. */
static int start_thread(struct spawner *spawner)
{
    sigset_t all, old;
    sigfillset(&all);
    int sys = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (sys)
        return sys;
    sys = pthread_create(&spawner->thread, NULL, spawner_main, spawner);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return sys;
}

int spawner_start(struct spawner **out, struct cairn_error *error)
{
    struct spawner *spawner = calloc(1, sizeof *spawner);
    if (!spawner)
        return error_nomem(error);
    pthread_mutex_init(&spawner->mutex, NULL); /* cannot fail on Linux */
    queue_init(&spawner->waiting);
    queue_init(&spawner->news);
    spawner->event_fd = spawner->wake_fd = spawner->watch_fd = spawner->null_fd = -1;
    spawner->keepers.image_fd = -1;
    int code = open_all(spawner, error);
    if (!code) {
        int sys = start_thread(spawner);
        if (sys)
            code = error_sys(error, sys, "the thread that starts processes");
    }
    if (code) {
        spawner_free(spawner);
        return code;
    }
    *out = spawner;
    return 0;
}

void spawner_stop(struct spawner *spawner)
{
    if (!spawner)
        return;
    pthread_mutex_lock(&spawner->mutex);
    spawner->stopping = true;
    pthread_mutex_unlock(&spawner->mutex);
    (void)eventfd_write(spawner->wake_fd, 1);
    pthread_join(spawner->thread, NULL);
    spawner_free(spawner);
}

int spawner_fd(const struct spawner *spawner)
{
    return spawner->event_fd;
}

int spawner_limit(struct spawner *spawner, uint32_t n, struct cairn_error *error)
{
    struct place *places = calloc((size_t)n + 1, sizeof *places);
    if (!places)
        return error_nomem(error);
    /* The thread looks at these only when it has a request; the mutex orders that. */
    pthread_mutex_lock(&spawner->mutex);
    free(spawner->places);
    spawner->places = places;
    spawner->limit = n;
    pthread_mutex_unlock(&spawner->mutex);
    return 0;
}

void spawner_rest(struct spawner *spawner, enum spawner_rest rest, uint32_t low)
{
    pthread_mutex_lock(&spawner->mutex);
    spawner->rest = rest;
    spawner->low = low;
    pthread_mutex_unlock(&spawner->mutex);
}

void spawner_go_on(struct spawner *spawner, uint64_t ticket)
{
    bool freed = false;
    pthread_mutex_lock(&spawner->mutex);
    for (uint32_t i = 0; i < spawner->limit && !freed; i++) {
        struct place *place = &spawner->places[i];
        freed = place->taken && place->ticket == ticket;
        if (freed)
            free_place(spawner, place);
    }
    freed = freed && spawner->waiting.first;
    pthread_mutex_unlock(&spawner->mutex);
    if (freed)
        (void)eventfd_write(spawner->wake_fd, 1);
}

void spawner_recall(struct spawner *spawner)
{
    struct spawn_request *request;
    struct queue kept;
    queue_init(&kept);
    pthread_mutex_lock(&spawner->mutex);
    while ((request = queue_take(&spawner->waiting))) {
        if (!request->may_recall) {
            queue_add(&kept, request);
            continue;
        }
        request->pid = 0;
        request->pidfd = -1;
        request->error = ECANCELED;
        request->exit_code = -1;
        request->stage = "recall";
        spawner->n_waiting--;
        tell(spawner, request, REST_NOT);
    }
    spawner->waiting = kept;
    if (!kept.first)
        queue_init(&spawner->waiting);
    pthread_mutex_unlock(&spawner->mutex);
}

void spawner_submit(struct spawner *spawner, struct spawn_request *request)
{
    request->watched = request->ended = request->listed = request->over = false;
    pthread_mutex_lock(&spawner->mutex);
    queue_add(&spawner->waiting, request);
    spawner->n_waiting++;
    bool wake = !spawner->limit || spawner->alive < spawner->limit;
    pthread_mutex_unlock(&spawner->mutex);
    if (wake)
        (void)eventfd_write(spawner->wake_fd, 1);
}

struct spawn_request *spawner_collect(struct spawner *spawner)
{
    /* First the counter, then the list: what is added in between is taken, too. */
    eventfd_t count;
    (void)eventfd_read(spawner->event_fd, &count); /* EAGAIN: nothing to be told */
    pthread_mutex_lock(&spawner->mutex);
    struct spawn_request *news = spawner->news.first;
    for (struct spawn_request *at = news; at; at = at->link) {
        at->next = at->link; /* which the thread may need again at once */
        at->listed = false;
        at->ended = at->over;
    }
    queue_init(&spawner->news);
    spawner->rest = REST_NOT;
    spawner->told = false;
    pthread_mutex_unlock(&spawner->mutex);
    return news;
}
