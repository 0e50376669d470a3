/* SPDX-License-Identifier: MIT */
/* The scheduler: small cases by hand, and random scenarios against a model that looks
 * at all of it again after every step. */
#include "plan/sched.h"

#include "tests/support/flow.h"

static struct definition definition;
static struct graph graph;
static struct sched sched;
static struct buf skipped = BUF_INIT; /* "a- b? ": skipped, excluded; in order */

static void note_skip(void *context, uint32_t task, enum cairn_outcome outcome)
{
    (void)context;
    ck_assert(outcome == CAIRN_SKIPPED || outcome == CAIRN_EXCLUDED);
    buf_format(&skipped, "%s%c ", graph.id[task], outcome == CAIRN_SKIPPED ? '-' : '?');
}

static struct task_def *def_named(const char *id)
{
    uint32_t index = map_get(&definition.by_id, str_of(id));
    ck_assert_uint_ne(index, MAP_NONE);
    return &definition.defs[index];
}

/* `when`: "b=failed c=always f=finally d=all s=service". */
static void set_whens(const char *whens)
{
    char *copy = strdup(whens), *rest = copy, *word;
    while ((word = strsep(&rest, " ")) != NULL && *word) {
        char *value = strchr(word, '=');
        *value++ = 0;
        struct task_def *def = def_named(word);
        if (strcmp(value, "finally") == 0)
            def->finally = true;
        else if (strcmp(value, "all") == 0)
            def->needs_all = true;
        else if (strcmp(value, "service") == 0)
            def->ready = STR("ping");
        else
            def->when = strcmp(value, "failed") == 0 ? WHEN_FAILED : WHEN_ALWAYS;
    }
    free(copy);
}

static void begin_with(const char *text, const char *whens, const uint8_t *outcome)
{
    static uint8_t none[64];
    help_build(&graph, &definition, text);
    set_whens(whens);
    graph.n_services = definition_services(&definition);
    ck_assert_uint_le(graph.n_tasks, sizeof none);
    buf_clear(&skipped);
    ck_assert_int_eq(
        sched_init(&sched, &graph, outcome ? outcome : none, note_skip, NULL, NULL), 0);
    ck_assert(sched_consistent(&sched));
}

static void begin(const char *text, const char *whens)
{
    begin_with(text, whens, NULL);
}

static void end(void)
{
    sched_release(&sched);
    help_drop(&graph, &definition);
    buf_release(&skipped);
}

static uint32_t node(const char *id)
{
    uint32_t task = graph_find(&graph, str_of(id));
    ck_assert_msg(task != NODE_NONE, "no %s", id);
    return task;
}

static void take(const char *id)
{
    uint32_t task = sched_take(&sched);
    ck_assert(sched_consistent(&sched));
    if (!id)
        ck_assert_msg(task == NODE_NONE, "%s was taken", graph.id[task]);
    else
        ck_assert_msg(task != NODE_NONE && strcmp(graph.id[task], id) == 0,
                      "%s was taken, not %s", task == NODE_NONE ? "-" : graph.id[task],
                      id);
}

/* Taken, or ended open, before. */
static void ended(const char *id, enum cairn_outcome outcome, const char *skips)
{
    buf_clear(&skipped);
    sched_end(&sched, node(id), outcome, note_skip, NULL);
    ck_assert(sched_consistent(&sched));
    ck_assert_str_eq(skipped.size ? skipped.data : "", skips);
}

static void ends(const char *id, enum cairn_outcome outcome, const char *skips)
{
    take(id);
    ended(id, outcome, skips);
}

static void over(void)
{
    take(NULL);
    ck_assert_uint_eq(sched.open, 0);
    end();
}

/* ---- Order and pools ---- */

START_TEST(test_order)
{
    begin("low @priority=-1\n"
          "short\n"
          "long\n"
          "after : long\n"
          "first @priority=1\n"
          "short2\n",
          "");
    take("first");
    take("long"); /* critical path before file order */
    take("short");
    take("short2");
    take("low");
    take(NULL);
    ended("long", CAIRN_COMPLETED, "");
    take("after");
    end();
}
END_TEST

/* A task that finds its pool full is passed by, and comes back in its order. */
START_TEST(test_pools)
{
    begin("a @pool=db @priority=9\n"
          "b @pool=db @priority=1\n"
          "c @pool=db @priority=5\n"
          "free\n",
          "");
    take("a");
    take("free");
    take(NULL);
    ck_assert_int_eq(sched.state[1], PARKED);
    ended("a", CAIRN_COMPLETED, "");
    take("c");
    take(NULL);
    sched_hold(&sched, 2); /* waiting for its retry it holds no place */
    ck_assert(sched_consistent(&sched));
    take("b");
    sched_again(&sched, 2);
    take(NULL);
    sched_return(&sched, 1);
    ck_assert(sched_consistent(&sched));
    ends("c", CAIRN_COMPLETED, ""); /* the better one */
    ends("b", CAIRN_COMPLETED, "");
    ended("free", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* What needs more than there is now is overtaken by nobody in its pools, and holds
 * nothing. */
START_TEST(test_weights)
{
    begin("a @pool=p:2 @priority=9\n"
          "b @pool=q @priority=9\n"
          "heavy @pool=p:3 @pool=q:2 @priority=5\n"
          "c @pool=p\n"
          "d @pool=q\n"
          "e @pool=r\n",
          "");
    take("a");
    take("b");
    take("e"); /* c and d would have room */
    take(NULL);
    ended("a", CAIRN_COMPLETED, "");
    take(NULL); /* b has a place that it needs */
    ended("b", CAIRN_COMPLETED, "");
    take("heavy");
    take(NULL);
    sched_hold(&sched, node("heavy")); /* to be tried again: it holds no place */
    take("c");
    take("d");
    sched_again(&sched, node("heavy"));
    take(NULL);
    ended("d", CAIRN_COMPLETED, "");
    take(NULL);
    ck_assert(sched_consistent(&sched));
    ended("c", CAIRN_COMPLETED, "");
    take("heavy");
    ended("heavy", CAIRN_COMPLETED, "");
    ended("e", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* An attempt that is taken over, or must be, has its place whatever the pool says. */
START_TEST(test_take_task)
{
    begin("a @pool=db @priority=9\nb @pool=db\nc\nd @pool=db\n", "");
    sched_take_tasks(&sched, (uint32_t[]){node("b")}, 1);
    ck_assert_int_eq(sched.state[1], TAKEN);
    ck_assert(sched_consistent(&sched));
    take("c");
    take(NULL);
    ended("b", CAIRN_COMPLETED, "");
    ends("a", CAIRN_COMPLETED, "");
    ends("d", CAIRN_COMPLETED, "");
    ended("c", CAIRN_COMPLETED, "");
    over();
}
END_TEST

START_TEST(test_take_task_beyond_the_pool)
{
    begin("a @pool=db @priority=9\nb @pool=db\nc @pool=db\n", "");
    sched_take_tasks(&sched, (uint32_t[]){node("b"), node("c")}, 2);
    ck_assert_uint_eq(sched.pool_used[0], 2);
    ck_assert(sched_consistent(&sched));
    take(NULL);
    ended("c", CAIRN_COMPLETED, "");
    take(NULL);
    ended("b", CAIRN_COMPLETED, "");
    ends("a", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* ---- when ---- */

START_TEST(test_when)
{
    static const struct {
        enum cairn_outcome outcome;
        bool s, f, a; /* which of them run */
    } rows[] = {
        {CAIRN_COMPLETED, true, false, true},   {CAIRN_FAILED, false, true, true},
        {CAIRN_SKIPPED, false, false, true},    {CAIRN_EXCLUDED, false, false, true},
        {CAIRN_CANCELLED, false, false, false}, {CAIRN_UNKNOWN, false, false, false},
        {CAIRN_UNDONE, false, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool open = sched_class(rows[i].outcome) == END_OPEN;
        for (int at_once = 0; at_once < 2; at_once++) {
            uint8_t outcome[5] = {(uint8_t)rows[i].outcome};
            begin_with("x\ns : x\nf : x\na : x\nlast : a\n", "f=failed a=always",
                       at_once ? outcome : NULL);
            if (!at_once) {
                take("x");
                sched_end(&sched, 0, rows[i].outcome, note_skip, NULL);
            }
            ck_assert(sched_consistent(&sched));
            ck_assert_int_eq(sched.state[1], rows[i].s ? READY
                                             : open    ? WAITING
                                                       : ENDED);
            ck_assert_int_eq(sched.state[2], rows[i].f ? READY
                                             : open    ? WAITING
                                                       : ENDED);
            ck_assert_int_eq(sched.state[3], rows[i].a ? READY : WAITING);
            ck_assert_str_eq(skipped.size ? skipped.data : "", open        ? ""
                                                               : rows[i].s ? "f? "
                                                               : rows[i].f ? "s- "
                                                                           : "s- f? ");
            end();
        }
    }
}
END_TEST

START_TEST(test_several_needs)
{
    begin("a @priority=9\nb @priority=8\nc @priority=7\n"
          "s : a b c\nf : a b c\nal : a b c\nnone : f\n",
          "f=failed al=always");
    ends("a", CAIRN_FAILED, "s- "); /* at once; the others wait for all */
    ends("b", CAIRN_SKIPPED, "");
    ends("c", CAIRN_COMPLETED, "");
    take("f"); /* longest way to an end */
    take("al");
    ended("f", CAIRN_EXCLUDED, "none- ");
    ended("al", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* Nothing it needs: all of nothing completed, and nothing failed. */
START_TEST(test_without_needs)
{
    begin("s\nf\na\nuser : f\nhandler : f\n", "f=failed a=always handler=failed");
    ck_assert_str_eq(skipped.data, "f? user- handler? ");
    ends("s", CAIRN_COMPLETED, "");
    ends("a", CAIRN_COMPLETED, "");
    over();
}
END_TEST

START_TEST(test_skips_through_barriers)
{
    begin("a\n"
          "g x=1,2\n"
          "each x=1,2 : g[x=${{x}}]\n"
          "all : g\n"
          "last : all a\n"
          "apart : a\n",
          "");
    take("g[x=1]");
    ended("g[x=1]", CAIRN_FAILED, "each[x=1]- all- last- ");
    ends("g[x=2]", CAIRN_FAILED, "each[x=2]- "); /* nothing is skipped twice */
    ends("a", CAIRN_COMPLETED, "");
    ends("apart", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* A barrier ends when all its members have; only those that want all of them know
 * before. */
START_TEST(test_barriers)
{
    begin("g x=1,2,3\ns : g\nf : g\na : g\n", "f=failed a=always");
    ends("g[x=1]", CAIRN_EXCLUDED, "");
    ends("g[x=2]", CAIRN_FAILED, "s- ");
    ck_assert_int_eq(sched.state[node("f")], WAITING);
    ends("g[x=3]", CAIRN_COMPLETED, "");
    ck_assert_int_eq(sched.end[graph.barrier[0]], END_FAILED);
    take("f");
    take("a");
    end();
    begin("g x=1,2\ns : g\nf : g\na : g\n", "f=failed a=always");
    ends("g[x=1]", CAIRN_COMPLETED, "");
    ends("g[x=2]", CAIRN_SKIPPED, "s- f? ");
    ck_assert_int_eq(sched.end[graph.barrier[0]], END_BAD);
    ends("a", CAIRN_COMPLETED, "");
    over();
    begin("g x=\ns : g\nf : g\na : g\n", "f=failed a=always");
    ck_assert_str_eq(skipped.data, "f? ");
    ck_assert_int_eq(sched.end[graph.barrier[0]], END_MET);
    end();
}
END_TEST

/* Begun with a member that ended badly while others are still to come. */
START_TEST(test_tainted_from_the_start)
{
    uint8_t outcome[] = {CAIRN_FAILED, CAIRN_PENDING, CAIRN_CANCELLED, 0, 0, 0, 0, 0};
    begin_with("g x=1,2,3\ns : g\nf : g\na : g\nafter x=1,2 : s\n", "f=failed a=always",
               outcome);
    ck_assert_str_eq(skipped.data, "s- after[x=1]- after[x=2]- ");
    ends("g[x=2]", CAIRN_COMPLETED, "");
    take(NULL); /* one is cancelled: nothing is decided */
    sched_rerun(&sched, node("g[x=3]"));
    ends("g[x=3]", CAIRN_COMPLETED, "");
    take("f");
    take("a");
    end();
}
END_TEST

static void expect_cause(const char *id, const char *cause)
{
    uint32_t found = sched_cause(&sched, node(id));
    ck_assert_str_eq(found == NODE_NONE ? "-" : graph.id[found], cause);
}

/* Who is excluded is left out of the group, as long as anybody is left; a task that
 * needs all of it is skipped at once. */
START_TEST(test_excluded_members)
{
    static const char text[] = "g x=1,2,3\ns : g\nall : g\nf : g\na : g\n";
    static const char whens[] = "all=all f=failed a=always";
    begin(text, whens);
    ends("g[x=1]", CAIRN_COMPLETED, "");
    ends("g[x=2]", CAIRN_EXCLUDED, "all- ");
    expect_cause("all", "g[x=2]");
    ck_assert_int_eq(sched.state[node("s")], WAITING);
    ends("g[x=3]", CAIRN_COMPLETED, "f? ");
    ck_assert_int_eq(sched.end[graph.barrier[0]], END_PARTLY);
    ends("s", CAIRN_COMPLETED, "");
    ends("a", CAIRN_COMPLETED, "");
    over();
    begin(text, whens);
    ends("g[x=1]", CAIRN_EXCLUDED, "all- ");
    ends("g[x=2]", CAIRN_EXCLUDED, "");
    ends("g[x=3]", CAIRN_EXCLUDED, "s- f? ");
    ck_assert_int_eq(sched.end[graph.barrier[0]], END_EXCLUDED);
    expect_cause("s", "g[x=1]");
    ends("a", CAIRN_COMPLETED, "");
    over();
    /* One that was skipped, or failed, is a loss as ever, whoever else is excluded. */
    begin(text, whens);
    ends("g[x=1]", CAIRN_EXCLUDED, "all- ");
    ends("g[x=2]", CAIRN_SKIPPED, "s- ");
    expect_cause("s", "g[x=2]");
    ends("g[x=3]", CAIRN_COMPLETED, "f? ");
    ck_assert_int_eq(sched.end[graph.barrier[0]], END_BAD);
    end();
    /* An excluded task that is needed by itself is one. */
    begin("g x=1,2\none : g[x=1]\n", "");
    ends("g[x=1]", CAIRN_EXCLUDED, "one- ");
    end();
}
END_TEST

/* The rule of definitions before version 4. */
START_TEST(test_all_need_all)
{
    help_build(&graph, &definition, "g x=1,2\ns : g\n");
    definition.all_need_all = true;
    static const uint8_t none[3];
    buf_clear(&skipped);
    ck_assert_int_eq(sched_init(&sched, &graph, none, note_skip, NULL, NULL), 0);
    ends("g[x=1]", CAIRN_EXCLUDED, "s- ");
    end();
}
END_TEST

/* A part of a group is over without the others. */
START_TEST(test_parts)
{
    begin("t py=1,2 os=a,b\none : t[py=1]\na : t[os=a]\n", "");
    ends("t[py=1,os=a]", CAIRN_COMPLETED, "");
    ends("t[py=1,os=b]", CAIRN_EXCLUDED, "");
    ck_assert_int_eq(sched.state[node("one")], READY);
    ck_assert_int_eq(sched.state[node("a")], WAITING);
    ends("t[py=2,os=a]", CAIRN_FAILED, "a- ");
    expect_cause("a", "t[py=2,os=a]");
    end();
}
END_TEST

/* Members that are skipped at the start taint their barrier too. */
START_TEST(test_skipped_members_taint)
{
    uint8_t outcome[] = {CAIRN_FAILED, 0, 0, 0, 0, 0};
    begin_with("x\nother\ng x=1,2 : other\nh : g x\nuser : h\n", "", outcome);
    ck_assert_str_eq(skipped.data, "h- user- ");
    end();
    begin_with("x\ng k=1\nm k=1,2 : x\nlast : m g\nl2 : last\n", "", outcome);
    ck_assert_str_eq(skipped.data, "m[k=1]- m[k=2]- last- l2- ");
    end();
}
END_TEST

/* ---- Kinds that are allowed ---- */

START_TEST(test_allow)
{
    begin("a\nb\nh : a\nf\nf2 : f\n", "h=failed f=finally f2=finally");
    take("a");
    ck_assert_int_eq(sched.state[node("f")], SHELVED);
    ck_assert_uint_eq(sched.shelved, 1);
    sched_allow(&sched, SCHED_HANDLERS);
    ck_assert(sched_consistent(&sched));
    ck_assert_int_eq(sched.state[node("b")], SHELVED);
    take(NULL);
    ended("a", CAIRN_FAILED, "");
    take("h");
    take(NULL);
    sched_allow(&sched, SCHED_FINALLY);
    ck_assert(sched_consistent(&sched));
    sched_return(&sched, node("h")); /* not started after all: not allowed any more */
    ck_assert_int_eq(sched.state[node("h")], SHELVED);
    ends("f", CAIRN_COMPLETED, "");
    ends("f2", CAIRN_COMPLETED, "");
    take(NULL);
    sched_allow(&sched, 0);
    take(NULL);
    sched_allow(&sched, SCHED_ORDINARY | SCHED_HANDLERS);
    ends("b", CAIRN_COMPLETED, "");
    ends("h", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* What was parked when the kinds changed is found again. */
START_TEST(test_allow_and_pools)
{
    begin("a @pool=db @priority=9\nb @pool=db\nc @pool=db @priority=3\nf @pool=db\n",
          "f=finally");
    take("a");
    take(NULL);
    ck_assert_uint_eq(sched.parked[0].n, 2);
    sched_allow(&sched, SCHED_FINALLY);
    ck_assert_uint_eq(sched.parked[0].n, 0);
    take(NULL);
    ck_assert_int_eq(sched.state[node("f")], PARKED);
    sched_allow(&sched, SCHED_ORDINARY);
    ended("a", CAIRN_COMPLETED, "");
    ends("c", CAIRN_COMPLETED, "");
    ends("b", CAIRN_COMPLETED, "");
    sched_allow(&sched, SCHED_FINALLY);
    ends("f", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* Nobody waits for a retry that may not be. */
START_TEST(test_allow_and_retries)
{
    begin("a\nh : a\nf\n", "h=always f=finally");
    take("a");
    sched_hold(&sched, 0);
    sched_allow(&sched, SCHED_HANDLERS);
    ck_assert(sched_consistent(&sched));
    ck_assert_uint_eq(sched.held, 0);
    ck_assert_int_eq(sched.state[0], SHELVED);
    sched_allow(&sched, SCHED_ORDINARY | SCHED_FINALLY);
    take("a");
    take("f");
    sched_hold(&sched, node("f"));
    sched_allow(&sched, SCHED_FINALLY);
    ck_assert_int_eq(sched.state[node("f")], HELD);
    ck_assert(sched_consistent(&sched));
    end();
}
END_TEST

START_TEST(test_kinds)
{
    struct task_def def = {0};
    ck_assert_int_eq(sched_kind_of(&def), SCHED_ORDINARY);
    def.when = WHEN_FAILED;
    ck_assert_int_eq(sched_kind_of(&def), SCHED_HANDLERS);
    def.when = WHEN_ALWAYS;
    ck_assert_int_eq(sched_kind_of(&def), SCHED_HANDLERS);
    def.finally = true;
    ck_assert_int_eq(sched_kind_of(&def), SCHED_FINALLY);
}
END_TEST

/* ---- Somebody else, later, again ---- */

START_TEST(test_offer)
{
    begin("a @pool=db\nb @pool=db\nc : a\n", "");
    take("a");
    sched_offer(&sched, 0);
    ck_assert(sched_consistent(&sched));
    ck_assert_uint_eq(sched.offered, 1);
    ck_assert_uint_eq(sched.pool_used[0], 0); /* holds no place */
    take("b");
    ended("a", CAIRN_COMPLETED, "");
    ck_assert_uint_eq(sched.offered, 0);
    take("c");
    end();
    begin("a\nb : a\n", "");
    take("a");
    sched_offer(&sched, 0);
    ended("a", CAIRN_FAILED, "b- ");
    over();
}
END_TEST

START_TEST(test_rerun)
{
    uint8_t outcome[] = {CAIRN_UNKNOWN, 0};
    begin_with("a\nb : a\n", "", outcome);
    ck_assert_uint_eq(sched.open, 1);
    take(NULL);
    sched_rerun(&sched, 0);
    ck_assert(sched_consistent(&sched));
    ck_assert_uint_eq(sched.open, 2);
    ends("a", CAIRN_COMPLETED, "");
    ends("b", CAIRN_COMPLETED, "");
    over();
    begin_with("a\nb : a\n", "", outcome); /* somebody knows */
    ended("a", CAIRN_FAILED, "b- ");
    over();
}
END_TEST

/* What it needs may run again, too: then it waits like any other. */
START_TEST(test_rerun_waits_for_needs)
{
    uint8_t outcome[] = {0, CAIRN_UNKNOWN, 0};
    begin_with("a\nb : a\nc : b\n", "", outcome);
    sched_rerun(&sched, 1);
    ck_assert(sched_consistent(&sched));
    ck_assert_uint_eq(sched.open, 3);
    ends("a", CAIRN_COMPLETED, "");
    ends("b", CAIRN_COMPLETED, "");
    ends("c", CAIRN_COMPLETED, "");
    over();
    begin_with("a\nb : a\nc : b\n", "", outcome);
    sched_rerun(&sched, 1);
    ends("a", CAIRN_FAILED, "b- c- ");
    over();
}
END_TEST

/* A task that waits for its retry can end too: it holds nothing that must be given
 * back. */
START_TEST(test_end_of_held)
{
    begin("a @pool=db\nb : a\nc @pool=db\n", "");
    take("a");
    sched_hold(&sched, 0);
    take("c");
    ended("a", CAIRN_FAILED, "b- ");
    ck_assert_uint_eq(sched.pool_used[0], 1);
    ended("c", CAIRN_COMPLETED, "");
    over();
}
END_TEST

/* sched_consistent itself must be able to say no. */
START_TEST(test_inconsistent)
{
    begin("a @pool=db\nb @pool=db\nc : a\nf\n", "f=finally");
    take("a");
    take(NULL);
    sched.open--;
    ck_assert(!sched_consistent(&sched));
    sched.open++;
    sched.pool_used[0] = 0; /* a taken task without its place */
    ck_assert(!sched_consistent(&sched));
    sched.pool_used[0] = 1;
    sched.state[2] = READY; /* with an unmet need, and in no queue */
    ck_assert(!sched_consistent(&sched));
    sched.state[2] = WAITING;
    sched.waiting[2] = 0; /* forgotten */
    ck_assert(!sched_consistent(&sched));
    sched.waiting[2] = 1;
    sched.allowed |= SCHED_FINALLY; /* shelved, but allowed */
    ck_assert(!sched_consistent(&sched));
    sched.allowed &= (uint8_t)~SCHED_FINALLY;
    ck_assert(sched_consistent(&sched));
    sched.pool_used[0] = 0; /* parked, though the pool has room */
    sched.state[0] = HELD;
    sched.taken--;
    sched.held++;
    ck_assert(!sched_consistent(&sched));
    end();
}
END_TEST

/* ---- Services ---- */

/* Taken, with a service missing. */
static void awaits(const char *id)
{
    take(id);
    ck_assert(!sched_is_served(&sched, node(id)));
    sched_await(&sched, node(id));
    ck_assert(sched_consistent(&sched));
    ck_assert_int_eq(sched.state[node(id)], AWAITING);
}

static void up(const char *id)
{
    take(id);
    sched_up(&sched, node(id));
    ck_assert(sched_consistent(&sched));
}

START_TEST(test_service)
{
    begin("p\ns : p\na\nu : s a\nv : s u\nw : v\n", "s=service");
    ends("p", CAIRN_COMPLETED, "");
    ck_assert_int_eq(sched.state[node("s")], IDLE);
    ends("a", CAIRN_COMPLETED, "");
    awaits("u");
    ck_assert_uint_eq(sched_open_need(&sched, node("u")), node("s"));
    up("s");
    ck_assert_uint_eq(sched.left[node("s")], 2);
    take("u");
    ck_assert(sched_is_used(&sched, node("s")));
    ended("u", CAIRN_COMPLETED, "");
    ck_assert(!sched_is_used(&sched, node("s")));
    ends("v", CAIRN_COMPLETED, "");
    ck_assert_uint_eq(sched.left[node("s")], 0);
    ended("s", CAIRN_COMPLETED, "");
    ends("w", CAIRN_COMPLETED, "");
    over();
}
END_TEST

START_TEST(test_service_fails)
{
    begin("s\nu : s\nr @priority=1 : s\nv : s u\nw : v\n", "s=service");
    awaits("r");
    up("s"); /* before `u`, which it leads to */
    take("r");
    ck_assert_uint_eq(sched_lost_service(&sched, node("u")), NODE_NONE);
    ended("s", CAIRN_FAILED, "u- v- w- ");
    ck_assert_uint_eq(sched_lost_service(&sched, node("r")), node("s"));
    ck_assert_uint_eq(sched_cause(&sched, node("u")), node("s"));
    ended("r", CAIRN_FAILED, "");
    over();
}
END_TEST

START_TEST(test_service_restarts)
{
    begin("s\nu @priority=1 : s\nv : s\n", "s=service");
    awaits("u");
    up("s");
    take("u");
    sched_hold(&sched, node("s"));
    ck_assert(sched_consistent(&sched));
    awaits("v");
    ended("u", CAIRN_COMPLETED, "");
    sched_again(&sched, node("s"));
    up("s");
    ends("v", CAIRN_COMPLETED, "");
    ended("s", CAIRN_COMPLETED, "");
    over();
}
END_TEST

START_TEST(test_service_nobody_needs)
{
    /* s is needed by t alone, which is needed by u: and u is skipped. */
    begin("f\nalone\ns\nt : s\nu : f t\n", "s=service t=service alone=service");
    ck_assert_str_eq(skipped.data, "alone? ");
    ends("f", CAIRN_FAILED, "u- t? s? ");
    over();
    uint8_t outcome[] = {CAIRN_PENDING, CAIRN_PENDING, CAIRN_COMPLETED};
    begin_with("s\nt : s\nu : t\n", "s=service t=service", outcome);
    ck_assert_str_eq(skipped.data, "t? s? ");
    over();
}
END_TEST

START_TEST(test_services_of_a_group)
{
    begin("s x=1,2,3\nall : s\none : s[x=2]\n", "s=service");
    awaits("all"); /* which makes members ready that come before `one` */
    ends("s[x=1]", CAIRN_EXCLUDED, ""); /* its own condition */
    up("s[x=2]");
    up("s[x=3]");
    take("all");
    take("one");
    ended("one", CAIRN_COMPLETED, "");
    ck_assert_uint_eq(sched.left[node("s[x=2]")], 1);
    ended("all", CAIRN_COMPLETED, "");
    ended("s[x=2]", CAIRN_COMPLETED, "");
    ended("s[x=3]", CAIRN_COMPLETED, "");
    over();
    begin("s x=1,2\nall : s\n", "s=service");
    awaits("all");
    ends("s[x=1]", CAIRN_EXCLUDED, "");
    ends("s[x=2]", CAIRN_EXCLUDED, "all- ");
    over();
    begin("s x=1,2\nall : s\n", "s=service all=all");
    awaits("all");
    ends("s[x=1]", CAIRN_EXCLUDED, "all- s[x=2]? ");
    over();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_order);
    tcase_add_test(c, test_pools);
    tcase_add_test(c, test_weights);
    tcase_add_test(c, test_take_task);
    tcase_add_test(c, test_take_task_beyond_the_pool);
    tcase_add_test(c, test_when);
    tcase_add_test(c, test_several_needs);
    tcase_add_test(c, test_without_needs);
    tcase_add_test(c, test_skips_through_barriers);
    tcase_add_test(c, test_barriers);
    tcase_add_test(c, test_excluded_members);
    tcase_add_test(c, test_all_need_all);
    tcase_add_test(c, test_parts);
    tcase_add_test(c, test_tainted_from_the_start);
    tcase_add_test(c, test_skipped_members_taint);
    tcase_add_test(c, test_allow);
    tcase_add_test(c, test_allow_and_pools);
    tcase_add_test(c, test_allow_and_retries);
    tcase_add_test(c, test_kinds);
    tcase_add_test(c, test_offer);
    tcase_add_test(c, test_rerun);
    tcase_add_test(c, test_rerun_waits_for_needs);
    tcase_add_test(c, test_end_of_held);
    tcase_add_test(c, test_inconsistent);
    tcase_add_test(c, test_service);
    tcase_add_test(c, test_service_fails);
    tcase_add_test(c, test_service_restarts);
    tcase_add_test(c, test_service_nobody_needs);
    tcase_add_test(c, test_services_of_a_group);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
