/* SPDX-License-Identifier: MIT */
/* A client up to 2025-11-25 begins a session with `initialize` and names it in each
 * request; from 2026-07-28 on each request stands for itself. */
#include "server/respond.h"

#include <string.h>

static void put_error(struct response *response, unsigned status, int code,
                      const char *why)
{
    struct text *body = &response->body;
    response->status = status;
    response->type = "application/json";
    response->allow = "POST, GET, DELETE";
    text_open(body, '{');
    text_pair(body, "jsonrpc", "2.0");
    text_key(body, "error");
    text_open(body, '{');
    text_key(body, "code");
    text_int(body, code);
    text_pair(body, "message", why);
    text_close(body, '}');
    text_key(body, "id");
    text_raw(body, "null", 4);
    text_close(body, '}');
}

void response_error(struct response *response, unsigned status, const char *why)
{
    put_error(response, status, status == 503 ? ERROR_BUSY : ERROR_REQUEST, why);
}

/* The session that is named, or NULL: then that is answered. */
static struct session *named_session(struct web *web, const struct ask *ask,
                                     struct response *response)
{
    struct session *session = ask->session ? session_find(web, ask->session) : NULL;
    if (!ask->session)
        response_error(response, 400,
                       "the header Mcp-Session-Id is required, from the answer to "
                       "initialize");
    else if (!session)
        response_error(response, 404, "there is no such session, or it has ended");
    return session;
}

/* ---- POST ---- */

/* The status of an error that came before any method. In sessions only what is no
 * request at all has one: their clients read an answer's status before its error. */
static unsigned status_of(int code, bool modern)
{
    if (code == ERROR_METHOD)
        return modern ? 404 : 200;
    return code != 0 && (modern || code == ERROR_PARSE || code == ERROR_REQUEST) ? 400
                                                                                 : 200;
}

static void put_stream(struct stream *stream, bool modern, struct response *response)
{
    switch (stream_settle(stream)) {
    case STREAM_RAW:
        response->status = 202;
        return;
    case STREAM_JSON:
        response->status = status_of(stream->outlet.refused, modern);
        response->type = "application/json";
        break;
    case STREAM_EVENTS:
        response->type = "text/event-stream";
        break;
    }
    response->stream = stream;
}

static void post_value(struct web *web, const struct ask *ask,
                       const struct value *value, struct response *response)
{
    bool modern = message_is_modern(value, &ask->headers);
    struct session *session = NULL;
    struct stream *stream;
    struct route route;
    if (!modern && message_is_initialize(value)) {
        session = session_new(web);
        if (!session) {
            response_error(response, 503, "too many sessions are there");
            return;
        }
    } else if (!modern) {
        session = named_session(web, ask, response);
        if (!session)
            return;
    }
    stream = stream_new(web, session);
    if (!stream) {
        response_error(response, 503, "out of memory");
        return;
    }
    route = (struct route){stream_client(stream), &stream->outlet, &ask->headers};
    server_value(web->server, &route, value);
    put_stream(stream, modern, response);
    if (message_is_initialize(value) && session) {
        if (session->client.version)
            response->session = session->id;
        else
            session_end(session, web); /* it was refused */
    }
}

static void post(struct web *web, const struct ask *ask, struct response *response)
{
    char why[160] = "";
    struct value *value = value_parse(text_get(&ask->body), ask->body.n, why);
    char *masked = value ? NULL : server_masked(web->server, why);
    if (value)
        post_value(web, ask, value, response);
    else
        put_error(response, 400, ERROR_PARSE, masked ? masked : "out of memory");
    free(masked);
    value_free(value);
}

/* ---- GET and DELETE ---- */

static void get(struct web *web, const struct ask *ask, struct response *response)
{
    struct session *session = named_session(web, ask, response);
    struct stream *stream = session ? session->notices : NULL;
    if (!session)
        return;
    if (ask->last_event)
        stream = stream_after(web, session, ask->last_event);
    if (!stream) {
        response_error(response, 400,
                       "what comes behind the event of Last-Event-ID is not kept");
        return;
    }
    response->type = "text/event-stream";
    response->stream = stream;
}

void web_answer(struct web *web, const struct ask *ask, struct response *response)
{
    const char *version = ask->headers.version;
    struct session *session;
    if (strcmp(ask->method, "POST") == 0) {
        post(web, ask, response);
        return;
    }
    if (version && message_is_modern(NULL, &ask->headers)) {
        response_error(response, 405, "from 2026-07-28 on the method is POST");
        response->allow = "POST";
        return;
    }
    if (strcmp(ask->method, "GET") == 0) {
        get(web, ask, response);
        return;
    }
    session = named_session(web, ask, response);
    if (!session)
        return;
    session_end(session, web);
    response->status = 204;
}
