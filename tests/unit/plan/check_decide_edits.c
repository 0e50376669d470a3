/* SPDX-License-Identifier: MIT */
/* What runs after an edit: mapping of tasks, and random edits against a naive model
 * that thinks in strings. */
#include "tests/support/decide.h"
#include "tests/support/random.h"

/* ---- Edits ---- */

START_TEST(test_edits)
{
    begin("gone\na\ng x=1,2,3\nall : g\none : g[x=1]\nb : a gone\n",
          "b : a\nnew\ng x=3,1,4\none : g[x=1]\nall : g\na\nafter : new\n");
    judge(CAIRN_RERUN);
    ck_assert_uint_eq(old_task[now("a")], graph_find(&old, STR("a")));
    ck_assert_uint_eq(old_task[now("g[x=3]")], graph_find(&old, STR("g[x=3]")));
    ck_assert_uint_eq(old_task[now("g[x=4]")], NODE_NONE);
    ck_assert_uint_eq(old_task[now("new")], NODE_NONE);
    expect("a", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("g[x=1]", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("g[x=3]", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("g[x=4]", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("all", CAIRN_REASON_CHANGED, FATE_WILL); /* the group has other members */
    expect("one", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("b", CAIRN_REASON_CHANGED, FATE_WILL);
    expect("new", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("after", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect_counts(5, 0);
    expect_edits(2, 3, 2); /* gone: `gone` and g[x=2] */
    end();
}
END_TEST

START_TEST(test_other_keys_are_other_tasks)
{
    begin("g x=1\nt\nh y=1\n", "g y=1\nt x=1\nh\n");
    judge(CAIRN_RERUN);
    expect("g[y=1]", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("t[x=1]", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("h", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect_counts(3, 0);
    expect_edits(0, 3, 3);
    end();
}
END_TEST

START_TEST(test_products_are_mapped_by_value)
{
    begin("g x=1,2 y=a,b,c\n", "g x=2,3,1 y=c,a\n");
    judge(CAIRN_RERUN);
    ck_assert_uint_eq(old_task[now("g[x=2,y=a]")], graph_find(&old, STR("g[x=2,y=a]")));
    for (uint32_t i = 0; i < graph.n_tasks; i++)
        if (old_task[i] != NODE_NONE)
            ck_assert_str_eq(graph.id[i], old.id[old_task[i]]);
    expect_counts(2, 0);
    expect_edits(0, 2, 2);
    end();
}
END_TEST

/* ---- Random edits against a model of strings ---- */

enum { DEFS = 10, VALUES = 5, NEEDS = 3 };

struct sketch { /* a workflow to be edited; defs need only earlier names */
    struct sketch_def {
        bool there, group;
        uint32_t command, values; /* values: bit set */
        uint32_t n_needs, need[NEEDS];
        int member[NEEDS]; /* -1: the whole; -2: my own value; else that value */
    } def[DEFS];
};

static uint32_t lowest(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}

static void sketch_def(struct sketch *s, uint32_t i, uint64_t *seed)
{
    struct sketch_def *def = &s->def[i];
    *def = (struct sketch_def){.there = true, .group = help_below(seed, 2)};
    def->command = help_below(seed, 2);
    def->values = 1 + help_below(seed, (1u << VALUES) - 1);
    for (uint32_t j = help_below(seed, NEEDS + 1); i && j > 0; j--) {
        def->member[def->n_needs] = (int)help_below(seed, 3) - 2;
        def->need[def->n_needs++] = help_below(seed, i);
    }
}

/* Needs of what is not there go, and members that are not there become whole groups. */
static void repair(struct sketch *s)
{
    for (uint32_t i = 0; i < DEFS; i++) {
        struct sketch_def *def = &s->def[i];
        uint32_t kept = 0;
        for (uint32_t j = 0; j < def->n_needs; j++) {
            const struct sketch_def *target = &s->def[def->need[j]];
            int member = def->member[j];
            if (!target->there)
                continue;
            if (!target->group ||
                (member == -2 && (!def->group || def->values & ~target->values)))
                member = -1;
            if (member == 0)
                member = (int)lowest(target->values);
            if (member > 0 && !(target->values >> member & 1))
                member = -1;
            def->need[kept] = def->need[j];
            def->member[kept++] = member;
        }
        def->n_needs = kept;
    }
}

static void sketch_random(struct sketch *s, uint64_t *seed)
{
    for (uint32_t i = 0; i < DEFS; i++)
        sketch_def(s, i, seed);
    repair(s);
}

static void sketch_edit(struct sketch *s, uint64_t *seed)
{
    for (uint32_t edits = help_below(seed, 4); edits > 0; edits--) {
        uint32_t i = help_below(seed, DEFS);
        switch (help_below(seed, 4)) {
        case 0:
            s->def[i].there = !s->def[i].there;
            break;
        case 1:
            s->def[i].command ^= 1;
            break;
        case 2:
            s->def[i].values = 1 + help_below(seed, (1u << VALUES) - 1);
            break;
        default:
            sketch_def(s, i, seed);
        }
    }
    s->def[0].there = true;
    repair(s);
}

static void name_need(const struct sketch_def *def, uint32_t j, char out[32])
{
    int member = def->member[j];
    if (member == -1)
        snprintf(out, 32, "t%u", def->need[j]);
    else if (member == -2)
        snprintf(out, 32, "t%u[x=${{ x }}]", def->need[j]);
    else
        snprintf(out, 32, "t%u[x=%d]", def->need[j], member);
}

/* Values and needs in an order that the seed picks: it must not matter. */
static void sketch_build(const struct sketch *s, struct definition *d, struct graph *g,
                         uint64_t *seed)
{
    uint32_t index[DEFS];
    help_begin(d);
    for (uint32_t i = 0; i < DEFS; i++) {
        const struct sketch_def *from = &s->def[i];
        char text[32];
        uint32_t turn = help_below(seed, 8);
        index[i] = d->n_defs;
        if (!from->there)
            continue;
        snprintf(text, sizeof text, "t%u", i);
        struct task_def *def = help_task(d, text);
        def->run = from->command ? STR("one") : STR("zero");
        def->priority = (int32_t)help_below(seed, 5);
        for (uint32_t v = 0; from->group && v < VALUES; v++) {
            uint32_t value = (v + turn) % VALUES;
            snprintf(text, sizeof text, "%u", value);
            if (from->values >> value & 1)
                help_value(d, def, "x", text);
        }
        for (uint32_t n = 0; n < from->n_needs; n++) {
            uint32_t j = (n + turn) % from->n_needs;
            name_need(from, j, text);
            struct need *need = help_need(d, def, index[from->need[j]], text);
            if (from->member[j] == -1)
                continue;
            snprintf(text, sizeof text, "%d", from->member[j]);
            need->bindings = arena_take(&d->arena, 1, sizeof *need->bindings);
            need->bindings[0] = (struct key_value){
                STR("x"), from->member[j] == -2 ? STR("${{ x }}") : help_str(d, text)};
            need->n_bindings = 1;
        }
    }
    help_finish(d);
    ck_assert_int_eq(graph_build(g, d, &failure), 0);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void add_sorted(struct buf *out, char parts[][64], uint32_t n)
{
    qsort(parts, n, sizeof parts[0], by_text);
    for (uint32_t i = 0; i < n; i++)
        buf_format(out, " %s", parts[i]);
}

/* Everything about task `id` of a sketch that a fingerprint should see, as text; empty
 * if there is no such task. */
static void meaning(const struct sketch *s, const char *id, struct buf *out)
{
    char *rest;
    uint32_t i = (uint32_t)strtoul(id + 1, &rest, 10);
    const struct sketch_def *def = &s->def[i];
    long value = *rest ? strtol(rest + 3, NULL, 10) : -1;
    char needs[NEEDS][64];
    buf_clear(out);
    if (!def->there || def->group != (value >= 0) ||
        (value >= 0 && !(def->values >> value & 1)))
        return;
    buf_format(out, "%u %ld", def->command, value);
    for (uint32_t j = 0; j < def->n_needs; j++) {
        const struct sketch_def *target = &s->def[def->need[j]];
        int member = def->member[j];
        snprintf(needs[j], sizeof needs[j], "t%u/%s%ld", def->need[j],
                 !target->group ? ""
                 : member == -1 ? "all"
                                : "one",
                 !target->group ? 0L
                 : member == -1 ? (long)target->values
                 : member == -2 ? value
                                : (long)member);
    }
    add_sorted(out, needs, def->n_needs);
}

static bool need_runs(const struct graph *g, const bool *runs, uint32_t task)
{
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        if (!graph_is_barrier(g, need) && runs[need])
            return true;
        for (uint32_t t = 0; graph_is_barrier(g, need) && t < g->n_tasks; t++)
            if (g->def_of[t] == g->def_of[need] && runs[t])
                return true;
    }
    return false;
}

struct model {
    bool *runs;
    uint32_t n_changed, n_added, n_removed;
};

static void model_make(struct model *m, const struct sketch *was,
                       const struct sketch *is, enum cairn_on_change on_change)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    m->runs = calloc(graph.n_tasks, sizeof *m->runs);
    m->n_changed = m->n_added = 0;
    m->n_removed = old.n_tasks;
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        meaning(was, graph.id[t], &a);
        meaning(is, graph.id[t], &b);
        ck_assert_uint_gt(b.size, 0);
        bool known = a.size > 0, same = known && str_equal(buf_view(&a), buf_view(&b));
        uint32_t before = NODE_NONE;
        for (uint32_t o = 0; o < old.n_tasks; o++)
            if (strcmp(old.id[o], graph.id[t]) == 0)
                before = o;
        ck_assert_uint_eq(old_task[t], before);
        ck_assert(known == (before != NODE_NONE));
        m->n_added += !known;
        m->n_removed -= known;
        m->n_changed += known && !same;
        m->runs[t] = !known || states.outcome[before] != CAIRN_COMPLETED ||
                     (!same && on_change != CAIRN_KEEP) || evidence[t] != EVIDENCE_GOOD;
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t t = 0; t < graph.n_tasks; t++)
            if (!m->runs[t] && need_runs(&graph, m->runs, t))
                moved = m->runs[t] = true;
    }
    buf_release(&a);
    buf_release(&b);
}

static void compare(const struct model *m)
{
    uint32_t will = 0;
    for (uint32_t t = 0; t < graph.n_tasks; t++) {
        bool runs = decisions.fate[t] & (FATE_WILL | FATE_MAY);
        ck_assert_msg(runs == m->runs[t], "%s: %s", graph.id[t],
                      cairn_reason_name(decisions.reason[t]));
        ck_assert_int_eq(decisions.reason[t] != CAIRN_REASON_DONE &&
                             decisions.reason[t] != CAIRN_REASON_KEPT,
                         m->runs[t]);
        if (decisions.reason[t] == CAIRN_REASON_UPSTREAM) {
            ck_assert(decisions.fate[decisions.cause[t]] & FATE_UNSETTLED);
            ck_assert(need_runs(&graph, m->runs, t));
        }
        will += m->runs[t];
    }
    ck_assert_uint_eq(decisions.will + decisions.may, will);
    expect_edits(m->n_changed, m->n_added, m->n_removed);
}

START_TEST(test_random_edits)
{
    int rounds = help_rounds(1500, 1500);
    uint64_t seed = 20260104 + (uint64_t)_i;
    for (int round = 0; round < rounds; round++) {
        struct sketch was, is;
        struct model model;
        enum cairn_on_change on_change = help_below(&seed, 3);
        sketch_random(&was, &seed);
        is = was;
        sketch_edit(&is, &seed);
        sketch_build(&was, &old_definition, &old, &seed);
        sketch_build(&is, &definition, &graph, &seed);
        ck_assert_int_eq(states_init(&states, old.n_tasks, NULL), 0);
        old_task = malloc(graph.n_tasks * sizeof *old_task);
        marks = NULL;
        evidence = calloc(graph.n_tasks, 1);
        for (uint32_t o = 0; o < old.n_tasks; o++)
            states.outcome[o] =
                help_below(&seed, 20) ? CAIRN_COMPLETED : (uint8_t)help_below(&seed, 5);
        for (uint32_t t = 0; t < graph.n_tasks; t++)
            evidence[t] = help_below(&seed, 40) ? EVIDENCE_GOOD : OUTPUT_MISSING;
        judge(on_change);
        model_make(&model, &was, &is, on_change);
        compare(&model);
        free(model.runs);
        end();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_edits");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_edits);
    tcase_add_test(c, test_other_keys_are_other_tasks);
    tcase_add_test(c, test_products_are_mapped_by_value);
    tcase_add_loop_test(c, test_random_edits, 0, 2);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
