/* SPDX-License-Identifier: MIT */
#include "web/run_page.h"

#include "base/utf8.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "web/charts.h"
#include "web/html.h"
#include "web/logs.h"
#include "web/page_view.h"
#include "web/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LOGS_BYTES = 400 << 10, /* of all logs together */
    OPEN_DETAILS = 5,       /* that are open at once */
    SERVED_LOGS = 20,       /* tasks with the end of their log in a served page */
    URGENT_ROWS = 500,      /* in a table of groups */
    GROUPS_SHOWN = 2000,
};

struct page {
    struct buf *out;
    struct page_view view;
    struct cairn_store *store;
    const struct page_options *options;
    const struct graph_wanted *wanted;
    struct buf details; /* of the tasks, in the order in which they were looked at */
    bool *detailed;     /* [n] */
    size_t log_bytes, urgent, open;
    uint32_t added; /* tasks that were, and of which the run knows nothing yet */
    struct cairn_error *error;
};

static void put(struct page *page, const char *text)
{
    buf_text(page->out, text);
}

/* What somebody has to look at first. */
static bool is_urgent(const struct view_task *task)
{
    return task->state >= PICTURE_RUNNING;
}

/* ---- What it is ---- */

static void put_fact(struct page *page, const char *name, const char *text)
{
    if (!text || text[0] == '\0')
        return;
    buf_format(page->out, "<dt>%s</dt><dd>", name);
    html_start(page->out, text, 4 * TEXT_SHOWN);
    put(page, "</dd>");
}

static void put_time_fact(struct page *page, const char *name, int64_t time_ns)
{
    if (time_ns == 0)
        return;
    buf_format(page->out, "<dt>%s</dt><dd>", name);
    html_time(page->out, time_ns);
    put(page, "</dd>");
}

static void put_facts(struct page *page)
{
    const struct cairn_run_info *run = &page->view.run;
    int64_t end = run->ended_ns ? run->ended_ns : page->view.now_ns;
    char text[FORMAT_MAX + 300];
    part_begin(page->options, page->out, "facts", NO_NUMBER);
    put(page, "<dl class=\"facts\" id=\"facts\">");
    put_fact(page, "File", run->file);
    if (page->options->style)
        buf_format(page->out,
                   "<dt>History</dt><dd class=\"links\"><a href=\"/runs/%" PRIu64
                   "/audit\">what was done</a> <a href=\"/timeline?run=%" PRIu64
                   "\">checkpoints</a></dd>",
                   run->run, run->run);
    put_fact(page, "Parameters", run->params);
    put_time_fact(page, "Started", run->started_ns);
    put_time_fact(page, "Ended", run->ended_ns);
    if (run->started_ns != 0 && (run->live || run->ended_ns != 0)) {
        format_duration(text, (end - run->started_ns) / 1000000);
        put_fact(page, "Took", text);
    }
    if (page->view.left_ms >= 0) {
        char left[FORMAT_MAX];
        /* Whole seconds: it is only an estimate. */
        snprintf(text, sizeof text, "about %s, if the others are like the last ones",
                 format_duration(left, page->view.left_ms / 1000 * 1000));
        put_fact(page, "Left", text);
    }
    if (run->live) {
        snprintf(text, sizeof text, "process %" PRId64 " on %s", run->owner_pid,
                 run->owner_host);
        put_fact(page, "Owner", text);
    }
    if (run->from_run != 0) {
        put(page, "<dt>Forked from</dt><dd>");
        put_run_link(page->out, page->options, run->from_run);
        buf_format(page->out, ", checkpoint %" PRIu64 "</dd>", run->from_seq);
    }
    if (run->parent_run != 0) {
        put(page, "<dt>Begun by</dt><dd>task ");
        html_text(page->out, run->parent_task);
        put(page, " of ");
        put_run_link(page->out, page->options, run->parent_run);
        put(page, "</dd>");
    }
    if (page->added > 0) {
        snprintf(text, sizeof text, "%u task%s wait%s until the run goes on",
                 page->added, plural(page->added), page->added == 1 ? "s" : "");
        put_fact(page, "Added", text);
    }
    if (run->damaged > 0) {
        snprintf(text, sizeof text, "%u damaged checkpoints were skipped",
                 run->damaged);
        put_fact(page, "Damage", text);
    }
    put(page, "</dl>");
    part_end(page->options, page->out);
}

/* ---- What somebody is to do ---- */

static void put_task_act(struct page *page, const char *label, const char *act,
                         const char *task, const char *outcome)
{
    put_act(
        page->out, page->options, label,
        &(struct act_asked){
            .act = act, .run = page->view.run.run, .task = task, .outcome = outcome});
}

static void put_step(struct page *page, const struct cairn_waiting_info *waiting)
{
    char *word = shell_word(waiting->task);
    put(page, "<li><b>");
    html_text(page->out, waiting->task);
    put(page, "</b>");
    put_waiting(page->out, waiting);
    if (waiting->waits_for == CAIRN_WAITS_EXTERNAL) {
        put(page, " ");
        put_command(page->out, page->options, "cairn complete %" PRIu64 " %s%s",
                    page->view.run.run, word ? word : "TASK",
                    waiting->holder ? " --token TOKEN" : "");
        put(page, " ");
        if (!waiting->holder)
            put_task_act(page, "Claim", "claim", waiting->task, NULL);
        put_task_act(page, "Complete", "complete", waiting->task, NULL);
        put_task_act(page, "Fail", "fail", waiting->task, NULL);
    } else if (!waiting->check) {
        put(page, " by ");
        put_command(page->out, page->options,
                    "cairn resolve %" PRIu64 " %s done|failed|rerun",
                    page->view.run.run, word ? word : "TASK");
        static const char *const decisions[][2] = {{"Decide: done", "done"},
                                                   {"Decide: failed", "failed"},
                                                   {"Decide: rerun", "rerun"}};
        for (size_t i = 0; i < 3; i++)
            put_task_act(page, decisions[i][0], "resolve", waiting->task,
                         decisions[i][1]);
    }
    put(page, "</li>");
    free(word);
}

static bool can_undo(const struct page_view *view)
{
    struct cairn_node_info node = {0};
    for (size_t i = 0; view->workflow && i < view->n; i++)
        if (view->tasks[i].info.outcome == CAIRN_COMPLETED &&
            cairn_workflow_node(view->workflow, view->tasks[i].node, &node) == 0 &&
            node.undo)
            return true;
    return false;
}

static void put_next_steps(struct page *page)
{
    const struct page_view *view = &page->view;
    const struct cairn_run_info *run = &view->run;
    struct cairn_error none = {0};
    bool resume = !run->live && run->state != CAIRN_RUN_COMPLETED &&
                  cairn_can_resume(page->store, run->run, &none) == 0;
    bool program = resume && run_needs_program(page->store, run);
    part_begin(page->options, page->out, "todo", NO_NUMBER);
    put(page, "<section id=\"todo\">");
    if (view->n_waiting > 0 || resume)
        put(page, "<h2>What is to be done</h2><ul>");
    for (size_t i = 0; i < view->n_waiting; i++)
        put_step(page, &view->waiting[i]);
    if (view->more_waiting > 0)
        buf_format(page->out, "<li>and %zu more</li>", view->more_waiting);
    if (resume) {
        put(page, "<li>continue with ");
        if (program)
            put(page, "the program that has its functions");
        else
            put_command(page->out, page->options, "cairn resume %" PRIu64, run->run);
        if (page->options->style)
            buf_format(page->out,
                       " (<a href=\"/runs/%" PRIu64 "/plan\">what that would do</a>)",
                       run->run);
        put(page, " ");
        if (!program)
            put_task_act(page, "Resume", "resume", NULL, NULL);
        put(page, "</li>");
    }
    put(page, view->n_waiting > 0 || resume ? "</ul>" : "");
    if (run->live)
        put_task_act(page, "Cancel", "cancel", NULL, NULL);
    else if (can_undo(view))
        put_task_act(page, "Undo", "undo", NULL, NULL);
    put(page, "</section>");
    part_end(page->options, page->out);
}

/* ---- Details of tasks ---- */

static int note_merged(void *context, const struct cairn_attempt_info *attempt)
{
    *(bool *)context = attempt->merged;
    return 0;
}

static void put_values(struct page *page, const struct view_task *task)
{
    if (task->n_values == 0)
        return;
    const struct view_value *values = &page->view.values[task->first_value];
    put(page, "<dl class=\"facts values\">");
    for (uint32_t i = 0; i < task->n_values; i++) {
        put(page, "<dt>");
        html_text(page->out, values[i].name);
        put(page, "</dt><dd>");
        html_start(page->out, values[i].value, TEXT_SHOWN);
        put(page, "</dd>");
    }
    put(page, "</dl>");
}

static void put_about(struct page *page, const struct view_task *task)
{
    const struct cairn_workflow *workflow = page->view.workflow;
    struct cairn_node_info info = {0};
    struct cairn_error none = {0};
    char *command = NULL;
    if (task->node == UINT32_MAX)
        return;
    const char *text = cairn_workflow_description(workflow, task->node);
    if (text) {
        put(page, "<p>");
        html_start(page->out, text, TEXT_SHOWN);
        put(page, "</p>");
    }
    if (!is_urgent(task) || page->urgent > URGENT_ROWS / 10 ||
        cairn_workflow_node(workflow, task->node, &info) != 0 || !info.command ||
        info.command[0] == '\0' ||
        cairn_masked(page->store, info.command, &command, &none) != 0)
        return;
    put(page, "<pre class=\"command\">");
    html_lines(page->out, command, utf8_fit(str_of(command), 4 * TEXT_SHOWN));
    put(page, "</pre>");
    free(command);
}

static void put_log(struct page *page, const struct view_task *task, int stream)
{
    struct log_wanted place = {
        .run = page->view.run.run, .task = task->info.id, .stream = stream};
    page->log_bytes += put_log_end(page->out, page->store, &place, page->options);
}

/* A task with something to show has an entry, to which its row leads. */
static void put_details(struct page *page, uint32_t i)
{
    const struct view_task *task = &page->view.tasks[i];
    struct buf *out = page->out, body = BUF_INIT;
    struct cairn_error none = {0};
    bool merged = true;
    page->urgent += is_urgent(task);
    page->out = &body;
    put_about(page, task);
    put_values(page, task);
    if (task->info.attempt > 0 && page->log_bytes < LOGS_BYTES &&
        (!page->options->style || (is_urgent(task) && page->urgent <= SERVED_LOGS))) {
        (void)cairn_attempts(page->store, page->view.run.run, task->info.id,
                             note_merged, &merged, &none);
        put_log(page, task, 1);
        if (!merged)
            put_log(page, task, 2);
        if (page->options->style) {
            put(page, "<p>");
            put_log_link(page->out, page->view.run.run, task->info.id, "the whole log");
            put(page, "</p>");
        }
    }
    page->out = out;
    out->failed |= body.failed;
    if (body.size > 0) {
        bool open = is_urgent(task) && page->open < OPEN_DETAILS;
        page->open += open;
        page->detailed[i] = true;
        buf_format(out, "<details%s id=\"o%u\"><summary>", open ? " open" : "", i);
        put_state(out, task->state);
        put(page, " ");
        html_text(out, task->info.id);
        buf_format(out, "</summary><div id=\"d%u\">", i);
        buf_str(out, buf_view(&body));
        put(page, "</div></details>");
    }
    buf_release(&body);
}

/* Those that need it first have what the logs may take together. */
static void make_details(struct page *page)
{
    struct page_view *view = &page->view;
    struct buf *out = page->out;
    bool all = view->n <= VIEW_ROWS;
    page->out = &page->details;
    for (size_t i = 0; i < view->n; i++)
        if (is_urgent(&view->tasks[i]) && page->urgent < URGENT_ROWS)
            put_details(page, (uint32_t)i);
    for (size_t i = 0; all && i < view->n; i++)
        if (!is_urgent(&view->tasks[i]))
            put_details(page, (uint32_t)i);
    page->out = out;
    out->failed |= page->details.failed;
}

/* ---- The table ---- */

static void put_row(struct page *page, uint32_t i, bool first_of_group)
{
    const struct view_task *task = &page->view.tasks[i];
    const struct cairn_task_info *info = &task->info;
    int64_t ms = view_task_ms(&page->view, task);
    char text[FORMAT_MAX];
    part_begin(page->options, page->out, "r", i);
    buf_format(page->out, "<tr id=\"r%u\"><td>", i);
    put_state(page->out, task->state);
    buf_format(page->out, "</td><th scope=\"row\" id=\"t%u\">", i);
    if (first_of_group)
        buf_format(page->out, "<span id=\"g%u\"></span>", i);
    if (page->detailed[i])
        buf_format(page->out, "<a href=\"#d%u\">", i);
    html_text(page->out, info->id);
    put(page, page->detailed[i] ? "</a></th><td>" : "</th><td>");
    if (ms >= 0)
        put(page, format_duration(text, ms));
    buf_format(page->out, "</td><td>");
    if (info->attempts > 0)
        buf_format(page->out, "%u", info->attempts);
    put(page, "</td><td>");
    if (task->state == PICTURE_FAILED)
        put(page, format_end(text, info->exit_code, info->signal, info->timed_out,
                             info->text));
    if (info->cause) {
        put(page, "because of ");
        html_text(page->out, info->cause);
    }
    if (info->text && (ms >= 0 || info->outcome == CAIRN_FAILED)) {
        put(page, " ");
        html_start(page->out, info->text, TEXT_SHOWN);
    }
    if (info->failed_undo > 0)
        put(page, " its undo failed");
    if (page->options->style) {
        buf_format(page->out,
                   " <a href=\"/runs/%" PRIu64 "/task?task=", page->view.run.run);
        html_address(page->out, info->id);
        put(page, "\">why</a>");
    }
    if (page->options->style && info->attempt > 0) {
        put(page, " ");
        put_log_link(page->out, page->view.run.run, info->id, "log");
    }
    put(page, "</td></tr>");
    part_end(page->options, page->out);
}

static bool same_group(const struct view_task *a, const struct view_task *b)
{
    return a->group && a->group == b->group;
}

static size_t group_from(const struct page_view *view, size_t i)
{
    size_t n = 1;
    while (i + n < view->n && same_group(&view->tasks[i], &view->tasks[i + n]))
        n++;
    return n;
}

static void put_group_row(struct page *page, size_t i, size_t n)
{
    const struct page_view *view = &page->view;
    uint32_t counts[PICTURE_STATES] = {0};
    for (size_t k = i; k < i + n; k++)
        counts[view->tasks[k].state]++;
    part_begin(page->options, page->out, "s", (uint32_t)i);
    buf_format(page->out,
               "<tr id=\"s%zu\"><td>%zu task%s</td><th scope=\"row\" id=\"g%zu\">", i,
               n, plural(n), i);
    html_text(page->out, view->tasks[i].group);
    put(page, "</th><td></td><td></td><td>");
    put_count_words(page->out, counts, PICTURE_STATES);
    put(page, "</td></tr>");
    part_end(page->options, page->out);
}

/* Of a large run a row for each group, behind those that somebody has to look at. */
static void put_folded_rows(struct page *page)
{
    const struct page_view *view = &page->view;
    size_t rows = 0, left_out = 0, groups = 0, hidden = 0;
    for (size_t i = 0; i < view->n; i++) {
        if (!is_urgent(&view->tasks[i]))
            continue;
        if (rows++ < URGENT_ROWS)
            put_row(page, (uint32_t)i, false);
        else
            left_out++;
    }
    if (left_out > 0)
        buf_format(
            page->out,
            "<tr><td></td><td colspan=\"4\">and %zu more that failed, run or are "
            "unknown</td></tr>",
            left_out);
    for (size_t i = 0, n; i < view->n; i += n) {
        n = group_from(view, i);
        if (groups++ >= GROUPS_SHOWN)
            hidden += n;
        else if (n > 1)
            put_group_row(page, i, n);
        else if (!is_urgent(&view->tasks[i]))
            put_row(page, (uint32_t)i, false);
    }
    if (hidden > 0)
        buf_format(page->out,
                   "<tr><td></td><td colspan=\"4\">and %zu more tasks</td></tr>",
                   hidden);
}

static void put_table(struct page *page)
{
    const struct page_view *view = &page->view;
    bool all = view->n <= VIEW_ROWS;
    put(page, "<section><h2>Tasks</h2>");
    if (page->options->style)
        buf_format(page->out,
                   "<p><a href=\"/runs/%" PRIu64
                   "/tasks\">filter and sort them</a></p>",
                   view->run.run);
    if (!all)
        buf_format(
            page->out,
            "<p class=\"note\">%zu tasks: each group has one row, behind the tasks "
            "that failed, run or are unknown.</p>",
            view->n);
    put(page,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"tasks\">"
        "<table class=\"tasks\"><thead><tr><th>State</th><th>Task</th><th>Took</th>"
        "<th>Attempts</th><th>How it ended</th></tr></thead><tbody>");
    for (size_t i = 0; all && i < view->n; i++)
        put_row(page, (uint32_t)i,
                i == 0 || !same_group(&view->tasks[i - 1], &view->tasks[i]));
    if (!all)
        put_folded_rows(page);
    put(page, "</tbody></table></div></section>");
}

/* ---- The page ---- */

static void put_title(struct page *page)
{
    const struct cairn_run_info *run = &page->view.run;
    buf_format(page->out, "%s: run %" PRIu64 " of ", run_state_text(run), run->run);
    html_text(page->out, run->workflow);
}

static void put_header(struct page *page)
{
    const struct cairn_run_info *run = &page->view.run;
    part_begin(page->options, page->out, "head", NO_NUMBER);
    put(page, "<header id=\"head\"><h1>");
    html_text(page->out, run->workflow);
    buf_format(page->out, " <small>run %" PRIu64 "</small></h1>", run->run);
    buf_format(page->out, "<p class=\"run %s\">%s, %u of %u task%s completed</p>",
               run_state_text(run), run_state_text(run), run->completed, run->total,
               plural(run->total));
    put_counts(page->out, page->view.counts);
    put(page, "</header>");
    part_end(page->options, page->out);
}

static void put_graph_link(struct page *page, const struct graph_wanted *wanted,
                           const char *text)
{
    put(page, "<a class=\"same\" href=\"");
    put_graph_address(page->out, page->view.run.run, wanted, NULL);
    buf_format(page->out, "\">%s</a> ", text);
}

static void put_zoom_links(struct page *page)
{
    static const unsigned zooms[] = {25, 35, 50, 70, 100, 140, 200, 300};
    struct graph_wanted other = *page->wanted;
    unsigned now = other.zoom ?: 100, smaller = 0, larger = 0;
    for (size_t i = 0; i < COUNT_OF(zooms); i++) {
        smaller = zooms[i] < now ? zooms[i] : smaller;
        larger = zooms[i] > now && larger == 0 ? zooms[i] : larger;
    }
    if ((other.zoom = smaller) != 0)
        put_graph_link(page, &other, "smaller");
    if ((other.zoom = larger) != 0)
        put_graph_link(page, &other, "larger");
}

static void put_fold_links(struct page *page)
{
    const struct page_view *view = &page->view;
    struct graph_wanted other = *page->wanted;
    bool folded = view->too_large, groups = false;
    for (uint32_t i = 0; i < view->picture.n; i++)
        folded |= view->picture.at[i].folded;
    for (size_t i = 0; !groups && i < view->n; i++)
        groups = view->tasks[i].group &&
                 !view->picture.at[view->picture.node_of[view->tasks[i].node]].folded;
    other.open = GRAPH_ALL;
    if (folded && !(view->too_large && page->wanted->open))
        put_graph_link(page, &other, "open all groups");
    other.open = GRAPH_NONE;
    if (groups)
        put_graph_link(page, &other, "close all groups");
    other.open = NULL;
    if (page->wanted->open)
        put_graph_link(page, &other, "as at first");
}

enum { FOUND_NAMED = 20, STEPS_NAMED = 20 };

static void put_found(struct page *page)
{
    const struct page_view *view = &page->view;
    uint32_t named = 0, nodes = 0;
    buf_format(page->out, "<p>%u task%s ha%s it in the name", view->n_found,
               plural(view->n_found), view->n_found == 1 ? "s" : "ve");
    for (uint32_t i = 0; i < view->picture.n; i++) {
        nodes += view->found[i];
        if (!view->found[i] || view->layout.n == 0 || named == FOUND_NAMED)
            continue;
        buf_format(page->out, "%s<a href=\"#n%u\">", named++ == 0 ? ": " : ", ", i);
        html_text(page->out, view->picture.at[i].name);
        put(page, "</a>");
    }
    if (named < nodes && named > 0)
        buf_format(page->out, " and %u more", nodes - named);
    put(page, "</p>");
}

/* What a page without script asks for by an address. */
static void put_graph_tools(struct page *page)
{
    const struct graph_wanted *wanted = page->wanted;
    if (!page->options->style || !page->view.workflow)
        return;
    put(page, "<form class=\"filter\" action=\"/runs/");
    buf_format(page->out,
               "%" PRIu64 "\"><label>Find tasks <input type=\"text\" "
               "name=\"find\" value=\"",
               page->view.run.run);
    html_text(page->out, wanted->find ? wanted->find : "");
    put(page, "\"></label>");
    if (wanted->open)
        put_hidden(page->out, "open", wanted->open);
    put(page, "<button>Find</button><span class=\"links\">");
    if (page->view.layout.n > 0)
        put_zoom_links(page);
    put_fold_links(page);
    put(page, "</span></form>");
    if (wanted->find)
        put_found(page);
}

/* In words, too: what decided how long the run took. */
static void put_path(struct page *page)
{
    const struct page_view *view = &page->view;
    uint32_t first = view->n_path > STEPS_NAMED ? view->n_path - STEPS_NAMED : 0;
    char took[FORMAT_MAX];
    part_begin(page->options, page->out, "path", NO_NUMBER);
    put(page, "<p id=\"path\">");
    if (view->n_path > 1)
        put(page, "Critical path, each behind the one that it waited for: ");
    if (first > 0)
        buf_format(page->out, "%u others, ", first);
    for (uint32_t i = first; view->n_path > 1 && i < view->n_path; i++) {
        uint32_t at = view->task_of[view->path[view->n_path - 1 - i]];
        const struct view_task *task = &view->tasks[at];
        put(page, i > first ? ", " : "");
        if (page->options->style)
            put_task_link(page->out, view->run.run, task->info.id);
        else
            html_text(page->out, task->info.id);
        if (view_task_ms(view, task) >= 0)
            buf_format(page->out, " %s",
                       format_duration(took, view_task_ms(view, task)));
    }
    put(page, "</p>");
    part_end(page->options, page->out);
}

static void put_pictures(struct page *page)
{
    const struct page_view *view = &page->view;
    put(page, "<section id=\"graph\"><h2>Graph</h2>");
    put_graph_tools(page);
    if (view->no_graph[0] != '\0') {
        put_note(page->out, view->no_graph);
    } else {
        if (view->strangers > 0)
            buf_format(page->out,
                       "<p class=\"note\">The graph is that of the file as it is now, "
                       "which does not have %u of the tasks of this run any more.</p>",
                       view->strangers);
        put_graph(page->out, view, page->wanted, page->options);
    }
    put_path(page);
    put(page, "</section>");
    part_begin(page->options, page->out, "chart", NO_NUMBER);
    put(page, "<section id=\"chart\"><h2>Attempts</h2>");
    put_attempts(page->out, view, page->error);
    put(page, "</section>");
    part_end(page->options, page->out);
}

static void put_body(struct page *page)
{
    const struct page_view *view = &page->view;
    put_header(page);
    put_facts(page);
    put_next_steps(page);
    put_pictures(page);
    make_details(page);
    put_table(page);
    part_begin(page->options, page->out, "details", NO_NUMBER);
    put(page, "<section class=\"details\" id=\"details\">");
    if (page->details.size > 0) {
        put(page, "<h2>Logs and values</h2>");
        if (page->log_bytes >= LOGS_BYTES)
            put(page,
                "<p class=\"note\">Only some logs are shown, so that the page stays "
                "small: those of tasks that failed come first.</p>");
        if (view->no_values[0] != '\0')
            put_note(page->out, view->no_values);
        if (view->more_values > 0)
            buf_format(page->out,
                       "<p class=\"note\">%zu more values are not shown.</p>",
                       view->more_values);
        buf_str(page->out, buf_view(&page->details));
    }
    put(page, "</section>");
    part_end(page->options, page->out);
}

int run_page(struct buf *out, struct cairn_store *store, uint64_t run,
             const struct page_options *options, const struct graph_wanted *wanted,
             struct cairn_error *error)
{
    static const struct graph_wanted nothing;
    struct page page = {.out = out,
                        .store = store,
                        .options = options,
                        .wanted = wanted ? wanted : &nothing,
                        .error = error};
    int rc = page_view_read(&page.view, store, run, page.wanted, error);
    if (rc == 0 && !page.view.run.live)
        rc = cairn_added_waiting(store, run, &page.added, error);
    if (rc == 0) {
        page.detailed = calloc(page.view.n + 1, sizeof *page.detailed);
        if (!page.detailed)
            rc = error_nomem(error);
    }
    if (rc == 0) {
        frame_begin(out, options);
        put_title(&page);
        frame_body(out, options, true);
        if (options->parts)
            options->parts->moves = page.view.run.live;
        put_body(&page);
        frame_end(out, options, page.view.now_ns);
        rc = buf_check(out, error);
    }
    free(page.detailed);
    buf_release(&page.details);
    page_view_release(&page.view);
    return rc;
}
