/* SPDX-License-Identifier: MIT */
/* What the files of a board share: change.c and certainty.c use board.c. */
#ifndef SESSION_BOARD_BOARD_INT_H
#define SESSION_BOARD_BOARD_INT_H

#include "session/board/board.h"

/* Where it is, or would be. */
uint32_t board_place(const struct board_list *list, uint32_t n);
/* For one more item. */
int board_make_room(struct board_list *list, struct cairn_error *error);
/* Or puts it in the place of the one of its number. Needs room. */
void board_insert(struct board_list *list, const struct item *item);
/* It must be there. */
void board_take_out(struct board_list *list, uint32_t n);
/* NULL: there is no memory. */
struct board_change *board_add_change(struct board_changes *changes,
                                      struct item_ref id);
/* CAIRN_EDAMAGED: a row was removed by something else, or lost. */
int board_refuse_lost(struct item_ref id, struct cairn_error *error);

/* ---- certainty.c ---- */

/* Before an item is put: the hypothesis that it concerns and that may become certain by
 * it, n 0: none. A gap that is put on one that is certain already is still a question.
 */
int board_find_uncertain(const struct board *board, const struct item *item,
                         struct item_ref *hypothesis, struct cairn_error *error);
/* After it: closes the open gaps of the hypothesis, if it is certain now. */
int board_close_gaps_of(struct board *board, struct item_ref hypothesis, int64_t now_ns,
                        struct board_changes *changes, struct cairn_error *error);

#endif
