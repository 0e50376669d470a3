/* SPDX-License-Identifier: MIT */
/* The threads end with the run: a look is stopped within one piece of a file, so
 * closing waits for no more than that. One lock guards the lists. */
#include "executor/state/looks.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { THREADS_MOST = 8 };

struct look_threads {
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

void look_free(struct look *look)
{
    if (look)
        file_look_release(&look->files);
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

static void go_through(struct look_threads *t, struct look *look)
{
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

int look_threads_open(struct look_threads **out, struct file_digests *digests,
                      struct cairn_error *error)
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
    t->queue_end = &t->queue;
    t->finished_end = &t->finished;
    *out = t;
    return 0;
}

void look_threads_close(struct look_threads *t)
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
    close(t->fd);
    pthread_cond_destroy(&t->wanted);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

int look_threads_fd(const struct look_threads *threads)
{
    return threads->fd;
}

int look_threads_add(struct look_threads *t, struct look *look,
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

void look_threads_stop(struct look_threads *threads, struct look *look)
{
    atomic_store(&look->stop, 1);
    file_digests_wake(threads->digests);
}

struct look *look_threads_collect(struct look_threads *t)
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
