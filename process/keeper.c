/* SPDX-License-Identifier: MIT */
/* The file of an attempt as its readers see it: what of it can be believed, revoking,
 * removing. keeper_file.h tells its form. */
#include "process/keeper_int.h"

#include "base/clock.h"
#include "base/os.h"
#include "process/spawner.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void keeper_start_fill(struct keep_start *start, const struct attempt_id *id)
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

int keeper_claim_empty(const struct attempt_id *id)
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
