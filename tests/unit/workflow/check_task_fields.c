/* SPDX-License-Identifier: MIT */
/* What the table of task fields (graph/task_fields.c) must not change by itself: the
 * bytes of a definition that uses every field, the fingerprints of its tasks, and what
 * people are told when all of it is edited. The digests were taken from the code that
 * wrote each field by hand. */
#include "tests/support/parse.h"

#include "graph/definition_codec.h"
#include "graph/fingerprint.h"
#include "graph/graph.h"
#include "graph/task_fields.h"
#include "tests/support/suite.h"

/* Every key of a task, in each kind of task that may have it. */
static const char every_field[] =
    "name: all\n"
    "params: {day: mon, n: 3, z: last}\n"
    "secrets: [TOKEN, KEY]\n"
    "env: {LC_ALL: C, WHEN: \"${{ params.day }}\"}\n"
    "defaults: {timeout: {after: 9m, grace: 3s}, retries: 1, shell: [bash, -c]}\n"
    "jobs: 7\n"
    "pools: {db: 2, net: 5}\n"
    "deadline: 6h\n"
    "on_failure: {undo: ancestors}\n"
    "on_crash: adopt\n"
    "tasks:\n"
    "  get: {run: \"curl it\", outputs: [raw], timeout: 2m}\n"
    "  split:\n"
    "    foreach: {part: {range: [1, 3]}, kind: [\"a b\", c]}\n"
    "    needs: [get]\n"
    "    exec: [./split, \"${{ part }}\", \"${{ params.n }}\"]\n"
    "    env: {OUT: \"${{ kind }}\", LC_ALL: de}\n"
    "    cwd: \"in/${{ kind }}\"\n"
    "    priority: -5\n"
    "    when: always\n"
    "  load:\n"
    "    foreach: {part: {range: [1, 3]}, kind: [\"a b\", c]}\n"
    "    needs: [get, \"split[part=${{ part }},kind=${{ kind }}]\"]\n"
    "    run: load\n"
    "    shell: [zsh, -e, -c]\n"
    "    params: [z, day]\n"
    "    secrets: [TOKEN]\n"
    "    inputs: [raw, \"in/${{ part }}\"]\n"
    "    outputs: \"out/${{ part }}\"\n"
    "    if: \"params.day != 'sun' && tasks.get.outputs.n > 1\"\n"
    "    once: true\n"
    "    check: {run: ./ok, min: 0.5, warn: 0.625}\n"
    "    undo: rm out\n"
    "    timeout: {after: 90s, grace: 0s}\n"
    "    retries: {max: 3, delay: 250ms, factor: 1.5, jitter: true, on_exit: [7, 28]}\n"
    "    pool: net\n"
    "    priority: 12\n"
    "  probe: {exec: [probe], check: ./probed, shell: [sh, -c], needs: load}\n"
    "  ask:\n"
    "    external: \"Approve ${{ params.day }}\"\n"
    "    needs: probe\n"
    "    when: failed\n"
    "    outputs: note\n"
    "    cwd: in\n"
    "    undo: retract\n"
    "finally:\n"
    "  tell: {run: \"tell them\", if: run.status == 'failed', params: [day]}\n"
    "  hook: {run: becomes a callback}\n";

/* The same tasks, in which everything that counts is another. */
static const char other_fields[] =
    "name: all\n"
    "params: {day: tue, m: 4, z: last}\n"
    "secrets: [TOKEN, KEY]\n"
    "env: {LC_ALL: C, WHERE: here}\n"
    "tasks:\n"
    "  get: {external: \"fetch it\", outputs: [raw, more]}\n"
    "  split:\n"
    "    foreach: {part: {range: [1, 3]}, kind: [\"a b\", c]}\n"
    "    exec: [./split, \"it's\"]\n"
    "    env: {OUT: x}\n"
    "    when: success\n"
    "  load:\n"
    "    foreach: {part: {range: [1, 3]}, form: [c]}\n"
    "    needs: [split, get]\n"
    "    run: load more\n"
    "    shell: [sh, -c]\n"
    "    params: [z]\n"
    "    secrets: [KEY, TOKEN]\n"
    "    inputs: [\"in put\"]\n"
    "    if: params.z\n"
    "    check: {run: ./ok, min: 0.725}\n"
    "    undo: rm -f out\n"
    "    timeout: 5m\n"
    "    retries: 9\n"
    "    priority: 1\n"
    "  probe: {exec: [probe], check: ./probed, shell: [dash, -c], needs: load}\n"
    "  ask: {run: ask, needs: probe, when: failed}\n"
    "finally:\n"
    "  tell: {run: \"tell them\"}\n"
    "  hook: {run: becomes a callback}\n";

/* Files cannot have callbacks: the last task becomes one. */
static void parse(const char *text, const char *version, struct definition *out)
{
    help_options.file = "/w/w.yaml";
    help_options.root = "/w";
    int rc = definition_parse(str_of(text), &help_options, out, &help_error);
    ck_assert_msg(rc == 0, "refused: %s", help_error.text);
    struct task_def *hook = &out->defs[out->n_defs - 1];
    hook->kind = TASK_CALL;
    hook->version = str_of(version);
    hook->run = STR("");
    hook->n_shell = 0;
}

static void check_digest(struct str bytes, const char *expected)
{
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    ck_assert_int_eq(sha256_of(bytes.ptr, bytes.len, &digest, NULL), 0);
    digest_hex(&digest, hex);
    ck_assert_str_eq(hex, expected);
}

/* Its bytes, and the same again from what they mean. */
static void check_bytes(const struct definition *definition, size_t size,
                        const char *digest, struct definition *again)
{
    struct buf bytes = BUF_INIT, second = BUF_INIT;
    ck_assert_int_eq(definition_encode(definition, &bytes, NULL), 0);
    ck_assert_uint_eq(bytes.size, size);
    check_digest(buf_view(&bytes), digest);
    ck_assert_int_eq(definition_decode(buf_view(&bytes), again, NULL), 0);
    ck_assert_int_eq(definition_encode(again, &second, NULL), 0);
    ck_assert(str_equal(buf_view(&bytes), buf_view(&second)));
    buf_release(&bytes);
    buf_release(&second);
}

START_TEST(test_bytes)
{
    struct definition definition, again;
    parse(every_field, "v 1", &definition);
    check_bytes(&definition, 1056,
                "6d53c18f9c58e344f959ed44730bf8404e17492ddeb89640cf33c378847d66dd",
                &again);
    ck_assert(!again.all_need_all);
    definition_release(&again);
    /* By the rule that held before version 4: the bytes that were written then. */
    definition.all_need_all = true;
    check_bytes(&definition, 1043,
                "57ace1d9f9565441bccdc2c7cfe03cdc648eaf7ec6afc97e83da96f991e2a54f",
                &again);
    ck_assert(again.all_need_all);
    definition_release(&again);
    definition_release(&definition);
}
END_TEST

/* Parts of groups, and what needs all. */
START_TEST(test_parts)
{
    static const char text[] = "name: p\n"
                               "tasks:\n"
                               "  t: {foreach: {py: [a, b], os: [x]}, run: x}\n"
                               "  u: {run: x, needs: [\"t[os=x]\"], needs_all: true}\n"
                               "  v: {foreach: {py: [b]}, run: x,\n"
                               "      needs: [\"t[py=${{ py }}]\"]}\n"
                               "  last: {run: x, needs: u}\n";
    struct definition definition, again;
    parse(text, "v", &definition);
    ck_assert_uint_eq(definition.defs[1].needs[0].open, 1);
    ck_assert_uint_eq(definition.defs[2].needs[0].open, 2);
    check_bytes(&definition, 277,
                "67d2c3bc4a5783629fe9aade5891015c0dcf73f1a2d89dad8e806efa91a5817a",
                &again);
    ck_assert_uint_eq(again.defs[1].needs[0].open, 1);
    ck_assert_uint_eq(again.defs[2].needs[0].open, 2);
    ck_assert(again.defs[1].needs_all && !again.defs[2].needs_all);
    /* The old rule with something that only version 4 has. */
    definition_release(&again);
    definition.all_need_all = true;
    check_bytes(&definition, 277,
                "009226fb8cb01f503938876365e1525e36fe72d97d8076d06580cfee847a73b5",
                &again);
    ck_assert(again.all_need_all);
    definition_release(&again);
    definition_release(&definition);
}
END_TEST

/* Those of all tasks, one behind the other. */
static void check_fingerprints(const char *text, const char *version,
                               const char *expected)
{
    enum { MOST = 32 };
    struct definition definition;
    struct graph graph;
    struct digest digests[MOST];
    parse(text, version, &definition);
    ck_assert_int_eq(graph_build(&graph, &definition, &help_error), 0);
    ck_assert_uint_le(graph.n_tasks, MOST);
    ck_assert_int_eq(graph_fingerprints(&graph, digests, &help_error), 0);
    check_digest((struct str){(const char *)digests, graph.n_tasks * sizeof digests[0]},
                 expected);
    graph_release(&graph);
    definition_release(&definition);
}

START_TEST(test_fingerprints)
{
    check_fingerprints(
        every_field, "v 1",
        "35633f06a6253652875d45281c8a3feb6c96dabac8c6e0ccc14431408eb14b28");
    check_fingerprints(
        other_fields, "v 2",
        "c3aab3e57c18c4d85b060136b230a2f5c1c0e75be586d5250a049e1419c54c5e");
}
END_TEST

static int add_line(void *context, const char *field, const char *old, const char *now)
{
    buf_format(context, "%s: %s -> %s\n", field, old ? old : "(none)",
               now ? now : "(none)");
    return 0;
}

static void add_changes(const struct definition *a, const struct definition *b,
                        const char *id, struct buf *out)
{
    const struct task_def *old = &a->defs[map_get(&a->by_id, str_of(id))];
    const struct task_def *now = &b->defs[map_get(&b->by_id, str_of(id))];
    buf_format(out, "[%s]\n", id);
    ck_assert_int_eq(fingerprint_changes(a, old, b, now, add_line, out, &help_error),
                     0);
}

START_TEST(test_changes)
{
    static const char *const ids[] = {"get", "split", "load", "probe",
                                      "ask", "tell",  "hook"};
    static const char expected[] =
        "[get]\n"
        "command: curl it -> (none)\n"
        "external: (none) -> fetch it\n"
        "shell: bash -c -> (none)\n"
        "env WHEN: ${{ params.day }} -> (none)\n"
        "env WHERE: (none) -> here\n"
        "outputs: raw -> raw, more\n"
        "param day: mon -> tue\n"
        "param n: 3 -> (none)\n"
        "param m: (none) -> 4\n"
        "[split]\n"
        "command: ./split '${{ part }}' '${{ params.n }}' -> ./split 'it'\\''s'\n"
        "env LC_ALL: de -> C\n"
        "env OUT: ${{ kind }} -> x\n"
        "env WHEN: ${{ params.day }} -> (none)\n"
        "env WHERE: (none) -> here\n"
        "cwd: in/${{ kind }} -> (none)\n"
        "param day: mon -> tue\n"
        "param n: 3 -> (none)\n"
        "param m: (none) -> 4\n"
        "needs: get -> (none)\n"
        "when: always -> success\n"
        "[load]\n"
        "command: load -> load more\n"
        "shell: zsh -e -c -> sh -c\n"
        "env WHEN: ${{ params.day }} -> (none)\n"
        "env WHERE: (none) -> here\n"
        "inputs: raw, 'in/${{ part }}' -> 'in put'\n"
        "outputs: 'out/${{ part }}' -> (none)\n"
        "param day: mon -> (none)\n"
        "foreach: part, kind -> part, form\n"
        "needs: get, 'split[part=${{ part }},kind=${{ kind }}]' -> get, split\n"
        "if: params.day != 'sun' && tasks.get.outputs.n > 1 -> params.z\n"
        "check: ./ok (at least 50.0 %) -> ./ok (at least 72.5 %)\n"
        "secrets: TOKEN -> KEY, TOKEN\n"
        "[probe]\n"
        "shell: sh -c -> dash -c\n"
        "env WHEN: ${{ params.day }} -> (none)\n"
        "env WHERE: (none) -> here\n"
        "param day: mon -> tue\n"
        "param n: 3 -> (none)\n"
        "param m: (none) -> 4\n"
        "[ask]\n"
        "command: (none) -> ask\n"
        "external: Approve ${{ params.day }} -> (none)\n"
        "shell: (none) -> sh -eu -c\n"
        "env WHEN: ${{ params.day }} -> (none)\n"
        "env WHERE: (none) -> here\n"
        "cwd: in -> (none)\n"
        "outputs: note -> (none)\n"
        "param day: mon -> tue\n"
        "param n: 3 -> (none)\n"
        "param m: (none) -> 4\n"
        "[tell]\n"
        "shell: bash -c -> sh -eu -c\n"
        "env WHEN: ${{ params.day }} -> (none)\n"
        "env WHERE: (none) -> here\n"
        "param day: mon -> tue\n"
        "param z: (none) -> last\n"
        "param m: (none) -> 4\n"
        "if: run.status == 'failed' -> (none)\n"
        "[hook]\n"
        "version: v 1 -> v 2\n"
        "env WHEN: ${{ params.day }} -> (none)\n"
        "env WHERE: (none) -> here\n"
        "param day: mon -> tue\n"
        "param n: 3 -> (none)\n"
        "param m: (none) -> 4\n";
    struct definition before, after;
    struct buf got = BUF_INIT;
    parse(every_field, "v 1", &before);
    parse(other_fields, "v 2", &after);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        add_changes(&before, &after, ids[i], &got);
    ck_assert_str_eq(got.data, expected);
    buf_release(&got);
    definition_release(&after);
    definition_release(&before);
}
END_TEST

/* ---- The table itself ---- */

static bool is_listed(const struct task_field *const *list,
                      const struct task_field *field)
{
    while (*list && *list != field)
        list++;
    return *list != NULL;
}

/* A row of the group is in the list. */
static bool is_told(const struct task_field *field)
{
    for (const struct task_field *const *told = difference_fields; *told; told++)
        if (*told == field || (field->group && (*told)->group == field->group))
            return true;
    return false;
}

START_TEST(test_table)
{
    for (const struct task_field *f = task_fields; f->shape; f++) {
        bool counts = is_listed(fingerprint_fields, f);
        ck_assert_msg(counts || f->shape == FIELD_NEEDS ? is_told(f) : !is_told(f),
                      "row %td: what counts is told of, and nothing else",
                      f - task_fields);
        ck_assert_msg(!is_listed(difference_fields, f) || f->name, "row %td",
                      f - task_fields);
        ck_assert_msg(f->kinds && f->since >= 1 && f->since <= DEFINITION_VERSION,
                      "row %td", f - task_fields);
        for (const struct task_field *g = task_fields; g < f; g++)
            ck_assert_msg(
                g->at != f->at || g->shape == FIELD_FLAGS || f->shape == FIELD_FLAGS ||
                    f->shape == FIELD_OPEN_KEYS || f->shape == FIELD_ORDER ||
                    f->shape == FIELD_POOLS || f->shape == FIELD_COLUMNS ||
                    (f->kinds & g->kinds) == 0, /* exec and args */
                "rows %td and %td are of one member", g - task_fields, f - task_fields);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("task_fields");
    TCase *tests = tcase_create("task_fields");
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_add_test(tests, test_bytes);
    tcase_add_test(tests, test_parts);
    tcase_add_test(tests, test_fingerprints);
    tcase_add_test(tests, test_changes);
    tcase_add_test(tests, test_table);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
