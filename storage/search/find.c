/* SPDX-License-Identifier: MIT */
/* What the index finds. */
#include "base/reader.h"
#include "storage/search/searchdb_int.h"
#include "storage/sqlite/phrases.h"

struct finding_rows {
    int (*each)(void *, const struct searchdb_match *);
    void *context;
};

static int give_match(void *context, const struct phrase_row *row)
{
    struct finding_rows *rows = context;
    struct searchdb_match match = {row->phrase, row->row, row->often[0], row->often[1]};
    return rows->each(rows->context, &match);
}

int searchdb_find_words(struct searchdb *index, struct str expression,
                        int (*each)(void *, const struct searchdb_match *),
                        void *context, struct cairn_error *error)
{
    struct finding_rows rows = {each, context};
    return db_each_phrase(index->db, SQL_INDEX_FIND_WORDS, expression, give_match,
                          &rows, error);
}

int searchdb_find_grams(struct searchdb *index, struct str expression,
                        int (*each)(void *, const struct searchdb_match *),
                        void *context, struct cairn_error *error)
{
    struct finding_rows rows = {each, context};
    return db_each_phrase(index->db, SQL_INDEX_FIND_GRAMS, expression, give_match,
                          &rows, error);
}

int searchdb_each_tagged(struct searchdb *index, struct str tag,
                         int (*each)(void *, int64_t doc), void *context,
                         struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, index->db, SQL_INDEX_EACH_TAGGED,
                         VALUES(value_blob(tag)), error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0)
        if ((rc = each(context, query_int(&query, 0))))
            break;
    query_end(&query);
    return rc < 0 ? rc : 0;
}

static int look_at_block(int64_t block, struct str data,
                         int (*each)(void *, const struct searchdb_seen *),
                         void *context)
{
    int rc = 0;
    for (size_t i = 0; i + 1 <= data.len / SEARCHDB_SLOT && !rc; i++) {
        const uint8_t *slot = (const uint8_t *)data.ptr + i * SEARCHDB_SLOT;
        struct reader in = reader_of(slot + 4, SEARCHDB_SLOT_HEAD - 4);
        if (slot[0] == 0)
            continue;
        struct searchdb_seen seen = {.doc = block * SEARCHDB_BLOCK + (int64_t)i,
                                     .section = slot[0],
                                     .vector =
                                         (const int8_t *)slot + SEARCHDB_SLOT_HEAD};
        seen.square =
            (uint32_t)slot[1] | (uint32_t)slot[2] << 8 | (uint32_t)slot[3] << 16;
        seen.project = read_u32(&in);
        seen.time_ns = (int64_t)read_u64(&in);
        seen.n_words = read_u32(&in);
        seen.n_grams = read_u32(&in);
        rc = each(context, &seen);
    }
    return rc;
}

int searchdb_each_vector(struct searchdb *index,
                         int (*each)(void *, const struct searchdb_seen *),
                         void *context, struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, index->db, SQL_INDEX_EACH_VECTORS, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        struct str data = query_blob(&query, 1);
        int64_t block = query_int(&query, 0);
        if (block < 0 || block > INT64_MAX / (2 * SEARCHDB_BLOCK))
            rc = error_set(error, CAIRN_EDAMAGED, "the index is damaged");
        else
            rc = look_at_block(block, data, each, context);
        if (rc)
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}
