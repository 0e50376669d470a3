/* SPDX-License-Identifier: MIT */
#include "tests/support/sessions/rows.h"

#include "storage/pages.h"

#include <check.h>
#include <sqlite3.h>
#include <stdio.h>

static struct cairn_error error;

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

/* ---- Rows ---- */

void session_row_name(uint64_t session, char name[80])
{
    snprintf(name, 80, "MARK name %d", (int)session);
}

void session_rows_put(struct cairn_store *store, uint64_t session)
{
    char name[80], body[160];
    session_row_name(session, name);
    snprintf(body, sizeof body, "%s: it takes some space on its page", name);
    struct session_row row = {.name = clean_stored(str_of(name)), .boot = STR("b")};
    good(store_put_session(store, &row, &error));
    ck_assert_uint_eq(row.session, session);
    for (size_t i = 0; i < SESSION_BRANCHES; i++) {
        struct branch_row branch = {.session = session, .name = row.name, .status = 1};
        branch.name.len -= i;
        good(store_put_branch(store, &branch, &error));
        row.branch = branch.branch;
    }
    good(store_put_session(store, &row, &error));
    for (uint32_t i = 1; i <= SESSION_ITEMS; i++) {
        struct item_row item = {.session = session,
                                .kind = (uint8_t)(1 + i % 2),
                                .n = i * i * i * i,
                                .body = str_of(body),
                                .linked = true,
                                .about = i % 3 ? i : 0,
                                .also = i % 5 ? 0 : i};
        good(store_put_item(store, &item, &error));
    }
    for (uint32_t i = 1; i <= SESSION_LOGS; i++) {
        struct session_log_row log = {.session = session,
                                      .turn = 3 + i / 3,
                                      .n = i,
                                      .verb = 1,
                                      .number = 1000 * i,
                                      .after = str_of(body)};
        good(store_put_session_log(store, &log, &error));
    }
}

/* ---- Lines ---- */

int session_line(void *context, const struct session_row *row)
{
    buf_format(context, "session %d %.*s %lld %lld %.*s %lld %d %d %d\n",
               (int)row->session, (int)row->name.len, row->name.ptr,
               (long long)row->started_ns, (long long)row->started_boot_ns,
               (int)row->boot.len, row->boot.ptr, (long long)row->ended_ns,
               (int)row->branch, (int)row->numbers.len, (int)row->settings.len);
    return 0;
}

int branch_line(void *context, const struct branch_row *row)
{
    buf_format(context, "branch %d %d %.*s %d %d %lld %d\n", (int)row->branch,
               (int)row->session, (int)row->name.len, row->name.ptr, row->status,
               (int)row->from_seq, (long long)row->started_ns, (int)row->reason.len);
    return 0;
}

int item_line(void *context, const struct item_row *row)
{
    buf_format(context, "item %d %d %u %.*s\n", (int)row->session, row->kind, row->n,
               (int)row->body.len, row->body.ptr);
    return 0;
}

int session_log_line(void *context, const struct session_log_row *row)
{
    buf_format(context, "log %d %d %u %lld %d %d %d %d %.*s\n", (int)row->session,
               (int)row->turn, row->n, (long long)row->time_ns, row->verb, row->kind,
               (int)row->number, row->before.ptr != NULL, (int)row->after.len,
               row->after.ptr ? row->after.ptr : "");
    return 0;
}

/* ---- The file ---- */

static size_t number_at(const unsigned char *at, size_t *value)
{
    size_t n = 0;
    *value = 0;
    do
        *value = *value << 7 | (at[n] & 0x7f);
    while (at[n++] & 0x80);
    return n;
}

static bool has_text(const unsigned char *at, size_t n, const char *const *texts)
{
    for (; *texts; texts++)
        if (memmem(at, n, *texts, strlen(*texts)))
            return true;
    return false;
}

/* SQLite's file format, section 1.6. */
size_t db_cells(const unsigned char *file, size_t size, const char *const *texts,
                struct db_cell cells[DB_CELLS_MOST])
{
    size_t found = 0;
    for (size_t page = DB_PAGE; page + DB_PAGE <= size; page += DB_PAGE) {
        const unsigned char *p = file + page;
        bool interior = p[0] == INDEX_INTERIOR;
        if (!interior && p[0] != INDEX_LEAF && p[0] != TABLE_LEAF)
            continue;
        for (size_t i = 0; i < big16(p + 3) && found < DB_CELLS_MOST; i++) {
            size_t at = big16(p + (interior ? 12 : 8) + 2 * i) + (interior ? 4u : 0u);
            size_t payload, rowid, n = number_at(p + at, &payload);
            struct db_cell cell = {
                .page = page, .at = page + at, .numbered = p[0] == TABLE_LEAF};
            n += cell.numbered ? number_at(p + at + n, &rowid) : 0;
            cell.size = n + payload;
            cell.types = cell.at + n + 1;
            if (at + cell.size <= DB_PAGE && has_text(p + at, cell.size, texts))
                cells[found++] = cell;
        }
    }
    return found;
}

void db_settle(const char *path)
{
    sqlite3 *handle = NULL;
    ck_assert_int_eq(sqlite3_open(path, &handle), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(handle, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
}
