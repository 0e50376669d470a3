/* SPDX-License-Identifier: MIT */
/* Putting the files of a snapshot in the place of those of another one, which is what
 * is on the disk now; or in an empty directory, where there are none.
 *
 *     restore_open     finds out what differs
 *     restore_prepare  verifies every content and writes it beside the files: nothing
 *                      that is there is touched, and all that can be refused is refused
 *     (the caller makes durable that it is to be done)
 *     restore_apply    moves it into place
 *     restore_close
 *
 * After a crash restore_open, restore_prepare and restore_apply with the same two
 * snapshots finish it. Only what one of the two snapshots names is touched, each by its
 * name in a directory that was opened without following a link. What is found in the
 * place of something else than the two say was changed meanwhile: it is kept beside it,
 * with .before-restore behind its name. A file that has several names is replaced under
 * the one, and the others keep content, mode and time.
 *
 * Owners, access control lists and extended attributes are those of new files. */
#ifndef SNAPSHOT_RESTORE_H
#define SNAPSHOT_RESTORE_H

#include "snapshot/ignore.h"
#include "snapshot/place.h"
#include "snapshot/snapshot.h"

#define RESTORE_STAGE "restore" /* in the directory of the store */
enum { RESTORE_THREADS_MOST = 4 };

/* What becomes of a change. */
enum restore_choice {
    RESTORE_GOES,
    RESTORE_STAYS,  /* what is there stays */
    RESTORE_BESIDE, /* it goes, and what was there is kept beside it */
};
struct restore_change {
    struct str path;
    struct tree_entry before, after; /* kind 0: not there */
    const char *by; /* who else has changed it, or NULL; of the caller */
    uint32_t tree;  /* 1 + the change of the new directory in which it waits, or 0 */
    bool staged;    /* its content waits */
    uint8_t choice; /* enum restore_choice */
    bool kept;      /* what was there is kept beside it */
};
struct restore_counts {
    uint64_t added, changed, removed; /* files, links and directories */
    uint64_t kept;                    /* that were changed meanwhile, and kept beside */
    uint64_t left;   /* of which the snapshot has the name alone: not touched */
    uint64_t cloned; /* files whose blocks are those of a file in `like` */
};
struct restore {
    struct cairn_store *store;
    const char *root;
    int fd, stage;          /* directories, -1: not open */
    const char *stage_name; /* in the directory of the store; of the caller */
    struct buf stage_path;  /* in which `stage` is */
    struct arena arena;     /* of the changes */
    struct restore_change *changes;
    size_t n, room;
    /* Of all that differs, in the same order: what restore_choose has let stay, or be
     * kept beside. In the arena. */
    struct restore_change *chosen;
    size_t n_chosen;
    struct restore_counts counts;
    const char *like; /* a directory whose files are cloned where they have the content
                         that is to come (restore.c), or NULL; of the caller */
    int like_fd;      /* -1: not open */
    bool scratch;     /* the directory is one that is thrown away: files are staged in
                         it, and nothing is synced; of the caller */
    bool direct;      /* `scratch`, and it is empty, nobody else's, and thrown away if
                         anything fails: files are written in their places. Synced are
                         those whose size could come to the disk before their content;
                         of the caller */
    unsigned threads; /* that may write files, each with a handle of the store of its
                         own, where there is enough to do; 0 is 1; of the caller */
    bool replaces;    /* a file or link that is in the way goes; of the caller */
    bool back;        /* what the restore that it takes back had kept beside goes */
    const _Atomic uint32_t *stop;  /* not 0: restore_prepare ends with CAIRN_ESTOPPED,
                                     within one piece of a file; NULL: never */
    bool again;                    /* it was begun before */
    bool applying;                 /* begun, and not finished */
    struct place_directory parent; /* of the path that was looked at last */
    /* Of the file that was written last, by its path in the stage, or where `direct`
     * below `fd`. */
    struct place_directory written;
    struct buf written_path;
    void (*told)(void *context, const char *path, const char *what); /* may be NULL */
    void *context;
    struct cairn_error *error;
};

/* `root` must outlive it. Trees, not snapshots; `before` NULL: nothing is there. `only`
 * (NULL: all): other paths stay as they are, but for directories that what comes into
 * place needs. restore_close in any case. CAIRN_EUSAGE: something that is not of `only`
 * is in the way of what is. */
int restore_open(struct restore *restore, struct cairn_store *store, const char *root,
                 const struct digest *before, const struct digest *after,
                 struct paths *only, struct cairn_error *error);
/* Between restore_open and restore_prepare, where the `choice` of some changes was set:
 * what stays is not a change any more. Where a directory and something else change
 * places all of it goes or all of it stays; a directory that something stays in,
 * stays. */
int restore_choose(struct restore *restore);
/* The change of a path, or NULL. */
struct restore_change *restore_find_change(const struct restore *restore,
                                           struct str path);
/* CAIRN_EDAMAGED: a content that is to be replaced or removed is not whole in the pool,
 * so that it would be lost. */
int restore_check_before(struct restore *restore);
/* `again`: it was begun before. CAIRN_EUSAGE: something is in the way that would be
 * lost, or cannot be replaced; CAIRN_EDAMAGED: a content is. */
int restore_prepare(struct restore *restore, bool again);
/* Sets the counts of what is to be done, and names what is left. */
void restore_count(struct restore *restore);
/* How many files, links and directories differ, and how many of them are in place, as
 * kind, size, mode and time say. */
void restore_count_placed(struct restore *restore, uint64_t *all, uint64_t *placed);
/* Tells of files that are to be replaced or removed and that a process of this user has
 * open for writing, as far as /proc shows them within a second: before restore_apply. */
void restore_tell_writers(struct restore *restore);
/* Durable when it returns 0, unless it is `scratch`. After an error it is to be
 * finished later. */
int restore_apply(struct restore *restore);
/* Instead of restore_open where the directory is gone: only restore_give_up and
 * restore_close come after it. */
int restore_open_lost(struct restore *restore, struct cairn_store *store,
                      const char *root, const struct digest *before,
                      const struct digest *after, struct paths *only,
                      struct cairn_error *error);
/* Of one that was begun and will not be finished: what it took out of its place is kept
 * beside it, as by restore_apply, and what was staged goes. After an error the rest is
 * where it was; where the directory is gone, what the two states do not have stays. */
int restore_give_up(struct restore *restore);
void restore_close(struct restore *restore);
/* Deletes what a restore had staged that was never decided. */
void restore_clear_stage(const char *path);

/* ---- What the rules of a snapshot ignore ---- */

/* That it is not in the snapshot does not mean that it was not there. */

/* A directory of the snapshot, and the rules that hold in it. */
struct rules_level {
    struct arena arena;
    struct tree tree; /* n 0: it is not there */
    const struct ignore_level *rules;
    size_t path; /* length of its path, with the slash behind it */
};
struct tree_rules {
    struct cairn_store *store;
    struct rules_level *levels; /* [SNAPSHOT_DEPTH_MOST + 1] */
    uint32_t depth;
    struct buf path;   /* of the deepest one */
    struct buf passed; /* a directory that is ignored, with a slash behind it */
    struct cairn_error *error;
};
int tree_rules_open(struct tree_rules *rules, struct cairn_store *store,
                    const struct digest *root, struct cairn_error *error);
void tree_rules_close(struct tree_rules *rules);
/* Whether they ignore the path, or a directory that it lies in: 1 or 0. Paths come in
 * the order of a comparison. */
int tree_rules_ignore(struct tree_rules *rules, struct str path, bool is_dir);

#endif
