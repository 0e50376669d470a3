/* SPDX-License-Identifier: MIT */
/* One task: its command, surroundings, and how it is run. Needs are read when all tasks
 * are there (parse_tasks.c). */
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "workflow/scalar.h"

#include <stdio.h>

enum {
    RUN,
    EXEC,
    EXTERNAL,
    NEEDS,
    IF,
    WHEN,
    ENV,
    PARAMS,
    SECRETS,
    CWD,
    SHELL,
    FOREACH,
    TIMEOUT,
    RETRIES,
    INPUTS,
    OUTPUTS,
    ONCE,
    CHECK,
    UNDO,
    POOL,
    PRIORITY,
    KEYS
};
static const struct str key_names[KEYS] = {
    NAME("run"),     NAME("exec"),    NAME("external"), NAME("needs"),   NAME("if"),
    NAME("when"),    NAME("env"),     NAME("params"),   NAME("secrets"), NAME("cwd"),
    NAME("shell"),   NAME("foreach"), NAME("timeout"),  NAME("retries"), NAME("inputs"),
    NAME("outputs"), NAME("once"),    NAME("check"),    NAME("undo"),    NAME("pool"),
    NAME("priority")};

/* ---- Commands ---- */

static int read_run(const struct parser *p, struct task_def *def,
                    const struct node *node)
{
    def->kind = TASK_RUN;
    int rc = expect_filled(p, node, "`run`", &def->run);
    if (!rc)
        rc = refuse_references(p, node, "run", def->run);
    if (!rc && def->run.len > LIMIT_ENV_STRING)
        rc = too_long(p, node->at, "the text of `run`");
    return rc;
}

static int read_exec(struct parser *p, struct task_def *def, const struct node *node)
{
    def->kind = TASK_EXEC;
    if (node->kind == NODE_TEXT)
        return diagnose(&p->diagnostic, node->at,
                        "`exec` must be a list, as in [cmd, \"arg 1\"]; a text for the "
                        "shell goes under `run`");
    int rc = expect_list(p, node, "`exec`");
    if (!rc && node->n == 0)
        rc = diagnose(&p->diagnostic, node->at, "`exec` is empty");
    if (rc)
        return rc;
    def->argv = arena_take(&p->out->arena, node->n, sizeof *def->argv);
    if (!def->argv)
        return out_of_memory(p);
    for (const struct node *item = node->first; item && !rc; item = item->next) {
        struct str *argument = &def->argv[def->n_argv++];
        rc = expect_text(p, item, "an argument of `exec`", argument);
        if (!rc)
            rc = check_string(p, item, STR(""), *argument, def, IN_TASK);
        if (!rc && def->n_argv == 1 && argument->len == 0)
            rc = diagnose(&p->diagnostic, item->at, "the command is empty");
    }
    return rc;
}

/* An external task is not run by cairn, so nothing that is about running holds. */
static int refuse_for_external(const struct parser *p, const struct task_def *def,
                               const struct node *const found[])
{
    static const uint8_t keys[] = {ENV,   SHELL,   TIMEOUT, RETRIES, POOL,
                                   CHECK, SECRETS, ONCE,    INPUTS};
    for (size_t i = 0; i < sizeof keys; i++)
        if (found[keys[i]])
            return diagnose(&p->diagnostic, found[keys[i]]->at,
                            "`%s` has no meaning for task `%.*s`, which is `external`: "
                            "cairn does not run it",
                            key_names[keys[i]].ptr, SHOWN(def->id));
    return 0;
}

/* Which one of run, exec and external there is. */
static int choose_kind(const struct parser *p, struct task_def *def,
                       const struct node *const found[])
{
    static const uint8_t keys[] = {RUN, EXEC, EXTERNAL};
    const struct node *first = NULL, *last = NULL;
    for (size_t i = 0; i < sizeof keys; i++) {
        const struct node *key = found[keys[i]];
        if (!key)
            continue;
        bool later =
            !last || key->at.line > last->at.line ||
            (key->at.line == last->at.line && key->at.column > last->at.column);
        first = later ? last : key;
        last = later ? key : last;
    }
    if (!last)
        return diagnose(&p->diagnostic, def->at,
                        "task `%.*s` has nothing to do; give it `run`, `exec` or "
                        "`external`",
                        SHOWN(def->id));
    if (first)
        return diagnose(&p->diagnostic, last->at,
                        "task `%.*s` has both `%.*s` and `%.*s`; it can have only one",
                        SHOWN(def->id), SHOWN(first->text), SHOWN(last->text));
    return found[EXTERNAL] ? refuse_for_external(p, def, found) : 0;
}

static int read_shells(const struct parser *p, struct task_def *def,
                       const struct node *const found[])
{
    struct command_shell shell = p->shell;
    bool side = found[CHECK] || found[UNDO];
    if (found[SHELL] && !found[RUN] && !side)
        return diagnose(&p->diagnostic, found[SHELL]->at,
                        "`shell` is only for `run`, `check` and `undo`; `exec` starts "
                        "the command itself");
    int rc = found[SHELL] ? read_shell(p, found[SHELL]->next, &shell) : 0;
    if (rc)
        return rc;
    if (found[RUN]) {
        def->shell = shell.words;
        def->n_shell = shell.n;
    }
    if (side) {
        def->side_shell = shell.words;
        def->n_side_shell = shell.n;
    }
    return 0;
}

static int read_command(struct parser *p, struct task_def *def,
                        const struct node *const found[])
{
    int rc = read_shells(p, def, found);
    if (rc)
        return rc;
    if (found[EXEC])
        return read_exec(p, def, found[EXEC]->next);
    if (found[EXTERNAL])
        return read_external(p, def, found[EXTERNAL]->next);
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

/* What the workflow's env refers to must be among the params that the task takes. */
static int check_inherited_env(struct parser *p, const struct task_def *def,
                               const struct node *params)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->n_env && !rc; i++)
        for (uint32_t j = 0; j < def->n_env && !rc; j++)
            if (def->env[j].value.ptr == p->env[i].value.ptr)
                rc = check_inherited(p, params, def, p->env[i].value);
    return rc;
}

static int read_environment(struct parser *p, struct task_def *def,
                            const struct node *const found[])
{
    struct key_value *own;
    uint32_t n_own;
    def->env = p->env;
    def->n_env = p->n_env;
    def->cwd = STR("");
    int rc = 0;
    if (found[SECRETS])
        rc = read_task_secrets(p, def, found[SECRETS]->next);
    if (!rc && found[ENV]) {
        rc = read_env(p, found[ENV]->next, def, &own, &n_own);
        if (!rc && n_own)
            rc = merge_env(p, def, own, n_own);
    }
    if (!rc && found[PARAMS])
        rc = check_inherited_env(p, def, found[PARAMS]);
    if (!rc && found[CWD])
        rc = expect_filled(p, found[CWD]->next, "`cwd`", &def->cwd);
    if (!rc && found[CWD])
        rc = check_text(p, found[CWD]->next, def->cwd, def, IN_TASK, NULL);
    return rc;
}

struct files {
    struct str *names;
    uint32_t n;
};

static int read_file(struct parser *p, const struct task_def *def,
                     const struct node *node, const char *what, struct files *out)
{
    struct str *name = &out->names[out->n++];
    int rc = expect_filled(p, node, what, name);
    return rc ? rc : check_text(p, node, *name, def, IN_TASK, NULL);
}

/* One file or a list of them. */
static int read_files(struct parser *p, const struct task_def *def,
                      const struct node *key, const char *what, struct files *out)
{
    const struct node *node = key->next;
    char key_text[32];
    bool single = node->kind == NODE_TEXT;
    snprintf(key_text, sizeof key_text, "`%.*s`", SHOWN(key->text));
    int rc = single ? 0 : expect_list(p, node, key_text);
    if (rc)
        return rc;
    out->names = arena_take(&p->out->arena, single ? 1 : node->n, sizeof *out->names);
    if (!out->names)
        return out_of_memory(p);
    if (single)
        return read_file(p, def, node, what, out);
    for (const struct node *item = node->first; item && !rc; item = item->next)
        rc = read_file(p, def, item, what, out);
    return rc;
}

static int read_inputs_outputs(struct parser *p, struct task_def *def,
                               const struct node *const found[])
{
    struct files inputs = {NULL, 0}, outputs = {NULL, 0};
    int rc = 0;
    if (found[INPUTS])
        rc = read_files(p, def, found[INPUTS], "an input", &inputs);
    if (!rc && found[OUTPUTS])
        rc = read_files(p, def, found[OUTPUTS], "an output", &outputs);
    def->inputs = inputs.names;
    def->n_inputs = inputs.n;
    def->outputs = outputs.names;
    def->n_outputs = outputs.n;
    return rc;
}

static int read_flow(struct parser *p, struct task_def *def,
                     const struct node *const found[])
{
    int rc = 0;
    if (found[IF])
        rc = read_condition(p, def, found[IF]->next);
    if (!rc && found[WHEN])
        rc = read_when(p, def, found[WHEN]->next);
    if (!rc && found[ONCE])
        rc = expect_bool(p, found[ONCE]->next, "`once`", &def->once);
    if (!rc && found[CHECK])
        rc = read_check(p, def, found[CHECK]->next);
    if (!rc && found[UNDO])
        rc = read_undo(p, def, found[UNDO]->next);
    return rc;
}

/* ---- How it is run ---- */

static int read_pool(struct parser *p, struct task_def *def, const struct node *node)
{
    struct definition *out = p->out;
    struct str name;
    int rc = expect_filled(p, node, "`pool`", &name);
    if (rc)
        return rc;
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
    int rc = 0;
    bool external = def->kind == TASK_EXTERNAL;
    def->timeout_ms = external ? 0 : p->timeout_ms;
    def->grace_ms = p->grace_ms;
    def->retry = p->retry;
    if (external)
        def->retry = (struct retry_policy){.factor_permille = 1000};
    def->pool = UINT32_MAX;
    if (found[TIMEOUT])
        rc = read_timeout(p, found[TIMEOUT]->next, &def->timeout_ms, &def->grace_ms);
    if (!rc && found[RETRIES])
        rc = read_retries(p, found[RETRIES]->next, &def->retry);
    if (!rc && found[POOL])
        rc = read_pool(p, def, found[POOL]->next);
    if (!rc && found[PRIORITY])
        rc = expect_integer(p, found[PRIORITY]->next, "`priority`", bounds, &priority);
    def->priority = (int32_t)priority;
    return rc;
}

/* ---- Tasks ---- */

static void begin_task(struct task_def *def)
{
    def->run = def->version = def->external = STR("");
    def->condition = def->check = def->undo = STR("");
    def->members = 1;
}

int read_task(struct parser *p, uint32_t index, const struct node *node)
{
    struct task_def *def = &p->out->defs[index];
    const struct node *found[KEYS] = {NULL};
    struct where where = {"task", def->id};
    char what[128];
    snprintf(what, sizeof what, "task `%.*s`", SHOWN(def->id));
    begin_task(def);
    int rc = expect_map(p, node, what);
    if (!rc)
        rc = expect_keys(p, node, where, key_names, found, KEYS);
    if (!rc)
        rc = choose_kind(p, def, found);
    if (!rc && found[PARAMS])
        rc = read_task_params(p, def, found[PARAMS]->next);
    if (!rc && found[FOREACH])
        rc = read_foreach(p, def, found[FOREACH]->next);
    if (!rc)
        rc = read_environment(p, def, found);
    if (!rc)
        rc = read_command(p, def, found);
    if (!rc)
        rc = read_inputs_outputs(p, def, found);
    if (!rc)
        rc = read_flow(p, def, found);
    if (!rc)
        rc = read_tuning(p, def, found);
    if (!rc)
        p->nodes[index] = (struct task_nodes){found[NEEDS] ? found[NEEDS]->next : NULL,
                                              found[WHEN] ? found[WHEN]->next : NULL};
    return rc;
}
