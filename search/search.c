/* SPDX-License-Identifier: MIT */
/* A search: the index finds, the store decides. First what it asks for, checked. */
#include "search/search_int.h"
#include "search/service_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "session/when.h"
#include "storage/store.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct docs { /* by number */
    int64_t *at;
    size_t n, room;
};

struct finding {
    const struct cairn_search *search;
    struct catching c;
    struct buf text, project;
    int64_t since_ns, until_ns;
    uint32_t k;
    /* By what is asked besides the text: */
    bool *projects; /* [n_projects], by id: belongs to what is searched */
    size_t n_projects;
    struct docs tagged;
    struct scope scope;
    struct searchdb_vector query;
    struct rank_list lists[RANK_LISTS];
    struct fused fused[RANK_LISTS * RANK_DEPTH];
    size_t n_fused;
    int (*each)(void *, const struct cairn_search_hit *);
    void *context;
    struct cairn_search_result *result;
    const struct cairn_search_service *service; /* or NULL */
    struct cairn_error *error;
};

enum { K_USUAL = 5, K_MOST = 100, QUERY_MOST = 64 << 10, TAGS_MOST = 64 };

static void end(struct finding *f);

static int take_time(const char *text, int64_t *out, struct cairn_error *error)
{
    return text ? when_parse(str_of(text), clock_utc_ns(), &zone_local, out, error) : 0;
}

static int take_project(struct finding *f)
{
    const char *project = f->search->project;
    char *path;
    if (!project || !*project)
        return error_set(f->error, CAIRN_EUSAGE,
                         "a search needs a project: the directory to which what is "
                         "looked for belongs");
    path = realpath(project, NULL);
    if (!path && *project != '/')
        return error_set(f->error, CAIRN_EUSAGE, "there is no directory %s", project);
    buf_text(&f->project, path ? path : project);
    free(path);
    while (f->project.size > 1 && f->project.data[f->project.size - 1] == '/')
        f->project.data[--f->project.size] = 0;
    return buf_check(&f->project, f->error);
}

static int take_text(struct finding *f)
{
    struct str text = str_of(f->search->text);
    size_t blank = 0;
    if (text.len > QUERY_MOST)
        return error_set(f->error, CAIRN_EUSAGE,
                         "what is looked for has %zu bytes, and may have %d", text.len,
                         QUERY_MOST);
    entry_text(&f->text, text, QUERY_MOST, false);
    if (buf_check(&f->text, f->error))
        return CAIRN_ENOMEM;
    while (blank < f->text.size && (unsigned char)f->text.data[blank] <= ' ')
        blank++;
    if (blank == f->text.size)
        return error_set(f->error, CAIRN_EUSAGE,
                         "there is nothing to look for: the text is empty");
    return 0;
}

static int take_service(struct finding *f)
{
    const struct cairn_search *search = f->search;
    if (!search->service)
        return 0;
    f->service = search->service;
    return service_check(f->service, f->error);
}

/* What is asked is taken, or refused. */
static int finding_take(struct finding *f)
{
    const struct cairn_search *search = f->search;
    f->k = search->k ? search->k : K_USUAL;
    f->since_ns = INT64_MIN;
    f->until_ns = INT64_MAX;
    if (f->k > K_MOST)
        return error_set(f->error, CAIRN_EUSAGE, "%u hits are too many: give 1 to %d",
                         f->k, K_MOST);
    if (!cairn_search_section_name(search->section))
        return error_set(f->error, CAIRN_EUSAGE, "there is no such section to search");
    if (search->n_tags > TAGS_MOST)
        return error_set(f->error, CAIRN_EUSAGE, "a search takes at most %d tags",
                         TAGS_MOST);
    return take_service(f)
           ?: take_text(f)
           ?: take_project(f)
           ?: take_time(search->since, &f->since_ns, f->error)
           ?: take_time(search->until, &f->until_ns, f->error);
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

struct word_reader words_of(struct str text)
{
    return (struct word_reader){.rest = text};
}

bool words_next(struct word_reader *words)
{
    const char *at = words->rest.ptr, *end = at + words->rest.len;
    while (at < end && !in_word(*at))
        at++;
    words->start = at;
    words->n = 0;
    for (; at < end && in_word(*at); at++)
        if (words->n < WORD_BYTES)
            words->word[words->n++] = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    words->word[words->n] = 0;
    words->length = (size_t)(at - words->start);
    words->rest = (struct str){at, (size_t)(end - at)};
    return words->n > 0;
}

uint32_t words_count(struct str text)
{
    struct word_reader words = words_of(text);
    uint32_t n = 0;
    while (words_next(&words))
        n++;
    return n;
}

bool word_is_common(struct str word)
{
    static const char *const list[] = {
        "a",    "an",   "and",  "are",   "as",   "at",   "be",    "been",  "but",
        "by",   "can",  "did",  "do",    "does", "for",  "from",  "had",   "has",
        "have", "how",  "i",    "if",    "in",   "into", "is",    "it",    "its",
        "me",   "my",   "no",   "not",   "of",   "on",   "or",    "our",   "so",
        "than", "that", "the",  "their", "them", "then", "there", "these", "they",
        "this", "to",   "was",  "we",    "were", "what", "when",  "where", "which",
        "who",  "why",  "will", "with",  "you",  "your", NULL};
    return str_among(word, list);
}

size_t word_stem(struct str word)
{
    static const struct {
        const char *end;
        size_t n;
    } ends[] = {{"ing", 3}, {"ies", 3}, {"ed", 2}, {"es", 2},
                {"ly", 2},  {"s", 1},   {"e", 1}};
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (word.len >= ends[i].n + 3 &&
            memcmp(word.ptr + word.len - ends[i].n, ends[i].end, ends[i].n) == 0)
            return word.len - ends[i].n;
    return word.len;
}

/* A phrase in double quotes is the one thing in the language of FTS5 in which nothing
 * but a double quote means anything; that is doubled. */

enum { WORDS_MOST = PHRASES_MOST / 2 };

static void add_phrase(struct phrases *out, struct str phrase)
{
    if (out->n == PHRASES_MOST)
        return;
    buf_str(&out->bytes, phrase);
    out->end[out->n++] = out->bytes.size;
}

/* A view, until it changes. */
static struct str phrases_at(const struct phrases *phrases, size_t i)
{
    size_t from = i ? phrases->end[i - 1] : 0;
    return (struct str){phrases->bytes.data + from, phrases->end[i] - from};
}

void phrases_release(struct phrases *phrases)
{
    buf_release(&phrases->bytes);
    *phrases = (struct phrases){.n = 0};
}

static void add_words(struct str text, bool common, size_t least, struct phrases *out)
{
    struct word_reader words = words_of(text);
    for (int n = 0; n < WORDS_MOST && words_next(&words);) {
        struct str word = {words.word, words.n};
        if (word.len < least || (!common && word_is_common(word)))
            continue;
        add_phrase(out, word);
        n++;
    }
}

int phrases_of_words(struct str text, struct phrases *out, struct cairn_error *error)
{
    add_words(text, false, 1, out);
    if (!out->n)
        add_words(text, true, 1, out);
    return buf_check(&out->bytes, error);
}

/* Words of three letters and more; and pieces between white space that are more than
 * one word ("cairn.db-wal", "E1234:17"), as they are. */
int phrases_of_grams(struct str text, struct phrases *out, struct cairn_error *error)
{
    static const char white[] = " \t\r\n";
    add_words(text, false, 3, out);
    for (size_t at = 0, n = 0; at < text.len && n < WORDS_MOST;) {
        size_t from = at;
        while (at < text.len && !memchr(white, text.ptr[at], sizeof white - 1))
            at++;
        struct str piece = {text.ptr + from, at - from};
        struct word_reader words = words_of(piece);
        if (piece.len >= 3 && (!words_next(&words) || words.length < piece.len)) {
            add_phrase(out, piece);
            n++;
        }
        at++;
    }
    return buf_check(&out->bytes, error);
}

int phrases_expression(const struct phrases *phrases, struct buf *out,
                       struct cairn_error *error)
{
    for (size_t i = 0; i < phrases->n; i++) {
        struct str phrase = phrases_at(phrases, i);
        buf_text(out, out->size ? " OR \"" : "\"");
        for (size_t j = 0; j < phrase.len; j++) {
            if (phrase.ptr[j] == '"')
                buf_byte(out, '"');
            buf_byte(out, (uint8_t)phrase.ptr[j]);
        }
        buf_byte(out, '"');
    }
    return buf_check(out, error);
}

/* The texts that have the words of a query, and those that have the letters of them,
 * ranked by bm25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
 * 2009) as FTS5 has it, with what all texts of the scope, and no others, say about how
 * rare a word is. A word that very many of them have finds nothing by itself: it would
 * cost a look at each, and says next to nothing. */

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
    int rc = phrases_of_words(text, &words, error)
             ?: rank_phrases(&of_words, index, &words, &lists[0])
             ?: phrases_of_grams(text, &grams, error);
    if (!rc) {
        leave_out(&grams, &words, of_words.common);
        rc = rank_phrases(&of_grams, index, &grams, &lists[1]);
    }
    phrases_release(&words);
    phrases_release(&grams);
    return rc;
}

/* How much less a place further down counts. The paper has 60, with which the middle of
 * two weak lists outweighs the first place of the good one. This and the weights were
 * chosen on two sets of queries in tests/data/search: docs/performance.md. */
#define FUSE_K 2.0

static const double list_weights[RANK_LISTS] = {1.0, 0.3, 0.3, 0};

/* The worst one is at[0]: a heap. */
static bool is_worse(const struct ranked *a, const struct ranked *b)
{
    return a->score != b->score ? a->score > b->score : a->doc < b->doc;
}

static void sink(struct rank_list *list)
{
    for (size_t at = 0;;) {
        size_t child = 2 * at + 1;
        if (child >= list->n)
            return;
        if (child + 1 < list->n && is_worse(&list->at[child + 1], &list->at[child]))
            child++;
        if (!is_worse(&list->at[child], &list->at[at]))
            return;
        struct ranked kept = list->at[at];
        list->at[at] = list->at[child];
        list->at[child] = kept;
        at = child;
    }
}

void rank_offer(struct rank_list *list, int64_t doc, int64_t score)
{
    struct ranked new_one = {doc, score};
    if (list->n == RANK_DEPTH) {
        if (!is_worse(&list->at[0], &new_one))
            return;
        list->at[0] = new_one;
        sink(list);
        return;
    }
    size_t at = list->n++;
    for (; at > 0 && is_worse(&new_one, &list->at[(at - 1) / 2]); at = (at - 1) / 2)
        list->at[at] = list->at[(at - 1) / 2];
    list->at[at] = new_one;
}

static int by_score(const void *a, const void *b)
{
    return is_worse(a, b) ? 1 : -1;
}

void rank_sort(struct rank_list *list)
{
    qsort(list->at, list->n, sizeof list->at[0], by_score);
}

static int by_doc(const void *a, const void *b)
{
    const struct fused *x = a, *y = b;
    return (x->doc > y->doc) - (x->doc < y->doc);
}

static int by_fused(const void *a, const void *b)
{
    const struct fused *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return (x->doc < y->doc) - (x->doc > y->doc);
}

void rank_order(struct fused *fused, size_t n)
{
    if (n)
        qsort(fused, n, sizeof *fused, by_fused);
}

void rank_fuse(const struct rank_list lists[RANK_LISTS],
               const double weights[RANK_LISTS], struct fused *out, size_t *n)
{
    double all = 0;
    size_t found = 0, kept = 0;
    if (!weights)
        weights = list_weights;
    for (size_t i = 0; i < RANK_LISTS; i++) {
        size_t rank = 0;
        all += weights[i] / (FUSE_K + 1);
        for (size_t j = 0; j < lists[i].n; j++) {
            if (j == 0 || lists[i].at[j].score != lists[i].at[j - 1].score)
                rank = j + 1;
            out[found++] =
                (struct fused){.doc = lists[i].at[j].doc,
                               .score = weights[i] / (FUSE_K + (double)rank)};
        }
    }
    if (found)
        qsort(out, found, sizeof *out, by_doc);
    for (size_t i = 0; i < found; i++) {
        if (kept && out[kept - 1].doc == out[i].doc)
            out[kept - 1].score += out[i].score;
        else
            out[kept++] = out[i];
    }
    for (size_t i = 0; i < kept; i++)
        out[i].score /= all;
    *n = kept;
}

/* Which entries a search may tell, and in which order. */

/* ---- Filters ---- */

/* Itself, or below. */
static bool is_within(struct str path, struct str above)
{
    if (above.len == 1 && above.ptr[0] == '/')
        return true;
    return path.len >= above.len && memcmp(path.ptr, above.ptr, above.len) == 0 &&
           (path.len == above.len || path.ptr[above.len] == '/');
}

static int note_project(void *context, uint32_t id, struct str path)
{
    struct finding *f = context;
    size_t room = f->n_projects;
    if (id >= 1u << 24)
        return error_set(f->error, CAIRN_EDAMAGED, "the index is damaged");
    if (id >= room) {
        bool *all = realloc(f->projects, (id + 64) * sizeof *all);
        if (!all)
            return error_nomem(f->error);
        memset(all + room, 0, (id + 64 - room) * sizeof *all);
        f->projects = all;
        f->n_projects = id + 64;
    }
    f->projects[id] = is_within(path, buf_view(&f->project));
    return 0;
}

static int note_tagged(void *context, int64_t doc)
{
    struct docs *docs = context;
    int64_t *at = array_room(docs->at, docs->n, &docs->room, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    docs->at = at;
    at[docs->n++] = doc;
    return 0;
}

static bool has_doc(const struct docs *docs, int64_t doc)
{
    size_t low = 0, high = docs->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (docs->at[middle] == doc)
            return true;
        if (docs->at[middle] < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Those with all tags: of each tag they come by number. */
static int find_tagged(struct finding *f)
{
    int rc = 0;
    for (size_t i = 0; i < f->search->n_tags && !rc; i++) {
        struct docs docs = {.n = 0};
        rc = searchdb_each_tagged(f->c.index, str_of(f->search->tags[i]), note_tagged,
                                  &docs, f->error);
        size_t n = 0;
        for (size_t j = 0; j < docs.n; j++)
            if (i == 0 || has_doc(&f->tagged, docs.at[j]))
                docs.at[n++] = docs.at[j];
        free(f->tagged.at);
        f->tagged = docs;
        f->tagged.n = n;
    }
    return rc == CAIRN_ENOMEM ? error_nomem(f->error) : rc;
}

/* ---- Ranking ---- */

static bool is_wanted(const struct finding *f, const struct searchdb_seen *doc)
{
    const struct cairn_search *search = f->search;
    return (!search->section || doc->section == search->section) &&
           doc->time_ns >= f->since_ns && doc->time_ns <= f->until_ns &&
           (!search->n_tags || has_doc(&f->tagged, doc->doc));
}

static int add_to_scope(void *context, const struct searchdb_seen *doc)
{
    struct finding *f = context;
    struct scope *scope = &f->scope;
    if (doc->project >= f->n_projects || !f->projects[doc->project])
        return 0;
    struct scope_doc *at = array_room(scope->at, scope->n, &scope->room, sizeof *at);
    if (!at)
        return error_nomem(f->error);
    scope->at = at;
    at += scope->n++;
    *at = (struct scope_doc){.doc = doc->doc,
                             .time_ns = doc->time_ns,
                             .n_words = doc->n_words,
                             .n_grams = doc->n_grams,
                             .wanted = is_wanted(f, doc)};
    scope->words += doc->n_words;
    scope->grams += doc->n_grams;
    if (at->wanted)
        rank_offer(&f->lists[2], doc->doc,
                   -vector_near(&f->query, doc->vector, doc->square));
    return 0;
}

static const struct scope_doc *find_seen(const struct finding *f, int64_t doc)
{
    const struct scope *scope = &f->scope;
    size_t low = 0, high = scope->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scope->at[middle].doc == doc)
            return &scope->at[middle];
        if (scope->at[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void fuse(struct finding *f, const double *weights)
{
    rank_fuse(f->lists, weights, f->fused, &f->n_fused);
    for (size_t i = 0; i < f->n_fused; i++)
        f->fused[i].time_ns = find_seen(f, f->fused[i].doc)->time_ns;
    rank_order(f->fused, f->n_fused);
}

/* What the index finds, in order; needs a read transaction of it. */
static int finding_rank(struct finding *f)
{
    int rc = searchdb_each_project(f->c.index, note_project, f, f->error)
             ?: find_tagged(f)
             ?: vector_of(STR(""), buf_view(&f->text), &f->query, f->error)
             ?: searchdb_each_vector(f->c.index, add_to_scope, f, f->error)
             ?: rank_texts(f->c.index, &f->scope, buf_view(&f->text), f->lists,
                           f->error)
             ?: searchdb_count(f->c.index, &f->result->entries, f->error);
    rank_sort(&f->lists[2]);
    fuse(f, NULL);
    return rc;
}

/* ---- The service ---- */

static void say_service(struct finding *f, const char *why)
{
    snprintf(f->result->service, sizeof f->result->service, "%.*s",
             (int)sizeof f->result->service - 1, why);
}

/* Its vectors take the place of the hashed ones, which only guess. No transaction is
 * open while it is waited for. */
static int finding_ask_service(struct finding *f)
{
    if (!f->service)
        return 0;
    static const double weights[RANK_LISTS] = {1.0, 0.3, 0, 1.0};
    struct embedding e = {.index = f->c.index,
                          .scope = &f->scope,
                          .text = buf_view(&f->text),
                          .first = f->fused,
                          .n_first = f->n_fused,
                          .error = f->error};
    if (f->result->in_memory || store_read_only(f->c.source.store)) {
        say_service(f,
                    "what it answers could not be kept, since the store is only read");
        return 0;
    }
    int rc = service_begin(&e.service, f->c.source.store, f->service, f->error)
                 ?: embed_rank(&e, &f->lists[3]);
    if (rc && rc != CAIRN_ENOMEM) { /* of the index: what was found stays so */
        say_service(f, f->error->text);
        rc = 0;
    } else {
        say_service(f, e.service.why);
    }
    service_end(&e.service);
    f->result->sent = e.sent;
    f->result->embedded = e.known;
    f->result->service_used = !rc && f->lists[3].n > 0;
    if (f->result->service_used)
        fuse(f, weights);
    return rc;
}

/* The window of a text that has most different words of the query in it. A word counts
 * if its stem is one of them, or if it begins with one. */

enum { SNIPPET_BYTES = 160, QUERY_WORDS = 32, PLACES = 64 };

struct wanted {
    char word[WORD_BYTES + 1];
    size_t n;
};

struct marked { /* of a word in the text */
    size_t at, length;
    uint32_t which;
};

struct window {
    struct marked places[PLACES]; /* the newest ones */
    size_t first, n;
    size_t best_at, best_end;
    unsigned best;
};

static uint32_t take_query(struct str query, struct wanted *wanted)
{
    uint32_t n = 0;
    for (int common = 0; common < 2 && n == 0; common++) {
        struct word_reader words = words_of(query);
        while (n < QUERY_WORDS && words_next(&words)) {
            struct str word = {words.word, words.n};
            if (!common && word_is_common(word))
                continue;
            wanted[n].n = word_stem(word);
            memcpy(wanted[n].word, word.ptr, wanted[n].n);
            n++;
        }
    }
    return n;
}

static int find_word(struct str word, const struct wanted *wanted, uint32_t n)
{
    size_t stem = word_stem(word);
    for (uint32_t i = 0; i < n; i++) {
        bool begins = word.len >= wanted[i].n &&
                      memcmp(word.ptr, wanted[i].word, wanted[i].n) == 0;
        if (begins && (stem == wanted[i].n || wanted[i].n >= 4))
            return (int)i;
    }
    return -1;
}

static void slide_window(struct window *w, const struct marked *place)
{
    uint64_t seen = 0;
    unsigned different = 0;
    while (w->n && (w->n == PLACES ||
                    place->at + place->length - w->places[w->first % PLACES].at >
                        SNIPPET_BYTES)) {
        w->first++;
        w->n--;
    }
    w->places[(w->first + w->n++) % PLACES] = *place;
    for (size_t i = 0; i < w->n; i++) {
        uint64_t bit = 1ull << w->places[(w->first + i) % PLACES].which;
        different += !(seen & bit);
        seen |= bit;
    }
    if (different > w->best) {
        w->best = different;
        w->best_at = w->places[w->first % PLACES].at;
        w->best_end = place->at + place->length;
    }
}

/* The window with some text around it, that begins and ends between words. */
static struct str cut_window(struct str text, const struct window *w)
{
    size_t room = SNIPPET_BYTES - (w->best_end - w->best_at < SNIPPET_BYTES
                                       ? w->best_end - w->best_at
                                       : SNIPPET_BYTES);
    size_t from = w->best_at > room / 3 ? w->best_at - room / 3 : 0;
    while (from > 0 && from < w->best_at && text.ptr[from - 1] != ' ' &&
           text.ptr[from - 1] != '\n')
        from++;
    while (from > 0 && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
        from++;
    struct str rest = {text.ptr + from, text.len - from};
    size_t n = rest.len <= SNIPPET_BYTES ? rest.len : utf8_fit(rest, SNIPPET_BYTES);
    return (struct str){rest.ptr, n};
}

/* In one line: white space of any kind is one blank. */
static void add_plain(struct buf *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool white = (unsigned char)bytes[i] <= ' ';
        if (!white)
            buf_byte(out, (uint8_t)bytes[i]);
        else if (out->size && out->data[out->size - 1] != ' ')
            buf_byte(out, ' ');
    }
}

static void add_marked(struct buf *out, struct str part, const struct wanted *wanted,
                       uint32_t n)
{
    struct word_reader words = words_of(part);
    const char *at = part.ptr;
    while (words_next(&words)) {
        struct str word = {words.word, words.n};
        bool hit = find_word(word, wanted, n) >= 0;
        add_plain(out, at, (size_t)(words.start - at));
        if (hit)
            buf_byte(out, '[');
        add_plain(out, words.start, words.length);
        if (hit)
            buf_byte(out, ']');
        at = words.start + words.length;
    }
    add_plain(out, at, (size_t)(part.ptr + part.len - at));
}

int snippet_make(struct str text, struct str query, struct buf *out,
                 struct cairn_error *error)
{
    struct wanted wanted[QUERY_WORDS];
    struct window window = {.first = 0};
    uint32_t n = take_query(query, wanted);
    struct word_reader words = words_of(text);
    while (window.best < n && words_next(&words)) {
        int which = find_word((struct str){words.word, words.n}, wanted, n);
        struct marked place = {(size_t)(words.start - text.ptr), words.length,
                               which < 0 ? 0 : (uint32_t)which};
        if (which >= 0 && place.length < SNIPPET_BYTES)
            slide_window(&window, &place);
    }
    struct str part = cut_window(text, &window);
    add_marked(out, part, wanted, n);
    while (out->size && out->data[out->size - 1] == ' ')
        out->data[--out->size] = 0;
    return buf_check(out, error);
}

/* Hits: read from the store again, and told with the part that fits best. */

struct hit {
    struct finding *f;
    double score;
    struct buf key;
    uint8_t hash[SEARCHDB_HASH];
    bool good;
    bool stopped;
};

static int note_doc(void *context, const struct searchdb_doc *doc)
{
    struct hit *hit = context;
    buf_str(&hit->key, doc->key);
    if (doc->hash.len == SEARCHDB_HASH)
        memcpy(hit->hash, doc->hash.ptr, SEARCHDB_HASH);
    return buf_check(&hit->key, hit->f->error);
}

/* The title is shown by itself where it is a name. */
static int make_snippet(const struct finding *f, const struct text_entry *entry,
                        struct buf *out)
{
    struct buf text = BUF_INIT;
    if (entry->section == CAIRN_SEARCH_SESSIONS ||
        entry->section == CAIRN_SEARCH_BOARD || !entry->body.len) {
        buf_str(&text, entry->title);
        buf_text(&text, entry->title.len && entry->body.len ? "\n" : "");
    }
    buf_str(&text, entry->body);
    int rc = buf_check(&text, f->error);
    if (!rc && text.size)
        rc = snippet_make(buf_view(&text), buf_view(&f->text), out, f->error);
    buf_release(&text);
    return rc;
}

static int tell(struct hit *hit, const struct text_entry *entry, struct buf texts[3])
{
    struct finding *f = hit->f;
    buf_str(&texts[0], entry->title);
    buf_str(&texts[1], entry->project);
    int rc = make_snippet(f, entry, &texts[2]);
    for (int i = 0; i < 3 && !rc; i++)
        rc = buf_check(&texts[i], f->error);
    if (rc)
        return rc;
    struct cairn_search_hit told = {.rank = ++f->result->hits,
                                    .score = hit->score,
                                    .distance = 1 - hit->score,
                                    .section = entry->section,
                                    .kind = entry->kind,
                                    .id = entry->id,
                                    .session = entry->session,
                                    .task = entry->task,
                                    .run = entry->run,
                                    .checkpoint = entry->seq,
                                    .time_ns = entry->time_ns,
                                    .project = texts[1].data ? texts[1].data : "",
                                    .title = texts[0].data ? texts[0].data : "",
                                    .snippet = texts[2].data ? texts[2].data : ""};
    hit->stopped = f->each(f->context, &told) != 0;
    return hit->stopped;
}

static int check_entry(void *context, const struct text_entry *entry)
{
    struct hit *hit = context;
    struct buf texts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    uint8_t hash[SEARCHDB_HASH];
    entry_hash(hit->f->c.source.sha, entry, hash);
    if (!str_equal(entry->key, buf_view(&hit->key)))
        return 0; /* of several that come together */
    hit->good = memcmp(hash, hit->hash, SEARCHDB_HASH) == 0;
    int rc = hit->good ? tell(hit, entry, texts) : 0;
    for (int i = 0; i < 3; i++)
        buf_release(&texts[i]);
    return rc ? rc : 1;
}

/* *stopped: no more is wanted. */
static int tell_one(struct finding *f, const struct fused *fused, bool *stopped)
{
    struct hit hit = {.f = f, .score = fused->score, .key = BUF_INIT};
    struct text_source *source = &f->c.source;
    int rc = searchdb_get(f->c.index, fused->doc, note_doc, &hit, f->error);
    source->each = check_entry;
    source->is_known = NULL;
    source->context = &hit;
    if (!rc)
        rc = source_get(source, buf_view(&hit.key));
    buf_release(&hit.key);
    f->result->dropped += !hit.good;
    *stopped = hit.stopped;
    return rc == CAIRN_ENOMEM ? rc : 0; /* what cannot be read is not there */
}

/* Each hit is read from the store again. */
static int finding_tell(struct finding *f)
{
    bool stopped = false;
    int rc = 0;
    for (size_t i = 0; i < f->n_fused && f->result->hits < f->k && !rc && !stopped; i++)
        rc = tell_one(f, &f->fused[i], &stopped);
    return rc;
}

/* As far as it can be brought; 0 also if somebody else is doing that. */
static int bring_up(struct finding *f)
{
    struct catching *c = &f->c;
    int rc = catch_up(c);
    if (rc == CAIRN_EDAMAGED)
        rc = searchdb_renew(c->index, f->error) ?: catch_up(c);
    f->result->up_to_date = rc == 0;
    return rc > 0 || rc == CAIRN_EBUSY ? 0 : rc;
}

/* `why`: NULL: what the error says. */
static int open_memory(struct finding *f, const char *why)
{
    struct cairn_search_result *result = f->result;
    searchdb_close(f->c.index);
    f->c.index = NULL;
    result->in_memory = true;
    snprintf(result->in_memory_reason, sizeof result->in_memory_reason, "%s",
             why ? why : f->error->text);
    return searchdb_open(&f->c.index, NULL, true, f->error) ?: bring_up(f);
}

static int open_reader(struct finding *f)
{
    struct catching *c = &f->c;
    bool current = false;
    const char *why = "the store can only be read, and its index is not up to date";
    int rc =
        searchdb_open(&c->index, cairn_store_path(c->source.store), false, f->error)
            ?: catch_up_is_current(c, &current);
    if (!rc && current) {
        f->result->up_to_date = true;
        return 0;
    }
    if (rc == CAIRN_ENOTFOUND)
        why = "the store can only be read, and has no index";
    return rc == CAIRN_ENOMEM ? rc : open_memory(f, rc == CAIRN_EIO ? NULL : why);
}

static int open_index(struct finding *f)
{
    struct cairn_store *store = f->c.source.store;
    if (store_read_only(store))
        return open_reader(f);
    int rc = searchdb_open(&f->c.index, cairn_store_path(store), true, f->error)
                 ?: bring_up(f);
    return rc == CAIRN_EIO ? open_memory(f, NULL) : rc; /* a full disk, for example */
}

static int rank_once(struct finding *f)
{
    memset(f->lists, 0, sizeof f->lists);
    f->scope.n = f->n_fused = 0;
    f->scope.words = f->scope.grams = 0;
    int rc = searchdb_begin_read(f->c.index, f->error);
    if (rc)
        return rc;
    rc = finding_rank(f);
    searchdb_end_read(f->c.index);
    return rc;
}

/* The index was damaged where nothing but a search reads it. */
static int make_anew(struct finding *f)
{
    if (!f->result->in_memory && store_read_only(f->c.source.store))
        return open_memory(f, "the store can only be read, and its index is damaged");
    return searchdb_renew(f->c.index, f->error) ?: bring_up(f);
}

static int find(struct finding *f)
{
    int rc = open_index(f) ?: rank_once(f);
    if (rc == CAIRN_EDAMAGED)
        rc = make_anew(f) ?: rank_once(f);
    if (rc == CAIRN_EBUSY && f->c.index)
        return searchdb_busy(f->c.index, f->error);
    return rc ?: finding_ask_service(f) ?: finding_tell(f);
}

static void end(struct finding *f)
{
    searchdb_close(f->c.index);
    source_close(&f->c.source);
    buf_release(&f->text);
    buf_release(&f->project);
    free(f->projects);
    free(f->tagged.at);
    free(f->scope.at);
    free(f);
}

static int begin(struct finding **out, struct cairn_store *store,
                 struct cairn_search_result *result, struct cairn_error *error)
{
    struct finding *f = calloc(1, sizeof *f);
    if (!f)
        return error_nomem(error);
    *result = (struct cairn_search_result){.entries = 0};
    f->result = result;
    f->error = f->c.error = error;
    int rc = source_open(&f->c.source, store, error);
    if (rc)
        free(f);
    else
        *out = f;
    return rc;
}

int cairn_search(struct cairn_store *store, const struct cairn_search *search,
                 int (*progress)(void *, const struct cairn_search_progress *),
                 int (*each)(void *, const struct cairn_search_hit *), void *context,
                 struct cairn_search_result *result, struct cairn_error *error)
{
    struct finding *f;
    struct cairn_search_result own;
    STRUCT_TAKE(cairn_search, search, error);
    int rc = begin(&f, store, result ? result : &own, error);
    if (rc)
        return rc;
    f->search = search;
    f->each = each;
    f->context = f->c.context = context;
    f->c.progress = progress;
    rc = finding_take(f) ?: find(f);
    end(f);
    return rc;
}

static int refuse_read_only(struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "the store is only read: the index is written to it");
}

int cairn_search_rebuild(struct cairn_store *store,
                         int (*progress)(void *, const struct cairn_search_progress *),
                         void *context, struct cairn_search_result *result,
                         struct cairn_error *error)
{
    struct finding *f;
    struct cairn_search_result own;
    if (store_read_only(store))
        return refuse_read_only(error);
    int rc = begin(&f, store, result ? result : &own, error);
    if (rc)
        return rc;
    f->c.context = context;
    f->c.progress = progress;
    rc = searchdb_open(&f->c.index, cairn_store_path(store), true, error)
         ?: searchdb_renew(f->c.index, error)
         ?: catch_up(&f->c);
    if (rc == CAIRN_EBUSY && f->c.index)
        rc = searchdb_busy(f->c.index, error);
    f->result->up_to_date = rc == 0;
    if (rc >= 0)
        rc = searchdb_count(f->c.index, &f->result->entries, error);
    end(f);
    return rc;
}

int cairn_search_forget(struct cairn_store *store, struct cairn_error *error)
{
    struct finding *f;
    struct cairn_search_result result;
    struct searchdb *index;
    const char *dir = cairn_store_path(store);
    if (store_read_only(store))
        return refuse_read_only(error);
    int rc = searchdb_open(&index, dir, false, error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (!rc)
        searchdb_close(index);
    rc = begin(&f, store, &result, error);
    if (rc)
        return rc;
    f->c.only_gone = true;
    rc = searchdb_open(&f->c.index, dir, true, error) ?: catch_up(&f->c);
    end(f);
    return rc ? searchdb_remove(dir, error) : 0;
}
