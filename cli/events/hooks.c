/* SPDX-License-Identifier: MIT */
#include "cli/events/hooks.h"

#include "cli/events/event_document.h"
#include "cli/ui.h"

#include <unistd.h>

static char *make_document(void *context, const struct cairn_feed_event *event)
{
    struct doc doc;
    (void)context;
    feed_event_document(&doc, event);
    return doc_take(&doc);
}

static void tell_failed(void *context, const char *text)
{
    (void)context;
    ui_warn("%s", text);
}

void hooks_run(struct cairn_store *store)
{
    const struct cairn_hooks hooks = {
        .document = make_document, .failed = tell_failed, .out = STDERR_FILENO};
    struct cairn_error error = {0};
    if (!store)
        return;
    out_flush(); /* what the command has printed comes first */
    if (cairn_hooks_run(store, &hooks, &error) != 0)
        ui_warn("the hooks of the session were not run: %s", error.text);
}

void hooks_run_and_close(struct cairn_store *store)
{
    hooks_run(store);
    cairn_store_close(store);
}
