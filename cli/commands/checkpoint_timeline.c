/* SPDX-License-Identifier: MIT */
/* cairn checkpoint timeline: runs as a tree, each with its newest checkpoints, and then
 * sessions (cli/sessions/sessions_tree.c). Runs
 * are walked with a stack of indexes, since forks of forks may go as deep as there are
 * runs; the indentation stops at DEPTH_SHOWN. */
#include "cli/commands/store_commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/annotations.h"
#include "cli/sessions/documents.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <string.h>

#define DEPTH_SHOWN 10
#define NONE SIZE_MAX

/* What the tree needs of a run; thousands of cairn_run_info would be too large. */
struct timeline_run {
    uint64_t run, from_run, from_seq;
    size_t child, sibling; /* first child, next child of the same parent */
    unsigned depth;
};
struct tree {
    struct settings *settings;
    struct cairn_store *store;
    struct doc *doc; /* with --json */
    struct timeline_run *entries;
    size_t n, capacity, roots;
    bool failed;
};

static int add_run(void *context, const struct cairn_run_info *run)
{
    struct tree *tree = context;
    if (tree->n == tree->capacity) {
        size_t capacity = tree->capacity ? 2 * tree->capacity : 64;
        struct timeline_run *entries =
            realloc(tree->entries, capacity * sizeof *entries);
        if (!entries) {
            tree->failed = true;
            return 1;
        }
        tree->entries = entries;
        tree->capacity = capacity;
    }
    tree->entries[tree->n++] = (struct timeline_run){.run = run->run,
                                                     .from_run = run->from_run,
                                                     .from_seq = run->from_seq,
                                                     .child = NONE,
                                                     .sibling = NONE};
    return 0;
}

/* Entries are newest first: by descending number. */
static size_t find_run(const struct tree *tree, uint64_t run)
{
    size_t low = 0, high = tree->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tree->entries[middle].run == run)
            return middle;
        if (tree->entries[middle].run > run)
            low = middle + 1;
        else
            high = middle;
    }
    return NONE;
}

/* From the oldest on, so that chains come out newest first. */
static void link_runs(struct tree *tree)
{
    tree->roots = NONE;
    for (size_t i = tree->n; i-- > 0;) {
        struct timeline_run *entry = &tree->entries[i];
        size_t parent = entry->from_run != 0 && entry->from_run < entry->run
                            ? find_run(tree, entry->from_run)
                            : NONE;
        size_t *first = parent == NONE ? &tree->roots : &tree->entries[parent].child;
        entry->depth = parent == NONE ? 0 : tree->entries[parent].depth + 1;
        entry->sibling = *first;
        *first = i;
    }
}

struct rows {
    const struct tree *tree;
    size_t entry;
    uint64_t shown;
    const char *indent;
};

static void print_forks(const struct rows *rows, uint64_t seq)
{
    const struct timeline_run *entries = rows->tree->entries;
    size_t i = entries[rows->entry].child;
    bool any = false;
    for (; i != NONE; i = entries[i].sibling) {
        if (entries[i].from_seq == seq)
            out("%s run %llu",
                any ? "," : "  fork:", (unsigned long long)entries[i].run);
        any = any || entries[i].from_seq == seq;
    }
}

static int each_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct rows *rows = context;
    char when[FORMAT_MAX];
    rows->shown++;
    if (rows->tree->doc) {
        doc_object(rows->tree->doc, NULL);
        checkpoint_document(rows->tree->doc, info);
        labels_document(rows->tree->doc, rows->tree->store, info);
        doc_end(rows->tree->doc);
        return 0;
    }
    out("%s| %s %-30s  %s", rows->indent, info->head ? "@" : "o", info->id,
        format_local(when, info->time_ns));
    if (info->counted)
        out("  %u/%u", info->completed, info->total);
    if (info->head)
        out("  head");
    out("%s", checkpoint_flaw(info));
    labels_print(rows->tree->store, info);
    print_forks(rows, info->seq);
    out("\n");
    return ui_output_lost();
}

static void print_run_line(const struct tree *tree, const struct timeline_run *entry,
                           const struct cairn_run_info *run, const char *indent)
{
    struct cairn_checkpoint_info from;
    char when[FORMAT_MAX], id[32];
    out("%s* run %llu  %s  %s  %s%s", indent, (unsigned long long)run->run,
        run_state_text(run), format_local(when, run->started_ns), run->workflow,
        run->checkpoint == 0 ? "  no valid checkpoint" : "");
    if (entry->from_run != 0) {
        snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)entry->from_seq);
        out("  from %s of run %llu%s", id, (unsigned long long)entry->from_run,
            cairn_checkpoint_get(tree->store, id, &from, NULL) == CAIRN_ENOTFOUND
                ? " (no longer kept)"
                : "");
    }
    out("\n");
}

/* One run with its newest checkpoints. */
static int show_run(struct tree *tree, size_t i)
{
    const struct timeline_run *entry = &tree->entries[i];
    unsigned depth = entry->depth < DEPTH_SHOWN ? entry->depth : DEPTH_SHOWN;
    char indent[2 * DEPTH_SHOWN + 1];
    struct rows rows = {.tree = tree, .entry = i, .indent = indent};
    struct cairn_checkpoint_filter filter = {
        .run = entry->run,
        .page.limit = (uint32_t)tree->settings->number[OPT_LIMIT_PER_RUN]};
    struct cairn_error error = {0};
    struct cairn_run_info run = {0};
    uint64_t total = 0;
    memset(indent, ' ', 2 * depth);
    indent[2 * depth] = '\0';
    if (cairn_run_look(tree->store, entry->run, &run, &error) != 0)
        return report_error(&error);
    if (tree->doc) {
        doc_object(tree->doc, NULL);
        run_document(tree->doc, tree->store, &run);
        doc_array(tree->doc, "checkpoints");
    } else {
        print_run_line(tree, entry, &run, indent);
    }
    /* Checkpoints of a forged run are shown as damaged, and the runs after it are
     * shown. */
    if (cairn_checkpoint_list(tree->store, &filter, each_checkpoint, &rows, &total,
                              &error) != 0) {
        if (error.code != CAIRN_EDAMAGED)
            return report_error(&error);
        ui_error(error.text);
    }
    if (tree->doc) {
        doc_end(tree->doc);
        doc_count(tree->doc, "checkpoints_total", total);
        doc_end(tree->doc);
    } else if (total > rows.shown && !ui_output_lost()) {
        out("%s| ... %llu more: cairn checkpoint list --run %llu%s\n", indent,
            (unsigned long long)(total - rows.shown), (unsigned long long)entry->run,
            store_hint(tree->settings));
    }
    return 0;
}

/* Parent first, then its forks, newest first. Every run is pushed once. */
static int print_tree(struct tree *tree)
{
    size_t *stack = malloc((tree->n + 1) * sizeof *stack);
    size_t used = 0;
    int status = 0;
    if (!stack) {
        ui_warn("out of memory");
        return EXIT_SYSTEM;
    }
    if (tree->roots != NONE)
        stack[used++] = tree->roots;
    while (used > 0 && status == 0 && !ui_output_lost()) {
        size_t i = stack[--used];
        status = show_run(tree, i);
        if (tree->entries[i].sibling != NONE)
            stack[used++] = tree->entries[i].sibling;
        if (tree->entries[i].child != NONE)
            stack[used++] = tree->entries[i].child;
    }
    free(stack);
    return status;
}

/* Sessions belong to no workflow. */
static int print_sessions(const struct tree *tree, bool *any)
{
    const struct settings *settings = tree->settings;
    *any = false;
    if (settings->given[OPT_WORKFLOW])
        return 0;
    return sessions_tree(tree->store, tree->doc,
                         (uint32_t)settings->number[OPT_LIMIT_PER_RUN], any);
}

static int print_all(struct tree *tree)
{
    bool any = false;
    int status = print_tree(tree);
    if (status == 0)
        status = print_sessions(tree, &any);
    if (status == 0 && tree->n == 0 && !any)
        say("no runs");
    return status;
}

static int show_tree(struct tree *tree)
{
    struct cairn_page page = {.all = true};
    struct cairn_error error = {0};
    struct doc doc = {0};
    bool any = false;
    int status;
    if (cairn_runs(tree->store, tree->settings->text[OPT_WORKFLOW], &page, add_run,
                   tree, NULL, &error) != 0)
        return report_error(&error);
    if (tree->failed) {
        ui_warn("out of memory");
        return EXIT_SYSTEM;
    }
    link_runs(tree);
    if (!ui_json())
        return print_all(tree);
    tree->doc = &doc;
    doc_begin(&doc);
    doc_array(&doc, "runs");
    status = print_tree(tree);
    doc_end(&doc);
    doc_array(&doc, "sessions");
    if (status == 0)
        status = print_sessions(tree, &any);
    tree->doc = NULL;
    if (status != 0) {
        doc_discard(&doc);
        return status;
    }
    return doc_print(&doc);
}

int command_checkpoint_timeline(struct settings *settings)
{
    struct tree tree = {.settings = settings};
    int status = store_for_reading(settings, &tree.store);
    if (status == 0)
        status = show_tree(&tree);
    free(tree.entries);
    cairn_store_close(tree.store);
    return status;
}
