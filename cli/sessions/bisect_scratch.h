/* SPDX-License-Identifier: MIT */
/* The directory in which states are tried. It is $TMPDIR/cairn-bisect-XXXXXX, and
 * locked (flock) as long as somebody works in it: one that is not locked was left
 * behind by a bisect that was killed, and goes with the next one. */
#ifndef CLI_SESSIONS_BISECT_SCRATCH_H
#define CLI_SESSIONS_BISECT_SCRATCH_H

#include <stdint.h>

enum { SCRATCH_PATH = 4096 };
struct bisect_scratch {
    int fd; /* holds the lock; -1: there is none */
    char path[SCRATCH_PATH];
    char probe[SCRATCH_PATH + 32]; /* of one probe, in it; "": none */
};
/* Removes what others left behind, and makes one. Returns an exit status, after
 * printing what is wrong. */
int scratch_open(struct bisect_scratch *scratch);
/* An empty directory for a probe. Returns an exit status. */
int scratch_next(struct bisect_scratch *scratch, uint32_t number);
/* Removes everything in it; what cannot be removed is named. */
void scratch_empty(struct bisect_scratch *scratch);
void scratch_close(struct bisect_scratch *scratch);

#endif
