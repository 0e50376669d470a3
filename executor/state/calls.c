/* SPDX-License-Identifier: MIT */
/* Callbacks on threads. One lock guards all of it: it is held for some instructions,
 * never while a callback runs. */
#include "executor/state/calls.h"

#include "executor/state/engine.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "plan/stop.h"
#include "runs/values.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* A quick callback counts one, a slow one takes some of them back: not all, since on a
 * busy machine any of them may lose its processor for a moment. */
enum { QUICK_NS = 50000, SLOW_NS = 1000000 };

enum { QUICK_ENOUGH = 16, QUICK_MOST = 32, SLOW_COSTS = 8 };

/* Who may still use an attempt. */
enum {
    HELD_BY_RUN = 1,      /* until it is collected and released, or left */
    HELD_BY_CALLBACK = 2, /* until the callback has returned */
    HELD_BY_PROGRAM = 4   /* until it is finished */
};

struct set_value {
    char *name, *value;
};

struct cairn_attempt {
    struct call_threads *threads;
    struct cairn_attempt *next;
    struct call_order order; /* its strings are not used */
    uint8_t held;
    bool finished, left;
    _Atomic bool stopped;
    enum cairn_outcome outcome;
    char *text;
    struct set_value *values; /* [n_values] under the lock until it is finished */
    uint32_t n_values;
    size_t values_capacity, values_bytes;
    struct arena arena;          /* of the needs, which do not change */
    struct call_need *needs;     /* [order.n_needs] */
    struct key_value *arguments; /* [order.n_arguments] */
    char task[];
};

struct call_thread {
    pthread_t id;
    struct call_threads *threads;
    struct cairn_attempt *current;
    struct call_thread *next;
    bool detached;
};

struct call_threads {
    pthread_mutex_t lock;
    pthread_cond_t wanted; /* a queued call, or the end */
    struct cairn_attempt *queue, **queue_end;
    struct cairn_attempt *finished, **finished_end;
    _Atomic bool any_finished;
    struct call_thread *all;
    _Atomic uint32_t users; /* engine, threads, attempts */
    uint32_t n_idle, n_queued;
    bool closed;
    int fd;
    pid_t pid;
    _Atomic uint32_t *same_process; /* 1, and 0 in a child; NULL: the kernel cannot */
    _Atomic uint32_t n_quick;
    /* Of those that are not parallel: the one that runs, and how many have not returned. */
    struct cairn_attempt *lone;
    _Atomic uint32_t n_lone;
};

/* ---- Lifetime ---- */

static int set_value(struct cairn_attempt *attempt, const char *name, const char *value,
                     struct cairn_error *error);

static void drop_user(struct call_threads *t)
{
    if (atomic_fetch_sub(&t->users, 1) > 1)
        return;
    if (t->same_process)
        munmap(t->same_process, sizeof *t->same_process);
    close(t->fd);
    pthread_cond_destroy(&t->wanted);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void free_attempt(struct cairn_attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->n_values; i++) {
        free(attempt->values[i].name);
        free(attempt->values[i].value);
    }
    free(attempt->values);
    free(attempt->text);
    arena_release(&attempt->arena);
    free(attempt);
}

/* Under the lock, which it gives back. */
static void drop_attempt(struct cairn_attempt *attempt, unsigned holders)
{
    struct call_threads *t = attempt->threads;
    attempt->held &= (uint8_t)~holders;
    bool last = !attempt->held;
    pthread_mutex_unlock(&t->lock);
    if (!last)
        return;
    free_attempt(attempt);
    drop_user(t);
}

/* A page that the kernel clears in every child: asking costs no system call. */
static void mark_process(struct call_threads *t)
{
    void *page = mmap(NULL, sizeof *t->same_process, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    t->pid = getpid();
    if (page == MAP_FAILED)
        return;
    if (madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK)) {
        munmap(page, sizeof *t->same_process);
        return;
    }
    t->same_process = page;
    *t->same_process = 1;
}

static int call_threads_open(struct call_threads **out, struct cairn_error *error)
{
    struct call_threads *t = calloc(1, sizeof *t);
    if (!t)
        return error_nomem(error);
    t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->fd < 0) {
        int saved = errno;
        free(t);
        return error_sys(error, saved, "cannot make a descriptor");
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wanted, NULL);
    t->queue_end = &t->queue;
    t->finished_end = &t->finished;
    t->users = 1;
    mark_process(t);
    *out = t;
    return 0;
}

int call_threads_fd(const struct call_threads *threads)
{
    return threads->fd;
}

/* Takes what can be joined off the list. The thread of a callback that was left behind
 * frees itself. */
static struct call_thread *take_joinable(struct call_threads *t)
{
    struct call_thread *joinable = NULL, **at = &t->all;
    while (*at) {
        struct call_thread *thread = *at;
        if (thread->current && thread->current->left) {
            pthread_detach(thread->id);
            thread->detached = true;
            at = &thread->next;
            continue;
        }
        *at = thread->next;
        thread->next = joinable;
        joinable = thread;
    }
    return joinable;
}

/* Waits until the threads have ended, but for those in callbacks that were left behind.
 * NULL is allowed. */
static void call_threads_close(struct call_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->closed = true;
    pthread_cond_broadcast(&t->wanted);
    struct call_thread *thread = take_joinable(t);
    pthread_mutex_unlock(&t->lock);
    while (thread) {
        struct call_thread *next = thread->next;
        pthread_join(thread->id, NULL);
        free(thread);
        thread = next;
    }
    drop_user(t);
}

/* ---- Running callbacks ---- */

/* A child that a callback forked has one thread of this process, and what the others
 * were just changing. It must not go on with the run. */
static bool is_forked_child(const struct call_threads *t)
{
    return t->same_process ? !*t->same_process : getpid() != t->pid;
}

/* Under the lock. */
static void notify_engine(struct call_threads *t)
{
    uint64_t one = 1;
    ssize_t written = write(t->fd, &one, sizeof one);
    (void)written; /* fails only when the counter is full, and then it is readable */
}

/* Under the lock. */
static void finish(struct cairn_attempt *attempt, enum cairn_outcome outcome,
                   const char *text)
{
    struct call_threads *t = attempt->threads;
    attempt->finished = true;
    attempt->outcome = outcome;
    if (text) {
        free(attempt->text);
        attempt->text = strdup(text); /* without memory: no message */
    }
    if (!(attempt->held & HELD_BY_RUN))
        return;
    attempt->next = NULL;
    *t->finished_end = attempt;
    t->finished_end = &attempt->next;
    t->any_finished = true;
    notify_engine(t);
}

static void count_quick(struct call_threads *t, int64_t took_ns)
{
    uint32_t n = t->n_quick;
    if (took_ns < QUICK_NS)
        n += n < QUICK_MOST;
    else if (took_ns >= SLOW_NS)
        n -= n < SLOW_COSTS ? n : SLOW_COSTS;
    t->n_quick = n;
}

static enum cairn_outcome call(struct cairn_attempt *attempt)
{
    enum { STATUS_FORKED = 126 };
    struct call_threads *t = attempt->threads;
    int64_t start_ns = clock_mono_ns();
    enum cairn_outcome outcome = attempt->order.call(attempt->order.context, attempt);
    if (is_forked_child(t))
        _exit(STATUS_FORKED);
    count_quick(t, clock_mono_ns() - start_ns);
    return outcome;
}

static void run_queued(struct call_thread *thread, struct cairn_attempt *attempt)
{
    struct call_threads *t = thread->threads;
    enum cairn_outcome outcome = call(attempt);
    unsigned holders = HELD_BY_CALLBACK;
    pthread_mutex_lock(&t->lock);
    thread->current = NULL;
    if (t->lone == attempt) {
        t->lone = NULL;
        t->n_lone--;
        notify_engine(t); /* the next one may start */
    }
    if (outcome != CAIRN_LATER) {
        holders |= HELD_BY_PROGRAM;
        if (!attempt->finished)
            finish(attempt, outcome, NULL);
    }
    drop_attempt(attempt, holders);
}

/* Under the lock. The first that may run now. */
static struct cairn_attempt *take_queued(struct call_threads *t)
{
    struct cairn_attempt **at = &t->queue, *attempt;
    while (*at && t->lone && !(*at)->order.parallel && !(*at)->left)
        at = &(*at)->next;
    attempt = *at;
    if (!attempt)
        return NULL;
    *at = attempt->next;
    if (t->queue_end == &attempt->next)
        t->queue_end = at;
    t->n_queued--;
    if (!attempt->order.parallel && !attempt->left)
        t->lone = attempt;
    return attempt;
}

/* Under the lock, which it gives back. */
static void serve(struct call_thread *thread, struct cairn_attempt *attempt)
{
    if (attempt->left) {
        thread->threads->n_lone -= !attempt->order.parallel;
        drop_attempt(attempt, HELD_BY_CALLBACK | HELD_BY_PROGRAM);
        return;
    }
    thread->current = attempt;
    pthread_mutex_unlock(&thread->threads->lock);
    run_queued(thread, attempt);
}

static void *serve_calls(void *context)
{
    struct call_thread *thread = context;
    struct call_threads *t = thread->threads;
    struct cairn_attempt *attempt;
    pthread_mutex_lock(&t->lock);
    while ((attempt = take_queued(t)) || !t->closed) {
        if (attempt) {
            serve(thread, attempt);
            pthread_mutex_lock(&t->lock);
            continue;
        }
        t->n_idle++;
        pthread_cond_wait(&t->wanted, &t->lock);
        t->n_idle--;
    }
    bool detached = thread->detached;
    pthread_mutex_unlock(&t->lock);
    if (detached)
        free(thread);
    drop_user(t);
    return NULL;
}

/* Under the lock. */
static int add_thread(struct call_threads *t, struct cairn_error *error)
{
    struct call_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return error_nomem(error);
    thread->threads = t;
    t->users++;
    int code = pthread_create(&thread->id, NULL, serve_calls, thread);
    if (code) {
        t->users--;
        free(thread);
        return error_sys(error, code, "cannot start a thread");
    }
    thread->next = t->all;
    t->all = thread;
    return 0;
}

/* ---- Calls ---- */

static struct key_value *copy_pairs(struct arena *arena, const struct key_value *pairs,
                                    uint32_t n)
{
    struct key_value *copy = arena_take(arena, n, sizeof *copy);
    for (uint32_t i = 0; copy && i < n; i++)
        copy[i] = (struct key_value){arena_str(arena, pairs[i].key),
                                     arena_str(arena, pairs[i].value)};
    return copy;
}

/* The run may be over before the callback is. */
static bool copy_given(struct cairn_attempt *attempt, const struct call_order *order)
{
    struct arena *arena = &attempt->arena;
    attempt->order.needs = NULL;
    attempt->order.arguments = NULL;
    if (order->n_arguments)
        attempt->arguments = copy_pairs(arena, order->arguments, order->n_arguments);
    if (order->n_needs)
        attempt->needs = arena_take(arena, order->n_needs, sizeof *attempt->needs);
    for (uint32_t i = 0; attempt->needs && i < order->n_needs; i++) {
        const struct call_need *need = &order->needs[i];
        attempt->needs[i] =
            (struct call_need){arena_text(arena, str_of(need->task)),
                               copy_pairs(arena, need->values, need->n), need->n};
    }
    return !arena->failed;
}

static struct cairn_attempt *make_attempt(struct call_threads *t,
                                          const struct call_order *order)
{
    size_t length = strlen(order->task) + 1;
    struct cairn_attempt *attempt = malloc(sizeof *attempt + length);
    if (!attempt)
        return NULL;
    *attempt = (struct cairn_attempt){.threads = t,
                                      .order = *order,
                                      .held = HELD_BY_RUN | HELD_BY_CALLBACK |
                                              HELD_BY_PROGRAM};
    attempt->order.task = NULL;
    memcpy(attempt->task, order->task, length);
    if (!copy_given(attempt, order)) {
        free_attempt(attempt);
        return NULL;
    }
    t->users++;
    return attempt;
}

int call_start(struct call_threads *t, const struct call_order *order,
               struct cairn_attempt **out, struct cairn_error *error)
{
    struct cairn_attempt *attempt = make_attempt(t, order);
    if (!attempt)
        return error_nomem(error);
    attempt->order.stop = NULL;
    pthread_mutex_lock(&t->lock);
    int rc = t->n_idle > t->n_queued ? 0 : add_thread(t, error);
    if (rc) {
        drop_attempt(attempt, attempt->held);
        return rc;
    }
    t->n_lone += !attempt->order.parallel;
    *t->queue_end = attempt;
    t->queue_end = &attempt->next;
    t->n_queued++;
    pthread_cond_signal(&t->wanted);
    pthread_mutex_unlock(&t->lock);
    *out = attempt;
    return 0;
}

bool call_quick(const struct call_threads *t)
{
    return t->n_quick >= QUICK_ENOUGH;
}

int call_run(struct call_threads *t, const struct call_order *order,
             struct cairn_attempt **out, enum cairn_outcome *outcome,
             struct cairn_error *error)
{
    struct cairn_attempt *attempt = make_attempt(t, order);
    if (!attempt)
        return error_nomem(error);
    *outcome = call(attempt);
    pthread_mutex_lock(&t->lock);
    attempt->order.stop = NULL;
    bool later = *outcome == CAIRN_LATER, left = attempt->n_values || attempt->text;
    bool ended = !later && !attempt->finished && !left;
    if (!later && !attempt->finished && left)
        finish(attempt, *outcome, NULL);
    *out = ended ? NULL : attempt;
    unsigned holders = HELD_BY_CALLBACK;
    holders |= later ? 0 : HELD_BY_PROGRAM;
    holders |= ended ? HELD_BY_RUN : 0;
    drop_attempt(attempt, holders);
    return 0;
}

bool call_threads_busy(const struct call_threads *t)
{
    return t->n_lone > 0;
}

struct cairn_attempt *call_threads_collect(struct call_threads *t)
{
    if (!t->any_finished)
        return NULL;
    pthread_mutex_lock(&t->lock);
    struct cairn_attempt *finished = t->finished;
    t->finished = NULL;
    t->finished_end = &t->finished;
    t->any_finished = false;
    pthread_mutex_unlock(&t->lock);
    return finished;
}

struct cairn_attempt *call_next(const struct cairn_attempt *attempt)
{
    return attempt->next;
}

uint32_t call_slot(const struct cairn_attempt *attempt)
{
    return attempt->order.slot;
}

enum cairn_outcome call_outcome(const struct cairn_attempt *attempt)
{
    return attempt->outcome;
}

const char *call_text(const struct cairn_attempt *attempt)
{
    return attempt->text;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct set_value *)a)->name,
                  ((const struct set_value *)b)->name);
}

int call_values(const struct cairn_attempt *attempt, struct arena *arena,
                struct key_value **values, uint32_t *n, struct cairn_error *error)
{
    uint32_t count = attempt->n_values;
    struct key_value *copy = arena_take(arena, count, sizeof *copy);
    if (count)
        qsort(attempt->values, count, sizeof *attempt->values, by_name);
    for (uint32_t i = 0; copy && i < count; i++)
        copy[i] =
            (struct key_value){arena_str(arena, str_of(attempt->values[i].name)),
                               arena_str(arena, str_of(attempt->values[i].value))};
    if (arena->failed)
        return error_nomem(error);
    *values = copy;
    *n = count;
    return 0;
}

void call_release(struct cairn_attempt *attempt)
{
    pthread_mutex_lock(&attempt->threads->lock);
    drop_attempt(attempt, HELD_BY_RUN);
}

/* From now on cairn_attempt_stopped is true. */
static void call_stop(struct cairn_attempt *attempt)
{
    attempt->stopped = true;
}

/* The run does not wait for it any longer; what it answers is ignored. */
static void call_leave(struct cairn_attempt *attempt)
{
    struct call_threads *t = attempt->threads;
    attempt->stopped = true;
    pthread_mutex_lock(&t->lock);
    attempt->left = true;
    if (t->lone == attempt) {
        t->lone = NULL;
        t->n_lone--;
        pthread_cond_signal(&t->wanted); /* another one may wait for it */
    }
    drop_attempt(attempt, HELD_BY_RUN);
}

/* ---- For callbacks, on any thread ---- */

const char *cairn_attempt_task(const struct cairn_attempt *attempt)
{
    return attempt->task;
}

uint32_t cairn_attempt_number(const struct cairn_attempt *attempt)
{
    return attempt->order.number;
}

/* While the engine itself runs the callback, nobody else looks for a stop. */
bool cairn_attempt_stopped(const struct cairn_attempt *attempt)
{
    pthread_mutex_lock(&attempt->threads->lock);
    const struct cairn_stop *stop = attempt->order.stop;
    bool asked = stop && stop->count;
    pthread_mutex_unlock(&attempt->threads->lock);
    return asked || attempt->stopped;
}

void cairn_attempt_finish(struct cairn_attempt *attempt, enum cairn_outcome outcome,
                          const char *text)
{
    struct call_threads *t = attempt->threads;
    if (is_forked_child(t))
        return;
    pthread_mutex_lock(&t->lock);
    if (!attempt->finished)
        finish(attempt, outcome, text);
    drop_attempt(attempt, HELD_BY_PROGRAM);
}

/* Under the lock. Its value, or the place behind the last one. */
static struct set_value *place_of(struct cairn_attempt *attempt, const char *name)
{
    for (uint32_t i = 0; i < attempt->n_values; i++)
        if (strcmp(attempt->values[i].name, name) == 0)
            return &attempt->values[i];
    struct set_value *grown = array_room(attempt->values, attempt->n_values,
                                         &attempt->values_capacity, sizeof *grown);
    if (!grown)
        return NULL;
    attempt->values = grown;
    grown[attempt->n_values] = (struct set_value){NULL, NULL};
    return &grown[attempt->n_values];
}

/* Under the lock. */
static int set_value(struct cairn_attempt *attempt, const char *name, const char *value,
                     struct cairn_error *error)
{
    struct set_value *at = place_of(attempt, name);
    size_t bytes = strlen(name) + strlen(value);
    if (!at)
        return error_nomem(error);
    bool new = !at->name;
    size_t before = new ? 0 : strlen(name) + strlen(at->value);
    if (attempt->values_bytes - before + bytes > LIMIT_VALUES_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "the values of %s have more than %d bytes; keep large results "
                         "in files, and set their names",
                         attempt->task, LIMIT_VALUES_BYTES);
    if (new && attempt->n_values == LIMIT_VALUES)
        return error_set(error, CAIRN_ELIMIT, "%s has %d values, and can have no more",
                         attempt->task, LIMIT_VALUES);
    char *copy = strdup(value), *key = new ? strdup(name) : at->name;
    if (!copy || !key) {
        free(copy);
        free(new ? key : NULL);
        return error_nomem(error);
    }
    free(at->value);
    at->name = key;
    at->value = copy;
    attempt->n_values += new;
    attempt->values_bytes += bytes - before;
    return 0;
}

/* Takes the lock, if something can still be said of the attempt. */
static int begin_telling(struct cairn_attempt *attempt, struct cairn_error *error)
{
    struct call_threads *t = attempt->threads;
    if (is_forked_child(t))
        return error_set(error, CAIRN_EUSAGE,
                         "a child that a callback forked cannot set anything");
    pthread_mutex_lock(&t->lock);
    if (!attempt->finished)
        return 0;
    pthread_mutex_unlock(&t->lock);
    return error_set(error, CAIRN_EUSAGE, "the attempt of %s has finished",
                     attempt->task);
}

int cairn_attempt_set(struct cairn_attempt *attempt, const char *name,
                      const char *value, struct cairn_error *error)
{
    if (!name || !value || !value_name_is_good(str_of(name)))
        return error_set(
            error, CAIRN_EUSAGE,
            "a value needs a name of letters, digits and _, which does not "
            "begin with a digit and has at most %d characters, and a text",
            LIMIT_NAME_BYTES);
    int rc = begin_telling(attempt, error);
    if (rc)
        return rc;
    rc = set_value(attempt, name, value, error);
    pthread_mutex_unlock(&attempt->threads->lock);
    return rc;
}

int cairn_attempt_message(struct cairn_attempt *attempt, const char *text,
                          struct cairn_error *error)
{
    char *copy = text ? strdup(text) : NULL;
    int rc = text && !copy ? error_nomem(error) : begin_telling(attempt, error);
    if (rc) {
        free(copy);
        return rc;
    }
    free(attempt->text);
    attempt->text = copy;
    pthread_mutex_unlock(&attempt->threads->lock);
    return 0;
}

int cairn_attempt_get(const struct cairn_attempt *attempt, const char *task,
                      const char *name, const char **value, struct cairn_error *error)
{
    for (uint32_t i = 0; i < attempt->order.n_needs; i++) {
        const struct call_need *need = &attempt->needs[i];
        if (strcmp(need->task, task) != 0)
            continue;
        const struct key_value *found =
            values_find(need->values, need->n, str_of(name));
        if (!found)
            return error_set(error, CAIRN_ENOTFOUND, "%s has no value %s", task, name);
        *value = found->value.ptr;
        return 0;
    }
    return error_set(error, CAIRN_ENOTFOUND,
                     "%s has no value of %s: it must need that task, which must have "
                     "completed and set one",
                     attempt->task, task);
}

const char *cairn_attempt_argument(const struct cairn_attempt *attempt,
                                   const char *name)
{
    const struct key_value *found =
        values_find(attempt->arguments, attempt->order.n_arguments, str_of(name));
    return found ? found->value.ptr : NULL;
}

/* The engine's side of callbacks. */

int calls_open(struct engine *e, struct cairn_error *error)
{
    if (e->request.mode == MODE_SETTLE ||
        !definition_has_calls(e->request.graph->definition))
        return 0;
    int rc = call_threads_open(&e->calls.threads, error);
    return rc ? rc
              : loop_watch(e, call_threads_fd(e->calls.threads), WATCH_CALLS, error);
}

void calls_close(struct engine *e)
{
    call_threads_close(e->calls.threads);
}

void calls_ask_to_stop(struct engine *e, struct job *job)
{
    if (job->asked)
        return;
    job->asked = true;
    call_stop(job->call);
    int64_t grace_ms = graph_def(e->request.graph, job->intent.task)->grace_ms;
    loop_set_timer(e, TIMER_KILL, grace_ms * 1000000, job_index(&e->jobs, job),
                   job->stamp);
}

void calls_leave(struct engine *e, struct job *job)
{
    call_leave(job->call);
    e->calls.left_behind++;
}
