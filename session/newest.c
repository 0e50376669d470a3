/* SPDX-License-Identifier: MIT */
/* The newest checkpoint of a session whose state is whole. */
#include "cairn/restore.h"
#include "session/session_int.h"

#include "base/array.h"
#include "base/utf8.h"
#include "storage/rows_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>

/* In a seq that is listed: it leads to the present state. No seq has this bit. */
#define OURS (1ull << 63)

struct newest {
    struct live live;
    uint64_t *seqs; /* of the current branch, descending, then of the others */
    uint64_t mark;  /* OURS for those of the branch that is listed */
    uint64_t from;  /* where the current branch begins */
    size_t n, capacity;
    int (*damaged)(void *, const char *id, const char *text);
    void *context;
    struct cairn_recovery found;
    struct cairn_error *error;
};

static int add_seq(void *context, const struct checkpoint_row *row)
{
    struct newest *newest = context;
    uint64_t *seqs =
        array_room(newest->seqs, newest->n, &newest->capacity, sizeof *seqs);
    if (!seqs)
        return error_nomem(newest->error);
    newest->seqs = seqs;
    seqs[newest->n++] = row->seq | newest->mark;
    return 0;
}

static int add_branch(void *context, const struct branch_row *row)
{
    struct newest *newest = context;
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = row->branch};
    bool current = row->branch == newest->live.row.branch;
    newest->mark = current ? OURS : 0;
    if (current)
        newest->from = row->from_seq;
    return store_each_checkpoint(newest->live.store, &range, add_seq, newest,
                                 newest->error);
}

static int by_seq(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static void report(struct newest *newest, const char *id, const char *text)
{
    newest->found.damaged++;
    if (newest->damaged)
        newest->damaged(newest->context, id, text);
}

/* Branches that are named by sound rows count, where others are damaged. */
static int list_seqs(struct newest *newest)
{
    struct cairn_error why = {0}, *error = newest->error;
    newest->error = &why;
    int rc = store_each_branch(newest->live.store, newest->live.row.session, add_branch,
                               newest, &why);
    newest->error = error;
    if (rc < 0 && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    if (rc)
        report(newest, "", why.text);
    for (size_t i = 0; i < newest->n; i++)
        if (newest->seqs[i] == newest->from)
            newest->seqs[i] |= OURS;
    if (newest->n)
        qsort(newest->seqs, newest->n, sizeof *newest->seqs, by_seq);
    return 0;
}

static void describe(struct newest *newest, const struct state_at *state)
{
    struct cairn_recovery *found = &newest->found;
    struct str name = clean_str(newest->live.row.name),
               message = state->sections.message;
    found->seq = state->at.ref.seq;
    found->time_ns = state->at.time_ns;
    checkpoint_id(NAMESPACE_DEBUG, found->seq, &state->at.ref.digest, found->id);
    snprintf(found->session, sizeof found->session, "%.*s",
             (int)utf8_fit(name, sizeof found->session - 1), name.ptr);
    snprintf(found->message, sizeof found->message, "%.*s",
             (int)utf8_fit(message, sizeof found->message - 1), message.ptr);
}

/* 1: this is it, 0: it is not whole. */
static int try_seq(struct newest *newest, uint64_t seq)
{
    struct state_at state;
    struct cairn_error why = {0};
    char number[CAIRN_ID_MAX];
    int rc = state_read(newest->live.store, newest->live.sha, seq, &state, &why);
    if (!rc)
        describe(newest, &state);
    state_release(&state);
    if (!rc)
        return 1;
    if (rc != CAIRN_EDAMAGED)
        return error_set(newest->error, rc, "%s", why.text);
    checkpoint_number(NAMESPACE_DEBUG, seq, number);
    report(newest, number, why.text);
    return 0;
}

static int search(struct newest *newest)
{
    struct str name = clean_str(newest->live.row.name);
    int rc = list_seqs(newest);
    for (size_t i = 0; i < newest->n && !rc; i++)
        rc = try_seq(newest, newest->seqs[i] & ~OURS);
    if (rc)
        return rc < 0 ? rc : 0;
    if (!newest->found.damaged)
        return error_set(
            newest->error, CAIRN_ENOTFOUND,
            "session %.*s has no checkpoint: `cairn checkpoint create MESSAGE` "
            "makes one",
            (int)name.len, name.ptr);
    return error_set(newest->error, CAIRN_EDAMAGED,
                     "no checkpoint of session %.*s is whole: run `cairn doctor`",
                     (int)name.len, name.ptr);
}

int cairn_session_newest(struct cairn_store *store, const char *session,
                         int (*damaged)(void *, const char *id, const char *text),
                         void *context, struct cairn_recovery *found,
                         struct cairn_error *error)
{
    struct newest newest = {.damaged = damaged, .context = context, .error = error};
    int rc = live_read(&newest.live, store, session, error);
    if (!rc)
        rc = search(&newest);
    rc = live_close(&newest.live, rc, error);
    free(newest.seqs);
    if (!rc)
        *found = newest.found;
    return rc;
}
