/* SPDX-License-Identifier: MIT */
/* cairn doctor, doctor --repair, gc, clean --stale: what is wrong in the store, or
 * needless. */
#include "cli/command.h"
#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/files.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cairn doctor --repair: what a repair saved and lost. */

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
    store_close(store);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EUSAGE)
        return report_error(&error);
    return 0;
}

/* Repairs the store and prints what was saved and lost. Returns an exit status. */
static int repair_store(struct settings *settings)
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
    store_close(store);
    if (losses.failed)
        ui_warn("out of memory: not all that was lost is listed");
    release_losses(&losses);
    if (status != 0)
        return status;
    return result.lost > 0 ? cairn_exit_status(CAIRN_EDAMAGED) : 0;
}

/* cairn doctor: findings about the store and its surroundings, with remedies. */

struct findings_report {
    struct doc *doc; /* with --json */
    uint32_t counts[3];
    char remedy[PATH_MAX + 512]; /* of the findings printed last */
    struct damaged_objects objects;
};

/* Once for all findings in a row that have the same one. */
static void print_remedy(struct findings_report *report, const char *next)
{
    if (next && strcmp(next, report->remedy) == 0)
        return;
    if (report->remedy[0] != '\0')
        out("      remedy: %s\n", report->remedy);
    snprintf(report->remedy, sizeof report->remedy, "%s", next ? next : "");
}

static int each_finding(void *context, const struct cairn_finding *finding)
{
    static const char *const names[] = {"ok", "warn", "bad"};
    static const char *const labels[] = {"ok  ", "warn", "BAD "};
    struct findings_report *report = context;
    report->counts[finding->health]++;
    damaged_note(&report->objects, finding->object);
    if (report->doc) {
        doc_object(report->doc, NULL);
        doc_text(report->doc, "health", names[finding->health]);
        doc_text(report->doc, "what", finding->what);
        doc_text(report->doc, "text", finding->text);
        doc_text(report->doc, "remedy", finding->remedy);
        doc_end(report->doc);
        return 0;
    }
    if (finding->health == CAIRN_HEALTH_OK && ui_quiet())
        return 0;
    print_remedy(report, finding->remedy);
    out("%s  %-12s  %s\n", labels[finding->health], finding->what, finding->text);
    return 0;
}

static void add_unfinished(void *context, const char *text)
{
    const struct cairn_finding finding = {
        .health = CAIRN_HEALTH_OK, .what = "unfinished", .text = text};
    each_finding(context, &finding);
}

static void add_restore(void *context, const char *text, const char *remedy)
{
    const struct cairn_finding finding = {
        .health = CAIRN_HEALTH_WARN, .what = "restore", .text = text, .remedy = remedy};
    each_finding(context, &finding);
}

/* Runs that were interrupted, stopped, or have failed, and restores of files that were
 * interrupted: nothing is wrong with the store, but nobody should have to look for
 * them. */
static int look_at_unfinished(struct settings *settings, struct findings_report *report)
{
    struct cairn_store_options options = {.path = store_path(settings),
                                          .read_only = true,
                                          .key_file = key_path(settings)};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    if (cairn_store_open(&store, &options, &error) != 0)
        return report_error(&error);
    int status = each_unfinished(store, store_hint(settings), 0, add_unfinished, report)
                     ?: each_unfinished_restore(store, add_restore, report);
    store_close(store);
    return status;
}

/* Not of a store that cannot be opened. */
static void name_files(struct settings *settings, struct findings_report *report)
{
    struct cairn_store_options options = {.path = store_path(settings),
                                          .read_only = true};
    struct cairn_store *store = NULL;
    if (report->objects.n > 0)
        (void)cairn_store_open(&store, &options, NULL);
    damaged_name(&report->objects, store, report->doc);
    damaged_release(&report->objects);
    store_close(store);
}

int command_doctor(struct settings *settings)
{
    struct doc doc;
    struct findings_report report = {0};
    struct cairn_error error = {0};
    int rc;
    if (settings->given[OPT_REPAIR])
        return repair_store(settings);
    report.doc = doc_open(&doc, "findings");
    rc = cairn_doctor(store_path(settings), key_path(settings), each_finding, &report,
                      &error);
    if (rc != 0 && report.counts[CAIRN_HEALTH_BAD] == 0)
        return doc_close(report.doc, report_error(&error));
    int status =
        rc == 0 ? look_at_unfinished(settings, &report) : cairn_exit_status(rc);
    if (rc == 0 && status != 0)
        return doc_close(report.doc, status);
    if (report.doc) {
        doc_end(&doc);
        name_files(settings, &report);
        doc_count(&doc, "ok", report.counts[CAIRN_HEALTH_OK]);
        doc_count(&doc, "warn", report.counts[CAIRN_HEALTH_WARN]);
        doc_count(&doc, "bad", report.counts[CAIRN_HEALTH_BAD]);
        doc_print(&doc);
    } else {
        print_remedy(&report, NULL);
        name_files(settings, &report);
        out_flush();
        say("%u bad, %u warning%s, %u ok", report.counts[CAIRN_HEALTH_BAD],
            report.counts[CAIRN_HEALTH_WARN], plural(report.counts[CAIRN_HEALTH_WARN]),
            report.counts[CAIRN_HEALTH_OK]);
    }
    return status;
}

/* cairn gc: old runs, and content that nothing refers to. */

static void print_counts(const struct cairn_gc_result *result, bool dry_run)
{
    char size[FORMAT_MAX];
    uint64_t runs = result->runs + result->kept_runs;
    uint64_t objects = result->objects + result->kept_objects;
    out("%s %llu of %llu run%s with %llu checkpoint%s, and %llu of %llu object%s; %s "
        "%s\n",
        dry_run ? "would remove" : "removed", (unsigned long long)result->runs,
        (unsigned long long)runs, plural(runs), (unsigned long long)result->checkpoints,
        plural(result->checkpoints), (unsigned long long)result->objects,
        (unsigned long long)objects, plural(objects),
        format_bytes(size, result->freed_bytes), dry_run ? "would be free" : "freed");
}

/* What stays though nothing seems to need it, why, and what lets it go. */
static void print_stays(const struct cairn_gc_result *result, bool any_params)
{
    char size[FORMAT_MAX];
    unsigned long long runs = result->newest_runs, held = result->held_objects;
    if (runs > 0 && any_params)
        say("%llu run%s, since the next run with the same params continues %s", runs,
            runs == 1 ? " stays" : "s stay", runs == 1 ? "it" : "them");
    else if (runs > 0)
        say("%llu run%s because each is the newest with its params: --any-params "
            "deletes those, too, that completed",
            runs, runs == 1 ? " stays" : "s stay");
    if (held > 0)
        say("%llu object%s (%s) because a repair has lost checkpoints or lists of "
            "files "
            "that may have named %s: `cairn gc --forget-lost` deletes %s",
            held, held == 1 ? " stays" : "s stay",
            format_bytes(size, result->held_bytes), held == 1 ? "it" : "them",
            held == 1 ? "it" : "them");
}

static int report_collected(const struct cairn_gc_result *result,
                            const struct cairn_session_expired *sessions,
                            const struct cairn_gc_options *options)
{
    bool dry_run = options->dry_run;
    struct doc doc;
    uint64_t expired = dry_run ? sessions->due : sessions->deleted;
    if (!ui_json()) {
        if (expired > 0)
            out("%s %llu of %llu session%s of agents (keep-sessions is %ud)\n",
                dry_run ? "would remove" : "removed", (unsigned long long)expired,
                (unsigned long long)sessions->agents, plural(sessions->agents),
                sessions->days);
        if (result->expired_artifacts > 0)
            out("%s the artifacts of %llu task%s, whose time is over\n",
                dry_run ? "would remove" : "removed",
                (unsigned long long)result->expired_artifacts,
                plural(result->expired_artifacts));
        if (result->expired_outputs > 0)
            out("%s the copies of the outputs of %llu task%s, whose time is over\n",
                dry_run ? "would remove" : "removed",
                (unsigned long long)result->expired_outputs,
                plural(result->expired_outputs));
        if (result->dropped_outputs > 0)
            out("%s the copies of the outputs of %llu task%s, beyond --keep-outputs\n",
                dry_run ? "would remove" : "removed",
                (unsigned long long)result->dropped_outputs,
                plural(result->dropped_outputs));
        print_counts(result, dry_run);
        out_flush();
        print_stays(result, options->any_params);
        if (result->damaged_runs > 0)
            ui_warn("%llu run%s stay%s because of damage: see `cairn checkpoint "
                    "verify`",
                    (unsigned long long)result->damaged_runs,
                    plural(result->damaged_runs), result->damaged_runs == 1 ? "s" : "");
        return 0;
    }
    doc_begin(&doc);
    doc_bool(&doc, "dry_run", dry_run);
    doc_count(&doc, "runs", result->runs);
    doc_count(&doc, "kept_runs", result->kept_runs);
    doc_count(&doc, "damaged_runs", result->damaged_runs);
    doc_count(&doc, "sessions", expired);
    doc_count(&doc, "checkpoints", result->checkpoints);
    doc_count(&doc, "attempts", result->attempts);
    doc_count(&doc, "expired_artifacts", result->expired_artifacts);
    doc_count(&doc, "expired_outputs", result->expired_outputs);
    doc_count(&doc, "dropped_outputs", result->dropped_outputs);
    doc_count(&doc, "objects", result->objects);
    doc_count(&doc, "kept_objects", result->kept_objects);
    doc_count(&doc, "freed_bytes", result->freed_bytes);
    doc_count(&doc, "newest_runs", result->newest_runs);
    doc_count(&doc, "held_objects", result->held_objects);
    doc_count(&doc, "held_bytes", result->held_bytes);
    doc_count(&doc, "slices", result->slices);
    doc_count(&doc, "longest_ms", (uint64_t)(result->longest_us + 999) / 1000);
    return doc_print(&doc);
}

int command_gc(struct settings *settings)
{
    struct cairn_gc_options options = {
        .keep_runs = (uint32_t)settings->number[OPT_KEEP_RUNS],
        .older_than_ms = (int64_t)settings->number[OPT_OLDER_THAN],
        .dry_run = settings->given[OPT_DRY_RUN],
        .any_params = settings->given[OPT_ANY_PARAMS],
        .keep_outputs = settings->number[OPT_KEEP_OUTPUTS],
        .forget_lost = settings->given[OPT_FORGET_LOST],
    };
    struct cairn_gc_result result = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    if (options.any_params && !options.keep_runs && !options.older_than_ms)
        return report_failure(
            EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
            "--any-params needs --keep-runs or --older-than, which say "
            "what runs to delete");
    int status = options.dry_run ? store_for_reading(settings, &store)
                                 : store_for_writing(settings, &store, false);
    struct cairn_session_expired sessions = {0};
    if (status == 0 &&
        cairn_session_expire(store, 0, options.dry_run, &sessions, &error) != 0)
        status = report_error(&error);
    if (status == 0 && cairn_gc(store, &options, &result, &error) != 0) {
        if (!ui_json() && result.runs > 0)
            print_counts(&result, options.dry_run);
        out_flush();
        status = report_error(&error);
    } else if (status == 0) {
        status = report_collected(&result, &sessions, &options);
    }
    if (store && !options.dry_run)
        store_forget(store);
    store_close(store);
    return status;
}

/* cairn clean --stale: removes outputs of tasks that are gone or skipped now, after
 * asking. */

enum { LISTED_MOST = 50 }; /* before it asks; --dry-run lists all */

static const char *const state_words[] = {"stale",   "changed", "used",    "directory",
                                          "removed", "failed",  "in-place"};

struct cleaned {
    struct doc doc; /* with --json */
    bool lists;     /* what can be removed, and what is kept, is listed */
    bool asks;      /* ... not more than a screen of it */
    bool listed;    /* it was listed before */
    uint64_t count[CAIRN_STALE_IN_PLACE + 1];
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
    case CAIRN_STALE_IN_PLACE:
        say("kept %s of %s, since it may have been there before: remove it if nothing "
            "in it is needed",
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
                    c->count[CAIRN_STALE_DIRECTORY] + c->count[CAIRN_STALE_IN_PLACE];
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

/* As `cairn plan` does: where the newest run is one of the cairn.yaml here, that run. */
static bool is_of_newest_run(struct cairn_store *store)
{
    struct cairn_run_info newest = {0};
    char *here = realpath("cairn.yaml", NULL);
    bool is = here && store && cairn_run_get(store, 0, &newest, NULL) == 0 &&
              strcmp(newest.file, here) == 0;
    free(here);
    return is;
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
    int status = settings->given[OPT_DRY_RUN]
                     ? store_if_any(settings, 0, &store)
                     : store_for_writing(settings, &store, false);
    if (status == 0 && !store)
        status = store_for_reading(settings, &store);
    bool chosen =
        settings->n_operands || settings->given[OPT_RUN] || settings->given[OPT_FROM];
    if (!chosen && access("cairn.yaml", F_OK) == 0 &&
        (settings->n_params || !is_of_newest_run(store)))
        settings->operands[settings->n_operands++] = "cairn.yaml";
    if (status == 0)
        status = workflow_target(settings, "clean", 0, store, &workflow, &options);
    if (status == 0) {
        print_warnings(workflow);
        status = clean(settings, workflow, store, &options);
    }
    cairn_workflow_free(workflow);
    store_close(store);
    return status;
}
