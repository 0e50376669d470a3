/* SPDX-License-Identifier: MIT */
/* Carrying a restore out. */
#include "snapshot/restore_int.h"

#include "base/os.h"
#include "base/words.h"
#include "storage/object.h"
#include "storage/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== What was in the place ==== */

/* ---- Is it what it should be? ---- */

enum { PART = 256 << 10 };

/* The next `size` bytes of the file have the digest: 1, or not: 0. */
static int part_is(int fd, uint64_t size, const struct digest *digest,
                   struct sha256 *sha, char *room)
{
    struct digest found;
    sha256_begin(sha);
    while (size) {
        ssize_t n = read(fd, room, size < PART ? (size_t)size : PART);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        sha256_add(sha, room, (size_t)n);
        size -= (uint64_t)n;
    }
    sha256_end(sha, &found);
    return digest_equal(&found, digest);
}

static int chunks_are(struct restore *r, int fd, const struct tree_entry *entry,
                      struct sha256 *sha, char *room)
{
    struct arena arena = ARENA_INIT;
    struct chunk_list list;
    int is = snapshot_read_chunks(r->store, &entry->digest, &arena, &list, NULL) == 0;
    for (size_t i = 0; is && i < list.n; i++) {
        struct digest chunk;
        memcpy(chunk.bytes, list.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
        is = part_is(fd, list.sizes[i], &chunk, sha, room);
    }
    arena_release(&arena);
    return is;
}

/* A file of the size of the entry, opened at its start. */
static bool file_is(struct restore *r, int fd, const struct tree_entry *entry)
{
    bool is = false;
    struct sha256 *sha = sha256_new();
    char *room = malloc(entry->size < PART ? (size_t)entry->size + 1 : PART);
    if (sha && room)
        is = entry->kind == TREE_FILE
                 ? part_is(fd, entry->size, &entry->digest, sha, room)
                 : chunks_are(r, fd, entry, sha, room);
    sha256_free(sha);
    free(room);
    return is;
}

static bool link_is(int dir, const char *name, const struct tree_entry *entry)
{
    char target[TREE_TARGET_BYTES + 1];
    ssize_t n = readlinkat(dir, name, target, sizeof target);
    return n > 0 && str_equal((struct str){target, (size_t)n}, entry->target);
}

static bool is_entry(struct restore *r, int dir, const char *name,
                     const struct stat *st, const struct tree_entry *entry)
{
    if (S_ISLNK(st->st_mode))
        return entry->kind == TREE_LINK && link_is(dir, name, entry);
    if (!S_ISREG(st->st_mode) || !tree_is_file(entry) ||
        (uint64_t)st->st_size != entry->size)
        return false;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is = fd >= 0 && file_is(r, fd, entry);
    if (fd >= 0)
        close(fd);
    return is;
}

/* Which of the two it is. If that is not known, it is neither, and stays. */
static const struct tree_entry *known_as(struct restore *r, const char *name,
                                         const struct stat *st,
                                         const struct restore_change *change)
{
    if (is_entry(r, r->stage, name, st, &change->after))
        return &change->after;
    return is_entry(r, r->stage, name, st, &change->before) ? &change->before : NULL;
}

static bool is_placed(struct restore *r, const struct restore_change *change)
{
    const struct tree_entry *after = &change->after;
    const char *name;
    struct stat st;
    int parent = r->fd < 0 ? -1 : place_parent(r, change->path, &name);
    if (r->fd < 0)
        return false;
    if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return !after->kind;
    if (after->kind == TREE_DIRECTORY)
        return S_ISDIR(st.st_mode);
    if (after->kind == TREE_LINK)
        return S_ISLNK(st.st_mode) && link_is(parent, name, after);
    return tree_is_file(after) && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == after->size &&
           (st.st_mode & TREE_MODE_BITS) == after->mode &&
           st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec ==
               after->mtime_ns;
}

void restore_count_placed(struct restore *r, uint64_t *all, uint64_t *placed)
{
    *all = *placed = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (!restore_counts(&r->changes[i]))
            continue;
        ++*all;
        *placed += is_placed(r, &r->changes[i]);
    }
    place_forget(&r->parent);
}

/* ---- Keeping it ---- */

/* "x.before-restore", or with a number behind it, as long as a name may be. */
static void name_kept(char out[TREE_NAME_BYTES + 1], const char *name, unsigned i)
{
    char end[32] = TREE_KEPT;
    if (i > 1)
        snprintf(end, sizeof end, TREE_KEPT "-%u", i);
    snprintf(out, TREE_NAME_BYTES + 1, "%.*s%s", (int)(TREE_NAME_BYTES - strlen(end)),
             name, end);
}

/* What was there is beside the path. *why: whose change it is; NULL: it is known. */
static void tell_kept(struct restore *r, struct str path, const char *beside,
                      const char *why)
{
    char what[TREE_NAME_BYTES + 128];
    if (!why || !r->told)
        return;
    snprintf(what, sizeof what, "%s: what was there is kept beside it, as %s", why,
             beside);
    r->told(r->context, path.ptr, what);
}

static int keep(struct restore *r, int from, const char *name, struct str path,
                const char *why)
{
    char beside[TREE_NAME_BYTES + 1];
    const char *last;
    if (r->fd < 0) /* the directory is gone: it stays */
        return 0;
    int parent = place_parent(r, path, &last), sys = parent < 0 ? errno : EEXIST;
    for (unsigned i = 1; parent >= 0 && sys == EEXIST && i < 10000; i++) {
        name_kept(beside, last, i);
        sys = place_move(from, name, parent, beside);
    }
    if (sys)
        return place_error(r, sys, path, "keeping what was changed in the place of");
    tell_kept(r, path, beside, why);
    return 0;
}

/* Moves what is at the path to a free name with .before-restore behind it. */
static int old_keep(struct restore *r, int from, const char *name, struct str path)
{
    int rc = keep(r, from, name, path, "was changed meanwhile");
    if (!rc && r->fd >= 0)
        r->counts.kept++;
    return rc;
}

/* The directory in which an entry is kept beside the path, under that name; or -1. */
static int find_kept(struct restore *r, struct str path, const struct tree_entry *entry,
                     char beside[TREE_NAME_BYTES + 1])
{
    const char *last;
    struct stat st;
    int parent = place_parent(r, path, &last);
    for (unsigned i = 1; parent >= 0; i++) {
        name_kept(beside, last, i);
        if (fstatat(parent, beside, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return -1;
        if (is_entry(r, parent, beside, &st, entry))
            break;
    }
    return parent;
}

/* What was kept beside the path and is what comes there now is deleted, once. */
static void old_forget_kept(struct restore *r, const struct restore_change *change)
{
    char beside[TREE_NAME_BYTES + 1];
    int parent = find_kept(r, change->path, &change->after, beside);
    if (parent >= 0)
        (void)unlinkat(parent, beside, 0);
}

/* What was to be kept, and was, by the restore that did not end. */
static void tell_again(struct restore *r, struct restore_change *change,
                       const char *why)
{
    char beside[TREE_NAME_BYTES + 1];
    if (change->kept || find_kept(r, change->path, &change->before, beside) < 0)
        return;
    change->kept = true;
    tell_kept(r, change->path, beside, why);
}

/* What the name in the staging directory has is one of the two that the change says:
 * deleted, unless what was there is to be kept. Anything else is kept beside the path.
 */
static int old_dispose(struct restore *r, size_t i)
{
    char name[RESTORE_NAME];
    struct stat st;
    struct restore_change *change = &r->changes[i];
    const char *others = r->again ? "was changed since by another session, too" : NULL;
    assert(r->changes);
    restore_staged_name(name, i);
    if (fstatat(r->stage, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0
                               : place_error(r, errno, change->path,
                                             "looking at what was in the "
                                             "place of");
    const struct tree_entry *is = known_as(r, name, &st, change);
    if (!is && !(r->replaces && !S_ISDIR(st.st_mode)))
        return old_keep(r, r->stage, name, change->path);
    if (is && is == &change->before && change->choice == RESTORE_BESIDE) {
        int rc = keep(r, r->stage, name, change->path, others);
        change->kept = !rc;
        return rc;
    }
    if (others && change->choice == RESTORE_BESIDE && r->fd >= 0)
        tell_again(r, change, others);
    if (unlinkat(r->stage, name, 0) == 0 || errno == ENOENT)
        return 0;
    return place_error(r, errno, change->path, "deleting the old file of");
}

/* ---- What an earlier one has left ---- */

static bool is_tree(const char *name)
{
    const char *end = strchr(name, '.');
    return end && strcmp(end, RESTORE_TREE) == 0;
}

/* "12.old" is "12" of a file system on which it took two steps. */
static int dispose_name(struct restore *r, const char *name, bool begun)
{
    uint64_t change = 0;
    struct str digits = {name, strcspn(name, ".")};
    bool known = begun && str_to_u64(digits, &change) && change < r->n;
    char staged[RESTORE_NAME];
    if (is_tree(name)) { /* there is nothing in it but what was staged */
        int sys = place_delete(r->stage, name);
        return sys ? error_sys(r->error, sys, "deleting %s of an earlier restore", name)
                   : 0;
    }
    if (!known) /* staged, and never put into place */
        return unlinkat(r->stage, name, 0) == 0 || errno == ENOENT
                   ? 0
                   : error_sys(r->error, errno, "deleting %s of an earlier restore",
                               name);
    if (name[digits.len] != '\0') {
        int rc = old_dispose(r, (size_t)change);
        if (rc || r->fd < 0)
            return rc;
        if (renameat(r->stage, name, r->stage,
                     restore_staged_name(staged, (size_t)change)) != 0)
            return place_error(r, errno, r->changes[change].path, "continuing with");
    }
    return old_dispose(r, (size_t)change);
}

/* Empties the staging directory. `begun`: of what this very restore had begun, so that
 * something else than what was staged may be there. */
static int old_dispose_all(struct restore *r, bool begun)
{
    int fd = openat(r->stage, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *found;
    int rc = 0;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return error_sys(r->error, errno, "reading what was staged for a restore");
    }
    while (!rc && (found = readdir(dir)))
        if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0)
            rc = dispose_name(r, found->d_name, begun);
    closedir(dir);
    return rc;
}

/* ==== The restore ==== */

static void restore_init(struct restore *r, struct cairn_store *store, const char *root,
                         struct cairn_error *error)
{
    *r = (struct restore){.store = store,
                          .root = root,
                          .fd = -1,
                          .stage = -1,
                          .stage_name = RESTORE_STAGE,
                          .like_fd = -1,
                          .parent = PLACE_INIT,
                          .written = PLACE_INIT,
                          .error = error};
}

int restore_open_lost(struct restore *r, struct cairn_store *store, const char *root,
                      const struct digest *before, const struct digest *after,
                      struct paths *only, struct cairn_error *error)
{
    restore_init(r, store, root, error);
    return restore_find(r, before, after, only);
}

int restore_open(struct restore *r, struct cairn_store *store, const char *root,
                 const struct digest *before, const struct digest *after,
                 struct paths *only, struct cairn_error *error)
{
    restore_init(r, store, root, error);
    r->fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->fd < 0)
        return error_sys(error, errno, "the directory %s", root);
    return restore_find(r, before, after, only);
}

/* ---- Content beside the files ---- */

static int open_stage(struct restore *r)
{
    struct stat root, store = {.st_uid = geteuid()}, stage;
    const char *dir = cairn_store_path(r->store);
    bool near = !r->scratch &&
                (r->fd < 0 || (fstat(r->fd, &root) == 0 && stat(dir, &store) == 0 &&
                               root.st_dev == store.st_dev));
    if (near)
        buf_format(&r->stage_path, "%s/%s", dir, r->stage_name);
    else
        buf_format(&r->stage_path, "%s/" TREE_STAGE "%s", r->root, store_id(r->store));
    int rc = buf_check(&r->stage_path, r->error)
                 ?: os_make_dir(r->stage_path.data, 0700, r->error);
    if (rc < 0)
        return rc;
    r->stage =
        open(r->stage_path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->stage < 0 || fstat(r->stage, &stage) < 0)
        return error_sys(r->error, errno, "%s", r->stage_path.data);
    /* Its name beside the files can be known, and others may make names there. */
    if (stage.st_uid == geteuid() || stage.st_uid == store.st_uid)
        return 0;
    return error_set(
        r->error, CAIRN_EUSAGE,
        "%s, where the files of a restore are to be written first, belongs "
        "to another user (uid %ld): remove it, or have it removed",
        r->stage_path.data, (long)stage.st_uid);
}

/* The content is another one than before. */
static bool has_content(const struct restore_change *change)
{
    const struct tree_entry *before = &change->before, *after = &change->after;
    if (after->kind == TREE_LINK)
        return before->kind != TREE_LINK || !str_equal(before->target, after->target);
    return tree_is_file(after) &&
           (!tree_is_file(before) || !digest_equal(&before->digest, &after->digest));
}

/* Its other names, which may lie outside of the root, keep their mode and time. */
static bool has_other_names(struct restore *r, const struct restore_change *change)
{
    const char *name;
    struct stat st;
    int parent = place_parent(r, change->path, &name);
    return parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_nlink > 1;
}

static bool needs_content(struct restore *r, const struct restore_change *change)
{
    if (change->before.kind == TREE_LEFT_OUT)
        return false;
    return has_content(change) ||
           (tree_is_file(&change->after) && has_other_names(r, change));
}

/* ---- What is refused ---- */

static bool is_directory(const struct tree_entry *entry)
{
    return entry->kind == TREE_DIRECTORY;
}

/* A name is made, removed or replaced in the directory. */
static bool changes_names(const struct restore_change *change)
{
    const struct tree_entry *before = &change->before, *after = &change->after;
    return change->staged || !before->kind || !after->kind ||
           is_directory(before) != is_directory(after);
}

/* What the changes are checked against. */
struct checking {
    uid_t user;
    struct statx root;
    /* The directory that was opened as the `opened`th, 0: none yet. Changes of one
     * directory follow each other, so each is looked at once. */
    struct statx above;
    uint64_t opened;
    int unwritable; /* 0, or the errno with which no name can be made in it */
};

/* Other directories of ours are made writable for as long as it takes. */
static int find_unwritable(const struct restore *r, const struct checking *c,
                           int parent)
{
    bool ours = c->above.stx_uid == c->user && parent != r->fd;
    return ours || faccessat(parent, ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* With an empty name the directory itself. */
static bool look(int dir, const char *name, struct statx *st)
{
    int flags = *name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    return statx(dir, name, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID,
                 st) == 0;
}

static bool same_device(const struct statx *a, const struct statx *b)
{
    return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* A file system may be mounted twice, and nothing is renamed from one to the other.
 * Kernels before 5.8 do not tell. */
static bool same_mount(const struct statx *a, const struct statx *b)
{
    bool told = a->stx_mask & b->stx_mask & STATX_MNT_ID;
    return same_device(a, b) && (!told || a->stx_mnt_id == b->stx_mnt_id);
}

static bool is_locked(const struct statx *st)
{
    return st->stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND);
}

static bool may_move(const struct checking *c, const struct statx *st)
{
    return !(c->above.stx_mode & S_ISVTX) || c->user == 0 ||
           c->above.stx_uid == c->user || st->stx_uid == c->user;
}

static int refuse(struct restore *r, struct str path, const char *why)
{
    return error_set(r->error, CAIRN_EUSAGE, "nothing was changed: %.300s in %s %s",
                     path.ptr, r->root, why);
}

/* What rename(2) and chmod(2) would refuse of something that is there. */
static int check_before(struct restore *r, const struct restore_change *change,
                        int parent, const char *name, const struct checking *c)
{
    bool names = changes_names(change);
    struct statx st;
    if (!look(parent, name, &st))
        return 0; /* gone meanwhile */
    if (names && !same_mount(&st, &c->above))
        return refuse(r, change->path, "is where something else is mounted");
    if (is_locked(&st))
        return refuse(r, change->path, "may not be changed (chattr)");
    if (names && !may_move(c, &st))
        return refuse(r, change->path,
                      "belongs to somebody else, whose files nobody else may move in "
                      "that directory");
    return 0;
}

/* The directory of the change that is checked: 0 or an errno. */
static int look_above(struct restore *r, struct checking *c, int parent)
{
    if (c->opened == r->parent.opened)
        return 0;
    if (!look(parent, "", &c->above))
        return errno;
    c->opened = r->parent.opened;
    c->unwritable = find_unwritable(r, c, parent);
    return 0;
}

/* Nothing else can be known to fit; what is not there yet will be made. */
static int check_place(struct restore *r, const struct restore_change *change,
                       struct checking *c)
{
    bool names = changes_names(change);
    const char *name;
    int parent = place_parent(r, change->path, &name), sys = parent < 0 ? errno : 0;
    if (parent < 0 && (r->again || !change->before.kind) &&
        (sys == ENOENT || sys == ENOTDIR || sys == ELOOP))
        return 0; /* it will be made, or is gone already */
    sys = sys ? sys : look_above(r, c, parent);
    if (sys)
        return place_error(r, sys, change->path, "opening the directory of");
    if (!same_device(&c->above, &c->root) ||
        (names && !r->again && !same_mount(&c->above, &c->root)))
        return refuse(r, change->path, "lies where something else is mounted");
    if (r->again)
        return 0;
    if (names && is_locked(&c->above))
        return refuse(r, change->path,
                      "lies in a directory that may not be changed (chattr)");
    if (names && c->unwritable)
        return error_sys(r->error, c->unwritable,
                         "nothing was changed: the directory of %.300s in %s cannot be "
                         "written",
                         change->path.ptr, r->root);
    return change->before.kind ? check_before(r, change, parent, name, c) : 0;
}

static int check_change(struct restore *r, struct restore_change *change,
                        struct checking *c)
{
    const struct tree_entry *before = &change->before, *after = &change->after;
    if (before->kind == TREE_LEFT_OUT && after->kind && after->kind != TREE_LEFT_OUT)
        return error_set(r->error, CAIRN_EUSAGE,
                         "%.300s %s, so it would be lost: nothing was changed; move it "
                         "away",
                         change->path.ptr, tree_left_out_text(before->why));
    change->staged = needs_content(r, change);
    return check_place(r, change, c);
}

static int pass_part(void *context, struct str part)
{
    (void)context;
    (void)part;
    return 0;
}

static int check_content_before(struct restore *r, const struct restore_change *change)
{
    bool lost = tree_is_file(&change->before) &&
                !digest_equal(&change->before.digest, &change->after.digest);
    return lost ? snapshot_content(r->store, &change->before, pass_part, NULL, r->error)
                : 0;
}

/* So many in one transaction: each of its own would cost five system calls more, and one
 * for all would keep the log from being emptied for as long as it takes. */
int restore_check_before(struct restore *r)
{
    enum { BATCH = 64 };
    int rc = 0;
    for (size_t i = 0; i < r->n && !rc;) {
        size_t end = r->n - i > BATCH ? i + BATCH : r->n;
        rc = store_begin_read(r->store, r->error);
        if (rc)
            return rc;
        for (; i < end && !rc; i++)
            rc = check_content_before(r, &r->changes[i]);
        store_end_read(r->store);
    }
    return rc;
}

static int make_directory(struct restore *r, const struct restore_change *change,
                          int parent, const char *name)
{
    struct stat st;
    if (mkdirat(parent, name, 0700) == 0)
        return 0;
    if (errno != EEXIST || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return place_error(r, errno, change->path, "making the directory");
    if (S_ISDIR(st.st_mode))
        return 0;
    int rc = old_keep(r, parent, name, change->path);
    if (!rc && mkdirat(parent, name, 0700) != 0)
        rc = place_error(r, errno, change->path, "making the directory");
    return rc;
}

int restore_prepare(struct restore *r, bool again)
{
    struct checking checking = {.user = geteuid()};
    r->again = again;
    r->applying = again; /* what it took out of its place may be in the stage */
    int rc =
        look(r->fd, "", &checking.root) ? 0 : error_sys(r->error, errno, "%s", r->root);
    for (size_t i = 0; i < r->n && !rc; i++)
        rc = check_change(r, &r->changes[i], &checking);
    if (!rc && !again)
        rc = restore_check_replaced(r);
    place_forget(&r->parent); /* what is missing will be made */
    if (rc || !r->n)
        return rc;
    if (!r->direct)
        rc = open_stage(r) ?: old_dispose_all(r, again);
    if (!rc && !r->direct && !again)
        restore_choose_trees(r);
    return rc
           ?: restore_make_directories(r)
           ?: restore_stage_all(r)
           ?: restore_finish_directories(r);
}

/* ---- Into place ---- */

/* A directory by its path, without following a link; -1 and errno. */
static int open_place(struct restore *r, struct str path)
{
    const char *name;
    int parent = place_parent(r, path, &name);
    return parent < 0
               ? -1
               : openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Directories of ours in which entries change. One that was begun may have given them
 * the mode that they are to have. */
static int allow_writing(struct restore *r, const struct restore_change *change)
{
    struct stat st;
    if (restore_is_left(change) || (!tree_is_locked(&change->before) &&
                                    !(r->again && tree_is_locked(&change->after))))
        return 0;
    int fd = open_place(r, change->path);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0;
    bool failed = fd < 0 || fstat(fd, &st) != 0 ||
                  fchmod(fd, (st.st_mode & TREE_MODE_BITS) | 0700) != 0;
    int sys = failed ? errno : 0;
    if (fd >= 0)
        close(fd);
    return sys ? place_error(r, sys, change->path, "making writable") : 0;
}

/* What others have in it lets it stay, as it was. */
static int leave_directory(struct restore *r, const struct restore_change *change)
{
    int fd = tree_is_locked(&change->before) ? open_place(r, change->path) : -1;
    int sys = fd >= 0 && fchmod(fd, change->before.mode) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (sys)
        return place_error(r, sys, change->path, "setting the mode of");
    if (r->told)
        r->told(r->context, change->path.ptr, "has other files in it: it stays");
    return 0;
}

static int remove_directory(struct restore *r, const struct restore_change *change,
                            int parent, const char *name)
{
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTDIR) /* something else has come there */
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return place_error(r, errno, change->path, "removing the directory");
    return change->after.kind ? old_keep(r, parent, name, change->path)
                              : leave_directory(r, change);
}

static int remove_old(struct restore *r, size_t i)
{
    const struct restore_change *change = &r->changes[i];
    const char *name;
    char staged[RESTORE_NAME];
    struct stat st;
    if (!change->before.kind || restore_is_left(change) ||
        (change->after.kind &&
         is_directory(&change->before) == is_directory(&change->after)))
        return 0;
    int parent = place_parent(r, change->path, &name);
    if (parent < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0; /* it is gone already */
    if (parent < 0)
        return place_error(r, errno, change->path, "opening the directory of");
    if (is_directory(&change->before))
        return remove_directory(r, change, parent, name);
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return 0; /* the directory that comes there, or somebody's */
    int sys = place_move(parent, name, r->stage, restore_staged_name(staged, i));
    if (sys == ENOENT)
        return 0;
    return sys ? place_error(r, sys, change->path, "removing") : old_dispose(r, i);
}

/* Of what is opened, also where its mode lets nobody open it. 0 or an errno. */
static int set_mode(int fd, int parent, const char *name, const struct stat *st,
                    uint32_t mode)
{
    char path[64];
    struct stat found;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if ((st->st_mode & TREE_MODE_BITS) == mode || chmod(path, mode) == 0)
        return 0;
    if (errno != ENOENT && errno != ENOTDIR)
        return errno;
    int own = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int sys = own < 0 ? errno : 0; /* there is no /proc */
    if (!sys && fstat(own, &found) == 0 && found.st_dev == st->st_dev &&
        found.st_ino == st->st_ino && fchmod(own, mode) != 0)
        sys = errno;
    if (own >= 0)
        close(own);
    return sys;
}

/* Its content is there already. */
static int set_metadata(struct restore *r, const struct restore_change *change,
                        int parent, const char *name)
{
    const struct tree_entry *after = &change->after;
    struct timespec times[] = {{0, UTIME_OMIT}, restore_time(after->mtime_ns)};
    struct stat st;
    int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return place_error(r, errno, change->path, "opening");
    bool fits = fstat(fd, &st) == 0 &&
                (is_directory(after) ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
    int sys = fits ? set_mode(fd, parent, name, &st, after->mode) : 0;
    if (fits && !sys && utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno != ENOENT)
        sys = errno;
    close(fd);
    return sys ? place_error(r, sys, change->path, "setting mode and time of") : 0;
}

static int put_new(struct restore *r, size_t i)
{
    const struct restore_change *change = &r->changes[i];
    const char *name;
    char staged[RESTORE_NAME];
    if (!change->after.kind || restore_is_left(change))
        return 0;
    int parent = place_parent(r, change->path, &name);
    if (parent < 0)
        return place_error(r, errno, change->path, "opening the directory of");
    if (is_directory(&change->after))
        return make_directory(r, change, parent, name);
    if (!change->staged)
        return set_metadata(r, change, parent, name);
    if (r->back)
        old_forget_kept(r, change);
    restore_staged_name(staged, i);
    int sys = change->before.kind ? EEXIST : place_move(r->stage, staged, parent, name);
    if (sys == EEXIST) {
        sys = place_exchange(r->stage, staged, parent, name);
        if (!sys)
            return old_dispose(r, i);
    }
    return sys ? place_error(r, sys, change->path, "putting") : 0;
}

/* What waits in a new directory waits in the stage itself then, as all else does. */
static int flatten(struct restore *r, size_t from, size_t end)
{
    char staged[RESTORE_NAME];
    const char *name;
    int sys = 0;
    for (size_t i = from; i < end && !sys; i++)
        if (is_directory(&r->changes[i].after))
            sys = restore_written(r, i, &name) < 0 ||
                          fchmodat(r->written.fd, name, 0700, 0) != 0
                      ? errno
                      : 0;
    for (size_t i = from; i < end && !sys; i++)
        if (r->changes[i].staged) {
            int parent = restore_written(r, i, &name);
            sys = parent < 0 ? errno
                             : place_move(parent, name, r->stage,
                                          restore_staged_name(staged, i));
        }
    if (!sys)
        sys =
            restore_written(r, from, &name) < 0 ? errno : place_delete(r->stage, name);
    if (sys)
        return place_error(r, sys, r->changes[from].path, "staging anew");
    for (size_t i = from; i < end; i++)
        r->changes[i].tree = 0;
    return 0;
}

/* A new directory with all that is in it; *next is behind it. Where something has come
 * to its place, or it cannot be moved as a whole, one thing after the other. */
static int put_tree(struct restore *r, size_t i, size_t *next)
{
    const struct restore_change *change = &r->changes[i];
    const char *staged, *name;
    size_t end = i + 1;
    while (end < r->n && r->changes[end].tree == change->tree)
        end++;
    int parent = place_parent(r, change->path, &name);
    if (parent < 0)
        return place_error(r, errno, change->path, "opening the directory of");
    int stage = restore_written(r, i, &staged);
    int sys = stage < 0 ? errno : place_move(stage, staged, parent, name);
    if (sys == ENOMEM)
        return error_nomem(r->error);
    if (sys)
        return flatten(r, i, end) ?: put_new(r, i);
    *next = end;
    return 0;
}

static int put_all(struct restore *r)
{
    int rc = 0;
    for (size_t i = 0, next; i < r->n && !rc; i = next) {
        next = i + 1;
        rc = r->changes[i].tree ? put_tree(r, i, &next) : put_new(r, i);
    }
    return rc;
}

/* One that was staged in another one, or is in a directory that is thrown away, is as it
 * is to be. */
static int finish_directory(struct restore *r, size_t i)
{
    const struct restore_change *change = &r->changes[i];
    const char *name;
    bool finished = r->direct || (change->tree && change->tree != i + 1);
    if (finished || !is_directory(&change->after) || restore_is_left(change))
        return 0;
    int parent = place_parent(r, change->path, &name);
    return parent < 0 ? place_error(r, errno, change->path, "opening the directory of")
                      : set_metadata(r, change, parent, name);
}

enum { LEFT_TOLD = 20 };

/* Of one side only the name is known: what is there stays, and is named. */
static void tell_left(struct restore *r, const struct restore_change *change)
{
    const struct tree_entry *before = &change->before, *after = &change->after;
    char what[160];
    if (!r->told || r->counts.left > LEFT_TOLD)
        return;
    if (after->kind == TREE_LEFT_OUT)
        snprintf(what, sizeof what, "is in the checkpoint by name alone (%s): %s",
                 tree_left_out_text(after->why),
                 before->kind ? "what is there stays" : "it does not come back");
    else
        snprintf(what, sizeof what, "%s, which no checkpoint stores: it stays",
                 tree_left_out_text(before->why));
    r->told(r->context, change->path.ptr, what);
}

void restore_count(struct restore *r)
{
    char what[64];
    for (size_t i = 0; i < r->n; i++) {
        const struct restore_change *change = &r->changes[i];
        bool had = change->before.kind != 0, has = change->after.kind != 0;
        bool left = restore_is_left(change);
        r->counts.left += left;
        if (left)
            tell_left(r, change);
        r->counts.added += !left && !had;
        r->counts.removed += !left && !has;
        r->counts.changed += restore_counts(change) && had && has;
    }
    if (r->told && r->counts.left > LEFT_TOLD) {
        snprintf(what, sizeof what, "has %llu more like these",
                 (unsigned long long)(r->counts.left - LEFT_TOLD));
        r->told(r->context, r->root, what);
    }
}

static int apply_all(struct restore *r)
{
    int rc = 0;
    for (size_t i = 0; i < r->n && !rc; i++)
        rc = allow_writing(r, &r->changes[i]);
    for (size_t i = r->n; i > 0 && !rc; i--)
        rc = remove_old(r, i - 1);
    place_forget(&r->parent);
    if (!rc && !r->direct)
        rc = put_all(r);
    for (size_t i = r->n; i > 0 && !rc; i--)
        rc = finish_directory(r, i - 1);
    place_forget(&r->parent);
    return rc;
}

/* Nothing is written on another file system than that of the directory, or of the stage.
 */
static int sync_written(const struct restore *r)
{
    struct stat root, stage;
    bool one = fstat(r->fd, &root) == 0 && fstat(r->stage, &stage) == 0 &&
               root.st_dev == stage.st_dev;
    return syncfs(r->fd) != 0 || (!one && syncfs(r->stage) != 0) ? -1 : 0;
}

int restore_apply(struct restore *r)
{
    r->applying = r->n > 0;
    if (!r->n)
        return 0;
    int rc = apply_all(r);
    if (!rc && !r->scratch && sync_written(r) != 0)
        rc = error_sys(r->error, errno, "syncing %s", r->root);
    r->applying = rc != 0;
    if (!rc)
        restore_count(r);
    return rc;
}

/* What was staged and not put into place goes; what was begun stays for the restore
 * that finishes it. */
static void empty_stage(struct restore *r)
{
    char name[RESTORE_NAME];
    if (r->stage < 0 || rmdir(r->stage_path.data) == 0)
        return;
    for (size_t i = 0; i < r->n; i++)
        if (r->changes[i].tree == i + 1)
            (void)place_delete(r->stage, restore_tree_name(name, i));
        else if (r->changes[i].staged && !r->changes[i].tree)
            (void)unlinkat(r->stage, restore_staged_name(name, i), 0);
    (void)rmdir(r->stage_path.data);
}

void restore_close(struct restore *r)
{
    restore_forget_places(r);
    if (!r->applying)
        empty_stage(r);
    if (r->stage >= 0)
        close(r->stage);
    if (r->fd >= 0)
        close(r->fd);
    restore_forget_like(r);
    buf_release(&r->stage_path);
    arena_release(&r->arena);
    free(r->changes);
}

int restore_give_up(struct restore *r)
{
    r->again = r->applying = true;
    int rc = r->n ? open_stage(r) : 0;
    if (!rc && r->n)
        rc = old_dispose_all(r, true);
    r->applying = rc != 0;
    return rc;
}

void restore_clear_stage(const char *path)
{
    struct restore r = {.fd = -1, .like_fd = -1, .parent = PLACE_INIT};
    r.stage = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r.stage < 0)
        return;
    (void)old_dispose_all(&r, false);
    close(r.stage);
    (void)rmdir(path);
}
