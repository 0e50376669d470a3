/* SPDX-License-Identifier: MIT */
/* Every key of a workflow file can be said from C: by fields where cairn_task has some,
 * else by a text; and what is said is the same to the byte as what the file says. Held
 * against the parser's own tables: a key that is in no case here fails. */
#include "tests/support/parse.h"

#include "graph/definition_codec.h"
#include "tests/support/suite.h"
#include "workflow/parse_int.h"
#include "workflow/workflow.h"

#include <stdlib.h>

static struct cairn_error error;

static enum cairn_outcome call(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct cairn_foreach colours = {.key = "c", .values = LIST("red", "blue")};
static const uint8_t exits[] = {7, 0};

/* A task `a` behind `z`, which runs `z` and leaves `o`. `fields` NULL: by a text only. */
static const struct task_case {
    const char *keys; /* that it is about */
    const char *text; /* of `a` */
    const struct cairn_task *fields;
} cases[] = {
    {"run", "run: x", &(struct cairn_task){.run = "x"}},
    {"exec", "exec: [x, y]", &(struct cairn_task){.argv = LIST("x", "y")}},
    {"args", "run: x, args: [p, q]",
     &(struct cairn_task){.run = "x", .args = LIST("p", "q")}},
    {"call with", "call: f, with: {u: v}",
     &(struct cairn_task){.call = call, .callback = "f", .with = LIST("u=v")}},
    {"description", "run: x, description: why",
     &(struct cairn_task){.run = "x", .description = "why"}},
    {"foreach", "run: x, foreach: {c: [red, blue]}",
     &(struct cairn_task){.run = "x", .foreach = &colours}},
    {"env cwd", "run: x, env: {A: b}, cwd: d",
     &(struct cairn_task){.run = "x", .env = LIST("A=b"), .cwd = "d"}},
    {"service ready restart port",
     "run: x, service: true, ready: {run: r, within: 5s, every: 1s}, restart: 2, port: "
     "[h]",
     &(struct cairn_task){.run = "x",
                          .ready = "r",
                          .ready_within_ms = 5000,
                          .ready_every_ms = 1000,
                          .retries = 2,
                          .ports = LIST("h")}},
    {"outputs depfile", "run: x, outputs: [p, q], depfile: d",
     &(struct cairn_task){.run = "x", .outputs = LIST("p", "q"), .depfile = "d"}},
    {"artifacts", "run: x, artifacts: {files: [p], keep: 1h, none: fail, when: always}",
     &(struct cairn_task){.run = "x",
                          .artifacts = LIST("p"),
                          .artifacts_ms = 3600000,
                          .artifacts_wanted = true,
                          .artifacts_when = CAIRN_ARTIFACTS_ALWAYS}},
    {"fallback", "run: x, fallback: y",
     &(struct cairn_task){.run = "x", .fallback = "y"}},
    {"timeout", "run: x, timeout: {after: 1m, grace: 2s}",
     &(struct cairn_task){.run = "x", .timeout_ms = 60000, .grace_ms = 2000}},
    {"retries",
     "run: x, retries: {max: 3, delay: 1s, factor: 2, cap: 5s, jitter: true, on: "
     "[timeout, 7]}",
     &(struct cairn_task){.run = "x",
                          .retries = 3,
                          .retry_delay_ms = 1000,
                          .retry_factor_permille = 2000,
                          .retry_cap_ms = 5000,
                          .retry_jitter = true,
                          .retry_on = CAIRN_RETRY_TIMEOUT,
                          .retry_exits = exits}},
    {"repeat", "run: x, repeat: {until: outputs.n == 0, max: 4, delay: 1s}",
     &(struct cairn_task){
         .run = "x", .until = "outputs.n == 0", .rounds = 4, .round_delay_ms = 1000}},
    {"pool", "run: x, pool: {p: 2}",
     &(struct cairn_task){.run = "x", .pools = LIST("p=2")}},
    {"slots memory nice priority",
     "run: x, slots: 2, memory: 64M, nice: 3, priority: -4",
     &(struct cairn_task){
         .run = "x", .slots = 2, .memory_mib = 64, .nice = 3, .priority = -4}},
    {"stderr", "run: x, stderr: apart",
     &(struct cairn_task){.run = "x", .stderr_apart = true}},
    {"reuse", "run: x, outputs: p, reuse: {keep: 1h}",
     &(struct cairn_task){
         .run = "x", .outputs = LIST("p"), .reuse = true, .reuse_ms = 3600000}},
    {"cutoff stale", "run: x, outputs: p, cutoff: true, stale: keep",
     &(struct cairn_task){.run = "x",
                          .outputs = LIST("p"),
                          .cutoff = true,
                          .stale = CAIRN_ON_STALE_KEEP}},
    {"may_fail skip_exit", "run: x, may_fail: true, skip_exit: 9",
     &(struct cairn_task){.run = "x", .may_fail = true, .skip_exit = 9}},
    {"needs", "run: x, needs: z", &(struct cairn_task){.run = "x", .needs = LIST("z")}},
    {"needs", "run: x, needs: {task: z, order: true}",
     &(struct cairn_task){.run = "x", .after = LIST("z")}},
    {"needs", "run: x, needs: {task: z, soft: true}",
     &(struct cairn_task){.run = "x", .soft = LIST("z")}},
    {"external lost_claims", "external: do it, lost_claims: 3", NULL},
    {"params secrets", "run: x, params: [u], secrets: [T]", NULL},
    {"exclude include",
     "run: x, foreach: {c: [1, 2], d: [3, 4]}, exclude: [{c: 1, d: 3}], include: [{c: "
     "5, d: 6}]",
     NULL},
    {"shell", "run: x, shell: bash", NULL},
    {"inputs", "run: x, inputs: [o, {glob: \"*.c\"}], needs: z", NULL},
    {"if when", "run: x, if: params.u == 'v', when: always, needs: z", NULL},
    {"once", "run: x, once: true", NULL},
    {"check undo", "run: x, check: {run: y, min: 0.5, warn: 0.6}, undo: u", NULL},
    {"needs_all", "run: x, needs: g, needs_all: true", NULL},
    {"extends", "run: x, extends: t", NULL}};

enum { CASES = sizeof cases / sizeof cases[0] };

/* What the cases may refer to; a workflow of fields has `pools` only. */
static const char top[] = "name: n\n"
                          "description: all of the top level\n"
                          "params: {u: v}\n"
                          "concurrency: workflow\n"
                          "again: never\n"
                          "secrets: [T]\n"
                          "env: {E: e}\n"
                          "pools: {p: 3}\n"
                          "defaults: {timeout: 9m}\n"
                          "include: [{file: other.yaml, as: other}]\n"
                          "templates: {t: {priority: 3}}\n"
                          "jobs: 3\n"
                          "memory: 1G\n"
                          "deadline: 1h\n"
                          "on_failure: {undo: all}\n"
                          "on_crash: adopt\n"
                          "finally: {f: {run: x}}\n"
                          "tasks:\n"
                          "  z: {run: z, outputs: [o]}\n"
                          "  g: {run: g, foreach: {i: [1, 2]}}\n";
static const char bare[] =
    "name: n\npools: {p: 3}\ntasks:\n  z: {run: z, outputs: [o]}\n";

/* Where the workflow lies is not what it says. */
static void bytes_of(struct cairn_workflow *w, struct buf *out)
{
    struct str file = w->definition.file, root = w->definition.root;
    ck_assert_msg(cairn_workflow_compile(w, &error) == 0, "%s", error.text);
    w->definition.file = w->definition.root = STR("");
    ck_assert_int_eq(definition_encode(&w->definition, out, &error), 0);
    w->definition.file = file;
    w->definition.root = root;
    cairn_workflow_free(w);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void compare(const struct task_case *c, struct buf *left, struct buf *right)
{
    ck_assert_msg(str_equal(buf_view(left), buf_view(right)), "`%s` is not the same",
                  c->text);
    buf_release(left);
    buf_release(right);
}

START_TEST(test_text)
{
    const struct task_case *c = &cases[_i];
    struct buf text = BUF_INIT, left = BUF_INIT, right = BUF_INIT;
    struct cairn_workflow *w;
    buf_format(&text, "%s  a: {%s}\n", top, c->text);
    put("w.yaml", text.data);
    put("other.yaml", "tasks: {o: {run: x}}\n");
    struct cairn_source source = {.text = text.data, .length = text.size, .name = "w"};
    ck_assert_msg(cairn_workflow_open(&w, &source, &error) == 0, "%s", error.text);
    bytes_of(w, &left);
    source = (struct cairn_source){.path = "w.yaml"};
    ck_assert_msg(cairn_workflow_open(&w, &source, &error) == 0, "%s", error.text);
    bytes_of(w, &right);
    buf_release(&text);
    compare(c, &left, &right);
}
END_TEST

START_TEST(test_fields)
{
    const struct task_case *c = &cases[_i];
    struct buf text = BUF_INIT, left = BUF_INIT, right = BUF_INIT;
    struct cairn_task a, z = {.id = "z", .run = "z", .outputs = LIST("o")};
    struct cairn_workflow *w;
    if (!c->fields)
        return;
    buf_format(&text, "%s  a: {%s}\n", bare, c->text);
    struct cairn_source source = {.text = text.data, .length = text.size, .name = "w"};
    ck_assert_msg(cairn_workflow_open(&w, &source, &error) == 0, "%s", error.text);
    bytes_of(w, &left);
    a = *c->fields;
    a.id = "a";
    ck_assert_int_eq(cairn_workflow_new(&w, "n", &error), 0);
    ck_assert_int_eq(cairn_workflow_pool(w, "p", 3, &error), 0);
    ck_assert_int_eq(cairn_workflow_add(w, &z, &error), 0);
    ck_assert_msg(cairn_workflow_add(w, &a, &error) == 0, "%s", error.text);
    bytes_of(w, &right);
    buf_release(&text);
    compare(c, &left, &right);
}
END_TEST

static bool has_word(const char *words, struct str word)
{
    for (const char *at = words; (at = strstr(at, word.ptr)); at++)
        if ((at == words || at[-1] == ' ') && (!at[word.len] || at[word.len] == ' '))
            return true;
    return false;
}

/* A key of either table that no case has. */
START_TEST(test_all_keys)
{
    struct str key;
    size_t n = 0;
    for (; (key = task_key(n)).ptr; n++) {
        int i = 0;
        while (i < CASES && !has_word(cases[i].keys, key))
            i++;
        ck_assert_msg(i < CASES, "a program has no way to say the key `%s`", key.ptr);
    }
    ck_assert_uint_ge(n, 40);
    for (n = 0; (key = top_key(n)).ptr; n++) {
        char line[64];
        snprintf(line, sizeof line, "%s: ", key.ptr);
        ck_assert_msg(strstr(top, line) || strcmp(key.ptr, "tasks") == 0,
                      "a program has no way to say the key `%s`", key.ptr);
    }
    ck_assert_uint_ge(n, 15);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys_from_c");
    TCase *tests = tcase_create("keys_from_c");
    tcase_add_loop_test(tests, test_text, 0, CASES);
    tcase_add_loop_test(tests, test_fields, 0, CASES);
    tcase_add_test(tests, test_all_keys);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
