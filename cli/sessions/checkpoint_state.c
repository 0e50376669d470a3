/* SPDX-License-Identifier: MIT */
#include "cli/sessions/checkpoint_state.h"

#include "cli/contexts/context.h"
#include "cli/describe.h"
#include "cli/files/files.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/sessions/environment.h"
#include "cli/sessions/item.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

#define TAIL_LINES 20 /* of the output of a failed task */

bool is_session_checkpoint(const char *id)
{
    return strncmp(id, "debug:", strlen("debug:")) == 0;
}

/* ---- Counts ---- */

static int stop_at_once(void *context, const struct cairn_item *item)
{
    (void)context;
    (void)item;
    return 1;
}

static int count_items(struct cairn_store *store, const char *id, const char *kind,
                       uint64_t *count)
{
    struct cairn_item_filter filter = {
        .kind = kind, .checkpoint = id, .page = {.limit = 1}};
    struct cairn_error error = {0};
    if (cairn_item_list(store, NULL, &filter, stop_at_once, NULL, count, &error) != 0)
        return report_error(&error);
    return 0;
}

static int print_counts(struct cairn_store *store, const char *id, uint64_t items)
{
    const struct item_kind *kind;
    const char *separator = ": ";
    int status = 0;
    out("items     %" PRIu64, items);
    for (size_t i = 0; status == 0 && (kind = item_kind_at(i)); i++) {
        uint64_t count = 0;
        status = count_items(store, id, kind->name, &count);
        if (count == 0)
            continue;
        out("%s%" PRIu64 " %s", separator, count,
            count == 1 ? kind->name : kind->plural);
        separator = ", ";
    }
    out("\n");
    return status;
}

static int counts_document(struct doc *doc, struct cairn_store *store, const char *id)
{
    const struct item_kind *kind;
    int status = 0;
    doc_object(doc, "counts");
    for (size_t i = 0; status == 0 && (kind = item_kind_at(i)); i++) {
        uint64_t count = 0;
        status = count_items(store, id, kind->name, &count);
        doc_count(doc, kind->plural, count);
    }
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
    int status = print_counts(store, id, told.items);
    if (status == 0)
        status = files_print(store, id);
    if (status == 0)
        status = context_print(store, id);
    return status != 0 ? status : environment_print(store, id);
}

int checkpoint_state_document(struct doc *doc, struct cairn_store *store,
                              const char *id)
{
    struct told told = {.doc = doc};
    struct cairn_error error = {0};
    if (cairn_session_checkpoint_get(store, id, tell, &told, &error) != 0)
        return report_error(&error);
    int status = counts_document(doc, store, id);
    if (status == 0)
        status = files_document(doc, store, id);
    if (status == 0)
        status = context_document(doc, store, id);
    return status != 0 ? status : environment_document(doc, store, id);
}

/* ---- Its items ---- */

struct listing {
    const struct item_kind *kind;
    struct doc *doc; /* with --json */
    bool any;        /* an item of this kind was printed */
};

static int print_item(void *context, const struct cairn_item *item)
{
    struct listing *listing = context;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        item_document(listing->doc, item);
        doc_end(listing->doc);
        return 0;
    }
    if (!listing->any) {
        out("\n");
        item_headings(listing->kind);
    }
    listing->any = true;
    item_line(listing->kind, item);
    return ui_output_lost();
}

int checkpoint_items(struct cairn_store *store, const char *session, const char *id,
                     int section, struct doc *doc)
{
    const struct item_kind *kind;
    for (size_t i = 0; (kind = item_kind_at(i)); i++) {
        struct listing listing = {.kind = kind, .doc = doc};
        struct cairn_item_filter filter = {.kind = kind->name,
                                           .checkpoint = id,
                                           .page = {.oldest_first = true, .all = true}};
        struct cairn_error error = {0};
        uint64_t total = 0;
        if (section >= 0 && (size_t)section != i)
            continue;
        if (cairn_item_list(store, session, &filter, print_item, &listing, &total,
                            &error) != 0)
            return report_error(&error);
    }
    return 0;
}
