/* SPDX-License-Identifier: MIT */
/* The only door to zstd. Each content is one frame that states its size. A frame may be
 * made after a prefix, to whose bytes it then refers as if they had come before; it
 * cannot be read without them. */
#include "storage/pool/pool.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { ZSTD_LEVEL = 3 };

/* Contexts are kept: making one costs more than compressing a small object. */
struct object_codec *object_codec_new(void)
{
    struct object_codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return NULL;
    codec->compress = ZSTD_createCCtx();
    codec->decompress = ZSTD_createDCtx();
    if (codec->compress && codec->decompress)
        return codec;
    object_codec_free(codec);
    return NULL;
}

void object_codec_free(struct object_codec *codec)
{
    if (!codec)
        return;
    ZSTD_freeCCtx(codec->compress);
    ZSTD_freeDCtx(codec->decompress);
    buf_release(&codec->packed);
    buf_release(&codec->delta);
    buf_release(&codec->content);
    buf_release(&codec->bases[0]);
    buf_release(&codec->bases[1]);
    free(codec);
}

void object_release_if_huge(struct buf *buf)
{
    if (buf->capacity > 4 << 20)
        buf_release(buf);
}

/* ---- Writing ---- */

/* The window must reach from the end of the content to the start of the prefix. */
static int window_log(size_t bytes)
{
    int log = 10; /* the least that zstd has */
    const int most = ZSTD_cParam_getBounds(ZSTD_c_windowLog).upperBound;
    while (log < most && (size_t)1 << log < bytes)
        log++;
    return log;
}

/* The tables for a large window may have hundreds of megabytes. */
static void release_tables(struct object_codec *codec)
{
    enum { HUGE_BYTES = 4 << 20 };
    ZSTD_CCtx *fresh = NULL;
    if (ZSTD_sizeof_CCtx(codec->compress) > HUGE_BYTES)
        fresh = ZSTD_createCCtx();
    if (!fresh)
        return;
    ZSTD_freeCCtx(codec->compress);
    codec->compress = fresh;
}

/* The size of the frame, or an error of zstd. */
static size_t compress_after(struct object_codec *codec, struct str content,
                             struct str prefix, char *room, size_t size)
{
    ZSTD_CCtx *c = codec->compress;
    const struct {
        ZSTD_cParameter name;
        int value;
    } wanted[] = {{ZSTD_c_compressionLevel, ZSTD_LEVEL},
                  {ZSTD_c_windowLog, window_log(prefix.len + content.len)},
                  {ZSTD_c_enableLongDistanceMatching, 1}};
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(wanted) && !ZSTD_isError(n); i++)
        n = ZSTD_CCtx_setParameter(c, wanted[i].name, wanted[i].value);
    if (!ZSTD_isError(n))
        n = ZSTD_CCtx_refPrefix(c, prefix.ptr, prefix.len);
    if (!ZSTD_isError(n))
        n = ZSTD_compress2(c, room, size, content.ptr, content.len);
    ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
    release_tables(codec);
    return n;
}

int object_compress(struct object_codec *codec, struct str content, struct str prefix,
                    size_t size, struct buf *room, struct str *packed,
                    struct cairn_error *error)
{
    assert(content.len <= LIMIT_OBJECT_BYTES && size <= content.len);
    *packed = (struct str){NULL, 0};
    if (size < 16) /* a frame has at least 9 bytes of its own */
        return 0;
    buf_clear(room);
    /* No room for more than would be of use: zstd then stops with an error. */
    char *at = buf_grow(room, size - 1);
    if (!at)
        return error_nomem(error);
    size_t n = prefix.len ? compress_after(codec, content, prefix, at, size - 1)
                          : ZSTD_compressCCtx(codec->compress, at, size - 1,
                                              content.ptr, content.len, ZSTD_LEVEL);
    if (!ZSTD_isError(n))
        *packed = (struct str){at, n};
    assert(packed->len < size);
    return 0;
}

/* ---- Reading ---- */

bool object_frame_fits(struct str frame, uint64_t size)
{
    assert(size <= LIMIT_OBJECT_BYTES);
    return ZSTD_getFrameContentSize(frame.ptr, frame.len) == size;
}

int object_decompress(struct object_codec *codec, struct str frame, struct str prefix,
                      char *out, size_t size, struct cairn_error *error)
{
    assert(object_frame_fits(frame, size));
    ZSTD_DCtx *d = codec->decompress;
    size_t n = ZSTD_DCtx_reset(d, ZSTD_reset_session_only);
    if (prefix.len)
        n = ZSTD_DCtx_refPrefix(d, prefix.ptr, prefix.len);
    if (!ZSTD_isError(n))
        n = ZSTD_decompressDCtx(d, out, size, frame.ptr, frame.len);
    if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
        return error_nomem(error);
    return n == size;
}

/* Piece by piece: it may be large, and is in memory already. */
bool object_frame_has(struct object_codec *codec, struct str frame, struct str content)
{
    enum { PIECE_BYTES = 64 << 10 };
    ZSTD_inBuffer in = {frame.ptr, frame.len, 0};
    size_t at = 0, rest = 1;
    if (!object_frame_fits(frame, content.len))
        return false;
    buf_clear(&codec->content);
    char *piece = buf_grow(&codec->content, PIECE_BYTES);
    ZSTD_DCtx_reset(codec->decompress, ZSTD_reset_session_only);
    while (piece && rest) {
        ZSTD_outBuffer out = {piece, PIECE_BYTES, 0};
        rest = ZSTD_decompressStream(codec->decompress, &out, &in);
        if (ZSTD_isError(rest) || (rest && !out.pos) || out.pos > content.len - at ||
            memcmp(content.ptr + at, piece, out.pos) != 0)
            return false;
        at += out.pos;
    }
    return !rest && at == content.len && in.pos == in.size;
}
