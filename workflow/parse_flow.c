/* SPDX-License-Identifier: MIT */
/* Keys of a task that say when it runs and what follows it: when, check, undo, and
 * external, which is done by somebody else. */
#include "workflow/parse_int.h"

#include "base/identifier.h"
#include "base/limits.h"

#include <stdio.h>

/* ---- Texts for a shell ---- */

/* NAME of the first `${{ NAME }}`, without what stands before its last point; "name" if
 * it is no name. */
static struct str variable_of(struct str text)
{
    const char *at = memmem(text.ptr, text.len, "${{", 3), *end = text.ptr + text.len;
    size_t n = 0;
    for (at += 3; at < end && *at == ' ';)
        at++;
    for (const char *c = at; c < end && *c != ' ' && *c != '}'; c++) {
        n = *c == '.' ? 0 : n + 1;
        at = *c == '.' ? c + 1 : at;
    }
    struct str name = {at, n};
    return str_is_env_name(name) ? name : STR("name");
}

int refuse_references(const struct parser *p, const struct node *node, const char *key,
                      struct str text)
{
    if (!template_has(text))
        return 0;
    return diagnose(&p->diagnostic, place_of_reference(p, node, text),
                    "the text of `%s` is never rewritten: values come as environment "
                    "variables, so write \"$%.*s\" instead of ${{ }}",
                    key, SHOWN(variable_of(text)));
}

static int read_shell_text(const struct parser *p, const struct node *node,
                           const char *key, struct str *out)
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

int read_undo(const struct parser *p, struct task_def *def, const struct node *node)
{
    return read_shell_text(p, node, "undo", &def->undo);
}

/* ---- Check ---- */

int read_thresholds(const struct parser *p, const struct node *min,
                    const struct node *warn, struct thresholds *out)
{
    struct bounds bounds = {0, 1};
    struct thresholds got = *out;
    int rc = 0;
    if (min)
        rc = expect_permille(p, min->next, "`min`", bounds, &got.min);
    if (!rc && warn)
        rc = expect_permille(p, warn->next, "`warn`", bounds, &got.warn);
    if (rc)
        return rc;
    if (min && !warn && got.warn < got.min)
        got.warn = got.min;
    if (warn && got.warn < got.min)
        return diagnose(&p->diagnostic, warn->next->at,
                        "`warn` is below `min`, which is %u.%03u%s; between the two a "
                        "check passes with a warning",
                        got.min / 1000, got.min % 1000,
                        min ? "" : " if it is not given");
    *out = got;
    return 0;
}

int read_check(const struct parser *p, struct task_def *def, const struct node *node)
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

/* ---- When, external ---- */

int read_when(const struct parser *p, struct task_def *def, const struct node *node)
{
    static const struct str words[] = {NAME("success"), NAME("failed"), NAME("always")};
    return expect_choice(p, node, "`when`", words, 3, &def->when);
}

int read_external(struct parser *p, struct task_def *def, const struct node *node)
{
    size_t size = 0;
    def->kind = TASK_EXTERNAL;
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
