/* SPDX-License-Identifier: MIT */
/* Feature hashing (Weinberger et al., "Feature Hashing for Large Scale Multitask
 * Learning", ICML 2009): each feature adds to one place of the vector, with the sign
 * that another bit of its hash says, so that features which share a place cancel out on
 * average. What comes often counts by the logarithm of how often. All
 * of it is counted in whole numbers, so that every machine makes the same vector. */
#include "search/search_int.h"

#include "base/error.h"

#include <stdlib.h>

enum { TABLE = 1 << 14 }; /* features that are counted apart; a power of two */
/* Of a text, from its beginning: what follows changes the direction little. */
enum { VECTOR_WORDS = 20000 };
enum { BODY_WEIGHT = 100, TITLE_WEIGHT = 200, GRAM_PERCENT = 35 };

struct feature {
    uint64_t hash; /* 0: none */
    uint32_t weight, count;
};
struct counting {
    struct feature *table; /* [TABLE] */
    uint32_t used;
};

/* FNV-1a, 64 bits, and the end of MurmurHash3, so that all bits depend on all. */
static uint64_t hash_of(const char *bytes, size_t n, uint64_t seed)
{
    uint64_t h = 14695981039346656037u ^ seed;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)bytes[i]) * 1099511628211u;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    h ^= h >> 33;
    return h ? h : 1;
}

static void count(struct counting *c, uint64_t hash, uint32_t weight)
{
    for (uint32_t i = (uint32_t)hash & (TABLE - 1);; i = (i + 1) & (TABLE - 1)) {
        struct feature *f = &c->table[i];
        if (f->hash == 0) {
            if (c->used >= TABLE / 2)
                return;
            f->hash = hash;
            c->used++;
        } else if (f->hash != hash) {
            continue;
        }
        f->count++;
        if (f->weight < weight)
            f->weight = weight;
        return;
    }
}

static void count_text(struct counting *c, struct str text, uint32_t weight)
{
    struct word_reader words = words_of(text);
    for (uint32_t i = 0; i < VECTOR_WORDS && words_next(&words); i++) {
        struct str word = {words.word, words.n};
        if (word_is_common(word))
            continue;
        size_t stem = word_stem(word);
        count(c, hash_of(word.ptr, stem, 1), weight);
        for (size_t size = 3; size <= 5 && size < word.len; size++)
            for (size_t at = 0; at + size <= word.len; at++)
                count(c, hash_of(word.ptr + at, size, 2 + size),
                      weight * GRAM_PERCENT / 100);
    }
}

/* 1 for 1, 2 for 2 and 3, 3 for 4 to 7, ... */
static uint32_t bits_of(uint32_t count)
{
    uint32_t bits = 0;
    for (; count; count >>= 1)
        bits++;
    return bits;
}

static void quantize(const int64_t sum[SEARCHDB_DIMENSIONS],
                     struct searchdb_vector *out)
{
    int64_t most = 0;
    for (int i = 0; i < SEARCHDB_DIMENSIONS; i++) {
        int64_t size = sum[i] < 0 ? -sum[i] : sum[i];
        most = size > most ? size : most;
    }
    out->square = 0;
    for (int i = 0; i < SEARCHDB_DIMENSIONS; i++) {
        out->at[i] = most ? (int8_t)(sum[i] * 127 / most) : 0;
        out->square += (uint32_t)(out->at[i] * out->at[i]);
    }
}

int vector_of(struct str title, struct str body, struct searchdb_vector *out,
              struct cairn_error *error)
{
    int64_t sum[SEARCHDB_DIMENSIONS] = {0};
    struct counting c = {.table = calloc(TABLE, sizeof *c.table)};
    if (!c.table)
        return error_nomem(error);
    count_text(&c, title, TITLE_WEIGHT);
    count_text(&c, body, BODY_WEIGHT);
    for (uint32_t i = 0; i < TABLE; i++) {
        const struct feature *f = &c.table[i];
        int64_t weight = (int64_t)f->weight * bits_of(f->count);
        if (f->hash)
            sum[(f->hash >> 32) % SEARCHDB_DIMENSIONS] +=
                f->hash >> 63 ? weight : -weight;
    }
    free(c.table);
    quantize(sum, out);
    return 0;
}

/* The square of the cosine, with its sign: in the same order, and without a root. */
int64_t vector_near(const struct searchdb_vector *query, const int8_t *vector,
                    uint32_t square)
{
    int32_t dot = 0;
    for (int i = 0; i < SEARCHDB_DIMENSIONS; i++)
        dot += query->at[i] * vector[i];
    if (!query->square || !square)
        return 0;
    double near = (double)dot * dot / ((double)query->square * square) * 1e9;
    return dot < 0 ? -(int64_t)near : (int64_t)near;
}
