/* SPDX-License-Identifier: MIT */
/* Finding checkpoints: by printed id, newest first, and the newest of each stream. The
 * public calls cairn_checkpoint_list, _get, _latest, _delete and _head stand on these
 * with all payload kinds of this release. */
#ifndef CHECKPOINT_FIND_H
#define CHECKPOINT_FIND_H

#include "checkpoint/recover.h"

/* Where to look. Of a namespace that `kinds` lacks, records are found and listed with
 * what their rows and headers say. */
struct catalog {
    struct cairn_store *store;
    struct sha256 *sha; /* borrowed */
    const struct payload_kinds *kinds;
    uint8_t namespace_id; /* 0: any */
};

/* NULL: there is no such namespace. */
const struct payload_kind *catalog_kind(const struct catalog *catalog,
                                        uint8_t namespace_id);

/* What a printed id names, damaged or not. */
struct found_checkpoint {
    struct chains in; /* of its namespace */
    uint64_t seq;
    bool sound; /* if not, `error` has the reason */
};

/* A printed id in any accepted form; its digest part is checked. CAIRN_EUSAGE (not an
 * id), CAIRN_ENOTFOUND, CAIRN_EAMBIGUOUS. */
int catalog_find(const struct catalog *catalog, const char *id,
                 struct found_checkpoint *found, struct cairn_error *error);
/* Whether a text has such a form, of whatever checkpoint. */
bool checkpoint_is_like_id(struct str text);
/* Of a run's checkpoint that is sound: CAIRN_EDAMAGED otherwise. */
int checkpoint_find(struct cairn_store *store, const char *id, uint64_t *seq,
                    struct cairn_error *error);

/* cairn_checkpoint_list and cairn_checkpoint_get. Of an unknown kind catalog_get
 * returns CAIRN_ENEWER. */
struct checkpoint_reader {
    int (*each)(void *, const struct cairn_checkpoint_info *); /* non-zero stops */
    void *context;
};

int catalog_list(const struct catalog *catalog,
                 const struct cairn_checkpoint_filter *filter,
                 const struct checkpoint_reader *reader, uint64_t *total,
                 struct cairn_error *error);
int catalog_get(const struct catalog *catalog, const char *id,
                struct cairn_checkpoint_info *out, struct cairn_error *error);
/* Fills `head` with the newest record of a stream; seq 0: it has none. CAIRN_EDAMAGED
 * if that record is. */
int chain_head(const struct chains *in, uint64_t stream, struct cairn_head *head,
               struct cairn_error *error);

#endif
