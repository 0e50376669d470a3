/* SPDX-License-Identifier: MIT */
#include "checkpoint/nodes/nodes.h"

#include "base/memory.h"
#include "base/str.h"
#include "storage/object.h"
#include "storage/rows_lost.h"

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
    int rc = store_get_object(f->store, &digest, &f->content, &why)
                 ?: node_decode(buf_view(&f->content), &node, &why);
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

static bool is_lost(const struct losses *losses, const struct digest *digest)
{
    return map_get(&losses->lost, digest_view(digest)) != MAP_NONE;
}

static int put(struct losses *losses, struct map *map, const struct digest *digest,
               uint32_t value, struct cairn_error *error)
{
    struct str key = arena_str(&losses->keys, digest_view(digest));
    int rc = key.ptr ? map_add(map, key, value, NULL) : CAIRN_ENOMEM;
    return rc < 0 ? error_nomem(error) : 0;
}

/* ---- What is lost ---- */

struct loading {
    struct losses *losses;
    struct cairn_error *error;
};

static int load_one(void *context, const struct digest *digest)
{
    struct loading *loading = context;
    struct losses *losses = loading->losses;
    bool there = false;
    int rc = store_has_object(losses->store, digest, &there, loading->error);
    return rc || there ? rc : put(losses, &losses->lost, digest, 0, loading->error);
}

int losses_load(struct losses *losses, struct cairn_store *store,
                struct cairn_error *error)
{
    struct loading loading = {losses, error};
    *losses = (struct losses){.store = store};
    return store_each_known_loss(store, load_one, &loading, error);
}

void losses_release(struct losses *losses)
{
    map_release(&losses->lost);
    map_release(&losses->below);
    arena_release(&losses->keys);
}

/* ---- What leads to it ---- */

/* A node on the way from the root to where the search is. */
struct place {
    struct digest digest;
    struct buf content;
    struct str nodes; /* in `content` */
    size_t next;      /* of them */
    bool lost;
};

struct search {
    struct losses *losses;
    struct place *places;
    size_t n, room;
    struct cairn_error *error;
};

static int enter(struct search *s, const struct digest *digest)
{
    struct place *place = array_room(s->places, s->n, &s->room, sizeof *place);
    struct cairn_error why = {0};
    struct node node = {0};
    if (!place)
        return error_nomem(s->error);
    s->places = place;
    place = &s->places[s->n++];
    *place = (struct place){.digest = *digest, .content = BUF_INIT};
    int rc = store_get_object(s->losses->store, digest, &place->content, &why)
                 ?: node_decode(buf_view(&place->content), &node, &why);
    if (rc && rc != CAIRN_ENOTFOUND && rc != CAIRN_EDAMAGED)
        return error_set(s->error, rc, "%s", why.text);
    if (!rc)
        place->nodes = node.nodes;
    for (size_t i = 0; i < node_count(node.leaves) && !rc && !place->lost; i++) {
        struct digest leaf = node_digest(node.leaves, i);
        place->lost = is_lost(s->losses, &leaf);
    }
    return 0;
}

/* The next node below the innermost place, or back from it when none is left, or when
 * it is known that something below is lost. */
static int go_on(struct search *s)
{
    struct place *place = &s->places[s->n - 1];
    if (!place->lost && place->next < node_count(place->nodes)) {
        struct digest child = node_digest(place->nodes, place->next++);
        uint32_t below = map_get(&s->losses->below, digest_view(&child));
        place->lost = is_lost(s->losses, &child) || below == 1;
        return place->lost || below != MAP_NONE ? 0 : enter(s, &child);
    }
    int rc = put(s->losses, &s->losses->below, &place->digest, place->lost, s->error);
    buf_release(&place->content);
    s->n--;
    if (s->n)
        s->places[s->n - 1].lost |= place->lost;
    return rc;
}

int losses_look(struct losses *losses, const struct digest *object, bool is_node,
                bool *lost, struct cairn_error *error)
{
    struct search s = {.losses = losses, .error = error};
    assert(lost);
    if (is_lost(losses, object)) {
        *lost = true;
        return 0;
    }
    if (!is_node || !losses_any(losses))
        return 0;
    int rc = 0;
    if (map_get(&losses->below, digest_view(object)) == MAP_NONE)
        rc = enter(&s, object);
    while (!rc && s.n)
        rc = go_on(&s);
    while (s.n)
        buf_release(&s.places[--s.n].content);
    free(s.places);
    if (!rc && map_get(&losses->below, digest_view(object)) == 1)
        *lost = true;
    return rc;
}
