/* SPDX-License-Identifier: MIT */
/* The files of checkpoints: cairn checkpoint files, cat, export, their part of diff;
 * patterns of --paths. */
#include "cli/sessions/files.h"

#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/target_file.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int patterns_take(struct patterns *patterns, const char *given)
{
    size_t most = 1 + OPERANDS_MAX;
    *patterns = (struct patterns){.n = 0};
    for (const char *comma = given; comma && (comma = strchr(comma, ',')); comma++)
        most++;
    patterns->text = strdup(given ? given : "");
    patterns->list = calloc(most, sizeof *patterns->list);
    if (!patterns->text || !patterns->list)
        return report_nomem();
    if (given)
        patterns->list[patterns->n++] = patterns->text;
    for (char *at = patterns->text; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == ',') {
            *at = '\0';
            patterns->list[patterns->n++] = at + 1;
        }
    }
    return 0;
}

/* ---- Files that are operands ---- */

static int note_root(void *context, const char *name, const char *value, bool usual)
{
    (void)usual;
    if (strcmp(name, "files") == 0)
        snprintf(context, PATH_MAX, "%s", value);
    return 0;
}

/* The directory of the session's files; "" if it has none, or that is gone. */
static void find_root(const struct settings *settings, char root[PATH_MAX])
{
    char value[PATH_MAX] = "off", path[2 * PATH_MAX], *real;
    (void)cairn_session_config(settings->store, session_option(settings), note_root,
                               value, NULL);
    snprintf(path, sizeof path, "%s%s%s",
             value[0] == '/' ? "" : cairn_store_path(settings->store),
             value[0] == '/' ? "" : "/../", value);
    real = strcmp(value, "off") == 0 ? NULL : realpath(path, NULL);
    snprintf(root, PATH_MAX, "%s", real ? real : "");
    free(real);
}

/* Seen from the working directory, without `.` and `..`: the file may be gone, so the
 * system is not asked. */
static bool resolve(const char *operand, char out[2 * PATH_MAX])
{
    char here[PATH_MAX] = "", whole[2 * PATH_MAX];
    size_t n = 0;
    if (operand[0] != '/' && !getcwd(here, sizeof here))
        return false;
    if (snprintf(whole, sizeof whole, "%s/%s", here, operand) >= (int)sizeof whole)
        return false;
    out[0] = '\0';
    for (char *rest, *part = strtok_r(whole, "/", &rest); part;
         part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, "..") == 0)
            n = n > 0 ? (size_t)(strrchr(out, '/') - out) : 0;
        else if (strcmp(part, ".") != 0)
            n += (size_t)snprintf(out + n, 2 * PATH_MAX - n, "/%s", part);
        out[n] = '\0';
    }
    return true;
}

/* What means something in a pattern stands for itself. */
static char *literal(const char *path)
{
    char *pattern = malloc(2 * strlen(path) + 3), *out = pattern;
    for (; pattern && *path != '\0'; path++) {
        if (strchr("*?[]\\ ", *path))
            *out++ = '\\';
        *out++ = *path;
    }
    if (pattern)
        memcpy(out, out == pattern ? "/*" : "\0", out == pattern ? 3 : 1);
    return pattern;
}

/* Its path below the root, or NULL: it is not there. */
static const char *below(const char *root, const char *operand, char path[2 * PATH_MAX])
{
    size_t n = strlen(root);
    bool is = n > 0 && resolve(operand, path) && strncmp(path, root, n) == 0 &&
              (path[n] == '/' || path[n] == '\0');
    return is ? path + n : NULL;
}

int file_by_name(const struct settings *settings, const char *operand,
                 int (*call)(void *context, const char *path,
                             struct cairn_error *error),
                 void *context, struct cairn_error *error)
{
    char root[PATH_MAX], path[2 * PATH_MAX];
    struct cairn_error other = {0};
    find_root(settings, root);
    const char *seen = below(root, operand, path);
    if (!seen || seen[0] == '\0' || strcmp(seen + 1, operand) == 0)
        return call(context, operand, error);
    int rc = call(context, seen + 1, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    int second = call(context, operand, &other);
    if (second != 0 && second != CAIRN_ENOTFOUND)
        *error = other;
    return second == CAIRN_ENOTFOUND ? rc : second;
}

int patterns_add_files(struct patterns *patterns, const struct settings *settings,
                       int first)
{
    char root[PATH_MAX], path[2 * PATH_MAX];
    if (first >= settings->n_operands)
        return 0;
    find_root(settings, root);
    for (int i = first; i < settings->n_operands; i++) {
        const char *operand = settings->operands[i];
        const char *seen = below(root, operand, path);
        if (!seen)
            return report_usage(
                settings->command,
                "%s is not below the directory of the session's files%s%s", operand,
                root[0] != '\0' ? ", " : "", root);
        char *pattern = literal(seen);
        if (!pattern)
            return report_nomem();
        patterns->files[patterns->n_files++] = pattern;
        patterns->list[patterns->n++] = pattern;
    }
    return 0;
}

char *path_operand(const struct settings *settings, const char *path)
{
    char root[PATH_MAX], here[PATH_MAX] = "", *whole = NULL;
    find_root(settings, root);
    bool is_here = getcwd(here, sizeof here) && strcmp(here, root) == 0;
    if (asprintf(&whole, "%s%s%s", is_here ? path[0] == '-' ? "." : "" : root,
                 is_here && path[0] != '-' ? "" : "/", path) < 0)
        return NULL;
    char *word = shell_word(whole);
    free(whole);
    return word;
}

void patterns_release(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->n_files; i++)
        free(patterns->files[i]);
    free(patterns->list);
    free(patterns->text);
    *patterns = (struct patterns){.n = 0};
}

/* cairn checkpoint files, cairn checkpoint cat: the files that a checkpoint holds. */

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

/* The member "files": counts. */
static void files_summary_document(struct doc *doc,
                                   const struct cairn_files_summary *summary)
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
    struct doc doc, *used = doc_open(&doc, "entries");
    struct cairn_files_summary summary;
    struct cairn_error error = {0};
    int rc = cairn_files_list(store, id, used ? add_file : print_file, used, &summary,
                              &error);
    if (rc == 0 && used) {
        doc_end(used);
        files_summary_document(used, &summary);
    }
    return doc_close(used, report_code(rc, &error));
}

int command_checkpoint_files(struct settings *settings)
{
    char id[CAIRN_ID_MAX];
    const char *wanted;
    int status = session_store(settings, STORE_READ)
                     ?: checkpoint_named(settings, settings->operands[0], id, &wanted);
    return status == 0 ? list_files(settings->store, wanted) : status;
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

static int print_content(const struct settings *settings, char *operand)
{
    struct content content = {.store = settings->store};
    struct cairn_error error = {0};
    char id[CAIRN_ID_MAX];
    const char *path = settings->operands[1];
    if (!path)
        path = split_operand(operand);
    if (!path)
        return report_usage(settings->command,
                            "give a checkpoint and a path: `cairn checkpoint cat "
                            "42:src/main.c`");
    int status = checkpoint_named(settings, operand, id, &content.id);
    if (status != 0)
        return status;
    int rc = file_by_name(settings, path, read_content, &content, &error);
    if (content.cut.n > 0)
        show_part(&content.cut, "", 0);
    return report_code(rc, &error);
}

int command_checkpoint_cat(struct settings *settings)
{
    char *operand = strdup(settings->operands[0]);
    int status;
    if (!operand)
        return cairn_exit_status(CAIRN_ENOMEM);
    status = session_store(settings, STORE_READ) ?: print_content(settings, operand);
    free(operand);
    return status;
}

/* cairn checkpoint export: the files of a checkpoint as an archive. */

struct export
{
    const char *file; /* NULL: stdout */
    struct target_file target;
    uint64_t bytes;
};

static int write_bytes(void *context, const char *bytes, size_t n)
{
    struct export *e = context;
    e->bytes += n;
    if (e->target.fd >= 0)
        return target_write(&e->target, bytes, n);
    out_raw(bytes, n);
    return ui_output_lost();
}

static int open_export(struct export *e, const char *command)
{
    if (e->file)
        return target_open(&e->target, e->file, command);
    if (ui_terminal(STDOUT_FILENO))
        return report_usage(command,
                            "an archive is not for a terminal: give a FILE, or send "
                            "stdout somewhere else");
    return 0;
}

static int report_export(const struct export *e, const char *id,
                         const struct cairn_files_summary *summary)
{
    struct doc doc;
    if (summary->left_out > 0)
        ui_warn("%llu of the files are not in the archive, since %s has only their "
                "names: `cairn checkpoint files` shows which",
                (unsigned long long)summary->left_out, id);
    if (!ui_json())
        return 0;
    doc_begin(&doc);
    doc_text(&doc, "file", e->file);
    doc_count(&doc, "bytes", e->bytes);
    files_summary_document(&doc, summary);
    return doc_print(&doc);
}

static int export_files(const struct settings *settings, struct export *e)
{
    char found[CAIRN_ID_MAX];
    const char *id;
    struct cairn_files_summary summary = {0};
    struct cairn_error error = {0};
    int status = checkpoint_named(settings, settings->operands[0], found, &id)
                     ?: open_export(e, settings->command);
    if (status != 0)
        return status;
    int rc = cairn_files_tar(settings->store, id, write_bytes, e, &summary, &error);
    status = target_close(&e->target, rc == 0);
    if (status != 0 || (rc != 0 && !e->file && ui_output_lost()))
        return status; /* ui_end knows what a lost output means */
    return rc == 0 ? report_export(e, id, &summary) : report_error(&error);
}

int command_checkpoint_export(struct settings *settings)
{
    struct export e = {.target = TARGET_NONE};
    int status;
    if (settings->n_operands > 1 && strcmp(settings->operands[1], "-") != 0)
        e.file = settings->operands[1];
    if (!settings->given[OPT_TAR])
        return report_usage(settings->command, "say in which form: --tar");
    if (ui_json() && !e.file)
        return report_usage(settings->command,
                            "stdout has the archive: with --json give a FILE");
    status = session_store(settings, STORE_READ) ?: export_files(settings, &e);
    target_release(&e.target);
    return status;
}

/* ---- Names ---- */

void print_sign(char sign)
{
    out_color(sign == '+' ? GREEN : sign == '-' ? RED : sign == '~' ? YELLOW : CYAN);
    out("%c", sign);
    out_color(PLAIN);
}

static char sign_of(const struct cairn_file_change *change)
{
    if (change->old_path)
        return change->change[0] == 'c' ? 'C' : 'R';
    return !change->before ? '+' : !change->after ? '-' : '~';
}

struct listing {
    struct doc *doc; /* NULL: text */
    uint64_t n;
};

static void print_name(const struct cairn_file_change *change)
{
    const char *slash =
        (change->after ? change->after : change->before)->kind[0] == 'd' ? "/" : "";
    print_sign(sign_of(change));
    out(" file  ");
    if (change->old_path)
        out("%s -> %s\n", change->old_path, change->path);
    else
        out("%s%s\n", change->path, slash);
}

static void add_change(struct doc *doc, const struct cairn_file_change *change)
{
    doc_object(doc, NULL);
    doc_text(doc, "path", change->path);
    doc_text(doc, "change", change->change);
    doc_text(doc, "old_path", change->old_path);
    doc_text(doc, "kind", (change->after ? change->after : change->before)->kind);
    doc_end(doc);
}

static int list_change(void *context, const struct cairn_file_change *change)
{
    struct listing *listing = context;
    listing->n++;
    if (listing->doc)
        add_change(listing->doc, change);
    else
        print_name(change);
    return listing->doc ? 0 : ui_output_lost();
}

int files_compare(struct doc *doc, struct cairn_store *store,
                  const struct files_sides *sides, uint64_t *n)
{
    struct cairn_files_diff options = {.paths = sides->patterns->list,
                                       .n_paths = sides->patterns->n};
    struct listing listing = {.doc = doc};
    struct cairn_error error = {0};
    if (doc)
        doc_array(doc, "files");
    int rc = cairn_files_compare(store, sides->session, sides->from, sides->to,
                                 &options, list_change, &listing, &error);
    if (doc)
        doc_end(doc);
    *n = listing.n;
    if (rc == 0 || (rc == CAIRN_ENOTFOUND && !sides->worktree))
        return 0;
    if (sides->to || sides->worktree || rc == CAIRN_EDAMAGED)
        return report_error(&error);
    ui_warn("the files on the disk were not compared: %s", error.text);
    return 0;
}

/* ---- Patches ---- */

struct printing {
    bool stat;
    bool shown; /* to people, not to a program that applies it */
    uint64_t files, added, removed;
};

/* What is in hunks begins with one of four bytes, and what is not does not. */
static enum color color_of(struct cairn_file_change const *change, const char *line,
                           bool *in_hunk)
{
    if (line + 2 <= change->patch + change->patch_bytes && memcmp(line, "@@", 2) == 0) {
        *in_hunk = true;
        return CYAN;
    }
    if (*in_hunk && strchr(" +-\\", line[0]))
        return line[0] == '+' ? GREEN : line[0] == '-' ? RED : PLAIN;
    *in_hunk = false;
    return BOLD;
}

static void show_patch(const struct cairn_file_change *change)
{
    const char *line = change->patch, *end = line + change->patch_bytes;
    bool in_hunk = false;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((stop ? stop : end) - line);
        enum color color = color_of(change, line, &in_hunk);
        if (color != PLAIN)
            out_color(color);
        out_lines(line, n);
        if (color != PLAIN)
            out_color(PLAIN);
        out_raw("\n", 1);
        line += n + 1;
    }
}

static int print_patch(void *context, const struct cairn_file_change *change)
{
    struct printing *printing = context;
    if (change->patch_bytes == 0) /* a directory */
        return 0;
    printing->files++;
    printing->added += change->lines_added;
    printing->removed += change->lines_removed;
    if (!printing->stat && printing->shown)
        show_patch(change);
    else if (!printing->stat)
        out_raw(change->patch, change->patch_bytes);
    else if (change->binary)
        out("%9s  %s\n", change->large ? "> 4 MiB" : "binary", change->path);
    else
        out("%4llu %4llu  %s%s%s\n", (unsigned long long)change->lines_added,
            (unsigned long long)change->lines_removed,
            change->old_path ? change->old_path : "", change->old_path ? " -> " : "",
            change->path);
    return ui_output_lost();
}

int files_print_patch(struct cairn_store *store, const struct files_sides *sides,
                      bool stat, bool shown, unsigned around)
{
    struct cairn_files_diff options = {.patch = true,
                                       .around = around,
                                       .paths = sides->patterns->list,
                                       .n_paths = sides->patterns->n};
    struct printing printing = {.stat = stat, .shown = shown};
    struct cairn_error error = {0};
    if (cairn_files_compare(store, sides->session, sides->from, sides->to, &options,
                            print_patch, &printing, &error) != 0)
        return report_error(&error);
    if (stat)
        out("%4llu %4llu  in %llu file%s\n", (unsigned long long)printing.added,
            (unsigned long long)printing.removed, (unsigned long long)printing.files,
            plural(printing.files));
    return 0;
}

/* ---- Damaged ones ---- */

void damaged_note(struct damaged_objects *damaged, const char *object)
{
    char *text = object && damaged->n < DAMAGED_MOST ? strdup(object) : NULL;
    if (text)
        damaged->at[damaged->n++] = text;
}

enum { NAMED_MOST = 20 };

struct naming {
    struct doc *doc;
    uint64_t n; /* lines */
    char last[PATH_MAX + CAIRN_ID_MAX];
};

/* Parts of one large file come one behind the other. */
static void print_damaged(struct naming *naming, const struct cairn_damaged_file *file)
{
    char now[sizeof naming->last];
    snprintf(now, sizeof now, "%s in checkpoint %s",
             file->path[0] != '\0' ? file->path : "the directory of all files",
             file->id);
    if (strcmp(now, naming->last) == 0)
        return;
    memcpy(naming->last, now, sizeof now);
    if (++naming->n <= NAMED_MOST)
        out("object %.12s is of %s\n", file->object, now);
}

static int name_damaged(void *context, const struct cairn_damaged_file *file)
{
    struct naming *naming = context;
    if (!naming->doc) {
        print_damaged(naming, file);
        return 0;
    }
    doc_object(naming->doc, NULL);
    doc_text(naming->doc, "object", file->object);
    doc_text(naming->doc, "checkpoint", file->id);
    doc_text(naming->doc, "path", file->path);
    doc_end(naming->doc);
    return 0;
}

void damaged_name(const struct damaged_objects *damaged, struct cairn_store *store,
                  struct doc *doc)
{
    struct naming naming = {.doc = doc};
    const char *objects[DAMAGED_MOST];
    for (size_t i = 0; i < damaged->n; i++)
        objects[i] = damaged->at[i];
    if (doc)
        doc_array(doc, "files");
    if (damaged->n > 0 && store)
        (void)cairn_files_damaged(store, objects, damaged->n, name_damaged, &naming,
                                  NULL);
    if (doc)
        doc_end(doc);
    else if (naming.n > NAMED_MOST)
        out("and %" PRIu64 " more: --json names them all\n", naming.n - NAMED_MOST);
}

void damaged_release(struct damaged_objects *damaged)
{
    while (damaged->n > 0)
        free(damaged->at[--damaged->n]);
}
