/* SPDX-License-Identifier: MIT */
/* The content pool below rows of the store: frames of zstd (frame.c), and content out
 * of rows of the table `object` (read.c). storage/object.h is the contract for others.
 */
#ifndef STORAGE_POOL_POOL_H
#define STORAGE_POOL_POOL_H

#include "base/limits.h"
#include "base/sha256.h"
#include "base/str.h"
#include "storage/sqlite/statement.h"

/* ---- frame.c ---- */

/* What is kept between two objects: the contexts of zstd, and scratch memory. */
struct object_codec {
    struct ZSTD_CCtx_s *compress;
    struct ZSTD_DCtx_s *decompress;
    struct buf packed, delta; /* of what is put: by itself, and after a prefix */
    struct buf content;       /* of what is checked, and of what a delta is made from */
    struct buf bases[2];      /* of object_read: a base, and what that is made from */
    unsigned missed;          /* rows that object_get has read in vain */
};
/* NULL: out of memory. */
struct object_codec *object_codec_new(void);
void object_codec_free(struct object_codec *codec);
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
/* 1: it has that content now, 0: it is damaged, negative: error. */
int object_decompress(struct object_codec *codec, struct str frame, struct str prefix,
                      char *out, size_t size, struct cairn_error *error);
/* Whether a frame without a prefix has this very content. */
bool object_frame_has(struct object_codec *codec, struct str frame, struct str content);

/* ---- read.c ---- */

/* LONGER: the content of the base, and these bytes behind it. */
enum { CODEC_RAW = 0, CODEC_ZSTD = 1, CODEC_DELTA = 2, CODEC_LONGER = 3 };
static inline bool codec_has_base(int64_t codec)
{
    return codec == CODEC_DELTA || codec == CODEC_LONGER;
}

/* A row as the statements for objects give it, and as the table has it. */
struct object_row {
    uint64_t id;
    struct str digest, data;
    int64_t size, codec;
    uint64_t base; /* 0: none */
};
enum {
    OBJECT_ID_AT,
    OBJECT_DIGEST_AT,
    OBJECT_SIZE_AT,
    OBJECT_CODEC_AT,
    OBJECT_DATA_AT,
    OBJECT_BASE_AT,
    OBJECT_COLUMNS_READ,
    OBJECT_LENGTH_AT = OBJECT_COLUMNS_READ /* of the data: SQL_SEEK_OBJECT */
};
void object_from(const struct query *query, struct object_row *row);

/* What reading needs of a store. */
struct object_source {
    struct db *db;
    struct sha256 *sha;
    struct object_codec *codec;
};
void object_hash(struct sha256 *sha, struct str content, struct digest *digest);

struct object_chain {
    uint64_t ids[LIMIT_OBJECT_BASES]; /* the nearest first */
    unsigned n;
};
/* Finds the bases of a row. *why: NULL, or what is wrong with them. */
int object_chain(struct db *db, const struct object_row *row,
                 struct object_chain *chain, const char **why,
                 struct cairn_error *error);
/* Appends the content of a row, all of it checked. *why: NULL, or what is wrong with
 * the row or its bases; then, and after an error, `out` has what it had. Not into
 * codec->bases. */
int object_read(const struct object_source *source, const struct object_row *row,
                struct buf *out, const char **why, struct cairn_error *error);
/* The same by name. 1: there is one, 0: there is none; or an error. */
int object_get(const struct object_source *source, const struct digest *name,
               struct buf *out, const char **why, struct cairn_error *error);

#endif
