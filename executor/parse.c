/* The top level of a workflow file, in the order that the parts depend on each other.
 */
#include "executor/parse_int.h"

#include "base/limits.h"
#include "executor/scalar.h"

#include <stdarg.h>
#include <stdio.h>

enum { GRACE_MS = 10000, POOL_MOST = 1000000 };

void parse_warn(struct parser *p, struct position at, const char *format, ...)
{
    char message[256];
    struct buf line = BUF_INIT;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    buf_format(&line, "%s:%u:%u: %s", p->source.name, at.line, at.column, message);
    struct str copy = arena_str(&p->out->arena, buf_view(&line));
    p->warnings.failed |= line.failed;
    buf_add(&p->warnings, &copy, sizeof copy);
    buf_release(&line);
}

static int keep_warnings(struct parser *p)
{
    struct definition *out = p->out;
    uint32_t n = (uint32_t)(p->warnings.size / sizeof *out->warnings);
    out->warnings = arena_take(&out->arena, n, sizeof *out->warnings);
    if (!out->warnings || p->warnings.failed || out->arena.failed)
        return out_of_memory(p);
    if (n)
        memcpy(out->warnings, p->warnings.data, p->warnings.size);
    out->n_warnings = n;
    return 0;
}

/* ---- Parts of the top level ---- */

static int read_name(const struct parser *p, const struct node *node)
{
    struct str name;
    int result = expect_key(p, node, "`name`", &name);
    if (!result)
        result = expect_fixed(p, node, "`name`", &name);
    if (result)
        return result;
    for (size_t i = 0; i < name.len; i++)
        if ((uint8_t)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return diagnose(&p->diagnostic, node->at,
                            "`name` has a line break or another control character in "
                            "it");
    p->out->name = name;
    return 0;
}

static int use_default_shell(struct parser *p)
{
    static const struct str words[] = {NAME("sh"), NAME("-eu"), NAME("-c")};
    p->shell.n = sizeof words / sizeof words[0];
    p->shell.words = arena_take(&p->out->arena, p->shell.n, sizeof *p->shell.words);
    if (!p->shell.words)
        return out_of_memory(p);
    memcpy(p->shell.words, words, sizeof words);
    return 0;
}

static int read_defaults(struct parser *p, const struct node *map)
{
    enum { TIMEOUT, RETRIES, SHELL, COUNT };
    static const struct str names[COUNT] = {NAME("timeout"), NAME("retries"),
                                            NAME("shell")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `defaults`", {NULL, 0}};
    int result = expect_map(p, map, "`defaults`");
    if (!result)
        result = expect_keys(p, map, where, names, found, COUNT);
    if (!result && found[TIMEOUT])
        result = read_timeout(p, found[TIMEOUT]->next, &p->timeout_ms, &p->grace_ms);
    if (!result && found[RETRIES])
        result = read_retries(p, found[RETRIES]->next, &p->retry);
    if (!result && found[SHELL])
        result = read_shell(p, found[SHELL]->next, &p->shell);
    return result;
}

static int read_jobs(const struct parser *p, const struct node *node)
{
    struct bounds bounds = {1, LIMIT_JOBS};
    int64_t jobs;
    int result = expect_integer(p, node, "`jobs`", bounds, &jobs);
    if (!result)
        p->out->jobs = (uint32_t)jobs;
    return result;
}

static int read_one_pool(const struct parser *p, const struct node *key,
                         struct pool *pool)
{
    struct bounds bounds = {1, POOL_MOST};
    char what[128];
    int64_t limit;
    int result = expect_key(p, key, "the name of a pool", &pool->name);
    if (result)
        return result;
    if (!scalar_is_id(pool->name))
        return diagnose(&p->diagnostic, key->at,
                        "the pool name `%.*s` must be made of A-Z, a-z, 0-9, _, - and "
                        ". and not begin with - or .",
                        SHOWN(pool->name));
    snprintf(what, sizeof what, "the limit of pool `%.*s`", SHOWN(pool->name));
    result = expect_integer(p, key->next, what, bounds, &limit);
    if (!result)
        pool->limit = (uint32_t)limit;
    return result;
}

static int read_pools(struct parser *p, const struct node *map)
{
    struct definition *out = p->out;
    int result = expect_map(p, map, "`pools`");
    if (result)
        return result;
    if (map->n > LIMIT_POOLS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, map->at, "more than %d pools",
                           LIMIT_POOLS);
    out->pools = arena_take(&out->arena, map->n, sizeof *out->pools);
    p->pool_used = arena_take(&p->scratch, map->n, sizeof *p->pool_used);
    if (!out->pools || !p->pool_used)
        return out_of_memory(p);
    for (const struct node *key = map->first; key && !result; key = key->next->next)
        result = read_one_pool(p, key, &out->pools[out->n_pools++]);
    return result;
}

static void warn_of_unused_pools(struct parser *p, const struct node *map)
{
    uint32_t i = 0;
    for (const struct node *key = map->first; key; key = key->next->next)
        if (!p->pool_used[i++])
            parse_warn(p, key->at, "no task uses the pool `%.*s`", SHOWN(key->text));
}

static int read_on_failure(const struct parser *p, const struct node *node)
{
    static const struct str words[] = {NAME("stop"), NAME("continue")};
    struct str word;
    int result = expect_text(p, node, "`on_failure`", &word);
    if (result)
        return result;
    for (uint8_t i = 0; i < 2; i++)
        if (str_equal(word, words[i])) {
            p->out->on_failure = i == 0 ? ON_FAILURE_STOP : ON_FAILURE_CONTINUE;
            return 0;
        }
    struct hint hint = hint_nearest(word, words, 2);
    return diagnose(&p->diagnostic, node->at,
                    "`on_failure` must be stop or continue, not `%.*s`%s", SHOWN(word),
                    hint.text);
}

/* ---- The whole ---- */

enum { TOP_NAME, PARAMS, ENV, DEFAULTS, JOBS, POOLS, ON_FAILURE, TASKS, TOP_KEYS };

static int read_parts(struct parser *p, const struct node *const found[])
{
    int result = read_name(p, found[TOP_NAME]->next);
    if (!result)
        result = read_params(p, found[PARAMS] ? found[PARAMS]->next : NULL);
    if (!result && found[ENV])
        result = read_env(p, found[ENV]->next, NULL, &p->env, &p->n_env);
    if (!result)
        result = use_default_shell(p);
    if (!result && found[DEFAULTS])
        result = read_defaults(p, found[DEFAULTS]->next);
    if (!result && found[JOBS])
        result = read_jobs(p, found[JOBS]->next);
    if (!result && found[POOLS])
        result = read_pools(p, found[POOLS]->next);
    if (!result && found[ON_FAILURE])
        result = read_on_failure(p, found[ON_FAILURE]->next);
    if (!result)
        result = read_tasks(p, found[TASKS]->next);
    if (!result && found[POOLS])
        warn_of_unused_pools(p, found[POOLS]->next);
    return result;
}

static int read_top(struct parser *p, const struct node *root)
{
    static const struct str names[TOP_KEYS] = {
        NAME("name"), NAME("params"), NAME("env"),        NAME("defaults"),
        NAME("jobs"), NAME("pools"),  NAME("on_failure"), NAME("tasks")};
    const struct node *found[TOP_KEYS] = {NULL};
    struct where where = {"at the top level", {NULL, 0}};
    int result = expect_map(p, root, "a workflow file");
    if (!result)
        result = expect_keys(p, root, where, names, found, TOP_KEYS);
    if (result)
        return result;
    if (!found[TOP_NAME])
        return diagnose(&p->diagnostic, root->at,
                        "the workflow has no `name`; it is what its runs are found by");
    if (!found[TASKS])
        return diagnose(&p->diagnostic, root->at,
                        "the workflow has no tasks; write them under `tasks`");
    return read_parts(p, found);
}

static int begin(struct parser *p, struct str text)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (text.len > LIMIT_FILE_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, (struct position){0, 0},
                           "the file is larger than %d bytes", LIMIT_FILE_BYTES);
    if (text.len >= 3 && memcmp(text.ptr, mark, 3) == 0)
        text = (struct str){text.ptr + 3, text.len - 3};
    p->source.text = text;
    p->out->file = arena_str(&p->out->arena, str_of(p->options->file));
    p->out->root = arena_str(&p->out->arena, str_of(p->options->root));
    return p->out->arena.failed ? out_of_memory(p) : 0;
}

int definition_parse(struct str text, const struct parse_options *options,
                     struct definition *out, struct cairn_error *error)
{
    struct parser p = {.options = options,
                       .source = {options->name, {"", 0}},
                       .out = out,
                       .grace_ms = GRACE_MS,
                       .retry = {.factor_permille = 1000}};
    const struct node *root = NULL;
    p.diagnostic = (struct diagnostic){&p.source, error};
    definition_init(out);
    int result = begin(&p, text);
    if (!result)
        result = yaml_read(&p.diagnostic, &p.scratch, &root);
    if (!result)
        result = read_top(&p, root);
    if (!result)
        result = keep_warnings(&p);
    buf_release(&p.warnings);
    arena_release(&p.scratch);
    if (result)
        definition_release(out);
    return result;
}
