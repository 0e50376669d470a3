/* SPDX-License-Identifier: MIT */
/* For a resumer: what became of an attempt, and of all that have a file. The file
 * decides what is believed, the pidfd and /proc who is signalled.
 *
 * Order matters when a file and a process are looked at: a keeper writes its record and
 * then ends. So "no record" means LOST only if it was read after the keeper was seen
 * dead. */
#include "process/keeper_int.h"

#include "base/os.h"
#include "process/pidfd.h"
#include "process/proc_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

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
