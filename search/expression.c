/* SPDX-License-Identifier: MIT */
/* A phrase in double quotes is the one thing in the language of FTS5 in which nothing
 * but a double quote means anything; that is doubled. */
#include "search/search_int.h"

enum { WORDS_MOST = PHRASES_MOST / 2 };

static void add_phrase(struct phrases *out, struct str phrase)
{
    if (out->n == PHRASES_MOST)
        return;
    buf_str(&out->bytes, phrase);
    out->end[out->n++] = out->bytes.size;
}

struct str phrases_at(const struct phrases *phrases, size_t i)
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
