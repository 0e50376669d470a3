/* SPDX-License-Identifier: MIT */
/* The state of the server, and answers. The protocol (protocol.c) takes messages, the
 * rest of this room makes results of them. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/call.h"
#include "server/serve.h"

/* Codes of JSON-RPC, and of the protocol. */
#define ERROR_PARSE (-32700)
#define ERROR_REQUEST (-32600)
#define ERROR_METHOD (-32601)
#define ERROR_PARAMS (-32602)
#define ERROR_INTERNAL (-32603)
#define ERROR_BUSY (-32000)
#define ERROR_NO_RESOURCE (-32002) /* before 2026-07-28 */
#define ERROR_VERSION (-32022)

#define MESSAGE_BYTES ((size_t)4 << 20)
#define QUEUE_BYTES ((size_t)64 << 20)

/* Answers to an array of messages, which are sent as one array. */
struct batch {
    struct text out;
    size_t pending;
};

struct server {
    const struct serve_options *options;
    struct text out; /* what is to be written */
    size_t written;  /* of it */
    struct calls calls;
    const char *version; /* of the protocol, from initialize; NULL before it */
    int log_level;       /* 0 (debug) to 7 (emergency): what is less is not sent */
    bool failed;         /* out of memory */
};

/* One request. */
struct request {
    struct reply *reply; /* id is taken by who answers later */
    const struct value *params;
};

/* One message, without its line feed. */
void server_message(struct server *server, const char *line, size_t n);
void server_message_too_long(struct server *server);

/* Begins a result: an open object. */
void reply_begin(const struct server *server, struct text *result, bool modern);
/* The same with what the command says of its error, for programs; NULL: none. */
void reply_begin_error(const struct server *server, struct text *result, bool modern,
                       const struct value *error);
/* How long a client may keep a list or a resource (2026-07-28). */
void reply_fresh(struct text *result, bool modern);
/* Closes the object and sends it; releases the text and the reply. */
void server_result(struct server *server, struct reply *reply, struct text *result);
/* `data` is JSON or NULL. Releases the reply. */
void server_error(struct server *server, struct reply *reply, int code,
                  const char *message, const char *data);
/* No answer. Releases the reply. */
void server_drop(struct server *server, struct reply *reply);
/* A notice for the client, if it wants those of this level (0 to 7). */
void server_log(struct server *server, int level, const char *text);

/* A call with the words that every command begins with, which takes over the reply's
 * id. NULL: out of memory, answered. */
struct call *server_call(struct server *server, struct request *request);
/* Adds it, or answers that it cannot be. */
void server_start_call(struct server *server, struct call *call);

/* Methods. Each answers the request, now or later. */
void tools_list(struct server *server, struct request *request);
void tools_call(struct server *server, struct request *request);
void resources_list(struct server *server, struct request *request);
void resources_templates(struct server *server, struct request *request);
void resources_read(struct server *server, struct request *request);
void prompts_list(struct server *server, struct request *request);
void prompts_get(struct server *server, struct request *request);
void completion_complete(struct server *server, struct request *request);

#endif
