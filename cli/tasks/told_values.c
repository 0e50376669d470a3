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
    if (rc == CAIRN_EDAMAGED) { /* what is told beside them stands */
        ui_error(error.text);
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

static int by_task(const void *x, const void *y)
{
    const struct told_value *a = x, *b = y;
    int order = strcmp(a->task, b->task);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* The first of this task, or where it would be. */
static size_t first_of(struct told_values *values, const char *task)
{
    size_t low = 0, high = values->n;
    if (!values->sorted && values->n > 0)
        qsort(values->at, values->n, sizeof *values->at, by_task);
    values->sorted = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(values->at[middle].task, task) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void told_values_document(struct told_values *values, struct doc *doc, const char *task)
{
    doc_object(doc, "values");
    for (size_t i = first_of(values, task);
         i < values->n && strcmp(values->at[i].task, task) == 0; i++)
        doc_text(doc, values->at[i].name, values->at[i].value);
    doc_end(doc);
}

void told_values_print(struct told_values *values, const char *task)
{
    for (size_t i = first_of(values, task);
         i < values->n && strcmp(values->at[i].task, task) == 0; i++)
        out("      %s = %s\n", values->at[i].name, values->at[i].value);
}
