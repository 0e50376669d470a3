/* SPDX-License-Identifier: MIT */
/* What a search costs.
 *
 *   search [MESSAGES...]        10000 100000
 *
 * For each number: a session with so many messages of some 40 words, which come from a
 * vocabulary of 30,000 as often as words do in texts (Zipf's law). first: the first
 * search, which makes the index. fused: five hits of all three lists for queries of
 * three words, of which one is common, with a handle of the store and of the index each
 * time. new: a search after one more message. checkpoint: what a new checkpoint makes
 * the next search take more, on the whole: it is put into the index then, and nothing
 * is in the transaction that makes it. size: of the index. forget: taking a deleted
 * checkpoint out of it. list: ten checkpoints of a session behind so many others, and
 * the exact total; list-half: in the middle of them; list-all: of sessions and runs. */
#include "bench.h"

enum { VOCABULARY = 30000, WORDS = 40, QUERIES = 100, WORD = 12 };

static struct cairn_error error;
static char vocabulary[VOCABULARY][WORD];
static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Syllables, so that words have parts in common, as in a language. */
static void make_vocabulary(void)
{
    static const char consonants[] = "bcdfghklmnprstvw", vowels[] = "aeiou";
    for (int i = 0; i < VOCABULARY; i++) {
        size_t n = 0, syllables = 1 + next_random() % 4;
        for (size_t j = 0; j < syllables; j++) {
            vocabulary[i][n++] = consonants[next_random() % (sizeof consonants - 1)];
            vocabulary[i][n++] = vowels[next_random() % (sizeof vowels - 1)];
        }
        if (next_random() % 2)
            vocabulary[i][n++] = consonants[next_random() % (sizeof consonants - 1)];
        vocabulary[i][n] = '\0';
    }
}

/* A word of rank r comes about 1 / r as often as the first. */
static const char *next_word(void)
{
    double part = (double)(next_random() >> 11) / 9007199254740992.0;
    size_t rank = 1;
    /* 30000 to the power of `part`, without the library of mathematics. */
    for (double at = part * 15; at >= 1; at -= 1)
        rank *= 2;
    rank += next_random() % rank;
    return vocabulary[(rank - 1) % VOCABULARY];
}

struct lines {
    unsigned long next, end;
    char line[WORDS * WORD + 200];
    size_t at, length;
};

static void next_line(struct lines *lines)
{
    size_t n = (size_t)snprintf(lines->line, sizeof lines->line,
                                "{\"role\":\"user\",\"uuid\":\"%lu\",\"content\":\"",
                                lines->next++);
    for (int i = 0; i < WORDS; i++)
        n += (size_t)snprintf(lines->line + n, sizeof lines->line - n, "%s ",
                              next_word());
    n += (size_t)snprintf(lines->line + n, sizeof lines->line - n, "\"}\n");
    lines->at = 0;
    lines->length = n;
}

static int64_t read_lines(void *context, char *bytes, size_t n)
{
    struct lines *lines = context;
    size_t put = 0;
    while (put < n && (lines->at < lines->length || lines->next < lines->end)) {
        if (lines->at == lines->length)
            next_line(lines);
        size_t part =
            lines->length - lines->at < n - put ? lines->length - lines->at : n - put;
        memcpy(bytes + put, lines->line + lines->at, part);
        lines->at += part;
        put += part;
    }
    return (int64_t)put;
}

static int pass_hit(void *context, const struct cairn_search_hit *hit)
{
    *(double *)context += hit->score;
    return 0;
}

static double search(struct cairn_store *store, const char *project, const char *text)
{
    struct cairn_search what = {.text = text, .project = project};
    struct cairn_search_result result;
    double sum = 0;
    int64_t began = bench_now();
    bench_check(cairn_search(store, &what, NULL, pass_hit, &sum, &result, &error),
                "search", &error);
    if (result.hits != 5)
        bench_fail("search", "it has not told five hits");
    return (double)(bench_now() - began) / 1e6;
}

static void figure(const char *what, unsigned long n, struct bench_samples *samples,
                   const char *unit)
{
    char name[80];
    snprintf(name, sizeof name, "search.%lu.%s", n, what);
    bench_figure(name, samples, unit);
}

static void search_words(struct cairn_store *store, const char *dir, unsigned long n)
{
    struct bench_samples took = {0};
    char text[100];
    for (int i = 0; i < QUERIES; i++) {
        snprintf(text, sizeof text, "%s %s %s", vocabulary[next_random() % 200],
                 vocabulary[next_random() % 5000], vocabulary[next_random() % 30000]);
        bench_add(&took, search(store, dir, text));
    }
    figure("fused", n, &took, "ms");
}

static void add_checkpoint(struct cairn_store *store)
{
    struct cairn_capture capture = {.message = "before the edge nodes are purged"};
    struct cairn_captured made;
    bench_check(cairn_session_checkpoint(store, NULL, &capture, &made, &error),
                "checkpoint", &error);
}

static void index_checkpoints(struct cairn_store *store, const char *dir,
                              unsigned long n)
{
    struct bench_samples more = {0};
    for (int i = 0; i < 20; i++) {
        add_checkpoint(store);
        double first = search(store, dir, "edge nodes");
        bench_add(&more, first - search(store, dir, "edge nodes"));
    }
    figure("checkpoint", n, &more, "ms");
}

static int count_info(void *context, const struct cairn_checkpoint_info *info)
{
    (void)info;
    ++*(int *)context;
    return 0;
}

static void list_ten(struct cairn_store *store, unsigned long session,
                     unsigned long offset, struct bench_samples *took)
{
    struct cairn_checkpoint_filter filter = {.session = session,
                                             .page = {.limit = 10, .offset = offset}};
    for (int i = 0; i < 100; i++) {
        int listed = 0;
        uint64_t total = 0;
        int64_t began = bench_now();
        bench_check(
            cairn_checkpoint_list(store, &filter, count_info, &listed, &total, &error),
            "list", &error);
        bench_add(took, (double)(bench_now() - began) / 1e6);
        if (listed != 10 || total < offset + 10)
            bench_fail("list", "it has not told ten, or a wrong total");
    }
}

static void list_behind(const char *dir, unsigned long n)
{
    char path[4200];
    struct cairn_store *store;
    struct bench_samples took = {0};
    snprintf(path, sizeof path, "%s/list", dir);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    bench_check(cairn_store_open(&store, &options, &error), "open", &error);
    bench_check(cairn_session_start(store, "bench", true, NULL, &error), "start",
                &error);
    for (unsigned long i = 0; i < n + 10; i++)
        add_checkpoint(store);
    list_ten(store, 1, n, &took);
    figure("list", n, &took, "ms");
    list_ten(store, 1, n / 2, &took);
    figure("list-half", n, &took, "ms");
    list_ten(store, 0, n, &took);
    figure("list-all", n, &took, "ms");
    cairn_store_close(store);
}

static void delete_one(struct cairn_store *store, const char *dir, unsigned long n)
{
    struct bench_samples took = {0};
    struct cairn_capture capture = {.message = "one that goes"};
    struct cairn_captured made;
    bench_check(cairn_session_checkpoint(store, NULL, &capture, &made, &error),
                "checkpoint", &error);
    search(store, dir, "one that goes");
    bench_check(cairn_checkpoint_delete(store, made.id, &error), "delete", &error);
    int64_t began = bench_now();
    bench_check(cairn_search_forget(store, &error), "forget", &error);
    bench_add(&took, (double)(bench_now() - began) / 1e6);
    figure("forget", n, &took, "ms");
}

static void measure(const char *dir, unsigned long n)
{
    char path[4200];
    struct cairn_store *store;
    struct stat st;
    struct bench_samples took = {0};
    struct lines lines = {.end = n};
    snprintf(path, sizeof path, "%s/%lu", dir, n);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    bench_check(cairn_store_open(&store, &options, &error), "open", &error);
    bench_check(cairn_session_start(store, "bench", true, NULL, &error), "start",
                &error);
    bench_check(cairn_message_import(store, NULL, "bench", read_lines, NULL, &lines,
                                     NULL, &error),
                "import", &error);
    bench_add(&took, search(store, dir, "begin"));
    figure("first", n, &took, "ms");
    search_words(store, dir, n);
    struct cairn_new_message message = {.text = "it is slow again", .bytes = 16};
    for (int i = 0; i < 20; i++) {
        bench_check(cairn_message_add(store, NULL, &message, NULL, &error), "add",
                    &error);
        bench_add(&took, search(store, dir, "slow again"));
    }
    figure("new", n, &took, "ms");
    index_checkpoints(store, dir, n);
    delete_one(store, dir, n);
    cairn_store_close(store);
    snprintf(path, sizeof path, "%s/%lu/search.db", dir, n);
    if (stat(path, &st) == 0)
        bench_add(&took, (double)st.st_size / (1 << 20));
    figure("size", n, &took, "MiB");
}

int main(int argc, char **argv)
{
    char *dir = bench_make_dir();
    make_vocabulary();
    bench_head("search");
    for (int i = 1; i < argc; i++)
        measure(dir, bench_number(argv[i]));
    if (argc == 1) {
        measure(dir, 10000);
        measure(dir, 100000);
        list_behind(dir, 100000);
    }
    remove_tree(dir);
    return 0;
}
