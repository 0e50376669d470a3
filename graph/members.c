/* SPDX-License-Identifier: MIT */
/* Members of groups, how their values are shown, and what finishes a foreach key.
 *
 * The values of a RANGE need no map: their index follows from the number. */
#include "graph/members.h"

#include "base/decimal.h"
#include "base/limits.h"

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

uint32_t member_at(const struct task_def *def, uint64_t place)
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

static size_t shown_size(struct str value)
{
    size_t n = 0;
    for (size_t i = 0; i < value.len; i++)
        n += stands_as_it_is(value.ptr[i]) ? 1 : 3;
    return n;
}

void value_shown(struct str value, struct buf *out)
{
    enum { HASH_DIGITS = 12 };
    if (shown_size(value) > LIMIT_VALUE_BYTES) {
        struct digest digest;
        char hex[DIGEST_HEX_SIZE];
        if (sha256_of(value.ptr, value.len, &digest, NULL)) {
            out->failed = true;
            return;
        }
        digest_hex(&digest, hex);
        buf_byte(out, '~');
        buf_add(out, hex, HASH_DIGITS);
        return;
    }
    for (size_t i = 0; i < value.len; i++)
        if (stands_as_it_is(value.ptr[i]))
            buf_byte(out, (uint8_t)value.ptr[i]);
        else
            buf_format(out, "%%%02X", (uint8_t)value.ptr[i]);
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

uint32_t foreach_key_find(const struct foreach_key *key, struct str value)
{
    int64_t from, to, number;
    if (key->source != FOREACH_RANGE)
        return map_get(&key->by_value, value);
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
