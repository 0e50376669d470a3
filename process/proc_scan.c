/* SPDX-License-Identifier: MIT */
#include "process/proc_scan.h"

#include "process/keeper_file.h"
#include "process/pidfd.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void proc_scan_init(struct proc_scan *scan, const struct slots *slots,
                    const char *token, uint64_t since)
{
    memset(scan, 0, sizeof *scan);
    scan->slots = slots;
    scan->since = since;
    scan->ticks = sysconf(_SC_CLK_TCK);
    int n = snprintf(scan->needle + 1, SCAN_NEEDLE - 1, "CAIRN_TOKEN=%s.", token);
    scan->needle_len = (size_t)n + 1;
}

void proc_scan_release(struct proc_scan *scan)
{
    free(scan->all);
    scan->all = NULL;
    scan->count = scan->capacity = 0;
}

int proc_open(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool proc_stat(pid_t pid, struct proc_entry *out)
{
    char text[1024];
    int fd = proc_open(pid, "stat");
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
static bool is_in_exec(const struct proc_entry *process)
{
    char byte;
    int fd = process->group ? proc_open(process->pid, "cmdline") : -1;
    if (fd < 0)
        return false;
    ssize_t n = read(fd, &byte, 1);
    close(fd);
    return n == 0;
}

/* What follows the needle, to the end of its string or to the end of `rest`; the first
 * `have` bytes of it stand at the start of the buffer. */
static void read_rest(struct proc_scan *scan, int fd, size_t have, char rest[SCAN_REST])
{
    while (have < SCAN_REST && !memchr(scan->text, 0, have)) {
        ssize_t n = read(fd, scan->text + have, SCAN_TEXT - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    size_t size = have < SCAN_REST - 1 ? have : SCAN_REST - 1;
    memcpy(rest, scan->text, size);
    rest[size] = 0;
}

bool proc_ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* Looks for the needle in the environment, a buffer at a time: the end of one buffer is
 * kept as the start of the next, so that a needle across both is found. An environment
 * that may not be read has no token. */
static bool has_token(struct proc_scan *scan, struct proc_entry *process)
{
    int fd = proc_open(process->pid, "environ");
    if (fd < 0)
        return false;
    const char *found = NULL;
    bool empty = true;
    size_t kept = 1;
    scan->text[0] = 0; /* as if a string had ended before the first */
    while (!found) {
        ssize_t n = read(fd, scan->text + kept, SCAN_TEXT - kept);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            empty = false;
        if (n <= 0)
            break;
        empty = false;
        size_t size = kept + (size_t)n;
        found = memmem(scan->text, size, scan->needle, scan->needle_len);
        kept = size < scan->needle_len ? size : scan->needle_len - 1;
        if (found) {
            found += scan->needle_len;
            kept = (size_t)(scan->text + size - found);
        }
        memmove(scan->text, found ? found : scan->text + size - kept, kept);
    }
    if (found)
        read_rest(scan, fd, kept, process->rest);
    close(fd);
    if (empty && is_in_exec(process))
        scan->unsure++;
    return found && (!scan->suffix || proc_ends_with(process->rest, scan->suffix));
}

/* Has it the keeper's program? By its arguments, which the program never changes, and
 * as the leader of a session; that it may have become after it was listed. */
static bool is_keeper(const struct proc_entry *process)
{
    char name[sizeof KEEP_PROGRAM] = "";
    struct proc_entry now;
    if (!proc_stat(process->pid, &now) || now.session != now.pid)
        return false;
    int fd = proc_open(process->pid, "cmdline");
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name);
    close(fd);
    return n == (ssize_t)sizeof name && memcmp(name, KEEP_PROGRAM, sizeof name) == 0;
}

static bool has_claim(const struct proc_scan *scan, const struct proc_entry *keeper)
{
    return !scan->claims || scan->claims(scan->context, keeper);
}

/* Takes the token from keepers that live, and from what belongs to their attempts. */
static void spare_keepers(struct proc_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        scan->all[i].keeper = scan->all[i].token && is_keeper(&scan->all[i]) &&
                              has_claim(scan, &scan->all[i]);
    for (size_t i = 0; i < scan->count; i++) {
        if (!scan->all[i].keeper)
            continue;
        for (size_t k = 0; k < scan->count; k++)
            if (strcmp(scan->all[k].rest, scan->all[i].rest) == 0)
                scan->all[k].token = false;
    }
}

static bool add_process(struct proc_scan *scan, const struct proc_entry *process)
{
    if (scan->count == scan->capacity) {
        size_t capacity = scan->capacity ? 2 * scan->capacity : 256;
        struct proc_entry *all = realloc(scan->all, capacity * sizeof *all);
        if (!all)
            return false;
        scan->all = all;
        scan->capacity = capacity;
    }
    scan->all[scan->count++] = *process;
    return true;
}

/* Not an empty directory, and not of another PID namespace, whose numbers are not ours.
 */
static bool is_own_proc(void)
{
    char link[32];
    ssize_t n = readlink("/proc/self", link, sizeof link - 1);
    if (n <= 0)
        return false;
    link[n] = 0;
    return strtol(link, NULL, 10) == getpid();
}

/* All processes that can be seen. False if /proc or memory is missing. */
static bool list_processes(struct proc_scan *scan)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return false;
    scan->count = 0;
    bool ok = true;
    struct dirent *entry;
    while (ok && (entry = readdir(dir))) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        struct proc_entry process;
        if (*end || pid <= 1 || !proc_stat((pid_t)pid, &process))
            continue;
        ok = add_process(scan, &process);
    }
    closedir(dir);
    return ok && is_own_proc();
}

static struct proc_entry *find_process(struct proc_scan *scan, pid_t pid)
{
    for (size_t i = 0; i < scan->count; i++)
        if (scan->all[i].pid == pid)
            return &scan->all[i];
    return NULL;
}

/* Also finds the end if the list, read while processes came and went, shows a circle:
 * nobody is protected twice. */
static void protect_ancestors(struct proc_scan *scan)
{
    struct proc_entry *process = find_process(scan, getpid());
    while (process && !process->protected) {
        process->protected = true;
        process = find_process(scan, process->parent);
    }
}

/* Started when the slot says? It was noted just before; ticks are rounded down. */
static bool start_fits(const struct proc_scan *scan, const struct slot *slot,
                       uint64_t start)
{
    int64_t ns = (int64_t)(start * (uint64_t)(1000000000 / scan->ticks));
    return ns >= slot->spawn_boot_ns - 20000000 &&
           ns <= slot->spawn_boot_ns + 2000000000;
}

/* A group, or a session with all of its groups. */
struct process_set {
    pid_t number;
    bool session;
    bool whole;                       /* no group of it holds a protected process */
    const struct proc_entry *witness; /* one that shows that it is ours, or NULL */
};

static bool is_within(const struct process_set *set, const struct proc_entry *process)
{
    return (set->session ? process->session : process->group) == set->number;
}

/* May anything be signalled, still? */
static bool may_signal(struct proc_scan *scan)
{
    if (!scan->barred && scan->may_signal && !scan->may_signal(scan->context))
        scan->barred = true;
    return !scan->barred;
}

/* Is this set ours, and may it be signalled whole? `slot` says when its leader began;
 * NULL: it is not known. */
static bool verify_set(const struct proc_scan *scan, const struct slot *slot,
                       struct process_set *set)
{
    bool verified = !slot && scan->session_held;
    set->whole = true;
    for (size_t i = 0; i < scan->count; i++) {
        const struct proc_entry *process = &scan->all[i];
        if (!is_within(set, process))
            continue;
        bool leads = process->pid == set->number && slot &&
                     start_fits(scan, slot, process->start);
        if (leads && set->session && scan->spare && process->alive &&
            has_claim(scan, process))
            return false;
        if (process->token || leads)
            verified = true;
        if (!set->witness && (process->token || leads))
            set->witness = process;
        if (process->protected)
            set->whole = false;
    }
    return verified;
}

static void signal_process(struct proc_scan *scan, const struct proc_entry *process,
                           int signal)
{
    struct proc_entry now;
    int fd = pidfd_of(process->pid);
    if (fd < 0)
        return;
    if (proc_stat(process->pid, &now) && now.start == process->start &&
        (!process->token || has_token(scan, &now)) && may_signal(scan))
        (void)pidfd_signal(fd, signal);
    close(fd);
}

/* The list may be old by now: numbers may have been given to others. A set without a
 * witness is held by a zombie. */
static bool still_ours(struct proc_scan *scan, const struct process_set *set,
                       const struct proc_entry *witness)
{
    struct proc_entry now;
    return !witness ||
           (proc_stat(witness->pid, &now) && is_within(set, &now) &&
            now.start == witness->start && (!witness->token || has_token(scan, &now)));
}

static void signal_group(struct proc_scan *scan, const struct process_set *set,
                         const struct proc_entry *witness, pid_t group, int signal)
{
    if (still_ours(scan, set, witness) && may_signal(scan))
        kill(-group, signal);
}

/* Marks the members of a verified set, and signals its groups if they may be signalled
 * whole; their members then need no signal of their own. */
static void end_set(struct proc_scan *scan, const struct process_set *set, int signal)
{
    assert(set->number > 1); /* 0 and 1 would mean everybody */
    if (set->whole && signal && !set->session)
        signal_group(scan, set, set->witness, set->number, signal);
    for (size_t i = 0; i < scan->count; i++) {
        struct proc_entry *process = &scan->all[i];
        if (!is_within(set, process) || !process->alive || process->protected)
            continue;
        /* A session that is ours has only groups that are ours. Each once. */
        if (set->session && set->whole && signal && !process->ours &&
            process->group > 1) {
            signal_group(scan, set, process, process->group, signal);
            for (size_t k = i; k < scan->count; k++)
                if (scan->all[k].group == process->group && scan->all[k].alive)
                    scan->all[k].ours = true;
        }
        if (!set->whole && signal && !process->ours)
            signal_process(scan, process, signal);
        process->ours = true;
    }
}

static void end_sets(struct proc_scan *scan, int signal)
{
    for (uint32_t s = 0; scan->slots && s < scan->slots->n; s++) {
        const struct slot *slot = &scan->slots->slot[s];
        struct process_set set = {.number = atomic_load(&slot->pid),
                                  .session = (slot->flags & SLOT_KEPT) != 0};
        if (set.number > 1 && verify_set(scan, slot, &set))
            end_set(scan, &set, signal);
    }
    struct process_set set = {.number = scan->session, .session = true};
    if (set.number > 1 && verify_set(scan, NULL, &set))
        end_set(scan, &set, signal);
}

int proc_scan_round(struct proc_scan *scan, int signal)
{
    int living = 0;
    scan->unsure = 0;
    if (!list_processes(scan))
        return -1;
    protect_ancestors(scan);
    for (size_t i = 0; i < scan->count; i++) {
        struct proc_entry *process = &scan->all[i];
        process->token =
            process->alive && process->start >= scan->since && has_token(scan, process);
    }
    if (scan->spare)
        spare_keepers(scan);
    end_sets(scan, signal);
    for (size_t i = 0; i < scan->count; i++) {
        struct proc_entry *process = &scan->all[i];
        if (process->token && !process->ours && !process->protected) {
            process->ours = true;
            if (signal)
                signal_process(scan, process, signal);
        }
        living += process->ours;
    }
    return living;
}
