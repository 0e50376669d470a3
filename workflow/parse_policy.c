/* SPDX-License-Identifier: MIT */
/* What holds for a run as a whole: jobs, pools, limits, what happens after failures and
 * crashes, and the defaults of tasks. */
#include "workflow/parse_common_int.h"
#include "workflow/parse_top_int.h"

#include "base/identifier.h"
#include "base/limits.h"

#include <stdio.h>

enum { POOL_MOST = 1000000 };

/* ---- Jobs and pools ---- */

int read_jobs(struct parser *p, const struct node *node)
{
    struct bounds bounds = {1, LIMIT_JOBS};
    int64_t jobs;
    int rc = expect_integer(p, node, "`jobs`", bounds, &jobs);
    if (!rc)
        p->out->jobs = (uint32_t)jobs;
    return rc;
}

static int read_one_pool(const struct parser *p, const struct node *key,
                         struct pool *pool)
{
    struct bounds bounds = {1, POOL_MOST};
    char what[128];
    int64_t limit;
    int rc = expect_key(p, key, "the name of a pool", &pool->name);
    if (rc)
        return rc;
    if (!str_is_id(pool->name))
        return diagnose(&p->diagnostic, key->at,
                        "the pool name `%.*s` must be made of A-Z, a-z, 0-9, _, - and "
                        ". and not begin with - or .",
                        SHOWN(pool->name));
    snprintf(what, sizeof what, "the limit of pool `%.*s`", SHOWN(pool->name));
    rc = expect_integer(p, key->next, what, bounds, &limit);
    if (!rc)
        pool->limit = (uint32_t)limit;
    return rc;
}

int read_pools(struct parser *p, const struct node *map)
{
    struct definition *out = p->out;
    int rc = expect_map(p, map, "`pools`");
    if (rc)
        return rc;
    if (map->n > LIMIT_POOLS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, map->at, "more than %d pools",
                           LIMIT_POOLS);
    out->pools = arena_take(&out->arena, map->n, sizeof *out->pools);
    p->pool_used = arena_take(&p->scratch, map->n, sizeof *p->pool_used);
    if (!out->pools || !p->pool_used)
        return out_of_memory(p);
    for (const struct node *key = map->first; key && !rc; key = key->next->next)
        rc = read_one_pool(p, key, &out->pools[out->n_pools++]);
    return rc;
}

void warn_of_unused_pools(struct parser *p, const struct node *map)
{
    uint32_t i = 0;
    for (const struct node *key = map->first; key; key = key->next->next)
        if (!p->pool_used[i++])
            parse_warn(p, key->at, "no task uses the pool `%.*s`", SHOWN(key->text));
}

/* ---- Failures and crashes ---- */

static int read_undo_scope(const struct parser *p, const struct node *map)
{
    static const struct str names[] = {NAME("undo")};
    static const struct str scopes[] = {NAME("failed"), NAME("ancestors"), NAME("all")};
    const struct node *found[1] = {NULL};
    struct where where = {"in `on_failure`", {NULL, 0}};
    int rc = expect_keys(p, map, where, names, found, 1);
    if (rc)
        return rc;
    if (!found[0])
        return diagnose(&p->diagnostic, map->at,
                        "`on_failure` needs `undo` here, as in {undo: ancestors}");
    p->out->on_failure = ON_FAILURE_UNDO;
    return expect_choice(p, found[0]->next, "`undo`", scopes, 3, &p->out->undo_scope);
}

int read_on_failure(struct parser *p, const struct node *node)
{
    static const struct str words[] = {NAME("stop"), NAME("continue"), NAME("undo")};
    if (node->kind == NODE_MAP)
        return read_undo_scope(p, node);
    return expect_choice(p, node, "`on_failure`", words, 3, &p->out->on_failure);
}

int read_on_crash(struct parser *p, const struct node *node)
{
    static const struct str words[] = {NAME("kill"), NAME("adopt")};
    return expect_choice(p, node, "`on_crash`", words, 2, &p->out->on_crash);
}

/* ---- Defaults ---- */

int use_default_shell(struct parser *p)
{
    static const struct str words[] = {NAME("sh"), NAME("-eu"), NAME("-c")};
    p->shell.n = sizeof words / sizeof words[0];
    p->shell.words = arena_take(&p->out->arena, p->shell.n, sizeof *p->shell.words);
    if (!p->shell.words)
        return out_of_memory(p);
    memcpy(p->shell.words, words, sizeof words);
    return 0;
}

static int read_default_check(struct parser *p, const struct node *map)
{
    enum { MIN, WARN, COUNT };
    static const struct str names[COUNT] = {NAME("min"), NAME("warn")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `check` of `defaults`", {NULL, 0}};
    int rc = expect_map(p, map, "`check`");
    if (!rc)
        rc = expect_keys(p, map, where, names, found, COUNT);
    return rc ? rc : read_thresholds(p, found[MIN], found[WARN], &p->check);
}

int read_defaults(struct parser *p, const struct node *map)
{
    enum { TIMEOUT, RETRIES, SHELL, CHECK, COUNT };
    static const struct str names[COUNT] = {NAME("timeout"), NAME("retries"),
                                            NAME("shell"), NAME("check")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `defaults`", {NULL, 0}};
    int rc = expect_map(p, map, "`defaults`");
    if (!rc)
        rc = expect_keys(p, map, where, names, found, COUNT);
    if (!rc && found[TIMEOUT])
        rc = read_timeout(p, found[TIMEOUT]->next, &p->timeout_ms, &p->grace_ms);
    if (!rc && found[RETRIES])
        rc = read_retries(p, found[RETRIES]->next, &p->retry);
    if (!rc && found[SHELL])
        rc = read_shell(p, found[SHELL]->next, &p->shell);
    if (!rc && found[CHECK])
        rc = read_default_check(p, found[CHECK]->next);
    return rc;
}
