/* SPDX-License-Identifier: MIT */
#include "search/search_int.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/words.h"
#include "runs/owner.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_meta.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const section_names[] = {"all",   "sessions", "runs", "logs",
                                            "files", "messages", "board"};

const char *cairn_search_section_name(enum cairn_search_section section)
{
    return (unsigned)section < COUNT_OF(section_names) ? section_names[section] : NULL;
}

static bool is_plain(uint32_t code)
{
    return code == '\n' || code == '\t' || (code >= 0x20 && code != 0x7f);
}

void entry_text(struct buf *out, struct str bytes, size_t most, bool last)
{
    if (last && bytes.len > most) {
        bytes.ptr += bytes.len - most;
        bytes.len = most;
    }
    const char *at = bytes.ptr, *end = at + (bytes.len < most ? bytes.len : most);
    const char *from = at; /* what is as it should be, and not yet taken */
    while (at < end) {
        uint32_t code = 0;
        size_t n = utf8_next(at, end, &code);
        if (n && is_plain(code)) {
            at += n;
            continue;
        }
        buf_add(out, from, (size_t)(at - from));
        buf_byte(out, ' ');
        at += n ? n : 1;
        from = at;
    }
    buf_add(out, from, (size_t)(at - from));
}

static void add_part(struct sha256 *sha, struct str part)
{
    uint64_t n = part.len;
    uint8_t size[8];
    for (size_t i = 0; i < sizeof size; i++)
        size[i] = (uint8_t)(n >> (8 * i));
    sha256_add(sha, size, sizeof size);
    sha256_add(sha, part.ptr, part.len);
}

void entry_hash(struct sha256 *sha, const struct text_entry *entry,
                uint8_t hash[SEARCHDB_HASH])
{
    struct digest digest;
    sha256_begin(sha);
    add_part(sha, entry->project);
    add_part(sha, entry->title);
    add_part(sha, entry->body);
    for (size_t i = 0; i < entry->n_tags; i++)
        add_part(sha, entry->tags[i]);
    sha256_end(sha, &digest);
    memcpy(hash, digest.bytes, SEARCHDB_HASH);
}

/* A unit is read as a whole: what it had before is noted, what the store has is put or
 * kept, and what is left over goes. Work is committed in parts, so that no transaction
 * is long; a unit that was interrupted has no new stamp, and is read again, and what
 * it put is found there. */

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

static int unit_begin(struct catching *c, const char *name, struct unit **out)
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

/* Loads the keys that the index has of the unit. Not needed where entries are only
 * added: then the unit is marked open before the first, and loaded if it is found
 * open. */
static int unit_load(struct unit *unit)
{
    if (unit->loaded)
        return 0;
    unit->loaded = true;
    return searchdb_each_key(unit->c->index, unit->id, note_key, unit, unit->c->error);
}

static bool unit_is_open(const struct unit *unit)
{
    return unit->open;
}

static struct str unit_stamp(const struct unit *unit);

static int unit_mark_open(struct unit *unit)
{
    struct searchdb_unit row = {
        .id = unit->id, .name = unit->name, .stamp = unit_stamp(unit), .open = true};
    return searchdb_set_unit(unit->c->index, &row, unit->c->error);
}

/* The stamp that it had. */
static struct str unit_stamp(const struct unit *unit)
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
    int rc = searchdb_project(c->index, entry->project, &doc.project, c->error)
             ?: vector_of(entry->title, entry->body, &vector, c->error)
             ?: searchdb_put(c->index, &doc, c->error);
    c->entries++;
    c->told.entries++;
    c->bytes += entry->title.len + entry->body.len;
    return rc;
}

/* Puts it unless it is there as it is. */
static int unit_put(struct unit *unit, const struct text_entry *entry)
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
    return rc ?: put_new(unit, entry, hash) ?: rest(unit->c);
}

static bool unit_only_gone(const struct unit *unit)
{
    return unit->c->only_gone;
}

/* What it was given could not be put, or no more is wanted. */
static bool unit_stopped(const struct unit *unit)
{
    return unit->c->source.stopped != 0;
}

/* Whether it is there: then it stays without being looked at. */
static bool unit_keep(struct unit *unit, struct str key)
{
    uint32_t at = map_get(&unit->keys, key);
    if (at == MAP_NONE)
        return false;
    return unit->known[at].stays = true;
}

static uint64_t unit_number(struct str name, const char *start);

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
            rc = searchdb_drop(c->index, unit->known[i].doc, c->error) ?: rest(c);
    }
    return rc;
}

/* With `sweep` what was neither put nor kept goes. */
static int unit_end(struct unit *unit, bool sweep, struct str stamp, bool open)
{
    struct catching *c = unit->c;
    struct searchdb_unit row = {
        .id = unit->id, .name = unit->name, .stamp = stamp, .open = open};
    int rc = sweep ? sweep_known(unit, false) : 0;
    return rc || c->only_gone ? rc : searchdb_set_unit(c->index, &row, c->error);
}

/* So that all of it is read the next time. */
static int unit_forget_stamp(struct unit *unit)
{
    struct searchdb_unit row = {
        .id = unit->id, .name = unit->name, .stamp = STR(""), .open = unit->open};
    return searchdb_set_unit(unit->c->index, &row, unit->c->error);
}

/* What was loaded. A non-zero return stops. */
static void unit_each_key(const struct unit *unit, int (*each)(void *, struct str key),
                          void *context)
{
    for (size_t i = 0; i < unit->n; i++)
        if (each(context, unit->known[i].key))
            return;
}

/* All of it goes. */
static int unit_drop(struct unit *unit)
{
    int rc = unit_load(unit);
    for (size_t i = 0; i < unit->n; i++)
        unit->known[i].stays = false;
    return rc
           ?: sweep_known(unit, true)
           ?: searchdb_drop_unit(unit->c->index, unit->id, unit->c->error);
}

static void unit_free(struct unit *unit)
{
    if (!unit)
        return;
    map_release(&unit->keys);
    arena_release(&unit->arena);
    buf_release(&unit->stamp);
    free(unit->known);
    free(unit);
}

/* The units of the index, each brought up to date by itself:
 *
 *     session/S      the session and its board; stamp: the project
 *     messages/S     stamp: u64 number of the last one
 *     checkpoints/S  what they say
 *     files/S        stamp: u64 seq, 32 bytes root of the newest one that was read
 *     notes          labels and notes of all checkpoints; stamp: their tally
 *     run/R          the run, its tasks and logs; stamp: the project */

/* The number behind a text that a name begins with; 0: it has another one. */
static uint64_t unit_number(struct str name, const char *start)
{
    size_t n = strlen(start);
    uint64_t number = 0;
    if (!str_begins(name, str_of(start)) ||
        !str_to_u64((struct str){name.ptr + n, name.len - n}, &number))
        return 0;
    return number;
}

static int put_entry(void *context, const struct text_entry *entry)
{
    return unit_put(context, entry);
}

static bool keep_entry(void *context, struct str key)
{
    return unit_keep(context, key) || unit_only_gone(context);
}

static int begin_bare(struct catching *c, const char *format, uint64_t number,
                      struct unit **unit)
{
    char name[64];
    snprintf(name, sizeof name, format, (unsigned long long)number);
    int rc = unit_begin(c, name, unit);
    c->source.each = put_entry;
    c->source.is_known = keep_entry;
    c->source.context = *unit;
    c->source.stopped = 0;
    return rc;
}

static int begin_unit(struct catching *c, const char *format, uint64_t number,
                      struct unit **unit)
{
    return begin_bare(c, format, number, unit) ?: unit_load(*unit);
}

/* Damage of the store keeps what was indexed before: other commands name it. That of
 * the index comes from unit_put, which stops the source. NULL: it was not begun. */
static int end_unit(struct unit *unit, int rc, bool sweep, struct str stamp, bool open)
{
    if (!unit)
        return rc;
    bool stopped = unit_stopped(unit);
    if (!stopped && rc == CAIRN_ENOTFOUND)
        rc = unit_drop(unit);
    else if (!stopped && rc == CAIRN_EDAMAGED)
        rc = unit_end(unit, false, unit_stamp(unit), true);
    else if (!rc)
        rc = unit_end(unit, sweep, stamp, open);
    unit_free(unit);
    return rc;
}

/* It belongs to another directory now: all of its entries say so. */
static int drop_unit(struct catching *c, const char *format, uint64_t number)
{
    struct unit *unit = NULL;
    int rc = begin_unit(c, format, number, &unit) ?: unit_drop(unit);
    unit_free(unit);
    return rc;
}

static int drop_rest(struct catching *c, uint64_t session)
{
    return drop_unit(c, "messages/%llu", session)
           ?: drop_unit(c, "checkpoints/%llu", session)
           ?: drop_unit(c, "files/%llu", session)
           ?: drop_unit(c, "notes", 0);
}

static int do_session(struct catching *c, uint64_t session)
{
    struct unit *unit = NULL;
    struct buf project = BUF_INIT;
    int rc = begin_unit(c, "session/%llu", session, &unit)
             ?: source_session_project(&c->source, session, &project)
             ?: source_session(&c->source, session);
    rc = end_unit(unit, rc, true, project.size ? buf_view(&project) : STR(""), false);
    buf_release(&project);
    return rc;
}

/* Before the session itself says where it belongs now. */
static int drop_moved(struct catching *c, uint64_t session)
{
    struct unit *unit = NULL;
    struct buf project = BUF_INIT;
    int rc = begin_bare(c, "session/%llu", session, &unit)
                 ?: source_session_project(&c->source, session, &project);
    bool moved = !rc && unit_stamp(unit).len > 0 &&
                 !str_equal(unit_stamp(unit), buf_view(&project));
    unit_free(unit);
    buf_release(&project);
    return moved ? drop_rest(c, session) : rc;
}

static int do_messages(struct catching *c, uint64_t session, bool again)
{
    struct unit *unit = NULL;
    struct buf stamp = BUF_INIT;
    uint64_t last = 0;
    int rc = begin_bare(c, "messages/%llu", session, &unit);
    if (!rc && (again || unit_is_open(unit)))
        rc = unit_load(unit);
    if (!rc)
        rc = unit_mark_open(unit);
    if (!rc) {
        struct str old = unit_stamp(unit);
        struct reader in = reader_of(old.ptr, old.len);
        uint64_t after = old.len == 8 && !again ? read_u64(&in) : 0;
        rc = source_messages(&c->source, session, after, &last);
        buf_u64(&stamp, last);
    }
    rc = end_unit(unit, rc, again, buf_view(&stamp), false);
    buf_release(&stamp);
    return rc;
}

struct checkpoint_list {
    struct catching *c;
    struct unit *unit;
};

static int do_checkpoint(void *context, const struct checkpoint_row *row)
{
    struct checkpoint_list *list = context;
    char key[48];
    snprintf(key, sizeof key, "checkpoint/%llu", (unsigned long long)row->seq);
    if (unit_keep(list->unit, str_of(key)))
        return 0;
    if (list->c->only_gone)
        return 0;
    int rc = source_checkpoint(&list->c->source, row->seq);
    return (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND) && !list->c->source.stopped
               ? 0
               : rc;
}

static int do_checkpoints(struct catching *c, uint64_t session)
{
    struct unit *unit = NULL;
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .session = session};
    int rc = begin_unit(c, "checkpoints/%llu", session, &unit);
    struct checkpoint_list list = {c, unit};
    if (!rc)
        rc = store_each_checkpoint(c->source.store, &range, do_checkpoint, &list,
                                   c->error);
    return end_unit(unit, rc, true, STR(""), false);
}

struct file_keys {
    struct catching *c;
    uint64_t seq; /* that was looked at last */
    bool gone;    /* a checkpoint is */
};

static int look_at_file(void *context, struct str key)
{
    struct file_keys *keys = context;
    const char *slash = memchr(key.ptr + 5, '/', key.len - 5);
    struct str front = {key.ptr, slash ? (size_t)(slash - key.ptr) : key.len};
    uint64_t seq = unit_number(front, "file/");
    if (seq == keys->seq)
        return 0;
    keys->seq = seq;
    int rc = store_get_checkpoint(keys->c->source.store, seq, NULL, NULL, NULL);
    keys->gone = rc == CAIRN_ENOTFOUND;
    return keys->gone;
}

static bool read_place(const struct unit *unit, struct file_place *place)
{
    struct str old = unit_stamp(unit);
    struct reader in = reader_of(old.ptr, old.len);
    if (old.len != 8 + DIGEST_SIZE)
        return false;
    place->seq = read_u64(&in);
    memcpy(place->root.bytes, old.ptr + 8, DIGEST_SIZE);
    return true;
}

/* After a checkpoint was deleted all that are left are read again, since another one
 * may have what that had. Where nothing new is put that is left to the next time. */
static int do_files(struct catching *c, uint64_t session, bool again)
{
    struct unit *unit = NULL;
    struct buf stamp = BUF_INIT;
    struct file_place place = {.seq = 0};
    struct file_keys keys = {.c = c};
    int rc = begin_unit(c, "files/%llu", session, &unit);
    if (!rc)
        unit_each_key(unit, look_at_file, &keys);
    if (!rc && (keys.gone || !read_place(unit, &place)))
        again = true;
    if (again)
        place = (struct file_place){.seq = 0};
    if (!rc)
        rc = source_files(&c->source, session, &place);
    if (!rc && again && c->only_gone)
        rc = unit_forget_stamp(unit);
    buf_u64(&stamp, place.seq);
    buf_str(&stamp, digest_view(&place.root));
    rc = end_unit(unit, rc, again, buf_view(&stamp), false);
    buf_release(&stamp);
    return rc;
}

/* The units of a session. `again`: what was read before is read again. */
static int catch_session(struct catching *c, uint64_t session, bool again)
{
    return drop_moved(c, session)
           ?: do_session(c, session)
           ?: do_messages(c, session, again)
           ?: do_checkpoints(c, session)
           ?: do_files(c, session, again);
}

static int catch_notes(struct catching *c)
{
    char tally[128] = "";
    struct unit *unit = NULL;
    int rc = store_setting(c->source.store, "rows annotation", tally, sizeof tally,
                           c->error);
    if (rc < 0)
        return rc;
    rc = begin_unit(c, "notes", 0, &unit);
    if (!rc && tally[0] && str_equal(unit_stamp(unit), str_of(tally))) {
        unit_free(unit);
        return 0;
    }
    if (!rc)
        rc = source_notes(&c->source);
    return end_unit(unit, rc, true, str_of(tally), false);
}

static int copy_workflow(void *context, const struct run_row *row)
{
    uint64_t *workflow = context;
    *workflow = row->workflow;
    return 0;
}

static int note_owned(struct catching *c, uint64_t run, bool *owned)
{
    uint64_t workflow = 0;
    int rc = store_get_run(c->source.store, run, copy_workflow, &workflow, c->error);
    int live = rc ? 0 : owner_live(c->source.store, workflow, c->error);
    *owned = live > 0;
    return live < 0 ? live : rc;
}

/* Whether a process owns it is looked at before it is read. */
static int catch_run(struct catching *c, uint64_t run)
{
    struct unit *unit = NULL;
    struct buf project = BUF_INIT;
    bool owned = false;
    int rc = begin_unit(c, "run/%llu", run, &unit)
                 ?: source_run_project(&c->source, run, &project);
    if (!rc && unit_stamp(unit).len &&
        !str_equal(unit_stamp(unit), buf_view(&project))) {
        unit_free(unit);
        unit = NULL;
        rc = drop_unit(c, "run/%llu", run) ?: begin_unit(c, "run/%llu", run, &unit);
    }
    if (!rc)
        rc = note_owned(c, run, &owned) ?: source_run(&c->source, run);
    rc = end_unit(unit, rc, true, project.size ? buf_view(&project) : STR(""), owned);
    buf_release(&project);
    return rc;
}

/* Bringing the index up to date. The events of the store name every run and session
 * that was written to, and whatever was deleted; so what was read is the turn of these
 * events up to which the index is made. Runs that a process owns note that only once:
 * their units stay open, and are looked at each time.
 *
 * meta: "store", id and path of the store; "turn", u64. */

/* ---- What is due ---- */

struct numbers {
    uint64_t *at;
    size_t n, room;
};

struct due {
    struct catching *c;
    uint64_t turn, newest; /* of the store: indexed up to, and there */
    bool all;              /* whatever the events say */
    bool anew;             /* the index is of another store, or of what it was before */
    bool deleted;          /* something was, so that units may be gone */
    struct numbers sessions, runs;
    struct numbers open;                       /* runs whose units are open */
    struct numbers known_runs, known_sessions; /* that have units */
};

static int add(struct numbers *list, uint64_t number, struct cairn_error *error)
{
    uint64_t *at = array_room(list->at, list->n, &list->room, sizeof *at);
    if (!at)
        return error_nomem(error);
    list->at = at;
    at[list->n++] = number;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Each once, in order. */
static void settle(struct numbers *list)
{
    size_t n = 0;
    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_number);
    for (size_t i = 0; i < list->n; i++)
        if (n == 0 || list->at[n - 1] != list->at[i])
            list->at[n++] = list->at[i];
    list->n = n;
}

static int note_event(void *context, const struct event_row *row)
{
    struct due *due = context;
    struct cairn_error *error = due->c->error;
    struct reader in = reader_of(row->data.ptr, row->data.len);
    if (row->kind == EVENT_RUN_ACTIVE)
        return add(&due->runs, read_varint(&in), error);
    if (row->kind == EVENT_SESSION_TURN)
        return add(&due->sessions, read_varint(&in), error);
    if (row->kind == EVENT_REPAIRED)
        due->anew = true;
    due->deleted = true;
    return 0;
}

static int note_run(void *context, const struct run_row *row)
{
    struct due *due = context;
    return add(&due->runs, row->run, due->c->error);
}

static int note_session(void *context, const struct session_row *row)
{
    struct due *due = context;
    return add(&due->sessions, row->session, due->c->error);
}

static int list_all(struct due *due)
{
    struct cairn_store *store = due->c->source.store;
    struct cairn_error *error = due->c->error;
    struct run_filter runs = {.ascending = true};
    struct cairn_page page = {.all = true, .oldest_first = true};
    int rc = store_each_run(store, &runs, note_run, due, error);
    if (!rc) {
        rc = store_each_session(store, &page, note_session, due, NULL, error);
        if (rc == CAIRN_EDAMAGED)
            rc = 0;
    }
    return rc;
}

static int note_unit(void *context, const struct searchdb_unit *unit)
{
    struct due *due = context;
    struct cairn_error *error = due->c->error;
    uint64_t run = unit_number(unit->name, "run/");
    uint64_t session = unit_number(unit->name, "session/");
    int rc = 0;
    if (run && unit->open)
        rc = add(&due->open, run, error);
    if (run && !rc)
        rc = add(&due->known_runs, run, error);
    if (session && !rc)
        rc = add(&due->known_sessions, session, error);
    return rc;
}

/* Whose index it is: entries also have directories that follow from where it lies. */
static void name_store(const struct catching *c, struct buf *out)
{
    buf_format(out, "%s %s", store_id(c->source.store),
               cairn_store_path(c->source.store));
}

static int read_turn(struct due *due)
{
    struct catching *c = due->c;
    struct buf store = BUF_INIT, text = BUF_INIT, here = BUF_INIT;
    int rc = searchdb_meta(c->index, "store", &store, c->error)
                 ?: searchdb_meta(c->index, "turn", &text, c->error);
    name_store(c, &here);
    if (!rc)
        rc = buf_check(&here, c->error);
    struct reader in = reader_of(text.data, text.size);
    due->turn = text.size == 8 ? read_u64(&in) : 0;
    due->all = !store.size;
    due->anew = store.size && (!str_equal(buf_view(&store), buf_view(&here)) ||
                               due->turn > due->newest);
    buf_release(&store);
    buf_release(&text);
    buf_release(&here);
    return rc;
}

static int find_due(struct due *due)
{
    struct catching *c = due->c;
    struct cairn_store *store = c->source.store;
    int rc = store_event_turn(store, EVENTS_OF_STORE, &due->newest, c->error)
                 ?: read_turn(due);
    if (!rc && !due->all && !due->anew)
        rc = store_each_event(store, EVENTS_OF_STORE, due->turn, note_event, due,
                              c->error);
    if (rc == CAIRN_EDAMAGED) { /* of the store: some event may be missing */
        due->all = due->deleted = true;
        rc = 0;
    }
    if (!rc && due->all) {
        due->sessions.n = due->runs.n = 0;
        rc = list_all(due);
    }
    if (!rc)
        rc = searchdb_each_unit(c->index, note_unit, due, c->error);
    for (size_t i = 0; !rc && i < due->open.n; i++)
        rc = add(&due->runs, due->open.at[i], c->error);
    settle(&due->sessions);
    settle(&due->runs);
    return rc;
}

static void release_due(struct due *due)
{
    free(due->sessions.at);
    free(due->runs.at);
    free(due->open.at);
    free(due->known_runs.at);
    free(due->known_sessions.at);
    *due = (struct due){.c = due->c};
}

int catch_up_is_current(struct catching *c, bool *current)
{
    struct due due = {.c = c};
    int rc = find_due(&due);
    *current = !rc && !due.all && !due.anew && !due.deleted && due.turn == due.newest &&
               due.sessions.n == 0 && due.runs.n == 0;
    release_due(&due);
    return rc;
}

/* ---- What is gone ---- */

static bool has(const struct numbers *list, uint64_t number)
{
    return list->n &&
           bsearch(&number, list->at, list->n, sizeof *list->at, by_number) != NULL;
}

/* Runs and sessions that have units and no rows any more. Those that are due are looked
 * at anyway. */
static int add_gone(struct due *due)
{
    struct cairn_store *store = due->c->source.store;
    struct cairn_error *error = due->c->error;
    int rc = 0;
    for (size_t i = 0; i < due->known_runs.n && !rc; i++) {
        uint64_t run = due->known_runs.at[i];
        if (has(&due->runs, run))
            continue;
        rc = store_get_run(store, run, NULL, NULL, error);
        if (rc == CAIRN_ENOTFOUND)
            rc = add(&due->open, run, error);
    }
    for (size_t i = 0; i < due->open.n && !rc; i++)
        rc = add(&due->runs, due->open.at[i], error);
    for (size_t i = 0; i < due->known_sessions.n && !rc; i++)
        rc = add(&due->sessions, due->known_sessions.at[i], error);
    settle(&due->runs);
    settle(&due->sessions);
    return rc;
}

/* ---- All of it ---- */

static int tell(struct catching *c)
{
    c->told.done++;
    return c->progress && c->progress(c->context, &c->told);
}

static int set_turn(struct due *due)
{
    struct catching *c = due->c;
    struct buf turn = BUF_INIT, store = BUF_INIT;
    buf_u64(&turn, due->newest);
    name_store(c, &store);
    int rc = buf_check(&turn, c->error)
             ?: buf_check(&store, c->error)
             ?: searchdb_set_meta(c->index, "turn", buf_view(&turn), c->error)
             ?: searchdb_set_meta(c->index, "store", buf_view(&store), c->error);
    buf_release(&turn);
    buf_release(&store);
    return rc;
}

static int do_due(struct due *due)
{
    struct catching *c = due->c;
    int rc = 0;
    c->told.of = due->sessions.n + due->runs.n;
    for (size_t i = 0; i < due->sessions.n && !rc; i++)
        rc = catch_session(c, due->sessions.at[i], due->all) ?: tell(c);
    for (size_t i = 0; i < due->runs.n && !rc; i++)
        rc = catch_run(c, due->runs.at[i]) ?: tell(c);
    if (!rc)
        rc = catch_notes(c);
    return rc || c->only_gone ? rc : set_turn(due);
}

/* What was dropped stays in the lists of words until these are written anew: noted with
 * it, so that it is done even if this process ends before. */
static int merge(struct catching *c)
{
    struct buf pending = BUF_INIT;
    int rc = searchdb_meta(c->index, SEARCHDB_PENDING, &pending, c->error);
    if (!rc && pending.size)
        rc = searchdb_merge(c->index, c->error);
    if (!rc && pending.size)
        rc = searchdb_set_meta(c->index, SEARCHDB_PENDING, STR(""), c->error);
    buf_release(&pending);
    return rc;
}

static int begin_due(struct due *due)
{
    return searchdb_begin(due->c->index, due->c->error) ?: find_due(due);
}

int catch_up(struct catching *c)
{
    struct due due = {.c = c};
    int rc = begin_due(&due);
    if (!rc && due.anew) {
        searchdb_abort(c->index);
        release_due(&due);
        rc = searchdb_renew(c->index, c->error) ?: begin_due(&due);
    }
    if (!rc && due.deleted)
        rc = add_gone(&due);
    if (!rc)
        rc = do_due(&due) ?: merge(c);
    if (rc >= 0) {
        int end = searchdb_commit(c->index, c->error);
        rc = end ? end : rc;
    } else {
        searchdb_abort(c->index);
    }
    release_due(&due);
    return rc;
}
