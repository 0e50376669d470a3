/* SPDX-License-Identifier: MIT */
/* Lists by words and by parts of words: against a count of our own, and what a word
 * does that most texts have. */
#include "search/search_int.h"

#include "tests/support/suite.h"

#include <stdlib.h>

enum { TEXTS = 9000 };

static struct cairn_error error;
static struct searchdb *db;
static struct scope_doc known[TEXTS];
static struct scope scope;
static struct rank_list lists[2];

static void put(const char *title, const char *body)
{
    struct searchdb_vector vector;
    char key[16];
    static int n;
    snprintf(key, sizeof key, "%d", n++);
    struct searchdb_doc doc = {.unit = 1,
                               .key = str_of(key),
                               .section = 1,
                               .project = 1,
                               .hash = STR("0123456789abcdef"),
                               .title = str_of(title),
                               .body = str_of(body),
                               .n_words = words_count(str_of(title)) +
                                          words_count(str_of(body)),
                               .vector = &vector};
    ck_assert_int_eq(vector_of(doc.title, doc.body, &vector, &error), 0);
    ck_assert_int_eq(searchdb_put(db, &doc, &error), 0);
}

static int see(void *context, const struct searchdb_seen *seen)
{
    (void)context;
    ck_assert_uint_lt(scope.n, TEXTS);
    known[scope.n++] = (struct scope_doc){.doc = seen->doc,
                                          .n_words = seen->n_words,
                                          .n_grams = seen->n_grams,
                                          .wanted = true};
    scope.words += seen->n_words;
    scope.grams += seen->n_grams;
    return 0;
}

static void begin(void)
{
    ck_assert_int_eq(searchdb_open(&db, NULL, true, &error), 0);
    ck_assert_int_eq(searchdb_begin(db, &error), 0);
    scope = (struct scope){.at = known, .room = TEXTS};
}

static void end_writing(void)
{
    ck_assert_int_eq(searchdb_commit(db, &error), 0);
    ck_assert_int_eq(searchdb_each_vector(db, see, NULL, &error), 0);
}

static void rank(const char *text)
{
    memset(lists, 0, sizeof lists);
    ck_assert_int_eq(rank_texts(db, &scope, str_of(text), lists, &error), 0);
}

static double ratio(size_t i, size_t j)
{
    return (double)lists[0].at[i].score / (double)lists[0].at[j].score;
}

/* k1 = 1.2 and b = 0.75, by hand: ten texts, 22 words. */
START_TEST(test_bm25)
{
    begin();
    put("", "cache stale");
    put("", "cache and other words");
    for (int i = 0; i < 8; i++)
        put("", "nothing here");
    end_writing();
    rank("cache");
    double average = 22.0 / 10;
    double two = 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / average));
    double four = 1 / (1 + 1.2 * (0.25 + 0.75 * 4 / average));
    ck_assert_uint_eq(lists[0].n, 2);
    ck_assert_double_eq_tol(ratio(1, 0), four / two, 1e-4);
    searchdb_close(db);
}
END_TEST

START_TEST(test_titles)
{
    begin();
    put("cache", "one two three");
    put("", "cache one two three");
    put("", "nothing of it");
    put("", "nothing of it");
    put("", "nothing of it");
    end_writing();
    rank("cache");
    ck_assert_uint_eq(lists[0].n, 2);
    ck_assert_int_eq(lists[0].at[0].doc, 1);
    searchdb_close(db);
}
END_TEST

/* It is only looked for where nothing else can be. */
START_TEST(test_common)
{
    begin();
    for (int i = 0; i < 3000; i++)
        put("", i == 1234 ? "everywhere marzipan" : "everywhere and nowhere");
    end_writing();
    rank("everywhere marzipan");
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(lists[i].n, 1);
        ck_assert_int_eq(lists[i].at[0].doc, 1235);
    }
    rank("everywhere");
    ck_assert_uint_eq(lists[0].n, RANK_DEPTH);
    ck_assert_uint_eq(lists[1].n, RANK_DEPTH);
    rank("absent words");
    ck_assert_uint_eq(lists[0].n + lists[1].n, 0);
    searchdb_close(db);
}
END_TEST

/* What is out of the scope is not in the list, and says nothing about how rare a word
 * is; what is only not wanted is not in the list. */
START_TEST(test_scope)
{
    struct rank_list alone;
    begin();
    for (int i = 0; i < 20; i++)
        put("", i % 5 == 0 ? "marzipan cake" : "plain bread");
    end_writing();
    rank("marzipan bread");
    alone = lists[0];
    searchdb_close(db);

    begin();
    for (int i = 0; i < 20; i++) {
        put("", i % 5 == 0 ? "marzipan cake" : "plain bread");
        put("", "marzipan and marzipan again, of somebody else");
    }
    end_writing();
    size_t n = 0;
    scope.words = scope.grams = 0;
    for (size_t i = 0; i < scope.n; i += 2) {
        known[n++] = known[i];
        scope.words += known[i].n_words;
        scope.grams += known[i].n_grams;
    }
    scope.n = n;
    rank("marzipan bread");
    ck_assert_uint_eq(lists[0].n, alone.n);
    for (size_t i = 0; i < alone.n; i++) {
        ck_assert_int_eq(lists[0].at[i].score, alone.at[i].score);
        ck_assert_int_eq(lists[0].at[i].doc % 2, 1);
    }
    known[0].wanted = false; /* "marzipan cake" */
    rank("marzipan");
    ck_assert_uint_eq(lists[0].n, 3);
    searchdb_close(db);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lists");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_bm25);
    tcase_add_test(tests, test_titles);
    tcase_add_test(tests, test_common);
    tcase_add_test(tests, test_scope);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
