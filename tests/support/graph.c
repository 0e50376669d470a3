/* SPDX-License-Identifier: MIT */
#include "tests/support/graph.h"

void help_begin(struct definition *d)
{
    definition_init(d);
    d->name = STR("test");
    d->file = STR("/w/test.yaml");
    d->root = STR("/w");
}

struct str help_str(struct definition *d, const char *text)
{
    return arena_str(&d->arena, str_of(text));
}

struct task_def *help_task(struct definition *d, const char *id)
{
    if (d->n_defs == d->defs_capacity) {
        size_t capacity = d->defs_capacity ? 2 * d->defs_capacity : 16;
        struct task_def *defs = arena_take(&d->arena, capacity, sizeof *defs);
        ck_assert_ptr_nonnull(defs);
        if (d->n_defs)
            memcpy(defs, d->defs, d->n_defs * sizeof *defs);
        d->defs = defs;
        d->defs_capacity = capacity;
    }
    struct task_def *def = &d->defs[d->n_defs];
    *def = (struct task_def){.id = help_str(d, id),
                             .kind = TASK_RUN,
                             .run = STR("true"),
                             .cwd = STR(""),
                             .version = STR(""),
                             .members = 1,
                             .retry = {.factor_permille = 1000},
                             .at = {d->n_defs + 1, 1}};
    ck_assert_int_eq(map_add(&d->by_id, def->id, d->n_defs, NULL), 1);
    d->n_defs++;
    return def;
}

void help_value(struct definition *d, struct task_def *def, const char *name,
                const char *value)
{
    enum { KEYS = 8, VALUES = 64 };
    uint32_t k = 0;
    if (!def->foreach)
        def->foreach = arena_take(&d->arena, KEYS, sizeof *def->foreach);
    while (k < def->n_foreach && !str_equal(def->foreach[k].name, str_of(name)))
        k++;
    struct foreach_key *key = &def->foreach[k];
    if (k == def->n_foreach) {
        def->n_foreach++;
        key->name = help_str(d, name);
        key->source = FOREACH_LIST;
        key->spec = STR("");
        key->values = arena_take(&d->arena, VALUES, sizeof *key->values);
    }
    ck_assert_uint_lt(key->n, VALUES);
    if (value)
        key->values[key->n++] = help_str(d, value);
}

struct need *help_need(struct definition *d, struct task_def *def, uint32_t target,
                       const char *text)
{
    uint32_t n = def->n_needs;
    if ((n & (n - 1)) == 0) { /* room doubles at 0, 1, 2, 4, ... */
        struct need *needs =
            arena_take(&d->arena, n ? 2 * (size_t)n : 1, sizeof *needs);
        ck_assert_ptr_nonnull(needs);
        if (n)
            memcpy(needs, def->needs, n * sizeof *needs);
        def->needs = needs;
    }
    struct need *need = &def->needs[def->n_needs++];
    *need = (struct need){.text = help_str(d, text), .target = target, .at = def->at};
    return need;
}

void help_finish(struct definition *d)
{
    for (uint32_t i = 0; i < d->n_defs; i++)
        ck_assert_int_eq(task_def_finish(d, &d->defs[i], NULL), 0);
    ck_assert(!d->arena.failed);
}

enum { POOLS = 16 };

uint32_t help_pool(struct definition *d, const char *name)
{
    uint32_t p = 0;
    if (!d->pools)
        d->pools = arena_take(&d->arena, POOLS, sizeof *d->pools);
    while (p < d->n_pools && !str_equal(d->pools[p].name, str_of(name)))
        p++;
    if (p == d->n_pools)
        d->pools[d->n_pools++] = (struct pool){help_str(d, name), 1, false};
    return p;
}

void help_use(struct definition *d, struct task_def *def, uint32_t pool,
              uint32_t places)
{
    uint32_t at = def->n_pools;
    if (!def->pools)
        def->pools = arena_take(&d->arena, POOLS, sizeof *def->pools);
    for (uint32_t i = 0; i < def->n_pools; i++)
        if (def->pools[i].pool == pool)
            return;
    for (; at > 0 && def->pools[at - 1].pool > pool; at--)
        def->pools[at] = def->pools[at - 1];
    def->pools[at] = (struct pool_use){pool, places};
    def->n_pools++;
}

char *help_part(char **text, const char *separators)
{
    char *part = strsep(text, separators);
    while (part && !*part)
        part = strsep(text, separators);
    return part;
}

void help_property(struct definition *d, struct task_def *def, char *word)
{
    char *value = strchr(word, '=');
    ck_assert_ptr_nonnull(value);
    *value++ = 0;
    char *places = strchr(value, ':');
    if (strcmp(word, "@pool") == 0) {
        if (places)
            *places++ = 0;
        uint32_t pool = help_pool(d, value);
        uint32_t n = places ? (uint32_t)strtoul(places, NULL, 10) : 1;
        if (d->pools[pool].limit < n)
            d->pools[pool].limit = n;
        help_use(d, def, pool, n);
    } else if (strcmp(word, "@slots") == 0)
        def->slots = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(word, "@priority") == 0)
        def->priority = (int32_t)strtol(value, NULL, 10);
    else {
        help_value(d, def, word, NULL);
        for (char *part; (part = help_part(&value, ",")) != NULL;)
            help_value(d, def, word, part);
    }
}

void help_bind(struct definition *d, struct need *need, char *text)
{
    enum { KEYS = 8 };
    need->bindings = arena_take(&d->arena, KEYS, sizeof *need->bindings);
    for (char *part; (part = help_part(&text, ",]")) != NULL;) {
        char *value = strchr(part, '=');
        ck_assert_ptr_nonnull(value);
        *value++ = 0;
        need->bindings[need->n_bindings++] =
            (struct key_value){help_str(d, part), help_str(d, value)};
    }
}

/* The keys of the target that have no binding. */
static void help_open(struct definition *d, struct need *need)
{
    const struct task_def *target = &d->defs[need->target];
    struct key_value *given = need->bindings;
    need->bindings = arena_take(&d->arena, target->n_foreach, sizeof *given);
    for (uint32_t k = 0; k < target->n_foreach; k++) {
        struct key_value *binding = &need->bindings[k];
        *binding = (struct key_value){target->foreach[k].name, STR("")};
        need->open |= (uint8_t)(1U << k);
        for (uint32_t i = 0; i < need->n_bindings; i++)
            if (str_equal(given[i].key, binding->key)) {
                *binding = given[i];
                need->open &= (uint8_t) ~(1U << k);
            }
    }
    need->n_bindings = target->n_foreach;
}

void help_read_need(struct definition *d, struct task_def *def, char *word)
{
    struct need *need = help_need(d, def, 0, word);
    char *bracket = strchr(word, '[');
    if (bracket)
        *bracket++ = 0;
    need->target = map_get(&d->by_id, str_of(word));
    ck_assert_msg(need->target != MAP_NONE, "no task %s", word);
    if (bracket)
        help_bind(d, need, bracket);
    if (bracket && need->n_bindings < d->defs[need->target].n_foreach)
        help_open(d, need);
}

void help_define(struct definition *d, const char *text)
{
    help_begin(d);
    for (int round = 0; round < 2; round++) {
        char *copy = strdup(text), *rest = copy, *line;
        uint32_t index = 0;
        while ((line = help_part(&rest, "\n")) != NULL) {
            char *word = help_part(&line, " ");
            if (!word)
                continue;
            struct task_def *def = round ? &d->defs[index++] : help_task(d, word);
            bool needs = false;
            while ((word = help_part(&line, " ")) != NULL) {
                if (strcmp(word, ":") == 0)
                    needs = true;
                else if (needs && round)
                    help_read_need(d, def, word);
                else if (!needs && !round)
                    help_property(d, def, word);
            }
        }
        free(copy);
    }
    help_finish(d);
}

void help_build(struct graph *g, struct definition *d, const char *text)
{
    struct cairn_error error = {0};
    help_define(d, text);
    int result = graph_build(g, d, &error);
    ck_assert_msg(result == 0, "%s", error.text);
}

void help_drop(struct graph *g, struct definition *d)
{
    graph_release(g);
    definition_release(d);
}
