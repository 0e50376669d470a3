/* SPDX-License-Identifier: MIT */
#include "plan/run_view.h"

#include "runs/outputs.h"
#include "runs/owner.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Looking ---- */

/* What a live owner runs is only pending, as seen from here. */
static int copy_states(struct run_view *v, struct cairn_error *error)
{
    return v->live ? states_copy(&v->states, &v->situation.present.states, error)
                   : situation_states(&v->situation, v->workflow, &v->states, error);
}

static int load_situation(struct run_view *v, struct cairn_error *error)
{
    const struct graph *g = &v->workflow->graph;
    int rc = situation_load_as_is(&v->situation, v->workflow, v->store, v->row.run,
                                  NULL, error);
    if (rc)
        return rc;
    v->loaded = true;
    rc = copy_states(v, error);
    if (!rc)
        rc = sched_init(&v->sched, g, v->states.outcome, NULL, NULL, error);
    v->lookup = (struct lookup){.graph = g,
                                .states = &v->states,
                                .store = v->store,
                                .run = v->row.run,
                                .digests = FILE_DIGESTS_INIT};
    return rc;
}

int run_view_open(struct run_view *v, struct cairn_store *store, uint64_t run,
                  struct cairn_error *error)
{
    *v = (struct run_view){.store = store};
    int rc = run_row_get(&v->row, store, run, &v->arena, error);
    if (!rc)
        rc = workflow_stored(&v->workflow, store, &v->row, error);
    int live = rc ? 0 : run_live(store, &v->row, error);
    if (live < 0)
        rc = live;
    v->live = live > 0;
    if (!rc)
        rc = load_situation(v, error);
    if (rc)
        run_view_release(v);
    return rc;
}

void run_view_release(struct run_view *v)
{
    lookup_release(&v->lookup);
    if (v->sched.graph)
        sched_release(&v->sched);
    states_release(&v->states);
    if (v->loaded)
        situation_release(&v->situation);
    cairn_workflow_free(v->workflow);
    arena_release(&v->arena);
    *v = (struct run_view){0};
}

int run_view_find(const struct run_view *v, const char *id, uint32_t *task,
                  struct cairn_error *error)
{
    uint32_t found = id ? graph_find(&v->workflow->graph, str_of(id)) : NODE_NONE;
    if (found == NODE_NONE)
        return run_no_task(v->row.run, id ? id : "", error);
    *task = found;
    return 0;
}

int run_view_offers(struct run_view *v, uint32_t task, bool *offered,
                    struct cairn_error *error)
{
    struct asker asker = {&v->lookup, task,
                          situation_attempts(&v->situation, task) + 1};
    struct scope scope = lookup_scope(&asker);
    struct cairn_error why = {0};
    bool holds = true;
    *offered = false;
    if (scope.def->kind != TASK_EXTERNAL || v->sched.state[task] != READY)
        return 0;
    int rc = scope.def->condition.len ? condition_holds(&scope, &holds, &why) : 0;
    if (rc && rc != CAIRN_EWORKFLOW && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    *offered = !rc && holds; /* else the run's owner will make it fail */
    return 0;
}

int run_view_has_command(const struct run_view *v, uint32_t task, uint8_t verb,
                         bool *pending, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct command_row row = {0};
    int rc = 0;
    *pending = false;
    do {
        struct cairn_error why = {0};
        buf_clear(&data);
        rc = store_next_command(v->store, v->row.run, row.id, &row, &data, &why);
        if (rc == CAIRN_EDAMAGED && row.id) {
            rc = 0; /* nobody will carry it out */
            continue;
        }
        if (rc)
            error_set(error, rc, "%s", why.text);
        bool meant = verb ? row.verb == verb
                          : row.verb == COMMAND_COMPLETE || row.verb == COMMAND_FAIL;
        *pending = !rc && row.id && meant && row.gen == v->row.gen && row.task == task;
    } while (!rc && row.id && !*pending);
    buf_release(&data);
    return rc;
}

int run_view_take(struct run_view *v, enum outside_kind kind, const char *what,
                  const char *text, struct clean *out, struct cairn_error *error)
{
    struct outside outside = {v->situation.secrets.redactor, false, v->store};
    struct outside_text given = {kind, what, str_of(text), NULL};
    return outside_take(&outside, &given, &v->arena, out, error);
}

/* ---- Commands ---- */

int run_view_put_command(const struct run_view *v, const struct command_row *given,
                         struct queued_command *out, struct cairn_error *error)
{
    struct command_row row = *given;
    uint64_t turn = 0;
    row.run = v->row.run;
    row.gen = v->row.gen;
    int rc = store_next_turn(v->store, row.run, &turn, error);
    if (!rc)
        rc = store_put_command(v->store, &row, error);
    if (rc)
        return rc;
    out->run = row.run;
    out->id = row.id;
    out->turn = turn;
    out->verb = row.verb;
    return 0;
}

int run_view_check_outputs(struct run_view *v, uint32_t task, struct cairn_error *error)
{
    struct asker asker = {&v->lookup, task, situation_attempts(&v->situation, task)};
    struct scope scope = lookup_scope(&asker);
    struct files files;
    struct stat st;
    int rc = files_begin(&files, &scope, false, error);
    if (rc)
        return rc;
    while ((rc = files_step(&files, error)) > 0)
        if (stat(files.path.data, &st) < 0) {
            rc = error_set(error, CAIRN_EUSAGE,
                           "task %s is not done: its output %s is not there (%s)",
                           v->workflow->graph.id[task], files.name.data,
                           files.path.data);
            break;
        }
    files_release(&files);
    return rc;
}
