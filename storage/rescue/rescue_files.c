/* SPDX-License-Identifier: MIT */
/* The files of a repair, which may be interrupted at any moment:
 *
 *   moment                         what is there             what the next repair does
 *   before the note                the damaged store         all of it again
 *   note, files half moved         no store can be opened    moves the rest, continues
 *   note, new database in place    the new store, shut       removes the note
 *   after the note                 the new store             nothing */
#include "storage/rescue/rescue_int.h"

#include "base/clock.h"
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
    rc = rc > 0 ? 0 : rc;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !rc; i++)
        rc = move_into(rescue, dir, names[i], error);
    if (!rc)
        rc = os_sync_dir(dir, error);
    return rc ? rc : os_sync_dir(rescue->paths.dir, error);
}

void rescue_remove_new(const struct rescue *rescue)
{
    assert(rescue->locked);
    static const char *const names[] = {
        "cairn.db", "cairn.db-wal", "cairn.db-shm", "cairn.db-journal",
        "lock",     "open",         ".gitignore"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
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

int rescue_go_on(const struct rescue *rescue, char kept[64], struct cairn_error *error)
{
    assert(rescue->locked);
    int rc = read_note(rescue, kept, error);
    return rc || !kept[0] ? rc : move_on(rescue, kept, error);
}

/* ---- The steps ---- */

int rescue_make_new(struct rescue *rescue, struct cairn_error *error)
{
    assert(!rescue->store);
    struct cairn_store_options options = {.path = rescue->new_dir, .create = true};
    rescue_remove_new(rescue);
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
    int rc = sync_file(rescue->new_db, error);
    if (!rc)
        rc = os_sync_dir(rescue->new_dir, error);
    if (!rc)
        rc = name_kept(rescue, kept, error);
    if (rc)
        return rc;
    snprintf(text, sizeof text, "%s\n", kept);
    rc = os_write_file(rescue->note, 0600, str_of(text), error);
    return rc ? rc : move_on(rescue, kept, error);
}
