/* SPDX-License-Identifier: MIT */
/* Damage to the bytes of a store, and what the command then says of it, asked in this
 * very process: the command's own code is linked in (cairn_main). */
#ifndef PROVE_DAMAGE_H
#define PROVE_DAMAGE_H

#include "base/os.h"
#include "base/sha256.h"

#include <stdint.h>

/* ---- ask.c ---- */

/* Runs the command with these words; its exit status. `said` (may be NULL) gets all
 * that it printed. */
int ask(struct buf *said, const char *store, const char *const *words);
/* What the store answers to every question that has an answer, as one text. */
void ask_everything(struct buf *answers, const char *store);

/* ---- rows.c ---- */

/* Every row that a command can read. */
void ask_rows(struct buf *rows, const char *store);

/* ---- records.c ---- */

struct record_place { /* bytes of the database file that are one record's or digest's */
    uint64_t seq;
    size_t from, to;
    bool stale; /* on a page that is not in use any more */
};
struct records {
    struct record_place *places;
    size_t n_places;
    uint64_t *seqs;
    struct digest *digests;
    size_t n;
};
/* All records of a store, and where `file` has their bytes. False if it cannot. */
bool records_find(struct records *records, const char *store, const char *file);
/* The next record that has this byte (a digest stands beside its record and in the next
 * one), from *i on; 0: there is no more. */
uint64_t records_at(const struct records *records, size_t offset, size_t *i);
/* How many records of `before` are not in the store, but for those that have the byte
 * at `offset`. */
size_t records_missing(const struct records *before, const char *store, size_t offset);

/* ---- changes.c ---- */

struct changes {
    char **sql; /* one statement each */
    size_t n;
};
/* What can be changed in some rows of each table. */
bool changes_find(struct changes *out, const char *database, unsigned rows);
bool changes_make(const char *database, const char *sql);

#endif
