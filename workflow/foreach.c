/* SPDX-License-Identifier: MIT */
/* foreach: where the values of a group come from. Nothing here is per member of a
 * product, only per value. foreach_files.c reads glob and lines. */
#include "workflow/foreach_int.h"
#include "workflow/parse_common_int.h"
#include "workflow/parse_refs_int.h"
#include "workflow/parse_task_int.h"

#include "base/decimal.h"
#include "base/identifier.h"
#include "base/limits.h"
#include "graph/members.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- List and range ---- */

static int read_list(struct foreach_reading *r)
{
    char what[128];
    r->key->source = FOREACH_LIST;
    r->key->spec = STR("");
    if (r->node->n == 0)
        return diagnose(&r->p->diagnostic, r->node->at,
                        "the list of `%.*s` is empty, so the task would have no "
                        "members",
                        SHOWN(r->key->name));
    int rc = foreach_take_values(r, r->node->n);
    snprintf(what, sizeof what, "a value of `%.*s`", SHOWN(r->key->name));
    for (const struct node *item = r->node->first; item && !rc; item = item->next) {
        struct str *value = &r->key->values[r->key->n++];
        rc = read_expanded(r->p, item, what, r->def, value);
        if (!rc)
            rc = foreach_check_size(r, *value, item->at);
    }
    return rc;
}

static int fill_range(struct foreach_reading *r, int64_t from, int64_t to)
{
    char text[64], number[24];
    uint64_t n = to < from ? 0 : (uint64_t)to - (uint64_t)from + 1;
    struct arena *arena = &r->p->out->arena;
    snprintf(text, sizeof text, "%" PRId64 "..%" PRId64, from, to);
    r->key->spec = arena_str(arena, str_of(text));
    int rc = foreach_take_values(r, n);
    if (rc)
        return rc;
    for (uint64_t i = 0; i < n; i++) {
        r->key->values[i] = arena_str(arena, str_decimal(from + (int64_t)i, number));
    }
    r->key->n = (uint32_t)n;
    return arena->failed ? out_of_memory(r->p) : 0;
}

static int read_range(struct foreach_reading *r, const struct node *node)
{
    struct bounds any = {-INT64_MAX, INT64_MAX};
    int64_t from, to;
    r->key->source = FOREACH_RANGE;
    int rc = expect_list(r->p, node, "`range`");
    if (!rc && node->n != 2)
        rc = diagnose(&r->p->diagnostic, node->at,
                      "`range` takes the first and the last number, as in "
                      "[1, 8]");
    if (!rc)
        rc = expect_integer(r->p, node->first, "the first of `range`", any, &from);
    if (!rc)
        rc = expect_integer(r->p, node->first->next, "the last of `range`", any, &to);
    if (rc)
        return rc;
    if (to < from && !r->allow_empty)
        return diagnose(&r->p->diagnostic, node->at,
                        "the range from %" PRId64 " to %" PRId64
                        " is empty; write allow_empty: true if that may be",
                        from, to);
    return fill_range(r, from, to);
}

/* ---- A key ---- */

enum { RANGE, GLOB, LINES, ALLOW_EMPTY, FORMS };

static int read_form(struct foreach_reading *r)
{
    static const struct str names[FORMS] = {NAME("range"), NAME("glob"), NAME("lines"),
                                            NAME("allow_empty")};
    const struct node *found[FORMS] = {NULL};
    struct where where = {"foreach key", r->key->name};
    char what[128];
    snprintf(what, sizeof what, "`%.*s`", SHOWN(r->key->name));
    if (r->node->kind != NODE_MAP)
        return diagnose(&r->p->diagnostic, r->node->at,
                        "%s must be a list of values, {range: [a, b]}, {glob: "
                        "\"*.csv\"} or {lines: FILE}",
                        what);
    int rc = expect_keys(r->p, r->node, where, names, found, FORMS);
    int sources = !!found[RANGE] + !!found[GLOB] + !!found[LINES];
    if (!rc && sources != 1)
        rc = diagnose(&r->p->diagnostic, r->node->at,
                      "%s needs exactly one of `range`, `glob` and `lines`", what);
    if (!rc && found[ALLOW_EMPTY])
        rc = expect_bool(r->p, found[ALLOW_EMPTY]->next, "`allow_empty`",
                         &r->allow_empty);
    if (rc)
        return rc;
    if (found[RANGE])
        return read_range(r, found[RANGE]->next);
    return found[GLOB] ? foreach_read_glob(r, found[GLOB]->next)
                       : foreach_read_lines(r, found[LINES]->next);
}

static const struct node *nth_item(const struct node *list, uint32_t n)
{
    const struct node *item = list->first;
    while (n--)
        item = item->next;
    return item;
}

static int report_clash(const struct foreach_reading *r, const struct clash *clash)
{
    const struct foreach_key *key = r->key;
    struct str first = key->values[clash->first], second = key->values[clash->second];
    struct position at = r->node->at;
    if (key->source == FOREACH_LIST)
        at = nth_item(r->node, clash->second)->at;
    if (!clash->same)
        return diagnose(&r->p->diagnostic, at,
                        "the values `%.*s` and `%.*s` cannot be told apart in task ids",
                        SHOWN(first), SHOWN(second));
    if (key->source == FOREACH_LIST) {
        struct position before = nth_item(r->node, clash->first)->at;
        return diagnose(&r->p->diagnostic, at,
                        "the value `%.*s` is here twice; the first one is at %u:%u",
                        SHOWN(second), before.line, before.column);
    }
    if (r->lines)
        return diagnose(&r->p->diagnostic, at,
                        "lines %u and %u of %.*s are the same: `%.*s`",
                        r->lines[clash->first], r->lines[clash->second],
                        SHOWN(key->spec), SHOWN(second));
    return diagnose(&r->p->diagnostic, at, "the value `%.*s` is there twice",
                    SHOWN(second));
}

static int read_key(struct parser *p, struct task_def *def, const struct node *node)
{
    struct foreach_key *key = &def->foreach[def->n_foreach];
    struct foreach_reading r = {.p = p, .def = def, .key = key, .node = node->next};
    struct clash clash = {0};
    int rc = expect_key(p, node, "the name of a foreach key", &key->name);
    if (!rc)
        rc = foreach_check_name(p, node);
    if (!rc)
        rc = foreach_take_key(p, def, node);
    if (rc)
        return rc;
    rc = r.node->kind == NODE_LIST ? read_list(&r) : read_form(&r);
    if (rc)
        return rc;
    rc = foreach_key_finish(&p->out->arena, key, &clash);
    if (rc == CAIRN_EWORKFLOW)
        return report_clash(&r, &clash);
    return rc ? out_of_memory(p) : 0;
}

int read_foreach(struct parser *p, struct task_def *def, const struct node *node)
{
    struct cairn_error inner = {0};
    struct tuples tuples[LIMIT_FOREACH_KEYS];
    uint32_t n_tuples = 0;
    int rc = expect_map(p, node, "`foreach`");
    if (rc)
        return rc;
    if (node->n == 0)
        return diagnose(&p->diagnostic, node->at,
                        "`foreach` is empty; give it a key, as in {part: [a, b]}");
    if (node->n > LIMIT_FOREACH_KEYS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "`foreach` has more than %d keys", LIMIT_FOREACH_KEYS);
    def->foreach = arena_take(&p->out->arena, LIMIT_FOREACH_KEYS, sizeof *def->foreach);
    if (!def->foreach)
        return out_of_memory(p);
    for (const struct node *key = node->first; key && !rc; key = key->next->next)
        if (foreach_is_tuples(key->next))
            rc = foreach_read_tuples(p, def, key->next, &tuples[n_tuples++]);
        else
            rc = read_key(p, def, key);
    if (!rc && (n_tuples || p->exclude || p->include))
        rc = foreach_pick(p, def, node, tuples, n_tuples);
    if (rc)
        return rc;
    rc = task_def_finish(p->out, def, &inner);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(p);
    if (rc)
        return diagnose_as(&p->diagnostic, rc, node->at, "%s", inner.text);
    p->n_members += def->members;
    if (p->n_members > LIMIT_TASKS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "more than %d tasks, with those of the `foreach` before it",
                           LIMIT_TASKS);
    if (def->members == 0)
        parse_warn(p, node->at, "task `%.*s` has no members", SHOWN(def->id));
    return 0;
}
