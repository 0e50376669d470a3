/* ${{ NAME }}: whether NAME is known, and how long the text gets. */
#include "executor/parse_int.h"

#include "base/limits.h"
#include "executor/scalar.h"

#include <stdio.h>

static struct position place_of(const struct parser *p, const struct node *node,
                                struct str text, const struct reference *reference)
{
    return source_inside(&p->source, node->at, text, reference->start, 3);
}

/* Everything that could stand there: the foreach keys, then params.NAME. */
static struct hint nearest_name(const struct parser *p, const struct task_def *def,
                                struct str name)
{
    enum { MOST = 256 };
    struct str candidates[MOST];
    char texts[MOST / 2][LIMIT_NAME_BYTES + 8];
    size_t n = 0;
    for (uint32_t k = 0; def && k < def->n_foreach; k++)
        candidates[n++] = def->foreach[k].name;
    for (uint32_t i = 0; i < p->out->n_params && i < MOST / 2; i++) {
        struct str key = p->out->params[i].key;
        snprintf(texts[i], sizeof texts[i], "params.%.*s", (int)key.len, key.ptr);
        candidates[n++] = str_of(texts[i]);
    }
    return hint_nearest(name, candidates, n);
}

static int unknown_name(const struct parser *p, const struct node *node,
                        struct str text, const struct reference *reference,
                        const struct task_def *def)
{
    struct position at = place_of(p, node, text, reference);
    struct str name = reference->name;
    if (reference_param(name).ptr || scalar_is_key(name)) {
        struct hint hint = nearest_name(p, def, name);
        if (definition_param(p->out, name) != UINT32_MAX)
            snprintf(hint.text, sizeof hint.text, "; a param is written params.%.*s",
                     SHOWN(name));
        return diagnose(&p->diagnostic, at, "unknown name `%.*s` in ${{ }}%s",
                        SHOWN(name), hint.text);
    }
    return diagnose(&p->diagnostic, at,
                    "only params.NAME and foreach keys can stand in ${{ }} in this "
                    "release, not `%.*s`",
                    SHOWN(name));
}

int check_references(const struct parser *p, const struct node *node, struct str text,
                     const struct task_def *def, size_t *size)
{
    struct reference reference;
    size_t total = text.len, done = 0;
    while (reference_next(text, done, &reference)) {
        struct str param = reference_param(reference.name);
        if (reference.open)
            return diagnose(&p->diagnostic, place_of(p, node, text, &reference),
                            "`${{` without `}}`");
        uint32_t index = UINT32_MAX;
        if (param.ptr)
            index = definition_param(p->out, param);
        else if (def)
            index = task_def_key(def, reference.name);
        if (index == UINT32_MAX)
            return unknown_name(p, node, text, &reference, def);
        total -= reference.end - reference.start;
        if (param.ptr)
            total += p->out->params[index].value.len;
        done = reference.end;
    }
    if (size)
        *size = total;
    return 0;
}

int too_long(const struct parser *p, struct position at, const char *what)
{
    return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, at,
                       "%s is longer than %d bytes, the most the kernel passes to a "
                       "process in one string; put it into a file",
                       what, LIMIT_ENV_STRING);
}

int check_string(const struct parser *p, const struct node *node, struct str key,
                 struct str text, const struct task_def *def)
{
    size_t size;
    int result = check_references(p, node, text, def, &size);
    if (result)
        return result;
    char what[128] = "this argument";
    if (key.len) {
        size += key.len + 1;
        snprintf(what, sizeof what, "`%.*s`", SHOWN(key));
    }
    return size > LIMIT_ENV_STRING ? too_long(p, node->at, what) : 0;
}
