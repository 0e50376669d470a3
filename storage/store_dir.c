/* The `.cairn` directory: finding it, making it, and reading from the presence of its
 * files what happened to it. SQLite's files are looked at by stat() only: opening and
 * closing one here would drop the locks that SQLite holds on it in this process. */
#include "storage/pages.h"
#include "storage/store_int.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char dir_name[] = ".cairn";

int store_file(const char *path, uint64_t *inode, int64_t *size,
               struct cairn_error *error)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return 0;
        return error_sys(error, errno, "cannot look at %s", path);
    }
    if (inode)
        *inode = st.st_ino;
    if (size)
        *size = st.st_size;
    return 1;
}

static char *join(const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    buf_text(&path, dir);
    if (path.size == 0 || path.data[path.size - 1] != '/')
        buf_byte(&path, '/');
    buf_text(&path, name);
    if (path.failed) {
        buf_release(&path);
        return NULL;
    }
    return path.data;
}

/* A directory called .cairn counts as a store if anything of a store is in it, a
 * damaged one included: one without its database must be found to be complained of. */
static int holds_store(const char *dir, struct cairn_error *error)
{
    static const char *const names[] = {"cairn.db", "lock", "open"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = join(dir, names[i]);
        if (!path)
            return error_nomem(error);
        int rc = store_file(path, NULL, NULL, error);
        free(path);
        if (rc)
            return rc;
    }
    return 0;
}

/* Looks for a store in `from` and upward; *found NULL if there is none. Shortens
 * `from`. */
static int find_upward(char *from, char **found, struct cairn_error *error)
{
    *found = NULL;
    for (;;) {
        char *dir = join(from, dir_name);
        if (!dir)
            return error_nomem(error);
        int rc = holds_store(dir, error);
        if (rc > 0) {
            *found = dir;
            return 0;
        }
        free(dir);
        if (rc < 0)
            return rc;
        char *slash = strrchr(from, '/');
        if (!slash || from[1] == 0)
            return 0;
        slash[slash == from] = 0;
    }
}

/* What is found on the way up is only used if it is the user's own: whoever can write
 * to a directory above could put a store there, and a run names the file that `resume`
 * runs. Naming a store says that it is trusted. */
static int check_found(const char *dir, struct cairn_error *error)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return error_sys(error, errno, "cannot look at %s", dir);
    if (st.st_uid == geteuid())
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "the store %s belongs to another user (uid %ld): if you trust it, "
                     "name it with --store or CAIRN_STORE; if not, name another one",
                     dir, (long)st.st_uid);
}

static int default_dir(bool create, char **dir, struct cairn_error *error)
{
    char *here = getcwd(NULL, 0);
    if (!here)
        return error_sys(error, errno, "cannot tell the current directory");
    char *from = strdup(here);
    int rc = from ? find_upward(from, dir, error) : error_nomem(error);
    if (!rc && *dir)
        rc = check_found(*dir, error);
    if (rc) {
        free(*dir);
        *dir = NULL;
    }
    if (!rc && !*dir && !create)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "there is no store: no .cairn directory in %s or above; `cairn "
                       "init` or `cairn run` makes one",
                       here);
    else if (!rc && !*dir && !(*dir = join(here, dir_name)))
        rc = error_nomem(error);
    free(from);
    free(here);
    return rc;
}

static int fill_paths(struct store_paths *paths, const char *dir,
                      struct cairn_error *error)
{
    char *absolute = realpath(dir, NULL);
    if (!absolute)
        return error_sys(error, errno, "cannot resolve %s", dir);
    paths->dir = absolute;
    paths->db = join(absolute, "cairn.db");
    paths->wal = join(absolute, "cairn.db-wal");
    paths->journal = join(absolute, "cairn.db-journal");
    paths->lock = join(absolute, "lock");
    paths->marker = join(absolute, "open");
    paths->live = join(absolute, "live");
    paths->ignore = join(absolute, ".gitignore");
    if (paths->db && paths->wal && paths->journal && paths->lock && paths->marker &&
        paths->live && paths->ignore)
        return 0;
    store_paths_release(paths);
    return error_nomem(error);
}

int store_paths_find(struct store_paths *paths,
                     const struct cairn_store_options *options,
                     struct cairn_error *error)
{
    bool create = options->create && !options->read_only;
    char *dir = NULL;
    int rc = 0;
    if (!options->path)
        rc = default_dir(create, &dir, error);
    else if (!(dir = strdup(options->path)))
        rc = error_nomem(error);
    if (!rc && create) {
        rc = os_make_dir(dir, 0700, error);
        rc = rc > 0 ? 0 : rc;
    }
    if (!rc && !create) {
        rc = store_file(dir, NULL, NULL, error);
        if (rc == 0)
            rc = error_set(error, CAIRN_ENOTFOUND, "there is no store %s", dir);
        rc = rc > 0 ? 0 : rc;
    }
    if (!rc)
        rc = fill_paths(paths, dir, error);
    free(dir);
    return rc;
}

void store_paths_release(struct store_paths *paths)
{
    free(paths->dir);
    free(paths->db);
    free(paths->wal);
    free(paths->journal);
    free(paths->lock);
    free(paths->marker);
    free(paths->live);
    free(paths->ignore);
    *paths = (struct store_paths){0};
}

/* Whether the making of a store leaves such a name behind when it is interrupted. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {".",    "..",   "lock",
                                        "live", "open", ".gitignore"};
    static const char *const starts[] = {"cairn.db", ".gitignore.tmp.", "open.tmp."};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

int store_dir_vacant(const struct store_paths *paths, struct cairn_error *error)
{
    const struct dirent *entry;
    int rc = 0;
    DIR *dir = opendir(paths->dir);
    if (!dir)
        return error_sys(error, errno, "cannot look into %s", paths->dir);
    while (!rc && (errno = 0, entry = readdir(dir)))
        if (!is_ours(entry->d_name))
            rc = error_set(error, CAIRN_EUSAGE,
                           "the directory %s holds other files (such as %.100s) and no "
                           "store: give the store a directory of its own, such as "
                           "--store .cairn",
                           paths->dir, entry->d_name);
    if (!rc && errno)
        rc = error_sys(error, errno, "cannot look into %s", paths->dir);
    closedir(dir);
    return rc;
}

int store_dir_furnish(const struct store_paths *paths, bool making,
                      struct cairn_error *error)
{
    int rc = making ? store_file(paths->ignore, NULL, NULL, error) : 1;
    if (rc == 0)
        rc = os_write_file(paths->ignore, 0600, STR("*\n"), error);
    if (rc < 0)
        return rc;
    rc = os_make_dir(paths->live, 0700, error);
    return rc < 0 ? rc : 0;
}

static int lost(const struct store_paths *paths, const char *what,
                struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "commits were lost: %s\n"
                     "The store %s was not closed by its last writer, so what it had "
                     "committed stood there. Put the file back from where it went; or "
                     "remove %s to go on with what is left, and run `cairn checkpoint "
                     "verify`; or let `cairn doctor --repair` save all that can be "
                     "read",
                     what, paths->dir, paths->marker);
}

/* A pipe in the place of a file would hold up whoever opens it, and a symbolic link
 * lead somewhere else. */
static int check_kinds(const struct store_paths *paths, struct cairn_error *error)
{
    char shm[PATH_MAX + 8];
    const char *const files[] = {paths->wal, paths->journal, shm, paths->lock,
                                 paths->marker};
    struct stat st;
    snprintf(shm, sizeof shm, "%s-shm", paths->db);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (lstat(files[i], &st) == 0 && !S_ISREG(st.st_mode))
            return error_set(error, CAIRN_EDAMAGED,
                             "%s is not a file: `cairn doctor --repair` puts it aside",
                             files[i]);
    return 0;
}

static int check_note(const struct store_paths *paths, struct cairn_error *error)
{
    char *note = join(paths->dir, STORE_NOTE);
    int rc = note ? store_file(note, NULL, NULL, error) : error_nomem(error);
    free(note);
    if (rc <= 0)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the repair of the store %s was interrupted: `cairn doctor "
                     "--repair` finishes it",
                     paths->dir);
}

/* What the marker says of its writer's syncs. Only with all of them a transaction is on
 * the disk before the next one. */
static bool was_synced(const struct store_paths *paths)
{
    struct buf text = BUF_INIT;
    struct stat st;
    if (stat(paths->marker, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    bool synced = os_read_file(paths->marker, 4096, &text, NULL) == 0 &&
                  strstr(text.data ? text.data : "", "sync full") != NULL;
    buf_release(&text);
    return synced;
}

static bool is_in_use(const struct store_paths *paths, struct lock_file *lock)
{
    return store_file(paths->marker, NULL, NULL, NULL) <= 0 ||
           lock_held(lock, LOCK_WRITERS, NULL) != 0;
}

/* The log is lengthened after each synced commit (db_reserve_wal), so that one that
 * ends right behind its last commit may have been longer. */
enum log_health store_look_at_log(const struct store_paths *paths)
{
    enum { SPARE = 8 };
    enum log_health health = LOG_WHOLE;
    struct wal wal;
    if (store_file(paths->marker, NULL, NULL, NULL) <= 0 || !was_synced(paths) ||
        wal_load(&wal, paths->wal, NULL))
        return health;
    size_t needed = 32 + (wal.committed + SPARE) * (24 + wal.page_size);
    if (wal.state == WAL_DAMAGED)
        health = LOG_LOST;
    else if (wal.state == WAL_TORN || wal.state == WAL_NONE || wal.file.size < needed)
        health = LOG_ENDS_EARLY;
    wal_release(&wal);
    return health;
}

/* While nobody writes: a writer may also have come while we looked. */
static enum log_health look_at_log(const struct store_paths *paths,
                                   struct lock_file *lock)
{
    enum log_health health = LOG_WHOLE;
    if (!is_in_use(paths, lock))
        health = store_look_at_log(paths);
    return is_in_use(paths, lock) ? LOG_WHOLE : health;
}

int store_log_health(struct cairn_store *store, enum log_health *health,
                     struct cairn_error *error)
{
    (void)error;
    *health =
        store->journal == DB_WAL ? look_at_log(&store->paths, &store->lock) : LOG_WHOLE;
    return 0;
}

int store_check_log(const struct store_paths *paths, struct lock_file *lock,
                    struct cairn_error *error)
{
    if (look_at_log(paths, lock) != LOG_LOST)
        return 0;
    return lost(paths, "the write-ahead log is damaged (cairn.db-wal).", error);
}

int store_check_files(const struct store_paths *paths, enum db_journal journal,
                      struct cairn_error *error)
{
    /* In this order: a writer that is being opened beside us makes the database before
     * the WAL, and the WAL before the marker. */
    int64_t db_size = 0, wal_size = 0;
    struct stat st;
    if (lstat(paths->db, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(
            error, CAIRN_EDAMAGED,
            "%s is not a file: remove it, or name another store with --store",
            paths->db);
    int rc = check_kinds(paths, error);
    if (!rc)
        rc = check_note(paths, error);
    if (rc)
        return rc;
    int marker = store_file(paths->marker, NULL, NULL, error);
    int wal = marker < 0 ? marker : store_file(paths->wal, NULL, &wal_size, error);
    int db = wal < 0 ? wal : store_file(paths->db, NULL, &db_size, error);
    if (db < 0)
        return db;
    /* SQLite would delete the WAL of an empty database. */
    if (db_size == 0 && (marker || wal_size > 0))
        return lost(paths, "the database cairn.db is gone.", error);
    if (marker && !wal && journal == DB_WAL)
        return lost(paths, "the write-ahead log is gone (cairn.db-wal).", error);
    return 0;
}

/* SQLite's file format, section 3: the header of a rollback journal begins with 8 bytes
 * that are written when the journal is good. From 8 on it has the number of saved
 * pages, from 16 on the pages of the database as it was, big endian. SQLite locks the
 * database only, so that this file may be opened and closed. */
bool store_journal_look(const struct store_paths *paths, struct store_journal *journal)
{
    static const uint8_t good[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    uint8_t header[20];
    uint32_t numbers[2];
    int fd = os_open_plain(paths->journal, O_RDONLY);
    if (fd < 0)
        return false;
    bool got = pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header;
    close(fd);
    if (!got || memcmp(header, good, sizeof good) != 0)
        return false;
    memcpy(&numbers[0], header + 8, 4);
    memcpy(&numbers[1], header + 16, 4);
    journal->saved = be32toh(numbers[0]);
    journal->before = be32toh(numbers[1]);
    return true;
}
