/* SPDX-License-Identifier: MIT */
/* Lines of an exported file. What is read of one is written again, and then reads the
 * same. */
#include "session/transfer/line.h"
#include "tests/fuzz/fuzz.h"

static void write_members(const struct line *line, struct buf *out)
{
    line_begin(out, "again");
    for (size_t i = 0; i < line->n; i++) {
        char key[24];
        uint64_t number;
        snprintf(key, sizeof key, "k%zu", i);
        if (line->at[i].is_text) {
            line_text(out, key, line->at[i].value);
        } else {
            struct line one = {.n = 1, .at[0] = line->at[i]};
            one.at[0].key = str_of(key);
            HOLDS(line_get_number(&one, key, &number));
            line_number(out, key, number);
        }
    }
    line_end(out);
}

static void same_members(const struct line *line, const struct line *again)
{
    HOLDS(again->n == line->n + 1);
    for (size_t i = 0; i < line->n; i++) {
        HOLDS(again->at[i + 1].is_text == line->at[i].is_text);
        if (line->at[i].is_text)
            HOLDS(str_equal(again->at[i + 1].value, line->at[i].value));
    }
}

static void read_members(const struct line *line)
{
    struct buf bytes = BUF_INIT;
    struct digest digest;
    uint64_t number;
    int64_t time_ns;
    for (size_t i = 0; i < line->n; i++) {
        struct line one = {.n = 1, .at[0] = line->at[i]};
        one.at[0].key = STR("k");
        buf_clear(&bytes);
        HOLDS(!line_get_bytes(&one, "k", &bytes) || one.at[0].is_text);
        HOLDS(bytes.size <= one.at[0].value.len);
        HOLDS(!line_get_digest(&one, "k", &digest) || one.at[0].value.len == 64);
        HOLDS(!line_get_time(&one, "k", &time_ns) || one.at[0].is_text);
        HOLDS(line_get_number(&one, "k", &number) != one.at[0].is_text);
    }
    buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct line line, again;
    struct buf out = BUF_INIT;
    char *copy = malloc(size + 1); /* of this very size, for the sanitizer */
    char *exact = size ? realloc(copy, size) : copy;
    HOLDS(exact);
    memcpy(exact, data, size);
    if (line_parse(exact, size, &line) && line.n < LINE_MEMBERS_MOST) {
        read_members(&line);
        write_members(&line, &out);
        HOLDS(!out.failed && line_parse(out.data, out.size - 1, &again));
        same_members(&line, &again);
    }
    buf_release(&out);
    free(exact);
    return 0;
}
