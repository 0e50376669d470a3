/* SPDX-License-Identifier: MIT */
#include "tests/support/fake_runner.h"
#include "tests/support/random.h"

#include "base/os.h"
#include "process/file_io.h"
#include "process/keeper_file.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* The seat of a process is taken until its end, or until go_on: as in spawner.c. */
enum fake_state { FREE, WAITING, STARTING, RUNNING, ENDED, REAPED };

struct fake_process {
    enum fake_state state;
    bool seated;
    struct spawn_request *request;
    struct fake_task does;
    uint64_t ticket, order;
    pid_t pid;
    int64_t start_ns, end_ns; /* when it will, or did */
    int signal;               /* what it was stopped by, not 0 */
    bool timed_out, stopped;  /* by its keeper */
    struct keep_start claim;  /* of its keeper */
};

enum { FIRST_UTC_S = 1800000000, FIRST_PID = 1000000000 };

static struct fake_runner *fake_of(struct runner *runner)
{
    return (struct fake_runner *)runner;
}

/* ck_assert allocates, which some tests make fail. */
static void require(bool holds, const char *what)
{
    if (!holds)
        ck_abort_msg("%s", what);
}

/* ---- The clock ---- */

static int64_t mono_ns(const struct runner *runner)
{
    return ((const struct fake_runner *)runner)->now_ns;
}

static int64_t utc_ns(const struct runner *runner)
{
    return FIRST_UTC_S * INT64_C(1000000000) + mono_ns(runner);
}

/* ---- What happens ---- */

static void tell(struct fake_runner *fake, enum fake_event event,
                 const struct spawn_request *request)
{
    if (fake->watch)
        fake->watch(fake->context, event, request);
}

static void add_news(struct fake_runner *fake, struct spawn_request *request,
                     enum spawner_rest waits_for)
{
    if (!request->listed) {
        request->listed = true;
        request->link = NULL;
        *fake->news_end = request;
        fake->news_end = &request->link;
    }
    if (!(waits_for && fake->rest >= waits_for && fake->n_waiting >= fake->low))
        fake->woken = true;
}

static void free_seat(struct fake_runner *fake, struct fake_process *process)
{
    require(fake->alive > 0, "a seat is freed twice");
    process->seated = false;
    fake->alive--;
    if (process->state == REAPED)
        process->state = FREE;
}

/* It has no process any more; its entry is free once its seat is. */
static void forget(struct fake_process *process)
{
    process->state = process->seated ? REAPED : FREE;
    process->pid = 0;
}

static void fail_start(struct fake_runner *fake, struct fake_process *process)
{
    struct spawn_request *request = process->request;
    request->error = process->does.start_error;
    request->exit_code = process->does.exit_code;
    request->stage = request->exit_code < 0 ? "clone" : "exec";
    tell(fake, FAKE_NOT_STARTED, request);
    if (request->ahead == SPAWN_AHEAD)
        free_seat(fake, process);
    forget(process);
    add_news(fake, request, REST_NOT);
}

/* When it ends, unless it is asked to before that. A keeper knows its time limit. */
static void foresee_end(struct fake_process *process)
{
    const struct keeper_order *order = process->request->keep;
    const struct fake_task *does = &process->does;
    process->end_ns = process->start_ns + does->run_ns;
    if (!order || !order->timeout_ms || does->run_ns <= order->timeout_ms * MS)
        return;
    bool heeds = does->term_ns < order->grace_ms * MS;
    process->timed_out = true;
    process->signal = heeds ? SIGTERM : SIGKILL;
    process->end_ns = process->start_ns + order->timeout_ms * MS +
                      (heeds ? does->term_ns : order->grace_ms * MS);
}

/* What a keeper leaves in the live directory, for whoever resumes the run. Its pid is
 * nobody's: it ended with the engine. */
static void write_claim(struct fake_process *process, int64_t utc)
{
    const struct keeper_order *order = process->request->keep;
    struct live_name live = live_of_attempt(LIVE_CLAIM, &order->id);
    char name[LIVE_NAME];
    int dir = open(order->id.live_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    process->claim = (struct keep_start){.magic = KEEP_START_MAGIC,
                                         .version = KEEP_VERSION,
                                         .run = order->id.run,
                                         .gen = order->id.gen,
                                         .task = order->id.task,
                                         .attempt = order->id.attempt,
                                         .pid = process->pid,
                                         .start = 1,
                                         .claimed_ns = utc,
                                         .inputs = order->inputs};
    os_boot_id(process->claim.boot_id);
    snprintf(process->claim.token, sizeof process->claim.token, "%s", order->token);
    process->claim.crc = keep_start_crc(&process->claim);
    live_format(name, &live);
    require(keep_claim(dir, ".", name, &process->claim, NULL) == 0, "a claim is taken");
    close(dir);
}

static void write_end(const struct fake_process *process, int64_t utc)
{
    const struct keeper_order *order = process->request->keep;
    int signal = process->signal ? process->signal : process->does.signal;
    struct keep_end end = {.magic = KEEP_END_MAGIC,
                           .version = KEEP_VERSION,
                           .start_crc = process->claim.crc,
                           .pid = process->pid,
                           .started_ns = process->claim.claimed_ns,
                           .ended_ns = utc,
                           .exit_code = signal ? -1 : process->does.exit_code,
                           .signal = signal,
                           .flags =
                               (process->timed_out ? (uint32_t)KEEP_TIMED_OUT : 0) |
                               (process->stopped ? (uint32_t)KEEP_STOPPED : 0)};
    char path[LIVE_PATH];
    live_path(path, sizeof path, order->id.live_dir,
              live_of_attempt(LIVE_CLAIM, &order->id));
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    end.crc = keep_end_crc(&end);
    require(file_write_at(fd, &end, sizeof end, KEEP_HALF) == 0, "an end is written");
    close(fd);
}

static void start(struct fake_runner *fake, struct fake_process *process)
{
    struct spawn_request *request = process->request;
    request->pid = 0;
    request->pidfd = -1;
    request->error = request->exit_code = 0;
    request->other = false;
    request->started_ns = utc_ns(&fake->runner);
    if (process->does.start_error) {
        fail_start(fake, process);
        return;
    }
    request->pid = process->pid = ++fake->last_pid;
    request->watched = true;
    process->state = RUNNING;
    fake->started++;
    foresee_end(process);
    if (request->keep) {
        request->pidfd =
            open("/dev/null", O_RDONLY | O_CLOEXEC); /* keeper_of has one */
        write_claim(process, request->started_ns);
    }
    tell(fake, FAKE_STARTED, request);
    add_news(fake, request, REST_STARTS);
}

static bool ended_well(const struct fake_process *process)
{
    const struct spawn_request *request = process->request;
    if (request->ahead != SPAWN_AHEAD_IF_GOOD)
        return request->ahead == SPAWN_AHEAD;
    return !process->signal && !process->does.signal && !process->does.exit_code &&
           !request->outputs;
}

static void end(struct fake_runner *fake, struct fake_process *process)
{
    struct spawn_request *request = process->request;
    bool well = ended_well(process);
    process->state = ENDED;
    request->over = true;
    request->ended_ns = utc_ns(&fake->runner);
    if (request->keep && !process->does.keeper_dies)
        write_end(process, request->ended_ns);
    tell(fake, FAKE_ENDED, request);
    if (well)
        free_seat(fake, process);
    add_news(fake, request, well ? REST_ENDS : REST_NOT);
}

static struct fake_process *first_waiting(struct fake_runner *fake)
{
    struct fake_process *first = NULL;
    for (uint32_t i = 0; i < fake->n; i++)
        if (fake->at[i].state == WAITING &&
            (!first || fake->at[i].order < first->order))
            first = &fake->at[i];
    return first;
}

static void fill_seats(struct fake_runner *fake)
{
    enum { SLOWEST_US = 2000 };
    while (fake->n_waiting && fake->alive < fake->limit) {
        struct fake_process *next = first_waiting(fake);
        next->state = STARTING;
        next->start_ns =
            fake->now_ns + (int64_t)help_below(&fake->seed, SLOWEST_US) * 1000;
        next->seated = true;
        fake->alive++;
        fake->n_waiting--;
    }
}

static int64_t event_ns(const struct fake_process *process)
{
    return process->state == STARTING  ? process->start_ns
           : process->state == RUNNING ? process->end_ns
                                       : INT64_MAX;
}

/* Of those at one time any one. */
static struct fake_process *find_next(struct fake_runner *fake)
{
    struct fake_process *next = NULL;
    for (uint32_t i = 0; i < fake->n; i++) {
        struct fake_process *at = &fake->at[i];
        if (event_ns(at) == INT64_MAX)
            continue;
        if (!next || event_ns(at) < event_ns(next) ||
            (event_ns(at) == event_ns(next) && help_below(&fake->seed, 2)))
            next = at;
    }
    return next;
}

static void move_clock(struct fake_runner *fake, int64_t to_ns)
{
    if (to_ns > fake->now_ns)
        fake->now_ns = to_ns;
}

/* The first thing that happens, if that is not later; 0: there is none, 1: something of
 * a task, 2: the act. */
static int step(struct fake_runner *fake, int64_t until_ns)
{
    fill_seats(fake);
    struct fake_process *next = find_next(fake);
    if (fake->act_ns && fake->act_ns <= until_ns &&
        (!next || fake->act_ns < event_ns(next))) {
        move_clock(fake, fake->act_ns);
        fake->act_ns = 0;
        fake->act(fake->context);
        return 2;
    }
    if (!next || event_ns(next) > until_ns)
        return 0;
    move_clock(fake, event_ns(next));
    if (next->state == STARTING)
        start(fake, next);
    else
        end(fake, next);
    return 1;
}

/* A run that waits for nothing would never end. */
static void notice_idle(struct fake_runner *fake)
{
    enum { MOST = 50000 };
    const struct fake_process *next = find_next(fake);
    if (!next || event_ns(next) >= FAKE_FOREVER)
        fake->idle++;
    require(fake->idle < MOST, "the engine waits, and nothing will happen");
}

static int wait_for_events(struct runner *runner, const struct runner_wait *wait,
                           struct epoll_event *events, int most)
{
    struct fake_runner *fake = fake_of(runner);
    int n = 0, happened = 1;
    fake->rest = wait->rest;
    fake->low = wait->low;
    if (wait->epoll_fd >= 0)
        n = epoll_wait(wait->epoll_fd, events, most, 0);
    if (n || wait->until_ns <= fake->now_ns)
        return n;
    while (!fake->woken && happened == 1)
        happened = step(fake, wait->until_ns);
    if (happened == 0) {
        move_clock(fake, wait->until_ns);
        notice_idle(fake);
        return 0;
    }
    fake->idle = 0;
    return happened == 2 && wait->epoll_fd >= 0
               ? epoll_wait(wait->epoll_fd, events, most, 0)
               : 0;
}

/* ---- Its life ---- */

static int open_fake(struct runner *runner, const struct slot_map *slots,
                     const struct end_notes *notes, uint32_t limit,
                     struct cairn_error *error)
{
    struct fake_runner *fake = fake_of(runner);
    (void)notes; /* its tasks end with it */
    fake->limit = limit;
    uint32_t n = 2 * slots->slots->n; /* a seat may be taken after its slot is free */
    fake->at = calloc(n, sizeof *fake->at);
    fake->n = fake->at ? n : 0;
    return fake->at ? 0 : error_nomem(error);
}

static int tend_nothing(struct runner *runner, const char **notice,
                        struct cairn_error *error)
{
    (void)runner, (void)error;
    *notice = NULL;
    return 0;
}

static void clear_news(struct fake_runner *fake)
{
    fake->news = NULL;
    fake->news_end = &fake->news;
}

static void close_fake(struct runner *runner)
{
    struct fake_runner *fake = fake_of(runner);
    for (uint32_t i = 0; i < fake->n; i++)
        if (fake->at[i].state == WAITING || fake->at[i].state == STARTING)
            fake->at[i].state = FREE;
    clear_news(fake);
}

static void free_nothing(struct runner *runner)
{
    (void)runner;
}

/* ---- Tasks, by their requests ---- */

static void submit(struct runner *runner, struct spawn_request *request)
{
    struct fake_runner *fake = fake_of(runner);
    uint32_t i = 0;
    while (i < fake->n && fake->at[i].state != FREE)
        i++;
    require(i < fake->n, "more requests than slots");
    request->watched = request->ended = request->listed = request->over = false;
    fake->at[i] = (struct fake_process){.state = WAITING,
                                        .request = request,
                                        .does = fake->script(fake->context, request),
                                        .ticket = request->ticket,
                                        .order = ++fake->order};
    fake->n_waiting++;
}

static int collect(struct runner *runner, struct spawn_request **news,
                   struct cairn_error *error)
{
    struct fake_runner *fake = fake_of(runner);
    (void)error;
    *news = fake->news;
    for (struct spawn_request *at = fake->news; at; at = at->link) {
        at->next = at->link;
        at->listed = false;
        at->ended = at->over;
    }
    clear_news(fake);
    fake->rest = REST_NOT;
    fake->woken = false;
    return 0;
}

static void go_on(struct runner *runner, uint64_t ticket)
{
    struct fake_runner *fake = fake_of(runner);
    for (uint32_t i = 0; i < fake->n; i++)
        if (fake->at[i].seated && fake->at[i].ticket == ticket) {
            free_seat(fake, &fake->at[i]);
            return;
        }
}

static void recall(struct runner *runner)
{
    struct fake_runner *fake = fake_of(runner);
    struct fake_process *at = NULL;
    for (uint32_t i = 0; i < fake->n; i++) {
        at = &fake->at[i];
        if (at->state != WAITING || !at->request->may_recall)
            continue;
        at->request->pid = 0;
        at->request->pidfd = -1;
        at->request->error = ECANCELED;
        at->request->exit_code = -1;
        at->request->stage = "recall";
        fake->n_waiting--;
        forget(at);
        tell(fake, FAKE_RECALLED, at->request);
        add_news(fake, at->request, REST_NOT);
    }
}

/* ---- Tasks, by their processes ---- */

static struct fake_process *find(struct runner *runner,
                                 const struct runner_process *process)
{
    struct fake_runner *fake = fake_of(runner);
    for (uint32_t i = 0; i < fake->n; i++)
        if (fake->at[i].state >= RUNNING && fake->at[i].pid == process->pid)
            return &fake->at[i];
    ck_abort_msg("process %d is asked for after its end", (int)process->pid);
}

static bool has_ended(struct runner *runner, const struct runner_process *process)
{
    const struct fake_process *found = find(runner, process);
    return found->end_ns <= fake_of(runner)->now_ns;
}

static void stop_after(struct fake_runner *fake, struct fake_process *process,
                       int64_t after_ns, int signal)
{
    if (process->end_ns <= fake->now_ns + after_ns)
        return;
    process->end_ns = fake->now_ns + after_ns;
    process->signal = signal;
    process->timed_out = false;
}

static void stop(struct runner *runner, const struct runner_process *process,
                 enum runner_stop how)
{
    struct fake_runner *fake = fake_of(runner);
    struct fake_process *found = find(runner, process);
    if (found->state != RUNNING)
        return;
    int64_t grace_ns =
        process->kept ? found->request->keep->grace_ms * MS : FAKE_FOREVER;
    found->stopped = process->kept;
    if (how == RUNNER_KILL)
        stop_after(fake, found, 0, SIGKILL);
    else if (found->does.term_ns < grace_ns)
        stop_after(fake, found, found->does.term_ns, SIGTERM);
    else if (process->kept)
        stop_after(fake, found, grace_ns, SIGKILL);
}

static void fill_end(const struct fake_process *process, struct process_end *out)
{
    int signal = process->signal ? process->signal : process->does.signal;
    *out = (struct process_end){.exit_code = signal ? -1 : process->does.exit_code,
                                .signal = signal};
}

static void fill_keeper(const struct fake_runner *fake,
                        const struct fake_process *process, struct keeper *keeper)
{
    struct process_end end;
    int64_t first_ns = utc_ns(&fake->runner) - fake->now_ns;
    fill_end(process, &end);
    keeper->fate = process->does.keeper_dies ? KEEPER_LOST : KEEPER_ENDED;
    keeper->record = (struct keeper_record){.exit_code = end.exit_code,
                                            .signal = end.signal,
                                            .timed_out = process->timed_out,
                                            .stopped = process->stopped,
                                            .pid = process->pid,
                                            .started_ns = first_ns + process->start_ns,
                                            .ended_ns = first_ns + process->end_ns};
}

static int reap(struct runner *runner, struct runner_process *process,
                struct process_end *out, struct cairn_error *error)
{
    struct fake_runner *fake = fake_of(runner);
    struct fake_process *found = find(runner, process);
    if (found->state == RUNNING && found->end_ns > fake->now_ns)
        return error_set(error, CAIRN_EIO, "it has not ended yet");
    if (found->state == RUNNING)
        end(fake, found);
    if (process->kept)
        fill_keeper(fake, found, &process->keeper);
    else
        fill_end(found, out);
    if (process->pidfd >= 0)
        close(process->pidfd);
    process->pid = 0;
    process->pidfd = process->keeper.pidfd = -1;
    forget(found);
    return 0;
}

/* ---- What an earlier process has started under keepers ----
 * It was a fake one, too: its tasks ended with it, and their files say what is left. */

static int look(struct runner *runner, struct keeper *out, const struct attempt_id *id,
                const char *store_id, struct cairn_error *error)
{
    (void)runner;
    return keeper_look(out, id, store_id, error);
}

static int adopt(struct runner *runner, const struct runner_process *process,
                 struct spawn_request *request, struct cairn_error *error)
{
    (void)runner, (void)request, (void)error;
    ck_abort_msg("process %d lives", (int)process->pid);
}

static int discard(struct runner *runner, struct keeper *keeper,
                   struct cairn_error *error)
{
    (void)runner, (void)error;
    require(keeper->fate != KEEPER_LIVE, "there is no living keeper");
    return 0;
}

void fake_runner_init(struct fake_runner *fake, uint64_t seed)
{
    static const struct runner_ops ops = {
        .mono_ns = mono_ns,
        .utc_ns = utc_ns,
        .wait = wait_for_events,
        .open = open_fake,
        .tend = tend_nothing,
        .close = close_fake,
        .free = free_nothing,
        .submit = submit,
        .collect = collect,
        .go_on = go_on,
        .recall = recall,
        .has_ended = has_ended,
        .stop = stop,
        .reap = reap,
        .look = look,
        .adopt = adopt,
        .discard = discard,
    };
    *fake = (struct fake_runner){.runner = {.ops = &ops, .news_fd = -1, .tend_fd = -1},
                                 .now_ns = 1000 * MS,
                                 .seed = seed,
                                 .last_pid = FIRST_PID};
    clear_news(fake);
}

void fake_runner_release(struct fake_runner *fake)
{
    free(fake->at);
    fake->at = NULL;
}

uint32_t fake_runner_living(const struct fake_runner *fake)
{
    uint32_t living = 0;
    for (uint32_t i = 0; fake->at && i < fake->n; i++)
        living += fake->at[i].state == RUNNING || fake->at[i].state == ENDED;
    return living;
}
