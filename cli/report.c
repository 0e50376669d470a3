/* SPDX-License-Identifier: MIT */
/* Errors of a command: a message on stderr, and with --json a document on stdout. */
#include "cli/report.h"

#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/ui.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_masked(struct doc *doc, const char *key, const char *text)
{
    char *masked = ui_masked(text);
    doc_text(doc, key, masked ? masked : "out of memory");
    free(masked);
}

static void begin_error_document(struct doc *doc, int status, const char *name,
                                 const char *text)
{
    doc_begin(doc);
    doc_object(doc, "error");
    doc_text(doc, "code", name);
    doc_number(doc, "exit_status", status);
    add_masked(doc, "text", text);
}

static void print_error_document(int status, const char *name, const char *text)
{
    struct doc doc;
    begin_error_document(&doc, status, name, text);
    doc_end(&doc);
    bool keeping = out_set_keeping(false);
    doc_print(&doc);
    out_set_keeping(keeping);
}

/* What helps against a full disk, where the text does not say it. */
static struct cairn_error with_remedy(const struct cairn_error *error)
{
    struct cairn_error full = *error;
    size_t n = strlen(full.text);
    if ((full.sys == ENOSPC || full.sys == EDQUOT) && !strstr(full.text, "free some"))
        snprintf(full.text + n, sizeof full.text - n,
                 ": free some space there, then call it again");
    return full;
}

int report_nomem(void)
{
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM), "out of memory");
}

int report_code(int rc, const struct cairn_error *error)
{
    return rc == 0 ? 0 : report_error(error);
}

int report_error(const struct cairn_error *cause)
{
    const struct cairn_error full = with_remedy(cause), *error = &full;
    int status = cairn_exit_status(error->code);
    assert(error->code != 0); /* otherwise a failure would exit with 0 */
    ui_error(error->text);
    if (ui_json())
        print_error_document(status, cairn_code_name(error->code), error->text);
    return status;
}

int report_plan_check(const struct cairn_plan *plan)
{
    struct cairn_error error = {0};
    return cairn_plan_check(plan, &error) == 0 ? 0 : report_error(&error);
}

/* ---- All that is wrong in a workflow file ---- */

enum { MOST = 20 }; /* mistakes that the library reports */

struct found {
    struct cairn_error list[MOST];
    int n;
};

static int keep_mistake(void *context, const struct cairn_error *mistake)
{
    struct found *found = context;
    found->list[found->n++] = *mistake;
    return found->n == MOST;
}

static void print_mistakes(int status, const struct cairn_error *first,
                           const struct found *found)
{
    struct doc doc;
    begin_error_document(&doc, status, cairn_code_name(first->code), first->text);
    doc_array(&doc, "mistakes");
    for (int i = 0; i < found->n; i++)
        add_masked(&doc, NULL, found->list[i].text);
    doc_end(&doc);
    doc_end(&doc);
    doc_print(&doc);
}

int report_mistakes(const char *file, const struct cairn_param *params, size_t n_params,
                    const struct cairn_error *first)
{
    struct found found = {.n = 0};
    int status = cairn_exit_status(first->code);
    if (first->code == CAIRN_EWORKFLOW || first->code == CAIRN_EUSAGE)
        cairn_workflow_mistakes(file, params, n_params, keep_mistake, &found, NULL);
    if (found.n < 2)
        return report_error(first);
    for (int i = 0; i < found.n; i++)
        ui_error(found.list[i].text);
    if (found.n < MOST)
        say_always("%d mistakes", found.n);
    else
        say_always("the first %d mistakes; there may be more", found.n);
    if (ui_json())
        print_mistakes(status, first, &found);
    return status;
}

int report_failure(int status, const char *name, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ui_error(text);
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
