/* SPDX-License-Identifier: MIT */
/* Ending what a dead run left behind. */
#ifndef PROCESS_LEFTOVERS_H
#define PROCESS_LEFTOVERS_H

#include "base/error.h"

#include <stdint.h>

struct leftovers {
    uint32_t found, ended, survived;
};

/* Ends what a dead run left behind: processes whose environment has CAIRN_TOKEN with
 * the store id and run, and groups recorded in its slot file (same boot, leader's start
 * time right). TERM, up to grace_ms, KILL. Never by pid alone: each is held by a pidfd
 * and checked again before the signal. Does nothing to its own ancestors or itself.
 * Before anything is ended, CAIRN_EBUSY if tasks live in another PID namespace that
 * cannot be seen from here; CAIRN_EIO if /proc cannot be read.
 * The caller owns the workflow of the run. CAIRN_EOWNED, and no more signals, if
 * somebody has begun to go on with the run all the same (its slot file is another one).
 */
int leftovers_end(const char *live_dir, const char *store_id, uint64_t run,
                  int64_t grace_ms, struct leftovers *out, struct cairn_error *error);
/* The same for a run that is to be adopted: processes of attempts whose keeper lives,
 * and that keeper itself, are neither touched nor counted. */
int leftovers_end_unkept(const char *live_dir, const char *store_id, uint64_t run,
                         int64_t grace_ms, struct leftovers *out,
                         struct cairn_error *error);

#endif
