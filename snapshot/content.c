/* SPDX-License-Identifier: MIT */
/* The content of files on its way into the pool: in chunks, collected, and put in
 * transactions that are short. */
#include "snapshot/content.h"

#include "snapshot/index.h"

#include "base/clock.h"
#include "base/memory.h"
#include "storage/object.h"
#include "storage/rows_gc.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* ==== Where large content is cut ==== */

/* Harder to fulfil before the usual size, easier after it. The bits are high ones, on
 * which the most bytes before the place have their effect. */
#define MASK_BEFORE (((1ull << 22) - 1) << 42)
#define MASK_AFTER (((1ull << 18) - 1) << 46)

static uint64_t gears[256];

/* splitmix64 (Steele, Lea, Flood, 2014), from 0. */
static void make_gears(void)
{
    uint64_t state = 0;
    for (int i = 0; i < 256; i++) {
        uint64_t z = (state += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        gears[i] = z ^ (z >> 31);
    }
}

size_t chunk_cut(struct str content)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint8_t *bytes = (const uint8_t *)content.ptr;
    size_t most = content.len < CHUNK_MOST ? content.len : CHUNK_MOST;
    size_t usual = most < CHUNK_USUAL ? most : CHUNK_USUAL;
    uint64_t hash = 0;
    pthread_once(&once, make_gears);
    size_t at = CHUNK_LEAST;
    for (; at < usual; at++) {
        hash = (hash << 1) + gears[bytes[at]];
        if (!(hash & MASK_BEFORE))
            return at + 1;
    }
    for (; at < most; at++) {
        hash = (hash << 1) + gears[bytes[at]];
        if (!(hash & MASK_AFTER))
            return at + 1;
    }
    return most;
}

/* ==== What waits to be put ==== */

enum { WAITING_BYTES = 8 << 20, WAITING_MOST = 1024, SLICE_NS = 20000000 };

enum { LITTLE_BYTES = 256 << 10 };

/* In pieces, so that a stop ends it. */
static int wait_for_collector(struct stage *stage, struct cairn_error *error)
{
    enum { PIECE_MS = 200 };
    int rc;
    do
        rc = stage->stop && atomic_load(stage->stop)
                 ? error_set(error, CAIRN_ESTOPPED,
                             "stopped while `cairn gc` was waited for")
                 : store_gc_hold_off(stage->store, PIECE_MS, error);
    while (rc == CAIRN_EBUSY);
    return rc;
}

int stage_begin(struct stage *stage, struct cairn_store *store, enum stage_wait wait,
                const _Atomic uint32_t *stop, struct cairn_error *error)
{
    *stage = (struct stage){.store = store, .sha = sha256_new(), .stop = stop};
    if (!stage->sha)
        return error_nomem(error);
    int rc =
        wait == STAGE_WAITS_LONG
            ? wait_for_collector(stage, error)
            : store_gc_hold_off(store, wait == STAGE_WAITS ? GC_WAIT_MS : 0, error);
    stage->locked = rc == 0;
    return rc;
}

void stage_end(struct stage *stage)
{
    if (stage->locked)
        store_gc_unlock(stage->store);
    sha256_free(stage->sha);
    free(stage->waiting);
    buf_release(&stage->bytes);
    *stage = (struct stage){0};
}

static int put_one(struct stage *stage, const struct staged_content *one,
                   struct cairn_error *error)
{
    struct str content = {stage->bytes.data + one->at, one->len};
    struct digest digest;
    stage->objects++;
    stage->stored_bytes += content.len;
    return one->has_before ? store_put_object_after(stage->store, content, &one->before,
                                                    &digest, error)
                           : store_put_object(stage->store, content, &digest, error);
}

/* At least one of them. */
static int put_slice(struct stage *stage, size_t *next, struct cairn_error *error)
{
    int rc = store_begin(stage->store, -1, error);
    if (rc)
        return rc;
    int64_t since = clock_mono_ns();
    do
        rc = put_one(stage, &stage->waiting[(*next)++], error);
    while (!rc && *next < stage->n && clock_mono_ns() - since < SLICE_NS);
    return store_end(stage->store, rc, error);
}

int stage_flush(struct stage *stage, struct cairn_error *error)
{
    int rc = 0;
    assert(stage->locked);
    for (size_t next = 0; next < stage->n && !rc;)
        rc = put_slice(stage, &next, error);
    stage->n = 0;
    buf_clear(&stage->bytes);
    return rc;
}

bool stage_is_little(const struct stage *stage)
{
    return stage->bytes.size <= LITTLE_BYTES;
}

int stage_put_waiting(struct stage *stage, struct cairn_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < stage->n && !rc; i++)
        rc = put_one(stage, &stage->waiting[i], error);
    if (rc)
        return rc;
    stage->n = 0;
    buf_clear(&stage->bytes);
    return 0;
}

int stage_put(struct stage *stage, struct str content, const struct digest *before,
              struct digest *digest, struct cairn_error *error)
{
    int rc = 0;
    if (stage->stop && atomic_load(stage->stop))
        return error_set(error, CAIRN_ESTOPPED, "stopped");
    if (stage->n &&
        (stage->n >= WAITING_MOST || stage->bytes.size + content.len > WAITING_BYTES))
        rc = stage_flush(stage, error);
    if (rc)
        return rc;
    struct staged_content *waiting =
        array_room(stage->waiting, stage->n, &stage->room, sizeof *waiting);
    if (!waiting)
        return error_nomem(error);
    stage->waiting = waiting;
    struct staged_content *one = &waiting[stage->n];
    *one = (struct staged_content){
        .at = stage->bytes.size, .len = content.len, .has_before = before != NULL};
    if (before)
        one->before = *before;
    buf_str(&stage->bytes, content);
    rc = buf_check(&stage->bytes, error);
    if (rc)
        return rc;
    stage->n++;
    sha256_begin(stage->sha);
    sha256_add(stage->sha, content.ptr, content.len);
    sha256_end(stage->sha, digest);
    return 0;
}

/* ==== One file ==== */

enum { TRIES = 4 };

/* What reading one file ends with, besides errors of ours. */
enum found { FOUND_WHOLE, FOUND_CHANGED, FOUND_RESTLESS, FOUND_UNREADABLE };

/* Up to n bytes, fewer at the end of the file. */
static ssize_t read_most(int fd, char *out, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(fd, out + done, n - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* ---- Large files ---- */

struct cutting {
    struct content_reader *reader;
    struct buf digests;
    struct buf list;
    uint64_t *sizes;
    size_t n, room;
    uint64_t size;
};

static int put_chunk(struct cutting *c, struct str chunk, struct cairn_error *error)
{
    struct digest digest;
    if (c->n == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        uint64_t *sizes = realloc(c->sizes, room * sizeof *sizes);
        if (!sizes)
            return error_nomem(error);
        c->sizes = sizes;
        c->room = room;
    }
    int rc = stage_put(c->reader->stage, chunk, NULL, &digest, error);
    if (rc)
        return rc;
    c->sizes[c->n++] = chunk.len;
    c->size += chunk.len;
    buf_str(&c->digests, digest_view(&digest));
    return buf_check(&c->digests, error);
}

/* The first `have` bytes of the file are in the room. */
static int put_chunks(struct cutting *c, int fd, size_t have, enum found *found,
                      struct cairn_error *error)
{
    char *room = c->reader->room;
    int rc = 0;
    while (!rc && have) {
        size_t n = chunk_cut((struct str){room, have});
        rc = put_chunk(c, (struct str){room, n}, error);
        memmove(room, room + n, have - n);
        have -= n;
        ssize_t more = read_most(fd, room + have, TREE_CHUNK_MOST - have);
        if (more < 0) {
            *found = FOUND_UNREADABLE;
            return rc;
        }
        have += (size_t)more;
    }
    return rc;
}

static int put_large(struct content_reader *reader, int fd, size_t have,
                     const struct digest *before, struct tree_entry *entry,
                     enum found *found, struct cairn_error *error)
{
    struct cutting c = {.reader = reader};
    int rc = put_chunks(&c, fd, have, found, error);
    struct chunk_list list = {buf_view(&c.digests), c.sizes, c.n, c.size};
    if (!rc && *found == FOUND_WHOLE) {
        chunk_list_encode(&list, &c.list);
        rc = buf_check(&c.list, error)
                 ?: stage_put(reader->stage, buf_view(&c.list), before, &entry->digest,
                              error);
        entry->kind = TREE_CHUNKED;
        entry->size = c.size;
    }
    buf_release(&c.digests);
    buf_release(&c.list);
    free(c.sizes);
    return rc;
}

/* ---- One file ---- */

/* A file that was changed a moment ago may be changed again without another time of
 * change: kernels count these in ticks of up to 10 ms, some file systems in seconds. So
 * reading begins when its last change is older than that, and what is written from then
 * on shows. False: it does not come to rest. */
static bool comes_to_rest(int fd, struct stat *st)
{
    for (int i = 0; i < TRIES; i++) {
        if (fstat(fd, st) != 0)
            return false;
        int64_t changed = timespec_ns(&st->st_ctim), now = clock_utc_ns();
        bool coarse = st->st_ctim.tv_nsec == 0 && st->st_mtim.tv_nsec == 0;
        int64_t step = coarse ? 2000000000 : 20000000;
        if (changed > now || changed <= now - step)
            return true;
        int64_t left = step - (now - changed);
        struct timespec pause = {left / 1000000000, left % 1000000000};
        while (nanosleep(&pause, &pause) && errno == EINTR)
            continue;
    }
    return false;
}

/* Writing through a mapping shows in the times when the kernel writes the pages back,
 * within about half a minute: what was changed lately is read twice. (Not a large
 * file.)
 */
static bool reads_the_same(struct content_reader *reader, int fd, const struct stat *st,
                           size_t n, const struct digest *digest)
{
    const int64_t lately_ns = INT64_C(60000000000);
    struct digest again;
    if (timespec_ns(&st->st_mtim) < clock_utc_ns() - lately_ns)
        return true;
    return lseek(fd, 0, SEEK_SET) == 0 &&
           read_most(fd, reader->room, TREE_CHUNK_MOST + 1) == (ssize_t)n &&
           sha256_of(reader->room, n, &again, NULL) == 0 &&
           digest_equal(&again, digest);
}

static int put_open(struct content_reader *reader, int fd, const struct digest *before,
                    struct stat *st, struct tree_entry *entry, enum found *found,
                    struct cairn_error *error)
{
    struct stat after;
    int rc = 0;
    *found = FOUND_UNREADABLE;
    if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
        return 0;
    if (!comes_to_rest(fd, st)) {
        *found = FOUND_RESTLESS;
        return 0;
    }
    ssize_t n = read_most(fd, reader->room, TREE_CHUNK_MOST + 1);
    if (n < 0)
        return 0;
    *found = FOUND_WHOLE;
    entry->kind = TREE_FILE;
    entry->size = (uint64_t)n;
    if (n <= TREE_CHUNK_MOST)
        rc = stage_put(reader->stage, (struct str){reader->room, (size_t)n}, before,
                       &entry->digest, error);
    else
        rc = put_large(reader, fd, (size_t)n, before, entry, found, error);
    if (rc || *found != FOUND_WHOLE)
        return rc;
    if (fstat(fd, &after) != 0)
        *found = FOUND_UNREADABLE;
    struct stat_sign then = stat_sign_of(st), now = stat_sign_of(&after);
    if (*found == FOUND_WHOLE &&
        (!stat_sign_equal(&then, &now) || entry->size != (uint64_t)st->st_size))
        *found = FOUND_CHANGED;
    if (*found == FOUND_WHOLE && entry->kind == TREE_FILE &&
        !reads_the_same(reader, fd, st, (size_t)n, &entry->digest))
        *found = FOUND_CHANGED;
    return 0;
}

int content_put(struct content_reader *reader, int directory, const char *name,
                const struct digest *before, struct stat *st, struct tree_entry *entry,
                struct cairn_error *error)
{
    enum found found = FOUND_CHANGED;
    int rc = 0;
    for (int i = 0; i < TRIES && !rc && found == FOUND_CHANGED; i++) {
        int fd = openat(directory, name,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            return 1;
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
            return error_sys(error, errno, "opening a file");
        if (fd < 0) {
            found = FOUND_UNREADABLE;
            break;
        }
        rc = put_open(reader, fd, before, st, entry, &found, error);
        close(fd);
    }
    entry->mode = st->st_mode & TREE_FILE_BITS;
    entry->mtime_ns = timespec_ns(&st->st_mtim);
    if (rc || found == FOUND_WHOLE)
        return rc;
    *entry = (struct tree_entry){.name = entry->name,
                                 .kind = TREE_LEFT_OUT,
                                 .why = found == FOUND_UNREADABLE ? LEFT_UNREADABLE
                                                                  : LEFT_CHANGING};
    return 0;
}
