/* SPDX-License-Identifier: MIT */
/* Sessions and their branches as a tree. */
#include "cli/sessions/annotations.h"
#include "cli/sessions/documents.h"

#include "cli/describe.h"
#include "cli/format.h"
#include "cli/lineage.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_SHOWN 10

struct branches {
    struct cairn_store *store;
    uint64_t session;
    const struct session_starts *starts;
    struct doc *doc; /* with --json */
    uint32_t limit;
    struct branch_lineage lineage;
};

/* ---- One branch ---- */

struct rows {
    const struct branches *tree;
    size_t entry;
    uint64_t shown;
    const char *indent;
};

static void print_starts(const struct rows *rows, const char *id)
{
    const struct branch_lineage *lineage = &rows->tree->lineage;
    const struct lineage_link *links = lineage->tree.links;
    bool any = false;
    for (size_t i = links[rows->entry].child; i != LINEAGE_NONE; i = links[i].sibling) {
        if (strcmp(lineage->branches[i].info.from, id) != 0)
            continue;
        out("%s %s", any ? "," : "  branch:", lineage->branches[i].info.name);
        any = true;
    }
    const struct session_starts *starts = rows->tree->starts;
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

static void begin_branch(const struct branches *tree, const struct branch_start *entry,
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
    const struct branch_start *entry = &tree->lineage.branches[i];
    unsigned depth = tree->lineage.tree.links[i].depth + 1;
    char indent[2 * DEPTH_SHOWN + 1];
    struct rows rows = {.tree = tree, .entry = i, .indent = indent};
    struct cairn_checkpoint_filter filter = {.branch = entry->info.branch,
                                             .page.limit = tree->limit};
    struct cairn_error error = {0};
    uint64_t total = 0;
    depth = depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN;
    memset(indent, ' ', 2 * depth);
    indent[2 * depth] = '\0';
    begin_branch(tree, entry, indent);
    if (cairn_checkpoint_list(tree->store, &filter, each_checkpoint, &rows, &total,
                              &error) != 0)
        return report_error(&error);
    end_branch(&rows, total);
    return 0;
}

/* ---- Sessions ---- */

static void begin_session(struct doc *doc, const struct cairn_session_info *info)
{
    char when[FORMAT_MAX];
    if (doc) {
        doc_object(doc, NULL);
        session_document(doc, info);
        doc_array(doc, "tree");
        return;
    }
    out("* session %" PRIu64 "  %s  %s  %s\n", info->session, session_state_text(info),
        format_local(when, info->started_ns), info->name);
}

/* Of several that are damaged the first one is named, at the end. */
static int past_damage(int rc, const struct cairn_error *error,
                       struct cairn_error *damage)
{
    if (rc != CAIRN_EDAMAGED)
        return report_code(rc, error);
    if (damage->code == 0)
        *damage = *error;
    return 0;
}

static int show_session(const struct branches *of,
                        const struct cairn_session_info *info,
                        struct cairn_error *damage)
{
    struct branches tree = *of;
    struct cairn_error error = {0};
    tree.session = info->session;
    int status = past_damage(
        branch_lineage_read(&tree.lineage, tree.store, info->session, &error), &error,
        damage);
    if (status == 0)
        begin_session(tree.doc, info);
    for (size_t i = 0; i < tree.lineage.tree.n && status == 0 && !ui_output_lost(); i++)
        status = show_branch(&tree, tree.lineage.tree.order[i]);
    if (status == 0 && tree.doc) {
        doc_end(tree.doc);
        doc_end(tree.doc);
    }
    branch_lineage_release(&tree.lineage);
    return status;
}

int sessions_tree(struct cairn_store *store, struct doc *doc, uint32_t limit, bool *any,
                  struct cairn_error *damage)
{
    struct session_starts starts;
    struct branches tree = {
        .store = store, .starts = &starts, .doc = doc, .limit = limit};
    struct cairn_page page = {.all = true};
    struct cairn_error error = {0};
    int status = past_damage(session_starts_read(&starts, store, &page, NULL, &error),
                             &error, damage);
    for (size_t i = 0; i < starts.n_sessions && status == 0 && !ui_output_lost(); i++)
        status = show_session(&tree, &starts.sessions[i], damage);
    *any = starts.n_sessions > 0;
    session_starts_release(&starts);
    return status;
}
