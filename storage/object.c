/* SPDX-License-Identifier: MIT */
/* The content pool: putting content in, getting it out by its digest, and checking all
 * of it.
 *
 * An object is kept under the SHA-256 of its whole content: as one zstd frame (codec 1)
 * where that is smaller, else as it is (codec 0); or, where the caller names similar
 * content, as a frame with that one as prefix (codec 2, a delta); or as what stands
 * behind the content of another one (codec 3). Content is returned only if its digest is
 * right. */
#include "storage/object.h"

#include "base/limits.h"
#include "storage/pool/pool.h"
#include "storage/rows_gc.h"
#include "storage/rows_int.h"

#include <assert.h>

/* Made at first use. */
static int get_source(struct cairn_store *store, struct object_source *source,
                      struct cairn_error *error)
{
    if (!store->codec)
        store->codec = object_codec_new();
    *source = (struct object_source){store->db, store->sha, store->codec};
    return store->codec ? 0 : error_nomem(error);
}

/* Whether there is a row of that name. `row` has views until query_end, which the
 * caller calls in any case. */
static bool find_row(struct db *db, const struct digest *name, struct query *query,
                     struct object_row *row, struct cairn_error *error)
{
    query_start(query, db, SQL_GET_OBJECT, VALUES(value_blob(digest_view(name))),
                error);
    bool found = query_step(query);
    if (found)
        object_from(query, row);
    return found;
}

/* ---- Getting ---- */

int store_get_object(struct cairn_store *store, const struct digest *digest,
                     struct buf *out, struct cairn_error *error)
{
    char hex[DIGEST_HEX_SIZE];
    struct object_source source;
    const char *why = NULL;
    store_assert_open(store);
    int rc = get_source(store, &source, error);
    if (!rc)
        rc = object_get(&source, digest, out, &why, error);
    if (rc < 0 || (rc > 0 && !why))
        return rc < 0 ? rc : 0;
    digest_hex(digest, hex);
    return rc ? error_set(error, CAIRN_EDAMAGED,
                          "the stored object %s is damaged (%s): run `cairn doctor`",
                          hex, why)
              : error_set(error, CAIRN_ENOTFOUND, "the store has no object %s", hex);
}

int store_has_object(struct cairn_store *store, const struct digest *digest, bool *has,
                     struct cairn_error *error)
{
    int64_t found = 0;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_OBJECT_ID,
                        VALUES(value_blob(digest_view(digest))), &found, error);
    *has = found != 0;
    return rc;
}

int store_object_room(struct cairn_store *store, const struct digest *digest,
                      struct object_room *room, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    *room = (struct object_room){.there = false};
    query_start(&query, store->db, SQL_OBJECT_ROOM,
                VALUES(value_blob(digest_view(digest))), error);
    if (query_step(&query)) {
        room->there = true;
        room->size = query_u64(&query, 0);
        room->stored = query_u64(&query, 1);
        room->based = digest_from(query_blob(&query, 2), &room->base);
    }
    return query_end(&query);
}

int store_room(struct cairn_store *store, uint64_t *bytes, uint64_t *free_bytes,
               struct cairn_error *error)
{
    int64_t pages = 0, free_pages = 0, size = 0;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_PAGE_SIZE, NO_VALUES, &size, error)
             ?: db_get_int(store->db, SQL_PAGE_COUNT, NO_VALUES, &pages, error)
             ?: db_get_int(store->db, SQL_FREE_PAGES, NO_VALUES, &free_pages, error);
    *bytes = (uint64_t)pages * (uint64_t)size;
    *free_bytes = (uint64_t)free_pages * (uint64_t)size;
    return rc;
}

/* ---- Putting ---- */

struct new_object {
    const struct digest *digest;
    struct str content;
    struct str prefix; /* content of the object `base` */
    uint64_t base;     /* 0: none */
};

/* As a delta and by itself: the smaller one is taken. Where a delta has next to nothing,
 * the other is not made: it would have to be as small, and costs most of the time. */
static int pack_object(struct object_codec *codec, const struct new_object *object,
                       struct str *packed, bool *delta, struct cairn_error *error)
{
    enum { NEXT_TO_NOTHING = 64 }; /* such a part of the content */
    size_t size = object->content.len;
    struct str after = {NULL, 0};
    int rc = object->prefix.len
                 ? object_compress(codec, object->content, object->prefix, size,
                                   &codec->delta, &after, error)
                 : 0;
    *packed = after;
    *delta = after.len > 0;
    if (rc || (*delta && after.len <= size / NEXT_TO_NOTHING))
        return rc;
    rc = object_compress(codec, object->content, (struct str){NULL, 0}, size,
                         &codec->packed, packed, error);
    *delta = !rc && *delta && (!packed->len || after.len < packed->len);
    if (*delta)
        *packed = after;
    return rc;
}

/* Before SQLite refuses it, which would spoil the whole transaction. `stored`: so many
 * bytes of it would be in its row. */
static int check_room(size_t stored, struct str content, struct cairn_error *error)
{
    return stored <= LIMIT_ROW_BYTES
               ? 0
               : error_set(error, CAIRN_ELIMIT,
                           "%zu bytes are too many for one stored object (at most %d)",
                           content.len, LIMIT_ROW_BYTES);
}

static int write_object(struct cairn_store *store, enum sql_id id,
                        const struct new_object *object, struct cairn_error *error)
{
    store_assert_writing(store);
    struct object_codec *codec = store->codec;
    struct str packed, content = object->content;
    bool delta;
    int rc = pack_object(codec, object, &packed, &delta, error);
    if (!rc)
        rc = check_room(packed.len ? packed.len : content.len, content, error);
    if (!rc)
        rc = store_write(store, id,
                         VALUES(value_blob(digest_view(object->digest)),
                                value_u64(content.len),
                                value_int(delta        ? CODEC_DELTA
                                          : packed.len ? CODEC_ZSTD
                                                       : CODEC_RAW),
                                value_blob(packed.len ? packed : content),
                                value_unless(delta ? (int64_t)object->base : 0, 0)),
                         error);
    object_release_if_huge(&codec->packed);
    object_release_if_huge(&codec->delta);
    return rc;
}

/* As it is found in place of what may be there already. */
struct found_object {
    uint64_t id; /* 0: there is none */
    bool good;   /* it is not damaged */
};

/* Whether the row has this very content. Of what is not a delta no digest is needed to
 * tell, nor room for the content. */
static int row_has(const struct object_source *source, const struct object_row *row,
                   struct str content, bool *has, struct cairn_error *error)
{
    struct object_codec *codec = source->codec;
    const char *why;
    int rc = 0;
    *has = false;
    if (row->size < 0 || (uint64_t)row->size != content.len)
        return 0;
    if (row->codec == CODEC_RAW)
        *has = str_equal(row->data, content);
    if (row->codec == CODEC_ZSTD)
        *has = object_frame_has(codec, row->data, content);
    if (!codec_has_base(row->codec))
        return 0;
    buf_clear(&codec->content);
    rc = object_read(source, row, &codec->content, &why, error);
    *has = !rc && !why && str_equal(buf_view(&codec->content), content);
    object_release_if_huge(&codec->content);
    return rc;
}

static int find_object(const struct object_source *source, const struct digest *digest,
                       struct str content, struct found_object *found,
                       struct cairn_error *error)
{
    struct query query;
    struct object_row row;
    *found = (struct found_object){0};
    if (find_row(source->db, digest, &query, &row, error)) {
        found->id = row.id;
        query.rc = row_has(source, &row, content, &found->good, error);
    }
    return query_end(&query);
}

/* Sets prefix and base if the object of that name can be one. The prefix lies in
 * codec->content. */
static int find_base(const struct object_source *source, const struct digest *name,
                     struct new_object *object, struct cairn_error *error)
{
    struct buf *content = &source->codec->content;
    struct query query;
    struct object_row row;
    struct object_chain chain;
    const char *why = NULL;
    if (find_row(source->db, name, &query, &row, error)) {
        query.rc = object_chain(source->db, &row, &chain, &why, error);
        buf_clear(content);
        if (!query.rc && !why && chain.n < LIMIT_OBJECT_BASES) {
            query.rc = object_read(source, &row, content, &why, error);
            object->prefix = query.rc || why ? object->prefix : buf_view(content);
            object->base = row.id;
        }
    }
    return query_end(&query);
}

/* What is there damaged is mended by itself: as a delta it might become the base of its
 * own base. Those that refer to it find the same content there. */
static int put_content(struct cairn_store *store, struct str content,
                       const struct digest *before, struct digest *digest,
                       struct cairn_error *error)
{
    struct digest name;
    struct found_object found;
    struct new_object object = {.digest = &name, .content = content};
    store_assert_writing(store);
    if (content.len > LIMIT_OBJECT_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "%zu bytes are too many for one stored object (at most %d)",
                         content.len, LIMIT_OBJECT_BYTES);
    struct object_source source;
    int rc = get_source(store, &source, error);
    if (rc)
        return rc;
    object_hash(store->sha, content, &name);
    rc = find_object(&source, &name, content, &found, error);
    if (!rc && !found.id && before)
        rc = find_base(&source, before, &object, error);
    if (!rc && !found.good)
        rc = write_object(store, found.id ? SQL_MEND_OBJECT : SQL_PUT_OBJECT, &object,
                          error);
    if (!rc && found.id)
        rc = store_spare_object(store, found.id, error);
    object_release_if_huge(&source.codec->content);
    if (!rc)
        *digest = name;
    return rc;
}

int store_put_object(struct cairn_store *store, struct str content,
                     struct digest *digest, struct cairn_error *error)
{
    return put_content(store, content, NULL, digest, error);
}

int store_use_object(struct cairn_store *store, const struct digest *digest, bool *has,
                     struct cairn_error *error)
{
    int64_t id = 0;
    store_assert_writing(store);
    int rc = db_get_int(store->db, SQL_OBJECT_ID,
                        VALUES(value_blob(digest_view(digest))), &id, error);
    *has = id != 0;
    return rc || !*has ? rc : store_spare_object(store, (uint64_t)id, error);
}

int store_put_object_after(struct cairn_store *store, struct str content,
                           const struct digest *before, struct digest *digest,
                           struct cairn_error *error)
{
    assert(before);
    return put_content(store, content, before, digest, error);
}

/* How many are below it: each of them is looked up only if that may have changed, for
 * nothing but a collection gives a base to what is there (store_rebase_object). */
static int count_bases(struct cairn_store *store, const struct object_row *row,
                       const struct shorter_object *known, uint64_t collections,
                       unsigned *n, struct cairn_error *error)
{
    struct object_chain chain;
    const char *why = NULL;
    *n = known->bases;
    if (known->known && known->known == collections)
        return 0;
    int rc = object_chain(store->db, row, &chain, &why, error);
    *n = why ? LIMIT_OBJECT_BASES : chain.n;
    return rc;
}

/* The id of `before` if it has so many bytes and can be a base; else 0. Its content is
 * not read. `put`: what is made from it. */
static int find_shorter(struct cairn_store *store, const struct shorter_object *before,
                        struct shorter_object *put, uint64_t *id,
                        struct cairn_error *error)
{
    struct query query;
    struct object_row row;
    uint64_t collections = 0;
    unsigned n = 0;
    *id = 0;
    int rc = store_collections(store, &collections, error);
    if (rc)
        return rc;
    if (find_row(store->db, &before->digest, &query, &row, error)) {
        query.rc = count_bases(store, &row, before, collections, &n, error);
        if (!query.rc && n < LIMIT_OBJECT_BASES && row.size == (int64_t)before->size)
            *id = row.id;
    }
    put->bases = n + 1;
    put->known = collections;
    return query_end(&query);
}

int store_put_object_longer(struct cairn_store *store, struct str content,
                            const struct digest *digest,
                            const struct shorter_object *before,
                            struct shorter_object *put, struct cairn_error *error)
{
    struct digest stored;
    uint64_t base;
    bool has = false;
    store_assert_writing(store);
    assert(before->size < content.len);
    int rc = store_has_object(store, digest, &has, error)
                 ?: find_shorter(store, before, put, &base, error);
    put->digest = *digest;
    put->size = content.len;
    if (rc)
        return rc;
    if (has || !base || content.len > LIMIT_OBJECT_BYTES) {
        put->known = 0;
        return put_content(store, content, NULL, &stored, error);
    }
    struct str behind = {content.ptr + before->size, content.len - before->size};
    return check_room(behind.len, content, error)
               ?: store_write(store, SQL_PUT_OBJECT,
                              VALUES(value_blob(digest_view(digest)),
                                     value_u64(content.len), value_int(CODEC_LONGER),
                                     value_blob(behind), value_u64(base)),
                              error);
}

/* ---- Frames of what is stored elsewhere ---- */

int store_pack(struct cairn_store *store, struct str content, struct str prefix,
               struct str *packed, struct cairn_error *error)
{
    struct object_source source;
    return get_source(store, &source, error)
               ?: object_compress(source.codec, content, prefix, content.len,
                                  &source.codec->packed, packed, error);
}

int store_unpack(struct cairn_store *store, struct str packed, struct str prefix,
                 size_t size, struct buf *out, struct cairn_error *error)
{
    struct object_source source;
    int rc = get_source(store, &source, error);
    if (rc)
        return rc;
    if (size > LIMIT_OBJECT_BYTES || !object_frame_fits(packed, size))
        return CAIRN_EDAMAGED;
    char *at = buf_grow(out, size);
    if (!at)
        return error_nomem(error);
    rc = object_decompress(source.codec, packed, prefix, at, size, error);
    return rc < 0 ? rc : rc ? 0 : CAIRN_EDAMAGED;
}

/* ---- Another base ---- */

struct rebase {
    const struct object_source *source;
    struct object_row row;
    struct object_chain chain;
    bool (*stays)(void *context, const struct digest *);
    void *context;
    struct new_object object;
    struct cairn_error *error;
};

/* Sets its base if the object of that name stays, and can be one. */
static int try_base(struct rebase *r, struct str name)
{
    struct digest digest;
    if (!digest_from(name, &digest) || !r->stays(r->context, &digest))
        return 0;
    return find_base(r->source, &digest, &r->object, r->error);
}

static int try_bases(struct rebase *r)
{
    int rc = 0;
    for (unsigned i = 1; i < r->chain.n && !rc && !r->object.base; i++) {
        struct query query;
        query_start(&query, r->source->db, SQL_NTH_OBJECT,
                    VALUES(value_u64(r->chain.ids[i])), r->error);
        if (query_step(&query))
            query.rc = try_base(r, query_blob(&query, OBJECT_DIGEST_AT));
        rc = query_end(&query);
    }
    return rc;
}

/* Else all that are made from one base would become whole. The sibling has that base
 * until its own turn, which may be in a later transaction: till then there is one base
 * more below the object, and below all that is made from it. */
static int try_siblings(struct rebase *r)
{
    struct query query;
    int64_t too_many;
    int rc = db_get_int(
        r->source->db, SQL_IS_BASE_OF,
        VALUES(value_u64(r->row.id), value_int(LIMIT_OBJECT_BASES - (int)r->chain.n)),
        &too_many, r->error);
    if (rc || too_many)
        return rc;
    query_start(&query, r->source->db, SQL_EACH_SIBLING,
                VALUES(value_u64(r->row.base), value_u64(r->row.id)), r->error);
    while (!r->object.base && query_step(&query))
        query.rc = try_base(r, query_blob(&query, 0));
    return query_end(&query);
}

/* *done: its content was read. */
static int read_whole(struct rebase *r, struct buf *content, bool *done)
{
    struct query query;
    const char *why = NULL;
    bool there = find_row(r->source->db, r->object.digest, &query, &r->row, r->error);
    if (there)
        query.rc = object_chain(r->source->db, &r->row, &r->chain, &why, r->error);
    if (there && !query.rc && !why)
        query.rc = object_read(r->source, &r->row, content, &why, r->error);
    *done = there && !query.rc && !why;
    r->object.content = buf_view(content);
    return query_end(&query);
}

int store_rebase_object(struct cairn_store *store, const struct digest *digest,
                        bool (*stays)(void *context, const struct digest *),
                        void *context, bool *done, struct cairn_error *error)
{
    struct object_source source;
    struct buf content = BUF_INIT;
    store_assert_writing(store);
    *done = false;
    int rc = get_source(store, &source, error);
    if (rc)
        return rc;
    struct rebase r = {.source = &source,
                       .stays = stays,
                       .context = context,
                       .object = {.digest = digest},
                       .error = error};
    rc = read_whole(&r, &content, done);
    if (!rc && *done)
        rc = try_bases(&r);
    if (!rc && *done && !r.object.base)
        rc = try_siblings(&r);
    if (!rc && *done && r.chain.n)
        rc = write_object(store, SQL_MEND_OBJECT, &r.object, error);
    buf_release(&content);
    object_release_if_huge(&source.codec->content);
    if (rc == CAIRN_ELIMIT) /* by itself it is too large for a row: it stays as it is */
        *done = false;
    return rc == CAIRN_ELIMIT ? 0 : rc;
}

/* ---- Checking ---- */

/* *why: NULL, or what is wrong with it. */
static int check_row(struct cairn_store *store, const struct object_row *row,
                     const char **why, struct cairn_error *error)
{
    struct object_source source;
    int rc = get_source(store, &source, error);
    if (rc)
        return rc;
    buf_clear(&source.codec->content);
    rc = object_read(&source, row, &source.codec->content, why, error);
    object_release_if_huge(&source.codec->content);
    return rc;
}

int object_sound(struct cairn_store *store,
                 const struct sql_value values[OBJECT_COLUMNS_READ],
                 struct cairn_error *error)
{
    const struct object_row row = {.id = (uint64_t)values[OBJECT_ID_AT].integer,
                                   .digest = values[OBJECT_DIGEST_AT].bytes,
                                   .size = values[OBJECT_SIZE_AT].integer,
                                   .codec = values[OBJECT_CODEC_AT].integer,
                                   .data = values[OBJECT_DATA_AT].bytes,
                                   .base = (uint64_t)values[OBJECT_BASE_AT].integer};
    const char *why;
    int rc = check_row(store, &row, &why, error);
    return rc ? rc : !why;
}

/* 0 if it is good, else what the callback returns; negative also for errors of our own.
 */
static int verify_row(struct cairn_store *store, const struct object_row *row,
                      int (*bad)(void *, const char *, const char *), void *context,
                      struct cairn_error *error)
{
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    const char *why;
    int rc = check_row(store, row, &why, error);
    if (rc || !why)
        return rc;
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
    query_start(&query, store->db, SQL_EACH_OBJECT, NO_VALUES, error);
    while (query_step(&query)) {
        struct object_row row;
        object_from(&query, &row);
        n++;
        query.rc = verify_row(store, &row, bad, context, error);
    }
    int rc = query_end(&query);
    if (!rc)
        *checked = n;
    return rc;
}
