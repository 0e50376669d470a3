/* SPDX-License-Identifier: MIT */
/* The threads end with the run: a look is stopped within one piece of a file, so
 * closing waits for no more than that. One lock guards the lists. */
#include "executor/state/looks.h"

#include "executor/state/engine.h"
#include "executor/state/report.h"

#include "base/error.h"
#include "executor/state/commit.h"
#include "storage/rows_gc.h"
#include "storage/store.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { THREADS_MOST = 8 };

struct look_threads {
    const struct cairn_store *store;        /* NULL: there is none */
    struct cairn_store *idle[THREADS_MOST]; /* handles for errands */
    uint32_t n_idle_stores;
    pthread_mutex_t lock;
    pthread_cond_t wanted; /* a look, or the end */
    struct file_digests *digests;
    struct look *queue, **queue_end;
    struct look *finished, **finished_end;
    struct look *current[THREADS_MOST]; /* of each thread */
    pthread_t thread[THREADS_MOST];
    uint32_t n_threads, most, n_idle, n_queued;
    bool closed;
    int fd;
};

struct look_thread { /* what one is told when it starts */
    struct look_threads *threads;
    uint32_t index;
};

/* ---- Lists ---- */

static void append(struct look ***end, struct look *look)
{
    look->next = NULL;
    **end = look;
    *end = &look->next;
}

static struct look *take_queued(struct look_threads *t)
{
    struct look *look = t->queue;
    if (!look)
        return NULL;
    t->queue = look->next;
    if (!t->queue)
        t->queue_end = &t->queue;
    t->n_queued--;
    return look;
}

static void look_free(struct look *look)
{
    if (look && look->errand)
        look->errand->release(look->errand);
    else if (look)
        file_look_release(&look->files);
    if (look)
        cairn_store_close(look->store);
    free(look);
}

static void free_list(struct look *look)
{
    while (look) {
        struct look *next = look->next;
        look_free(look);
        look = next;
    }
}

/* ---- The threads ---- */

static struct cairn_store *take_store(struct look_threads *t)
{
    struct cairn_store *store = NULL;
    pthread_mutex_lock(&t->lock);
    if (t->n_idle_stores)
        store = t->idle[--t->n_idle_stores];
    pthread_mutex_unlock(&t->lock);
    return store;
}

static void do_errand(struct look_threads *t, struct look *look)
{
    look->store = take_store(t);
    if (!look->store)
        look->rc = store_open_beside(t->store, &look->store, &look->error);
    if (!look->rc)
        look->rc =
            look->errand->work(look->errand, look->store, &look->stop, &look->error);
}

static void go_through(struct look_threads *t, struct look *look)
{
    if (look->errand) {
        do_errand(t, look);
        return;
    }
    struct file_reader reader = {.digests = t->digests, .stop = &look->stop};
    look->rc = file_look_go_on(&look->files, &reader, &look->error);
}

static void *serve_looks(void *context)
{
    struct look_thread self = *(struct look_thread *)context;
    struct look_threads *t = self.threads;
    uint64_t one = 1;
    free(context);
    pthread_mutex_lock(&t->lock);
    while (!t->closed) {
        struct look *look = take_queued(t);
        if (!look) {
            t->n_idle++;
            pthread_cond_wait(&t->wanted, &t->lock);
            t->n_idle--;
            continue;
        }
        t->current[self.index] = look;
        pthread_mutex_unlock(&t->lock);
        go_through(t, look);
        pthread_mutex_lock(&t->lock);
        t->current[self.index] = NULL;
        append(&t->finished_end, look);
        ssize_t written = write(t->fd, &one, sizeof one);
        (void)written; /* fails only when the counter is full: then it is readable */
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Under the lock. Signals are for the program's own threads. */
static int add_thread(struct look_threads *t, struct cairn_error *error)
{
    sigset_t all, old;
    struct look_thread *self = malloc(sizeof *self);
    if (!self)
        return error_nomem(error);
    *self = (struct look_thread){t, t->n_threads};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int sys = pthread_create(&t->thread[t->n_threads], NULL, serve_looks, self);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (sys) {
        free(self);
        return error_sys(error, sys, "cannot start a thread");
    }
    t->n_threads++;
    return 0;
}

/* ---- For the engine ---- */

/* `digests` are asked and told, and stay until close. */
static int look_threads_open(struct look_threads **out, struct file_digests *digests,
                             const struct cairn_store *store, struct cairn_error *error)
{
    struct look_threads *t = calloc(1, sizeof *t);
    if (!t)
        return error_nomem(error);
    t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->fd < 0) {
        int saved = errno;
        free(t);
        return error_sys(error, saved, "cannot make a descriptor");
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    t->most = n < 1 ? 1 : n > THREADS_MOST ? THREADS_MOST : (uint32_t)n;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wanted, NULL);
    t->digests = digests;
    t->store = store;
    t->queue_end = &t->queue;
    t->finished_end = &t->finished;
    *out = t;
    return 0;
}

/* Stops and frees what is not collected. NULL is allowed. */
static void look_threads_close(struct look_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->closed = true;
    for (uint32_t i = 0; i < t->n_threads; i++)
        if (t->current[i])
            atomic_store(&t->current[i]->stop, 1);
    pthread_cond_broadcast(&t->wanted);
    pthread_mutex_unlock(&t->lock);
    file_digests_wake(t->digests);
    for (uint32_t i = 0; i < t->n_threads; i++)
        pthread_join(t->thread[i], NULL);
    free_list(t->queue);
    free_list(t->finished);
    while (t->n_idle_stores)
        cairn_store_close(t->idle[--t->n_idle_stores]);
    close(t->fd);
    pthread_cond_destroy(&t->wanted);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

int look_threads_fd(const struct look_threads *threads)
{
    return threads->fd;
}

/* Hands a look in. Without a thread to do it: an error, and it is still the caller's.
 */
static int look_threads_add(struct look_threads *t, struct look *look,
                            struct cairn_error *error)
{
    int rc = 0;
    pthread_mutex_lock(&t->lock);
    if (t->n_idle <= t->n_queued && t->n_threads < t->most)
        rc = add_thread(t, error);
    if (t->n_threads) {
        rc = 0; /* one of those that are there does it later */
        append(&t->queue_end, look);
        t->n_queued++;
        pthread_cond_signal(&t->wanted);
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

/* It ends soon, and is collected as ever. */
static void look_threads_stop(struct look_threads *threads, struct look *look)
{
    atomic_store(&look->stop, 1);
    file_digests_wake(threads->digests);
}

/* A list of what has ended, by next; each to be freed. NULL is allowed. */
static struct look *look_threads_collect(struct look_threads *t)
{
    if (!t)
        return NULL;
    pthread_mutex_lock(&t->lock);
    struct look *finished = t->finished;
    t->finished = NULL;
    t->finished_end = &t->finished;
    pthread_mutex_unlock(&t->lock);
    return finished;
}

/* Looking at declared files. */

static int open_threads(struct engine *e, struct cairn_error *error)
{
    struct look_threads *threads = NULL;
    if (e->looks.threads)
        return 0;
    int rc = look_threads_open(&threads, &e->progress.lookup.digests, e->request.store,
                               error)
                 ?: loop_watch(e, look_threads_fd(threads), WATCH_LOOKS, error);
    if (rc)
        look_threads_close(threads);
    else
        e->looks.threads = threads;
    return rc;
}

/* NULL: no thread can be had. That must not fail a task: then the loop does it. */
static struct look *look_elsewhere(struct engine *e, const struct file_look *files,
                                   uint32_t slot)
{
    struct look *look = calloc(1, sizeof *look);
    if (look && !open_threads(e, NULL)) {
        look->files = *files;
        look->slot = slot;
        if (!look_threads_add(e->looks.threads, look, NULL))
            return look;
    }
    free(look);
    return NULL;
}

/* 0: done; LOOK_WAITS: *look has the files, and goes on on a thread; *first is the one
 * that it begins with, a view until it is collected. */
static int look_at_files(struct engine *e, struct file_look *files, uint32_t slot,
                         struct look **look, const char **first,
                         struct cairn_error *error)
{
    enum { AT_ONCE_BYTES = 1 << 20 };
    struct file_reader reader = {.digests = &e->progress.lookup.digests,
                                 .stop = e->progress.lookup.stop,
                                 .limited = true,
                                 .left = AT_ONCE_BYTES};
    int rc = file_look_go_on(files, &reader, error);
    if (rc != FILE_LONG)
        return rc;
    *first = files->files[files->next].name.ptr;
    *look = look_elsewhere(e, files, slot);
    if (*look)
        return LOOK_WAITS;
    reader.limited = false;
    return file_look_go_on(files, &reader, error);
}

static int take_files(struct job *job, const struct file_look *files,
                      struct cairn_error *error)
{
    return file_look_take(files, &job->arena, &job->result, error);
}

/* The input because of which a task cannot start is all that it has read. Returns `rc`,
 * of the look, or an error. */
static int take_failed_input(struct job *job, const struct file_look *files, int rc,
                             struct cairn_error *error)
{
    struct result *r = &job->result;
    int taken =
        file_look_take_failed(files, &job->arena, &r->inputs, &r->n_inputs, error);
    return taken ? taken : rc;
}

/* ---- For a job ---- */

int looks_begin(struct engine *e, struct job *job, bool inputs,
                struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    struct asker asker = job_asker(e, job);
    struct file_look files;
    struct look *look = NULL;
    const char *first = NULL;
    if (!(inputs ? def->n_inputs > 0 : task_def_makes_files(def)))
        return 0;
    int rc = file_look_begin(&files, &asker, inputs, error);
    files.since_ns = inputs ? 0 : job->look_since_ns;
    if (!rc)
        rc = look_at_files(e, &files, job_index(&e->jobs, job), &look, &first, error);
    if (rc == LOOK_WAITS) {
        jobs_begin_look(job, look, inputs);
        job->look_began_ns = loop_now_ns(e);
        report_reading(e, job, first);
        return rc;
    }
    if (!rc)
        rc = take_files(job, &files, error);
    else if (inputs)
        rc = take_failed_input(job, &files, rc, error);
    file_look_release(&files);
    return rc;
}

int looks_finish(struct engine *e, struct job *job, struct look *look,
                 struct cairn_error *error)
{
    int rc = look->rc;
    *error = look->error;
    if (!rc)
        rc = take_files(job, &look->files, error);
    else if (job->awaits_inputs)
        rc = take_failed_input(job, &look->files, rc, error);
    job->reading_ns += loop_now_ns(e) - job->look_began_ns;
    jobs_end_look(job);
    look_free(look);
    return rc;
}

int looks_send(struct engine *e, struct job *job, struct errand *errand, bool before)
{
    struct look *look = calloc(1, sizeof *look);
    if (!look || open_threads(e, NULL)) {
        free(look);
        return CAIRN_ENOMEM;
    }
    look->errand = errand;
    look->slot = job_index(&e->jobs, job);
    if (look_threads_add(e->looks.threads, look, NULL)) {
        free(look);
        return CAIRN_ENOMEM;
    }
    jobs_begin_look(job, look, before);
    job->look_began_ns = loop_now_ns(e);
    return LOOK_WAITS;
}

/* Its content waits for the commit that refers to it. */
static void take_over_hold(struct engine *e, struct look *look)
{
    bool holds = look->errand->holds;
    if (holds && !look->rc)
        look->rc = store_gc_hold_off(e->request.store, GC_WAIT_MS, &look->error);
    bool held = holds && !look->rc;
    if (held)
        saving_hold_content(e, &held);
    if (holds)
        store_gc_unlock(look->store);
}

static void keep_store(struct engine *e, struct look *look)
{
    struct look_threads *t = e->looks.threads;
    pthread_mutex_lock(&t->lock);
    if (look->store && !look->rc && t->n_idle_stores < THREADS_MOST) {
        t->idle[t->n_idle_stores++] = look->store;
        look->store = NULL;
    }
    pthread_mutex_unlock(&t->lock);
}

int looks_end_errand(struct engine *e, struct job *job, struct look *look, int failed,
                     struct cairn_error *error)
{
    struct errand *errand = look->errand;
    take_over_hold(e, look);
    keep_store(e, look);
    jobs_end_look(job);
    int rc =
        failed ? failed : errand->done(e, job, errand, look->rc, &look->error, error);
    look_free(look);
    return rc;
}

void looks_stop(struct engine *e, struct job *job)
{
    if (job->state == JOB_LOOKING && job->look)
        look_threads_stop(e->looks.threads, job->look);
}

struct look *looks_collect(struct engine *e)
{
    return look_threads_collect(e->looks.threads);
}

void looks_add_ready(struct engine *e, struct job *job)
{
    job->next_ready = e->looks.ready;
    e->looks.ready = job;
}

struct job *looks_take_ready(struct engine *e)
{
    struct job *job = e->looks.ready;
    if (job)
        e->looks.ready = job->next_ready;
    return job;
}

/* ---- For a command ---- */

static void forget_command(struct engine *e)
{
    look_free(e->looks.of_command);
    e->looks.of_command = NULL;
    e->looks.command = 0;
    e->looks.command_ready = false;
}

static int take_of_command(struct engine *e, struct arena *arena, struct result *result,
                           struct cairn_error *error)
{
    const struct look *look = e->looks.of_command;
    int rc = look->rc;
    if (rc && error)
        *error = look->error;
    if (!rc)
        rc = file_look_take(&look->files, arena, result, error);
    forget_command(e);
    return rc;
}

int looks_for_command(struct engine *e, uint64_t command, const struct asker *asker,
                      struct arena *arena, struct result *result,
                      struct cairn_error *error)
{
    struct file_look files;
    const char *first;
    if (e->looks.command && !e->looks.command_ready) {
        if (e->looks.command != command) /* which was refused meanwhile */
            look_threads_stop(e->looks.threads, e->looks.of_command);
        return LOOK_WAITS;
    }
    if (e->looks.command == command)
        return take_of_command(e, arena, result, error);
    if (e->looks.command)
        forget_command(e);
    int rc = file_look_begin(&files, asker, false, error)
                 ?: look_at_files(e, &files, LOOK_OF_COMMAND, &e->looks.of_command,
                                  &first, error);
    if (rc == LOOK_WAITS) {
        e->looks.command = command;
        return rc;
    }
    if (!rc)
        rc = file_look_take(&files, arena, result, error);
    file_look_release(&files);
    return rc;
}

void looks_command_ready(struct engine *e)
{
    e->looks.command_ready = true;
}

void looks_close(struct engine *e)
{
    look_threads_close(e->looks.threads);
    e->looks.threads = NULL;
    if (e->looks.command_ready)
        look_free(e->looks.of_command);
}
