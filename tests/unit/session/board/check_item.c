/* SPDX-License-Identifier: MIT */
/* Items as bytes: what is written is read back, and what is read has one encoding. */
#include "session/board/item.h"

#include "base/limits.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { SECTION_MOST = 40 };

static struct cairn_error failure;
static uint64_t seed;

/* ---- Random items ---- */

static const char *const samples[] = {"a", "two words", "\xc3\xa9t\xc3\xa9",
                                      "line\nline",
                                      "0123456789 0123456789 0123456789 0123456789"};

static struct str random_text(void)
{
    return str_of(samples[help_below(&seed, sizeof samples / sizeof *samples)]);
}

static unsigned random_word(const struct item_field *field)
{
    unsigned n;
    do
        n = (unsigned)help_below(&seed, 16);
    while (!field->word(n));
    return n;
}

static struct item_ref random_ref(const struct item_field *field)
{
    uint8_t kind = field->refers ? field->refers
                                 : (uint8_t)(1 + help_below(&seed, ITEM_KINDS_END - 1));
    return (struct item_ref){kind, 1 + (uint32_t)help_below(&seed, 1000)};
}

static void random_value(struct arena *arena, const struct item_field *field,
                         struct item_value *value)
{
    *value = (struct item_value){.present = field->required || help_below(&seed, 2)};
    if (!value->present)
        return;
    value->n = field->type == FIELD_TEXTS || field->type == FIELD_REFS
                   ? 1 + (uint32_t)help_below(&seed, 4)
                   : 0;
    switch (field->type) {
    case FIELD_TEXT:
        value->text = random_text();
        break;
    case FIELD_WORD:
        value->count = random_word(field);
        break;
    case FIELD_COUNT:
        value->count = help_below(&seed, 1u << 30);
        break;
    case FIELD_NUMBER:
        value->number = (double)help_below(&seed, 1000) / 1000;
        break;
    case FIELD_TIME:
        value->time_ns = (int64_t)help_below(&seed, 1u << 30) * 1000000000;
        break;
    case FIELD_FLAG:
        break;
    case FIELD_REF:
        value->ref = random_ref(field);
        break;
    case FIELD_TEXTS:
        value->texts = arena_take(arena, value->n, sizeof *value->texts);
        for (uint32_t i = 0; i < value->n; i++)
            value->texts[i] = random_text();
        break;
    case FIELD_REFS:
        value->refs = arena_take(arena, value->n, sizeof *value->refs);
        for (uint32_t i = 0; i < value->n; i++)
            value->refs[i] = random_ref(field);
        break;
    }
}

static struct item random_item(struct arena *arena, uint8_t kind, uint32_t n)
{
    const struct item_kind_info *info = item_kind_info(kind);
    struct item item = {.id = {kind, n}};
    for (uint32_t i = 1; i <= info->n_fields; i++)
        random_value(arena, &info->fields[i - 1], &item.values[i]);
    return item;
}

static uint8_t random_kind(void)
{
    return (uint8_t)(1 + help_below(&seed, ITEM_KINDS_END - 1));
}

/* ---- Tests ---- */

static int count_change(void *context, const struct item_field *field,
                        const struct item_value *before, const struct item_value *after)
{
    ck_assert(field && before && after);
    ++*(unsigned *)context;
    return 0;
}

static unsigned changes_between(const struct item *a, const struct item *b)
{
    unsigned n = 0;
    ck_assert_int_eq(item_changes(a, b, count_change, &n), 0);
    return n;
}

START_TEST(test_round_trip)
{
    seed = 20261123;
    for (int round = 0; round < help_rounds(3000, 3000); round++) {
        struct arena arena = ARENA_INIT;
        struct buf body = BUF_INIT;
        struct item item = random_item(&arena, random_kind(), 7), back;
        ck_assert_int_eq(item_encode(&item, &body, &failure), 0);
        ck_assert_int_eq(item_decode(&arena, item.id, buf_view(&body), &back, &failure),
                         0);
        ck_assert_uint_eq(changes_between(&item, &back), 0);
        buf_release(&body);
        arena_release(&arena);
    }
}
END_TEST

/* Whatever is accepted is written as the very same bytes. */
static void expect_canonical(struct item_ref id, struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct buf again = BUF_INIT;
    struct item item;
    int rc = item_decode(&arena, id, bytes, &item, &failure);
    ck_assert_msg(rc == 0 || rc == CAIRN_EDAMAGED, "%d: %s", rc, failure.text);
    if (!rc) {
        ck_assert_int_eq(item_encode(&item, &again, &failure), 0);
        ck_assert(str_equal(buf_view(&again), bytes));
    }
    buf_release(&again);
    arena_release(&arena);
}

START_TEST(test_hostile_bytes)
{
    seed = 20261123;
    for (int round = 0; round < help_rounds(100, 100); round++) {
        struct arena arena = ARENA_INIT;
        struct buf body = BUF_INIT;
        struct item item = random_item(&arena, random_kind(), 1);
        ck_assert_int_eq(item_encode(&item, &body, &failure), 0);
        for (size_t i = 0; i < body.size; i++) {
            char *bytes = malloc(body.size); /* of its size, for the sanitizers */
            memcpy(bytes, body.data, body.size);
            expect_canonical(item.id, (struct str){bytes, i});
            for (int bit = 0; bit < 8; bit++) {
                bytes[i] = (char)(body.data[i] ^ 1 << bit);
                expect_canonical(item.id, (struct str){bytes, body.size});
            }
            free(bytes);
        }
        buf_release(&body);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(test_what_is_refused)
{
    struct buf out = BUF_INIT;
    struct item note = {.id = {ITEM_NOTE, 1}};
    struct item_value *text = &note.values[NOTE_TEXT];
    struct item_ref about = {ITEM_KINDS_END, 1};
    note.values[NOTE_CREATED] = (struct item_value){.present = true, .time_ns = 1};
    ck_assert_int_eq(item_encode(&note, &out, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "the text of the note is missing");
    static const struct str bad[] = {{"", 0}, {"a\0b", 3}, {"\xff", 1}, {"\xc3", 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        *text = (struct item_value){.present = true, .text = bad[i]};
        ck_assert_int_eq(item_encode(&note, &out, &failure), CAIRN_EUSAGE);
        ck_assert_str_eq(failure.text,
                         "the text of the note is empty, or no text of UTF-8");
    }
    text->text = STR("x");
    note.values[NOTE_SEVERITY] = (struct item_value){.present = true, .count = 4};
    ck_assert_int_eq(item_encode(&note, &out, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "the severity of the note is not possible");
    note.values[NOTE_SEVERITY].count = 3;
    note.values[NOTE_ABOUT] =
        (struct item_value){.present = true, .refs = &about, .n = 1};
    ck_assert_int_eq(item_encode(&note, &out, &failure), CAIRN_EUSAGE);
    about.kind = ITEM_GAP;
    ck_assert_int_eq(item_encode(&note, &out, &failure), 0);

    struct item belief = {.id = {ITEM_BELIEF, 1}};
    double numbers[] = {NAN, INFINITY, -0.0};
    belief.values[BELIEF_STATEMENT] =
        (struct item_value){.present = true, .text = STR("x")};
    belief.values[BELIEF_CREATED].present = true;
    for (int i = 0; i < 3; i++) {
        belief.values[BELIEF_CONFIDENCE] =
            (struct item_value){.present = true, .number = numbers[i]};
        ck_assert_int_eq(item_encode(&belief, &out, &failure), CAIRN_EUSAGE);
    }
    buf_release(&out);
}
END_TEST

START_TEST(test_limit)
{
    struct buf out = BUF_INIT;
    struct item note = {.id = {ITEM_NOTE, 1}};
    char *text = malloc(LIMIT_ITEM_BYTES);
    memset(text, 'x', LIMIT_ITEM_BYTES);
    note.values[NOTE_CREATED].present = true;
    /* version; number, length and text; number, length and time */
    size_t most = LIMIT_ITEM_BYTES - 1 - 4 - 10;
    note.values[NOTE_TEXT] = (struct item_value){.present = true, .text = {text, most}};
    ck_assert_int_eq(item_encode(&note, &out, &failure), 0);
    ck_assert_uint_eq(out.size, LIMIT_ITEM_BYTES);
    buf_clear(&out);
    note.values[NOTE_TEXT].text.len++;
    ck_assert_int_eq(item_encode(&note, &out, &failure), CAIRN_ELIMIT);
    free(text);
    buf_release(&out);
}
END_TEST

START_TEST(test_ids)
{
    struct item_ref ref;
    char id[ITEM_ID_MAX];
    for (uint8_t kind = 1; kind < ITEM_KINDS_END; kind++) {
        item_id((struct item_ref){kind, UINT32_MAX}, id);
        ck_assert_int_eq(item_id_parse(str_of(id), &ref, &failure), 0);
        ck_assert(ref.kind == kind && ref.n == UINT32_MAX);
    }
    static const char *const bad[] = {"",    "h",  "1",   "h0",          "h01", "h-1",
                                      "hh1", "z1", "h1x", "h4294967296", "H1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(item_id_parse(str_of(bad[i]), &ref, &failure), CAIRN_EUSAGE);
    ck_assert(strstr(failure.text, "'H1' is not an id of an item"));
}
END_TEST

START_TEST(test_changes)
{
    struct arena arena = ARENA_INIT;
    seed = 20261123;
    for (int round = 0; round < help_rounds(3000, 3000); round++) {
        uint8_t kind = random_kind();
        const struct item_kind_info *info = item_kind_info(kind);
        struct item a = random_item(&arena, kind, 1), b = a;
        ck_assert_uint_eq(changes_between(&a, &b), 0);
        uint32_t field = 1 + (uint32_t)help_below(&seed, info->n_fields);
        struct item other = random_item(&arena, kind, 1);
        b.values[field] = other.values[field];
        unsigned there = changes_between(&a, &b);
        ck_assert_uint_le(there, 1);
        ck_assert_uint_eq(changes_between(&b, &a), there);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(test_sections)
{
    seed = 20261123;
    for (int round = 0; round < help_rounds(100, 100); round++) {
        struct arena arena = ARENA_INIT;
        struct buf bytes = BUF_INIT;
        struct item items[SECTION_MOST];
        struct section section = {items, (uint32_t)help_below(&seed, SECTION_MOST)},
                       back;
        uint8_t kind = random_kind();
        uint32_t n = 0;
        for (uint32_t i = 0; i < section.n; i++)
            items[i] =
                random_item(&arena, kind, n += 1 + (uint32_t)help_below(&seed, 3));
        ck_assert_int_eq(section_encode(&section, &bytes, &failure), 0);
        ck_assert_int_eq(
            section_decode(&arena, kind, buf_view(&bytes), &back, &failure), 0);
        ck_assert_uint_eq(back.n, section.n);
        for (uint32_t i = 0; i < back.n; i++) {
            ck_assert_uint_eq(back.items[i].id.n, items[i].id.n);
            ck_assert_uint_eq(changes_between(&back.items[i], &items[i]), 0);
        }
        for (size_t cut = 0; cut < bytes.size; cut++)
            ck_assert_int_eq(section_decode(&arena, kind, (struct str){bytes.data, cut},
                                            &back, &failure),
                             CAIRN_EDAMAGED);
        buf_byte(&bytes, 0);
        ck_assert_int_eq(
            section_decode(&arena, kind, buf_view(&bytes), &back, &failure),
            CAIRN_EDAMAGED);
        buf_release(&bytes);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(test_order_of_sections)
{
    /* Two notes of the text "x", without a time: not even that is looked at. */
    static const char same[] = "\2\1\4\1\1\1x\1\4\1\1\1x";
    struct arena arena = ARENA_INIT;
    struct section section;
    ck_assert_int_eq(section_decode(&arena, ITEM_NOTE,
                                    (struct str){same, sizeof same - 1}, &section,
                                    &failure),
                     CAIRN_EDAMAGED);
    ck_assert_int_eq(
        section_decode(&arena, ITEM_KINDS_END, STR("\1\1\1\1"), &section, &failure),
        CAIRN_EDAMAGED);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("item");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_hostile_bytes);
    tcase_add_test(tests, test_what_is_refused);
    tcase_add_test(tests, test_limit);
    tcase_add_test(tests, test_ids);
    tcase_add_test(tests, test_changes);
    tcase_add_test(tests, test_sections);
    tcase_add_test(tests, test_order_of_sections);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
