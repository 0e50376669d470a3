/* SPDX-License-Identifier: MIT */
#include "cli/markdown/markdown.h"

#include "cli/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Whether the character begins something that is not text, wherever it stands. An
 * underscore within a word does not. */
static bool is_special(const char *line, size_t at, size_t n)
{
    char c = line[at];
    if (c == '_')
        return at == 0 || at + 1 == n || !is_word(line[at - 1]) ||
               !is_word(line[at + 1]);
    if (c == ':') /* of http://x, which is a link without any brackets */
        return at + 2 < n && line[at + 1] == '/' && line[at + 2] == '/';
    if (c == '.') /* of www.x */
        return at >= 3 && strncasecmp(&line[at - 3], "www", 3) == 0;
    if (c == '&')
        return at + 1 < n && (is_word(line[at + 1]) || line[at + 1] == '#');
    return c != '\0' && strchr("\\`*[]<|~$", c) != NULL;
}

/* The character of a line that would make a heading, a list or a quotation of it; n:
 * none. */
static size_t special_start(const char *line, size_t n)
{
    size_t digits = 0;
    while (digits < n && isdigit((unsigned char)line[digits]))
        digits++;
    if (digits > 0)
        return digits < n && (line[digits] == '.' || line[digits] == ')') ? digits : n;
    return n > 0 && strchr("#-+=>:", line[0]) ? 0 : n;
}

/* One line, in which no control characters are. */
static void put_line(FILE *file, const char *line, size_t n)
{
    size_t start = special_start(line, n);
    for (size_t at = 0; at < n; at++) {
        if (at == start || is_special(line, at, n))
            fputc('\\', file);
        fputc(line[at], file);
    }
}

/* Without blanks around it, which would make code of it or a line break. */
static void put_escaped(FILE *file, const char *text, size_t n)
{
    static const char blanks[] = " \t\r";
    char *line;
    size_t length;
    while (n > 0 && text[0] != '\0' && strchr(blanks, text[0])) {
        text++;
        n--;
    }
    while (n > 0 && text[n - 1] != '\0' && strchr(blanks, text[n - 1]))
        n--;
    line = malloc(n * ESCAPE_FACTOR + 1);
    length = line ? escape_line(line, text, n) : 0;
    put_line(file, line, length);
    if (!line && n > 0)
        fputs("(out of memory)", file);
    free(line);
}

void markdown_words(FILE *file, const char *text)
{
    char *words = strdup(text);
    if (!words)
        return put_escaped(file, text, 0);
    for (char *at = words; *at != '\0'; at++)
        if (*at == '\n' || *at == '\t' || *at == '\r')
            *at = ' ';
    put_escaped(file, words, strlen(words));
    free(words);
}

static bool is_blank(const char *text, size_t n)
{
    return strspn(text, " \t\r") >= n;
}

void markdown_lines(FILE *file, const char *text, const char *indent, unsigned most)
{
    unsigned shown = 0, more = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        bool blank = is_blank(text, n);
        if (!blank && shown < most) {
            fprintf(file, "%s%s", shown > 0 ? "\n" : "", shown > 0 ? indent : "");
            put_escaped(file, text, n);
        }
        more += !blank && shown == most;
        shown += !blank && shown < most;
        text += n + (text[n] == '\n');
    }
    if (more > 0)
        fprintf(file, "\n%s(and %u more line%s)", indent, more, plural(more));
}

/* Where its last lines begin. */
static size_t last_lines(const char *bytes, size_t n, unsigned most)
{
    size_t at = n;
    if (at > 0 && bytes[at - 1] == '\n')
        at--;
    while (at > 0) {
        if (bytes[at - 1] == '\n' && --most == 0)
            break;
        at--;
    }
    return at;
}

void markdown_block(FILE *file, const char *bytes, size_t n, const char *indent,
                    unsigned most)
{
    size_t at = last_lines(bytes, n, most);
    while (at < n) {
        const char *end = memchr(bytes + at, '\n', n - at);
        size_t length = end ? (size_t)(end - bytes) - at : n - at;
        char *line = malloc(length * ESCAPE_FACTOR + 1);
        size_t shown = line ? escape_line(line, bytes + at, length) : 0;
        fprintf(file, "%s%.*s\n", shown > 0 ? indent : "", (int)shown, line);
        free(line);
        at += length + 1;
    }
}
