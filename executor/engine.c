/* cairn_run: the loop. See engine.h for the order of a turn and its invariants. */
#include "executor/engine.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- Collect ---- */

static void drain(int fd)
{
    char bytes[64];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

/* Index and stamp of a job: an event that was on its way while the job ended and its
 * slot got another attempt is recognised as old. */
static uint64_t job_watch(const struct engine *e, const struct job *job)
{
    return job->stamp << 16 | (WATCH_JOB + (uint64_t)(job - e->jobs));
}

static int collect_exit(struct engine *e, uint64_t what, struct cairn_error *error)
{
    struct job *job = &e->jobs[(what & 0xffff) - WATCH_JOB];
    if (job->state != JOB_RUNNING || job_watch(e, job) != what)
        return 0;
    /* Not left to close: a child that has not yet execed holds a copy of the
     * descriptor, and the kernel would go on reporting it. */
    epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, job->pidfd, NULL);
    return engine_exited(e, job, error);
}

static int watch_job(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = job_watch(e, job)};
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, job->pidfd, &event) < 0)
        return error_sys(error, errno, "cannot watch a process");
    return 0;
}

/* All of them, also after an error: what runs must be known to give_up. */
static int collect_spawned(struct engine *e, struct cairn_error *error)
{
    struct spawn_request *request = spawner_collect(e->spawner);
    int first = 0;
    while (request) {
        struct spawn_request *next = request->next;
        struct job *job = request->context;
        int result = engine_spawned(e, request, first ? NULL : error);
        if (!result && job->state == JOB_RUNNING)
            result = watch_job(e, job, first ? NULL : error);
        if (!first)
            first = result;
        request = next;
    }
    return first;
}

static int collect_later(struct engine *e, struct cairn_error *error)
{
    int result = 0;
    drain(e->later_fd);
    pthread_mutex_lock(&e->later_lock);
    struct cairn_attempt *attempt = e->later;
    e->later = NULL;
    pthread_mutex_unlock(&e->later_lock);
    while (attempt) {
        struct cairn_attempt *next = attempt->next;
        if (!result)
            result = engine_called(e, &e->jobs[attempt->slot], attempt->outcome,
                                   attempt->text, error);
        free(attempt->text);
        free(attempt);
        attempt = next;
    }
    return result;
}

static void collect_stop(struct engine *e)
{
    uint32_t count = e->options->stop->count;
    drain(e->options->stop->fd);
    if (count > e->stops_seen)
        engine_halt(e, count > 1 ? HALT_KILL : HALT_STOP);
    e->stops_seen = count;
}

/* Somebody killed the guard: without one, a crash of ours could leave orphans. */
static int replace_guard(struct engine *e, struct cairn_error *error)
{
    report(e, CAIRN_EVENT_NOTICE, "the guard process has died; starting another one");
    (void)epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, e->guard.pidfd, NULL);
    guard_stop(&e->guard);
    e->guarded = false;
    return engine_guard(e, error);
}

static int handle(struct engine *e, uint64_t what, struct cairn_error *error)
{
    switch (what) {
    case WATCH_LATER:
        return collect_later(e, error);
    case WATCH_WAKE:
        drain(e->wake_fd);
        engine_look_for_command(e);
        return 0;
    case WATCH_STOP:
        collect_stop(e);
        return 0;
    case WATCH_GUARD:
        return replace_guard(e, error);
    case WATCH_SPAWNER:
        return collect_spawned(e, error);
    default:
        return collect_exit(e, what, error);
    }
}

static int collect(struct engine *e, int wait_ms, struct cairn_error *error)
{
    enum { AT_ONCE = 64 };
    struct epoll_event events[AT_ONCE];
    int n = epoll_wait(e->epoll_fd, events, AT_ONCE, wait_ms);
    if (n < 0 && errno != EINTR)
        return error_sys(error, errno, "cannot wait for events");
    int result = 0;
    /* Ends before the wish to stop: what had ended by itself was not cancelled. */
    for (int i = 0; i < n && !result; i++)
        if (events[i].data.u64 >= WATCH_JOB)
            result = handle(e, events[i].data.u64, error);
    for (int i = 0; i < n && !result; i++)
        if (events[i].data.u64 < WATCH_JOB)
            result = handle(e, events[i].data.u64, error);
    return result ? result : engine_timers(e, error);
}

/* ---- Decide ---- */

static int plan_intents(struct engine *e, struct cairn_error *error)
{
    while (!e->halt) {
        uint32_t waiting = e->unacted_intents + (e->n_starts - e->starts_head);
        if (waiting >= e->n_free + e->ahead)
            break;
        uint32_t task = sched_take(&e->sched);
        if (task == NODE_NONE)
            break;
        if (engine_add_intent(e, task))
            return error_nomem(error);
    }
    return 0;
}

static bool finished(const struct engine *e)
{
    if (e->running)
        return false;
    if (e->halt)
        return true;
    /* Best effort: outcomes that cannot be saved do not keep the run from ending. */
    bool unsaved = e->degraded && e->options->saving == CAIRN_BEST_EFFORT;
    return (unsaved || (!e->n_endings && !e->n_intents)) &&
           e->starts_head == e->n_starts && !e->sched.ready.n && !e->sched.held &&
           !e->sched.taken;
}

static int next_wait_ms(const struct engine *e)
{
    enum { LONGEST_MS = 60000 };
    bool more = e->starts_head < e->n_starts && e->n_free && !e->halt;
    /* A call that ended in this turn's second start waits for the next turn's commit.
     */
    more |= e->unacted && (!e->commit_waits ||
                           (e->degraded && e->options->saving == CAIRN_BEST_EFFORT));
    return more ? 0 : timers_wait_ms(&e->timers, clock_mono_ns(), LONGEST_MS);
}

static int loop(struct engine *e, struct cairn_error *error)
{
    struct timer first = {clock_mono_ns(), TIMER_TICK, 0, 0};
    int result = timers_add(&e->timers, first, error);
    while (!result) {
        result = engine_start_ready(e, error);
        if (!result)
            result = plan_intents(e, error);
        if (!result)
            result = engine_commit(e, error);
        if (!result)
            result = engine_start_ready(e, error);
        if (!result && e->broken)
            result = error_nomem(error);
        if (result || finished(e))
            break;
        result = collect(e, next_wait_ms(e), error);
    }
    return result;
}

static void give_up_job(struct engine *e, struct job *job)
{
    struct pollfd end = {.fd = job->pidfd, .events = POLLIN};
    struct process_end unused;
    process_signal(job->pid, SIGKILL);
    if (poll(&end, 1, 0) <= 0)
        return;
    process_reap(job->pid, job->pidfd, &e->slots.slots->slot[job - e->jobs], &unused,
                 NULL);
    job->state = JOB_FREE;
    e->running--;
}

static void forget_calls(struct engine *e)
{
    pthread_mutex_lock(&e->later_lock);
    struct cairn_attempt *attempt = e->later;
    e->later = NULL;
    pthread_mutex_unlock(&e->later_lock);
    while (attempt) {
        struct cairn_attempt *next = attempt->next;
        e->jobs[attempt->slot].state = JOB_FREE;
        e->running--;
        free(attempt->text);
        free(attempt);
        attempt = next;
    }
}

/* Out of memory or a damaged store in the middle of it: end what runs. Nothing is
 * decided or written any more; the run stays unfinished and can be resumed. Calls that
 * will finish later are waited for: they hold a handle into the engine. */
static void give_up(struct engine *e)
{
    enum { PAUSE_MS = 10 };
    engine_halt(e, HALT_KILL);
    while (e->running) {
        struct pollfd pause = {.fd = -1};
        struct spawn_request *request = e->spawner ? spawner_collect(e->spawner) : NULL;
        for (; request; request = request->next) {
            struct job *job = request->context;
            job->pid = request->pid;
            job->pidfd = request->pidfd;
            job->state = request->pidfd >= 0 ? JOB_RUNNING : JOB_FREE;
            e->running -= job->state == JOB_FREE;
        }
        for (uint32_t i = 0; i < e->n_jobs; i++)
            if (e->jobs[i].state == JOB_RUNNING)
                give_up_job(e, &e->jobs[i]);
        forget_calls(e);
        poll(&pause, 0, e->running ? PAUSE_MS : 0);
    }
}

/* ---- The result ---- */

static enum cairn_run_state final_state(const struct engine *e)
{
    struct tally tally = states_tally(&e->states);
    if (tally.completed == tally.total)
        return CAIRN_RUN_COMPLETED;
    if (e->halt >= HALT_STOP)
        return CAIRN_RUN_CANCELLED;
    return CAIRN_RUN_FAILED;
}

static void fill_result(struct engine *e, enum cairn_run_state state)
{
    struct cairn_run_result *r = e->result;
    struct tally tally = states_tally(&e->states);
    r->run = e->store ? e->row.run : 0;
    r->state = state;
    r->total = tally.total;
    r->completed = tally.completed;
    r->failed = tally.failed;
    r->skipped = tally.skipped;
    r->cancelled = tally.cancelled;
    r->pending = tally.total - tally_done(&tally);
    r->exit_status = r->unsaved || r->end_unsaved   ? 9
                     : state == CAIRN_RUN_FAILED    ? 1
                     : state == CAIRN_RUN_CANCELLED ? 7
                                                    : 0;
}

static void report_notices(struct engine *e)
{
    for (size_t i = 0; situation_notice(&e->situation, i); i++)
        report(e, CAIRN_EVENT_NOTICE, situation_notice(&e->situation, i));
}

static void announce(struct engine *e)
{
    char text[256];
    const struct situation *s = &e->situation;
    if (!e->store)
        snprintf(text, sizeof text,
                 "running without a store: this run cannot be resumed");
    else if (s->recovered)
        snprintf(text, sizeof text, "going on with run %llu: %u of %u tasks to run",
                 (unsigned long long)e->row.run, s->decisions.will, s->decisions.n);
    else if (s->from_seq)
        snprintf(text, sizeof text,
                 "run %llu forks from checkpoint workflow:%llu of run %llu: %u of %u "
                 "tasks to run",
                 (unsigned long long)e->row.run, (unsigned long long)s->from_seq,
                 (unsigned long long)s->from_run, s->decisions.will, s->decisions.n);
    else
        snprintf(text, sizeof text, "run %llu of %s: %u task%s",
                 (unsigned long long)e->row.run, e->graph->definition->name.ptr,
                 s->decisions.n, s->decisions.n == 1 ? "" : "s");
    report(e, CAIRN_EVENT_RUN_STARTED, text);
    const char *network = e->store ? store_network_fs(e->store) : NULL;
    if (network) {
        snprintf(text, sizeof text,
                 "the store is on %s: the rollback journal is used instead of the WAL, "
                 "which is slower; a local directory is better (--store DIR)",
                 network);
        report(e, CAIRN_EVENT_NOTICE, text);
    }
    report_notices(e);
}

/* Nothing runs: no need to touch anything, unless the run was never marked finished. */
static bool nothing_to_do(struct engine *e)
{
    const struct situation *s = &e->situation;
    return s->recovered && s->decisions.will == 0 && s->same_graph &&
           s->row.state == CAIRN_RUN_COMPLETED;
}

static int run_all(struct engine *e, struct cairn_error *error)
{
    int result = engine_open(e, error);
    if (result)
        return result;
    announce(e);
    result = loop(e, error);
    if (result) {
        give_up(e);
        return result;
    }
    enum cairn_run_state state = final_state(e);
    result = engine_commit_end(e, state, error);
    if (result)
        return result;
    fill_result(e, state);
    report(e, CAIRN_EVENT_RUN_FINISHED, NULL);
    return 0;
}

static int run(struct engine *e, struct cairn_error *error)
{
    int result = engine_own(e, error);
    if (!result)
        result =
            situation_load(&e->situation, e->workflow, e->store, e->options, error);
    if (result)
        return result;
    e->graph = &e->workflow->graph;
    e->result->damaged = e->situation.recovered && e->situation.recovery.n_damaged > 0;
    if (!nothing_to_do(e))
        return run_all(e, error);
    e->row = e->situation.row;
    e->result->nothing_to_do = true;
    report_notices(e);
    result = states_copy(&e->states, &e->situation.before, error);
    if (!result)
        fill_result(e, CAIRN_RUN_COMPLETED);
    return result;
}

int cairn_run(struct cairn_workflow *workflow, struct cairn_store *store,
              const struct cairn_run_options *options, struct cairn_run_result *result,
              struct cairn_error *error)
{
    static const struct cairn_run_options defaults;
    struct cairn_run_result local = {0};
    struct engine *e = calloc(1, sizeof *e);
    if (!e)
        return error_nomem(error);
    e->workflow = workflow;
    e->store = store;
    e->options = options ? options : &defaults;
    e->result = &local;
    e->epoll_fd = e->wake_fd = e->later_fd = -1;
    pthread_mutex_init(&e->later_lock, NULL);
    int code = cairn_workflow_compile(workflow, error);
    e->graph = &workflow->graph;
    if (!code)
        code = run(e, error);
    engine_close(e);
    pthread_mutex_destroy(&e->later_lock);
    free(e);
    if (!code && result)
        *result = local;
    return code;
}
