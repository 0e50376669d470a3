/* SPDX-License-Identifier: MIT */
/* The packed B fields of payloads: runs of equal state, and changes. Pure; byte layout
 * in docs/format.md. */
#ifndef CHECKPOINT_PACKED_INT_H
#define CHECKPOINT_PACKED_INT_H

#include "base/reader.h"
#include "checkpoint/states.h"

/* CAIRN_EUSAGE for an outcome that format 1 cannot store. */
int pack_runs(const struct states *states, struct buf *out, struct cairn_error *error);
/* Fills `states`, which is initialised to its number of tasks and otherwise zero. */
int unpack_runs(struct str packed, struct states *states, struct cairn_error *error);

/* `changes` by ascending task, each at most once; CAIRN_EUSAGE otherwise. */
int pack_changes(const struct change *changes, size_t n, struct buf *out,
                 struct cairn_error *error);

struct change_reader {
    struct reader in;
    uint32_t tasks; /* bound of the indexes */
    uint64_t last;  /* task before, valid when `any` */
    bool any;
};
struct change_reader change_reader_of(struct str packed, uint32_t tasks);
/* 1: *change is the next one; 0: the end; CAIRN_EDAMAGED. */
int change_next(struct change_reader *reader, struct change *change,
                struct cairn_error *error);

/* A tpl image of a flat `format` of three of u, U and B: every byte must be accounted
 * for, and numbers be in this machine's byte order. CAIRN_EDAMAGED. */
int image_check(struct str image, const char *format, struct cairn_error *error);

#endif
