/* SPDX-License-Identifier: MIT */
/* A unit is read as a whole: what it had before is noted, what the store has is put or
 * kept, and what is left over goes. Work is committed in parts, so that no transaction
 * is long; a unit that was interrupted has no new stamp, and is read again, and what
 * it put is found there. */
#include "search/search_int.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

#include <stdlib.h>

/* Of one transaction. */
enum { ENTRIES_AT_ONCE = 256, BYTES_AT_ONCE = 8 << 20 };

struct known {
    struct str key; /* in the arena of the unit */
    int64_t doc;
    uint8_t hash[SEARCHDB_HASH];
    bool stays;
};
struct unit {
    struct catching *c;
    int64_t id;
    bool open;
    struct str name; /* in the arena */
    struct buf stamp;
    struct arena arena;
    struct known *known;
    size_t n, room;
    struct map keys;
    bool loaded;
};

static int note_key(void *context, int64_t doc, struct str key, struct str hash)
{
    struct unit *unit = context;
    struct known *known = array_room(unit->known, unit->n, &unit->room, sizeof *known);
    struct str kept = arena_str(&unit->arena, key);
    if (!known || !kept.ptr || hash.len != SEARCHDB_HASH)
        return known && kept.ptr
                   ? error_set(unit->c->error, CAIRN_EDAMAGED, "the index is damaged")
                   : error_nomem(unit->c->error);
    unit->known = known;
    known[unit->n] = (struct known){.key = kept, .doc = doc};
    memcpy(known[unit->n].hash, hash.ptr, SEARCHDB_HASH);
    if (map_add(&unit->keys, kept, (uint32_t)unit->n, NULL) < 0)
        return error_nomem(unit->c->error);
    unit->n++;
    return 0;
}

int unit_begin(struct catching *c, const char *name, struct unit **out)
{
    struct unit *unit = calloc(1, sizeof *unit);
    if (!unit)
        return error_nomem(c->error);
    *out = unit;
    unit->c = c;
    unit->name = arena_str(&unit->arena, str_of(name));
    struct searchdb_unit row = {.id = 0};
    int rc = searchdb_get_unit(c->index, str_of(name), &row, &unit->stamp, c->error);
    unit->id = row.id;
    unit->open = row.open;
    return rc;
}

int unit_load(struct unit *unit)
{
    if (unit->loaded)
        return 0;
    unit->loaded = true;
    return searchdb_each_key(unit->c->index, unit->id, note_key, unit, unit->c->error);
}

bool unit_is_open(const struct unit *unit)
{
    return unit->open;
}

int unit_mark_open(struct unit *unit)
{
    struct searchdb_unit row = {
        .id = unit->id, .name = unit->name, .stamp = unit_stamp(unit), .open = true};
    return searchdb_set_unit(unit->c->index, &row, unit->c->error);
}

struct str unit_stamp(const struct unit *unit)
{
    return unit->stamp.size ? buf_view(&unit->stamp) : STR("");
}

/* Commits what there is so far, so that others can go on. */
static int rest(struct catching *c)
{
    if (c->entries < ENTRIES_AT_ONCE && c->bytes < BYTES_AT_ONCE)
        return 0;
    c->entries = 0;
    c->bytes = 0;
    int rc = searchdb_commit(c->index, c->error);
    if (!rc && c->progress && c->progress(c->context, &c->told))
        rc = 1;
    int again = rc < 0 ? rc : searchdb_begin(c->index, c->error);
    return again ? again : rc;
}

static int put_new(struct unit *unit, const struct text_entry *entry,
                   const uint8_t hash[SEARCHDB_HASH])
{
    struct catching *c = unit->c;
    struct searchdb_vector vector;
    struct searchdb_doc doc = {.unit = unit->id,
                               .key = entry->key,
                               .section = entry->section,
                               .time_ns = entry->time_ns,
                               .hash = {(const char *)hash, SEARCHDB_HASH},
                               .title = entry->title,
                               .body = entry->body,
                               .tags = entry->tags,
                               .n_tags = entry->n_tags,
                               .n_words =
                                   words_count(entry->title) + words_count(entry->body),
                               .vector = &vector};
    int rc = searchdb_project(c->index, entry->project, &doc.project, c->error);
    if (!rc)
        rc = vector_of(entry->title, entry->body, &vector, c->error);
    if (!rc)
        rc = searchdb_put(c->index, &doc, c->error);
    c->entries++;
    c->told.entries++;
    c->bytes += entry->title.len + entry->body.len;
    return rc;
}

int unit_put(struct unit *unit, const struct text_entry *entry)
{
    uint8_t hash[SEARCHDB_HASH];
    uint32_t at = map_get(&unit->keys, entry->key);
    struct known *known = at == MAP_NONE ? NULL : &unit->known[at];
    entry_hash(unit->c->source.sha, entry, hash);
    if (known && known->stays)
        return 0;
    if (known)
        known->stays = true;
    if (known && memcmp(known->hash, hash, SEARCHDB_HASH) == 0)
        return 0;
    if (!known && unit->c->only_gone)
        return 0;
    int rc = known ? searchdb_drop(unit->c->index, known->doc, unit->c->error) : 0;
    if (!rc)
        rc = put_new(unit, entry, hash);
    return rc ? rc : rest(unit->c);
}

bool unit_only_gone(const struct unit *unit)
{
    return unit->c->only_gone;
}

bool unit_stopped(const struct unit *unit)
{
    return unit->c->source.stopped != 0;
}

bool unit_keep(struct unit *unit, struct str key)
{
    uint32_t at = map_get(&unit->keys, key);
    if (at == MAP_NONE)
        return false;
    return unit->known[at].stays = true;
}

/* What a board has lost is still in the log of its session: nothing there hurries. */
static bool is_board(const struct unit *unit)
{
    return unit_number(unit->name, "session/") > 0;
}

static int sweep_known(struct unit *unit, bool all)
{
    struct catching *c = unit->c;
    bool matters = all || !is_board(unit);
    int rc = 0;
    for (size_t i = 0; i < unit->n && !rc; i++) {
        if (unit->known[i].stays)
            continue;
        if (matters && !c->dropped)
            rc = searchdb_set_meta(c->index, SEARCHDB_PENDING, STR("1"), c->error);
        c->dropped |= matters;
        c->entries++;
        if (!rc)
            rc = searchdb_drop(c->index, unit->known[i].doc, c->error);
        if (!rc)
            rc = rest(c);
    }
    return rc;
}

int unit_end(struct unit *unit, bool sweep, struct str stamp, bool open)
{
    struct catching *c = unit->c;
    struct searchdb_unit row = {
        .id = unit->id, .name = unit->name, .stamp = stamp, .open = open};
    int rc = sweep ? sweep_known(unit, false) : 0;
    return rc || c->only_gone ? rc : searchdb_set_unit(c->index, &row, c->error);
}

int unit_forget_stamp(struct unit *unit)
{
    struct searchdb_unit row = {
        .id = unit->id, .name = unit->name, .stamp = STR(""), .open = unit->open};
    return searchdb_set_unit(unit->c->index, &row, unit->c->error);
}

void unit_each_key(const struct unit *unit, int (*each)(void *, struct str key),
                   void *context)
{
    for (size_t i = 0; i < unit->n; i++)
        if (each(context, unit->known[i].key))
            return;
}

int unit_drop(struct unit *unit)
{
    int rc = unit_load(unit);
    for (size_t i = 0; i < unit->n; i++)
        unit->known[i].stays = false;
    if (!rc)
        rc = sweep_known(unit, true);
    return rc ? rc : searchdb_drop_unit(unit->c->index, unit->id, unit->c->error);
}

void unit_free(struct unit *unit)
{
    if (!unit)
        return;
    map_release(&unit->keys);
    arena_release(&unit->arena);
    buf_release(&unit->stamp);
    free(unit->known);
    free(unit);
}
