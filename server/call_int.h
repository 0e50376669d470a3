/* SPDX-License-Identifier: MIT */
/* Between the files of calls. */
#ifndef SERVER_CALL_INT_H
#define SERVER_CALL_INT_H

#include "server/call.h"

/* call_pipes.c: gives and takes as much as there is, but not for ever. */
void call_move_bytes(struct call *call);

/* progress.c */
void calls_tell(struct calls *calls);
/* When the next is to be told; INT64_MAX: none. */
int64_t calls_tell_due(const struct calls *calls);

/* detached.c: whether it has said which run it is, and is to go on without its call. */
bool call_goes_on(const struct call *call);
/* Its process is only to be reaped from now on. */
void calls_detach(struct calls *calls, struct call *call);
void calls_reap_detached(struct calls *calls);
void calls_leave_detached(struct calls *calls);

#endif
