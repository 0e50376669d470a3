/* SPDX-License-Identifier: MIT */
/* Output of attempts: append-only files per slot in `live/`, read back when the attempt
 * ends. The first is the log of an attempt, with both streams as they come, or only its
 * stdout; the second is there when somebody wants stderr apart. A file that stayed
 * empty is used again by the slot's next attempt. What a task writes past the limit is
 * kept as head and tail: the middle is punched out of the file while it grows, so a
 * task that writes 10 GB does not fill the disk. */
#ifndef PROCESS_CAPTURE_H
#define PROCESS_CAPTURE_H

#include "base/str.h"
#include "process/live.h"
#include "process/slots.h"

struct capture {
    int fd[2];            /* the log or stdout, stderr if it was kept apart; opened
                             O_APPEND, close-on-exec; -1: none */
    uint64_t punched[2];  /* end of the hole so far */
    uint64_t reserved[2]; /* there are blocks up to here */
    bool in_memory;       /* files without a name, not in `live/` */
    bool untrimmed; /* its middle could not be given back: there are no holes here */
};
/* LIVE_SLOT_OUT, new and empty; there is no LIVE_SLOT_ERR. */
int capture_open(struct capture *capture, const char *live_dir, uint64_t run,
                 uint32_t slot, struct cairn_error *error);
/* The same in memory, for as long as there is no room in `live/`. Another process
 * cannot look at it, and it ends with us. */
int capture_open_memory(struct capture *capture, struct cairn_error *error);
/* Stderr is wanted apart: LIVE_SLOT_ERR, or its like in memory, unless it is open. It
 * stays for the attempts that come after. */
int capture_open_apart(struct capture *capture, const char *live_dir, uint64_t run,
                       uint32_t slot, struct cairn_error *error);
/* For a running attempt, now and then: some blocks ahead of what is written, so that
 * the task can go on writing when the disk becomes full. */
void capture_reserve(struct capture *capture);
/* For a running attempt, now and then: gives the middle of large files back, if it is
 * at least `least` bytes. Returns how many bytes of one file, at most. */
enum { CAPTURE_HOLE = 128 << 10 }; /* less is not worth a call */
uint64_t capture_trim(struct capture *capture, uint64_t limit, uint64_t least);
struct captured {
    struct buf content; /* all of it, or head then tail */
    uint64_t bytes;     /* written by the task */
    uint64_t head;      /* length of the head if the middle was dropped, else 0 */
};
/* What the file of a stream has, whoever trimmed it. Works on a file of another process,
 * too (fd opened for reading). */
struct capture_kept {
    uint64_t bytes;             /* written by the task */
    uint64_t gap_at, gap_bytes; /* what was given back; else `bytes` and 0 */
};
int capture_extent(int fd, struct capture_kept *kept, struct cairn_error *error);
/* What a stream (0 or 1) holds, at most `limit` bytes of it. Works on a file of another
 * process, too (fd opened for reading). */
int capture_read(int fd, uint64_t limit, struct captured *out,
                 struct cairn_error *error);
/* Makes the slot ready for its next attempt: files that are not empty are replaced. */
int capture_reset(struct capture *capture, const char *live_dir, uint64_t run,
                  uint32_t slot, struct cairn_error *error);
/* Before that: what the slot's files hold is from now on in those of the attempt, with
 * `all` also what is empty. Their descriptors are closed. Best effort; true if there is
 * any such file. */
bool capture_set_aside(struct capture *capture, const char *live_dir, uint64_t run,
                       uint32_t slot, const struct attempt_id *id, bool all);
void capture_close(struct capture *capture);
/* Deletes the slot's files. */
void capture_remove(const char *live_dir, uint64_t run, uint32_t slot);

/* ---- Attempts that may outlive their engine (on_crash: adopt) ----
 * Their slot may get another attempt while they still write, so each has files of its
 * own, LIVE_OUT and, with stderr apart, LIVE_ERR. capture_trim, capture_read and
 * capture_close work as for slots; there is nothing to reset. */

/* New, empty files in place of what was there. */
int capture_attempt_create(struct capture *capture, const struct attempt_id *id,
                           bool merged, struct cairn_error *error);
/* Those of an attempt that another process has started; one that is missing is no error
 * and leaves fd at -1. */
int capture_attempt_open(struct capture *capture, const struct attempt_id *id,
                         bool merged, struct cairn_error *error);
void capture_attempt_remove(const struct attempt_id *id);

/* Where the attempt in a slot of this slot file writes: under a keeper to its own
 * files, else to those of the slot. */
void capture_slot_path(char *out, size_t size, const struct slots *slots, uint32_t slot,
                       const char *live_dir, int stream);

/* Has any process a file with output of the run open that cairn has made? Each task has
 * its own as stdout and stderr, unless these are pipes of ours. This is asked where
 * processes cannot be looked at. */
bool capture_in_use(const char *live_dir, uint64_t run);

#endif
