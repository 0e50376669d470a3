/* SPDX-License-Identifier: MIT */
/* What has changed for a task between two models: an opinion of its own on what a
 * fingerprint holds. */
#include "compare.h"

static uint32_t taken_params(const struct workflow *w, const struct def *def)
{
    return def->own_params ? def->own_params : (1u << w->n_params) - 1;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* One need, so that equal texts mean the same: id, and values of a whole group. */
static void need_identity(const struct workflow *w, const struct def *def, uint32_t i,
                          bool members, char text[FIELD_SIZE])
{
    const struct def *need = &w->defs[def->needs[i]];
    uint32_t values[MEMBERS_MAX];
    int n = snprintf(text, FIELD_SIZE, "%s%s", need->id, def->element[i] ? "[]" : "");
    if (def->element[i] || !members)
        return;
    memcpy(values, need->member, sizeof values);
    qsort(values, need->n_members, sizeof values[0], by_number);
    for (uint32_t k = 0; k < need->n_members; k++)
        n += snprintf(text + n, FIELD_SIZE - (size_t)n, ",%u", values[k]);
}

struct identities {
    char text[2 * NEEDS_MAX][FIELD_SIZE];
    uint32_t n;
};

static bool def_needs_fully(const struct def *def, uint32_t target)
{
    bool found = false;
    for (uint32_t i = 0; i < def->n_needs; i++)
        found |= def->needs[i] == target && !def->order[i];
    return found;
}

/* Those for more than the order; who needs a group needs the maker of its list. */
static void identify_needs(const struct workflow *w, const struct def *def,
                           bool members, struct identities *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct def *need = &w->defs[def->needs[i]];
        if (def->order[i] || need->service)
            continue;
        need_identity(w, def, i, members, out->text[out->n++]);
        if (need->made && !def_needs_fully(def, need->list_of) &&
            !(def->made && def->list_of == need->list_of))
            snprintf(out->text[out->n++], FIELD_SIZE, "%s", w->defs[need->list_of].id);
    }
}

/* Is every one of `a` one of `b`? */
static bool is_within(const struct identities *a, const struct identities *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < b->n && !found; k++)
            found = strcmp(a->text[i], b->text[k]) == 0;
        if (!found)
            return false;
    }
    return true;
}

static bool same_needs(const struct workflow *wa, const struct def *a,
                       const struct workflow *wb, const struct def *b, bool members)
{
    static struct identities ia, ib;
    identify_needs(wa, a, members, &ia);
    identify_needs(wb, b, members, &ib);
    return is_within(&ia, &ib) && is_within(&ib, &ia);
}

void compare_task(const struct workflow *old, const struct workflow *now,
                  const struct task *task, struct difference *d)
{
    struct tasks before;
    workflow_tasks(old, &before);
    *d = (struct difference){.added = tasks_find(&before, task->id) == NONE};
    const struct def *a = &old->defs[task->def], *b = &now->defs[task->def];
    for (uint32_t i = 0; i < FIELDS && !d->added; i++) {
        char was[FIELD_SIZE], is[FIELD_SIZE];
        field_text(old, task->def, (enum field)i, was);
        field_text(now, task->def, (enum field)i, is);
        d->field[i] = i == FIELD_NEEDS    ? !same_needs(old, a, now, b, false)
                      : i == FIELD_PARAMS ? taken_params(old, a) != taken_params(now, b)
                                          : strcmp(was, is) != 0;
        d->any |= d->field[i];
    }
    if (!d->added && old->env != now->env)
        d->any = d->field[FIELD_ENV] = true;
    d->members =
        !d->added && !d->field[FIELD_NEEDS] && !same_needs(old, a, now, b, true);
    d->column = !d->added && def_has_sheet(now, b) &&
                def_cell(a, task->member) != def_cell(b, task->member);
    d->any |= d->added || d->members || d->column;
}

const char *field_name(enum field field)
{
    static const char *const names[FIELDS] = {
        "command", "command",   "until",    "shell", "env",  "outputs",
        "inputs",  "depfile",   "param",    "if",    "when", "check",
        "secrets", "skip_exit", "fallback", "needs"};
    return names[field];
}
