/* SPDX-License-Identifier: MIT */
/* The index of a search: a database of its own, `search.db` in the directory of the
 * store. All that it says is made of the store, and can be made again: it may be
 * deleted at any time, and whoever finds something by it looks at the store before he
 * believes it. Other versions of it, and damaged ones, are made anew.
 *
 *   meta     key, value: what it was made of, and how far
 *   project  id, path: directories that entries belong to
 *   unit     id, name, stamp, open: what is brought up to date together; open: it
 *            changes without a note of that in the store
 *   doc      id, unit, key (within the unit), section, project, time_ns, hash, title,
 *            body: an entry, with the texts that are indexed
 *   tag      tag, doc
 *   words    the words of title and body by their stems (FTS5, porter)
 *   grams    title and the first 16 KiB of the body by three letters each (FTS5)
 *   embedding  text, data: what a service answered, by the digest of the text
 *   embedded   doc, text: entries that have such a vector
 *   vectors  block, data: of the docs 128 * block to 128 * block + 127 an SEARCHDB_SLOT
 *            each; one of zeros is none
 *
 * Lock: whoever has the database open holds LOCK_SEARCH of `search.lock` shared; who
 * removes it, alone. So no process finds a journal that is of a removed database. What
 * is removed is overwritten (secure_delete), and nothing of it stays in words and grams
 * once searchdb_merge is done.
 *
 * Every function may return CAIRN_EDAMAGED (searchdb_renew is the remedy) and
 * CAIRN_EBUSY.
 */
#ifndef STORAGE_SEARCH_SEARCHDB_H
#define STORAGE_SEARCH_SEARCHDB_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

enum { SEARCHDB_DIMENSIONS = 256, SEARCHDB_BLOCK = 128, SEARCHDB_HASH = 16 };
enum { SEARCHDB_GRAM_BYTES = 16 << 10 }; /* of a body */
enum { SEARCHDB_VERSION = 2 };

struct searchdb;

/* With `write` the database is made if there is none; without, CAIRN_ENOTFOUND. `dir`
 * NULL: one in memory, which goes with searchdb_close. CAIRN_EIO also where something
 * else lies in its place, which is left there. */
int searchdb_open(struct searchdb **out, const char *dir, bool write,
                  struct cairn_error *error);
void searchdb_close(struct searchdb *index);
/* Removes the database and makes an empty one. CAIRN_EBUSY: others use it; then there
 * is none to read or write, only to renew or close. */
int searchdb_renew(struct searchdb *index, struct cairn_error *error);
/* Says so, after CAIRN_EBUSY, which it returns. */
int searchdb_busy(const struct searchdb *index, struct cairn_error *error);
/* Removes the files, if there are any. */
int searchdb_remove(const char *dir, struct cairn_error *error);

int searchdb_begin(struct searchdb *index, struct cairn_error *error);
int searchdb_commit(struct searchdb *index, struct cairn_error *error);
void searchdb_abort(struct searchdb *index);
/* One moment for what is read until searchdb_end_read. */
int searchdb_begin_read(struct searchdb *index, struct cairn_error *error);
void searchdb_end_read(struct searchdb *index);

/* ---- What was indexed, and how far ---- */

/* Appends the value; nothing where there is none. */
int searchdb_meta(struct searchdb *index, const char *key, struct buf *value,
                  struct cairn_error *error);
/* All that write need searchdb_begin. */
int searchdb_set_meta(struct searchdb *index, const char *key, struct str value,
                      struct cairn_error *error);
int searchdb_project(struct searchdb *index, struct str path, uint32_t *id,
                     struct cairn_error *error);
int searchdb_each_project(struct searchdb *index,
                          int (*each)(void *, uint32_t id, struct str path),
                          void *context, struct cairn_error *error);

struct searchdb_unit {
    int64_t id;
    struct str name, stamp;
    bool open;
};
/* Made if there is none: then without a stamp, and open. `unit` gets its id and whether
 * it is open. */
int searchdb_get_unit(struct searchdb *index, struct str name,
                      struct searchdb_unit *unit, struct buf *stamp,
                      struct cairn_error *error);
int searchdb_set_unit(struct searchdb *index, const struct searchdb_unit *unit,
                      struct cairn_error *error);
/* Without its docs. */
int searchdb_drop_unit(struct searchdb *index, int64_t id, struct cairn_error *error);
/* A non-zero return of `each` stops; a negative one is returned. */
int searchdb_each_unit(struct searchdb *index,
                       int (*each)(void *, const struct searchdb_unit *), void *context,
                       struct cairn_error *error);
int searchdb_each_key(struct searchdb *index, int64_t unit,
                      int (*each)(void *, int64_t doc, struct str key, struct str hash),
                      void *context, struct cairn_error *error);

struct searchdb_vector {
    int8_t at[SEARCHDB_DIMENSIONS];
    uint32_t square; /* of its length: below 2^23 */
};
struct searchdb_doc {
    int64_t unit;
    struct str key;
    uint8_t section; /* from 1 */
    uint32_t project;
    int64_t time_ns;
    struct str hash; /* SEARCHDB_HASH bytes */
    struct str title, body;
    const struct str *tags;
    size_t n_tags;
    uint32_t n_words; /* of title and body */
    const struct searchdb_vector *vector;
};
int searchdb_put(struct searchdb *index, const struct searchdb_doc *doc,
                 struct cairn_error *error);
int searchdb_drop(struct searchdb *index, int64_t doc, struct cairn_error *error);
/* Views during the call, without tags and vector. CAIRN_ENOTFOUND */
int searchdb_get(struct searchdb *index, int64_t doc,
                 int (*got)(void *, const struct searchdb_doc *), void *context,
                 struct cairn_error *error);
int searchdb_count(struct searchdb *index, uint64_t *docs, struct cairn_error *error);
/* Takes what was dropped out of words and grams for good: costs as much as writing them
 * once. */
int searchdb_merge(struct searchdb *index, struct cairn_error *error);

/* ---- Vectors of a service (searchdb.c) ---- */

/* What they are of: if it is not what they were of, all go. */
int searchdb_use_model(struct searchdb *index, struct str model,
                       struct cairn_error *error);
int searchdb_has_embedding(struct searchdb *index, const struct digest *text, bool *has,
                           struct cairn_error *error);
int searchdb_put_embedding(struct searchdb *index, const struct digest *text,
                           struct str data, struct cairn_error *error);
/* The entry has the vector of that text. */
int searchdb_set_embedded(struct searchdb *index, int64_t doc,
                          const struct digest *text, struct cairn_error *error);
/* By number. A non-zero return of `each` stops; a negative one is returned. */
int searchdb_each_embedded(struct searchdb *index,
                           int (*each)(void *, int64_t doc, struct str data),
                           void *context, struct cairn_error *error);

/* ---- Finding ---- */

struct searchdb_match {
    int phrase; /* of the expression, from 0 */
    int64_t doc;
    uint32_t in_title, in_body; /* how often; grams have it all in one */
};
/* Of each phrase in turn, by number. `expression`: of FTS5. A positive return of `each`
 * skips the rest of a phrase; a negative one stops, and is returned. */
int searchdb_find_words(struct searchdb *index, struct str expression,
                        int (*each)(void *, const struct searchdb_match *),
                        void *context, struct cairn_error *error);
int searchdb_find_grams(struct searchdb *index, struct str expression,
                        int (*each)(void *, const struct searchdb_match *),
                        void *context, struct cairn_error *error);
int searchdb_each_tagged(struct searchdb *index, struct str tag,
                         int (*each)(void *, int64_t doc), void *context,
                         struct cairn_error *error);
/* Of every doc, by number. */
struct searchdb_seen {
    int64_t doc;
    uint8_t section;
    uint32_t project;
    int64_t time_ns;
    uint32_t n_words, n_grams; /* how long it is in each of the two tables */
    const int8_t *vector;      /* [SEARCHDB_DIMENSIONS] */
    uint32_t square;
};
int searchdb_each_vector(struct searchdb *index,
                         int (*each)(void *, const struct searchdb_seen *),
                         void *context, struct cairn_error *error);

#endif
