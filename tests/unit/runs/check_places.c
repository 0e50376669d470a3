/* SPDX-License-Identifier: MIT */
/* Places in pools that runs share: who has them, who waits, and when they are free. */
#include "runs/places.h"

#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 4 };

static char dir[256];
static struct places run[RUNS];
static struct lock_file held[RUNS];
static struct places_entry other;
static struct cairn_error failure;

static void setup_runs(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_places.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    for (uint32_t i = 0; i < RUNS; i++) {
        held[i].fd = -1;
        ck_assert_int_eq(places_open(&run[i], dir, i + 1, &failure), 0);
    }
}

static void teardown_runs(void)
{
    for (uint32_t i = 0; i < RUNS; i++) {
        lock_close(&held[i]);
        places_close(&run[i]);
    }
    remove_tree(dir);
}

static int take_of(uint32_t i, const char *pool, uint32_t places, uint32_t limit)
{
    struct places_wish wish = {str_of(pool), places, limit};
    return places_take(&run[i], &wish, 1, STR("task"), &held[i], &other, &failure);
}

static int take(uint32_t i)
{
    return take_of(i, "gpu", 1, 1);
}

struct seen {
    char text[1024];
};

static int add_entry(void *context, const struct places_entry *entry)
{
    struct seen *seen = context;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%s%d %s %s %u of %u;",
             entry->waits ? "waits " : "", (int)entry->run, entry->pool, entry->task,
             entry->places, entry->limit);
    return 0;
}

static void expect_entries(const char *wanted)
{
    struct seen seen = {""};
    ck_assert_int_eq(places_each(dir, add_entry, &seen, &failure), 0);
    ck_assert_str_eq(seen.text, wanted);
}

START_TEST(test_taking)
{
    expect_entries("");
    ck_assert_int_eq(take_of(0, "gpu", 2, 3), 1);
    ck_assert_int_eq(take_of(1, "gpu", 2, 3), 0);
    ck_assert_int_eq(take_of(2, "net", 1, 1), 1);
    expect_entries("1 gpu task 2 of 3;waits 2 gpu task 2 of 3;3 net task 1 of 1;");
    places_give_back(&run[0], &held[0]);
    ck_assert_int_eq(take_of(1, "gpu", 2, 3), 1);
    expect_entries("2 gpu task 2 of 3;3 net task 1 of 1;");
}
END_TEST

START_TEST(test_order)
{
    ck_assert_int_eq(take(0), 1);
    ck_assert_int_eq(take(1), 0);
    ck_assert_int_eq(take(2), 0);
    ck_assert_int_eq(take(1), 0); /* asking again changes no turn */
    places_give_back(&run[0], &held[0]);
    ck_assert_int_eq(take(0), 0);
    ck_assert_int_eq(take(2), 0);
    ck_assert_int_eq(take(1), 1);
    places_give_back(&run[1], &held[1]);
    ck_assert_int_eq(take(0), 0);
    ck_assert_int_eq(take(2), 1);
    places_give_back(&run[2], &held[2]);
    ck_assert_int_eq(take(0), 1);
}
END_TEST

/* What one needs that came before is not taken bit by bit by those behind it. */
START_TEST(test_heavy_is_not_overtaken)
{
    ck_assert_int_eq(take_of(0, "gpu", 1, 2), 1);
    ck_assert_int_eq(take_of(1, "gpu", 2, 2), 0);
    ck_assert_int_eq(take_of(2, "gpu", 1, 2), 0);
    ck_assert_int_eq(take_of(3, "net", 1, 2), 1); /* another pool */
    places_give_back(&run[0], &held[0]);
    ck_assert_int_eq(take_of(2, "gpu", 1, 2), 0);
    ck_assert_int_eq(take_of(1, "gpu", 2, 2), 1);
}
END_TEST

START_TEST(test_all_or_none)
{
    struct places_wish both[] = {{STR("gpu"), 1, 1}, {STR("net"), 1, 1}};
    const struct places_wish turned[] = {both[1], both[0]};
    ck_assert_int_eq(take_of(0, "net", 1, 1), 1);
    ck_assert_int_eq(
        places_take(&run[3], turned, 2, STR("turned"), &held[3], &other, &failure), 0);
    places_withdraw(&run[3]);
    ck_assert_int_eq(
        places_take(&run[1], both, 2, STR("both"), &held[1], &other, &failure), 0);
    expect_entries(
        "1 net task 1 of 1;waits 2 gpu both 1 of 1;waits 2 net both 1 of 1;");
    ck_assert_int_eq(take(2), 0); /* it waits behind in this one, too */
    places_give_back(&run[0], &held[0]);
    ck_assert_int_eq(
        places_take(&run[1], both, 2, STR("both"), &held[1], &other, &failure), 1);
    places_withdraw(&run[2]);
    expect_entries("2 gpu both 1 of 1;2 net both 1 of 1;");
}
END_TEST

/* Its descriptors are closed, and nothing else is done. */
START_TEST(test_killed)
{
    struct places *waits = &run[1];
    ck_assert_int_eq(take(0), 1);
    ck_assert_int_eq(take(1), 0);
    int copy = dup(held[0].fd); /* as a keeper has it */
    lock_close(&held[0]);
    lock_close(&waits->waiting);
    ck_assert_int_eq(take(2), 0);
    expect_entries("1 gpu task 1 of 1;waits 3 gpu task 1 of 1;");
    close(copy);
    ck_assert_int_eq(take(2), 1);
    expect_entries("3 gpu task 1 of 1;");
}
END_TEST

START_TEST(test_other_limit)
{
    ck_assert_int_eq(take_of(0, "gpu", 1, 2), 1);
    ck_assert_uint_eq(other.places, 0);
    ck_assert_int_eq(take_of(1, "gpu", 1, 1), 0);
    ck_assert_uint_eq(other.run, 1);
    ck_assert_uint_eq(other.limit, 2);
    places_withdraw(&run[1]);
    ck_assert_int_eq(take_of(2, "gpu", 1, 2), 1);
    ck_assert_uint_eq(other.places, 0);
}
END_TEST

/* Run 2 is inside the task of run 1, run 3 inside that of run 2. */
START_TEST(test_lent)
{
    const struct run_parent around[] = {{.run = 2, .id = "task"},
                                        {.run = 1, .id = "task"}};
    struct places_wish wish = {STR("gpu"), 3, 4};
    struct lock_file more;
    run[1].around = &around[1];
    run[1].n_around = 1;
    run[2].around = around;
    run[2].n_around = 2;
    ck_assert_int_eq(take_of(0, "gpu", 2, 4), 1);
    ck_assert_int_eq(take_of(3, "gpu", 4, 4), 0); /* it came first */
    ck_assert_int_eq(places_check(&run[1], &wish, 1, STR("big"), &failure),
                     CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text,
                     "task big takes 3 places of pool gpu, but it runs inside task "
                     "task of run 1, which has 2 of them and gives none back before it "
                     "ends: give that task 3, or none");
    ck_assert_int_eq(take_of(1, "gpu", 3, 4), CAIRN_EUSAGE);
    ck_assert_int_eq(take_of(1, "gpu", 1, 4), 1);
    ck_assert_int_eq(take_of(2, "gpu", 1, 4), 1);
    wish.places = 2;
    ck_assert_int_eq(places_check(&run[1], &wish, 1, STR("big"), &failure), 0);
    ck_assert_int_eq(
        places_take(&run[1], &wish, 1, STR("big"), &more, &other, &failure), 0);
    places_give_back(&run[2], &held[2]);
    places_give_back(&run[1], &held[1]);
    ck_assert_int_eq(
        places_take(&run[1], &wish, 1, STR("big"), &more, &other, &failure), 1);
    expect_entries("1 gpu task 2 of 4;waits 4 gpu task 4 of 4;2 gpu big 2 of 2;");
    places_give_back(&run[0], &held[0]); /* it is outlived: its places are not free */
    ck_assert_int_eq(take_of(3, "gpu", 4, 4), 0);
    places_give_back(&run[1], &more);
    ck_assert_int_eq(take_of(3, "gpu", 4, 4), 1);
}
END_TEST

START_TEST(test_damaged_file)
{
    char path[300];
    snprintf(path, sizeof path, "%s/pools", dir);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 5000; i++)
        fputc(i * 7 % 251, file);
    fclose(file);
    expect_entries("");
    ck_assert_int_eq(take(0), 1);
    ck_assert_int_eq(take(1), 0);
    expect_entries("1 gpu task 1 of 1;waits 2 gpu task 1 of 1;");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("places");
    TCase *c = tcase_create("places");
    tcase_add_checked_fixture(c, setup_runs, teardown_runs);
    tcase_add_test(c, test_taking);
    tcase_add_test(c, test_order);
    tcase_add_test(c, test_heavy_is_not_overtaken);
    tcase_add_test(c, test_all_or_none);
    tcase_add_test(c, test_killed);
    tcase_add_test(c, test_other_limit);
    tcase_add_test(c, test_lent);
    tcase_add_test(c, test_damaged_file);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
