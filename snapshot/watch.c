/* SPDX-License-Identifier: MIT */
/* Whether files have changed, without looking: directories watched by inotify. */
#include "snapshot/watch.h"

#include "snapshot/ignore.h"
#include "snapshot/snapshot.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/str.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WATCHED_DIRS_INIT ((struct watched_dirs){0})

/* ==== The directories ==== */

/* ---- By number ---- */

static size_t slot_of(const struct watched_dirs *dirs, int watch)
{
    return ((uint32_t)watch * 2654435769u) & (dirs->n_slots - 1);
}

static void put_slot(struct watched_dirs *dirs, struct watched_dir *dir)
{
    size_t at = slot_of(dirs, dir->watch);
    while (dirs->slots[at])
        at = (at + 1) & (dirs->n_slots - 1);
    dirs->slots[at] = dir;
}

static bool make_room(struct watched_dirs *dirs)
{
    size_t n = dirs->n_slots, more = n ? 2 * n : 64;
    struct watched_dir **old = dirs->slots;
    if (2 * (dirs->n_watched + 1) <= n)
        return true;
    struct watched_dir **slots = calloc(more, sizeof(struct watched_dir *));
    if (!slots)
        return false;
    dirs->slots = slots;
    dirs->n_slots = more;
    for (size_t i = 0; i < n; i++)
        if (old[i])
            put_slot(dirs, old[i]);
    free(old);
    return true;
}

/* CAIRN_ENOMEM. No other one may have the number. */
static int dirs_set_watch(struct watched_dirs *dirs, struct watched_dir *dir, int watch)
{
    assert(dir->watch < 0 && watch >= 0);
    if (!make_room(dirs))
        return CAIRN_ENOMEM;
    dir->watch = watch;
    put_slot(dirs, dir);
    dirs->n_watched++;
    return 0;
}

/* NULL: none has the number. */
static struct watched_dir *dirs_find(const struct watched_dirs *dirs, int watch)
{
    if (!dirs->n_slots || watch < 0)
        return NULL;
    size_t at = slot_of(dirs, watch);
    while (dirs->slots[at] && dirs->slots[at]->watch != watch)
        at = (at + 1) & (dirs->n_slots - 1);
    return dirs->slots[at];
}

/* Those that follow move up, so that none is behind a free slot. */
static void drop_slot(struct watched_dirs *dirs, const struct watched_dir *dir)
{
    size_t most = dirs->n_slots - 1, at = slot_of(dirs, dir->watch);
    while (dirs->slots[at] != dir)
        at = (at + 1) & most;
    dirs->slots[at] = NULL;
    for (size_t i = (at + 1) & most; dirs->slots[i]; i = (i + 1) & most) {
        struct watched_dir *moved = dirs->slots[i];
        dirs->slots[i] = NULL;
        put_slot(dirs, moved);
    }
    dirs->n_watched--;
}

/* ---- The queue ---- */

static void put_queued(struct watched_dirs *dirs, struct watched_dir *dir)
{
    dir->queued = true;
    dir->queued_before = dirs->queue_last;
    if (dirs->queue_last)
        dirs->queue_last->queued_next = dir;
    else
        dirs->queue_first = dir;
    dirs->queue_last = dir;
}

static void drop_queued(struct watched_dirs *dirs, struct watched_dir *dir)
{
    if (dir->queued_before)
        dir->queued_before->queued_next = dir->queued_next;
    else
        dirs->queue_first = dir->queued_next;
    if (dir->queued_next)
        dir->queued_next->queued_before = dir->queued_before;
    else
        dirs->queue_last = dir->queued_before;
    dir->queued = false;
    dir->queued_next = dir->queued_before = NULL;
}

/* The first of the queue, which is taken out of it; NULL: it is empty. */
static struct watched_dir *dirs_take_queued(struct watched_dirs *dirs)
{
    struct watched_dir *dir = dirs->queue_first;
    if (dir)
        drop_queued(dirs, dir);
    return dir;
}

/* ---- By place ---- */

/* `above` NULL: the root. It is in the queue then. NULL: out of memory. */
static struct watched_dir *dirs_add(struct watched_dirs *dirs,
                                    struct watched_dir *above, struct str name)
{
    struct watched_dir *dir = calloc(1, sizeof *dir + name.len + 1);
    if (!dir)
        return NULL;
    assert(name.len < UINT16_MAX && (above || !dirs->root));
    dir->above = above;
    dir->watch = -1;
    dir->depth = above ? (uint16_t)(above->depth + 1) : 1;
    dir->length = (uint16_t)name.len;
    if (name.len)
        memcpy(dir->name, name.ptr, name.len);
    if (!above) {
        dirs->root = dir;
    } else {
        dir->before = above->last;
        if (above->last)
            above->last->next = dir;
        else
            above->first = dir;
        above->last = dir;
    }
    dirs->n++;
    put_queued(dirs, dir);
    return dir;
}

/* NULL: there is none of this name. */
static struct watched_dir *dirs_child(const struct watched_dir *dir, struct str name)
{
    struct watched_dir *child = dir->first;
    while (child && !str_equal((struct str){child->name, child->length}, name))
        child = child->next;
    return child;
}

static bool dirs_is_at_or_below(const struct watched_dir *dir,
                                const struct watched_dir *above)
{
    while (dir && dir != above)
        dir = dir->above;
    return dir != NULL;
}

/* Of one that has nothing below it. */
static void remove_one(struct watched_dirs *dirs, struct watched_dir *dir)
{
    struct watched_dir *above = dir->above;
    if (dir->queued)
        drop_queued(dirs, dir);
    if (dir->watch >= 0)
        drop_slot(dirs, dir);
    if (dir->before)
        dir->before->next = dir->next;
    else if (above)
        above->first = dir->next;
    else
        dirs->root = NULL;
    if (dir->next)
        dir->next->before = dir->before;
    else if (above)
        above->last = dir->before;
    if (dir->own) {
        dirs->rules_bytes -= dir->own->total;
        arena_release(dir->own);
    }
    free(dir->own);
    free(dir);
    dirs->n--;
}

/* With all below it. `ended` (may be NULL) receives the watches. */
static void dirs_remove(struct watched_dirs *dirs, struct watched_dir *dir,
                        void (*ended)(void *, int watch), void *context)
{
    struct watched_dir *at = dir;
    for (bool done = false; !done;) {
        while (at->first)
            at = at->first;
        struct watched_dir *above = at->above;
        done = at == dir;
        if (at->watch >= 0 && ended)
            ended(context, at->watch);
        remove_one(dirs, at);
        at = above;
    }
}

static void dirs_release(struct watched_dirs *dirs)
{
    if (dirs->root)
        dirs_remove(dirs, dirs->root, NULL, NULL);
    free(dirs->slots);
    *dirs = WATCHED_DIRS_INIT;
}

/* Appends its path from the root, "" for the root itself, and with a slash behind it
 * otherwise. */
static void dirs_path(const struct watched_dir *dir, struct buf *out)
{
    size_t length = 0;
    for (const struct watched_dir *at = dir; at->above; at = at->above)
        length += at->length + 1u;
    char *room = length ? buf_grow(out, length) : NULL;
    if (!room)
        return;
    for (const struct watched_dir *at = dir; at->above; at = at->above) {
        length -= at->length + 1u;
        memcpy(room + length, at->name, at->length);
        room[length + at->length] = '/';
    }
}

/* The arena becomes the directory's. CAIRN_ENOMEM. */
static int dirs_own_rules(struct watched_dirs *dirs, struct watched_dir *dir,
                          const struct arena *arena)
{
    dir->own = malloc(sizeof *dir->own);
    if (!dir->own)
        return CAIRN_ENOMEM;
    *dir->own = *arena;
    dirs->rules_bytes += arena->total;
    return 0;
}

/* ==== The walk, and what follows from notices ==== */

/* What is told of a directory is believed only as far as that somebody has to look: the
 * entry is opened by its path from the root, as it is then, so that it does not matter
 * what has become of it since. A directory is watched before it is read: what comes in
 * after that is told, what was there before is read. */

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static void tell(struct tree_watch *tree, enum tree_watch_note note, const char *path,
                 int sys)
{
    if (tree->told)
        tree->told(tree->context, note, path, sys);
}

static void forget_near(struct tree_watch *tree)
{
    if (tree->near)
        close(tree->near_fd);
    tree->near = NULL;
    tree->near_fd = -1;
}

static void end_watch(void *context, int watch)
{
    const struct tree_watch *tree = context;
    notify_remove(tree->notify, watch);
}

static void remove_dir(struct tree_watch *tree, struct watched_dir *dir)
{
    forget_near(tree);
    dirs_remove(&tree->dirs, dir, end_watch, tree);
}

static void end_all(struct tree_watch *tree)
{
    forget_near(tree);
    dirs_release(&tree->dirs);
    if (tree->notify >= 0)
        close(tree->notify);
    tree->notify = -1;
}

/* What there is of the table is dropped at the end of the step. */
static void go_blind(struct tree_watch *tree, enum tree_watch_note why, int sys)
{
    if (!tree->blind)
        tell(tree, why, tree->root, sys);
    tree->blind = tree->changed = tree->several = true;
}

/* Not again and again, where that takes long. */
static void begin_later(struct tree_watch *tree)
{
    enum { LEAST_NS = 1000000000, TIMES = 10 };
    int64_t pause = tree->took_ns * TIMES;
    tree->changed = tree->several = true;
    if (!tree->stale)
        tree->again_ns = tree->began_ns + (pause > LEAST_NS ? pause : LEAST_NS);
    tree->stale = true;
}

/* ---- Opening what is at a place ---- */

/* -1 and errno. */
static int open_root(struct tree_watch *tree)
{
    struct stat st;
    int fd = open(tree->root, OPEN_DIR);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == tree->root_st.st_dev &&
        st.st_ino == tree->root_st.st_ino)
        return fd;
    if (fd >= 0)
        close(fd);
    tree->root_lost = true;
    errno = ENOENT;
    return -1;
}

/* The directory above is mostly that of the one before. */
static int open_above(struct tree_watch *tree, const struct watched_dir *above)
{
    const struct watched_dir *way[SNAPSHOT_DEPTH_MOST];
    int n = 0, sys;
    if (tree->near == above)
        return tree->near_fd;
    forget_near(tree);
    for (const struct watched_dir *at = above; at->above; at = at->above)
        way[n++] = at;
    int fd = open_root(tree);
    while (fd >= 0 && n > 0) {
        int next = openat(fd, way[--n]->name, OPEN_DIR);
        sys = errno;
        close(fd);
        errno = sys;
        fd = next;
    }
    tree->near = fd >= 0 ? above : NULL;
    tree->near_fd = fd;
    return fd;
}

static int open_dir(struct tree_watch *tree, const struct watched_dir *dir)
{
    if (!dir->above)
        return open_root(tree);
    int above = open_above(tree, dir->above);
    return above < 0 ? -1 : openat(above, dir->name, OPEN_DIR);
}

/* ---- Looking into a directory ---- */

/* The path of an entry; false: out of memory. */
static bool path_of(struct tree_watch *tree, const struct watched_dir *dir,
                    struct str name)
{
    buf_clear(&tree->path);
    dirs_path(dir, &tree->path);
    buf_str(&tree->path, name);
    return !tree->path.failed;
}

static bool is_ignored(struct tree_watch *tree, const struct watched_dir *dir,
                       struct str name, bool is_dir)
{
    return dir->rules && path_of(tree, dir, name) &&
           ignore_matches(dir->rules, buf_view(&tree->path), is_dir);
}

static int add_dir(struct tree_watch *tree, struct watched_dir *above, struct str name)
{
    if (above->depth >= SNAPSHOT_DEPTH_MOST || is_ignored(tree, above, name, true))
        return 0;
    if (tree->dirs.n >= TREE_WATCH_DIRECTORIES_MOST) {
        go_blind(tree, TREE_WATCH_TOO_LARGE, 0);
        return 0;
    }
    return dirs_add(&tree->dirs, above, name) ? 0 : error_nomem(tree->error);
}

/* What is too large for rules, a snapshot refuses and says so. */
static int read_rules(struct tree_watch *tree, struct watched_dir *dir, int fd)
{
    struct arena arena = ARENA_INIT;
    const struct ignore_level *above = dir->above ? dir->above->rules : NULL;
    struct cairn_error why = {0};
    dir->rules = above;
    if (!path_of(tree, dir, STR("")))
        return error_nomem(tree->error);
    struct str path = buf_view(&tree->path);
    path.len -= path.len > 0; /* the slash behind it */
    int rc = rules_read(fd, path, above, &arena, &dir->rules, &why);
    if (rc == 0 && dir->rules != above)
        rc = dirs_own_rules(&tree->dirs, dir, &arena);
    else
        arena_release(&arena);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(tree->error);
    if (rc)
        dir->rules = above;
    if (tree->dirs.rules_bytes > TREE_WATCH_RULES_MOST)
        go_blind(tree, TREE_WATCH_TOO_LARGE, 0);
    return 0;
}

static bool entry_is_dir(int fd, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

static int read_entries(struct tree_watch *tree, struct watched_dir *dir, DIR *stream)
{
    const struct dirent *entry;
    int rc = 0;
    while (!rc && !tree->blind && (entry = readdir(stream))) {
        struct str name = str_of(entry->d_name);
        if (!tree_is_never_taken(name) && entry_is_dir(dirfd(stream), entry))
            rc = add_dir(tree, dir, name);
    }
    return rc;
}

/* Whatever else it is, it is nothing that a snapshot looks into. */
static void leave_unwatched(struct tree_watch *tree, struct watched_dir *dir, int sys)
{
    bool gone = os_is_missing(sys) || sys == ELOOP;
    if (!gone && path_of(tree, dir, STR("")))
        tell(tree, TREE_WATCH_UNREADABLE, tree->path.data, sys);
    if (sys == EMFILE || sys == ENFILE || sys == ENOMEM)
        begin_later(tree);
    if (dir->above)
        remove_dir(tree, dir);
    else
        tree->root_lost = true;
}

/* Is it at the same place? Or above, where a directory is mounted below itself. */
static bool is_known(const struct watched_dir *dir, const struct watched_dir *other)
{
    return (other->above == dir->above && strcmp(other->name, dir->name) == 0) ||
           dirs_is_at_or_below(dir, other);
}

/* Where it has another place in the table, it was moved, and that is not told yet. 1:
 * it is not a new one. */
static int watch_dir(struct tree_watch *tree, struct watched_dir *dir, int fd)
{
    int watch = notify_add(tree->notify, fd, NOTIFY_ENTRIES);
    struct watched_dir *other = dirs_find(&tree->dirs, watch);
    if (other && is_known(dir, other)) {
        remove_dir(tree, dir);
        return 1;
    }
    if (other) {
        remove_dir(tree, other);
        watch = notify_add(tree->notify, fd, NOTIFY_ENTRIES);
    }
    if (watch < 0 && errno == ENOSPC)
        go_blind(tree, TREE_WATCH_LIMIT, errno);
    else if (watch < 0 && !dir->above) /* such as where there is no /proc */
        go_blind(tree, TREE_WATCH_REFUSED, errno);
    else if (watch < 0)
        leave_unwatched(tree, dir, errno);
    else if (dirs_set_watch(&tree->dirs, dir, watch))
        return error_nomem(tree->error);
    return watch < 0 ? 1 : 0;
}

static int look_into(struct tree_watch *tree, struct watched_dir *dir)
{
    struct stat st;
    int fd = open_dir(tree, dir);
    if (fd < 0 || fstat(fd, &st) != 0) {
        leave_unwatched(tree, dir, errno);
        if (fd >= 0)
            close(fd);
        return 0;
    }
    if (st.st_dev == tree->store.st_dev && st.st_ino == tree->store.st_ino) {
        remove_dir(tree, dir);
        close(fd);
        return 0;
    }
    int rc = watch_dir(tree, dir, fd) ?: read_rules(tree, dir, fd);
    DIR *stream = rc || tree->blind ? NULL : fdopendir(fd);
    if (!stream)
        close(fd);
    else
        rc = read_entries(tree, dir, stream);
    if (stream)
        closedir(stream);
    return rc > 0 ? 0 : rc;
}

static int look_into_queued(struct tree_watch *tree)
{
    struct watched_dir *dir;
    int rc = 0;
    while (!rc && !tree->root_lost && !tree->blind &&
           (dir = dirs_take_queued(&tree->dirs)))
        rc = look_into(tree, dir);
    forget_near(tree);
    if (tree->blind)
        end_all(tree);
    return rc;
}

/* ---- From the beginning ---- */

int tree_watch_begin(struct tree_watch *tree, struct cairn_error *error)
{
    tree->error = error;
    tree->near_fd = -1;
    tree->near = NULL;
    tree->dirs = WATCHED_DIRS_INIT;
    tree->changed = tree->several = true;
    tree->blind = tree->stale = tree->root_lost = false;
    tree->began_ns = clock_boot_ns();
    if (lstat(tree->root, &tree->root_st) != 0 || !S_ISDIR(tree->root_st.st_mode)) {
        tree->root_lost = true;
        return 0;
    }
    tree->notify = notify_open();
    if (tree->notify < 0) {
        go_blind(tree, TREE_WATCH_REFUSED, errno);
        return 0;
    }
    if (!dirs_add(&tree->dirs, NULL, STR("")))
        return error_nomem(error);
    int rc = look_into_queued(tree);
    tree->took_ns = clock_boot_ns() - tree->began_ns;
    return rc;
}

void tree_watch_close(struct tree_watch *tree)
{
    end_all(tree);
    buf_release(&tree->path);
    buf_release(&tree->only);
}

/* ---- What has happened ---- */

static bool has_rules(struct str name)
{
    return str_equal(name, STR(".gitignore")) || str_equal(name, STR(".cairnignore"));
}

static int see_directory(struct tree_watch *tree, struct watched_dir *dir,
                         const struct notify_event *event)
{
    struct watched_dir *gone;
    if (event->what & NOTIFY_VANISHED)
        return 0; /* its own watch ends */
    while (event->what & NOTIFY_LEFT && (gone = dirs_child(dir, event->name)))
        remove_dir(tree, gone);
    return add_dir(tree, dir, event->name); /* another one may be there */
}

/* By device and inode: whatever it is called. */
static bool is_own(struct tree_watch *tree, const struct watched_dir *dir,
                   struct str name)
{
    struct stat st;
    int fd = tree->n_own > 0 && path_of(tree, dir, name) ? open_dir(tree, dir) : -1;
    if (fd < 0)
        return false;
    buf_clear(&tree->path);
    buf_str(&tree->path, name);
    bool found = !tree->path.failed &&
                 fstatat(fd, tree->path.data, &st, AT_SYMLINK_NOFOLLOW) == 0;
    close(fd);
    for (size_t i = 0; found && i < tree->n_own; i++)
        if (st.st_dev == tree->own[i].st_dev && st.st_ino == tree->own[i].st_ino)
            return true;
    return false;
}

/* The first one, and whether it is the content of that file alone. */
static void note_file(struct tree_watch *tree, const struct watched_dir *dir,
                      const struct notify_event *event)
{
    if (tree->several)
        return;
    bool named = path_of(tree, dir, event->name);
    tree->several = event->what != NOTIFY_CHANGED || !named;
    if (!named)
        return;
    if (tree->only.size == 0)
        buf_str(&tree->only, buf_view(&tree->path));
    else if (!str_equal(buf_view(&tree->only), buf_view(&tree->path)))
        tree->several = true;
    tree->several |= tree->only.failed;
}

static int see_entry(struct tree_watch *tree, struct watched_dir *dir,
                     const struct notify_event *event)
{
    bool is_dir = event->what & NOTIFY_DIRECTORY;
    if (tree_is_never_taken(event->name))
        return 0;
    if (!is_dir && has_rules(event->name))
        begin_later(tree);
    if (is_ignored(tree, dir, event->name, is_dir) ||
        (!is_dir && is_own(tree, dir, event->name)))
        return 0;
    tree->changed = true;
    note_file(tree, dir, event);
    return is_dir ? see_directory(tree, dir, event) : 0;
}

/* Removed, or unmounted: then another one is in its place. */
static int see_ended(struct tree_watch *tree, struct watched_dir *dir)
{
    tree->changed = tree->several = true;
    int rc = add_dir(tree, dir->above, (struct str){dir->name, dir->length});
    remove_dir(tree, dir);
    return rc;
}

static int see(void *context, const struct notify_event *event)
{
    struct tree_watch *tree = context;
    struct watched_dir *dir = dirs_find(&tree->dirs, event->watch);
    if (event->what & NOTIFY_LOST) {
        if (!tree->stale)
            tell(tree, TREE_WATCH_OVERFLOW, tree->root, 0);
        begin_later(tree);
        return 0;
    }
    if (!dir)
        return 0;
    if (event->name.len)
        return see_entry(tree, dir, event);
    if (!dir->above && event->what & (NOTIFY_SELF | NOTIFY_ENDED))
        tree->root_lost = tree->changed = tree->several = true;
    else if (dir->above && event->what & NOTIFY_ENDED)
        return see_ended(tree, dir);
    return 0;
}

int tree_watch_step(struct tree_watch *tree, struct cairn_error *error)
{
    tree->error = error;
    if (tree->blind || tree->root_lost || tree->notify < 0)
        return 0;
    int rc = notify_read(tree->notify, see, tree);
    if (rc > 0)
        rc = error_sys(error, rc, "reading from inotify");
    if (rc)
        return rc;
    if (!tree->stale || clock_boot_ns() < tree->again_ns)
        return look_into_queued(tree);
    end_all(tree);
    return tree_watch_begin(tree, error);
}
