/* SPDX-License-Identifier: MIT */
/* Reads the capture files beside the tasks that write them; those of tasks with secrets
 * are written by us, without the secrets (executor/state/job_disk.c). What is left at
 * the end comes with the ending. */
#include "executor/attempt/stream.h"

#include "executor/state/report.h"

#include <sys/stat.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 256 << 10 };

/* Up to the last line break. A line that is longer than all that is read at once is
 * told in parts. */
static size_t whole_lines(const char *bytes, size_t n)
{
    size_t whole = n;
    while (whole && bytes[whole - 1] != '\n')
        whole--;
    return !whole && n == MOST_AT_ONCE ? n : whole;
}

static void stream_one(struct engine *e, struct job *job, int stream, char *room)
{
    struct stat st;
    uint64_t *told = &job->told[stream];
    int fd = job->capture.fd[stream];
    struct cairn_event_output output = {.bytes = room};
    if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size <= *told)
        return;
    if (*told < job->capture.punched[stream]) { /* the middle is gone */
        output.gap = job->capture.punched[stream] - *told;
        *told = job->capture.punched[stream];
    }
    ssize_t n = pread(fd, room, MOST_AT_ONCE, (off_t)*told);
    output.n = n > 0 ? whole_lines(room, (size_t)n) : 0;
    *told += output.n;
    if (output.n || output.gap)
        report_output(e, job, stream, &output);
}

/* ---- Logs that grow ---- */

/* What is under a keeper is redacted when it has ended. */
static bool may_be_told(const struct engine *e, const struct job *job)
{
    return e->request.options->last_lines && e->request.options->observe &&
           !(job->kept && e->run.situation.secrets.redactor);
}

static void tell_end(struct engine *e, const struct job *job, int stream, uint64_t size)
{
    enum { ENOUGH = 1024 };
    char end[ENOUGH];
    uint64_t from = size > sizeof end ? size - sizeof end : 0;
    ssize_t n = pread(job->capture.fd[stream], end, sizeof end, (off_t)from);
    struct cairn_event_output output = {.bytes = end, .n = n > 0 ? (size_t)n : 0};
    if (output.n)
        report_line(e, job, stream, &output);
}

static void look_at_log(struct engine *e, struct job *job, int stream, int64_t now_ns)
{
    struct stat st;
    int fd = job->capture.fd[stream];
    if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size == job->seen[stream])
        return;
    job->seen[stream] = (uint64_t)st.st_size;
    if (job->merged && e->request.store)
        log_times_add(&job->log_times, job->seen[stream], now_ns);
    if (may_be_told(e, job))
        tell_end(e, job, stream, job->seen[stream]);
}

void look_at_logs(struct engine *e)
{
    int64_t now_ns = loop_utc_ns(e);
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state != JOB_RUNNING || !job->capture_open ||
            (job->role != ROLE_TASK && job->role != ROLE_UNDO))
            continue;
        for (int stream = 0; stream < job_streams(job); stream++)
            look_at_log(e, job, stream, now_ns);
    }
}

/* ---- Whole lines ---- */

/* One under a keeper is redacted when it has ended, so nothing is told of it before. */
void stream_outputs(struct engine *e)
{
    char *room = NULL;
    if (!e->request.options->stream_output || !e->request.options->observe)
        return;
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state != JOB_RUNNING || !job->capture_open || job->kept ||
            job->role != ROLE_TASK)
            continue;
        if (!room && !(room = malloc(MOST_AT_ONCE)))
            return; /* it is told at the end */
        for (int stream = 0; stream < 2; stream++)
            stream_one(e, job, stream, room);
    }
    free(room);
}
