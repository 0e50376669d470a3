/* SPDX-License-Identifier: MIT */
/* Putting values into the texts of a task.
 *
 * The parser has refused every unknown name. The texts of a workflow that was
 * built in memory may hold anything: there, what cannot be parsed, and a ${{ }} with a
 * foreach key, param or env entry that does not exist, stays as it is. */
#include "graph/text_expand.h"

#include "graph/definition_text.h"
#include "graph/members.h"

#include <ctype.h>

/* ---- Names ---- */

static const struct key_value *env_entry(const struct task_def *def, struct str name)
{
    for (uint32_t i = 0; def && i < def->n_env; i++)
        if (str_equal(def->env[i].key, name))
            return &def->env[i];
    return NULL;
}

/* False for a key, param or env entry that there is not. */
static bool is_known(const struct scope *scope, const struct name *name)
{
    if (name->kind == NAME_KEY)
        return scope->def && task_def_key(scope->def, name->first) != UINT32_MAX;
    if (name->kind == NAME_PARAM)
        return definition_param(scope->definition, name->first) != UINT32_MAX;
    return name->kind != NAME_ENV || env_entry(scope->def, name->first);
}

static bool all_known(const struct scope *scope, const struct expression *expression)
{
    for (uint32_t i = 0; i < expression_names(expression); i++)
        if (!is_known(scope, expression_name(expression, i)))
            return false;
    return true;
}

/* A text being expanded. Values that had to be made live in `arena`. */
struct expansion {
    const struct scope *scope;
    struct arena arena;
    bool inside_env;
};

static int expand_text(struct expansion *x, struct str text, struct buf *out,
                       struct cairn_error *error);

/* No deeper than one level: an env value cannot refer to env entries. */
static int env_value(struct expansion *x, const struct name *name, struct str *out,
                     struct cairn_error *error)
{
    const struct key_value *entry = env_entry(x->scope->def, name->first);
    struct buf value = BUF_INIT;
    if (x->inside_env)
        return error_set(error, CAIRN_EWORKFLOW,
                         "the value of an env entry cannot refer to env.%s",
                         expression_shown(name->first).text);
    x->inside_env = true;
    int rc = expand_text(x, entry->value, &value, error);
    x->inside_env = false;
    if (!rc)
        *out = arena_str(&x->arena, buf_view(&value));
    buf_release(&value);
    return !rc && !out->ptr ? error_nomem(error) : rc;
}

static int param_value(const struct scope *scope, const struct name *name,
                       struct str *out, struct cairn_error *error)
{
    uint32_t i = definition_param(scope->definition, name->first);
    if (scope->def && !task_def_takes_param(scope->def, name->first))
        return error_set(error, CAIRN_EWORKFLOW,
                         "task `%.*s` does not get the param `%s`: it is not in its "
                         "`params`",
                         (int)scope->def->id.len, scope->def->id.ptr,
                         expression_shown(name->first).text);
    *out = scope->definition->params[i].value;
    return 0;
}

static int unknown_name(const struct name *name, struct cairn_error *error)
{
    const char *what = name->kind == NAME_PARAM ? "param"
                       : name->kind == NAME_ENV ? "env entry"
                                                : "foreach key";
    return error_set(error, CAIRN_EWORKFLOW, "there is no %s `%s`", what,
                     expression_shown(name->first).text);
}

/* Before a run has begun. */
static int not_known_yet(const struct name *name, struct cairn_error *error)
{
    struct shown task = expression_shown(name->first);
    switch (name->kind) {
    case NAME_TASK_OUTPUT:
        return error_set(error, CAIRN_EWORKFLOW,
                         "tasks.%s.outputs.%s is only known while the workflow runs",
                         task.text, expression_shown(name->second).text);
    case NAME_TASK_STATUS:
        return error_set(error, CAIRN_EWORKFLOW,
                         "tasks.%s.status is only known while the workflow runs",
                         task.text);
    case NAME_TASK_FILES:
        return error_set(error, CAIRN_EWORKFLOW,
                         "tasks.%s.files is only known while the workflow runs",
                         task.text);
    default:
        return error_set(error, CAIRN_EWORKFLOW,
                         "run.%s is only known while the workflow runs",
                         name->kind == NAME_RUN_ID        ? "id"
                         : name->kind == NAME_RUN_ATTEMPT ? "attempt"
                                                          : "status");
    }
}

/* Of names, a line for each: the first one with a blank or a pattern in it. */
static void note_split(const struct scope *scope, struct str names)
{
    while (scope->split && !scope->split->len && names.len) {
        const char *end = memchr(names.ptr, '\n', names.len);
        struct str line = {names.ptr, end ? (size_t)(end - names.ptr) : names.len};
        for (size_t i = 0; i < line.len; i++)
            if (strchr(" \t*?[", line.ptr[i]))
                *scope->split = line;
        names.ptr += line.len + (end != NULL);
        names.len -= line.len + (end != NULL);
    }
}

static int look_up(void *context, const struct name *name, struct value *out,
                   struct cairn_error *error)
{
    struct expansion *x = context;
    const struct scope *scope = x->scope;
    struct value value = {.type = VALUE_TEXT, .text = {"", 0}};
    int rc = 0;
    if (!is_known(scope, name))
        return unknown_name(name, error);
    switch (name->kind) {
    case NAME_KEY: {
        uint32_t key = task_def_key(scope->def, name->first);
        uint32_t index = member_value(scope->def, scope->member, key);
        value.text = scope->def->foreach[key].values[index];
        break;
    }
    case NAME_PARAM:
        rc = param_value(scope, name, &value.text, error);
        break;
    case NAME_ENV:
        rc = env_value(x, name, &value.text, error);
        break;
    case NAME_TASK_OUTPUT:
    case NAME_TASK_STATUS:
    case NAME_TASK_FILES:
    case NAME_RUN_ID:
    case NAME_RUN_ATTEMPT:
    case NAME_RUN_STATUS:
        rc = scope->lookup ? scope->lookup(scope->context, name, out, error)
                           : not_known_yet(name, error);
        if (!rc && name->kind == NAME_TASK_FILES && out->type == VALUE_TEXT)
            note_split(scope, out->text);
        return rc;
    }
    if (!rc)
        *out = value;
    return rc;
}

/* ---- Expanding ---- */

/* What piece i of a template was made of. */
static struct str source_of(const struct text_template *template, uint32_t i,
                            struct str text)
{
    size_t from = template->pieces[i].at;
    size_t end = i + 1 < template->n ? template->pieces[i + 1].at : text.len;
    return (struct str){text.ptr + from, end - from};
}

static int expand_piece(struct expansion *x, const struct piece *piece, struct buf *out,
                        struct cairn_error *error)
{
    struct text_template one = {1, (struct piece[]){*piece}};
    return template_expand(&one, look_up, x, out, error);
}

static int expand_text(struct expansion *x, struct str text, struct buf *out,
                       struct cairn_error *error)
{
    struct text_template template;
    if (!template_has(text)) {
        buf_str(out, text);
        return buf_check(out, error);
    }
    int rc = definition_parsed_text(x->scope->definition, text, false, &x->arena,
                                    &template, NULL);
    if (rc == CAIRN_EWORKFLOW) {
        buf_str(out, text);
        return buf_check(out, error);
    }
    if (rc)
        return error_nomem(error);
    for (uint32_t i = 0; i < template.n && !rc; i++) {
        const struct piece *piece = &template.pieces[i];
        if (piece->expression && !all_known(x->scope, piece->expression))
            buf_str(out, source_of(&template, i, text));
        else
            rc = expand_piece(x, piece, out, error);
    }
    return rc ? rc : buf_check(out, error);
}

int text_expand(const struct scope *scope, struct str text, struct buf *out,
                struct cairn_error *error)
{
    struct expansion x = {scope, ARENA_INIT, false};
    int rc = expand_text(&x, text, out, error);
    arena_release(&x.arena);
    return rc;
}

bool text_is_files(struct str text)
{
    static const struct str first = STR("tasks"), last = STR(".files");
    if (text.len < 5 || memcmp(text.ptr, "${{", 3) != 0 ||
        memcmp(text.ptr + text.len - 2, "}}", 2) != 0)
        return false;
    const char *at = text.ptr + 3, *end = text.ptr + text.len - 2;
    while (at < end && *at == ' ')
        at++;
    while (at < end && end[-1] == ' ')
        end--;
    struct str name = {at, (size_t)(end - at)};
    if (name.len < first.len + last.len || memcmp(at, first.ptr, first.len) != 0 ||
        memcmp(end - last.len, last.ptr, last.len) != 0)
        return false;
    for (size_t i = 0; i < name.len; i++) /* the characters of an id, and ['X'] */
        if (!strchr("_.-[]'", name.ptr[i]) && !isalnum((unsigned char)name.ptr[i]))
            return false;
    return true;
}

/* A piece without a value stays as it is; what the parser has checked has none. */
static void expand_fixed(struct expansion *x, const struct text_template *template,
                         struct str text, struct buf *out)
{
    for (uint32_t i = 0; i < template->n && !out->failed; i++) {
        const struct piece *piece = &template->pieces[i];
        int rc = !piece->expression || all_known(x->scope, piece->expression)
                     ? expand_piece(x, piece, out, NULL)
                     : CAIRN_EWORKFLOW;
        if (rc == CAIRN_EWORKFLOW)
            buf_str(out, source_of(template, i, text));
        else if (rc)
            out->failed = true;
    }
}

void text_expand_fixed(const struct definition *definition, const struct task_def *def,
                       uint32_t member, struct str text, struct buf *out)
{
    struct scope scope = {.definition = definition, .def = def, .member = member};
    struct expansion x = {&scope, ARENA_INIT, false};
    struct text_template template;
    int rc = CAIRN_EWORKFLOW;
    if (template_has(text))
        rc = definition_parsed_text(definition, text, false, &x.arena, &template, NULL);
    if (rc == CAIRN_EWORKFLOW)
        buf_str(out, text);
    else if (rc)
        out->failed = true;
    else
        expand_fixed(&x, &template, text, out);
    arena_release(&x.arena);
}

static bool is_fixed(const struct text_template *template)
{
    for (uint32_t i = 0; i < template->n; i++) {
        const struct expression *expression = template->pieces[i].expression;
        for (uint32_t k = 0; expression && k < expression_names(expression); k++) {
            enum name_kind kind = expression_name(expression, k)->kind;
            if (kind != NAME_KEY && kind != NAME_PARAM)
                return false; /* an env entry may have what other tasks say in it */
        }
    }
    return true;
}

bool text_is_fixed(const struct definition *definition, struct str text)
{
    struct arena spare = ARENA_INIT;
    struct text_template template;
    if (!template_has(text))
        return true;
    int rc = definition_parsed_text(definition, text, false, &spare, &template, NULL);
    bool fixed = rc == CAIRN_EWORKFLOW || (!rc && is_fixed(&template));
    arena_release(&spare);
    return fixed;
}

/* ---- Conditions ---- */

static int condition_error(const struct expression_error *at, struct str condition,
                           struct cairn_error *error)
{
    return error_set(error, CAIRN_EWORKFLOW, "the condition `%s`, byte %zu: %s",
                     expression_shown(condition).text, at->at + 1, at->text);
}

static int evaluate_condition(struct expansion *x, const struct expression *expression,
                              bool *holds, struct cairn_error *error)
{
    struct operand operand;
    int rc = expression_run(expression, look_up, x, &operand, error);
    if (!rc)
        rc = expression_missing(expression, &operand, error);
    if (!rc)
        *holds = value_truth(&operand.value);
    return rc;
}

int condition_holds(const struct scope *scope, bool *holds, struct cairn_error *error)
{
    struct expansion x = {scope, ARENA_INIT, false};
    struct str condition = scope->def->condition;
    struct text_template template;
    struct expression_error at;
    if (!condition.len) {
        *holds = true;
        return 0;
    }
    int rc = definition_parsed_text(scope->definition, condition, true, &x.arena,
                                    &template, &at);
    if (rc == CAIRN_EWORKFLOW)
        rc = condition_error(&at, condition, error);
    else if (rc)
        rc = error_nomem(error);
    else
        rc = evaluate_condition(&x, template.pieces[0].expression, holds, error);
    arena_release(&x.arena);
    return rc;
}

static void append_value(struct expansion *x, const struct name *name, struct buf *out)
{
    struct value value = {.type = VALUE_MISSING};
    struct buf text = BUF_INIT;
    int rc = look_up(x, name, &value, NULL);
    if (rc == CAIRN_ENOMEM)
        out->failed = true;
    else if (rc)
        buf_text(out, " is not known yet");
    else if (value.type == VALUE_MISSING)
        buf_text(out, " is not set");
    else {
        value_append(&value, &text);
        buf_format(out, value.type == VALUE_TEXT ? " is '%s'" : " is %s",
                   expression_shown(buf_view(&text)).text);
    }
    out->failed |= text.failed;
    buf_release(&text);
}

/* Whether it stands further left, too. */
static bool seen_before(const struct expression *expression, uint32_t i,
                        struct str condition)
{
    const struct name *name = expression_name(expression, i);
    struct str own = {condition.ptr + name->at, name->length};
    for (uint32_t k = 0; k < i; k++) {
        const struct name *other = expression_name(expression, k);
        if (str_equal(own, (struct str){condition.ptr + other->at, other->length}))
            return true;
    }
    return false;
}

static void append_values(struct expansion *x, const struct expression *expression,
                          struct buf *out)
{
    struct str condition = x->scope->def->condition;
    const char *between = "";
    for (uint32_t i = 0; i < expression_names(expression); i++) {
        const struct name *name = expression_name(expression, i);
        if (seen_before(expression, i, condition))
            continue;
        buf_format(out, "%s%.*s", between, (int)name->length, condition.ptr + name->at);
        append_value(x, name, out);
        between = ", ";
    }
}

int condition_values(const struct scope *scope, struct buf *out,
                     struct cairn_error *error)
{
    struct expansion x = {scope, ARENA_INIT, false};
    struct text_template template;
    struct expression_error at;
    struct str condition = scope->def->condition;
    int rc = condition.len ? definition_parsed_text(scope->definition, condition, true,
                                                    &x.arena, &template, &at)
                           : CAIRN_EWORKFLOW;
    if (!rc)
        append_values(&x, template.pieces[0].expression, out);
    arena_release(&x.arena);
    return rc == CAIRN_ENOMEM ? error_nomem(error) : buf_check(out, error);
}

/* ---- Places ---- */

int task_directory(const struct scope *scope, struct buf *out,
                   struct cairn_error *error)
{
    struct buf cwd = BUF_INIT;
    buf_clear(out);
    buf_str(out, scope->definition->root);
    if (!scope->def->cwd.len)
        return buf_check(out, error);
    int rc = text_expand(scope, scope->def->cwd, &cwd, error);
    buf_path(out, buf_view(&cwd));
    out->failed |= cwd.failed;
    buf_release(&cwd);
    return rc ? rc : buf_check(out, error);
}

/* Takes "." and empty parts out. */
static void tidy_path(struct buf *path)
{
    size_t to = path->size && path->data[0] == '/', at = to;
    while (at < path->size) {
        size_t end = at;
        while (end < path->size && path->data[end] != '/')
            end++;
        bool part = end > at && !(end == at + 1 && path->data[at] == '.');
        for (size_t i = at; part && i < end; i++)
            path->data[to++] = path->data[i];
        if (part && end < path->size)
            path->data[to++] = '/';
        at = end + 1;
    }
    if (to > 1 && path->data[to - 1] == '/')
        to--;
    if (path->data)
        path->data[to] = '\0';
    path->size = to;
}

int task_file_place(const struct scope *scope, struct str name, struct buf *out,
                    struct cairn_error *error)
{
    buf_clear(out);
    int rc = scope->def->cwd.len ? text_expand(scope, scope->def->cwd, out, error) : 0;
    if (rc)
        return rc;
    buf_path(out, name);
    rc = buf_check(out, error);
    if (!rc)
        tidy_path(out);
    return rc;
}
