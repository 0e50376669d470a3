/* SPDX-License-Identifier: MIT */
/* cairn_checkpoint_delete: one record. What the ones behind it need of it stays in its
 * tombstone (span_int.h). A damaged one may always be deleted. */
#include "checkpoint/retain/retain.h"
#include "checkpoint/retain/span_int.h"

#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>

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
    if (rc == 0)
        rc = store_each_checkpoint(d->in->store, &range, see_before, d, d->error);
    return rc;
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
    if (rc || d->next || !kind->keep_newest)
        return rc;
    return kind->keep_newest(d->in->store, d->stream, d->seq, d->error);
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
    struct seqs forks = {0};
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
    struct cairn_error reason; /* of damage, which is no error here */
    int rc = catalog_find(catalog, id, &d->found, &reason);
    if (rc)
        return error_set(d->error, rc, "%s", reason.text);
    assert(d->found.seq > 0);
    d->in = &d->found.in;
    d->seq = d->found.seq;
    d->sound = d->found.sound;
    rc = store_get_checkpoint(d->in->store, d->seq, see_stream, d, d->error);
    if (rc == 0)
        rc = see_neighbours(d);
    if (rc == 0)
        rc = may_delete(d);
    if (rc == 0)
        rc = delete_record(d);
    return rc ? rc : note_deletion(d);
}

int catalog_delete(const struct catalog *catalog, const char *id,
                   struct cairn_error *error)
{
    struct deletion d = {.error = error};
    int rc = store_begin(catalog->store, -1, error);
    if (rc)
        return rc;
    return store_end(catalog->store, delete_in(&d, catalog, id), error);
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
