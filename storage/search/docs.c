/* SPDX-License-Identifier: MIT */
/* What was indexed: units, entries, their words and vectors. */
#include "storage/search/searchdb_int.h"

#include <assert.h>

/* ---- What it was made of ---- */

int searchdb_meta(struct searchdb *index, const char *key, struct buf *value,
                  struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, index->db, SQL_INDEX_GET_META,
                         VALUES(value_text(str_of(key))), error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc > 0)
        buf_str(value, query_blob(&query, 0));
    query_end(&query);
    return rc < 0 ? rc : buf_check(value, error);
}

int searchdb_set_meta(struct searchdb *index, const char *key, struct str value,
                      struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_PUT_META,
                  VALUES(value_text(str_of(key)), value_blob(value)), error);
}

int searchdb_project(struct searchdb *index, struct str path, uint32_t *id,
                     struct cairn_error *error)
{
    int64_t found = 0;
    int rc = db_run(index->db, SQL_INDEX_ADD_PROJECT, VALUES(value_blob(path)), error);
    if (!rc)
        rc = db_get_int(index->db, SQL_INDEX_GET_PROJECT, VALUES(value_blob(path)),
                        &found, error);
    *id = (uint32_t)found;
    return rc;
}

int searchdb_each_project(struct searchdb *index,
                          int (*each)(void *, uint32_t id, struct str path),
                          void *context, struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, index->db, SQL_INDEX_EACH_PROJECT, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0)
        if ((rc = each(context, (uint32_t)query_u64(&query, 0), query_blob(&query, 1))))
            break;
    query_end(&query);
    return rc < 0 ? rc : 0;
}

/* ---- Units ---- */

int searchdb_get_unit(struct searchdb *index, struct str name,
                      struct searchdb_unit *unit, struct buf *stamp,
                      struct cairn_error *error)
{
    struct query query;
    buf_clear(stamp);
    int rc = db_run(index->db, SQL_INDEX_ADD_UNIT, VALUES(value_text(name)), error);
    if (rc)
        return rc;
    rc = query_start(&query, index->db, SQL_INDEX_GET_UNIT, VALUES(value_text(name)),
                     error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc > 0) {
        unit->id = query_int(&query, 0);
        unit->open = query_int(&query, 2) != 0;
        buf_str(stamp, query_blob(&query, 1));
    }
    query_end(&query);
    if (rc == 0)
        return error_set(error, CAIRN_EDAMAGED, "the index has lost a unit");
    return rc < 0 ? rc : buf_check(stamp, error);
}

int searchdb_set_unit(struct searchdb *index, const struct searchdb_unit *unit,
                      struct cairn_error *error)
{
    return db_run(
        index->db, SQL_INDEX_SET_UNIT,
        VALUES(value_int(unit->id), value_blob(unit->stamp), value_int(unit->open)),
        error);
}

int searchdb_drop_unit(struct searchdb *index, int64_t id, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_DROP_UNIT, VALUES(value_int(id)), error);
}

int searchdb_each_unit(struct searchdb *index,
                       int (*each)(void *, const struct searchdb_unit *), void *context,
                       struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, index->db, SQL_INDEX_EACH_UNIT, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        struct searchdb_unit unit = {.id = query_int(&query, 0),
                                     .name = query_text(&query, 1),
                                     .stamp = query_blob(&query, 2),
                                     .open = query_int(&query, 3) != 0};
        if ((rc = each(context, &unit)))
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}

int searchdb_each_key(struct searchdb *index, int64_t unit,
                      int (*each)(void *, int64_t doc, struct str key, struct str hash),
                      void *context, struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, index->db, SQL_INDEX_EACH_KEY, VALUES(value_int(unit)),
                         error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        rc = each(context, query_int(&query, 0), query_blob(&query, 1),
                  query_blob(&query, 2));
        if (rc)
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}

/* ---- Vectors ---- */

int searchdb_flush(struct searchdb *index, struct cairn_error *error)
{
    struct str data = {(const char *)index->at.data, sizeof index->at.data};
    if (!index->at.changed)
        return 0;
    index->at.changed = false;
    return db_run(index->db, SQL_INDEX_PUT_VECTORS,
                  VALUES(value_int(index->at.block), value_blob(data)), error);
}

/* The place of a doc, in its block, which waits then. */
static int slot_of(struct searchdb *index, int64_t doc, uint8_t **slot,
                   struct cairn_error *error)
{
    struct query query;
    int64_t block = doc / SEARCHDB_BLOCK;
    int rc = 0;
    if (!index->at.loaded || index->at.block != block) {
        rc = searchdb_flush(index, error);
        index->at.loaded = false;
        if (rc)
            return rc;
        memset(index->at.data, 0, sizeof index->at.data);
        rc = query_start(&query, index->db, SQL_INDEX_GET_VECTORS,
                         VALUES(value_int(block)), error);
        if (!rc)
            rc = query_step(&query, error);
        struct str data = rc > 0 ? query_blob(&query, 0) : STR("");
        if (data.len == sizeof index->at.data)
            memcpy(index->at.data, data.ptr, data.len);
        query_end(&query);
        index->at.loaded = rc >= 0;
        index->at.block = block;
    }
    *slot = index->at.data + (size_t)(doc % SEARCHDB_BLOCK) * SEARCHDB_SLOT;
    index->at.changed = rc >= 0;
    return rc < 0 ? rc : 0;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* Of what grams has of it. A letter is a byte or a little more, which is exact enough
 * for how long a text is. */
static uint32_t gram_bytes(const struct searchdb_doc *doc)
{
    size_t body =
        doc->body.len < SEARCHDB_GRAM_BYTES ? doc->body.len : SEARCHDB_GRAM_BYTES;
    return (uint32_t)(doc->title.len + 1 + body);
}

static int put_vector(struct searchdb *index, int64_t id,
                      const struct searchdb_doc *doc, struct cairn_error *error)
{
    uint8_t *slot;
    int rc = slot_of(index, id, &slot, error);
    if (rc)
        return rc;
    memset(slot, 0, SEARCHDB_SLOT);
    put_u32(slot, doc->section | doc->vector->square << 8);
    put_u32(slot + 4, doc->project);
    put_u32(slot + 8, (uint32_t)((uint64_t)doc->time_ns));
    put_u32(slot + 12, (uint32_t)((uint64_t)doc->time_ns >> 32));
    put_u32(slot + 16, doc->n_words);
    put_u32(slot + 20, gram_bytes(doc));
    memcpy(slot + SEARCHDB_SLOT_HEAD, doc->vector->at, SEARCHDB_DIMENSIONS);
    return 0;
}

/* ---- Entries ---- */

/* What grams has of an entry: the same each time, since it is also what is taken out.
 */
static int gram_text(struct str title, struct str body, struct buf *out,
                     struct cairn_error *error)
{
    buf_clear(out);
    buf_str(out, title);
    buf_byte(out, '\n');
    buf_add(out, body.ptr,
            body.len < SEARCHDB_GRAM_BYTES ? body.len : SEARCHDB_GRAM_BYTES);
    return buf_check(out, error);
}

static int put_texts(struct searchdb *index, int64_t id, const struct searchdb_doc *doc,
                     struct cairn_error *error)
{
    struct buf grams = BUF_INIT;
    int rc = db_run(
        index->db, SQL_INDEX_PUT_WORDS,
        VALUES(value_int(id), value_text(doc->title), value_text(doc->body)), error);
    if (!rc)
        rc = gram_text(doc->title, doc->body, &grams, error);
    if (!rc)
        rc = db_run(index->db, SQL_INDEX_PUT_GRAMS,
                    VALUES(value_int(id), value_text(buf_view(&grams))), error);
    for (size_t i = 0; i < doc->n_tags && !rc; i++)
        rc = db_run(index->db, SQL_INDEX_PUT_TAG,
                    VALUES(value_blob(doc->tags[i]), value_int(id)), error);
    buf_release(&grams);
    return rc;
}

int searchdb_put(struct searchdb *index, const struct searchdb_doc *doc,
                 struct cairn_error *error)
{
    int64_t id = 0;
    assert(doc->section > 0 && doc->hash.len == SEARCHDB_HASH);
    int rc = db_get_int(index->db, SQL_INDEX_PUT_DOC,
                        VALUES(value_int(doc->unit), value_blob(doc->key),
                               value_int(doc->section), value_int(doc->project),
                               value_int(doc->time_ns), value_blob(doc->hash),
                               value_text(doc->title), value_text(doc->body)),
                        &id, error);
    if (!rc)
        rc = put_texts(index, id, doc, error);
    return rc ? rc : put_vector(index, id, doc, error);
}

int searchdb_get(struct searchdb *index, int64_t id,
                 int (*got)(void *, const struct searchdb_doc *), void *context,
                 struct cairn_error *error)
{
    struct query query;
    int rc =
        query_start(&query, index->db, SQL_INDEX_GET_DOC, VALUES(value_int(id)), error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc == 0)
        rc = error_set(error, CAIRN_ENOTFOUND, "the index has no such entry");
    if (rc > 0) {
        struct searchdb_doc doc = {.key = query_blob(&query, 0),
                                   .section = query_u8(&query, 1),
                                   .project = (uint32_t)query_u64(&query, 2),
                                   .time_ns = query_int(&query, 3),
                                   .hash = query_blob(&query, 4),
                                   .title = query_text(&query, 5),
                                   .body = query_text(&query, 6)};
        rc = got(context, &doc);
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}

struct dropping {
    struct searchdb *index;
    int64_t id;
    struct cairn_error *error;
};

static int drop_texts(void *context, const struct searchdb_doc *doc)
{
    struct dropping *d = context;
    struct buf grams = BUF_INIT;
    int rc =
        db_run(d->index->db, SQL_INDEX_DROP_WORDS,
               VALUES(value_int(d->id), value_text(doc->title), value_text(doc->body)),
               d->error);
    if (!rc)
        rc = gram_text(doc->title, doc->body, &grams, d->error);
    if (!rc)
        rc = db_run(d->index->db, SQL_INDEX_DROP_GRAMS,
                    VALUES(value_int(d->id), value_text(buf_view(&grams))), d->error);
    buf_release(&grams);
    return rc;
}

/* The vector goes with the last entry that has the text. */
static int drop_embedded(struct searchdb *index, int64_t doc, struct cairn_error *error)
{
    int rc = db_run(index->db, SQL_INDEX_DROP_EMBEDDING, VALUES(value_int(doc)), error);
    return rc ? rc
              : db_run(index->db, SQL_INDEX_DROP_EMBEDDED, VALUES(value_int(doc)),
                       error);
}

int searchdb_drop(struct searchdb *index, int64_t id, struct cairn_error *error)
{
    struct dropping d = {index, id, error};
    uint8_t *slot;
    int rc = searchdb_get(index, id, drop_texts, &d, error);
    if (!rc)
        rc = db_run(index->db, SQL_INDEX_DROP_TAGS, VALUES(value_int(id)), error);
    if (!rc)
        rc = drop_embedded(index, id, error);
    if (!rc)
        rc = db_run(index->db, SQL_INDEX_DROP_DOC, VALUES(value_int(id)), error);
    if (!rc)
        rc = slot_of(index, id, &slot, error);
    if (!rc)
        memset(slot, 0, SEARCHDB_SLOT);
    return rc;
}

int searchdb_count(struct searchdb *index, uint64_t *docs, struct cairn_error *error)
{
    int64_t n = 0;
    int rc = db_get_int(index->db, SQL_INDEX_COUNT_DOCS, NO_VALUES, &n, error);
    *docs = (uint64_t)n;
    return rc;
}

int searchdb_merge(struct searchdb *index, struct cairn_error *error)
{
    int rc = db_run(index->db, SQL_INDEX_MERGE_WORDS, NO_VALUES, error);
    return rc ? rc : db_run(index->db, SQL_INDEX_MERGE_GRAMS, NO_VALUES, error);
}
