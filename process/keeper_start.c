/* SPDX-License-Identifier: MIT */
/* Making a keeper: what it is to do goes into a memory file (keeper_file.h says why),
 * complete before the keeper exists, so that a keeper whose maker is killed knows
 * either all or is not there. */
#include "process/child_int.h"
#include "process/file_io.h"
#include "process/helper_program_int.h"
#include "process/keeper.h"
#include "process/keeper_file.h"
#include "process/keeper_int.h"
#include "process/spawner.h"

#include "base/clock.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static uint32_t add_strings(struct buf *out, char *const *strings)
{
    uint32_t n = 0;
    for (; strings[n]; n++)
        buf_add(out, strings[n], strlen(strings[n]) + 1);
    return n;
}

/* False without memory. */
static bool make_spec(const struct spawn_request *request, const char *epoch,
                      struct buf *out)
{
    const struct keeper_order *order = request->keep;
    struct keep_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.magic = KEEP_SPEC_MAGIC;
    spec.version = KEEP_VERSION;
    spec.timeout_ms = order->timeout_ms;
    spec.grace_ms = order->grace_ms;
    struct live_name name = live_of_attempt(LIVE_CLAIM, &order->id);
    live_format(spec.name, &name);
    snprintf(spec.epoch, sizeof spec.epoch, "%s", epoch);
    keeper_start_fill(&spec.start, &order->id);
    snprintf(spec.start.token, sizeof spec.start.token, "%s", order->token);
    spec.start.inputs = order->inputs;
    spec.start.spawn_boot_ns =
        request->slot ? request->slot->spawn_boot_ns : clock_boot_ns();
    buf_add(out, &spec, sizeof spec);
    spec.n_argv = add_strings(out, request->argv);
    spec.n_envp = add_strings(out, request->envp);
    spec.has_path = request->path != NULL;
    if (request->path)
        buf_add(out, request->path, strlen(request->path) + 1);
    spec.has_cwd = request->cwd != NULL;
    if (request->cwd)
        buf_add(out, request->cwd, strlen(request->cwd) + 1);
    spec.bytes = out->size;
    if (!out->failed)
        memcpy(out->data, &spec, sizeof spec);
    return !out->failed;
}

/* Where there are no memory files a pipe must hold all of it. An errno. */
static int spec_in_pipe(struct str spec, int *fd)
{
    int ends[2];
    if (spec.len > INT_MAX / 2)
        return E2BIG;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return errno;
    int sys = 0;
    if (fcntl(ends[1], F_SETPIPE_SZ, (int)spec.len) < 0)
        sys = E2BIG;
    else if (write(ends[1], spec.ptr, spec.len) != (ssize_t)spec.len)
        sys = E2BIG;
    close(ends[1]);
    if (sys)
        close(ends[0]);
    else
        *fd = ends[0];
    return sys;
}

/* A descriptor to read it from. An errno. */
static int open_spec(struct str spec, int *fd)
{
    int made = memfd_create("cairn-spec", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (made < 0 && errno == EINVAL) /* a kernel before 6.3 */
        made = memfd_create("cairn-spec", MFD_CLOEXEC);
    if (made < 0)
        return spec_in_pipe(spec, fd);
    int sys = file_write_at(made, spec.ptr, spec.len, 0);
    if (sys)
        close(made);
    else
        *fd = made;
    return sys;
}

static pid_t try_clone(struct keeper_job *job, const struct child_stack *stack)
{
    job->request->error = 0;
    return child_clone(stack, child_keeper, job, &job->request->pidfd);
}

/* True if the program itself was refused. The process is gone then. */
static bool program_refused(struct spawn_request *request, pid_t pid)
{
    if (pid <= 0 || !request->error || strcmp(request->stage, "keeper") != 0)
        return false;
    if (request->slot)
        atomic_store(&request->slot->pid, 0);
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    close(request->pidfd);
    request->pidfd = -1;
    return true;
}

static bool use_file(struct keeper_maker *maker, const char *live_dir)
{
    char path[LIVE_PATH];
    live_keeper_image(path, sizeof path, live_dir, (int)getpid());
    if (maker->image_fd >= 0)
        close(maker->image_fd);
    maker->image_fd = image_in_file(path, NULL);
    maker->in_file = maker->image_fd >= 0;
    return maker->in_file;
}

static pid_t fail_request(struct spawn_request *request, const char *stage, int sys)
{
    request->error = sys;
    request->exit_code = -1;
    request->stage = stage;
    request->pidfd = -1;
    return 0;
}

static pid_t clone_keeper(struct keeper_maker *maker, struct keeper_job *job,
                          const struct child_stack *stack)
{
    struct spawn_request *request = job->request;
    const char *live_dir = request->keep->id.live_dir;
    if (maker->image_fd < 0)
        maker->image_fd = image_in_memory();
    if (maker->image_fd < 0 && !use_file(maker, live_dir))
        return fail_request(request, "keeper", EACCES);
    for (int tries = 0;; tries++) {
        job->image_fd = maker->image_fd;
        pid_t pid = try_clone(job, stack);
        if (!program_refused(request, pid))
            return pid;
        int sys = request->error;
        if (maker->in_file && sys == ETXTBSY && tries < IMAGE_TRIES)
            image_pause();
        else if (maker->in_file || !use_file(maker, live_dir))
            return fail_request(request, "keeper", sys);
    }
}

static bool make_salt(struct keeper_maker *maker)
{
    while (!maker->salt)
        if (random_bytes(&maker->salt, sizeof maker->salt, NULL))
            return false;
    return true;
}

/* The live directory with the epoch in it, which a task may have removed. An errno. */
static int open_epoch(struct keeper_maker *maker, const struct attempt_id *id,
                      char *epoch, int *dir)
{
    if (!make_salt(maker))
        return ENOSYS;
    struct live_name name = live_of_epoch(LIVE_EPOCH, id->run, maker->salt);
    live_format(epoch, &name);
    *dir = open(id->live_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*dir < 0)
        return errno;
    if (mkdirat(*dir, epoch, 0700) == 0 || errno == EEXIST)
        return 0;
    int sys = errno;
    close(*dir);
    return sys;
}

pid_t keeper_clone(struct keeper_maker *maker, const struct child_stack *stack,
                   struct spawn_request *request, int null_fd)
{
    const struct keeper_order *order = request->keep;
    struct keeper_job job = {.request = request, .spec_fd = -1, .null_fd = null_fd};
    char epoch[LIVE_NAME];
    if (strlen(order->token) >= KEEP_TOKEN)
        return fail_request(request, "keeper", ENAMETOOLONG);
    snprintf(job.variable, sizeof job.variable, "CAIRN_TOKEN=%s", order->token);
    int sys = open_epoch(maker, &order->id, epoch, &job.dir_fd);
    if (sys)
        return fail_request(request, "live", sys);
    struct buf spec = BUF_INIT;
    sys = make_spec(request, epoch, &spec) ? open_spec(buf_view(&spec), &job.spec_fd)
                                           : ENOMEM;
    buf_release(&spec);
    if (sys) {
        close(job.dir_fd);
        return fail_request(request, "keeper", sys);
    }
    pid_t pid = clone_keeper(maker, &job, stack);
    close(job.dir_fd);
    close(job.spec_fd);
    return pid;
}
