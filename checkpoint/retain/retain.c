/* SPDX-License-Identifier: MIT */
/* Deleting checkpoints: all but the newest, one, a few, or a whole stream. */
#include "checkpoint/retain/retain.h"

#include "checkpoint/outcomes.h"
#include "checkpoint/retain/span_int.h"
#include "checkpoint/tombstones_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_gc.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_annotation.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Retention: the newest records stay, and those that other streams start from. The rest
 * goes, in gaps between records that stay (span_int.h). What a kept record needs of a
 * gap before it is in the gap's tombstone. Where that cannot be made (the run is keyed,
 * and there is no key) the gap ends before the newest full record in it, so that only
 * whole segments go. */

struct part {
    uint64_t count, bytes; /* records */
};

struct gap {               /* records between two that are kept */
    uint64_t before, next; /* seqs of those; before 0: none */
    struct part all;
    struct part segments; /* of these the ones before `full` */
    uint64_t full;        /* seq of the newest sound full record in it, 0: none */
};

struct pruning {
    const struct chains *in;
    uint64_t stream;
    uint64_t cutoff; /* seq of the oldest record that must be kept, 0: all are kept */
    const struct kept_seqs *chosen; /* or: these, and damaged ones */
    struct gap *gaps;
    size_t n, room;
    struct gap gap; /* the one after `last`, so far */
    uint64_t seen;  /* seq of the row before */
    struct seq_set forks, labelled;
    struct cairn_prune_result sum;
    bool dry_run;
    struct cairn_error *error;
};

static void pruning_release(struct pruning *p)
{
    free(p->gaps);
    seqs_release(&p->forks);
    seqs_release(&p->labelled);
}

/* ---- Gaps ---- */

static int end_gap(struct pruning *p, uint64_t kept)
{
    int rc = 0;
    if (p->gap.all.count) {
        struct gap *gaps = array_room(p->gaps, p->n, &p->room, sizeof *gaps);
        p->gap.next = kept;
        if (gaps) {
            p->gaps = gaps;
            p->gaps[p->n++] = p->gap;
        } else {
            rc = error_nomem(p->error);
        }
    }
    p->gap = (struct gap){.before = kept};
    return rc;
}

static bool is_chosen(const struct kept_seqs *chosen, uint64_t seq)
{
    size_t low = 0, high = chosen->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chosen->at[middle] < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < chosen->n && chosen->at[low] == seq;
}

static bool is_kept(const struct pruning *p, const struct checkpoint_row *row)
{
    struct sound_record checked;
    if (seqs_has(&p->forks, row->seq) || seqs_has(&p->labelled, row->seq))
        return true;
    if (!p->chosen)
        return row->seq >= p->cutoff;
    return is_chosen(p->chosen, row->seq) ||
           row_check(row, p->in->sha, &checked, NULL) != 0;
}

static int scan_row(void *context, const struct checkpoint_row *row)
{
    struct pruning *p = context;
    struct sound_record checked;
    struct gap *gap = &p->gap;
    if (row->seq <= p->seen) /* by a damaged index */
        return error_set(p->error, CAIRN_EDAMAGED,
                         "the index of checkpoints leads to a wrong row: run `cairn "
                         "doctor`");
    p->seen = row->seq;
    p->sum.total++;
    if (is_kept(p, row))
        return end_gap(p, row->seq);
    if (row->kind == RECORD_FULL && row_check(row, p->in->sha, &checked, NULL) == 0) {
        gap->full = row->seq;
        gap->segments = gap->all;
    }
    gap->all.count++;
    gap->all.bytes += row->record.len;
    return 0;
}

static int note_seq(void *context, const struct checkpoint_row *row)
{
    *(uint64_t *)context = row->seq;
    return 1;
}

/* Labels are few: those of all checkpoints are looked at, in order. */
static int note_label(void *context, const struct annotation_row *row)
{
    struct pruning *p = context;
    bool keeps =
        row->kind == ANNOTATION_LABEL && str_equal(clean_str(row->text), STR("keep"));
    return keeps && seqs_add(&p->labelled, row->seq) ? error_nomem(p->error) : 0;
}

static int find_cutoff(struct pruning *p, uint32_t keep)
{
    struct checkpoint_range range = {.namespace_id = p->in->kind->namespace_id,
                                     .stream = p->stream,
                                     .descending = true,
                                     .offset = keep - 1,
                                     .limit = 1};
    assert(keep >= 1 && p->n == 0);
    int rc =
        store_each_checkpoint(p->in->store, &range, note_seq, &p->cutoff, p->error);
    return rc < 0 ? rc : 0;
}

static int find_gaps(struct pruning *p)
{
    struct checkpoint_range range = {.namespace_id = p->in->kind->namespace_id,
                                     .stream = p->stream};
    int rc = fork_points(p->in, p->stream, &p->forks, p->error)
                 ?: store_each_annotation(p->in->store, 0, note_label, p, p->error);
    if (rc)
        return rc;
    rc = store_each_checkpoint(p->in->store, &range, scan_row, p, p->error);
    assert(rc < 0 || p->chosen || p->gap.all.count == 0); /* the newest is kept */
    return rc < 0 ? rc : 0;
}

/* ---- Deleting ---- */

enum { NAMED_MOST = sizeof((struct cairn_prune_result *)0)->first / sizeof(uint64_t) };

static int name_row(void *context, const struct checkpoint_row *row)
{
    struct cairn_prune_result *sum = context;
    sum->first[sum->named++] = row->seq;
    return sum->named == NAMED_MOST;
}

static int name_some(struct pruning *p, uint64_t before, uint64_t next)
{
    struct checkpoint_range range = {.namespace_id = p->in->kind->namespace_id,
                                     .stream = p->stream,
                                     .first = before + 1,
                                     .last = next - 1};
    if (p->sum.named == NAMED_MOST || before + 1 == next)
        return 0;
    int rc = store_each_checkpoint(p->in->store, &range, name_row, &p->sum, p->error);
    return rc < 0 ? rc : 0;
}

void prune_result_add(struct cairn_prune_result *sum,
                      const struct cairn_prune_result *one)
{
    sum->total += one->total;
    sum->kept += one->kept;
    sum->deleted += one->deleted;
    sum->freed_bytes += one->freed_bytes;
    sum->surplus += one->surplus;
    for (uint32_t i = 0; i < one->named && sum->named < NAMED_MOST; i++)
        sum->first[sum->named++] = one->first[i];
}

/* 1: refused. */
static int delete_part(struct pruning *p, uint64_t before, uint64_t next,
                       const struct part *part)
{
    struct span span = {.in = p->in,
                        .stream = p->stream,
                        .before = before,
                        .next = next,
                        .forks = &p->forks,
                        .error = p->error};
    int rc = span_plan(&span);
    bool refused = span.refused;
    if (rc == 0 && !refused)
        rc = name_some(p, before, next);
    if (rc == 0 && !refused && !p->dry_run)
        rc = span_delete(&span);
    span_release(&span);
    if (rc || refused)
        return rc ? rc : 1;
    p->sum.deleted += part->count;
    p->sum.freed_bytes += part->bytes;
    return 0;
}

static int delete_gap(struct pruning *p, const struct gap *gap)
{
    assert(gap->before < gap->next && gap->all.count > 0);
    int rc = delete_part(p, gap->before, gap->next, &gap->all);
    if (rc == 1 && gap->segments.count)
        rc = delete_part(p, gap->before, gap->full, &gap->segments);
    return rc < 0 ? rc : 0;
}

/* Records behind the last one that is kept stay. */
static int prune_stream(struct pruning *p, struct cairn_prune_result *result)
{
    int rc = find_gaps(p);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = delete_gap(p, &p->gaps[i]);
    if (rc)
        return rc;
    assert(p->sum.deleted <= p->sum.total);
    p->sum.kept = p->sum.total - p->sum.deleted;
    *result = p->sum;
    return 0;
}

int chain_prune(const struct chains *in, const struct retention *wanted,
                struct cairn_prune_result *result, struct cairn_error *error)
{
    struct pruning p = {
        .in = in, .stream = wanted->stream, .dry_run = wanted->dry_run, .error = error};
    assert_chains(in);
    if (wanted->keep == 0 || wanted->stream == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "at least one checkpoint of each %s must be kept",
                         in->kind->stream_noun);
    int rc = find_cutoff(&p, wanted->keep) ?: prune_stream(&p, result);
    pruning_release(&p);
    if (!rc)
        result->surplus = result->kept > wanted->keep ? result->kept - wanted->keep : 0;
    return rc;
}

int chain_prune_except(const struct chains *in, uint64_t stream,
                       const struct kept_seqs *chosen, bool dry_run,
                       struct cairn_prune_result *result, struct cairn_error *error)
{
    struct pruning p = {.in = in,
                        .stream = stream,
                        .chosen = chosen,
                        .dry_run = dry_run,
                        .error = error};
    assert_chains(in);
    int rc = prune_stream(&p, result);
    pruning_release(&p);
    return rc;
}

int run_stream_prune(struct cairn_store *store, struct sha256 *sha, uint64_t run,
                     uint32_t keep, struct cairn_error *error)
{
    struct chains in = {.store = store, .sha = sha, .kind = &outcomes_kind};
    struct retention wanted = {.stream = run, .keep = keep};
    struct cairn_prune_result unused;
    return chain_prune(&in, &wanted, &unused, error);
}

/* ---- The call ---- */

static int note_run(void *context, const struct run_row *row)
{
    return seqs_add(context, row->run);
}

static int list_runs(struct cairn_store *store, uint64_t run, struct seq_set *runs,
                     struct cairn_error *error)
{
    struct run_filter every = {.ascending = true};
    int rc = run ? store_get_run(store, run, note_run, runs, error)
                 : store_each_run(store, &every, note_run, runs, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, rc, "there is no run %llu", (unsigned long long)run);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}

static int note_pruning(struct cairn_store *store, uint64_t run,
                        const struct cairn_prune_result *result,
                        struct cairn_error *error)
{
    char text[80];
    snprintf(text, sizeof text, "%llu checkpoint%s, %llu kept",
             (unsigned long long)result->deleted, result->deleted == 1 ? "" : "s",
             (unsigned long long)result->kept);
    return store_note_event(store, run, EVENT_PRUNED, str_of(text), error);
}

/* In a transaction; adds to `sum`. */
static int prune_run(const struct chains *in, const struct retention *wanted,
                     struct cairn_prune_result *sum, struct cairn_error *error)
{
    struct cairn_prune_result one = {0};
    int rc = chain_prune(in, wanted, &one, error);
    if (rc == 0 && one.deleted && !wanted->dry_run)
        rc = note_pruning(in->store, wanted->stream, &one, error);
    if (rc)
        return rc;
    assert(one.kept + one.deleted == one.total);
    prune_result_add(sum, &one);
    return 0;
}

static int prune_reading(const struct chains *in, const struct retention *wanted,
                         struct cairn_prune_result *sum, struct cairn_error *error)
{
    int rc = store_begin_read(in->store, error);
    if (rc)
        return rc;
    rc = prune_run(in, wanted, sum, error);
    store_end_read(in->store);
    return rc;
}

/* As many runs in one transaction as there is time for. One that fails undoes that of
 * those before it: they are pruned again, each by itself, so that it keeps nobody's
 * checkpoints but its own. */
static int prune_runs(const struct chains *in, const struct seq_set *runs,
                      uint32_t keep, struct cairn_prune_result *sum,
                      struct cairn_error *error)
{
    struct store_slice slice = {.store = in->store};
    struct cairn_prune_result before = *sum;
    size_t first = 0;
    bool alone = false;
    int rc = 0;
    for (size_t i = 0; i < runs->n && rc == 0; i++) {
        const struct retention wanted = {runs->at[i], keep, false};
        if (!slice.open) {
            before = *sum;
            first = i;
            rc = store_slice_begin(&slice, error);
            if (rc)
                return rc;
        }
        rc = prune_run(in, &wanted, sum, error);
        if (rc || alone || i + 1 == runs->n || store_slice_full(&slice))
            rc = store_slice_end(&slice, rc, error);
        if (rc && first < i && rc != CAIRN_ENOMEM) {
            *sum = before;
            alone = true;
            i = first - 1;
            rc = 0;
        }
    }
    return rc;
}

int cairn_checkpoint_prune(struct cairn_store *store,
                           const struct cairn_prune_options *options,
                           struct cairn_prune_result *result, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_prune_options, options, error);
    struct chains in = {.store = store, .kind = &outcomes_kind};
    struct cairn_prune_result sum = {0};
    struct seq_set runs = {0};
    if (options->keep == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "at least one checkpoint of each run must be kept");
    in.sha = sha256_new();
    if (!in.sha)
        return error_nomem(error);
    int rc = list_runs(store, options->run, &runs, error);
    if (!options->dry_run && rc == 0)
        rc = prune_runs(&in, &runs, options->keep, &sum, error);
    for (size_t i = 0; options->dry_run && i < runs.n && rc == 0; i++) {
        struct retention wanted = {runs.at[i], options->keep, true};
        rc = prune_reading(&in, &wanted, &sum, error);
    }
    seqs_release(&runs);
    sha256_free(in.sha);
    if (rc == 0 && result)
        *result = sum;
    return rc;
}

/* cairn_checkpoint_delete: one record. What the ones behind it need of it stays in its
 * tombstone (span_int.h). A damaged one may always be deleted. */

struct deletion {
    const struct chains *in; /* of `found` */
    struct found_checkpoint found;
    uint64_t seq, stream;
    uint64_t before, next; /* its neighbours in the stream, 0: none */
    bool sound;
    struct cairn_error *error;
};

static int see_stream(void *context, const struct checkpoint_row *row)
{
    struct deletion *d = context;
    d->stream = row->stream;
    return 0;
}

static int see_next(void *context, const struct checkpoint_row *row)
{
    struct deletion *d = context;
    d->next = row->seq != d->seq ? row->seq : 0;
    return 0;
}

static int see_before(void *context, const struct checkpoint_row *row)
{
    struct deletion *d = context;
    d->before = row->seq != d->seq ? row->seq : 0;
    return 0;
}

static int see_neighbours(struct deletion *d)
{
    struct checkpoint_range range = {.namespace_id = d->in->kind->namespace_id,
                                     .stream = d->stream,
                                     .first = d->seq,
                                     .limit = 2};
    assert(d->seq > 0 && d->stream > 0);
    int rc = store_each_checkpoint(d->in->store, &range, see_next, d, d->error);
    range.first = 0;
    range.last = d->seq;
    range.descending = true;
    return rc ?: store_each_checkpoint(d->in->store, &range, see_before, d, d->error);
}

/* ---- Whether it may be deleted ---- */

static int match_fork(void *context, const struct payload_fork *by)
{
    struct payload_fork *match = context;
    assert(match->stream == 0);
    if (by->seq != match->seq)
        return 0;
    *match = *by;
    return 1;
}

static int refuse_fork(struct deletion *d)
{
    const struct payload_kind *kind = d->in->kind;
    struct payload_fork match = {.seq = d->seq};
    assert(d->sound);
    int rc = kind->find_forks ? kind->find_forks(d->in->store, d->stream, match_fork,
                                                 &match, d->error)
                              : 0;
    if (rc < 0 || match.stream == 0)
        return rc < 0 ? rc : 0;
    return kind->keep_needed(d->in->store, d->stream, &match, d->error);
}

static int may_delete(struct deletion *d)
{
    const struct payload_kind *kind = d->in->kind;
    if (!d->sound)
        return 0;
    int rc = refuse_fork(d);
    if (rc || !kind->keep_one)
        return rc;
    return kind->keep_one(d->in->store, d->stream, d->seq, !d->next, d->error);
}

/* ---- Deleting ---- */

static int refuse_record(struct deletion *d, const struct cairn_error *why)
{
    char number[CAIRN_ID_MAX];
    checkpoint_number(d->in->kind->namespace_id, d->seq, number);
    return error_set(d->error, CAIRN_EUSAGE, "checkpoint %s is kept: %s", number,
                     why->text);
}

static int delete_record(struct deletion *d)
{
    struct seq_set forks = {0};
    struct span span = {.in = d->in,
                        .stream = d->stream,
                        .before = d->before,
                        .next = d->next,
                        .forks = &forks,
                        .forged = true, /* as the caller has asked for */
                        .error = d->error};
    assert(d->before < d->seq && (d->next == 0 || d->next > d->seq));
    int rc = fork_points(d->in, d->stream, &forks, d->error);
    if (rc == CAIRN_EDAMAGED && !d->sound) /* it may go in any case */
        rc = 0;
    if (rc == 0)
        rc = span_plan(&span);
    if (rc == 0)
        rc = span.refused ? refuse_record(d, &span.why) : span_delete(&span);
    span_release(&span);
    seqs_release(&forks);
    return rc;
}

static int note_deletion(struct deletion *d)
{
    char number[CAIRN_ID_MAX];
    uint8_t namespace_id = d->in->kind->namespace_id;
    bool of_run = namespace_id == NAMESPACE_WORKFLOW;
    checkpoint_number(namespace_id, d->seq, number);
    return store_note_event(d->in->store, of_run ? d->stream : EVENTS_OF_STORE,
                            EVENT_DELETED, str_of(number), d->error);
}

static int delete_in(struct deletion *d, const struct catalog *catalog, const char *id)
{
    struct cairn_error reason; /* of damage, which is not an error here */
    int rc = catalog_find(catalog, id, &d->found, &reason);
    if (rc)
        return error_set(d->error, rc, "%s", reason.text);
    assert(d->found.seq > 0);
    d->in = &d->found.in;
    d->seq = d->found.seq;
    d->sound = d->found.sound;
    return store_get_checkpoint(d->in->store, d->seq, see_stream, d, d->error)
           ?: see_neighbours(d)
           ?: may_delete(d)
           ?: delete_record(d)
           ?: note_deletion(d);
}

int catalog_delete(const struct catalog *catalog, const char *id,
                   struct cairn_error *error)
{
    struct deletion d = {.error = error};
    return store_begin(catalog->store, -1, error)
               ?: store_end(catalog->store, delete_in(&d, catalog, id), error);
}

int cairn_checkpoint_delete(struct cairn_store *store, const char *id,
                            struct cairn_error *error)
{
    struct catalog all = {store, sha256_new(), &payload_kinds, 0};
    if (!all.sha)
        return error_nomem(error);
    int rc = catalog_delete(&all, id, error);
    if (!rc)
        store_empty_log(store);
    sha256_free(all.sha);
    return rc;
}

/* Deleting a few records of a stream without reading the rest of it. */

struct listing {
    const struct chains *in;
    uint64_t stream;
    struct seq_set forks;
    uint64_t deleted;
    struct cairn_error *error;
};

/* The record before or after a seq in the stream, 0: there is none. */
static int find_beside(const struct listing *l, uint64_t seq, bool before,
                       uint64_t *beside)
{
    struct checkpoint_range range = {.namespace_id = l->in->kind->namespace_id,
                                     .stream = l->stream,
                                     .first = before ? 0 : seq + 1,
                                     .last = before ? seq - 1 : 0,
                                     .descending = before,
                                     .limit = 1};
    *beside = 0;
    if (before && seq == 1)
        return 0;
    int rc = store_each_checkpoint(l->in->store, &range, note_seq, beside, l->error);
    return rc < 0 ? rc : 0;
}

/* 1: it is refused. CAIRN_EDAMAGED: nothing was deleted. */
static int delete_between(struct listing *l, uint64_t before, uint64_t next, size_t n)
{
    struct span span = {.in = l->in,
                        .stream = l->stream,
                        .before = before,
                        .next = next,
                        .forks = &l->forks,
                        .error = l->error};
    assert(next > before);
    int rc = span_plan(&span);
    bool refused = span.refused;
    if (!rc && !refused) {
        rc = span_delete(&span);
        l->deleted += n;
        if (rc == CAIRN_EDAMAGED)
            rc = CAIRN_EIO; /* a part may be deleted: the transaction must not commit */
    }
    span_release(&span);
    return !rc && refused ? 1 : rc;
}

/* Those at `from` and after it that have nothing else between them go together. */
static int delete_run(struct listing *l, const struct kept_seqs *listed, size_t *from)
{
    uint64_t before, next = 0;
    size_t first = *from, end = first;
    int rc = find_beside(l, listed->at[first], true, &before);
    do
        rc = rc ? rc : find_beside(l, listed->at[end++], false, &next);
    while (!rc && end < listed->n && listed->at[end] == next &&
           !seqs_has(&l->forks, next));
    *from = end;
    if (rc || !next) /* the newest one stays */
        return rc;
    rc = delete_between(l, before, next, end - first);
    if (rc == 1 && end - first > 1) /* what is behind it is damaged, and may need it */
        rc = delete_between(l, before, listed->at[end - 1], end - first - 1);
    return rc < 0 ? rc : 0;
}

int chain_delete_listed(const struct chains *in, uint64_t stream,
                        const struct kept_seqs *listed, uint64_t *deleted,
                        struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct listing l = {.in = in, .stream = stream, .error = &why};
    assert_chains(in);
    int rc = listed->n ? fork_points(in, stream, &l.forks, &why) : 0;
    for (size_t i = 0; i < listed->n && !rc;) {
        if (seqs_has(&l.forks, listed->at[i]))
            i++;
        else
            rc = delete_run(&l, listed, &i);
    }
    seqs_release(&l.forks);
    *deleted = l.deleted;
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    return 0;
}

/* ---- The newest ---- */

struct counting {
    struct sha256 *sha;
    uint32_t left;
    uint64_t seq;
};

static int count_sound(void *context, const struct checkpoint_row *row)
{
    struct counting *counting = context;
    struct sound_record checked;
    if (row_check(row, counting->sha, &checked, NULL))
        return 0;
    counting->seq = row->seq;
    return --counting->left == 0;
}

int chain_nth_newest(const struct chains *in, uint64_t stream, uint32_t n,
                     uint64_t *seq, struct cairn_error *error)
{
    struct counting counting = {.sha = in->sha, .left = n};
    struct checkpoint_range range = {
        .namespace_id = in->kind->namespace_id, .stream = stream, .descending = true};
    assert(n > 0);
    int rc = store_each_checkpoint(in->store, &range, count_sound, &counting, error);
    *seq = counting.left ? 0 : counting.seq;
    return rc < 0 ? rc : 0;
}

/* Deleting all of a stream. */

struct whole {
    const struct chains *in;
    struct tombstone_row row; /* for all of it; count 0: nothing was seen yet */
};

static int see_record(void *context, const struct checkpoint_row *row)
{
    struct whole *whole = context;
    struct sound_record checked;
    bool sound = row_check_bytes(row, whole->in->sha, &checked, NULL) == 0;
    if (whole->row.count++ == 0) {
        whole->row.first = row->seq;
        if (sound)
            whole->row.before = checked.header.parent;
    }
    whole->row.last = row->seq;
    whole->row.after = row_digest(row, whole->in->sha);
    return 0;
}

static void see_tombstone(struct tombstone_row *row, const struct tombstone_row *old)
{
    bool none = row->count == 0;
    if (none || old->first < row->first) {
        row->first = old->first;
        row->before = old->before;
    }
    if (none || old->last > row->last) {
        row->last = old->last;
        row->after = old->after;
    }
    row->count += old->count;
}

int chain_delete_all(const struct chains *in, uint64_t stream, uint64_t *deleted,
                     struct cairn_error *error)
{
    struct checkpoint_range all = {.namespace_id = in->kind->namespace_id,
                                   .stream = stream};
    struct whole whole = {.in = in,
                          .row = {.namespace_id = in->kind->namespace_id,
                                  .stream = stream,
                                  .time_ns = clock_utc_ns()}};
    struct tombstones old = {0};
    uint64_t bytes;
    *deleted = 0;
    int rc = store_each_checkpoint(in->store, &all, see_record, &whole, error)
                 ?: tombstones_load(in->store, all.namespace_id, stream, &old, error);
    if (!rc && whole.row.count)
        rc = store_delete_checkpoints(in->store, all.namespace_id, stream, 1, INT64_MAX,
                                      deleted, &bytes, error);
    for (size_t i = 0; i < old.n && !rc; i++) {
        see_tombstone(&whole.row, &old.at[i]);
        rc = store_delete_tombstone(in->store, old.at[i].id, error);
    }
    if (!rc && whole.row.count)
        rc = store_put_tombstone(in->store, &whole.row, error);
    tombstones_release(&old);
    return rc < 0 ? rc : 0;
}
