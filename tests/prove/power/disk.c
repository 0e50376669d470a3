/* SPDX-License-Identifier: MIT */
/* The disk: of each file and directory, what is durable and what was done since. A sync
 * of a file makes its content durable and no name; one of a directory its names. */
#include "disk.h"

#include <stdlib.h>

static void give_up(const char *what)
{
    fprintf(stderr, "power: %s\n", what);
    exit(3);
}

/* Room for one more after `n`. */
void *disk_grown(void *array, uint32_t n, size_t size)
{
    if (n > 0 && (n & (n - 1)) != 0)
        return array;
    void *grown = realloc(array, (n ? (size_t)n * 2 : 1) * size);
    if (!grown)
        give_up("out of memory");
    return grown;
}

struct entry *entries_find(const struct entries *entries, const char *name)
{
    for (uint32_t i = 0; i < entries->n; i++)
        if (strcmp(entries->all[i].name, name) == 0)
            return &entries->all[i];
    return NULL;
}

static void entries_put(struct entries *entries, const char *name, int node)
{
    struct entry *entry = entries_find(entries, name);
    if (!entry) {
        entries->all = disk_grown(entries->all, entries->n, sizeof *entry);
        entry = &entries->all[entries->n++];
        snprintf(entry->name, sizeof entry->name, "%s", name);
    }
    entry->node = node;
}

static void entries_drop(struct entries *entries, const char *name, int node)
{
    struct entry *entry = entries_find(entries, name);
    if (entry && entry->node == node)
        *entry = entries->all[--entries->n];
}

void entries_copy(struct entries *to, const struct entries *from)
{
    to->n = 0;
    for (uint32_t i = 0; i < from->n; i++)
        entries_put(to, from->all[i].name, from->all[i].node);
}

void entries_change(struct entries *entries, const struct change *change)
{
    if (change->kind != CHANGE_ADD)
        entries_drop(entries, change->name, change->node);
    if (change->kind != CHANGE_REMOVE)
        entries_put(entries, change->kind == CHANGE_ADD ? change->name : change->to,
                    change->node);
}

void node_apply(struct buf *content, const struct op *op)
{
    uint64_t end = op->truncate ? op->at : op->at + op->size;
    if (end > content->size) {
        size_t before = content->size;
        char *room = buf_grow(content, (size_t)end - before);
        if (!room)
            give_up("out of memory");
        memset(room, 0, (size_t)end - before);
    }
    if (op->truncate)
        content->size = (size_t)op->at;
    else if (op->size > 0)
        memcpy(content->data + op->at, op->bytes, op->size);
}

struct disk *disk_new(const struct log *log)
{
    struct disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        give_up("out of memory");
    disk->log = log;
    snprintf(disk->dirs[0].path, sizeof disk->dirs[0].path, ".");
    disk->n_dirs = 1;
    return disk;
}

void disk_free(struct disk *disk)
{
    for (uint32_t i = 0; i < disk->n_nodes; i++) {
        buf_release(&disk->nodes[i].durable);
        free(disk->nodes[i].ops);
    }
    for (uint32_t i = 0; i < disk->n_dirs; i++) {
        free(disk->dirs[i].durable.all);
        free(disk->dirs[i].now.all);
        free(disk->dirs[i].changes);
    }
    free(disk->nodes);
    free(disk->handles);
    free(disk);
}

static int find_dir(const struct disk *disk, const char *path)
{
    for (uint32_t i = 0; i < disk->n_dirs; i++)
        if (strcmp(disk->dirs[i].path, path) == 0)
            return (int)i;
    return -1;
}

/* The directory that holds `path`, and the name in it. */
static struct dir *split(struct disk *disk, const char *path, const char **name)
{
    char parent[NAME_SIZE] = ".";
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (slash)
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    int dir = find_dir(disk, parent);
    if (dir < 0 || strlen(*name) >= NAME_SIZE)
        give_up("a path of the log leads nowhere");
    return &disk->dirs[dir];
}

static void change(struct dir *dir, struct change change)
{
    dir->changes = disk_grown(dir->changes, dir->n_changes, sizeof *dir->changes);
    dir->changes[dir->n_changes++] = change;
    entries_change(&dir->now, &change);
}

static void add_name(struct disk *disk, const char *path, int node, uint32_t serial)
{
    struct change add = {.kind = CHANGE_ADD, .node = node, .serial = serial};
    const char *name;
    struct dir *dir = split(disk, path, &name);
    snprintf(add.name, sizeof add.name, "%s", name);
    change(dir, add);
}

static int new_node(struct disk *disk)
{
    disk->nodes = disk_grown(disk->nodes, disk->n_nodes, sizeof *disk->nodes);
    disk->nodes[disk->n_nodes] = (struct node){0};
    return (int)disk->n_nodes++;
}

static void open_path(struct disk *disk, uint64_t number, const char *path,
                      uint32_t serial)
{
    struct handle handle = {.number = number, .node = -1, .dir = find_dir(disk, path)};
    if (handle.dir < 0) {
        const char *name;
        const struct dir *dir = split(disk, path, &name);
        const struct entry *entry = entries_find(&dir->now, name);
        handle.node = entry ? entry->node : new_node(disk);
        if (!entry)
            add_name(disk, path, handle.node, serial);
    }
    disk->handles = disk_grown(disk->handles, disk->n_handles, sizeof handle);
    disk->handles[disk->n_handles++] = handle;
}

static const struct handle *handle_find(const struct disk *disk, uint64_t number)
{
    for (uint32_t i = disk->n_handles; i-- > 0;)
        if (disk->handles[i].number == number)
            return &disk->handles[i];
    give_up("an unknown handle in the log");
    return NULL;
}

static void sync_handle(struct disk *disk, const struct handle *handle)
{
    if (handle->dir >= 0) {
        struct dir *dir = &disk->dirs[handle->dir];
        entries_copy(&dir->durable, &dir->now);
        dir->n_changes = 0;
        return;
    }
    struct node *node = &disk->nodes[handle->node];
    for (uint32_t i = 0; i < node->n_ops; i++)
        node_apply(&node->durable, &node->ops[i]);
    node->n_ops = 0;
}

static void add_op(struct disk *disk, const struct event *event, const char *payload,
                   uint32_t serial)
{
    struct node *node = &disk->nodes[handle_find(disk, event->handle)->node];
    node->ops = disk_grown(node->ops, node->n_ops, sizeof *node->ops);
    node->ops[node->n_ops++] = (struct op){.at = event->a,
                                           .bytes = (const uint8_t *)payload,
                                           .size = event->size,
                                           .serial = serial,
                                           .truncate = event->type == EV_TRUNCATE};
}

static void make_dir(struct disk *disk, const char *path, uint32_t serial)
{
    if (disk->n_dirs == DIRS_MAX)
        give_up("too many directories");
    add_name(disk, path, IS_DIR, serial);
    snprintf(disk->dirs[disk->n_dirs++].path, NAME_SIZE, "%s", path);
}

/* With it all names of its directory are durable: it comes before anything else. */
static void found(struct disk *disk, const char *path, const char *payload,
                  uint32_t size)
{
    size_t skip = strlen(path) + 1;
    const char *name;
    struct dir *dir = split(disk, path, &name);
    int node = new_node(disk);
    add_name(disk, path, node, 0);
    buf_add(&disk->nodes[node].durable, payload + skip, size - skip);
    entries_copy(&dir->durable, &dir->now);
    dir->n_changes = 0;
    entries_copy(&disk->dirs[0].durable, &disk->dirs[0].now);
    disk->dirs[0].n_changes = 0;
}

static void rename_path(struct disk *disk, const char *from, const char *to,
                        uint32_t serial)
{
    struct change move = {.kind = CHANGE_RENAME, .serial = serial};
    const char *old, *new;
    struct dir *dir = split(disk, from, &old);
    if (split(disk, to, &new) != dir || !entries_find(&dir->now, old))
        give_up("a rename that the model does not know");
    snprintf(move.name, sizeof move.name, "%s", old);
    snprintf(move.to, sizeof move.to, "%s", new);
    move.node = entries_find(&dir->now, old)->node;
    change(dir, move);
}

static void unlink_path(struct disk *disk, const char *path, uint32_t serial)
{
    struct change drop = {.kind = CHANGE_REMOVE, .serial = serial};
    const char *name;
    struct dir *dir = split(disk, path, &name);
    const struct entry *entry = entries_find(&dir->now, name);
    if (!entry)
        return; /* a socket, or made in another way */
    snprintf(drop.name, sizeof drop.name, "%s", name);
    drop.node = entry->node;
    change(dir, drop);
}

void disk_apply(struct disk *disk, uint32_t i)
{
    const char *payload;
    struct event event = log_event(disk->log, i, &payload);
    char path[NAME_SIZE * 2] = "";
    bool named = event.type == EV_OPEN || event.type == EV_UNLINK ||
                 event.type == EV_RENAME || event.type == EV_MKDIR;
    if (named && event.size < sizeof path)
        memcpy(path, payload, event.size);
    if (event.type == EV_OPEN)
        open_path(disk, event.handle, path, i);
    else if (event.type == EV_WRITE || event.type == EV_TRUNCATE)
        add_op(disk, &event, payload, i);
    else if (event.type == EV_SYNC)
        sync_handle(disk, handle_find(disk, event.handle));
    else if (event.type == EV_UNLINK)
        unlink_path(disk, path, i);
    else if (event.type == EV_RENAME)
        rename_path(disk, path, path + strlen(path) + 1, i);
    else if (event.type == EV_MKDIR)
        make_dir(disk, path, i);
    else if (event.type == EV_FOUND)
        found(disk, payload, payload, event.size);
}

bool disk_has_store(const struct disk *disk)
{
    return disk->n_dirs > 1;
}
