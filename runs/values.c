/* SPDX-License-Identifier: MIT */
/* Reading $CAIRN_OUTPUT. Every line is looked at once; all views point into the text
 * until the end, when what counts is copied. Messages quote nothing of the file: it may
 * hold anything, a terminal's escape sequences too. */
#include "runs/values.h"

#include "base/limits.h"
#include "base/reader.h"

#include <stdlib.h>

struct entry {
    struct str key, value;
    bool crlf;      /* the value is several lines that end with CR LF */
    uint32_t order; /* among equal keys the highest one counts */
};

struct lines {
    struct str text;
    size_t at;       /* where the next line begins */
    uint32_t number; /* of the last line */
    bool crlf;       /* the last line ended with CR LF */
};

static bool next_line(struct lines *lines, struct str *line)
{
    if (lines->at == lines->text.len)
        return false;
    const char *start = lines->text.ptr + lines->at;
    size_t left = lines->text.len - lines->at;
    const char *end = memchr(start, '\n', left);
    *line = (struct str){start, end ? (size_t)(end - start) : left};
    lines->at += line->len + (end != NULL);
    lines->number++;
    lines->crlf = end && line->len && end[-1] == '\r';
    line->len -= lines->crlf;
    return true;
}

static size_t key_length(struct str line)
{
    size_t n = 0;
    while (n < line.len) {
        char c = line.ptr[n];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (n == 0 || c < '0' || c > '9'))
            break;
        n++;
    }
    return n;
}

/* The lines up to the one that is `end`, without the last line break. */
static int read_block(struct lines *lines, struct str end, struct str *value,
                      struct cairn_error *error)
{
    uint32_t begun = lines->number;
    size_t start = lines->at, stop = start;
    struct str line;
    if (end.len == 0)
        return error_set(error, CAIRN_EWORKFLOW,
                         "line %u: after << stands the line that ends the value",
                         begun);
    while (next_line(lines, &line)) {
        if (str_equal(line, end)) {
            *value = (struct str){lines->text.ptr + start,
                                  stop > start ? stop - start - 1 : 0};
            return 0;
        }
        stop = lines->at;
    }
    return error_set(error, CAIRN_EWORKFLOW,
                     "line %u: the line that ends this value is missing", begun);
}

static int read_entry(struct lines *lines, struct str line, struct entry *entry,
                      struct cairn_error *error)
{
    size_t n = key_length(line);
    struct str rest = {line.ptr + n, line.len - n};
    entry->key = (struct str){line.ptr, n};
    if (n > LIMIT_NAME_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "line %u: a name of more than %d characters", lines->number,
                         LIMIT_NAME_BYTES);
    if (n && rest.len >= 1 && rest.ptr[0] == '=') {
        entry->value = (struct str){rest.ptr + 1, rest.len - 1};
        entry->crlf = false;
        return 0;
    }
    entry->crlf = lines->crlf;
    if (n && rest.len >= 2 && memcmp(rest.ptr, "<<", 2) == 0)
        return read_block(lines, (struct str){rest.ptr + 2, rest.len - 2},
                          &entry->value, error);
    return error_set(error, CAIRN_EWORKFLOW,
                     "line %u: expected name=value or name<<END; a name has letters, "
                     "digits and _, and does not begin with a digit",
                     lines->number);
}

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = str_compare(x->key, y->key);
    if (order)
        return order;
    return (x->order > y->order) - (x->order < y->order);
}

static int read_entries(struct str text, struct buf *found, struct cairn_error *error)
{
    struct lines lines = {.text = str_without_mark(text)};
    struct entry entry = {.order = 0};
    struct str line;
    int rc = 0;
    while (!rc && next_line(&lines, &line)) {
        if (line.len == 0)
            continue;
        rc = read_entry(&lines, line, &entry, error);
        if (!rc)
            buf_add(found, &entry, sizeof entry);
        entry.order++;
    }
    return rc ? rc : buf_check(found, error);
}

/* Sorts; of equal keys only the last one stays. Returns how many are left. */
static size_t drop_duplicates(struct entry *entries, size_t n)
{
    size_t kept = 0;
    if (n)
        qsort(entries, n, sizeof *entries, by_key);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !str_equal(entries[i].key, entries[i + 1].key))
            entries[kept++] = entries[i];
    return kept;
}

/* Takes the CR from each CR LF, and from the end, where the LF is gone already. */
static void drop_returns(struct str *value)
{
    char *to = (char *)(uintptr_t)value->ptr;
    const char *from = value->ptr, *end = from + value->len;
    for (; from < end; from++)
        if (*from != '\r' || (from + 1 < end && from[1] != '\n'))
            *to++ = *from;
    *to = 0;
    value->len = (size_t)(to - value->ptr);
}

static int copy_entries(struct arena *arena, const struct entry *entries, size_t n,
                        struct key_value **out, struct cairn_error *error)
{
    if (n > LIMIT_VALUES)
        return error_set(error, CAIRN_ELIMIT, "%zu values; at most %d can be set", n,
                         LIMIT_VALUES);
    struct key_value *values = arena_take(arena, n, sizeof *values);
    for (size_t i = 0; values && i < n; i++) {
        values[i].key = arena_str(arena, entries[i].key);
        values[i].value = arena_str(arena, entries[i].value);
        if (entries[i].crlf && values[i].value.len) /* else it is not writable */
            drop_returns(&values[i].value);
    }
    if (arena->failed)
        return error_nomem(error);
    *out = values;
    return 0;
}

static int refuse_nul(struct str text, struct cairn_error *error)
{
    const char *nul = text.len ? memchr(text.ptr, 0, text.len) : NULL;
    uint32_t line = 1;
    if (!nul)
        return 0;
    for (const char *p = text.ptr; p < nul; p++)
        line += *p == '\n';
    return error_set(error, CAIRN_EWORKFLOW, "line %u: a NUL byte", line);
}

int values_parse(struct arena *arena, struct str text, struct key_value **out,
                 uint32_t *n, struct cairn_error *error)
{
    struct buf found = BUF_INIT;
    if (text.len > LIMIT_VALUES_BYTES)
        return error_set(error, CAIRN_ELIMIT, "%zu bytes; at most %d can be set",
                         text.len, LIMIT_VALUES_BYTES);
    int rc = refuse_nul(text, error);
    if (!rc)
        rc = read_entries(text, &found, error);
    if (!rc) {
        struct entry *entries = (void *)found.data;
        size_t kept = drop_duplicates(entries, found.size / sizeof *entries);
        rc = copy_entries(arena, entries, kept, out, error);
        if (!rc)
            *n = (uint32_t)kept;
    }
    buf_release(&found);
    return rc;
}

/* ---- Stored pairs ---- */

bool value_name_is_good(struct str name)
{
    return name.len > 0 && name.len <= LIMIT_NAME_BYTES && key_length(name) == name.len;
}

static bool good_pair(struct str key, struct str value)
{
    return value_name_is_good(key) && !(value.len && memchr(value.ptr, 0, value.len));
}

/* How many there are, or LIMIT_VALUES + 1. */
static uint32_t count_pairs(struct str packed)
{
    struct reader in = reader_of(packed.ptr, packed.len);
    struct str last = STR("");
    uint32_t n = 0;
    while (reader_left(&in) && n <= LIMIT_VALUES) {
        struct str key = read_lstr(&in), value = read_lstr(&in);
        if (in.failed || !good_pair(key, value) || str_compare(last, key) >= 0)
            return LIMIT_VALUES + 1;
        last = key;
        n++;
    }
    return n;
}

int values_unpack(struct arena *arena, struct str packed, struct key_value **out,
                  uint32_t *n, struct cairn_error *error)
{
    struct reader in = reader_of(packed.ptr, packed.len);
    uint32_t count = count_pairs(packed);
    if (count > LIMIT_VALUES)
        return error_set(error, CAIRN_EDAMAGED, "stored values are damaged");
    struct key_value *values = arena_take(arena, count, sizeof *values);
    if (!values)
        return error_nomem(error);
    for (uint32_t i = 0; i < count; i++) {
        values[i].key = read_lstr(&in);
        values[i].value = read_lstr(&in);
    }
    *out = values;
    *n = count;
    return 0;
}

const struct key_value *values_find(const struct key_value *values, uint32_t n,
                                    struct str key)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_compare(values[middle].key, key);
        if (order == 0)
            return &values[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
