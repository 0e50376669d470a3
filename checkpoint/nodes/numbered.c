/* SPDX-License-Identifier: MIT */
#include "checkpoint/nodes/numbered.h"

#include "checkpoint/nodes/nodes.h"
#include "storage/object.h"

#include <assert.h>
#include <stdlib.h>

/* A change goes from leaf to leaf with the path to it open, one node a level; a node is
 * made when the path leaves it. Places are found by the number alone. */

enum { PLACES = 32, PLACE_BITS = 5, LEVELS = 6 };

/* A node, or what is to become one. */
struct wide {
    uint8_t level;
    uint32_t which; /* bit i: there is place i */
    struct digest at[PLACES];
    uint32_t items[PLACES];
};

static unsigned place_at(uint32_t n, unsigned level)
{
    return n >> (PLACE_BITS * level) & (PLACES - 1);
}

/* Which node of that level the number is below; 64 bits, as level 6 shifts by 35. */
static uint32_t node_at(uint32_t n, unsigned level)
{
    return (uint32_t)((uint64_t)n >> (PLACE_BITS * (level + 1)));
}

static unsigned level_of(uint32_t n)
{
    unsigned level = 1;
    while (node_at(n, level))
        level++;
    assert(level <= LEVELS);
    return level;
}

static uint64_t items_of(const struct wide *node)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < PLACES; i++)
        n += node->which >> i & 1 ? node->items[i] : 0;
    return n;
}

static int refuse(struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED, "the tree of items is damaged");
}

/* ---- Bytes of nodes ---- */

static void wide_encode(const struct wide *node, struct buf *out)
{
    struct buf digests = BUF_INIT, body = BUF_INIT;
    buf_byte(&body, node->level);
    buf_u32(&body, node->which);
    for (unsigned i = 0; i < PLACES; i++)
        if (node->which >> i & 1) {
            buf_str(&digests, digest_view(&node->at[i]));
            buf_varint(&body, node->items[i]);
        }
    out->failed = out->failed || digests.failed || body.failed;
    if (!out->failed && node->level == 1)
        node_encode(STR(""), buf_view(&digests), buf_view(&body), out);
    else if (!out->failed)
        node_encode(buf_view(&digests), STR(""), buf_view(&body), out);
    buf_release(&digests);
    buf_release(&body);
}

static bool read_places(struct str body, struct str digests, struct wide *out)
{
    struct reader in = reader_of(body.ptr, body.len);
    size_t n = 0;
    (void)read_byte(&in);
    out->which = read_u32(&in);
    for (unsigned i = 0; i < PLACES; i++) {
        if (!(out->which >> i & 1))
            continue;
        uint64_t items = read_varint(&in);
        if (!items || items > UINT32_MAX || n == node_count(digests))
            return false;
        out->items[i] = (uint32_t)items;
        out->at[i] = node_digest(digests, n++);
    }
    return reader_done(&in) && out->which && n == node_count(digests);
}

/* Untrusted bytes. */
static int wide_decode(struct str content, struct wide *out, struct cairn_error *error)
{
    struct node node;
    int rc = node_decode(content, &node, error);
    if (rc)
        return rc;
    *out = (struct wide){.level = node.body.len ? (uint8_t)node.body.ptr[0] : 0};
    bool low = out->level == 1;
    bool good = out->level && out->level <= LEVELS &&
                (low ? node.nodes : node.leaves).len == 0 &&
                read_places(node.body, low ? node.leaves : node.nodes, out);
    return good ? 0 : refuse(error);
}

static int get_object(struct cairn_store *store, const struct digest *digest,
                      struct buf *out, struct cairn_error *error)
{
    char hex[DIGEST_HEX_SIZE];
    int rc = store_get_object(store, digest, out, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    digest_hex(digest, hex);
    return error_set(error, CAIRN_EDAMAGED, "its content %.12s is missing", hex);
}

/* `level` 0: any. A node that says how many items there are, which must be `n`. */
static int read_wide(struct cairn_store *store, const struct digest *digest,
                     unsigned level, uint32_t n, struct wide *out,
                     struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    int rc = get_object(store, digest, &content, error)
                 ?: wide_decode(buf_view(&content), out, error);
    if (!rc && ((level && out->level != level) || items_of(out) != n))
        rc = refuse(error);
    buf_release(&content);
    return rc;
}

/* ---- Bytes of leaves ---- */

/* The items of one leaf, one after the other. */
struct leaf {
    struct reader in;
    uint32_t left, low, high; /* numbers that may still come */
    uint32_t n;               /* 0: behind the last */
    struct str body;
};

static void leaf_next(struct leaf *leaf)
{
    bool more = leaf->left > 0;
    uint64_t n = more ? read_varint(&leaf->in) : 0;
    leaf->body = more ? read_lstr(&leaf->in) : STR("");
    leaf->left -= more;
    leaf->in.failed |= more && (n < leaf->low || n > leaf->high);
    leaf->n = leaf->in.failed ? 0 : (uint32_t)n;
    leaf->low = leaf->n + 1;
}

/* `leaf` of an index, which must have so many items. */
static struct leaf leaf_of(struct str content, uint32_t index, uint32_t items)
{
    struct leaf leaf = {.in = reader_of(content.ptr, content.len),
                        .low = index ? index * PLACES : 1,
                        .high = index * PLACES + (PLACES - 1)};
    uint64_t n = items ? read_varint(&leaf.in) : 0;
    leaf.in.failed |= n != items || index > UINT32_MAX / PLACES;
    leaf.left = leaf.in.failed ? 0 : items;
    leaf_next(&leaf);
    return leaf;
}

static bool leaf_good(const struct leaf *leaf)
{
    return !leaf->n && !leaf->left && reader_done(&leaf->in);
}

/* ---- Changing ---- */

struct changing {
    struct cairn_store *store;
    struct numbered_objects *made;
    numbered_fn *was;
    void *context;
    struct cairn_error *error;
    struct {
        struct wide node;
        struct digest before; /* none: it is new */
        uint32_t index;       /* which node of its level it is */
        bool changed;
    } path[LEVELS + 1]; /* by level, open from `low` to `top` */
    unsigned low, top;
};

static int make_object(struct changing *c, const struct buf *content,
                       const struct digest *before, struct digest *digest)
{
    struct numbered_objects *made = c->made;
    int rc = buf_check(content, c->error)
                 ?: sha256_of(content->data, content->size, digest, c->error);
    if (rc || digest_equal(digest, before))
        return rc;
    struct numbered_object *at =
        array_room(made->at, made->n, &made->capacity, sizeof *at);
    if (!at)
        return error_nomem(c->error);
    made->at = at;
    at[made->n] = (struct numbered_object){*digest, *before,
                                           arena_str(&made->arena, buf_view(content))};
    made->n++;
    return made->arena.failed ? error_nomem(c->error) : 0;
}

static void set_place(struct changing *c, unsigned level, unsigned place,
                      const struct digest *digest, uint32_t items)
{
    struct wide *node = &c->path[level].node;
    bool had = node->which >> place & 1;
    if (had == (items > 0) && (!had || digest_equal(&node->at[place], digest)))
        return;
    c->path[level].changed = true;
    node->which &= ~(1u << place);
    node->which |= (uint32_t)(items > 0) << place;
    node->at[place] = *digest;
    node->items[place] = items;
}

static int make_node(struct changing *c, unsigned level, struct digest *digest)
{
    struct buf content = BUF_INIT;
    *digest = c->path[level].before;
    if (!c->path[level].changed)
        return 0;
    wide_encode(&c->path[level].node, &content);
    int rc = make_object(c, &content, &c->path[level].before, digest);
    buf_release(&content);
    return rc;
}

/* Leaves the lowest node that is open, which is not the root. */
static int leave(struct changing *c)
{
    unsigned level = c->low;
    uint64_t items = items_of(&c->path[level].node);
    struct digest digest = {{0}};
    assert(level < c->top);
    int rc = items ? make_node(c, level, &digest) : 0;
    if (!rc)
        set_place(c, level + 1, c->path[level].index & (PLACES - 1), &digest,
                  (uint32_t)items);
    c->low++;
    return rc;
}

/* Opens the node below the lowest one, on the way to `n`. */
static int enter(struct changing *c, uint32_t n)
{
    const struct wide *above = &c->path[c->low].node;
    unsigned place = place_at(n, c->low), level = c->low - 1;
    bool had = above->which >> place & 1;
    int rc = had ? read_wide(c->store, &above->at[place], level, above->items[place],
                             &c->path[level].node, c->error)
                 : 0;
    if (rc)
        return rc;
    if (!had)
        c->path[level].node = (struct wide){.level = (uint8_t)level};
    c->path[level].before = had ? above->at[place] : (struct digest){{0}};
    c->path[level].index = node_at(n, level);
    c->path[level].changed = false;
    c->low = level;
    return 0;
}

static int go_to(struct changing *c, uint32_t n)
{
    int rc = 0;
    while (!rc && c->path[c->low].index != node_at(n, c->low))
        rc = leave(c);
    while (!rc && c->low > 1)
        rc = enter(c, n);
    return rc;
}

static void put_item(struct buf *items, uint32_t *n, uint32_t number, struct str body)
{
    buf_varint(items, number);
    buf_lstr(items, body);
    ++*n;
}

/* The items of a leaf with the changes, all of which are in it. */
static int merge(struct changing *c, struct leaf *leaf,
                 const struct numbered_item *changes, size_t n, struct buf *items,
                 uint32_t *count)
{
    int rc = 0;
    for (size_t i = 0; (leaf->n || i < n) && !rc;) {
        const struct numbered_item *change =
            i < n && (!leaf->n || changes[i].n <= leaf->n) ? &changes[i++] : NULL;
        bool same = change && change->n == leaf->n;
        if (change && change->has)
            put_item(items, count, change->n, change->body);
        if (same && c->was)
            rc = c->was(c->context, leaf->n, leaf->body);
        if (!change)
            put_item(items, count, leaf->n, leaf->body);
        if (same || !change)
            leaf_next(leaf);
    }
    return rc ? rc : leaf_good(leaf) ? 0 : refuse(c->error);
}

static int change_leaf(struct changing *c, const struct numbered_item *changes,
                       size_t n)
{
    const struct wide *node = &c->path[1].node;
    uint32_t index = changes[0].n / PLACES, count = 0;
    unsigned place = place_at(changes[0].n, 1);
    bool had = node->which >> place & 1;
    struct digest before = had ? node->at[place] : (struct digest){{0}};
    struct digest digest = {{0}};
    struct buf content = BUF_INIT, items = BUF_INIT, after = BUF_INIT;
    int rc = had ? get_object(c->store, &before, &content, c->error) : 0;
    struct leaf leaf = leaf_of(buf_view(&content), index, had ? node->items[place] : 0);
    rc = rc ?: merge(c, &leaf, changes, n, &items, &count);
    if (!rc && count) {
        buf_varint(&after, count);
        buf_str(&after, buf_view(&items));
        rc = buf_check(&items, c->error) ?: make_object(c, &after, &before, &digest);
    }
    if (!rc)
        set_place(c, 1, place, &digest, count);
    buf_release(&content);
    buf_release(&items);
    buf_release(&after);
    return rc;
}

/* A root that leads to its first place alone is one level too high. */
static int lower(struct changing *c, struct numbered *after)
{
    const struct numbered_objects *made = c->made;
    struct wide node = c->path[c->top].node;
    while (node.level > 1 && node.which == 1) {
        const struct numbered_object *new = NULL;
        after->root = node.at[0];
        for (size_t i = made->n; i-- && !new;)
            if (digest_equal(&made->at[i].digest, &after->root))
                new = &made->at[i];
        unsigned level = node.level - 1u;
        int rc =
            new ? wide_decode(new->content, &node, c->error)
                : read_wide(c->store, &after->root, level, after->n, &node, c->error);
        if (rc)
            return rc;
    }
    return node.level == c->top ? make_node(c, c->top, &after->root) : 0;
}

static int begin(struct changing *c, const struct numbered *before, uint32_t highest)
{
    struct wide root = {.level = 1};
    c->top = level_of(highest);
    int rc = before->n
                 ? read_wide(c->store, &before->root, 0, before->n, &root, c->error)
                 : 0;
    if (rc)
        return rc;
    if (root.level > c->top)
        c->top = root.level;
    for (unsigned level = root.level; level <= c->top; level++)
        c->path[level].node.level = (uint8_t)level;
    c->low = before->n ? root.level : c->top;
    if (before->n) {
        c->path[c->low].node = root;
        c->path[c->low].before = before->root;
    }
    return 0;
}

int numbered_change(struct cairn_store *store, const struct numbered *before,
                    const struct numbered_item *changes, size_t n, numbered_fn *was,
                    void *context, struct numbered_objects *made,
                    struct numbered *after, struct cairn_error *error)
{
    struct changing c = {
        .store = store, .made = made, .was = was, .context = context, .error = error};
    *after = *before;
    if (!n)
        return 0;
    int rc = begin(&c, before, changes[n - 1].n);
    for (size_t i = 0, many; i < n && !rc; i += many) {
        for (many = 1; i + many < n; many++) {
            assert(changes[i + many].n > changes[i + many - 1].n);
            if (changes[i + many].n / PLACES != changes[i].n / PLACES)
                break;
        }
        rc = go_to(&c, changes[i].n) ?: change_leaf(&c, &changes[i], many);
    }
    while (!rc && c.low < c.top)
        rc = leave(&c);
    if (rc)
        return rc;
    uint64_t items = items_of(&c.path[c.top].node);
    *after = (struct numbered){.n = (uint32_t)items};
    return items ? lower(&c, after) : 0;
}

int numbered_put(struct cairn_store *store, const struct numbered_objects *objects,
                 struct cairn_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < objects->n && !rc; i++) {
        const struct numbered_object *object = &objects->at[i];
        struct digest stored;
        rc = digest_is_none(&object->before)
                 ? store_put_object(store, object->content, &stored, error)
                 : store_put_object_after(store, object->content, &object->before,
                                          &stored, error);
        assert(rc || digest_equal(&stored, &object->digest));
    }
    return rc;
}

void numbered_objects_release(struct numbered_objects *objects)
{
    arena_release(&objects->arena);
    free(objects->at);
    *objects = (struct numbered_objects){.arena = ARENA_INIT};
}

/* ---- Reading one or two ---- */

/* What is at one place of two trees: level 0 a leaf, above it a node; items 0: nothing.
 * What both have is never put here. */
struct pair {
    struct digest at[2];
    uint32_t items[2];
    uint8_t level;
    uint32_t index; /* which one of its level */
};

struct walk {
    struct cairn_store *store;
    int (*each)(void *context, int of, uint32_t n, struct str body);
    void *context;
    int *bad;
    struct cairn_error *error;
    struct pair *waiting; /* the next one is the last */
    size_t n, capacity;
};

static int wait_for(struct walk *w, const struct pair *pair)
{
    struct pair *at = array_room(w->waiting, w->n, &w->capacity, sizeof *at);
    if (!at)
        return error_nomem(w->error);
    w->waiting = at;
    at[w->n++] = *pair;
    return 0;
}

static bool is_same(const struct pair *pair)
{
    return pair->items[0] == pair->items[1] && digest_equal(&pair->at[0], &pair->at[1]);
}

/* The places of both, the first one last. */
static int walk_node(struct walk *w, const struct pair *pair)
{
    struct wide nodes[2] = {{.level = 0}, {.level = 0}};
    int rc = 0;
    for (int of = 0; of < 2 && !rc; of++) {
        *w->bad = of;
        rc = pair->items[of] ? read_wide(w->store, &pair->at[of], pair->level,
                                         pair->items[of], &nodes[of], w->error)
                             : 0;
    }
    for (unsigned i = PLACES; i-- && !rc;) {
        struct pair next = {.level = (uint8_t)(pair->level - 1),
                            .index = pair->index * PLACES + i};
        for (int of = 0; of < 2; of++)
            if (nodes[of].which >> i & 1) {
                next.at[of] = nodes[of].at[i];
                next.items[of] = nodes[of].items[i];
            }
        rc = is_same(&next) ? 0 : wait_for(w, &next);
    }
    return rc;
}

static int walk_leaf(struct walk *w, const struct pair *pair)
{
    struct buf content[2] = {BUF_INIT, BUF_INIT};
    struct leaf leaves[2];
    int rc = 0;
    for (int of = 0; of < 2 && !rc; of++) {
        *w->bad = of;
        rc = pair->items[of]
                 ? get_object(w->store, &pair->at[of], &content[of], w->error)
                 : 0;
        leaves[of] = leaf_of(buf_view(&content[of]), pair->index, pair->items[of]);
    }
    while (!rc && (leaves[0].n || leaves[1].n)) {
        uint32_t a = leaves[0].n, b = leaves[1].n, n = !b || (a && a < b) ? a : b;
        bool same = a == b && str_equal(leaves[0].body, leaves[1].body);
        for (int of = 0; of < 2 && !rc; of++) {
            if (leaves[of].n != n)
                continue;
            *w->bad = of;
            rc = same ? 0 : w->each(w->context, of, n, leaves[of].body);
            leaf_next(&leaves[of]);
        }
    }
    for (int of = 0; of < 2 && !rc; of++) {
        *w->bad = of;
        rc = leaf_good(&leaves[of]) ? 0 : refuse(w->error);
    }
    buf_release(&content[0]);
    buf_release(&content[1]);
    return rc;
}

/* From the roots, or where one is higher, from the first node of the lower one's level;
 * what is beside that is in the higher one alone. */
static int begin_walk(struct walk *w, const struct numbered trees[2])
{
    struct wide roots[2] = {{.level = 0}, {.level = 0}};
    struct pair both = {.level = 0};
    int rc = 0;
    for (int of = 0; of < 2 && !rc; of++) {
        *w->bad = of;
        rc = trees[of].n ? read_wide(w->store, &trees[of].root, 0, trees[of].n,
                                     &roots[of], w->error)
                         : 0;
    }
    int high = roots[1].level > roots[0].level;
    if (rc || !roots[high].level)
        return rc;
    struct wide node = roots[high];
    struct digest at = trees[high].root;
    uint32_t items = trees[high].n;
    while (!rc && trees[!high].n && items && node.level > roots[!high].level) {
        for (unsigned i = PLACES; i-- > 1 && !rc;) {
            struct pair next = {.level = (uint8_t)(node.level - 1), .index = i};
            next.at[high] = node.at[i];
            next.items[high] = node.which >> i & 1 ? node.items[i] : 0;
            rc = next.items[high] ? wait_for(w, &next) : 0;
        }
        items = node.which & 1 ? node.items[0] : 0;
        at = node.at[0];
        *w->bad = high;
        unsigned level = node.level - 1u;
        if (!rc && items)
            rc = read_wide(w->store, &at, level, items, &node, w->error);
    }
    both.level = trees[!high].n ? roots[!high].level : roots[high].level;
    both.at[high] = at;
    both.items[high] = items;
    both.at[!high] = trees[!high].root;
    both.items[!high] = trees[!high].n;
    return rc ? rc : is_same(&both) ? 0 : wait_for(w, &both);
}

int numbered_apart(struct cairn_store *store, const struct numbered trees[2],
                   int (*each)(void *context, int of, uint32_t n, struct str body),
                   void *context, int *bad, struct cairn_error *error)
{
    struct walk w = {store, each, context, bad, error, NULL, 0, 0};
    int rc = 0;
    *bad = 0;
    if (trees[0].n != trees[1].n || !digest_equal(&trees[0].root, &trees[1].root))
        rc = begin_walk(&w, trees);
    while (!rc && w.n) {
        struct pair pair = w.waiting[--w.n];
        rc = pair.level ? walk_node(&w, &pair) : walk_leaf(&w, &pair);
    }
    free(w.waiting);
    return rc;
}

struct one {
    numbered_fn *each;
    void *context;
};

static int give_one(void *context, int of, uint32_t n, struct str body)
{
    const struct one *one = context;
    (void)of;
    return one->each(one->context, n, body);
}

int numbered_each(struct cairn_store *store, const struct numbered *tree,
                  numbered_fn *each, void *context, struct cairn_error *error)
{
    const struct numbered trees[2] = {*tree, {.n = 0}};
    struct one one = {each, context};
    int bad;
    return numbered_apart(store, trees, give_one, &one, &bad, error);
}

static int add_one(void *context, uint32_t n, struct str body)
{
    struct buf *out = context;
    buf_varint(out, n);
    buf_lstr(out, body);
    return 0;
}

int numbered_read(struct cairn_store *store, const struct numbered *tree,
                  struct buf *out, struct cairn_error *error)
{
    buf_varint(out, tree->n);
    return numbered_each(store, tree, add_one, out, error) ?: buf_check(out, error);
}
