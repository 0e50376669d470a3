/* SPDX-License-Identifier: MIT */
/* How far calls are, told each second under the token that a client gave. */
#include "server/call_int.h"
#include "server/server.h"

#include <string.h>

#define PROGRESS_MS 1000

/* What it said last on stderr, as commands do that take long. */
static void put_last_line(struct text *text, const struct call *call)
{
    const char *bytes = text_get(&call->err);
    size_t end = call->err.n, from;
    while (end > 0 && (bytes[end - 1] == '\n' || bytes[end - 1] == '\r'))
        end--;
    for (from = end; from > 0 && bytes[from - 1] != '\n' && bytes[from - 1] != '\r';)
        from--;
    text_bytes(text, bytes + from, end - from < 200 ? end - from : 200);
}

static void tell_progress(struct calls *calls, struct call *call, int64_t now,
                          bool runs)
{
    struct text notice = {NULL, 0, 0, false};
    if (!call->progress || call->cancelled || now - call->told_ms < PROGRESS_MS)
        return;
    call->told_ms = now;
    notice_begin(&notice, "notifications/progress");
    text_key(&notice, "progressToken");
    text_raw(&notice, call->progress, strlen(call->progress));
    text_key(&notice, "progress");
    text_int(&notice, (now - call->began_ms) / 1000);
    text_key(&notice, "message");
    if (runs && call->err.n > 0)
        put_last_line(&notice, call);
    else
        text_string(&notice, runs ? "seconds so far"
                                  : "seconds so far: it waits for "
                                    "calls before it");
    notice_send(calls->server, call->reply.outlet, &notice);
}

void calls_tell(struct calls *calls)
{
    int64_t now = clock_ms();
    for (struct call *call = calls->running; call; call = call->next)
        tell_progress(calls, call, now, true);
    for (struct call *call = calls->waiting; call; call = call->next)
        tell_progress(calls, call, now, false);
}

static int64_t tell_due(const struct call *list)
{
    int64_t due = INT64_MAX;
    for (; list; list = list->next)
        if (list->progress && !list->cancelled && list->told_ms + PROGRESS_MS < due)
            due = list->told_ms + PROGRESS_MS;
    return due;
}

int64_t calls_tell_due(const struct calls *calls)
{
    int64_t running = tell_due(calls->running), waiting = tell_due(calls->waiting);
    return running < waiting ? running : waiting;
}
