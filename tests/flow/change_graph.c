/* SPDX-License-Identifier: MIT */
/* Changes of tasks, needs and groups. */
#include "change.h"

/* Then the file cannot lose it. */
static bool added_needs(const struct workflow *w, uint32_t target)
{
    bool needs = false;
    for (uint32_t i = 0; i < w->n_defs; i++)
        needs |=
            w->defs[i].added && !w->defs[i].removed && def_needs(&w->defs[i], target);
    return needs;
}

void change_need_added(struct making *m)
{
    struct def *def = picked(m, NULL);
    uint32_t index = (uint32_t)(def - m->w->defs);
    m->change->made = false;
    for (uint32_t i = 0; i < 10 && index && def->n_needs < NEEDS_MAX; i++) {
        uint32_t target = rng_below(m->rng, index);
        const struct def *other = &m->w->defs[target];
        if (other->removed || other->finally || def->finally ||
            def_needs(def, target) || other->added)
            continue;
        if (other->service && (def->when != WHEN_SUCCESS || other->port))
            continue; /* with a port, its file would be another one, too */
        def->element[def->n_needs] = false;
        def->soft[def->n_needs] = rng_one_in(m->rng, 3) && !other->service;
        def->order[def->n_needs] = rng_one_in(m->rng, 4) && !other->service;
        def->needs[def->n_needs++] = target;
        m->change->made = true;
        return;
    }
}

/* It was needed in one way, and is in the other. */
void change_need_soft(struct making *m)
{
    struct def *def = picked(m, has_needs);
    uint32_t i = def ? rng_below(m->rng, def->n_needs) : 0;
    m->change->made = def && def->needs[i] != def->input_of &&
                      def->needs[i] != def->args_of &&
                      !m->w->defs[def->needs[i]].service;
    if (m->change->made)
        def->soft[i] = !def->soft[i];
}

static void drop_need(struct def *def, uint32_t target)
{
    for (uint32_t i = 0; i < def->n_needs; i++) {
        if (def->needs[i] != target)
            continue;
        def->n_needs--;
        def->needs[i] = def->needs[def->n_needs];
        def->element[i] = def->element[def->n_needs];
        def->soft[i] = def->soft[def->n_needs];
        def->order[i] = def->order[def->n_needs];
        break;
    }
    if (def->condition_need == target && def->condition > COND_MEMBER)
        def->condition = COND_NONE;
    if (def->passed == target)
        def->passed = NONE;
    if (def->args_of == target)
        def->args_of = NONE;
    if (def->input_of == target) {
        def->input = false;
        def->input_of = NONE;
    }
    if (!def->n_needs)
        def->when = WHEN_SUCCESS;
}

void change_need_removed(struct making *m)
{
    struct def *def = picked(m, has_needs);
    if (def)
        drop_need(def, def->needs[rng_below(m->rng, def->n_needs)]);
}

void change_task_added(struct making *m)
{
    m->change->made = m->w->n_defs < DEFS_MAX;
    if (!m->change->made)
        return;
    struct def *def = workflow_add(m->w, m->rng);
    uint32_t target = pick(m, NULL), index = m->w->n_defs - 1;
    if (target != index && !m->w->defs[target].finally)
        def->needs[def->n_needs++] = target;
    def_decorate(m->w, index, m->rng);
}

/* The file stays as it is: no task of it may turn into the maker of a list. */
void change_added(struct making *m)
{
    struct workflow before = *m->w;
    uint32_t index = m->w->n_defs;
    m->change->which = index;
    m->change->made = index < DEFS_MAX;
    if (!m->change->made)
        return;
    struct def *def = workflow_add(m->w, m->rng);
    if (def->made) {
        *m->w = before;
        def = &m->w->defs[m->w->n_defs++];
        *def = (struct def){.version = 1,
                            .passed = NONE,
                            .input_of = NONE,
                            .list_of = NONE,
                            .args_of = NONE};
        snprintf(def->id, sizeof def->id, "t%u", index);
    }
    def->added = true;
    def_make_needs(m->w, index, m->rng);
    for (uint32_t i = 0; i < def->n_needs; i++)
        def->element[i] = false;
    def_decorate(m->w, index, m->rng);
}

/* One that no other one needs. */
void change_withdrawn(struct making *m)
{
    m->change->made = false;
    for (uint32_t i = m->w->n_defs; i-- > 0 && !m->change->made;) {
        struct def *def = &m->w->defs[i];
        m->change->which = i;
        m->change->made = def->added && !def->removed && !added_needs(m->w, i);
        def->removed |= m->change->made;
    }
}

void change_task_removed(struct making *m)
{
    struct def *def = picked(m, NULL);
    uint32_t left = 0, index = (uint32_t)(def - m->w->defs);
    for (uint32_t i = 0; i < m->w->n_defs; i++)
        left += !m->w->defs[i].removed && !m->w->defs[i].finally;
    m->change->made =
        left > 3 && !def_makes_list(m->w, def) && !added_needs(m->w, index);
    if (!m->change->made)
        return;
    def->removed = true;
    for (uint32_t i = 0; i < m->w->n_defs; i++)
        drop_need(&m->w->defs[i], index);
}

void change_name(struct making *m)
{
    struct def *def = picked(m, NULL);
    m->change->made = !added_needs(m->w, (uint32_t)(def - m->w->defs));
    if (!m->change->made)
        return;
    snprintf(def->id, sizeof def->id, "n%u_%u", (uint32_t)(def - m->w->defs),
             rng_below(m->rng, 100000));
}

static bool is_group(const struct def *def)
{
    return def->n_members > 0 && def->n_members < MEMBERS_MAX;
}

static void add_to_list(struct making *m, struct def *maker)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < maker->n_list; i++)
        most = maker->list[i] > most ? maker->list[i] : most;
    m->change->made = maker->n_list < MEMBERS_MAX;
    if (m->change->made)
        maker->list[maker->n_list++] = most + 1;
}

static void cut_list(struct making *m, struct def *maker)
{
    m->change->made = maker->n_list > 1;
    if (!m->change->made)
        return;
    uint32_t at = rng_below(m->rng, maker->n_list--);
    maker->list[at] = maker->list[maker->n_list];
}

void change_member_added(struct making *m)
{
    struct def *def = picked(m, is_group);
    uint32_t most = 0;
    if (def && def->made) {
        add_to_list(m, &m->w->defs[def->list_of]);
        return;
    }
    for (uint32_t i = 0; def && i < def->n_members; i++)
        most = def->member[i] > most ? def->member[i] : most;
    for (uint32_t i = 0; def && i < def->n_needs; i++)
        if (def->element[i])
            m->change->made = false; /* what it needs has no such member */
    if (m->change->made)
        def->member[def->n_members++] = most + 1;
}

static bool drop_member(struct def *def, uint32_t value)
{
    for (uint32_t i = 0; i < def->n_members; i++)
        if (def->member[i] == value) {
            def->n_members--;
            for (; i < def->n_members; i++)
                def->member[i] = def->member[i + 1];
            return def->n_members > 0;
        }
    return true;
}

/* Those that need that very member lose theirs, too. */
void change_member_removed(struct making *m)
{
    struct workflow *w = m->w, before = *w;
    bool loses[DEFS_MAX] = {false};
    uint32_t at = pick(m, is_group);
    m->change->made = at != NONE;
    if (at != NONE && w->defs[at].made)
        cut_list(m, &w->defs[w->defs[at].list_of]);
    if (at == NONE || w->defs[at].made)
        return;
    uint32_t value = w->defs[at].member[rng_below(m->rng, w->defs[at].n_members)];
    loses[at] = true;
    for (uint32_t i = 0; i < w->n_defs; i++) {
        struct def *def = &w->defs[i];
        for (uint32_t k = 0; k < def->n_needs; k++)
            loses[i] |= def->element[k] && loses[def->needs[k]];
        if (loses[i] && !def->removed && !drop_member(def, value))
            m->change->made = false;
    }
    if (!m->change->made)
        *w = before;
}

static bool has_members(const struct def *def)
{
    return def->n_members > 0;
}

/* One that stands for the cell of another member becomes 0 there. */
void change_cell(struct making *m)
{
    struct def *def = picked(m, has_members);
    for (int i = 0; i < 20 && def && !def_has_sheet(m->w, def); i++)
        def = picked(m, has_members);
    m->change->made = def && def_has_sheet(m->w, def);
    if (!m->change->made)
        return;
    def->told_member = def->member[rng_below(m->rng, def->n_members)];
    def->told++;
}
