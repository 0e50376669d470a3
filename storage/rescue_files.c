/* Locks and files of a repair: what makes it safe to be cut off at any moment.
 *
 *   moment                         what stands there         what the next repair does
 *   before the note                the damaged store         all of it again
 *   note, files half moved         no store can be opened    moves the rest, goes on
 *   note, new database in place    the new store, shut       removes the note
 *   after the note                 the new store             nothing */
#include "storage/rescue_int.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char new_name[] = "repair.new";
enum { OWNER_WAIT_MS = 300, WRITERS_WAIT_MS = 5000 };

/* ---- Locks ---- */

struct live {
    int64_t workflow;
    uint64_t run;
    long long pid, since_ns;
    char host[64];
};

static int note_live(void *context, const struct salvage_row *row)
{
    struct live *live = context;
    const struct sql_value *v = row->values;
    if (v[1].integer != live->workflow || (uint64_t)v[0].integer < live->run)
        return 0;
    live->run = (uint64_t)v[0].integer;
    live->pid = v[13].integer;
    live->since_ns = v[17].integer;
    snprintf(live->host, sizeof live->host, "%.*s",
             (int)(v[15].bytes.len < 63 ? v[15].bytes.len : 63),
             v[15].bytes.len ? v[15].bytes.ptr : "");
    return 0;
}

/* Who owns it stands in a row that can still be read, or nobody knows. */
static int owned(struct rescue *rescue, int64_t offset, struct cairn_error *error)
{
    struct live live = {.workflow = offset - LOCK_WORKFLOW};
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

/* A child that a killed owner was just making holds its lock for a moment. */
static int check_owners(struct rescue *rescue, struct cairn_error *error)
{
    int64_t end = clock_mono_ns() + (int64_t)OWNER_WAIT_MS * 1000000, where = 0;
    for (;;) {
        int held = lock_held_from(&rescue->lock, LOCK_WORKFLOW, &where, error);
        if (held <= 0)
            return held;
        if (clock_mono_ns() >= end)
            return owned(rescue, where, error);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static int take_locks(struct rescue *rescue, struct cairn_error *error)
{
    int rc = check_owners(rescue, error);
    if (!rc)
        rc = lock_wait(&rescue->lock, LOCK_COMMIT, LOCK_EXCLUSIVE, WRITERS_WAIT_MS,
                       error);
    if (!rc)
        rc = lock_wait(&rescue->lock, LOCK_WRITERS, LOCK_EXCLUSIVE, WRITERS_WAIT_MS,
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

/* ---- Moving files ---- */

static char *inside(const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/%s", dir, name);
    if (!path.failed)
        return path.data;
    buf_release(&path);
    return NULL;
}

/* A file that is not there is no error. */
static int move_into(const struct rescue *rescue, const char *dir, const char *name,
                     struct cairn_error *error)
{
    char *from = inside(rescue->paths.dir, name), *to = inside(dir, name);
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

/* What a new store's directory holds beside its database. */
static void remove_new(const struct rescue *rescue)
{
    static const char *const names[] = {
        "cairn.db", "cairn.db-wal", "cairn.db-shm", "cairn.db-journal",
        "lock",     "open",         ".gitignore"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = inside(rescue->new_dir, names[i]);
        if (path)
            unlink(path);
        free(path);
    }
    char *live = inside(rescue->new_dir, "live");
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

/* From the note on; `kept` is the name of the directory that it names. */
static int go_on(const struct rescue *rescue, const char *kept,
                 struct cairn_error *error)
{
    int rc = 0;
    if (store_file(rescue->new_db, NULL, NULL, NULL) > 0) {
        char *dir = inside(rescue->paths.dir, kept);
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
        remove_new(rescue);
    return rc;
}

/* A note that cannot be read as one stops everything: only people can know. */
static int read_note(const struct rescue *rescue, char kept[64],
                     struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    int rc = os_read_file(rescue->note, 100, &text, error);
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

/* ---- The steps ---- */

/* Something else in the place of the lock file, or of the directory of live output. */
static int clear_way(struct rescue *rescue, struct cairn_error *error)
{
    const char *const names[] = {"lock", "live"};
    for (size_t i = 0; i < 2; i++) {
        struct stat st;
        char *path = inside(rescue->paths.dir, names[i]), *aside = NULL;
        int rc = path ? 0 : error_nomem(error);
        bool odd = !rc && lstat(path, &st) == 0 &&
                   (i == 0 ? !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode));
        char name[64];
        snprintf(name, sizeof name, "odd-%s-%lld", names[i],
                 (long long)(clock_utc_ns() / 1000));
        if (odd && !(aside = inside(rescue->paths.dir, name)))
            rc = error_nomem(error);
        if (aside && rename(path, aside) < 0)
            rc = error_sys(error, errno, "cannot move %s out of the way", path);
        free(path);
        free(aside);
        if (rc)
            return rc;
    }
    return 0;
}

static int find_paths(struct rescue *rescue, const char *path,
                      struct cairn_error *error)
{
    struct cairn_store_options options = {.path = path};
    int rc = store_paths_find(&rescue->paths, &options, error);
    if (rc)
        return rc;
    rescue->new_dir = inside(rescue->paths.dir, new_name);
    rescue->note = inside(rescue->paths.dir, STORE_NOTE);
    rescue->new_db = rescue->new_dir ? inside(rescue->new_dir, "cairn.db") : NULL;
    return rescue->new_db && rescue->note ? 0 : error_nomem(error);
}

int rescue_open(struct rescue **out, const char *path, char finished[64],
                struct cairn_error *error)
{
    struct rescue *rescue = calloc(1, sizeof *rescue);
    char kept[64] = "";
    if (!rescue)
        return error_nomem(error);
    rescue->lock.fd = -1;
    int rc = find_paths(rescue, path, error);
    if (!rc)
        rc = clear_way(rescue, error);
    if (!rc)
        rc = lock_open(&rescue->lock, rescue->paths.lock, error);
    if (!rc)
        rc = take_locks(rescue, error);
    if (!rc)
        rc = read_note(rescue, kept, error);
    if (!rc && kept[0])
        rc = go_on(rescue, kept, error);
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
    return store_look_at_log(&rescue->paths) == LOG_LOST;
}

void rescue_close(struct rescue *rescue)
{
    if (!rescue)
        return;
    salvage_close(&rescue->salvage);
    pages_release(&rescue->pages);
    cairn_store_close(rescue->store);
    /* While the note stands the new store is the only one that is whole. */
    if (rescue->locked && store_file(rescue->note, NULL, NULL, NULL) == 0)
        remove_new(rescue);
    lock_close(&rescue->lock);
    store_paths_release(&rescue->paths);
    free(rescue->new_dir);
    free(rescue->new_db);
    free(rescue->note);
    free(rescue);
}

int rescue_make_new(struct rescue *rescue, struct cairn_error *error)
{
    struct cairn_store_options options = {.path = rescue->new_dir, .create = true};
    remove_new(rescue);
    return store_open_at(&rescue->store, &options, STORE_DETECT, error);
}

/* Closing moves everything into the database file; its own log must be empty then. */
int rescue_finish(struct rescue *rescue, struct cairn_error *error)
{
    int64_t size = 0;
    cairn_store_close(rescue->store);
    rescue->store = NULL;
    char *wal = inside(rescue->new_dir, "cairn.db-wal");
    char *marker = inside(rescue->new_dir, "open");
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
        char *path = inside(rescue->paths.dir, kept);
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
    int rc = sync_file(rescue->new_db, error);
    if (!rc)
        rc = os_sync_dir(rescue->new_dir, error);
    if (!rc)
        rc = name_kept(rescue, kept, error);
    if (rc)
        return rc;
    snprintf(text, sizeof text, "%s\n", kept);
    rc = os_write_file(rescue->note, 0600, str_of(text), error);
    return rc ? rc : go_on(rescue, kept, error);
}
