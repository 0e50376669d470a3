/* SPDX-License-Identifier: MIT */
/* Members of groups, how their values are shown, and what finishes a foreach key.
 *
 * The values of a RANGE need no map: their index follows from the number. */
#include "graph/members.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "base/words.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Members ---- */

uint32_t member_value(const struct task_def *def, uint32_t member, uint32_t key)
{
    assert(key < def->n_foreach && member < def->members);
    uint64_t at = def->n_picked ? def->picked[member] : member;
    for (uint32_t k = def->n_foreach - 1; k > key; k--)
        at /= def->foreach[k].n;
    return (uint32_t)(at % def->foreach[key].n);
}

/* The column that the i-th name is, of *key; UINT32_MAX: it is the key itself. */
static uint32_t place_of_name(const struct task_def *def, uint32_t i, uint32_t *key)
{
    *key = i;
    if (i < def->n_foreach)
        return UINT32_MAX;
    i -= def->n_foreach;
    for (*key = 0; i >= def->foreach[*key].n_columns; ++*key)
        i -= def->foreach[*key].n_columns;
    return i;
}

uint32_t task_def_names(const struct task_def *def)
{
    uint32_t n = def->n_foreach;
    for (uint32_t k = 0; k < def->n_foreach; k++)
        n += def->foreach[k].n_columns;
    return n;
}

struct key_value member_named(const struct task_def *def, uint32_t member, uint32_t i)
{
    uint32_t k, column = place_of_name(def, i, &k);
    const struct foreach_key *key = &def->foreach[k];
    uint32_t value = member_value(def, member, k);
    if (column == UINT32_MAX)
        return (struct key_value){key->name, key->values[value]};
    return (struct key_value){key->columns[column],
                              key->cells[(size_t)value * key->n_columns + column]};
}

uint32_t task_def_name(const struct task_def *def, struct str name)
{
    uint32_t found = task_def_key(def, name), at = def->n_foreach;
    for (uint32_t k = 0; k < def->n_foreach && found == UINT32_MAX; k++)
        for (uint32_t c = 0; c < def->foreach[k].n_columns; c++, at++)
            if (str_equal(def->foreach[k].columns[c], name))
                found = at;
    return found;
}

void member_id(const struct task_def *def, uint32_t member, struct buf *out)
{
    buf_str(out, def->id);
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        const struct foreach_key *key = &def->foreach[k];
        buf_byte(out, k ? ',' : '[');
        buf_str(out, key->name);
        buf_byte(out, '=');
        buf_str(out, key->shown[member_value(def, member, k)]);
    }
    if (def->n_foreach)
        buf_byte(out, ']');
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The member at that place of the product of all values, or UINT32_MAX. */
static uint32_t member_at(const struct task_def *def, uint64_t place)
{
    if (!def->n_picked)
        return place < def->members ? (uint32_t)place : UINT32_MAX;
    const uint64_t *found =
        bsearch(&place, def->picked, def->n_picked, sizeof place, by_place);
    return found ? (uint32_t)(found - def->picked) : UINT32_MAX;
}

uint32_t member_find(const struct task_def *def, const struct str *values)
{
    uint64_t place = 0;
    if (def->members == 0)
        return UINT32_MAX;
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        uint32_t index = foreach_key_find(&def->foreach[k], values[k]);
        if (index == UINT32_MAX)
            return UINT32_MAX;
        place = place * def->foreach[k].n + index;
    }
    return member_at(def, place);
}

/* ---- Values ---- */

static bool stands_as_it_is(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_.+@:/-", c));
}

/* How much of the value stands as it is, or is written as one %XX. */
struct shown_part {
    size_t raw, shown;
};

static struct shown_part next_part(const char *at, const char *end)
{
    uint32_t code = 0;
    if (stands_as_it_is(*at))
        return (struct shown_part){1, 1};
    size_t n = (uint8_t)*at < 0x80 ? 0 : utf8_next(at, end, &code);
    if (n && utf8_is_visible(code))
        return (struct shown_part){n, n};
    return (struct shown_part){1, 3};
}

static size_t shown_size(struct str value)
{
    const char *at = value.ptr, *end = at + value.len;
    size_t n = 0;
    while (at < end) {
        struct shown_part part = next_part(at, end);
        at += part.raw;
        n += part.shown;
    }
    return n;
}

static void show_all(struct str value, struct buf *out)
{
    const char *at = value.ptr, *end = at + value.len;
    while (at < end) {
        struct shown_part part = next_part(at, end);
        if (part.raw == part.shown)
            buf_add(out, at, part.raw);
        else
            buf_format(out, "%%%02X", (uint8_t)*at);
        at += part.raw;
    }
}

enum { HASH_DIGITS = 12, END_BYTES = (LIMIT_VALUE_BYTES - HASH_DIGITS - 2) / 2 };

static int short_hash(struct str value, char hex[DIGEST_HEX_SIZE])
{
    struct digest digest;
    if (sha256_of(value.ptr, value.len, &digest, NULL))
        return CAIRN_ENOMEM;
    digest_hex(&digest, hex);
    hex[HASH_DIGITS] = 0;
    return 0;
}

/* Start and end cut nothing that belongs together. */
static void show_ends(struct str value, const char *hex, struct buf *out)
{
    const char *at = value.ptr, *end = at + value.len;
    size_t left = shown_size(value), used = 0;
    struct shown_part part = next_part(at, end);
    while (used + part.shown <= END_BYTES) {
        used += part.shown;
        at += part.raw;
        part = next_part(at, end);
    }
    show_all((struct str){value.ptr, (size_t)(at - value.ptr)}, out);
    buf_format(out, "~%s~", hex);
    for (left -= used; left > END_BYTES; at += part.raw) {
        part = next_part(at, end);
        left -= part.shown;
    }
    show_all((struct str){at, (size_t)(end - at)}, out);
}

void value_shown(struct str value, struct buf *out)
{
    char hex[DIGEST_HEX_SIZE];
    if (shown_size(value) <= LIMIT_VALUE_BYTES)
        show_all(value, out);
    else if (short_hash(value, hex))
        out->failed = true;
    else
        show_ends(value, hex, out);
}

/* "-12" and the like: what snprintf of an int64 makes, so that every number has one
 * text. */
static bool canonical_i64(struct str text, int64_t *out)
{
    bool negative = text.len > 1 && text.ptr[0] == '-';
    struct str digits = {text.ptr + negative, text.len - negative};
    uint64_t value;
    if (digits.len == 0 || (digits.ptr[0] == '0' && (digits.len > 1 || negative)) ||
        !str_to_u64(digits, &value) || value > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool foreach_range(struct str spec, int64_t *from, int64_t *to)
{
    const char *at = spec.len ? memmem(spec.ptr, spec.len, "..", 2) : NULL;
    if (!at)
        return false;
    size_t dots = (size_t)(at - spec.ptr);
    return canonical_i64((struct str){spec.ptr, dots}, from) &&
           canonical_i64((struct str){spec.ptr + dots + 2, spec.len - dots - 2}, to);
}

static bool percent_digit(char c, unsigned *digit)
{
    const char *all = "0123456789ABCDEF", *at = c ? strchr(all, c) : NULL;
    *digit = at ? (unsigned)(at - all) : 0;
    return at != NULL;
}

/* A value of which every byte that is not a plain letter is written as %XX. */
static uint32_t find_percent(const struct foreach_key *key, struct str value)
{
    char raw[LIMIT_VALUE_BYTES];
    size_t n = 0;
    if (value.len > sizeof raw || !memchr(value.ptr, '%', value.len))
        return MAP_NONE;
    for (size_t i = 0; i < value.len; i++) {
        unsigned high, low;
        raw[n] = value.ptr[i];
        if (value.ptr[i] == '%') {
            if (i + 2 >= value.len || !percent_digit(value.ptr[i + 1], &high) ||
                !percent_digit(value.ptr[i + 2], &low))
                return MAP_NONE;
            raw[n] = (char)(high << 4 | low);
            i += 2;
        }
        n++;
    }
    return map_get(&key->by_value, (struct str){raw, n});
}

/* '~' and the digits of a long value. */
static uint32_t find_hash(const struct foreach_key *key, struct str value)
{
    char hex[DIGEST_HEX_SIZE];
    for (uint32_t i = 0; i < key->n; i++)
        if (key->values[i].len > LIMIT_VALUE_BYTES / 3 &&
            short_hash(key->values[i], hex) == 0 &&
            memcmp(hex, value.ptr + 1, HASH_DIGITS) == 0)
            return i;
    return MAP_NONE;
}

/* As ids had them before UTF-8 stood in them. */
static uint32_t find_older(const struct foreach_key *key, struct str value)
{
    if (!value.len)
        return MAP_NONE;
    if (value.len == HASH_DIGITS + 1 && value.ptr[0] == '~')
        return find_hash(key, value);
    return find_percent(key, value);
}

uint32_t foreach_key_find(const struct foreach_key *key, struct str value)
{
    int64_t from, to, number;
    if (key->source != FOREACH_RANGE) {
        uint32_t found = map_get(&key->by_value, value);
        return found == MAP_NONE ? find_older(key, value) : found;
    }
    if (!foreach_range(key->spec, &from, &to) || !canonical_i64(value, &number) ||
        number < from || number > to)
        return UINT32_MAX;
    return (uint32_t)((uint64_t)number - (uint64_t)from);
}

/* ---- Finishing ---- */

/* key->shown: the values themselves as long as every one stands as it is. */
static int show_values(struct arena *arena, struct foreach_key *key)
{
    struct buf text = BUF_INIT;
    key->shown = key->values;
    if (key->source == FOREACH_RANGE) /* digits stand as they are */
        return arena->failed ? CAIRN_ENOMEM : 0;
    for (uint32_t i = 0; i < key->n && !arena->failed && !text.failed; i++) {
        size_t size = shown_size(key->values[i]);
        if (size == key->values[i].len && size <= LIMIT_VALUE_BYTES)
            continue;
        if (key->shown == key->values) {
            key->shown = arena_take(arena, key->n, sizeof *key->shown);
            if (key->shown)
                memcpy(key->shown, key->values, key->n * sizeof *key->shown);
        }
        buf_clear(&text);
        value_shown(key->values[i], &text);
        if (key->shown)
            key->shown[i] = arena_str(arena, buf_view(&text));
    }
    bool failed = arena->failed || text.failed;
    buf_release(&text);
    if (failed)
        key->shown = NULL;
    return failed ? CAIRN_ENOMEM : 0;
}

/* First all raw values, then what is shown otherwise: a shown text that is another
 * value's raw text would make an id mean two members, so that is a clash too. */
static int map_values(struct foreach_key *key, struct clash *clash)
{
    int added = map_reserve(&key->by_value, key->n);
    for (uint32_t i = 0; i < key->n && added >= 0; i++) {
        added = map_add(&key->by_value, key->values[i], i, &clash->first);
        if (added == 0) {
            clash->second = i;
            clash->same = true;
            return CAIRN_EWORKFLOW;
        }
    }
    for (uint32_t i = 0; key->shown != key->values && i < key->n && added >= 0; i++) {
        if (str_equal(key->shown[i], key->values[i]))
            continue;
        added = map_add(&key->by_value, key->shown[i], i, &clash->first);
        if (added == 0) {
            clash->second = i;
            clash->same = false;
            return CAIRN_EWORKFLOW;
        }
    }
    return added < 0 ? added : 0;
}

int foreach_key_finish(struct arena *arena, struct foreach_key *key,
                       struct clash *clash)
{
    if (key->shown)
        return 0;
    int rc = show_values(arena, key);
    if (!rc && key->source != FOREACH_RANGE)
        rc = map_values(key, clash);
    return rc;
}

static int clash_error(const struct task_def *def, const struct foreach_key *key,
                       const struct clash *clash, struct cairn_error *error)
{
    struct str value = key->shown[clash->second];
    return error_set(error, CAIRN_EWORKFLOW,
                     "task `%.*s`: the values %u and %u of foreach key `%.*s` are %s "
                     "(`%.*s`)",
                     (int)def->id.len, def->id.ptr, clash->first + 1, clash->second + 1,
                     (int)key->name.len, key->name.ptr,
                     clash->same ? "the same" : "the same in ids", (int)value.len,
                     value.ptr);
}

int task_def_finish(struct definition *definition, struct task_def *def,
                    struct cairn_error *error)
{
    uint64_t members = 1;
    bool whole = def->n_picked == 0;
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        struct foreach_key *key = &def->foreach[k];
        struct clash clash = {0};
        int rc = foreach_key_finish(&definition->arena, key, &clash);
        if (rc == CAIRN_EWORKFLOW)
            return clash_error(def, key, &clash, error);
        if (rc)
            return error_nomem(error);
        bool over = __builtin_mul_overflow(members, (uint64_t)key->n, &members);
        if (over || (whole && members > LIMIT_TASKS))
            return error_set(error, CAIRN_ELIMIT,
                             "task `%.*s` has more than %d members", (int)def->id.len,
                             def->id.ptr, LIMIT_TASKS);
    }
    for (uint32_t i = 0; i < def->n_picked; i++)
        if (def->picked[i] >= members || (i && def->picked[i] <= def->picked[i - 1]))
            return error_set(error, CAIRN_EWORKFLOW,
                             "task `%.*s`: its members are not in order",
                             (int)def->id.len, def->id.ptr);
    def->members = whole ? (uint32_t)members : def->n_picked;
    return 0;
}
