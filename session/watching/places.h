/* SPDX-License-Identifier: MIT */
/* The directories in which a store and the files of a session lie: whether something
 * was committed to the store, and whether one of the directories that lead to them has
 * become another one. */
#ifndef SESSION_WATCHING_PLACES_H
#define SESSION_WATCHING_PLACES_H

#include "base/error.h"

#include <stdbool.h>

struct places {
    int notify;  /* a descriptor to poll; -1: none */
    bool blind;  /* the store is not watched: it has to be asked */
    int sys;     /* errno: why */
    bool stored; /* something was written to the store, or the store is another one */
    bool moved;  /* look whether the paths lead where they did */
};
/* Paths without links; `root` may be NULL. Both flags are set. */
void places_open(struct places *places, const char *store, const char *root);
void places_read(struct places *places);
void places_close(struct places *places);

#endif
