/* SPDX-License-Identifier: MIT */
/* Keepers from outside: their files, their ends; decisions about unknown tasks. */
#include "adopt.h"

#include "process/keeper_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool read_keep(const char *path, struct keep_start *start, struct keep_end *end)
{
    char bytes[KEEP_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (n != (ssize_t)sizeof bytes)
        return false;
    memcpy(start, bytes, sizeof *start);
    memcpy(end, bytes + KEEP_HALF, sizeof *end);
    return start->magic == KEEP_START_MAGIC && start->crc == keep_start_crc(start) &&
           start->task < TASKS_MAX && start->attempt < TRIES_MAX;
}

struct visit {
    struct adoption *a;
    uint32_t one_in;
};

static void each_keep(struct visit *visit,
                      void (*each)(struct visit *, const struct keep_start *,
                                   const struct keep_end *))
{
    char live[DIR_SIZE + 32], path[DIR_SIZE + 512];
    snprintf(live, sizeof live, "%s/.cairn/live", visit->a->s.dir);
    DIR *at = opendir(live);
    struct dirent *entry;
    while (at && (entry = readdir(at))) {
        size_t n = strlen(entry->d_name);
        struct keep_start start;
        struct keep_end end;
        if (n < 5 || strcmp(entry->d_name + n - 5, ".keep") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", live, entry->d_name);
        if (read_keep(path, &start, &end))
            each(visit, &start, &end);
    }
    if (at)
        closedir(at);
}

static void kill_one(struct visit *visit, const struct keep_start *start,
                     const struct keep_end *end)
{
    struct adoption *a = visit->a;
    if (start->pid <= 1 || end->magic || !rng_one_in(&a->s.rng, visit->one_in))
        return;
    int fd = (int)syscall(SYS_pidfd_open, start->pid, 0);
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    if (fd >= 0 && is_keeper(start->pid, a->s.dir)) {
        a->fates[start->task][start->attempt].cut = true;
        if (!syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0))
            a->keeper_kills++;
        check(&a->s, poll(&gone, 1, GONE_MS) > 0, "keeper %d does not end", start->pid);
    }
    if (fd >= 0)
        close(fd);
}

void keepers_kill(struct adoption *a, uint32_t one_in)
{
    struct visit visit = {a, one_in};
    each_keep(&visit, kill_one);
}

static void note_one(struct visit *visit, const struct keep_start *start,
                     const struct keep_end *end)
{
    struct fate *fate = &visit->a->fates[start->task][start->attempt];
    if (end->magic != KEEP_END_MAGIC || end->crc != keep_end_crc(end))
        return;
    fate->recorded = true;
    fate->started_ns = end->started_ns;
    fate->ended_ns = end->ended_ns;
    fate->exit_code = end->exit_code;
    fate->signal = end->signal;
    fate->timed_out = (end->flags & KEEP_TIMED_OUT) != 0;
}

void keepers_note(struct adoption *a)
{
    struct visit visit = {a, 0};
    each_keep(&visit, note_one);
}

void cut_note(struct adoption *a, const struct snapshot *snapshot)
{
    for (uint32_t i = 0; i < a->s.w.n_tasks; i++)
        if ((snapshot->interrupted[i] || snapshot->outcome[i] == CAIRN_UNKNOWN) &&
            snapshot->attempts[i] < TRIES_MAX)
            a->fates[i][snapshot->attempts[i]].cut = true;
}

bool live_empty(const struct scenario *s, uint64_t run)
{
    char live[DIR_SIZE + 32], prefix[32];
    bool empty = true;
    snprintf(prefix, sizeof prefix, "run-%llu.", (unsigned long long)run);
    snprintf(live, sizeof live, "%s/.cairn/live", s->dir);
    DIR *at = opendir(live);
    struct dirent *entry;
    while (at && (entry = readdir(at)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            printf("# left: %s\n", entry->d_name);
            empty = false;
        }
    if (at)
        closedir(at);
    return empty;
}

/* ---- Sessions ---- */

bool unknown_decide(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct snapshot snapshot;
    char run[24];
    bool any = false;
    if (!snapshot_take(s, s->dir, &snapshot))
        return false;
    snprintf(run, sizeof run, "%llu", (unsigned long long)snapshot.run);
    for (uint32_t i = 0; i < s->w.n_tasks; i++) {
        if (snapshot.outcome[i] != CAIRN_UNKNOWN)
            continue;
        const struct def *def = &s->w.defs[s->w.def_of[i]];
        /* Nobody says of one that has to fail that it is done. */
        bool rerun = def->flags & DEF_FAILS || !rng_one_in(&s->rng, 3);
        const char *resolve[] = {"resolve", run, s->w.id[i], rerun ? "rerun" : "done",
                                 NULL};
        check(s, def->flags & DEF_ONCE, "%s is unknown, and not `once`", s->w.id[i]);
        int status = cairn_do(s, s->dir, "resolve", resolve);
        check(s, status == 0, "resolve ended with %d", status);
        a->reruns[i] += rerun;
        a->done[i] |= !rerun;
        a->decisions++;
        any = true;
    }
    return any;
}

/* What it says must be what is recorded. */
static void check_status(struct adoption *a, int status)
{
    struct scenario *s = &a->s;
    struct snapshot snapshot;
    if (!snapshot_take(s, s->dir, &snapshot))
        return;
    bool unknown = false, failed = false;
    for (uint32_t i = 0; i < s->w.n_tasks; i++) {
        unknown |= snapshot.outcome[i] == CAIRN_UNKNOWN;
        failed |= snapshot.outcome[i] == CAIRN_FAILED;
    }
    int expected = unknown ? 8 : failed ? 1 : 0;
    check(s, status == expected, "session %u ended with %d, not %d", s->sessions - 1,
          status, expected);
}

void adoption_session(struct adoption *a, const char *const *arguments)
{
    struct scenario *s = &a->s;
    char tag[16];
    snprintf(tag, sizeof tag, "%u", s->sessions);
    int status = cairn_do(s, s->dir, tag, arguments);
    s->finished[s->sessions++] = true;
    check_status(a, status);
}

static void whole_session(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct session session;
    if (!session_start(s, &session, NULL))
        return;
    int status = cairn_wait(s, &session);
    s->finished[s->sessions++] = true;
    check_status(a, status);
}

void adoption_finish(struct adoption *a)
{
    enum { ROUNDS = 4 };
    for (int i = 0; i < ROUNDS && !a->s.failures; i++) {
        whole_session(a);
        if (!unknown_decide(a))
            return;
    }
    check(&a->s, a->s.failures > 0, "tasks stay unknown");
}
