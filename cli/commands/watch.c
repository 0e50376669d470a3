/* SPDX-License-Identifier: MIT */
/* cairn watch: polls a run as long as a process owns it. It only reads the store, so it
 * can be started and stopped at any time. */
#include "cli/block.h"
#include "cli/commands/run_commands.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <string.h>

#define TASKS_LISTED 20000 /* of a larger run only the counts are shown */

struct watch {
    struct block block;
    struct rate rate;
    struct cairn_run_info last;
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
    return watch->block.lines == BLOCK_LINES;
}

static void paint_block(struct watch *watch, struct cairn_store *store,
                        const struct cairn_run_info *run)
{
    char text[PROGRESS_MAX];
    block_reset(&watch->block);
    block_line(&watch->block, "run %llu %s  %s", (unsigned long long)run->run,
               run->workflow,
               progress_text(text, run_done(run), run->total, run->running,
                             rate_get(&watch->rate)));
    if (run->running > 0 && run->total <= TASKS_LISTED)
        (void)cairn_run_tasks(store, run->run, each_task, watch, NULL);
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

static void print_end(struct watch *watch, const struct cairn_run_info *run)
{
    char failed[32] = "";
    block_clear(&watch->block);
    if (run->failed > 0)
        snprintf(failed, sizeof failed, ", %u failed", run->failed);
    if (!ui_json())
        out("run %llu %s: %u of %u completed%s\n", (unsigned long long)run->run,
            run_state_text(run), run->completed, run->total, failed);
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
    print_end(&watch, run);
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
