/* SPDX-License-Identifier: MIT */
/* What files held that were read already, so that a file which many tasks read is
 * hashed once by a command, not once for each. A file is known by its device, inode,
 * size and times. One that changed shortly before it was read is not remembered: it may
 * change again without another time of change, since file systems count time in steps.
 */
#ifndef RUNS_FILE_DIGESTS_H
#define RUNS_FILE_DIGESTS_H

#include "base/sha256.h"

#include <sys/stat.h>

struct file_digest;
/* {0} is an empty one. It holds a bounded number of files; later ones take the places
 * of earlier ones. */
struct file_digests {
    struct file_digest *at;
};
void file_digests_release(struct file_digests *digests);
/* `st` as it was before the content was read, `now_ns` when it had been looked at
 * (UTC). Without memory nothing is remembered. */
void file_digests_note(struct file_digests *digests, const struct stat *st,
                       int64_t now_ns, const struct digest *digest);
/* False: not known. */
bool file_digests_find(const struct file_digests *digests, const struct stat *st,
                       struct digest *digest);

#endif
