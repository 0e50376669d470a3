/* SPDX-License-Identifier: MIT */
/* Rows read without SQLite are those that SQLite reads. */
#include "tests/support/checkpoint.h"

#include "base/os.h"
#include "storage/object.h"
#include "storage/rescue/salvage.h"
#include "storage/rows_attempt.h"
#include "storage/store.h"
#include "storage/store_int.h"

struct reading {
    struct lab *lab;
    uint64_t rows, seqs;
};

static int count_row(void *context, const struct salvage_row *row)
{
    struct reading *reading = context;
    reading->rows++;
    reading->seqs += (uint64_t)row->values[0].integer;
    return 0;
}

/* Through thousands of rows, inner pages and chains of overflow pages: the rows read
 * without SQLite are those that it reads, whole. */
START_TEST(same_rows)
{
    static char big[30000];
    struct lab *lab = lab_open(90);
    struct pages pages;
    struct salvage salvage;
    struct reading reading = {.lab = lab};
    struct digest digest;
    char path[400], wal[400];
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    for (uint32_t i = 1; i <= 3000; i++) {
        struct attempt_row row = {.run = 1,
                                  .gen = 1,
                                  .task = i,
                                  .number = 1,
                                  .exit_code = -1,
                                  .intent_ns = i};
        MUST(lab, store_put_attempt(lab->store, &row, &lab->error));
    }
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)lab_below(lab, 256);
    for (size_t size = 1; size < sizeof big; size = size * 3 / 2 + 1)
        MUST(lab, store_put_object(lab->store, (struct str){big, size}, &digest,
                                   &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    snprintf(wal, sizeof wal, "%s/cairn.db-wal", lab->path);
    cairn_store_close(lab->store);
    MUST(lab, pages_load(&pages, path, wal, &lab->error));
    MUST(lab, salvage_open(&salvage, &pages, &lab->error));
    ck_assert_uint_eq(salvage.bad_pages, 0);
    for (int i = 0; i < SALVAGE_TABLES; i++)
        ck_assert_uint_ne(salvage.roots[i], 0);
    MUST(lab,
         salvage_reached(&salvage, SALVAGE_ATTEMPT, count_row, &reading, &lab->error));
    ck_assert_uint_eq(reading.rows, 3000);
    reading = (struct reading){.lab = lab};
    MUST(lab,
         salvage_reached(&salvage, SALVAGE_OBJECT, count_row, &reading, &lab->error));
    ck_assert_uint_ge(reading.rows, 20);
    salvage_close(&salvage);
    pages_release(&pages);
    lab_store(lab);
    lab_close(lab);
}
END_TEST

/* Each page leads to the next, and the last one into the middle. */
static void make_circle(const struct pages *pages, uint32_t first, uint32_t back)
{
    for (uint32_t page = first; page <= pages->n; page++) {
        uint32_t next = page < pages->n ? page + 1 : back;
        uint8_t *at = (uint8_t *)(uintptr_t)pages_at(pages, page);
        for (int i = 0; i < 4; i++)
            at[i] = (uint8_t)(next >> (24 - 8 * i));
    }
}

/* However long it is said to be, a chain that comes back to a page is none. */
START_TEST(circles_of_pages)
{
    struct lab *lab = lab_open(91);
    struct pages pages;
    struct salvage salvage;
    char path[400], wal[400];
    lab_put(lab, "FDDDDDDDDD");
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    snprintf(wal, sizeof wal, "%s/cairn.db-wal", lab->path);
    cairn_store_close(lab->store);
    MUST(lab, pages_load(&pages, path, wal, &lab->error));
    ck_assert_uint_gt(pages.n, 12);
    MUST(lab, salvage_open(&salvage, &pages, &lab->error));
    uint32_t first = pages.n - 9;
    size_t step = pages.usable - 4;
    make_circle(&pages, first, 0);
    salvage.left = 100 * step;
    ck_assert(salvage_join(&salvage, STR(""), first, 10 * step));
    ck_assert_uint_eq(salvage.left, 90 * step);
    ck_assert(!salvage_join(&salvage, STR(""), first, 11 * step));
    for (uint32_t back = first; back <= pages.n; back++) {
        make_circle(&pages, first, back);
        salvage.left = 1000 * step;
        ck_assert(!salvage_join(&salvage, STR(""), first, 900 * step));
        ck_assert_uint_gt(salvage.left, 950 * step);
    }
    salvage.left = 2 * step;
    ck_assert(!salvage_join(&salvage, STR(""), first, 3 * step));
    salvage_close(&salvage);
    pages_release(&pages);
    lab_store(lab);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, circles_of_pages);
    tcase_add_test(tests, same_rows);
}

int main(void)
{
    return lab_run_suite("salvage", add);
}
