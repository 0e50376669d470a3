/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* References to other tasks in large workflows: which are refused, compared with a slow
 * model, and that checking them does not take time as their number squared. */
#include "base/clock.h"
#include "tests/support/parse.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

enum { MOST = 700 };

/* ---- Against a model ---- */

struct flow {
    uint32_t n;
    bool group[MOST];        /* with two members */
    bool needs[MOST][MOST];  /* as a whole */
    bool member[MOST][MOST]; /* its first member */
    bool before[MOST][MOST]; /* needed as a whole, directly or not */
    bool partly[MOST][MOST]; /* needed, directly or not, perhaps only a member */
    uint32_t refers[MOST];   /* MOST: to nothing */
};

static void make_flow(struct flow *f, uint64_t *seed)
{
    memset(f, 0, sizeof *f);
    f->n = 2 + help_below(seed, help_below(seed, 4) ? 60 : MOST - 2);
    uint32_t span = 1 + help_below(seed, f->n), most = 1 + help_below(seed, 3);
    bool circles = help_below(seed, 8) == 0;
    for (uint32_t i = 0; i < f->n; i++) {
        f->group[i] = help_below(seed, 6) == 0;
        f->refers[i] = MOST;
        for (uint32_t k = help_below(seed, most + 1); k > 0 && i; k--) {
            uint32_t to = i - 1 - help_below(seed, i < span ? i : span);
            if (circles && help_below(seed, 20) == 0)
                to = help_below(seed, f->n);
            if (to == i || f->needs[i][to] || f->member[i][to])
                continue;
            bool member = f->group[to] && help_below(seed, 2);
            f->needs[i][to] = !member;
            f->member[i][to] = member;
        }
    }
}

/* Repeated until nothing is added, so that circles do not matter. */
static void find_before(struct flow *f)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t i = 0; i < f->n; i++)
            for (uint32_t need = 0; need < f->n; need++) {
                if (!f->needs[i][need] && !f->member[i][need])
                    continue;
                for (uint32_t t = 0; t < f->n; t++) {
                    bool known = f->before[need][t] || (t == need && f->needs[i][t]);
                    bool touched = f->partly[need][t] || t == need;
                    grown |=
                        (known && !f->before[i][t]) || (touched && !f->partly[i][t]);
                    f->before[i][t] |= known;
                    f->partly[i][t] |= touched;
                }
            }
    }
}

enum choice { ANY, PARTLY, OVER };

/* To any task, to one of which only members are over before, or to one that is. A
 * member that is needed by its name is meant by the name of its group. */
static bool choose_reference(struct flow *f, uint32_t i, enum choice choice,
                             uint64_t *seed)
{
    for (int tries = 0; tries < 20; tries++) {
        uint32_t to = help_below(seed, f->n);
        bool over = f->before[i][to] || f->member[i][to];
        bool good =
            choice == ANY || (choice == OVER ? over : f->partly[i][to] && !over);
        if (to == i || !good)
            continue;
        f->refers[i] = to;
        return true;
    }
    return false;
}

static void make_mistakes(struct flow *f, uint64_t *seed)
{
    enum choice choice = help_below(seed, 2) ? ANY : PARTLY;
    for (int tries = 0; tries < 100; tries++)
        if (choose_reference(f, help_below(seed, f->n), choice, seed) &&
            help_below(seed, 3) == 0)
            return;
}

static void write_flow(const struct flow *f, struct buf *out)
{
    buf_clear(out);
    buf_text(out, "name: n\ntasks:\n");
    for (uint32_t i = 0; i < f->n; i++) {
        const char *between = "";
        buf_format(out, "  t%u: {run: x", i);
        if (f->group[i])
            buf_text(out, ", foreach: {k: [1, 2]}");
        buf_text(out, ", needs: [");
        for (uint32_t to = 0; to < f->n; to++) {
            if (!f->needs[i][to] && !f->member[i][to])
                continue;
            buf_format(out, "%s\"t%u%s\"", between, to,
                       f->member[i][to] ? "[k=1]" : "");
            between = ", ";
        }
        buf_text(out, "]");
        if (f->refers[i] != MOST)
            buf_format(out, ", env: {X: \"${{ tasks.t%u.status }}\"}", f->refers[i]);
        buf_text(out, "}\n");
    }
}

/* The first task of the file that refers to one that is not needed; MOST: none does. */
static uint32_t first_mistake(const struct flow *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->refers[i] != MOST && !f->member[i][f->refers[i]] &&
            !f->before[i][f->refers[i]])
            return i;
    return MOST;
}

static void expect_verdict(const struct flow *f, uint64_t seed, struct buf *text)
{
    char words[80];
    uint32_t wrong = first_mistake(f);
    write_flow(f, text);
    int rc = help_try(buf_view(text));
    if (wrong == MOST) {
        ck_assert_msg(rc == 0, "seed %llu: %s", (unsigned long long)seed,
                      help_error.text);
        return;
    }
    uint32_t to = f->refers[wrong];
    snprintf(words, sizeof words, "task `t%u` does not need %s`t%u`", wrong,
             f->group[to] ? "all of " : "", to);
    ck_assert_int_eq(rc, CAIRN_EWORKFLOW);
    ck_assert_msg(strstr(help_error.text, words) != NULL, "seed %llu: %s, not %s",
                  (unsigned long long)seed, help_error.text, words);
}

START_TEST(test_as_the_model)
{
    static struct flow flow;
    uint64_t first = random_u64(), seed;
    struct buf text = BUF_INIT;
    printf("seed %llu\n", (unsigned long long)first);
    for (uint64_t round = 0; round < (uint64_t)help_rounds(150, 150); round++) {
        seed = first + round;
        make_flow(&flow, &seed);
        find_before(&flow);
        for (uint32_t i = 0; i < flow.n; i++)
            choose_reference(&flow, i, OVER, &seed);
        expect_verdict(&flow, first + round, &text);
        make_mistakes(&flow, &seed);
        expect_verdict(&flow, first + round, &text);
    }
    buf_release(&text);
}
END_TEST

/* ---- Much ---- */

/* Each takes minutes if every reference costs a look at all tasks, and the test is
 * ended. */
START_TEST(test_long_chain)
{
    struct buf text = BUF_INIT;
    int all = help_rounds(300000, 300000);
    buf_text(&text, "name: n\ntasks:\n  t0: {run: x}\n");
    for (int i = 1; i < all; i++)
        buf_format(
            &text,
            "  t%d: {run: x, needs: t%d, env: {X: \"${{ tasks.t%d.status }}\"}}\n", i,
            i - 1, i / 2);
    ck_assert_msg(help_try(buf_view(&text)) == 0, "%s", help_error.text);
    buf_release(&text);
}
END_TEST

START_TEST(test_one_that_needs_all)
{
    enum { EACH = 1000 };
    int all = help_rounds(250000, 250000);
    struct buf text = BUF_INIT;
    buf_text(&text, "name: n\ntasks:\n");
    for (int i = 0; i < all; i++)
        buf_format(&text, "  t%d: {run: x}\n", i);
    buf_text(&text, "  last: {run: x, needs: [t0");
    for (int i = 1; i < all; i++)
        buf_format(&text, ", t%d", i);
    buf_text(&text, "], env: {");
    for (int i = 0; i < all; i++) {
        if (i % EACH == 0)
            buf_format(&text, "%sX%d: \"", i ? "\", " : "", i / EACH);
        buf_format(&text, "${{ tasks.t%d.status }}", i);
    }
    buf_text(&text, "\"}}\n");
    ck_assert_msg(help_try(buf_view(&text)) == 0, "%s", help_error.text);
    buf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("needed");
    TCase *tests = tcase_create("needed");
    tcase_add_checked_fixture(tests, help_setup, help_teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_as_the_model);
    tcase_add_test(tests, test_long_chain);
    tcase_add_test(tests, test_one_that_needs_all);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
