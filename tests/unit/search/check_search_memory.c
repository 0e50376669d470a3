/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc */
/* Each allocation refused in turn while an index is made and searched: CAIRN_ENOMEM, or
 * what is found without any, until nothing is refused any more; and the next search
 * finds all. */
#include "cairn.h"
#include "tests/support/memory/refuse_allocations.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cairn_store *store;
static struct cairn_error error;
static char dir[256], path[300], db[320];

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

static void make_store(void)
{
    const char *base = getenv("TMPDIR");
    struct cairn_set set = {"text", "the cache is stale"};
    struct cairn_new_message message = {.text = "why is the cache stale", .bytes = 22};
    struct cairn_capture capture = {.message = "before the cache was purged"};
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    snprintf(dir, sizeof dir, "%s/cairn-search-XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    snprintf(db, sizeof db, "%s/search.db", path);
    good(cairn_store_open(&store, &options, &error));
    good(cairn_session_start(store, "s", true, NULL, &error));
    char files[300], file[320];
    snprintf(files, sizeof files, "%s/files", dir);
    snprintf(file, sizeof file, "%s/cache.txt", files);
    ck_assert_int_eq(mkdir(files, 0700), 0);
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    fputs("a file about the cache\n", out);
    fclose(out);
    good(cairn_session_configure(store, NULL, "files", files, &error));
    good(cairn_item_add(store, NULL, "note", &set, 1, NULL, &error));
    good(cairn_message_add(store, NULL, &message, NULL, &error));
    good(cairn_session_checkpoint(store, NULL, &capture, NULL, &error));
}

static int count_hit(void *context, const struct cairn_search_hit *hit)
{
    *(int *)context += hit->id[0] && hit->snippet;
    return 0;
}

static int search(int *hits)
{
    struct cairn_search what = {.text = "stale cache", .project = dir, .k = 10};
    *hits = 0;
    return cairn_search(store, &what, NULL, count_hit, hits, NULL, &error);
}

/* From how many allocations on nothing is refused. */
static long refuse_each(bool anew, int wanted)
{
    for (long n = 1;; n++) {
        int hits = 0;
        if (anew)
            unlink(db);
        allocations_left = n;
        int rc = search(&hits);
        bool done = allocations_left > 0;
        allocations_left = 0;
        ck_assert_msg(rc == 0 || rc == CAIRN_ENOMEM, "%ld: %d %s", n, rc, error.text);
        if (rc == 0)
            ck_assert_msg(hits == wanted, "%ld: %d hits", n, hits);
        good(search(&hits));
        ck_assert_msg(hits == wanted, "after %ld: %d hits", n, hits);
        if (done)
            return n;
    }
}

START_TEST(test_no_memory)
{
    int wanted;
    make_store();
    good(search(&wanted));
    ck_assert_int_eq(wanted, 5);
    ck_assert_int_gt(refuse_each(false, wanted), 20);
    ck_assert_int_gt(refuse_each(true, wanted), 100);
    cairn_store_close(store);
    remove_tree(dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("search without memory");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_no_memory);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
