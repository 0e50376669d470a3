/* SPDX-License-Identifier: MIT */
/* The texts of a definition with ${{ }} in them, and its conditions, parsed once for
 * each distinct text, however many tasks have it.
 *
 * A text has two neighbours in `templates`: itself as a template, and as a condition;
 * by_text has the index of the first. One that was not asked for has no pieces. All of
 * it lives in the arena, also outgrown arrays, so pointers that were handed out stay
 * valid. */
#include "graph/text_expand.h"

#include "graph/members.h"
#include "graph/task_fields.h"

#include <assert.h>
#include <ctype.h>

static bool is_kept(const struct text_template *template)
{
    return template->pieces != NULL;
}

const struct text_template *definition_kept_text(const struct definition *definition,
                                                 struct str text, bool condition)
{
    uint32_t index =
        definition->by_text.count ? map_get(&definition->by_text, text) : MAP_NONE;
    if (index == MAP_NONE)
        return NULL;
    assert(index % 2 == 0 && index + 1 < definition->n_templates);
    const struct text_template *template = &definition->templates[index + condition];
    return is_kept(template) ? template : NULL;
}

static int parse_condition(struct arena *arena, struct str text,
                           struct text_template *out, struct expression_error *error)
{
    struct piece *piece = arena_take(arena, 1, sizeof *piece);
    if (!piece)
        return CAIRN_ENOMEM;
    int rc = expression_parse(arena, text, &piece->expression, error);
    if (!rc)
        *out = (struct text_template){1, piece};
    return rc;
}

static int parse_text(struct arena *arena, struct str text, bool condition,
                      struct text_template *out, struct expression_error *error)
{
    return condition ? parse_condition(arena, text, out, error)
                     : template_parse(arena, text, out, error);
}

static int grow_templates(struct definition *definition)
{
    enum { FIRST = 32 };
    if (definition->n_templates + 2 <= definition->templates_capacity)
        return 0;
    uint32_t capacity =
        definition->templates_capacity ? 2 * definition->templates_capacity : FIRST;
    struct text_template *templates =
        arena_take(&definition->arena, capacity, sizeof *templates);
    if (!templates)
        return CAIRN_ENOMEM;
    if (definition->n_templates)
        memcpy(templates, definition->templates,
               definition->n_templates * sizeof *templates);
    definition->templates = templates;
    definition->templates_capacity = capacity;
    return 0;
}

/* The index of the two templates of a text, which lives in the arena. */
static int index_of_text(struct definition *definition, struct str text,
                         uint32_t *index)
{
    *index = definition->by_text.count ? map_get(&definition->by_text, text) : MAP_NONE;
    if (*index != MAP_NONE)
        return 0;
    if (grow_templates(definition) ||
        map_add(&definition->by_text, text, definition->n_templates, index) < 0)
        return CAIRN_ENOMEM;
    *index = definition->n_templates;
    definition->n_templates += 2;
    return 0;
}

int definition_text(struct definition *definition, struct str text, bool condition,
                    const struct text_template **out, struct expression_error *error)
{
    uint32_t index;
    struct text_template template;
    *out = definition_kept_text(definition, text, condition);
    if (*out)
        return 0;
    struct str copy = arena_str(&definition->arena, text);
    if (!copy.ptr)
        return CAIRN_ENOMEM;
    int rc = parse_text(&definition->arena, copy, condition, &template, error)
                 ?: index_of_text(definition, copy, &index);
    if (rc)
        return rc;
    definition->templates[index + condition] = template;
    *out = &definition->templates[index + condition];
    return 0;
}

/* The same, else parsed into `spare`. 0, CAIRN_EWORKFLOW, CAIRN_ENOMEM. */
static int definition_parsed_text(const struct definition *definition, struct str text,
                                  bool condition, struct arena *spare,
                                  struct text_template *out,
                                  struct expression_error *error)
{
    const struct text_template *kept =
        definition_kept_text(definition, text, condition);
    if (!kept)
        return parse_text(spare, text, condition, out, error);
    *out = *kept;
    return 0;
}

/* ---- All texts of a task ---- */

static int prepare_one(struct definition *definition, struct str text, bool condition)
{
    const struct text_template *template;
    if (condition ? !text.len : !template_has(text))
        return 0;
    int rc = definition_text(definition, text, condition, &template, NULL);
    return rc == CAIRN_EWORKFLOW ? 0 : rc;
}

static int prepare_task(struct definition *definition, const struct task_def *def)
{
    int rc = prepare_one(definition, def->condition, true)
                 ?: prepare_one(definition, def->repeat.until, true);
    for (const struct task_field *const *field = reference_fields; *field; field++)
        for (uint32_t i = 0; i < reference_texts(*field, def) && !rc; i++)
            rc = prepare_one(definition, reference_text(*field, def, i), false);
    for (uint32_t i = 0; i < def->n_needs; i++)
        for (uint32_t k = 0; k < def->needs[i].n_bindings && !rc; k++)
            rc = prepare_one(definition, def->needs[i].bindings[k].value, false);
    return rc;
}

int definition_prepare(struct definition *definition, uint32_t first,
                       struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = first; i < definition->n_defs && !rc; i++)
        rc = prepare_task(definition, &definition->defs[i]);
    return rc ? error_nomem(error) : 0;
}

/* ---- Tasks that are referred to ---- */

struct referred {
    const struct definition *definition;
    struct str scope; /* of the task whose texts they are */
    bool values_only; /* not those whose status alone is asked for */
    struct map seen;  /* index of the task's id in the definition */
    struct buf tasks; /* of uint32_t */
    struct arena spare;
};

static int note_task(struct referred *r, struct str name)
{
    uint32_t index = definition_task(r->definition, r->scope, name), before;
    if (index == MAP_NONE)
        return 0;
    int added = map_add(&r->seen, r->definition->defs[index].id, index, &before);
    if (added > 0)
        buf_add(&r->tasks, &index, sizeof index);
    return added < 0 || r->tasks.failed ? CAIRN_ENOMEM : 0;
}

static int note_expression(struct referred *r, const struct expression *expression)
{
    int rc = 0;
    for (uint32_t i = 0; i < expression_names(expression) && !rc; i++) {
        const struct name *name = expression_name(expression, i);
        if (name->kind == NAME_TASK_OUTPUT || name->kind == NAME_TASK_FILES ||
            (name->kind == NAME_TASK_STATUS && !r->values_only))
            rc = note_task(r, name->first);
    }
    return rc;
}

static int note_text(struct referred *r, struct str text, bool condition)
{
    struct text_template template;
    if (condition ? !text.len : !template_has(text))
        return 0;
    int rc = definition_parsed_text(r->definition, text, condition, &r->spare,
                                    &template, NULL);
    if (rc)
        return rc == CAIRN_EWORKFLOW ? 0 : rc;
    for (uint32_t i = 0; i < template.n && !rc; i++)
        if (template.pieces[i].expression)
            rc = note_expression(r, template.pieces[i].expression);
    return rc;
}

static int note_texts_of(struct referred *r, const struct task_def *def)
{
    int rc =
        note_text(r, def->condition, true) ?: note_text(r, def->repeat.until, true);
    for (const struct task_field *const *field = reference_fields; *field; field++)
        for (uint32_t i = 0; i < reference_texts(*field, def) && !rc; i++)
            rc = note_text(r, reference_text(*field, def, i), false);
    return rc;
}

/* Its names; for one of env, whatever the task refers to. */
static int note_condition_of(struct referred *r, const struct task_def *def)
{
    struct text_template template;
    if (!def->condition.len)
        return 0;
    int rc = definition_parsed_text(r->definition, def->condition, true, &r->spare,
                                    &template, NULL);
    if (rc)
        return rc == CAIRN_EWORKFLOW ? 0 : rc;
    const struct expression *expression = template.pieces[0].expression;
    for (uint32_t i = 0; i < expression_names(expression); i++)
        if (expression_name(expression, i)->kind == NAME_ENV)
            return note_texts_of(r, def);
    return note_expression(r, expression);
}

static int collect_referred(const struct definition *definition,
                            const struct task_def *def, bool condition,
                            struct arena *arena, uint32_t **defs)
{
    struct referred r = {definition, name_scope(def->id), !condition, MAP_INIT,
                         BUF_INIT,   ARENA_INIT};
    int (*note)(struct referred *, const struct task_def *) =
        condition ? note_condition_of : note_texts_of;
    int rc = definition->by_id.count ? note(&r, def) : 0;
    uint32_t n = (uint32_t)(r.tasks.size / sizeof **defs);
    uint32_t *kept = rc ? NULL : arena_take(arena, n, sizeof *kept);
    if (kept && n)
        memcpy(kept, r.tasks.data, r.tasks.size);
    if (kept)
        *defs = kept;
    else
        arena->failed = true;
    map_release(&r.seen);
    buf_release(&r.tasks);
    arena_release(&r.spare);
    return kept ? (int)n : -1;
}

int definition_values_of(const struct definition *definition,
                         const struct task_def *def, struct arena *arena,
                         uint32_t **defs)
{
    int n = collect_referred(definition, def, false, arena, defs);
    if (n < 0 || def->kind != TASK_CALL || !def->n_needs)
        return n;
    /* A function may ask for any that it needs. */
    uint32_t *all = arena_take(arena, (size_t)n + def->n_needs, sizeof *all);
    uint32_t n_all = 0;
    for (uint32_t i = 0; all && i < def->n_needs; i++)
        all[n_all++] = def->needs[i].target;
    for (int i = 0; all && i < n; i++) {
        uint32_t k = 0;
        while (k < def->n_needs && all[k] != (*defs)[i])
            k++;
        if (k == def->n_needs)
            all[n_all++] = (*defs)[i];
    }
    *defs = all;
    return all ? (int)n_all : -1;
}

int condition_referred(const struct definition *definition, const struct task_def *def,
                       struct arena *arena, uint32_t **defs)
{
    return collect_referred(definition, def, true, arena, defs);
}

/* Putting values into the texts of a task.
 *
 * The parser has refused every unknown name. The texts of a workflow that was
 * built in memory may hold anything: there, what cannot be parsed, and a ${{ }} with a
 * foreach key, param or env entry that does not exist, stays as it is. */

/* ---- Names ---- */

static const struct key_value *env_entry(const struct task_def *def, struct str name)
{
    for (uint32_t i = 0; def && i < def->n_env; i++)
        if (str_equal(def->env[i].key, name))
            return &def->env[i];
    return NULL;
}

static uint32_t find_param(const struct scope *scope, struct str name)
{
    struct str of = scope->def ? name_scope(scope->def->id) : STR("");
    return definition_param(scope->definition, of, name);
}

/* False for a key, param or env entry that there is not. */
static bool is_known(const struct scope *scope, const struct name *name)
{
    if (name->kind == NAME_KEY)
        return scope->def && task_def_name(scope->def, name->first) != UINT32_MAX;
    if (name->kind == NAME_PARAM)
        return find_param(scope, name->first) != UINT32_MAX;
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
    uint32_t i = find_param(scope, name->first);
    struct str key = scope->definition->params[i].key;
    if (scope->def && !task_def_takes_param(scope->def, key))
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
    case NAME_TASK_PORT:
        return error_set(error, CAIRN_EWORKFLOW,
                         "tasks.%s.port is only known while the workflow runs",
                         task.text);
    case NAME_OWN_OUTPUT:
        return error_set(error, CAIRN_EWORKFLOW,
                         "outputs.%s is only known when the task has ended", task.text);
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

static void note_joined(const struct scope *scope, const struct name *name)
{
    uint32_t def = scope->joined && !scope->joined->len
                       ? definition_task(scope->definition, name_scope(scope->def->id),
                                         name->first)
                       : MAP_NONE;
    if (def != MAP_NONE)
        *scope->joined = name_in_scope(scope->definition->defs[def].id);
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
    case NAME_KEY:
        value.text = member_named(scope->def, scope->member,
                                  task_def_name(scope->def, name->first))
                         .value;
        break;
    case NAME_PARAM:
        rc = param_value(scope, name, &value.text, error);
        break;
    case NAME_ENV:
        rc = env_value(x, name, &value.text, error);
        break;
    case NAME_TASK_OUTPUT:
    case NAME_TASK_STATUS:
    case NAME_TASK_FILES:
    case NAME_TASK_PORT:
    case NAME_OWN_OUTPUT:
    case NAME_RUN_ID:
    case NAME_RUN_ATTEMPT:
    case NAME_RUN_STATUS:
        rc = scope->lookup ? scope->lookup(scope->context, name, out, error)
                           : not_known_yet(name, error);
        if (!rc && name->kind == NAME_TASK_FILES && out->type == VALUE_TEXT) {
            note_split(scope, out->text);
            note_joined(scope, name);
        }
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
    int rc = expression_run(expression, look_up, x, &x->arena, &operand, error)
                 ?: expression_missing(expression, &operand, error);
    if (!rc)
        *holds = value_truth(&operand.value);
    return rc;
}

int condition_holds(const struct scope *scope, struct str condition, bool *holds,
                    struct cairn_error *error)
{
    struct expansion x = {scope, ARENA_INIT, false};
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
                          struct str condition, struct buf *out)
{
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

int condition_values(const struct scope *scope, struct str condition, struct buf *out,
                     struct cairn_error *error)
{
    struct expansion x = {scope, ARENA_INIT, false};
    struct text_template template;
    struct expression_error at;
    int rc = condition.len ? definition_parsed_text(scope->definition, condition, true,
                                                    &x.arena, &template, &at)
                           : CAIRN_EWORKFLOW;
    if (!rc)
        append_values(&x, template.pieces[0].expression, condition, out);
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

void path_tidy(struct buf *path, bool parents)
{
    size_t root = path->size && path->data[0] == '/', to = root;
    for (size_t at = root, end; at < path->size; at = end + 1) {
        const char *part = path->data + at, *slash = memchr(part, '/', path->size - at);
        end = slash ? (size_t)(slash - path->data) : path->size;
        struct str name = {part, end - at};
        if (!name.len || str_equal(name, STR(".")))
            continue;
        if (parents && str_equal(name, STR(".."))) {
            while (to > root && path->data[--to] != '/')
                continue;
            continue;
        }
        if (to > root)
            path->data[to++] = '/';
        memmove(path->data + to, part, name.len);
        to += name.len;
    }
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
        path_tidy(out, false);
    return rc;
}
