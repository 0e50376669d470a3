/* SPDX-License-Identifier: MIT */
/* The file for $CAIRN_OUTPUT: where an attempt leaves its values. That for
 * $CAIRN_INPUTS: where it finds the names of its inputs. */
#include "executor/state/command_line.h"

#include "executor/state/report.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os.h"
#include "process/live.h"
#include "runs/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void values_path_of(const struct attempt_id *id, char *out, size_t size)
{
    live_path(out, size, id->live_dir, live_of_attempt(LIVE_VALUES, id));
}

void values_path(const struct engine *e, const struct job *job, char *out, size_t size)
{
    const struct attempt_id *id = &job->order.id;
    if (job->kept)
        values_path_of(id, out, size);
    else
        live_path(out, size, e->run.live_dir,
                  live_of_values(e->run.row.run, job_index(&e->jobs, job), id->store));
}

/* A task may have replaced an earlier file by anything. */
static int clear_path(const char *path)
{
    char aside[4300];
    if (remove(path) == 0 || os_is_missing(errno))
        return 0;
    snprintf(aside, sizeof aside, "%s.%016llx", path, (unsigned long long)random_u64());
    return rename(path, aside);
}

/* 0 or an errno. */
static int make_values(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 || close(fd) ? errno : 0;
}

/* The file for $CAIRN_OUTPUT is empty before the task starts, so nobody sees the values
 * of an earlier attempt. Where it cannot be made, the task runs all the same: it makes
 * the file itself, or fails where it writes to it. */
int values_open(struct engine *e, struct job *job, struct cairn_error *error)
{
    char path[4200], text[4500];
    if (job->values_ready && !job->kept)
        return 0;
    values_path(e, job, path, sizeof path);
    if (!job->kept && !job->values)
        job->values = strdup(path);
    if (clear_path(path))
        return error_sys(error, errno, "cannot remove %s", path);
    int sys = make_values(path);
    if (os_is_missing(sys) && os_make_dir(e->run.live_dir, 0700, NULL) == 1)
        sys = make_values(path);
    job->values_ready = sys == 0;
    if (sys == 0)
        return 0;
    snprintf(text, sizeof text, "%s cannot pass on values: cannot make %s: %s",
             e->request.graph->id[job->intent.task], path, strerrordesc_np(sys));
    report(e, CAIRN_EVENT_NOTICE, text);
    return 0;
}

/* Where its end is noted, its values are there until the outcome is committed. */
static bool keep_values(const struct job *job, const char *path)
{
    char own[LIVE_PATH];
    values_path_of(&job->order.id, own, sizeof own);
    return rename(path, own) == 0;
}

void values_set_aside(const struct engine *e, const struct job *job)
{
    char path[4200];
    struct stat st;
    values_path(e, job, path, sizeof path);
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        (void)keep_values(job, path);
}

/* Takes the values out of the slot's file; it is empty then. */
int values_take(struct engine *e, struct job *job, struct ending *ending,
                struct buf *text, struct cairn_error *error)
{
    char path[4200];
    struct stat st;
    values_path(e, job, path, sizeof path);
    bool there = lstat(path, &st) == 0;
    if (there && S_ISREG(st.st_mode) && st.st_size == 0)
        return 0;
    job->values_ready = false;
    if (!there && !os_is_missing(errno))
        return error_sys(error, errno, "%s", path);
    if (!there || !S_ISREG(st.st_mode))
        return 0; /* the task moved it away, or put something else */
    int rc = os_read_plain(path, LIMIT_VALUES_BYTES, text, error);
    if (job->noted && !job->kept)
        ending->has_files |= keep_values(job, path);
    return rc;
}

/* ---- The names of the inputs ---- */

static void inputs_path(const struct attempt_id *id, char *out, size_t size)
{
    live_path(out, size, id->live_dir, live_of_attempt(LIVE_INPUTS, id));
}

static bool gets_inputs(struct engine *e, const struct job *job)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    const struct environment *environment =
        def->n_inputs ? environment_of(&e->environments, def) : NULL;
    return environment && environment->lists && job->role != ROLE_UNDO &&
           job->role != ROLE_READY;
}

/* What the look at them has found; a check that decides has had none. */
static int list_inputs(struct engine *e, struct job *job, struct buf *out,
                       struct cairn_error *error)
{
    const struct result *read = &job->result;
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    int rc = 0;
    if (job->role != ROLE_TASK)
        return inputs_list(&scope, out, error);
    for (uint32_t i = 0; i < read->n_inputs && !rc; i++)
        rc = inputs_list_name(read->inputs[i].name, out);
    return rc ? rc : buf_check(out, error);
}

/* All of it, or nothing: 0 or an errno. */
static int make_list(const char *path, struct str text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int sys = os_write_all(fd, text);
    if (close(fd) && !sys)
        sys = errno;
    if (sys)
        (void)clear_path(path);
    return sys;
}

/* Where there is no list, what reads it fails: the variable names a file that is not
 * there. A part of it, or that of another attempt, is never there. */
int inputs_open(struct engine *e, struct job *job, struct cairn_error *error)
{
    char path[LIVE_PATH], text[LIMIT_ID_BYTES + 200];
    struct buf list = BUF_INIT;
    int sys = 0;
    if (!gets_inputs(e, job))
        return 0;
    inputs_path(&job->order.id, path, sizeof path);
    if (job->role == ROLE_CHECK && os_is_there(AT_FDCWD, path))
        return 0;
    job->listed = true;
    int rc = list_inputs(e, job, &list, error);
    if (rc >= 0 && clear_path(path))
        rc = error_sys(error, errno, "cannot remove %s", path);
    if (!rc)
        sys = make_list(path, buf_view(&list));
    if (os_is_missing(sys) && os_make_dir(e->run.live_dir, 0700, NULL) == 1)
        sys = make_list(path, buf_view(&list));
    buf_release(&list);
    snprintf(text, sizeof text, "%s has no list of its inputs in $CAIRN_INPUTS: %s",
             e->request.graph->id[job->intent.task],
             sys ? strerrordesc_np(sys) : "a line break is in the name of one of them");
    if (sys || rc == NAME_BROKEN)
        report(e, CAIRN_EVENT_NOTICE, text);
    return rc == NAME_BROKEN ? 0 : rc;
}

void inputs_remove(const struct attempt_id *id)
{
    char path[LIVE_PATH];
    inputs_path(id, path, sizeof path);
    (void)unlink(path);
}

/* Command line and environment of an attempt that the engine starts. */

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

static void add_port(struct engine *e, struct job *job, struct str name,
                     uint32_t service, uint32_t i, struct key_value *out)
{
    char text[8];
    snprintf(text, sizeof text, "%u", e->jobs.port[service * e->jobs.ports_each + i]);
    *out = (struct key_value){arena_str(&job->arena, name),
                              arena_str(&job->arena, str_of(text))};
}

/* Of a service, and of those that a task needs. What is undone needs none. */
static int tell_ports(struct engine *e, struct job *job, struct told *told,
                      struct buf *why)
{
    const struct graph *g = e->request.graph;
    uint32_t task = job->intent.task, n = 0;
    uint32_t first = g->need_start[task], end = g->need_start[task + 1];
    struct buf name = BUF_INIT;
    if (!e->jobs.port || job->role == ROLE_UNDO)
        return 0;
    struct key_value *ports =
        arena_take(&job->arena, ((size_t)(end - first) + 1) * e->jobs.ports_each + 1,
                   sizeof *ports);
    if (ports && task_def_ports(graph_def(g, task)))
        add_port(e, job, STR("CAIRN_PORT"), task, 0, &ports[n++]);
    for (uint32_t i = first; ports && i <= end; i++) {
        uint32_t service = i < end ? g->needs[i] : task; /* by its name, too */
        if (graph_is_barrier(g, service) || !e->jobs.port[service * e->jobs.ports_each])
            continue;
        for (uint32_t k = 0; k < task_def_ports(graph_def(g, service)); k++) {
            buf_clear(&name);
            service_port_name(graph_def(g, task), graph_def(g, service), k, &name);
            add_port(e, job, buf_view(&name), service, k, &ports[n++]);
        }
    }
    told->ports = ports;
    told->n_ports = n;
    bool failed = name.failed || job->arena.failed;
    buf_release(&name);
    if (failed)
        buf_text(why, "out of memory");
    return failed ? CAIRN_ENOMEM : 0;
}

struct told_paths { /* room for them */
    char output[LIVE_PATH], inputs[LIVE_PATH];
};

static struct invocation_of prepare(struct engine *e, struct job *job,
                                    struct told_paths *paths)
{
    struct told told = {.task = e->request.graph->id[job->intent.task],
                        .run = e->run.row.run,
                        .attempt = job->intent.attempt,
                        .round = job_round(e, job),
                        .token = job->token,
                        .run_status = e->progress.lookup.run_status};
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    name_token(e, job);
    if (job->role == ROLE_TASK) {
        values_path(e, job, paths->output, sizeof paths->output);
        told.output = paths->output;
    }
    if (gets_inputs(e, job)) {
        inputs_path(&job->order.id, paths->inputs, sizeof paths->inputs);
        told.inputs = paths->inputs;
    }
    return (struct invocation_of){
        .inherited = environment_of(&e->environments, def),
        .secrets = &e->run.situation.secrets,
        .told = told,
        .cwd = job->cwd.size ? job->cwd.data : ".",
        .fallback = job->intent.fallback,
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
    struct told_paths paths;
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    struct invocation_of of = prepare(e, job, &paths);
    of.scope = &scope;
    int rc =
        tell_ports(e, job, &of.told, why) ?: invocation_make(&job->given, &of, why);
    if (!rc)
        fill_request(job);
    return rc;
}

int command_line_make_action(struct engine *e, struct job *job,
                             const struct undo_action *action, struct buf *why)
{
    struct told_paths paths;
    struct invocation_of of = prepare(e, job, &paths);
    int rc = tell_ports(e, job, &of.told, why)
                 ?: invocation_make_action(&job->given, &of, action, why);
    if (!rc)
        fill_request(job);
    return rc;
}
