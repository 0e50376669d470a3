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
    if (row->n == 0)
        repair_report_loss(r, &loss, "a row of the table %s, which cannot be read",
                           salvage_name(row->table));
    else if (row->table == SALVAGE_SESSION)
        repair_report_loss(r, &loss, "the row of session %lld", first);
    else if (row->table == SALVAGE_BRANCH)
        repair_report_loss(r, &loss, "the row of branch %lld of session %lld", first,
                           second);
    else if (row->table == SALVAGE_ITEM)
        repair_report_loss(r, &loss, "the item of session %lld, kind %lld, number %lld",
                           first, second, third);
    else if (row->table == SALVAGE_ANNOTATION)
        repair_report_loss(r, &loss, "the annotation of checkpoint %lld, number %lld",
                           first, second);
    else
        repair_report_loss(r, &loss, "the log of session %lld, turn %lld, number %lld",
                           first, second, third);
}

/* ---- Sessions without a row ---- */

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

static int restore_session(struct repair *r, uint64_t number)
{
    enum { NAMES = 100 };
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    struct session_row row = {.session = number};
    char name[80];
    int rc = store_each_branch(r->store, number, note_branch, &row, r->error);
    if (!rc)
        rc = store_each_session_log(r->store, number, 0, false, note_start, &row,
                                    r->error);
    if (rc)
        return rc;
    int n = snprintf(name, sizeof name, "recovered-%llu", (unsigned long long)number);
    rc = CAIRN_EUSAGE; /* while the name is taken */
    for (int i = 2; rc == CAIRN_EUSAGE && i < NAMES; i++) {
        row.name = str_of(name);
        rc = store_restore_session(r->store, &row, r->error);
        if (rc == CAIRN_EUSAGE)
            snprintf(name + n, sizeof name - (size_t)n, "-%d", i);
    }
    if (!rc)
        repair_report_loss(r, &loss,
                           "the name and the settings of session %llu: it is %s now",
                           (unsigned long long)number, name);
    return rc;
}

static int note_lost(void *context, uint64_t session)
{
    struct repair *r = context;
    return seqs_add(&r->lost_sessions, session) ? error_nomem(r->error) : 0;
}

int repair_sessions(struct repair *r)
{
    assert(r->lost_sessions.n == 0);
    int rc = store_each_lost_session(r->store, note_lost, r, r->error);
    for (size_t i = 0; i < r->lost_sessions.n && !rc; i++)
        rc = restore_session(r, r->lost_sessions.at[i]);
    return rc;
}
