/* SPDX-License-Identifier: MIT */
/* Extended regular expressions in linear time. The C library's own need memory that
 * doubles with each `(a|b)`, and time without end for a back-reference.
 *
 * POSIX extended expressions as the C library reads them, with its \w \W \s \S \< \> \b
 * \B, for bytes: letters beyond ASCII have no case and belong to no class. Not here:
 * back-references (\1), and expressions that are larger than MATCHER_PARTS once their
 * repetitions are written out. Only lines are looked for, so no match has a line break,
 * and \` and \' are the beginning and the end of the line.
 *
 * The expression becomes a program of its parts (Thompson 1968). The parts that can
 * come next are a state; which state follows by which byte is found out when it is
 * first needed and kept, up to a limit, behind which that begins anew. So a byte costs
 * one look-up, at worst as many steps as there are parts, and memory is bounded. */
#ifndef SNAPSHOT_SEARCH_H
#define SNAPSHOT_SEARCH_H

#include "base/str.h"

/* Of all searches with one matcher, for what is not kept: about a minute. */
#define MATCHER_STEPS (UINT64_C(1) << 34)

struct matcher {
    struct part *parts; /* [n] */
    uint32_t n, room;
    struct byte_set *sets; /* [n_sets] */
    uint32_t n_sets, sets_room;
    bool ignore_case;
    struct matcher_states *states; /* made by the first search */
    uint64_t steps;
};

/* CAIRN_EUSAGE: it is none, with the position; or it is too large, or has a
 * back-reference. matcher_release in any case. */
int matcher_init(struct matcher *matcher, struct str expression, bool ignore_case,
                 struct cairn_error *error);
void matcher_release(struct matcher *matcher);
/* The first line with a match: 1, and `at` is in that line, or at its end; 0: there is
 * none. `begins`: `text` begins at the beginning of a line; `ends`: it ends at the end
 * of one. What is behind a last line break is not a line. CAIRN_ENOMEM; CAIRN_ELIMIT:
 * more than MATCHER_STEPS. */
int matcher_find(struct matcher *matcher, struct str text, bool begins, bool ends,
                 size_t *at, struct cairn_error *error);

/* Lines of a content that match a pattern. The content comes in parts of any size and
 * is looked at as it comes; what is kept of it is one line, or SEARCH_LINE_MOST bytes
 * of that.
 *
 * A line that is longer is looked at in pieces of that size, of which each begins with
 * the last SEARCH_OVERLAP bytes of the one before it: a match that is longer than those
 * may be missed. Bytes are bytes: letters beyond ASCII have no case. */

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

/* A POSIX extended regular expression (search.h), or (`fixed`) the bytes themselves;
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
