/* SPDX-License-Identifier: MIT */
/* Names in ${{ }} and conditions: each must be known, and may not stand everywhere.
 * Names of other tasks are kept until all needs are known. */
#include "workflow/parse_int.h"

#include "workflow/expect_int.h"
#include "workflow/scalar.h"

#include "base/limits.h"
#include "base/words.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "graph/text_expand.h"

#include <stdio.h>
#include <string.h>

/* A text of the file while it is checked, and the name in it that is being checked. */
struct checking {
    struct parser *p;
    const struct node *node;
    struct str text;
    const struct task_def *def; /* NULL: of the workflow */
    enum place place;
    const struct name *name;
    size_t at;        /* where the name begins in the text */
    bool only_params; /* so far: no other names */
};

/* How a task itself needs another one: as a whole, and how many members, or parts, by
 * name. */
struct direct_need {
    bool whole, order; /* order: for nothing else */
    uint32_t members;
};

/* Is the target, as a whole, needed by the task or by anything that it needs? Most of
 * them can be told at once; the others are found out together, NEEDED_TOGETHER targets
 * at a time, each time with one look at all needs:
 *
 *   needed_surely -> else needed_ask -> for all that was asked: needed_find
 *                                    -> needed_found for each -> needed_ask anew */
enum { NEEDED_TOGETHER = 256 };

/* Of the name. Reads the file from its beginning, so it is only for errors. */
static struct position position_of_name(const struct checking *c)
{
    return source_inside(&c->p->source, c->node->at, c->text, c->at, c->name->length);
}

static struct str word_of(const struct checking *c)
{
    return (struct str){c->text.ptr + c->at, c->name->length};
}

static const char *place_name(const struct checking *c)
{
    switch (c->place) {
    case IN_WORKFLOW:
        return "the workflow's `env` or `defaults`";
    case IN_INCLUDE:
        return "`include`";
    case IN_FOREACH:
    case IN_LIST:
        return "`foreach`";
    case IN_NEED:
        return "the brackets of `needs`";
    case IN_WHERE:
        return "`where`";
    case IN_CONDITION:
        return "`if`";
    case IN_UNTIL:
        return "`until`";
    case IN_ENV:
    case IN_EXEC:
    case IN_TASK:
        break;
    }
    return "${{ }}";
}

/* For texts of other languages that use the same brackets. */
static const char *literal_remedy(const struct checking *c)
{
    bool bare =
        c->place == IN_CONDITION || c->place == IN_UNTIL || c->place == IN_WHERE;
    return bare ? "" : "; $${{ is a literal ${{";
}

/* Read before anything runs. */
static bool is_early(const struct checking *c)
{
    return c->place == IN_WORKFLOW || c->place == IN_INCLUDE ||
           c->place == IN_FOREACH || c->place == IN_LIST || c->place == IN_NEED ||
           c->place == IN_WHERE;
}

/* ---- Names ---- */

/* NULL: it has none. */
static const struct key_value *find_env(const struct task_def *def, struct str name)
{
    for (uint32_t i = 0; i < def->n_env; i++)
        if (str_equal(def->env[i].key, name))
            return &def->env[i];
    return NULL;
}

/* A port is another one with each run. What files there are, or whether the task runs,
 * must not depend on it. */
static int refuse_port(const struct checking *c)
{
    return diagnose(&c->p->diagnostic, position_of_name(c),
                    "`%.*s`: the port of a service can only stand in `env`, `exec` and "
                    "`args`",
                    SHOWN(word_of(c)));
}

static bool has_port(const struct checking *c, struct str text)
{
    const struct text_template *template =
        template_has(text) ? definition_kept_text(c->p->out, text, false) : NULL;
    for (uint32_t i = 0; template && i < template->n; i++) {
        const struct expression *e = template->pieces[i].expression;
        for (uint32_t k = 0; e && k < expression_names(e); k++)
            if (expression_name(e, k)->kind == NAME_TASK_PORT)
                return true;
    }
    return false;
}

/* Everything that could stand there: foreach keys, params.NAME, env.NAME. */
static struct hint nearest_name(const struct checking *c, struct str word)
{
    enum { MOST = 64 };
    const struct definition *out = c->p->out;
    char texts[2 * MOST][LIMIT_NAME_BYTES + 8];
    struct str candidates[LIMIT_FOREACH_KEYS + 3 * MOST];
    size_t n = 0, made = 0;
    for (uint32_t k = 0; c->def && k < c->def->n_foreach; k++)
        candidates[n++] = c->def->foreach[k].name;
    for (uint32_t k = 0; c->def && k < c->def->n_foreach; k++)
        for (uint32_t i = 0; i < c->def->foreach[k].n_columns; i++)
            if (n < LIMIT_FOREACH_KEYS + MOST)
                candidates[n++] = c->def->foreach[k].columns[i];
    for (uint32_t i = 0; i < out->n_params && made < MOST; i++) {
        struct str key = name_in_scope(out->params[i].key);
        if (!str_equal(name_scope(out->params[i].key), c->p->in->scope))
            continue;
        snprintf(texts[made], sizeof texts[made], "params.%.*s", (int)key.len, key.ptr);
        candidates[n++] = str_of(texts[made++]);
    }
    for (uint32_t i = 0; c->def && i < c->def->n_env && i < MOST; i++, made++) {
        struct str key = c->def->env[i].key;
        snprintf(texts[made], sizeof texts[made], "env.%.*s", (int)key.len, key.ptr);
        candidates[n++] = str_of(texts[made]);
    }
    return hint_nearest(word, candidates, n);
}

/* The foreach key whose column has the name. NULL: none. */
static const struct foreach_key *key_of_column(const struct checking *c,
                                               struct str name)
{
    for (uint32_t k = 0; c->def && k < c->def->n_foreach; k++)
        if (str_equal(c->def->foreach[k].column, name))
            return &c->def->foreach[k];
    return NULL;
}

static int unknown_name(const struct checking *c)
{
    struct str bare = c->name->first;
    struct hint hint = nearest_name(c, word_of(c));
    const struct foreach_key *key = key_of_column(c, bare);
    if (key)
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "the column `%.*s` is the key, which is called `%.*s` in this "
                        "task: write %.*s",
                        SHOWN(bare), SHOWN(key->name), SHOWN(key->name));
    if (find_param(c->p, bare) != UINT32_MAX)
        snprintf(hint.text, sizeof hint.text, "; a param is written params.%.*s",
                 SHOWN(bare));
    else if (c->def && find_env(c->def, bare))
        snprintf(hint.text, sizeof hint.text, "; it is written env.%.*s", SHOWN(bare));
    else if (!hint.text[0])
        snprintf(hint.text, sizeof hint.text, "%s", literal_remedy(c));
    return diagnose(&c->p->diagnostic, position_of_name(c),
                    "unknown name `%.*s` in %s%s", SHOWN(word_of(c)), place_name(c),
                    hint.text);
}

static int refuse_secret(const struct checking *c, struct position at, struct str name)
{
    return diagnose(&c->p->diagnostic, at,
                    "a secret cannot be referred to in %s; a task that lists it under "
                    "`secrets` has it as an environment variable, $%.*s",
                    place_name(c), SHOWN(name));
}

static int refuse_here(const struct checking *c)
{
    return diagnose(&c->p->diagnostic, position_of_name(c),
                    "`%.*s` has no value yet in %s; only %s can be referred to there",
                    SHOWN(word_of(c)), place_name(c),
                    c->place == IN_NEED || c->place == IN_WHERE
                        ? "params and foreach keys of the task"
                        : "params");
}

/* A sheet that a task makes says what its columns are when it is there. */
static bool may_be_column(const struct checking *c)
{
    struct list_spec spec;
    bool may = false;
    for (uint32_t k = 0; k < c->def->n_foreach && !may; k++)
        may = list_spec_of(&c->def->foreach[k], &spec) && list_is_sheet(&spec);
    return may && str_is_key(c->name->first) && !find_env(c->def, c->name->first) &&
           find_param(c->p, c->name->first) == UINT32_MAX;
}

static int check_key(const struct checking *c)
{
    bool keys = c->def && c->place != IN_FOREACH;
    if (c->place == IN_LIST) /* of another task: check_maker */
        return 0;
    if (keys && task_def_name(c->def, c->name->first) != UINT32_MAX)
        return 0;
    if (is_secret(c->p, c->name->first))
        return refuse_secret(c, position_of_name(c), c->name->first);
    if (keys && may_be_column(c) && c->place != IN_NEED)
        return 0;
    if (keys && may_be_column(c))
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "`%.*s` in `needs` cannot be a column of a sheet that a task "
                        "makes: what is needed is known before the run",
                        SHOWN(c->name->first));
    return unknown_name(c);
}

static int check_param(const struct checking *c)
{
    uint32_t index = find_param(c->p, c->name->first);
    if (index == UINT32_MAX)
        return unknown_name(c);
    if (!c->def || task_def_takes_param(c->def, c->p->out->params[index].key))
        return 0;
    return diagnose(&c->p->diagnostic, position_of_name(c),
                    "task `%.*s` lists the params that it takes, and `%.*s` is not "
                    "among them; add it to its `params`",
                    SHOWN(c->def->id), SHOWN(c->name->first));
}

static int check_env(const struct checking *c)
{
    if (is_secret(c->p, c->name->first))
        return refuse_secret(c, position_of_name(c), c->name->first);
    if (is_early(c))
        return refuse_here(c);
    if (c->place == IN_ENV)
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "`%.*s`: the value of one `env` entry cannot refer to another",
                        SHOWN(word_of(c)));
    const struct key_value *entry = find_env(c->def, c->name->first);
    if (entry && c->place != IN_EXEC && has_port(c, entry->value))
        return refuse_port(c);
    return entry ? 0 : unknown_name(c);
}

static int check_run(const struct checking *c)
{
    if (is_early(c))
        return refuse_here(c);
    if (c->name->kind == NAME_RUN_STATUS && !c->def->finally)
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "`run.status` is only known to the tasks of `finally`");
    if (c->name->kind == NAME_RUN_ATTEMPT && c->place == IN_CONDITION)
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "`run.attempt` has no value in `if`, which is decided before "
                        "the first attempt");
    return 0;
}

static int check_own_output(const struct checking *c)
{
    if (c->place == IN_UNTIL)
        return 0;
    return diagnose(
        &c->p->diagnostic, position_of_name(c),
        "`%.*s` is only known in `until` of `repeat`; a task that needs this "
        "one writes tasks.%.*s.outputs.%.*s",
        SHOWN(word_of(c)), SHOWN(c->def ? c->def->id : STR("X")),
        SHOWN(c->name->first));
}

static int check_task(const struct checking *c)
{
    struct pending pending = {
        .node = c->node, .text = c->text, .at = c->at, .name = c->name};
    if (is_early(c))
        return refuse_here(c);
    pending.def = (uint32_t)(c->def - c->p->out->defs);
    buf_add(&c->p->pending, &pending, sizeof pending);
    return c->p->pending.failed ? out_of_memory(c->p) : 0;
}

static int check_name(struct checking *c)
{
    enum name_kind kind = c->name->kind;
    c->only_params &= kind == NAME_PARAM;
    switch (kind) {
    case NAME_KEY:
        return check_key(c);
    case NAME_PARAM:
        return check_param(c);
    case NAME_ENV:
        return check_env(c);
    case NAME_TASK_OUTPUT:
    case NAME_TASK_STATUS:
    case NAME_TASK_FILES:
        return check_task(c);
    case NAME_TASK_PORT:
        return c->place == IN_ENV || c->place == IN_EXEC ? check_task(c)
                                                         : refuse_port(c);
    case NAME_OWN_OUTPUT:
        return check_own_output(c);
    case NAME_RUN_ID:
    case NAME_RUN_ATTEMPT:
    case NAME_RUN_STATUS:
        break;
    }
    return check_run(c);
}

/* ---- Statuses ---- */

/* In the words of others. */
static const char *meant_by(struct str word)
{
    static const struct {
        const char *word, *meant;
    } words[] = {{"success", "completed"}, {"succeeded", "completed"},
                 {"ok", "completed"},      {"done", "completed"},
                 {"failure", "failed"},    {"error", "failed"},
                 {"canceled", "cancelled"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_equal(word, str_of(words[i].word)))
            return words[i].meant;
    return NULL;
}

/* A status that there is not would never be equal: what depends on it would never, or
 * always, be done. */
static int check_status(const struct checking *c, const struct status_compared *s,
                        size_t from)
{
    static const enum cairn_outcome of_tasks[] = {
        CAIRN_COMPLETED, CAIRN_FAILED, CAIRN_CANCELLED, CAIRN_SKIPPED,
        CAIRN_EXCLUDED,  CAIRN_UNDONE, CAIRN_UNKNOWN,   CAIRN_PENDING};
    enum { OF_TASKS = sizeof of_tasks / sizeof of_tasks[0], OF_RUNS = 3 };
    bool of_run = s->name->kind == NAME_RUN_STATUS;
    struct str words[OF_TASKS];
    size_t n = of_run ? OF_RUNS : OF_TASKS;
    for (size_t i = 0; i < n; i++) {
        words[i] = str_of(cairn_outcome_name(of_tasks[i]));
        if (str_equal(s->text, words[i]))
            return 0;
    }
    struct hint hint = hint_nearest(s->text, words, n);
    const char *meant = meant_by(s->text);
    if (meant)
        snprintf(hint.text, sizeof hint.text, "; did you mean `%s`?", meant);
    return diagnose(
        &c->p->diagnostic,
        source_inside(&c->p->source, c->node->at, c->text, from + s->at, s->length),
        "there is no status `%.*s`: it is %s%s", SHOWN(s->text),
        of_run ? "completed, failed or cancelled"
               : "completed, failed, skipped, excluded, undone, cancelled, "
                 "unknown or pending",
        hint.text);
}

static int check_names(struct checking *c, const struct expression *expression,
                       size_t from)
{
    struct status_compared compared;
    uint32_t next = 0;
    int rc = 0;
    for (uint32_t i = 0; i < expression_names(expression) && !rc; i++) {
        c->name = expression_name(expression, i);
        c->at = from + c->name->at;
        rc = check_name(c);
    }
    while (!rc && expression_status_compared(expression, &next, &compared))
        rc = check_status(c, &compared, from);
    return rc;
}

/* ${{ }} and conditions: whether they can be read, and how long a text gets. */

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
    return diagnose(&c->p->diagnostic, at, "%s%s", wrong->text, literal_remedy(c));
}

/* What is known already; everything else counts as empty. */
static int known_value(void *context, const struct name *name, struct value *out,
                       struct cairn_error *error)
{
    const struct parser *p = context;
    (void)error;
    *out = (struct value){.type = VALUE_TEXT, .text = STR("")};
    if (name->kind == NAME_PARAM)
        out->text = p->out->params[find_param(p, name->first)].value;
    return 0;
}

/* The least length of the text with its values put in, as far as it is known now. An
 * expression of params only that cannot be evaluated never will be. */
static int measure_text(const struct checking *c, const struct text_template *template,
                        size_t *size)
{
    struct buf text = BUF_INIT;
    struct cairn_error inner = {0};
    int rc = template_expand(template, known_value, c->p, &text, &inner);
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

int check_text(struct parser *p, const struct node *node, struct str *text,
               const struct task_def *def, enum place place, size_t *size)
{
    const struct text_template *template;
    struct expression_error wrong = {0};
    size_t known = text->len;
    warn_of_other_form(p, node, *text, "an expression is written ${{ }}");
    if (!template_has(*text)) {
        if (size)
            *size = known;
        return 0;
    }
    if (!template_unescape(&p->out->arena, text))
        return out_of_memory(p);
    struct checking c = {
        .p = p, .node = node, .text = *text, .def = def, .place = place};
    int rc = definition_text(p->out, *text, false, &template, &wrong);
    if (rc)
        return rc == CAIRN_ENOMEM ? out_of_memory(p) : refuse_wrong(&c, &wrong);
    rc = check_pieces(&c, template) ?: measure_text(&c, template, &known);
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
    rc = check_text(p, node, out, def, def ? IN_FOREACH : IN_INCLUDE, NULL);
    if (rc)
        return rc;
    rc = definition_text(p->out, *out, false, &template, NULL)
             ?: template_expand(template, known_value, p, &text, NULL);
    if (!rc)
        *out = arena_str(&p->out->arena, buf_view(&text));
    buf_release(&text);
    return rc || !out->ptr ? out_of_memory(p) : 0;
}

int read_list_name(struct parser *p, const struct node *node,
                   const struct task_def *def, struct str *out)
{
    const struct text_template *template;
    struct str text = *out;
    bool keys = false;
    if (!template_has(text))
        return 0;
    int rc = check_text(p, node, &text, def, IN_LIST, NULL);
    if (rc)
        return rc;
    if (definition_text(p->out, text, false, &template, NULL))
        return out_of_memory(p);
    for (uint32_t i = 0; i < template->n; i++) {
        const struct expression *e = template->pieces[i].expression;
        for (uint32_t k = 0; e && k < expression_names(e); k++)
            keys |= expression_name(e, k)->kind == NAME_KEY;
    }
    if (!keys)
        return read_expanded(p, node, "the name of a file", def, out);
    *out = arena_str(&p->out->arena, text);
    return out->ptr ? 0 : out_of_memory(p);
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
            uint32_t index = find_param(p, name);
            if (!task_def_takes_param(def, p->out->params[index].key))
                return diagnose(
                    &p->diagnostic, node->at,
                    "the workflow's `env` or `defaults` refers to params.%.*s, which "
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
                            const char *what, struct str *text)
{
    struct text_template template;
    struct arena scratch = ARENA_INIT;
    *text = trim_blanks(*text);
    if (!str_begins(*text, STR("${{")))
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
        return diagnose(
            &p->diagnostic, node->at,
            "`%s` is one expression: write it without ${{ }}, or wholly inside of one",
            what);
    *text = trim_blanks((struct str){text->ptr + 3, text->len - 5});
    return 0;
}

/* `text` of a key of a task, to be kept. */
static int keep_condition(struct parser *p, const struct task_def *def,
                          const struct node *node, enum place place, struct str text,
                          struct str *out)
{
    const char *key = place == IN_UNTIL ? "until" : "if";
    const struct text_template *template;
    struct expression_error wrong = {0};
    int rc = unwrap_condition(p, node, key, &text);
    if (rc)
        return rc;
    *out = arena_str(&p->out->arena, text);
    if (!out->ptr)
        return out_of_memory(p);
    struct checking c = {
        .p = p, .node = node, .text = *out, .def = def, .place = place};
    rc = definition_text(p->out, *out, true, &template, &wrong);
    if (rc)
        return rc == CAIRN_ENOMEM ? out_of_memory(p) : refuse_wrong(&c, &wrong);
    return check_names(&c, template->pieces[0].expression, 0);
}

int read_condition(struct parser *p, struct task_def *def, const struct node *node)
{
    struct str text = node->text;
    bool plain_truth =
        node->kind == NODE_TEXT && node->plain &&
        (str_equal(node->text, STR("true")) || str_equal(node->text, STR("false")));
    int rc = plain_truth ? 0 : expect_filled(p, node, "`if`", &text);
    return rc ? rc : keep_condition(p, def, node, IN_CONDITION, text, &def->condition);
}

int read_until(struct parser *p, struct task_def *def, const struct node *node)
{
    struct str text;
    int rc = expect_filled(p, node, "`until`", &text);
    return rc ? rc : keep_condition(p, def, node, IN_UNTIL, text, &def->repeat.until);
}

int read_where_text(const struct parser *p, const struct node *node, struct str *text)
{
    int rc = expect_filled(p, node, "`where`", text);
    return rc ? rc : unwrap_condition(p, node, "where", text);
}

int read_where(struct parser *p, const struct task_def *def, const struct node *node,
               const struct expression **out)
{
    const struct text_template *template;
    struct expression_error wrong = {0};
    struct str text;
    int rc = read_where_text(p, node, &text);
    if (rc)
        return rc;
    struct checking c = {
        .p = p, .node = node, .text = text, .def = def, .place = IN_WHERE};
    rc = definition_text(p->out, text, true, &template, &wrong);
    if (rc)
        return rc == CAIRN_ENOMEM ? out_of_memory(p) : refuse_wrong(&c, &wrong);
    *out = template->pieces[0].expression;
    return check_names(&c, *out, 0);
}

/* ---- Lengths ---- */

int check_string(struct parser *p, const struct node *node, struct str key,
                 struct str *text, const struct task_def *def, enum place place)
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

/* A search in depth through the needs of all tasks makes a forest: whatever stands
 * below a task in its tree is needed by it, and the numbers in which the search left
 * the tasks tell that without looking at anything between (a chain is one such path).
 * For other targets each task gets a set of bits, the union of those of the tasks that
 * it needs, in the order in which the search left them; so needs come first, and one
 * pass is enough unless there is a circle. */

enum { WORDS = NEEDED_TOGETHER / 64 };

struct target_set {
    uint64_t words[WORDS];
};

/* 0: the search has not come here yet; OPEN: what it needs is being looked at. */
enum { OPEN = UINT32_MAX };

struct needed {
    const struct task_def *defs;
    uint32_t n;
    /* The forest. */
    uint32_t *left;  /* [n] the how-manieth that the search left, from 1 */
    uint32_t *below; /* [n] the first that was left below it, or itself */
    uint32_t *order; /* [n] as they were left */
    bool *whole;     /* [n] in its tree it is needed as a whole */
    bool circle;
    /* What is asked for. */
    struct target_set *sets; /* [n] */
    uint32_t *place;         /* [n] of a target among the bits, plus 1; 0: not asked */
    uint32_t asked[NEEDED_TOGETHER];
    uint32_t n_asked;
    bool found;
    /* The direct needs of one task. */
    uint32_t def;
    struct direct_need *direct; /* [n] */
};

/* ---- The forest ---- */

struct step { /* of the search: a task, and which of its needs is next */
    uint32_t def, need;
};

static void leave_task(struct needed *s, uint32_t def, uint32_t *n_left)
{
    s->order[(*n_left)++] = def;
    s->left[def] = *n_left;
}

static void search_from(struct needed *s, uint32_t root, struct step *path,
                        uint32_t *n_left)
{
    uint32_t depth = 0;
    path[depth++] = (struct step){root, 0};
    s->left[root] = OPEN;
    s->below[root] = *n_left + 1;
    while (depth) {
        struct step *top = &path[depth - 1];
        const struct task_def *def = &s->defs[top->def];
        if (top->need == def->n_needs) {
            leave_task(s, top->def, n_left);
            depth--;
            continue;
        }
        const struct need *need = &def->needs[top->need++];
        if (need->order) /* it gives no values */
            continue;
        s->circle |= s->left[need->target] == OPEN;
        if (s->left[need->target])
            continue;
        s->left[need->target] = OPEN;
        s->below[need->target] = *n_left + 1;
        s->whole[need->target] = !need->bindings;
        path[depth++] = (struct step){need->target, 0};
    }
}

/* From the last task on: it usually needs those above it. */
static void search_all(struct needed *s, struct step *path)
{
    uint32_t n_left = 0;
    for (uint32_t i = s->n; i-- > 0;)
        if (!s->left[i])
            search_from(s, i, path, &n_left);
}

/* NULL: out of memory. All needs have been read; they may still form a circle. */
static struct needed *needed_new(struct parser *p)
{
    struct arena *arena = &p->scratch;
    uint32_t n = p->out->n_defs;
    struct needed *s = arena_take(arena, 1, sizeof *s);
    struct step *path = arena_take(arena, n, sizeof *path);
    if (!s || !path)
        return NULL;
    s->defs = p->out->defs;
    s->n = n;
    s->def = UINT32_MAX;
    s->left = arena_take(arena, n, sizeof *s->left);
    s->below = arena_take(arena, n, sizeof *s->below);
    s->order = arena_take(arena, n, sizeof *s->order);
    s->whole = arena_take(arena, n, sizeof *s->whole);
    s->sets = arena_take(arena, n, sizeof *s->sets);
    s->place = arena_take(arena, n, sizeof *s->place);
    s->direct = arena_take(arena, n, sizeof *s->direct);
    if (!s->left || !s->below || !s->order || !s->whole || !s->sets || !s->place ||
        !s->direct)
        return NULL;
    search_all(s, path);
    return s;
}

static bool needed_surely(const struct needed *s, uint32_t def, uint32_t target)
{
    return s->whole[target] && s->below[def] <= s->left[target] &&
           s->left[target] < s->left[def];
}

/* ---- Direct needs ---- */

/* Cheap for the task that was asked about last. */
static struct direct_need needed_directly(struct needed *s, uint32_t def,
                                          uint32_t target)
{
    if (s->def == def)
        return s->direct[target];
    for (uint32_t i = 0; s->def != UINT32_MAX && i < s->defs[s->def].n_needs; i++)
        s->direct[s->defs[s->def].needs[i].target] = (struct direct_need){0};
    s->def = def;
    for (uint32_t i = 0; i < s->defs[def].n_needs; i++) {
        const struct need *need = &s->defs[def].needs[i];
        if (need->order) {
            s->direct[need->target].order = true;
            continue;
        }
        s->direct[need->target].whole |= !need->bindings;
        s->direct[need->target].members += need->bindings != NULL;
    }
    return s->direct[target];
}

/* ---- Many targets together ---- */

static void forget_asked(struct needed *s)
{
    for (uint32_t i = 0; i < s->n_asked; i++)
        s->place[s->asked[i]] = 0;
    s->n_asked = 0;
    s->found = false;
}

/* False: there are NEEDED_TOGETHER targets already. */
static bool needed_ask(struct needed *s, uint32_t target)
{
    if (s->found)
        forget_asked(s);
    if (s->place[target])
        return true;
    if (s->n_asked == NEEDED_TOGETHER)
        return false;
    s->asked[s->n_asked++] = target;
    s->place[target] = s->n_asked;
    return true;
}

static bool add_needs(struct needed *s, uint32_t def)
{
    struct target_set set = s->sets[def];
    for (uint32_t i = 0; i < s->defs[def].n_needs; i++) {
        const struct need *need = &s->defs[def].needs[i];
        if (need->order)
            continue;
        uint32_t bit = s->place[need->target] - 1;
        for (int w = 0; w < WORDS; w++)
            set.words[w] |= s->sets[need->target].words[w];
        if (s->place[need->target] && !need->bindings)
            set.words[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    bool grown = memcmp(&set, &s->sets[def], sizeof set) != 0;
    s->sets[def] = set;
    return grown;
}

static void needed_find(struct needed *s)
{
    bool again = true;
    memset(s->sets, 0, s->n * sizeof *s->sets);
    while (again) {
        bool grown = false;
        for (uint32_t i = 0; i < s->n; i++)
            grown |= add_needs(s, s->order[i]);
        again = grown && s->circle;
    }
    s->found = true;
}

static bool needed_found(const struct needed *s, uint32_t def, uint32_t target)
{
    uint32_t bit = s->place[target] - 1;
    return s->sets[def].words[bit / 64] >> bit % 64 & 1;
}

/* Names of other tasks in expressions: the value must be known when it is used, so the
 * other task must have ended before, which only `needs` guarantees. */

/* A name being checked. What is not told at once waits, in order, until it is found out
 * together with others: so the first mistake of the file is the one that is reported.
 */
struct reach {
    struct parser *p;
    struct needed *needed;
    const struct pending *pending;
    const struct task_def *def; /* whose text it is */
    uint32_t target;
    size_t *waiting; /* indices of pending names, the first `n_waiting` of them */
    size_t n_waiting;
};

static const struct task_def *target_of(const struct reach *r)
{
    return &r->p->out->defs[r->target];
}

static struct position position_of_pending(const struct reach *r)
{
    const struct pending *pending = r->pending;
    return source_inside(&r->p->source, pending->node->at, pending->text, pending->at,
                         pending->name->length);
}

static int unknown_task(const struct reach *r)
{
    struct str name = r->pending->name->first;
    uint32_t n;
    struct str *ids = names_of_tasks(r->p, &n);
    if (!ids)
        return out_of_memory(r->p);
    struct hint hint = hint_nearest(name, ids, n);
    if (included_as(r->p, name))
        snprintf(hint.text, sizeof hint.text,
                 ": it is an included file, which has no values of its own; one of its "
                 "tasks is tasks['%.*s/TASK']",
                 SHOWN(name));
    return diagnose(&r->p->diagnostic, position_of_pending(r),
                    "there is no task `%.*s`%s", SHOWN(name), hint.text);
}

static int not_needed(const struct reach *r, uint32_t members)
{
    struct str id = r->def->id, target = target_of(r)->id;
    if (members > 1)
        return diagnose(&r->p->diagnostic, position_of_pending(r),
                        "task `%.*s` needs %u members of `%.*s`, so it cannot be told "
                        "which one is meant",
                        SHOWN(id), members, SHOWN(target));
    if (target_of(r)->finally && !r->def->finally)
        return diagnose(&r->p->diagnostic, position_of_pending(r),
                        "`%.*s` is under `finally` and only runs after task `%.*s`",
                        SHOWN(target), SHOWN(id));
    return diagnose(&r->p->diagnostic, position_of_pending(r),
                    "task `%.*s` does not need %s`%.*s`, so its outcome is not known "
                    "yet; add it to `needs`",
                    SHOWN(id), target_of(r)->n_foreach ? "all of " : "", SHOWN(target));
}

static int only_ordered(const struct reach *r)
{
    return diagnose(&r->p->diagnostic, position_of_pending(r),
                    "task `%.*s` needs `%.*s` only for the order, and would not run "
                    "again with it: to use its values, need it without `order`",
                    SHOWN(r->def->id), SHOWN(target_of(r)->id));
}

static int files_of_none(const struct reach *r)
{
    struct str target = target_of(r)->id;
    return diagnose(&r->p->diagnostic, position_of_pending(r),
                    "task `%.*s` declares no `outputs`, so it has no files",
                    SHOWN(target));
}

/* The target is known to have ended. */
static int check_kind(const struct reach *r)
{
    if (r->pending->name->kind == NAME_TASK_FILES && !target_of(r)->n_outputs)
        return files_of_none(r);
    return 0;
}

static const struct pending *pending_at(const struct reach *r, size_t i)
{
    return (const struct pending *)(const void *)r->p->pending.data + i;
}

static void look_at(struct reach *r, size_t i)
{
    r->pending = pending_at(r, i);
    r->def = &r->p->out->defs[r->pending->def];
    parse_enter_task(r->p, r->pending->def);
    r->target = definition_task(r->p->out, r->p->in->scope, r->pending->name->first);
}

static int check_waiting(struct reach *r)
{
    int rc = 0;
    if (r->n_waiting)
        needed_find(r->needed);
    for (size_t i = 0; i < r->n_waiting && !rc; i++) {
        look_at(r, r->waiting[i]);
        rc = needed_found(r->needed, r->pending->def, r->target) ? check_kind(r)
                                                                 : not_needed(r, 0);
    }
    r->n_waiting = 0;
    return rc;
}

static int find_out_later(struct reach *r, size_t i)
{
    if (!needed_ask(r->needed, r->target)) {
        int rc = check_waiting(r);
        if (rc)
            return rc;
        look_at(r, i);
        (void)needed_ask(r->needed, r->target); /* there is room now */
    }
    r->waiting[r->n_waiting++] = i;
    return 0;
}

/* Of a service: it is there while the task runs, which must need it itself. */
static int check_port(const struct reach *r)
{
    const struct task_def *service = target_of(r);
    struct str name = r->pending->name->second;
    bool given = r->target == r->pending->def;
    for (uint32_t i = 0; i < r->def->n_needs && !given; i++)
        given = r->def->needs[i].target == r->target;
    if (!task_def_ports(service))
        return diagnose(&r->p->diagnostic, position_of_pending(r),
                        "`%.*s` has no port: that is of a service with `port: true`",
                        SHOWN(service->id));
    if (!given)
        return diagnose(
            &r->p->diagnostic, position_of_pending(r),
            "task `%.*s` does not need the service `%.*s` itself; add it to "
            "`needs`",
            SHOWN(r->def->id), SHOWN(service->id));
    if (service_port(service, name) < task_def_ports(service))
        return 0;
    if (service->port)
        return diagnose(&r->p->diagnostic, position_of_pending(r),
                        "the service `%.*s` has one port: write tasks.%.*s.port",
                        SHOWN(service->id), SHOWN(r->pending->name->first));
    struct hint hint = hint_nearest(name, service->ports, service->n_ports);
    return diagnose(&r->p->diagnostic, position_of_pending(r),
                    "the ports of the service `%.*s` have names: write "
                    "tasks.%.*s.ports.NAME%s",
                    SHOWN(service->id), SHOWN(r->pending->name->first), hint.text);
}

static int check_reference(struct reach *r, size_t i)
{
    look_at(r, i);
    uint32_t own = r->pending->def;
    if (parse_was_checked(r->p, own))
        return 0;
    if (r->target == MAP_NONE)
        return unknown_task(r);
    if (r->pending->name->kind == NAME_TASK_PORT)
        return check_port(r);
    if (r->target == own)
        return diagnose(&r->p->diagnostic, position_of_pending(r),
                        "task `%.*s` refers to itself; its outcome is not known before "
                        "it has ended%s",
                        SHOWN(r->def->id),
                        r->def->repeat.until.len
                            ? " (in `until`, what the round wrote is outputs.NAME)"
                            : "");
    struct direct_need direct = needed_directly(r->needed, own, r->target);
    if (direct.members == 1)
        return check_kind(r); /* that one, or that part, is meant */
    bool over = r->def->finally && !target_of(r)->finally;
    if (over || direct.whole)
        return check_kind(r);
    if (direct.order && !direct.members && !over)
        return only_ordered(r);
    if (direct.members > 1)
        return not_needed(r, direct.members);
    return needed_surely(r->needed, own, r->target) ? check_kind(r)
                                                    : find_out_later(r, i);
}

int check_pending(struct parser *p)
{
    size_t n = p->pending.size / sizeof(struct pending);
    struct reach r = {.p = p};
    int rc = 0;
    if (n == 0)
        return 0;
    r.needed = needed_new(p);
    r.waiting = arena_take(&p->scratch, n, sizeof *r.waiting);
    if (!r.needed || !r.waiting)
        return out_of_memory(p);
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_reference(&r, i);
    /* An earlier mistake is reported in place of this one. */
    int earlier = rc == CAIRN_ENOMEM ? 0 : check_waiting(&r);
    return earlier ? earlier : rc;
}
