/* SPDX-License-Identifier: MIT */
/* Rows of labels and notes that were put on checkpoints of either namespace later, and
 * so stand outside of their records. They go with their checkpoint. A row whose
 * checksum does not hold is named (CAIRN_EDAMAGED), and nothing of it is handed out. */
#ifndef STORAGE_SESSIONS_ROWS_ANNOTATION_H
#define STORAGE_SESSIONS_ROWS_ANNOTATION_H

#include "base/clean.h"
#include "cairn/store.h"

enum annotation_kind { ANNOTATION_LABEL = 1, ANNOTATION_NOTE = 2 };
struct annotation_row {
    uint64_t seq;     /* of the checkpoint */
    uint32_t n;       /* from 1, within it */
    int64_t time_ns;  /* UTC */
    uint8_t kind;     /* enum annotation_kind */
    uint8_t severity; /* of a note, by session/; 0: none */
    struct clean text;
};
/* Of a checkpoint that is there, with a number that is free. */
int store_put_annotation(struct cairn_store *store, const struct annotation_row *row,
                         struct cairn_error *error);
int store_drop_annotation(struct cairn_store *store, uint64_t seq, uint32_t n,
                          struct cairn_error *error);
typedef int annotation_row_fn(void *context, const struct annotation_row *row);
/* By number; seq 0: of all checkpoints, by seq. A non-zero return stops, and is
 * returned if negative. */
int store_each_annotation(struct cairn_store *store, uint64_t seq,
                          annotation_row_fn *each, void *context,
                          struct cairn_error *error);

#endif
