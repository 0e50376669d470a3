/* SPDX-License-Identifier: MIT */
/* cairn gc: old runs, and content that nothing refers to. */
#include "cli/commands/store_commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

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
        say("%llu run%s, since the next run with the same params goes on with %s", runs,
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
    cairn_store_close(store);
    return status;
}
