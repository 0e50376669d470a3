/* SPDX-License-Identifier: MIT */
/* Commands that a session runs: those of people, checks, and hooks. */
#include "session/board/confidence.h"
#include "session/commands/commands_int.h"
#include "session/outside.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cairn/message.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct cairn_command_host no_host;

/* ==== Commands of people ==== */

/* Running a command and recording it. */

/* ---- The command as text ---- */

/* As it can be typed into a shell, but for secrets and the end of a very long one. */
static int quote_command(const struct redactor *redactor, const char *const *argv,
                         struct buf *out, struct cairn_error *error)
{
    enum { MOST = 16 << 10 };
    struct buf word = BUF_INIT, all = BUF_INIT;
    for (size_t i = 0; argv[i]; i++) {
        buf_clear(&word);
        add_clean(redactor, str_of(argv[i]), &word);
        if (i)
            buf_byte(&all, ' ');
        buf_shell_word(&all, buf_view(&word));
        all.failed |= word.failed;
    }
    struct str text = buf_view(&all);
    buf_str(out, (struct str){text.ptr, utf8_fit(text, MOST)});
    if (text.len > MOST)
        buf_text(out, " ...");
    out->failed |= all.failed;
    buf_release(&word);
    buf_release(&all);
    return buf_check(out, error);
}

static int add_directory(const struct redactor *redactor, struct buf *out,
                         struct cairn_error *error)
{
    char *directory = getcwd(NULL, 0);
    add_clean(redactor, str_of(directory ? directory : "(it was removed)"), out);
    free(directory);
    return buf_check(out, error);
}

/* ---- Recording it ---- */

/* A text as a field; an empty one is not there. */
static struct item_value text_value(const struct buf *text)
{
    return (struct item_value){.present = text->size > 0, .text = buf_view(text)};
}

static struct item_value count_value(uint64_t count)
{
    return (struct item_value){.present = true, .count = count};
}

static struct item_value time_value(int64_t time_ns)
{
    return (struct item_value){.present = true, .time_ns = time_ns};
}

struct recording {
    struct redactor *redactor;
    struct buf command, directory;
    struct command_end end;
};

static struct item item_of(const struct recording *rec)
{
    const struct command_end *end = &rec->end;
    struct item item = {.id = {ITEM_COMMAND, 0}};
    item.values[COMMAND_TEXT] = text_value(&rec->command);
    item.values[COMMAND_DIRECTORY] = text_value(&rec->directory);
    item.values[COMMAND_EXIT] = count_value((uint64_t)end->exit_code);
    item.values[COMMAND_DURATION] = count_value((uint64_t)end->duration_ms);
    item.values[COMMAND_STDOUT] = text_value(&end->tails[0]);
    item.values[COMMAND_STDERR] =
        text_value(end->started ? &end->tails[1] : &end->failure);
    item.values[COMMAND_CREATED] = time_value(end->started_ns);
    return item;
}

static int put_command(struct live *live, struct item *item,
                       struct cairn_exec_result *result, struct cairn_error *error)
{
    struct board_changes changes = {0};
    struct checkpoint_ref made = {0};
    int rc = live_check_open(live, error)
             ?: live_load_part(live, ITEM_COMMAND, error)
             ?: board_put(&live->board, item, live->now.utc_ns, &changes, error)
             ?: live_put_changes(live, &changes, true, error)
             ?: capture_automatic(live, &changes, NULL, &made, error);
    if (!rc && made.seq)
        checkpoint_id(NAMESPACE_DEBUG, made.seq, &made.digest, result->checkpoint);
    result->pruned = live->pruned;
    free(changes.at);
    return rc;
}

static int record_command_with(struct files_taken *files, struct cairn_store *store,
                               const char *session, const struct recording *rec,
                               struct cairn_exec_result *result,
                               struct cairn_error *error)
{
    struct live live;
    struct item item = item_of(rec);
    int rc = live_write(&live, store, session, error);
    live.files = files;
    if (!rc)
        rc = put_command(&live, &item, result, error);
    rc = live_close(&live, rc, error);
    if (rc)
        result->checkpoint[0] = '\0';
    else
        item_id(item.id, result->id);
    return rc;
}

static int record_command(struct cairn_store *store, uint64_t session,
                          const struct recording *rec, struct cairn_exec_result *result,
                          struct cairn_error *error)
{
    struct files_taken files = {0};
    char number[24];
    int rc;
    u64_text(session, number);
    do
        rc = record_command_with(&files, store, number, rec, result, error);
    while (files_wanted(&files, &rc, store, number, error));
    return files_end(&files, rc, store, error);
}

/* ---- Public ---- */

/* Which session it is is decided before the command, which may switch to another. */
static int prepare(struct cairn_store *store, const char *session,
                   const char *const *argv, struct recording *rec, uint64_t *number,
                   struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, session, error)
             ?: live_check_open(&live, error)
             ?: live_redactor(&live, &rec->redactor, error);
    *number = live.row.session;
    rc = live_close(&live, rc, error);
    return rc
           ?: quote_command(rec->redactor, argv, &rec->command, error)
           ?: add_directory(rec->redactor, &rec->directory, error);
}

static int exec_and_record(struct cairn_store *store, uint64_t session,
                           const struct cairn_exec *exec, struct recording *rec,
                           struct cairn_exec_result *result, struct cairn_error *error)
{
    const struct command_job job = {.argv = exec->argv,
                                    .out = exec->out,
                                    .err = exec->err,
                                    .attached = true,
                                    .host = exec->host,
                                    .redactor = rec->redactor};
    int rc = run_one_command(store, &job, &rec->end, error);
    if (rc)
        return rc;
    result->ran = rec->end.started;
    result->exit_code = rec->end.exit_code;
    result->duration_ms = rec->end.duration_ms;
    result->output_error = rec->end.output_error;
    if (!rec->end.started)
        snprintf(result->reason, sizeof result->reason, "%s", rec->end.failure.data);
    return record_command(store, session, rec, result, error);
}

int cairn_session_exec(struct cairn_store *store, const char *session,
                       const struct cairn_exec *exec, struct cairn_exec_result *result,
                       struct cairn_error *error)
{
    STRUCT_TAKE(cairn_exec, exec, error);
    const struct cairn_command_host *host = exec->host;
    STRUCT_TAKE(cairn_command_host, host, error);
    exec_whole.host = host;
    struct recording rec = {0};
    struct cairn_exec_result made = {0};
    uint64_t number = 0;
    bool held = false;
    if (!exec->argv || !exec->argv[0] || !exec->argv[0][0])
        return error_set(error, CAIRN_EUSAGE, "there is no command to run");
    if (store_read_only(store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    int rc = prepare(store, session, exec->argv, &rec, &number, error)
             ?: session_hold(store, number, &held, error)
             ?: exec_and_record(store, number, exec, &rec, &made, error);
    if (held)
        session_unhold(store, number);
    command_end_release(&rec.end);
    buf_release(&rec.command);
    buf_release(&rec.directory);
    redactor_free(rec.redactor);
    if (result)
        *result = made;
    return rc;
}

/* ==== Checks ==== */

/* Running a check: several attempts outside of any transaction, then one transaction
 * with what came of them. */

struct checking {
    struct arena arena;
    uint64_t session;
    struct item_ref id;
    struct str command; /* NUL-terminated, as the check had it when it began */
    uint64_t limit_ms, retries;
    struct redactor *redactor;
    const struct cairn_command_host *host;
    /* what came of it */
    enum check_status status;
    struct buf output; /* of the last attempt */
    int exit_code;     /* -1: none */
    uint32_t attempts;
    int64_t ran_ns, duration_ms;
    struct cairn_error *error;
};

/* ---- What is to be run ---- */

static int find_check(struct live *live, struct item_ref id, const struct item **check,
                      struct cairn_error *error)
{
    char text[ITEM_ID_MAX];
    int rc = id.kind == ITEM_CHECK ? live_load_item(live, id, error) : 0;
    *check = id.kind == ITEM_CHECK ? board_find(&live->board, id) : NULL;
    if (rc || *check)
        return rc;
    item_id(id, text);
    return error_set(error, CAIRN_ENOTFOUND, "there is no check %s in session %.*s",
                     text, (int)live->row.name.len, live->row.name.ptr);
}

static int read_check(struct checking *c, struct cairn_store *store,
                      const char *session, const char *id)
{
    struct live live;
    const struct item *check = NULL;
    int rc = item_id_parse(str_of(id), &c->id, c->error);
    if (rc)
        return rc;
    rc = live_read(&live, store, session, c->error)
         ?: live_check_open(&live, c->error)
         ?: live_load_part(&live, 0, c->error)
         ?: find_check(&live, c->id, &check, c->error)
         ?: live_redactor(&live, &c->redactor, c->error);
    if (!rc) {
        c->session = live.row.session;
        c->command = arena_str(&c->arena, check->values[CHECK_COMMAND].text);
        c->limit_ms = check->values[CHECK_LIMIT].count;
        c->retries = check->values[CHECK_RETRIES].count;
    }
    rc = live_close(&live, rc, c->error);
    return !rc && c->arena.failed ? error_nomem(c->error) : rc;
}

/* ---- Attempts ---- */

static void take_end(struct checking *c, struct command_end *end)
{
    bool passed = end->started && !end->timed_out && end->exit_code == 0;
    c->status = !end->started    ? CHECK_ERROR
                : end->timed_out ? CHECK_TIMEOUT
                : passed         ? CHECK_PASSED
                                 : CHECK_FAILED;
    c->exit_code = end->started && !end->timed_out ? end->exit_code : -1;
    struct buf *text = end->started ? &end->tails[0] : &end->failure, old = c->output;
    c->output = *text;
    *text = old;
}

static int refuse_stopped(struct checking *c)
{
    char id[ITEM_ID_MAX];
    item_id(c->id, id);
    return error_set(c->error, CAIRN_ESTOPPED,
                     "%s was stopped by a signal: nothing was recorded", id);
}

/* That it cannot be run for lack of something (processes, descriptors) is a result. */
static int try_once(struct checking *c, struct cairn_store *store)
{
    const char *const argv[] = {"sh", "-c", c->command.ptr, NULL};
    const struct command_job job = {.argv = argv,
                                    .out = -1,
                                    .err = -1,
                                    .joined = true,
                                    .limit_ms = (int64_t)c->limit_ms,
                                    .host = c->host,
                                    .redactor = c->redactor};
    struct command_end end;
    struct cairn_error why = {0};
    int rc = run_one_command(store, &job, &end, &why);
    c->attempts++;
    if (!c->ran_ns)
        c->ran_ns = end.started_ns ? end.started_ns : clock_utc_ns();
    if (rc == CAIRN_EIO) {
        buf_clear(&end.failure);
        buf_text(&end.failure, why.text);
        rc = end.failure.failed ? CAIRN_ENOMEM : 0;
        end.started = false;
    }
    if (rc)
        rc = error_set(c->error, rc, "%s", why.text);
    else if (end.stopped)
        rc = refuse_stopped(c);
    else
        take_end(c, &end);
    command_end_release(&end);
    return rc;
}

/* 100 ms, 200 ms and so on up to 30 s, then the jitter. */
static int64_t pause_ms(uint32_t failures)
{
    enum { FIRST_MS = 100, MOST_MS = 30000, TWICE = 2000, SAME = 1000 };
    const struct backoff growing = {.delay_ms = FIRST_MS, .factor_permille = TWICE};
    int64_t ms = backoff_delay_ms(&growing, failures);
    const struct backoff jitter = {.delay_ms = ms < MOST_MS ? ms : MOST_MS,
                                   .factor_permille = SAME,
                                   .jitter = true};
    return backoff_delay_ms(&jitter, 1);
}

static bool is_stopped(const struct checking *c)
{
    return c->host->signal && *c->host->signal;
}

static int wait_before_next(struct checking *c)
{
    enum { STEP_MS = 50, MS_NS = 1000000 };
    int64_t until = clock_mono_ns() + pause_ms(c->attempts) * MS_NS, left;
    while ((left = (until - clock_mono_ns()) / MS_NS) > 0 && !is_stopped(c))
        (void)poll(NULL, 0, left < STEP_MS ? (int)left : STEP_MS);
    return is_stopped(c) ? refuse_stopped(c) : 0;
}

static int try_until_it_passes(struct checking *c, struct cairn_store *store)
{
    int64_t began_ns = clock_mono_ns();
    int rc = 0;
    for (;;) {
        rc = try_once(c, store);
        bool again = c->status == CHECK_FAILED || c->status == CHECK_TIMEOUT;
        if (rc || !again || c->attempts > c->retries)
            break;
        rc = wait_before_next(c);
        if (rc)
            break;
    }
    c->duration_ms = (clock_mono_ns() - began_ns) / 1000000;
    return rc;
}

/* ---- What came of it ---- */

static struct item with_result(const struct checking *c, const struct item *check)
{
    struct item item = *check;
    struct item_value *values = item.values;
    values[CHECK_STATUS] = count_value(c->status);
    values[CHECK_OUTPUT] = text_value(&c->output);
    values[CHECK_EXIT] = c->exit_code >= 0 ? count_value((uint64_t)c->exit_code)
                                           : (struct item_value){0};
    values[CHECK_DURATION] = count_value((uint64_t)c->duration_ms);
    values[CHECK_ATTEMPTS] = count_value(c->attempts);
    values[CHECK_RAN] = time_value(c->ran_ns);
    return item;
}

struct writing {
    struct live live;
    struct board_changes changes;
    struct item_ref evidence; /* n 0: none */
};

/* A check that says nothing of its hypothesis adds none. */
static int add_evidence(const struct checking *c, struct writing *w,
                        const struct item *check)
{
    char id[ITEM_ID_MAX];
    bool passed = c->status == CHECK_PASSED;
    struct item evidence = {.id = {ITEM_EVIDENCE, 0}};
    struct item_value *values = evidence.values;
    struct buf text = BUF_INIT, source = BUF_INIT;
    if (!check->values[CHECK_HYPOTHESIS].present ||
        (!passed && c->status != CHECK_FAILED))
        return 0;
    item_id(check->id, id);
    buf_format(&text, "check %s %s: ", id, check_status_name(c->status));
    buf_str(&text, check->values[CHECK_TEXT].text);
    buf_text(&source, id);
    values[EVIDENCE_TEXT] = text_value(&text);
    values[EVIDENCE_HYPOTHESIS] = check->values[CHECK_HYPOTHESIS];
    values[EVIDENCE_KIND] = count_value(EVIDENCE_EXPERIMENT);
    values[EVIDENCE_STRENGTH] =
        (struct item_value){.present = true, .number = passed ? 1 : -1};
    values[EVIDENCE_SOURCE] = text_value(&source);
    values[EVIDENCE_CREATED] = time_value(w->live.now.utc_ns);
    int rc = buf_check(&text, c->error)
             ?: buf_check(&source, c->error)
             ?: live_load_concerned(&w->live, &evidence, c->error)
             ?: board_put(&w->live.board, &evidence, w->live.now.utc_ns, &w->changes,
                          c->error);
    w->evidence = evidence.id;
    buf_release(&text);
    buf_release(&source);
    return rc;
}

static int put_result(const struct checking *c, struct writing *w)
{
    const struct item *check;
    int rc = find_check(&w->live, c->id, &check, c->error);
    if (rc)
        return rc;
    if (!str_equal(check->values[CHECK_COMMAND].text, c->command))
        return error_set(c->error, CAIRN_EUSAGE,
                         "the command of the check was changed while it ran: nothing "
                         "was recorded; run it again");
    struct item item = with_result(c, check);
    rc = live_load_concerned(&w->live, &item, c->error);
    if (rc)
        return rc;
    return board_put(&w->live.board, &item, w->live.now.utc_ns, &w->changes, c->error)
               ?: add_evidence(c, w, &item);
}

static int record_check_with(struct files_taken *files, const struct checking *c,
                             struct cairn_store *store, const char *session,
                             struct cairn_check_result *result)
{
    struct writing w = {.evidence = {0}};
    struct checkpoint_ref made = {0};
    int rc = live_write(&w.live, store, session, c->error);
    w.live.files = files;
    if (!rc)
        rc = live_check_open(&w.live, c->error)
             ?: live_load_part(&w.live, ITEM_EVIDENCE, c->error)
             ?: put_result(c, &w)
             ?: live_put_changes(&w.live, &w.changes, true, c->error)
             ?: capture_automatic(&w.live, &w.changes, NULL, &made, c->error);
    if (!rc && made.seq)
        checkpoint_id(NAMESPACE_DEBUG, made.seq, &made.digest, result->checkpoint);
    if (!rc && w.evidence.n)
        item_id(w.evidence, result->evidence);
    result->pruned = w.live.pruned;
    rc = live_close(&w.live, rc, c->error);
    free(w.changes.at);
    return rc;
}

static int record_check(const struct checking *c, struct cairn_store *store,
                        struct cairn_check_result *result)
{
    struct files_taken files = {0};
    char number[24];
    int rc;
    u64_text(c->session, number);
    do
        rc = record_check_with(&files, c, store, number, result);
    while (files_wanted(&files, &rc, store, number, c->error));
    return files_end(&files, rc, store, c->error);
}

/* ---- Public ---- */

int cairn_check_run(struct cairn_store *store, const char *session, const char *id,
                    const struct cairn_command_host *host,
                    struct cairn_check_result *result, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_command_host, host, error);
    struct checking c = {
        .arena = ARENA_INIT, .host = host ? host : &no_host, .error = error};
    struct cairn_check_result made = {0};
    if (store_read_only(store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    int rc = read_check(&c, store, session, id)
             ?: try_until_it_passes(&c, store)
             ?: record_check(&c, store, &made);
    item_id(c.id, made.id);
    made.status = check_status_name(c.status);
    made.exit_code = c.exit_code;
    made.attempts = c.attempts;
    made.duration_ms = c.duration_ms;
    buf_release(&c.output);
    redactor_free(c.redactor);
    arena_release(&c.arena);
    if (!rc && result)
        *result = made;
    return rc;
}

/* ==== Hooks ==== */

/* Running the hooks of what a handle has done. What is to be run is collected first, so
 * that no transaction is open while a hook runs. */

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
    u64_text(session, number);
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
    u64_text(done->session, number);
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
    STRUCT_TAKE(cairn_hooks, hooks, error);
    const struct cairn_command_host *host = hooks->host;
    STRUCT_TAKE(cairn_command_host, host, error);
    hooks_whole.host = host;
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
