/* SPDX-License-Identifier: MIT */
/* HTTP for the web of sessions and streams. It waits for nothing by itself: the loop
 * asks http_poll what to wait for, and calls http_turn then. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "server/gate.h"
#include "server/web.h"

#include <poll.h>
#include <sys/select.h>

#define HTTP_FDS (FD_SETSIZE + 1)
#define CONNECTIONS_MAX 512
/* Bodies of requests that are still coming in, together. */
#define BODIES_BYTES ((size_t)32 << 20)

struct http;
/* Takes the listening socket. NULL: it could not be started. */
struct http *http_start(struct web *web, const struct gate *gate, int listening,
                        char why[512]);
size_t http_poll(struct http *http, struct pollfd *fds, int64_t *until_ms);
/* With the same descriptors, after poll. False: it failed. */
bool http_turn(struct http *http, const struct pollfd *fds, size_t n);
/* Ends all streams, and takes a moment to have sent what they have. */
void http_stop(struct http *http);

#endif
