/* SPDX-License-Identifier: MIT */
/* The timeline: sessions with their branches and runs with their forks, each with its
 * checkpoints, of which two can be chosen to be compared. All of it is one form and one
 * table, so that those of different branches can be chosen, too. */
#include "web/place.h"

#include "base/error.h"
#include "base/words.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/lineage.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SESSIONS_SHOWN = 10,
    BRANCHES_SHOWN = 50,
    RUNS_SHOWN = 20,
    FEW_ROWS = 5,   /* of a branch or run among others */
    MANY_ROWS = 25, /* of a branch among those of one session */
    ALL_ROWS = 100, /* of one branch or run alone */
    DEPTH_SHOWN = 6,
    FILES_NAMED = 3,
    RESTORES_SHOWN = 10,
    FILES_BUDGET_MS = 150, /* to look for the files that changed, of a whole page */
    FILES_LOOKS = 400,     /* likewise in a file, which is the same each time */
};

struct timeline {
    struct place *place;
    uint32_t rows;   /* of each branch or run */
    uint64_t offset; /* of the first of them */
    uint32_t files;  /* so often which ones changed is looked for ... */
    int64_t end_ms;  /* ... until then */
    const struct session_starts *starts;  /* or NULL */
    struct branch_lineage branch_lineage; /* while `branches` is shown */
    struct run_lineage run_lineage;       /* while `runs` is */
    const struct branch_lineage *branches;
    const struct run_lineage *runs;
    size_t entry;              /* of the tree: whose rows are written */
    char before[CAIRN_ID_MAX]; /* where the branch begins */
    uint64_t shown;
    struct cairn_error told; /* what was damaged last: many lists meet the same row */
};

/* ---- A row ---- */

static void put_choice(struct buf *out, const char *name,
                       const struct cairn_checkpoint_info *info)
{
    buf_format(out,
               "<td><input type=\"radio\" name=\"%s\" value=\"%" PRIu64
               "\" aria-label=\"%s %s\"></td>",
               name, info->seq, name, info->id);
}

static void put_forks(struct timeline *t, const struct cairn_checkpoint_info *info)
{
    struct buf *out = t->place->out;
    const struct lineage *tree = t->branches ? &t->branches->tree : &t->runs->tree;
    for (size_t i = tree->links[t->entry].child; i != LINEAGE_NONE;
         i = tree->links[i].sibling) {
        if (t->branches && strcmp(t->branches->branches[i].info.from, info->id) == 0) {
            buf_text(out, " <span class=\"fork\">branch ");
            html_text(out, t->branches->branches[i].info.name);
            buf_text(out, "</span>");
        } else if (t->runs && t->runs->runs[i].from_seq == info->seq) {
            buf_text(out, " <span class=\"fork\">fork: ");
            put_run_link(out, t->place->options, t->runs->runs[i].run);
            buf_text(out, "</span>");
        }
    }
    for (size_t i = 0; t->starts && i < t->starts->n; i++) {
        const struct session_start *start = &t->starts->at[i];
        if (start->session == info->session || strcmp(start->from, info->id) != 0)
            continue;
        buf_text(out, " <span class=\"fork\">session ");
        put_session_link(out, start->session, start->name);
        buf_text(out, "</span>");
    }
}

struct changed {
    struct buf *out;
    uint64_t n;
};

static int name_changed(void *context, const struct cairn_file_change *change)
{
    struct changed *changed = context;
    if (changed->n++ < FILES_NAMED) {
        buf_text(changed->out, changed->n > 1 ? ", " : "");
        html_start(changed->out, change->path, 60);
    }
    return 0;
}

/* Against the one before it on its line. */
static void put_changed(struct timeline *t, const struct cairn_checkpoint_info *info)
{
    char before[32];
    struct changed changed = {.out = t->place->out};
    struct cairn_error error = {0};
    if (info->parent != 0)
        snprintf(before, sizeof before, "debug:%" PRIu64, info->parent);
    const char *from = info->parent != 0 ? before : t->before;
    if (t->files == 0 || info->damaged || from[0] == '\0' ||
        info->namespace_id != CAIRN_NAMESPACE_DEBUG || now_ms() > t->end_ms)
        return;
    t->files--;
    (void)cairn_files_compare(t->place->store, NULL, from, info->id, NULL, name_changed,
                              &changed, &error);
    if (changed.n > FILES_NAMED)
        buf_format(t->place->out, " and %" PRIu64 " more", changed.n - FILES_NAMED);
}

static int put_row(void *context, const struct cairn_checkpoint_info *info)
{
    struct timeline *t = context;
    struct buf *out = t->place->out;
    const char *trigger = cairn_trigger_name(info->trigger);
    bool debug = info->namespace_id == CAIRN_NAMESPACE_DEBUG;
    t->shown++;
    buf_text(out, info->head ? "<tr class=\"head\">" : "<tr>");
    if (t->place->options->style) {
        put_choice(out, "from", info);
        put_choice(out, "to", info);
    }
    buf_text(out, info->head ? "<td><b>@</b> " : "<td>o ");
    put_checkpoint_link(out, info->id);
    buf_text(out, info->head ? " newest</td><td>" : "</td><td>");
    html_time(out, info->time_ns);
    buf_text(out, "</td><td>");
    if (debug)
        html_text(out, trigger && !info->damaged ? trigger : "");
    else if (info->counted)
        buf_format(out, "%u of %u task%s completed", info->completed, info->total,
                   plural(info->total));
    buf_text(out, "</td><td>");
    html_start(out, info->message, TEXT_SHOWN);
    html_text(out, checkpoint_flaw(info));
    put_tags(out, info->tags);
    put_labels(t->place, info->id);
    put_forks(t, info);
    buf_text(out, "</td><td>");
    put_changed(t, info);
    buf_text(out, "</td></tr>");
    return 0;
}

/* put_damage, as a row. */
static int put_damaged(struct timeline *t, int rc)
{
    if (rc != CAIRN_EDAMAGED)
        return rc;
    if (strcmp(t->told.text, t->place->error->text) == 0)
        return 0;
    t->told = *t->place->error;
    buf_text(t->place->out, "<tr><td colspan=\"7\">");
    rc = put_damage(t->place, rc);
    buf_text(t->place->out, "</td></tr>");
    return rc;
}

/* The rows of a branch or run; what is left out is at another address, which ends in
 * the number of the first one. */
static int put_rows(struct timeline *t, struct cairn_checkpoint_filter filter,
                    const char *address)
{
    struct buf *out = t->place->out;
    uint64_t total = 0;
    t->shown = 0;
    filter.page = (struct cairn_page){.limit = t->rows, .offset = t->offset};
    int rc = cairn_checkpoint_list(t->place->store, &filter, put_row, t, &total,
                                   t->place->error);
    /* Those of a forged run are shown as damaged. */
    rc = put_damaged(t, rc);
    if (rc == 0 && (t->offset > 0 || total > t->offset + t->shown)) {
        buf_text(out, "<tr><td colspan=\"7\">");
        put_part_links(out, &(struct part_shown){
                                t->place->options->style ? address : NULL, "newer",
                                "older", t->offset, total, t->shown, ALL_ROWS});
        buf_text(out, "</td></tr>");
    }
    return rc;
}

static void begin_group(struct buf *out, unsigned depth)
{
    buf_format(out, "<tr class=\"group d%u\"><th colspan=\"7\" scope=\"colgroup\">",
               depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN);
}

/* ---- Sessions ---- */

static void put_branch_line(struct timeline *t, const struct branch_start *branch,
                            unsigned depth)
{
    struct buf *out = t->place->out;
    begin_group(out, depth);
    buf_text(out, "branch ");
    html_text(out, branch->info.name);
    buf_format(out, " <small>%s",
               branch->info.current ? "current position" : branch->info.status);
    if (branch->info.from[0] != '\0') {
        buf_text(out, ", from ");
        put_checkpoint_link(out, branch->info.from);
        buf_text(out, branch->lost ? " (no longer kept)" : "");
    }
    if (branch->of_session != 0) {
        buf_text(out, " of session ");
        put_session_link(out, branch->of_session, branch->of);
    }
    if (branch->info.reason[0] != '\0') {
        buf_text(out, ": ");
        html_start(out, branch->info.reason, TEXT_SHOWN);
    }
    buf_text(out, "</small></th></tr>");
}

static int put_branch(struct timeline *t, uint64_t session, size_t entry)
{
    const struct branch_start *branch = &t->branches->branches[entry];
    char address[96];
    t->entry = entry;
    snprintf(t->before, sizeof t->before, "%s", branch->info.from);
    snprintf(address, sizeof address,
             "/timeline?session=%" PRIu64 "&amp;branch=%" PRIu64 "&amp;offset=",
             session, branch->info.branch);
    put_branch_line(t, branch, t->branches->tree.links[entry].depth);
    return put_rows(t, (struct cairn_checkpoint_filter){.branch = branch->info.branch},
                    address);
}

/* `only` is a branch, or 0: all. */
static int put_branches(struct timeline *t, uint64_t session, uint64_t only)
{
    struct buf *out = t->place->out;
    size_t shown = 0;
    int rc = put_damaged(t, branch_lineage_read(&t->branch_lineage, t->place->store,
                                                session, t->place->error));
    const struct branch_lineage *lineage = t->branches = &t->branch_lineage;
    for (size_t i = 0; rc == 0 && i < lineage->tree.n; i++) {
        size_t entry = lineage->tree.order[i];
        if (only != 0 && lineage->branches[entry].info.branch != only)
            continue;
        if (shown++ < BRANCHES_SHOWN)
            rc = put_damaged(t, put_branch(t, session, entry));
    }
    if (shown > BRANCHES_SHOWN)
        buf_format(out, "<tr><td colspan=\"7\">and %zu more branches</td></tr>",
                   shown - BRANCHES_SHOWN);
    t->branches = NULL;
    branch_lineage_release(&t->branch_lineage);
    return rc == 0 && only != 0 && shown == 0
               ? error_set(t->place->error, CAIRN_ENOTFOUND,
                           "the session has no such branch")
               : rc;
}

static void put_session_line(struct timeline *t, const struct cairn_session_info *info)
{
    struct buf *out = t->place->out;
    buf_text(out, "<tr class=\"root\"><th colspan=\"7\" scope=\"colgroup\">session ");
    put_session_link(out, info->session, info->name);
    buf_format(out,
               " <small>%s, %" PRIu64 " checkpoint%s, tokens in %" PRIu64
               ", out %" PRIu64,
               session_state_text(info), info->checkpoints, plural(info->checkpoints),
               info->tokens_in, info->tokens_out);
    if (t->place->options->style)
        buf_format(out, ", <a href=\"/timeline?session=%" PRIu64 "\">all of it</a>",
                   info->session);
    buf_text(out, "</small></th></tr>");
}

static int put_sessions(struct timeline *t, struct part_shown *part)
{
    struct session_starts starts;
    struct cairn_page page = {.limit = SESSIONS_SHOWN, .offset = part->offset};
    int rc = session_starts_read(&starts, t->place->store, &page, &part->total,
                                 t->place->error);
    t->starts = &starts;
    /* Those that can be read are shown. */
    rc = put_damaged(t, rc);
    for (size_t i = 0; rc == 0 && i < starts.n_sessions; i++) {
        put_session_line(t, &starts.sessions[i]);
        rc = put_damaged(t, put_branches(t, starts.sessions[i].session, 0));
    }
    part->shown = starts.n_sessions;
    t->starts = NULL;
    session_starts_release(&starts);
    return rc;
}

static int put_session(struct timeline *t, uint64_t session)
{
    struct session_starts starts;
    struct cairn_session_info info = {0};
    struct cairn_page page = {.limit = 100};
    char number[24];
    int rc = cairn_session_get(t->place->store, u64_text(session, number), &info,
                               t->place->error);
    if (info.session != 0)
        rc = put_damaged(t, rc);
    if (rc != 0)
        return rc;
    rc = put_damaged(
        t, session_starts_read(&starts, t->place->store, &page, NULL, t->place->error));
    t->starts = &starts;
    if (rc == 0) {
        put_session_line(t, &info);
        rc = put_branches(t, session, ask_number(t->place->ask, "branch"));
    }
    t->starts = NULL;
    session_starts_release(&starts);
    return rc;
}

/* ---- Restores, and what takes them back ---- */

struct restores {
    struct buf rows[RESTORES_SHOWN]; /* the last ones, in a ring */
    uint64_t n;
};

static int note_restore(void *context, const struct cairn_session_event *event)
{
    struct restores *restores = context;
    if (strcmp(event->kind, "restore") != 0)
        return 0;
    struct buf *row = &restores->rows[restores->n++ % RESTORES_SHOWN];
    buf_clear(row);
    buf_text(row, "<li>");
    html_time(row, event->time_ns);
    buf_text(row, strcmp(event->verb, "restored") == 0        ? " restored "
                  : strcmp(event->verb, "undid-restore") == 0 ? " undone, back on "
                                                              : " redone, on ");
    if (event->id[0] != '\0' && strcmp(event->verb, "restored") == 0) {
        put_checkpoint_link(row, event->id);
        buf_byte(row, ' ');
    }
    html_text(row, event->text);
    buf_text(row, "</li>");
    return 0;
}

/* The last one is first, as it is the first to be taken back. */
static int put_restores(struct place *place, uint64_t session)
{
    static const char *const ways[][2] = {{"Undo the last restore", "undo-restore"},
                                          {"Redo the last restore", "redo-restore"}};
    struct restores restores = {.n = 0};
    struct buf *out = place->out;
    char number[24];
    int rc = cairn_session_events(place->store, u64_text(session, number), 0,
                                  note_restore, &restores, place->error);
    if (restores.n > 0) {
        buf_text(out, "<section id=\"restores\"><h2>Restores</h2><ul>");
        for (uint64_t i = restores.n; i > 0 && i + RESTORES_SHOWN > restores.n; i--)
            buf_str(out, buf_view(&restores.rows[(i - 1) % RESTORES_SHOWN]));
        buf_text(out, "</ul>");
        for (size_t i = 0; i < COUNT_OF(ways); i++) {
            buf_text(out, "<div>");
            put_command(out, place->options, "cairn checkpoint %s --session %s",
                        ways[i][1], number);
            buf_byte(out, ' ');
            put_act(out, place->options, ways[i][0],
                    &(struct act_asked){.act = ways[i][1], .session = session});
            buf_text(out, "</div>");
        }
        buf_text(out, "</section>");
    }
    for (size_t i = 0; i < RESTORES_SHOWN; i++) {
        out->failed |= restores.rows[i].failed;
        buf_release(&restores.rows[i]);
    }
    return rc;
}

/* ---- Runs ---- */

static int put_run(struct timeline *t, size_t entry)
{
    const struct run_start *start = &t->runs->runs[entry];
    struct buf *out = t->place->out;
    struct cairn_run_info run;
    char address[64];
    int rc = cairn_run_look(t->place->store, start->run, &run, t->place->error);
    if (rc != 0)
        return rc;
    t->entry = entry;
    begin_group(out, t->runs->tree.links[entry].depth);
    put_run_link(out, t->place->options, start->run);
    buf_text(out, " of ");
    html_start(out, run.workflow, TEXT_SHOWN);
    buf_format(out, " <small>%s", run_state_text(&run));
    if (start->from_run != 0)
        buf_format(out, ", from workflow:%" PRIu64 " of run %" PRIu64, start->from_seq,
                   start->from_run);
    buf_text(out, "</small></th></tr>");
    snprintf(address, sizeof address,
             "/timeline?run=%" PRIu64 "&amp;offset=", start->run);
    return put_rows(t, (struct cairn_checkpoint_filter){.run = start->run}, address);
}

/* `only` is a run, or 0: all. */
static int put_runs(struct timeline *t, uint64_t only, struct part_shown *part)
{
    int rc = run_lineage_read(&t->run_lineage, t->place->store, NULL, t->place->error);
    size_t end = part->offset + RUNS_SHOWN;
    const struct run_lineage *lineage = t->runs = &t->run_lineage;
    part->total = lineage->tree.n;
    for (size_t i = 0; rc == 0 && i < lineage->tree.n; i++) {
        size_t entry = lineage->tree.order[i];
        if (only != 0 ? lineage->runs[entry].run != only : i < part->offset || i >= end)
            continue;
        if (part->shown++ == 0)
            buf_text(t->place->out, "<tr class=\"root\"><th colspan=\"7\" "
                                    "scope=\"colgroup\">runs</th></tr>");
        rc = put_damaged(t, put_run(t, entry));
    }
    t->runs = NULL;
    run_lineage_release(&t->run_lineage);
    return rc == 0 && only != 0 && part->shown == 0
               ? error_set(t->place->error, CAIRN_ENOTFOUND, "there is no run %" PRIu64,
                           only)
               : rc;
}

/* ---- The page ---- */

/* In a file two of them cannot be chosen. */
static const char *const headings[] = {"From", "To",   "Checkpoint",    "Made",
                                       "Why",  "What", "Files changed", NULL};

int put_session_timeline(struct place *place, uint64_t session)
{
    struct timeline t = {
        .place = place, .rows = place->most, .files = FILES_LOOKS, .end_ms = INT64_MAX};
    table_begin(place->out, "plain tree", "checkpoints", headings + 2);
    int rc = put_session(&t, session);
    table_end(place->out);
    return rc == 0 ? put_damage(place, put_restores(place, session)) : rc;
}

static int put_table(struct timeline *t, struct part_shown *sessions,
                     struct part_shown *runs)
{
    const struct page_ask *ask = t->place->ask;
    struct buf *out = t->place->out;
    uint64_t session = ask_number(ask, "session"), run = ask_number(ask, "run");
    int rc = 0;
    table_begin(out, "plain tree choose", "checkpoints", headings);
    if (session != 0 || run != 0) {
        t->rows = ask_given(ask, "branch") || run != 0 ? ALL_ROWS : MANY_ROWS;
        t->offset = ask_number(ask, "offset");
        t->files = UINT32_MAX;
        rc = session != 0 ? put_session(t, session) : put_runs(t, run, runs);
    } else {
        if (!ask_given(ask, "runs"))
            rc = put_damaged(t, put_sessions(t, sessions));
        if (rc == 0 && !ask_given(ask, "sessions"))
            rc = put_damaged(t, put_runs(t, 0, runs));
    }
    table_end(out);
    return rc;
}

int timeline_page(struct place *place)
{
    struct timeline t = {
        .place = place, .rows = FEW_ROWS, .end_ms = now_ms() + FILES_BUDGET_MS};
    struct buf *out = place->out;
    struct part_shown sessions = {.address = "/timeline?sessions=",
                                  .before = "newer sessions",
                                  .behind = "older sessions",
                                  .offset = ask_number(place->ask, "sessions"),
                                  .most = SESSIONS_SHOWN};
    struct part_shown runs = {.address = "/timeline?runs=",
                              .before = "runs before",
                              .behind = "runs behind",
                              .offset = ask_number(place->ask, "runs"),
                              .most = RUNS_SHOWN};
    uint64_t session = ask_number(place->ask, "session");
    bool all = session == 0 && !ask_number(place->ask, "run");
    place_begin(place, "timeline", false);
    buf_text(out, "<header><h1>Timeline</h1><p>");
    put_command(out, place->options, "cairn checkpoint timeline");
    buf_text(out, "</p></header>");
    if (session != 0)
        put_unfinished_restores(place, session);
    put_note(out, "@ marks the newest checkpoint of a branch or run, o each before it; "
                  "branches and forks stand below what they begin at.");
    buf_text(out, "<form action=\"/compare\"><p>Choose two checkpoints: "
                  "<button>Compare</button></p>");
    int rc = put_table(&t, &sessions, &runs);
    if (sessions.shown + runs.shown == 0 && all)
        put_note(out, "There is no checkpoint.");
    buf_text(out, "<p><button>Compare</button></p></form>");
    if (rc == 0 && session != 0)
        rc = put_damage(place, put_restores(place, session));
    if (all) {
        put_part_links(out, &sessions);
        put_part_links(out, &runs);
    }
    frame_end(out, place->options, wall_ns());
    return rc;
}
