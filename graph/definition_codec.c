/* SPDX-License-Identifier: MIT */
/* The canonical binary form of a definition; docs/definition-format.md has the same as
 * a table. The fields of a task and their order come from task_fields.c. Numbers are
 * varints (unsigned LEB128), texts are a varint length and bytes, lists a varint count
 * and their items, all in this order:
 *
 *   "CAIRNDEF"  8 bytes
 *   version     the least one that has all of it, at least 2; what is marked [2], [3]
 *               or [4] is not there in those before it, and read as empty
 *   name, file, root
 *   params      list of key, value; sorted by key, no key twice
 *   jobs
 *   on_failure  1 byte: 0 stop, 1 continue, 2 undo [2], 3 cancel [6]
 *   pools       list of name, limit; shared (byte) [7]
 *   undo_scope  1 byte [2]
 *   on_crash    1 byte [2]
 *   deadline_ms [2]
 *   secrets     list of names, sorted, none twice [2]
 *   all_need_all 1 byte [4]; before it, 1 if a task wants a group
 *   tasks       list of what follows; those that were added to a run stand behind the
 *               list, up to the end [7], so that the bytes grow with each of them
 *     id
 *     kind      1 byte: 1 run, 2 exec, 3 call, 4 external [2]
 *     command   run: text, shell (list of texts); exec: argv (list); call: version;
 *               external: text
 *     env       list of key, value; sorted by key
 *     cwd
 *     outputs   list of texts
 *     foreach   list of name, source (1 byte), spec, values (list of texts)
 *     needs     list of text, target, bindings (list of values in the order of the
 *               target's keys; empty: the whole task)
 *     timeout_ms, grace_ms
 *     retries   max, delay_ms, factor_permille, jitter (1 byte), on_exit (list)
 *     pool      index + 1; 0: none
 *     priority  zigzag: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
 *     inputs    list of texts [2]
 *     condition text [2]
 *     when      1 byte [2]
 *     flags     1 byte: 1 once, 2 finally, 4 own params [2]; 8 needs all,
 *               16 stderr apart [4]; 32 may fail, 64 reuse, 128 cutoff [6]
 *     check     text (of a call: name), min_permille, warn_permille [2]
 *     undo      text (of a call: name) [2]
 *     side      shell of check, undo, ready and fallback: list of texts, empty if none
 *               is there [2]
 *     secrets   list of names, sorted, none twice, among the definition's [2]
 *     params    list of names, sorted, none twice, among the definition's [2]
 *     picked    list of places in the product, ascending, each as the distance [3]
 *     open keys a byte for each need: bit k, the target's key k is open [4]
 *     ... and, of versions 5 to 9, as in the document */
#include "graph/definition_codec.h"

#include "graph/definition.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/words.h"

#include <assert.h>
#include <stdlib.h>

/* The start of the binary form. */
#define DEFINITION_MAGIC "CAIRNDEF"

static void put_foreach(struct buf *out, const struct task_def *def)
{
    buf_varint(out, def->n_foreach);
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        const struct foreach_key *key = &def->foreach[k];
        buf_lstr(out, key->name);
        buf_byte(out, key->source);
        buf_lstr(out, key->spec);
        put_texts(out, key->values, key->n);
    }
}

static void put_needs(struct buf *out, const struct task_def *def)
{
    buf_varint(out, def->n_needs);
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct need *need = &def->needs[i];
        buf_lstr(out, need->text);
        buf_varint(out, need->target);
        buf_varint(out, need->n_bindings);
        for (uint32_t k = 0; k < need->n_bindings; k++)
            buf_lstr(out, need->bindings[k].value);
    }
}

/* Each as what it is behind the one before it. */
static void put_picked(struct buf *out, const struct task_def *def)
{
    buf_varint(out, def->n_picked);
    for (uint32_t i = 0; i < def->n_picked; i++)
        buf_varint(out, def->picked[i] - (i ? def->picked[i - 1] + 1 : 0));
}

static void put_open_keys(struct buf *out, const struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_needs; i++)
        buf_byte(out, def->needs[i].open);
}

/* What a need is, beside what is needed. SOFT: since version 6. */
enum { NEED_ORDER = 1, NEED_SOFT = 2 };

static void put_order(struct buf *out, const struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_needs; i++)
        buf_byte(out, (uint8_t)((def->needs[i].order ? NEED_ORDER : 0) |
                                (def->needs[i].soft ? NEED_SOFT : 0)));
}

static void put_columns(struct buf *out, const struct task_def *def)
{
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        const struct foreach_key *key = &def->foreach[k];
        put_texts(out, key->columns, key->n_columns);
        for (size_t i = 0; i < (size_t)key->n * key->n_columns; i++)
            buf_lstr(out, key->cells[i]);
    }
}

static uint64_t zigzag_encoded(int32_t value)
{
    return value < 0 ? (uint64_t)(-(int64_t)value) * 2 - 1 : (uint64_t)value * 2;
}

static void put_codes(struct buf *out, const uint16_t *codes, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_varint(out, codes[i]);
}

/* As every version has it: in one pool, with one place. */
static bool is_in_one_pool(const struct task_def *def)
{
    return def->n_pools == 1 && def->pools[0].places == 1;
}

static void put_pools(struct buf *out, const struct task_def *def)
{
    uint32_t n = is_in_one_pool(def) ? 0 : def->n_pools;
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        buf_varint(out, def->pools[i].pool);
        buf_varint(out, def->pools[i].places);
    }
}

static bool has_flag(const struct task_def *def, const struct task_flag *flag)
{
    return *(const bool *)((const char *)def + flag->at);
}

static void put_flags(struct buf *out, const struct task_def *def)
{
    uint8_t bits = 0;
    for (const struct task_flag *flag = task_flags; flag->bit; flag++)
        bits |= has_flag(def, flag) ? flag->bit : 0;
    buf_byte(out, bits);
}

static void put_field(struct buf *out, const struct task_def *def,
                      const struct task_field *field)
{
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        buf_lstr(out, field_text(field, def));
        break;
    case FIELD_TEXTS:
    case FIELD_SHELL:
    case FIELD_SECRETS:
    case FIELD_PARAMS:
        put_texts(out, field_texts(field, def), field_n(field, def));
        break;
    case FIELD_PAIRS:
        put_pairs(out, field_pairs(field, def), field_n(field, def));
        break;
    case FIELD_BYTE:
        buf_byte(out, field_byte(field, def));
        break;
    case FIELD_BOOL:
        buf_byte(out, *(const bool *)field_at(field, def));
        break;
    case FIELD_FLAGS:
        put_flags(out, def);
        break;
    case FIELD_NUMBER:
    case FIELD_PERMILLE:
        buf_varint(out, field_number(field, def));
        break;
    case FIELD_TIME:
        buf_varint(out, (uint64_t)field_time(field, def));
        break;
    case FIELD_CODES:
        put_codes(out, *(const uint16_t *const *)field_at(field, def),
                  field_n(field, def));
        break;
    case FIELD_POOL: /* index + 1 */
        buf_varint(out, is_in_one_pool(def) ? def->pools[0].pool + 1 : 0);
        break;
    case FIELD_POOLS:
        put_pools(out, def);
        break;
    case FIELD_SIGNED:
        buf_varint(out, zigzag_encoded(*(const int32_t *)field_at(field, def)));
        break;
    case FIELD_FOREACH:
        put_foreach(out, def);
        break;
    case FIELD_NEEDS:
        put_needs(out, def);
        break;
    case FIELD_PICKED:
        put_picked(out, def);
        break;
    case FIELD_OPEN_KEYS:
        put_open_keys(out, def);
        break;
    case FIELD_ORDER:
        put_order(out, def);
        break;
    case FIELD_COLUMNS:
        put_columns(out, def);
        break;
    case FIELD_END:
        break;
    }
}

static void put_task(struct buf *out, const struct task_def *def, unsigned version)
{
    for (const struct task_field *field = task_fields; field->shape; field++)
        if (field->since <= version && field->kinds & 1U << def->kind)
            put_field(out, def, field);
}

/* It is not known any more, and has kept the members that it had. */
static bool list_has_former(const struct foreach_key *key)
{
    return key->source == FOREACH_FROM && key->n > 1;
}

/* A list that is not a value, not that of a single task, or has kept members. */
static bool has_new_list(const struct definition *definition,
                         const struct task_def *def)
{
    struct list_spec spec;
    bool is_new = false;
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        if (!list_spec_of(&def->foreach[k], &spec))
            continue;
        uint32_t maker = map_get(&definition->by_id, spec.task);
        is_new |= spec.form != LIST_VALUE || list_has_former(&def->foreach[k]) ||
                  (maker != MAP_NONE && definition->defs[maker].n_foreach);
    }
    return is_new;
}

/* A sheet that a task makes, or a file of each member of a group. */
static bool has_newest_list(const struct task_def *def)
{
    struct list_spec spec;
    bool is = false;
    for (uint32_t k = 0; k < def->n_foreach && !is; k++)
        is = list_spec_of(&def->foreach[k], &spec) &&
             (list_is_sheet(&spec) || list_is_of_members(&spec));
    return is;
}

/* The least one that has all of it: the bytes of a definition do not change with a
 * version that brings what it does not use. */
static unsigned version_of_task(const struct definition *definition,
                                const struct task_def *def)
{
    bool sheet = false, open = false, order = false, soft = false;
    for (uint32_t k = 0; k < def->n_foreach; k++)
        sheet |= def->foreach[k].source == FOREACH_SHEET;
    for (uint32_t j = 0; j < def->n_needs; j++) {
        open |= def->needs[j].open != 0;
        order |= def->needs[j].order;
        soft |= def->needs[j].soft;
    }
    bool pools = def->n_pools && !is_in_one_pool(def);
    bool newest =
        soft || pools || name_scope(def->id).len || has_new_list(definition, def);
    unsigned version = has_newest_list(def)                       ? 7
                       : newest                                   ? 6
                       : order || sheet || task_def_made_key(def) ? 5
                       : open                                     ? 4
                       : def->n_picked                            ? 3
                                                                  : 2;
    for (const struct task_field *field = task_fields; field->shape; field++)
        if (field->since > version && field->kinds & 1U << def->kind &&
            !field_is_empty(field, def))
            version = field->since;
    for (const struct task_flag *flag = task_flags; flag->bit; flag++)
        if (flag->since > version && has_flag(def, flag))
            version = flag->since;
    return def->kind == TASK_CALL && (def->check.len || def->undo.len) ? 9 : version;
}

static unsigned version_for(const struct definition *definition)
{
    /* Version 4 says what excluded members mean, which was one thing before. */
    bool groups = !definition->all_need_all && definition_wants_groups(definition);
    bool newest = definition->memory || definition->stale || definition->n_added;
    for (uint32_t i = 0; i < definition->n_pools; i++)
        newest |= definition->pools[i].shared;
    unsigned version = newest                                        ? 7
                       : definition->on_failure == ON_FAILURE_CANCEL ? 6
                       : definition->description.len                 ? 5
                       : groups                                      ? 4
                                                                     : 2;
    for (uint32_t i = 0; i < definition->n_defs; i++) {
        unsigned least = version_of_task(definition, &definition->defs[i]);
        version = least > version ? least : version;
    }
    return version;
}

int definition_encode(const struct definition *definition, struct buf *out,
                      struct cairn_error *error)
{
    buf_add(out, DEFINITION_MAGIC, DEFINITION_MAGIC_BYTES);
    unsigned version = version_for(definition);
    buf_varint(out, version);
    buf_lstr(out, definition->name);
    buf_lstr(out, definition->file);
    buf_lstr(out, definition->root);
    put_pairs(out, definition->params, definition->n_params);
    buf_varint(out, definition->jobs);
    buf_byte(out, definition->on_failure);
    buf_varint(out, definition->n_pools);
    for (uint32_t i = 0; i < definition->n_pools; i++) {
        buf_lstr(out, definition->pools[i].name);
        buf_varint(out, definition->pools[i].limit);
        if (version >= 7)
            buf_byte(out, definition->pools[i].shared);
    }
    buf_byte(out, definition->undo_scope);
    buf_byte(out, definition->on_crash);
    buf_varint(out, (uint64_t)definition->deadline_ms);
    put_texts(out, definition->secrets, definition->n_secrets);
    if (version >= 4)
        buf_byte(out, definition->all_need_all);
    if (version >= 5)
        buf_lstr(out, definition->description);
    if (version >= 7) {
        buf_varint(out, definition->memory);
        buf_byte(out, definition->stale);
    }
    buf_varint(out, definition->n_defs - definition->n_added);
    for (uint32_t i = 0; i < definition->n_defs; i++)
        put_task(out, &definition->defs[i], version);
    return buf_check(out, error);
}

int definition_encode_added(const struct definition *definition, uint32_t first,
                            struct buf *out, struct cairn_error *error)
{
    assert(first >= definition->n_defs - definition->n_added);
    for (uint32_t i = first; i < definition->n_defs; i++)
        put_task(out, &definition->defs[i], DEFINITION_VERSION);
    return buf_check(out, error);
}

/* Reading back what definition_codec.c describes and writes. Nothing is trusted: every
 * count is checked against the bytes that are left before anything of that size is
 * allocated, every number against its meaning.
 *
 * Anything wrong sets reader.failed, after which everything reads as zero or empty, so
 * that one check at the end of each loop step is enough. */

struct decoder {
    struct reader reader;
    struct definition *out;
    uint64_t version;
    uint32_t n_defs;        /* how many there will be, or can be */
    struct str shell_bytes; /* of the last shell, which is mostly that of the next */
    struct str *shell;
    uint32_t n_shell;
};

static bool has_failed(const struct decoder *d)
{
    return d->reader.failed || d->out->arena.failed;
}

static void fail_unless(struct decoder *d, bool condition)
{
    if (!condition)
        d->reader.failed = true;
}

static uint64_t get_number(struct decoder *d, uint64_t most)
{
    uint64_t value = read_varint(&d->reader);
    fail_unless(d, value <= most);
    return d->reader.failed ? 0 : value;
}

/* Text becomes ids, arguments, environments and paths: no NUL. */
static struct str get_text(struct decoder *d)
{
    struct str text = read_lstr(&d->reader);
    fail_unless(d, !text.len || !memchr(text.ptr, 0, text.len));
    return arena_str(&d->out->arena, text);
}

/* A count of items that take at least `least` bytes each, and room for them. */
static void *get_list(struct decoder *d, size_t least, size_t size, uint32_t *n)
{
    uint64_t count = get_number(d, reader_left(&d->reader) / least);
    fail_unless(d, count < UINT32_MAX);
    if (d->reader.failed)
        count = 0;
    void *list = arena_take(&d->out->arena, count, size);
    *n = list ? (uint32_t)count : 0;
    return list;
}

static struct str *get_texts(struct decoder *d, uint32_t *n)
{
    struct str *texts = get_list(d, 1, sizeof *texts, n);
    for (uint32_t i = 0; i < *n && !has_failed(d); i++)
        texts[i] = get_text(d);
    return texts;
}

/* Sorted, none twice. */
static struct str *get_names(struct decoder *d, uint32_t *n)
{
    struct str *names = get_texts(d, n);
    for (uint32_t i = 0; i < *n && !has_failed(d); i++) {
        fail_unless(d, names[i].len > 0);
        if (i && !has_failed(d))
            fail_unless(d, str_compare(names[i - 1], names[i]) < 0);
    }
    return names;
}

static struct key_value *get_pairs(struct decoder *d, bool unique, uint32_t *n)
{
    struct key_value *pairs = get_list(d, 2, sizeof *pairs, n);
    for (uint32_t i = 0; i < *n && !has_failed(d); i++) {
        pairs[i].key = get_text(d);
        pairs[i].value = get_text(d);
        fail_unless(d, pairs[i].key.len > 0);
        if (i && !has_failed(d))
            fail_unless(d,
                        str_compare(pairs[i - 1].key, pairs[i].key) < (unique ? 0 : 1));
    }
    return pairs;
}

static struct str *get_shell(struct decoder *d, uint32_t *n)
{
    struct reader *r = &d->reader;
    const char *start = (const char *)r->at;
    size_t len = d->shell_bytes.len;
    if (!r->failed && len && len <= reader_left(r) &&
        memcmp(start, d->shell_bytes.ptr, len) == 0) {
        (void)read_bytes(r, len);
    } else {
        d->shell = get_texts(d, &d->n_shell);
        d->shell_bytes = (struct str){start, (size_t)((const char *)r->at - start)};
    }
    *n = d->n_shell;
    return d->shell;
}

/* The values of a range follow from its spec, and foreach_key_find relies on that. */
static bool values_match(const struct foreach_key *key)
{
    int64_t from, to;
    if (key->source != FOREACH_RANGE)
        return true;
    if (!foreach_range(key->spec, &from, &to))
        return false;
    uint64_t n = to < from ? 0 : (uint64_t)to - (uint64_t)from + 1;
    if (n != key->n)
        return false;
    for (uint32_t i = 0; i < key->n; i++)
        if (foreach_key_find(key, key->values[i]) != i)
            return false;
    return true;
}

static void get_foreach(struct decoder *d, struct task_def *def)
{
    uint32_t n;
    struct foreach_key *keys = get_list(d, 4, sizeof *keys, &n);
    fail_unless(d, n <= LIMIT_FOREACH_KEYS);
    if (has_failed(d))
        return;
    def->foreach = keys;
    for (uint32_t k = 0; k < n && !has_failed(d); k++) {
        struct str name = get_text(d);
        fail_unless(d, str_is_key(name) && task_def_key(def, name) == UINT32_MAX);
        keys[k].name = name;
        keys[k].source = read_byte(&d->reader);
        keys[k].spec = get_text(d);
        keys[k].values = get_texts(d, &keys[k].n);
        fail_unless(d, keys[k].source >= FOREACH_LIST &&
                           keys[k].source <=
                               (d->version < 5 ? FOREACH_LINES : FOREACH_GIVEN));
        struct list_spec list;
        if (!has_failed(d) && foreach_is_made(&keys[k]))
            fail_unless(d, list_spec_read(keys[k].spec, &list) &&
                               (d->version >= 6 || list.form == LIST_VALUE) &&
                               (d->version >= 7 || (!list_is_sheet(&list) &&
                                                    !list_is_of_members(&list))) &&
                               (d->version >= 6 || !list_has_former(&keys[k])) &&
                               (keys[k].source == FOREACH_GIVEN || keys[k].n));
        if (!has_failed(d))
            fail_unless(d, values_match(&keys[k]));
        def->n_foreach = k + 1;
    }
}

static void get_needs(struct decoder *d, struct task_def *def)
{
    uint32_t n;
    struct need *needs = get_list(d, 3, sizeof *needs, &n);
    for (uint32_t i = 0; i < n && !has_failed(d); i++) {
        needs[i].text = get_text(d);
        needs[i].target = (uint32_t)get_number(d, d->n_defs - 1);
        struct key_value *bindings =
            get_list(d, 1, sizeof *bindings, &needs[i].n_bindings);
        for (uint32_t k = 0; k < needs[i].n_bindings && !has_failed(d); k++)
            bindings[k].value = get_text(d);
        needs[i].bindings = needs[i].n_bindings ? bindings : NULL;
    }
    def->needs = needs;
    def->n_needs = n;
}

static void get_picked(struct decoder *d, struct task_def *def)
{
    uint64_t next = 0;
    def->picked = get_list(d, 1, sizeof *def->picked, &def->n_picked);
    fail_unless(d, def->n_picked <= LIMIT_TASKS);
    for (uint32_t i = 0; i < def->n_picked && !has_failed(d); i++) {
        uint64_t more = get_number(d, UINT64_MAX);
        fail_unless(d, !__builtin_add_overflow(next, more, &def->picked[i]) &&
                           def->picked[i] < UINT64_MAX);
        next = def->picked[i] + 1;
    }
}

static void get_open_keys(struct decoder *d, struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_needs && !has_failed(d); i++)
        def->needs[i].open = read_byte(&d->reader);
}

static uint8_t get_byte(struct decoder *d, uint32_t most)
{
    uint8_t byte = read_byte(&d->reader);
    fail_unless(d, byte <= most);
    return d->reader.failed ? 0 : byte;
}

static void get_order(struct decoder *d, struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_needs && !has_failed(d); i++) {
        uint8_t bits =
            get_byte(d, d->version < 6 ? NEED_ORDER : NEED_ORDER | NEED_SOFT);
        def->needs[i].order = bits & NEED_ORDER;
        def->needs[i].soft = bits & NEED_SOFT;
        fail_unless(d, !def->needs[i].soft || def->when == WHEN_SUCCESS);
    }
}

static void get_columns(struct decoder *d, struct task_def *def)
{
    for (uint32_t k = 0; k < def->n_foreach && !has_failed(d); k++) {
        struct foreach_key *key = &def->foreach[k];
        key->columns = get_texts(d, &key->n_columns);
        struct list_spec list;
        fail_unless(d, !key->n_columns || key->source == FOREACH_SHEET ||
                           (list_spec_of(key, &list) && list_is_sheet(&list)));
        for (uint32_t c = 0; c < key->n_columns && !has_failed(d); c++) {
            fail_unless(d, str_is_key(key->columns[c]));
            for (uint32_t i = 0; i < c && !d->reader.failed; i++)
                fail_unless(d, !str_equal(key->columns[i], key->columns[c]));
            if (!has_failed(d))
                fail_unless(d, task_def_key(def, key->columns[c]) == UINT32_MAX);
        }
        uint64_t n = (uint64_t)key->n * key->n_columns;
        fail_unless(d, n <= reader_left(&d->reader));
        key->cells =
            has_failed(d) ? NULL : arena_take(&d->out->arena, n, sizeof *key->cells);
        for (uint64_t i = 0; i < n && !has_failed(d); i++)
            key->cells[i] = get_text(d);
    }
}

static uint16_t *get_codes(struct decoder *d, uint32_t most, uint32_t *n)
{
    uint16_t *codes = get_list(d, 1, sizeof *codes, n);
    for (uint32_t i = 0; i < *n && !has_failed(d); i++)
        codes[i] = (uint16_t)get_number(d, most);
    return codes;
}

static int32_t get_signed(struct decoder *d)
{
    uint64_t number = get_number(d, UINT32_MAX);
    int64_t half = (int64_t)(number / 2);
    return (int32_t)(number % 2 ? -half - 1 : half);
}

/* index + 1; 0: none, or as get_pools reads it. */
static void get_pool(struct decoder *d, struct task_def *def)
{
    uint32_t pool = (uint32_t)get_number(d, d->out->n_pools);
    if (has_failed(d) || !pool)
        return;
    def->pools = arena_take(&d->out->arena, 1, sizeof *def->pools);
    def->n_pools = def->pools ? 1 : 0;
    if (def->pools)
        def->pools[0] = (struct pool_use){pool - 1, 1};
}

static void get_pools(struct decoder *d, struct task_def *def)
{
    uint32_t n;
    const struct definition *out = d->out;
    struct pool_use *uses = get_list(d, 2, sizeof *uses, &n);
    fail_unless(d, n <= LIMIT_TASK_POOLS && (!n || !def->n_pools));
    for (uint32_t i = 0; i < n && !has_failed(d); i++) {
        uses[i].pool = (uint32_t)get_number(d, UINT32_MAX);
        uses[i].places = (uint32_t)get_number(d, UINT32_MAX);
        fail_unless(d, uses[i].pool < out->n_pools && uses[i].places > 0 &&
                           (!i || uses[i - 1].pool < uses[i].pool));
        if (!has_failed(d))
            fail_unless(d, uses[i].places <= out->pools[uses[i].pool].limit);
    }
    if (!n || has_failed(d))
        return;
    def->pools = uses;
    def->n_pools = n;
    fail_unless(d, !is_in_one_pool(def));
}

static void get_flags(struct decoder *d, struct task_def *def)
{
    uint8_t bits = read_byte(&d->reader), known = 0;
    for (const struct task_flag *flag = task_flags; flag->bit; flag++) {
        *(bool *)((char *)def + flag->at) = bits & flag->bit;
        known |= flag->since <= d->version ? flag->bit : 0;
    }
    fail_unless(d, (bits & ~known) == 0);
}

/* Names of the workflow's secrets that a task lists. */
static struct str *get_secrets(struct decoder *d, uint32_t *n)
{
    const struct definition *out = d->out;
    struct str *names = get_names(d, n);
    for (uint32_t i = 0; i < *n && !has_failed(d); i++)
        fail_unless(d, names_have(out->secrets, out->n_secrets, names[i]));
    return names;
}

static struct str *get_params(struct decoder *d, uint32_t *n)
{
    struct str *names = get_names(d, n);
    for (uint32_t i = 0; i < *n && !has_failed(d); i++)
        fail_unless(d, definition_param(d->out, STR(""), names[i]) != UINT32_MAX);
    return names;
}

static void get_field(struct decoder *d, struct task_def *def,
                      const struct task_field *field)
{
    void *at = (char *)def + field->at;
    uint32_t *n = (uint32_t *)(void *)((char *)def + field->n_at);
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        *(struct str *)at = get_text(d);
        break;
    case FIELD_TEXTS:
        *(struct str **)at = get_texts(d, n);
        break;
    case FIELD_SHELL:
        *(struct str **)at = get_shell(d, n);
        break;
    case FIELD_SECRETS:
        *(struct str **)at = get_secrets(d, n);
        break;
    case FIELD_PARAMS:
        *(struct str **)at = get_params(d, n);
        break;
    case FIELD_PAIRS:
        *(struct key_value **)at = get_pairs(d, false, n);
        break;
    case FIELD_BYTE:
        *(uint8_t *)at = get_byte(d, field->most);
        break;
    case FIELD_BOOL:
        *(bool *)at = get_byte(d, 1) == 1;
        break;
    case FIELD_FLAGS:
        get_flags(d, def);
        break;
    case FIELD_NUMBER:
    case FIELD_PERMILLE:
        *(uint32_t *)at = (uint32_t)get_number(d, field->most);
        break;
    case FIELD_TIME:
        *(int64_t *)at = (int64_t)get_number(d, INT64_MAX);
        break;
    case FIELD_CODES:
        *(uint16_t **)at = get_codes(d, field->most, n);
        break;
    case FIELD_POOL:
        get_pool(d, def);
        break;
    case FIELD_POOLS:
        get_pools(d, def);
        break;
    case FIELD_SIGNED:
        *(int32_t *)at = get_signed(d);
        break;
    case FIELD_FOREACH:
        get_foreach(d, def);
        break;
    case FIELD_NEEDS:
        get_needs(d, def);
        break;
    case FIELD_PICKED:
        get_picked(d, def);
        break;
    case FIELD_OPEN_KEYS:
        get_open_keys(d, def);
        break;
    case FIELD_ORDER:
        get_order(d, def);
        break;
    case FIELD_COLUMNS:
        get_columns(d, def);
        break;
    case FIELD_END:
        break;
    }
}

/* What the parser refuses, too: the engine relies on it. */
static bool check_service(const struct task_def *def)
{
    return (def->kind == TASK_RUN || def->kind == TASK_EXEC) && !def->finally &&
           !def->once && !def->may_fail && !def->skip_exit && !def->reuse &&
           !def->cutoff && !def->repeat.max && !def->check.len && !def->undo.len &&
           !def->fallback.len && !def->n_inputs && !def->n_outputs &&
           !def->depfile.len && def->when == WHEN_SUCCESS && !def->timeout_ms &&
           !def->n_pools && !def->slots && def->ready_within_ms && def->ready_every_ms;
}

/* Beside a function there is no command: its check and undo are functions, too. */
static bool check_call(const struct decoder *d, const struct task_def *def)
{
    const struct str *names[] = {&def->callback, &def->check, &def->undo};
    bool good = !def->n_secrets && !def->n_side_shell && !def->cwd.len &&
                (d->version >= 9 || (!def->check.len && !def->undo.len));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        good = good && (!names[i]->len || task_id_is_good(*names[i]));
    return good;
}

/* What the fields must be like together. */
static void check_fields(struct decoder *d, const struct task_def *def)
{
    fail_unless(d, def->kind >= TASK_RUN);
    fail_unless(d, def->kind != TASK_RUN || def->n_shell > 0);
    fail_unless(d, def->kind != TASK_EXEC || def->n_argv > 0);
    fail_unless(d, def->kind != TASK_CALL || check_call(d, def));
    fail_unless(d, def->kind != TASK_EXTERNAL ||
                       (d->version >= 2 && def->external.len > 0));
    fail_unless(d, def->check_min_permille <= def->check_warn_permille);
    fail_unless(d, def->check.len > 0 || def->check_warn_permille == 0);
    fail_unless(d,
                def->kind == TASK_CALL ||
                    (def->n_side_shell > 0) == (def->check.len + def->undo.len +
                                                    def->ready.len + def->fallback.len >
                                                0));
    fail_unless(d,
                !def->fallback.len || def->kind == TASK_RUN || def->kind == TASK_EXEC);
    fail_unless(d,
                task_def_is_service(def) ? check_service(def) : !task_def_ports(def));
    fail_unless(d, !def->port || !def->n_ports);
    fail_unless(d, service_ports_are_good(def->ports, def->n_ports));
    fail_unless(d, def->own_params || def->n_params == 0);
    fail_unless(d, !def->reuse || task_def_may_reuse(def));
    fail_unless(d, (def->repeat.until.len > 0) == (def->repeat.max > 0));
    fail_unless(d, def->repeat.max > 0 || def->repeat.delay_ms == 0);
    fail_unless(d, def->repeat.max == 0 || def->kind != TASK_EXTERNAL);
    fail_unless(d, !def->stale || !task_def_is_service(def));
    fail_unless(d, def->slots != 1); /* which is written as 0 */
    fail_unless(d, def->n_artifacts || (!def->artifacts_ms && !def->artifacts_wanted &&
                                        !def->artifacts_when));
    fail_unless(d, !def->reuse_ms || (def->reuse && def->n_outputs));
    fail_unless(d, !def->n_artifacts ||
                       (def->kind != TASK_EXTERNAL && !task_def_is_service(def)));
}

/* A text that the task does not have is empty, not NULL. */
static void get_fields(struct decoder *d, struct task_def *def)
{
    for (const struct task_field *field = task_fields; field->shape; field++)
        if (field->since <= d->version && field->kinds & 1U << def->kind)
            get_field(d, def, field);
        else if (field->shape == FIELD_TEXT)
            *(struct str *)(void *)((char *)def + field->at) = STR("");
    if (!has_failed(d))
        check_fields(d, def);
}

static int get_task(struct decoder *d, uint32_t index)
{
    struct task_def *def = &d->out->defs[index];
    get_fields(d, def);
    fail_unless(d, task_id_is_good(def->id));
    fail_unless(d, d->version >= 6 || !name_scope(def->id).len);
    if (has_failed(d))
        return 0;
    int rc = task_def_finish(d->out, def, NULL);
    if (rc == CAIRN_ENOMEM)
        return rc;
    fail_unless(d, rc == 0);
    int added = map_add(&d->out->by_id, def->id, index, NULL);
    fail_unless(d, added == 1);
    return added < 0 ? added : 0;
}

/* Doubled, so that each append costs what it appends. The former array stays as it was
 * until the arena goes. */
static int reserve_defs(struct definition *d, uint32_t n)
{
    size_t capacity = 2 * d->defs_capacity > n ? 2 * d->defs_capacity : n;
    if (n <= d->defs_capacity)
        return 0;
    struct task_def *defs = arena_take(&d->arena, capacity, sizeof *defs);
    if (!defs)
        return CAIRN_ENOMEM;
    if (d->n_defs)
        memcpy(defs, d->defs, d->n_defs * sizeof *defs);
    d->defs = defs;
    d->defs_capacity = capacity;
    return 0;
}

static int get_tasks(struct decoder *d)
{
    enum { LEAST = 16 }; /* bytes of the shortest task */
    struct definition *out = d->out;
    uint32_t n;
    int rc = 0;
    out->defs = get_list(d, LEAST, sizeof *out->defs, &n);
    fail_unless(d, n <= LIMIT_TASKS);
    if (has_failed(d))
        return 0;
    d->n_defs = d->version >= 7 ? LIMIT_TASKS : n;
    out->defs_capacity = n;
    if (map_reserve(&out->by_id, n))
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < n && !has_failed(d) && !rc; i++) {
        out->n_defs = i + 1;
        rc = get_task(d, i);
    }
    for (; d->version >= 7 && reader_left(&d->reader) && !has_failed(d) && !rc;) {
        fail_unless(d, out->n_defs < LIMIT_TASKS);
        rc = has_failed(d) ? 0 : reserve_defs(out, out->n_defs + 1);
        if (!rc && !has_failed(d))
            rc = get_task(d, out->n_defs++);
        out->n_added++;
    }
    return rc;
}

/* Some keys of a group are open, not all of them, and what is open has no value. */
static void check_open_keys(struct decoder *d, const struct need *need,
                            const struct task_def *target)
{
    uint32_t all = (1U << target->n_foreach) - 1;
    fail_unless(d, (need->open & ~all) == 0 && (!need->open || need->open != all));
    for (uint32_t k = 0; k < need->n_bindings; k++)
        fail_unless(d, !(need->open >> k & 1) || need->bindings[k].value.len == 0);
}

/* Bindings have the shape of their targets, which may come after them. Nothing in
 * `finally` is needed from outside of it, nor needs what is outside. */
static void check_bindings(struct decoder *d, uint32_t first)
{
    struct definition *out = d->out;
    for (uint32_t i = first; i < out->n_defs; i++)
        for (uint32_t j = 0; j < out->defs[i].n_needs; j++) {
            struct need *need = &out->defs[i].needs[j];
            fail_unless(d, need->target < out->n_defs);
            if (has_failed(d))
                return;
            const struct task_def *target = &out->defs[need->target];
            bool whole = need->n_bindings == 0;
            fail_unless(d, whole || need->n_bindings == target->n_foreach);
            fail_unless(d, target->finally == out->defs[i].finally);
            fail_unless(d, !task_def_is_service(target) ||
                               (need->order && !need->soft &&
                                out->defs[i].when == WHEN_SUCCESS &&
                                out->defs[i].kind != TASK_EXTERNAL));
            fail_unless(d, !whole || !need->open);
            if (has_failed(d))
                return;
            check_open_keys(d, need, target);
            for (uint32_t k = 0; k < need->n_bindings; k++)
                need->bindings[k].key = target->foreach[k].name;
        }
}

static void get_policy(struct decoder *d)
{
    struct definition *out = d->out;
    if (d->version < 2)
        return;
    out->undo_scope = read_byte(&d->reader);
    out->on_crash = read_byte(&d->reader);
    out->deadline_ms = (int64_t)get_number(d, INT64_MAX);
    out->secrets = get_names(d, &out->n_secrets);
    if (d->version >= 4)
        out->all_need_all = get_byte(d, 1) == 1;
    out->description = d->version >= 5 ? get_text(d) : STR("");
    out->memory = d->version >= 7 ? (uint32_t)get_number(d, LIMIT_MEMORY_MIB) : 0;
    out->stale = d->version >= 7 ? get_byte(d, ON_STALE_KEEP) : ON_STALE_WARN;
    fail_unless(d, out->undo_scope <= UNDO_ALL && out->on_crash <= ON_CRASH_ADOPT);
    fail_unless(d, out->on_failure == ON_FAILURE_UNDO || out->undo_scope == 0);
    fail_unless(d, out->n_secrets <= LIMIT_SECRETS);
}

static int get_definition(struct decoder *d)
{
    struct definition *out = d->out;
    out->name = get_text(d);
    out->file = get_text(d);
    out->root = get_text(d);
    out->params = get_pairs(d, true, &out->n_params);
    out->jobs = (uint32_t)get_number(d, LIMIT_JOBS);
    out->on_failure = read_byte(&d->reader);
    fail_unless(d, out->on_failure <= (d->version < 2   ? ON_FAILURE_CONTINUE
                                       : d->version < 6 ? ON_FAILURE_UNDO
                                                        : ON_FAILURE_CANCEL));
    out->pools = get_list(d, 2, sizeof *out->pools, &out->n_pools);
    for (uint32_t i = 0; i < out->n_pools && !has_failed(d); i++) {
        out->pools[i].name = get_text(d);
        out->pools[i].limit = (uint32_t)get_number(d, UINT32_MAX);
        out->pools[i].shared = d->version >= 7 && get_byte(d, 1) == 1;
        fail_unless(d, out->pools[i].limit > 0);
    }
    get_policy(d);
    int rc = has_failed(d) ? 0 : get_tasks(d);
    if (!rc && !has_failed(d))
        check_bindings(d, 0);
    if (!rc && !has_failed(d))
        out->all_need_all =
            (d->version < 4 || out->all_need_all) && definition_wants_groups(out);
    return rc;
}

static int get_all(struct decoder *d, struct cairn_error *error)
{
    struct str start = read_bytes(&d->reader, DEFINITION_MAGIC_BYTES);
    d->version = read_varint(&d->reader);
    if (d->reader.failed ||
        memcmp(start.ptr, DEFINITION_MAGIC, DEFINITION_MAGIC_BYTES) != 0)
        return error_set(error, CAIRN_EDAMAGED,
                         "the stored workflow definition is not one");
    if (d->version < 1 || d->version > DEFINITION_VERSION)
        return error_set(error, CAIRN_EDAMAGED,
                         "the stored workflow definition has the unknown version %llu",
                         (unsigned long long)d->version);
    if (get_definition(d) || d->out->arena.failed)
        return error_nomem(error);
    if (!reader_done(&d->reader))
        return error_set(error, CAIRN_EDAMAGED,
                         "the stored workflow definition is damaged");
    return definition_prepare(d->out, 0, error);
}

int definition_decode(struct str bytes, struct definition *out,
                      struct cairn_error *error)
{
    struct decoder decoder = {.reader = reader_of(bytes.ptr, bytes.len), .out = out};
    definition_init(out);
    int rc = get_all(&decoder, error);
    if (rc)
        definition_release(out);
    return rc;
}

/* ---- More tasks ---- */

/* The same task in the numbers of the longer definition. */
static int put_moved(const struct definition *to, const struct definition *from,
                     uint32_t first, uint32_t index, struct buf *out)
{
    struct task_def def = from->defs[index];
    struct need *needs = calloc((size_t)def.n_needs + 1, sizeof *needs);
    uint32_t target = 0;
    if (!needs)
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < def.n_needs && target != MAP_NONE; i++) {
        uint32_t was = def.needs[i].target;
        target = was >= first ? to->n_defs + (was - first)
                              : map_get(&to->by_id, from->defs[was].id);
        needs[i] = def.needs[i];
        needs[i].target = target;
    }
    def.needs = needs;
    bool good = target != MAP_NONE && map_get(&to->by_id, def.id) == MAP_NONE;
    if (good)
        put_task(out, &def, DEFINITION_VERSION);
    free(needs);
    return good ? buf_check(out, NULL) : CAIRN_EWORKFLOW;
}

static int append_tasks(struct definition *to, struct str bytes, uint32_t n,
                        struct cairn_error *error)
{
    uint32_t before = to->n_defs;
    struct decoder d = {.reader = reader_of(bytes.ptr, bytes.len),
                        .out = to,
                        .version = DEFINITION_VERSION,
                        .n_defs = before + n};
    int rc = reserve_defs(to, before + n);
    to->n_added += n;
    for (uint32_t i = before; i < before + n && !rc && !has_failed(&d); i++) {
        to->n_defs = i + 1;
        rc = get_task(&d, i);
    }
    if (!rc && !has_failed(&d))
        check_bindings(&d, before);
    if (rc || has_failed(&d) || !reader_done(&d.reader))
        return error_nomem(error);
    return definition_prepare(to, before, error);
}

int definition_append(struct definition *to, const struct definition *from,
                      uint32_t first, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    uint32_t n = from->n_defs - first;
    int rc = to->n_defs + (uint64_t)n > LIMIT_TASKS ? CAIRN_ELIMIT : 0;
    for (uint32_t i = first; i < from->n_defs && !rc; i++)
        rc = put_moved(to, from, first, i, &bytes);
    if (rc == CAIRN_ENOMEM)
        error_nomem(error);
    else if (rc)
        error_set(error, rc, "the tasks cannot be appended");
    else
        rc = append_tasks(to, buf_view(&bytes), n, error);
    buf_release(&bytes);
    return rc;
}
