/* SPDX-License-Identifier: MIT */
/* For whoever waits for a keeper: signals, its end, and ending what a lost one left. */
#include "process/keeper_int.h"

#include "base/clock.h"
#include "process/child_int.h"
#include "process/pidfd.h"
#include "process/proc_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

int keeper_end_rest(const struct keeper *keeper, const char *store_id, bool held,
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
