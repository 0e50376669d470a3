/* SPDX-License-Identifier: MIT */
/* cairn session message list and show. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { LIST_TEXT_BYTES = 1024, LIST_TEXT_COLUMNS = 60 };

static void message_document(struct doc *doc, const struct cairn_message *message,
                             size_t text_most)
{
    size_t n = text_fit(message->text, text_most);
    doc_count(doc, "message", message->n);
    doc_some(doc, "parent", message->parent);
    doc_count(doc, "position", message->position);
    doc_time(doc, "time", message->time_ns);
    doc_text(doc, "role", message->role);
    doc_text(doc, "form", message->form);
    doc_text(doc, "model", message->model);
    doc_text(doc, "file", message->file);
    doc_count(doc, "tokens_in", message->tokens_in);
    doc_count(doc, "tokens_out", message->tokens_out);
    doc_count(doc, "total_in", message->total_in);
    doc_count(doc, "total_out", message->total_out);
    doc_count(doc, "size", message->size);
    doc_bytes(doc, "text", message->text, n);
    doc_bool(doc, "partial", message->text[n] != '\0');
}

/* ---- The list ---- */

static int print_line(void *context, const struct cairn_message *message)
{
    char when[FORMAT_MAX];
    size_t n = 0, columns = 0;
    (void)context;
    while (message->text[n] != '\0' && message->text[n] != '\n' &&
           columns++ < LIST_TEXT_COLUMNS)
        n += utf8_length(message->text + n, strnlen(message->text + n, 4));
    out("%6" PRIu64 "  %s  %-9s  %.*s%s\n", message->n,
        format_local(when, message->time_ns), message->role, (int)n, message->text,
        message->text[n] != '\0' ? "..." : "");
    return ui_output_lost();
}

static int add_line(void *context, const struct cairn_message *message)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    message_document(doc, message, LIST_TEXT_BYTES);
    doc_end(doc);
    return 0;
}

static int print_list(const struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0}, *used = ui_json() ? &doc : NULL;
    struct cairn_message_line line = {0};
    struct cairn_error error = {0};
    char id[CAIRN_ID_MAX];
    const char *session = session_option(settings), *at;
    int status = session_checkpoint_of(store, session, settings->text[OPT_AT], id, &at);
    if (status != 0)
        return status;
    if (used) {
        doc_begin(used);
        doc_array(used, "messages");
    }
    if (cairn_message_list(store, session, at, settings->number[OPT_LAST],
                           used ? add_line : print_line, used, &line, &error) != 0) {
        if (used)
            doc_discard(used);
        return report_error(&error);
    }
    if (!used) {
        out_flush();
        say("%" PRIu64 " message%s; tokens in %" PRIu64 ", out %" PRIu64, line.messages,
            plural(line.messages), line.tokens_in, line.tokens_out);
        return 0;
    }
    doc_end(used);
    doc_count(used, "total", line.messages);
    doc_some(used, "last", line.last);
    doc_count(used, "tokens_in", line.tokens_in);
    doc_count(used, "tokens_out", line.tokens_out);
    return doc_print(used);
}

int command_message_list(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = print_list(settings, store);
    hooks_run_and_close(store);
    return status;
}

/* ---- One ---- */

static int print_message(void *context, const struct cairn_message *message)
{
    char when[FORMAT_MAX];
    size_t n = strlen(message->text);
    (void)context;
    out("message   %" PRIu64 ", by the %s\n", message->n, message->role);
    out("time      %s\n", format_local(when, message->time_ns));
    if (message->model)
        out("model     %s\n", message->model);
    out("position  %" PRIu64 "\n", message->position);
    out("tokens    in %" PRIu64 ", out %" PRIu64 "; so far in %" PRIu64 ", out %" PRIu64
        "\n",
        message->tokens_in, message->tokens_out, message->total_in, message->total_out);
    if (message->file)
        out("file      %s\n", message->file);
    out("\n%s%s", message->text, n > 0 && message->text[n - 1] == '\n' ? "" : "\n");
    return 0;
}

static int print_body(void *context, const struct cairn_message *message)
{
    (void)context;
    if (message->body && ui_terminal(STDOUT_FILENO))
        out_lines(message->body, message->body_bytes);
    else if (message->body)
        out_raw(message->body, message->body_bytes);
    return 0;
}

static int message_to_document(void *context, const struct cairn_message *message)
{
    struct doc *doc = context;
    message_document(doc, message, SIZE_MAX - 1);
    if (message->body)
        doc_bytes(doc, "body", message->body, message->body_bytes);
    else
        doc_null(doc, "body");
    return 0;
}

static int show_message(const struct settings *settings, struct cairn_store *store,
                        uint64_t n)
{
    struct doc doc = {0}, *used = ui_json() ? &doc : NULL;
    struct cairn_error error = {0};
    bool raw = settings->given[OPT_RAW] && !used;
    if (used)
        doc_begin(used);
    if (cairn_message_get(store, session_option(settings), n,
                          used  ? message_to_document
                          : raw ? print_body
                                : print_message,
                          used, &error) != 0) {
        if (used)
            doc_discard(used);
        return report_error(&error);
    }
    return used ? doc_print(used) : 0;
}

int command_message_show(struct settings *settings)
{
    struct cairn_store *store = NULL;
    const char *given = settings->operands[0];
    char *end = NULL;
    errno = 0;
    uint64_t n = given[0] >= '0' && given[0] <= '9' ? strtoull(given, &end, 10) : 0;
    if (!end || *end != '\0' || errno != 0)
        return report_usage(settings->command, "'%.40s' is not the number of a message",
                            given);
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = show_message(settings, store, n);
    hooks_run_and_close(store);
    return status;
}
