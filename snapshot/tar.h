/* SPDX-License-Identifier: MIT */
/* Archives as POSIX has them (pax: ustar blocks, with records for what does not fit
 * them). Pure: the caller writes what is appended here, the content of each file behind
 * its header, tar_padding bytes of zero behind that, and at last TAR_END zeros.
 *
 * Owners are 0 and have no names, since a snapshot has none. A path that is not UTF-8
 * is put in as it is; where it does not fit a ustar block, the record `hdrcharset` says
 * that it is binary. */
#ifndef SNAPSHOT_TAR_H
#define SNAPSHOT_TAR_H

#include "base/str.h"

enum { TAR_BLOCK = 512, TAR_END = 1024 };
enum tar_kind { TAR_FILE = '0', TAR_LINK = '2', TAR_DIRECTORY = '5' };
struct tar_entry {
    enum tar_kind kind;
    struct str path;   /* relative, without a NUL or a slash at its end */
    struct str target; /* of a link */
    unsigned mode;     /* the lower 12 bits of st_mode */
    uint64_t size;     /* of a file */
    int64_t mtime_ns;  /* since 1970 */
};
/* Appends what stands before the content. */
void tar_header(struct buf *out, const struct tar_entry *entry);
size_t tar_padding(uint64_t size);

#endif
