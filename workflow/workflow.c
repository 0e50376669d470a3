/* SPDX-License-Identifier: MIT */
/* Loading, building and looking at workflows: the public calls. */
#include "workflow/workflow.h"

#include "base/error.h"
#include "base/identifier.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/shell_word.h"
#include "graph/definition.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"
#include "workflow/glob.h"
#include "workflow/parse.h"
#include "workflow/scalar.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Life ---- */

struct cairn_workflow *workflow_make(void)
{
    struct cairn_workflow *w = calloc(1, sizeof *w);
    struct command_cache *commands = calloc(1, sizeof *commands);
    struct included *included = calloc(1, sizeof *included);
    if (w && commands && included) {
        w->commands = commands;
        w->included = included;
        return w;
    }
    free(w);
    free(commands);
    free(included);
    return NULL;
}

static void forget_commands(struct command_cache *commands)
{
    arena_release(&commands->arena);
    commands->of_def = NULL;
}

void cairn_workflow_free(struct cairn_workflow *w)
{
    if (!w)
        return;
    forget_commands(w->commands);
    free(w->commands);
    graph_release(&w->graph);
    definition_release(&w->definition);
    buf_release(&w->source);
    included_release(w->included);
    free(w->included);
    free(w->name);
    free(w->file);
    free(w->root);
    for (size_t i = 0; i < w->n_params; i++) {
        free((char *)(uintptr_t)w->params[i].name);
        free((char *)(uintptr_t)w->params[i].value);
    }
    free(w->params);
    free(w->were_given);
    additions_free(w->additions, w->n_additions);
    free(w);
}

static int keep_params(struct cairn_workflow *w, const struct cairn_param *params,
                       size_t n)
{
    w->params = calloc(n ? n : 1, sizeof *w->params);
    if (!w->params)
        return CAIRN_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        w->params[i].name = strdup(params[i].name);
        w->params[i].value = strdup(params[i].value);
        w->n_params = i + 1;
        if (!w->params[i].name || !w->params[i].value)
            return CAIRN_ENOMEM;
    }
    return 0;
}

static int parse_source(const struct cairn_workflow *w,
                        const struct definition *recorded, struct mistakes *mistakes,
                        struct definition *out, struct cairn_error *error)
{
    struct parse_options options = {.name = w->name,
                                    .file = w->file,
                                    .root = w->root,
                                    .params = w->params,
                                    .n_params = w->n_params,
                                    .recorded = recorded,
                                    .included = w->included,
                                    .edited_run = w->edited_run,
                                    .were_given = w->were_given,
                                    .additions = w->additions,
                                    .n_additions = w->n_additions,
                                    .mistakes = mistakes};
    return definition_parse(buf_view(&w->source), &options, out, error);
}

/* Of w->source, file and root. */
static int begin_load(struct cairn_workflow *w, const char *name,
                      const struct cairn_param *params, size_t n_params,
                      struct cairn_error *error)
{
    w->name = strdup(name);
    return w->name && w->file && w->root && !keep_params(w, params, n_params)
               ? 0
               : error_nomem(error);
}

int workflow_parse_source(struct cairn_workflow *w, const struct definition *recorded,
                          struct cairn_error *error)
{
    int rc = parse_source(w, recorded, NULL, &w->definition, error);
    return rc ? rc : cairn_workflow_compile(w, error);
}

/* Gives the workflow to the caller, or frees it. */
static int hand_over(struct cairn_workflow **out, struct cairn_workflow *w, int rc)
{
    if (rc)
        cairn_workflow_free(w);
    else
        *out = w;
    return rc;
}

static char *working_directory(void)
{
    return getcwd(NULL, 0); /* GNU: allocates */
}

static bool has_workflow(const char *directory)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.yaml", directory);
    bool has = !path.failed && access(path.data, F_OK) == 0;
    buf_release(&path);
    return has;
}

static int read_source(struct cairn_workflow *w, const char *path,
                       struct cairn_error *error)
{
    static const char why[] =
        "a workflow must be a regular file, because resume reads it again";
    struct cairn_error inner = {0};
    char word[SHELL_WORD_ROOM(400)];
    int rc = os_read_regular(path, LIMIT_FILE_BYTES, &w->source, &inner);
    if (rc == CAIRN_ENOTFOUND && strcmp(path, "-") == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "a workflow is not read from stdin: give the path of its "
                         "file, because resume reads it again");
    if (rc == CAIRN_ENOTFOUND && !strpbrk(path, "./"))
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no file %.400s: give the path of a workflow file, "
                         "such as cairn.yaml",
                         path);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no workflow file %.400s; give the path of one, or "
                         "have one written: `cairn init %s`",
                         path, shell_word_in(word, sizeof word, str_of(path)));
    if (rc == CAIRN_EUSAGE && has_workflow(path))
        return error_set(error, CAIRN_EUSAGE,
                         "%.400s is a directory: give the workflow file in it, "
                         "%.400s/cairn.yaml",
                         path, path);
    if (rc == CAIRN_EUSAGE)
        return error_set(error, CAIRN_EUSAGE, "%.800s: %s", inner.text, why);
    if (rc && error)
        *error = inner;
    if (rc)
        return rc;
    w->file = realpath(path, NULL);
    /* What could be read and is at no path: the shell's own file on stdin. */
    if (!w->file && errno == ENOENT)
        return error_set(error, CAIRN_EUSAGE, "%.800s has no name of its own: %s", path,
                         why);
    if (!w->file)
        return error_sys(error, errno, "cannot resolve %s", path);
    const char *slash = strrchr(w->file, '/');
    w->root = strndup(w->file, slash == w->file ? 1 : (size_t)(slash - w->file));
    return 0;
}

int workflow_read(struct cairn_workflow **out, const char *path,
                  const struct cairn_param *params, size_t n_params,
                  struct cairn_error *error)
{
    struct cairn_workflow *w = workflow_make();
    if (!w)
        return error_nomem(error);
    int rc = read_source(w, path, error);
    if (!rc)
        rc = begin_load(w, path, params, n_params, error);
    return hand_over(out, w, rc);
}

int cairn_workflow_load(struct cairn_workflow **out, const char *path,
                        const struct cairn_param *params, size_t n_params,
                        struct cairn_error *error)
{
    struct cairn_workflow *w;
    int rc = workflow_read(&w, path, params, n_params, error);
    return rc ? rc : hand_over(out, w, workflow_parse_source(w, NULL, error));
}

int cairn_workflow_parse(struct cairn_workflow **out, const char *text, size_t length,
                         const char *name, const struct cairn_param *params,
                         size_t n_params, struct cairn_error *error)
{
    struct cairn_workflow *w = workflow_make();
    if (!w)
        return error_nomem(error);
    buf_add(&w->source, text, length);
    w->file = strdup("");
    w->root = working_directory();
    int rc = buf_check(&w->source, error);
    if (!rc)
        rc = begin_load(w, name, params, n_params, error);
    if (!rc)
        rc = workflow_parse_source(w, NULL, error);
    return hand_over(out, w, rc);
}

/* ---- All mistakes ---- */

static int by_place(const void *a, const void *b)
{
    const struct mistake *left = a, *right = b;
    const struct position *x = &left->at, *y = &right->at;
    if (left->file != right->file)
        return left->file < right->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* The whole of it: parsed, then what only holds of all tasks together. */
static int find_mistakes(struct cairn_workflow *w, struct mistakes *mistakes,
                         struct cairn_error *error)
{
    int rc = parse_source(w, NULL, mistakes, &w->definition, error);
    return rc ? rc : cairn_workflow_compile(w, error);
}

int cairn_workflow_mistakes(const char *path, const struct cairn_param *params,
                            size_t n_params,
                            int (*each)(void *context,
                                        const struct cairn_error *mistake),
                            void *context, struct cairn_error *error)
{
    struct cairn_workflow *w = NULL;
    struct cairn_error local = {0};
    struct mistakes *mistakes = calloc(1, sizeof *mistakes);
    if (!mistakes)
        return error_nomem(error);
    int rc = workflow_read(&w, path, params, n_params, &local);
    if (!rc)
        rc = find_mistakes(w, mistakes, &local);
    if (rc && mistakes->n == 0)
        mistakes->list[mistakes->n++].error = local;
    if (rc)
        qsort(mistakes->list, mistakes->n, sizeof mistakes->list[0], by_place);
    for (uint32_t i = 0; rc && i < mistakes->n; i++)
        if (each(context, &mistakes->list[i].error))
            break;
    if (rc && error)
        *error = local;
    free(mistakes);
    cairn_workflow_free(w);
    return rc;
}

int workflow_reparse(struct cairn_workflow *w, const struct definition *recorded,
                     struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    if (!w->name)
        return 0;
    int rc = parse_source(w, recorded, NULL, &definition, error);
    if (rc)
        return rc;
    rc = graph_build(&graph, &definition, error);
    if (rc) {
        definition_release(&definition);
        return rc;
    }
    graph_release(&w->graph);
    definition_release(&w->definition);
    w->definition = definition;
    w->digested = false;
    w->graph = graph;
    w->graph.definition = &w->definition;
    forget_commands(w->commands);
    return 0;
}

void additions_free(struct addition *additions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(additions[i].name);
        free(additions[i].text);
    }
    free(additions);
}

void workflow_take_additions(struct cairn_workflow *w, uint64_t run,
                             struct addition *additions, size_t n)
{
    additions_free(w->additions, w->n_additions);
    w->additions = additions;
    w->n_additions = n;
    w->added_run = run;
}

int workflow_rebuild(struct cairn_workflow *w, struct cairn_error *error)
{
    struct graph graph;
    int rc = graph_build(&graph, &w->definition, error);
    if (rc)
        return rc;
    graph_release(&w->graph);
    w->graph = graph;
    w->digested = false;
    forget_commands(w->commands);
    return 0;
}

/* ---- Building in memory ---- */

int cairn_workflow_new(struct cairn_workflow **out, const char *name,
                       struct cairn_error *error)
{
    if (!name || !*name || strlen(name) > LIMIT_NAME_BYTES)
        return error_set(error, CAIRN_EUSAGE,
                         "a workflow needs a name of 1 to %d bytes", LIMIT_NAME_BYTES);
    struct cairn_workflow *w = workflow_make();
    if (!w)
        return error_nomem(error);
    definition_init(&w->definition);
    w->definition.name = arena_str(&w->definition.arena, str_of(name));
    w->definition.file = w->definition.root = STR("");
    if (w->definition.arena.failed) {
        cairn_workflow_free(w);
        return error_nomem(error);
    }
    *out = w;
    return 0;
}

static uint32_t count_texts(const char *const *texts)
{
    uint32_t n = 0;
    while (texts && texts[n])
        n++;
    return n;
}

static struct str *copy_texts(struct arena *arena, const char *const *texts,
                              uint32_t *count)
{
    uint32_t n = count_texts(texts);
    struct str *copy = arena_take(arena, n, sizeof *copy);
    for (uint32_t i = 0; copy && i < n; i++)
        copy[i] = arena_str(arena, str_of(texts[i]));
    *count = n;
    return copy;
}

static int by_text(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

static int by_key(const void *a, const void *b)
{
    return str_compare(((const struct key_value *)a)->key,
                       ((const struct key_value *)b)->key);
}

static int copy_env(struct arena *arena, struct task_def *def, const char *const *env,
                    struct cairn_error *error)
{
    uint32_t n = count_texts(env);
    def->env = arena_take(arena, n, sizeof *def->env);
    for (uint32_t i = 0; def->env && i < n; i++) {
        const char *equals = strchr(env[i], '=');
        if (!equals || equals == env[i])
            return error_set(error, CAIRN_EUSAGE,
                             "environment entry `%s` is not NAME=value", env[i]);
        struct str name = {env[i], (size_t)(equals - env[i])};
        def->env[i].key = arena_str(arena, name);
        def->env[i].value = arena_str(arena, str_of(equals + 1));
    }
    if (!def->env)
        return 0; /* cairn_workflow_add checks the arena */
    def->n_env = n;
    qsort(def->env, n, sizeof *def->env, by_key);
    for (uint32_t i = 1; i < n; i++)
        if (str_equal(def->env[i - 1].key, def->env[i].key))
            return error_set(error, CAIRN_EUSAGE,
                             "environment variable `%.*s` is given twice",
                             (int)def->env[i].key.len, def->env[i].key.ptr);
    return 0;
}

static int copy_needs(struct definition *d, struct task_def *def,
                      const struct cairn_task *task, struct cairn_error *error)
{
    uint32_t n_needs = count_texts(task->needs);
    uint32_t n_after = n_needs + count_texts(task->after);
    uint32_t n = n_after + count_texts(task->soft);
    def->needs = arena_take(&d->arena, n, sizeof *def->needs);
    for (uint32_t i = 0; def->needs && i < n; i++) {
        const char *id = i < n_needs   ? task->needs[i]
                         : i < n_after ? task->after[i - n_needs]
                                       : task->soft[i - n_after];
        uint32_t target = map_get(&d->by_id, str_of(id));
        if (target == MAP_NONE)
            return error_set(error, CAIRN_EWORKFLOW,
                             "task `%.*s` needs `%s`, which was not added before it",
                             (int)def->id.len, def->id.ptr, id);
        def->needs[i] = (struct need){.text = arena_str(&d->arena, str_of(id)),
                                      .target = target,
                                      .order = (i >= n_needs && i < n_after) ||
                                               task_def_is_service(&d->defs[target]),
                                      .soft = i >= n_after};
        if (def->needs[i].soft && task_def_is_service(&d->defs[target]))
            return error_set(error, CAIRN_EWORKFLOW,
                             "task `%.*s`: the need of the service `%s` cannot be soft",
                             (int)def->id.len, def->id.ptr, id);
    }
    def->n_needs = n;
    uint32_t clash = n;
    if (task_def_port_clash(d, def, &clash))
        return error_nomem(error);
    if (clash < n)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%.*s` needs two services whose ports would have one "
                         "name; the second one is `%s`",
                         (int)def->id.len, def->id.ptr,
                         d->defs[def->needs[clash].target].id.ptr);
    return 0;
}

/* "NAME" or "NAME=PLACES". */
static int copy_pool_use(const struct definition *d, struct task_def *def,
                         const char *text, struct cairn_error *error)
{
    const char *equals = strchr(text, '=');
    struct str name = {text, equals ? (size_t)(equals - text) : strlen(text)};
    uint32_t pool = definition_pool(d, name);
    int64_t places = 1;
    if (pool == UINT32_MAX)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: the pool of `%s` was not added before it",
                         def->id.ptr, text);
    if (equals && !scalar_to_i64(str_of(equals + 1), &places))
        places = 0;
    if (places < 1 || places > d->pools[pool].limit)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: `%s` must be NAME=PLACES with 1 to %u places",
                         def->id.ptr, text, d->pools[pool].limit);
    struct pool_use use = {pool, (uint32_t)places};
    if (!pool_use_add(def->pools, &def->n_pools, use))
        return error_set(error, CAIRN_EWORKFLOW, "task `%s` has a pool twice: `%s`",
                         def->id.ptr, text);
    return 0;
}

static int copy_pools(struct definition *d, struct task_def *def,
                      const struct cairn_task *task, struct cairn_error *error)
{
    uint32_t n = count_texts(task->pools);
    int rc = 0;
    if (n > LIMIT_TASK_POOLS)
        return error_set(error, CAIRN_ELIMIT, "task `%s` is in more than %d pools",
                         def->id.ptr, LIMIT_TASK_POOLS);
    def->pools = arena_take(&d->arena, n, sizeof *def->pools);
    for (uint32_t i = 0; def->pools && i < n && !rc; i++)
        rc = copy_pool_use(d, def, task->pools[i], error);
    return rc;
}

static void copy_retries(struct definition *d, struct task_def *def,
                         const struct cairn_task *task)
{
    enum { SAME = 1000 };
    const uint8_t *exits = task->retry_exits;
    struct retry_policy *retry = &def->retry;
    *retry = (struct retry_policy){.max = task->retries,
                                   .delay_ms = task->retry_delay_ms,
                                   .factor_permille = task->retry_factor_permille
                                                          ? task->retry_factor_permille
                                                          : SAME,
                                   .cap_ms = task->retry_cap_ms,
                                   .jitter = task->retry_jitter,
                                   .on = task->retry_on};
    uint32_t n = 0;
    while (exits && exits[n])
        n++;
    retry->on_exit = arena_take(&d->arena, n, sizeof *retry->on_exit);
    for (; retry->on_exit && retry->n_on_exit < n; retry->n_on_exit++)
        retry->on_exit[retry->n_on_exit] = exits[retry->n_on_exit];
}

static void copy_command(struct definition *d, struct task_def *def,
                         const struct cairn_task *task)
{
    static const char *const shell[] = {"sh", "-eu", "-c", NULL};
    if (task->run) {
        def->kind = TASK_RUN;
        def->run = arena_str(&d->arena, str_of(task->run));
        def->shell = copy_texts(&d->arena, shell, &def->n_shell);
    } else if (task->argv) {
        def->kind = TASK_EXEC;
        def->argv = copy_texts(&d->arena, task->argv, &def->n_argv);
    } else {
        def->kind = TASK_CALL;
        def->call = task->call;
        def->context = task->context;
        def->parallel = task->parallel;
        def->version = arena_str(&d->arena, str_of(task->version ? task->version : ""));
    }
    def->port = task->port;
    if (task->ready) {
        def->ready = arena_str(&d->arena, str_of(task->ready));
        def->ready_within_ms =
            task->ready_within_ms ? task->ready_within_ms : READY_WITHIN_MS;
        def->ready_every_ms =
            task->ready_every_ms ? task->ready_every_ms : READY_EVERY_MS;
        def->side_shell = copy_texts(&d->arena, shell, &def->n_side_shell);
    }
    if (task->cwd)
        def->cwd = arena_str(&d->arena, str_of(task->cwd));
    def->apart = task->stderr_apart;
    def->reuse = task->reuse;
    def->cutoff = task->cutoff;
}

/* ---- Groups ---- */

/* Where the list comes from that another task makes. */
static int read_list_spec(const struct definition *d, const struct cairn_task *task,
                          struct list_spec *spec, struct cairn_error *error)
{
    const struct cairn_foreach *f = task->foreach;
    const char *place = f->value ? f->value : f->lines ? f->lines : f->glob;
    uint32_t maker = map_get(&d->by_id, str_of(f->from));
    struct cairn_error inner = {0};
    *spec = (struct list_spec){.task = str_of(f->from),
                               .value = str_of(place ? place : ""),
                               .form = f->lines  ? LIST_LINES
                                       : f->glob ? LIST_GLOB
                                                 : LIST_VALUE,
                               .max = f->max ? f->max : LIST_MOST,
                               .allow_empty = f->allow_empty};
    const char *wrong =
        maker == MAP_NONE                       ? "`from` was not added before it"
        : task_def_is_service(&d->defs[maker])  ? "`from` is a service"
        : !f->value + !f->lines + !f->glob != 2 ? "`from` takes one of value, lines "
                                                  "and glob"
        : d->defs[maker].n_foreach && !f->value
            ? "`from` is a group, whose members pass lists on as a `value`"
        : f->values || f->columns || f->cells ? "`from` goes without values"
        : !spec->value.len                    ? "the name of the list is empty"
        : f->value && !str_is_env_name(spec->value)
            ? "`value` must be a name of A-Z, a-z, 0-9 and _, not beginning with a "
              "digit"
        : spec->max > LIMIT_TASKS ? "`max` is more than a workflow can have tasks"
        : f->glob && glob_check(spec->value, &inner) ? inner.text
                                                     : NULL;
    return wrong ? error_set(error, CAIRN_EWORKFLOW, "task `%s`: %s", task->id, wrong)
                 : 0;
}

static int copy_list(struct definition *d, const struct cairn_task *task,
                     struct foreach_key *key, struct cairn_error *error)
{
    struct list_spec spec;
    struct buf text = BUF_INIT;
    int rc = read_list_spec(d, task, &spec, error);
    if (rc)
        return rc;
    list_spec_write(&spec, &text);
    key->source = FOREACH_FROM;
    key->spec = arena_str(&d->arena, buf_view(&text));
    rc = buf_check(&text, error);
    buf_release(&text);
    return rc ? rc : definition_put_placeholder(d, key, error);
}

/* Sorted by name: where a column stands does not matter. */
static int copy_columns(struct definition *d, const struct cairn_task *task,
                        struct foreach_key *key, struct cairn_error *error)
{
    const struct cairn_foreach *f = task->foreach;
    uint32_t n = count_texts(f->columns);
    key->columns = copy_texts(&d->arena, f->columns, &key->n_columns);
    key->cells = arena_take(&d->arena, (size_t)n * key->n, sizeof *key->cells);
    if (!key->columns || !key->cells)
        return error_nomem(error);
    if (n > LIMIT_COLUMNS || (n && !f->cells))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: at most %d columns, with cells", task->id,
                         LIMIT_COLUMNS);
    qsort(key->columns, n, sizeof *key->columns, by_text);
    for (uint32_t c = 0; c < n; c++) {
        uint32_t at = 0;
        bool twice = c && str_equal(key->columns[c - 1], key->columns[c]);
        if (twice || !str_is_key(key->columns[c]) ||
            str_equal(key->columns[c], key->name))
            return error_set(error, CAIRN_EWORKFLOW,
                             "task `%s`: `%s` cannot be a column, or is one twice",
                             task->id, key->columns[c].ptr);
        while (!str_equal(str_of(f->columns[at]), key->columns[c]))
            at++;
        for (uint32_t i = 0; i < key->n; i++)
            key->cells[(size_t)i * n + c] =
                arena_str(&d->arena, str_of(f->cells[(size_t)i * n + at]));
    }
    return 0;
}

static int copy_foreach(struct definition *d, struct task_def *def,
                        const struct cairn_task *task, struct cairn_error *error)
{
    const struct cairn_foreach *f = task->foreach;
    SIZE_CHECK("cairn_foreach", f, error);
    struct foreach_key *key = arena_take(&d->arena, 1, sizeof *key);
    if (!key)
        return error_nomem(error);
    if (!f->key || !str_is_key(str_of(f->key)) || !f->from == !f->values)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: foreach takes a key of a-z, 0-9 and _, and either "
                         "values or `from`",
                         task->id);
    *key = (struct foreach_key){.name = arena_str(&d->arena, str_of(f->key)),
                                .source = f->columns ? FOREACH_SHEET : FOREACH_LIST,
                                .spec = STR("")};
    def->foreach = key;
    def->n_foreach = 1;
    if (f->from)
        return copy_list(d, task, key, error);
    key->values = copy_texts(&d->arena, f->values, &key->n);
    if (!key->values)
        return error_nomem(error);
    for (uint32_t i = 0; i < key->n; i++)
        if (!key->values[i].len)
            return error_set(error, CAIRN_EWORKFLOW, "task `%s`: value %u is empty",
                             task->id, i + 1);
    if (!key->n && !f->allow_empty)
        return error_set(error, CAIRN_EWORKFLOW, "task `%s` has no values", task->id);
    return f->columns ? copy_columns(d, task, key, error) : 0;
}

/* field NULL: there is nothing to refuse. */
static int refuse_field(const struct cairn_task *task, bool is, const char *what,
                        const char *field, struct cairn_error *error)
{
    if (!field)
        return 0;
    return error_set(error, CAIRN_EWORKFLOW,
                     is ? "task `%s` is a %s, which has no `%s`"
                        : "task `%s` is not a %s, so it has no `%s`",
                     task->id, what, field);
}

/* What has no meaning for a service, or only for one. */
static int check_service(const struct cairn_task *task, struct cairn_error *error)
{
    const char *key = NULL;
    if (!task->ready)
        key = task->ready_within_ms  ? "ready_within_ms"
              : task->ready_every_ms ? "ready_every_ms"
              : task->port           ? "port"
                                     : NULL;
    else
        key = task->outputs && task->outputs[0] ? "outputs"
              : task->depfile                   ? "depfile"
              : task->timeout_ms                ? "timeout_ms"
              : task->may_fail                  ? "may_fail"
              : task->skip_exit                 ? "skip_exit"
              : task->reuse                     ? "reuse"
              : task->cutoff                    ? "cutoff"
              : task->until                     ? "until"
              : task->slots > 1                 ? "slots"
              : task->call                      ? "call"
                                                : NULL;
    if (!key && task->ready && !task->ready[0])
        return error_set(error, CAIRN_EWORKFLOW, "task `%s`: `ready` is empty",
                         task->id);
    return refuse_field(task, task->ready, "service", key, error);
}

/* What has no meaning for a callback, or only for one. */
static int check_kind(const struct cairn_task *task, struct cairn_error *error)
{
    const char *key = NULL;
    if (task->call)
        key = task->env && task->env[0] ? "env"
              : task->cwd               ? "cwd"
              : task->stderr_apart      ? "stderr_apart"
              : task->skip_exit         ? "skip_exit"
              : task->nice              ? "nice"
                                        : NULL;
    else
        key = task->parallel ? "parallel" : NULL;
    return refuse_field(task, task->call, "callback", key, error);
}

static int check_rounds(const struct cairn_task *task, struct cairn_error *error)
{
    const struct expression *expression;
    struct expression_error wrong = {0};
    struct arena scratch = ARENA_INIT;
    if (!task->until && !task->rounds && !task->round_delay_ms)
        return 0;
    if (!task->until || !*task->until || !task->rounds ||
        task->rounds > LIMIT_RETRIES || task->round_delay_ms < 0)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: `until` goes with 1 to %d `rounds`, and the delay "
                         "must not be negative",
                         task->id, LIMIT_RETRIES);
    int rc = expression_parse(&scratch, str_of(task->until), &expression, &wrong);
    arena_release(&scratch);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    return rc ? error_set(error, CAIRN_EWORKFLOW, "task `%s`: `until`, byte %zu: %s",
                          task->id, wrong.at + 1, wrong.text)
              : 0;
}

static int check_task(const struct definition *d, const struct cairn_task *task,
                      struct cairn_error *error)
{
    int commands = !!task->argv + !!task->run + !!task->call;
    if (!task->id || !task_id_is_good(str_of(task->id)))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task id `%s` is not 1 to %d of A-Z a-z 0-9 _ . -, with / "
                         "between",
                         task->id ? task->id : "", LIMIT_ID_BYTES);
    if (commands != 1 || (task->argv && !task->argv[0]))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s` needs exactly one of argv, run and call", task->id);
    if (map_get(&d->by_id, str_of(task->id)) != MAP_NONE)
        return error_set(error, CAIRN_EWORKFLOW, "there are two tasks `%s`", task->id);
    if (task->timeout_ms < 0 || task->grace_ms < 0 || task->ready_within_ms < 0 ||
        task->ready_every_ms < 0 || task->retries > LIMIT_RETRIES)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: times must not be negative, retries at most %d",
                         task->id, LIMIT_RETRIES);
    enum { CAN_BE_ON = CAIRN_RETRY_TIMEOUT | CAIRN_RETRY_SIGNAL | CAIRN_RETRY_SPAWN };
    bool shrinks = task->retry_factor_permille && task->retry_factor_permille < 1000;
    bool capped = task->retry_cap_ms && task->retry_cap_ms < task->retry_delay_ms;
    if (task->retry_delay_ms < 0 || task->retry_cap_ms < 0 || shrinks || capped ||
        task->retry_factor_permille > 1000000 || task->retry_on & ~CAN_BE_ON)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: the pauses of retries must not be negative, nor "
                         "shrink, nor their cap be below the first one; `retry_on` "
                         "takes CAIRN_RETRY_... only",
                         task->id);
    if (task->slots > LIMIT_JOBS || task->nice > 19)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: slots at most %d, nice at most 19", task->id,
                         LIMIT_JOBS);
    int rc = check_service(task, error);
    if (!rc)
        rc = check_rounds(task, error);
    return rc ? rc : check_kind(task, error);
}

/* A place for one more task_def. The array moves, so nothing may point into it while a
 * workflow is being built; indexes do. */
static struct task_def *next_def(struct definition *d)
{
    struct task_def *defs =
        array_room(d->defs, d->n_defs, &d->defs_capacity, sizeof *defs);
    if (!defs)
        return NULL;
    d->defs = defs;
    d->defs_growing = true;
    return &d->defs[d->n_defs];
}

bool cairn_workflow_lacks_functions(const struct cairn_workflow *w)
{
    for (uint32_t i = 0; i < w->definition.n_defs; i++)
        if (w->definition.defs[i].kind == TASK_CALL && !w->definition.defs[i].call)
            return true;
    return false;
}

int cairn_workflow_add(struct cairn_workflow *w, const struct cairn_task *task,
                       struct cairn_error *error)
{
    SIZE_CHECK_IF("cairn_task", task, error);
    struct definition *d = &w->definition;
    if (w->compiled || w->name)
        return error_set(error, CAIRN_EUSAGE,
                         "tasks cannot be added to a loaded or compiled workflow");
    int rc = check_task(d, task, error);
    struct task_def *def = rc ? NULL : next_def(d);
    if (!def)
        return rc ? rc : error_nomem(error);
    *def = (struct task_def){.timeout_ms = task->timeout_ms,
                             .grace_ms =
                                 task->grace_ms ? task->grace_ms : DEFAULT_GRACE_MS,
                             .slots = task->slots > 1 ? task->slots : 0,
                             .nice = task->nice,
                             .priority = task->priority,
                             .may_fail = task->may_fail,
                             .skip_exit = task->skip_exit,
                             .members = 1};
    task_def_empty_texts(def);
    def->id = arena_str(&d->arena, str_of(task->id));
    copy_command(d, def, task);
    def->outputs = copy_texts(&d->arena, task->outputs, &def->n_outputs);
    if (task->description)
        def->description = arena_str(&d->arena, str_of(task->description));
    if (task->until)
        def->repeat = (struct repeat_policy){arena_str(&d->arena, str_of(task->until)),
                                             task->rounds, task->round_delay_ms};
    if (task->depfile)
        def->depfile = arena_str(&d->arena, str_of(task->depfile));
    copy_retries(d, def, task);
    rc = copy_env(&d->arena, def, task->env, error);
    if (!rc)
        rc = copy_pools(d, def, task, error);
    if (!rc)
        rc = copy_needs(d, def, task, error);
    if (!rc && task->foreach)
        rc = copy_foreach(d, def, task, error);
    if (!rc)
        rc = definition_need_makers(d, def) ? error_nomem(error) : 0;
    if (!rc)
        rc = task_def_finish(d, def, error);
    if (!rc && (d->arena.failed || map_add(&d->by_id, def->id, d->n_defs, NULL) < 0))
        rc = error_nomem(error);
    if (!rc)
        d->n_defs++;
    for (uint32_t k = 0; rc && k < def->n_foreach; k++)
        map_release(&def->foreach[k].by_value);
    return rc;
}

int cairn_workflow_pool(struct cairn_workflow *w, const char *name, uint32_t places,
                        struct cairn_error *error)
{
    struct definition *d = &w->definition;
    if (w->compiled || w->name)
        return error_set(error, CAIRN_EUSAGE,
                         "pools cannot be added to a loaded or compiled workflow");
    if (!name || !str_is_id(str_of(name)) || strlen(name) > LIMIT_NAME_BYTES ||
        places < 1 || places > LIMIT_POOL_PLACES)
        return error_set(error, CAIRN_EWORKFLOW,
                         "a pool has a name of A-Z a-z 0-9 _ - ., and 1 to %d places",
                         LIMIT_POOL_PLACES);
    if (definition_pool(d, str_of(name)) != UINT32_MAX)
        return error_set(error, CAIRN_EWORKFLOW, "there are two pools `%s`", name);
    if (d->n_pools == LIMIT_POOLS)
        return error_set(error, CAIRN_ELIMIT, "more than %d pools", LIMIT_POOLS);
    if (!d->pools)
        d->pools = arena_take(&d->arena, LIMIT_POOLS, sizeof *d->pools);
    struct str copy = arena_str(&d->arena, str_of(name));
    if (!d->pools || !copy.ptr)
        return error_nomem(error);
    d->pools[d->n_pools++] = (struct pool){copy, places};
    return 0;
}

int cairn_workflow_compile(struct cairn_workflow *w, struct cairn_error *error)
{
    if (w->compiled)
        return 0;
    /* A loaded one has been prepared by the parser. */
    int rc = w->name ? 0 : definition_prepare(&w->definition, error);
    if (!rc)
        rc = graph_build(&w->graph, &w->definition, error);
    w->compiled = !rc;
    return rc;
}

/* ---- Looking ---- */

const char *cairn_workflow_name(const struct cairn_workflow *w)
{
    return w->definition.name.ptr;
}

uint32_t cairn_workflow_tasks(const struct cairn_workflow *w)
{
    return w->graph.n_tasks;
}

uint32_t cairn_workflow_nodes(const struct cairn_workflow *w)
{
    return w->graph.n_nodes;
}

uint64_t cairn_workflow_edges(const struct cairn_workflow *w)
{
    return w->graph.n_edges;
}

uint32_t cairn_workflow_need(const struct cairn_workflow *w, uint32_t node, uint32_t i)
{
    const struct graph *g = &w->graph;
    if (!w->compiled || node >= g->n_nodes ||
        i >= g->need_start[node + 1] - g->need_start[node])
        return NODE_NONE;
    return g->needs[g->need_start[node] + i];
}

const char *cairn_workflow_description(const struct cairn_workflow *w, uint32_t node)
{
    const struct graph *g = &w->graph;
    if (node == UINT32_MAX)
        return w->definition.description.len ? w->definition.description.ptr : NULL;
    if (!w->compiled || node >= g->n_nodes)
        return NULL;
    const struct task_def *def = graph_def(g, node);
    return def->description.len ? def->description.ptr : NULL;
}

int cairn_workflow_value(const struct cairn_workflow *w, uint32_t node, uint32_t i,
                         const char **key, const char **value)
{
    const struct graph *g = &w->graph;
    if (!w->compiled || node >= g->n_tasks || i >= task_def_names(graph_def(g, node)))
        return CAIRN_ENOTFOUND;
    const struct task_def *def = graph_def(g, node);
    struct key_value named = member_named(def, graph_member(g, node), i);
    *key = named.key.ptr; /* texts of a definition end with 0 */
    *value = named.value.ptr;
    return 0;
}

const char *cairn_workflow_secret(const struct cairn_workflow *w, size_t i)
{
    const struct definition *d = &w->definition;
    for (uint32_t k = 0; k < d->n_secrets; k++)
        if (definition_gives_secret(d, d->secrets[k]) && i-- == 0)
            return d->secrets[k].ptr;
    return NULL;
}

uint32_t cairn_workflow_find(const struct cairn_workflow *w, const char *id)
{
    return w->compiled ? graph_find(&w->graph, str_of(id)) : NODE_NONE;
}

const char *cairn_workflow_warning(const struct cairn_workflow *w, size_t i)
{
    return i < w->definition.n_warnings ? w->definition.warnings[i].ptr : NULL;
}

static const char *join_words(struct arena *arena, const struct task_def *def)
{
    struct buf text = BUF_INIT;
    for (uint32_t i = 0; i < def->n_argv; i++) {
        if (i)
            buf_byte(&text, ' ');
        buf_str(&text, def->argv[i]);
    }
    const char *copy = text.failed ? NULL : arena_text(arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

/* What a person would call the command of a task, NULL: out of memory. */
static const char *command_text(const struct cairn_workflow *w, uint32_t index)
{
    const struct task_def *def = &w->definition.defs[index];
    struct command_cache *cache = w->commands;
    if (def->kind == TASK_RUN)
        return def->run.ptr;
    if (def->kind == TASK_CALL)
        return "(callback)";
    if (def->kind == TASK_EXTERNAL)
        return def->external.ptr;
    if (!cache->of_def)
        cache->of_def =
            arena_take(&cache->arena, w->definition.n_defs, sizeof *cache->of_def);
    if (cache->of_def && !cache->of_def[index])
        cache->of_def[index] = join_words(&cache->arena, def);
    return cache->of_def ? cache->of_def[index] : NULL;
}

int cairn_workflow_node(const struct cairn_workflow *w, uint32_t node,
                        struct cairn_node_info *info)
{
    const struct graph *g = &w->graph;
    if (!w->compiled || node >= g->n_nodes)
        return CAIRN_ENOTFOUND;
    const struct task_def *def = graph_def(g, node);
    bool barrier = graph_is_barrier(g, node);
    *info = (struct cairn_node_info){
        .id = g->id[node],
        .group = def->id.ptr,
        .command = barrier ? "" : command_text(w, g->def_of[node]),
        .barrier = barrier,
        .needs = g->need_start[node + 1] - g->need_start[node],
        .finally = def->finally,
        .undo = !barrier && def->undo.len > 0,
        .external = !barrier && def->kind == TASK_EXTERNAL ? def->external.ptr : NULL};
    return 0;
}
