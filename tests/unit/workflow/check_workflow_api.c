/* SPDX-License-Identifier: MIT */
/* make: tsan */
/* Workflows built in memory: what is accepted, what is refused with which words, and
 * what can be looked at afterwards. */
#include "base/limits.h"
#include "cairn.h"

#include "graph/definition_codec.h"
#include "graph/text_expand.h"
#include "tests/support/graph.h"
#include "workflow/workflow.h"

static struct cairn_workflow *workflow;
static struct cairn_error failure;
static const char *const true_argv[] = {"/bin/true", NULL};

static void setup(void)
{
    ck_assert_int_eq(cairn_workflow_new(&workflow, "test", &failure), 0);
}

static void teardown(void)
{
    cairn_workflow_free(workflow);
}

static enum cairn_outcome call(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

static int add(const struct cairn_task *task)
{
    failure = (struct cairn_error){0};
    return cairn_workflow_add(workflow, task, &failure);
}

static void accept(const struct cairn_task *task)
{
    ck_assert_msg(add(task) == 0, "%s", failure.text);
}

static void refuse(const struct cairn_task *task, int code, const char *text)
{
    ck_assert_int_eq(add(task), code);
    ck_assert_int_eq(failure.code, code);
    ck_assert_msg(strstr(failure.text, text) != NULL, "no `%s` in: %s", text,
                  failure.text);
}

static void add_named(const char *id, const char *const *needs)
{
    struct cairn_task task = {.id = id, .argv = true_argv, .needs = needs};
    accept(&task);
}

static void compile(void)
{
    ck_assert_msg(cairn_workflow_compile(workflow, &failure) == 0, "%s", failure.text);
}

/* ---- Names ---- */

START_TEST(test_workflow_names)
{
    char name[LIMIT_NAME_BYTES + 2];
    struct cairn_workflow *w = NULL;
    ck_assert_int_eq(cairn_workflow_new(&w, "", &failure), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_workflow_new(&w, NULL, &failure), CAIRN_EUSAGE);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ck_assert_int_eq(cairn_workflow_new(&w, name, &failure), CAIRN_EUSAGE);
    ck_assert_ptr_null(w);
    name[LIMIT_NAME_BYTES] = 0;
    ck_assert_int_eq(cairn_workflow_new(&w, name, NULL), 0);
    ck_assert_str_eq(cairn_workflow_name(w), name);
    cairn_workflow_free(w);
    cairn_workflow_free(NULL);
}
END_TEST

START_TEST(test_ids)
{
    static const char *const bad[] = {"",     "a b",    "/a",       "a/",
                                      "a//b", "a[x=1]", "\xc3\xa4", "a\n"};
    struct cairn_task task = {.argv = true_argv};
    refuse(&task, CAIRN_EWORKFLOW, "task id ``");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        task.id = bad[i];
        refuse(&task, CAIRN_EWORKFLOW, "is not 1 to 200 of");
    }
    char id[LIMIT_ID_BYTES + 2];
    memset(id, 'i', sizeof id - 1);
    id[sizeof id - 1] = 0;
    task.id = id;
    refuse(&task, CAIRN_EWORKFLOW, "is not 1 to 200 of");
    id[LIMIT_ID_BYTES] = 0;
    accept(&task);
    task.id = "aZ0_.-";
    accept(&task);
    refuse(&task, CAIRN_EWORKFLOW, "there are two tasks `aZ0_.-`");
    compile();
    ck_assert_uint_eq(cairn_workflow_tasks(workflow), 2);
    ck_assert_uint_eq(cairn_workflow_find(workflow, id), 0);
}
END_TEST

/* Names in texts are those of the same scope. */
START_TEST(test_scopes)
{
    static const char *const needs[] = {"lint/a", NULL};
    static const char *const argv[] = {"echo", "${{ tasks.a.status }}", NULL};
    struct cairn_task task = {.id = "lint/b", .argv = argv, .needs = needs};
    struct arena arena = ARENA_INIT;
    uint32_t *defs;
    add_named("a", NULL);
    add_named("lint/a", NULL);
    accept(&task);
    compile();
    const struct definition *d = &workflow->definition;
    ck_assert_int_eq(definition_values_of(d, &d->defs[2], &arena, &defs), 0);
    ck_assert_uint_eq(definition_task(d, name_scope(d->defs[2].id), STR("a")), 1);
    ck_assert_uint_eq(definition_task(d, name_scope(d->defs[0].id), STR("lint/a")), 1);
    ck_assert_uint_eq(definition_task(d, STR("lint/"), STR("lint/a")), MAP_NONE);
    arena_release(&arena);
}
END_TEST

/* What is accepted must be readable again, or no run of it could be resumed. */
START_TEST(test_odd_ids_can_be_stored)
{
    static const char *const odd[] = {".",  "-", "..", "-.-", ".a",    "-a",
                                      "a.", "9", "_",  "a/b", "../a/b"};
    struct definition decoded;
    struct buf bytes = BUF_INIT;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        add_named(odd[i], NULL);
    compile();
    ck_assert_int_eq(definition_encode(&workflow->definition, &bytes, &failure), 0);
    ck_assert_msg(definition_decode(buf_view(&bytes), &decoded, &failure) == 0, "%s",
                  failure.text);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        ck_assert(str_equal(decoded.defs[i].id, str_of(odd[i])));
    definition_release(&decoded);
    buf_release(&bytes);
}
END_TEST

/* ---- What a task needs to have ---- */

START_TEST(test_commands)
{
    static const char *const empty[] = {NULL};
    struct cairn_task task = {.id = "a"};
    refuse(&task, CAIRN_EWORKFLOW, "exactly one of argv, run, call and external");
    task.argv = empty;
    refuse(&task, CAIRN_EWORKFLOW, "exactly one of argv, run, call and external");
    task = (struct cairn_task){.id = "a", .argv = true_argv, .run = "true"};
    refuse(&task, CAIRN_EWORKFLOW, "exactly one of argv, run, call and external");
    task = (struct cairn_task){.id = "a", .call = call, .run = "true"};
    refuse(&task, CAIRN_EWORKFLOW, "exactly one of argv, run, call and external");
    task = (struct cairn_task){.id = "a", .run = "true"};
    accept(&task);
}
END_TEST

START_TEST(test_numbers)
{
    struct cairn_task task = {.id = "a", .run = "true", .timeout_ms = -1};
    refuse(&task, CAIRN_EWORKFLOW, "times must not be negative");
    task = (struct cairn_task){.id = "a", .run = "true", .grace_ms = -1};
    refuse(&task, CAIRN_EWORKFLOW, "times must not be negative");
    task = (struct cairn_task){.id = "a", .run = "true", .retries = LIMIT_RETRIES + 1};
    refuse(&task, CAIRN_EWORKFLOW, "retries at most 1000000");
    task.retries = LIMIT_RETRIES;
    accept(&task);
}
END_TEST

START_TEST(test_environment)
{
    static const char *const no_value[] = {"A=1", "B", NULL};
    static const char *const no_name[] = {"=1", NULL};
    static const char *const twice[] = {"A=1", "B=", "A=2", NULL};
    static const char *const good[] = {"B=", "A=1=2", NULL};
    struct cairn_task task = {.id = "a", .run = "true", .env = no_value};
    refuse(&task, CAIRN_EUSAGE, "environment entry `B` is not NAME=value");
    task.env = no_name;
    refuse(&task, CAIRN_EUSAGE, "environment entry `=1`");
    task.env = twice;
    refuse(&task, CAIRN_EUSAGE, "environment variable `A` is given twice");
    task.env = good;
    accept(&task); /* the refused ones left nothing of their id behind */
}
END_TEST

START_TEST(test_needs)
{
    static const char *const none[] = {NULL};
    static const char *const later[] = {"b", NULL};
    static const char *const own[] = {"a", NULL};
    struct cairn_task task = {.id = "a", .run = "true", .needs = later};
    refuse(&task, CAIRN_EWORKFLOW, "task `a` needs `b`, which was not added before it");
    task.needs = own;
    refuse(&task, CAIRN_EWORKFLOW, "task `a` needs `a`, which was not added before it");
    add_named("a", none);
    add_named("b", own);
    add_named("c", (const char *const[]){"b", "a", NULL});
    compile();
    ck_assert_uint_eq(cairn_workflow_edges(workflow), 3);
    ck_assert_uint_eq(cairn_workflow_need(workflow, 1, 0), 0);
    ck_assert_uint_eq(cairn_workflow_need(workflow, 2, 0), 1);
    ck_assert_uint_eq(cairn_workflow_need(workflow, 2, 1), 0);
    ck_assert_uint_eq(cairn_workflow_need(workflow, 2, 2), UINT32_MAX);
    ck_assert_uint_eq(cairn_workflow_need(workflow, UINT32_MAX, 0), UINT32_MAX);
}
END_TEST

/* Many refused additions between good ones leave no trace. */
START_TEST(test_refusals_leave_nothing)
{
    enum { N = 100 };
    for (int i = 0; i < N; i++) {
        char id[16];
        snprintf(id, sizeof id, "t%d", i);
        struct cairn_task task = {
            .id = id, .run = "true", .needs = (const char *const[]){"none", NULL}};
        refuse(&task, CAIRN_EWORKFLOW, "needs `none`");
        add_named(id, NULL);
    }
    compile();
    ck_assert_uint_eq(cairn_workflow_tasks(workflow), N);
    ck_assert_uint_eq(cairn_workflow_edges(workflow), 0);
}
END_TEST

START_TEST(test_everything_is_copied)
{
    char id[] = "first", need[] = "first", run[] = "echo 1", name[] = "second";
    struct cairn_node_info info;
    struct cairn_task task = {.id = id, .run = run};
    accept(&task);
    const char *needs[] = {need, NULL};
    task = (struct cairn_task){.id = name, .run = run, .needs = needs};
    accept(&task);
    memset(id, 'x', sizeof id - 1);
    memset(need, 'x', sizeof need - 1);
    memset(run, 'x', sizeof run - 1);
    memset(name, 'x', sizeof name - 1);
    needs[0] = NULL;
    compile();
    ck_assert_int_eq(cairn_workflow_node(workflow, 1, &info), 0);
    ck_assert_str_eq(info.id, "second");
    ck_assert_str_eq(info.command, "echo 1");
    ck_assert_uint_eq(cairn_workflow_find(workflow, "first"), 0);
}
END_TEST

/* ---- Compiling ---- */

START_TEST(test_compiling)
{
    struct cairn_node_info info;
    ck_assert_int_eq(cairn_workflow_compile(workflow, &failure), CAIRN_EWORKFLOW);
    ck_assert_ptr_nonnull(strstr(failure.text, "`test` has no tasks"));
    add_named("a", NULL); /* an empty one can still be filled */
    ck_assert_int_eq(cairn_workflow_node(workflow, 0, &info), CAIRN_ENOTFOUND);
    ck_assert_uint_eq(cairn_workflow_find(workflow, "a"), UINT32_MAX);
    ck_assert_uint_eq(cairn_workflow_tasks(workflow), 0);
    compile();
    compile();
    struct cairn_task task = {.id = "b", .run = "true"};
    refuse(&task, CAIRN_EUSAGE, "cannot be added to a loaded or compiled workflow");
    ck_assert_uint_eq(cairn_workflow_tasks(workflow), 1);
    ck_assert_ptr_null(cairn_workflow_warning(workflow, 0));
    ck_assert_uint_eq(cairn_workflow_find(workflow, "b"), UINT32_MAX);
    ck_assert_uint_eq(cairn_workflow_find(workflow, ""), UINT32_MAX);
}
END_TEST

START_TEST(test_node_info)
{
    static const char *const argv[] = {"echo", "a b", "", "c", NULL};
    struct cairn_node_info info, again;
    struct cairn_task task = {.id = "exec", .argv = argv};
    accept(&task);
    task = (struct cairn_task){.id = "call", .call = call};
    accept(&task);
    task = (struct cairn_task){.id = "run",
                               .run = "a\nb",
                               .needs = (const char *const[]){"exec", "call", NULL}};
    accept(&task);
    compile();
    ck_assert_int_eq(cairn_workflow_node(workflow, 0, &info), 0);
    ck_assert_str_eq(info.id, "exec");
    ck_assert_str_eq(info.group, "exec");
    ck_assert_str_eq(info.command, "echo a b  c");
    ck_assert(!info.barrier);
    ck_assert_uint_eq(info.needs, 0);
    /* Made once: looking often must not fill the memory. */
    ck_assert_int_eq(cairn_workflow_node(workflow, 0, &again), 0);
    ck_assert_ptr_eq(info.command, again.command);
    ck_assert_int_eq(cairn_workflow_node(workflow, 1, &info), 0);
    ck_assert_str_eq(info.command, "(callback)");
    ck_assert_int_eq(cairn_workflow_node(workflow, 2, &info), 0);
    ck_assert_str_eq(info.command, "a\nb");
    ck_assert_uint_eq(info.needs, 2);
    ck_assert_int_eq(cairn_workflow_node(workflow, 3, &info), CAIRN_ENOTFOUND);
    ck_assert_uint_eq(cairn_workflow_nodes(workflow), 3);
}
END_TEST

/* A group from a file: members share the group's name, its barrier has it as id. */
START_TEST(test_groups)
{
    static const char text[] = "name: groups\n"
                               "tasks:\n"
                               "  part:\n"
                               "    foreach: {x: [1, 2]}\n"
                               "    exec: [echo, \"${{ x }}\"]\n"
                               "  all:\n"
                               "    needs: [part]\n"
                               "    run: echo all\n";
    struct cairn_workflow *w;
    struct cairn_node_info info;
    struct cairn_task task = {.id = "b", .run = "true"};
    int result =
        cairn_workflow_parse(&w, text, strlen(text), "groups.yaml", NULL, 0, &failure);
    ck_assert_msg(result == 0, "%s", failure.text);
    ck_assert_uint_eq(cairn_workflow_tasks(w), 3);
    ck_assert_uint_eq(cairn_workflow_nodes(w), 4);
    ck_assert_uint_eq(cairn_workflow_edges(w), 3);
    ck_assert_int_eq(cairn_workflow_node(w, 1, &info), 0);
    ck_assert_str_eq(info.id, "part[x=2]");
    ck_assert_str_eq(info.group, "part");
    const char *command = info.command;
    ck_assert_str_eq(command, "echo ${{ x }}");
    ck_assert_int_eq(cairn_workflow_node(w, 0, &info), 0);
    ck_assert_ptr_eq(info.command, command); /* one text for all members */
    ck_assert_int_eq(cairn_workflow_node(w, 3, &info), 0);
    ck_assert(info.barrier);
    ck_assert_str_eq(info.id, "part");
    ck_assert_str_eq(info.command, "");
    ck_assert_uint_eq(info.needs, 2);
    ck_assert_uint_eq(cairn_workflow_need(w, 2, 0), 3);
    ck_assert_uint_eq(cairn_workflow_find(w, "part"), UINT32_MAX);
    ck_assert_uint_eq(cairn_workflow_find(w, "part[x=1]"), 0);
    ck_assert_int_eq(cairn_workflow_add(w, &task, &failure), CAIRN_EUSAGE);
    cairn_workflow_free(w);
}
END_TEST

/* What a loaded file says about undo and external tasks. */
START_TEST(test_nodes)
{
    static const char text[] = "name: n\ntasks:\n"
                               "  a: {run: x, undo: y}\n"
                               "  b: {external: do it, needs: g}\n"
                               "  g: {run: z, foreach: {k: [1, 2]}, undo: y}\n";
    struct cairn_workflow *w;
    struct cairn_node_info info;
    ck_assert_int_eq(
        cairn_workflow_parse(&w, text, strlen(text), "w", NULL, 0, &failure), 0);
    ck_assert_int_eq(cairn_workflow_node(w, 0, &info), 0);
    ck_assert(info.undo && !info.external);
    ck_assert_int_eq(cairn_workflow_node(w, 1, &info), 0);
    ck_assert(!info.undo);
    ck_assert_str_eq(info.external, "do it");
    ck_assert_str_eq(info.command, "do it");
    ck_assert_int_eq(cairn_workflow_node(w, 3, &info), 0);
    ck_assert(info.undo);
    ck_assert_int_eq(cairn_workflow_node(w, 4, &info), 0);
    ck_assert(info.barrier && !info.undo && !info.external);
    cairn_workflow_free(w);
}
END_TEST

START_TEST(test_later_fields)
{
    static const char *const after[] = {"a", NULL}, *const odd[] = {"b", NULL};
    struct cairn_task task = {
        .id = "b", .argv = true_argv, .after = odd, .depfile = "b.d"};
    add_named("a", NULL);
    refuse(&task, CAIRN_EWORKFLOW, "task `b` needs `b`, which was not added before it");
    task.after = after;
    task.description = "for people";
    accept(&task);
    task = (struct cairn_task){.id = "c",
                               .argv = true_argv,
                               .after = after,
                               .soft = odd,
                               .may_fail = true,
                               .skip_exit = 77,
                               .fallback = "",
                               .reuse = true,
                               .cutoff = true,
                               .slots = LIMIT_JOBS + 1};
    refuse(&task, CAIRN_EWORKFLOW, "slots at most 4096");
    task.slots = 4;
    refuse(&task, CAIRN_EWORKFLOW, "`fallback` is empty");
    task.fallback = "./other";
    task.nice = 20;
    refuse(&task, CAIRN_EWORKFLOW, "nice at most 19");
    task.nice = 19;
    const char *const out[] = {"dist", "../x", NULL}, *const files[] = {"dist/*.x",
                                                                        NULL};
    task.artifacts_ms = 5;
    refuse(&task, CAIRN_EWORKFLOW, "no `artifacts`");
    task.artifacts_when = 3;
    refuse(&task, CAIRN_EUSAGE, "`artifacts_when` is unknown");
    task.artifacts_when = CAIRN_ARTIFACTS_ALWAYS;
    task.reuse_ms = -1;
    refuse(&task, CAIRN_EWORKFLOW, "`reuse_ms` is below 0");
    task.reuse_ms = 0;
    task.artifacts = out;
    refuse(&task, CAIRN_EWORKFLOW, "leads out");
    task.artifacts = files;
    task.args = files;
    refuse(&task, CAIRN_EWORKFLOW, "`args`, but no `run`");
    task.stale = 3;
    refuse(&task, CAIRN_EWORKFLOW, "`args`, but no `run`");
    task.argv = NULL;
    task.run = "ls \"$@\"";
    refuse(&task, CAIRN_EWORKFLOW, "`stale` takes");
    task.stale = CAIRN_ON_STALE_REMOVE;
    accept(&task);
    compile();
    ck_assert_uint_eq(workflow->definition.defs[2].n_artifacts, 1);
    ck_assert_int_eq(workflow->definition.defs[2].artifacts_ms, 5);
    ck_assert_uint_eq(workflow->definition.defs[2].n_argv, 1);
    const struct task_def *c = &workflow->definition.defs[2];
    ck_assert_uint_eq(c->n_needs, 2);
    ck_assert(c->needs[0].order && !c->needs[0].soft);
    ck_assert(!c->needs[1].order && c->needs[1].soft && c->needs[1].target == 1);
    ck_assert_uint_eq(c->skip_exit, 77);
    ck_assert(c->reuse && c->cutoff);
    ck_assert_uint_eq(c->slots, 4);
    ck_assert_uint_eq(c->nice, 19);
    ck_assert_str_eq(c->fallback.ptr, "./other");
    ck_assert_uint_eq(c->n_side_shell, 3);
    ck_assert(c->may_fail && !workflow->definition.defs[1].may_fail);
    const struct task_def *b = &workflow->definition.defs[1];
    ck_assert_uint_eq(b->n_needs, 1);
    ck_assert(b->needs[0].order && b->needs[0].target == 0);
    ck_assert_str_eq(b->depfile.ptr, "b.d");
    ck_assert_uint_eq(cairn_workflow_need(workflow, 1, 0), 0);
    ck_assert_str_eq(cairn_workflow_description(workflow, 1), "for people");
    ck_assert_ptr_null(cairn_workflow_description(workflow, 0));
    ck_assert_ptr_null(cairn_workflow_description(workflow, 7));
    ck_assert_ptr_null(cairn_workflow_description(workflow, UINT32_MAX));
}
END_TEST

START_TEST(test_services)
{
    static const char *const needs[] = {"db", NULL};
    struct cairn_task task = {.id = "db", .run = "db", .ready_within_ms = 5};
    refuse(&task, CAIRN_EWORKFLOW,
           "task `db` is not a service, so it has no `ready_within_ms`");
    task.ready = "ping";
    task.timeout_ms = 5;
    refuse(&task, CAIRN_EWORKFLOW, "task `db` is a service, which has no `timeout_ms`");
    task.timeout_ms = 0;
    task.outputs = needs;
    refuse(&task, CAIRN_EWORKFLOW, "task `db` is a service, which has no `outputs`");
    task.outputs = NULL;
    task.ports = (const char *const[]){"http", "http", NULL};
    refuse(&task, CAIRN_EWORKFLOW, "none twice");
    task.ports = (const char *const[]){"http", "admin", NULL};
    task.port = true;
    refuse(&task, CAIRN_EWORKFLOW, "without `port`");
    task.port = false;
    accept(&task);
    task = (struct cairn_task){.id = "soft", .run = "x", .soft = needs};
    refuse(&task, CAIRN_EWORKFLOW,
           "task `soft`: the need of the service `db` cannot be soft");
    task = (struct cairn_task){.id = "user", .run = "x", .needs = needs};
    accept(&task);
    compile();
    const struct task_def *db = &workflow->definition.defs[0];
    const struct task_def *user = &workflow->definition.defs[1];
    ck_assert(task_def_is_service(db) && !task_def_is_service(user));
    ck_assert(task_def_uses_services(&workflow->definition, user));
    ck_assert_int_eq(db->ready_within_ms, 5);
    ck_assert_int_eq(db->ready_every_ms, 200);
    ck_assert_uint_eq(task_def_ports(db), 2);
    ck_assert_uint_eq(service_port(db, STR("admin")), 1);
    ck_assert(user->needs[0].order);
}
END_TEST

START_TEST(test_rounds)
{
    struct cairn_task task = {.id = "a", .argv = true_argv, .rounds = 3};
    static const char both[] = "task `a`: `until` goes with 1 to 1000000 `rounds`";
    refuse(&task, CAIRN_EWORKFLOW, both);
    task.until = "";
    refuse(&task, CAIRN_EWORKFLOW, both);
    task.until = "outputs.left ==";
    refuse(&task, CAIRN_EWORKFLOW, "task `a`: `until`, byte");
    task.until = "outputs.left == 0";
    task.rounds = 0;
    refuse(&task, CAIRN_EWORKFLOW, both);
    task.rounds = 3;
    task.round_delay_ms = -1;
    refuse(&task, CAIRN_EWORKFLOW, both);
    task.round_delay_ms = 20;
    accept(&task);
    compile();
    const struct repeat_policy *repeat = &workflow->definition.defs[0].repeat;
    ck_assert_str_eq(repeat->until.ptr, "outputs.left == 0");
    ck_assert_uint_eq(repeat->max, 3);
    ck_assert_int_eq(repeat->delay_ms, 20);
}
END_TEST

/* Members of values, of rows, and of a list that a task makes. */
START_TEST(test_foreach)
{
    const char *values[] = {"x", "y y", NULL}, *columns[] = {"size", "kind", NULL};
    const char *cells[] = {"1", "old", "2", "new"}, *twice[] = {"x", "x", NULL};
    const char *needs[] = {"split", "g", NULL}, *key, *value;
    struct cairn_foreach f = {.key = "part"};
    struct cairn_task task = {.id = "g", .argv = true_argv, .foreach = &f};
    refuse(&task, CAIRN_EWORKFLOW, "either values or `from`");
    f.values = values;
    f.key = "Part";
    refuse(&task, CAIRN_EWORKFLOW, "a key of a-z");
    f.key = "part";
    f.values = twice;
    refuse(&task, CAIRN_EWORKFLOW, "are the same");
    f.values = values;
    f.columns = columns;
    refuse(&task, CAIRN_EWORKFLOW, "with cells");
    f.cells = cells;
    accept(&task);
    task = (struct cairn_task){.id = "h", .argv = true_argv, .foreach = &f};
    f = (struct cairn_foreach){.key = "part", .from = "split", .value = "l"};
    refuse(&task, CAIRN_EWORKFLOW, "`from` was not added before it");
    accept(&(struct cairn_task){.id = "split", .argv = true_argv});
    f.lines = "names";
    refuse(&task, CAIRN_EWORKFLOW, "one of value, lines, glob, csv");
    columns[1] = "";
    f = (struct cairn_foreach){
        .key = "part", .from = "split", .csv = "sheet", .columns = columns};
    refuse(&task, CAIRN_EWORKFLOW, "the name of column 2 is empty");
    f.columns = NULL;
    f.where = "tasks.split.status == 'completed'";
    refuse(&task, CAIRN_EWORKFLOW, "`where` is about columns and params only");
    f = (struct cairn_foreach){
        .key = "part", .from = "split", .lines = "names", .max = 7};
    accept(&task);
    f = (struct cairn_foreach){
        .key = "k", .from = "h", .value = "m", .allow_empty = true};
    task.id = "i";
    accept(&task);
    needs[1] = "h";
    const char *const order[] = {"split", NULL};
    accept(&(struct cairn_task){
        .id = "end", .argv = true_argv, .needs = needs + 1, .after = order});
    compile();
    const struct task_def *defs = workflow->definition.defs;
    ck_assert_str_eq(defs[2].foreach[0].spec.ptr, "split @lines 7 - names");
    ck_assert_str_eq(defs[3].foreach[0].spec.ptr, "h m 10000 empty");
    ck_assert(defs[2].n_needs == 1 && defs[2].needs[0].order);
    /* "i" has its list from "h", and needs what makes the list of "h" as it does in a
     * workflow file. */
    ck_assert_uint_eq(defs[3].n_needs, 2);
    ck_assert(defs[3].needs[0].order && defs[3].needs[0].target == 2);
    ck_assert(defs[3].needs[1].order && defs[3].needs[1].target == 1);
    ck_assert_uint_eq(defs[4].n_needs, 2);
    ck_assert(!defs[4].needs[0].order && !defs[4].needs[1].order);
    uint32_t node = cairn_workflow_find(workflow, "g[part=y%20y]");
    ck_assert_int_eq(cairn_workflow_value(workflow, node, 0, &key, &value), 0);
    ck_assert_str_eq(value, "y y");
    ck_assert_int_eq(cairn_workflow_value(workflow, node, 1, &key, &value), 0);
    ck_assert_str_eq(key, "kind"); /* in the order of their names */
    ck_assert_str_eq(value, "new");
    ck_assert_int_eq(cairn_workflow_value(workflow, node, 2, &key, &value), 0);
    ck_assert_str_eq(value, "2");
}
END_TEST

START_TEST(test_pools)
{
    static const char
        *const uses[] = {"gpu=2", "db", NULL},
               *const twice[] = {"db", "db", NULL}, *const many[] = {"gpu=3", NULL},
               *const odd[] = {"gpu=x", NULL}, *const none[] = {"net", NULL};
    struct cairn_task task = {.id = "a", .argv = true_argv, .pools = none};
    ck_assert_int_eq(cairn_workflow_pool(workflow, "db", 1, &failure), 0);
    ck_assert_int_eq(cairn_workflow_pool(workflow, "gpu", 2, &failure), 0);
    ck_assert_int_eq(cairn_workflow_pool(workflow, "gpu", 2, &failure),
                     CAIRN_EWORKFLOW);
    ck_assert_int_eq(cairn_workflow_pool(workflow, "cpu", 0, &failure),
                     CAIRN_EWORKFLOW);
    ck_assert_int_eq(cairn_workflow_pool(workflow, "a b", 1, &failure),
                     CAIRN_EWORKFLOW);
    ck_assert_int_eq(cairn_workflow_pool(workflow, NULL, 1, &failure), CAIRN_EWORKFLOW);
    refuse(&task, CAIRN_EWORKFLOW, "the pool of `net` was not added before it");
    task.pools = twice;
    refuse(&task, CAIRN_EWORKFLOW, "has a pool twice");
    task.pools = many;
    refuse(&task, CAIRN_EWORKFLOW, "`gpu=3` must be NAME=PLACES with 1 to 2 places");
    task.pools = odd;
    refuse(&task, CAIRN_EWORKFLOW, "`gpu=x` must be");
    task.pools = uses;
    task.memory_mib = UINT32_MAX;
    refuse(&task, CAIRN_EWORKFLOW, "memory_mib at most");
    task.memory_mib = 512;
    accept(&task);
    ck_assert_int_eq(cairn_workflow_share_pool(workflow, "net", &failure),
                     CAIRN_EWORKFLOW);
    ck_assert_int_eq(cairn_workflow_share_pool(workflow, "gpu", &failure), 0);
    compile();
    ck_assert_int_eq(cairn_workflow_share_pool(workflow, "gpu", &failure),
                     CAIRN_EUSAGE);
    ck_assert(!workflow->definition.pools[0].shared);
    ck_assert(workflow->definition.pools[1].shared);
    const struct task_def *a = &workflow->definition.defs[0];
    ck_assert_uint_eq(a->memory, 512);
    ck_assert_uint_eq(a->n_pools, 2);
    ck_assert_uint_eq(a->pools[0].pool, 0);
    ck_assert_uint_eq(a->pools[0].places, 1);
    ck_assert_uint_eq(a->pools[1].places, 2);
    ck_assert_int_eq(cairn_workflow_pool(workflow, "late", 1, &failure), CAIRN_EUSAGE);
}
END_TEST

START_TEST(test_retries)
{
    static const uint8_t exits[] = {75, 6, 0};
    struct cairn_task task = {.id = "a",
                              .argv = true_argv,
                              .retries = 3,
                              .retry_delay_ms = 100,
                              .retry_cap_ms = 99};
    refuse(&task, CAIRN_EWORKFLOW, "nor their cap be below the first one");
    task.retry_cap_ms = 400;
    task.retry_factor_permille = 999;
    refuse(&task, CAIRN_EWORKFLOW, "nor shrink");
    task.retry_factor_permille = 2000;
    task.retry_on = 8;
    refuse(&task, CAIRN_EWORKFLOW, "CAIRN_RETRY_... only");
    task.retry_on = CAIRN_RETRY_TIMEOUT | CAIRN_RETRY_SPAWN;
    task.retry_exits = exits;
    task.retry_jitter = true;
    accept(&task);
    task = (struct cairn_task){.id = "b", .argv = true_argv, .retries = 1};
    accept(&task);
    compile();
    const struct retry_policy *a = &workflow->definition.defs[0].retry;
    ck_assert(a->max == 3 && a->delay_ms == 100 && a->cap_ms == 400 && a->jitter);
    ck_assert_uint_eq(a->factor_permille, 2000);
    ck_assert_uint_eq(a->on, RETRY_TIMEOUT | RETRY_SPAWN);
    ck_assert(a->n_on_exit == 2 && a->on_exit[0] == 75 && a->on_exit[1] == 6);
    const struct retry_policy *b = &workflow->definition.defs[1].retry;
    ck_assert(b->max == 1 && b->factor_permille == 1000 && !b->n_on_exit && !b->on);
}
END_TEST

START_TEST(test_digest)
{
    char first[65], again[65];
    struct cairn_task task = {.id = "a", .run = "true"};
    accept(&task);
    compile();
    ck_assert_int_eq(cairn_workflow_digest(workflow, first, &failure), 0);
    ck_assert_uint_eq(strlen(first), 64);
    ck_assert_int_eq(cairn_workflow_digest(workflow, again, &failure), 0);
    ck_assert_str_eq(first, again);
    teardown();
    setup();
    accept(&task);
    compile();
    ck_assert_int_eq(cairn_workflow_digest(workflow, again, &failure), 0);
    ck_assert_str_eq(first, again);
    teardown();
    setup();
    task.run = "false";
    accept(&task);
    compile();
    ck_assert_int_eq(cairn_workflow_digest(workflow, again, &failure), 0);
    ck_assert_str_ne(first, again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("workflow api");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_workflow_names);
    tcase_add_test(c, test_ids);
    tcase_add_test(c, test_scopes);
    tcase_add_test(c, test_odd_ids_can_be_stored);
    tcase_add_test(c, test_commands);
    tcase_add_test(c, test_numbers);
    tcase_add_test(c, test_environment);
    tcase_add_test(c, test_pools);
    tcase_add_test(c, test_retries);
    tcase_add_test(c, test_needs);
    tcase_add_test(c, test_refusals_leave_nothing);
    tcase_add_test(c, test_everything_is_copied);
    tcase_add_test(c, test_compiling);
    tcase_add_test(c, test_node_info);
    tcase_add_test(c, test_groups);
    tcase_add_test(c, test_nodes);
    tcase_add_test(c, test_later_fields);
    tcase_add_test(c, test_services);
    tcase_add_test(c, test_rounds);
    tcase_add_test(c, test_foreach);
    tcase_add_test(c, test_digest);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
