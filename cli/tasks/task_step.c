/* SPDX-License-Identifier: MIT */
/* What the commands that name a task of a run have in common. */
#include "cli/tasks/task_step.h"
#include "cli/suggest.h"

#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <string.h>

int run_and_store(struct settings *settings, struct cairn_store **store, uint64_t *run)
{
    if (!operand_is_file(settings, 0) && !number_operand(settings, 0, run))
        return EXIT_USAGE;
    int status = store_for_writing(settings, store, false);
    return status == 0 ? run_number(settings, 0, *store, run) : status;
}

struct prospects {
    bool any;    /* some task is open */
    bool resume; /* one of them waits for no person or program */
};

static int add_prospect(void *context, const struct cairn_waiting_info *info)
{
    struct prospects *prospects = context;
    bool decision = info->waits_for == CAIRN_WAITS_DECISION && !info->check;
    prospects->any = true;
    prospects->resume |= info->waits_for != CAIRN_WAITS_EXTERNAL && !decision;
    return prospects->resume;
}

/* If no task is open, what is left is undoing, or recording the end of the run. */
int resume_needed(struct cairn_store *store, const struct cairn_run_info *run,
                  bool *needed)
{
    struct prospects prospects = {.any = false};
    struct cairn_error error = {0};
    *needed = !run->live && run->state == CAIRN_RUN_CANCELLED;
    if (run->live || run->state != CAIRN_RUN_UNFINISHED)
        return 0;
    if (cairn_waiting(store, run->run, add_prospect, &prospects, &error) != 0)
        return report_error(&error);
    *needed = prospects.resume || !prospects.any;
    return 0;
}

int step_report(const struct settings *settings, struct cairn_store *store,
                uint64_t run, const char *what)
{
    const char *task = settings->operands[1];
    struct cairn_run_info info = {0};
    struct cairn_error error = {0};
    struct doc doc;
    bool resume;
    int status;
    if (cairn_run_get(store, run, &info, &error) != 0)
        return report_error(&error);
    status = resume_needed(store, &info, &resume);
    if (status != 0)
        return status;
    if (!ui_json()) {
        bool failed = strcmp(what, "failed") == 0;
        say("run %llu: %s %s %s", (unsigned long long)run, task, failed ? "has" : "is",
            what);
        if (resume)
            say("continue with: cairn resume %llu%s", (unsigned long long)run,
                store_hint(settings));
        else if (!info.live && info.state == CAIRN_RUN_FAILED && failed)
            say("the run has failed; `cairn resume %llu` runs %s again",
                (unsigned long long)run, task);
        else if (!info.live && info.state == CAIRN_RUN_FAILED)
            say("the run has failed; go on with it: cairn resume %llu%s",
                (unsigned long long)run, store_hint(settings));
        else if (!info.live && failed)
            say("what else waits can still be done: `cairn next %llu`; %s is done "
                "again once the run has ended: `cairn resume %llu`",
                (unsigned long long)run, task, (unsigned long long)run);
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_text(&doc, "task", task);
    doc_text(&doc, "state", what);
    doc_bool(&doc, "resume", resume);
    return doc_print(&doc);
}
