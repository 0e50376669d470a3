/* SPDX-License-Identifier: MIT */
/* The context of an agent that a checkpoint keeps, as bytes: what somebody says of it,
 * and where git was. It is a section of its own, which is no state: two checkpoints
 * that differ in it alone have the same state. Nothing is restored from it.
 *
 *   byte    version: 1
 *   lstr    summary, at most 500 characters
 *   lstr    description, at most 10,000 characters
 *   varint  number of pairs, at most 50, for each in ascending order of keys:
 *           lstr key, 1 to 50 characters, none a control character;
 *           lstr value, at most 500 characters
 *   lstr    full state, at most 1 MiB
 *   varint  0: no number of tokens; else one more than that number, which is below 2^40
 *   varint  0: no usage; else one more than the usage in millionths, at most 1,000,000
 *   byte    the threshold that the usage has crossed, in percent: 25, 50, 75, 90; 0:
 *           none
 *   lstr    branch of git, at most 1,024 bytes
 *   lstr    commit of git: nothing, or 40 or 64 hex digits in lower case
 *
 * All are UTF-8 without NUL; empty ones were not given, and not all are. Pure. */
#ifndef SESSION_OUTSIDE_CONTEXT_H
#define SESSION_OUTSIDE_CONTEXT_H

#include "base/arena.h"
#include "base/str.h"

enum { SECTION_CONTEXT = 35 };                               /* its kind */
enum { CONTEXT_SUMMARY = 500, CONTEXT_DESCRIPTION = 10000 }; /* characters */
enum { CONTEXT_PAIRS = 50 };                                 /* at most, of each ... */
enum { CONTEXT_KEY = 50, CONTEXT_VALUE = 500 };          /* ... so many characters */
enum { CONTEXT_STATE = 1 << 20, CONTEXT_BRANCH = 1024 }; /* bytes */
enum { CONTEXT_TOKENS_BITS = 40, CONTEXT_USAGE_ALL = 1000000 }; /* millionths */

struct context_pair {
    struct str key, value;
};
struct context {
    struct str summary, description, state; /* texts of an arena end with a NUL */
    struct context_pair *pairs;
    uint32_t n_pairs;
    bool has_tokens, has_usage;
    uint64_t tokens;   /* as the caller counts them */
    uint32_t usage;    /* of the window of the context, in millionths */
    uint8_t threshold; /* percent */
    struct str branch, commit;
};

/* Of the usage: in percent, ascending. */
enum { CONTEXT_THRESHOLDS = 4 };
extern const struct context_threshold {
    uint8_t percent;
    const char *text; /* "25" */
} context_thresholds[CONTEXT_THRESHOLDS];

/* How many texts somebody gave: each pair counts as one. */
uint32_t context_given(const struct context *context);
bool context_has_any(const struct context *context);
/* Of all texts that were given: their bytes / 4, rounded up. */
uint64_t context_estimate(const struct context *context);
/* The highest threshold that a usage reaches, in percent, 0: none. */
uint8_t context_threshold(uint32_t usage);
uint64_t context_characters(struct str text); /* of UTF-8 */
/* 40 or 64 hex digits in lower case. */
bool context_is_commit(struct str text);

/* CAIRN_EUSAGE: what does not fit the limits, which is named. */
int context_check(const struct context *context, struct cairn_error *error);
/* Appends. The pairs may stand in any order; they are sorted. CAIRN_EUSAGE as
 * context_check, and where nothing at all is there. */
int context_encode(struct context *context, struct buf *out, struct cairn_error *error);
/* Untrusted bytes: CAIRN_EDAMAGED. Everything is copied into the arena. */
int context_decode(struct arena *arena, struct str bytes, struct context *out,
                   struct cairn_error *error);

#endif
