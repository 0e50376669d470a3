/* SPDX-License-Identifier: MIT */
/* cairn checkpoint prune: deletes old checkpoints of every run. */
#include "cli/commands/store_commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

static int report_pruned(const struct cairn_prune_result *result, bool dry_run)
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
    return doc_print(&doc);
}

int command_checkpoint_prune(struct settings *settings)
{
    struct cairn_prune_options options = {
        .run = settings->number[OPT_ONLY_RUN],
        .keep = (uint32_t)settings->number[OPT_PRUNE_KEEP],
        .dry_run = settings->given[OPT_DRY_RUN],
    };
    struct cairn_prune_result result = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status;
    if (!settings->given[OPT_PRUNE_KEEP])
        return report_usage("checkpoint prune",
                            "the number to keep is missing: give --keep N");
    status = options.dry_run ? store_for_reading(settings, &store)
                             : store_for_writing(settings, &store, false);
    if (status == 0 && cairn_checkpoint_prune(store, &options, &result, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_pruned(&result, options.dry_run);
    cairn_store_close(store);
    return status;
}
