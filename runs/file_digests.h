/* SPDX-License-Identifier: MIT */
/* What files held that were read already, so that a file which many tasks read is
 * hashed once by a command, not once for each. A file is known by its device, inode,
 * size and times. One that changed shortly before it was read is not remembered: it may
 * change again without another time of change. */
#ifndef RUNS_FILE_DIGESTS_H
#define RUNS_FILE_DIGESTS_H

#include "base/sha256.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

struct file_digest;
struct file_id {
    dev_t device;
    ino_t inode;
};
/* It holds a bounded number of files; later ones take the places of earlier ones. */
struct file_digests {
    struct file_digest *at;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* `reading` has */
    struct file_id reading[8];
    uint32_t n_reading;
};
#define FILE_DIGESTS_INIT                                                       \
    {                                                                           \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }
void file_digests_release(struct file_digests *digests);
/* `st` as it was before the content was read, `now_ns` when it had been looked at
 * (UTC). Without memory nothing is remembered. */
void file_digests_note(struct file_digests *digests, const struct stat *st,
                       int64_t now_ns, const struct digest *digest);
/* False: not known. */
bool file_digests_find(struct file_digests *digests, const struct stat *st,
                       struct digest *digest);

/* Around the reading of a large file: waits while another thread reads the same one,
 * after which it is likely to be known. Not longer than until `stop` (may be NULL) is
 * not 0 and file_digests_wake was called. */
void file_digests_begin(struct file_digests *digests, const struct stat *st,
                        const _Atomic uint32_t *stop);
void file_digests_end(struct file_digests *digests, const struct stat *st);
void file_digests_wake(struct file_digests *digests);

#endif
