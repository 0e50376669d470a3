/* SPDX-License-Identifier: MIT */
/* Verifying one checkpoint and all that it needs. */
#include "checkpoint/verify_int.h"

#include "storage/rows_checkpoint.h"

static int ask_parent(void *context, const struct checkpoint_row *row)
{
    struct verifier *v = context;
    struct checked checked;
    int rc = row_check(row, v->sha, &checked, v->error);
    if (rc || row->parent == 0)
        return rc;
    struct question question = {.namespace_id = row->namespace_id,
                                .stream = row->stream,
                                .seq = row->seq,
                                .target = row->parent,
                                .digest = checked.header.parent};
    row_id(row, question.id);
    return verify_ask(v, &question);
}

static int see_parent(void *context, const struct checkpoint_row *row)
{
    struct verifier *v = context;
    struct checked checked;
    struct cairn_error reason;
    if (row_check(row, v->sha, &checked, &reason) == 0)
        return 0;
    return seqs_add(&v->damaged, row->seq) ? error_nomem(v->error) : 0;
}

/* That a parent is damaged is not its child's fault. */
static int skip_damaged_parent(struct verifier *v)
{
    int rc = 0;
    for (size_t i = 0; i < v->n_questions && rc == 0; i++) {
        rc = store_get_checkpoint(v->store, v->questions[i].target, see_parent, v,
                                  v->error);
        if (rc == CAIRN_ENOTFOUND)
            rc = 0; /* that is for verify_questions */
    }
    return rc;
}

struct bad_one {
    struct verifier *v;
    char id[CAIRN_ID_MAX];
    bool hmac;
};

static int see_bad(void *context, const struct checkpoint_row *row)
{
    struct bad_one *one = context;
    row_id(row, one->id);
    one->hmac = verify_lacks_hmac(one->v, row);
    return 0;
}

static void report_bad(struct verifier *v, uint64_t seq, const char *text)
{
    struct bad_one one = {.v = v};
    bool there = store_get_checkpoint(v->store, seq, see_bad, &one, NULL) == 0;
    verify_report_as(v, one.hmac ? CAIRN_PROBLEM_HMAC : CAIRN_PROBLEM_DAMAGE, seq,
                     there ? one.id : NULL, "%s", text);
}

int verify_one(struct verifier *v, const char *id)
{
    struct rebuilt built;
    struct cairn_error reason = {0};
    uint64_t seq = 0;
    bool sound = false;
    int rc = find_any(v->store, v->sha, id, &seq, &sound, &reason);
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    v->result.checked = 1;
    rc = CAIRN_EDAMAGED;
    if (sound)
        rc = rebuild_at(v->store, v->sha, seq, &built, &reason);
    if (rc == CAIRN_EDAMAGED) {
        report_bad(v, sound ? built.bad : seq, reason.text);
        return 0;
    }
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    states_release(&built.states);
    rc = store_get_checkpoint(v->store, seq, ask_parent, v, v->error);
    if (rc == 0)
        rc = skip_damaged_parent(v);
    return rc ? rc : verify_questions(v);
}
