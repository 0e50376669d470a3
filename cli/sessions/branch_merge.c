/* SPDX-License-Identifier: MIT */
/* cairn branch merge. */
#include "cli/format.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <stdlib.h>

/* Ids of items that both branches had changed. */
struct conflict_list {
    char (*ids)[CAIRN_ITEM_ID_MAX];
    size_t n;
    bool failed;
};

static int note_conflict(void *context, const char *id)
{
    struct conflict_list *list = context;
    void *ids = realloc(list->ids, (list->n + 1) * sizeof *list->ids);
    list->failed = !ids;
    if (!ids)
        return 1;
    list->ids = ids;
    snprintf(list->ids[list->n++], sizeof *list->ids, "%s", id);
    return 0;
}

static int print_document(const struct cairn_merged *merged,
                          const struct conflict_list *list)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "base", merged->base);
    doc_text(&doc, "checkpoint", merged->checkpoint);
    doc_count(&doc, "added", merged->added);
    doc_count(&doc, "changed", merged->changed);
    doc_count(&doc, "removed", merged->removed);
    doc_array(&doc, "conflicts");
    for (size_t i = 0; i < list->n; i++)
        doc_text(&doc, NULL, list->ids[i]);
    doc_end(&doc);
    return doc_print(&doc);
}

static void print_text(const char *name, const char *take,
                       const struct cairn_merged *merged,
                       const struct conflict_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        out("%s\n", list->ids[i]);
    out_flush();
    say("merged %s: %" PRIu64 " added, %" PRIu64 " changed, %" PRIu64
        " removed; checkpoint %s",
        name, merged->added, merged->changed, merged->removed, merged->checkpoint);
    if (list->n)
        say("%zu item%s that both branches had changed: --take %s decided", list->n,
            plural(list->n), take);
}

int command_branch_merge(struct settings *settings)
{
    static const char *const takes[] = {"union", "ours", "theirs"};
    uint64_t take = settings->number[OPT_MERGE];
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_merged merged = {0};
    struct conflict_list list = {0};
    const char *name = settings->operands[0];
    int status = session_store(settings, STORE_WRITE, &store);
    if (status == 0 && cairn_branch_merge(store, session_option(settings), name,
                                          (enum cairn_merge)take, note_conflict, &list,
                                          &merged, &error) != 0)
        status = report_error(&error);
    else if (status == 0 && ui_json())
        status = print_document(&merged, &list);
    else if (status == 0)
        print_text(name, takes[take], &merged, &list);
    if (list.failed)
        ui_warn(
            "out of memory: not all items that both branches had changed are shown");
    cairn_store_close(store);
    free(list.ids);
    return status;
}
