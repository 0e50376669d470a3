/* SPDX-License-Identifier: MIT */
/* The state of a session at a checkpoint: cairn checkpoint show (its part), at, diff.
 */
#include "cli/sessions/checkpoint_state.h"

#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/context.h"
#include "cli/sessions/files.h"
#include "cli/sessions/item.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- One of them ---- */

static int print_environment(void *context, const struct cairn_environment *environment)
{
    (void)context;
    out("directory %s\n", environment->directory);
    for (size_t i = 0; i < environment->n; i++)
        out("%-9s %s=%s\n", i == 0 ? "variables" : "", environment->variables[i].name,
            environment->variables[i].value);
    return 0;
}

static int add_environment(void *context, const struct cairn_environment *environment)
{
    struct doc *doc = context;
    doc_object(doc, "environment");
    doc_text(doc, "directory", environment->directory);
    doc_array(doc, "variables");
    for (size_t i = 0; i < environment->n; i++) {
        doc_object(doc, NULL);
        doc_text(doc, "name", environment->variables[i].name);
        doc_text(doc, "value", environment->variables[i].value);
        doc_bool(doc, "partial", environment->variables[i].partial);
        doc_end(doc);
    }
    doc_end(doc);
    doc_end(doc);
    return 0;
}

/* Prints it, or adds it as the member "environment" (null: none is stored). Both return
 * an exit status, after printing what is wrong. */
static int environment_print(struct cairn_store *store, const char *id)
{
    struct cairn_error error = {0};
    int rc =
        cairn_session_environment(store, NULL, id, print_environment, NULL, &error);
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

static int environment_document(struct doc *doc, struct cairn_store *store,
                                const char *id)
{
    struct cairn_error error = {0};
    int rc = cairn_session_environment(store, NULL, id, add_environment, doc, &error);
    if (rc == CAIRN_ENOTFOUND)
        doc_null(doc, "environment");
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* ---- Two of them ---- */

struct copied {
    char *directory;
    struct pair {
        char *name, *value;
    } * at;
    size_t n;
    bool failed, found;
};

static int copy_environment(void *context, const struct cairn_environment *environment)
{
    struct copied *copied = context;
    copied->found = true;
    copied->directory = strdup(environment->directory);
    copied->at = calloc(environment->n + 1, sizeof *copied->at);
    copied->failed = !copied->directory || !copied->at;
    for (size_t i = 0; i < environment->n && !copied->failed; i++) {
        struct pair *pair = &copied->at[copied->n++];
        pair->name = strdup(environment->variables[i].name);
        pair->value = strdup(environment->variables[i].value);
        copied->failed = !pair->name || !pair->value;
    }
    return 0;
}

static void release(struct copied *copied)
{
    for (size_t i = 0; i < copied->n; i++) {
        free(copied->at[i].name);
        free(copied->at[i].value);
    }
    free(copied->at);
    free(copied->directory);
}

static int copy_one(struct cairn_store *store, const char *session, const char *id,
                    struct copied *copied)
{
    struct cairn_error error = {0};
    int rc =
        cairn_session_environment(store, session, id, copy_environment, copied, &error);
    if (copied->failed)
        return report_nomem();
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* `name` NULL: the working directory; a value NULL: it is not there. */
static void tell_difference(struct doc *doc, const char *name, const char *before,
                            const char *after)
{
    if (before && after && strcmp(before, after) == 0)
        return;
    if (!doc) {
        out("~ environment  %s: %s -> %s\n", name ? name : "(directory)",
            before ? before : "-", after ? after : "-");
        return;
    }
    doc_object(doc, NULL);
    doc_text(doc, "name", name);
    doc_text(doc, "before", before);
    doc_text(doc, "after", after);
    doc_end(doc);
}

/* Both are in order of names. */
static void tell_differences(struct doc *doc, const struct copied *from,
                             const struct copied *to)
{
    size_t i = 0, k = 0;
    tell_difference(doc, NULL, from->directory, to->directory);
    while (i < from->n || k < to->n) {
        int order = i == from->n ? 1
                    : k == to->n ? -1
                                 : strcmp(from->at[i].name, to->at[k].name);
        const char *name = order <= 0 ? from->at[i].name : to->at[k].name;
        const char *before = order <= 0 ? from->at[i++].value : NULL;
        const char *after = order >= 0 ? to->at[k++].value : NULL;
        tell_difference(doc, name, before, after);
    }
}

/* What differs between those of two checkpoints (`to` NULL: that of this process, as a
 * checkpoint of the session would store it now); nothing where one has none. `doc`
 * (NULL: text) gets an array "environment". An exit status, as above. */
static int environment_compare(struct doc *doc, struct cairn_store *store,
                               const char *session, const char *from, const char *to)
{
    struct copied was = {0}, is = {0};
    int status =
        copy_one(store, session, from, &was) ?: copy_one(store, session, to, &is);
    if (doc)
        doc_array(doc, "environment");
    if (status == 0 && was.found && is.found)
        tell_differences(doc, &was, &is);
    if (doc)
        doc_end(doc);
    release(&was);
    release(&is);
    return status;
}

#define TAIL_LINES 20 /* of the output of a failed task */

bool is_session_checkpoint(const char *id)
{
    return strncmp(id, "debug:", strlen("debug:")) == 0;
}

/* ---- Counts ---- */

enum { KINDS_MOST = 16 };

/* By place, as item_kind_at has them. */
struct counts {
    uint64_t of[KINDS_MOST];
};

static int count_item(void *context, const struct cairn_item *item)
{
    struct counts *counts = context;
    const struct item_kind *kind;
    for (size_t i = 0; i < KINDS_MOST && (kind = item_kind_at(i)); i++)
        counts->of[i] += strcmp(kind->name, item->kind) == 0;
    return 0;
}

/* Of all kinds at once: the checkpoint is read for each list. */
static int count_items(struct cairn_store *store, const char *id, struct counts *counts)
{
    struct cairn_item_filter filter = {.checkpoint = id,
                                       .page = {.oldest_first = true, .all = true}};
    struct cairn_error error = {0};
    uint64_t total = 0;
    *counts = (struct counts){{0}};
    return report_code(
        cairn_item_list(store, NULL, &filter, count_item, counts, &total, &error),
        &error);
}

static int print_counts(struct cairn_store *store, const char *id, uint64_t items)
{
    const struct item_kind *kind;
    const char *separator = ": ";
    struct counts counts;
    int status = count_items(store, id, &counts);
    out("items     %" PRIu64, items);
    for (size_t i = 0; status == 0 && i < KINDS_MOST && (kind = item_kind_at(i)); i++) {
        if (counts.of[i] == 0)
            continue;
        out("%s%" PRIu64 " %s", separator, counts.of[i],
            counts.of[i] == 1 ? kind->name : kind->plural);
        separator = ", ";
    }
    out("\n");
    return status;
}

static int counts_document(struct doc *doc, struct cairn_store *store, const char *id)
{
    const struct item_kind *kind;
    struct counts counts;
    int status = count_items(store, id, &counts);
    doc_object(doc, "counts");
    for (size_t i = 0; i < KINDS_MOST && (kind = item_kind_at(i)); i++)
        doc_count(doc, kind->plural, counts.of[i]);
    doc_end(doc);
    return status;
}

/* ---- What it says of itself ---- */

struct told {
    struct doc *doc; /* NULL: text */
    uint64_t items;
};

/* Where the last so many lines of a text begin. */
static size_t last_lines(const char *text, size_t n, unsigned lines)
{
    size_t at = n > 0 && text[n - 1] == '\n' ? n - 1 : n;
    while (at > 0 && (text[at - 1] != '\n' || --lines > 0))
        at--;
    return at;
}

/* The task whose failure it was made for, with the end of its output. */
static void print_failure(const struct cairn_task_failure *failure)
{
    char end[FORMAT_MAX];
    size_t at = last_lines(failure->tail, failure->tail_bytes, TAIL_LINES);
    out("failure   %s of run %" PRIu64 ", attempt %u: %s\n", failure->task,
        failure->run, failure->attempt,
        format_end(end, failure->exit_code, failure->signal, false, NULL));
    if (failure->checkpoint != 0)
        out("recorded  workflow:%" PRIu64 "\n", failure->checkpoint);
    while (at < failure->tail_bytes) {
        const char *line = failure->tail + at;
        const char *newline = memchr(line, '\n', failure->tail_bytes - at);
        size_t n = newline ? (size_t)(newline - line) : failure->tail_bytes - at;
        out("  | %.*s\n", (int)n, line);
        at += n + 1;
    }
}

/* The id that the tag of an import says, or NULL: it is another tag. */
static const char *imported_from(const char *tag)
{
    static const char from[] = "from:";
    const char *id =
        strncmp(tag, from, sizeof from - 1) == 0 ? tag + sizeof from - 1 : "";
    return is_session_checkpoint(id) ? id : NULL;
}

static void print_told(const struct cairn_session_checkpoint_info *info)
{
    out("trigger   %s%s\n", info->trigger, info->significant ? ", significant" : "");
    lines_print("message", info->message);
    if (info->n_tags > 0)
        out("tags      ");
    for (size_t i = 0; i < info->n_tags; i++)
        out("%s%s", i > 0 ? ", " : "", info->tags[i]);
    if (info->n_tags > 0)
        out("\n");
    for (size_t i = 0; i < info->n_tags; i++)
        if (imported_from(info->tags[i]))
            out("imported  it was %s there\n", imported_from(info->tags[i]));
    if (info->failure)
        print_failure(info->failure);
}

static void failure_document(struct doc *doc, const struct cairn_task_failure *failure)
{
    if (!failure) {
        doc_null(doc, "failure");
        return;
    }
    doc_object(doc, "failure");
    doc_count(doc, "run", failure->run);
    doc_some(doc, "checkpoint", failure->checkpoint);
    doc_text(doc, "task", failure->task);
    doc_count(doc, "attempt", failure->attempt);
    process_end_document(doc, failure->exit_code, failure->signal);
    doc_bytes(doc, "tail", failure->tail, failure->tail_bytes);
    doc_end(doc);
}

static void print_messages(const struct cairn_message_line *line)
{
    if (!line)
        return;
    out("messages  %" PRIu64, line->messages);
    if (line->last != 0)
        out(", the last is %" PRIu64 "; tokens in %" PRIu64 ", out %" PRIu64,
            line->last, line->tokens_in, line->tokens_out);
    out("\n");
    if (line->model)
        out("model     %s\n", line->model);
    if (line->prompt)
        lines_print("prompt", line->prompt);
}

static void messages_document(struct doc *doc, const struct cairn_message_line *line)
{
    if (!line) {
        doc_null(doc, "messages");
        return;
    }
    doc_object(doc, "messages");
    doc_count(doc, "count", line->messages);
    doc_some(doc, "last", line->last);
    doc_count(doc, "tokens_in", line->tokens_in);
    doc_count(doc, "tokens_out", line->tokens_out);
    doc_text(doc, "model", line->model);
    doc_text(doc, "prompt", line->prompt);
    doc_end(doc);
}

static int tell(void *context, const struct cairn_session_checkpoint_info *info)
{
    struct told *told = context;
    told->items = info->items;
    if (!told->doc) {
        print_told(info);
        print_messages(info->messages);
        return 0;
    }
    doc_text(told->doc, "trigger", info->trigger);
    doc_bool(told->doc, "significant", info->significant);
    doc_text(told->doc, "message", info->message);
    doc_array(told->doc, "tags");
    for (size_t i = 0; i < info->n_tags; i++)
        doc_text(told->doc, NULL, info->tags[i]);
    doc_end(told->doc);
    doc_array(told->doc, "imported_from");
    for (size_t i = 0; i < info->n_tags; i++)
        if (imported_from(info->tags[i]))
            doc_text(told->doc, NULL, imported_from(info->tags[i]));
    doc_end(told->doc);
    doc_count(told->doc, "items", info->items);
    failure_document(told->doc, info->failure);
    messages_document(told->doc, info->messages);
    return 0;
}

int checkpoint_state_print(struct cairn_store *store, const char *id)
{
    struct told told = {0};
    struct cairn_error error = {0};
    if (cairn_session_checkpoint_get(store, id, tell, &told, &error) != 0)
        return report_error(&error);
    int status = print_counts(store, id, told.items)
                 ?: files_print(store, id)
                 ?: context_print(store, id);
    return status != 0 ? status : environment_print(store, id);
}

int checkpoint_state_document(struct doc *doc, struct cairn_store *store,
                              const char *id)
{
    struct told told = {.doc = doc};
    struct cairn_error error = {0};
    if (cairn_session_checkpoint_get(store, id, tell, &told, &error) != 0)
        return report_error(&error);
    int status = counts_document(doc, store, id)
                 ?: files_document(doc, store, id)
                 ?: context_document(doc, store, id);
    return status != 0 ? status : environment_document(doc, store, id);
}

/* ---- Its items ---- */

struct listing {
    const struct item_kind *kind; /* of the item before; NULL: there was none */
    struct doc *doc;              /* with --json */
};

static int print_item(void *context, const struct cairn_item *item)
{
    struct listing *listing = context;
    const struct item_kind *before = listing->kind;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        item_document(listing->doc, item);
        doc_end(listing->doc);
        return 0;
    }
    if (!before || strcmp(before->name, item->kind) != 0) {
        listing->kind = item_kind_named(item->kind);
        out("\n");
        item_headings(listing->kind);
    }
    item_line(listing->kind, item);
    return ui_output_lost();
}

/* One list for all kinds: the board is read for each list. */
int checkpoint_items(struct cairn_store *store, const char *session, const char *id,
                     int section, struct doc *doc)
{
    const struct item_kind *only = section >= 0 ? item_kind_at((size_t)section) : NULL;
    struct listing listing = {.doc = doc};
    struct cairn_item_filter filter = {.kind = only ? only->name : NULL,
                                       .checkpoint = id,
                                       .page = {.oldest_first = true, .all = true}};
    struct cairn_error error = {0};
    uint64_t total = 0;
    return report_code(
        cairn_item_list(store, session, &filter, print_item, &listing, &total, &error),
        &error);
}

/* cairn checkpoint at: what was known in a session at some time. */

static int take_moment(const struct settings *settings, struct cairn_moment *moment)
{
    const char *text = settings->operands[0];
    bool seq = settings->given[OPT_SEQ];
    if ((text != NULL) + seq != 1)
        return report_usage(settings->command,
                            "give exactly one of TIME, CHECKPOINT and --seq N");
    moment->seq = seq ? settings->number[OPT_SEQ] : 0;
    moment->tag = settings->text[OPT_TAGGED];
    if (text && looks_like_checkpoint(text))
        moment->id = text;
    else
        moment->time = text;
    return 0;
}

static int section_of(const struct settings *settings)
{
    return settings->given[OPT_SECTION] ? (int)settings->number[OPT_SECTION] : -1;
}

/* The present is the board as it is, whatever the newest checkpoint holds. */
static bool is_present(const struct settings *settings)
{
    const char *text = settings->operands[0];
    return text && strcasecmp(text, "now") == 0 && !settings->text[OPT_TAGGED];
}

static int put_items(const struct settings *settings,
                     const struct cairn_checkpoint_info *info, struct doc *doc)
{
    bool present = is_present(settings);
    return checkpoint_items(settings->store, present ? session_option(settings) : NULL,
                            present ? NULL : info->id, section_of(settings), doc);
}

static int print_state(const struct settings *settings,
                       const struct cairn_checkpoint_info *info)
{
    char when[FORMAT_MAX];
    int status;
    out("%s\ntime      %s\n", info->id, format_local(when, info->time_ns));
    status = checkpoint_state_print(settings->store, info->id);
    if (status == 0 && is_present(settings))
        out("present   this is the newest checkpoint; the items are the board as it is "
            "now\n");
    return status == 0 ? put_items(settings, info, NULL) : status;
}

static int print_state_document(const struct settings *settings,
                                const struct cairn_checkpoint_info *info)
{
    struct doc doc;
    int status;
    doc_begin(&doc);
    doc_object(&doc, "checkpoint");
    doc_text(&doc, "id", info->id);
    doc_count(&doc, "seq", info->seq);
    doc_time(&doc, "time", info->time_ns);
    status = checkpoint_state_document(&doc, settings->store, info->id);
    doc_end(&doc);
    doc_bool(&doc, "present", is_present(settings));
    doc_array(&doc, "items");
    if (status == 0)
        status = put_items(settings, info, &doc);
    return doc_close(&doc, status);
}

int command_checkpoint_at(struct settings *settings)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_moment moment = {0};
    struct cairn_error error = {0};
    int status = take_moment(settings, &moment) ?: session_store(settings, STORE_READ);
    const char *session = session_option(settings);
    int rc = status == 0
                 ? cairn_session_at(settings->store, session, &moment, &info, &error)
                 : 0;
    if (rc == CAIRN_EUSAGE && moment.time &&
        moment.time[0] != '\0') { /* not a time: another name */
        moment.name = moment.time;
        moment.time = NULL;
        rc = cairn_session_at(settings->store, session, &moment, &info, &error);
    }
    if (rc != 0)
        status = report_error(&error);
    else if (status == 0)
        status = ui_json() ? print_state_document(settings, &info)
                           : print_state(settings, &info);
    return status;
}

/* cairn checkpoint diff: what two states of a session differ in. */

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

static int find_sides(const struct settings *settings, struct sides *sides)
{
    const char *session = session_option(settings);
    int status;
    if (settings->n_operands == 0)
        return find_newest(settings->store, session, sides);
    status =
        checkpoint_named(settings, settings->operands[0], sides->from_id, &sides->from);
    return status == 0 ? checkpoint_named(settings, settings->operands[1], sides->to_id,
                                          &sides->to)
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

static int print_patch(const struct settings *settings, const struct sides *sides,
                       bool colored)
{
    struct files_sides compared = files_of(settings, sides);
    unsigned around =
        settings->given[OPT_UNIFIED] ? (unsigned)settings->number[OPT_UNIFIED] : 3;
    bool shown =
        colored || (!ui_json() && (ui_out_for_people() || ui_terminal(STDOUT_FILENO)));
    return files_print_patch(settings->store, &compared, settings->given[OPT_STAT],
                             shown, around);
}

static int add_patch(struct doc *doc, const struct settings *settings,
                     const struct sides *sides)
{
    size_t n = 0;
    out_keep();
    int status = print_patch(settings, sides, false);
    char *text = out_kept(&n);
    if (text)
        doc_bytes(doc, "patch", text, n);
    doc->failed = doc->failed || !text;
    free(text);
    return status;
}

static int print_diff(const struct settings *settings, const struct sides *sides)
{
    struct doc doc, *used = doc_open(&doc, "changes");
    struct cairn_board_summary summary = {0};
    struct cairn_error error = {0};
    const char *session = session_option(settings);
    struct files_sides compared = files_of(settings, sides);
    char text[sizeof summary.text + 80];
    uint64_t files = 0;
    int status = 0;
    if (cairn_session_diff(settings->store, session, sides->from, sides->to,
                           used ? add_change : print_change, used, &summary,
                           &error) != 0)
        status = report_error(&error);
    if (status == 0 && used)
        doc_end(used);
    if (status == 0)
        status = environment_compare(used, settings->store, session, sides->from,
                                     sides->to)
                 ?: context_compare(used, settings->store, sides->from, sides->to)
                 ?: files_compare(used, settings->store, &compared, &files);
    if (status == 0 && used && settings->given[OPT_PATCH])
        status = add_patch(used, settings, sides);
    if (status != 0)
        return doc_close(used, status);
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
static int print_sides(const struct settings *settings, const struct sides *sides,
                       bool patch)
{
    bool colored =
        !ui_json() && ui_color_stdout((enum color_when)settings->number[OPT_COLOR]);
    if (!ui_json())
        pager_start();
    int status = patch && !ui_json() ? print_patch(settings, sides, colored)
                                     : print_diff(settings, sides);
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
    enum store_use use = sides.worktree ? STORE_WRITE
                         : until_now    ? STORE_WRITE_IF_POSSIBLE
                                        : STORE_READ;
    int status = check_usage(settings)
                 ?: patterns_take(&sides.patterns, settings->text[OPT_PATHS])
                 ?: session_store(settings, use)
                 ?: patterns_add_files(&sides.patterns, settings, 2)
                 ?: find_sides(settings, &sides)
                 ?: print_sides(settings, &sides, patch);
    patterns_release(&sides.patterns);
    return status;
}
