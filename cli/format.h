/* SPDX-License-Identifier: MIT */
/* Numbers, times and foreign text for people. The functions that fill `out` return it,
 * so that they can stand in an argument list. Also what tasks write, as people see it:
 * the last state of a line that was overwritten, plain colors or none, everything else
 * harmless. */
#ifndef CLI_FORMAT_H
#define CLI_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_MAX 80

const char *format_duration(char out[FORMAT_MAX], int64_t ms);   /* 0.12s, 3m05s */
const char *format_bytes(char out[FORMAT_MAX], uint64_t bytes);  /* 1.2 MiB */
const char *format_local(char out[FORMAT_MAX], int64_t time_ns); /* local time */
const char *format_utc(char out[FORMAT_MAX], int64_t time_ns);   /* RFC 3339 */
/* How an attempt ended: "exit 1", "signal 9 (KILL)", "timed out", "". `text` is its
 * message or NULL: with a message nothing is added about a signal, a timeout or a
 * command that was not found. */
const char *format_end(char out[FORMAT_MAX], int exit_code, int signal, bool timed_out,
                       const char *text);
/* The value of a parameter, quoted and escaped if it has blanks or control characters;
 * heap or NULL. */
char *quoted_value(const char *text);
/* The length without line breaks at the end, for %.*s. */
int length_trimmed(const char *text);
/* "s" unless n is 1. */
const char *plural(uint64_t n);
/* Length of the valid UTF-8 character at the start of text, 0 if there is none. */
size_t utf8_length(const char *text, size_t n);
/* The length of the longest start of a text of at most so many bytes that cuts no
 * character. */
size_t text_fit(const char *text, size_t most);
bool utf8_valid(const char *text, size_t n);
/* The length of a character that is a control (beyond ASCII) or hides or reorders what
 * is shown, of one with `length` bytes; else 0. */
size_t format_control(const char *text, size_t length, unsigned *code);
/* Makes text harmless on a terminal: control characters become ^X or \u009b, bytes
 * that are not UTF-8 \xNN; newlines and tabs stay. Writes at most 6 bytes for each one
 * read, no NUL; returns how many. */
size_t escape_text(char *out, const char *text, size_t n);
size_t escape_line(char *out, const char *text, size_t n); /* newlines, too: ^J */

#define ESCAPE_FACTOR 6

/* Text as one word of a shell command, quoted where it must be; heap or NULL. */
char *shell_word(const char *text);
/* " --" where such a word would be taken for an option without it; else "". */
const char *operand_dashes(const char *text);
/* "./" before the path of a file that would be taken for an option, else "". */
const char *path_dot(const char *path);
/* In a command as it is shown: where the character at `i` ends, or what is quoted from
 * there on; and where its options end: what follows are operands behind "--", or is
 * another command's. */
size_t shell_behind(const char *words, size_t n, size_t i);
size_t shell_options_end(const char *words, size_t n);
/* Milliseconds of a clock that only goes forward. */
int64_t now_ms(void);
/* Nanoseconds since 1970. */
int64_t wall_ns(void);
void sleep_ms(int64_t ms);

/* Room for what one line of n bytes becomes. */
#define TERMINAL_TEXT_ROOM(n) ((n)*ESCAPE_FACTOR + 8)

/* A line without its line break. Of what stands between carriage returns the last that
 * is not empty is shown. Colors and the like (SGR) pass with `color`, and are left out
 * without; so is what erases to the end of a line. Anything else is made visible, as
 * escape_line does it. A color that is still set at the end is reset, unless `painted`
 * is there: then it says so, and goes on in the next line. No NUL; returns how many
 * bytes. */
size_t terminal_line(char *out, const char *line, size_t n, bool color, bool *painted);
/* Columns that the text takes on a terminal. */
int text_columns(const char *text, size_t n);
/* The width of the column, which begins as 0, with one more name in it. */
int name_column(int width, const char *name, size_t n);
/* Blanks between a name and what follows it, without those between columns. */
int name_gap(int width, const char *name, size_t n);
/* How many of its bytes fit into so many columns. */
size_t text_fitting(const char *text, size_t n, int columns);
/* The text in at most so many columns (at least 3): its middle is cut out where it is
 * too long, "begin..end". Harmless text; `out` has room for n + 3 and a NUL. */
const char *columns_cut(char *out, const char *text, int columns);

#endif
