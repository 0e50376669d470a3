/* SPDX-License-Identifier: MIT */
/* The `.cairn` directory: finding it and making it. */
#include "storage/store_int.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/words.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char dir_name[] = ".cairn";

int store_file(const char *path, uint64_t *inode, int64_t *size,
               struct cairn_error *error)
{
    struct stat st;
    assert(path);
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

char *store_path_join(const char *dir, const char *name)
{
    assert(name[0]);
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

/* A directory called .cairn counts as a store if any file of a store is in it, so that
 * one without its database is reported as damaged and not overlooked. */
static int holds_store(const char *dir, struct cairn_error *error)
{
    static const char *const names[] = {"cairn.db", "lock", "open"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = store_path_join(dir, names[i]);
        if (!path)
            return error_nomem(error);
        int rc = store_file(path, NULL, NULL, error);
        free(path);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- A file in its place, which leads to a store elsewhere ---- */

static const char first_line[] = "cairn fork ";

uint64_t store_fork(const struct cairn_store *store, const char **dir)
{
    if (dir)
        *dir = store->paths.fork_dir;
    return store->paths.fork_session;
}

int store_fork_text(const struct cairn_store *store, uint64_t session, struct buf *out,
                    struct cairn_error *error)
{
    const char *path = store->paths.dir;
    if (strchr(path, '\n'))
        return error_set(error, CAIRN_EUSAGE,
                         "the path of the store has a line break in it: %s", path);
    buf_format(out, "%s1\nstore %s\nsession %llu\n", first_line, path,
               (unsigned long long)session);
    return buf_check(out, error);
}

/* What stands behind the word in the next line, and ends with a NUL then; NULL. */
static char *take_line(char **rest, const char *word)
{
    size_t n = strlen(word);
    char *end = strchr(*rest, '\n');
    if (!end || strncmp(*rest, word, n) != 0)
        return NULL;
    char *text = *rest + n;
    *end = '\0';
    *rest = end + 1;
    return text;
}

static int parse(char *text, const char *path, char **store, uint64_t *session,
                 struct cairn_error *error)
{
    char *form = take_line(&text, first_line);
    if (form && strcmp(form, "1") != 0)
        return error_set(error, CAIRN_ENEWER,
                         "the file %s is of a newer release: use the cairn that wrote "
                         "it",
                         path);
    char *named = form ? take_line(&text, "store ") : NULL;
    char *number = named ? take_line(&text, "session ") : NULL;
    if (!number || *text || named[0] != '/' || !str_to_u64(str_of(number), session) ||
        !*session)
        return error_set(error, CAIRN_EDAMAGED,
                         "the file %s, which says where the store is, is damaged: "
                         "write it again (docs/format.md), or name the store with "
                         "--store",
                         path);
    *store = strdup(named);
    return *store ? 1 : error_nomem(error);
}

/* 1: it is one, *store (heap) and *session are what it names; 0: it is none, or no
 * file; CAIRN_EDAMAGED: it is one that cannot be read. */
static int read_fork(const char *path, char **store, uint64_t *session,
                     struct cairn_error *error)
{
    enum { MOST = 8192 };
    struct stat st;
    struct buf text = BUF_INIT;
    *store = NULL;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    int rc = os_read_plain(path, MOST, &text, NULL);
    bool is_one = !rc && text.size >= sizeof first_line - 1 &&
                  memcmp(text.data, first_line, sizeof first_line - 1) == 0;
    if (is_one)
        rc = parse(text.data, path, store, session, error);
    buf_release(&text);
    return is_one ? rc : 0;
}

static int is_fork(const char *path, struct cairn_error *error)
{
    char *store = NULL;
    uint64_t session;
    int rc = read_fork(path, &store, &session, error);
    free(store);
    return rc;
}

/* ---- Finding it ---- */

/* 1: a store, or a way to one. What belongs to another user and cannot be looked into
 * counts, too: it is refused later, by its owner's name. */
static int is_store(const char *dir, struct cairn_error *error)
{
    struct stat st;
    int rc = holds_store(dir, error);
    if (rc < 0 && lstat(dir, &st) == 0 && st.st_uid != geteuid())
        return 1;
    return rc ?: is_fork(dir, error);
}

/* Looks for a store in `from` and its parents; *found is NULL if there is none. Above
 * it, what others left where all may leave something is passed over: it would keep
 * everybody from working below. Shortens `from`. */
static int find_upward(char *from, char **found, struct cairn_error *error)
{
    *found = NULL;
    for (bool above = false;; above = true) {
        char *dir = store_path_join(from, dir_name);
        if (!dir)
            return error_nomem(error);
        int rc = above && store_is_litter(from, dir) ? 0 : is_store(dir, error);
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

static int default_dir(bool create, char **dir, struct cairn_error *error)
{
    char *here = getcwd(NULL, 0);
    if (!here)
        return error_sys(error, errno, "cannot tell the current directory");
    char *from = strdup(here);
    int rc = from ? find_upward(from, dir, error) : error_nomem(error);
    if (rc) {
        free(*dir);
        *dir = NULL;
    }
    if (!rc && !*dir && !create)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "there is no store: no .cairn directory in %s or above; `cairn "
                       "run FILE` makes one",
                       here);
    else if (!rc && !*dir && !(*dir = store_path_join(here, dir_name)))
        rc = error_nomem(error);
    free(from);
    free(here);
    return rc;
}

/* SQLite's own words would be that there is no such file. */
static int check_length(const struct store_paths *paths, struct cairn_error *error)
{
    size_t most;
    int rc = db_path_limit(&most, error);
    if (rc || strlen(paths->db) <= most)
        return rc;
    return error_set(error, CAIRN_ELIMIT,
                     "the path of the store is too long: SQLite takes %zu bytes for "
                     "that of its database, which would have %zu. Move the project, or "
                     "give another store with --store: %s",
                     most, strlen(paths->db), paths->dir);
}

static int fill_paths(struct store_paths *paths, const char *dir,
                      struct cairn_error *error)
{
    assert(!paths->dir);
    char *absolute = realpath(dir, NULL);
    if (!absolute)
        return error_sys(error, errno, "cannot resolve %s", dir);
    paths->dir = absolute;
    paths->db = store_path_join(absolute, "cairn.db");
    paths->wal = store_path_join(absolute, "cairn.db-wal");
    paths->journal = store_path_join(absolute, "cairn.db-journal");
    paths->lock = store_path_join(absolute, "lock");
    paths->marker = store_path_join(absolute, "open");
    paths->live = store_path_join(absolute, "live");
    paths->ignore = store_path_join(absolute, ".gitignore");
    paths->making = store_path_join(absolute, "making");
    if (paths->db && paths->wal && paths->journal && paths->lock && paths->marker &&
        paths->live && paths->ignore && paths->making)
        return 0;
    return error_nomem(error);
}

/* Where *dir is a file that leads to a store, that store takes its place. `found`: the
 * user has not named it. 1: it was one. */
static int follow_fork(struct store_paths *paths, char **dir, bool found,
                       struct cairn_error *error)
{
    char *store = NULL, *file = *dir;
    int rc = read_fork(file, &store, &paths->fork_session, error);
    if (rc <= 0)
        return rc;
    if (store_file(store, NULL, NULL, NULL) <= 0)
        rc = error_set(error, CAIRN_EUSAGE,
                       "there is no store %s, which the file %s names: where it was "
                       "moved, write the new path into that file",
                       store, file);
    else if (found)
        rc = store_trust_place(store, error);
    char *real = rc < 0 ? NULL : realpath(file, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        slash[slash == real] = 0;
    else if (rc >= 0)
        rc = error_sys(error, errno, "cannot resolve %s", file);
    paths->fork_dir = real;
    free(file);
    *dir = store;
    return rc < 0 ? rc : 1;
}

/* Not where .cairn leads, if it is a link. */
static int note_project(struct store_paths *paths, const char *dir,
                        struct cairn_error *error)
{
    const char *slash = strrchr(dir, '/');
    assert(slash);
    paths->project = strndup(dir, slash == dir ? 1 : (size_t)(slash - dir));
    return paths->project ? 0 : error_nomem(error);
}

int store_paths_find(struct store_paths *paths,
                     const struct cairn_store_options *options,
                     struct cairn_error *error)
{
    assert(!paths->dir);
    bool create = options->create && !options->read_only;
    bool found = !options->path || options->found;
    char *dir = NULL;
    bool made = false;
    int rc = 0;
    if (!options->path)
        rc = default_dir(create, &dir, error);
    else if (!(dir = strdup(options->path)))
        rc = error_nomem(error);
    if (!rc && !options->path)
        rc = note_project(paths, dir, error);
    if (!rc && found)
        rc = store_trust_place(dir, error);
    int led = rc ? 0 : follow_fork(paths, &dir, found, error);
    rc = led < 0 ? led : rc;
    create = create && !led;
    if (!rc && create) {
        rc = os_make_dir(dir, 0700, error);
        made = rc > 0;
        rc = rc > 0 ? 0 : rc;
    }
    if (!rc && !create) {
        rc = store_file(dir, NULL, NULL, error)
                 ?: error_set(error, CAIRN_ENOTFOUND, "there is no store %s", dir);
        rc = rc > 0 ? 0 : rc;
    }
    if (!rc)
        rc = fill_paths(paths, dir, error) ?: check_length(paths, error);
    /* Somebody may have been quicker: this is what is used from here on. */
    if (!rc && found)
        rc = store_trust_place(paths->dir, error);
    if (!rc)
        rc = store_trust_files(paths, error);
    if (rc && made)
        (void)rmdir(dir);
    if (rc)
        store_paths_release(paths);
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
    free(paths->making);
    free(paths->fork_dir);
    free(paths->project);
    *paths = (struct store_paths){0};
}

/* Whether a file of that name can be left when the making of a store is interrupted. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {".",    "..",         "lock",  "live",
                                        "open", ".gitignore", "making"};
    static const char *const starts[] = {"cairn.db", ".gitignore.tmp.", "open.tmp.",
                                         "outputs.", "search."};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

int store_dir_vacant(const struct store_paths *paths, struct cairn_error *error)
{
    const struct dirent *entry;
    assert(paths->dir);
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
    assert(paths->ignore && paths->live);
    int rc = making ? store_file(paths->ignore, NULL, NULL, error) : 1;
    if (rc == 0)
        rc = os_write_file(paths->ignore, 0600, STR("*\n"), error);
    if (rc < 0)
        return rc;
    rc = os_make_dir(paths->live, 0700, error);
    return rc < 0 ? rc : 0;
}

/* ---- What a killed process left ---- */

/* The note of a repair, the marker and .gitignore are written under the write lock. Who
 * has been writing another one for an hour has been killed, or never ends. */
static bool is_leftover(const char *name, const struct stat *st)
{
    enum { LONG_S = 3600 };
    static const char *const starts[] = {"open.",    ".gitignore.", (STORE_NOTE "."),
                                         "outputs.", "files-",      "transcript-"};
    enum { LOCKED = 3 }; /* the first */
    size_t i = 0, n = COUNT_OF(starts), length = strlen(name);
    while (i < n && strncmp(name, starts[i], strlen(starts[i])) != 0)
        i++;
    if (i == n || !S_ISREG(st->st_mode))
        return false;
    /* Earlier releases had other names: outputs.1.tmp, files-1.index.PID. */
    const char *index = strstr(name, ".index.");
    bool earlier = (length > 4 && strcmp(name + length - 4, ".tmp") == 0) ||
                   (index && strspn(index + 7, "0123456789") == strlen(index + 7));
    return (os_is_temporary(name) || earlier) &&
           (i < LOCKED || st->st_mtime < clock_utc_ns() / 1000000000 - LONG_S);
}

uint64_t store_leftovers(const struct cairn_store *store, bool remove, char *first)
{
    const struct dirent *entry;
    struct stat st;
    uint64_t n = 0;
    assert(!remove || store->writing);
    DIR *dir = opendir(store->paths.dir);
    while (dir && (entry = readdir(dir))) {
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !is_leftover(entry->d_name, &st))
            continue;
        if (n++ == 0 && first)
            memcpy(first, entry->d_name, strlen(entry->d_name) + 1);
        if (remove)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
    return n;
}
