/* SPDX-License-Identifier: MIT
 *
 * sql DATABASE STATEMENT...: runs SQL on a store that nobody has open, for tests that
 * damage it or look at what no command shows. Prints rows with tabs between columns.
 * flip(blob, n) is the blob with its byte n, from 0, inverted. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static void flip(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int size = sqlite3_value_bytes(argv[0]);
    sqlite3_int64 at = sqlite3_value_int64(argv[1]);
    unsigned char *copy = sqlite3_malloc(size + 1);

    (void)argc;
    if (!copy || at < 0 || at >= size) {
        sqlite3_free(copy);
        sqlite3_result_error(context, "flip: there is no such byte", -1);
        return;
    }
    memcpy(copy, sqlite3_value_blob(argv[0]), (size_t)size);
    copy[at] ^= 0xff;
    sqlite3_result_blob(context, copy, size, sqlite3_free);
}

static int print_row(void *context, int columns, char **values, char **names)
{
    (void)context;
    (void)names;
    for (int i = 0; i < columns; i++)
        printf("%s%s", values[i] ? values[i] : "NULL", i + 1 < columns ? "\t" : "\n");
    return 0;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    char *text = NULL;
    int status = argc < 3 ? SQLITE_MISUSE : SQLITE_OK;

    if (status == SQLITE_OK)
        status = sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL);
    if (status == SQLITE_OK)
        status =
            sqlite3_create_function(db, "flip", 2, SQLITE_UTF8, NULL, flip, NULL, NULL);
    for (int i = 2; i < argc && status == SQLITE_OK; i++)
        status = sqlite3_exec(db, argv[i], print_row, NULL, &text);
    if (status != SQLITE_OK)
        fprintf(stderr, "sql: %s\n", text ? text : sqlite3_errstr(status));
    sqlite3_free(text);
    sqlite3_close(db);
    return status != SQLITE_OK;
}
