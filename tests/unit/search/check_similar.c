/* SPDX-License-Identifier: MIT */
/* What makes texts similar, apart from any store: words, vectors, expressions, ranks
 * and snippets. */
#include "search/search_int.h"

#include "tests/support/suite.h"

static struct cairn_error error;

/* ---- Words ---- */

START_TEST(test_words)
{
    struct word_reader words = words_of(STR("store_each-Run(42)  \xc3\xa9t\xc3\xa9"));
    static const char *const wanted[] = {"store", "each", "run", "42",
                                         "\xc3\xa9t\xc3\xa9"};
    for (size_t i = 0; i < 5; i++) {
        ck_assert(words_next(&words));
        ck_assert_str_eq(words.word, wanted[i]);
    }
    ck_assert(!words_next(&words));
    words = words_of(STR(""));
    ck_assert(!words_next(&words));
}
END_TEST

START_TEST(test_stems)
{
    static const struct {
        const char *word;
        size_t n;
    } cases[] = {{"stores", 4}, {"store", 4}, {"restoring", 6}, {"tested", 4},
                 {"is", 2},     {"bus", 3},   {"quickly", 5},   {"runs", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(word_stem(str_of(cases[i].word)) == cases[i].n, "%s",
                      cases[i].word);
    ck_assert(word_is_common(STR("the")));
    ck_assert(!word_is_common(STR("cache")));
}
END_TEST

/* ---- Vectors ---- */

static int64_t near(const char *a, const char *b)
{
    struct searchdb_vector query, other;
    ck_assert_int_eq(vector_of(STR(""), str_of(a), &query, &error), 0);
    ck_assert_int_eq(vector_of(STR(""), str_of(b), &other, &error), 0);
    return vector_near(&query, other.at, other.square);
}

START_TEST(test_vectors)
{
    ck_assert_int_gt(near("restore a checkpoint", "restore a checkpoint"), 990000000);
    ck_assert_int_gt(near("restore a checkpoint", "restoring checkpoints"),
                     near("restore a checkpoint", "the quick brown fox"));
    ck_assert_int_gt(near("misspeled word", "misspelled word"),
                     near("misspeled word", "another thing"));
    ck_assert_int_eq(near("", "restore"), 0);
    ck_assert_int_eq(near("the of and", "the of and"), 0);
}
END_TEST

/* ---- Expressions ---- */

static void expect(int (*make)(struct str, struct phrases *, struct cairn_error *),
                   const char *text, const char *wanted)
{
    struct phrases phrases = {.n = 0};
    struct buf out = BUF_INIT;
    ck_assert_int_eq(make(str_of(text), &phrases, &error), 0);
    ck_assert_int_eq(phrases_expression(&phrases, &out, &error), 0);
    ck_assert_str_eq(out.size ? out.data : "", wanted);
    buf_release(&out);
    phrases_release(&phrases);
}

START_TEST(test_expressions)
{
    expect(phrases_of_words, "the \"Cache\" OR stale*", "\"cache\" OR \"stale\"");
    expect(phrases_of_words, "the of", "\"the\" OR \"of\"");
    expect(phrases_of_words, "*\" ( ^", "");
    expect(phrases_of_grams, "a.b\"c x", "\"a.b\"\"c\"");
}
END_TEST

/* ---- Ranks ---- */

START_TEST(test_ranks)
{
    static struct rank_list lists[RANK_LISTS];
    static struct fused fused[RANK_LISTS * RANK_DEPTH];
    size_t n;
    memset(lists, 0, sizeof lists);
    for (int64_t i = 1; i <= 1000; i++)
        rank_offer(&lists[0], i, (i * 7919) % 1009);
    rank_sort(&lists[0]);
    ck_assert_uint_eq(lists[0].n, RANK_DEPTH);
    for (size_t i = 1; i < lists[0].n; i++)
        ck_assert_int_le(lists[0].at[i - 1].score, lists[0].at[i].score);
    ck_assert_int_lt(lists[0].at[RANK_DEPTH - 1].score, 220);
    rank_offer(&lists[1], lists[0].at[0].doc, 1);
    rank_offer(&lists[2], lists[0].at[0].doc, 1);
    rank_fuse(lists, NULL, fused, &n);
    for (size_t i = 0; i < n; i++)
        fused[i].time_ns = fused[i].doc;
    rank_order(fused, n);
    ck_assert_uint_eq(n, RANK_DEPTH);
    ck_assert_int_eq(fused[0].doc, lists[0].at[0].doc);
    ck_assert(fused[0].score > 0.999999 && fused[0].score <= 1.000001);
}
END_TEST

START_TEST(test_equal_ranks)
{
    static struct rank_list lists[RANK_LISTS];
    static struct fused fused[RANK_LISTS * RANK_DEPTH];
    size_t n;
    memset(lists, 0, sizeof lists);
    for (int64_t i = 1; i <= 5; i++)
        rank_offer(&lists[1], i, 10);
    rank_sort(&lists[1]);
    rank_fuse(lists, NULL, fused, &n);
    ck_assert_uint_eq(n, 5);
    for (size_t i = 0; i < n; i++)
        fused[i].time_ns = fused[i].doc == 3 ? 1000 : 5;
    rank_order(fused, n);
    ck_assert_int_eq(fused[0].doc, 3); /* the newest of equal ones */
    ck_assert(fused[4].score == fused[0].score);
    ck_assert_int_eq(fused[1].doc, 5);
}
END_TEST

/* ---- Snippets ---- */

static const char *snippet(struct buf *out, const char *text, const char *query)
{
    buf_clear(out);
    ck_assert_int_eq(snippet_make(str_of(text), str_of(query), out, &error), 0);
    return out->data;
}

START_TEST(test_snippets)
{
    struct buf out = BUF_INIT, text = BUF_INIT;
    ck_assert_str_eq(snippet(&out, "The cache\n is  stale.", "stale caches"),
                     "The [cache] is [stale].");
    ck_assert_str_eq(snippet(&out, "nothing of it", "zebra"), "nothing of it");
    ck_assert_str_eq(snippet(&out, "Restoring it", "restored"), "[Restoring] it");
    for (int i = 0; i < 1000; i++)
        buf_text(&text, "filler \xc3\xa9 words ");
    buf_text(&text, "the needle is here");
    ck_assert_ptr_nonnull(strstr(snippet(&out, text.data, "needle"), "[needle]"));
    ck_assert_uint_lt(out.size, 200);
    ck_assert_ptr_nonnull(strstr(snippet(&out, text.data, "zebra"), "filler"));
    buf_release(&out);
    buf_release(&text);
}
END_TEST

/* ---- Entries ---- */

START_TEST(test_entry_text)
{
    struct buf out = BUF_INIT;
    entry_text(&out,
               STR("a\x01"
                   "b\xff"
                   "c\n\xc3\xa9"),
               100, false);
    ck_assert_str_eq(out.data, "a b c\n\xc3\xa9");
    buf_clear(&out);
    entry_text(&out, STR("0123456789"), 4, true);
    ck_assert_str_eq(out.data, "6789");
    buf_clear(&out);
    entry_text(&out, STR("0123456789"), 4, false);
    ck_assert_str_eq(out.data, "0123");
    buf_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("similar texts");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_words);
    tcase_add_test(tests, test_stems);
    tcase_add_test(tests, test_vectors);
    tcase_add_test(tests, test_expressions);
    tcase_add_test(tests, test_ranks);
    tcase_add_test(tests, test_equal_ranks);
    tcase_add_test(tests, test_snippets);
    tcase_add_test(tests, test_entry_text);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
