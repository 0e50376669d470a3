/* SPDX-License-Identifier: MIT */
#include "cli/sessions/environment.h"

#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

/* ---- One of them ---- */

static int print_environment(void *context, const struct cairn_environment *environment)
{
    (void)context;
    out("directory %s\n", environment->directory);
    for (size_t i = 0; i < environment->n; i++)
        out("%-9s %s=%s\n", i == 0 ? "variables" : "", environment->variables[i].name,
            environment->variables[i].value);
    return 0;
}

static int add_environment(void *context, const struct cairn_environment *environment)
{
    struct doc *doc = context;
    doc_object(doc, "environment");
    doc_text(doc, "directory", environment->directory);
    doc_array(doc, "variables");
    for (size_t i = 0; i < environment->n; i++) {
        doc_object(doc, NULL);
        doc_text(doc, "name", environment->variables[i].name);
        doc_text(doc, "value", environment->variables[i].value);
        doc_bool(doc, "partial", environment->variables[i].partial);
        doc_end(doc);
    }
    doc_end(doc);
    doc_end(doc);
    return 0;
}

int environment_print(struct cairn_store *store, const char *id)
{
    struct cairn_error error = {0};
    int rc =
        cairn_session_environment(store, NULL, id, print_environment, NULL, &error);
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

int environment_document(struct doc *doc, struct cairn_store *store, const char *id)
{
    struct cairn_error error = {0};
    int rc = cairn_session_environment(store, NULL, id, add_environment, doc, &error);
    if (rc == CAIRN_ENOTFOUND)
        doc_null(doc, "environment");
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* ---- Two of them ---- */

struct copied {
    char *directory;
    struct pair {
        char *name, *value;
    } * at;
    size_t n;
    bool failed, found;
};

static int copy_environment(void *context, const struct cairn_environment *environment)
{
    struct copied *copied = context;
    copied->found = true;
    copied->directory = strdup(environment->directory);
    copied->at = calloc(environment->n + 1, sizeof *copied->at);
    copied->failed = !copied->directory || !copied->at;
    for (size_t i = 0; i < environment->n && !copied->failed; i++) {
        struct pair *pair = &copied->at[copied->n++];
        pair->name = strdup(environment->variables[i].name);
        pair->value = strdup(environment->variables[i].value);
        copied->failed = !pair->name || !pair->value;
    }
    return 0;
}

static void release(struct copied *copied)
{
    for (size_t i = 0; i < copied->n; i++) {
        free(copied->at[i].name);
        free(copied->at[i].value);
    }
    free(copied->at);
    free(copied->directory);
}

static int copy_one(struct cairn_store *store, const char *session, const char *id,
                    struct copied *copied)
{
    struct cairn_error error = {0};
    int rc =
        cairn_session_environment(store, session, id, copy_environment, copied, &error);
    if (copied->failed)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* `name` NULL: the working directory; a value NULL: it is not there. */
static void tell_difference(struct doc *doc, const char *name, const char *before,
                            const char *after)
{
    if (before && after && strcmp(before, after) == 0)
        return;
    if (!doc) {
        out("~ environment  %s: %s -> %s\n", name ? name : "(directory)",
            before ? before : "-", after ? after : "-");
        return;
    }
    doc_object(doc, NULL);
    doc_text(doc, "name", name);
    doc_text(doc, "before", before);
    doc_text(doc, "after", after);
    doc_end(doc);
}

/* Both are in order of names. */
static void tell_differences(struct doc *doc, const struct copied *from,
                             const struct copied *to)
{
    size_t i = 0, k = 0;
    tell_difference(doc, NULL, from->directory, to->directory);
    while (i < from->n || k < to->n) {
        int order = i == from->n ? 1
                    : k == to->n ? -1
                                 : strcmp(from->at[i].name, to->at[k].name);
        const char *name = order <= 0 ? from->at[i].name : to->at[k].name;
        const char *before = order <= 0 ? from->at[i++].value : NULL;
        const char *after = order >= 0 ? to->at[k++].value : NULL;
        tell_difference(doc, name, before, after);
    }
}

int environment_compare(struct doc *doc, struct cairn_store *store, const char *session,
                        const char *from, const char *to)
{
    struct copied was = {0}, is = {0};
    int status = copy_one(store, session, from, &was);
    if (status == 0)
        status = copy_one(store, session, to, &is);
    if (doc)
        doc_array(doc, "environment");
    if (status == 0 && was.found && is.found)
        tell_differences(doc, &was, &is);
    if (doc)
        doc_end(doc);
    release(&was);
    release(&is);
    return status;
}
