/* SPDX-License-Identifier: MIT */
/* What is lost: reported to the caller, and recorded in the new store, so that it is
 * not damage there. */
#include "checkpoint/repair/repair_int.h"

#include "base/clock.h"
#include "checkpoint/nodes/nodes.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_gc.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"

#include <assert.h>
#include <stdio.h>

/* A record of which nothing is left but an attempt that names it. */
static int note_missing(void *context, uint64_t run, uint64_t seq)
{
    struct known_record lost = {
        .seq = seq, .namespace_id = NAMESPACE_WORKFLOW, .stream = run};
    return repair_add_lost(context, &lost);
}

void repair_note_object(struct repair *r, const struct salvage_row *row)
{
    const struct str bytes = row->values[1].bytes;
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    uint32_t index = (uint32_t)r->bad_objects.n;
    assert(row->table == SALVAGE_OBJECT);
    r->nomem =
        r->nomem || seqs_add(&r->bad_objects, (uint64_t)row->values[0].integer) < 0;
    if (r->nomem || bytes.len != DIGEST_SIZE)
        return;
    memcpy(digest.bytes, bytes.ptr, DIGEST_SIZE);
    digest_hex(&digest, hex);
    struct str key = arena_str(&r->arena, str_of(hex));
    r->nomem = !key.ptr || map_add(&r->bad_digests, key, index, NULL) < 0;
}

/* `text` says what it is. */
static int note_lost_content(struct repair *r, const char *hex, const char *text)
{
    struct cairn_loss loss = {.kind = CAIRN_LOSS_OBJECT};
    uint32_t index = map_get(&r->bad_digests, str_of(hex));
    assert(index == MAP_NONE || index < r->bad_objects.n);
    if (index != MAP_NONE)
        r->bad_objects.at[index] = 0; /* this is its report */
    repair_report_loss(r, &loss, "the stored content %.12s, %s", hex, text);
    return store_put_known_loss(r->store, hex, r->error);
}

static int note_lost_object(void *context, const char *hex)
{
    return note_lost_content(context, hex, "to which other rows refer");
}

enum { ROOTS_SEEN = 64 };
struct root_notes {
    struct repair *repair;
    char text[120];                 /* what the roots of the record are */
    int rc;                         /* of noting, apart from that of its check */
    struct digest seen[ROOTS_SEEN]; /* the last ones: records have much in common */
    size_t n;                       /* ever put there */
    struct node_set nodes;          /* that were looked at */
};

static bool was_seen(const struct root_notes *notes, const struct digest *digest)
{
    size_t n = notes->n < ROOTS_SEEN ? notes->n : ROOTS_SEEN;
    for (size_t i = 0; i < n; i++)
        if (digest_equal(&notes->seen[i], digest))
            return true;
    return false;
}

static int note_if_missing(struct root_notes *notes, const struct digest *digest,
                           bool is_node)
{
    struct repair *r = notes->repair;
    char hex[DIGEST_HEX_SIZE];
    bool there, known = false;
    int rc = store_has_object(r->store, digest, &there, NULL);
    if (rc || there)
        return 0;
    digest_hex(digest, hex);
    rc = store_is_known_loss(r->store, hex, &known, r->error);
    r->lost_names |= is_node;
    notes->rc = rc || known ? rc : note_lost_content(r, hex, notes->text);
    return notes->rc;
}

static int note_missing_below(void *context, const struct digest *digest, bool is_node)
{
    struct root_notes *notes = context;
    int rc = node_set_add(&notes->nodes, digest, is_node, notes->repair->error);
    if (rc < 0)
        notes->rc = rc;
    return rc < 0 ? rc : rc == 0 ? 1 : note_if_missing(notes, digest, is_node);
}

/* It was noted as missing, or the damage is reported by itself. */
static int pass_node(void *context, const struct digest *digest, int rc,
                     const char *why)
{
    (void)context;
    (void)digest;
    (void)rc;
    (void)why;
    return 0;
}

static int note_missing_root(void *context, const struct digest *digest, bool is_node)
{
    struct root_notes *notes = context;
    struct node_visitor visitor = {note_missing_below, pass_node, notes};
    if (is_node)
        return nodes_each(notes->repair->store, digest, &visitor, notes->repair->error);
    if (was_seen(notes, digest))
        return 0;
    notes->seen[notes->n++ % ROOTS_SEEN] = *digest;
    return note_if_missing(notes, digest, false);
}

/* Objects that records cannot be used without: graphs of runs whose rows are lost, and
 * sections of sessions. The first record that needs one is named. */
static int note_roots(void *context, const struct checkpoint_row *row)
{
    struct root_notes *notes = context;
    struct repair *r = notes->repair;
    const struct payload_kind *kind = kind_of(r->options->kinds, row->namespace_id);
    char number[CAIRN_ID_MAX];
    struct payload_check check = {
        .roots = ROOTS_NEEDED, .root = note_missing_root, .context = notes};
    struct sound_record record;
    if (row->kind != RECORD_FULL || !kind || row_check(row, r->sha, &record, NULL))
        return 0;
    checkpoint_number(row->namespace_id, row->seq, number);
    snprintf(notes->text, sizeof notes->text, "the %s of checkpoint %s",
             kind->root_noun, number);
    int rc = kind->check(&record, &check, NULL);
    return notes->rc ? notes->rc : rc == CAIRN_ENOMEM ? error_nomem(r->error) : 0;
}

static int report_objects(struct repair *r)
{
    struct checkpoint_range all = {0};
    struct root_notes notes = {.repair = r};
    int rc = store_each_lost_object(r->store, note_lost_object, r, r->error);
    if (!rc)
        rc = store_each_checkpoint(r->store, &all, note_roots, &notes, r->error);
    node_set_release(&notes.nodes);
    for (size_t i = 0; i < r->bad_objects.n && rc >= 0; i++)
        if (r->bad_objects.at[i]) {
            struct cairn_loss loss = {.kind = CAIRN_LOSS_OBJECT};
            repair_report_loss(
                r, &loss, "stored content number %llu, to which no other row refers",
                (unsigned long long)r->bad_objects.at[i]);
        }
    return rc;
}

static int report_records(struct repair *r)
{
    assert(r->lost_seqs.n == r->n_lost);
    int rc = 0;
    for (size_t i = 0; i < r->n_lost && !rc; i++) {
        const struct known_record *lost = &r->lost[i];
        struct cairn_loss loss = {.kind = CAIRN_LOSS_CHECKPOINT, .seq = lost->seq};
        if (lost->namespace_id == NAMESPACE_WORKFLOW)
            loss.run = lost->stream;
        else
            r->lost_names = true;
        checkpoint_number(lost->namespace_id, lost->seq, loss.id);
        repair_report_loss(r, &loss, "checkpoint %s of %s %llu", loss.id,
                           repair_stream_noun(r, lost->namespace_id),
                           (unsigned long long)lost->stream);
        rc = store_put_quarantine(r->store, r->lost[i].seq, clock_utc_ns(),
                                  "lost at a repair", r->error);
    }
    return rc;
}

struct lost_ends {
    struct repair *repair;
    uint64_t run;
    const struct states *states;
};

/* A task whose completion only a lost record held: it runs again. */
static int report_lost_end(void *context, const struct attempt_row *row)
{
    struct lost_ends *ends = context;
    assert(ends->states && ends->states->outcome);
    if (row->outcome != CAIRN_COMPLETED || row->task >= ends->states->n ||
        ends->states->outcome[row->task] != CAIRN_PENDING ||
        (row->flags & ATTEMPT_UNDO))
        return 0;
    if (!seqs_has(&ends->repair->lost_seqs, row->checkpoint))
        return 0;
    struct cairn_loss loss = {
        .kind = CAIRN_LOSS_TASK, .run = ends->run, .task = row->task};
    repair_report_loss(
        ends->repair, &loss,
        "the end of task number %u of run %llu: it counts as interrupted and "
        "runs again when the run is resumed (`once`: it is unknown, and `cairn "
        "resolve RUN TASK` decides)",
        row->task, (unsigned long long)ends->run);
    return 0;
}

static int report_tasks(void *context, const struct run_row *row)
{
    struct repair *r = context;
    struct recovery recovery;
    struct lost_ends ends = {.repair = r, .run = row->run};
    bool touched = false;
    for (size_t i = 0; i < r->n_lost; i++)
        touched = touched || (r->lost[i].namespace_id == NAMESPACE_WORKFLOW &&
                              r->lost[i].stream == row->run);
    assert(r->n_lost == r->lost_seqs.n);
    if (!touched || outcomes_recover(r->store, r->sha, row->run, &recovery, NULL))
        return 0;
    ends.states = &recovery.states;
    int rc = store_each_run_attempt(r->store, row->run, row->gen, false,
                                    report_lost_end, &ends, r->error);
    recovery_release(&recovery);
    return rc;
}

/* Where the column and the header of a lost record name different namespaces, a record
 * that names it as its parent decides, else the namespace in which its stream has other
 * records. If both have, the column is right: the header is among damaged bytes. */
static void settle_namespace(const struct repair *r, struct known_record *lost)
{
    bool known = !digest_is_none(&lost->digest);
    bool by_column = false, by_header = false;
    assert(lost->other_namespace && lost->other_namespace != lost->namespace_id);
    for (size_t i = 0; i < r->n_links; i++) {
        const struct chain_link *link = &r->links[i];
        uint8_t namespace_id = link->record.namespace_id;
        if (known && digest_equal(&link->parent_digest, &lost->digest)) {
            by_header = namespace_id == lost->other_namespace;
            by_column = !by_header;
            break;
        }
        if (link->record.stream != lost->stream)
            continue;
        by_column = by_column || namespace_id == lost->namespace_id;
        by_header = by_header || namespace_id == lost->other_namespace;
    }
    if (by_header && !by_column)
        lost->namespace_id = lost->other_namespace;
    lost->other_namespace = 0;
}

int repair_find_losses(struct repair *r)
{
    for (size_t i = 0; i < r->n_lost; i++)
        if (r->lost[i].other_namespace)
            settle_namespace(r, &r->lost[i]);
    int rc = store_each_lost_checkpoint(r->store, note_missing, r, r->error);
    if (!rc)
        rc = repair_forget_found(r);
    return rc ? rc : report_records(r);
}

int repair_report_losses(struct repair *r)
{
    struct run_filter every = {.ascending = true};
    int rc = store_each_run(r->store, &every, report_tasks, r, r->error);
    rc = rc < 0 ? rc : report_objects(r);
    return !rc && r->lost_names ? store_gc_hold(r->store, r->error) : rc;
}
