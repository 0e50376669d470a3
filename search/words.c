/* SPDX-License-Identifier: MIT */
#include "search/search_int.h"

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
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (word.len >= ends[i].n + 3 &&
            memcmp(word.ptr + word.len - ends[i].n, ends[i].end, ends[i].n) == 0)
            return word.len - ends[i].n;
    return word.len;
}
