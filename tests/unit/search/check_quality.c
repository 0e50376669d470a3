/* SPDX-License-Identifier: MIT */
/* How well texts are found: queries over commit messages and paragraphs of the
 * documents of this project, of which a person said what is relevant
 * (tests/data/search). Prints recall@5 and nDCG@5 of words, parts of words, vectors,
 * and all of them together. */
#include "search/search_int.h"

#include "tests/support/suite.h"

#include <stdlib.h>

enum { MOST = 2000, BEST = 5, WAYS = RANK_LISTS + 1, RELEVANT = 8 };

static struct cairn_error error;
static char *names[MOST];
static size_t n_names;
static struct searchdb *db;
static struct searchdb_vector vectors[MOST];
static struct scope_doc known[MOST];
static struct scope scope = {.at = known, .room = MOST};

static FILE *open_data(const char *name)
{
    char path[300];
    const char *tests = getenv("TESTS");
    snprintf(path, sizeof path, "%s/data/search/%s", tests ? tests : "tests", name);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is missing", path);
    return file;
}

static int see(void *context, const struct searchdb_seen *seen)
{
    struct scope *to = context;
    ck_assert_uint_lt(to->n, MOST);
    to->at[to->n++] = (struct scope_doc){.doc = seen->doc,
                                         .n_words = seen->n_words,
                                         .n_grams = seen->n_grams,
                                         .wanted = true};
    to->words += seen->n_words;
    to->grams += seen->n_grams;
    return 0;
}

static void index_corpus(void)
{
    char *line = NULL;
    size_t room = 0;
    uint32_t project;
    FILE *file = open_data("corpus.txt");
    ck_assert_int_eq(searchdb_open(&db, NULL, true, &error), 0);
    ck_assert_int_eq(searchdb_begin(db, &error), 0);
    ck_assert_int_eq(searchdb_project(db, STR("/p"), &project, &error), 0);
    while (getline(&line, &room, file) > 0) {
        char *tab = strchr(line, '\t');
        ck_assert(tab != NULL && n_names + 1 < MOST);
        *tab = 0;
        names[++n_names] = strdup(line);
        struct searchdb_doc doc = {.unit = 1,
                                   .key = str_of(line),
                                   .section = 1,
                                   .project = project,
                                   .hash = STR("0123456789abcdef"),
                                   .title = STR(""),
                                   .body = str_of(tab + 1),
                                   .n_words = words_count(str_of(tab + 1)),
                                   .vector = &vectors[n_names]};
        ck_assert_int_eq(vector_of(doc.title, doc.body, &vectors[n_names], &error), 0);
        ck_assert_int_eq(searchdb_put(db, &doc, &error), 0);
    }
    ck_assert_int_eq(searchdb_commit(db, &error), 0);
    ck_assert_int_eq(searchdb_each_vector(db, see, &scope, &error), 0);
    free(line);
    fclose(file);
}

static void find(const char *query, struct rank_list lists[RANK_LISTS])
{
    struct searchdb_vector v;
    memset(lists, 0, RANK_LISTS * sizeof lists[0]);
    ck_assert_int_eq(rank_texts(db, &scope, str_of(query), lists, &error), 0);
    ck_assert_int_eq(vector_of(STR(""), str_of(query), &v, &error), 0);
    for (size_t i = 1; i <= n_names; i++)
        rank_offer(&lists[2], (int64_t)i,
                   -vector_near(&v, vectors[i].at, vectors[i].square));
    rank_sort(&lists[2]);
}

/* log2(2 + i), of nDCG. */
static const double discount[BEST] = {1.0, 1.584963, 2.0, 2.321928, 2.584963};

static void judge(const int64_t *docs, size_t n, char *const *relevant, size_t wanted,
                  double *recall, double *gain)
{
    double got = 0, ideal = 0;
    size_t found = 0;
    for (size_t i = 0; i < BEST && i < wanted; i++)
        ideal += 1 / discount[i];
    for (size_t i = 0; i < n && i < BEST; i++)
        for (size_t j = 0; j < wanted; j++)
            if (strcmp(names[docs[i]], relevant[j]) == 0) {
                got += 1 / discount[i];
                found++;
            }
    *recall += (double)found / (double)wanted;
    *gain += got / ideal;
}

/* ---- A set of queries ---- */

static const char *const ways[WAYS] = {"words", "parts", "vectors", NULL, "fused"};

struct measured {
    double recall[WAYS], gain[WAYS];
    size_t queries;
};

static size_t split(char *line, char *relevant[RELEVANT])
{
    char *tab = strchr(line, '\t'), *rest;
    size_t n = 0;
    ck_assert(tab != NULL);
    *tab = 0;
    for (char *word = strtok_r(tab + 1, " \n", &rest); word && n < RELEVANT;
         word = strtok_r(NULL, " \n", &rest))
        relevant[n++] = word;
    return n;
}

static void measure_query(char *line, struct measured *m)
{
    static struct rank_list lists[RANK_LISTS];
    static struct fused fused[RANK_LISTS * RANK_DEPTH];
    char *relevant[RELEVANT];
    int64_t docs[BEST];
    size_t n, wanted = split(line, relevant);
    find(line, lists);
    for (size_t way = 0; way < RANK_LISTS; way++) {
        for (n = 0; n < lists[way].n && n < BEST; n++)
            docs[n] = lists[way].at[n].doc;
        judge(docs, n, relevant, wanted, &m->recall[way], &m->gain[way]);
    }
    rank_fuse(lists, NULL, fused, &n);
    rank_order(fused, n);
    for (size_t i = 0; i < n && i < BEST; i++)
        docs[i] = fused[i].doc;
    judge(docs, n, relevant, wanted, &m->recall[RANK_LISTS], &m->gain[RANK_LISTS]);
    m->queries++;
}

static struct measured measure(const char *name)
{
    struct measured m = {.queries = 0};
    char *line = NULL;
    size_t room = 0;
    FILE *file = open_data(name);
    while (getline(&line, &room, file) > 0) {
        measure_query(line, &m);
    }
    for (size_t way = 0; way < WAYS; way++) {
        m.recall[way] /= (double)m.queries;
        m.gain[way] /= (double)m.queries;
        if (ways[way])
            printf("%-14s %-8s recall@5 %.3f  nDCG@5 %.3f  (%zu queries, %zu texts)\n",
                   name, ways[way], m.recall[way], m.gain[way], m.queries, n_names);
    }
    fflush(stdout);
    free(line);
    fclose(file);
    return m;
}

/* queries.txt and held-out.txt: on these the weights were chosen, in the end.
 * held-out-2.txt: written and judged before any of them was looked for, after the
 * weights were chosen; nothing was changed after it. */
START_TEST(test_quality)
{
    index_corpus();
    struct measured first = measure("queries.txt");
    struct measured second = measure("held-out.txt");
    struct measured other = measure("held-out-2.txt");
    ck_assert_uint_ge(first.queries, 20);
    ck_assert_uint_ge(second.queries, 30);
    ck_assert_uint_ge(other.queries, 20);
    const struct measured *all[] = {&first, &second};
    for (size_t i = 0; i < 2; i++) {
        ck_assert(all[i]->recall[RANK_LISTS] >= all[i]->recall[0]);
        ck_assert(all[i]->gain[RANK_LISTS] >= all[i]->gain[0]);
    }
    searchdb_close(db);
    for (size_t i = 1; i <= n_names; i++)
        free(names[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quality");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_quality);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
