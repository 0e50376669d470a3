/* SPDX-License-Identifier: MIT */
/* Requests to `cairn mcp --listen`, behind HTTP's own framing: who may come in,
 * sessions, streams that are read again, headers held against messages. Each is
 * answered by JSON, by events of JSON or by a status alone, and nothing is left behind.
 *
 * The input is requests with a byte 1 between them: a line of fields with tabs between
 * them (method, path, host, origin, authorization, session, last event, three headers
 * of the protocol), then the body. A session `%` is the newest one. */
#include "server/gate.h"
#include "server/http.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define FIELDS 10

static void no_wake(void *reader)
{
    (void)reader;
}

static void check_json(const char *json, size_t n)
{
    char why[160];
    struct value *value = value_parse(json, n, why);
    HOLDS(value);
    value_free(value);
}

/* Events: lines of id, data with JSON or nothing, and empty ones. */
static void check_events(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        HOLDS(text[n] == '\n');
        HOLDS(n == 0 || strncmp(text, "id: ", 4) == 0 ||
              strncmp(text, "data: ", 6) == 0);
        if (n > 6 && text[0] == 'd')
            check_json(text + 6, n - 6);
        text += n + 1;
    }
}

static void read_all(struct stream *stream)
{
    struct buf all = BUF_INIT;
    char bytes[100];
    size_t n;
    stream_join(stream, &all, no_wake);
    while ((n = stream_read(stream, bytes, sizeof bytes)) > 0)
        buf_add(&all, bytes, n);
    HOLDS(!all.failed);
    if (stream->form == STREAM_JSON)
        check_json(text_get(&all), all.size);
    else
        check_events(text_get(&all));
    stream_leave(stream, &all);
    buf_release(&all);
}

/* Cuts the line into its fields; "" is a header that is not there. */
static void split(char *line, const char *fields[FIELDS])
{
    for (size_t i = 0; i < FIELDS; i++) {
        char *tab = line ? strchr(line, '\t') : NULL;
        fields[i] = line && line[0] != '\0' && line != tab ? line : NULL;
        if (tab)
            *tab = '\0';
        line = tab ? tab + 1 : NULL;
    }
}

static bool may_come_in(const char *fields[FIELDS])
{
    static const char *const hosts[] = {"box.example", NULL};
    static const struct gate gate = {TOKEN, hosts, 8080, true};
    const char *why = NULL;
    struct knock knock = {.method = fields[0],
                          .path = fields[1],
                          .host = fields[2],
                          .origin = fields[3],
                          .authorization = fields[4],
                          .content_type = "application/json",
                          .accept = "application/json, text/event-stream",
                          .address = "127.0.0.1"};
    unsigned status = gate_check(&gate, &knock, &why);
    HOLDS(why && (status == 0 || (status >= 400 && status < 500)));
    HOLDS(status != 0 || (knock.authorization && strstr(knock.authorization, TOKEN)));
    return status == 0;
}

static void one_request(struct web *web, char *line, char *body, size_t n)
{
    const char *fields[FIELDS];
    struct response response = {.status = 200};
    struct ask ask = {.body = {body, n, n + 1, false}};
    split(line, fields);
    fields[0] = fields[0] ? fields[0] : "POST";
    fields[1] = fields[1] ? fields[1] : GATE_PATH;
    if (!may_come_in(fields))
        return;
    ask.method = fields[0];
    ask.session = fields[5];
    if (ask.session && strcmp(ask.session, "%") == 0)
        ask.session = web->sessions ? web->sessions->id : NULL;
    ask.last_event = fields[6];
    ask.headers = (struct headers){fields[7], fields[8], fields[9]};
    web_answer(web, &ask, &response);
    HOLDS(response.status >= 200 && response.status < 600);
    if (response.stream)
        read_all(response.stream);
    else if (response.body.size > 0)
        check_json(response.body.data, response.body.size);
    buf_release(&response.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct serve_options options = {.toolsets = TOOLSET_ALL,
                                                 .version = "0"};
    const char *at = (const char *)data, *end = at + size;
    struct server server;
    struct web web;
    server_init(&server, &options);
    web_init(&web, &server);
    while (at < end) {
        const char *stop = memchr(at, 1, (size_t)(end - at));
        size_t n = stop ? (size_t)(stop - at) : (size_t)(end - at);
        char *request = malloc(n + 1);
        char *feed;
        HOLDS(request);
        memcpy(request, at, n);
        request[n] = '\0';
        feed = memchr(request, '\n', n);
        if (feed) {
            *feed = '\0';
            one_request(&web, request, feed + 1, n - (size_t)(feed + 1 - request));
        }
        free(request);
        web_sweep(&web, clock_ms());
        at += n + (stop != NULL);
    }
    HOLDS(!server.failed);
    server_end(&server);
    web_sweep(&web, clock_ms());
    for (const struct session *session = web.sessions; session; session = session->next)
        HOLDS(session->client.due == 0);
    web_release(&web);
    return 0;
}
