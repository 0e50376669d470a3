/* SPDX-License-Identifier: MIT */
/* Advisory locks on byte ranges of one file, as open file description locks: they
 * belong to the open file, not to the process, and vanish with it however it ends. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/error.h"

#include <stdint.h>

struct lock_file {
    int fd; /* -1: closed */
};
enum lock_mode { LOCK_SHARED, LOCK_EXCLUSIVE };
/* Byte offsets in use. (LOCK_WRITE would be a macro of <fcntl.h>.) Owners of workflows
 * are LOCK_WORKFLOW + workflow row id, users of sessions LOCK_SESSION + their number
 * modulo LOCK_SESSIONS. */
enum {
    LOCK_COMMIT = 0,
    LOCK_WRITERS = 1,
    LOCK_GC = 2,
    LOCK_RESTORE = 3, /* of files */
    LOCK_SEARCH = 4,  /* of the index, in a file of its own */
    LOCK_SESSION = 1 << 19,
    LOCK_SESSIONS = 1 << 19,
    LOCK_WORKFLOW = 1 << 20
};

int lock_open(struct lock_file *lock, const char *path, struct cairn_error *error);
/* For looking only (lock_held): makes nothing; a missing file leaves fd at -1, and
 * lock_held then answers 0. */
int lock_open_read(struct lock_file *lock, const char *path, struct cairn_error *error);
void lock_close(struct lock_file *lock);
/* CAIRN_EDAMAGED if `path` is not the file that is open any more: somebody removed or
 * replaced it, so others lock another file. */
int lock_check(const struct lock_file *lock, const char *path,
               struct cairn_error *error);
/* 1 got it, 0 somebody else has it, <0 error. Taking again what is held converts. */
int lock_try(struct lock_file *lock, int64_t offset, enum lock_mode mode,
             struct cairn_error *error);
/* Tries with growing pauses (1 to 20 ms) for at most wait_ms; CAIRN_EBUSY after that.
 */
int lock_wait(struct lock_file *lock, int64_t offset, enum lock_mode mode, int wait_ms,
              struct cairn_error *error);
void lock_drop(struct lock_file *lock, int64_t offset);
/* All of the open file, in copies of the descriptor, too. */
void lock_drop_all(struct lock_file *lock);
/* 1 if another open file holds a lock there, 0 if not, <0 error. Takes nothing. */
int lock_held(struct lock_file *lock, int64_t offset, struct cairn_error *error);
/* The same of any byte from `offset` on; *where gets the first one. */
int lock_held_from(struct lock_file *lock, int64_t offset, int64_t *where,
                   struct cairn_error *error);

#endif
