/* SPDX-License-Identifier: MIT */
/* cairn: the files that checkpoints of a session hold. They are those below the
 * directory which the setting "files" of the session names (cairn/session.h), but
 * `.git`,
 * `.cairn` and what files `.gitignore` and `.cairnignore` ignore, as git does. */
#ifndef CAIRN_FILES_H
#define CAIRN_FILES_H

#include "error.h"
#include "store.h"

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

#ifdef __cplusplus
}
#endif
#endif
