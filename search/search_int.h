/* SPDX-License-Identifier: MIT */
/* What the files of the room share. */
#ifndef SEARCH_SEARCH_INT_H
#define SEARCH_SEARCH_INT_H

#include "base/memory.h"
#include "base/sha256.h"
#include "base/str.h"
#include "cairn/search.h"
#include "storage/search/searchdb.h"

/* ---- Texts as words; pure ---- */

enum { WORD_BYTES = 64 };
/* The next run of letters, digits and bytes beyond ASCII, with A to Z made small, cut
 * at WORD_BYTES; *start: where it is in the text. False at the end. */
struct word_reader {
    struct str rest;
    const char *start;
    size_t length; /* of the word as it is in the text */
    char word[WORD_BYTES + 1];
    size_t n;
};
struct word_reader words_of(struct str text);
bool words_next(struct word_reader *words);
uint32_t words_count(struct str text);
/* "the", "of", ...: says nothing about what a text is about. */
bool word_is_common(struct str word);
/* The bytes of it without what plural, past and the like add. */
size_t word_stem(struct str word);

/* ---- vector.c; pure ---- */

/* Words, by their stems, and three to five letters in a row of them, each at a place of
 * the vector that a hash decides. The same text has the same vector on every machine.
 */
int vector_of(struct str title, struct str body, struct searchdb_vector *out,
              struct cairn_error *error);
/* By the cosine of the angle between them: more is nearer. */
int64_t vector_near(const struct searchdb_vector *query, const int8_t *vector,
                    uint32_t square);

/* ---- What a person asks, for FTS5; pure ---- */

enum { PHRASES_MOST = 64 };
struct phrases {
    struct buf bytes;
    size_t end[PHRASES_MOST], n;
};
/* Appended; none: no word of the text can be looked for so. */
int phrases_of_words(struct str text, struct phrases *out, struct cairn_error *error);
int phrases_of_grams(struct str text, struct phrases *out, struct cairn_error *error);
/* Any of them. Every character is a plain one: nothing in a text is an operator. */
int phrases_expression(const struct phrases *phrases, struct buf *out,
                       struct cairn_error *error);
void phrases_release(struct phrases *phrases);

/* ---- The part of a text that is shown; pure ---- */

/* The part of a text that has most words of the query, in one line, with [ and ] around
 * each. Appends. */
int snippet_make(struct str text, struct str query, struct buf *out,
                 struct cairn_error *error);

/* ---- Several lists as one; pure ---- */

/* Words, parts of words, vectors, and what a service says, if one is used. */
enum { RANK_LISTS = 4, RANK_DEPTH = 200 };
struct ranked {
    int64_t doc, score; /* of its list, less is better; then of all, more is better */
};
struct rank_list {
    struct ranked at[RANK_DEPTH];
    size_t n;
};
/* Keeps the RANK_DEPTH best, in no order. */
void rank_offer(struct rank_list *list, int64_t doc, int64_t score);
void rank_sort(struct rank_list *list);
struct fused {
    int64_t doc, time_ns; /* time_ns: for rank_order */
    double score;         /* 0 to 1 */
};
/* Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): of lists that are
 * sorted. Equal scores have equal ranks. *n of `out`, which has room for RANK_LISTS *
 * RANK_DEPTH, by doc. `weights` NULL: the usual ones, without
 * a service. */
void rank_fuse(const struct rank_list lists[RANK_LISTS],
               const double weights[RANK_LISTS], struct fused *out, size_t *n);
/* By score, and of equal ones the newest first. */
void rank_order(struct fused *fused, size_t n);

/* ---- What the index finds for a text ---- */

/* The entries of the projects that are searched, by number. Those that are not wanted
 * for another reason still say how rare a word is. */
struct scope_doc {
    int64_t doc, time_ns;
    uint32_t n_words, n_grams; /* how long it is, counted in each */
    bool wanted;
};
struct scope {
    struct scope_doc *at;
    size_t n, room;
    uint64_t words, grams; /* sums of the lengths */
};
/* By words and by parts of them, sorted. */
int rank_texts(struct searchdb *index, const struct scope *scope, struct str text,
               struct rank_list lists[2], struct cairn_error *error);

/* ---- catch_up.c: what is indexed ---- */

/* Views during the call that gets it. */
struct text_entry {
    struct str key; /* "item/3/h1": names one thing in the store */
    uint8_t section;
    int64_t time_ns;
    struct str project; /* the real path of a directory */
    struct str title, body;
    const struct str *tags;
    size_t n_tags;
    /* For people; `id`: how other commands name it. */
    const char *kind, *id;
    const char *session, *task; /* or NULL */
    uint64_t run, seq;          /* or 0 */
};
typedef int entry_fn(void *context, const struct text_entry *entry);

/* Text of unknown bytes as UTF-8 without control characters, cut at `most` bytes from
 * the end (`last`) or the beginning. Appends. */
void entry_text(struct buf *out, struct str bytes, size_t most, bool last);
/* Of all that is indexed of it. */
void entry_hash(struct sha256 *sha, const struct text_entry *entry,
                uint8_t hash[SEARCHDB_HASH]);

/* ---- The sources: what is in the store ---- */

enum {
    TEXT_MOST = 256 << 10, /* bytes of a message, a log and of all fields of an item */
    FILE_MOST = 1 << 20
};
struct text_source {
    struct cairn_store *store;
    struct sha256 *sha;
    struct buf home; /* the directory that the store lies in */
    entry_fn *each;  /* a non-zero return stops, and is returned by the source */
    /* May be NULL: an entry with this key, which never changes, need not be read. */
    bool (*is_known)(void *context, struct str key);
    void *context;
    int stopped; /* what `each` returned */
    struct cairn_error *error;
};
int source_open(struct text_source *source, struct cairn_store *store,
                struct cairn_error *error);
void source_close(struct text_source *source);

/* What cannot be read is left out by all of them: `verify` names damage.
 *
 * source.c: the session and its board; one item. */
int source_session(struct text_source *source, uint64_t session);
/* The directory that a session is about: that of its files, or the home of the store.
 */
int source_session_project(struct text_source *source, uint64_t session,
                           struct buf *out);

/* source.c: those behind `after`, up to *last. */
int source_messages(struct text_source *source, uint64_t session, uint64_t after,
                    uint64_t *last);

/* source.c: what a checkpoint of a session says; labels and notes. */
int source_checkpoint(struct text_source *source, uint64_t seq);
int source_notes(struct text_source *source);

/* source.c: a run, its tasks and their logs. */
int source_run(struct text_source *source, uint64_t run);
struct log_place {
    uint64_t run;
    uint32_t gen, task, attempt;
    int stream;
};
/* The directory of its workflow file. CAIRN_ENOTFOUND */
int source_run_project(struct text_source *source, uint64_t run, struct buf *out);

/* source.c: files of checkpoints of a session behind one (0: all), that differ
 * from those of the one before; where that ended is kept in `place`. */
struct file_place {
    uint64_t seq;
    struct digest root; /* zeros: none */
};
int source_files(struct text_source *source, uint64_t session,
                 struct file_place *place);

/* source.c: the one thing that a key names. CAIRN_ENOTFOUND: it is gone. */
int source_get(struct text_source *source, struct str key);

/* ---- catch_up.c ---- */

struct catching {
    struct text_source source;
    struct searchdb *index;
    int (*progress)(void *, const struct cairn_search_progress *);
    void *context;
    struct cairn_search_progress told;
    struct cairn_error *error;
    /* Of the open transaction. */
    uint32_t entries;
    uint64_t bytes;
    bool dropped;   /* something that is gone from the store, not replaced */
    bool only_gone; /* nothing new is put: for after deleting */
};
/* Brings the index up to date. */
int catch_up(struct catching *c);
/* Is it? Reads two rows of the store. */
int catch_up_is_current(struct catching *c, bool *current);

/* catch_up.c: one unit of the index against what the store has of it. */
struct unit;
/* Not empty: something was dropped since searchdb_merge. */
#define SEARCHDB_PENDING "pending"

#endif
