/* SPDX-License-Identifier: MIT */
/* Messages of JSON-RPC 2.0 and the methods of the protocol, in both its forms: up to
 * 2025-11-25 a client begins with `initialize`; from 2026-07-28 on each request says
 * its version in `_meta`, and results have a `resultType`. A server of each kind is the
 * same here, for nothing that is remembered between requests decides what they do. */
#include "server/gate.h"
#include "server/server.h"

#include <string.h>

#define MODERN "2026-07-28"
#define BATCHES "2025-03-26" /* the one version that has arrays of messages */
#define BATCH_MAX 64

static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                       "2024-11-05", NULL};
static const char instructions[] =
    "cairn keeps runs of workflows and debugging sessions in a durable store. "
    "session_show reports the state of a session; checkpoint_save keeps what you know "
    "before your context is full or before something risky, and checkpoint_resume "
    "gives it back. run_start returns at once; run_status, run_log and run_explain say "
    "its outcome. checkpoint_restore changes nothing without confirm: true.";

/* ---- The state ---- */

void server_init(struct server *server, const struct serve_options *options)
{
    *server = (struct server){.options = options};
    calls_init(&server->calls, server);
    watch_init(&server->watch, server);
}

size_t server_poll(struct server *server, struct pollfd *fds, int64_t *until_ms)
{
    size_t n = calls_poll(&server->calls, fds, until_ms);
    return n + watch_poll(&server->watch, fds + n, until_ms);
}

void server_turn(struct server *server)
{
    calls_serve(&server->calls);
    watch_serve(&server->watch);
}

void server_end(struct server *server)
{
    watch_end(&server->watch);
    calls_end(&server->calls);
}

/* ---- Calls of commands ---- */

static void take_progress(struct call *call, const struct value *token)
{
    struct buf copy = BUF_INIT;
    if ((value_kind(token) != VALUE_STRING && value_kind(token) != VALUE_INTEGER) ||
        value_text_length(token) > 1000)
        return;
    value_copy(&copy, token);
    call->progress = text_take(&copy);
}

struct call *server_call(struct server *server, struct request *request)
{
    const struct serve_options *options = server->options;
    struct call *call = call_new();
    struct buf word = BUF_INIT;
    if (!call) {
        server_error(server, request->reply, ERROR_INTERNAL, "out of memory", NULL);
        return NULL;
    }
    call->reply = *request->reply;
    *request->reply = (struct reply){.modern = call->reply.modern};
    call->time_limit_ms = options->time_limit_ms;
    take_progress(
        call, value_member(value_member(request->params, "_meta"), "progressToken"));
    arguments_add(&call->arguments, "cairn");
    if (options->store) {
        buf_format(&word, "--store=%s", options->store);
        arguments_add(&call->arguments, text_get(&word));
    }
    call->arguments.failed = call->arguments.failed || word.failed;
    buf_release(&word);
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
                     call->lane == LANE_AWAIT
                         ? "too many calls wait for something to do: ask again when "
                           "some are answered, or without \"wait\""
                         : "too many calls wait: ask again when some are answered",
                     NULL);
    call_free(call);
}

/* ---- Methods ---- */

static void put_capabilities(struct buf *text, bool modern)
{
    static const char *const names[] = {"tools", "prompts", "completions", "logging"};
    size_t n = COUNT_OF(names) - modern;
    text_key(text, "capabilities");
    text_open(text, '{');
    for (size_t i = 0; i < n; i++) {
        text_key(text, names[i]);
        text_open(text, '{');
        text_close(text, '}');
    }
    text_key(text, "resources");
    text_open(text, '{');
    text_key(text, "subscribe");
    text_bool(text, true);
    /* Before 2026-07-28 every client would get every change. */
    if (modern) {
        text_key(text, "listChanged");
        text_bool(text, true);
    }
    text_close(text, '}');
    text_close(text, '}');
}

static const char *version_named(const char *name)
{
    for (size_t i = 0; name && versions[i]; i++)
        if (strcmp(versions[i], name) == 0)
            return versions[i];
    return NULL;
}

static void initialize(struct server *server, struct request *request)
{
    const char *wanted = value_text(value_member(request->params, "protocolVersion"));
    struct client *client = request->reply->client;
    struct buf result = BUF_INIT;
    if (!wanted) {
        server_error(server, request->reply, ERROR_PARAMS,
                     "initialize: \"protocolVersion\" is a string", NULL);
        return;
    }
    client->version = version_named(wanted) ? version_named(wanted) : versions[0];
    client->log_level = LOG_NOTICE; /* until it says what it wants */
    reply_begin(server, &result, false);
    text_pair(&result, "protocolVersion", client->version);
    put_capabilities(&result, false);
    text_key(&result, "serverInfo");
    put_identity(server, &result);
    text_pair(&result, "instructions", instructions);
    server_result(server, request->reply, &result);
}

static void discover(struct server *server, struct request *request)
{
    struct buf result = BUF_INIT;
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
    struct buf result = BUF_INIT;
    reply_begin(server, &result, request->reply->modern);
    server_result(server, request->reply, &result);
}

static void set_level(struct server *server, struct request *request)
{
    const char *wanted = value_text(value_member(request->params, "level"));
    if (log_level_named(wanted) == LOG_NOTHING) {
        server_error(server, request->reply, ERROR_PARAMS,
                     "\"level\" is one of debug, info, notice, warning, error, "
                     "critical, alert, emergency",
                     NULL);
        return;
    }
    request->reply->client->log_level = log_level_named(wanted);
    ping(server, request);
}

static const struct method {
    const char *name;
    void (*answer)(struct server *server, struct request *request);
    bool old, modern; /* in which form of the protocol there is one */
} methods[] = {
    {"initialize", initialize, true, false},
    {"server/discover", discover, true, true},
    {"ping", ping, true, false},
    {"logging/setLevel", set_level, true, false},
    {"tools/list", tools_list, true, true},
    {"tools/call", tools_call, true, true},
    {"resources/list", resources_list, true, true},
    {"resources/templates/list", resources_templates, true, true},
    {"resources/read", resources_read, true, true},
    {"resources/subscribe", resources_subscribe, true, false},
    {"resources/unsubscribe", resources_unsubscribe, true, false},
    {"subscriptions/listen", subscriptions_listen, false, true},
    {"prompts/list", prompts_list, true, true},
    {"prompts/get", prompts_get, true, true},
    {"completion/complete", completion_complete, true, true},
};

static const struct method *method_named(const char *name, bool modern)
{
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (strcmp(methods[i].name, name) == 0 &&
            (modern ? methods[i].modern : methods[i].old))
            return &methods[i];
    return NULL;
}

/* ---- Messages ---- */

static bool version_refused(struct server *server, struct reply *reply,
                            const struct value *meta)
{
    const struct value *wanted = value_member(meta, META "protocolVersion");
    struct buf data = BUF_INIT;
    if (value_text(wanted) && strcmp(value_text(wanted), MODERN) == 0)
        return false;
    text_open(&data, '{');
    text_key(&data, "supported");
    text_raw(&data, "[\"" MODERN "\"]", strlen(MODERN) + 4);
    text_key(&data, "requested");
    value_copy(&data, wanted);
    text_close(&data, '}');
    server_refuse_reply(server, reply, ERROR_VERSION,
                        "this version of the protocol is not supported",
                        text_get(&data));
    buf_release(&data);
    return true;
}

/* A request of 2026-07-28 says of itself what others said once. */
static bool meta_refused(struct server *server, struct reply *reply,
                         const struct value *meta)
{
    const struct value *level = value_member(meta, META "logLevel");
    const char *lacks =
        value_kind(value_member(meta, META "protocolVersion")) != VALUE_STRING ? META
            "protocolVersion\" is a string"
        : value_kind(value_member(meta, META "clientCapabilities")) != VALUE_OBJECT
            ? META "clientCapabilities\" is an object"
        : level && log_level_named(value_text(level)) == LOG_NOTHING ? META
            "logLevel\" is a level such as debug or warning"
                                                                     : NULL;
    struct buf text = BUF_INIT;
    reply->log_level = log_level_named(value_text(level));
    if (!lacks)
        return false;
    buf_format(&text, "in \"_meta\", \"%s", lacks);
    server_refuse_reply(server, reply, ERROR_PARAMS, text_get(&text), NULL);
    buf_release(&text);
    return true;
}

static bool headers_refused(struct server *server, struct reply *reply,
                            const struct headers *headers, const char *name,
                            const struct value *params)
{
    char why[160];
    if (!headers || headers_agree(headers, name, params, why))
        return false;
    server_refuse_reply(server, reply, ERROR_HEADERS, why, NULL);
    return true;
}

static bool modern_refused(struct server *server, struct reply *reply,
                           const struct headers *headers, const char *name,
                           const struct value *params)
{
    const struct value *meta = value_member(params, "_meta");
    const struct value *version = value_member(meta, META "protocolVersion");
    return (version && headers_refused(server, reply, headers, name, params)) ||
           (version && version_refused(server, reply, meta)) ||
           meta_refused(server, reply, meta);
}

static void unknown_method(struct server *server, struct reply *reply, const char *name)
{
    struct buf text = BUF_INIT;
    buf_format(&text, "there is no method %.80s", name);
    server_refuse_reply(server, reply, ERROR_METHOD, text_get(&text), NULL);
    buf_release(&text);
}

static void handle_request(struct server *server, struct reply *reply,
                           const struct headers *headers, const struct value *message)
{
    const char *name = value_text(value_member(message, "method"));
    const struct value *params = value_member(message, "params");
    struct request request = {reply, params};
    struct whose whose = {.client = reply->client, .id = reply->id};
    const struct method *method;
    reply->modern = message_is_modern(message, headers);
    if (params && value_kind(params) != VALUE_NULL &&
        value_kind(params) != VALUE_OBJECT) {
        server_refuse_reply(server, reply, ERROR_PARAMS, "\"params\" is an object",
                            NULL);
        return;
    }
    if (reply->modern && modern_refused(server, reply, headers, name, params))
        return;
    if (calls_has(&server->calls, &whose)) {
        server_refuse_reply(server, reply, ERROR_REQUEST,
                            "a request with this \"id\" is not answered yet", NULL);
        return;
    }
    method = method_named(name, reply->modern);
    if (method)
        method->answer(server, &request);
    else
        unknown_method(server, reply, name);
}

void server_forget(struct server *server, const struct whose *whose)
{
    calls_cancel(&server->calls, whose);
    watch_forget(&server->watch, whose);
}

static void handle_notice(struct server *server, struct client *client,
                          const char *name, const struct value *params)
{
    const struct value *id = value_member(params, "requestId");
    struct buf text = BUF_INIT;
    if (strcmp(name, "notifications/cancelled") != 0 || !id)
        return; /* others say nothing that matters here, or are not known */
    value_copy(&text, id);
    server_forget(server, &(struct whose){.client = client, .id = text_get(&text)});
    buf_release(&text);
}

static bool is_id(const struct value *id)
{
    return value_kind(id) == VALUE_STRING || value_kind(id) == VALUE_INTEGER ||
           value_kind(id) == VALUE_REAL;
}

static void handle_message(struct server *server, const struct route *route,
                           const struct value *message, struct batch *batch)
{
    const char *jsonrpc = value_text(value_member(message, "jsonrpc"));
    const char *name = value_text(value_member(message, "method"));
    const struct value *id = value_member(message, "id");
    struct reply reply = reply_to(route, batch);
    struct buf copy = BUF_INIT;
    bool good = jsonrpc && strcmp(jsonrpc, "2.0") == 0 && name && (!id || is_id(id));
    if (is_id(id) && value_text_length(id) <= 1000) {
        value_copy(&copy, id);
        reply.id = text_take(&copy);
    }
    if (id && good && !reply.id)
        server_refuse_reply(server, &reply, ERROR_REQUEST, "\"id\" is too long", NULL);
    else if (good && id)
        handle_request(server, &reply, route->headers, message);
    else if (good) {
        handle_notice(server, route->client, name, value_member(message, "params"));
        server_drop(server, &reply);
    } else if (value_member(message, "result") || value_member(message, "error"))
        server_drop(server, &reply); /* an answer, and nothing was asked */
    else
        server_refuse_reply(
            server, &reply, ERROR_REQUEST,
            "this is not a request of JSON-RPC 2.0: \"jsonrpc\" is \"2.0\", "
            "\"method\" a string, \"id\" a string or a number",
            NULL);
}

static void server_refuse(struct server *server, const struct route *route, int code,
                          const char *why);

static void handle_batch(struct server *server, const struct route *route,
                         const struct value *messages)
{
    const char *version = route->client->version;
    size_t n = value_count(messages);
    struct batch *batch;
    if (!version || strcmp(version, BATCHES) != 0 || n == 0 || n > BATCH_MAX) {
        server_refuse(server, route, ERROR_REQUEST,
                      "an array of messages is taken in version " BATCHES
                      " of the protocol only, with 1 to 64 of them");
        return;
    }
    batch = batch_new(route);
    if (!batch) {
        server->failed = true;
        return;
    }
    /* It lives as long as `pending`, which the analyzer does not count. */
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc) */
    for (size_t i = 0; i < n; i++)
        handle_message(server, route, value_at(messages, i), batch);
    batch_done(server, batch);
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

bool message_is_modern(const struct value *message, const struct headers *headers)
{
    const struct value *meta = value_member(value_member(message, "params"), "_meta");
    return value_member(meta, META "protocolVersion") ||
           (headers && headers->version && !version_named(headers->version));
}

bool message_is_initialize(const struct value *message)
{
    const char *name = value_text(value_member(message, "method"));
    return name && strcmp(name, "initialize") == 0;
}

void server_value(struct server *server, const struct route *route,
                  const struct value *message)
{
    if (value_kind(message) == VALUE_ARRAY)
        handle_batch(server, route, message);
    else
        handle_message(server, route, message, NULL);
}

void server_message(struct server *server, const struct route *route, const char *line,
                    size_t n)
{
    char why[160] = "";
    struct value *value;
    size_t blank = 0;
    while (blank < n && strchr(" \t\r", line[blank]))
        blank++;
    if (blank == n)
        return;
    value = value_parse(line, n, why);
    if (value)
        server_value(server, route, value);
    else
        server_refuse(server, route, ERROR_PARSE, why);
    value_free(value);
}

static void server_refuse(struct server *server, const struct route *route, int code,
                          const char *why)
{
    struct reply reply = reply_to(route, NULL);
    server_refuse_reply(server, &reply, code, why, NULL);
}

void server_message_too_long(struct server *server, const struct route *route)
{
    server_refuse(server, route, ERROR_REQUEST, "a message has more than 4 MiB");
}
