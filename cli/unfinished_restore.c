/* SPDX-License-Identifier: MIT */
#include "cli/unfinished_restore.h"

#include "cli/format.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct telling {
    unfinished_restore_fn *line;
    void *context;
};

static int tell_one(void *context, const struct cairn_unfinished_restore *restore)
{
    struct telling *telling = context;
    char text[512], remedy[512];
    char *word = shell_word(restore->name);
    const char *id = restore->id[0] != '\0' ? restore->id : "files";
    if (restore->lost)
        snprintf(text, sizeof text,
                 "the restore of %s (session %s) was interrupted, and the directory of "
                 "its files is not there: bring it back, or give the restore up",
                 id, restore->name);
    else
        snprintf(text, sizeof text,
                 "the restore of %s (session %s) was interrupted: %llu of %llu files, "
                 "links and directories are in place",
                 id, restore->name, (unsigned long long)restore->placed,
                 (unsigned long long)restore->files);
    snprintf(remedy, sizeof remedy, "%s --session %s",
             restore->lost ? "cairn session config files off"
                           : "cairn checkpoint restore --finish",
             word ? word : "NAME");
    free(word);
    telling->line(telling->context, text, remedy);
    return 0;
}

int each_unfinished_restore(struct cairn_store *store, unfinished_restore_fn *line,
                            void *context)
{
    struct telling telling = {.line = line, .context = context};
    struct cairn_error error = {0};
    int rc = cairn_restore_unfinished(store, NULL, true, tell_one, &telling, &error);
    return rc == 0 ? 0 : report_error(&error);
}

static void say_one(void *context, const char *text, const char *remedy)
{
    (void)context;
    ui_warn("%s; `%s` %s", text, remedy,
            strstr(remedy, "--finish") ? "finishes it" : "does that");
}

void say_unfinished_restores(struct cairn_store *store, const char *session, bool all)
{
    struct telling telling = {.line = say_one};
    (void)cairn_restore_unfinished(store, session, all, tell_one, &telling, NULL);
}

static const char *own; /* of the process: what it was given does not change */

void unfinished_restores_of(const char *session)
{
    own = session;
}

void say_own_unfinished_restores(struct cairn_store *store)
{
    say_unfinished_restores(store, own, false);
}

static int add_document(void *context, const struct cairn_unfinished_restore *restore)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    doc_text(doc, "session", restore->name);
    doc_text(doc, "checkpoint", restore->id[0] != '\0' ? restore->id : NULL);
    doc_count(doc, "files", restore->files);
    doc_count(doc, "placed", restore->placed);
    doc_bool(doc, "lost", restore->lost);
    doc_end(doc);
    return 0;
}

int unfinished_restores_document(struct doc *doc, struct cairn_store *store,
                                 const char *session)
{
    struct cairn_error error = {0};
    doc_array(doc, "unfinished_restores");
    int rc = cairn_restore_unfinished(store, session, false, add_document, doc, &error);
    doc_end(doc);
    return rc == 0 ? 0 : report_error(&error);
}

static int note_any(void *context, const struct cairn_unfinished_restore *restore)
{
    (void)restore;
    *(bool *)context = true;
    return 0;
}

int finish_restores(struct cairn_store *store, const char *session)
{
    struct doc doc = {0};
    struct cairn_error error = {0};
    bool any = false;
    if (cairn_restore_unfinished(store, session, false, note_any, &any, &error) != 0)
        return report_error(&error);
    if (ui_json()) {
        doc_begin(&doc);
        int status = unfinished_restores_document(&doc, store, session);
        if (status != 0)
            doc_discard(&doc);
        if (status != 0)
            return status;
    }
    if (cairn_restore_finish(store, session, &error) == 0) {
        if (!any)
            say("nothing to finish: no restore was interrupted");
        return ui_json() ? doc_print(&doc) : 0;
    }
    if (ui_json())
        doc_discard(&doc);
    return report_error(&error);
}
