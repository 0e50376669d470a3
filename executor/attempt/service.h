/* SPDX-License-Identifier: MIT */
/* Services: started as tasks are, asked whether they are ready, and ended once nothing
 * that needs them is left. */
#ifndef EXECUTOR_ATTEMPT_SERVICE_H
#define EXECUTOR_ATTEMPT_SERVICE_H

#include "executor/state/engine.h"

/* Before it is launched; nothing for other tasks. The reason of a failure is in `why`. */
int service_pick_ports(struct engine *e, uint32_t task, struct buf *why);
/* Its process is there. */
void service_started(struct engine *e, struct job *job);
/* Asks whether it is ready; the timer is of its slot. */
void service_ask(struct engine *e, const struct timer *timer);
/* The answer, of ROLE_READY. */
int ready_ended(struct engine *e, struct job *job, const struct process_end *end,
                const struct buf *text, struct cairn_error *error);
/* Its process has ended; `ending` is its draft. */
int service_ended(struct engine *e, struct job *job, const struct process_end *end,
                  struct ending *ending);
/* An attempt of it was settled: if it was the last one, what runs with it is ended. */
void service_settled(struct engine *e, uint32_t service);
/* Ends those that nothing needs any more. Each turn. */
void services_tend(struct engine *e);
/* Ends all: nothing that needs one can run now. */
void services_dismiss(struct engine *e);
/* A service that the task needs is over, and did not complete. */
bool service_is_lost(const struct engine *e, uint32_t task);
/* Of a taken task that was not started, and for which that holds. CAIRN_ENOMEM. */
int service_skip_task(struct engine *e, uint32_t task, struct cairn_error *error);

#endif
