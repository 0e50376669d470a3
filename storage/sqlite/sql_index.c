/* SPDX-License-Identifier: MIT */
/* The texts of statements about the index of a search. */
#include "storage/sqlite/sql_int.h"

#include <stddef.h>

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): each has its name */
const char *const sql_index_texts[SQL_COUNT] = {
    [SQL_INDEX_GET_META] = "SELECT value FROM meta WHERE key = ?1",
    [SQL_INDEX_PUT_META] = "INSERT OR REPLACE INTO meta(key, value) VALUES(?1, ?2)",
    [SQL_INDEX_ADD_PROJECT] = "INSERT OR IGNORE INTO project(path) VALUES(?1)",
    [SQL_INDEX_GET_PROJECT] = "SELECT id FROM project WHERE path = ?1",
    [SQL_INDEX_EACH_PROJECT] = "SELECT id, path FROM project ORDER BY id",
    [SQL_INDEX_GET_UNIT] = "SELECT id, stamp, open FROM unit WHERE name = ?1",
    [SQL_INDEX_ADD_UNIT] = "INSERT OR IGNORE INTO unit(name, stamp, open) "
                           "VALUES(?1, x'', 1)",
    [SQL_INDEX_SET_UNIT] = "UPDATE unit SET stamp = ?2, open = ?3 WHERE id = ?1",
    [SQL_INDEX_DROP_UNIT] = "DELETE FROM unit WHERE id = ?1",
    [SQL_INDEX_EACH_UNIT] = "SELECT id, name, stamp, open FROM unit ORDER BY name",
    [SQL_INDEX_EACH_KEY] = "SELECT id, key, hash FROM doc WHERE unit = ?1",
    [SQL_INDEX_GET_DOC] = "SELECT key, section, project, time_ns, hash, title, body "
                          "FROM doc WHERE id = ?1",
    [SQL_INDEX_PUT_DOC] =
        "INSERT INTO doc(unit, key, section, project, time_ns, hash, title, body) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
    [SQL_INDEX_DROP_DOC] = "DELETE FROM doc WHERE id = ?1",
    [SQL_INDEX_COUNT_DOCS] = "SELECT count(*) FROM doc",
    [SQL_INDEX_PUT_TAG] = "INSERT OR IGNORE INTO tag(tag, doc) VALUES(?1, ?2)",
    [SQL_INDEX_DROP_TAGS] = "DELETE FROM tag WHERE doc = ?1",
    [SQL_INDEX_EACH_TAGGED] = "SELECT doc FROM tag WHERE tag = ?1",
    [SQL_INDEX_PUT_WORDS] = "INSERT INTO words(rowid, title, body) VALUES(?1, ?2, ?3)",
    [SQL_INDEX_DROP_WORDS] = "INSERT INTO words(words, rowid, title, body) "
                             "VALUES('delete', ?1, ?2, ?3)",
    [SQL_INDEX_FIND_WORDS] = "SELECT cairn_phrases(words) FROM words "
                             "WHERE words MATCH ?1 LIMIT 1",
    [SQL_INDEX_MERGE_WORDS] = "INSERT INTO words(words) VALUES('optimize')",
    [SQL_INDEX_PUT_GRAMS] = "INSERT INTO grams(rowid, text) VALUES(?1, ?2)",
    [SQL_INDEX_DROP_GRAMS] =
        "INSERT INTO grams(grams, rowid, text) VALUES('delete', ?1, ?2)",
    [SQL_INDEX_FIND_GRAMS] = "SELECT cairn_phrases(grams) FROM grams "
                             "WHERE grams MATCH ?1 LIMIT 1",
    [SQL_INDEX_MERGE_GRAMS] = "INSERT INTO grams(grams) VALUES('optimize')",
    [SQL_INDEX_GET_VECTORS] = "SELECT data FROM vectors WHERE block = ?1",
    [SQL_INDEX_PUT_VECTORS] =
        "INSERT OR REPLACE INTO vectors(block, data) VALUES(?1, ?2)",
    [SQL_INDEX_EACH_VECTORS] = "SELECT block, data FROM vectors ORDER BY block",
    [SQL_INDEX_CLEAR_EMBEDDED] = "DELETE FROM embedded",
    [SQL_INDEX_CLEAR_EMBEDDINGS] = "DELETE FROM embedding",
    [SQL_INDEX_HAS_EMBEDDING] =
        "SELECT EXISTS(SELECT 1 FROM embedding WHERE text = ?1)",
    [SQL_INDEX_PUT_EMBEDDING] =
        "INSERT OR REPLACE INTO embedding(text, data) VALUES(?1, ?2)",
    [SQL_INDEX_PUT_EMBEDDED] =
        "INSERT OR REPLACE INTO embedded(doc, text) VALUES(?1, ?2)",
    [SQL_INDEX_EACH_EMBEDDED] = "SELECT e.doc, v.data FROM embedded e CROSS JOIN "
                                "embedding v WHERE v.text = e.text ORDER BY e.doc",
    [SQL_INDEX_DROP_EMBEDDING] =
        "DELETE FROM embedding WHERE text = (SELECT text FROM embedded WHERE doc = ?1) "
        "AND (SELECT count(*) FROM embedded e WHERE e.text = embedding.text) = 1",
    [SQL_INDEX_DROP_EMBEDDED] = "DELETE FROM embedded WHERE doc = ?1",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */
