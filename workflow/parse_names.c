/* SPDX-License-Identifier: MIT */
/* Names: of tasks, as they are known in a file; lists of the workflow's secrets, and
 * what a task takes of its secrets and params, which are kept sorted; params. */
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>

bool is_secret(const struct parser *p, struct str name)
{
    return names_have(p->out->secrets, p->out->n_secrets, name);
}

uint32_t find_param(const struct parser *p, struct str name)
{
    return definition_param(p->out, p->in->scope, name);
}

/* ---- Tasks ---- */

struct workflow_file *included_as(const struct parser *p, struct str name)
{
    struct str scope = p->in->scope;
    for (uint32_t i = 1; i < p->n_files; i++) {
        struct str of = p->files[i]->scope;
        if (of.len == scope.len + name.len + 1 && str_begins(of, scope) &&
            memcmp(of.ptr + scope.len, name.ptr, name.len) == 0)
            return p->files[i];
    }
    return NULL;
}

struct str *names_of_tasks(struct parser *p, uint32_t *n)
{
    const struct definition *out = p->out;
    struct str scope = p->in->scope, *ids;
    ids = arena_take(&p->scratch, (size_t)out->n_defs + p->n_files, sizeof *ids);
    *n = 0;
    for (uint32_t i = 0; ids && i < out->n_defs; i++) {
        struct str id = out->defs[i].id;
        if (str_begins(id, scope))
            ids[(*n)++] = (struct str){id.ptr + scope.len, id.len - scope.len};
    }
    for (uint32_t i = 1; ids && i < p->n_files; i++) {
        struct str of = p->files[i]->scope;
        if (p->files[i]->parent == p->in)
            ids[(*n)++] = (struct str){of.ptr + scope.len, of.len - scope.len - 1};
    }
    return ids;
}

/* ---- Lists ---- */

struct names {
    struct str *names;
    uint32_t n;
};

static int refuse_twice(const struct parser *p, const struct node *list,
                        struct str name)
{
    const struct node *first = NULL, *second = list;
    for (const struct node *item = list->first; item; item = item->next)
        if (str_equal(item->text, name)) {
            second = first && second == list ? item : second;
            first = first ? first : item;
        }
    return diagnose(&p->diagnostic, second->at,
                    "`%.*s` is here twice; the first one is at %u:%u", SHOWN(name),
                    (first ? first : list)->at.line, (first ? first : list)->at.column);
}

/* A list of texts, each checked by `check`, sorted, none twice. */
static int read_names(const struct parser *p, const struct node *list, const char *what,
                      int (*check)(const struct parser *, const struct node *),
                      struct names *out)
{
    char item_what[64];
    int rc = expect_list(p, list, what);
    if (rc)
        return rc;
    *out = (struct names){arena_take(&p->out->arena, list->n, sizeof *out->names), 0};
    if (!out->names)
        return out_of_memory(p);
    snprintf(item_what, sizeof item_what, "a name in %s", what);
    for (const struct node *item = list->first; item && !rc; item = item->next) {
        rc = expect_key(p, item, item_what, &out->names[out->n++]) ?: check(p, item);
    }
    if (rc)
        return rc;
    qsort(out->names, out->n, sizeof *out->names, str_order);
    for (uint32_t i = 1; i < out->n; i++)
        if (str_equal(out->names[i - 1], out->names[i]))
            return refuse_twice(p, list, out->names[i]);
    return 0;
}

/* ---- The workflow's secrets ---- */

/* A secret is one in all files of the workflow. */
static bool is_param_anywhere(const struct parser *p, struct str name)
{
    bool found = false;
    for (uint32_t i = 0; i < p->out->n_params && !found; i++)
        found = str_equal(name_in_scope(p->out->params[i].key), name);
    return found;
}

static int check_secret(const struct parser *p, const struct node *node)
{
    struct str name = node->text;
    if (!str_is_env_name(name))
        return diagnose(
            &p->diagnostic, node->at,
            "`%.*s` is not a name for a secret, which becomes an environment "
            "variable; use A-Z, a-z, 0-9 and _, not beginning with a digit",
            SHOWN(name));
    if (str_begins(name, STR("CAIRN_")))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s`: names beginning with CAIRN_ are set by cairn itself",
                        SHOWN(name));
    if (str_equal(name, STR("PATH")) || str_begins(name, STR("LD_")))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` decides how programs are found and started; a secret "
                        "needs another name",
                        SHOWN(name));
    if (is_param_anywhere(p, name))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is the name of a param already, and the values of "
                        "params are no secret",
                        SHOWN(name));
    return 0;
}

/* To those that other files have. */
static int add_secrets(struct parser *p, const struct names *names)
{
    struct definition *out = p->out;
    uint32_t n = out->n_secrets + names->n, i = 0, j = 0;
    struct str *all = arena_take(&out->arena, n, sizeof *all);
    if (!all)
        return out_of_memory(p);
    for (n = 0; i < out->n_secrets || j < names->n; n++) {
        int order = i == out->n_secrets ? 1
                    : j == names->n     ? -1
                                        : str_compare(out->secrets[i], names->names[j]);
        all[n] = order < 0 ? out->secrets[i] : names->names[j];
        i += order <= 0;
        j += order >= 0;
    }
    out->secrets = all;
    out->n_secrets = n;
    return 0;
}

int read_secrets(struct parser *p, const struct node *node)
{
    struct names names = {NULL, 0};
    if (node->kind == NODE_LIST && node->n > LIMIT_SECRETS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "more than %d secrets", LIMIT_SECRETS);
    int rc = read_names(p, node, "`secrets`", check_secret, &names);
    if (rc)
        return rc;
    p->in->secrets = names.names;
    p->in->n_secrets = names.n;
    return add_secrets(p, &names);
}

/* ---- What a task takes ---- */

static int check_declared(const struct parser *p, const struct node *node)
{
    const struct workflow_file *in = p->in;
    if (names_have(in->secrets, in->n_secrets, node->text))
        return 0;
    struct hint hint = hint_nearest(node->text, in->secrets, in->n_secrets);
    return diagnose(&p->diagnostic, node->at, "the workflow has no secret `%.*s`%s",
                    SHOWN(node->text),
                    hint.text[0] ? hint.text
                                 : "; declare it under `secrets` at the top level");
}

int read_task_secrets(struct parser *p, struct task_def *def, const struct node *node)
{
    struct names names = {NULL, 0};
    int rc = read_names(p, node, "`secrets`", check_declared, &names);
    def->secrets = names.names;
    def->n_secrets = rc ? 0 : names.n;
    return rc;
}

static int check_param(const struct parser *p, const struct node *node)
{
    enum { MOST = 256 };
    struct str names[MOST];
    uint32_t n = 0;
    if (find_param(p, node->text) != UINT32_MAX)
        return 0;
    for (uint32_t i = 0; i < p->out->n_params && n < MOST; i++)
        if (str_equal(name_scope(p->out->params[i].key), p->in->scope))
            names[n++] = name_in_scope(p->out->params[i].key);
    struct hint hint = hint_nearest(node->text, names, n);
    return diagnose(&p->diagnostic, node->at, "the workflow has no param `%.*s`%s",
                    SHOWN(node->text), hint.text);
}

int read_task_params(struct parser *p, struct task_def *def, const struct node *node)
{
    struct names names = {NULL, 0};
    int rc = read_names(p, node, "`params`", check_param, &names);
    for (uint32_t i = 0; i < names.n && !rc; i++)
        names.names[i] = p->out->params[find_param(p, names.names[i])].key;
    def->params = names.names;
    def->n_params = rc ? 0 : names.n;
    def->own_params = true;
    return rc;
}

/* Params: `name: default`, or typed, and the values given for one run. The type only
 * decides what is accepted; a value stays the text that it was written as. */

enum param_type { TYPE_STRING, TYPE_INT, TYPE_NUMBER, TYPE_BOOL, TYPES };

static const struct str type_names[TYPES] = {NAME("string"), NAME("int"),
                                             NAME("number"), NAME("bool")};

static const char *const type_forms[TYPES] = {
    "text", "an int such as 8 or -5", "a number such as 8 or -1.5", "true or false"};

struct param {
    struct key_value pair; /* first: what is sorted by */
    bool given;            /* it has a value */
    uint8_t type;
    struct str *choices; /* [n_choices] none: anything of the type */
    uint32_t n_choices;
};

static size_t count_digits(struct str text, size_t from)
{
    size_t n = 0;
    while (from + n < text.len && text.ptr[from + n] >= '0' &&
           text.ptr[from + n] <= '9')
        n++;
    return n;
}

/* -?[0-9]+, for numbers with (.[0-9]+)? */
static bool is_number(struct str text, bool decimals)
{
    size_t at = text.len > 0 && text.ptr[0] == '-';
    size_t whole = count_digits(text, at);
    at += whole;
    if (whole == 0 || at == text.len)
        return whole > 0;
    size_t part = count_digits(text, at + 1);
    return decimals && text.ptr[at] == '.' && part > 0 && at + 1 + part == text.len;
}

static bool is_bool(struct str text)
{
    return str_equal(text, STR("true")) || str_equal(text, STR("false"));
}

static bool fits_type(enum param_type type, struct str text)
{
    switch (type) {
    case TYPE_INT:
        return is_number(text, false);
    case TYPE_NUMBER:
        return is_number(text, true);
    case TYPE_BOOL:
        return is_bool(text);
    case TYPE_STRING:
    case TYPES:
        break;
    }
    return true;
}

static bool is_choice(const struct param *param, struct str value)
{
    bool found = param->n_choices == 0;
    for (uint32_t i = 0; i < param->n_choices && !found; i++)
        found = str_equal(param->choices[i], value);
    return found;
}

/* ---- In the file ---- */

static int read_value(const struct parser *p, const struct node *node, const char *what,
                      const struct param *param, struct str *out)
{
    int rc = 0;
    if (param->type == TYPE_BOOL && node->kind == NODE_TEXT && is_bool(node->text))
        *out = arena_str(&p->out->arena, node->text);
    else
        rc = expect_fixed(p, node, what, out);
    if (rc)
        return rc;
    if (!out->ptr)
        return out_of_memory(p);
    if (!fits_type(param->type, *out))
        return diagnose(&p->diagnostic, node->at, "%s must be %s, not `%.*s`", what,
                        type_forms[param->type], SHOWN(*out));
    if (param->pair.key.len + 1 + out->len > LIMIT_ENV_STRING)
        return too_long(p, node->at, what);
    return 0;
}

static int read_choices(const struct parser *p, const struct node *list,
                        struct param *param)
{
    char what[128];
    int rc = expect_list(p, list, "`choices`");
    if (rc)
        return rc;
    if (list->n == 0)
        return diagnose(&p->diagnostic, list->at,
                        "`choices` is empty; without it every value is taken");
    if (list->n > LIMIT_CHOICES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, list->at,
                           "more than %d choices", LIMIT_CHOICES);
    param->choices = arena_take(&p->out->arena, list->n, sizeof *param->choices);
    if (!param->choices)
        return out_of_memory(p);
    snprintf(what, sizeof what, "a choice of the param `%.*s`", SHOWN(param->pair.key));
    for (const struct node *item = list->first; item && !rc; item = item->next) {
        struct str choice;
        rc = read_value(p, item, what, param, &choice);
        if (!rc && param->n_choices && is_choice(param, choice))
            rc = diagnose(&p->diagnostic, item->at, "the choice `%.*s` is here twice",
                          SHOWN(choice));
        if (!rc)
            param->choices[param->n_choices++] = choice;
    }
    return rc;
}

static int read_default(const struct parser *p, const struct node *node,
                        struct param *param)
{
    char what[128];
    snprintf(what, sizeof what, "the default of the param `%.*s`",
             SHOWN(param->pair.key));
    int rc = read_value(p, node, what, param, &param->pair.value);
    param->given = !rc;
    if (rc || is_choice(param, param->pair.value))
        return rc;
    struct hint hint =
        hint_nearest(param->pair.value, param->choices, param->n_choices);
    return diagnose(&p->diagnostic, node->at, "%s is not among its `choices`: `%.*s`%s",
                    what, SHOWN(param->pair.value), hint.text);
}

static int read_typed(const struct parser *p, const struct node *map,
                      struct param *param)
{
    enum { TYPE, DEFAULT, CHOICES, COUNT };
    static const struct str names[COUNT] = {NAME("type"), NAME("default"),
                                            NAME("choices")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"param", param->pair.key};
    int rc = expect_keys(p, map, where, names, found, COUNT);
    if (!rc && found[TYPE])
        rc = expect_choice(p, found[TYPE]->next, "`type`", type_names, TYPES,
                           &param->type);
    if (!rc && found[CHOICES])
        rc = read_choices(p, found[CHOICES]->next, param);
    if (!rc && found[DEFAULT])
        rc = read_default(p, found[DEFAULT]->next, param);
    return rc;
}

static int read_param(const struct parser *p, const struct node *key,
                      struct param *param)
{
    char what[128];
    int rc = expect_key(p, key, "the name of a param", &param->pair.key);
    if (rc)
        return rc;
    if (!str_is_key(param->pair.key))
        return diagnose(&p->diagnostic, key->at,
                        "the param `%.*s` must be named with a-z, 0-9 and _, not "
                        "beginning with a digit",
                        SHOWN(param->pair.key));
    param->pair.value = STR("");
    if (key->next->kind == NODE_MAP)
        return read_typed(p, key->next, param);
    snprintf(what, sizeof what, "the param `%.*s`", SHOWN(param->pair.key));
    param->given = true;
    return read_value(p, key->next, what, param, &param->pair.value);
}

/* ---- Given for this run ---- */

static int no_such_param(const struct parser *p, struct str name)
{
    uint32_t n = p->out->n_params;
    struct str *names = arena_take(&p->out->arena, n, sizeof *names);
    if (!names)
        return out_of_memory(p);
    for (uint32_t i = 0; i < n; i++)
        names[i] = p->out->params[i].key;
    struct hint hint = hint_nearest(name, names, n);
    return diagnose_as(&p->diagnostic, CAIRN_EUSAGE, (struct position){0, 0},
                       "the workflow has no param `%.*s`%s", SHOWN(name), hint.text);
}

/* At line 0 for `cairn run --param`, else where an including file gives it. */
static int check_given(const struct parser *p, const struct param *param,
                       struct str value, struct position at)
{
    struct str name = param->pair.key;
    int code = at.line ? CAIRN_EWORKFLOW : CAIRN_EUSAGE;
    if (name.len + 1 + value.len > LIMIT_ENV_STRING)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, at,
                           "the value given for the param `%.*s` is longer than %d "
                           "bytes, the most the kernel passes in one string",
                           SHOWN(name), LIMIT_ENV_STRING);
    if (!fits_type(param->type, value))
        return diagnose_as(&p->diagnostic, code, at,
                           "the value given for the param `%.*s` must be %s (its type "
                           "is %s), not `%.*s`",
                           SHOWN(name), type_forms[param->type],
                           type_names[param->type].ptr, SHOWN(value));
    if (is_choice(param, value))
        return 0;
    char all[200];
    join_words(all, sizeof all, param->choices, param->n_choices);
    struct hint hint = hint_nearest(value, param->choices, param->n_choices);
    return diagnose_as(&p->diagnostic, code, at,
                       "the param `%.*s` must be %s, not `%.*s`%s", SHOWN(name), all,
                       SHOWN(value), hint.text);
}

/* A run keeps its params: an edit of a default does not reach it. */
static int note_default(struct parser *p, struct str name, struct str value,
                        struct str usual)
{
    struct buf line = BUF_INIT;
    buf_format(&line,
               "param %.*s: run %llu continues with '%.*s'; the default in the file is "
               "'%.*s': `cairn run ",
               SHOWN(name), (unsigned long long)p->options->edited_run, SHOWN(value),
               SHOWN(usual));
    buf_shell_word(&line, str_of(p->options->file));
    buf_text(&line, " --fresh` begins a run with it");
    bool failed = line.failed;
    parse_note(p, &line);
    buf_release(&line);
    return failed ? out_of_memory(p) : 0;
}

/* Of several values for one param the last one counts. */
static int use_given(struct parser *p, struct param *params, size_t i)
{
    const struct parse_options *options = p->options;
    const struct cairn_param *given = &options->params[i];
    struct str value = str_of(given->value);
    uint32_t index = find_param(p, str_of(given->name));
    if (index == UINT32_MAX)
        return no_such_param(p, str_of(given->name));
    struct str usual = p->out->params[index].value;
    bool differs = params[index].given && !str_equal(usual, value);
    params[index].given = true;
    int rc = check_given(p, &params[index], value, (struct position){0, 0});
    if (!rc && differs && options->edited_run && !options->were_given[i])
        rc = note_default(p, str_of(given->name), value, usual);
    if (rc)
        return rc;
    struct str copy = arena_str(&p->out->arena, value);
    if (!copy.ptr)
        return out_of_memory(p);
    p->out->params[index].value = copy;
    return 0;
}

/* Names all that are missing. */
static int check_required(const struct parser *p, const struct param *params)
{
    struct buf missing = BUF_INIT;
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < p->out->n_params; i++) {
        if (params[i].given)
            continue;
        if (n++ == 0)
            first = i;
        buf_format(&missing, "%s`%.*s`", n > 1 ? ", " : "", SHOWN(params[i].pair.key));
    }
    int rc = missing.failed ? out_of_memory(p) : 0;
    if (!rc && n == 1)
        rc = diagnose_as(&p->diagnostic, CAIRN_EUSAGE, (struct position){0, 0},
                         "the param `%.*s` has no default and needs a value; give it "
                         "with --param %.*s=...",
                         SHOWN(params[first].pair.key), SHOWN(params[first].pair.key));
    else if (!rc && n > 1)
        rc = diagnose_as(&p->diagnostic, CAIRN_EUSAGE, (struct position){0, 0},
                         "%u params have no default and need values, each given with "
                         "--param %.*s=...: %.*s",
                         n, SHOWN(params[first].pair.key), (int)missing.size,
                         missing.data);
    buf_release(&missing);
    return rc;
}

/* ---- Given by a file that includes this one ---- */

static struct param *param_named(struct param *params, uint32_t n, struct str name)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_equal(params[i].pair.key, name))
            return &params[i];
    return NULL;
}

static int no_such_given(const struct parser *p, const struct param *params, uint32_t n,
                         const struct given_param *given)
{
    struct str *names = arena_take(&p->out->arena, n, sizeof *names);
    if (!names)
        return out_of_memory(p);
    for (uint32_t i = 0; i < n; i++)
        names[i] = params[i].pair.key;
    struct hint hint = hint_nearest(given->key->text, names, n);
    return diagnose(&p->diagnostic, given->key->at,
                    "the included file has no param `%.*s`%s", SHOWN(given->key->text),
                    hint.text);
}

/* What is wrong with what is given is told of the file that gives it. */
static int use_given_by_file(struct parser *p, struct param *params, uint32_t n)
{
    struct workflow_file *in = p->in;
    int rc = 0;
    parse_enter(p, in->parent);
    for (uint32_t i = 0; i < in->n_given && !rc; i++) {
        const struct given_param *given = &in->given[i];
        struct param *param = param_named(params, n, given->key->text);
        rc = param ? check_given(p, param, given->value, given->key->next->at)
                   : no_such_given(p, params, n, given);
        if (!rc) {
            param->pair.value = given->value;
            param->given = true;
        }
    }
    for (uint32_t i = 0; i < n && !rc; i++)
        if (!params[i].given)
            rc = diagnose(&p->diagnostic, in->include->at,
                          "the param `%.*s` of the included file has no default: give "
                          "it a value under `params`",
                          SHOWN(params[i].pair.key));
    parse_enter(p, in);
    return rc;
}

/* Those of the file to those of the others, each with its scope. */
static int add_params(struct parser *p, const struct param *params, uint32_t n)
{
    struct definition *out = p->out;
    struct key_value *all =
        arena_take(&out->arena, (size_t)out->n_params + n, sizeof *all);
    if (!all)
        return out_of_memory(p);
    if (out->n_params)
        memcpy(all, out->params, out->n_params * sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        struct key_value *pair = &all[out->n_params++];
        *pair = params[i].pair;
        if (p->in->scope.len)
            pair->key = arena_join(&out->arena, p->in->scope, pair->key);
    }
    if (out->arena.failed)
        return out_of_memory(p);
    out->params = all;
    qsort(all, out->n_params, sizeof *all, key_value_order);
    return 0;
}

int read_params(struct parser *p, const struct node *map)
{
    uint32_t n = 0, count = map && map->kind == NODE_MAP ? map->n : 0;
    int rc = map ? expect_map(p, map, "`params`") : 0;
    if (rc)
        return rc;
    struct param *params = arena_take(&p->scratch, count, sizeof *params);
    if (!params)
        return out_of_memory(p);
    bool known = true;
    for (const struct node *key = map ? map->first : NULL; key && !rc;
         key = key->next->next) {
        rc = read_param(p, key, &params[n]);
        if (!rc)
            warn_of_param(p, key->next, params[n].pair.key, params[n].pair.value);
        known = known && !rc;
        n += !rc;
        rc = parse_go_on(p, rc);
    }
    if (!known && p->options->mistakes)
        p->options->mistakes->names_unknown = true;
    if (rc || !known)
        return rc;
    qsort(params, n, sizeof *params, key_value_order); /* each begins with one */
    if (p->in->parent) {
        rc = use_given_by_file(p, params, n);
        return rc ? rc : add_params(p, params, n);
    }
    rc = add_params(p, params, n); /* the first, so both have the same indices */
    for (size_t i = 0; i < p->options->n_params && !rc; i++)
        rc = parse_go_on(p, use_given(p, params, i));
    return rc ? rc : check_required(p, params);
}
