/* SPDX-License-Identifier: MIT */
/* A growing text, and JSON written into it value by value: commas come by themselves.
 *
 *     text_open(&text, '{');
 *     text_key(&text, "name");
 *     text_string(&text, name);
 *     text_close(&text, '}');
 *
 * Out of memory is remembered in `failed`: nothing more is added, and who uses the text
 * looks there once at the end. */
#ifndef SERVER_TEXT_H
#define SERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes; /* ended by a NUL that `n` does not count; NULL while empty */
    size_t n, room;
    bool failed;
};

void text_add(struct text *text, const char *bytes, size_t n);
void text_put(struct text *text, const char *string);
void text_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Drops the first n bytes. */
void text_cut(struct text *text, size_t n);
/* "" while empty; until the text changes. */
const char *text_get(const struct text *text);
/* The text, to be freed by the caller; NULL if it failed. The struct is empty then. */
char *text_take(struct text *text);
void text_release(struct text *text);

void text_open(struct text *text, char brace);
void text_close(struct text *text, char brace);
void text_key(struct text *text, const char *key);
void text_string(struct text *text, const char *string);
/* Bytes that are not UTF-8 become U+FFFD. */
void text_bytes(struct text *text, const char *bytes, size_t n);
void text_int(struct text *text, int64_t number);
void text_real(struct text *text, double number);
void text_bool(struct text *text, bool value);
/* A complete value that is JSON already. */
void text_raw(struct text *text, const char *json, size_t n);
/* Key and string in one. */
void text_pair(struct text *text, const char *key, const char *string);

#endif
