/* SPDX-License-Identifier: MIT */
#include "runs/file_digests.h"

#include "base/clock.h"

#include <stdlib.h>

enum { PLACES = 8192 };

struct file_digest {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed, written;
    struct digest digest;
};

void file_digests_release(struct file_digests *digests)
{
    free(digests->at);
    digests->at = NULL;
}

static struct file_digest *place_of(const struct file_digests *digests,
                                    const struct stat *st)
{
    uint64_t mixed = ((uint64_t)st->st_ino + ((uint64_t)st->st_dev << 40)) *
                     UINT64_C(0x9e3779b97f4a7c15);
    return &digests->at[(mixed >> 32) % PLACES];
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

void file_digests_note(struct file_digests *digests, const struct stat *st,
                       int64_t now_ns, const struct digest *digest)
{
    if (!clock_settled(timespec_ns(&st->st_ctim), now_ns) ||
        !clock_settled(timespec_ns(&st->st_mtim), now_ns))
        return;
    pthread_mutex_lock(&digests->mutex);
    if (!digests->at)
        digests->at = calloc(PLACES, sizeof *digests->at);
    if (digests->at)
        *place_of(digests, st) = (struct file_digest){.device = st->st_dev,
                                                      .inode = st->st_ino,
                                                      .size = st->st_size,
                                                      .changed = st->st_ctim,
                                                      .written = st->st_mtim,
                                                      .digest = *digest};
    pthread_mutex_unlock(&digests->mutex);
}

bool file_digests_find(struct file_digests *digests, const struct stat *st,
                       struct digest *digest)
{
    pthread_mutex_lock(&digests->mutex);
    const struct file_digest *known = digests->at ? place_of(digests, st) : NULL;
    bool found = known && known->inode == st->st_ino && known->device == st->st_dev &&
                 known->size == st->st_size &&
                 is_same_time(&known->changed, &st->st_ctim) &&
                 is_same_time(&known->written, &st->st_mtim);
    if (found)
        *digest = known->digest;
    pthread_mutex_unlock(&digests->mutex);
    return found;
}

/* Under the mutex: where it stands in `reading`, or their number. */
static uint32_t find_reading(const struct file_digests *digests, const struct stat *st)
{
    uint32_t i = 0;
    while (i < digests->n_reading && (digests->reading[i].inode != st->st_ino ||
                                      digests->reading[i].device != st->st_dev))
        i++;
    return i;
}

void file_digests_begin(struct file_digests *digests, const struct stat *st,
                        const _Atomic uint32_t *stop)
{
    const uint32_t most = sizeof digests->reading / sizeof digests->reading[0];
    pthread_mutex_lock(&digests->mutex);
    while (find_reading(digests, st) < digests->n_reading &&
           !(stop && atomic_load(stop)))
        pthread_cond_wait(&digests->changed, &digests->mutex);
    if (digests->n_reading < most) /* else it may be read twice */
        digests->reading[digests->n_reading++] =
            (struct file_id){st->st_dev, st->st_ino};
    pthread_mutex_unlock(&digests->mutex);
}

void file_digests_end(struct file_digests *digests, const struct stat *st)
{
    pthread_mutex_lock(&digests->mutex);
    uint32_t i = find_reading(digests, st);
    if (i < digests->n_reading)
        digests->reading[i] = digests->reading[--digests->n_reading];
    pthread_cond_broadcast(&digests->changed);
    pthread_mutex_unlock(&digests->mutex);
}

void file_digests_wake(struct file_digests *digests)
{
    pthread_mutex_lock(&digests->mutex);
    pthread_cond_broadcast(&digests->changed);
    pthread_mutex_unlock(&digests->mutex);
}
