/* SPDX-License-Identifier: MIT */
/* The window of a text that has most different words of the query in it. A word counts
 * if its stem is one of them, or if it begins with one. */
#include "search/search_int.h"

#include "base/utf8.h"

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

static void see(struct window *w, const struct marked *place)
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
            see(&window, &place);
    }
    struct str part = cut_window(text, &window);
    add_marked(out, part, wanted, n);
    while (out->size && out->data[out->size - 1] == ' ')
        out->data[--out->size] = 0;
    return buf_check(out, error);
}
