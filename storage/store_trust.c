/* SPDX-License-Identifier: MIT */
/* Who but the user can change a store, or put another one in its place.
 *
 * A store that the user has not named is used only where nobody can: it lies in
 * directories in which nobody else can rename, and nobody else can write into it. What
 * is so cannot be changed by others between this look and the use, so that paths are as
 * good as descriptors. Root is always trusted; to root also the owner of a directory
 * above, who owns the project (docs/security.md, "Other users").
 *
 * Below the store everything must belong to the user, to root, or to the owner of the
 * store: anything else was put there while others could write into it. */
#include "storage/store_files_int.h"

#include "base/os.h"
#include "base/words.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NAME_IT "name the store with --store or CAIRN_STORE"

static bool is_trusted(uid_t uid, uid_t owner)
{
    return uid == geteuid() || uid == 0 || uid == owner;
}

/* ---- Who can write ---- */

struct writers {
    bool all;
    char some[64]; /* a group or a user that can; "" if none */
};

static void note_group(struct writers *to, gid_t gid, uid_t owner, const char *by)
{
    if (!os_is_private_group(gid, owner))
        snprintf(to->some, sizeof to->some, "group %ld%s", (long)gid, by);
}

/* An ACL as linux/posix_acl_xattr.h has it: the version, then a tag, rights and an id
 * of 2, 2 and 4 bytes for each entry, in little endian. The group bits of the mode are
 * its mask, which has the right to write here. */
static void note_acl(struct writers *to, const unsigned char *acl, size_t size,
                     const struct stat *st)
{
    static const char by[] = " by its ACL";
    struct posix_acl_xattr_entry entry;
    size_t at = sizeof(struct posix_acl_xattr_header);
    if (size < at || acl[0] != POSIX_ACL_XATTR_VERSION || (size - at) % sizeof entry)
        snprintf(to->some, sizeof to->some, "an unknown kind of ACL");
    for (; !to->some[0] && at < size; at += sizeof entry) {
        memcpy(&entry, acl + at, sizeof entry);
        uint32_t id = le32toh(entry.e_id);
        unsigned tag = le16toh(entry.e_tag);
        if (!(le16toh(entry.e_perm) & ACL_WRITE))
            continue;
        if (tag == ACL_GROUP_OBJ)
            note_group(to, st->st_gid, st->st_uid, "");
        else if (tag == ACL_GROUP)
            note_group(to, id, st->st_uid, by);
        else if (tag == ACL_USER && !is_trusted(id, st->st_uid))
            snprintf(to->some, sizeof to->some, "user %ld%s", (long)id, by);
    }
}

/* Of the file that is open as `fd`, else of `path`, which is not a link then. */
static struct writers writers_of(int fd, const char *path, const struct stat *st)
{
    static const char name[] = "system.posix_acl_access";
    unsigned char acl[16384];
    struct writers is = {.all = st->st_mode & S_IWOTH};
    if (!(st->st_mode & S_IWGRP))
        return is;
    ssize_t n = fd >= 0 ? fgetxattr(fd, name, acl, sizeof acl)
                        : lgetxattr(path, name, acl, sizeof acl);
    if (n >= 0)
        note_acl(&is, acl, (size_t)n, st);
    else if (errno == ENODATA || errno == ENOTSUP)
        note_group(&is, st->st_gid, st->st_uid, "");
    else
        snprintf(is.some, sizeof is.some, "an ACL that cannot be read");
    return is;
}

static bool is_any(const struct writers *writers)
{
    return writers->all || writers->some[0];
}

bool store_is_litter(const char *parent, const char *path)
{
    struct stat st, in;
    if (lstat(path, &st) < 0 || st.st_uid == geteuid() || lstat(parent, &in) < 0)
        return false;
    struct writers writers = writers_of(-1, parent, &in);
    return is_any(&writers);
}

/* ---- The place ---- */

static int refuse_owner(const char *path, const struct stat *st,
                        struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "the %s %s belongs to another user (uid %ld): if you trust it, "
                     "name it with --store or CAIRN_STORE; if not, name another one",
                     S_ISLNK(st->st_mode) ? "link" : "store", path, (long)st->st_uid);
}

/* `can`: what they can do by that, and `else_` another way than the mode. */
static int refuse_modes(const char *path, const struct stat *st,
                        const struct writers *writers, const char *can,
                        const char *else_, struct cairn_error *error)
{
    struct buf word = BUF_INIT;
    buf_shell_word(&word, str_of(path));
    int rc = buf_check(&word, error);
    if (!rc)
        rc = error_set(error, CAIRN_EUSAGE,
                       "others can write to %s (mode %04o, %s)%s: `chmod %s%s-w %s`%s",
                       path, (unsigned)st->st_mode & 07777,
                       writers->all ? "everybody" : writers->some, can,
                       writers->some[0] ? "g" : "", writers->all ? "o" : "", word.data,
                       else_);
    buf_release(&word);
    return rc;
}

/* 1: only the user and root can make and remove names in it. */
static int judge_above(const char *store, const char *path, struct cairn_error *error)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return error_sys(error, errno, "cannot look at %s", path);
    if (!S_ISDIR(st.st_mode))
        return error_sys(error, ENOTDIR, "cannot use %s as a directory", path);
    if (st.st_uid != geteuid() && st.st_uid != 0 && geteuid() != 0)
        return error_set(error, CAIRN_EUSAGE,
                         "%s belongs to another user (uid %ld), who can put something "
                         "else in the place of %s: if you trust them, " NAME_IT
                         "; if not, name another one",
                         path, (long)st.st_uid, store);
    struct writers writers = writers_of(-1, path, &st);
    if (!is_any(&writers))
        return 1;
    return st.st_mode & S_ISVTX
               ? 0
               : refuse_modes(path, &st, &writers,
                              ", so they can put a store in the place of yours",
                              " (or +t); or, if you trust them, " NAME_IT, error);
}

/* The directories that `path` really lies in: from below to the first in which nobody
 * else can do anything. */
static int judge_all_above(const char *path, struct cairn_error *error)
{
    const char *last = strrchr(path, '/');
    char *named = !last         ? strdup(".")
                  : last > path ? strndup(path, (size_t)(last - path))
                                : strdup("/");
    char *above = named ? realpath(named, NULL) : NULL;
    int rc = above   ? 0
             : named ? error_sys(error, errno, "cannot resolve %s", named)
                     : error_nomem(error);
    while (rc == 0 && (rc = judge_above(path, above, error)) == 0 && above[1]) {
        char *slash = strrchr(above, '/');
        slash[slash == above] = 0;
    }
    free(named);
    free(above);
    return rc < 0 ? rc : 0;
}

static int judge_target(const char *path, const struct stat *st,
                        struct cairn_error *error)
{
    if (st->st_uid != geteuid())
        return refuse_owner(path, st, error);
    struct writers writers = writers_of(-1, path, st);
    if (is_any(&writers))
        return refuse_modes(path, st, &writers, "", "; or, if you trust them, " NAME_IT,
                            error);
    return judge_all_above(path, error);
}

static int judge_link(const char *path, const struct stat *st,
                      struct cairn_error *error)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return refuse_owner(path, st, error);
    int rc = judge_all_above(path, error);
    char *real = rc ? NULL : realpath(path, NULL);
    struct stat target;
    if (!rc && !real)
        rc = error_sys(error, errno, "the link %s", path);
    if (!rc && lstat(real, &target) < 0)
        rc = error_sys(error, errno, "cannot look at %s", real);
    if (!rc)
        rc = judge_target(real, &target, error);
    free(real);
    return rc;
}

int store_trust_place(const char *path, struct cairn_error *error)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? judge_all_above(path, error)
                               : error_sys(error, errno, "cannot look at %s", path);
    return S_ISLNK(st.st_mode) ? judge_link(path, &st, error)
                               : judge_target(path, &st, error);
}

/* ---- What lies below ---- */

static int refuse_entry(const char *path, const char *name, uid_t uid,
                        struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "%s/%s belongs to another user (uid %ld), who may have put it "
                     "there: move it out of the store, then try again",
                     path, name, (long)uid);
}

/* What is not there, is not a directory or may not be looked into is refused elsewhere,
 * with advice: *fd is -1 then, and 0 is returned. */
static int open_directory(const char *path, int flags, int *fd,
                          struct cairn_error *error)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    return *fd >= 0 || os_is_missing(errno) || errno == EACCES
               ? 0
               : error_sys(error, errno, "cannot look into %s", path);
}

/* Closes the descriptor. */
static int judge_entries(int fd, const char *path, uid_t owner,
                         struct cairn_error *error)
{
    const struct dirent *entry;
    struct stat st;
    int rc = 0;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        rc = error_sys(error, errno, "cannot look into %s", path);
        close(fd);
        return rc;
    }
    while (!rc && (errno = 0, entry = readdir(dir)))
        if (strcmp(entry->d_name, "..") != 0 &&
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            !is_trusted(st.st_uid, owner))
            rc = refuse_entry(path, entry->d_name, st.st_uid, error);
    if (!rc && errno)
        rc = error_sys(error, errno, "cannot look into %s", path);
    closedir(dir);
    return rc;
}

/* It may be a link of the user's own. */
static int judge_live(const struct store_paths *paths, uid_t owner,
                      struct cairn_error *error)
{
    struct stat st;
    int fd, rc = open_directory(paths->live, 0, &fd, error);
    if (rc || fd < 0)
        return rc;
    if (fstat(fd, &st) < 0)
        rc = error_sys(error, errno, "cannot look at %s", paths->live);
    else if (!is_trusted(st.st_uid, owner))
        rc = refuse_entry(paths->dir, "live", st.st_uid, error);
    if (!rc) {
        struct writers writers = writers_of(fd, NULL, &st);
        if (is_any(&writers))
            rc = refuse_modes(paths->live, &st, &writers, "", "", error);
    }
    if (!rc)
        return judge_entries(fd, paths->live, owner, error);
    close(fd);
    return rc;
}

int store_trust_files(const struct store_paths *paths, struct cairn_error *error)
{
    struct stat st;
    struct writers writers = {0};
    int fd, rc;
    rc = open_directory(paths->dir, O_NOFOLLOW, &fd, error);
    if (rc || fd < 0)
        return rc;
    if (fstat(fd, &st) < 0)
        rc = error_sys(error, errno, "cannot look at %s", paths->dir);
    else
        writers = writers_of(fd, NULL, &st);
    /* Whoever names a store that others can write to trusts them, too. */
    if (rc || is_any(&writers)) {
        close(fd);
        return rc;
    }
    return judge_entries(fd, paths->dir, st.st_uid, error)
               ?: judge_live(paths, st.st_uid, error);
}
