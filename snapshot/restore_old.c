/* SPDX-License-Identifier: MIT */
/* What a restore has taken out of its place. */
#include "snapshot/restore_int.h"

#include "base/decimal.h"
#include "storage/object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *staged_name(char out[24], size_t change)
{
    snprintf(out, 24, "%zu", change);
    return out;
}

/* ---- Is it what it should be? ---- */

enum { PART = 256 << 10 };

/* The next `size` bytes of the file have the digest: 1, or not: 0. */
static int part_is(int fd, uint64_t size, const struct digest *digest,
                   struct sha256 *sha, char *room)
{
    struct digest found;
    sha256_begin(sha);
    while (size) {
        ssize_t n = read(fd, room, size < PART ? (size_t)size : PART);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        sha256_add(sha, room, (size_t)n);
        size -= (uint64_t)n;
    }
    sha256_end(sha, &found);
    return digest_equal(&found, digest);
}

static int chunks_are(struct restore *r, int fd, const struct tree_entry *entry,
                      struct sha256 *sha, char *room)
{
    struct arena arena = ARENA_INIT;
    struct chunk_list list;
    int is = snapshot_read_chunks(r->store, &entry->digest, &arena, &list, NULL) == 0;
    for (size_t i = 0; is && i < list.n; i++) {
        struct digest chunk;
        memcpy(chunk.bytes, list.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
        is = part_is(fd, list.sizes[i], &chunk, sha, room);
    }
    arena_release(&arena);
    return is;
}

static bool file_is(struct restore *r, int fd, const struct tree_entry *entry)
{
    struct stat st;
    bool is = false;
    struct sha256 *sha = sha256_new();
    char *room = malloc(PART);
    if (sha && room && fstat(fd, &st) == 0 && (uint64_t)st.st_size == entry->size &&
        lseek(fd, 0, SEEK_SET) == 0)
        is = entry->kind == TREE_FILE
                 ? part_is(fd, entry->size, &entry->digest, sha, room)
                 : chunks_are(r, fd, entry, sha, room);
    sha256_free(sha);
    free(room);
    return is;
}

static bool link_is(int dir, const char *name, const struct tree_entry *entry)
{
    char target[TREE_TARGET_BYTES + 1];
    ssize_t n = readlinkat(dir, name, target, sizeof target);
    return n > 0 && str_equal((struct str){target, (size_t)n}, entry->target);
}

static bool is_entry(struct restore *r, int dir, const char *name,
                     const struct stat *st, const struct tree_entry *entry)
{
    if (S_ISLNK(st->st_mode))
        return entry->kind == TREE_LINK && link_is(dir, name, entry);
    if (!S_ISREG(st->st_mode) || !tree_is_file(entry))
        return false;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is = fd >= 0 && file_is(r, fd, entry);
    if (fd >= 0)
        close(fd);
    return is;
}

/* Which of the two it is; what cannot be told is neither, and is kept then. */
static const struct tree_entry *known_as(struct restore *r, const char *name,
                                         const struct stat *st,
                                         const struct restore_change *change)
{
    if (is_entry(r, r->stage, name, st, &change->after))
        return &change->after;
    return is_entry(r, r->stage, name, st, &change->before) ? &change->before : NULL;
}

/* ---- Keeping it ---- */

/* "x.before-restore", or with a number behind it, as long as a name may be. */
static void name_kept(char out[TREE_NAME_BYTES + 1], const char *name, unsigned i)
{
    char end[32] = TREE_KEPT;
    if (i > 1)
        snprintf(end, sizeof end, TREE_KEPT "-%u", i);
    snprintf(out, TREE_NAME_BYTES + 1, "%.*s%s", (int)(TREE_NAME_BYTES - strlen(end)),
             name, end);
}

static int keep(struct restore *r, int from, const char *name, struct str path)
{
    char beside[TREE_NAME_BYTES + 1];
    const char *last;
    if (r->fd < 0) /* the directory is gone: it stays */
        return 0;
    int parent = place_parent(r, path, &last), sys = parent < 0 ? errno : EEXIST;
    for (unsigned i = 1; parent >= 0 && sys == EEXIST && i < 10000; i++) {
        name_kept(beside, last, i);
        sys = place_move(from, name, parent, beside);
    }
    if (sys)
        return place_error(r, sys, path, "keeping what was changed in the place of");
    return 0;
}

int old_keep(struct restore *r, int from, const char *name, struct str path)
{
    int rc = keep(r, from, name, path);
    if (rc || r->fd < 0)
        return rc;
    r->counts.kept++;
    if (r->told)
        r->told(r->context, path.ptr,
                "was changed meanwhile: what was there is kept "
                "beside it, as .before-restore");
    return 0;
}

void old_forget_kept(struct restore *r, const struct restore_change *change)
{
    char beside[TREE_NAME_BYTES + 1];
    const char *last;
    struct stat st;
    int parent = place_parent(r, change->path, &last);
    for (unsigned i = 1; parent >= 0; i++) {
        name_kept(beside, last, i);
        if (fstatat(parent, beside, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return;
        if (is_entry(r, parent, beside, &st, &change->after)) {
            (void)unlinkat(parent, beside, 0);
            return;
        }
    }
}

int old_dispose(struct restore *r, size_t change)
{
    char name[24];
    struct stat st;
    staged_name(name, change);
    if (fstatat(r->stage, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0
                               : place_error(r, errno, r->changes[change].path,
                                             "looking at what was in the place of");
    const struct restore_change *at = &r->changes[change];
    const struct tree_entry *is = known_as(r, name, &st, at);
    if (!is)
        return old_keep(r, r->stage, name, at->path);
    if (is == &at->before && at->choice == RESTORE_BESIDE)
        return keep(r, r->stage, name, at->path);
    if (unlinkat(r->stage, name, 0) == 0 || errno == ENOENT)
        return 0;
    return place_error(r, errno, r->changes[change].path, "deleting the old file of");
}

/* ---- What an earlier one has left ---- */

/* "12.old" is "12" of a file system on which it took two steps. */
static int dispose_name(struct restore *r, const char *name, bool begun)
{
    uint64_t change = 0;
    struct str digits = {name, strcspn(name, ".")};
    bool known = begun && str_to_u64(digits, &change) && change < r->n;
    char staged[24];
    if (!known) /* staged, and never put into place */
        return unlinkat(r->stage, name, 0) == 0 || errno == ENOENT
                   ? 0
                   : error_sys(r->error, errno, "deleting %s of an earlier restore",
                               name);
    if (name[digits.len] != '\0') {
        int rc = old_dispose(r, (size_t)change);
        if (rc || r->fd < 0)
            return rc;
        if (renameat(r->stage, name, r->stage, staged_name(staged, (size_t)change)) !=
            0)
            return place_error(r, errno, r->changes[change].path, "going on with");
    }
    return old_dispose(r, (size_t)change);
}

int old_dispose_all(struct restore *r, bool begun)
{
    int fd = openat(r->stage, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *found;
    int rc = 0;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return error_sys(r->error, errno, "reading what was staged for a restore");
    }
    while (!rc && (found = readdir(dir)))
        if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0)
            rc = dispose_name(r, found->d_name, begun);
    closedir(dir);
    return rc;
}
