/* SPDX-License-Identifier: MIT */
/* What labels of a checkpoint decide. */
#ifndef CHECKPOINT_ANNOTATIONS_H
#define CHECKPOINT_ANNOTATIONS_H

#include "base/clean.h"
#include "cairn/checkpoint.h"

/* 1: it has this label, 0: not, <0 error. */
int checkpoint_has_label(struct cairn_store *store, uint64_t seq, const char *label,
                         struct cairn_error *error);
/* Of the label `broken`: CAIRN_EUSAGE, with what to do. */
int checkpoint_check_broken(struct cairn_store *store, uint64_t seq, const char *id,
                            struct cairn_error *error);

/* As cairn_checkpoint_label and cairn_checkpoint_note, of texts without secrets. */
int checkpoint_label(struct cairn_store *store, const char *id, struct clean label,
                     bool on, struct cairn_error *error);
int checkpoint_note(struct cairn_store *store, const char *id, struct clean text,
                    const char *severity, struct cairn_error *error);

#endif
