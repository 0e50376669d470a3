/* SPDX-License-Identifier: MIT */
/* Command line and environment of an attempt. All strings of one stand in job->text,
 * NUL-terminated; their offsets are noted first, because the buffer moves while it
 * grows. */
#include "executor/state/values_file.h"

#include "base/array.h"
#include "base/limits.h"
#include "graph/members.h"
#include "process/live.h"
#include "process/shell_words.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The inherited environment ---- */

/* NULL: the entry is another variable's. */
static const char *value_in(const char *entry, struct str name)
{
    bool is = strncmp(entry, name.ptr, name.len) == 0 && entry[name.len] == '=';
    return is ? entry + name.len + 1 : NULL;
}

/* Of several, the last one counts. NULL: none. */
static const char *value_of(char *const *entries, size_t n, struct str name)
{
    const char *value = NULL;
    while (n && !value)
        value = value_in(entries[--n], name);
    return value;
}

int environments_open(struct engine *e, struct cairn_error *error)
{
    uint32_t n = 0;
    while (environ && environ[n])
        n++;
    e->environments.inherited =
        arena_take(&e->run.arena, (size_t)n + 1, sizeof(char *));
    e->environments.of_def =
        arena_take(&e->run.arena, e->request.graph->definition->n_defs,
                   sizeof *e->environments.of_def);
    for (uint32_t i = 0; i < n && !e->run.arena.failed; i++)
        if (strncmp(environ[i], "CAIRN_", 6) != 0)
            e->environments.inherited[e->environments.n++] =
                arena_text(&e->run.arena, str_of(environ[i]));
    if (e->run.arena.failed)
        return error_nomem(error);
    const char *path =
        value_of(e->environments.inherited, e->environments.n, STR("PATH"));
    e->environments.direct = path && direct_shell(path);
    return 0;
}

/* Not inherited: variables that the task has a value of its own for, and secrets. */
static bool task_overrides(const struct engine *e, const struct task_def *def,
                           struct str name)
{
    const struct definition *d = e->request.graph->definition;
    bool found = names_have(d->secrets, d->n_secrets, name);
    for (uint32_t i = 0; i < d->n_params && !found; i++)
        found = str_equal(d->params[i].key, name) && task_def_takes_param(def, name);
    for (uint32_t i = 0; i < def->n_foreach && !found; i++)
        found = str_equal(def->foreach[i].name, name);
    for (uint32_t i = 0; i < def->n_env && !found; i++)
        found = str_equal(def->env[i].key, name);
    return found;
}

/* Made once per task_def: pointers to the inherited entries that stay. */
static struct environment *inherited_environment(struct engine *e,
                                                 const struct task_def *def)
{
    struct environment *env =
        &e->environments.of_def[def - e->request.graph->definition->defs];
    if (env->made)
        return env;
    env->entries =
        arena_take(&e->run.arena, (size_t)e->environments.n + 1, sizeof(char *));
    if (!env->entries)
        return NULL;
    for (uint32_t i = 0; i < e->environments.n; i++) {
        const char *entry = e->environments.inherited[i];
        const char *equals = strchr(entry, '=');
        struct str name = {entry, equals ? (size_t)(equals - entry) : strlen(entry)};
        if (!task_overrides(e, def, name))
            env->entries[env->n++] = e->environments.inherited[i];
    }
    env->direct = e->environments.direct && !task_overrides(e, def, STR("PATH")) &&
                  !task_overrides(e, def, STR("PWD"));
    env->made = true;
    return env;
}

/* ---- One attempt's strings ---- */

struct strings {
    struct job *job;
    size_t *offset;
    size_t n, capacity;
    size_t n_env, n_argv; /* then comes the other command line, if there is one */
    bool own_pwd;
};

static int begin_string(struct strings *s)
{
    size_t *offset = array_room(s->offset, s->n, &s->capacity, sizeof *offset);
    if (!offset)
        return CAIRN_ENOMEM;
    s->offset = offset;
    s->offset[s->n++] = s->job->text.size;
    return 0;
}

static int add_variable(struct strings *s, struct str name, struct str value)
{
    if (begin_string(s))
        return CAIRN_ENOMEM;
    buf_str(&s->job->text, name);
    buf_byte(&s->job->text, '=');
    buf_str(&s->job->text, value);
    buf_byte(&s->job->text, 0);
    return 0;
}

static int add_text(struct strings *s, struct str text)
{
    if (begin_string(s))
        return CAIRN_ENOMEM;
    buf_str(&s->job->text, text);
    buf_byte(&s->job->text, 0);
    return 0;
}

/* NAME=text, or only the text, with values put in. The kernel's strings end at a NUL.
 */
static int add_expanded(struct strings *s, const struct scope *scope, struct str name,
                        struct str text, struct cairn_error *error)
{
    struct buf *out = &s->job->text;
    if (begin_string(s))
        return error_nomem(error);
    if (name.len) {
        buf_str(out, name);
        buf_byte(out, '=');
    }
    size_t start = out->size;
    int rc = text_expand(scope, text, out, error);
    if (!rc && !out->failed && memchr(out->data, 0, out->size) &&
        memchr(out->data + start, 0, out->size - start))
        rc = error_set(error, CAIRN_EWORKFLOW,
                       "%.*s would have a NUL byte in it, which no process can be "
                       "given",
                       name.len ? (int)name.len : 11,
                       name.len ? name.ptr : "an argument");
    buf_byte(out, 0);
    return rc;
}

static int add_shell(struct strings *s, const struct task_def *def)
{
    int rc = 0;
    for (uint32_t i = 0; i < def->n_shell && !rc; i++)
        rc = add_text(s, def->shell[i]);
    return rc ? rc : add_text(s, def->run);
}

static bool is_default_shell(const struct task_def *def)
{
    return def->n_shell == 3 && str_equal(def->shell[0], STR("sh")) &&
           str_equal(def->shell[1], STR("-eu")) && str_equal(def->shell[2], STR("-c"));
}

/* A shell passes PWD on to what it starts; without a shell we do. */
static int add_directory(struct strings *s, const struct environment *env)
{
    const char *cwd = s->job->cwd.size ? s->job->cwd.data : ".";
    const char *inherited = value_of(env->entries, env->n, STR("PWD"));
    char real[PATH_MAX];
    struct stat here, there;
    if (inherited && *inherited == '/' && !stat(inherited, &there) &&
        !stat(cwd, &here) && here.st_dev == there.st_dev && here.st_ino == there.st_ino)
        return 0;
    s->own_pwd = realpath(cwd, real) != NULL;
    return s->own_pwd ? add_variable(s, STR("PWD"), str_of(real)) : 0;
}

/* ---- Commands that need no shell ---- */

struct shell_view { /* what the shell would see */
    const struct strings *strings;
    const struct environment *inherited;
};

static struct str find_variable(void *context, struct str name)
{
    const struct shell_view *view = context;
    const struct strings *s = view->strings;
    const char *value = NULL;
    for (size_t i = s->n; i > 0 && !value; i--)
        value = value_in(s->job->text.data + s->offset[i - 1], name);
    if (!value)
        value = value_of(view->inherited->entries, view->inherited->n, name);
    return value ? str_of(value) : (struct str){NULL, 0};
}

/* The words of a text that needs no shell, each with its NUL; their number. Not for an
 * attempt under a keeper, which has no second command line to fall back to. */
static uint32_t find_words(const struct strings *s, const struct environment *env,
                           const struct task_def *def, struct buf *words)
{
    struct shell_view view = {s, env};
    const struct direct_values values = {find_variable, &view};
    bool may = env->direct && !s->job->text.failed && !s->job->kept &&
               def->kind == TASK_RUN && is_default_shell(def);
    return may ? direct_words(def->run, &values, words) : 0;
}

static int add_words(struct strings *s, const struct buf *words, uint32_t n)
{
    const char *at = words->data;
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        struct str word = str_of(at);
        rc = add_text(s, word);
        at += word.len + 1;
    }
    return rc;
}

static int add_arguments(struct strings *s, const struct scope *scope,
                         struct cairn_error *error)
{
    const struct task_def *def = scope->def;
    int rc = 0;
    for (uint32_t i = 0; i < def->n_argv && !rc; i++)
        rc = add_expanded(s, scope, STR(""), def->argv[i], error);
    return rc || def->kind != TASK_RUN ? rc : add_shell(s, def);
}

static int add_own_variables(struct engine *e, struct strings *s)
{
    struct job *job = s->job;
    char text[4200];
    int rc = add_variable(s, STR("CAIRN_TASK"),
                          str_of(e->request.graph->id[job->intent.task]));
    snprintf(text, sizeof text, "%llu", (unsigned long long)e->run.row.run);
    if (!rc)
        rc = add_variable(s, STR("CAIRN_RUN"), str_of(text));
    snprintf(text, sizeof text, "%u", job->intent.attempt);
    if (!rc)
        rc = add_variable(s, STR("CAIRN_ATTEMPT"), str_of(text));
    snprintf(job->token, sizeof job->token, "%s.%u.%u", e->jobs.slots.slots->token,
             job->intent.task, job->intent.attempt);
    if (!rc)
        rc = add_variable(s, STR("CAIRN_TOKEN"), str_of(job->token));
    if (!rc && job->role == ROLE_TASK) {
        values_path(e, job, text, sizeof text);
        rc = add_variable(s, STR("CAIRN_OUTPUT"), str_of(text));
    }
    if (!rc && e->progress.lookup.run_status)
        rc = add_variable(s, STR("CAIRN_RUN_STATUS"),
                          str_of(e->progress.lookup.run_status));
    return rc;
}

static int add_secrets(struct engine *e, struct strings *s, const struct str *names,
                       uint32_t n)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        struct str value = secrets_value(&e->run.situation.secrets, names[i]);
        if (value.ptr)
            rc = add_variable(s, names[i], value);
    }
    return rc;
}

static int add_variables(struct engine *e, struct strings *s, const struct scope *scope,
                         struct cairn_error *error)
{
    const struct definition *d = scope->definition;
    const struct task_def *def = scope->def;
    int rc = 0;
    for (uint32_t i = 0; i < d->n_params && !rc; i++)
        if (task_def_takes_param(def, d->params[i].key))
            rc = add_variable(s, d->params[i].key, d->params[i].value);
    for (uint32_t k = 0; k < def->n_foreach && !rc; k++)
        rc = add_variable(s, def->foreach[k].name,
                          def->foreach[k].values[member_value(def, scope->member, k)]);
    for (uint32_t i = 0; i < def->n_env && !rc; i++)
        rc = add_expanded(s, scope, def->env[i].key, def->env[i].value, error);
    if (!rc)
        rc = add_secrets(e, s, def->secrets, def->n_secrets);
    return rc ? rc : add_own_variables(e, s);
}

static char **put_strings(const struct strings *s, size_t from, size_t to, char **at)
{
    for (size_t i = from; i < to; i++)
        *at++ = s->job->text.data + s->offset[i];
    *at++ = NULL;
    return at;
}

/* Turns offsets into the pointer arrays that exec wants. */
static int make_vectors(struct strings *s, const struct environment *env)
{
    struct job *job = s->job;
    size_t need = s->n + env->n + 3, n = s->n_env + s->n_argv;
    if (need > job->vector_size) {
        char **vector = realloc(job->vector, need * sizeof *vector);
        if (!vector)
            return CAIRN_ENOMEM;
        job->vector = vector;
        job->vector_size = need;
    }
    char **envp = put_strings(s, s->n_env, n, job->vector), **at = envp;
    for (uint32_t i = 0; i < env->n; i++)
        if (!s->own_pwd || !value_in(env->entries[i], STR("PWD")))
            *at++ = env->entries[i];
    char **other = put_strings(s, 0, s->n_env, at);
    put_strings(s, n, s->n, other);
    job->request.argv = job->vector;
    job->request.envp = envp;
    job->request.otherwise = s->n > n ? other : NULL;
    job->request.path = value_of(envp, (size_t)(other - envp) - 1, STR("PATH"));
    return 0;
}

/* The kernel takes no single string over 128 KiB; so name the one that is longer. */
static int check_lengths(const struct strings *s, struct buf *why)
{
    for (size_t i = 0; i < s->n_env + s->n_argv; i++) {
        const char *text = s->job->text.data + s->offset[i];
        size_t length = strlen(text);
        if (length <= LIMIT_ENV_STRING)
            continue;
        if (i < s->n_env)
            buf_format(why, "variable %.*s is %zu bytes long, the kernel takes %d",
                       (int)strcspn(text, "="), text, length, LIMIT_ENV_STRING);
        else
            buf_format(why, "argument %zu is %zu bytes long, the kernel takes %d",
                       i - s->n_env, length, LIMIT_ENV_STRING);
        return CAIRN_ELIMIT;
    }
    return 0;
}

static int finish_strings(struct strings *s, int rc, const struct environment *env,
                          struct buf *why)
{
    if (!rc && s->job->text.failed)
        rc = CAIRN_ENOMEM;
    if (!rc)
        rc = check_lengths(s, why);
    if (!rc)
        rc = make_vectors(s, env);
    free(s->offset);
    if (rc == CAIRN_ENOMEM)
        buf_text(why, "out of memory");
    return rc;
}

/* The command line: of a text that is one plain command, the command's own, and behind
 * it that of the shell, in case it cannot be executed. */
static int add_command(struct strings *s, const struct scope *scope,
                       const struct environment *env, struct cairn_error *error)
{
    struct buf words = BUF_INIT;
    uint32_t n = find_words(s, env, scope->def, &words);
    int rc = n ? add_directory(s, env) : 0;
    s->n_env = s->n;
    if (!rc)
        rc = n ? add_words(s, &words, n) : add_arguments(s, scope, error);
    s->n_argv = s->n - s->n_env;
    if (!rc && n)
        rc = add_shell(s, scope->def);
    buf_release(&words);
    return rc;
}

int command_line_make(struct engine *e, struct job *job, struct buf *why)
{
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    struct strings s = {.job = job};
    struct environment *env = inherited_environment(e, scope.def);
    struct cairn_error error = {0};
    buf_clear(&job->text);
    int rc = env ? add_variables(e, &s, &scope, &error) : CAIRN_ENOMEM;
    if (!rc)
        rc = add_command(&s, &scope, env, &error);
    if (rc && rc != CAIRN_ENOMEM)
        buf_text(why, error.text);
    return finish_strings(&s, rc, env, why);
}

int command_line_make_action(struct engine *e, struct job *job,
                             const struct undo_action *action, struct buf *why)
{
    struct strings s = {.job = job};
    struct environment *env =
        inherited_environment(e, graph_def(e->request.graph, job->intent.task));
    int rc = env ? 0 : CAIRN_ENOMEM;
    buf_clear(&job->text);
    for (uint32_t i = 0; i < action->n_env && !rc; i++)
        rc = add_variable(&s, action->env[i].key, action->env[i].value);
    if (!rc)
        rc = add_secrets(e, &s, action->secrets, action->n_secrets);
    if (!rc)
        rc = add_own_variables(e, &s);
    s.n_env = s.n;
    for (uint32_t i = 0; i < action->n_shell && !rc; i++)
        rc = add_text(&s, action->shell[i]);
    if (!rc)
        rc = add_text(&s, action->text);
    s.n_argv = s.n - s.n_env;
    return finish_strings(&s, rc, env, why);
}
