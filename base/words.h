/* SPDX-License-Identifier: MIT */
/* What a word may be: a number or a duration in decimal, a name, a word of a shell. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include "base/str.h"

/* A whole decimal number without sign or leading blanks. False on anything else. */
bool str_to_u64(struct str text, uint64_t *out);
/* Digits up to `end`, which is passed over unless the text ends there; at most `most`. */
bool digits_take(const char **at, char end, uint64_t most, uint64_t *out);
/* Decimal text of a number, as printf would make it; `out` has room for it. */
struct str str_decimal(int64_t number, char out[24]);
/* The same with a NUL; returns `out`. */
const char *u64_text(uint64_t number, char out[24]);
/* Two digits of lower-case hex for each byte, and a NUL. */
void hex_of_bytes(const void *bytes, size_t n, char *out);
/* What a digit of hex of either case stands for; -1 for any other byte. */
int hex_digit(char c);
/* `500ms`, `10s`, `1m30s`, `0.5s`: units d h m s ms, each at most once, larger ones
 * first; a whole number of milliseconds, at most 100 years. */
bool str_to_duration_ms(struct str text, int64_t *out);

/* 4096, 64K, 64KB, 64KiB: units K M G T, all powers of 1024; at most `most`. */
bool str_to_bytes(struct str text, uint64_t most, uint64_t *out);

/* [A-Za-z0-9_][A-Za-z0-9_.-]* */
bool str_is_id(struct str text);
/* [a-z_][a-z0-9_]* */
bool str_is_key(struct str text);
/* [A-Za-z_][A-Za-z0-9_]* */
bool str_is_env_name(struct str text);

/* Appends text so that a POSIX shell (POSIX.1-2017, XCU 2.2.2) reads it as one word: in
 * single quotes, but for texts that never need them. */
void buf_shell_word(struct buf *buf, struct str text);

/* The same in an array of SHELL_WORD_ROOM(bytes of the text, with a NUL) bytes, which
 * it returns; where it does not fit, "NAME", which stands for one. */
#define SHELL_WORD_ROOM(n) (4 * (n) + 3)
const char *shell_word_in(char *out, size_t size, struct str text);

#endif
