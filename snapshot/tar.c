/* SPDX-License-Identifier: MIT */
#include "snapshot/tar.h"

#include "base/utf8.h"

#include <stdio.h>

/* Places in a ustar block. */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_TIME = 136,
    AT_SUM = 148,
    AT_KIND = 156,
    AT_TARGET = 157,
    AT_MAGIC = 257,
    NAME_BYTES = 100,
    TIME_DIGITS = 11
};
static const uint64_t field_most = UINT64_C(077777777777);

size_t tar_padding(uint64_t size)
{
    return (size_t)(TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

static void put_octal(char *field, int digits, uint64_t value)
{
    for (int i = digits - 1; i >= 0; i--, value /= 8)
        field[i] = (char)('0' + value % 8);
}

static void put_text(char *field, struct str text)
{
    if (text.len)
        memcpy(field, text.ptr, text.len < NAME_BYTES ? text.len : NAME_BYTES);
}

static void put_block(struct buf *out, char kind, struct str name, struct str target,
                      unsigned mode, uint64_t size, uint64_t time)
{
    char block[TAR_BLOCK] = {0};
    unsigned sum = 0;
    put_text(block + AT_NAME, name);
    put_octal(block + AT_MODE, 7, mode);
    put_octal(block + AT_UID, 7, 0);
    put_octal(block + AT_GID, 7, 0);
    put_octal(block + AT_SIZE, TIME_DIGITS, size <= field_most ? size : 0);
    put_octal(block + AT_TIME, TIME_DIGITS, time <= field_most ? time : field_most);
    block[AT_KIND] = kind;
    put_text(block + AT_TARGET, target);
    memcpy(block + AT_MAGIC, "ustar\00000", 8);
    memset(block + AT_SUM, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    put_octal(block + AT_SUM, 6, sum);
    block[AT_SUM + 6] = 0;
    buf_add(out, block, sizeof block);
}

/* ---- What does not fit ---- */

static size_t digits_of(size_t n)
{
    size_t digits = 1;
    while (n >= 10) {
        n /= 10;
        digits++;
    }
    return digits;
}

/* "LENGTH name=value\n", where the length counts itself. */
static void put_record(struct buf *records, const char *name, struct str value)
{
    size_t rest = strlen(name) + value.len + 3, length = rest + digits_of(rest);
    if (rest + digits_of(length) > length)
        length++;
    buf_format(records, "%zu %s=", length, name);
    buf_str(records, value);
    buf_byte(records, '\n');
}

/* Seconds, with a sign, and as many digits behind the point as it takes. */
static void put_time(struct buf *records, int64_t time_ns)
{
    char text[40];
    uint64_t ns = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;
    int n = snprintf(text, sizeof text, "%s%llu.%09llu", time_ns < 0 ? "-" : "",
                     (unsigned long long)(ns / 1000000000),
                     (unsigned long long)(ns % 1000000000));
    while (n > 0 && text[n - 1] == '0')
        n--;
    n -= n > 0 && text[n - 1] == '.';
    put_record(records, "mtime", (struct str){text, (size_t)n});
}

static void put_name(struct buf *records, const char *name, struct str value,
                     bool *binary)
{
    if (value.len <= NAME_BYTES)
        return;
    if (!*binary && !utf8_is_text(value)) {
        put_record(records, "hdrcharset", STR("BINARY"));
        *binary = true;
    }
    put_record(records, name, value);
}

static void put_records(struct buf *out, const struct buf *records)
{
    static const char zeros[TAR_BLOCK];
    if (!records->size)
        return;
    put_block(out, 'x', STR("././@PaxHeader"), STR(""), 0644, records->size, 0);
    buf_str(out, buf_view(records));
    buf_add(out, zeros, tar_padding(records->size));
}

void tar_header(struct buf *out, const struct tar_entry *entry)
{
    struct buf path = BUF_INIT, records = BUF_INIT;
    char size[32];
    bool binary = false, is_whole = entry->mtime_ns % 1000000000 == 0;
    uint64_t seconds =
        entry->mtime_ns < 0 ? 0 : (uint64_t)(entry->mtime_ns / 1000000000);
    buf_str(&path, entry->path);
    if (entry->kind == TAR_DIRECTORY)
        buf_byte(&path, '/');
    put_name(&records, "path", buf_view(&path), &binary);
    put_name(&records, "linkpath", entry->target, &binary);
    if (entry->size > field_most) {
        int n = snprintf(size, sizeof size, "%llu", (unsigned long long)entry->size);
        put_record(&records, "size", (struct str){size, (size_t)n});
    }
    if (!is_whole || entry->mtime_ns < 0 || seconds > field_most)
        put_time(&records, entry->mtime_ns);
    out->failed |= path.failed || records.failed;
    if (!out->failed)
        put_records(out, &records);
    if (!out->failed)
        put_block(out, (char)entry->kind, buf_view(&path), entry->target, entry->mode,
                  entry->size, seconds);
    buf_release(&path);
    buf_release(&records);
}
