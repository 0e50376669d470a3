/* SPDX-License-Identifier: MIT */
/* Payloads of debug records: the bytes as an image, and put into the two fields of a
 * sound one, so that they reach the decoder. What is taken must be written back as the
 * very same bytes. */
#include "base/utf8.h"
#include "checkpoint/payload.h"
#include "checkpoint/sections.h"
#include "tests/fuzz/fuzz.h"

static void is_text(const char *text, size_t room)
{
    uint32_t code;
    HOLDS(memchr(text, 0, room));
    for (const char *at = text, *end = text + strlen(text); at < end;) {
        size_t n = utf8_next(at, end, &code);
        HOLDS(n > 0);
        at += n;
    }
}

/* As lists show it. */
static void describe(struct str payload)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error error = {0};
    struct sound_record record = {.header = {.namespace_id = NAMESPACE_DEBUG,
                                             .kind = RECORD_FULL,
                                             .stream = 1,
                                             .seq = 1,
                                             .position = 1,
                                             .payload_bytes = (uint32_t)payload.len},
                                  .payload = payload,
                                  .bytes = RECORD_HEADER_BYTES + payload.len};
    HOLDS(sections_kind.describe(&record, &info, &error) == 0);
    is_text(info.message, sizeof info.message);
    is_text(info.tags, sizeof info.tags);
}

static void decode(struct str payload)
{
    struct arena arena = ARENA_INIT;
    struct sections found;
    struct buf again = BUF_INIT;
    struct cairn_error error = {0};
    int code = sections_decode(&arena, payload, &found, &error);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EDAMAGED);
    } else {
        HOLDS(sections_encode(&found, &again, &error) == 0);
        HOLDS(str_equal(buf_view(&again), payload));
        describe(payload);
    }
    /* What it costs is in proportion to what was read. */
    HOLDS(arena.total <= 65536 + 64 * payload.len);
    buf_release(&again);
    arena_release(&arena);
}

/* A byte of the trigger, two for the length of the head, the head, the sections. */
static void decode_fields(struct str bytes)
{
    struct buf payload = BUF_INIT, sections = BUF_INIT;
    struct cairn_error error = {0};
    if (bytes.len < 4)
        return;
    size_t n = (size_t)((uint8_t)bytes.ptr[1] << 8 | (uint8_t)bytes.ptr[2]);
    struct str rest = {bytes.ptr + 3, bytes.len - 3};
    if (n == 0 || n >= rest.len)
        n = (rest.len + 1) / 2;
    buf_str(&sections, (struct str){rest.ptr + n, rest.len - n});
    if (sections.size > 0) {
        HOLDS(payload_sections((uint8_t)bytes.ptr[0], (struct str){rest.ptr, n},
                               &sections, &payload, &error) == 0);
        struct fenced copy = fence(buf_view(&payload));
        decode((struct str){copy.ptr, payload.size});
        unfence(&copy);
    }
    buf_release(&payload);
    buf_release(&sections);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str bytes = {copy.ptr, size};
    decode(bytes);
    decode_fields(bytes);
    unfence(&copy);
    return 0;
}
