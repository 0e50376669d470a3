/* SPDX-License-Identifier: MIT */
/* The content pool, and the only door to zstd.
 *
 * An object is kept under the SHA-256 of its whole content: compressed as one zstd
 * frame that states its size (codec 1) where that is smaller, else as it is (codec 0).
 * Content is returned only if its digest is right; sizes are checked before, so that a
 * damaged row cannot ask for huge amounts of memory. */
#include "storage/object.h"

#include "base/limits.h"
#include "storage/rows_int.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>

enum { CODEC_RAW = 0, CODEC_ZSTD = 1, ZSTD_LEVEL = 3 };

/* Contexts are kept: making one costs more than compressing a small object. */
struct object_codec {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    struct buf packed;  /* scratch of put */
    struct buf content; /* scratch of verify */
};

void object_codec_free(struct object_codec *codec)
{
    if (!codec)
        return;
    ZSTD_freeCCtx(codec->compress);
    ZSTD_freeDCtx(codec->decompress);
    buf_release(&codec->packed);
    buf_release(&codec->content);
    free(codec);
}

static struct object_codec *get_codec(struct cairn_store *store)
{
    if (store->codec)
        return store->codec;
    struct object_codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return NULL;
    codec->compress = ZSTD_createCCtx();
    codec->decompress = ZSTD_createDCtx();
    if (!codec->compress || !codec->decompress) {
        object_codec_free(codec);
        return NULL;
    }
    store->codec = codec;
    return codec;
}

static void hash_content(struct cairn_store *store, struct str content,
                         struct digest *digest)
{
    sha256_begin(store->sha);
    sha256_add(store->sha, content.ptr, content.len);
    sha256_end(store->sha, digest);
}

/* So that one huge object does not keep its scratch memory until the store is closed.
 */
static void release_if_huge(struct buf *buf)
{
    if (buf->capacity > 4 << 20)
        buf_release(buf);
}

/* ---- Writing ---- */

/* The frame, or an empty str if it would not be smaller. */
static int compress_content(struct object_codec *codec, struct str content,
                            struct str *packed, struct cairn_error *error)
{
    assert(content.len <= LIMIT_OBJECT_BYTES);
    *packed = (struct str){NULL, 0};
    if (content.len < 16) /* a frame has at least 9 bytes of its own */
        return 0;
    buf_clear(&codec->packed);
    /* No room for more than would be of use: zstd then stops with an error. */
    void *room = buf_grow(&codec->packed, content.len - 1);
    if (!room)
        return error_nomem(error);
    size_t n = ZSTD_compressCCtx(codec->compress, room, content.len - 1, content.ptr,
                                 content.len, ZSTD_LEVEL);
    if (!ZSTD_isError(n))
        *packed = (struct str){room, n};
    assert(packed->len < content.len);
    return 0;
}

static int write_object(struct cairn_store *store, enum sql_id id,
                        const struct digest *digest, struct str content,
                        struct cairn_error *error)
{
    store_assert_writing(store);
    struct object_codec *codec = get_codec(store);
    struct str packed;
    if (!codec)
        return error_nomem(error);
    int rc = compress_content(codec, content, &packed, error);
    /* Before SQLite refuses it, which would spoil the whole transaction. */
    if (!rc && (packed.len ? packed.len : content.len) > LIMIT_ROW_BYTES)
        rc = error_set(error, CAIRN_ELIMIT,
                       "%zu bytes are too many for one stored object (at most %d)",
                       content.len, LIMIT_ROW_BYTES);
    if (!rc)
        rc = store_write(store, id,
                         VALUES(value_blob(digest_view(digest)), value_u64(content.len),
                                value_int(packed.len ? CODEC_ZSTD : CODEC_RAW),
                                value_blob(packed.len ? packed : content)),
                         error);
    release_if_huge(&codec->packed);
    return rc;
}

/* ---- Reading ---- */

struct object_row {
    struct str digest, data;
    int64_t size, codec;
};

static void object_from(const struct query *query, struct object_row *row)
{
    *row = (struct object_row){.digest = query_blob(query, 0),
                               .size = query_int(query, 1),
                               .codec = query_int(query, 2),
                               .data = query_blob(query, 3)};
}

/* Appends the content and checks it. Returns NULL or what is wrong with it; *nomem set
 * if that is only a lack of memory. `out` may have grown then. */
static const char *unpack_row(struct cairn_store *store, const struct object_row *row,
                              struct buf *out, bool *nomem)
{
    assert(row->data.ptr || row->data.len == 0);
    struct object_codec *codec = get_codec(store);
    struct digest digest;
    *nomem = !codec;
    if (!codec)
        return "out of memory";
    if (row->size < 0 || row->size > LIMIT_OBJECT_BYTES)
        return "its size is impossible";
    size_t size = (size_t)row->size;
    if (row->codec == CODEC_RAW && row->data.len != size)
        return "its length is not what is recorded";
    if (row->codec == CODEC_ZSTD &&
        ZSTD_getFrameContentSize(row->data.ptr, row->data.len) != size)
        return "its compressed data is damaged";
    if (row->codec != CODEC_RAW && row->codec != CODEC_ZSTD)
        return "its codec is unknown";
    char *room = buf_grow(out, size);
    *nomem = !room;
    if (!room)
        return "out of memory";
    if (row->codec == CODEC_RAW && size)
        memcpy(room, row->data.ptr, size);
    if (row->codec == CODEC_ZSTD &&
        ZSTD_decompressDCtx(codec->decompress, room, size, row->data.ptr,
                            row->data.len) != size)
        return "its compressed data is damaged";
    hash_content(store, (struct str){room, size}, &digest);
    return str_equal(row->digest, digest_view(&digest))
               ? NULL
               : "its content does not match its digest";
}

/* Removes what was appended. */
static void cut_back(struct buf *buf, size_t size)
{
    assert(size <= buf->size);
    buf->size = size;
    if (buf->data)
        buf->data[size] = 0;
}

int store_get_object(struct cairn_store *store, const struct digest *digest,
                     struct buf *out, struct cairn_error *error)
{
    char hex[DIGEST_HEX_SIZE];
    struct query query;
    store_assert_open(store);
    size_t before = out->size;
    digest_hex(digest, hex);
    int rc = query_start(&query, store->db, SQL_GET_OBJECT,
                         VALUES(value_blob(digest_view(digest))), error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc == 0) {
        rc = error_set(error, CAIRN_ENOTFOUND, "the store has no object %s", hex);
    } else if (rc > 0) {
        struct object_row row;
        bool nomem;
        object_from(&query, &row);
        const char *why = unpack_row(store, &row, out, &nomem);
        rc = 0;
        if (why) {
            cut_back(out, before);
            rc = nomem ? error_nomem(error)
                       : error_set(error, CAIRN_EDAMAGED,
                                   "the stored object %s is damaged (%s): run `cairn "
                                   "doctor`",
                                   hex, why);
        }
    }
    query_end(&query);
    return rc;
}

/* ---- Putting what may be there already ---- */

/* Piece by piece: it may be large, and is in memory already. */
static bool frame_has(struct object_codec *codec, struct str frame, struct str content)
{
    enum { PIECE_BYTES = 64 << 10 };
    ZSTD_inBuffer in = {frame.ptr, frame.len, 0};
    size_t at = 0, rest = 1;
    buf_clear(&codec->content);
    char *piece = buf_grow(&codec->content, PIECE_BYTES);
    ZSTD_DCtx_reset(codec->decompress, ZSTD_reset_session_only);
    while (piece && rest) {
        ZSTD_outBuffer out = {piece, PIECE_BYTES, 0};
        rest = ZSTD_decompressStream(codec->decompress, &out, &in);
        if (ZSTD_isError(rest) || (rest && !out.pos) || out.pos > content.len - at ||
            memcmp(content.ptr + at, piece, out.pos) != 0)
            return false;
        at += out.pos;
    }
    return !rest && at == content.len && in.pos == in.size;
}

/* Whether the row has this very content. No digest is needed to tell. */
static bool row_has(struct cairn_store *store, const struct object_row *row,
                    struct str content)
{
    struct object_codec *codec = get_codec(store);
    if (row->size < 0 || (uint64_t)row->size != content.len)
        return false;
    if (row->codec == CODEC_RAW)
        return str_equal(row->data, content);
    return row->codec == CODEC_ZSTD &&
           ZSTD_getFrameContentSize(row->data.ptr, row->data.len) == content.len &&
           frame_has(codec, row->data, content);
}

/* *id: of the object of that name, 0: there is none; *good: it is not damaged. */
static int find_object(struct cairn_store *store, const struct digest *digest,
                       struct str content, uint64_t *id, bool *good,
                       struct cairn_error *error)
{
    struct query query;
    *id = 0;
    int rc = query_start(&query, store->db, SQL_FIND_OBJECT,
                         VALUES(value_blob(digest_view(digest))), error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc > 0) {
        struct object_row row;
        object_from(&query, &row);
        *id = query_u64(&query, 4);
        *good = row_has(store, &row, content);
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}

int store_put_object(struct cairn_store *store, struct str content,
                     struct digest *digest, struct cairn_error *error)
{
    struct digest name;
    uint64_t present;
    bool good = true;
    store_assert_writing(store);
    if (content.len > LIMIT_OBJECT_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "%zu bytes are too many for one stored object (at most %d)",
                         content.len, LIMIT_OBJECT_BYTES);
    if (!get_codec(store))
        return error_nomem(error);
    hash_content(store, content, &name);
    int rc = find_object(store, &name, content, &present, &good, error);
    if (!rc)
        rc = !present ? write_object(store, SQL_PUT_OBJECT, &name, content, error)
             : good   ? store_spare_object(store, present, error)
                      : write_object(store, SQL_MEND_OBJECT, &name, content, error);
    if (!rc && present && !good)
        rc = store_spare_object(store, present, error);
    if (!rc)
        *digest = name;
    return rc;
}

int object_sound(struct cairn_store *store, const struct sql_value values[5],
                 struct cairn_error *error)
{
    const struct object_row row = {.digest = values[1].bytes,
                                   .size = values[2].integer,
                                   .codec = values[3].integer,
                                   .data = values[4].bytes};
    struct object_codec *codec = get_codec(store);
    bool nomem;
    if (!codec)
        return error_nomem(error);
    buf_clear(&codec->content);
    const char *why = unpack_row(store, &row, &codec->content, &nomem);
    release_if_huge(&codec->content);
    return nomem ? error_nomem(error) : !why;
}

/* 0 if it is good, else what the callback returns; negative also for errors of our own.
 */
static int verify_row(struct cairn_store *store, const struct object_row *row,
                      int (*bad)(void *, const char *, const char *), void *context,
                      struct cairn_error *error)
{
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    bool nomem;
    struct object_codec *codec = get_codec(store);
    if (!codec)
        return error_nomem(error);
    buf_clear(&codec->content);
    const char *why = unpack_row(store, row, &codec->content, &nomem);
    release_if_huge(&codec->content);
    if (!why)
        return 0;
    if (nomem)
        return error_nomem(error);
    digest_from(row->digest, &digest);
    digest_hex(&digest, hex);
    return bad ? bad(context, hex, why) : 0;
}

int store_verify_objects(struct cairn_store *store, uint64_t *checked,
                         int (*bad)(void *, const char *digest_hex, const char *why),
                         void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    uint64_t n = 0;
    int rc = query_start(&query, store->db, SQL_EACH_OBJECT, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        struct object_row row;
        object_from(&query, &row);
        n++;
        rc = verify_row(store, &row, bad, context, error);
        if (rc)
            break;
    }
    query_end(&query);
    if (rc < 0)
        return rc;
    *checked = n;
    return 0;
}
