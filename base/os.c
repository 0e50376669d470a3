/* SPDX-License-Identifier: MIT */
/* Files, directories and the machine's identity. Every step of a durable write is
 * checked, fsync and close included: an error that is not seen here is data lost
 * later. Locks are in lock.c. */
#include "base/os.h"

#include "base/words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static int sync_fd(int fd)
{
    int rc;
    do
        rc = fsync(fd);
    while (rc < 0 && errno == EINTR);
    return rc;
}

int os_sync_dir(const char *path, struct cairn_error *error)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_sys(error, errno, "cannot open directory %s", path);
    /* EINVAL: a file system whose directories cannot be synced, and need not be. */
    if (sync_fd(fd) < 0 && errno != EINVAL) {
        int sys = errno;
        close(fd);
        return error_sys(error, sys, "cannot sync directory %s", path);
    }
    close(fd);
    return 0;
}

int os_sync_parent(const char *path, struct cairn_error *error)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 0)
        return os_sync_dir(".", error);
    char *parent = strndup(path, n);
    if (!parent)
        return error_nomem(error);
    int rc = os_sync_dir(parent, error);
    free(parent);
    return rc;
}

int os_make_dir(const char *path, mode_t mode, struct cairn_error *error)
{
    if (mkdir(path, mode) == 0)
        return 1;
    int sys = errno;
    if (sys != EEXIST)
        return error_sys(error, sys, "cannot make directory %s", path);
    struct stat st;
    if (stat(path, &st) < 0)
        return error_sys(error, errno, "cannot look at %s", path);
    if (!S_ISDIR(st.st_mode))
        return error_sys(error, ENOTDIR, "cannot use %s as a directory", path);
    return 0;
}

int os_write_all(int fd, struct str content)
{
    while (content.len > 0) {
        ssize_t n = write(fd, content.ptr, content.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : EIO;
        content.ptr += n;
        content.len -= (size_t)n;
    }
    return 0;
}

int os_write_at(int fd, struct str content, uint64_t at)
{
    while (content.len > 0) {
        ssize_t n = pwrite(fd, content.ptr, content.len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : EIO;
        content.ptr += n;
        content.len -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

/* 0 or an errno. The descriptor is closed in any case. */
static int fill(int fd, mode_t mode, struct str content, bool sync)
{
    int sys = os_write_all(fd, content);
    if (!sys && fchmod(fd, mode) < 0)
        sys = errno;
    if (!sys && sync && sync_fd(fd) < 0)
        sys = errno;
    /* On Linux close releases the descriptor even when it reports EINTR. */
    if (close(fd) < 0 && !sys && errno != EINTR)
        sys = errno;
    return sys;
}

static const char temporary[] = ".tmp.XXXXXX";

bool os_is_temporary(const char *name)
{
    size_t n = strlen(name), end = sizeof temporary - 1, dots = sizeof ".tmp." - 1;
    return n > end && strncmp(name + n - end, temporary, dots) == 0 &&
           !strchr(name + n - end + dots, '.');
}

/* The temporary file is new (O_EXCL), so that whatever lies in the place of `path`, or
 * under such a name, is neither opened nor followed. */
static int replace(const char *path, mode_t mode, struct str content, bool sync,
                   struct cairn_error *error)
{
    struct buf name = BUF_INIT;
    buf_text(&name, path);
    buf_text(&name, temporary);
    if (buf_check(&name, error)) {
        buf_release(&name);
        return CAIRN_ENOMEM;
    }
    int rc = 0;
    int fd = mkostemp(name.data, O_CLOEXEC);
    if (fd < 0) {
        rc = error_sys(error, errno, "cannot make a temporary file for %s", path);
        goto done;
    }
    int sys = fill(fd, mode, content, sync);
    if (!sys && rename(name.data, path) < 0)
        sys = errno;
    if (sys) {
        unlink(name.data);
        rc = error_sys(error, sys, "cannot write %s", path);
    }
done:
    buf_release(&name);
    return rc;
}

int os_write_file(const char *path, mode_t mode, struct str content,
                  struct cairn_error *error)
{
    return replace(path, mode, content, true, error) ?: os_sync_parent(path, error);
}

int os_replace_file(const char *path, mode_t mode, struct str content,
                    struct cairn_error *error)
{
    return replace(path, mode, content, false, error);
}

/* Appends to the end of the file; `limit` bounds the total. 0 or an errno; EFBIG is
 * the limit. */
static int read_all(int fd, size_t limit, struct buf *out)
{
    enum { STEP = 64 * 1024 };
    size_t total = 0;
    for (;;) {
        char *at = buf_grow(out, STEP);
        if (!at)
            return ENOMEM;
        ssize_t n = read(fd, at, STEP);
        int sys = errno;
        out->size -= STEP - (size_t)(n > 0 ? n : 0);
        if (n < 0 && sys == EINTR)
            continue;
        if (n < 0)
            return sys;
        if (n == 0)
            return 0;
        total += (size_t)n;
        if (total > limit)
            return EFBIG;
    }
}

int os_open_plain(const char *path, int flags)
{
    struct stat st;
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0)
        return -1;
    int sys = fstat(fd, &st) < 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
    if (!sys)
        return fd;
    close(fd);
    errno = sys;
    return -1;
}

/* From what open(2) gave: a descriptor, which is closed, or -1 and errno. */
static int read_opened(int fd, const char *path, size_t limit, struct buf *out,
                       struct cairn_error *error)
{
    if (fd < 0 && errno == ENOENT) {
        error_sys(error, ENOENT, "cannot open %s", path);
        if (error)
            error->code = CAIRN_ENOTFOUND;
        return CAIRN_ENOTFOUND;
    }
    if (fd < 0)
        return error_sys(error, errno, "cannot open %s", path);
    size_t before = out->size;
    int sys = read_all(fd, limit, out);
    close(fd);
    if (!sys) {
        if (out->data)
            out->data[out->size] = 0;
        return 0;
    }
    out->size = before;
    if (out->data)
        out->data[before] = 0;
    if (sys == EFBIG)
        return error_set(error, CAIRN_ELIMIT, "%s has more than %zu bytes", path,
                         limit);
    return error_sys(error, sys, "cannot read %s", path);
}

int os_read_file(const char *path, size_t limit, struct buf *out,
                 struct cairn_error *error)
{
    return read_opened(open(path, O_RDONLY | O_CLOEXEC), path, limit, out, error);
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

int os_read_regular(const char *path, size_t limit, struct buf *out,
                    struct cairn_error *error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int sys = errno;
    /* A socket cannot even be opened. */
    bool odd = fd >= 0 ? fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)
                       : sys == ENXIO && stat(path, &st) == 0;
    errno = sys;
    if (!odd)
        return read_opened(fd, path, limit, out, error);
    if (fd >= 0)
        close(fd);
    return error_set(error, CAIRN_EUSAGE, "%s is %s", path, kind_of(st.st_mode));
}

int os_read_plain(const char *path, size_t limit, struct buf *out,
                  struct cairn_error *error)
{
    return read_opened(os_open_plain(path, O_RDONLY), path, limit, out, error);
}

bool os_is_missing(int sys)
{
    return sys == ENOENT || sys == ENOTDIR || sys == ELOOP;
}

bool os_is_there(int dir, const char *path)
{
    return faccessat(dir, path, F_OK, 0) == 0 || !os_is_missing(errno);
}

/* Magic numbers from statfs(2), the kernel's linux/magic.h and the vendors' own
 * headers. FUSE says nothing about what is behind it and counts as local. */
static const struct {
    uint32_t magic;
    const char *name;
} network_fs[] = {
    {0x00006969, "NFS"},    {0x0000517B, "SMB"},    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB"},    {0x5346414F, "AFS"},    {0x6B414653, "AFS"},
    {0x00C36400, "Ceph"},   {0x47504653, "GPFS"},   {0x0BD00BD0, "Lustre"},
    {0x01021997, "9p"},     {0x73757245, "Coda"},   {0x7461636F, "OCFS2"},
    {0x01161970, "GFS2"},   {0x19830326, "BeeGFS"}, {0xAAD7AAEA, "PanFS"},
    {0x0000564C, "NetWare"}};

int os_network_fs(const char *path, const char **name, struct cairn_error *error)
{
    struct statfs fs;
    int rc;
    do
        rc = statfs(path, &fs);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return error_sys(error, errno, "cannot find out the file system of %s", path);
    for (size_t i = 0; i < COUNT_OF(network_fs); i++) {
        if (network_fs[i].magic != (uint32_t)fs.f_type)
            continue;
        if (name)
            *name = network_fs[i].name;
        return 1;
    }
    return 0;
}

bool os_is_full(const char *path)
{
    enum { FEW_BLOCKS = 8 };
    struct statvfs fs;
    /* Without a limit it has no blocks at all. Root may take what is reserved. */
    return statvfs(path, &fs) == 0 && fs.f_blocks > 0 &&
           (geteuid() == 0 ? fs.f_bfree : fs.f_bavail) < FEW_BLOCKS;
}

/* A small file of /proc into `out`, NUL-terminated; its length, 0 if unreadable. */
static size_t read_proc(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n;
    do
        n = read(fd, out, size - 1);
    while (n < 0 && errno == EINTR);
    close(fd);
    if (n < 0)
        n = 0;
    out[n] = 0;
    return (size_t)n;
}

void os_boot_id(char out[37])
{
    char text[64];
    if (read_proc("/proc/sys/kernel/random/boot_id", text, sizeof text) < 36) {
        out[0] = 0;
        return;
    }
    memcpy(out, text, 36);
    out[36] = 0;
}

void os_host_name(char out[64])
{
    if (gethostname(out, 64) < 0)
        out[0] = 0;
    out[63] = 0;
}

/* glibc's services of names crash where memory lacks, so they are asked only about
 * users that /etc/passwd does not have. A name that begins with + or - there is an
 * instruction to the service `compat`, not a user. */
int os_user_name(char out[64], struct cairn_error *error)
{
    char buffer[4096], space[4096];
    struct passwd entry, *found = NULL;
    FILE *file = fopen("/etc/passwd", "re");
    out[0] = 0;
    if (!file && errno == ENOMEM)
        return error_nomem(error);
    if (file)
        setvbuf(file, buffer, _IOFBF, sizeof buffer);
    while (file && !out[0] &&
           fgetpwent_r(file, &entry, space, sizeof space, &found) == 0)
        if (entry.pw_uid == geteuid() && !strchr("+-", entry.pw_name[0]))
            snprintf(out, 64, "%s", entry.pw_name);
    if (file)
        fclose(file);
    if (!out[0] && getpwuid_r(geteuid(), &entry, space, sizeof space, &found) == 0 &&
        found)
        snprintf(out, 64, "%s", found->pw_name);
    return 0;
}

int os_caller_name(char *out, size_t size, struct cairn_error *error)
{
    char host[64], user[64];
    const char *name = getenv("LOGNAME");
    int rc = os_user_name(user, error);
    os_host_name(host);
    if (user[0] || (name && *name))
        snprintf(out, size, "%s@%s", user[0] ? user : name, host);
    else
        snprintf(out, size, "uid-%u@%s", (unsigned)geteuid(), host);
    return rc;
}

/* The users who share a directory by their group. */
struct sharers {
    uid_t all[3];
    char names[3][64]; /* "": not in /etc/passwd */
};

/* What is known of the users in /etc/passwd; false if another one has the group. */
static bool note_users(struct sharers *sharers, gid_t gid)
{
    char space[8192];
    struct passwd entry, *found = NULL;
    bool private = true;
    FILE *file = fopen("/etc/passwd", "re");
    if (!file && errno != ENOENT)
        return false;
    int sys = 0;
    while (file &&
           (sys = fgetpwent_r(file, &entry, space, sizeof space, &found)) == 0) {
        bool known = false;
        for (int i = 0; i < 3; i++)
            if (entry.pw_uid == sharers->all[i]) {
                known = true;
                snprintf(sharers->names[i], sizeof sharers->names[i], "%s",
                         entry.pw_name);
            }
        private = private && (known || entry.pw_gid != gid);
    }
    if (file)
        fclose(file);
    return private && (!sys || sys == ENOENT);
}

static bool is_name_of(const struct sharers *sharers, const char *name)
{
    return strcmp(name, sharers->names[0]) == 0 ||
           strcmp(name, sharers->names[1]) == 0 || strcmp(name, sharers->names[2]) == 0;
}

/* A group without members may have some that are not listed here, such as `users`: but
 * not one that has the name of its user. */
static bool is_theirs(const struct sharers *sharers, const struct group *group)
{
    char *const *member = group->gr_mem;
    bool own = *member || is_name_of(sharers, group->gr_name);
    while (*member)
        if (!is_name_of(sharers, *member++))
            return false;
    return own || group->gr_gid == geteuid() || group->gr_gid == sharers->all[2];
}

/* Read here, not by getgrgid_r: see os_user_name. */
bool os_is_private_group(gid_t gid, uid_t owner)
{
    char space[16384];
    struct group entry, *found = NULL;
    struct sharers sharers = {.all = {0, geteuid(), owner}};
    if (gid == 0) /* who is in it may be system accounts, which are root's */
        return true;
    if (!note_users(&sharers, gid))
        return false;
    FILE *file = fopen("/etc/group", "re");
    int sys = file || errno == ENOENT ? 0 : errno;
    bool listed = false, private = true;
    while (file && (sys = fgetgrent_r(file, &entry, space, sizeof space, &found)) == 0)
        if (entry.gr_gid == gid) {
            listed = true;
            private = private && is_theirs(&sharers, &entry);
        }
    if (file)
        fclose(file);
    if (sys && sys != ENOENT) /* its list of members may be too long to be read */
        return false;
    return listed ? private : gid == geteuid() || gid == owner;
}

uint64_t os_process_start(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (read_proc(path, text, sizeof text) == 0)
        return 0;
    /* Field 2, the name in parentheses, may hold blanks and parentheses itself. */
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    at += 2; /* at field 3 */
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (!at)
            return 0;
        at++;
    }
    return strtoull(at, NULL, 10);
}

uint64_t os_pid_namespace(void)
{
    char link[32];
    struct stat st;
    ssize_t n = readlink("/proc/self", link, sizeof link - 1);
    if (n <= 0)
        return 0;
    link[n] = 0;
    return strtol(link, NULL, 10) == getpid() && stat("/proc/self/ns/pid", &st) == 0
               ? st.st_ino
               : 0;
}

/* PROC_PID_INIT_INO of the kernel. */
bool os_is_first_pid_namespace(uint64_t pid_namespace)
{
    return pid_namespace == 0xeffffffc;
}

/* The number in a file such as memory.max; UINT64_MAX: there is none. */
static uint64_t limit_in(const char *path)
{
    char text[64] = "";
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    if (!fgets(text, sizeof text, file) ||
        !str_to_u64((struct str){text, strcspn(text, "\n")}, &limit))
        limit = UINT64_MAX; /* "max" */
    fclose(file);
    return limit;
}

/* Of the group `path` below `root`, and of those that it is in. */
static uint64_t group_limit(const char *root, char *path, const char *name)
{
    uint64_t least = UINT64_MAX;
    char file[PATH_MAX];
    for (;;) {
        int n = snprintf(file, sizeof file, "%s%s/%s", root, path, name);
        uint64_t limit = n > 0 && n < (int)sizeof file ? limit_in(file) : UINT64_MAX;
        char *slash = strrchr(path, '/');
        least = limit < least ? limit : least;
        if (!slash)
            return least;
        *slash = '\0';
    }
}

uint64_t os_memory_bytes(void)
{
    char line[PATH_MAX];
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t least =
        pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    FILE *groups = fopen("/proc/self/cgroup", "re");
    while (groups && fgets(line, sizeof line, groups)) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        uint64_t limit = UINT64_MAX;
        if (!path)
            continue;
        *path++ = '\0';
        if (!names[1]) /* version 2 */
            limit = group_limit("/sys/fs/cgroup", path, "memory.max");
        else if (strcmp(names + 1, "memory") == 0)
            limit = group_limit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    if (groups)
        fclose(groups);
    return least;
}

uint64_t os_free_descriptors(void)
{
    struct rlimit limit;
    uint64_t open_now = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        open_now++;
    if (directory)
        closedir(directory);
    return limit.rlim_cur > open_now ? limit.rlim_cur - open_now : 0;
}

int os_free_port(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int sys = bind(fd, (struct sockaddr *)&at, size) ||
                      getsockname(fd, (struct sockaddr *)&at, &size)
                  ? errno
                  : 0;
    close(fd);
    *port = sys ? 0 : ntohs(at.sin_port);
    return sys;
}
