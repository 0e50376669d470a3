/* SPDX-License-Identifier: MIT */
/* Those that a group's end has reached are seen in /proc until their new parent has
 * collected them, which is soon: numbers right behind that of the leader, which they
 * mostly have, are looked at first. */
#include "process/leftovers.h"

#include "process/capture.h"
#include "process/keeper_int.h"
#include "process/proc_scan.h"
#include "process/slot_map.h"
#include "process/spawner.h"

#include "base/clock.h"
#include "base/os.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAMED = 5, NEAR = 64, NAME_BYTES = 16 };

struct found {
    char names[NAMED][NAME_BYTES];
    unsigned n;
};

/* The name, in brackets, and the last field, which is the status of a zombie (0 where
 * it may not be read). */
static bool read_name(pid_t pid, char name[NAME_BYTES], int *status)
{
    char text[1024];
    int fd = proc_open(pid, "stat");
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    const char *last = strrchr(text, ' ');
    if (!begin || !end || !last || end <= begin)
        return false;
    snprintf(name, NAME_BYTES, "%.*s", (int)(end - begin - 1), begin + 1);
    *status = (int)strtol(last + 1, NULL, 10);
    return true;
}

static void look_at(pid_t pid, pid_t group, struct found *found)
{
    struct proc_entry entry;
    char name[NAME_BYTES];
    int status;
    if (!proc_stat(pid, &entry) || entry.group != group ||
        !read_name(pid, name, &status) || (!entry.alive && status != SIGKILL))
        return;
    if (found->n < NAMED)
        memcpy(found->names[found->n], name, sizeof name);
    found->n++;
}

static void look_at_all(pid_t group, struct found *found)
{
    const struct dirent *entry;
    DIR *dir = opendir("/proc");
    while (dir && (entry = readdir(dir))) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 1 && (pid <= group || pid > group + NEAR))
            look_at((pid_t)pid, group, found);
    }
    if (dir)
        closedir(dir);
}

void left_behind_names(pid_t group, struct buf *names)
{
    struct found found = {.n = 0};
    for (pid_t pid = group + 1; pid <= group + NEAR; pid++)
        look_at(pid, group, &found);
    look_at_all(group, &found);
    for (unsigned i = 0; i < found.n && i < NAMED; i++)
        buf_format(names, "%s%s", i ? ", " : "", found.names[i]);
    if (found.n > NAMED)
        buf_format(names, " and %u more", found.n - NAMED);
}

/* Ending what a dead run left behind. The rules of who is ours are in proc_scan.h; this
 * file gives them the time to end: TERM, a wait, KILL, a wait. It also tells which
 * keepers will still report: those named by a file with good checksums. */

enum { PAUSE_MS = 10, KILL_PATIENCE_MS = 2000, UNSURE_ROUNDS = 10 };

/* A process, however long it is remembered. */
struct process_key {
    pid_t pid;
    uint64_t start;
};

/* What the files of a run say, as of the last round. */
struct run_claims {
    const char *live_dir; /* borrowed */
    uint64_t run;
    struct buf keepers; /* of struct process_key */
    struct buf refused; /* of struct refused_claim: files that cannot be believed */
    bool recorded;      /* the slot file is there: nobody has emptied the directory */
    int64_t ticks;      /* per second */
};

struct refused_claim {
    uint32_t task, attempt;
};

struct cleanup {
    struct proc_scan scan;
    struct run_claims claims;
    struct buf found; /* of struct process_key */
    int living;       /* in the last round */
    int slot_file;    /* the slot file as we found it; -1: there was none */
    int unseen;       /* errno, where nobody can tell whether it is still that one */
};

static bool is_in(const struct buf *list, const struct proc_entry *process)
{
    struct process_key one;
    for (size_t at = 0; at < list->size; at += sizeof one) {
        memcpy(&one, list->data + at, sizeof one);
        if (one.pid == process->pid && one.start == process->start)
            return true;
    }
    return false;
}

static void add_to(struct buf *list, pid_t pid, uint64_t start)
{
    struct process_key one;
    memset(&one, 0, sizeof one);
    one.pid = pid;
    one.start = start;
    buf_add(list, &one, sizeof one);
}

/* ---- Keepers ---- */

static void read_claim(struct run_claims *claims, const struct attempt_id *id)
{
    struct keeper_halves halves;
    struct refused_claim refused = {id->task, id->attempt};
    if (keeper_read(id, &halves, NULL) <= 0)
        return;
    if (!halves.start_good)
        buf_add(&claims->refused, &refused, sizeof refused);
    else if (halves.start.pid > 1)
        add_to(&claims->keepers, halves.start.pid, halves.start.start);
}

static int read_claims(struct run_claims *claims, struct cairn_error *error)
{
    struct attempt_id id;
    const struct dirent *entry;
    buf_clear(&claims->keepers);
    buf_clear(&claims->refused);
    DIR *dir = opendir(claims->live_dir);
    while (dir && (entry = readdir(dir)))
        if (keeper_claim_of(entry->d_name, claims->live_dir, claims->run, &id))
            read_claim(claims, &id);
    if (dir)
        closedir(dir);
    return buf_check(&claims->keepers, error) ?: buf_check(&claims->refused, error);
}

static bool is_refused(const struct run_claims *claims, const struct proc_entry *keeper)
{
    const char *at = claims->refused.data, *end = at + claims->refused.size;
    char suffix[32];
    for (; at < end; at += sizeof(struct refused_claim)) {
        struct refused_claim one;
        memcpy(&one, at, sizeof one);
        snprintf(suffix, sizeof suffix, ".%" PRIu32 ".%" PRIu32, one.task, one.attempt);
        if (proc_ends_with(keeper->rest, suffix))
            return true;
    }
    return false;
}

/* A young one may not have come to its file yet; without its epoch it never will. */
static bool is_young(const struct run_claims *claims, const struct proc_entry *keeper)
{
    enum { YOUNG_S = 2 };
    int64_t now = clock_boot_ns() / 1000000000 * claims->ticks;
    return claims->recorded && now - (int64_t)keeper->start < YOUNG_S * claims->ticks;
}

static bool has_claim(void *context, const struct proc_entry *keeper)
{
    const struct cleanup *cleanup = context;
    const struct run_claims *claims = &cleanup->claims;
    return is_in(&claims->keepers, keeper) ||
           (is_young(claims, keeper) && !is_refused(claims, keeper));
}

/* ---- Owners ---- */

static int open_slot_file(const struct run_claims *claims)
{
    char path[LIVE_PATH];
    live_path(path, sizeof path, claims->live_dir,
              live_of_run(LIVE_SLOTS, claims->run));
    return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_gone(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* An owner makes its slot file before it starts anything. As long as there is none but
 * the one that we have found (and hold, so that its inode is not given to another),
 * what lives is of owners before us. */
static bool no_owner_since(void *context)
{
    struct cleanup *cleanup = context;
    struct stat then, now;
    int fd = open_slot_file(&cleanup->claims);
    if (fd < 0 && is_gone(errno))
        return true;
    bool seen = fd >= 0 && fstat(fd, &now) == 0 &&
                (cleanup->slot_file < 0 || fstat(cleanup->slot_file, &then) == 0);
    if (!seen)
        cleanup->unseen = errno;
    if (fd >= 0)
        close(fd);
    return seen && cleanup->slot_file >= 0 && then.st_dev == now.st_dev &&
           then.st_ino == now.st_ino;
}

static int report_unseen(const struct cleanup *cleanup, struct cairn_error *error)
{
    assert(cleanup->unseen);
    return error_sys(error, cleanup->unseen,
                     "cannot see in %s whether another process continues run "
                     "%" PRIu64,
                     cleanup->claims.live_dir, cleanup->claims.run);
}

/* ---- Rounds ---- */

static int run_round(struct cleanup *cleanup, int signal, struct cairn_error *error)
{
    int rc = cleanup->scan.spare ? read_claims(&cleanup->claims, error) : 0;
    if (rc)
        return rc;
    cleanup->living = proc_scan_round(&cleanup->scan, signal);
    if (cleanup->living < 0)
        return error_set(error, CAIRN_EIO,
                         "/proc cannot be read, or is of another PID namespace, so "
                         "processes that run %" PRIu64
                         " has left cannot be found: mount it (mount -t proc proc "
                         "/proc) and try again",
                         cleanup->claims.run);
    if (cleanup->unseen)
        return report_unseen(cleanup, error);
    if (cleanup->scan.barred)
        return error_set(error, CAIRN_EOWNED,
                         "another process has just gone on with run %" PRIu64,
                         cleanup->claims.run);
    for (size_t i = 0; i < cleanup->scan.count; i++) {
        const struct proc_entry *process = &cleanup->scan.all[i];
        if (process->ours && !is_in(&cleanup->found, process))
            add_to(&cleanup->found, process->pid, process->start);
    }
    return buf_check(&cleanup->found, error);
}

static void pause_round(void)
{
    struct timespec pause = {0, PAUSE_MS * 1000000L};
    nanosleep(&pause, NULL);
}

/* Somebody who is just in an exec shows its token again in a moment. */
static int run_sure_rounds(struct cleanup *cleanup, struct cairn_error *error)
{
    int rc = run_round(cleanup, 0, error);
    for (int i = 0; i < UNSURE_ROUNDS; i++) {
        if (rc || cleanup->living > 0 || !cleanup->scan.unsure)
            break;
        pause_round();
        rc = run_round(cleanup, 0, error);
    }
    return rc;
}

/* One round with `signal`, then rounds with `again` until none is left or the time is
 * over. */
static int run_rounds_until(struct cleanup *cleanup, int signal, int again,
                            int64_t patience_ms, struct cairn_error *error)
{
    int64_t until = clock_mono_ns() + patience_ms * 1000000;
    int rc = run_round(cleanup, signal, error);
    while (!rc && cleanup->living > 0 && clock_mono_ns() < until) {
        pause_round();
        rc = run_round(cleanup, again, error);
        if (!rc && cleanup->living == 0)
            rc = run_sure_rounds(cleanup, error);
    }
    return rc;
}

/* The slots of the dead run, if they are of this boot. What cannot be read is no
 * obstacle: the token finds all but those that changed their environment. */
struct cleanup_order {
    const char *live_dir, *store_id;
    uint64_t run;
    int64_t grace_ms;
    bool spare; /* those with a keeper that lives */
};

static const struct slots *open_recorded(struct slot_map *map,
                                         const struct cleanup_order *order)
{
    char boot_id[37];
    os_boot_id(boot_id);
    if (slots_open(map, order->live_dir, order->run, NULL))
        return NULL;
    bool here = map->slots->pid_ns && map->slots->pid_ns == os_pid_namespace();
    return here && boot_id[0] && strcmp(boot_id, map->slots->boot_id) == 0 &&
                   slots_token_is_of(map->slots->token, order->store_id)
               ? map->slots
               : NULL;
}

static void prepare_scan(struct cleanup *cleanup, const struct cleanup_order *order)
{
    cleanup->claims.recorded = cleanup->scan.slots != NULL;
    cleanup->scan.spare = order->spare;
    cleanup->scan.claims = order->spare ? has_claim : NULL;
    cleanup->scan.may_signal = no_owner_since;
    cleanup->scan.context = cleanup;
}

/* ---- Other PID namespaces ---- */

/* A keeper whose number is of another one, and that lives there. */
static bool has_hidden_keeper(const struct cleanup_order *order)
{
    struct attempt_id id;
    struct keeper_halves halves;
    const struct dirent *entry;
    bool hidden = false;
    DIR *dir = opendir(order->live_dir);
    while (dir && !hidden && (entry = readdir(dir)))
        hidden = keeper_claim_of(entry->d_name, order->live_dir, order->run, &id) &&
                 keeper_read(&id, &halves, NULL) > 0 && halves.start_good &&
                 slots_token_is_of(halves.start.token, order->store_id) &&
                 !keeper_number_is_ours(&halves.start) &&
                 keeper_has_file(&id, NULL) != 0;
    if (dir)
        closedir(dir);
    return hidden;
}

/* Was the last owner in a namespace that we do not see into? From the first one all are
 * seen; elsewhere one that has no process here may be dead, or beside ours. The boot is
 * not compared: without a /proc the owner could not note it. */
static bool was_elsewhere(const struct cleanup_order *order)
{
    struct slot_map map;
    uint64_t here = os_pid_namespace();
    if (os_is_first_pid_namespace(here) ||
        slots_open(&map, order->live_dir, order->run, NULL))
        return false;
    bool elsewhere = map.slots->pid_ns != here &&
                     slots_token_is_of(map.slots->token, order->store_id);
    slots_close(&map, false);
    return elsewhere;
}

static int check_elsewhere(const struct cleanup_order *order, struct cairn_error *error)
{
    if (!has_hidden_keeper(order) &&
        !(was_elsewhere(order) && capture_in_use(order->live_dir, order->run)))
        return 0;
    return error_set(error, CAIRN_EBUSY,
                     "tasks of run %" PRIu64
                     " still run in another PID namespace (a container), where they "
                     "cannot be ended or taken over from here: continue the run "
                     "there, or end them there",
                     order->run);
}

static int clean_up(const struct cleanup_order *order, struct leftovers *out,
                    struct cairn_error *error)
{
    char token[SLOTS_TOKEN];
    int n = snprintf(token, sizeof token, "%s.%" PRIu64, order->store_id, order->run);
    if (n < 0 || (size_t)n >= sizeof token)
        return error_set(error, CAIRN_ELIMIT, "the store's id is too long");
    int rc = check_elsewhere(order, error);
    if (rc)
        return rc;
    struct cleanup *cleanup = calloc(1, sizeof *cleanup);
    if (!cleanup)
        return error_nomem(error);
    struct slot_map map = {.fd = -1, .file = -1};
    cleanup->claims = (struct run_claims){
        .live_dir = order->live_dir, .run = order->run, .ticks = sysconf(_SC_CLK_TCK)};
    cleanup->slot_file = open_slot_file(&cleanup->claims);
    cleanup->unseen = cleanup->slot_file < 0 && !is_gone(errno) ? errno : 0;
    proc_scan_init(&cleanup->scan, open_recorded(&map, order), token, 0);
    prepare_scan(cleanup, order);
    rc = cleanup->unseen ? report_unseen(cleanup, error)
                         : keepers_close_epochs(order->live_dir, order->run, error);
    if (!rc)
        rc = run_sure_rounds(cleanup, error);
    if (!rc && cleanup->living > 0 && order->grace_ms > 0)
        rc = run_rounds_until(cleanup, SIGTERM, 0, order->grace_ms, error);
    if (!rc && cleanup->living > 0)
        rc = run_rounds_until(cleanup, SIGKILL, SIGKILL, KILL_PATIENCE_MS, error);
    if (!rc) {
        out->found = (uint32_t)(cleanup->found.size / sizeof(struct process_key));
        out->survived = (uint32_t)cleanup->living;
        out->ended = out->found - out->survived;
    }
    proc_scan_release(&cleanup->scan);
    buf_release(&cleanup->found);
    buf_release(&cleanup->claims.keepers);
    buf_release(&cleanup->claims.refused);
    if (cleanup->slot_file >= 0)
        close(cleanup->slot_file);
    free(cleanup);
    slots_close(&map, false);
    return rc;
}

int leftovers_end(const char *live_dir, const char *store_id, uint64_t run,
                  int64_t grace_ms, struct leftovers *out, struct cairn_error *error)
{
    struct cleanup_order order = {live_dir, store_id, run, grace_ms, false};
    return clean_up(&order, out, error);
}

int leftovers_end_unkept(const char *live_dir, const char *store_id, uint64_t run,
                         int64_t grace_ms, struct leftovers *out,
                         struct cairn_error *error)
{
    struct cleanup_order order = {live_dir, store_id, run, grace_ms, true};
    return clean_up(&order, out, error);
}
