/* SPDX-License-Identifier: MIT */
/* Finding processes of a run in /proc and ending them. Shared by the library
 * (leftovers.c) and the guard program, which is compiled alone: so all of it is here,
 * and it needs nothing but libc and slots.h.
 *
 * A process is ours if
 *   - its environment holds our token, or
 *   - it is in a group that a slot names, and that group is verified: its leader began
 *     when the slot says, or one of its members has the token.
 * Groups are signalled whole (that is atomic against forks). A single process is held
 * by a pidfd and looked at once more before its signal. The caller and its ancestors
 * are never touched.
 *
 * A slot marked SLOT_KEPT names a keeper (keeper.h), which leads a session: there the
 * session takes the place of the group. With `spare`, what belongs to a keeper that
 * lives is not ours: the processes with the token of its attempt, and its session. A
 * keeper is older than all of its task, so who is listed with its task is listed, too,
 * and has its program. */
#ifndef PROCESS_SWEEP_H
#define PROCESS_SWEEP_H

#include "process/keeper_file.h"
#include "process/slots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum { SWEEP_TEXT = 64 * 1024, SWEEP_NEEDLE = 160, SWEEP_REST = 48 };

struct sweep_process {
    pid_t pid, parent, group, session;
    bool alive;     /* not a zombie */
    bool protected; /* the caller or an ancestor of it */
    bool token, keeper, ours;
    uint64_t start;        /* clock ticks since boot */
    char rest[SWEEP_REST]; /* what follows the needle in its token, cut */
};

struct sweep {
    const struct slots *slots; /* borrowed; NULL: there are no recorded groups */
    bool spare;                /* what belongs to keepers that live */
    /* Which of them; NULL: all. Of keepers without a claim nobody would hear again. */
    bool (*claims)(void *context, const struct sweep_process *keeper);
    void *context;
    const char
        *suffix;       /* NULL, or ".<task>.<attempt>": only tokens that end so count */
    pid_t session;     /* besides the slots: of a keeper that is dead; 0: none */
    bool session_held; /* by a zombie: the number means nobody else */
    uint64_t since;    /* clock ticks: what is older is not asked for its token */
    long ticks;        /* per second */
    struct sweep_process *all; /* as of the last round */
    size_t count, capacity;
    size_t unsure; /* in the last round: processes in the middle of an exec */
    char needle[SWEEP_NEEDLE]; /* NUL "CAIRN_TOKEN=" token "." */
    size_t needle_len;
    char text[SWEEP_TEXT];
};

/* `token` without its last dot. */
static inline void sweep_init(struct sweep *sweep, const struct slots *slots,
                              const char *token, uint64_t since)
{
    memset(sweep, 0, sizeof *sweep);
    sweep->slots = slots;
    sweep->since = since;
    sweep->ticks = sysconf(_SC_CLK_TCK);
    int n = snprintf(sweep->needle + 1, SWEEP_NEEDLE - 1, "CAIRN_TOKEN=%s.", token);
    sweep->needle_len = (size_t)n + 1;
}

static inline void sweep_release(struct sweep *sweep)
{
    free(sweep->all);
    sweep->all = NULL;
    sweep->count = sweep->capacity = 0;
}

static inline int sweep_open(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads /proc/PID/stat; false if there is no such process. */
static inline bool sweep_stat(pid_t pid, struct sweep_process *out)
{
    char text[1024];
    int fd = sweep_open(pid, "stat");
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    /* The name in the second field may hold anything, brackets and blanks too. */
    const char *rest = strrchr(text, ')');
    char state;
    int parent, group, session;
    long threads;
    unsigned long long start;
    if (!rest || sscanf(rest + 1,
                        " %c %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %ld %*s %llu",
                        &state, &parent, &group, &session, &threads, &start) != 6)
        return false;
    memset(out, 0, sizeof *out);
    out->pid = pid;
    out->parent = parent;
    out->group = group;
    out->session = session;
    out->start = start;
    /* With its first thread gone but others running it looks like a zombie. */
    out->alive = (state != 'Z' && state != 'X') || threads > 1;
    return true;
}

/* In the middle of an exec a process has neither arguments nor an environment. A kernel
 * thread never has, but it is in no group either. */
static inline bool sweep_in_exec(const struct sweep_process *process)
{
    char byte;
    int fd = process->group ? sweep_open(process->pid, "cmdline") : -1;
    if (fd < 0)
        return false;
    ssize_t n = read(fd, &byte, 1);
    close(fd);
    return n == 0;
}

/* What follows the needle, to the end of its string or to the end of `rest`; the first
 * `have` bytes of it stand at the start of the buffer. */
static inline void sweep_rest(struct sweep *sweep, int fd, size_t have,
                              char rest[SWEEP_REST])
{
    while (have < SWEEP_REST && !memchr(sweep->text, 0, have)) {
        ssize_t n = read(fd, sweep->text + have, SWEEP_TEXT - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    size_t size = have < SWEEP_REST - 1 ? have : SWEEP_REST - 1;
    memcpy(rest, sweep->text, size);
    rest[size] = 0;
}

static inline bool sweep_ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* Looks for the needle in the environment, a buffer at a time: the end of one buffer is
 * kept as the start of the next, so that a needle across both is found. An environment
 * that may not be read has no token. */
static inline bool sweep_token(struct sweep *sweep, struct sweep_process *process)
{
    int fd = sweep_open(process->pid, "environ");
    if (fd < 0)
        return false;
    const char *found = NULL;
    bool empty = true;
    size_t kept = 1;
    sweep->text[0] = 0; /* as if a string had ended before the first */
    while (!found) {
        ssize_t n = read(fd, sweep->text + kept, SWEEP_TEXT - kept);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            empty = false;
        if (n <= 0)
            break;
        empty = false;
        size_t size = kept + (size_t)n;
        found = memmem(sweep->text, size, sweep->needle, sweep->needle_len);
        kept = size < sweep->needle_len ? size : sweep->needle_len - 1;
        if (found) {
            found += sweep->needle_len;
            kept = (size_t)(sweep->text + size - found);
        }
        memmove(sweep->text, found ? found : sweep->text + size - kept, kept);
    }
    if (found)
        sweep_rest(sweep, fd, kept, process->rest);
    close(fd);
    if (empty && sweep_in_exec(process))
        sweep->unsure++;
    return found && (!sweep->suffix || sweep_ends_with(process->rest, sweep->suffix));
}

/* Has it the keeper's program? By its arguments, which the program never changes, and
 * as the leader of a session; that it may have become after it was listed. */
static inline bool sweep_is_keeper(const struct sweep_process *process)
{
    char name[sizeof KEEP_PROGRAM] = "";
    struct sweep_process now;
    if (!sweep_stat(process->pid, &now) || now.session != now.pid)
        return false;
    int fd = sweep_open(process->pid, "cmdline");
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name);
    close(fd);
    return n == (ssize_t)sizeof name && memcmp(name, KEEP_PROGRAM, sizeof name) == 0;
}

static inline bool sweep_claims(const struct sweep *sweep,
                                const struct sweep_process *keeper)
{
    return !sweep->claims || sweep->claims(sweep->context, keeper);
}

/* Takes the token from keepers that live, and from what belongs to their attempts. */
static inline void sweep_spare(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        sweep->all[i].keeper = sweep->all[i].token && sweep_is_keeper(&sweep->all[i]) &&
                               sweep_claims(sweep, &sweep->all[i]);
    for (size_t i = 0; i < sweep->count; i++) {
        if (!sweep->all[i].keeper)
            continue;
        for (size_t k = 0; k < sweep->count; k++)
            if (strcmp(sweep->all[k].rest, sweep->all[i].rest) == 0)
                sweep->all[k].token = false;
    }
}

static inline bool sweep_add(struct sweep *sweep, const struct sweep_process *process)
{
    if (sweep->count == sweep->capacity) {
        size_t capacity = sweep->capacity ? 2 * sweep->capacity : 256;
        struct sweep_process *all = realloc(sweep->all, capacity * sizeof *all);
        if (!all)
            return false;
        sweep->all = all;
        sweep->capacity = capacity;
    }
    sweep->all[sweep->count++] = *process;
    return true;
}

/* All processes that can be seen. False if /proc or memory is missing. */
static inline bool sweep_list(struct sweep *sweep)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return false;
    sweep->count = 0;
    bool ok = true;
    struct dirent *entry;
    while (ok && (entry = readdir(dir))) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        struct sweep_process process;
        if (*end || pid <= 1 || !sweep_stat((pid_t)pid, &process))
            continue;
        ok = sweep_add(sweep, &process);
    }
    closedir(dir);
    return ok;
}

static inline struct sweep_process *sweep_find(struct sweep *sweep, pid_t pid)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->all[i].pid == pid)
            return &sweep->all[i];
    return NULL;
}

/* Also finds the end if the list, read while processes came and went, shows a circle:
 * nobody is protected twice. */
static inline void sweep_protect(struct sweep *sweep)
{
    struct sweep_process *process = sweep_find(sweep, getpid());
    while (process && !process->protected) {
        process->protected = true;
        process = sweep_find(sweep, process->parent);
    }
}

/* Started when the slot says? It was noted just before; ticks are rounded down. */
static inline bool sweep_start_fits(const struct sweep *sweep, const struct slot *slot,
                                    uint64_t start)
{
    int64_t ns = (int64_t)(start * (uint64_t)(1000000000 / sweep->ticks));
    return ns >= slot->spawn_boot_ns - 20000000 &&
           ns <= slot->spawn_boot_ns + 2000000000;
}

/* A group, or a session with all of its groups. */
struct sweep_set {
    pid_t number;
    bool session;
    bool whole; /* no group of it holds a protected process */
};

static inline bool sweep_within(const struct sweep_set *set,
                                const struct sweep_process *process)
{
    return (set->session ? process->session : process->group) == set->number;
}

/* Is this set ours, and may it be signalled whole? `slot` says when its leader began;
 * NULL: it is not known. */
static inline bool sweep_verify(const struct sweep *sweep, const struct slot *slot,
                                struct sweep_set *set)
{
    bool verified = !slot && sweep->session_held;
    set->whole = true;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_process *process = &sweep->all[i];
        if (!sweep_within(set, process))
            continue;
        bool leads = process->pid == set->number && slot &&
                     sweep_start_fits(sweep, slot, process->start);
        if (leads && set->session && sweep->spare && process->alive &&
            sweep_claims(sweep, process))
            return false;
        if (process->token || leads)
            verified = true;
        if (process->protected)
            set->whole = false;
    }
    return verified;
}

static inline void sweep_signal_one(struct sweep *sweep,
                                    const struct sweep_process *process, int signal)
{
    struct sweep_process now;
    int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (fd < 0)
        return;
    if (sweep_stat(process->pid, &now) && now.start == process->start &&
        (!process->token || sweep_token(sweep, &now)))
        syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    close(fd);
}

/* Marks the members of a verified set, and signals its groups if they may be signalled
 * whole; their members then need no signal of their own. */
static inline void sweep_end_set(struct sweep *sweep, const struct sweep_set *set,
                                 int signal)
{
    if (set->whole && signal && !set->session)
        kill(-set->number, signal);
    for (size_t i = 0; i < sweep->count; i++) {
        struct sweep_process *process = &sweep->all[i];
        if (!sweep_within(set, process) || !process->alive || process->protected)
            continue;
        /* A session that is ours has only groups that are ours. Each once. */
        if (set->session && set->whole && signal && !process->ours &&
            process->group > 1) {
            kill(-process->group, signal);
            for (size_t k = i; k < sweep->count; k++)
                if (sweep->all[k].group == process->group && sweep->all[k].alive)
                    sweep->all[k].ours = true;
        }
        if (!set->whole && signal && !process->ours)
            sweep_signal_one(sweep, process, signal);
        process->ours = true;
    }
}

static inline void sweep_sets(struct sweep *sweep, int signal)
{
    for (uint32_t s = 0; sweep->slots && s < sweep->slots->n; s++) {
        const struct slot *slot = &sweep->slots->slot[s];
        struct sweep_set set = {.number = atomic_load(&slot->pid),
                                .session = (slot->flags & SLOT_KEPT) != 0};
        if (set.number > 1 && sweep_verify(sweep, slot, &set))
            sweep_end_set(sweep, &set, signal);
    }
    struct sweep_set set = {.number = sweep->session, .session = true};
    if (set.number > 1 && sweep_verify(sweep, NULL, &set))
        sweep_end_set(sweep, &set, signal);
}

/* One look at all processes; `signal` (0: none) goes to those that are ours. How many
 * of ours were alive before it: so "none is left" takes a further round. They are
 * marked `ours` in sweep->all. -1: it could not look. */
static inline int sweep_round(struct sweep *sweep, int signal)
{
    int living = 0;
    sweep->unsure = 0;
    if (!sweep_list(sweep))
        return -1;
    sweep_protect(sweep);
    for (size_t i = 0; i < sweep->count; i++) {
        struct sweep_process *process = &sweep->all[i];
        process->token = process->alive && process->start >= sweep->since &&
                         sweep_token(sweep, process);
    }
    if (sweep->spare)
        sweep_spare(sweep);
    sweep_sets(sweep, signal);
    for (size_t i = 0; i < sweep->count; i++) {
        struct sweep_process *process = &sweep->all[i];
        if (process->token && !process->ours && !process->protected) {
            process->ours = true;
            if (signal)
                sweep_signal_one(sweep, process, signal);
        }
        living += process->ours;
    }
    return living;
}

#endif
