/* SPDX-License-Identifier: MIT */
/* `templates`: keys that several tasks have. They are put into the nodes of a task
 * before any of its keys is read, so that a template says nothing that could not stand
 * in the task itself, and a mistake in it is found at its place in the template. */
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/words.h"

/* One of them is enough: a task's own `exec` takes the place of a template's `run`. */
static bool is_command(struct str key)
{
    return str_equal(key, STR("run")) || str_equal(key, STR("exec")) ||
           str_equal(key, STR("external")) || str_equal(key, STR("call"));
}

static struct node *find_key(const struct node *map, struct str key)
{
    struct node *at = map->first;
    bool command = is_command(key);
    while (at && !str_equal(at->text, key) && !(command && is_command(at->text)))
        at = at->next->next;
    return at;
}

/* A copy of the pair behind the last one of the map, whose nodes are its own. */
static int add_pair(struct parser *p, struct node *map, struct node **last,
                    const struct node *key)
{
    struct node *pair = arena_take(&p->scratch, 2, sizeof *pair);
    if (!pair)
        return out_of_memory(p);
    if (++p->n_extended > LIMIT_EXTENDED)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, key->at,
                           "templates add more than %d keys to tasks", LIMIT_EXTENDED);
    pair[0] = *key;
    pair[1] = *key->next;
    pair[0].next = &pair[1];
    pair[1].next = NULL;
    if (*last)
        (*last)->next = &pair[0];
    else
        map->first = &pair[0];
    *last = &pair[1];
    map->n++;
    return 0;
}

/* Entries of `env` that a task, or template, has not. */
static int add_entries(struct parser *p, struct node *env, const struct node *from)
{
    struct node map = *env, *last = NULL;
    int rc = 0;
    map.first = NULL;
    map.n = 0;
    for (const struct node *key = env->first; key && !rc; key = key->next->next)
        rc = add_pair(p, &map, &last, key);
    struct map names = MAP_INIT;
    for (const struct node *key = env->first; key && !rc; key = key->next->next)
        rc = map_add(&names, key->text, 0, NULL) < 0 ? out_of_memory(p) : 0;
    for (const struct node *key = from->first; key && !rc; key = key->next->next)
        if (map_get(&names, key->text) == MAP_NONE)
            rc = add_pair(p, &map, &last, key);
    map_release(&names);
    map.next = env->next;
    *env = map;
    return rc;
}

/* The keys that a task, or template, has not; entries of `env` one by one. */
static int add_missing(struct parser *p, struct node *map, struct node **last,
                       const struct node *from)
{
    int rc = 0;
    for (const struct node *key = from->first; key && !rc; key = key->next->next) {
        const struct node *value = key->next;
        struct node *own = find_key(map, key->text);
        if (!own && !str_equal(key->text, STR("extends")))
            rc = add_pair(p, map, last, key);
        else if (own && str_equal(key->text, STR("env")) && value->kind == NODE_MAP &&
                 own->next->kind == NODE_MAP)
            rc = add_entries(p, own->next, value);
    }
    return rc;
}

static struct template *find_template(const struct parser *p, struct str name)
{
    for (uint32_t i = 0; i < p->in->n_templates; i++)
        if (str_equal(p->in->templates[i].key->text, name))
            return &p->in->templates[i];
    return NULL;
}

static int no_template(const struct parser *p, const struct node *node, struct str name)
{
    uint32_t n = p->in->n_templates;
    struct str *names = arena_take(&p->out->arena, n, sizeof *names);
    if (!names)
        return out_of_memory(p);
    for (uint32_t i = 0; i < n; i++)
        names[i] = p->in->templates[i].key->text;
    struct hint hint = hint_nearest(name, names, n);
    return diagnose(
        &p->diagnostic, node->at, "there is no template `%.*s`%s", SHOWN(name),
        hint.text[0] ? hint.text : "; a template can extend those above it");
}

/* One of the names of `extends`, to what the map has already. */
static int extend_by(struct parser *p, struct node *map, struct node **last,
                     const struct node *node)
{
    struct str name;
    int rc = expect_filled(p, node, "`extends`", &name);
    struct template *found = rc ? NULL : find_template(p, name);
    if (!rc && !found)
        rc = no_template(p, node, name);
    if (rc)
        return rc;
    found->used = true;
    return add_missing(p, map, last, found->map);
}

int extend_task(struct parser *p, const struct node *task, const struct node **out)
{
    const struct node *extends =
        task->kind == NODE_MAP ? find_key(task, STR("extends")) : NULL;
    struct node *map, *last = NULL;
    int rc = 0;
    *out = task;
    if (!extends)
        return 0;
    extends = extends->next;
    map = arena_take(&p->scratch, 1, sizeof *map);
    if (!map)
        return out_of_memory(p);
    *map = *task;
    map->first = NULL;
    map->n = 0;
    for (const struct node *key = task->first; key && !rc; key = key->next->next)
        rc = add_pair(p, map, &last, key);
    *out = map;
    if (extends->kind != NODE_LIST)
        return rc ? rc : extend_by(p, map, &last, extends);
    /* Of several templates the later one wins, so it is put in first. */
    const struct node **names =
        arena_take(&p->scratch, extends->n, sizeof(const struct node *));
    uint32_t n = 0;
    if (!names)
        return out_of_memory(p);
    for (const struct node *item = extends->first; item; item = item->next)
        names[n++] = item;
    while (n-- && !rc)
        rc = extend_by(p, map, &last, names[n]);
    return rc;
}

int template_add(struct parser *p, const struct node *key)
{
    struct str name;
    const struct node *map;
    int rc = expect_key(p, key, "the name of a template", &name);
    if (!rc && !str_is_id(name))
        rc = diagnose(&p->diagnostic, key->at,
                      "the name of the template `%.*s` must be made of A-Z, a-z, 0-9, "
                      "_, - and . and not begin with - or .",
                      SHOWN(name));
    if (!rc)
        rc = extend_task(p, key->next, &map);
    if (rc)
        return rc;
    p->in->templates[p->in->n_templates++] = (struct template){key, map, false};
    return 0;
}

void warn_of_unused_templates(struct parser *p)
{
    for (uint32_t i = 0; i < p->in->n_templates; i++)
        if (!p->in->templates[i].used)
            parse_warn(p, p->in->templates[i].key->at, "no task extends `%.*s`",
                       SHOWN(p->in->templates[i].key->text));
}
