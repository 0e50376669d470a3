/* SPDX-License-Identifier: MIT */
/* What is said at the end of a run. */
#include "cli/describe.h"
#include "cli/display.h"
#include "cli/format.h"
#include "cli/ui.h"

#include <stdio.h>
#include <string.h>

/* ", 12 completed" for what is not zero. */
static void add_count(char *text, size_t size, uint32_t count, const char *name)
{
    size_t used = strlen(text);
    if (count > 0)
        snprintf(text + used, size - used, "%s%u %s", used > 0 ? ", " : "", count,
                 name);
}

static const char *state_text(const struct cairn_run_result *result)
{
    return result->state == CAIRN_RUN_COMPLETED ? "completed"
           : result->state == CAIRN_RUN_FAILED  ? "failed"
           : result->state == CAIRN_RUN_UNDONE  ? "undone"
                                                : "stopped";
}

/* What has to be done before the run can continue, and the command for it. */
static void print_advice(const struct display *display,
                         const struct cairn_run_result *result)
{
    unsigned long long run = result->run;
    uint32_t unknown = result->unknown;
    unknown -= display->checked < unknown ? display->checked : unknown;
    if (!display->stored)
        return;
    if (display->checked > 0)
        say_always("%u task%s must not run twice; %s check decides: cairn resume "
                   "%llu%s",
                   display->checked, display->checked == 1 ? "" : "s",
                   display->checked == 1 ? "its" : "their", run, display->hint);
    if (unknown > 0)
        say_always("%u task%s must not run twice; decide: cairn resolve %llu %s "
                   "done|failed|rerun%s  (cairn status %llu%s)",
                   unknown, unknown == 1 ? "" : "s", run,
                   unknown == 1 && display->undecided ? display->undecided : "TASK",
                   display->hint, run, display->hint);
    if (result->state == CAIRN_RUN_FAILED && result->attempts == 0 &&
        display->n_failed == 0 && result->failed > 0 && !result->nothing_to_do &&
        !display->undo && result->exit_status != 0)
        say_always("nothing was run: a failure that was reported before has ended the "
                   "run; `cairn resume %llu` runs what failed again",
                   run);
    if (result->waiting > 0 && result->state == CAIRN_RUN_UNFINISHED)
        say("%u external task%s can be done now: cairn next %llu%s", result->waiting,
            plural(result->waiting), run, display->hint);
}

static void count_outcomes(char *counts, size_t size,
                           const struct cairn_run_result *result)
{
    uint32_t open = result->unknown + result->waiting;
    add_count(counts, size, result->completed, "completed");
    add_count(counts, size, result->failed,
              failed_text(result->state == CAIRN_RUN_COMPLETED));
    add_count(counts, size, result->skipped, "skipped");
    add_count(counts, size, result->cancelled, "cancelled");
    add_count(counts, size, result->undone, "undone");
    add_count(counts, size, result->unknown, "unknown");
    add_count(counts, size, result->waiting, "waiting");
    add_count(counts, size, result->pending > open ? result->pending - open : 0,
              "not run");
}

static void print_summary(struct display *display,
                          const struct cairn_run_result *result)
{
    char counts[240] = "", number[32] = "", took[FORMAT_MAX];
    count_outcomes(counts, sizeof counts, result);
    format_duration(took, now_ms() - display->started_ms);
    if (display->stored)
        snprintf(number, sizeof number, " %llu", (unsigned long long)result->run);
    if (display->quiet && result->state != CAIRN_RUN_FAILED)
        return;
    if (result->nothing_to_do)
        say_always("run%s: nothing to do (%s)", number, counts);
    else if (result->state == CAIRN_RUN_COMPLETED)
        say_always("run%s completed: %s in %s", number, counts, took);
    else if (result->not_chosen > 0 && result->exit_status == 0 && display->stored)
        say_always("run%s: what was chosen is done: %s in %s; the rest with: cairn "
                   "resume%s%s",
                   number, counts, took, number, display->hint);
    else if (result->not_chosen > 0 && result->exit_status == 0)
        say_always("run: what was chosen is done: %s in %s", counts, took);
    else if (display->stored && display->fresh)
        say_always(
            "run%s %s: %s in %s; %s gone: put %s back and resume with: cairn "
            "resume%s%s, or begin a new run with: %s",
            number, state_text(result), counts, took,
            result->gone == 1 ? "the file of a member is" : "files of members are",
            result->gone == 1 ? "it" : "them", number, display->hint, display->fresh);
    else if (display->stored)
        say_always("run%s %s: %s in %s; resume with: cairn resume%s%s", number,
                   state_text(result), counts, took, number, display->hint);
    else
        say_always("run %s: %s in %s; it cannot be resumed, nothing was recorded",
                   state_text(result), counts, took);
}

/* Of this call: what has failed, and how to see it. */
static void print_failed(const struct display *display,
                         const struct cairn_run_result *result)
{
    char names[FAILED_NAMES * (LIVE_TEXT + 2) + 1] = "", more[48] = "", see[64] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < display->n_failed && i < FAILED_NAMES; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 i > 0 ? ", " : "", display->failed[i]);
    if (display->n_failed == 0)
        return;
    if (display->n_failed > FAILED_NAMES)
        snprintf(more, sizeof more, " and %u more", display->n_failed - FAILED_NAMES);
    if (display->stored)
        snprintf(see, sizeof see, "; see: cairn log --failed --run %llu",
                 (unsigned long long)result->run);
    say("%s: %s%s%s%s", failed_text(result->state == CAIRN_RUN_COMPLETED), names, more,
        see, display->stored ? display->hint : "");
}

void display_result(struct display *display, const struct cairn_run_result *result)
{
    if (display->json) {
        result_print(++display->sequence, result);
        return;
    }
    if (display->live)
        block_clear(&display->block);
    if (result->damaged)
        ui_warn("damaged checkpoints were skipped; `cairn checkpoint verify` names "
                "them");
    if (result->unsaved > 0)
        ui_warn("%u outcome%s could not be saved: those tasks will run again",
                result->unsaved, plural(result->unsaved));
    if (result->lost_outputs > 0)
        ui_warn("the output of %u attempt%s could not be kept", result->lost_outputs,
                plural(result->lost_outputs));
    if (result->failed_undos > 0)
        ui_warn("%u undo command%s failed; see: cairn status %llu%s",
                result->failed_undos, plural(result->failed_undos),
                (unsigned long long)result->run, display->hint);
    print_failed(display, result);
    print_summary(display, result);
    print_advice(display, result);
}
