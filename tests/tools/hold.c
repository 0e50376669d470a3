/* SPDX-License-Identifier: MIT
 *
 * hold DATABASE FILE: has the write lock of a database, as a slow program would, as
 * long as FILE is there. Prints "held" once it has it. Ends without closing the
 * database: the last one to close it would transfer its log. */
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    if (argc != 3 || sqlite3_open(argv[1], &db) != SQLITE_OK)
        return 2;
    sqlite3_busy_timeout(db, 10000);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "hold: %s\n", sqlite3_errmsg(db));
        return 1;
    }
    printf("held\n");
    fflush(stdout);
    while (access(argv[2], F_OK) == 0)
        usleep(10000);
    _exit(0);
}
