/* SPDX-License-Identifier: MIT */
/* cairn values: what tasks have told for later ones. */
#include "cli/commands/run_commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <string.h>

struct value_listing {
    struct doc *doc; /* with --json */
    const char
        *task;      /* only of it, or of the group, the part or the pattern; or NULL */
    uint32_t tasks; /* how many these are; 0: it is the id of a task, or unknown */
    const char *name; /* only this one; NULL: all */
    uint32_t shown;
};

static int count_task(void *context, const struct cairn_task_info *task)
{
    struct value_listing *listing = context;
    bool exact = strcmp(listing->task, task->id) == 0;
    listing->tasks += cairn_name_matches(listing->task, task->id);
    if (exact)
        listing->tasks = 0;
    return exact;
}

static int add_value(struct doc *doc, const struct cairn_value_info *info)
{
    doc_object(doc, NULL);
    doc_text(doc, "task", info->task);
    doc_text(doc, "name", info->name);
    doc_text(doc, "value", info->value);
    doc_end(doc);
    return 0;
}

/* A value that was asked for by its name is printed as it is: for $( ). */
static void print_alone(const char *value)
{
    if (ui_terminal(1))
        out_lines(value, strlen(value));
    else
        out_raw(value, strlen(value));
    out("\n");
}

static int show_value(void *context, const struct cairn_value_info *info)
{
    struct value_listing *listing = context;
    if (listing->name && strcmp(listing->name, info->name) != 0)
        return 0;
    if (listing->tasks > 0 && !cairn_name_matches(listing->task, info->task))
        return 0;
    listing->shown++;
    if (listing->doc)
        return add_value(listing->doc, info);
    if (listing->name && listing->tasks <= 1)
        print_alone(info->value);
    else
        out("%s  %s = %s\n", info->task, info->name, info->value);
    return ui_output_lost();
}

/* No value of this name, or none at all. */
static int report_none(const struct value_listing *listing, uint64_t run)
{
    const char *task = listing->task;
    unsigned long long number = run;
    if (listing->name) {
        char *word = shell_word(task), who[64] = "task ";
        bool some = listing->tasks > 1;
        if (some)
            snprintf(who, sizeof who, "none of the %u tasks of ", listing->tasks);
        int status = report_failure(
            EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
            "%s%s has reported %s value %s in run %llu: `cairn values %s --run %llu` "
            "shows what %s reported",
            who, task, some ? "a" : "no", listing->name, number, word ? word : "TASK",
            number, some ? "they have" : "it has");
        free(word);
        return status;
    }
    if (!task)
        say("no task of run %llu has reported a value", number);
    else if (listing->tasks > 1)
        say("none of the %u tasks of %s has reported a value in run %llu",
            listing->tasks, task, number);
    else
        say("task %s has reported no value in run %llu", task, (unsigned long long)run);
    return 0;
}

static int list_values(struct settings *settings, struct cairn_store *store,
                       uint64_t run)
{
    struct doc doc = {0};
    struct value_listing listing = {
        .doc = ui_json() ? &doc : NULL,
        .task = settings->n_operands > 0 ? settings->operands[0] : NULL,
        .name = settings->n_operands > 1 ? settings->operands[1] : NULL};
    const char *task = listing.task;
    struct cairn_error error = {0};
    if (task && cairn_run_tasks(store, run, count_task, &listing, &error) != 0)
        return report_error(&error);
    if (listing.doc) {
        doc_begin(&doc);
        doc_count(&doc, "run", run);
        doc_array(&doc, "values");
    }
    if (cairn_values(store, run, listing.tasks > 0 ? NULL : task, show_value, &listing,
                     &error) != 0) {
        if (listing.doc)
            doc_discard(&doc);
        out_flush();
        return task ? missing_task(store, run, task, &error) : report_error(&error);
    }
    if (listing.shown == 0 && (listing.name || !listing.doc)) {
        if (listing.doc)
            doc_discard(&doc);
        return report_none(&listing, run);
    }
    return listing.doc ? doc_print(&doc) : 0;
}

int command_values(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    int status = store_for_reading(settings, &store);
    if (status == 0)
        run_among_tasks(settings, store);
    if (status == 0)
        status = run_option(settings, store, &run);
    if (status == 0)
        status = list_values(settings, store, run.run);
    cairn_store_close(store);
    return status;
}
