/* SPDX-License-Identifier: MIT */
/* Exported heads: the newest record of each stream, written down outside the store, to
 * be compared with it later. The store itself cannot show that its newest records were
 * removed, or that it was replaced by an older copy. */
#include "checkpoint/find.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/sections.h"
#include "checkpoint/tombstones_int.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Exporting ---- */

struct head_reading {
    const struct chains *in;
    struct cairn_head *head;
    struct cairn_error *error;
};

/* A damaged record would prove nothing as a head. */
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
    bool debug = range.namespace_id == NAMESPACE_DEBUG;
    *head =
        (struct cairn_head){.run = debug ? 0 : stream, .branch = debug ? stream : 0};
    int rc = store_last_seq(in->store, range.namespace_id, stream, &seq, error);
    if (rc || seq == 0)
        return rc;
    return store_count_checkpoints(in->store, &range, &head->records, error)
               ?: store_get_checkpoint(in->store, seq, fill_head, &reading, error);
}

struct head_export {
    struct chains in;
    int (*each)(void *, const struct cairn_head *);
    void *context;
    bool stop;
    struct cairn_error *error;
};

static int export_stream(struct head_export *h, uint64_t stream)
{
    struct cairn_head head = {0};
    assert(!h->stop);
    int rc = chain_head(&h->in, stream, &head, h->error);
    if (rc || head.seq == 0)
        return rc;
    h->stop = h->each(h->context, &head) != 0;
    return h->stop;
}

static int export_run(void *context, const struct run_row *row)
{
    struct head_export *h = context;
    return run_check_forged(h->in.store, row, h->error) ?: export_stream(h, row->run);
}

static int export_branch(void *context, const struct branch_row *row)
{
    return export_stream(context, row->branch);
}

static int export_heads(struct head_export *h, uint64_t run,
                        struct cairn_head_store *of)
{
    struct cairn_store *store = h->in.store;
    struct run_filter every = {.ascending = true};
    snprintf(of->store, sizeof of->store, "%s", store_lineage(store));
    int rc = store_seq_after(store, &of->next_seq, h->error);
    h->in.kind = &outcomes_kind;
    if (!rc)
        rc = run ? store_get_run(store, run, export_run, h, h->error)
                 : store_each_run(store, &every, export_run, h, h->error);
    h->in.kind = &sections_kind;
    if (rc >= 0 && !run && !h->stop)
        rc = store_each_branch(store, 0, export_branch, h, h->error);
    return rc < 0 ? rc : 0;
}

int cairn_checkpoint_head(struct cairn_store *store, uint64_t run,
                          int (*each)(void *, const struct cairn_head *), void *context,
                          struct cairn_head_store *of, struct cairn_error *error)
{
    struct head_export h = {.in = {.store = store, .sha = sha256_new()},
                            .each = each,
                            .context = context,
                            .error = error};
    if (!h.in.sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (!rc) {
        rc = export_heads(&h, run, of);
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

static void report_problem(struct comparison *c, uint64_t seq, const char *id,
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

static uint8_t namespace_of(const struct cairn_head *head)
{
    return head->branch ? NAMESPACE_DEBUG : NAMESPACE_WORKFLOW;
}

static uint64_t stream_of(const struct cairn_head *head)
{
    return head->branch ? head->branch : head->run;
}

/* "run 3", "branch 3" */
static const char *stream_text(const struct cairn_head *head, char text[40])
{
    snprintf(text, 40, "%s %llu", head->branch ? "branch" : "run",
             (unsigned long long)stream_of(head));
    return text;
}

struct head_match {
    struct comparison *comparison;
    const struct cairn_head *head;
};

/* Only its digest: the record's bytes are for the verification to check. */
static int compare_record(void *context, const struct checkpoint_row *row)
{
    struct head_match *match = context;
    const struct cairn_head *head = match->head;
    struct digest digest = row_digest(row, match->comparison->sha);
    char hex[DIGEST_HEX_SIZE];
    digest_hex(&digest, hex);
    if (row->stream != stream_of(head) || row->namespace_id != namespace_of(head) ||
        strcmp(hex, head->digest) != 0)
        report_problem(
            match->comparison, head->seq, head->id,
            "the record was replaced: the exported head has the SHA-256 %.12s, it "
            "has %.12s",
            head->digest, hex);
    return 0;
}

/* Says how much of the stream is left. */
static int report_missing(struct comparison *c, const struct cairn_head *head)
{
    uint64_t last = 0;
    bool lost = false;
    char text[40];
    int rc =
        store_last_seq(c->store, namespace_of(head), stream_of(head), &last, c->error)
            ?: store_was_quarantined(c->store, head->seq, &lost, c->error);
    if (rc)
        return rc;
    if (lost)
        report_problem(c, head->seq, head->id,
                       "the record was damaged, and is lost: it was the newest of %s",
                       stream_text(head, text));
    else if (last && last < head->seq)
        report_problem(
            c, head->seq, head->id,
            "the record is missing: %s now ends with checkpoint %llu, so its "
            "newest records were removed, or this is an older copy of the store",
            stream_text(head, text), (unsigned long long)last);
    else
        report_problem(c, head->seq, head->id,
                       "the record is missing, and it was not deleted by cairn%s",
                       last           ? ""
                       : head->branch ? ": nothing is left of its branch"
                                      : ": nothing is left of its run");
    return 0;
}

/* A deleted range is not a problem, unless a repair made it for lost records. */
static int compare_one(struct comparison *c, const struct cairn_head *head)
{
    struct head_match match = {c, head};
    bool lost = false;
    assert(!c->stop);
    int rc =
        store_get_checkpoint(c->store, head->seq, compare_record, &match, c->error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    const struct tombstone_row *t = tombstones_cover(&c->tombstones, namespace_of(head),
                                                     stream_of(head), head->seq);
    rc = store_was_quarantined(c->store, head->seq, &lost, c->error);
    if (rc || !t || lost || t->stream != stream_of(head))
        return rc ? rc : report_missing(c, head);
    char hex[DIGEST_HEX_SIZE];
    digest_hex(&t->after, hex);
    if (t->last == head->seq && strcmp(hex, head->digest) != 0)
        report_problem(
            c, head->seq, head->id,
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
    if (strcmp(of->store, store_lineage(c->store)) != 0)
        report_problem(c, 0, "",
                       "this is another store: the exported head is of %s, this is %s",
                       of->store, store_lineage(c->store));
    else if (next < of->next_seq)
        report_problem(
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
        rc = tombstones_load_all(store, &c.tombstones, error)
                 ?: compare_all(&c, of, heads, n);
        store_end_read(store);
    }
    tombstones_release(&c.tombstones);
    sha256_free(c.sha);
    if (rc || c.problems == 0)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the store does not hold what the exported head names");
}
