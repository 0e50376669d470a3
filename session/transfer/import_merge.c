/* SPDX-License-Identifier: MIT */
/* What was merged into what in a session of a file. */
#include "session/transfer/transfer_int.h"

#include "base/array.h"

#include <stdlib.h>

int import_merge(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct session_merge merge;
    if (!line_get_number(line, "branch", &merge.branch) ||
        !line_get_number(line, "head", &merge.head) ||
        !line_get_number(line, "into", &merge.into) ||
        !line_get_number(line, "made", &merge.made) || merge.branch == merge.into)
        return import_incomplete(im, "merge");
    struct session_merge *at =
        array_room(s->merges, s->n_merges, &s->merges_capacity, sizeof *at);
    if (!at)
        return error_nomem(im->error);
    s->merges = at;
    at[s->n_merges++] = merge;
    return 0;
}

/* The state that was merged, or where the file does not have it, the newest one of that
 * branch before it, or where it begins; 0: none of them is there. */
static uint64_t head_here(const struct session_import *s,
                          const struct session_merge *merge, uint64_t from)
{
    uint64_t before = 0, start = 0;
    for (size_t i = 0; i < s->n_seqs; i++) {
        const struct seq_pair *pair = &s->seqs[i];
        if (pair->file == merge->head)
            return pair->here;
        if (pair->file < merge->head && pair->branch == merge->branch)
            before = pair->here;
        if (pair->file == from)
            start = pair->here;
    }
    return before ? before : start;
}

/* What came of it, or where the file does not have that, the next state that is there:
 * who begins from it, or from a later one, has what was merged. */
static uint64_t made_here(const struct session_import *s, uint64_t made)
{
    for (size_t i = 0; i < s->n_seqs; i++)
        if (s->seqs[i].file >= made)
            return s->seqs[i].here;
    return s->newest + 1;
}

static int put_merge(struct importing *im, const struct session_merge *merge,
                     const struct session_merges *known)
{
    struct session_import *s = &im->session;
    const struct file_branch *branch = import_branch_of(s, merge->branch),
                             *into = import_branch_of(s, merge->into);
    if (!branch || !into || !branch->here || !into->here) {
        import_refuse(
            im, "a merge: branch %llu is not in the file",
            (unsigned long long)(branch && branch->here ? merge->into : merge->branch));
        return 0;
    }
    struct session_merge here = {.branch = branch->here,
                                 .head = head_here(s, merge, branch->from),
                                 .into = into->here,
                                 .made = made_here(s, merge->made)};
    for (size_t i = 0; i < known->n; i++)
        if (known->at[i].branch == here.branch && known->at[i].head == here.head &&
            known->at[i].into == here.into && known->at[i].made == here.made)
            return 0;
    return here.head ? live_log_merge(&s->live, &here, im->error) : 0;
}

int import_put_merges(struct importing *im)
{
    struct session_import *s = &im->session;
    struct session_merges known = {0};
    struct cairn_error why = {0};
    int rc = !s->continued || !s->n_merges
                 ? 0
                 : store_load_merges(im->store, s->live.row.session, &known, &why);
    if (rc == CAIRN_EDAMAGED)
        rc = 0; /* of what is lost, those of the file are noted again */
    else if (rc)
        rc = error_set(im->error, rc, "%s", why.text);
    for (size_t i = 0; i < s->n_merges && !rc; i++)
        rc = put_merge(im, &s->merges[i], &known);
    session_merges_release(&known);
    if (rc || !s->n_merges || !s->live.turn)
        return rc;
    return store_note_merges(im->store, s->live.row.session, s->live.turn, im->error);
}
