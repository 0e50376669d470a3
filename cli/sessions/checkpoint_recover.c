/* SPDX-License-Identifier: MIT */
/* cairn checkpoint recover: the newest valid checkpoint of a session, and what it takes
 * to go on from it. */
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

struct recovery {
    struct doc *doc; /* NULL: text */
    unsigned number; /* of the step that was printed last */
};

static int tell_damaged(void *context, const char *id, const char *text)
{
    struct recovery *recovery = context;
    ui_warn("%s", text);
    if (!recovery->doc)
        return 0;
    doc_object(recovery->doc, NULL);
    doc_text(recovery->doc, "checkpoint", id[0] != '\0' ? id : NULL);
    doc_text(recovery->doc, "text", text);
    doc_end(recovery->doc);
    return 0;
}

static int tell_step(void *context, const struct cairn_step *step)
{
    static const char *const names[] = {[CAIRN_STEP_ENVIRONMENT] = "environment",
                                        [CAIRN_STEP_REPLAY] = "replay",
                                        [CAIRN_STEP_MANUAL] = "manual"};
    struct recovery *recovery = context;
    if (!recovery->doc) {
        out("%2u  %-11s  %s\n", ++recovery->number, names[step->kind], step->text);
        return ui_output_lost();
    }
    doc_object(recovery->doc, NULL);
    doc_text(recovery->doc, "kind", names[step->kind]);
    doc_text(recovery->doc, "text", step->text);
    doc_end(recovery->doc);
    return 0;
}

static void begin_steps(struct recovery *recovery, const struct cairn_recovery *found)
{
    char when[FORMAT_MAX];
    struct doc *doc = recovery->doc;
    if (!doc) {
        out("%s of %s: %s\n", found->id, format_local(when, found->time_ns),
            found->message);
        return;
    }
    doc_end(doc);
    doc_text(doc, "checkpoint", found->id);
    doc_count(doc, "seq", found->seq);
    doc_time(doc, "time", found->time_ns);
    doc_text(doc, "session", found->session);
    doc_text(doc, "message", found->message);
    doc_array(doc, "steps");
}

static int print_recovery(const struct settings *settings, struct cairn_store *store)
{
    struct doc doc = {0};
    struct recovery recovery = {.doc = ui_json() ? &doc : NULL};
    struct cairn_recovery found = {0};
    struct cairn_error error = {0};
    if (recovery.doc) {
        doc_begin(&doc);
        doc_array(&doc, "damaged");
    }
    int rc = cairn_session_newest(store, session_option(settings), tell_damaged,
                                  &recovery, &found, &error);
    if (rc == 0) {
        begin_steps(&recovery, &found);
        rc = cairn_session_steps(store, found.id, tell_step, &recovery, &error);
    }
    if (rc == 0)
        return recovery.doc ? doc_print(&doc) : 0;
    if (recovery.doc)
        doc_discard(&doc);
    return report_error(&error);
}

int command_checkpoint_recover(struct settings *settings)
{
    struct cairn_store *store = NULL;
    int status = session_store(settings, STORE_READ, &store);
    if (status == 0)
        status = print_recovery(settings, store);
    hooks_run_and_close(store);
    return status;
}
