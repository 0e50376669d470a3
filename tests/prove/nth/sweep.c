/* SPDX-License-Identifier: MIT */
/* The sweeps themselves: N = 1, 2, ... until no fault fires. */
#include "sweep.h"

#include <getopt.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of those that wait, one in so many is let go on instead of stopped: that takes it a
 * second. */
enum { LIFT_EACH = 12 };

struct sweep {
    const struct sweep_case *of;
    struct world world;
    struct verdict verdict;
    uint64_t stride, first, only;
    uint64_t faults;
    struct order fixed; /* one fault, to repeat a failure; nth 0: none */
};

/* ---- One trial ---- */

static void describe(char *text, size_t size, const struct sweep *sweep,
                     const struct order *order)
{
    if (order->what == KILL_AT_ENTRY || order->what == KILL_AT_EXIT)
        snprintf(text, size, "nth --sweep kill --case %s --only %llu%s",
                 sweep->of->name, (unsigned long long)order->nth,
                 order->what == KILL_AT_EXIT ? " --after" : "");
    else
        snprintf(text, size, "nth --sweep fault --case %s --fault %s:%s:%llu%s",
                 sweep->of->name, class_name(order->class), error_name(order->error),
                 (unsigned long long)order->nth,
                 order->what == FAIL_FROM_THEN_ON ? "+" : "");
}

static void note_session(struct trial *trial, const struct outcome *outcome)
{
    struct session *session = &trial->sessions[1];
    bool reported[TASKS];
    session->began = true;
    trial->stopped = outcome->stopped;
    session->finished = WIFEXITED(outcome->status);
    session->status = session->finished ? WEXITSTATUS(outcome->status)
                                        : 128 + WTERMSIG(outcome->status);
    expect(trial, !outcome->hung, OTHER, "it hung");
    expect(trial, session->finished || trial->killed || outcome->hung, OTHER,
           "ended by signal %d", session->status - 128);
    if (trial->of->runs)
        events_read(trial->world, "1", reported, session);
    /* The event is lost if stdout cannot be written. */
    session->degraded |= session->status == 9 || session->status == 75;
}

/* What cairn started ends with it; every second time nobody waits for that. */
static void judge_left(struct trial *trial, uint64_t nth)
{
    char left[TEXT_SIZE];
    if (trial->of->adopts || trial->of->prepare || nth % 2 == 0)
        return;
    bool none = none_left(GONE_MS, left, sizeof left);
    expect(trial, none, OTHER, "processes are left: %s", left);
}

/* False: the N-th call did not come. */
static bool try_one(struct sweep *sweep, const struct order *order)
{
    static struct command command;
    char fault[128];
    struct outcome outcome;
    struct trial trial = {.world = &sweep->world,
                          .verdict = &sweep->verdict,
                          .of = sweep->of,
                          .fault = fault};
    bool kill = order->what == KILL_AT_ENTRY || order->what == KILL_AT_EXIT;
    describe(fault, sizeof fault, sweep, order);
    struct order now = *order;
    trial.nth = order->nth;
    if (order->what == FAIL_FROM_THEN_ON)
        now.if_waiting = order->nth % LIFT_EACH == 0 ? LIFT_FAULT : STOP_IT;
    if (!world_reset(&sweep->world)) {
        expect(&trial, false, OTHER, "cannot make the project");
        return false;
    }
    if (sweep->of->prepare)
        sweep->of->prepare(&trial);
    snapshot_take(&sweep->world, &trial.before);
    trial.digest = store_digest(&sweep->world);
    sweep->world.session = 1;
    command_make(&command, &sweep->world, "1", sweep->of->arguments);
    if (!expect(&trial, trace(&command.start, &now, &outcome), OTHER, "cannot start"))
        return false;
    memcpy(trial.call, outcome.what, sizeof trial.call);
    trial.killed = kill && outcome.fired;
    trial.failed = !kill && outcome.fired;
    sweep->faults += outcome.fired;
    note_session(&trial, &outcome);
    judge_left(&trial, order->nth);
    judge_session(&trial);
    if (!trial.killed && !outcome.hung)
        judge_status(&trial);
    sweep->of->judge(&trial);
    none_left(0, NULL, 0);
    return outcome.fired;
}

/* ---- Series ---- */

static void series(struct sweep *sweep, struct order *order)
{
    if (sweep->only) {
        order->nth = sweep->only;
        try_one(sweep, order);
        return;
    }
    for (order->nth = sweep->first;; order->nth += sweep->stride)
        if (!try_one(sweep, order))
            return;
}

static void sweep_kills(struct sweep *sweep, bool entry, bool after)
{
    struct order before = {.what = KILL_AT_ENTRY, .timeout_ms = PATIENCE_MS};
    struct order behind = {
        .what = KILL_AT_EXIT, .class = CALLS_CHANGE, .timeout_ms = PATIENCE_MS};
    if (entry)
        series(sweep, &before);
    /* What a call changed is there before the next one, too: fewer will do. */
    enum { EACH = 4 };
    sweep->stride *= EACH;
    if (after)
        series(sweep, &behind);
    sweep->stride /= EACH;
}

static void sweep_faults(struct sweep *sweep)
{
    if (sweep->fixed.nth) {
        try_one(sweep, &sweep->fixed);
        return;
    }
    for (const struct fault *fault = faults; fault->class != CALLS_ALL; fault++)
        for (int on = 0; on <= !fault->once; on++) {
            struct order order = {.what = on ? FAIL_FROM_THEN_ON : FAIL_ONCE,
                                  .class = fault->class,
                                  .error = fault->error,
                                  .timeout_ms = PATIENCE_MS};
            series(sweep, &order);
        }
}

static int report(const struct sweep *sweep, bool kills, int64_t began)
{
    const struct verdict *v = &sweep->verdict;
    printf("figure|%s|%s %s|%llu %s|%u|%u|0|%u\n", sweep->of->promises,
           kills ? "killed before each system call, and after some that change "
                   "something, of"
                 : "each system call made to fail, once and from then on, of",
           sweep->of->what, (unsigned long long)sweep->faults,
           kills ? "kills" : "faults", v->lost, v->repeated, v->other);
    fflush(stdout);
    fprintf(stderr, "%s: %llu in %.1f s\n", sweep->of->name,
            (unsigned long long)sweep->faults, (double)(now_us() - began) / 1e6);
    return v->lost + v->repeated + v->other > 0;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: nth --sweep kill|fault --case NAME [--stride N] [--first N] "
            "[--only N] [--before | --after] [--fault CLASS:ERROR:N[+]] "
            "DIRECTORY CAIRN\n");
    return 2;
}

/* Can processes be traced here? */
static int check_tracing(void)
{
    const char *argv[] = {"true", NULL};
    char path[] = "PATH=/usr/bin:/bin";
    char *environment[] = {path, NULL};
    struct start how = {.argv = argv, .environment = environment};
    struct order order = {.what = COUNT_ONLY, .timeout_ms = PATIENCE_MS};
    struct outcome outcome;
    if (trace(&how, &order, &outcome) && outcome.calls > 0 && outcome.status == 0)
        return 0;
    fprintf(stderr, "ptrace is not allowed\n");
    return 1;
}

static bool begin(struct sweep *sweep, const char *dir, const char *command)
{
    struct world *world = &sweep->world;
    char *base = realpath(dir, NULL);
    if (!base || strlen(base) >= sizeof world->base)
        return false;
    snprintf(world->base, sizeof world->base, "%s", base);
    snprintf(world->dir, sizeof world->dir, "%s/project", base);
    snprintf(world->fixture, sizeof world->fixture, "%s/fixture", base);
    free(base);
    world->cairn = command;
    return sweep->of->make(world);
}

int sweep_main(const char *kind, int argc, char **argv)
{
    static const struct option options[] = {{"case", required_argument, NULL, 'c'},
                                            {"stride", required_argument, NULL, 's'},
                                            {"first", required_argument, NULL, 'f'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"before", no_argument, NULL, 'b'},
                                            {"after", no_argument, NULL, 'a'},
                                            {"fault", required_argument, NULL, 'x'},
                                            {NULL, 0, NULL, 0}};
    static struct sweep sweep = {.of = cases, .stride = 1, .first = 1};
    bool before = true, after = true;
    int option;
    int64_t began = now_us();
    optind = 1;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case 'c':
            while (sweep.of->name && strcmp(sweep.of->name, optarg) != 0)
                sweep.of++;
            if (!sweep.of->name)
                return usage();
            break;
        case 's':
            sweep.stride = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            sweep.first = strtoull(optarg, NULL, 10);
            break;
        case 'o':
            sweep.only = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            after = false;
            break;
        case 'a':
            before = false;
            break;
        case 'x':
            sweep.fixed.timeout_ms = PATIENCE_MS;
            if (!parse_fault(optarg, &sweep.fixed))
                return usage();
            break;
        default:
            return usage();
        }
    if (strcmp(kind, "check") == 0)
        return check_tracing();
    bool kills = strcmp(kind, "kill") == 0;
    if (argc - optind != 2 || !sweep.stride || !sweep.first ||
        (!kills && strcmp(kind, "fault") != 0))
        return usage();
    if (!begin(&sweep, argv[optind], argv[optind + 1])) {
        printf("# cannot make the project of case %s\n", sweep.of->name);
        return 1;
    }
    if (kills)
        sweep_kills(&sweep, before, after);
    else
        sweep_faults(&sweep);
    return report(&sweep, kills, began);
}
