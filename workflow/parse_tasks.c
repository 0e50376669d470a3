/* SPDX-License-Identifier: MIT */
/* Tasks: first all ids, then every task, then the needs, which look at ids and foreach
 * keys of other tasks, then what only holds with all needs known. */
#include "workflow/parse_refs_int.h"
#include "workflow/parse_task_int.h"
#include "workflow/parse_top_int.h"

#include "base/identifier.h"
#include "base/limits.h"

#include <fnmatch.h>

static int id_twice(const struct parser *p, const struct node *key, struct str id)
{
    const struct definition *out = p->out;
    struct position first = out->defs[map_get(&out->by_id, id)].at;
    return diagnose(&p->diagnostic, key->at,
                    "there is a task `%.*s` already, at %u:%u; `tasks` and `finally` "
                    "share their ids",
                    SHOWN(id), first.line, first.column);
}

static int add_id(struct parser *p, const struct node *key, bool finally)
{
    struct definition *out = p->out;
    struct task_def *def = &out->defs[out->n_defs];
    int rc = expect_filled(p, key, "the id of a task", &def->id);
    if (rc)
        return rc;
    if (!str_is_id(def->id))
        return diagnose(&p->diagnostic, key->at,
                        "the task id `%.*s` must be made of A-Z, a-z, 0-9, _, - and "
                        ". and not begin with - or .",
                        SHOWN(def->id));
    if (def->id.len > LIMIT_ID_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, key->at,
                           "the task id is longer than %d bytes", LIMIT_ID_BYTES);
    def->at = key->at;
    def->finally = finally;
    int added = map_add(&out->by_id, def->id, out->n_defs, NULL);
    if (added == 0)
        return id_twice(p, key, def->id);
    out->n_defs++;
    return added < 0 ? out_of_memory(p) : 0;
}

static int add_ids(struct parser *p, const struct node *map, const struct node *finally)
{
    struct definition *out = p->out;
    size_t n = (size_t)map->n + (finally ? finally->n : 0);
    int rc = 0;
    if (n > LIMIT_TASKS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, map->at, "more than %d tasks",
                           LIMIT_TASKS);
    out->defs = arena_take(&out->arena, n, sizeof *out->defs);
    p->nodes = arena_take(&p->scratch, n, sizeof *p->nodes);
    if (!out->defs || !p->nodes || map_reserve(&out->by_id, n))
        return out_of_memory(p);
    out->defs_capacity = (uint32_t)n;
    for (const struct node *key = map->first; key && !rc; key = key->next->next)
        rc = add_id(p, key, false);
    for (const struct node *key = finally ? finally->first : NULL; key && !rc;
         key = key->next->next)
        rc = add_id(p, key, true);
    return rc;
}

static void warn_of_unreachable(struct parser *p)
{
    for (uint32_t i = 0; i < p->out->n_defs; i++) {
        const struct task_def *def = &p->out->defs[i];
        if (def->when == WHEN_FAILED && def->n_needs == 0)
            parse_warn(p, p->nodes[i].when->at,
                       "task `%.*s` never runs: it waits for a failure, but needs "
                       "nothing that could fail",
                       SHOWN(def->id));
    }
}

/* What is valid in each task and doubtful in all of them together. */

/* ---- Secrets that nobody gets ---- */

void warn_of_unlisted_secrets(struct parser *p, const struct node *list)
{
    for (const struct node *item = list->first; item; item = item->next)
        if (item->kind == NODE_TEXT && !definition_gives_secret(p->out, item->text))
            parse_warn(p, item->at,
                       "no task gets the secret `%.*s`; list it under `secrets` of the "
                       "tasks that need it",
                       SHOWN(item->text));
}

/* ---- Outputs of two tasks ---- */

static struct str place_of(struct parser *p, const struct task_def *def,
                           struct str output)
{
    struct buf text = BUF_INIT;
    buf_lstr(&text, output.len && output.ptr[0] == '/' ? STR("") : def->cwd);
    buf_str(&text, output);
    struct str copy = arena_str(&p->scratch, buf_view(&text));
    buf_release(&text);
    return copy;
}

/* The same fixed name is no matter of two tasks of which only one runs. */
static bool may_both_run(const struct task_def *a, const struct task_def *b)
{
    return !a->condition.len && !b->condition.len && a->when == WHEN_SUCCESS &&
           b->when == WHEN_SUCCESS;
}

static int look_at_outputs(struct parser *p, struct map *makers, uint32_t index)
{
    const struct task_def *def = &p->out->defs[index];
    for (uint32_t i = 0; i < def->n_outputs; i++) {
        uint32_t other = index;
        if (template_has(def->outputs[i]) || template_has(def->cwd))
            continue;
        if (def->members > 1) {
            parse_warn(p, def->at, "all members of `%.*s` have the output `%.*s`",
                       SHOWN(def->id), SHOWN(def->outputs[i]));
            continue;
        }
        struct str place = place_of(p, def, def->outputs[i]);
        int added = place.ptr ? map_add(makers, place, index, &other) : CAIRN_ENOMEM;
        if (added < 0)
            return out_of_memory(p);
        if (added == 0 && other != index && may_both_run(def, &p->out->defs[other]))
            parse_warn(p, def->at,
                       "`%.*s` and `%.*s` have the same output `%.*s`: each of them "
                       "changes what the other one made",
                       SHOWN(p->out->defs[other].id), SHOWN(def->id),
                       SHOWN(def->outputs[i]));
    }
    return 0;
}

static int warn_of_same_outputs(struct parser *p)
{
    struct map makers = MAP_INIT;
    size_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < p->out->n_defs; i++)
        n += p->out->defs[i].n_outputs;
    if (n == 0)
        return 0;
    if (map_reserve(&makers, n))
        rc = out_of_memory(p);
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++)
        rc = look_at_outputs(p, &makers, i);
    map_release(&makers);
    return rc;
}

/* ---- Needs that are never met ---- */

static bool needs_def(const struct task_def *def, uint32_t target)
{
    for (uint32_t i = 0; i < def->n_needs; i++)
        if (def->needs[i].target == target && !def->needs[i].n_bindings)
            return true;
    return false;
}

/* It runs only if something fails that `def` needs, too. */
static bool excludes(const struct task_def *def, const struct task_def *need)
{
    bool all = need->when == WHEN_FAILED && need->n_needs > 0;
    for (uint32_t i = 0; i < need->n_needs && all; i++)
        all = needs_def(def, need->needs[i].target);
    return all;
}

static void warn_of_needs(struct parser *p, const struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct task_def *need = &p->out->defs[def->needs[i].target];
        if (str_equal(need->condition, STR("false")))
            parse_warn(
                p, def->needs[i].at,
                "task `%.*s` never runs: the condition of `%.*s`, which it needs, "
                "is false",
                SHOWN(def->id), SHOWN(need->id));
        else if (excludes(def, need))
            parse_warn(
                p, def->needs[i].at,
                "task `%.*s` never runs: `%.*s` runs only after a failure, and it "
                "needs what failed, too",
                SHOWN(def->id), SHOWN(need->id));
    }
}

/* ---- Groups over files that are still to be made ---- */

/* The name with an X for each ${{ }}. */
static int fill_in(struct parser *p, struct str output, char **out)
{
    struct buf text = BUF_INIT;
    const char *at = output.ptr, *end = output.ptr + output.len, *open;
    while ((open = memmem(at, (size_t)(end - at), "${{", 3))) {
        const char *close = memmem(open, (size_t)(end - open), "}}", 2);
        buf_add(&text, at, (size_t)(open - at));
        buf_byte(&text, 'X');
        at = close ? close + 2 : end;
    }
    buf_add(&text, at, (size_t)(end - at));
    *out = text.failed ? NULL : arena_text(&p->scratch, buf_view(&text));
    buf_release(&text);
    return *out ? 0 : out_of_memory(p);
}

static int is_made(struct parser *p, const struct task_def *maker,
                   const struct foreach_key *key, bool *made)
{
    char *pattern = arena_text(&p->scratch, key->spec), *name;
    int rc = pattern ? 0 : out_of_memory(p);
    *made = false;
    for (uint32_t i = 0; i < maker->n_outputs && !rc && !maker->cwd.len && !*made;
         i++) {
        rc = fill_in(p, maker->outputs[i], &name);
        if (!rc)
            *made = key->source == FOREACH_GLOB
                        ? fnmatch(pattern, name, FNM_PATHNAME | FNM_PERIOD) == 0
                        : strcmp(pattern, name) == 0;
    }
    return rc;
}

static int check_group(struct parser *p, const struct task_def *def,
                       const struct foreach_key *key)
{
    bool made = false;
    int rc = 0;
    if (key->source != FOREACH_GLOB && key->source != FOREACH_LINES)
        return 0;
    for (uint32_t i = 0; i < def->n_needs && !rc; i++) {
        const struct task_def *maker = &p->out->defs[def->needs[i].target];
        rc = is_made(p, maker, key, &made);
        if (!rc && made)
            return diagnose(
                &p->diagnostic, def->needs[i].at,
                "the values of `%.*s` are read before anything runs, but "
                "`%.*s` makes what they come from; name the values (a list, "
                "{range: [1, 8]}), or let one task go over all with `inputs: "
                "{glob: ...}`",
                SHOWN(key->name), SHOWN(maker->id));
    }
    return rc;
}

static int look_for_doubtful(struct parser *p)
{
    int rc = warn_of_same_outputs(p);
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++) {
        const struct task_def *def = &p->out->defs[i];
        if (def->when == WHEN_SUCCESS)
            warn_of_needs(p, def);
        for (uint32_t k = 0; k < def->n_foreach && def->n_needs && !rc; k++)
            rc = parse_go_on(p, check_group(p, def, &def->foreach[k]));
    }
    return rc;
}

/* ---- All of them ---- */

static int read_all_needs(struct parser *p)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++)
        if (p->nodes[i].needs)
            rc = parse_go_on(p, read_needs(p, i, p->nodes[i].needs));
    for (uint32_t i = 0; i < p->out->n_defs && !rc && parse_is_good(p); i++)
        if (p->nodes[i].needs_all)
            rc = parse_go_on(
                p, check_needs_all(p, &p->out->defs[i], p->nodes[i].needs_all));
    return rc;
}

int read_tasks(struct parser *p, const struct node *map, const struct node *finally)
{
    uint32_t i = 0;
    if (node_is_null(map) || (map->kind == NODE_MAP && map->n == 0))
        return diagnose(&p->diagnostic, map->at,
                        "no tasks; a task is written as `id: {run: ...}`");
    int rc = expect_map(p, map, "`tasks`");
    if (!rc && finally)
        rc = expect_map(p, finally, "`finally`");
    if (!rc)
        rc = add_ids(p, map, finally);
    for (const struct node *key = map->first; key && !rc; key = key->next->next)
        rc = parse_go_on(p, read_task(p, i++, key->next));
    for (const struct node *key = finally ? finally->first : NULL; key && !rc;
         key = key->next->next)
        rc = parse_go_on(p, read_task(p, i++, key->next));
    if (!rc && !(p->options->mistakes && p->options->mistakes->names_unknown))
        rc = read_all_needs(p);
    if (!rc && parse_is_good(p))
        rc = check_pending(p);
    if (!rc && parse_is_good(p))
        warn_of_unreachable(p);
    if (!rc && parse_is_good(p))
        rc = look_for_doubtful(p);
    return rc;
}
