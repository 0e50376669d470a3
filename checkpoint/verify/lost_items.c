/* SPDX-License-Identifier: MIT */
/* Which items are missing: lost_items.h.
 *
 * The log is read from its end. The first row about an item that is not there says what
 * became of it: it was put, and so may be missing, or it was removed. Where a
 * checkpoint was made or restored, the items that no later row is about were as that
 * one has them. If the sums of all that were put add up to what is missing, it is
 * these. */
#include "checkpoint/verify/lost_items.h"

#include "base/array.h"
#include "base/map.h"
#include "base/reader.h"
#include "checkpoint/sections.h"
#include "storage/object.h"
#include "storage/rows_lost.h"
#include "storage/store.h"

#include <stdlib.h>

/* Of this many checkpoints the items are tried. */
enum { CHECKPOINTS_TRIED = 4 };

/* An item that is not there, by the last row about it. */
struct met {
    struct item_row row;
    uint64_t turn;
    bool put; /* else removed */
};
enum { IS_THERE = MAP_NONE - 1 };

struct search {
    struct cairn_store *store;
    struct sha256 *sha;
    uint64_t session;
    struct arena *arena;
    struct row_tally missing; /* what is not there */
    struct map known;         /* items to their indexes in `met`, or IS_THERE */
    struct met *met;
    size_t n, room;
    int checkpoints;
    bool found; /* all that were put are missing */
    struct cairn_error *error;
};

/* ---- Items that were met ---- */

struct item_key {
    char bytes[5];
};

static struct str key_of(const struct item_row *row, struct item_key *key)
{
    key->bytes[0] = (char)row->kind;
    for (int i = 0; i < 4; i++)
        key->bytes[i + 1] = (char)(row->n >> 8 * i);
    return (struct str){key->bytes, sizeof key->bytes};
}

static uint32_t find_item(const struct search *s, const struct item_row *row)
{
    struct item_key key;
    return map_get(&s->known, key_of(row, &key));
}

static int note_item(struct search *s, const struct item_row *row, uint32_t index)
{
    struct item_key key;
    struct str kept = arena_str(s->arena, key_of(row, &key));
    int rc = s->arena->failed ? CAIRN_ENOMEM : map_add(&s->known, kept, index, NULL);
    return rc < 0 ? error_nomem(s->error) : 0;
}

static int note_present(void *context, const struct item_row *row)
{
    return note_item(context, row, IS_THERE);
}

static int add_met(struct search *s, const struct item_row *row, uint64_t turn,
                   bool put)
{
    struct met *at = array_room(s->met, s->n, &s->room, sizeof *at);
    if (!at)
        return error_nomem(s->error);
    s->met = at;
    s->met[s->n] = (struct met){*row, turn, put};
    s->met[s->n++].row.body = arena_str(s->arena, row->body);
    return s->arena->failed ? error_nomem(s->error) : 0;
}

static bool is_complete(const struct search *s)
{
    struct row_tally sum = {0};
    for (size_t i = 0; i < s->n; i++)
        if (s->met[i].put)
            store_item_tally(s->store, &s->met[i].row, &sum);
    return tally_same(&sum, &s->missing);
}

/* One that is missing alone is known by its sum, whatever became of the others. 1: it
 * is that one. */
static int try_alone(struct search *s, const struct item_row *row)
{
    struct row_tally one = {0};
    if (s->missing.n == 1)
        store_item_tally(s->store, row, &one);
    if (!one.n || !tally_same(&one, &s->missing))
        return 0;
    s->n = 0;
    int rc = add_met(s, row, 0, true);
    s->found = rc == 0;
    return rc ? rc : 1;
}

/* ---- Checkpoints ---- */

/* An item of one, if no row of the log that came later is about it. */
static int see_item(struct search *s, const struct item_row *row)
{
    if (find_item(s, row) != MAP_NONE)
        return 0;
    int rc = try_alone(s, row);
    return rc ? rc : add_met(s, row, 0, true);
}

/* As session/board/item.h has them: a varint number of items, then for each a varint
 * number and an lstr body. */
static int see_section(struct search *s, const struct section_ref *ref)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(s->store, &ref->digest, &content, s->error);
    struct reader in = reader_of(content.data, content.size);
    uint64_t left = rc ? 0 : read_varint(&in);
    for (; left > 0 && !rc; left--) {
        uint64_t n = read_varint(&in);
        struct str body = read_lstr(&in);
        if (in.failed || n > UINT32_MAX)
            break;
        const struct item_row row = {s->session, ref->kind, (uint32_t)n, body};
        rc = see_item(s, &row);
    }
    buf_release(&content);
    return rc;
}

static bool is_damage(int rc)
{
    return rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND || rc == CAIRN_ENEWER;
}

/* With the items of a checkpoint; without them again if that does not fit. 1: found. */
static int try_checkpoint(struct search *s, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    size_t before = s->n;
    int rc = sections_read(s->store, s->sha, seq, &arena, &sections, NULL, s->error);
    for (uint32_t i = 0; !rc && i < sections.n; i++)
        rc = see_section(s, &sections.list[i]);
    arena_release(&arena);
    if (s->found || (rc && !is_damage(rc)))
        return rc;
    s->found = !rc && is_complete(s);
    if (s->found)
        return 1;
    s->n = before;
    return ++s->checkpoints >= CHECKPOINTS_TRIED;
}

/* ---- The log ---- */

/* Turns come from the last one back, the rows of one from the first one on. */
static int see_change(struct search *s, const struct item_row *row, uint64_t turn,
                      bool put)
{
    uint32_t known = find_item(s, row);
    if (known == IS_THERE)
        return 0;
    int rc = put ? try_alone(s, row) : 0;
    if (rc || (known != MAP_NONE && s->met[known].turn != turn))
        return rc;
    if (known == MAP_NONE) {
        rc = note_item(s, row, (uint32_t)s->n);
        return rc ? rc : add_met(s, row, turn, put);
    }
    s->met[known].put = put;
    s->met[known].row.body = arena_str(s->arena, row->body);
    return s->arena->failed ? error_nomem(s->error) : 0;
}

/* 1: no more is to be read. */
static int see_row(void *context, const struct session_log_row *row)
{
    struct search *s = context;
    const struct item_row item = {s->session, row->kind, (uint32_t)row->number,
                                  row->after};
    if (row->verb == SESSION_LOG_CHECKPOINT || row->verb == SESSION_LOG_RESTORED)
        return try_checkpoint(s, row->number);
    if ((row->verb != SESSION_LOG_PUT && row->verb != SESSION_LOG_REMOVED) ||
        row->number > UINT32_MAX)
        return 0;
    return see_change(s, &item, row->turn, row->verb == SESSION_LOG_PUT);
}

static int search_log(struct search *s)
{
    int rc = store_each_item(s->store, s->session, note_present, s, s->error);
    if (rc && rc != CAIRN_EDAMAGED)
        return rc;
    rc = store_each_session_log(s->store, s->session, INT64_MAX, true, see_row, s,
                                s->error);
    if (rc && rc != CAIRN_EDAMAGED)
        return rc;
    s->found = s->found || is_complete(s);
    return 0;
}

int lost_items_find(struct cairn_store *store, struct sha256 *sha, uint64_t session,
                    struct lost_items *out, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct row_tally due, found;
    *out = (struct lost_items){.arena = ARENA_INIT};
    struct search s = {.store = store,
                       .sha = sha,
                       .session = session,
                       .arena = &out->arena,
                       .error = &why};
    int rc = store_tally(store, TALLY_ITEMS, session, &due, &why);
    if (!rc)
        rc = store_tally_rows(store, TALLY_ITEMS, session, &found, &why);
    if (!rc && found.n < due.n) {
        s.missing = (struct row_tally){due.n - found.n, due.sum ^ found.sum};
        rc = search_log(&s);
    }
    if (!rc && s.found) {
        out->at = arena_take(&out->arena, s.n, sizeof *out->at);
        rc = out->at ? 0 : error_nomem(&why);
    }
    for (size_t i = 0; !rc && s.found && i < s.n; i++)
        if (s.met[i].put)
            out->at[out->n++] = s.met[i].row;
    free(s.met);
    map_release(&s.known);
    if (is_damage(rc))
        return 0;
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

void lost_items_release(struct lost_items *items)
{
    arena_release(&items->arena);
    *items = (struct lost_items){.arena = ARENA_INIT};
}
