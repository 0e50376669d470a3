/* SPDX-License-Identifier: MIT */
/* Notes of how outputs looked: what is found again, and what damage does to it. */
#include "runs/outputs.h"

#include "base/os.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { RESULTS = 300 };
static const char path[] = "outputs.7";
static struct output_index notes;

static struct digest name_of(int i)
{
    struct digest digest;
    ck_assert_int_eq(sha256_of(&i, sizeof i, &digest, NULL), 0);
    return digest;
}

/* Of i: one file, or a file and a directory. */
static uint32_t outputs_of(int i, struct result_file out[2])
{
    out[0] = (struct result_file){.kind = 'f',
                                  .size = (uint64_t)i,
                                  .mtime_ns = 1000000000000000000 + i,
                                  .ctime_ns = 2000000000000000001 + i,
                                  .inode = 77 + (uint64_t)i};
    out[1] = (struct result_file){.kind = 'd', .seen = name_of(-i), .changed_ns = 1};
    return i % 2 ? 2 : 1;
}

static void add(int i)
{
    struct result_file outputs[2];
    struct digest name = name_of(i);
    uint32_t n = outputs_of(i, outputs);
    output_index_add(&notes, &name, outputs, n);
}

static bool is_found(int i)
{
    struct result_file outputs[2];
    struct file_sign sign, wanted;
    struct digest name = name_of(i);
    uint32_t n = outputs_of(i, outputs);
    if (!output_index_find(&notes, &name, n, n - 1, &sign))
        return false;
    wanted = output_sign(&outputs[n - 1]);
    ck_assert_mem_eq(&sign, &wanted, sizeof sign);
    ck_assert(!output_index_find(&notes, &name, n + 1, 0, &sign));
    return true;
}

static void setup(void)
{
    for (int i = 0; i < RESULTS; i++)
        add(i);
    output_index_save(&notes, path);
    output_index_release(&notes);
}

static void teardown(void)
{
    output_index_release(&notes);
}

START_TEST(what_was_saved_is_found)
{
    output_index_load(&notes, path);
    ck_assert(!notes.grown);
    for (int i = 0; i < RESULTS; i++)
        ck_assert(is_found(i));
    ck_assert(!is_found(RESULTS));
    add(RESULTS);
    ck_assert(notes.grown && is_found(RESULTS) && is_found(0));
}
END_TEST

START_TEST(the_later_entry_counts)
{
    struct result_file changed = {.kind = 'f', .size = 9, .ctime_ns = 1};
    struct file_sign sign, wanted = output_sign(&changed);
    struct output_index copy = {0};
    struct digest name = name_of(2);
    output_index_load(&notes, path);
    output_index_add(&notes, &name, &changed, 1);
    ck_assert(output_index_find(&notes, &name, 1, 0, &sign));
    ck_assert_mem_eq(&sign, &wanted, sizeof sign);
    output_index_copy(&copy, &notes, &name);
    ck_assert(output_index_find(&copy, &name, 1, 0, &sign));
    ck_assert_mem_eq(&sign, &wanted, sizeof sign);
    ck_assert_uint_eq(copy.n, 1);
    output_index_release(&copy);
}
END_TEST

static void write_bytes(const char *bytes, size_t n)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

/* Then it is as if it were not there. */
START_TEST(times_of_seconds_are_not_noted)
{
    struct result_file file = {.kind = 'f', .ctime_ns = 5000000000};
    struct file_sign sign;
    struct digest name = name_of(1);
    output_index_add(&notes, &name, &file, 1);
    ck_assert(!output_index_find(&notes, &name, 1, 0, &sign));
}
END_TEST

START_TEST(damage_empties_it)
{
    struct buf file = BUF_INIT;
    ck_assert_int_eq(os_read_file(path, 1 << 20, &file, NULL), 0);
    for (size_t at = 0; at < file.size; at += 61) {
        write_bytes(file.data, at);
        output_index_load(&notes, path);
        ck_assert(notes.n == 0 && !is_found(1));
        file.data[at] ^= 1;
        write_bytes(file.data, file.size);
        output_index_load(&notes, path);
        ck_assert(notes.n == 0 && !is_found(1));
        file.data[at] ^= 1;
    }
    write_bytes(file.data, file.size);
    output_index_load(&notes, path);
    ck_assert(is_found(1));
    buf_release(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output_index");
    TCase *tests = tcase_create("output_index");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_was_saved_is_found);
    tcase_add_test(tests, the_later_entry_counts);
    tcase_add_test(tests, damage_empties_it);
    tcase_add_test(tests, times_of_seconds_are_not_noted);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
