/* SPDX-License-Identifier: MIT */
/* JSON written into a buf value by value: commas come by themselves.
 *
 *     text_open(&text, '{');
 *     text_key(&text, "name");
 *     text_string(&text, name);
 *     text_close(&text, '}'); */
#ifndef SERVER_TEXT_H
#define SERVER_TEXT_H

#include "base/str.h"

/* Drops the first n bytes. */
void text_cut(struct buf *text, size_t n);
/* "" while empty; until the text changes. */
const char *text_get(const struct buf *text);
/* The text, to be freed by the caller; NULL if it failed. The buf is empty then. */
char *text_take(struct buf *text);

void text_open(struct buf *text, char brace);
void text_close(struct buf *text, char brace);
void text_key(struct buf *text, const char *key);
void text_string(struct buf *text, const char *string);
/* Bytes that are not UTF-8 become U+FFFD. */
void text_bytes(struct buf *text, const char *bytes, size_t n);
void text_int(struct buf *text, int64_t number);
void text_real(struct buf *text, double number);
void text_bool(struct buf *text, bool value);
/* A complete value that is JSON already. */
void text_raw(struct buf *text, const char *json, size_t n);
/* Key and string in one. */
void text_pair(struct buf *text, const char *key, const char *string);

#endif
