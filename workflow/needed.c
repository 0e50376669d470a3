/* SPDX-License-Identifier: MIT */
/* A search in depth through the needs of all tasks makes a forest: whatever stands
 * below a task in its tree is needed by it, and the numbers in which the search left
 * the tasks tell that without looking at anything between (a chain is one such path).
 * For other targets each task gets a set of bits, the union of those of the tasks that
 * it needs, in the order in which the search left them; so needs come first, and one
 * pass is enough unless there is a circle. */
#include "workflow/needed_int.h"

#include <string.h>

enum { WORDS = NEEDED_TOGETHER / 64 };

struct target_set {
    uint64_t words[WORDS];
};

/* 0: the search has not come here yet; OPEN: what it needs is being looked at. */
enum { OPEN = UINT32_MAX };

struct needed {
    const struct task_def *defs;
    uint32_t n;
    /* The forest. */
    uint32_t *left;  /* [n] the how-manieth that the search left, from 1 */
    uint32_t *below; /* [n] the first that was left below it, or itself */
    uint32_t *order; /* [n] as they were left */
    bool *whole;     /* [n] in its tree it is needed as a whole */
    bool circle;
    /* What is asked for. */
    struct target_set *sets; /* [n] */
    uint32_t *place;         /* [n] of a target among the bits, plus 1; 0: not asked */
    uint32_t asked[NEEDED_TOGETHER];
    uint32_t n_asked;
    bool found;
    /* The direct needs of one task. */
    uint32_t def;
    struct direct_need *direct; /* [n] */
};

/* ---- The forest ---- */

struct step { /* of the search: a task, and which of its needs is next */
    uint32_t def, need;
};

static void leave_task(struct needed *s, uint32_t def, uint32_t *n_left)
{
    s->order[(*n_left)++] = def;
    s->left[def] = *n_left;
}

static void search_from(struct needed *s, uint32_t root, struct step *path,
                        uint32_t *n_left)
{
    uint32_t depth = 0;
    path[depth++] = (struct step){root, 0};
    s->left[root] = OPEN;
    s->below[root] = *n_left + 1;
    while (depth) {
        struct step *top = &path[depth - 1];
        const struct task_def *def = &s->defs[top->def];
        if (top->need == def->n_needs) {
            leave_task(s, top->def, n_left);
            depth--;
            continue;
        }
        const struct need *need = &def->needs[top->need++];
        s->circle |= s->left[need->target] == OPEN;
        if (s->left[need->target])
            continue;
        s->left[need->target] = OPEN;
        s->below[need->target] = *n_left + 1;
        s->whole[need->target] = !need->bindings;
        path[depth++] = (struct step){need->target, 0};
    }
}

/* From the last task on: it usually needs those above it. */
static void search_all(struct needed *s, struct step *path)
{
    uint32_t n_left = 0;
    for (uint32_t i = s->n; i-- > 0;)
        if (!s->left[i])
            search_from(s, i, path, &n_left);
}

struct needed *needed_new(struct parser *p)
{
    struct arena *arena = &p->scratch;
    uint32_t n = p->out->n_defs;
    struct needed *s = arena_take(arena, 1, sizeof *s);
    struct step *path = arena_take(arena, n, sizeof *path);
    if (!s || !path)
        return NULL;
    s->defs = p->out->defs;
    s->n = n;
    s->def = UINT32_MAX;
    s->left = arena_take(arena, n, sizeof *s->left);
    s->below = arena_take(arena, n, sizeof *s->below);
    s->order = arena_take(arena, n, sizeof *s->order);
    s->whole = arena_take(arena, n, sizeof *s->whole);
    s->sets = arena_take(arena, n, sizeof *s->sets);
    s->place = arena_take(arena, n, sizeof *s->place);
    s->direct = arena_take(arena, n, sizeof *s->direct);
    if (!s->left || !s->below || !s->order || !s->whole || !s->sets || !s->place ||
        !s->direct)
        return NULL;
    search_all(s, path);
    return s;
}

bool needed_surely(const struct needed *s, uint32_t def, uint32_t target)
{
    return s->whole[target] && s->below[def] <= s->left[target] &&
           s->left[target] < s->left[def];
}

/* ---- Direct needs ---- */

struct direct_need needed_directly(struct needed *s, uint32_t def, uint32_t target)
{
    if (s->def == def)
        return s->direct[target];
    for (uint32_t i = 0; s->def != UINT32_MAX && i < s->defs[s->def].n_needs; i++)
        s->direct[s->defs[s->def].needs[i].target] = (struct direct_need){0};
    s->def = def;
    for (uint32_t i = 0; i < s->defs[def].n_needs; i++) {
        const struct need *need = &s->defs[def].needs[i];
        s->direct[need->target].whole |= !need->bindings;
        s->direct[need->target].part |= need->open != 0;
        s->direct[need->target].members += need->bindings != NULL;
    }
    return s->direct[target];
}

/* ---- Many targets together ---- */

static void forget_asked(struct needed *s)
{
    for (uint32_t i = 0; i < s->n_asked; i++)
        s->place[s->asked[i]] = 0;
    s->n_asked = 0;
    s->found = false;
}

bool needed_ask(struct needed *s, uint32_t target)
{
    if (s->found)
        forget_asked(s);
    if (s->place[target])
        return true;
    if (s->n_asked == NEEDED_TOGETHER)
        return false;
    s->asked[s->n_asked++] = target;
    s->place[target] = s->n_asked;
    return true;
}

static bool add_needs(struct needed *s, uint32_t def)
{
    struct target_set set = s->sets[def];
    for (uint32_t i = 0; i < s->defs[def].n_needs; i++) {
        const struct need *need = &s->defs[def].needs[i];
        uint32_t bit = s->place[need->target] - 1;
        for (int w = 0; w < WORDS; w++)
            set.words[w] |= s->sets[need->target].words[w];
        if (s->place[need->target] && !need->bindings)
            set.words[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    bool grown = memcmp(&set, &s->sets[def], sizeof set) != 0;
    s->sets[def] = set;
    return grown;
}

void needed_find(struct needed *s)
{
    bool again = true;
    memset(s->sets, 0, s->n * sizeof *s->sets);
    while (again) {
        bool grown = false;
        for (uint32_t i = 0; i < s->n; i++)
            grown |= add_needs(s, s->order[i]);
        again = grown && s->circle;
    }
    s->found = true;
}

bool needed_found(const struct needed *s, uint32_t def, uint32_t target)
{
    uint32_t bit = s->place[target] - 1;
    return s->sets[def].words[bit / 64] >> bit % 64 & 1;
}
