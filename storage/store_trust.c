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
#include "base/shell_word.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_IT "name the store with --store or CAIRN_STORE"

static bool is_shared_by_group(const struct stat *st)
{
    return (st->st_mode & S_IWGRP) && !os_is_private_group(st->st_gid, st->st_uid);
}

static bool others_write(const struct stat *st)
{
    return (st->st_mode & S_IWOTH) || is_shared_by_group(st);
}

bool store_is_litter(const char *parent, const char *path)
{
    struct stat st, in;
    return lstat(path, &st) == 0 && st.st_uid != geteuid() && lstat(parent, &in) == 0 &&
           others_write(&in);
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
static int refuse_modes(const char *path, const struct stat *st, const char *can,
                        const char *else_, struct cairn_error *error)
{
    char who[48] = "everybody";
    bool all = st->st_mode & S_IWOTH, group = is_shared_by_group(st);
    struct buf word = BUF_INIT;
    buf_shell_word(&word, str_of(path));
    if (!all)
        snprintf(who, sizeof who, "group %ld", (long)st->st_gid);
    int rc = buf_check(&word, error);
    if (!rc)
        rc = error_set(error, CAIRN_EUSAGE,
                       "others can write to %s (mode %04o, %s)%s: `chmod %s %s`%s",
                       path, (unsigned)st->st_mode & 07777, who, can,
                       !all    ? "g-w"
                       : group ? "go-w"
                               : "o-w",
                       word.data, else_);
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
    if (!others_write(&st))
        return 1;
    return st.st_mode & S_ISVTX
               ? 0
               : refuse_modes(path, &st,
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
    if (others_write(st))
        return refuse_modes(path, st, "", "; or, if you trust them, " NAME_IT, error);
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

static bool is_trusted(uid_t uid, uid_t owner)
{
    return uid == geteuid() || uid == 0 || uid == owner;
}

static int refuse_entry(const char *path, const char *name, uid_t uid,
                        struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "%s/%s belongs to another user (uid %ld), who may have put it "
                     "there: move it out of the store, then try again",
                     path, name, (long)uid);
}

/* What is not there, is no directory or may not be looked into is refused elsewhere,
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
    else if (others_write(&st))
        rc = refuse_modes(paths->live, &st, "", "", error);
    if (!rc)
        return judge_entries(fd, paths->live, owner, error);
    close(fd);
    return rc;
}

int store_trust_files(const struct store_paths *paths, struct cairn_error *error)
{
    struct stat st;
    int fd, rc;
    rc = open_directory(paths->dir, O_NOFOLLOW, &fd, error);
    if (rc || fd < 0)
        return rc;
    if (fstat(fd, &st) < 0)
        rc = error_sys(error, errno, "cannot look at %s", paths->dir);
    /* Whoever names a store that others can write to trusts them, too. */
    if (rc || others_write(&st)) {
        close(fd);
        return rc;
    }
    rc = judge_entries(fd, paths->dir, st.st_uid, error);
    return rc ? rc : judge_live(paths, st.st_uid, error);
}
