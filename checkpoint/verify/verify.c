/* SPDX-License-Identifier: MIT */
/* cairn_checkpoint_verify: everything that is stored, or one checkpoint with all that
 * it needs. One read transaction, so that a run beside it cannot look like damage.
 *
 * Where a damaged record was deleted, the deltas after it are sound and linked to its
 * tombstone: the whole store verifies, and resume applies them. But their exact state
 * cannot be rebuilt, so that one of them, asked for by its id, is CAIRN_ENOTFOUND
 * (which names the deleted record) and not CAIRN_EDAMAGED. */
#include "checkpoint/verify/verify_int.h"

#include "base/clock.h"
#include "checkpoint/verify/verify.h"
#include "storage/health.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

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
