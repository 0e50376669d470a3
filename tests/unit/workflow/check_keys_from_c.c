/* SPDX-License-Identifier: MIT */
/* Every key of a workflow file can be said from C: by fields where cairn_task has some,
 * else by a text; and what is said is the same to the byte as what the file says. Held
 * against the parser's own tables: a key that is in no case here fails. */
#include "tests/support/parse.h"

#include "graph/definition_codec.h"
#include "tests/support/suite.h"
#include "workflow/keys_set.h"
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
    {"check undo", "call: f, check: {call: g}, undo: {call: h}",
     &(struct cairn_task){.callback = "f", .check = "g", .undo = "h"}},
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
    {"external", "external: \"say \\\"it\\\": now\"",
     &(struct cairn_task){.external = "say \"it\": now"}},
    {"params secrets", "run: x, params: [u], secrets: [T]", NULL},
    {"secrets", "run: x, secrets: [T]",
     &(struct cairn_task){.run = "x", .secrets = LIST("T")}},
    {"inputs when", "run: x, inputs: [o, p], when: failed, needs: z",
     &(struct cairn_task){.run = "x",
                          .inputs = LIST("o", "p"),
                          .when = CAIRN_WHEN_FAILED,
                          .needs = LIST("z")}},
    {"if", "run: x, if: tasks.z.status == 'completed', needs: z",
     &(struct cairn_task){
         .run = "x", .condition = "tasks.z.status == 'completed'", .needs = LIST("z")}},
    {"once check undo", "run: x, once: true, check: test -e o, undo: rm o",
     &(struct cairn_task){
         .run = "x", .once = true, .check = "test -e o", .undo = "rm o"}},
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
    "name: n\nsecrets: [T]\npools: {p: 3}\ntasks:\n  z: {run: z, outputs: [o]}\n";

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
    ck_assert_int_eq(cairn_workflow_set(w, "secrets", "[T]", &error), 0);
    ck_assert_int_eq(cairn_workflow_add(w, &z, &error), 0);
    ck_assert_msg(cairn_workflow_add(w, &a, &error) == 0, "%s", error.text);
    bytes_of(w, &right);
    buf_release(&text);
    compare(c, &left, &right);
}
END_TEST

/* ---- Keys that are set ---- */

/* The end of the pair that begins at `at`: a comma or line break outside brackets. */
static const char *end_of_pair(const char *at)
{
    int depth = 0;
    bool quoted = false;
    for (; *at && (depth || quoted || (*at != ',' && *at != '\n')); at++) {
        quoted ^= *at == '"' && at[-1] != '\\';
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
    }
    return at;
}

/* Its pairs "key: value", one by one. `task` NULL: of the top level, but for its name and
 * its tasks. A command is a field already. */
static void set_pairs(struct cairn_workflow *w, const char *task, const char *text)
{
    char key[64], value[256];
    while (*text) {
        const char *end = end_of_pair(text), *colon = strchr(text, ':');
        snprintf(key, sizeof key, "%.*s", (int)(colon - text), text);
        snprintf(value, sizeof value, "%.*s", (int)(end - colon - 2), colon + 2);
        if (!task && strcmp(key, "tasks") == 0)
            return;
        bool command = task && (strcmp(key, "run") == 0 || strcmp(key, "exec") == 0 ||
                                strcmp(key, "call") == 0);
        if (!command && (task || strcmp(key, "name") != 0))
            ck_assert_msg((task ? cairn_task_set(w, task, key, value, &error)
                                : cairn_workflow_set(w, key, value, &error)) == 0,
                          "%s", error.text);
        text = end + strspn(end, ", \n");
    }
}

/* Every case by keys, with all of the top level. */
START_TEST(test_keys)
{
    const struct task_case *c = &cases[_i];
    const struct cairn_foreach two = {.key = "i", .values = LIST("1", "2")};
    struct cairn_task z = {.id = "z", .run = "z", .outputs = LIST("o")},
                      a = {.id = "a"};
    const char *const argv[] = {"x", "y", NULL};
    struct buf text = BUF_INIT, left = BUF_INIT, right = BUF_INIT;
    struct cairn_workflow *w;
    put("other.yaml", "tasks: {o: {run: x}}\n");
    buf_format(&text, "%s  a: {%s}\n", top, c->text);
    struct cairn_source source = {.text = text.data, .length = text.size, .name = "w"};
    ck_assert_msg(cairn_workflow_open(&w, &source, &error) == 0, "%s", error.text);
    bytes_of(w, &left);
    ck_assert_int_eq(cairn_workflow_new(&w, "n", &error), 0);
    set_pairs(w, NULL, top);
    ck_assert_int_eq(cairn_workflow_add(w, &z, &error), 0);
    z = (struct cairn_task){.id = "g", .run = "g", .foreach = &two};
    ck_assert_int_eq(cairn_workflow_add(w, &z, &error), 0);
    if (strncmp(c->text, "exec", 4) == 0)
        a.argv = argv;
    else if (strncmp(c->text, "call", 4) == 0)
        a.callback = "f";
    else if (strncmp(c->text, "external", 8) != 0)
        a.run = "x";
    else if (c->fields)
        a.external = c->fields->external;
    else
        a.external = "do it";
    ck_assert_msg(cairn_workflow_add(w, &a, &error) == 0, "%s", error.text);
    set_pairs(w, "a", a.external ? strstr(c->text, "lost_claims") ?: "" : c->text);
    bytes_of(w, &right);
    buf_release(&text);
    compare(c, &left, &right);
}
END_TEST

static struct cairn_workflow *build(const struct cairn_task *task)
{
    struct cairn_workflow *w;
    struct cairn_task a = *task;
    a.id = "a";
    ck_assert_int_eq(cairn_workflow_new(&w, "n", &error), 0);
    ck_assert_msg(cairn_workflow_add(w, &a, &error) == 0, "%s", error.text);
    return w;
}

static void refused(int rc, int code, const char *words)
{
    ck_assert_msg(rc == code && strstr(error.text, words), "%d: %s", rc, error.text);
}

START_TEST(test_refused)
{
    struct cairn_workflow *w = build(&(struct cairn_task){.run = "x", .retries = 2});
    refused(cairn_task_set(w, "a", "retires", "2", &error), CAIRN_EWORKFLOW,
            "unknown key `retires` of a task; did you mean `retries`?");
    refused(cairn_task_set(w, "a", "retries", "2", &error), CAIRN_EUSAGE,
            "a field of struct cairn_task says `retries` already");
    refused(cairn_task_set(w, "b", "once", "true", &error), CAIRN_ENOTFOUND, "`b`");
    refused(cairn_task_set(w, "a", "timeout", "{after: 1m", &error), CAIRN_EWORKFLOW,
            "`timeout` of task `a`:1:");
    refused(cairn_task_set(w, "a", NULL, "1", &error), CAIRN_EUSAGE, "NULL");
    refused(cairn_task_set(w, "a", "once", NULL, &error), CAIRN_EUSAGE, "NULL");
    refused(cairn_workflow_set(w, "name", "m", &error), CAIRN_EUSAGE, "`name`");
    refused(cairn_workflow_set(w, "job", "2", &error), CAIRN_EWORKFLOW,
            "did you mean `jobs`?");
    ck_assert_int_eq(cairn_workflow_set(w, "jobs", "2", &error), 0);
    refused(cairn_workflow_set(w, "jobs", "3", &error), CAIRN_EUSAGE, "already");
    ck_assert_int_eq(cairn_task_set(w, "a", "timeout", "\n1 minute", &error), 0);
    refused(cairn_workflow_compile(w, &error), CAIRN_EWORKFLOW,
            "`timeout` of task `a`:2:1: ");
    refused(cairn_workflow_compile(w, &error), CAIRN_EUSAGE, "build it anew");
    refused(cairn_workflow_set(w, "memory", "1G", &error), CAIRN_EUSAGE, "set in a");
    cairn_workflow_free(w);
    w = build(&(struct cairn_task){.external = "do it", .timeout_ms = 5});
    refused(cairn_workflow_compile(w, &error), CAIRN_EWORKFLOW,
            "n: `timeout` has no meaning for task `a`, which is `external`");
    cairn_workflow_free(w);
    w = build(&(struct cairn_task){.callback = "f", .undo = "u v"});
    refused(cairn_workflow_compile(w, &error), CAIRN_EWORKFLOW, "callback");
    cairn_workflow_free(w);
    w = build(&(struct cairn_task){.run = "x", .condition = "tasks.b.status"});
    refused(cairn_workflow_compile(w, &error), CAIRN_EWORKFLOW, "`if` of task `a`:1:");
    cairn_workflow_free(w);
    w = build(&(struct cairn_task){.run = "x"});
    ck_assert_int_eq(cairn_workflow_compile(w, &error), 0);
    refused(cairn_task_set(w, "a", "once", "true", &error), CAIRN_EUSAGE, "compiled");
    cairn_workflow_free(w);
}
END_TEST

/* What a task needs by a field and makes by a key, a callback that only the registry has,
 * and tasks of a text behind those of fields. */
START_TEST(test_together)
{
    struct cairn_registry *registry;
    struct cairn_node_info node;
    struct cairn_workflow *w = build(&(struct cairn_task){.run = "x"});
    const struct cairn_callback callback = {.name = "f", .call = call, .version = "3"};
    const struct cairn_task b = {.id = "b", .callback = "f", .needs = LIST("a")};
    ck_assert_int_eq(cairn_registry_new(&registry, &error), 0);
    ck_assert_int_eq(cairn_workflow_add(w, &b, &error), 0);
    ck_assert_int_eq(cairn_workflow_callbacks(w, registry, &error), 0);
    ck_assert_int_eq(cairn_task_set(w, "a", "outputs", "[o]", &error), 0);
    ck_assert_int_eq(
        cairn_task_set(w, "b", "with", "{path: \"${{ tasks.a.status }}\"}", &error), 0);
    ck_assert_int_eq(
        cairn_workflow_set(w, "tasks", "{c: {call: f, needs: [a, b]}}", &error), 0);
    ck_assert_int_eq(cairn_workflow_set(w, "finally", "{d: {call: f}}", &error), 0);
    refused(cairn_workflow_compile(w, &error), CAIRN_ENOTFOUND, "task `b` calls `f`");
    cairn_workflow_free(w);
    ck_assert_int_eq(cairn_registry_add(registry, &callback, &error), 0);
    w = build(&(struct cairn_task){.run = "x"});
    ck_assert_int_eq(cairn_workflow_add(w, &b, &error), 0);
    ck_assert_int_eq(cairn_workflow_callbacks(w, registry, &error), 0);
    ck_assert_int_eq(
        cairn_workflow_set(w, "tasks", "{c: {call: f, needs: [a, b]}}", &error), 0);
    ck_assert_int_eq(cairn_workflow_set(w, "finally", "{d: {call: f}}", &error), 0);
    ck_assert_msg(cairn_workflow_compile(w, &error) == 0, "%s", error.text);
    ck_assert(!cairn_workflow_lacks_functions(w));
    ck_assert_uint_eq(cairn_workflow_tasks(w), 4);
    ck_assert_int_eq(cairn_workflow_node(w, 2, &node), 0);
    ck_assert_str_eq(node.id, "c");
    ck_assert_uint_eq(node.needs, 2);
    ck_assert_int_eq(cairn_workflow_node(w, 3, &node), 0);
    ck_assert(node.finally);
    cairn_workflow_free(w);
    cairn_registry_free(registry);
}
END_TEST

/* ---- The tables ---- */

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

/* The row of a key in the guide has its fields, and no others. */
START_TEST(test_guide)
{
    char path[1024], line[512], cell[64];
    const char *root = getenv("SOURCE_ROOT");
    struct str key;
    snprintf(path, sizeof path, "%s/docs/guide-embedding.md", root ? root : ".");
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    for (size_t k = 0; (key = task_key(k)).ptr; k++) {
        const struct program_field *field;
        bool found = false;
        int n = 0, named = 0;
        snprintf(cell, sizeof cell, "| `%s` |", key.ptr);
        rewind(file);
        while (!found && fgets(line, sizeof line, file))
            found = strncmp(line, cell, strlen(cell)) == 0;
        ck_assert_msg(found, "the guide has no row %s", cell);
        for (size_t i = 0; (field = program_field(i)); i++)
            if (str_equal(field->key, key)) {
                char name[64];
                snprintf(name, sizeof name, "`%s`", field->member);
                ck_assert_msg(strstr(line + strlen(cell), name), "%s lacks %s", line,
                              name);
                n++;
            }
        for (const char *at = line + strlen(cell); (at = strchr(at, '`')); at++)
            named++;
        ck_assert_msg(named == 2 * n, "%s is more than the fields", line);
    }
    fclose(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys_from_c");
    TCase *tests = tcase_create("keys_from_c");
    tcase_add_loop_test(tests, test_text, 0, CASES);
    tcase_add_loop_test(tests, test_fields, 0, CASES);
    tcase_add_loop_test(tests, test_keys, 0, CASES);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_together);
    tcase_add_test(tests, test_all_keys);
    tcase_add_test(tests, test_guide);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
