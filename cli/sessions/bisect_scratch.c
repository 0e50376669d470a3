/* SPDX-License-Identifier: MIT */
#include "cli/sessions/bisect_scratch.h"

#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static const char prefix[] = "cairn-bisect-";

/* ---- Removing ---- */

/* A tree is removed from the top: what a directory has in it is removed or, if it is a
 * directory, moved up first. So neither depth nor lengths of paths matter. */
struct clearing {
    int root;
    uint64_t moved; /* numbers the names of those that were moved up */
    bool progress, left;
};

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Of a directory, not of what a link names. */
static bool take_rights(int in, const char *name)
{
    struct stat st;
    return fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           fchmodat(in, name, 0700, 0) == 0;
}

static void move_up(struct clearing *clearing, int from, const char *name)
{
    char to[40];
    if (!take_rights(from, name))
        return;
    do
        snprintf(to, sizeof to, "moved-%ju", (uintmax_t)clearing->moved++);
    while (faccessat(clearing->root, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    renameat(from, name, clearing->root, to);
}

static void clear_one(struct clearing *clearing, const char *name)
{
    struct dirent *entry;
    DIR *opened;
    int fd = -1;
    if (take_rights(clearing->root, name))
        fd = openat(clearing->root, name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    opened = fd >= 0 ? fdopendir(fd) : NULL;
    if (!opened && fd >= 0)
        close(fd);
    while (opened && (entry = readdir(opened))) {
        if (!is_dots(entry->d_name) && unlinkat(fd, entry->d_name, 0) != 0)
            move_up(clearing, fd, entry->d_name);
    }
    if (opened)
        closedir(opened);
}

static void clear_entry(struct clearing *clearing, const char *name)
{
    if (is_dots(name))
        return;
    clearing->left = true;
    if (unlinkat(clearing->root, name, 0) != 0) {
        clear_one(clearing, name);
        if (unlinkat(clearing->root, name, AT_REMOVEDIR) != 0)
            return;
    }
    clearing->progress = true;
}

static bool clear_directory(int root)
{
    struct clearing clearing = {.root = root, .left = true, .progress = true};
    if (fchmod(root, 0700) != 0)
        return false;
    while (clearing.left && clearing.progress) {
        int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *entry;
        if (!opened)
            return false;
        clearing.left = clearing.progress = false;
        while ((entry = readdir(opened)))
            clear_entry(&clearing, entry->d_name);
        closedir(opened);
    }
    return !clearing.left;
}

/* ---- Making, and what others left ---- */

/* The directory, if nobody else has it; -1 if somebody has, or it is gone. */
static int lock_directory(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
        return fd;
    close(fd);
    return -1;
}

static void remove_left(const char *parent)
{
    struct dirent *entry;
    DIR *opened = opendir(parent);
    while (opened && (entry = readdir(opened))) {
        char path[SCRATCH_PATH];
        int fd = -1;
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
            strlen(entry->d_name) == sizeof prefix + 5 &&
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) <
                (int)sizeof path)
            fd = lock_directory(path);
        if (fd < 0)
            continue;
        if (clear_directory(fd))
            rmdir(path);
        close(fd);
    }
    if (opened)
        closedir(opened);
}

static int cannot_make(const char *what)
{
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                          "cannot make a directory in %s: %s", what, strerror(errno));
}

/* Whoever cleans up may take a new one for one that was left behind, as long as it is
 * not locked. */
int scratch_open(struct bisect_scratch *scratch)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || parent[0] != '/' || strlen(parent) > SCRATCH_PATH / 2)
        parent = "/tmp";
    *scratch = (struct bisect_scratch){.fd = -1};
    remove_left(parent);
    while (scratch->fd < 0) {
        snprintf(scratch->path, sizeof scratch->path, "%s/%sXXXXXX", parent, prefix);
        if (!mkdtemp(scratch->path))
            return cannot_make(parent);
        scratch->fd = lock_directory(scratch->path);
    }
    return 0;
}

int scratch_next(struct bisect_scratch *scratch, uint32_t number)
{
    snprintf(scratch->probe, sizeof scratch->probe, "%s/probe-%u", scratch->path,
             (unsigned)number);
    return mkdir(scratch->probe, 0700) == 0 ? 0 : cannot_make(scratch->path);
}

void scratch_empty(struct bisect_scratch *scratch)
{
    scratch->probe[0] = '\0';
    if (scratch->fd >= 0 && !clear_directory(scratch->fd))
        ui_warn("cannot remove everything in %s", scratch->path);
}

void scratch_close(struct bisect_scratch *scratch)
{
    if (scratch->fd < 0)
        return;
    scratch_empty(scratch);
    rmdir(scratch->path);
    close(scratch->fd);
    scratch->fd = -1;
}
