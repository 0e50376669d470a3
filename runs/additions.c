/* SPDX-License-Identifier: MIT */
#include "runs/additions.h"

#include "workflow/yaml.h"

#include <stdio.h>
#include <stdlib.h>

void addition_encode(struct str by, struct str text, struct buf *out)
{
    buf_lstr(out, by);
    buf_lstr(out, text);
}

bool addition_decode(struct str data, struct str *by, struct str *text)
{
    struct reader reader = reader_of(data.ptr, data.len);
    *by = read_lstr(&reader);
    *text = read_lstr(&reader);
    return reader_done(&reader);
}

struct addition_list {
    struct addition *at;
    size_t n, capacity;
    uint64_t run;
    struct cairn_error *error;
};

static int damaged_addition(uint64_t run, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "the record of tasks that were added to run %llu is damaged",
                     (unsigned long long)run);
}

static int add_one(void *context, const struct command_row *row)
{
    struct addition_list *list = context;
    struct str by, text;
    char name[64];
    if (!addition_decode(row->data, &by, &text))
        return damaged_addition(list->run, list->error);
    /* With room for one more. */
    struct addition *grown =
        array_room(list->at, list->n + 1, &list->capacity, sizeof *grown);
    if (!grown)
        return error_nomem(list->error);
    list->at = grown;
    snprintf(name, sizeof name, "addition %zu to run %llu", list->n + 1,
             (unsigned long long)list->run);
    grown[list->n] = (struct addition){.name = strdup(name),
                                       .text = malloc(text.len + 1),
                                       .length = text.len,
                                       .id = row->id};
    struct addition *one = &grown[list->n++];
    if (!one->name || !one->text)
        return error_nomem(list->error);
    if (text.len)
        memcpy(one->text, text.ptr, text.len);
    return 0;
}

int additions_load(struct cairn_store *store, uint64_t run, struct addition **out,
                   size_t *n, struct cairn_error *error)
{
    struct addition_list list = {.run = run, .error = error};
    int rc = store_each_addition(store, run, add_one, &list, error);
    if (!rc && !list.at) {
        list.at = calloc(1, sizeof *list.at);
        rc = list.at ? 0 : error_nomem(error);
    }
    if (rc) {
        additions_free(list.at, list.n);
        return rc;
    }
    *out = list.at;
    *n = list.n;
    return 0;
}

static int count_one(void *context, const struct command_row *row)
{
    (void)row;
    ++*(size_t *)context;
    return 0;
}

int additions_count(struct cairn_store *store, uint64_t run, size_t *n,
                    struct cairn_error *error)
{
    *n = 0;
    return store_each_addition(store, run, count_one, n, error);
}

/* ---- Their names ---- */

struct naming {
    struct added_names *names;
    struct cairn_error *error;
};

static int add_name(struct naming *naming, struct str name)
{
    struct added_names *names = naming->names;
    if (map_get(&names->map, name) != MAP_NONE)
        return 0;
    struct str key = arena_str(&names->arena, name);
    if (names->arena.failed || map_add(&names->map, key, 0, NULL) < 0)
        return error_nomem(naming->error);
    return 0;
}

static int name_tasks(void *context, const struct command_row *row)
{
    struct naming *naming = context;
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct source source = {.name = "addition"};
    const struct diagnostic diagnostic = {&source, &why, NULL};
    const struct node *root = NULL;
    struct str by;
    if (!addition_decode(row->data, &by, &source.text))
        return damaged_addition(row->run, naming->error);
    source.text = str_without_mark(source.text);
    int rc = yaml_read(&diagnostic, &arena, &root);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(naming->error);
    else if (rc || root->kind != NODE_MAP) /* it was read before it was stored */
        rc = damaged_addition(row->run, naming->error);
    for (const struct node *key = rc ? NULL : root->first; key; key = key->next->next) {
        bool tasks = str_equal(key->text, STR("tasks")) && key->next->kind == NODE_MAP;
        const struct node *task = tasks ? key->next->first : NULL;
        for (; task && !rc; task = task->next->next)
            rc = add_name(naming, task->text);
    }
    arena_release(&arena);
    return rc;
}

int added_names_load(struct added_names *names, struct cairn_store *store,
                     uint64_t workflow, struct cairn_error *error)
{
    struct naming naming = {names, error};
    return store_each_workflow_addition(store, workflow, name_tasks, &naming, error);
}

bool added_names_have(const struct added_names *names, struct str id)
{
    const char *open = id.len ? memchr(id.ptr, '[', id.len) : NULL;
    struct str name = {id.ptr, open ? (size_t)(open - id.ptr) : id.len};
    return map_get(&names->map, name) != MAP_NONE;
}

void added_names_release(struct added_names *names)
{
    map_release(&names->map);
    arena_release(&names->arena);
}
