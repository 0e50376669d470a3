/* SPDX-License-Identifier: MIT */
/* cairn exec and check run: commands as if they had been started without cairn. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include "cairn.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

static const int caught[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP};

#define CAUGHT (COUNT_OF(caught))

/* A signal handler gets no context. */
static volatile sig_atomic_t received, keys_are_shared;

/* The kernel itself sends what a key means, and the end of a terminal, to the whole
 * group. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal != SIGTSTP && (!keys_are_shared || info->si_code <= 0))
        received = signal;
}

static void suspend(void *context)
{
    (void)context;
    (void)raise(SIGSTOP);
}

/* What was ignored when we were started stays ignored. `shared`: the command has our
 * terminal. Otherwise keys are meant for us, and Ctrl-Z is not caught. */
static void signals_catch(struct cairn_command_host *host, bool shared)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;
    sigemptyset(&action.sa_mask);
    keys_are_shared = shared;
    for (size_t i = 0; i < CAUGHT; i++) {
        if (caught[i] == SIGTSTP && !shared)
            continue;
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
    *host = (struct cairn_command_host){.signal = &received,
                                        .suspend = shared ? suspend : NULL};
}

static void signals_release(void)
{
    struct sigaction old;
    for (size_t i = 0; i < CAUGHT; i++) {
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_sigaction == on_signal)
            signal(caught[i], SIG_DFL);
    }
}

/* cairn exec: a command runs as if it had been started without cairn. */

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
    struct cairn_error error = {0};
    struct cairn_exec_result result = {0};
    struct cairn_command_host host = {.size = sizeof host};
    struct cairn_exec exec = {.size = sizeof exec,
                              .argv = (const char *const *)settings->rest,
                              .out = ui_json() ? 2 : 1,
                              .err = 2,
                              .host = &host};
    int status, rc;
    if (!settings->rest || !settings->rest[0])
        return report_usage(settings->command,
                            "there is no command: cairn exec -- CMD [ARG...]");
    status = session_store(settings, STORE_WRITE);
    if (status != 0)
        return status;
    signals_catch(&host, true);
    rc = cairn_session_exec(settings->store, session_option(settings), &exec, &result,
                            &error);
    signals_release();
    return report_end(rc, &result, &error);
}

/* cairn check run: several checks, one after the other. */

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
    return report_code(cairn_item_list(work->store, work->session, &filter, add_id,
                                       work, NULL, &error),
                       &error);
}

/* All of them must be there before the first one runs. */
static int take_named(struct work *work, const struct settings *settings)
{
    for (int i = 0; i < settings->n_operands; i++) {
        struct cairn_error error = {0};
        const char *id = settings->operands[i];
        if (id[0] != 'v')
            return report_usage(settings->command,
                                "'%s' is not a check id: those are v1, v2 and "
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
        status = report_nomem();
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
        plural(result->attempts), code);
    out_flush();
    if (result->evidence[0] != '\0')
        say("%s was added by this", result->evidence);
    if (result->checkpoint[0] != '\0')
        say("checkpoint %s was created by this", result->checkpoint);
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
    struct doc doc, *document = doc_open(&doc, "checks");
    work->doc = document;
    int status = run_all(work);
    work->doc = NULL; /* it ends here */
    if (status != 0)
        return doc_close(document, status);
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
    int status = session_store(settings, STORE_WRITE);
    work.store = settings->store;
    if (status == 0)
        status = take_ids(&work, settings) ?: run_and_tell(&work);
    free(work.ids);
    return status;
}
