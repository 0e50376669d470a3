/* SPDX-License-Identifier: MIT */
/* Resources: runs, checkpoints, sessions and logs of tasks, by address. Each is the
 * document that the command prints. */
#include "base/words.h"
#include "server/answer.h"

#include <string.h>

#define PAGE 50

/* ---- Addresses ---- */

/* Decodes %XX; NULL if it is wrong, empty, or has a NUL in it. */
static char *decode(const char *text, size_t n)
{
    char *out = n > 0 ? malloc(n + 1) : NULL;
    size_t at = 0;
    for (size_t i = 0; out && i < n; i++) {
        int byte = (unsigned char)text[i];
        if (text[i] == '%') {
            int high = i + 2 < n ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < n ? hex_digit(text[i + 2]) : -1;
            byte = high < 0 || low < 0 ? 0 : high * 16 + low;
            i += 2;
        }
        if (byte == 0) {
            free(out);
            return NULL;
        }
        out[at++] = (char)byte;
    }
    if (out)
        out[at] = '\0';
    return out;
}

static void put_encoded(struct buf *text, const char *part)
{
    for (; *part; part++) {
        if (strchr("-._~:@", *part) || (*part >= '0' && *part <= '9') ||
            (*part >= 'a' && *part <= 'z') || (*part >= 'A' && *part <= 'Z'))
            buf_add(text, part, 1);
        else
            buf_format(text, "%%%02X", (unsigned char)*part);
    }
}

/* The words of the command that shows the resource; false if there is no such kind. */
static bool add_words(struct arguments *arguments, const char *uri)
{
    static const struct {
        const char *prefix, *words[3];
    } kinds[] = {
        {"cairn://run/", {"status", "--tasks", NULL}},
        {"cairn://checkpoint/", {"checkpoint", "show", NULL}},
        {"cairn://session/", {"session", "show", NULL}},
        {"cairn://log/", {"log", NULL, NULL}},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t n = strlen(kinds[i].prefix);
        if (strncmp(uri, kinds[i].prefix, n) != 0)
            continue;
        for (size_t word = 0; kinds[i].words[word]; word++)
            arguments_add(arguments, kinds[i].words[word]);
        arguments_add(arguments, "--json");
        return true;
    }
    return false;
}

/* Adds the operand, and of a log the run. */
static bool add_parts(struct arguments *arguments, const char *uri)
{
    const char *part = strchr(uri + strlen("cairn://"), '/') + 1;
    const char *slash = strchr(part, '/');
    bool is_log = strncmp(uri, "cairn://log/", 12) == 0;
    char *first, *second;
    struct buf word = BUF_INIT;
    if (!slash == is_log)
        return false;
    if (!is_log) {
        first = decode(part, strlen(part));
        arguments_add(arguments, "--");
        if (first)
            arguments_add(arguments, first);
        free(first);
        return first != NULL;
    }
    first = decode(part, (size_t)(slash - part));
    second = decode(slash + 1, strlen(slash + 1));
    if (first && second) {
        buf_format(&word, "--run=%s", first);
        arguments_add(arguments, text_get(&word));
        arguments_add(arguments, "--");
        arguments_add(arguments, second);
    }
    buf_release(&word);
    free(first);
    free(second);
    return first && second;
}

/* ---- The same address, written in one way ---- */

static bool put_place(struct buf *text, const char *kind, const char *first,
                      const char *second)
{
    buf_format(text, "cairn://%s/", kind);
    put_encoded(text, first);
    if (second) {
        buf_text(text, "/");
        put_encoded(text, second);
    }
    return !text->failed;
}

char *resource_place(const char *kind, const char *first, const char *second)
{
    struct buf text = BUF_INIT;
    put_place(&text, kind, first, second);
    return text_take(&text);
}

/* "7" of "007"; NULL: it is no number. */
static const char *plain_number(const char *text)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || text[n] != '\0')
        return NULL;
    text += strspn(text, "0");
    return *text ? text : NULL;
}

char *resource_canonical(const char *uri)
{
    struct arguments arguments = {.n = 0};
    const char *kind = uri + strlen("cairn://");
    char *place = NULL, name[16];
    if (add_words(&arguments, uri) && add_parts(&arguments, uri) && !arguments.failed) {
        /* "--run=7", "--", the operand; or without the run */
        const char *first = arguments.argv[arguments.n - 1], *second = NULL;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(kind, "/"), kind);
        if (strcmp(name, "log") == 0) {
            second = first;
            first = strchr(arguments.argv[arguments.n - 3], '=') + 1;
        }
        if (second || strcmp(name, "run") == 0)
            first = plain_number(first);
        place = first ? resource_place(name, first, second) : NULL;
    }
    arguments_release(&arguments);
    return place;
}

/* ---- Reading ---- */

static void finish_read(struct server *server, struct call *call)
{
    struct answer answer;
    struct buf result = BUF_INIT;
    answer_init(&answer, call);
    if (answer.refused)
        answer_problem(server, call, &answer, call->subject);
    else {
        reply_begin(server, &result, call->reply.modern);
        text_key(&result, "contents");
        text_open(&result, '[');
        text_open(&result, '{');
        text_pair(&result, "uri", call->subject);
        text_pair(&result, "mimeType", "application/json");
        text_key(&result, "text");
        text_bytes(&result, answer.json, answer.n);
        text_close(&result, '}');
        text_close(&result, ']');
        reply_fresh(&result, call->reply.modern);
        server_result(server, &call->reply, &result);
    }
    answer_release(&answer);
}

void resources_read(struct server *server, struct request *request)
{
    const char *uri = value_text(value_member(request->params, "uri"));
    struct call *call;
    if (!uri) {
        server_error(server, request->reply, ERROR_PARAMS,
                     "resources/read: \"uri\" is a string", NULL);
        return;
    }
    call = server_call(server, request);
    if (!call)
        return;
    call->finish = finish_read;
    call->reads = true;
    call->subject = strdup(uri);
    call->arguments.failed = call->arguments.failed || !call->subject;
    if (add_words(&call->arguments, uri) && add_parts(&call->arguments, uri)) {
        server_start_call(server, call);
        return;
    }
    server_error(server, &call->reply,
                 call->reply.modern ? ERROR_PARAMS : ERROR_NO_RESOURCE,
                 "there is no such resource: cairn://run/N, cairn://checkpoint/ID, "
                 "cairn://session/NAME or cairn://log/RUN/TASK",
                 NULL);
    call_free(call);
}

/* ---- The list: pages of runs, then of checkpoints ---- */

/* What is listed: the command, the array in its document, and the member that names. */
static const struct listed {
    const char *cursor, *words[3], *array, *kind, *id, *title;
} lists[] = {
    {"runs", {"runs", NULL}, "runs", "run", "run", "workflow"},
    {"sessions", {"session", "list", NULL}, "sessions", "session", "name", "name"},
    {"checkpoints",
     {"checkpoint", "list", NULL},
     "checkpoints",
     "checkpoint",
     "id",
     "message"},
};
enum { LISTS = COUNT_OF(lists) };

static void put_resource(struct buf *text, const struct listed *listed,
                         const struct value *item)
{
    const struct value *id = value_member(item, listed->id);
    const char *title = value_text(value_member(item, listed->title));
    struct buf name = BUF_INIT, uri = BUF_INIT;
    if (value_text(id))
        buf_text(&name, value_text(id));
    else if (id)
        value_copy(&name, id);
    buf_format(&uri, "cairn://%s/", listed->kind);
    put_encoded(&uri, text_get(&name));
    text_open(text, '{');
    text_pair(text, "uri", text_get(&uri));
    text_cut(&uri, uri.size);
    buf_format(&uri, "%s %s", listed->kind, text_get(&name));
    text_pair(text, "name", text_get(&uri));
    if (title)
        text_pair(text, "title", title);
    text_pair(text, "mimeType", "application/json");
    text_close(text, '}');
    text->failed = text->failed || name.failed || uri.failed;
    buf_release(&name);
    buf_release(&uri);
}

static void put_next(struct buf *result, const struct value *document, size_t list,
                     int64_t offset)
{
    struct buf cursor = BUF_INIT;
    int64_t total = 0;
    long long next = offset + PAGE;
    value_integer(value_member(document, "total"), &total);
    if (next < total)
        buf_format(&cursor, "%s:%lld", lists[list].cursor, next);
    else if (list + 1 < LISTS)
        buf_format(&cursor, "%s:0", lists[list + 1].cursor);
    else
        return;
    text_pair(result, "nextCursor", text_get(&cursor));
    buf_release(&cursor);
}

/* "runs:50"; NULL is the beginning. */
static bool parse_cursor(const char *cursor, size_t *list, int64_t *offset)
{
    *list = 0;
    *offset = 0;
    if (!cursor)
        return true;
    for (; *list < LISTS; ++*list) {
        size_t n = strlen(lists[*list].cursor);
        if (strncmp(cursor, lists[*list].cursor, n) != 0 || cursor[n] != ':')
            continue;
        cursor += n + 1;
        uint64_t number = 0;
        bool good = str_to_u64(str_of(cursor), &number) && strlen(cursor) <= 15;
        *offset = (int64_t)number;
        return good;
    }
    return false;
}

static void finish_list(struct server *server, struct call *call)
{
    struct answer answer;
    struct buf result = BUF_INIT;
    size_t list;
    int64_t offset;
    const struct value *items;
    (void)parse_cursor(call->subject, &list, &offset);
    answer_init(&answer, call);
    if (answer.refused && !answer_not_found(&answer)) {
        answer_problem(server, call, &answer, NULL);
        answer_release(&answer);
        return;
    }
    items = value_member(answer.document, lists[list].array);
    reply_begin(server, &result, call->reply.modern);
    text_key(&result, "resources");
    text_open(&result, '[');
    for (size_t i = 0; i < value_count(items); i++)
        put_resource(&result, &lists[list], value_at(items, i));
    text_close(&result, ']');
    if (!answer.refused) /* without a store there is nothing */
        put_next(&result, answer.document, list, offset);
    reply_fresh(&result, call->reply.modern);
    server_result(server, &call->reply, &result);
    answer_release(&answer);
}

void resources_list(struct server *server, struct request *request)
{
    const struct value *given = value_member(request->params, "cursor");
    const char *cursor = value_text(given);
    size_t list;
    int64_t offset;
    struct call *call;
    char word[48];
    if ((given && !cursor) || !parse_cursor(cursor, &list, &offset)) {
        server_error(server, request->reply, ERROR_PARAMS,
                     "there is no such page: a cursor is what the page before it gave",
                     NULL);
        return;
    }
    call = server_call(server, request);
    if (!call)
        return;
    call->finish = finish_list;
    call->reads = true;
    call->subject = cursor ? strdup(cursor) : NULL;
    call->arguments.failed = call->arguments.failed || (cursor && !call->subject);
    for (size_t i = 0; lists[list].words[i]; i++)
        arguments_add(&call->arguments, lists[list].words[i]);
    arguments_add(&call->arguments, "--json");
    snprintf(word, sizeof word, "--limit=%d", PAGE);
    arguments_add(&call->arguments, word);
    snprintf(word, sizeof word, "--offset=%lld", (long long)offset);
    arguments_add(&call->arguments, word);
    server_start_call(server, call);
}

void resources_templates(struct server *server, struct request *request)
{
    static const char *const rows[][3] = {
        {"cairn://run/{run}", "run", "A run with the state of every task"},
        {"cairn://checkpoint/{checkpoint}", "checkpoint",
         "A checkpoint: what it holds, its message, notes and context"},
        {"cairn://session/{session}", "session",
         "A debugging session with its board at a glance"},
        {"cairn://log/{run}/{task}", "log", "The output of a task of a run"},
    };
    struct buf result = BUF_INIT;
    reply_begin(server, &result, request->reply->modern);
    text_key(&result, "resourceTemplates");
    text_open(&result, '[');
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        text_open(&result, '{');
        text_pair(&result, "uriTemplate", rows[i][0]);
        text_pair(&result, "name", rows[i][1]);
        text_pair(&result, "description", rows[i][2]);
        text_pair(&result, "mimeType", "application/json");
        text_close(&result, '}');
    }
    text_close(&result, ']');
    reply_fresh(&result, request->reply->modern);
    server_result(server, request->reply, &result);
}
