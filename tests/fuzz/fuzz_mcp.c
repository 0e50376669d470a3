/* SPDX-License-Identifier: MIT */
/* Messages that a client sends to `cairn mcp`: every line is answered by JSON or by
 * nothing, whatever it is, and the command line of a call has only options that are in
 * the template of its tool. No call is carried out here: they wait, and are dropped. */
#include "server/server.h"
#include "tests/fuzz/fuzz.h"

static bool in_template(const struct tool *tool, const char *word)
{
    size_t n = strcspn(word, "=");
    for (size_t i = 0; i < tool->n_variants; i++)
        for (const char *at = tool->variants[i].template;
             (at = strstr(at, "--")) != NULL; at += 2)
            if (strncmp(at, word, n) == 0 && strchr("=?! ", at[n])) /* or the end */
                return true;
    return strcmp(word, "--json") == 0 || strcmp(word, "--yes") == 0;
}

static void check_calls(const struct calls *calls)
{
    for (const struct call *call = calls->waiting; call; call = call->next) {
        const struct arguments *arguments = &call->arguments;
        HOLDS(arguments->n > 1 && strcmp(arguments->argv[0], "cairn") == 0);
        HOLDS(arguments->argv[arguments->n] == NULL);
        for (size_t i = 1; i < arguments->n; i++) {
            if (strcmp(arguments->argv[i], "--") == 0)
                break;
            HOLDS(!call->tool || arguments->argv[i][0] != '-' ||
                  in_template(call->tool, arguments->argv[i]));
        }
    }
}

static void check_answers(const struct buf *out)
{
    const char *line = text_get(out);
    char why[160];
    HOLDS(out->size == 0 || line[out->size - 1] == '\n');
    while (*line) {
        size_t n = strcspn(line, "\n");
        struct value *value = value_parse(line, n, why);
        HOLDS(value);
        value_free(value);
        line += n + 1;
    }
}

/* Where answers go. */
struct sink {
    struct outlet outlet;
    struct buf out;
};

static void keep(struct outlet *outlet, const char *json, size_t n)
{
    struct sink *sink = (struct sink *)outlet;
    HOLDS(memchr(json, '\n', n) == NULL);
    buf_add(&sink->out, json, n);
    buf_add(&sink->out, "\n", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct serve_options options = {.toolsets = TOOLSET_ALL,
                                                 .version = "0"};
    struct server server;
    struct sink sink = {.outlet.send = keep};
    struct client client = {.log_level = LOG_NOTHING, .notices = &sink.outlet};
    const struct route route = {&client, &sink.outlet, NULL};
    const char *at = (const char *)data, *end = at + size;
    server_init(&server, &options);
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        size_t n = feed ? (size_t)(feed - at) : (size_t)(end - at);
        char *line = malloc(n + 1);
        HOLDS(line);
        memcpy(line, at, n);
        line[n] = '\0';
        server_message(&server, &route, line, n);
        free(line);
        at += n + (feed != NULL);
    }
    HOLDS(!server.failed);
    check_calls(&server.calls);
    server_end(&server);
    HOLDS(client.due == 0 && sink.outlet.due == 0);
    check_answers(&sink.out);
    buf_release(&sink.out);
    return 0;
}
