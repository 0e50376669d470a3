/* SPDX-License-Identifier: MIT */
/* The board of a session in memory: its items, and the rules that changes must keep.
 * Nothing is changed unless all of a change is allowed, and what follows from it by
 * itself (gaps that close) is part of it.
 *
 *     board_init; board_load each section, or board_add each item that the change and
 *     its arithmetic need; then board_put and board_remove; board_release
 *
 * After an error of memory only board_release may follow. */
#ifndef SESSION_BOARD_BOARD_H
#define SESSION_BOARD_BOARD_H

#include "session/board/item.h"

struct board_list {
    struct item *items; /* ascending by number */
    uint32_t n;
    size_t capacity;
    uint32_t last; /* highest number ever given; never used again */
};

struct board {
    struct arena arena; /* of the contents of items */
    struct board_list lists[ITEM_KINDS_END];
    bool whole; /* set by whoever loads all items; else it has those that were added */
};

/* One item that a change has added (`before` not there), changed, or removed (`after`
 * not there). Views into the board's arena. */
struct board_change {
    struct item_ref id;
    bool had, has;
    struct item before, after;
};

/* In the order in which they were made; the caller frees `at`. */
struct board_changes {
    struct board_change *at;
    uint32_t n;
    size_t capacity;
};

void board_init(struct board *board);
void board_release(struct board *board);
/* The items of one kind, as decoded: they must outlive the board, and are believed.
 * `last`: the highest number ever given to one. */
int board_load(struct board *board, uint8_t kind, const struct section *section,
               uint32_t last, struct cairn_error *error);
/* One item, likewise, of a board that has only those that a change concerns. It must
 * not be there yet. */
int board_add(struct board *board, const struct item *item, struct cairn_error *error);
/* NULL: there is none. */
const struct item *board_find(const struct board *board, struct item_ref id);
struct section board_section(const struct board *board, uint8_t kind);
/* Adds an item (id.n 0: gets the next number, which is put there) or puts another one
 * in the place of one that is there. Its contents are copied. What is refused, with
 * CAIRN_EUSAGE and a text:
 *   - (CAIRN_ENOTFOUND) a ref to what is not there; an item that is not there
 *   - confidences and priors out of 0..1; a strength beyond what its kind of evidence
 *     can have (evidence_init makes it fit)
 *   - a hypothesis that is not proposed at first, or makes a move that there is not
 *   - a dependency that closes a circle, or that is there already
 *   - a change of what evidence or a dependency is about: remove it, add another one
 *   - a time limit of a check that is 0 or more than CHECK_TIMEOUT_MOST, more retries
 *     than CHECK_RETRIES_MOST
 * A hypothesis that becomes more certain than CONFIDENCE_CERTAIN closes its open gaps,
 * at `now_ns`. */
int board_put(struct board *board, struct item *item, int64_t now_ns,
              struct board_changes *changes, struct cairn_error *error);
/* Of a board that was merged from two: closes what board_put would have closed. An open
 * gap of a hypothesis that is certain now stays open if one of the two boards had both
 * so. *closed counts. */
int board_close_gaps(struct board *merged, const struct board *ours,
                     const struct board *theirs, int64_t now_ns, uint32_t *closed,
                     struct cairn_error *error);
/* CAIRN_ENOTFOUND; CAIRN_EUSAGE: others refer to it, and are named. Notes about it
 * stay. */
int board_remove(struct board *board, struct item_ref id, struct board_changes *changes,
                 struct cairn_error *error);
/* A check was run. */
bool board_change_is_verification(const struct board_change *change);
/* Is everything there that items refer to? CAIRN_EDAMAGED names what is not: rows may
 * be lost. (Notes may be about what was removed.) Before board_put. */
int board_check(const struct board *board, struct cairn_error *error);
/* Of a hypothesis: its prior and all evidence for it, in order. CAIRN_EDAMAGED: it is
 * not there. */
int board_confidence(const struct board *board, struct item_ref hypothesis,
                     double *confidence, struct cairn_error *error);

/* What the files of a board share. */

#endif
