/* Compiling definitions: numbering, edges, order, cycles, limits; and fingerprints. */
#include "base/limits.h"
#include "executor/cycle.h"

#include "tests/unit/graph_help.h"

#include <sys/resource.h>

static struct definition definition, other_definition;
static struct graph graph, other;
static struct cairn_error failure;

static void release(void)
{
    help_drop(&graph, &definition);
    help_drop(&other, &other_definition);
}

static void build(const char *text)
{
    help_build(&graph, &definition, text);
}

static uint32_t node(const char *id)
{
    uint32_t found = graph_find(&graph, str_of(id));
    ck_assert_msg(found != NODE_NONE, "no %s", id);
    return found;
}

static uint32_t n_needs(const struct graph *g, uint32_t i)
{
    return g->need_start[i + 1] - g->need_start[i];
}

static uint32_t nth_need(uint32_t i, uint32_t j)
{
    return graph.needs[graph.need_start[i] + j];
}

static void refuse(int code)
{
    failure = (struct cairn_error){0};
    ck_assert_int_eq(graph_build(&graph, &definition, &failure), code);
    ck_assert_int_eq(failure.code, code);
    ck_assert_ptr_null(graph.id); /* untouched */
}

static void expect_text(const char *part)
{
    ck_assert_msg(strstr(failure.text, part) != NULL, "no `%s` in: %s", part,
                  failure.text);
}

/* ---- Numbering ---- */

START_TEST(test_ids)
{
    build("fetch\n"
          "convert part=1,2,3 kind=a,b\n"
          "odd part=a/b,x;y\n");
    static const char *const ids[] = {"fetch",
                                      "convert[part=1,kind=a]",
                                      "convert[part=1,kind=b]",
                                      "convert[part=2,kind=a]",
                                      "convert[part=2,kind=b]",
                                      "convert[part=3,kind=a]",
                                      "convert[part=3,kind=b]",
                                      "odd[part=a/b]",
                                      "odd[part=x%3By]"};
    ck_assert_uint_eq(graph.n_tasks, 9);
    ck_assert_uint_eq(graph.n_nodes, 9); /* no barrier without a need on it */
    for (uint32_t i = 0; i < graph.n_tasks; i++) {
        ck_assert_str_eq(graph.id[i], ids[i]);
        ck_assert_uint_eq(graph_find(&graph, str_of(ids[i])), i);
    }
    ck_assert_uint_eq(graph_member(&graph, 4), 3);
    ck_assert_uint_eq(graph.def_of[8], 2);
    release();
}
END_TEST

START_TEST(test_find)
{
    static const char *const absent[] = {"",
                                         "fetc",
                                         "fetch[]",
                                         "fetch[x=1]",
                                         "group",
                                         "group[",
                                         "group[]",
                                         "[a=1]",
                                         "group]",
                                         "group[a=1]",
                                         "group[a=1,",
                                         "group[a=1,b=2",
                                         "group[a=1,b=3]",
                                         "group[b=2,a=1]",
                                         "group[a=1,b=2]]",
                                         "group[a=1,b=2,c=3]",
                                         "group[a=1,b=2,]",
                                         "group[a=1b=2]",
                                         "group[a1,b=2]",
                                         "group[aa=1,b=2]",
                                         "Fetch"};
    build("fetch\n"
          "group a=1 b=2\n"
          "user : group\n");
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        ck_assert_msg(graph_find(&graph, str_of(absent[i])) == NODE_NONE, "%s",
                      absent[i]);
    ck_assert_uint_eq(graph_find(&graph, (struct str){NULL, 0}), NODE_NONE);
    ck_assert_uint_eq(node("fetch"), 0);
    ck_assert_uint_eq(node("group[a=1,b=2]"), 1);
    ck_assert_uint_eq(node("user"), 2);
    release();
}
END_TEST

/* ---- Edges ---- */

START_TEST(test_barriers)
{
    build("first part=1,2,3\n"
          "second part=1,2,3,4 : first\n"
          "third : first second\n"
          "fourth : third\n");
    ck_assert_uint_eq(graph.n_tasks, 9);
    ck_assert_uint_eq(graph.n_nodes, 11);
    ck_assert_uint_eq(graph.n_edges, 3 + 4 + 4 + 2 + 1); /* N + M, not N x M */
    uint32_t one = graph.barrier[0], two = graph.barrier[1];
    ck_assert(graph_is_barrier(&graph, one) && graph_is_barrier(&graph, two));
    ck_assert_uint_eq(graph.barrier[2], NODE_NONE);
    ck_assert_str_eq(graph.id[one], "first");
    ck_assert_uint_eq(n_needs(&graph, one), 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(nth_need(one, i), i);
    for (uint32_t i = 3; i < 7; i++) {
        ck_assert_uint_eq(n_needs(&graph, i), 1);
        ck_assert_uint_eq(nth_need(i, 0), one);
    }
    ck_assert_uint_eq(nth_need(node("third"), 0), one);
    ck_assert_uint_eq(nth_need(node("third"), 1), two);
    release();
}
END_TEST

START_TEST(test_element_wise)
{
    build("convert part=1,2,3 kind=a,b\n"
          "index part=3,1 : convert[part=${{part}},kind=b]\n"
          "one : convert[part=2,kind=a] convert[part=2,kind=a]\n");
    ck_assert_uint_eq(graph.n_nodes, graph.n_tasks);
    ck_assert_uint_eq(nth_need(node("index[part=3]"), 0),
                      node("convert[part=3,kind=b]"));
    ck_assert_uint_eq(nth_need(node("index[part=1]"), 0),
                      node("convert[part=1,kind=b]"));
    ck_assert_uint_eq(n_needs(&graph, node("one")), 2);
    ck_assert_uint_eq(nth_need(node("one"), 0), node("convert[part=2,kind=a]"));
    release();
}
END_TEST

START_TEST(test_missing_member)
{
    help_define(&definition, "convert part=1,2\n"
                             "index part=1,2,3 : convert[part=${{part}}]\n");
    refuse(CAIRN_EWORKFLOW);
    expect_text(
        "/w/test.yaml:2:1: `index[part=3]` needs `convert[part=${{part}}]`, but "
        "`convert` has no such member");
    expect_text("need the whole group with `convert`");
    definition_release(&definition);
}
END_TEST

START_TEST(test_nothing)
{
    help_define(&definition, "");
    refuse(CAIRN_EWORKFLOW);
    expect_text("`test` has no tasks");
    definition_release(&definition);
    help_define(&definition, "group part=\n"
                             "empty part=\n");
    refuse(CAIRN_EWORKFLOW);
    definition_release(&definition);
}
END_TEST

/* A group may be empty: its barrier needs nothing. */
START_TEST(test_empty_group)
{
    build("group part=\n"
          "each part= : group\n"
          "last : group each\n");
    ck_assert_uint_eq(graph.n_tasks, 1);
    ck_assert_uint_eq(graph.n_nodes, 3);
    ck_assert_uint_eq(n_needs(&graph, graph.barrier[0]), 0);
    ck_assert_uint_eq(n_needs(&graph, node("last")), 2);
    ck_assert_uint_eq(graph_find(&graph, STR("group[part=1]")), NODE_NONE);
    release();
}
END_TEST

/* ---- Random graphs: mirror, order, critical path ---- */

/* Defs need earlier defs; a third of them are groups. */
static void random_definition(struct definition *d, uint64_t *seed)
{
    uint32_t n = 1 + help_below(seed, 25);
    help_begin(d);
    for (uint32_t i = 0; i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%u", i);
        struct task_def *def = help_task(d, text);
        uint32_t members = help_below(seed, 3) ? 0 : 1 + help_below(seed, 5);
        for (uint32_t m = 0; m < members; m++) {
            snprintf(text, sizeof text, "%u", m);
            help_value(d, def, "x", text);
        }
        uint32_t needs = i ? help_below(seed, 4) : 0;
        for (uint32_t j = 0; j < needs; j++) {
            uint32_t target = help_below(seed, i);
            struct need *need = help_need(d, def, target, "need");
            if (!d->defs[target].n_foreach || help_below(seed, 2))
                continue;
            need->bindings = arena_take(&d->arena, 1, sizeof *need->bindings);
            need->bindings[0] = (struct key_value){STR("x"), STR("0")};
            need->n_bindings = 1;
        }
    }
    help_finish(d);
}

static void check_mirror(const struct graph *g)
{
    uint32_t edges = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        ck_assert_uint_le(g->user_start[i], g->user_start[i + 1]);
        for (uint32_t e = g->user_start[i]; e < g->user_start[i + 1]; e++) {
            uint32_t there = 0, back = 0, user = g->users[e];
            for (uint32_t f = g->need_start[user]; f < g->need_start[user + 1]; f++)
                there += g->needs[f] == i;
            for (uint32_t f = g->user_start[i]; f < g->user_start[i + 1]; f++)
                back += g->users[f] == user;
            ck_assert_uint_eq(there, back); /* twice needed is twice used */
            edges++;
        }
    }
    ck_assert_uint_eq(edges, g->n_edges);
    ck_assert_uint_eq(g->need_start[g->n_nodes], g->n_edges);
}

static void check_order(const struct graph *g)
{
    uint32_t *place = malloc(g->n_nodes * sizeof *place);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        place[i] = NODE_NONE;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        ck_assert_uint_eq(place[g->order[i]], NODE_NONE);
        place[g->order[i]] = i;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t e = g->need_start[i]; e < g->need_start[i + 1]; e++)
            ck_assert_uint_lt(place[g->needs[e]], place[i]);
    free(place);
}

/* The longest way by relaxing until nothing moves. */
static void check_height(const struct graph *g, const uint32_t *duration,
                         uint32_t usual)
{
    uint32_t *height = calloc(g->n_nodes, sizeof *height);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            uint32_t own = graph_is_barrier(g, i)    ? 0
                           : duration && duration[i] ? duration[i]
                                                     : usual;
            uint32_t tallest = 0;
            for (uint32_t e = g->user_start[i]; e < g->user_start[i + 1]; e++)
                if (height[g->users[e]] > tallest)
                    tallest = height[g->users[e]];
            moved |= height[i] != own + tallest;
            height[i] = own + tallest;
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        ck_assert_uint_eq(g->height[i], height[i]);
    free(height);
}

START_TEST(test_random_graphs)
{
    enum { GRAPHS = 400 };
    uint64_t seed = 20260102;
    for (int i = 0; i < GRAPHS; i++) {
        random_definition(&definition, &seed);
        ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
        check_mirror(&graph);
        check_order(&graph);
        check_height(&graph, NULL, 1);
        uint32_t *duration = calloc(graph.n_tasks, sizeof *duration), known = 0,
                 sum = 0;
        for (uint32_t t = 0; t < graph.n_tasks; t++)
            if (help_below(&seed, 2)) {
                duration[t] = 1 + help_below(&seed, 1000);
                sum += duration[t];
                known++;
            }
        ck_assert_int_eq(graph_weigh(&graph, duration, &failure), 0);
        check_height(&graph, duration, known ? sum / known : 1);
        free(duration);
        release();
    }
}
END_TEST

START_TEST(test_weights_saturate)
{
    uint32_t duration[] = {UINT32_MAX, UINT32_MAX, 1};
    build("a\nb : a\nc : b\n");
    ck_assert_int_eq(graph_weigh(&graph, duration, &failure), 0);
    ck_assert_uint_eq(graph.height[2], 1);
    ck_assert_uint_eq(graph.height[1], UINT32_MAX);
    ck_assert_uint_eq(graph.height[0], UINT32_MAX);
    release();
}
END_TEST

/* ---- Cycles ---- */

static void expect_cycle(const char *text, const char *cycle)
{
    help_define(&definition, text);
    refuse(CAIRN_EWORKFLOW);
    expect_text("in a circle");
    expect_text(cycle);
    expect_text("remove one of these needs");
    definition_release(&definition);
}

START_TEST(test_cycles)
{
    expect_cycle("a : a\n", "\n  a -> a\n");
    expect_cycle("a : b\nb : a\n", "\n  a -> b -> a\n");
    expect_cycle("x\na : x c\nb : a x\nc : b\ny : c\n", "\n  a -> c -> b -> a\n");
    /* The walk begins outside the cycle: its way in is not named. */
    expect_cycle("way : in\nin : a\na : b\nb : c\nc : a\n", "\n  a -> b -> c -> a\n");
    expect_cycle("a part=1,2 : b\nb : a\n", "\n  a[part=1] -> b -> a -> a[part=1]\n");
    expect_cycle("a part=1,2 : a\n", "\n  a[part=1] -> a -> a[part=1]\n");
    expect_cycle("a part=1,2 : a[part=2]\n", "\n  a[part=2] -> a[part=2]\n");
    help_define(&definition, "x\n\nway : b\na : b\nb : a\n");
    refuse(CAIRN_EWORKFLOW);
    expect_text("/w/test.yaml:4:1: these tasks need"); /* a task of the cycle itself */
    definition_release(&definition);
}
END_TEST

/* A ring of n tasks, ids of `width` bytes. */
static void make_ring(uint32_t n, int width)
{
    help_begin(&definition);
    for (uint32_t i = 0; i < n; i++) {
        char id[LIMIT_ID_BYTES + 1];
        snprintf(id, sizeof id, "t%0*u", width - 1, i);
        help_need(&definition, help_task(&definition, id), (i + 1) % n, "next");
    }
    help_finish(&definition);
}

/* A small stack shows that nothing recurses. */
START_TEST(test_long_cycle)
{
    enum { LONG = 100000 };
    struct rlimit stack = {256 << 10, 256 << 10};
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &stack), 0);
    make_ring(LONG, 7);
    refuse(CAIRN_EWORKFLOW);
    expect_text("t000000 -> t000001 -> t000002");
    expect_text(" more) -> t000000\n");
    expect_text("remove one of these needs");
    definition_release(&definition);
}
END_TEST

START_TEST(test_cycle_of_long_ids)
{
    make_ring(50, LIMIT_ID_BYTES);
    refuse(CAIRN_EWORKFLOW);
    expect_text(" more) -> t0000");
    expect_text("remove one of these needs");
    definition_release(&definition);
    make_ring(2, LIMIT_ID_BYTES); /* whole while it fits */
    refuse(CAIRN_EWORKFLOW);
    expect_text("01 -> t0000");
    expect_text("remove one of these needs");
    definition_release(&definition);
}
END_TEST

/* ---- Limits ---- */

START_TEST(test_long_ids)
{
    char id[LIMIT_ID_BYTES + 2];
    for (int past = 0; past < 2; past++) {
        size_t n = (size_t)LIMIT_ID_BYTES - strlen("[part=1]") + (size_t)past;
        memset(id, 'x', n);
        id[n] = 0;
        help_begin(&definition);
        help_value(&definition, help_task(&definition, id), "part", "1");
        help_finish(&definition);
        if (past) {
            refuse(CAIRN_ELIMIT);
            expect_text("is longer than 200 bytes");
            definition_release(&definition);
        } else {
            ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
            ck_assert_uint_eq(strlen(graph.id[0]), LIMIT_ID_BYTES);
            release();
        }
    }
}
END_TEST

START_TEST(test_too_many_tasks)
{
    help_define(&definition, "a\nb\n");
    definition.defs[0].members = LIMIT_TASKS; /* counted before anything is made */
    refuse(CAIRN_ELIMIT);
    expect_text("more than 10000000 tasks");
    definition_release(&definition);
}
END_TEST

/* 32^4 members with 96 needs each. The limit itself would take a gigabyte to reach. */
START_TEST(test_too_many_edges)
{
    enum { KEYS = 4, VALUES = 32, NEEDS = 96 };
    help_begin(&definition);
    help_task(&definition, "a");
    struct task_def *def = help_task(&definition, "b");
    for (int k = 0; k < KEYS; k++)
        for (int v = 0; v < VALUES; v++) {
            char key[16], value[16];
            snprintf(key, sizeof key, "k%d", k);
            snprintf(value, sizeof value, "%d", v);
            help_value(&definition, def, key, value);
        }
    for (int i = 0; i < NEEDS; i++)
        help_need(&definition, def, 0, "a");
    help_finish(&definition);
    refuse(CAIRN_ELIMIT);
    expect_text("more than 100000000 dependencies");
    definition_release(&definition);
}
END_TEST

/* ---- Fingerprints ---- */

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

/* Fingerprints and the text about the difference of task `id`. */
static void expect_difference(const char *id, const char *ids, const char *text)
{
    struct buf got = BUF_INIT;
    uint32_t index = map_get(&definition.by_id, str_of(id));
    fingerprint_difference(&definition, &definition.defs[index], &other_definition,
                           edited(id), &got);
    ck_assert_str_eq(got.size ? got.data : "", text);
    buf_clear(&got); /* and the other way round it reads the same */
    fingerprint_difference(&other_definition, edited(id), &definition,
                           &definition.defs[index], &got);
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
    def->pool = 0;
    def->priority = -3;
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
                                 .pool = UINT32_MAX,
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
    expect_difference("one", "one", "command");
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
        fingerprint_difference(x, &x->defs[2], y, &y->defs[2], &got);
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
    fingerprint_difference(&definition, &definition.defs[0], &other_definition,
                           &other_definition.defs[0], &got);
    ck_assert_str_eq(got.data, "foreach");
    buf_release(&got);
    definition_release(&definition);
    definition_release(&other_definition);
}
END_TEST

/* Made from the description in fingerprint.c by another program, once: a change of the
 * encoding makes every user's tasks run again. */
START_TEST(test_encoding_is_version_1)
{
    static const char *const expected[] = {
        "bc8c35d0e33e3c6329cee0b2c6613a7ba0f6658408c90be26a0059c5e47a7849",
        "5e3730da592604899ad0a04a0171ace0d858004765a7e5bfa9ec1a09ac9b7020"};
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

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *c = tcase_create("graph");
    tcase_add_test(c, test_ids);
    tcase_add_test(c, test_find);
    tcase_add_test(c, test_barriers);
    tcase_add_test(c, test_element_wise);
    tcase_add_test(c, test_missing_member);
    tcase_add_test(c, test_nothing);
    tcase_add_test(c, test_empty_group);
    tcase_add_test(c, test_random_graphs);
    tcase_add_test(c, test_weights_saturate);
    tcase_add_test(c, test_cycles);
    tcase_add_test(c, test_long_cycle);
    tcase_add_test(c, test_cycle_of_long_ids);
    tcase_add_test(c, test_long_ids);
    tcase_add_test(c, test_too_many_tasks);
    tcase_add_test(c, test_too_many_edges);
    suite_add_tcase(suite, c);
    c = tcase_create("fingerprints");
    tcase_add_test(c, test_same_fingerprints);
    tcase_add_test(c, test_tuning_does_not_count);
    tcase_add_test(c, test_order_does_not_count);
    tcase_add_test(c, test_each_field_counts);
    tcase_add_test(c, test_params_count_for_all);
    tcase_add_test(c, test_doubled_needs_differ);
    tcase_add_test(c, test_group_membership_counts);
    tcase_add_test(c, test_foreach_keys_difference);
    tcase_add_test(c, test_encoding_is_version_1);
    tcase_add_test(c, test_many_needs);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
