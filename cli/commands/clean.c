/* SPDX-License-Identifier: MIT */
/* cairn clean --stale: removes outputs of tasks that are gone or skipped now, after
 * asking. */
#include "cli/commands/run_commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <stdio.h>

enum { LISTED_MOST = 50 }; /* before it asks; --dry-run lists all */

static const char *const state_words[] = {"stale",     "changed", "used",
                                          "directory", "removed", "failed"};

struct cleaned {
    struct doc doc; /* with --json */
    bool lists;     /* what can be removed, and what is kept, is listed */
    bool asks;      /* ... not more than a screen of it */
    bool listed;    /* it was listed before */
    uint64_t count[CAIRN_STALE_FAILED + 1];
};

/* Why it stays. */
static void say_kept(const struct cairn_stale_file *file)
{
    switch (file->state) {
    case CAIRN_STALE_CHANGED:
        say("kept %s: it is not what %s made any more", file->path, file->task);
        break;
    case CAIRN_STALE_USED:
        say("kept %s of %s: %s %s it", file->path, file->task, file->user,
            file->made ? "makes" : "reads");
        break;
    case CAIRN_STALE_DIRECTORY:
        say("kept the directory %s of %s: remove it if nothing in it is needed",
            file->path, file->task);
        break;
    case CAIRN_STALE_FAILED:
        ui_warn("cannot remove %s: %s", file->path, file->problem);
        break;
    case CAIRN_STALE_SAME:
    case CAIRN_STALE_REMOVED:
        break;
    }
}

static void add_to_document(struct doc *doc, const struct cairn_stale_file *file)
{
    doc_object(doc, NULL);
    doc_text(doc, "path", file->path);
    doc_text(doc, "task", file->task);
    doc_text(doc, "state", state_words[file->state]);
    doc_text(doc, "user", file->user);
    doc_count(doc, "size_bytes", file->size_bytes);
    doc_text(doc, "problem", file->problem);
    doc_end(doc);
}

static int take_file(void *context, const struct cairn_stale_file *file)
{
    struct cleaned *c = context;
    char size[FORMAT_MAX];
    uint64_t n = ++c->count[file->state];
    if (ui_json())
        add_to_document(&c->doc, file);
    else if (file->state != CAIRN_STALE_SAME && (c->lists || !c->listed))
        say_kept(file);
    else if (c->asks && n <= LISTED_MOST)
        say_always("%s (%s) of %s", file->path, format_bytes(size, file->size_bytes),
                   file->task);
    else if (c->lists && !c->asks)
        out("%s\n", file->path);
    return 0;
}

static void say_result(const struct cleaned *c, bool dry_run)
{
    uint64_t n = c->count[dry_run ? CAIRN_STALE_SAME : CAIRN_STALE_REMOVED];
    uint64_t kept = c->count[CAIRN_STALE_CHANGED] + c->count[CAIRN_STALE_USED] +
                    c->count[CAIRN_STALE_DIRECTORY];
    out_flush();
    if (n)
        say("%s %llu file%s of tasks that are gone or skipped now%s",
            dry_run ? "would remove" : "removed", (unsigned long long)n, plural(n),
            kept ? "; the others are kept" : "");
    else if (!c->count[CAIRN_STALE_FAILED])
        say(kept ? "nothing to remove: what is there is kept"
                 : "nothing to remove: no recorded output of a task that is gone or "
                   "skipped now is there");
}

/* Lists what would be removed. False: that was not agreed to, or nobody can be asked.
 */
static bool ask_first(struct cairn_workflow *workflow, struct cairn_store *store,
                      const struct cairn_run_options *options, int *status)
{
    struct cleaned c = {.lists = true, .asks = true};
    struct cairn_error error = {0};
    char question[64];
    *status = 0;
    if (cairn_clean_stale(workflow, store, options, false, take_file, &c, &error)) {
        *status = report_error(&error);
        return false;
    }
    uint64_t n = c.count[CAIRN_STALE_SAME];
    if (!n) {
        say_result(&c, true);
        return false;
    }
    if (n > LISTED_MOST)
        say_always("and %llu more: --dry-run lists all",
                   (unsigned long long)(n - LISTED_MOST));
    if (!ui_can_ask()) {
        *status = report_usage("clean", "nothing was removed: without a terminal --yes "
                                        "removes what is listed");
        return false;
    }
    snprintf(question, sizeof question, "Remove %s?", n == 1 ? "it" : "them");
    if (ui_ask(question))
        return true;
    say_always("nothing was removed");
    return false;
}

static int clean(const struct settings *settings, struct cairn_workflow *workflow,
                 struct cairn_store *store, const struct cairn_run_options *options)
{
    bool dry_run = settings->given[OPT_DRY_RUN];
    struct cleaned c = {.lists = dry_run, .listed = !settings->given[OPT_YES]};
    struct cairn_error error = {0};
    int status = 0;
    if (!settings->given[OPT_YES] && !dry_run &&
        !ask_first(workflow, store, options, &status))
        return status;
    if (ui_json()) {
        doc_begin(&c.doc);
        doc_bool(&c.doc, "dry_run", dry_run);
        doc_array(&c.doc, "files");
    }
    if (cairn_clean_stale(workflow, store, options, !dry_run, take_file, &c, &error)) {
        if (ui_json())
            doc_discard(&c.doc);
        return report_error(&error);
    }
    if (ui_json()) {
        doc_end(&c.doc);
        status = doc_print(&c.doc);
    } else {
        say_result(&c, dry_run);
    }
    return c.count[CAIRN_STALE_FAILED] ? EXIT_SYSTEM : status;
}

int command_clean(struct settings *settings)
{
    struct cairn_run_options options = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    bool asks = !settings->given[OPT_YES] && !settings->given[OPT_DRY_RUN];
    if (!settings->given[OPT_STALE])
        return report_usage("clean", "give --stale: nothing else is removed");
    if (asks && ui_json())
        return report_usage("clean",
                            "--json needs --dry-run, which lists the files, or "
                            "--yes, which removes them");
    if (settings->n_operands == 0 && access("cairn.yaml", F_OK) == 0)
        settings->operands[settings->n_operands++] = "cairn.yaml";
    int status = settings->given[OPT_DRY_RUN]
                     ? store_if_any(settings, 0, &store)
                     : store_for_writing(settings, &store, false);
    if (status == 0 && !store)
        status = store_for_reading(settings, &store);
    if (status == 0)
        status = workflow_target(settings, "clean", 0, store, &workflow, &options);
    if (status == 0) {
        print_warnings(workflow);
        status = clean(settings, workflow, store, &options);
    }
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    return status;
}
