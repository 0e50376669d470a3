/* SPDX-License-Identifier: MIT */
/* Verifying the rows of runs, and other rows that refer to records and objects. */
#include "checkpoint/verify/lost_items.h"
#include "checkpoint/verify/verify_int.h"
#include "storage/health.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <assert.h>

/* ---- The rows of runs ---- */

/* With a key its records are reported instead. */
static int check_hmac(struct verifier *v, const struct run_row *row)
{
    assert(row->sum_ok);
    if (store_key(v->store) || !verify_is_refused(v, NAMESPACE_WORKFLOW, row->run))
        return 0;
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the row of run %llu has no HMAC, but its checkpoints have: it "
        "was changed or forged, and resume refuses the run",
        (unsigned long long)row->run);
}

static int check_run(void *context, const struct run_row *row)
{
    struct verifier *v = context;
    unsigned long long run = row->run;
    if (row->sum_ok)
        return check_hmac(v, row);
    v->result.damaged++;
    if (!row->bytes_ok)
        return verify_report(v, 0, NULL,
                             "the row of run %llu is damaged: its checksum does not "
                             "match",
                             run);
    return verify_report_as(v, CAIRN_PROBLEM_HMAC, 0, NULL,
                            "the row of run %llu is not to be believed, and resume "
                            "refuses the run: its HMAC is not of this key: it was "
                            "changed or forged, or made again by a repair, or the key "
                            "is another one",
                            run);
}

int verify_runs(struct verifier *v)
{
    struct run_filter every = {.ascending = true};
    assert(!v->stop);
    return store_each_run(v->store, &every, check_run, v, v->error);
}

/* ---- Other rows, and what they refer to ---- */

static int bad_row(void *context, const struct bad_row *row)
{
    struct verifier *v = context;
    if (row->hmac && verify_is_unkeyed(v, NAMESPACE_WORKFLOW, row->run))
        return 0;
    v->result.damaged++;
    if (row->hmac)
        return verify_report_as(v, CAIRN_PROBLEM_HMAC, 0, NULL,
                                "%s is not carried out and does not count: it has no "
                                "HMAC of this key",
                                row->what);
    return verify_report(v, 0, NULL, "%s is damaged: its checksum does not match",
                         row->what);
}

static int missing_checkpoint(void *context, uint64_t run, uint64_t seq)
{
    struct verifier *v = context;
    if (seqs_has(&v->damaged, seq))
        return 0; /* already reported */
    char number[CAIRN_ID_MAX];
    checkpoint_number(NAMESPACE_WORKFLOW, seq, number);
    return verify_report(v, seq, number,
                         "the record is missing: an attempt of run %llu names it as "
                         "that of its end, and it was not deleted by cairn",
                         (unsigned long long)run);
}

static int missing_object(void *context, const char *hex)
{
    struct verifier *v = context;
    char root[DIGEST_HEX_SIZE];
    for (size_t i = 0; i < v->n_roots; i++) {
        digest_hex(&v->roots[i].digest, root);
        if (strcmp(root, hex) == 0)
            return 0; /* verify_roots reports it */
    }
    v->result.bad_objects++;
    return verify_report(v, 0, NULL,
                         "object %s is missing: a run or an attempt refers to it", hex);
}

static int missing_run(void *context, uint64_t run)
{
    struct verifier *v = context;
    uint64_t last = 0;
    int rc = store_last_seq(v->store, NAMESPACE_WORKFLOW, run, &last, v->error);
    if (rc || seqs_has(&v->damaged, last))
        return rc; /* a damaged column may name the wrong run */
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the row of run %llu is missing: there are checkpoints or other "
        "rows of the run, and it was not removed by cairn",
        (unsigned long long)run);
}

static int bare_run(void *context, uint64_t run)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(v, 0, NULL,
                         "run %llu has no checkpoint, and none of it was deleted by "
                         "cairn: its checkpoints are missing",
                         (unsigned long long)run);
}

static int missing_graph(void *context, uint64_t run, uint64_t gen)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the graph of run %llu, generation %llu, is missing: it was not "
        "removed by cairn",
        (unsigned long long)run, (unsigned long long)gen);
}

static int missing_session(void *context, uint64_t session)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(v, 0, NULL,
                         "the row of session %llu is missing: other rows name it",
                         (unsigned long long)session);
}

static int missing_branch(void *context, uint64_t branch, uint64_t session)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(v, 0, NULL,
                         "the row of branch %llu is missing: session %llu names it",
                         (unsigned long long)branch, (unsigned long long)session);
}

/* "; they are kind 6, number 3": as far as it can be told. */
static int add_lost_items(struct verifier *v, const struct tally_gap *gap,
                          struct buf *text)
{
    enum { NAMED = 8 };
    struct lost_items lost;
    int rc = gap->of == TALLY_ITEMS
                 ? lost_items_find(v->store, v->sha, gap->scope, &lost, v->error)
                 : 0;
    if (rc || gap->of != TALLY_ITEMS)
        return rc;
    for (size_t i = 0; i < lost.n && i < NAMED; i++)
        buf_format(text, "%s kind %u, number %u", i ? ";" : ":", lost.at[i].kind,
                   lost.at[i].n);
    if (lost.n > NAMED)
        buf_text(text, "; ...");
    lost_items_release(&lost);
    return 0;
}

static int missing_rows(void *context, const struct tally_gap *gap)
{
    struct verifier *v = context;
    struct buf text = BUF_INIT;
    buf_text(&text, gap->text);
    int rc = add_lost_items(v, gap, &text);
    buf_add(&text, "", 1);
    if (!rc)
        rc = buf_check(&text, v->error);
    if (!rc) {
        v->result.damaged++;
        rc = verify_report(v, 0, NULL, "%s", text.data);
    }
    buf_release(&text);
    return rc;
}

/* A damaged row may name any session. */
static int verify_other_rows(struct verifier *v)
{
    uint64_t before = v->result.damaged;
    int rc = store_verify_rows(v->store, bad_row, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = store_each_lost_session(v->store, missing_session, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = store_each_lost_branch(v->store, missing_branch, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = store_each_tally_gap(v->store, missing_rows, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = verify_messages(v);
    return rc;
}

int verify_run_rows(struct verifier *v)
{
    int rc = verify_other_rows(v);
    seqs_sort(&v->damaged);
    if (rc >= 0 && !v->stop)
        rc = store_each_orphan(v->store, missing_run, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_bare_run(v->store, bare_run, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_lost_gen(v->store, missing_graph, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_lost_checkpoint(v->store, missing_checkpoint, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_lost_object(v->store, missing_object, v, v->error);
    return rc;
}
