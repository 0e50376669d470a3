/* SPDX-License-Identifier: MIT */
#include "server/answer.h"

#include "server/call.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

/* Commands print one document. `run` and `resume` print a line for each event: of one
 * that has ended, the first line with a number says what was started, and a last line
 * that is an error says why nothing was. */
static bool take_line(struct answer *answer, const char *line, size_t n)
{
    char why[160];
    struct value *value = value_parse(line, n, why);
    if (value_kind(value) != VALUE_OBJECT) {
        value_free(value);
        return false;
    }
    value_free(answer->document);
    answer->document = value;
    answer->json = line;
    answer->n = n;
    return true;
}

static void take_document(struct answer *answer, const struct call *call)
{
    const char *line = text_get(&call->out);
    while (*line) {
        size_t n = strcspn(line, "\n");
        int64_t run;
        if (n > 0 && !take_line(answer, line, n))
            return;
        if (call->starts && value_integer(value_member(answer->document, "run"), &run))
            return;
        line += n + (line[n] == '\n');
    }
}

static void say_limits(struct answer *answer, const struct call *call)
{
    if (call->timed_out)
        buf_format(&answer->problem,
                   "it took longer than %lld seconds and was ended; what it had "
                   "stored by then stays",
                   (long long)(call->time_limit_ms / 1000));
    else
        buf_text(&answer->problem,
                 "the answer has more than 4 MiB: ask for less, with limit, or for one "
                 "thing");
}

void answer_init(struct answer *answer, const struct call *call)
{
    const struct value *error;
    const char *text;
    *answer = (struct answer){.document = NULL};
    if (call->timed_out || call->too_large) {
        answer->refused = true;
        say_limits(answer, call);
        return;
    }
    take_document(answer, call);
    error = value_member(answer->document, "error");
    text = value_text(value_member(error, "text"));
    answer->code = value_text(value_member(error, "code"));
    answer->refused = error || !answer->document;
    if (!answer->refused)
        return;
    if (text)
        buf_text(&answer->problem, text);
    else if (call->left)
        buf_text(&answer->problem,
                 "the client has closed its side: the wait was ended");
    else if (call->err.size > 0)
        buf_text(&answer->problem, text_get(&call->err));
    else
        buf_format(&answer->problem, "it ended with status %d and printed nothing",
                   call->status);
}

void answer_release(struct answer *answer)
{
    value_free(answer->document);
    buf_release(&answer->problem);
    answer->document = NULL;
}

bool answer_not_found(const struct answer *answer)
{
    return answer->code && strcmp(answer->code, "not found") == 0;
}

void answer_problem(struct server *server, struct call *call,
                    const struct answer *answer, const char *uri)
{
    struct buf data = BUF_INIT;
    int code = ERROR_INTERNAL;
    if (answer->code)
        code = answer_not_found(answer) && !call->reply.modern ? ERROR_NO_RESOURCE
                                                               : ERROR_PARAMS;
    text_open(&data, '{');
    if (uri)
        text_pair(&data, "uri", uri);
    text_close(&data, '}');
    server_error(server, &call->reply, code, text_get(&answer->problem),
                 text_get(&data));
    buf_release(&data);
}

/* Answers and notices, made and handed to where they go. */

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
                      const struct buf *text)
{
    if (text->failed)
        server->failed = true;
    else
        outlet->send(outlet, text_get(text), text->size);
}

void batch_done(struct server *server, struct batch *batch)
{
    if (!batch || --batch->pending > 0)
        return;
    if (batch->out.size > 1 || batch->out.failed) {
        text_close(&batch->out, ']');
        send_text(server, batch->outlet, &batch->out);
    }
    answer_given(batch->outlet);
    buf_release(&batch->out);
    free(batch);
}

/* ---- Answers ---- */

/* `what` is "result" or "error" with its JSON. */
static void send_answer(struct server *server, struct reply *reply, const char *what,
                        const struct buf *json)
{
    struct buf line = BUF_INIT;
    text_open(&line, '{');
    text_pair(&line, "jsonrpc", "2.0");
    text_key(&line, "id");
    text_raw(&line, reply->id ? reply->id : "null", reply->id ? strlen(reply->id) : 4);
    text_key(&line, what);
    text_raw(&line, text_get(json), json->size);
    text_close(&line, '}');
    line.failed = line.failed || json->failed;
    if (reply->batch)
        text_raw(&reply->batch->out, text_get(&line), line.size);
    else
        send_text(server, reply->outlet, &line);
    server->failed = server->failed || line.failed;
    buf_release(&line);
    batch_done(server, reply->batch);
    release_reply(reply);
}

void put_identity(const struct server *server, struct buf *text)
{
    text_open(text, '{');
    text_pair(text, "name", "cairn");
    text_pair(text, "title", "cairn: durable runs and debugging checkpoints");
    text_pair(text, "version", server->options->version);
    text_close(text, '}');
}

void reply_begin(const struct server *server, struct buf *result, bool modern)
{
    reply_begin_error(server, result, modern, NULL);
}

void reply_begin_error(const struct server *server, struct buf *result, bool modern,
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

void reply_fresh(struct buf *result, bool modern)
{
    if (!modern)
        return;
    text_key(result, "ttlMs");
    text_int(result, 0);
    text_pair(result, "cacheScope", "private");
}

void server_result(struct server *server, struct reply *reply, struct buf *result)
{
    text_close(result, '}');
    send_answer(server, reply, "result", result);
    buf_release(result);
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
    struct buf error = BUF_INIT;
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
    buf_release(&error);
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

void notice_begin(struct buf *notice, const char *method)
{
    text_open(notice, '{');
    text_pair(notice, "jsonrpc", "2.0");
    text_pair(notice, "method", method);
    text_key(notice, "params");
    text_open(notice, '{');
}

void notice_send(struct server *server, struct outlet *outlet, struct buf *notice)
{
    text_close(notice, '}');
    text_close(notice, '}');
    send_text(server, outlet, notice);
    buf_release(notice);
}

void server_log(struct server *server, const struct reply *reply, enum log_level level,
                const char *text)
{
    struct buf notice = BUF_INIT;
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

/* How far calls are, told each second under the token that a client gave. */

#define PROGRESS_MS 1000

/* What it said last on stderr, as commands do that take long. */
static void put_last_line(struct buf *text, const struct call *call)
{
    const char *bytes = text_get(&call->err);
    size_t end = call->err.size, from;
    while (end > 0 && (bytes[end - 1] == '\n' || bytes[end - 1] == '\r'))
        end--;
    for (from = end; from > 0 && bytes[from - 1] != '\n' && bytes[from - 1] != '\r';)
        from--;
    text_bytes(text, bytes + from, end - from < 200 ? end - from : 200);
}

static void tell_progress(struct calls *calls, struct call *call, int64_t now,
                          bool runs)
{
    struct buf notice = BUF_INIT;
    if (!call->progress || call->cancelled || now - call->told_ms < PROGRESS_MS)
        return;
    call->told_ms = now;
    notice_begin(&notice, "notifications/progress");
    text_key(&notice, "progressToken");
    text_raw(&notice, call->progress, strlen(call->progress));
    text_key(&notice, "progress");
    text_int(&notice, (now - call->began_ms) / 1000);
    text_key(&notice, "message");
    if (runs && call->err.size > 0)
        put_last_line(&notice, call);
    else
        text_string(&notice, runs ? "seconds so far"
                                  : "seconds so far: it waits for "
                                    "calls before it");
    notice_send(calls->server, call->reply.outlet, &notice);
}

void calls_tell(struct calls *calls)
{
    int64_t now = clock_ms();
    for (struct call *call = calls->running; call; call = call->next)
        tell_progress(calls, call, now, true);
    for (struct call *call = calls->waiting; call; call = call->next)
        tell_progress(calls, call, now, false);
}

static int64_t tell_due(const struct call *list)
{
    int64_t due = INT64_MAX;
    for (; list; list = list->next)
        if (list->progress && !list->cancelled && list->told_ms + PROGRESS_MS < due)
            due = list->told_ms + PROGRESS_MS;
    return due;
}

int64_t calls_tell_due(const struct calls *calls)
{
    int64_t running = tell_due(calls->running), waiting = tell_due(calls->waiting);
    return running < waiting ? running : waiting;
}
