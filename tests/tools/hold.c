/* SPDX-License-Identifier: MIT
 *
 * hold DATABASE FILE: has the write lock of a database, as a slow program would, as
 * long as FILE is there. Prints "held" once it has it. Ends without closing the
 * database: the last one to close it would transfer its log.
 *
 * hold -s OFFSET LOCK FILE: the same with a byte of a lock file, shared. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wait_until_gone(const char *file)
{
    printf("held\n");
    fflush(stdout);
    while (access(file, F_OK) == 0)
        usleep(10000);
    _exit(0);
}

static int hold_byte(const char *offset, const char *path, const char *file)
{
    struct flock byte = {.l_type = F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = strtol(offset, NULL, 10),
                         .l_len = 1};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &byte) < 0) {
        perror("hold");
        return 1;
    }
    return wait_until_gone(file);
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    if (argc == 5 && strcmp(argv[1], "-s") == 0)
        return hold_byte(argv[2], argv[3], argv[4]);
    if (argc != 3 || sqlite3_open(argv[1], &db) != SQLITE_OK)
        return 2;
    sqlite3_busy_timeout(db, 10000);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "hold: %s\n", sqlite3_errmsg(db));
        return 1;
    }
    return wait_until_gone(argv[2]);
}
