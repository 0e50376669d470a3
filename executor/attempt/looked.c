/* SPDX-License-Identifier: MIT */
#include "executor/attempt/looked.h"

#include "executor/attempt/call.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/failure.h"
#include "executor/attempt/roles.h"
#include "executor/attempt/start.h"

static int outputs_looked(struct engine *e, struct job *job, int rc,
                          struct cairn_error *why, struct cairn_error *error)
{
    uint64_t ticket = job->stamp; /* the job may have another process afterwards */
    bool call = intent_is_call(e, &job->intent);
    struct ending *ending = turn_draft_ending(e, &job->intent, error);
    if (!ending)
        return CAIRN_ENOMEM;
    *ending = job->held;
    ending->reading_ms = job->reading_ns / 1000000;
    job->has_held = false;
    rc = call ? call_looked(e, job, ending, rc, why)
              : role_ops[job->role].looked(e, job, ending, rc, why);
    failure_check_settled(e);
    if (!call)
        let_next_start(e, ticket);
    return rc ? error_set(error, rc, "%s", why->text) : 0;
}

/* `failed`: the run is given up. */
static int job_looked(struct engine *e, struct look *look, int failed,
                      struct cairn_error *error)
{
    struct job *job = &e->jobs.at[look->slot];
    struct cairn_error why;
    bool inputs = job->awaits_inputs;
    int rc = looks_finish(e, job, look, &why);
    if (failed)
        return failed;
    return inputs ? start_after_look(e, job, rc, why.text, error)
                  : outputs_looked(e, job, rc, &why, error);
}

int looks_settle(struct engine *e, struct cairn_error *error)
{
    struct look *look = looks_collect(e);
    int rc = 0;
    while (look) {
        struct look *next = look->next;
        if (look->slot == LOOK_OF_COMMAND)
            looks_command_ready(e); /* commands_apply asks for it */
        else
            rc = job_looked(e, look, rc, error);
        look = next;
    }
    return rc;
}
