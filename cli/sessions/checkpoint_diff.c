/* SPDX-License-Identifier: MIT */
/* cairn checkpoint diff: what two states of a session differ in. */
#include "cli/events/hooks.h"
#include "cli/exit_status.h"
#include "cli/files/files.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/environment.h"
#include "cli/sessions/item.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>

static const char *change_word(const struct cairn_board_change *change)
{
    return !change->before ? "added" : !change->after ? "removed" : "changed";
}

/* ---- Text ---- */

static void print_field(const char *name, const struct cairn_field *before,
                        const struct cairn_field *after)
{
    char *old = before ? field_text(before) : strdup("-");
    char *new = after ? field_text(after) : strdup("-");
    out("    %-11s %s -> %s\n", name, old ? old : "?", new ? new : "?");
    if (!old || !new)
        out_incomplete();
    free(old);
    free(new);
}

static int print_change(void *context, const struct cairn_board_change *change)
{
    const char *sign = !change->before ? "+" : !change->after ? "-" : "~";
    char *title = item_title(change->after ? change->after : change->before);
    (void)context;
    out("%s %-5s %-10s  %s\n", sign, change->id, change->kind, title ? title : "?");
    if (!title)
        out_incomplete();
    free(title);
    for (size_t i = 0; i < change->n; i++) {
        const struct cairn_field *before = change->fields_before[i],
                                 *after = change->fields_after[i];
        print_field(before ? before->name : after->name, before, after);
    }
    return ui_output_lost();
}

/* ---- JSON ---- */

static void side_document(struct doc *doc, const char *key,
                          const struct cairn_item *item)
{
    if (!item) {
        doc_null(doc, key);
        return;
    }
    doc_object(doc, key);
    item_document(doc, item);
    doc_end(doc);
}

static void changed_fields(struct doc *doc, const struct cairn_board_change *change)
{
    for (size_t i = 0; i < change->n; i++) {
        const struct cairn_field *before = change->fields_before[i],
                                 *after = change->fields_after[i];
        doc_object(doc, NULL);
        doc_text(doc, "field", before ? before->name : after->name);
        field_document(doc, "before", before);
        field_document(doc, "after", after);
        doc_end(doc);
    }
}

static int add_change(void *context, const struct cairn_board_change *change)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    doc_text(doc, "id", change->id);
    doc_text(doc, "item", change->kind);
    doc_text(doc, "change", change_word(change));
    doc_array(doc, "fields");
    changed_fields(doc, change);
    doc_end(doc);
    side_document(doc, "before", change->before);
    side_document(doc, "after", change->after);
    doc_end(doc);
    return 0;
}

static void add_summary(struct doc *doc, const struct cairn_board_summary *summary)
{
    doc_text(doc, "from", summary->from[0] != '\0' ? summary->from : NULL);
    doc_text(doc, "to", summary->to[0] != '\0' ? summary->to : NULL);
    doc_time(doc, "from_time", summary->from_ns);
    doc_time(doc, "to_time", summary->to_ns);
    doc_number(doc, "between_ms", (summary->to_ns - summary->from_ns) / 1000000);
    doc_count(doc, "added", summary->added);
    doc_count(doc, "changed", summary->changed);
    doc_count(doc, "removed", summary->removed);
    doc_count(doc, "messages_added", summary->messages_added);
    doc_count(doc, "messages_removed", summary->messages_removed);
    doc_number(doc, "tokens_in", summary->tokens_in);
    doc_number(doc, "tokens_out", summary->tokens_out);
    doc_text(doc, "text", summary->text);
}

static void print_summary(const struct cairn_board_summary *summary)
{
    out("%s\n", summary->text);
    if (summary->tokens_in != 0 || summary->tokens_out != 0)
        out("tokens     in %+" PRId64 ", out %+" PRId64 "\n", summary->tokens_in,
            summary->tokens_out);
}

/* What is compared: ids. */
struct sides {
    const char *from, *to;
    char from_id[CAIRN_ID_MAX], to_id[CAIRN_ID_MAX];
};

static int note_head(void *context, const struct cairn_branch_info *info)
{
    const char *id = info->head[0] != '\0' ? info->head : info->from;
    if (info->current)
        snprintf(context, CAIRN_ID_MAX, "%s", id);
    return info->current;
}

/* Without operands the newest checkpoint of the current branch. */
static int find_newest(struct cairn_store *store, const char *session,
                       struct sides *sides)
{
    struct cairn_error error = {0};
    if (cairn_branch_list(store, session, note_head, sides->from_id, &error) != 0)
        return report_error(&error);
    if (sides->from_id[0] == '\0')
        return report_failure(
            EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
            "the session has no checkpoint: `cairn checkpoint create` "
            "makes one");
    sides->from = sides->from_id;
    return 0;
}

static int find_sides(const struct settings *settings, struct cairn_store *store,
                      struct sides *sides)
{
    const char *session = session_option(settings);
    int status;
    if (settings->n_operands == 0)
        return find_newest(store, session, sides);
    status = session_checkpoint_of(store, session, settings->operands[0],
                                   sides->from_id, &sides->from);
    return status == 0 ? session_checkpoint_of(store, session, settings->operands[1],
                                               sides->to_id, &sides->to)
                       : status;
}

static int print_diff(const struct settings *settings, struct cairn_store *store,
                      const struct sides *sides)
{
    struct doc doc = {0}, *used = ui_json() ? &doc : NULL;
    struct cairn_board_summary summary = {0};
    struct cairn_error error = {0};
    const char *session = session_option(settings);
    uint64_t files = 0;
    int status = 0;
    if (used) {
        doc_begin(used);
        doc_array(used, "changes");
    }
    if (cairn_session_diff(store, session, sides->from, sides->to,
                           used ? add_change : print_change, used, &summary,
                           &error) != 0)
        status = report_error(&error);
    if (status == 0 && used)
        doc_end(used);
    if (status == 0)
        status = environment_compare(used, store, session, sides->from, sides->to);
    if (status == 0)
        status = files_compare(used, store, sides->from, sides->to, &files);
    if (status != 0) {
        if (used)
            doc_discard(used);
        return status;
    }
    if (!used) {
        if (files > 0)
            out("%" PRIu64 " files, links and directories differ; on the board: ",
                files);
        print_summary(&summary);
        return 0;
    }
    add_summary(used, &summary);
    return doc_print(used);
}

int command_checkpoint_diff(struct settings *settings)
{
    struct sides sides = {0};
    struct cairn_store *store = NULL;
    bool stat = settings->given[OPT_STAT], patch = stat || settings->given[OPT_PATCH];
    if (patch && ui_json())
        return report_usage(settings->command,
                            "a patch is no JSON: leave out --json, or --patch and "
                            "--stat");
    int status = session_store(
        settings, patch && settings->n_operands < 2 ? STORE_WRITE : STORE_READ, &store);
    if (status == 0)
        status = find_sides(settings, store, &sides);
    if (status == 0 && patch)
        status = files_print_patch(
            store, session_option(settings), sides.from, sides.to, stat,
            settings->given[OPT_UNIFIED] ? (unsigned)settings->number[OPT_UNIFIED] : 3);
    else if (status == 0)
        status = print_diff(settings, store, &sides);
    hooks_run_and_close(store);
    return status;
}
