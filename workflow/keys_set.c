/* SPDX-License-Identifier: MIT */
/* Keys of the workflow file that a program sets in a workflow that it builds: each value
 * is read as YAML at once, into a tree of nodes like that of a file, and the tree is read
 * by the file's own tables when the workflow is compiled. So a key means the same, to the
 * byte, whether a file or a program says it. */
#include "workflow/keys_set.h"

#include "base/json_scan.h"
#include "workflow/parse_int.h"
#include "workflow/workflow.h"

#include <stdlib.h>

static struct node *empty_map(struct arena *arena)
{
    struct node *map = arena_take(arena, 1, sizeof *map);
    if (map)
        map->kind = NODE_MAP;
    return map;
}

struct keys_set *keys_set_make(const char *name)
{
    struct keys_set *set = calloc(1, sizeof *set);
    if (!set)
        return NULL;
    set->top = empty_map(&set->arena);
    set->own.name = arena_text(&set->arena, str_of(name));
    set->own.text = STR("");
    set->last = &set->own;
    if (set->arena.failed) {
        keys_set_free(set);
        return NULL;
    }
    return set;
}

void keys_set_free(struct keys_set *set)
{
    if (!set)
        return;
    arena_release(&set->arena);
    free(set->tasks);
    free(set);
}

int keys_set_room(struct keys_set *set, size_t n)
{
    struct keys_of_task *tasks =
        array_room(set->tasks, n, &set->capacity, sizeof *tasks);
    if (!tasks)
        return CAIRN_ENOMEM;
    set->tasks = tasks;
    set->n = n + 1;
    tasks[n] = (struct keys_of_task){0, NULL};
    return 0;
}

static struct node **end_of(struct node *map, struct str key, bool *twice)
{
    struct node **end = &map->first;
    while (*end) {
        *twice |= str_equal((*end)->text, key);
        end = &(*end)->next->next;
    }
    return end;
}

/* Its lines count on from those of the value before it. */
static struct source *next_source(struct keys_set *set, const char *name,
                                  const char *value)
{
    struct source *source = arena_take(&set->arena, 1, sizeof *source);
    if (!source)
        return NULL;
    *source =
        (struct source){.name = arena_text(&set->arena, str_of(name)),
                        .text = arena_str(&set->arena, str_of(value)),
                        .before = source_position(set->last, set->last->text.len).line};
    return source->name && source->text.ptr ? source : NULL;
}

static int add_key(struct keys_set *set, struct node *map, const char *key,
                   struct source *source, struct cairn_error *error)
{
    const struct diagnostic diagnostic = {source, error, NULL};
    const struct node *value = NULL;
    bool twice = false;
    struct node **end = end_of(map, str_of(key), &twice);
    struct node *node = arena_take(&set->arena, 1, sizeof *node);
    if (twice)
        return error_set(error, CAIRN_EUSAGE, "%s is set already", source->name);
    if (!node)
        return error_nomem(error);
    int rc = yaml_read(&diagnostic, &set->arena, &value);
    if (rc)
        return rc;
    *node = (struct node){.kind = NODE_TEXT,
                          .plain = true,
                          .at = {source->before + 1, 1},
                          .text = arena_str(&set->arena, str_of(key))};
    if (!node->text.ptr)
        return error_nomem(error);
    node->next = (struct node *)(uintptr_t)value; /* ours alone */
    *end = node;
    map->n++;
    set->last->more = source;
    set->last = source;
    set->any = true;
    return 0;
}

static int check_key(const char *key, struct str (*name_of)(size_t i), const char *what,
                     struct cairn_error *error)
{
    struct str names[64];
    size_t n = 0;
    for (; n < 64 && name_of(n).ptr; n++) {
        names[n] = name_of(n);
        if (str_equal(names[n], str_of(key)))
            return 0;
    }
    return error_set(error, CAIRN_EWORKFLOW, "unknown key `%.60s` %s%s", key, what,
                     hint_nearest(str_of(key), names, n).text);
}

static int begin_set(struct cairn_workflow *w, const char *key, const char *value,
                     struct cairn_error *error)
{
    if (w->compiled || w->name || w->broken)
        return error_set(error, CAIRN_EUSAGE,
                         "keys cannot be set in a loaded or compiled workflow");
    if (!key || !value)
        return error_set(error, CAIRN_EUSAGE, "a key is set to a value, not to NULL");
    return 0;
}

int cairn_workflow_set(struct cairn_workflow *w, const char *key, const char *value,
                       struct cairn_error *error)
{
    char name[80];
    int rc = begin_set(w, key, value, error)
                 ?: check_key(key, top_key, "at the top level", error);
    if (rc)
        return rc;
    if (strcmp(key, "name") == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "`name` is what cairn_workflow_new was given");
    snprintf(name, sizeof name, "`%s`", key);
    struct source *source = next_source(w->set, name, value);
    return source ? add_key(w->set, w->set->top, key, source, error)
                  : error_nomem(error);
}

int keys_set_task(struct cairn_workflow *w, uint32_t task, const char *key,
                  const char *value, struct cairn_error *error)
{
    struct buf name = BUF_INIT;
    int rc = begin_set(w, key, value, error);
    if (rc)
        return rc;
    buf_format(&name, "`%s` of task `%s`", key, w->definition.defs[task].id.ptr);
    struct node **map = &w->set->tasks[task].map;
    struct source *source = name.failed ? NULL : next_source(w->set, name.data, value);
    if (!*map)
        *map = empty_map(&w->set->arena);
    rc =
        *map && source ? add_key(w->set, *map, key, source, error) : error_nomem(error);
    buf_release(&name);
    return rc;
}

int keys_set_text(struct cairn_workflow *w, uint32_t task, const char *key,
                  const char *text, struct cairn_error *error)
{
    struct buf quoted = BUF_INIT;
    buf_byte(&quoted, '"');
    json_escape(str_of(text), &quoted);
    buf_byte(&quoted, '"');
    int rc =
        buf_check(&quoted, error) ?: keys_set_task(w, task, key, quoted.data, error);
    buf_release(&quoted);
    return rc;
}

int keys_set_texts(struct cairn_workflow *w, uint32_t task, const char *key,
                   const char *const *texts, struct cairn_error *error)
{
    struct buf list = BUF_INIT;
    buf_byte(&list, '[');
    for (size_t i = 0; texts[i]; i++) {
        buf_text(&list, i ? ", \"" : "\"");
        json_escape(str_of(texts[i]), &list);
        buf_byte(&list, '"');
    }
    buf_byte(&list, ']');
    int rc = buf_check(&list, error) ?: keys_set_task(w, task, key, list.data, error);
    buf_release(&list);
    return rc;
}

int cairn_task_set(struct cairn_workflow *w, const char *task, const char *key,
                   const char *value, struct cairn_error *error)
{
    int rc = begin_set(w, key, value, error);
    if (rc)
        return rc;
    uint32_t index = task ? map_get(&w->definition.by_id, str_of(task)) : MAP_NONE;
    if (index == MAP_NONE)
        return error_set(error, CAIRN_ENOTFOUND, "there is no task `%s`",
                         task ? task : "");
    if (strchr(task, '/'))
        return error_set(error, CAIRN_EUSAGE,
                         "task `%s`: no key can be set of a task with / in its id",
                         task);
    rc = check_key(key, task_key, "of a task", error);
    for (uint64_t i = 0; !rc && task_key(i).ptr; i++)
        if (w->set->tasks[index].by_fields >> i & 1 &&
            str_equal(task_key(i), str_of(key)))
            rc = error_set(error, CAIRN_EUSAGE,
                           "task `%s`: a field of struct cairn_task says `%s` already",
                           task, key);
    return rc ? rc : keys_set_task(w, index, key, value, error);
}

int cairn_workflow_callbacks(struct cairn_workflow *w,
                             const struct cairn_registry *registry,
                             struct cairn_error *error)
{
    if (w->compiled || w->name)
        return error_set(error, CAIRN_EUSAGE,
                         "the registry of a loaded or compiled workflow is given when "
                         "it is loaded");
    w->registry = registry;
    return 0;
}
