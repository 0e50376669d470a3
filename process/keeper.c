/* SPDX-License-Identifier: MIT */
/* The file of an attempt as its readers see it: what of it can be believed, revoking,
 * removing. keeper_file.h tells its form. */
#include "process/keeper_int.h"

#include "process/child_int.h"
#include "process/file_io.h"
#include "process/helper_program_int.h"
#include "process/keeper.h"
#include "process/keeper_file.h"
#include "process/pidfd.h"
#include "process/proc_scan.h"
#include "process/spawner.h"

#include "base/clock.h"
#include "base/os.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int keeper_end_rest(const struct keeper *keeper, const char *store_id, bool held,
                           struct cairn_error *error);

/* The part of a claim that its attempt tells. */
static void keeper_start_fill(struct keep_start *start, const struct attempt_id *id)
{
    char boot_id[37];
    memset(start, 0, sizeof *start);
    start->magic = KEEP_START_MAGIC;
    start->version = KEEP_VERSION;
    start->run = id->run;
    start->gen = id->gen;
    start->task = id->task;
    start->attempt = id->attempt;
    os_boot_id(boot_id);
    memcpy(start->boot_id, boot_id, sizeof boot_id);
    start->pid_ns = (uint32_t)os_pid_namespace();
}

struct keeper keeper_of(const struct spawn_request *request)
{
    struct keeper keeper;
    assert(request->keep && !request->error && request->pid > 1);
    assert(request->pidfd >= 0);
    memset(&keeper, 0, sizeof keeper);
    keeper.id = request->keep->id;
    keeper.fate = KEEPER_LIVE;
    keeper.pid = request->pid;
    keeper.pidfd = request->pidfd;
    snprintf(keeper.token, sizeof keeper.token, "%s", request->keep->token);
    if (request->slot)
        keeper.spawn_boot_ns = request->slot->spawn_boot_ns;
    keeper.started_ns = request->started_ns;
    return keeper;
}

void keeper_to_slot(const struct keeper *keeper, struct slot *slot)
{
    assert(keeper->pid > 1); /* its guard signals what a slot names */
    slot->used = 1;
    slot->gen = keeper->id.gen;
    slot->task = keeper->id.task;
    slot->attempt = keeper->id.attempt;
    slot->flags = SLOT_KEPT;
    slot->spawn_boot_ns = keeper->spawn_boot_ns;
    slot->started_ns = keeper->started_ns;
    atomic_store(&slot->pid, keeper->pid);
}

/* ---- Reading ---- */

static bool start_valid(const struct keep_start *start, const struct attempt_id *id)
{
    return start->magic == KEEP_START_MAGIC && start->version == KEEP_VERSION &&
           start->crc == keep_start_crc(start) && start->run == id->run &&
           start->gen == id->gen && start->task == id->task &&
           start->attempt == id->attempt && start->pid >= 0 && start->pid != 1 &&
           memchr(start->boot_id, 0, sizeof start->boot_id) &&
           memchr(start->token, 0, sizeof start->token);
}

static bool end_valid(const struct keeper_halves *halves)
{
    const struct keep_end *end = &halves->end;
    return halves->start_good && end->magic == KEEP_END_MAGIC &&
           end->version == KEEP_VERSION && end->crc == keep_end_crc(end) &&
           end->start_crc == halves->start.crc &&
           memchr(end->stage, 0, sizeof end->stage);
}

static bool all_zero(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

int keeper_read(const struct attempt_id *id, struct keeper_halves *halves,
                struct cairn_error *error)
{
    char path[LIVE_PATH], bytes[KEEP_BYTES] = {0};
    live_path(path, sizeof path, id->live_dir, live_of_attempt(LIVE_CLAIM, id));
    int fd = os_open_plain(path, O_RDONLY);
    if (fd < 0 && errno == EINVAL) { /* something else is in its place */
        *halves = (struct keeper_halves){.damaged = true};
        return 1;
    }
    if (fd < 0)
        return errno == ENOENT ? 0 : error_sys(error, errno, "%s", path);
    size_t size = 0;
    while (size < sizeof bytes) {
        ssize_t n = pread(fd, bytes + size, sizeof bytes - size, (off_t)size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int sys = errno;
            close(fd);
            return error_sys(error, sys, "%s", path);
        }
        if (n == 0)
            break;
        size += (size_t)n;
    }
    close(fd);
    memset(halves, 0, sizeof *halves);
    memcpy(&halves->start, bytes, sizeof halves->start);
    memcpy(&halves->end, bytes + KEEP_HALF, sizeof halves->end);
    halves->start_good = size == KEEP_BYTES && start_valid(&halves->start, id);
    halves->end_good = end_valid(halves);
    halves->damaged = !halves->start_good ||
                      (!halves->end_good && !all_zero(bytes + KEEP_HALF, KEEP_HALF));
    return 1;
}

static struct keeper_record record_of(const struct keep_end *end)
{
    struct keeper_record record = {.exit_code = end->exit_code,
                                   .signal = end->signal,
                                   .timed_out = (end->flags & KEEP_TIMED_OUT) != 0,
                                   .stopped = (end->flags & KEEP_STOPPED) != 0,
                                   .error = end->error,
                                   .pid = end->pid,
                                   .started_ns = end->started_ns,
                                   .ended_ns = end->ended_ns,
                                   .cpu_us = end->cpu_us,
                                   .peak_kib = end->peak_kib};
    snprintf(record.stage, sizeof record.stage, "%s", end->stage);
    return record;
}

void keeper_apply_file(struct keeper *keeper, const struct keeper_halves *halves)
{
    const struct keep_start *start = &halves->start;
    keeper->fate = KEEPER_LOST;
    keeper->damaged = halves->damaged;
    if (!halves->start_good)
        return;
    snprintf(keeper->token, sizeof keeper->token, "%s", start->token);
    keeper->pid = start->pid;
    keeper->spawn_boot_ns = start->spawn_boot_ns;
    keeper->started_ns = start->claimed_ns;
    keeper->inputs = start->inputs;
    if (start->pid == 0) {
        keeper->fate = KEEPER_NEVER;
        keeper->error = EEXIST;
    } else if (halves->end_good) {
        keeper->fate = KEEPER_ENDED;
        keeper->record = record_of(&halves->end);
    }
}

/* ---- Revoking ---- */

/* Takes the attempt so that nobody starts it: an errno, EEXIST if somebody has it. */
static int keeper_claim_empty(const struct attempt_id *id)
{
    struct keep_start start;
    char name[LIVE_NAME];
    struct live_name claim = live_of_attempt(LIVE_CLAIM, id);
    int dir = open(id->live_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return errno;
    keeper_start_fill(&start, id);
    start.claimed_ns = clock_utc_ns();
    live_format(name, &claim);
    int sys = keep_claim(dir, ".", name, &start, NULL);
    close(dir);
    return sys;
}

/* ---- Epochs ---- */

/* What cannot be removed is in nobody's way. */
static void remove_epoch(int dir, const char *epoch)
{
    int fd = openat(dir, epoch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *inside = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    if (fd >= 0 && !inside)
        close(fd);
    while (inside && (entry = readdir(inside)))
        (void)unlinkat(fd, entry->d_name, 0);
    if (inside)
        closedir(inside);
    (void)unlinkat(dir, epoch, fd < 0 ? 0 : AT_REMOVEDIR);
}

/* Under another name at once: keepers say both names of a link by their paths. */
static int close_epoch(int dir, const char *epoch, struct live_name name)
{
    char gone[LIVE_NAME];
    name.kind = LIVE_EPOCH_GONE;
    live_format(gone, &name);
    if (renameat(dir, epoch, dir, gone))
        return errno == ENOENT ? 0 : errno;
    remove_epoch(dir, gone);
    return 0;
}

int keepers_close_epochs(const char *live_dir, uint64_t run, struct cairn_error *error)
{
    const struct dirent *entry;
    int sys = 0;
    DIR *dir = opendir(live_dir);
    if (!dir)
        return errno == ENOENT ? 0 : error_sys(error, errno, "%s", live_dir);
    while (!sys && (entry = readdir(dir))) {
        struct live_name name;
        if (!live_parse(&name, entry->d_name) || name.run != run)
            continue;
        if (name.kind == LIVE_EPOCH)
            sys = close_epoch(dirfd(dir), entry->d_name, name);
        else if (name.kind == LIVE_EPOCH_GONE)
            remove_epoch(dirfd(dir), entry->d_name); /* its closer was killed */
    }
    closedir(dir);
    return sys ? error_sys(error, sys, "barring late tasks in %s", live_dir) : 0;
}

/* ---- Claims ---- */

bool keeper_claim_of(const char *name, const char *live_dir, uint64_t run,
                     struct attempt_id *id)
{
    struct live_name seen;
    if (!live_parse(&seen, name) || seen.kind != LIVE_CLAIM || seen.run != run)
        return false;
    *id = (struct attempt_id){live_dir, run, seen.gen, seen.task, seen.attempt, 0};
    return true;
}

/* ---- Removing ---- */

void keeper_forget(const struct attempt_id *id)
{
    char path[LIVE_PATH];
    capture_attempt_remove(id);
    live_path(path, sizeof path, id->live_dir, live_of_attempt(LIVE_CLAIM, id));
    (void)unlink(path);
}

/* Making a keeper: what it is to do goes into a memory file (keeper_file.h says why),
 * complete before the keeper exists, so that a keeper whose maker is killed knows
 * either all or is not there. */

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

/* For a resumer: what became of an attempt, and of all that have a file. The file
 * decides what is believed, the pidfd and /proc who is signalled.
 *
 * Order matters when a file and a process are looked at: a keeper writes its record and
 * then ends. So "no record" means LOST only if it was read after the keeper was seen
 * dead. */

/* ---- The process ---- */

/* Has the process the token of this attempt in its (short) environment? -1: it cannot
 * be told. One that ends has none any more (newer kernels then refuse to open it). */
static int has_token(pid_t pid, const char *token)
{
    char text[KEEP_TOKEN + 64], wanted[KEEP_TOKEN + 16];
    int n = snprintf(wanted, sizeof wanted, "CAIRN_TOKEN=%s", token);
    int fd = proc_open(pid, "environ");
    if (fd < 0 || n < 0)
        return fd < 0 && errno == ESRCH ? 0 : -1;
    ssize_t size = read(fd, text, sizeof text);
    close(fd);
    if (size < 0)
        return -1;
    return size == n + 1 && memcmp(text, wanted, (size_t)size) == 0;
}

bool keeper_number_is_ours(const struct keep_start *start)
{
    uint64_t here = os_pid_namespace();
    return here && (!start->pid_ns || start->pid_ns == (uint32_t)here);
}

int keeper_has_file(const struct attempt_id *id, struct cairn_error *error)
{
    char path[LIVE_PATH];
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    live_path(path, sizeof path, id->live_dir, live_of_attempt(LIVE_CLAIM, id));
    int fd = os_open_plain(path, O_RDONLY);
    if (fd < 0)
        return errno == ENOENT ? 0 : error_sys(error, errno, "%s", path);
    int rc = fcntl(fd, F_OFD_GETLK, &all) < 0 ? error_sys(error, errno, "%s", path)
                                              : all.l_type != F_UNLCK;
    close(fd);
    return rc;
}

/* One whose number means nothing here: only the lock of its file tells whether it
 * lives.
 */
static int look_elsewhere(const struct attempt_id *id, const struct keep_start *start,
                          struct cairn_error *error)
{
    int lives = keeper_has_file(id, error);
    if (lives <= 0)
        return lives;
    return error_set(error, CAIRN_EBUSY,
                     "process %d of another PID namespace (a container), or that /proc "
                     "does not show, keeps a task of run %" PRIu64
                     ": go on where it runs, or end it there",
                     start->pid, id->run);
}

/* Holds the keeper that a file names: 1 it lives (and *pidfd is it), 0 it does not,
 * <0 it cannot be told. Whatever is read by number is of the process that the pidfd
 * holds, if that lives afterwards. */
static int hold_keeper(const struct attempt_id *id, const struct keep_start *start,
                       int *pidfd, struct cairn_error *error)
{
    char boot_id[37];
    struct proc_entry process;
    os_boot_id(boot_id);
    if (start->pid <= 1 || (boot_id[0] && strcmp(boot_id, start->boot_id) != 0))
        return 0;
    if (!boot_id[0] || !keeper_number_is_ours(start))
        return look_elsewhere(id, start, error);
    int fd = pidfd_of(start->pid);
    if (fd < 0)
        return errno == ESRCH
                   ? 0
                   : error_sys(error, errno, "looking for process %d", start->pid);
    bool seen = proc_stat(start->pid, &process);
    int token = has_token(start->pid, start->token);
    if (pidfd_has_ended(fd) || (seen && process.start != start->start) || token == 0) {
        close(fd);
        return 0;
    }
    if (!seen || token < 0) {
        close(fd);
        return error_set(error, CAIRN_EBUSY,
                         "process %d, which keeps a task of an earlier run, cannot be "
                         "looked at in /proc; go on as the user that started it",
                         start->pid);
    }
    *pidfd = fd;
    return 1;
}

/* Fills in everything but what only revoking can tell: NEVER without a file. */
static int look_at_attempt(struct keeper *keeper, struct cairn_error *error)
{
    struct keeper_halves halves;
    int there = keeper_read(&keeper->id, &halves, error);
    if (there < 0)
        return there;
    if (!there) {
        keeper->fate = KEEPER_NEVER;
        return 0;
    }
    keeper_apply_file(keeper, &halves);
    if (keeper->fate != KEEPER_LOST || !halves.start_good)
        return 0;
    int held = hold_keeper(&keeper->id, &halves.start, &keeper->pidfd, error);
    if (held < 0)
        return held;
    if (held) {
        keeper->fate = KEEPER_LIVE;
        keeper->damaged = false;
        return 0;
    }
    there = keeper_read(&keeper->id, &halves, error);
    if (there > 0)
        keeper_apply_file(keeper, &halves);
    return there < 0 ? there : 0;
}

/* ---- One, or all ---- */

int keeper_revoke(const struct attempt_id *id, struct cairn_error *error)
{
    struct keeper_halves halves;
    int sys = keeper_claim_empty(id);
    if (!sys)
        return 1;
    if (sys != EEXIST)
        return error_sys(error, sys, "barring an attempt in %s", id->live_dir);
    int there = keeper_read(id, &halves, error);
    return there < 0 ? there : there && halves.start_good && halves.start.pid == 0;
}

static void id_only(struct keeper *keeper, const struct attempt_id *id)
{
    memset(keeper, 0, sizeof *keeper);
    keeper->id = *id;
    keeper->pidfd = -1;
}

int keeper_look(struct keeper *out, const struct attempt_id *id, const char *store_id,
                struct cairn_error *error)
{
    struct keeper keeper;
    id_only(&keeper, id);
    int revoked = keeper_revoke(id, error);
    if (revoked < 0)
        return revoked;
    int rc = look_at_attempt(&keeper, error);
    if (rc)
        return rc;
    if (keeper.fate == KEEPER_LOST)
        rc = keeper_end_rest(&keeper, store_id, false, error);
    if (rc)
        return rc;
    *out = keeper;
    return 0;
}

int keepers_each(const char *live_dir, const char *store_id, uint64_t run,
                 int (*visit)(void *context, struct keeper *keeper), void *context,
                 struct cairn_error *error)
{
    struct attempt_id id;
    const struct dirent *entry;
    int rc = 0;
    DIR *dir = opendir(live_dir);
    if (!dir)
        return errno == ENOENT ? 0 : error_sys(error, errno, "%s", live_dir);
    while (!rc && (entry = readdir(dir))) {
        if (!keeper_claim_of(entry->d_name, live_dir, run, &id))
            continue;
        struct keeper keeper;
        id_only(&keeper, &id);
        rc = look_at_attempt(&keeper, error);
        /* A file that was copied here from another store. */
        bool foreign = keeper.token[0] && !slots_token_is_of(keeper.token, store_id);
        if (!rc && !foreign)
            rc = visit(context, &keeper);
        if (keeper.pidfd >= 0)
            close(keeper.pidfd);
    }
    closedir(dir);
    return rc;
}

void keepers_forget_foreign(const char *live_dir, const char *store_id, uint64_t run)
{
    struct keeper_halves halves;
    struct attempt_id id;
    const struct dirent *entry;
    DIR *dir = opendir(live_dir);
    while (dir && (entry = readdir(dir)))
        if (keeper_claim_of(entry->d_name, live_dir, run, &id) &&
            keeper_read(&id, &halves, NULL) > 0 && halves.start_good &&
            halves.start.token[0] && !slots_token_is_of(halves.start.token, store_id))
            keeper_forget(&id);
    if (dir)
        closedir(dir);
}

/* ---- Ending what nobody will take over ---- */

struct stopping {
    void (*ended)(void *context, const struct keeper *keeper);
    void *context;
};

static int stop_keeper(void *context, struct keeper *keeper)
{
    enum { LONGEST_MS = 30000 };
    const struct stopping *stopping = context;
    struct pollfd end = {.fd = keeper->pidfd, .events = POLLIN};
    if (keeper->fate != KEEPER_LIVE)
        return 0;
    keeper_signal(keeper, KEEPER_STOP);
    if (poll(&end, 1, LONGEST_MS) == 0)
        keeper_signal(keeper, KEEPER_KILL);
    if (stopping->ended)
        stopping->ended(stopping->context, keeper);
    return 0;
}

int keepers_stop(const char *live_dir, const char *store_id, uint64_t run,
                 void (*ended)(void *context, const struct keeper *keeper),
                 void *context, struct cairn_error *error)
{
    struct stopping stopping = {ended, context};
    return keepers_each(live_dir, store_id, run, stop_keeper, &stopping, error);
}

/* For whoever waits for a keeper: signals, its end, and ending what a lost one left. */

/* ---- Ending what a lost keeper left ---- */

static int end_strays(struct proc_scan *scan)
{
    enum { ROUNDS = 200, PAUSE_NS = 10000000 };
    int living = 0, quiet = 0;
    for (int round = 0; round < ROUNDS && quiet < 2; round++) {
        living = proc_scan_round(scan, SIGKILL);
        if (living < 0)
            break;
        quiet = living == 0 && !scan->unsure ? quiet + 1 : 0;
        if (living || scan->unsure) {
            struct timespec pause = {0, PAUSE_NS};
            nanosleep(&pause, NULL);
        }
    }
    return living;
}

/* What its processes have in their environment: "CAIRN_TOKEN=", `needle`, ".", and
 * something that ends with `suffix`. */
struct mark {
    char needle[KEEP_TOKEN], suffix[KEEP_TOKEN];
};

/* By the whole token; without one (a damaged file) by the numbers in it. */
static struct mark mark_of(const struct keeper *keeper, const char *store_id)
{
    struct mark mark;
    if (!keeper->token[0]) {
        snprintf(mark.needle, sizeof mark.needle, "%s.%" PRIu64, store_id,
                 keeper->id.run);
        snprintf(mark.suffix, sizeof mark.suffix, ".%" PRIu32 ".%" PRIu32,
                 keeper->id.task, keeper->id.attempt);
        return mark;
    }
    /* "<store>.<run>", "<random>.<task>.<attempt>" */
    snprintf(mark.needle, sizeof mark.needle, "%s", keeper->token);
    char *dot = NULL;
    for (int i = 0; i < 3; i++) {
        dot = strrchr(mark.needle, '.');
        if (dot)
            *dot = 0;
    }
    snprintf(mark.suffix, sizeof mark.suffix, "%s",
             dot ? keeper->token + (dot + 1 - mark.needle) : keeper->token);
    return mark;
}

/* By token and by session. `held`: the keeper is our zombie, its number is its own. */
static int keeper_end_rest(const struct keeper *keeper, const char *store_id, bool held,
                           struct cairn_error *error)
{
    struct mark mark = mark_of(keeper, store_id);
    struct proc_scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return error_nomem(error);
    proc_scan_init(scan, NULL, mark.needle, 0);
    scan->suffix = mark.suffix;
    scan->session = keeper->pid;
    scan->session_held = held;
    int living = end_strays(scan);
    proc_scan_release(scan);
    free(scan);
    if (living < 0)
        return error_set(
            error, CAIRN_EIO,
            "/proc cannot be read, so what a lost task left running cannot "
            "be found");
    if (living > 0)
        return error_set(error, CAIRN_EBUSY,
                         "%d processes of a task whose keeper was lost do not end",
                         living);
    return 0;
}

/* ---- Signals ---- */

void keeper_signal(const struct keeper *keeper, enum keeper_wish wish)
{
    int signal = wish == KEEPER_KILL ? SIGUSR1 : SIGTERM;
    if (keeper->pidfd < 0)
        return;
    (void)pidfd_signal(keeper->pidfd, signal);
    (void)pidfd_signal(keeper->pidfd, SIGCONT);
}

/* ---- The end ---- */

/* How a child of ours ended. */
struct child_end {
    bool child;
    int exit_code; /* -1 if signalled */
    int signal;
    int64_t cpu_us;
};

/* Looks without reaping, or reaps. False: it still runs. */
static bool wait_child(int pidfd, int options, struct child_end *end)
{
    siginfo_t info;
    struct rusage usage;
    memset(&usage, 0, sizeof usage);
    end->child = pidfd_wait(pidfd, options, &info, &usage) == 0;
    if (!end->child) /* somebody else's */
        return pidfd_has_ended(pidfd);
    if (info.si_pid == 0)
        return false;
    end->exit_code = info.si_code == CLD_EXITED ? info.si_status : -1;
    end->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    end->cpu_us = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                  usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    return true;
}

/* A keeper that exits (is not killed) does it as its task did. */
static void trust_exit_status(struct keeper *keeper, const struct child_end *end)
{
    keeper->fate = KEEPER_ENDED;
    keeper->record = (struct keeper_record){.exit_code = end->exit_code,
                                            .started_ns = keeper->started_ns,
                                            .ended_ns = clock_utc_ns(),
                                            .cpu_us = end->cpu_us};
}

/* There is no file. Either the keeper could not make it, or somebody has removed it. */
static void decide_without_file(struct keeper *keeper, const struct child_end *end)
{
    keeper->fate = KEEPER_LOST;
    if (end->child && end->exit_code >= 0) {
        trust_exit_status(keeper, end);
    } else if (end->child && end->signal == KEEP_NOT_STARTED) {
        int sys = keeper_claim_empty(
            &keeper->id); /* probably fails as it did for the keeper */
        keeper->fate = KEEPER_NEVER;
        keeper->error = sys ? sys : ECANCELED;
    }
}

static int decide_fate(struct keeper *keeper, const struct child_end *end,
                       struct cairn_error *error)
{
    struct keeper_halves halves;
    pid_t pid = keeper->pid;
    int there = keeper_read(&keeper->id, &halves, error);
    if (there <= 0) {
        decide_without_file(keeper, end);
        return there;
    }
    if (halves.start_good && halves.start.pid != pid) {
        keeper->fate = KEEPER_NEVER; /* somebody else has the attempt, or revoked it */
        keeper->error = EEXIST;
        return 0;
    }
    keeper_apply_file(keeper, &halves);
    keeper->pid = pid;
    if (keeper->fate == KEEPER_LOST && end->child && end->exit_code >= 0)
        trust_exit_status(keeper, end);
    return 0;
}

int keeper_reap(struct keeper *keeper, struct slot *slot, struct cairn_error *error)
{
    struct child_end end = {.exit_code = -1};
    if (!wait_child(keeper->pidfd, WNOHANG | WNOWAIT, &end))
        return error_set(error, CAIRN_EIO, "process %d has not ended yet",
                         (int)keeper->pid);
    int rc = decide_fate(keeper, &end, error);
    if (keeper->fate == KEEPER_LOST) {
        int rest = keeper_end_rest(keeper, "", end.child, error); /* it has a token */
        rc = rc ? rc : rest;
    }
    if (slot)
        atomic_store(&slot->pid, 0);
    if (end.child)
        (void)wait_child(keeper->pidfd, 0, &end);
    close(keeper->pidfd);
    keeper->pidfd = -1;
    return rc;
}
