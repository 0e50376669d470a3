/* SPDX-License-Identifier: MIT */
/* Where attempts write their output, and what is said when a disk is full. Output that
 * cannot be kept is never the failure of a task: where the disk of the store has little
 * room left, it is kept in memory until it is stored or the run has ended. */
#include "executor/state/job_disk.h"

#include "executor/state/report.h"

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* As much as may soon be written by what runs. */
static uint64_t room_wanted(const struct engine *e)
{
    const uint64_t least = 4 << 20, most = 64 << 20;
    uint64_t limit = output_limit(e) < most ? output_limit(e) : most;
    uint64_t wanted = limit * 2 * e->jobs.limit;
    return wanted < least ? least : wanted > most ? most : wanted;
}

bool disk_has_room(const char *directory, uint64_t bytes)
{
    enum { FEW_INODES = 16 };
    struct statvfs fs;
    if (statvfs(directory, &fs) < 0)
        return true;
    uint64_t free = (geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * fs.f_frsize;
    /* Without a limit there are no blocks, or inodes, at all. */
    return (fs.f_blocks == 0 || free >= bytes) &&
           (fs.f_files == 0 || fs.f_ffree >= FEW_INODES);
}

/* Is there so little room in the live directory that what tasks write is better kept in
 * memory? */
static bool lacks_room(struct engine *e)
{
    enum { AGAIN_NS = 5000000 };
    int64_t now_ns = loop_now_ns(e);
    if (!e->jobs.looked_ns || now_ns - e->jobs.looked_ns > AGAIN_NS) {
        e->jobs.lacks_room =
            e->run.live_dir && !disk_has_room(e->run.live_dir, room_wanted(e));
        e->jobs.looked_ns = now_ns;
    }
    return e->jobs.lacks_room;
}

/* ---- Files for output ---- */

static int open_files(struct engine *e, struct job *job, struct cairn_error *error)
{
    return job->kept ? capture_attempt_create(&job->capture, &job->order.id,
                                              job->merged, error)
                     : capture_open(&job->capture, e->run.live_dir, e->run.row.run,
                                    job_index(&e->jobs, job), error);
}

void job_lose_output(struct engine *e, uint32_t task, const char *why)
{
    struct buf text = BUF_INIT;
    e->jobs.lost_outputs++;
    buf_format(&text, "the output of %s cannot be kept: %s", e->request.graph->id[task],
               why);
    report(e, CAIRN_EVENT_NOTICE, text.failed ? "out of memory" : text.data);
    buf_release(&text);
}

/* A task may have removed the live directory. What outlives us needs files. */
static int open_somewhere(struct engine *e, struct job *job, bool in_memory,
                          struct cairn_error *error)
{
    if (in_memory)
        return capture_open_memory(&job->capture, error);
    int rc = open_files(e, job, error);
    if (rc && os_make_dir(e->run.live_dir, 0700, NULL) == 1)
        rc = open_files(e, job, error);
    if (rc && !job->kept && capture_open_memory(&job->capture, NULL) == 0)
        rc = 0;
    return rc;
}

/* Without the second file its stderr is lost, not its stdout. */
static void open_apart(struct engine *e, struct job *job)
{
    struct cairn_error error = {0};
    if (job->kept || job->merged || !job->capture_open)
        return;
    if (capture_open_apart(&job->capture, e->run.live_dir, e->run.row.run,
                           job_index(&e->jobs, job), &error))
        job_lose_output(e, job->intent.task, error.text);
}

static void open_capture(struct engine *e, struct job *job)
{
    struct cairn_error error = {0};
    bool in_memory = !job->kept && lacks_room(e);
    if (job->capture_open && job->capture.in_memory == in_memory)
        return;
    if (job->capture_open) {
        capture_close(&job->capture);
        capture_remove(e->run.live_dir, e->run.row.run, job_index(&e->jobs, job));
    }
    int rc = open_somewhere(e, job, in_memory, &error);
    job->capture_open = !rc;
    if (!rc)
        return;
    job->capture = (struct capture){.fd = {-1, -1}};
    job_lose_output(e, job->intent.task, error.text);
}

void job_open_capture(struct engine *e, struct job *job)
{
    open_capture(e, job);
    open_apart(e, job);
}

/* ---- A full disk ---- */

static bool same_disk(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev;
}

void job_check_disk(struct engine *e, const struct job *job)
{
    const char *live = e->run.live_dir, *cwd = job->cwd.size ? job->cwd.data : ".";
    const char *next =
        e->request.store ? "free space, then `cairn resume`" : "free space";
    struct buf text = BUF_INIT;
    if (e->jobs.disk_reported || job->cancelled)
        return;
    bool own = os_is_full(cwd), shared = own && same_disk(cwd, live);
    bool ours = job->capture_open && !job->capture.in_memory && os_is_full(live);
    if (own && !shared)
        buf_format(&text, "%s works in %s, on a disk where no room is left: %s",
                   e->request.graph->id[job->intent.task], cwd, next);
    else if (shared)
        buf_format(&text,
                   "%s works in %s, on a disk where no room is left; the store is on "
                   "the same: %s",
                   e->request.graph->id[job->intent.task], cwd, next);
    else if (ours)
        buf_format(&text,
                   "what tasks write is kept in %s, where no room is left; a task that "
                   "was writing may have failed because of it: %s",
                   live, next);
    else
        return;
    e->jobs.disk_reported = true;
    report(e, CAIRN_EVENT_DISK_FULL, text.failed ? "out of memory" : text.data);
    buf_release(&text);
}

void job_check_growth(struct engine *e, const struct job *job)
{
    char text[LIVE_PATH + 200];
    if (!job->capture.untrimmed || e->jobs.growth_reported)
        return;
    e->jobs.growth_reported = true;
    snprintf(
        text, sizeof text,
        "what %s writes takes ever more room in %s until it ends: this file system "
        "cannot give back the middle of a file; a local directory can (--store "
        "DIR)",
        e->request.graph->id[job->intent.task], e->run.live_dir);
    report(e, CAIRN_EVENT_NOTICE, text);
}

/* Output of tasks in a workflow with secrets: through a pipe and the redactor into the
 * file that otherwise the task itself would write: one pipe where both streams are one
 * log. What is in the pipe when cairn dies is lost. */

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
