/* SPDX-License-Identifier: MIT */
/* Reads the capture files beside the tasks that write them; those of tasks with secrets
 * are written by us, without the secrets (executor/state/pipes.c). What is left at the
 * end comes with the ending. */
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
