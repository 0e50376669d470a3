/* SPDX-License-Identifier: MIT */
/* The tasks of a run: what a resume would do, why one of them ran or would run, all of
 * them in a table that can be filtered and sorted by its address, and the audit logs. */
#include "web/place.h"

#include "base/memory.h"
#include "base/words.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "web/charts.h"
#include "web/html.h"
#include "web/logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DECISIONS_SHOWN = 500,
    EVENTS_SHOWN = 200,
    EVENTS_OF_TURN = 1000, /* which are shown together */
    FILES_SHOWN = 200,
    ROWS_SHOWN = 200,
};

/* ---- What a resume would do ---- */

/* The workflow of the run and its plan; both are released by the caller, whatever the
 * result is. `again` (may be NULL): this task runs again; `from` (may be NULL): a new
 * run begins at this checkpoint. */
static int read_plan(struct place *place, uint64_t run, const char *again,
                     const char *from, struct cairn_workflow **workflow,
                     struct cairn_plan **plan)
{
    const char *const tasks[] = {again};
    struct cairn_run_options options = {.start = from ? CAIRN_START_FROM
                                                      : CAIRN_START_RESUME,
                                        .run = from ? 0 : run,
                                        .from = from,
                                        .tasks = again ? tasks : NULL,
                                        .n_tasks = again != NULL,
                                        .again = again != NULL};
    bool from_file;
    int rc =
        cairn_workflow_of_run(workflow, place->store, run, &from_file, place->error);
    if (rc == 0)
        rc = cairn_workflow_compile(*workflow, place->error);
    return rc != 0 ? rc
                   : cairn_plan(plan, *workflow, place->store, &options, place->error);
}

static const char *const will_words[] = {
    [CAIRN_WILL_NOT] = "stays", [CAIRN_WILL] = "runs", [CAIRN_MAY] = "may run"};

static void put_notices(struct buf *out, const struct cairn_plan *plan)
{
    const char *text;
    for (size_t i = 0; (text = cairn_plan_notice(plan, i)); i++)
        put_note(out, text);
}

static int put_plan(struct place *place, const struct cairn_plan *plan)
{
    static const char *const headings[] = {"What", "Task", "Why", NULL};
    uint32_t tasks = cairn_plan_tasks(plan), shown = 0;
    uint32_t some = cairn_plan_will(plan) + cairn_plan_may(plan);
    struct buf *out = place->out;
    put_notices(out, plan);
    buf_format(out, "<p>%u of %u task%s will run", cairn_plan_will(plan), tasks,
               plural(tasks));
    if (cairn_plan_may(plan) > 0)
        buf_format(out, ", %u more may run, depending on what happens",
                   cairn_plan_may(plan));
    buf_text(out, ".</p>");
    if (some == 0)
        return cairn_plan_check(plan, place->error);
    table_begin(out, "plain", "what will run", headings);
    for (uint32_t i = 0; i < tasks && shown < DECISIONS_SHOWN; i++) {
        struct cairn_decision decision = {0};
        cairn_plan_get(plan, i, &decision);
        if (decision.will == CAIRN_WILL_NOT)
            continue;
        shown++;
        buf_format(out, "<tr><td>%s</td><th scope=\"row\">", will_words[decision.will]);
        put_task_link(out, cairn_plan_run(plan), decision.task);
        buf_text(out, "</th><td>");
        html_start(out, decision.detail, 4 * TEXT_SHOWN);
        buf_text(out, "</td></tr>");
    }
    table_end(out);
    if (shown < some)
        buf_format(out, "<p class=\"note\">and %u more</p>", some - shown);
    return cairn_plan_check(plan, place->error);
}

int depend_on_workflow(struct place *place, const struct cairn_workflow *workflow)
{
    char digest[65] = "";
    if (!place->depends)
        return 0;
    int rc = cairn_workflow_digest(workflow, digest, place->error);
    buf_text(place->depends, digest);
    return rc;
}

int put_resume_plan(struct place *place, uint64_t run, const char *again,
                    const char *from)
{
    struct cairn_workflow *workflow = NULL;
    struct cairn_plan *plan = NULL;
    int rc = read_plan(place, run, again, from, &workflow, &plan);
    if (rc == 0)
        rc = depend_on_workflow(place, workflow) ?: put_plan(place, plan);
    cairn_plan_free(plan);
    cairn_workflow_free(workflow);
    return rc;
}

int plan_page(struct place *place)
{
    struct cairn_run_info run = {0};
    place_begin(place, "what a resume would do", false);
    put_run_heading(place->out, place->options, place->number,
                    "What a resume would do");
    int rc = put_resume_plan(place, place->number, NULL, NULL);
    buf_text(place->out, "<p>");
    put_command(place->out, place->options, "cairn plan --run %" PRIu64, place->number);
    buf_text(place->out, " shows the same. ");
    if (cairn_run_get(place->store, place->number, &run, NULL) == 0 &&
        run_needs_program(place->store, &run))
        buf_text(place->out, "The program that has its functions does it.</p>");
    else {
        put_command(place->out, place->options, "cairn resume %" PRIu64, place->number);
        buf_text(place->out, " does it.</p>");
        put_act(place->out, place->options, "Resume",
                &(struct act_asked){.act = "resume", .run = place->number});
    }
    if (rc == 0)
        frame_end(place->out, place->options, wall_ns());
    return rc;
}

/* ---- One task ---- */

void put_task_link(struct buf *out, uint64_t run, const char *task)
{
    buf_format(out, "<a href=\"/runs/%" PRIu64 "/task?task=", run);
    html_address(out, task);
    buf_text(out, "\">");
    html_text(out, task);
    buf_text(out, "</a>");
}

static void put_fact(struct buf *out, const char *name, const char *text)
{
    if (!text || text[0] == '\0')
        return;
    fact_begin(out, name);
    html_start(out, text, 4 * TEXT_SHOWN);
    fact_end(out);
}

static int put_change(void *context, const char *field, const char *old,
                      const char *now)
{
    struct buf *out = context;
    fact_begin(out, "Changed");
    html_text(out, field);
    buf_text(out, ": ");
    html_start(out, old ? old : "(not there)", TEXT_SHOWN);
    buf_text(out, " &#8594; ");
    html_start(out, now ? now : "(not there)", TEXT_SHOWN);
    fact_end(out);
    return 0;
}

/* As `cairn explain` says it. That of a live run is about its next resume. */
static int put_why(struct place *place, const char *task)
{
    static const char *const verdicts[] = {[CAIRN_WILL_NOT] =
                                               "A resume does not run it.",
                                           [CAIRN_WILL] = "A resume runs it.",
                                           [CAIRN_MAY] = "A resume may run it."};
    struct cairn_workflow *workflow = NULL;
    struct cairn_plan *plan = NULL;
    struct cairn_decision decision = {0};
    struct buf *out = place->out;
    int rc = read_plan(place, place->number, NULL, NULL, &workflow, &plan);
    uint32_t node = rc == 0 ? cairn_workflow_find(workflow, task) : UINT32_MAX;
    if (rc == 0 && node == UINT32_MAX)
        put_note(out, "The file as it is now does not have this task.");
    if (rc == 0 && node != UINT32_MAX) {
        cairn_plan_get(plan, node, &decision);
        put_notices(out, plan);
        buf_format(out, "<p>%s</p><dl class=\"facts\">", verdicts[decision.will]);
        put_fact(out, "Description", cairn_workflow_description(workflow, node));
        const char *key, *value;
        for (uint32_t i = 0; !cairn_workflow_value(workflow, node, i, &key, &value);
             i++)
            put_fact(out, key, value);
        put_fact(out, "Why", decision.detail);
        if (decision.cause) {
            fact_begin(out, "Because of");
            put_task_link(out, place->number, decision.cause);
            fact_end(out);
        }
        put_fact(out, "Condition", cairn_plan_condition(plan, node));
        rc = cairn_plan_changes(plan, node, put_change, out, place->error);
        buf_text(out, "</dl>");
        const char *command = cairn_plan_command(plan, node);
        if (command && command[0] != '\0') {
            buf_text(out, "<pre class=\"command\">");
            html_lines(out, command, strlen(command));
            buf_text(out, "</pre>");
        }
        if (rc == 0)
            rc = cairn_plan_check(plan, place->error);
    }
    cairn_plan_free(plan);
    cairn_workflow_free(workflow);
    return rc;
}

struct rows {
    struct place *place;
    size_t n;
};

static int put_attempt_row(void *context, const struct cairn_attempt_info *attempt)
{
    struct rows *rows = context;
    struct buf *out = rows->place->out;
    char text[FORMAT_MAX];
    rows->n++;
    buf_format(out, "<tr><td>%u%s</td><td>", attempt->attempt,
               attempt->undo ? ", undo" : "");
    buf_text(out, attempt->open ? "not ended" : cairn_outcome_name(attempt->outcome));
    buf_text(out, "</td><td>");
    html_time(out, attempt->started_ns);
    buf_text(out, "</td><td>");
    if (!attempt->open)
        buf_text(out, format_duration(text, (attempt->ended_ns - attempt->started_ns) /
                                                1000000));
    buf_text(out, "</td><td>");
    html_text(out, format_end(text, attempt->exit_code, attempt->signal,
                              attempt->timed_out, attempt->text));
    if (attempt->text) {
        buf_byte(out, ' ');
        html_start(out, attempt->text, TEXT_SHOWN);
    }
    buf_text(out, "</td></tr>");
    return 0;
}

static int put_value(void *context, const struct cairn_value_info *value)
{
    struct rows *rows = context;
    if (rows->n++ == 0)
        buf_text(rows->place->out, "<h2>Values</h2><dl class=\"facts values\">");
    fact_begin(rows->place->out, "");
    html_text(rows->place->out, value->name);
    buf_text(rows->place->out, " = ");
    html_start(rows->place->out, value->value, 4 * TEXT_SHOWN);
    fact_end(rows->place->out);
    return 0;
}

static const char *const file_headings[] = {"", "File", "Size", "SHA-256", NULL};

static void put_file_cells(struct rows *rows, const char *what, const char *name,
                           uint64_t bytes, const char *sha256)
{
    struct buf *out = rows->place->out;
    char size[FORMAT_MAX];
    if (rows->n++ == 0) {
        buf_text(out, "<h2>Files</h2>");
        table_begin(out, "plain", "files", file_headings);
    }
    if (rows->n > FILES_SHOWN)
        return;
    buf_format(out, "<tr><td>%s</td><th scope=\"row\">", what);
    html_start(out, name, TEXT_SHOWN);
    buf_format(out, "</th><td>%s</td><td><code>%.16s</code></td></tr>",
               format_bytes(size, bytes), sha256 ? sha256 : "");
}

static int put_file_row(void *context, const struct cairn_task_file *file)
{
    put_file_cells(context,
                   file->input       ? "read"
                   : file->directory ? "made, directory"
                                     : "made",
                   file->name, file->size, file->sha256);
    return 0;
}

static int put_artifact_row(void *context, const struct cairn_artifact_info *artifact)
{
    put_file_cells(context, "artifact", artifact->path, artifact->size,
                   artifact->sha256);
    return 0;
}

/* As recorded when it completed: outputs, inputs, and artifacts, which are stored. */
static void put_files(struct place *place, const char *task)
{
    struct rows rows = {place, 0};
    struct cairn_error none = {0};
    int rc =
        cairn_task_files(place->store, place->number, task, put_file_row, &rows, &none);
    if (rc == 0)
        rc = cairn_artifacts(place->store, place->number, task, put_artifact_row, &rows,
                             &none);
    if (rows.n > 0)
        table_end(place->out);
    if (rows.n > FILES_SHOWN)
        buf_format(place->out, "<p class=\"note\">and %zu more</p>",
                   rows.n - FILES_SHOWN);
    if (rc == CAIRN_EDAMAGED)
        put_note(place->out, none.text);
}

static int put_event_row(void *context, const struct cairn_log_event *event)
{
    struct rows *rows = context;
    struct buf *out = rows->place->out;
    if (rows->n++ >= EVENTS_SHOWN)
        return 0;
    buf_format(out, "<tr><td>%" PRIu64 "</td><td>", event->turn);
    html_time(out, event->time_ns);
    buf_format(out, "</td><td>%s</td><td>", event->kind);
    html_start(out, event->text ? event->text : "", TEXT_SHOWN);
    buf_text(out, "</td></tr>");
    return 0;
}

static int put_histories(struct place *place, const char *task)
{
    static const char *const attempts[] = {"Attempt", "Outcome",      "Started",
                                           "Took",    "How it ended", NULL};
    static const char *const events[] = {"Turn", "Time", "Event", "What", NULL};
    struct rows rows = {place, 0};
    struct cairn_error none = {0};
    struct buf *out = place->out;
    buf_text(out, "<h2>Attempts</h2>");
    table_begin(out, "plain", "attempts", attempts);
    int rc = cairn_attempts(place->store, place->number, task, put_attempt_row, &rows,
                            place->error);
    table_end(out);
    bool started = rows.n > 0;
    rows.n = 0;
    int values =
        cairn_values(place->store, place->number, task, put_value, &rows, &none);
    if (rows.n > 0)
        buf_text(out, "</dl>");
    if (values == CAIRN_EDAMAGED)
        put_note(out, none.text);
    put_files(place, task);
    if (rc == 0 && started) {
        struct log_wanted log = {.run = place->number, .task = task, .stream = 1};
        buf_text(out, "<h2>Log</h2>");
        (void)put_log_end(out, place->store, &log, place->options);
        buf_text(out, "<p>");
        put_log_link(out, place->number, task, "the whole log");
        buf_text(out, "</p>");
    }
    rows.n = 0;
    buf_text(out, "<h2>Events</h2>");
    table_begin(out, "plain", "events", events);
    if (rc == 0)
        rc = cairn_task_events(place->store, place->number, task, put_event_row, &rows,
                               place->error);
    table_end(out);
    if (rows.n > EVENTS_SHOWN)
        buf_format(out, "<p class=\"note\">and %zu more</p>", rows.n - EVENTS_SHOWN);
    return rc;
}

static int pass_over(void *context, const struct cairn_attempt_info *attempt)
{
    (void)context;
    (void)attempt;
    return 1;
}

/* What was stored is shown, even if no plan can be made with the file as it is now. */
int task_page(struct place *place)
{
    char *task = ask_text(place->ask, "task");
    int rc = task ? cairn_attempts(place->store, place->number, task, pass_over, NULL,
                                   place->error)
                  : error_set(place->error, CAIRN_ENOTFOUND, "No task is named.");
    if (rc == 0) {
        place_begin(place, task, false);
        put_run_heading(place->out, place->options, place->number, task);
        buf_text(place->out, "<h2>Why</h2>");
        rc = put_why(place, task);
        if (rc != 0 && rc != CAIRN_ENOMEM) {
            put_note(place->out, place->error->text);
            rc = 0;
        }
        if (rc == 0) {
            put_act(place->out, place->options, "Run again",
                    &(struct act_asked){
                        .act = "rerun", .run = place->number, .task = task});
            rc = put_histories(place, task);
        }
        if (rc == 0)
            frame_end(place->out, place->options, wall_ns());
    }
    free(task);
    return rc;
}

/* ---- All of them ---- */

struct task_line {
    char *id;
    uint32_t node, attempts;
    uint8_t state;
    int64_t ms; /* -1: none */
    int64_t started_ns;
    int exit_code, signal;
    bool timed_out;
};

struct filter {
    char *state, *group, *exit, *took; /* heap or NULL: as given */
    const char *sort;
    int64_t least_ms; /* of `took` */
};

struct lines {
    struct task_line *at; /* [n] */
    size_t n, capacity;
    const struct filter *filter;
    int64_t now_ns;
    uint32_t counts[PICTURE_STATES]; /* of all tasks */
    bool failed;
};

static bool is_member(const char *id, const char *group)
{
    size_t n = strlen(group);
    return cairn_name_matches(group, id) ||
           (strncmp(id, group, n) == 0 && id[n] == '[');
}

static int64_t own_ms(const struct cairn_task_info *task, int64_t now_ns)
{
    return task_has_own_times(task) ? task_spent_ms(task, now_ns) : -1;
}

static bool is_listed(const struct filter *filter, const struct cairn_task_info *task,
                      int64_t now_ns)
{
    char code[16];
    snprintf(code, sizeof code, "%d", task->exit_code);
    return (!filter->took || own_ms(task, now_ns) >= filter->least_ms) &&
           (!filter->state || strcmp(filter->state, task_state_word(task)) == 0) &&
           (!filter->group || is_member(task->id, filter->group)) &&
           (!filter->exit || strcmp(filter->exit, code) == 0);
}

static int add_line(void *context, const struct cairn_task_info *task)
{
    struct lines *lines = context;
    uint8_t state = picture_state(task_state_word(task));
    lines->counts[state]++;
    if (!is_listed(lines->filter, task, lines->now_ns))
        return 0;
    struct task_line *at =
        array_room(lines->at, lines->n, &lines->capacity, sizeof *at);
    char *id = at ? strdup(task->id) : NULL;
    lines->at = at ? at : lines->at;
    lines->failed |= !id;
    if (!id)
        return 1;
    lines->at[lines->n++] = (struct task_line){.id = id,
                                               .node = task->node,
                                               .attempts = task->attempts,
                                               .state = state,
                                               .ms = own_ms(task, lines->now_ns),
                                               .started_ns = task->started_ns,
                                               .exit_code = task->exit_code,
                                               .signal = task->signal,
                                               .timed_out = task->timed_out};
    return 0;
}

static int in_order(const struct task_line *a, const struct task_line *b)
{
    return (a->node > b->node) - (a->node < b->node);
}

static int by_duration(const void *x, const void *y)
{
    const struct task_line *a = x, *b = y;
    return a->ms != b->ms ? (a->ms < b->ms) - (a->ms > b->ms) : in_order(a, b);
}

static int by_state(const void *x, const void *y)
{
    const struct task_line *a = x, *b = y;
    return a->state != b->state ? (a->state < b->state) - (a->state > b->state)
                                : in_order(a, b);
}

static int by_started(const void *x, const void *y)
{
    const struct task_line *a = x, *b = y;
    return a->started_ns != b->started_ns
               ? (a->started_ns > b->started_ns) - (a->started_ns < b->started_ns)
               : in_order(a, b);
}

static int by_name(const void *x, const void *y)
{
    const struct task_line *a = x, *b = y;
    return strcmp(a->id, b->id);
}

static int by_exit(const void *x, const void *y)
{
    const struct task_line *a = x, *b = y;
    return a->exit_code != b->exit_code
               ? (a->exit_code < b->exit_code) - (a->exit_code > b->exit_code)
               : in_order(a, b);
}

static const struct order {
    const char *name, *words;
    int (*compare)(const void *, const void *); /* NULL: they are so */
} orders[] = {{"file", "as in the file", NULL},
              {"duration", "the slowest first", by_duration},
              {"state", "failed ones first", by_state},
              {"started", "as they started", by_started},
              {"name", "by name", by_name},
              {"exit", "by exit code", by_exit}};

static const struct order *order_of(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(orders); i++)
        if (strcmp(orders[i].name, name) == 0)
            return &orders[i];
    return &orders[0];
}

static void put_option(struct buf *out, const char *value, const char *words, bool on)
{
    buf_format(out, "<option value=\"%s\"%s>%s</option>", value,
               on ? " selected=\"selected\"" : "", words);
}

static void put_filter_form(struct place *place, const struct filter *filter)
{
    struct buf *out = place->out;
    buf_format(out,
               "<form class=\"filter\" action=\"/runs/%" PRIu64
               "/tasks\"><label>State <select name=\"state\">",
               place->number);
    put_option(out, "", "any", !filter->state);
    for (uint32_t i = 0; i < PICTURE_STATES; i++)
        put_option(out, picture_states[i], picture_states[i],
                   filter->state && strcmp(filter->state, picture_states[i]) == 0);
    buf_text(out, "</select></label> <label>Group or name <input type=\"text\" "
                  "name=\"group\" value=\"");
    html_text(out, filter->group ? filter->group : "");
    buf_text(out, "\"></label> <label>Exit code <input type=\"text\" name=\"exit\" "
                  "value=\"");
    html_text(out, filter->exit ? filter->exit : "");
    buf_text(out, "\"></label> <label>Took at least <input type=\"text\" "
                  "name=\"took\" value=\"");
    html_text(out, filter->took ? filter->took : "");
    buf_text(out, "\"></label> <label>Order <select name=\"sort\">");
    for (size_t i = 0; i < COUNT_OF(orders); i++)
        put_option(out, orders[i].name, orders[i].words,
                   strcmp(filter->sort, orders[i].name) == 0);
    buf_text(out, "</select></label> <button>Show</button></form>");
}

static void put_line(struct place *place, const struct task_line *line)
{
    struct buf *out = place->out;
    char text[FORMAT_MAX];
    buf_text(out, "<tr><td>");
    put_state(out, line->state);
    buf_text(out, "</td><th scope=\"row\">");
    put_task_link(out, place->number, line->id);
    buf_text(out, "</th><td>");
    if (line->ms >= 0)
        buf_text(out, format_duration(text, line->ms));
    buf_text(out, "</td><td>");
    if (line->attempts > 0)
        buf_format(out, "%u", line->attempts);
    buf_text(out, "</td><td>");
    if (line->exit_code > 0 || line->signal != 0 || line->timed_out)
        html_text(out, format_end(text, line->exit_code, line->signal, line->timed_out,
                                  NULL));
    if (line->attempts > 0) {
        buf_byte(out, ' ');
        put_log_link(out, place->number, line->id, "log");
    }
    buf_text(out, "</td></tr>");
}

static void put_filter_address(struct buf *address, uint64_t run,
                               const struct filter *filter)
{
    const char *const names[] = {"state", "group", "exit", "took", "sort"};
    const char *const values[] = {filter->state, filter->group, filter->exit,
                                  filter->took, filter->sort};
    buf_format(address, "/runs/%" PRIu64 "/tasks?", run);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!values[i])
            continue;
        buf_format(address, "%s=", names[i]);
        html_address(address, values[i]);
        buf_text(address, "&amp;");
    }
    buf_text(address, "offset=");
    buf_byte(address, 0);
}

static void put_lines(struct place *place, struct lines *lines)
{
    static const char *const headings[] = {"State",    "Task",         "Took",
                                           "Attempts", "How it ended", NULL};
    const struct order *order = order_of(lines->filter->sort);
    uint64_t offset = ask_number(place->ask, "offset");
    struct buf address = BUF_INIT;
    if (order->compare && lines->n > 0)
        qsort(lines->at, lines->n, sizeof *lines->at, order->compare);
    offset = offset < lines->n ? offset : lines->n;
    size_t shown = lines->n - (size_t)offset;
    shown = shown < ROWS_SHOWN ? shown : ROWS_SHOWN;
    put_counts(place->out, lines->counts);
    put_filter_form(place, lines->filter);
    buf_format(place->out, "<p class=\"note\">%zu task%s</p>", lines->n,
               plural(lines->n));
    table_begin(place->out, "tasks", "tasks", headings);
    for (size_t i = 0; i < shown; i++)
        put_line(place, &lines->at[(size_t)offset + i]);
    table_end(place->out);
    put_filter_address(&address, place->number, lines->filter);
    if (!address.failed)
        put_part_links(place->out, &(struct part_shown){.address = address.data,
                                                        .before = "before",
                                                        .behind = "more",
                                                        .offset = offset,
                                                        .total = lines->n,
                                                        .most = ROWS_SHOWN});
    place->out->failed |= address.failed;
    buf_release(&address);
}

/* A field that was left empty filters nothing. */
static char *filter_text(const struct page_ask *ask, const char *name)
{
    char *text = ask_text(ask, name);
    if (text && text[0] == '\0') {
        free(text);
        text = NULL;
    }
    return text;
}

int tasks_page(struct place *place)
{
    char *sort = filter_text(place->ask, "sort");
    struct filter filter = {.state = filter_text(place->ask, "state"),
                            .group = filter_text(place->ask, "group"),
                            .exit = filter_text(place->ask, "exit"),
                            .took = filter_text(place->ask, "took"),
                            .sort = order_of(sort)->name};
    struct lines lines = {.filter = &filter, .now_ns = wall_ns()};
    int rc = 0;
    if (filter.took && !str_to_duration_ms(str_of(filter.took), &filter.least_ms))
        rc = error_set(place->error, CAIRN_EUSAGE,
                       "\"Took at least\" must be a time such as 500ms, 10s or 1m30s");
    if (rc == 0)
        rc = cairn_run_tasks(place->store, place->number, add_line, &lines,
                             place->error);
    if (lines.failed)
        rc = error_nomem(place->error);
    if (rc == 0) {
        place_begin(place, "tasks", false);
        put_run_heading(place->out, place->options, place->number, "Tasks");
        put_lines(place, &lines);
        frame_end(place->out, place->options, wall_ns());
    }
    for (size_t i = 0; i < lines.n; i++)
        free(lines.at[i].id);
    free(lines.at);
    free(sort);
    free(filter.state);
    free(filter.group);
    free(filter.exit);
    free(filter.took);
    return rc;
}

/* ---- Audit logs ---- */

struct audit {
    struct place *place;
    uint64_t turn; /* of the last row */
    size_t n, of_turn, left_out;
    bool more;
};

/* A turn is shown as a whole, up to a bound: the next part begins behind it. */
static int put_audit_row(void *context, const struct cairn_log_event *event)
{
    struct audit *audit = context;
    struct buf *out = audit->place->out;
    bool same = audit->n > 0 && event->turn == audit->turn;
    audit->more = !same && audit->n >= EVENTS_SHOWN;
    if (audit->more)
        return 1;
    audit->n++;
    audit->turn = event->turn;
    audit->of_turn = same ? audit->of_turn + 1 : 1;
    if (audit->of_turn > EVENTS_OF_TURN) {
        audit->left_out++;
        return 0;
    }
    buf_format(out, "<tr><td>%" PRIu64 "</td><td>", event->turn);
    html_time(out, event->time_ns);
    buf_format(out, "</td><td>%s</td><td>", event->kind);
    if (event->task)
        put_task_link(out, audit->place->number, event->task);
    buf_text(out, "</td><td>");
    html_start(out, event->text ? event->text : "", 4 * TEXT_SHOWN);
    buf_text(out, "</td></tr>");
    return 0;
}

static void put_audit_links(struct place *place, const struct audit *audit,
                            const char *address)
{
    struct buf *out = place->out;
    uint64_t after = ask_number(place->ask, "after");
    if (after == 0 && !audit->more)
        return;
    buf_text(out, "<p class=\"links\">");
    if (after > 0)
        buf_format(out, "<a href=\"%s?after=0\">from the beginning</a> ", address);
    if (audit->more)
        buf_format(out, "<a href=\"%s?after=%" PRIu64 "\">what came then</a> ", address,
                   audit->turn);
    buf_format(out,
               "</p><form class=\"filter\" action=\"%s\"><label>After turn <input "
               "type=\"text\" inputmode=\"numeric\" name=\"after\" value=\"%" PRIu64
               "\"></label> <button>Show</button></form>",
               address, audit->turn);
}

int audit_page(struct place *place)
{
    static const char *const headings[] = {"Turn", "Time", "Event",
                                           "Task", "What", NULL};
    struct audit audit = {.place = place};
    struct cairn_run_info run;
    char address[40] = "/audit";
    uint64_t after = ask_number(place->ask, "after");
    bool of_run = place->number != 0;
    int rc =
        of_run ? cairn_run_look(place->store, place->number, &run, place->error) : 0;
    if (rc != 0)
        return rc;
    place_begin(place, "what was done", false);
    if (of_run) {
        snprintf(address, sizeof address, "/runs/%" PRIu64 "/audit", place->number);
        put_run_heading(place->out, place->options, place->number, "What was done");
    } else {
        buf_text(place->out,
                 "<header><h1>What was done to the store</h1></header>"
                 "<p class=\"note\">Collections, repairs, and what pages did.</p>");
    }
    buf_text(place->out, "<p>");
    if (of_run)
        put_command(place->out, place->options, "cairn events %" PRIu64, place->number);
    else
        put_command(place->out, place->options, "cairn events --maintenance");
    buf_text(place->out, " shows the same.</p>");
    table_begin(place->out, "plain", "events", headings);
    rc = of_run ? cairn_events(place->store, place->number, after, put_audit_row,
                               &audit, NULL, place->error)
                : cairn_store_events(place->store, after, put_audit_row, &audit, NULL,
                                     place->error);
    table_end(place->out);
    if (audit.n == 0)
        put_note(place->out, after > 0 ? "Nothing after that." : "Nothing yet.");
    if (audit.left_out > 0)
        buf_format(place->out, "<p class=\"note\">and %zu more of the same turns</p>",
                   audit.left_out);
    rc = put_damage(place, rc);
    if (rc == 0) {
        put_audit_links(place, &audit, address);
        frame_end(place->out, place->options, wall_ns());
    }
    return rc;
}
