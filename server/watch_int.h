/* SPDX-License-Identifier: MIT */
/* Between watch.c, which follows what happens, and subscriptions.c, which knows who is
 * to be told. */
#ifndef SERVER_WATCH_INT_H
#define SERVER_WATCH_INT_H

#include "server/watch.h"

/* This resource has changed: whoever subscribed to it is told by the next watch_tell.
 * Takes `place`, which may be NULL. */
void watch_mark(struct watch *watch, char *place);
/* So have all whose address begins so. */
void watch_mark_kind(struct watch *watch, const char *beginning);
/* So has the list of resources; and everything. */
void watch_mark_lists(struct watch *watch);
void watch_mark_all(struct watch *watch);
void watch_tell(struct watch *watch);
/* Drops all; who listens is answered that it is over. */
void watch_end_all(struct watch *watch);

#endif
