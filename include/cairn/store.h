/* SPDX-License-Identifier: MIT */
/* cairn: stores, the directories that hold everything about runs. */
#ifndef CAIRN_STORE_H
#define CAIRN_STORE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open store. The handle must not be used by two threads at once. */
struct cairn_store;

/* What a commit waits for: full survives a power cut, normal a crash of the process
 * (a power cut may lose the newest commits), off neither waits nor promises. */
enum cairn_sync { CAIRN_SYNC_FULL, CAIRN_SYNC_NORMAL, CAIRN_SYNC_OFF };

struct cairn_store_options {
    size_t size;          /* of this struct, or 0 */
    const char *path;     /* the `.cairn` directory; NULL: find it upward from cwd */
    bool create;          /* create it if there is none, in cwd when path is NULL */
    bool read_only;       /* write nothing, repair nothing; works beside a live run */
    enum cairn_sync sync; /* zero is full */
    int lock_wait_ms;     /* longest wait for the write lock; 0: 30,000 */
    const char *key_file; /* its bytes (32 to 4096) are the HMAC key; NULL: no key */
    bool found; /* the user has not named `path`: it is refused where others could have
                   put it there, as one is that is found upward from cwd */
};

/* Opens a store. One that was not named is refused where users other than root and the
 * caller could put something else in its place, or write into it; and any in which
 * something belongs to a user who is neither the caller nor root nor the owner of the
 * directory (CAIRN_EUSAGE). CAIRN_ENOTFOUND if there is none and `create` is unset;
 * CAIRN_ENEWER for a store of a newer release, which is left untouched. With a key,
 * everything written carries an HMAC, and a record without an HMAC of this key counts
 * as damaged; runs recorded without a key are refused (CAIRN_EUSAGE). Writing to a run
 * recorded with a key needs that key (CAIRN_EUSAGE); reading does not. */
CAIRN_API int cairn_store_open(struct cairn_store **out,
                               const struct cairn_store_options *options,
                               struct cairn_error *error);
/* Closes the store; every other handle made from it must be closed before. */
CAIRN_API void cairn_store_close(struct cairn_store *store);
/* From then on `notice` is called behind each commit of what was changed in a text
 * before it was stored: secrets that were taken out of it; and when a call finishes a
 * restore of files that was interrupted, of that and of each file that was changed
 * since and is kept beside its place. The text, for people, lives
 * during the call, in which the store must not be used. NULL: nobody is called. */
CAIRN_API void cairn_store_on_notice(struct cairn_store *store,
                                     void (*notice)(void *context, const char *text),
                                     void *context);
/* A text for people, such as that of an error, without secrets: the values that the
 * current session and the workflows of the store (NULL: none) declare, what such a
 * value begins with (12 bytes and more, since messages cut off what they quote), and
 * what looks like one. *out is to be freed by free(). */
CAIRN_API int cairn_masked(struct cairn_store *store, const char *text, char **out,
                           struct cairn_error *error);
/* The path of the `.cairn` directory, until the store is closed. */
CAIRN_API const char *cairn_store_path(const struct cairn_store *store);
/* The directory in which its `.cairn` was found, even if that is a link, or a file of
 * `cairn checkpoint fork --to`, that leads to a store elsewhere; NULL: the path was
 * given. Until the store is closed. */
CAIRN_API const char *cairn_store_project(const struct cairn_store *store);
/* Did such a file of a fork lead to it? Then that says which session is meant. */
CAIRN_API bool cairn_store_is_fork(const struct cairn_store *store);
/* Is the database that was opened still the one at that path? Not after the store was
 * removed, replaced (also by a repair) or moved: of what is done in the new one from
 * then on nothing is seen by this handle. */
CAIRN_API bool cairn_store_is_current(const struct cairn_store *store);
/* Would opening a store with these options now give what this handle has: the same files,
 * which are looked for and judged as cairn_store_open does, with the same owners and
 * rights, and tables of the same version? A program that keeps a handle which only reads
 * asks this before each use, and opens the store anew if not. False for a handle that
 * writes or has a key, and while something is being read. */
CAIRN_API bool cairn_store_is_unchanged(const struct cairn_store *store,
                                        const struct cairn_store_options *options);
/* Another value whenever another process, or another handle, has committed something to
 * the store. Cheap: for who waits for something, to be asked at least 50 ms apart. */
CAIRN_API uint32_t cairn_store_changes(struct cairn_store *store);
/* A descriptor to be polled for reading (poll, select, epoll), and nothing else: it can
 * be read when something may have been committed to the store since the last call of
 * this function, or the store was removed or replaced. So call it before what is read
 * of the store. It is the handle's, the same each time. -1: the system refuses another
 * one (fs.inotify.max_user_instances): ask cairn_store_changes every so often. */
CAIRN_API int cairn_store_watch(struct cairn_store *store);
/* Puts a notice into the log of the store (cairn_store_events), such as who asked for
 * what is done next. CAIRN_ELIMIT: it has more than 4096 bytes. */
CAIRN_API int cairn_store_note(struct cairn_store *store, const char *text,
                               struct cairn_error *error);

/* Which part of a list to return. Zero: the newest ten. */
struct cairn_page {
    uint32_t limit; /* 0: 10; at most 100 unless `all` */
    uint64_t offset;
    bool oldest_first;
    bool all;
};

#ifdef __cplusplus
}
#endif
#endif
