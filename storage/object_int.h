/* SPDX-License-Identifier: MIT */
/* The content pool inside: object_frame.c is the only door to zstd, object_read.c gets
 * content out of rows, object.c puts it in and checks it. */
#ifndef STORAGE_OBJECT_INT_H
#define STORAGE_OBJECT_INT_H

#include "storage/object.h"
#include "storage/rows_int.h"

enum { CODEC_RAW = 0, CODEC_ZSTD = 1, CODEC_DELTA = 2 };
enum { OBJECT_BASES = 16 }; /* most bases, one below the other */

/* ---- object_frame.c ---- */

struct object_codec {
    struct ZSTD_CCtx_s *compress;
    struct ZSTD_DCtx_s *decompress;
    struct buf packed, delta; /* scratch of put */
    struct buf content;       /* scratch of verify, and of put */
    struct buf bases[2];      /* of reading: a base, and what it is made from */
};
/* NULL: out of memory. */
struct object_codec *object_codec(struct cairn_store *store);
/* So that one huge object does not keep its scratch memory until the store is closed.
 */
void object_release_if_huge(struct buf *buf);
/* Makes *packed, which lies in `room`, the frame of the content, after `prefix` if that
 * is not empty; or an empty str if it would not have less than `size` bytes. */
int object_compress(struct object_codec *codec, struct str content, struct str prefix,
                    size_t size, struct buf *room, struct str *packed,
                    struct cairn_error *error);
/* Whether the frame says that it has so much content. */
bool object_frame_fits(struct str frame, uint64_t size);
bool object_decompress(struct object_codec *codec, struct str frame, struct str prefix,
                       char *out, size_t size);
/* Whether a frame without a prefix has this very content. */
bool object_frame_has(struct object_codec *codec, struct str frame, struct str content);

/* ---- object_read.c ---- */

/* The columns of the statements for objects, and of the table. */
struct object_row {
    uint64_t id;
    struct str digest, data;
    int64_t size, codec;
    uint64_t base; /* 0: none */
};
void object_from(const struct query *query, struct object_row *row);

struct object_chain {
    uint64_t ids[OBJECT_BASES]; /* the nearest first */
    unsigned n;
};
/* Finds the bases of a row. *why: NULL, or what is wrong with them. */
int object_chain(struct cairn_store *store, const struct object_row *row,
                 struct object_chain *chain, const char **why,
                 struct cairn_error *error);
/* Appends the content of a row, all of it checked. *why: NULL, or what is wrong with
 * the row or its bases; then, and after an error, `out` has what it had. Not into
 * codec->bases. */
int object_read(struct cairn_store *store, const struct object_row *row,
                struct buf *out, const char **why, struct cairn_error *error);
void object_hash(struct cairn_store *store, struct str content, struct digest *digest);

#endif
