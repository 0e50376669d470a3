/* SPDX-License-Identifier: MIT */
/* Rows of a repaired store that are made again from others. */
#include "checkpoint/outcomes.h"
#include "checkpoint/repair/repair_int.h"
#include "checkpoint/verify/lost_items.h"

#include "base/clock.h"
#include "base/memory.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows of sessions and annotations that are missed: what their tallies
 * (storage/rows_lost.h) count and what was saved. Items are made again where the log or
 * a checkpoint has them; what remains is reported, and the tallies are set to what is
 * there, so that work goes on. */

struct repair_gap {
    enum tally_of of;
    uint64_t scope;
    uint64_t missing; /* rows; 0: others than were counted */
    char text[200];
};

struct gap_list {
    struct repair *r;
    bool items; /* these, or all others */
    struct repair_gap *at;
    size_t n, room;
};

/* ---- Damaged rows ---- */

/* An item is reported once it is known whether it can be made again. */
static void note_bad_item(struct repair *r, const struct salvage_row *row)
{
    struct item_row *at =
        array_room(r->bad_items, r->n_bad_items, &r->bad_item_room, sizeof *at);
    r->nomem = r->nomem || !at;
    if (!at)
        return;
    r->bad_items = at;
    r->bad_items[r->n_bad_items++] =
        (struct item_row){.session = (uint64_t)row->values[0].integer,
                          .kind = (uint8_t)row->values[1].integer,
                          .n = (uint32_t)row->values[2].integer};
}

/* Counts a damaged row of a table with a tally. true: repair_items reports it. */
static bool repair_note_tallied(struct repair *r, const struct salvage_row *row)
{
    static const uint8_t of[SALVAGE_TABLES] = {[SALVAGE_ITEM] = TALLY_ITEMS + 1,
                                               [SALVAGE_SESSION_LOG] = TALLY_LOG + 1,
                                               [SALVAGE_MESSAGE] = TALLY_MESSAGES + 1,
                                               [SALVAGE_BRANCH] = TALLY_BRANCHES + 1,
                                               [SALVAGE_ANNOTATION] =
                                                   TALLY_ANNOTATIONS + 1};
    if (of[row->table])
        r->noted[of[row->table] - 1]++;
    if (row->table != SALVAGE_ITEM || row->n == 0)
        return false;
    note_bad_item(r, row);
    return true;
}

/* ---- What is missed ---- */

static int add_gap(void *context, const struct tally_gap *gap)
{
    struct gap_list *list = context;
    if (list->items != (gap->of == TALLY_ITEMS))
        return 0;
    struct repair_gap *at = array_room(list->at, list->n, &list->room, sizeof *at);
    if (!at)
        return error_nomem(list->r->error);
    list->at = at;
    at += list->n++;
    *at = (struct repair_gap){.of = gap->of, .scope = gap->scope};
    if (gap->found.n < gap->due.n)
        at->missing = gap->due.n - gap->found.n;
    snprintf(at->text, sizeof at->text, "%s", gap->text);
    return 0;
}

/* Damaged rows were reported one by one. */
static void report_gap(struct repair *r, const struct repair_gap *gap)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    uint64_t *noted = &r->noted[gap->of];
    uint64_t known = gap->missing < *noted ? gap->missing : *noted;
    bool all = gap->missing ? known == gap->missing : *noted > 0;
    *noted -= known;
    if (gap->of == TALLY_MESSAGES)
        r->lost_messages += gap->missing;
    if (!all)
        repair_report_loss(r, &loss, "%s", gap->text);
}

static int settle(struct repair *r, const struct gap_list *list)
{
    int rc = 0;
    for (size_t i = 0; i < list->n && !rc; i++)
        rc = store_tally_settle(r->store, list->at[i].of, list->at[i].scope, r->error);
    return rc;
}

int repair_tallies(struct repair *r)
{
    struct gap_list list = {.r = r};
    int rc = store_each_tally_gap(r->store, add_gap, &list, r->error);
    for (size_t i = 0; i < list.n && !rc; i++)
        report_gap(r, &list.at[i]);
    if (!rc)
        rc = settle(r, &list);
    free(list.at);
    return rc;
}

/* ---- Items ---- */

/* It is not lost. */
static void forget_bad(struct repair *r, const struct item_row *item)
{
    for (size_t i = 0; i < r->n_bad_items; i++) {
        struct item_row *bad = &r->bad_items[i];
        if (bad->session != item->session || bad->kind != item->kind ||
            bad->n != item->n)
            continue;
        bad->session = 0;
        r->noted[TALLY_ITEMS]--;
    }
}

/* 1: all that are missing are there again. */
static int make_again(struct repair *r, const struct repair_gap *gap)
{
    struct lost_items lost;
    int rc = lost_items_find(r->store, r->sha, gap->scope, &lost, r->error);
    for (size_t i = 0; i < lost.n && !rc; i++) {
        rc = store_put_item(r->store, &lost.at[i], r->error);
        r->result.others += rc == 0;
        forget_bad(r, &lost.at[i]);
    }
    bool all = lost.n > 0;
    lost_items_release(&lost);
    return rc ? rc : all;
}

/* With a damaged key another item may have been named. */
static void report_bad_items(struct repair *r, bool all_made)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    for (size_t i = 0; i < r->n_bad_items && !all_made; i++)
        if (r->bad_items[i].session)
            repair_report_loss(r, &loss, "the item of session %llu, kind %u, number %u",
                               (unsigned long long)r->bad_items[i].session,
                               r->bad_items[i].kind, r->bad_items[i].n);
}

int repair_items(struct repair *r)
{
    struct gap_list list = {.r = r, .items = true};
    size_t made = 0;
    int rc = store_each_tally_gap(r->store, add_gap, &list, r->error);
    for (size_t i = 0; i < list.n && !rc; i++) {
        int again = make_again(r, &list.at[i]);
        rc = again < 0 ? again : 0;
        if (again > 0)
            made++;
        else if (!rc)
            report_gap(r, &list.at[i]);
    }
    if (!rc)
        rc = settle(r, &list);
    if (!rc)
        report_bad_items(r, list.n > 0 && made == list.n);
    free(list.at);
    return rc;
}

/* Debugging sessions whose rows are lost, made again from what names them: else nobody
 * would find the rest of them. */

void repair_note_session_row(struct repair *r, const struct salvage_row *row)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    const struct sql_value *v = row->values;
    long long first = v[0].integer, second = v[1].integer, third = v[2].integer;
    assert(row->table >= SALVAGE_SESSION);
    if (repair_note_tallied(r, row))
        return;
    if (row->n == 0)
        repair_report_loss(r, &loss, "a row of the table %s, which cannot be read",
                           salvage_name(row->table));
    else if (row->table == SALVAGE_SESSION)
        repair_report_loss(r, &loss, "the row of session %lld", first);
    else if (row->table == SALVAGE_BRANCH)
        repair_report_loss(r, &loss, "the row of branch %lld of session %lld", first,
                           second);
    else if (row->table == SALVAGE_ANNOTATION)
        repair_report_loss(r, &loss, "the annotation of checkpoint %lld, number %lld",
                           first, second);
    else if (row->table == SALVAGE_MESSAGE)
        repair_report_loss(r, &loss, "message %lld of session %lld", second, first);
    else
        repair_report_loss(r, &loss, "the log of session %lld, turn %lld, number %lld",
                           first, second, third);
}

/* ---- Rows that are made again ---- */

enum { NAME_BYTES = 80, NAMES_TRIED = 100 };

/* "recovered-2", or that with "-2" and so on behind it. */
static void name_again(uint64_t number, int tried, char name[NAME_BYTES])
{
    int n = snprintf(name, NAME_BYTES, "recovered-%llu", (unsigned long long)number);
    if (tried > 0)
        snprintf(name + n, NAME_BYTES - (size_t)n, "-%d", tried + 1);
}

static int restore_branch(struct repair *r, uint64_t number, uint64_t session)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    struct branch_row row = {
        .branch = number, .session = session, .status = BRANCH_ROW_ACTIVE};
    char name[NAME_BYTES];
    int rc = CAIRN_EUSAGE; /* while the name is taken */
    for (int i = 0; rc == CAIRN_EUSAGE && i < NAMES_TRIED; i++) {
        name_again(number, i, name);
        row.name = clean_stored(str_of(name));
        rc = store_restore_branch(r->store, &row, r->error);
    }
    if (!rc)
        repair_report_loss(
            r, &loss,
            "the name and the start of branch %llu of session %llu: it is %s now",
            (unsigned long long)number, (unsigned long long)session, name);
    return rc;
}

static int note_branch(void *context, const struct branch_row *row)
{
    struct session_row *session = context;
    if (!session->branch)
        session->started_ns = row->started_ns;
    session->branch = row->branch;
    return 0;
}

static int note_start(void *context, const struct session_log_row *row)
{
    struct session_row *session = context;
    session->started_ns = row->time_ns;
    return 1;
}

/* What is known of it from other rows. */
static int find_session(struct repair *r, struct session_row *row)
{
    return store_each_branch(r->store, row->session, note_branch, row, r->error)
               ?: store_each_session_log(r->store, row->session, 0, false, note_start,
                                         row, r->error);
}

static int restore_session(struct repair *r, uint64_t number)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    struct session_row row = {.session = number};
    char name[NAME_BYTES];
    int rc = find_session(r, &row);
    if (rc)
        return rc;
    rc = CAIRN_EUSAGE;
    for (int i = 0; rc == CAIRN_EUSAGE && i < NAMES_TRIED; i++) {
        name_again(number, i, name);
        row.name = clean_stored(str_of(name));
        rc = store_restore_session(r->store, &row, r->error);
    }
    if (!rc)
        repair_report_loss(r, &loss,
                           "the name and the settings of session %llu: it is %s now",
                           (unsigned long long)number, name);
    return rc;
}

/* ---- Which ---- */

static int note_session(void *context, uint64_t session)
{
    struct repair *r = context;
    return seqs_add(&r->lost_sessions, session) ? error_nomem(r->error) : 0;
}

/* A branch, and the session that names it behind it. */
static int note_lost_branch(void *context, uint64_t branch, uint64_t session)
{
    struct repair *r = context;
    bool noted = seqs_add(&r->lost_branches, branch) == 0 &&
                 seqs_add(&r->lost_branches, session) == 0;
    return noted ? 0 : error_nomem(r->error);
}

int repair_sessions(struct repair *r)
{
    struct seq_set *sessions = &r->lost_sessions, *branches = &r->lost_branches;
    assert(sessions->n == 0 && branches->n == 0);
    int rc = store_each_lost_session(r->store, note_session, r, r->error);
    for (size_t i = 0; i < sessions->n && !rc; i++)
        rc = restore_session(r, sessions->at[i]);
    if (!rc)
        rc = store_each_lost_branch(r->store, note_lost_branch, r, r->error);
    for (size_t i = 0; i + 1 < branches->n && !rc; i += 2)
        rc = restore_branch(r, branches->at[i], branches->at[i + 1]);
    return rc;
}

/* Makes rows that are damaged or missing again, from other rows.
 *
 * Nearly all that the row of a run holds is elsewhere as well: its definition is an
 * object that its records and generations name, and has the workflow's name, the file
 * and the params; its state is in its records and events. So a run is not lost with its
 * row. Of an attempt's row it matters that the attempt began. */

/* ---- What is left of damaged rows ---- */

static struct str copy_text(struct repair *r, const struct sql_value *value)
{
    return arena_str(&r->arena, value->bytes);
}

static struct digest digest_of(const struct sql_value *value)
{
    struct digest digest = {{0}};
    if (value->bytes.len == DIGEST_SIZE)
        memcpy(digest.bytes, value->bytes.ptr, DIGEST_SIZE);
    return digest;
}

void repair_note_run(struct repair *r, const struct salvage_row *row)
{
    enum { SUM_SIZE = 8 };
    const struct sql_value *v = row->values;
    struct bad_run *runs =
        array_room(r->bad_runs, r->n_bad_runs, &r->bad_run_room, sizeof *runs);
    assert(row->table == SALVAGE_RUN);
    r->nomem = r->nomem || !runs;
    if (!runs)
        return;
    r->bad_runs = runs;
    r->bad_runs[r->n_bad_runs++] =
        (struct bad_run){.row = {.run = (uint64_t)v[0].integer,
                                 .workflow = (uint64_t)v[1].integer,
                                 .params = digest_of(&v[2]),
                                 .params_text = copy_text(r, &v[3]),
                                 .file = copy_text(r, &v[4]),
                                 .graph = digest_of(&v[6]),
                                 .tasks = (uint32_t)v[7].integer,
                                 .started_ns = v[9].integer,
                                 .from_run = (uint64_t)v[11].integer,
                                 .from_seq = (uint64_t)v[12].integer},
                         .keyed = v[19].bytes.len > SUM_SIZE};
    r->nomem =
        r->nomem || r->arena.failed || seqs_add(&r->lost_runs, (uint64_t)v[0].integer);
}

void repair_note_attempt(struct repair *r, const struct salvage_row *row)
{
    const struct sql_value *v = row->values;
    struct attempt_row *attempts = array_room(r->bad_attempts, r->n_bad_attempts,
                                              &r->bad_attempt_room, sizeof *attempts);
    assert(row->table == SALVAGE_ATTEMPT);
    r->nomem = r->nomem || !attempts;
    if (!attempts)
        return;
    r->bad_attempts = attempts;
    r->bad_attempts[r->n_bad_attempts++] =
        (struct attempt_row){.run = (uint64_t)v[0].integer,
                             .gen = (uint32_t)v[1].integer,
                             .task = (uint32_t)v[2].integer,
                             .number = (uint32_t)v[3].integer,
                             .intent_ns = v[4].integer};
}

/* ---- Attempts ---- */

static int see_tasks(void *context, const struct run_row *run)
{
    uint32_t *tasks = context;
    *tasks = run->tasks;
    return 0;
}

/* A damaged row may name a run or a task that does not exist. */
static int is_of_a_run(struct repair *r, const struct attempt_row *attempt, bool *is)
{
    uint64_t seq = 0;
    uint32_t tasks = 0;
    *is = false;
    if (!attempt->run) /* store_get_run(0) is the newest run */
        return 0;
    int rc = store_get_run(r->store, attempt->run, see_tasks, &tasks, r->error);
    if (rc == CAIRN_ENOTFOUND) /* its row may be lost, too */
        rc = store_last_seq(r->store, NAMESPACE_WORKFLOW, attempt->run, &seq, r->error);
    *is = seq || attempt->task < tasks;
    return rc;
}

/* A task that must not run twice may have run, and the attempt's number is used. */
int repair_attempts(struct repair *r)
{
    int rc = 0;
    for (size_t i = 0; i < r->n_bad_attempts && !rc; i++) {
        struct attempt_row *row = &r->bad_attempts[i];
        bool is;
        rc = is_of_a_run(r, row, &is);
        if (rc || !is)
            continue;
        rc = store_get_attempt(r->store, row, NULL, NULL, r->error);
        if (rc != CAIRN_ENOTFOUND)
            continue;
        row->flags = ATTEMPT_INTERRUPTED;
        row->exit_code = -1;
        row->started_ns = row->intent_ns;
        row->ended_ns = clock_utc_ns();
        row->text = STR("its row was damaged; what it came to is lost");
        rc = store_put_attempt(r->store, row, r->error);
    }
    return rc;
}

/* ---- The state of a run ---- */

struct row_making {
    struct repair *repair;
    struct run_row row;
    bool keyed;
    bool ended, any_event; /* by its events */
    uint8_t state;
};

static int see_event(void *context, const struct event_row *event)
{
    struct row_making *m = context;
    if (event->kind != EVENT_DELETED && event->kind != EVENT_PRUNED)
        m->any_event = true;
    if (event->kind == EVENT_BEGUN) {
        m->ended = false;
        if (event->turn == 1)
            m->row.started_ns = event->time_ns;
    } else if (event->kind == EVENT_ENDED && event->argument <= CAIRN_RUN_UNDONE) {
        m->ended = true;
        m->state = event->argument;
        m->row.ended_ns = event->time_ns;
    }
    return 0;
}

/* A run that is not known to have ended is unfinished: resuming it settles its state.
 */
static void derive_state(struct row_making *m, const struct states *states)
{
    struct tally t = states ? states_tally(states) : (struct tally){0};
    bool open = !states || tally_done(&t) < t.total;
    assert(!states || states->outcome);
    assert(tally_done(&t) <= t.total);
    if (!m->any_event && !open && !t.failed &&
        !t.cancelled) { /* by a release without events */
        m->ended = true;
        m->state = CAIRN_RUN_COMPLETED;
        m->row.ended_ns = clock_utc_ns();
    }
    m->row.state = m->ended ? m->state : (uint8_t)CAIRN_RUN_UNFINISHED;
    m->row.ended_ns = m->ended ? m->row.ended_ns : 0;
}

static int see_newest(void *context, const struct checkpoint_row *row)
{
    struct row_making *m = context;
    m->keyed = record_peek(row->record).flags & RECORD_KEYED;
    return 1;
}

static int see_parent(void *context, const struct checkpoint_row *row)
{
    struct row_making *m = context;
    if (row->stream != m->row.run) {
        m->row.from_run = row->stream;
        m->row.from_seq = row->seq;
    }
    return 0;
}

/* The parent of a fork's first record is the record that it forks from. Where that was
 * deleted, only the damaged row may name it. */
static int see_first(void *context, const struct checkpoint_row *row)
{
    struct row_making *m = context;
    if (!m->row.started_ns)
        m->row.started_ns = row->time_ns;
    if (record_peek(row->record).position != 1)
        return 1;
    if (!row->parent) {
        m->row.from_run = m->row.from_seq = 0;
        return 1;
    }
    int rc = store_get_checkpoint(m->repair->store, row->parent, see_parent, m, NULL);
    return rc && rc != CAIRN_ENOTFOUND
               ? error_set(m->repair->error, rc, "cannot read the new store")
               : 1;
}

static int read_records(struct row_making *m)
{
    struct repair *r = m->repair;
    struct checkpoint_range range = {
        .namespace_id = NAMESPACE_WORKFLOW, .stream = m->row.run, .limit = 1};
    int rc = store_each_checkpoint(r->store, &range, see_first, m, r->error);
    range.descending = true;
    if (rc >= 0)
        rc = store_each_checkpoint(r->store, &range, see_newest, m, r->error);
    if (rc >= 0)
        rc = store_each_event(r->store, m->row.run, 0, see_event, m, r->error);
    return rc < 0 ? rc : 0;
}

/* ---- Its workflow and definition ---- */

/* By the definition if it is known, else by the damaged row, else "(lost)". */
static int find_workflow(struct row_making *m, bool known)
{
    struct cairn_store *store = m->repair->store;
    struct str name = STR("(lost)");
    if (!known && store_has_workflow(store, m->row.workflow))
        return 0;
    if (known)
        name = m->row.workflow_name;
    return store_workflow_id(store, name, true, &m->row.workflow, m->repair->error);
}

/* The newest generation's graph, or that of the newest record that can be rebuilt. */
static int find_definition(struct row_making *m, const struct recovery *recovery)
{
    struct repair *r = m->repair;
    struct digest graph;
    assert(r->options->describe);
    int rc = store_last_gen(r->store, m->row.run, &m->row.gen, r->error);
    if (rc)
        return rc;
    if (recovery) {
        m->row.graph = recovery->graph;
        m->row.tasks = recovery->states.n;
    }
    if (store_get_run_graph(r->store, m->row.run, m->row.gen, &graph, NULL) == 0)
        m->row.graph = graph;
    rc = r->options->describe(r->store, &m->row.graph, &m->row, &r->arena, NULL);
    if (rc && rc != CAIRN_ENOMEM && recovery)
        rc = r->options->describe(r->store, &recovery->graph, &m->row, &r->arena, NULL);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(r->error);
    return find_workflow(m, rc == 0);
}

/* No process owns it. */
static void fill_texts(struct run_row *row)
{
    row->owner_host = row->owner_boot = STR("");
    if (!row->file.ptr)
        row->file = STR("");
    if (!row->params_text.ptr)
        row->params_text = STR("");
}

static int make_row(struct row_making *m)
{
    struct repair *r = m->repair;
    struct recovery recovery;
    int rc = read_records(m);
    if (rc)
        return rc;
    bool recovered =
        outcomes_recover(r->store, r->sha, m->row.run, &recovery, NULL) == 0;
    rc = find_definition(m, recovered ? &recovery : NULL);
    if (!rc) {
        derive_state(m, recovered ? &recovery.states : NULL);
        fill_texts(&m->row);
        rc = store_restore_run(r->store, &m->row, m->keyed, r->error);
    }
    if (recovered)
        recovery_release(&recovery);
    return rc;
}

/* ---- Each run ---- */

/* Leaves a tombstone, so that the number of the run is never used again. */
static int reserve_number(struct repair *r, uint64_t run)
{
    struct tombstone_row note = {
        .namespace_id = NAMESPACE_WORKFLOW, .stream = run, .time_ns = clock_utc_ns()};
    bool has = false;
    int rc = store_has_tombstone_behind(r->store, NAMESPACE_WORKFLOW, run, 0, &has,
                                        r->error);
    if (!rc && !has)
        rc = store_seq_after(r->store, &note.first, r->error);
    note.last = note.first;
    return rc || has ? rc : store_put_tombstone(r->store, &note, r->error);
}

static int restore_run(struct repair *r, uint64_t run)
{
    struct cairn_loss loss = {.kind = CAIRN_LOSS_RUN, .run = run};
    struct row_making m = {.repair = r, .row = {.run = run}};
    uint64_t last = 0;
    int rc = store_last_seq(r->store, NAMESPACE_WORKFLOW, run, &last, r->error);
    for (size_t i = 0; i < r->n_bad_runs; i++)
        if (r->bad_runs[i].row.run == run) {
            m.row = r->bad_runs[i].row;
            m.keyed = r->bad_runs[i].keyed;
        }
    if (rc)
        return rc;
    assert(m.row.run == run);
    if (last) {
        repair_report_loss(r, &loss,
                           "the row of run %llu: it is made again from its checkpoints",
                           (unsigned long long)run);
        return make_row(&m);
    }
    rc = store_get_run(r->store, run, NULL, NULL, r->error);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    repair_report_loss(r, &loss,
                       rc ? "the row of run %llu: nothing is left of the run"
                          : "the newest row of run %llu: an older one takes its place",
                       (unsigned long long)run);
    return rc ? reserve_number(r, run) : 0;
}

static int note_orphan(void *context, uint64_t run)
{
    struct repair *r = context;
    return seqs_add(&r->lost_runs, run) ? error_nomem(r->error) : 0;
}

/* A run of which no record is left, nor a trace of one. */
static int note_bare(void *context, uint64_t run)
{
    struct repair *r = context;
    struct cairn_loss loss = {.kind = CAIRN_LOSS_RUN, .run = run};
    repair_report_loss(r, &loss, "every checkpoint of run %llu",
                       (unsigned long long)run);
    return seqs_add(&r->bare_runs, run) ? error_nomem(r->error) : 0;
}

struct missing_graph {
    uint64_t run, gen; /* 0: none */
};

static int note_missing_graph(void *context, uint64_t run, uint64_t gen)
{
    *(struct missing_graph *)context = (struct missing_graph){run, gen};
    return 1;
}

/* Of one run: more were never lost, whatever rows say. */
enum { LOST_GRAPHS_MOST = 10000 };

/* Puts an unknown graph in place of each missing one; its content is lost as well. */
static int fill_missing_graphs(struct repair *r)
{
    static const struct digest none;
    uint64_t run = 0;
    for (int filled = 0;; filled++) {
        struct missing_graph lost = {0, 0};
        int rc = store_each_lost_gen(r->store, note_missing_graph, &lost, r->error);
        if (rc || !lost.run)
            return rc;
        filled = lost.run == run ? filled : 0;
        run = lost.run;
        if (filled > LOST_GRAPHS_MOST)
            return error_set(r->error, CAIRN_ELIMIT,
                             "rows of run %llu name a generation that it cannot have",
                             (unsigned long long)run);
        struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW, .run = lost.run};
        repair_report_loss(
            r, &loss,
            "the graph of run %llu, generation %llu: what ran in it is not shown "
            "any more",
            (unsigned long long)lost.run, (unsigned long long)lost.gen);
        rc = store_put_run_graph(r->store, lost.run, (uint32_t)lost.gen, &none,
                                 r->error);
        if (rc)
            return rc;
    }
}

/* Its generation is far beyond those of all other rows: it is wrong. */
static int is_beyond(struct repair *r, const struct run_row *row, bool *beyond)
{
    uint32_t last = 0;
    int rc = store_last_gen(r->store, row->run, &last, r->error);
    *beyond = row->gen > last && row->gen - last > LOST_GRAPHS_MOST;
    return rc;
}

static int note_wrong(void *context, const struct run_row *row)
{
    struct repair *r = context;
    bool stripped, beyond = false;
    int rc = run_stripped(r->store, row, &stripped, r->error);
    if (!rc && !stripped)
        rc = is_beyond(r, row, &beyond);
    return rc || !(stripped || beyond) ? rc : note_orphan(r, row->run);
}

int repair_runs(struct repair *r)
{
    struct run_filter every = {.ascending = true};
    assert(!r->nomem && r->bare_runs.n == 0);
    int rc = store_each_orphan(r->store, note_orphan, r, r->error)
                 ?: store_each_run(r->store, &every, note_wrong, r, r->error);
    seqs_sort(&r->lost_runs);
    for (size_t i = 0; i < r->lost_runs.n && !rc; i++)
        if (i == 0 || r->lost_runs.at[i] != r->lost_runs.at[i - 1])
            rc = restore_run(r, r->lost_runs.at[i]);
    if (!rc)
        rc = store_each_bare_run(r->store, note_bare, r, r->error);
    for (size_t i = 0; i < r->bare_runs.n && !rc; i++)
        rc = reserve_number(r, r->bare_runs.at[i]);
    return rc ?: store_drop_stray_graphs(r->store, r->error) ?: fill_missing_graphs(r);
}
