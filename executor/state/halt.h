/* SPDX-License-Identifier: MIT */
/* Stopping, and time limits. halt.c is the only writer of `halting`. */
#ifndef EXECUTOR_STATE_HALT_H
#define EXECUTOR_STATE_HALT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

struct job;
struct timer;

enum halt { HALT_NONE, HALT_FAILURE, HALT_STOP, HALT_KILL };

struct halting {
    enum halt level;
    char why[160];       /* nothing more is started, or what is waited for */
    uint32_t stops_seen; /* of the caller's stop handle */
};

void halt_run(struct engine *e, enum halt level, const char *why);
/* The stop handle was used. */
void halt_asked(struct engine *e);
void halt_cancelled(struct engine *e); /* by `cairn cancel` */
void halt_job(struct engine *e, struct job *job);
/* Is it to end because another task failed (on_failure: cancel)? */
bool halt_cancels(const struct engine *e, const struct job *job);
/* A service that nothing needs any more. */
void halt_dismiss(struct engine *e, struct job *job);
/* A task that runs, and whose service is over. */
void halt_bereft(struct engine *e, struct job *job, uint32_t service);
/* What asks whether a service is ready, which nobody wants to know any more. */
void halt_probe(struct engine *e, struct job *job);
/* Its process has ended: its outputs are looked at for its grace, no longer. */
void halt_look(struct engine *e, struct job *job);
void halt_timed_out(struct engine *e, const struct timer *timer);
void halt_grace_over(struct engine *e, const struct timer *timer);

#endif
