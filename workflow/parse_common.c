/* SPDX-License-Identifier: MIT */
/* Environments, shells, timeouts, retries and thresholds. */
#include "workflow/parse_int.h"

#include "workflow/scalar.h"

#include "base/limits.h"
#include "base/words.h"
#include "graph/members.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Environment ---- */

static int check_env_name(const struct parser *p, const struct node *key,
                          const struct task_def *def)
{
    struct str name = key->text;
    if (!str_is_env_name(name))
        return diagnose(
            &p->diagnostic, key->at,
            "`%.*s` is not a name for an environment variable; use A-Z, a-z, "
            "0-9 and _, not beginning with a digit",
            SHOWN(name));
    if (str_begins(name, STR("CAIRN_")))
        return diagnose(&p->diagnostic, key->at,
                        "`%.*s`: names beginning with CAIRN_ are set by cairn itself",
                        SHOWN(name));
    if (find_param(p, name) != UINT32_MAX)
        return diagnose(&p->diagnostic, key->at,
                        "`%.*s` is the name of a param, which is in the environment "
                        "already",
                        SHOWN(name));
    if (def && task_def_name(def, name) != UINT32_MAX)
        return diagnose(&p->diagnostic, key->at,
                        "`%.*s` is a foreach key or a column of its sheet, which is in "
                        "the environment already",
                        SHOWN(name));
    if (is_secret(p, name))
        return diagnose(&p->diagnostic, key->at,
                        "`%.*s` is a secret; a task that lists it under `secrets` has "
                        "it in its environment",
                        SHOWN(name));
    return 0;
}

int read_pairs(struct parser *p, const struct node *map, const char *what,
               const struct task_def *def, read_pair_fn *read, struct key_value **out,
               uint32_t *n)
{
    uint32_t count = 0;
    int rc = expect_map(p, map, what);
    if (rc)
        return rc;
    struct key_value *pairs = arena_take(&p->out->arena, map->n, sizeof *pairs);
    if (!pairs)
        return out_of_memory(p);
    for (const struct node *key = map->first; key; key = key->next->next) {
        rc = read(p, key, def, &pairs[count++]);
        if (rc)
            return rc;
    }
    qsort(pairs, count, sizeof *pairs, key_value_order);
    *out = pairs;
    *n = count;
    return 0;
}

static int read_variable(struct parser *p, const struct node *key,
                         const struct task_def *def, struct key_value *out)
{
    char what[128];
    int rc = expect_key(p, key, "the name of an environment variable", &out->key)
                 ?: check_env_name(p, key, def);
    if (rc)
        return rc;
    snprintf(what, sizeof what, "`%.*s`", SHOWN(out->key));
    rc = expect_text(p, key->next, what, &out->value)
             ?: check_string(p, key->next, out->key, &out->value, def,
                             def ? IN_ENV : IN_WORKFLOW);
    if (!rc)
        warn_of_env(p, key->next, out->key, out->value);
    return rc;
}

int read_env(struct parser *p, const struct node *map, const struct task_def *def,
             struct key_value **out, uint32_t *n)
{
    return read_pairs(p, map, "`env`", def, read_variable, out, n);
}

/* ---- Shell, timeout, retries ---- */

/* The short names: what people mean by them is that a mistake ends the task. */
static int read_named_shell(const struct parser *p, const struct node *node,
                            struct command_shell *out)
{
    enum { SHELLS = 7, MOST_WORDS = 4 };
    static const struct str names[SHELLS] = {NAME("sh"),     NAME("bash"), NAME("zsh"),
                                             NAME("python"), NAME("node"), NAME("perl"),
                                             NAME("ruby")};
    static const struct str words[SHELLS][MOST_WORDS] = {
        {NAME("sh"), NAME("-eu"), NAME("-c")},
        {NAME("bash"), NAME("-euo"), NAME("pipefail"), NAME("-c")},
        {NAME("zsh"), NAME("-euo"), NAME("pipefail"), NAME("-c")},
        {NAME("python3"), NAME("-c")},
        {NAME("node"), NAME("-e")},
        {NAME("perl"), NAME("-e")},
        {NAME("ruby"), NAME("-e")}};
    uint8_t which = 0;
    uint32_t n = 0;
    if (node->plain && memchr(node->text.ptr, ' ', node->text.len))
        return diagnose(&p->diagnostic, node->at,
                        "`shell` is a name such as bash, or a list, as in [bash, -e, "
                        "-c]");
    int rc = expect_choice(p, node, "`shell`", names, SHELLS, &which);
    if (rc)
        return rc;
    while (n < MOST_WORDS && words[which][n].len)
        n++;
    out->words = arena_take(&p->out->arena, n, sizeof *out->words);
    if (!out->words)
        return out_of_memory(p);
    memcpy(out->words, words[which], n * sizeof *out->words);
    out->n = n;
    return 0;
}

int read_shell(const struct parser *p, const struct node *node,
               struct command_shell *out)
{
    struct command_shell shell = {NULL, 0};
    if (node->kind == NODE_TEXT && !node_is_null(node))
        return read_named_shell(p, node, out);
    int rc = expect_list(p, node, "`shell`");
    if (rc)
        return rc;
    if (node->n == 0)
        return diagnose(&p->diagnostic, node->at,
                        "`shell` is empty; the default is [sh, -eu, -c]");
    shell.words = arena_take(&p->out->arena, node->n, sizeof *shell.words);
    if (!shell.words)
        return out_of_memory(p);
    for (const struct node *item = node->first; item && !rc; item = item->next) {
        struct str *word = &shell.words[shell.n++];
        rc = expect_fixed(p, item, "`shell`", word);
        if (!rc && shell.n == 1 && word->len == 0)
            rc = diagnose(&p->diagnostic, item->at, "the command is empty");
        if (!rc && word->len > LIMIT_ENV_STRING)
            rc = too_long(p, item->at, "this argument");
    }
    if (!rc)
        *out = shell;
    return rc;
}

int read_timeout(const struct parser *p, const struct node *node, int64_t *timeout_ms,
                 int64_t *grace_ms)
{
    enum { AFTER, GRACE, COUNT };
    static const struct str names[COUNT] = {NAME("after"), NAME("grace")};
    const struct node *found[COUNT] = {NULL};
    if (node->kind != NODE_MAP)
        return expect_duration(p, node, "`timeout`", 1, timeout_ms);
    struct where where = {"in `timeout`", {NULL, 0}};
    int rc = expect_keys(p, node, where, names, found, COUNT);
    if (rc)
        return rc;
    if (!found[AFTER])
        return diagnose(&p->diagnostic, node->at,
                        "`timeout` needs `after`, as in {after: 2m, grace: 5s}");
    rc = expect_duration(p, found[AFTER]->next, "`after`", 1, timeout_ms);
    if (!rc && found[GRACE])
        rc = expect_duration(p, found[GRACE]->next, "`grace`", 0, grace_ms);
    return rc;
}

int read_grace(const struct parser *p, const struct node *node, int64_t *grace_ms)
{
    static const struct str names[1] = {NAME("grace")};
    const struct node *found[1] = {NULL};
    struct where where = {"in `timeout` of a service", {NULL, 0}};
    if (node->kind != NODE_MAP)
        return diagnose(&p->diagnostic, node->at,
                        "a service has no time limit: it lives as long as tasks need "
                        "it; `timeout: {grace: 5s}` says how long it may take to end");
    int rc = expect_keys(p, node, where, names, found, 1);
    return rc || !found[0] ? rc
                           : expect_duration(p, found[0]->next, "`grace`", 0, grace_ms);
}

/* One of the words of `on`, as its bit. */
static int read_failure_kind(const struct parser *p, const struct node *node,
                             struct retry_policy *out)
{
    static const struct str words[] = {NAME("timeout"), NAME("signal"), NAME("spawn"),
                                       NAME("check")};
    uint8_t word = 0;
    int rc = expect_choice(p, node, "what is retried, if not an exit code,", words, 4,
                           &word);
    if (rc)
        return rc;
    if (out->on & 1U << word)
        return diagnose(&p->diagnostic, node->at, "`%.*s` is here twice",
                        SHOWN(words[word]));
    out->on |= (uint8_t)(1U << word);
    return 0;
}

/* A list of exit codes, and of kinds of failures if `words`. */
static int read_on(const struct parser *p, const struct node *node, const char *what,
                   bool words, struct retry_policy *out)
{
    bool seen[256] = {false};
    int rc = expect_list(p, node, what);
    if (rc)
        return rc;
    if (node->n == 0)
        return diagnose(&p->diagnostic, node->at,
                        "%s is empty; without it every failure is retried", what);
    out->n_on_exit = 0;
    out->on_exit = arena_take(&p->out->arena, node->n, sizeof *out->on_exit);
    if (!out->on_exit)
        return out_of_memory(p);
    for (const struct node *item = node->first; item && !rc; item = item->next) {
        int64_t code = 0;
        struct bounds bounds = {1, 255};
        const char *reads_as;
        if (words && item->kind == NODE_TEXT &&
            scalar_type(item->text, &reads_as) == SCALAR_TEXT) {
            rc = read_failure_kind(p, item, out);
            continue;
        }
        rc = expect_integer(p, item, "an exit code", bounds, &code);
        if (!rc && seen[code])
            rc = diagnose(&p->diagnostic, item->at, "the exit code is here twice");
        if (rc)
            return rc;
        seen[code] = true;
        out->on_exit[out->n_on_exit++] = (uint16_t)code;
    }
    return rc;
}

static int read_retry_map(const struct parser *p, const struct node *map,
                          const char *key, struct retry_policy *out)
{
    enum { MAX, DELAY, FACTOR, CAP, JITTER, ON, ON_EXIT, COUNT };
    static const struct str names[COUNT] = {
        NAME("max"),    NAME("delay"), NAME("factor"), NAME("cap"),
        NAME("jitter"), NAME("on"),    NAME("on_exit")};
    const struct node *found[COUNT] = {NULL};
    char place[32];
    struct where where = {place, {NULL, 0}};
    struct bounds bounds = {0, LIMIT_RETRIES}, growth = {1, 1000};
    int64_t max = 0;
    snprintf(place, sizeof place, "in %s", key);
    int rc = expect_keys(p, map, where, names, found, COUNT);
    if (!rc && !found[MAX])
        rc = diagnose(&p->diagnostic, map->at,
                      "%s needs `max`, as in {max: 3, delay: 1s}", key);
    if (!rc)
        rc = expect_integer(p, found[MAX]->next, "`max`", bounds, &max);
    out->max = (uint32_t)max;
    if (!rc && found[DELAY])
        rc = expect_duration(p, found[DELAY]->next, "`delay`", 0, &out->delay_ms);
    if (!rc && found[FACTOR])
        rc = expect_permille(p, found[FACTOR]->next, "`factor`", growth,
                             &out->factor_permille);
    if (!rc && found[CAP])
        rc = expect_duration(p, found[CAP]->next, "`cap`", 1, &out->cap_ms);
    if (!rc && found[CAP] && out->cap_ms < out->delay_ms)
        rc = diagnose(&p->diagnostic, found[CAP]->next->at,
                      "`cap` is below `delay`: it is the longest pause, up to which "
                      "`factor` makes the first one grow");
    if (!rc && found[JITTER])
        rc = expect_bool(p, found[JITTER]->next, "`jitter`", &out->jitter);
    if (!rc && found[ON] && found[ON_EXIT])
        rc = diagnose(&p->diagnostic, found[ON_EXIT]->at,
                      "`on` takes the exit codes, too: write all of them there, and no "
                      "`on_exit`");
    if (!rc && found[ON])
        rc = read_on(p, found[ON]->next, "`on`", true, out);
    if (!rc && found[ON_EXIT])
        rc = read_on(p, found[ON_EXIT]->next, "`on_exit`", false, out);
    return rc;
}

int read_retries(const struct parser *p, const struct node *node, const char *key,
                 struct retry_policy *out)
{
    struct retry_policy policy = {.factor_permille = 1000};
    struct bounds bounds = {0, LIMIT_RETRIES};
    int64_t max = 0;
    int rc;
    if (node->kind == NODE_MAP)
        rc = read_retry_map(p, node, key, &policy);
    else {
        rc = expect_integer(p, node, key, bounds, &max);
        policy.max = (uint32_t)max;
    }
    if (!rc)
        *out = policy;
    return rc;
}

/* ---- What tasks and `defaults` have ---- */

int read_reuse(const struct parser *p, const struct node *node, bool *reuse,
               int64_t *kept_ms)
{
    static const struct str names[] = {NAME("keep")};
    const struct node *kept = NULL;
    struct where where = {"in `reuse`", {NULL, 0}};
    *kept_ms = 0;
    if (node->kind != NODE_MAP)
        return expect_bool(p, node, "`reuse`", reuse);
    *reuse = true;
    int rc = expect_keys(p, node, where, names, &kept, 1);
    if (!rc && !kept)
        rc = diagnose(&p->diagnostic, node->at,
                      "`reuse` needs `keep`, as in {keep: 7d}, or true");
    return rc ? rc : expect_duration(p, kept->next, "`keep`", 1, kept_ms);
}

int read_stale(const struct parser *p, const struct node *node, uint8_t *out)
{
    static const struct str words[] = {NAME("warn"), NAME("remove"), NAME("keep")};
    return expect_choice(p, node, "`stale`", words, 3, out);
}

int read_description(const struct parser *p, const struct node *node, struct str *out)
{
    int rc = expect_filled(p, node, "`description`", out);
    if (!rc && out->len > LIMIT_TEXT_BYTES)
        rc = diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                         "the description is longer than %d bytes", LIMIT_TEXT_BYTES);
    return rc;
}

int put_below(struct parser *p, const struct node *node, struct str *path)
{
    if (!p->in->cwd_root.len || path->ptr[0] == '/')
        return 0;
    if (str_begins(*path, STR("${{")))
        return diagnose(&p->diagnostic, node->at,
                        "a `cwd` that begins with ${{ }} may turn out absolute or "
                        "relative: in a file that is included from another directory "
                        "write \"./%.*s\"",
                        SHOWN(*path));
    *path = arena_path(&p->out->arena, p->in->cwd_root, *path);
    return path->ptr ? 0 : out_of_memory(p);
}

int read_directory(struct parser *p, const struct node *node,
                   const struct task_def *def, enum place place, struct str *out)
{
    int rc = expect_filled(p, node, "`cwd`", out);
    if (!rc)
        warn_of_path(p, node, "cwd", *out);
    if (!rc)
        rc = check_text(p, node, out, def, place, NULL);
    return rc ? rc : put_below(p, node, out);
}

static int find_pool(const struct parser *p, const struct node *node, uint32_t *pool)
{
    struct definition *out = p->out;
    struct str name;
    int rc = expect_filled(p, node, "`pool`", &name);
    if (rc)
        return rc;
    *pool = definition_pool(out, name);
    if (*pool != UINT32_MAX)
        return 0;
    struct str *names = arena_take(&p->out->arena, out->n_pools, sizeof *names);
    if (!names)
        return out_of_memory(p);
    for (uint32_t i = 0; i < out->n_pools; i++)
        names[i] = out->pools[i].name;
    struct hint hint = hint_nearest(name, names, out->n_pools);
    return diagnose(&p->diagnostic, node->at, "there is no pool `%.*s`%s", SHOWN(name),
                    hint.text[0] ? hint.text : "; declare it under `pools`");
}

/* `value`: of a mapping, how many places; else NULL. */
static int read_pool_use(struct parser *p, const struct node *name,
                         const struct node *value, struct pool_uses *out)
{
    int64_t places = 1;
    uint32_t pool = 0;
    int rc = find_pool(p, name, &pool);
    if (rc)
        return rc;
    const struct pool *limited = &p->out->pools[pool];
    struct bounds bounds = {1, UINT32_MAX};
    if (value)
        rc = expect_integer(p, value, "the places in a pool", bounds, &places);
    if (!rc && places > limited->limit)
        rc = diagnose(&p->diagnostic, value->at,
                      "pool `%.*s` has %u place%s in all: a task cannot have %" PRId64,
                      SHOWN(limited->name), limited->limit,
                      limited->limit == 1 ? "" : "s", places);
    if (rc)
        return rc;
    if (!pool_use_add(out->at, &out->n, (struct pool_use){pool, (uint32_t)places}))
        return diagnose(&p->diagnostic, name->at, "pool `%.*s` is here twice",
                        SHOWN(limited->name));
    p->pool_used[pool] = true;
    return 0;
}

int read_pool_uses(struct parser *p, const struct node *node, struct pool_uses *out)
{
    struct pool_uses uses = {NULL, 0};
    bool map = node->kind == NODE_MAP, list = node->kind == NODE_LIST;
    uint32_t n = map || list ? node->n : 1;
    int rc = 0;
    if (n == 0)
        return diagnose(&p->diagnostic, node->at,
                        "`pool` is empty; a task that is in none has no `pool`");
    if (n > LIMIT_TASK_POOLS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "a task can be in %d pools at most", LIMIT_TASK_POOLS);
    uses.at = arena_take(&p->out->arena, n, sizeof *uses.at);
    if (!uses.at)
        return out_of_memory(p);
    if (!map && !list)
        rc = read_pool_use(p, node, NULL, &uses);
    for (const struct node *item = map || list ? node->first : NULL; item && !rc;
         item = map ? item->next->next : item->next)
        rc = read_pool_use(p, item, map ? item->next : NULL, &uses);
    if (!rc)
        *out = uses;
    return rc;
}

/* ---- Thresholds of checks ---- */

int read_thresholds(const struct parser *p, const struct node *min,
                    const struct node *warn, struct thresholds *out)
{
    struct bounds bounds = {0, 1};
    struct thresholds got = *out;
    int rc = 0;
    if (min)
        rc = expect_permille(p, min->next, "`min`", bounds, &got.min);
    if (!rc && warn)
        rc = expect_permille(p, warn->next, "`warn`", bounds, &got.warn);
    if (rc)
        return rc;
    if (min && !warn && got.warn < got.min)
        got.warn = got.min;
    if (warn && got.warn < got.min)
        return diagnose(&p->diagnostic, warn->next->at,
                        "`warn` is below `min`, which is %u.%03u%s; between the two a "
                        "check passes with a warning",
                        got.min / 1000, got.min % 1000,
                        min ? "" : " if it is not given");
    *out = got;
    return 0;
}
