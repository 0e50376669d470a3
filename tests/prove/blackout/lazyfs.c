/* SPDX-License-Identifier: MIT */
/* A file system in memory that knows what a power cut would take away.
 *
 *   lazyfs -s -f MOUNTPOINT
 *
 * Everybody who uses it sees what was written. Writing "cut MODE SEED DIR" into the
 * file
 * `.ctl` of its root puts into DIR, an existing empty directory elsewhere, what the
 * disk would hold if the power went at that moment: of each file the content at its
 * last fsync, of each directory the names at its last fsync (that of a file makes no
 * name durable). MODE none: nothing else; some: of what came after, each write and each
 * name with the same chance as not, by SEED. Nothing else changes.
 *
 * Invariants: a node lives while a name of either tree or an open handle leads to it;
 * names of one tree never lead to nodes that are freed. */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 128, PATH_SIZE = 1024, DEPTH_MAX = 8 };

struct node;
struct bytes {
    char *data;
    size_t size, room;
};
struct entry {
    char name[NAME_SIZE];
    struct node *node;
};
struct names {
    struct entry *all;
    size_t n;
};
struct op {   /* of a file, since its last sync */
    off_t at; /* or the new size */
    char *data;
    size_t size;
    bool truncate;
};
struct node {
    ino_t ino;
    mode_t mode;
    unsigned uses; /* names in both trees, handles */
    struct timespec mtime;
    struct bytes now, durable;
    struct op *ops;
    size_t n_ops;
    struct names entries, durable_entries; /* of a directory */
};

static struct node *root;
static ino_t last_ino;

/* ---- Nodes ---- */

static void *grown(void *array, size_t n, size_t size)
{
    if (n > 0 && (n & (n - 1)) != 0)
        return array;
    void *more = realloc(array, (n ? n * 2 : 1) * size);
    if (!more)
        abort();
    return more;
}

static struct node *node_new(mode_t mode)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        abort();
    node->ino = ++last_ino;
    node->mode = mode;
    clock_gettime(CLOCK_REALTIME, &node->mtime);
    return node;
}

static void drop_ops(struct node *node)
{
    for (size_t i = 0; i < node->n_ops; i++)
        free(node->ops[i].data);
    node->n_ops = 0;
}

/* Directories are never freed: their entries would have to be given up, too. */
static void node_release(struct node *node)
{
    if (--node->uses > 0 || S_ISDIR(node->mode))
        return;
    drop_ops(node);
    free(node->ops);
    free(node->now.data);
    free(node->durable.data);
    free(node);
}

static void resize(struct bytes *bytes, size_t size)
{
    if (size > bytes->room) {
        bytes->room = size * 2;
        bytes->data = realloc(bytes->data, bytes->room);
        if (!bytes->data)
            abort();
    }
    if (size > bytes->size)
        memset(bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

static void apply(struct bytes *bytes, const struct op *op)
{
    size_t end = (size_t)op->at + op->size;
    if (op->truncate || end > bytes->size)
        resize(bytes, op->truncate ? (size_t)op->at : end);
    if (op->size > 0)
        memcpy(bytes->data + op->at, op->data, op->size);
}

static void do_op(struct node *node, struct op op)
{
    node->ops = grown(node->ops, node->n_ops, sizeof op);
    node->ops[node->n_ops++] = op;
    apply(&node->now, &op);
    clock_gettime(CLOCK_REALTIME, &node->mtime);
}

/* ---- Names ---- */

static struct entry *names_find(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->all[i].name, name) == 0)
            return &names->all[i];
    return NULL;
}

static void names_drop(struct names *names, const char *name)
{
    struct entry *entry = names_find(names, name);
    if (!entry)
        return;
    struct node *node = entry->node;
    *entry = names->all[--names->n];
    node_release(node);
}

static void names_put(struct names *names, const char *name, struct node *node)
{
    node->uses++;
    names_drop(names, name);
    names->all = grown(names->all, names->n, sizeof names->all[0]);
    struct entry *entry = &names->all[names->n++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->node = node;
}

/* The directory that holds `path` and the name in it; the root itself has none. */
static struct node *parent_of(const char *path, char name[NAME_SIZE])
{
    struct node *dir = root;
    const char *at = path + 1, *slash;
    for (; dir && (slash = strchr(at, '/')); at = slash + 1) {
        snprintf(name, NAME_SIZE, "%.*s", (int)(slash - at), at);
        const struct entry *entry = names_find(&dir->entries, name);
        dir = entry && S_ISDIR(entry->node->mode) ? entry->node : NULL;
    }
    snprintf(name, NAME_SIZE, "%s", at);
    return dir;
}

static struct node *node_at(const char *path)
{
    char name[NAME_SIZE];
    if (strcmp(path, "/") == 0)
        return root;
    const struct node *dir = parent_of(path, name);
    const struct entry *entry = dir ? names_find(&dir->entries, name) : NULL;
    return entry ? entry->node : NULL;
}

static struct node *node_of(const char *path, struct fuse_file_info *info)
{
    return info && info->fh ? (struct node *)(uintptr_t)info->fh : node_at(path);
}

/* ---- The power cut ---- */

struct cut {
    bool some;
    uint64_t random;
};

static bool coin(struct cut *cut)
{
    cut->random = cut->random * 6364136223846793005u + 1442695040888963407u;
    return cut->some && (cut->random >> 40 & 1);
}

static int cut_file(struct cut *cut, const struct node *node, const char *path)
{
    struct bytes content = {0};
    resize(&content, node->durable.size);
    if (content.size > 0)
        memcpy(content.data, node->durable.data, content.size);
    for (size_t i = 0; i < node->n_ops; i++)
        if (coin(cut))
            apply(&content, &node->ops[i]);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    bool good =
        fd >= 0 && write(fd, content.data, content.size) == (ssize_t)content.size;
    if (fd >= 0)
        close(fd);
    free(content.data);
    return good ? 0 : -EIO;
}

/* The durable names, or as many of the changes as chance wants. */
static struct names cut_names(struct cut *cut, const struct node *dir)
{
    struct names names = {0};
    for (size_t i = 0; i < dir->durable_entries.n; i++) {
        const struct entry *old = &dir->durable_entries.all[i];
        const struct entry *now = names_find(&dir->entries, old->name);
        bool changed = !now || now->node != old->node;
        if (!changed || !coin(cut))
            names_put(&names, old->name, old->node);
        else if (now)
            names_put(&names, now->name, now->node);
    }
    for (size_t i = 0; i < dir->entries.n; i++)
        if (!names_find(&dir->durable_entries, dir->entries.all[i].name) && coin(cut))
            names_put(&names, dir->entries.all[i].name, dir->entries.all[i].node);
    return names;
}

struct level {
    struct names names;
    size_t next, length; /* of the path before its names */
};

static int cut_to(struct cut *cut, const char *target)
{
    struct level levels[DEPTH_MAX];
    char path[PATH_SIZE];
    int depth = 0, rc = 0;
    snprintf(path, sizeof path, "%s", target);
    levels[0] = (struct level){cut_names(cut, root), 0, strlen(path)};
    while (depth >= 0) {
        struct level *level = &levels[depth];
        if (rc || level->next == level->names.n) {
            while (level->names.n > 0)
                names_drop(&level->names, level->names.all[0].name);
            free(level->names.all);
            depth--;
            continue;
        }
        const struct entry *entry = &level->names.all[level->next++];
        int n = snprintf(path + level->length, sizeof path - level->length, "/%s",
                         entry->name);
        if (n < 0 || level->length + (size_t)n >= sizeof path || depth + 1 == DEPTH_MAX)
            rc = -ENAMETOOLONG;
        else if (S_ISREG(entry->node->mode))
            rc = cut_file(cut, entry->node, path);
        else if (S_ISDIR(entry->node->mode) && mkdir(path, 0700))
            rc = -errno;
        else if (S_ISDIR(entry->node->mode))
            levels[++depth] = (struct level){cut_names(cut, entry->node), 0,
                                             level->length + (size_t)n};
    }
    return rc;
}

static int control(const char *text, size_t size)
{
    char line[PATH_SIZE], mode[8] = "", target[PATH_SIZE] = "";
    unsigned long seed = 0;
    snprintf(line, sizeof line, "%.*s", (int)size, text);
    if (sscanf(line, "cut %7s %lu %1023s", mode, &seed, target) != 3)
        return -EINVAL;
    struct cut cut = {.some = strcmp(mode, "some") == 0, .random = seed};
    int rc = cut_to(&cut, target);
    return rc ? rc : (int)size;
}

/* ---- What the kernel asks ---- */

static bool is_control(const char *path)
{
    return path && strcmp(path, "/.ctl") == 0;
}

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
    bool of_control = info ? !info->fh : is_control(path);
    const struct node *node = of_control ? root : node_of(path, info);
    if (!node)
        return -ENOENT;
    *st = (struct stat){.st_ino = of_control ? (ino_t)1 << 40 : node->ino,
                        .st_mode = of_control ? S_IFREG | 0600 : node->mode,
                        .st_nlink = 1,
                        .st_uid = getuid(),
                        .st_gid = getgid(),
                        .st_size = of_control ? 0 : (off_t)node->now.size,
                        .st_mtim = node->mtime,
                        .st_ctim = node->mtime};
    return 0;
}

static int fs_readdir(const char *path, void *out, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    const struct node *dir = node_of(path, info);
    (void)offset;
    (void)flags;
    if (!dir)
        return -ENOENT;
    fill(out, ".", NULL, 0, 0);
    fill(out, "..", NULL, 0, 0);
    for (size_t i = 0; i < dir->entries.n; i++)
        fill(out, dir->entries.all[i].name, NULL, 0, 0);
    return 0;
}

static int add(const char *path, mode_t mode, struct node **made)
{
    char name[NAME_SIZE];
    struct node *dir = parent_of(path, name);
    if (!dir || strlen(name) + 1 >= NAME_SIZE)
        return dir ? -ENAMETOOLONG : -ENOENT;
    if (names_find(&dir->entries, name))
        return -EEXIST;
    *made = node_new(mode);
    names_put(&dir->entries, name, *made);
    return 0;
}

static int fs_mkdir(const char *path, mode_t mode)
{
    struct node *node;
    return add(path, S_IFDIR | mode, &node);
}

static int fs_mknod(const char *path, mode_t mode, dev_t dev)
{
    struct node *node;
    (void)dev;
    return add(path, mode, &node);
}

static void hold(struct node *node, struct fuse_file_info *info)
{
    node->uses++;
    info->fh = (uint64_t)(uintptr_t)node;
    info->keep_cache = S_ISREG(node->mode); /* nothing changes behind the kernel */
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    struct node *node;
    int rc = add(path, S_IFREG | mode, &node);
    if (!rc)
        hold(node, info);
    return rc;
}

static int fs_open(const char *path, struct fuse_file_info *info)
{
    struct node *node = is_control(path) ? NULL : node_at(path);
    if (node)
        hold(node, info);
    return node || is_control(path) ? 0 : -ENOENT;
}

static int fs_opendir(const char *path, struct fuse_file_info *info)
{
    struct node *node = node_at(path);
    if (node)
        hold(node, info);
    return node ? 0 : -ENOENT;
}

static int fs_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    if (info->fh)
        node_release((struct node *)(uintptr_t)info->fh);
    return 0;
}

static int fs_read(const char *path, char *out, size_t size, off_t at,
                   struct fuse_file_info *info)
{
    const struct node *node = node_of(path, info);
    if (!node)
        return -EINVAL;
    if ((size_t)at >= node->now.size)
        return 0;
    if (size > node->now.size - (size_t)at)
        size = node->now.size - (size_t)at;
    memcpy(out, node->now.data + at, size);
    return (int)size;
}

static int fs_write(const char *path, const char *bytes, size_t size, off_t at,
                    struct fuse_file_info *info)
{
    struct node *node = (struct node *)(uintptr_t)info->fh;
    (void)path;
    if (!node) /* only the control file is open without one */
        return control(bytes, size);
    struct op op = {.at = at, .data = malloc(size), .size = size};
    if (!op.data)
        return -ENOMEM;
    memcpy(op.data, bytes, size);
    do_op(node, op);
    return (int)size;
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    bool of_control = info ? !info->fh : is_control(path);
    struct node *node = of_control ? NULL : node_of(path, info);
    if (node)
        do_op(node, (struct op){.at = size, .truncate = true});
    return node || of_control ? 0 : -ENOENT;
}

static int fs_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    struct node *node = node_of(path, info);
    (void)data_only;
    if (!node)
        return 0;
    for (size_t i = 0; i < node->n_ops; i++)
        apply(&node->durable, &node->ops[i]);
    drop_ops(node);
    return 0;
}

static int fs_fsyncdir(const char *path, int data_only, struct fuse_file_info *info)
{
    struct node *dir = node_of(path, info);
    struct names before = {0};
    (void)data_only;
    if (!dir)
        return -EINVAL;
    before = dir->durable_entries;
    dir->durable_entries = (struct names){0};
    for (size_t i = 0; i < dir->entries.n; i++)
        names_put(&dir->durable_entries, dir->entries.all[i].name,
                  dir->entries.all[i].node);
    while (before.n > 0)
        names_drop(&before, before.all[0].name);
    free(before.all);
    return 0;
}

static int fs_unlink(const char *path)
{
    char name[NAME_SIZE];
    struct node *dir = parent_of(path, name);
    if (!dir || !names_find(&dir->entries, name))
        return -ENOENT;
    names_drop(&dir->entries, name);
    return 0;
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
    char name[NAME_SIZE], old[NAME_SIZE];
    struct node *dir = parent_of(to, name), *before = parent_of(from, old);
    struct node *node = node_at(from);
    if (flags || !dir || !before || !node)
        return flags ? -EINVAL : -ENOENT;
    names_put(&dir->entries, name, node);
    names_drop(&before->entries, old);
    return 0;
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    struct node *node = node_of(path, info);
    if (!node)
        return -ENOENT;
    node->mode = (node->mode & S_IFMT) | (mode & 07777);
    return 0;
}

static int fs_utimens(const char *path, const struct timespec times[2],
                      struct fuse_file_info *info)
{
    struct node *node = node_of(path, info);
    if (!node)
        return -ENOENT;
    node->mtime = times[1];
    return 0;
}

static void *fs_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    config->nullpath_ok = 1;
    config->hard_remove = 1;
    return NULL;
}

static const struct fuse_operations operations = {.init = fs_init,
                                                  .getattr = fs_getattr,
                                                  .readdir = fs_readdir,
                                                  .mkdir = fs_mkdir,
                                                  .mknod = fs_mknod,
                                                  .create = fs_create,
                                                  .open = fs_open,
                                                  .opendir = fs_opendir,
                                                  .releasedir = fs_release,
                                                  .release = fs_release,
                                                  .read = fs_read,
                                                  .write = fs_write,
                                                  .truncate = fs_truncate,
                                                  .fsync = fs_fsync,
                                                  .fsyncdir = fs_fsyncdir,
                                                  .unlink = fs_unlink,
                                                  .rmdir = fs_unlink,
                                                  .rename = fs_rename,
                                                  .chmod = fs_chmod,
                                                  .utimens = fs_utimens};

int main(int argc, char **argv)
{
    root = node_new(S_IFDIR | 0700);
    root->uses = 1;
    return fuse_main(argc, argv, &operations, NULL);
}
