/* SPDX-License-Identifier: MIT */
/* Who subscribed to changes of resources, and a command that reports them:
 * `cairn events --follow` runs as long as somebody wants to know.
 *
 * Before 2026-07-28 a client subscribes to addresses, and notices go where its others
 * go. From then on it asks to listen, and what it asked for comes as the answer to that
 * request, which ends with the connection.
 *
 * subscriptions.c follows what happens and knows who subscribed. */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include "server/call.h"

#define WATCH_FDS 3

struct listener;
struct subscription;

struct watch {
    struct server *server;
    struct listener *listeners;
    struct subscription *subscriptions;
    size_t n_listeners, n_subscriptions;
    struct child child;
    struct buf out, position;  /* position: after what was sent */
    int64_t retry_ms, wait_ms; /* when to start it again, and how long after that */
    bool ending;
};

void watch_init(struct watch *watch, struct server *server);
size_t watch_poll(struct watch *watch, struct pollfd *fds, int64_t *until_ms);
void watch_serve(struct watch *watch);
/* Drops what a request, or if no id is given a client, has asked for. */
void watch_forget(struct watch *watch, const struct whose *whose);
/* Ends the command; who listens is answered that it is over. */
void watch_end(struct watch *watch);

#endif
