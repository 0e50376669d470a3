/* SPDX-License-Identifier: MIT */
/* Errors of a command: a message on stderr, and with --json a document on stdout. */
#include "cli/report.h"

#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/ui.h"

#include <assert.h>
#include <stdarg.h>

static void print_error_document(int status, const char *name, const char *text)
{
    struct doc doc;
    doc_begin(&doc);
    doc_object(&doc, "error");
    doc_text(&doc, "code", name);
    doc_number(&doc, "exit_status", status);
    doc_text(&doc, "text", text);
    doc_end(&doc);
    doc_print(&doc);
}

int report_error(const struct cairn_error *error)
{
    int status = cairn_exit_status(error->code);
    assert(error->code != 0); /* otherwise a failure would exit with 0 */
    ui_warn("%s", error->text);
    if (ui_json())
        print_error_document(status, cairn_code_name(error->code), error->text);
    return status;
}

int report_failure(int status, const char *name, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ui_warn("%s", text);
    if (ui_json())
        print_error_document(status, name, text);
    return status;
}

int report_usage(const char *command, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return report_failure(EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
                          "%s\nsee `cairn%s%s --help`", text, command ? " " : "",
                          command ? command : "");
}
