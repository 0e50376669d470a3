/* SPDX-License-Identifier: MIT */
/* cairn checkpoint list, show, timeline. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/commands/tasks.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/lineage.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/annotations.h"
#include "cli/sessions/checkpoint_state.h"
#include "cli/sessions/context.h"
#include "cli/sessions/documents.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <string.h>

/* cairn checkpoint list: checkpoints as a table. */

enum { PAGE_MOST = 100 };

/* What is known of a checkpoint while all are put in the order of their times. */
struct place {
    int64_t time_ns;
    uint64_t seq;
};

struct checkpoint_listing {
    struct cairn_store *store;
    struct doc *doc;                    /* with --json */
    const char *tag, *label;            /* only those with it; NULL: any */
    const struct cairn_param *any_tags; /* only those with one of them; none: any */
    size_t n_any_tags;
    bool automatic;    /* only those of sessions that nobody made by hand */
    uint64_t from, to; /* numbers, with both */
    bool contextd;     /* with what contextd answers */
    int status;
    struct cairn_page page; /* of these */
    uint64_t shown, matched;
    bool by_time;
    struct place *places; /* of all that match */
    size_t n_places, capacity;
    struct cairn_checkpoint_info *infos; /* [PAGE_MOST], of the page, in order */
    bool failed;                         /* out of memory */
};

/* Which tags that were asked for it has: looked for among those that are listed, or
 * among all of them where these are cut. */
struct tag_search {
    const struct checkpoint_listing *listing;
    bool has_tag, has_any;
};

static void see_tag(struct tag_search *search, const char *tag, size_t n)
{
    const struct checkpoint_listing *listing = search->listing;
    search->has_tag |=
        listing->tag && strlen(listing->tag) == n && strncmp(tag, listing->tag, n) == 0;
    for (size_t i = 0; i < listing->n_any_tags; i++) {
        const char *name = listing->any_tags[i].name;
        search->has_any |= strlen(name) == n && strncmp(tag, name, n) == 0;
    }
}

static int see_tags(void *context, const struct cairn_session_checkpoint_info *info)
{
    for (size_t i = 0; i < info->n_tags; i++)
        see_tag(context, info->tags[i], strlen(info->tags[i]));
    return 0;
}

static bool has_tags(const struct checkpoint_listing *listing,
                     const struct cairn_checkpoint_info *info)
{
    struct tag_search search = {
        .listing = listing, .has_tag = !listing->tag, .has_any = !listing->n_any_tags};
    struct cairn_error error = {0};
    if (info->namespace_id == CAIRN_NAMESPACE_DEBUG && !info->damaged &&
        strstr(info->tags[0] != '\0' ? info->tags : "-", "\xe2\x80\xa6"))
        (void)cairn_session_checkpoint_get(listing->store, info->id, see_tags, &search,
                                           &error);
    size_t n;
    for (const char *at = info->tags; *at != '\0'; at += n + (at[n] == ',')) {
        n = strcspn(at, ",");
        see_tag(&search, at, n);
    }
    return search.has_tag && search.has_any;
}

static bool is_automatic(const struct cairn_checkpoint_info *info)
{
    const char *trigger = cairn_trigger_name(info->trigger);
    return !info->damaged && (!trigger || strcmp(trigger, "manual") != 0);
}

/* Whether some are left out here, not by the library. */
static bool has_own_filter(const struct checkpoint_listing *listing)
{
    return listing->tag || listing->n_any_tags > 0 || listing->label ||
           listing->automatic || listing->from > 1 || listing->to < INT64_MAX;
}

static bool matches(const struct checkpoint_listing *listing,
                    const struct cairn_checkpoint_info *info)
{
    return info->seq >= listing->from && info->seq <= listing->to &&
           (!listing->automatic || is_automatic(info)) &&
           ((!listing->tag && !listing->n_any_tags) || has_tags(listing, info)) &&
           (!listing->label ||
            checkpoint_is_labelled(listing->store, info, listing->label));
}

/* Is it one of those that are wanted, and of this page? */
static bool is_wanted(struct checkpoint_listing *listing,
                      const struct cairn_checkpoint_info *info)
{
    if (!has_own_filter(listing))
        return true;
    if (!matches(listing, info))
        return false;
    uint64_t n = listing->matched++;
    return n >= listing->page.offset && n - listing->page.offset < listing->page.limit;
}

static void print_row(struct cairn_store *store,
                      const struct cairn_checkpoint_info *info, bool first)
{
    char when[FORMAT_MAX], run[32] = "-", done[32] = "-", line[CHECKPOINT_LINE_MAX];
    if (info->run != 0)
        u64_text(info->run, run);
    if (info->counted)
        snprintf(done, sizeof done, "%u/%u", info->completed, info->total);
    if (first)
        out("%-30s  %5s  %8s  %-5s  %9s  %-19s  %s\n", "ID", "RUN", "POSITION", "KIND",
            "COMPLETED", "TIME", "WORKFLOW OR SESSION");
    out("%-30s  %5s  %8llu  %-5s  %9s  %-19s  %s%s%s", info->id, run,
        (unsigned long long)info->position, info->full ? "full" : "delta", done,
        format_local(when, info->time_ns), checkpoint_line(line, info),
        info->head ? "  head" : "", checkpoint_flaw(info));
    labels_print(store, info);
    out("\n");
}

static int show_one(struct checkpoint_listing *listing,
                    const struct cairn_checkpoint_info *info)
{
    listing->shown++;
    if (!listing->doc) {
        print_row(listing->store, info, listing->shown == 1);
        return ui_output_lost();
    }
    doc_object(listing->doc, NULL);
    checkpoint_list_document(listing->doc, info);
    labels_document(listing->doc, listing->store, info);
    if (listing->contextd)
        listing->status = contextd_members(listing->doc, listing->store, info, true);
    doc_end(listing->doc);
    return listing->status;
}

static int each_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    return is_wanted(listing, info) ? show_one(listing, info) : 0;
}

/* ---- By time, which is not always the order of the numbers ---- */

static int add_place(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    if (!matches(listing, info))
        return 0;
    if (listing->n_places == listing->capacity) {
        size_t more = listing->capacity > 0 ? 2 * listing->capacity : 256;
        struct place *places = realloc(listing->places, more * sizeof *places);
        listing->failed = !places;
        if (!places)
            return 1;
        listing->places = places;
        listing->capacity = more;
    }
    listing->places[listing->n_places++] = (struct place){info->time_ns, info->seq};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void turn_round(struct place *places, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct place place = places[i];
        places[i] = places[n - 1 - i];
        places[n - 1 - i] = place;
    }
}

/* Those of the page; another process may have deleted one since. */
static size_t page_places(const struct checkpoint_listing *listing,
                          const struct place **first)
{
    uint64_t offset = listing->page.offset;
    size_t left = offset < listing->n_places ? listing->n_places - (size_t)offset : 0;
    *first = left > 0 ? listing->places + offset : NULL;
    return left < listing->page.limit ? left : listing->page.limit;
}

static int take_info(void *context, const struct cairn_checkpoint_info *info)
{
    struct checkpoint_listing *listing = context;
    const struct place *first;
    size_t n = page_places(listing, &first);
    for (size_t i = 0; i < n; i++)
        if (first[i].seq == info->seq)
            listing->infos[i] = *info;
    return 0;
}

static int list_by_time(struct checkpoint_listing *listing,
                        const struct cairn_checkpoint_filter *filter,
                        struct cairn_error *error)
{
    const struct place *first;
    int rc =
        cairn_checkpoint_list(listing->store, filter, add_place, listing, NULL, error);
    listing->infos = calloc(PAGE_MOST, sizeof *listing->infos);
    listing->failed = listing->failed || !listing->infos;
    if (rc != 0 || listing->failed)
        return rc;
    if (listing->n_places > 0)
        qsort(listing->places, listing->n_places, sizeof *listing->places, by_time);
    if (!listing->page.oldest_first)
        turn_round(listing->places, listing->n_places);
    listing->matched = listing->n_places;
    size_t n = page_places(listing, &first);
    if (n > 0)
        rc = cairn_checkpoint_list(listing->store, filter, take_info, listing, NULL,
                                   error);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (listing->infos[i].seq != 0 && show_one(listing, &listing->infos[i]) != 0)
            break;
    return rc;
}

static int list_all(struct checkpoint_listing *listing,
                    const struct cairn_checkpoint_filter *filter, uint64_t *total)
{
    struct cairn_error error = {0};
    int rc = listing->by_time
                 ? list_by_time(listing, filter, &error)
                 : cairn_checkpoint_list(listing->store, filter, each_checkpoint,
                                         listing, total, &error);
    if (listing->failed)
        return report_nomem();
    if (listing->by_time || has_own_filter(listing))
        *total = listing->matched;
    return rc != 0 ? report_error(&error) : listing->status;
}

static int list_checkpoints(struct settings *settings, struct cairn_store *store,
                            uint64_t session)
{
    uint64_t sort = settings->number[OPT_SORT_CHECKPOINTS];
    struct doc doc;
    struct checkpoint_listing listing = {
        .store = store,
        .tag = settings->text[OPT_TAGGED],
        .label = settings->text[OPT_ONLY_LABEL],
        .any_tags = settings->params,
        .n_any_tags = settings->n_params,
        .automatic = settings->given[OPT_ONLY_AUTO],
        .from = settings->number[OPT_FROM_SEQ],
        .to = settings->given[OPT_TO_SEQ] ? settings->number[OPT_TO_SEQ] : INT64_MAX,
        .by_time = sort >= 2};
    struct cairn_checkpoint_filter filter = {
        .workflow = settings->text[OPT_WORKFLOW],
        .run = settings->number[OPT_ONLY_RUN],
        .session = session,
        .namespace_id = listing.automatic ? CAIRN_NAMESPACE_DEBUG : CAIRN_NAMESPACE_ANY,
        .page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                 .offset = settings->number[OPT_OFFSET],
                 .oldest_first = sort % 2 == 1},
    };
    uint64_t total = 0;
    if (!contextd_option(settings, &listing.contextd))
        return EXIT_USAGE;
    listing.page = filter.page;
    if (has_own_filter(&listing) || listing.by_time)
        filter.page =
            (struct cairn_page){.all = true, .oldest_first = listing.page.oldest_first};
    listing.doc = doc_open(&doc, "checkpoints");
    int status = list_all(&listing, &filter, &total);
    free(listing.places);
    free(listing.infos);
    if (status != 0)
        return doc_close(listing.doc, status);
    return page_end(listing.doc, &listing.page, "checkpoint", listing.shown, total);
}

int command_checkpoint_list(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_run_info run = {0};
    struct cairn_session_info session = {0};
    int status = store_for_reading(settings, &store);
    /* A run or session that does not exist is an error, not an empty list. */
    if (status == 0 && settings->given[OPT_ONLY_RUN] &&
        cairn_run_look(store, settings->number[OPT_ONLY_RUN], &run, &error) != 0)
        status = report_error(&error);
    if (status == 0 && settings->given[OPT_ONLY_SESSION] &&
        cairn_session_get(store, settings->text[OPT_ONLY_SESSION], &session, &error) !=
            0)
        status = report_error(&error);
    if (status == 0)
        status = list_checkpoints(settings, store, session.session);
    if (status == 0) {
        out_flush();
        say_unfinished_restores(store, settings->text[OPT_ONLY_SESSION],
                                !settings->given[OPT_ONLY_SESSION]);
    }
    store_close(store);
    return status;
}

/* cairn checkpoint show: one checkpoint, and with --tasks its outcomes. */

/* Tasks, with what they had told by then. */
struct task_values {
    struct told_values values;
    struct doc *doc;       /* with --json */
    struct task_rows rows; /* without */
};

static int keep_task(void *context, const char *task, enum cairn_outcome outcome,
                     uint32_t attempts)
{
    struct task_values *with = context;
    struct cairn_task_info info = {
        .id = task, .outcome = outcome, .attempts = attempts, .attempts_ms = -1};
    return !task_rows_add(&with->rows, &info);
}

static void print_task(struct task_values *with, const struct cairn_task_info *task,
                       int width)
{
    out("  %-11s  %s", cairn_outcome_name(task->outcome), task->id);
    if (task->attempts > 1)
        out("%*s  attempt %u", name_gap(width, task->id, strlen(task->id)), "",
            task->attempts);
    out("\n");
    told_values_print(&with->values, task->id);
}

/* As in `cairn status --tasks`. */
static void print_tasks(const struct settings *settings, struct task_values *with,
                        const char *id)
{
    bool folded = false;
    int width = task_rows_width(&with->rows, !settings->given[OPT_ALL_TASKS]);
    for (size_t i = 0, n; i < with->rows.n && !ui_output_lost(); i += n) {
        n = settings->given[OPT_ALL_TASKS] ? 1 : task_rows_group(&with->rows, i);
        if (n > FOLDED_MEMBERS) {
            folded = true;
            task_rows_print_group(&with->rows, i, n);
            continue;
        }
        n = 1;
        print_task(with, &with->rows.at[i].task, width);
    }
    if (folded)
        out("  every task: cairn checkpoint show %s --tasks --all%s\n", id,
            store_hint(settings));
}

static int add_task(void *context, const char *task, enum cairn_outcome outcome,
                    uint32_t attempts)
{
    struct task_values *with = context;
    struct doc *doc = with->doc;
    doc_object(doc, NULL);
    doc_text(doc, "task", task);
    doc_text(doc, "outcome", cairn_outcome_name(outcome));
    doc_count(doc, "attempts", attempts);
    told_values_document(&with->values, doc, task);
    doc_end(doc);
    return 0;
}

static int list_tasks(const struct settings *settings, struct cairn_store *store,
                      const char *id, struct doc *doc)
{
    struct task_values with = {.doc = doc};
    struct cairn_error error = {0};
    int rc = cairn_checkpoint_values(store, id, told_values_add, &with.values, &error);
    if (rc == CAIRN_EDAMAGED) {
        ui_error(error.text);
        out_incomplete();
        rc = 0;
    }
    if (rc == 0)
        rc = cairn_checkpoint_tasks(store, id, doc ? add_task : keep_task, &with,
                                    &error);
    bool failed = with.values.failed || with.rows.failed;
    if (rc == 0 && !failed && !doc)
        print_tasks(settings, &with, id);
    told_values_release(&with.values);
    task_rows_release(&with.rows);
    if (rc == 0 && failed)
        return report_nomem();
    return report_code(rc, &error);
}

static void print_checkpoint(const struct cairn_checkpoint_info *info)
{
    char text[FORMAT_MAX];
    bool debug = info->namespace_id == CAIRN_NAMESPACE_DEBUG;
    out("%s  %s%s%s\n", info->id, info->full ? "full" : "delta",
        !info->head ? ""
        : debug     ? ", newest of its branch"
                    : ", newest of its run",
        checkpoint_flaw(info));
    if (!debug)
        out("workflow  %s, run %llu\n", info->workflow, (unsigned long long)info->run);
    else if (info->session != 0)
        out("session   %s, branch %s\n", info->session_name, info->branch_name);
    else
        out("session   unknown, branch number %llu\n",
            (unsigned long long)info->branch);
    out("time      %s\n", format_local(text, info->time_ns));
    out("position  %llu\n", (unsigned long long)info->position);
    if (info->parent != 0)
        out("parent    %s:%llu\n", debug ? "debug" : "workflow",
            (unsigned long long)info->parent);
    out("record    %s", format_bytes(text, info->bytes));
    if (!info->full)
        out(", %u change%s", info->changes, plural(info->changes));
    out("\nsha256    %s\n", info->digest);
    if (info->counted)
        out("tasks     %u: %u completed, %u failed, %u skipped, %u cancelled\n",
            info->total, info->completed, info->failed, info->skipped, info->cancelled);
}

/* What a checkpoint of a session adds. */
static int print_state(struct cairn_store *store,
                       const struct cairn_checkpoint_info *info)
{
    return is_session_checkpoint(info->id) ? checkpoint_state_print(store, info->id)
                                           : 0;
}

static int show_document(struct settings *settings, struct cairn_store *store,
                         const struct cairn_checkpoint_info *info)
{
    struct doc doc = {0};
    doc_begin(&doc);
    checkpoint_document(&doc, info);
    int status = annotations_document(&doc, store, info->id);
    if (status == 0 && is_session_checkpoint(info->id))
        status = checkpoint_state_document(&doc, store, info->id);
    if (status != 0)
        return doc_close(&doc, status);
    if (settings->given[OPT_TASKS] || settings->given[OPT_ALL_TASKS]) {
        doc_array(&doc, "tasks");
        status = list_tasks(settings, store, info->id, &doc);
    }
    return doc_close(&doc, status);
}

int command_checkpoint_show(struct settings *settings)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error error = {0};
    int status = store_for_reading(settings, &settings->store)
                     ?: checkpoint_operand(settings, 0);
    if (status == 0 && cairn_checkpoint_get(settings->store, settings->operands[0],
                                            &info, &error) != 0)
        status = report_error(&error);
    else if (status == 0 && ui_json())
        status = show_document(settings, settings->store, &info);
    else if (status == 0) {
        print_checkpoint(&info);
        status = annotations_print(settings->store, info.id)
                     ?: print_state(settings->store, &info);
        if (status == 0 &&
            (settings->given[OPT_TASKS] || settings->given[OPT_ALL_TASKS]))
            status = list_tasks(settings, settings->store, info.id, NULL);
    }
    return status;
}

/* cairn checkpoint timeline: runs as a tree, each with its newest checkpoints, and then
 * sessions (cli/sessions/sessions_tree.c). The indentation stops at DEPTH_SHOWN. */

#define DEPTH_SHOWN 10
#define RUNS_SHOWN 100 /* of the newest first, with the forks of each below it */

struct tree {
    struct settings *settings;
    struct cairn_store *store;
    struct doc *doc; /* with --json */
    struct run_lineage lineage;
    struct cairn_error damage; /* of sessions: of the first that is damaged */
};

struct rows {
    const struct tree *tree;
    size_t entry;
    uint64_t shown;
    const char *indent;
};

static void print_forks(const struct rows *rows, uint64_t seq)
{
    const struct run_lineage *lineage = &rows->tree->lineage;
    size_t i = lineage->tree.links[rows->entry].child;
    bool any = false;
    for (; i != LINEAGE_NONE; i = lineage->tree.links[i].sibling) {
        if (lineage->runs[i].from_seq == seq)
            out("%s run %llu",
                any ? "," : "  fork:", (unsigned long long)lineage->runs[i].run);
        any = any || lineage->runs[i].from_seq == seq;
    }
}

static int each_of_run(void *context, const struct cairn_checkpoint_info *info)
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

static void print_run_line(const struct tree *tree, const struct run_start *entry,
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
    const struct run_start *entry = &tree->lineage.runs[i];
    unsigned depth = tree->lineage.tree.links[i].depth;
    char indent[2 * DEPTH_SHOWN + 1];
    struct rows rows = {.tree = tree, .entry = i, .indent = indent};
    struct cairn_checkpoint_filter filter = {
        .run = entry->run,
        .page.limit = (uint32_t)tree->settings->number[OPT_LIMIT_PER_RUN]};
    struct cairn_error error = {0};
    struct cairn_run_info run = {0};
    uint64_t total = 0;
    depth = depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN;
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
    if (cairn_checkpoint_list(tree->store, &filter, each_of_run, &rows, &total,
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

static int print_runs(struct tree *tree)
{
    const struct lineage *all = &tree->lineage.tree;
    uint64_t from = tree->settings->number[OPT_OFFSET];
    size_t first = from < all->n ? (size_t)from : all->n;
    size_t end = all->n - first < RUNS_SHOWN ? all->n : first + RUNS_SHOWN;
    int status = 0;
    for (size_t i = first; i < end && status == 0 && !ui_output_lost(); i++)
        status = show_run(tree, all->order[i]);
    if (status == 0 && end < all->n && !tree->doc && !ui_output_lost())
        out("... %zu more runs: cairn checkpoint timeline --offset %zu%s\n",
            all->n - end, end, store_hint(tree->settings));
    return status;
}

/* Sessions belong to no workflow, and are on the first page. */
static int print_sessions(struct tree *tree, bool *any)
{
    const struct settings *settings = tree->settings;
    *any = false;
    if (settings->given[OPT_WORKFLOW] || settings->number[OPT_OFFSET] > 0)
        return 0;
    return sessions_tree(tree->store, tree->doc,
                         (uint32_t)settings->number[OPT_LIMIT_PER_RUN], any,
                         &tree->damage);
}

static int print_all(struct tree *tree)
{
    bool any = false;
    int status = print_runs(tree) ?: print_sessions(tree, &any);
    if (status == 0 && tree->lineage.tree.n == 0 && !any && tree->damage.code == 0)
        say("no runs");
    return status ?: report_code(tree->damage.code, &tree->damage);
}

static int show_tree(struct tree *tree)
{
    struct cairn_error error = {0};
    struct doc doc = {0};
    bool any = false;
    int status;
    if (run_lineage_read(&tree->lineage, tree->store,
                         tree->settings->text[OPT_WORKFLOW], &error) != 0)
        return report_error(&error);
    if (!ui_json())
        return print_all(tree);
    tree->doc = &doc;
    doc_begin(&doc);
    doc_array(&doc, "runs");
    status = print_runs(tree);
    doc_end(&doc);
    doc_count(&doc, "runs_total", tree->lineage.tree.n);
    doc_array(&doc, "sessions");
    if (status == 0)
        status = print_sessions(tree, &any);
    tree->doc = NULL;
    if (status != 0)
        return doc_close(&doc, status);
    const char *damaged = tree->damage.code != 0 ? tree->damage.text : NULL;
    doc_end(&doc);
    doc_text(&doc, "damaged", damaged);
    status = doc_print(&doc);
    if (damaged)
        ui_error(damaged);
    return status == 0 ? cairn_exit_status(tree->damage.code) : status;
}

int command_checkpoint_timeline(struct settings *settings)
{
    struct tree tree = {.settings = settings};
    int status = store_for_reading(settings, &tree.store) ?: show_tree(&tree);
    run_lineage_release(&tree.lineage);
    store_close(tree.store);
    return status;
}
