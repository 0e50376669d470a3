/* SPDX-License-Identifier: MIT */
/* The disk as it grows with the log: shared by disk.c, which keeps it, and image.c,
 * which makes images of it. */
#ifndef PROVE_POWER_DISK_H
#define PROVE_POWER_DISK_H

#include "power.h"

enum { NAME_SIZE = 100, DIRS_MAX = 8, IS_DIR = -1 };

struct op {      /* of a file, not synced */
    uint64_t at; /* or the new size */
    const uint8_t *bytes;
    uint32_t size, serial;
    bool truncate;
};
struct node {
    struct buf durable;
    struct op *ops;
    uint32_t n_ops;
};
struct entry {
    char name[NAME_SIZE];
    int node; /* or IS_DIR */
};
struct entries {
    struct entry *all;
    uint32_t n;
};
enum change_kind { CHANGE_ADD, CHANGE_REMOVE, CHANGE_RENAME };
struct change { /* of a directory, not synced */
    enum change_kind kind;
    char name[NAME_SIZE], to[NAME_SIZE];
    int node;
    uint32_t serial;
};
struct dir {
    char path[NAME_SIZE]; /* "." is the base directory */
    struct entries durable, now;
    struct change *changes;
    uint32_t n_changes;
};
struct handle {
    uint64_t number;
    int node, dir; /* the other one is -1 */
};
struct disk {
    const struct log *log;
    struct node *nodes;
    uint32_t n_nodes;
    struct dir dirs[DIRS_MAX];
    uint32_t n_dirs;
    struct handle *handles;
    uint32_t n_handles;
};

/* These end the program when memory runs out or a limit of the model is passed. */
void *disk_grown(void *array, uint32_t n, size_t size);
struct entry *entries_find(const struct entries *entries, const char *name);
void entries_copy(struct entries *to, const struct entries *from);
void entries_change(struct entries *entries, const struct change *change);
void node_apply(struct buf *content, const struct op *op);

#endif
