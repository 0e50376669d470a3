/* SPDX-License-Identifier: MIT */
#include "runs/additions.h"

#include "base/memory.h"

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

static int add_one(void *context, const struct command_row *row)
{
    struct addition_list *list = context;
    struct str by, text;
    char name[64];
    if (!addition_decode(row->data, &by, &text))
        return error_set(list->error, CAIRN_EDAMAGED,
                         "the record of tasks that were added to run %llu is damaged",
                         (unsigned long long)list->run);
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
