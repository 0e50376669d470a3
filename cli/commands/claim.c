/* SPDX-License-Identifier: MIT */
/* cairn claim: claims an external task. Only the token goes to stdout. */
#include "cli/commands/run_commands.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/claim_any.h"
#include "cli/tasks/task_step.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

static int print_document(const struct settings *settings, uint64_t run,
                          const char *token)
{
    struct doc doc;
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_text(&doc, "task", settings->operands[1]);
    doc_text(&doc, "token", token);
    doc_count(&doc, "lease_ms", settings->number[OPT_LEASE]);
    return doc_print(&doc);
}

static int check_operands(const struct settings *settings)
{
    static const enum option_id with_any[] = {OPT_WAIT, OPT_CLAIM_EXEC};
    bool any = settings->given[OPT_ANY];
    for (size_t i = 0; !any && i < sizeof with_any / sizeof with_any[0]; i++)
        if (settings->given[with_any[i]])
            return report_usage("claim", "--%s needs --any",
                                option_get(with_any[i])->name);
    if (any && settings->n_operands > 1)
        return report_usage("claim", "give a TASK or --any, not both");
    if (!any && settings->n_operands < 2)
        return report_usage("claim", "an operand is missing: cairn claim RUN TASK, or "
                                     "cairn claim --any [RUN]");
    return 0;
}

int command_claim(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    char token[CAIRN_CLAIM_MAX];
    const char *task = settings->operands[1];
    uint64_t run = 0;
    int status = check_operands(settings);
    if (status == 0 && settings->given[OPT_ANY])
        return claim_any(settings);
    if (status == 0)
        status = run_and_store(settings, &store, &run);
    if (status == 0 &&
        cairn_claim(store, run, task, (int64_t)settings->number[OPT_LEASE],
                    settings->text[OPT_HOLDER], token, &error) != 0)
        status = missing_task(store, run, task, &error);
    else if (status == 0 && ui_json())
        status = print_document(settings, run, token);
    else if (status == 0)
        out("%s\n", token);
    cairn_store_close(store);
    return status;
}
