/* SPDX-License-Identifier: MIT */
/* Starting, killing and awaiting the command. Only processes that this program started,
 * and the guards of its own stores, are ever signalled. */
#include "crash.h"

#include "process/slots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 16, VARIABLES_MAX = 512, VARIABLE_SIZE = 1200, OWN_MAX = 8 };

/* ---- Starting ---- */

struct environment {
    char *entries[VARIABLES_MAX];
    char own[OWN_MAX][VARIABLE_SIZE];
    uint32_t n, n_own;
};

static void set(struct environment *e, const char *name, const char *value)
{
    if (e->n_own < OWN_MAX && e->n + 1 < VARIABLES_MAX) {
        snprintf(e->own[e->n_own], VARIABLE_SIZE, "%s=%s", name, value);
        e->entries[e->n++] = e->own[e->n_own++];
    }
}

static void fill_environment(struct environment *e, const struct scenario *s,
                             const char *dir, const char *tag, const char *kill_at)
{
    char text[DIR_SIZE + 32];
    e->n = e->n_own = 0;
    for (char **at = environ; *at && e->n + 8 < VARIABLES_MAX; at++)
        if (strncmp(*at, "CRASH_", 6) != 0 && strncmp(*at, "CAIRN_", 6) != 0 &&
            strncmp(*at, "LD_PRELOAD=", 11) != 0 &&
            strncmp(*at, "ASAN_OPTIONS=", 13) != 0)
            e->entries[e->n++] = *at;
    set(e, "CRASH_DIR", dir);
    snprintf(text, sizeof text, "%s/.cairn", dir);
    set(e, "CAIRN_STORE", text);
    snprintf(text, sizeof text, "%u", s->sessions);
    set(e, "CRASH_SESSION", text);
    /* A sanitizer wants to be loaded first, which the shim is. */
    const char *sanitizer = getenv("ASAN_OPTIONS");
    snprintf(text, sizeof text, "%.300s%sverify_asan_link_order=0",
             sanitizer ? sanitizer : "", sanitizer && *sanitizer ? ":" : "");
    set(e, "ASAN_OPTIONS", text);
    if (kill_at || s->sync_ms)
        set(e, "LD_PRELOAD", s->setup->killer);
    if (s->sync_ms) {
        snprintf(text, sizeof text, "%u", s->sync_ms);
        set(e, "CRASH_SYNC_MS", text);
    }
    if (kill_at) {
        set(e, "CRASH_KILL", kill_at);
        snprintf(text, sizeof text, "%s/mark.%s", dir, tag);
        set(e, "CRASH_MARK", text);
    }
    e->entries[e->n] = NULL;
}

bool cairn_start(struct scenario *s, struct session *session, const char *dir,
                 const char *tag, const char *kill_at, const char *const *arguments)
{
    static struct environment environment;
    char *argv[ARGUMENTS_MAX + 2];
    size_t n = 0;
    argv[n++] = (char *)(uintptr_t)s->setup->cairn;
    for (; *arguments && n <= ARGUMENTS_MAX; arguments++)
        argv[n++] = (char *)(uintptr_t)*arguments;
    argv[n] = NULL;
    fill_environment(&environment, s, dir, tag, kill_at);
    session->started_ms = now_ms();
    int sys = program_start(&session->pid, dir, tag, argv, environment.entries);
    return check(s, sys == 0, "cannot start %s: %s", s->setup->cairn, strerror(sys));
}

/* ---- Awaiting ---- */

int cairn_wait(struct scenario *s, const struct session *session)
{
    bool hung;
    int status = program_wait(session->pid, PATIENCE_MS, &hung);
    check(s, !hung, "cairn hangs (process %d); ended it", (int)session->pid);
    return status;
}

int cairn_do(struct scenario *s, const char *dir, const char *tag,
             const char *const *arguments)
{
    struct session session;
    return cairn_start(s, &session, dir, tag, NULL, arguments) ? cairn_wait(s, &session)
                                                               : -1;
}

/* ---- Killing ---- */

static pid_t guard_in(const char *path, const char *dir)
{
    struct slots slots;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, &slots, sizeof slots);
    close(fd);
    if (n != (ssize_t)sizeof slots || slots.guard_pid <= 1)
        return 0;
    return is_guard(slots.guard_pid, dir) ? slots.guard_pid : 0;
}

/* The guard named in the newest slot file. */
static pid_t find_guard(const char *dir)
{
    char live[DIR_SIZE + 32], path[DIR_SIZE + 512];
    pid_t guard = 0;
    snprintf(live, sizeof live, "%s/.cairn/live", dir);
    DIR *at = opendir(live);
    struct dirent *entry;
    while (at && (entry = readdir(at))) {
        size_t n = strlen(entry->d_name);
        if (n < 6 || strcmp(entry->d_name + n - 6, ".slots") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", live, entry->d_name);
        pid_t pid = guard_in(path, dir);
        if (pid)
            guard = pid;
    }
    if (at)
        closedir(at);
    return guard;
}

/* A child is collected only after its end was noted. So what has no process any more
 * has ended for good. */
static void note_gone(struct scenario *s)
{
    struct journal journal;
    if (check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        for (uint32_t i = 0; i < journal.n; i++) {
            const struct line *line = &journal.lines[i];
            if (line->session == s->sessions && line->kind == LINE_END &&
                kill(line->pid, 0) < 0 && errno == ESRCH)
                s->gone[s->sessions][line->task] = true;
        }
    journal_release(&journal);
}

void cairn_kill(struct scenario *s, const struct session *session, bool guard_too)
{
    s->kills++;
    note_gone(s);
    if (guard_too) {
        /* Stopped, so that it cannot start another guard. */
        kill(session->pid, SIGSTOP);
        pid_t guard = find_guard(s->dir);
        if (guard) {
            kill(guard, SIGKILL);
            s->guard_kills++;
        }
    }
    kill(session->pid, SIGKILL);
}

char *printed(const char *dir, const char *name, const char *tag)
{
    char path[DIR_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s.%s", dir, name, tag);
    return file_text(path);
}
