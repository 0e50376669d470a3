/* SPDX-License-Identifier: MIT */
/* cairn belief cascade. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <stdlib.h>

struct steps {
    struct doc *doc; /* with --json */
    bool any;
};

static int print_step(void *context, const struct cairn_cascade_step *step)
{
    struct steps *steps = context;
    if (steps->doc) {
        doc_object(steps->doc, NULL);
        doc_text(steps->doc, "id", step->id);
        doc_count(steps->doc, "depth", step->depth);
        doc_real(steps->doc, "before", step->before);
        doc_real(steps->doc, "after", step->after);
        doc_end(steps->doc);
        return 0;
    }
    if (!steps->any)
        out("%-6s  %5s  %6s  %6s\n", "ID", "DEPTH", "BEFORE", "AFTER");
    steps->any = true;
    out("%-6s  %5u  %6.2f  %6.2f\n", step->id, step->depth, step->before, step->after);
    return 0;
}

static int preview(const struct settings *settings, struct cairn_store *store,
                   double confidence)
{
    struct doc doc = {0};
    struct steps steps = {.doc = ui_json() ? &doc : NULL};
    struct cairn_cascade cascade;
    struct cairn_error error = {0};
    if (steps.doc) {
        doc_begin(&doc);
        doc_array(&doc, "steps");
    }
    if (cairn_belief_preview(store, session_option(settings), settings->operands[0],
                             confidence, (uint32_t)settings->number[OPT_PAGE],
                             print_step, &steps, &cascade, &error) != 0) {
        if (steps.doc)
            doc_discard(&doc);
        return report_error(&error);
    }
    if (!steps.doc) {
        out_flush();
        say("page %u of %u; to do this: `cairn belief cascade %s %s --token %s`",
            cascade.page, cascade.pages, settings->operands[0], settings->operands[1],
            cascade.token);
        return 0;
    }
    doc_end(&doc);
    doc_count(&doc, "total", cascade.steps);
    doc_count(&doc, "page", cascade.page);
    doc_count(&doc, "pages", cascade.pages);
    doc_text(&doc, "token", cascade.token);
    return doc_print(&doc);
}

static int carry_on(const struct settings *settings, struct cairn_store *store,
                    double confidence)
{
    struct cairn_board_result result = {0};
    struct cairn_error error = {0};
    struct doc doc;
    if (cairn_belief_cascade(store, session_option(settings), settings->operands[0],
                             confidence, settings->text[OPT_PREVIEWED], &result,
                             &error) != 0)
        return report_error(&error);
    if (!ui_json()) {
        say("%u belief%s changed; `cairn session undo` takes it back", result.changed,
            plural(result.changed));
        say_pruned(result.pruned);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "id", result.id);
    doc_count(&doc, "changed", result.changed);
    doc_count(&doc, "pruned", result.pruned);
    return doc_print(&doc);
}

int command_belief_cascade(struct settings *settings)
{
    const char *text = settings->operands[1];
    struct cairn_store *store = NULL;
    bool look = settings->given[OPT_PREVIEW];
    char *end;
    double confidence = strtod(text, &end);
    if (end == text || *end)
        return report_usage("belief cascade", "CONFIDENCE is a number from 0 to 1");
    if (settings->given[OPT_PAGE] && !look)
        return report_usage("belief cascade", "--page needs --preview");
    if (settings->given[OPT_PREVIEWED] && look)
        return report_usage("belief cascade", "give --preview or --token, not both");
    int status = session_store(settings, look ? STORE_READ : STORE_WRITE, &store);
    if (status == 0)
        status = look ? preview(settings, store, confidence)
                      : carry_on(settings, store, confidence);
    hooks_run_and_close(store);
    return status;
}
