/* SPDX-License-Identifier: MIT */
/* What a power cut leaves. Data and names each follow one of the ways below, since they
 * are written by different parts of a file system. */
#include "disk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum way { /* of what was not synced */
           NOTHING,
           ALL,
           PREFIX,  /* the first ones; the last of them torn */
           SUFFIX,  /* only the last ones: all was written in another order */
           SUBSET,  /* each write or not */
           SECTORS, /* each sector of each write: or not, or torn */
           WAYS
};
static const char *const way_names[WAYS] = {"nothing", "all",    "prefix",
                                            "suffix",  "subset", "sectors"};
enum { SECTOR = 512 };

struct plan {
    enum way data, names;
    uint32_t data_cut, name_cut; /* serials */
    uint32_t percent;            /* that is kept */
    bool garbage; /* where a file has grown, but was not written, is anything */
    uint64_t random;
};

static bool kept(struct plan *plan, enum way way, uint32_t cut, uint32_t serial)
{
    switch (way) {
    case NOTHING:
        return false;
    case ALL:
        return true;
    case PREFIX:
        return serial <= cut;
    case SUFFIX:
        return serial > cut;
    default:
        return below(&plan->random, 100) < plan->percent;
    }
}

/* Where the file grew, there is garbage or nothing. */
static void extend(struct plan *plan, struct buf *content, size_t size)
{
    size_t before = content->size;
    node_apply(content, &(struct op){.at = size, .truncate = true});
    for (size_t i = before; plan->garbage && i < content->size; i++)
        content->data[i] = (char)below(&plan->random, 256);
}

static void put_piece(struct buf *content, const struct op *op, uint64_t from,
                      uint64_t to)
{
    node_apply(content, &(struct op){.at = from,
                                     .bytes = op->bytes + (from - op->at),
                                     .size = (uint32_t)(to - from)});
}

/* Each sector that the write touches: kept, dropped, or half of it. */
static void put_sectors(struct plan *plan, struct buf *content, const struct op *op)
{
    uint64_t end = op->at + op->size;
    if (end > content->size && below(&plan->random, 2))
        extend(plan, content, (size_t)end);
    for (uint64_t from = op->at; from < end;) {
        uint64_t to = (from / SECTOR + 1) * SECTOR;
        to = to < end ? to : end;
        uint32_t dice = below(&plan->random, 100);
        if (dice < plan->percent)
            put_piece(content, op, from, to);
        else if (dice < plan->percent + 3)
            put_piece(content, op, from,
                      from + below(&plan->random, (uint32_t)(to - from)));
        from = to;
    }
}

static void put_op(struct plan *plan, struct buf *content, const struct op *op)
{
    if (plan->data == SECTORS && !op->truncate) {
        put_sectors(plan, content, op);
        return;
    }
    if (!kept(plan, plan->data, plan->data_cut, op->serial)) {
        /* Its room may have been given, though. */
        if (!op->truncate && plan->data != NOTHING && plan->data != PREFIX &&
            op->at + op->size > content->size && below(&plan->random, 2))
            extend(plan, content, (size_t)(op->at + op->size));
        return;
    }
    struct op torn = *op;
    if (plan->data == PREFIX && op->serial == plan->data_cut && !op->truncate)
        torn.size = below(&plan->random, op->size + 1);
    node_apply(content, &torn);
}

static int write_image(const char *path, const struct buf *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good =
        fd >= 0 && (content->size == 0 ||
                    write(fd, content->data, content->size) == (ssize_t)content->size);
    if (fd >= 0)
        close(fd);
    return good ? 0 : -1;
}

/* The index of the WAL is never synced: it may be anything. */
static void spoil(struct plan *plan, const char *name, struct buf *content)
{
    size_t n = strlen(name);
    if (n < 4 || strcmp(name + n - 4, "-shm") != 0)
        return;
    for (size_t i = 0; plan->garbage && i < content->size; i++)
        content->data[i] = (char)below(&plan->random, 256);
}

static int image_node(const struct disk *disk, struct plan *plan,
                      const struct entry *entry, const char *path)
{
    const struct node *node = &disk->nodes[entry->node];
    struct buf content = BUF_INIT;
    buf_add(&content, node->durable.data, node->durable.size);
    for (uint32_t i = 0; i < node->n_ops; i++)
        put_op(plan, &content, &node->ops[i]);
    spoil(plan, entry->name, &content);
    int rc = content.failed ? -1 : write_image(path, &content);
    buf_release(&content);
    return rc;
}

static int image_dir(const struct disk *disk, struct plan *plan, const struct dir *from,
                     const char *dir)
{
    struct entries names = {0};
    int rc = 0;
    entries_copy(&names, &from->durable);
    for (uint32_t i = 0; i < from->n_changes; i++)
        if (kept(plan, plan->names, plan->name_cut, from->changes[i].serial))
            entries_change(&names, &from->changes[i]);
    for (uint32_t i = 0; !rc && i < names.n; i++) {
        char path[800];
        snprintf(path, sizeof path, "%s/%s%s%s", dir, from->path, "/",
                 names.all[i].name);
        rc = names.all[i].node == IS_DIR ? mkdir(path, 0700)
                                         : image_node(disk, plan, &names.all[i], path);
    }
    free(names.all);
    return rc;
}

static bool dir_exists(const char *dir, const char *path)
{
    char full[700];
    struct stat st;
    snprintf(full, sizeof full, "%s/%s", dir, path);
    return stat(full, &st) == 0;
}

/* The serial of one of the things that were not synced, or 0. */
static uint32_t pick_serial(const struct disk *disk, struct plan *plan, bool names)
{
    uint32_t total = 0, found = 0;
    for (uint32_t i = 0; names && i < disk->n_dirs; i++)
        for (uint32_t j = 0; j < disk->dirs[i].n_changes; j++)
            if (below(&plan->random, ++total) == 0)
                found = disk->dirs[i].changes[j].serial;
    for (uint32_t i = 0; !names && i < disk->n_nodes; i++)
        for (uint32_t j = 0; j < disk->nodes[i].n_ops; j++)
            if (below(&plan->random, ++total) == 0)
                found = disk->nodes[i].ops[j].serial;
    return found;
}

static struct plan make_plan(const struct disk *disk, uint64_t seed, uint32_t variant)
{
    static const struct {
        enum way data, names;
    } first[] = {{NOTHING, NOTHING}, {ALL, ALL},        {NOTHING, ALL},
                 {ALL, NOTHING},     {SECTORS, SUBSET}, {SUFFIX, SUFFIX}};
    static const uint32_t percents[] = {10, 50, 50, 90};
    struct plan plan = {.random = mix(seed ^ mix(variant))};
    if (variant < sizeof first / sizeof first[0]) {
        plan.data = first[variant].data;
        plan.names = first[variant].names;
    } else {
        plan.data = (enum way)below(&plan.random, WAYS);
        plan.names = (enum way)below(&plan.random, WAYS);
    }
    plan.percent = percents[below(&plan.random, 4)];
    plan.garbage = below(&plan.random, 4) == 0;
    plan.data_cut = pick_serial(disk, &plan, false);
    plan.name_cut = pick_serial(disk, &plan, true);
    return plan;
}

int disk_image(const struct disk *disk, uint64_t seed, uint32_t variant,
               const char *dir, char how[200])
{
    struct plan plan = make_plan(disk, seed, variant);
    snprintf(how, 200, "data: %s, names: %s, %u %%%s", way_names[plan.data],
             way_names[plan.names], plan.percent, plan.garbage ? ", garbage" : "");
    int rc = 0;
    for (uint32_t i = 0; !rc && i < disk->n_dirs; i++)
        if (dir_exists(dir, disk->dirs[i].path))
            rc = image_dir(disk, &plan, &disk->dirs[i], dir);
    return rc;
}
