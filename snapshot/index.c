/* SPDX-License-Identifier: MIT */
#include "snapshot/index.h"

#include "base/clock.h"
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { VERSION = 1, FILE_BYTES_MOST = 1 << 30 };
static const char magic[8] = "cairnidx";

struct stat_sign stat_sign_of(const struct stat *st)
{
    return (struct stat_sign){.device = st->st_dev,
                              .inode = st->st_ino,
                              .size = (uint64_t)st->st_size,
                              .mtime_ns = (uint64_t)timespec_ns(&st->st_mtim),
                              .ctime_ns = (uint64_t)timespec_ns(&st->st_ctim),
                              .mode = st->st_mode};
}

/* ---- Reading ---- */

static struct digest read_digest(struct reader *in)
{
    struct digest digest = {0};
    struct str bytes = read_bytes(in, DIGEST_SIZE);
    if (bytes.len)
        memcpy(digest.bytes, bytes.ptr, DIGEST_SIZE);
    return digest;
}

static bool is_whole(struct str content)
{
    struct digest found, expected;
    if (content.len < DIGEST_SIZE)
        return false;
    memcpy(expected.bytes, content.ptr + content.len - DIGEST_SIZE, DIGEST_SIZE);
    return sha256_of(content.ptr, content.len - DIGEST_SIZE, &found, NULL) == 0 &&
           digest_equal(&found, &expected);
}

static bool read_head(struct index *index)
{
    struct str content = buf_view(&index->bytes);
    if (!is_whole(content))
        return false;
    struct reader in = reader_of(content.ptr, content.len - DIGEST_SIZE);
    struct str found = read_bytes(&in, sizeof magic);
    if (!found.len || memcmp(found.ptr, magic, sizeof magic) != 0 ||
        read_byte(&in) != VERSION)
        return false;
    index->anchor = read_lstr(&in);
    index->began_ns = (int64_t)read_u64(&in);
    index->snapshot = read_digest(&in);
    index->root = read_digest(&in);
    index->block = read_bytes(&in, reader_left(&in));
    return !in.failed;
}

int index_load(const char *path, struct index *out, struct cairn_error *error)
{
    *out = (struct index){.began_ns = 0};
    if (!path)
        return 0;
    int rc = os_read_plain(path, FILE_BYTES_MOST, &out->bytes, NULL);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc || !read_head(out))
        index_release(out);
    return 0;
}

void index_release(struct index *index)
{
    buf_release(&index->bytes);
    *index = (struct index){.began_ns = 0};
}

static void read_sign(struct reader *in, struct index_entry *entry)
{
    entry->has_sign = true;
    entry->sign.device = read_u64(in);
    entry->sign.inode = read_u64(in);
    entry->sign.size = read_u64(in);
    entry->sign.mtime_ns = read_u64(in);
    entry->sign.ctime_ns = read_u64(in);
    entry->sign.mode = read_u32(in);
}

static bool read_entry(struct reader *in, struct index_entry *out)
{
    struct tree_entry *entry = &out->entry;
    const uint8_t *start = in->at;
    entry->name = read_lstr(in);
    entry->kind = read_byte(in);
    switch (entry->kind) {
    case TREE_FILE:
    case TREE_CHUNKED:
        read_sign(in, out);
        entry->mtime_ns = (int64_t)read_u64(in);
        entry->digest = read_digest(in);
        entry->mode = out->sign.mode & TREE_FILE_BITS;
        entry->size = out->sign.size;
        break;
    case TREE_LINK:
        read_sign(in, out);
        entry->target = read_lstr(in);
        break;
    case TREE_DIRECTORY:
        out->block = read_bytes(in, read_u64(in));
        entry->mode = read_u32(in);
        entry->mtime_ns = (int64_t)read_u64(in);
        entry->digest = read_digest(in);
        break;
    case TREE_LEFT_OUT:
        entry->why = read_byte(in);
        break;
    default:
        return false;
    }
    out->as_read = (struct str){(const char *)start, (size_t)(in->at - start)};
    return !in->failed;
}

bool index_entries(struct arena *arena, struct str block, struct index_entry **entries,
                   uint32_t *n)
{
    struct reader in = reader_of(block.ptr, block.len);
    uint32_t count = read_u32(&in);
    *n = 0;
    if (in.failed || count > reader_left(&in))
        return false;
    *entries = arena_take(arena, count, sizeof **entries);
    for (uint32_t i = 0; i < count; i++)
        if (!*entries || !read_entry(&in, &(*entries)[i]))
            return false;
    *n = count;
    return reader_done(&in);
}

/* ---- Writing ---- */

static void set_u32(struct buf *out, size_t at, uint32_t value)
{
    for (unsigned i = 0; i < 4 && !out->failed; i++)
        out->data[at + i] = (char)(value >> 8 * i & 0xff);
}

struct index_place index_begin_block(struct buf *out)
{
    struct index_place place = {out->size, 0};
    buf_u32(out, 0);
    return place;
}

void index_end_block(struct buf *out, const struct index_place *place)
{
    set_u32(out, place->at, place->n);
}

static void put_sign(struct buf *out, const struct stat_sign *sign)
{
    buf_u64(out, sign->device);
    buf_u64(out, sign->inode);
    buf_u64(out, sign->size);
    buf_u64(out, sign->mtime_ns);
    buf_u64(out, sign->ctime_ns);
    buf_u32(out, sign->mode);
}

static void put_name(struct buf *out, struct index_place *place, struct str name,
                     uint8_t kind)
{
    place->n++;
    buf_lstr(out, name);
    buf_byte(out, kind);
}

void index_put(struct buf *out, struct index_place *place,
               const struct index_entry *put)
{
    const struct tree_entry *entry = &put->entry;
    assert(entry->kind != TREE_DIRECTORY);
    put_name(out, place, entry->name, entry->kind);
    if (entry->kind == TREE_LEFT_OUT) {
        buf_byte(out, entry->why);
        return;
    }
    put_sign(out, &put->sign);
    if (entry->kind == TREE_LINK) {
        buf_lstr(out, entry->target);
        return;
    }
    buf_u64(out, (uint64_t)entry->mtime_ns);
    buf_str(out, digest_view(&entry->digest));
}

void index_put_again(struct buf *out, struct index_place *place,
                     const struct index_entry *put)
{
    assert(put->as_read.len && put->entry.kind != TREE_DIRECTORY);
    place->n++;
    buf_str(out, put->as_read);
}

size_t index_begin_directory(struct buf *out, struct index_place *place,
                             struct str name)
{
    put_name(out, place, name, TREE_DIRECTORY);
    size_t at = out->size;
    buf_u64(out, 0);
    return at;
}

void index_end_directory(struct buf *out, size_t at, const struct tree_entry *entry)
{
    uint64_t length = out->size - at - 8;
    set_u32(out, at, (uint32_t)length);
    set_u32(out, at + 4, (uint32_t)(length >> 32));
    buf_u32(out, entry->mode);
    buf_u64(out, (uint64_t)entry->mtime_ns);
    buf_str(out, digest_view(&entry->digest));
}

int index_save(const char *path, const struct index *index, struct cairn_error *error)
{
    struct buf out = BUF_INIT;
    struct digest sum = {0};
    buf_add(&out, magic, sizeof magic);
    buf_byte(&out, VERSION);
    buf_lstr(&out, index->anchor);
    buf_u64(&out, (uint64_t)index->began_ns);
    buf_str(&out, digest_view(&index->snapshot));
    buf_str(&out, digest_view(&index->root));
    buf_str(&out, index->block);
    int rc = buf_check(&out, error) ?: sha256_of(out.data, out.size, &sum, error);
    buf_str(&out, digest_view(&sum));
    if (!rc)
        rc = buf_check(&out, error)
                 ?: os_replace_file(path, 0600, buf_view(&out), error);
    buf_release(&out);
    return rc;
}
