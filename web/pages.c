/* SPDX-License-Identifier: MIT */
#include "web/pages.h"

#include "base/words.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "web/charts.h"
#include "web/html.h"
#include "web/logs.h"
#include "web/page_view.h"
#include "web/place.h"
#include "web/run_page.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum {
    RUNS_SHOWN = 50,
    SESSIONS_SHOWN = 10,
    UNFINISHED_SHOWN = 20,
    STEPS_SHOWN = 5, /* of each of them */
};

/* ---- The first page ---- */

static void put_run_cells(struct place *place, const struct cairn_run_info *run)
{
    char took[FORMAT_MAX];
    uint32_t waits = run->total - run->completed - run->failed - run->skipped -
                     run->cancelled - run->undone - run->unknown;
    const uint32_t counts[PICTURE_STATES] = {
        [PICTURE_FAILED] = run->failed,      [PICTURE_UNKNOWN] = run->unknown,
        [PICTURE_RUNNING] = run->running,    [PICTURE_CANCELLED] = run->cancelled,
        [PICTURE_UNDONE] = run->undone,      [PICTURE_SKIPPED] = run->skipped,
        [PICTURE_COMPLETED] = run->completed};
    int64_t end = run->ended_ns ? run->ended_ns : run->live ? wall_ns() : 0;
    buf_format(place->out, "<td><span class=\"state %s\">%s</span></td>",
               run_state_text(run), run_state_text(run));
    buf_text(place->out, "<th scope=\"row\">");
    put_run_link(place->out, place->options, run->run);
    buf_text(place->out, "</th><td>");
    html_start(place->out, run->workflow, TEXT_SHOWN);
    if (run->params[0] != '\0') {
        buf_text(place->out, " <span class=\"note\">");
        html_start(place->out, run->params, TEXT_SHOWN);
        buf_text(place->out, "</span>");
    }
    buf_text(place->out, "</td><td>");
    if (end > run->started_ns)
        buf_text(place->out, format_duration(took, (end - run->started_ns) / 1000000));
    buf_text(place->out, "</td><td>");
    size_t empty = place->out->size;
    put_count_words(place->out, counts, PICTURE_STATES);
    if (waits > run->running && waits <= run->total)
        buf_format(place->out, "%s%u left", place->out->size > empty ? ", " : "",
                   waits - run->running);
    buf_text(place->out, "</td><td>");
    html_time(place->out, run->started_ns);
    buf_text(place->out, "</td>");
}

static int put_run(void *context, const struct cairn_run_info *run)
{
    struct place *place = context;
    if (place->options->parts)
        place->options->parts->moves |= run->live;
    buf_text(place->out, "<tr>");
    put_run_cells(place, run);
    buf_text(place->out, "</tr>");
    return 0;
}

static const char *const run_headings[] = {"State", "Run",     "Workflow", "Took",
                                           "Tasks", "Started", NULL};

struct unfinished {
    struct cairn_run_info *runs; /* [n] */
    size_t n;
};

static int add_unfinished(void *context, const struct cairn_run_info *run)
{
    struct unfinished *unfinished = context;
    if (unfinished->n < UNFINISHED_SHOWN)
        unfinished->runs[unfinished->n++] = *run;
    return 0;
}

struct steps {
    struct place *place;
    uint64_t run;
    size_t n;
};

static int put_step(void *context, const struct cairn_waiting_info *info)
{
    struct steps *steps = context;
    struct buf *out = steps->place->out;
    if ((info->waits_for != CAIRN_WAITS_EXTERNAL &&
         info->waits_for != CAIRN_WAITS_DECISION) ||
        steps->n++ >= STEPS_SHOWN)
        return 0;
    buf_text(out, "<li>");
    put_run_link(out, steps->place->options, steps->run);
    buf_text(out, ": ");
    html_text(out, info->task);
    put_waiting(out, info);
    buf_text(out, "</li>");
    return 0;
}

/* What waits for somebody, and the last run of each workflow and params that is not
 * done. */
static int put_unfinished(struct place *place)
{
    struct unfinished unfinished = {calloc(UNFINISHED_SHOWN, sizeof *unfinished.runs),
                                    0};
    uint64_t total = 0;
    struct cairn_error none = {0};
    if (!unfinished.runs)
        return error_nomem(place->error);
    int rc = cairn_unfinished(place->store, add_unfinished, &unfinished, &total,
                              place->error);
    put_unfinished_restores(place, 0);
    if (rc == 0 && total > 0) {
        buf_text(place->out, "<h2>What needs somebody</h2><ul>");
        for (size_t i = 0; i < unfinished.n; i++) {
            struct steps steps = {place, unfinished.runs[i].run, 0};
            (void)cairn_waiting(place->store, steps.run, put_step, &steps, &none);
            if (steps.n > STEPS_SHOWN)
                buf_format(place->out, "<li>and %zu more of run %" PRIu64 "</li>",
                           steps.n - STEPS_SHOWN, steps.run);
        }
        buf_text(place->out, "</ul>");
        table_begin(place->out, "runs", "runs that are not done", run_headings);
        for (size_t i = 0; i < unfinished.n; i++)
            put_run(place, &unfinished.runs[i]);
        table_end(place->out);
        if (total > unfinished.n)
            buf_format(place->out, "<p class=\"note\">and %" PRIu64 " more</p>",
                       total - unfinished.n);
    }
    free(unfinished.runs);
    return rc;
}

static int put_runs(struct place *place)
{
    char *workflow = ask_text(place->ask, "workflow");
    struct buf address = BUF_INIT;
    struct part_shown part = {.before = "newer runs",
                              .behind = "older runs",
                              .offset = ask_number(place->ask, "offset"),
                              .most = RUNS_SHOWN};
    struct cairn_page page = {.limit = RUNS_SHOWN, .offset = part.offset};
    buf_text(place->out, "<h2>Runs</h2>");
    table_begin(place->out, "runs", "runs", run_headings);
    int rc = cairn_runs(place->store, workflow, &page, put_run, place, &part.total,
                        place->error);
    table_end(place->out);
    buf_format(place->out, "<p class=\"note\">%" PRIu64 " run%s", part.total,
               plural(part.total));
    buf_text(&address, "/?");
    if (workflow) {
        buf_text(place->out, " of ");
        html_text(place->out, workflow);
        buf_text(&address, "workflow=");
        html_address(&address, workflow);
        buf_text(&address, "&amp;");
    }
    buf_text(&address, "offset=");
    buf_byte(&address, '\0');
    buf_text(place->out, "</p>");
    part.address = address.failed ? "/?offset=" : address.data;
    put_part_links(place->out, &part);
    buf_release(&address);
    free(workflow);
    return rc;
}

static int put_session(void *context, const struct cairn_session_info *session)
{
    struct place *place = context;
    char spent[FORMAT_MAX];
    buf_format(place->out, "<tr><td>%s</td><th scope=\"row\">",
               session_state_text(session));
    put_session_link(place->out, session->session, session->name);
    buf_format(place->out,
               "</th><td>%" PRIu64 " checkpoint%s, %" PRIu64 " branch%s</td><td>%s</td>"
               "<td>%" PRIu64 " item%s, %" PRIu64 " message%s</td><td>",
               session->checkpoints, plural(session->checkpoints), session->branches,
               session->branches == 1 ? "" : "es",
               format_duration(spent, session->spent_ms), session->items,
               plural(session->items), session->messages_stored,
               plural(session->messages_stored));
    html_time(place->out, session->started_ns);
    buf_text(place->out, "</td></tr>");
    return 0;
}

static int put_sessions(struct place *place)
{
    static const char *const headings[] = {"State", "Session", "History", "Time",
                                           "Board", "Started", NULL};
    struct cairn_page page = {.limit = SESSIONS_SHOWN};
    struct buf *out = place->out, rows = BUF_INIT;
    uint64_t total = 0;
    place->out = &rows;
    int rc = cairn_session_list(place->store, &page, put_session, place, &total,
                                place->error);
    place->out = out;
    if ((rc == 0 || rc == CAIRN_EDAMAGED) && total > 0) {
        buf_format(out,
                   "<h2>Debugging sessions</h2><p class=\"note\">%" PRIu64
                   ", the newest first. <a href=\"/timeline\">Timeline of all</a></p>",
                   total);
        table_begin(out, "runs", "sessions", headings);
        buf_str(out, buf_view(&rows));
        table_end(out);
    }
    out->failed |= rows.failed;
    buf_release(&rows);
    return rc;
}

/* What the files of the store take, and what is left on its disk. */
static void put_disk(struct place *place)
{
    const char *path = cairn_store_path(place->store);
    char text[FORMAT_MAX];
    struct statvfs disk;
    struct stat info;
    struct dirent *entry;
    uint64_t bytes = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_blocks * 512;
    closedir(dir);
    buf_format(place->out, ": %s", format_bytes(text, bytes));
    if (statvfs(path, &disk) == 0)
        buf_format(place->out, ", %s free on the disk",
                   format_bytes(text, (uint64_t)disk.f_bavail * disk.f_frsize));
}

static int put_home(struct place *place)
{
    frame_begin(place->out, place->options);
    buf_text(place->out, "cairn: ");
    html_text(place->out, cairn_store_path(place->store));
    frame_body(place->out, place->options, true);
    buf_text(place->out, "<header><h1>Runs and sessions</h1><p class=\"note\">");
    html_text(place->out, cairn_store_path(place->store));
    put_disk(place);
    buf_text(place->out, ". <a href=\"/audit\">What was done to it</a></p></header>");
    static const struct {
        const char *id;
        int (*put)(struct place *place);
    } sections[] = {
        {"needs", put_unfinished}, {"runs", put_runs}, {"sessions", put_sessions}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < COUNT_OF(sections); i++) {
        part_begin(place->options, place->out, sections[i].id, NO_NUMBER);
        buf_format(place->out, "<section id=\"%s\">", sections[i].id);
        rc = put_damage(place, sections[i].put(place));
        buf_text(place->out, "</section>");
        part_end(place->options, place->out);
    }
    frame_end(place->out, place->options, wall_ns());
    return rc;
}

/* ---- A log ---- */

static int put_log(struct place *place)
{
    char *task = ask_text(place->ask, "task");
    const struct log_wanted log = {
        .run = place->number,
        .task = task ? task : "",
        .attempt = (uint32_t)ask_number(place->ask, "attempt"),
        .stream = ask_number(place->ask, "stream") == 2 ? 2 : 1,
        .from = ask_number(place->ask, "from"),
        .last = !ask_given(place->ask, "from")};
    int rc = log_page(place->out, place->store, &log, place->options, place->error);
    free(task);
    return rc;
}

static int put_run_page(struct place *place)
{
    char *open = ask_text(place->ask, "open"), *find = ask_text(place->ask, "find");
    uint64_t zoom = ask_number(place->ask, "zoom");
    struct graph_wanted wanted = {.open = open && open[0] != '\0' ? open : NULL,
                                  .find = find && find[0] != '\0' ? find : NULL,
                                  .zoom = zoom > 1000 ? 1000 : (unsigned)zoom};
    int rc = run_page(place->out, place->store, place->number, place->options, &wanted,
                      place->error);
    free(open);
    free(find);
    return rc;
}

/* ---- Addresses ---- */

void pages_problem(const struct page_options *options, unsigned status,
                   const char *text, struct page_answer *answer)
{
    buf_clear(&answer->body);
    answer->status = status;
    answer->file[0] = '\0';
    answer->type = "text/html; charset=utf-8";
    frame_begin(&answer->body, options);
    buf_text(&answer->body, "cairn");
    frame_body(&answer->body, options, false);
    buf_text(&answer->body, "<h1>This page cannot be shown</h1><pre>");
    html_lines(&answer->body, text, strlen(text));
    buf_text(&answer->body, "</pre>");
    frame_end(&answer->body, options, wall_ns());
}

/* Each is `begin`, or that, a number and `end`. */
static const struct address {
    const char *begin, *end; /* end NULL: no number */
    int (*put)(struct place *place);
    bool live;
} addresses[] = {
    {"/", NULL, put_home, true},
    {"/timeline", NULL, timeline_page, false},
    {"/compare", NULL, compare_page, false},
    {"/search", NULL, search_page, false},
    {"/audit", NULL, audit_page, false},
    {"/runs/", "", put_run_page, true},
    {"/runs/", "/log", put_log, true},
    {"/runs/", "/task", task_page, false},
    {"/runs/", "/tasks", tasks_page, false},
    {"/runs/", "/plan", plan_page, false},
    {"/runs/", "/audit", audit_page, false},
    {"/checkpoints/", "", checkpoint_page, false},
    {"/checkpoints/", "/files", files_page, false},
    {"/checkpoints/", "/file", file_page, false},
    {"/checkpoints/", "/raw", raw_page, false},
    {"/checkpoints/", "/picture", picture_page, false},
    {"/checkpoints/", "/blame", blame_page, false},
    {"/sessions/", "/history", history_page, false},
    {"/sessions/", "/grep", grep_page, false},
    {"/sessions/", "", session_page, true},
    {"/sessions/", "/messages", messages_page, false},
    {"/sessions/", "/message", message_page, false},
    {"/sessions/", "/items", items_page, false},
    {"/sessions/", "/item", one_item_page, true},
    {"/sessions/", "/settings", settings_page, false},
    {"/sessions/", "/size", size_page, false},
};

static bool address_fits(const struct address *address, const char *path,
                         uint64_t *number)
{
    size_t n = strlen(address->begin);
    *number = 0;
    if (!address->end || strncmp(path, address->begin, n) != 0)
        return strcmp(path, address->begin) == 0 && !address->end;
    path += n;
    n = strspn(path, "0123456789");
    return path[0] != '0' && str_to_u64((struct str){path, n}, number) &&
           strcmp(path + n, address->end) == 0;
}

static const struct address *find_address(const char *path, uint64_t *number)
{
    for (size_t i = 0; i < COUNT_OF(addresses); i++)
        if (address_fits(&addresses[i], path, number))
            return &addresses[i];
    return NULL;
}

bool pages_are_live(const char *path)
{
    uint64_t number;
    const struct address *address = find_address(path, &number);
    return address && address->live;
}

void pages_answer(struct cairn_store *store, const struct page_options *options,
                  const struct page_ask *ask, struct page_answer *answer)
{
    struct cairn_error error = {0};
    struct place place = {&answer->body, store, options, ask,  answer,
                          &error,        0,     0,       NULL, false};
    answer->type = "text/html; charset=utf-8";
    const struct {
        const char *address, *type, *text;
    } fixed[] = {{options->style, "text/css; charset=utf-8", style_text()},
                 {options->script, "text/javascript; charset=utf-8", script_text()},
                 {ICON_ADDRESS, "image/svg+xml", icon_text()}};
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        if (strcmp(ask->path, fixed[i].address) == 0) {
            answer->type = fixed[i].type;
            answer->fixed = true;
            buf_text(&answer->body, fixed[i].text);
            return;
        }
    const struct address *address = find_address(ask->path, &place.number);
    int rc = address ? address->put(&place) : 0;
    if (rc != 0)
        pages_problem(options,
                      rc == CAIRN_ENOTFOUND ? 404
                      : rc == CAIRN_EUSAGE  ? 400
                                            : 500,
                      error.text, answer);
    else if (!address)
        pages_problem(options, 404, "There is no such page.", answer);
}
