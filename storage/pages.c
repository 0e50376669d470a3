/* SPDX-License-Identifier: MIT */
/* Pages from the database file, or from the newest frame of the log that belongs to a
 * commit. SQLite's file format, sections 1.3 and 4.
 *
 * A frame's checksum continues that of the frame before it. Each frame is checked
 * against the checksum stated in the one before it, so that a damaged frame does not
 * make those after it look damaged, too. */
#include "storage/pages.h"

#include "base/memory.h"
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ours have pages of this size (schema.c). */
enum { BLOCK = 64 << 10, DEFAULT_PAGE = 2048 };
enum { WAL_MAGIC = 0x377f0682 }; /* or one more */

static uint32_t little_endian32(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* ---- Reading files as far as they can be read ---- */

/* Blocks that cannot be read are left zero, so that the rest can still be used. */
static int read_blocks(int fd, size_t size, struct buf *out, bool *unreadable,
                       struct cairn_error *error)
{
    assert(fd >= 0);
    char *at = size ? buf_grow(out, size) : NULL;
    if (size && !at)
        return error_nomem(error);
    for (size_t done = 0; done < size;) {
        size_t want = size - done < BLOCK ? size - done : BLOCK;
        ssize_t n = pread(fd, at + done, want, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            *unreadable = *unreadable || n < 0;
            memset(at + done, 0, want);
            n = (ssize_t)want;
        }
        done += (size_t)n;
    }
    return 0;
}

static int read_file(const char *path, struct buf *out, bool *unreadable,
                     struct cairn_error *error)
{
    struct stat st;
    int rc = 0;
    int fd = os_open_plain(path, O_RDONLY);
    /* Only a plain file is read: ENXIO is a socket, ELOOP a symbolic link. */
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENXIO ||
                   errno == ELOOP || errno == EINVAL))
        return 0;
    if (fd < 0)
        return error_sys(error, errno, "cannot read %s", path);
    if (fstat(fd, &st) < 0)
        rc = error_sys(error, errno, "cannot read %s", path);
    else
        rc = read_blocks(fd, (size_t)st.st_size, out, unreadable, error);
    close(fd);
    return rc;
}

static bool good_page_size(size_t size)
{
    return size >= 512 && size <= 65536 && (size & (size - 1)) == 0;
}

/* ---- The log ---- */

struct wal_sums {
    uint32_t a, b;
};

static struct wal_sums add_sums(struct wal_sums s, const uint8_t *at, size_t n,
                                bool big)
{
    assert(n % 8 == 0);
    for (size_t i = 0; i + 8 <= n; i += 8) {
        s.a += (big ? big32(at + i) : little_endian32(at + i)) + s.b;
        s.b += (big ? big32(at + i + 4) : little_endian32(at + i + 4)) + s.a;
    }
    return s;
}

static struct wal_sums stated_sums(const uint8_t *at)
{
    return (struct wal_sums){big32(at), big32(at + 4)};
}

static bool same_sums(struct wal_sums x, struct wal_sums y)
{
    return x.a == y.a && x.b == y.b;
}

static int add_frame(struct wal *wal, const struct wal_frame *frame,
                     struct cairn_error *error)
{
    assert(frame->offset + wal->page_size <= wal->file.size);
    struct wal_frame *frames =
        array_room(wal->frames, wal->n, &wal->room, sizeof *frames);
    if (!frames)
        return error_nomem(error);
    wal->frames = frames;
    wal->frames[wal->n++] = *frame;
    return 0;
}

/* The checksum's byte order is that of the machine which wrote it, and in the magic. */
static void read_header(struct wal *wal, bool *big)
{
    assert(wal->file.size >= WAL_HEADER);
    enum { VERSION = 3007000 };
    const uint8_t *bytes = (const uint8_t *)wal->file.data;
    const struct wal_sums none = {0, 0};
    size_t page_size = big32(bytes + 8);
    *big = false;
    if ((big32(bytes) & ~1u) != WAL_MAGIC || big32(bytes + 4) != VERSION ||
        !good_page_size(page_size))
        return;
    *big = bytes[3] & 1;
    wal->header = same_sums(add_sums(none, bytes, 24, *big), stated_sums(bytes + 24));
    if (wal->header)
        wal->page_size = page_size;
}

/* Frames of an earlier generation have other salts, and so do the zeros with which the
 * log is extended. If the header is damaged, the salts are those of the first frame. */
static int find_frames(struct wal *wal, bool big, struct cairn_error *error)
{
    assert(wal->file.size >= WAL_HEADER + FRAME_HEADER && wal->n == 0);
    const uint8_t *bytes = (const uint8_t *)wal->file.data;
    size_t step = FRAME_HEADER + wal->page_size, ours = 0;
    struct wal_sums before = stated_sums(bytes + 24);
    const uint8_t *salts = bytes + (wal->header ? 16 : WAL_HEADER + 8);
    bool after_ours = true;
    for (size_t at = WAL_HEADER; at + step <= wal->file.size; at += step) {
        const uint8_t *head = bytes + at;
        struct wal_sums found = add_sums(before, head, 8, big);
        found = add_sums(found, head + FRAME_HEADER, wal->page_size, big);
        before = stated_sums(head + 16);
        bool salted = memcmp(head + 8, salts, 8) == 0;
        bool follows = big32(head) && same_sums(found, before);
        /* One whose salts were damaged still follows from the one before it. */
        after_ours = salted || (after_ours && follows);
        struct wal_frame frame = {big32(head), big32(head + 4), at + FRAME_HEADER,
                                  salted && follows, after_ours};
        if (!wal->header && frame.page == 0)
            break;
        int rc = add_frame(wal, &frame, error);
        if (rc)
            return rc;
        if (after_ours)
            ours = wal->n;
    }
    wal->n = ours;
    return 0;
}

/* The end of the transaction that frame `i` is in: one after its commit. Frames that
 * are not ours are skipped: where power failed before one was written, there may be any
 * bytes. */
static size_t end_of(const struct wal *wal, size_t i)
{
    assert(i <= wal->n);
    while (i < wal->n && (wal->frames[i].commit == 0 || !wal->frames[i].ours))
        i++;
    return i < wal->n ? i + 1 : i;
}

/* How many frames from `i` on are not whole. */
static size_t run_of_bad(const struct wal *wal, size_t i)
{
    assert(i <= wal->n);
    size_t n = 0;
    while (i + n < wal->n && !wal->frames[i + n].whole)
        n++;
    return n;
}

/* If transactions were committed after one that is not whole, it was committed, too.
 * But a failed commit leaves frames that a shorter one after it does not overwrite; the
 * checksums of those do not continue each other. */
static bool committed_behind(const struct wal *wal, size_t bad, size_t end)
{
    assert(bad < wal->n && end <= wal->n);
    size_t good = bad + run_of_bad(wal, bad);
    for (size_t i = good; i < wal->n; i++)
        if (!wal->frames[i].whole)
            return false;
    return end < wal->n && good < wal->n;
}

static void judge_frames(struct wal *wal)
{
    assert(wal->committed == 0);
    size_t bad = 0;
    wal->state = wal->n ? WAL_WHOLE : WAL_NONE;
    for (; wal->header && bad < wal->n && wal->frames[bad].whole; bad++)
        if (wal->frames[bad].commit)
            wal->committed = bad + 1;
    if (bad == wal->n)
        return;
    wal->state = WAL_TORN;
    size_t end = end_of(wal, bad);
    if (!committed_behind(wal, bad, end))
        return;
    wal->state = WAL_DAMAGED;
    for (size_t i = end; i < wal->n; i++)
        if (wal->frames[i].commit && wal->frames[i].ours)
            wal->committed = i + 1;
}

static bool any_whole(const struct wal *wal)
{
    size_t i = 0;
    while (i < wal->n && !wal->frames[i].whole)
        i++;
    return i < wal->n;
}

static bool is_zero(const struct buf *buf)
{
    for (size_t i = 0; i < buf->size; i++)
        if (buf->data[i])
            return false;
    return true;
}

/* For a log without a sound header. If its creation was interrupted, there is the
 * beginning of a log, or nothing, or what the disk held there before; but no frames,
 * which are written after the header is synced. */
static enum wal_state judge_headless(const struct wal *wal)
{
    assert(!wal->header);
    if (wal->state == WAL_DAMAGED)
        return WAL_DAMAGED;
    if (!any_whole(wal))
        return WAL_TORN;
    uint32_t begin = big32((const uint8_t *)wal->file.data);
    return begin == 0 || (begin & ~1u) == WAL_MAGIC ? WAL_TORN : WAL_DAMAGED;
}

static int read_wal(struct wal *wal, const char *path, struct cairn_error *error)
{
    bool big;
    int rc = read_file(path, &wal->file, &wal->unreadable, error);
    if (rc || wal->file.size == 0 || is_zero(&wal->file))
        return rc;
    if (wal->file.size >= WAL_HEADER + FRAME_HEADER) {
        read_header(wal, &big);
        rc = find_frames(wal, big, error);
    }
    if (rc)
        return rc;
    judge_frames(wal);
    assert(wal->committed <= wal->n);
    if (!wal->header)
        wal->state = judge_headless(wal);
    return 0;
}

int wal_load(struct wal *wal, const char *path, struct cairn_error *error)
{
    *wal = (struct wal){.page_size = DEFAULT_PAGE};
    int rc = read_wal(wal, path, error);
    if (rc)
        wal_release(wal);
    return rc;
}

void wal_release(struct wal *wal)
{
    buf_release(&wal->file);
    free(wal->frames);
    *wal = (struct wal){0};
}

/* ---- Pages ---- */

static void read_database_header(struct pages *pages)
{
    const uint8_t *bytes = (const uint8_t *)pages->file.data;
    pages->page_size = pages->wal.header ? pages->wal.page_size : DEFAULT_PAGE;
    if (pages->file.size >= 100 && memcmp(bytes, "SQLite format 3", 16) == 0) {
        size_t size = big16(bytes + 16);
        size = size == 1 ? 65536 : size;
        /* The log states it under a checksum. */
        if (good_page_size(size) && !pages->wal.header)
            pages->page_size = size;
    }
    /* Nothing that we make reserves bytes of its pages. */
    pages->usable = pages->page_size;
}

static int find_newest(struct pages *pages, struct cairn_error *error)
{
    assert(good_page_size(pages->page_size) && pages->wal.committed <= pages->wal.n);
    assert(!pages->newest);
    const struct wal *wal = &pages->wal;
    size_t n = pages->file.size / pages->page_size;
    bool fits = wal->page_size == pages->page_size;
    for (size_t i = 0; fits && i < wal->committed; i++)
        if (wal->frames[i].page > n && wal->frames[i].page <= n + wal->committed)
            n = wal->frames[i].page;
    pages->n = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
    pages->newest = calloc((size_t)pages->n + 1, sizeof *pages->newest);
    if (!pages->newest)
        return error_nomem(error);
    for (size_t i = 0; fits && i < wal->committed; i++) {
        uint32_t page = wal->frames[i].page;
        if (page >= 1 && page <= pages->n)
            pages->newest[page] = (uint32_t)i + 1;
    }
    return 0;
}

int pages_load(struct pages *pages, const char *database, const char *wal,
               struct cairn_error *error)
{
    *pages = (struct pages){0};
    bool unreadable = false; /* not needed: such pages are found one by one */
    int rc = read_file(database, &pages->file, &unreadable, error)
                 ?: wal_load(&pages->wal, wal, error);
    if (!rc) {
        read_database_header(pages);
        rc = find_newest(pages, error);
    }
    if (rc)
        pages_release(pages);
    return rc;
}

void pages_release(struct pages *pages)
{
    buf_release(&pages->file);
    wal_release(&pages->wal);
    free(pages->newest);
    *pages = (struct pages){0};
}

const uint8_t *pages_at(const struct pages *pages, uint32_t number)
{
    if (number < 1 || number > pages->n)
        return NULL;
    uint32_t frame = pages->newest[number];
    assert(frame <= pages->wal.committed);
    assert(!frame || pages->wal.page_size == pages->page_size);
    if (frame)
        return (const uint8_t *)pages->wal.file.data +
               pages->wal.frames[frame - 1].offset;
    size_t offset = (size_t)(number - 1) * pages->page_size;
    if (offset + pages->page_size > pages->file.size)
        return NULL;
    return (const uint8_t *)pages->file.data + offset;
}
