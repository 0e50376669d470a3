/* SPDX-License-Identifier: MIT */
/* The door to inotify: what happens to the entries of directories, as the kernel tells
 * it. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include "base/str.h"

enum notify_what {
    NOTIFY_CHANGED = 1,    /* content, mode or times of an entry */
    NOTIFY_APPEARED = 2,   /* it was made, or moved to this place */
    NOTIFY_VANISHED = 4,   /* it was removed */
    NOTIFY_LEFT = 8,       /* it was moved from this place */
    NOTIFY_DIRECTORY = 16, /* the entry is one */
    NOTIFY_SELF = 32,      /* the watched directory was removed, moved or unmounted */
    NOTIFY_ENDED = 64,     /* it is not watched any more */
    NOTIFY_LOST = 128      /* the queue was full: events are missing */
};

struct notify_event {
    int watch;
    unsigned what;
    struct str name; /* of the entry; empty: it is about the directory itself */
};

enum notify_kind {
    NOTIFY_ENTRIES, /* all of the above */
    NOTIFY_PLACE    /* NOTIFY_SELF alone */
};

/* A descriptor that can be read when something has happened; -1 and errno: EMFILE where
 * the user has as many as the system allows (or the process too many descriptors). */
int notify_open(void);
/* Watches the directory `dir`, also more of one that is watched already. The number of
 * the watch: the same as before of a directory that has one; -1 and errno, ENOSPC where
 * the user watches as many as the system allows. */
int notify_add(int notify, int dir, enum notify_kind kind);
/* Does not watch it any more. */
void notify_remove(int notify, int watch);
/* Tells what has happened so far, or a part of it: then the descriptor can still be
 * read. `each` must not read itself; a negative value stops, and is returned. An errno.
 */
int notify_read(int notify, int (*each)(void *, const struct notify_event *),
                void *context);
/* What the system allows a user to watch; 0: not known. */
unsigned long notify_watches_most(void);

#endif
