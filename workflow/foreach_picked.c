/* SPDX-License-Identifier: MIT */
/* foreach: which members of the product there are. Lists of tuples have only their own
 * combinations, `exclude` takes members away, `include` adds some. */
#include "workflow/foreach_int.h"
#include "workflow/parse_refs_int.h"

#include "base/limits.h"
#include "graph/members.h"

#include <stdlib.h>

enum { ANY = UINT32_MAX };

/* One mapping under `exclude` or `include`: an index for each key, or ANY. */
struct choice {
    uint32_t at[LIMIT_FOREACH_KEYS];
};

/* Values of one key that only `include` has. */
struct added {
    struct map known;        /* to their indexes */
    struct position *places; /* [room] of the values, from `first` on */
    uint32_t first, room;
};

struct picking {
    struct parser *p;
    struct task_def *def;
    const struct node *node; /* of `foreach` */
    const struct tuples *tuples;
    uint32_t n_tuples;
    struct choice *excluded;
    bool *used; /* [n_excluded] it takes something away */
    uint32_t n_excluded;
    struct added added[LIMIT_FOREACH_KEYS];
    struct buf places; /* of uint64_t */
    bool nothing;      /* there are no values */
};

/* ---- Tuples ----
 *
 * A list of mappings, {cfg: [{cc: gcc, v: 12}, {cc: clang, v: 15}]}. What the mappings
 * name are the keys; the list's own name is only for people. */

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
static int take_tuple_value(struct parser *p, const struct task_def *def,
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
        rc = take_tuple_value(p, def, key, &known, node->next,
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

/* ---- What is excluded and included ---- */

/* Room for one more: what the arena had before stays in it, so it is doubled. */
static int make_room(struct picking *k, struct foreach_key *key, struct added *added)
{
    uint32_t used = key->n - added->first, room = added->room ? 2 * added->room : 16;
    if (used < added->room)
        return 0;
    struct str *values =
        arena_take(&k->p->out->arena, (size_t)added->first + room, sizeof *values);
    struct position *places = arena_take(&k->p->scratch, room, sizeof *places);
    if (!values || !places)
        return out_of_memory(k->p);
    memcpy(values, key->values, key->n * sizeof *values);
    if (used)
        memcpy(places, added->places, used * sizeof *places);
    key->values = values;
    added->places = places;
    added->room = room;
    return 0;
}

/* A value that no other member has: only a list can get one more. Until finish_added
 * it is known here alone. */
static int add_value(struct picking *k, uint32_t of, const struct node *node,
                     struct str value, uint32_t *index)
{
    struct foreach_key *key = &k->def->foreach[of];
    struct added *added = &k->added[of];
    if (key->source != FOREACH_LIST)
        return diagnose(&k->p->diagnostic, node->at,
                        "`%.*s` is not among the values of `%.*s`, which come from a "
                        "range or from files",
                        SHOWN(value), SHOWN(key->name));
    int is_new = map_add(&added->known, value, key->n, index);
    if (is_new <= 0)
        return is_new < 0 ? out_of_memory(k->p) : 0;
    int rc = make_room(k, key, added);
    if (rc)
        return rc;
    added->places[key->n - added->first] = node->at;
    *index = key->n;
    key->values[key->n++] = value;
    return 0;
}

static int finish_added(const struct picking *k, uint32_t of)
{
    struct foreach_key *key = &k->def->foreach[of];
    const struct added *added = &k->added[of];
    struct clash clash = {0};
    if (key->n == added->first)
        return 0;
    key->shown = NULL;
    map_release(&key->by_value);
    key->by_value = (struct map)MAP_INIT;
    int rc = foreach_key_finish(&k->p->out->arena, key, &clash);
    if (rc != CAIRN_EWORKFLOW)
        return rc ? out_of_memory(k->p) : 0;
    struct position at = clash.second < added->first
                             ? k->node->at
                             : added->places[clash.second - added->first];
    return diagnose(&k->p->diagnostic, at,
                    "the value `%.*s` cannot be told apart from another one in task "
                    "ids",
                    SHOWN(key->values[clash.second]));
}

static int read_value(struct picking *k, const struct node *node, bool include,
                      uint32_t of, uint32_t *index)
{
    enum { NEAR = 1000 };
    struct foreach_key *key = &k->def->foreach[of];
    struct foreach_reading r = {.p = k->p, .def = k->def, .key = key, .node = node};
    struct str value;
    int rc = read_expanded(k->p, node, "a value of `foreach`", k->def, &value);
    if (!rc)
        rc = foreach_check_size(&r, value, node->at);
    if (rc)
        return rc;
    *index = foreach_key_find(key, value);
    if (*index != UINT32_MAX)
        return 0;
    if (include)
        return add_value(k, of, node, value, index);
    struct hint hint = hint_nearest(value, key->values, key->n < NEAR ? key->n : NEAR);
    return diagnose(&k->p->diagnostic, node->at,
                    "`%.*s` is not among the values of `%.*s`%s", SHOWN(value),
                    SHOWN(key->name), hint.text);
}

static int read_choice(struct picking *k, const struct node *map, bool include,
                       struct choice *out)
{
    struct task_def *def = k->def;
    struct str names[LIMIT_FOREACH_KEYS];
    int rc = expect_map(k->p, map, include ? "what is included" : "what is excluded");
    for (uint32_t i = 0; i < LIMIT_FOREACH_KEYS; i++)
        out->at[i] = ANY;
    for (uint32_t i = 0; i < def->n_foreach; i++)
        names[i] = def->foreach[i].name;
    if (!rc && map->n == 0)
        rc = diagnose(&k->p->diagnostic, map->at,
                      "nothing is named; write it as in {os: mac, v: 2}");
    for (const struct node *key = map->first; key && !rc; key = key->next->next) {
        uint32_t i = task_def_key(def, key->text);
        struct hint hint = hint_nearest(key->text, names, def->n_foreach);
        if (i == UINT32_MAX)
            return diagnose(&k->p->diagnostic, key->at,
                            "`%.*s` is no foreach key of task `%.*s`%s",
                            SHOWN(key->text), SHOWN(def->id), hint.text);
        rc = read_value(k, key->next, include, i, &out->at[i]);
    }
    for (uint32_t i = 0; include && i < def->n_foreach && !rc; i++)
        if (out->at[i] == ANY)
            rc = diagnose(&k->p->diagnostic, map->at,
                          "a member that is included needs all foreach keys; `%.*s` is "
                          "missing",
                          SHOWN(def->foreach[i].name));
    return rc;
}

static int read_choices(struct picking *k, const struct node *list, bool include,
                        struct choice **out, uint32_t *n)
{
    *n = 0;
    if (!list)
        return 0;
    int rc = expect_list(k->p, list, include ? "`include`" : "`exclude`");
    if (rc)
        return rc;
    *out = arena_take(&k->p->scratch, list->n, sizeof **out);
    if (!*out)
        return out_of_memory(k->p);
    for (const struct node *item = list->first; item && !rc; item = item->next)
        rc = read_choice(k, item, include, &(*out)[(*n)++]);
    return rc;
}

/* ---- Picking ---- */

static bool is_excluded(const struct picking *k, const uint32_t *at)
{
    bool excluded = false;
    for (uint32_t i = 0; i < k->n_excluded; i++) {
        bool hit = true;
        for (uint32_t key = 0; key < k->def->n_foreach && hit; key++)
            hit = k->excluded[i].at[key] == ANY || k->excluded[i].at[key] == at[key];
        k->used[i] |= hit;
        excluded |= hit;
    }
    return excluded;
}

static void pick(struct picking *k, const uint32_t *at)
{
    uint64_t place = 0;
    for (uint32_t key = 0; key < k->def->n_foreach; key++)
        place = place * k->def->foreach[key].n + at[key];
    buf_add(&k->places, &place, sizeof place);
}

static const struct tuples *tuples_of(const struct picking *k, uint32_t key)
{
    for (uint32_t i = 0; i < k->n_tuples; i++)
        if (key >= k->tuples[i].first && key < k->tuples[i].first + k->tuples[i].n_keys)
            return &k->tuples[i];
    return NULL;
}

/* Steps through the rows of tuples and the first `n` values of each other key, the last
 * fastest; false: all were there. */
static bool step(const struct picking *k, const uint32_t *n, uint32_t *row)
{
    for (uint32_t key = k->def->n_foreach; key-- > 0;) {
        const struct tuples *t = tuples_of(k, key);
        if (t && key != t->first) /* the rows are counted at the first key */
            continue;
        if (++row[key] < (t ? t->n_rows : n[key]))
            return true;
        row[key] = 0;
    }
    return false;
}

static int pick_product(struct picking *k, const uint32_t *n)
{
    uint32_t row[LIMIT_FOREACH_KEYS] = {0}, at[LIMIT_FOREACH_KEYS] = {0};
    uint64_t all = 1;
    for (uint32_t key = 0; key < k->def->n_foreach; key++) {
        const struct tuples *t = tuples_of(k, key);
        if (!t || key == t->first)
            all *= t ? t->n_rows : n[key];
        if (all > LIMIT_TASKS)
            return diagnose_as(&k->p->diagnostic, CAIRN_ELIMIT, k->node->at,
                               "task `%.*s` has more than %d members",
                               SHOWN(k->def->id), LIMIT_TASKS);
    }
    k->nothing = all == 0;
    for (bool more = all > 0; more; more = step(k, n, row)) {
        for (uint32_t key = 0; key < k->def->n_foreach; key++) {
            const struct tuples *t = tuples_of(k, key);
            at[key] = t ? t->rows[(size_t)row[t->first] * t->n_keys + key - t->first]
                        : row[key];
        }
        if (!is_excluded(k, at))
            pick(k, at);
    }
    return 0;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* In order, none twice. */
static int keep_places(struct picking *k)
{
    uint32_t n = (uint32_t)(k->places.size / sizeof(uint64_t)), kept = 0;
    uint64_t *places = arena_take(&k->p->out->arena, n, sizeof *places);
    if (!places || k->places.failed)
        return out_of_memory(k->p);
    if (n == 0 && k->nothing) /* allow_empty */
        return 0;
    if (n == 0)
        return diagnose(&k->p->diagnostic, k->node->at,
                        "everything is excluded: task `%.*s` would have no members",
                        SHOWN(k->def->id));
    memcpy(places, k->places.data, k->places.size);
    qsort(places, n, sizeof *places, by_place);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || places[i] != places[kept - 1])
            places[kept++] = places[i];
    k->def->picked = places;
    k->def->n_picked = kept;
    return 0;
}

static int check_product(const struct picking *k)
{
    uint64_t all = 1;
    for (uint32_t key = 0; key < k->def->n_foreach; key++)
        if (__builtin_mul_overflow(all, (uint64_t)k->def->foreach[key].n, &all))
            return diagnose_as(&k->p->diagnostic, CAIRN_ELIMIT, k->node->at,
                               "too many combinations of the values of `foreach`");
    return 0;
}

/* What takes nothing away is a mistake, or left over from one. */
static void warn_of_unused(const struct picking *k)
{
    uint32_t i = 0;
    for (const struct node *item = k->p->exclude ? k->p->exclude->first : NULL; item;
         item = item->next)
        if (!k->used[i++])
            parse_warn(k->p, item->at, "this excludes no member of task `%.*s`",
                       SHOWN(k->def->id));
}

int foreach_pick(struct parser *p, struct task_def *def, const struct node *node,
                 const struct tuples *tuples, uint32_t n_tuples)
{
    struct picking k = {
        .p = p, .def = def, .node = node, .tuples = tuples, .n_tuples = n_tuples};
    struct choice *included = NULL;
    uint32_t n_included = 0, n[LIMIT_FOREACH_KEYS] = {0};
    for (uint32_t key = 0; key < def->n_foreach; key++)
        k.added[key].first = n[key] = def->foreach[key].n;
    int rc = read_choices(&k, p->exclude, false, &k.excluded, &k.n_excluded);
    if (!rc)
        rc = read_choices(&k, p->include, true, &included, &n_included);
    for (uint32_t key = 0; key < def->n_foreach && !rc; key++)
        rc = finish_added(&k, key);
    if (!rc)
        rc = check_product(&k);
    k.used = arena_take(&p->scratch, k.n_excluded, sizeof *k.used);
    if (!rc && !k.used)
        rc = out_of_memory(p);
    if (!rc)
        rc = pick_product(&k, n);
    for (uint32_t i = 0; i < n_included && !rc; i++)
        pick(&k, included[i].at);
    if (!rc)
        rc = keep_places(&k);
    if (!rc)
        warn_of_unused(&k);
    for (uint32_t key = 0; key < def->n_foreach; key++)
        map_release(&k.added[key].known);
    buf_release(&k.places);
    return rc;
}
