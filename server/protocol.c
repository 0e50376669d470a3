/* SPDX-License-Identifier: MIT */
/* Messages of JSON-RPC 2.0 and the methods of the protocol, in both its forms: up to
 * 2025-11-25 a client begins with `initialize`; from 2026-07-28 on each request says
 * its version in `_meta`, and results have a `resultType`. A server of each kind is the
 * same here, for nothing that is remembered between requests decides what they do. */
#include "server/server.h"

#include <string.h>

#define VERSION_KEY "io.modelcontextprotocol/protocolVersion"
#define MODERN "2026-07-28"
#define BATCHES "2025-03-26" /* the one version that has arrays of messages */
#define BATCH_MAX 64

static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                       "2024-11-05", "2024-10-07", NULL};
static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static const char instructions[] =
    "cairn keeps runs of workflows and debugging sessions in a durable store. "
    "session_show says how a session stands; checkpoint_save keeps what you know "
    "before your context is full or before something risky, and checkpoint_resume "
    "gives it back. run_start returns at once; run_status, run_log and run_explain say "
    "what became of it. checkpoint_restore changes nothing without confirm: true.";

/* ---- Sending ---- */

static void release_reply(struct reply *reply)
{
    free(reply->id);
    reply->id = NULL;
    reply->batch = NULL;
}

static void send_line(struct server *server, const struct text *line)
{
    if (line->failed)
        server->failed = true;
    text_add(&server->out, text_get(line), line->n);
    text_add(&server->out, "\n", 1);
    server->failed = server->failed || server->out.failed;
}

/* One answer less to wait for; the last one sends them all. */
static void batch_done(struct server *server, struct batch *batch)
{
    if (!batch || --batch->pending > 0)
        return;
    if (batch->out.n > 1 || batch->out.failed) {
        text_close(&batch->out, ']');
        send_line(server, &batch->out);
    }
    text_release(&batch->out);
    free(batch);
}

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
        send_line(server, &line);
    server->failed = server->failed || line.failed;
    text_release(&line);
    batch_done(server, reply->batch);
    release_reply(reply);
}

static void put_identity(const struct server *server, struct text *text)
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
        text_key(result, "io.modelcontextprotocol/serverInfo");
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

void server_error(struct server *server, struct reply *reply, int code,
                  const char *message, const char *data)
{
    struct text error = {NULL, 0, 0, false};
    text_open(&error, '{');
    text_key(&error, "code");
    text_int(&error, code);
    text_pair(&error, "message", message);
    if (data) {
        text_key(&error, "data");
        text_raw(&error, data, strlen(data));
    }
    text_close(&error, '}');
    send_answer(server, reply, "error", &error);
    text_release(&error);
}

void server_drop(struct server *server, struct reply *reply)
{
    batch_done(server, reply->batch);
    release_reply(reply);
}

void server_log(struct server *server, int level, const char *text)
{
    struct text line = {NULL, 0, 0, false};
    if (!server->version || level < server->log_level)
        return;
    text_open(&line, '{');
    text_pair(&line, "jsonrpc", "2.0");
    text_pair(&line, "method", "notifications/message");
    text_key(&line, "params");
    text_open(&line, '{');
    text_pair(&line, "level", levels[level]);
    text_pair(&line, "logger", "cairn");
    text_pair(&line, "data", text);
    text_close(&line, '}');
    text_close(&line, '}');
    send_line(server, &line);
    text_release(&line);
}

/* ---- Calls of commands ---- */

struct call *server_call(struct server *server, struct request *request)
{
    const struct serve_options *options = server->options;
    struct call *call = call_new();
    struct text word = {NULL, 0, 0, false};
    if (!call) {
        server_error(server, request->reply, ERROR_INTERNAL, "out of memory", NULL);
        return NULL;
    }
    call->reply = *request->reply;
    *request->reply = (struct reply){.modern = call->reply.modern};
    call->time_limit_ms = options->time_limit_ms;
    arguments_add(&call->arguments, "cairn");
    if (options->store) {
        text_format(&word, "--store=%s", options->store);
        arguments_add(&call->arguments, text_get(&word));
    }
    if (options->key) {
        text_cut(&word, word.n);
        text_format(&word, "--key=%s", options->key);
        arguments_add(&call->arguments, text_get(&word));
    }
    call->arguments.failed = call->arguments.failed || word.failed;
    text_release(&word);
    return call;
}

void server_start_call(struct server *server, struct call *call)
{
    if (call->arguments.failed)
        server_error(server, &call->reply, ERROR_INTERNAL, "out of memory", NULL);
    else if (calls_add(&server->calls, call))
        return;
    else
        server_error(server, &call->reply, ERROR_BUSY,
                     "too many calls wait: ask again when some are answered", NULL);
    call_free(call);
}

/* ---- Methods ---- */

static void put_capabilities(struct text *text, bool modern)
{
    static const char *const names[] = {"tools", "resources", "prompts", "completions",
                                        "logging"};
    size_t n = sizeof names / sizeof names[0] - modern;
    text_key(text, "capabilities");
    text_open(text, '{');
    for (size_t i = 0; i < n; i++) {
        text_key(text, names[i]);
        text_open(text, '{');
        text_close(text, '}');
    }
    text_close(text, '}');
}

static void initialize(struct server *server, struct request *request)
{
    const char *wanted = value_text(value_member(request->params, "protocolVersion"));
    struct text result = {NULL, 0, 0, false};
    if (!wanted) {
        server_error(server, request->reply, ERROR_PARAMS,
                     "initialize: \"protocolVersion\" is a string", NULL);
        return;
    }
    server->version = versions[0];
    for (size_t i = 0; versions[i]; i++)
        if (strcmp(versions[i], wanted) == 0)
            server->version = versions[i];
    reply_begin(server, &result, false);
    text_pair(&result, "protocolVersion", server->version);
    put_capabilities(&result, false);
    text_key(&result, "serverInfo");
    put_identity(server, &result);
    text_pair(&result, "instructions", instructions);
    server_result(server, request->reply, &result);
}

static void discover(struct server *server, struct request *request)
{
    struct text result = {NULL, 0, 0, false};
    reply_begin(server, &result, true);
    text_key(&result, "supportedVersions");
    text_raw(&result, "[\"" MODERN "\"]", strlen(MODERN) + 4);
    put_capabilities(&result, true);
    text_key(&result, "serverInfo");
    put_identity(server, &result);
    text_pair(&result, "instructions", instructions);
    reply_fresh(&result, true);
    server_result(server, request->reply, &result);
}

static void ping(struct server *server, struct request *request)
{
    struct text result = {NULL, 0, 0, false};
    reply_begin(server, &result, request->reply->modern);
    server_result(server, request->reply, &result);
}

static void set_level(struct server *server, struct request *request)
{
    const char *wanted = value_text(value_member(request->params, "level"));
    for (int i = 0; wanted && i < LEVELS; i++) {
        if (strcmp(levels[i], wanted) != 0)
            continue;
        server->log_level = i;
        ping(server, request);
        return;
    }
    server_error(server, request->reply, ERROR_PARAMS,
                 "\"level\" is one of debug, info, notice, warning, error, critical, "
                 "alert, emergency",
                 NULL);
}

static const struct method {
    const char *name;
    void (*answer)(struct server *server, struct request *request);
    bool old, modern; /* in which form of the protocol there is one */
} methods[] = {
    {"initialize", initialize, true, false},
    {"server/discover", discover, true, true},
    {"ping", ping, true, true},
    {"logging/setLevel", set_level, true, false},
    {"tools/list", tools_list, true, true},
    {"tools/call", tools_call, true, true},
    {"resources/list", resources_list, true, true},
    {"resources/templates/list", resources_templates, true, true},
    {"resources/read", resources_read, true, true},
    {"prompts/list", prompts_list, true, true},
    {"prompts/get", prompts_get, true, true},
    {"completion/complete", completion_complete, true, true},
};

static const struct method *method_named(const char *name, bool modern)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].name, name) == 0 &&
            (modern ? methods[i].modern : methods[i].old))
            return &methods[i];
    return NULL;
}

/* ---- Messages ---- */

static bool version_refused(struct server *server, struct reply *reply,
                            const struct value *params)
{
    const struct value *wanted =
        value_member(value_member(params, "_meta"), VERSION_KEY);
    struct text data = {NULL, 0, 0, false};
    if (!wanted)
        return false;
    reply->modern = true;
    if (value_text(wanted) && strcmp(value_text(wanted), MODERN) == 0)
        return false;
    text_open(&data, '{');
    text_key(&data, "supported");
    text_raw(&data, "[\"" MODERN "\"]", strlen(MODERN) + 4);
    text_key(&data, "requested");
    value_copy(&data, wanted);
    text_close(&data, '}');
    server_error(server, reply, ERROR_VERSION,
                 "this version of the protocol is not spoken here", text_get(&data));
    text_release(&data);
    return true;
}

static void unknown_method(struct server *server, struct reply *reply, const char *name)
{
    struct text text = {NULL, 0, 0, false};
    text_format(&text, "there is no method %.80s", name);
    server_error(server, reply, ERROR_METHOD, text_get(&text), NULL);
    text_release(&text);
}

static void handle_request(struct server *server, struct reply *reply, const char *name,
                           const struct value *params)
{
    struct request request = {reply, params};
    const struct method *method;
    if (params && value_kind(params) != VALUE_OBJECT) {
        server_error(server, reply, ERROR_PARAMS, "\"params\" is an object", NULL);
        return;
    }
    if (version_refused(server, reply, params))
        return;
    if (calls_has(&server->calls, reply->id)) {
        server_error(server, reply, ERROR_REQUEST,
                     "a request with this \"id\" is not answered yet", NULL);
        return;
    }
    method = method_named(name, reply->modern);
    if (method)
        method->answer(server, &request);
    else
        unknown_method(server, reply, name);
}

static void handle_notice(struct server *server, const char *name,
                          const struct value *params)
{
    const struct value *id = value_member(params, "requestId");
    struct text text = {NULL, 0, 0, false};
    if (strcmp(name, "notifications/cancelled") != 0 || !id)
        return; /* others say nothing that matters here, or are not known */
    value_copy(&text, id);
    calls_cancel(&server->calls, text_get(&text));
    text_release(&text);
}

static bool is_id(const struct value *id)
{
    return value_kind(id) == VALUE_STRING || value_kind(id) == VALUE_INTEGER ||
           value_kind(id) == VALUE_REAL;
}

static void handle_message(struct server *server, const struct value *message,
                           struct batch *batch)
{
    const char *jsonrpc = value_text(value_member(message, "jsonrpc"));
    const char *name = value_text(value_member(message, "method"));
    const struct value *id = value_member(message, "id");
    const struct value *params = value_member(message, "params");
    struct reply reply = {.batch = batch};
    struct text copy = {NULL, 0, 0, false};
    bool good = jsonrpc && strcmp(jsonrpc, "2.0") == 0 && name && (!id || is_id(id));
    if (is_id(id) && value_text_length(id) <= 1000) {
        value_copy(&copy, id);
        reply.id = text_take(&copy);
    }
    if (batch)
        batch->pending++;
    if (id && good && !reply.id)
        server_error(server, &reply, ERROR_REQUEST, "\"id\" is too long", NULL);
    else if (good && id)
        handle_request(server, &reply, name, params);
    else if (good) {
        handle_notice(server, name, params);
        server_drop(server, &reply);
    } else if (value_member(message, "result") || value_member(message, "error"))
        server_drop(server, &reply); /* an answer, and nothing was asked */
    else
        server_error(server, &reply, ERROR_REQUEST,
                     "this is no request of JSON-RPC 2.0: \"jsonrpc\" is \"2.0\", "
                     "\"method\" a string, \"id\" a string or a number",
                     NULL);
}

static void handle_batch(struct server *server, const struct value *messages)
{
    struct reply none = {.id = NULL};
    size_t n = value_count(messages);
    struct batch *batch;
    if (!server->version || strcmp(server->version, BATCHES) != 0 || n == 0 ||
        n > BATCH_MAX) {
        server_error(server, &none, ERROR_REQUEST,
                     "an array of messages is taken in version " BATCHES
                     " of the protocol only, with 1 to 64 of them",
                     NULL);
        return;
    }
    batch = calloc(1, sizeof *batch);
    if (!batch) {
        server->failed = true;
        return;
    }
    batch->pending = 1; /* this loop, so that it is not sent in the middle */
    text_open(&batch->out, '[');
    /* It lives as long as `pending`, which the analyzer does not count. */
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc) */
    for (size_t i = 0; i < n; i++)
        handle_message(server, value_at(messages, i), batch);
    batch_done(server, batch);
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

void server_message(struct server *server, const char *line, size_t n)
{
    struct reply none = {.id = NULL};
    char why[160] = "";
    struct value *value;
    size_t blank = 0;
    while (blank < n && strchr(" \t\r", line[blank]))
        blank++;
    if (blank == n)
        return;
    value = value_parse(line, n, why);
    if (!value)
        server_error(server, &none, ERROR_PARSE, why, NULL);
    else if (value_kind(value) == VALUE_ARRAY)
        handle_batch(server, value);
    else
        handle_message(server, value, NULL);
    value_free(value);
}

void server_message_too_long(struct server *server)
{
    struct reply none = {.id = NULL};
    server_error(server, &none, ERROR_REQUEST, "a message has more than 4 MiB", NULL);
}
