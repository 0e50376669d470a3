/* SPDX-License-Identifier: MIT */
/* Where the spawner notes ends (process/end_notes.h): the file, and which of its places
 * are taken. noting.c is the only writer of `noting`. */
#ifndef EXECUTOR_STATE_NOTING_H
#define EXECUTOR_STATE_NOTING_H

#include "process/end_notes.h"

struct engine;

struct noting {
    struct end_notes file;
    uint64_t basis;         /* of the secrets of the workflow: secrets_basis */
    uint32_t n;             /* places 1 to n have been handed out at some time */
    uint32_t *free, n_free; /* of those: nobody has them now */
    size_t capacity;        /* of `free`: at least n */
};

void noting_init(struct engine *e);
/* The slots are open. That it cannot be made is reported, and no reason not to run. */
void noting_open(struct engine *e);
/* A place for the end of an attempt, or NOTE_NONE. */
uint32_t noting_take(struct engine *e);
/* Its attempt is stored, or was never started. NOTE_NONE is accepted. */
void noting_return(struct engine *e, uint32_t place);
void noting_close(struct engine *e);

#endif
