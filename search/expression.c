/* SPDX-License-Identifier: MIT */
/* A phrase in double quotes is the one thing in the language of FTS5 in which nothing
 * but a double quote means anything; that is doubled. */
#include "search/search_int.h"

enum { WORDS_MOST = 32 };

static void add_phrase(struct buf *out, struct str phrase)
{
    if (out->size)
        buf_text(out, " OR ");
    buf_byte(out, '"');
    for (size_t i = 0; i < phrase.len; i++) {
        if (phrase.ptr[i] == '"')
            buf_byte(out, '"');
        buf_byte(out, (uint8_t)phrase.ptr[i]);
    }
    buf_byte(out, '"');
}

static void add_words(struct str text, bool common, size_t least, struct buf *out)
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

int expression_words(struct str text, struct buf *out, struct cairn_error *error)
{
    add_words(text, false, 1, out);
    if (!out->size)
        add_words(text, true, 1, out);
    return buf_check(out, error);
}

/* Words of three letters and more; and pieces between white space that are more than
 * one word ("cairn.db-wal", "E1234:17"), as they are. */
int expression_grams(struct str text, struct buf *out, struct cairn_error *error)
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
    return buf_check(out, error);
}
