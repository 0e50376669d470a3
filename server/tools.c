/* SPDX-License-Identifier: MIT */
/* tools/list and tools/call. The document that a command prints is the answer, byte for
 * byte; an error of it is a result, too, so that a model can read it and try again. */
#include "server/answer.h"
#include "server/tool.h"

#include <string.h>

/* ---- The list ---- */

static bool is_offered(const struct server *server, const struct tool *tool)
{
    const struct serve_options *options = server->options;
    return (options->toolsets & tool->set) &&
           (!options->read_only || tool->hints & HINT_READ_ONLY);
}

static void put_hints(struct buf *text, const struct tool *tool)
{
    text_key(text, "annotations");
    text_open(text, '{');
    text_pair(text, "title", tool->title);
    text_key(text, "readOnlyHint");
    text_bool(text, tool->hints & HINT_READ_ONLY);
    text_key(text, "destructiveHint");
    text_bool(text, tool->hints & (HINT_DESTRUCTIVE | HINT_RUNS));
    text_key(text, "idempotentHint");
    text_bool(text, tool->hints & (HINT_IDEMPOTENT | HINT_READ_ONLY));
    text_key(text, "openWorldHint");
    text_bool(text, tool->hints & HINT_RUNS);
    text_close(text, '}');
}

static void put_tool(struct buf *text, const struct tool *tool, bool read_only)
{
    text_open(text, '{');
    text_pair(text, "name", tool->name);
    text_pair(text, "title", tool->title);
    text_pair(text, "description", tool->about);
    text_key(text, "inputSchema");
    schema_input(text, tool, read_only);
    text_key(text, "outputSchema");
    schema_output(text, tool);
    put_hints(text, tool);
    text_close(text, '}');
}

void tools_list(struct server *server, struct request *request)
{
    struct buf result = BUF_INIT;
    if (value_text(value_member(request->params, "cursor"))) {
        server_error(server, request->reply, ERROR_PARAMS,
                     "there is no such page: the list of tools is one page", NULL);
        return;
    }
    reply_begin(server, &result, request->reply->modern);
    text_key(&result, "tools");
    text_open(&result, '[');
    for (size_t i = 0; tool_at(i); i++)
        if (is_offered(server, tool_at(i)))
            put_tool(&result, tool_at(i), server->options->read_only);
    text_close(&result, ']');
    reply_fresh(&result, request->reply->modern);
    server_result(server, request->reply, &result);
}

/* ---- A call ---- */

static void put_block(struct buf *result, const char *text, size_t n)
{
    text_open(result, '{');
    text_pair(result, "type", "text");
    text_key(result, "text");
    text_bytes(result, text, n);
    text_close(result, '}');
}

static void send_problem(struct server *server, struct reply *reply, const char *text)
{
    struct buf result = BUF_INIT;
    char *masked = server_masked(server, text);
    text = masked ? masked : "out of memory";
    reply_begin(server, &result, reply->modern);
    text_key(&result, "content");
    text_open(&result, '[');
    put_block(&result, text, strlen(text));
    text_close(&result, ']');
    text_key(&result, "isError");
    text_bool(&result, true);
    free(masked);
    server_result(server, reply, &result);
}

/* The text for people: a member of the document, or all of it, for a client that looks
 * at nothing else. Behind it come warnings. */
static void put_content(struct buf *result, const struct call *call,
                        const struct answer *answer)
{
    const char *says =
        call->tool->says ? value_text(value_member(answer->document, call->tool->says))
                         : NULL;
    text_key(result, "content");
    text_open(result, '[');
    if (answer->problem.size > 0)
        put_block(result, answer->problem.data, answer->problem.size);
    else if (says)
        put_block(result, says, strlen(says));
    else
        put_block(result, answer->json, answer->n);
    if (answer->problem.size == 0 && call->err.size > 0)
        put_block(result, call->err.data, call->err.size);
    text_close(result, ']');
}

/* Of a run that goes on: its number, and what its first line says of it. */
static void put_started(struct buf *result, const struct answer *answer)
{
    const struct value *text = value_member(answer->document, "text");
    text_open(result, '{');
    text_key(result, "run");
    value_copy(result, value_member(answer->document, "run"));
    text_key(result, "text");
    if (text)
        value_copy(result, text);
    else
        text_raw(result, "null", 4);
    text_close(result, '}');
}

/* What a command prints that is no document becomes one. */
static void wrap_text(struct server *server, struct call *call)
{
    struct buf document = BUF_INIT;
    if (!call->tool->raw || call->status != 0 || call->too_large || call->timed_out)
        return;
    text_open(&document, '{');
    text_key(&document, "text");
    text_bytes(&document, text_get(&call->out), call->out.size);
    text_close(&document, '}');
    server->failed = server->failed || document.failed;
    buf_release(&call->out);
    call->out = document;
}

/* ---- What commands say, in the words of tools ---- */

/* The words of a template that name its command: "session start". */
static size_t command_words(const char *template)
{
    const char *end = template;
    while (*end && !(end[0] == ' ' && (end[1] == '-' || end[1] == '{')))
        end++;
    return (size_t)(end - template);
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* The offered tool whose command a text begins with, by the longest name: `n` bytes. */
static const struct tool *tool_of_command(const struct server *server, const char *text,
                                          size_t *n)
{
    const struct tool *found = NULL;
    *n = 0;
    for (size_t i = 0; tool_at(i); i++)
        for (size_t at = 0; at < tool_at(i)->n_variants; at++) {
            const char *template = tool_at(i)->variants[at].template;
            size_t words = command_words(template);
            if (words > *n && strncmp(text, template, words) == 0 &&
                !is_name_byte(text[words]) && is_offered(server, tool_at(i))) {
                found = tool_at(i);
                *n = words;
            }
        }
    return found;
}

/* The property that an option of n bytes, such as --session, is made of; with its
 * length. */
static const char *property_of_option(const struct tool *tool, const char *option,
                                      size_t *n)
{
    for (size_t i = 0; i < tool->n_variants; i++)
        for (const char *at = tool->variants[i].template; (at = strstr(at, " --"));
             at++) {
            const char *brace = at + 1 + *n;
            if (strncmp(at + 1, option, *n) != 0 || !strchr("=?", *brace) ||
                brace[1] != '{')
                continue;
            *n = strcspn(brace + 2, "*}");
            return brace + 2;
        }
    return NULL;
}

/* Commands and options by the names of tools and fields; what is not offered stays. */
static void put_in_words(struct server *server, struct buf *out,
                         const struct tool *tool, const char *text)
{
    const char *begin = text;
    while (*text && strncmp(text, "\nsee `cairn ", 12) != 0) {
        bool word = text == begin || !is_name_byte(text[-1]);
        const struct tool *named = NULL;
        const char *property = NULL;
        size_t n = 0;
        if (word && strncmp(text, "cairn ", 6) == 0)
            named = tool_of_command(server, text + 6, &n);
        if (named) {
            buf_text(out, named->name);
            text += 6 + n;
            tool = named; /* options behind it are its own */
            continue;
        }
        if (word && strncmp(text, "--", 2) == 0) {
            size_t option;
            while (is_name_byte(text[n]))
                n++;
            option = n;
            property = property_of_option(tool, text, &n);
            if (property) {
                buf_format(out, "\"%.*s\"", (int)n, property);
                text += option;
                continue;
            }
        }
        buf_add(out, text++, 1);
    }
}

static void finish_tool(struct server *server, struct call *call)
{
    struct buf words = BUF_INIT;
    struct answer answer;
    struct buf result = BUF_INIT;
    wrap_text(server, call);
    answer_init(&answer, call);
    put_in_words(server, &words, call->tool, text_get(&answer.problem));
    buf_release(&answer.problem);
    answer.problem = words;
    if (call->timed_out)
        server_log(server, &call->reply, LOG_WARNING, text_get(&answer.problem));
    reply_begin_error(server, &result, call->reply.modern,
                      value_member(answer.document, "error"));
    put_content(&result, call, &answer);
    /* Version 1 of the SDK for TypeScript holds an error against the schema, too, and
     * then shows nothing of what it says. So an error is in _meta. */
    if (answer.document && !answer.refused) {
        text_key(&result, "structuredContent");
        if (call->starts)
            put_started(&result, &answer);
        else
            text_raw(&result, answer.json, answer.n);
    }
    text_key(&result, "isError");
    /* Status 1 says that what was checked did not pass: that is the answer. */
    text_bool(&result, answer.refused || (!call->starts && call->status > 1 &&
                                          !(call->tool->hints & HINT_STATUS)));
    server_result(server, &call->reply, &result);
    answer_release(&answer);
}

static const struct tool *find_tool(const struct server *server, const char *name)
{
    for (size_t i = 0; name && tool_at(i); i++)
        if (is_offered(server, tool_at(i)) && strcmp(tool_at(i)->name, name) == 0)
            return tool_at(i);
    return NULL;
}

static void unknown_tool(struct server *server, struct reply *reply, const char *name)
{
    struct str names[128], near = {NULL, 0};
    size_t n = 0;
    struct buf text = BUF_INIT;
    for (size_t i = 0; tool_at(i) && n < 128; i++)
        if (is_offered(server, tool_at(i)))
            names[n++] = str_of(tool_at(i)->name);
    if (name) {
        near = str_nearest(str_of(name), names, n);
        buf_format(&text, "there is no tool %.80s here", name);
    } else
        buf_text(&text, "tools/call: \"name\" is the name of a tool");
    if (near.len)
        buf_format(&text, "; did you mean %s?", near.ptr);
    else if (name && server->options->read_only)
        buf_text(&text, " (the server was started with --read-only)");
    server_error(server, reply, ERROR_PARAMS, text_get(&text), NULL);
    buf_release(&text);
}

/* What only waits has the option --wait in its command line. Operands stand behind
 * `--`.
 */
static enum call_lane lane_of(const struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    for (size_t i = 0; i < arguments->n && arguments->argv[i]; i++) {
        if (strcmp(arguments->argv[i], "--") == 0)
            break;
        if (strncmp(arguments->argv[i], "--wait=", 7) == 0)
            return LANE_AWAIT;
    }
    return call->tool->hints & HINT_SLOW ? LANE_LONG : LANE_QUICK;
}

void tools_call(struct server *server, struct request *request)
{
    const char *name = value_text(value_member(request->params, "name"));
    const struct tool *tool = find_tool(server, name);
    struct call *call;
    if (!tool) {
        unknown_tool(server, request->reply, name);
        return;
    }
    call = server_call(server, request);
    if (!call)
        return;
    call->tool = tool;
    call->finish = finish_tool;
    call->arguments.read_only = server->options->read_only;
    call->starts = tool->starts;
    if (arguments_make(&call->arguments, tool,
                       value_member(request->params, "arguments")) ||
        call->arguments.failed) {
        call->lane = lane_of(call);
        /* A run that was started has its number before the next change begins. */
        call->ordered = call->lane == LANE_QUICK && !(tool->hints & HINT_READ_ONLY);
        call->reads = call->lane == LANE_QUICK && tool->hints & HINT_READ_ONLY &&
                      !call->arguments.stores;
        server_start_call(server, call);
        return;
    }
    send_problem(server, &call->reply, text_get(&call->arguments.problem));
    call_free(call);
}
