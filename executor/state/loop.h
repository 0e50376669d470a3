/* SPDX-License-Identifier: MIT */
/* What the loop waits for: descriptors and timers, and the clock they go by. Timers are
 * a binary heap of (when, what); entries stay when they lose their meaning, and the
 * receiver recognises old ones by `stamp`. loop.c is the only writer of `loop`. */
#ifndef EXECUTOR_STATE_LOOP_H
#define EXECUTOR_STATE_LOOP_H

#include "base/error.h"
#include "process/spawner.h"

#include <stdbool.h>
#include <stdint.h>

enum timer_kind {
    TIMER_TIMEOUT,
    TIMER_KILL,
    TIMER_RETRY,
    TIMER_TICK,
    TIMER_COMMIT,
    TIMER_DEADLINE,
    TIMER_TRIM,
    TIMER_ADDITIONS,
    TIMER_PROBE /* of a service: is it ready? */
};

struct timer {
    int64_t when_ns; /* monotonic */
    uint32_t kind;
    uint32_t index; /* slot or task */
    uint64_t stamp;
};

struct timers {
    struct timer *at;
    uint32_t n;
    size_t capacity;
};

int timers_add(struct timers *timers, struct timer timer, struct cairn_error *error);
/* Takes the earliest one if it is due. */
bool timers_take_due(struct timers *timers, int64_t now_ns, struct timer *out);
/* When the earliest one is due; INT64_MAX: there is none. */
int64_t timers_first_ns(const struct timers *timers);
void timers_release(struct timers *timers);

struct engine;
struct epoll_event;

enum {
    WATCH_CALLS = 1,
    WATCH_WAKE,
    WATCH_STOP,
    WATCH_NEWS, /* the runner's two descriptors */
    WATCH_TEND,
    WATCH_LOOKS,
    WATCH_PIPE = 0x4000
};

struct loop {
    int epoll_fd, wake_fd;
    char wake_path[4096];
    struct timers timers;
    struct timer tick; /* the one TIMER_TICK; when_ns 0: none. It may come late */
    bool trimming;     /* a TIMER_TRIM is set */
};

/* Nothing is open: loop_close may be called from now on. */
void loop_init(struct engine *e);
int loop_open(struct engine *e, struct cairn_error *error);
void loop_close(struct engine *e);
/* Monotonic: what timers and waiting go by. */
int64_t loop_now_ns(const struct engine *e);
/* Time of day: what rows and events say. */
int64_t loop_utc_ns(const struct engine *e);
void loop_set_timer(struct engine *e, enum timer_kind kind, int64_t delay_ns,
                    uint32_t index, uint64_t stamp);
/* Takes the earliest one if it is due. */
bool loop_take_due(struct engine *e, int64_t now_ns, struct timer *out);
int loop_watch(struct engine *e, int fd, uint64_t what, struct cairn_error *error);
void loop_unwatch(struct engine *e, int fd);
/* Until something happens or a timer is due, for at most `longest_ns`; 0: looks only.
 * The number of events, or -1 and errno. */
int loop_wait(struct engine *e, int64_t longest_ns, enum spawner_rest rest,
              struct epoll_event *events, int most);
/* Lets time go by, whatever happens. */
void loop_pause(struct engine *e, int64_t pause_ns);

#endif
