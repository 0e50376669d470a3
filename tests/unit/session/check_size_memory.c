/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc */
/* Each allocation refused in turn while it is counted what takes room: CAIRN_ENOMEM and
 * nothing is told, until nothing is refused any more. */
#include "cairn/maintenance.h"
#include "tests/support/memory/refuse_allocations.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct cairn_store *store;
static struct cairn_error error;
static char dir[256];
static int told;
static uint64_t stored;

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

/* ---- What is done ---- */

static int take_total(void *context, const struct cairn_session_size *size)
{
    (void)context;
    told++;
    stored = size->all.stored;
    return 0;
}

static int take_checkpoint(void *context, const struct cairn_checkpoint_size *size)
{
    (void)context;
    told += size->seq > 0;
    return 0;
}

static int take_file(void *context, const struct cairn_file_size *size)
{
    (void)context;
    told += size->stored > 0;
    return 0;
}

static int count(void)
{
    const struct cairn_size_request request = {.total = take_total,
                                               .checkpoints = 10,
                                               .checkpoint = take_checkpoint,
                                               .files = 10,
                                               .file = take_file};
    return cairn_session_size(store, "first", &request, &error);
}

static void over(void *context, const struct cairn_budget *budget)
{
    (void)context;
    told += budget->stored > budget->budget;
}

static int check_budgets(void)
{
    return cairn_session_budgets(store, over, NULL, &error);
}

/* `n`: how much is told in the end. `once`: what was told is not told again, even where
 * what came behind it had failed. */
static void refuse_each(int (*do_it)(void), int n, bool once)
{
    int refused = 0;
    told = 0;
    for (int rc = CAIRN_ENOMEM; rc; refused++) {
        error = (struct cairn_error){0};
        told = once ? told : 0;
        allocations_left = refused + 1;
        rc = do_it();
        allocations_left = 0;
        ck_assert_msg(rc == 0 || rc == CAIRN_ENOMEM, "%s", error.text);
        if (!rc || !once)
            ck_assert_int_eq(told, rc ? 0 : n);
        ck_assert_int_lt(refused, 10000);
    }
    ck_assert_int_gt(refused, 10);
}

/* ---- A store ---- */

static void write_file(const char *name, char filling, size_t n)
{
    char path[400];
    snprintf(path, sizeof path, "%s/files/%s", dir, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < n; i++)
        fputc((int)(filling + (int)(i * i % 61)), file);
    ck_assert_int_eq(fclose(file), 0);
}

static void make_session(const char *name)
{
    char path[400];
    struct cairn_capture capture = {.message = "x"};
    snprintf(path, sizeof path, "%s/files", dir);
    good(cairn_session_start(store, name, true, NULL, &error));
    good(cairn_session_configure(store, name, "files", path, &error));
    good(cairn_session_checkpoint(store, name, &capture, NULL, &error));
    write_file("a", name[0], 3000);
    good(cairn_session_checkpoint(store, name, &capture, NULL, &error));
}

static void make_store(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[400];
    snprintf(dir, sizeof dir, "%s/check_memory.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/files", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/files/below", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    write_file("a", ' ', 2000);
    write_file("below/b", '!', 5000);
    write_file("below/large", '"', 5000000);
    snprintf(path, sizeof path, "%s/.cairn", dir);
    const struct cairn_store_options options = {.path = path, .create = true};
    good(cairn_store_open(&store, &options, &error));
    make_session("first");
    make_session("second");
}

START_TEST(every_allocation_refused)
{
    make_store();
    refuse_each(count, 1 + 2 + 3, false);
    ck_assert_uint_gt(stored, 1000);
    good(cairn_session_configure(store, "first", "size-budget", "100", &error));
    refuse_each(check_budgets, 1, true);
    good(check_budgets());
    ck_assert_int_eq(told, 1);
    cairn_store_close(store);
    remove_tree(dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("size_memory");
    TCase *tests = tcase_create("size_memory");
    tcase_add_test(tests, every_allocation_refused);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
