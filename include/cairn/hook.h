/* SPDX-License-Identifier: MIT */
/* cairn: hooks of a session: commands that are run for what was done in it. They are
 * settings (cairn/session.h): "hook.KIND" is a shell command or "off", where KIND is a
 * kind of event (cairn/board.h); "hook-timeout" a time such as 10s. */
#ifndef CAIRN_HOOK_H
#define CAIRN_HOOK_H

#include "command.h"
#include "error.h"
#include "feed.h"
#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_hooks {
    /* The event as what the hook reads from stdin: to be freed by free(); NULL: out of
     * memory. It must not use the store. */
    char *(*document)(void *context, const struct cairn_feed_event *event);
    /* A hook failed: one line for people. */
    void (*failed)(void *context, const char *text);
    void *context;
    int out; /* where stdout and stderr of hooks go, such as 2; -1: nowhere */
    const struct cairn_command_host *host; /* may be NULL */
};
/* Runs the hooks of all that this handle has committed in sessions since the last call
 * (but no more than 4096 transactions), one after the other: `/bin/sh -c COMMAND` in
 * the caller's directory, in a process group of its own without a terminal, with
 * CAIRN_STORE, CAIRN_SESSION (its name), CAIRN_EVENT (the kind) and CAIRN_HOOK=1 in the
 * environment. Where CAIRN_HOOK is set already none is run, so that what a hook does
 * starts no hook. That a hook fails, is missing or takes longer than "hook-timeout" is
 * told and is no error. */
CAIRN_API int cairn_hooks_run(struct cairn_store *store,
                              const struct cairn_hooks *hooks,
                              struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
