/* SPDX-License-Identifier: MIT */
#include "cli/tasks/claim_exec.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/worker.h"
#include "cli/ui.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { RETRY_MS = 1000, MESSAGE_MOST = 65536 /* of cairn_fail */ };

struct execution {
    struct settings *settings;
    struct cairn_store *store;
    const struct cairn_claimed *claimed;
    int64_t lease_ms;
    struct worker worker;
    struct cairn_param *values; /* names and values are on the heap */
    size_t n_values;
    char *message; /* heap: why it failed, or NULL */
    bool refused;  /* it has failed, also if there was no memory to say why */
};

/* ---- The command ---- */

static int tell_environment(const struct cairn_claimed *claimed)
{
    char run[24];
    snprintf(run, sizeof run, "%llu", (unsigned long long)claimed->run);
    if (setenv("CAIRN_CLAIM_RUN", run, 1) != 0 ||
        setenv("CAIRN_CLAIM_TASK", claimed->task, 1) != 0 ||
        setenv("CAIRN_CLAIM_TEXT", claimed->text, 1) != 0 ||
        setenv("CAIRN_CLAIM_TOKEN", claimed->token, 1) != 0)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    return 0;
}

/* The task can be claimed by others at once. */
static void give_back(const struct execution *x)
{
    (void)cairn_renew(x->store, x->claimed->run, x->claimed->task, x->claimed->token, 0,
                      NULL);
}

static int renew(const struct execution *x, struct cairn_error *error)
{
    return cairn_renew(x->store, x->claimed->run, x->claimed->task, x->claimed->token,
                       x->lease_ms, error);
}

/* Until it has ended. 0, or the exit status when the claim was lost or a signal came,
 * after it was ended. What the system refuses is tried again while the lease lasts. */
static int keep_lease(struct execution *x)
{
    int64_t until = now_ms() + x->lease_ms, pause = x->lease_ms / 3;
    for (;;) {
        struct cairn_error error = {0};
        switch (worker_wait(&x->worker, pause > 0 ? pause : 1)) {
        case WORKER_ENDED:
            return 0;
        case WORKER_SIGNAL:
            worker_stop(&x->worker);
            give_back(x);
            return report_failure(EXIT_STOPPED, cairn_code_name(CAIRN_ESTOPPED),
                                  "stopped; task %s is given back", x->claimed->task);
        case WORKER_TIME:
            break;
        }
        int64_t asked = now_ms();
        int rc = renew(x, &error);
        pause = rc == 0 ? x->lease_ms / 3 : RETRY_MS;
        if (rc == 0) {
            until = asked + x->lease_ms;
        } else if (rc == CAIRN_EOWNED || rc == CAIRN_EUSAGE || now_ms() >= until) {
            worker_stop(&x->worker);
            return report_error(&error);
        }
    }
}

/* ---- What it has said ---- */

static void refuse(struct execution *x, const char *why)
{
    free(x->message);
    x->message = strndup(why, text_fit(why, MESSAGE_MOST));
    x->refused = true;
}

static bool add_value(struct execution *x, const char *key, const struct json_in *in)
{
    struct cairn_param *values =
        realloc(x->values, (x->n_values + 1) * sizeof *x->values);
    if (!values)
        return false;
    x->values = values;
    values[x->n_values].name = strdup(key);
    values[x->n_values].value = json_in_plain(in);
    x->n_values++;
    return values[x->n_values - 1].name && values[x->n_values - 1].value;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Its stdout as an object of values; nothing is an object without any. */
static int read_values(struct execution *x)
{
    const struct json_in *member;
    struct json_in *in;
    void *cursor = NULL;
    const char *key;
    bool enough = true;
    if (x->worker.failed)
        return CAIRN_ENOMEM;
    if (x->worker.too_much ||
        memchr(x->worker.output ? x->worker.output : "", '\0', x->worker.used)) {
        refuse(x, "its stdout is longer than 2 MiB, or has a NUL byte");
        return 0;
    }
    if (x->worker.used == 0 || !x->worker.output || is_blank(x->worker.output))
        return 0;
    in = json_in_parse(x->worker.output);
    if (!json_in_is_object(in))
        refuse(x,
               "its stdout is no JSON object of values, such as {\"verdict\": \"ok\"}");
    while (json_in_is_object(in) && enough &&
           (member = json_in_next(in, &cursor, &key)))
        enough = json_in_is_null(member) || add_value(x, key, member);
    json_in_free(in);
    return enough ? 0 : CAIRN_ENOMEM;
}

/* The member "message" of what a command printed that failed, or its end. */
static void describe_failure(struct execution *x, int ended)
{
    for (size_t i = 0; i < x->n_values; i++)
        if (strcmp(x->values[i].name, "message") == 0) {
            refuse(x, x->values[i].value);
            return;
        }
    char end[FORMAT_MAX];
    format_end(end, WIFEXITED(ended) ? WEXITSTATUS(ended) : -1,
               WIFSIGNALED(ended) ? WTERMSIG(ended) : 0, false, NULL);
    refuse(x, end);
}

/* ---- Reporting it ---- */

/* The run has ended meanwhile, perhaps. Others need not wait for the end of the lease.
 */
static int answer_lost(const struct execution *x, const struct cairn_error *error)
{
    if (error->code == CAIRN_EUSAGE) {
        give_back(x);
        ui_warn(
            "the answer of %s was not taken; %s is given back, and is offered again "
            "when the run goes on",
            x->claimed->task, x->claimed->task);
    }
    return report_error(error);
}

static int fail_task(const struct execution *x)
{
    struct cairn_error error = {0};
    if (cairn_fail(x->store, x->claimed->run, x->claimed->task, x->claimed->token,
                   x->message, &error) != 0)
        return answer_lost(x, &error);
    return EXIT_TASK_FAILED;
}

/* What it said of itself may be refused (a name, an output that is missing): then it
 * has failed. */
static int complete_task(struct execution *x)
{
    struct cairn_error error = {0};
    int rc = cairn_complete(x->store, x->claimed->run, x->claimed->task,
                            x->claimed->token, x->values, x->n_values, &error);
    if (rc == 0)
        return 0;
    if (rc != CAIRN_EUSAGE && rc != CAIRN_ELIMIT)
        return report_error(&error);
    refuse(x, error.text);
    return fail_task(x);
}

static int print_end(const struct execution *x, int status)
{
    const char *state = status == 0 ? "completed" : "failed";
    struct doc doc;
    if (status != 0 && status != EXIT_TASK_FAILED)
        return status;
    if (!ui_json()) {
        say("run %llu: %s is %s%s%s", (unsigned long long)x->claimed->run,
            x->claimed->task, state, x->message ? ": " : "",
            x->message ? x->message : "");
        return status;
    }
    doc_begin(&doc);
    doc_count(&doc, "run", x->claimed->run);
    doc_text(&doc, "task", x->claimed->task);
    doc_text(&doc, "state", state);
    doc_text(&doc, "text", x->message);
    int printed = doc_print(&doc);
    return status != 0 ? status : printed;
}

static int settle(struct execution *x, int ended)
{
    bool good = WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
    if (read_values(x) != 0)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    if (!good)
        describe_failure(x, ended);
    return print_end(x, good && !x->refused ? complete_task(x) : fail_task(x));
}

int claim_exec(struct settings *settings, struct cairn_store *store,
               const struct cairn_claimed *claimed)
{
    struct execution x = {.settings = settings,
                          .store = store,
                          .claimed = claimed,
                          .lease_ms = (int64_t)settings->number[OPT_LEASE]};
    int status = tell_environment(claimed), sys;
    if (status != 0)
        return status;
    sys = worker_start(&x.worker, settings->text[OPT_CLAIM_EXEC], claimed->text);
    if (sys != 0) {
        give_back(&x);
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                              "cannot start a shell: %s", strerror(sys));
    }
    status = keep_lease(&x);
    int ended = worker_reap(&x.worker);
    if (status == 0)
        status = settle(&x, ended);
    for (size_t i = 0; i < x.n_values; i++) {
        free((void *)(uintptr_t)x.values[i].name);
        free((void *)(uintptr_t)x.values[i].value);
    }
    free(x.values);
    free(x.message);
    worker_release(&x.worker);
    return status;
}
