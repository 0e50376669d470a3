/* SPDX-License-Identifier: MIT */
#include "checkpoint/gc/outputs_budget.h"

#include "checkpoint/nodes/nodes.h"
#include "storage/object.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct counting {
    struct outputs_budget *budget;
    struct cairn_store *store;
    struct files_row *rows;
    size_t n, room;
    struct node_set seen;
    uint64_t bytes;
    struct cairn_error *error;
};

static int note_row(void *context, const struct files_row *row)
{
    struct counting *c = context;
    const struct outputs_budget *budget = c->budget;
    if (digest_is_none(&row->files) || budget->passes(budget->context, row))
        return 0;
    struct files_row *rows = array_room(c->rows, c->n, &c->room, sizeof *rows);
    if (!rows)
        return error_nomem(c->error);
    c->rows = rows;
    rows[c->n] = *row;
    rows[c->n].id = arena_str(&c->budget->arena, row->id);
    c->n++;
    return c->budget->arena.failed ? error_nomem(c->error) : 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct files_row *x = a, *y = b;
    return x->run != y->run ? (x->run < y->run) - (x->run > y->run)
                            : str_compare(x->id, y->id);
}

static int count_object(void *context, const struct digest *digest, bool is_node)
{
    struct counting *c = context;
    struct object_room room;
    int rc = node_set_add(&c->seen, digest, is_node, c->error);
    if (rc <= 0)
        return rc < 0 ? rc : 1;
    rc = store_object_room(c->store, digest, &room, c->error);
    c->bytes += rc ? 0 : room.stored;
    return rc;
}

/* It takes nothing. */
static int pass_lost(void *context, const struct digest *digest, int rc,
                     const char *why)
{
    (void)context;
    (void)digest;
    (void)why;
    return rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED ? 0 : rc;
}

static void name_row(const struct files_row *row, struct buf *out)
{
    buf_clear(out);
    buf_format(out, "%" PRIu64 ".", row->run);
    buf_str(out, row->id);
}

static int note_over(struct outputs_budget *budget, const struct files_row *rows,
                     size_t n, struct cairn_error *error)
{
    struct buf name = BUF_INIT;
    int rc = 0;
    budget->over = calloc(n ? n : 1, sizeof *budget->over);
    for (size_t i = 0; i < n && budget->over && rc >= 0; i++) {
        budget->over[budget->n_over++] = rows[i];
        name_row(&rows[i], &name);
        rc = name.failed ? CAIRN_ENOMEM
                         : map_add(&budget->names,
                                   arena_str(&budget->arena, buf_view(&name)), 0, NULL);
    }
    buf_release(&name);
    return !budget->over || rc < 0 || budget->arena.failed ? error_nomem(error) : 0;
}

int outputs_budget_find(struct outputs_budget *budget, struct cairn_store *store,
                        struct cairn_error *error)
{
    struct counting c = {.budget = budget, .store = store, .error = error};
    const struct files_search all = {
        .kind = FILES_KEPT, .each = note_row, .context = &c, .all = true};
    const struct node_visitor visitor = {count_object, pass_lost, &c};
    size_t stay = 0;
    int rc = store_each_files(store, &all, error);
    if (c.n)
        qsort(c.rows, c.n, sizeof *c.rows, newest_first);
    while (!rc && stay < c.n) {
        rc = nodes_each(store, &c.rows[stay].files, &visitor, error);
        if (!rc && c.bytes > budget->most)
            break;
        stay++;
    }
    if (!rc)
        rc = note_over(budget, c.rows + stay, c.n - stay, error);
    node_set_release(&c.seen);
    free(c.rows);
    return rc;
}

bool outputs_budget_drops(const struct outputs_budget *budget,
                          const struct files_row *row)
{
    struct buf name = BUF_INIT;
    if (!budget->n_over)
        return false;
    name_row(row, &name);
    bool drops = !name.failed && map_get(&budget->names, buf_view(&name)) != MAP_NONE;
    buf_release(&name);
    return drops;
}

void outputs_budget_release(struct outputs_budget *budget)
{
    map_release(&budget->names);
    arena_release(&budget->arena);
    free(budget->over);
}
