/* SPDX-License-Identifier: MIT */
/* cairn checkpoint files, cairn checkpoint cat: the files that a checkpoint holds. */
#include "cli/commands/commands.h"
#include "cli/files/files.h"
#include "cli/files/patterns.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

/* ---- All of them ---- */

static int print_file(void *context, const struct cairn_file *file)
{
    char size[FORMAT_MAX] = "", when[FORMAT_MAX] = "";
    (void)context;
    if (file->kind[0] == 'f')
        format_bytes(size, file->size);
    if (file->time_ns != 0)
        format_local(when, file->time_ns);
    if (file->why)
        out("?     %9s  %-19s  %s  (%s)\n", "", "", file->path, file->why);
    else if (file->target)
        out("l     %9s  %-19s  %s -> %s\n", "", "", file->path, file->target);
    else
        out("%c%04o %9s  %-19s  %s%s\n", file->kind[0] == 'd' ? 'd' : '-', file->mode,
            size, when, file->path, file->kind[0] == 'd' ? "/" : "");
    return ui_output_lost();
}

void file_document(struct doc *doc, const char *key, const struct cairn_file *file)
{
    doc_object(doc, key);
    doc_text(doc, "path", file->path);
    doc_text(doc, "kind", file->why ? "left_out" : file->kind);
    if (!file->why && !file->target)
        doc_count(doc, "mode", file->mode);
    if (file->kind[0] == 'f')
        doc_count(doc, "size", file->size);
    if (!file->why && !file->target)
        doc_time(doc, "time", file->time_ns);
    if (file->target)
        doc_text(doc, "target", file->target);
    if (file->why)
        doc_text(doc, "why", file->why);
    doc_end(doc);
}

static int add_file(void *context, const struct cairn_file *file)
{
    file_document(context, NULL, file);
    return 0;
}

void files_summary_document(struct doc *doc, const struct cairn_files_summary *summary)
{
    doc_object(doc, "files");
    doc_count(doc, "files", summary->files);
    doc_count(doc, "directories", summary->directories);
    doc_count(doc, "links", summary->links);
    doc_count(doc, "left_out", summary->left_out);
    doc_count(doc, "bytes", summary->bytes);
    doc_end(doc);
}

/* Of what the checkpoint holds; nothing where it holds none. */
int files_print(struct cairn_store *store, const char *id)
{
    char size[FORMAT_MAX];
    struct cairn_files_summary summary;
    struct cairn_error error = {0};
    int rc = cairn_files_list(store, id, NULL, NULL, &summary, &error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc != 0)
        return report_error(&error);
    out("files     %llu, %s", (unsigned long long)summary.files,
        format_bytes(size, summary.bytes));
    if (summary.left_out > 0)
        out(", %llu left out", (unsigned long long)summary.left_out);
    out("\n");
    return 0;
}

int files_document(struct doc *doc, struct cairn_store *store, const char *id)
{
    struct cairn_files_summary summary;
    struct cairn_error error = {0};
    int rc = cairn_files_list(store, id, NULL, NULL, &summary, &error);
    if (rc == CAIRN_ENOTFOUND)
        doc_null(doc, "files");
    else if (rc != 0)
        return report_error(&error);
    else
        files_summary_document(doc, &summary);
    return 0;
}

static int list_files(struct cairn_store *store, const char *id)
{
    struct doc doc = {0};
    struct cairn_files_summary summary;
    struct cairn_error error = {0};
    bool json = ui_json();
    if (json) {
        doc_begin(&doc);
        doc_array(&doc, "entries");
    }
    int rc = cairn_files_list(store, id, json ? add_file : print_file, &doc, &summary,
                              &error);
    if (rc != 0 && json)
        doc_discard(&doc);
    if (rc != 0)
        return report_error(&error);
    if (!json)
        return 0;
    doc_end(&doc);
    files_summary_document(&doc, &summary);
    return doc_print(&doc);
}

int command_checkpoint_files(struct settings *settings)
{
    struct cairn_store *store = NULL;
    char id[CAIRN_ID_MAX];
    const char *wanted;
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = session_checkpoint_of(store, session_option(settings),
                                       settings->operands[0], id, &wanted);
    if (status == 0)
        status = list_files(store, wanted);
    hooks_run_and_close(store);
    return status;
}

/* ---- One of them ---- */

/* What the last part ended with: the start of a character of UTF-8. */
struct cut {
    char bytes[3];
    size_t n;
};

static size_t cut_bytes(const char *text, size_t n)
{
    for (size_t k = 1; k <= sizeof((struct cut *)NULL)->bytes && k <= n; k++) {
        unsigned char byte = (unsigned char)text[n - k];
        size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        if ((byte & 0xc0) != 0x80)
            return length > k ? k : 0;
    }
    return 0;
}

/* On a terminal no byte is obeyed. */
static void show_part(struct cut *cut, const char *bytes, size_t n)
{
    size_t all = cut->n + n;
    char *text = malloc(all + 1);
    if (!text) {
        out_incomplete();
        return;
    }
    memcpy(text, cut->bytes, cut->n);
    memcpy(text + cut->n, bytes, n);
    cut->n = n > 0 ? cut_bytes(text, all) : 0; /* none: what is left */
    out_lines(text, all - cut->n);
    memcpy(cut->bytes, text + all - cut->n, cut->n);
    free(text);
}

static int print_part(void *context, const char *bytes, size_t n)
{
    if (ui_terminal(STDOUT_FILENO))
        show_part(context, bytes, n);
    else
        out_raw(bytes, n);
    return ui_output_lost();
}

/* "42:src/main.c", also "debug:42-0f3a:src/main.c": the checkpoint ends at the colon.
 * Returns the path, or NULL. */
static char *split_operand(char *operand)
{
    static const char space[] = "debug:";
    size_t n = strncmp(operand, space, sizeof space - 1) == 0 ? sizeof space - 1 : 0;
    char *colon = strchr(operand + n, ':');
    if (!colon || colon[1] == '\0')
        return NULL;
    *colon = '\0';
    return colon + 1;
}

struct content {
    struct cairn_store *store;
    const char *id;
    struct cut cut;
};

static int read_content(void *context, const char *path, struct cairn_error *error)
{
    struct content *content = context;
    return cairn_files_read(content->store, content->id, path, print_part,
                            &content->cut, error);
}

static int print_content(const struct settings *settings, struct cairn_store *store,
                         char *operand)
{
    struct content content = {.store = store};
    struct cairn_error error = {0};
    char id[CAIRN_ID_MAX];
    const char *path = settings->operands[1];
    if (!path)
        path = split_operand(operand);
    if (!path)
        return report_usage(settings->command,
                            "give a checkpoint and a path: `cairn checkpoint cat "
                            "42:src/main.c`");
    int status = session_checkpoint_of(store, session_option(settings), operand, id,
                                       &content.id);
    if (status != 0)
        return status;
    int rc = file_by_name(settings, store, path, read_content, &content, &error);
    if (content.cut.n > 0)
        show_part(&content.cut, "", 0);
    return rc == 0 ? 0 : report_error(&error);
}

int command_checkpoint_cat(struct settings *settings)
{
    struct cairn_store *store = NULL;
    char *operand = strdup(settings->operands[0]);
    int status;
    if (!operand)
        return cairn_exit_status(CAIRN_ENOMEM);
    status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = print_content(settings, store, operand);
    free(operand);
    hooks_run_and_close(store);
    return status;
}
