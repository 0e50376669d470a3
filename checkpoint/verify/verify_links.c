/* SPDX-License-Identifier: MIT */
/* Questions left by the pass over the rows, answered when every damaged row is known:
 * whether the parent, or the full record, that a record needs is there. */
#include "checkpoint/verify/verify_int.h"

#include "base/array.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_lost.h"

#include <assert.h>
#include <stdlib.h>

int verify_add_question(struct verifier *v, const struct question *question)
{
    struct question *questions =
        array_room(v->questions, v->n_questions, &v->question_room, sizeof *questions);
    assert(question->seq > 0 && (!question->base || question->target > 0));
    if (!questions)
        return error_nomem(v->error);
    v->questions = questions;
    v->questions[v->n_questions++] = *question;
    return 0;
}

struct link_target {
    const struct question *question;
    bool same; /* digest of the row is that of the question */
    bool full;
};

static int see_target(void *context, const struct checkpoint_row *row)
{
    struct link_target *target = context;
    struct str wanted = {(const char *)target->question->digest.bytes, DIGEST_SIZE};
    target->same = str_equal(row->digest, wanted);
    target->full = row->kind == RECORD_FULL;
    return 0;
}

static int report_missing(struct verifier *v, const struct question *q)
{
    char id[CAIRN_ID_MAX];
    struct digest known = q->digest;
    assert(q->target > 0);
    checkpoint_id(q->namespace_id, q->target, &known, id);
    if (q->base)
        id[strcspn(id, "-")] = 0;
    if (seqs_add(&v->damaged, q->target))
        return error_nomem(v->error);
    seqs_sort(&v->damaged);
    return verify_report(v, q->target, id,
                         "the record is missing: %s names it as its %s, and it was "
                         "not deleted by cairn",
                         q->id, q->base ? "full record" : "parent");
}

/* The target was deleted on purpose. */
static int check_tombstone(struct verifier *v, const struct question *q,
                           const struct tombstone_row *t)
{
    assert(t->first <= q->target && q->target <= t->last);
    if (q->base || (t->last == q->target && digest_equal(&t->after, &q->digest)))
        return 0;
    return verify_report(v, q->seq, q->id,
                         "its parent, checkpoint %llu, was deleted, and the note "
                         "about that does not fit it",
                         (unsigned long long)q->target);
}

static int check_positions(struct verifier *v, const struct question *q)
{
    assert(!q->base || q->gap == 0);
    if (q->gap == 0)
        return 0;
    return verify_report(v, q->seq, q->id,
                         "%llu checkpoints before it are missing and were not deleted "
                         "by cairn",
                         (unsigned long long)q->gap);
}

static int answer_question(struct verifier *v, const struct question *q)
{
    struct link_target target = {.question = q};
    if (q->target && seqs_has(&v->damaged, q->target))
        return 0; /* already reported */
    if (q->target == 0)
        return check_positions(v, q);
    int rc = store_get_checkpoint(v->store, q->target, see_target, &target, v->error);
    if (rc == CAIRN_ENOTFOUND) {
        const struct tombstone_row *t =
            tombstones_cover(&v->tombstones, q->namespace_id, q->stream, q->target);
        if (!t)
            return report_missing(v, q);
        rc = check_tombstone(v, q, t);
        return rc ? rc : check_positions(v, q);
    }
    if (rc)
        return rc;
    if (q->base ? !target.full : !target.same)
        return verify_report(v, q->seq, q->id,
                             q->base ? "checkpoint %llu is not its full record"
                                     : "its parent digest is not that of checkpoint "
                                       "%llu, its parent",
                             (unsigned long long)q->target);
    return check_positions(v, q);
}

int verify_questions(struct verifier *v)
{
    int rc = 0;
    seqs_sort(&v->damaged);
    for (size_t i = 0; i < v->n_questions && rc == 0; i++)
        rc = answer_question(v, &v->questions[i]);
    return rc < 0 ? rc : 0;
}
