/* SPDX-License-Identifier: MIT */
/* Notes of ends: what is written is read back, and a note that is torn, changed, of
 * another file, store, run or boot counts for nothing. */
#include "process/end_notes.h"

#include "base/os.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct cairn_error failure;
static struct slots owner;
static struct end_notes notes;

static struct slots make_owner(const char *store_id, uint64_t run, uint64_t salt)
{
    struct slots slots = {.run = run};
    char boot_id[37];
    os_boot_id(boot_id);
    memcpy(slots.boot_id, boot_id, sizeof boot_id);
    snprintf(slots.token, sizeof slots.token, "%s.%" PRIu64 ".%016" PRIx64, store_id,
             run, salt);
    return slots;
}

static void set_up(void)
{
    help_make_dir();
    owner = make_owner("abc", 7, 0xa1);
    ck_assert_int_eq(end_notes_create(&notes, help_dir, &owner, 4, &failure), 0);
}

static void tear_down(void)
{
    end_notes_close(&notes);
    help_remove_dir();
}

static struct end_note note_of(uint32_t task)
{
    return (struct end_note){.gen = 2,
                             .task = task,
                             .attempt = 3,
                             .slot = 1,
                             .flags = NOTE_STOPPED,
                             .exit_code = -1,
                             .signal = 15,
                             .started_ns = 1000 + task,
                             .ended_ns = 2000 + task,
                             .cpu_us = 5,
                             .values_bytes = 6,
                             .basis = 0x1122334455667788};
}

static void put(uint32_t place, uint32_t task)
{
    struct end_note note = note_of(task);
    ck_assert_int_eq(end_notes_write(&notes, place, &note), 0);
}

struct seen {
    uint32_t n;
    uint64_t tasks; /* a bit for each */
};

static int note_seen(void *context, const struct end_note *note)
{
    struct seen *seen = context;
    struct end_note wanted = note_of(note->task);
    seen->n++;
    seen->tasks |= 1ull << note->task;
    ck_assert_uint_eq(note->gen, wanted.gen);
    ck_assert_uint_eq(note->attempt, wanted.attempt);
    ck_assert_uint_eq(note->slot, wanted.slot);
    ck_assert_uint_eq(note->flags, wanted.flags);
    ck_assert_int_eq(note->exit_code, wanted.exit_code);
    ck_assert_int_eq(note->signal, wanted.signal);
    ck_assert_int_eq(note->started_ns, wanted.started_ns);
    ck_assert_int_eq(note->ended_ns, wanted.ended_ns);
    ck_assert_int_eq(note->cpu_us, wanted.cpu_us);
    ck_assert_uint_eq(note->values_bytes, wanted.values_bytes);
    ck_assert_uint_eq(note->basis, wanted.basis);
    return 0;
}

static struct end_notes_damage damage;

static struct seen read_all(const char *store_id, uint64_t run)
{
    struct seen seen = {0};
    damage = (struct end_notes_damage){0};
    ck_assert_int_eq(
        end_notes_each(help_dir, store_id, run, note_seen, &seen, &damage, &failure),
        0);
    return seen;
}

static const char file_name[] = "run-7.00000000000000a1.ends";

START_TEST(test_round_trip)
{
    ck_assert_uint_eq(read_all("abc", 7).n, 0);
    put(1, 10);
    put(3, 12);
    put(1001, 13); /* beyond what was reserved: the file grows */
    struct seen seen = read_all("abc", 7);
    ck_assert_uint_eq(seen.n, 3);
    ck_assert(seen.tasks == (1ull << 10 | 1ull << 12 | 1ull << 13));
    put(3, 14); /* the place is used again */
    seen = read_all("abc", 7);
    ck_assert(seen.tasks == (1ull << 10 | 1ull << 14 | 1ull << 13));
    ck_assert_uint_eq(damage.files + damage.notes, 0);
}
END_TEST

START_TEST(test_strangers)
{
    put(1, 10);
    ck_assert_uint_eq(read_all("abd", 7).n, 0);
    ck_assert_uint_eq(read_all("ab", 7).n, 0);
    ck_assert_uint_eq(read_all("abc", 8).n, 0);
    /* The file of run 7 under the name of another run. */
    char from[300], to[300];
    snprintf(from, sizeof from, "%s", help_path(file_name));
    snprintf(to, sizeof to, "%s", help_path("run-8.00000000000000a1.ends"));
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert_uint_eq(read_all("abc", 8).n, 0);
    ck_assert_uint_eq(read_all("abc", 7).n, 0);
}
END_TEST

START_TEST(test_other_boot)
{
    struct end_notes old;
    struct slots before = make_owner("abc", 7, 0xb2);
    before.boot_id[0] = before.boot_id[0] == '0' ? '1' : '0';
    ck_assert_int_eq(end_notes_create(&old, help_dir, &before, 1, &failure), 0);
    struct end_note note = note_of(20);
    ck_assert_int_eq(end_notes_write(&old, 1, &note), 0);
    end_notes_close(&old);
    put(1, 10);
    struct seen seen = read_all("abc", 7);
    ck_assert_uint_eq(seen.n, 1);
    ck_assert(seen.tasks == 1ull << 10);
}
END_TEST

static struct buf load_file(void)
{
    struct buf content = BUF_INIT;
    ck_assert_int_eq(os_read_file(help_path(file_name), 1 << 20, &content, &failure),
                     0);
    return content;
}

static void store_file(const char *name, const char *bytes, size_t n)
{
    int fd = open(help_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

/* Every length that a torn file could have. */
START_TEST(test_cut)
{
    put(1, 10);
    put(2, 11);
    struct buf whole = load_file();
    for (size_t n = 0; n < whole.size; n++) {
        store_file(file_name, whole.data, n);
        struct seen seen = read_all("abc", 7);
        ck_assert_uint_le(seen.n, 2);
        ck_assert_uint_eq(seen.tasks & ~(1ull << 10 | 1ull << 11), 0);
        /* 168 bytes are a header: its owner had noted nothing. */
        ck_assert(damage.files == (n > 0 && n < 256 && n != 168));
    }
    buf_release(&whole);
}
END_TEST

/* Every byte changed: then either the file or one note counts for nothing. What stands
 * between header and notes is not looked at. */
START_TEST(test_flipped)
{
    put(1, 10);
    put(2, 11);
    struct buf whole = load_file();
    size_t unread = 0, checked = 0, notes_at = whole.size - 4 * sizeof(struct end_note);
    for (size_t at = 0; at < notes_at + 2 * sizeof(struct end_note); at++) {
        whole.data[at] = (char)(whole.data[at] ^ 0x10);
        store_file(file_name, whole.data, whole.size);
        struct seen seen = read_all("abc", 7);
        if (at >= notes_at) {
            ck_assert_uint_eq(seen.n, 1);
            ck_assert_uint_eq(damage.notes, 1);
        } else if (seen.n) {
            ck_assert_uint_eq(seen.n, 2);
            unread++;
        } else {
            ck_assert_uint_eq(damage.files, 1);
            ck_assert_uint_eq(unread, 0); /* the rest is behind the checksum */
            checked++;
        }
        whole.data[at] = (char)(whole.data[at] ^ 0x10);
    }
    ck_assert_uint_gt(checked, unread);
    buf_release(&whole);
}
END_TEST

/* A note of one owner, copied into the file of another. */
START_TEST(test_copied_note)
{
    struct end_notes other;
    struct slots next = make_owner("abc", 7, 0xc3);
    put(1, 10);
    struct buf whole = load_file();
    ck_assert_int_eq(end_notes_create(&other, help_dir, &next, 1, &failure), 0);
    size_t size = sizeof(struct end_note), at = whole.size - 4 * size;
    ck_assert_int_eq(pwrite(other.fd, whole.data + at, size, (off_t)at), (ssize_t)size);
    end_notes_close(&other);
    ck_assert_uint_eq(read_all("abc", 7).n, 1);
    ck_assert_uint_eq(damage.notes, 1);
    buf_release(&whole);
}
END_TEST

START_TEST(test_no_file)
{
    struct end_note note = note_of(1);
    struct end_notes none = {.fd = -1};
    ck_assert_int_ne(end_notes_write(&none, 1, &note), 0);
    ck_assert_int_eq(mkfifo(help_path("run-7.00000000000000ff.ends"), 0600), 0);
    put(1, 10); /* a fifo is neither waited for nor believed */
    ck_assert_uint_eq(read_all("abc", 7).n, 1);
    ck_assert_uint_eq(damage.files, 1);
    ck_assert_int_eq(end_notes_create(&none, help_dir, &owner, 1, &failure), CAIRN_EIO);
    ck_assert_int_eq(none.fd, -1);
}
END_TEST

START_TEST(test_removed)
{
    struct end_notes next;
    struct slots later = make_owner("abc", 7, 0xd4);
    put(1, 10);
    ck_assert_int_eq(end_notes_create(&next, help_dir, &later, 1, &failure), 0);
    struct end_note note = note_of(11);
    ck_assert_int_eq(end_notes_write(&next, 1, &note), 0);
    ck_assert_uint_eq(read_all("abc", 7).n, 2);
    end_notes_remove_others(help_dir, &later);
    struct seen seen = read_all("abc", 7);
    ck_assert_uint_eq(seen.n, 1);
    ck_assert(seen.tasks == 1ull << 11);
    end_notes_close(&next);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("end notes");
    TCase *tests = tcase_create("end notes");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_strangers);
    tcase_add_test(tests, test_other_boot);
    tcase_add_test(tests, test_cut);
    tcase_add_test(tests, test_flipped);
    tcase_add_test(tests, test_copied_note);
    tcase_add_test(tests, test_no_file);
    tcase_add_test(tests, test_removed);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
