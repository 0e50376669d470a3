/* SPDX-License-Identifier: MIT */
/* Exported heads, as `cairn checkpoint head` prints them. */
#ifndef CLI_CHECKPOINT_HEAD_H
#define CLI_CHECKPOINT_HEAD_H

#include "cairn.h"

#include <stdbool.h>

struct head_list {
    struct cairn_head_store of;
    struct cairn_head *heads;
    size_t n;
    bool failed;
};
/* Reads a file in either form. Returns an exit status, 0 for success; otherwise it has
 * reported what is wrong. */
int head_read(const char *path, struct head_list *list);
void head_release(struct head_list *list);

#endif
