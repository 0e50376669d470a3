/* SPDX-License-Identifier: MIT */
/* Verifying one checkpoint and all that it needs. */
#include "checkpoint/find.h"
#include "checkpoint/verify/verify_int.h"

#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

static int question_parent(void *context, const struct checkpoint_row *row)
{
    struct verifier *v = context;
    struct sound_record checked;
    assert(v->n_questions == 0);
    int rc = row_check(row, v->sha, &checked, v->error);
    if (rc || row->parent == 0)
        return rc;
    struct question question = {.namespace_id = row->namespace_id,
                                .stream = row->stream,
                                .seq = row->seq,
                                .target = row->parent,
                                .digest = checked.header.parent};
    row_id(row, question.id);
    return verify_add_question(v, &question);
}

static int see_parent(void *context, const struct checkpoint_row *row)
{
    struct verifier *v = context;
    struct sound_record checked;
    struct cairn_error reason;
    if (row_check(row, v->sha, &checked, &reason) == 0)
        return 0;
    return seqs_add(&v->damaged, row->seq) ? error_nomem(v->error) : 0;
}

/* A damaged parent does not make its child damaged. */
static int note_damaged_parent(struct verifier *v)
{
    int rc = 0;
    for (size_t i = 0; i < v->n_questions && rc == 0; i++) {
        rc = store_get_checkpoint(v->store, v->questions[i].target, see_parent, v,
                                  v->error);
        if (rc == CAIRN_ENOTFOUND)
            rc = 0; /* verify_questions reports it */
    }
    return rc;
}

struct bad_record {
    struct verifier *v;
    char id[CAIRN_ID_MAX];
    bool hmac;
};

static int see_bad(void *context, const struct checkpoint_row *row)
{
    struct bad_record *one = context;
    row_id(row, one->id);
    one->hmac = verify_only_hmac_fails(one->v, row);
    return 0;
}

static void report_bad(struct verifier *v, uint8_t namespace_id, uint64_t seq,
                       const char *text)
{
    struct bad_record one = {.v = v};
    checkpoint_number(namespace_id, seq, one.id);
    (void)store_get_checkpoint(v->store, seq, see_bad, &one, NULL);
    verify_report_as(v, one.hmac ? CAIRN_PROBLEM_HMAC : CAIRN_PROBLEM_DAMAGE, seq,
                     one.id, "%s", text);
}

/* Whether the state at `seq` can be rebuilt; `*bad` is the record that prevents it. */
static int try_rebuild(const struct chains *in, uint64_t seq, uint64_t *bad,
                       struct cairn_error *error)
{
    struct rebuilt built = {.bad = seq};
    void *state = calloc(1, in->kind->state_bytes);
    if (!state)
        return error_nomem(error);
    int rc = chain_rebuild(in, seq, state, &built, error);
    assert(rc || built.ref.seq == seq);
    if (rc == 0)
        in->kind->state_release(state);
    free(state);
    *bad = built.bad;
    return rc;
}

struct one_record {
    struct verifier *v;
    const struct payload_kind *kind;
    uint64_t seq;
};

static int note_root(void *context, const struct digest *digest, bool is_node)
{
    const struct one_record *one = context;
    return verify_note_root(one->v, one->kind->namespace_id, one->seq, digest, is_node);
}

static int note_roots(void *context, const struct checkpoint_row *row)
{
    struct one_record *one = context;
    struct sound_record record;
    struct payload_check check = {
        .roots = ROOTS_NEEDED, .root = note_root, .context = one};
    int rc = row_check(row, one->v->sha, &record, one->v->error);
    if (rc)
        return rc;
    rc = one->kind->check(&record, &check, one->v->error);
    return rc == CAIRN_ENOMEM ? error_nomem(one->v->error) : rc;
}

/* The objects that it names itself and cannot be used without. */
static int verify_content(struct verifier *v, const struct found_checkpoint *found)
{
    struct one_record one = {v, found->in.kind, found->seq};
    int rc = store_get_checkpoint(v->store, found->seq, note_roots, &one, v->error);
    v->one = true;
    if (!rc)
        rc = verify_roots(v);
    return rc || v->stop ? rc : verify_losses(v, found->seq);
}

/* Its parent, and that it was read at all. */
static int verify_sound(struct verifier *v, uint8_t namespace_id, uint64_t seq)
{
    int rc = store_get_checkpoint(v->store, seq, question_parent, v, v->error);
    if (rc == 0)
        rc = note_damaged_parent(v);
    if (rc == 0)
        rc = verify_questions(v);
    if (rc || v->stop || kind_of(v->kinds, namespace_id))
        return rc;
    v->unread[namespace_id]++;
    verify_report_unread(v);
    return 0;
}

int verify_one(struct verifier *v, const char *id)
{
    struct catalog all = {v->store, v->sha, v->kinds, 0};
    struct found_checkpoint found;
    struct cairn_error reason = {0};
    assert(v->n_questions == 0);
    int rc = catalog_find(&all, id, &found, &reason);
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    v->result.checked = 1;
    uint64_t bad = found.seq;
    uint8_t namespace_id = found.in.kind->namespace_id;
    if (!found.sound)
        rc = CAIRN_EDAMAGED;
    else if (kind_of(v->kinds, namespace_id))
        rc = try_rebuild(&found.in, found.seq, &bad, &reason);
    if (rc == CAIRN_EDAMAGED) {
        report_bad(v, namespace_id, bad, reason.text);
        return 0;
    }
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    rc = kind_of(v->kinds, namespace_id) ? verify_content(v, &found) : 0;
    if (!rc && !v->stop && namespace_id == NAMESPACE_DEBUG && !v->result.damaged)
        rc = verify_messages_at(v, found.seq);
    return rc || v->stop ? (rc < 0 ? rc : 0) : verify_sound(v, namespace_id, found.seq);
}
