/* SPDX-License-Identifier: MIT */
/* Inside the keeper_*.c: the file of an attempt as it was read, and what is left of a
 * lost one. */
#ifndef PROCESS_KEEPER_INT_H
#define PROCESS_KEEPER_INT_H

#include "process/keeper.h"
#include "process/keeper_file.h"

#include <limits.h>

enum { KEEP_PATH = PATH_MAX + KEEP_NAME };

struct halves {
    struct keep_start start;
    struct keep_end end;
    bool start_good, end_good;
    bool damaged; /* something that was written is not what was written */
};
/* 1: read, 0: there is no such file, <0 error. */
int keeper_read(const struct attempt_id *id, struct halves *halves,
                struct cairn_error *error);
/* What the file says of a keeper that is, or counts as, dead. */
void keeper_believe(struct keeper *keeper, const struct halves *halves);
/* Takes the attempt so that nobody starts it: an errno, EEXIST if somebody has it. */
int keeper_take(const struct attempt_id *id);
/* The attempt that a name stands for, if it is that of a file of this run; the rest of
 * the name is "keep", "keep.<salt>", "out" or "err". */
bool keeper_parse_name(const char *name, struct attempt_id *id, const char **rest);

bool keeper_pidfd_ended(int pidfd);
/* By token and by session. `held`: the keeper is our zombie, its number is its own. */
int keeper_end_rest(const struct keeper *keeper, const char *store_id, bool held,
                    struct cairn_error *error);

#endif
