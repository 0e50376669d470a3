/* SPDX-License-Identifier: MIT */
/* The units of the index, each brought up to date by itself:
 *
 *     session/S      the session and its board; stamp: the project
 *     messages/S     stamp: u64 number of the last one
 *     checkpoints/S  what they say
 *     files/S        stamp: u64 seq, 32 bytes root of the newest one that was read
 *     notes          labels and notes of all checkpoints; stamp: their tally
 *     run/R          the run, its tasks and logs; stamp: the project */
#include "search/search_int.h"

#include "base/error.h"
#include "base/reader.h"
#include "runs/owner.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_meta.h"
#include "storage/rows_run.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t unit_number(struct str name, const char *start)
{
    size_t n = strlen(start);
    char text[24];
    if (name.len <= n || name.len - n >= sizeof text || memcmp(name.ptr, start, n) != 0)
        return 0;
    memcpy(text, name.ptr + n, name.len - n);
    text[name.len - n] = 0;
    return strtoull(text, NULL, 10);
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
    int rc = begin_bare(c, format, number, unit);
    return rc ? rc : unit_load(*unit);
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
    int rc = begin_unit(c, format, number, &unit);
    if (!rc)
        rc = unit_drop(unit);
    unit_free(unit);
    return rc;
}

static int drop_rest(struct catching *c, uint64_t session)
{
    int rc = drop_unit(c, "messages/%llu", session);
    if (!rc)
        rc = drop_unit(c, "checkpoints/%llu", session);
    if (!rc)
        rc = drop_unit(c, "files/%llu", session);
    return rc ? rc : drop_unit(c, "notes", 0);
}

static int do_session(struct catching *c, uint64_t session)
{
    struct unit *unit = NULL;
    struct buf project = BUF_INIT;
    int rc = begin_unit(c, "session/%llu", session, &unit);
    if (!rc)
        rc = source_session_project(&c->source, session, &project);
    if (!rc)
        rc = source_session(&c->source, session);
    rc = end_unit(unit, rc, true, project.size ? buf_view(&project) : STR(""), false);
    buf_release(&project);
    return rc;
}

/* Before the session itself says where it belongs now. */
static int drop_moved(struct catching *c, uint64_t session)
{
    struct unit *unit = NULL;
    struct buf project = BUF_INIT;
    int rc = begin_bare(c, "session/%llu", session, &unit);
    if (!rc)
        rc = source_session_project(&c->source, session, &project);
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

int catch_session(struct catching *c, uint64_t session, bool again)
{
    int rc = drop_moved(c, session);
    if (!rc)
        rc = do_session(c, session);
    if (!rc)
        rc = do_messages(c, session, again);
    if (!rc)
        rc = do_checkpoints(c, session);
    return rc ? rc : do_files(c, session, again);
}

int catch_notes(struct catching *c)
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
int catch_run(struct catching *c, uint64_t run)
{
    struct unit *unit = NULL;
    struct buf project = BUF_INIT;
    bool owned = false;
    int rc = begin_unit(c, "run/%llu", run, &unit);
    if (!rc)
        rc = source_run_project(&c->source, run, &project);
    if (!rc && unit_stamp(unit).len &&
        !str_equal(unit_stamp(unit), buf_view(&project))) {
        unit_free(unit);
        unit = NULL;
        rc = drop_unit(c, "run/%llu", run);
        if (!rc)
            rc = begin_unit(c, "run/%llu", run, &unit);
    }
    if (!rc)
        rc = note_owned(c, run, &owned);
    if (!rc)
        rc = source_run(&c->source, run);
    rc = end_unit(unit, rc, true, project.size ? buf_view(&project) : STR(""), owned);
    buf_release(&project);
    return rc;
}
