/* SPDX-License-Identifier: MIT */
/* Command line and environment of an attempt that the engine starts. */
#include "executor/state/values_file.h"

#include "process/live.h"

int environments_open(struct engine *e, struct cairn_error *error)
{
    return environments_read(&e->environments, e->request.graph->definition,
                             &e->run.arena, error);
}

static void name_token(struct engine *e, struct job *job)
{
    snprintf(job->token, sizeof job->token, "%s.%u.%u", e->jobs.slots.slots->token,
             job->intent.task, job->intent.attempt);
}

/* `output`: room for the path of the file with its values. */
static struct invocation_of prepare(struct engine *e, struct job *job, char *output,
                                    size_t size)
{
    struct told told = {.task = e->request.graph->id[job->intent.task],
                        .run = e->run.row.run,
                        .attempt = job->intent.attempt,
                        .token = job->token,
                        .run_status = e->progress.lookup.run_status};
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    name_token(e, job);
    if (job->role == ROLE_TASK) {
        values_path(e, job, output, size);
        told.output = output;
    }
    return (struct invocation_of){
        .inherited = environment_of(&e->environments, def),
        .secrets = &e->run.situation.secrets,
        .told = told,
        .cwd = job->cwd.size ? job->cwd.data : ".",
        /* A keeper has no second command line to fall back to. */
        .may_be_direct = !job->kept};
}

static void fill_request(struct job *job)
{
    const struct invocation *given = &job->given;
    job->request.argv = given->vector;
    job->request.envp = given->envp;
    job->request.otherwise = given->otherwise;
    job->request.path = given->path;
}

int command_line_make(struct engine *e, struct job *job, struct buf *why)
{
    char output[LIVE_PATH];
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    struct invocation_of of = prepare(e, job, output, sizeof output);
    of.scope = &scope;
    int rc = invocation_make(&job->given, &of, why);
    if (!rc)
        fill_request(job);
    return rc;
}

int command_line_make_action(struct engine *e, struct job *job,
                             const struct undo_action *action, struct buf *why)
{
    char output[LIVE_PATH];
    struct invocation_of of = prepare(e, job, output, sizeof output);
    int rc = invocation_make_action(&job->given, &of, action, why);
    if (!rc)
        fill_request(job);
    return rc;
}
