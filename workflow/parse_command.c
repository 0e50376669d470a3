/* SPDX-License-Identifier: MIT */
/* What a task does: `run`, `exec`, or `external`, which is done by somebody else; and
 * its `check` and `undo`. */
#include "workflow/parse_common_int.h"
#include "workflow/parse_refs_int.h"
#include "workflow/parse_task_int.h"

#include "base/identifier.h"
#include "base/limits.h"

#include <stdio.h>

/* ---- Texts for a shell ---- */

/* The first expression, without the blanks around it. */
static struct str first_expression(struct str text)
{
    const char *at = memmem(text.ptr, text.len, "${{", 3), *end = text.ptr + text.len;
    at += 3;
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

static int refuse_references(struct parser *p, const struct node *node, const char *key,
                             struct str text)
{
    char instead[400];
    warn_of_other_form(p, node, text,
                       "values come as environment variables, as \"$name\"");
    if (!template_has(text))
        return 0;
    name_variable(instead, sizeof instead, key, first_expression(text));
    return diagnose(&p->diagnostic, place_of_reference(p, node, text),
                    "the text of `%s` is never rewritten: values come as environment "
                    "variables, so %s instead of ${{ }}",
                    key, instead);
}

static int read_shell_text(struct parser *p, const struct node *node, const char *key,
                           struct str *out)
{
    char what[64];
    struct str text;
    snprintf(what, sizeof what, "`%s`", key);
    int rc = expect_filled(p, node, what, &text);
    if (!rc)
        rc = refuse_references(p, node, key, text);
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

int read_run(struct parser *p, struct task_def *def, const struct node *node)
{
    if (node->kind == NODE_LIST)
        return diagnose(&p->diagnostic, node->at,
                        "`run` is one text for the shell: for several commands write a "
                        "block with `run: |`, for one command with its arguments "
                        "`exec: [cmd, \"arg 1\"]`");
    int rc = expect_filled(p, node, "`run`", &def->run);
    if (!rc)
        rc = refuse_references(p, node, "run", def->run);
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

int read_exec(struct parser *p, struct task_def *def, const struct node *node)
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
    if (!rc)
        warn_of_exec(p, node, def->argv[0]);
    return rc;
}

int read_external(struct parser *p, struct task_def *def, const struct node *node)
{
    size_t size = 0;
    int rc = expect_filled(p, node, "`external`", &def->external);
    if (!rc)
        rc = check_text(p, node, def->external, def, IN_TASK, &size);
    if (!rc && (size > LIMIT_TEXT_BYTES || def->external.len > LIMIT_TEXT_BYTES))
        rc = diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                         "the text of `external` is longer than %d bytes; put it "
                         "into a file and name that",
                         LIMIT_TEXT_BYTES);
    return rc;
}

/* ---- Undo and check ---- */

int read_undo(struct parser *p, struct task_def *def, const struct node *node)
{
    return read_shell_text(p, node, "undo", &def->undo);
}

int read_check(struct parser *p, struct task_def *def, const struct node *node)
{
    enum { RUN, MIN, WARN, COUNT };
    static const struct str names[COUNT] = {NAME("run"), NAME("min"), NAME("warn")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `check`", {NULL, 0}};
    struct thresholds thresholds = p->check;
    int rc = 0;
    if (node->kind != NODE_MAP)
        rc = read_shell_text(p, node, "check", &def->check);
    else {
        rc = expect_keys(p, node, where, names, found, COUNT);
        if (!rc && !found[RUN])
            rc = diagnose(&p->diagnostic, node->at,
                          "`check` needs `run`, as in {run: ./test, min: 0.7}");
        if (!rc)
            rc = read_thresholds(p, found[MIN], found[WARN], &thresholds);
        if (!rc)
            rc = read_shell_text(p, found[RUN]->next, "run", &def->check);
    }
    def->check_min_permille = thresholds.min;
    def->check_warn_permille = thresholds.warn;
    return rc;
}
