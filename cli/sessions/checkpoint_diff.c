/* SPDX-License-Identifier: MIT */
/* cairn checkpoint diff: what two states of a session differ in. */
#include "cli/commands/commands.h"
#include "cli/contexts/context.h"
#include "cli/exit_status.h"
#include "cli/files/files.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
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
    char *title = item_title(change->after ? change->after : change->before);
    (void)context;
    print_sign(!change->before ? '+' : !change->after ? '-' : '~');
    out(" %-5s %-10s  %s\n", change->id, change->kind, title ? title : "?");
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
}

/* "3 files, links and directories differ; on the board: no difference; 2 minutes later"
 */
static void difference_text(uint64_t files, const struct cairn_board_summary *summary,
                            char *text, size_t size)
{
    char before[80] = "";
    if (files == 1)
        snprintf(before, sizeof before,
                 "1 file, link or directory differs; on the board: ");
    else if (files > 0)
        snprintf(
            before, sizeof before,
            "%" PRIu64 " files, links and directories differ; on the board: ", files);
    snprintf(text, size, "%s%s", before, summary->text);
}

static void print_tokens(const struct cairn_board_summary *summary)
{
    if (summary->tokens_in != 0 || summary->tokens_out != 0)
        out("tokens     in %+" PRId64 ", out %+" PRId64 "\n", summary->tokens_in,
            summary->tokens_out);
}

/* What is compared: ids. */
struct sides {
    const char *from, *to;
    struct patterns patterns; /* of --paths */
    bool worktree;
    char from_id[CAIRN_ID_MAX], to_id[CAIRN_ID_MAX];
};

/* Without operands the newest checkpoint of the current branch. */
static int find_newest(struct cairn_store *store, const char *session,
                       struct sides *sides)
{
    struct cairn_error error = {0};
    if (session_newest(store, session, sides->from_id, &error) != 0)
        return report_error(&error);
    if (sides->from_id[0] == '\0')
        return report_failure(
            EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
            "the session has no checkpoint: `cairn checkpoint create MESSAGE` "
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

static struct files_sides files_of(const struct settings *settings,
                                   const struct sides *sides)
{
    return (struct files_sides){.session = session_option(settings),
                                .from = sides->from,
                                .to = sides->to,
                                .worktree = sides->worktree,
                                .patterns = &sides->patterns};
}

static int print_patch(const struct settings *settings, struct cairn_store *store,
                       const struct sides *sides, bool colored)
{
    struct files_sides compared = files_of(settings, sides);
    unsigned around =
        settings->given[OPT_UNIFIED] ? (unsigned)settings->number[OPT_UNIFIED] : 3;
    bool shown =
        colored || (!ui_json() && (ui_out_for_people() || ui_terminal(STDOUT_FILENO)));
    return files_print_patch(store, &compared, settings->given[OPT_STAT], shown,
                             around);
}

static int add_patch(struct doc *doc, const struct settings *settings,
                     struct cairn_store *store, const struct sides *sides)
{
    size_t n = 0;
    out_keep();
    int status = print_patch(settings, store, sides, false);
    char *text = out_kept(&n);
    if (text)
        doc_bytes(doc, "patch", text, n);
    doc->failed = doc->failed || !text;
    free(text);
    return status;
}

static int print_diff(const struct settings *settings, struct cairn_store *store,
                      const struct sides *sides)
{
    struct doc doc = {0}, *used = ui_json() ? &doc : NULL;
    struct cairn_board_summary summary = {0};
    struct cairn_error error = {0};
    const char *session = session_option(settings);
    struct files_sides compared = files_of(settings, sides);
    char text[sizeof summary.text + 80];
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
        status = context_compare(used, store, sides->from, sides->to);
    if (status == 0)
        status = files_compare(used, store, &compared, &files);
    if (status == 0 && used && settings->given[OPT_PATCH])
        status = add_patch(used, settings, store, sides);
    if (status != 0) {
        if (used)
            doc_discard(used);
        return status;
    }
    difference_text(files, &summary, text, sizeof text);
    if (!used) {
        out("%s\n", text);
        print_tokens(&summary);
        return 0;
    }
    add_summary(used, &summary);
    doc_text(used, "text", text);
    return doc_print(used);
}

/* Either form is paged on a terminal. */
static int print_sides(const struct settings *settings, struct cairn_store *store,
                       const struct sides *sides, bool patch)
{
    bool colored =
        !ui_json() && ui_color_stdout((enum color_when)settings->number[OPT_COLOR]);
    if (!ui_json())
        pager_start();
    int status = patch && !ui_json() ? print_patch(settings, store, sides, colored)
                                     : print_diff(settings, store, sides);
    return pager_end(status);
}

static int check_usage(const struct settings *settings)
{
    if (settings->given[OPT_STAT] && ui_json())
        return report_usage(settings->command,
                            "--stat prints text: leave out --json, or --stat");
    if (settings->given[OPT_UNIFIED] &&
        (!settings->given[OPT_PATCH] || settings->given[OPT_STAT]))
        return report_usage(settings->command, "-U is for --patch, without --stat");
    if (settings->given[OPT_WORKTREE] && settings->n_operands > 1)
        return report_usage(settings->command,
                            "--worktree is in the place of TO: leave out one of them");
    return 0;
}

int command_checkpoint_diff(struct settings *settings)
{
    bool until_now = settings->n_operands < 2;
    bool patch = settings->given[OPT_STAT] || settings->given[OPT_PATCH];
    struct sides sides = {.worktree =
                              settings->given[OPT_WORKTREE] ||
                              (until_now && (patch || settings->given[OPT_PATHS]))};
    struct cairn_store *store = NULL;
    enum store_use use = sides.worktree ? STORE_WRITE
                         : until_now    ? STORE_WRITE_IF_POSSIBLE
                                        : STORE_READ;
    int status = check_usage(settings);
    if (status == 0)
        status = patterns_take(&sides.patterns, settings->text[OPT_PATHS]);
    if (status == 0)
        status = session_store(settings, use, &store);
    if (status == 0)
        status = patterns_add_files(&sides.patterns, settings, store, 2);
    if (status == 0)
        status = find_sides(settings, store, &sides);
    if (status == 0)
        status = print_sides(settings, store, &sides, patch);
    hooks_run_and_close(store);
    patterns_release(&sides.patterns);
    return status;
}
