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

static bool is_placed(struct restore *r, const struct restore_change *change)
{
    const struct tree_entry *after = &change->after;
    const char *name;
    struct stat st;
    int parent = r->fd < 0 ? -1 : place_parent(r, change->path, &name);
    if (r->fd < 0)
        return false;
    if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return !after->kind;
    if (after->kind == TREE_DIRECTORY)
        return S_ISDIR(st.st_mode);
    if (after->kind == TREE_LINK)
        return S_ISLNK(st.st_mode) && link_is(parent, name, after);
    return tree_is_file(after) && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == after->size &&
           (st.st_mode & TREE_MODE_BITS) == after->mode &&
           st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec ==
               after->mtime_ns;
}

void restore_count_placed(struct restore *r, uint64_t *all, uint64_t *placed)
{
    *all = *placed = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (!restore_counts(&r->changes[i]))
            continue;
        ++*all;
        *placed += is_placed(r, &r->changes[i]);
    }
    place_forget(r);
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

/* What was there is beside the path. *why: whose change it is; NULL: it is known. */
static void tell_kept(struct restore *r, struct str path, const char *beside,
                      const char *why)
{
    char what[TREE_NAME_BYTES + 128];
    if (!why || !r->told)
        return;
    snprintf(what, sizeof what, "%s: what was there is kept beside it, as %s", why,
             beside);
    r->told(r->context, path.ptr, what);
}

static int keep(struct restore *r, int from, const char *name, struct str path,
                const char *why)
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
    tell_kept(r, path, beside, why);
    return 0;
}

int old_keep(struct restore *r, int from, const char *name, struct str path)
{
    int rc = keep(r, from, name, path, "was changed meanwhile");
    if (!rc && r->fd >= 0)
        r->counts.kept++;
    return rc;
}

/* The directory in which an entry is kept beside the path, under that name; or -1. */
static int find_kept(struct restore *r, struct str path, const struct tree_entry *entry,
                     char beside[TREE_NAME_BYTES + 1])
{
    const char *last;
    struct stat st;
    int parent = place_parent(r, path, &last);
    for (unsigned i = 1; parent >= 0; i++) {
        name_kept(beside, last, i);
        if (fstatat(parent, beside, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return -1;
        if (is_entry(r, parent, beside, &st, entry))
            break;
    }
    return parent;
}

void old_forget_kept(struct restore *r, const struct restore_change *change)
{
    char beside[TREE_NAME_BYTES + 1];
    int parent = find_kept(r, change->path, &change->after, beside);
    if (parent >= 0)
        (void)unlinkat(parent, beside, 0);
}

/* What was to be kept, and was, by the restore that did not end. */
static void tell_again(struct restore *r, struct restore_change *change,
                       const char *why)
{
    char beside[TREE_NAME_BYTES + 1];
    if (change->kept || find_kept(r, change->path, &change->before, beside) < 0)
        return;
    change->kept = true;
    tell_kept(r, change->path, beside, why);
}

int old_dispose(struct restore *r, size_t i)
{
    char name[24];
    struct stat st;
    struct restore_change *change = &r->changes[i];
    const char *others = r->again ? "was changed since by another session, too" : NULL;
    staged_name(name, i);
    if (fstatat(r->stage, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0
                               : place_error(r, errno, change->path,
                                             "looking at what was in the "
                                             "place of");
    const struct tree_entry *is = known_as(r, name, &st, change);
    if (!is)
        return old_keep(r, r->stage, name, change->path);
    if (is == &change->before && change->choice == RESTORE_BESIDE) {
        int rc = keep(r, r->stage, name, change->path, others);
        change->kept = !rc;
        return rc;
    }
    if (others && change->choice == RESTORE_BESIDE && r->fd >= 0)
        tell_again(r, change, others);
    if (unlinkat(r->stage, name, 0) == 0 || errno == ENOENT)
        return 0;
    return place_error(r, errno, change->path, "deleting the old file of");
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
