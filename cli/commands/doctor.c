/* SPDX-License-Identifier: MIT */
/* cairn doctor: findings about the store and its surroundings, with remedies. */
#include "cli/commands/doctor_repair.h"
#include "cli/commands/store_commands.h"
#include "cli/describe.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <limits.h>
#include <string.h>

struct findings_report {
    struct doc *doc; /* with --json */
    uint32_t counts[3];
    char remedy[PATH_MAX + 512]; /* of the findings printed last */
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
    int status =
        each_unfinished(store, store_hint(settings), 0, add_unfinished, report);
    if (status == 0)
        status = each_unfinished_restore(store, add_restore, report);
    cairn_store_close(store);
    return status;
}

int command_doctor(struct settings *settings)
{
    struct doc doc = {0};
    struct findings_report report = {.doc = ui_json() ? &doc : NULL};
    struct cairn_error error = {0};
    int rc;
    if (settings->given[OPT_REPAIR])
        return repair_store(settings);
    if (report.doc) {
        doc_begin(&doc);
        doc_array(&doc, "findings");
    }
    rc = cairn_doctor(store_path(settings), key_path(settings), each_finding, &report,
                      &error);
    if (rc != 0 && report.counts[CAIRN_HEALTH_BAD] == 0) {
        if (report.doc)
            doc_discard(&doc);
        return report_error(&error);
    }
    int status =
        rc == 0 ? look_at_unfinished(settings, &report) : cairn_exit_status(rc);
    if (rc == 0 && status != 0) {
        if (report.doc)
            doc_discard(&doc);
        return status;
    }
    if (report.doc) {
        doc_end(&doc);
        doc_count(&doc, "ok", report.counts[CAIRN_HEALTH_OK]);
        doc_count(&doc, "warn", report.counts[CAIRN_HEALTH_WARN]);
        doc_count(&doc, "bad", report.counts[CAIRN_HEALTH_BAD]);
        doc_print(&doc);
    } else {
        print_remedy(&report, NULL);
        out_flush();
        say("%u bad, %u warnings, %u ok", report.counts[CAIRN_HEALTH_BAD],
            report.counts[CAIRN_HEALTH_WARN], report.counts[CAIRN_HEALTH_OK]);
    }
    return status;
}
