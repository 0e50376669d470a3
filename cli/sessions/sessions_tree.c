/* SPDX-License-Identifier: MIT */
/* Sessions and their branches as a tree. Branches are walked with a stack of indexes,
 * as runs are in cli/commands/checkpoint_list.c. */
#include "cli/sessions/annotations.h"
#include "cli/sessions/documents.h"

#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_SHOWN 10
#define NONE SIZE_MAX

struct entry {
    struct cairn_branch_info info;
    uint64_t from_branch;            /* 0: it begins by itself, or where is not known */
    bool lost;                       /* the checkpoint that it starts from is gone */
    char of[CAIRN_SESSION_NAME_MAX]; /* the session of that, where it is another one */
    size_t child, sibling;           /* first child, next child of the same parent */
    unsigned depth;
};
/* A session that begins at a checkpoint of another one. */
struct start {
    char from[CAIRN_ID_MAX];
    uint64_t session;
    char name[CAIRN_SESSION_NAME_MAX];
};
struct starts {
    struct start *at;
    size_t n;
    const struct cairn_session_info *info; /* whose branches are being listed */
    bool failed;
};
struct branches {
    struct cairn_store *store;
    uint64_t session;
    const struct starts *starts;
    struct doc *doc; /* with --json */
    uint32_t limit;
    struct entry *entries; /* in the order in which they were begun */
    size_t n, capacity, roots;
    bool failed;
};

static int out_of_memory(void)
{
    ui_warn("out of memory");
    return EXIT_SYSTEM;
}

/* ---- The tree of one session ---- */

static int add_branch(void *context, const struct cairn_branch_info *info)
{
    struct branches *tree = context;
    if (tree->n == tree->capacity) {
        size_t capacity = tree->capacity ? 2 * tree->capacity : 16;
        struct entry *entries = realloc(tree->entries, capacity * sizeof *entries);
        if (!entries) {
            tree->failed = true;
            return 1;
        }
        tree->entries = entries;
        tree->capacity = capacity;
    }
    tree->entries[tree->n++] =
        (struct entry){.info = *info, .child = NONE, .sibling = NONE};
    return 0;
}

static void find_start(const struct branches *tree, struct entry *entry)
{
    struct cairn_checkpoint_info from = {0};
    if (entry->info.from[0] == '\0')
        return;
    int rc = cairn_checkpoint_get(tree->store, entry->info.from, &from, NULL);
    entry->from_branch = rc == 0 ? from.branch : 0;
    entry->lost = rc == CAIRN_ENOTFOUND;
    if (rc == 0 && from.session != 0 && from.session != tree->session)
        snprintf(entry->of, sizeof entry->of, "%.*s", (int)sizeof entry->of - 1,
                 from.session_name);
}

/* A branch begins after the one that it starts from. */
static size_t find_parent(const struct branches *tree, size_t i)
{
    uint64_t wanted = tree->entries[i].from_branch;
    for (size_t at = 0; at < i && wanted != 0; at++)
        if (tree->entries[at].info.branch == wanted)
            return at;
    return NONE;
}

/* From the oldest on, so that those that start from one come out newest first. */
static void link_branches(struct branches *tree)
{
    tree->roots = NONE;
    for (size_t i = 0; i < tree->n; i++) {
        struct entry *entry = &tree->entries[i];
        find_start(tree, entry);
        size_t parent = find_parent(tree, i);
        size_t *first = parent == NONE ? &tree->roots : &tree->entries[parent].child;
        entry->depth = parent == NONE ? 1 : tree->entries[parent].depth + 1;
        entry->sibling = *first;
        *first = i;
    }
}

/* ---- One branch ---- */

struct rows {
    const struct branches *tree;
    const struct entry *entry;
    uint64_t shown;
    const char *indent;
};

static void print_starts(const struct rows *rows, const char *id)
{
    const struct entry *entries = rows->tree->entries;
    bool any = false;
    for (size_t i = rows->entry->child; i != NONE; i = entries[i].sibling) {
        if (strcmp(entries[i].info.from, id) != 0)
            continue;
        out("%s %s", any ? "," : "  branch:", entries[i].info.name);
        any = true;
    }
    const struct starts *starts = rows->tree->starts;
    any = false;
    for (size_t i = 0; i < starts->n; i++) {
        if (starts->at[i].session == rows->tree->session ||
            strcmp(starts->at[i].from, id) != 0)
            continue;
        out("%s %s", any ? "," : "  session:", starts->at[i].name);
        any = true;
    }
}

static int each_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct rows *rows = context;
    char when[FORMAT_MAX], message[CHECKPOINT_LINE_MAX];
    rows->shown++;
    if (rows->tree->doc) {
        doc_object(rows->tree->doc, NULL);
        checkpoint_list_document(rows->tree->doc, info);
        labels_document(rows->tree->doc, rows->tree->store, info);
        doc_end(rows->tree->doc);
        return 0;
    }
    out("%s| %s %-30s  %s%s%s%s", rows->indent, info->head ? "@" : "o", info->id,
        format_local(when, info->time_ns), checkpoint_message(message, info),
        info->head ? "  head" : "", checkpoint_flaw(info));
    labels_print(rows->tree->store, info);
    print_starts(rows, info->id);
    out("\n");
    return ui_output_lost();
}

static void begin_branch(const struct branches *tree, const struct entry *entry,
                         const char *indent)
{
    const struct cairn_branch_info *info = &entry->info;
    if (tree->doc) {
        doc_object(tree->doc, NULL);
        branch_document(tree->doc, info);
        doc_text(tree->doc, "from_session", entry->of[0] != '\0' ? entry->of : NULL);
        doc_array(tree->doc, "checkpoints");
        return;
    }
    out("%s* branch %s  %s", indent, info->name,
        info->current ? "current" : info->status);
    if (info->from[0] != '\0')
        out("  from %s%s%s%s", info->from, entry->lost ? " (no longer kept)" : "",
            entry->of[0] != '\0' ? " of session " : "", entry->of);
    out("\n");
}

static void end_branch(const struct rows *rows, uint64_t total)
{
    const struct branches *tree = rows->tree;
    if (tree->doc) {
        doc_end(tree->doc);
        doc_count(tree->doc, "checkpoints_total", total);
        doc_end(tree->doc);
    } else if (total > rows->shown && !ui_output_lost()) {
        out("%s| ... %" PRIu64 " more\n", rows->indent, total - rows->shown);
    }
}

static int show_branch(const struct branches *tree, size_t i)
{
    const struct entry *entry = &tree->entries[i];
    unsigned depth = entry->depth < DEPTH_SHOWN ? entry->depth : DEPTH_SHOWN;
    char indent[2 * DEPTH_SHOWN + 1];
    struct rows rows = {.tree = tree, .entry = entry, .indent = indent};
    struct cairn_checkpoint_filter filter = {.branch = entry->info.branch,
                                             .page.limit = tree->limit};
    struct cairn_error error = {0};
    uint64_t total = 0;
    memset(indent, ' ', 2 * depth);
    indent[2 * depth] = '\0';
    begin_branch(tree, entry, indent);
    if (cairn_checkpoint_list(tree->store, &filter, each_checkpoint, &rows, &total,
                              &error) != 0)
        return report_error(&error);
    end_branch(&rows, total);
    return 0;
}

/* Every branch is pushed once. */
static int show_branches(const struct branches *tree)
{
    size_t *stack = malloc((tree->n + 1) * sizeof *stack);
    size_t used = 0;
    int status = 0;
    if (!stack)
        return out_of_memory();
    if (tree->roots != NONE)
        stack[used++] = tree->roots;
    while (used > 0 && status == 0 && !ui_output_lost()) {
        size_t i = stack[--used];
        status = show_branch(tree, i);
        if (tree->entries[i].sibling != NONE)
            stack[used++] = tree->entries[i].sibling;
        if (tree->entries[i].child != NONE)
            stack[used++] = tree->entries[i].child;
    }
    free(stack);
    return status;
}

/* ---- Sessions ---- */

struct sessions {
    struct cairn_session_info *infos;
    size_t n;
    bool failed;
};

static int add_session(void *context, const struct cairn_session_info *info)
{
    struct sessions *list = context;
    struct cairn_session_info *infos =
        realloc(list->infos, (list->n + 1) * sizeof *infos);
    if (!infos) {
        list->failed = true;
        return 1;
    }
    list->infos = infos;
    list->infos[list->n++] = *info;
    return 0;
}

static void begin_session(struct doc *doc, const struct cairn_session_info *info)
{
    char when[FORMAT_MAX];
    if (doc) {
        doc_object(doc, NULL);
        session_document(doc, info);
        doc_array(doc, "tree");
        return;
    }
    out("* session %" PRIu64 "  %s  %s  %s\n", info->session,
        info->ended_ns != 0 ? "ended"
        : info->current     ? "current"
                            : "open",
        format_local(when, info->started_ns), info->name);
}

static int show_session(const struct branches *of,
                        const struct cairn_session_info *info)
{
    struct branches tree = *of;
    struct cairn_error error = {0};
    tree.session = info->session;
    char number[24];
    int status = 0;
    snprintf(number, sizeof number, "%" PRIu64, info->session);
    if (cairn_branch_list(tree.store, number, add_branch, &tree, &error) != 0)
        status = report_error(&error);
    else if (tree.failed)
        status = out_of_memory();
    if (status == 0) {
        link_branches(&tree);
        begin_session(tree.doc, info);
        status = show_branches(&tree);
    }
    if (status == 0 && tree.doc) {
        doc_end(tree.doc);
        doc_end(tree.doc);
    }
    free(tree.entries);
    return status;
}

static int add_start(void *context, const struct cairn_branch_info *branch)
{
    struct starts *starts = context;
    if (branch->from[0] == '\0')
        return 0;
    struct start *at = realloc(starts->at, (starts->n + 1) * sizeof *at);
    if (!at) {
        starts->failed = true;
        return 1;
    }
    starts->at = at;
    at += starts->n++;
    memcpy(at->from, branch->from, sizeof at->from);
    memcpy(at->name, starts->info->name, sizeof at->name);
    at->session = starts->info->session;
    return 0;
}

/* Where branches begin, of all sessions. */
static int list_starts(struct cairn_store *store, const struct sessions *list,
                       struct starts *starts)
{
    struct cairn_error error = {0};
    char number[24];
    for (size_t i = 0; i < list->n; i++) {
        starts->info = &list->infos[i];
        snprintf(number, sizeof number, "%" PRIu64, list->infos[i].session);
        if (cairn_branch_list(store, number, add_start, starts, &error) != 0)
            return report_error(&error);
        if (starts->failed)
            return out_of_memory();
    }
    return 0;
}

int sessions_tree(struct cairn_store *store, struct doc *doc, uint32_t limit, bool *any)
{
    struct starts starts = {0};
    struct branches tree = {
        .store = store, .starts = &starts, .doc = doc, .limit = limit};
    struct cairn_page page = {.all = true};
    struct cairn_error error = {0};
    struct sessions list = {0};
    int status = 0;
    if (cairn_session_list(store, &page, add_session, &list, NULL, &error) != 0)
        status = report_error(&error);
    else if (list.failed)
        status = out_of_memory();
    if (status == 0)
        status = list_starts(store, &list, &starts);
    for (size_t i = 0; i < list.n && status == 0 && !ui_output_lost(); i++)
        status = show_session(&tree, &list.infos[i]);
    *any = list.n > 0;
    free(starts.at);
    free(list.infos);
    return status;
}
