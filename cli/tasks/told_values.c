/* SPDX-License-Identifier: MIT */
#include "cli/tasks/told_values.h"

#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

int told_values_add(void *context, const char *task, const char *name,
                    const char *value)
{
    struct told_values *values = context;
    struct told_value *at = values->at;
    if ((values->n & (values->n - 1)) == 0) /* full at each power of two */
        at = realloc(at, (values->n ? values->n * 2 : 1) * sizeof *at);
    if (!at) {
        values->failed = true;
        return 1;
    }
    values->at = at;
    at += values->n++;
    *at = (struct told_value){strdup(task), strdup(name), strdup(value)};
    values->failed |= !at->task || !at->name || !at->value;
    return values->failed;
}

static int add_of_run(void *context, const struct cairn_value_info *info)
{
    return told_values_add(context, info->task, info->name, info->value);
}

int told_values_read(struct told_values *values, struct cairn_store *store,
                     uint64_t run, const char *task)
{
    struct cairn_error error = {0};
    *values = (struct told_values){.at = NULL};
    int rc = cairn_values(store, run, task, add_of_run, values, &error);
    if (values->failed) {
        ui_warn("out of memory");
        return EXIT_SYSTEM;
    }
    if (rc == CAIRN_EDAMAGED) {
        ui_warn("%s", error.text);
        out_incomplete();
        return 0;
    }
    /* One that is new in the workflow has told nothing. */
    return rc == 0 || (task && rc == CAIRN_ENOTFOUND) ? 0 : report_error(&error);
}

void told_values_release(struct told_values *values)
{
    for (size_t i = 0; i < values->n; i++) {
        free(values->at[i].task);
        free(values->at[i].name);
        free(values->at[i].value);
    }
    free(values->at);
    *values = (struct told_values){.at = NULL};
}

/* The next one of this task, or NULL. */
static const struct told_value *next_of(struct told_values *values, const char *task)
{
    if (values->next == values->n || strcmp(values->at[values->next].task, task) != 0)
        return NULL;
    return &values->at[values->next++];
}

void told_values_document(struct told_values *values, struct doc *doc, const char *task)
{
    const struct told_value *value;
    doc_object(doc, "values");
    while ((value = next_of(values, task)))
        doc_text(doc, value->name, value->value);
    doc_end(doc);
}

void told_values_print(struct told_values *values, const char *task)
{
    const struct told_value *value;
    while ((value = next_of(values, task)))
        out("      %s = %s\n", value->name, value->value);
}
