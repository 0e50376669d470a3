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
 *   on_failure  1 byte: 0 stop, 1 continue, 2 undo [2]
 *   pools       list of name, limit
 *   undo_scope  1 byte [2]
 *   on_crash    1 byte [2]
 *   deadline_ms [2]
 *   secrets     list of names, sorted, none twice [2]
 *   all_need_all 1 byte [4]; before it, 1 if a task wants a group
 *   tasks       list of
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
 *               16 stderr apart [4]
 *     check     text, min_permille, warn_permille [2]
 *     undo      text [2]
 *     side      shell of check and undo: list of texts, empty if there is neither [2]
 *     secrets   list of names, sorted, none twice, among the definition's [2]
 *     params    list of names, sorted, none twice, among the definition's [2]
 *     picked    list of places in the product, ascending, each as the distance [3]
 *     open keys a byte for each need: bit k, the target's key k is open [4]
 */
#include "graph/definition_codec.h"

#include "graph/task_fields.h"

static void put_texts(struct buf *out, const struct str *texts, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_lstr(out, texts[i]);
}

static void put_pairs(struct buf *out, const struct key_value *pairs, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        buf_lstr(out, pairs[i].key);
        buf_lstr(out, pairs[i].value);
    }
}

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
    case FIELD_INDEX: /* index + 1 */
        buf_varint(out, (uint32_t)(field_number(field, def) + 1));
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

/* The least one that has all of it: the bytes of a definition do not change with a
 * version that brings what it does not use. */
static unsigned version_for(const struct definition *definition)
{
    unsigned version = 2;
    /* Version 4 says what excluded members mean, which was one thing before. */
    if (!definition->all_need_all && definition_wants_groups(definition))
        return DEFINITION_VERSION;
    for (uint32_t i = 0; i < definition->n_defs; i++) {
        const struct task_def *def = &definition->defs[i];
        if (def->n_picked && version < 3)
            version = 3;
        for (uint32_t j = 0; j < def->n_needs; j++)
            if (def->needs[j].open)
                version = DEFINITION_VERSION;
        if (def->needs_all || def->apart)
            version = DEFINITION_VERSION;
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
    }
    buf_byte(out, definition->undo_scope);
    buf_byte(out, definition->on_crash);
    buf_varint(out, (uint64_t)definition->deadline_ms);
    put_texts(out, definition->secrets, definition->n_secrets);
    if (version >= 4)
        buf_byte(out, definition->all_need_all);
    buf_varint(out, definition->n_defs);
    for (uint32_t i = 0; i < definition->n_defs; i++)
        put_task(out, &definition->defs[i], version);
    return buf_check(out, error);
}
