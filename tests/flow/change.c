/* SPDX-License-Identifier: MIT */
/* The kinds of change that are made between two sessions: the table. */
#include "change.h"

static uint32_t pick_any(const struct making *m, bool (*fits)(const struct def *))
{
    uint32_t first = rng_below(m->rng, m->w->n_defs);
    for (uint32_t i = 0; i < m->w->n_defs; i++) {
        uint32_t at = (first + i) % m->w->n_defs;
        const struct def *def = &m->w->defs[at];
        if (!def->removed && fits(def))
            return at;
    }
    return NONE;
}

/* In the file, and no service: these cannot have most of what is changed. */
uint32_t pick(const struct making *m, bool (*fits)(const struct def *))
{
    uint32_t first = rng_below(m->rng, m->w->n_defs);
    for (uint32_t i = 0; i < m->w->n_defs; i++) {
        uint32_t at = (first + i) % m->w->n_defs;
        const struct def *def = &m->w->defs[at];
        if (!def->removed && !def->added && !def->service && (!fits || fits(def)))
            return at;
    }
    return NONE;
}

struct def *picked_any(const struct making *m, bool (*fits)(const struct def *))
{
    uint32_t at = pick_any(m, fits);
    m->change->made = at != NONE;
    return at == NONE ? NULL : &m->w->defs[at];
}

struct def *picked(const struct making *m, bool (*fits)(const struct def *))
{
    uint32_t at = pick(m, fits);
    m->change->made = at != NONE;
    return at == NONE ? NULL : &m->w->defs[at];
}

/* ---- Several ---- */

static void change_several(struct making *m)
{
    static void (*const some[])(struct making *) = {
        change_command,    change_env_more,     change_need_added, change_need_removed,
        change_task_added, change_task_removed, change_name,       change_if,
        change_secrets,    change_own_params,   change_gate,       change_when,
        change_need_soft,  change_may_fail,     change_skip_exit,  change_fallback};
    uint32_t n = sizeof some / sizeof some[0];
    for (uint32_t i = 2 + rng_below(m->rng, 3); i-- > 0;)
        some[rng_below(m->rng, n)](m);
    m->change->made = true;
}

/* ---- The table ---- */

static const struct kind {
    const char *name;
    void (*make)(struct making *);
    enum effect effect;
    const char *option;
} kinds[] = {
    {"nothing", change_nothing, EFFECT_TUNING, NULL},
    {"command", change_command, EFFECT_DEFINITION, NULL},
    {"shell", change_shell, EFFECT_DEFINITION, NULL},
    {"env value", change_env, EFFECT_DEFINITION, NULL},
    {"env added", change_env_more, EFFECT_DEFINITION, NULL},
    {"workflow env", change_env_everywhere, EFFECT_DEFINITION, NULL},
    {"params of a task", change_own_params, EFFECT_DEFINITION, NULL},
    {"param added", change_param_added, EFFECT_DEFINITION, NULL},
    {"if", change_if, EFFECT_DEFINITION, NULL},
    {"when", change_when, EFFECT_DEFINITION, NULL},
    {"check", change_gate, EFFECT_DEFINITION, NULL},
    {"secrets of a task", change_secrets, EFFECT_DEFINITION, NULL},
    {"outputs", change_outputs, EFFECT_DEFINITION, NULL},
    {"inputs", change_inputs, EFFECT_DEFINITION, NULL},
    {"depfile", change_depfile, EFFECT_DEFINITION, NULL},
    {"args", change_args, EFFECT_DEFINITION, NULL},
    {"until", change_until, EFFECT_DEFINITION, NULL},
    {"added to the run", change_added, EFFECT_ADDED, NULL},
    {"added to the run, too", change_added, EFFECT_ADDED, NULL},
    {"withdrawn", change_withdrawn, EFFECT_WITHDRAWN, NULL},
    {"need added", change_need_added, EFFECT_DEFINITION, NULL},
    {"need removed", change_need_removed, EFFECT_DEFINITION, NULL},
    {"need soft or not", change_need_soft, EFFECT_DEFINITION, NULL},
    {"may fail or not", change_may_fail, EFFECT_DEFINITION, NULL},
    {"skip_exit", change_skip_exit, EFFECT_DEFINITION, NULL},
    {"fallback", change_fallback, EFFECT_DEFINITION, NULL},
    {"task added", change_task_added, EFFECT_DEFINITION, NULL},
    {"task removed", change_task_removed, EFFECT_DEFINITION, NULL},
    {"task renamed", change_name, EFFECT_DEFINITION, NULL},
    {"member added", change_member_added, EFFECT_DEFINITION, NULL},
    {"member removed", change_member_removed, EFFECT_DEFINITION, NULL},
    {"cell of a sheet", change_cell, EFFECT_DEFINITION, NULL},
    {"several", change_several, EFFECT_DEFINITION, NULL},
    {"output deleted", change_output_deleted, EFFECT_WORLD, NULL},
    {"output content", change_output_content, EFFECT_WORLD, NULL},
    {"output content, read", change_output_content, EFFECT_WORLD,
     "--check-outputs=content"},
    {"output touched", change_output_touched, EFFECT_TUNING, NULL},
    {"input content", change_input_content, EFFECT_WORLD, NULL},
    {"secret value", change_secret, EFFECT_WORLD, NULL},
    {"input touched", change_input_touched, EFFECT_TUNING, NULL},
    {"timeout", change_timeout, EFFECT_TUNING, NULL},
    {"retries", change_retries, EFFECT_TUNING, NULL},
    {"pool", change_pool, EFFECT_TUNING, NULL},
    {"places in pools", change_places, EFFECT_TUNING, NULL},
    {"slots", change_slots, EFFECT_TUNING, NULL},
    {"memory", change_memory, EFFECT_TUNING, NULL},
    {"pool of the store or not", change_scope, EFFECT_TUNING, NULL},
    {"artifacts", change_artifacts, EFFECT_TUNING, NULL},
    {"pool limit", change_pool_limit, EFFECT_TUNING, NULL},
    {"priority", change_priority, EFFECT_TUNING, NULL},
    {"jobs", change_jobs, EFFECT_TUNING, NULL},
    {"comment", change_comments, EFFECT_TUNING, NULL},
    {"cell that none names", change_note, EFFECT_TUNING, NULL},
    {"order", change_order, EFFECT_TUNING, NULL},
    {"undo", change_undo, EFFECT_TUNING, NULL},
    {"param default", change_param, EFFECT_TUNING, NULL},
    {"service", change_service, EFFECT_TUNING, NULL},
    {"service, too", change_service, EFFECT_TUNING, NULL},
    {"rounds", change_rounds_more, EFFECT_TUNING, NULL},
    {"again", change_again, EFFECT_TUNING, NULL},
    {"stale", change_stale, EFFECT_TUNING, NULL},
    {"member removed, too", change_member_removed, EFFECT_DEFINITION, NULL},
    {"param default, run", change_param_run, EFFECT_NEW_RUN, NULL},
};

uint32_t change_kinds(void)
{
    return (uint32_t)(sizeof kinds / sizeof kinds[0]);
}

void change_make(struct change *change, uint32_t kind, struct workflow *w,
                 struct rng *rng, const char *dir)
{
    struct making making = {change, w, rng, dir};
    *change = (struct change){.name = kinds[kind].name,
                              .option = kinds[kind].option,
                              .effect = kinds[kind].effect,
                              .made = true};
    kinds[kind].make(&making);
}
