/* SPDX-License-Identifier: MIT */
/* Looking at declared files. */
#include "executor/state/engine.h"
#include "executor/state/report.h"

#include <stdlib.h>

static int open_threads(struct engine *e, struct cairn_error *error)
{
    struct look_threads *threads = NULL;
    if (e->looks.threads)
        return 0;
    int rc = look_threads_open(&threads, &e->progress.lookup.digests, error);
    if (!rc)
        rc = loop_watch(e, look_threads_fd(threads), WATCH_LOOKS, error);
    if (rc)
        look_threads_close(threads);
    else
        e->looks.threads = threads;
    return rc;
}

/* NULL: no thread can be had. That must not fail a task: then the loop does it. */
static struct look *look_elsewhere(struct engine *e, const struct file_look *files,
                                   uint32_t slot)
{
    struct look *look = calloc(1, sizeof *look);
    if (look && !open_threads(e, NULL)) {
        look->files = *files;
        look->slot = slot;
        if (!look_threads_add(e->looks.threads, look, NULL))
            return look;
    }
    free(look);
    return NULL;
}

/* 0: done; LOOK_WAITS: *look has the files, and goes on on a thread; *first is the one
 * that it begins with, a view until it is collected. */
static int look_at_files(struct engine *e, struct file_look *files, uint32_t slot,
                         struct look **look, const char **first,
                         struct cairn_error *error)
{
    enum { AT_ONCE_BYTES = 1 << 20 };
    struct file_reader reader = {.digests = &e->progress.lookup.digests,
                                 .stop = e->progress.lookup.stop,
                                 .limited = true,
                                 .left = AT_ONCE_BYTES};
    int rc = file_look_go_on(files, &reader, error);
    if (rc != FILE_LONG)
        return rc;
    *first = files->files[files->next].name.ptr;
    *look = look_elsewhere(e, files, slot);
    if (*look)
        return LOOK_WAITS;
    reader.limited = false;
    return file_look_go_on(files, &reader, error);
}

static int take_files(struct job *job, const struct file_look *files, bool inputs,
                      struct cairn_error *error)
{
    struct result *r = &job->result;
    return file_look_take(files, &job->arena, inputs ? &r->inputs : &r->outputs,
                          inputs ? &r->n_inputs : &r->n_outputs, error);
}

/* The input because of which a task cannot start is all that it has read. Returns `rc`,
 * of the look, or an error. */
static int take_failed_input(struct job *job, const struct file_look *files, int rc,
                             struct cairn_error *error)
{
    struct result *r = &job->result;
    int taken =
        file_look_take_failed(files, &job->arena, &r->inputs, &r->n_inputs, error);
    return taken ? taken : rc;
}

/* ---- For a job ---- */

int looks_begin(struct engine *e, struct job *job, bool inputs,
                struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    struct asker asker = job_asker(e, job);
    struct file_look files;
    struct look *look = NULL;
    const char *first = NULL;
    if (!(inputs ? def->n_inputs : def->n_outputs))
        return 0;
    int rc = file_look_begin(&files, &asker, inputs, error);
    if (!rc)
        rc = look_at_files(e, &files, job_index(&e->jobs, job), &look, &first, error);
    if (rc == LOOK_WAITS) {
        jobs_begin_look(job, look, inputs);
        job->look_began_ns = loop_now_ns(e);
        report_reading(e, job, first);
        return rc;
    }
    if (!rc)
        rc = take_files(job, &files, inputs, error);
    else if (inputs)
        rc = take_failed_input(job, &files, rc, error);
    file_look_release(&files);
    return rc;
}

int looks_finish(struct engine *e, struct job *job, struct look *look,
                 struct cairn_error *error)
{
    int rc = look->rc;
    *error = look->error;
    if (!rc)
        rc = take_files(job, &look->files, job->awaits_inputs, error);
    else if (job->awaits_inputs)
        rc = take_failed_input(job, &look->files, rc, error);
    job->reading_ns += loop_now_ns(e) - job->look_began_ns;
    jobs_end_look(job);
    look_free(look);
    return rc;
}

void looks_stop(struct engine *e, struct job *job)
{
    if (job->state == JOB_LOOKING && job->look)
        look_threads_stop(e->looks.threads, job->look);
}

struct look *looks_collect(struct engine *e)
{
    return look_threads_collect(e->looks.threads);
}

void looks_add_ready(struct engine *e, struct job *job)
{
    job->next_ready = e->looks.ready;
    e->looks.ready = job;
}

struct job *looks_take_ready(struct engine *e)
{
    struct job *job = e->looks.ready;
    if (job)
        e->looks.ready = job->next_ready;
    return job;
}

/* ---- For a command ---- */

static void forget_command(struct engine *e)
{
    look_free(e->looks.of_command);
    e->looks.of_command = NULL;
    e->looks.command = 0;
    e->looks.command_ready = false;
}

static int take_of_command(struct engine *e, struct arena *arena, struct result *result,
                           struct cairn_error *error)
{
    const struct look *look = e->looks.of_command;
    int rc = look->rc;
    if (rc && error)
        *error = look->error;
    if (!rc)
        rc = file_look_take(&look->files, arena, &result->outputs, &result->n_outputs,
                            error);
    forget_command(e);
    return rc;
}

int looks_for_command(struct engine *e, uint64_t command, const struct asker *asker,
                      struct arena *arena, struct result *result,
                      struct cairn_error *error)
{
    struct file_look files;
    const char *first;
    if (e->looks.command && !e->looks.command_ready) {
        if (e->looks.command != command) /* which was refused meanwhile */
            look_threads_stop(e->looks.threads, e->looks.of_command);
        return LOOK_WAITS;
    }
    if (e->looks.command == command)
        return take_of_command(e, arena, result, error);
    if (e->looks.command)
        forget_command(e);
    int rc = file_look_begin(&files, asker, false, error);
    if (!rc)
        rc = look_at_files(e, &files, LOOK_OF_COMMAND, &e->looks.of_command, &first,
                           error);
    if (rc == LOOK_WAITS) {
        e->looks.command = command;
        return rc;
    }
    if (!rc)
        rc = file_look_take(&files, arena, &result->outputs, &result->n_outputs, error);
    file_look_release(&files);
    return rc;
}

void looks_command_ready(struct engine *e)
{
    e->looks.command_ready = true;
}

void looks_close(struct engine *e)
{
    look_threads_close(e->looks.threads);
    e->looks.threads = NULL;
    if (e->looks.command_ready)
        look_free(e->looks.of_command);
}
