/* SPDX-License-Identifier: MIT */
/* checkpoint_repair: puts everything that is valid in a damaged store into a new one,
 * which takes its place.
 *
 * The new store is made beside the old one, checked as `cairn checkpoint verify` does,
 * and only then put in its place (storage/rescue/rescue.h). Records are kept if their
 * bytes fit their SHA-256, other rows if their checksums hold. */
#include "checkpoint/repair/repair_int.h"

#include "base/array.h"
#include "base/clock.h"
#include "checkpoint/messages/line.h"
#include "checkpoint/verify/verify.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_lost.h"
#include "storage/store.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
    rc = take_tables(r);
    if (!rc)
        rc = repair_tallies(r);
    if (!rc)
        rc = repair_take_records(r);
    if (!rc)
        rc = repair_parents(r);
    if (!rc)
        rc = repair_find_losses(r);
    if (!rc)
        rc = report_gaps(r);
    if (!rc)
        rc = repair_chains(r);
    if (!rc)
        rc = repair_attempts(r);
    if (!rc)
        rc = repair_runs(r);
    if (!rc)
        rc = repair_items(r);
    if (!rc)
        rc = repair_sessions(r);
    if (!rc)
        rc = message_lines_mend(r->store, r->sha, 0, note_mended, r, r->error);
    if (!rc)
        rc = repair_report_losses(r);
    if (!rc)
        rc = note_repair(r);
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
    int rc = cairn_store_open(&store, &options, r->error);
    if (!rc)
        rc = checkpoint_verify(store, r->options->kinds, NULL, &reader, NULL, r->error);
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
    rc = fill_store(r);
    if (!rc)
        rc = rescue_finish(r->rescue, r->error);
    if (!rc)
        rc = check_new(r);
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
