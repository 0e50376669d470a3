/* SPDX-License-Identifier: MIT */
/* Edits and patches. The input: a byte for the lines around an edit, one for the length
 * of a path, which follows, two for the length of the one text; then both texts.
 *
 * The hunks, read back, make the one text the other; small texts take no more lines
 * than a table of all pairs finds; and a quoted path can be read back. */
#include "base/str.h"
#include "snapshot/diff.h"
#include "tests/fuzz/fuzz.h"

#include <sys/stat.h>

enum { SMALL = 64 };

struct applied {
    struct str a, patch; /* what is left of both */
    struct buf out;
    size_t line; /* of `a`, from 1: the next */
    size_t added, removed;
};

static struct str take_line(struct str *text)
{
    struct str line = {text->ptr, text_line_length(*text)};
    text->ptr += line.len;
    text->len -= line.len;
    return line;
}

static bool begins(struct str text, const char *with)
{
    return text.len >= strlen(with) && memcmp(text.ptr, with, strlen(with)) == 0;
}

/* " -5,2" or " -5" */
static void take_range(struct str *header, char sign, size_t *first, size_t *lines)
{
    HOLDS(header->len > 2 && header->ptr[0] == ' ' && header->ptr[1] == sign);
    char *end;
    *first = strtoul(header->ptr + 2, &end, 10);
    *lines = 1;
    if (*end == ',')
        *lines = strtoul(end + 1, &end, 10);
    header->len -= (size_t)(end - header->ptr);
    header->ptr = end;
}

/* A line of a hunk, without its first byte, and without the "\n" that is none. */
static struct str take_body(struct str *patch, char *kind)
{
    struct str line = take_line(patch);
    HOLDS(line.len > 1);
    *kind = line.ptr[0];
    if (begins(*patch, "\\ No newline at end of file\n")) {
        take_line(patch);
        line.len--;
    }
    return (struct str){line.ptr + 1, line.len - 1};
}

static void copy_to_line(struct applied *at, size_t line)
{
    for (; at->line < line; at->line++) {
        HOLDS(at->a.len);
        buf_str(&at->out, take_line(&at->a));
    }
}

static void apply_hunk(struct applied *at)
{
    struct str header = take_line(&at->patch);
    size_t a_first, a_lines, b_first, b_lines;
    HOLDS(begins(header, "@@"));
    header = (struct str){header.ptr + 2, header.len - 2};
    take_range(&header, '-', &a_first, &a_lines);
    take_range(&header, '+', &b_first, &b_lines);
    HOLDS(str_equal(header, STR(" @@\n")));
    copy_to_line(at, a_lines ? a_first : a_first + 1);
    while (a_lines || b_lines) {
        char kind;
        struct str line = take_body(&at->patch, &kind);
        HOLDS(kind == ' ' || kind == '-' || kind == '+');
        if (kind != '+') {
            HOLDS(a_lines-- && str_equal(take_line(&at->a), line));
            at->line++;
        }
        if (kind != '-') {
            HOLDS(b_lines--);
            buf_str(&at->out, line);
        }
        at->added += kind == '+';
        at->removed += kind == '-';
    }
}

static void check_patch(struct str path, struct str a, struct str b, size_t around)
{
    const struct text_file old = {.path = path, .mode = S_IFREG | 0644, .content = a},
                           new = {.path = path, .mode = S_IFREG | 0644, .content = b};
    const struct text_patch_options options = {.around = around};
    struct buf patch = BUF_INIT;
    struct text_stat stat;
    HOLDS(text_patch(&old, &new, &options, &patch, &stat, NULL) == 0);
    HOLDS(str_equal(a, b) == (patch.size == 0));
    if (patch.size && !stat.is_binary) {
        struct applied at = {.a = a, .patch = buf_view(&patch), .line = 1};
        HOLDS(begins(take_line(&at.patch), "diff --git "));
        HOLDS(begins(take_line(&at.patch), "--- "));
        HOLDS(begins(take_line(&at.patch), "+++ "));
        while (at.patch.len)
            apply_hunk(&at);
        buf_str(&at.out, at.a);
        HOLDS(str_equal(buf_view(&at.out), b));
        HOLDS(at.added == stat.added && at.removed == stat.removed);
        buf_release(&at.out);
    }
    buf_release(&patch);
}

static size_t split(struct str text, struct str *lines)
{
    size_t n = 0;
    while (text.len && n < SMALL)
        lines[n++] = take_line(&text);
    return text.len ? SMALL : n;
}

static void check_least(struct str a, struct str b)
{
    static size_t table[SMALL + 1][SMALL + 1];
    struct str in_a[SMALL], in_b[SMALL];
    size_t n = split(a, in_a), m = split(b, in_b);
    struct text_diff diff;
    HOLDS(text_diff(a, b, &diff, NULL) == 0);
    for (size_t i = n + 1; n < SMALL && m < SMALL && i-- > 0;)
        for (size_t j = m + 1; j-- > 0;) {
            size_t right = i < n ? table[i + 1][j] + 1 : SIZE_MAX;
            size_t down = j < m ? table[i][j + 1] + 1 : SIZE_MAX;
            table[i][j] = right < down ? right : down;
            if (i == n && j == m)
                table[i][j] = 0;
            else if (i < n && j < m && str_equal(in_a[i], in_b[j]))
                table[i][j] = table[i + 1][j + 1];
        }
    if (n < SMALL && m < SMALL)
        HOLDS(diff.added + diff.removed == table[0][0]);
    text_diff_release(&diff);
}

static void check_quoted(struct str path)
{
    static const char named[] = "abtnvfr";
    struct buf quoted = BUF_INIT, plain = BUF_INIT;
    text_quote(&quoted, "", path);
    struct str text = buf_view(&quoted);
    bool is_quoted = text.len && text.ptr[0] == '"';
    for (size_t i = is_quoted; i + is_quoted < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        HOLDS(byte >= ' ' && byte < 127);
        HOLDS(is_quoted || (byte != ' ' && byte != '"' && byte != '\\'));
        if (byte == '\\') {
            char next = text.ptr[++i];
            const char *at = strchr(named, next);
            byte = (unsigned char)(at ? 7 + (at - named) : next);
            if (next >= '0' && next <= '3') {
                byte = (unsigned char)strtoul(
                    (char[]){next, text.ptr[i + 1], text.ptr[i + 2], 0}, NULL, 8);
                i += 2;
            }
        }
        buf_byte(&plain, byte);
    }
    HOLDS(str_equal(buf_view(&plain), path));
    buf_release(&quoted);
    buf_release(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct reader in = reader_of(copy.ptr, size);
    size_t around = read_byte(&in);
    struct str path = read_bytes(&in, read_byte(&in) % 32);
    struct str a = read_bytes(&in, read_u16(&in));
    struct str b = read_bytes(&in, in.failed ? 0 : reader_left(&in));
    if (!in.failed) {
        struct fenced fenced = fence(a);
        a.ptr = fenced.ptr;
        check_patch(path, a, b, around);
        check_least(a, b);
        check_quoted(path);
        unfence(&fenced);
    }
    unfence(&copy);
    return 0;
}
