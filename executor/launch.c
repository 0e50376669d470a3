/* SPDX-License-Identifier: MIT */
/* From a durable intent to a running process or a call: what it reads, its working
 * directory, its output files. */
#include "executor/engine.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/os.h"
#include "runs/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Files of a slot ---- */

static void fill_slot(struct engine *e, uint32_t index, const struct job *job)
{
    struct slot *slot = &e->slots.slots->slot[index];
    slot->gen = e->row.gen;
    slot->task = job->task;
    slot->attempt = job->attempt;
    slot->flags = 0;
    slot->used = 0; /* the spawner sets it, and the time, when it comes to it */
}

static struct attempt_id id_of(const struct engine *e, const struct job *job)
{
    return (struct attempt_id){e->live_dir, e->row.run, e->row.gen, job->task,
                               job->attempt};
}

static int open_files(struct engine *e, struct job *job, struct cairn_error *error)
{
    return job->kept ? capture_attempt_create(&job->capture, &job->order.id, error)
                     : capture_open(&job->capture, e->live_dir, e->row.run,
                                    (uint32_t)(job - e->jobs), error);
}

/* Trouble with our own files is no failure of the task: it runs, and its output is
 * lost, which is said. A task may have removed the live directory. */
static void open_capture(struct engine *e, uint32_t index)
{
    struct job *job = &e->jobs[index];
    struct cairn_error error = {0};
    int rc = open_files(e, job, &error);
    if (rc && os_make_dir(e->live_dir, 0700, NULL) == 1)
        rc = open_files(e, job, &error);
    job->capture_open = !rc;
    if (!rc)
        return;
    job->capture = (struct capture){.fd = {-1, -1}};
    char text[1200];
    snprintf(text, sizeof text, "the output of %s cannot be kept: %s",
             e->graph->id[job->task], error.text);
    report(e, CAIRN_EVENT_NOTICE, text);
}

/* A task may have put anything in the place of an earlier file. */
static int clear_path(const char *path)
{
    char aside[4300];
    if (remove(path) == 0 || errno == ENOENT)
        return 0;
    snprintf(aside, sizeof aside, "%s.%016llx", path, (unsigned long long)random_u64());
    return rename(path, aside);
}

static int make_values(const char *path)
{
    int fd =
        clear_path(path)
            ? -1
            : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? -1 : close(fd);
}

/* The file for $CAIRN_OUTPUT is there before the task, and empty: nobody sees the
 * values of an earlier attempt. Without it the task runs all the same. */
static void open_values(struct engine *e, struct job *job)
{
    char path[4200], text[4500];
    if (job->values_ready && !job->kept)
        return;
    values_path(e, job, path, sizeof path);
    if (!job->kept && !job->values)
        job->values = strdup(path);
    job->values_ready = true;
    if (make_values(path) == 0 ||
        (os_make_dir(e->live_dir, 0700, NULL) == 1 && make_values(path) == 0))
        return;
    snprintf(text, sizeof text, "%s cannot pass on values: cannot make %s: %s",
             e->graph->id[job->task], path, strerrordesc_np(errno));
    report(e, CAIRN_EVENT_NOTICE, text);
    job->values_ready = false;
}

/* ---- What is known of an attempt before it starts ---- */

static int mark_secrets(struct engine *e, struct job *job, struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->graph, job->task);
    struct result *r = &job->result;
    if (!def->n_secrets || !e->situation.secrets.has_key)
        return 0;
    r->secrets = arena_take(&job->arena, def->n_secrets, sizeof *r->secrets);
    for (uint32_t i = 0; r->secrets && i < def->n_secrets; i++) {
        r->secrets[i].name = def->secrets[i];
        int rc = secrets_mark(&e->situation.secrets, def->secrets[i],
                              &r->secrets[i].mac, error);
        if (rc)
            return rc;
    }
    r->n_secrets = r->secrets ? def->n_secrets : 0;
    return r->secrets ? 0 : error_nomem(error);
}

/* All that reaches a process by environment, as it is now. */
static int copy_variables(const struct scope *scope, struct arena *arena,
                          struct undo_action *out, struct cairn_error *error)
{
    const struct definition *d = scope->definition;
    const struct task_def *def = scope->def;
    size_t room = (size_t)d->n_params + def->n_foreach + def->n_env;
    struct key_value *env = arena_take(arena, room, sizeof *env);
    struct buf text = BUF_INIT;
    uint32_t n = 0;
    int rc = env ? 0 : error_nomem(error);
    for (uint32_t i = 0; i < d->n_params && !rc; i++)
        if (task_has_param(def, d->params[i].key))
            env[n++] = d->params[i];
    for (uint32_t k = 0; k < def->n_foreach && !rc; k++)
        env[n++] = (struct key_value){
            def->foreach[k].name,
            def->foreach[k].values[member_value(def, scope->member, k)]};
    for (uint32_t i = 0; i < def->n_env && !rc; i++) {
        buf_clear(&text);
        rc = text_expand(scope, def->env[i].value, &text, error);
        env[n++] =
            (struct key_value){def->env[i].key, arena_str(arena, buf_view(&text))};
    }
    buf_release(&text);
    out->env = env;
    out->n_env = n;
    return rc;
}

int launch_describe(struct engine *e, const struct job *job, struct str text,
                    struct arena *arena, struct undo_action *out,
                    struct cairn_error *error)
{
    struct asker asker = {&e->lookup, job->task, job->attempt};
    struct scope scope = lookup_scope(&asker);
    struct buf cwd = BUF_INIT;
    *out = (struct undo_action){.text = text,
                                .shell = scope.def->side_shell,
                                .n_shell = scope.def->n_side_shell,
                                .secrets = scope.def->secrets,
                                .n_secrets = scope.def->n_secrets};
    int rc = task_directory(&scope, &cwd, error);
    if (!rc) {
        out->cwd = arena_str(arena, buf_view(&cwd));
        rc = copy_variables(&scope, arena, out, error);
    }
    buf_release(&cwd);
    return rc ? rc : arena->failed ? error_nomem(error) : 0;
}

static bool was_interrupted(const struct engine *e, uint32_t task)
{
    return situation_mark(&e->situation, task) &
           (MARK_INTERRUPTED | MARK_DAMAGED | MARK_UNDOING);
}

/* Reads what the attempt depends on, and makes room for what it makes. */
static int prepare_result(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct asker asker = {&e->lookup, job->task, job->attempt};
    struct scope scope = lookup_scope(&asker);
    const struct task_def *def = scope.def;
    int rc = 0;
    arena_release(&job->arena);
    job->result = (struct result){0};
    if (def->n_inputs)
        rc = files_look(&asker, true, &job->arena, &job->result.inputs,
                        &job->result.n_inputs, error);
    if (!rc)
        rc = mark_secrets(e, job, error);
    if (!rc && def->undo.len)
        rc = launch_describe(e, job, def->undo, &job->arena, &job->result.undo, error);
    if (!rc && was_interrupted(e, job->task))
        rc = outputs_remove(&scope, error);
    return rc ? rc : task_directory(&scope, &job->cwd, error);
}

static int prepare(struct engine *e, struct job *job, struct buf *why)
{
    struct cairn_error error = {0};
    if (!job->capture_open)
        open_capture(e, (uint32_t)(job - e->jobs));
    if (prepare_result(e, job, &error)) {
        buf_text(why, error.text);
        return error.code;
    }
    open_values(e, job);
    return strings_prepare(e, job, why);
}

/* ---- Starting ---- */

/* A task with secrets needs us to redact what it writes, so it cannot outlive us. */
static bool wants_keeper(const struct engine *e, const struct task_def *def)
{
    return e->graph->definition->on_crash == ON_CRASH_ADOPT && e->store &&
           !def->n_secrets;
}

struct job *launch_slot(struct engine *e, const struct intent *intent,
                        enum job_role role)
{
    struct job *job = &e->jobs[e->free_jobs[--e->n_free]];
    e->running++;
    job->role = role;
    job->task = intent->task;
    job->attempt = intent->attempt;
    job->intent_ns = intent->intent_ns;
    job->start_turn = intent->turn;
    job->kept = role == ROLE_TASK && wants_keeper(e, graph_def(e->graph, intent->task));
    job->adopted = job->outsider = false;
    job->ended_ns = 0;
    job->order.id = id_of(e, job);
    job->timed_out = job->cancelled = job->killed = false;
    job->has_held = false;
    job->pid = 0;
    job->pidfd = -1;
    if (job->kept && job->capture_open) {
        /* The slot's own files are for attempts that end with us. */
        capture_close(&job->capture);
        job->capture_open = false;
    }
    return job;
}

static void order_keeper(struct engine *e, struct job *job)
{
    const struct task_def *def = graph_def(e->graph, job->task);
    job->order.token = job->token;
    job->order.timeout_ms = def->timeout_ms;
    job->order.grace_ms = def->grace_ms;
    job->request.keep = job->kept ? &job->order : NULL;
}

/* The declared outputs, for the spawner to see whether they are there. */
static bool list_outputs(struct engine *e, struct job *job)
{
    struct asker asker = {&e->lookup, job->task, job->attempt};
    struct scope scope = lookup_scope(&asker);
    struct files f;
    int more = files_begin(&f, &scope, false, NULL);
    buf_clear(&job->outputs);
    if (!more)
        while ((more = files_step(&f, NULL)) > 0)
            buf_add(&job->outputs, f.path.data, f.path.size + 1);
    files_release(&f);
    buf_byte(&job->outputs, 0);
    return !more && !job->outputs.failed;
}

/* When may the spawner start the next one, with this one ended? If a failure stops the
 * run, only when it is sure to have none. */
static void order_ahead(struct engine *e, struct job *job)
{
    const struct task_def *def = graph_def(e->graph, job->task);
    job->request.ticket = job->stamp;
    job->request.may_recall = job->role == ROLE_TASK;
    job->request.quiet_file = job->values_ready ? job->values : NULL;
    job->request.outputs = NULL;
    job->request.ahead = SPAWN_AFTER_CALLER;
    if (job->values_ready && !job->values)
        return; /* out of memory: the spawner cannot look whether it passed on any */
    if (job->role != ROLE_TASK || job->kept || def->check.len)
        return;
    if (e->graph->definition->on_failure == ON_FAILURE_CONTINUE)
        job->request.ahead = SPAWN_AHEAD;
    else if (!def->n_outputs)
        job->request.ahead = SPAWN_AHEAD_IF_GOOD;
    else if (list_outputs(e, job)) {
        job->request.ahead = SPAWN_AHEAD_IF_GOOD;
        job->request.outputs = job->outputs.data;
    }
}

static int submit(struct engine *e, struct job *job, struct cairn_error *error)
{
    uint32_t index = (uint32_t)(job - e->jobs);
    job->request.stdout_fd = job->capture.fd[0];
    job->request.stderr_fd = job->capture.fd[1];
    int rc = job_pipes_open(e, job, error);
    if (rc)
        return rc;
    job->state = JOB_SPAWNING;
    job->stamp = ++e->next_stamp;
    fill_slot(e, index, job);
    order_keeper(e, job);
    job->request.cwd = job->cwd.size ? job->cwd.data : NULL;
    job->request.slot = &e->slots.slots->slot[index];
    job->request.slots = &e->slots; /* a slot is told when its process is there */
    job->request.context = job;
    order_ahead(e, job);
    e->waiting++;
    e->submitted = true;
    spawner_submit(e->spawner, &job->request);
    return 0;
}

static int start_process(struct engine *e, const struct intent *intent,
                         struct cairn_error *error)
{
    struct buf why = BUF_INIT;
    struct cairn_error trouble = {0};
    struct job *job = launch_slot(e, intent, ROLE_TASK);
    int rc = prepare(e, job, &why);
    if (!rc) {
        rc = submit(e, job, &trouble);
        if (rc)
            buf_text(&why, trouble.text);
    }
    if (!rc)
        e->result->attempts++;
    else {
        engine_free_job(e, job);
        rc = engine_not_started(e, intent, -1, why.data ? why.data : "", error);
    }
    buf_release(&why);
    return rc;
}

int launch_action(struct engine *e, struct job *job, const struct undo_action *action,
                  struct buf *why)
{
    struct cairn_error error = {0};
    if (!job->capture_open)
        open_capture(e, (uint32_t)(job - e->jobs));
    buf_clear(&job->cwd);
    buf_str(&job->cwd, action->cwd);
    int rc = buf_check(&job->cwd, &error);
    if (rc) {
        buf_text(why, error.text);
        return rc;
    }
    rc = strings_prepare_action(e, job, action, why);
    if (rc)
        return rc;
    rc = submit(e, job, &error);
    if (rc)
        buf_text(why, error.text);
    return rc;
}

static int start_call(struct engine *e, const struct intent *intent,
                      struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->graph, intent->task);
    uint32_t slot = e->free_jobs[e->n_free - 1];
    struct cairn_attempt *attempt = calloc(1, sizeof *attempt);
    if (!attempt || !def->call) {
        free(attempt);
        return engine_not_started(
            e, intent, -1,
            def->call ? "out of memory" : "its callback is not in this program", error);
    }
    *attempt = (struct cairn_attempt){
        .engine = e, .task = intent->task, .number = intent->attempt, .slot = slot};
    struct job *job = launch_slot(e, intent, ROLE_TASK);
    e->result->attempts++;
    job->state = JOB_CALLED;
    job->outsider = true;
    e->outsiders++;
    job->started_ns = clock_utc_ns();
    report_start(e, job);
    enum cairn_outcome outcome = def->call(def->context, attempt);
    if (outcome == CAIRN_LATER)
        return 0; /* the handle comes back through cairn_attempt_finish */
    free(attempt);
    return engine_called(e, job, outcome, NULL, error);
}

/* May this intent still be acted on? */
static bool wanted(const struct engine *e, const struct intent *intent)
{
    if (e->halt == HALT_KILL)
        return false;
    if (intent->role != ROLE_TASK)
        return intent->role == ROLE_UNDO ? e->phase == PHASE_UNDO : !e->halt;
    return e->sched.allowed & sched_kind_of(graph_def(e->graph, intent->task));
}

/* Saving is required and fails: nothing starts, not even what has a stored intent. */
static bool holds_back(const struct engine *e)
{
    return e->degraded && e->options->saving == CAIRN_REQUIRED;
}

/* While as many are alive as may be: can it wait in the spawner, which starts it as
 * soon as one of them ends? Not what must not run twice, and not what we have to look
 * at just before it starts, and nothing if nothing may start once a commit has failed.
 * Callbacks and adopted tasks live outside of the spawner. */
static bool may_wait(const struct engine *e, const struct intent *intent)
{
    const struct task_def *def = graph_def(e->graph, intent->task);
    return e->options->saving == CAIRN_BEST_EFFORT && intent->role == ROLE_TASK &&
           !e->outsiders && def->kind != TASK_CALL && !def->once && !def->n_inputs &&
           !was_interrupted(e, intent->task) && !wants_keeper(e, def);
}

bool launch_possible(const struct engine *e)
{
    if (e->starts_head == e->n_starts || !e->n_free || holds_back(e))
        return false;
    return e->running < e->limit || may_wait(e, &e->starts[e->starts_head]);
}

/* It is not started any more: its row is closed at the end. */
int launch_drop(struct engine *e, const struct intent *intent)
{
    struct intent *dropped =
        array_room(e->dropped, e->n_dropped, &e->dropped_capacity, sizeof *dropped);
    if (!dropped)
        return CAIRN_ENOMEM;
    e->dropped = dropped;
    e->dropped[e->n_dropped++] = *intent;
    if (intent->role == ROLE_TASK)
        sched_return(&e->sched, intent->task);
    return 0;
}

static int start_one(struct engine *e, const struct intent *intent,
                     struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->graph, intent->task);
    if (intent->role == ROLE_UNDO)
        return undo_start(e, intent, error);
    if (intent->role == ROLE_DECIDE)
        return gate_start_deciding(e, intent, error);
    return def->kind == TASK_CALL ? start_call(e, intent, error)
                                  : start_process(e, intent, error);
}

static void shift_starts(struct engine *e)
{
    if (!e->starts_head || (e->starts_head <= e->n_starts - e->starts_head + 64 &&
                            e->starts_head != e->n_starts))
        return;
    e->n_starts -= e->starts_head;
    memmove(e->starts, e->starts + e->starts_head, e->n_starts * sizeof *e->starts);
    e->starts_head = 0;
}

/* Starts what has a durable intent while slots are free. Calls run right here, so after
 * some milliseconds of them the turn must go on to commit what they did. */
int engine_start_ready(struct engine *e, struct cairn_error *error)
{
    enum { CALL_BUDGET_NS = 5000000 };
    int64_t start_ns = 0;
    int rc = 0;
    while (!rc && e->starts_head < e->n_starts) {
        struct intent intent = e->starts[e->starts_head];
        bool call = graph_def(e->graph, intent.task)->kind == TASK_CALL;
        if (!wanted(e, &intent)) {
            e->starts_head++;
            rc = launch_drop(e, &intent) ? error_nomem(error) : 0;
            continue;
        }
        if (!launch_possible(e))
            break;
        if (call && !start_ns)
            start_ns = clock_mono_ns();
        e->starts_head++;
        rc = start_one(e, &intent, error);
        if (call && clock_mono_ns() - start_ns > CALL_BUDGET_NS)
            break;
    }
    shift_starts(e);
    return rc;
}

/* ---- For callbacks ---- */

const char *cairn_attempt_task(const struct cairn_attempt *attempt)
{
    return attempt->engine->graph->id[attempt->task];
}

uint32_t cairn_attempt_number(const struct cairn_attempt *attempt)
{
    return attempt->number;
}

void cairn_attempt_finish(struct cairn_attempt *attempt, enum cairn_outcome outcome,
                          const char *text)
{
    struct engine *e = attempt->engine;
    uint64_t one = 1;
    attempt->outcome = outcome;
    attempt->text = text ? strdup(text) : NULL; /* without memory: no message */
    pthread_mutex_lock(&e->later_lock);
    attempt->next = e->later;
    e->later = attempt;
    /* Written under the lock: the engine may free itself as soon as it has the list. */
    ssize_t written = write(e->later_fd, &one, sizeof one);
    pthread_mutex_unlock(&e->later_lock);
    (void)written; /* fails only when the counter is full, and then it is readable */
}
