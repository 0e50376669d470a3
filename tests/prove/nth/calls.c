/* SPDX-License-Identifier: MIT */
/* The table of system calls: names, classes, and which errors can really occur. */
#include "nth.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* What the first argument or two are about, for call_describe. */
enum about { NOTHING, FD, NAME, AT_NAME, TWO_NAMES };

static const struct known {
    long number;
    const char *name;
    enum about about;
    bool change; /* something outside of the process */
    enum call_class class;
} known[] = {
#define K(NAME_, ABOUT, CHANGE, CLASS)            \
    {                                             \
        SYS_##NAME_, #NAME_, ABOUT, CHANGE, CLASS \
    }
    K(open, NAME, true, CALLS_OPEN),
    K(openat, AT_NAME, true, CALLS_OPEN),
    K(openat2, AT_NAME, false, CALLS_OPEN), /* directories (snapshot/place.c) */
    K(write, FD, true, CALLS_WRITE),
    K(pwrite64, FD, true, CALLS_WRITE),
    K(writev, FD, true, CALLS_WRITE),
    K(pwritev, FD, true, CALLS_WRITE),
    K(sendto, FD, true, CALLS_WRITE),
    K(sendmsg, FD, true, CALLS_WRITE),
    K(sendfile, FD, true, CALLS_WRITE),
    K(copy_file_range, FD, true, CALLS_WRITE),
    K(read, FD, false, CALLS_READ),
    K(pread64, FD, false, CALLS_READ),
    K(readv, FD, false, CALLS_READ),
    K(getdents64, FD, false, CALLS_READ),
    K(recvfrom, FD, false, CALLS_READ),
    K(recvmsg, FD, false, CALLS_READ),
    K(getrandom, NOTHING, false, CALLS_ALL),
    K(fsync, FD, true, CALLS_SYNC),
    K(fdatasync, FD, true, CALLS_SYNC),
    K(sync_file_range, FD, true, CALLS_SYNC),
    K(msync, NOTHING, true, CALLS_SYNC),
    K(rename, TWO_NAMES, true, CALLS_RENAME),
    K(renameat, AT_NAME, true, CALLS_RENAME),
    K(renameat2, AT_NAME, true, CALLS_RENAME),
    K(link, TWO_NAMES, true, CALLS_RENAME),
    K(linkat, AT_NAME, true, CALLS_RENAME),
    K(unlink, NAME, true, CALLS_UNLINK),
    K(unlinkat, AT_NAME, true, CALLS_UNLINK),
    K(rmdir, NAME, true, CALLS_UNLINK),
    K(mkdir, NAME, true, CALLS_MKDIR),
    K(mkdirat, AT_NAME, true, CALLS_MKDIR),
    K(mknod, NAME, true, CALLS_MKDIR),
    K(mknodat, AT_NAME, true, CALLS_MKDIR),
    K(ftruncate, FD, true, CALLS_TRUNCATE),
    K(truncate, NAME, true, CALLS_TRUNCATE),
    K(fallocate, FD, true, CALLS_TRUNCATE),
    K(chmod, NAME, true, CALLS_ATTRIBUTE),
    K(fchmod, FD, true, CALLS_ATTRIBUTE),
    K(fchmodat, AT_NAME, true, CALLS_ATTRIBUTE),
    K(chown, NAME, true, CALLS_ATTRIBUTE),
    K(fchown, FD, true, CALLS_ATTRIBUTE),
    K(utimensat, AT_NAME, true, CALLS_ATTRIBUTE),
    K(stat, NAME, false, CALLS_STAT),
    K(lstat, NAME, false, CALLS_STAT),
    K(fstat, FD, false, CALLS_STAT),
    K(newfstatat, AT_NAME, false, CALLS_STAT),
    K(statx, AT_NAME, false, CALLS_STAT),
    K(access, NAME, false, CALLS_STAT),
    K(faccessat, AT_NAME, false, CALLS_STAT),
    K(faccessat2, AT_NAME, false, CALLS_STAT),
    K(readlink, NAME, false, CALLS_STAT),
    K(readlinkat, AT_NAME, false, CALLS_STAT),
    K(statfs, NAME, false, CALLS_STAT),
    K(fstatfs, FD, false, CALLS_STAT),
    K(fcntl, FD, true, CALLS_LOCK), /* and descriptors: see call_is */
    K(flock, FD, true, CALLS_LOCK),
    K(mmap, NOTHING, false, CALLS_MEMORY),
    K(mremap, NOTHING, false, CALLS_MEMORY),
    K(brk, NOTHING, false, CALLS_MEMORY),
    K(mprotect, NOTHING, false, CALLS_MEMORY),
    K(munmap, NOTHING, false, CALLS_ALL),
    K(madvise, NOTHING, false, CALLS_ALL),
    K(clone, NOTHING, true, CALLS_SPAWN),
    K(clone3, NOTHING, true, CALLS_SPAWN),
    K(vfork, NOTHING, true, CALLS_SPAWN),
    K(pidfd_open, NOTHING, false, CALLS_DESCRIPTOR),
    K(socket, NOTHING, false, CALLS_DESCRIPTOR),
    K(socketpair, NOTHING, false, CALLS_DESCRIPTOR),
    K(eventfd2, NOTHING, false, CALLS_DESCRIPTOR),
    K(epoll_create1, NOTHING, false, CALLS_DESCRIPTOR),
    K(timerfd_create, NOTHING, false, CALLS_DESCRIPTOR),
    K(inotify_init1, NOTHING, false, CALLS_DESCRIPTOR),
    K(signalfd4, NOTHING, false, CALLS_DESCRIPTOR),
    K(pipe2, NOTHING, false, CALLS_DESCRIPTOR),
    K(memfd_create, NOTHING, false, CALLS_DESCRIPTOR),
    K(dup, FD, false, CALLS_DESCRIPTOR),
    K(dup3, FD, false, CALLS_DESCRIPTOR),
    K(epoll_ctl, NOTHING, false, CALLS_WATCH),
    K(inotify_add_watch, NOTHING, false, CALLS_WATCH),
    K(epoll_wait, NOTHING, false, CALLS_WAIT),
    K(epoll_pwait, NOTHING, false, CALLS_WAIT),
    K(poll, NOTHING, false, CALLS_WAIT),
    K(ppoll, NOTHING, false, CALLS_WAIT),
    K(waitid, NOTHING, false, CALLS_WAIT),
    K(wait4, NOTHING, false, CALLS_WAIT),
    K(nanosleep, NOTHING, false, CALLS_WAIT),
    K(clock_nanosleep, NOTHING, false, CALLS_WAIT),
    K(pidfd_send_signal, NOTHING, true, CALLS_ALL),
    K(kill, NOTHING, true, CALLS_ALL),
    K(shutdown, FD, true, CALLS_ALL),
    K(execve, NAME, true, CALLS_ALL),
    K(lseek, FD, false, CALLS_ALL),
    K(close, FD, true, CALLS_ALL), /* gives up locks */
    K(getcwd, NOTHING, false, CALLS_ALL),
    K(getpid, NOTHING, false, CALLS_ALL),
    K(geteuid, NOTHING, false, CALLS_ALL),
    K(ioctl, FD, false, CALLS_ALL),
    K(futex, NOTHING, false, CALLS_ALL),
    K(rt_sigaction, NOTHING, false, CALLS_ALL),
    K(rt_sigprocmask, NOTHING, false, CALLS_ALL),
    K(getrusage, NOTHING, false, CALLS_ALL),
    K(prctl, NOTHING, false, CALLS_ALL),
    K(uname, NOTHING, false, CALLS_ALL),
    K(prlimit64, NOTHING, false, CALLS_ALL),
    K(exit, NOTHING, true, CALLS_ALL),
    K(exit_group, NOTHING, true, CALLS_ALL),
#undef K
};

const struct fault faults[] = {
    {CALLS_OPEN, EMFILE, false},       {CALLS_OPEN, ENOSPC, false},
    {CALLS_OPEN, EACCES, false},       {CALLS_OPEN, EIO, false},
    {CALLS_WRITE, ENOSPC, false},      {CALLS_WRITE, EIO, false},
    {CALLS_WRITE, SHORT_WRITE, true},  {CALLS_WRITE, EINTR, true},
    {CALLS_READ, EIO, false},          {CALLS_READ, EINTR, true},
    {CALLS_SYNC, EIO, false},          {CALLS_SYNC, ENOSPC, false},
    {CALLS_RENAME, ENOSPC, false},     {CALLS_RENAME, EACCES, false},
    {CALLS_UNLINK, EIO, false},        {CALLS_UNLINK, EACCES, false},
    {CALLS_MKDIR, ENOSPC, false},      {CALLS_MKDIR, EACCES, false},
    {CALLS_TRUNCATE, EIO, false},      {CALLS_TRUNCATE, ENOSPC, false},
    {CALLS_ATTRIBUTE, EPERM, false},   {CALLS_ATTRIBUTE, EIO, false},
    {CALLS_STAT, EACCES, false},       {CALLS_STAT, EIO, false},
    {CALLS_LOCK, ENOLCK, true},        {CALLS_OWN_LOCK, ENOLCK, false},
    {CALLS_LOCK, EINTR, true},         {CALLS_MEMORY, ENOMEM, false},
    {CALLS_SPAWN, EAGAIN, false},      {CALLS_SPAWN, ENOMEM, false},
    {CALLS_DESCRIPTOR, EMFILE, false}, {CALLS_DESCRIPTOR, ENOMEM, false},
    {CALLS_WATCH, ENOSPC, false},      {CALLS_WATCH, ENOMEM, false},
    {CALLS_WAIT, EINTR, true},         {CALLS_ALL, 0, false},
};

/* ---- Names ---- */

static const char *const class_names[] = {
    [CALLS_ALL] = "all",
    [CALLS_CHANGE] = "change",
    [CALLS_OPEN] = "open",
    [CALLS_WRITE] = "write",
    [CALLS_READ] = "read",
    [CALLS_SYNC] = "sync",
    [CALLS_RENAME] = "rename",
    [CALLS_UNLINK] = "unlink",
    [CALLS_MKDIR] = "mkdir",
    [CALLS_TRUNCATE] = "truncate",
    [CALLS_ATTRIBUTE] = "attribute",
    [CALLS_STAT] = "stat",
    [CALLS_LOCK] = "lock",
    [CALLS_OWN_LOCK] = "ownlock",
    [CALLS_MEMORY] = "memory",
    [CALLS_SPAWN] = "spawn",
    [CALLS_DESCRIPTOR] = "descriptor",
    [CALLS_WATCH] = "watch",
    [CALLS_WAIT] = "wait",
};
static const struct {
    int error;
    const char *name;
} errors[] = {
    {EIO, "EIO"},       {ENOSPC, "ENOSPC"}, {EMFILE, "EMFILE"}, {EAGAIN, "EAGAIN"},
    {ENOMEM, "ENOMEM"}, {EACCES, "EACCES"}, {EINTR, "EINTR"},   {EPERM, "EPERM"},
    {ENOLCK, "ENOLCK"}, {EROFS, "EROFS"},   {EDQUOT, "EDQUOT"}, {SHORT_WRITE, "SHORT"},
};

const char *class_name(enum call_class class)
{
    return class_names[class];
}

enum call_class class_find(const char *name)
{
    for (int i = CALLS_LAST; i > CALLS_ALL; i--)
        if (strcmp(class_names[i], name) == 0)
            return (enum call_class)i;
    return CALLS_ALL;
}

const char *error_name(int error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "?";
}

int error_find(const char *name)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].error;
    return 0;
}

/* ---- One call ---- */

static const struct known *known_of(const struct call *call)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].number == (long)call->number)
            return &known[i];
    return NULL;
}

static bool peek(const struct call *call, uint64_t address, void *bytes, size_t size)
{
    struct iovec here = {bytes, size},
                 there = {(void *)(uintptr_t)address, size}; /* in the other process */
    return process_vm_readv(call->process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static enum call_class class_of_fcntl(const struct call *call)
{
    struct flock lock;
    switch (call->arguments[1]) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        return CALLS_DESCRIPTOR;
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
    case F_SETLK:
    case F_SETLKW:
        if (peek(call, call->arguments[2], &lock, sizeof lock) &&
            lock.l_type == F_UNLCK)
            return CALLS_ALL;
        return CALLS_LOCK;
    case F_GETLK:
    case F_OFD_GETLK:
        return CALLS_LOCK;
    default:
        return CALLS_ALL;
    }
}

/* Up to its end or the end of its page. */
static void peek_text(const struct call *call, uint64_t address, char *text,
                      size_t size)
{
    size_t n = 4096 - address % 4096;
    if (n > size - 1)
        n = size - 1;
    memset(text, 0, size);
    if (!peek(call, address, text, n))
        snprintf(text, size, "?");
}

bool call_has_fd(const struct call *call)
{
    const struct known *found = known_of(call);
    return found && (found->about == FD || found->about == AT_NAME);
}

void call_name(const struct call *call, char *text, size_t size)
{
    peek_text(call, call->arguments[1], text, size);
}

static void name_of_fd(const struct call *call, int fd, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)call->process, fd);
    ssize_t n = readlink(path, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
}

/* SQLite takes its locks as a process, cairn as the holder of an open file. */
static bool is_of_open_file(const struct call *call)
{
    return call->arguments[1] == F_OFD_SETLK || call->arguments[1] == F_OFD_SETLKW ||
           call->arguments[1] == F_OFD_GETLK;
}

/* Nothing of that kind happens to an eventfd, and errors of other kinds to sockets. */
static bool is_of_file(const struct call *call)
{
    char name[8];
    name_of_fd(call, (int)call->arguments[0], name, sizeof name);
    return name[0] == '/';
}

bool call_is(const struct call *call, enum call_class class)
{
    if (class == CALLS_ALL)
        return true;
    const struct known *found = known_of(call);
    if (!found)
        return class == CALLS_CHANGE; /* rather once too often */
    if (class == CALLS_CHANGE)
        return found->change;
    if (call->number == SYS_fcntl)
        return class == CALLS_OWN_LOCK
                   ? class_of_fcntl(call) == CALLS_LOCK && is_of_open_file(call)
                   : class_of_fcntl(call) == class;
    if (found->class != class)
        return false;
    if (class == CALLS_WRITE)
        return call->arguments[0] != STDERR_FILENO && is_of_file(call);
    return class != CALLS_READ || is_of_file(call);
}

void call_describe(const struct call *call, char *text, size_t size)
{
    char first[160] = "", second[160] = "";
    const struct known *found = known_of(call);
    const char *name = found ? found->name : "?";
    int fd = (int)call->arguments[0];
    switch (found ? found->about : NOTHING) {
    case FD:
        name_of_fd(call, fd, second, sizeof second);
        snprintf(first, sizeof first, "%d ", fd);
        break;
    case NAME:
        peek_text(call, call->arguments[0], first, sizeof first);
        break;
    case AT_NAME:
        peek_text(call, call->arguments[1], second, sizeof second);
        if (fd != AT_FDCWD)
            snprintf(first, sizeof first, "%d ", fd);
        break;
    case TWO_NAMES:
        peek_text(call, call->arguments[0], first, sizeof first);
        peek_text(call, call->arguments[1], second, sizeof second);
        break;
    default:
        break;
    }
    snprintf(text, size, "%s(%s%s)%s", name, first, second,
             call->thread == call->process ? "" : " in a thread");
    if (!found)
        snprintf(text, size, "call %lu", (unsigned long)call->number);
}
