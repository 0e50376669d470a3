/* SPDX-License-Identifier: MIT */
/* cairn session message add, import, list, show. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* cairn session message add and import. */

static int system_failure(const char *name, int sys)
{
    bool missing = sys == ENOENT || sys == ENOTDIR;
    return report_failure(missing ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                          cairn_code_name(missing ? CAIRN_ENOTFOUND : CAIRN_EIO),
                          "cannot read %s: %s", name, strerror(sys));
}

/* ---- Lines ---- */

struct line_list {
    uint64_t *at; /* heap */
    size_t n;
    bool failed;
};

struct lines {
    struct cairn_store *store;
    const char *session;
    const char *shown; /* the file, for people */
    int fd;
    int sys; /* errno of what failed, or 0 */
    struct line_list unreadable, too_large;
    uint64_t torn; /* its number, or 0 */
    struct cairn_message_import result;
};

static int64_t read_input(void *context, char *bytes, size_t n)
{
    struct lines *lines = context;
    for (;;) {
        ssize_t got = read(lines->fd, bytes, n);
        if (got >= 0)
            return got;
        if (errno != EINTR) {
            lines->sys = errno;
            return -1;
        }
    }
}

static void note_line(struct line_list *list, uint64_t line)
{
    uint64_t *at = realloc(list->at, (list->n + 1) * sizeof *at);
    list->failed = list->failed || !at;
    if (!at)
        return;
    list->at = at;
    at[list->n++] = line;
}

static void note_problem(void *context, enum cairn_line_problem problem, uint64_t line)
{
    struct lines *lines = context;
    switch (problem) {
    case CAIRN_LINE_UNREADABLE:
        ui_warn("line %" PRIu64 " of %s is not a JSON object: it is kept as it is",
                line, lines->shown);
        note_line(&lines->unreadable, line);
        break;
    case CAIRN_LINE_TOO_LARGE:
        ui_warn("line %" PRIu64 " of %s has more than %u MiB: only its size and digest "
                "are kept",
                line, lines->shown, CAIRN_MESSAGE_LINE_MAX >> 20);
        note_line(&lines->too_large, line);
        break;
    case CAIRN_LINE_TORN:
        say("line %" PRIu64 " of %s, the last, is not complete: the next import takes "
            "it",
            line, lines->shown);
        lines->torn = line;
        break;
    }
}

static void list_document(struct doc *doc, const char *key,
                          const struct line_list *list)
{
    doc_array(doc, key);
    for (size_t i = 0; i < list->n; i++)
        doc_count(doc, NULL, list->at[i]);
    doc_end(doc);
    doc->failed = doc->failed || list->failed;
}

static int print_lines_document(const struct lines *lines)
{
    const struct cairn_message_import *result = &lines->result;
    struct doc doc;
    doc_begin(&doc);
    doc_count(&doc, "lines", result->lines);
    doc_count(&doc, "added", result->added);
    doc_count(&doc, "skipped", result->skipped);
    doc_some(&doc, "last", result->last);
    doc_count(&doc, "tokens_in", result->tokens_in);
    doc_count(&doc, "tokens_out", result->tokens_out);
    list_document(&doc, "unreadable", &lines->unreadable);
    list_document(&doc, "too_large", &lines->too_large);
    doc_some(&doc, "torn", lines->torn);
    return doc_print(&doc);
}

static int report_lines(const struct lines *lines)
{
    const struct cairn_message_import *result = &lines->result;
    if (ui_json())
        return print_lines_document(lines);
    if (result->added == 0)
        say("no message was added");
    else
        say("%" PRIu64 " message%s added, the last is %" PRIu64, result->added,
            result->added == 1 ? " was" : "s were", result->last);
    if (result->skipped > 0)
        say("skipped: %" PRIu64 " that are here already", result->skipped);
    return 0;
}

/* `name` NULL: every line is new. */
static int take_lines(struct lines *lines, const char *name)
{
    struct cairn_error error = {0};
    int rc = cairn_message_import(lines->store, lines->session, name, read_input,
                                  note_problem, lines, &lines->result, &error);
    int status = rc == 0           ? report_lines(lines)
                 : lines->sys != 0 ? system_failure(lines->shown, lines->sys)
                                   : report_error(&error);
    free(lines->unreadable.at);
    free(lines->too_large.at);
    return status;
}

/* ---- Adding ---- */

static int add_message(const struct settings *settings)
{
    static const char *const roles[] = {"user", "assistant", "system", "tool"};
    struct cairn_new_message message = {
        .role = roles[settings->number[OPT_ROLE]],
        .model = settings->text[OPT_MODEL],
        .tokens_in = settings->number[OPT_TOKENS_IN],
        .tokens_out = settings->number[OPT_TOKENS_OUT],
        .text = settings->operands[0],
        .bytes = strlen(settings->operands[0]),
    };
    struct cairn_error error = {0};
    struct buf from_stdin = BUF_INIT;
    uint64_t n = 0;
    struct doc doc;
    int status = 0;
    if (strcmp(settings->operands[0], "-") == 0) {
        struct str text = STR("");
        status = stdin_text(CAIRN_MESSAGE_LINE_MAX, &from_stdin, &text);
        message.text = text.ptr;
        message.bytes = text.len;
    }
    if (status == 0 && cairn_message_add(settings->store, session_option(settings),
                                         &message, &n, &error) != 0)
        status = report_error(&error);
    buf_release(&from_stdin);
    if (status != 0)
        return status;
    if (!ui_json()) {
        out("%" PRIu64 "\n", n);
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "message", n);
    return doc_print(&doc);
}

int command_message_add(struct settings *settings)
{
    struct lines lines = {.session = session_option(settings), .shown = "stdin"};
    bool many = settings->given[OPT_JSON_LINES];
    if (many && (settings->n_operands > 0 || settings->given[OPT_ROLE] ||
                 settings->given[OPT_MODEL] || settings->given[OPT_TOKENS_IN] ||
                 settings->given[OPT_TOKENS_OUT]))
        return report_usage(settings->command,
                            "with --jsonl the lines say all: give no other of these");
    if (!many && settings->n_operands == 0)
        return report_usage(settings->command,
                            "there is no text: give it, or - to read it from stdin");
    int status = session_store(settings, STORE_WRITE);
    lines.store = settings->store;
    if (status == 0)
        status = many ? take_lines(&lines, NULL) : add_message(settings);
    return status;
}

/* ---- Importing ---- */

int command_message_import(struct settings *settings)
{
    const char *file = settings->operands[0];
    bool from_stdin = strcmp(file, "-") == 0;
    struct lines lines = {.session = session_option(settings),
                          .shown = from_stdin ? "stdin" : file};
    char *whole = from_stdin ? strdup("-") : realpath(file, NULL);
    if (!whole)
        return system_failure(file, errno);
    lines.fd = from_stdin ? 0 : open(whole, O_RDONLY | O_CLOEXEC);
    int status = lines.fd < 0 ? system_failure(file, errno)
                              : session_store(settings, STORE_WRITE);
    lines.store = settings->store;
    if (status == 0)
        status = take_lines(&lines, whole);
    if (lines.fd > 0)
        close(lines.fd);
    free(whole);
    return status;
}

/* cairn session message list and show. */

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

int command_message_list(struct settings *settings)
{
    int status = session_store(settings, STORE_READ);
    if (status != 0)
        return status;
    struct doc doc, *used;
    struct cairn_message_line line = {0};
    struct cairn_error error = {0};
    char id[CAIRN_ID_MAX];
    const char *session = session_option(settings), *at;
    status = checkpoint_named(settings, settings->text[OPT_AT], id, &at);
    if (status != 0)
        return status;
    used = doc_open(&doc, "messages");
    if (cairn_message_list(settings->store, session, at, settings->number[OPT_LAST],
                           used ? add_line : print_line, used, &line, &error) != 0)
        return doc_close(used, report_error(&error));
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

static int show_message(const struct settings *settings, uint64_t n)
{
    struct doc doc, *used = doc_open(&doc, NULL);
    struct cairn_error error = {0};
    bool raw = settings->given[OPT_RAW] && !used;
    if (cairn_message_get(settings->store, session_option(settings), n,
                          used  ? message_to_document
                          : raw ? print_body
                                : print_message,
                          used, &error) != 0)
        return doc_close(used, report_error(&error));
    return used ? doc_print(used) : 0;
}

int command_message_show(struct settings *settings)
{
    const char *given = settings->operands[0];
    uint64_t n;
    if (!str_to_u64(str_of(given), &n))
        return report_usage(settings->command, "'%.40s' is not the number of a message",
                            given);
    int status = session_store(settings, STORE_READ);
    return status == 0 ? show_message(settings, n) : status;
}
