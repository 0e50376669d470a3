/* SPDX-License-Identifier: MIT */
#include "cli/events/hooks.h"

#include "cli/events/event_document.h"
#include "cli/format.h"
#include "cli/ui.h"
#include "cli/unfinished_restore.h"

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

static void tell_budget(void *context, const struct cairn_budget *budget)
{
    char stored[FORMAT_MAX], most[FORMAT_MAX];
    char *word = shell_word(budget->name);
    (void)context;
    ui_warn("session %s takes %s in the store, more than its size-budget of %s: `cairn "
            "session size` shows what takes room, and `cairn checkpoint prune "
            "--session %s` "
            "and `cairn gc` free what only old checkpoints hold. `cairn session config "
            "size-budget SIZE --session %s` sets another limit, or off",
            budget->name, format_bytes(stored, budget->stored),
            format_bytes(most, budget->budget), word ? word : "NAME",
            word ? word : "NAME");
    free(word);
}

/* It comes after the data of the command, and before what hooks write. */
static void budgets_check(struct cairn_store *store)
{
    struct cairn_error error = {0};
    if (cairn_session_budgets(store, tell_budget, NULL, &error) != 0)
        ui_warn("the size-budget of the session was not checked: %s", error.text);
}

void hooks_run(struct cairn_store *store)
{
    const struct cairn_hooks hooks = {
        .document = make_document, .failed = tell_failed, .out = STDERR_FILENO};
    struct cairn_error error = {0};
    if (!store)
        return;
    out_flush(); /* what the command has printed comes first */
    budgets_check(store);
    if (cairn_hooks_run(store, &hooks, &error) != 0)
        ui_warn("the hooks of the session were not run: %s", error.text);
}

void hooks_run_and_close(struct cairn_store *store)
{
    hooks_run(store);
    if (store)
        say_own_unfinished_restores(store);
    cairn_store_close(store);
}
