/* SPDX-License-Identifier: MIT */
/* Lines of transcripts: what is told of one lies within it, its strings written anew
 * read the same, and no start of an object is an object. */
#include "base/json_scan.h"
#include "session/messages.h"
#include "tests/fuzz/fuzz.h"

static bool lies_in(struct str part, struct str whole)
{
    return part.len == 0 ||
           (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void check_strings(struct str line)
{
    struct json_scan in = json_scan_of(line);
    enum json_token token;
    while ((token = json_next(&in)) != JSON_END && token != JSON_BAD) {
        struct buf plain = BUF_INIT, raw = BUF_INIT, again = BUF_INIT;
        HOLDS(lies_in(in.raw, line) && in.depth <= JSON_DEPTH_MOST);
        if (token != JSON_STRING)
            continue;
        json_unescape(in.raw, &plain);
        json_escape(buf_view(&plain), &raw);
        json_unescape(buf_view(&raw), &again);
        HOLDS(str_equal(buf_view(&plain), buf_view(&again)));
        buf_release(&plain);
        buf_release(&raw);
        buf_release(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct transcript_line line, torn;
    struct buf text = BUF_INIT;
    char *copy = malloc(size + 1); /* of this very size, for the sanitizer */
    char *exact = size ? realloc(copy, size) : copy;
    HOLDS(exact);
    if (size)
        memcpy(exact, data, size);
    struct str whole = {exact, size};
    check_strings(whole);
    transcript_text(whole, &text);
    HOLDS(!text.failed && text.size <= 4 * size + 64);
    if (transcript_read(whole, &line)) {
        HOLDS(lies_in(line.uuid, whole) && lies_in(line.model, whole) &&
              lies_in(line.reply_id, whole));
        HOLDS(line.role >= TRANSCRIPT_USER && line.role <= TRANSCRIPT_OTHER);
        size_t end = size;
        while (end > 0 && strchr(" \t\r\n", exact[end - 1]) && exact[end - 1])
            end--;
        HOLDS(!transcript_read((struct str){exact, end - 1}, &torn));
    }
    buf_release(&text);
    free(exact);
    return 0;
}
