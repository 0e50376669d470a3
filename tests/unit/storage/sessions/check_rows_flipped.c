/* SPDX-License-Identifier: MIT */
/* One bit of a row of a session's tables is wrong, in whatever byte: nothing of that
 * row is handed out, no other row is passed over in silence, and the check of the store
 * finds it. */
#include "base/os.h"
#include "storage/health.h"
#include "storage/pages.h"
#include "storage/rows_meta.h"
#include "storage/sessions/rows_session.h"
#include "tests/support/random.h"
#include "tests/support/sessions/rows.h"
#include "tests/support/store.h"
#include "tests/support/suite.h"

enum { SESSIONS = 3, HEAD = 28, TAIL = 12 };

static void make_store(void)
{
    struct cairn_store *store = open_store();
    good(store_begin(store, -1, &error));
    for (uint64_t session = 1; session <= SESSIONS; session++)
        session_rows_put(store, session);
    good(store_set_current_session(store, 2, &error));
    good(store_commit(store, &error));
    cairn_store_close(store);
    db_settle(in_store("cairn.db"));
}

/* ---- What is asked of it, each with its answer or its error ---- */

static int ask_session(struct cairn_store *store, int about, struct buf *out)
{
    struct cairn_page page = {.all = true, .oldest_first = about % 2};
    uint64_t found = 0;
    char name[80];
    session_row_name((uint64_t)about, name);
    int rc = about == 0
                 ? store_each_session(store, &page, session_line, out, NULL, &error)
                 : store_get_session(store, (uint64_t)about, session_line, out, &error);
    if (!rc && about)
        rc = store_find_session(store, str_of(name), &found, &error);
    buf_format(out, "%d", (int)found);
    return rc;
}

static int ask(struct cairn_store *store, int what, int about, struct buf *out)
{
    uint64_t session = (uint64_t)about, turn = 0;
    int rc;
    switch (what) {
    case 0:
        return ask_session(store, about, out);
    case 1:
        return about ? store_get_branch(store, session, branch_line, out, &error)
                     : store_each_branch(store, 0, branch_line, out, &error);
    case 2:
        return store_each_branch(store, session, branch_line, out, &error);
    case 3:
        return store_each_item(store, session, item_line, out, &error);
    case 4:
        return store_each_session_log(store, session, 0, false, session_log_line, out,
                                      &error);
    case 5:
        return store_each_session_log(store, session, 5, false, session_log_line, out,
                                      &error);
    case 6:
        return store_each_session_log(store, session, UINT64_MAX, true,
                                      session_log_line, out, &error);
    case 7:
        return store_each_session_log(store, session, 5, true, session_log_line, out,
                                      &error);
    case 8:
        rc = store_last_session_turn(store, session, &turn, &error);
        break;
    default:
        rc = store_current_session(store, &turn, &error);
    }
    buf_format(out, "%d", (int)turn);
    return rc;
}
enum { QUESTIONS = 10, ANSWERS = QUESTIONS * (SESSIONS + 1) };

static struct buf right[ANSWERS];
static int codes[ANSWERS];

static void ask_all(struct cairn_store *store, struct buf *answers, int *rcs)
{
    for (int i = 0; i < ANSWERS; i++) {
        buf_clear(&answers[i]);
        rcs[i] = ask(store, i % QUESTIONS, i / QUESTIONS, &answers[i]);
    }
}

/* ---- Damage ---- */

static unsigned char *file;
static size_t file_size;

static void write_file(void)
{
    int fd = open(in_store("cairn.db"), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, file, file_size, 0), (ssize_t)file_size);
    ck_assert_int_eq(close(fd), 0);
}

static int note_bad_row(void *context, const struct bad_row *row)
{
    (void)row;
    ++*(int *)context;
    return 0;
}

static int note_naming(void *context, const char *text)
{
    (void)text;
    ++*(int *)context;
    return 0;
}

/* Whether `verify` and the doctor, which ask the same, say that it is damaged. */
static bool is_found(struct cairn_store *store)
{
    char line[100] = "";
    int bad = 0;
    if (store_verify_rows(store, note_bad_row, &bad, &error) || bad)
        return true;
    if (store_verify_naming(store, note_naming, &bad, &error) || bad)
        return true;
    return store_check_pages(store, note_line, line, &error) || line[0];
}

/* Nobody reads the type of a column whose number is the row's: SQLite does not look at
 * it, as long as it says that nothing is there. */
static bool is_unread(const struct db_cell *cell, size_t k, int bit)
{
    enum { ALSO_NOTHING = 3 };
    return cell->numbered && cell->at + k == cell->types && bit == ALSO_NOTHING;
}

static int wrong, unfound;

static void expect_named(size_t at, int bit)
{
    static struct buf answers[ANSWERS];
    int rcs[ANSWERS];
    struct cairn_store *store = NULL;
    file[at] ^= (unsigned char)(1 << bit);
    write_file();
    file[at] ^= (unsigned char)(1 << bit);
    int rc = try_open(&store, true);
    if (rc == CAIRN_EDAMAGED)
        return;
    good(rc);
    ask_all(store, answers, rcs);
    for (int i = 0; i < ANSWERS; i++) {
        bool same =
            rcs[i] == codes[i] && str_equal(buf_view(&answers[i]), buf_view(&right[i]));
        if (same || rcs[i] == CAIRN_EDAMAGED)
            continue;
        if (wrong++ < 10)
            fprintf(stderr, "byte %zu of page %zu, bit %d, question %d of %d: %d %s\n",
                    at % DB_PAGE, at / DB_PAGE + 1, bit, i % QUESTIONS, i / QUESTIONS,
                    rcs[i], rcs[i] ? error.text : answers[i].data);
    }
    if (!is_found(store) && unfound++ < 10)
        fprintf(stderr, "byte %zu of page %zu, bit %d is not found\n", at % DB_PAGE,
                at / DB_PAGE + 1, bit);
    cairn_store_close(store);
}

START_TEST(each_byte)
{
    static const char *const texts[] = {"MARK", "session2", NULL};
    static struct db_cell cells[DB_CELLS_MOST];
    bool every = help_in_full();
    struct buf bytes = BUF_INIT;
    uint64_t seed = 1;
    make_store();
    struct cairn_store *store = open_reader();
    ask_all(store, right, codes);
    ck_assert(!is_found(store));
    cairn_store_close(store);
    good(os_read_file(in_store("cairn.db"), 1 << 20, &bytes, &error));
    file = (unsigned char *)bytes.data;
    file_size = bytes.size;
    size_t n = db_cells(file, file_size, texts, cells);
    ck_assert_uint_ge(
        n, SESSIONS * (2 + 2 * SESSION_BRANCHES + SESSION_ITEMS + SESSION_LOGS) +
               1); /* with indexes of names */
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < cells[i].size; k += (size_t)help_stride()) {
            int one = (int)help_below(&seed, 8);
            if (!every && k > HEAD && k + TAIL < cells[i].size && k % 8)
                continue; /* the middle of a body is like the rest of it */
            for (int bit = 0; bit < 8; bit++)
                if ((every || bit == one) && !is_unread(&cells[i], k, bit))
                    expect_named(cells[i].at + k, bit);
        }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(unfound, 0);
    buf_release(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows_flipped");
    TCase *tests = tcase_create("rows_flipped");
    tcase_set_timeout(tests, 3600);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_byte);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
