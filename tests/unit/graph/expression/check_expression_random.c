/* SPDX-License-Identifier: MIT */
/* Random expressions against a second evaluator: it works on trees, which it recurses
 * over, of a few values whose number and text it is told. */
#include "base/clock.h"
#include "base/limits.h"
#include "graph/expression/expression.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Values ---- */

/* What a leaf stands for. `number` is what it counts as, if `counts`. */
struct leaf {
    const char *source, *text;
    char type; /* t, n, b, m */
    bool counts, yes;
    double number;
};
static const struct leaf leaves[] = {
    {"'abc'", "abc", 't', false, true, 0},
    {"'it''s && (so)'", "it's && (so)", 't', false, true, 0},
    {"''", "", 't', false, false, 0},
    {"'false'", "false", 't', false, false, 0},
    {"'true'", "true", 't', false, true, 0},
    {"'5'", "5", 't', true, true, 5},
    {"'5.0'", "5.0", 't', true, true, 5},
    {"'-1e1'", "-1e1", 't', true, true, -10},
    {"5", "5", 'n', true, true, 5},
    {"5.0", "5", 'n', true, true, 5},
    {"0", "0", 'n', true, false, 0},
    {"-2.5", "-2.5", 'n', true, true, -2.5},
    {"1e2", "100", 'n', true, true, 100},
    {"true", "true", 'b', false, true, 0},
    {"false", "false", 'b', false, false, 0},
    {"params.five", "5", 't', true, true, 5},
    {"part", "abc", 't', false, true, 0},
    {"env.EMPTY", "", 't', false, false, 0},
    {"run.attempt", "0", 'n', true, false, 0},
    {"tasks.a.outputs.gone", "", 'm', false, false, 0},
    {"tasks['a.b'].status", "", 'm', false, false, 0},
};
enum { LEAVES = sizeof leaves / sizeof leaves[0], FIRST_NAME = 15 };

static const struct leaf yes = {"", "true", 'b', false, true, 0},
                         no = {"", "false", 'b', false, false, 0};

/* ---- Trees ---- */

enum shape {
    LEAF,
    NOT,
    STEM,
    AND,
    OR,
    EQ,
    NE,
    LT,
    GT,
    LE,
    GE,
    CONTAINS,
    DEFAULT,
    SHAPES
};
static const char *const signs[] = {
    "", "!", "", "&&", "||", "==", "!=", "<", ">", "<=", ">=", "", ""};
/* How tightly each binds; what is inside must bind tighter, or stand in parentheses. */
static const int tightness[] = {9, 4, 9, 2, 1, 3, 3, 3, 3, 3, 3, 9, 9};

struct tree {
    enum shape shape;
    const struct leaf *leaf;
    struct tree *left, *right;
};

static uint64_t seed;
static struct arena arena;

static uint32_t below(uint32_t n)
{
    uint64_t z = (seed += 0x9e3779b97f4a7c15u); /* splitmix64, S. Vigna */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32) % n;
}

static struct tree *grow(int depth)
{
    struct tree *tree = arena_take(&arena, 1, sizeof *tree);
    ck_assert_ptr_nonnull(tree);
    tree->shape = depth && below(5) ? (enum shape)(1 + below(SHAPES - 1)) : LEAF;
    if (tree->shape == LEAF)
        tree->leaf = &leaves[below(LEAVES)];
    else
        tree->left = grow(depth - 1);
    if (tree->shape > STEM)
        tree->right = grow(depth - 1);
    return tree;
}

static void blank(struct buf *out)
{
    static const char *const blanks[] = {"", "", " ", "  ", "\t", "\n"};
    buf_text(out, blanks[below(6)]);
}

static void print(const struct tree *tree, int least, struct buf *out)
{
    bool bare = tightness[tree->shape] >= least && below(8);
    /* Not chained; the same of && on the right changes nothing, but is another tree. */
    int side = tightness[tree->shape] + (tightness[tree->shape] == 3);
    blank(out);
    if (!bare)
        buf_byte(out, '(');
    if (tree->shape == LEAF) {
        buf_text(out, tree->leaf->source);
    } else if (tree->shape == NOT) {
        buf_byte(out, '!');
        print(tree->left, 4, out);
    } else if (tree->shape == STEM) {
        buf_text(out, "stem");
        blank(out);
        buf_byte(out, '(');
        print(tree->left, 0, out);
        buf_byte(out, ')');
    } else if (tree->shape >= CONTAINS) {
        buf_text(out, tree->shape == CONTAINS ? "contains" : "default");
        blank(out);
        buf_byte(out, '(');
        print(tree->left, 0, out);
        buf_byte(out, ',');
        print(tree->right, 0, out);
        buf_byte(out, ')');
    } else {
        print(tree->left, side, out);
        buf_text(out, signs[tree->shape]);
        print(tree->right, tightness[tree->shape] + 1, out);
    }
    if (!bare)
        buf_byte(out, ')');
    blank(out);
}

/* ---- The second evaluator ---- */

static bool same(const struct leaf *a, const struct leaf *b)
{
    if (a->type == 'm' || b->type == 'm')
        return a->type == b->type;
    if ((a->type == 'n' || b->type == 'n') && (a->type != 'b' && b->type != 'b'))
        return a->counts && b->counts && !(a->number < b->number) &&
               !(a->number > b->number);
    if ((a->type == 'n') != (b->type == 'n'))
        return false; /* a number and a truth value */
    return strcmp(a->text, b->text) == 0;
}

/* The only text with a dot inside of it is 5.0. */
static const struct leaf *stem_of(const struct leaf *a)
{
    static const struct leaf five = {"", "5", 't', true, true, 5};
    if (a->type != 't')
        return NULL;
    return strcmp(a->text, "5.0") == 0 ? &five : a;
}

/* NULL: an error. Names that are asked for are added to `names`. */
static const struct leaf *value_of(const struct tree *tree, struct buf *names)
{
    if (tree->shape == LEAF) {
        if (tree->leaf >= &leaves[FIRST_NAME])
            buf_format(names, "%s ", tree->leaf->source);
        return tree->leaf;
    }
    const struct leaf *a = value_of(tree->left, names);
    if (!a || (a->type == 'm' && tree->shape != EQ && tree->shape != NE &&
               tree->shape != DEFAULT && tree->shape <= OR))
        return NULL;
    if (tree->shape == NOT)
        return a->yes ? &no : &yes;
    if (tree->shape == STEM)
        return stem_of(a);
    if (tree->shape == AND && !a->yes)
        return &no;
    if (tree->shape == OR && a->yes)
        return &yes;
    if (tree->shape == DEFAULT && a->type != 'm')
        return a;
    const struct leaf *b = value_of(tree->right, names);
    if (!b || tree->shape == DEFAULT)
        return b;
    if (tree->shape == EQ || tree->shape == NE)
        return same(a, b) == (tree->shape == EQ) ? &yes : &no;
    if (a->type == 'm' || b->type == 'm')
        return NULL;
    if (tree->shape == AND || tree->shape == OR)
        return b->yes ? &yes : &no;
    if (tree->shape == CONTAINS)
        return strstr(a->text, b->text) ? &yes : &no;
    if (!a->counts || !b->counts)
        return NULL;
    bool less = a->number<b->number, more = a->number> b->number;
    return (tree->shape == LT   ? less
            : tree->shape == GT ? more
            : tree->shape == LE ? !more
                                : !less)
               ? &yes
               : &no;
}

/* ---- Comparing ---- */

struct asked {
    const char *text;
    struct buf names;
};

static int lookup(void *context, const struct name *name, struct value *out,
                  struct cairn_error *error)
{
    struct asked *asked = context;
    (void)error;
    for (size_t i = FIRST_NAME; i < LEAVES; i++) {
        const struct leaf *leaf = &leaves[i];
        if (!str_equal(str_of(leaf->source),
                       (struct str){asked->text + name->at, name->length}))
            continue;
        buf_format(&asked->names, "%s ", leaf->source);
        out->type = leaf->type == 't'   ? VALUE_TEXT
                    : leaf->type == 'n' ? VALUE_NUMBER
                                        : VALUE_MISSING;
        out->text = str_of(leaf->text);
        out->number = leaf->number;
        return 0;
    }
    ck_abort_msg("a name that there is not");
    return -1;
}

static bool alike(const struct leaf *leaf, const struct value *value)
{
    struct buf text = BUF_INIT;
    value_append(value, &text);
    bool same_text = str_equal(buf_view(&text), str_of(leaf->text));
    buf_release(&text);
    return same_text && "tnbm"[value->type] == leaf->type &&
           value_truth(value) == leaf->yes;
}

static void compare(const struct tree *tree, uint64_t before)
{
    struct buf text = BUF_INIT, names = BUF_INIT;
    struct asked asked = {.names = BUF_INIT};
    const struct expression *expression;
    struct expression_error wrong = {0};
    struct cairn_error error = {0};
    struct value value = {.type = VALUE_MISSING};
    print(tree, 0, &text);
    asked.text = text.data;
    int result = expression_parse(&arena, buf_view(&text), &expression, &wrong);
    ck_assert_msg(result == 0, "seed %llu: %s: %s", (unsigned long long)before,
                  text.data, wrong.text);
    result = expression_evaluate(expression, lookup, &asked, &arena, &value, &error);
    const struct leaf *expected = value_of(tree, &names);
    ck_assert_msg((result == 0) == (expected != NULL), "seed %llu: %s: %s",
                  (unsigned long long)before, text.data, error.text);
    ck_assert_msg(!expected || alike(expected, &value), "seed %llu: %s",
                  (unsigned long long)before, text.data);
    ck_assert_msg(str_equal(buf_view(&asked.names), buf_view(&names)),
                  "seed %llu: %s asks for %s", (unsigned long long)before, text.data,
                  asked.names.data);
    buf_release(&text);
    buf_release(&names);
    buf_release(&asked.names);
}

START_TEST(test_random)
{
    enum { DEEPEST = 7 };
    int rounds = help_rounds(20000, 20000);
    const char *given = getenv("CAIRN_SEED");
    seed = given ? strtoull(given, NULL, 10) : random_u64();
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < rounds; i++) {
        uint64_t before = seed;
        compare(grow((int)below(DEEPEST + 1)), before);
        arena_release(&arena);
    }
}
END_TEST

/* Bytes that need not be an expression: refused with a place in the text, or evaluated.
 */
START_TEST(test_noise)
{
    static const char *const words[] = {
        "(",     ")",       "!",        "&&",          "||",    "==",
        "<",     ",",       "contains", "default",     "tasks", ".",
        "['a']", "outputs", "'",        "params.five", "5",     "-",
        "e9",    " ",       "\xff",     "}}",          "${{",   "part",
        "true",  "env",     "run",      "status",      "stem",
    };
    enum { WORDS = sizeof words / sizeof words[0] };
    int rounds = help_rounds(30000, 30000);
    seed = random_u64();
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < rounds; i++) {
        struct buf text = BUF_INIT;
        struct text_template template;
        const struct expression *expression;
        struct expression_error wrong = {0};
        for (uint32_t n = below(12); n; n--)
            buf_text(&text, words[below(WORDS)]);
        if (expression_parse(&arena, buf_view(&text), &expression, &wrong)) {
            ck_assert_uint_le(wrong.at + wrong.length, text.size);
            ck_assert_uint_gt(strlen(wrong.text), 0);
        }
        if (template_parse(&arena, buf_view(&text), &template, &wrong))
            ck_assert_uint_le(wrong.at + wrong.length, text.size);
        buf_release(&text);
        arena_release(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expression_random");
    TCase *tests = tcase_create("random");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_random);
    tcase_add_test(tests, test_noise);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
