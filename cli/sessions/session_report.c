/* SPDX-License-Identifier: MIT */
/* cairn report: what happened in a session between two checkpoints, as Markdown. */
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/item.h"
#include "cli/sessions/markdown.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { TEXT_LINES = 20, TAIL_LINES = 15, CHECKPOINTS_SHOWN = 100, SHORT_TEXT = 40 };

struct ends {
    struct cairn_checkpoint_info from, to; /* to.seq 0: now */
    char session[24];                      /* its number */
};
struct page {
    struct cairn_store *store;
    struct ends ends;
    FILE *file;
    char *text; /* heap, once the file is closed */
    size_t length;
    char kind[40]; /* of the items that are being listed, "": none yet */
    uint64_t checkpoints, failures;
    int rc; /* of what was looked up in a callback */
    struct cairn_error error;
};

static void put_time(FILE *file, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm tm;
    char text[40];
    if (gmtime_r(&seconds, &tm) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &tm) > 0)
        fputs(text, file);
}

/* ---- Items ---- */

/* Fields that are said in another way, or that say only when. */
static bool is_told(const struct cairn_field *field)
{
    static const char *const names[] = {"text", "statement", "status", "from", "to"};
    if (field->type == CAIRN_FIELD_TIME)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(field->name, names[i]) == 0)
            return true;
    return false;
}

static bool is_whole(double number)
{
    return number > -1e15 && number < 1e15 && (double)(int64_t)number == number;
}

static bool is_long(const struct cairn_field *field)
{
    if (field->type != CAIRN_FIELD_TEXT)
        return false;
    return strcmp(field->name, "reason") == 0 ||
           strcmp(field->name, "resolution") == 0 || strlen(field->text) > SHORT_TEXT ||
           strchr(field->text, '\n');
}

static void put_value(FILE *file, const struct cairn_field *field)
{
    char *text = NULL;
    if (!field)
        fputs("none", file);
    else if (field->type == CAIRN_FIELD_NUMBER)
        fprintf(file, "%.*f", is_whole(field->number) ? 0 : 2, field->number);
    else if ((text = field_text(field)))
        markdown_words(file, text);
    else
        fputs("(out of memory)", file);
    free(text);
}

static const char *status_of(const struct cairn_item *item)
{
    const struct cairn_field *field = item ? item_field(item, "status") : NULL;
    return field && field->type == CAIRN_FIELD_TEXT ? field->text : "";
}

/* "confirmed", "added", "added, filled", "removed", "changed" */
static void put_verb(FILE *file, const struct cairn_board_change *change)
{
    const char *was = status_of(change->before), *is = status_of(change->after);
    bool initial = is[0] == '\0' || strcmp(is, "proposed") == 0 ||
                   strcmp(is, "open") == 0 || strcmp(is, "pending") == 0;
    if (!change->after)
        fputs("removed", file);
    else if (!change->before)
        fprintf(file, "added%s%s", initial ? "" : ", ", initial ? "" : is);
    else
        fputs(strcmp(was, is) != 0 ? is : "changed", file);
}

/* "(kind observation, strength 0.50)" */
static void put_short_fields(FILE *file, const struct cairn_item *item)
{
    const char *separator = " (";
    for (size_t i = 0; i < item->n_fields; i++) {
        const struct cairn_field *field = &item->fields[i];
        if (is_told(field) || is_long(field))
            continue;
        fprintf(file, "%s%s ", separator, field->name);
        put_value(file, field);
        separator = ", ";
    }
    if (item->has_confidence) {
        fprintf(file, "%sconfidence %.2f", separator, item->confidence);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc(')', file);
}

static void put_long_fields(FILE *file, const struct cairn_item *item)
{
    for (size_t i = 0; i < item->n_fields; i++) {
        const struct cairn_field *field = &item->fields[i];
        if (is_told(field) || !is_long(field))
            continue;
        fprintf(file, "  - %s: ", field->name);
        markdown_lines(file, field->text, "    ", TEXT_LINES);
        fputc('\n', file);
    }
}

static bool is_statement(const struct cairn_field *field)
{
    return strcmp(field->name, "text") == 0 || strcmp(field->name, "statement") == 0;
}

static void put_changed_field(FILE *file, const struct cairn_field *before,
                              const struct cairn_field *after)
{
    const struct cairn_field *field = after ? after : before;
    if (!field || (is_told(field) && !is_statement(field)))
        return;
    fprintf(file, "  - %s: ", is_statement(field) ? "before" : field->name);
    if (is_statement(field)) {
        markdown_lines(file, before ? before->text : "", "    ", TEXT_LINES);
    } else if (is_long(field) && !before) {
        markdown_lines(file, field->text, "    ", TEXT_LINES);
    } else {
        put_value(file, before);
        fputs(" → ", file);
        put_value(file, after);
    }
    fputc('\n', file);
}

static void put_item(FILE *file, const struct cairn_board_change *change)
{
    const struct cairn_item *item = change->after ? change->after : change->before;
    const struct cairn_field *text = item_field(item, "statement");
    char *title = NULL;
    if (!text)
        text = item_field(item, "text");
    if (!text)
        title = item_title(item);
    fprintf(file, "- **%s ", change->id);
    put_verb(file, change);
    fputs("**", file);
    if (!change->before || !change->after)
        put_short_fields(file, item);
    fputs(": ", file);
    markdown_lines(file, text ? text->text : title ? title : "", "  ", TEXT_LINES);
    fputc('\n', file);
    free(title);
    if (!change->before)
        put_long_fields(file, item);
    for (size_t i = 0; i < change->n; i++)
        put_changed_field(file, change->fields_before[i], change->fields_after[i]);
}

static int add_change(void *context, const struct cairn_board_change *change)
{
    struct page *page = context;
    const struct item_kind *kind = item_kind_named(change->kind);
    const char *heading = kind ? kind->plural : change->kind;
    if (strcmp(page->kind, change->kind) != 0)
        fprintf(page->file, "\n## %c%s\n\n", toupper((unsigned char)heading[0]),
                heading + 1);
    snprintf(page->kind, sizeof page->kind, "%s", change->kind);
    put_item(page->file, change);
    return 0;
}

/* ---- Checkpoints ---- */

static int add_checkpoint(void *context,
                          const struct cairn_session_checkpoint_info *info)
{
    FILE *file = ((struct page *)context)->file;
    fprintf(file, "| %s | ", info->checkpoint.id);
    put_time(file, info->checkpoint.time_ns);
    fprintf(file, " | %s | ", info->trigger);
    markdown_words(file, info->checkpoint.message);
    fputs(" |\n", file);
    return 0;
}

static int list_checkpoint(void *context, const struct cairn_line_entry *entry)
{
    struct page *page = context;
    if (entry->seq == page->ends.from.seq || page->checkpoints++ >= CHECKPOINTS_SHOWN)
        return 0;
    if (page->checkpoints == 1)
        fputs("\n## Checkpoints\n\n| checkpoint | time | made by | message |\n"
              "|---|---|---|---|\n",
              page->file);
    if (entry->damaged)
        fprintf(page->file, "| %s | | | damaged |\n", entry->id);
    else
        page->rc = cairn_session_checkpoint_get(page->store, entry->id, add_checkpoint,
                                                page, &page->error);
    return page->rc;
}

static void put_failure(struct page *page, const char *id,
                        const struct cairn_task_failure *failure)
{
    char how[FORMAT_MAX];
    format_end(how, failure->exit_code, failure->signal, false, NULL);
    if (page->failures++ == 0)
        fputs("\n## Tasks that failed\n\n", page->file);
    fputs("- **", page->file);
    markdown_words(page->file, failure->task);
    fprintf(page->file, "** in run %" PRIu64 ", attempt %u: %s; noted in %s",
            failure->run, failure->attempt, how[0] != '\0' ? how : "no exit status",
            id);
    if (failure->checkpoint > 0)
        fprintf(page->file, ", the run's own checkpoint is workflow:%" PRIu64,
                failure->checkpoint);
    fputc('\n', page->file);
    if (failure->tail_bytes > 0) {
        fputc('\n', page->file);
        markdown_block(page->file, failure->tail, failure->tail_bytes, "      ",
                       TAIL_LINES);
    }
}

static int add_failure(void *context, const struct cairn_session_checkpoint_info *info)
{
    if (info->failure)
        put_failure(context, info->checkpoint.id, info->failure);
    return 0;
}

static int list_failure(void *context, const struct cairn_line_entry *entry)
{
    struct page *page = context;
    if (entry->seq != page->ends.from.seq && !entry->damaged)
        page->rc = cairn_session_checkpoint_get(page->store, entry->id, add_failure,
                                                page, &page->error);
    return page->rc;
}

/* Where one did not lead to the other there is none in between. */
static int put_line(struct page *page)
{
    const struct ends *ends = &page->ends;
    const char *to = ends->to.seq > 0 ? ends->to.id : NULL;
    int rc = cairn_session_line(page->store, ends->session, ends->from.id, to,
                                list_checkpoint, page, &page->error);
    if (rc == CAIRN_EUSAGE) {
        fputs("\nThe two are on different branches.\n", page->file);
        return 0;
    }
    if (page->checkpoints > CHECKPOINTS_SHOWN)
        fprintf(page->file, "\nand %" PRIu64 " more\n",
                page->checkpoints - CHECKPOINTS_SHOWN);
    if (rc == 0 && page->rc == 0)
        rc = cairn_session_line(page->store, ends->session, ends->from.id, to,
                                list_failure, page, &page->error);
    return rc != 0 ? rc : page->rc;
}

/* ---- The page ---- */

static void put_end(FILE *file, const char *which,
                    const struct cairn_checkpoint_info *info)
{
    fprintf(file, "| %s | %s | ", which, info->seq > 0 ? info->id : "now");
    put_time(file, info->time_ns);
    fputs(" | ", file);
    markdown_words(file, info->message);
    fputs(" |\n", file);
}

static int ignore_change(void *context, const struct cairn_board_change *change)
{
    (void)context;
    (void)change;
    return 1;
}

static int write_page(struct page *page)
{
    struct ends *ends = &page->ends;
    const char *to = ends->to.seq > 0 ? ends->to.id : NULL;
    struct cairn_board_summary summary;
    int rc = cairn_session_diff(page->store, ends->session, ends->from.id, to,
                                ignore_change, NULL, &summary, &page->error);
    if (rc != 0)
        return rc;
    ends->to.time_ns = summary.to_ns;
    fputs("# Debugging session ", page->file);
    markdown_words(page->file, ends->from.session_name);
    fputs("\n\n| | checkpoint | time | message |\n|---|---|---|---|\n", page->file);
    put_end(page->file, "from", &ends->from);
    put_end(page->file, "to", &ends->to);
    fprintf(page->file, "\n**%s**\n", summary.text);
    rc = cairn_session_diff(page->store, ends->session, ends->from.id, to, add_change,
                            page, NULL, &page->error);
    return rc != 0 ? rc : put_line(page);
}

/* ---- The command ---- */

static int note_checkpoint(void *context,
                           const struct cairn_session_checkpoint_info *info)
{
    *(struct cairn_checkpoint_info *)context = info->checkpoint;
    return 0;
}

static int find_ends(const struct settings *settings, struct page *page)
{
    struct ends *ends = &page->ends;
    const char *from = settings->operands[0], *to = settings->operands[1];
    if (cairn_session_checkpoint_get(page->store, from, note_checkpoint, &ends->from,
                                     &page->error) != 0)
        return report_error(&page->error);
    if (to && cairn_session_checkpoint_get(page->store, to, note_checkpoint, &ends->to,
                                           &page->error) != 0)
        return report_error(&page->error);
    snprintf(ends->session, sizeof ends->session, "%" PRIu64, ends->from.session);
    if (!to)
        return 0;
    if (ends->to.session != ends->from.session)
        return report_usage(settings->command,
                            "the two checkpoints are of different sessions");
    if (ends->to.seq < ends->from.seq)
        return report_usage(settings->command,
                            "%s is the later one: cairn report %s %s", ends->from.id,
                            ends->to.id, ends->from.id);
    return 0;
}

static int print_page(const struct page *page)
{
    const struct ends *ends = &page->ends;
    struct doc doc;
    if (!ui_json()) {
        out_raw(page->text, page->length);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "from", ends->from.id);
    doc_text(&doc, "to", ends->to.seq > 0 ? ends->to.id : NULL);
    doc_text(&doc, "markdown", page->text);
    return doc_print(&doc);
}

static int make_page(struct page *page)
{
    int rc, lost;
    page->file = open_memstream(&page->text, &page->length);
    if (!page->file)
        return cairn_exit_status(CAIRN_ENOMEM);
    rc = write_page(page);
    lost = ferror(page->file);
    if (fclose(page->file) != 0 || lost)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    return rc == 0 ? print_page(page) : report_error(&page->error);
}

int command_report(struct settings *settings)
{
    struct page page = {0};
    int status = session_store(settings, STORE_READ, &page.store);
    if (status == 0)
        status = find_ends(settings, &page);
    if (status == 0)
        status = make_page(&page);
    cairn_store_close(page.store);
    free(page.text);
    return status;
}
