/* SPDX-License-Identifier: MIT */
/* Walking the directories of a snapshot, from the root down, each in the order of its
 * names, beside what the snapshot before has of it. */
#include "snapshot/content.h"
#include "snapshot/ignore.h"
#include "snapshot/index.h"
#include "snapshot/snapshot.h"

#include "base/clock.h"
#include "checkpoint/nodes/nodes.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* A directory that is being walked. */
struct level {
    int fd;
    struct arena arena; /* of names and entries */
    struct str *names;  /* in order; each ends with a NUL */
    uint32_t n, next;
    struct tree tree; /* what was taken so far */
    bool same;        /* all of it is as before */

    struct index_entry *old; /* of the snapshot before; names in order */
    uint32_t n_old, at_old;
    bool has_before;
    struct digest before; /* of its tree then */

    const struct ignore_level *rules; /* NULL: none */
    struct tree kept;                 /* of what is taken even if it is to be ignored */
    bool only_kept;                   /* the rest is ignored */
    bool chosen; /* it lies in one of request->only: all of it is taken */

    struct str name; /* in the directory above; "" is the root */
    struct stat st;
    const struct tree_entry *was; /* the entry above, of the snapshot before, or NULL */
    size_t path;                  /* length of the path above */
    struct index_place place;
    size_t length_at; /* in the index */
};

struct taking {
    const struct snapshot_request *request;
    struct snapshot *out;
    struct index index;
    struct content_reader reader;
    struct level *levels; /* [SNAPSHOT_DEPTH_MOST] */
    uint32_t depth;
    struct buf path; /* of the directory, with a slash behind it, or empty */
    struct snapshot_sums sums;
    struct stat store;
    char *found; /* [FOUND_BYTES]: names, as the kernel gives them */
    struct cairn_error *error;
};

enum { FOUND_BYTES = 64 << 10 };

/* ---- The directory as it is ---- */

static bool has_name(const struct level *level, struct str name)
{
    return level->n && bsearch(&name, level->names, level->n, sizeof name, str_order);
}

static int add_name(struct level *level, struct str name, struct buf *all)
{
    buf_str(all, name);
    buf_byte(all, 0);
    level->n++;
    return all->failed ? CAIRN_ENOMEM : 0;
}

/* `n` bytes of names, as the kernel gives them. */
static int add_names(const struct taking *t, struct level *level, size_t n,
                     struct buf *all)
{
    int rc = 0;
    for (size_t at = 0; at < n && !rc;) {
        const struct dirent64 *found = (const void *)(t->found + at);
        struct str name = {found->d_name, strlen(found->d_name)};
        if (!tree_is_never_taken(name) && !tree_is_kept_beside(name))
            rc = add_name(level, name, all);
        at += found->d_reclen;
    }
    return rc;
}

/* 1: it cannot be read. */
static int read_names(struct taking *t, struct level *level)
{
    struct buf all = BUF_INIT;
    ssize_t n = 1;
    int rc = 0;
    while (!rc && n > 0) {
        n = getdents64(level->fd, t->found, FOUND_BYTES);
        if (n > 0)
            rc = add_names(t, level, (size_t)n, &all);
    }
    const char *text = arena_str(&level->arena, buf_view(&all)).ptr;
    level->names = arena_take(&level->arena, level->n, sizeof *level->names);
    level->tree.entries =
        arena_take(&level->arena, level->n, sizeof *level->tree.entries);
    buf_release(&all);
    if (rc || level->arena.failed)
        return error_nomem(t->error);
    for (uint32_t i = 0; i < level->n; i++) {
        level->names[i] = str_of(text);
        text += level->names[i].len + 1;
    }
    if (level->n)
        qsort(level->names, level->n, sizeof *level->names, str_order);
    return n < 0;
}

/* ---- The directory as it was ---- */

static int read_old_tree(struct taking *t, struct level *level)
{
    struct tree tree;
    struct cairn_error why = {0};
    int rc = snapshot_read_tree(t->request->store, &level->before, &level->arena, &tree,
                                &why);
    if (rc == CAIRN_EDAMAGED) { /* then it is made anew */
        level->has_before = false;
        return 0;
    }
    if (rc)
        return error_set(t->error, rc, "%s", why.text);
    level->old = arena_take(&level->arena, tree.n, sizeof *level->old);
    if (level->arena.failed)
        return error_nomem(t->error);
    for (uint32_t i = 0; i < tree.n; i++)
        level->old[i].entry = tree.entries[i];
    level->n_old = tree.n;
    return 0;
}

static int read_old(struct taking *t, struct level *level, struct str block)
{
    if (block.len && index_entries(&level->arena, block, &level->old, &level->n_old))
        return 0;
    level->n_old = 0;
    if (level->arena.failed)
        return error_nomem(t->error);
    return level->has_before ? read_old_tree(t, level) : 0;
}

/* Names come in order. NULL: it is new. */
static const struct index_entry *find_old(struct level *level, struct str name)
{
    while (level->at_old < level->n_old) {
        const struct index_entry *old = &level->old[level->at_old];
        int order = str_compare(old->entry.name, name);
        if (order == 0)
            return old;
        if (order > 0)
            break;
        level->at_old++;
    }
    return NULL;
}

static int read_kept(struct taking *t, struct level *level,
                     const struct tree_entry *entry)
{
    if (!entry || entry->kind != TREE_DIRECTORY)
        return 0;
    return snapshot_read_tree(t->request->store, &entry->digest, &level->arena,
                              &level->kept, t->error);
}

/* ---- Entries ---- */

/* Where nothing but the time differs, it stays what it was. */
static void note_entry(struct level *level, struct tree_entry *entry,
                       const struct tree_entry *old)
{
    bool same = old && tree_same(old, entry);
    if (same)
        entry->mtime_ns = old->mtime_ns;
    level->same = level->same && same;
    level->tree.entries[level->tree.n++] = *entry;
}

static struct level *top_of(struct taking *t)
{
    assert(t->depth > 0);
    return &t->levels[t->depth - 1];
}

static int count_entry(struct taking *t, const struct tree_entry *entry)
{
    snapshot_count(&t->sums, entry, t->path.size + entry->name.len);
    int rc = snapshot_within(&t->sums, buf_view(&t->path), t->error);
    if (rc && !t->request->only)
        error_context(
            t->error,
            "the files below %s are too many for one checkpoint: list what is "
            "not needed in .cairnignore, or name another directory with "
            "`cairn session config files DIR`",
            t->request->root);
    return rc;
}

/* Of anything but a directory. */
static int take_entry(struct taking *t, struct index_entry *made,
                      const struct index_entry *old)
{
    struct level *level = top_of(t);
    struct tree_entry *entry = &made->entry;
    note_entry(level, entry, old ? &old->entry : NULL);
    entry->mtime_ns = level->tree.entries[level->tree.n - 1].mtime_ns;
    if (made->as_read.len)
        index_put_again(&t->out->index, &level->place, made);
    else
        index_put(&t->out->index, &level->place, made);
    int rc = count_entry(t, entry);
    if (rc)
        return rc;
    if (entry->kind == TREE_LEFT_OUT && t->request->left_out) {
        size_t length = t->path.size;
        buf_str(&t->path, entry->name);
        rc = buf_check(&t->path, t->error);
        if (rc)
            return rc;
        t->request->left_out(t->request->context, buf_view(&t->path), entry->why);
        t->path.size = length;
    }
    return buf_check(&t->out->index, t->error);
}

static int leave_out(struct taking *t, struct str name, uint8_t why,
                     const struct index_entry *old)
{
    struct index_entry made = {
        .entry = {.name = name, .kind = TREE_LEFT_OUT, .why = why}};
    return take_entry(t, &made, old);
}

/* Is it the file that was read for the snapshot before, and as it was? */
static bool is_unread(const struct taking *t, const struct index_entry *old,
                      const struct stat_sign *sign)
{
    return old && old->has_sign && stat_sign_equal(&old->sign, sign) &&
           clock_settled((int64_t)sign->ctime_ns, t->index.began_ns) &&
           clock_settled((int64_t)sign->mtime_ns, t->index.began_ns);
}

static int take_file(struct taking *t, struct str name, struct stat *st,
                     const struct index_entry *old)
{
    struct level *level = top_of(t);
    struct index_entry made = {.entry = {.name = name}, .sign = stat_sign_of(st)};
    bool was_file = old && tree_is_file(&old->entry);
    if (was_file && is_unread(t, old, &made.sign)) {
        made = *old;
        made.entry.name = name;
        return take_entry(t, &made, old);
    }
    int rc =
        content_put(&t->reader, level->fd, name.ptr,
                    was_file ? &old->entry.digest : NULL, st, &made.entry, t->error);
    if (rc)
        return rc < 0 ? rc : 0;
    made.sign = stat_sign_of(st);
    t->out->n_read++;
    t->out->changed = true;
    return take_entry(t, &made, old);
}

static int take_link(struct taking *t, struct str name, const struct stat *st,
                     const struct index_entry *old)
{
    struct level *level = top_of(t);
    char target[TREE_TARGET_BYTES + 1];
    struct index_entry made = {.entry = {.name = name, .kind = TREE_LINK},
                               .sign = stat_sign_of(st)};
    if (old && old->entry.kind == TREE_LINK && is_unread(t, old, &made.sign)) {
        made = *old;
        made.entry.name = name;
        return take_entry(t, &made, old);
    }
    ssize_t n = readlinkat(level->fd, name.ptr, target, sizeof target);
    if (n < 0 && errno == ENOENT)
        return 0;
    if (n <= 0 || n > TREE_TARGET_BYTES)
        return leave_out(t, name, LEFT_UNREADABLE, old);
    made.entry.target = arena_str(&level->arena, (struct str){target, (size_t)n});
    t->out->changed = true;
    return level->arena.failed ? error_nomem(t->error) : take_entry(t, &made, old);
}

/* ---- Directories ---- */

static int read_level_rules(struct taking *t, struct level *level)
{
    const struct ignore_level *above = t->depth > 1 ? (level - 1)->rules : NULL;
    struct str path = buf_view(&t->path);
    path.len -= path.len > 0; /* the slash behind it */
    level->rules = above;
    if (t->request->only ||
        (!has_name(level, STR(".gitignore")) && !has_name(level, STR(".cairnignore"))))
        return 0;
    return rules_read(level->fd, path, above, &level->arena, &level->rules, t->error);
}

/* 1: it is, 0: it is not. */
static int is_ignored(struct taking *t, const struct level *level, struct str name,
                      bool is_dir)
{
    size_t length = t->path.size;
    if (!level->rules)
        return 0;
    buf_str(&t->path, name);
    int rc = buf_check(&t->path, t->error)
                 ?: ignore_matches(level->rules, buf_view(&t->path), is_dir);
    t->path.size = length;
    return rc;
}

static int enter(struct taking *t, struct level *level, int fd, struct str block,
                 const struct tree_entry *kept)
{
    level->fd = fd;
    level->same = true;
    t->depth++;
    return read_names(t, level)
           ?: read_level_rules(t, level)
           ?: read_old(t, level, block)
           ?: read_kept(t, level, kept);
}

static void leave(struct taking *t)
{
    struct level *level = top_of(t);
    close(level->fd);
    arena_release(&level->arena);
    t->path.size = level->path;
    t->depth--;
}

static bool is_the_store(const struct taking *t, const struct stat *st)
{
    return st->st_dev == t->store.st_dev && st->st_ino == t->store.st_ino;
}

static int take_directory(struct taking *t, struct str name, const struct stat *st,
                          const struct index_entry *old, const struct tree_entry *kept)
{
    struct level *above = top_of(t);
    bool was = old && old->entry.kind == TREE_DIRECTORY;
    if (t->depth == SNAPSHOT_DEPTH_MOST)
        return leave_out(t, name, LEFT_DEEP, old);
    int fd =
        openat(above->fd, name.ptr, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return error_sys(t->error, errno, "opening a directory");
    if (fd < 0)
        return leave_out(t, name, LEFT_UNREADABLE, old);
    struct level *level = &t->levels[t->depth];
    *level = (struct level){.name = name,
                            .st = *st,
                            .path = t->path.size,
                            .was = was ? &old->entry : NULL,
                            .has_before = was};
    if (was)
        level->before = old->entry.digest;
    size_t index_size = t->out->index.size;
    level->length_at = index_begin_directory(&t->out->index, &above->place, name);
    level->place = index_begin_block(&t->out->index);
    buf_str(&t->path, name);
    buf_byte(&t->path, '/');
    int rc = enter(t, level, fd, was ? old->block : STR(""), kept);
    if (rc <= 0)
        return rc;
    leave(t); /* what was read of it is not all */
    t->out->index.size = index_size;
    above->place.n--;
    return leave_out(t, name, LEFT_UNREADABLE, old);
}

/* Its tree goes into the pool, unless it is there. */
static int put_tree(struct taking *t, const struct level *level, struct digest *digest)
{
    struct buf content = BUF_INIT;
    if (level->has_before && level->same && level->tree.n == level->n_old) {
        *digest = level->before;
        return 0;
    }
    t->out->changed = true;
    tree_encode(&level->tree, &content);
    int rc =
        buf_check(&content, t->error)
            ?: stage_put(&t->out->stage, buf_view(&content),
                         level->has_before ? &level->before : NULL, digest, t->error);
    buf_release(&content);
    return rc;
}

static int finish_directory(struct taking *t)
{
    struct level *level = top_of(t);
    struct tree_entry entry = {.name = level->name,
                               .kind = TREE_DIRECTORY,
                               .mode = level->st.st_mode & TREE_MODE_BITS,
                               .mtime_ns = timespec_ns(&level->st.st_mtim)};
    const struct tree_entry *was = level->was;
    size_t length_at = level->length_at;
    int rc = put_tree(t, level, &entry.digest);
    if (rc)
        return rc;
    index_end_block(&t->out->index, &level->place);
    leave(t);
    if (t->depth == 0) {
        t->out->root = entry.digest;
        return buf_check(&t->out->index, t->error);
    }
    note_entry(top_of(t), &entry, was);
    entry.mtime_ns = top_of(t)->tree.entries[top_of(t)->tree.n - 1].mtime_ns;
    index_end_directory(&t->out->index, length_at, &entry);
    return count_entry(t, &entry) ?: buf_check(&t->out->index, t->error);
}

/* Of those that were asked for. */
enum chosen { CHOSEN_NOT, CHOSEN_INSIDE, CHOSEN_WHOLE };

static size_t first_from(const struct snapshot_request *request, struct str path)
{
    size_t low = 0, high = request->n_only;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_compare(request->only[middle], path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether `name` in this directory is one (the n-th), or some are below it. */
static int find_chosen(struct taking *t, const struct level *level, struct str name,
                       enum chosen *chosen, size_t *n)
{
    const struct snapshot_request *request = t->request;
    size_t length = t->path.size;
    *chosen = CHOSEN_WHOLE;
    *n = SIZE_MAX;
    if (!request->only || level->chosen)
        return 0;
    buf_str(&t->path, name);
    buf_byte(&t->path, '/');
    int rc = buf_check(&t->path, t->error);
    struct str below = buf_view(&t->path), path = {below.ptr, below.len - !rc};
    size_t i = rc ? 0 : first_from(request, path);
    bool whole = !rc && i < request->n_only && str_equal(request->only[i], path);
    if (whole)
        *n = i;
    else if (!rc)
        i = first_from(request, below);
    bool inside = !rc && i < request->n_only && str_begins(request->only[i], below);
    *chosen = whole ? CHOSEN_WHOLE : inside ? CHOSEN_INSIDE : CHOSEN_NOT;
    t->path.size = length;
    return rc;
}

static int take_found(struct taking *t, struct str name, const struct index_entry *old,
                      enum chosen chosen)
{
    struct level *level = top_of(t);
    const struct tree_entry *kept = tree_find(&level->kept, name);
    struct stat st;
    if (level->only_kept && !kept)
        return 0;
    if (fstatat(level->fd, name.ptr, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : leave_out(t, name, LEFT_UNREADABLE, old);
    if (chosen == CHOSEN_INSIDE && !S_ISDIR(st.st_mode))
        return 0;
    int ignored = is_ignored(t, level, name, S_ISDIR(st.st_mode));
    if (ignored < 0 || (ignored && !kept))
        return ignored < 0 ? ignored : 0;
    if (S_ISREG(st.st_mode))
        return take_file(t, name, &st, old);
    if (S_ISLNK(st.st_mode))
        return take_link(t, name, &st, old);
    if (!S_ISDIR(st.st_mode))
        return leave_out(t, name, LEFT_SPECIAL, old);
    if (is_the_store(t, &st))
        return 0;
    uint32_t depth = t->depth;
    int rc = take_directory(t, name, &st, old, kept);
    if (t->depth > depth) {
        top_of(t)->only_kept = ignored || level->only_kept;
        top_of(t)->chosen = chosen == CHOSEN_WHOLE;
    }
    return rc;
}

static int take_name(struct taking *t, struct str name)
{
    const struct level *level = top_of(t);
    const struct index_entry *old = find_old(top_of(t), name);
    uint32_t depth = t->depth, n = level->tree.n;
    enum chosen chosen;
    size_t asked;
    int rc = find_chosen(t, level, name, &chosen, &asked);
    if (!rc && chosen != CHOSEN_NOT)
        rc = take_found(t, name, old, chosen);
    if (!rc && asked != SIZE_MAX)
        t->request->taken[asked] = t->depth > depth || level->tree.n > n;
    return rc;
}

/* ---- All of it ---- */

static int open_root(struct taking *t, struct stat *st)
{
    const char *root = t->request->root;
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, st) == 0)
        return fd;
    int sys = errno;
    if (fd >= 0)
        close(fd);
    return error_sys(t->error, sys, "the directory %s%s cannot be read", root,
                     t->request->only ? "" : ", whose files belong to the session,");
}

static int begin_walk(struct taking *t)
{
    const struct snapshot_request *request = t->request;
    struct snapshot_head before = {.root = t->index.root}, keep = {.counts = {0}};
    struct tree_entry kept = {.kind = TREE_DIRECTORY};
    struct level *root = &t->levels[0];
    struct arena arena = ARENA_INIT;
    bool has_before = t->index.bytes.size > 0;
    if (!has_before && request->before) /* a damaged one is none */
        has_before =
            snapshot_read(request->store, request->before, &arena, &before, NULL) == 0;
    int rc = request->keep
                 ? snapshot_read(request->store, request->keep, &arena, &keep, t->error)
                 : 0;
    arena_release(&arena);
    *root = (struct level){.name = STR(""), .has_before = has_before};
    root->before = before.root;
    kept.digest = keep.root;
    int fd = rc ? -1 : open_root(t, &root->st);
    if (rc || fd < 0)
        return rc ? rc : fd;
    root->place = index_begin_block(&t->out->index);
    return enter(t, root, fd, t->index.block, request->keep ? &kept : NULL);
}

static int walk(struct taking *t)
{
    int rc = begin_walk(t);
    if (rc > 0)
        rc = error_set(t->error, CAIRN_EIO, "reading the directory %s",
                       t->request->root);
    while (!rc && t->depth) {
        struct level *level = top_of(t);
        rc = level->next < level->n ? take_name(t, level->names[level->next++])
                                    : finish_directory(t);
    }
    while (t->depth)
        leave(t);
    return rc;
}

/* Nothing has changed since, and the head can be read: then nothing is written. */
static int is_there(struct taking *t, struct str head, bool *out)
{
    const struct snapshot_request *request = t->request;
    struct snapshot_head read;
    struct arena arena = ARENA_INIT;
    struct digest *digest = &t->out->digest;
    int rc = sha256_of(head.ptr, head.len, digest, t->error);
    *out = !rc && request->before && digest_equal(digest, request->before) &&
           snapshot_read(request->store, digest, &arena, &read, NULL) == 0;
    arena_release(&arena);
    return rc;
}

void snapshot_head_encode(const struct snapshot_head *head, struct buf *out)
{
    const struct snapshot_counts *counts = &head->counts;
    struct buf body = BUF_INIT;
    buf_byte(&body, 1);
    buf_lstr(&body, head->root_name);
    buf_varint(&body, counts->files);
    buf_varint(&body, counts->directories);
    buf_varint(&body, counts->links);
    buf_varint(&body, counts->left_out);
    buf_varint(&body, counts->bytes);
    node_encode(digest_view(&head->root), STR(""), buf_view(&body), out);
    out->failed = out->failed || body.failed;
    buf_release(&body);
}

static int put_head(struct taking *t)
{
    t->out->counts = t->sums.counts;
    struct snapshot_head head = {t->out->root, t->request->root_name, t->out->counts};
    struct buf content = BUF_INIT;
    bool there = false;
    snapshot_head_encode(&head, &content);
    int rc = buf_check(&content, t->error) ?: is_there(t, buf_view(&content), &there);
    if (!rc && !there)
        rc = stage_put(&t->out->stage, buf_view(&content), t->request->before,
                       &t->out->digest, t->error);
    buf_release(&content);
    if (rc || (t->request->in_transaction && stage_is_little(&t->out->stage)))
        return rc;
    return stage_flush(&t->out->stage, t->error);
}

static int load_index(struct taking *t)
{
    const struct snapshot_request *request = t->request;
    int rc = index_load(request->index, &t->index, t->error);
    if (rc || !t->index.bytes.size)
        return rc;
    rc = request->anchored(request->context, t->index.anchor, t->error);
    if (rc == 0)
        index_release(&t->index);
    return rc < 0 ? rc : 0;
}

static int take(struct taking *t)
{
    const struct snapshot_request *request = t->request;
    int rc = stage_begin(&t->out->stage, request->store, request->wait, request->stop,
                         t->error)
                 ?: load_index(t);
    if (rc)
        return rc;
    t->reader = (struct content_reader){&t->out->stage, malloc(TREE_CHUNK_MOST + 1)};
    t->levels = calloc(SNAPSHOT_DEPTH_MOST, sizeof *t->levels);
    t->found = malloc(FOUND_BYTES);
    rc = !t->reader.room || !t->levels || !t->found ? error_nomem(t->error) : walk(t);
    return rc ?: put_head(t);
}

int snapshot_take(const struct snapshot_request *request, struct snapshot *out,
                  struct cairn_error *error)
{
    struct taking t = {.request = request, .out = out, .error = error};
    *out = (struct snapshot){.began_ns = clock_utc_ns()};
    if (stat(cairn_store_path(request->store), &t.store) != 0)
        t.store = (struct stat){0};
    int rc = take(&t);
    free(t.reader.room);
    free(t.levels);
    free(t.found);
    buf_release(&t.path);
    index_release(&t.index);
    return rc;
}

/* What becomes of a snapshot that was taken. */

int snapshot_put(struct snapshot *snapshot, struct cairn_error *error)
{
    return stage_put_waiting(&snapshot->stage, error);
}

int snapshot_save_index(const struct snapshot *snapshot, const char *path,
                        struct str anchor, struct cairn_error *error)
{
    struct index index = {.anchor = anchor,
                          .began_ns = snapshot->began_ns,
                          .snapshot = snapshot->digest,
                          .root = snapshot->root,
                          .block = buf_view(&snapshot->index)};
    return index_save(path, &index, error);
}

void snapshot_end(struct snapshot *snapshot)
{
    stage_end(&snapshot->stage);
    buf_release(&snapshot->index);
}
