/* SPDX-License-Identifier: MIT */
/* cairn_checkpoint_verify: everything that is stored, or one checkpoint with all that
 * it needs. One read transaction, so that a run beside it cannot look like damage.
 *
 * Deltas after one that was deleted, because it was damaged, are sound and linked to
 * its tombstone: the whole store verifies, and resume applies them. But their exact
 * state cannot be rebuilt, so that one of them asked for by its id is CAIRN_ENOTFOUND,
 * which names the deleted one, and not CAIRN_EDAMAGED. */
#include "checkpoint/verify_int.h"

#include "base/clock.h"
#include "checkpoint/verify.h"
#include "storage/health.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int report(struct verifier *v, enum cairn_problem_kind kind, uint64_t seq,
                  const char *id, const char *format, va_list args)
{
    char text[1024];
    struct cairn_problem problem = {.seq = seq, .text = text, .kind = kind};
    vsnprintf(text, sizeof text, format, args);
    if (id)
        snprintf(problem.id, sizeof problem.id, "%s", id);
    else if (seq)
        snprintf(problem.id, sizeof problem.id, "workflow:%llu",
                 (unsigned long long)seq);
    if (seq)
        v->result.damaged++;
    v->n_damage += kind == CAIRN_PROBLEM_DAMAGE;
    v->result.bad_hmacs += kind == CAIRN_PROBLEM_HMAC;
    if (v->each && !v->stop && v->each(v->context, &problem) != 0)
        v->stop = true;
    return v->stop ? 1 : 0;
}

int verify_report(struct verifier *v, uint64_t seq, const char *id, const char *format,
                  ...)
{
    va_list args;
    va_start(args, format);
    int rc = report(v, CAIRN_PROBLEM_DAMAGE, seq, id, format, args);
    va_end(args);
    return rc;
}

int verify_report_as(struct verifier *v, enum cairn_problem_kind kind, uint64_t seq,
                     const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = report(v, kind, seq, id, format, args);
    va_end(args);
    return rc;
}

int verify_damaged(struct verifier *v, enum cairn_problem_kind kind,
                   const struct checkpoint_row *row, const char *reason)
{
    char id[CAIRN_ID_MAX];
    row_id(row, id);
    if (seqs_add(&v->damaged, row->seq))
        return error_nomem(v->error);
    return verify_report_as(v, kind, row->seq, id,
                            seqs_has(&v->shut, row->stream)
                                ? "damaged: %s"
                                : "damaged: %s. Resume passes it over; tasks whose end "
                                  "only it recorded run again",
                            reason);
}

/* ---- Everything ---- */

/* With a key its records are told of. */
static int check_hmac(struct verifier *v, const struct run_row *row)
{
    if (store_key(v->store) || !seqs_has(&v->shut, row->run))
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

/* Ascending by run, as seqs_has wants it. */
static int note_run(void *context, const struct run_row *row)
{
    struct verifier *v = context;
    bool unkeyed = store_key(v->store) && !row->keyed, stripped = false;
    int rc = run_stripped(v->store, row, &stripped, v->error);
    if (rc)
        return rc;
    v->result.unkeyed_runs += unkeyed;
    if ((unkeyed && seqs_add(&v->unkeyed, row->run)) ||
        ((stripped || !row->sum_ok) && seqs_add(&v->shut, row->run)))
        return error_nomem(v->error);
    return 0;
}

static int bad_object(void *context, const char *digest_hex_text, const char *why)
{
    struct verifier *v = context;
    v->result.bad_objects++;
    return verify_report(v, 0, NULL, "object %.64s is damaged: %s", digest_hex_text,
                         why);
}

/* The pages of the database: one that no record or object lies on is noticed here. */
static int bad_page(void *context, const char *line)
{
    struct verifier *v = context;
    if (v->bad_database)
        return 0; /* one finding leads to many */
    v->bad_database = true;
    return verify_report(v, 0, NULL, "the database is damaged: %s", line);
}

static int bad_row(void *context, const struct bad_row *row)
{
    struct verifier *v = context;
    if (row->hmac && seqs_has(&v->unkeyed, row->run))
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
        return 0; /* told already */
    return verify_report(v, seq, NULL,
                         "the record is missing: an attempt of run %llu names it as "
                         "that of its end, and it was not deleted by cairn",
                         (unsigned long long)run);
}

static int missing_object(void *context, const char *hex)
{
    struct verifier *v = context;
    char graph[DIGEST_HEX_SIZE];
    for (size_t i = 0; i < v->n_graphs; i++) {
        digest_hex(&v->graphs[i], graph);
        if (strcmp(graph, hex) == 0)
            return 0; /* verify_graphs tells */
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
        return rc; /* it only looks like one of that run */
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

/* Rows outside of the records, and what they refer to. */
static int verify_other_rows(struct verifier *v)
{
    int rc = store_check_schema(v->store, bad_page, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_verify_rows(v->store, bad_row, v, v->error);
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

static int verify_all(struct verifier *v)
{
    struct run_filter every = {.ascending = true};
    int rc = store_each_run(v->store, &every, note_run, v, v->error);
    if (rc >= 0)
        rc = verify_rows(v);
    if (rc == 0 && !v->stop)
        rc = verify_questions(v);
    if (rc == 0 && !v->stop)
        rc = store_each_run(v->store, &every, check_run, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = verify_other_rows(v);
    if (rc >= 0 && !v->stop)
        rc = verify_graphs(v);
    if (rc >= 0 && !v->stop)
        rc =
            store_verify_objects(v->store, &v->result.objects, bad_object, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_check_pages(v->store, bad_page, v, v->error);
    return rc < 0 ? rc : 0;
}

/* With another key everything would be called damaged: it is laid down. */
static int verify_all_keyed(struct verifier *v)
{
    bool other = false;
    int rc = store_key(v->store) ? verify_other_key(v, &other) : 0;
    if (rc || !other)
        return rc ? rc : verify_all(v);
    rc = verify_report_as(v, CAIRN_PROBLEM_KEY, 0, NULL,
                          "no HMAC in the store is of this key: it is probably not the "
                          "key that the runs were recorded with. Nothing else is said "
                          "of HMACs");
    v->other_key = true;
    struct hmac_key *key = store_swap_key(v->store, NULL);
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
    seqs_release(&v->shut);
    free(v->questions);
    free(v->graphs);
    sha256_free(v->sha);
}

static int count_pruned(struct verifier *v)
{
    int rc = tombstones_load(v->store, 0, &v->tombstones, v->error);
    for (size_t i = 0; i < v->tombstones.n && rc == 0; i++)
        v->result.pruned += v->tombstones.at[i].count;
    return rc;
}

static int verdict(const struct verifier *v, const char *id)
{
    const struct cairn_verify_result *r = &v->result;
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

int cairn_checkpoint_verify(struct cairn_store *store, const char *id,
                            int (*each)(void *, const struct cairn_problem *),
                            void *context, struct cairn_verify_result *result,
                            struct cairn_error *error)
{
    int64_t start = clock_mono_ns();
    struct verifier v = {.store = store,
                         .sha = sha256_new(),
                         .each = each,
                         .context = context,
                         .stream_index = MAP_INIT,
                         .keys = ARENA_INIT,
                         .error = error};
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
        rc = verdict(&v, id);
    }
    verifier_release(&v);
    return rc;
}
