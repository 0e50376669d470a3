/* SPDX-License-Identifier: MIT */
/* Prompts, with what a command says put into them, and the completion of arguments. */
#include "server/answer.h"

#include <string.h>

/* ---- Prompts ---- */

struct prompt_argument {
    const char *name, *option, *about; /* option NULL: the operand */
};
static const struct prompt {
    const char *name, *title, *about, *words[4];
    struct prompt_argument arguments[4]; /* ended by a name that is NULL */
    const char *before, *says;           /* says NULL: the whole document */
} prompts[] = {
    {"resume-work",
     "Go on where work was left",
     "Gives you what was saved in a checkpoint, to continue with an empty context",
     {"checkpoint", "resume", NULL},
     {{"level", "--level=", "summary, context (default) or full"},
      {"session", "--session=", "The debugging session (default: the current one)"},
      {"checkpoint", NULL, "The checkpoint (default: the newest with a context)"},
      {NULL, NULL, NULL}},
     "Go on with the work that was saved in this checkpoint. First say in a sentence "
     "what is to be done next, then call session_show to see the board as it is now, "
     "and do not do again what is done.\n\n",
     "text"},
    {"debug-failed-run",
     "Find out why a run failed",
     "Gives you the state of a run, to find out why it failed",
     {"status", NULL},
     {{"run", NULL, "The number of the run (default: the newest)"}, {NULL, NULL, NULL}},
     "Find out why this run failed. Read the output of the tasks that failed "
     "(run_log), then look what would run again (run_plan). Keep what you suppose and "
     "what you find on the board (board_add: hypothesis, evidence), and say what is to "
     "be changed before run_resume.\n\n",
     NULL},
};
enum { PROMPTS = COUNT_OF(prompts) };

void prompts_list(struct server *server, struct request *request)
{
    struct buf result = BUF_INIT;
    reply_begin(server, &result, request->reply->modern);
    text_key(&result, "prompts");
    text_open(&result, '[');
    for (size_t i = 0; i < PROMPTS; i++) {
        text_open(&result, '{');
        text_pair(&result, "name", prompts[i].name);
        text_pair(&result, "title", prompts[i].title);
        text_pair(&result, "description", prompts[i].about);
        text_key(&result, "arguments");
        text_open(&result, '[');
        for (const struct prompt_argument *at = prompts[i].arguments; at->name; at++) {
            text_open(&result, '{');
            text_pair(&result, "name", at->name);
            text_pair(&result, "description", at->about);
            text_key(&result, "required");
            text_bool(&result, false);
            text_close(&result, '}');
        }
        text_close(&result, ']');
        text_close(&result, '}');
    }
    text_close(&result, ']');
    reply_fresh(&result, request->reply->modern);
    server_result(server, request->reply, &result);
}

static const struct prompt *prompt_named(const char *name)
{
    for (size_t i = 0; name && i < PROMPTS; i++)
        if (strcmp(prompts[i].name, name) == 0)
            return &prompts[i];
    return NULL;
}

static void finish_prompt(struct server *server, struct call *call)
{
    const struct prompt *prompt = prompt_named(call->subject);
    struct answer answer;
    struct buf result = BUF_INIT, text = BUF_INIT;
    const char *says;
    answer_init(&answer, call);
    if (answer.refused) {
        answer_problem(server, call, &answer, NULL);
        answer_release(&answer);
        return;
    }
    buf_text(&text, prompt->before);
    says =
        prompt->says ? value_text(value_member(answer.document, prompt->says)) : NULL;
    if (says)
        buf_text(&text, says);
    else
        buf_add(&text, answer.json, answer.n);
    reply_begin(server, &result, call->reply.modern);
    text_pair(&result, "description", prompt->about);
    text_key(&result, "messages");
    text_open(&result, '[');
    text_open(&result, '{');
    text_pair(&result, "role", "user");
    text_key(&result, "content");
    text_open(&result, '{');
    text_pair(&result, "type", "text");
    text_pair(&result, "text", text_get(&text));
    text_close(&result, '}');
    text_close(&result, '}');
    text_close(&result, ']');
    result.failed = result.failed || text.failed;
    server_result(server, &call->reply, &result);
    buf_release(&text);
    answer_release(&answer);
}

/* A name that is known, with a string. */
struct named {
    const struct prompt *prompt;
    const char *wrong; /* the first that is not */
};
static bool is_argument(void *context, const char *key, const struct value *value)
{
    struct named *named = context;
    for (const struct prompt_argument *at = named->prompt->arguments; at->name; at++)
        if (strcmp(at->name, key) == 0 &&
            (value_text(value) || value_kind(value) == VALUE_NULL))
            return true;
    named->wrong = key;
    return false;
}

static void add_argument(struct arguments *arguments, const struct prompt_argument *at,
                         const struct value *given)
{
    const char *value = value_text(value_member(given, at->name));
    struct buf word = BUF_INIT;
    if (!at->option)
        arguments_add(arguments, "--");
    if (!value || value[0] == '\0')
        return;
    buf_format(&word, "%s%s", at->option ? at->option : "", value);
    arguments_add(arguments, text_get(&word));
    buf_release(&word);
}

void prompts_get(struct server *server, struct request *request)
{
    const char *name = value_text(value_member(request->params, "name"));
    const struct value *given = value_member(request->params, "arguments");
    const struct prompt *prompt = prompt_named(name);
    struct named named = {prompt, NULL};
    struct buf text = BUF_INIT;
    struct call *call;
    if (prompt)
        value_each(given, is_argument, &named);
    if (!prompt || named.wrong) {
        if (prompt)
            buf_format(&text,
                       "%s: \"%.80s\" is not one of its arguments, or not a string",
                       name, named.wrong);
        else
            buf_format(&text, "there is no prompt %.80s",
                       name ? name : "without a name");
        server_error(server, request->reply, ERROR_PARAMS, text_get(&text), NULL);
        buf_release(&text);
        return;
    }
    call = server_call(server, request);
    if (!call)
        return;
    call->finish = finish_prompt;
    call->subject = strdup(name);
    call->arguments.failed = call->arguments.failed || !call->subject;
    for (size_t i = 0; prompt->words[i]; i++)
        arguments_add(&call->arguments, prompt->words[i]);
    arguments_add(&call->arguments, "--json");
    for (const struct prompt_argument *at = prompt->arguments; at->name; at++)
        add_argument(&call->arguments, at, given);
    server_start_call(server, call);
}

/* ---- Completion ---- */

#define VALUES_MAX 100
static const struct completed {
    const char *argument, *words[5], *array, *member; /* words: ended by NULL */
} completions[] = {
    {"run", {"runs", "--json", "--limit=100", NULL}, "runs", "run"},
    {"session", {"session", "list", "--json", "--limit=100"}, "sessions", "name"},
    {"checkpoint",
     {"checkpoint", "list", "--json", "--limit=100"},
     "checkpoints",
     "id"},
    {"task", {"status", "--tasks", "--json", NULL}, "tasks", "task"},
};

static void send_values(struct server *server, struct reply *reply,
                        const char *const *values, size_t n, bool more)
{
    struct buf result = BUF_INIT;
    reply_begin(server, &result, reply->modern);
    text_key(&result, "completion");
    text_open(&result, '{');
    text_key(&result, "values");
    text_open(&result, '[');
    for (size_t i = 0; i < n && i < VALUES_MAX; i++)
        text_string(&result, values[i]);
    text_close(&result, ']');
    text_key(&result, "hasMore");
    text_bool(&result, more || n > VALUES_MAX);
    text_close(&result, '}');
    server_result(server, reply, &result);
}

/* Whether a list goes on behind its limit. */
static bool goes_on(const struct value *document, size_t n)
{
    int64_t limit, total;
    return value_integer(value_member(document, "limit"), &limit) &&
           value_integer(value_member(document, "total"), &total) &&
           (uint64_t)total > n;
}

/* The subject is "ARGUMENT=BEGINNING". */
static void finish_completion(struct server *server, struct call *call)
{
    const struct completed *row = completions;
    const char *beginning = strchr(call->subject, '=') + 1;
    size_t name = (size_t)(beginning - call->subject) - 1, n = 0;
    const char *values[VALUES_MAX + 1];
    char digits[VALUES_MAX + 1][24];
    struct answer answer;
    const struct value *items;
    while (strlen(row->argument) != name ||
           memcmp(row->argument, call->subject, name) != 0)
        row++;
    answer_init(&answer, call);
    items = value_member(answer.document, row->array);
    for (size_t i = 0; i < value_count(items) && n <= VALUES_MAX; i++) {
        const struct value *value = value_member(value_at(items, i), row->member);
        const char *text = value_text(value);
        int64_t number;
        if (!text && value_integer(value, &number)) {
            snprintf(digits[n], sizeof digits[n], "%lld", (long long)number);
            text = digits[n];
        }
        if (text && strncmp(text, beginning, strlen(beginning)) == 0)
            values[n++] = text;
    }
    send_values(server, &call->reply, values, n,
                goes_on(answer.document, value_count(items)));
    answer_release(&answer);
}

static void complete_level(struct server *server, struct request *request,
                           const char *beginning)
{
    static const char *const levels[] = {"summary", "context", "full"};
    const char *values[3];
    size_t n = 0;
    for (size_t i = 0; i < 3; i++)
        if (strncmp(levels[i], beginning, strlen(beginning)) == 0)
            values[n++] = levels[i];
    send_values(server, request->reply, values, n, false);
}

static void start_completion(struct server *server, struct request *request,
                             const struct completed *row, const char *beginning)
{
    const struct value *context =
        value_member(value_member(request->params, "context"), "arguments");
    const char *run = value_text(value_member(context, "run"));
    struct buf subject = BUF_INIT;
    struct call *call = server_call(server, request);
    if (!call)
        return;
    buf_format(&subject, "%s=%s", row->argument, beginning);
    call->finish = finish_completion;
    call->reads = true;
    call->subject = text_take(&subject);
    call->arguments.failed = call->arguments.failed || !call->subject;
    for (size_t i = 0; row->words[i]; i++)
        arguments_add(&call->arguments, row->words[i]);
    arguments_add(&call->arguments, "--");
    if (run && strcmp(row->argument, "task") == 0)
        arguments_add(&call->arguments, run);
    server_start_call(server, call);
}

void completion_complete(struct server *server, struct request *request)
{
    const struct value *argument = value_member(request->params, "argument");
    const char *name = value_text(value_member(argument, "name"));
    const char *beginning = value_text(value_member(argument, "value"));
    if (!name || !beginning || !value_member(request->params, "ref")) {
        server_error(server, request->reply, ERROR_PARAMS,
                     "completion/complete: \"ref\" and \"argument\" with \"name\" and "
                     "\"value\" are required",
                     NULL);
        return;
    }
    if (strcmp(name, "level") == 0) {
        complete_level(server, request, beginning);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(completions); i++) {
        if (strcmp(completions[i].argument, name) != 0)
            continue;
        start_completion(server, request, &completions[i], beginning);
        return;
    }
    send_values(server, request->reply, NULL, 0, false);
}
