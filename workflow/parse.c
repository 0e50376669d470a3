/* SPDX-License-Identifier: MIT */
/* What holds for a run as a whole: jobs, pools, limits, what happens after failures and
 * crashes, and the defaults of tasks. */
#include "workflow/keys_set.h"
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/words.h"
#include "graph/members.h"
#include "graph/text_expand.h"

#include <stdio.h>

/* ---- Jobs and pools ---- */

static int read_jobs(struct parser *p, const struct node *node)
{
    struct bounds bounds = {1, LIMIT_JOBS};
    int64_t jobs;
    int rc = expect_integer(p, node, "`jobs`", bounds, &jobs);
    if (!rc)
        p->out->jobs = (uint32_t)jobs;
    return rc;
}

/* {slots: 2, scope: store} */
static int read_pool_map(const struct parser *p, const struct node *map,
                         const struct node **slots, bool *shared)
{
    enum { SLOTS, SCOPE, COUNT };
    static const struct str names[COUNT] = {NAME("slots"), NAME("scope")};
    static const struct str scopes[] = {NAME("run"), NAME("store")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"of a pool", {NULL, 0}};
    uint8_t scope = 0;
    int rc = expect_keys(p, map, where, names, found, COUNT);
    if (!rc && !found[SLOTS])
        rc = diagnose(&p->diagnostic, map->at,
                      "the pool has no `slots`, as in {slots: 2, scope: store}");
    if (!rc && found[SCOPE])
        rc = expect_choice(p, found[SCOPE]->next, "`scope`", scopes, 2, &scope);
    *slots = value_of(found[SLOTS]);
    *shared = scope == 1;
    return rc;
}

static int read_memory(struct parser *p, const struct node *node)
{
    return expect_memory(p, node, "`memory`", &p->out->memory);
}

static int read_one_pool(const struct parser *p, const struct node *key,
                         struct pool *pool)
{
    struct bounds bounds = {1, LIMIT_POOL_PLACES};
    const struct node *value = key->next;
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
    if (value->kind == NODE_MAP)
        rc = read_pool_map(p, value, &value, &pool->shared);
    if (!rc)
        rc = expect_integer(p, value, what, bounds, &limit);
    if (!rc)
        pool->limit = (uint32_t)limit;
    return rc;
}

/* One that another file has already is the same pool, and the limit of the file that
 * includes counts. */
static int read_pools(struct parser *p, const struct node *map)
{
    struct definition *out = p->out;
    int rc = expect_map(p, map, "`pools`");
    if (rc)
        return rc;
    size_t n = (size_t)out->n_pools + map->n;
    if (n > LIMIT_POOLS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, map->at, "more than %d pools",
                           LIMIT_POOLS);
    struct pool *pools = arena_take(&out->arena, n, sizeof *pools);
    bool *used = arena_take(&p->scratch, n, sizeof *used);
    if (!pools || !used)
        return out_of_memory(p);
    if (out->n_pools) {
        memcpy(pools, out->pools, out->n_pools * sizeof *pools);
        if (p->pool_used)
            memcpy(used, p->pool_used, out->n_pools * sizeof *used);
    }
    out->pools = pools;
    p->pool_used = used;
    for (const struct node *key = map->first; key && !rc; key = key->next->next) {
        struct pool pool = {STR(""), 0, false};
        rc = read_one_pool(p, key, &pool);
        if (!rc && definition_pool(out, pool.name) == UINT32_MAX)
            pools[out->n_pools++] = pool;
    }
    return rc;
}

static void warn_of_unused_pools(struct parser *p, const struct node *map)
{
    for (const struct node *key = map->first; key; key = key->next->next)
        if (!p->pool_used[definition_pool(p->out, key->text)])
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

static int read_on_failure(struct parser *p, const struct node *node)
{
    static const struct str words[] = {NAME("stop"), NAME("continue"), NAME("undo"),
                                       NAME("cancel")};
    if (node->kind == NODE_MAP)
        return read_undo_scope(p, node);
    return expect_choice(p, node, "`on_failure`", words, 4, &p->out->on_failure);
}

static int read_on_crash(struct parser *p, const struct node *node)
{
    static const struct str words[] = {NAME("kill"), NAME("adopt")};
    return expect_choice(p, node, "`on_crash`", words, 2, &p->out->on_crash);
}

static int read_again(struct parser *p, const struct node *node)
{
    static const struct str words[] = {NAME("always"), NAME("never")};
    return expect_choice(p, node, "`again`", words, 2, &p->out->again);
}

/* ---- Defaults ---- */

static int use_default_shell(struct parser *p)
{
    static const struct str words[] = {NAME("sh"), NAME("-eu"), NAME("-c")};
    p->in->shell.n = sizeof words / sizeof words[0];
    p->in->shell.words =
        arena_take(&p->out->arena, p->in->shell.n, sizeof *p->in->shell.words);
    if (!p->in->shell.words)
        return out_of_memory(p);
    memcpy(p->in->shell.words, words, sizeof words);
    return 0;
}

static int read_default_check(struct parser *p, const struct node *map)
{
    enum { MIN, WARN, COUNT };
    static const struct str names[COUNT] = {NAME("min"), NAME("warn")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `check` of `defaults`", {NULL, 0}};
    int rc = expect_map(p, map, "`check`")
                 ?: expect_keys(p, map, where, names, found, COUNT);
    return rc ? rc : read_thresholds(p, found[MIN], found[WARN], &p->in->check);
}

/* In the order of the keys of `defaults`. */
enum {
    TIMEOUT,
    RETRIES,
    SHELL,
    CHECK,
    CWD,
    POOL,
    REUSE,
    TASK_PARAMS,
    TASK_MEMORY,
    STALE,
    DEFAULT_KEYS
};
static const struct str default_keys[DEFAULT_KEYS] = {
    NAME("timeout"), NAME("retries"), NAME("shell"),  NAME("check"),  NAME("cwd"),
    NAME("pool"),    NAME("reuse"),   NAME("params"), NAME("memory"), NAME("stale")};

static int read_defaults(struct parser *p, const struct node *map)
{
    const struct node *found[DEFAULT_KEYS] = {NULL};
    struct where where = {"in `defaults`", {NULL, 0}};
    int rc = expect_map(p, map, "`defaults`")
                 ?: expect_keys(p, map, where, default_keys, found, DEFAULT_KEYS);
    if (!rc && found[TIMEOUT])
        rc =
            read_timeout(p, found[TIMEOUT]->next, &p->in->timeout_ms, &p->in->grace_ms);
    if (!rc && found[RETRIES])
        rc = read_retries(p, found[RETRIES]->next, "`retries`", &p->in->retry);
    if (!rc && found[SHELL])
        rc = read_shell(p, found[SHELL]->next, &p->in->shell);
    if (!rc && found[CHECK])
        rc = read_default_check(p, found[CHECK]->next);
    if (!rc && found[CWD])
        rc = read_directory(p, found[CWD]->next, NULL, IN_WORKFLOW, &p->in->cwd);
    if (!rc && found[POOL])
        rc = read_pool_uses(p, found[POOL]->next, &p->in->pools);
    if (!rc && found[REUSE])
        rc = read_reuse(p, found[REUSE]->next, &p->in->reuse, &p->in->reuse_ms);
    if (!rc && found[STALE])
        rc = read_stale(p, found[STALE]->next, &p->in->stale);
    if (!p->in->scope.len)
        p->out->stale = p->in->stale;
    if (!rc && found[TASK_PARAMS]) { /* here for its mistakes, and then by each task */
        struct task_def any = {0};
        rc = read_task_params(p, &any, found[TASK_PARAMS]->next);
        p->in->params = rc ? NULL : found[TASK_PARAMS];
    }
    if (!rc && found[TASK_MEMORY])
        rc = expect_memory(p, found[TASK_MEMORY]->next, "`memory`", &p->in->memory);
    return rc;
}

/* The top level of a workflow file, in the order that the parts depend on each other.
 */

enum { CHECK_MIN = 700, CHECK_WARN = 850 };

static int read_name(struct parser *p, const struct node *node)
{
    struct str name;
    int rc =
        expect_key(p, node, "`name`", &name) ?: expect_fixed(p, node, "`name`", &name);
    if (rc)
        return rc;
    for (size_t i = 0; i < name.len; i++)
        if ((uint8_t)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return diagnose(&p->diagnostic, node->at,
                            "`name` has a line break or another control character in "
                            "it");
    p->out->name = name;
    return 0;
}

/* ---- Runs beside each other ---- */

/* sales[day=2026-01-02,region=eu], or with a hash of all where that is too long. */
static int put_params(const struct definition *d, struct buf *name)
{
    struct buf params = BUF_INIT;
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    size_t start = name->size;
    for (uint32_t i = 0; i < d->n_params; i++) {
        buf_text(name, i ? "," : "[");
        buf_str(name, d->params[i].key);
        buf_byte(name, '=');
        value_shown(d->params[i].value, name);
    }
    buf_byte(name, ']');
    if (name->size > LIMIT_NAME_BYTES) {
        if (definition_params(d, &params, &digest, NULL))
            name->failed = true;
        else {
            digest_hex(&digest, hex);
            name->size = start;
            buf_format(name, "[%.16s]", hex);
        }
    }
    buf_release(&params);
    return buf_check(name, NULL);
}

/* All that is kept of runs, and the lock of the one that lives, goes by the name of the
 * workflow: with the params in it those with other params are another workflow's. */
static int read_concurrency(struct parser *p, const struct node *node)
{
    struct definition *out = p->out;
    struct buf name = BUF_INIT;
    bool params = node->kind == NODE_TEXT && str_equal(node->text, STR("params"));
    if (!params && !(node->kind == NODE_TEXT && str_equal(node->text, STR("workflow"))))
        return diagnose(
            &p->diagnostic, node->at,
            "`concurrency` is `workflow` (one run lives at a time) or "
            "`params` (one for each set of params); for the number of tasks "
            "that run at once write `jobs: 4`");
    if (!params || p->in->parent)
        return 0;
    if (!out->n_params)
        return diagnose(
            &p->diagnostic, node->at,
            "`concurrency: params` needs `params`, by which the runs differ");
    buf_str(&name, out->name);
    int rc = put_params(out, &name) ? out_of_memory(p) : 0;
    if (!rc && name.size > LIMIT_NAME_BYTES)
        rc = diagnose(&p->diagnostic, node->at,
                      "`name` is too long for `concurrency: params`, which puts the "
                      "params behind it: at most %d bytes",
                      LIMIT_NAME_BYTES - 18);
    if (!rc) {
        out->name = arena_str(&out->arena, buf_view(&name));
        p->concurrency = node;
    }
    buf_release(&name);
    return !rc && out->arena.failed ? out_of_memory(p) : rc;
}

/* Runs that live at once, and write the same file. */
static void warn_of_shared_outputs(struct parser *p)
{
    const struct definition *d = p->out;
    const struct task_def *first = NULL;
    struct str file = STR("");
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n_defs; i++) {
        const struct task_def *def = &d->defs[i];
        uint32_t k = 0;
        while (k < def->n_outputs && template_has(def->outputs[k]))
            k++;
        if (k == def->n_outputs || template_has(def->cwd))
            continue;
        if (!n++) {
            first = def;
            file = def->outputs[k];
        }
    }
    if (n)
        parse_warn(p, p->concurrency->at,
                   "the output `%.*s` of task `%.*s`%s is the same file whatever the "
                   "params: runs with other params that live at once overwrite it; put "
                   "a param into its name, or into `cwd`",
                   SHOWN(file), SHOWN(first->id), n > 1 ? ", as those of others," : "");
}

static int read_top_description(struct parser *p, const struct node *node)
{
    return read_description(p, node, &p->out->description);
}

static int read_top_env(struct parser *p, const struct node *node)
{
    return read_env(p, node, NULL, &p->in->env, &p->in->n_env);
}

static int read_templates(struct parser *p, const struct node *map)
{
    int rc = expect_map(p, map, "`templates`");
    p->in->templates =
        rc ? NULL : arena_take(&p->scratch, map->n, sizeof *p->in->templates);
    if (!rc && !p->in->templates)
        return out_of_memory(p);
    for (const struct node *key = map->first; key && !rc; key = key->next->next) {
        rc = check_template_keys(p, key) ?: template_add(p, key);
    }
    return rc;
}

static int read_deadline(struct parser *p, const struct node *node)
{
    return expect_duration(p, node, "`deadline`", 1, &p->out->deadline_ms);
}

/* ---- The keys of the top level ---- */

enum {
    TOP_NAME,
    DESCRIPTION,
    PARAMS,
    CONCURRENCY,
    AGAIN,
    SECRETS,
    ENV,
    POOLS,
    DEFAULTS,
    INCLUDE,
    TEMPLATES,
    JOBS,
    MEMORY,
    DEADLINE,
    ON_FAILURE,
    ON_CRASH,
    TASKS,
    FINALLY,
    TOP_KEYS
};

/* In the order in which they are read. */
static const struct {
    struct str name;
    int (*read)(struct parser *p, const struct node *value); /* NULL: see read_keys */
} top_keys[TOP_KEYS] = {
    [TOP_NAME] = {NAME("name"), read_name},
    [DESCRIPTION] = {NAME("description"), read_top_description},
    [PARAMS] = {NAME("params"), read_params},
    [CONCURRENCY] = {NAME("concurrency"), read_concurrency},
    [AGAIN] = {NAME("again"), read_again},
    [SECRETS] = {NAME("secrets"), read_secrets},
    [ENV] = {NAME("env"), read_top_env},
    [POOLS] = {NAME("pools"), read_pools},
    [DEFAULTS] = {NAME("defaults"), read_defaults},
    [INCLUDE] = {NAME("include"), read_include},
    [TEMPLATES] = {NAME("templates"), read_templates},
    [JOBS] = {NAME("jobs"), read_jobs},
    [MEMORY] = {NAME("memory"), read_memory},
    [DEADLINE] = {NAME("deadline"), read_deadline},
    [ON_FAILURE] = {NAME("on_failure"), read_on_failure},
    [ON_CRASH] = {NAME("on_crash"), read_on_crash},
    [TASKS] = {NAME("tasks"), NULL}, /* these two together */
    [FINALLY] = {NAME("finally"), NULL},
};

struct str top_key(size_t i)
{
    return i < TOP_KEYS ? top_keys[i].name : (struct str){NULL, 0};
}

static unsigned places_of(struct str key)
{
    unsigned places = is_task_key(key) ? KEY_OF_TASK : 0;
    for (size_t i = 0; i < TOP_KEYS; i++)
        places |= str_equal(top_key(i), key) ? KEY_OF_TOP : 0;
    for (size_t i = 0; i < DEFAULT_KEYS; i++)
        places |= str_equal(default_keys[i], key) ? KEY_OF_DEFAULTS : 0;
    return places;
}

/* Of an included file: what holds for a run as a whole is the workflow's own. It is
 * checked all the same, for the file may be run alone. */
static void keep_own(struct parser *p, const struct definition *own,
                     const struct node *const found[])
{
    struct definition *out = p->out;
    bool other = (found[DEADLINE] && out->deadline_ms != own->deadline_ms) ||
                 (found[ON_CRASH] && out->on_crash != own->on_crash) ||
                 (found[ON_FAILURE] && (out->on_failure != own->on_failure ||
                                        out->undo_scope != own->undo_scope));
    const struct node *key = found[DEADLINE]     ? found[DEADLINE]
                             : found[ON_FAILURE] ? found[ON_FAILURE]
                                                 : found[ON_CRASH];
    if (other)
        parse_warn(p, key->at,
                   "`deadline`, `on_failure` and `on_crash` of an included file are "
                   "ignored: those of the workflow's own file count");
    out->name = own->name;
    out->description = own->description;
    out->jobs = own->jobs;
    out->memory = own->memory;
    out->deadline_ms = own->deadline_ms;
    out->on_failure = own->on_failure;
    out->undo_scope = own->undo_scope;
    out->on_crash = own->on_crash;
    out->again = own->again;
}

static int read_keys(struct parser *p, const struct node *const found[])
{
    struct definition own = *p->out; /* only its numbers and texts are used */
    int rc = use_default_shell(p);
    for (size_t i = 0; i < TOP_KEYS && !rc; i++)
        if (top_keys[i].read && (found[i] || i == PARAMS)) {
            rc = top_keys[i].read(p, value_of(found[i]));
            if (rc && i >= PARAMS && i <= TEMPLATES && p->options->mistakes)
                p->options->mistakes->names_unknown = true;
            rc = parse_go_on(p, rc);
        }
    if (!rc && p->in->parent)
        keep_own(p, &own, found);
    p->in->tasks = value_of(found[TASKS]);
    p->in->finally = value_of(found[FINALLY]);
    p->in->secrets_list = value_of(found[SECRETS]);
    p->in->pools_map = value_of(found[POOLS]);
    return rc;
}

static int refuse_github_jobs(const struct parser *p, const struct node *key)
{
    const struct node *first = key->next->first;
    struct str name = first && str_is_id(first->text) ? first->text : STR("NAME");
    return diagnose(&p->diagnostic, key->at,
                    "`jobs` is the number of tasks that run at the same time; a job of "
                    "GitHub Actions is a task here: `tasks: {%.*s: {needs: [OTHER], "
                    "run: CMD}}`; docs/coming-from.md shows a whole workflow in both "
                    "forms",
                    SHOWN(name));
}

/* The mapping of the tasks of one addition. */
static int read_addition(struct parser *p, const struct source *source,
                         const struct node **tasks)
{
    static const struct str names[1] = {NAME("tasks")};
    const struct diagnostic own = {source, p->diagnostic.error, &p->place};
    const struct node *root = NULL, *found[1] = {NULL};
    struct where where = {"among added tasks", {NULL, 0}};
    int rc = yaml_read(&own, &p->scratch, &root)
             ?: expect_map(p, root, "an addition")
             ?: expect_keys(p, root, where, names, found, 1);
    if (!rc && !found[0])
        rc = diagnose(&p->diagnostic, root->at,
                      "added tasks stand under `tasks`, as in {tasks: {NAME: {run: "
                      "CMD}}}");
    if (!rc)
        rc = expect_map(p, value_of(found[0]), "`tasks`");
    if (!rc && !value_of(found[0])->n)
        rc = diagnose(&p->diagnostic, value_of(found[0])->at, "no tasks are added");
    if (!rc)
        *tasks = value_of(found[0]);
    return rc;
}

bool addition_lacks(const struct addition *addition, struct str name)
{
    size_t i = 0;
    while (i < addition->n_gone && !str_equal(str_of(addition->gone[i]), name))
        i++;
    return i < addition->n_gone;
}

/* Without those that were withdrawn. The nodes are ours alone. */
static void drop_gone(const struct addition *addition, const struct node *tasks)
{
    struct node *map = (struct node *)(uintptr_t)tasks;
    struct node **at = &map->first;
    while (addition->n_gone && *at)
        if (addition_lacks(addition, (*at)->text)) {
            *at = (*at)->next->next;
            map->n--;
        } else
            at = &(*at)->next->next;
}

/* Those that were added to the run stand behind those of the file. The nodes are ours
 * alone. */
static int add_tasks(struct parser *p, const struct node *tasks)
{
    struct node *map = (struct node *)(uintptr_t)tasks;
    struct source *last = &p->in->source;
    struct node **end = &map->first;
    size_t n = p->options->n_additions;
    int rc = 0;
    if (!n || p->in->parent || map->kind != NODE_MAP)
        return 0;
    struct source *sources = arena_take(&p->scratch, n, sizeof *sources);
    if (!sources)
        return out_of_memory(p);
    p->checked_after = source_position(last, last->text.len).line;
    p->checked_to = p->checked_after;
    for (size_t i = 0; i < n && !rc; i++) {
        const struct addition *addition = &p->options->additions[i];
        const struct node *more = NULL;
        struct str text = {addition->text, addition->length};
        sources[i] =
            (struct source){.name = addition->name,
                            .text = str_without_mark(text),
                            .before = source_position(last, last->text.len).line};
        last->more = &sources[i];
        last = &sources[i];
        p->source = p->in->source;
        rc = read_addition(p, last, &more);
        if (i < p->options->n_checked)
            p->checked_to = source_position(last, last->text.len).line;
        while (*end)
            end = &(*end)->next;
        if (!rc) {
            drop_gone(addition, more);
            *end = more->first;
            map->n += more->n;
            p->added = p->added ? p->added : more->first;
        }
    }
    return rc;
}

static int read_top(struct parser *p, const struct node *root)
{
    struct str names[TOP_KEYS];
    const struct node *found[TOP_KEYS] = {NULL};
    struct where where = {"at the top level", {NULL, 0}};
    for (size_t i = 0; i < TOP_KEYS; i++)
        names[i] = top_keys[i].name;
    int rc = expect_map(p, root, "a workflow file")
                 ?: expect_keys(p, root, where, names, found, TOP_KEYS);
    if (rc)
        return rc;
    if (!found[TOP_NAME] && !p->in->parent)
        rc = parse_go_on(p,
                         diagnose(&p->diagnostic, root->at,
                                  "the workflow has no `name`; it is what its runs are "
                                  "found by"));
    if (rc)
        return rc;
    if (found[JOBS] && value_of(found[JOBS])->kind == NODE_MAP)
        return refuse_github_jobs(p, found[JOBS]);
    if (!found[TASKS])
        return diagnose(&p->diagnostic, root->at,
                        "the workflow has no tasks; write them under `tasks`");
    rc = add_tasks(p, found[TASKS]->next);
    return rc ? rc : read_keys(p, found);
}

/* Of a workflow that a program builds. */
static int read_set(struct parser *p)
{
    struct str names[TOP_KEYS];
    const struct node *found[TOP_KEYS] = {NULL};
    struct where where = {"at the top level", {NULL, 0}};
    for (size_t i = 0; i < TOP_KEYS; i++)
        names[i] = top_keys[i].name;
    int rc = expect_keys(p, p->options->set->top, where, names, found, TOP_KEYS);
    return rc ? rc : read_keys(p, found);
}

/* ---- The whole ---- */

static int begin_parsing(struct parser *p, struct workflow_file *own, struct str text)
{
    const struct keys_set *set = p->options->set;
    struct source source = {.name = p->options->name, .text = str_without_mark(text)};
    *own = (struct workflow_file){.source = set ? set->own : source,
                                  .scope = STR(""),
                                  .root = p->options->root,
                                  .cwd_root = STR(""),
                                  .real = p->options->file};
    p->files =
        arena_take(&p->scratch, 1 + LIMIT_INCLUDED, sizeof(struct workflow_file *));
    if (!p->files)
        return out_of_memory(p);
    p->files[p->n_files++] = own;
    parse_enter(p, own);
    if (text.len > LIMIT_FILE_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, (struct position){0, 0},
                           "the file is larger than %d bytes", LIMIT_FILE_BYTES);
    p->out->description = STR("");
    if (set) {
        p->pool_used = arena_take(&p->scratch, p->out->n_pools, sizeof *p->pool_used);
        return p->pool_used ? 0 : out_of_memory(p);
    }
    p->out->file = arena_str(&p->out->arena, str_of(p->options->file));
    p->out->root = arena_str(&p->out->arena, str_of(p->options->root));
    return p->out->arena.failed ? out_of_memory(p) : 0;
}

/* All but tasks, of one file. Those that it includes come behind the others. */
static int read_file(struct parser *p, struct workflow_file *file)
{
    const struct node *root = NULL;
    file->grace_ms = DEFAULT_GRACE_MS;
    file->retry = (struct retry_policy){.factor_permille = 1000};
    file->check = (struct thresholds){CHECK_MIN, CHECK_WARN};
    file->cwd = file->cwd_root;
    parse_enter(p, file);
    if (p->options->set && !file->parent)
        return read_set(p);
    int rc = yaml_read(&p->diagnostic, &p->scratch, &root);
    return rc ? rc : read_top(p, root);
}

static int read_files(struct parser *p)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->n_files && !rc; i++)
        rc = read_file(p, p->files[i]);
    if (!rc && !(p->options->mistakes && p->options->mistakes->names_unknown))
        rc = read_tasks(p);
    for (uint32_t i = 0; i < p->n_files && !rc && parse_is_good(p); i++) {
        parse_enter(p, p->files[i]);
        if (i == 0 && p->concurrency)
            warn_of_shared_outputs(p);
        if (i == 0 && p->in->pools_map)
            warn_of_unused_pools(p, p->in->pools_map);
        warn_of_unused_templates(p);
        if (p->in->secrets_list)
            warn_of_unlisted_secrets(p, p->in->secrets_list);
    }
    return rc;
}

static int keep_files(struct parser *p)
{
    struct definition *out = p->out;
    out->files = arena_take(&out->arena, p->n_files, sizeof *out->files);
    for (uint32_t i = 0; out->files && i < p->n_files; i++)
        out->files[i] =
            i ? arena_str(&out->arena, str_of(p->files[i]->source.name)) : out->file;
    out->n_files = out->files ? p->n_files : 0;
    return out->arena.failed ? out_of_memory(p) : 0;
}

int definition_parse(struct str text, const struct parse_options *options,
                     struct definition *out, struct cairn_error *error)
{
    struct workflow_file own;
    struct parser p = {.options = options, .places_of = places_of, .out = out};
    p.diagnostic = (struct diagnostic){&p.source, error, &p.place};
    if (!options->set)
        definition_init(out);
    int rc = begin_parsing(&p, &own, text) ?: read_files(&p);
    if (!rc && !parse_is_good(&p))
        rc = CAIRN_EWORKFLOW;
    else if (rc && options->mistakes && options->mistakes->n < MISTAKES)
        parse_go_on(&p, rc);
    if (!rc)
        rc = keep_messages(&p) ?: keep_files(&p) ?: definition_prepare(out, 0, error);
    out->n_extended = p.n_extended;
    out->value_bytes = p.value_bytes;
    buf_release(&p.warnings);
    buf_release(&p.notes);
    buf_release(&p.pending);
    buf_release(&p.sheets);
    arena_release(&p.scratch);
    if (rc && !options->set)
        definition_release(out);
    return rc;
}
