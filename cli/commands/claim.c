/* SPDX-License-Identifier: MIT */
/* cairn claim and renew: an external task is claimed, and with --exec a command does
 * it. */
#include "cli/commands/commands.h"
#include "cli/commands/steps.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKER_OUTPUT_MAX ((size_t)2 << 20)

struct worker {
    pid_t pid;
    int out, in, pidfd, signals; /* -1: closed */
    const char *input;           /* what it reads from stdin, and how much is left */
    size_t input_left;
    char *output; /* [used] and a NUL */
    size_t used, capacity;
    bool too_much; /* more than WORKER_OUTPUT_MAX, which is thrown away */
    bool failed;   /* out of memory */
};

enum worker_event {
    WORKER_ENDED = 1, /* all that it wrote is collected */
    WORKER_TIME,      /* the time has passed */
    WORKER_SIGNAL     /* SIGINT, SIGTERM or SIGHUP, which wait for this from now on */
};

/* Starts `sh -c command`, with stderr and the environment of this process. `input` must
 * outlive it. Returns 0 or an errno. */
static int worker_start(struct worker *worker, const char *command, const char *input);
static void worker_release(struct worker *worker);

enum { GRACE_MS = 5000 };

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void worker_release(struct worker *w)
{
    close_one(&w->out);
    close_one(&w->in);
    close_one(&w->pidfd);
    close_one(&w->signals);
    free(w->output);
    *w = (struct worker){.out = -1, .in = -1, .pidfd = -1, .signals = -1};
}

/* ---- Starting ---- */

/* They are read from a descriptor, so that none is missed between two waits. A reader
 * of stdin that goes away is not our end. */
static int take_signals(struct worker *w)
{
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGHUP);
    sigaddset(&taken, SIGQUIT);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    signal(SIGPIPE, SIG_IGN);
    w->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return w->signals < 0 ? errno : 0;
}

static int spawn(struct worker *w, const char *command, int in, int out)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int sys = posix_spawn_file_actions_init(&files);
    if (sys != 0)
        return sys;
    sys = posix_spawnattr_init(&attributes);
    if (sys == 0) {
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setpgroup(&attributes, 0);
        sys = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
        if (sys == 0)
            sys = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
        if (sys == 0)
            sys = posix_spawn(&w->pid, "/bin/sh", &files, &attributes,
                              (char *const *)(uintptr_t)argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return sys;
}

static int start_between(struct worker *w, const char *command, int in[2], int out[2])
{
    int sys = spawn(w, command, in[0], out[1]);
    if (sys != 0)
        return sys;
    w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
    sys = errno;
    if (w->pidfd < 0) {
        kill(-w->pid, SIGKILL);
        waitpid(w->pid, NULL, 0);
        return sys;
    }
    w->in = in[1];
    w->out = out[0];
    in[1] = out[0] = -1;
    fcntl(w->in, F_SETFL, O_NONBLOCK);
    fcntl(w->out, F_SETFL, O_NONBLOCK);
    return 0;
}

static int worker_start(struct worker *w, const char *command, const char *input)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    *w = (struct worker){.out = -1,
                         .in = -1,
                         .pidfd = -1,
                         .signals = -1,
                         .input = input,
                         .input_left = strlen(input)};
    int sys = take_signals(w);
    if (sys == 0 && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0))
        sys = errno;
    if (sys == 0)
        sys = start_between(w, command, in, out);
    for (int i = 0; i < 2; i++) {
        close_one(&in[i]);
        close_one(&out[i]);
    }
    if (sys != 0)
        worker_release(w);
    return sys;
}

/* ---- While it runs ---- */

static bool make_room(struct worker *w)
{
    size_t capacity = w->capacity ? w->capacity * 2 : 4096;
    char *output;
    if (w->used + 1 < w->capacity)
        return true;
    output = realloc(w->output, capacity);
    if (!output) {
        w->failed = true;
        return false;
    }
    w->output = output;
    w->capacity = capacity;
    return true;
}

/* All that is there. */
static void read_output(struct worker *w)
{
    char dropped[4096];
    while (w->out >= 0) {
        bool keeps = !w->too_much && make_room(w);
        ssize_t n = keeps ? read(w->out, w->output + w->used, w->capacity - w->used - 1)
                          : read(w->out, dropped, sizeof dropped);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close_one(&w->out);
            return;
        }
        if (keeps) {
            w->used += (size_t)n;
            w->output[w->used] = '\0';
            w->too_much = w->used > WORKER_OUTPUT_MAX;
        }
    }
}

static void write_input(struct worker *w)
{
    while (w->in >= 0 && w->input_left > 0) {
        ssize_t n = write(w->in, w->input, w->input_left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            break; /* it does not want it */
        w->input += n;
        w->input_left -= (size_t)n;
    }
    close_one(&w->in);
}

static bool read_signal(struct worker *w)
{
    struct signalfd_siginfo info;
    return read(w->signals, &info, sizeof info) == (ssize_t)sizeof info;
}

/* Until something happens, at most `timeout_ms`. */
static enum worker_event worker_wait(struct worker *w, int64_t timeout_ms)
{
    int64_t until = now_ms() + timeout_ms;
    for (;;) {
        struct pollfd watched[] = {{.fd = w->pidfd, .events = POLLIN},
                                   {.fd = w->signals, .events = POLLIN},
                                   {.fd = w->out, .events = POLLIN},
                                   {.fd = w->in, .events = POLLOUT}};
        int64_t left = until - now_ms();
        if (left <= 0)
            return WORKER_TIME;
        if (poll(watched, 4, left < 60000 ? (int)left : 60000) < 0 && errno != EINTR)
            return WORKER_TIME;
        if (watched[3].revents)
            write_input(w);
        if (watched[2].revents || watched[0].revents)
            read_output(w);
        if (watched[0].revents)
            return WORKER_ENDED;
        if (watched[1].revents && read_signal(w))
            return WORKER_SIGNAL;
    }
}

/* Ends its group: TERM, and KILL after some seconds. */
static void worker_stop(struct worker *w)
{
    int64_t until = now_ms() + GRACE_MS;
    kill(-w->pid, SIGTERM);
    while (now_ms() < until && worker_wait(w, until - now_ms()) != WORKER_ENDED)
        ;
    kill(-w->pid, SIGKILL);
}

/* Reaps it. What is left of its group is killed. Returns what waitpid gives. */
static int worker_reap(struct worker *w)
{
    int status = 0;
    siginfo_t info;
    /* The group keeps its number until its leader is reaped. */
    while (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    kill(-w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

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
        return report_nomem();
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
        refuse(
            x,
            "its stdout is not a JSON object of values, such as {\"verdict\": \"ok\"}");
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
            "when the run continues",
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
        return report_nomem();
    if (!good)
        describe_failure(x, ended);
    return print_end(x, good && !x->refused ? complete_task(x) : fail_task(x));
}

/* Runs the shell command while the lease is renewed, then completes or fails the task.
 * Returns 0 (completed), 1 (failed), 6 (the claim was lost, and the command ended), 7
 * (a signal: the command was ended and the task given back), or what an error gives. */
static int claim_exec(struct settings *settings, struct cairn_store *store,
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

/* Looking for a task only reads; the claim chooses again, in its own transaction. Who
 * waits looks again at once when a lease ends, soon after anything was stored, and now
 * and then: the process of a run may be gone, which stores nothing. */

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
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
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
        snprintf(why->text, sizeof why->text, "run %llu is %s; continue it first: %s",
                 run, cairn_run_state_name(a->run.state),
                 steps_resume_words(a->settings, a->store, &a->run));
    } else if (resume) {
        snprintf(why->text, sizeof why->text,
                 "no external task of run %llu can be done before it continues: %s",
                 run, steps_resume_words(a->settings, a->store, &a->run));
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

/* Waits for one if it is to, claims it, and has it done with --exec. Returns an exit
 * status. */
static int claim_any(struct settings *settings)
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
    store_close(a.store);
    return status;
}

/* cairn claim: claims an external task. Only the token goes to stdout. */

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
    for (size_t i = 0; !any && i < COUNT_OF(with_any); i++)
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
    store_close(store);
    return status;
}

/* cairn renew: the lease of a claim begins again. */

static int report_renewed(const struct settings *settings, uint64_t run)
{
    struct doc doc;
    if (!ui_json())
        return 0;
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_text(&doc, "task", settings->operands[1]);
    doc_count(&doc, "lease_ms", settings->number[OPT_LEASE]);
    return doc_print(&doc);
}

int command_renew(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    const char *task = settings->operands[1];
    uint64_t run = 0;
    int status;
    if (!settings->given[OPT_TOKEN])
        return report_usage("renew",
                            "give the --token that `cairn claim %s %s` printed",
                            settings->operands[0], task);
    status = run_and_store(settings, &store, &run);
    if (status == 0 && cairn_renew(store, run, task, settings->text[OPT_TOKEN],
                                   (int64_t)settings->number[OPT_LEASE], &error) != 0)
        status = missing_task(store, run, task, &error);
    else if (status == 0)
        status = report_renewed(settings, run);
    store_close(store);
    return status;
}
