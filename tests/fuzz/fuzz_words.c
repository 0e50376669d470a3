/* SPDX-License-Identifier: MIT */
/* The small words of a workflow file: durations, numbers, ranges, names, what a plain
 * scalar is, UTF-8; and names of files in the live directory. Each input is all of
 * them. (There are no times such as "2 hours ago" in cairn.) */
#include "base/utf8.h"
#include "base/words.h"
#include "graph/definition.h"
#include "graph/members.h"
#include "process/live.h"
#include "tests/fuzz/fuzz.h"
#include "workflow/diagnostic.h"
#include "workflow/scalar.h"

#include <inttypes.h>

static void durations(struct str text)
{
    const int64_t most = INT64_C(36500) * 86400000;
    int64_t ms, again;
    char plain[64];
    if (!str_to_duration_ms(text, &ms))
        return;
    HOLDS(ms >= 0 && ms <= most);
    snprintf(plain, sizeof plain, "%" PRId64 "d%" PRId64 "ms", ms / 86400000,
             ms % 86400000);
    HOLDS(str_to_duration_ms(str_of(plain), &again) && again == ms);
}

static void numbers(struct str text)
{
    const char *reads_as = NULL;
    int64_t value, from, to, permille;
    char plain[64];
    enum scalar_type type = scalar_type(text, &reads_as);
    HOLDS(type == SCALAR_TEXT || reads_as);
    if (scalar_to_i64(text, &value)) {
        HOLDS(type == SCALAR_INTEGER);
        snprintf(plain, sizeof plain, "%" PRId64, value);
        HOLDS(str_equal(str_of(plain), text) || value == 0);
    }
    if (text.len && scalar_to_permille(text, &permille))
        HOLDS(permille >= 0 && (type == SCALAR_INTEGER || type == SCALAR_DECIMAL));
    if (foreach_range(text, &from, &to)) {
        snprintf(plain, sizeof plain, "%" PRId64 "..%" PRId64, from, to);
        HOLDS(foreach_range(str_of(plain), &value, &permille));
        HOLDS(value == from && permille == to);
    }
}

static void names(struct str text)
{
    struct buf shown = BUF_INIT;
    char file[256], again[LIVE_NAME];
    struct live_name name;
    HOLDS(!str_is_key(text) || (str_is_env_name(text) && str_is_id(text)));
    value_shown(text, &shown);
    HOLDS(!shown.failed && shown.size <= 3 * text.len + 16);
    HOLDS(utf8_fit(text, text.len / 2) <= text.len / 2);
    snprintf(file, sizeof file, "%.*s", (int)text.len, text.ptr);
    if (live_parse(&name, file)) {
        live_format(again, &name);
        HOLDS(strcmp(again, file) == 0 && live_is_of_run(file, name.run));
    }
    buf_release(&shown);
}

/* Every place of the text lies on a line that is there. */
static void places(struct str text)
{
    struct source source = {.name = "w", .text = text};
    struct position last = source_position(&source, text.len);
    size_t step = 1 + text.len / 16;
    for (size_t at = 0; at < text.len; at += step) {
        struct position here = source_position(&source, at);
        struct str line = source_line(&source, here.line);
        HOLDS(here.line <= last.line && here.column <= text.len + 1);
        HOLDS(!line.ptr ||
              (line.ptr >= text.ptr && line.ptr + line.len <= text.ptr + text.len));
        source_inside(&source, here, text, at, text.len - at < 3 ? 1 : 3);
    }
    HOLDS(!source_line(&source, last.line + 1).ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str text = {copy.ptr, size};
    durations(text);
    numbers(text);
    names(text);
    places(text);
    unfence(&copy);
    return 0;
}
