/* SPDX-License-Identifier: MIT */
/* The texts of a definition with ${{ }} in them, and its conditions, parsed once for
 * each distinct text, however many tasks have it.
 *
 * A text has two neighbours in `templates`: itself as a template, and as a condition;
 * by_text has the index of the first. One that was not asked for has no pieces. All of
 * it lives in the arena, also outgrown arrays, so pointers that were handed out stay
 * valid. */
#include "graph/definition_text.h"

#include "graph/task_fields.h"

#include <assert.h>

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
    int rc = parse_text(&definition->arena, copy, condition, &template, error);
    if (!rc)
        rc = index_of_text(definition, copy, &index);
    if (rc)
        return rc;
    definition->templates[index + condition] = template;
    *out = &definition->templates[index + condition];
    return 0;
}

int definition_parsed_text(const struct definition *definition, struct str text,
                           bool condition, struct arena *spare,
                           struct text_template *out, struct expression_error *error)
{
    const struct text_template *kept =
        definition_kept_text(definition, text, condition);
    if (!kept)
        return parse_text(spare, text, condition, out, error);
    *out = *kept;
    return 0;
}

/* ---- All texts of a task ---- */

/* How many texts a field of reference_fields has in a task. */
static uint32_t count_texts(const struct task_field *field, const struct task_def *def)
{
    return field->shape == FIELD_TEXT ? 1 : field_n(field, def);
}

static struct str text_at(const struct task_field *field, const struct task_def *def,
                          uint32_t i)
{
    if (field->shape == FIELD_TEXT)
        return field_text(field, def);
    if (field->shape == FIELD_PAIRS)
        return field_pairs(field, def)[i].value;
    assert(field->shape == FIELD_TEXTS);
    return field_texts(field, def)[i];
}

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
    int rc = prepare_one(definition, def->condition, true);
    for (const struct task_field *const *field = reference_fields; *field; field++)
        for (uint32_t i = 0; i < count_texts(*field, def) && !rc; i++)
            rc = prepare_one(definition, text_at(*field, def, i), false);
    for (uint32_t i = 0; i < def->n_needs; i++)
        for (uint32_t k = 0; k < def->needs[i].n_bindings && !rc; k++)
            rc = prepare_one(definition, def->needs[i].bindings[k].value, false);
    return rc;
}

int definition_prepare(struct definition *definition, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < definition->n_defs && !rc; i++)
        rc = prepare_task(definition, &definition->defs[i]);
    return rc ? error_nomem(error) : 0;
}

/* ---- Tasks that are referred to ---- */

struct referred {
    const struct definition *definition;
    bool values_only; /* not those whose status alone is asked for */
    struct map seen;  /* index of the task's id in the definition */
    struct buf tasks; /* of uint32_t */
    struct arena spare;
};

static int note_task(struct referred *r, struct str id)
{
    uint32_t index = map_get(&r->definition->by_id, id), before;
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
    int rc = note_text(r, def->condition, true);
    for (const struct task_field *const *field = reference_fields; *field; field++)
        for (uint32_t i = 0; i < count_texts(*field, def) && !rc; i++)
            rc = note_text(r, text_at(*field, def, i), false);
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
    struct referred r = {definition, !condition, MAP_INIT, BUF_INIT, ARENA_INIT};
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
    if (def->kind == TASK_CALL && def->n_needs) { /* it may ask for any */
        *defs = arena_take(arena, def->n_needs, sizeof **defs);
        for (uint32_t i = 0; *defs && i < def->n_needs; i++)
            (*defs)[i] = def->needs[i].target;
        return *defs ? (int)def->n_needs : -1;
    }
    return collect_referred(definition, def, false, arena, defs);
}

int condition_referred(const struct definition *definition, const struct task_def *def,
                       struct arena *arena, uint32_t **defs)
{
    return collect_referred(definition, def, true, arena, defs);
}
