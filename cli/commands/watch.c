/* SPDX-License-Identifier: MIT */
/* cairn watch: polls a run as long as a process owns it. It only reads the store, so it
 * can be started and stopped at any time. */
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/display.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <string.h>

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
    struct cairn_store *store = NULL;
    struct cairn_run_info run = {0};
    int status = open_run(settings, &store, &run);
    if (status == 0)
        status = follow_run(settings, store, &run);
    cairn_store_close(store);
    return status;
}
