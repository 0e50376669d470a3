/* SPDX-License-Identifier: MIT */
/* cairn: watching a session and its files, so that a checkpoint is made after edits
 * have settled, whoever makes them. Nothing is asked again and again: while nothing
 * happens there is nothing to do, and the descriptor cannot be read. */
#ifndef CAIRN_WATCH_H
#define CAIRN_WATCH_H

#include "error.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_watch;

/* What people should hear of. */
struct cairn_watch_note {
    const char *what; /* "limit", "too-large", "refused" (the directories of the files
                         cannot be watched, so they are looked at every so often),
                         "overflow", "unreadable", "gone", "back", "replaced",
                         "steady" (a file alone grows all the time), "hook" (a hook
                         changes files), or "store" (the store cannot be watched, and is
                         asked) */
    const char *text; /* a sentence */
    const char *path; /* that it is about */
};
struct cairn_watch_options {
    void (*note)(void *context, const struct cairn_watch_note *note); /* or NULL */
    void *context;
};
/* What happened since the last step. */
struct cairn_watch_news {
    bool store; /* something was committed, or the store was replaced: whatever was read
                   of it is to be read again. Also the first time. */
    bool files; /* files have changed, or may have */
    bool due;   /* they have settled: cairn_watch_checkpoint is to be called */
    const char *state; /* of the files: "off" (the settings say so, or the session has
                          ended), "watched", "looked-at" (every so often), "gone" (their
                          directory is, and is waited for) */
    const char *root;  /* their directory, or NULL; until the next step */
    uint64_t directories; /* that are watched */
};

/* Begins to watch the session of an open store (which may be read-only), and the files
 * where its setting "files" names some and "settle" and "files-settled" are not off:
 * settings are followed. The store must outlive the watch. The first cairn_watch_step
 * walks through the directories. CAIRN_ENOTFOUND: no such session. */
CAIRN_API int cairn_watch_open(struct cairn_watch **watch, struct cairn_store *store,
                               const char *session,
                               const struct cairn_watch_options *options,
                               struct cairn_error *error);
/* What is written to this open file is no edit, wherever it lies: the caller's own
 * output, which would grow with each checkpoint that it tells of. Before the first
 * step. What is no regular file is passed over; CAIRN_ELIMIT for more than 8. */
CAIRN_API int cairn_watch_ignore(struct cairn_watch *watch, int fd,
                                 struct cairn_error *error);
/* To be polled for reading (poll, select, epoll), and nothing else. It can be read when
 * there is something to do for cairn_watch_step. */
CAIRN_API int cairn_watch_descriptor(const struct cairn_watch *watch);
/* Also in so many ms, once, sleep of the machine included; -1: not. */
CAIRN_API void cairn_watch_wake(struct cairn_watch *watch, int64_t ms);
/* Takes notice of all that has happened, and waits for nothing. */
CAIRN_API int cairn_watch_step(struct cairn_watch *watch, struct cairn_watch_news *news,
                               struct cairn_error *error);
/* Makes a checkpoint "files-settled" by a store that was opened for writing, as
 * cairn_session_checkpoint does, and begins to wait for the next change. None is made
 * where the files are those of the last checkpoint: a restore has put them there, or
 * somebody else has made one. After an error it is due again, later each time.
 * It is due when nothing has changed for the time "settle" (2 s unless set), at the
 * latest 10 times that after the first change, 20 times a minute at most, and
 * 10 times as long after the last one as that took (but a minute at most). For a file
 * that alone changes and grows by little all the time they become fewer, down to one
 * every 5 minutes, and one when it stops growing. */
CAIRN_API int cairn_watch_checkpoint(struct cairn_watch *watch,
                                     struct cairn_store *store,
                                     struct cairn_captured *captured,
                                     struct cairn_error *error);
/* Before and after the hooks of a checkpoint are run (cairn_hooks_run): what changes
 * meanwhile is stored with the next edit, and alone only after a minute, then two,
 * four,
 * ... Else a hook that writes in the directory would make a checkpoint of each. */
CAIRN_API int cairn_watch_hooks(struct cairn_watch *watch, bool run,
                                struct cairn_error *error);
/* Where no store could be opened for that: it is due again, as after an error. */
CAIRN_API void cairn_watch_postpone(struct cairn_watch *watch);
CAIRN_API void cairn_watch_close(struct cairn_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
