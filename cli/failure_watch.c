/* SPDX-License-Identifier: MIT */
#include "cli/failure_watch.h"

#include "cli/ui.h"

#include <stdlib.h>

static const char *session_name(void)
{
    const char *name = getenv("CAIRN_SESSION");
    return name && *name ? name : NULL;
}

static void note_failure(struct failure_watch *watch, const struct cairn_event *event)
{
    struct cairn_task_failure failure = {.run = event->run,
                                         .checkpoint = event->checkpoint,
                                         .task = event->task,
                                         .attempt = event->attempt,
                                         .exit_code = event->exit_code,
                                         .signal = event->signal,
                                         .tail = event->tail,
                                         .tail_bytes = event->tail_bytes,
                                         .secrets = watch->secrets,
                                         .n_secrets = watch->n_secrets};
    struct cairn_captured captured = {0};
    struct cairn_error error = {0};
    int rc = cairn_session_task_failed(watch->store, session_name(), &failure,
                                       &captured, &error);
    if (rc) {
        /* Without a session, and with a key, there is none to be made. */
        watch->off = true;
        if (rc != CAIRN_EUSAGE && (rc != CAIRN_ENOTFOUND || session_name()))
            watch->error = error;
    } else if (captured.made) {
        watch->made++;
        watch->pruned += captured.pruned;
        snprintf(watch->last, sizeof watch->last, "%s", captured.id);
    }
}

void failure_watch_event(void *context, const struct cairn_event *event)
{
    struct failure_watch *watch = context;
    watch->next(watch->next_context, event);
    if (watch->store && !watch->off && event->kind == CAIRN_EVENT_TASK_FINISHED &&
        event->outcome == CAIRN_FAILED && event->attempt)
        note_failure(watch, event);
}

void failure_watch_end(const struct failure_watch *watch)
{
    if (watch->error.code)
        ui_warn("no checkpoint of the session was made: %s", watch->error.text);
    if (watch->made > 1)
        say("%u failed tasks are noted in the session, the last one in checkpoint %s",
            watch->made, watch->last);
    else if (watch->made)
        say("the failed task is noted in the session, in checkpoint %s", watch->last);
    say_pruned(watch->pruned);
}
