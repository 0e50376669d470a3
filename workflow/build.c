/* SPDX-License-Identifier: MIT */
/* Workflows that a program builds in memory: what it gives is checked as a file is, and
 * copied. */
#include "workflow/workflow.h"

#include "base/json_scan.h"
#include "base/limits.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"
#include "workflow/glob.h"
#include "workflow/parse_int.h"
#include "workflow/scalar.h"

#include <stdlib.h>

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
    w->set = keys_set_make(name);
    if (!w->set) {
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

/* `env`, or `with` of a callback. */
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
    if (arena->failed)
        return error_nomem(error);
    def->n_env = n;
    qsort(def->env, n, sizeof *def->env, key_value_order);
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
    if (!def->needs)
        return error_nomem(error);
    for (uint32_t i = 0; i < n; i++) {
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

static bool is_call(const struct cairn_task *task)
{
    return task->call || task->callback;
}

static void copy_side_calls(struct definition *d, struct task_def *def,
                            const struct cairn_task *task)
{
    if (!task->check_call && !task->undo_call)
        return;
    def->side = arena_take(&d->arena, 1, sizeof *def->side);
    if (def->side)
        *def->side = (struct side_calls){.check = {task->check_call, task->context},
                                         .undo = {task->undo_call, task->context}};
}

static void copy_command(struct definition *d, struct task_def *def,
                         const struct cairn_task *task)
{
    static const char *const shell[] = {"sh", "-eu", "-c", NULL};
    if (task->run) {
        def->kind = TASK_RUN;
        def->run = arena_str(&d->arena, str_of(task->run));
        def->shell = copy_texts(&d->arena, shell, &def->n_shell);
        def->argv = copy_texts(&d->arena, task->args, &def->n_argv);
    } else if (task->argv) {
        def->kind = TASK_EXEC;
        def->argv = copy_texts(&d->arena, task->argv, &def->n_argv);
    } else if (is_call(task)) {
        def->kind = TASK_CALL;
        def->call = task->call;
        def->context = task->context;
        def->parallel = task->parallel;
        def->version = arena_str(&d->arena, str_of(task->version ? task->version : ""));
        def->callback =
            arena_str(&d->arena, str_of(task->callback ? task->callback : ""));
        copy_side_calls(d, def, task);
    }
    def->port = task->port;
    def->ports = copy_texts(&d->arena, task->ports, &def->n_ports);
    if (task->ready) {
        def->ready = arena_str(&d->arena, str_of(task->ready));
        def->ready_within_ms =
            task->ready_within_ms ? task->ready_within_ms : READY_WITHIN_MS;
        def->ready_every_ms =
            task->ready_every_ms ? task->ready_every_ms : READY_EVERY_MS;
    }
    if (task->fallback)
        def->fallback = arena_str(&d->arena, str_of(task->fallback));
    if (task->ready || task->fallback)
        def->side_shell = copy_texts(&d->arena, shell, &def->n_side_shell);
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
    const char *const places[LIST_FORMS] = {
        [LIST_VALUE] = f->value, [LIST_LINES] = f->lines, [LIST_GLOB] = f->glob,
        [LIST_CSV] = f->csv,     [LIST_TSV] = f->tsv,     [LIST_JSON] = f->json,
        [LIST_JSONL] = f->jsonl};
    uint32_t maker = map_get(&d->by_id, str_of(f->from)), n = 0;
    struct cairn_error inner = {0};
    *spec = (struct list_spec){.task = str_of(f->from),
                               .value = STR(""),
                               .max = f->max ? f->max : LIST_MOST,
                               .allow_empty = f->allow_empty,
                               .column = str_of(f->column ? f->column : f->key),
                               .where = str_of(f->where ? f->where : "")};
    for (int form = LIST_VALUE; form < LIST_FORMS; form++)
        if (places[form]) {
            spec->form = (enum list_form)form;
            spec->value = str_of(places[form]);
            n++;
        }
    bool group = maker != MAP_NONE && d->defs[maker].n_foreach;
    bool sheet = list_is_sheet(spec), of_members = list_is_of_members(spec);
    const char *wrong =
        maker == MAP_NONE                      ? "`from` was not added before it"
        : task_def_is_service(&d->defs[maker]) ? "`from` is a service"
        : n != 1 ? "`from` takes one of value, lines, glob, csv, tsv, json and jsonl"
        : group && f->value == NULL && !of_members
            ? "`from` is a group, whose members leave a file each: name it by its keys"
        : !group && of_members  ? "only a group leaves a file for each value of a key"
        : f->values || f->cells ? "`from` goes without values"
        : f->columns && !(spec->form == LIST_CSV || spec->form == LIST_TSV)
            ? "with `from`, `columns` is for csv and tsv"
        : (f->column || f->where) && !sheet ? "`column` and `where` are for sheets"
        : !spec->column.len                 ? "the name of the column is empty"
        : !spec->value.len                  ? "the name of the list is empty"
        : f->value && !str_is_env_name(spec->value)
            ? "`value` must be a name of A-Z, a-z, 0-9 and _, not beginning with a "
              "digit"
        : spec->max > LIMIT_TASKS ? "`max` is more than a workflow can have tasks"
        : f->glob && glob_check(spec->value, &inner) ? inner.text
                                                     : NULL;
    return wrong ? error_set(error, CAIRN_EWORKFLOW, "task `%s`: %s", task->id, wrong)
                 : 0;
}

static int check_list_where(struct definition *d, const struct cairn_task *task,
                            const struct list_spec *spec, struct cairn_error *error)
{
    const struct text_template *template;
    struct expression_error wrong = {0};
    if (!spec->where.len)
        return 0;
    int rc = definition_text(d, spec->where, true, &template, &wrong);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc)
        return error_set(error, rc, "task `%s`: `where`: %s", task->id, wrong.text);
    const struct expression *e = template->pieces[0].expression;
    for (uint32_t i = 0; i < expression_names(e); i++) {
        enum name_kind kind = expression_name(e, i)->kind;
        if (kind != NAME_KEY && kind != NAME_PARAM)
            return error_set(error, CAIRN_EWORKFLOW,
                             "task `%s`: `where` is about columns and params only",
                             task->id);
    }
    return 0;
}

static int copy_list(struct definition *d, const struct cairn_task *task,
                     struct foreach_key *key, struct cairn_error *error)
{
    struct list_spec spec;
    struct buf text = BUF_INIT, columns = BUF_INIT;
    const char *const *names = task->foreach->columns;
    int rc = read_list_spec(d, task, &spec, error)
                 ?: check_list_where(d, task, &spec, error);
    if (rc)
        return rc;
    for (uint32_t i = 0; names && names[i]; i++) {
        if (!*names[i]) {
            buf_release(&columns);
            return error_set(error, CAIRN_EWORKFLOW,
                             "task `%s`: the name of column %u is empty", task->id,
                             i + 1);
        }
        list_spec_add_column(&columns, str_of(names[i]));
    }
    spec.columns = buf_view(&columns);
    list_spec_write(&spec, &text);
    if (columns.failed)
        text.failed = true;
    buf_release(&columns);
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
    if (d->arena.failed)
        return error_nomem(error);
    if (n > LIMIT_COLUMNS || (n && !f->cells))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: at most %d columns, with cells", task->id,
                         LIMIT_COLUMNS);
    qsort(key->columns, n, sizeof *key->columns, str_order);
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
    if (d->arena.failed)
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
              : task->ports          ? "ports"
                                     : NULL;
    else
        key = task->outputs && task->outputs[0] ? "outputs"
              : task->depfile                   ? "depfile"
              : task->artifacts                 ? "artifacts"
              : task->timeout_ms                ? "timeout_ms"
              : task->may_fail                  ? "may_fail"
              : task->skip_exit                 ? "skip_exit"
              : task->reuse                     ? "reuse"
              : task->cutoff                    ? "cutoff"
              : task->stale                     ? "stale"
              : task->until                     ? "until"
              : task->fallback                  ? "fallback"
              : task->slots > 1                 ? "slots"
              : task->memory_mib                ? "memory_mib"
              : is_call(task)                   ? "call"
                                                : NULL;
    if (!key &&
        ((task->ready && !task->ready[0]) || (task->fallback && !task->fallback[0])))
        return error_set(error, CAIRN_EWORKFLOW, "task `%s`: `%s` is empty", task->id,
                         task->fallback ? "fallback" : "ready");
    return refuse_field(task, task->ready, "service", key, error);
}

/* What has no meaning for a callback, or only for one. */
static int check_kind(const struct cairn_task *task, struct cairn_error *error)
{
    const char *key = NULL;
    if (is_call(task))
        key = task->env && task->env[0] ? "env"
              : task->cwd               ? "cwd"
              : task->stderr_apart      ? "stderr_apart"
              : task->skip_exit         ? "skip_exit"
              : task->nice              ? "nice"
              : task->fallback          ? "fallback"
                                        : NULL;
    else
        key = task->parallel     ? "parallel"
              : task->with       ? "with"
              : task->check_call ? "check_call"
              : task->undo_call  ? "undo_call"
                                 : NULL;
    return refuse_field(task, is_call(task), "callback", key, error);
}

static int check_kept(const struct cairn_task *task, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct buf pattern = BUF_INIT;
    const char *const *text = task->artifacts;
    int rc = 0;
    if (task->artifacts_when > CAIRN_ARTIFACTS_ALWAYS)
        return error_set(error, CAIRN_EUSAGE, "task `%s`: `artifacts_when` is unknown",
                         task->id);
    if (task->reuse_ms < 0)
        return error_set(error, CAIRN_EWORKFLOW, "task `%s`: `reuse_ms` is below 0",
                         task->id);
    if (task->reuse_ms && (!task->reuse || !task->outputs || !task->outputs[0]))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: `reuse_ms` needs `reuse` and `outputs`", task->id);
    if ((!text || !*text) &&
        (task->artifacts_ms || task->artifacts_wanted || task->artifacts_when))
        return error_set(error, CAIRN_EWORKFLOW, "task `%s` has no `artifacts`",
                         task->id);
    if (task->artifacts_ms < 0)
        return error_set(error, CAIRN_EWORKFLOW, "task `%s`: `artifacts_ms` is below 0",
                         task->id);
    for (; text && *text && !rc; text++)
        if (!template_has(str_of(*text)))
            rc = artifact_pattern(str_of(*text), &pattern, &why);
    buf_release(&pattern);
    return rc ? error_set(error, rc, "task `%s`: %s", task->id, why.text) : 0;
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
    int commands = !!task->argv + !!task->run + is_call(task) + !!task->external;
    if (!task->id || !task_id_is_good(str_of(task->id)))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task id `%s` is not 1 to %d of A-Z a-z 0-9 _ . -, with / "
                         "between",
                         task->id ? task->id : "", LIMIT_ID_BYTES);
    if (task->args && !task->run)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s` has `args`, but no `run` that is given them",
                         task->id);
    if (commands != 1 || (task->argv && !task->argv[0]))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s` needs exactly one of argv, run, call and external",
                         task->id);
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
    if ((unsigned)task->when > CAIRN_WHEN_ALWAYS)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: `when` takes CAIRN_WHEN_... only", task->id);
    if (task->stale > ON_STALE_KEEP)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: `stale` takes CAIRN_ON_STALE_... only", task->id);
    if (task->slots > LIMIT_JOBS || task->nice > 19 ||
        task->memory_mib > LIMIT_MEMORY_MIB)
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: slots at most %d, nice at most 19, memory_mib at "
                         "most %d",
                         task->id, LIMIT_JOBS, LIMIT_MEMORY_MIB);
    if (task->callback && !task_id_is_good(str_of(task->callback)))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%s`: the name of its callback, `%s`, is not as an id",
                         task->id, task->callback);
    int rc = check_service(task, error)
             ?: check_rounds(task, error)
             ?: check_kept(task, error);
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

/* ---- Keys ---- */

static const struct program_field fields[] = {
#define FIELD(key, member)                                       \
    {                                                            \
        NAME(key), #member, offsetof(struct cairn_task, member), \
            sizeof(__typeof__(((struct cairn_task *)0)->member)) \
    }
    FIELD("exec", argv),
    FIELD("run", run),
    FIELD("call", call),
    FIELD("call", context),
    FIELD("call", version),
    FIELD("needs", needs),
    FIELD("outputs", outputs),
    FIELD("env", env),
    FIELD("cwd", cwd),
    FIELD("timeout", timeout_ms),
    FIELD("timeout", grace_ms),
    FIELD("retries", retries),
    FIELD("restart", retries),
    FIELD("priority", priority),
    FIELD("call", parallel),
    FIELD("stderr", stderr_apart),
    FIELD("depfile", depfile),
    FIELD("description", description),
    FIELD("needs", after),
    FIELD("needs", soft),
    FIELD("may_fail", may_fail),
    FIELD("skip_exit", skip_exit),
    FIELD("reuse", reuse),
    FIELD("cutoff", cutoff),
    FIELD("ready", ready),
    FIELD("service", ready),
    FIELD("ready", ready_within_ms),
    FIELD("ready", ready_every_ms),
    FIELD("repeat", until),
    FIELD("repeat", rounds),
    FIELD("repeat", round_delay_ms),
    FIELD("slots", slots),
    FIELD("port", port),
    FIELD("foreach", foreach),
    FIELD("nice", nice),
    FIELD("pool", pools),
    FIELD("retries", retry_delay_ms),
    FIELD("retries", retry_factor_permille),
    FIELD("retries", retry_cap_ms),
    FIELD("retries", retry_jitter),
    FIELD("retries", retry_on),
    FIELD("retries", retry_exits),
    FIELD("fallback", fallback),
    FIELD("port", ports),
    FIELD("artifacts", artifacts),
    FIELD("artifacts", artifacts_ms),
    FIELD("artifacts", artifacts_wanted),
    FIELD("artifacts", artifacts_when),
    FIELD("reuse", reuse_ms),
    FIELD("memory", memory_mib),
    FIELD("args", args),
    FIELD("stale", stale),
    FIELD("call", callback),
    FIELD("with", with),
    FIELD("external", external),
    FIELD("if", condition),
    FIELD("when", when),
    FIELD("once", once),
    FIELD("inputs", inputs),
    FIELD("secrets", secrets),
    FIELD("check", check),
    FIELD("undo", undo),
    FIELD("check", check_call),
    FIELD("undo", undo_call),
#undef FIELD
};

const struct program_field *program_field(size_t i)
{
    return i < sizeof fields / sizeof fields[0] ? &fields[i] : NULL;
}

static bool says(const struct cairn_task *task, const struct program_field *field)
{
    const char *bytes = (const char *)task + field->at;
    uint16_t i = 0;
    while (i < field->size && !bytes[i])
        i++;
    return i < field->size;
}

static void note_fields(struct keys_of_task *keys, const struct cairn_task *task)
{
    const struct program_field *field;
    for (size_t i = 0; (field = program_field(i)); i++) {
        size_t k = 0;
        bool restart = str_equal(field->key, STR("restart"));
        if (!says(task, field) || (field->at == offsetof(struct cairn_task, retries) &&
                                   restart == !task->ready))
            continue;
        while (!str_equal(task_key(k), field->key))
            k++;
        keys->by_fields |= 1ULL << k;
    }
}

/* {call: NAME}. A function alone has the name of its key, which is looked up nowhere. */
static int say_side_call(struct cairn_workflow *w, uint32_t index, const char *key,
                         const char *name, cairn_task_fn *call,
                         struct cairn_error *error)
{
    struct buf value = BUF_INIT;
    if (!name && !call)
        return 0;
    buf_text(&value, "{call: \"");
    json_escape(str_of(name ? name : key), &value);
    buf_text(&value, "\"}");
    buf_byte(&value, '\0');
    int rc =
        buf_check(&value, error) ?: keys_set_task(w, index, key, value.data, error);
    buf_release(&value);
    return rc;
}

/* The fields that are read as keys are. */
static int say_keys(struct cairn_workflow *w, uint32_t index,
                    const struct cairn_task *task, struct cairn_error *error)
{
    static const char *const whens[] = {"success", "failed", "always"};
    const struct {
        const char *key, *text;
        const char *const *list;
    } keys[] = {{"external", task->external, NULL},
                {"if", task->condition, NULL},
                {"when", task->when ? whens[task->when] : NULL, NULL},
                {"check", is_call(task) ? NULL : task->check, NULL},
                {"undo", is_call(task) ? NULL : task->undo, NULL},
                {"inputs", NULL, task->inputs},
                {"secrets", NULL, task->secrets}};
    int rc = task->once ? keys_set_task(w, index, "once", "true", error) : 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !rc; i++)
        if (keys[i].text)
            rc = keys_set_text(w, index, keys[i].key, keys[i].text, error);
        else if (keys[i].list)
            rc = keys_set_texts(w, index, keys[i].key, keys[i].list, error);
    if (rc || !is_call(task))
        return rc;
    return say_side_call(w, index, "check", task->check, task->check_call, error)
               ?: say_side_call(w, index, "undo", task->undo, task->undo_call, error);
}

int cairn_workflow_add(struct cairn_workflow *w, const struct cairn_task *task,
                       struct cairn_error *error)
{
    STRUCT_TAKE(cairn_task, task, error);
    const struct cairn_foreach *foreach = task->foreach;
    STRUCT_TAKE_IF(cairn_foreach, foreach, error);
    task_whole.foreach = foreach;
    struct definition *d = &w->definition;
    if (w->compiled || w->name || w->broken)
        return error_set(error, CAIRN_EUSAGE,
                         "tasks cannot be added to a loaded or compiled workflow");
    int rc = check_task(d, task, error);
    struct task_def *def = rc ? NULL : next_def(d);
    if (!def || keys_set_room(w->set, d->n_defs))
        return rc ? rc : error_nomem(error);
    *def = (struct task_def){.timeout_ms = task->timeout_ms,
                             .grace_ms =
                                 task->grace_ms ? task->grace_ms : DEFAULT_GRACE_MS,
                             .slots = task->slots > 1 ? task->slots : 0,
                             .nice = task->nice,
                             .memory = task->memory_mib,
                             .priority = task->priority,
                             .may_fail = task->may_fail,
                             .stale = task->stale,
                             .skip_exit = task->skip_exit,
                             .members = 1};
    task_def_empty_texts(def);
    def->id = arena_str(&d->arena, str_of(task->id));
    copy_command(d, def, task);
    def->outputs = copy_texts(&d->arena, task->outputs, &def->n_outputs);
    def->artifacts = copy_texts(&d->arena, task->artifacts, &def->n_artifacts);
    def->artifacts_ms = task->artifacts_ms;
    def->artifacts_wanted = task->artifacts_wanted;
    def->artifacts_when = task->artifacts_when;
    def->reuse_ms = task->reuse_ms;
    if (task->description)
        def->description = arena_str(&d->arena, str_of(task->description));
    if (task->until)
        def->repeat = (struct repeat_policy){arena_str(&d->arena, str_of(task->until)),
                                             task->rounds, task->round_delay_ms};
    if (task->depfile)
        def->depfile = arena_str(&d->arena, str_of(task->depfile));
    copy_retries(d, def, task);
    rc = copy_env(&d->arena, def, is_call(task) ? task->with : task->env, error);
    if (!rc && ((def->port && def->n_ports) ||
                !service_ports_are_good(def->ports, def->n_ports)))
        rc =
            error_set(error, CAIRN_EWORKFLOW,
                      "task `%s`: `ports` are at most %d names of a-z, 0-9 and _, none "
                      "twice, without `port`",
                      task->id, LIMIT_PORTS);
    if (!rc)
        rc = copy_pools(d, def, task, error) ?: copy_needs(d, def, task, error);
    if (!rc && task->foreach)
        rc = copy_foreach(d, def, task, error);
    if (!rc && (definition_need_makers(d, def) || task_def_name_columns(d, def)))
        rc = error_nomem(error);
    if (!rc)
        rc = task_def_finish(d, def, error);
    if (!rc && (d->arena.failed || map_add(&d->by_id, def->id, d->n_defs, NULL) < 0))
        rc = error_nomem(error);
    for (uint32_t k = 0; rc && k < def->n_foreach; k++)
        map_release(&def->foreach[k].by_value);
    if (rc)
        return rc;
    d->n_defs++;
    note_fields(&w->set->tasks[d->n_defs - 1], task);
    rc = say_keys(w, d->n_defs - 1, task, error);
    w->broken = rc != 0;
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
    d->pools[d->n_pools++] = (struct pool){copy, places, false};
    return 0;
}

int cairn_workflow_share_pool(struct cairn_workflow *w, const char *name,
                              struct cairn_error *error)
{
    struct definition *d = &w->definition;
    if (w->compiled || w->name)
        return error_set(error, CAIRN_EUSAGE,
                         "pools of a loaded or compiled workflow cannot be changed");
    uint32_t pool = name ? definition_pool(d, str_of(name)) : UINT32_MAX;
    if (pool == UINT32_MAX)
        return error_set(error, CAIRN_EWORKFLOW, "there is no pool `%s`",
                         name ? name : "");
    d->pools[pool].shared = true;
    return 0;
}
