/* SPDX-License-Identifier: MIT */
/* The state of the server, and answers. The protocol (protocol.c) takes messages, the
 * rest of this room makes results of them. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/call.h"
#include "server/serve.h"
#include "server/watch.h"

/* Codes of JSON-RPC, and of the protocol. */
#define ERROR_PARSE (-32700)
#define ERROR_REQUEST (-32600)
#define ERROR_METHOD (-32601)
#define ERROR_PARAMS (-32602)
#define ERROR_INTERNAL (-32603)
#define ERROR_BUSY (-32000)
#define ERROR_NO_RESOURCE (-32002) /* before 2026-07-28 */
#define ERROR_HEADERS (-32020)
#define ERROR_VERSION (-32022)

/* Members of `_meta`. */
#define META "io.modelcontextprotocol/"

#define MESSAGE_BYTES ((size_t)4 << 20)
#define QUEUE_BYTES ((size_t)64 << 20)

/* Where messages go: stdout, or the answer to one request of HTTP. */
struct outlet {
    /* Takes a message: JSON without a line feed. */
    void (*send)(struct outlet *outlet, const char *json, size_t n);
    /* Called when no answer is due any more. NULL: nobody wants to know. */
    void (*done)(struct outlet *outlet);
    size_t due;  /* answers that are to come */
    int refused; /* the code of an error with which no method had to do; 0: none */
};

/* Who talks to us: over stdio the only one; over HTTP a session, or in the protocol of
 * 2026-07-28 one request. */
struct client {
    const char *version;      /* of the protocol, from initialize; NULL before it */
    enum log_level log_level; /* what is less is not sent */
    struct outlet *notices;   /* for what belongs to no request; NULL: for nobody */
    size_t due;               /* requests that are not answered */
};

/* Answers to an array of messages, which are sent as one array. */
struct batch {
    struct buf out;
    size_t pending;
    struct outlet *outlet;
};

struct server {
    const struct serve_options *options;
    struct calls calls;
    struct watch watch;
    bool failed; /* out of memory */
};

void server_init(struct server *server, const struct serve_options *options);
/* The two halves of a turn: what to wait for, with room for SERVER_FDS, and what is to
 * be done afterwards. */
#define SERVER_FDS (CALLS_FDS + WATCH_FDS)
size_t server_poll(struct server *server, struct pollfd *fds, int64_t *until_ms);
void server_turn(struct server *server);
/* Ends every child that does not go on. */
void server_end(struct server *server);

/* One request. */
struct request {
    struct reply *reply; /* id is taken by who answers later */
    const struct value *params;
};

/* What HTTP says of a message beside it; NULL: a header that is not there. */
struct headers {
    const char *version, *method, *name;
};

/* How a message came. */
struct route {
    struct client *client;
    struct outlet *outlet;
    const struct headers *headers; /* NULL: over stdio */
};

/* One message, without its line feed; the second after value_parse. */
void server_message(struct server *server, const struct route *route, const char *line,
                    size_t n);
void server_value(struct server *server, const struct route *route,
                  const struct value *message);
/* Answers what is no message at all. */
void server_message_too_long(struct server *server, const struct route *route);
/* Whether it is in the protocol of 2026-07-28, by itself or by its header. */
bool message_is_modern(const struct value *message, const struct headers *headers);
/* Whether it begins a session. */
bool message_is_initialize(const struct value *message);

/* Ends such requests and, where no request is meant, all that was subscribed to. */
void server_forget(struct server *server, const struct whose *whose);

/* Begins a result: an open object. */
void reply_begin(const struct server *server, struct buf *result, bool modern);
/* The same with what the command says of its error, for programs; NULL: none. */
void reply_begin_error(const struct server *server, struct buf *result, bool modern,
                       const struct value *error);
/* Who we are, as a value. */
void put_identity(const struct server *server, struct buf *text);
/* How long a client may keep a list or a resource (2026-07-28). */
void reply_fresh(struct buf *result, bool modern);
/* A reply to nobody's id, for a message that came so. */
struct reply reply_to(const struct route *route, struct batch *batch);
struct batch *batch_new(const struct route *route); /* NULL: out of memory */
/* One answer less to wait for; the last one sends them all. */
void batch_done(struct server *server, struct batch *batch);
/* The text of an error without secrets; heap, or NULL: out of memory. */
char *server_masked(const struct server *server, const char *text);
/* Closes the object and sends it; releases the text and the reply. */
void server_result(struct server *server, struct reply *reply, struct buf *result);
/* `data` is JSON or NULL. Releases the reply. */
void server_error(struct server *server, struct reply *reply, int code,
                  const char *message, const char *data);
/* The same where it is no method that says so. */
void server_refuse_reply(struct server *server, struct reply *reply, int code,
                         const char *message, const char *data);
/* No answer. Releases the reply. */
void server_drop(struct server *server, struct reply *reply);
/* Begins a notice, up to its open params, and sends it; releases the text. */
void notice_begin(struct buf *notice, const char *method);
void notice_send(struct server *server, struct outlet *outlet, struct buf *notice);
/* A line of the log about a request, if its client wants those of this level. */
void server_log(struct server *server, const struct reply *reply, enum log_level level,
                const char *text);
/* LOG_NOTHING if it is none. */
enum log_level log_level_named(const char *name);

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
void resources_subscribe(struct server *server, struct request *request);
void resources_unsubscribe(struct server *server, struct request *request);
void subscriptions_listen(struct server *server, struct request *request);

/* The address of a resource, "cairn://log/7/a%2Fb"; NULL: out of memory. */
char *resource_place(const char *kind, const char *first, const char *second);
/* The same of an address that is written differently; NULL: it is none, or names a run
 * by something else than its number, which can be another run tomorrow. */
char *resource_canonical(const char *uri);

#endif
