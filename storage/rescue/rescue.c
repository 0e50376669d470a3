/* SPDX-License-Identifier: MIT */
/* Opening a damaged store for repair: its locks, and files that are in their place. */
#include "storage/rescue/rescue.h"
#include "storage/health.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_int.h"
#include "storage/schema.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

struct rescue {
    struct store_paths paths;
    struct lock_file lock;
    bool locked;    /* every lock is ours */
    bool has_id;    /* the store's old id was found */
    bool has_place; /* ... and its old identity (store_place.c) */
    bool strict;    /* its rows all have checksums */
    struct pages pages;
    struct salvage salvage;
    struct cairn_store *store; /* the new one, until rescue_finish */
    char *new_dir, *new_db;
    uint64_t free_bytes; /* of the disk, before the new store was made */
    char *note;          /* path of the note about a switch */
};

/* The new store's directory, inside of the old one's. */
#define RESCUE_NEW "repair.new"

enum { OWNER_WAIT_MS = 300, WRITERS_WAIT_MS = 5000 };

/* ---- Locks ---- */

struct live_owner {
    int64_t workflow;
    uint64_t run;
    long long pid, since_ns;
    char host[64];
};

static int rescue_go_on(const struct rescue *rescue, char kept[64],
                        struct cairn_error *error);
static void rescue_remove_new(const struct rescue *rescue);

static int note_live(void *context, const struct salvage_row *row)
{
    enum { RUN = 0, WORKFLOW = 1, OWNER_PID = 13, OWNER_HOST = 15, OWNER_SINCE = 17 };
    struct live_owner *live = context;
    const struct sql_value *v = row->values;
    if (v[WORKFLOW].integer != live->workflow || (uint64_t)v[RUN].integer < live->run)
        return 0;
    live->run = (uint64_t)v[RUN].integer;
    live->pid = v[OWNER_PID].integer;
    live->since_ns = v[OWNER_SINCE].integer;
    struct str host = v[OWNER_HOST].bytes;
    snprintf(live->host, sizeof live->host, "%.*s",
             (int)(host.len < 63 ? host.len : 63), host.len ? host.ptr : "");
    return 0;
}

/* Names the owner if the row of the run can still be read. */
static int refuse_live_run(struct rescue *rescue, int64_t offset,
                           struct cairn_error *error)
{
    assert(offset >= LOCK_WORKFLOW);
    struct live_owner live = {.workflow = offset - LOCK_WORKFLOW};
    struct pages pages;
    struct salvage salvage;
    if (pages_load(&pages, rescue->paths.db, rescue->paths.wal, NULL) == 0) {
        if (salvage_open(&salvage, &pages, NULL) == 0) {
            salvage_reached(&salvage, SALVAGE_RUN, note_live, &live, NULL);
            salvage_close(&salvage);
        }
        pages_release(&pages);
    }
    if (!live.run)
        return error_set(error, CAIRN_EOWNED,
                         "a run is live in the store %s: let it end, then repair",
                         rescue->paths.dir);
    return error_set(
        error, CAIRN_EOWNED,
        "run %llu is live, owned by process %lld on %s: let it end, or end "
        "it with `cairn cancel %llu`, then repair",
        (unsigned long long)live.run, live.pid, live.host,
        (unsigned long long)live.run);
}

/* A child that a killed owner had just forked holds its lock for a moment. */
static int check_owners(struct rescue *rescue, struct cairn_error *error)
{
    assert(rescue->lock.fd >= 0);
    int64_t end = clock_mono_ns() + (int64_t)OWNER_WAIT_MS * 1000000, where = 0;
    for (;;) {
        int held = lock_held_from(&rescue->lock, LOCK_WORKFLOW, &where, error);
        if (held <= 0)
            return held;
        if (clock_mono_ns() >= end)
            return refuse_live_run(rescue, where, error);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static int take_locks(struct rescue *rescue, struct cairn_error *error)
{
    assert(!rescue->locked);
    int rc = check_owners(rescue, error)
             ?: lock_wait(&rescue->lock, LOCK_COMMIT, LOCK_EXCLUSIVE, WRITERS_WAIT_MS,
                          error)
             ?: lock_wait(&rescue->lock, LOCK_WRITERS, LOCK_EXCLUSIVE, WRITERS_WAIT_MS,
                          error);
    if (rc == CAIRN_EBUSY)
        return error_set(error, CAIRN_EBUSY,
                         "another process has the store %s open for writing: let it "
                         "end, then repair",
                         rescue->paths.dir);
    if (!rc)
        rc = check_owners(rescue, error);
    rescue->locked = rc == 0;
    return rc;
}

/* ---- Opening and closing ---- */

/* Renames whatever has the name of our file or directory and is something else; the new
 * name is appended to `renamed`. */
static int put_aside(const struct rescue *rescue, const char *name, mode_t kind,
                     char renamed[RESCUE_ASIDE], struct cairn_error *error)
{
    assert(kind == S_IFREG || kind == S_IFDIR);
    int (*look)(const char *, struct stat *) = kind == S_IFDIR ? stat : lstat;
    struct stat st;
    char odd[48];
    size_t n = strlen(renamed);
    snprintf(odd, sizeof odd, "odd-%s-%lld", name, (long long)(clock_utc_ns() / 1000));
    char *path = store_path_join(rescue->paths.dir, name);
    char *aside = store_path_join(rescue->paths.dir, odd);
    int rc = path && aside ? 0 : error_nomem(error);
    bool fine = rc || lstat(path, &st) < 0 ||
                (look(path, &st) == 0 && (st.st_mode & S_IFMT) == kind);
    if (!fine && rename(path, aside) < 0)
        rc = error_sys(error, errno, "cannot move %s out of the way", path);
    else if (!fine)
        snprintf(renamed + n, RESCUE_ASIDE - n, "%s%s", n ? " " : "", odd);
    free(path);
    free(aside);
    return rc;
}

static int find_paths(struct rescue *rescue, const char *path,
                      struct cairn_error *error)
{
    assert(!rescue->new_dir);
    struct cairn_store_options options = {.path = path};
    int rc = store_paths_find(&rescue->paths, &options, error);
    if (rc)
        return rc;
    rescue->new_dir = store_path_join(rescue->paths.dir, RESCUE_NEW);
    rescue->note = store_path_join(rescue->paths.dir, STORE_NOTE);
    rescue->new_db =
        rescue->new_dir ? store_path_join(rescue->new_dir, "cairn.db") : NULL;
    return rescue->new_db && rescue->note ? 0 : error_nomem(error);
}

int rescue_open(struct rescue **out, const char *path, char finished[64],
                char aside[RESCUE_ASIDE], struct cairn_error *error)
{
    struct rescue *rescue = calloc(1, sizeof *rescue);
    char kept[64] = "";
    aside[0] = 0;
    if (!rescue)
        return error_nomem(error);
    rescue->lock.fd = -1;
    int rc = find_paths(rescue, path, error)
                 ?: put_aside(rescue, "lock", S_IFREG, aside, error);
    if (!rc)
        rc = put_aside(rescue, "live", S_IFDIR, aside, error); /* of live output */
    if (!rc)
        rc = lock_open(&rescue->lock, rescue->paths.lock, error)
             ?: take_locks(rescue, error)
             ?: rescue_go_on(rescue, kept, error);
    if (rc) {
        rescue_close(rescue);
        return rc;
    }
    if (finished)
        snprintf(finished, 64, "%s", kept);
    *out = rescue;
    return 0;
}

bool rescue_log_is_lost(const struct rescue *rescue)
{
    return store_judge_log(&rescue->paths) == LOG_LOST;
}

bool rescue_is_unmade(const struct rescue *rescue)
{
    return store_file(rescue->paths.db, NULL, NULL, NULL) > 0 ||
           store_file(rescue->paths.making, NULL, NULL, NULL) > 0;
}

void rescue_close(struct rescue *rescue)
{
    if (!rescue)
        return;
    salvage_close(&rescue->salvage);
    pages_release(&rescue->pages);
    cairn_store_close(rescue->store);
    /* While the note exists, only the new store is whole. */
    if (rescue->locked && store_file(rescue->note, NULL, NULL, NULL) == 0)
        rescue_remove_new(rescue);
    lock_close(&rescue->lock);
    store_paths_release(&rescue->paths);
    free(rescue->new_dir);
    free(rescue->new_db);
    free(rescue->note);
    free(rescue);
}

struct cairn_store *rescue_store(struct rescue *rescue)
{
    return rescue->store;
}

const char *rescue_dir(const struct rescue *rescue)
{
    assert(rescue->paths.dir);
    return rescue->paths.dir;
}

const char *rescue_new_dir(const struct rescue *rescue)
{
    assert(rescue->new_dir);
    return rescue->new_dir;
}

/* The files of a repair, which may be interrupted at any moment:
 *
 *   moment                         what is there             what the next repair does
 *   before the note                the damaged store         all of it again
 *   note, files half moved         no store can be opened    moves the rest, continues
 *   note, new database in place    the new store, shut       removes the note
 *   after the note                 the new store             nothing */

/* ---- Moving files ---- */

/* A file that is not there is no error. */
static int move_into(const struct rescue *rescue, const char *dir, const char *name,
                     struct cairn_error *error)
{
    char *from = store_path_join(rescue->paths.dir, name);
    char *to = store_path_join(dir, name);
    int rc = from && to ? 0 : error_nomem(error);
    struct stat st;
    if (!rc && lstat(from, &st) == 0 && rename(from, to) < 0)
        rc = error_sys(error, errno, "cannot move %s into %s", from, dir);
    free(from);
    free(to);
    return rc;
}

/* Everything that belongs to the damaged database; the locks stay, they are ours. */
static int move_all(const struct rescue *rescue, const char *dir,
                    struct cairn_error *error)
{
    assert(rescue->locked);
    static const char *const names[] = {"cairn.db-wal", "cairn.db-shm",
                                        "cairn.db-journal", "open", "cairn.db"};
    int rc = os_make_dir(dir, 0700, error);
    /* Before anything is in it: what is moved is nowhere else. */
    rc = rc < 0 ? rc : os_sync_dir(rescue->paths.dir, error);
    for (size_t i = 0; i < COUNT_OF(names) && !rc; i++)
        rc = move_into(rescue, dir, names[i], error);
    return rc ?: os_sync_dir(dir, error) ?: os_sync_dir(rescue->paths.dir, error);
}

/* Takes it away, with all that a new store has in it. */
static void rescue_remove_new(const struct rescue *rescue)
{
    assert(rescue->locked);
    static const char *const names[] = {
        "cairn.db", "cairn.db-wal", "cairn.db-shm", "cairn.db-journal",
        "lock",     "open",         ".gitignore",   "making"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = store_path_join(rescue->new_dir, names[i]);
        if (path)
            unlink(path);
        free(path);
    }
    char *live = store_path_join(rescue->new_dir, "live");
    if (live)
        rmdir(live);
    free(live);
    rmdir(rescue->new_dir);
}

static int remove_note(const struct rescue *rescue, struct cairn_error *error)
{
    if (unlink(rescue->note) < 0 && errno != ENOENT)
        return error_sys(error, errno, "cannot remove %s", rescue->note);
    return os_sync_dir(rescue->paths.dir, error);
}

/* What follows the note; `kept` is the directory that it names. */
static int move_on(const struct rescue *rescue, const char *kept,
                   struct cairn_error *error)
{
    assert(rescue->locked && kept[0]);
    int rc = 0;
    if (store_file(rescue->new_db, NULL, NULL, NULL) > 0) {
        char *dir = store_path_join(rescue->paths.dir, kept);
        rc = dir ? move_all(rescue, dir, error) : error_nomem(error);
        free(dir);
        if (!rc && rename(rescue->new_db, rescue->paths.db) < 0)
            rc = error_sys(error, errno, "cannot put the new database into %s",
                           rescue->paths.dir);
        if (!rc)
            rc = os_sync_dir(rescue->paths.dir, error);
    }
    if (!rc)
        rc = remove_note(rescue, error);
    if (!rc)
        rescue_remove_new(rescue);
    return rc;
}

/* A note without such a name stops the repair: only a person can know what it was. */
static int read_note(const struct rescue *rescue, char kept[64],
                     struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    int rc = os_read_plain(rescue->note, 100, &text, error);
    kept[0] = 0;
    if (!rc &&
        (text.size < 10 || text.size > 60 || memcmp(text.data, "damaged-", 8) != 0 ||
         memchr(text.data, '/', text.size)))
        rc =
            error_set(error, CAIRN_EDAMAGED,
                      "the note about an interrupted repair, %s, is damaged: it should "
                      "name a directory damaged-TIME. Write that into it, then repair",
                      rescue->note);
    if (!rc)
        snprintf(kept, 64, "%.*s", (int)strcspn(text.data, "\n"), text.data);
    buf_release(&text);
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

/* Finishes a switch that was interrupted; `kept` is "" if there was none. */
static int rescue_go_on(const struct rescue *rescue, char kept[64],
                        struct cairn_error *error)
{
    assert(rescue->locked);
    int rc = read_note(rescue, kept, error);
    return rc || !kept[0] ? rc : move_on(rescue, kept, error);
}

/* ---- The steps ---- */

/* Makes the new store's directory, in place of what an interrupted repair left. */
static int rescue_make_new(struct rescue *rescue, struct cairn_error *error)
{
    assert(!rescue->store);
    struct cairn_store_options options = {.path = rescue->new_dir, .create = true};
    struct statvfs space;
    rescue_remove_new(rescue);
    rescue->free_bytes = statvfs(rescue->paths.dir, &space)
                             ? UINT64_MAX
                             : (uint64_t)space.f_bavail * space.f_frsize;
    return store_open_at(&rescue->store, &options, STORE_DETECT, error);
}

/* Closing moves everything into the database file; its own log must be empty then. */
int rescue_finish(struct rescue *rescue, struct cairn_error *error)
{
    assert(rescue->store);
    int64_t size = 0;
    cairn_store_close(rescue->store);
    rescue->store = NULL;
    char *wal = store_path_join(rescue->new_dir, "cairn.db-wal");
    char *marker = store_path_join(rescue->new_dir, "open");
    int rc = wal && marker ? store_file(wal, NULL, &size, error) : error_nomem(error);
    if (rc > 0 && size > 0)
        rc = error_set(error, CAIRN_EIO, "cannot write the new database in %s",
                       rescue->new_dir);
    if (rc >= 0 && store_file(marker, NULL, NULL, NULL) > 0)
        rc = error_set(error, CAIRN_EIO, "the new database in %s was not closed",
                       rescue->new_dir);
    free(wal);
    free(marker);
    return rc < 0 ? rc : 0;
}

/* At most: every row is in the new database's log first, where pages that did not stay
 * in memory are more than once, and then in its file, too. */
static uint64_t needed_bytes(const struct rescue *rescue)
{
    int64_t db = 0, wal = 0;
    (void)store_file(rescue->paths.db, NULL, &db, NULL);
    (void)store_file(rescue->paths.wal, NULL, &wal, NULL);
    return 3 * ((uint64_t)db + (uint64_t)wal) + 1048576;
}

int rescue_explain(const struct rescue *rescue, int rc, struct cairn_error *error)
{
    uint64_t needed = needed_bytes(rescue), free_bytes = rescue->free_bytes;
    int sys = error ? error->sys : EIO;
    bool full = sys == ENOSPC || sys == EDQUOT || (sys == 0 && free_bytes < needed);
    if (rc != CAIRN_EIO || !full)
        return rc;
    error_set(error, rc,
              "the disk that holds %s is full: the repaired store needs up to %.1f MiB "
              "there, beside the damaged one, and %.1f MiB were free. Nothing was "
              "changed: free some space, then call `cairn doctor --repair` again",
              rescue->paths.dir, (double)needed / 1048576,
              (double)free_bytes / 1048576);
    error->sys = ENOSPC;
    return rc;
}

static int sync_file(const char *path, struct cairn_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_sys(error, errno, "cannot open %s", path);
    int rc = fsync(fd) < 0 ? error_sys(error, errno, "cannot sync %s", path) : 0;
    close(fd);
    return rc;
}

/* A name that is not taken: two repairs within a second keep both. */
static int name_kept(const struct rescue *rescue, char kept[64],
                     struct cairn_error *error)
{
    time_t now = (time_t)(clock_utc_ns() / 1000000000);
    char stamp[32] = "0";
    struct tm tm;
    if (gmtime_r(&now, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
    for (int n = 0; n < 1000; n++) {
        snprintf(kept, 64, n ? "damaged-%s-%d" : "damaged-%s", stamp, n);
        char *path = store_path_join(rescue->paths.dir, kept);
        int there = path ? store_file(path, NULL, NULL, error) : error_nomem(error);
        free(path);
        if (there <= 0)
            return there;
    }
    return error_set(error, CAIRN_ELIMIT, "too many damaged stores are kept in %s",
                     rescue->paths.dir);
}

int rescue_switch(struct rescue *rescue, char kept[64], struct cairn_error *error)
{
    char text[80];
    assert(rescue->locked && !rescue->store);
    int rc = sync_file(rescue->new_db, error)
             ?: os_sync_dir(rescue->new_dir, error)
             ?: name_kept(rescue, kept, error);
    if (rc)
        return rc;
    snprintf(text, sizeof text, "%s\n", kept);
    return os_write_file(rescue->note, 0600, str_of(text), error)
               ?: move_on(rescue, kept, error);
}

/* What the files as a whole have lost, or may have lost: nobody can say which rows. */

struct gaps {
    struct rescue *rescue;
    rescue_gap_fn *each;
    void *context;
};

static void report_gap(const struct gaps *gaps, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report_gap(const struct gaps *gaps, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gaps->each(gaps->context, text);
}

/* ---- Files ---- */

/* What is wrong with a file, or NULL. */
static const char *trouble_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return "is gone";
    return S_ISREG(st.st_mode) ? NULL : "is not a file";
}

static void report_database(const struct gaps *gaps)
{
    const char *trouble = trouble_of(gaps->rescue->paths.db);
    if (!trouble && gaps->rescue->pages.file.size == 0)
        trouble = "is empty";
    if (trouble)
        report_gap(gaps, "the database cairn.db %s: all that stood in it", trouble);
}

/* The marker exists only as long as the log holds commits. */
static void report_log(const struct gaps *gaps)
{
    const struct rescue *rescue = gaps->rescue;
    const struct wal *wal = &rescue->pages.wal;
    const char *trouble = trouble_of(rescue->paths.wal);
    size_t bad = 0;
    if (store_file(rescue->paths.marker, NULL, NULL, NULL) <= 0 ||
        ((trouble || wal_is_blank(wal)) && store_holds_last_commit(&rescue->paths)))
        return;
    if (!trouble && wal_is_blank(wal) && store_log_begun(&rescue->paths))
        trouble = "is empty";
    if (trouble)
        report_gap(
            gaps,
            "the write-ahead log cairn.db-wal %s: what was committed since the store "
            "was last closed",
            trouble);
    for (size_t i = 0; wal->state == WAL_DAMAGED && i < wal->committed; i++)
        bad += !wal->frames[i].whole;
    if (bad)
        report_gap(
            gaps,
            "%zu page%s in the write-ahead log: what was committed to %s, as far as it "
            "is not saved from what is left",
            bad, bad == 1 ? "" : "s", bad == 1 ? "it" : "them");
    else if (!trouble && store_lost_last_commit(&rescue->paths))
        report_gap(gaps,
                   "the end of the write-ahead log cairn.db-wal: the last of what "
                   "was committed since the store was last closed");
}

/* ---- Pages ---- */

/* As the newest commit states it, else the header of the database; 0: neither does. */
static uint32_t stated_pages(const struct pages *pages)
{
    assert(pages->wal.committed <= pages->wal.n);
    enum { HEADER = 100, PAGES = 28, CHANGES = 24, VALID_FOR = 92 };
    const uint8_t *first = pages_at(pages, 1);
    if (!first && pages->file.size >= HEADER)
        first = (const uint8_t *)pages->file.data;
    for (size_t i = pages->wal.committed; i-- > 0;)
        if (pages->wal.frames[i].commit)
            return pages->wal.frames[i].commit;
    bool good = first && memcmp(first, "SQLite format 3", 16) == 0 &&
                big32(first + CHANGES) == big32(first + VALID_FOR);
    return good ? big32(first + PAGES) : 0;
}

static bool is_zero(const struct pages *pages, const uint8_t *page)
{
    size_t i = 0;
    while (i < pages->page_size && page[i] == 0)
        i++;
    return i == pages->page_size;
}

static void report_pages(const struct gaps *gaps)
{
    assert(gaps->rescue->salvage.owner);
    const struct salvage *s = &gaps->rescue->salvage;
    const struct pages *pages = &gaps->rescue->pages;
    uint32_t stated = stated_pages(pages), zero = 0;
    uint32_t missing = stated > pages->n ? stated - pages->n : 0;
    for (uint32_t page = 1; page <= pages->n; page++) {
        const uint8_t *at = pages_at(pages, page);
        missing += !at;
        /* Page 1 leads to the list of free pages. */
        zero += at && s->owner[1] && s->owner[page] == 0 && is_zero(pages, at);
    }
    if (missing)
        report_gap(
            gaps, "%u of %u pages of the database, which was cut off: what stood there",
            missing, stated > pages->n ? stated : pages->n);
    if (zero)
        report_gap(
            gaps,
            "%u page%s of the database, which hold%s only zeros: what stood there",
            zero, zero == 1 ? "" : "s", zero == 1 ? "s" : "");
    if (s->bad_tables > (size_t)missing + zero)
        report_gap(
            gaps,
            "%zu damaged page%s of tables, as far as rows on them are not saved from "
            "what is left",
            s->bad_tables - missing - zero,
            s->bad_tables - missing - zero == 1 ? "" : "s");
}

/* ---- Tables ---- */

/* Where the table of tables cannot be read, rows are found by their shape. */
static void report_tables(const struct gaps *gaps)
{
    enum { USER_VERSION = 60 };
    const struct salvage *s = &gaps->rescue->salvage;
    const uint8_t *first = pages_at(&gaps->rescue->pages, 1);
    bool any = false;
    for (int i = 0; i < SALVAGE_TABLES; i++)
        any = any || s->roots[i];
    assert(!any || first); /* it leads to all of them */
    for (int i = 0; any && i < SALVAGE_TABLES; i++) {
        enum salvage_table table = (enum salvage_table)i;
        uint32_t since = (uint32_t)salvage_since(table);
        if (!s->roots[i] && (since == 1 || big32(first + USER_VERSION) >= since))
            report_gap(gaps, "the table %s: all of its rows", salvage_name(table));
    }
}

void rescue_each_gap(struct rescue *rescue, rescue_gap_fn *each, void *context)
{
    assert(each && rescue->salvage.pages);
    struct gaps gaps = {rescue, each, context};
    report_database(&gaps);
    report_log(&gaps);
    report_pages(&gaps);
    report_tables(&gaps);
}

bool rescue_has_id(const struct rescue *rescue)
{
    return rescue->has_id;
}

/* Rows from the damaged files into the new store. */

/* ---- Opening ---- */

/* What a newer release keeps here would be lost. */
static int refuse_newer(const struct rescue *rescue, struct cairn_error *error)
{
    enum { USER_VERSION = 60, APPLICATION_ID = 68 }; /* SQLite's file format, 1.3 */
    const uint8_t *first = pages_at(&rescue->pages, 1);
    if (!first)
        return 0;
    struct db_header header = {.user_version = (int32_t)big32(first + USER_VERSION),
                               .application_id = big32(first + APPLICATION_ID)};
    if (header.application_id != SCHEMA_APPLICATION_ID ||
        header.user_version <= SCHEMA_VERSION)
        return 0;
    return schema_check(&header, rescue->paths.dir, error);
}

int rescue_begin(struct rescue *rescue, struct cairn_error *error)
{
    assert(rescue->locked && !rescue->store);
    return pages_load(&rescue->pages, rescue->paths.db, rescue->paths.wal, error)
           ?: refuse_newer(rescue, error)
           ?: salvage_open(&rescue->salvage, &rescue->pages, error)
           ?: rescue_make_new(rescue, error);
}

int rescue_fill(struct rescue *rescue, struct cairn_error *error)
{
    assert(rescue->store);
    int rc = store_begin(rescue->store, -1, error)
                 ?: db_script(rescue->store->db, sql_defer_references, error);
    if (rc)
        store_abort(rescue->store);
    return rc;
}

/* ---- Checkpoints ---- */

struct record_reader {
    checkpoint_row_fn *each;
    void *context;
    size_t (*size)(void *, const char *);
};

/* As query_u8: 255 is what no such column holds. */
static uint8_t small_number(int64_t value)
{
    return value >= 0 && value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

static int give_checkpoint(void *context, const struct salvage_row *found)
{
    assert(found->table == SALVAGE_CHECKPOINT && found->n == CHECKPOINT_COLUMNS_READ);
    const struct record_reader *to = context;
    const struct sql_value *v = found->values;
    struct checkpoint_row row = {.seq = (uint64_t)v[CHECKPOINT_SEQ_AT].integer,
                                 .namespace_id =
                                     small_number(v[CHECKPOINT_NAMESPACE_AT].integer),
                                 .stream = (uint64_t)v[CHECKPOINT_STREAM_AT].integer,
                                 .parent = (uint64_t)v[CHECKPOINT_PARENT_AT].integer,
                                 .time_ns = v[CHECKPOINT_TIME_NS_AT].integer,
                                 .kind = small_number(v[CHECKPOINT_KIND_AT].integer),
                                 .record = v[CHECKPOINT_RECORD_AT].bytes,
                                 .digest = v[CHECKPOINT_DIGEST_AT].bytes};
    return to->each(to->context, &row);
}

int rescue_each_checkpoint(struct rescue *rescue, bool stray, checkpoint_row_fn *each,
                           void *context, struct cairn_error *error)
{
    assert(each);
    struct record_reader to = {each, context, NULL};
    return (stray ? salvage_stray : salvage_reached)(
        &rescue->salvage, SALVAGE_CHECKPOINT, give_checkpoint, &to, error);
}

static int give_record(void *context, struct str blob, struct str tail)
{
    const struct record_reader *to = context;
    struct checkpoint_row row = {.record = blob, .digest = tail};
    return to->each(to->context, &row);
}

static size_t record_size(void *context, const char *head)
{
    const struct record_reader *to = context;
    return to->size(to->context, head);
}

int rescue_each_record(struct rescue *rescue, struct str mark, size_t head,
                       size_t (*size)(void *, const char *), checkpoint_row_fn *each,
                       void *context, struct cairn_error *error)
{
    assert(mark.len <= head);
    struct record_reader to = {each, context, size};
    const struct salvage_blob wanted = {.table = SALVAGE_CHECKPOINT,
                                        .mark = mark,
                                        .head = head,
                                        .tail = DIGEST_SIZE,
                                        .size = record_size,
                                        .each = give_record,
                                        .context = &to};
    return salvage_blobs(&rescue->salvage, &wanted, error);
}

_Static_assert(SQL_KEEP_MESSAGE - SQL_KEEP_META == SALVAGE_TABLES - 1,
               "the statements stand in the order of the tables");

_Static_assert((int)SQL_KEEP_CHECKPOINT - (int)SQL_KEEP_META == (int)SALVAGE_CHECKPOINT,
               "the statements stand in the order of the tables");

/* 1: put, 0: there is one already. */
static int keep_row(struct rescue *rescue, enum salvage_table table,
                    const struct sql_value *values, int n, struct cairn_error *error)
{
    int64_t put;
    store_assert_writing(rescue->store);
    enum sql_id id = (enum sql_id)(SQL_KEEP_META + (int)table);
    int rc = db_get_int(rescue->store->db, id, values, (size_t)n, &put, error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc ? rc : 1;
}

int rescue_put_checkpoint(struct rescue *rescue, const struct checkpoint_row *row,
                          struct cairn_error *error)
{
    store_assert_writing(rescue->store);
    return keep_row(rescue, SALVAGE_CHECKPOINT,
                    VALUES(value_u64(row->seq), value_int(row->namespace_id),
                           value_u64(row->stream),
                           value_unless((int64_t)row->parent, 0),
                           value_int(row->time_ns), value_int(row->kind),
                           value_blob(row->record), value_blob(row->digest)),
                    error);
}

int rescue_set_parent(struct rescue *rescue, uint64_t seq, uint64_t parent,
                      struct cairn_error *error)
{
    store_assert_writing(rescue->store);
    return db_run(rescue->store->db, SQL_SET_PARENT,
                  VALUES(value_u64(seq), value_u64(parent)), error);
}

/* ---- Other rows ---- */

/* Of a tombstone, in the table, the change comes after the checksum. */
enum { TOMBSTONE_SUM_AT = 9, TOMBSTONE_CHANGE_AT };

static int sum_at(const struct salvage_row *row)
{
    return row->table == SALVAGE_TOMBSTONE ? TOMBSTONE_SUM_AT : row->n - 1;
}

/* Its id is not in the checksum. */
static void tombstone_columns(const struct salvage_row *row,
                              struct sql_value values[TOMBSTONE_SUMMED_COLUMNS])
{
    assert(row->n == TOMBSTONE_CHANGE_AT + 1);
    memcpy(values, row->values + 1, TOMBSTONE_CHANGE * sizeof *values);
    values[TOMBSTONE_CHANGE] = row->values[TOMBSTONE_CHANGE_AT];
    values[TOMBSTONE_SUM] = row->values[TOMBSTONE_SUM_AT];
}

/* 1 yes, 0 no, <0 error. What only looks like a row must have a checksum. */
static int is_sound(struct rescue *rescue, const struct salvage_row *row,
                    struct cairn_error *error)
{
    assert(row->n > 0 && row->n <= SALVAGE_COLUMNS);
    struct cairn_store *store = rescue->store;
    struct sql_value columns[TOMBSTONE_SUMMED_COLUMNS];
    bool bare = row->table != SALVAGE_OBJECT && /* which has a digest */
                row->values[sum_at(row)].kind == SQL_VALUE_NULL;
    bool unguarded = row->table == SALVAGE_WORKFLOW || row->table == SALVAGE_QUARANTINE;
    if (row->scanned && (bare || unguarded))
        return 0;
    switch (row->table) {
    case SALVAGE_META:
    case SALVAGE_RUN_GRAPH:
    case SALVAGE_ATTEMPT:
    case SALVAGE_EVENT:
        return values_sound(store->sha, row->values, (size_t)row->n, rescue->strict);
    case SALVAGE_SESSION:
    case SALVAGE_BRANCH:
    case SALVAGE_ITEM:
    case SALVAGE_SESSION_LOG:
    case SALVAGE_ANNOTATION:
    case SALVAGE_MESSAGE:
        return values_sound(store->sha, row->values, (size_t)row->n, true);
    case SALVAGE_TOMBSTONE:
        tombstone_columns(row, columns);
        return tombstone_sound(store, columns, rescue->strict);
    case SALVAGE_COMMAND:
        return command_sound(store, row->values, error);
    case SALVAGE_CLAIM:
        return claim_sound(store, row->values, error);
    case SALVAGE_OBJECT:
        return object_sound(store, row->values, error);
    default:
        return 1; /* runs are checked when they are put, workflows by their runs */
    }
}

struct filling {
    struct rescue *rescue;
    uint64_t saved;
    rescue_lost_fn *lost;
    void *context;
    bool stray;
    uint64_t left;    /* rows that the tree leads to and that were not kept */
    uint64_t waiting; /* deltas that are not sound, perhaps for want of their base */
    struct cairn_error *error;
};

/* The new store has made an id of its own. */
static int put_setting(struct rescue *rescue, const struct salvage_row *row,
                       struct cairn_error *error)
{
    assert(row->table == SALVAGE_META);
    struct cairn_store *store = rescue->store;
    bool sums = str_equal(row->values[0].bytes, STR("sums"));
    /* The new store has both, too: every row gets a checksum there, and no garbage is
     * being collected. */
    rescue->strict = rescue->strict || sums;
    if (sums || str_equal(row->values[0].bytes, STR("gc")))
        return 1;
    /* Who it is to its processes stays, too, though the new store is made elsewhere. */
    if (str_equal(row->values[0].bytes, STR(STORE_PLACE))) {
        int rc = rescue->has_place
                     ? 0
                     : store_write_summed(store, SQL_SET_META, row->values, 2, error);
        rescue->has_place = true;
        return rc ? rc : 1;
    }
    if (!str_equal(row->values[0].bytes, STR("id")))
        return keep_row(rescue, row->table, row->values, row->n, error);
    if (row->values[1].bytes.len != sizeof store->id - 1)
        return CAIRN_EDAMAGED;
    if (rescue->has_id)
        return 0;
    int rc = store_write_summed(store, SQL_SET_META, row->values, 2, error);
    if (rc)
        return rc;
    memcpy(store->id, row->values[1].bytes.ptr, sizeof store->id - 1);
    rescue->has_id = true;
    return 1;
}

static int put_run(struct rescue *rescue, const struct salvage_row *row,
                   struct cairn_error *error)
{
    assert(row->table == SALVAGE_RUN);
    int rc = keep_row(rescue, row->table, row->values, row->n, error);
    if (rc <= 0)
        return rc;
    rc = run_sound(rescue->store, (uint64_t)row->values[0].integer, error)
             ?: store_write(rescue->store, SQL_DROP_RUN, row->values, 1, error);
    return rc ? rc : CAIRN_EDAMAGED;
}

/* For a row of an older release, which had none. */
static void add_sum(struct rescue *rescue, struct salvage_row *row,
                    struct value_sum *sum)
{
    bool summed = row->table == SALVAGE_META || row->table == SALVAGE_RUN_GRAPH ||
                  row->table == SALVAGE_ATTEMPT || row->table == SALVAGE_EVENT ||
                  row->table == SALVAGE_TOMBSTONE;
    int first = row->table == SALVAGE_TOMBSTONE, last = sum_at(row);
    if (!summed || row->values[last].kind != SQL_VALUE_NULL)
        return;
    values_sum(rescue->store->sha, row->values + first, (size_t)(last - first), sum);
    row->values[last] = value_blob(value_sum_view(sum));
}

/* What is not a delta has no base; an older cairn, which mends an object, leaves it. */
static int put_object(struct rescue *rescue, struct salvage_row *row,
                      struct cairn_error *error)
{
    assert(row->table == SALVAGE_OBJECT && row->n == OBJECT_COLUMNS_READ);
    if (!codec_has_base(row->values[OBJECT_CODEC_AT].integer))
        row->values[OBJECT_BASE_AT] = value_unless(0, 0);
    return keep_row(rescue, row->table, row->values, row->n, error);
}

static int put_row(struct filling *f, const struct salvage_row *found)
{
    struct salvage_row row = *found;
    struct value_sum sum;
    int sound = is_sound(f->rescue, &row, f->error);
    if (sound <= 0)
        return sound ? sound : CAIRN_EDAMAGED;
    add_sum(f->rescue, &row, &sum);
    if (row.table == SALVAGE_META)
        return put_setting(f->rescue, &row, f->error);
    if (row.table == SALVAGE_RUN)
        return put_run(f->rescue, &row, f->error);
    if (row.table == SALVAGE_OBJECT)
        return put_object(f->rescue, &row, f->error);
    return keep_row(f->rescue, row.table, row.values, row.n, f->error);
}

/* A stray that is not sound is not a loss: it may be anything. */
static int fill_row(void *context, const struct salvage_row *row)
{
    struct filling *f = context;
    int rc = put_row(f, row);
    f->saved += rc > 0;
    f->left += rc <= 0 && !f->stray;
    f->waiting += rc == CAIRN_EDAMAGED && row->table == SALVAGE_OBJECT &&
                  codec_has_base(row->values[OBJECT_CODEC_AT].integer);
    if (rc < 0 && rc != CAIRN_EDAMAGED)
        return rc;
    if (rc <= 0 && !f->stray && f->lost)
        f->lost(f->context, row);
    return 0;
}

/* Of other tables, what cannot be read is found by what refers to it, or only shown. A
 * stray that was kept may be what should have stood there. */
static void report_unread(struct filling *f, enum salvage_table table, size_t unread,
                          uint64_t strays)
{
    const struct salvage_row nothing = {.table = table};
    if (table < SALVAGE_SESSION || !f->lost)
        return;
    for (uint64_t i = strays; i < unread; i++)
        f->lost(f->context, &nothing);
}

/* All rows of a table once. *saved: how many were put that time. */
static int fill_table(struct filling *f, enum salvage_table table, uint64_t *saved)
{
    struct salvage *salvage = &f->rescue->salvage;
    uint64_t before = f->saved;
    f->left = f->waiting = 0;
    f->stray = false;
    int rc = salvage_reached(salvage, table, fill_row, f, f->error);
    size_t unread = salvage->unread;
    uint64_t reached = f->saved;
    f->stray = true;
    if (!rc)
        rc = salvage_stray(salvage, table, fill_row, f, f->error);
    if (!rc)
        report_unread(f, table, unread, f->saved - reached);
    *saved = f->saved - before;
    return rc;
}

static int report_lost_object(void *context, const struct salvage_row *row)
{
    struct filling *f = context;
    bool there;
    int rc = db_is(f->rescue->store->db, SQL_OBJECT_ID, &row->values[OBJECT_DIGEST_AT],
                   1, &there, f->error);
    if (!rc && !there)
        f->lost(f->context, row);
    return rc;
}

/* A delta is kept once its base is there, which may be found after it: so the rows are
 * gone through again as long as that finds something, which is at most once for each
 * base of a chain. What is lost is known at the end. */
static int fill_objects(struct filling *f)
{
    rescue_lost_fn *lost = f->lost;
    uint64_t saved;
    int rc;
    f->lost = NULL;
    do
        rc = fill_table(f, SALVAGE_OBJECT, &saved);
    while (!rc && saved && f->waiting);
    f->lost = lost;
    if (rc || !lost || !f->left)
        return rc;
    return salvage_reached(&f->rescue->salvage, SALVAGE_OBJECT, report_lost_object, f,
                           f->error);
}

int rescue_table(struct rescue *rescue, enum salvage_table table, uint64_t *saved,
                 rescue_lost_fn *lost, void *context, struct cairn_error *error)
{
    assert(table != SALVAGE_CHECKPOINT && table < SALVAGE_TABLES);
    struct filling f = {
        .rescue = rescue, .lost = lost, .context = context, .error = error};
    int rc = table == SALVAGE_OBJECT ? fill_objects(&f) : fill_table(&f, table, saved);
    *saved = f.saved;
    return rc;
}
