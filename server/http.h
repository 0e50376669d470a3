/* SPDX-License-Identifier: MIT */
/* HTTP: connections, each with a deadline by which its next request must be complete,
 * and what a request that has passed the gate is answered. It waits for nothing by
 * itself: the loop asks http_poll what to wait for, and calls http_turn then. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "server/gate.h"
#include "server/web.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/select.h>

struct connection;

struct ask {
    const char *method; /* POST, GET or DELETE */
    struct buf body;
    const char *session, *last_event; /* headers; NULL: not there */
    struct headers headers;
};

struct response {
    unsigned status;
    const char *type, *session, *allow; /* headers, or NULL; as long as the session */
    const char *cookie;                 /* likewise */
    const char *disposition;            /* likewise */
    bool fixed;                         /* it may be kept */
    struct buf body;                    /* the reader of `response` frees it */
    struct stream *stream;              /* instead of a body */
};

/* `response` begins with nothing but the status 200. */
void web_answer(struct web *web, const struct ask *ask, struct response *response);

#define HTTP_FDS (FD_SETSIZE + 2)

struct http;

struct site;

/* Takes the listening socket. What is served: `web` at the address of MCP, `site` at
 * all others; one of them may be NULL. NULL: it could not be started. */
struct http *http_start(struct web *web, struct site *site, const struct gate *gate,
                        int listening, char why[512]);
size_t http_poll(struct http *http, struct pollfd *fds, int64_t *until_ms);
/* With the same descriptors, after poll. False: it failed. */
bool http_turn(struct http *http, const struct pollfd *fds, size_t n);
/* Whether a command that a form has asked for, and that changes something, is not done
 * yet; and `owed` of the site for each of them. */
bool site_owes(const struct site *site);
void site_tell_owed(const struct site *site, bool left);
/* Ends all streams, and takes a moment to have sent what they have. */
void http_stop(struct http *http);

#endif
