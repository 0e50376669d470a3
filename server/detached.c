/* SPDX-License-Identifier: MIT */
/* Runs that go on after their call was answered: their processes are only reaped. */
#include "server/call_int.h"
#include "server/server.h"

#include <string.h>
#include <unistd.h>

/* A line of what it printed says which run it is. */
static bool has_run(const struct text *out)
{
    for (const char *line = text_get(out), *end; (end = strchr(line, '\n'));
         line = end + 1) {
        char why[160];
        struct value *value = value_parse(line, (size_t)(end - line), why);
        int64_t run;
        bool found = value_integer(value_member(value, "run"), &run);
        value_free(value);
        if (found)
            return true;
    }
    return false;
}

bool call_goes_on(const struct call *call)
{
    return call->starts && !call->signalled && !call->cancelled && has_run(&call->out);
}

/* With its pipes closed its lines go nowhere; that does not stop it. */
void calls_detach(struct calls *calls, struct call *call)
{
    calls->detached[calls->n_detached++] = call->child.pidfd;
    child_close(&call->child);
}

void calls_reap_detached(struct calls *calls)
{
    for (size_t i = calls->n_detached; i-- > 0;) {
        struct pollfd fd = {calls->detached[i], POLLIN, 0};
        struct child child = CHILD_NONE;
        if (poll(&fd, 1, 0) != 1)
            continue;
        child.pidfd = calls->detached[i];
        child_reap(&child);
        calls->detached[i] = calls->detached[--calls->n_detached];
    }
}

void calls_leave_detached(struct calls *calls)
{
    for (size_t i = 0; i < calls->n_detached; i++)
        close(calls->detached[i]);
}
