/* SPDX-License-Identifier: MIT */
/* Output files of attempts.
 *
 * Every attempt that finds a file with content gets a new one: what an earlier attempt
 * left running keeps writing into its own, deleted file (one that has written nothing
 * by then writes into the log of a later attempt: a server needs a file of its own). A
 * file is only appended to, so its tail is never before the tail that was seen while it
 * grew, and what trimming gives back is never wanted again. */
#include "process/capture.h"

#include "base/os.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HOLE_ALIGN = 4096, /* only whole blocks are given back */
    RESERVE = 128 << 10,
    STREAMS = 2
};

static struct live_name stream_of_slot(uint64_t run, uint32_t slot, int stream)
{
    assert(stream == 0 || stream == 1);
    return live_of_slot(stream ? LIVE_SLOT_ERR : LIVE_SLOT_OUT, run, slot);
}

static struct live_name stream_of_attempt(const struct attempt_id *id, int stream)
{
    assert(stream == 0 || stream == 1);
    return live_of_attempt(stream ? LIVE_ERR : LIVE_OUT, id);
}

/* A new, empty file in place of what was there. The descriptor or a code. */
static int open_path(const char *path, struct cairn_error *error)
{
    if (unlink(path) && errno != ENOENT)
        return error_sys(error, errno, "%s", path);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_sys(error, errno, "%s", path);
    /* As long as anybody has it open, in whatever PID namespace (capture_in_use). */
    (void)fcntl(fd, F_OFD_SETLK, &all);
    return fd;
}

static int open_new(const char *live_dir, uint64_t run, uint32_t slot, int stream,
                    struct cairn_error *error)
{
    char path[LIVE_PATH];
    live_path(path, sizeof path, live_dir, stream_of_slot(run, slot, stream));
    return open_path(path, error);
}

int capture_open(struct capture *capture, const char *live_dir, uint64_t run,
                 uint32_t slot, struct cairn_error *error)
{
    char path[LIVE_PATH];
    /* Of an owner that was killed, it would be taken for one of ours. */
    live_path(path, sizeof path, live_dir, stream_of_slot(run, slot, 1));
    if (unlink(path) && errno != ENOENT)
        return error_sys(error, errno, "%s", path);
    int fd = open_new(live_dir, run, slot, 0, error);
    if (fd < 0)
        return fd;
    *capture = (struct capture){.fd = {fd, -1}};
    return 0;
}

static int open_unnamed(struct cairn_error *error)
{
    int fd = memfd_create("output of a task", MFD_CLOEXEC);
    if (fd >= 0 && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return fd;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    return error_sys(error, saved, "cannot keep the output of a task in memory");
}

bool capture_in_use(const char *live_dir, uint64_t run)
{
    const struct dirent *entry;
    bool used = false;
    DIR *dir = opendir(live_dir);
    while (dir && !used && (entry = readdir(dir))) {
        struct live_name name;
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (!live_parse(&name, entry->d_name) || name.run != run ||
            (name.kind != LIVE_SLOT_OUT && name.kind != LIVE_SLOT_ERR &&
             name.kind != LIVE_OUT && name.kind != LIVE_ERR))
            continue;
        int fd = openat(dirfd(dir), entry->d_name,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        used = fd >= 0 && fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
    return used;
}

int capture_open_memory(struct capture *capture, struct cairn_error *error)
{
    int fd = open_unnamed(error);
    if (fd < 0)
        return fd;
    *capture = (struct capture){.fd = {fd, -1}, .in_memory = true};
    return 0;
}

int capture_open_apart(struct capture *capture, const char *live_dir, uint64_t run,
                       uint32_t slot, struct cairn_error *error)
{
    if (capture->fd[1] >= 0)
        return 0;
    int fd = capture->in_memory ? open_unnamed(error)
                                : open_new(live_dir, run, slot, 1, error);
    if (fd < 0)
        return fd;
    capture->fd[1] = fd;
    capture->punched[1] = capture->reserved[1] = 0;
    return 0;
}

static void reserve_stream(int fd, uint64_t *reserved)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size + RESERVE / 2 < *reserved)
        return;
    /* Where that cannot be done (EOPNOTSUPP, ENOSPC) all is as without it. */
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, RESERVE) == 0)
        *reserved = (uint64_t)st.st_size + RESERVE;
}

void capture_reserve(struct capture *capture)
{
    for (int i = 0; i < STREAMS && !capture->in_memory; i++)
        reserve_stream(capture->fd[i], &capture->reserved[i]);
}

/* How many bytes were given back. */
static uint64_t trim_stream(struct capture *capture, int stream, uint64_t limit,
                            uint64_t least)
{
    int fd = capture->fd[stream];
    uint64_t *punched = &capture->punched[stream];
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return 0;
    uint64_t size = (uint64_t)st.st_size, head = limit / 2, tail = limit - head;
    if (size < *punched)
        *punched = 0; /* the task truncated its output */
    /* One block more than needed stays at either end. */
    uint64_t begin = (head / HOLE_ALIGN + 1) * HOLE_ALIGN;
    if (begin < *punched)
        begin = *punched;
    if (size < tail + HOLE_ALIGN)
        return 0;
    uint64_t end = (size - tail) / HOLE_ALIGN * HOLE_ALIGN - HOLE_ALIGN;
    if (end < begin || end - begin < least)
        return 0;
    /* A file system that has no holes (EOPNOTSUPP) keeps the middle; nothing is lost.
     */
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)begin,
                  (off_t)(end - begin))) {
        capture->untrimmed = true;
        return 0;
    }
    *punched = end;
    return end - begin;
}

uint64_t capture_trim(struct capture *capture, uint64_t limit, uint64_t least)
{
    uint64_t most = 0;
    for (int i = 0; i < STREAMS; i++) {
        uint64_t n = trim_stream(capture, i, limit, least);
        most = n > most ? n : most;
    }
    return most;
}

/* Appends n bytes from `offset`; fewer if the file has become shorter. */
static int read_part(int fd, uint64_t offset, uint64_t n, struct buf *out,
                     struct cairn_error *error)
{
    char *at = buf_grow(out, (size_t)n);
    if (!at)
        return buf_check(out, error);
    size_t start = out->size - (size_t)n, done = 0;
    while (done < n) {
        ssize_t got = pread(fd, at + done, (size_t)n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_sys(error, errno, "reading the output of a task");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    out->size = start + done;
    out->data[out->size] = 0;
    return 0;
}

/* What was given back of a file, whoever trimmed it: from the beginning of the first
 * hole to the end of the last one. Without one, from `size` to 0. Trimming leaves the
 * first block; what begins before that was made by the task, and is content. */
static void find_holes(int fd, uint64_t size, uint64_t *begin, uint64_t *end)
{
    enum { HOLES_MOST = 64 };
    *begin = size;
    *end = 0;
    off_t hole = size > HOLE_ALIGN ? lseek(fd, 0, SEEK_HOLE) : -1;
    for (int i = 0; i < HOLES_MOST && hole >= HOLE_ALIGN && (uint64_t)hole < size;
         i++) {
        off_t data = lseek(fd, hole, SEEK_DATA);
        *begin = i ? *begin : (uint64_t)hole;
        *end = data < 0 ? size : (uint64_t)data;
        hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    }
}

int capture_extent(int fd, struct capture_kept *kept, struct cairn_error *error)
{
    struct stat st;
    uint64_t after;
    if (fstat(fd, &st))
        return error_sys(error, errno, "reading the output of a task");
    *kept = (struct capture_kept){.bytes = (uint64_t)st.st_size};
    find_holes(fd, kept->bytes, &kept->gap_at, &after);
    kept->gap_bytes = after > kept->gap_at ? after - kept->gap_at : 0;
    return 0;
}

int capture_read(int fd, uint64_t limit, struct captured *out,
                 struct cairn_error *error)
{
    struct captured got = {BUF_INIT, 0, 0};
    struct capture_kept kept;
    int rc = capture_extent(fd, &kept, error);
    if (rc)
        return rc;
    got.bytes = kept.bytes;
    uint64_t after = kept.gap_bytes ? kept.gap_at + kept.gap_bytes : 0;
    uint64_t head = got.bytes, tail = 0;
    if (head > limit || after > 0) {
        head = limit / 2 < kept.gap_at ? limit / 2 : kept.gap_at;
        tail = limit - limit / 2 < got.bytes - after ? limit - limit / 2
                                                     : got.bytes - after;
    }
    rc = head ? read_part(fd, 0, head, &got.content, error) : 0;
    if (!rc && tail)
        rc = read_part(fd, got.bytes - tail, tail, &got.content, error);
    if (rc) {
        buf_release(&got.content);
        return rc;
    }
    got.head = tail ? head : 0;
    if (got.content.size < head + tail && got.content.size <= head) {
        got.head = 0; /* it became shorter meanwhile */
        got.bytes = got.content.size;
    }
    *out = got;
    return 0;
}

int capture_reset(struct capture *capture, const char *live_dir, uint64_t run,
                  uint32_t slot, struct cairn_error *error)
{
    for (int i = 0; i < STREAMS; i++) {
        struct stat st;
        if (capture->fd[i] < 0 && i == 1)
            continue; /* capture_open_apart makes it */
        if (capture->fd[i] >= 0 && !fstat(capture->fd[i], &st) && st.st_size == 0)
            continue;
        int fd = capture->in_memory ? open_unnamed(error)
                                    : open_new(live_dir, run, slot, i, error);
        if (fd < 0)
            return fd;
        if (capture->fd[i] >= 0)
            close(capture->fd[i]);
        capture->fd[i] = fd;
        capture->punched[i] = capture->reserved[i] = 0;
    }
    return 0;
}

bool capture_set_aside(struct capture *capture, const char *live_dir, uint64_t run,
                       uint32_t slot, const struct attempt_id *id, bool all)
{
    bool any = false;
    for (int i = 0; i < STREAMS; i++) {
        struct stat st;
        char from[LIVE_PATH], to[LIVE_PATH];
        if (capture->fd[i] < 0 || fstat(capture->fd[i], &st) ||
            (st.st_size == 0 && !all))
            continue;
        live_path(from, sizeof from, live_dir, stream_of_slot(run, slot, i));
        live_path(to, sizeof to, id->live_dir, stream_of_attempt(id, i));
        if (rename(from, to))
            continue;
        any = true;
        close(capture->fd[i]);
        capture->fd[i] = -1;
    }
    return any;
}

void capture_close(struct capture *capture)
{
    for (int i = 0; i < STREAMS; i++) {
        if (capture->fd[i] >= 0)
            close(capture->fd[i]);
        capture->fd[i] = -1;
    }
}

void capture_remove(const char *live_dir, uint64_t run, uint32_t slot)
{
    for (int i = 0; i < STREAMS; i++) {
        char path[LIVE_PATH];
        live_path(path, sizeof path, live_dir, stream_of_slot(run, slot, i));
        (void)unlink(path);
    }
}

int capture_attempt_create(struct capture *capture, const struct attempt_id *id,
                           bool merged, struct cairn_error *error)
{
    struct capture made = {.fd = {-1, -1}};
    char path[LIVE_PATH];
    for (int i = 0; i < (merged ? 1 : STREAMS); i++) {
        live_path(path, sizeof path, id->live_dir, stream_of_attempt(id, i));
        int fd = open_path(path, error);
        if (fd < 0) {
            capture_close(&made);
            return fd;
        }
        made.fd[i] = fd;
    }
    *capture = made;
    return 0;
}

int capture_attempt_open(struct capture *capture, const struct attempt_id *id,
                         bool merged, struct cairn_error *error)
{
    struct capture made = {.fd = {-1, -1}};
    char path[LIVE_PATH];
    for (int i = 0; i < (merged ? 1 : STREAMS); i++) {
        live_path(path, sizeof path, id->live_dir, stream_of_attempt(id, i));
        made.fd[i] = os_open_plain(path, O_RDWR | O_APPEND);
        if (made.fd[i] < 0 && errno != ENOENT) {
            int sys = errno;
            capture_close(&made);
            return error_sys(error, sys, "%s", path);
        }
    }
    *capture = made;
    return 0;
}

void capture_attempt_remove(const struct attempt_id *id)
{
    char path[LIVE_PATH];
    for (int i = 0; i < STREAMS; i++) {
        live_path(path, sizeof path, id->live_dir, stream_of_attempt(id, i));
        (void)unlink(path);
    }
}

void capture_slot_path(char *out, size_t size, const struct slots *slots, uint32_t slot,
                       const char *live_dir, int stream)
{
    const struct slot *at = &slots->slot[slot];
    struct attempt_id id = {live_dir, slots->run, at->gen, at->task, at->attempt, 0};
    live_path(out, size, live_dir,
              at->flags & SLOT_KEPT ? stream_of_attempt(&id, stream)
                                    : stream_of_slot(slots->run, slot, stream));
}
