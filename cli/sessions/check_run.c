/* SPDX-License-Identifier: MIT */
/* cairn check run: several checks, one after the other. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/sessions/signals.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

struct check_id {
    char text[CAIRN_ITEM_ID_MAX];
};
struct work {
    struct cairn_store *store;
    const char *session;
    struct check_id *ids; /* heap */
    size_t n, capacity;
    bool out_of_memory;
    struct doc *doc; /* with --json */
    uint64_t passed, others;
};

/* ---- Which ---- */

static int add_id(void *context, const struct cairn_item *item)
{
    struct work *work = context;
    if (work->n == work->capacity) {
        size_t capacity = work->capacity > 0 ? 2 * work->capacity : 16;
        struct check_id *ids = realloc(work->ids, capacity * sizeof *ids);
        if (!ids) {
            work->out_of_memory = true;
            return 1;
        }
        work->ids = ids;
        work->capacity = capacity;
    }
    memcpy(work->ids[work->n++].text, item->id, sizeof item->id);
    return 0;
}

static int take_all(struct work *work)
{
    struct cairn_item_filter filter = {.kind = "check",
                                       .page = {.all = true, .oldest_first = true}};
    struct cairn_error error = {0};
    if (cairn_item_list(work->store, work->session, &filter, add_id, work, NULL,
                        &error) != 0)
        return report_error(&error);
    return 0;
}

/* All of them must be there before the first one runs. */
static int take_named(struct work *work, const struct settings *settings)
{
    for (int i = 0; i < settings->n_operands; i++) {
        struct cairn_error error = {0};
        const char *id = settings->operands[i];
        if (id[0] != 'v')
            return report_usage(settings->command,
                                "'%s' is no check id: those are v1, v2 and "
                                "so on",
                                id);
        if (cairn_item_get(work->store, work->session, id, NULL, add_id, work,
                           &error) != 0)
            return report_error(&error);
    }
    return 0;
}

static int take_ids(struct work *work, const struct settings *settings)
{
    bool all = settings->given[OPT_ALL_CHECKS];
    int status;
    if (all == (settings->n_operands > 0))
        return report_usage(settings->command, "give ids of checks, or --all");
    status = all ? take_all(work) : take_named(work, settings);
    if (status == 0 && work->out_of_memory)
        status =
            report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM), "out of memory");
    return status;
}

/* ---- Running them ---- */

static void tell_document(struct doc *doc, const struct cairn_check_result *result)
{
    doc_object(doc, NULL);
    doc_text(doc, "id", result->id);
    doc_text(doc, "status", result->status);
    if (result->exit_code >= 0)
        doc_number(doc, "exit_code", result->exit_code);
    else
        doc_null(doc, "exit_code");
    doc_count(doc, "attempts", result->attempts);
    doc_number(doc, "duration_ms", result->duration_ms);
    doc_text(doc, "evidence", result->evidence[0] ? result->evidence : NULL);
    doc_text(doc, "checkpoint", result->checkpoint[0] ? result->checkpoint : NULL);
    doc_count(doc, "pruned", result->pruned);
    doc_end(doc);
}

static void tell_line(const struct cairn_check_result *result)
{
    char time[FORMAT_MAX], code[32] = "";
    if (strcmp(result->status, "failed") == 0)
        snprintf(code, sizeof code, ", exit %d", result->exit_code);
    out("%-5s  %-7s  %9s  %" PRIu32 " attempt%s%s\n", result->id, result->status,
        format_duration(time, result->duration_ms), result->attempts,
        result->attempts == 1 ? "" : "s", code);
    out_flush();
    if (result->evidence[0] != '\0')
        say("%s was added because of it", result->evidence);
    if (result->checkpoint[0] != '\0')
        say("checkpoint %s was made because of it", result->checkpoint);
    say_pruned(result->pruned);
}

static int run_one(struct work *work, const char *id,
                   const struct cairn_command_host *host)
{
    struct cairn_check_result result = {0};
    struct cairn_error error = {0};
    if (cairn_check_run(work->store, work->session, id, host, &result, &error) != 0)
        return report_error(&error);
    if (strcmp(result.status, "passed") == 0)
        work->passed++;
    else
        work->others++;
    if (work->doc)
        tell_document(work->doc, &result);
    else
        tell_line(&result);
    return 0;
}

static int run_all(struct work *work)
{
    struct cairn_command_host host;
    int status = 0;
    signals_catch(&host, false);
    for (size_t i = 0; i < work->n && status == 0; i++)
        status = run_one(work, work->ids[i].text, &host);
    signals_release();
    return status;
}

static int run_and_tell(struct work *work)
{
    struct doc doc;
    int status;
    if (ui_json()) {
        work->doc = &doc;
        doc_begin(&doc);
        doc_array(&doc, "checks");
    }
    status = run_all(work);
    bool document = work->doc;
    work->doc = NULL; /* it ends here */
    if (status != 0) {
        if (document)
            doc_discard(&doc);
        return status;
    }
    if (document) {
        doc_end(&doc);
        doc_count(&doc, "passed", work->passed);
        doc_count(&doc, "not_passed", work->others);
        status = doc_print(&doc);
    } else {
        say("%" PRIu64 " passed, %" PRIu64 " not", work->passed, work->others);
    }
    return status == 0 && work->others > 0 ? EXIT_TASK_FAILED : status;
}

int command_check_run(struct settings *settings)
{
    struct work work = {.session = session_option(settings)};
    int status = session_store(settings, STORE_WRITE, &work.store);
    if (status == 0)
        status = take_ids(&work, settings);
    if (status == 0)
        status = run_and_tell(&work);
    hooks_run_and_close(work.store);
    free(work.ids);
    return status;
}
