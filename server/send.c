/* SPDX-License-Identifier: MIT */
/* Answers and notices, made and handed to where they go. */
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};

/* ---- Who waits for what ---- */

static void expect_answer(struct outlet *outlet)
{
    outlet->due++;
}

static void answer_given(struct outlet *outlet)
{
    if (--outlet->due == 0 && outlet->done)
        outlet->done(outlet);
}

struct reply reply_to(const struct route *route, struct batch *batch)
{
    expect_answer(route->outlet);
    route->client->due++;
    if (batch)
        batch->pending++;
    return (struct reply){.client = route->client,
                          .outlet = route->outlet,
                          .batch = batch,
                          .log_level = route->client->log_level};
}

static void release_reply(struct reply *reply)
{
    struct outlet *outlet = reply->outlet;
    free(reply->id);
    reply->id = NULL;
    reply->batch = NULL;
    reply->client->due--;
    answer_given(outlet);
}

struct batch *batch_new(const struct route *route)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return NULL;
    expect_answer(route->outlet);
    batch->outlet = route->outlet;
    batch->pending = 1; /* who takes the messages, so that it is not sent before */
    text_open(&batch->out, '[');
    return batch;
}

static void send_text(struct server *server, struct outlet *outlet,
                      const struct text *text)
{
    if (text->failed)
        server->failed = true;
    else
        outlet->send(outlet, text_get(text), text->n);
}

void batch_done(struct server *server, struct batch *batch)
{
    if (!batch || --batch->pending > 0)
        return;
    if (batch->out.n > 1 || batch->out.failed) {
        text_close(&batch->out, ']');
        send_text(server, batch->outlet, &batch->out);
    }
    answer_given(batch->outlet);
    text_release(&batch->out);
    free(batch);
}

/* ---- Answers ---- */

/* `what` is "result" or "error" with its JSON. */
static void send_answer(struct server *server, struct reply *reply, const char *what,
                        const struct text *json)
{
    struct text line = {NULL, 0, 0, false};
    text_open(&line, '{');
    text_pair(&line, "jsonrpc", "2.0");
    text_key(&line, "id");
    text_raw(&line, reply->id ? reply->id : "null", reply->id ? strlen(reply->id) : 4);
    text_key(&line, what);
    text_raw(&line, text_get(json), json->n);
    text_close(&line, '}');
    line.failed = line.failed || json->failed;
    if (reply->batch)
        text_raw(&reply->batch->out, text_get(&line), line.n);
    else
        send_text(server, reply->outlet, &line);
    server->failed = server->failed || line.failed;
    text_release(&line);
    batch_done(server, reply->batch);
    release_reply(reply);
}

void put_identity(const struct server *server, struct text *text)
{
    text_open(text, '{');
    text_pair(text, "name", "cairn");
    text_pair(text, "title", "cairn: durable runs and debugging checkpoints");
    text_pair(text, "version", server->options->version);
    text_close(text, '}');
}

void reply_begin(const struct server *server, struct text *result, bool modern)
{
    reply_begin_error(server, result, modern, NULL);
}

void reply_begin_error(const struct server *server, struct text *result, bool modern,
                       const struct value *error)
{
    text_open(result, '{');
    if (modern)
        text_pair(result, "resultType", "complete");
    if (!modern && !error)
        return;
    text_key(result, "_meta");
    text_open(result, '{');
    if (modern) {
        text_key(result, META "serverInfo");
        put_identity(server, result);
    }
    if (error) {
        text_key(result, "cairn/error");
        value_copy(result, error);
    }
    text_close(result, '}');
}

void reply_fresh(struct text *result, bool modern)
{
    if (!modern)
        return;
    text_key(result, "ttlMs");
    text_int(result, 0);
    text_pair(result, "cacheScope", "private");
}

void server_result(struct server *server, struct reply *reply, struct text *result)
{
    text_close(result, '}');
    send_answer(server, reply, "result", result);
    text_release(result);
}

char *server_masked(const struct server *server, const char *text)
{
    const struct serve_options *options = server->options;
    return options->masked ? options->masked(options->masked_context, text)
                           : strdup(text);
}

void server_error(struct server *server, struct reply *reply, int code,
                  const char *message, const char *data)
{
    struct text error = {NULL, 0, 0, false};
    char *said = server_masked(server, message);
    char *more = data ? server_masked(server, data) : NULL;
    text_open(&error, '{');
    text_key(&error, "code");
    text_int(&error, code);
    text_pair(&error, "message", said ? said : "out of memory");
    if (more) {
        text_key(&error, "data");
        text_raw(&error, more, strlen(more));
    }
    text_close(&error, '}');
    free(said);
    free(more);
    send_answer(server, reply, "error", &error);
    text_release(&error);
}

void server_refuse_reply(struct server *server, struct reply *reply, int code,
                         const char *message, const char *data)
{
    reply->outlet->refused = code;
    server_error(server, reply, code, message, data);
}

void server_drop(struct server *server, struct reply *reply)
{
    batch_done(server, reply->batch);
    release_reply(reply);
}

/* ---- Notices ---- */

void notice_begin(struct text *notice, const char *method)
{
    text_open(notice, '{');
    text_pair(notice, "jsonrpc", "2.0");
    text_pair(notice, "method", method);
    text_key(notice, "params");
    text_open(notice, '{');
}

void notice_send(struct server *server, struct outlet *outlet, struct text *notice)
{
    text_close(notice, '}');
    text_close(notice, '}');
    send_text(server, outlet, notice);
    text_release(notice);
}

void server_log(struct server *server, const struct reply *reply, enum log_level level,
                const char *text)
{
    struct text notice = {NULL, 0, 0, false};
    if (level < reply->log_level)
        return;
    char *masked = server_masked(server, text);
    notice_begin(&notice, "notifications/message");
    text_pair(&notice, "level", levels[level]);
    text_pair(&notice, "logger", "cairn");
    text_pair(&notice, "data", masked ? masked : "out of memory");
    free(masked);
    notice_send(server, reply->outlet, &notice);
}

enum log_level log_level_named(const char *name)
{
    enum log_level level = LOG_DEBUG;
    while (level < LOG_NOTHING && (!name || strcmp(levels[level], name) != 0))
        level++;
    return level;
}
