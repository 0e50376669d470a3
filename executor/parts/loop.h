/* SPDX-License-Identifier: MIT */
/* What the loop waits for: descriptors and timers, and the clock they go by. loop.c is
 * the only writer of `loop`. */
#ifndef EXECUTOR_PARTS_LOOP_H
#define EXECUTOR_PARTS_LOOP_H

#include "executor/parts/timers.h"

struct engine;

struct job;

enum {
    WATCH_LATER = 1,
    WATCH_WAKE,
    WATCH_STOP,
    WATCH_GUARD,
    WATCH_SPAWNER,
    WATCH_JOB,
    WATCH_PIPE = 0x4000
};

struct loop {
    int epoll_fd, wake_fd;
    char wake_path[4096];
    struct timers timers;
    bool trimming; /* a TIMER_TRIM is set */
};

/* Nothing is open: loop_close may be called from now on. */
void loop_init(struct engine *e);
int loop_open(struct engine *e, struct cairn_error *error);
void loop_close(struct engine *e);

/* Monotonic: what timers and waiting go by. */
int64_t loop_now_ns(const struct engine *e);
void loop_set_timer(struct engine *e, enum timer_kind kind, int64_t delay_ns,
                    uint32_t index, uint64_t stamp);
/* Takes the earliest one if it is due. */
bool loop_take_due(struct engine *e, int64_t now_ns, struct timer *out);

int loop_watch(struct engine *e, int fd, uint64_t what, struct cairn_error *error);
void loop_unwatch(struct engine *e, int fd);
/* For a job whose end the spawner does not report. */
int loop_watch_job(struct engine *e, struct job *job, struct cairn_error *error);
/* Index and stamp of a job: an event that was on its way while the job ended and its
 * slot got another attempt is recognised as old. */
uint64_t job_watch(const struct engine *e, const struct job *job);

#endif
