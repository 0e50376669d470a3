/* SPDX-License-Identifier: MIT */
#include "checkpoint/nodes/losses.h"

#include "base/array.h"
#include "checkpoint/nodes/nodes.h"
#include "storage/object.h"
#include "storage/rows_lost.h"

#include <assert.h>
#include <stdlib.h>

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
    int rc = store_get_object(s->losses->store, digest, &place->content, &why);
    if (!rc)
        rc = node_decode(buf_view(&place->content), &node, &why);
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
