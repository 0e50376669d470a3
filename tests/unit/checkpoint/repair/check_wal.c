/* SPDX-License-Identifier: MIT */
/* Whether a write-ahead log was damaged or only cut off. */
#include "tests/support/checkpoint.h"

#include "base/os.h"
#include "storage/object.h"
#include "storage/rescue/salvage.h"
#include "storage/rows_attempt.h"
#include "storage/store.h"
#include "storage/store_int.h"

static void put_log(struct lab *lab, const char *path, const struct buf *bytes,
                    size_t flip, size_t size)
{
    struct buf copy = BUF_INIT;
    buf_add(&copy, bytes->data, size);
    if (flip < size)
        copy.data[flip] ^= 4;
    MUST(lab, os_write_file(path, 0600, buf_view(&copy), &lab->error));
    buf_release(&copy);
}

/* A log of several commits: damage before the last one is told from one cut off. */
START_TEST(logs)
{
    struct lab *lab = lab_open(100);
    struct buf bytes = BUF_INIT;
    struct wal wal;
    char path[400], other[400];
    lab_put(lab, "FDDD");
    snprintf(path, sizeof path, "%s/cairn.db-wal", lab->path);
    snprintf(other, sizeof other, "%s/other-wal", lab->path);
    MUST(lab, os_read_file(path, 1 << 24, &bytes, &lab->error));
    put_log(lab, other, &bytes, SIZE_MAX, bytes.size);
    MUST(lab, wal_load(&wal, other, &lab->error));
    ck_assert_int_eq(wal.state, WAL_WHOLE);
    ck_assert_uint_eq(wal.committed, wal.n);
    size_t n = wal.n, last = wal.n - 1, step = 24 + wal.page_size;
    while (last > 0 && wal.frames[last - 1].commit == 0)
        last--; /* the first frame of the last transaction */
    wal_release(&wal);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 32 + i * step; at < 32 + (i + 1) * step; at += 5) {
            put_log(lab, other, &bytes, at, bytes.size);
            MUST(lab, wal_load(&wal, other, &lab->error));
            size_t within = (at - 32) % step; /* from 4 on: whether it is a commit */
            bool early = within >= 4 && within < 8;
            enum wal_state wanted = i < last ? WAL_DAMAGED : WAL_TORN;
            ck_assert_msg(wal.state == wanted || (early && wal.state == WAL_DAMAGED),
                          "frame %zu of %zu, byte %zu: %d", i, n, at, wal.state);
            wal_release(&wal);
        }
    for (size_t size = 0; size <= 32 + n * step; size += 97) {
        put_log(lab, other, &bytes, SIZE_MAX, size);
        MUST(lab, wal_load(&wal, other, &lab->error));
        ck_assert_int_ne(wal.state, WAL_DAMAGED);
        wal_release(&wal);
    }
    buf_release(&bytes);
    lab_close(lab);
}
END_TEST

/* What a power cut leaves where nothing had been synced yet: room in the file, and in
 * it what the disk held there before. No commit is lost. */
START_TEST(logs_of_a_power_cut)
{
    struct lab *lab = lab_open(100);
    struct buf bytes = BUF_INIT;
    struct wal wal;
    char path[400], other[400];
    lab_put(lab, "F");
    snprintf(path, sizeof path, "%s/cairn.db-wal", lab->path);
    snprintf(other, sizeof other, "%s/other-wal", lab->path);
    MUST(lab, os_read_file(path, 1 << 24, &bytes, &lab->error));
    MUST(lab, wal_load(&wal, path, &lab->error));
    size_t frames = 0, step = 24 + wal.page_size;
    while (wal.frames[frames++].commit == 0)
        continue;
    wal_release(&wal);
    ck_assert_uint_ge(frames, 4);
    /* The first frames of the first transaction, then of the header, too. */
    for (size_t n = 1; n < frames; n++) {
        for (size_t i = 32 + (n - 1) * step; i < 32 + n * step; i++)
            bytes.data[i] = (char)lab_below(lab, 256);
        put_log(lab, other, &bytes, SIZE_MAX, 32 + frames * step);
        MUST(lab, wal_load(&wal, other, &lab->error));
        ck_assert_msg(wal.state != WAL_DAMAGED, "%zu of %zu frames", n, frames);
        wal_release(&wal);
    }
    for (size_t i = 0; i < 32 + frames * step; i++)
        bytes.data[i] = (char)lab_below(lab, 256);
    for (size_t n = 0; n <= frames; n++) {
        put_log(lab, other, &bytes, SIZE_MAX, 32 + n * step);
        MUST(lab, wal_load(&wal, other, &lab->error));
        ck_assert_msg(wal.state != WAL_DAMAGED, "noise of %zu frames", n);
        wal_release(&wal);
    }
    buf_release(&bytes);
    lab_close(lab);
}
END_TEST

/* The same where the log had begun anew: behind and between its frames are those of its
 * last use, commits among them. */
START_TEST(logs_used_again)
{
    struct lab *lab = lab_open(100);
    struct buf old = BUF_INIT, new = BUF_INIT;
    struct wal wal;
    char path[400], other[400];
    bool complete;
    snprintf(path, sizeof path, "%s/cairn.db-wal", lab->path);
    snprintf(other, sizeof other, "%s/other-wal", lab->path);
    lab_put(lab, "FDDDDDDD");
    MUST(lab, os_read_file(path, 1 << 24, &old, &lab->error));
    MUST(lab, db_transfer(lab->store->db, &complete, &lab->error));
    ck_assert(complete);
    lab_put(lab, "F");
    MUST(lab, os_read_file(path, 1 << 24, &new, &lab->error));
    MUST(lab, wal_load(&wal, path, &lab->error));
    size_t frames = wal.n, step = 24 + wal.page_size;
    ck_assert_int_eq(wal.state, WAL_WHOLE);
    ck_assert_uint_ge(frames, 4);
    ck_assert(memcmp(old.data + 16, new.data + 16, 8) != 0);
    wal_release(&wal);
    for (size_t n = 1; n < frames; n++) {
        memcpy(new.data + 32, old.data + 32, n * step);
        put_log(lab, other, &new, SIZE_MAX, new.size);
        MUST(lab, wal_load(&wal, other, &lab->error));
        ck_assert_msg(wal.state != WAL_DAMAGED, "%zu of %zu frames", n, frames);
        wal_release(&wal);
    }
    buf_release(&old);
    buf_release(&new);
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, logs);
    tcase_add_test(tests, logs_of_a_power_cut);
    tcase_add_test(tests, logs_used_again);
}

int main(void)
{
    return lab_run_suite("wal", add);
}
