/* SPDX-License-Identifier: MIT */
/* Debugging sessions whose rows are lost, made again from what names them: else nobody
 * would find the rest of them. */
#include "checkpoint/repair/repair_int.h"

#include "storage/sessions/rows_session.h"

#include <assert.h>
#include <stdio.h>

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
    int rc = store_each_branch(r->store, row->session, note_branch, row, r->error);
    return rc ? rc
              : store_each_session_log(r->store, row->session, 0, false, note_start,
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
    struct seqs *sessions = &r->lost_sessions, *branches = &r->lost_branches;
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
