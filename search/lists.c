/* SPDX-License-Identifier: MIT */
/* The texts that have the words of a query, and those that have the letters of them,
 * ranked by bm25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
 * 2009) as FTS5 has it, with what all texts of the scope, and no others, say about how
 * rare a word is. A word that very many of them have finds nothing by itself: it would
 * cost a look at each, and says next to nothing. */
#include "search/search_int.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>

#define BM25_K1 1.2
#define BM25_B 0.75
/* A word of a title counts for so many. */
#define TITLE_TIMES 3
/* So many texts, and a part of all, have a word that is common. */
enum { COMMON_TEXTS = 2000, COMMON_PART = 4 };

struct counted {
    uint32_t at; /* in the scope */
    uint32_t often;
};
struct scoring {
    const struct scope *scope;
    double *score;         /* [scope->n] */
    struct counted *found; /* of the phrase that is read */
    size_t n_found, room_found;
    size_t next;   /* in the scope: where the phrase goes on */
    size_t limit;  /* more than so many: it is common */
    double length; /* of a text, on average */
    int phrase;
    bool of_grams, has_scored;
    bool common[PHRASES_MOST];
    struct cairn_error *error;
};

/* The logarithm to base 2, digit by digit: the same on every machine. */
static double log_of(double x)
{
    double whole = 0, part = 0.5;
    while (x >= 2) {
        x /= 2;
        whole++;
    }
    while (x < 1) {
        x *= 2;
        whole--;
    }
    for (int i = 0; i < 24; i++) {
        x *= x;
        if (x >= 2) {
            x /= 2;
            whole += part;
        }
        part /= 2;
    }
    return whole;
}

static uint32_t length_of(const struct scoring *s, const struct scope_doc *doc)
{
    return s->of_grams ? doc->n_grams : doc->n_words;
}

/* How rare it is is known once it was read. */
static void score_phrase(struct scoring *s)
{
    double n = (double)s->scope->n, has = (double)s->n_found;
    double rare = log_of((n - has + 0.5) / (has + 0.5));
    if (rare <= 0)
        rare = 1e-6;
    for (size_t i = 0; i < s->n_found; i++) {
        const struct scope_doc *doc = &s->scope->at[s->found[i].at];
        double often = s->found[i].often;
        double length = length_of(s, doc) / s->length;
        s->score[s->found[i].at] += rare * often * (BM25_K1 + 1) /
                                    (often + BM25_K1 * (1 - BM25_B + BM25_B * length));
    }
    s->has_scored |= s->n_found > 0;
    s->n_found = 0;
    s->next = 0;
}

/* Both come by number: steps that double, then a search between. */
static bool find_doc(struct scoring *s, int64_t doc)
{
    const struct scope_doc *at = s->scope->at;
    size_t n = s->scope->n, low = s->next, step = 1;
    while (low + step < n && at[low + step].doc < doc) {
        low += step;
        step *= 2;
    }
    size_t high = low + step < n ? low + step + 1 : n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    s->next = low;
    return low < n && at[low].doc == doc;
}

static int take_match(void *context, const struct searchdb_match *match)
{
    struct scoring *s = context;
    if (match->phrase != s->phrase)
        score_phrase(s);
    s->phrase = match->phrase;
    if (s->next >= s->scope->n || !find_doc(s, match->doc))
        return 0;
    if (s->n_found >= s->limit) {
        s->common[match->phrase] = true;
        s->n_found = 0;
        return 1;
    }
    struct counted *found =
        array_room(s->found, s->n_found, &s->room_found, sizeof *found);
    if (!found)
        return error_nomem(s->error);
    uint32_t often =
        s->of_grams ? match->in_title : TITLE_TIMES * match->in_title + match->in_body;
    s->found = found;
    found[s->n_found++] = (struct counted){(uint32_t)s->next, often};
    return 0;
}

static int read_lists(struct scoring *s, struct searchdb *index, struct str expression)
{
    s->phrase = -1;
    int rc = s->of_grams
                 ? searchdb_find_grams(index, expression, take_match, s, s->error)
                 : searchdb_find_words(index, expression, take_match, s, s->error);
    score_phrase(s);
    return rc;
}

static void offer_all(const struct scoring *s, struct rank_list *list)
{
    for (size_t i = 0; i < s->scope->n; i++)
        if (s->score[i] > 0 && s->scope->at[i].wanted)
            rank_offer(list, s->scope->at[i].doc, -(int64_t)(s->score[i] * 1000000));
}

/* If all words are common, they are all that there is to go by. */
static int rank_phrases(struct scoring *s, struct searchdb *index,
                        const struct phrases *phrases, struct rank_list *list)
{
    struct buf expression = BUF_INIT;
    uint64_t length = s->of_grams ? s->scope->grams : s->scope->words;
    size_t n = s->scope->n, least = n / COMMON_PART;
    if (!phrases->n || !n)
        return 0;
    s->length = length ? (double)length / (double)n : 1;
    s->limit = least > COMMON_TEXTS ? least : COMMON_TEXTS;
    s->score = calloc(n, sizeof *s->score);
    int rc = s->score ? phrases_expression(phrases, &expression, s->error)
                      : error_nomem(s->error);
    if (!rc)
        rc = read_lists(s, index, buf_view(&expression));
    if (!rc && !s->has_scored) {
        s->limit = SIZE_MAX;
        rc = read_lists(s, index, buf_view(&expression));
    }
    if (!rc)
        offer_all(s, list);
    rank_sort(list);
    buf_release(&expression);
    free(s->score);
    free(s->found);
    return rc;
}

/* Parts of a common word are as common, and longest to read. */
static void leave_out(struct phrases *grams, const struct phrases *words,
                      const bool *common)
{
    struct phrases left = {.n = 0};
    for (size_t i = 0; i < grams->n; i++) {
        struct str gram = phrases_at(grams, i);
        bool is_common = false;
        for (size_t j = 0; j < words->n && !is_common; j++)
            is_common = common[j] && str_equal(gram, phrases_at(words, j));
        if (is_common)
            continue;
        buf_str(&left.bytes, gram);
        left.end[left.n++] = left.bytes.size;
    }
    if (left.n && !left.bytes.failed) {
        phrases_release(grams);
        *grams = left;
    } else {
        phrases_release(&left);
    }
}

int rank_texts(struct searchdb *index, const struct scope *scope, struct str text,
               struct rank_list lists[2], struct cairn_error *error)
{
    struct phrases words = {.n = 0}, grams = {.n = 0};
    struct scoring of_words = {.scope = scope, .error = error};
    struct scoring of_grams = {.scope = scope, .error = error, .of_grams = true};
    int rc = phrases_of_words(text, &words, error);
    if (!rc)
        rc = rank_phrases(&of_words, index, &words, &lists[0]);
    if (!rc)
        rc = phrases_of_grams(text, &grams, error);
    if (!rc) {
        leave_out(&grams, &words, of_words.common);
        rc = rank_phrases(&of_grams, index, &grams, &lists[1]);
    }
    phrases_release(&words);
    phrases_release(&grams);
    return rc;
}
