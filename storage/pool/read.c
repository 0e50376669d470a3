/* SPDX-License-Identifier: MIT */
/* From rows to content. That of a delta needs the content of its base, which may be a
 * delta, too: the bases are listed from the row down, then read from the lowest one up,
 * with two contents in memory at a time.
 *
 * A base has a smaller id than what is made from it, and there are at most
 * LIMIT_OBJECT_BASES of them, so that no damage can lead round in circles. Sizes are
 * checked before anything is unpacked, so that a damaged row cannot ask for huge
 * amounts of memory, and the digest of each content before it is used. */
#include "storage/pool/pool.h"

#include "base/error.h"
#include "base/sha256.h"
#include "storage/sqlite/direct.h"

#include <assert.h>

void object_from(const struct query *query, struct object_row *row)
{
    *row = (struct object_row){.id = query_u64(query, OBJECT_ID_AT),
                               .digest = query_blob(query, OBJECT_DIGEST_AT),
                               .size = query_int(query, OBJECT_SIZE_AT),
                               .codec = query_int(query, OBJECT_CODEC_AT),
                               .data = query_blob(query, OBJECT_DATA_AT),
                               .base = query_u64(query, OBJECT_BASE_AT)};
}

void object_hash(struct sha256 *sha, struct str content, struct digest *digest)
{
    sha256_begin(sha);
    sha256_add(sha, content.ptr, content.len);
    sha256_end(sha, digest);
}

/* ---- One row ---- */

/* Before there is room for its content. */
static const char *check_shape(const struct object_row *row)
{
    assert(row->data.ptr || row->data.len == 0);
    if (row->size < 0 || row->size > LIMIT_OBJECT_BYTES)
        return "its size is impossible";
    bool frame = row->codec == CODEC_ZSTD || row->codec == CODEC_DELTA;
    if (!frame && row->codec != CODEC_RAW && row->codec != CODEC_LONGER)
        return "its codec is unknown";
    if (row->codec == CODEC_RAW && row->data.len != (size_t)row->size)
        return "its length is not what is recorded";
    if (frame && !object_frame_fits(row->data, (uint64_t)row->size))
        return "its compressed data is damaged";
    return NULL;
}

/* Appends what the row unpacks to, whatever that is. */
static int unpack_bytes(const struct object_source *source,
                        const struct object_row *row, struct str prefix,
                        struct buf *out, const char **why, struct cairn_error *error)
{
    *why = check_shape(row);
    if (!*why && row->codec == CODEC_LONGER &&
        prefix.len + row->data.len != (size_t)row->size)
        *why = "its length is not what is recorded";
    if (*why)
        return 0;
    size_t size = (size_t)row->size;
    char *room = buf_grow(out, size);
    if (!room)
        return error_nomem(error);
    int whole = 1;
    if (row->codec == CODEC_ZSTD || row->codec == CODEC_DELTA)
        whole = object_decompress(source->codec, row->data, prefix, room, size, error);
    else {
        size_t before = row->codec == CODEC_LONGER ? prefix.len : 0;
        if (before)
            memcpy(room, prefix.ptr, before);
        if (row->data.len && row->data.ptr != room)
            memcpy(room + before, row->data.ptr, row->data.len);
    }
    if (whole == 0)
        *why = "its compressed data is damaged";
    return whole < 0 ? whole : 0;
}

/* ... if that is its content. */
static int unpack_row(const struct object_source *source, const struct object_row *row,
                      struct str prefix, struct buf *out, const char **why,
                      struct cairn_error *error)
{
    size_t before = out->size;
    struct digest digest;
    int rc = unpack_bytes(source, row, prefix, out, why, error);
    if (rc || *why)
        return rc;
    assert(out->size == before + (size_t)row->size);
    object_hash(source->sha, (struct str){out->data + before, (size_t)row->size},
                &digest);
    if (!str_equal(row->digest, (struct str){(const char *)digest.bytes, DIGEST_SIZE}))
        *why = "its content does not match its digest";
    return 0;
}

/* ---- Its bases ---- */

/* Of the object `id`, itself a base: *base is 0 if it names none, *delta whether it
 * needs one. One that is not there counts as one that needs it and has none. */
static int get_base(struct db *db, uint64_t id, bool *delta, uint64_t *base,
                    struct cairn_error *error)
{
    struct query query;
    query_start(&query, db, SQL_BASE_OF_OBJECT, VALUES(value_u64(id)), error);
    bool there = query_step(&query);
    *delta = !there || codec_has_base(query_int(&query, 0));
    *base = there ? query_u64(&query, 1) : 0;
    return query_end(&query);
}

/* The base of what is not a delta counts for nothing: an older cairn, which mends an
 * object, leaves it. */
int object_chain(struct db *db, const struct object_row *row,
                 struct object_chain *chain, const char **why,
                 struct cairn_error *error)
{
    uint64_t id = row->id, base = row->base;
    bool delta = codec_has_base(row->codec);
    int rc = 0;
    chain->n = 0;
    *why = NULL;
    while (delta && !rc) {
        *why = base == 0                        ? "its base is missing"
               : base >= id                     ? "its base is not older than it is"
               : chain->n == LIMIT_OBJECT_BASES ? "it has too many bases"
                                                : NULL;
        if (*why)
            return 0;
        id = chain->ids[chain->n++] = base;
        rc = get_base(db, id, &delta, &base, error);
    }
    return rc;
}

/* Replaces the content of `into`. */
static int read_base(const struct object_source *source, uint64_t id, struct str prefix,
                     struct buf *into, const char **why, struct cairn_error *error)
{
    struct query query;
    buf_clear(into);
    query_start(&query, source->db, SQL_NTH_OBJECT, VALUES(value_u64(id)), error);
    if (query_step(&query)) {
        struct object_row base;
        object_from(&query, &base);
        query.rc = unpack_row(source, &base, prefix, into, why, error);
        if (!query.rc && *why)
            *why = "its base is damaged";
    } else if (!query.rc) {
        *why = "its base is missing";
    }
    return query_end(&query);
}

/* *prefix: the content of the row's base; empty if it has none. */
static int read_bases(const struct object_source *source, const struct object_row *row,
                      struct str *prefix, const char **why, struct cairn_error *error)
{
    struct object_codec *codec = source->codec;
    struct object_chain chain;
    *prefix = (struct str){NULL, 0};
    int rc = object_chain(source->db, row, &chain, why, error);
    for (unsigned i = chain.n; !rc && !*why && i-- > 0;) {
        struct buf *into = &codec->bases[i & 1];
        rc = read_base(source, chain.ids[i], *prefix, into, why, error);
        *prefix = buf_view(into);
        object_release_if_huge(&codec->bases[!(i & 1)]);
    }
    return rc;
}

/* Removes what was appended. */
static void cut_back(struct buf *buf, size_t size)
{
    assert(size <= buf->size);
    buf->size = size;
    if (buf->data)
        buf->data[size] = 0;
}

int object_read(const struct object_source *source, const struct object_row *row,
                struct buf *out, const char **why, struct cairn_error *error)
{
    size_t before = out->size;
    struct str prefix;
    *why = check_shape(row);
    if (*why)
        return 0;
    int rc = read_bases(source, row, &prefix, why, error);
    if (!rc && !*why)
        rc = unpack_row(source, row, prefix, out, why, error);
    if (rc || *why)
        cut_back(out, before);
    object_release_if_huge(&source->codec->bases[0]);
    object_release_if_huge(&source->codec->bases[1]);
    return rc;
}

/* ---- By name ---- */

enum { LONG_BYTES = 32 << 10, MISSED_MOST = 8 };

/* As the file of the database has it. True: that is its content, appended to `out`. */
static bool read_long(const struct object_source *source, struct object_row *row,
                      size_t length, struct buf *out)
{
    struct object_codec *codec = source->codec;
    struct buf *into = row->codec == CODEC_RAW ? out : &codec->content;
    const char *why = "";
    int64_t root = 0;
    size_t before = out->size;
    buf_clear(&codec->content);
    /* Before there is room for it. */
    if (row->size < (int64_t)length || row->size > LIMIT_OBJECT_BYTES ||
        db_get_int(source->db, SQL_OBJECT_TREE, NO_VALUES, &root, NULL) || root < 1 ||
        root > UINT32_MAX)
        return false;
    const struct db_long value = {.root = (uint32_t)root,
                                  .id = row->id,
                                  .column = OBJECT_DATA_AT,
                                  .size = length};
    /* What is not compressed has its place already. */
    char *room = buf_grow(into, length);
    cut_back(out, before);
    row->data = (struct str){room, length};
    bool good = room && db_read_long(source->db, &value, room) &&
                object_read(source, row, out, &why, NULL) == 0 && !why;
    object_release_if_huge(&codec->content);
    return good;
}

static int read_seeking(const struct object_source *source, const struct digest *name,
                        struct buf *out, const char **why, bool *missed,
                        struct cairn_error *error)
{
    struct query query;
    struct object_row row;
    query_start(&query, source->db, SQL_SEEK_OBJECT,
                VALUES(value_blob(digest_view(name)), value_int(LONG_BYTES)), error);
    bool there = query_step(&query);
    if (there) {
        object_from(&query, &row);
        int64_t length = query_int(&query, OBJECT_LENGTH_AT);
        if (length < LONG_BYTES)
            query.rc = object_read(source, &row, out, why, error);
        else
            *missed = !read_long(source, &row, (size_t)length, out);
    }
    return query_end(&query) ?: there;
}

/* A long row is first read past SQLite (db_read_long), and then, if that is not its
 * content, by SQLite, which knows what the log has, and says what is wrong. */
int object_get(const struct object_source *source, const struct digest *name,
               struct buf *out, const char **why, struct cairn_error *error)
{
    struct query query;
    struct object_row row;
    bool missed = source->codec->missed >= MISSED_MOST;
    *why = NULL;
    if (!missed) {
        int rc = read_seeking(source, name, out, why, &missed, error);
        source->codec->missed += missed;
        if (rc <= 0 || !missed)
            return rc;
    }
    query_start(&query, source->db, SQL_GET_OBJECT,
                VALUES(value_blob(digest_view(name))), error);
    bool there = query_step(&query);
    if (there) {
        object_from(&query, &row);
        query.rc = object_read(source, &row, out, why, error);
    }
    return query_end(&query) ?: there;
}
