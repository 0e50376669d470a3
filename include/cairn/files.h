/* SPDX-License-Identifier: MIT */
/* cairn: the files that checkpoints of a session hold. They are those below the
 * directory that the setting "files" of the session names (cairn/session.h), except
 * `.git`, `.cairn` and what `.gitignore` and `.cairnignore` exclude, by git's rules. */
#ifndef CAIRN_FILES_H
#define CAIRN_FILES_H

#include "checkpoint.h"
#include "error.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_files_summary {
    uint64_t files, directories, links;
    uint64_t left_out; /* by name: what could not be read, or is no file */
    uint64_t bytes;    /* of the files */
};
struct cairn_file {
    const char *path;   /* from the directory of the files; any bytes but NUL */
    const char *kind;   /* "file", "directory", "link" or "left out" */
    unsigned mode;      /* permissions, of a file or directory */
    uint64_t size;      /* bytes, of a file */
    int64_t time_ns;    /* last modification, UTC, of a file or directory */
    const char *target; /* of a link, else NULL */
    const char *why;    /* of what was left out: "cannot be read", ...; else NULL */
};
/* What the checkpoint holds, a directory before what is in it, by the bytes of the
 * names. `each` may be NULL; a non-zero return of it stops. CAIRN_ENOTFOUND: no such
 * checkpoint, or it holds no files; CAIRN_EDAMAGED. */
CAIRN_API int cairn_files_list(struct cairn_store *store, const char *id,
                               int (*each)(void *, const struct cairn_file *),
                               void *context, struct cairn_files_summary *summary,
                               struct cairn_error *error);
/* The content of one file, in parts, each verified before it is given. A non-zero
 * return of `part` stops. CAIRN_ENOTFOUND: no such file in it; CAIRN_EUSAGE: the path
 * is that of something else; CAIRN_EDAMAGED. */
CAIRN_API int cairn_files_read(struct cairn_store *store, const char *id,
                               const char *path,
                               int (*part)(void *, const char *bytes, size_t n),
                               void *context, struct cairn_error *error);

/* All of it as an archive (POSIX pax), which `write` gets in parts: names, links,
 * modes, times of files and directories to the ns; owners are 0, and links have the
 * time of the checkpoint. What was left out is not in it. A non-zero return of `write`
 * stops, and is no error. CAIRN_EDAMAGED: the archive is not whole, and has no end
 * mark. */
CAIRN_API int cairn_files_tar(struct cairn_store *store, const char *id,
                              int (*write)(void *, const char *bytes, size_t n),
                              void *context, struct cairn_files_summary *summary,
                              struct cairn_error *error);

/* All of it in a directory, which is there and empty, and which can be thrown away: it
 * is no durable copy (nothing is synced), and after an error some of it may be there.
 * Modes and times as in an archive. The store is only read. CAIRN_ENOTFOUND: no such
 * checkpoint, or it holds no files; CAIRN_EUSAGE: the directory is not empty;
 * CAIRN_EDAMAGED; CAIRN_EIO. */
CAIRN_API int cairn_files_unpack(struct cairn_store *store, const char *id,
                                 const char *directory,
                                 struct cairn_files_summary *summary,
                                 struct cairn_error *error);

/* What differs between the files of two states. */
struct cairn_file_change {
    const char *change; /* "added", "removed", "changed", "renamed", "copied" */
    const char *path;   /* of the new one, or of the one that was removed */
    /* Of one that was renamed or copied: another path with the same content before;
     * else NULL. */
    const char *old_path;
    const struct cairn_file *before, *after; /* NULL: it was added, or removed */
    /* Where a patch is asked for, of files and links: what makes the one to the other
     * in the form that `git apply` and `patch -p1` take, and lines in it. */
    const char *patch;
    size_t patch_bytes;
    uint64_t lines_added, lines_removed;
    /* Named alone in the patch, which leaves it as it is; so are contents of more than
     * 4 MiB (`large`), and what such a file would be in the way of. */
    bool binary, large;
};
struct cairn_files_diff {
    size_t size; /* of this struct, or 0 */
    bool patch;
    unsigned around; /* lines around each change */
    /* Only changes of paths that one of these patterns matches, as in struct
     * cairn_files_search; n_paths 0: all. */
    const char *const *paths;
    size_t n_paths;
};
/* `from` and `to`: checkpoints of sessions; `to` NULL: the files of `session` as they
 * are now, which needs a store that was opened for writing. By the bytes of the paths.
 * A time that has changed alone is no change. The callback must not use the store; a
 * non-zero return stops. CAIRN_ENOTFOUND: one of them holds no files. */
CAIRN_API int cairn_files_compare(struct cairn_store *store, const char *session,
                                  const char *from, const char *to,
                                  const struct cairn_files_diff *options,
                                  int (*each)(void *, const struct cairn_file_change *),
                                  void *context, struct cairn_error *error);

/* ---- Over all checkpoints ---- */

/* Where damaged content is. */
struct cairn_damaged_file {
    const char *object; /* as it was given */
    char id[CAIRN_ID_MAX];
    const char *path; /* of a file or directory; "": the directory of all files */
};
/* Names, for each of the objects (SHA-256 in hex) that is content of a file or directory
 * in a checkpoint of any session, the oldest such checkpoint and a path in it. What
 * cannot be read is passed over. A non-zero return of the callback stops; it must not
 * use the store. */
CAIRN_API int cairn_files_damaged(struct cairn_store *store, const char *const *objects,
                                  size_t n,
                                  int (*each)(void *,
                                              const struct cairn_damaged_file *),
                                  void *context, struct cairn_error *error);

/* What a checkpoint made of one path. */
struct cairn_file_version {
    const char *change; /* "added", "changed", "mode" (that alone), "removed"; or
                           "damaged": it cannot be told */
    char id[CAIRN_ID_MAX];
    uint64_t seq;
    int64_t time_ns;               /* UTC */
    const char *message;           /* of the checkpoint, "": none */
    const char *branch;            /* its name */
    const struct cairn_file *file; /* NULL: it was removed, or that cannot be told */
};
/* A part of what looks through the checkpoints of a session, so that nobody has to wait
 * for all of it: each part begins where the one before says that it has ended, and
 * stands for itself. */
struct cairn_files_part {
    size_t size;       /* of this struct, or 0 */
    uint64_t from;     /* `next` and `next_nth` of the part before, ... */
    uint64_t from_nth; /* ... or 0: the first part */
    uint32_t limit_ms; /* it ends when it has taken about so long, but not before it has
                          looked at something; 0: at its end */
    uint64_t next,
        next_nth; /* set: where the next part begins; next 0: there is none */
};

/* The versions of a file, directory or link, newest first, at most so many (0: all):
 * one for each checkpoint in which it is not what it was in the one before that holds
 * files. A time that has changed alone is no change. Of the checkpoints that led to the
 * present state of the session, or with `all` of all its branches. Deleted ones are
 * left out. `part` NULL: all of them. CAIRN_ENOTFOUND: none of them holds such a path
 * (not of a part of them); CAIRN_EDAMAGED: one or more are damaged, and all others were
 * told of. The callback must not use the store; a non-zero return stops. */
CAIRN_API int cairn_files_log(struct cairn_store *store, const char *session,
                              const char *path, bool all, uint64_t most,
                              struct cairn_files_part *part,
                              int (*each)(void *, const struct cairn_file_version *),
                              void *context, struct cairn_error *error);

struct cairn_files_search {
    size_t size;            /* of this struct, or 0 */
    const char *pattern;    /* a POSIX extended regular expression without
                               back-references, of a line */
    bool fixed;             /* or these bytes */
    bool ignore_case;       /* of ASCII */
    const char *checkpoint; /* this one alone; NULL: all of the session */
    /* Only paths that one of these patterns matches (n_paths 0: all). Each is a pattern
     * as a line of a .gitignore in the directory of the files has it, and means what is
     * below a directory, too. */
    const char *const *paths;
    size_t n_paths;
    /* Told of what is damaged, with the context: a checkpoint (`path` NULL), or the
     * content that a file had first in it. May be NULL. */
    void (*damaged)(void *context, const char *id, const char *path, const char *text);
    struct cairn_files_part *part; /* NULL: all of it. Of a part: the versions that came
                                      with these checkpoints; a match's `last` is the
                                      newest of these that has it. What is left of a
                                      version at which `each` stopped is in no part. */
};
/* A line of a version of a file. Views during the callback. */
struct cairn_file_match {
    char id[CAIRN_ID_MAX];   /* the checkpoint in which the version came first */
    char last[CAIRN_ID_MAX]; /* the newest one that has it there */
    uint64_t seq, last_seq;
    int64_t time_ns; /* of the first */
    bool present;    /* the newest one that led to the present state has it, too */
    const char *path;
    bool binary;   /* the content is, and matches: it is named alone, once */
    uint64_t line; /* from 1 */
    const char *text;
    size_t bytes;
    bool cut; /* a piece of a line of more than 1 MiB */
};
struct cairn_files_searched {
    uint64_t checkpoints; /* that hold files */
    uint64_t contents, bytes, matches, damaged;
};
/* Searches all versions of all files, of all branches of the session: by the checkpoint
 * in which each came first, then by the path. A content is read once, however many
 * checkpoints have it; again only where it matches and comes under another path, too.
 * Binary contents are those with a NUL in the first 8,000 bytes. A line of more than 1
 * MiB is looked at in pieces of that size, which overlap by 64 KiB. Memory: some 200
 * bytes for each version of a file, and at most some 10 MiB. CAIRN_EUSAGE: the pattern
 * cannot be used; CAIRN_EDAMAGED: something was told as damaged, and all else was
 * searched; CAIRN_ELIMIT: the same, of checkpoints with too many files alone, or the
 * pattern takes too long; CAIRN_ENOTFOUND: there are no files. The callback must not
 * use the store; a non-zero return stops. */
CAIRN_API int cairn_files_search(struct cairn_store *store, const char *session,
                                 const struct cairn_files_search *options,
                                 int (*each)(void *, const struct cairn_file_match *),
                                 void *context, struct cairn_files_searched *result,
                                 struct cairn_error *error);

/* Where a line of a file comes from. Views during the callback. */
struct cairn_file_line {
    uint64_t line;    /* from 1 */
    const char *text; /* without its line break */
    size_t bytes;
    char id[CAIRN_ID_MAX]; /* the checkpoint in which it came to be */
    uint64_t seq;
    int64_t time_ns;
    const char *message; /* of the checkpoint, "": none */
    const char *prompt;  /* the last one of the user before it, or NULL */
    const char *path;    /* what the file was called then */
    uint64_t line_then;  /* and the line in it */
    bool open;           /* or in an older one: the part ended here */
};
/* Tells for a line of a file (0: for each) in which checkpoint it came to be: back over
 * the checkpoints that led to `at` (NULL: to the newest one of the present line), of
 * which the file is that of the newest that holds files. Where it has another name, it
 * is followed if its content is the same. CAIRN_EUSAGE: it has no lines (it is no file,
 * binary, or larger than 4 MiB); CAIRN_ENOTFOUND: there is no such file or line;
 * CAIRN_EDAMAGED: some checkpoints on the way are damaged, so that a line may be older
 * than was told; or the file itself is, and nothing was told. `part` NULL: all of it.
 * Of a part that ends at its limit the lines that are left are open: the same call for
 * `at` the checkpoint `next` and the path that they have there goes on, with
 * their lines there; `from` must be 0. The callback must not use the store; a non-zero
 * return stops. */
CAIRN_API int cairn_files_blame(struct cairn_store *store, const char *session,
                                const char *at, const char *path, uint64_t line,
                                struct cairn_files_part *part,
                                int (*each)(void *, const struct cairn_file_line *),
                                void *context, struct cairn_error *error);

/* ---- Checkpoints after edits ----
 *
 * Watching a session and its files, so that a checkpoint is made after edits have
 * settled, whoever makes them. Nothing is asked again and again: while nothing
 * happens there is nothing to do, and the descriptor cannot be read. */

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
    size_t size; /* of this struct, or 0 */
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
 * four, ... Else a hook that writes in the directory would make a checkpoint of each.
 */
CAIRN_API int cairn_watch_hooks(struct cairn_watch *watch, bool run,
                                struct cairn_error *error);
/* Where no store could be opened for that: it is due again, as after an error. */
CAIRN_API void cairn_watch_postpone(struct cairn_watch *watch);
CAIRN_API void cairn_watch_close(struct cairn_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
