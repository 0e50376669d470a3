/* SPDX-License-Identifier: MIT */
/* The binary form of definitions: every field of version 2 there and back, what is not
 * believed, and version 1 as older stores have it. */
#include "tests/support/parse.h"

#include "base/clock.h"
#include "graph/definition_codec.h"
#include "graph/lists.h"
#include "tests/support/suite.h"

static const char workflow[] =
    "name: n\n"
    "params: {a: x, b: y}\n"
    "secrets: [TOKEN, KEY]\n"
    "deadline: 6h\n"
    "on_failure: {undo: all}\n"
    "on_crash: adopt\n"
    "tasks:\n"
    "  get:\n"
    "    run: go\n"
    "    once: true\n"
    "    params: [b]\n"
    "    secrets: [TOKEN, KEY]\n"
    "    inputs: [in, \"${{ params.b }}\"]\n"
    "    check: {run: ./ok, min: 0.5, warn: 0.625}\n"
    "    undo: rm out\n"
    "    shell: [bash, -c]\n"
    "  ask: {external: \"Do ${{ params.a }}\", needs: get, when: failed}\n"
    "  end: {exec: [x], needs: ask, if: tasks.get.outputs.n > 3, params: []}\n"
    "finally:\n"
    "  tell: {run: y, if: run.status == 'failed'}\n"
    "  last: {run: z, needs: tell, when: always}\n";

static void encode(const struct definition *d, struct buf *out)
{
    buf_clear(out);
    ck_assert_int_eq(definition_encode(d, out, NULL), 0);
}

static int decode(struct str bytes, struct definition *d)
{
    help_error = (struct cairn_error){0};
    return definition_decode(bytes, d, &help_error);
}

static void check_get(const struct task_def *get)
{
    ck_assert(get->once && !get->finally && get->own_params);
    ck_assert_uint_eq(get->n_params, 1);
    ck_text(get->params[0], "b");
    ck_assert_uint_eq(get->n_secrets, 2);
    ck_text(get->secrets[0], "KEY");
    ck_text(get->secrets[1], "TOKEN");
    ck_assert_uint_eq(get->n_inputs, 2);
    ck_text(get->inputs[1], "${{ params.b }}");
    ck_text(get->check, "./ok");
    ck_assert_uint_eq(get->check_min_permille, 500);
    ck_assert_uint_eq(get->check_warn_permille, 625);
    ck_text(get->undo, "rm out");
    ck_assert_uint_eq(get->n_side_shell, 2);
    ck_text(get->side_shell[0], "bash");
    ck_assert_int_eq(get->when, WHEN_SUCCESS);
    ck_text(get->condition, "");
}

START_TEST(test_round_trip)
{
    struct buf first = BUF_INIT, again = BUF_INIT;
    struct definition d;
    help_parse(workflow);
    encode(&help_definition, &first);
    ck_assert_int_eq(decode(buf_view(&first), &d), 0);
    encode(&d, &again);
    ck_assert(str_equal(buf_view(&first), buf_view(&again)));
    ck_assert_int_eq(d.on_failure, ON_FAILURE_UNDO);
    ck_assert_int_eq(d.undo_scope, UNDO_ALL);
    ck_assert_int_eq(d.on_crash, ON_CRASH_ADOPT);
    ck_assert_int_eq(d.deadline_ms, 21600000);
    ck_assert_uint_eq(d.n_secrets, 2);
    ck_text(d.secrets[1], "TOKEN");
    check_get(&d.defs[0]);
    ck_assert_int_eq(d.defs[1].kind, TASK_EXTERNAL);
    ck_text(d.defs[1].external, "Do ${{ params.a }}");
    ck_assert_int_eq(d.defs[1].when, WHEN_FAILED);
    ck_assert(!d.defs[1].own_params && !d.defs[1].once);
    ck_text(d.defs[2].condition, "tasks.get.outputs.n > 3");
    ck_assert(d.defs[2].own_params);
    ck_assert_uint_eq(d.defs[2].n_params, 0);
    ck_assert_uint_eq(d.defs[2].n_side_shell, 0);
    ck_assert(d.defs[3].finally && d.defs[4].finally && !d.defs[2].finally);
    ck_assert_int_eq(d.defs[4].when, WHEN_ALWAYS);
    definition_release(&d);
    buf_release(&first);
    buf_release(&again);
}
END_TEST

/* Each change of the text changes the bytes. */
START_TEST(test_sensitive)
{
    static const char *const changes[][2] = {
        {"KEY]\n", "KEZ]\n"},
        {"6h", "7h"},
        {"all", "failed"},
        {"{undo: all}", "stop"},
        {"adopt", "kill"},
        {"once: true", "once: false"},
        {"params: [b]", "params: [a, b]"},
        {"params: [b]\n", "pool: p\n"},
        {"secrets: [TOKEN, KEY]\n    inputs", "secrets: [KEY]\n    inputs"},
        {"[in,", "[im,"},
        {"./ok", "./no"},
        {"min: 0.5", "min: 0.6"},
        {"0.625", "0.626"},
        {"rm out", "rm oud"},
        {"[bash", "[dash"},
        {"Do $", "To $"},
        {"when: failed", "when: always"},
        {"> 3", "> 4"},
        {", params: []", ""},
        {"finally:\n", ""},
    };
    struct buf first = BUF_INIT, other = BUF_INIT;
    help_parse(workflow);
    encode(&help_definition, &first);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *at = strstr(workflow, changes[i][0]);
        struct buf text = BUF_INIT;
        ck_assert_msg(at != NULL, "%s", changes[i][0]);
        buf_add(&text, workflow, (size_t)(at - workflow));
        buf_text(&text, changes[i][1]);
        buf_text(&text, at + strlen(changes[i][0]));
        if (strcmp(changes[i][1], "KEZ]\n") == 0)
            memcpy(strstr(text.data, "KEY]"), "KEZ]", 4);
        if (strcmp(changes[i][1], "pool: p\n") == 0)
            buf_text(&text, "pools: {p: 1}\n");
        if (strcmp(changes[i][0], "finally:\n") == 0) {
            char *end = strstr(text.data, "run.status");
            memcpy(end, "run.id    ", 10);
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

/* ---- What is not believed ---- */

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u); /* splitmix64, S. Vigna */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Bytes exactly as long as the decoder is told, so that ASan sees a byte too many. */
static int decode_exact(const char *bytes, size_t n, struct definition *d)
{
    char *copy = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, n);
    int result = decode((struct str){copy, n}, d);
    free(copy);
    return result;
}

START_TEST(test_mutations)
{
    const char *given = getenv("CAIRN_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : random_u64();
    printf("seed %llu\n", (unsigned long long)seed);
    struct buf bytes = BUF_INIT, work = BUF_INIT, again = BUF_INIT;
    uint32_t accepted = 0;
    help_parse(workflow);
    encode(&help_definition, &bytes);
    for (size_t n = 0; n < bytes.size; n++) {
        struct definition d;
        ck_assert_int_eq(decode_exact(bytes.data, n, &d), CAIRN_EDAMAGED);
    }
    for (int round = 0; round < 20000; round++) {
        struct definition d;
        buf_clear(&work);
        buf_str(&work, buf_view(&bytes));
        for (uint64_t i = 1 + next_random(&seed) % 3; i > 0; i--) {
            uint64_t r = next_random(&seed);
            char *at = &work.data[9 + r % (work.size - 9)];
            char flipped = (char)((uint8_t)*at ^ 1u << ((r >> 32) & 7));
            *at = (r >> 40) % 3 ? flipped : (char)(r >> 48);
        }
        int result = decode_exact(work.data, work.size, &d);
        ck_assert(result == 0 || result == CAIRN_EDAMAGED);
        if (result)
            continue;
        accepted++;
        encode(&d, &again);
        ck_assert_uint_le(again.size, work.size);
        ck_assert(again.size < work.size ||
                  str_equal(buf_view(&again), buf_view(&work)));
        definition_release(&d);
    }
    ck_assert_uint_gt(accepted, 0);
    buf_release(&bytes);
    buf_release(&work);
    buf_release(&again);
}
END_TEST

/* Definitions that no parser makes: encoded as they are, they must not come back. */
struct damage {
    const char *what;
    void (*do_it)(struct definition *);
};

static void bad_undo_scope(struct definition *d)
{
    d->undo_scope = 3;
}
static void bad_scope_without_undo(struct definition *d)
{
    d->on_failure = ON_FAILURE_STOP;
}
static void bad_on_failure(struct definition *d)
{
    d->on_failure = 3;
}
static void bad_on_crash(struct definition *d)
{
    d->on_crash = 2;
}
static void bad_secrets(struct definition *d)
{
    d->secrets[0] = STR("ZZ");
}
static void bad_when(struct definition *d)
{
    d->defs[0].when = 3;
}
static void bad_finally_need(struct definition *d)
{
    d->defs[4].needs[0].target = 0;
}
static void bad_ordinary_need(struct definition *d)
{
    d->defs[1].needs[0].target = 3;
}
static void bad_thresholds(struct definition *d)
{
    d->defs[0].check_min_permille = 700;
}
static void bad_threshold(struct definition *d)
{
    d->defs[0].check_warn_permille = 1001;
}
static void bad_no_check(struct definition *d)
{
    d->defs[2].check_warn_permille = 1;
}
static void bad_no_side_shell(struct definition *d)
{
    d->defs[0].n_side_shell = 0;
}
static void bad_side_shell(struct definition *d)
{
    d->defs[2].side_shell = d->defs[0].side_shell;
    d->defs[2].n_side_shell = 1;
}
static void bad_task_secret(struct definition *d)
{
    d->defs[0].secrets[1] = STR("TOKEM");
}
static void bad_task_param(struct definition *d)
{
    d->defs[0].params[0] = STR("c");
}
static void bad_unowned_params(struct definition *d)
{
    d->defs[0].own_params = false;
}
static void bad_external(struct definition *d)
{
    d->defs[1].external = STR("");
}
static void bad_kind(struct definition *d)
{
    d->defs[2].kind = 5;
}
/* As C strings they are all the same. */
static void bad_id(struct definition *d)
{
    d->defs[2].id = STR("e\0nd");
}
/* No command could name it. */
static void bad_bracket_id(struct definition *d)
{
    d->defs[2].id = STR("e[n");
}
static void bad_argument(struct definition *d)
{
    d->defs[2].argv[0] = STR("x\0");
}

#define DAMAGE(name) \
    {                \
#name, name  \
    }
static const struct damage damages[] = {
    DAMAGE(bad_undo_scope),   DAMAGE(bad_scope_without_undo),
    DAMAGE(bad_on_failure),   DAMAGE(bad_on_crash),
    DAMAGE(bad_secrets),      DAMAGE(bad_when),
    DAMAGE(bad_finally_need), DAMAGE(bad_ordinary_need),
    DAMAGE(bad_thresholds),   DAMAGE(bad_threshold),
    DAMAGE(bad_no_check),     DAMAGE(bad_no_side_shell),
    DAMAGE(bad_side_shell),   DAMAGE(bad_task_secret),
    DAMAGE(bad_task_param),   DAMAGE(bad_unowned_params),
    DAMAGE(bad_external),     DAMAGE(bad_kind),
    DAMAGE(bad_id),           DAMAGE(bad_bracket_id),
    DAMAGE(bad_argument)};

START_TEST(test_damage)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse(workflow);
    damages[_i].do_it(&help_definition);
    encode(&help_definition, &bytes);
    int result = decode(buf_view(&bytes), &d);
    ck_assert_msg(result == CAIRN_EDAMAGED, "%s: %d", damages[_i].what, result);
    buf_release(&bytes);
}
END_TEST

/* ---- Version 4 ---- */

/* Only a definition with it is written so, and no older one has it. */
/* What version 5 brings. */
START_TEST(test_depfile)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {run: x, depfile: a.d}, b: {exec: [y]}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[8], 5);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_text(d.defs[0].depfile, "a.d");
    ck_text(d.defs[1].depfile, "");
    definition_release(&d);
    bytes.data[8] = 4;
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_parse("name: n\ntasks: {a: {run: x}, b: {run: x},\n"
               "  c: {run: x, needs: [a, {task: b, order: true}]}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[8], 5);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert(!d.defs[2].needs[0].order && d.defs[2].needs[1].order);
    definition_release(&d);
    help_parse("name: n\ndescription: all\ntasks: {a: {run: x, description: one}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_text(d.description, "all");
    ck_text(d.defs[0].description, "one");
    definition_release(&d);
    help_parse("name: n\ntasks: {a: {run: x}, b: {run: x},\n"
               "  c: {run: x, needs: [a, {task: b, order: true}]}}\n");
    encode(&help_definition, &bytes);
    for (uint8_t bit = 2; bit; bit = (uint8_t)(bit << 1)) {
        bytes.data[bytes.size - 1] = (char)bit;
        ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    }
    buf_release(&bytes);
}
END_TEST

/* Columns of a sheet come back; what could not have been written is refused. */
START_TEST(test_columns)
{
    static struct str values[] = {{"a", 1}, {"b", 1}}, names[] = {{"x", 1}, {"y", 1}},
                      cells[] = {{"1", 1}, {"", 0}, {"3", 1}, {"4 4", 3}};
    struct foreach_key key = {.name = STR("k"),
                              .source = FOREACH_SHEET,
                              .spec = STR("s.csv"),
                              .values = values,
                              .n = 2,
                              .columns = names,
                              .n_columns = 2,
                              .cells = cells};
    struct definition *d = help_parse("name: n\ntasks: {a: {run: x}}\n"), again;
    struct buf bytes = BUF_INIT, more = BUF_INIT;
    d->defs[0].foreach = &key;
    d->defs[0].n_foreach = 1;
    encode(d, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 5);
    ck_assert_int_eq(decode(buf_view(&bytes), &again), 0);
    ck_assert_uint_eq(again.defs[0].members, 2);
    ck_assert_uint_eq(again.defs[0].foreach[0].n_columns, 2);
    ck_text(again.defs[0].foreach[0].columns[1], "y");
    ck_text(again.defs[0].foreach[0].cells[3], "4 4");
    encode(&again, &more);
    ck_assert(str_equal(buf_view(&bytes), buf_view(&more)));
    definition_release(&again);
    for (size_t n = 0; n < bytes.size; n++)
        ck_assert_int_eq(decode((struct str){bytes.data, n}, &again), CAIRN_EDAMAGED);
    names[1] = STR("x"); /* twice */
    encode(d, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &again), CAIRN_EDAMAGED);
    names[1] = STR("k"); /* the key */
    encode(d, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &again), CAIRN_EDAMAGED);
    names[1] = STR("No");
    encode(d, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &again), CAIRN_EDAMAGED);
    d->defs[0].n_foreach = 0;
    buf_release(&bytes);
    buf_release(&more);
}
END_TEST

/* Version 6 says which failures are retried or allowed, and weights; what does not is written as
 * before. */
START_TEST(test_version_6)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {run: x, retries: {max: 2, cap: 9s, on: [check, 7, "
               "timeout]}}, b: {run: y, retries: 3}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 6);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert_int_eq(d.defs[0].retry.cap_ms, 9000);
    ck_assert_uint_eq(d.defs[0].retry.on, RETRY_CHECK | RETRY_TIMEOUT);
    ck_assert_uint_eq(d.defs[0].retry.n_on_exit, 1);
    ck_assert_uint_eq(d.defs[1].retry.on, 0);
    definition_release(&d);
    buf_clear(&bytes);
    help_parse(
        "name: n\ntasks: {a: {run: x, may_fail: true}, b: {run: y, skip_exit: 77},\n"
        "  c: {run: z, needs: [b, {task: a, soft: true}]}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 6);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert(d.defs[0].may_fail && !d.defs[1].may_fail);
    ck_assert_uint_eq(d.defs[1].skip_exit, 77);
    ck_assert_uint_eq(d.defs[0].skip_exit, 0);
    ck_assert(!d.defs[2].needs[0].soft && d.defs[2].needs[1].soft);
    ck_assert(!d.defs[2].needs[1].order);
    definition_release(&d);
    bytes.data[DEFINITION_MAGIC_BYTES] = 5;
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[2].when = WHEN_SUCCESS;
    help_definition.on_failure = ON_FAILURE_CANCEL;
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert_int_eq(d.on_failure, ON_FAILURE_CANCEL);
    definition_release(&d);
    help_definition.defs[2].when = WHEN_ALWAYS; /* which no file says */
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    static const char *const weights[] = {"{run: x, slots: 3, nice: 9}",
                                          "{run: x, pool: {q: 2}}",
                                          "{run: x, pool: [p, q]}"};
    for (size_t i = 0; i < 3; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "name: n\npools: {p: 1, q: 2}\ntasks: {a: %s, b: {run: y, pool: q}}\n",
                 weights[i]);
        help_parse(text);
        buf_clear(&bytes);
        encode(&help_definition, &bytes);
        ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 6);
        ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
        ck_assert_uint_eq(d.defs[0].slots, i == 0 ? 3 : 0);
        ck_assert_uint_eq(d.defs[0].nice, i == 0 ? 9 : 0);
        ck_assert_uint_eq(d.defs[0].n_pools, i);
        if (i)
            ck_assert_uint_eq(d.defs[0].pools[i - 1].places, i == 1 ? 2 : 1);
        ck_assert_uint_eq(d.defs[1].pools[0].pool, 1);
        definition_release(&d);
    }
    help_definition.defs[0].pools[1].places = 3; /* more than there are */
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[0].pools[1] = help_definition.defs[0].pools[0];
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    buf_clear(&bytes);
    help_parse("name: n\ntasks: {b: {run: y, retries: 3}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 2);
    buf_release(&bytes);
}
END_TEST

START_TEST(test_version_7)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {run: x, fallback: y}, b: {exec: [z]}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 7);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_text(d.defs[0].fallback, "y");
    ck_assert_uint_eq(d.defs[1].fallback.len, 0);
    definition_release(&d);
    help_parse("name: n\ntasks: {a: {service: true, run: x, ready: y, port: [p, q]},\n"
               "  b: {run: z, needs: a}}\n");
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 7);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert_uint_eq(d.defs[0].n_ports, 2);
    ck_text(d.defs[0].ports[1], "q");
    definition_release(&d);
    help_definition.defs[0].port = true; /* both: which no file says */
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[0].port = false;
    help_definition.defs[0].ports[1] = help_definition.defs[0].ports[0];
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_parse("name: n\ntasks: {a: {run: x, fallback: y}, b: {exec: [z]}}\n");
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    bytes.data[DEFINITION_MAGIC_BYTES] = 6;
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[1].fallback = STR("y"); /* without a shell */
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    buf_release(&bytes);
}
END_TEST

/* Tasks that were added to a run stand at the end: the bytes of a definition with more
 * of them are those of the one without, and theirs. */
START_TEST(test_added)
{
    static const char *const needs[] = {"", "a", "b"};
    struct buf bytes = BUF_INIT, before = BUF_INIT, more = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {run: x}, b: {run: x, needs: a},\n"
               "  c: {run: x, needs: [a, b]}}\n");
    for (uint32_t n = 1; n <= 3; n++) {
        help_definition.n_defs = n;
        help_definition.n_added = n - 1;
        encode(&help_definition, &bytes);
        ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], n > 1 ? 7 : 2);
        ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
        ck_assert_uint_eq(d.n_defs, n);
        ck_assert_uint_eq(d.n_added, n - 1);
        if (n > 1)
            ck_text(d.defs[d.defs[n - 1].needs[n - 2].target].id, needs[n - 1]);
        encode(&d, &more);
        ck_assert(str_equal(buf_view(&bytes), buf_view(&more)));
        if (n == 3) {
            ck_assert_int_eq(
                definition_encode_added(&help_definition, 2, &before, NULL), 0);
            ck_assert(str_equal(buf_view(&bytes), buf_view(&before)));
        }
        buf_clear(&before);
        buf_str(&before, buf_view(&bytes));
        definition_release(&d);
    }
    buf_byte(&bytes, 0);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[2].needs[0].target = 3; /* which is not there */
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[2].needs[0].target = 0;
    buf_release(&bytes);
    buf_release(&before);
    buf_release(&more);
}
END_TEST

START_TEST(test_reuse)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ndefaults: {reuse: true}\n"
               "tasks: {a: {run: x, cutoff: true}, b: {run: y, reuse: false},\n"
               "  c: {run: z, once: true}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 6);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert(d.defs[0].reuse && d.defs[0].cutoff);
    ck_assert(!d.defs[1].reuse && !d.defs[1].cutoff && !d.defs[2].reuse);
    definition_release(&d);
    bytes.data[DEFINITION_MAGIC_BYTES] = 5;
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[2].reuse = true; /* which no file says */
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    buf_release(&bytes);
}
END_TEST

START_TEST(test_artifacts)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse(
        "name: n\ntasks: {a: {run: x, artifacts: [p, 'q.${{ run.id }}']},\n"
        "  b: {run: y, artifacts: {files: p, keep: 2s, none: fail, when: always},"
        " outputs: o, reuse: {keep: 3s}},\n"
        "  c: {run: z, artifacts: []}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 7);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert(d.defs[0].n_artifacts == 2 && !d.defs[0].artifacts_ms);
    ck_assert(str_equal(d.defs[0].artifacts[1], STR("q.${{ run.id }}")));
    ck_assert(d.defs[1].n_artifacts == 1 && d.defs[1].artifacts_ms == 2000);
    ck_assert(d.defs[1].artifacts_wanted && !d.defs[0].artifacts_wanted);
    ck_assert(d.defs[1].artifacts_when == ARTIFACTS_ALWAYS);
    ck_assert(d.defs[1].reuse && d.defs[1].reuse_ms == 3000 && !d.defs[0].reuse_ms);
    ck_assert(d.defs[2].n_artifacts == 0);
    definition_release(&d);
    bytes.data[DEFINITION_MAGIC_BYTES] = 6;
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[2].artifacts_ms = 1; /* which no file says */
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    buf_release(&bytes);
}
END_TEST

START_TEST(test_args)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {run: x, args: [p, 'q.${{ run.id }}']},\n"
               "  b: {exec: [y]}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 7);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert_uint_eq(d.defs[0].n_argv, 2);
    ck_assert(str_equal(d.defs[0].argv[1], STR("q.${{ run.id }}")));
    ck_assert(d.defs[1].n_argv == 1 && str_equal(d.defs[1].argv[0], STR("y")));
    definition_release(&d);
    bytes.data[DEFINITION_MAGIC_BYTES] = 6;
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_parse("name: n\ntasks: {a: {run: x, args: []}, b: {exec: [y, z]}}\n");
    buf_clear(&bytes);
    encode(&help_definition, &bytes); /* nothing new in it */
    ck_assert_int_lt(bytes.data[DEFINITION_MAGIC_BYTES], 7);
    buf_release(&bytes);
}
END_TEST

START_TEST(test_stale)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ndefaults: {stale: keep}\ntasks: {a: {run: x, stale: remove},\n"
               "  b: {run: y}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 7);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert_uint_eq(d.stale, ON_STALE_KEEP);
    ck_assert_uint_eq(d.defs[0].stale, ON_STALE_REMOVE);
    ck_assert_uint_eq(d.defs[1].stale, ON_STALE_KEEP);
    definition_release(&d);
    help_definition.stale = 3;
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.stale = 0;
    help_definition.defs[0].stale = 3;
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    buf_release(&bytes);
}
END_TEST

START_TEST(test_lists)
{
    static const struct {
        const char *from, *spec;
        int version;
    } lists[] = {
        {"from: s, value: v", "s v 10000", 5},
        {"from: s, value: v, max: 7, allow_empty: true", "s v 7 empty", 5},
        {"from: s, lines: a b", "s @lines 10000 - a b", 6},
        {"from: s, glob: '*.x', allow_empty: true", "s @glob 10000 empty *.x", 6},
        {"from: g, value: v", "g v 10000", 6},
        {"from: s, csv: a b", "s @csv 10000 - 1:k,0:,0:,a b", 7},
        {"from: s, tsv: t, key: A b, columns: [A b, c], allow_empty: true",
         "s @tsv 10000 empty 3:A b,10:3:A b,1:c,,0:,t", 7},
        {"from: s, jsonl: t, max: 3", "s @jsonl 3 - 1:k,0:,0:,t", 7},
        {"from: g, lines: 'x/${{ k }}'", "g @lines 10000 - x/${{ k }}", 7},
        {"from: g, json: '${{ k }}.json'", "g @json 10000 - 1:k,0:,0:,${{ k }}.json",
         7},
    };
    struct buf bytes = BUF_INIT;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char text[400];
        struct definition d;
        snprintf(text, sizeof text,
                 "name: n\ntasks: {s: {exec: [x]}, g: {foreach: {k: [1]}, exec: [x]},\n"
                 "  a: {foreach: {k: {%s}}, exec: [y]}}\n",
                 lists[i].from);
        help_parse(text);
        buf_clear(&bytes);
        encode(&help_definition, &bytes);
        ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], lists[i].version);
        ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
        ck_assert(str_equal(d.defs[2].foreach[0].spec, str_of(lists[i].spec)));
        definition_release(&d);
        bytes.data[DEFINITION_MAGIC_BYTES] = (char)(lists[i].version - 1);
        if (strchr(lists[i].spec, '@'))
            ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    }
    help_parse("name: n\ntasks: {s: {exec: [x]}, g: {foreach: {k: [1]}, exec: [x]},\n"
               "  a: {foreach: {k: {from: s, value: v}}, exec: [y]}}\n");
    /* Of a list that is no good any more the members stay. */
    struct cairn_error error = {0};
    struct str values[] = {STR("x"), STR("y")};
    struct list_values none = {.at = NULL}, former = {.at = values, .n = 2};
    struct task_def *def = &help_definition.defs[2];
    struct definition back;
    ck_assert_int_eq(definition_put_list(&help_definition, def, def->foreach, none,
                                         former, STR("why"), &error),
                     0);
    ck_assert_uint_eq(def->members, 3);
    buf_clear(&bytes);
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[DEFINITION_MAGIC_BYTES], 6);
    ck_assert_int_eq(decode(buf_view(&bytes), &back), 0);
    ck_assert(task_def_is_unlisted(&back.defs[2]));
    former = list_values_of(back.defs[2].foreach);
    ck_assert_uint_eq(former.n, 2);
    ck_assert(str_equal(former.at[1], STR("y")));
    definition_release(&back);
    buf_release(&bytes);
}
END_TEST

START_TEST(test_lost_claims)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {external: x, lost_claims: 3}, b: {exec: [y]}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[8], 5);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert_uint_eq(d.defs[0].lost_claims, 3);
    ck_assert_uint_eq(d.defs[1].lost_claims, 0);
    definition_release(&d);
    buf_clear(&bytes);
    help_parse("name: n\ntasks: {a: {external: x}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[8], 2);
    buf_release(&bytes);
}
END_TEST

/* Version 8: the name of a callback, with arguments as its environment. */
START_TEST(test_named_callback)
{
    struct buf bytes = BUF_INIT, again = BUF_INIT;
    struct definition d;
    help_parse("name: n\nenv: {A: not for it}\nparams: {u: v}\n"
               "tasks: {a: {call: f/g, with: {z: \"1\", b: \"${{ params.u }}\"}}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[8], 8);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert_uint_eq(d.defs[0].kind, TASK_CALL);
    ck_assert(str_equal(d.defs[0].callback, STR("f/g")) && !d.defs[0].call);
    ck_assert_uint_eq(d.defs[0].n_env, 2);
    ck_assert(str_equal(d.defs[0].env[0].key, STR("b")));
    encode(&d, &again);
    ck_assert(str_equal(buf_view(&bytes), buf_view(&again)));
    definition_release(&d);
    /* A name that no registry can have. */
    char *name = memmem(bytes.data, bytes.size, "f/g", 3);
    ck_assert_ptr_nonnull(name);
    name[1] = ' ';
    ck_assert_int_ne(decode(buf_view(&bytes), &d), 0);
    buf_release(&bytes);
    buf_release(&again);
}
END_TEST

START_TEST(test_stderr_apart)
{
    struct buf bytes = BUF_INIT, without = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {run: x, once: true}}\n");
    encode(&help_definition, &without);
    ck_assert_int_eq(without.data[8], 2);
    help_parse("name: n\ntasks: {a: {run: x, once: true, stderr: merged}}\n");
    encode(&help_definition, &bytes);
    ck_assert(str_equal(buf_view(&bytes), buf_view(&without)));
    help_parse("name: n\ntasks: {a: {run: x, once: true, stderr: apart}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[8], 4);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_assert(d.defs[0].apart && d.defs[0].once);
    definition_release(&d);
    for (char version = 2; version < 4; version++) {
        bytes.data[8] = version;
        ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    }
    buf_release(&bytes);
    buf_release(&without);
}
END_TEST

/* ---- Version 1 ---- */

/* What the release before wrote for this text. */
static const char old_workflow[] =
    "name: n\n"
    "params: {day: mon}\n"
    "env: {LC: C}\n"
    "jobs: 8\n"
    "pools: {db: 2}\n"
    "on_failure: continue\n"
    "tasks:\n"
    "  get: {run: go, timeout: {after: 1s, grace: 1s}, outputs: [raw], pool: db}\n"
    "  cut:\n"
    "    foreach: {part: {range: [1, 2]}}\n"
    "    needs: [get]\n"
    "    exec: [x, \"${{ part }}\"]\n"
    "    retries: {max: 3, jitter: true, on_exit: [6]}\n"
    "  use: {run: z, needs: [\"cut[part=2]\", cut], cwd: d, priority: -3}\n";
static const char old_bytes[] =
    "434149524e44454601016e092f772f772e79616d6c022f770103646179036d6f6e0801010264"
    "620203036765740102676f03027368032d6575022d6301024c4301430001037261770000e807"
    "e8070000e8070000010003637574020201780b247b7b2070617274207d7d01024c4301430000"
    "0104706172740204312e2e3202013101320103676574000000904e0300e80701010600000375"
    "736501017a03027368032d6575022d6301024c43014301640000020b6375745b706172743d32"
    "5d0101013203637574010000904e0000e80700000005";

static void from_hex(struct buf *out, const char *hex)
{
    for (; *hex; hex += 2) {
        char pair[3] = {hex[0], hex[1], 0};
        buf_byte(out, (uint8_t)strtoul(pair, NULL, 16));
    }
}

/* It means what the same file means today, but for excluded members: encoded again, it
 * is the same but for the name of the root, which here is a directory of the test. */
START_TEST(test_version_1)
{
    struct buf old = BUF_INIT, decoded = BUF_INIT, parsed = BUF_INIT;
    struct definition d;
    from_hex(&old, old_bytes);
    ck_assert_msg(decode(buf_view(&old), &d) == 0, "%s", help_error.text);
    ck_text(d.root, "/w");
    help_parse(old_workflow);
    help_definition.root = STR("/w");
    ck_assert(d.all_need_all); /* it wants a group, and that is what it meant then */
    help_definition.all_need_all = true;
    encode(&d, &decoded);
    encode(&help_definition, &parsed);
    ck_assert(str_equal(buf_view(&decoded), buf_view(&parsed)));
    definition_release(&d);
    for (size_t n = 0; n < old.size; n++)
        ck_assert_int_eq(decode_exact(old.data, n, &d), CAIRN_EDAMAGED);
    buf_release(&old);
    buf_release(&decoded);
    buf_release(&parsed);
}
END_TEST

/* Version 1 had no external tasks and no undo. */
START_TEST(test_version_1_is_old)
{
    struct buf old = BUF_INIT;
    struct definition d;
    from_hex(&old, old_bytes);
    char *on_failure = memmem(old.data, old.size,
                              "\x08\x01\x01\x02"
                              "db",
                              6);
    ck_assert_ptr_nonnull(on_failure);
    on_failure[1] = ON_FAILURE_UNDO;
    ck_assert_int_eq(decode(buf_view(&old), &d), CAIRN_EDAMAGED);
    on_failure[1] = ON_FAILURE_CONTINUE;
    ck_assert_int_eq(decode(buf_view(&old), &d), 0);
    definition_release(&d);
    for (int version = 0; version < 256; version++) {
        old.data[8] = (char)version;
        int result = decode(buf_view(&old), &d);
        ck_assert_int_eq(result, version == 1 ? 0 : CAIRN_EDAMAGED);
        if (version == 1)
            definition_release(&d);
    }
    buf_release(&old);
}
END_TEST

/* What version 6 brings for tasks with rounds. */
START_TEST(test_rounds)
{
    struct buf bytes = BUF_INIT;
    struct definition d;
    help_parse("name: n\ntasks: {a: {run: x, repeat: {until: outputs.n == 3, max: 5, "
               "delay: 2s}}, b: {run: x}}\n");
    encode(&help_definition, &bytes);
    ck_assert_int_eq(bytes.data[8], 6);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), 0);
    ck_text(d.defs[0].repeat.until, "outputs.n == 3");
    ck_assert_uint_eq(d.defs[0].repeat.max, 5);
    ck_assert_int_eq(d.defs[0].repeat.delay_ms, 2000);
    ck_text(d.defs[1].repeat.until, "");
    definition_release(&d);
    help_definition.defs[0].repeat.max = 0;
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[0].repeat.max = 5;
    help_definition.defs[1].repeat.delay_ms = 1;
    encode(&help_definition, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &d), CAIRN_EDAMAGED);
    help_definition.defs[1].repeat.delay_ms = 0;
    buf_release(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec");
    TCase *tests = tcase_create("codec");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_sensitive);
    tcase_add_test(tests, test_mutations);
    tcase_add_loop_test(tests, test_damage, 0,
                        (int)(sizeof damages / sizeof damages[0]));
    tcase_add_test(tests, test_depfile);
    tcase_add_test(tests, test_rounds);
    tcase_add_test(tests, test_columns);
    tcase_add_test(tests, test_version_6);
    tcase_add_test(tests, test_version_7);
    tcase_add_test(tests, test_added);
    tcase_add_test(tests, test_reuse);
    tcase_add_test(tests, test_artifacts);
    tcase_add_test(tests, test_args);
    tcase_add_test(tests, test_stale);
    tcase_add_test(tests, test_lists);
    tcase_add_test(tests, test_lost_claims);
    tcase_add_test(tests, test_named_callback);
    tcase_add_test(tests, test_stderr_apart);
    tcase_add_test(tests, test_version_1);
    tcase_add_test(tests, test_version_1_is_old);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
