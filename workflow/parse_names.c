/* SPDX-License-Identifier: MIT */
/* Lists of names: the workflow's secrets, and what a task takes of its secrets and
 * params. All are kept sorted. */
#include "workflow/parse_common_int.h"
#include "workflow/parse_task_int.h"
#include "workflow/parse_top_int.h"

#include "base/identifier.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

static int by_text(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

bool is_secret(const struct parser *p, struct str name)
{
    return names_have(p->out->secrets, p->out->n_secrets, name);
}

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
        rc = expect_key(p, item, item_what, &out->names[out->n++]);
        if (!rc)
            rc = check(p, item);
    }
    if (rc)
        return rc;
    qsort(out->names, out->n, sizeof *out->names, by_text);
    for (uint32_t i = 1; i < out->n; i++)
        if (str_equal(out->names[i - 1], out->names[i]))
            return refuse_twice(p, list, out->names[i]);
    return 0;
}

/* ---- The workflow's secrets ---- */

static bool begins_with(struct str text, const char *start)
{
    size_t n = strlen(start);
    return text.len >= n && memcmp(text.ptr, start, n) == 0;
}

static int check_secret(const struct parser *p, const struct node *node)
{
    struct str name = node->text;
    if (!str_is_env_name(name))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is no name for a secret, which becomes an environment "
                        "variable; use A-Z, a-z, 0-9 and _, not beginning with a digit",
                        SHOWN(name));
    if (begins_with(name, "CAIRN_"))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s`: names beginning with CAIRN_ are set by cairn itself",
                        SHOWN(name));
    if (str_equal(name, STR("PATH")) || begins_with(name, "LD_"))
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` decides how programs are found and started; a secret "
                        "needs another name",
                        SHOWN(name));
    if (definition_param(p->out, name) != UINT32_MAX)
        return diagnose(&p->diagnostic, node->at,
                        "`%.*s` is the name of a param already, and the values of "
                        "params are no secret",
                        SHOWN(name));
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
    p->out->secrets = names.names;
    p->out->n_secrets = names.n;
    return 0;
}

/* ---- What a task takes ---- */

static int check_declared(const struct parser *p, const struct node *node)
{
    if (is_secret(p, node->text))
        return 0;
    struct hint hint = hint_nearest(node->text, p->out->secrets, p->out->n_secrets);
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
    uint32_t n = p->out->n_params < MOST ? p->out->n_params : MOST;
    if (definition_param(p->out, node->text) != UINT32_MAX)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        names[i] = p->out->params[i].key;
    struct hint hint = hint_nearest(node->text, names, n);
    return diagnose(&p->diagnostic, node->at, "the workflow has no param `%.*s`%s",
                    SHOWN(node->text), hint.text);
}

int read_task_params(struct parser *p, struct task_def *def, const struct node *node)
{
    struct names names = {NULL, 0};
    int rc = read_names(p, node, "`params`", check_param, &names);
    def->params = names.names;
    def->n_params = rc ? 0 : names.n;
    def->own_params = true;
    return rc;
}
