/* SPDX-License-Identifier: MIT */
/* foreach: a list of mappings, {cfg: [{cc: gcc, v: 12}, {cc: clang, v: 15}]}. What the
 * mappings name are the keys; the list's own name is only for people. */
#include "workflow/foreach_int.h"
#include "workflow/parse_refs_int.h"

#include "base/limits.h"
#include "graph/members.h"

bool foreach_is_tuples(const struct node *value)
{
    return value->kind == NODE_LIST && value->first && value->first->kind == NODE_MAP;
}

/* The keys are those of the first tuple. */
static int take_keys(struct parser *p, struct task_def *def, const struct node *tuple,
                     uint32_t n_rows)
{
    int rc = 0;
    for (const struct node *node = tuple->first; node && !rc; node = node->next->next) {
        if (def->n_foreach == LIMIT_FOREACH_KEYS)
            return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                               "`foreach` has more than %d keys", LIMIT_FOREACH_KEYS);
        struct foreach_key *key = &def->foreach[def->n_foreach];
        *key = (struct foreach_key){.source = FOREACH_LIST, .spec = STR("")};
        rc = expect_key(p, node, "the name of a foreach key", &key->name);
        if (!rc)
            rc = foreach_check_name(p, node);
        key->values = arena_take(&p->out->arena, n_rows, sizeof *key->values);
        if (!rc && !key->values)
            rc = out_of_memory(p);
        if (!rc)
            rc = foreach_take_key(p, def, node);
    }
    return rc;
}

static int check_tuple(const struct parser *p, const struct task_def *def,
                       const struct tuples *t, const struct node *tuple)
{
    int rc = expect_map(p, tuple, "a tuple of values, like the first one,");
    if (!rc && tuple->n != t->n_keys)
        rc = diagnose(&p->diagnostic, tuple->at,
                      "this tuple has %u values, the first one has %u", tuple->n,
                      t->n_keys);
    for (const struct node *node = tuple->first; node && !rc; node = node->next->next) {
        uint32_t k = task_def_key(def, node->text);
        if (k == UINT32_MAX || k < t->first)
            rc = diagnose(&p->diagnostic, node->at,
                          "`%.*s` is no key of the first tuple; all have the same keys",
                          SHOWN(node->text));
    }
    return rc;
}

/* The index of the value, which is added if it is new. */
static int take_value(struct parser *p, const struct task_def *def,
                      struct foreach_key *key, struct map *known,
                      const struct node *node, uint32_t *index)
{
    struct foreach_reading r = {.p = p, .def = def, .key = key, .node = node};
    struct str value = {NULL, 0};
    int rc = read_expanded(p, node, "a value of `foreach`", def, &value);
    if (!rc)
        rc = foreach_check_size(&r, value, node->at);
    if (rc)
        return rc;
    int added = map_add(known, value, key->n, index);
    if (added < 0)
        return out_of_memory(p);
    if (added == 0)
        return 0;
    *index = key->n;
    key->values[key->n++] = value;
    return 0;
}

static int read_column(struct parser *p, struct task_def *def, const struct node *list,
                       const struct tuples *t, uint32_t column)
{
    struct foreach_key *key = &def->foreach[t->first + column];
    struct map known = MAP_INIT;
    uint32_t row = 0;
    int rc = map_reserve(&known, t->n_rows) ? out_of_memory(p) : 0;
    for (const struct node *tuple = list->first; tuple && !rc; tuple = tuple->next) {
        const struct node *node = tuple->first;
        while (!str_equal(node->text, key->name))
            node = node->next->next;
        rc = take_value(p, def, key, &known, node->next,
                        &t->rows[(size_t)row++ * t->n_keys + column]);
    }
    map_release(&known);
    return rc;
}

int foreach_read_tuples(struct parser *p, struct task_def *def, const struct node *list,
                        struct tuples *out)
{
    int rc = 0;
    *out = (struct tuples){
        .first = def->n_foreach, .n_keys = list->first->n, .n_rows = list->n};
    if (out->n_rows > LIMIT_TASKS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, list->at,
                           "more than %d values", LIMIT_TASKS);
    if (out->n_keys == 0)
        return diagnose(&p->diagnostic, list->first->at,
                        "the tuple is empty; give it values, as in {cc: gcc, v: 12}");
    out->rows =
        arena_take(&p->scratch, (size_t)out->n_rows * out->n_keys, sizeof *out->rows);
    if (!out->rows)
        return out_of_memory(p);
    rc = take_keys(p, def, list->first, out->n_rows);
    for (const struct node *tuple = list->first; tuple && !rc; tuple = tuple->next)
        rc = check_tuple(p, def, out, tuple);
    for (uint32_t c = 0; c < out->n_keys && !rc; c++)
        rc = read_column(p, def, list, out, c);
    for (uint32_t c = 0; c < out->n_keys && !rc; c++) {
        struct foreach_key *key = &def->foreach[out->first + c];
        struct clash clash = {0};
        rc = foreach_key_finish(&p->out->arena, key, &clash);
        if (rc == CAIRN_EWORKFLOW)
            rc = diagnose(
                &p->diagnostic, list->at,
                "the values `%.*s` and `%.*s` cannot be told apart in task ids",
                SHOWN(key->values[clash.first]), SHOWN(key->values[clash.second]));
        else if (rc)
            rc = out_of_memory(p);
    }
    return rc;
}
