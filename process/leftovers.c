/* SPDX-License-Identifier: MIT */
/* Ending what a dead run left behind. The rules of who is ours are in proc_scan.h; this
 * file gives them the time to end: TERM, a wait, KILL, a wait. It also tells which
 * keepers are still to be heard of: those that a file names that can be believed. */
#include "process/leftovers.h"
#include "process/keeper_int.h"
#include "process/slot_map.h"

#include "base/clock.h"
#include "base/os.h"

#include "process/proc_scan.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10, KILL_PATIENCE_MS = 2000, UNSURE_ROUNDS = 10 };

/* Everybody that was ever found, for the counts. */
struct found {
    pid_t pid;
    uint64_t start;
};

/* What the files of a run say, as of the last round. */
struct claims {
    const char *live_dir;
    uint64_t run;
    struct buf keepers; /* of struct found */
    struct buf refused; /* of struct refused: files that cannot be believed */
    bool recorded;      /* the slot file is there: nobody has emptied the directory */
    int64_t ticks;      /* per second */
};
struct refused {
    uint32_t task, attempt;
};

struct ending {
    struct proc_scan scan;
    struct claims claims;
    struct buf found; /* of struct found */
    int living;       /* in the last round */
};

static bool is_in(const struct buf *list, const struct proc_entry *process)
{
    const char *at = list->data, *end = at + list->size;
    for (; at < end; at += sizeof(struct found)) {
        struct found one;
        memcpy(&one, at, sizeof one);
        if (one.pid == process->pid && one.start == process->start)
            return true;
    }
    return false;
}

static void add_to(struct buf *list, pid_t pid, uint64_t start)
{
    struct found one;
    memset(&one, 0, sizeof one);
    one.pid = pid;
    one.start = start;
    buf_add(list, &one, sizeof one);
}

/* ---- Keepers ---- */

static void read_claim(struct claims *claims, const struct attempt_id *id)
{
    struct halves halves;
    struct refused refused = {id->task, id->attempt};
    if (keeper_read(id, &halves, NULL) <= 0)
        return;
    if (!halves.start_good)
        buf_add(&claims->refused, &refused, sizeof refused);
    else if (halves.start.pid > 1)
        add_to(&claims->keepers, halves.start.pid, halves.start.start);
}

static int read_claims(struct claims *claims, struct cairn_error *error)
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
    int rc = buf_check(&claims->keepers, error);
    return rc ? rc : buf_check(&claims->refused, error);
}

static bool is_refused(const struct claims *claims, const struct proc_entry *keeper)
{
    const char *at = claims->refused.data, *end = at + claims->refused.size;
    char suffix[32];
    for (; at < end; at += sizeof(struct refused)) {
        struct refused one;
        memcpy(&one, at, sizeof one);
        snprintf(suffix, sizeof suffix, ".%" PRIu32 ".%" PRIu32, one.task, one.attempt);
        if (proc_ends_with(keeper->rest, suffix))
            return true;
    }
    return false;
}

/* A young one may not have come to its file yet; without its room it never will. */
static bool is_young(const struct claims *claims, const struct proc_entry *keeper)
{
    enum { YOUNG_S = 2 };
    int64_t now = clock_boot_ns() / 1000000000 * claims->ticks;
    return claims->recorded && now - (int64_t)keeper->start < YOUNG_S * claims->ticks;
}

static bool has_claim(void *context, const struct proc_entry *keeper)
{
    const struct claims *claims = context;
    return is_in(&claims->keepers, keeper) ||
           (is_young(claims, keeper) && !is_refused(claims, keeper));
}

/* ---- Rounds ---- */

static int look(struct ending *ending, int signal, struct cairn_error *error)
{
    int rc = ending->scan.claims ? read_claims(&ending->claims, error) : 0;
    if (rc)
        return rc;
    ending->living = proc_scan_round(&ending->scan, signal);
    if (ending->living < 0)
        return error_set(error, CAIRN_EIO,
                         "/proc cannot be read, so processes that an "
                         "earlier run left cannot be found");
    for (size_t i = 0; i < ending->scan.count; i++) {
        const struct proc_entry *process = &ending->scan.all[i];
        if (process->ours && !is_in(&ending->found, process))
            add_to(&ending->found, process->pid, process->start);
    }
    return buf_check(&ending->found, error);
}

static void wait_a_little(void)
{
    struct timespec pause = {0, PAUSE_MS * 1000000L};
    nanosleep(&pause, NULL);
}

/* Somebody who is just in an exec shows its token again in a moment. */
static int look_well(struct ending *ending, struct cairn_error *error)
{
    int rc = look(ending, 0, error);
    for (int i = 0; i < UNSURE_ROUNDS; i++) {
        if (rc || ending->living > 0 || !ending->scan.unsure)
            break;
        wait_a_little();
        rc = look(ending, 0, error);
    }
    return rc;
}

/* One round with `signal`, then rounds with `again` until none is left or the time is
 * over. */
static int end_with(struct ending *ending, int signal, int again, int64_t patience_ms,
                    struct cairn_error *error)
{
    int64_t until = clock_mono_ns() + patience_ms * 1000000;
    int rc = look(ending, signal, error);
    while (!rc && ending->living > 0 && clock_mono_ns() < until) {
        wait_a_little();
        rc = look(ending, again, error);
        if (!rc && ending->living == 0)
            rc = look_well(ending, error);
    }
    return rc;
}

/* The slots of the dead run, if they are of this boot. What cannot be read is no
 * obstacle: the token finds all but those that changed their environment. */
static const struct slots *recorded(struct slot_map *map, const char *live_dir,
                                    uint64_t run)
{
    char boot_id[37];
    os_boot_id(boot_id);
    if (slots_open(map, live_dir, run, NULL))
        return NULL;
    return boot_id[0] && strcmp(boot_id, map->slots->boot_id) == 0 ? map->slots : NULL;
}

struct request {
    const char *live_dir, *store_id;
    uint64_t run;
    int64_t grace_ms;
    bool spare; /* those with a keeper that lives */
};

static void spare_keepers(struct ending *ending, const struct request *request)
{
    ending->claims = (struct claims){.live_dir = request->live_dir,
                                     .run = request->run,
                                     .recorded = ending->scan.slots != NULL,
                                     .ticks = sysconf(_SC_CLK_TCK)};
    ending->scan.spare = true;
    ending->scan.claims = has_claim;
    ending->scan.context = &ending->claims;
}

static int end_request(const struct request *request, struct leftovers *out,
                       struct cairn_error *error)
{
    char token[SLOTS_TOKEN];
    int n =
        snprintf(token, sizeof token, "%s.%" PRIu64, request->store_id, request->run);
    if (n < 0 || (size_t)n >= sizeof token)
        return error_set(error, CAIRN_ELIMIT, "the store's id is too long");
    struct ending *ending = calloc(1, sizeof *ending);
    if (!ending)
        return error_nomem(error);
    struct slot_map map = {.fd = -1, .file = -1};
    proc_scan_init(&ending->scan, recorded(&map, request->live_dir, request->run),
                   token, 0);
    if (request->spare)
        spare_keepers(ending, request);
    int rc = keepers_close(request->live_dir, request->run, error);
    if (!rc)
        rc = look_well(ending, error);
    if (!rc && ending->living > 0 && request->grace_ms > 0)
        rc = end_with(ending, SIGTERM, 0, request->grace_ms, error);
    if (!rc && ending->living > 0)
        rc = end_with(ending, SIGKILL, SIGKILL, KILL_PATIENCE_MS, error);
    if (!rc) {
        out->found = (uint32_t)(ending->found.size / sizeof(struct found));
        out->survived = (uint32_t)ending->living;
        out->ended = out->found - out->survived;
    }
    proc_scan_release(&ending->scan);
    buf_release(&ending->found);
    buf_release(&ending->claims.keepers);
    buf_release(&ending->claims.refused);
    free(ending);
    slots_close(&map, false);
    return rc;
}

int leftovers_end(const char *live_dir, const char *store_id, uint64_t run,
                  int64_t grace_ms, struct leftovers *out, struct cairn_error *error)
{
    struct request request = {live_dir, store_id, run, grace_ms, false};
    return end_request(&request, out, error);
}

int leftovers_end_unkept(const char *live_dir, const char *store_id, uint64_t run,
                         int64_t grace_ms, struct leftovers *out,
                         struct cairn_error *error)
{
    struct request request = {live_dir, store_id, run, grace_ms, true};
    return end_request(&request, out, error);
}
