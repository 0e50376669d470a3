/* SPDX-License-Identifier: MIT */
/* Members and reference text; the binary form, whole, mutated and cut. */
#include "tests/support/parse.h"

#include "base/clock.h"
#include "graph/definition.h"
#include "graph/definition_codec.h"
#include "graph/members.h"
#include "graph/text_expand.h"
#include "tests/support/suite.h"

static const char workflow[] =
    "name: n\n"
    "params: {day: mon, n: \"3\"}\n"
    "env: {LC_ALL: C}\n"
    "jobs: 8\n"
    "pools: {db: 2}\n"
    "on_failure: continue\n"
    "tasks:\n"
    "  fetch: {run: get, timeout: {after: 1h, grace: 1s}, outputs: [raw], pool: db}\n"
    "  convert:\n"
    "    foreach: {part: {range: [-1, 2]}, kind: [a, b c, \"\"]}\n"
    "    needs: [fetch]\n"
    "    retries: {max: 3, delay: 1s, factor: 2, jitter: true, on_exit: [6, 255]}\n"
    "    run: go\n"
    "    priority: -2147483648\n"
    "  index:\n"
    "    foreach: {part: [\"0\", \"2\"]}\n"
    "    needs: [\"convert[part=${{ part }},kind=b c]\", fetch]\n"
    "    exec: [x, \"${{ part }}\", \"${{ params.day }}\"]\n"
    "    env: {A: \"${{part}}\"}\n"
    "    cwd: d/${{ params.n }}\n"
    "    priority: 2147483647\n";

/* ---- Members ---- */

static void expect_id(const struct task_def *def, uint32_t member, const char *expected)
{
    struct buf id = BUF_INIT;
    member_id(def, member, &id);
    ck_text(buf_view(&id), expected);
    buf_release(&id);
}

START_TEST(test_members)
{
    const struct definition *d = help_parse(workflow);
    const struct task_def *convert = &d->defs[1];
    ck_assert_uint_eq(convert->members, 12);
    expect_id(&d->defs[0], 0, "fetch");
    expect_id(convert, 0, "convert[part=-1,kind=a]");
    expect_id(convert, 1, "convert[part=-1,kind=b%20c]");
    expect_id(convert, 2, "convert[part=-1,kind=]");
    expect_id(convert, 11, "convert[part=2,kind=]");
    ck_assert_uint_eq(member_value(convert, 7, 0), 2);
    ck_assert_uint_eq(member_value(convert, 7, 1), 1);
    for (uint32_t m = 0; m < convert->members; m++) {
        struct str raw[2], shown[2];
        for (uint32_t k = 0; k < 2; k++) {
            raw[k] = convert->foreach[k].values[member_value(convert, m, k)];
            shown[k] = convert->foreach[k].shown[member_value(convert, m, k)];
        }
        ck_assert_uint_eq(member_find(convert, raw), m);
        ck_assert_uint_eq(member_find(convert, shown), m);
    }
    static const char *const none[] = {"3", "-2", "00", "+1", "-0", "", "1 ", "a"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct str values[2] = {str_of(none[i]), STR("a")};
        ck_assert_uint_eq(member_find(convert, values), UINT32_MAX);
    }
    struct str values[2] = {STR("1"), STR("c")};
    ck_assert_uint_eq(member_find(convert, values), UINT32_MAX);
}
END_TEST

static void expect_shown(const char *value, const char *expected)
{
    struct buf out = BUF_INIT;
    value_shown(str_of(value), &out);
    ck_text(buf_view(&out), expected);
    buf_release(&out);
}

START_TEST(test_shown)
{
    char text[LIMIT_VALUE_BYTES + 2];
    expect_shown("aZ09_.+@:/-", "aZ09_.+@:/-");
    expect_shown("a=b,c]%~ \xff", "a%3Db%2Cc%5D%25%7E%20%FF");
    expect_shown("M\u00fcnchen \u6771\u4eac \U0001f600",
                 "M\u00fcnchen%20\u6771\u4eac%20\U0001f600");
    /* Controls, directions, what is invisible, and what is no UTF-8. */
    expect_shown("a\u202eb\u200bc\xc2\x85", "a%E2%80%AEb%E2%80%8Bc%C2%85");
    expect_shown("\u00a0\u2066\ufeff\u3000", "%C2%A0%E2%81%A6%EF%BB%BF%E3%80%80");
    expect_shown("\xc3(\xed\xa0\x80", "%C3%28%ED%A0%80");
    memset(text, 'x', sizeof text);
    text[LIMIT_VALUE_BYTES] = 0;
    expect_shown(text, text);
    text[LIMIT_VALUE_BYTES] = 'x';
    text[LIMIT_VALUE_BYTES + 1] = 0;
    expect_shown(text, "xxxxxxxxxxxxxxxxxxxxxxxxx~9537c5fdf120~" /* sha256sum */
                       "xxxxxxxxxxxxxxxxxxxxxxxxx");
    memset(text, ' ', LIMIT_VALUE_BYTES);
    text[22] = 0; /* escaped 66 bytes */
    expect_shown(text,
                 "%20%20%20%20%20%20%20%20~b366daa7039b~%20%20%20%20%20%20%20%20");
    /* No character is cut. */
    expect_shown(
        "\u6771\u4eac\u6771\u4eac\u6771\u4eac\u6771\u4eac\u6771\u4eac\u6771"
        "\u4eac\u6771\u4eac\u6771\u4eac\u6771\u4eac\u6771\u4eac\u6771\u4eac",
        "\u6771\u4eac\u6771\u4eac\u6771\u4eac\u6771\u4eac~c21d8071d657~\u6771\u4eac"
        "\u6771\u4eac\u6771\u4eac\u6771\u4eac");
    text[21] = 0; /* escaped 63 */
    ck_assert_uint_eq(strlen(text), 21);
    struct buf out = BUF_INIT;
    value_shown(str_of(text), &out);
    ck_assert_uint_eq(out.size, 63);
    buf_release(&out);
}
END_TEST

static void expect_expanded(const struct definition *d, const struct task_def *def,
                            uint32_t member, const char *text, const char *expected)
{
    struct buf out = BUF_INIT;
    text_expand_fixed(d, def, member, str_of(text), &out);
    ck_text(buf_view(&out), expected);
    buf_release(&out);
}

START_TEST(test_expand)
{
    const struct definition *d = help_parse(workflow);
    const struct task_def *convert = &d->defs[1], *fetch = &d->defs[0];
    expect_expanded(d, convert, 4, "${{ part }}-${{kind}}", "0-b c");
    expect_expanded(d, convert, 5, "<${{ kind }}>", "<>");
    expect_expanded(d, fetch, 0, "a ${{params.day}}${{ params.n }} z", "a mon3 z");
    expect_expanded(d, fetch, 0, "", "");
    /* Built in memory, texts may hold anything: what is not known stays. */
    expect_expanded(d, fetch, 0, "${{ part }} ${{ params.x }} ${{",
                    "${{ part }} ${{ params.x }} ${{");
    expect_expanded(d, fetch, 0, "${{", "${{");
    expect_expanded(d, fetch, 0, "${{}}", "${{}}");
    expect_expanded(d, fetch, 0, "}} $ {{ ${", "}} $ {{ ${");
    expect_expanded(d, fetch, 0, "${{ params.n < 10 }} ${{ 'a}}' }}", "true a}}");
}
END_TEST

START_TEST(test_finish)
{
    struct definition d;
    struct task_def def = {.id = STR("t")};
    struct str values[2] = {STR("a"), STR("a")};
    struct foreach_key key = {.name = STR("k"),
                              .source = FOREACH_LIST,
                              .spec = STR(""),
                              .values = values,
                              .n = 2};
    definition_init(&d);
    ck_assert_int_eq(task_def_finish(&d, &def, &help_error), 0);
    ck_assert_uint_eq(def.members, 1);
    def.foreach = &key;
    def.n_foreach = 1;
    ck_assert_int_eq(task_def_finish(&d, &def, &help_error), CAIRN_EWORKFLOW);
    ck_assert_ptr_nonnull(strstr(help_error.text, "values 1 and 2 of foreach key `k`"));
    map_release(&key.by_value);
    definition_release(&d);
    definition_release(&d); /* twice does no harm */
}
END_TEST

/* ---- Binary form ---- */

static void encode(const struct definition *d, struct buf *out)
{
    buf_clear(out);
    ck_assert_int_eq(definition_encode(d, out, NULL), 0);
}

START_TEST(test_round_trip)
{
    struct buf first = BUF_INIT, again = BUF_INIT;
    struct definition d;
    help_parse(workflow);
    encode(&help_definition, &first);
    ck_assert_int_eq(definition_decode(buf_view(&first), &d, &help_error), 0);
    encode(&d, &again);
    ck_assert(str_equal(buf_view(&first), buf_view(&again)));
    ck_assert_uint_eq(d.n_defs, 3);
    ck_assert_uint_eq(d.jobs, 8);
    ck_assert_int_eq(d.on_failure, ON_FAILURE_CONTINUE);
    ck_assert_uint_eq(map_get(&d.by_id, STR("index")), 2);
    const struct task_def *convert = &d.defs[1], *index = &d.defs[2];
    ck_assert_uint_eq(convert->members, 12);
    expect_id(convert, 1, "convert[part=-1,kind=b%20c]");
    ck_assert_int_eq(convert->priority, INT32_MIN);
    ck_assert_int_eq(index->priority, INT32_MAX);
    ck_assert_int_eq(d.defs[0].timeout_ms, 3600000);
    ck_assert_int_eq(d.defs[0].grace_ms, 1000);
    ck_assert_uint_eq(d.defs[0].pools[0].pool, 0);
    ck_assert_uint_eq(convert->n_pools, 0);
    ck_assert(convert->retry.jitter);
    ck_assert_uint_eq(convert->retry.on_exit[1], 255);
    ck_text(index->needs[0].bindings[1].key, "kind");
    ck_text(index->needs[0].bindings[0].value, "${{ part }}");
    ck_assert_ptr_null(index->needs[1].bindings);
    ck_assert_ptr_nonnull(definition_kept_text(&d, STR("${{ part }}"), false));
    ck_assert_ptr_nonnull(definition_kept_text(&d, STR("d/${{ params.n }}"), false));
    expect_expanded(&d, index, 1, "${{ part }}${{ params.day }}", "2mon");
    definition_release(&d);
    buf_release(&first);
    buf_release(&again);
}
END_TEST

START_TEST(test_callbacks)
{
    struct definition d, decoded;
    struct buf bytes = BUF_INIT;
    struct task_def def = {
        .id = STR("c"), .kind = TASK_CALL, .version = STR("v7"), .members = 1};
    definition_init(&d);
    d.name = STR("n");
    d.file = d.root = STR("");
    d.defs = &def;
    d.n_defs = 1;
    encode(&d, &bytes);
    ck_assert_int_eq(definition_decode(buf_view(&bytes), &decoded, NULL), 0);
    ck_text(decoded.defs[0].version, "v7");
    ck_assert(decoded.defs[0].call == NULL);
    definition_release(&decoded);
    d.n_defs = 0;
    definition_release(&d);
    buf_release(&bytes);
}
END_TEST

/* Each change that matters to a run changes the bytes. */
START_TEST(test_sensitive)
{
    static const char *const changes[][2] = {
        {"name: n", "name: m"},
        {"day: mon", "day: tue"},
        {"LC_ALL: C", "LC_ALL: D"},
        {"jobs: 8", "jobs: 9"},
        {"db: 2", "db: 3"},
        {"continue", "stop    "},
        {"run: get", "run: got"},
        {"after: 1h", "after: 2h"},
        {"grace: 1s", "grace: 2s"},
        {"[raw]", "[row]"},
        {"[-1, 2]", "[-1, 3]"},
        {"b c, ", "b d, "},
        {"max: 3", "max: 4"},
        {"delay: 1s", "delay: 2s"},
        {"factor: 2", "factor: 3"},
        {"jitter: true", "jitter: false"},
        {"6, 255", "7, 255"},
        {"-2147483648", "-2147483647"},
        {"d/${{", "e/${{"},
        {"exec: [x", "exec: [y"},
        {"A: ", "B: "},
        {"[fetch]", "[index]"},
    };
    struct buf first = BUF_INIT, other = BUF_INIT;
    help_parse(workflow);
    encode(&help_definition, &first);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *at = strstr(workflow, changes[i][0]);
        struct buf text = BUF_INIT;
        ck_assert_ptr_nonnull(at);
        buf_add(&text, workflow, (size_t)(at - workflow));
        buf_text(&text, changes[i][1]);
        buf_text(&text, at + strlen(changes[i][0]));
        if (strstr(changes[i][0], "b c")) { /* the need names that value, too */
            char *need = strstr(text.data, "kind=b c");
            ck_assert_ptr_nonnull(need);
            memcpy(need, "kind=b d", 8);
        }
        encode(help_parse(text.data), &other);
        ck_assert_msg(!str_equal(buf_view(&first), buf_view(&other)), "%s",
                      changes[i][0]);
        buf_release(&text);
    }
    buf_release(&first);
    buf_release(&other);
}
END_TEST

/* Bytes exactly as long as the decoder is told, so that ASan sees a byte too many. */
static int decode_exact(const char *bytes, size_t n, struct definition *d)
{
    char *copy = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, n);
    int result = definition_decode((struct str){copy, n}, d, &help_error);
    free(copy);
    return result;
}

START_TEST(test_cuts)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse(workflow);
    encode(&help_definition, &bytes);
    for (size_t n = 0; n < bytes.size; n++)
        ck_assert_int_eq(decode_exact(bytes.data, n, &d), CAIRN_EDAMAGED);
    buf_byte(&bytes, 0);
    ck_assert_int_eq(decode_exact(bytes.data, bytes.size, &d), CAIRN_EDAMAGED);
    bytes.data[8] = 99;
    ck_assert_int_eq(decode_exact(bytes.data, bytes.size, &d), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(help_error.text, "unknown version 99"));
    buf_release(&bytes);
}
END_TEST

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u); /* splitmix64, S. Vigna */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Everything that can be asked of a definition whose bytes may mean anything. Encoded
 * again it gives the same bytes; only a varint may have been longer than needed. */
static void use(const struct definition *d, struct str bytes)
{
    struct buf out = BUF_INIT;
    for (uint32_t i = 0; i < d->n_defs; i++) {
        const struct task_def *def = &d->defs[i];
        for (uint32_t m = 0; m < def->members && m < 50; m++) {
            member_id(def, m, &out);
            for (uint32_t j = 0; j < def->n_needs; j++)
                for (uint32_t k = 0; k < def->needs[j].n_bindings; k++)
                    text_expand_fixed(d, def, m, def->needs[j].bindings[k].value, &out);
            for (uint32_t j = 0; j < def->n_argv; j++)
                text_expand_fixed(d, def, m, def->argv[j], &out);
        }
    }
    buf_clear(&out);
    ck_assert_int_eq(definition_encode(d, &out, NULL), 0);
    ck_assert_uint_le(out.size, bytes.len);
    ck_assert(out.size < bytes.len || str_equal(buf_view(&out), bytes));
    buf_release(&out);
}

START_TEST(test_mutations)
{
    const char *given = getenv("CAIRN_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : random_u64();
    printf("seed %llu\n", (unsigned long long)seed);
    struct buf bytes = BUF_INIT, work = BUF_INIT;
    uint32_t accepted = 0;
    help_parse(workflow);
    encode(&help_definition, &bytes);
    for (int round = 0; round < 30000; round++) {
        struct definition d;
        buf_clear(&work);
        buf_str(&work, buf_view(&bytes));
        size_t changes = 1 + next_random(&seed) % 3;
        for (size_t i = 0; i < changes; i++) {
            uint64_t r = next_random(&seed);
            char *at = &work.data[8 + r % (work.size - 8)];
            char flipped = (char)((uint8_t)*at ^ 1u << ((r >> 32) & 7));
            *at = (r >> 40) % 3 ? flipped : (char)(r >> 48);
        }
        int result = decode_exact(work.data, work.size, &d);
        ck_assert(result == 0 || result == CAIRN_EDAMAGED);
        if (result == 0) {
            accepted++;
            use(&d, buf_view(&work));
            definition_release(&d);
        }
    }
    ck_assert_uint_gt(accepted, 0);
    buf_release(&bytes);
    buf_release(&work);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("definition");
    TCase *tests = tcase_create("definition");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_test(tests, test_members);
    tcase_add_test(tests, test_shown);
    tcase_add_test(tests, test_expand);
    tcase_add_test(tests, test_finish);
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_callbacks);
    tcase_add_test(tests, test_sensitive);
    tcase_add_test(tests, test_cuts);
    tcase_add_test(tests, test_mutations);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
