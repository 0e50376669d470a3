/* SPDX-License-Identifier: MIT */
/* The lines of an exported file: JSON objects whose members are texts and whole
 * numbers. Bytes are texts in base64. */
#ifndef SESSION_TRANSFER_LINE_H
#define SESSION_TRANSFER_LINE_H

#include "base/sha256.h"
#include "base/str.h"

/* ---- Writing: line_begin, members, line_end; then buf_check ---- */

void line_begin(struct buf *line, const char *type);
void line_text(struct buf *line, const char *key, struct str text); /* of UTF-8 */
void line_number(struct buf *line, const char *key, uint64_t number);
void line_time(struct buf *line, const char *key, int64_t time_ns); /* a text */
void line_digest(struct buf *line, const char *key, const struct digest *digest);
void line_bytes(struct buf *line, const char *key, struct str bytes);
void line_end(struct buf *line);

/* ---- Reading ---- */

enum { LINE_MEMBERS_MOST = 24 };
struct line {
    struct {
        struct str key, value;
        bool is_text;
    } at[LINE_MEMBERS_MOST];
    size_t n;
};
/* Untrusted bytes, of one line without its end; they are changed, and the members are
 * views of them. False: they are not such an object. */
bool line_parse(char *bytes, size_t n, struct line *line);
/* False: there is no such member, or it is of another kind. */
bool line_get_text(const struct line *line, const char *key, struct str *text);
bool line_get_number(const struct line *line, const char *key, uint64_t *number);
bool line_get_time(const struct line *line, const char *key, int64_t *time_ns);
bool line_get_digest(const struct line *line, const char *key, struct digest *digest);
/* Appends. False also where memory ran out, which *bytes says. */
bool line_get_bytes(const struct line *line, const char *key, struct buf *bytes);

#endif
