/* SPDX-License-Identifier: MIT */
/* Verifying one checkpoint and all that it needs. */
#include "checkpoint/find.h"
#include "checkpoint/verify_int.h"

#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

static int ask_parent(void *context, const struct checkpoint_row *row)
{
    struct verifier *v = context;
    struct sound_record checked;
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
    struct sound_record checked;
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

static void report_bad(struct verifier *v, uint8_t namespace_id, uint64_t seq,
                       const char *text)
{
    struct bad_one one = {.v = v};
    checkpoint_number(namespace_id, seq, one.id);
    (void)store_get_checkpoint(v->store, seq, see_bad, &one, NULL);
    verify_report_as(v, one.hmac ? CAIRN_PROBLEM_HMAC : CAIRN_PROBLEM_DAMAGE, seq,
                     one.id, "%s", text);
}

/* Whether the state at `seq` can be rebuilt; `*bad` is the record that is in the way.
 */
static int try_rebuild(const struct chains *in, uint64_t seq, uint64_t *bad,
                       struct cairn_error *error)
{
    struct rebuilt built = {.bad = seq};
    void *state = calloc(1, in->kind->state_bytes);
    if (!state)
        return error_nomem(error);
    int rc = chain_rebuild(in, seq, state, &built, error);
    if (rc == 0)
        in->kind->state_release(state);
    free(state);
    *bad = built.bad;
    return rc;
}

/* That of the id's prefix, if its kind is known. */
static const struct payload_kind *kind_of_id(const struct payload_kinds *kinds,
                                             const char *id)
{
    const char *debug = namespace_name(NAMESPACE_DEBUG);
    size_t n = strlen(debug);
    bool is_debug = strncmp(id, debug, n) == 0 && id[n] == ':';
    const struct payload_kind *kind = is_debug ? kind_of(kinds, NAMESPACE_DEBUG) : NULL;
    return kind ? kind : kind_of(kinds, NAMESPACE_WORKFLOW);
}

int verify_one(struct verifier *v, const char *id)
{
    struct chains in = {v->store, v->sha, kind_of_id(v->kinds, id)};
    struct cairn_error reason = {0};
    uint64_t seq = 0, bad;
    bool sound = false;
    assert(v->n_questions == 0);
    int rc = chain_find(&in, id, &seq, &sound, &reason);
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    v->result.checked = 1;
    bad = seq;
    rc = sound ? try_rebuild(&in, seq, &bad, &reason) : CAIRN_EDAMAGED;
    if (rc == CAIRN_EDAMAGED) {
        report_bad(v, in.kind->namespace_id, bad, reason.text);
        return 0;
    }
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    rc = store_get_checkpoint(v->store, seq, ask_parent, v, v->error);
    if (rc == 0)
        rc = skip_damaged_parent(v);
    return rc ? rc : verify_questions(v);
}
