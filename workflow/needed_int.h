/* SPDX-License-Identifier: MIT */
/* Which tasks end before another one starts, for the names of tasks in expressions. */
#ifndef WORKFLOW_NEEDED_INT_H
#define WORKFLOW_NEEDED_INT_H

#include "workflow/parser_int.h"

/* How a task itself needs another one: as a whole, and how many members, or parts, by
 * name. */
struct direct_need {
    bool whole, part;
    uint32_t members;
};

struct needed; /* in the parser's scratch memory */

/* NULL: out of memory. All needs have been read; they may still form a circle. */
struct needed *needed_new(struct parser *p);
/* Cheap for the task that was asked about last. */
struct direct_need needed_directly(struct needed *needed, uint32_t def,
                                   uint32_t target);

/* Is the target, as a whole, needed by the task or by anything that it needs? Most of
 * them can be told at once; the others are found out together, NEEDED_TOGETHER targets
 * at a time, each time with one look at all needs:
 *
 *   needed_surely -> else needed_ask -> for all that was asked: needed_find
 *                                    -> needed_found for each -> needed_ask anew */
enum { NEEDED_TOGETHER = 256 };
bool needed_surely(const struct needed *needed, uint32_t def, uint32_t target);
/* False: there are NEEDED_TOGETHER targets already. */
bool needed_ask(struct needed *needed, uint32_t target);
void needed_find(struct needed *needed);
bool needed_found(const struct needed *needed, uint32_t def, uint32_t target);

#endif
