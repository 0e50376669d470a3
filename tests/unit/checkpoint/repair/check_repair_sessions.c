/* SPDX-License-Identifier: MIT */
/* Repairing a store in which rows of debugging sessions are damaged: the others are all
 * kept, and what is lost is named. */
#include "base/os.h"
#include "checkpoint/repair/repair.h"
#include "storage/rows_event.h"
#include "storage/sessions/rows_session.h"
#include "tests/support/checkpoint.h"
#include "tests/support/random.h"
#include "tests/support/sessions/rows.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- Repairing ---- */

static char losses[4000];
static int n_losses;

static int note_loss(void *context, const struct cairn_loss *loss)
{
    size_t n = strlen(losses);
    (void)context;
    n_losses++;
    snprintf(losses + n, sizeof losses - n, "%s; ", loss->text);
    return 0;
}

static int no_definition(struct cairn_store *store, const struct digest *graph,
                         struct run_row *row, struct arena *arena,
                         struct cairn_error *error)
{
    (void)store, (void)graph, (void)row, (void)arena;
    return error_set(error, CAIRN_ENOTFOUND, "there are no definitions here");
}

static bool repair(struct lab *lab)
{
    struct cairn_repair_result result = {0};
    struct repair_options options = {.path = lab->path,
                                     .describe = no_definition,
                                     .kinds = &payload_kinds,
                                     .each = note_loss};
    losses[0] = 0;
    n_losses = 0;
    cairn_store_close(lab->store);
    lab->store = NULL;
    MUST(lab, checkpoint_repair(&options, &result, &lab->error));
    lab_store(lab);
    return result.repaired;
}

/* ---- Rows as lines ---- */

enum { SESSIONS = 3 };

static bool is_made(struct str name)
{
    static const char made[] = "recovered";
    return name.len >= sizeof made - 1 && memcmp(name.ptr, made, sizeof made - 1) == 0;
}

/* But those that the repair has made. */
static int add_session(void *context, const struct session_row *row)
{
    return is_made(clean_str(row->name)) ? 0 : session_line(context, row);
}

static int add_branch(void *context, const struct branch_row *row)
{
    return is_made(clean_str(row->name)) ? 0 : branch_line(context, row);
}

/* All of all sessions. */
static void list_rows(struct lab *lab, struct buf *lines)
{
    const struct cairn_page all = {.all = true, .oldest_first = true};
    uint64_t current = 0;
    buf_clear(lines);
    MUST(lab,
         store_each_session(lab->store, &all, add_session, lines, NULL, &lab->error));
    MUST(lab, store_each_branch(lab->store, 0, add_branch, lines, &lab->error));
    for (uint64_t session = 1; session <= SESSIONS; session++) {
        MUST(lab, store_each_item(lab->store, session, item_line, lines, &lab->error));
        MUST(lab, store_each_session_log(lab->store, session, 0, false,
                                         session_log_line, lines, &lab->error));
    }
    MUST(lab, store_current_session(lab->store, &current, &lab->error));
    buf_format(lines, "current %d\n", (int)current);
}

static struct lab *open_lab(uint64_t seed)
{
    struct lab *lab = lab_open(seed);
    lab_put(lab, "FD");
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    for (uint64_t session = 1; session <= SESSIONS; session++)
        session_rows_put(lab->store, session);
    MUST(lab, store_set_current_session(lab->store, 2, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return lab;
}

/* How many of the lines are not there any more; every other one must have been there.
 */
static int count_missing(const struct buf *before, const struct buf *after)
{
    int missing = 0;
    const char *at = after->data;
    for (const char *line = before->data; *line;) {
        size_t n = (size_t)(strchr(line, '\n') + 1 - line);
        bool there = strncmp(at, line, n) == 0;
        missing += !there;
        at += there ? n : 0;
        line += n;
    }
    ck_assert_msg(!*at, "more than there was: %s", at);
    return missing;
}

/* ---- Tests ---- */

static const struct {
    const char *sql, *loss;
    int missing;
} damage[] = {
    {"UPDATE session SET numbers = x'01' WHERE session = 2", "the row of session 2; ",
     1},
    {"UPDATE branch SET status = 9 WHERE branch = 3",
     "the row of branch 3 of session 2; ", 1},
    {"UPDATE item SET body = x'00' WHERE session = 3 AND n = 81",
     "the item of session 3, kind 2, number 81; ", 1},
    {"UPDATE item SET sum = x'0000000000000000' WHERE session = 1 AND kind = 1",
     "the item of session 1, kind 1, number 16; ", 7},
    {"UPDATE session_log SET before = x'01' WHERE session = 1 AND n = 5",
     "the log of session 1, turn 4, number 5; ", 1},
    {"UPDATE session_log SET session = 2 WHERE session = 1 AND n = 5",
     "the log of session 2, turn 4, number 5; ", 1},
    {"UPDATE meta SET value = '3' WHERE key = 'session'", "a row of the table meta; ",
     1},
};

START_TEST(damaged_row)
{
    struct lab *lab = open_lab(3);
    struct buf before = BUF_INIT, after = BUF_INIT;
    list_rows(lab, &before);
    if (_i == 5) /* where that row stands there is none of its key; it is missed, too */
        lab_sql(lab, "DELETE FROM session_log WHERE session = 2 AND n = %llu", 5);
    lab_sql(lab, damage[_i].sql, 0);
    ck_assert(repair(lab));
    ck_assert_msg(strstr(losses, damage[_i].loss) != NULL, "%s", losses);
    ck_assert_int_eq(n_losses,
                     damage[_i].missing + (_i == 0) /* and the name */ + (_i == 5));
    list_rows(lab, &after);
    if (_i == 6) {
        ck_assert_ptr_nonnull(strstr(after.data, "current 0\n"));
        after.data[after.size - sizeof "current 0"] = 0;
    }
    ck_assert_int_eq(count_missing(&before, &after), damage[_i].missing + (_i == 5));
    ck_assert(!repair(lab));
    lab_close(lab);
    buf_release(&before);
    buf_release(&after);
}
END_TEST

static int check_made(void *context, const struct session_row *row)
{
    const char *name = context;
    ck_assert(str_equal(clean_str(row->name), str_of(name)));
    ck_assert_uint_eq(row->branch, 4);
    ck_assert_int_eq(row->started_ns, 0);
    ck_assert_uint_eq(row->numbers.len + row->settings.len + row->boot.len, 0);
    return 0;
}

static int note_problem(void *context, const struct cairn_finding *finding)
{
    if (finding->health == CAIRN_HEALTH_BAD)
        snprintf(context, 300, "%s", finding->text);
    return 0;
}

/* What is left of a session can be found again, by a name that no other has. */
START_TEST(lost_session)
{
    struct lab *lab = open_lab(7);
    struct buf before = BUF_INIT, after = BUF_INIT;
    char found[300] = "", made[] = "recovered-2", other[] = "recovered-2-2";
    struct doctor_options doctor = {.path = lab->path,
                                    .kinds = &payload_kinds,
                                    .each = note_problem,
                                    .context = found};
    list_rows(lab, &before);
    struct session_row taken = {.name = clean_stored(str_of(made))};
    if (_i) {
        MUST(lab, store_begin(lab->store, -1, &lab->error));
        MUST(lab, store_put_session(lab->store, &taken, &lab->error));
        MUST(lab, store_commit(lab->store, &lab->error));
    }
    lab_sql(lab, "DELETE FROM session WHERE session = 2", 0);
    ck_assert_int_eq(checkpoint_doctor(&doctor, &lab->error), CAIRN_EDAMAGED);
    ck_assert_str_eq(found, "the row of session 2 is missing: other rows name it");
    ck_assert(repair(lab));
    ck_assert_int_eq(n_losses, 1);
    ck_assert_ptr_nonnull(strstr(losses, _i ? other : made));
    MUST(lab,
         store_get_session(lab->store, 2, check_made, _i ? other : made, &lab->error));
    list_rows(lab, &after);
    ck_assert_int_eq(count_missing(&before, &after), 1);
    ck_assert(!repair(lab));
    lab_close(lab);
    buf_release(&before);
    buf_release(&after);
}
END_TEST

static unsigned char *file;
static size_t file_size;

static void write_file(struct lab *lab)
{
    char path[400];
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    int fd = open(path, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write(fd, file, file_size), (ssize_t)file_size);
    ck_assert_int_eq(close(fd), 0);
}

/* The database as one file, to be damaged and put back. */
static void read_file(struct lab *lab, struct buf *bytes)
{
    char path[400];
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    cairn_store_close(lab->store);
    lab->store = NULL;
    db_settle(path);
    MUST(lab, os_read_file(path, 1 << 20, bytes, &lab->error));
    file = (unsigned char *)bytes->data;
    file_size = bytes->size;
}

static int count_event(void *context, const struct event_row *row)
{
    ck_assert_uint_eq(row->kind, EVENT_COMMAND);
    ++*(int *)context;
    return 0;
}

static const char *const marks[] = {"MARK", NULL};
static struct db_cell cells[DB_CELLS_MOST];

/* Any bit of any row: that row is lost at most, and if it is, that is said. */
START_TEST(flipped_bit)
{
    bool every = help_in_full();
    struct lab *lab = open_lab(4);
    struct buf before = BUF_INIT, after = BUF_INIT, bytes = BUF_INIT;
    uint64_t seed = (uint64_t)_i + 1;
    list_rows(lab, &before);
    read_file(lab, &bytes);
    size_t n = db_cells(file, file_size, marks, cells);
    for (size_t i = (size_t)_i; i < n; i += every ? 4 : 52)
        for (size_t k = 0; k < cells[i].size;
             k += every ? 1 : (size_t)help_stride() + help_below(&seed, 6)) {
            size_t at = cells[i].at + k;
            unsigned char bit = (unsigned char)(1 << help_below(&seed, 8));
            file[at] ^= bit;
            write_file(lab);
            file[at] ^= bit;
            repair(lab);
            list_rows(lab, &after);
            int missing = count_missing(&before, &after);
            ck_assert_msg(missing <= 1 && n_losses >= missing,
                          "byte %d of %d in the row at %d, bit %x: %d rows, said: %s",
                          (int)k, (int)cells[i].size, (int)cells[i].at, bit, missing,
                          losses);
        }
    lab_close(lab);
    buf_release(&before);
    buf_release(&after);
    buf_release(&bytes);
}
END_TEST

/* Pages with rows, one after the other: 0 all of it is something else, 1 only what says
 * where its rows are. */
START_TEST(damaged_page)
{
    enum { HEADER = 8 };
    struct lab *lab = open_lab(5);
    struct buf before = BUF_INIT, after = BUF_INIT, bytes = BUF_INIT;
    unsigned char kept[DB_PAGE];
    list_rows(lab, &before);
    read_file(lab, &bytes);
    size_t n = db_cells(file, file_size, marks, cells), pages = 0;
    for (size_t i = 0, next; i < n; i = next) {
        unsigned char *page = file + cells[i].page;
        for (next = i; next < n && cells[next].page == cells[i].page;)
            next++;
        memcpy(kept, page, DB_PAGE);
        memset(page, 0x5a, _i ? HEADER : DB_PAGE);
        write_file(lab);
        memcpy(page, kept, DB_PAGE);
        ck_assert(repair(lab));
        list_rows(lab, &after);
        int missing = count_missing(&before, &after), most = _i ? 0 : (int)(next - i);
        ck_assert_msg(missing <= most && (!missing || n_losses),
                      "page %d: %d rows of %d, said: %s",
                      (int)(cells[i].page / DB_PAGE) + 1, missing, most, losses);
        pages++;
    }
    ck_assert_uint_ge(pages, 8);
    lab_close(lab);
    buf_release(&before);
    buf_release(&after);
    buf_release(&bytes);
}
END_TEST

/* Where nothing says any more which page is of which table, an event looks like a row
 * of a log, and the other way round. */
START_TEST(damaged_schema)
{
    struct lab *lab = open_lab(8);
    struct buf before = BUF_INIT, after = BUF_INIT, bytes = BUF_INIT;
    struct event_row event = {.run = 1,
                              .turn = 1,
                              .kind = EVENT_COMMAND,
                              .argument = 1,
                              .gen = 1,
                              .task = UINT32_MAX,
                              .data = STR("x")};
    int events = 0;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_event(lab->store, &event, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    list_rows(lab, &before);
    read_file(lab, &bytes);
    memset(file, 0x5a, DB_PAGE);
    write_file(lab);
    ck_assert(repair(lab));
    list_rows(lab, &after);
    ck_assert_int_eq(count_missing(&before, &after), 0);
    for (uint64_t run = 1; run <= SESSIONS; run++)
        MUST(lab,
             store_each_event(lab->store, run, 0, count_event, &events, &lab->error));
    ck_assert_int_eq(events, 1);
    lab_close(lab);
    buf_release(&before);
    buf_release(&after);
    buf_release(&bytes);
}
END_TEST

/* What was dropped or replaced does not come back from the rest of a page. */
START_TEST(old_rows_stay_away)
{
    struct lab *lab = open_lab(6);
    struct buf before = BUF_INIT, after = BUF_INIT;
    char body[600];
    memset(body, 'b', sizeof body);
    for (uint32_t i = 0; i < 1500; i++) {
        uint32_t n = lab_below(lab, 60);
        struct item_row row = {.session = 1 + i % 3,
                               .kind = 9,
                               .n = n,
                               .body = {body, lab_below(lab, 600)}};
        MUST(lab, store_begin(lab->store, -1, &lab->error));
        if (lab_below(lab, 3))
            MUST(lab, store_put_item(lab->store, &row, &lab->error));
        else
            MUST(lab, store_drop_item(lab->store, row.session, 9, n, &lab->error));
        MUST(lab, store_commit(lab->store, &lab->error));
    }
    list_rows(lab, &before);
    lab_sql(lab, "UPDATE item SET sum = x'00' WHERE kind = 9 AND n %% 3 = 0", 0);
    ck_assert(repair(lab));
    list_rows(lab, &after);
    ck_assert_int_eq(count_missing(&before, &after), n_losses);
    lab_close(lab);
    buf_release(&before);
    buf_release(&after);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_loop_test(tests, damaged_row, 0, sizeof damage / sizeof damage[0]);
    tcase_add_loop_test(tests, lost_session, 0, 2);
    tcase_add_loop_test(tests, flipped_bit, 0, 4);
    tcase_add_loop_test(tests, damaged_page, 0, 2);
    tcase_add_test(tests, damaged_schema);
    tcase_add_test(tests, old_rows_stay_away);
}

int main(void)
{
    return lab_run_suite("repair_sessions", add);
}
