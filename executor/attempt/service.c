/* SPDX-License-Identifier: MIT */
/* A service is an attempt like any other, with its intent, its log and its row. Beside
 * its process, in a slot of its own, runs its `ready` command, again and again, until
 * that succeeds: only then can start what needs it (plan/sched.h).
 *
 *   started --`ready` exits with 0--> UP --nothing needs it any more--> TERM, KILL
 *      |  `within` is over               |
 *      +---------------------------------+--it ends by itself--> failed: started again
 *                                           (`restart`), or what runs with it has failed
 *
 * It completes where it is ended because nothing needs it any more. */
#include "executor/attempt/service.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/launch.h"
#include "executor/state/report.h"

#include "base/limits.h"

static const struct task_def *def_of(const struct engine *e, const struct job *job)
{
    return graph_def(e->request.graph, job->intent.task);
}

/* It runs, and nobody has asked it to end. */
static bool is_wanted(const struct job *job)
{
    return job->state == JOB_RUNNING && !job_was_asked(job);
}

static bool is_up(const struct engine *e, const struct job *job)
{
    return e->progress.sched.state[job->intent.task] == UP;
}

/* ---- Is it ready? ---- */

static int start_probe(struct engine *e, struct job *probe, struct buf *why)
{
    struct undo_action action;
    struct cairn_error error = {0};
    struct asker asker = job_asker(e, probe);
    arena_release(&probe->arena);
    probe->result = (struct result){0};
    int rc = launch_describe(&asker, def_of(e, probe)->ready, &probe->arena, &action,
                             &error);
    if (rc) {
        buf_text(why, error.text);
        return rc;
    }
    return launch_action(e, probe, &action, why);
}

static void ask_again(struct engine *e, const struct job *job)
{
    loop_set_timer(e, TIMER_PROBE, def_of(e, job)->ready_every_ms * 1000000,
                   job_index(&e->jobs, job), job->stamp);
}

static void ask_if_ready(struct engine *e, struct job *job)
{
    struct intent intent = job->intent;
    struct buf why = BUF_INIT;
    intent.role = ROLE_READY;
    intent.merged = true;
    struct job *probe = jobs_take(e, &intent);
    if (start_probe(e, probe, &why)) {
        jobs_free(e, probe);
        buf_clear(&job->said);
        buf_str(&job->said, buf_view(&why));
        ask_again(e, job);
    } else
        job->probe = job_index(&e->jobs, probe) + 1;
    buf_release(&why);
}

int service_pick_ports(struct engine *e, uint32_t task, struct buf *why)
{
    int sys = jobs_pick_ports(e, task);
    if (sys)
        buf_format(why, "there is no free port for it: %s", strerrordesc_np(sys));
    return sys ? CAIRN_EIO : 0;
}

void service_started(struct engine *e, struct job *job)
{
    ask_if_ready(e, job);
}

void service_ask(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs.at[timer->index];
    if (job->stamp == timer->stamp && job->beside && job->role == ROLE_TASK &&
        is_wanted(job) && !is_up(e, job) && !job->probe)
        ask_if_ready(e, job);
}

/* The service that the answer is about; NULL: that has ended. */
static struct job *asked_service(struct engine *e, const struct job *probe)
{
    for (uint32_t i = 0; i < e->jobs.n_services; i++) {
        struct job *job = &e->jobs.at[e->jobs.service[i]];
        if (job->probe == job_index(&e->jobs, probe) + 1)
            return job;
    }
    return NULL;
}

/* The last line that it wrote; `why`: if it could not run. */
static void keep_answer(const struct ending *output, struct str why, struct buf *out)
{
    enum { MOST = 300 };
    struct str text = buf_view(&output->captured[0].content);
    text = text.len ? text : why;
    while (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    const char *line = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
    size_t skip = line ? (size_t)(line - text.ptr) + 1 : 0;
    if (skip) /* an offset of a null pointer, even of zero, is undefined */
        text = (struct str){text.ptr + skip, text.len - skip};
    text.len = text.len < MOST ? text.len : MOST;
    buf_clear(out);
    if (text.len)
        buf_str(out, text);
}

static void begin_serving(struct engine *e, struct job *job)
{
    char text[LIMIT_ID_BYTES + 64], after[32];
    double seconds = (double)(loop_utc_ns(e) - job->started_ns) / 1e9;
    const char *id = e->request.graph->id[job->intent.task];
    snprintf(after, sizeof after, "%.1f s", seconds > 0 ? seconds : 0);
    snprintf(text, sizeof text, "%s is ready after %s", id, after);
    sched_up(&e->progress.sched, job->intent.task);
    audit_event(e, EVENT_READY, 0, job->intent.task, str_of(after));
    report(e, CAIRN_EVENT_NOTICE, text);
}

int ready_ended(struct engine *e, struct job *job, const struct process_end *end,
                const struct buf *text, struct cairn_error *error)
{
    struct ending output = {0};
    struct job *service = asked_service(e, job);
    (void)error;
    job_capture(e, job, &output);
    jobs_free(e, job);
    if (service) {
        service->probe = 0;
        if (is_wanted(service)) /* else it was ended in the middle */
            keep_answer(&output, buf_view(text), &service->said);
    }
    ending_release(&output);
    /* Another process may have answered in the place of one that has ended. */
    if (!service || !is_wanted(service) ||
        e->request.runner->ops->has_ended(e->request.runner, &service->process))
        return 0;
    if (end->exit_code == 0 && !end->signal && !end->unknown)
        begin_serving(e, service);
    else
        ask_again(e, service);
    return 0;
}

/* ---- Its end ---- */

static void describe_end(const struct engine *e, const struct job *job,
                         const struct process_end *end, struct ending *ending)
{
    struct buf *text = &ending->text;
    bool up = is_up(e, job);
    if (job->timed_out) {
        buf_format(text, "it was not ready within %g s",
                   (double)def_of(e, job)->ready_within_ms / 1000);
        if (job->said.size)
            buf_format(text, ": %.*s", (int)job->said.size, job->said.data);
        return;
    }
    if (end->signal) {
        job_describe_signal(end->signal, text);
        buf_text(text, "; ");
    } else if (end->exit_code == 0) /* others are shown anyway */
        buf_text(text, "exit code 0; ");
    buf_text(text, up ? "the service ended while tasks needed it"
                      : "the service ended before it was ready");
}

/* Where nothing that needs it is left, it does not matter how it ends. */
static uint8_t outcome_of_service(const struct engine *e, const struct job *job)
{
    bool left = e->progress.sched.left[job->intent.task] > 0;
    if (!left)
        return CAIRN_COMPLETED;
    if (job->cancelled || (job->dismissed && e->halting.level >= HALT_STOP))
        return CAIRN_CANCELLED;
    return job->dismissed ? CAIRN_COMPLETED : CAIRN_FAILED;
}

static void stop_probe(struct engine *e, struct job *job)
{
    struct job *probe = job->probe ? &e->jobs.at[job->probe - 1] : NULL;
    if (probe && probe->state == JOB_RUNNING && !probe->killed)
        halt_probe(e, probe);
}

/* Those that run without it now. */
static void end_users(struct engine *e, uint32_t service)
{
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        bool runs = job->state == JOB_RUNNING || job->state == JOB_CALLED;
        if (!runs || job->bereft || job->role == ROLE_READY ||
            !service_is_lost(e, job->intent.task))
            continue;
        if (job->state == JOB_RUNNING)
            halt_bereft(e, job, service);
        else if (!job->asked) {
            job->bereft = service + 1;
            calls_ask_to_stop(e, job);
        }
    }
}

int service_ended(struct engine *e, struct job *job, const struct process_end *end,
                  struct ending *ending)
{
    uint32_t service = job->intent.task;
    ending->row.outcome = outcome_of_service(e, job);
    if (ending->row.outcome == CAIRN_FAILED && !ending->text.size)
        describe_end(e, job, end, ending);
    else if (ending->row.outcome == CAIRN_COMPLETED)
        buf_clear(&ending->text);
    job_capture(e, job, ending);
    stop_probe(e, job);
    if (!is_up(e, job)) /* somebody else may have taken it */
        jobs_forget_ports(e, service);
    jobs_free(e, job);
    settle_ending(e, ending);
    service_settled(e, service);
    return 0;
}

void service_settled(struct engine *e, uint32_t service)
{
    if (e->progress.sched.state[service] == ENDED)
        end_users(e, service);
}

/* What needs it runs, or may still start. */
static bool is_needed(const struct engine *e, const struct job *job)
{
    uint32_t service = job->intent.task;
    const struct sched *sched = &e->progress.sched;
    return sched->left[service] > 0 &&
           (e->halting.level < HALT_FAILURE || sched_is_used(sched, service));
}

void services_tend(struct engine *e)
{
    for (uint32_t i = 0; i < e->jobs.n_services; i++) {
        struct job *job = &e->jobs.at[e->jobs.service[i]];
        if (is_wanted(job) && !is_needed(e, job))
            halt_dismiss(e, job);
        if (job_was_asked(job))
            stop_probe(e, job);
    }
}

void services_dismiss(struct engine *e)
{
    for (uint32_t i = 0; i < e->jobs.n_services; i++)
        if (is_wanted(&e->jobs.at[e->jobs.service[i]]))
            halt_dismiss(e, &e->jobs.at[e->jobs.service[i]]);
}

bool service_is_lost(const struct engine *e, uint32_t task)
{
    return sched_lost_service(&e->progress.sched, task) != NODE_NONE;
}

int service_skip_task(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct intent none = {.task = task};
    struct ending *ending = turn_draft_ending(e, &none, error);
    uint32_t service = sched_lost_service(&e->progress.sched, task);
    if (!ending)
        return CAIRN_ENOMEM;
    ending->row.outcome = CAIRN_SKIPPED;
    buf_format(&ending->text, "the service %s ended", e->request.graph->id[service]);
    settle_ending(e, ending);
    return 0;
}
