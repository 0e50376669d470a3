/* SPDX-License-Identifier: MIT */
/* From a durable intent to a running process or a call: what it reads, its working
 * directory, its output files. */
#include "executor/attempt/launch.h"

#include "executor/attempt/made.h"
#include "executor/state/before.h"
#include "executor/state/command_line.h"
#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "base/os.h"
#include "graph/members.h"
#include "runs/outputs.h"

/* ---- Files of a slot ---- */

static void fill_slot(struct engine *e, uint32_t index, const struct job *job)
{
    struct slot *slot = &e->jobs.slots.slots->slot[index];
    slot->flags = 0;
    slot->gen = e->run.row.gen;
    slot->task = job->intent.task;
    slot->attempt = job->intent.attempt;
    slot->used = 0; /* the spawner sets it, and the time, when it comes to it */
}

/* ---- What is known of an attempt before it starts ---- */

int launch_mark_secrets(const struct engine *e, uint32_t task, struct arena *arena,
                        struct result *r, struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, task);
    if (!def->n_secrets || !e->run.situation.secrets.has_key)
        return 0;
    r->secrets = arena_take(arena, def->n_secrets, sizeof *r->secrets);
    for (uint32_t i = 0; r->secrets && i < def->n_secrets; i++) {
        r->secrets[i].name = def->secrets[i];
        int rc = secrets_mark(&e->run.situation.secrets, def->secrets[i],
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
    size_t room = (size_t)d->n_params + task_def_names(def) + def->n_env;
    struct key_value *env = arena_take(arena, room, sizeof *env);
    struct buf text = BUF_INIT;
    uint32_t n = 0;
    int rc = env ? 0 : error_nomem(error);
    for (uint32_t i = 0; i < d->n_params && !rc; i++)
        if (task_def_takes_param(def, d->params[i].key))
            env[n++] =
                (struct key_value){name_in_scope(d->params[i].key), d->params[i].value};
    for (uint32_t i = 0; i < task_def_names(def) && !rc; i++)
        env[n++] = member_named(def, scope->member, i);
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

int launch_describe(const struct asker *asker, struct str text, struct arena *arena,
                    struct undo_action *out, struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
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

bool task_was_interrupted(const struct engine *e, uint32_t task)
{
    return situation_mark(&e->run.situation, task) & MARK_UNCERTAIN;
}

/* What the attempt depends on besides its inputs; makes room for what it makes. */
static int prepare_result(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    const struct task_def *def = scope.def;
    int rc = launch_mark_secrets(e, job->intent.task, &job->arena, &job->result, error);
    if (!rc && def->undo.len)
        rc = launch_describe(&asker, def->undo, &job->arena, &job->result.undo, error);
    return rc ? rc : task_directory(&scope, &job->cwd, error);
}

static int prepare_attempt(struct engine *e, struct job *job, struct buf *why)
{
    struct cairn_error error = {0};
    job_open_capture(e, job);
    if (prepare_result(e, job, &error) || values_open(e, job, &error) ||
        inputs_open(e, job, &error)) {
        buf_text(why, error.text);
        return error.code;
    }
    return command_line_make(e, job, why);
}

/* For who takes the attempt over if we die: whether it has read what is there then. Of
 * a check or an undo nothing is taken over. */
static int order_sign(struct job *job, struct cairn_error *error)
{
    uint64_t sign = 0;
    int rc = job->role == ROLE_TASK ? inputs_sign_of(job->result.inputs,
                                                     job->result.n_inputs, &sign, error)
                                    : 0;
    job->order.inputs = job->request.inputs = rc ? 0 : sign;
    return rc;
}

static void order_keeper(struct engine *e, struct job *job)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    job->order.token = job->token;
    job->order.timeout_ms = def->timeout_ms;
    job->order.grace_ms = def->grace_ms;
    job->request.keep = job->kept ? &job->order : NULL;
    job->request.hold_fd =
        job->role == ROLE_TASK ? shares_descriptor(e, job->intent.task) : 0;
}

/* The declared outputs, for the spawner to see whether they are there. */
static bool list_outputs(struct engine *e, struct job *job)
{
    struct asker asker = job_asker(e, job);
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
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    job->request.ticket = job->stamp;
    job->request.nice = job->role == ROLE_UNDO ? 0 : def->nice;
    job->request.may_recall = job->role == ROLE_TASK && !job->beside;
    job->request.quiet_file = job->values;
    job->request.outputs = NULL;
    job->request.ahead = SPAWN_AFTER_CALLER;
    if (!job->values)
        return; /* out of memory: the spawner cannot look whether it passed on any */
    if (job->role != ROLE_TASK || job->kept || job->beside || def->check.len ||
        def->depfile.len)
        return;
    if (failure_policy(e) == ON_FAILURE_CONTINUE)
        job->request.ahead = SPAWN_AHEAD;
    else if (!def->n_outputs)
        job->request.ahead = SPAWN_AHEAD_IF_GOOD;
    else if (list_outputs(e, job)) {
        job->request.ahead = SPAWN_AHEAD_IF_GOOD;
        job->request.outputs = job->outputs.data;
    }
}

/* Where the end of a task is to be noted. A keeper has its own record of it; checks and
 * undos may run twice. A note must say how many bytes of values there are. */
static void order_note(struct engine *e, struct job *job)
{
    job->request.note = NOTE_NONE;
    atomic_store(&job->request.note_flags, job->pipe[0].fd >= 0 ? NOTE_PIPED : 0);
    if (job->role != ROLE_TASK || job->kept || !job->values || job->beside)
        return;
    job->request.basis = e->noting.basis;
    job->note = job->request.note = noting_take(e);
    job->noted = job->note != NOTE_NONE;
}

static int submit_job(struct engine *e, struct job *job, struct cairn_error *error)
{
    uint32_t index = job_index(&e->jobs, job);
    job->request.stdout_fd = job->capture.fd[0];
    job->request.stderr_fd = job->capture.fd[job_streams(job) - 1];
    int rc = order_sign(job, error) ?: job_pipes_open(e, job, error);
    if (rc)
        return rc;
    jobs_stamp(e, job);
    fill_slot(e, index, job);
    order_keeper(e, job);
    job->request.files = e->request.options->task_files;
    job->request.cwd = job->cwd.size ? job->cwd.data : NULL;
    job->request.slot = &e->jobs.slots.slots->slot[index];
    job->request.slots = &e->jobs.slots; /* a slot is told when its process is there */
    job->request.context = job;
    order_ahead(e, job);
    order_note(e, job);
    jobs_submit(e, job);
    return 0;
}

int launch_action(struct engine *e, struct job *job, const struct undo_action *action,
                  struct buf *why)
{
    struct cairn_error error = {0};
    job_open_capture(e, job);
    buf_clear(&job->cwd);
    buf_str(&job->cwd, action->cwd);
    int rc = buf_check(&job->cwd, &error);
    if (rc) {
        buf_text(why, error.text);
        return rc;
    }
    rc = command_line_make_action(e, job, action, why);
    if (rc)
        return rc;
    rc = submit_job(e, job, &error);
    if (rc)
        buf_text(why, error.text);
    return rc;
}

int launch_task(struct engine *e, struct job *job, struct buf *why)
{
    struct cairn_error error = {0};
    arena_release(&job->arena);
    job->result = (struct result){0};
    job->reading_ns = 0;
    int rc = looks_begin(e, job, true, &error);
    if (rc < 0)
        buf_text(why, error.text);
    return rc ? rc : launch_looked_at(e, job, why);
}

int launch_looked_at(struct engine *e, struct job *job, struct buf *why)
{
    struct cairn_error error = {0};
    int rc = made_check_inputs(e, job, why) ?: prepare_attempt(e, job, why);
    if (rc)
        return rc;
    before_look(e, job->intent.task, job->intent.attempt);
    rc = submit_job(e, job, &error);
    if (rc)
        buf_text(why, error.text);
    return rc;
}
