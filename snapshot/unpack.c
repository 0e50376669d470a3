/* SPDX-License-Identifier: MIT */
#include "snapshot/unpack.h"

#include "base/memory.h"
#include "base/os.h"
#include "storage/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* One for each store and place. */
static int name_work(struct unpack *u)
{
    struct buf text = BUF_INIT;
    struct digest digest = {{0}};
    char hex[DIGEST_HEX_SIZE];
    buf_format(&text, "%s %s", store_id(u->store), u->path);
    int rc = buf_check(&text, u->error)
                 ?: sha256_of(text.data, text.size, &digest, u->error);
    digest_hex(&digest, hex);
    snprintf(u->work, sizeof u->work, TREE_STAGE "fork-%.16s", hex);
    buf_release(&text);
    return rc;
}

int unpack_open(struct unpack *u, struct cairn_store *store, const char *path,
                struct cairn_error *error)
{
    const char *slash = strrchr(path, '/');
    *u = (struct unpack){
        .store = store, .path = path, .name = slash + 1, .fd = -1, .error = error};
    buf_add(&u->above, path, slash == path ? 1 : (size_t)(slash - path));
    int rc = buf_check(&u->above, error) ?: name_work(u);
    if (rc)
        return rc;
    u->fd = open(u->above.data, DIRECTORY);
    if (u->fd >= 0)
        return 0;
    return os_is_missing(errno) ? error_set(error, CAIRN_ENOTFOUND,
                                            "there is no directory %s", u->above.data)
                                : error_sys(error, errno, "%s", u->above.data);
}

void unpack_close(struct unpack *u)
{
    if (u->fd >= 0)
        close(u->fd);
    buf_release(&u->above);
    u->fd = -1;
}

/* ---- The place ---- */

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* 1, 0, or -1 and errno. */
static int is_empty(int above, const char *name)
{
    int fd = openat(above, name, DIRECTORY);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *found;
    int empty = 1;
    if (!dir) {
        int sys = errno;
        if (fd >= 0)
            close(fd);
        errno = sys;
        return -1;
    }
    while (empty && (found = readdir(dir)))
        empty = is_dot(found->d_name);
    closedir(dir);
    return empty;
}

int unpack_check(struct unpack *u)
{
    struct stat st, above;
    const char *why = NULL;
    if (fstatat(u->fd, u->name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstat(u->fd, &above) != 0)
        return errno == ENOENT ? 0 : error_sys(u->error, errno, "%s", u->path);
    if (S_ISLNK(st.st_mode))
        why = "is a link";
    else if (!S_ISDIR(st.st_mode))
        why = "is not a directory";
    else if (st.st_dev != above.st_dev)
        why = "is where another file system begins (name a directory in it)";
    int empty = why ? 1 : is_empty(u->fd, u->name);
    if (empty < 0)
        return error_sys(u->error, errno, "%s", u->path);
    why = empty ? why : "is not empty";
    return why ? error_set(
                     u->error, CAIRN_EUSAGE,
                     "%s %s: give the path of a new directory, or of an empty one",
                     u->path, why)
               : 0;
}

int unpack_clear(struct unpack *u)
{
    int sys = place_delete(u->fd, u->work);
    return sys ? error_sys(u->error, sys, "deleting %s in %s", u->work, u->above.data)
               : 0;
}

/* ---- Writing it ---- */

/* That of the directory in whose place it comes. */
static int set_mode(struct unpack *u)
{
    struct stat st;
    if (fstatat(u->fd, u->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return fchmodat(u->fd, u->work, (st.st_mode & TREE_MODE_BITS) | 0700, 0) == 0
               ? 0
               : error_sys(u->error, errno, "%s in %s", u->work, u->above.data);
}

static int write_tree(struct unpack *u, const char *root, const struct digest *tree,
                      const char *like, bool scratch)
{
    struct restore restore;
    int rc = restore_open(&restore, u->store, root, NULL, tree, NULL, u->error);
    restore.like = like;
    restore.scratch = scratch;
    if (!rc)
        rc = restore_prepare(&restore, false) ?: restore_apply(&restore);
    if (rc) /* the caller deletes all of it */
        restore.applying = false;
    u->counts = restore.counts;
    restore_close(&restore);
    return rc;
}

int unpack_write(struct unpack *u, const struct digest *tree, const char *like)
{
    struct buf root = BUF_INIT;
    buf_format(&root, "%s%s%s", u->above.data, u->above.size > 1 ? "/" : "", u->work);
    int rc = buf_check(&root, u->error) ?: unpack_clear(u);
    if (!rc && mkdirat(u->fd, u->work, 0777) != 0)
        rc = error_sys(u->error, errno, "making a directory in %s", u->above.data);
    if (!rc)
        rc = write_tree(u, root.data, tree, like, false) ?: set_mode(u);
    buf_release(&root);
    return rc;
}

int unpack_scratch(struct cairn_store *store, const char *directory,
                   const struct digest *tree, struct cairn_error *error)
{
    struct unpack u = {.store = store, .path = directory, .fd = -1, .error = error};
    int empty = is_empty(AT_FDCWD, directory);
    if (empty < 0)
        return error_sys(error, errno, "the directory %s", directory);
    return empty ? write_tree(&u, directory, tree, NULL, true)
                 : error_set(error, CAIRN_EUSAGE,
                             "%s is not empty: give the path of an empty directory",
                             directory);
}

/* ---- Into place ---- */

static int write_file(struct unpack *u, const char *file, struct str content)
{
    int dir = openat(u->fd, u->work, DIRECTORY);
    if (dir >= 0)
        (void)unlinkat(dir, file, 0);
    int fd =
        dir < 0 ? -1 : openat(dir, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int sys = fd < 0 ? errno : os_write_all(fd, content);
    if (!sys && (fsync(fd) != 0 || fsync(dir) != 0))
        sys = errno;
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    return sys ? error_sys(u->error, sys, "writing %s in %s", file, u->above.data) : 0;
}

static int move_into_place(struct unpack *u)
{
    if (renameat(u->fd, u->work, u->fd, u->name) == 0)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
        return error_set(u->error, CAIRN_EUSAGE,
                         "something else has come to %s meanwhile: move it away",
                         u->path);
    return error_sys(u->error, errno, "moving the files to %s", u->path);
}

/* Is the file in the place? */
static bool is_placed(const struct unpack *u, const char *file, struct str content)
{
    struct buf path = BUF_INIT, found = BUF_INIT;
    buf_format(&path, "%s/%s", u->path, file);
    bool placed = !path.failed &&
                  os_read_plain(path.data, content.len, &found, NULL) == 0 &&
                  str_equal(buf_view(&found), content);
    buf_release(&path);
    buf_release(&found);
    return placed;
}

int unpack_place(struct unpack *u, const char *file, struct str content)
{
    struct stat st;
    int rc = 0;
    if (fstatat(u->fd, u->work, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        rc = write_file(u, file, content) ?: move_into_place(u);
    } else if (errno != ENOENT) {
        return error_sys(u->error, errno, "%s in %s", u->work, u->above.data);
    } else if (!is_placed(u, file, content)) {
        return error_set(u->error, CAIRN_ENOTFOUND, "the files of %s are gone",
                         u->path);
    }
    return rc ?: os_sync_dir(u->above.data, u->error);
}
