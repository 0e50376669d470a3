/* SPDX-License-Identifier: MIT */
/* Deleting content that nothing refers to; storage/rows_gc.c says why this is safe. A
 * row or record that cannot be read may refer to anything: where there is one, nothing
 * is deleted. */
#include "checkpoint/change_int.h"
#include "checkpoint/gc/gc_int.h"
#include "checkpoint/nodes/nodes.h"

#include "base/limits.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_gc.h"
#include "storage/rows_lost.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

enum {
    ROWS_AT_ONCE = 4096,
    OBJECTS_AT_ONCE = 1024,
    OBJECTS_LAST = 1 + LIMIT_OBJECT_BASES /* the newest one and its bases */
};

/* ---- Marks ---- */

/* Where two digests share their first 8 bytes, both objects are kept: no harm. */

static uint64_t mark_of(const struct digest *digest)
{
    uint64_t mark;
    memcpy(&mark, digest->bytes, sizeof mark);
    return mark ? mark : 1;
}

static void put_mark(uint64_t *marks, size_t room, uint64_t mark)
{
    size_t i = mark & (room - 1);
    assert(mark != 0 && (room & (room - 1)) == 0);
    while (marks[i])
        i = (i + 1) & (room - 1);
    marks[i] = mark;
}

static bool is_marked(const struct gc *gc, const struct digest *digest)
{
    uint64_t mark = mark_of(digest);
    assert(gc->n_marks <= gc->mark_room);
    for (size_t i = mark & (gc->mark_room - 1); gc->mark_room && gc->marks[i];
         i = (i + 1) & (gc->mark_room - 1))
        if (gc->marks[i] == mark)
            return true;
    return false;
}

static int grow_marks(struct gc *gc)
{
    size_t room = gc->mark_room ? 2 * gc->mark_room : 1024;
    uint64_t *marks = calloc(room, sizeof *marks);
    if (!marks)
        return error_nomem(gc->error);
    for (size_t i = 0; i < gc->mark_room; i++)
        if (gc->marks[i])
            put_mark(marks, room, gc->marks[i]);
    free(gc->marks);
    assert(room > gc->n_marks);
    gc->marks = marks;
    gc->mark_room = room;
    return 0;
}

static int mark_digest(struct gc *gc, const struct digest *digest)
{
    if (is_marked(gc, digest))
        return 0;
    int rc = 2 * gc->n_marks >= gc->mark_room ? grow_marks(gc) : 0;
    if (rc)
        return rc;
    assert(2 * gc->n_marks < gc->mark_room);
    put_mark(gc->marks, gc->mark_room, mark_of(digest));
    gc->n_marks++;
    return 0;
}

/* ---- What rows and records refer to ---- */

static int mark_used(void *context, uint64_t run, const struct digest *digest)
{
    struct gc *gc = context;
    return gc->dry_run && gc_is_chosen(gc, run) ? 0 : mark_digest(gc, digest);
}

/* A node may have the same bytes as content that is marked already: what was followed
 * is remembered by itself. */
static int mark_reached(void *context, const struct digest *digest, bool is_node)
{
    struct gc *gc = context;
    int rc = mark_digest(gc, digest);
    if (rc || !is_node)
        return rc;
    rc = node_set_add(&gc->nodes, digest, true, gc->error);
    return rc < 0 ? rc : rc == 0;
}

/* Of what a repair knows to be lost nothing more can be reached. */
static int pass_lost_node(void *context, const struct digest *digest, int rc,
                          const char *why)
{
    struct gc *gc = context;
    char hex[DIGEST_HEX_SIZE];
    bool known = false;
    digest_hex(digest, hex);
    if (rc == CAIRN_ENOTFOUND) {
        int failed = store_is_known_loss(gc->store, hex, &known, gc->error);
        if (failed || known)
            return failed;
    }
    return error_set(gc->error, CAIRN_EDAMAGED,
                     "no content was deleted, because the list %.12s, which may refer "
                     "to any, cannot be read: %.300s\n`cairn doctor --repair` takes "
                     "out what is damaged",
                     hex, why);
}

static int mark_root(void *context, const struct digest *digest, bool is_node)
{
    struct gc *gc = context;
    struct node_visitor visitor = {mark_reached, pass_lost_node, gc};
    if (!is_node)
        return mark_digest(gc, digest);
    int rc = nodes_each(gc->store, digest, &visitor, gc->error);
    gc->node_failed = rc != 0;
    return rc;
}

struct record_scan {
    struct gc *gc;
    uint64_t last;
    uint32_t rows;
};

/* Nothing here can tell what a record of an unknown kind refers to. */
static int refuse_unknown(const struct gc *gc, const struct checkpoint_row *row)
{
    char id[CAIRN_ID_MAX];
    assert(!kind_of(gc->kinds, row->namespace_id));
    row_id(row, id);
    return error_set(gc->error, CAIRN_ENEWER,
                     "no content was deleted, because checkpoint %s, which may refer "
                     "to any, is of a kind that this release does not know: use the "
                     "release that wrote it",
                     id);
}

/* A matching SHA-256 is enough: the HMAC tells nothing about what is referred to. */
static int mark_row(void *context, const struct checkpoint_row *row)
{
    struct record_scan *scan = context;
    struct gc *gc = scan->gc;
    const struct payload_kind *kind = kind_of(gc->kinds, row->namespace_id);
    struct payload_check check = {.roots = ROOTS_ALL, .root = mark_root, .context = gc};
    struct sound_record record;
    struct cairn_error reason = {0};
    assert(scan->rows < ROWS_AT_ONCE);
    scan->last = row->seq;
    scan->rows++;
    if (gc->dry_run && row->namespace_id == NAMESPACE_WORKFLOW &&
        gc_is_chosen(gc, row->stream))
        return 0;
    int rc = row_check_bytes(row, gc->sha, &record, &reason);
    if (!rc && !kind)
        return refuse_unknown(gc, row);
    if (!rc)
        rc = kind->check(&record, &check, &reason);
    if (!rc || rc == CAIRN_ENOMEM)
        return rc ? error_nomem(gc->error) : 0;
    if (gc->node_failed) /* which says why */
        return rc;
    return error_set(gc->error, rc,
                     "no content was deleted, because checkpoint %llu, which may refer "
                     "to any, cannot be read: %.300s\n`cairn doctor --repair` takes "
                     "out what is damaged",
                     (unsigned long long)row->seq, reason.text);
}

/* Each part is a read transaction of its own, so that the write-ahead log can be
 * emptied in between. */
static int mark_records(struct gc *gc)
{
    struct record_scan scan = {.gc = gc};
    int rc = 0;
    do {
        struct checkpoint_range range = {.first = scan.last + 1, .limit = ROWS_AT_ONCE};
        scan.rows = 0;
        rc = store_each_checkpoint(gc->store, &range, mark_row, &scan, gc->error);
    } while (!rc && scan.rows == ROWS_AT_ONCE);
    return rc;
}

/* What deleted records added up to, where others need it. */
static int mark_change(void *context, const struct tombstone_row *row,
                       const struct sound_record *record)
{
    struct gc *gc = context;
    const struct payload_kind *kind = kind_of(gc->kinds, row->namespace_id);
    struct payload_check check = {.roots = ROOTS_ALL, .root = mark_root, .context = gc};
    struct cairn_error reason = {0};
    int rc = kind ? kind->check(record, &check, &reason) : 0;
    if (!kind)
        return error_set(gc->error, CAIRN_ENEWER,
                         "no content was deleted, because a deleted checkpoint, %llu, "
                         "is of a kind that this release does not know",
                         (unsigned long long)row->last);
    if (!rc || gc->node_failed)
        return rc;
    return error_set(gc->error, rc, "%s", reason.text);
}

static int mark_tombstone(struct gc *gc, const struct tombstone_row *row)
{
    if (row->change_bytes == 0 ||
        (gc->dry_run && row->namespace_id == NAMESPACE_WORKFLOW &&
         gc_is_chosen(gc, row->stream)))
        return 0;
    int rc = change_read(gc->store, row, mark_change, gc, gc->error);
    if (rc == CAIRN_EDAMAGED)
        error_context(gc->error,
                      "no content was deleted, because deleted checkpoints, which may "
                      "refer to any, cannot be read");
    return rc;
}

/* In one transaction, since ranges are joined; after the records, since it is from
 * these that they are made. The HMAC tells nothing about what is referred to. */
static int mark_tombstones(struct gc *gc)
{
    struct tombstones all = {0};
    int rc = store_begin_read(gc->store, gc->error);
    if (rc)
        return rc;
    struct hmac_key *key = store_swap_key(gc->store, NULL);
    rc = tombstones_load_all(gc->store, &all, gc->error);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = mark_tombstone(gc, &all.at[i]);
    store_swap_key(gc->store, key);
    store_end_read(gc->store);
    tombstones_release(&all);
    return rc;
}

static int mark_body(void *context, const struct digest *digest)
{
    return mark_digest(context, digest);
}

static int mark_attempts(struct gc *gc)
{
    struct attempt_key from = {0};
    uint32_t rows;
    int rc;
    do
        rc = store_each_used_object(gc->store, &from, ROWS_AT_ONCE, mark_used, gc,
                                    &rows, gc->error);
    while (!rc && rows == ROWS_AT_ONCE);
    return rc;
}

/* Rows before records; that order makes no difference to the result. */
static int mark_all(struct gc *gc)
{
    int rc = store_each_used_graph(gc->store, mark_used, gc, gc->error);
    if (!rc)
        rc = mark_attempts(gc);
    if (!rc)
        rc = store_each_message_object(gc->store, mark_body, gc, gc->error);
    if (rc == CAIRN_EDAMAGED)
        error_context(gc->error, "no content was deleted");
    if (!rc)
        rc = mark_records(gc);
    return rc ? rc : mark_tombstones(gc);
}

/* ---- Sweeping ---- */

/* By descending id, so that a base is seen after all that was made from it. The newest
 * object and its bases go last (storage/rows_gc.c says why). What is held stays with
 * its bases, whose ids are lower. */
struct object_sweep {
    struct gc *gc;
    uint64_t next; /* id to go on from, 0: none */
    uint32_t rows;
    struct object_size garbage[OBJECTS_AT_ONCE], last[OBJECTS_LAST];
    uint32_t n, n_last;
    struct digest
        rebased[OBJECTS_AT_ONCE]; /* which stay, and whose bases are garbage */
    uint32_t n_rebased;
};

static bool goes_last(const struct object_sweep *s, const struct object_size *object)
{
    if (s->n_last == 0)
        return object->id == s->gc->up_to;
    return s->n_last < OBJECTS_LAST && object->id == s->last[s->n_last - 1].base;
}

/* What is kept gets another base where its own is garbage: that may hold what somebody
 * has deleted. */
static int keep_object(struct object_sweep *s, const struct object_size *object)
{
    struct gc *gc = s->gc;
    gc->result.kept_objects += object->sound;
    if (object->base && object->base <= gc->held)
        return 0;
    if (!object->based || is_marked(gc, &object->base_digest))
        return 0;
    if (!object->sound)
        return mark_digest(gc, &object->base_digest);
    s->rebased[s->n_rebased++] = object->digest;
    return 0;
}

static int note_object(void *context, const struct object_size *object)
{
    struct object_sweep *s = context;
    assert(s->n < OBJECTS_AT_ONCE && s->n <= s->rows);
    assert(s->rows == 0 || object->id <= s->next);
    s->next = object->id - 1;
    s->rows++;
    if (!object->sound || is_marked(s->gc, &object->digest))
        return keep_object(s, object);
    if (object->id <= s->gc->held) {
        s->gc->result.held_objects++;
        s->gc->result.held_bytes += object->bytes;
        return keep_object(s, object);
    }
    if (goes_last(s, object))
        s->last[s->n_last++] = *object;
    else
        s->garbage[s->n++] = *object;
    return 0;
}

static void count_object(struct gc *gc, const struct object_size *object, bool deleted)
{
    gc->result.objects += deleted;
    gc->result.freed_bytes += deleted ? object->bytes : 0;
    gc->result.kept_objects += !deleted;
}

static int delete_garbage_slice(struct gc *gc, const struct object_size *garbage,
                                uint32_t n, uint32_t *next)
{
    assert(*next < n && n <= OBJECTS_AT_ONCE);
    int rc = gc_begin_slice(gc);
    if (rc)
        return rc;
    uint32_t from = *next;
    bool deleted[OBJECTS_AT_ONCE];
    for (; *next < n && !rc && !gc_slice_full(gc); ++*next)
        rc =
            store_delete_object(gc->store, &garbage[*next], &deleted[*next], gc->error);
    rc = gc_end_slice(gc, rc);
    for (; !rc && from < *next; from++)
        count_object(gc, &garbage[from], deleted[from]);
    return rc;
}

static int delete_garbage(struct gc *gc, const struct object_size *garbage, uint32_t n)
{
    int rc = 0;
    for (uint32_t next = 0; next < n && !rc;) {
        if (!gc->dry_run)
            rc = delete_garbage_slice(gc, garbage, n, &next);
        else
            count_object(gc, &garbage[next++], true);
    }
    return rc;
}

static bool is_kept(void *context, const struct digest *digest)
{
    return is_marked(context, digest);
}

/* Of one that is damaged, or was changed meanwhile, the base stays as long as it does:
 * the statement that deletes looks for that. */
static int rebase_some(struct object_sweep *s)
{
    struct gc *gc = s->gc;
    int rc = 0;
    for (uint32_t next = 0; next < s->n_rebased && !gc->dry_run && !rc;) {
        bool done;
        rc = gc_begin_slice(gc);
        if (rc)
            return rc;
        do
            rc = store_rebase_object(gc->store, &s->rebased[next++], is_kept, gc, &done,
                                     gc->error);
        while (!rc && next < s->n_rebased && !gc_slice_full(gc));
        rc = gc_end_slice(gc, rc);
    }
    return rc;
}

static int sweep_objects(struct gc *gc)
{
    struct object_sweep *s = calloc(1, sizeof *s);
    int rc = 0;
    if (!s)
        return error_nomem(gc->error);
    s->gc = gc;
    s->next = gc->up_to;
    do {
        s->rows = s->n = s->n_rebased = 0;
        rc = store_each_object(gc->store, s->next, OBJECTS_AT_ONCE, note_object, s,
                               gc->error);
        if (!rc)
            rc = rebase_some(s);
        if (!rc)
            rc = delete_garbage(gc, s->garbage, s->n);
    } while (!rc && s->rows == OBJECTS_AT_ONCE && s->next);
    if (!rc)
        rc = delete_garbage(gc, s->last, s->n_last);
    free(s);
    return rc;
}

/* Whoever lets go of what is held has it deleted now, and later what is like it. */
static int look_at_held(struct gc *gc)
{
    int rc = store_gc_held(gc->store, &gc->held, gc->error);
    if (rc || !gc->held || !gc->options->forget_lost)
        return rc;
    gc->held = 0;
    if (gc->dry_run)
        return 0;
    rc = gc_begin_slice(gc);
    return rc ? rc : gc_end_slice(gc, store_gc_let_go(gc->store, gc->error));
}

int gc_remove_objects(struct gc *gc)
{
    assert(gc->n_marks == 0 && !gc->in_slice);
    int rc = mark_all(gc);
    if (!rc)
        rc = look_at_held(gc);
    return rc ? rc : sweep_objects(gc);
}
