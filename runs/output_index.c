/* SPDX-License-Identifier: MIT */
#include "runs/output_index.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/reader.h"
#include "base/sha256.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char magic[8] = {'c', 'a', 'i', 'r', 'n', 'o', 'u', 't'};

enum {
    NAME_BYTES = 16, /* of a result's digest */
    HEAD_BYTES = NAME_BYTES + 4,
    SIGN_BYTES = 33,
    MOST_BYTES = 64 << 20
};

/* ---- Signs ---- */

static void put_u64(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

struct file_sign file_sign_of(const struct stat *st)
{
    struct file_sign sign = {.kind = 'f'};
    put_u64(sign.bytes, (uint64_t)st->st_size);
    put_u64(sign.bytes + 8, (uint64_t)timespec_ns(&st->st_mtim));
    put_u64(sign.bytes + 16, (uint64_t)timespec_ns(&st->st_ctim));
    put_u64(sign.bytes + 24, st->st_ino);
    return sign;
}

struct file_sign output_sign(const struct result_file *file)
{
    struct file_sign sign = {.kind = file->kind};
    if (file->kind == 'd') {
        memcpy(sign.bytes, file->seen.bytes, sizeof sign.bytes);
        return sign;
    }
    put_u64(sign.bytes, file->size);
    put_u64(sign.bytes + 8, (uint64_t)file->mtime_ns);
    put_u64(sign.bytes + 16, (uint64_t)file->ctime_ns);
    put_u64(sign.bytes + 24, file->inode);
    return sign;
}

/* ---- The table ---- */

void output_index_release(struct output_index *index)
{
    buf_release(&index->entries);
    free(index->table);
    *index = (struct output_index){0};
}

static size_t first_place(const struct output_index *index, const void *name)
{
    size_t number;
    memcpy(&number, name, sizeof number); /* of a SHA-256: as good as any hash */
    return number & (index->capacity - 1);
}

/* Where the entry of that name stands, or where it would. */
static uint32_t *find_place(const struct output_index *index, const void *name)
{
    size_t i = first_place(index, name);
    while (index->table[i] &&
           memcmp(index->entries.data + index->table[i], name, NAME_BYTES) != 0)
        i = (i + 1) & (index->capacity - 1);
    return &index->table[i];
}

static bool make_room(struct output_index *index, size_t n)
{
    size_t capacity = index->capacity ? index->capacity : 64;
    while (capacity < 2 * n)
        capacity *= 2;
    if (capacity == index->capacity)
        return true;
    struct output_index wider = *index;
    wider.capacity = capacity;
    wider.table = calloc(capacity, sizeof *wider.table);
    if (!wider.table)
        return false;
    for (size_t i = 0; i < index->capacity; i++)
        if (index->table[i])
            *find_place(&wider, index->entries.data + index->table[i]) =
                index->table[i];
    free(index->table);
    index->table = wider.table;
    index->capacity = capacity;
    return true;
}

/* The entry stands at the end of `entries`; a later one of the same name counts. */
static void note_place(struct output_index *index, size_t at)
{
    uint32_t *place = find_place(index, index->entries.data + at);
    index->n += *place == 0;
    *place = (uint32_t)at;
}

static bool begin_entries(struct output_index *index, size_t bytes)
{
    if (!index->entries.size)
        buf_add(&index->entries, magic, sizeof magic);
    return index->entries.size + bytes <= MOST_BYTES && !index->entries.failed &&
           make_room(index, index->n + 1);
}

void output_index_add(struct output_index *index, const struct digest *result,
                      const struct result_file *outputs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (file_time_is_coarse(&outputs[i]))
            return; /* they are always read */
    if (!n || n > MOST_BYTES / SIGN_BYTES ||
        !begin_entries(index, HEAD_BYTES + (size_t)n * SIGN_BYTES))
        return;
    size_t at = index->entries.size;
    buf_add(&index->entries, result->bytes, NAME_BYTES);
    buf_u32(&index->entries, n);
    for (uint32_t i = 0; i < n; i++) {
        struct file_sign sign = output_sign(&outputs[i]);
        buf_byte(&index->entries, sign.kind);
        buf_add(&index->entries, sign.bytes, sizeof sign.bytes);
    }
    if (index->entries.failed)
        return;
    note_place(index, at);
    index->grown = true;
}

static uint32_t count_at(const struct output_index *index, size_t at)
{
    struct reader in = reader_of(index->entries.data + at + NAME_BYTES, 4);
    return read_u32(&in);
}

bool output_index_find(const struct output_index *index, const struct digest *result,
                       uint32_t n, uint32_t i, struct file_sign *sign)
{
    uint32_t at = index->n ? *find_place(index, result->bytes) : 0;
    if (!at || count_at(index, at) != n)
        return false;
    assert(i < n);
    const char *from = index->entries.data + at + HEAD_BYTES + (size_t)i * SIGN_BYTES;
    sign->kind = (uint8_t)from[0];
    memcpy(sign->bytes, from + 1, sizeof sign->bytes);
    return true;
}

void output_index_copy(struct output_index *index, const struct output_index *from,
                       const struct digest *result)
{
    uint32_t at = from->n ? *find_place(from, result->bytes) : 0;
    size_t bytes = at ? HEAD_BYTES + (size_t)count_at(from, at) * SIGN_BYTES : 0;
    if (!at || !begin_entries(index, bytes))
        return;
    size_t to = index->entries.size;
    buf_add(&index->entries, from->entries.data + at, bytes);
    if (!index->entries.failed)
        note_place(index, to);
}

/* ---- The file ---- */

char *output_index_path(struct cairn_store *store, uint64_t workflow)
{
    char *path;
    if (!store || store_key(store) || !workflow ||
        asprintf(&path, "%s/outputs.%llu", cairn_store_path(store),
                 (unsigned long long)workflow) < 0)
        return NULL;
    return path;
}

/* Whether the bytes before the last 32 have them for their digest. */
static bool is_whole(const struct buf *file)
{
    struct digest digest;
    size_t n = file->size - DIGEST_SIZE;
    return file->size >= sizeof magic + DIGEST_SIZE &&
           memcmp(file->data, magic, sizeof magic) == 0 &&
           sha256_of(file->data, n, &digest, NULL) == 0 &&
           memcmp(file->data + n, digest.bytes, DIGEST_SIZE) == 0;
}

/* Entries from `at` on; false: they are cut off, or there is no memory. */
static bool note_entries(struct output_index *index)
{
    size_t at = sizeof magic;
    while (index->entries.size - at >= HEAD_BYTES) {
        size_t bytes = HEAD_BYTES + (size_t)count_at(index, at) * SIGN_BYTES;
        if (bytes > index->entries.size - at || !make_room(index, index->n + 1))
            return false;
        note_place(index, at);
        at += bytes;
    }
    return at == index->entries.size;
}

void output_index_load(struct output_index *index, const char *path)
{
    output_index_release(index);
    if (os_read_plain(path, MOST_BYTES + DIGEST_SIZE, &index->entries, NULL) == 0 &&
        is_whole(&index->entries)) {
        index->entries.size -= DIGEST_SIZE;
        if (note_entries(index))
            return;
    }
    output_index_release(index);
}

/* Not synced: what is cut off does not have its digest. */
void output_index_save(struct output_index *index, const char *path)
{
    struct digest digest;
    size_t n = index->entries.size;
    if (!n || index->entries.failed ||
        sha256_of(index->entries.data, n, &digest, NULL) != 0)
        return;
    buf_add(&index->entries, digest.bytes, DIGEST_SIZE);
    if (!index->entries.failed &&
        os_replace_file(path, 0600, buf_view(&index->entries), NULL) == 0)
        index->grown = false;
    index->entries.size = n;
}
