/* SPDX-License-Identifier: MIT */
/* Between the files of the alcove. */
#ifndef SESSION_SIZE_SIZE_INT_H
#define SESSION_SIZE_SIZE_INT_H

#include "base/map.h"
#include "cairn/maintenance.h"
#include "session/session_int.h"

/* ---- uses.c: contents of the pool, and who refers to them ---- */

enum use_part { USE_FILES, USE_BOARD, USE_MESSAGES, USE_PARTS };

/* Who refers: a checkpoint of the session (its place in a list), what the session has
 * besides them, or another session. */
enum { USER_BESIDE = UINT32_MAX - 2, USER_MANY, USER_OTHER };

struct use {
    uint32_t user;     /* of the session; USER_OTHER: none */
    uint32_t follower; /* what it refers to, as a node, was added for this one */
    uint32_t base;     /* index, or UINT32_MAX */
    uint8_t part;      /* of the first user */
    bool other;        /* another session refers to it, too */
    bool other_follows;
    uint64_t size, stored; /* bytes; 0 where it is not there */
};
struct uses {
    struct cairn_store *store;
    struct use *at;
    size_t n, room;
    struct map map; /* digest to index */
    struct arena keys;
    uint64_t damaged; /* contents that are not there, or cannot be read */
    uint64_t stored;  /* what the session refers to */
    struct cairn_error *error;
};
void uses_release(struct uses *uses);
struct use_found {
    bool fresh;      /* the session has not referred to it before */
    bool follow;     /* what it refers to is still to be added for this user */
    uint64_t size;   /* of the content */
    uint64_t stored; /* what the session has not referred to before, as stored */
};
/* A user refers to a content, and so to what it is stored as a change of. */
int uses_add(struct uses *uses, const struct digest *digest, bool is_node,
             uint32_t user, enum use_part part, struct use_found *found);

/* ---- uses_files.c ---- */

struct path_use {
    struct str path; /* ends with a NUL */
    uint64_t contents, logical, stored;
};
struct path_uses {
    struct path_use *at;
    size_t n, room;
    struct map map;
    struct arena keys;
};
void path_uses_release(struct path_uses *paths);
/* All that a snapshot refers to. *logical: bytes of its files. `paths` is NULL for
 * another session. */
int uses_add_files(struct uses *uses, const struct digest *snapshot, uint32_t user,
                   struct path_uses *paths, uint64_t *logical);

#endif
