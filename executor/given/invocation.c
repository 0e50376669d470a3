/* SPDX-License-Identifier: MIT */
/* Command line and environment of an attempt. All strings of one stand in one buffer;
 * their offsets are noted first, because the buffer moves while it grows. */
#include "executor/given/invocation.h"

#include "base/limits.h"
#include "base/memory.h"
#include "graph/members.h"
#include "process/shell_words.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
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

int environments_read(struct environments *es, const struct definition *definition,
                      struct arena *arena, struct cairn_error *error)
{
    uint32_t n = 0;
    while (environ && environ[n])
        n++;
    *es = (struct environments){.definition = definition, .arena = arena};
    es->inherited = arena_take(arena, (size_t)n + 1, sizeof(char *));
    es->of_def = arena_take(arena, definition->n_defs, sizeof *es->of_def);
    es->room = definition->n_defs;
    for (uint32_t i = 0; i < n && !arena->failed; i++)
        if (strncmp(environ[i], "CAIRN_", 6) != 0)
            es->inherited[es->n++] = arena_text(arena, str_of(environ[i]));
    if (arena->failed)
        return error_nomem(error);
    const char *path = value_of(es->inherited, es->n, STR("PATH"));
    es->direct = path && direct_shell(path);
    return 0;
}

int environments_extend(struct environments *es, uint32_t before)
{
    uint32_t n = es->definition->n_defs;
    if (n <= es->room || !es->of_def) /* or it starts no processes */
        return 0;
    struct environment *more = arena_take(es->arena, 2 * (size_t)n, sizeof *more);
    if (!more)
        return CAIRN_ENOMEM;
    memcpy(more, es->of_def, before * sizeof *more);
    es->of_def = more;
    es->room = 2 * n;
    return 0;
}

/* Not inherited: variables that the task has a value of its own for, and secrets. */
static bool task_overrides(const struct definition *d, const struct task_def *def,
                           struct str name)
{
    bool found = names_have(d->secrets, d->n_secrets, name);
    for (uint32_t i = 0; i < d->n_params && !found; i++)
        found = str_equal(name_in_scope(d->params[i].key), name) &&
                task_def_takes_param(def, d->params[i].key);
    found |= task_def_name(def, name) != UINT32_MAX;
    for (uint32_t i = 0; i < def->n_env && !found; i++)
        found = str_equal(def->env[i].key, name);
    return found;
}

static bool names_inputs(struct str text)
{
    static const char name[] = "CAIRN_INPUTS";
    return text.len && memmem(text.ptr, text.len, name, sizeof name - 1);
}

static bool wants_list(const struct task_def *def)
{
    if (!def->n_inputs)
        return false;
    bool names = names_inputs(def->run) || names_inputs(def->fallback) ||
                 names_inputs(def->check);
    for (uint32_t i = 0; i < def->n_argv && !names; i++)
        names = names_inputs(def->argv[i]);
    for (uint32_t i = 0; i < def->n_env && !names; i++)
        names = names_inputs(def->env[i].value);
    return names;
}

struct environment *environment_of(struct environments *es, const struct task_def *def)
{
    const struct definition *d = es->definition;
    struct environment *env = &es->of_def[def - d->defs];
    if (env->made)
        return env;
    env->entries = arena_take(es->arena, (size_t)es->n + 1, sizeof(char *));
    if (!env->entries)
        return NULL;
    for (uint32_t i = 0; i < es->n; i++) {
        const char *entry = es->inherited[i];
        const char *equals = strchr(entry, '=');
        struct str name = {entry, equals ? (size_t)(equals - entry) : strlen(entry)};
        if (!task_overrides(d, def, name))
            env->entries[env->n++] = es->inherited[i];
    }
    env->direct = es->direct && !task_overrides(d, def, STR("PATH")) &&
                  !task_overrides(d, def, STR("PWD"));
    env->lists = wants_list(def);
    env->made = true;
    return env;
}

/* ---- One attempt's strings ---- */

struct strings {
    struct invocation *to;
    const struct invocation_of *of;
    size_t *offset;
    size_t n, capacity;
    size_t n_env, n_argv; /* then comes the other command line, if there is one */
    bool own_pwd;
    struct str joined; /* the task of which the names of all files are arguments */
};

static int begin_string(struct strings *s)
{
    size_t *offset = array_room(s->offset, s->n, &s->capacity, sizeof *offset);
    if (!offset)
        return CAIRN_ENOMEM;
    s->offset = offset;
    s->offset[s->n++] = s->to->text.size;
    return 0;
}

static int add_variable(struct strings *s, struct str name, struct str value)
{
    if (begin_string(s))
        return CAIRN_ENOMEM;
    buf_str(&s->to->text, name);
    buf_byte(&s->to->text, '=');
    buf_str(&s->to->text, value);
    buf_byte(&s->to->text, 0);
    return 0;
}

static int add_text(struct strings *s, struct str text)
{
    if (begin_string(s))
        return CAIRN_ENOMEM;
    buf_str(&s->to->text, text);
    buf_byte(&s->to->text, 0);
    return 0;
}

/* What to do with the names of all files of the task `of` instead. */
static void advise_file(struct str of, struct buf *out)
{
    bool dotted = memchr(of.ptr, '.', of.len);
    buf_format(
        out,
        ": declare `${{ tasks%s%.*s%s.files }}` among its `inputs`, and read the "
        "names, one a line, from the file \"$CAIRN_INPUTS\"",
        dotted ? "['" : ".", (int)of.len, of.ptr, dotted ? "']" : "");
}

/* Of a string with these names in it. */
static int refuse_long(struct str name, size_t length, struct str of,
                       struct cairn_error *error)
{
    struct buf advice = BUF_INIT;
    advise_file(of, &advice);
    int rc = advice.failed
                 ? error_nomem(error)
                 : error_set(error, CAIRN_ELIMIT,
                             "%s%.*s is %zu bytes long, the kernel takes %d%s",
                             name.len ? "variable " : "an argument", (int)name.len,
                             name.ptr, length, LIMIT_ENV_STRING, advice.data);
    buf_release(&advice);
    return rc;
}

/* NAME=text, or only the text, with values put in. The kernel's strings end at a NUL.
 */
static int add_expanded(struct strings *s, const struct scope *scope, struct str name,
                        struct str text, struct cairn_error *error)
{
    struct buf *out = &s->to->text;
    struct str joined = STR("");
    struct scope watched = *scope;
    watched.joined = &joined;
    if (begin_string(s))
        return error_nomem(error);
    if (name.len) {
        buf_str(out, name);
        buf_byte(out, '=');
    }
    size_t start = out->size;
    int rc = text_expand(&watched, text, out, error);
    if (!rc && !out->failed && memchr(out->data, 0, out->size) &&
        memchr(out->data + start, 0, out->size - start))
        rc = error_set(error, CAIRN_EWORKFLOW,
                       "%.*s would have a NUL byte in it, which no process can be "
                       "given",
                       name.len ? (int)name.len : 11,
                       name.len ? name.ptr : "an argument");
    if (!rc && joined.len && out->size - start > LIMIT_ENV_STRING)
        rc = refuse_long(name, out->size - start, joined, error);
    buf_byte(out, 0);
    return rc;
}

static bool is_split_by(struct str text, const struct str *shell, uint32_t n,
                        struct str name)
{
    static const char *const splitting[] = {"sh", "bash", "dash", "ksh", "ash"};
    struct str program = n ? shell[0] : STR("sh");
    const char *slash = program.len ? memrchr(program.ptr, '/', program.len) : NULL;
    bool splits = false;
    if (slash)
        program =
            (struct str){slash + 1, (size_t)(program.ptr + program.len - slash) - 1};
    for (size_t i = 0; i < sizeof splitting / sizeof splitting[0]; i++)
        splits |= str_equal(program, str_of(splitting[i]));
    return splits && shell_splits(text, name);
}

/* An entry of `env`. Names of files that the shell would take apart are given to no
 * task: it would read other files, or none, and end well. */
static int add_entry(struct strings *s, const struct scope *scope,
                     const struct key_value *entry, struct cairn_error *error)
{
    const struct task_def *def = scope->def;
    struct str split = STR(""), name = entry->key;
    struct scope watched = *scope;
    watched.split = &split;
    int rc = add_expanded(s, &watched, name, entry->value, error);
    if (rc || !split.len)
        return rc;
    bool run = is_split_by(def->run, def->shell, def->n_shell, name);
    bool check = is_split_by(def->check, def->side_shell, def->n_side_shell, name);
    bool undo = is_split_by(def->undo, def->side_shell, def->n_side_shell, name);
    bool other = is_split_by(def->fallback, def->side_shell, def->n_side_shell, name);
    if (!run && !check && !undo && !other)
        return 0;
    return error_set(
        error, CAIRN_EWORKFLOW,
        "`$%.*s` in `%s` is split at blanks, and one of its files is named "
        "`%.*s`: write `exec` with ${{ tasks.X.files }} as an argument (of "
        "a script: \"$@\"), or read \"$%.*s\" line by line",
        (int)name.len, name.ptr,
        run     ? "run"
        : check ? "check"
        : undo  ? "undo"
                : "fallback",
        (int)(split.len < 200 ? split.len : 200), split.ptr, (int)name.len, name.ptr);
}

/* `$@`, `$*` or `$2` without quotes. */
static bool splits_arguments(struct str text, const struct str *shell, uint32_t n)
{
    static const char names[] = "@*123456789";
    bool splits = false;
    for (size_t i = 0; names[i] && !splits; i++)
        splits = is_split_by(text, shell, n, (struct str){names + i, 1});
    return splits;
}

/* Of a text for the shell: as with variables. */
static int refuse_split(const struct task_def *def, struct str split,
                        struct cairn_error *error)
{
    bool run = splits_arguments(def->run, def->shell, def->n_shell);
    if (!run && !splits_arguments(def->fallback, def->side_shell, def->n_side_shell))
        return 0;
    return error_set(error, CAIRN_EWORKFLOW,
                     "`%s` has its arguments without quotes, so they are split at "
                     "blanks, and one of the files is named `%.*s`: write \"$@\"",
                     run ? "run" : "fallback", (int)(split.len < 200 ? split.len : 200),
                     split.ptr);
}

/* One for each line of ${{ tasks.X.files }}. */
static int add_files(struct strings *s, const struct scope *scope, struct str text,
                     struct cairn_error *error)
{
    struct buf lines = BUF_INIT;
    struct str split = STR("");
    struct scope watched = *scope;
    watched.joined = &s->joined;
    watched.split = scope->def->kind == TASK_RUN ? &split : NULL;
    int rc = text_expand(&watched, text, &lines, error) ?: buf_check(&lines, error);
    if (!rc && split.len)
        rc = refuse_split(scope->def, split, error);
    for (size_t at = 0; !rc && at < lines.size;) {
        const char *end = memchr(lines.data + at, '\n', lines.size - at);
        size_t n = end ? (size_t)(end - lines.data) - at : lines.size - at;
        rc = add_text(s, (struct str){lines.data + at, n});
        at += n + 1;
    }
    buf_release(&lines);
    return rc;
}

static int add_shell(struct strings *s, const struct str *shell, uint32_t n,
                     struct str text)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = add_text(s, shell[i]);
    return rc ? rc : add_text(s, text);
}

/* Of `sh -c TEXT` the first word behind the text is its $0; python, perl and the like
 * have none there. NULL: none. */
static const struct str *own_name(const struct str *shell, uint32_t n)
{
    static const char *const named[] = {"sh",  "bash", "dash", "ash",  "ksh",
                                        "zsh", "mksh", "yash", "rbash"};
    for (uint32_t i = 0; i < n; i++) {
        const char *slash = memrchr(shell[i].ptr, '/', shell[i].len);
        const char *from = slash ? slash + 1 : shell[i].ptr;
        struct str program = {from, (size_t)(shell[i].ptr + shell[i].len - from)};
        for (size_t k = 0; k < COUNT_OF(named); k++)
            if (str_equal(program, str_of(named[k])))
                return &shell[i];
    }
    return NULL;
}

static bool is_default_shell(const struct task_def *def)
{
    return def->n_shell == 3 && str_equal(def->shell[0], STR("sh")) &&
           str_equal(def->shell[1], STR("-eu")) && str_equal(def->shell[2], STR("-c"));
}

/* A shell passes PWD on to what it starts; without a shell we do. */
static int add_directory(struct strings *s)
{
    const struct environment *env = s->of->inherited;
    const char *cwd = s->of->cwd;
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

/* As the shell would see it. */
static struct str find_variable(void *context, struct str name)
{
    const struct strings *s = context;
    const struct environment *env = s->of->inherited;
    const char *value = NULL;
    for (size_t i = s->n; i > 0 && !value; i--)
        value = value_in(s->to->text.data + s->offset[i - 1], name);
    if (!value)
        value = value_of(env->entries, env->n, name);
    return value ? str_of(value) : (struct str){NULL, 0};
}

/* The words of a text that needs no shell, each with its NUL; their number. */
static uint32_t find_words(struct strings *s, struct buf *words)
{
    const struct task_def *def = s->of->scope->def;
    const struct direct_values values = {find_variable, s};
    bool may = s->of->may_be_direct && !s->of->fallback && !def->n_argv &&
               s->of->inherited->direct && !s->to->text.failed &&
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
    bool other = s->of->fallback;
    const struct str *shell = other ? def->side_shell : def->shell;
    uint32_t n_shell = other ? def->n_side_shell : def->n_shell;
    const struct str *own = own_name(shell, n_shell);
    int rc = 0;
    if (other || def->kind == TASK_RUN)
        rc = add_shell(s, shell, n_shell, other ? def->fallback : def->run);
    if (other && def->kind != TASK_RUN)
        return rc;
    if (!rc && def->kind == TASK_RUN && def->n_argv && own)
        rc = add_text(s, *own);
    for (uint32_t i = 0; i < def->n_argv && !rc; i++)
        rc = text_is_files(def->argv[i])
                 ? add_files(s, scope, def->argv[i], error)
                 : add_expanded(s, scope, STR(""), def->argv[i], error);
    return rc;
}

static int add_told(struct strings *s)
{
    const struct told *told = &s->of->told;
    char run[24], attempt[16], round[16] = "";
    snprintf(run, sizeof run, "%llu", (unsigned long long)told->run);
    snprintf(attempt, sizeof attempt, "%u", told->attempt);
    if (told->round)
        snprintf(round, sizeof round, "%u", told->round);
    const struct {
        struct str name;
        const char *value;
    } variables[] = {{STR("CAIRN_TASK"), told->task},
                     {STR("CAIRN_RUN"), run},
                     {STR("CAIRN_ATTEMPT"), attempt},
                     {STR("CAIRN_ROUND"), told->round ? round : NULL},
                     {STR("CAIRN_TOKEN"), told->token},
                     {STR("CAIRN_OUTPUT"), told->output},
                     {STR("CAIRN_INPUTS"), told->inputs},
                     {STR("CAIRN_RUN_STATUS"), told->run_status}};
    int rc = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && !rc; i++)
        if (variables[i].value)
            rc = add_variable(s, variables[i].name, str_of(variables[i].value));
    for (uint32_t i = 0; i < told->n_ports && !rc; i++)
        rc = add_variable(s, told->ports[i].key, told->ports[i].value);
    return rc;
}

static int add_secrets(struct strings *s, const struct str *names, uint32_t n)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        struct str value = secrets_value(s->of->secrets, names[i]);
        if (value.ptr)
            rc = add_variable(s, names[i], value);
    }
    return rc;
}

static int add_variables(struct strings *s, struct cairn_error *error)
{
    const struct scope *scope = s->of->scope;
    const struct definition *d = scope->definition;
    const struct task_def *def = scope->def;
    int rc = 0;
    for (uint32_t i = 0; i < d->n_params && !rc; i++)
        if (task_def_takes_param(def, d->params[i].key))
            rc = add_variable(s, name_in_scope(d->params[i].key), d->params[i].value);
    for (uint32_t i = 0; i < task_def_names(def) && !rc; i++) {
        struct key_value named = member_named(def, scope->member, i);
        rc = add_variable(s, named.key, named.value);
    }
    for (uint32_t i = 0; i < def->n_env && !rc; i++)
        rc = add_entry(s, scope, &def->env[i], error);
    if (!rc)
        rc = add_secrets(s, def->secrets, def->n_secrets);
    return rc ? rc : add_told(s);
}

static char **put_strings(const struct strings *s, size_t from, size_t to, char **at)
{
    for (size_t i = from; i < to; i++)
        *at++ = s->to->text.data + s->offset[i];
    *at++ = NULL;
    return at;
}

/* Turns offsets into the pointer arrays that exec wants. */
static int make_vectors(struct strings *s)
{
    struct invocation *to = s->to;
    const struct environment *env = s->of->inherited;
    size_t need = s->n + env->n + 3, n = s->n_env + s->n_argv;
    if (need > to->vector_size) {
        char **vector = realloc(to->vector, need * sizeof *vector);
        if (!vector)
            return CAIRN_ENOMEM;
        to->vector = vector;
        to->vector_size = need;
    }
    char **at = put_strings(s, s->n_env, n, to->vector);
    to->envp = at;
    /* Without its NULL: the inherited ones follow. */
    at = put_strings(s, 0, s->n_env, at) - 1;
    for (uint32_t i = 0; i < env->n; i++)
        if (!s->own_pwd || !value_in(env->entries[i], STR("PWD")))
            *at++ = env->entries[i];
    *at++ = NULL;
    put_strings(s, n, s->n, at);
    to->otherwise = s->n > n ? at : NULL;
    to->n_own = s->n_env;
    to->path = value_of(to->envp, (size_t)(at - to->envp) - 1, STR("PATH"));
    return 0;
}

/* The kernel takes no single string over 128 KiB; so name the one that is longer. */
static int check_lengths(const struct strings *s, struct buf *why)
{
    for (size_t i = 0; i < s->n_env + s->n_argv; i++) {
        const char *text = s->to->text.data + s->offset[i];
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

/* All of them together, of which the kernel takes a quarter of the stack, between 128 KiB
 * and 6 MiB, with their pointers (bprm_stack_limits of its fs/exec.c). */
static int check_room(const struct strings *s, struct buf *why)
{
    enum { LEAST = 128 << 10, MOST = 6 << 20 };
    const struct environment *env = s->of->inherited;
    struct rlimit stack;
    size_t n = s->n_env + s->n_argv + env->n, total = s->to->text.size;
    if (total < LEAST / 2 || getrlimit(RLIMIT_STACK, &stack) != 0)
        return 0; /* if all else is too long, the kernel says so */
    for (uint32_t i = 0; i < env->n; i++)
        total += strlen(env->entries[i]) + 1;
    total += n * sizeof(char *);
    size_t room = stack.rlim_cur / 4 < MOST ? (size_t)stack.rlim_cur / 4 : MOST;
    room = room < LEAST ? LEAST : room;
    if (total <= room)
        return 0;
    buf_format(why,
               "its arguments and environment together are %zu bytes long, the kernel "
               "takes %zu",
               total, room);
    if (s->joined.len)
        advise_file(s->joined, why);
    return CAIRN_ELIMIT;
}

static int finish_strings(struct strings *s, int rc, struct buf *why)
{
    if (!rc && s->to->text.failed)
        rc = CAIRN_ENOMEM;
    if (!rc)
        rc = check_lengths(s, why) ?: check_room(s, why) ?: make_vectors(s);
    free(s->offset);
    if (rc == CAIRN_ENOMEM)
        buf_text(why, "out of memory");
    return rc;
}

/* The command line: of a text that is one plain command, the command's own, and behind
 * it that of the shell, in case it cannot be executed. */
static int add_command(struct strings *s, struct cairn_error *error)
{
    const struct scope *scope = s->of->scope;
    struct buf words = BUF_INIT;
    uint32_t n = find_words(s, &words);
    int rc = n || s->of->own_directory ? add_directory(s) : 0;
    s->n_env = s->n;
    if (!rc)
        rc = n ? add_words(s, &words, n) : add_arguments(s, scope, error);
    s->n_argv = s->n - s->n_env;
    if (!rc && n)
        rc = add_shell(s, scope->def->shell, scope->def->n_shell, scope->def->run);
    buf_release(&words);
    return rc;
}

int invocation_make(struct invocation *to, const struct invocation_of *of,
                    struct buf *why)
{
    struct strings s = {.to = to, .of = of};
    struct cairn_error error = {0};
    buf_clear(&to->text);
    int rc = of->inherited ? add_variables(&s, &error) : CAIRN_ENOMEM;
    if (!rc)
        rc = add_command(&s, &error);
    if (rc && rc != CAIRN_ENOMEM)
        buf_text(why, error.text);
    return finish_strings(&s, rc, why);
}

int invocation_make_action(struct invocation *to, const struct invocation_of *of,
                           const struct undo_action *action, struct buf *why)
{
    struct strings s = {.to = to, .of = of};
    int rc = of->inherited ? 0 : CAIRN_ENOMEM;
    buf_clear(&to->text);
    for (uint32_t i = 0; i < action->n_env && !rc; i++)
        rc = add_variable(&s, action->env[i].key, action->env[i].value);
    if (!rc)
        rc = add_secrets(&s, action->secrets, action->n_secrets) ?: add_told(&s);
    s.n_env = s.n;
    if (!rc)
        rc = add_shell(&s, action->shell, action->n_shell, action->text);
    s.n_argv = s.n - s.n_env;
    return finish_strings(&s, rc, why);
}

void invocation_release(struct invocation *invocation)
{
    buf_release(&invocation->text);
    free(invocation->vector);
    *invocation = (struct invocation){0};
}
