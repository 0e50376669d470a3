/* SPDX-License-Identifier: MIT */
/* Output of tasks in a workflow with secrets: through a pipe and the redactor into the
 * file that otherwise the task itself would write: one pipe where both streams are one
 * log. What is in the pipe when cairn dies is lost. */
#include "executor/state/pipes.h"

#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Every task of a workflow with secrets, because a task can leave a secret in a file
 * for another one. Under a keeper nobody reads a pipe: redact_captured does it later.
 */
static bool must_redact(const struct engine *e, const struct job *job)
{
    return e->run.situation.secrets.redactor && !job->kept;
}

int job_pipes_open(struct engine *e, struct job *job, struct cairn_error *error)
{
    job->pipe[0].fd = job->pipe[1].fd = -1;
    if (!must_redact(e, job))
        return 0;
    for (int i = 0; i < job_streams(job); i++) {
        int fd[2];
        if (pipe2(fd, O_CLOEXEC) < 0) {
            int saved = errno;
            job_pipes_spawned(job);
            job_pipes_close(job);
            return error_sys(error, saved, "cannot make a pipe");
        }
        (void)fcntl(fd[0], F_SETFL, O_NONBLOCK);
        job->pipe[i].fd = fd[0];
        job->pipe[i].held = true;
        redact_begin(&job->pipe[i].stream, e->run.situation.secrets.redactor);
        *(i ? &job->request.stderr_fd : &job->request.stdout_fd) = fd[1];
    }
    if (job->merged)
        job->request.stderr_fd = job->request.stdout_fd;
    return 0;
}

/* The process has its own copies of the write ends. */
void job_pipes_spawned(struct job *job)
{
    for (int i = 0; i < 2; i++) {
        int *fd = i ? &job->request.stderr_fd : &job->request.stdout_fd;
        if (job->pipe[i].fd >= 0 && *fd >= 0) {
            close(*fd);
            *fd = -1;
        }
    }
}

static uint64_t pipe_watch(const struct engine *e, const struct job *job, int stream)
{
    return job->stamp << 16 |
           (WATCH_PIPE + 2 * (uint64_t)job_index(&e->jobs, job) + (uint64_t)stream);
}

int job_pipes_watch(struct engine *e, struct job *job, struct cairn_error *error)
{
    int rc = 0;
    for (int i = 0; i < 2 && !rc; i++)
        if (job->pipe[i].fd >= 0)
            rc = loop_watch(e, job->pipe[i].fd, pipe_watch(e, job, i), error);
    return rc;
}

/* Output is lost, the outcome is not. */
static void write_capture(struct engine *e, struct job *job, int stream,
                          const struct buf *bytes)
{
    struct job_pipe *p = &job->pipe[stream];
    if (!job->capture_open || p->lost || !bytes->size)
        return;
    int sys = os_write_all(job->capture.fd[stream], buf_view(bytes));
    p->lost = sys != 0;
    if (p->lost)
        job_lose_output(e, job->intent.task, strerrordesc_np(sys));
}

/* Up to `rounds` reads. False at the end of the stream. */
static bool read_pipe(struct engine *e, struct job *job, int stream, int rounds)
{
    char chunk[16384];
    struct job_pipe *p = &job->pipe[stream];
    struct buf out = BUF_INIT;
    ssize_t n = 1;
    while (rounds-- > 0 && (n = read(p->fd, chunk, sizeof chunk)) > 0)
        redact_add(&p->stream, (struct str){chunk, (size_t)n}, &out);
    bool more = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
    write_capture(e, job, stream, &out);
    buf_release(&out);
    return more;
}

static void end_stream(struct engine *e, struct job *job, int stream)
{
    struct job_pipe *p = &job->pipe[stream];
    struct buf out = BUF_INIT;
    if (p->fd < 0)
        return;
    redact_end(&p->stream, &out);
    write_capture(e, job, stream, &out);
    buf_release(&out);
    loop_unwatch(e, p->fd);
    close(p->fd);
    p->fd = -1;
}

void job_pipe_read(struct engine *e, struct job *job, int stream)
{
    enum { ROUNDS = 16 };
    if (job->pipe[stream].fd >= 0 && !read_pipe(e, job, stream, ROUNDS))
        end_stream(e, job, stream);
}

/* The task has ended, and its group with it: what is in the pipe is all there is, but
 * for a process that left the group and goes on writing. */
void job_pipes_finish(struct engine *e, struct job *job)
{
    enum { ROUNDS = 256 };
    for (int i = 0; i < 2; i++) {
        if (job->pipe[i].fd < 0)
            continue;
        read_pipe(e, job, i, ROUNDS);
        end_stream(e, job, i);
    }
}

void job_pipes_close(struct job *job)
{
    for (int i = 0; i < 2; i++) {
        if (job->pipe[i].held) {
            if (job->pipe[i].fd >= 0)
                close(job->pipe[i].fd);
            redact_release(&job->pipe[i].stream);
        }
        job->pipe[i] = (struct job_pipe){.fd = -1};
    }
}
