/* SPDX-License-Identifier: MIT */
/* Exported heads: what somebody wrote down of the newest records, to be compared later.
 * From inside, nothing shows that the newest records were taken away whole, or that an
 * older copy stands in the store's place. */
#include "checkpoint/find.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/tombstones_int.h"
#include "checkpoint/trust.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Making one ---- */

struct head_reading {
    const struct chains *in;
    struct cairn_head *head;
    struct cairn_error *error;
};

/* A head that is damaged itself would vouch for nothing. */
static int fill_head(void *context, const struct checkpoint_row *row)
{
    struct head_reading *reading = context;
    struct cairn_head *head = reading->head;
    struct sound_record record;
    int rc = row_verify(row, reading->in->sha, &record, reading->error);
    if (rc)
        return rc;
    head->seq = row->seq;
    head->position = record.header.position;
    row_id(row, head->id);
    digest_hex(&record.digest, head->digest);
    return 0;
}

int chain_head(const struct chains *in, uint64_t stream, struct cairn_head *head,
               struct cairn_error *error)
{
    struct head_reading reading = {in, head, error};
    struct checkpoint_range range = {.namespace_id = in->kind->namespace_id,
                                     .stream = stream};
    uint64_t seq = 0;
    assert_chains(in);
    *head = (struct cairn_head){.run = stream};
    int rc = store_last_seq(in->store, range.namespace_id, stream, &seq, error);
    if (rc || seq == 0)
        return rc;
    rc = store_count_checkpoints(in->store, &range, &head->records, error);
    return rc ? rc : store_get_checkpoint(in->store, seq, fill_head, &reading, error);
}

struct heads {
    struct chains in;
    int (*each)(void *, const struct cairn_head *);
    void *context;
    bool stop;
    struct cairn_error *error;
};

static int pass_head(void *context, const struct run_row *row)
{
    struct heads *h = context;
    struct cairn_head head = {0};
    int rc = run_check_forged(h->in.store, row, h->error);
    if (!rc)
        rc = chain_head(&h->in, row->run, &head, h->error);
    if (rc || head.seq == 0)
        return rc;
    if (!h->stop)
        h->stop = h->each(h->context, &head) != 0;
    return h->stop;
}

static int pass_heads(struct heads *h, uint64_t run, struct cairn_head_store *of)
{
    struct cairn_store *store = h->in.store;
    struct run_filter every = {.ascending = true};
    snprintf(of->store, sizeof of->store, "%s", store_id(store));
    int rc = store_seq_after(store, &of->next_seq, h->error);
    if (!rc)
        rc = run ? store_get_run(store, run, pass_head, h, h->error)
                 : store_each_run(store, &every, pass_head, h, h->error);
    return rc < 0 ? rc : 0;
}

int cairn_checkpoint_head(struct cairn_store *store, uint64_t run,
                          int (*each)(void *, const struct cairn_head *), void *context,
                          struct cairn_head_store *of, struct cairn_error *error)
{
    struct heads h = {.in = {.store = store, .kind = &outcomes_kind},
                      .each = each,
                      .context = context,
                      .error = error};
    h.in.sha = sha256_new();
    if (!h.in.sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (!rc) {
        rc = pass_heads(&h, run, of);
        store_end_read(store);
    }
    sha256_free(h.in.sha);
    return rc;
}

/* ---- Comparing ---- */

struct comparison {
    struct cairn_store *store;
    struct sha256 *sha;
    struct tombstones tombstones;
    int (*each)(void *, const struct cairn_problem *);
    void *context;
    uint64_t problems;
    bool stop;
    struct cairn_error *error;
};

static void report(struct comparison *c, uint64_t seq, const char *id,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
static void report(struct comparison *c, uint64_t seq, const char *id,
                   const char *format, ...)
{
    char text[512];
    struct cairn_problem problem = {
        .seq = seq, .text = text, .kind = CAIRN_PROBLEM_HEAD};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(problem.id, sizeof problem.id, "%s", id);
    c->problems++;
    if (c->each && !c->stop)
        c->stop = c->each(c->context, &problem) != 0;
}

struct found {
    struct comparison *comparison;
    const struct cairn_head *head;
};

/* The record's own bytes are the business of the verification. */
static int see_record(void *context, const struct checkpoint_row *row)
{
    struct found *found = context;
    const struct cairn_head *head = found->head;
    struct digest digest = row_digest(row, found->comparison->sha);
    char hex[DIGEST_HEX_SIZE];
    digest_hex(&digest, hex);
    if (row->stream != head->run || strcmp(hex, head->digest) != 0)
        report(found->comparison, head->seq, head->id,
               "the record was replaced: the exported head has the SHA-256 %.12s, it "
               "has %.12s",
               head->digest, hex);
    return 0;
}

/* How much of the stream is left. */
static int tell_missing(struct comparison *c, const struct cairn_head *head)
{
    uint64_t last = 0;
    bool lost = false;
    int rc = store_last_seq(c->store, NAMESPACE_WORKFLOW, head->run, &last, c->error);
    if (!rc)
        rc = store_was_quarantined(c->store, head->seq, &lost, c->error);
    if (rc)
        return rc;
    if (lost)
        report(c, head->seq, head->id,
               "the record was damaged, and is lost: it was the newest of run %llu",
               (unsigned long long)head->run);
    else if (last && last < head->seq)
        report(c, head->seq, head->id,
               "the record is missing: run %llu now ends with checkpoint %llu, so its "
               "newest records were removed, or this is an older copy of the store",
               (unsigned long long)head->run, (unsigned long long)last);
    else
        report(c, head->seq, head->id,
               "the record is missing, and it was not deleted by cairn%s",
               last ? "" : ": nothing is left of its run");
    return 0;
}

/* Deleted ranges are fine, but for those that a repair made of what was lost. */
static int compare_one(struct comparison *c, const struct cairn_head *head)
{
    struct found found = {c, head};
    bool lost = false;
    int rc = store_get_checkpoint(c->store, head->seq, see_record, &found, c->error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    const struct tombstone_row *t =
        tombstones_cover(&c->tombstones, NAMESPACE_WORKFLOW, head->run, head->seq);
    rc = store_was_quarantined(c->store, head->seq, &lost, c->error);
    if (rc || !t || lost || t->stream != head->run)
        return rc ? rc : tell_missing(c, head);
    char hex[DIGEST_HEX_SIZE];
    digest_hex(&t->after, hex);
    if (t->last == head->seq && strcmp(hex, head->digest) != 0)
        report(c, head->seq, head->id,
               "the record was deleted, but another one than the exported head names");
    return 0;
}

static int compare_all(struct comparison *c, const struct cairn_head_store *of,
                       const struct cairn_head *heads, size_t n)
{
    uint64_t next = 0;
    int rc = store_seq_after(c->store, &next, c->error);
    if (rc)
        return rc;
    if (strcmp(of->store, store_id(c->store)) != 0)
        report(c, 0, "",
               "this is another store: the exported head is of %s, this is %s",
               of->store, store_id(c->store));
    else if (next < of->next_seq)
        report(
            c, 0, "",
            "the store is older than the exported head: the next checkpoint would be "
            "%llu, and was to be %llu when the head was exported",
            (unsigned long long)next, (unsigned long long)of->next_seq);
    for (size_t i = 0; i < n && !rc && !c->stop; i++)
        rc = compare_one(c, &heads[i]);
    return rc;
}

int cairn_checkpoint_compare(struct cairn_store *store,
                             const struct cairn_head_store *of,
                             const struct cairn_head *heads, size_t n,
                             int (*each)(void *, const struct cairn_problem *),
                             void *context, struct cairn_error *error)
{
    struct comparison c = {
        .store = store, .each = each, .context = context, .error = error};
    c.sha = sha256_new();
    if (!c.sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (!rc) {
        rc = tombstones_load_all(store, &c.tombstones, error);
        if (!rc)
            rc = compare_all(&c, of, heads, n);
        store_end_read(store);
    }
    tombstones_release(&c.tombstones);
    sha256_free(c.sha);
    if (rc || c.problems == 0)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the store does not hold what the exported head names");
}
