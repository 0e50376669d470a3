/* SPDX-License-Identifier: MIT */
#include "runs/file_digests.h"

#include <stdlib.h>

enum { PLACES = 8192 };
/* FAT counts changes in steps of two seconds. */
static const int64_t step_ns = 3000000000;

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

static bool is_settled(const struct timespec *time, int64_t now_ns)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec < now_ns - step_ns;
}

void file_digests_note(struct file_digests *digests, const struct stat *st,
                       int64_t now_ns, const struct digest *digest)
{
    if (!is_settled(&st->st_ctim, now_ns) || !is_settled(&st->st_mtim, now_ns))
        return;
    if (!digests->at)
        digests->at = calloc(PLACES, sizeof *digests->at);
    if (digests->at)
        *place_of(digests, st) = (struct file_digest){.device = st->st_dev,
                                                      .inode = st->st_ino,
                                                      .size = st->st_size,
                                                      .changed = st->st_ctim,
                                                      .written = st->st_mtim,
                                                      .digest = *digest};
}

bool file_digests_find(const struct file_digests *digests, const struct stat *st,
                       struct digest *digest)
{
    const struct file_digest *known = digests->at ? place_of(digests, st) : NULL;
    if (!known || known->inode != st->st_ino || known->device != st->st_dev ||
        known->size != st->st_size || !is_same_time(&known->changed, &st->st_ctim) ||
        !is_same_time(&known->written, &st->st_mtim))
        return false;
    *digest = known->digest;
    return true;
}
