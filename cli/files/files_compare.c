/* SPDX-License-Identifier: MIT */
#include "cli/files/files.h"

#include "cli/report.h"
#include "cli/ui.h"

#include <string.h>

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
            printing.files == 1 ? "" : "s");
    return 0;
}
