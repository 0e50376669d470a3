/* Tasks: first all ids, then every task, then the needs, which look at ids and foreach
 * keys of other tasks. */
#include "executor/parse_int.h"

#include "base/limits.h"
#include "executor/scalar.h"

#include <stdio.h>

enum {
    RUN,
    EXEC,
    NEEDS,
    ENV,
    CWD,
    SHELL,
    FOREACH,
    TIMEOUT,
    RETRIES,
    OUTPUTS,
    POOL,
    PRIORITY,
    KEYS
};
static const struct str key_names[KEYS] = {
    NAME("run"),     NAME("exec"),    NAME("needs"),   NAME("env"),
    NAME("cwd"),     NAME("shell"),   NAME("foreach"), NAME("timeout"),
    NAME("retries"), NAME("outputs"), NAME("pool"),    NAME("priority")};

/* ---- Commands ---- */

static int refuse_references(const struct parser *p, const struct node *node,
                             struct str text)
{
    struct reference reference;
    if (!reference_next(text, 0, &reference))
        return 0;
    struct str param = reference_param(reference.name);
    struct str name = param.ptr ? param : reference.name;
    bool known = scalar_is_key(name);
    return diagnose(&p->diagnostic,
                    source_inside(&p->source, node->at, text, reference.start, 3),
                    "the text of `run` is never rewritten: values come as environment "
                    "variables, so write \"$%.*s\" instead of ${{ }}",
                    SHOWN(known ? name : STR("name")));
}

static int read_run(const struct parser *p, struct task_def *def,
                    const struct node *node)
{
    def->kind = TASK_RUN;
    int result = expect_filled(p, node, "`run`", &def->run);
    if (!result)
        result = refuse_references(p, node, def->run);
    if (!result && def->run.len > LIMIT_ENV_STRING)
        result = too_long(p, node->at, "the text of `run`");
    return result;
}

static int read_exec(const struct parser *p, struct task_def *def,
                     const struct node *node)
{
    def->kind = TASK_EXEC;
    if (node->kind == NODE_TEXT)
        return diagnose(&p->diagnostic, node->at,
                        "`exec` must be a list, as in [cmd, \"arg 1\"]; a text for the "
                        "shell goes under `run`");
    int result = expect_list(p, node, "`exec`");
    if (!result && node->n == 0)
        result = diagnose(&p->diagnostic, node->at, "`exec` is empty");
    if (result)
        return result;
    def->argv = arena_take(&p->out->arena, node->n, sizeof *def->argv);
    if (!def->argv)
        return out_of_memory(p);
    for (const struct node *item = node->first; item && !result; item = item->next) {
        struct str *argument = &def->argv[def->n_argv++];
        result = expect_text(p, item, "an argument of `exec`", argument);
        if (!result)
            result = check_string(p, item, STR(""), *argument, def);
        if (!result && def->n_argv == 1 && argument->len == 0)
            result = diagnose(&p->diagnostic, item->at, "the command is empty");
    }
    return result;
}

static const struct node *later(const struct node *a, const struct node *b)
{
    bool first = a->at.line > b->at.line ||
                 (a->at.line == b->at.line && a->at.column > b->at.column);
    return first ? a : b;
}

static int read_command(const struct parser *p, struct task_def *def,
                        const struct node *const found[])
{
    struct command_shell shell = p->shell;
    if (!found[RUN] && !found[EXEC])
        return diagnose(&p->diagnostic, def->at,
                        "task `%.*s` has nothing to do; give it `run` or `exec`",
                        SHOWN(def->id));
    if (found[RUN] && found[EXEC])
        return diagnose(&p->diagnostic, later(found[RUN], found[EXEC])->at,
                        "task `%.*s` has both `run` and `exec`; it can have only one",
                        SHOWN(def->id));
    if (found[SHELL] && !found[RUN])
        return diagnose(&p->diagnostic, found[SHELL]->at,
                        "`shell` is only for `run`; `exec` starts the command itself");
    if (found[EXEC])
        return read_exec(p, def, found[EXEC]->next);
    int result = found[SHELL] ? read_shell(p, found[SHELL]->next, &shell) : 0;
    if (result)
        return result;
    def->shell = shell.words;
    def->n_shell = shell.n;
    return read_run(p, def, found[RUN]->next);
}

/* ---- Surroundings ---- */

/* Both are sorted; a key of the task wins. Without own entries the workflow's array is
 * shared by all tasks. */
static int merge_env(const struct parser *p, struct task_def *def,
                     const struct key_value *own, uint32_t n_own)
{
    uint32_t i = 0, j = 0, n = 0;
    def->env = arena_take(&p->out->arena, (size_t)p->n_env + n_own, sizeof *def->env);
    if (!def->env)
        return out_of_memory(p);
    while (i < p->n_env || j < n_own) {
        int order = i == p->n_env ? 1
                    : j == n_own  ? -1
                                  : str_compare(p->env[i].key, own[j].key);
        def->env[n++] = order < 0 ? p->env[i] : own[j];
        i += order <= 0;
        j += order >= 0;
    }
    def->n_env = n;
    return 0;
}

static int read_environment(const struct parser *p, struct task_def *def,
                            const struct node *const found[])
{
    struct key_value *own;
    uint32_t n_own;
    def->env = p->env;
    def->n_env = p->n_env;
    def->cwd = STR("");
    int result = 0;
    if (found[ENV]) {
        result = read_env(p, found[ENV]->next, def, &own, &n_own);
        if (!result && n_own)
            result = merge_env(p, def, own, n_own);
    }
    if (!result && found[CWD])
        result = expect_filled(p, found[CWD]->next, "`cwd`", &def->cwd);
    if (!result && found[CWD])
        result = check_references(p, found[CWD]->next, def->cwd, def, NULL);
    return result;
}

static int read_output(const struct parser *p, struct task_def *def,
                       const struct node *node)
{
    struct str *output = &def->outputs[def->n_outputs++];
    int result = expect_filled(p, node, "an output", output);
    return result ? result : check_references(p, node, *output, def, NULL);
}

static int read_outputs(const struct parser *p, struct task_def *def,
                        const struct node *node)
{
    bool single = node->kind == NODE_TEXT;
    int result = single ? 0 : expect_list(p, node, "`outputs`");
    if (result)
        return result;
    def->outputs =
        arena_take(&p->out->arena, single ? 1 : node->n, sizeof *def->outputs);
    if (!def->outputs)
        return out_of_memory(p);
    if (single)
        return read_output(p, def, node);
    for (const struct node *item = node->first; item && !result; item = item->next)
        result = read_output(p, def, item);
    return result;
}

/* ---- How it is run ---- */

static int read_pool(struct parser *p, struct task_def *def, const struct node *node)
{
    struct definition *out = p->out;
    struct str name;
    int result = expect_filled(p, node, "`pool`", &name);
    if (result)
        return result;
    struct str *names = arena_take(&p->scratch, out->n_pools, sizeof *names);
    if (!names)
        return out_of_memory(p);
    for (uint32_t i = 0; i < out->n_pools; i++) {
        names[i] = out->pools[i].name;
        if (str_equal(names[i], name)) {
            def->pool = i;
            p->pool_used[i] = true;
            return 0;
        }
    }
    struct hint hint = hint_nearest(name, names, out->n_pools);
    return diagnose(&p->diagnostic, node->at, "there is no pool `%.*s`%s", SHOWN(name),
                    hint.text[0] ? hint.text : "; declare it under `pools`");
}

static int read_tuning(struct parser *p, struct task_def *def,
                       const struct node *const found[])
{
    struct bounds bounds = {INT32_MIN, INT32_MAX};
    int64_t priority = 0;
    int result = 0;
    def->timeout_ms = p->timeout_ms;
    def->grace_ms = p->grace_ms;
    def->retry = p->retry;
    def->pool = UINT32_MAX;
    if (found[TIMEOUT])
        result =
            read_timeout(p, found[TIMEOUT]->next, &def->timeout_ms, &def->grace_ms);
    if (!result && found[RETRIES])
        result = read_retries(p, found[RETRIES]->next, &def->retry);
    if (!result && found[POOL])
        result = read_pool(p, def, found[POOL]->next);
    if (!result && found[PRIORITY])
        result =
            expect_integer(p, found[PRIORITY]->next, "`priority`", bounds, &priority);
    def->priority = (int32_t)priority;
    return result;
}

/* ---- Tasks ---- */

static int read_task(struct parser *p, uint32_t index, const struct node *node)
{
    struct task_def *def = &p->out->defs[index];
    const struct node *found[KEYS] = {NULL};
    struct where where = {"task", def->id};
    char what[128];
    snprintf(what, sizeof what, "task `%.*s`", SHOWN(def->id));
    def->run = def->version = STR("");
    def->members = 1;
    int result = expect_map(p, node, what);
    if (!result)
        result = expect_keys(p, node, where, key_names, found, KEYS);
    if (!result && found[FOREACH])
        result = read_foreach(p, def, found[FOREACH]->next);
    if (!result)
        result = read_command(p, def, found);
    if (!result)
        result = read_environment(p, def, found);
    if (!result && found[OUTPUTS])
        result = read_outputs(p, def, found[OUTPUTS]->next);
    if (!result)
        result = read_tuning(p, def, found);
    if (!result)
        p->needs[index] = found[NEEDS] ? found[NEEDS]->next : NULL;
    return result;
}

static int add_id(struct parser *p, const struct node *key)
{
    struct definition *out = p->out;
    struct task_def *def = &out->defs[out->n_defs];
    int result = expect_filled(p, key, "the id of a task", &def->id);
    if (result)
        return result;
    if (!scalar_is_id(def->id))
        return diagnose(&p->diagnostic, key->at,
                        "the task id `%.*s` must be made of A-Z, a-z, 0-9, _, - and "
                        ". and not begin with - or .",
                        SHOWN(def->id));
    if (def->id.len > LIMIT_ID_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, key->at,
                           "the task id is longer than %d bytes", LIMIT_ID_BYTES);
    def->at = key->at;
    if (map_add(&out->by_id, def->id, out->n_defs, NULL) < 0)
        return out_of_memory(p);
    out->n_defs++;
    return 0;
}

static int add_ids(struct parser *p, const struct node *map)
{
    struct definition *out = p->out;
    int result = 0;
    if (map->n > LIMIT_TASKS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, map->at, "more than %d tasks",
                           LIMIT_TASKS);
    out->defs = arena_take(&out->arena, map->n, sizeof *out->defs);
    p->needs = arena_take(&p->scratch, map->n, sizeof *p->needs);
    if (!out->defs || !p->needs || map_reserve(&out->by_id, map->n))
        return out_of_memory(p);
    out->defs_capacity = map->n;
    for (const struct node *key = map->first; key && !result; key = key->next->next)
        result = add_id(p, key);
    return result;
}

int read_tasks(struct parser *p, const struct node *map)
{
    uint32_t i = 0;
    if (node_is_null(map) || (map->kind == NODE_MAP && map->n == 0))
        return diagnose(&p->diagnostic, map->at,
                        "no tasks; a task is written as `id: {run: ...}`");
    int result = expect_map(p, map, "`tasks`");
    if (!result)
        result = add_ids(p, map);
    for (const struct node *key = map->first; key && !result; key = key->next->next)
        result = read_task(p, i++, key->next);
    for (i = 0; i < p->out->n_defs && !result; i++)
        if (p->needs[i])
            result = read_needs(p, i, p->needs[i]);
    return result;
}
