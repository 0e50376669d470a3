/* SPDX-License-Identifier: MIT */
#include "plan/open_run_view.h"

#include "runs/outputs.h"
#include "runs/owner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Looking ---- */

/* To somebody outside, what a live owner runs is only pending. */
static int take_states(struct outside *o, struct cairn_error *error)
{
    return o->live ? states_copy(&o->states, &o->situation.present.states, error)
                   : situation_states(&o->situation, o->workflow, &o->states, error);
}

static int look(struct outside *o, struct cairn_error *error)
{
    const struct graph *g = &o->workflow->graph;
    int rc = situation_load_as_is(&o->situation, o->workflow, o->store, o->row.run,
                                  NULL, error);
    if (rc)
        return rc;
    o->loaded = true;
    rc = take_states(o, error);
    if (!rc)
        rc = sched_init(&o->sched, g, o->states.outcome, NULL, NULL, error);
    o->lookup = (struct lookup){
        .graph = g, .states = &o->states, .store = o->store, .run = o->row.run};
    return rc;
}

int outside_open(struct outside *o, struct cairn_store *store, uint64_t run,
                 struct cairn_error *error)
{
    *o = (struct outside){.store = store};
    int rc = run_row_get(&o->row, store, run, &o->arena, error);
    if (!rc)
        rc = workflow_stored(&o->workflow, store, &o->row, error);
    int live = rc ? 0 : run_live(store, &o->row, error);
    if (live < 0)
        rc = live;
    o->live = live > 0;
    if (!rc)
        rc = look(o, error);
    if (rc)
        outside_release(o);
    return rc;
}

void outside_release(struct outside *o)
{
    lookup_release(&o->lookup);
    if (o->sched.graph)
        sched_release(&o->sched);
    states_release(&o->states);
    if (o->loaded)
        situation_release(&o->situation);
    cairn_workflow_free(o->workflow);
    arena_release(&o->arena);
    *o = (struct outside){0};
}

int outside_find(const struct outside *o, const char *id, uint32_t *task,
                 struct cairn_error *error)
{
    uint32_t found = id ? graph_find(&o->workflow->graph, str_of(id)) : NODE_NONE;
    if (found == NODE_NONE)
        return error_set(error, CAIRN_ENOTFOUND,
                         "run %llu has no task `%s`; `cairn status %llu --tasks` lists "
                         "them",
                         (unsigned long long)o->row.run, id ? id : "",
                         (unsigned long long)o->row.run);
    *task = found;
    return 0;
}

uint32_t outside_attempts(const struct outside *o, uint32_t task)
{
    const struct situation *s = &o->situation;
    uint32_t old = s->present.old_task[task];
    return old != NODE_NONE && s->recorded.last_attempt ? s->recorded.last_attempt[old]
                                                        : 0;
}

int outside_offers(struct outside *o, uint32_t task, bool *offered,
                   struct cairn_error *error)
{
    struct asker asker = {&o->lookup, task, outside_attempts(o, task) + 1};
    struct scope scope = lookup_scope(&asker);
    struct cairn_error why = {0};
    bool holds = true;
    *offered = false;
    if (scope.def->kind != TASK_EXTERNAL || o->sched.state[task] != READY)
        return 0;
    int rc = scope.def->condition.len ? condition_holds(&scope, &holds, &why) : 0;
    if (rc && rc != CAIRN_EWORKFLOW && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    *offered = !rc && holds; /* else the run's owner will make it fail */
    return 0;
}

int outside_pending(const struct outside *o, uint32_t task, uint8_t verb, bool *pending,
                    struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct command_row row = {0};
    int rc = 0;
    *pending = false;
    do {
        struct cairn_error why = {0};
        buf_clear(&data);
        rc = store_next_command(o->store, o->row.run, row.id, &row, &data, &why);
        if (rc == CAIRN_EDAMAGED && row.id) {
            rc = 0; /* nobody will carry it out */
            continue;
        }
        if (rc)
            error_set(error, rc, "%s", why.text);
        bool meant = verb ? row.verb == verb
                          : row.verb == COMMAND_COMPLETE || row.verb == COMMAND_FAIL;
        *pending = !rc && row.id && meant && row.gen == o->row.gen && row.task == task;
    } while (!rc && row.id && !*pending);
    buf_release(&data);
    return rc;
}

void outside_redact(const struct outside *o, struct str text, struct buf *out)
{
    redact_text(o->situation.secrets.redactor, text, out);
}

/* ---- Commands ---- */

int outside_put(const struct outside *o, const struct command_row *given,
                struct outside_command *out, struct cairn_error *error)
{
    struct command_row row = *given;
    uint64_t turn = 0;
    row.run = o->row.run;
    row.gen = o->row.gen;
    int rc = store_next_turn(o->store, row.run, &turn, error);
    if (!rc)
        rc = store_put_command(o->store, &row, error);
    if (rc)
        return rc;
    out->run = row.run;
    out->id = row.id;
    out->turn = turn;
    out->verb = row.verb;
    return 0;
}

int outside_check_outputs(struct outside *o, uint32_t task, struct cairn_error *error)
{
    struct asker asker = {&o->lookup, task, outside_attempts(o, task)};
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
                           o->workflow->graph.id[task], files.name.data,
                           files.path.data);
            break;
        }
    files_release(&files);
    return rc;
}
