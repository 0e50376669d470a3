/* SPDX-License-Identifier: MIT */
/* What a repair has lost: told to the caller, and remembered in the new store, so that
 * it is no damage there. */
#include "checkpoint/repair/repair_int.h"

#include "base/clock.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"

#include <assert.h>
#include <stdio.h>

/* An attempt whose end stands in a record that is gone without a trace. */
static int note_missing(void *context, uint64_t run, uint64_t seq)
{
    struct known_record lost = {
        .seq = seq, .namespace_id = NAMESPACE_WORKFLOW, .stream = run};
    return repair_lose(context, &lost);
}

void repair_note_object(struct repair *r, const struct salvage_row *row)
{
    const struct str bytes = row->values[1].bytes;
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    uint32_t place = (uint32_t)r->bad_objects.n;
    r->nomem =
        r->nomem || seqs_add(&r->bad_objects, (uint64_t)row->values[0].integer) < 0;
    if (r->nomem || bytes.len != DIGEST_SIZE)
        return;
    memcpy(digest.bytes, bytes.ptr, DIGEST_SIZE);
    digest_hex(&digest, hex);
    struct str key = arena_str(&r->arena, str_of(hex));
    r->nomem = !key.ptr || map_add(&r->bad_digests, key, place, NULL) < 0;
}

static int note_lost_object(void *context, const char *hex)
{
    struct repair *r = context;
    struct cairn_loss loss = {.kind = CAIRN_LOSS_OBJECT};
    uint32_t place = map_get(&r->bad_digests, str_of(hex));
    assert(place == MAP_NONE || place < r->bad_objects.n);
    if (place != MAP_NONE)
        r->bad_objects.at[place] = 0;
    repair_tell(r, &loss, "the stored content %.12s, to which other rows refer", hex);
    return store_put_known_loss(r->store, hex, r->error);
}

struct root_notes {
    struct repair *repair;
    int rc; /* of what was noted; apart from that of the record's check */
};

static int note_missing_root(void *context, const struct digest *digest)
{
    struct root_notes *notes = context;
    struct repair *r = notes->repair;
    struct buf content = BUF_INIT;
    char hex[DIGEST_HEX_SIZE];
    bool known = false;
    int rc = store_get_object(r->store, digest, &content, NULL);
    buf_release(&content);
    if (rc != CAIRN_ENOTFOUND)
        return 0;
    digest_hex(digest, hex);
    rc = store_is_known_loss(r->store, hex, &known, r->error);
    notes->rc = rc || known ? rc : note_lost_object(r, hex);
    return notes->rc;
}

/* Objects that records cannot be used without: graphs of runs whose rows are lost. */
static int note_roots(void *context, const struct checkpoint_row *row)
{
    struct repair *r = context;
    const struct payload_kind *kind = kind_of(r->options->kinds, row->namespace_id);
    struct root_notes notes = {.repair = r};
    struct payload_check check = {
        .roots = ROOTS_NEEDED, .root = note_missing_root, .context = &notes};
    struct sound_record record;
    if (row->kind != RECORD_FULL || !kind || row_check(row, r->sha, &record, NULL))
        return 0;
    int rc = kind->check(&record, &check, NULL);
    return notes.rc ? notes.rc : rc == CAIRN_ENOMEM ? error_nomem(r->error) : 0;
}

static int tell_objects(struct repair *r)
{
    struct checkpoint_range all = {0};
    int rc = store_each_lost_object(r->store, note_lost_object, r, r->error);
    if (!rc)
        rc = store_each_checkpoint(r->store, &all, note_roots, r, r->error);
    for (size_t i = 0; i < r->bad_objects.n && rc >= 0; i++)
        if (r->bad_objects.at[i]) {
            struct cairn_loss loss = {.kind = CAIRN_LOSS_OBJECT};
            repair_tell(r, &loss,
                        "stored content number %llu, to which no other row refers",
                        (unsigned long long)r->bad_objects.at[i]);
        }
    return rc;
}

static int tell_records(struct repair *r)
{
    assert(r->lost_seqs.n == r->n_lost);
    int rc = 0;
    for (size_t i = 0; i < r->n_lost && !rc; i++) {
        const struct known_record *lost = &r->lost[i];
        struct cairn_loss loss = {.kind = CAIRN_LOSS_CHECKPOINT, .seq = lost->seq};
        if (lost->namespace_id == NAMESPACE_WORKFLOW)
            loss.run = lost->stream;
        checkpoint_number(lost->namespace_id, lost->seq, loss.id);
        repair_tell(r, &loss, "checkpoint %s of %s %llu", loss.id,
                    repair_stream_noun(r, lost->namespace_id),
                    (unsigned long long)lost->stream);
        rc = store_put_quarantine(r->store, r->lost[i].seq, clock_utc_ns(),
                                  "lost at a repair", r->error);
    }
    return rc;
}

struct fallen {
    struct repair *repair;
    uint64_t run;
    const struct states *states;
};

/* Recorded as completed by a record that is lost: it runs again. */
static int note_fallen(void *context, const struct attempt_row *row)
{
    struct fallen *f = context;
    assert(f->states && f->states->outcome);
    if (row->outcome != CAIRN_COMPLETED || row->task >= f->states->n ||
        f->states->outcome[row->task] != CAIRN_PENDING || (row->flags & ATTEMPT_UNDO))
        return 0;
    if (!seqs_has(&f->repair->lost_seqs, row->checkpoint))
        return 0;
    struct cairn_loss loss = {
        .kind = CAIRN_LOSS_TASK, .run = f->run, .task = row->task};
    repair_tell(f->repair, &loss,
                "the end of task number %u of run %llu: it counts as interrupted and "
                "runs again when the run is resumed (`once`: it is unknown, and `cairn "
                "resolve` decides)",
                row->task, (unsigned long long)f->run);
    return 0;
}

static int tell_tasks(void *context, const struct run_row *row)
{
    struct repair *r = context;
    struct recovery recovery;
    struct fallen fallen = {.repair = r, .run = row->run};
    bool touched = false;
    for (size_t i = 0; i < r->n_lost; i++)
        touched = touched || (r->lost[i].namespace_id == NAMESPACE_WORKFLOW &&
                              r->lost[i].stream == row->run);
    if (!touched || outcomes_recover(r->store, r->sha, row->run, &recovery, NULL))
        return 0;
    fallen.states = &recovery.states;
    int rc = store_each_run_attempt(r->store, row->run, row->gen, false, note_fallen,
                                    &fallen, r->error);
    recovery_release(&recovery);
    return rc;
}

int repair_find_losses(struct repair *r)
{
    int rc = store_each_lost_checkpoint(r->store, note_missing, r, r->error);
    if (!rc)
        rc = repair_forget_found(r);
    return rc ? rc : tell_records(r);
}

int repair_tell_losses(struct repair *r)
{
    struct run_filter every = {.ascending = true};
    int rc = store_each_run(r->store, &every, tell_tasks, r, r->error);
    return rc < 0 ? rc : tell_objects(r);
}
