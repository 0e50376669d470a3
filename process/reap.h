/* SPDX-License-Identifier: MIT */
/* The end of a process that the spawner started, and signals until then. */
#ifndef PROCESS_REAP_H
#define PROCESS_REAP_H

#include "base/error.h"
#include "base/str.h"
#include "process/slots.h"

#include <stdbool.h>
#include <sys/types.h>

struct process_end {
    int exit_code; /* -1 if signalled */
    int signal;    /* 0 if it exited */
    int64_t cpu_us;
    int64_t peak_kib; /* 0: unknown. Until exec a child counts as large as the engine,
                         so a smaller peak than the engine's own cannot be told */
    bool left_behind; /* there was more in its group than itself, which was ended */
    bool unknown;     /* set by the caller where process_reap has failed */
};
/* For a child whose pidfd is readable: ends what is left of its group (SIGKILL), clears
 * the slot, reaps it and closes the pidfd. CAIRN_EIO if the kernel has no such child
 * any more (somebody else reaped it). */
int process_reap(pid_t pid, int pidfd, struct slot *slot, struct process_end *end,
                 struct cairn_error *error);
/* Right after process_reap has said `left_behind`: appends the names of those that are
 * still to be seen, "sleep, node and 3 more". Nothing if there are none any more. What
 * had ended by itself, and was not collected by its new parent, is left out. */
void left_behind_names(pid_t group, struct buf *names);
/* Signals the whole group of an unreaped child. */
void process_signal(pid_t pid, int signal);

#endif
