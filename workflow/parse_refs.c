/* SPDX-License-Identifier: MIT */
/* ${{ }} and conditions: whether they can be read, and how long a text gets.
 * parse_known.c looks at the names in them. */
#include "workflow/parse_known_int.h"

#include "base/limits.h"
#include "graph/text_expand.h"
#include "workflow/scalar.h"

#include <stdio.h>

/* ---- Places ---- */

/* Where the mistake begins; if it has no length, the ${{ before it. */
static struct position position_of_error(const struct checking *c,
                                         const struct expression_error *wrong)
{
    size_t start = wrong->at, length = wrong->length;
    if (length == 0 || start + length > c->text.len) {
        length = 0;
        for (size_t i = 0; i + 3 <= c->text.len && i <= wrong->at; i++)
            if (memcmp(c->text.ptr + i, "${{", 3) == 0) {
                start = i;
                length = 3;
            }
    }
    return source_inside(&c->p->source, c->node->at, c->text, start, length);
}

/* ---- Texts ---- */

static int refuse_wrong(const struct checking *c, const struct expression_error *wrong)
{
    static const char secrets[] = "secrets.";
    size_t n = sizeof secrets - 1;
    struct position at = position_of_error(c, wrong);
    if (wrong->at + n < c->text.len && memcmp(c->text.ptr + wrong->at, secrets, n) == 0)
        return refuse_secret(c, at, STR("NAME"));
    return diagnose(&c->p->diagnostic, at, "%s", wrong->text);
}

/* What is known already; everything else counts as empty. */
static int known_value(void *context, const struct name *name, struct value *out,
                       struct cairn_error *error)
{
    const struct definition *definition = context;
    (void)error;
    *out = (struct value){.type = VALUE_TEXT, .text = STR("")};
    if (name->kind == NAME_PARAM)
        out->text = definition->params[definition_param(definition, name->first)].value;
    return 0;
}

/* The least length of the text with its values put in, as far as it is known now. An
 * expression of params only that cannot be evaluated never will be. */
static int measure_text(const struct checking *c, const struct text_template *template,
                        size_t *size)
{
    struct buf text = BUF_INIT;
    struct cairn_error inner = {0};
    int rc = template_expand(template, known_value, c->p->out, &text, &inner);
    *size = text.size;
    buf_release(&text);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(c->p);
    if (rc && c->only_params)
        return diagnose(&c->p->diagnostic, place_of_reference(c->p, c->node, c->text),
                        "%s", inner.text);
    return 0;
}

static int check_pieces(struct checking *c, const struct text_template *template)
{
    int rc = 0;
    c->only_params = true;
    for (uint32_t i = 0; i < template->n && !rc; i++)
        if (template->pieces[i].expression)
            rc = check_names(c, template->pieces[i].expression,
                             template->pieces[i].at + 3);
    return rc;
}

/* `{{ params.x }}` and `${tasks.a.outputs.x}`: the forms of other tools. */
static const char *find_other_form(struct str text)
{
    static const struct str roots[] = {NAME("params."), NAME("tasks.")};
    const char *end = text.ptr + text.len;
    for (size_t k = 0; k < sizeof roots / sizeof roots[0]; k++)
        for (const char *at = text.ptr;
             (at = memmem(at, (size_t)(end - at), roots[k].ptr, roots[k].len));
             at += roots[k].len) {
            const char *start = at;
            while (start > text.ptr && start[-1] == ' ')
                start--;
            const char *word = start;
            while (start > text.ptr && start[-1] == '{')
                start--;
            bool dollar = start > text.ptr && start[-1] == '$';
            if (word - start == (dollar ? 1 : 2))
                return start - dollar;
        }
    return NULL;
}

void warn_of_other_form(struct parser *p, const struct node *node, struct str text,
                        const char *instead)
{
    enum { MOST = 20 }; /* the place of each is looked for from the beginning */
    bool wanted = text.len && p->other_forms < MOST;
    const char *at = wanted ? find_other_form(text) : NULL;
    if (!at)
        return;
    p->other_forms++;
    parse_warn(p, source_inside(&p->source, node->at, text, (size_t)(at - text.ptr), 2),
               "`%.2s` begins no expression here and stays in the text: %s", at,
               instead);
}

int check_text(struct parser *p, const struct node *node, struct str text,
               const struct task_def *def, enum place place, size_t *size)
{
    struct checking c = {
        .p = p, .node = node, .text = text, .def = def, .place = place};
    const struct text_template *template;
    struct expression_error wrong = {0};
    size_t known = text.len;
    warn_of_other_form(p, node, text, "an expression is written ${{ }}");
    if (!template_has(text)) {
        if (size)
            *size = known;
        return 0;
    }
    int rc = definition_text(p->out, text, false, &template, &wrong);
    if (rc)
        return rc == CAIRN_ENOMEM ? out_of_memory(p) : refuse_wrong(&c, &wrong);
    rc = check_pieces(&c, template);
    if (!rc)
        rc = measure_text(&c, template, &known);
    if (size)
        *size = known;
    return rc;
}

int read_expanded(struct parser *p, const struct node *node, const char *what,
                  const struct task_def *def, struct str *out)
{
    const struct text_template *template;
    struct buf text = BUF_INIT;
    int rc = expect_text(p, node, what, out);
    if (rc || !template_has(*out))
        return rc;
    rc = check_text(p, node, *out, def, IN_FOREACH, NULL);
    if (rc)
        return rc;
    rc = definition_text(p->out, *out, false, &template, NULL);
    if (!rc)
        rc = template_expand(template, known_value, p->out, &text, NULL);
    if (!rc)
        *out = arena_str(&p->out->arena, buf_view(&text));
    buf_release(&text);
    return rc || !out->ptr ? out_of_memory(p) : 0;
}

/* The params of one text of the workflow's env, for a task that takes only some. */
int check_inherited(struct parser *p, const struct node *node,
                    const struct task_def *def, struct str text)
{
    const struct text_template *template;
    if (!template_has(text))
        return 0;
    if (definition_text(p->out, text, false, &template, NULL))
        return out_of_memory(p);
    for (uint32_t i = 0; i < template->n; i++) {
        const struct expression *e = template->pieces[i].expression;
        for (uint32_t k = 0; e && k < expression_names(e); k++) {
            struct str name = expression_name(e, k)->first;
            if (!task_def_takes_param(def, name))
                return diagnose(&p->diagnostic, node->at,
                                "the workflow's `env` refers to params.%.*s, which "
                                "task `%.*s` does not take; add it to its `params`",
                                SHOWN(name), SHOWN(def->id));
        }
    }
    return 0;
}

/* ---- Conditions ---- */

static struct str trim_blanks(struct str text)
{
    while (text.len && text.ptr[0] && strchr(" \t\r\n", text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len && text.ptr[text.len - 1] &&
           strchr(" \t\r\n", text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* Removes the ${{ }} around the whole text. */
static int unwrap_condition(const struct parser *p, const struct node *node,
                            struct str *text)
{
    struct text_template template;
    struct arena scratch = ARENA_INIT;
    *text = trim_blanks(*text);
    if (text->len < 3 || memcmp(text->ptr, "${{", 3) != 0)
        return 0;
    struct expression_error wrong;
    int rc = template_parse(&scratch, *text, &template, &wrong);
    bool single = !rc && template.n == 1;
    struct checking c = {
        .p = (struct parser *)(uintptr_t)p, .node = node, .text = *text};
    arena_release(&scratch);
    if (rc)
        return rc == CAIRN_ENOMEM ? out_of_memory(p) : refuse_wrong(&c, &wrong);
    if (!single)
        return diagnose(&p->diagnostic, node->at,
                        "`if` is one expression: write it without ${{ }}, or wholly "
                        "inside of one");
    *text = trim_blanks((struct str){text->ptr + 3, text->len - 5});
    return 0;
}

int read_condition(struct parser *p, struct task_def *def, const struct node *node)
{
    const struct text_template *template;
    struct expression_error wrong = {0};
    struct str text;
    bool plain_truth =
        node->kind == NODE_TEXT && node->plain &&
        (str_equal(node->text, STR("true")) || str_equal(node->text, STR("false")));
    int rc = 0;
    if (plain_truth)
        text = node->text;
    else
        rc = expect_filled(p, node, "`if`", &text);
    if (!rc)
        rc = unwrap_condition(p, node, &text);
    if (rc)
        return rc;
    def->condition = arena_str(&p->out->arena, text);
    if (!def->condition.ptr)
        return out_of_memory(p);
    struct checking c = {.p = p,
                         .node = node,
                         .text = def->condition,
                         .def = def,
                         .place = IN_CONDITION};
    rc = definition_text(p->out, def->condition, true, &template, &wrong);
    if (rc)
        return rc == CAIRN_ENOMEM ? out_of_memory(p) : refuse_wrong(&c, &wrong);
    return check_names(&c, template->pieces[0].expression, 0);
}

/* ---- Lengths ---- */

int check_string(struct parser *p, const struct node *node, struct str key,
                 struct str text, const struct task_def *def, enum place place)
{
    size_t size = 0;
    int rc = check_text(p, node, text, def, place, &size);
    if (rc)
        return rc;
    char what[128] = "this argument";
    if (key.len) {
        size += key.len + 1;
        snprintf(what, sizeof what, "`%.*s`", SHOWN(key));
    }
    return size > LIMIT_ENV_STRING ? too_long(p, node->at, what) : 0;
}
