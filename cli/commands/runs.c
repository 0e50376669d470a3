/* SPDX-License-Identifier: MIT */
/* cairn runs, watch, events. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/commands/tasks.h"
#include "cli/describe.h"
#include "cli/display.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <poll.h>
#include <string.h>

/* cairn runs: the runs in the store, a page at a time. */

struct run_listing {
    struct cairn_store *store;
    struct doc *doc; /* with --json */
    uint64_t shown;
    const char *states; /* only these, or NULL */
    const struct cairn_page *page;
    uint64_t matching; /* in these states, so far */
};

static int each_run(void *context, const struct cairn_run_info *run)
{
    struct run_listing *listing = context;
    char started[FORMAT_MAX], ended[FORMAT_MAX], done[32], inside[48] = "", *params;
    listing->shown++;
    if (listing->doc) {
        doc_object(listing->doc, NULL);
        run_document(listing->doc, listing->store, run);
        doc_end(listing->doc);
        return 0;
    }
    if (run->checkpoint == 0)
        snprintf(done, sizeof done, "-/%u", run->total);
    else
        snprintf(done, sizeof done, "%u/%u", run->completed, run->total);
    if (listing->shown == 1)
        out("%5s  %-11s  %-19s  %-19s  %9s  %6s  %s\n", "RUN", "STATE", "STARTED",
            "ENDED", "COMPLETED", "FAILED", "WORKFLOW");
    params = params_text(listing->store, run->run);
    if (run->parent_run != 0)
        snprintf(inside, sizeof inside, "  in run %llu",
                 (unsigned long long)run->parent_run);
    out("%5llu  %-11s  %-19s  %-19s  %9s  %6u  %s%s%s%s%s\n",
        (unsigned long long)run->run, run_state_text(run),
        format_local(started, run->started_ns), format_local(ended, run->ended_ns),
        done, run->failed, run->workflow, params ? "  " : "", params ? params : "",
        inside, run->checkpoint == 0 ? "  no valid checkpoint" : "");
    free(params);
    return ui_output_lost();
}

/* The page counts what is in the states, so it is taken here, out of all runs. */
static int each_in_states(void *context, const struct cairn_run_info *run)
{
    struct run_listing *listing = context;
    const struct cairn_page *page = listing->page;
    if (!state_list_has(listing->states, run_state_text(run)))
        return 0;
    listing->matching++;
    if (listing->matching <= page->offset ||
        listing->matching - page->offset > page->limit)
        return 0;
    return each_run(listing, run);
}

static int find_runs(struct settings *settings, struct run_listing *listing,
                     uint64_t *total, struct cairn_error *error)
{
    const char *workflow = settings->text[OPT_WORKFLOW];
    struct cairn_page all = {.all = true, .oldest_first = listing->page->oldest_first};
    if (!listing->states)
        return cairn_runs(listing->store, workflow, listing->page, each_run, listing,
                          total, error);
    int rc = cairn_runs(listing->store, workflow, &all, each_in_states, listing, NULL,
                        error);
    *total = listing->matching;
    return rc;
}

static int list_runs(struct settings *settings, struct cairn_store *store)
{
    struct doc doc;
    struct run_listing listing = {.store = store, .doc = doc_open(&doc, "runs")};
    struct cairn_error error = {0};
    struct cairn_page page = {.limit = (uint32_t)settings->number[OPT_LIMIT],
                              .offset = settings->number[OPT_OFFSET],
                              .oldest_first = settings->number[OPT_SORT_RUNS] == 1};
    uint64_t total = 0;
    listing.page = &page;
    listing.states =
        settings->given[OPT_ONLY_STATES] ? settings->text[OPT_ONLY_STATES] : NULL;
    if (find_runs(settings, &listing, &total, &error) != 0)
        return doc_close(listing.doc, report_error(&error));
    return page_end(listing.doc, &page, "run", listing.shown, total);
}

int command_runs(struct settings *settings)
{
    int status = settings->given[OPT_ONLY_STATES]
                     ? state_list_check(settings->text[OPT_ONLY_STATES], RUN_STATES)
                     : 0;
    return status
           ?: store_for_reading(settings, &settings->store)
           ?: list_runs(settings, settings->store);
}

/* cairn watch: polls a run as long as a process owns it. It only reads the store, so it
 * can be started and stopped at any time. */

#define FAILED_NAMES 10
#define TASKS_LISTED 20000 /* of a larger run only the counts are shown */

struct watch {
    struct block block;
    struct rate rate;
    struct cairn_run_info last;
    uint32_t listed, most; /* tasks in the block */
    bool live;
};

static int each_task(void *context, const struct cairn_task_info *task)
{
    struct watch *watch = context;
    char took[FORMAT_MAX];
    if (!task->running)
        return 0;
    block_line(&watch->block, "  %s  %s", task->id,
               format_duration(took, (wall_ns() - task->started_ns) / 1000000));
    return ++watch->listed == watch->most;
}

static void paint_block(struct watch *watch, struct cairn_store *store,
                        const struct cairn_run_info *run)
{
    char text[PROGRESS_MAX];
    block_reset(&watch->block, ui_width());
    block_line(&watch->block, "run %llu %s  %s", (unsigned long long)run->run,
               run->workflow,
               progress_text(text, run_done(run), run->total, run->running,
                             rate_get(&watch->rate)));
    int rows = ui_height() - 4;
    rows = rows > BLOCK_LINES - 2 ? BLOCK_LINES - 2 : rows;
    watch->listed = 0;
    watch->most = rows > 1 ? (uint32_t)rows : 1;
    if (run->running > 0 && run->total <= TASKS_LISTED)
        (void)cairn_run_tasks(store, run->run, each_task, watch, NULL);
    if (watch->listed > 0 && run->running > watch->listed)
        block_line(&watch->block, "  and %u more", run->running - watch->listed);
    block_paint(&watch->block);
}

static bool same_counts(const struct cairn_run_info *a, const struct cairn_run_info *b)
{
    return a->state == b->state && a->live == b->live && run_done(a) == run_done(b) &&
           a->running == b->running && a->failed == b->failed &&
           a->cancelled == b->cancelled && a->unsaved == b->unsaved;
}

static void print_change(struct watch *watch, struct cairn_store *store,
                         const struct cairn_run_info *run)
{
    char text[PROGRESS_MAX];
    struct doc doc;
    if (watch->last.run != 0 && same_counts(&watch->last, run))
        return;
    if (ui_json()) {
        doc_begin(&doc);
        doc_text(&doc, "type", run->live ? "status" : "run_finished");
        doc_time(&doc, "time", wall_ns());
        run_document(&doc, store, run);
        if (!run->live)
            doc_number(&doc, "exit_status", run_exit_status(run));
        doc_print(&doc);
    } else if (run->live) {
        progress_text(text, run_done(run), run->total, run->running,
                      rate_get(&watch->rate));
        if (run->failed > 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), "  %u failed",
                     run->failed);
        out("%s%s\n", text, run->unsaved > 0 ? "  DEGRADED" : "");
        out_flush();
    }
}

static void show_run(struct watch *watch, struct cairn_store *store,
                     const struct cairn_run_info *run)
{
    rate_add(&watch->rate, now_ms(), run_done(run));
    if (watch->live && run->live)
        paint_block(watch, store, run);
    else if (!watch->live && (ui_json() || !ui_quiet()))
        print_change(watch, store, run);
    watch->last = *run;
}

struct failed {
    char names[2048];
    size_t used;
    uint32_t n;
};

static int name_failed(void *context, const struct cairn_task_info *task)
{
    struct failed *failed = context;
    if (task->outcome != CAIRN_FAILED)
        return 0;
    if (failed->n++ < FAILED_NAMES && failed->used < sizeof failed->names)
        failed->used += (size_t)snprintf(failed->names + failed->used,
                                         sizeof failed->names - failed->used, "%s%s",
                                         failed->used > 0 ? ", " : "", task->id);
    return 0;
}

static void print_failed(struct settings *settings, struct cairn_store *store,
                         const struct cairn_run_info *run)
{
    struct failed failed = {.used = 0};
    char more[48] = "";
    if (run->failed == 0 ||
        cairn_run_tasks(store, run->run, name_failed, &failed, NULL) != 0)
        return;
    if (failed.n > FAILED_NAMES)
        snprintf(more, sizeof more, " and %u more", failed.n - FAILED_NAMES);
    out("%s: %s%s; see: cairn log --failed --run %llu%s\n",
        failed_text(run->state == CAIRN_RUN_COMPLETED), failed.names, more,
        (unsigned long long)run->run, store_hint(settings));
}

/* As the run itself ends. */
static void print_end(struct watch *watch, struct settings *settings,
                      struct cairn_store *store, const struct cairn_run_info *run)
{
    char counts[160] = "", took[FORMAT_MAX + 8] = "", text[FORMAT_MAX];
    unsigned long long number = run->run;
    block_clear(&watch->block);
    if (ui_json())
        return;
    print_failed(settings, store, run);
    if (run->failed > 0)
        snprintf(counts + strlen(counts), sizeof counts - strlen(counts), ", %u %s",
                 run->failed, failed_text(run->state == CAIRN_RUN_COMPLETED));
    if (run->skipped > 0)
        snprintf(counts + strlen(counts), sizeof counts - strlen(counts),
                 ", %u skipped", run->skipped);
    if (run->cancelled > 0)
        snprintf(counts + strlen(counts), sizeof counts - strlen(counts),
                 ", %u cancelled", run->cancelled);
    if (run->ended_ns > run->started_ns)
        snprintf(took, sizeof took, " in %s",
                 format_duration(text, (run->ended_ns - run->started_ns) / 1000000));
    out("run %llu %s: %u of %u completed%s%s", number, run_state_text(run),
        run->completed, run->total, counts, took);
    if (run->state != CAIRN_RUN_COMPLETED && run->state != CAIRN_RUN_UNDONE)
        out("; resume with: %s", resume_words(store, run, store_hint(settings)));
    out("\n");
}

static int follow_run(struct settings *settings, struct cairn_store *store,
                      struct cairn_run_info *run)
{
    static struct watch watch;
    struct cairn_error error = {0};
    watch.live = ui_live() && ui_terminal(1) && !ui_json() && !ui_quiet();
    for (;;) {
        show_run(&watch, store, run);
        if (!run->live || ui_output_lost())
            break;
        sleep_ms((int64_t)settings->number[OPT_INTERVAL]);
        if (cairn_run_get(store, run->run, run, &error) != 0) {
            block_clear(&watch.block);
            return report_error(&error);
        }
    }
    print_end(&watch, settings, store, run);
    return run_exit_status(run);
}

int command_watch(struct settings *settings)
{
    struct cairn_run_info run = {0};
    return open_run(settings, &settings->store, &run)
               ?: follow_run(settings, settings->store, &run);
}

/* cairn events: every decision of a run, in order, or what happens in the store. (The
 * events of a run that this process carries out are in cli/describe.c.) */

#define POLL_MS 200

/* A place in the events of a run: behind the n-th one of a turn. */
struct run_place {
    uint64_t turn, n;
};

/* Which events are printed: all of these. */
struct event_filter {
    const char *task;                /* itself or, of a group, its members; NULL: any */
    const struct cairn_param *types; /* one of these; none: any */
    size_t n_types;
    int64_t since_ns; /* not older; 0: any */
    struct buf seen;  /* the types that there were, for when nothing fits */
    bool any, fits;   /* there were events; some were printed */
};

static int begin_filter(const struct settings *settings, struct event_filter *filter)
{
    struct cairn_error error = {0};
    *filter = (struct event_filter){.task = settings->text[OPT_ONLY_TASK],
                                    .types = settings->params,
                                    .n_types = settings->n_params};
    return settings->given[OPT_SINCE] &&
                   cairn_time_parse(settings->text[OPT_SINCE], &filter->since_ns,
                                    &error) != 0
               ? report_error(&error)
               : 0;
}

static bool is_of_task(const char *task, const char *asked)
{
    size_t n = strlen(asked);
    return task && strncmp(task, asked, n) == 0 && (task[n] == '\0' || task[n] == '[');
}

static void note_type(struct buf *seen, const char *type)
{
    char word[64];
    snprintf(word, sizeof word, " %s,", type);
    if (!seen->data || !strstr(seen->data, word))
        buf_text(seen, word);
}

static bool passes(struct event_filter *filter, const char *type, const char *task,
                   int64_t time_ns)
{
    bool fits = filter->n_types == 0;
    filter->any = true;
    for (size_t i = 0; i < filter->n_types; i++)
        fits |= strcmp(filter->types[i].name, type) == 0;
    if (filter->n_types > 0 && !filter->fits)
        note_type(&filter->seen, type);
    fits = fits && time_ns >= filter->since_ns &&
           (!filter->task || is_of_task(task, filter->task));
    filter->fits |= fits;
    return fits;
}

/* Says why nothing was printed. */
static void end_filter(const struct settings *settings, struct event_filter *filter,
                       const char *nothing)
{
    if (!filter->any)
        say("%s", settings->given[OPT_POSITION]
                      ? "nothing has happened since that position"
                      : nothing);
    else if (!filter->fits && filter->seen.size > 0 && !filter->seen.failed)
        say("no event fits; their types are%.*s", (int)filter->seen.size - 1,
            filter->seen.data);
    else if (!filter->fits)
        say("no event fits what you asked for");
    buf_release(&filter->seen);
}

static void print_document(const struct cairn_log_event *event,
                           const struct run_place *place)
{
    struct doc doc;
    char position[48];
    doc_begin(&doc);
    log_event_document(&doc, event);
    if (place) {
        snprintf(position, sizeof position, "%llu.%llu",
                 (unsigned long long)place->turn, (unsigned long long)place->n);
        doc_text(&doc, "position", position);
    }
    doc_print(&doc);
}

static void print_text(const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        out("%.*s", (int)n, text);
        text += n;
        if (*text == '\n') {
            text++;
            out(" ");
        }
    }
    out("\n");
}

/* One line, even if the message has several. */
static void print_line(const struct cairn_log_event *event)
{
    char when[FORMAT_MAX];
    out("%s  %5llu  %s%s", format_local(when, event->time_ns),
        (unsigned long long)event->turn, event->task ? event->task : "",
        event->task ? ": " : "");
    print_text(event->text ? event->text : "");
}

struct event_listing {
    struct run_place from, at; /* of a run: what is not behind `from` is left out */
    bool of_run;
    struct event_filter filter;
};

static int print_event(void *context, const struct cairn_log_event *event)
{
    struct event_listing *listing = context;
    struct run_place *at = &listing->at;
    at->n = event->turn == at->turn ? at->n + 1 : 1;
    at->turn = event->turn;
    if (listing->of_run && at->turn == listing->from.turn && at->n <= listing->from.n)
        return 0;
    if (!passes(&listing->filter, event->kind, event->task, event->time_ns))
        return 0;
    if (ui_json())
        print_document(event, listing->of_run ? at : NULL);
    else
        print_line(event);
    return ui_output_lost();
}

static int skip_event(void *context, const struct cairn_log_event *event)
{
    (void)context;
    (void)event;
    return 0;
}

/* "12.3": behind the third event of turn 12; "12": behind all of that turn. */
static bool read_place(const char *text, struct run_place *place)
{
    const char *dot = strchr(text, '.');
    size_t n = dot ? (size_t)(dot - text) : strlen(text);
    place->n = UINT64_MAX;
    return str_to_u64((struct str){text, n}, &place->turn) &&
           (!dot || str_to_u64(str_of(dot + 1), &place->n));
}

static int begin_listing(const struct settings *settings, struct cairn_store *store,
                         const struct cairn_run_info *run,
                         struct event_listing *listing)
{
    const char *position = settings->text[OPT_POSITION];
    struct cairn_error error = {0};
    if (!position)
        return 0;
    if (strcmp(position, "now") == 0) {
        listing->from.n = UINT64_MAX;
        return report_code(cairn_events(store, run->run, 0, skip_event, NULL,
                                        &listing->from.turn, &error),
                           &error);
    }
    if (read_place(position, &listing->from))
        return 0;
    return report_usage("events",
                        "'%.80s' is not a position in the events of a run: `cairn "
                        "events RUN --json` names that of each, such as 12.3",
                        position);
}

/* Whether the run is live is read before its events: once it has ended, all of them are
 * printed. */
static int print_events(const struct settings *settings, struct cairn_store *store,
                        struct cairn_run_info *run)
{
    struct event_listing listing = {.of_run = true};
    struct cairn_error error = {0};
    int status = begin_filter(settings, &listing.filter)
                     ?: begin_listing(settings, store, run, &listing);
    uint64_t last = listing.from.turn - (listing.from.turn > 0);
    if (status != 0)
        return status;
    for (;;) {
        bool live = run->live;
        if (cairn_events(store, run->run, last, print_event, &listing, &last, &error) !=
            0)
            return report_error(&error);
        out_flush();
        if (!settings->given[OPT_FOLLOW_RUN] || !live || ui_output_lost())
            break;
        sleep_ms(POLL_MS);
        if (cairn_run_get(store, run->run, run, &error) != 0)
            return report_error(&error);
    }
    end_filter(settings, &listing.filter, "no events of this run are recorded");
    return 0;
}

/* ---- Of everything ---- */

static void print_feed_line(const struct cairn_feed_event *event)
{
    const struct cairn_session_event *done = event->done;
    char when[FORMAT_MAX];
    if (done) {
        out("%s  %s %5llu  %s%s%s: ", format_local(when, done->time_ns),
            event->session_name, (unsigned long long)done->turn, done->verb,
            done->id[0] != '\0' ? " " : "", done->id);
        print_text(done->text);
        return;
    }
    out("%s  ", format_local(when, event->log->time_ns));
    if (event->log->run != 0)
        out("run %llu", (unsigned long long)event->log->run);
    else
        out("store");
    out(" %5llu  %s%s", (unsigned long long)event->log->turn,
        event->log->task ? event->log->task : "", event->log->task ? ": " : "");
    print_text(event->log->text ? event->log->text : "");
}

static int print_feed_event(void *context, const struct cairn_feed_event *event)
{
    const struct cairn_log_event *log = event->log;
    const struct cairn_session_event *done = event->done;
    struct doc doc;
    if (!passes(context, done ? done->kind : log->kind, done ? NULL : log->task,
                done ? done->time_ns : log->time_ns))
        return 0;
    if (ui_json()) {
        feed_event_document(&doc, event);
        doc_print(&doc);
    } else {
        print_feed_line(event);
    }
    return ui_output_lost();
}

/* Behind what was printed, for those who go on from there. */
static int print_position(struct cairn_feed *feed)
{
    const char *position = cairn_feed_position(feed);
    struct doc doc;
    if (!position)
        return report_nomem();
    if (!ui_json())
        return 0;
    doc_begin(&doc);
    doc_text(&doc, "type", "position");
    doc_text(&doc, "position", position);
    return doc_print(&doc);
}

/* A commit is seen at once where the system tells of it, and at the latest in a second;
 * of many that come together some at a time. */
static void wait_changed(struct cairn_feed *feed, struct cairn_store *store)
{
    enum { TOGETHER_MS = 50 };
    for (;;) {
        struct pollfd news = {cairn_store_watch(store), POLLIN, 0};
        if (cairn_feed_changed(feed))
            return;
        (void)poll(&news, 1, news.fd < 0 ? POLL_MS : 1000);
        if (news.revents != 0)
            sleep_ms(TOGETHER_MS);
    }
}

static int follow_feed(struct cairn_feed *feed, const struct settings *settings,
                       struct event_filter *filter)
{
    struct cairn_error error = {0};
    uint64_t told = 0;
    for (bool first = true;; first = false) {
        int rc = cairn_feed_next(feed, print_feed_event, filter, &told, &error);
        int status = told > 0 || (first && !rc) ? print_position(feed) : 0;
        out_flush();
        if (rc)
            return report_error(&error);
        if (status != 0 || !settings->given[OPT_FOLLOW_RUN] || ui_output_lost())
            break;
        wait_changed(feed, settings->store);
    }
    end_filter(settings, filter, "no events are recorded");
    return 0;
}

static int print_feed(struct settings *settings)
{
    struct cairn_feed *feed = NULL;
    struct event_filter filter;
    struct cairn_error error = {0};
    int status = begin_filter(settings, &filter)
                     ?: store_for_reading(settings, &settings->store);
    if (status == 0 &&
        cairn_feed_open(&feed, settings->store, settings->text[OPT_POSITION],
                        settings->text[OPT_SESSION], &error) != 0)
        status = report_error(&error);
    if (status == 0)
        status = follow_feed(feed, settings, &filter);
    cairn_feed_close(feed);
    return status;
}

/* ---- Of the store ---- */

static int print_maintenance(struct settings *settings)
{
    struct cairn_error error = {0};
    struct event_listing listing = {.of_run = false};
    if (settings->n_operands || settings->given[OPT_FOLLOW_RUN] ||
        settings->given[OPT_SESSION] || settings->given[OPT_POSITION] ||
        settings->given[OPT_EVENT_TYPE] || settings->given[OPT_ONLY_TASK] ||
        settings->given[OPT_SINCE])
        return report_usage("events", "--maintenance is about the whole store: give no "
                                      "RUN and no other option with it");
    int status = store_for_reading(settings, &settings->store);
    if (status)
        return status;
    if (cairn_store_events(settings->store, 0, print_event, &listing, NULL, &error) !=
        0)
        status = report_error(&error);
    else if (!listing.filter.any)
        say("nothing was collected or repaired in this store yet");
    return status;
}

int command_events(struct settings *settings)
{
    struct cairn_run_info run = {0};
    if (settings->given[OPT_MAINTENANCE])
        return print_maintenance(settings);
    if (settings->n_operands == 0)
        return print_feed(settings);
    if (settings->given[OPT_SESSION])
        return report_usage("events", "give RUN or --session, not both");
    return open_run(settings, &settings->store, &run)
               ?: print_events(settings, settings->store, &run);
}
