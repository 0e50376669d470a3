/* SPDX-License-Identifier: MIT */
#include "cli/files/files.h"

#include "cli/report.h"
#include "cli/ui.h"

/* ---- Names ---- */

static int print_name(void *context, const struct cairn_file_change *change)
{
    uint64_t *n = context;
    const char *slash =
        (change->after ? change->after : change->before)->kind[0] == 'd' ? "/" : "";
    ++*n;
    if (change->old_path)
        out("R file  %s -> %s\n", change->old_path, change->path);
    else
        out("%s file  %s%s\n",
            change->change[0] == 'a'   ? "+"
            : change->change[0] == 'r' ? "-"
                                       : "~",
            change->path, slash);
    return ui_output_lost();
}

static int add_change(void *context, const struct cairn_file_change *change)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    doc_text(doc, "path", change->path);
    doc_text(doc, "change", change->change);
    doc_text(doc, "old_path", change->old_path);
    doc_text(doc, "kind", (change->after ? change->after : change->before)->kind);
    doc_end(doc);
    return 0;
}

int files_compare(struct doc *doc, struct cairn_store *store, const char *from,
                  const char *to, uint64_t *n)
{
    *n = 0;
    struct cairn_error error = {0};
    int rc = CAIRN_ENOTFOUND;
    if (doc)
        doc_array(doc, "files");
    if (to) /* what there is now is only looked at where that is asked for */
        rc = cairn_files_compare(store, NULL, from, to, NULL,
                                 doc ? add_change : print_name, doc ? (void *)doc : n,
                                 &error);
    if (doc)
        doc_end(doc);
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* ---- Patches ---- */

struct printing {
    bool stat;
    uint64_t files, added, removed;
};

static int print_patch(void *context, const struct cairn_file_change *change)
{
    struct printing *printing = context;
    if (change->patch_bytes == 0) /* a directory */
        return 0;
    printing->files++;
    printing->added += change->lines_added;
    printing->removed += change->lines_removed;
    if (!printing->stat)
        out_raw(change->patch, change->patch_bytes);
    else if (change->binary)
        out("%9s  %s\n", "binary", change->path);
    else
        out("%4llu %4llu  %s%s%s\n", (unsigned long long)change->lines_added,
            (unsigned long long)change->lines_removed,
            change->old_path ? change->old_path : "", change->old_path ? " -> " : "",
            change->path);
    return ui_output_lost();
}

int files_print_patch(struct cairn_store *store, const char *session, const char *from,
                      const char *to, bool stat, unsigned around)
{
    struct cairn_files_diff options = {.patch = true, .around = around};
    struct printing printing = {.stat = stat};
    struct cairn_error error = {0};
    if (cairn_files_compare(store, session, from, to, &options, print_patch, &printing,
                            &error) != 0)
        return report_error(&error);
    if (stat)
        out("%4llu %4llu  in %llu file%s\n", (unsigned long long)printing.added,
            (unsigned long long)printing.removed, (unsigned long long)printing.files,
            printing.files == 1 ? "" : "s");
    return 0;
}
