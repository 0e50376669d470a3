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
#ifndef SNAPSHOT_TEXT_MATCHER_H
#define SNAPSHOT_TEXT_MATCHER_H

#include "base/str.h"

enum { MATCHER_PARTS = 5000 };
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
 * of one. What is behind a last line break is no line. CAIRN_ENOMEM; CAIRN_ELIMIT: more
 * than MATCHER_STEPS. */
int matcher_find(struct matcher *matcher, struct str text, bool begins, bool ends,
                 size_t *at, struct cairn_error *error);

#endif
