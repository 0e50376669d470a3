/* SPDX-License-Identifier: MIT */
/* Vectors of a service: one for each text that it was asked, by the digest of that
 * text, and which entries have it. */
#include "storage/search/searchdb_int.h"

#define MODEL_KEY "embeddings"

int searchdb_use_model(struct searchdb *index, struct str model,
                       struct cairn_error *error)
{
    struct buf old = BUF_INIT;
    int rc = searchdb_meta(index, MODEL_KEY, &old, error);
    bool same = !rc && str_equal(old.size ? buf_view(&old) : STR(""), model);
    buf_release(&old);
    if (rc || same)
        return rc;
    rc = db_run(index->db, SQL_INDEX_CLEAR_EMBEDDED, NO_VALUES, error);
    if (!rc)
        rc = db_run(index->db, SQL_INDEX_CLEAR_EMBEDDINGS, NO_VALUES, error);
    return rc ? rc : searchdb_set_meta(index, MODEL_KEY, model, error);
}

int searchdb_has_embedding(struct searchdb *index, const struct digest *text, bool *has,
                           struct cairn_error *error)
{
    return db_is(index->db, SQL_INDEX_HAS_EMBEDDING,
                 VALUES(value_blob(digest_view(text))), has, error);
}

int searchdb_put_embedding(struct searchdb *index, const struct digest *text,
                           struct str data, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_PUT_EMBEDDING,
                  VALUES(value_blob(digest_view(text)), value_blob(data)), error);
}

int searchdb_set_embedded(struct searchdb *index, int64_t doc,
                          const struct digest *text, struct cairn_error *error)
{
    return db_run(index->db, SQL_INDEX_PUT_EMBEDDED,
                  VALUES(value_int(doc), value_blob(digest_view(text))), error);
}

int searchdb_each_embedded(struct searchdb *index,
                           int (*each)(void *, int64_t doc, struct str data),
                           void *context, struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, index->db, SQL_INDEX_EACH_EMBEDDED, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0)
        if ((rc = each(context, query_int(&query, 0), query_blob(&query, 1))))
            break;
    query_end(&query);
    return rc < 0 ? rc : 0;
}
