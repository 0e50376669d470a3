/* SPDX-License-Identifier: MIT */
/* Lines of a content that match a pattern. The content comes in parts of any size and
 * is looked at as it comes; what is kept of it is one line, or SEARCH_LINE_MOST bytes
 * of that.
 *
 * A line that is longer is looked at in pieces of that size, of which each begins with
 * the last SEARCH_OVERLAP bytes of the one before it: a match that is longer than those
 * may be missed. Bytes are bytes: letters beyond ASCII have no case. */
#ifndef SNAPSHOT_TEXT_SEARCH_H
#define SNAPSHOT_TEXT_SEARCH_H

#include "snapshot/text/matcher.h"

enum {
    SEARCH_LINE_MOST = 1 << 20,
    SEARCH_OVERLAP = 64 << 10,
    SEARCH_PATTERN_MOST = 1000
};

struct search_pattern {
    struct str text; /* of a fixed one that is looked for as it is; ptr NULL: none */
    struct matcher matcher;
    bool compiled;
};
/* A POSIX extended regular expression (matcher.h), or (`fixed`) the bytes themselves;
 * `text` must outlive it. CAIRN_EUSAGE: it is none, is too large or longer than
 * SEARCH_PATTERN_MOST, or has a line break. search_pattern_release in any case. */
int search_pattern_init(struct search_pattern *pattern, struct str text, bool fixed,
                        bool ignore_case, struct cairn_error *error);
void search_pattern_release(struct search_pattern *pattern);

struct search_hit {
    uint64_t line;   /* from 1 */
    struct str text; /* without its line break */
    bool cut;        /* a piece of the line alone */
};
struct search {
    struct search_pattern *pattern;
    /* A non-zero return stops, and is returned. */
    int (*hit)(void *context, const struct search_hit *hit);
    void *context;
    struct buf held; /* a line that is not complete */
    uint64_t lines;  /* before it */
    bool in_line;    /* a piece of it was looked at and let go */
    bool line_hit;   /* and matched */
};
/* The next part. Returns what `hit` does, or an error: CAIRN_ENOMEM, and CAIRN_ELIMIT
 * for a pattern that takes too long. */
int search_part(struct search *search, struct str part, struct cairn_error *error);
/* Behind the last part: a last line without a break. */
int search_end(struct search *search, struct cairn_error *error);
void search_release(struct search *search);

#endif
