/* SPDX-License-Identifier: MIT */
/* Adding tasks to a run: what is added is parsed behind the workflow's file and all that
 * was added before, as whoever goes on with the run will do. If that is good, one
 * command is stored, so all of it belongs to the run, or nothing does. A text that was
 * added before adds nothing: a task that was killed after it had added tasks adds them
 * again when it is repeated. If the run has an owner, that is woken, and opens the run
 * again with the new tasks (command_apply.c). */
#include "executor/command_wait.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os.h"
#include "cairn/run.h"
#include "runs/additions.h"
#include "runs/stored.h"
#include "secrets/outside.h"
#include "secrets/secrets.h"
#include "storage/rows_command.h"
#include "storage/store.h"

#include <stdlib.h>
#include <unistd.h>

struct adding {
    struct cairn_store *store;
    const struct cairn_addition *addition;
    struct arena arena;
    struct run_row row;
    struct cairn_workflow *workflow; /* of the run, with the addition */
    size_t n_before;                 /* additions before this one */
    bool same;                       /* one of them has this very text */
    char caller[LIMIT_NAME_BYTES + 1];
    struct cairn_added *out;
    struct cairn_error *error;
};

/* Behind those that there are. */
static int append(struct adding *a, struct addition *all, size_t n)
{
    const struct cairn_addition *given = a->addition;
    size_t bytes = given->length;
    a->same = false;
    for (size_t i = 0; i < n; i++) {
        bytes += all[i].length;
        a->same |= all[i].length == given->length &&
                   memcmp(all[i].text, given->text, given->length) == 0;
    }
    if (a->same) {
        additions_free(all, n);
        return 0;
    }
    all[n] = (struct addition){.name = strdup(given->name ? given->name : "addition"),
                               .text = malloc(given->length + 1),
                               .length = given->length};
    if (!all[n].name || !all[n].text) {
        additions_free(all, n + 1);
        return error_nomem(a->error);
    }
    memcpy(all[n].text, given->text, given->length);
    workflow_take_additions(a->workflow, a->row.run, all, n + 1);
    if (n < LIMIT_ADDITIONS && bytes <= LIMIT_ADDED_BYTES)
        return 0;
    return error_set(
        a->error, CAIRN_ELIMIT,
        "run %llu has %zu additions of %zu bytes with this one: at most %d "
        "of %d bytes together",
        (unsigned long long)a->row.run, n + 1, bytes, LIMIT_ADDITIONS,
        LIMIT_ADDED_BYTES);
}

/* A value of a secret in a text would be stored with it. */
static int check_secrets(const struct adding *a, const char *by)
{
    static const struct cairn_run_options none;
    struct secrets secrets = {0};
    int rc = secrets_load(&secrets, &a->workflow->definition, &none, a->error);
    const struct outside outside = {.redactor = secrets.redactor};
    const struct outside_text texts[] = {
        {OUTSIDE_DATA,
         "the text of the tasks",
         {a->addition->text, a->addition->length},
         NULL},
        {OUTSIDE_NAME, "the name of who adds them", str_of(by), NULL}};
    for (int i = 0; i < 2 && !rc; i++)
        rc = outside_check(&outside, &texts[i], a->error);
    secrets_release(&secrets);
    return rc;
}

static int parse_all(struct adding *a, const char *by)
{
    struct addition *all = NULL;
    bool from_file = false;
    int rc =
        cairn_workflow_of_run(&a->workflow, a->store, a->row.run, &from_file, a->error);
    if (!rc && !from_file)
        rc = error_set(a->error, CAIRN_EUSAGE,
                       "tasks are added behind those of the workflow's file, and that "
                       "of run %llu is gone",
                       (unsigned long long)a->row.run);
    uint32_t before = rc ? 0 : a->workflow->graph.n_tasks;
    if (!rc)
        rc = additions_load(a->store, a->row.run, &all, &a->n_before, a->error);
    if (!rc)
        rc = append(a, all, a->n_before);
    if (!rc && a->same)
        return 0;
    if (!rc)
        rc = workflow_reparse(a->workflow, &a->workflow->definition, a->error);
    if (!rc)
        a->out->tasks = a->workflow->graph.n_tasks - before;
    return rc ? rc : check_secrets(a, by);
}

/* 1: somebody else has added tasks meanwhile. */
static int put_addition(struct adding *a, const char *by, struct command_row *command)
{
    struct buf data = BUF_INIT;
    size_t n = 0;
    int rc = store_begin(a->store, -1, a->error);
    if (rc)
        return rc;
    addition_encode(str_of(by), (struct str){a->addition->text, a->addition->length},
                    &data);
    rc = buf_check(&data, a->error);
    if (!rc)
        rc = additions_count(a->store, a->row.run, &n, a->error);
    bool again = !rc && n != a->n_before;
    *command = (struct command_row){.run = a->row.run,
                                    .verb = COMMAND_ADD,
                                    .gen = a->row.gen,
                                    .task = UINT32_MAX,
                                    .time_ns = clock_utc_ns(),
                                    .data = buf_view(&data)};
    if (!rc && !again)
        rc = store_put_command(a->store, command, a->error);
    rc = store_end(a->store, rc, a->error);
    buf_release(&data);
    return !rc && again ? 1 : rc;
}

static int add_all(struct adding *a, uint64_t run)
{
    struct command_row command = {0};
    const char *by = a->addition->by;
    int rc = by && *by ? 0 : os_caller_name(a->caller, sizeof a->caller, a->error);
    by = by && *by ? by : a->caller;
    if (!rc && strlen(by) > LIMIT_NAME_BYTES)
        rc = error_set(a->error, CAIRN_EUSAGE,
                       "the name of who adds the tasks is longer than %d bytes",
                       LIMIT_NAME_BYTES);
    bool again = !rc;
    while (again) {
        arena_release(&a->arena);
        rc = run_row_get(&a->row, a->store, run, &a->arena, a->error);
        if (!rc)
            rc = parse_all(a, by);
        if (!rc && !a->same)
            rc = put_addition(a, by, &command);
        again = rc > 0;
        cairn_workflow_free(a->workflow);
        a->workflow = NULL;
    }
    a->out->run = a->row.run;
    a->out->same = a->same;
    return rc || a->same ? rc
                         : command_offer(a->store, &command, &a->out->live,
                                         &a->out->taken, a->error);
}

int cairn_add(struct cairn_store *store, uint64_t run,
              const struct cairn_addition *addition, struct cairn_added *added,
              struct cairn_error *error)
{
    SIZE_CHECK_IF("cairn_addition", addition, error);
    struct cairn_added local = {0};
    struct adding a = {
        .store = store, .addition = addition, .out = &local, .error = error};
    if (!addition || !addition->text || !addition->length)
        return error_set(error, CAIRN_EUSAGE, "there are no tasks to add");
    int rc = add_all(&a, run);
    arena_release(&a.arena);
    if (!rc && added)
        *added = local;
    return rc;
}
