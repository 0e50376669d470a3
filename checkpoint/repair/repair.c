/* SPDX-License-Identifier: MIT */
/* What is lost: reported to the caller, and recorded in the new store, so that it is
 * not damage there. */
#include "checkpoint/repair/repair.h"

#include "checkpoint/messages/line.h"
#include "checkpoint/nodes/nodes.h"
#include "checkpoint/repair/repair_int.h"
#include "checkpoint/thread_index.h"
#include "checkpoint/verify/verify.h"

#include "base/clock.h"
#include "base/memory.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_gc.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A record of which nothing is left but an attempt that names it. */
static int note_missing(void *context, uint64_t run, uint64_t seq)
{
    struct known_record lost = {
        .seq = seq, .namespace_id = NAMESPACE_WORKFLOW, .stream = run};
    return repair_add_lost(context, &lost);
}

static void repair_note_object(struct repair *r, const struct salvage_row *row)
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

static int note_log(void *context, uint64_t run, const struct digest *list)
{
    struct root_notes *notes = context;
    snprintf(notes->text, sizeof notes->text, "of the log of an attempt of run %llu",
             (unsigned long long)run);
    int rc = note_missing_root(notes, list, true);
    return notes->rc ? notes->rc : rc;
}

static int report_objects(struct repair *r)
{
    struct checkpoint_range all = {0};
    struct root_notes notes = {.repair = r};
    int rc = store_each_lost_object(r->store, note_lost_object, r, r->error)
                 ?: store_each_checkpoint(r->store, &all, note_roots, &notes, r->error)
                 ?: store_each_log_list(r->store, note_log, &notes, r->error);
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

/* Adds the lost records that other rows name; reports and records all of them. */
static int repair_find_losses(struct repair *r)
{
    for (size_t i = 0; i < r->n_lost; i++)
        if (r->lost[i].other_namespace)
            settle_namespace(r, &r->lost[i]);
    return store_each_lost_checkpoint(r->store, note_missing, r, r->error)
           ?: repair_forget_found(r)
           ?: report_records(r);
}

/* Reports tasks that run again, and lost content. */
static int repair_report_losses(struct repair *r)
{
    struct run_filter every = {.ascending = true};
    int rc = store_each_run(r->store, &every, report_tasks, r, r->error);
    rc = rc < 0 ? rc : report_objects(r);
    return !rc && r->lost_names ? store_gc_hold(r->store, r->error) : rc;
}

/* checkpoint_repair: puts everything that is valid in a damaged store into a new one,
 * which takes its place.
 *
 * The new store is made beside the old one, checked as `cairn checkpoint verify` does,
 * and only then put in its place (storage/rescue/rescue.h). Records are kept if their
 * bytes fit their SHA-256, other rows if their checksums hold. */

/* ---- Other rows ---- */

static void note_lost_row(void *context, const struct salvage_row *row)
{
    struct repair *r = context;
    struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    const struct sql_value *v = row->values;
    unsigned long long first = (unsigned long long)v[0].integer;
    assert(row->table != SALVAGE_CHECKPOINT); /* repair_take_records */
    switch (row->table) {
    case SALVAGE_RUN: /* repair_runs makes it again from other rows */
        repair_note_run(r, row);
        break;
    case SALVAGE_OBJECT: /* reported when it is known whether other rows refer to it */
        repair_note_object(r, row);
        break;
    case SALVAGE_ATTEMPT:
        loss.run = first;
        loss.task = (uint32_t)v[2].integer;
        loss.kind = CAIRN_LOSS_ATTEMPT;
        repair_note_attempt(r, row);
        repair_report_loss(r, &loss,
                           "the row of attempt %lld of task number %lld in run %llu",
                           (long long)v[3].integer, (long long)v[2].integer, first);
        break;
    case SALVAGE_SESSION:
    case SALVAGE_BRANCH:
    case SALVAGE_ITEM:
    case SALVAGE_SESSION_LOG:
    case SALVAGE_ANNOTATION:
    case SALVAGE_MESSAGE:
        repair_note_session_row(r, row);
        break;
    default:
        repair_report_loss(r, &loss, "a row of the table %s", salvage_name(row->table));
    }
}

static int take_tables(struct repair *r)
{
    uint64_t *const counts[SALVAGE_TABLES] = {[SALVAGE_RUN] = &r->result.runs,
                                              [SALVAGE_OBJECT] = &r->result.objects,
                                              [SALVAGE_ATTEMPT] = &r->result.attempts,
                                              [SALVAGE_EVENT] = &r->result.events};
    int rc = 0;
    for (int i = 0; i < SALVAGE_TABLES && !rc; i++) {
        uint64_t saved;
        if (i == SALVAGE_CHECKPOINT)
            continue;
        rc = rescue_table(r->rescue, (enum salvage_table)i, &saved, note_lost_row, r,
                          r->error);
        *(counts[i] ? counts[i] : &r->result.others) += saved;
    }
    return rc || !r->nomem ? rc : error_nomem(r->error);
}

/* ---- Records of which nothing is left ---- */

static void report_lost_part(void *context, const char *text)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_FILE};
    repair_report_loss(context, &loss, "%s", text);
}

static int note_lost_numbers(void *context, uint64_t first, uint64_t last)
{
    enum { MOST = 100000 }; /* that are put into the new store */
    struct repair *r = context;
    assert(first <= last);
    for (uint64_t seq = first; seq <= last && r->gone_seqs.n < MOST; seq++)
        if (seqs_add(&r->gone_seqs, seq))
            return error_nomem(r->error);
    r->lost_names = true;
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_CHECKPOINT, .seq = first};
    if (first == last)
        repair_report_loss(r, &loss, "checkpoint %llu: nothing is left of it",
                           (unsigned long long)first);
    else
        repair_report_loss(r, &loss,
                           "checkpoints %llu to %llu: nothing is left of them",
                           (unsigned long long)first, (unsigned long long)last);
    return 0;
}

/* Seqs are given out one by one: a missing one without a tombstone was lost. Before
 * repair_chains, whose tombstones cover what is lost. */
static int report_gaps(struct repair *r)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_FILE};
    assert(r->gone_seqs.n == 0);
    if (!rescue_has_id(r->rescue))
        repair_report_loss(
            r, &loss,
            "the id of the store: it has a new one, so that exported heads are "
            "of another store");
    int rc = store_each_gap(r->store, note_lost_numbers, r, r->error);
    for (size_t i = 0; i < r->gone_seqs.n && !rc; i++)
        rc = store_put_quarantine(r->store, r->gone_seqs.at[i], clock_utc_ns(),
                                  "lost at a repair", r->error);
    return rc;
}

static int note_repair(struct repair *r)
{
    const struct cairn_repair_result *done = &r->result;
    char text[160];
    snprintf(text, sizeof text, "%llu checkpoint%s and %llu object%s saved, %llu lost",
             (unsigned long long)done->checkpoints, done->checkpoints == 1 ? "" : "s",
             (unsigned long long)done->objects, done->objects == 1 ? "" : "s",
             (unsigned long long)done->lost);
    return store_note_event(r->store, EVENTS_OF_STORE, EVENT_REPAIRED, str_of(text),
                            r->error);
}

/* A row that its tally counts was reported. */
static void note_mended(void *context, uint64_t session, uint64_t n)
{
    struct repair *r = context;
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    r->result.others++;
    if (r->lost_messages > 0)
        r->lost_messages--;
    else
        repair_report_loss(r, &loss, "message %llu of session %llu",
                           (unsigned long long)n, (unsigned long long)session);
}

/* ---- The whole ---- */

static int fill_store(struct repair *r)
{
    assert(r->store && r->n_links == 0 && r->n_lost == 0);
    int rc = rescue_fill(r->rescue, r->error);
    if (rc)
        return rc;
    rc = take_tables(r)
         ?: repair_tallies(r)
         ?: repair_take_records(r)
         ?: repair_parents(r)
         ?: repair_find_losses(r)
         ?: report_gaps(r)
         ?: repair_chains(r)
         ?: repair_attempts(r)
         ?: repair_runs(r)
         ?: repair_items(r)
         ?: repair_sessions(r)
         ?: thread_index_make(r->store, r->sha, r->error)
         ?: message_lines_mend(r->store, r->sha, 0, note_mended, r, r->error)
         ?: repair_report_losses(r)
         ?: note_repair(r);
    return store_end(r->store, rc < 0 ? rc : 0, r->error);
}

static int first_problem(void *context, const struct cairn_problem *problem)
{
    char *text = context;
    if (!text[0] && problem->kind != CAIRN_PROBLEM_UNREAD &&
        problem->kind != CAIRN_PROBLEM_LOST)
        snprintf(text, 400, "%s%s%.300s", problem->id, problem->id[0] ? ": " : "",
                 problem->text);
    return 0;
}

/* The new store takes the damaged one's place only if it verifies. */
static int check_new(struct repair *r)
{
    struct cairn_store_options options = {.path = rescue_new_dir(r->rescue),
                                          .read_only = true};
    struct cairn_store *store = NULL;
    char text[400] = "";
    struct verify_reader reader = {first_problem, text};
    int rc = cairn_store_open(&store, &options, r->error)
                 ?: checkpoint_verify(store, r->options->kinds, NULL, &reader, NULL,
                                      r->error);
    cairn_store_close(store);
    if (rc == CAIRN_EDAMAGED && text[0])
        return error_set(r->error, CAIRN_EDAMAGED,
                         "what could be saved does not verify (%s); the store was left "
                         "as it is",
                         text);
    return rc;
}

static int replace_store(struct repair *r)
{
    assert(!r->store);
    int rc = rescue_begin(r->rescue, r->error);
    if (rc)
        return rescue_explain(r->rescue, rc, r->error);
    r->store = rescue_store(r->rescue);
    rescue_each_gap(r->rescue, report_lost_part, r);
    rc = fill_store(r) ?: rescue_finish(r->rescue, r->error) ?: check_new(r);
    if (rc)
        return rescue_explain(r->rescue, rc, r->error);
    rc = rescue_switch(r->rescue, r->result.kept, r->error);
    if (!rc)
        r->result.repaired = true;
    return rc;
}

static int ignore_finding(void *context, const struct cairn_finding *finding)
{
    (void)context;
    (void)finding;
    return 0;
}

static int repair_if_damaged(struct repair *r)
{
    struct cairn_error why = {0};
    struct doctor_options doctor = {.path = rescue_dir(r->rescue),
                                    .kinds = r->options->kinds,
                                    .each = ignore_finding};
    int rc = checkpoint_doctor(&doctor, &why);
    /* To the doctor the writer whose locks we hold looks like a live one. */
    if (rc == CAIRN_EDAMAGED || rescue_log_is_lost(r->rescue))
        return replace_store(r);
    /* ... or like one that is making the store. */
    if (rc == CAIRN_ENOTFOUND && rescue_is_unmade(r->rescue))
        return error_set(
            r->error, rc,
            "the making of the store %s was interrupted, so that nothing is "
            "in it; `cairn run FILE` puts it right",
            rescue_dir(r->rescue));
    return rc ? error_set(r->error, rc, "%s", why.text) : 0;
}

int checkpoint_repair(const struct repair_options *options,
                      struct cairn_repair_result *result, struct cairn_error *error)
{
    struct repair r = {.options = options, .error = error};
    assert(options->kinds && options->describe);
    r.sha = sha256_new();
    int rc = r.sha ? rescue_open(&r.rescue, options->path, r.result.kept,
                                 r.result.aside, error)
                   : error_nomem(error);
    r.result.repaired = r.result.kept[0] != 0;
    if (!rc)
        rc = repair_if_damaged(&r);
    assert(rc || !r.result.repaired || r.result.kept[0]);
    if (!rc && result)
        *result = r.result;
    else if (result) /* moved, whatever came after that */
        memcpy(result->aside, r.result.aside, sizeof result->aside);
    rescue_close(r.rescue);
    sha256_free(r.sha);
    tombstones_release(&r.deleted);
    free(r.links);
    free(r.lost);
    seqs_release(&r.lost_runs);
    seqs_release(&r.bare_runs);
    seqs_release(&r.gone_seqs);
    seqs_release(&r.lost_sessions);
    seqs_release(&r.lost_branches);
    free(r.bad_items);
    free(r.bad_runs);
    free(r.bad_attempts);
    seqs_release(&r.bad_objects);
    map_release(&r.bad_digests);
    arena_release(&r.arena);
    seqs_release(&r.lost_seqs);
    return rc;
}
