/* SPDX-License-Identifier: MIT */
/* cairn checkpoint prune: deletes old checkpoints of every run, or of a session. */
#include "cli/commands/store_commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

static void say_first(const struct cairn_prune_result *result, const char *prefix)
{
    char text[24 * (sizeof result->first / sizeof result->first[0]) + 1];
    size_t used = 0;
    for (uint32_t i = 0; i < result->named; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%llu",
                             i > 0 ? ", " : "", (unsigned long long)result->first[i]);
    if (result->deleted > result->named)
        say("these: %s%s and %llu more", prefix, text,
            (unsigned long long)(result->deleted - result->named));
    else if (result->named > 0)
        say("these: %s%s", prefix, text);
}

static int report_pruned(const struct cairn_prune_result *result, bool dry_run,
                         const char *prefix)
{
    char size[FORMAT_MAX];
    struct doc doc;
    if (!ui_json()) {
        out("%s %llu of %llu checkpoint%s, %llu stay%s, %s %s\n",
            dry_run ? "would delete" : "deleted", (unsigned long long)result->deleted,
            (unsigned long long)result->total, plural(result->total),
            (unsigned long long)result->kept, result->kept == 1 ? "s" : "",
            format_bytes(size, result->freed_bytes),
            dry_run ? "would be free" : "freed");
        out_flush();
        if (dry_run)
            say_first(result, prefix);
        if (result->surplus > 0)
            say("%llu more than --keep asks for: none is deleted that a run forked "
                "from, and of a run with a key only with that key",
                (unsigned long long)result->surplus);
        return 0;
    }
    doc_begin(&doc);
    doc_bool(&doc, "dry_run", dry_run);
    doc_count(&doc, "total", result->total);
    doc_count(&doc, "kept", result->kept);
    doc_count(&doc, "deleted", result->deleted);
    doc_count(&doc, "freed_bytes", result->freed_bytes);
    doc_array(&doc, "first");
    for (uint32_t i = 0; i < result->named; i++)
        doc_count(&doc, NULL, result->first[i]);
    doc_end(&doc);
    return doc_print(&doc);
}

static int prune_runs(struct settings *settings)
{
    struct cairn_prune_options options = {
        .run = settings->number[OPT_ONLY_RUN],
        .keep = (uint32_t)settings->number[OPT_PRUNE_KEEP],
        .dry_run = settings->given[OPT_DRY_RUN],
    };
    struct cairn_prune_result result = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status = options.dry_run ? store_for_reading(settings, &store)
                                 : store_for_writing(settings, &store, false);
    if (status == 0 && cairn_checkpoint_prune(store, &options, &result, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_pruned(&result, options.dry_run, "workflow:");
    if (store && !options.dry_run)
        store_forget(store);
    hooks_run_and_close(store);
    return status;
}

static int prune_session(struct settings *settings)
{
    struct word_list tags;
    struct cairn_prune_result result = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    bool dry_run = settings->given[OPT_DRY_RUN];
    if (!word_list_init(&tags, settings->text[OPT_KEEP_TAG]))
        return EXIT_SYSTEM;
    struct cairn_keep_rules rules = {
        .last = (uint32_t)settings->number[OPT_KEEP_LAST],
        .days = (uint32_t)settings->number[OPT_KEEP_DAYS],
        .hourly = settings->given[OPT_KEEP_HOURLY],
        .tags = tags.words,
        .n_tags = tags.n,
        .manual_too = settings->given[OPT_MANUAL_TOO],
    };
    int status = session_store(settings, dry_run ? STORE_READ : STORE_WRITE, &store);
    if (status == 0 && cairn_session_prune(store, session_option(settings), &rules,
                                           dry_run, &result, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_pruned(&result, dry_run, "debug:");
    if (store && !dry_run)
        store_forget(store);
    hooks_run_and_close(store);
    word_list_release(&tags);
    return status;
}

int command_checkpoint_prune(struct settings *settings)
{
    const bool *given = settings->given;
    bool session = given[OPT_SESSION] || given[OPT_KEEP_LAST] || given[OPT_KEEP_DAYS] ||
                   given[OPT_KEEP_HOURLY] || given[OPT_KEEP_TAG] ||
                   given[OPT_MANUAL_TOO];
    bool runs = given[OPT_PRUNE_KEEP] || given[OPT_ONLY_RUN];
    if (runs && session)
        return report_usage(
            "checkpoint prune",
            "--keep and --run are for runs, --session and the --keep-... "
            "rules for a session: give one kind");
    if (!session && !given[OPT_PRUNE_KEEP])
        return report_usage("checkpoint prune",
                            "what to keep is missing: give --keep N for runs; or "
                            "--session, --keep-last, --keep-days, --keep-hourly or "
                            "--keep-tag for a session");
    return session ? prune_session(settings) : prune_runs(settings);
}
