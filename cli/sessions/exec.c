/* SPDX-License-Identifier: MIT */
/* cairn exec: a command runs as if it had been started without cairn. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/sessions/signals.h"
#include "cli/ui.h"

#include <string.h>

static int print_document(const struct cairn_exec_result *result)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "id", result->id);
    doc_number(&doc, "exit_code", result->exit_code);
    doc_number(&doc, "duration_ms", result->duration_ms);
    doc_text(&doc, "reason", result->reason[0] != '\0' ? result->reason : NULL);
    doc_text(&doc, "checkpoint", result->checkpoint[0] ? result->checkpoint : NULL);
    doc_count(&doc, "pruned", result->pruned);
    return doc_print(&doc);
}

/* The exit status of the command counts, whatever became of the record of it; but one
 * whose output is missing has not succeeded. */
static int report_end(int rc, const struct cairn_exec_result *result,
                      const struct cairn_error *error)
{
    bool ended = result->ran || result->reason[0] != '\0';
    if (rc != 0 && !ended)
        return report_error(error);
    if (result->reason[0] != '\0')
        ui_warn("%s", result->reason);
    if (rc != 0)
        ui_warn("the command was not recorded: %s", error->text);
    else if (ui_json())
        (void)print_document(result);
    else
        say_pruned(result->pruned);
    if (result->output_error == 0)
        return result->exit_code;
    ui_warn("the output of the command could not be written: %s",
            strerror(result->output_error));
    return result->exit_code == 0 ? EXIT_SYSTEM : result->exit_code;
}

int command_exec(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_exec_result result = {0};
    struct cairn_exec exec = {.argv = (const char *const *)settings->rest,
                              .out = ui_json() ? 2 : 1,
                              .err = 2};
    int status, rc;
    if (!settings->rest || !settings->rest[0])
        return report_usage(settings->command,
                            "there is no command: cairn exec -- CMD [ARG...]");
    status = session_store(settings, STORE_WRITE, &store);
    if (status != 0)
        return status;
    signals_catch(&exec.host, true);
    rc = cairn_session_exec(store, session_option(settings), &exec, &result, &error);
    signals_release();
    status = report_end(rc, &result, &error);
    hooks_run_and_close(store);
    return status;
}
