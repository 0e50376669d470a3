/* SPDX-License-Identifier: MIT */
/* cairn doctor --repair: what a repair saved and lost. */
#include "cli/commands/doctor_repair.h"

#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

#define ASIDE_MAX sizeof((struct cairn_repair_result *)0)->aside

struct lost {
    struct cairn_loss loss; /* its text is a copy */
    char *task;             /* its id, or NULL */
};

struct losses {
    struct lost *at;
    size_t n, capacity;
    bool failed;
};

static int each_loss(void *context, const struct cairn_loss *loss)
{
    struct losses *losses = context;
    char *text;
    if (losses->n == losses->capacity) {
        size_t capacity = losses->capacity > 0 ? 2 * losses->capacity : 16;
        struct lost *at = realloc(losses->at, capacity * sizeof *at);
        losses->failed = !at;
        if (!at)
            return 1;
        losses->at = at;
        losses->capacity = capacity;
    }
    text = strdup(loss->text);
    losses->failed = !text;
    if (!text)
        return 1;
    losses->at[losses->n] = (struct lost){.loss = *loss};
    losses->at[losses->n++].loss.text = text;
    return 0;
}

static void release_losses(struct losses *losses)
{
    for (size_t i = 0; i < losses->n; i++) {
        free((void *)(uintptr_t)losses->at[i].loss.text);
        free(losses->at[i].task);
    }
    free(losses->at);
}

/* ---- The names of lost tasks ---- */

struct named {
    struct lost **at; /* of one run, by task */
    size_t n;
    uint32_t task; /* that comes next */
};

static int name_task(void *context, const struct cairn_task_info *info)
{
    struct named *named = context;
    for (; named->n > 0 && named->at[0]->loss.task == named->task; named->n--)
        (*named->at++)->task = strdup(info->id);
    named->task++;
    return named->n == 0;
}

static int by_task(const void *a, const void *b)
{
    const struct cairn_loss *x = &(*(struct lost *const *)a)->loss;
    const struct cairn_loss *y = &(*(struct lost *const *)b)->loss;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

/* Goes over the tasks of each run once, for all that were lost of it. */
static void name_tasks(struct losses *losses, struct cairn_store *store)
{
    struct lost **tasks = malloc(losses->n * sizeof(struct lost *));
    size_t n = 0, of_run;
    for (size_t i = 0; tasks && i < losses->n; i++)
        if (losses->at[i].loss.kind == CAIRN_LOSS_TASK ||
            losses->at[i].loss.kind == CAIRN_LOSS_ATTEMPT)
            tasks[n++] = &losses->at[i];
    if (n > 0)
        qsort(tasks, n, sizeof(struct lost *), by_task);
    for (size_t i = 0; i < n; i += of_run) {
        struct named named = {.at = tasks + i};
        for (of_run = 0; i + of_run < n; of_run++)
            if (tasks[i + of_run]->loss.run != tasks[i]->loss.run)
                break;
        named.n = of_run;
        cairn_run_tasks(store, tasks[i]->loss.run, name_task, &named, NULL);
    }
    free(tasks);
}

/* ---- Reporting ---- */

static const char *const kinds[] = {"checkpoint", "task", "run", "attempt",
                                    "object",     "row",  "file"};

static void print_losses(const struct losses *losses)
{
    for (size_t i = 0; i < losses->n; i++) {
        const struct lost *lost = &losses->at[i];
        out("lost  %-10s  %s%s%s%s\n", kinds[lost->loss.kind], lost->loss.text,
            lost->task ? " (task " : "", lost->task ? lost->task : "",
            lost->task ? ")" : "");
    }
}

/* The next new name of something that was in place of the lock file or of live/ and was
 * moved: `aside` is "odd-lock-NUMBER", "odd-live-NUMBER", or both, separated by a
 * space. */
static bool next_aside(const char **at, char name[ASIDE_MAX])
{
    int n = (int)strcspn(*at, " ");
    snprintf(name, ASIDE_MAX, "%.*s", n, *at);
    *at += n + ((*at)[n] != '\0');
    return name[0] != '\0';
}

static void print_aside(const struct cairn_repair_result *result)
{
    const char *at = result->aside;
    char name[ASIDE_MAX];
    while (next_aside(&at, name))
        say("moved aside: what was found in place of the store's %.4s is now in its "
            "directory as %s",
            name + 4, name);
}

static void aside_document(struct doc *doc, const struct cairn_repair_result *result)
{
    const char *at = result->aside;
    char name[ASIDE_MAX];
    doc_array(doc, "put_aside");
    while (next_aside(&at, name))
        doc_text(doc, NULL, name);
    doc_end(doc);
}

static int losses_document(const struct cairn_repair_result *result,
                           const struct losses *losses)
{
    struct doc doc;
    doc_begin(&doc);
    doc_bool(&doc, "repaired", result->repaired);
    doc_text(&doc, "kept", result->kept[0] != '\0' ? result->kept : NULL);
    doc_count(&doc, "checkpoints", result->checkpoints);
    doc_count(&doc, "objects", result->objects);
    doc_count(&doc, "runs", result->runs);
    doc_count(&doc, "attempts", result->attempts);
    doc_count(&doc, "events", result->events);
    doc_count(&doc, "others", result->others);
    doc_count(&doc, "lost", result->lost);
    aside_document(&doc, result);
    doc_array(&doc, "losses");
    for (size_t i = 0; i < losses->n; i++) {
        const struct cairn_loss *loss = &losses->at[i].loss;
        doc_object(&doc, NULL);
        doc_text(&doc, "kind", kinds[loss->kind]);
        doc_some(&doc, "seq", loss->seq);
        doc_text(&doc, "id", loss->id[0] != '\0' ? loss->id : NULL);
        doc_some(&doc, "run", loss->run);
        doc_text(&doc, "task", losses->at[i].task);
        doc_text(&doc, "text", loss->text);
        doc_end(&doc);
    }
    doc_end(&doc);
    return doc_print(&doc);
}

static void print_result(const struct cairn_repair_result *result)
{
    out_flush();
    print_aside(result);
    if (!result->repaired) {
        say(result->aside[0] != '\0' ? "nothing else is damaged"
                                     : "nothing is damaged: nothing to repair");
        return;
    }
    if (result->checkpoints + result->runs + result->objects + result->lost > 0)
        say("saved: %llu checkpoint%s, %llu run%s, %llu object%s, %llu attempt%s; "
            "lost: %llu",
            (unsigned long long)result->checkpoints, plural(result->checkpoints),
            (unsigned long long)result->runs, plural(result->runs),
            (unsigned long long)result->objects, plural(result->objects),
            (unsigned long long)result->attempts, plural(result->attempts),
            (unsigned long long)result->lost);
    say("a new store is in place; the damaged files are kept in its directory %s",
        result->kept);
}

/* A repair needs no key; but if one is named it must be usable, as everywhere. */
static int check_key(struct settings *settings)
{
    struct cairn_store_options options = {.path = store_path(settings),
                                          .read_only = true,
                                          .key_file = key_path(settings)};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int rc;
    if (!options.key_file)
        return 0;
    rc = cairn_store_open(&store, &options, &error);
    cairn_store_close(store);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EUSAGE)
        return report_error(&error);
    return 0;
}

int repair_store(struct settings *settings)
{
    struct losses losses = {0};
    struct cairn_repair_result result = {0};
    struct cairn_error error = {0};
    struct cairn_store_options options = {.path = store_path(settings),
                                          .read_only = true};
    struct cairn_store *store = NULL;
    int status = check_key(settings);
    if (status != 0)
        return status;
    if (cairn_store_repair(options.path, each_loss, &losses, &result, &error) != 0) {
        release_losses(&losses);
        print_aside(&result);
        return report_error(&error);
    }
    if (losses.n > 0 && cairn_store_open(&store, &options, NULL) == 0)
        name_tasks(&losses, store); /* otherwise they have no names */
    if (ui_json()) {
        status = losses_document(&result, &losses);
    } else {
        print_losses(&losses);
        print_result(&result);
    }
    cairn_store_close(store);
    if (losses.failed)
        ui_warn("out of memory: not all that was lost is listed");
    release_losses(&losses);
    if (status != 0)
        return status;
    return result.lost > 0 ? cairn_exit_status(CAIRN_EDAMAGED) : 0;
}
