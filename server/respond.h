/* SPDX-License-Identifier: MIT */
/* What a request that has passed the gate is answered, in terms of HTTP. */
#ifndef SERVER_RESPOND_H
#define SERVER_RESPOND_H

#include "server/web.h"

struct ask {
    const char *method; /* POST, GET or DELETE */
    struct text body;
    const char *session, *last_event; /* headers; NULL: not there */
    struct headers headers;
};

struct response {
    unsigned status;
    const char *type, *session, *allow; /* headers, or NULL; as long as the session */
    struct text body;                   /* the reader of `response` frees it */
    struct stream *stream;              /* instead of a body */
};

/* `response` begins with nothing but the status 200. */
void web_answer(struct web *web, const struct ask *ask, struct response *response);
/* An error of JSON-RPC to nobody's id. */
void response_error(struct response *response, unsigned status, const char *why);

#endif
