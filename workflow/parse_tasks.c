/* SPDX-License-Identifier: MIT */
/* Tasks: first all ids, then every task, then the needs, which look at ids and foreach
 * keys of other tasks, then what only holds with all needs known. */
#include "workflow/parse_refs_int.h"
#include "workflow/parse_task_int.h"
#include "workflow/parse_top_int.h"

#include "base/identifier.h"
#include "base/limits.h"

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

static int read_all_needs(struct parser *p)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++)
        if (p->nodes[i].needs)
            rc = parse_go_on(p, read_needs(p, i, p->nodes[i].needs));
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
