/* SPDX-License-Identifier: MIT */
/* Verifying one checkpoint and all that it needs. */
#include "checkpoint/verify/verify.h"

#include "checkpoint/find.h"
#include "checkpoint/verify/verify_int.h"

#include "base/clock.h"
#include "storage/health.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

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
    int rc = store_get_checkpoint(v->store, seq, question_parent, v, v->error)
             ?: note_damaged_parent(v)
             ?: verify_questions(v);
    if (rc || v->stop || kind_of(v->kinds, namespace_id))
        return rc;
    v->unread[namespace_id]++;
    verify_report_unread(v);
    return 0;
}

/* One checkpoint, by its printed id. */
static int verify_one(struct verifier *v, const char *id)
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

/* cairn_checkpoint_verify: everything that is stored, or one checkpoint with all that
 * it needs. One read transaction, so that a run beside it cannot look like damage.
 *
 * Where a damaged record was deleted, the deltas after it are sound and linked to its
 * tombstone: the whole store verifies, and resume applies them. But their exact state
 * cannot be rebuilt, so that one of them, asked for by its id, is CAIRN_ENOTFOUND
 * (which names the deleted record) and not CAIRN_EDAMAGED. */

/* ---- Everything ---- */

static int bad_object(void *context, const char *digest_hex_text, const char *why)
{
    return verify_bad_object(context, digest_hex_text, why);
}

/* The pages of the database: damage outside of every record and object is found here.
 */
static int bad_page(void *context, const char *line)
{
    struct verifier *v = context;
    if (v->bad_database)
        return 0; /* one fault leads to many findings */
    v->bad_database = true;
    return verify_report(v, 0, NULL, "the database is damaged: %s", line);
}

static int verify_schema(struct verifier *v)
{
    return store_check_schema(v->store, bad_page, v, v->error);
}

static int verify_all(struct verifier *v)
{
    assert(v->n_questions == 0 && v->n_roots == 0 && v->damaged.n == 0);
    int rc = verify_note_runs(v);
    if (rc >= 0)
        rc = verify_rows(v);
    if (rc == 0 && !v->stop)
        rc = verify_questions(v);
    if (rc == 0 && !v->stop)
        rc = verify_runs(v);
    if (rc >= 0 && !v->stop)
        rc = verify_schema(v);
    if (rc >= 0 && !v->stop)
        rc = verify_run_rows(v);
    if (rc >= 0 && !v->stop)
        rc = verify_roots(v);
    if (rc >= 0 && !v->stop)
        rc = verify_losses(v, 0);
    if (rc >= 0 && !v->stop)
        rc = verify_files(v);
    if (rc >= 0 && !v->stop)
        rc = verify_logs(v);
    if (rc >= 0 && !v->stop)
        rc = verify_threads(v);
    if (rc >= 0 && !v->stop)
        rc =
            store_verify_objects(v->store, &v->result.objects, bad_object, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_check_pages(v->store, bad_page, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = verify_report_unread(v);
    return rc < 0 ? rc : 0;
}

/* With the wrong key every record looks damaged, so verify without one. */
static int verify_all_keyed(struct verifier *v)
{
    bool other = false;
    assert(!v->other_key);
    int rc = store_key(v->store) ? verify_other_key(v, &other) : 0;
    if (rc || !other)
        return rc ? rc : verify_all(v);
    rc = verify_report_as(v, CAIRN_PROBLEM_KEY, 0, NULL,
                          "no HMAC in the store is of this key: it is probably not the "
                          "key that the runs were recorded with. Nothing else is said "
                          "of HMACs");
    v->other_key = true;
    struct hmac_key *key = store_swap_key(v->store, NULL);
    assert(key);
    rc = rc ? 0 : verify_all(v);
    store_swap_key(v->store, key);
    return rc;
}

/* ---- The call ---- */

static void verifier_release(struct verifier *v)
{
    verify_rows_release(v);
    tombstones_release(&v->tombstones);
    seqs_release(&v->damaged);
    seqs_release(&v->unkeyed);
    seqs_release(&v->refused);
    free(v->questions);
    free(v->roots);
    sha256_free(v->sha);
}

static int count_pruned(struct verifier *v)
{
    assert(v->tombstones.n == 0);
    int rc = tombstones_load_all(v->store, &v->tombstones, v->error);
    for (size_t i = 0; i < v->tombstones.n && rc == 0; i++)
        v->result.pruned += v->tombstones.at[i].count;
    return rc;
}

static int result_code(const struct verifier *v, const char *id)
{
    const struct cairn_verify_result *r = &v->result;
    assert(r->damaged + r->bad_objects == 0 || v->n_damage + r->bad_hmacs > 0);
    assert(!id || r->checked == 1);
    if (r->damaged + r->bad_objects == 0 && v->bad_database)
        return error_set(v->error, CAIRN_EDAMAGED,
                         "every record is sound, but the database around them is "
                         "damaged: `cairn doctor --repair` saves them into a new one");
    if (r->damaged + r->bad_objects == 0)
        return v->other_key ? error_set(v->error, CAIRN_EDAMAGED,
                                        "no HMAC in the store is of this key")
                            : 0;
    if (id)
        return error_set(v->error, CAIRN_EDAMAGED, "checkpoint %.80s is damaged", id);
    if (v->n_damage == 0)
        return error_set(v->error, CAIRN_EDAMAGED,
                         "%llu records or rows have no HMAC of this key: they are not "
                         "believed; `cairn checkpoint delete` takes such a record out",
                         (unsigned long long)r->bad_hmacs);
    return error_set(v->error, CAIRN_EDAMAGED,
                     "the store is damaged: %llu of %llu records, %llu of %llu "
                     "objects; runs can still be resumed from their newest sound "
                     "checkpoint, and `cairn doctor --repair` takes out what is "
                     "damaged",
                     (unsigned long long)r->damaged, (unsigned long long)r->checked,
                     (unsigned long long)r->bad_objects,
                     (unsigned long long)r->objects);
}

int checkpoint_verify(struct cairn_store *store, const struct payload_kinds *kinds,
                      const char *id, const struct verify_reader *reader,
                      struct cairn_verify_result *result, struct cairn_error *error)
{
    int64_t start = clock_mono_ns();
    struct verifier v = {.store = store,
                         .kinds = kinds,
                         .sha = sha256_new(),
                         .reader = reader,
                         .stream_index = MAP_INIT,
                         .keys = ARENA_INIT,
                         .error = error};
    assert(kinds && reader);
    if (!v.sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (rc == 0) {
        rc = count_pruned(&v);
        if (rc == 0)
            rc = id ? verify_one(&v, id) : verify_all_keyed(&v);
        store_end_read(store);
    }
    if (rc == 0) {
        v.result.duration_ms = (clock_mono_ns() - start) / 1000000;
        if (result)
            *result = v.result;
        rc = result_code(&v, id);
    }
    verifier_release(&v);
    return rc;
}

int cairn_checkpoint_verify(struct cairn_store *store, const char *id,
                            int (*each)(void *, const struct cairn_problem *),
                            void *context, struct cairn_verify_result *result,
                            struct cairn_error *error)
{
    struct verify_reader reader = {each, context};
    return checkpoint_verify(store, &payload_kinds, id, &reader, result, error);
}
