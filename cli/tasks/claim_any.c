/* SPDX-License-Identifier: MIT */
/* Looking for a task only reads; the claim chooses again, in its own transaction. */
#include "cli/tasks/claim_any.h"

#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/tasks/claim_exec.h"
#include "cli/tasks/task_step.h"
#include "cli/ui.h"

enum { POLL_FIRST_MS = 100, POLL_MOST_MS = 1000 };

struct any_claim {
    struct settings *settings;
    struct cairn_store *store;
    struct cairn_run_info run;
    struct cairn_claimed *claimed; /* NULL: none yet */
};

/* Why there is none, and whether one may come by waiting. */
struct nothing {
    bool may_come;
    int status;
    char text[400];
};

static int count_offer(void *context, const struct cairn_next_info *info)
{
    uint32_t *free_ones = context;
    *free_ones += !info->claimed;
    return *free_ones > 0;
}

static int report_nothing(const struct nothing *why)
{
    const char *name = why->status == EXIT_NOT_FOUND ? cairn_code_name(CAIRN_ENOTFOUND)
                                                     : cairn_code_name(CAIRN_ESTOPPED);
    return report_failure(why->status, name, "%s", why->text);
}

static int look_why(const struct any_claim *a, struct nothing *why)
{
    unsigned long long run = a->run.run;
    const char *hint = run_hint(a->settings, &a->run);
    bool resume = false;
    int status = resume_needed(a->store, &a->run, &resume);
    *why = (struct nothing){.status = EXIT_STOPPED};
    if (status != 0)
        return status;
    if (a->run.state == CAIRN_RUN_COMPLETED) {
        why->status = EXIT_NOT_FOUND;
        snprintf(why->text, sizeof why->text,
                 "run %llu is completed: there is nothing to do in it", run);
    } else if (a->run.state != CAIRN_RUN_UNFINISHED) {
        snprintf(why->text, sizeof why->text,
                 "run %llu is %s; continue it first: cairn resume %llu --no-wait%s",
                 run, cairn_run_state_name(a->run.state), run, hint);
    } else if (resume) {
        snprintf(why->text, sizeof why->text,
                 "no external task of run %llu can be done before it goes on: cairn "
                 "resume %llu --no-wait%s",
                 run, run, hint);
    } else {
        why->may_come = true;
        snprintf(why->text, sizeof why->text,
                 "no external task of run %llu can be claimed now: cairn status %llu "
                 "--waiting%s",
                 run, run, hint);
    }
    return 0;
}

/* One try. `claimed` stays NULL if there is none. */
static int try_claim(struct any_claim *a)
{
    struct cairn_error error = {0};
    uint32_t free_ones = 0;
    if (cairn_run_get(a->store, a->run.run, &a->run, &error) != 0 ||
        cairn_next(a->store, a->run.run, false, count_offer, &free_ones, &error) != 0)
        return report_error(&error);
    if (free_ones == 0)
        return 0;
    if (cairn_claim_any(&a->claimed, a->store, a->run.run,
                        (int64_t)a->settings->number[OPT_LEASE],
                        a->settings->text[OPT_HOLDER], &error) != 0)
        return report_error(&error);
    return 0;
}

static int claim_one(struct any_claim *a)
{
    int64_t until = now_ms() + (int64_t)a->settings->number[OPT_WAIT];
    int64_t pause = POLL_FIRST_MS;
    for (;;) {
        struct nothing why;
        int status = try_claim(a);
        if (status != 0 || a->claimed)
            return status;
        status = look_why(a, &why);
        if (status != 0)
            return status;
        int64_t left = until - now_ms();
        if (left <= 0 || !why.may_come)
            return report_nothing(&why);
        sleep_ms(left < pause ? left : pause);
        pause = pause * 2 < POLL_MOST_MS ? pause * 2 : POLL_MOST_MS;
    }
}

static int print_claimed(const struct any_claim *a)
{
    const struct cairn_claimed *claimed = a->claimed;
    struct doc doc;
    if (!ui_json()) {
        out("%s %s\n", claimed->token, claimed->task);
        print_lines("", claimed->text);
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "run", claimed->run);
    doc_text(&doc, "task", claimed->task);
    doc_text(&doc, "text", claimed->text);
    doc_text(&doc, "token", claimed->token);
    doc_count(&doc, "lease_ms", a->settings->number[OPT_LEASE]);
    return doc_print(&doc);
}

int claim_any(struct settings *settings)
{
    struct any_claim a = {.settings = settings};
    int status = store_for_writing(settings, &a.store, false);
    if (status == 0)
        status = run_operand(settings, 0, a.store, &a.run);
    if (status == 0)
        status = claim_one(&a);
    if (status == 0 && settings->given[OPT_CLAIM_EXEC])
        status = claim_exec(settings, a.store, a.claimed);
    else if (status == 0)
        status = print_claimed(&a);
    cairn_claimed_free(a.claimed);
    cairn_store_close(a.store);
    return status;
}
