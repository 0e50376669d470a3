/* SPDX-License-Identifier: MIT */
/* What a task does: `run`, `exec`, `external`, which is done by somebody else, or `call`,
 * a function of the program that has the workflow; and its `check` and `undo`. */
#include "workflow/keys_set.h"
#include "workflow/parse_int.h"

#include "workflow/glob.h"

#include "base/limits.h"
#include "base/words.h"

#include <stdio.h>

/* ---- Texts for a shell ---- */

/* The expression whose ${{ stands at `from`, without the blanks around it. */
static struct str expression_at(struct str text, size_t from)
{
    const char *at = text.ptr + from + 3, *end = text.ptr + text.len;
    const char *close = memmem(at, (size_t)(end - at), "}}", 2);
    end = close ? close : end;
    while (at < end && *at == ' ')
        at++;
    while (at < end && end[-1] == ' ')
        end--;
    return (struct str){at, (size_t)(end - at)};
}

static bool is_plain(struct str text)
{
    enum { SHOWN_WHOLE = 120 };
    return text.len > 0 && text.len <= SHOWN_WHOLE && !memchr(text.ptr, '\n', text.len);
}

/* What to write for an expression. A param, a key or a variable has its name in the
 * environment; everything else needs a variable in `env`. */
static void name_variable(char *out, size_t size, const char *key, struct str text)
{
    const char *point = memchr(text.ptr, '.', text.len);
    const char *last = memrchr(text.ptr, '.', text.len);
    size_t n = point ? (size_t)(point - text.ptr) : text.len;
    struct str root = {text.ptr, n}, rest = {text.ptr + n, text.len - n}, name = text;
    if (last)
        name = (struct str){last + 1, (size_t)(text.ptr + text.len - last) - 1};
    bool is_name = str_is_env_name(name);
    bool github = str_equal(root, STR("needs")) || str_equal(root, STR("steps"));
    bool task = github || str_equal(root, STR("tasks"));
    if (is_name && !task && !str_equal(root, STR("run")) && str_is_id(root)) {
        snprintf(out, size, "write \"$%.*s\"", SHOWN(name));
        return;
    }
    if (github)
        root = STR("tasks");
    if (!is_plain(text))
        root = STR("..."), rest = STR("");
    if (!is_name)
        name = STR("name");
    char quote = memchr(rest.ptr, '"', rest.len) ? '\'' : '"';
    snprintf(out, size,
             "write `env: {%.*s: %c${{ %.*s%.*s }}%c}` in the task, and \"$%.*s\" in "
             "`%s`",
             SHOWN(name), quote, (int)root.len, root.ptr, (int)rest.len, rest.ptr,
             quote, SHOWN(name), key);
}

/* Takes the escapes out of the text. */
static int refuse_references(struct parser *p, const struct node *node, const char *key,
                             struct str *text)
{
    char instead[400];
    warn_of_other_form(p, node, *text,
                       "values come as environment variables, as \"$name\"");
    size_t at = template_find(*text, 0);
    if (at == SIZE_MAX)
        return text_unescape(&p->out->arena, text) ? 0 : out_of_memory(p);
    name_variable(instead, sizeof instead, key, expression_at(*text, at));
    return diagnose(&p->diagnostic, place_of_reference(p, node, *text),
                    "the text of `%s` is never rewritten: values come as environment "
                    "variables, so %s instead of ${{ }}; $${{ is a literal ${{",
                    key, instead);
}

static int read_shell_text(struct parser *p, const struct node *node, const char *key,
                           struct str *out)
{
    char what[64];
    struct str text;
    snprintf(what, sizeof what, "`%s`", key);
    int rc =
        expect_filled(p, node, what, &text) ?: refuse_references(p, node, key, &text);
    if (!rc && text.len > LIMIT_ENV_STRING) {
        snprintf(what, sizeof what, "the text of `%s`", key);
        rc = too_long(p, node->at, what);
    }
    if (!rc)
        *out = text;
    return rc;
}

/* ---- Commands ---- */

/* `>/dev/stderr`: with a blank or not, but not `>>`, nor in the quotes of awk, which
 * knows the name itself. */
static bool reopens_log(struct str text)
{
    static const char *const names[] = {"/dev/stderr", "/dev/stdout"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct str rest = text;
        size_t n = strlen(names[k]);
        char *at;
        while ((at = memmem(rest.ptr, rest.len, names[k], n))) {
            const char *before = at;
            while (before > text.ptr && before[-1] == ' ')
                before--;
            if (before > text.ptr && before[-1] == '>' &&
                !(before - 1 > text.ptr && before[-2] == '>'))
                return true;
            rest = (struct str){at + n, (size_t)(text.ptr + text.len - at) - n};
        }
    }
    return false;
}

static int read_run(struct parser *p, struct task_def *def, const struct node *node)
{
    if (node->kind == NODE_LIST)
        return diagnose(&p->diagnostic, node->at,
                        "`run` is one text for the shell: for several commands write a "
                        "block with `run: |`, for one command with its arguments "
                        "`exec: [cmd, \"arg 1\"]`");
    int rc = expect_filled(p, node, "`run`", &def->run)
                 ?: refuse_references(p, node, "run", &def->run);
    if (!rc && def->run.len > LIMIT_ENV_STRING)
        rc = too_long(p, node->at, "the text of `run`");
    if (!rc && def->n_shell)
        warn_of_bash(p, node, def->run, def->shell[0]);
    if (!rc && reopens_log(def->run))
        parse_warn(p, node->at,
                   "`>/dev/stderr` opens the log of the task anew, which empties it: "
                   "write `>&2` (of stdout `>&1`)");
    return rc;
}

static int read_arguments(struct parser *p, struct task_def *def,
                          const struct node *node, const char *what)
{
    bool single = node->kind == NODE_TEXT;
    uint32_t n = single ? 1 : node->n;
    int rc = 0;
    def->argv = arena_take(&p->out->arena, n, sizeof *def->argv);
    if (!def->argv)
        return out_of_memory(p);
    for (const struct node *item = single ? node : node->first; def->n_argv < n && !rc;
         item = item->next) {
        struct str *argument = &def->argv[def->n_argv++];
        rc = expect_text(p, item, what, argument)
                 ?: check_string(p, item, STR(""), argument, def, IN_EXEC);
    }
    return rc;
}

static int read_exec(struct parser *p, struct task_def *def, const struct node *node)
{
    if (node->kind == NODE_TEXT)
        return diagnose(&p->diagnostic, node->at,
                        "`exec` must be a list, as in [cmd, \"arg 1\"]; a text for the "
                        "shell goes under `run`");
    int rc = expect_list(p, node, "`exec`");
    if (!rc && node->n == 0)
        rc = diagnose(&p->diagnostic, node->at, "`exec` is empty");
    if (rc)
        return rc;
    rc = read_arguments(p, def, node, "an argument of `exec`");
    if (!rc && def->argv[0].len == 0)
        rc = diagnose(&p->diagnostic, node->first->at, "the command is empty");
    if (!rc)
        warn_of_exec(p, node, def->argv[0]);
    return rc;
}

/* One text or a list of them. */
static int read_args(struct parser *p, struct task_def *def, const struct node *node)
{
    if (def->kind == TASK_EXEC)
        return diagnose(&p->diagnostic, node->at,
                        "`args` is for `run`, whose text has them as \"$@\"; those of "
                        "`exec` stand behind its command");
    int rc = node->kind == NODE_TEXT ? 0 : expect_list(p, node, "`args`");
    return rc ? rc : read_arguments(p, def, node, "an argument under `args`");
}

static int read_external(struct parser *p, struct task_def *def,
                         const struct node *node)
{
    size_t size = 0;
    int rc = expect_filled(p, node, "`external`", &def->external)
                 ?: check_text(p, node, &def->external, def, IN_TASK, &size);
    if (!rc && (size > LIMIT_TEXT_BYTES || def->external.len > LIMIT_TEXT_BYTES))
        rc = diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                         "the text of `external` is longer than %d bytes; put it "
                         "into a file and name that",
                         LIMIT_TEXT_BYTES);
    return rc;
}

/* ---- Callbacks ---- */

/* The name of a callback. */
static int read_name_of_call(const struct parser *p, const struct node *node,
                             struct str *out)
{
    int rc = expect_key(p, node, "`call`", out) ?: expect_fixed(p, node, "`call`", out);
    if (!rc && !task_id_is_good(*out))
        rc = diagnose(&p->diagnostic, node->at,
                      "`call` is the name of a callback in the registry of a program, "
                      "of A-Z, a-z, 0-9, _, - and .");
    return rc;
}

static int read_call(struct parser *p, struct task_def *def, const struct node *node)
{
    bool added = p->added && def->file == 0 && def->at.line > p->checked_after;
    int rc = read_name_of_call(p, node, &def->callback);
    if (!rc && added)
        rc = diagnose(&p->diagnostic, node->at,
                      "a task that is added to a run cannot be a callback: write it "
                      "into the workflow");
    return rc;
}

static int read_argument(struct parser *p, const struct node *key,
                         const struct task_def *def, struct key_value *out)
{
    char what[128];
    int rc = expect_key(p, key, "the name of an argument", &out->key);
    if (!rc && !str_is_env_name(out->key))
        rc = diagnose(&p->diagnostic, key->at,
                      "the name of an argument, `%.*s`, must be of A-Z, a-z, 0-9 and "
                      "_, and not begin with a digit",
                      SHOWN(out->key));
    snprintf(what, sizeof what, "`%.*s`", SHOWN(out->key));
    return rc ? rc
              : expect_text(p, key->next, what, &out->value)
                    ?: check_text(p, key->next, &out->value, def, IN_TASK, NULL);
}

/* Its arguments, which stand where another task has its environment. */
static int read_with(struct parser *p, struct task_def *def, const struct node *map)
{
    if (def->kind != TASK_CALL)
        return diagnose(&p->diagnostic, map->at,
                        "`with` is only for `call`, whose callback has its texts as "
                        "arguments; what `run` and `exec` are given stands in `env`");
    return read_pairs(p, map, "`with`", def, read_argument, &def->env, &def->n_env);
}

/* ---- Undo, fallback and check ---- */

/* What a function did, or made, is looked at by a function. `call`: there is this key. */
static int expect_same_kind(const struct parser *p, const struct task_def *def,
                            const struct node *node, const char *key, bool call)
{
    if (call == (def->kind == TASK_CALL))
        return 0;
    if (call)
        return diagnose(&p->diagnostic, node->at,
                        "task `%.*s` is a command, so its `%s` is one, too: callbacks "
                        "are for tasks with `call`",
                        SHOWN(def->id), key);
    return diagnose(&p->diagnostic, node->at,
                    "task `%.*s` is a callback, so its `%s` is one, too: {call: NAME}",
                    SHOWN(def->id), key);
}

static int read_undo(struct parser *p, struct task_def *def, const struct node *node)
{
    static const struct str names[] = {NAME("call")};
    const struct node *found[1] = {NULL};
    struct where where = {"in `undo`", {NULL, 0}};
    bool call = node->kind == NODE_MAP;
    int rc = call ? expect_keys(p, node, where, names, found, 1) : 0;
    if (!rc && call && !found[0])
        rc = diagnose(&p->diagnostic, node->at,
                      "`undo` is a command, or of a callback {call: NAME}");
    if (!rc)
        rc = expect_same_kind(p, def, node, "undo", call);
    if (rc)
        return rc;
    return call ? read_name_of_call(p, found[0]->next, &def->undo)
                : read_shell_text(p, node, "undo", &def->undo);
}

static int read_fallback(struct parser *p, struct task_def *def,
                         const struct node *node)
{
    return read_shell_text(p, node, "fallback", &def->fallback);
}

static int read_check(struct parser *p, struct task_def *def, const struct node *node)
{
    enum { RUN, CALL_IT, MIN, WARN, COUNT };
    static const struct str names[COUNT] = {NAME("run"), NAME("call"), NAME("min"),
                                            NAME("warn")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `check`", {NULL, 0}};
    struct thresholds thresholds = p->in->check;
    int rc =
        node->kind == NODE_MAP ? expect_keys(p, node, where, names, found, COUNT) : 0;
    if (!rc && node->kind == NODE_MAP && !found[RUN] == !found[CALL_IT])
        rc = diagnose(&p->diagnostic, node->at,
                      "`check` needs `run`, as in {run: ./test, min: 0.7}, or of a "
                      "callback `call`");
    if (!rc)
        rc = expect_same_kind(p, def, node, "check", found[CALL_IT])
                 ?: read_thresholds(p, found[MIN], found[WARN], &thresholds);
    if (!rc && found[CALL_IT])
        rc = read_name_of_call(p, found[CALL_IT]->next, &def->check);
    else if (!rc)
        rc = read_shell_text(p, found[RUN] ? found[RUN]->next : node,
                             found[RUN] ? "run" : "check", &def->check);
    def->check_min_permille = thresholds.min;
    def->check_warn_permille = thresholds.warn;
    return rc;
}

/* ---- Services ---- */

static int read_ready(struct parser *p, struct task_def *def, const struct node *node)
{
    enum { RUN, WITHIN, EVERY, COUNT };
    static const struct str names[COUNT] = {NAME("run"), NAME("within"), NAME("every")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `ready`", {NULL, 0}};
    def->ready_within_ms = READY_WITHIN_MS;
    def->ready_every_ms = READY_EVERY_MS;
    if (node->kind != NODE_MAP)
        return read_shell_text(p, node, "ready", &def->ready);
    int rc = expect_keys(p, node, where, names, found, COUNT);
    if (!rc && !found[RUN])
        rc = diagnose(&p->diagnostic, node->at,
                      "`ready` needs `run`, as in {run: ./ping, within: 30s}");
    if (!rc && found[WITHIN])
        rc = expect_duration(p, found[WITHIN]->next, "`within`", 1,
                             &def->ready_within_ms);
    if (!rc && found[EVERY])
        rc = expect_duration(p, found[EVERY]->next, "`every`", 1, &def->ready_every_ms);
    return rc ? rc : read_shell_text(p, found[RUN]->next, "run", &def->ready);
}

static int read_port(struct parser *p, struct task_def *def, const struct node *node)
{
    if (node->kind == NODE_TEXT && node->text.len && node->text.ptr[0] >= '0' &&
        node->text.ptr[0] <= '9')
        return diagnose(&p->diagnostic, node->at,
                        "`port: true` asks for a free port; a fixed one is written in "
                        "the command");
    if (node->kind != NODE_LIST)
        return expect_bool(p, node, "`port`", &def->port);
    if (!node->n || node->n > LIMIT_PORTS)
        return diagnose(&p->diagnostic, node->at,
                        "`port` takes 1 to %d names, as in [http, admin]", LIMIT_PORTS);
    def->ports = arena_take(&p->out->arena, node->n, sizeof *def->ports);
    if (!def->ports)
        return out_of_memory(p);
    int rc = 0;
    for (const struct node *item = node->first; item && !rc; item = item->next) {
        rc = expect_text(p, item, "a name under `port`", &def->ports[def->n_ports]);
        if (!rc && !service_ports_are_good(def->ports, ++def->n_ports))
            rc =
                diagnose(&p->diagnostic, item->at,
                         "a port has a name of a-z, 0-9 and _, and none twice; a fixed "
                         "port is written in the command");
    }
    return rc;
}

static int read_restart(struct parser *p, struct task_def *def, const struct node *node)
{
    return read_retries(p, node, "`restart`", &def->retry);
}

/* One task: the table of its keys, and how most of them are read. Needs are read when
 * all tasks are there (parse_tasks.c). */

/* ---- Surroundings ---- */

static void set_shell(struct task_def *def, const struct command_shell *shell,
                      bool for_run, bool for_side)
{
    if (for_run) {
        def->shell = shell->words;
        def->n_shell = shell->n;
    }
    if (for_side) {
        def->side_shell = shell->words;
        def->n_side_shell = shell->n;
    }
}

/* Both are sorted; a key of the task wins. Without own entries the workflow's array is
 * shared by all tasks. */
static int merge_env(const struct parser *p, struct task_def *def,
                     const struct key_value *own, uint32_t n_own)
{
    uint32_t i = 0, j = 0, n = 0;
    def->env =
        arena_take(&p->out->arena, (size_t)p->in->n_env + n_own, sizeof *def->env);
    if (!def->env)
        return out_of_memory(p);
    while (i < p->in->n_env || j < n_own) {
        int order = i == p->in->n_env ? 1
                    : j == n_own      ? -1
                                      : str_compare(p->in->env[i].key, own[j].key);
        def->env[n++] = order < 0 ? p->in->env[i] : own[j];
        i += order <= 0;
        j += order >= 0;
    }
    def->n_env = n;
    return 0;
}

static int read_task_env(struct parser *p, struct task_def *def,
                         const struct node *node)
{
    struct key_value *own;
    uint32_t n_own;
    int rc = read_env(p, node, def, &own, &n_own);
    return !rc && n_own ? merge_env(p, def, own, n_own) : rc;
}

/* What the workflow's env refers to must be among the params that the task takes. */
static int check_inherited_env(struct parser *p, const struct task_def *def,
                               const struct node *params)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->in->n_env && !rc; i++)
        for (uint32_t j = 0; j < def->n_env && !rc; j++)
            if (def->env[j].value.ptr == p->in->env[i].value.ptr)
                rc = check_inherited(p, params, def, p->in->env[i].value);
    return rc;
}

static int read_cwd(struct parser *p, struct task_def *def, const struct node *node)
{
    return read_directory(p, node, def, IN_TASK, &def->cwd);
}

/* It replaces what begin_task has set, where that is wanted. */
static int read_task_shell(struct parser *p, struct task_def *def,
                           const struct node *node)
{
    struct command_shell shell;
    int rc = read_shell(p, node, &shell);
    if (!rc)
        set_shell(def, &shell, def->n_shell > 0, def->n_side_shell > 0);
    return rc;
}

struct file_list {
    const char *key, *what; /* in messages */
    struct str *names;
    uint32_t n;
    bool patterns; /* {glob: PATTERN} may stand for a name */
    int (*check)(struct parser *p, const struct node *node, struct str name); /* NULL */
};

/* {glob: PATTERN} */
static int read_pattern(struct parser *p, const struct task_def *def,
                        const struct node *node, struct str *out)
{
    static const struct str names[1] = {NAME("glob")};
    const struct node *found[1] = {NULL};
    struct where where = {"in `inputs`", {NULL, 0}};
    struct cairn_error inner = {0};
    struct str pattern = STR("");
    int rc = expect_keys(p, node, where, names, found, 1);
    if (!rc && !found[0])
        rc = diagnose(&p->diagnostic, node->at,
                      "an input is a name, or a pattern as in {glob: \"src/*.c\"}");
    if (!rc)
        rc = expect_filled(p, found[0]->next, "`glob`", &pattern)
                 ?: check_text(p, found[0]->next, &pattern, def, IN_TASK, NULL);
    if (!rc && glob_check(pattern, &inner))
        rc = diagnose(&p->diagnostic, found[0]->next->at, "%s", inner.text);
    if (rc)
        return rc;
    *out = arena_join(&p->out->arena, STR(INPUT_GLOB), pattern);
    return out->ptr ? 0 : out_of_memory(p);
}

static int check_input(struct parser *p, const struct node *node, struct str name)
{
    if (str_begins(name, STR(INPUT_GLOB)))
        return diagnose(&p->diagnostic, node->at,
                        "a pattern is written {glob: \"src/*.c\"}; for a file of this "
                        "name put ./ before it");
    if (!template_has(name) && memchr(name.ptr, '*', name.len))
        parse_warn(p, node->at,
                   "`%.*s` is the name of one file; for all that match it write {glob: "
                   "\"%.*s\"}",
                   SHOWN(name), SHOWN(name));
    return 0;
}

static int read_file(struct parser *p, const struct task_def *def,
                     const struct node *node, struct file_list *out)
{
    struct str *name = &out->names[out->n++];
    if (out->patterns && node->kind == NODE_MAP)
        return read_pattern(p, def, node, name);
    int rc = expect_filled(p, node, out->what, name);
    if (!rc && out->check)
        rc = out->check(p, node, *name);
    if (!rc)
        warn_of_path(p, node, out->key, *name);
    return rc ? rc : check_text(p, node, name, def, IN_TASK, NULL);
}

/* One file or a list of them. */
static int read_files(struct parser *p, const struct task_def *def,
                      const struct node *node, struct file_list *out)
{
    bool single = node->kind == NODE_TEXT || (out->patterns && node->kind == NODE_MAP);
    char key[32];
    snprintf(key, sizeof key, "`%s`", out->key);
    int rc = single ? 0 : expect_list(p, node, key);
    if (rc)
        return rc;
    out->names = arena_take(&p->out->arena, single ? 1 : node->n, sizeof *out->names);
    if (!out->names)
        return out_of_memory(p);
    if (single)
        return read_file(p, def, node, out);
    for (const struct node *item = node->first; item && !rc; item = item->next)
        rc = read_file(p, def, item, out);
    return rc;
}

static int read_inputs(struct parser *p, struct task_def *def, const struct node *node)
{
    struct file_list inputs = {
        .key = "inputs", .what = "an input", .patterns = true, .check = check_input};
    int rc = read_files(p, def, node, &inputs);
    def->inputs = inputs.names;
    def->n_inputs = inputs.n;
    return rc;
}

static int read_outputs(struct parser *p, struct task_def *def, const struct node *node)
{
    struct file_list outputs = {.key = "outputs", .what = "an output"};
    int rc = read_files(p, def, node, &outputs);
    def->outputs = outputs.names;
    def->n_outputs = outputs.n;
    return rc;
}

static int read_depfile(struct parser *p, struct task_def *def, const struct node *node)
{
    int rc = expect_filled(p, node, "`depfile`", &def->depfile);
    if (!rc)
        warn_of_path(p, node, "depfile", def->depfile);
    return rc ? rc : check_text(p, node, &def->depfile, def, IN_TASK, NULL);
}

/* ---- Artifacts ---- */

/* A pattern without values as it is looked for. CAIRN_EWORKFLOW. */
static int check_artifact(struct parser *p, const struct node *node, struct str name)
{
    struct cairn_error why = {0};
    struct buf pattern = BUF_INIT;
    int rc = 0;
    if (memmem(name.ptr, name.len, "**", 2))
        return diagnose(&p->diagnostic, node->at,
                        "`**` is not supported; a directory is stored with all that is "
                        "below it, as in `artifacts: [dist]`");
    if (name.ptr[0] == '!')
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` leaves nothing out: name what is to be stored",
                        SHOWN(name));
    if (!template_has(name))
        rc = artifact_pattern(name, &pattern, &why);
    buf_release(&pattern);
    return rc ? diagnose(&p->diagnostic, node->at, "%s", why.text) : 0;
}

static int read_artifact_files(struct parser *p, struct task_def *def,
                               const struct node *node)
{
    struct file_list artifacts = {
        .key = "artifacts", .what = "an artifact", .check = check_artifact};
    int rc = read_files(p, def, node, &artifacts);
    def->artifacts = artifacts.names;
    def->n_artifacts = artifacts.n;
    return rc;
}

/* `[dist/x.tar.gz]`, or `{files: [...], keep: 30d, none: fail, when: always}`. */
static int read_artifacts(struct parser *p, struct task_def *def,
                          const struct node *node)
{
    enum { FILES, KEPT, NONE, ENDED, COUNT };
    static const struct str names[COUNT] = {NAME("files"), NAME("keep"), NAME("none"),
                                            NAME("when")};
    static const struct str words[] = {NAME("warn"), NAME("fail")};
    static const struct str ends[] = {NAME("success"), NAME("failure"), NAME("always")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `artifacts`", {NULL, 0}};
    uint8_t word = 0;
    if (node->kind != NODE_MAP)
        return read_artifact_files(p, def, node);
    int rc = expect_keys(p, node, where, names, found, COUNT);
    if (!rc && !found[FILES])
        rc = diagnose(&p->diagnostic, node->at,
                      "`artifacts` needs `files`, as in {files: [dist/*.tar.gz], keep: "
                      "30d}");
    if (!rc)
        rc = read_artifact_files(p, def, found[FILES]->next);
    if (!rc && found[KEPT])
        rc = expect_duration(p, found[KEPT]->next, "`keep`", 1, &def->artifacts_ms);
    if (!rc && found[NONE])
        rc = expect_choice(p, found[NONE]->next, "`none`", words, 2, &word);
    if (!rc && found[ENDED])
        rc = expect_choice(p, found[ENDED]->next, "`when`", ends, 3,
                           &def->artifacts_when);
    def->artifacts_wanted = word == 1;
    if (!def->n_artifacts) { /* an empty list says nothing */
        def->artifacts_ms = 0;
        def->artifacts_when = ARTIFACTS_SUCCESS;
        def->artifacts_wanted = false;
    }
    return rc;
}

/* ---- When and how it is run ---- */

static int read_when(struct parser *p, struct task_def *def, const struct node *node)
{
    static const struct str words[] = {NAME("success"), NAME("failed"), NAME("always")};
    return expect_choice(p, node, "`when`", words, 3, &def->when);
}

static int read_skip_exit(struct parser *p, struct task_def *def,
                          const struct node *node)
{
    struct bounds bounds = {1, 255};
    int64_t code = 0;
    int rc = expect_integer(p, node, "`skip_exit`", bounds, &code);
    def->skip_exit = (uint8_t)code;
    return rc;
}

static int read_task_reuse(struct parser *p, struct task_def *def,
                           const struct node *node)
{
    return read_reuse(p, node, &def->reuse, &def->reuse_ms);
}

/* What the task has of its own is known: what cannot be reused is not by `defaults`,
 * and refused where the task itself wants it. */
static int settle_reuse(const struct parser *p, struct task_def *def,
                        const struct node *key)
{
    if (!key && !def->reuse) {
        def->reuse = p->in->reuse;
        def->reuse_ms = def->n_outputs ? p->in->reuse_ms : 0;
    }
    bool may = task_def_may_reuse(def);
    if (may && def->reuse_ms && !def->n_outputs)
        return diagnose(&p->diagnostic, key ? key->at : def->at,
                        "`reuse` of task `%.*s` has nothing to keep: it has no "
                        "`outputs`; `reuse: true` needs none",
                        SHOWN(def->id));
    if (!def->reuse || may)
        return 0;
    def->reuse = false;
    def->reuse_ms = 0;
    if (!key || def->kind == TASK_EXTERNAL || task_def_is_service(def))
        return 0; /* choose_kind has refused it */
    return diagnose(&p->diagnostic, key->at,
                    "`reuse` has no meaning for task `%.*s`, which %s", SHOWN(def->id),
                    def->once      ? "is `once`"
                    : def->finally ? "is under `finally`"
                    : def->undo.len
                        ? "has an `undo`: what another run did is not undone"
                        : "has `when: failed` or `always`");
}

static int read_task_stale(struct parser *p, struct task_def *def,
                           const struct node *node)
{
    return read_stale(p, node, &def->stale);
}

static int read_stderr(struct parser *p, struct task_def *def, const struct node *node)
{
    static const struct str words[] = {NAME("merged"), NAME("apart")};
    uint8_t word = 0;
    int rc = expect_choice(p, node, "`stderr`", words, 2, &word);
    def->apart = word == 1;
    return rc;
}

static int read_task_timeout(struct parser *p, struct task_def *def,
                             const struct node *node)
{
    if (task_def_is_service(def))
        return read_grace(p, node, &def->grace_ms);
    return read_timeout(p, node, &def->timeout_ms, &def->grace_ms);
}

static int read_task_retries(struct parser *p, struct task_def *def,
                             const struct node *node)
{
    return read_retries(p, node, "`retries`", &def->retry);
}

/* `{until: EXPR, max: 10, delay: 5s}`; the first two are required. */
static int read_repeat(struct parser *p, struct task_def *def, const struct node *node)
{
    enum { UNTIL, MAX, DELAY, COUNT };
    static const struct str names[COUNT] = {NAME("until"), NAME("max"), NAME("delay")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `repeat`", {NULL, 0}};
    struct bounds bounds = {1, LIMIT_RETRIES};
    int64_t max = 0;
    int rc =
        node->kind == NODE_MAP ? expect_keys(p, node, where, names, found, COUNT) : 0;
    if (!rc && (!found[UNTIL] || !found[MAX]))
        rc = diagnose(&p->diagnostic, node->at,
                      "`repeat` needs `until` and `max`, as in {until: outputs.left == "
                      "0, max: 10, delay: 5s}");
    if (!rc)
        rc = read_until(p, def, found[UNTIL]->next)
                 ?: expect_integer(p, found[MAX]->next, "`max`", bounds, &max);
    if (!rc && found[DELAY])
        rc =
            expect_duration(p, found[DELAY]->next, "`delay`", 0, &def->repeat.delay_ms);
    def->repeat.max = (uint32_t)max;
    return rc;
}

static int read_pool(struct parser *p, struct task_def *def, const struct node *node)
{
    struct pool_uses uses;
    int rc = read_pool_uses(p, node, &uses);
    if (rc)
        return rc;
    def->pools = uses.at;
    def->n_pools = uses.n;
    return 0;
}

static int read_nice(struct parser *p, struct task_def *def, const struct node *node)
{
    struct bounds bounds = {0, 19};
    int64_t nice = 0;
    int rc = expect_integer(p, node, "`nice`", bounds, &nice);
    def->nice = (uint8_t)nice;
    return rc;
}

static int read_slots(struct parser *p, struct task_def *def, const struct node *node)
{
    struct bounds bounds = {1, LIMIT_JOBS};
    int64_t slots = 1;
    int rc = expect_integer(p, node, "`slots`", bounds, &slots);
    def->slots = slots > 1 ? (uint32_t)slots : 0;
    return rc;
}

static int read_task_memory(struct parser *p, struct task_def *def,
                            const struct node *node)
{
    int rc = expect_memory(p, node, "`memory`", &def->memory);
    if (!rc && p->out->memory && def->memory > p->out->memory)
        rc = diagnose(&p->diagnostic, node->at,
                      "the task takes %uM of memory, and `memory` at the top is %uM: "
                      "lower this, or raise that",
                      def->memory, p->out->memory);
    return rc;
}

static int read_task_description(struct parser *p, struct task_def *def,
                                 const struct node *node)
{
    return read_description(p, node, &def->description);
}

static int read_lost_claims(struct parser *p, struct task_def *def,
                            const struct node *node)
{
    struct bounds bounds = {1, LIMIT_LOST_CLAIMS};
    int64_t most = 0;
    if (def->kind != TASK_EXTERNAL)
        return diagnose(&p->diagnostic, node->at,
                        "`lost_claims` is only for `external`: other tasks are not "
                        "claimed, and have `retries`");
    int rc = expect_integer(p, node, "`lost_claims`", bounds, &most);
    def->lost_claims = (uint32_t)most;
    return rc;
}

static int read_priority(struct parser *p, struct task_def *def,
                         const struct node *node)
{
    struct bounds bounds = {INT32_MIN, INT32_MAX};
    int64_t priority = 0;
    int rc = expect_integer(p, node, "`priority`", bounds, &priority);
    def->priority = (int32_t)priority;
    return rc;
}

/* `exclude` and `include`, which read_foreach has read. */
static int read_with_foreach(struct parser *p, struct task_def *def,
                             const struct node *node)
{
    if (def->n_foreach)
        return 0;
    return diagnose(&p->diagnostic, node->at,
                    "`exclude` and `include` are about the values of `foreach`, which "
                    "task `%.*s` has not",
                    SHOWN(def->id));
}

/* ---- The keys of a task ---- */

enum {
    DESCRIPTION,
    PARAMS,
    FOREACH,
    EXCLUDE,
    INCLUDE,
    SECRETS,
    ENV,
    CWD,
    SHELL,
    RUN,
    EXEC,
    ARGS,
    EXTERNAL,
    CALL,
    WITH,
    SERVICE,
    READY,
    RESTART,
    PORT,
    INPUTS,
    OUTPUTS,
    DEPFILE,
    ARTIFACTS,
    IF,
    WHEN,
    ONCE,
    CHECK,
    UNDO,
    FALLBACK,
    TIMEOUT,
    RETRIES,
    REPEAT,
    POOL,
    SLOTS,
    MEMORY,
    NICE,
    PRIORITY,
    LOST_CLAIMS,
    STDERR,
    REUSE,
    CUTOFF,
    STALE,
    NEEDS_ALL,
    MAY_FAIL,
    SKIP_EXIT,
    NEEDS,
    EXTENDS,
    KEYS
};

/* Tasks that may have a key: all, those that are not external, or of these those with
 * a text for a shell. */
enum kinds { ALL, RUN_BY_US, WITH_SHELL };

#define FLAG(member) offsetof(struct task_def, member)

/* In the order in which they are read: names before what can refer to them. */
static const struct {
    struct str name;
    enum kinds kinds;
    int (*read)(struct parser *p, struct task_def *def, const struct node *value);
    size_t flag; /* of one that is true or false: its member */
} keys[KEYS] = {
    [DESCRIPTION] = {NAME("description"), ALL, .read = read_task_description},
    [PARAMS] = {NAME("params"), ALL, .read = read_task_params},
    [FOREACH] = {NAME("foreach"), ALL, .read = read_foreach},
    [EXCLUDE] = {NAME("exclude"), ALL, .read = read_with_foreach},
    [INCLUDE] = {NAME("include"), ALL, .read = read_with_foreach},
    [SECRETS] = {NAME("secrets"), RUN_BY_US, .read = read_task_secrets},
    [ENV] = {NAME("env"), RUN_BY_US, .read = read_task_env},
    [CWD] = {NAME("cwd"), ALL, .read = read_cwd},
    [SHELL] = {NAME("shell"), WITH_SHELL, .read = read_task_shell},
    [RUN] = {NAME("run"), ALL, .read = read_run}, /* of these four, one: choose_kind */
    [EXEC] = {NAME("exec"), ALL, .read = read_exec},
    [ARGS] = {NAME("args"), RUN_BY_US, .read = read_args},
    [EXTERNAL] = {NAME("external"), ALL, .read = read_external},
    [CALL] = {NAME("call"), ALL, .read = read_call},
    [WITH] = {NAME("with"), RUN_BY_US, .read = read_with},
    [SERVICE] = {NAME("service"), RUN_BY_US, .read = NULL}, /* refuse_for_service */
    [READY] = {NAME("ready"), RUN_BY_US, .read = read_ready},
    [RESTART] = {NAME("restart"), RUN_BY_US, .read = read_restart},
    [PORT] = {NAME("port"), RUN_BY_US, .read = read_port},
    [INPUTS] = {NAME("inputs"), RUN_BY_US, .read = read_inputs},
    [OUTPUTS] = {NAME("outputs"), ALL, .read = read_outputs},
    [DEPFILE] = {NAME("depfile"), RUN_BY_US, .read = read_depfile},
    [ARTIFACTS] = {NAME("artifacts"), RUN_BY_US, .read = read_artifacts},
    [IF] = {NAME("if"), ALL, .read = read_condition},
    [WHEN] = {NAME("when"), ALL, .read = read_when},
    [ONCE] = {NAME("once"), RUN_BY_US, .flag = FLAG(once)},
    [CHECK] = {NAME("check"), RUN_BY_US, .read = read_check},
    [UNDO] = {NAME("undo"), ALL, .read = read_undo},
    [FALLBACK] = {NAME("fallback"), RUN_BY_US, .read = read_fallback},
    [TIMEOUT] = {NAME("timeout"), RUN_BY_US, .read = read_task_timeout},
    [RETRIES] = {NAME("retries"), RUN_BY_US, .read = read_task_retries},
    [REPEAT] = {NAME("repeat"), RUN_BY_US, .read = read_repeat},
    [POOL] = {NAME("pool"), RUN_BY_US, .read = read_pool},
    [SLOTS] = {NAME("slots"), RUN_BY_US, .read = read_slots},
    [MEMORY] = {NAME("memory"), RUN_BY_US, .read = read_task_memory},
    [NICE] = {NAME("nice"), RUN_BY_US, .read = read_nice},
    [PRIORITY] = {NAME("priority"), ALL, .read = read_priority},
    [LOST_CLAIMS] = {NAME("lost_claims"), ALL, .read = read_lost_claims},
    [STDERR] = {NAME("stderr"), RUN_BY_US, .read = read_stderr},
    [REUSE] = {NAME("reuse"), RUN_BY_US, .read = read_task_reuse},
    [CUTOFF] = {NAME("cutoff"), RUN_BY_US, .flag = FLAG(cutoff)},
    [STALE] = {NAME("stale"), ALL, .read = read_task_stale},
    [NEEDS_ALL] = {NAME("needs_all"), ALL, .flag = FLAG(needs_all)},
    [MAY_FAIL] = {NAME("may_fail"), ALL, .flag = FLAG(may_fail)},
    [SKIP_EXIT] = {NAME("skip_exit"), RUN_BY_US, .read = read_skip_exit},
    [NEEDS] = {NAME("needs"), ALL,
               .read = NULL}, /* read_needs, when all tasks are there */
    [EXTENDS] = {NAME("extends"), ALL,
                 .read = NULL}, /* before all others: templates.c */
};

struct str task_key(size_t i)
{
    return i < KEYS ? keys[i].name : (struct str){NULL, 0};
}

bool is_task_key(struct str name)
{
    size_t i = 0;
    while (i < KEYS && !str_equal(task_key(i), name))
        i++;
    return i < KEYS;
}

static int find_keys(const struct parser *p, struct where where,
                     const struct node *node, const struct node *found[])
{
    struct str names[KEYS];
    char what[128];
    snprintf(what, sizeof what, "%s `%.*s`", where.text, SHOWN(where.name));
    for (size_t i = 0; i < KEYS; i++)
        names[i] = keys[i].name;
    int rc = expect_map(p, node, what);
    return rc ? rc : expect_keys(p, node, where, names, found, KEYS);
}

int check_template_keys(const struct parser *p, const struct node *key)
{
    const struct node *found[KEYS];
    return find_keys(p, (struct where){"template", key->text}, key->next, found);
}

/* Where the key stands, line 0 if a field of a program says it. NULL: nowhere. */
static const struct position *key_at(const struct parser *p,
                                     const struct node *const found[], size_t key)
{
    static const struct position nowhere = {0, 0};
    return found[key] ? &found[key]->at : p->by_fields >> key & 1 ? &nowhere : NULL;
}

static int refuse_for_external(const struct parser *p, const struct task_def *def,
                               const struct node *const found[])
{
    for (size_t i = 0; i < KEYS; i++)
        if (key_at(p, found, i) && keys[i].kinds != ALL)
            return diagnose(&p->diagnostic, *key_at(p, found, i),
                            "`%s` has no meaning for task `%.*s`, which is `external`: "
                            "cairn does not run it",
                            keys[i].name.ptr, SHOWN(def->id));
    return 0;
}

struct refused {
    uint8_t key;
    const char *why;
};

/* `whom`: has the task's name in it. */
static int refuse_keys(const struct parser *p, const struct node *const found[],
                       const struct refused *refused, size_t n, const char *whom)
{
    for (size_t i = 0; i < n; i++)
        if (key_at(p, found, refused[i].key))
            return diagnose(&p->diagnostic, *key_at(p, found, refused[i].key),
                            "`%s` has no meaning for %s: %s",
                            keys[refused[i].key].name.ptr, whom, refused[i].why);
    return 0;
}

/* What there is only for a process of ours, or that a function does itself. */
static int refuse_for_call(const struct parser *p, const struct task_def *def,
                           const struct node *const found[])
{
    static const struct refused refused[] = {
        {SECRETS, "the program has its own"},
        {ENV, "it has the environment of its program; arguments stand in `with`"},
        {CWD, "it has the directory of its program"},
        {SHELL, "it needs none"},
        {ARGS, "arguments stand in `with`"},
        {SERVICE, "a service is a process"},
        {READY, "a service is a process"},
        {RESTART, "a service is a process"},
        {PORT, "a service is a process"},
        {FALLBACK, "it falls back itself"},
        {NICE, "it has no process of its own"},
        {STDERR, "what it writes is not logged"},
        {SKIP_EXIT, "it has no exit code"},
    };
    char whom[128];
    snprintf(whom, sizeof whom, "task `%.*s`, which is a callback", SHOWN(def->id));
    return refuse_keys(p, found, refused, sizeof refused / sizeof refused[0], whom);
}

/* A service is never done, so what is about an end that is wanted has no meaning. */
static int refuse_for_service(const struct parser *p, struct task_def *def,
                              const struct node *const found[])
{
    static const struct refused refused[] = {
        {INPUTS, "it starts whenever a task that needs it runs"},
        {OUTPUTS, "it is never done; let a task that needs it make the file"},
        {DEPFILE, "it starts whenever a task that needs it runs"},
        {ARTIFACTS, "it is never done; let a task that needs it make the file"},
        {WHEN, "it starts whenever a task that needs it runs"},
        {SKIP_EXIT, "it is never done"},
        {REUSE, "it is never done"},
        {CUTOFF, "it is never done"},
        {STALE, "it has no outputs"},
        {MAY_FAIL, "what needs it cannot run without it"},
        {ONCE, "it starts again whenever a task that needs it runs"},
        {CHECK, "`ready` asks whether it can be used"},
        {UNDO, "it is never done; give `undo` to the tasks that need it"},
        {FALLBACK, "it is never done"},
        {RETRIES, "write `restart`"},
        {REPEAT, "it is never done"},
        {SLOTS, "it is not one of `jobs`"},
        {MEMORY, "it lives beside the tasks that need it"},
        {POOL, "it would hold its place while the tasks that need it wait for one"},
    };
    bool service = def->ready.len > 0; /* by fields of a program */
    int rc = found[SERVICE]
                 ? expect_bool(p, found[SERVICE]->next, "`service`", &service)
                 : 0;
    if (rc)
        return rc;
    static const char *const instead[] = {", or write `check`", ", or write `retries`",
                                          ""};
    for (size_t i = READY; i <= PORT && !service; i++)
        if (found[i])
            return diagnose(&p->diagnostic, found[i]->at,
                            "`%s` is only for a service: add `service: true` to task "
                            "`%.*s`%s",
                            keys[i].name.ptr, SHOWN(def->id), instead[i - READY]);
    if (!service)
        return 0;
    if (!found[READY] && !def->ready.len)
        return diagnose(
            &p->diagnostic, found[SERVICE]->at,
            "service `%.*s` needs `ready`, a command that succeeds once the "
            "service can be used, as in `ready: redis-cli ping`",
            SHOWN(def->id));
    if (def->finally)
        return diagnose(&p->diagnostic, found[SERVICE]->at,
                        "`%.*s` cannot be a service: it is under `finally`",
                        SHOWN(def->id));
    char whom[128];
    snprintf(whom, sizeof whom, "the service `%.*s`", SHOWN(def->id));
    return refuse_keys(p, found, refused, sizeof refused / sizeof refused[0], whom);
}

/* Which one of run, exec, external and call there is. */
static int choose_kind(const struct parser *p, struct task_def *def,
                       const struct node *const found[])
{
    static const struct {
        uint8_t key, kind;
    } commands[] = {{RUN, TASK_RUN},
                    {EXEC, TASK_EXEC},
                    {EXTERNAL, TASK_EXTERNAL},
                    {CALL, TASK_CALL}};
    const struct node *first = NULL, *last = NULL;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const struct node *key = found[commands[i].key];
        if (!key)
            continue;
        bool later =
            !last || key->at.line > last->at.line ||
            (key->at.line == last->at.line && key->at.column > last->at.column);
        first = later ? last : key;
        last = later ? key : last;
        def->kind = commands[i].kind;
    }
    if (!last && !def->kind)
        return diagnose(&p->diagnostic, def->at,
                        "task `%.*s` has nothing to do; give it `run`, `exec`, "
                        "`external` or `call`",
                        SHOWN(def->id));
    if (first)
        return diagnose(&p->diagnostic, last->at,
                        "task `%.*s` has both `%.*s` and `%.*s`; it can have only one",
                        SHOWN(def->id), SHOWN(first->text), SHOWN(last->text));
    return def->kind == TASK_EXTERNAL ? refuse_for_external(p, def, found)
           : def->kind == TASK_CALL   ? refuse_for_call(p, def, found)
                                      : refuse_for_service(p, def, found);
}

/* ---- Tasks ---- */

/* The defaults of a task, before its keys are read, where no field of a program says
 * anything else. CAIRN_ENOMEM. */
static int begin_task(struct parser *p, struct task_def *def,
                      const struct node *const found[])
{
    bool service = found[READY] || def->ready.len;
    int rc = 0;
    if (def->kind != TASK_CALL) {
        struct key_value *own = def->env;
        uint32_t n_own = def->n_env;
        if (!def->cwd.len)
            def->cwd = p->in->cwd;
        def->env = p->in->env;
        def->n_env = p->in->n_env;
        rc = n_own ? merge_env(p, def, own, n_own) : 0;
    }
    set_shell(def, &p->in->shell, def->kind == TASK_RUN,
              def->kind != TASK_CALL && (found[CHECK] || found[UNDO] || service ||
                                         found[FALLBACK] || def->fallback.len));
    if (!def->n_foreach)
        def->members = 1;
    if (!def->stale && !service)
        def->stale = p->in->stale;
    if (!def->grace_ms || def->grace_ms == DEFAULT_GRACE_MS)
        def->grace_ms = p->in->grace_ms;
    if (!def->retry.max)
        def->retry = (struct retry_policy){.factor_permille = 1000};
    if (def->kind == TASK_EXTERNAL || service)
        return rc;
    if (!def->timeout_ms)
        def->timeout_ms = p->in->timeout_ms;
    if (!def->retry.max)
        def->retry = p->in->retry;
    if (!found[POOL]) {
        if (!def->n_pools) {
            def->pools = p->in->pools.at;
            def->n_pools = p->in->pools.n;
        }
        if (!def->memory)
            def->memory = p->in->memory;
    }
    return rc;
}

static int read_key(struct parser *p, struct task_def *def, const struct node *key,
                    size_t row)
{
    if (keys[row].kinds == WITH_SHELL && !def->n_shell && !def->n_side_shell)
        return diagnose(&p->diagnostic, key->at,
                        "`shell` is only for `run`, `check`, `undo`, `fallback` and "
                        "`ready`; `exec` starts the command itself");
    if (keys[row].flag) {
        char what[32];
        snprintf(what, sizeof what, "`%s`", keys[row].name.ptr);
        return expect_bool(p, key->next, what,
                           (bool *)(void *)((char *)def + keys[row].flag));
    }
    return keys[row].read ? keys[row].read(p, def, key->next) : 0;
}

/* Those from row `first` up to row `end`. */
static int read_keys(struct parser *p, struct task_def *def,
                     const struct node *const found[], size_t first, size_t end)
{
    int rc = 0;
    for (size_t i = first; i < end && !rc; i++)
        if (found[i]) {
            rc = read_key(p, def, found[i], i);
            if (rc && p->options->mistakes && i <= FOREACH)
                p->options->mistakes->names_unknown = true;
            else
                rc = parse_go_on(p, rc);
        }
    return rc;
}

int read_task(struct parser *p, uint32_t index, const struct node *node)
{
    struct task_def *def = &p->out->defs[index];
    const struct node *found[KEYS] = {NULL};
    const struct keys_set *set = p->options->set;
    p->by_fields = set && index < set->n ? set->tasks[index].by_fields : 0;
    int rc = extend_task(p, node, &node)
             ?: find_keys(p, (struct where){"task", def->id}, node, found)
             ?: parse_go_on(p, choose_kind(p, def, found));
    if (rc) {
        def->members = 1;
        return rc;
    }
    if (!found[PARAMS])
        found[PARAMS] = p->in->params;
    if (begin_task(p, def, found))
        return CAIRN_ENOMEM;
    p->exclude = found[EXCLUDE] ? found[EXCLUDE]->next : NULL;
    p->include = found[INCLUDE] ? found[INCLUDE]->next : NULL;
    rc = read_keys(p, def, found, DESCRIPTION, CWD);
    if (!rc && found[PARAMS])
        rc = check_inherited_env(p, def, found[PARAMS]);
    if (!rc && found[PARAMS] && !found[CWD] && def->kind != TASK_CALL)
        rc = check_inherited(p, found[PARAMS], def, p->in->cwd);
    if (!rc)
        rc = read_keys(p, def, found, CWD, NEEDS)
                 ?: parse_go_on(p, settle_reuse(p, def, found[REUSE]));
    if (!rc)
        p->nodes[index] = (struct task_nodes){.task = node,
                                              .needs = value_of(found[NEEDS]),
                                              .needs_all = found[NEEDS_ALL],
                                              .when = value_of(found[WHEN])};
    return rc;
}
