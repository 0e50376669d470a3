/* SPDX-License-Identifier: MIT */
/* The pages of a database read from its files without SQLite: to salvage rows that
 * SQLite refuses to read, and to find out whether the write-ahead log is whole.
 *
 * SQLite itself ends the log silently at the first frame whose checksum is wrong. After
 * a crash that is right: the last transaction was not synced yet. But if transactions
 * were committed after that frame, the log was damaged, and acknowledged commits are
 * lost. */
#ifndef STORAGE_PAGES_H
#define STORAGE_PAGES_H

#include "base/str.h"
#include "storage/sqlite/direct.h"

enum { WAL_HEADER = 32, FRAME_HEADER = 24 }; /* bytes */
enum wal_state {
    WAL_NONE,   /* no frame that could hold a commit */
    WAL_WHOLE,  /* every commit in it can be read */
    WAL_TORN,   /* its last transaction is not whole: cut off by a crash, or damaged */
    WAL_DAMAGED /* a transaction is not whole, and others were committed after it */
};

struct wal_frame {
    uint32_t page;   /* number, from 1 */
    uint32_t commit; /* pages in the database after it, 0: the transaction continues */
    size_t offset;   /* of the page, in the file */
    bool whole;      /* its checksum continues the one stated in the frame before it */
    bool ours;       /* by its salts, or because it continues one of ours */
};
struct wal {
    struct buf file;
    size_t page_size;
    bool unreadable;          /* the system could not read all of it */
    bool header;              /* its header is sound */
    struct wal_frame *frames; /* of the newest generation */
    size_t n, room;
    size_t committed; /* how many of them belong to commits */
    enum wal_state state;
};
/* A file that is not there, or not a file, is WAL_NONE. */
int wal_load(struct wal *wal, const char *path, struct cairn_error *error);
void wal_release(struct wal *wal);
/* Empty, or nothing but zeros: not even the beginning of a log. */
static inline bool wal_is_blank(const struct wal *wal)
{
    return wal->state == WAL_NONE && !wal->header;
}
struct pages {
    struct buf file;
    struct wal wal;
    size_t page_size;
    size_t usable;    /* bytes of a page that SQLite uses */
    uint32_t n;       /* pages, from 1 */
    uint32_t *newest; /* per page: index of its newest frame + 1, 0: in the file */
};
/* Reads both files. A missing one is empty; blocks that cannot be read are zero. */
int pages_load(struct pages *pages, const char *database, const char *wal,
               struct cairn_error *error);
void pages_release(struct pages *pages);
/* `page_size` bytes; NULL if there is no such page. */
const uint8_t *pages_at(const struct pages *pages, uint32_t number);

#endif
