/* SPDX-License-Identifier: MIT */
/* Looking for a task only reads; the claim chooses again, in its own transaction. Who
 * waits looks again at once when a lease ends, soon after anything was stored, and now
 * and then: the process of a run may be gone, which stores nothing. */
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

#include <poll.h>
#include <signal.h>

/* A look that takes long, in a large run, is made less often: it must not be all that a
 * busy machine does. */
enum { CHANGE_MS = 50, LOOK_MOST_MS = 1000, LOOK_COSTS = 20 };

struct any_claim {
    struct settings *settings;
    struct cairn_store *store;
    struct cairn_run_info run;
    struct cairn_claimed *claimed; /* NULL: none yet */
    int64_t lease_end_ms;          /* the next one; INT64_MAX: none */
};

/* ---- Signals while it waits ---- */

/* They come while it sleeps and at no other time, so that nothing is claimed of which
 * nobody hears. */
static volatile sig_atomic_t came;
static sigset_t while_asleep;

static void on_signal(int number)
{
    came = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler == SIG_IGN)
            continue;
        sigaction(numbers[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
        sigaddset(&held, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &held, &while_asleep);
}

static void end_by_signal(void)
{
    out_flush();
    signal((int)came, SIG_DFL);
    raise((int)came);
    sigprocmask(SIG_SETMASK, &while_asleep, NULL);
}

static void sleep_or_signal(int64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000),
                         .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)ppoll(NULL, 0, &t, &while_asleep);
}

/* ---- Looking ---- */

/* Why there is none, and whether one may come by waiting. */
struct nothing {
    bool may_come;
    int status;
    char text[400];
};

struct offers {
    bool free;
    int64_t left_ms; /* of the lease that ends first */
};

static int add_offer(void *context, const struct cairn_next_info *info)
{
    struct offers *offers = context;
    offers->free = !info->claimed;
    if (info->claimed && info->lease_left_ms < offers->left_ms)
        offers->left_ms = info->lease_left_ms;
    return offers->free;
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
    struct offers offers = {.left_ms = INT64_MAX};
    if (cairn_run_get(a->store, a->run.run, &a->run, &error) != 0 ||
        cairn_next(a->store, a->run.run, true, add_offer, &offers, &error) != 0)
        return report_error(&error);
    a->lease_end_ms =
        offers.left_ms < INT64_MAX ? now_ms() + offers.left_ms : INT64_MAX;
    if (!offers.free)
        return 0;
    if (cairn_claim_any(&a->claimed, a->store, a->run.run,
                        (int64_t)a->settings->number[OPT_LEASE],
                        a->settings->text[OPT_HOLDER], &error) != 0)
        return report_error(&error);
    return 0;
}

/* Until it is worth while to look again, or `until`. */
static void wait_for_change(const struct any_claim *a, uint32_t seen, int64_t began,
                            int64_t until)
{
    int64_t now = now_ms(), cost = now - began;
    int64_t again = now + LOOK_MOST_MS, soonest = now + LOOK_COSTS * cost;
    until = a->lease_end_ms < until ? a->lease_end_ms : until;
    until = again < until ? again : until;
    while (now < until && !came &&
           (now < soonest || cairn_store_changes(a->store) == seen)) {
        sleep_or_signal(until - now < CHANGE_MS ? until - now : CHANGE_MS);
        now = now_ms();
    }
}

static int claim_one(struct any_claim *a)
{
    int64_t until = now_ms() + (int64_t)a->settings->number[OPT_WAIT];
    for (;;) {
        struct nothing why;
        uint32_t seen = cairn_store_changes(a->store);
        int64_t began = now_ms();
        int status = try_claim(a);
        if (status != 0 || a->claimed)
            return status;
        status = look_why(a, &why);
        if (status != 0)
            return status;
        if (came && !ui_json())
            return EXIT_STOPPED;
        if (!why.may_come || now_ms() >= until || came)
            return report_nothing(&why);
        wait_for_change(a, seen, began, until);
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
    if (settings->given[OPT_WAIT])
        catch_signals();
    if (status == 0)
        status = run_operand(settings, 0, a.store, &a.run);
    if (status == 0)
        status = claim_one(&a);
    if (status == 0 && settings->given[OPT_CLAIM_EXEC])
        status = claim_exec(settings, a.store, a.claimed);
    else if (status == 0)
        status = print_claimed(&a);
    if (came && !a.claimed)
        end_by_signal();
    cairn_claimed_free(a.claimed);
    cairn_store_close(a.store);
    return status;
}
