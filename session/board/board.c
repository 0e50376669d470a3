/* SPDX-License-Identifier: MIT */
/* The items of a board, by kind and number. */
#include "session/board/board_int.h"

#include "base/array.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void board_init(struct board *board)
{
    *board = (struct board){.arena = ARENA_INIT};
}

void board_release(struct board *board)
{
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        free(board->lists[kind].items);
    arena_release(&board->arena);
    board_init(board);
}

/* ---- Lists ---- */

uint32_t board_place(const struct board_list *list, uint32_t n)
{
    struct section section = {list->items, list->n};
    return section_place(&section, n);
}

static struct item *item_at(const struct board *board, struct item_ref id)
{
    assert(item_kind_info(id.kind));
    const struct board_list *list = &board->lists[id.kind];
    uint32_t at = board_place(list, id.n);
    return at < list->n && list->items[at].id.n == id.n ? &list->items[at] : NULL;
}

const struct item *board_find(const struct board *board, struct item_ref id)
{
    return item_kind_info(id.kind) ? item_at(board, id) : NULL;
}

struct section board_section(const struct board *board, uint8_t kind)
{
    assert(item_kind_info(kind));
    return (struct section){board->lists[kind].items, board->lists[kind].n};
}

int board_make_room(struct board_list *list, struct cairn_error *error)
{
    struct item *items =
        array_room(list->items, list->n, &list->capacity, sizeof *items);
    if (!items)
        return error_nomem(error);
    list->items = items;
    return 0;
}

void board_insert(struct board_list *list, const struct item *item)
{
    uint32_t at = board_place(list, item->id.n);
    bool there = at < list->n && list->items[at].id.n == item->id.n;
    assert(there || list->n < list->capacity);
    if (!there) {
        memmove(&list->items[at + 1], &list->items[at],
                (list->n - at) * sizeof *list->items);
        list->n++;
    }
    list->items[at] = *item;
    if (item->id.n > list->last)
        list->last = item->id.n;
}

void board_take_out(struct board_list *list, uint32_t n)
{
    uint32_t at = board_place(list, n);
    assert(at < list->n && list->items[at].id.n == n);
    list->n--;
    memmove(&list->items[at], &list->items[at + 1],
            (list->n - at) * sizeof *list->items);
}

int board_load(struct board *board, uint8_t kind, const struct section *section,
               uint32_t last, struct cairn_error *error)
{
    assert(item_kind_info(kind) && board->lists[kind].n == 0);
    struct board_list *list = &board->lists[kind];
    for (uint32_t i = 0; i < section->n; i++) {
        int rc = board_make_room(list, error);
        if (rc)
            return rc;
        board_insert(list, &section->items[i]);
    }
    if (last > list->last)
        list->last = last;
    return 0;
}

/* ---- Changes ---- */

struct board_change *board_add_change(struct board_changes *changes, struct item_ref id)
{
    struct board_change *at =
        array_room(changes->at, changes->n, &changes->capacity, sizeof *at);
    if (!at)
        return NULL;
    changes->at = at;
    at[changes->n] = (struct board_change){.id = id};
    return &at[changes->n++];
}

/* ---- Lost items ---- */

int board_refuse_lost(struct item_ref id, struct cairn_error *error)
{
    char text[ITEM_ID_MAX];
    item_id(id, text);
    return error_set(error, CAIRN_EDAMAGED,
                     "%s is missing, though other items name it: remove those, or go "
                     "back to a checkpoint (`cairn checkpoint recover`)",
                     text);
}

int board_check(const struct board *board, struct cairn_error *error)
{
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END; kind++) {
        const struct item_kind_info *info = item_kind_info(kind);
        struct section section = board_section(board, kind);
        for (uint32_t i = 0; i < section.n; i++)
            for (uint32_t f = 1; f <= info->n_fields; f++) {
                const struct item_value *value = &section.items[i].values[f];
                if (value->present && info->fields[f - 1].type == FIELD_REF &&
                    !board_find(board, value->ref))
                    return board_refuse_lost(value->ref, error);
            }
    }
    return 0;
}
