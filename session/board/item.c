/* SPDX-License-Identifier: MIT */
/* Decoding trusts nothing: a count counts only as far as the bytes behind it can hold
 * so many, and at the end the item must encode to the very bytes that were read. */
#include "session/board/item.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/words.h"
#include "session/board/beliefs.h"
#include "session/board/confidence.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 1 };

/* ---- The tables ---- */

static const char *name_status(unsigned n)
{
    return hypothesis_status_name((enum hypothesis_status)n);
}

static const char *name_evidence(unsigned n)
{
    return evidence_kind_name((enum evidence_kind)n);
}

static const char *name_dependency(unsigned n)
{
    return dependency_kind_name((enum dependency_kind)n);
}

static const char *name_gap(unsigned n)
{
    return gap_kind_name((enum gap_kind)n);
}

static const char *name_criticality(unsigned n)
{
    return gap_criticality_name((enum gap_criticality)n);
}

static const char *name_gap_status(unsigned n)
{
    return gap_status_name((enum gap_status)n);
}

static const char *name_check_status(unsigned n)
{
    return check_status_name((enum check_status)n);
}

static const char *name_severity(unsigned n)
{
    static const char *const names[] = {NULL, "info", "warning", "critical"};
    return n < COUNT_OF(names) ? names[n] : NULL;
}

static const struct item_field hypothesis_fields[] = {
    {"statement", FIELD_TEXT, true, NULL, 0},
    {"prior", FIELD_NUMBER, true, NULL, 0},
    {"status", FIELD_WORD, true, name_status, 0},
    {"created", FIELD_TIME, true, NULL, 0},
    {"closed", FIELD_TIME, false, NULL, 0},
    {"reason", FIELD_TEXT, false, NULL, 0},
    {"tags", FIELD_TEXTS, false, NULL, 0}};
static const struct item_field evidence_fields[] = {
    {"text", FIELD_TEXT, true, NULL, 0},
    {"hypothesis", FIELD_REF, true, NULL, ITEM_HYPOTHESIS},
    {"kind", FIELD_WORD, true, name_evidence, 0},
    {"strength", FIELD_NUMBER, true, NULL, 0},
    {"source", FIELD_TEXT, false, NULL, 0},
    {"created", FIELD_TIME, true, NULL, 0}};
static const struct item_field belief_fields[] = {
    {"statement", FIELD_TEXT, true, NULL, 0},
    {"confidence", FIELD_NUMBER, true, NULL, 0},
    {"subject", FIELD_TEXT, false, NULL, 0},
    {"claim", FIELD_TEXT, false, NULL, 0},
    {"denied", FIELD_FLAG, false, NULL, 0},
    {"created", FIELD_TIME, true, NULL, 0},
    {"tags", FIELD_TEXTS, false, NULL, 0}};
static const struct item_field dependency_fields[] = {
    {"from", FIELD_REF, true, NULL, ITEM_BELIEF},
    {"to", FIELD_REF, true, NULL, ITEM_BELIEF},
    {"kind", FIELD_WORD, true, name_dependency, 0},
    {"created", FIELD_TIME, true, NULL, 0}};
static const struct item_field gap_fields[] = {
    {"text", FIELD_TEXT, true, NULL, 0},
    {"kind", FIELD_WORD, true, name_gap, 0},
    {"criticality", FIELD_WORD, true, name_criticality, 0},
    {"status", FIELD_WORD, true, name_gap_status, 0},
    {"hypothesis", FIELD_REF, false, NULL, ITEM_HYPOTHESIS},
    {"created", FIELD_TIME, true, NULL, 0},
    {"ended", FIELD_TIME, false, NULL, 0},
    {"resolution", FIELD_TEXT, false, NULL, 0}};
static const struct item_field note_fields[] = {
    {"text", FIELD_TEXT, true, NULL, 0},
    {"severity", FIELD_WORD, false, name_severity, 0},
    {"tags", FIELD_TEXTS, false, NULL, 0},
    {"about", FIELD_REFS, false, NULL, 0},
    {"created", FIELD_TIME, true, NULL, 0}};
static const struct item_field command_fields[] = {
    {"command", FIELD_TEXT, true, NULL, 0},
    {"directory", FIELD_TEXT, true, NULL, 0},
    {"exit_code", FIELD_COUNT, true, NULL, 0},
    {"duration_ms", FIELD_COUNT, true, NULL, 0},
    {"stdout", FIELD_TEXT, false, NULL, 0},
    {"stderr", FIELD_TEXT, false, NULL, 0},
    {"created", FIELD_TIME, true, NULL, 0}};
static const struct item_field check_fields[] = {
    {"text", FIELD_TEXT, true, NULL, 0},
    {"command", FIELD_TEXT, true, NULL, 0},
    {"hypothesis", FIELD_REF, false, NULL, ITEM_HYPOTHESIS},
    {"timeout_ms", FIELD_COUNT, true, NULL, 0},
    {"retries", FIELD_COUNT, true, NULL, 0},
    {"created", FIELD_TIME, true, NULL, 0},
    {"status", FIELD_WORD, true, name_check_status, 0},
    {"output", FIELD_TEXT, false, NULL, 0},
    {"exit_code", FIELD_COUNT, false, NULL, 0},
    {"duration_ms", FIELD_COUNT, false, NULL, 0},
    {"attempts", FIELD_COUNT, false, NULL, 0},
    {"ran", FIELD_TIME, false, NULL, 0}};

#define FIELDS(list) list, sizeof(list) / sizeof(list)[0]
static const struct item_kind_info kinds[ITEM_KINDS_END] = {
    [ITEM_HYPOTHESIS] = {"hypothesis", "h", FIELDS(hypothesis_fields)},
    [ITEM_EVIDENCE] = {"evidence", "e", FIELDS(evidence_fields)},
    [ITEM_BELIEF] = {"belief", "b", FIELDS(belief_fields)},
    [ITEM_DEPENDENCY] = {"dependency", "d", FIELDS(dependency_fields)},
    [ITEM_GAP] = {"gap", "g", FIELDS(gap_fields)},
    [ITEM_NOTE] = {"note", "n", FIELDS(note_fields)},
    [ITEM_COMMAND] = {"command", "c", FIELDS(command_fields)},
    [ITEM_CHECK] = {"check", "v", FIELDS(check_fields)}};
#define FITS(list)                                                     \
    _Static_assert(sizeof(list) / sizeof(list)[0] <= ITEM_FIELDS_MOST, \
                   "an item has room for its fields")
FITS(hypothesis_fields);
FITS(evidence_fields);
FITS(belief_fields);
FITS(dependency_fields);
FITS(gap_fields);
FITS(note_fields);
FITS(command_fields);
FITS(check_fields);

const struct item_kind_info *item_kind_info(uint8_t kind)
{
    return kind > 0 && kind < ITEM_KINDS_END ? &kinds[kind] : NULL;
}

/* ---- Ids ---- */

void item_id(struct item_ref ref, char out[ITEM_ID_MAX])
{
    const struct item_kind_info *info = item_kind_info(ref.kind);
    snprintf(out, ITEM_ID_MAX, "%s%u", info ? info->prefix : "?", ref.n);
}

static uint8_t kind_of_prefix(struct str prefix)
{
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        if (str_equal(prefix, str_of(kinds[kind].prefix)))
            return (uint8_t)kind;
    return 0;
}

int item_id_parse(struct str id, struct item_ref *ref, struct cairn_error *error)
{
    size_t letters = 0;
    uint64_t n = 0;
    while (letters < id.len && (id.ptr[letters] < '0' || id.ptr[letters] > '9'))
        letters++;
    uint8_t kind = kind_of_prefix((struct str){id.ptr, letters});
    struct str digits = {id.ptr + letters, id.len - letters};
    if (!kind || !digits.len || digits.ptr[0] == '0' || !str_to_u64(digits, &n) ||
        n > UINT32_MAX)
        return error_set(
            error, CAIRN_EUSAGE,
            "'%.*s' is not an id of an item; ids are a letter for the kind "
            "and a number, such as h1 for the first hypothesis",
            (int)utf8_fit(id, 80), id.len ? id.ptr : "");
    *ref = (struct item_ref){kind, (uint32_t)n};
    return 0;
}

/* ---- Writing ---- */

static bool is_text(struct str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t code;
    size_t n = 1;
    for (; at < end && n; at += n) {
        n = utf8_next(at, end, &code);
        if (n && code == 0)
            return false;
    }
    return text.len > 0 && n;
}

static bool is_number(double number)
{
    return isfinite(number) && !(number == 0 && signbit(number));
}

static bool is_ref(const struct item_field *field, struct item_ref ref)
{
    return item_kind_info(ref.kind) && ref.n > 0 &&
           (!field->refers || field->refers == ref.kind);
}

static bool is_valid(const struct item_field *field, const struct item_value *value)
{
    switch (field->type) {
    case FIELD_TEXT:
        return is_text(value->text);
    case FIELD_WORD:
        return value->count <= UINT32_MAX && field->word((unsigned)value->count);
    case FIELD_NUMBER:
        return is_number(value->number);
    case FIELD_REF:
        return is_ref(field, value->ref);
    case FIELD_TEXTS:
        for (uint32_t i = 0; i < value->n; i++)
            if (!is_text(value->texts[i]))
                return false;
        return value->n > 0;
    case FIELD_REFS:
        for (uint32_t i = 0; i < value->n; i++)
            if (!is_ref(field, value->refs[i]))
                return false;
        return value->n > 0;
    case FIELD_COUNT:
    case FIELD_TIME:
    case FIELD_FLAG:
        break;
    }
    return true;
}

static void add_ref(struct buf *out, struct item_ref ref)
{
    buf_byte(out, ref.kind);
    buf_varint(out, ref.n);
}

static void add_content(struct buf *out, const struct item_field *field,
                        const struct item_value *value)
{
    uint64_t bits;
    switch (field->type) {
    case FIELD_TEXT:
        buf_str(out, value->text);
        break;
    case FIELD_WORD:
    case FIELD_COUNT:
        buf_varint(out, value->count);
        break;
    case FIELD_NUMBER:
        memcpy(&bits, &value->number, sizeof bits);
        buf_u64(out, bits);
        break;
    case FIELD_TIME:
        buf_u64(out, (uint64_t)value->time_ns);
        break;
    case FIELD_FLAG:
        break;
    case FIELD_REF:
        add_ref(out, value->ref);
        break;
    case FIELD_TEXTS:
        buf_varint(out, value->n);
        for (uint32_t i = 0; i < value->n; i++)
            buf_lstr(out, value->texts[i]);
        break;
    case FIELD_REFS:
        buf_varint(out, value->n);
        for (uint32_t i = 0; i < value->n; i++)
            add_ref(out, value->refs[i]);
        break;
    }
}

static int refuse_field(const struct item_kind_info *info,
                        const struct item_field *field, const char *what,
                        struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE, "the %s of the %s %s", field->name,
                     info->name, what);
}

static int add_fields(const struct item *item, const struct item_kind_info *info,
                      struct buf *out, struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    int rc = 0;
    buf_byte(out, VERSION);
    for (uint32_t i = 1; i <= info->n_fields && !rc; i++) {
        const struct item_field *field = &info->fields[i - 1];
        const struct item_value *value = &item->values[i];
        if (!value->present) {
            rc = field->required ? refuse_field(info, field, "is missing", error) : 0;
            continue;
        }
        if (!is_valid(field, value)) {
            rc = refuse_field(info, field,
                              field->type == FIELD_TEXT || field->type == FIELD_TEXTS
                                  ? "is empty, or no text of UTF-8"
                                  : "is not possible",
                              error);
            continue;
        }
        buf_clear(&content);
        add_content(&content, field, value);
        buf_varint(out, i);
        buf_lstr(out, buf_view(&content));
        rc = buf_check(&content, error);
    }
    buf_release(&content);
    return rc ?: buf_check(out, error);
}

int item_encode(const struct item *item, struct buf *out, struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    size_t before = out->size;
    assert(info);
    int rc = add_fields(item, info, out, error);
    if (!rc && out->size - before > LIMIT_ITEM_BYTES)
        rc = error_set(error, CAIRN_ELIMIT,
                       "a %s of %zu bytes is too long (at most %d): keep the text in a "
                       "file, and name it",
                       info->name, out->size - before, LIMIT_ITEM_BYTES);
    return rc;
}

/* ---- Reading ---- */

struct decoding {
    struct arena *arena;
    struct reader reader; /* of one field's content */
};

static struct item_ref read_ref(struct reader *reader)
{
    uint8_t kind = read_byte(reader);
    uint64_t n = read_varint(reader);
    if (n > UINT32_MAX)
        reader->failed = true;
    return (struct item_ref){kind, (uint32_t)n};
}

/* How many items of at least `least` bytes follow; 0 if there cannot be so many. */
static uint32_t read_count(struct reader *reader, size_t least)
{
    uint64_t n = read_varint(reader);
    if (n > reader_left(reader) / least) {
        reader->failed = true;
        return 0;
    }
    return (uint32_t)n;
}

static void read_texts(struct decoding *d, struct item_value *value)
{
    value->n = read_count(&d->reader, 2);
    value->texts = arena_take(d->arena, value->n, sizeof *value->texts);
    for (uint32_t i = 0; i < value->n && value->texts; i++)
        value->texts[i] = read_lstr(&d->reader);
}

static void read_refs(struct decoding *d, struct item_value *value)
{
    value->n = read_count(&d->reader, 2);
    value->refs = arena_take(d->arena, value->n, sizeof *value->refs);
    for (uint32_t i = 0; i < value->n && value->refs; i++)
        value->refs[i] = read_ref(&d->reader);
}

static void read_content(struct decoding *d, enum field_type type,
                         struct item_value *value)
{
    uint64_t bits;
    value->present = true;
    switch (type) {
    case FIELD_TEXT:
        value->text = read_bytes(&d->reader, reader_left(&d->reader));
        break;
    case FIELD_WORD:
    case FIELD_COUNT:
        value->count = read_varint(&d->reader);
        break;
    case FIELD_NUMBER:
        bits = read_u64(&d->reader);
        memcpy(&value->number, &bits, sizeof bits);
        break;
    case FIELD_TIME:
        value->time_ns = (int64_t)read_u64(&d->reader);
        break;
    case FIELD_FLAG:
        break;
    case FIELD_REF:
        value->ref = read_ref(&d->reader);
        break;
    case FIELD_TEXTS:
        read_texts(d, value);
        break;
    case FIELD_REFS:
        read_refs(d, value);
        break;
    }
}

static int refuse_body(struct item_ref id, struct cairn_error *error)
{
    char text[ITEM_ID_MAX];
    item_id(id, text);
    return error_set(error, CAIRN_EDAMAGED, "the content of item %s is damaged", text);
}

static bool read_fields(struct arena *arena, const struct item_kind_info *info,
                        struct str body, struct item *out)
{
    struct reader reader = reader_of(body.ptr, body.len);
    bool good = read_byte(&reader) == VERSION;
    while (good && !reader.failed && reader_left(&reader)) {
        uint64_t number = read_varint(&reader);
        struct str content = read_lstr(&reader);
        good = number > 0 && number <= info->n_fields && !out->values[number].present;
        if (!good)
            break;
        struct decoding d = {arena, reader_of(content.ptr, content.len)};
        read_content(&d, info->fields[number - 1].type, &out->values[number]);
        good = reader_done(&d.reader);
    }
    return good && reader_done(&reader);
}

/* What is out of order, out of range or not as short as it can be is refused here. */
static int check_encoding(const struct item *item, struct str body,
                          struct cairn_error *error)
{
    struct buf again = BUF_INIT;
    int rc = item_encode(item, &again, error);
    if (rc == CAIRN_EUSAGE || rc == CAIRN_ELIMIT)
        rc = refuse_body(item->id, error);
    if (!rc && !str_equal(buf_view(&again), body))
        rc = refuse_body(item->id, error);
    buf_release(&again);
    return rc;
}

int item_decode(struct arena *arena, struct item_ref id, struct str body,
                struct item *out, struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(id.kind);
    *out = (struct item){.id = id};
    if (!info || !id.n || body.len > LIMIT_ITEM_BYTES)
        return refuse_body(id, error);
    bool good = read_fields(arena, info, body, out);
    if (arena->failed)
        return error_nomem(error);
    return good ? check_encoding(out, body, error) : refuse_body(id, error);
}

/* ---- Links ---- */

int64_t item_link(struct item_ref ref)
{
    return (int64_t)ref.kind << 32 | ref.n;
}

/* FNV-1a, 62 bits of it, beyond the numbers of refs. */
int64_t item_link_of_subject(struct str subject)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < subject.len; i++)
        hash = (hash ^ (uint8_t)subject.ptr[i]) * 0x100000001b3;
    return (int64_t)(hash >> 2 | 1ull << 62); /* ITEM_LINK_OTHER */
}

struct item_links item_links(const struct item *item)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    struct item_links links = {0};
    int64_t *at = &links.about;
    for (uint32_t i = 1; i <= info->n_fields; i++) {
        const struct item_value *value = &item->values[i];
        if (!value->present || info->fields[i - 1].type != FIELD_REF)
            continue;
        assert(!links.also);
        *at = item_link(value->ref);
        at = &links.also;
    }
    if (item->id.kind == ITEM_BELIEF && item->values[BELIEF_SUBJECT].present)
        links.about = item_link_of_subject(item->values[BELIEF_SUBJECT].text);
    return links;
}

/* ---- Comparing ---- */

static bool same_refs(const struct item_value *a, const struct item_value *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (a->refs[i].kind != b->refs[i].kind || a->refs[i].n != b->refs[i].n)
            return false;
    return true;
}

static bool same_value(enum field_type type, const struct item_value *a,
                       const struct item_value *b)
{
    if (a->present != b->present || !a->present)
        return a->present == b->present;
    switch (type) {
    case FIELD_TEXT:
        return str_equal(a->text, b->text);
    case FIELD_WORD:
    case FIELD_COUNT:
        return a->count == b->count;
    case FIELD_NUMBER:
        return a->number == b->number; /* neither NaN nor -0 */
    case FIELD_TIME:
        return a->time_ns == b->time_ns;
    case FIELD_FLAG:
        return true;
    case FIELD_REF:
        return a->ref.kind == b->ref.kind && a->ref.n == b->ref.n;
    case FIELD_TEXTS:
        for (uint32_t i = 0; a->n == b->n && i < a->n; i++)
            if (!str_equal(a->texts[i], b->texts[i]))
                return false;
        return a->n == b->n;
    case FIELD_REFS:
        return a->n == b->n && same_refs(a, b);
    }
    return false;
}

int item_changes(const struct item *before, const struct item *after,
                 item_change_fn *each, void *context)
{
    const struct item_kind_info *info = item_kind_info(before->id.kind);
    assert(info && before->id.kind == after->id.kind);
    for (uint32_t i = 1; i <= info->n_fields; i++) {
        const struct item_field *field = &info->fields[i - 1];
        if (same_value(field->type, &before->values[i], &after->values[i]))
            continue;
        int rc = each(context, field, &before->values[i], &after->values[i]);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    return 0;
}

/* ---- Sections ---- */

uint32_t section_place(const struct section *section, uint32_t n)
{
    uint32_t low = 0, high = section->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (section->items[middle].id.n < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void section_add(struct buf *items, uint32_t n, struct str body)
{
    buf_varint(items, n);
    buf_lstr(items, body);
}

int section_encode(const struct section *section, struct buf *out,
                   struct cairn_error *error)
{
    struct buf body = BUF_INIT;
    uint32_t last = 0;
    int rc = 0;
    buf_varint(out, section->n);
    for (uint32_t i = 0; i < section->n && !rc; i++) {
        const struct item *item = &section->items[i];
        assert(item->id.n > last && item->id.kind == section->items[0].id.kind);
        last = item->id.n;
        buf_clear(&body);
        rc = item_encode(item, &body, error);
        section_add(out, item->id.n, buf_view(&body));
    }
    buf_release(&body);
    return rc ?: buf_check(out, error);
}

int section_decode(struct arena *arena, uint8_t kind, struct str bytes,
                   struct section *out, struct cairn_error *error)
{
    struct reader reader = reader_of(bytes.ptr, bytes.len);
    uint32_t n = read_count(&reader, 3), last = 0;
    struct item *items = arena_take(arena, n, sizeof *items);
    int rc = 0;
    for (uint32_t i = 0; i < n && items && !rc; i++) {
        uint64_t number = read_varint(&reader);
        struct str body = read_lstr(&reader);
        if (reader.failed || number <= last || number > UINT32_MAX)
            break;
        last = (uint32_t)number;
        rc = item_decode(arena, (struct item_ref){kind, last}, body, &items[i], error);
        reader.failed |= rc != 0;
    }
    if (arena->failed)
        return error_nomem(error);
    if (!rc && (!reader_done(&reader) || (n && items[n - 1].id.n == 0)))
        rc = error_set(error, CAIRN_EDAMAGED, "the list of items is damaged");
    if (!rc)
        *out = (struct section){items, n};
    return rc;
}

/* ---- Two of them ---- */

/* One item of a section, as bytes. */
struct item_cursor {
    struct reader reader;
    uint32_t left;
    uint32_t n; /* 0: behind the last one */
    struct str body;
};

static void cursor_next(struct item_cursor *at)
{
    uint64_t n = at->left ? read_varint(&at->reader) : 0;
    bool more = at->left > 0;
    at->body = more ? read_lstr(&at->reader) : STR("");
    at->left -= more;
    at->reader.failed |= more && (n <= at->n || n > UINT32_MAX);
    at->n = at->reader.failed ? 0 : (uint32_t)n;
}

static struct item_cursor cursor_of(const struct section_bytes *section)
{
    struct item_cursor at = {.reader =
                                 reader_of(section->bytes.ptr, section->bytes.len)};
    at.left = read_count(&at.reader, 3);
    at.reader.failed |= at.left != section->n;
    cursor_next(&at);
    return at;
}

/* Whether the one that is behind its end may be there. */
static bool cursor_ended(struct item_cursor *at)
{
    return at->n || reader_done(&at->reader);
}

int sections_apart(const struct section_bytes both[2],
                   int (*each)(void *context, int of, uint32_t n, struct str body),
                   void *context, int *bad, struct cairn_error *error)
{
    struct item_cursor at[2] = {cursor_of(&both[0]), cursor_of(&both[1])};
    int rc = 0;
    while (!rc && (at[0].n || at[1].n)) {
        uint32_t n = !at[1].n || (at[0].n && at[0].n < at[1].n) ? at[0].n : at[1].n;
        bool same = at[0].n == at[1].n && str_equal(at[0].body, at[1].body);
        for (int of = 0; of < 2 && !rc; of++) {
            if (at[of].n != n)
                continue;
            *bad = of;
            rc = same ? 0 : each(context, of, n, at[of].body);
            at[of].reader.failed |= n > both[of].last;
            cursor_next(&at[of]);
        }
    }
    for (int of = 0; of < 2 && !rc; of++) {
        *bad = of;
        if (!cursor_ended(&at[of]))
            rc = error_set(error, CAIRN_EDAMAGED, "the list of items is damaged");
    }
    return rc;
}
