/* SPDX-License-Identifier: MIT */
/* Fingerprints: what counts and what does not, and what is told of a difference. */
#include "tests/support/graph.h"

#include "graph/fingerprint.h"

static struct definition definition, other_definition;
static struct graph graph, other;
static struct cairn_error failure;

static void release(void)
{
    help_drop(&graph, &definition);
    help_drop(&other, &other_definition);
}

static uint32_t node(const char *id)
{
    uint32_t found = graph_find(&graph, str_of(id));
    ck_assert_msg(found != NODE_NONE, "no %s", id);
    return found;
}

/* ---- Which tasks, which fields ---- */

/* Both sides start from this; `other` is then edited and compiled. */
static const char base_text[] = "fetch\n"
                                "group x=1,2,3\n"
                                "one : fetch group\n"
                                "each x=1,2 : fetch group[x=${{x}}] group\n";

static void begin_edit(void)
{
    static struct key_value env[] = {{{"A", 1}, {"1", 1}}, {{"B", 1}, {"2", 1}}};
    static struct key_value params[] = {{{"day", 3}, {"mon", 3}}};
    static struct str argv[] = {{"echo", 4}, {"a", 1}};
    struct definition *both[] = {&definition, &other_definition};
    for (int i = 0; i < 2; i++) {
        help_define(both[i], base_text);
        both[i]->params = params;
        both[i]->n_params = 1;
        for (uint32_t j = 0; j < both[i]->n_defs; j++) {
            struct task_def *def = &both[i]->defs[j];
            def->env = env;
            def->n_env = 2;
            def->argv = argv;
            def->n_argv = 2;
            def->shell = argv;
            def->n_shell = 1;
            def->outputs = argv;
            def->n_outputs = 2;
        }
    }
}

static struct task_def *edited(const char *id)
{
    uint32_t index = map_get(&other_definition.by_id, str_of(id));
    ck_assert_uint_ne(index, MAP_NONE);
    return &other_definition.defs[index];
}

/* The ids, separated by blanks, of the tasks whose fingerprints differ. */
static void changed_ids(struct buf *out)
{
    ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
    ck_assert_int_eq(graph_build(&other, &other_definition, &failure), 0);
    struct digest *a = malloc(graph.n_tasks * sizeof *a);
    struct digest *b = malloc(other.n_tasks * sizeof *b);
    ck_assert_int_eq(graph_fingerprints(&graph, a, &failure), 0);
    ck_assert_int_eq(graph_fingerprints(&other, b, &failure), 0);
    for (uint32_t i = 0; i < graph.n_tasks; i++) {
        uint32_t j = graph_find(&other, str_of(graph.id[i]));
        if (j != NODE_NONE && !digest_equal(&a[i], &b[j]))
            buf_format(out, "%s%s", out->size ? " " : "", graph.id[i]);
    }
    free(a);
    free(b);
}

static void expect_changed(const char *ids)
{
    struct buf got = BUF_INIT;
    changed_ids(&got);
    ck_assert_str_eq(got.size ? got.data : "", ids);
    buf_release(&got);
    release();
}

static int add_field(void *context, const char *field, const char *old, const char *now)
{
    struct buf *out = context;
    buf_format(out, "%s%s", out->size ? ", " : "", field);
    ck_assert(old || now);
    return 0;
}

static void changed_fields(const struct definition *a_in, const struct task_def *a,
                           const struct definition *b_in, const struct task_def *b,
                           struct buf *out)
{
    ck_assert_int_eq(fingerprint_changes(a_in, a, b_in, b, add_field, out, &failure),
                     0);
}

/* Fingerprints and the text about the difference of task `id`. */
static void expect_difference(const char *id, const char *ids, const char *text)
{
    struct buf got = BUF_INIT;
    uint32_t index = map_get(&definition.by_id, str_of(id));
    changed_fields(&definition, &definition.defs[index], &other_definition, edited(id),
                   &got);
    ck_assert_str_eq(got.size ? got.data : "", text);
    buf_clear(&got); /* and the other way round it reads as long */
    changed_fields(&other_definition, edited(id), &definition, &definition.defs[index],
                   &got);
    ck_assert_uint_eq(got.size, strlen(text));
    buf_release(&got);
    expect_changed(ids);
}

START_TEST(test_same_fingerprints)
{
    begin_edit();
    expect_difference("one", "", "");
}
END_TEST

START_TEST(test_tuning_does_not_count)
{
    begin_edit();
    struct task_def *def = edited("one");
    help_pool(&other_definition, "db");
    other_definition.on_failure = ON_FAILURE_CONTINUE;
    other_definition.jobs = 3;
    other_definition.name = STR("renamed");
    other_definition.file = STR("/elsewhere");
    def->timeout_ms = 5;
    def->grace_ms = 6;
    def->retry = (struct retry_policy){.max = 7, .delay_ms = 8, .jitter = true};
    static struct pool_use use = {0, 1};
    def->pools = &use;
    def->n_pools = 1;
    def->slots = 3;
    def->may_fail = true;
    def->priority = -3;
    def->needs_all = true;
    other_definition.all_need_all = true;
    def->at = (struct position){99, 9};
    expect_difference("one", "", "");
}
END_TEST

/* Moves the last need to the front. */
static void turn_needs(struct task_def *def)
{
    struct need last = def->needs[def->n_needs - 1];
    for (uint32_t i = def->n_needs - 1; i > 0; i--)
        def->needs[i] = def->needs[i - 1];
    def->needs[0] = last;
}

START_TEST(test_order_does_not_count)
{
    begin_edit();
    turn_needs(edited("one"));
    turn_needs(edited("each"));
    expect_difference("each", "", "");
    /* foreach values in another order: the same members, the same group */
    begin_edit();
    definition_release(&other_definition);
    help_define(&other_definition, "each x=2,1 : group[x=${{x}}] fetch group\n"
                                   "one : group fetch\n"
                                   "group x=3,1,2\n"
                                   "fetch\n");
    struct definition *d = &definition, *o = &other_definition;
    o->params = d->params;
    o->n_params = d->n_params;
    for (uint32_t i = 0; i < o->n_defs; i++) {
        struct task_def *def = &o->defs[i];
        *def = (struct task_def){.id = def->id,
                                 .needs = def->needs,
                                 .n_needs = def->n_needs,
                                 .foreach = def->foreach,
                                 .n_foreach = def->n_foreach,
                                 .members = def->members,
                                 .kind = d->defs[0].kind,
                                 .run = d->defs[0].run,
                                 .cwd = d->defs[0].cwd,
                                 .version = d->defs[0].version,
                                 .env = d->defs[0].env,
                                 .n_env = d->defs[0].n_env,
                                 .argv = d->defs[0].argv,
                                 .n_argv = d->defs[0].n_argv,
                                 .shell = d->defs[0].shell,
                                 .n_shell = d->defs[0].n_shell,
                                 .outputs = d->defs[0].outputs,
                                 .n_outputs = d->defs[0].n_outputs};
    }
    expect_difference("each", "", "");
}
END_TEST

START_TEST(test_each_field_counts)
{
    static struct key_value env[] = {{{"A", 1}, {"1", 1}}, {{"C", 1}, {"2", 1}}};
    static struct key_value other_value[] = {{{"A", 1}, {"9", 1}},
                                             {{"B", 1}, {"2", 1}}};
    static struct str words[] = {{"echo", 4}, {"b", 1}};
    static struct str one_word[] = {{"echoa", 5}};
    begin_edit();
    edited("one")->run = STR("false");
    expect_difference("one", "one", "command");
    begin_edit();
    edited("one")->kind = TASK_EXEC;
    expect_difference("one", "one", "command");
    begin_edit();
    edited("one")->version = STR("2");
    expect_difference("one", "one", "version");
    begin_edit();
    edited("one")->argv = words;
    expect_difference("one", "one", "command");
    begin_edit();
    edited("one")->argv = one_word; /* lengths are hashed: no words run together */
    edited("one")->n_argv = 1;
    expect_difference("one", "one", "command");
    begin_edit();
    edited("one")->n_shell = 2;
    expect_difference("one", "one", "shell");
    begin_edit();
    edited("one")->env = env;
    expect_difference("one", "one", "env B, env C");
    begin_edit();
    edited("one")->env = other_value;
    expect_difference("one", "one", "env A");
    begin_edit();
    edited("one")->n_env = 1;
    expect_difference("one", "one", "env B");
    begin_edit();
    edited("one")->cwd = STR("sub");
    expect_difference("one", "one", "cwd");
    begin_edit();
    edited("one")->outputs = words;
    expect_difference("one", "one", "outputs");
    begin_edit();
    edited("one")->n_needs = 1;
    expect_difference("one", "one", "needs");
    begin_edit();
    edited("one")->run = STR("false");
    edited("one")->cwd = STR("sub");
    edited("one")->n_shell = 0;
    expect_difference("one", "one", "command, shell, cwd");
}
END_TEST

START_TEST(test_params_count_for_all)
{
    static struct key_value params[] = {{{"day", 3}, {"tue", 3}}};
    begin_edit();
    other_definition.params = params;
    expect_difference("one",
                      "fetch group[x=1] group[x=2] group[x=3] one each[x=1] each[x=2]",
                      "param day");
}
END_TEST

/* `a a` and `a b` are as many needs of as many names, and not the same. */
START_TEST(test_doubled_needs_differ)
{
    struct buf got = BUF_INIT;
    help_define(&definition, "a\nb\nc : a a\n");
    help_define(&other_definition, "a\nb\nc : a b\n");
    for (int turn = 0; turn < 2; turn++) {
        const struct definition *x = turn ? &other_definition : &definition;
        const struct definition *y = turn ? &definition : &other_definition;
        buf_clear(&got);
        changed_fields(x, &x->defs[2], y, &y->defs[2], &got);
        ck_assert_str_eq(got.size ? got.data : "", "needs");
    }
    buf_release(&got);
    expect_changed("c");
}
END_TEST

static void expect_texts(const char *before, const char *after, const char *ids)
{
    help_define(&definition, before);
    help_define(&other_definition, after);
    expect_changed(ids);
}

START_TEST(test_group_membership_counts)
{
    expect_texts("g x=1,2\nu : g\nv : u\n", "g x=1,2,3\nu : g\nv : u\n", "u");
    expect_texts("g x=1,2\nu : g\n", "g x=1\nu : g\n", "u");
    /* One member's user does not care about the others. */
    expect_texts("g x=1,2\nu : g[x=1]\n", "g x=1,2,3\nu : g[x=1]\n", "");
    expect_texts("g x=1,2\nu : g[x=1]\n", "g x=1,2\nu : g[x=2]\n", "u");
    /* The same member written another way is the same need. */
    expect_texts("g x=1\nu x=1 : g[x=${{x}}]\n", "g x=1\nu x=1 : g[x=1]\n", "");
    /* A group is not its only member, and not a task of that name. */
    expect_texts("g x=1\nu : g\n", "g x=1\nu : g[x=1]\n", "u");
    expect_texts("g x=1\nu : g\n", "g\nu : g\n", "u");
    /* One more key, with one value: other members, and another group. */
    expect_texts("g x=1\nu : g\n", "g x=1 y=1\nu : g\n", "u");
}
END_TEST

START_TEST(test_foreach_keys_difference)
{
    struct buf got = BUF_INIT;
    help_define(&definition, "g x=1 y=2\n");
    help_define(&other_definition, "g x=1 z=2\n");
    changed_fields(&definition, &definition.defs[0], &other_definition,
                   &other_definition.defs[0], &got);
    ck_assert_str_eq(got.data, "foreach");
    buf_release(&got);
    definition_release(&definition);
    definition_release(&other_definition);
}
END_TEST

/* Made from the description in fingerprint.c by another program, once. */
START_TEST(test_encoding_is_version_2)
{
    static const char *const expected[] = {
        "53987095ecd29ad3d96cffce82ab3ac1287d0d8b578266fe4f2394308bceeea3",
        "d526fc3eab89659fc53c1db8951496304d65561d0c3eb6d03d4367ea318da1ee"};
    struct digest digests[7];
    char hex[DIGEST_HEX_SIZE];
    begin_edit();
    ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
    ck_assert_uint_eq(graph.n_tasks, 7);
    ck_assert_int_eq(graph_fingerprints(&graph, digests, &failure), 0);
    digest_hex(&digests[node("fetch")], hex);
    ck_assert_str_eq(hex, expected[0]);
    digest_hex(&digests[node("one")], hex);
    ck_assert_str_eq(hex, expected[1]);
    release();
}
END_TEST

/* A last task that needs all others by name: no quadratic sorting of them. */
START_TEST(test_many_needs)
{
    enum { MANY = 60000 };
    struct digest *digests = malloc((MANY + 1) * sizeof *digests);
    uint64_t seed = 5;
    help_begin(&definition);
    for (uint32_t i = 0; i < MANY; i++) {
        char id[24];
        snprintf(id, sizeof id, "t%08x-%u", (unsigned)help_next(&seed), i);
        help_task(&definition, id);
    }
    struct task_def *last = help_task(&definition, "last");
    for (uint32_t i = 0; i < MANY; i++)
        help_need(&definition, last, i, definition.defs[i].id.ptr);
    help_finish(&definition);
    ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
    ck_assert_int_eq(graph_fingerprints(&graph, digests, &failure), 0);
    free(digests);
    release();
}
END_TEST

/* ---- What version 2 of the workflow file has ---- */

START_TEST(test_new_fields_count)
{
    static struct str names[] = {{"day", 3}, {"n", 1}};
    begin_edit();
    edited("one")->inputs = names;
    edited("one")->n_inputs = 1;
    expect_difference("one", "one", "inputs");
    begin_edit();
    edited("one")->condition = STR("1 < 2");
    expect_difference("one", "one", "if");
    begin_edit();
    edited("one")->when = WHEN_FAILED;
    expect_difference("one", "one", "when");
    begin_edit();
    edited("one")->check = STR("./ok");
    expect_difference("one", "one", "check");
    begin_edit();
    edited("one")->secrets = names;
    edited("one")->n_secrets = 2;
    expect_difference("one", "one", "secrets");
    begin_edit();
    edited("one")->kind = TASK_EXTERNAL;
    edited("one")->external = STR("do it");
    expect_difference("one", "one", "command, external");
    begin_edit();
    edited("one")->own_params = true; /* none of them */
    expect_difference("one", "one", "param day");
    begin_edit();
    edited("one")->own_params = true; /* all that there are: nothing has changed */
    edited("one")->params = names;
    edited("one")->n_params = 1;
    expect_difference("one", "", "");
}
END_TEST

/* Both sides have a check, which only the tasks of `other` change. */
static void begin_checks(void)
{
    static struct str shell[] = {{"sh", 2}, {"-c", 2}};
    begin_edit();
    struct definition *both[] = {&definition, &other_definition};
    for (int i = 0; i < 2; i++) {
        struct task_def *one = &both[i]->defs[map_get(&both[i]->by_id, STR("one"))];
        one->check = STR("./ok");
        one->check_min_permille = 700;
        one->check_warn_permille = 850;
        one->undo = STR("undo");
        one->side_shell = shell;
        one->n_side_shell = 2;
        one->n_shell = 0;
    }
}

START_TEST(test_checks_count)
{
    begin_checks();
    expect_difference("one", "", "");
    begin_checks();
    edited("one")->check = STR("./no");
    expect_difference("one", "one", "check");
    begin_checks();
    edited("one")->check_min_permille = 701;
    expect_difference("one", "one", "check");
    begin_checks();
    edited("one")->fallback = STR("./other");
    expect_difference("one", "one", "fallback");
    begin_checks();
    edited("one")->n_side_shell = 1; /* it runs the check */
    expect_difference("one", "one", "shell");
    begin_checks();
    edited("one")->check_warn_permille = 900;
    expect_difference("one", "", "");
}
END_TEST

START_TEST(test_new_tuning_does_not_count)
{
    begin_checks();
    struct task_def *def = edited("one");
    other_definition.on_failure = ON_FAILURE_UNDO;
    other_definition.undo_scope = UNDO_ALL;
    other_definition.on_crash = ON_CRASH_ADOPT;
    other_definition.deadline_ms = 5;
    def->once = def->finally = true;
    def->undo = STR("other");
    def->check_warn_permille = 999;
    expect_difference("one", "", "");
    begin_edit();
    def = edited("one"); /* no check: the shell of undo and thresholds do not matter */
    def->undo = STR("undo");
    def->side_shell = def->shell;
    def->n_side_shell = def->n_shell;
    def->check_min_permille = 1;
    expect_difference("one", "", "");
}
END_TEST

START_TEST(test_own_params)
{
    static struct key_value params[] = {{{"day", 3}, {"tue", 3}}};
    static struct str day[] = {{"day", 3}};
    begin_edit();
    other_definition.params = params;
    for (uint32_t i = 0; i < definition.n_defs; i++) {
        definition.defs[i].own_params = other_definition.defs[i].own_params = true;
        if (i > 0)
            continue;
        definition.defs[i].params = other_definition.defs[i].params = day;
        definition.defs[i].n_params = other_definition.defs[i].n_params = 1;
    }
    expect_difference("one", "fetch", "");
}
END_TEST

/* ---- What is told ---- */

struct told {
    struct buf text;
    int stop_after, result;
};

static int tell(void *context, const char *field, const char *old, const char *now)
{
    struct told *told = context;
    buf_format(&told->text, "%s: %s -> %s\n", field, old ? old : "none",
               now ? now : "none");
    return --told->stop_after ? 0 : told->result;
}

static void expect_told(const char *expected)
{
    struct told told = {BUF_INIT, -1, 0};
    uint32_t index = map_get(&definition.by_id, STR("one"));
    int result =
        fingerprint_changes(&definition, &definition.defs[index], &other_definition,
                            edited("one"), tell, &told, &failure);
    ck_assert_int_eq(result, 0);
    ck_assert_str_eq(told.text.size ? told.text.data : "", expected);
    buf_release(&told.text);
    release();
}

/* begin_edit, and nothing is compiled. */
static struct task_def *begin_telling(void)
{
    begin_edit();
    ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
    ck_assert_int_eq(graph_build(&other, &other_definition, &failure), 0);
    return edited("one");
}

START_TEST(test_told)
{
    static struct str words[] = {{"a b", 3}, {"it's", 4}, {"", 0}, {"x", 1}};
    static struct key_value env[] = {{{"A", 1}, {"", 0}}, {{"C", 1}, {"3", 1}}};
    struct task_def *one = begin_telling();
    one->kind = TASK_EXEC;
    one->argv = words;
    one->n_argv = 4;
    expect_told("command: true (args: echo a) -> 'a b' 'it'\\''s' '' x\n");
    one = begin_telling();
    one->env = env;
    expect_told("env A: 1 -> \nenv B: 2 -> none\nenv C: none -> 3\n");
    one = begin_telling();
    one->n_outputs = 0;
    one->inputs = words;
    one->n_inputs = 2;
    expect_told("inputs: none -> 'a b', 'it'\\''s'\noutputs: echo, a -> none\n");
    one = begin_telling();
    one->n_needs = 1;
    expect_told("needs: fetch, group -> fetch\n");
    one = begin_telling();
    one->when = WHEN_ALWAYS;
    one->condition = STR("a");
    expect_told("if: none -> a\nwhen: success -> always\n");
    one = begin_telling();
    one->check = STR("./ok");
    one->check_min_permille = 705;
    expect_told("check: none -> ./ok (at least 70.5 %)\n");
    one = begin_telling();
    one->kind = TASK_EXTERNAL;
    one->run = STR("");
    one->external = STR("do it");
    one->n_shell = 0;
    expect_told("command: true (args: echo a) -> none\nexternal: none -> do it\n"
                "shell: echo -> none\n");
    one = begin_telling();
    one->own_params = true;
    expect_told("param day: mon -> none\n");
    one = begin_telling();
    other_definition.n_params = 0;
    expect_told("param day: mon -> none\n");
}
END_TEST

START_TEST(test_telling_stops)
{
    struct task_def *one = begin_telling();
    uint32_t index = map_get(&definition.by_id, STR("one"));
    one->run = STR("false");
    one->cwd = STR("d");
    for (int result = -3; result < 2; result += 4) {
        struct told told = {BUF_INIT, 1, result};
        int got = fingerprint_changes(&definition, &definition.defs[index],
                                      &other_definition, one, tell, &told, &failure);
        ck_assert_int_eq(got, result < 0 ? result : 0);
        ck_assert_str_eq(told.text.data,
                         "command: true (args: echo a) -> false (args: echo a)\n");
        buf_release(&told.text);
    }
    release();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fingerprint");
    TCase *c = tcase_create("fingerprints");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_same_fingerprints);
    tcase_add_test(c, test_tuning_does_not_count);
    tcase_add_test(c, test_order_does_not_count);
    tcase_add_test(c, test_each_field_counts);
    tcase_add_test(c, test_params_count_for_all);
    tcase_add_test(c, test_doubled_needs_differ);
    tcase_add_test(c, test_group_membership_counts);
    tcase_add_test(c, test_foreach_keys_difference);
    tcase_add_test(c, test_encoding_is_version_2);
    tcase_add_test(c, test_many_needs);
    tcase_add_test(c, test_new_fields_count);
    tcase_add_test(c, test_checks_count);
    tcase_add_test(c, test_new_tuning_does_not_count);
    tcase_add_test(c, test_own_params);
    tcase_add_test(c, test_told);
    tcase_add_test(c, test_telling_stops);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
