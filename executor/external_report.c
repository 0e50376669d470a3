/* SPDX-License-Identifier: MIT */
/* External tasks: reporting how one ended. */
#include "base/clock.h"
#include "base/identifier.h"
#include "base/limits.h"
#include "cairn/external.h"
#include "executor/command_wait.h"
#include "executor/external_task.h"
#include "storage/rows_command.h"
#include "storage/store.h"

#include <stdlib.h>

/* ---- Who may report ---- */

/* Without a token: only a task that nobody has claimed since it last ended. */
static int check_unclaimed(const struct external_task *t, struct cairn_error *error)
{
    if (!t->claim->exists || t->claim->spent)
        return 0;
    if (t->claim->left_ms > 0)
        return external_task_refuse_taken(t, error);
    return error_set(error, CAIRN_EOWNED,
                     "%.*s had task %s, and the lease is over: claim it",
                     (int)t->claim->holder.len, t->claim->holder.ptr,
                     t->view.workflow->graph.id[t->task]);
}

/* Somebody may have claimed or ended it meanwhile. */
static int check_lost(const struct external_task *t, struct cairn_error *error)
{
    if (t->claim->exists && !t->claim->spent && t->claim->lost >= LIMIT_LEASES_LOST &&
        t->claim->left_ms == 0)
        return 0;
    return external_task_refuse_taken(t, error);
}

/* Where there was no claim, a spent one is stored, so that nobody else ends the task.
 */
static int spend_claim(const struct external_task *t, const char *token,
                       struct cairn_error *error)
{
    char made[CAIRN_CLAIM_MAX];
    int rc = make_claim_token(made, error);
    if (rc)
        return rc;
    struct new_claim claim = {
        .token = str_of(token ? token : made),
        .holder = token ? t->claim->holder : STR(""),
        .spent = true,
        .time_ns = t->claim->exists && !t->claim->spent ? t->claim->time_ns : 0};
    return external_task_put_claim(t, &claim, error);
}

/* ---- The report ---- */

struct external_report { /* encode_report makes the data of a command of it */
    uint8_t verb;
    const char *token;
    const struct cairn_param *values;
    size_t n_values;
    const char *message;
    bool lost; /* its leases were lost too often: nobody reports it */
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

static int check_values(const struct external_report *r, struct cairn_error *error)
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

static int check_report(const struct external_report *r, struct cairn_error *error)
{
    if (r->verb == COMMAND_COMPLETE)
        return check_values(r, error);
    if (r->message && strlen(r->message) > LIMIT_TEXT_BYTES)
        return error_set(error, CAIRN_ELIMIT, "the message is longer than %d bytes",
                         LIMIT_TEXT_BYTES);
    return 0;
}

/* In the order of their keys. Of several with one key the last counts. */
static int encode_values(struct run_view *v, const struct external_report *r,
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
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        char what[240];
        struct clean name = CLEAN(""), value = CLEAN("");
        rc = run_view_take(v, OUTSIDE_NAME, "the name of a value", sorted[i].name,
                           &name, error);
        snprintf(what, sizeof what, "the value %.200s", sorted[i].name);
        if (!rc)
            rc = run_view_take(v, OUTSIDE_PROSE, what, sorted[i].value, &value, error);
        buf_lstr(data, clean_str(name));
        buf_lstr(data, clean_str(value));
    }
    free(sorted);
    return rc ? rc : buf_check(data, error);
}

static int encode_report(struct run_view *v, const struct external_report *r,
                         struct buf *data, struct cairn_error *error)
{
    if (r->verb == COMMAND_COMPLETE)
        return encode_values(v, r, data, error);
    struct clean clean = CLEAN("reported as failed");
    int rc = r->message && *r->message ? run_view_take(v, OUTSIDE_PROSE, "the message",
                                                       r->message, &clean, error)
                                       : 0;
    buf_str(data, clean_str(clean));
    return rc ? rc : buf_check(data, error);
}

/* ---- Sending it ---- */

static int put_report(struct external_task *t, const struct external_report *r,
                      struct queued_command *command, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    int rc = r->token ? external_task_check_token(t, r->token, error) : 0;
    bool kept = r->verb == COMMAND_COMPLETE && r->token && external_task_is_late(t);
    if (!rc && !kept)
        rc = external_task_check_open(t, error);
    if (!rc && !r->token)
        rc = r->lost ? check_lost(t, error) : check_unclaimed(t, error);
    if (!rc && r->verb == COMMAND_COMPLETE)
        rc = run_view_check_outputs(&t->view, t->task, error);
    if (!rc)
        rc = spend_claim(t, r->token, error);
    if (!rc)
        rc = encode_report(&t->view, r, &data, error);
    struct command_row row = {.verb = r->verb,
                              .task = t->task,
                              .time_ns = clock_utc_ns(),
                              .data = buf_view(&data)};
    if (!rc)
        rc = run_view_put_command(&t->view, &row, command, error);
    buf_release(&data);
    return rc;
}

/* What was refused has ended nothing: the claim is as it was before, unless somebody
 * has taken the task meanwhile. */
static int restore_claim(const struct external_task *t, const char *token,
                         int64_t until_ns, bool *restored, struct cairn_error *error)
{
    int64_t left_ms = (until_ns - clock_boot_ns()) / 1000000;
    struct new_claim claim = {.token = str_of(token),
                              .holder = t->claim->holder,
                              .lease_ms = left_ms > 1 ? left_ms : 1,
                              .time_ns = t->claim->time_ns};
    if (t->view.states.outcome[t->task] != CAIRN_PENDING || !t->claim->spent ||
        !str_equal(t->claim->token, claim.token))
        return 0;
    *restored = true;
    return external_task_put_claim(t, &claim, error);
}

/* Returns `refused`, which *error is about. */
static int give_claim_back(struct cairn_store *store, uint64_t run, const char *task,
                           const char *token, int64_t until_ns, int refused,
                           struct cairn_error *error)
{
    struct external_task t = {.task = NODE_NONE};
    struct cairn_error why;
    bool restored = false;
    int rc = store_begin(store, -1, &why);
    if (rc)
        return refused;
    rc = external_task_open(&t, store, run, task, &why);
    if (!rc) {
        rc = restore_claim(&t, token, until_ns, &restored, &why);
        external_task_release(&t);
    }
    rc = store_end(store, rc, &why);
    if (rc || !restored)
        return refused;
    why = *error;
    return error_set(error, (enum cairn_code)refused, "%s; the claim still holds",
                     why.text);
}

static int send_report(struct cairn_store *store, uint64_t run, const char *task,
                       const struct external_report *r, struct cairn_error *error)
{
    struct external_task t = {.task = NODE_NONE};
    int64_t until_ns = 0;
    struct queued_command command = {.task = task, .done = r->verb == COMMAND_COMPLETE};
    int rc = check_report(r, error);
    if (!rc)
        rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = external_task_open(&t, store, run, task, error);
    if (!rc) {
        until_ns = clock_boot_ns() + t.claim->left_ms * 1000000;
        rc = put_report(&t, r, &command, error);
        external_task_release(&t);
    }
    rc = store_end(store, rc, error);
    if (rc)
        return rc;
    rc = command_wait(store, &command, error);
    if (rc != CAIRN_EUSAGE || !r->token)
        return rc;
    return give_claim_back(store, run, task, r->token, until_ns, rc, error);
}

int cairn_complete(struct cairn_store *store, uint64_t run, const char *task,
                   const char *token, const struct cairn_param *values, size_t n_values,
                   struct cairn_error *error)
{
    struct external_report r = {.verb = COMMAND_COMPLETE,
                                .token = token,
                                .values = values,
                                .n_values = n_values};
    return send_report(store, run, task, &r, error);
}

int cairn_fail(struct cairn_store *store, uint64_t run, const char *task,
               const char *token, const char *message, struct cairn_error *error)
{
    struct external_report r = {
        .verb = COMMAND_FAIL, .token = token, .message = message};
    return send_report(store, run, task, &r, error);
}

int external_task_fail_lost(struct cairn_store *store, uint64_t run, const char *task,
                            const char *message, struct cairn_error *error)
{
    struct external_report r = {.verb = COMMAND_FAIL, .message = message, .lost = true};
    return send_report(store, run, task, &r, error);
}
