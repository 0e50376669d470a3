/* SPDX-License-Identifier: MIT */
/* Finding checkpoints: by printed id, newest first, and the newest of each stream. The
 * public calls cairn_checkpoint_list, _get, _latest, _head and _compare stand on these
 * with the outcomes of runs as their kind. */
#ifndef CHECKPOINT_FIND_H
#define CHECKPOINT_FIND_H

#include "checkpoint/recover.h"

/* Parses the printed id of a run's checkpoint in any accepted form to a seq and checks
 * its digest part. CAIRN_EUSAGE (not an id), CAIRN_ENOTFOUND, CAIRN_EAMBIGUOUS,
 * CAIRN_EDAMAGED. */
int checkpoint_find(struct cairn_store *store, const char *id, uint64_t *seq,
                    struct cairn_error *error);
/* The same in any namespace, also where the record is damaged: then `*sound` is false
 * and `error` has the reason. */
int chain_find(const struct chains *in, const char *id, uint64_t *seq, bool *sound,
               struct cairn_error *error);

/* cairn_checkpoint_list and cairn_checkpoint_get for one namespace. Records of an
 * unknown kind are listed with what their rows and headers say; chain_get returns
 * CAIRN_ENEWER. */
struct checkpoint_reader {
    int (*each)(void *, const struct cairn_checkpoint_info *); /* non-zero stops */
    void *context;
};
int chain_list(const struct chains *in, const struct cairn_checkpoint_filter *filter,
               const struct checkpoint_reader *reader, uint64_t *total,
               struct cairn_error *error);
int chain_get(const struct chains *in, const char *id,
              struct cairn_checkpoint_info *out, struct cairn_error *error);

/* Fills `head` with the newest record of a stream; seq 0: it has none. CAIRN_EDAMAGED
 * if that record is. */
int chain_head(const struct chains *in, uint64_t stream, struct cairn_head *head,
               struct cairn_error *error);

#endif
