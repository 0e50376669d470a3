/* SPDX-License-Identifier: MIT */
/* Inside the keeper_*.c: the file of an attempt as it was read, and what is left of a
 * lost one. */
#ifndef PROCESS_KEEPER_INT_H
#define PROCESS_KEEPER_INT_H

#include "process/child_int.h"
#include "process/keeper.h"
#include "process/keeper_file.h"

_Static_assert((int)KEEP_NAME == (int)LIVE_NAME, "a spec holds the name of a claim");

struct keeper_halves {
    struct keep_start start;
    struct keep_end end;
    bool start_good, end_good;
    bool damaged; /* something that was written is not what was written */
};

/* 1: read, 0: there is no such file, <0 error. */
int keeper_read(const struct attempt_id *id, struct keeper_halves *halves,
                struct cairn_error *error);
/* What the file says of a keeper that is, or counts as, dead. */
void keeper_apply_file(struct keeper *keeper, const struct keeper_halves *halves);
/* Is this name in live_dir the claim of an attempt of the run? Then *id is that. */
bool keeper_claim_of(const char *name, const char *live_dir, uint64_t run,
                     struct attempt_id *id);
/* 1: the keeper that took the attempt has its file open, wherever it lives: in another
 * PID namespace, too. 0: it does not, <0 error. */
int keeper_has_file(const struct attempt_id *id, struct cairn_error *error);
/* Can a keeper be found here by its number, if it lives? */
bool keeper_number_is_ours(const struct keep_start *start);

/* What keepers of one spawner are made with. */
struct keeper_maker {
    int image_fd;  /* -1 at first */
    bool in_file;  /* image_fd is not a memory file: such may not be executed here */
    uint64_t salt; /* of the epoch of its keepers (keeper_file.h); 0: none yet */
};

/* As child_clone. 0: there is no process, the request says why. */
pid_t keeper_clone(struct keeper_maker *maker, const struct child_stack *stack,
                   struct spawn_request *request, int null_fd);

#endif
