/* SPDX-License-Identifier: MIT */
/* Running a check: several attempts outside of any transaction, then one transaction
 * with what came of them. */
#include "base/backoff.h"
#include "base/clock.h"
#include "base/error.h"
#include "session/board/confidence.h"
#include "session/board/status.h"
#include "session/commands/commands_int.h"
#include "session/outside/redaction.h"
#include "storage/store.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

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

static int find_check(const struct live *live, struct item_ref id,
                      const struct item **check, struct cairn_error *error)
{
    char text[ITEM_ID_MAX];
    *check = id.kind == ITEM_CHECK ? board_find(&live->board, id) : NULL;
    if (*check)
        return 0;
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
    rc = live_read(&live, store, session, c->error);
    if (!rc)
        rc = live_check_open(&live, c->error);
    if (!rc)
        rc = live_load_board(&live, c->error);
    if (!rc)
        rc = find_check(&live, c->id, &check, c->error);
    if (!rc)
        rc = live_redactor(&live, &c->redactor, c->error);
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
    int rc = buf_check(&text, c->error);
    if (!rc)
        rc = buf_check(&source, c->error);
    if (!rc)
        rc = board_put(&w->live.board, &evidence, w->live.now.utc_ns, &w->changes,
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
    rc = board_put(&w->live.board, &item, w->live.now.utc_ns, &w->changes, c->error);
    return rc ? rc : add_evidence(c, w, &item);
}

static int record_with(struct files_taken *files, const struct checking *c,
                       struct cairn_store *store, const char *session,
                       struct cairn_check_result *result)
{
    struct writing w = {.evidence = {0}};
    struct checkpoint_ref made = {0};
    int rc = live_write(&w.live, store, session, c->error);
    w.live.files = files;
    if (!rc)
        rc = live_check_open(&w.live, c->error);
    if (!rc)
        rc = live_load_board(&w.live, c->error);
    if (!rc)
        rc = put_result(c, &w);
    if (!rc)
        rc = live_put_changes(&w.live, &w.changes, true, c->error);
    if (!rc)
        rc = capture_automatic(&w.live, &w.changes, NULL, &made, c->error);
    if (!rc && made.seq)
        checkpoint_id(NAMESPACE_DEBUG, made.seq, &made.digest, result->checkpoint);
    if (!rc && w.evidence.n)
        item_id(w.evidence, result->evidence);
    result->pruned = w.live.pruned;
    rc = live_close(&w.live, rc, c->error);
    free(w.changes.at);
    return rc;
}

static int record(const struct checking *c, struct cairn_store *store,
                  struct cairn_check_result *result)
{
    struct files_taken files = {0};
    char number[24];
    int rc;
    snprintf(number, sizeof number, "%llu", (unsigned long long)c->session);
    do
        rc = record_with(&files, c, store, number, result);
    while (files_wanted(&files, &rc, store, number, c->error));
    return files_end(&files, rc, store, c->error);
}

/* ---- Public ---- */

static const struct cairn_command_host no_host;

int cairn_check_run(struct cairn_store *store, const char *session, const char *id,
                    const struct cairn_command_host *host,
                    struct cairn_check_result *result, struct cairn_error *error)
{
    SIZE_CHECK("cairn_command_host", host, error);
    struct checking c = {
        .arena = ARENA_INIT, .host = host ? host : &no_host, .error = error};
    struct cairn_check_result made = {0};
    if (store_read_only(store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    int rc = read_check(&c, store, session, id);
    if (!rc)
        rc = try_until_it_passes(&c, store);
    if (!rc)
        rc = record(&c, store, &made);
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
