/* SPDX-License-Identifier: MIT */
#include "checkpoint/nodes/nodes.h"

#include "base/array.h"
#include "base/reader.h"
#include "storage/object.h"

#include <assert.h>
#include <stdlib.h>

enum { VERSION = 1 };

struct digest node_digest(struct str digests, size_t i)
{
    struct digest digest;
    assert(i < node_count(digests));
    memcpy(digest.bytes, digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
    return digest;
}

void node_encode(struct str nodes, struct str leaves, struct str body, struct buf *out)
{
    assert(nodes.len % DIGEST_SIZE == 0 && leaves.len % DIGEST_SIZE == 0);
    buf_byte(out, VERSION);
    buf_varint(out, node_count(nodes));
    buf_varint(out, node_count(leaves));
    buf_str(out, nodes);
    buf_str(out, leaves);
    buf_str(out, body);
}

int node_decode(struct str content, struct node *out, struct cairn_error *error)
{
    struct reader in = reader_of(content.ptr, content.len);
    bool good = read_byte(&in) == VERSION;
    uint64_t nodes = read_varint(&in), leaves = read_varint(&in);
    size_t most = reader_left(&in) / DIGEST_SIZE;
    good = good && !in.failed && nodes <= most && leaves <= most - nodes;
    if (!good)
        return error_set(error, CAIRN_EDAMAGED,
                         "it is not a list of what it refers to");
    out->nodes = read_bytes(&in, (size_t)nodes * DIGEST_SIZE);
    out->leaves = read_bytes(&in, (size_t)leaves * DIGEST_SIZE);
    out->body = read_bytes(&in, reader_left(&in));
    return 0;
}

/* ---- Sets ---- */

enum { KEY_SIZE = DIGEST_SIZE + 1 };

static struct str set_key(char key[KEY_SIZE], const struct digest *digest, bool is_node)
{
    memcpy(key, digest->bytes, DIGEST_SIZE);
    key[DIGEST_SIZE] = (char)is_node;
    return (struct str){key, KEY_SIZE};
}

bool node_set_has(const struct node_set *set, const struct digest *digest, bool is_node)
{
    char key[KEY_SIZE];
    return map_get(&set->map, set_key(key, digest, is_node)) != MAP_NONE;
}

int node_set_add(struct node_set *set, const struct digest *digest, bool is_node,
                 struct cairn_error *error)
{
    char key[KEY_SIZE];
    struct str kept = set_key(key, digest, is_node);
    if (map_get(&set->map, kept) != MAP_NONE)
        return 0;
    kept = arena_str(&set->keys, kept);
    int rc = kept.ptr ? map_add(&set->map, kept, 0, NULL) : CAIRN_ENOMEM;
    return rc < 0 ? error_nomem(error) : rc;
}

void node_set_release(struct node_set *set)
{
    map_release(&set->map);
    arena_release(&set->keys);
}

/* ---- Following them ---- */

struct following {
    struct cairn_store *store;
    const struct node_visitor *visitor;
    struct digest *waiting;
    size_t n, room;
    struct buf content;
    struct cairn_error *error;
};

static int see(struct following *f, const struct digest *digest, bool is_node)
{
    int rc = f->visitor->see(f->visitor->context, digest, is_node);
    if (rc || !is_node)
        return rc < 0 ? rc : 0;
    struct digest *waiting = array_room(f->waiting, f->n, &f->room, sizeof *f->waiting);
    if (!waiting)
        return error_nomem(f->error);
    f->waiting = waiting;
    f->waiting[f->n++] = *digest;
    return 0;
}

static int see_all(struct following *f, const struct node *node)
{
    int rc = 0;
    for (size_t i = 0; i < node_count(node->leaves) && !rc; i++) {
        struct digest leaf = node_digest(node->leaves, i);
        rc = see(f, &leaf, false);
    }
    for (size_t i = 0; i < node_count(node->nodes) && !rc; i++) {
        struct digest child = node_digest(node->nodes, i);
        rc = see(f, &child, true);
    }
    return rc;
}

static int follow(struct following *f)
{
    struct digest digest = f->waiting[--f->n];
    struct cairn_error why = {0};
    struct node node;
    buf_clear(&f->content);
    int rc = store_get_object(f->store, &digest, &f->content, &why);
    if (!rc)
        rc = node_decode(buf_view(&f->content), &node, &why);
    if (!rc)
        return see_all(f, &node);
    if (f->visitor->bad && (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED))
        return f->visitor->bad(f->visitor->context, &digest, rc, why.text);
    return error_set(f->error, rc, "%s", why.text);
}

int nodes_each(struct cairn_store *store, const struct digest *root,
               const struct node_visitor *visitor, struct cairn_error *error)
{
    struct following f = {.store = store, .visitor = visitor, .error = error};
    assert(visitor->see);
    int rc = see(&f, root, true);
    while (!rc && f.n)
        rc = follow(&f);
    buf_release(&f.content);
    free(f.waiting);
    return rc;
}
