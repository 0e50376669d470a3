/* SPDX-License-Identifier: MIT */
#include "server/answer.h"

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
        text_format(&answer->problem,
                    "it took longer than %lld seconds and was ended; what it had "
                    "stored by then stays",
                    (long long)(call->time_limit_ms / 1000));
    else
        text_put(&answer->problem,
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
        text_put(&answer->problem, text);
    else if (call->left)
        text_put(&answer->problem,
                 "the client has closed its side: the wait was ended");
    else if (call->err.n > 0)
        text_put(&answer->problem, text_get(&call->err));
    else
        text_format(&answer->problem, "it ended with status %d and printed nothing",
                    call->status);
}

void answer_release(struct answer *answer)
{
    value_free(answer->document);
    text_release(&answer->problem);
    answer->document = NULL;
}

bool answer_not_found(const struct answer *answer)
{
    return answer->code && strcmp(answer->code, "not found") == 0;
}

void answer_problem(struct server *server, struct call *call,
                    const struct answer *answer, const char *uri)
{
    struct text data = {NULL, 0, 0, false};
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
    text_release(&data);
}
