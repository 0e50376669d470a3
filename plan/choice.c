/* SPDX-License-Identifier: MIT */
/* A name is that of a task, of a member, of a group, or of the part of a group that has
 * some of its values, as in `needs`; with * or ? in it, a pattern of ids and groups.
 * Brackets are part of the ids of members, so they mean themselves. */
#include "plan/choice.h"

#include "cairn/workflow.h"

#include <stdlib.h>
#include <string.h>

/* Goes back to the last star only. */
static bool matches(const char *pattern, struct str text)
{
    const char *star = NULL, *at = text.ptr, *end = at + text.len, *from = NULL;
    while (at < end) {
        if (*pattern == '*') {
            star = ++pattern;
            from = at;
        } else if (*pattern == '?' || (*pattern && *pattern == *at)) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star;
            at = ++from;
        } else {
            return false;
        }
    }
    return !pattern[strspn(pattern, "*")];
}

/* Is this `key=value` among those of a member? In values the id has commas and brackets
 * as %2C and %5D. */
static bool has_value(const char *values, const char *value, size_t n)
{
    for (;;) {
        size_t length = strcspn(values, ",]");
        if (length == n && memcmp(values, value, n) == 0)
            return true;
        if (values[length] != ',')
            return false;
        values += length + 1;
    }
}

/* a[w=3] means a[v=1,w=3] and a[v=2,w=3]. */
static bool is_part(const char *name, const char *id)
{
    size_t group = strcspn(id, "[");
    if (!id[group] || strncmp(name, id, group + 1) != 0)
        return false;
    for (const char *at = name + group + 1;; at++) {
        size_t n = strcspn(at, ",]");
        if (!has_value(id + group + 1, at, n))
            return false;
        at += n;
        if (*at != ',')
            return strcmp(at, "]") == 0;
    }
}

/* The tasks of an included file: `lint` means lint/test and lint/docs/links. */
static bool is_inside(const char *name, const char *id)
{
    size_t n = strlen(name);
    return n && n < strcspn(id, "[") && id[n] == '/' && memcmp(name, id, n) == 0;
}

bool cairn_name_matches(const char *name, const char *id)
{
    return matches(name, str_of(id)) ||
           matches(name, (struct str){id, strcspn(id, "[")}) || is_part(name, id) ||
           is_inside(name, id);
}

struct naming { /* one name, looked for in all tasks */
    const struct graph *graph;
    uint8_t *named; /* [n_nodes] */
    uint32_t found, finally;
};

static void note(struct naming *n, uint32_t task)
{
    if (graph_def(n->graph, task)->finally) {
        n->finally++;
        return;
    }
    n->named[task] = 1;
    n->found++;
}

static void note_group(struct naming *n, uint32_t def)
{
    for (uint32_t task = n->graph->first[def]; task < n->graph->first[def + 1]; task++)
        note(n, task);
}

static void find_pattern(struct naming *n, const char *pattern)
{
    for (uint32_t task = 0; task < n->graph->n_tasks; task++)
        if (cairn_name_matches(pattern, n->graph->id[task]))
            note(n, task);
}

static void find_name(struct naming *n, const char *name)
{
    uint32_t def = map_get(&n->graph->definition->by_id, str_of(name));
    uint32_t task = def == MAP_NONE ? graph_find(n->graph, str_of(name)) : NODE_NONE;
    if (def != MAP_NONE)
        note_group(n, def);
    else if (task != NODE_NONE && task < n->graph->n_tasks)
        note(n, task);
    else
        find_pattern(n, name);
}

static int find_one(struct naming *n, const char *name, struct cairn_error *error)
{
    n->found = n->finally = 0;
    find_name(n, name);
    if (n->found)
        return 0;
    if (n->finally)
        return error_set(error, CAIRN_EUSAGE,
                         "%.200s belongs to `finally`: that runs at the end of a whole "
                         "run, and cannot be chosen",
                         name);
    return error_set(error, CAIRN_ENOTFOUND, "there is no task or group %.200s", name);
}

/* What comes after it, or before it, joins in; nodes are in topological order. */
static void add_dependents(const struct graph *g, uint8_t *marked)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        for (uint32_t e = g->need_start[node];
             e < g->need_start[node + 1] && !marked[node]; e++)
            marked[node] = marked[g->needs[e]];
        if (!graph_is_barrier(g, node) && graph_def(g, node)->finally)
            marked[node] = 0;
    }
}

static void add_needs(const struct graph *g, uint8_t *marked)
{
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t node = g->order[i];
        for (uint32_t e = g->need_start[node];
             marked[node] && e < g->need_start[node + 1]; e++)
            marked[g->needs[e]] = 1;
    }
}

int choice_make(struct choice *c, const struct graph *g,
                const struct cairn_run_options *options, struct cairn_error *error)
{
    *c = (struct choice){0};
    if (!options->n_tasks)
        return 0;
    uint8_t *named = calloc(g->n_nodes, 1);
    struct naming naming = {.graph = g, .named = named};
    int rc = named ? 0 : error_nomem(error);
    for (size_t i = 0; i < options->n_tasks && !rc; i++)
        rc = find_one(&naming, options->tasks[i], error);
    c->chosen = named;
    if (!rc && options->again) {
        c->again = malloc(g->n_nodes);
        if (!c->again)
            return error_nomem(error);
        memcpy(c->again, named, g->n_nodes);
        if (!options->only)
            add_dependents(g, named);
    }
    if (!rc)
        add_needs(g, named);
    return rc;
}

void choice_release(struct choice *c)
{
    free(c->chosen);
    free(c->again);
    *c = (struct choice){0};
}

enum on_failure choice_on_failure(const struct definition *d,
                                  enum cairn_on_failure given)
{
    return given == CAIRN_FAILURE_STOPS     ? ON_FAILURE_STOP
           : given == CAIRN_FAILURE_GOES_ON ? ON_FAILURE_CONTINUE
                                            : (enum on_failure)d->on_failure;
}
