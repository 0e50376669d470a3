/* SPDX-License-Identifier: MIT */
/* External tasks: telling how it went. */
#include "base/clock.h"
#include "base/identifier.h"
#include "base/limits.h"
#include "cairn/external.h"
#include "executor/command_wait.h"
#include "executor/external_task.h"
#include "storage/rows_command.h"
#include "storage/store.h"

#include <stdlib.h>

/* ---- Whether the teller may ---- */

/* Without a token only what nobody has claimed since it last ended. */
static int check_unclaimed(const struct step *s, struct cairn_error *error)
{
    if (!s->claim->exists || s->claim->spent)
        return 0;
    if (s->claim->left_ms > 0)
        return step_is_taken(s, error);
    return error_set(error, CAIRN_EOWNED,
                     "%.*s had task %s, and the lease is over: claim it",
                     (int)s->claim->holder.len, s->claim->holder.ptr,
                     s->view.workflow->graph.id[s->task]);
}

static int check_token(const struct step *s, const char *token,
                       struct cairn_error *error)
{
    const char *id = s->view.workflow->graph.id[s->task];
    if (!s->claim->exists || !str_equal(s->claim->token, str_of(token)))
        return error_set(error, CAIRN_EOWNED,
                         "this token is not, or no longer, that of a claim of task %s",
                         id);
    if (s->claim->spent)
        return error_set(error, CAIRN_EUSAGE,
                         "task %s was ended with this token already", id);
    if (s->claim->left_ms <= 0)
        return error_set(error, CAIRN_EOWNED,
                         "the lease on task %s is over: claim it again", id);
    return 0;
}

/* Where there was no claim, a spent one keeps others from doing the same. */
static int spend(const struct step *s, const char *token, struct cairn_error *error)
{
    char made[CAIRN_CLAIM_MAX];
    step_token(made);
    struct new_claim claim = {.token = str_of(token ? token : made),
                              .holder = token ? s->claim->holder : STR(""),
                              .spent = true};
    return step_put_claim(s, &claim, error);
}

/* ---- What is told ---- */

struct report { /* what is told: `fill` makes the command's data of it */
    uint8_t verb;
    const char *token;
    const struct cairn_param *values;
    size_t n_values;
    const char *message;
};

static int by_key(const void *a, const void *b)
{
    const struct cairn_param *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int check_key(const char *key, struct cairn_error *error)
{
    if (!str_is_env_name(str_of(key)))
        return error_set(error, CAIRN_EUSAGE,
                         "`%.200s` is no name of a value: it has letters, digits and "
                         "_, and does not begin with a digit",
                         key);
    if (strlen(key) > LIMIT_NAME_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "the name of a value is longer than %d bytes",
                         LIMIT_NAME_BYTES);
    return 0;
}

static int check_values(const struct report *r, struct cairn_error *error)
{
    size_t bytes = 0;
    int rc = 0;
    if (r->n_values > LIMIT_VALUES)
        return error_set(error, CAIRN_ELIMIT, "%zu values; at most %d can be set",
                         r->n_values, LIMIT_VALUES);
    for (size_t i = 0; i < r->n_values && !rc; i++) {
        rc = check_key(r->values[i].name, error);
        bytes += strlen(r->values[i].name) + strlen(r->values[i].value) + 2;
    }
    if (!rc && bytes > LIMIT_VALUES_BYTES)
        rc =
            error_set(error, CAIRN_ELIMIT, "%zu bytes of values; at most %d can be set",
                      bytes, LIMIT_VALUES_BYTES);
    return rc;
}

static int check_report(const struct report *r, struct cairn_error *error)
{
    if (r->verb == COMMAND_COMPLETE)
        return check_values(r, error);
    if (r->message && strlen(r->message) > LIMIT_TEXT_BYTES)
        return error_set(error, CAIRN_ELIMIT, "the message is longer than %d bytes",
                         LIMIT_TEXT_BYTES);
    return 0;
}

/* In the order of their keys; of equal ones the last counts. */
static int fill_values(const struct run_view *v, const struct report *r,
                       struct buf *data, struct cairn_error *error)
{
    struct cairn_param *sorted = calloc(r->n_values + 1, sizeof *sorted);
    size_t n = 0;
    if (!sorted)
        return error_nomem(error);
    for (size_t i = 0; i < r->n_values; i++) {
        size_t k = 0;
        while (k < n && strcmp(sorted[k].name, r->values[i].name) != 0)
            k++;
        sorted[k] = r->values[i];
        n += k == n;
    }
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 0; i < n; i++) {
        struct buf clean = BUF_INIT;
        run_view_redact(v, str_of(sorted[i].value), &clean);
        buf_lstr(data, str_of(sorted[i].name));
        buf_lstr(data, buf_view(&clean));
        data->failed |= clean.failed;
        buf_release(&clean);
    }
    free(sorted);
    return buf_check(data, error);
}

static int fill(const struct run_view *v, const struct report *r, struct buf *data,
                struct cairn_error *error)
{
    if (r->verb == COMMAND_COMPLETE)
        return fill_values(v, r, data, error);
    bool said = r->message && *r->message;
    run_view_redact(v, str_of(said ? r->message : "reported as failed"), data);
    return buf_check(data, error);
}

/* ---- Telling ---- */

static int put_report(struct step *s, const struct report *r,
                      struct queued_command *command, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    int rc = r->token ? check_token(s, r->token, error) : 0;
    if (!rc)
        rc = step_check_open(s, error);
    if (!rc && !r->token)
        rc = check_unclaimed(s, error);
    if (!rc && r->verb == COMMAND_COMPLETE)
        rc = run_view_check_outputs(&s->view, s->task, error);
    if (!rc)
        rc = spend(s, r->token, error);
    if (!rc)
        rc = fill(&s->view, r, &data, error);
    struct command_row row = {.verb = r->verb,
                              .task = s->task,
                              .time_ns = clock_utc_ns(),
                              .data = buf_view(&data)};
    if (!rc)
        rc = run_view_put_command(&s->view, &row, command, error);
    buf_release(&data);
    return rc;
}

static int tell(struct cairn_store *store, uint64_t run, const char *task,
                const struct report *r, struct cairn_error *error)
{
    struct step s = {.task = NODE_NONE};
    struct queued_command command = {.task = task, .done = r->verb == COMMAND_COMPLETE};
    int rc = check_report(r, error);
    if (!rc)
        rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = step_open(&s, store, run, task, error);
    if (!rc) {
        rc = put_report(&s, r, &command, error);
        step_release(&s);
    }
    rc = store_end(store, rc, error);
    return rc ? rc : command_wait(store, &command, error);
}

int cairn_complete(struct cairn_store *store, uint64_t run, const char *task,
                   const char *token, const struct cairn_param *values, size_t n_values,
                   struct cairn_error *error)
{
    struct report r = {COMMAND_COMPLETE, token, values, n_values, NULL};
    return tell(store, run, task, &r, error);
}

int cairn_fail(struct cairn_store *store, uint64_t run, const char *task,
               const char *token, const char *message, struct cairn_error *error)
{
    struct report r = {COMMAND_FAIL, token, NULL, 0, message};
    return tell(store, run, task, &r, error);
}
