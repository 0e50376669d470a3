/* SPDX-License-Identifier: MIT */
/* Requests that a command of cairn answers: waiting, running, ended.
 *
 * The command is a process: this same executable, in a process group of its
 * own, with pipes, and known by a descriptor, so that a signal never meets another
 * process. It dies with the server, unless it is detached. What only reads, and soon
 * ends, is carried out by a worker: such a process that takes one command line after
 * the other (worker.h), never two at a time, so that it takes no other call with it.
 *
 * The loop asks calls_poll for what to wait, hands what came to calls_serve, and each
 * call's `finish` makes the result out of what the command printed.
 */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

#include "server/arguments.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
    int pidfd;        /* -1: there is none */
    int in, out, err; /* our ends of its pipes; -1: closed */
    int control;      /* of a worker: our end of its socket; else -1 */
    unsigned calls;   /* of a worker: those that it was given */
};

struct child_start {
    char *const *argv;     /* ended by NULL */
    const char *directory; /* or NULL: here */
    bool detached;         /* goes on when the server ends */
    bool has_input;        /* else its stdin is empty */
    bool worker;           /* its stdin is the socket */
    char *variable;        /* NAME=value in its environment, beside ours; or NULL */
};

#define CHILD_NONE ((struct child){-1, -1, -1, -1, -1, 0})

/* 0, or an errno. Reading ends do not block. */
int child_start(struct child *child, const struct child_start *start);
void child_signal(const struct child *child, int number);
/* Waits for the end, which is near, closes all and returns the exit status, 128 + the
 * number of a signal. */
int child_reap(struct child *child);

/* Calls of one lane never take the places of another: see `limits` in call.c. */
enum call_lane {
    LANE_QUICK,
    LANE_LONG,  /* work that can take long */
    LANE_AWAIT, /* nothing but waiting for what others do */
    LANES
};

#define CALLS_RUNNING 8 /* of the first two lanes, each */
#define CALLS_AWAITING 64
#define CALLS_DETACHED 64
#define CALL_OUTPUT_BYTES ((size_t)4 << 20)
#define CALL_ERRORS_BYTES ((size_t)16 << 10)

enum log_level {
    LOG_DEBUG,
    LOG_INFO,
    LOG_NOTICE,
    LOG_WARNING,
    LOG_ERROR,
    LOG_CRITICAL,
    LOG_ALERT,
    LOG_EMERGENCY,
    LOG_NOTHING /* above all of them */
};

/* To whom an answer goes. */
struct batch;
struct client;
struct outlet;

struct reply {
    char *id; /* JSON, owned */
    struct client *client;
    struct outlet *outlet;
    struct batch *batch;      /* or NULL */
    enum log_level log_level; /* what of the log is sent along */
    bool modern;              /* asked for in the protocol of 2026-07-28 */
};

/* Some of the requests: what is NULL fits all. */
struct whose {
    const struct client *client;
    const struct outlet *outlet;
    const char *id;
};

struct server;

struct call {
    struct call *next;
    struct reply reply;
    struct arguments arguments;
    /* Makes the result; the call is freed afterwards. */
    void (*finish)(struct server *server, struct call *call);
    const struct tool *tool; /* of a tool's call */
    char *subject;           /* what `finish` wants to know, or NULL */
    char *progress;          /* JSON: the token of its progress notices */
    int64_t began_ms, told_ms;
    int64_t time_limit_ms;
    enum call_lane lane;
    /* Called once if it runs for longer than late_ms, and goes on; or NULL. */
    void (*late)(struct server *server, struct call *call);
    int64_t late_ms;
    bool starts;    /* answers with its first line, and goes on */
    bool ordered;   /* not beside another one that is */
    bool reads;     /* only reads, and soon ends: a worker may carry it out */
    char *variable; /* for its environment, or NULL; the caller's */

    struct child child;
    struct buf out, err;
    size_t input_done;
    int64_t deadline_ms; /* monotonic; 0: none */
    int64_t late_at_ms;  /* likewise: when `late` is called */
    bool signalled, killed, cancelled, timed_out, too_large;
    bool left;  /* ended, because its client will ask for nothing more */
    int status; /* exit status, when `finish` is called; -1: it goes on */
};

struct calls {
    struct call *running, *waiting, **waiting_end;
    size_t waiting_bytes[LANES];
    bool shared;                  /* by several clients, none of which may have all */
    int detached[CALLS_DETACHED]; /* pidfds of runs that go on */
    size_t n_detached;
    struct child idle[CALLS_RUNNING]; /* workers without a call, ... */
    size_t n_idle;
    int64_t idle_until_ms; /* ... which end then */
    struct server *server;
};

void calls_init(struct calls *calls, struct server *server);
struct call *call_new(void); /* NULL: out of memory */
void call_free(struct call *call);
/* Takes the call, which is started when there is room. False: there are too many; the
 * call stays the caller's. */
bool calls_add(struct calls *calls, struct call *call);
/* Whether such a call waits or runs. */
bool calls_has(const struct calls *calls, const struct whose *whose);
/* Ends such calls, which are never answered then. */
void calls_cancel(struct calls *calls, const struct whose *whose);
/* Ends those that only wait, which are answered: the client will ask for nothing more.
 * After calls_poll; lowers *until_ms, too. */
void calls_hang_up(struct calls *calls, int64_t *until_ms);

/* Starts what can be. Returns how many descriptors were added to fds, which has room
 * for CALLS_FDS; lowers *until_ms to the next time when something is due. */
#define CALLS_FDS \
    ((2 * CALLS_RUNNING + CALLS_AWAITING) * 4 + CALLS_DETACHED + CALLS_RUNNING)

size_t calls_poll(struct calls *calls, struct pollfd *fds, int64_t *until_ms);
/* After poll: reads, writes, reaps, and finishes calls. */
void calls_serve(struct calls *calls);
bool calls_idle(const struct calls *calls);
/* Ends every child that does not go on, and frees all. */
void calls_end(struct calls *calls);
int64_t clock_ms(void);

/* send.c */
void calls_tell(struct calls *calls);
/* When the next one is due; INT64_MAX: none. */
int64_t calls_tell_due(const struct calls *calls);

#endif
