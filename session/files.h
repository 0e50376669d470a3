/* SPDX-License-Identifier: MIT */
/* The files of a session: a snapshot of the directory that its setting `files` names,
 * taken before the transaction in which a checkpoint refers to it; and those of another
 * one in their place. Since neither is known before a transaction has begun, a call
 * that may make a checkpoint is made again once it turns out what it needs:
 *
 *     struct files_taken files = {0};
 *     do
 *         rc = one transaction, with live.files = &files;
 *     while (files_wanted(&files, &rc, store, session, error));
 *     rc = files_end(&files, rc, store, error);
 *
 * One that always makes one may call files_take first. */
#ifndef SESSION_FILES_H
#define SESSION_FILES_H

#include "cairn/restore.h"
#include "checkpoint/recover.h"
#include "checkpoint/sections.h"
#include "snapshot/restore.h"

enum { FILES_ROOT_BYTES = 4096 };

/* The kind of the section; its object is that of a snapshot. */
enum { SECTION_FILES = SECTION_NODES };

/* What a transaction returns that was aborted for want of files. */
enum { FILES_WANTED = 1 };

struct files_taken {
    bool in_transaction; /* set before: they are only looked at by a capture, which puts
                            what is little of them itself */
    bool looking; /* set before: nothing of them is replaced, also what an earlier
                     restore has left unfinished */
    bool taken;
    bool tracked; /* the session has files: `snapshot` is set */
    struct snapshot snapshot;
    struct buf root, root_name;
    char *index;                 /* path of the index */
    struct checkpoint_ref noted; /* set by a capture: the checkpoint that has them */

    bool has_target;      /* a transaction wants these in their place: */
    struct digest target; /* a snapshot */
    /* Patterns of the caller (snapshot/ignore.h): other paths stay as they are; n 0:
     * all of the target is wanted. */
    struct {
        const struct str *texts;
        size_t n;
    } only;
    /* What others have changed since that checkpoint stays (files.h): its seq, and the
     * session's number. Set by files_replace, of a caller that wants it. */
    bool spare_others;
    uint64_t since, session;
    uint64_t since_turn; /* of the log: restores before that do not count */
    bool locked, prepared, decided;
    bool back;   /* set by the caller: restore->back */
    bool looked; /* set by the caller, who only reports what would be done */
    struct restore restore;
    struct restore_counts counts; /* after files_end, of what was restored */
    /* Likewise, of what others had changed: that stayed, and that was kept beside. */
    uint64_t others, beside;
    void (*told)(void *context, const char *path, const char *what); /* or NULL */
    /* Of each of these, and of those that went back all the same; or NULL. */
    void (*told_others)(void *context, const struct cairn_restore_other *other);
    void *told_context;
};

/* Finishes first what an earlier restore has left. Of a session whose setting `files`
 * is off nothing is taken. CAIRN_EIO: its directory cannot be read. files_end is called
 * in any case. */
int files_take(struct files_taken *files, struct cairn_store *store,
               const char *session, struct cairn_error *error);
bool files_wanted(struct files_taken *files, int *rc, struct cairn_store *store,
                  const char *session, struct cairn_error *error);

/* In a transaction: what is tracked is to become that snapshot, of the checkpoint
 * `seq`, once it is committed; `decided` says whether anything is to be done.
 * FILES_WANTED: it was not prepared. */
struct live;

int files_replace(struct live *live, const struct digest *snapshot, uint64_t seq,
                  struct cairn_error *error);
/* rc: of the transaction. What was decided is carried out. */
int files_end(struct files_taken *files, int rc, struct cairn_store *store,
              struct cairn_error *error);
/* What the setting stores for the directory that a user names: a path from the
 * directory of the store, or from the root where it does not lie below that. `out` is
 * cleared. CAIRN_EUSAGE: no directory, or one of the store's own. */
int files_root_name(struct cairn_store *store, const char *directory, struct buf *out,
                    struct cairn_error *error);
/* The same of the real path of a directory, which need not be there. */
int files_path_name(struct cairn_store *store, const char *root, struct buf *out,
                    struct cairn_error *error);
/* What of `path` lies below `above`, without a slash in front; NULL: nothing. "" is
 * the directory itself. */
const char *files_path_below(const char *path, const char *above);

/* That of the files; NULL: the checkpoint holds none. */
static inline const struct section_ref *files_section(const struct sections *sections)
{
    for (uint32_t i = 0; i < sections->n; i++)
        if (sections->list[i].kind == SECTION_FILES)
            return &sections->list[i];
    return NULL;
}

#endif
