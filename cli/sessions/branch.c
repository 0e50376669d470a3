/* SPDX-License-Identifier: MIT */
/* cairn branch start, list, switch, abandon, merge. */
#include "cli/sessions/documents.h"

#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/files.h"
#include "cli/sessions/item.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* cairn branch start, list, switch, abandon. */

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

void branch_document(struct doc *doc, const struct cairn_branch_info *info)
{
    doc_text(doc, "name", info->name);
    doc_count(doc, "branch", info->branch);
    doc_bool(doc, "current", info->current);
    doc_text(doc, "status", info->status);
    doc_text(doc, "from", or_null(info->from));
    doc_text(doc, "head", or_null(info->head));
    doc_time(doc, "started", info->started_ns);
    doc_text(doc, "reason", or_null(info->reason));
}

static int moved_document(const struct cairn_branch_info *info,
                          const struct others_changed *others, bool dry_run)
{
    struct doc doc;
    doc_begin(&doc);
    branch_document(&doc, info);
    doc_text(&doc, "before", info->before);
    doc_count(&doc, "files_changed", info->files_changed);
    doc_count(&doc, "files_kept", info->files_kept);
    doc_object(&doc, "files");
    others_document(&doc, others);
    doc_end(&doc);
    warnings_document(&doc, others);
    doc_bool(&doc, "dry_run", dry_run);
    return doc_print(&doc);
}

static void say_moved(const struct cairn_branch_info *info, bool dry_run)
{
    char *word = shell_word(info->before);
    say("work %s on branch %s%s%s", dry_run ? "would continue" : "continues",
        info->name, info->from[0] != '\0' ? ", which begins at " : "", info->from);
    if (info->files_changed > 0)
        say("%llu files, links and directories %s replaced",
            (unsigned long long)info->files_changed, dry_run ? "would be" : "were");
    if (strcmp(info->status, "merged") == 0)
        ui_warn("branch %s was merged: what is done on it from now on is not, and "
                "cannot be merged",
                info->name);
    if (dry_run)
        say("nothing was changed: that is what would be");
    else
        say("to go back: cairn branch switch %s%s", word ? word : "NAME",
            session_hint());
    free(word);
}

int branch_go_on(const struct settings *settings, branch_move_fn *move, void *context)
{
    struct others_changed others = {.at = NULL};
    struct cairn_restore_options options = {.dry_run = settings->given[OPT_DRY_RUN],
                                            .all = settings->given[OPT_RESTORE_ALL],
                                            .kept = others_kept,
                                            .others = others_note,
                                            .context = &others};
    struct cairn_branch_info info = {0};
    struct cairn_error error = {0};
    int status = 0;
    if (move(context, settings->store, &options, &info, &error) != 0)
        status = report_error(&error);
    else if (ui_json())
        status = moved_document(&info, &others, options.dry_run);
    if (status == 0 && !ui_json()) {
        others_say(&others);
        say_moved(&info, options.dry_run);
    }
    others_release(&others);
    return status;
}

static int start(void *context, struct cairn_store *store,
                 const struct cairn_restore_options *options,
                 struct cairn_branch_info *info, struct cairn_error *error)
{
    const struct settings *settings = context;
    return cairn_branch_start(store, session_option(settings), settings->operands[0],
                              settings->text[OPT_BRANCH_FROM], options, info, error);
}

int command_branch_start(struct settings *settings)
{
    int status = session_store(settings, STORE_WRITE)
                     ?: checkpoint_option(settings, OPT_BRANCH_FROM);
    return status == 0 ? branch_go_on(settings, start, settings) : status;
}

static int switch_to(void *context, struct cairn_store *store,
                     const struct cairn_restore_options *options,
                     struct cairn_branch_info *info, struct cairn_error *error)
{
    const struct settings *settings = context;
    return cairn_branch_switch(store, session_option(settings), settings->operands[0],
                               options, info, error);
}

int command_branch_switch(struct settings *settings)
{
    int status = session_store(settings, STORE_WRITE);
    return status == 0 ? branch_go_on(settings, switch_to, settings) : status;
}

static int take_branch(void *context, const struct cairn_branch_info *info)
{
    struct cairn_branch_info *branch = context;
    if (strcmp(info->name, branch->name) == 0)
        *branch = *info;
    return 0;
}

static int abandon_branch(const struct settings *settings, const char *reason)
{
    const char *name = settings->operands[0];
    struct cairn_branch_info branch = {0};
    struct cairn_error error = {0};
    struct doc doc;
    if (cairn_branch_abandon(settings->store, session_option(settings), name, reason,
                             &error) != 0)
        return report_error(&error);
    if (!ui_json()) {
        say("branch %s is abandoned; its checkpoints stay", name);
        return 0;
    }
    /* As it was stored: without the values of secrets. */
    snprintf(branch.name, sizeof branch.name, "%s", name);
    if (cairn_branch_list(settings->store, session_option(settings), take_branch,
                          &branch, &error) != 0)
        return report_error(&error);
    doc_begin(&doc);
    doc_text(&doc, "name", branch.name);
    doc_text(&doc, "status", "abandoned");
    doc_text(&doc, "reason", branch.reason);
    return doc_print(&doc);
}

int command_branch_abandon(struct settings *settings)
{
    struct texts texts = {.command = settings->command};
    const char *reason = NULL;
    int status;
    if (!settings->given[OPT_REASON])
        return report_usage(settings->command,
                            "say why, for those who read it later: --reason TEXT");
    status = texts_take(&texts, settings->text[OPT_REASON], &reason)
             ?: session_store(settings, STORE_WRITE)
             ?: abandon_branch(settings, reason);
    texts_release(&texts);
    return status;
}

struct branch_listing {
    struct doc *doc; /* with --json */
    bool any;
};

static int each_branch(void *context, const struct cairn_branch_info *info)
{
    struct branch_listing *listing = context;
    char when[FORMAT_MAX];
    bool first = !listing->any;
    listing->any = true;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        branch_document(listing->doc, info);
        doc_end(listing->doc);
        return 0;
    }
    if (first)
        out("%-9s  %-19s  %-21s  %-21s  %s\n", "STATUS", "STARTED", "FROM", "HEAD",
            "NAME");
    out("%-9s  %-19s  %-21s  %-21s  %s%s%s%s\n",
        info->current ? "current" : info->status, format_local(when, info->started_ns),
        info->from[0] != '\0' ? info->from : "-",
        info->head[0] != '\0' ? info->head : "-", info->name,
        info->reason[0] != '\0' ? "  (" : "", info->reason,
        info->reason[0] != '\0' ? ")" : "");
    return ui_output_lost();
}

int command_branch_list(struct settings *settings)
{
    int status = session_store(settings, STORE_READ);
    if (status != 0)
        return status;
    struct doc doc;
    struct branch_listing listing = {.doc = doc_open(&doc, "branches")};
    struct cairn_error error = {0};
    return doc_close(
        listing.doc,
        report_code(cairn_branch_list(settings->store, session_option(settings),
                                      each_branch, &listing, &error),
                    &error));
}

/* cairn branch merge. */

/* Ids of items that both branches had changed. */
struct conflict_list {
    char (*ids)[CAIRN_ITEM_ID_MAX];
    size_t n;
    bool failed;
};

static int note_conflict(void *context, const char *id)
{
    struct conflict_list *list = context;
    void *ids = realloc(list->ids, (list->n + 1) * sizeof *list->ids);
    list->failed = !ids;
    if (!ids)
        return 1;
    list->ids = ids;
    snprintf(list->ids[list->n++], sizeof *list->ids, "%s", id);
    return 0;
}

/* ---- Files, which are not merged ---- */

struct left_file {
    char *path; /* heap */
    bool both;  /* both branches had changed it; else the other one alone */
};

struct left_files {
    struct left_file *at;
    size_t n, theirs; /* theirs: of these, that the other one alone had changed */
};

static int note_file(void *context, const char *path, bool both)
{
    struct left_files *files = context;
    struct left_file *at = realloc(files->at, (files->n + 1) * sizeof *at);
    if (!at)
        return 1;
    files->at = at;
    at[files->n].both = both;
    at[files->n].path = strdup(path);
    if (!at[files->n].path)
        return 1;
    files->n++;
    files->theirs += !both;
    return 0;
}

static void release_files(struct left_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->at[i].path);
    free(files->at);
}

enum { FILES_SHOWN = 20 };

/* The words of a command that takes over as many as are shown. */
static void say_way(const struct settings *settings, const struct cairn_merged *merged,
                    const struct left_files *files)
{
    char *words = NULL;
    size_t size = 0, named = 0;
    FILE *to = open_memstream(&words, &size);
    for (size_t i = 0; to && i < files->n && named < FILES_SHOWN; i++) {
        if (files->at[i].both)
            continue;
        char *word = path_operand(settings, files->at[i].path);
        fprintf(to, " %s", word ? word : "FILE");
        free(word);
        named++;
    }
    if (!to || fclose(to) != 0 || files->theirs == 0) {
        free(words);
        return;
    }
    say("to take over %s: cairn checkpoint restore %s%s%s",
        files->theirs > named ? "these"
        : named == 1          ? "the one that it alone had changed"
                              : "those that it alone had changed",
        merged->theirs, words, session_hint());
    free(words);
}

static void say_files(const struct settings *settings,
                      const struct cairn_merged *merged, const struct left_files *files)
{
    if (files->n == 0)
        return;
    ui_warn("files are not merged: %s has %zu file%s that it had changed, and that "
            "%s otherwise here",
            settings->operands[0], files->n, plural(files->n),
            files->n == 1 ? "is" : "are");
    for (size_t i = 0; i < files->n && i < FILES_SHOWN; i++)
        say("  %s%s", files->at[i].path,
            files->at[i].both ? "  (changed on both branches)" : "");
    if (files->n > FILES_SHOWN)
        say("  and %zu more", files->n - FILES_SHOWN);
    say_way(settings, merged, files);
    say("to compare: cairn checkpoint diff %s %s --patch%s", merged->ours,
        merged->theirs, session_hint());
}

static void doc_files(struct doc *doc, const struct left_files *files)
{
    doc_array(doc, "files_not_merged");
    for (size_t i = 0; i < files->n; i++) {
        doc_object(doc, NULL);
        doc_text(doc, "path", files->at[i].path);
        doc_bool(doc, "both", files->at[i].both);
        doc_end(doc);
    }
    doc_end(doc);
}

/* ---- What was decided of them ---- */

/* The fields of an item in one state, as texts. */
struct item_texts {
    bool there;
    size_t n;
    char *names[ITEM_FIELDS], *texts[ITEM_FIELDS];
};

struct decision {
    const char *id, *field; /* field NULL: one of the two had removed the item */
    const char *ours, *theirs;
    bool took_ours;
};

static int copy_item(void *context, const struct cairn_item *item)
{
    struct item_texts *shown = context;
    shown->there = true;
    for (size_t i = 0; i < item->n_fields && i < ITEM_FIELDS; i++) {
        shown->names[i] = strdup(item->fields[i].name);
        shown->texts[i] = field_text(&item->fields[i]);
        if (!shown->names[i] || !shown->texts[i])
            return 1;
        shown->n++;
    }
    return 0;
}

static void release(struct item_texts *shown)
{
    for (size_t i = 0; i < ITEM_FIELDS; i++) {
        free(shown->names[i]);
        free(shown->texts[i]);
    }
}

static const char *value_of(const struct item_texts *shown, const char *name)
{
    for (size_t i = 0; i < shown->n; i++)
        if (strcmp(shown->names[i], name) == 0)
            return shown->texts[i];
    return "-";
}

static void tell_decision(struct doc *doc, const struct decision *decision)
{
    const char *taken = decision->took_ours ? "ours" : "theirs";
    if (!doc) {
        say("%s: %s%s%s (theirs: %s): %s was taken", decision->id,
            decision->field ? decision->field : "", decision->field ? " " : "",
            decision->ours, decision->theirs, taken);
        return;
    }
    doc_object(doc, NULL);
    doc_text(doc, "id", decision->id);
    doc_text(doc, "field", decision->field);
    doc_text(doc, "ours", decision->ours);
    doc_text(doc, "theirs", decision->theirs);
    doc_text(doc, "taken", taken);
    doc_end(doc);
}

static void tell_fields(struct doc *doc, const char *id, const struct item_texts *base,
                        const struct item_texts *ours, const struct item_texts *theirs,
                        const struct item_texts *now)
{
    const struct item_kind *kind = NULL;
    for (size_t i = 0; (kind = item_kind_at(i)) && !item_kind_has(kind, id); i++)
        ;
    for (size_t i = 0; kind && i < ITEM_FIELDS && kind->fields[i].name; i++) {
        const char *name = kind->fields[i].name;
        const char *was = value_of(base, name);
        struct decision decision = {id, name, value_of(ours, name),
                                    value_of(theirs, name), false};
        decision.took_ours = strcmp(value_of(now, name), decision.ours) == 0;
        if (strcmp(decision.ours, decision.theirs) != 0 &&
            strcmp(decision.ours, was) != 0 && strcmp(decision.theirs, was) != 0)
            tell_decision(doc, &decision);
    }
}

static void tell_conflict(struct cairn_store *store, const char *session,
                          const struct cairn_merged *merged, const char *id,
                          struct doc *doc)
{
    const char *const at[] = {merged->base, merged->ours, merged->theirs,
                              merged->checkpoint};
    struct item_texts shown[4] = {{.there = false}};
    struct cairn_error error = {0};
    for (size_t i = 0; i < 4; i++)
        (void)cairn_item_get(store, session, id, at[i], copy_item, &shown[i], &error);
    if (shown[1].there && shown[2].there) {
        tell_fields(doc, id, &shown[0], &shown[1], &shown[2], &shown[3]);
    } else {
        struct decision decision = {id, NULL, shown[1].there ? "changed" : "removed",
                                    shown[2].there ? "changed" : "removed",
                                    shown[1].there == shown[3].there};
        tell_decision(doc, &decision);
    }
    for (size_t i = 0; i < 4; i++)
        release(&shown[i]);
}

/* ---- Output ---- */

static int print_document(struct cairn_store *store, const char *session,
                          const struct cairn_merged *merged,
                          const struct conflict_list *list,
                          const struct left_files *files)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "base", merged->base);
    doc_text(&doc, "base_lost", merged->base_lost[0] ? merged->base_lost : NULL);
    doc_text(&doc, "merge_lost", merged->merge_lost[0] ? merged->merge_lost : NULL);
    doc_text(&doc, "checkpoint", merged->checkpoint);
    doc_count(&doc, "added", merged->added);
    doc_count(&doc, "changed", merged->changed);
    doc_count(&doc, "removed", merged->removed);
    doc_array(&doc, "conflicts");
    for (size_t i = 0; i < list->n; i++)
        doc_text(&doc, NULL, list->ids[i]);
    doc_end(&doc);
    doc_array(&doc, "decided");
    for (size_t i = 0; i < list->n; i++)
        tell_conflict(store, session, merged, list->ids[i], &doc);
    doc_end(&doc);
    doc_text(&doc, "ours", merged->ours);
    doc_text(&doc, "theirs", merged->theirs);
    doc_files(&doc, files);
    doc_count(&doc, "gaps_closed", merged->gaps_closed);
    doc_array(&doc, "contradicts");
    for (size_t i = 0; i < 2 && merged->contradicts[0][0] != '\0'; i++)
        doc_text(&doc, NULL, merged->contradicts[i]);
    doc_end(&doc);
    return doc_print(&doc);
}

static void warn_of_base(const struct cairn_merged *merged)
{
    if (merged->base_lost[0] != '\0')
        ui_warn("%s, where the two branches were last the same, cannot be read any "
                "more: %s was taken in its place. What was done between the two counts "
                "as done by both branches, and what one removed since may have stayed",
                merged->base_lost, merged->base);
    if (merged->merge_lost[0] != '\0')
        ui_warn("it is not known any more which state of branch %s was merged: what "
                "was taken over then counts as done by both branches, and what one "
                "removed since may have stayed",
                merged->merge_lost);
}

enum { CONFLICTS_SHOWN = 20 };

static void print_text(struct cairn_store *store, const struct settings *settings,
                       const char *take, const struct cairn_merged *merged,
                       const struct conflict_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        out("%s\n", list->ids[i]);
    out_flush();
    say("merged %s: %" PRIu64 " added, %" PRIu64 " changed, %" PRIu64
        " removed; checkpoint %s",
        settings->operands[0], merged->added, merged->changed, merged->removed,
        merged->checkpoint);
    if (list->n)
        say("%zu item%s that both branches had changed: --take %s decided", list->n,
            plural(list->n), take);
    for (size_t i = 0; i < list->n && i < CONFLICTS_SHOWN; i++)
        tell_conflict(store, session_option(settings), merged, list->ids[i], NULL);
    if (list->n > CONFLICTS_SHOWN)
        say("and %zu more", list->n - CONFLICTS_SHOWN);
    if (merged->gaps_closed > 0)
        say("%u gap%s closed: what they ask is certain now", merged->gaps_closed,
            plural(merged->gaps_closed));
    if (merged->contradicts[0][0] != '\0')
        ui_warn("%s contradicts %s: at most one of them is true",
                merged->contradicts[1], merged->contradicts[0]);
}

int command_branch_merge(struct settings *settings)
{
    static const char *const takes[] = {"union", "ours", "theirs"};
    uint64_t take = settings->number[OPT_MERGE];
    struct cairn_error error = {0};
    struct cairn_merged merged = {0};
    struct conflict_list list = {0};
    struct left_files files = {.at = NULL};
    const char *name = settings->operands[0];
    int status = session_store(settings, STORE_WRITE);
    if (status == 0 && cairn_branch_merge(settings->store, session_option(settings),
                                          name, (enum cairn_merge)take, note_conflict,
                                          &list, &merged, &error) != 0)
        status = report_error(&error);
    bool made = status == 0;
    if (made && cairn_branch_merged_files(settings->store, &merged, note_file, &files,
                                          &error) != 0)
        ui_warn("files are not merged, and which differ is not known: %s", error.text);
    if (made && ui_json())
        status = print_document(settings->store, session_option(settings), &merged,
                                &list, &files);
    else if (made)
        print_text(settings->store, settings, takes[take], &merged, &list);
    if (status == 0)
        warn_of_base(&merged);
    if (made && !ui_json())
        say_files(settings, &merged, &files);
    release_files(&files);
    if (list.failed)
        ui_warn(
            "out of memory: not all items that both branches had changed are shown");
    free(list.ids);
    return status;
}
