/* SPDX-License-Identifier: MIT */
/* What a session refers to, and what of that is its own. */
#include "session/files.h"
#include "session/session_int.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "cairn/maintenance.h"
#include "checkpoint/nodes/nodes.h"
#include "snapshot/snapshot.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_meta.h"
#include "storage/sessions/rows_message.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Between the files of the alcove. */

/* ---- size.c: contents of the pool, and who refers to them ---- */

enum use_part { USE_FILES, USE_BOARD, USE_MESSAGES, USE_PARTS };

/* Who refers: a checkpoint of the session (its place in a list), what the session has
 * besides them, or another session. */
enum { USER_BESIDE = UINT32_MAX - 2, USER_MANY, USER_OTHER };

struct use {
    uint32_t user;     /* of the session; USER_OTHER: none */
    uint32_t follower; /* what it refers to, as a node, was added for this one */
    uint32_t base;     /* index, or UINT32_MAX */
    uint8_t part;      /* of the first user */
    bool other;        /* another session refers to it, too */
    bool other_follows;
    uint64_t size, stored; /* bytes; 0 where it is not there */
};

struct uses {
    struct cairn_store *store;
    struct use *at;
    size_t n, room;
    struct map map; /* digest to index */
    struct arena keys;
    uint64_t damaged; /* contents that are not there, or cannot be read */
    uint64_t stored;  /* what the session refers to */
    struct cairn_error *error;
};

struct use_found {
    bool fresh;      /* the session has not referred to it before */
    bool follow;     /* what it refers to is still to be added for this user */
    uint64_t size;   /* of the content */
    uint64_t stored; /* what the session has not referred to before, as stored */
};

/* ---- size.c ---- */

struct path_use {
    struct str path; /* ends with a NUL */
    uint64_t contents, logical, stored;
};

struct path_uses {
    struct path_use *at;
    size_t n, room;
    struct map map;
    struct arena keys;
};

/* ==== Contents, and who refers to them ==== */

enum { NO_BASE = UINT32_MAX };

static void uses_release(struct uses *uses)
{
    map_release(&uses->map);
    arena_release(&uses->keys);
    free(uses->at);
    uses->at = NULL;
    uses->n = uses->room = 0;
}

/* *there is false where it was there already. */
static int find_or_make(struct uses *uses, const struct digest *digest, uint32_t *at,
                        bool *made)
{
    *at = map_get(&uses->map, digest_view(digest));
    *made = *at == MAP_NONE;
    if (!*made)
        return 0;
    struct use *all = array_room(uses->at, uses->n, &uses->room, sizeof *all);
    if (!all)
        return error_nomem(uses->error);
    uses->at = all;
    *at = (uint32_t)uses->n;
    all[uses->n] =
        (struct use){.user = USER_OTHER, .follower = USER_OTHER, .base = NO_BASE};
    struct str key = arena_str(&uses->keys, digest_view(digest));
    if (!key.ptr || map_add(&uses->map, key, *at, NULL) < 0)
        return error_nomem(uses->error);
    uses->n++;
    return 0;
}

/* An entry for it and for its bases, which are few. */
static int look_up(struct uses *uses, const struct digest *digest, uint32_t *first)
{
    struct digest next = *digest;
    uint32_t above = NO_BASE, at;
    bool made = true, based = true;
    for (unsigned i = 0; i <= LIMIT_OBJECT_BASES && made && based; i++) {
        struct object_room room;
        int rc = find_or_make(uses, &next, &at, &made);
        if (!rc && made)
            rc = store_object_room(uses->store, &next, &room, uses->error);
        if (rc)
            return rc;
        if (i == 0)
            *first = at;
        if (above != NO_BASE)
            uses->at[above].base = at;
        if (!made)
            break;
        uses->damaged += !room.there;
        uses->at[at].size = room.size;
        uses->at[at].stored = room.stored;
        based = room.based;
        next = room.base;
        above = at;
    }
    return 0;
}

/* False: it was known of this one already, and so was that of its bases. */
static bool note_user(struct use *use, uint32_t user, enum use_part part, bool *fresh)
{
    *fresh = false;
    if (user == USER_OTHER) {
        bool known = use->other;
        use->other = true;
        return !known;
    }
    if (use->user == user || use->user == USER_MANY)
        return false;
    *fresh = use->user == USER_OTHER;
    use->user = *fresh ? user : USER_MANY;
    if (*fresh)
        use->part = (uint8_t)part;
    return true;
}

/* Where two users have followed it, all that it refers to has many users. */
static bool note_follower(struct use *use, uint32_t user)
{
    if (user == USER_OTHER) {
        bool known = use->other_follows;
        use->other_follows = true;
        return !known;
    }
    if (use->follower == user || use->follower == USER_MANY)
        return false;
    use->follower = use->follower == USER_OTHER ? user : USER_MANY;
    return true;
}

/* A user refers to a content, and so to what it is stored as a change of. */
static int uses_add(struct uses *uses, const struct digest *digest, bool is_node,
                    uint32_t user, enum use_part part, struct use_found *found)
{
    uint32_t first = NO_BASE;
    bool fresh;
    int rc = look_up(uses, digest, &first);
    if (rc)
        return rc;
    struct use *use = &uses->at[first];
    *found = (struct use_found){.size = use->size};
    for (uint32_t at = first; at != NO_BASE; at = uses->at[at].base) {
        if (!note_user(&uses->at[at], user, part, &fresh))
            break;
        found->stored += fresh ? uses->at[at].stored : 0;
        found->fresh = found->fresh || (fresh && at == first);
    }
    uses->stored += found->stored;
    found->follow = is_node && note_follower(use, user);
    return 0;
}

/* ==== Files ==== */

/* What snapshots of files refer to. A directory that was followed for a user is not
 * read again, so that checkpoints which have most of their files in common cost what
 * differs. */

struct directory {
    struct digest digest;
    struct str path; /* with a slash behind it, or empty */
};

struct following {
    struct uses *uses;
    uint32_t user;
    struct path_uses *paths;
    struct directory *waiting;
    size_t n, room;
    struct arena arena; /* of their paths */
};

static void path_uses_release(struct path_uses *paths)
{
    map_release(&paths->map);
    arena_release(&paths->keys);
    free(paths->at);
}

/* ---- Paths ---- */

/* Index, or MAP_NONE: out of memory. */
static uint32_t find_path(struct path_uses *paths, struct str path)
{
    uint32_t at = map_get(&paths->map, path);
    if (at != MAP_NONE)
        return at;
    struct path_use *all = array_room(paths->at, paths->n, &paths->room, sizeof *all);
    if (!all)
        return MAP_NONE;
    paths->at = all;
    at = (uint32_t)paths->n;
    all[at] = (struct path_use){.path = arena_str(&paths->keys, path)};
    if (!all[at].path.ptr || map_add(&paths->map, all[at].path, at, NULL) < 0)
        return MAP_NONE;
    paths->n++;
    return at;
}

static int note_content(struct following *f, struct str above,
                        const struct tree_entry *entry, bool fresh, uint64_t stored)
{
    struct buf name = BUF_INIT;
    if (!f->paths || (!fresh && !stored))
        return 0;
    buf_str(&name, above);
    buf_str(&name, entry->name);
    uint32_t at = name.failed ? MAP_NONE : find_path(f->paths, buf_view(&name));
    buf_release(&name);
    if (at == MAP_NONE)
        return error_nomem(f->uses->error);
    struct path_use *path = &f->paths->at[at];
    path->contents += fresh;
    path->logical += fresh ? entry->size : 0;
    path->stored += stored;
    return 0;
}

/* ---- Entries ---- */

/* What cannot be read is counted, and what it refers to is not. */
static int pass_file_damage(struct following *f, int rc, const struct cairn_error *why)
{
    if (rc != CAIRN_EDAMAGED)
        return error_set(f->uses->error, rc, "%s", why->text);
    f->uses->damaged++;
    return 0;
}

static int add_chunks(struct following *f, const struct digest *list, uint64_t *stored)
{
    struct arena arena = ARENA_INIT;
    struct chunk_list chunks = {.n = 0};
    struct cairn_error why = {0};
    int rc = snapshot_read_chunks(f->uses->store, list, &arena, &chunks, &why);
    if (rc) {
        rc = pass_file_damage(f, rc, &why);
        chunks.n = 0;
    }
    for (size_t i = 0; i < chunks.n && !rc; i++) {
        struct digest chunk;
        struct use_found found;
        memcpy(chunk.bytes, chunks.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
        rc = uses_add(f->uses, &chunk, false, f->user, USE_FILES, &found);
        *stored += rc ? 0 : found.stored;
    }
    arena_release(&arena);
    return rc;
}

static int push(struct following *f, const struct digest *digest, struct str above,
                struct str name)
{
    struct directory *waiting =
        array_room(f->waiting, f->n, &f->room, sizeof *f->waiting);
    struct buf path = BUF_INIT;
    if (!waiting)
        return error_nomem(f->uses->error);
    f->waiting = waiting;
    buf_str(&path, above);
    buf_str(&path, name);
    if (path.size)
        buf_byte(&path, '/');
    waiting[f->n++] =
        (struct directory){*digest, arena_str(&f->arena, buf_view(&path))};
    int rc = buf_check(&path, f->uses->error);
    buf_release(&path);
    return rc || !f->arena.failed ? rc : error_nomem(f->uses->error);
}

static int add_entry(struct following *f, struct str above,
                     const struct tree_entry *entry)
{
    struct use_found found;
    bool is_directory = entry->kind == TREE_DIRECTORY;
    if (!is_directory && !tree_is_file(entry))
        return 0;
    int rc = uses_add(f->uses, &entry->digest, entry->kind != TREE_FILE, f->user,
                      USE_FILES, &found);
    if (!rc && is_directory)
        return found.follow ? push(f, &entry->digest, above, entry->name) : 0;
    if (!rc && found.follow)
        rc = add_chunks(f, &entry->digest, &found.stored);
    return rc ?: note_content(f, above, entry, found.fresh, found.stored);
}

static int add_directory(struct following *f, const struct directory *directory)
{
    struct arena arena = ARENA_INIT;
    struct tree tree = {.n = 0};
    struct cairn_error why = {0};
    int rc =
        snapshot_read_tree(f->uses->store, &directory->digest, &arena, &tree, &why);
    if (rc) {
        rc = pass_file_damage(f, rc, &why);
        tree.n = 0;
    }
    for (uint32_t i = 0; i < tree.n && !rc; i++)
        rc = add_entry(f, directory->path, &tree.entries[i]);
    arena_release(&arena);
    return rc;
}

static int add_root(struct following *f, const struct digest *root)
{
    struct use_found found;
    int rc = uses_add(f->uses, root, true, f->user, USE_FILES, &found);
    return rc || !found.follow ? rc : push(f, root, STR(""), STR(""));
}

/* All that a snapshot refers to. *logical: bytes of its files. `paths` is NULL for
 * another session. */
static int uses_add_files(struct uses *uses, const struct digest *snapshot,
                          uint32_t user, struct path_uses *paths, uint64_t *logical)
{
    struct following f = {.uses = uses, .user = user, .paths = paths};
    struct snapshot_head head = {.counts = {0}};
    struct use_found found;
    struct cairn_error why = {0};
    int rc = uses_add(uses, snapshot, true, user, USE_FILES, &found);
    int bad = rc ? rc : snapshot_read(uses->store, snapshot, &f.arena, &head, &why);
    if (!rc && bad)
        rc = pass_file_damage(&f, bad, &why);
    if (!bad && found.follow)
        rc = add_root(&f, &head.root);
    while (!rc && f.n) {
        struct directory next = f.waiting[--f.n];
        rc = add_directory(&f, &next);
    }
    *logical = head.counts.bytes;
    arena_release(&f.arena);
    free(f.waiting);
    return rc;
}

/* ==== A session ==== */

/* What takes room, from the rows of a session and from those of the others. */

struct checkpoint_use {
    uint64_t seq;
    int64_t time_ns;
    struct digest digest;
    struct str message; /* ends with a NUL */
    uint64_t logical, added, alone;
};

struct sizing {
    struct live live;
    struct uses uses;
    struct path_uses paths;
    struct checkpoint_use *checkpoints; /* oldest first */
    size_t n, room;
    struct arena texts;
    uint64_t *seqs; /* of one session */
    size_t n_seqs, seqs_room;
    bool other; /* what is read now is of another session */
    struct cairn_session_size *out;
    struct cairn_error *error;
};

static void add_row(struct cairn_size *size, uint64_t logical, uint64_t stored)
{
    size->logical += logical;
    size->stored += stored;
    size->parts++;
}

/* ---- Checkpoints ---- */

static int list_record(void *context, const struct checkpoint_row *row)
{
    struct sizing *s = context;
    uint64_t *seqs = array_room(s->seqs, s->n_seqs, &s->seqs_room, sizeof *seqs);
    if (!seqs)
        return error_nomem(s->error);
    s->seqs = seqs;
    seqs[s->n_seqs++] = row->seq;
    if (!s->other)
        add_row(&s->out->records, row->record.len, row->record.len);
    return 0;
}

static enum use_part part_of(const struct section_ref *ref)
{
    return ref->kind == SECTION_FILES      ? USE_FILES
           : ref->kind == SECTION_MESSAGES ? USE_MESSAGES
                                           : USE_BOARD;
}

static struct cairn_size *size_of_part(struct cairn_session_size *out, unsigned part)
{
    return part == USE_FILES   ? &out->files
           : part == USE_BOARD ? &out->board
                               : &out->messages;
}

/* A tree of items: what is below a node that was followed for the user is known. */
struct adding {
    struct sizing *s;
    uint32_t user;
    uint64_t *logical;
};

static int add_node(void *context, const struct digest *digest, bool is_node)
{
    struct adding *a = context;
    struct use_found found = {.size = 0};
    int rc = uses_add(&a->s->uses, digest, is_node, a->user, USE_BOARD, &found);
    *a->logical += found.size;
    return rc ? rc : is_node && !found.follow;
}

static int pass_node(void *context, const struct digest *digest, int rc,
                     const char *why)
{
    struct adding *a = context;
    (void)digest;
    (void)rc;
    (void)why;
    a->s->out->damaged++;
    return 0;
}

static int add_tree(struct sizing *s, const struct section_ref *ref, uint32_t user,
                    uint64_t *logical)
{
    struct adding adding = {s, user, logical};
    *logical = 0;
    struct node_visitor visitor = {add_node, pass_node, &adding};
    return nodes_each(s->live.store, &ref->digest, &visitor, s->error);
}

/* *logical: of one section. */
static int add_section(struct sizing *s, const struct section_ref *ref, uint32_t user,
                       uint64_t *logical)
{
    struct use_found found = {.size = 0};
    int rc = section_is_tree(ref) ? add_tree(s, ref, user, logical)
             : ref->kind == SECTION_FILES
                 ? uses_add_files(&s->uses, &ref->digest, user,
                                  s->other ? NULL : &s->paths, logical)
                 : uses_add(&s->uses, &ref->digest, false, user, part_of(ref), &found);
    if (ref->kind < SECTION_NODES)
        *logical = found.size;
    if (!rc && !s->other)
        size_of_part(s->out, part_of(ref))->logical += *logical;
    return rc;
}

static int note_checkpoint(struct sizing *s, const struct sections *sections,
                           const struct sections_at *at, struct checkpoint_use **out)
{
    struct checkpoint_use *all =
        array_room(s->checkpoints, s->n, &s->room, sizeof *all);
    if (!all)
        return error_nomem(s->error);
    s->checkpoints = all;
    all[s->n] =
        (struct checkpoint_use){.seq = at->ref.seq,
                                .time_ns = at->time_ns,
                                .digest = at->ref.digest,
                                .message = arena_str(&s->texts, sections->message)};
    *out = &all[s->n++];
    return s->texts.failed ? error_nomem(s->error) : 0;
}

static int add_sections(struct sizing *s, const struct sections *sections,
                        uint32_t user, struct checkpoint_use *use)
{
    uint64_t before = s->uses.stored;
    int rc = 0;
    for (uint32_t i = 0; i < sections->n && !rc; i++) {
        uint64_t logical = 0;
        rc = add_section(s, &sections->list[i], user, &logical);
        use->logical += logical;
    }
    use->added = s->uses.stored - before;
    return rc;
}

static int add_checkpoint(struct sizing *s, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    struct checkpoint_use unused = {.seq = 0}, *use = &unused;
    struct cairn_error why = {0};
    uint32_t user = s->other ? USER_OTHER : (uint32_t)s->n;
    int rc =
        sections_read(s->live.store, s->live.sha, seq, &arena, &sections, &at, &why);
    bool damaged = rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND;
    s->out->damaged += damaged;
    if (rc && !damaged)
        error_set(s->error, rc, "%s", why.text);
    if (!rc && !s->other)
        rc = note_checkpoint(s, &sections, &at, &use);
    if (!rc)
        rc = add_sections(s, &sections, user, use);
    arena_release(&arena);
    return damaged ? 0 : rc;
}

static int add_checkpoints(struct sizing *s, uint64_t session)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .session = session};
    s->n_seqs = 0;
    int rc = store_each_checkpoint(s->live.store, &range, list_record, s, s->error);
    for (size_t i = 0; i < s->n_seqs && rc >= 0; i++)
        rc = add_checkpoint(s, s->seqs[i]);
    return rc < 0 ? rc : 0;
}

/* ---- Rows ---- */

static int add_message(void *context, const struct message_row *row)
{
    struct sizing *s = context;
    struct use_found found = {.stored = 0};
    size_t beside = row->model.len + row->file.len + row->origin.len;
    struct digest digest;
    if (!s->other)
        add_row(&s->out->messages, row->size, row->body.len + beside);
    if (row->object.len != DIGEST_SIZE || row->form == MESSAGE_LEFT_OUT)
        return 0;
    memcpy(digest.bytes, row->object.ptr, DIGEST_SIZE);
    return uses_add(&s->uses, &digest, false, s->other ? USER_OTHER : USER_BESIDE,
                    USE_MESSAGES, &found);
}

static int add_item(void *context, const struct item_row *row)
{
    struct sizing *s = context;
    add_row(&s->out->board, row->body.len, row->body.len);
    return 0;
}

static int add_log_row(void *context, const struct session_log_row *row)
{
    struct sizing *s = context;
    size_t n = row->before.len + row->after.len;
    add_row(&s->out->log, n, n);
    return 0;
}

/* Damaged rows are counted, once for each kind of them. */
static int pass_damage(struct sizing *s, int rc, const struct cairn_error *why)
{
    if (rc >= 0)
        return 0;
    if (rc != CAIRN_EDAMAGED)
        return error_set(s->error, rc, "%s", why->text);
    s->out->damaged++;
    return 0;
}

static int add_rows(struct sizing *s, uint64_t session)
{
    struct cairn_store *store = s->live.store;
    struct cairn_error why = {0};
    int rc = pass_damage(
        s, store_each_message(store, session, 0, 0, add_message, s, &why), &why);
    if (!rc && !s->other)
        rc = pass_damage(s, store_each_item(store, session, add_item, s, &why), &why);
    if (!rc && !s->other)
        rc = pass_damage(
            s, store_each_session_log(store, session, 0, false, add_log_row, s, &why),
            &why);
    return rc;
}

/* ---- All of it ---- */

struct others {
    uint64_t own, *at;
    size_t n, room;
};

static int list_other(void *context, const struct session_row *row)
{
    struct others *others = context;
    uint64_t *at = array_room(others->at, others->n, &others->room, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    others->at = at;
    if (row->session != others->own)
        at[others->n++] = row->session;
    return 0;
}

static int add_others(struct sizing *s)
{
    struct others others = {.own = s->live.row.session};
    const struct cairn_page all = {.limit = 0};
    struct cairn_error why = {0};
    int rc = store_each_session(s->live.store, &all, list_other, &others, NULL, &why);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(s->error);
    else
        rc = pass_damage(s, rc, &why);
    s->other = true;
    for (size_t i = 0; i < others.n && !rc; i++)
        rc = add_checkpoints(s, others.at[i]) ?: add_rows(s, others.at[i]);
    free(others.at);
    return rc;
}

static void sum_up(struct sizing *s)
{
    struct cairn_session_size *out = s->out;
    for (size_t i = 0; i < s->uses.n; i++) {
        const struct use *use = &s->uses.at[i];
        if (use->user == USER_OTHER)
            continue;
        struct cairn_size *size = size_of_part(out, use->part);
        size->stored += use->stored;
        size->shared += use->other ? use->stored : 0;
        size->parts++;
        if (use->user < s->n && !use->other)
            s->checkpoints[use->user].alone += use->stored;
    }
    const struct cairn_size *parts[] = {&out->files, &out->board, &out->messages,
                                        &out->log, &out->records};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        out->all.logical += parts[i]->logical;
        out->all.stored += parts[i]->stored;
        out->all.shared += parts[i]->shared;
        out->all.parts += parts[i]->parts;
    }
    out->session = s->live.row.session;
    out->budget = settings_budget(&s->live.settings);
    out->checkpoints = s->n;
    out->damaged += s->uses.damaged;
    out->paths = s->paths.n;
}

static int by_stored(const void *a, const void *b)
{
    const struct path_use *x = a, *y = b;
    if (x->stored != y->stored)
        return x->stored < y->stored ? 1 : -1;
    return str_compare(x->path, y->path);
}

static int tell_checkpoint(const struct cairn_size_request *request,
                           const struct checkpoint_use *use)
{
    struct cairn_checkpoint_size told = {.seq = use->seq,
                                         .time_ns = use->time_ns,
                                         .message = use->message.ptr,
                                         .logical = use->logical,
                                         .added = use->added,
                                         .alone = use->alone};
    checkpoint_id(NAMESPACE_DEBUG, use->seq, &use->digest, told.id);
    return request->checkpoint(request->context, &told);
}

static void tell(struct sizing *s, const struct cairn_size_request *request)
{
    int stop = request->total ? request->total(request->context, s->out) : 0;
    for (size_t i = 0;
         request->checkpoint && i < s->n && i < request->checkpoints && !stop; i++)
        stop = tell_checkpoint(request, &s->checkpoints[s->n - 1 - i]);
    if (s->paths.n)
        qsort(s->paths.at, s->paths.n, sizeof *s->paths.at, by_stored);
    for (size_t i = 0; request->file && i < s->paths.n && i < request->files && !stop;
         i++) {
        const struct path_use *path = &s->paths.at[i];
        const struct cairn_file_size told = {path->path.ptr, path->contents,
                                             path->logical, path->stored};
        stop = request->file(request->context, &told);
    }
}

static int measure(struct sizing *s)
{
    uint64_t session = s->live.row.session;
    int rc = add_checkpoints(s, session)
             ?: add_rows(s, session)
             ?: add_others(s)
             ?: store_room(s->live.store, &s->out->store_bytes, &s->out->free_bytes,
                           s->error);
    if (!rc)
        sum_up(s);
    return rc;
}

int cairn_session_size(struct cairn_store *store, const char *session,
                       const struct cairn_size_request *request,
                       struct cairn_error *error)
{
    STRUCT_TAKE(cairn_size_request, request, error);
    struct cairn_session_size out = {.session = 0};
    struct sizing s = {
        .uses = {.store = store, .error = error}, .out = &out, .error = error};
    int rc = live_read(&s.live, store, session, error) ?: measure(&s);
    rc = live_close(&s.live, rc, error);
    if (!rc)
        tell(&s, request);
    free(s.checkpoints);
    free(s.seqs);
    arena_release(&s.texts);
    path_uses_release(&s.paths);
    uses_release(&s.uses);
    return rc;
}

/* ==== How much it may be ==== */

/* Telling when a session has grown beyond its budget.
 *
 * What is stored for it is not known without counting, which takes as long as the store
 * is large. It is never more than what the database has in use: so it is counted where
 * that is above the budget, and has changed by a part of it since the last time, or the
 * session has made more than twice as many checkpoints, whose content may have been
 * there already. The setting `size.SESSION` of the store has what that was, whether the
 * session was above its budget, and the budget: "USED 1 BUDGET CHECKPOINTS". */

enum { PARTS_OF_BUDGET = 20, NOTE_BYTES = 100, KEY_BYTES = 32 };

struct note {
    uint64_t used, budget, checkpoints;
    unsigned over;
};

struct checking {
    struct cairn_store *store;
    struct note then, now;
    bool noted; /* `then` is set */
    struct cairn_budget told;
    struct cairn_error *error;
};

static void name_key(const struct checking *c, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "size.%" PRIu64, c->told.session);
}

static int read_note(struct checking *c)
{
    char key[KEY_BYTES], text[NOTE_BYTES] = "";
    name_key(c, key);
    int rc = store_setting(c->store, key, text, sizeof text, c->error);
    c->noted =
        rc > 0 && sscanf(text, "%" SCNu64 " %u %" SCNu64 " %" SCNu64, &c->then.used,
                         &c->then.over, &c->then.budget, &c->then.checkpoints) == 4;
    return rc < 0 ? rc : 0;
}

/* In a transaction of its own. Two processes may both count, and both tell it. */
static int write_note(struct checking *c, bool keep)
{
    char key[KEY_BYTES], text[NOTE_BYTES];
    name_key(c, key);
    snprintf(text, sizeof text, "%" PRIu64 " %u %" PRIu64 " %" PRIu64, c->now.used,
             c->now.over, c->now.budget, c->now.checkpoints);
    int rc = store_begin(c->store, -1, c->error);
    if (rc)
        return rc;
    rc = keep ? store_set_setting(c->store, key, text, c->error)
              : store_drop_setting(c->store, key, c->error);
    return store_end(c->store, rc, c->error);
}

/* What is known without counting. */
static int look(struct checking *c, uint64_t session)
{
    struct live live;
    uint64_t bytes = 0, free_bytes = 0;
    int rc = live_begin(&live, c->store, false, c->error);
    if (!rc) {
        char number[24];
        u64_text(session, number);
        rc = live_find(&live, number, c->error);
    }
    if (!rc) {
        c->told = (struct cairn_budget){.session = session,
                                        .budget = settings_budget(&live.settings)};
        snprintf(c->told.name, sizeof c->told.name, "%.*s", (int)live.row.name.len,
                 live.row.name.ptr);
        rc = store_room(c->store, &bytes, &free_bytes, c->error);
    }
    if (!rc)
        rc = read_note(c);
    c->now = (struct note){.used = bytes - free_bytes,
                           .budget = c->told.budget,
                           .checkpoints = live.counters.checkpoints};
    return live_close(&live, rc, c->error);
}

static bool is_new(const struct checking *c)
{
    uint64_t then = c->then.used, now = c->now.used;
    uint64_t changed = then < now ? now - then : then - now;
    return !c->noted || c->then.budget != c->now.budget ||
           changed >= c->now.budget / PARTS_OF_BUDGET ||
           c->now.checkpoints > 2 * c->then.checkpoints;
}

static int take_total(void *context, const struct cairn_session_size *size)
{
    struct checking *c = context;
    c->told.stored = size->all.stored;
    return 1;
}

/* 1: it has grown beyond its budget since it was asked last. */
static int check(struct checking *c, uint64_t session)
{
    const struct cairn_size_request request = {.total = take_total, .context = c};
    char number[24];
    int rc = look(c, session);
    if (rc)
        return rc;
    if (!c->now.budget || c->now.used <= c->now.budget)
        return c->noted ? write_note(c, false) : 0;
    if (!is_new(c))
        return 0;
    u64_text(session, number);
    rc = cairn_session_size(c->store, number, &request, c->error);
    c->now.over = c->told.stored > c->now.budget;
    if (!rc)
        rc = write_note(c, true);
    return rc ? rc : c->now.over && !(c->noted && c->then.over);
}

/* The sessions, each once. */
static uint64_t *list_changed(struct cairn_store *store, size_t *n)
{
    size_t n_done;
    const struct store_done *done = store_done(store, &n_done);
    uint64_t *sessions = calloc(n_done + 1, sizeof *sessions);
    *n = 0;
    for (size_t i = 0; i < n_done && sessions; i++) {
        size_t k = 0;
        while (k < *n && sessions[k] != done[i].session)
            k++;
        sessions[k] = done[i].session;
        *n += k == *n;
    }
    return sessions;
}

int cairn_session_budgets(struct cairn_store *store,
                          void (*over)(void *context,
                                       const struct cairn_budget *budget),
                          void *context, struct cairn_error *error)
{
    size_t n;
    int rc = 0;
    uint64_t *sessions = list_changed(store, &n);
    if (!sessions)
        return error_nomem(error);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct checking c = {.store = store, .error = error};
        rc = check(&c, sessions[i]);
        if (rc > 0)
            over(context, &c.told);
    }
    free(sessions);
    return rc < 0 ? rc : 0;
}
