/* SPDX-License-Identifier: MIT */
/* The files of a session: a snapshot of the directory that its setting `files` names,
 * taken before the transaction in which a checkpoint refers to it.
 *
 * A call that always makes a checkpoint takes it at once:
 *
 *     struct files_taken files = {0};
 *     rc = files_take(&files, store, session, error);
 *     ... live_write(&live, ...); live.files = &files; ... live_close
 *     files_end(&files, rc);
 *
 * One that rarely does so is made again once it turns out that it does:
 *
 *     do
 *         rc = one transaction, with live.files = &files;
 *     while (files_wanted(&files, &rc, store, session, error));
 *     files_end(&files, rc); */
#ifndef SESSION_FILES_H
#define SESSION_FILES_H

#include "checkpoint/recover.h"
#include "checkpoint/sections.h"
#include "snapshot/snapshot.h"

enum { FILES_ROOT_BYTES = 4096 };
/* The kind of the section; its object is that of a snapshot. */
enum { SECTION_FILES = SECTION_NODES };
/* What a transaction returns that was aborted for want of files. */
enum { FILES_WANTED = 1 };

struct files_taken {
    bool taken;
    bool tracked; /* the session has files: `snapshot` is set */
    struct snapshot snapshot;
    char *index;                 /* path of the index */
    struct checkpoint_ref noted; /* set by a capture: the checkpoint that has them */
};
/* Of a session whose setting `files` is off nothing is taken. CAIRN_EIO: its directory
 * cannot be read. files_end is called in any case. */
int files_take(struct files_taken *files, struct cairn_store *store,
               const char *session, struct cairn_error *error);
bool files_wanted(struct files_taken *files, int *rc, struct cairn_store *store,
                  const char *session, struct cairn_error *error);
/* rc: of the transaction. */
void files_end(struct files_taken *files, int rc);

/* What the setting stores for the directory that a user names: a path from the
 * directory of the store, or from the root where it does not lie below that. `out` is
 * cleared. CAIRN_EUSAGE: no directory, or one of the store's own. */
int files_root_name(struct cairn_store *store, const char *directory, struct buf *out,
                    struct cairn_error *error);
/* The directory that such a name means, with a NUL. */
int files_root_path(struct cairn_store *store, struct str name, struct buf *out,
                    struct cairn_error *error);

/* That of the files; NULL: the checkpoint holds none. */
const struct section_ref *files_section(const struct sections *sections);
/* Is everything there that the snapshot refers to? CAIRN_EDAMAGED. (What the bytes are
 * is verified when they are read.) */
int files_check(struct cairn_store *store, const struct digest *snapshot,
                struct cairn_error *error);

#endif
