/* SPDX-License-Identifier: MIT */
/* Running the hooks of what a handle has done. What is to be run is collected first, so
 * that no transaction is open while a hook runs. */
#include "base/array.h"
#include "base/error.h"
#include "cairn/message.h"
#include "session/commands/commands_int.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct due_hook {
    const char *kind;                     /* static */
    char session[CAIRN_SESSION_NAME_MAX]; /* its name */
    char *command, *document;             /* heap */
    int64_t limit_ms;
};
struct hooks_due {
    struct cairn_store *store;
    const struct cairn_hooks *calls;
    struct due_hook *at;
    size_t n, capacity;
    /* Of the session and turn that are being looked at: */
    uint64_t session, turn;
    char name[CAIRN_SESSION_NAME_MAX];
    struct arena arena;
    struct session_settings settings;
    int rc;
    struct cairn_error *error;
};

/* ---- What is to be run ---- */

/* *any: it has a hook. */
static int read_settings(struct hooks_due *due, uint64_t session, bool *any)
{
    struct live live;
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)session);
    *any = false;
    int rc = live_read(&live, due->store, number, due->error);
    arena_release(&due->arena);
    due->session = session;
    for (unsigned kind = 0; kind < HOOK_KINDS && !rc; kind++) {
        due->settings.hooks[kind] = arena_str(&due->arena, live.settings.hooks[kind]);
        *any = *any || due->settings.hooks[kind].len;
    }
    if (!rc) {
        due->settings.hook_limit_ns = live.settings.hook_limit_ns;
        snprintf(due->name, sizeof due->name, "%.*s", (int)live.row.name.len,
                 live.row.name.ptr);
    }
    if (!rc && due->arena.failed)
        rc = error_nomem(due->error);
    return live_close(&live, rc, due->error);
}

static int add_hook(struct hooks_due *due, const struct cairn_session_event *event,
                    unsigned kind)
{
    struct cairn_feed_event told = {
        .done = event, .session = due->session, .session_name = due->name};
    struct due_hook *at = array_room(due->at, due->n, &due->capacity, sizeof *at);
    if (!at)
        return error_nomem(due->error);
    due->at = at;
    at += due->n;
    *at =
        (struct due_hook){.kind = hook_kind_name(kind),
                          .command = strdup(due->settings.hooks[kind].ptr),
                          .document = due->calls->document(due->calls->context, &told),
                          .limit_ms = due->settings.hook_limit_ns / 1000000};
    memcpy(at->session, due->name, sizeof at->session);
    due->n++;
    return at->command && at->document ? 0 : error_nomem(due->error);
}

static int see_event(void *context, const struct cairn_session_event *event)
{
    struct hooks_due *due = context;
    unsigned kind = hook_kind_parse(str_of(event->kind));
    if (event->turn > due->turn)
        return 1;
    if (kind < HOOK_KINDS && due->settings.hooks[kind].len)
        due->rc = add_hook(due, event, kind);
    return due->rc != 0;
}

static int look_at(struct hooks_due *due, const struct store_done *done)
{
    bool any;
    char number[24];
    int rc = read_settings(due, done->session, &any);
    if (rc || !any)
        return rc;
    snprintf(number, sizeof number, "%llu", (unsigned long long)done->session);
    due->turn = done->turn;
    rc = cairn_session_events(due->store, number, done->turn - 1, see_event, due,
                              due->error);
    return rc ? rc : due->rc;
}

/* ---- Running one ---- */

/* A file in memory, at its beginning; never 0, which would mean none. */
static int open_document(const char *text)
{
    size_t n = strlen(text);
    int memory = memfd_create("cairn-hook", MFD_CLOEXEC);
    int fd = memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, 3);
    if (memory >= 0)
        close(memory);
    if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void tell(const struct hooks_due *due, const struct due_hook *hook,
                 const char *what)
{
    char line[700];
    snprintf(line, sizeof line, "the hook for %s of session %s %s", hook->kind,
             hook->session, what);
    if (due->calls->failed)
        due->calls->failed(due->calls->context, line);
}

static void tell_end(const struct hooks_due *due, const struct due_hook *hook,
                     const struct command_end *end)
{
    char what[560];
    if (!end->started)
        snprintf(what, sizeof what, "could not be run: %.500s",
                 end->failure.size ? end->failure.data : "unknown");
    else if (end->timed_out)
        snprintf(what, sizeof what, "was ended: it took longer than %lld ms",
                 (long long)hook->limit_ms);
    else if (end->stopped)
        snprintf(what, sizeof what, "was ended by a signal to cairn");
    else
        snprintf(what, sizeof what, "failed (exit %d)", end->exit_code);
    if (!end->started || end->timed_out || end->stopped || end->exit_code)
        tell(due, hook, what);
}

static const struct cairn_command_host no_host;

static void run_hook(const struct hooks_due *due, const struct due_hook *hook)
{
    struct buf store = BUF_INIT;
    char session[CAIRN_SESSION_NAME_MAX + 16], event[48];
    buf_format(&store, "CAIRN_STORE=%s", cairn_store_path(due->store));
    snprintf(session, sizeof session, "CAIRN_SESSION=%s", hook->session);
    snprintf(event, sizeof event, "CAIRN_EVENT=%s", hook->kind);
    const char *const variables[] = {store.data, session, event, "CAIRN_HOOK=1", NULL};
    const char *const argv[] = {"/bin/sh", "-c", hook->command, NULL};
    const struct command_job job = {.argv = argv,
                                    .out = due->calls->out,
                                    .err = due->calls->out,
                                    .joined = true,
                                    .limit_ms = hook->limit_ms,
                                    .host =
                                        due->calls->host ? due->calls->host : &no_host,
                                    .in = open_document(hook->document),
                                    .variables = variables};
    struct command_end end = {0};
    struct cairn_error why = {0};
    int rc = store.failed || job.in < 0 ? error_sys(&why, errno, "its input")
                                        : run_one_command(due->store, &job, &end, &why);
    if (rc)
        tell(due, hook, why.text);
    else
        tell_end(due, hook, &end);
    command_end_release(&end);
    if (job.in >= 0)
        close(job.in);
    buf_release(&store);
}

/* ---- Public ---- */

int cairn_hooks_run(struct cairn_store *store, const struct cairn_hooks *hooks,
                    struct cairn_error *error)
{
    SIZE_CHECK("cairn_hooks", hooks, error);
    struct hooks_due due = {
        .store = store, .calls = hooks, .arena = ARENA_INIT, .error = error};
    size_t n = 0;
    struct store_done *done = store_take_done(store, &n);
    int rc = 0;
    for (size_t i = 0; i < n && !rc && !getenv("CAIRN_HOOK"); i++)
        rc = look_at(&due, &done[i]);
    for (size_t i = 0; i < due.n; i++) {
        if (!rc)
            run_hook(&due, &due.at[i]);
        free(due.at[i].command);
        free(due.at[i].document);
    }
    free(due.at);
    free(done);
    arena_release(&due.arena);
    return rc;
}
