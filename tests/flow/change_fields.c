/* SPDX-License-Identifier: MIT */
/* Changes of the fields of one task, and of all. */
#include "change.h"

void change_command(struct making *m)
{
    picked(m, NULL)->version++;
}

static bool has_shell(const struct def *def)
{
    return !def->exec;
}

void change_shell(struct making *m)
{
    struct def *def = picked(m, has_shell);
    if (def)
        def->shell = def->shell == 1 ? 2 : 1;
}

static bool has_env(const struct def *def)
{
    return def->env > 0;
}

void change_env(struct making *m)
{
    struct def *def = picked(m, has_env);
    if (def)
        def->env++;
}

void change_env_more(struct making *m)
{
    picked(m, NULL)->env_more++;
}

void change_env_everywhere(struct making *m)
{
    m->w->env++;
}

static bool free_of_params(const struct def *def)
{
    return def->condition != COND_PARAM;
}

void change_own_params(struct making *m)
{
    struct def *def = picked(m, free_of_params);
    uint32_t all = (1u << m->w->n_params) - 1;
    if (def)
        def->own_params = def->own_params == all || !def->own_params ? 1 : all;
    m->change->made = def && all > 1;
}

void change_param_added(struct making *m)
{
    m->change->made = m->w->n_params < PARAMS_MAX;
    if (m->change->made)
        m->w->param[m->w->n_params++] = 7;
}

static bool has_condition(const struct def *def)
{
    return def->condition != COND_NONE;
}

void change_if(struct making *m)
{
    struct def *def = picked(m, has_condition);
    if (def && def->condition == COND_STATUS)
        def->condition_value = !def->condition_value;
    else if (def)
        def->condition_value = (def->condition_value + 1) % 3;
}

bool has_needs(const struct def *def)
{
    return def->n_needs > 0;
}

void change_when(struct making *m)
{
    struct def *def = m->w->plain ? NULL : picked(m, has_needs);
    m->change->made =
        def && !def->made && def->args_of == NONE && !def_needs_service(m->w, def);
    if (m->change->made)
        def->when = (enum when)((def->when + 1 + rng_below(m->rng, 2)) % 3);
}

static bool has_failed(const struct def *def)
{
    return def->fails || def->gate == GATE_BAD;
}

void change_may_fail(struct making *m)
{
    struct def *def = picked(m, rng_one_in(m->rng, 4) ? NULL : has_failed);
    if (def)
        def->may_fail = !def->may_fail;
}

static bool has_skip(const struct def *def)
{
    return def->skip_exit;
}

void change_skip_exit(struct making *m)
{
    struct def *def =
        m->w->plain ? NULL : picked(m, rng_one_in(m->rng, 3) ? NULL : has_skip);
    m->change->made = def != NULL;
    if (def)
        def->skip_exit = !def->skip_exit;
}

static bool has_fallback(const struct def *def)
{
    return def->fallback;
}

void change_fallback(struct making *m)
{
    struct def *def = picked(m, rng_one_in(m->rng, 2) ? NULL : has_fallback);
    if (def)
        def->fallback = def->fallback && rng_one_in(m->rng, 2) ? 0 : def->fallback + 1;
}

static bool has_gate(const struct def *def)
{
    return def->gate != GATE_NONE;
}

void change_gate(struct making *m)
{
    struct def *def = picked(m, has_gate);
    if (def)
        def->gate_version++;
}

void change_secrets(struct making *m)
{
    struct def *def = picked(m, NULL);
    def->secrets = (def->secrets + 1 + rng_below(m->rng, 3)) % 4;
}

void change_outputs(struct making *m)
{
    struct def *def = picked(m, NULL);
    uint32_t index = (uint32_t)(def - m->w->defs);
    for (uint32_t i = 0; i < m->w->n_defs; i++)
        if (!m->w->defs[i].removed &&
            (m->w->defs[i].input_of == index || m->w->defs[i].args_of == index))
            m->change->made = false;
    def->disturbed |= m->change->made;
    if (m->change->made)
        def->output = !def->output;
}

static bool has_no_input(const struct def *def)
{
    return !def->input;
}

void change_depfile(struct making *m)
{
    struct def *def = picked(m, has_no_input);
    if (def)
        def->depfile = !def->depfile;
}

static bool has_no_depfile(const struct def *def)
{
    return !def->depfile;
}

void change_inputs(struct making *m)
{
    struct def *def = picked(m, has_no_depfile);
    if (!def)
        return;
    def->input = !def->input;
    def->input_of = NONE;
}

static bool may_have_args(const struct def *def)
{
    return !def->exec;
}

void change_args(struct making *m)
{
    struct def *def = picked(m, may_have_args);
    if (def)
        def->args++;
}

static bool has_rounds(const struct def *def)
{
    return def->rounds;
}

void change_until(struct making *m)
{
    struct def *def = picked(m, has_rounds);
    if (def)
        def->rounds++;
}

/* A service is never done, so that an edit of it runs nothing. */
static bool is_service(const struct def *def)
{
    return def->service && !def->added;
}

void change_service(struct making *m)
{
    struct def *def = picked_any(m, is_service);
    if (!def)
        return;
    if (rng_one_in(m->rng, 2))
        def->version++;
    else if (rng_one_in(m->rng, 2))
        def->env_more++;
    else
        def->restart++;
}
