/* SPDX-License-Identifier: MIT */
/* Deleting a few records of a stream without reading the rest of it. */
#include "checkpoint/retain/retain.h"
#include "checkpoint/retain/span_int.h"

#include "storage/rows_checkpoint.h"

#include <assert.h>

struct listing {
    const struct chains *in;
    uint64_t stream;
    struct seqs forks;
    uint64_t deleted;
    struct cairn_error *error;
};

static int note_seq(void *context, const struct checkpoint_row *row)
{
    *(uint64_t *)context = row->seq;
    return 1;
}

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
